"""Tables for papers: those of a run, a comparison or an atlas by name, as text.

Tables of a comparison list changes sieve by sieve and head by head.
"""

from functools import partial

from headroles.errors import UnknownName
from headroles.kinds import kind_of
from headroles.records.atlas.atlas import Atlas
from headroles.records.comparison import Comparison
from headroles.records.findings import Labelling
from headroles.records.numbers import plural
from headroles.reports.atlas_report import report
from headroles.reports.print.writers import FORMS, as_csv, as_latex, as_markdown
from headroles.reports.report import Paper
from headroles.reports.sections.compare_sheets import changes_table
from headroles.reports.sheets import Sheet, Sheets, with_digits
from headroles.reports.words.compare import run_names, test_line

CAPTION = "Comparison of {} (A) and {} (B); differences are B − A. Test: {}; {}."


def comparison_tables(comparison: Comparison) -> Sheets:
    """Return functions that make the tables of a comparison, by name.

    Args:
        comparison: Of two runs.
    """
    return {"changes": partial(_changes, comparison), "differences": partial(_differences, comparison)}


def _changes(comparison: Comparison) -> Sheet:
    """Return heads by outcome, and labels gained and lost with those that swaps move."""
    table = changes_table(comparison)
    return with_digits(table.sheet(leave=["p"]), table, caption=_caption(comparison))


def _differences(comparison: Comparison) -> Sheet:
    """Return every difference."""
    return with_digits(comparison.table.sheet(), comparison.table, caption=_caption(comparison))


def _caption(comparison: Comparison) -> str:
    """Return the caption of a comparison's table."""
    test = test_line(comparison.decision, comparison.bound)
    units = comparison.manifest.get("counts", {}).get("units")
    units_text = plural(units, "unit") if isinstance(units, int) else "units as in the runs"
    return CAPTION.format(*run_names(comparison), test, units_text)


def tables_of(result: Labelling | Comparison | Atlas) -> Sheets:
    """Return functions that make the tables of a result, by name; the first is the main one."""
    if isinstance(result, Comparison):
        return comparison_tables(result)
    return report(result).tables if isinstance(result, Atlas) else kind_of(result).tables(result)


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
    tables = tables_of(result)
    wanted = next(iter(tables)) if name is None else name
    if not isinstance(wanted, str) or wanted not in tables:
        raise UnknownName("table of this run", wanted, tables)
    if not isinstance(form, str) or form not in FORMS:
        raise UnknownName("form of tables", form, FORMS)
    table = tables[wanted]()
    if form == "csv":
        return table.csv() if isinstance(table, Paper) else as_csv(table)
    return as_latex(table, wanted) if form == "latex" else as_markdown(table)
