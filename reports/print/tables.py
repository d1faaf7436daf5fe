"""Tables for papers: those of a run, a comparison or an atlas by name, as text."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from headroles.errors import UnknownName
from headroles.kinds import kind_of, report_of
from headroles.records.atlas.atlas import Atlas
from headroles.records.comparison import Comparison
from headroles.records.findings import Labelling
from headroles.records.numbers import plural
from headroles.records.table import Table
from headroles.reports.print.writers import FORMS, as_csv, as_latex, as_markdown
from headroles.reports.report import Paper
from headroles.reports.sections import across_sheets, atlas_sheets
from headroles.reports.sheets import Sheet, Sheets, with_digits

ATLAS_CAPTIONS = {
    "runs": "Roles a head, p values near 0 or 1, and heads with several roles in the middle layers",
    "agreement": "Agreement of labels over heads (Cohen's kappa), with 95\u00a0% intervals over inputs",
    "roles": "Heads with each role",
    "p-values": "P values before correction that lie near 0 or 1",
    "several": "Roles a head and heads with several roles by layer, with 95\u00a0% intervals over inputs",
    "findings": "All findings of all runs",
    "in-runs": "Heads with each role in at least so many runs",
    "consensus": "Heads with a role in some run, over all runs of a group",
    "trends": "Trends of scores over the steps of a training, and the step from which a role holds",
}
"""Captions of the tables of an atlas."""


def atlas_tables(atlas: Atlas) -> Sheets:
    """Return functions that make the tables of an atlas, by name.

    Args:
        atlas: Of two runs or more.
    """
    sheets: Mapping[str, Callable[[], Sheet | Table]] = {
        "runs": partial(atlas_sheets.runs_table, atlas),
        "agreement": lambda: atlas.agreement,
        "in-runs": partial(across_sheets.counts_sheet, atlas),
        "consensus": partial(across_sheets.consensus_sheet, atlas),
        "trends": partial(across_sheets.trends_sheet, atlas),
        "roles": partial(atlas_sheets.roles_sheet, atlas),
        "p-values": partial(atlas_sheets.p_table, atlas),
        "several": lambda: atlas.layers,
        "findings": lambda: atlas.table,
    }
    return {name: partial(_with_caption, atlas, name, sheet) for name, sheet in sheets.items()}


def _with_caption(atlas: Atlas, name: str, made: Callable[[], Sheet | Table]) -> Sheet:
    """Return a table of an atlas with its caption."""
    rules = "; ".join(dict.fromkeys(run.rule for run in atlas.runs))
    caption = f"{ATLAS_CAPTIONS[name]}: {plural(len(atlas.runs), 'run')}. Test: {rules}."
    table = made()
    if isinstance(table, Table):
        return with_digits(table.sheet(), table, caption=caption)
    return replace(table, caption=caption)


def tables_of(result: Labelling | Comparison | Atlas) -> Sheets:
    """Return functions that make the tables of a result, by name; the first is the main one."""
    if isinstance(result, Comparison):
        return report_of(result).tables
    return atlas_tables(result) if isinstance(result, Atlas) else kind_of(result).tables(result)


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
        return table.table.csv() if isinstance(table, Paper) else as_csv(table)
    return as_latex(table, wanted) if form == "latex" else as_markdown(table)
