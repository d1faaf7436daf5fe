"""A report in a notebook: the answer and some tables, without scripts."""

from collections.abc import Iterable
from html import escape
from pathlib import Path

from headroles.records.markup import CAPTION, SCROLLED, TABLE, answer_html, paragraph
from headroles.records.table import Sheet
from headroles.reports.answer import Answer
from headroles.reports.report import Grid, Text

MOST_ROWS = 60
"""Rows of a table that a notebook shows."""


def notebook_html(answer: Answer, blocks: Iterable[Grid | Text | str], path: Path | None) -> str:
    """Return an answer, texts and tables for notebooks, and where the page is, if it is known.

    Args:
        answer: Stands first.
        blocks: Texts and tables; a string is HTML of its own.
        path: Of the page; None where there is none on this machine.
    """
    parts = [
        block if isinstance(block, str)
        else paragraph(escape(block.text)) if isinstance(block, Text)
        else table_html(block.sheet())
        for block in blocks
        if isinstance(block, Text) or len(block)
    ]  # fmt: skip
    where = paragraph(f"Full report: <code>{escape(str(path))}</code>") if path else ""
    return answer_html(answer) + "".join(parts) + where


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
