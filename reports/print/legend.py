"""Legends of figures that stand without their page, those of probes among them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headroles.reports.figures.cluster_map import RARE
from headroles.reports.figures.drawing import ACCENT, FAINT, INK, SOFT, SYMBOLS, Figure, add_scatter
from headroles.reports.figures.panel import plain, tone
from headroles.reports.sections.clusters import KeyEntry
from headroles.reports.summary import Role, Summary


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a legend.

    Attributes:
        name: Its text, escaped for plotly.
        colour: Of its mark.
        symbol: Of its mark; "" for none.
        line: "solid", "dash" or "dot" for a line; "" for a mark.
    """

    name: str
    colour: str = INK
    symbol: str = ""
    line: str = ""


FILLED = (Entry("holds the role", SOFT, "circle"), Entry("does not", SOFT, "circle-open"))


def with_legend(figure: Figure, entries: Iterable[Entry]) -> Figure:
    """Add a legend to a figure in place of any other; unchanged where there are no entries.

    Args:
        figure: Is changed.
        entries: In their order.
    """
    lines = tuple(entries)
    if not lines:
        return figure
    for trace in figure["data"]:
        trace["showlegend"] = False
    for entry in lines:
        looks = (
            {"mode": "lines", "line": {"color": entry.colour, "dash": entry.line, "width": 2}}
            if entry.line
            else {"mode": "markers", "marker": _mark(entry)}
        )
        add_scatter(figure, x=[None], y=[None], name=entry.name, showlegend=True, **looks)
    figure["layout"]["showlegend"] = True
    return figure


def _mark(entry: Entry) -> dict[str, object]:
    """Return the mark of an entry as properties of a trace."""
    if not entry.symbol:
        return {"size": 1, "color": "rgba(0,0,0,0)"}
    return {"symbol": entry.symbol, "color": entry.colour, "size": 10, "line": {"color": entry.colour}}


def roles(summary: Summary, numbers: Sequence[int]) -> list[Entry]:
    """Return entries of roles by mark, colour and symbol; where there are many, of their groups.

    Args:
        summary: What the page may say.
        numbers: Numbers of the roles that are drawn.
    """
    known: dict[tuple[int, int], Entry] = {}
    for number in numbers:
        role = summary.roles[number]
        grouped = summary.many and ":" in role.sieve
        name = f"{role.sieve.partition(':')[0]}:…" if grouped else f"{role.code}  {role.sieve}"
        known.setdefault((role.tone, role.symbol), Entry(plain(name), tone(role), SYMBOLS[role.symbol]))
    return list(known.values())


def strokes(figure: Figure, key: str) -> list[Entry]:
    """Return entries of strokes and fillings in figures whose rows bear the names of their roles.

    Args:
        figure: As the page draws it.
        key: Its name.
    """
    if key == "means":
        lines = (Entry("threshold", INK, line="solid"), Entry("by chance", FAINT, line="dot"))
        return [*FILLED, *lines]
    if key == "p-values":
        return [*FILLED, Entry("largest p of a role", INK, line="solid")]
    if key == "overlap" and any(trace.get("name") == "by chance" for trace in figure["data"]):
        return [Entry("by chance [95\u00a0% range]", ACCENT, "cross-thin-open")]
    return []


def matrix_entries(roles_held: Sequence[Role], *, letters: bool) -> list[Entry]:
    """Return roles of the label matrix with the numbers of their heads: by letters, or by symbols.

    Args:
        roles_held: The roles that heads hold.
        letters: Whether the cells bear letters.
    """
    return [
        Entry(
            plain(f"{f'{role.code}  ' * letters}{role.sieve} ({role.tally.role})"),
            tone(role),
            "square" if letters else SYMBOLS[role.symbol],
        )
        for role in roles_held
    ]


def clusters(named: Sequence[KeyEntry], lone: int) -> list[Entry]:
    """Return entries of the map's clusters with the numbers of their heads.

    Args:
        named: The clusters.
        lone: Heads in none.
    """
    none = [Entry(f"no cluster ({lone})", FAINT, "x-thin-open")] if lone else []
    return [*(_key_entry(cluster) for cluster in named), *none]


def sets(named: Sequence[KeyEntry], rare: int) -> list[Entry]:
    """Return entries of the map's exact sets of roles with the numbers of their heads.

    Args:
        named: The sets.
        rare: Heads with other sets.
    """
    others = [Entry(f"other sets of roles ({rare})", INK, RARE)] if rare else []
    return [*(_key_entry(named_set) for named_set in named), *others, Entry("no role", FAINT, "circle-open")]


def _key_entry(item: KeyEntry) -> Entry:
    """Return an entry of the map's key."""
    name = plain(f"{item.name} ({item.heads})")
    return Entry(name, f"var(--tone-{item.look.tone})", SYMBOLS[item.look.symbol])


MEANINGS = {
    "beyond": "tested, beyond the baseline",
    "not": "tested, not beyond",
    "undetermined": "tested, undetermined",
    "untestable": "untestable",
    "chosen": "where it was chosen",
    "baseline": "best baseline",
    "published": "published",
}
"""Meaning of the marks of the best heads by the names of their traces, in the order of the legend."""
TRAINED = {
    "trained": "trained",
    "random": "control with random weights",
    "baseline": "baseline",
    "published": "published",
}
"""Meaning of the marks of trained probes by the names of their traces."""


def probe_legend(figure: Figure) -> Figure:
    """Add a legend of the marks that a figure of probes has.

    Args:
        figure: Of best heads or of trained probes; is changed.
    """
    names = {trace.get("name") for trace in figure["data"]}
    meanings = TRAINED if "trained" in names else MEANINGS
    ranks = {name: 1000 + place for place, name in enumerate(meanings)}
    for trace in figure["data"]:
        name = trace.get("name", "")
        trace["showlegend"] = name in meanings and any(value is not None for value in trace["x"])
        trace["legendrank"] = ranks.get(name, 2000)
        trace["name"] = meanings.get(name, name)
    figure["layout"]["showlegend"] = True
    return figure
