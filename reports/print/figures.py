"""Every figure of a run or a comparison, as it goes to print.

The figures of a comparison, a file per sieve where the page lets one choose.
"""

import re
from collections.abc import Iterable, Mapping

import plotly.graph_objects as go

from headroles.records.comparison import OUTCOMES, Comparison
from headroles.records.findings import Labelling
from headroles.reports.content import Summary
from headroles.reports.figures.cluster_map import views
from headroles.reports.figures.compare import GAINED, LOST, MARKS, Plot, plots
from headroles.reports.figures.panel import Beside, Panel
from headroles.reports.figures.run import figures
from headroles.reports.figures.surface import ENTROPY, IMPORTANCE
from headroles.reports.figures.surface import figures as surface_figures
from headroles.reports.print import legend
from headroles.reports.print.dress import dressed
from headroles.reports.print.legend import Entry, explained, probe_legend
from headroles.reports.print.matrix import matrix
from headroles.reports.sections import clusters
from headroles.reports.sections.probes import section
from headroles.reports.summary.summary import summarise
from headroles.reports.words.words import exact, isolate

NAME = 40
"""Letters of a sieve's name that stand in a file's name."""


def compared(comparison: Comparison) -> dict[str, go.Figure]:
    """Map, means and outcomes of every sieve, and labels by layer of all roles together.

    Args:
        comparison: Of two runs.

    Returns:
        Figures in the page's colours by name, ``map-local`` for the map of the sieve "local".
    """
    drawn = {}
    found = comparison.differences
    *by_sieve, moved = plots(comparison)
    drawn[moved.key] = _legend(go.Figure(moved.figure), ("gained", "lost"))
    drawn[moved.key].update_layout(meta={"sentence": moved.sentence})
    for place, slug in enumerate(file_names(found.sieves)):
        for plot in by_sieve:
            figure = _own(plot, place)
            figure.update_layout(meta={"sentence": f"{isolate(found.sieves[place])}: {plot.sentence}"})
            drawn[f"{plot.key}-{slug}"] = _explained(plot.key, figure, comparison)
    return drawn


def file_names(names: Iterable[str]) -> list[str]:
    """Names that can stand in a file's name on any system, no two alike.

    Example:
        >>> file_names(["local", "delimiter:cls", "a/b", "a b", "../律"])
        ['local', 'delimiter-cls', 'a-b', 'a-b-2', 'sieve']
    """
    taken: list[str] = []
    for name in names:
        slug = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:NAME].strip("-") or "sieve"
        number, wish = 1, slug
        while wish in taken:
            number += 1
            wish = f"{slug}-{number}"
        taken.append(wish)
    return taken


def _own(plot: Plot, place: int) -> go.Figure:
    """The traces of one sieve, all of them shown."""
    own = [trace for trace in plot.figure.data if trace.meta and trace.meta["role"] == place]
    figure = go.Figure(own, plot.figure.layout)
    figure.update_traces(visible=True)
    return figure


def _explained(key: str, figure: go.Figure, comparison: Comparison) -> go.Figure:
    """The figure with what its marks mean."""
    if key == "map":
        figure.update_traces(colorbar={"title": {"text": "B − A", "font": {"size": 12}}}, hovertext=None)
        meanings = [*zip(MARKS, OUTCOMES, strict=True), (GAINED, "role gained in B"), (LOST, "role lost")]
        return explained(figure, (Entry(f"{mark or 'no mark'}  {word}") for mark, word in meanings))
    if key == "means":
        guides = [trace for trace in figure.data if trace.name is None]
        for trace, name in zip(guides, ("no difference", f"± {exact(comparison.bound)}"), strict=False):
            trace.update(name=name)
        return _legend(figure, (*OUTCOMES, *(trace.name for trace in guides[:2])))
    return _legend(figure, OUTCOMES)


def _legend(figure: go.Figure, names: tuple[str, ...]) -> go.Figure:
    """The figure with a legend of its own traces of some names, those with something to show."""
    figure.for_each_trace(lambda trace: trace.update(showlegend=trace.name in names and bool(len(trace.x))))
    return figure.update_layout(showlegend=True)


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
            legend.strokes(panel.figure, panel.key)
            if panel.key in NAMED or not panel.legend
            else legend.roles(summary, panel.legend, states=panel.key == "evidence")
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
        entries = legend.series(each.series, heads=heads, alone=alone)
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
    legends: dict[str, Iterable[legend.Entry]] = {
        "cluster": legend.clusters(found.named, found.lone),
        "layer": (),
        "roles": legend.sets(found.sets, found.rare),
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
