"""Show clusters of heads in the terminal: distances, clusters with their heads, claims, nearest pairs."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from rich.console import Console
from rich.table import Table

from headroles.records.clusters import Claim, ClusterResults
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.numbers import plural
from headroles.reports.answer.clusters import answer_of
from headroles.reports.sections.cluster_sheets import (
    choices_sheet,
    claims_sheet,
    clusters_sheet,
    pairs_sheet,
    role_claims_sheet,
)
from headroles.reports.sheets import ENDS
from headroles.reports.summary.summary import summarise
from headroles.reports.words.cluster_facts import (
    Group,
    distances_of,
    groups_of,
    head_names,
    nearest_of,
)
from headroles.reports.words.clusters import (
    CHOSEN,
    CIRCULAR,
    SPLIT,
    choice_rule,
    clustering_text,
    distance_text,
    reference_text,
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
from headroles.terminal.label import show_roles, show_run_facts
from headroles.terminal.roles import show_grid

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
    show_title(console, title_of(labelling))
    sentences = answer_of(labelling).sentences
    show_sentences(console, sentences if detail.verbose else sentences[:FEW])
    if detail.verbose:
        console.print()
        show_run_facts(console, labelling)
        show_clusters(console, labelling)
        show_roles(console, summarise(labelling), detail)
    elif detail.grid:
        show_grid(console, summarise(labelling))
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
    choices, sheet = clustered.choices, choices_sheet(clustered)
    if len(choices) < 2:
        return None
    silhouettes = np.nan_to_num([choice.silhouette for choice in choices], nan=-2.0)
    best = sorted(range(len(choices)), key=lambda place: (-choices[place].chosen, -silhouettes[place]))
    shown = sorted(best[:CHOICES], key=lambda place: choices[place].clusters)
    sheet = replace(sheet, rows=tuple(sheet.rows[place] for place in shown))
    headings = {"silhouette": "silhouette", "stability": "stability", "chosen, or why not": ""}
    return terminal_table(sheet.pick(headings, "clusters tried"), strong=CHOSEN)


def _claims(claims: Sequence[Claim]) -> Iterator[Table]:
    """Return a table of claims about layers and clusters, and one about roles; none without such claims."""
    headings = ("measure", f"estimate {ENDS}", "p")
    for about_roles in (False, True):
        shown = [claim for claim in claims if bool(claim.subject) == about_roles]
        if shown:
            sheet = role_claims_sheet(shown) if about_roles else claims_sheet(shown).pick(headings)
            yield terminal_table(sheet)


def _legend(console: Console, clustered: ClusterResults) -> None:
    """Print what each p is a share of, and why some claims have none."""
    names_by_share: dict[str, list[str]] = {}
    for claim in clustered.claims:
        if not math.isnan(claim.p):
            share = f"share at least as extreme among {reference_text(claim)}"
            names_by_share.setdefault(share, []).append(f"{claim.claim}, {claim.measure}")
    for share, names in names_by_share.items():
        named_line(console, "p", f"{'; '.join(names)}: {share}", style="dim")
    if any(claim.about_roles for claim in clustered.claims):
        named_line(console, "roles", CIRCULAR, style="dim")
    if any(claim.claim == "split halves agree" for claim in clustered.claims):
        named_line(console, "halves", f"the interval is the {SPLIT}".replace("\u00a0", " "), style="dim")
