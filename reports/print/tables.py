"""Tables for papers: those of a run, a comparison or an atlas by name, as text."""

from headroles.errors import UnknownName
from headroles.kinds import report_of
from headroles.records.atlas.atlas import Atlas
from headroles.records.comparison import Comparison
from headroles.records.findings import Labelling
from headroles.reports.print.writers import FORMS, as_latex, as_markdown


def table_text(
    result: Labelling | Comparison | Atlas, name: str | None = None, form: str = "markdown"
) -> str:
    """Return a table of a run, a comparison or an atlas as text.

    Args:
        result: A run of any kind, a comparison, or an atlas.
        name: Of the table; None for the first that it has.
        form: "markdown", "latex" or "csv".

    Returns:
        The text, ending with a line feed.

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
    return as_latex(table, wanted) if form == "latex" else as_markdown(table)
