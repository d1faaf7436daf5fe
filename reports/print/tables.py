"""Tables for a paper: the numbers of the report as Markdown or LaTeX, or with all digits as CSV.

The tables of a comparison: what changed, sieve by sieve and head by head.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from headroles.errors import UnknownName
from headroles.records.comparison import OUTCOMES, Comparison, Swapped
from headroles.records.findings import Labelling
from headroles.reports.content import Interval
from headroles.reports.print.run_tables import run_tables
from headroles.reports.print.table import Printed, Tables, framed
from headroles.reports.words.compare import names, tested
from headroles.reports.words.words import chance_of, count, interval, isolate, mean, plural, ranged

CAPTION = "Comparison of {} (A) and {} (B); differences are B − A. Test: {}; {}."


def compared_tables(comparison: Comparison) -> Tables:
    """The tables of a comparison by name, made when asked for.

    Args:
        comparison: Of two runs.
    """
    return {"changes": partial(_changes, comparison), "differences": partial(_differences, comparison)}


def _caption(comparison: Comparison) -> str:
    told = tested(comparison.decision, comparison.bound)
    units = comparison.manifest.get("counts", {}).get("units")
    seen = plural(units, "unit") if isinstance(units, int) else "units as in the runs"
    return CAPTION.format(*names(comparison), told, seen)


def _changes(comparison: Comparison) -> Printed:
    """Heads by outcome, and labels that came and went beside what swaps move."""
    found = comparison.differences
    swaps = {row.sieve: row for row in comparison.swaps if row.sieve}
    rows, values = [], []
    for place, name in enumerate(found.sieves):
        counts, row = found.counts(place), swaps.get(name)
        largest = _largest(comparison, place)
        told = "–" if largest is None else f"{largest[0]}-{largest[1]}, {interval(largest[2])}"
        rows.append((name, *map(str, counts), *_labels(row), told))
        ends = (None,) * 5 if largest is None else (*largest[:2], *_numbers(largest[2]))
        values.append((name, *counts, *_label_values(row), *ends))
    labels = ("labels_a", "labels_b", "gained", "lost", "swapped", "swapped_low", "swapped_high", "p", "q")
    return Printed(
        caption=_caption(comparison),
        header=(
            "sieve", *OUTCOMES, "labels A", "labels B", "gained", "lost", "moved by swaps [95\u00a0%]", "q",
            "largest change [95\u00a0%]",
        ),
        rows=tuple(rows),
        columns=("sieve", *OUTCOMES, *labels, "layer", "head", "difference", "low", "high"),
        values=tuple(values),
    )  # fmt: skip


def _labels(row: Swapped | None) -> tuple[str, ...]:
    if row is None:
        return ("–",) * 6
    moved = ranged(*(count(each) for each in (row.changed_mean, row.changed_low, row.changed_high)))
    return (*map(str, (row.labels_a, row.labels_b, row.gained, row.lost)), moved, chance_of(row.q))


def _label_values(row: Swapped | None) -> tuple[Any, ...]:
    if row is None:
        return (None,) * 9
    swapped = (row.changed_mean, row.changed_low, row.changed_high)
    return (row.labels_a, row.labels_b, row.gained, row.lost, *swapped, row.p, row.q)


def _largest(comparison: Comparison, place: int) -> tuple[int, int, Interval] | None:
    """The changed head with the largest difference; None where none changed."""
    found = comparison.differences
    size = np.where(found.outcome[place] == 0, np.abs(found.difference[place]), -np.inf)
    if not np.isfinite(size).any():
        return None
    layer, head = (int(each) for each in np.unravel_index(int(size.argmax()), size.shape))
    ends = (float(getattr(found, name)[place, layer, head]) for name in ("difference", "low", "high"))
    return layer, head, Interval(*ends)


def _numbers(ends: Interval) -> tuple[float, float, float]:
    return ends.mean, ends.low, ends.high


def _differences(comparison: Comparison) -> Printed:
    """Every difference."""
    columns, values = framed(comparison.frame())
    return Printed(
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
    ends = Interval(row["difference"], row["low"], row["high"])
    return (
        row["sieve"],
        f"{row['layer']}-{row['head']}",
        f"{row['count']:,}",
        mean(row["mean_a"]),
        mean(row["mean_b"]),
        "–" if math.isnan(ends.mean) else interval(ends),
        chance_of(row["q"]),
        chance_of(row["q_equivalent"]),
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
"""How LaTeX writes what it would take for a command, and signs that not every font has."""


def printed(found: Labelling | Comparison, name: str | None = None, form: str = "markdown") -> str:
    """A table of a run or a comparison as text.

    Args:
        found: A run of any kind, or a comparison.
        name: Of the table; None for the first that it has.
        form: "markdown", "latex" or "csv".

    Returns:
        The text, ending with a line feed.

    Raises:
        UnknownName: When there is no such table or form.
    """
    tables = compared_tables(found) if isinstance(found, Comparison) else run_tables(found)
    wanted = next(iter(tables)) if name is None else name
    if wanted not in tables:
        raise UnknownName("table of this run", wanted, tables)
    if form not in FORMS:
        raise UnknownName("form of tables", form, FORMS)
    made = tables[wanted]()
    if form == "csv":
        return as_csv(made)
    return as_latex(made, wanted) if form == "latex" else as_markdown(made)


def as_csv(table: Printed) -> str:
    """All digits; an empty cell for NaN and for what is not there."""
    lines = (table.columns, *table.values)
    return "".join(",".join(map(_quoted, line)) + "\n" for line in lines)


def _quoted(value: object) -> str:
    """A cell of a CSV file, in quotes where it holds what separates cells or lines.

    Example:
        >>> _quoted("a,b"), _quoted(0.5), _quoted(math.nan), _quoted(None)
        ('"a,b"', '0.5', '', '')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    text, quote = str(value), '"'
    if any(letter in text for letter in ',"\r\n'):
        return quote + text.replace(quote, 2 * quote) + quote
    return text


