"""Tables of a run:

its roles, its heads, its findings, and those of one kind of run only (best heads of probes, surface
statistics, clusters).
"""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from headroles.records.arrays import key_groups
from headroles.records.findings import Labelling
from headroles.records.probes import BestHead
from headroles.reports.print.table import (
    PaperTable,
    Tables,
    columns_of_frame,
    columns_of_records,
    decision_sentence,
    families_of,
    inputs_text,
    units_of,
)
from headroles.reports.records import Interval, Role, Summary
from headroles.reports.sections.cluster_sheets import clusters_sheet
from headroles.reports.sections.probe_sheets import Sheet, best_sheet
from headroles.reports.sections.surface_sheets import statistics_sheet
from headroles.reports.summary.summary import summarise
from headroles.reports.surface_page import FAMILIES
from headroles.reports.surface_page import FAMILIES as SURFACE_FAMILIES
from headroles.reports.words.cluster_facts import distances_of, groups_of, head_name
from headroles.reports.words.clusters import clustering_text
from headroles.reports.words.probes import best_by_probe, published_in
from headroles.reports.words.surface import (
    GROUP,
    decision_counts,
    even_attention,
    has_scores,
    layers_of,
    peak,
)
from headroles.reports.words.words import interval, number, p_text, plural

ROWS = dict.fromkeys(("sieve", "run", "layer"), "the rows of a probe")
"""Tests that are corrected together in the table of best heads."""


def best_table(labelling: Labelling) -> PaperTable:
    """Return the best head of every row of every probe; columns that a probe lacks stay empty."""
    best = labelling.probed.best if labelling.probed else ()
    columns, values = columns_of_records(BestHead, best)
    published = published_in(labelling.manifest)
    sheets = {probe: best_sheet(probe, rows, published) for probe, rows in best_by_probe(best).items()}
    header = tuple(dict.fromkeys(name for sheet in sheets.values() for name in sheet.header[1:]))
    note = decision_sentence(labelling.decision, units_of(labelling), ROWS)
    return PaperTable(
        caption=(
            f"Best head of every row{inputs_text(labelling.manifest)}: right answers in per cent where "
            f"it was chosen and where it was tested, beside the best baseline, with 95\u00a0% intervals "
            f"clustered by unit. {note}"
        ),
        header=("probe", "row", *header),
        rows=tuple(line for probe, sheet in sheets.items() for line in _fill_columns(probe, sheet, header)),
        columns=columns,
        values=values,
    )


