"""A figure with its words and its table. Names from data are escaped, because plotly reads text as markup."""

import html
from dataclasses import dataclass

from headroles.records.numbers import isolate
from headroles.reports.figures.drawing import Figure
from headroles.reports.summary import Role

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
    figure: Figure


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
    figure: Figure
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    legend: tuple[int, ...] = ()
    beside: SecondPlot | None = None


def tone(role: Role) -> str:
    """Return the colour of a role."""
    return f"var(--tone-{role.tone})"


def shortened(text: str) -> str:
    """Return a name with its direction isolated, cut where it is very long."""
    return isolate(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")


def plain(text: str) -> str:
    """Return text that plotly shows as it is: markup escaped, direction isolated, very long names cut.

    Example:
        >>> plain("<b>local</b>"), len(plain("x" * 10_000))
        ('&lt;b&gt;local&lt;/b&gt;', 48)
    """
    return html.escape(shortened(text), quote=False)
