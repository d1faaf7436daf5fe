"""Figures of a report for print: each stands without its page, with a legend and its sentence."""

from collections.abc import Iterable

from headroles.reports.figures.drawing import FAINT
from headroles.reports.figures.drawing import Figure as PlotlyFigure
from headroles.reports.figures.panel import plain
from headroles.reports.marks import Dots, Entry, Figure, Line, Rule, Span, plotly_json
from headroles.reports.print.legend import with_legend
from headroles.reports.report import Report


def legend_of(figure: Figure) -> list[Entry]:
    """Return the legend of a figure that stands without its page: its own, or what follows from its marks."""
    if figure.legend:
        return [*figure.legend]
    found = {word: Entry(plain(word), look.colour, look.symbol) for _, look, word in figure.switches}
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
            found[mark.name] = Entry(plain(mark.name), mark.look.colour, mark.look.symbol, line)
    return list(found.values())


def figures_for_print(report: Report, width: float) -> dict[str, PlotlyFigure]:
    """Draw all figures of a report by name, with legends and their sentences.

    Args:
        report: Of a run.
        width: Of the figures that only print has, in millimetres.
    """
    return dict(report.prints(width)) | drawn_for_print(report.page().figures())


def drawn_for_print(figures: Iterable[Figure]) -> dict[str, PlotlyFigure]:
    """Draw figures by name, with legends and their sentences."""
    made = {}
    for figure in figures:
        for plot in filter(None, (figure, figure.beside)):
            drawn = plotly_json(plot)
            drawn["layout"]["meta"] = {"sentence": plot.sentence}
            made[plot.name or plot.key] = with_legend(drawn, legend_of(plot))
    return made
