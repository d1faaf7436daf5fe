"""Tables of a run:

its roles, its heads, its findings, and those of one kind of run only (best heads of probes,
clusters).
"""

import math
from dataclasses import replace
from functools import partial

import numpy as np

from headroles.kinds import kind_of
from headroles.records.arrays import key_groups
from headroles.records.assessment import VALUES
from headroles.records.findings import FINDINGS, Labelling, findings_of
from headroles.records.numbers import mean, number, plural
from headroles.records.table import ENDS, HEAD, LAYER, MISSING, Cell, Column, Table, counted, interval_ends
from headroles.records.table import Sheet as Plain
from headroles.reports.print.captions import decision_sentence, families_of, inputs_text, units_of
from headroles.reports.sections.cluster_sheets import clusters_sheet
from headroles.reports.sections.probe_sheets import best_sheet
from headroles.reports.sections.role_sheets import roles_sheet, roles_table, values_table
from headroles.reports.sections.several_sheets import p_table
from headroles.reports.sheets import (
    Sheet,
    Sheets,
    with_digits,
    word_cell,
)
from headroles.reports.summary import Summary, summarise
from headroles.reports.words.cluster_facts import distances_of, groups_of
from headroles.reports.words.clusters import clustering_text
from headroles.reports.words.probes import best_by_probe, probes_of, published_in
from headroles.reports.words.words import ABSENT, CAPTION, middle_sentence

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
    assessed = labelling.assessment
    return {
        "roles": partial(_roles, labelling),
        "heads": partial(_heads, labelling),
        **({"several": partial(_several, labelling)} if assessed and assessed.several else {}),
        "p-values": partial(_p_values, labelling),
        **({"values": partial(_values, labelling)} if assessed and assessed.drops else {}),
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


def _values(labelling: Labelling) -> Sheet:
    """Return scores by attention and by norm-weighted attention of every head."""
    assert labelling.assessment is not None
    table = values_table(summarise(labelling), labelling.assessment.drops)
    caption = (
        f"Mean scores of heads by attention, and by attention weighted by the norms of the values it "
        f"moves{inputs_text(labelling.manifest)}, with the mean difference over units and its 95\u00a0% "
        f"interval."
    )
    names = [column.name for column in VALUES.columns]
    return with_digits(table.sheet(), table, names, caption=caption)


def _roles(labelling: Labelling) -> Sheet:
    """Return heads with each role, and the strongest of them."""
    summary, probes = summarise(labelling), kind_of(labelling).baselines
    contrast = "the mean of its contrast, " * any(role.contrast for role in summary.roles)
    second = "its difference to the baseline, " if probes else contrast
    note = decision_sentence(labelling.decision, units_of(labelling), families_of(labelling))
    shown = (
        "tested", "strong", "explained", "absent", "head", "mean", "contrast", "difference", "threshold", "q",
    )  # fmt: skip
    sheet = roles_sheet(summary, shown)
    header = tuple("heads" if name == "heads of tested" else name for name in sheet.header)
    columns = (
        "role", "heads", "tested", "layer", "head", "mean", "low", "high", "contrast", "contrast_low",
        "contrast_high", "threshold", "contrast_threshold", "q", *DIFFERENCE * probes, "strong", "explained",
        "not", "absent",
    )  # fmt: skip
    caption = (
        f"Roles of attention heads{inputs_text(labelling.manifest)}: heads with each role, of "
        f"those tested{_parts_text(summary)}; of the head with the role and the largest mean, this mean "
        f"with its 95\u00a0% interval (not adjusted for selection), {second}and q. "
        f"Means are tested against the threshold. {note}"
    )
    return with_digits(replace(sheet, header=header), roles_table(summary), columns, caption=caption)


def _parts_text(summary: Summary) -> str:
    """Return the meaning of the columns of strong, explained and absent heads, where the run has them."""
    stronger = sorted({role.stronger for role in summary.roles if role.stronger})
    texts = [f"strong heads beyond {' and '.join(stronger)}, too"] if stronger else []
    if any(role.contrast for role in summary.roles):
        texts.append("explained heads, above the threshold with a contrast below its margin")
    if any(role.bounded for role in summary.roles):
        texts.append(f"absent heads, with a mean within ± {ABSENT:g} of chance")
    return "".join(f"; {text}" for text in texts)


HEADS = Table("", "Heads", "a head", (
    LAYER, HEAD,
    Column("roles", "Its roles, joined by `;`.", str, "roles", lambda roles: roles.replace(";", ", ") or "–"),
    Column("strongest", "The role with the largest effect.", str),
    Column("effect", "This effect.", float, "strongest effect",
           cell=lambda row: Cell(f"{number(row.effect)} ({row.strongest})", row.effect) if row.strongest
           else MISSING),
    counted("kv_group", "The group of the head, where heads share keys.", "kv group"),
))  # fmt: skip


def _heads(labelling: Labelling) -> Sheet:
    """Return the roles of every head, and the largest of their effects."""
    summary, stack = summarise(labelling), labelling.scores.stack
    note = decision_sentence(labelling.decision, units_of(labelling), families_of(labelling))
    shared = key_groups(labelling.manifest.get("model"), summary.layers, summary.heads)
    groups = None if shared is None else shared.ravel().tolist()
    rows = []
    for place in range(summary.layers * summary.heads):
        layer, head = divmod(place, summary.heads)
        roles = [role for number, role in enumerate(summary.roles) if summary.held[number, layer, head]]
        effects = [float(summary.of("effect", role.position)[place]) for role in roles]
        best = int(np.nanargmax(effects)) if np.isfinite(effects).any() else -1
        name, effect = (roles[best].sieve, effects[best]) if best >= 0 else ("", math.nan)
        names = ";".join(role.sieve for role in roles)
        group = groups[place] if groups else 0
        rows.append(
            {"layer": stack.numbers[layer], "head": head, "roles": names, "strongest": name, "effect": effect}
            | {"kv_group": group}
        )
    table = HEADS.rows(rows)
    columns = [column.name for column in HEADS.columns if groups or column.name != "kv_group"]
    caption = (
        f"Roles of every attention head{inputs_text(labelling.manifest)}, named by layer and head "
        f"from 0, and the largest of their effects, (mean − θ) / standard deviation"
        f"{SHARED if groups else ''}. {note}"
    )
    sheet = table.sheet(leave=[] if groups else ["kv_group"])
    return with_digits(sheet, table, columns, caption=caption)


def _several(labelling: Labelling) -> Sheet:
    """Return roles a head and the share of heads with several roles, by layer."""
    assert labelling.assessment is not None
    note = decision_sentence(labelling.decision, units_of(labelling), families_of(labelling))
    rows = labelling.assessment.several
    words = f"{CAPTION} {middle_sentence(rows)} {note}"
    caption = f"Number of roles a head{inputs_text(labelling.manifest)}. {words}"
    return with_digits(rows.sheet(), rows, caption=caption)


def _p_values(labelling: Labelling) -> Sheet:
    """Return how many p values lie near 0 or 1, by role."""
    findings = labelling.findings
    note = decision_sentence(labelling.decision, units_of(labelling), families_of(labelling))
    table = p_table([(name, findings.p[findings.of(name)].ravel()) for name in findings.roles])
    caption = (
        f"P values before correction that lie near 0 or 1{inputs_text(labelling.manifest)}, over the "
        f"heads of each role; with a contrast, p is the larger of the two tests. {note}"
    )
    return with_digits(table.sheet(), table, caption=caption)


FINDINGS_AND_MEANS = Table("", "Findings", FINDINGS.row, (
    *FINDINGS.describe("mean", ends=("mean_low", "mean_high")).columns,
    Column("mean_low", "Lower end of the 95 % interval of the mean itself."),
    Column("mean_high", "Upper end."),
    Column("difference", "The mean less the chance value.", float, f"difference {ENDS}", mean,
           ("difference_low", "difference_high")),
    *interval_ends("difference_low", "difference_high"),
))  # fmt: skip


def findings_table(labelling: Labelling) -> Sheet:
    """Return every test; in runs of probes with both intervals, of the accuracy and of the difference."""
    probes, found = kind_of(labelling).baselines, findings_of(labelling)
    ends = zip(("mean_low", "mean_high"), labelling.mean_intervals(), strict=True)
    beyond = zip(DIFFERENCE, ("mean", "low", "high"), strict=True)
    table = FINDINGS_AND_MEANS.of(
        **found.data,
        **{name: values.ravel() for name, values in ends},
        **{name: found[own] - found["null"] for name, own in beyond},
    )
    note = decision_sentence(labelling.decision, units_of(labelling), kind_of(labelling).families(labelling))
    about = " (of the accuracy itself, and of its difference to the baseline, which is tested)" * probes
    shown = ("sieve", "head", "count", "mean", "null", *["difference"] * probes, "effect", "q", "q_not")
    caption = (
        f"All findings{inputs_text(labelling.manifest)}, intervals{about} not adjusted for selection. {note}"
    )
    columns = [column.name for column in (FINDINGS_AND_MEANS if probes else FINDINGS).columns]
    return with_digits(table.sheet(only=(*shown, "decision")), table, columns, caption=caption)
