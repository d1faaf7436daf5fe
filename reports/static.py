"""Every figure of a run or a comparison, as it goes to print."""

from collections.abc import Iterable, Mapping

import plotly.graph_objects as go

from headroles.records.comparison import Comparison
from headroles.records.findings import Labelling
from headroles.reports import clusters, static_legend
from headroles.reports.cluster_map import views
from headroles.reports.content import Summary
from headroles.reports.figures import figures
from headroles.reports.panel import Beside, Panel
from headroles.reports.probes import section
from headroles.reports.static_compare import compared
from headroles.reports.static_dress import dressed
from headroles.reports.static_legend import explained
from headroles.reports.static_matrix import matrix
from headroles.reports.static_probes import probe_legend
from headroles.reports.summary import summarise
from headroles.reports.surface_figures import ENTROPY, IMPORTANCE
from headroles.reports.surface_figures import figures as surface_figures

WIDTH = 183.0
"""Usual width of a figure over two columns of a page, in millimetres."""
NAMED = ("p-values", "means", "layers", "overlap", "pairs")
"""Figures whose rows bear the names of their roles, so that their legend tells strokes only."""


def figures_of(found: Labelling | Comparison, width: float = WIDTH) -> Mapping[str, go.Figure]:
    """Every figure of a report by its name, in the order of the report, dressed for print.

    Args:
        found: A run of any kind, or a comparison of two.
        width: Of every figure in millimetres.

    Returns:
        Plotly figures with ``layout.meta["sentence"]``; none of the page's colours is left as a variable.
    """
    if isinstance(found, Comparison):
        drawn = compared(found)
    elif found.surface is not None:
        drawn = _surface(found)
    else:
        summary = summarise(found)
        label_matrix = matrix(summary, width)
        drawn = {
            **_probes(found),
            **_clusters(found, summary),
            **({} if label_matrix is None else {"matrix": label_matrix}),
            **_panels(summary),
        }
    return {name: dressed(figure, width) for name, figure in drawn.items()}


def _both(panel: Panel) -> list[Panel | Beside]:
    """A panel and what stands beside it."""
    return [panel, *([panel.beside] if panel.beside else [])]


def told(drawn: Panel | Beside) -> go.Figure:
    """A copy of a panel's figure that bears the panel's sentence."""
    figure = go.Figure(drawn.figure)
    figure.update_layout(meta={"sentence": drawn.sentence})
    return figure


def _panels(summary: Summary) -> dict[str, go.Figure]:
    """The figures of roles."""
    drawn = {}
    for panel in figures(summary):
        entries = (
            static_legend.strokes(panel.figure, panel.key)
            if panel.key in NAMED or not panel.legend
            else static_legend.roles(summary, panel.legend, states=panel.key == "evidence")
        )
        for each in _both(panel):
            drawn[each.key] = explained(told(each), entries)
    return drawn


def _surface(labelling: Labelling) -> dict[str, go.Figure]:
    """The figures of a surface run."""
    drawn = {}
    for each in surface_figures(labelling):
        heads = each.part != IMPORTANCE
        alone = each.part == ENTROPY
        entries = static_legend.series(each.series, heads=heads, alone=alone)
        drawn[each.panel.key] = explained(told(each.panel), entries)
    return drawn


def _probes(labelling: Labelling) -> dict[str, go.Figure]:
    """The figures of probes."""
    found = section(labelling)
    if found is None:
        return {}
    panels = [*(block.panel for block in found.blocks), *([found.trained] if found.trained else [])]
    drawn = {panel.key: probe_legend(told(panel)) for panel in panels}
    return drawn | {each.key: told(each) for panel in found.weights for each in _both(panel)}


def _clusters(labelling: Labelling, summary: Summary) -> dict[str, go.Figure]:
    """The map in its three colourings, the tree, and the numbers of clusters."""
    found, clustered = clusters.section(labelling, summary), labelling.clustered
    if found is None or clustered is None:
        return {}
    held = summary.held.reshape(len(summary.roles), len(clustered.cluster))
    looks = views(clustered, summary.combinations, held)
    legends: dict[str, Iterable[static_legend.Entry]] = {
        "cluster": static_legend.clusters(found.named, found.lone),
        "layer": (),
        "roles": static_legend.sets(found.sets, found.rare),
    }
    drawn = {}
    for view, entries in legends.items():
        if view == "roles" and not summary.roles:
            continue
        figure = told(found.map)
        figure.for_each_trace(lambda trace: trace.update(visible=trace.name == "heads"))
        figure.update_traces(looks[view], selector={"name": "heads"})
        name = "cluster-map" if view == "cluster" else f"cluster-map-{view}"
        drawn[name] = explained(figure, entries)
    drawn[found.tree.key] = told(found.tree)
    if found.choices:
        lines = ("silhouette", "stability")
        figure = told(found.choices)
        figure.for_each_trace(lambda trace: trace.update(showlegend=trace.name in lines))
        drawn[found.choices.key] = figure.update_layout(showlegend=True)
    return drawn
