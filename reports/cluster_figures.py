"""Figures of clusters: the map of heads in three colourings, the tree above distances, the numbers tried."""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from headroles.records.clusters import ClusterResults
from headroles.records.numbers import isolate, number, plural, three_decimals, two_decimals
from headroles.records.table import Sheet, Table
from headroles.reports.clusters import (
    CHOSEN,
    NOISE,
    Clustered,
    choice_rule,
    cluster_name,
    roles_text,
    stress_sentence,
)
from headroles.reports.figures.drawing import (
    FAINT,
    INK,
    SOFT,
    SYMBOLS,
    add_bar,
    add_scatter,
    blank,
    set_axis,
)
from headroles.reports.figures.drawing import Figure as PlotlyFigure
from headroles.reports.figures.panel import plain
from headroles.reports.marks import Axis, Figure, Line, Look, Note, Rule
from headroles.reports.print.legend import Entry, with_legend

TONES = 8
SETS = 8
"""Exact sets of roles that have a look of their own."""
NO_CLUSTER, RARE, NO_ROLE = Look(FAINT, "x-thin-open"), Look(INK, "star-diamond"), Look(FAINT, "circle-open")
"""Looks of a head in no cluster, of one with a rarer set of roles, and of one without a role."""
INSIDE = -2 * math.log(0.05)
"""Squared radius, in standard deviations, that holds 95 % of two independent normal numbers."""
CORNERS = 24
"""Points of an ellipse."""
CROWDED = 400
"""Heads above which marks are smaller."""
NEAREST_SHOWN = 3
"""Nearest heads in the hover text of a point."""
EXACT = 200
"""Heads up to which distances stand in the page as 32-bit floats; above, in steps."""
STEPS = 250
"""Steps between the smallest and the largest distance, where there are more heads."""
CELLS = 1024
"""Rows and columns at most; of more heads, means of neighbouring cells are shown."""
MOST_NAMES = 28
"""Most heads named at the axes."""
TREE, BAR, MAP = [0.8, 1.0], [0.765, 0.79], [0.0, 0.755]

Key = list[tuple[Look, str, int | None]]
"""What looks mean: look, name, and number of heads where it is told."""


