"""Tables that only runs of one kind have: the best of probes, surface statistics, clusters."""

from typing import Any

from headroles.records.findings import Labelling
from headroles.records.probes import Best
from headroles.reports.cluster_facts import distances_of, groups_of
from headroles.reports.cluster_sheets import clusters_sheet
from headroles.reports.cluster_words import how_clustered
from headroles.reports.printed import Printed, decided, inputs, records, units_of
from headroles.reports.probe_account import published_in
from headroles.reports.probe_sheets import Sheet, best_sheet
from headroles.reports.probe_words import ordered
from headroles.reports.summary import summarise
from headroles.reports.surface_columns import GROUP, counts, even, known, layers_of, peak
from headroles.reports.surface_page import FAMILIES
from headroles.reports.surface_sheets import statistics_sheet
from headroles.reports.words import plural

ROWS = dict.fromkeys(("sieve", "run", "layer"), "the rows of a probe")
"""What is corrected together where the best heads of rows are told."""


def best_table(labelling: Labelling) -> Printed:
    """The best head of every row of every probe; columns of which a probe says nothing stay empty."""
    best = labelling.probed.best if labelling.probed else ()
    columns, values = records(Best, best)
    published = published_in(labelling.manifest)
    sheets = {probe: best_sheet(probe, rows, published) for probe, rows in ordered(best).items()}
    header = tuple(dict.fromkeys(name for sheet in sheets.values() for name in sheet.header[1:]))
    told = decided(labelling.decision, units_of(labelling), ROWS)
    return Printed(
        caption=(
            f"Best head of every row{inputs(labelling.manifest)}: right answers in per cent where it was "
            f"chosen and where it was tested, beside the best baseline, with 95\u00a0% intervals clustered "
            f"by unit. {told}"
        ),
        header=("probe", "row", *header),
        rows=tuple(line for probe, sheet in sheets.items() for line in _widened(probe, sheet, header)),
        columns=columns,
        values=values,
    )


def _widened(probe: str, sheet: Sheet, header: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The rows of a probe under the columns of all."""
    lines = []
    for row in sheet.rows:
        cells = dict(zip(sheet.header[1:], (cell.text for cell in row[1:]), strict=True))
        lines.append((probe, row[0].text, *(cells.get(name) or "–" for name in header)))
    return lines


def statistics_table(labelling: Labelling) -> Printed:
    """Every statistic of a surface run beside even attention."""
    sheet = statistics_sheet(labelling)
    names = [name for name in labelling.findings.sieves if name.startswith(GROUP)]
    told = decided(labelling.decision, units_of(labelling), FAMILIES)
    return Printed(
        caption=(
            f"Where attention heads look{inputs(labelling.manifest)}: heads above and below even attention, "
            f"and the head and the layer with the largest means with their 95\u00a0% intervals. {told}"
        ),
        header=sheet.header,
        rows=tuple(tuple(cell.text for cell in row) for row in sheet.rows),
        columns=(
            "statistic", "even", "above", "below", "undetermined", "untestable", "layer", "head", "mean",
            "low", "high", "q", "largest_layer", "layer_mean", "layer_low", "layer_high",
        ),
        values=tuple(_statistic(labelling, name) for name in names),
    )  # fmt: skip


def _statistic(labelling: Labelling, column: str) -> tuple[Any, ...]:
    found = labelling.findings
    cells: list[Any] = [column, even(found, column), *counts(found, column)]
    if known(found, column):
        top = peak(found, column)
        cells += [top.layer, top.head, top.mean.mean, top.mean.low, top.mean.high, top.q]
    else:
        cells += [None] * 6
    layers = layers_of(labelling, column)
    most = max(layers, key=lambda row: row.mean) if layers else None
    return (*cells, *((most.layer, most.mean, most.low, most.high) if most else (None,) * 4))


def clusters_table(labelling: Labelling) -> Printed:
    """Every cluster of heads."""
    clustered, summary = labelling.clustered, summarise(labelling)
    assert clustered is not None
    held = summary.held.reshape(len(summary.roles), len(clustered.cluster))
    names = [role.sieve for role in summary.roles]
    groups = groups_of(clustered, distances_of(clustered), names, held)
    sheet = clusters_sheet(groups, clustered.divergence.heads)
    how = how_clustered(clustered, groups)
    return Printed(
        caption=f"Clusters of attention heads{inputs(labelling.manifest)}: {how}. "
        f"{plural(units_of(labelling), 'unit')}.",
        header=sheet.header,
        rows=tuple(tuple(cell.text for cell in row) for row in sheet.rows),
        columns=("cluster", "heads", "layer", "head", "within", "silhouette", "stability", "layers", "roles"),
        values=tuple(
            (
                group.number, len(group.heads), *divmod(group.central, clustered.divergence.heads),
                group.within, group.silhouette, group.stability, ";".join(map(str, group.layers)),
                ";".join(f"{name} {count}" for name, count in group.roles),
            )
            for group in groups
        ),
    )  # fmt: skip
