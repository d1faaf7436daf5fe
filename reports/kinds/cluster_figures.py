"""Figures of clusters: the map of heads in three colourings, the tree above distances, the numbers tried."""

import base64
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from headroles.records.numbers import isolate, number, plural, three_decimals, two_decimals
from headroles.reports.drawing import FAINT, INK, SOFT, SYMBOLS, add_bar, add_scatter, blank, plain, set_axis
from headroles.reports.drawing import Figure as PlotlyFigure
from headroles.reports.embedded import script_json
from headroles.reports.kinds.clusters import CHOSEN, NOISE, Clustered, cluster_name, roles_text
from headroles.reports.marks import Axis, Entry, Figure, Line, Look, Note, Rule
from headroles.reports.prints import drawn_for_print
from headroles.reports.report import Drawing

TONES, SETS = 8, 8
"""Colours of clusters in turn, and exact sets of roles that have a look of their own."""
NO_CLUSTER, RARE, NO_ROLE = Look(FAINT, "x-thin-open"), Look(INK, "star-diamond"), Look(FAINT, "circle-open")
"""Looks of a head in no cluster, of one with a rarer set of roles, and of one without a role."""
INSIDE = -2 * math.log(0.05)
"""Squared radius, in standard deviations, that holds 95 % of two independent normal numbers."""
CORNERS = 24
"""Points of an ellipse."""
CROWDED, NEAREST_SHOWN, MOST_NAMES = 400, 3, 28
"""Heads above which marks are smaller, nearest heads in a hover text, and most heads named at the axes."""
EXACT = 200
"""Heads up to which distances stand in the page as 32-bit floats; above, in steps."""
STEPS = 250
"""Steps between the smallest and the largest distance, where there are more heads."""
CELLS = 1024
"""Rows and columns at most; of more heads, means of neighbouring cells are shown."""
TREE, BAR, MAP = [0.8, 1.0], [0.765, 0.79], [0.0, 0.755]

Key = list[tuple[Look, str, int | None]]
"""What looks mean: look, name, and number of heads where it is told."""


