"""The figures of a comparison, a file per sieve where the page lets one choose."""

import re
from collections.abc import Iterable

import plotly.graph_objects as go

from headroles.records.comparison import OUTCOMES, Comparison
from headroles.reports.compare_figures import GAINED, LOST, MARKS, Plot, plots
from headroles.reports.static_legend import Entry, explained
from headroles.reports.words import exact, isolate

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
