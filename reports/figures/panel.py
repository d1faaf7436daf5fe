"""A figure with its words and its table, and the layout that all figures share.

Colours are CSS variables, written as ``var(--name)``; the page fills in the colours of the reader's theme.
Names from data are escaped, because plotly reads text as markup.
"""

import html
from dataclasses import dataclass

import plotly.graph_objects as go

from headroles.reports.records import Role
from headroles.reports.words.words import isolate

INK, SOFT, FAINT, RULE, ACCENT = (f"var(--{name})" for name in ("ink", "soft", "faint", "rule", "accent"))
SYMBOLS = (
    "circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "hexagon", "x"
)  # fmt: skip
"""Plot symbols by ``Role.symbol``; the page's legend draws the same."""
LONGEST = 48
"""Characters of a name that a figure shows."""


@dataclass(frozen=True, slots=True, eq=False)
class SecondPlot:
    """A second plot next to a panel's own, with the same legend and table.

    Attributes:
        key: Stands in the plot's id.
        sentence: What the plot shows, in one sentence.
        figure: The plot.
    """

    key: str
    sentence: str
    figure: go.Figure


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One figure of the page.

    Attributes:
        key: Stands in the figure's id.
        title: Heading.
        sentence: What the figure shows, in one sentence.
        caption: What must be known to read it; may be empty.
        figure: The plot.
        header: Column names of the table behind it.
        rows: That table as text.
        legend: Numbers of the roles whose traces can be switched on and off.
        beside: A second plot; None for most.
    """

    key: str
    title: str
    sentence: str
    caption: str
    figure: go.Figure
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    legend: tuple[int, ...] = ()
    beside: SecondPlot | None = None


def tone(role: Role) -> str:
    """Return the colour of a role."""
    return f"var(--tone-{role.tone})"


def plain(text: str) -> str:
    """Return text that plotly shows as it is: markup escaped, direction isolated, very long names cut.

    Example:
        >>> plain("<b>local</b>"), len(plain("x" * 10_000))
        ('&lt;b&gt;local&lt;/b&gt;', 48)
    """
    short = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return html.escape(isolate(short), quote=False)


def blank(height: int, **layout: object) -> go.Figure:
    """Return an empty figure in the page's own layout."""
    figure = go.Figure()
    dress(figure, height, **layout)
    return figure


def dress(figure: go.Figure, height: int, **layout: object) -> None:
    """Give a figure transparent ground, the page's font, and quiet axes."""
    figure.update_layout(
        template="none",
        height=height,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, sans-serif", "size": 13, "color": INK},
        margin={"l": 56, "r": 16, "t": 12, "b": 52},
        showlegend=False,
        hoverlabel={"bgcolor": "var(--panel)", "bordercolor": RULE, "font": {"color": INK, "size": 13}},
        hovermode="closest",
        dragmode=False,
    )
    figure.update_layout(**layout)
    axis = {
        "gridcolor": RULE,
        "linecolor": FAINT,
        "tickcolor": FAINT,
        "zeroline": False,
        "automargin": True,
        "title": {"font": {"color": SOFT, "size": 13}, "standoff": 8},
        "tickfont": {"color": SOFT, "size": 12},
    }
    figure.update_xaxes(axis)
    figure.update_yaxes(axis)
