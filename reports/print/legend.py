"""Legends of figures that stand without their page.

The legend of figures of probes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from headroles.reports.content import Role, Summary
from headroles.reports.figures.cluster_map import RARE
from headroles.reports.figures.panel import ACCENT, FAINT, INK, SOFT, SYMBOLS, plain, tone
from headroles.reports.figures.surface import Series
from headroles.reports.sections.clusters import Named


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a legend.

    Attributes:
        name: What it says, escaped for plotly.
        colour: Of its mark.
        symbol: Of its mark; "" for none.
        line: "solid", "dash" or "dot" for a line; "" for a mark.
    """

    name: str
    colour: str = INK
    symbol: str = ""
    line: str = ""


FILLED = (Entry("holds the role", SOFT, "circle"), Entry("does not", SOFT, "circle-open"))


def explained(figure: go.Figure, entries: Iterable[Entry]) -> go.Figure:
    """The figure with a legend of its own in place of any other; unchanged where there are no entries.

    Args:
        figure: Is changed.
        entries: In their order.
    """
    lines = tuple(entries)
    if not lines:
        return figure
    figure.update_traces(showlegend=False)
    for each in lines:
        looks = (
            {"mode": "lines", "line": {"color": each.colour, "dash": each.line, "width": 2}}
            if each.line
            else {"mode": "markers", "marker": _mark(each)}
        )
        figure.add_scatter(x=[None], y=[None], name=each.name, showlegend=True, **looks)
    figure.update_layout(showlegend=True)
    return figure


def _mark(each: Entry) -> dict[str, object]:
    if not each.symbol:
        return {"size": 1, "color": "rgba(0,0,0,0)"}
    return {"symbol": each.symbol, "color": each.colour, "size": 10, "line": {"color": each.colour}}


def roles(summary: Summary, numbers: Sequence[int], *, states: bool = False) -> list[Entry]:
    """Roles by colour and symbol; where there are many, their groups.

    Args:
        summary: What the page may say.
        numbers: Of the roles that are drawn.
        states: Whether filled marks hold the role and open ones do not.
    """
    known: dict[tuple[int, int], Entry] = {}
    for number in numbers:
        role = summary.roles[number]
        name = f"{role.sieve.partition(':')[0]}:…" if summary.many and ":" in role.sieve else role.sieve
        known.setdefault((role.tone, role.symbol), Entry(plain(name), tone(role), SYMBOLS[role.symbol]))
    return [*known.values(), *(FILLED if states else ())]


def strokes(figure: go.Figure, key: str) -> list[Entry]:
    """What strokes and fillings mean in figures whose rows bear the names of their roles.

    Args:
        figure: As the page draws it.
        key: Its name.
    """
    if key == "p-values":
        return [*FILLED, Entry("largest p of a role", INK, line="solid")]
    if key == "overlap" and any(trace.name == "dealt" for trace in figure.data):
        return [Entry("dealt within layers [95\u00a0% range]", ACCENT, "cross-thin-open")]
    return []


def coded(held: Sequence[Role], *, letters: bool) -> list[Entry]:
    """Roles of the label matrix with the numbers of their heads: by letters, or by symbols.

    Args:
        held: The roles.
        letters: Whether the cells bear letters.
    """
    return [
        Entry(
            plain(f"{f'{role.code}  ' * letters}{role.sieve} ({role.tally.role})"),
            tone(role),
            "square" if letters else SYMBOLS[role.symbol],
        )
        for role in held
    ]


def clusters(named: Sequence[Named], lone: int) -> list[Entry]:
    """Clusters of the map with the numbers of their heads.

    Args:
        named: The clusters.
        lone: Heads in none.
    """
    none = [Entry(f"no cluster ({lone})", FAINT, "x-thin-open")] if lone else []
    return [*(_named(each) for each in named), *none]


def sets(named: Sequence[Named], rare: int) -> list[Entry]:
    """Exact sets of roles of the map with the numbers of their heads.

    Args:
        named: The sets.
        rare: Heads with other sets.
    """
    others = [Entry(f"other sets of roles ({rare})", INK, RARE)] if rare else []
    return [*(_named(each) for each in named), *others, Entry("no role", FAINT, "circle-open")]


def _named(each: Named) -> Entry:
    name = plain(f"{each.name} ({each.heads})")
    return Entry(name, f"var(--tone-{each.look.tone})", SYMBOLS[each.look.symbol])


def series(drawn: Sequence[Series], *, heads: bool, alone: bool) -> list[Entry]:
    """Columns of a surface figure, and what its marks are.

    Args:
        drawn: The columns.
        heads: Whether heads have marks, beside the means of layers.
        alone: Whether even attention is a line of its own, not one per column.
    """
    marks = [
        Entry(plain(each.label), each.colour, SYMBOLS[each.number % len(SYMBOLS)] if heads else "circle")
        for each in drawn
    ]
    told = [
        Entry("head above even attention", SOFT, "circle"),
        Entry("head not above it", SOFT, "circle-open"),
    ]
    layer = [
        Entry("mean of a layer", SOFT, line="solid"),
        Entry("even attention", SOFT, line="dash" if alone else "dot"),
    ]
    return [*marks, *(told + layer if heads else layer[:1])]


MEANINGS = {
    "beyond": "tested, beyond the baseline",
    "not": "tested, not beyond",
    "undetermined": "tested, undetermined",
    "untestable": "untestable",
    "chosen": "where it was chosen",
    "baseline": "best baseline",
    "published": "published",
}
"""What the marks of the best heads are, by the names of their traces; the first that are there come first."""
TRAINED = {
    "trained": "trained",
    "random": "control with random weights",
    "baseline": "baseline",
    "published": "published",
}
"""The same of trained probes."""


def probe_legend(figure: go.Figure) -> go.Figure:
    """The figure with a legend of the marks that it has.

    Args:
        figure: Of best heads or of trained probes; is changed.
    """
    names = {trace.name for trace in figure.data}
    meanings = TRAINED if "trained" in names else MEANINGS
    ranks = {name: 1000 + place for place, name in enumerate(meanings)}
    for trace in figure.data:
        shown = trace.name in meanings and any(
            value is not None and value == value for value in (trace.x if trace.x is not None else ())
        )
        trace.update(
            showlegend=shown,
            legendrank=ranks.get(trace.name, 2000),
            name=meanings.get(trace.name, trace.name),
        )
    figure.update_layout(showlegend=True)
    return figure
