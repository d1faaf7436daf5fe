"""Tables for a paper:

the numbers of the report as Markdown or LaTeX, or with all digits as CSV. Tables of a comparison list changes
sieve by sieve and head by head.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from headroles.errors import UnknownName
from headroles.kinds import kind_of
from headroles.records.comparison import OUTCOMES, Comparison, RoleChange
from headroles.records.findings import Labelling
from headroles.reports.print.table import PaperTable, Tables, columns_of_frame
from headroles.reports.records import Interval
from headroles.reports.words.compare import run_names, test_line
from headroles.reports.words.words import count, interval, isolate, mean, p_text, plural, with_range

CAPTION = "Comparison of {} (A) and {} (B); differences are B − A. Test: {}; {}."


def comparison_tables(comparison: Comparison) -> Tables:
    """Return functions that make the tables of a comparison, by name.

    Args:
        comparison: Of two runs.
    """
    return {"changes": partial(_changes, comparison), "differences": partial(_differences, comparison)}


def _caption(comparison: Comparison) -> str:
    """Return the caption of a comparison's table."""
    test = test_line(comparison.decision, comparison.bound)
    units = comparison.manifest.get("counts", {}).get("units")
    units_text = plural(units, "unit") if isinstance(units, int) else "units as in the runs"
    return CAPTION.format(*run_names(comparison), test, units_text)


def _changes(comparison: Comparison) -> PaperTable:
    """Return heads by outcome, and labels gained and lost with those that swaps move."""
    differences = comparison.differences
    swaps = {row.sieve: row for row in comparison.swaps if row.sieve}
    rows, values = [], []
    for place, name in enumerate(differences.sieves):
        counts, row = differences.counts(place), swaps.get(name)
        largest = _largest(comparison, place)
        largest_text = "–" if largest is None else f"{largest[0]}-{largest[1]}, {interval(largest[2])}"
        rows.append((name, *map(str, counts), *_labels(row), largest_text))
        ends = (None,) * 5 if largest is None else (*largest[:2], *_numbers(largest[2]))
        values.append((name, *counts, *_label_values(row), *ends))
    labels = ("labels_a", "labels_b", "gained", "lost", "swapped", "swapped_low", "swapped_high", "p", "q")
    return PaperTable(
        caption=_caption(comparison),
        header=(
            "sieve", *OUTCOMES, "labels A", "labels B", "gained", "lost", "moved by swaps [95\u00a0%]", "q",
            "largest change [95\u00a0%]",
        ),
        rows=tuple(rows),
        columns=("sieve", *OUTCOMES, *labels, "layer", "head", "difference", "low", "high"),
        values=tuple(values),
    )  # fmt: skip


def _labels(row: RoleChange | None) -> tuple[str, ...]:
    """Return the labels of one sieve as text."""
    if row is None:
        return ("–",) * 6
    swapped = with_range(*(count(value) for value in (row.changed_mean, row.changed_low, row.changed_high)))
    return (*map(str, (row.labels_a, row.labels_b, row.gained, row.lost)), swapped, p_text(row.q))


def _label_values(row: RoleChange | None) -> tuple[Any, ...]:
    """Return the labels of one sieve with all digits."""
    if row is None:
        return (None,) * 9
    swapped = (row.changed_mean, row.changed_low, row.changed_high)
    return (row.labels_a, row.labels_b, row.gained, row.lost, *swapped, row.p, row.q)


def _largest(comparison: Comparison, place: int) -> tuple[int, int, Interval] | None:
    """Return the changed head with the largest difference; None where none changed."""
    differences = comparison.differences
    size = np.where(differences.outcome[place] == 0, np.abs(differences.difference[place]), -np.inf)
    if not np.isfinite(size).any():
        return None
    layer, head = (int(index) for index in np.unravel_index(int(size.argmax()), size.shape))
    ends = (float(getattr(differences, name)[place, layer, head]) for name in ("difference", "low", "high"))
    return layer, head, Interval(*ends)


def _numbers(ends: Interval) -> tuple[float, float, float]:
    """Return mean and ends of an interval."""
    return ends.mean, ends.low, ends.high


def _differences(comparison: Comparison) -> PaperTable:
    """Return every difference."""
    columns, values = columns_of_frame(comparison.frame())
    return PaperTable(
        caption=_caption(comparison),
        header=(
            "sieve", "head", "units", "mean A", "mean B", "difference [95\u00a0%]", "q", "q of equivalence",
            "outcome",
        ),
        rows=tuple(_difference(dict(zip(columns, row, strict=True))) for row in values),
        columns=columns,
        values=values,
    )  # fmt: skip


