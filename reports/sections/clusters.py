"""Distances between heads and clusters made of them as a section of the page.

What the page's script reads of clusters: compact numbers, ways to colour the map, and tables as files.
"""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from markupsafe import Markup

from headroles.records.clusters import Claim, Clustered, Neighbours
from headroles.records.findings import Labelling
from headroles.reports.content import Combination, Summary
from headroles.reports.figures.cluster_map import SETS, Look, look_of, map_figure, points_told, views
from headroles.reports.figures.cluster_tree import leaves, reduced, scale_of, told_exactly, tree_figure
from headroles.reports.figures.panel import SYMBOLS, Panel
from headroles.reports.sections.cluster_sheets import (
    WIDEST,
    between_rows,
    choices_panel,
    claims_sheet,
    clusters_sheet,
    heads_sheet,
)
from headroles.reports.sections.probe_sheets import Sheet
from headroles.reports.summary.embedded import script_json
from headroles.reports.words.cluster_facts import NOISE, Group, apart, distances_of, groups_of, nearest_of
from headroles.reports.words.clusters import cluster_name, how_clustered, how_far, sentences, stress_told
from headroles.reports.words.words import isolate, plural
from headroles.storage.tables import csv_of


def clusters_json(
    clustered: Clustered,
    summary: Summary,
    held: Bool[np.ndarray, "roles heads"],
    near: Neighbours,
    ordered: Float[np.ndarray, "heads heads"],
) -> str:
    """Columns by head, nearest heads, the order of the tree and the views of the map, as JSON.

    Args:
        clustered: The clusters.
        summary: Of the run, for its roles.
        held: Whether a head holds a role.
        near: Nearest heads.
        ordered: Distances in the order of the tree's leaves.
    """
    low, step = scale_of(ordered)
    columns = {
        "silhouette": clustered.silhouette,
        "stability": clustered.stability,
        "x": clustered.place[:, 0],
        "y": clustered.place[:, 1],
    }
    content = {
        "cluster": clustered.cluster.tolist(),
        "columns": {name: _packed(values, "<f8") for name, values in columns.items()},
        "near": _packed(near.head, "<u4"),
        "ends": {name: _packed(getattr(near, name), "<f4") for name in ("distance", "low", "high")},
        "order": leaves(clustered.linkage).tolist(),
        "scale": {"low": low, "step": step, "factor": reduced(ordered)[1]},
        "views": views(clustered, summary.combinations, held),
        "symbols": [SYMBOLS[role.symbol] for role in summary.roles],
        "files": {"claims.csv": csv_of(Claim, clustered.claims)},
    }
    return script_json(json.dumps(content, separators=(",", ":")))


def _packed(values: np.ndarray, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values.astype(kind)).tobytes()).decode("ascii")


TOLD = 12
"""Roles whose claims are told as sentences; the table has all."""


@dataclass(frozen=True, slots=True)
class Named:
    """A cluster or a set of roles in the map's key: its name, heads and look."""

    name: str
    heads: int
    look: Look


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """Everything the page says of clusters.

    Attributes:
        far: How distances were made.
        found: How many clusters, how well apart, how steady.
        told: What is claimed of layers and clusters, a sentence each.
        roles: What is claimed of roles; the first of many.
        more: Sentences on roles beyond those.
        map: The map, with all heads as its table.
        heads: The map's numbers.
        named: Clusters in the map's key.
        lone: Heads in no cluster.
        sets: Sets of roles in the map's key.
        rare: Heads with other sets of roles.
        clouds: Resamples behind the outlines; 0 where there are none.
        tree: Tree and distances, with the mean distances between clusters as its table.
        clusters: One row per cluster.
        claims: One row per claim; None without claims.
        choices: Numbers of clusters tried; None where none were.
        near: Nearest heads that the page shows of each.
        data: What the page's script reads.
    """

    far: str
    found: str
    told: tuple[str, ...]
    roles: tuple[str, ...]
    more: int
    map: Panel
    heads: Sheet
    named: tuple[Named, ...]
    lone: int
    sets: tuple[Named, ...]
    rare: int
    clouds: int
    tree: Panel
    clusters: Sheet
    claims: Sheet | None
    choices: Panel | None
    near: int
    data: Markup


