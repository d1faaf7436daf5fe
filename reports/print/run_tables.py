"""Tables of a run:

<<<<<<< HEAD
its roles, its heads, its findings, and those of one kind of run only (best heads of probes, surface
statistics).
=======
its roles, its heads, its findings, and those of one kind of run only (surface statistics, clusters).
>>>>>>> f4d1509a10b4f3b710eb424adb443e1ce02d4cd2
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
from headroles.records.arrays import key_groups
from headroles.records.assessment import VALUES
from headroles.records.findings import FINDINGS, Labelling, findings_of
from headroles.records.numbers import mean, number, plural
from headroles.records.table import ENDS, HEAD, LAYER, MISSING, Cell, Column, Table, counted, interval_ends
from headroles.reports.print.captions import decision_sentence, families_of, inputs_text, units_of
from headroles.reports.sections.cluster_sheets import clusters_sheet
from headroles.reports.sections.role_sheets import roles_sheet, roles_table, values_table
from headroles.reports.sections.several_sheets import p_table
from headroles.reports.sheets import (
    Sheet,
    Sheets,
    with_digits,
)
from headroles.reports.summary import Summary, summarise
from headroles.reports.words.cluster_facts import distances_of, groups_of
from headroles.reports.words.clusters import clustering_text
from headroles.reports.words.words import ABSENT, CAPTION, middle_sentence


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


<<<<<<< HEAD
def probe_tables(labelling: Labelling) -> Sheets:
    """Return tables of a run of probes by name: best heads, where there are any, and those of roles."""
    best = probes_of(labelling).best
    return {**({"best": partial(best_table, labelling)} if best else {}), **role_papers(labelling)}
=======
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
>>>>>>> f4d1509a10b4f3b710eb424adb443e1ce02d4cd2


def surface_tables(labelling: Labelling) -> Sheets:
    """Return tables of a surface run by name: statistics and findings."""
    return {
        "statistics": partial(statistics_table, labelling),
        "findings": partial(findings_table, labelling),
    }