def _difference(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return one difference as text."""
    ends = Interval(row["difference"], row["low"], row["high"])
    return (
        row["sieve"],
        f"{row['layer']}-{row['head']}",
        f"{row['count']:,}",
        mean(row["mean_a"]),
        mean(row["mean_b"]),
        "–" if math.isnan(ends.mean) else interval(ends),
        p_text(row["q"]),
        p_text(row["q_equivalent"]),
        row["outcome"],
    )


FORMS = ("csv", "latex", "markdown")
SHEET = 40
"""Rows above which a LaTeX table runs over pages."""
LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%",
    "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}", "\u00a0": "~", "–": "--", "—": "---", "…": r"\ldots{}", "−": "$-$",
    "×": r"$\times$", "±": r"$\pm$", "≤": r"$\leq$", "≥": r"$\geq$", "∞": r"$\infty$", "θ": r"$\theta$",
    "→": r"$\rightarrow$", "←": r"$\leftarrow$", "∂": r"$\partial$", "“": "``", "”": "''", "’": r"'",
}  # fmt: skip
"""LaTeX spelling of signs that it would read as commands, and of signs that not every font has."""


def table_text(result: Labelling | Comparison, name: str | None = None, form: str = "markdown") -> str:
    """Return a table of a run or a comparison as text.

    Args:
        result: A run of any kind, or a comparison.
        name: Of the table; None for the first that it has.
        form: "markdown", "latex" or "csv".

    Returns:
        The text, ending with a line feed.

    Raises:
        UnknownName: When there is no such table or form.
    """
    tables = comparison_tables(result) if isinstance(result, Comparison) else kind_of(result).tables(result)
    wanted = next(iter(tables)) if name is None else name
    if wanted not in tables:
        raise UnknownName("table of this run", wanted, tables)
    if form not in FORMS:
        raise UnknownName("form of tables", form, FORMS)
    table = tables[wanted]()
    if form == "csv":
        return as_csv(table)
    return as_latex(table, wanted) if form == "latex" else as_markdown(table)


def as_csv(table: PaperTable) -> str:
    """Return a table as CSV with all digits; an empty cell for NaN and for missing values."""
    lines = (table.columns, *table.values)
    return "".join(",".join(map(_csv_cell, line)) + "\n" for line in lines)


def _csv_cell(value: object) -> str:
    """Return a cell of a CSV file, in quotes where it holds what separates cells or lines.

    Example:
        >>> _csv_cell("a,b"), _csv_cell(0.5), _csv_cell(math.nan), _csv_cell(None)
        ('"a,b"', '0.5', '', '')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    text, quote = str(value), '"'
    if any(letter in text for letter in ',"\r\n'):
        return quote + text.replace(quote, 2 * quote) + quote
    return text


def as_markdown(table: PaperTable) -> str:
    """Return a table between pipes, its caption above it."""
    sides = ["---:" if right else "---" for right in _number_columns(table)]
    lines = [table.header, sides, *table.rows]
    body = "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)
    return f"{_cell(table.caption)}\n\n{body}\n"


def _cell(text: str) -> str:
    r"""Return text that Markdown shows as it is.

    Example:
        >>> print(_cell("a|b"), _cell("<b>_x_</b>"), _cell("<0.001"))
        a\|b \<b>\_x\_\</b> <0.001
    """
    escaped_text = re.sub(
        r"([\\|`*_~]|<(?=[A-Za-z/!?])|&(?=#?\w+;)|(?<=\])\()", r"\\\1", isolate(_without_controls(text))
    )
    return escaped_text or " "


def _without_controls(text: str) -> str:
    """Return text without line breaks and other control characters."""
    return "".join(" " if unicodedata.category(letter) in ("Cc", "Zl", "Zp") else letter for letter in text)


def as_latex(table: PaperTable, name: str) -> str:
    """Return a booktabs table with caption and label; one of many rows runs over pages (longtable)."""
    columns = "".join("r" if right else "l" for right in _number_columns(table))
    head = f"{_line(table.header)}\n\\midrule"
    body = "\n".join(_line(row) for row in table.rows)
    caption = f"\\caption{{{latex_text(table.caption)}}}\n\\label{{tab:headroles-{name}}}"
    if len(table.rows) > SHEET:
        packages, text = (
            "booktabs, longtable",
            f"\\begin{{longtable}}{{{columns}}}\n{caption}\\\\\n\\toprule\n{head}\n\\endhead\n"
            f"\\bottomrule\n\\endfoot\n{body}\n\\end{{longtable}}\n",
        )
    else:
        packages, text = (
            "booktabs",
            f"\\begin{{table}}\n\\centering\n{caption}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n{head}\n"
            f"{body}\n\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n",
        )
    needs_fonts = any(ord(letter) > 0xFF for letter in text)
    engine = " Some names need LuaLaTeX or XeLaTeX and a font that has their letters." * needs_fonts
    return f"% \\usepackage{{{packages.replace(' ', '')}}}, \\usepackage[T1]{{fontenc}}.{engine}\n{text}"


def _line(cells: Iterable[str]) -> str:
    """Return cells as a row of a LaTeX table."""
    return " & ".join(latex_text(cell) for cell in cells) + r" \\"


def latex_text(text: str) -> str:
    r"""Return text that LaTeX sets as it is; signs that turn the writing direction are left out.

    Example:
        >>> latex_text("50 % & more"), latex_text("[a]--b"), latex_text("\\input{x}")
        ('50 \\% \\& more', '{[}a]-{}-b', '\\textbackslash{}input\\{x\\}')
    """
    visible = "".join(letter for letter in _without_controls(text) if unicodedata.category(letter) != "Cf")
    pairs = zip(visible, (*visible[1:], ""), strict=False)
    latex = "".join("-{}" if pair == ("-", "-") else LATEX.get(pair[0], pair[0]) for pair in pairs)
    return f"{{{latex[0]}}}{latex[1:]}" if latex[:1] in ("[", "*") else latex


def _number_columns(table: PaperTable) -> list[bool]:
    """Return which columns hold numbers and are right-aligned."""
    return [
        place > 0 and bool(table.rows) and all(re.match(r"[−<∞–\d]", row[place]) for row in table.rows)
        for place in range(len(table.header))
    ]