def look_of(place: int) -> Look:
    """Return the look of a cluster, or of a set of roles, by its number; it repeats only after 64.

    Example:
        >>> look_of(0), look_of(9)
        (Look(tone=0, symbol='circle'), Look(tone=1, symbol='diamond'))
    """
    return Look(place % TONES, SYMBOLS[(place + place // TONES) % len(SYMBOLS)])


def keys(clustered: Clustered) -> dict[str, Key]:
    """Return what the looks of every colouring mean; none of the layers, which have numbers."""
    summary, sets = clustered.summary, clustered.summary.combinations
    clusters: Key = [
        (look_of(place), cluster_name(place), size) for place, size in enumerate(clustered.sizes)
    ]
    clusters += [(NO_CLUSTER, "no cluster", clustered.alone)] if clustered.alone else []
    if not summary.roles:
        return {"cluster": clusters, "layer": []}
    roles: Key = []
    for place, known in enumerate(sets[:SETS]):
        names = [isolate(summary.roles[role].sieve) for role in known.roles]
        more = f" + {len(names) - 5} more" * (len(names) > 5)
        roles.append((look_of(place), " + ".join(names[:5]) + more, known.heads))
    rare = sum(known.heads for known in sets[SETS:])
    roles += [(RARE, "other sets of roles", rare)] if rare else []
    return {"cluster": clusters, "layer": [], "roles": [*roles, (NO_ROLE, "no role", None)]}


def views(clustered: Clustered) -> dict[str, dict[str, Any]]:
    """Return the heads in every colouring, as properties of the trace "heads"."""
    found, stack = clustered.found, clustered.summary.stack
    heads, size = found.divergence.heads, len(found.cluster)
    layer, small = [head // heads for head in range(size)], size > CROWDED
    width = 8 if small else 11
    looks = {known.roles: look_of(place) for place, known in enumerate(clustered.summary.combinations[:SETS])}
    held = [tuple(np.flatnonzero(own).tolist()) for own in clustered.held.T]
    return {
        "cluster": _marks(_by_cluster(found), width),
        "layer": {
            "mode": "markers+text",
            "text": [str(stack.numbers[place]) for place in layer],
            "textfont": {"color": "var(--on-tone)", "size": 8 if small else 10},
            "marker": {
                "color": layer, "cmin": 0, "cmax": max(found.divergence.layers - 1, 1), "symbol": "circle",
                "size": 12 if small else 17,
                "colorscale": [[0, "var(--tone-0)"], [0.5, "var(--tone-3)"], [1, "var(--tone-1)"]],
                "showscale": False,
            },
        },
        "roles": _marks(
            [looks.get(roles, RARE if roles else NO_ROLE) for roles in held],
            [width if roles else width - 4 for roles in held],
        ),
    }  # fmt: skip


def _by_cluster(found: ClusterResults) -> list[Look]:
    """Return the look of every head by its cluster."""
    return [NO_CLUSTER if cluster == NOISE else look_of(cluster) for cluster in found.cluster.tolist()]


def _marks(looks: Sequence[Look], size: int | list[int]) -> dict[str, Any]:
    """Return marks of all heads as properties of a trace."""
    colours, symbols = [look.colour for look in looks], [look.symbol for look in looks]
    return {"mode": "markers", "marker": {"color": colours, "symbol": symbols, "size": size, "opacity": 1}}


def map_figure(clustered: Clustered) -> Figure:
    """Return the map of all heads, by cluster, with hidden outlines of the uncertainty of their places."""
    summed = clustered.found.divergence.way == "sum"
    scaled = "summed divergences of their attention" if summed else "distances between their attention"
    return Figure(
        "cluster-map",
        "Map of the heads",
        f"The nearer two heads, the smaller the {scaled}.",
        f"{stress_sentence(clustered.found.stress)} Directions mean nothing; only distances do.",
        clustered.found.heads,
        plot=partial(_map, clustered),
    )


def _map(clustered: Clustered) -> PlotlyFigure:
    """Draw outlines, heads, and what the page fills in: lines to near heads, and a ring around one."""
    made, found = blank(600, margin={"l": 8, "r": 8, "t": 8, "b": 8}), clustered.found
    cloud, place = (places.astype(np.float32) for places in (ellipses(found.cloud), found.place))
    add_scatter(
        made, x=cloud[:, 0], y=cloud[:, 1], mode="lines", name="cloud", line={"color": SOFT, "width": 1.2},
        hoverinfo="skip", meta={"role": 0},
    )  # fmt: skip
    line = {"color": FAINT, "width": 1}
    add_scatter(made, x=[], y=[], mode="lines", name="near", line=line, hoverinfo="skip")
    add_scatter(
        made, x=place[:, 0], y=place[:, 1], name="heads", hovertext=_hover_texts(clustered),
        hovertemplate="%{hovertext}<extra></extra>", **views(clustered)["cluster"],
    )  # fmt: skip
    ring = {"symbol": "circle-open", "size": 22, "color": INK, "line": {"width": 2}}
    add_scatter(made, x=[], y=[], mode="markers", name="chosen", marker=ring, hoverinfo="skip")
    bare: dict[str, Any] = {"showgrid": False, "showticklabels": False, "ticks": "", "showline": False}
    set_axis(made, "xaxis", **bare)
    set_axis(made, "yaxis", scaleanchor="x", **bare)
    return made


def _hover_texts(clustered: Clustered) -> list[str]:
    """Return the hover text of every head: its place, roles, cluster and nearest heads; names are escaped."""
    summary, found, near, named = clustered.summary, clustered.found, clustered.near, clustered.names
    texts = []
    for head, roles in enumerate(clustered.roles_of_heads):
        layer, silhouette = summary.stack.numbers[head // summary.heads], float(found.silhouette[head])
        others = zip(near.head[head, :NEAREST_SHOWN], near.distance[head, :NEAREST_SHOWN], strict=True)
        nearest = [f"{named[int(other)]} ({three_decimals(float(far))})" for other, far in others]
        cluster = cluster_name(int(found.cluster[head]))
        texts.append(
            f"<b>layer {layer} head {head % summary.heads}</b><br>"
            f"roles: {roles_text([plain(role) for role in roles])}<br>"
            f"{cluster}{'' if math.isnan(silhouette) else f', silhouette {number(silhouette)}'}<br>"
            f"nearest: {', '.join(nearest) or 'none'}"
        )
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


def tree_figure(clustered: Clustered, more: str) -> Figure:
    """Return tree, clusters and distances over one axis of heads.

    Args:
        clustered: What the run clustered.
        more: Words after the caption.
    """
    size = len(clustered.found.cluster)
    exact, factor = "", -(-size // CELLS)
    if size > EXACT:
        means = f", and every cell is a mean over {factor} × {factor} neighbouring pairs" * (factor > 1)
        exact = (
            f" With {size:,} heads, distances are drawn in {STEPS} steps{means}; the run folder has all of "
            "them."
        )
    return Figure(
        "cluster-tree",
        "Tree and distances",
        "Average linkage joins the nearest heads first (top); below, the cluster of every head and the "
        "distance of every pair, the heads in the order of the tree; the stronger the colour, the nearer.",
        f"Lines within one cluster have its colour; numbers in the band are clusters.{exact}{more}",
        clustered.found.heads,
        plot=partial(_tree, clustered),
    )


def _tree(clustered: Clustered) -> PlotlyFigure:
    """Draw the tree's lines, a band of clusters, and the square of distances, one above the other."""
    made, found = blank(900, margin={"l": 44, "r": 12, "t": 8, "b": 78}), clustered.found
    order, names = leaves(found.linkage), clustered.names
    _add_lines(made, found)
    _add_band(made, found.cluster[order])
    _add_distances(made, clustered.distance[np.ix_(order, order)])
    size = len(order)
    places = [*range(0, size, -(-size // MOST_NAMES))]
    ticks: dict[str, Any] = {
        "tickvals": places, "ticktext": [names[order[place]] for place in places], "showgrid": False,
        "tickfont": {"size": 10, "color": SOFT},
    }  # fmt: skip
    ends = {"range": [-0.5, size - 0.5], "constrain": "domain"}
    set_axis(made, "xaxis", **ends, tickangle=-90, anchor="y", **ticks)
    ends["range"] = [size - 0.5, -0.5]
    set_axis(made, "yaxis", domain=MAP, scaleanchor="x", constraintoward="top", **ends, **ticks)
    highest = 1.04 * float(found.linkage[:, 2].max(initial=1e-9))
    set_axis(made, "yaxis2", title="distance", domain=TREE, range=[0, highest], nticks=4)
    set_axis(made, "yaxis3", domain=BAR, range=[0, 1], showticklabels=False, ticks="", showgrid=False)
    return made


def _add_lines(made: PlotlyFigure, found: ClusterResults) -> None:
    """Add the tree's lines, those within a cluster in its colour."""
    corners, own = brackets(found.linkage, found.cluster)
    colours = np.where(own == NOISE, TONES, own % TONES)
    for colour in sorted(set(colours.tolist())):
        lines = np.pad(corners[colours == colour], ((0, 0), (0, 1), (0, 0)), constant_values=np.nan)
        x, y = lines.reshape(-1, 2).T.astype(np.float32)
        add_scatter(
            made, x=x, y=y, mode="lines", yaxis="y2", hoverinfo="skip", name="tree",
            line={"color": FAINT if colour == TONES else f"var(--tone-{colour})", "width": 1.2},
        )  # fmt: skip


def _add_band(made: PlotlyFigure, cluster: Int[np.ndarray, " heads"]) -> None:
    """Add the cluster of every head as a band of colours, with the numbers of those that have room."""
    starts = np.flatnonzero(np.r_[True, cluster[1:] != cluster[:-1]])
    lengths = np.diff(np.r_[starts, len(cluster)])
    middles, numbers = (starts + (lengths - 1) / 2).tolist(), cluster[starts].tolist()
    add_bar(
        made, x=middles, y=[1] * len(numbers), width=lengths.tolist(), yaxis="y3",
        marker={
            "color": ["var(--rule)" if number == NOISE else f"var(--tone-{number % TONES})"
                      for number in numbers],
            "line": {"width": 0},
        },
        customdata=numbers, hoverinfo="skip", name="clusters",
    )  # fmt: skip
    shown = ((lengths >= 0.025 * len(cluster)) & (cluster[starts] != NOISE)).tolist()
    named = [pair for pair, roomy in zip(zip(middles, numbers, strict=True), shown, strict=True) if roomy]
    add_scatter(
        made, x=[middle for middle, _ in named], y=[0.5] * len(named), mode="text", yaxis="y3",
        text=[str(number) for _, number in named], textfont={"color": "var(--on-tone)", "size": 12},
        hoverinfo="skip", name="numbers",
    )  # fmt: skip


def _add_distances(made: PlotlyFigure, ordered: Float[np.ndarray, "heads heads"]) -> None:
    """Add the square of distances; the nearer two heads, the stronger the colour.

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
    z, ends = cells.astype(np.float32), (low, float(ordered.max(initial=0.0)))
    if step:
        levels = np.linspace(0, STEPS, 5)
        key |= {"tickvals": levels.tolist(), "ticktext": [f"{low + step * level:.2f}" for level in levels]}
        z, ends = np.clip(np.rint((cells - low) / step), 0, STEPS).astype(np.uint8), (0, STEPS)
    square = {
        "type": "heatmap", "z": z, "x0": first, "dx": factor, "y0": first, "dy": factor, "zmin": ends[0],
        "zmax": ends[1], "colorscale": [[0, "var(--tone-0)"], [1, "var(--panel)"]], "colorbar": key,
        "hoverinfo": "none", "name": "distances",
    }  # fmt: skip
    made["data"].append(square)


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


def choices_figures(tried: Table, numbers: Sheet) -> Iterator[Figure]:
    """Draw silhouette and stability by number of clusters, where any number was tried.

    Args:
        tried: The numbers of clusters.
        numbers: The same as people read it.
    """
    if not tried:
        return
    rule, hover = choice_rule(tried), "%{{x}} clusters: {} %{{y:.2f}}<extra></extra>"
    chosen, sentence = [choice for choice in tried if choice.chosen], f"{plural(len(tried), 'number')} tried."
    if chosen:
        how = f"chosen of {len(tried)} numbers tried" if len(tried) > 1 else "the only number tried"
        sentence = (
            f"{plural(chosen[0].clusters, 'cluster')}, {how}: mean silhouette "
            f"{two_decimals(chosen[0].silhouette)}, stability {two_decimals(chosen[0].stability)}."
        )
    marks: list[Any] = [
        Line("clusters", name, name, look, hover.format(name), number=place)
        for place, (name, look) in enumerate(
            (("silhouette", Look(0, "circle")), ("stability", Look(1, "diamond")))
        )
    ]
    for choice in chosen:
        place = {"x": choice.clusters, "y": 1, "yref": "paper", "yanchor": "bottom"}
        marks += [Rule(choice.clusters, dash="dot", width=1), Note(CHOSEN, place)]
    yield Figure(
        "cluster-choices",
        "",
        sentence,
        "Silhouette: how much nearer heads are to their own cluster than to the next, mean over heads. "
        "Stability: adjusted Rand index between these clusters and those of resampled units, mean over "
        f"resamples; 1: the same clusters, 0: as alike as chance.{rule and f' {rule[0].upper()}{rule[1:]}.'}",
        tried,
        marks,
        x=Axis("number of clusters", {"showline": True} | ({"dtick": 1} if len(tried) <= 20 else {})),
        y=Axis("", {"showgrid": True, "rangemode": "tozero", "zeroline": True}),
        height=300,
        numbers=numbers,
        layout={"margin": {"l": 50, "r": 16, "t": 24, "b": 48}},
    )  # fmt: skip


def prints(clustered: Clustered) -> dict[str, PlotlyFigure]:
    """Draw for print the map in every colouring, with what its looks mean, and the tree."""
    plots, known = {}, views(clustered)
    for view, key in keys(clustered).items():
        name = "cluster-map" if view == "cluster" else f"cluster-map-{view}"
        drawn = plots[name] = _with_sentence(map_figure(clustered))
        drawn["data"] = [trace | known[view] for trace in drawn["data"] if trace["name"] == "heads"]
        with_legend(drawn, [
            Entry(plain(text if heads is None else f"{text} ({heads})"), look.colour, look.symbol)
            for look, text, heads in key
        ])  # fmt: skip
    return plots | {"cluster-tree": _with_sentence(tree_figure(clustered, ""))}


def _with_sentence(figure: Figure) -> PlotlyFigure:
    """Draw a figure that carries its sentence."""
    assert figure.plot is not None, "map and tree draw themselves"
    drawn = figure.plot()
    drawn["layout"]["meta"] = {"sentence": figure.sentence}
    return drawn
