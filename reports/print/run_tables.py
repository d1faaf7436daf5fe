"""Tables of a run:

its roles, its heads, its findings, and those of one kind of run only (best heads of probes, surface
statistics, clusters).
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from headroles.kinds import kind_of
from headroles.records.arrays import key_groups
from headroles.records.assessment import SeveralRoles, ValueDrop
from headroles.records.findings import Labelling
from headroles.records.numbers import number, p_text, plural
from headroles.records.probes import BestHead
from headroles.reports.print.captions import decision_sentence, families_of, inputs_text, units_of
from headroles.reports.sections.cluster_sheets import clusters_sheet
from headroles.reports.sections.probe_sheets import best_sheet
from headroles.reports.sections.role_sheets import q_of, roles_sheet, values_sheet
from headroles.reports.sections.several_sheets import p_sheet, several_sheet
from headroles.reports.sections.surface_sheets import statistics_sheet
from headroles.reports.sheets import (
    ENDS,
    MISSING,
    Cell,
    Sheet,
    Sheets,
    columns_of_frame,
    columns_of_records,
    count_cell,
    place_cell,
    word_cell,
)
from headroles.reports.summary import Role, Summary, summarise
from headroles.reports.words.cluster_facts import distances_of, groups_of
from headroles.reports.words.clusters import clustering_text
from headroles.reports.words.probes import best_by_probe, probes_of, published_in
from headroles.reports.words.surface import (
    GROUP,
    decision_counts,
    even_attention,
    has_scores,
    layers_of,
    peak,
)
from headroles.reports.words.words import ABSENT, CAPTION, Interval, interval, middle_sentence

ROWS = dict.fromkeys(("sieve", "run", "layer"), "the rows of a probe")
"""Tests that are corrected together in the table of best heads."""


def best_table(labelling: Labelling) -> Sheet:
    """Return the best head of every row of every probe; columns that a probe lacks stay empty."""
    best = probes_of(labelling).best
    columns, values = columns_of_records(BestHead, best)
    published = published_in(labelling.manifest)
    sheets = {probe: best_sheet(probe, rows, published) for probe, rows in best_by_probe(best).items()}
    header = tuple(dict.fromkeys(name for sheet in sheets.values() for name in sheet.header[1:]))
    note = decision_sentence(labelling.decision, units_of(labelling), ROWS)
    return Sheet(
        "Best heads",
        header=("probe", "row", *header),
        rows=tuple(line for probe, sheet in sheets.items() for line in _fill_columns(probe, sheet, header)),
        caption=(
            f"Best head of every row{inputs_text(labelling.manifest)}: right answers in per cent where "
            f"it was chosen and where it was tested, and of the best baseline, with 95\u00a0% intervals "
            f"clustered by unit: of the accuracy, and of its difference to the baseline. {note}"
        ),
        columns=columns,
        values=values,
    )


def _fill_columns(probe: str, sheet: Sheet, header: tuple[str, ...]) -> list[tuple[Cell, ...]]:
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
    sheet = statistics_sheet(labelling)
    names = [name for name in labelling.findings.sieves if name.startswith(GROUP)]
    families = kind_of(labelling).families(labelling)
    note = decision_sentence(labelling.decision, units_of(labelling), families)
    return replace(
        sheet,
        caption=(
            f"Where attention heads look{inputs_text(labelling.manifest)}: heads above and below "
            f"even attention, and the head and the layer with the largest means with their 95\u00a0% "
            f"intervals. {note}"
        ),
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
        top = peak(labelling, column)
        cells += [top.layer, top.head, top.mean.mean, top.mean.low, top.mean.high, top.q]
    else:
        cells += [None] * 6
    layers = layers_of(labelling, column)
    most = max(layers, key=lambda row: row.mean) if layers else None
    return (*cells, *((most.layer, most.mean, most.low, most.high) if most else (None,) * 4))


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


DIFFERENCE = ("difference", "difference_low", "difference_high")
"""Columns of the difference to the baseline, which runs of probes have."""
SHARED = "; heads of one layer with the same kv group share keys and values, and are dependent"


def role_tables(labelling: Labelling) -> Sheets:
    """Return tables of a run of sieves by name: roles, heads, several roles, p, values and findings."""
    return {
        "roles": partial(_roles, labelling),
        "heads": partial(_heads, labelling),
        **({"several": partial(_several, labelling)} if _counted(labelling) else {}),
        "p-values": partial(_p_values, labelling),
        **({"values": partial(_values, labelling)} if _drops(labelling) else {}),
        "findings": partial(findings_table, labelling),
    }


def cluster_tables(labelling: Labelling) -> Sheets:
    """Return tables of a run that clusters heads by name: those of roles, and clusters."""
    return {
        "roles": partial(_roles, labelling),
        "heads": partial(_heads, labelling),
        "clusters": partial(clusters_table, labelling),
        "findings": partial(findings_table, labelling),
    }


def probe_tables(labelling: Labelling) -> Sheets:
    """Return tables of a run of probes by name: best heads, where there are any, and those of roles."""
    best = probes_of(labelling).best
    return {**({"best": partial(best_table, labelling)} if best else {}), **role_tables(labelling)}


def surface_tables(labelling: Labelling) -> Sheets:
    """Return tables of a surface run by name: statistics and findings."""
    return {
        "statistics": partial(statistics_table, labelling),
        "findings": partial(findings_table, labelling),
    }


def _drops(labelling: Labelling) -> tuple[ValueDrop, ...]:
    """Return the scores by attention and by norm of a run; none where no role asks for them."""
    return labelling.assessment.drops if labelling.assessment else ()


def _values(labelling: Labelling) -> Sheet:
    """Return scores by attention and by norm-weighted attention of every head."""
    return replace(
        values_sheet(summarise(labelling), _drops(labelling)),
        caption=(
            f"Mean scores of heads by attention, and by attention weighted by the norms of the values it "
            f"moves{inputs_text(labelling.manifest)}, with the mean difference over units and its 95\u00a0% "
            f"interval."
        ),
    )


def _roles(labelling: Labelling) -> Sheet:
    """Return heads with each role, and the strongest of them."""
    summary, probes = summarise(labelling), kind_of(labelling).baselines
    contrast = "the mean of its contrast, " * any(role.contrast for role in summary.roles)
    second = "its difference to the baseline, " if probes else contrast
    note = decision_sentence(labelling.decision, units_of(labelling), families_of(labelling))
    kept = ("strongest head", f"its mean {ENDS}", f"contrast {ENDS}", f"difference to baseline {ENDS}")
    parts = ("strong", "explained", "absent")
    names = {"heads of tested": "heads", **{name: name for name in (*parts, *kept, "threshold", "q")}}
    return replace(
        roles_sheet(summary).pick(names),
        caption=(
            f"Roles of attention heads{inputs_text(labelling.manifest)}: heads with each role, of "
            f"those tested{_parts_text(summary)}; of the head with the role and the largest mean, this mean "
            f"with its 95\u00a0% interval (not adjusted for selection), {second}and q. "
            f"Means are tested against the threshold. {note}"
        ),
        columns=(
            "role", "heads", "tested", "layer", "head", "mean", "low", "high", "contrast", "contrast_low",
            "contrast_high", "threshold", "contrast_threshold", "q", *DIFFERENCE * probes, "strong",
            "explained", "not", "absent",
        ),
        values=tuple(_role_values(summary, role, probes) for role in summary.roles),
    )  # fmt: skip


def _role_values(summary: Summary, role: Role, probes: bool) -> tuple[Any, ...]:
    """Return one role with all digits; in runs of probes with the difference to the baseline."""
    head, contrast = role.strongest, role.strongest.contrast if role.strongest else None
    place = (summary.stack.numbers[head.layer], head.head) if head else (None, None)
    score, beyond = _ends(head.score if head else None), _ends(contrast)
    levels = (role.threshold, role.contrast_threshold)
    return (
        role.sieve,
        role.tally.role,
        role.tally.tests,
        *place,
        *score,
        *beyond,
        *levels,
        q_of(summary, role),
        *_ends(head.beyond if head else None) * probes,
        role.tally.strong,
        role.tally.explained,
        role.tally.not_role,
        role.tally.absent,
    )


def _parts_text(summary: Summary) -> str:
    """Return the meaning of the columns of strong, explained and absent heads, where the run has them."""
    stronger = sorted({role.stronger for role in summary.roles if role.stronger})
    texts = [f"strong heads beyond {' and '.join(stronger)}, too"] if stronger else []
    if any(role.contrast for role in summary.roles):
        texts.append("explained heads, above the threshold with a contrast below its margin")
    if any(role.bounded for role in summary.roles):
        texts.append(f"absent heads, with a mean within ± {ABSENT:g} of chance")
    return "".join(f"; {text}" for text in texts)


def _ends(ends: Interval | None) -> tuple[float | None, ...]:
    """Return a mean and its interval; None for each where there is no mean."""
    return (ends.mean, ends.low, ends.high) if ends else (None,) * 3


def _heads(labelling: Labelling) -> Sheet:
    """Return the roles of every head, and the largest of their effects."""
    summary, stack = summarise(labelling), labelling.scores.stack
    note = decision_sentence(labelling.decision, units_of(labelling), families_of(labelling))
    shared = key_groups(labelling.manifest.get("model"), summary.layers, summary.heads)
    groups = None if shared is None else shared.ravel().tolist()
    rows: list[tuple[Cell, ...]] = []
    values: list[tuple[Any, ...]] = []
    for place in range(summary.layers * summary.heads):
        layer, head = divmod(place, summary.heads)
        roles = [role for number, role in enumerate(summary.roles) if summary.held[number, layer, head]]
        effects = [float(summary.of("effect", role.position)[place]) for role in roles]
        best = int(np.nanargmax(effects)) if np.isfinite(effects).any() else -1
        name, effect = (roles[best].sieve, effects[best]) if best >= 0 else ("", math.nan)
        names = [role.sieve for role in roles]
        group = () if groups is None else (groups[place],)
        strongest = Cell(f"{number(effect)} ({name})", effect) if name else MISSING
        first = Cell(stack.name(layer, head), place)
        rows.append((first, word_cell(", ".join(names) or "–"), strongest, *map(count_cell, group)))
        values.append((stack.numbers[layer], head, ";".join(names), name, effect, *group))
    return Sheet(
        "Heads",
        header=("head", "roles", "strongest effect", *["kv group"] * bool(groups)),
        rows=tuple(rows),
        caption=(
            f"Roles of every attention head{inputs_text(labelling.manifest)}, named by layer and head "
            f"from 0, and the largest of their effects, (mean − θ) / standard deviation"
            f"{SHARED if groups else ''}. {note}"
        ),
        columns=("layer", "head", "roles", "strongest", "effect", *["kv_group"] * bool(groups)),
        values=tuple(values),
    )


def _counted(labelling: Labelling) -> tuple[SeveralRoles, ...]:
    """Return the number of roles a head by layer; nothing where an older run did not count it."""
    return labelling.assessment.several if labelling.assessment else ()


def _several(labelling: Labelling) -> Sheet:
    """Return roles a head and the share of heads with several roles, by layer."""
    note = decision_sentence(labelling.decision, units_of(labelling), families_of(labelling))
    rows = _counted(labelling)
    return replace(
        several_sheet(rows),
        caption=f"Number of roles a head{inputs_text(labelling.manifest)}. {CAPTION} "
        f"{middle_sentence(rows)} {note}",
    )


def _p_values(labelling: Labelling) -> Sheet:
    """Return how many p values lie near 0 or 1, by role."""
    findings = labelling.findings
    note = decision_sentence(labelling.decision, units_of(labelling), families_of(labelling))
    return replace(
        p_sheet([(name, findings.p[findings.of(name)].ravel()) for name in findings.roles]),
        caption=f"P values before correction that lie near 0 or 1{inputs_text(labelling.manifest)}, over the "
        f"heads of each role; with a contrast, p is the larger of the two tests. {note}",
    )


def findings_table(labelling: Labelling) -> Sheet:
    """Return every test; in runs of probes with both intervals, of the accuracy and of the difference."""
    columns, values = columns_of_frame(labelling.frame())
    families = kind_of(labelling).families(labelling)
    note = decision_sentence(labelling.decision, units_of(labelling), families)
    probes = kind_of(labelling).baselines
    rows = [dict(zip(columns, row, strict=True)) for row in values]
    lows, highs = (ends.ravel().tolist() for ends in labelling.mean_intervals())
    means = [Interval(row["mean"], low, high) for row, low, high in zip(rows, lows, highs, strict=True)]
    extra = [(own.low, own.high, *_ends(_difference(row))) for row, own in zip(rows, means, strict=True)]
    about = " (of the accuracy itself, and of its difference to the baseline, which is tested)" * probes
    return Sheet(
        "Findings",
        caption=(
            f"All findings{inputs_text(labelling.manifest)}, intervals{about} not adjusted for selection. "
            f"{note}"
        ),
        header=(
            "sieve", "head", "units", f"mean {ENDS}", "chance", *(f"difference {ENDS}",) * probes, "effect",
            "q", "q of not", "decision",
        ),
        rows=tuple(_finding(row, own, probes) for row, own in zip(rows, means, strict=True)),
        columns=(*columns, *("mean_low", "mean_high", *DIFFERENCE) * probes),
        values=tuple((*row, *more * probes) for row, more in zip(values, extra, strict=True)),
    )  # fmt: skip


def _difference(row: Mapping[str, Any]) -> Interval:
    """Return the difference of a mean from its chance value, with the interval of the test."""
    return Interval(*(row[name] - row["null"] for name in ("mean", "low", "high")))


def _finding(row: Mapping[str, Any], ends: Interval, probes: bool) -> tuple[Cell, ...]:
    """Return one test: with the interval of its mean, and in probes that of the difference."""
    known = not math.isnan(ends.mean)
    return (
        word_cell(row["sieve"]),
        place_cell(row["layer"], row["head"]),
        count_cell(row["count"]),
        Cell(interval(ends), ends.mean) if known else MISSING,
        Cell(number(row["null"]), row["null"]),
        *(Cell(interval(_difference(row)), _difference(row).mean) if known else MISSING,) * probes,
        Cell(number(row["effect"]), row["effect"]),
        *(Cell(p_text(row[name]), row[name]) for name in ("q", "q_not")),
        word_cell(row["decision"] or "contrast"),
    )
