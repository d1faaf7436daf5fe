"""Tables for papers: Markdown and LaTeX with a caption, CSV with all digits."""

from collections.abc import Mapping

from headroles.records.findings import Labelling
from headroles.records.table import Table
from headroles.reports.print.captions import decision_sentence, inputs_text, units_of
from headroles.reports.report import Paper


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
