"""The map of heads: their places, three ways to colour them, and how certain the places are."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.clusters import ClusterResults, Neighbours
from headroles.records.layers import Stack
from headroles.records.numbers import number, three_decimals
from headroles.reports.figures.drawing import (
    FAINT,
    INK,
    SOFT,
    SYMBOLS,
    Figure,
    add_scatter,
    blank,
    set_axis,
)
from headroles.reports.figures.panel import plain
from headroles.reports.summary import Combination, Summary
from headroles.reports.words.cluster_facts import NOISE, head_names
from headroles.reports.words.clusters import cluster_name

TONES = 8
SETS = 8
"""Exact sets of roles that have a look of their own."""
RARE = "star-diamond"
"""Symbol of a head with a rarer set of roles."""
INSIDE = -2 * math.log(0.05)
"""Squared radius, in standard deviations, that holds 95 % of two independent normal numbers."""
CORNERS = 24
"""Points of an ellipse."""
CROWDED = 400
"""Heads above which marks are smaller."""
NEAREST_SHOWN = 3
"""Nearest heads in the hover text of a point."""


@dataclass(frozen=True, slots=True)
class Look:
    """Colour and symbol of a cluster, by their numbers; a pair repeats only after 64 clusters."""

    tone: int
    symbol: int


def look_of(cluster: int) -> Look:
    """Return the look of a cluster.

    Example:
        >>> look_of(0), look_of(9)
        (Look(tone=0, symbol=0), Look(tone=1, symbol=2))
    """
    return Look(cluster % TONES, (cluster + cluster // TONES) % len(SYMBOLS))


def map_figure(clustered: ClusterResults, hover: Sequence[str]) -> Figure:
    """Draw all heads at their places, coloured by cluster, with hidden outlines of their uncertainty.

    Args:
        clustered: With map and cloud.
        hover: Text of every point on hover, as from ``hover_texts``.
    """
    figure = blank(600, margin={"l": 8, "r": 8, "t": 8, "b": 8})
    cloud = ellipses(clustered.cloud)
    add_scatter(
        figure, x=cloud[:, 0].astype(np.float32), y=cloud[:, 1].astype(np.float32), mode="lines",
        name="cloud", line={"color": SOFT, "width": 1.2}, hoverinfo="skip", meta={"role": 0},
    )  # fmt: skip
    line = {"color": FAINT, "width": 1}
    add_scatter(figure, x=[], y=[], mode="lines", name="near", line=line, hoverinfo="skip")
    add_scatter(
        figure, x=clustered.place[:, 0].astype(np.float32), y=clustered.place[:, 1].astype(np.float32),
        name="heads", hovertext=list(hover), hovertemplate="%{hovertext}<extra></extra>",
        **by_cluster(clustered),
    )  # fmt: skip
    ring = {"symbol": "circle-open", "size": 22, "color": INK, "line": {"width": 2}}
    add_scatter(figure, x=[], y=[], mode="markers", name="chosen", marker=ring, hoverinfo="skip")
    bare: dict[str, Any] = {"showgrid": False, "showticklabels": False, "ticks": "", "showline": False}
    set_axis(figure, "xaxis", **bare)
    set_axis(figure, "yaxis", scaleanchor="x", **bare)
    return figure


def views(
    clustered: ClusterResults, summary: Summary, held: Bool[np.ndarray, "roles heads"]
) -> dict[str, dict[str, Any]]:
    """Return every way to colour the heads, as properties of the figure's trace "heads".

    Args:
        clustered: The clusters.
        summary: Of the run, which has its layers and sets of roles.
        held: Whether a head holds a role.
    """
    return {
        "cluster": by_cluster(clustered),
        "layer": by_layer(clustered, summary.stack),
        "roles": by_roles(clustered, summary.combinations, held),
    }


def by_cluster(clustered: ClusterResults) -> dict[str, Any]:
    """Return colour and symbol by cluster; a thin cross for none."""
    looks = [look_of(number) for number in clustered.cluster.tolist()]
    outside = clustered.cluster == NOISE
    pairs = list(zip(looks, outside.tolist(), strict=True))
    return _marks(
        clustered,
        [FAINT if none else f"var(--tone-{look.tone})" for look, none in pairs],
        ["x-thin-open" if none else SYMBOLS[look.symbol] for look, none in pairs],
    )


def by_layer(clustered: ClusterResults, stack: Stack) -> dict[str, Any]:
    """Return the layer's number in a circle, shaded from the first layer to the last."""
    heads, layers = clustered.divergence.heads, clustered.divergence.layers
    layer = [index // heads for index in range(len(clustered.cluster))]
    small = len(layer) > CROWDED
    return {
        "mode": "markers+text",
        "text": [str(stack.numbers[place]) for place in layer],
        "textfont": {"color": "var(--on-tone)", "size": 8 if small else 10},
        "marker": {
            "color": layer, "cmin": 0, "cmax": max(layers - 1, 1), "symbol": "circle",
            "size": 12 if small else 17,
            "colorscale": [[0, "var(--tone-0)"], [0.5, "var(--tone-3)"], [1, "var(--tone-1)"]],
            "showscale": False,
        },
    }  # fmt: skip


def by_roles(
    clustered: ClusterResults, sets: Sequence[Combination], held: Bool[np.ndarray, "roles heads"]
) -> dict[str, Any]:
    """Return colour and symbol by exact set of roles; a star for rarer sets, a small ring for no role."""
    looks = {role_set.roles: look_of(place) for place, role_set in enumerate(sets[:SETS])}
    colours, symbols, sizes = [], [], []
    size = _size(clustered)
    for column in held.reshape(len(held), len(clustered.cluster)).T:
        roles = tuple(int(role) for role in np.flatnonzero(column))
        look = looks.get(roles)
        rare = (INK, RARE) if roles else (FAINT, "circle-open")
        colour, symbol = (f"var(--tone-{look.tone})", SYMBOLS[look.symbol]) if look else rare
        colours.append(colour)
        symbols.append(symbol)
        sizes.append(size if roles else size - 4)
    return _marks(clustered, colours, symbols, sizes)


def _marks(
    clustered: ClusterResults, colours: list[str], symbols: list[str], sizes: list[int] | None = None
) -> dict[str, Any]:
    """Return marks of all heads as properties of a trace."""
    marker = {"color": colours, "symbol": symbols, "size": sizes or _size(clustered), "opacity": 1}
    return {"mode": "markers", "marker": marker}


def _size(clustered: ClusterResults) -> int:
    """Return the size of a mark in pixels."""
    return 8 if len(clustered.cluster) > CROWDED else 11


def hover_texts(
    clustered: ClusterResults,
    summary: Summary,
    held: Bool[np.ndarray, "roles heads"],
    near: Neighbours,
) -> list[str]:
    """Return the hover text of every point: head, roles, cluster, nearest heads; names are escaped."""
    roles, stack, heads = summary.roles, summary.stack, summary.heads
    named, texts = head_names(stack, heads), []
    for head, cluster in enumerate(clustered.cluster.tolist()):
        names = [
            plain(role.sieve) for role, holds in zip(roles, held[:, head].tolist(), strict=True) if holds
        ]
        nearest = [
            f"{named[int(other)]} ({three_decimals(float(distance))})"
            for other, distance in zip(
                near.head[head, :NEAREST_SHOWN], near.distance[head, :NEAREST_SHOWN], strict=True
            )
        ]
        silhouette = float(clustered.silhouette[head])
        lines = [
            f"<b>layer {stack.numbers[head // heads]} head {head % heads}</b>",
            "roles: " + (", ".join(names[:6]) + ", …" * (len(names) > 6) if names else "none"),
            cluster_name(cluster)
            + (f", silhouette {number(silhouette)}" if silhouette == silhouette else ""),
            "nearest: " + (", ".join(nearest) or "none"),
        ]
        texts.append("<br>".join(lines))
    return texts


def ellipses(cloud: Float[np.ndarray, "draws heads 2"]) -> Float[np.ndarray, "points 2"]:
    """Return outlines that hold about 95 % of every head's places under resampled units, NaN between them.

    Args:
        cloud: Places by draw; under three draws there are no outlines.

    Returns:
        Outlines of two independent normal numbers with the cloud's mean and covariance.
    """
    draws, heads = cloud.shape[:2]
    if draws < 3:
        return np.zeros((0, 2))
    places = cloud.astype(np.float64)
    centre = places.mean(axis=0)
    deviations = places - centre
    covariance = np.einsum("dhi,dhj->hij", deviations, deviations) / (draws - 1)
    spread, axes = np.linalg.eigh(covariance)
    angle = np.linspace(0, 2 * np.pi, CORNERS + 1)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    reach = np.sqrt(np.clip(spread, 0, None) * INSIDE)
    outline = np.einsum("hij,hj,jp->hpi", axes, reach, circle) + centre[:, None]
    gap = np.full((heads, 1, 2), np.nan)
    return np.concatenate([outline, gap], axis=1).reshape(-1, 2)
