"""A run that asks why heads attend where they do, in a notebook: the answer, roles, heads and removals."""

from html import escape

from headroles.records.findings import Labelling
from headroles.records.markup import answer_html, paragraph
from headroles.reports.cell import table_html
from headroles.reports.why.answer import answer_of
from headroles.reports.why.sheets import heads_sheet, knockouts_sheet, roles_sheet


def notebook_of(labelling: Labelling) -> str:
    """Return the answer of a run, and its roles, heads and removals as tables, without scripts.

    Args:
        labelling: Of a run that asks where roles come from.
    """
    sheets = (roles_sheet(labelling), heads_sheet(labelling), knockouts_sheet(labelling))
    tables = "".join(table_html(sheet) for sheet in sheets if sheet is not None and sheet.rows)
    path = labelling.report_path
    report = paragraph(f"Full report: <code>{escape(str(path))}</code>") if path else ""
    return answer_html(answer_of(labelling)) + tables + report
