"""All figures of a run, a comparison or an atlas for print;

of a comparison one file per sieve where the page lets one choose.
"""

import re
from collections.abc import Iterable, Mapping

import plotly.graph_objects as go

from headroles.kinds import kind_of
from headroles.records.atlas.atlas import Atlas
from headroles.records.comparison import OUTCOMES, Comparison
from headroles.records.findings import Labelling
from headroles.records.numbers import exact, isolate
from headroles.reports.example_heads import examples
from headroles.reports.figures.atlas import atlas_panels
from headroles.reports.figures.cluster_map import views
from headroles.reports.figures.compare import GAINED, LOST, MARKS, Plot, plots
from headroles.reports.figures.drawing import Figure
from headroles.reports.figures.panel import Panel, SecondPlot
from headroles.reports.figures.surface import ENTROPY, IMPORTANCE
from headroles.reports.figures.surface import figures as surface_figures
from headroles.reports.label_figures import figures
from headroles.reports.marks import Entry
from headroles.reports.print import legend
from headroles.reports.print.dress import dress_for_print
from headroles.reports.print.legend import probe_legend, with_legend
from headroles.reports.print.settings import WIDTH
from headroles.reports.print_maps import atlas_maps, maps, matrix
from headroles.reports.prints import drawn_for_print
from headroles.reports.sections import clusters
from headroles.reports.sections.probes import section
from headroles.reports.summary import Summary, summarise

NAME = 40
"""Letters of a sieve's name in a file's name at most."""


def comparison_figures(comparison: Comparison) -> dict[str, Figure]:
    """Draw map, means and outcomes of every sieve, and labels by layer of all roles together.

    Args:
        comparison: Of two runs.

    Returns:
        Figures in the page's colours by name, ``map-local`` for the map of the sieve "local".
    """
    by_name = {}
    differences = comparison.differences
    *by_sieve, moved = plots(comparison)
    by_name[moved.key] = _legend(_with_text(moved.figure, moved.sentence), ("gained", "lost"))
    for place, slug in enumerate(file_names(differences.sieves)):
        for plot in by_sieve:
            sentence = f"{isolate(differences.sieves[place])}: {plot.sentence}"
            figure = _figure_of_sieve(plot, place, sentence)
            by_name[f"{plot.key}-{slug}"] = _add_legend(plot.key, figure, comparison)
    return by_name


def file_names(names: Iterable[str]) -> list[str]:
    """Return names that can stand in a file's name on any system, no two alike.

    Example:
        >>> file_names(["local", "delimiter:cls", "a/b", "a b", "../律"])
        ['local', 'delimiter-cls', 'a-b', 'a-b-2', 'sieve']
    """
    taken: list[str] = []
    for name in names:
        slug = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:NAME].strip("-") or "sieve"
        number, candidate = 1, slug
        while candidate in taken:
            number += 1
            candidate = f"{slug}-{number}"
        taken.append(candidate)
    return taken


def _figure_of_sieve(plot: Plot, place: int, sentence: str) -> Figure:
    """Return a figure of the traces of one sieve, all of them shown."""
    figure = _with_text(plot.figure, sentence)
    traces = [trace for trace in figure["data"] if trace["meta"]["role"] == place]
    return figure | {"data": [trace | {"visible": True} for trace in traces]}


def _add_legend(key: str, figure: Figure, comparison: Comparison) -> Figure:
    """Return the figure with a legend of what its marks mean."""
    if key == "map":
        for trace in figure["data"]:
            key_of_colours = trace["marker"]["colorbar"] | {"title": {"text": "B − A", "font": {"size": 12}}}
            trace["marker"] = trace["marker"] | {"colorbar": key_of_colours}
        meanings = [*zip(MARKS, OUTCOMES, strict=True), (GAINED, "role gained in B"), (LOST, "role lost")]
        return with_legend(figure, (Entry(f"{mark or 'no mark'}  {word}") for mark, word in meanings))
    if key == "means":
        guides = [trace for trace in figure["data"] if "name" not in trace]
        for trace, name in zip(guides, ("no difference", f"± {exact(comparison.bound)}"), strict=False):
            trace["name"] = name
        return _legend(figure, (*OUTCOMES, *(trace["name"] for trace in guides[:2])))
    return _legend(figure, OUTCOMES)


def _legend(figure: Figure, names: tuple[str, ...]) -> Figure:
    """Return the figure with a legend of its own traces of some names, those with something to show."""
    for trace in figure["data"]:
        trace["showlegend"] = trace.get("name") in names and bool(len(trace["x"]))
    figure["layout"]["showlegend"] = True
    return figure


