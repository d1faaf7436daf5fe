"""Show clusters of heads in the terminal: distances, clusters with their heads, claims, nearest pairs."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from rich.console import Console
from rich.table import Table

from headroles.records.clusters import CIRCULAR, ClusterResults, about_roles, reference_text
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.numbers import plural
from headroles.records.table import Table as Records
from headroles.reports import report
from headroles.reports.answer.clusters import answer_of
from headroles.reports.label_report import role_blocks, run_facts
from headroles.reports.sections.cluster_sheets import (
    choices_table,
    clusters_sheet,
    pairs_sheet,
    role_claims_sheet,
)
from headroles.reports.summary import summarise
from headroles.reports.terminal import print_blocks
from headroles.reports.words.cluster_facts import (
    Group,
    distances_of,
    groups_of,
    head_names,
    nearest_of,
)
from headroles.reports.words.clusters import (
    CHOSEN,
    SPLIT,
    choice_rule,
    clustering_text,
    distance_text,
    stress_sentence,
)
from headroles.terminal.console import (
    SHORT,
    Detail,
    named_line,
    show_notes,
    show_report,
    show_sentences,
    show_title,
    terminal_table,
)
from headroles.terminal.facts import all_notes, title_of
from headroles.terminal.roles import HeadGrid

FEW = 2
"""Sentences that are printed where nothing more is asked for."""
PAIRS = 5
"""Number of nearest pairs of heads to show."""
CHOICES = 5
"""How many numbers of clusters to show: the chosen one and those with the largest silhouettes."""
MEMBERS, FEWER = 10, 4
"""Number of heads named per cluster, on a wide and on a narrow terminal."""
WIDE = 120
GROUPS = 30
"""Largest number of clusters to show."""


def show_clustering(console: Console, labelling: Labelling, folder: str, detail: Detail = SHORT) -> None:
    """Print in a few lines whether there are clusters; more where it is asked for.

    Args:
        console: Of any width.
        labelling: A labelling with ``clustered``.
        folder: Folder of the run, for the last line.
        detail: With ``verbose``, all tables of clusters and roles; with ``grid``, the roles of all heads.
    """
    wanted = report.Detail(detail.verbose, detail.grid, console.width)
    show_title(console, title_of(labelling))
    sentences = answer_of(labelling).sentences
    show_sentences(console, sentences if detail.verbose else sentences[:FEW])
    if detail.verbose:
        console.print()
        print_blocks(console, run_facts(labelling), wanted)
        show_clusters(console, labelling)
        print_blocks(console, role_blocks(summarise(labelling), wanted), wanted)
    elif detail.grid:
        console.print(HeadGrid(summarise(labelling)))
    show_notes(console, *all_notes(labelling), brief=not detail.verbose)
    show_report(console, folder)


def show_clusters(console: Console, labelling: Labelling) -> None:
    """Print how distances were computed, the clusters, numbers tried, claims, and the nearest pairs.

    Args:
        console: A console of any width; from 120 columns, more heads and roles are named.
        labelling: A labelling with ``clustered``; without it nothing is printed.
    """
    clustered = labelling.clustered
    if clustered is None:
        return
    findings, scores = labelling.findings, labelling.scores
    held = np.array(
        [findings.decision[findings.of(name)].ravel() == 0 for name in findings.roles], dtype=np.bool_
    )
    distance = distances_of(clustered)
    size = len(clustered.cluster)
    groups = groups_of(clustered, distance, findings.roles, held.reshape(len(findings.roles), size))
    named_line(console, "far", distance_text(clustered))
    named_line(console, "found", clustering_text(clustered, groups))
    named_line(console, "map", stress_sentence(clustered.stress))
    console.print()
    console.print(_clusters(groups, scores, wide=console.width >= WIDE))
    if len(groups) > GROUPS:
        rest = plural(len(groups) - GROUPS, "more cluster")
        named_line(console, "more", f"clusters.csv has {rest}", style="dim")
    choices, rule = _choices(clustered), choice_rule(clustered.choices)
    if choices is not None:
        console.print()
        console.print(choices)
        named_line(console, "rule", rule, style="dim")
    for table in _claims(clustered.claims):
        console.print()
        console.print(table)
    _legend(console, clustered)
    if size > 1:
        console.print()
        names = head_names(scores.stack, scores.heads)
        console.print(terminal_table(pairs_sheet(clustered, nearest_of(clustered, distance), names, PAIRS)))


def _clusters(groups: Sequence[Group], scores: Scores, *, wide: bool) -> Table:
    """Return a table of clusters: size, silhouette, stability, names of the most central heads, roles."""
    sheet = clusters_sheet(groups[:GROUPS], scores, 4 if wide else 1, MEMBERS if wide else FEWER)
    headings = {
        "heads": "heads", "silhouette": "silhouette" if wide else "sil.",
        "stability": "stability" if wide else "stab.", "heads in it": "heads in it", "roles (heads)": "roles",
    }  # fmt: skip
    names = {name: name.removeprefix("cluster ") for name, *_ in sheet.texts}
    return terminal_table(sheet.pick(headings), words=names)


def _choices(clustered: ClusterResults) -> Table | None:
    """Return a table of the chosen number of clusters and the next best; None without a choice."""
    choices = clustered.choices
    if len(choices) < 2:
        return None
    silhouettes = np.nan_to_num(choices["silhouette"], nan=-2.0)
    best = np.lexsort((-silhouettes, -choices["chosen"]))[:CHOICES]
    best = best[np.argsort(choices["clusters"][best], kind="stable")]
    return terminal_table(choices_table(clustered).take(best).sheet("narrow"), strong=CHOSEN)


def _claims(claims: Records) -> Iterator[Table]:
    """Return a table of claims about layers and clusters, and one about roles; none without such claims."""
    named = claims["subject"] != ""
    for of_roles in (False, True):
        shown = claims.take(named == of_roles)
        if shown:
            yield terminal_table(role_claims_sheet(shown) if of_roles else shown.sheet("narrow"))


def _legend(console: Console, clustered: ClusterResults) -> None:
    """Print what each p is a share of, and why some claims have none."""
    names_by_share: dict[str, list[str]] = {}
    for claim in clustered.claims:
        if not math.isnan(claim.p):
            share = f"share at least as extreme among {reference_text(claim)}"
            names_by_share.setdefault(share, []).append(f"{claim.claim}, {claim.measure}")
    for share, names in names_by_share.items():
        named_line(console, "p", f"{'; '.join(names)}: {share}", style="dim")
    if any(about_roles(claim) for claim in clustered.claims):
        named_line(console, "roles", CIRCULAR, style="dim")
    if any(claim.claim == "split halves agree" for claim in clustered.claims):
        named_line(console, "halves", f"the interval is the {SPLIT}".replace("\u00a0", " "), style="dim")