def look_of(place: int) -> Look:
    """Return the look of a cluster, or of a set of roles, by its number; it repeats only after 64."""
    return Look(place % TONES, SYMBOLS[(place + place // TONES) % len(SYMBOLS)])


def keys(clustered: Clustered) -> dict[str, Key]:
    """Return what the looks of every colouring mean; none of the layers, which have numbers."""
    summary, sizes = clustered.summary, clustered.sizes
    alone = len(clustered.found.cluster) - sum(sizes)
    clusters: Key = [(look_of(place), cluster_name(place), size) for place, size in enumerate(sizes)]
    clusters += [(NO_CLUSTER, "no cluster", alone)] if alone else []
    sets: Key = []
    for place, known in enumerate(summary.combinations[:SETS]):
        names = [isolate(summary.roles[role].sieve) for role in known.roles]
        more = f" + {len(names) - 5} more" * (len(names) > 5)
        sets.append((look_of(place), " + ".join(names[:5]) + more, known.heads))
    rare = sum(known.heads for known in summary.combinations[SETS:])
    sets += [(RARE, "other sets of roles", rare)] if rare else []
    roles: dict[str, Key] = {"roles": [*sets, (NO_ROLE, "no role", None)]} if summary.roles else {}
    return {"cluster": clusters, "layer": [], **roles}


def views(clustered: Clustered) -> dict[str, dict[str, Any]]:
    """Return the heads in every colouring, as properties of the trace "heads"."""
    found, summary = clustered.found, clustered.summary
    layers, heads, small = found.divergence.layers, found.divergence.heads, len(found.cluster) > CROWDED
    sets = {one.roles: look_of(place) for place, one in enumerate(summary.combinations[:SETS])}
    size = 8 if small else 11
    held = [tuple(np.flatnonzero(own).tolist()) for own in clustered.held.T]

    def marks(looks: Sequence[Look], size: int | list[int]) -> dict[str, Any]:
        colours, symbols = [look.colour for look in looks], [look.symbol for look in looks]
        marker = {"color": colours, "symbol": symbols, "size": size, "opacity": 1}
        return {"mode": "markers", "marker": marker}

    clusters = [NO_CLUSTER if cluster == NOISE else look_of(cluster) for cluster in found.cluster.tolist()]
    return {
        "cluster": marks(clusters, size),
        "layer": {
            "mode": "markers+text",
            "text": [str(layer) for layer in summary.stack.numbers for _ in range(heads)],
            "textfont": {"color": "var(--on-tone)", "size": 8 if small else 10},
            "marker": {
                "color": [layer for layer in range(layers) for _ in range(heads)],
                "cmin": 0, "cmax": max(layers - 1, 1), "symbol": "circle", "size": 12 if small else 17,
                "colorscale": [[0, "var(--tone-0)"], [0.5, "var(--tone-3)"], [1, "var(--tone-1)"]],
                "showscale": False,
            },
        },
        "roles": marks(
            [sets.get(roles, RARE if roles else NO_ROLE) for roles in held],
            [size if roles else size - 4 for roles in held],
        ),
    }  # fmt: skip


def map_block(clustered: Clustered) -> Drawing:
    """Return the map as a page shows it, with what its looks mean, and the draws behind its outlines."""
    clouds = len(clustered.found.cloud) if len(clustered.found.cloud) > 2 else 0
    values = {"figure": map_figure(clustered), "looks": keys(clustered), "clouds": clouds}
    return Drawing("cluster_map", values)


def map_figure(clustered: Clustered) -> Figure:
    """Return the map of all heads, by cluster, with hidden outlines of the uncertainty of their places."""
    summed = clustered.found.divergence.way == "sum"
    scaled = "summed divergences of their attention" if summed else "distances between their attention"
    return Figure(
        "cluster-map", "Map of the heads", f"The nearer two heads, the smaller the {scaled}.",
        f"{clustered.stress} Directions mean nothing; only distances do.", plot=partial(_map, clustered),
    )  # fmt: skip


def _map(clustered: Clustered, view: str = "") -> PlotlyFigure:
    """Draw outlines, heads, and what the page fills in: lines to near heads, and a ring around one.

    In a colouring of its own, only the heads are drawn.
    """
    made, found = blank(600, margin={"l": 8, "r": 8, "t": 8, "b": 8}), clustered.found
    stack, near, names, texts = clustered.summary.stack, clustered.near, clustered.names, []
    for head, roles in enumerate(clustered.roles_of_heads):
        layer, place = divmod(head, found.divergence.heads)
        others = zip(near.head[head, :NEAREST_SHOWN], near.distance[head, :NEAREST_SHOWN], strict=True)
        nearest = ", ".join(f"{names[other]} ({three_decimals(float(far))})" for other, far in others)
        silhouette, cluster = float(found.silhouette[head]), cluster_name(int(found.cluster[head]))
        texts.append(
            f"<b>layer {stack.numbers[layer]} head {place}</b><br>"
            f"roles: {roles_text([plain(role) for role in roles])}<br>"
            f"{cluster}{'' if math.isnan(silhouette) else f', silhouette {number(silhouette)}'}<br>"
            f"nearest: {nearest or 'none'}"
        )
    cloud, places = (each.astype(np.float32) for each in (ellipses(found.cloud), found.place))
    ring = {"symbol": "circle-open", "size": 22, "color": INK, "line": {"width": 2}}
    hidden: dict[str, Any] = {"hoverinfo": "skip"}
    add_scatter(
        made, x=cloud[:, 0], y=cloud[:, 1], mode="lines", name="cloud", line={"color": SOFT, "width": 1.2},
        **hidden, meta={"role": 0},
    )  # fmt: skip
    add_scatter(made, x=[], y=[], mode="lines", name="near", line={"color": FAINT, "width": 1}, **hidden)
    add_scatter(
        made, x=places[:, 0], y=places[:, 1], name="heads", hovertext=texts,
        hovertemplate="%{hovertext}<extra></extra>", **views(clustered)["cluster"],
    )  # fmt: skip
    add_scatter(made, x=[], y=[], mode="markers", name="chosen", marker=ring, **hidden)
    bare: dict[str, Any] = {"showgrid": False, "showticklabels": False, "ticks": "", "showline": False}
    set_axis(made, "xaxis", **bare)
    set_axis(made, "yaxis", scaleanchor="x", **bare)
    if view:
        made["data"] = [made["data"][2] | views(clustered)[view]]
    return made


def ellipses(cloud: Float[np.ndarray, "draws heads 2"]) -> Float[np.ndarray, "points 2"]:
    """Return outlines that hold about 95 % of every head's places under resampled units, NaN between them.

    Args:
        cloud: Places by draw; under three draws there are no outlines.

    Returns:
        Outlines of two independent normal numbers with the cloud's mean and covariance.
    """
    if len(cloud) < 3:
        return np.zeros((0, 2))
    places = cloud.astype(np.float64)
    centre = places.mean(axis=0)
    deviations = places - centre
    covariance = np.einsum("dhi,dhj->hij", deviations, deviations) / (len(cloud) - 1)
    spread, axes = np.linalg.eigh(covariance)
    angle = np.linspace(0, 2 * np.pi, CORNERS + 1)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    reach = np.sqrt(np.clip(spread, 0, None) * INSIDE)
    outline = np.einsum("hij,hj,jp->hpi", axes, reach, circle) + centre[:, None]
    return np.pad(outline, ((0, 0), (0, 1), (0, 0)), constant_values=np.nan).reshape(-1, 2)


def leaves(linkage: Float[np.ndarray, "merges 4"]) -> Int[np.ndarray, " heads"]:
    """Return heads from left to right, so that no lines of the tree cross; a merge's first part is left."""
    parts = [[head] for head in range(len(linkage) + 1)]
    for left, right in linkage[:, :2].astype(np.int64).tolist():
        parts.append(parts[left] + parts[right])
    return np.array(parts[-1], dtype=np.int64)


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


def tree_figure(clustered: Clustered, more: str = "") -> Figure:
    """Return tree, clusters and distances over one axis of heads.

    Args:
        clustered: What the run clustered.
        more: Words after the caption.
    """
    size, exact = len(clustered.found.cluster), ""
    if size > EXACT:
        factor = -(-size // CELLS)
        means = f", and every cell is a mean over {factor} × {factor} neighbouring pairs" * (factor > 1)
        steps = f"distances are drawn in {STEPS} steps{means}"
        exact = f" With {size:,} heads, {steps}; the run folder has all of them."
    return Figure(
        "cluster-tree", "Tree and distances",
        "Average linkage joins the nearest heads first (top); below, the cluster of every head and the "
        "distance of every pair, the heads in the order of the tree; the stronger the colour, the nearer.",
        f"Lines within one cluster have its colour; numbers in the band are clusters.{exact}{more}",
        plot=partial(_tree, clustered),
    )  # fmt: skip


def _tree(clustered: Clustered) -> PlotlyFigure:
    """Draw the tree's lines, a band of clusters, and the square of distances, one above the other.

    Lines within a cluster have its colour. The page paints the square as a picture, because its script of
    plotly has no heat maps; the nearer two heads, the stronger the colour.
    """
    made, found = blank(900, margin={"l": 44, "r": 12, "t": 8, "b": 78}), clustered.found
    corners, own = brackets(found.linkage, found.cluster)
    colours = np.where(own == NOISE, TONES, own % TONES)
    for colour in sorted(set(colours.tolist())):
        lines = np.pad(corners[colours == colour], ((0, 0), (0, 1), (0, 0)), constant_values=np.nan)
        x, y = lines.reshape(-1, 2).T.astype(np.float32)
        add_scatter(
            made, x=x, y=y, mode="lines", yaxis="y2", hoverinfo="skip", name="tree",
            line={"color": FAINT if colour == TONES else f"var(--tone-{colour})", "width": 1.2},
        )  # fmt: skip
    order, names = leaves(found.linkage), clustered.names
    cluster, size = found.cluster[order], len(order)
    starts = np.flatnonzero(np.r_[True, cluster[1:] != cluster[:-1]])
    lengths, numbers = np.diff(np.r_[starts, size]), cluster[starts]
    middles, roomy = starts + (lengths - 1) / 2, (lengths >= 0.025 * size) & (numbers != NOISE)
    bands = ["var(--rule)" if own == NOISE else f"var(--tone-{own % TONES})" for own in numbers.tolist()]
    add_bar(
        made, x=middles.tolist(), y=[1] * len(bands), width=lengths.tolist(), yaxis="y3",
        marker={"color": bands, "line": {"width": 0}}, customdata=numbers.tolist(), hoverinfo="skip",
        name="clusters",
    )  # fmt: skip
    add_scatter(
        made, x=middles[roomy].tolist(), y=[0.5] * int(roomy.sum()), mode="text", yaxis="y3",
        text=[*map(str, numbers[roomy])], hoverinfo="skip", name="numbers",
        textfont={"color": "var(--on-tone)", "size": 12},
    )  # fmt: skip
    z, factor, low, step = square_of(clustered)
    key: dict[str, Any] = {
        "orientation": "h", "thickness": 10, "outlinewidth": 0, "len": 0.6, "x": 0, "xanchor": "left",
        "y": 0, "yref": "container", "yanchor": "bottom", "tickfont": {"color": SOFT, "size": 11},
        "title": {"text": "distance", "side": "right", "font": {"size": 12, "color": SOFT}},
    }  # fmt: skip
    if step:
        levels = np.linspace(0, STEPS, 5).tolist()
        key |= {"tickvals": levels, "ticktext": [f"{low + step * level:.2f}" for level in levels]}
    made["data"].append({
        "type": "heatmap", "z": z, "x0": (factor - 1) / 2, "dx": factor, "y0": (factor - 1) / 2, "dy": factor,
        "zmin": 0 if step else low, "zmax": STEPS if step else float(clustered.distance.max(initial=0.0)),
        "colorscale": [[0, "var(--tone-0)"], [1, "var(--panel)"]], "colorbar": key, "hoverinfo": "none",
        "name": "distances",
    })  # fmt: skip
    places, ends = [*range(0, size, -(-size // MOST_NAMES))], [-0.5, size - 0.5]
    ticks: dict[str, Any] = {
        "tickvals": places, "ticktext": [names[order[place]] for place in places], "showgrid": False,
        "tickfont": {"size": 10, "color": SOFT}, "constrain": "domain",
    }  # fmt: skip
    set_axis(made, "xaxis", range=ends, tickangle=-90, anchor="y", **ticks)
    set_axis(made, "yaxis", domain=MAP, range=ends[::-1], scaleanchor="x", constraintoward="top", **ticks)
    highest = 1.04 * float(found.linkage[:, 2].max(initial=1e-9))
    set_axis(made, "yaxis2", title="distance", domain=TREE, range=[0, highest], nticks=4)
    set_axis(made, "yaxis3", domain=BAR, range=[0, 1], showticklabels=False, ticks="", showgrid=False)
    return made


def square_of(clustered: Clustered) -> tuple[np.ndarray, int, float, float]:
    """Return the square of distances in the order of the tree, as it is drawn.

    Returns:
        At most ``CELLS`` rows and columns of distances, of means where there are more heads, or of steps; the
        heads along a cell; the smallest distance; and the step, 0 where distances are exact.
    """
    order, size = leaves(clustered.found.linkage), len(clustered.distance)
    cells, factor = clustered.distance[np.ix_(order, order)], -(-size // CELLS)
    between = cells[np.triu_indices(size, 1)]
    high = float(between.max(initial=0.0))
    low = min(float(between.min(initial=np.inf)), high)
    if factor > 1:
        starts = np.arange(0, size, factor)
        widths = np.diff(np.r_[starts, size])
        sums = np.add.reduceat(np.add.reduceat(cells, starts, axis=0), starts, axis=1)
        cells = sums / np.outer(widths, widths)
    if size <= EXACT:
        return cells.astype(np.float32), factor, low, 0.0
    step = (high - low) / STEPS or 1.0
    return np.clip(np.rint((cells - low) / step), 0, STEPS).astype(np.uint8), factor, low, step


def page_data(clustered: Clustered) -> str:
    """Return columns by head, nearest heads, the order of the tree and the views of the map, as JSON."""

    def packed(values: np.ndarray, kind: str) -> str:
        return base64.b64encode(np.ascontiguousarray(values.astype(kind)).tobytes()).decode("ascii")

    found, near = clustered.found, clustered.near
    _, factor, low, step = square_of(clustered)
    content = {
        "cluster": found.cluster.tolist(),
        "columns": {name: packed(found.heads[name], "<f8") for name in ("silhouette", "stability", "x", "y")},
        "near": packed(near.head, "<u4"),
        "ends": {end: packed(getattr(near, end), "<f4") for end in ("distance", "low", "high")},
        "order": leaves(found.linkage).tolist(),
        "scale": {"low": low, "step": step, "factor": factor},
        "views": views(clustered),
        "symbols": [SYMBOLS[role.symbol] for role in clustered.summary.roles],
    }
    return script_json(json.dumps(content, separators=(",", ":")))


def choices_figure(clustered: Clustered) -> Figure:
    """Draw silhouette and stability by number of clusters."""
    tried, rule = clustered.choices, clustered.rule
    looks, hover = {"silhouette": Look(0), "stability": Look(1, "diamond")}, "%{x} clusters: "
    marks: list[Line | Rule | Note] = [
        Line("clusters", name, name, look, f"{hover}{name} %{{y:.2f}}<extra></extra>", number=place)
        for place, (name, look) in enumerate(looks.items())
    ]
    sentence = f"{plural(len(tried), 'number')} tried."
    for choice in tried.where(chosen=1):
        place = {"x": choice.clusters, "y": 1, "yref": "paper", "yanchor": "bottom"}
        marks += [Rule(choice.clusters, dash="dot", width=1), Note(CHOSEN, place)]
        how = f"chosen of {len(tried)} numbers tried" if len(tried) > 1 else "the only number tried"
        means = f"silhouette {two_decimals(choice.silhouette)}, stability {two_decimals(choice.stability)}"
        sentence = f"{plural(choice.clusters, 'cluster')}, {how}: mean {means}."
    return Figure(
        "cluster-choices", "", sentence,
        "Silhouette: how much nearer heads are to their own cluster than to the next, mean over heads. "
        "Stability: adjusted Rand index between these clusters and those of resampled units, mean over "
        f"resamples; 1: the same clusters, 0: as alike as chance.{rule and f' {rule[0].upper()}{rule[1:]}.'}",
        tried, marks,
        x=Axis("number of clusters", {"showline": True} | ({"dtick": 1} if len(tried) <= 20 else {})),
        y=Axis("", {"showgrid": True, "rangemode": "tozero", "zeroline": True}),
        height=300, numbers=tried.sheet(), layout={"margin": {"l": 50, "r": 16, "t": 24, "b": 48}},
    )  # fmt: skip


def prints(clustered: Clustered) -> dict[str, PlotlyFigure]:
    """Draw for print the map in every colouring, with what its looks mean, and the tree."""
    figures = [tree_figure(clustered)]
    for view, key in keys(clustered).items():
        looks = [
            Entry(plain(text if heads is None else f"{text} ({heads})"), look.colour, look.symbol)
            for look, text, heads in key
        ]
        name, plot = f"cluster-map-{view}".removesuffix("-cluster"), partial(_map, clustered, view)
        figures.append(replace(map_figure(clustered), plot=plot, name=name, legend=looks))
    return drawn_for_print(figures)