def atlas_figures(atlas: Atlas, width: float) -> dict[str, Figure]:
    """Draw the maps of all roles run by run, agreement, p values, and roles by layer.

    Args:
        atlas: Of two runs or more.
        width: Of every figure in millimetres.
    """
    drawn = {"maps": atlas_maps(atlas, width)}
    for panel in atlas_panels(atlas):
        figure = with_sentence(panel)
        if panel.legend:
            for trace in figure["data"]:
                trace["showlegend"] = trace["yaxis"] == "y"
            figure["layout"]["showlegend"] = True
        drawn[panel.key] = figure
    return drawn


def figures_of(result: Labelling | Comparison | Atlas, width: float = WIDTH) -> Mapping[str, go.Figure]:
    """Draw every figure of a report by its name, in the order of the report, prepared for print.

    Args:
        result: A run of any kind, a comparison of two, or an atlas of several.
        width: Of every figure in millimetres.

    Returns:
        Plotly figures with ``layout.meta["sentence"]``; none of the page's colours is left as a variable.
    """
    if isinstance(result, Comparison):
        plots: Mapping[str, Figure] = comparison_figures(result)
    elif isinstance(result, Atlas):
        plots = atlas_figures(result, width)
    else:
        plots = kind_of(result).figures(result, width)
    return {name: dress_for_print(figure, width) for name, figure in plots.items()}


def _with_second_plot(panel: Panel) -> list[Panel | SecondPlot]:
    """Return a panel and its second plot."""
    return [panel, *([panel.beside] if panel.beside else [])]


def with_sentence(panel: Panel | SecondPlot) -> Figure:
    """Return a copy of a panel's figure that carries the panel's sentence."""
    return _with_text(panel.figure, panel.sentence)


def _with_text(figure: Figure, sentence: str) -> Figure:
    """Return a copy of a figure that carries a sentence; its traces and its layout can be changed."""
    layout = figure["layout"] | {"meta": {"sentence": sentence}}
    return {"data": [dict(trace) for trace in figure["data"]], "layout": layout}


def role_plots(labelling: Labelling, width: float) -> dict[str, Figure]:
    """Draw the figures of a run of sieves or probes: matrix, maps, example heads, and those of its part.

    Args:
        labelling: The result of the run.
        width: Of every figure in millimetres.
    """
    summary = summarise(labelling)
    drawn = {
        "matrix": matrix(summary, width),
        "maps": maps(summary, width),
        "examples": examples(labelling, summary, width),
    }
    return {
        **_probes(labelling),
        **_clusters(labelling, summary),
        **{name: figure for name, figure in drawn.items() if figure is not None},
        **drawn_for_print(figures(summary)),
    }


def surface_plots(labelling: Labelling) -> dict[str, Figure]:
    """Draw the figures of a surface run."""
    plots = {}
    for figure in surface_figures(labelling):
        heads = figure.part != IMPORTANCE
        entropy = figure.part == ENTROPY
        entries = legend.series(figure.series, heads=heads, alone=entropy)
        plots[figure.panel.key] = with_legend(with_sentence(figure.panel), entries)
    return plots


def _probes(labelling: Labelling) -> dict[str, Figure]:
    """Draw the figures of probes."""
    probes = section(labelling)
    if probes is None:
        return {}
    panels = [*(block.panel for block in probes.blocks), *([probes.trained] if probes.trained else [])]
    by_name = {panel.key: probe_legend(with_sentence(panel)) for panel in panels}
    return by_name | {
        plot.key: with_sentence(plot) for panel in probes.weights for plot in _with_second_plot(panel)
    }


def _clusters(labelling: Labelling, summary: Summary) -> dict[str, Figure]:
    """Draw the map in its three colourings, the tree, and the numbers of clusters."""
    key, clustered = clusters.section(labelling, summary), labelling.clustered
    if key is None or clustered is None:
        return {}
    held = summary.held.reshape(len(summary.roles), len(clustered.cluster))
    looks = views(clustered, summary, held)
    legends: dict[str, Iterable[Entry]] = {
        "cluster": legend.clusters(key.named, key.lone),
        "layer": (),
        "roles": legend.sets(key.sets, key.rare),
    }
    plots = {}
    for view, entries in legends.items():
        if view == "roles" and not summary.roles:
            continue
        figure = with_sentence(key.map)
        figure["data"] = [trace | looks[view] for trace in figure["data"] if trace["name"] == "heads"]
        name = "cluster-map" if view == "cluster" else f"cluster-map-{view}"
        plots[name] = with_legend(figure, entries)
    plots[key.tree.key] = with_sentence(key.tree)
    if key.choices:
        lines = ("silhouette", "stability")
        figure = with_sentence(key.choices)
        for trace in figure["data"]:
            trace["showlegend"] = trace["name"] in lines
        figure["layout"]["showlegend"] = True
        plots[key.choices.key] = figure
    return plots
