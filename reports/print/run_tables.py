"""Tables of a run:

its roles, its heads, its findings, and those of one kind of run only (best heads of probes, surface
statistics).
"""

from functools import partial

from headroles.kinds import kind_of
from headroles.records.findings import Labelling
from headroles.records.table import MISSING, Cell
from headroles.records.table import Sheet as Plain
from headroles.reports.label_report import role_papers
from headroles.reports.papers import findings_table
from headroles.reports.print.captions import decision_sentence, inputs_text, units_of
from headroles.reports.sections.probe_sheets import best_sheet
from headroles.reports.sections.surface_sheets import statistics
from headroles.reports.sheets import Sheet, Sheets, with_digits, word_cell
from headroles.reports.words.probes import best_by_probe, probes_of, published_in

ROWS = dict.fromkeys(("sieve", "run", "layer"), "the rows of a probe")
"""Tests that are corrected together in the table of best heads."""


def best_table(labelling: Labelling) -> Sheet:
    """Return the best head of every row of every probe; columns that a probe lacks stay empty."""
    best = probes_of(labelling).best
    published = published_in(labelling.manifest)
    sheets = {probe: best_sheet(probe, rows, published) for probe, rows in best_by_probe(best).items()}
    header = tuple(dict.fromkeys(name for sheet in sheets.values() for name in sheet.header[1:]))
    note = decision_sentence(labelling.decision, units_of(labelling), ROWS)
    lines = tuple(line for probe, sheet in sheets.items() for line in _fill_columns(probe, sheet, header))
    return with_digits(
        Sheet("Best heads", ("probe", "row", *header), lines),
        best,
        caption=(
            f"Best head of every row{inputs_text(labelling.manifest)}: right answers in per cent where "
            f"it was chosen and where it was tested, and of the best baseline, with 95\u00a0% intervals "
            f"clustered by unit: of the accuracy, and of its difference to the baseline. {note}"
        ),
    )


def _fill_columns(probe: str, sheet: Plain, header: tuple[str, ...]) -> list[tuple[Cell, ...]]:
    """Return the rows of a probe under the columns of all probes."""
    lines = []
    for row in sheet.rows:
        cells = {name: cell for name, cell in zip(sheet.header[1:], row[1:], strict=True) if cell.text}
        lines.append(
            (word_cell(probe), word_cell(row[0].text), *(cells.get(name, MISSING) for name in header))
        )
    return lines


def statistics_table(labelling: Labelling) -> Sheet:
    """Return every statistic of a surface run with even attention."""
    table = statistics(labelling)
    families = kind_of(labelling).families(labelling)
    note = decision_sentence(labelling.decision, units_of(labelling), families)
    return with_digits(
        table.sheet(),
        table,
        caption=(
            f"Where attention heads look{inputs_text(labelling.manifest)}: heads above and below "
            f"even attention, and the head and the layer with the largest means with their 95\u00a0% "
            f"intervals. {note}"
        ),
    )


def probe_tables(labelling: Labelling) -> Sheets:
    """Return tables of a run of probes by name: best heads, where there are any, and those of roles."""
    best = probes_of(labelling).best
    return {**({"best": partial(best_table, labelling)} if best else {}), **role_papers(labelling)}


def surface_tables(labelling: Labelling) -> Sheets:
    """Return tables of a surface run by name: statistics and findings."""
    return {
        "statistics": partial(statistics_table, labelling),
        "findings": partial(findings_table, labelling),
    }
