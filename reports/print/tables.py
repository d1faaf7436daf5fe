"""Tables for papers: those of a run or a comparison by name, as text.

Tables of a comparison list changes sieve by sieve and head by head.
"""

from dataclasses import replace
from functools import partial

from headroles.errors import UnknownName
from headroles.kinds import kind_of
from headroles.records.comparison import Comparison
from headroles.records.findings import Labelling
from headroles.reports.print.writers import FORMS, as_csv, as_latex, as_markdown
from headroles.reports.sections.compare_sheets import changes_sheet, differences_sheet
from headroles.reports.sheets import Sheet, Sheets
from headroles.reports.words.compare import run_names, test_line
from headroles.reports.words.words import plural

CAPTION = "Comparison of {} (A) and {} (B); differences are B − A. Test: {}; {}."


def comparison_tables(comparison: Comparison) -> Sheets:
    """Return functions that make the tables of a comparison, by name.

    Args:
        comparison: Of two runs.
    """
    return {"changes": partial(_changes, comparison), "differences": partial(_differences, comparison)}


def _changes(comparison: Comparison) -> Sheet:
    """Return heads by outcome, and labels gained and lost with those that swaps move."""
    sheet = changes_sheet(comparison)
    names = [name for name in sheet.header if name != "p"]
    return replace(sheet.pick(names), caption=_caption(comparison))


def _differences(comparison: Comparison) -> Sheet:
    """Return every difference."""
    return replace(differences_sheet(comparison), caption=_caption(comparison))


def _caption(comparison: Comparison) -> str:
    """Return the caption of a comparison's table."""
    test = test_line(comparison.decision, comparison.bound)
    units = comparison.manifest.get("counts", {}).get("units")
    units_text = plural(units, "unit") if isinstance(units, int) else "units as in the runs"
    return CAPTION.format(*run_names(comparison), test, units_text)


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
    if not isinstance(wanted, str) or wanted not in tables:
        raise UnknownName("table of this run", wanted, tables)
    if not isinstance(form, str) or form not in FORMS:
        raise UnknownName("form of tables", form, FORMS)
    table = tables[wanted]()
    if form == "csv":
        return as_csv(table)
    return as_latex(table, wanted) if form == "latex" else as_markdown(table)
