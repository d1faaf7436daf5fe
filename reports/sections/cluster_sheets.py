"""Tables of clusters, claims, heads and numbers of clusters, and the figure of the numbers tried."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.clusters import ClusterResults, Neighbours
from headroles.records.example import Scores
from headroles.records.numbers import plural, three_decimals, two_decimals
from headroles.records.table import MISSING, Cell, Column, Row, Table
from headroles.reports.figures.drawing import (
    INK,
    add_note,
    add_scatter,
    add_stroke,
    blank,
    set_axis,
)
from headroles.reports.figures.panel import Panel
from headroles.reports.sheets import ENDS, Sheet, count_cell, range_cell, word_cell
from headroles.reports.summary import Summary
from headroles.reports.words.cluster_facts import Group, head_names
from headroles.reports.words.clusters import (
    CHOSEN,
    choice_note,
    choice_rule,
    cluster_name,
    estimate_text,
)

LAYERS = 6
"""Most layers that a cell names one by one."""
ROLES = 6
"""Roles that a cell names at most."""
WIDEST = 30
"""Most clusters in the table of distances between them."""


def clusters_sheet(groups: Sequence[Group], scores: Scores, roles: int = ROLES, members: int = 0) -> Sheet:
    """Return one row per cluster.

    Args:
        groups: Clusters, and the heads in none.
        scores: Of the run, which has its layers and heads.
        roles: Roles that a cell names at most.
        members: Heads that a cell names at most, the most central first; 0 for no such column.
    """
    header = (
        "cluster", "heads", "layers (heads)", "roles (heads)", "most central head", "distance within",
        "silhouette", "stability", *["heads in it"] * bool(members),
    )  # fmt: skip
    return Sheet("Clusters", header, tuple(_cluster(group, scores, roles, members) for group in groups))


def _cluster(group: Group, scores: Scores, roles: int, members: int) -> tuple[Cell, ...]:
    """Return the row of one cluster."""
    first = next(layer for layer, count in enumerate(group.layers) if count)
    names = head_names(scores.stack, scores.heads)
    none = group.number < 0
    return (
        Cell(cluster_name(group.number), group.number if not none else 10**6),
        count_cell(len(group.heads)),
        Cell(layers_text(group, scores.stack.numbers), f"{first:05}"),
        word_cell(roles_text(group, roles)),
        MISSING if none else Cell(names[group.central], group.central),
        Cell(three_decimals(group.within), group.within),
        *(Cell(two_decimals(value), value) for value in (group.silhouette, group.stability)),
        *[word_cell(members_text(group, names, members))] * bool(members),
    )


def members_text(group: Group, names: Sequence[str], most: int) -> str:
    """Return the names of the first heads of a cluster, the most central one before the others.

    Example:
        >>> members_text(Group(0, (0, 1, 3), 1, 0.1, 0.2, 0.9, (2, 1), ()), ("3-0", "3-1", "7-0", "7-1"), 2)
        '3-1 3-0 …'
    """
    central = [] if group.number < 0 else [group.central]
    others = [head for head in group.heads if head not in central]
    return " ".join(names[head] for head in [*central, *others][:most]) + " …" * (len(group.heads) > most)


def layers_text(group: Group, layers: Sequence[int]) -> str:
    """Return layers of a cluster with their heads; of many layers, their ranges and the fullest.

    Args:
        group: The cluster.
        layers: Position of each layer.

    Example:
        >>> layers_text(Group(0, (1, 12, 13), 12, 0.1, 0.2, 0.9, (1, 2, 0), ()), (3, 7, 11))
        '3 (1), 7 (2)'
        >>> layers_text(Group(0, (1, 12, 13), 12, 0.1, 0.2, 0.9, (1, 2, 1, 1, 1, 1, 1, 0, 1), ()), range(9))
        '0–6, 8; most in 1 (2)'
    """
    counts = {layer: count for layer, count in zip(layers, group.layers, strict=True) if count}
    occupied = [*counts]
    if len(occupied) <= LAYERS:
        return ", ".join(f"{layer} ({counts[layer]})" for layer in occupied)
    starts = [layer for layer in occupied if layer - 1 not in occupied]
    stops = [layer for layer in occupied if layer + 1 not in occupied]
    runs = [
        f"{start}–{stop}" if stop > start else f"{start}" for start, stop in zip(starts, stops, strict=True)
    ]
    fullest = max(occupied, key=counts.__getitem__)
    return f"{', '.join(runs)}; most in {fullest} ({counts[fullest]})"


def roles_text(group: Group, most: int = ROLES) -> str:
    """Return roles that heads of a cluster hold, with the number of those heads; "none" for none.

    Example:
        >>> roles_text(Group(0, (1, 2), 1, 0.1, 0.2, 0.9, (2,), (("local", 2), ("block", 1))), most=1)
        'local (2), …'
    """
    text = ", ".join(f"{name} ({count})" for name, count in group.roles[:most])
    return (text + ", …" * (len(group.roles) > most)) or "none"


def role_claims_sheet(claims: Table) -> Sheet:
    """Return the estimates of claims about roles: one row per role, one column per claim."""
    kinds = list(dict.fromkeys((claim.claim, claim.measure) for claim in claims))
    known = {(claim.subject, claim.claim, claim.measure): claim for claim in claims}
    rows = []
    for subject in dict.fromkeys(claim.subject for claim in claims):
        found = [known.get((subject, *kind)) for kind in kinds]
        cells = (Cell(estimate_text(claim), claim.estimate) if claim else MISSING for claim in found)
        rows.append((word_cell(subject), *cells))
    return Sheet("Claims about roles", ("role", *(", ".join(kind) for kind in kinds)), tuple(rows))


def heads_sheet(
    clustered: ClusterResults, summary: Summary, held: Bool[np.ndarray, "roles heads"], near: Neighbours
) -> Sheet:
    """Return one row per head: the numbers behind the map, folded."""
    names, heads = head_names(summary.stack, summary.heads), summary.heads

    def roles(row: Row) -> Cell:
        holds = held[:, summary.stack.place(row.layer) * heads + row.head].tolist()
        known = [role.sieve for role, holding in zip(summary.roles, holds, strict=True) if holding]
        return word_cell((", ".join(known[:ROLES]) + ", …" * (len(known) > ROLES)) or "none")

    def nearest(row: Row) -> Cell:
        head = summary.stack.place(row.layer) * heads + row.head
        if not near.head.shape[1]:
            return MISSING
        distance = _distance(near, head, 0)
        return Cell(f"{names[int(near.head[head, 0])]}: {distance.text}", distance.key)

    table = clustered.heads.numbered(summary.stack).describe(
        "cluster", cell=lambda row: Cell(cluster_name(row.cluster), row.cluster)
    )
    more = (
        Column("roles", "Roles that it holds.", str, "roles", cell=roles),
        Column("nearest", "The nearest head.", float, f"nearest head {ENDS}", cell=nearest),
    )
    first = ("head", "cluster", "roles")
    made = replace(table, columns=(*table.columns, *more), first=first).sheet()
    return Sheet(made.name, made.header, made.rows, folded=True)


def _distance(near: Neighbours, head: int, place: int) -> Cell:
    """Return the distance to one of the nearest heads, with its interval."""
    ends = [float(getattr(near, name)[head, place]) for name in ("distance", "low", "high")]
    return range_cell(three_decimals, *ends)


def pairs_sheet(clustered: ClusterResults, near: Neighbours, heads: Sequence[str], most: int) -> Sheet:
    """Return the nearest pairs of heads, each pair once, nearest first.

    Args:
        clustered: The clusters.
        near: Nearest heads of each head.
        heads: Names of the heads.
        most: Pairs at most.
    """
    seen: dict[tuple[int, ...], tuple[Cell, ...]] = {}
    for flat in np.argsort(near.distance, axis=None, kind="stable").tolist():
        head, place = divmod(flat, near.distance.shape[1])
        pair = (head, int(near.head[head, place]))
        names = " and ".join(heads[one] for one in pair)
        clusters = dict.fromkeys(
            cluster_name(int(clustered.cluster[one])).removeprefix("cluster ") for one in pair
        )
        row = (word_cell(names), _distance(near, head, place), word_cell(" and ".join(clusters)))
        seen.setdefault(tuple(sorted(pair)), row)
        if len(seen) == most:
            break
    return Sheet("Nearest pairs", ("nearest pairs", f"distance {ENDS}", "clusters"), tuple(seen.values()))


def between_rows(
    groups: Sequence[Group], mean: Float[np.ndarray, "groups groups"]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return header and rows of the mean distances within and between the first clusters."""
    names = [cluster_name(group.number) for group in groups[:WIDEST]]
    rows = zip(names, mean[:WIDEST, :WIDEST].tolist(), strict=True)
    return ("mean distance", *names), tuple((name, *map(three_decimals, row)) for name, row in rows)