def as_markdown(table: Printed) -> str:
    """A table between pipes, its caption above it."""
    sides = ["---:" if right else "---" for right in _right(table)]
    lines = [table.header, sides, *table.rows]
    body = "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)
    return f"{_cell(table.caption)}\n\n{body}\n"


def _cell(text: str) -> str:
    r"""Text that Markdown shows as it is.

    Example:
        >>> print(_cell("a|b"), _cell("<b>_x_</b>"), _cell("<0.001"))
        a\|b \<b>\_x\_\</b> <0.001
    """
    made = re.sub(r"([\\|`*_~]|<(?=[A-Za-z/!?])|&(?=#?\w+;)|(?<=\])\()", r"\\\1", isolate(_quiet(text)))
    return made or " "


def _quiet(text: str) -> str:
    """Text without line breaks and other signs that only steer."""
    return "".join(" " if unicodedata.category(letter) in ("Cc", "Zl", "Zp") else letter for letter in text)


def as_latex(table: Printed, name: str) -> str:
    """A table for booktabs with caption and label; one of many rows runs over pages (longtable)."""
    columns = "".join("r" if right else "l" for right in _right(table))
    head = f"{_line(table.header)}\n\\midrule"
    body = "\n".join(_line(row) for row in table.rows)
    named = f"\\caption{{{escaped(table.caption)}}}\n\\label{{tab:headroles-{name}}}"
    if len(table.rows) > SHEET:
        packages, made = (
            "booktabs, longtable",
            f"\\begin{{longtable}}{{{columns}}}\n{named}\\\\\n\\toprule\n{head}\n\\endhead\n"
            f"\\bottomrule\n\\endfoot\n{body}\n\\end{{longtable}}\n",
        )
    else:
        packages, made = (
            "booktabs",
            f"\\begin{{table}}\n\\centering\n{named}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n{head}\n"
            f"{body}\n\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n",
        )
    far = any(ord(letter) > 0xFF for letter in made)
    engine = " Some names need LuaLaTeX or XeLaTeX and a font that has their letters." * far
    return f"% \\usepackage{{{packages.replace(' ', '')}}}, \\usepackage[T1]{{fontenc}}.{engine}\n{made}"


def _line(cells: Iterable[str]) -> str:
    return " & ".join(escaped(cell) for cell in cells) + r" \\"


def escaped(text: str) -> str:
    r"""Text that LaTeX sets as it is; signs that turn the writing direction are left out.

    Example:
        >>> escaped("50 % & more"), escaped("[a]--b"), escaped("\\input{x}")
        ('50 \\% \\& more', '{[}a]-{}-b', '\\textbackslash{}input\\{x\\}')
    """
    told = "".join(letter for letter in _quiet(text) if unicodedata.category(letter) != "Cf")
    pairs = zip(told, (*told[1:], ""), strict=False)
    made = "".join("-{}" if pair == ("-", "-") else LATEX.get(pair[0], pair[0]) for pair in pairs)
    return f"{{{made[0]}}}{made[1:]}" if made[:1] in ("[", "*") else made


def _right(table: Printed) -> list[bool]:
    """Which columns hold numbers and stand to the right."""
    return [
        place > 0 and bool(table.rows) and all(re.match(r"[−<∞–\d]", row[place]) for row in table.rows)
        for place in range(len(table.header))
    ]
