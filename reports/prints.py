"""Figures of a report for print: each stands without its page, with a legend and its sentence."""

from headroles.reports.figures.drawing import FAINT
from headroles.reports.figures.drawing import Figure as PlotlyFigure
from headroles.reports.figures.panel import plain
from headroles.reports.marks import Dots, Figure, Key, Line, Rule, Span, plotly_json
from headroles.reports.print.legend import Entry, with_legend
from headroles.reports.report import Report


def legend_of(figure: Figure) -> list[Entry]:
    """Return the legend of a figure that stands without its page: its looks, spans and named lines."""
    found: dict[str, Entry] = {}
    for mark in figure.marks:
        if isinstance(mark, Dots):
            rows = figure.rows if mark.rows is None else mark.rows
            drawn = {*rows[mark.by].tolist()} if mark.by else {""}
            for word, look in mark.looks.items():
                name = mark.toggles(word) if mark.toggles else mark.name or word
                if word in drawn:
                    found.setdefault(
                        name, Entry(plain(name), look.colour, mark.marker.get("symbol", look.symbol))
                    )
        elif isinstance(mark, Rule) and mark.name:
            found[mark.name] = Entry(mark.name, mark.colour, line=mark.dash or "solid")
        elif isinstance(mark, Span):
            found[mark.name] = Entry(mark.name, FAINT, line="solid")
        elif isinstance(mark, Key):
            found[mark.text] = Entry(mark.text, mark.look.colour, mark.look.symbol, mark.dash)
        elif isinstance(mark, Line) and (mark.look.symbol or mark.number < 0):
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
            drawn = plotly_json(plot)
            drawn["layout"]["meta"] = {"sentence": plot.sentence}
            made[plot.name or plot.key] = with_legend(drawn, legend_of(plot))
    return made