def section(labelling: Labelling, summary: Summary) -> Section | None:
    """What the page says of clusters; None where a run made none.

    Args:
        labelling: The result of a run.
        summary: Of the same, for its roles.
    """
    clustered = labelling.clustered
    if clustered is None:
        return None
    size = len(clustered.cluster)
    held = summary.held.reshape(len(summary.roles), size)
    distance = distances_of(clustered)
    groups = groups_of(clustered, distance, [role.sieve for role in summary.roles], held)
    roles = sentences([each for each in clustered.claims if each.about_roles])
    near, order = nearest_of(clustered, distance), leaves(clustered.linkage)
    return Section(
        far=_sentence(how_far(clustered)),
        found=_sentence(how_clustered(clustered, groups)),
        told=sentences([each for each in clustered.claims if not each.about_roles]),
        roles=roles[:TOLD],
        more=len(roles[TOLD:]),
        map=_map(clustered, summary, held, near),
        heads=heads_sheet(clustered, summary.roles, held, near),
        named=tuple(
            Named(cluster_name(group.number), len(group.heads), look_of(group.number))
            for group in groups
            if group.number != NOISE
        ),
        lone=int((clustered.cluster == NOISE).sum()),
        sets=tuple(_set(each, place, summary) for place, each in enumerate(summary.combinations[:SETS])),
        rare=sum(each.heads for each in summary.combinations[SETS:]),
        clouds=len(clustered.cloud) if len(clustered.cloud) > 2 else 0,
        tree=_tree(clustered, distance, order, groups),
        clusters=clusters_sheet(groups, clustered.divergence.heads),
        claims=claims_sheet(clustered.claims) if clustered.claims else None,
        choices=choices_panel(clustered),
        near=near.head.shape[1],
        data=Markup(clusters_json(clustered, summary, held, near, distance[np.ix_(order, order)])),
    )


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _set(each: Combination, place: int, summary: Summary) -> Named:
    """A set of roles, its first five named."""
    names = [isolate(summary.roles[role].sieve) for role in each.roles]
    told = " + ".join(names[:5]) + f" + {len(names) - 5} more" * (len(names) > 5)
    return Named(told, each.heads, look_of(place))


def _map(
    clustered: Clustered, summary: Summary, held: Bool[np.ndarray, "roles heads"], near: Neighbours
) -> Panel:
    told = points_told(clustered, summary.roles, held, near)
    return Panel(
        key="cluster-map",
        title="Map of the heads",
        sentence=(
            f"{plural(len(clustered.cluster), 'head')} placed so that distances on the map come as close as "
            "two dimensions allow to the distances between their attention (metric multidimensional scaling)."
        ),
        caption=f"{stress_told(clustered.stress)} Directions mean nothing; only distances do.",
        figure=map_figure(clustered, told),
        header=(),
        rows=(),
    )


def _tree(
    clustered: Clustered,
    distance: Float[np.ndarray, "heads heads"],
    order: Int[np.ndarray, " heads"],
    groups: Sequence[Group],
) -> Panel:
    header, rows = between_rows(groups, apart(groups, distance))
    cut = f" Of {len(groups)} clusters the table has the first {WIDEST}." * (len(groups) > WIDEST)
    return Panel(
        key="cluster-tree",
        title="Tree and distances",
        sentence=(
            "Average linkage joins the nearest heads first (top); below, the cluster of every head and the "
            "distance of every pair, the heads in the order of the tree; the stronger the colour, the nearer."
        ),
        caption=(
            "Lines within one cluster have its colour; numbers in the band are clusters. "
            f"{told_exactly(len(order))}{cut}"
        ).strip(),
        figure=tree_figure(clustered, distance, order),
        header=header,
        rows=rows,
    )
