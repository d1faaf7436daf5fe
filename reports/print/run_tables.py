"""Tables of a run:

its roles, its heads, its findings, and those of one kind of run only (best heads of probes, surface
statistics, clusters).
"""

from dataclasses import replace
from functools import partial

from headroles.kinds import kind_of
from headroles.records.findings import Labelling
from headroles.records.numbers import plural
from headroles.records.table import MISSING, Cell
from headroles.records.table import Sheet as Plain
from headroles.reports.label_report import role_papers
from headroles.reports.papers import findings_table
from headroles.reports.print.captions import decision_sentence, inputs_text, units_of
from headroles.reports.sections.cluster_sheets import clusters_sheet
from headroles.reports.sections.probe_sheets import best_sheet
from headroles.reports.sections.surface_sheets import statistics
from headroles.reports.sheets import Sheet, Sheets, with_digits, word_cell
from headroles.reports.summary import summarise
from headroles.reports.words.cluster_facts import distances_of, groups_of
from headroles.reports.words.clusters import clustering_text
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


def clusters_table(labelling: Labelling) -> Sheet:
    """Return every cluster of heads."""
    clustered, summary = labelling.clustered, summarise(labelling)
    assert clustered is not None
    held = summary.held.reshape(len(summary.roles), len(clustered.cluster))
    names = [role.sieve for role in summary.roles]
    groups = groups_of(clustered, distances_of(clustered), names, held)
    sheet = clusters_sheet(groups, labelling.scores)
    how = clustering_text(clustered, groups)
    layers, heads = labelling.scores.stack.numbers, labelling.scores.heads
    return replace(
        sheet,
        caption=f"Clusters of attention heads{inputs_text(labelling.manifest)}: {how}. "
        f"{plural(units_of(labelling), 'unit')}.",
        columns=("cluster", "heads", "layer", "head", "within", "silhouette", "stability", "layers", "roles"),
        values=tuple(
            (
                group.number, len(group.heads), layers[group.central // heads], group.central % heads,
                group.within, group.silhouette, group.stability, ";".join(map(str, group.layers)),
                ";".join(f"{name} {count}" for name, count in group.roles),
            )
            for group in groups
        ),
    )  # fmt: skip


def cluster_tables(labelling: Labelling) -> Sheets:
    """Return tables of a run that clusters heads by name: those of roles, and clusters."""
    return {
        **{name: role_papers(labelling)[name] for name in ("roles", "heads")},
        "clusters": partial(clusters_table, labelling),
        "findings": partial(findings_table, labelling),
    }


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
