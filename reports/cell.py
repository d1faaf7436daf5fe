"""A report in a notebook: the answer and some tables, without scripts."""

from html import escape
from pathlib import Path

from headroles.records.shown.notebook import CAPTION, SCROLLED, TABLE, answer_html, paragraph
from headroles.records.table import Sheet
from headroles.reports.report import Report, Text

MOST_ROWS = 60
"""Rows of a table that a notebook shows."""


def notebook_html(report: Report, path: Path | None) -> str:
    """Return the answer of a report and its tables for notebooks, and where the page is, if it is known."""
    parts = [
        paragraph(escape(block.text)) if isinstance(block, Text) else table_html(block.sheet())
        for block in report.cell()
        if isinstance(block, Text) or len(block)
    ]
    where = paragraph(f"Full report: <code>{escape(str(path))}</code>") if path else ""
    return answer_html(report.answer) + "".join(parts) + where


def table_html(sheet: Sheet) -> str:
    """Return a table in the colours of the notebook; of a long one the first rows."""
    more = len(sheet.rows) > MOST_ROWS
    caption = f"{sheet.name}{f', the first {MOST_ROWS} of {len(sheet.rows)} rows' if more else ''}"
    sides = [f' style="text-align:{"right" if right else "left"}"' for right in sheet.numeric]
    head = "".join(
        f'<th scope="col"{side}>{escape(text)}</th>' for text, side in zip(sheet.header, sides, strict=True)
    )
    rows = []
    for first, *others in sheet.texts[:MOST_ROWS]:
        cells = [f"<td{side}>{escape(text)}</td>" for text, side in zip(others, sides[1:], strict=True)]
        name = f'<th scope="row" style="text-align:left;font-weight:400">{escape(first)}</th>'
        rows.append(f"<tr>{name}{''.join(cells)}</tr>")
    return (
        f"{SCROLLED.format(escape(sheet.name))}{TABLE}{CAPTION}{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )
