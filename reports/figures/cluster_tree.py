"""The tree of average linkage above the distances between all heads, in the order of its leaves."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from headroles.records.clusters import ClusterResults
from headroles.reports.figures.cluster_map import TONES
from headroles.reports.figures.drawing import FAINT, SOFT, Figure, add_bar, add_scatter, blank, set_axis
from headroles.reports.words.cluster_facts import NOISE

EXACT = 200
"""Heads up to which distances stand in the page as 32-bit floats; above, in steps."""
STEPS = 250
"""Steps between the smallest and the largest distance, where there are more heads."""
CELLS = 1024
"""Rows and columns at most; of more heads, means of neighbouring cells are shown."""
MOST_NAMES = 28
"""Most heads named at the axes."""
TREE, BAR, MAP = [0.8, 1.0], [0.765, 0.79], [0.0, 0.755]


def leaves(linkage: Float[np.ndarray, "merges 4"]) -> Int[np.ndarray, " heads"]:
    """Return heads from left to right, so that no lines of the tree cross; a merge's first part is left.

    Example:
        >>> leaves(np.array([[1.0, 2.0, 0.1, 2.0], [0.0, 3.0, 0.5, 3.0]])).tolist()
        [0, 1, 2]
    """
    size = len(linkage) + 1
    order, nodes = [], [2 * size - 2]
    while nodes:
        node = nodes.pop()
        if node < size:
            order.append(node)
        else:
            left, right = (int(part) for part in linkage[node - size, :2])
            nodes += [right, left]
    return np.array(order, dtype=np.int64)


def brackets(
    linkage: Float[np.ndarray, "merges 4"], cluster: Int[np.ndarray, " heads"]
) -> tuple[Float[np.ndarray, "merges 4 2"], Int[np.ndarray, " merges"]]:
    """Return the line of every merge: up from its first part, across, down to its second.

    Args:
        linkage: As scipy gives it.
        cluster: Of each head.

    Returns:
        Corners (place of the leaf from 0, height), and the cluster that all heads of the merge lie in;
        −1 where they lie in several or in none.
    """
    size = len(linkage) + 1
    place = np.empty(2 * size - 1)
    place[leaves(linkage)] = np.arange(size)
    height = np.concatenate([np.zeros(size), linkage[:, 2]])
    own = np.concatenate([cluster, np.full(size - 1, NOISE)])
    corners = np.empty((size - 1, 4, 2))
    for merge, (first, second) in enumerate(linkage[:, :2].astype(np.int64)):
        node = size + merge
        place[node] = (place[first] + place[second]) / 2
        own[node] = own[first] if own[first] == own[second] else NOISE
        corners[merge, :, 0] = np.repeat(place[[first, second]], 2)
        corners[merge, :, 1] = height[first], height[node], height[node], height[second]
    return corners, own[size:]


def tree_figure(
    clustered: ClusterResults,
    distance: Float[np.ndarray, "heads heads"],
    order: Int[np.ndarray, " heads"],
    heads: Sequence[str],
) -> Figure:
    """Draw tree, clusters and distances over one axis of heads.

    Args:
        clustered: With linkage.
        distance: Between all heads.
        order: Heads as ``leaves`` gives them.
        heads: Names of the heads.
    """
    figure = blank(900, margin={"l": 44, "r": 12, "t": 8, "b": 78})
    _tree(figure, clustered)
    _bar(figure, clustered.cluster[order])
    _distances(figure, distance[np.ix_(order, order)])
    size = len(order)
    step = -(-size // MOST_NAMES)
    places = list(range(0, size, step))
    names = [heads[int(order[place])] for place in places]
    ticks: dict[str, Any] = {
        "tickvals": places,
        "ticktext": names,
        "showgrid": False,
        "tickfont": {"size": 10, "color": SOFT},
    }
    set_axis(
        figure, "xaxis", range=[-0.5, size - 0.5], constrain="domain", tickangle=-90, anchor="y", **ticks
    )
    set_axis(
        figure, "yaxis", domain=MAP, range=[size - 0.5, -0.5], scaleanchor="x", constrain="domain",
        constraintoward="top", **ticks,
    )  # fmt: skip
    highest = 1.04 * float(clustered.linkage[:, 2].max(initial=1e-9))
    set_axis(figure, "yaxis2", title="distance", domain=TREE, range=[0, highest], nticks=4)
    set_axis(figure, "yaxis3", domain=BAR, range=[0, 1], showticklabels=False, ticks="", showgrid=False)
    return figure


def _tree(figure: Figure, clustered: ClusterResults) -> None:
    """Draw the tree's lines, those within a cluster in its colour."""
    corners, own = brackets(clustered.linkage, clustered.cluster)
    colours = np.where(own == NOISE, TONES, own % TONES)
    for colour in sorted(set(colours.tolist())):
        own_corners = corners[colours == colour]
        lines = np.concatenate([own_corners, np.full((len(own_corners), 1, 2), np.nan)], axis=1).reshape(
            -1, 2
        )
        add_scatter(
            figure, x=lines[:, 0].astype(np.float32), y=lines[:, 1].astype(np.float32), mode="lines",
            line={"color": FAINT if colour == TONES else f"var(--tone-{colour})", "width": 1.2},
            yaxis="y2", hoverinfo="skip", name="tree",
        )  # fmt: skip


