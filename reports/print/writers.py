"""Writers of a sheet for papers: Markdown and LaTeX as text, CSV with all digits."""

import math
import re
import unicodedata
from collections.abc import Iterable

from headroles.records.numbers import isolate
from headroles.reports.report import Paper
from headroles.reports.sheets import Sheet

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


def as_csv(table: Sheet) -> str:
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


def as_markdown(table: Sheet | Paper) -> str:
    """Return a table between pipes, its caption above it."""
    sheet = table.sheet if isinstance(table, Paper) else table
    sides = ["---:" if right else "---" for right in sheet.numeric]
    lines = [sheet.header, sides, *sheet.texts]
    body = "\n".join("| " + " | ".join(map(markdown_text, line)) + " |" for line in lines)
    return f"{markdown_text(table.caption)}\n\n{body}\n"


def markdown_text(text: str) -> str:
    r"""Return text that Markdown shows as it is.

    Example:
        >>> print(markdown_text("a|b"), markdown_text("<b>_x_</b>"), markdown_text("<0.001"))
        a\|b \<b>\_x\_\</b> <0.001
    """
    escaped_text = re.sub(
        r"([\\|`*_~]|<(?=[A-Za-z/!?])|&(?=#?\w+;)|(?<=\])\()", r"\\\1", isolate(_without_controls(text))
    )
    return escaped_text or " "


def _without_controls(text: str) -> str:
    """Return text without line breaks and other control characters."""
    return "".join(" " if unicodedata.category(letter) in ("Cc", "Zl", "Zp") else letter for letter in text)


def as_latex(table: Sheet | Paper, name: str) -> str:
    """Return a booktabs table with caption and label; one of many rows runs over pages (longtable)."""
    sheet = table.sheet if isinstance(table, Paper) else table
    columns = "".join("r" if right else "l" for right in sheet.numeric)
    head = f"{_line(sheet.header)}\n\\midrule"
    body = "\n".join(_line(row) for row in sheet.texts)
    caption = f"\\caption{{{latex_text(table.caption)}}}\n\\label{{tab:headroles-{name}}}"
    if len(sheet.rows) > SHEET:
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
