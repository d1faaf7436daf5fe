"""Figures of a report for print: each stands without its page, with a legend and its sentence."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from headroles.kinds import report_of
from headroles.records.atlas.atlas import Atlas
from headroles.records.comparison import Comparison
from headroles.records.findings import Labelling
from headroles.records.numbers import isolate
from headroles.reports.figures.drawing import FAINT, add_scatter
from headroles.reports.figures.drawing import Figure as PlotlyFigure
from headroles.reports.figures.panel import plain
from headroles.reports.marks import Cells, Dots, Entry, Figure, Key, Line, Rule, Span, plotly_json
from headroles.reports.print.dress import dress_for_print
from headroles.reports.print.settings import WIDTH
from headroles.reports.report import Report

NAME = 40
"""Letters of a name in a file's name at most."""


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


def legend_of(figure: Figure) -> list[Entry]:
    """Return the legend of a figure that stands without its page: its own, or what follows from its marks.

    What a page can switch on and off comes first.
    """
    if figure.legend:
        return [*figure.legend]
    found = {word: Entry(plain(word), look.colour, look.symbol) for _, look, word in figure.switches}
    for mark in sorted(figure.marks, key=lambda mark: not getattr(mark, "toggles", None)):
        if isinstance(mark, Dots):
            rows = figure.rows if mark.rows is None else mark.rows
            known = rows.take(~np.isnan(rows[mark.x].astype(float)))
            drawn = {*known[mark.by].tolist()} if mark.by else {""} if len(known) else set()
            for word, look in mark.looks.items():
                name = mark.toggles(word) if mark.toggles else mark.name or word
                name = figure.meanings.get(name, name)
                if word in drawn:
                    symbol = mark.marker.get("symbol", look.symbol)
                    found.setdefault(name, Entry(plain(name), look.colour, symbol))
        elif isinstance(mark, Rule) and mark.name:
            found[mark.name] = Entry(mark.name, mark.colour, line=mark.dash or "solid")
        elif isinstance(mark, Span):
            found[mark.name] = Entry(mark.name, FAINT, line="solid")
        elif isinstance(mark, Key):
            found[mark.text] = Entry(mark.text, mark.look.colour, mark.look.symbol, mark.dash)
        elif isinstance(mark, Line) and mark.name and (mark.look.symbol or mark.number < 0):
            line = mark.dash if mark.look.symbol else mark.dash or "solid"
            found[mark.name] = Entry(plain(mark.name), mark.look.colour, mark.look.symbol, line)
        elif isinstance(mark, Cells):
            found |= {name: Entry(name, colour, "square") for name, colour in mark.meanings.items()}
    return list(found.values())


def with_legend(figure: PlotlyFigure, entries: Iterable[Entry]) -> PlotlyFigure:
    """Add a legend to a figure in place of any other; without entries, that of its own traces, if any.

    Args:
        figure: Is changed.
        entries: In their order.
    """
    lines = tuple(entries)
    if not lines:
        figure["layout"]["showlegend"] |= any(trace.get("showlegend") for trace in figure["data"])
        return figure
    for trace in figure["data"]:
        trace["showlegend"] = False
    for entry in lines:
        looks: dict[str, Any] = {}
        if entry.line:
            looks["line"] = {"color": entry.colour, "dash": entry.line, "width": 2}
        if entry.symbol or not entry.line:
            looks["marker"] = _mark(entry)
        mode = "+".join(f"{name}s" for name in ("line", "marker") if name in looks)
        add_scatter(figure, x=[None], y=[None], name=entry.name, showlegend=True, mode=mode, **looks)
    figure["layout"]["showlegend"] = True
    return figure


def _mark(entry: Entry) -> dict[str, object]:
    """Return the mark of an entry as properties of a trace."""
    if not entry.symbol:
        return {"size": 1, "color": "rgba(0,0,0,0)"}
    return {"symbol": entry.symbol, "color": entry.colour, "size": 10, "line": {"color": entry.colour}}


def figures_of(result: Labelling | Comparison | Atlas, width: float = WIDTH) -> Mapping[str, go.Figure]:
    """Draw every figure of a report by its name, in the order of the report, prepared for print.

    Args:
        result: A run of any kind, a comparison of two, or an atlas of several.
        width: Of every figure in millimetres.

    Returns:
        Plotly figures with ``layout.meta["sentence"]``; none of the page's colours is left as a variable.
    """
    drawn = figures_for_print(report_of(result), width)
    return {name: dress_for_print(figure, width) for name, figure in drawn.items()}


def figures_for_print(report: Report, width: float) -> dict[str, PlotlyFigure]:
    """Draw all figures of a report by name, with legends and their sentences.

    Args:
        report: Of a result.
        width: Of the figures that only print has, in millimetres.
    """
    made = dict(report.prints(width))
    return made | {
        name: figure for name, figure in drawn_for_print(report.page().figures()).items() if name not in made
    }


def drawn_for_print(figures: Iterable[Figure]) -> dict[str, PlotlyFigure]:
    """Draw figures by name, with legends and their sentences; of a choice, each of its parts."""
    made = {}
    for figure in figures:
        for plot in filter(None, (figure, figure.beside)):
            key, sentence = plot.name or plot.key, plot.sentence
            slugs = file_names(part.title for part in plot.parts)
            drawn = {key: (plot, sentence)} if not plot.parts else {
                f"{key}-{slug}": (part, f"{isolate(part.title)}: {sentence}")
                for slug, part in zip(slugs, plot.parts, strict=True)
            }  # fmt: skip
            for name, (part, words) in drawn.items():
                made[name] = with_legend(plotly_json(part), legend_of(part))
                made[name]["layout"]["meta"] = {"sentence": words}
    return made
