"""Show clusters of heads in the terminal: distances, clusters with their heads, claims, nearest pairs."""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from headroles.records.clusters import Claim, ClusterResults, Neighbours
from headroles.records.findings import Labelling
from headroles.reports.sections.cluster_sheets import roles_text
from headroles.reports.words.cluster_facts import NOISE, Group, distances_of, groups_of, head_name, nearest_of
from headroles.reports.words.clusters import (
    CIRCULAR,
    SPLIT,
    choice_notes,
    choice_rule,
    cluster_name,
    clustering_text,
    distance_text,
    estimate_text,
    reference_text,
    stress_sentence,
    three_decimals,
)
from headroles.reports.words.words import number, plural, two_decimals, with_range
from headroles.terminal.label import named_line

PAIRS = 5
"""Number of nearest pairs of heads to show."""
CHOICES = 5
"""How many numbers of clusters to show: the chosen one and those with the largest silhouettes."""
MEMBERS, FEWER = 10, 4
"""Number of heads named per cluster, on a wide and on a narrow terminal."""
WIDE = 120
GROUPS = 30
"""Largest number of clusters to show."""


def show_clusters(console: Console, labelling: Labelling) -> None:
    """Print how distances were computed, the clusters, numbers tried, claims, and the nearest pairs.

    Args:
        console: A console of any width; from 120 columns, more heads and roles are named.
        labelling: A labelling with ``clustered``; without it nothing is printed.
    """
    clustered = labelling.clustered
    if clustered is None:
        return
    findings, heads = labelling.findings, clustered.divergence.heads
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
    console.print(_clusters(groups, heads, wide=console.width >= WIDE))
    if len(groups) > GROUPS:
        rest = plural(len(groups) - GROUPS, "more cluster")
        named_line(console, "more", f"clusters.csv has {rest}", style="dim")
    choices, rule = _choices(clustered), choice_rule(clustered.choices)
    if choices is not None:
        console.print()
        console.print(choices)
        named_line(console, "rule", rule, style="dim")
    for table in (_claims(clustered.claims), _roles(clustered.claims)):
        if table is not None:
            console.print()
            console.print(table)
    _legend(console, clustered)
    if size > 1:
        console.print()
        console.print(_pairs(clustered, nearest_of(clustered, distance)))


def _table(columns: Sequence[tuple[str, bool]]) -> Table:
    """Make a plain table from names of columns, and whether they hold numbers."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name, numeric in columns:
        table.add_column(escape(name), justify="right" if numeric else "left")
    return table


def _clusters(groups: Sequence[Group], heads: int, *, wide: bool) -> Table:
    """Make a table of clusters: size, silhouette, stability, and names of the most central heads."""
    numeric_columns = (
        [("silhouette", True), ("stability", True)] if wide else [("sil.", True), ("stab.", True)]
    )
    table = _table(
        [("cluster", False), ("heads", True), *numeric_columns, ("heads in it", False), ("roles", False)]
    )
    for group in groups[:GROUPS]:
        most = MEMBERS if wide else FEWER
        others = [head for head in group.heads if head != group.central or group.number == NOISE]
        first = [] if group.number == NOISE else [group.central]
        names = [head_name(head, heads) for head in [*first, *others][:most]]
        members = " ".join(names) + " …" * (len(group.heads) > most)
        cells = (
            f"{len(group.heads):,}",
            two_decimals(group.silhouette),
            two_decimals(group.stability),
            members,
        )
        name = cluster_name(group.number).removeprefix("cluster ")
        table.add_row(Text(name), *map(Text, cells), Text(roles_text(group, 4 if wide else 1)))
    return table


def _choices(clustered: ClusterResults) -> Table | None:
    """Make a table of the chosen number of clusters and the next best; None without a choice."""
    if len(clustered.choices) < 2:
        return None
    tried = zip(clustered.choices, choice_notes(clustered), strict=True)
    best = sorted(tried, key=lambda row: (-row[0].chosen, -np.nan_to_num(row[0].silhouette, nan=-2.0)))
    table = _table([("clusters tried", True), ("silhouette", True), ("stability", True), ("", False)])
    for choice, note in sorted(best[:CHOICES], key=lambda row: row[0].clusters):
        cells = (f"{choice.clusters}", two_decimals(choice.silhouette), two_decimals(choice.stability), note)
        table.add_row(*map(Text, cells), style="bold" if choice.chosen else "")
    return table


def _claims(claims: Sequence[Claim]) -> Table | None:
    """Make a table of claims about layers and clusters, with interval and p; None without any."""
    shown = [claim for claim in claims if not claim.subject]
    if not shown:
        return None
    table = _table([("claim", False), ("measure", False), ("estimate [95 %]", True), ("p", True)])
    for claim in shown:
        table.add_row(*map(Text, (claim.claim, claim.measure, _estimate(claim), number(claim.p))))
    return table


def _roles(claims: Sequence[Claim]) -> Table | None:
    """Make a table of claims about roles, with a row per role; None without any."""
    shown = [claim for claim in claims if claim.subject]
    if not shown:
        return None
    kinds = list(dict.fromkeys((claim.claim, claim.measure) for claim in shown))
    table = _table([("role", False), *((f"{claim}, {measure}", True) for claim, measure in kinds)])
    estimates = {(claim.subject, claim.claim, claim.measure): _estimate(claim) for claim in shown}
    for subject in dict.fromkeys(claim.subject for claim in shown):
        table.add_row(Text(subject), *(Text(estimates.get((subject, *kind), "–")) for kind in kinds))
    return table


def _estimate(claim: Claim) -> str:
    """Return the estimate of a claim and its interval."""
    return estimate_text(claim).replace("\u00a0", " ")


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


def _pairs(clustered: ClusterResults, near: Neighbours) -> Table:
    """Make a table of the nearest pairs of heads, each pair once."""
    heads = clustered.divergence.heads
    table = _table([("nearest pairs", False), ("distance [95 %]", True), ("clusters", False)])
    for head_a, position in _nearest(near.head, near.distance):
        head_b = int(near.head[head_a, position])
        far, low, high = (
            float(getattr(near, name)[head_a, position]) for name in ("distance", "low", "high")
        )
        interval = with_range(three_decimals(far), three_decimals(low), three_decimals(high)).replace(
            "\u00a0", " "
        )
        clusters = [
            cluster_name(int(clustered.cluster[head])).removeprefix("cluster ") for head in (head_a, head_b)
        ]
        names = f"{head_name(head_a, heads)} and {head_name(head_b, heads)}"
        table.add_row(*map(Text, (names, interval, " and ".join(dict.fromkeys(clusters)))))
    return table


def _nearest(head: np.ndarray, distance: Float[np.ndarray, "heads near"]) -> list[tuple[int, int]]:
    """Find the nearest pairs as a head and the position among its neighbours, nearest first."""
    seen: dict[tuple[int, int], tuple[int, int]] = {}
    for flat in np.argsort(distance, axis=None, kind="stable").tolist():
        head_a, position = divmod(flat, distance.shape[1])
        pair = (min(head_a, int(head[head_a, position])), max(head_a, int(head[head_a, position])))
        seen.setdefault(pair, (head_a, position))
        if len(seen) == PAIRS:
            break
    return list(seen.values())
