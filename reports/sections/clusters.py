"""Distances between heads and the clusters made of them as a section of the page, with the data of the page's
script: compact numbers, ways to colour the map, and tables as files.
"""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from markupsafe import Markup

from headroles.records.clusters import ClusterResults, Neighbours, about_roles
from headroles.records.findings import Labelling
from headroles.records.numbers import isolate
from headroles.records.table import Sheet
from headroles.reports.embedded import script_json
from headroles.reports.figures.cluster_map import SETS, Look, hover_texts, look_of, map_figure, views
from headroles.reports.figures.cluster_tree import leaves, precision_note, scale_of, shrink, tree_figure
from headroles.reports.figures.drawing import SYMBOLS
from headroles.reports.figures.panel import Panel
from headroles.reports.sections.cluster_sheets import (
    WIDEST,
    between_rows,
    choices_panel,
    clusters_sheet,
    heads_sheet,
)
from headroles.reports.summary import Combination, Summary
from headroles.reports.words.cluster_facts import (
    NOISE,
    Group,
    distances_of,
    group_distances,
    groups_of,
    head_names,
    nearest_of,
)
from headroles.reports.words.clusters import (
    claim_sentences,
    cluster_name,
    clustering_text,
    distance_text,
    stress_sentence,
)


def clusters_json(
    clustered: ClusterResults,
    summary: Summary,
    held: Bool[np.ndarray, "roles heads"],
    near: Neighbours,
    ordered: Float[np.ndarray, "heads heads"],
) -> str:
    """Return columns by head, nearest heads, the order of the tree and the views of the map, as JSON.

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
        "columns": {name: _base64(values, "<f8") for name, values in columns.items()},
        "near": _base64(near.head, "<u4"),
        "ends": {name: _base64(getattr(near, name), "<f4") for name in ("distance", "low", "high")},
        "order": leaves(clustered.linkage).tolist(),
        "scale": {"low": low, "step": step, "factor": shrink(ordered)[1]},
        "views": views(clustered, summary, held),
        "symbols": [SYMBOLS[role.symbol] for role in summary.roles],
        "files": {"claims.csv": clustered.claims.csv()},
    }
    return script_json(json.dumps(content, separators=(",", ":")))


def _base64(values: np.ndarray, kind: str) -> str:
    """Return the values as base64 of a fixed-size dtype."""
    return base64.b64encode(np.ascontiguousarray(values.astype(kind)).tobytes()).decode("ascii")


MOST_SENTENCES = 12
"""Most roles whose claims are written as sentences; the table has all."""


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """A cluster or a set of roles in the map's key: its name, heads and look."""

    name: str
    heads: int
    look: Look


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """Everything that the page states about clusters.

    Attributes:
        far: How distances were made.
        found: How many clusters, how well apart, how steady.
        told: Claims about layers and clusters, a sentence each.
        roles: Claims about roles, a sentence each; the first of many.
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
        data: Data of the page's script.
    """

    far: str
    found: str
    told: tuple[str, ...]
    roles: tuple[str, ...]
    more: int
    map: Panel
    heads: Sheet
    named: tuple[KeyEntry, ...]
    lone: int
    sets: tuple[KeyEntry, ...]
    rare: int
    clouds: int
    tree: Panel
    clusters: Sheet
    claims: Sheet | None
    choices: Panel | None
    near: int
    data: Markup


def section(labelling: Labelling, summary: Summary) -> Section | None:
    """Return the page's section on clusters; None where a run made none.

    Args:
        labelling: The result of a run.
        summary: Of the same run, for its roles.
    """
    clustered = labelling.clustered
    if clustered is None:
        return None
    size = len(clustered.cluster)
    held = summary.held.reshape(len(summary.roles), size)
    distance = distances_of(clustered)
    groups = groups_of(clustered, distance, [role.sieve for role in summary.roles], held)
    roles = claim_sentences([claim for claim in clustered.claims if about_roles(claim)])
    near, order = nearest_of(clustered, distance), leaves(clustered.linkage)
    names = head_names(labelling.scores.stack, labelling.scores.heads)
    return Section(
        far=_sentence(distance_text(clustered)),
        found=_sentence(clustering_text(clustered, groups)),
        told=claim_sentences([claim for claim in clustered.claims if not about_roles(claim)]),
        roles=roles[:MOST_SENTENCES],
        more=len(roles[MOST_SENTENCES:]),
        map=_map(clustered, summary, held, near),
        heads=heads_sheet(clustered, summary, held, near),
        named=tuple(
            KeyEntry(cluster_name(group.number), len(group.heads), look_of(group.number))
            for group in groups
            if group.number != NOISE
        ),
        lone=int((clustered.cluster == NOISE).sum()),
        sets=tuple(
            _set_entry(role_set, place, summary) for place, role_set in enumerate(summary.combinations[:SETS])
        ),
        rare=sum(role_set.heads for role_set in summary.combinations[SETS:]),
        clouds=len(clustered.cloud) if len(clustered.cloud) > 2 else 0,
        tree=_tree(clustered, distance, order, groups, names),
        clusters=clusters_sheet(groups, labelling.scores),
        claims=clustered.claims.sheet() if clustered.claims else None,
        choices=choices_panel(clustered),
        near=near.head.shape[1],
        data=Markup(clusters_json(clustered, summary, held, near, distance[np.ix_(order, order)])),
    )


def _sentence(text: str) -> str:
    """Return a text as a sentence."""
    return f"{text[0].upper()}{text[1:]}."


def _set_entry(role_set: Combination, place: int, summary: Summary) -> KeyEntry:
    """Return a set of roles, its first five named."""
    names = [isolate(summary.roles[role].sieve) for role in role_set.roles]
    name = " + ".join(names[:5]) + f" + {len(names) - 5} more" * (len(names) > 5)
    return KeyEntry(name, role_set.heads, look_of(place))


def _map(
    clustered: ClusterResults, summary: Summary, held: Bool[np.ndarray, "roles heads"], near: Neighbours
) -> Panel:
    """Return the map of the heads with its words."""
    hover = hover_texts(clustered, summary, held, near)
    summed = clustered.divergence.way == "sum"
    scaled = "summed divergences of their attention" if summed else "distances between their attention"
    return Panel(
        key="cluster-map",
        title="Map of the heads",
        sentence=f"The nearer two heads, the smaller the {scaled}.",
        caption=f"{stress_sentence(clustered.stress)} Directions mean nothing; only distances do.",
        figure=map_figure(clustered, hover),
        header=(),
        rows=(),
    )


def _tree(
    clustered: ClusterResults,
    distance: Float[np.ndarray, "heads heads"],
    order: Int[np.ndarray, " heads"],
    groups: Sequence[Group],
    names: Sequence[str],
) -> Panel:
    """Return tree and distances with their words and table."""
    header, rows = between_rows(groups, group_distances(groups, distance))
    limit = f" Of {len(groups)} clusters the table has the first {WIDEST}." * (len(groups) > WIDEST)
    return Panel(
        key="cluster-tree",
        title="Tree and distances",
        sentence=(
            "Average linkage joins the nearest heads first (top); below, the cluster of every head and the "
            "distance of every pair, the heads in the order of the tree; the stronger the colour, the nearer."
        ),
        caption=(
            "Lines within one cluster have its colour; numbers in the band are clusters. "
            f"{precision_note(len(order))}{limit}"
        ).strip(),
        figure=tree_figure(clustered, distance, order, names),
        header=header,
        rows=rows,
    )