def choices_table(clustered: ClusterResults) -> Table:
    """Return the numbers of clusters that were tried, with why one was chosen."""
    return clustered.choices.describe("chosen", cell=lambda choice: word_cell(choice_note(choice, clustered)))


def choices_panel(clustered: ClusterResults) -> Panel | None:
    """Draw silhouette and stability by number of clusters; return None where no number was tried."""
    choices, rule = clustered.choices, choice_rule(clustered.choices)
    sheet = choices_table(clustered).sheet()
    if not choices:
        return None
    figure = blank(300, margin={"l": 50, "r": 16, "t": 24, "b": 48})
    x = [choice.clusters for choice in choices]
    looks = (("silhouette", "var(--tone-0)", "circle"), ("stability", "var(--tone-1)", "diamond"))
    for name, colour, symbol in looks:
        values = [getattr(choice, name) for choice in choices]
        add_scatter(
            figure, x=x, y=[None if math.isnan(value) else value for value in values],
            mode="lines+markers", name=name,
            line={"color": colour, "width": 1.5}, marker={"symbol": symbol, "size": 9, "color": colour},
            hovertemplate=f"%{{x}} clusters: {name} %{{y:.2f}}<extra></extra>",
        )  # fmt: skip
    chosen = [choice for choice in choices if choice.chosen]
    for choice in chosen:
        add_stroke(figure, choice.clusters, color=INK, width=1, dash="dot")
        add_note(figure, CHOSEN, x=choice.clusters, y=1, yref="paper", yanchor="bottom")
    step = {"dtick": 1} if len(x) <= 20 else {}
    set_axis(figure, "xaxis", title="number of clusters", showline=True, **step)
    set_axis(figure, "yaxis", showgrid=True, rangemode="tozero", zeroline=True)
    tried = f"{plural(len(choices), 'number')} tried."
    sentence = _choice_sentence(chosen[0], len(choices)) if chosen else tried
    return Panel(
        key="cluster-choices",
        title="Number of clusters",
        sentence=sentence,
        caption=(
            "Silhouette: how much nearer heads are to their own cluster than to the next, mean over heads. "
            "Stability: adjusted Rand index between these clusters and those of resampled units, mean over "
            "resamples; 1: the same clusters, 0: as alike as chance."
            + f" {rule[:1].upper()}{rule[1:]}." * bool(rule)
        ),
        figure=figure,
        header=sheet.header,
        rows=sheet.texts,
    )  # fmt: skip


def _choice_sentence(choice: Row, tried: int) -> str:
    """Return the chosen number of clusters in one sentence."""
    how = f"chosen of {tried} numbers tried" if tried > 1 else "the only number tried"
    return (
        f"{plural(choice.clusters, 'cluster')}, {how}: mean silhouette {two_decimals(choice.silhouette)}, "
        f"stability {two_decimals(choice.stability)}."
    )