def _fill_columns(probe: str, sheet: Sheet, header: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the rows of a probe under the columns of all probes."""
    lines = []
    for row in sheet.rows:
        cells = dict(zip(sheet.header[1:], (cell.text for cell in row[1:]), strict=True))
        lines.append((probe, row[0].text, *(cells.get(name) or "–" for name in header)))
    return lines


def statistics_table(labelling: Labelling) -> PaperTable:
    """Return every statistic of a surface run with even attention."""
    sheet = statistics_sheet(labelling)
    names = [name for name in labelling.findings.sieves if name.startswith(GROUP)]
    note = decision_sentence(labelling.decision, units_of(labelling), FAMILIES)
    return PaperTable(
        caption=(
            f"Where attention heads look{inputs_text(labelling.manifest)}: heads above and below "
            f"even attention, and the head and the layer with the largest means with their 95\u00a0% "
            f"intervals. {note}"
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
    """Return the values of one statistic with all digits."""
    findings = labelling.findings
    cells: list[Any] = [column, even_attention(findings, column), *decision_counts(findings, column)]
    if has_scores(findings, column):
        top = peak(findings, column)
        cells += [top.layer, top.head, top.mean.mean, top.mean.low, top.mean.high, top.q]
    else:
        cells += [None] * 6
    layers = layers_of(labelling, column)
    most = max(layers, key=lambda row: row.mean) if layers else None
    return (*cells, *((most.layer, most.mean, most.low, most.high) if most else (None,) * 4))


def clusters_table(labelling: Labelling) -> PaperTable:
    """Return every cluster of heads."""
    clustered, summary = labelling.clustered, summarise(labelling)
    assert clustered is not None
    held = summary.held.reshape(len(summary.roles), len(clustered.cluster))
    names = [role.sieve for role in summary.roles]
    groups = groups_of(clustered, distances_of(clustered), names, held)
    sheet = clusters_sheet(groups, clustered.divergence.heads)
    how = clustering_text(clustered, groups)
    return PaperTable(
        caption=f"Clusters of attention heads{inputs_text(labelling.manifest)}: {how}. "
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


ENDS = "[95\u00a0%]"
SHARED = "; heads of one layer with the same kv group share keys and values, and are dependent"


def role_tables(labelling: Labelling) -> Tables:
    """Return tables of a run of sieves by name: roles, heads and findings."""
    return {
        "roles": partial(_roles, labelling),
        "heads": partial(_heads, labelling),
        "findings": partial(_findings, labelling),
    }


def cluster_tables(labelling: Labelling) -> Tables:
    """Return tables of a run that clusters heads by name: those of roles, and clusters."""
    return {
        "roles": partial(_roles, labelling),
        "heads": partial(_heads, labelling),
        "clusters": partial(clusters_table, labelling),
        "findings": partial(_findings, labelling),
    }


def probe_tables(labelling: Labelling) -> Tables:
    """Return tables of a run of probes by name: best heads, where there are any, and those of roles."""
    best = labelling.probed.best if labelling.probed else ()
    return {**({"best": partial(best_table, labelling)} if best else {}), **role_tables(labelling)}


def surface_tables(labelling: Labelling) -> Tables:
    """Return tables of a surface run by name: statistics and findings."""
    return {"statistics": partial(statistics_table, labelling), "findings": partial(_findings, labelling)}


def _roles(labelling: Labelling) -> PaperTable:
    """Return heads with each role, and the strongest of them."""
    summary = summarise(labelling)
    note = decision_sentence(labelling.decision, units_of(labelling), families_of(labelling))
    return PaperTable(
        caption=(
            f"Roles of attention heads{inputs_text(labelling.manifest)}: heads with each role, of "
            f"those tested; of the head among them with the largest mean, this mean with its 95\u00a0% "
            f"interval (not adjusted for selection), the mean of its contrast, and q. Means are tested "
            f"against θ. {note}"
        ),
        header=("role", "heads", "strongest head", f"its mean {ENDS}", f"contrast {ENDS}", "θ", "q"),
        rows=tuple(_role(summary, role) for role in summary.roles),
        columns=(
            "role", "heads", "tested", "layer", "head", "mean", "low", "high", "contrast", "contrast_low",
            "contrast_high", "threshold", "contrast_threshold", "q",
        ),
        values=tuple(_role_values(summary, role) for role in summary.roles),
    )  # fmt: skip


def _q(summary: Summary, role: Role) -> float:
    """Return the q of the strongest head; NaN where there is none."""
    head = role.strongest
    if head is None:
        return float("nan")
    return float(summary.table.of("q", role.position)[head.layer * summary.table.heads + head.head])


def _role(summary: Summary, role: Role) -> tuple[str, ...]:
    """Return one role as text."""
    tally, head = role.tally, role.strongest
    count = f"{tally.role}/{tally.tests}"
    if head is None:
        return (role.sieve, count, "–", "–", "–", f"{role.threshold:.3f}", "–")
    return (
        role.sieve,
        count,
        f"{head.layer}-{head.head}",
        interval(head.score),
        interval(head.contrast) if head.contrast else "–",
        f"{role.threshold:.3f}",
        p_text(_q(summary, role)),
    )


def _role_values(summary: Summary, role: Role) -> tuple[Any, ...]:
    """Return one role with all digits."""
    head, contrast = role.strongest, role.strongest.contrast if role.strongest else None
    place = (head.layer, head.head) if head else (None, None)
    score = (head.score.mean, head.score.low, head.score.high) if head else (None,) * 3
    beyond = (contrast.mean, contrast.low, contrast.high) if contrast else (None,) * 3
    levels = (role.threshold, role.contrast_threshold)
    return (
        role.sieve,
        role.tally.role,
        role.tally.tests,
        *place,
        *score,
        *beyond,
        *levels,
        _q(summary, role),
    )


def _heads(labelling: Labelling) -> PaperTable:
    """Return the roles of every head, and the largest of their effects."""
    summary = summarise(labelling)
    note = decision_sentence(labelling.decision, units_of(labelling), families_of(labelling))
    shared = key_groups(labelling.manifest.get("model"), summary.table.layers, summary.table.heads)
    groups = None if shared is None else shared.ravel().tolist()
    rows: list[tuple[str, ...]] = []
    values: list[tuple[Any, ...]] = []
    for place in range(summary.table.layers * summary.table.heads):
        layer, head = divmod(place, summary.table.heads)
        roles = [role for number, role in enumerate(summary.roles) if summary.held[number, layer, head]]
        effects = [float(summary.table.of("effect", role.position)[place]) for role in roles]
        best = int(np.nanargmax(effects)) if np.isfinite(effects).any() else -1
        strongest = (roles[best].sieve, effects[best]) if best >= 0 else ("", float("nan"))
        names = [role.sieve for role in roles]
        effect = f"{number(strongest[1])} ({strongest[0]})" if best >= 0 else "–"
        group = () if groups is None else (groups[place],)
        rows.append(
            (head_name(place, summary.table.heads), ", ".join(names) or "–", effect, *map(str, group))
        )
        values.append((layer, head, ";".join(names), *strongest, *group))
    return PaperTable(
        caption=(
            f"Roles of every attention head{inputs_text(labelling.manifest)}, named by layer and head "
            f"from 0, and the largest of their effects, (mean − θ) / standard deviation"
            f"{SHARED if groups else ''}. {note}"
        ),
        header=("head", "roles", "strongest effect", *["kv group"] * bool(groups)),
        rows=tuple(rows),
        columns=("layer", "head", "roles", "strongest", "effect", *["kv_group"] * bool(groups)),
        values=tuple(values),
    )


def _findings(labelling: Labelling) -> PaperTable:
    """Return every test."""
    columns, values = columns_of_frame(labelling.frame())
    families = families_of(labelling) if labelling.surface is None else SURFACE_FAMILIES
    note = decision_sentence(labelling.decision, units_of(labelling), families)
    return PaperTable(
        caption=(
            f"All findings{inputs_text(labelling.manifest)}, intervals not adjusted for selection. {note}"
        ),
        header=("sieve", "head", "units", f"mean {ENDS}", "chance", "effect", "q", "q of not", "decision"),
        rows=tuple(_finding(dict(zip(columns, row, strict=True))) for row in values),
        columns=columns,
        values=values,
    )


def _finding(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return one test as text."""
    ends = Interval(row["mean"], row["low"], row["high"])
    return (
        row["sieve"],
        f"{row['layer']}-{row['head']}",
        f"{row['count']:,}",
        "–" if math.isnan(ends.mean) else interval(ends),
        number(row["null"]),
        number(row["effect"]),
        p_text(row["q"]),
        p_text(row["q_not"]),
        row["decision"] or "contrast",
    )
