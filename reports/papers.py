"""Tables for papers: their captions, and the table of all findings."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from headroles.errors import UnknownName
from headroles.kinds import kind_of, report_of
from headroles.records.assessment import count_extreme_p
from headroles.records.atlas.atlas import Atlas
from headroles.records.comparison import Comparison
from headroles.records.findings import FINDINGS, Labelling, findings_of
from headroles.records.numbers import isolate, mean, percent_text, plural
from headroles.records.rules.rule import BOTH, FAMILIES, Decision
from headroles.records.table import ENDS, SHARE, Column, Sheet, Table, counted, interval_ends
from headroles.reports.report import Paper
from headroles.reports.words import correction_words, words_of_test


def caption(
    run: Labelling, title: str, families: Mapping[str, str], more: str = "", units: int | None = None
) -> str:
    """Return the caption of a table: what it shows, model, inputs, and how it was decided.

    Args:
        run: The run.
        title: What the table shows.
        families: Tests that are corrected together, in words, by the name of the family.
        more: Words after the inputs.
        units: Units that were tested; None for all with scores.
    """
    note = decision_sentence(run.decision, units_of(run) if units is None else units, families)
    return f"{title}{inputs_text(run.manifest)}{more}. {note}"


def captioned(
    run: Labelling, table: Table, *, families: Mapping[str, str], leave: tuple[str, ...] = ()
) -> Paper:
    """Return a table of intervals with its caption; ``leave`` names columns that only the CSV form has."""
    return Paper(table, caption(run, table.title, families, ", with 95\u00a0% intervals"), leave)


DIFFERENCE = {"difference": "mean", "difference_low": "low", "difference_high": "high"}
"""Columns of the difference to the baseline, which runs of probes have, and those they come from."""
FINDINGS_AND_MEANS = Table("", "Findings", FINDINGS.row, (
    *FINDINGS.describe("mean", ends=("mean_low", "mean_high")).columns,
    Column("mean_low", "Lower end of the 95 % interval of the mean itself."),
    Column("mean_high", "Upper end."),
    Column("difference", "The mean less the chance value.", float, f"difference {ENDS}", mean,
           ("difference_low", "difference_high")),
    *interval_ends("difference_low", "difference_high"),
))  # fmt: skip
P_VALUES = Table("", "p values near 0 or 1", "a role", (
    Column("role", "The role, or all roles together.", str, "p of"),
    counted("tests", "P values that are numbers.", "tests"),
    counted("below_0.05", "Those below 0.05.", "below 0.05"),
    counted("above_0.95", "Those above 0.95.", "above 0.95"),
    Column("share", "Share of p values below 0.05 or above 0.95.", float, "share", percent_text,
           within=SHARE),
    counted("below_0.01", "Those below 0.01.", "below 0.01"),
    counted("above_0.99", "Those above 0.99.", "above 0.99"),
    Column("share_0.01", "Share of p values below 0.01 or above 0.99.", float, "their share", percent_text,
           within=SHARE),
))  # fmt: skip


def p_row(role: str, p: np.ndarray) -> dict[str, Any]:
    """Return a row of ``P_VALUES``.

    Args:
        role: Its name.
        p: P values of its heads before correction, of any shape; NaN without a test.
    """
    near = count_extreme_p(p)
    return {
        "role": role, "tests": near.tests, "below_0.05": near.low, "above_0.95": near.high,
        "share": near.share, "below_0.01": near.lowest, "above_0.99": near.highest,
        "share_0.01": near.share_nearer,
    }  # fmt: skip


def findings_table(run: Labelling) -> Paper:
    """Return every test; in runs of probes with both intervals, of the accuracy and of the difference."""
    probes, found = kind_of(run).baselines, findings_of(run)
    ends = zip(("mean_low", "mean_high"), run.mean_intervals(), strict=True)
    table = FINDINGS_AND_MEANS.of(
        **found.data, **{name: values.ravel() for name, values in ends},
        **{name: found[own] - found["null"] for name, own in DIFFERENCE.items()},
    )  # fmt: skip
    about = " (of the accuracy itself, and of its difference to the baseline, which is tested)" * probes
    text = caption(
        run, "All findings", kind_of(run).families(run), f", intervals{about} not adjusted for selection"
    )
    shown = ("sieve", "head", "count", "mean", "null", *["difference"] * probes, "effect", "q", "q_not")
    digits = [column.name for column in (FINDINGS_AND_MEANS if probes else FINDINGS).columns]
    return Paper(table, text, (), (*shown, "decision"), digits)


def decision_sentence(decision: Decision, units: int, families: Mapping[str, str] = FAMILIES) -> str:
    """Return test, correction, level and units with scores in a sentence; families are in words.

    Example:
        >>> decision_sentence(Decision(), 160).split("; ")[1:]
        ['correction: Benjamini–Hochberg (fdr_bh) over the heads of one sieve', 'alpha 0.05', '160 units.']
    """
    over = families.get(decision.family, decision.family)
    correction = correction_words(decision.test, decision.correction)
    if decision.correction != "none":
        correction += f" over {over}"
    return (
        f"Test: {words_of_test(decision.test)}; correction: {correction}; "
        f"alpha {decision.alpha:g}; {plural(units, 'unit')}."
    )


def inputs_text(manifest: Mapping[str, Any]) -> str:
    """Return model and inputs of a run, as far as its manifest states them; "" for nothing.

    Example:
        >>> inputs_text({"model": {"name": "tiny"}, "task": "QNLI"}), inputs_text({})
        (' (tiny, QNLI)', '')
    """
    model, source = (manifest.get(name) or {} for name in ("model", "source"))
    own, data = (each.get("name") if isinstance(each, Mapping) else None for each in (model, source))
    known = [str(text) for text in (own, manifest.get("task") or data) if text]
    return f" ({', '.join(known)})" if known else ""


def families_of(labelling: Labelling) -> Mapping[str, str]:
    """Return the tests that a run corrects together, in words, by the name of the family."""
    joint = BOTH * any(rule.together for rule in labelling.findings.rules)
    return {name: over + joint for name, over in FAMILIES.items()}


def units_of(labelling: Labelling) -> int:
    """Return the number of units that a run has scores of."""
    return len(set(labelling.scores.units))


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


def as_markdown(sheet: Sheet, caption: str) -> str:
    """Return a table between pipes, its caption above it."""
    sides = ["---:" if right else "---" for right in sheet.numeric]
    lines = [sheet.header, sides, *sheet.texts]
    body = "\n".join("| " + " | ".join(map(markdown_text, line)) + " |" for line in lines)
    return f"{markdown_text(caption)}\n\n{body}\n"


def markdown_text(text: str) -> str:
    r"""Return text that Markdown shows as it is.

    Example:
        >>> print(markdown_text("a|b"), markdown_text("<b>_x_</b>"), markdown_text("<0.001"))
        a\|b \<b>\_x\_\</b> <0.001
    """
    marks = r"([\\|`*_~]|<(?=[A-Za-z/!?])|&(?=#?\w+;)|(?<=\])\()"
    return re.sub(marks, r"\\\1", isolate(_without_controls(text))) or " "


def _without_controls(text: str) -> str:
    """Return text without line breaks and other control characters."""
    return "".join(" " if unicodedata.category(letter) in ("Cc", "Zl", "Zp") else letter for letter in text)


def as_latex(sheet: Sheet, caption: str, name: str) -> str:
    """Return a booktabs table with caption and label; one of many rows runs over pages (longtable)."""

    def line(cells: Iterable[str]) -> str:
        return " & ".join(latex_text(cell) for cell in cells) + r" \\"

    columns = "".join("r" if right else "l" for right in sheet.numeric)
    head, body = f"{line(sheet.header)}\n\\midrule", "\n".join(map(line, sheet.texts))
    above = f"\\caption{{{latex_text(caption)}}}\n\\label{{tab:headroles-{name}}}"
    packages, text = "booktabs", (
        f"\\begin{{table}}\n\\centering\n{above}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n{head}\n"
        f"{body}\n\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n"
    )  # fmt: skip
    if len(sheet.rows) > SHEET:
        packages, text = "booktabs,longtable", (
            f"\\begin{{longtable}}{{{columns}}}\n{above}\\\\\n\\toprule\n{head}\n\\endhead\n"
            f"\\bottomrule\n\\endfoot\n{body}\n\\end{{longtable}}\n"
        )  # fmt: skip
    needs_fonts = any(ord(letter) > 0xFF for letter in text)
    engine = " Some names need LuaLaTeX or XeLaTeX and a font that has their letters." * needs_fonts
    return f"% \\usepackage{{{packages}}}, \\usepackage[T1]{{fontenc}}.{engine}\n{text}"


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


def table_text(
    result: Labelling | Comparison | Atlas, name: str | None = None, form: str = "markdown"
) -> str:
    """Return a table of a result as text that ends with a line feed.

    Args:
        result: A run of any kind, a comparison, or an atlas.
        name: Of the table; None for the first that it has.
        form: "markdown", "latex" or "csv".

    Raises:
        UnknownName: When there is no such table or form.
    """
    tables = report_of(result).tables
    wanted = next(iter(tables)) if name is None else name
    if not isinstance(wanted, str) or wanted not in tables:
        raise UnknownName("table of this run", wanted, tables)
    if not isinstance(form, str) or form not in FORMS:
        raise UnknownName("form of tables", form, FORMS)
    table = tables[wanted]()
    if form == "csv":
        return str(table.csv())
    own = (table.sheet, table.caption)
    return as_latex(*own, wanted) if form == "latex" else as_markdown(*own)