def _bar(figure: Figure, cluster: Int[np.ndarray, " heads"]) -> None:
    """Draw the cluster of every head as a band of colours, with the numbers of those that have room."""
    stretches = _runs(cluster)
    middles = [start + (size - 1) / 2 for _, start, size in stretches]
    add_bar(
        figure, x=middles, y=[1] * len(stretches), width=[size for *_, size in stretches], yaxis="y3",
        marker={"color": [_colour(number) for number, *_ in stretches], "line": {"width": 0}},
        customdata=[number for number, *_ in stretches], hoverinfo="skip", name="clusters",
    )  # fmt: skip
    places = zip(middles, stretches, strict=True)
    named = [(middle, run[0]) for middle, run in places if run[2] >= 0.025 * len(cluster) and run[0] != NOISE]
    add_scatter(
        figure, x=[middle for middle, _ in named], y=[0.5] * len(named), mode="text", yaxis="y3",
        text=[str(number) for _, number in named], textfont={"color": "var(--on-tone)", "size": 12},
        hoverinfo="skip", name="numbers",
    )  # fmt: skip


def _colour(cluster: int) -> str:
    """Return the colour of a cluster's stretch of the band."""
    return "var(--rule)" if cluster == NOISE else f"var(--tone-{cluster % TONES})"


def _runs(cluster: Int[np.ndarray, " heads"]) -> list[tuple[int, int, int]]:
    """Return cluster, first place and length of every stretch of equal clusters."""
    starts = np.flatnonzero(np.r_[True, cluster[1:] != cluster[:-1]])
    lengths = np.diff(np.r_[starts, len(cluster)])
    return [(int(cluster[start]), int(start), int(size)) for start, size in zip(starts, lengths, strict=True)]


def _distances(figure: Figure, ordered: Float[np.ndarray, "heads heads"]) -> None:
    """Draw the square of distances; the nearer two heads, the stronger the colour.

    The page paints this trace as a picture, because its script of plotly has no heat maps.
    """
    cells, factor = shrink(ordered)
    low, step = scale_of(ordered)
    first = (factor - 1) / 2
    key = {
        "orientation": "h", "thickness": 10, "outlinewidth": 0, "len": 0.6, "x": 0, "xanchor": "left",
        "y": 0, "yref": "container", "yanchor": "bottom", "tickfont": {"color": SOFT, "size": 11},
        "title": {"text": "distance", "side": "right", "font": {"size": 12, "color": SOFT}},
    }  # fmt: skip
    if step:
        ends = np.linspace(0, STEPS, 5)
        key |= {"tickvals": ends.tolist(), "ticktext": [f"{low + step * level:.2f}" for level in ends]}
    z = (
        np.clip(np.rint((cells - low) / step), 0, STEPS).astype(np.uint8)
        if step
        else cells.astype(np.float32)
    )
    square = {
        "type": "heatmap", "z": z, "x0": first, "dx": factor, "y0": first, "dy": factor,
        "zmin": 0 if step else low, "zmax": STEPS if step else float(ordered.max(initial=0.0)),
        "colorscale": [[0, "var(--tone-0)"], [1, "var(--panel)"]], "colorbar": key, "hoverinfo": "none",
        "name": "distances",
    }  # fmt: skip
    figure["data"].append(square)


def shrink(ordered: Float[np.ndarray, "heads heads"]) -> tuple[Float[np.ndarray, "rows rows"], int]:
    """Return at most ``CELLS`` rows and columns of means, and the number of neighbouring heads in each."""
    size = len(ordered)
    factor = -(-size // CELLS)
    if factor == 1:
        return ordered, 1
    starts = np.arange(0, size, factor)
    sums = np.add.reduceat(np.add.reduceat(ordered, starts, axis=0), starts, axis=1)
    widths = np.diff(np.r_[starts, size])
    return sums / np.outer(widths, widths), factor


def scale_of(distance: Float[np.ndarray, "heads heads"]) -> tuple[float, float]:
    """Return the smallest distance between two heads, and the step between shown ones; 0 if exact."""
    size = len(distance)
    between = distance[np.triu_indices(size, 1)]
    low, high = float(between.min(initial=np.inf)), float(between.max(initial=0.0))
    low = min(low, high)
    return low, ((high - low) / STEPS or 1.0) if size > EXACT else 0.0


def precision_note(heads: int) -> str:
    """Return what the figure leaves out of the distances; "" for nothing.

    Example:
        >>> precision_note(144), precision_note(1024).split(";")[0]
        ('', 'With 1,024 heads, distances are drawn in 250 steps')
    """
    if heads <= EXACT:
        return ""
    text = f"With {heads:,} heads, distances are drawn in {STEPS} steps"
    factor = -(-heads // CELLS)
    if factor > 1:
        text += f", and every cell is a mean over {factor} × {factor} neighbouring pairs"
    return text + "; the run folder has all of them."
