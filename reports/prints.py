"""Figures of a report for print: each stands without its page, with a legend and its sentence."""

import re
from collections.abc import Iterable

from headroles.records.numbers import isolate
from headroles.reports.figures.drawing import FAINT
from headroles.reports.figures.drawing import Figure as PlotlyFigure
from headroles.reports.figures.panel import plain
from headroles.reports.marks import Dots, Figure, Line, Rule, Span, plotly_json
from headroles.reports.print.legend import Entry, with_legend
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
    """Return the legend of a figure that stands without its page: its looks, spans and named lines."""
    found: dict[str, Entry] = {}
    for mark in figure.marks:
        if isinstance(mark, Dots):
            drawn = {*figure.rows[mark.by].tolist()} if mark.by else {""}
            for word, look in mark.looks.items():
                name = mark.toggles(word) if mark.toggles else mark.name or word
                if word in drawn:
                    found.setdefault(name, Entry(plain(name), look.colour, look.symbol))
        elif isinstance(mark, Rule) and mark.name:
            found[mark.name] = Entry(mark.name, mark.colour, line=mark.dash or "solid")
        elif isinstance(mark, Span):
            found[mark.name] = Entry(mark.name, FAINT, line="solid")
        elif isinstance(mark, Line):
            line = "" if mark.look.symbol else mark.dash or "solid"
            found[mark.name] = Entry(mark.name, mark.look.colour, mark.look.symbol, line)
    return list(found.values())


def figures_for_print(report: Report, width: float) -> dict[str, PlotlyFigure]:
    """Draw all figures of a report by name, with legends and their sentences.

    Args:
        report: Of a run.
        width: Of the figures that only print has, in millimetres.
    """
    made = dict(report.prints(width))
    for figure in report.page().figures():
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
