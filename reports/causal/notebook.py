"""A run that takes heads out, in a notebook: the answer, the verdicts by arm, and the tests of roles."""

from collections.abc import Sequence
from html import escape

from headroles.records.findings import Labelling
from headroles.records.shown.notebook import CAPTION, SCROLLED, TABLE, answer_html, paragraph
from headroles.records.table import Sheet
from headroles.reports.causal.answer import answer_of
from headroles.reports.causal.sheets import arms_sheet, groups_sheet, roles_sheet, sites_sheet

MOST_ROWS = 60
"""Rows of a table that a notebook shows."""


def notebook_of(labelling: Labelling) -> str:
    """Return the answer of a run, and its verdicts and tests of roles as tables, without scripts.

    Args:
        labelling: Of a run that takes heads out.
    """
    of_roles = (roles_sheet, sites_sheet, groups_sheet)
    sheets = [arms_sheet(labelling), *(make(labelling, main=True) for make in of_roles)]
    tables = "".join(table_html(sheet) for sheet in sheets if sheet is not None)
    path = labelling.report_path
    report = paragraph(f"Full report: <code>{escape(str(path))}</code>") if path else ""
    return answer_html(answer_of(labelling)) + tables + report


def table_html(sheet: Sheet) -> str:
    """Return a table in the colours of the notebook; of a long one the first rows.

    Args:
        sheet: Any; its texts are escaped.
    """
    rows = sheet.texts[:MOST_ROWS]
    more = len(sheet.rows) - len(rows)
    caption = f"{sheet.name}{f', the first {MOST_ROWS} of {len(sheet.rows)} rows' if more > 0 else ''}"
    head = "".join(
        f'<th scope="col"{_side(sheet, place)}>{escape(text)}</th>' for place, text in enumerate(sheet.header)
    )
    body = "".join(f"<tr>{_cells(sheet, row)}</tr>" for row in rows)
    return (
        f"{SCROLLED.format(escape(sheet.name))}{TABLE}{CAPTION}{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cells(sheet: Sheet, row: Sequence[str]) -> str:
    """Return the cells of one row; the first names it."""
    first, *others = row
    cells = "".join(
        f"<td{_side(sheet, place)}>{escape(text)}</td>" for place, text in enumerate(others, start=1)
    )
    return f'<th scope="row" style="text-align:left;font-weight:400">{escape(first)}</th>{cells}'


def _side(sheet: Sheet, place: int) -> str:
    """Return the alignment of a column."""
    return f' style="text-align:{"right" if sheet.numeric[place] else "left"}"'
