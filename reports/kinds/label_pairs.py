"""Which roles heads hold together: in words, as exact sets, and in pairs."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from headroles.records.assessment import TOGETHER
from headroles.records.numbers import count as count_text
from headroles.records.numbers import isolate, plural, share, with_range
from headroles.records.roles import parts_of, titles_of
from headroles.records.table import Cell, Column, Row, Sheet, Table, counted
from headroles.reports import drawing
from headroles.reports.drawing import ACCENT, FAINT, RULE, SOFT, SYMBOLS, plain, set_axis, tone
from headroles.reports.drawing import Figure as PlotlyFigure
from headroles.reports.marks import Axis, Cells, Entry, Figure, Note, ticks
from headroles.reports.summary import Combination, Summary

MOST = 5
"""Pairs with a sentence of their own, at most."""
MOST_SETS, MOST_ROLES, MOST_PAIRS = 20, 24, 100
"""Role sets and roles of the map of pairs that are drawn, and pairs listed where there are many, at most."""
BARS = 150
"""Height of the bars above the role sets in pixels."""
MARGIN = {"l": 12, "r": 12, "t": 8, "b": 48}
REACH = 2.0
"""Doublings, or halvings, at the ends of the scale of pairs."""
CHANCE = "by chance [95\u00a0% range]"
PAIRS = Table("", "Pairs of roles", "two roles", (
    counted("row", "Place of the first role."), counted("column", "Place of the second."),
    Column("doublings", "Doublings from the number by chance to the shared one; NaN where not drawn."),
    Column("both", "Heads of both roles."), Column("expected", "Number by chance."),
    Column("low", "Its 2.5 % point."), Column("high", "Its 97.5 % point."),
    Column("outside", "Whether the number lies outside.", bool),
))  # fmt: skip


class Pair(NamedTuple):
    """One ordered pair of roles. The heads of a model are not a sample, so no pair is tested.

    Attributes:
        found: Their overlap as the run labels heads.
        bare: Their overlap without the contrasts beyond distance; None where that changes nothing.
    """

    found: Row
    bare: Row | None


def pairs_of(summary: Summary) -> dict[tuple[str, str], Pair]:
    """Return every ordered pair of different roles, by their names."""
    names = {*summary.names}
    rows = {
        (row.first, row.second, row.contrasts): row
        for row in (summary.assessment.together if summary.assessment else ())
        if {row.first, row.second} <= names
    }
    return {
        (first, second): Pair(row, rows.get((first, second, "without")))
        for (first, second, contrasts), row in rows.items() if contrasts == "with"
    }  # fmt: skip


def notable_pairs(summary: Summary) -> list[Pair]:
    """Return notable pairs: overlaps outside the range of permuted labels first, then by shared heads.

    Each pair once, the smaller role first; pairs without a shared head, and those of a sieve and its
    own part (such as delimiter and delimiter:cls), are left out.
    """
    place = {name: number for number, name in enumerate(summary.names)}
    pairs = [
        pair
        for (first, second), pair in pairs_of(summary).items()
        if (pair.found.heads_first, place[first]) < (pair.found.heads_second, place[second])
        and (pair.found.both or (pair.bare and pair.bare.both))
        and not is_part(first, second)
    ]
    return sorted(pairs, key=lambda pair: (not is_outside(pair.found), -pair.found.both))


def is_part(first: str, second: str) -> bool:
    """Return whether one sieve asks for a part of what the other asks for.

    Example:
        >>> is_part("delimiter", "delimiter:cls"), is_part("delimiter:sep", "delimiter:cls")
        (True, False)
    """
    return first.startswith(f"{second}:") or second.startswith(f"{first}:")


def is_outside(pair: Row) -> bool:
    """Return whether the overlap lies outside the 95 % range of labels permuted within layers."""
    return not pair.expected_low <= pair.both <= pair.expected_high


def expected_text(shared: Row | Combination) -> str:
    """Return the heads expected when labels are permuted within layers, with their range."""
    return with_range(*map(count_text, (shared.expected, shared.expected_low, shared.expected_high)))


def pair_sentences(summary: Summary) -> list[str]:
    """Return the most notable pairs in words, with and without the contrasts."""
    sentences, titles = [], dict(zip(summary.names, titles_of(summary.names), strict=True))
    for found, bare in notable_pairs(summary)[:MOST]:
        name, other = isolate(titles[found.first]), isolate(titles[found.second])
        text = f"No head holds {name}."
        if found.heads_first:
            text = (
                f"Of {plural(found.heads_first, 'head')} with {name}, {found.both} ({_part(found)}) also "
                f"{'holds' if found.both == 1 else 'hold'} {other}; by chance {expected_text(found)} would."
            )
        if bare is not None:
            shared = f"of {bare.heads_first}, {bare.both} ({_part(bare)}); by chance {expected_text(bare)}"
            alone = shared if bare.heads_first else f"no head holds {name}"
            text += f" Without the contrast beyond distance: {alone}."
        sentences.append(text)
    return sentences


def _part(pair: Row) -> str:
    """Return the share of the first role's heads that two roles share, with its interval."""
    return with_range(*map(share, (pair.share, pair.share_low, pair.share_high)))


def overlap(summary: Summary) -> Figure:
    """Draw role sets: a bar for the number of heads, dots for the roles in the set.

    A role with parts is drawn only where no part of it holds; the table has the exact sets. Sets that become
    alike are one. They have no expected number: it is known of exact sets only.
    """
    places = {name: place for place, name in enumerate(summary.names)}
    wholes = {places[whole]: {places[name] for name in own} for whole, own in parts_of(summary.names).items()}
    sets: dict[tuple[int, ...], Combination] = {}
    for role_set in summary.combinations:
        roles = tuple(role for role in role_set.roles if not wholes.get(role, set()) & {*role_set.roles})
        alike = sets.get(roles)
        heads = role_set.heads + (alike.heads if alike else 0)
        sets[roles] = role_set if roles == role_set.roles and not alike else Combination(roles, heads)
    drawn = sorted(sets.values(), key=lambda role_set: (-role_set.heads, role_set.roles))
    shown = drawn[:MOST_SETS]
    expects = bool(shown) and not any(math.isnan(role_set.expected) for role_set in shown)
    known = any(not math.isnan(role_set.expected) for role_set in summary.combinations)
    bare = int((~summary.held.any(axis=0)).sum())
    multiple = sum(role_set.heads for role_set in drawn if len(role_set.roles) > 1)
    limit = f" The {MOST_SETS} most frequent of {len(drawn)} sets are drawn." * (len(drawn) > MOST_SETS)
    limit += (
        " Red: heads by chance, with labels shuffled within each layer; whisker: 95\u00a0% of the shuffles."
    ) * expects
    titles = titles_of(summary.names)
    header = ("exactly these roles", "heads", CHANCE)[: 3 if known else 2]
    lines = tuple(
        (
            Cell(" + ".join(titles[role] for role in role_set.roles), place),
            Cell(str(role_set.heads), role_set.heads), Cell(expected_text(role_set), role_set.expected),
        )[: len(header)]
        for place, role_set in enumerate(summary.combinations)
    )  # fmt: skip
    return Figure(
        "overlap", "Roles together",
        f"{plural(multiple, 'head')} of {summary.held[0].size} hold several roles.",
        "A bar counts the heads with exactly the roles dotted below it. "
        f"{plural(bare, 'head')} without a role {'are' if bare != 1 else 'is'} not drawn.{limit}",
        plot=lambda: _sets_figure(summary, shown, expects), numbers=Sheet("Roles together", header, lines),
        legend=[Entry(CHANCE, ACCENT, "cross-thin-open")] if expects else (),
    )  # fmt: skip


def _sets_figure(summary: Summary, drawn: Sequence[Combination], expects: bool) -> PlotlyFigure:
    """Draw bars, and below them faint dots everywhere and joined marks where a set has the role.

    The number by chance is a stroke over every bar, its range a whisker.
    """
    members, size = sorted({role for role_set in drawn for role in role_set.roles}), len(drawn)
    height = BARS + 26 * max(len(members), 1) + 20
    figure = drawing.blank(height, bargap=0.35, margin={"l": 56, "r": 12, "t": 8, "b": 12})
    cut = 1 - BARS / height
    names = {role: plain(titles_of(summary.names)[role]) for role in members}
    drawing.add_bar(
        figure, x=list(range(size)), y=[role_set.heads for role_set in drawn], marker={"color": SOFT},
        text=[str(role_set.heads) for role_set in drawn], textposition="outside", cliponaxis=False,
        textangle=0, textfont={"color": SOFT, "size": 11},
        hovertext=[" + ".join(names[role] for role in role_set.roles) for role_set in drawn],
        hovertemplate="%{hovertext}<br>heads: %{y}<extra></extra>",
    )  # fmt: skip
    if expects:
        ends = [(role_set.expected, role_set.expected_low, role_set.expected_high) for role_set in drawn]
        drawing.add_scatter(
            figure, x=[place + 0.42 for place in range(size)], y=[value for value, _, _ in ends],
            mode="markers",
            marker={"symbol": "line-ew-open", "size": 12, "color": ACCENT, "line": {"width": 2}},
            error_y=drawing.error_bars(ends, color=ACCENT, thickness=1.2, width=0),
            hoverinfo="skip", name="by chance",
        )  # fmt: skip
    heights = [high for each in drawn for high in (float(each.heads), each.expected_high)]
    tallest = max((height for height in heights if not math.isnan(height)), default=1.0)
    whole: Mapping[str, Any] = {"dtick": 1} if tallest <= 5 else {}
    set_axis(figure, "yaxis", title="heads", range=[0, tallest * 1.18], domain=[cut + 0.02, 1], **whole)
    level = {role: len(members) - 1 - place for place, role in enumerate(members)}
    drawing.add_scatter(
        figure, x=[column for column in range(size) for _ in members],
        y=[level[role] for _ in drawn for role in members],
        yaxis="y2", mode="markers", hoverinfo="skip", marker={"size": 9, "color": RULE},
    )  # fmt: skip
    levels = [[level[role] for role in role_set.roles] for role_set in drawn]
    joined = [(column, min(own), max(own)) for column, own in enumerate(levels) if len(own) > 1]
    drawing.add_scatter(
        figure, x=[place for column, *_ in joined for place in (column, column, None)],
        y=[end for _, low, high in joined for end in (low, high, None)],
        yaxis="y2", mode="lines", line={"color": FAINT, "width": 2}, hoverinfo="skip",
    )  # fmt: skip
    for place in members:
        role, columns = summary.roles[place], [k for k, own in enumerate(drawn) if place in own.roles]
        drawing.add_scatter(
            figure, x=columns, y=[level[place]] * len(columns), yaxis="y2", mode="markers",
            name=names[place], hoverinfo="name",
            marker={"size": 11, "color": tone(role.tone), "symbol": SYMBOLS[role.symbol]},
        )  # fmt: skip
    set_axis(
        figure, "yaxis2", **ticks(level.values(), names.values()), showgrid=False,
        range=[-0.6, max(len(members), 1) - 0.4], domain=[0, cut], anchor="x",
    )  # fmt: skip
    set_axis(
        figure, "xaxis", showticklabels=False, ticks="", showgrid=False, anchor="y2",
        range=[-0.6, max(size, 6) - 0.4],
    )  # fmt: skip
    return figure


def pairs(summary: Summary) -> Figure | None:
    """Draw how many heads every two roles share, over the number by chance; None where the run has none.

    Behind it stands every ordered pair with and without contrasts; of many roles, the notable pairs.
    """
    overlaps, notable = pairs_of(summary), notable_pairs(summary)
    if not overlaps:
        return None
    names, limit = [role.sieve for role in summary.roles if role.tally.role], ""
    titles = dict(zip(summary.names, titles_of(summary.names), strict=True))
    if summary.many:
        wanted = dict.fromkeys(name for pair in notable for name in (pair.found.first, pair.found.second))
        names = [name for name in names if name in [*wanted][:MOST_ROLES]]
        limit = f" The {len(names)} roles of the most notable pairs are drawn."
    outliers = sum(is_outside(pair.found) for pair in notable)
    listed = notable[:MOST_PAIRS] if summary.many else overlaps.values()
    cells, hover = [], []
    sides, feet = names[1:], names[:-1]
    for row, first in enumerate(sides):
        for column, second in enumerate(feet[: row + 1]):
            values: tuple[Any, ...] = (*[math.nan] * 5, False)
            if (first, second) in overlaps and not is_part(first, second):
                pair = overlaps[first, second].found
                hover.append(f"{plain(titles[first])} and {plain(titles[second])}")
                numbers = (pair.both, pair.expected, pair.expected_low, pair.expected_high)
                values = (doublings(pair.both, pair.expected), *numbers, is_outside(pair))
            cells.append(dict(zip(PAIRS.data, (row, column, *values), strict=True)))
    marks: list[Any] = [
        Cells(
            "row", "column", "doublings", ("var(--tone-0)", "var(--panel)", "var(--tone-1)"), (-REACH, REACH),
            "pairs", "%{hovertext}<br>heads of both: %{customdata[3]}<br>"
            "by chance %{customdata[4]:.1f} [%{customdata[5]:.1f}, %{customdata[6]:.1f}]<extra></extra>",
            ("both", "expected", "low", "high"),
            lambda row: "" if math.isnan(row.both) else f"{row.both:.0f}{' •' * row.outside}",
            {"size": 11, "hovertext": hover, "colorbar": {
                "tickvals": [-REACH, 0, REACH], "ticktext": ["¼", "1", "4"],
                "title": {"text": "times chance", "side": "right", "font": {"color": SOFT, "size": 12}},
                "tickfont": {"color": SOFT, "size": 12},
            }},
        )
    ]  # fmt: skip
    if not any(cell["both"] > 0 for cell in cells):
        marks.append(Note("no head is shared", {"x": 0.5, "xref": "paper", "y": 0.5, "yref": "paper"}))
    codes = {role.sieve: f"<b>{role.code}</b>" for role in summary.roles}

    return Figure(
        "pairs", "Pairs of roles",
        "Heads that two roles share, against the number by chance (labels shuffled within layers).",
        "Number: heads of both roles. Orange: more than by chance, blue: fewer; a dot: outside "
        f"95\u00a0% of the shuffles ({outliers} of {plural(len(notable), 'pair')}).{limit} Not drawn: a "
        "role with its own part. Heads are not a sample, so nothing is tested.",
        PAIRS.rows(cells), marks,
        x=Axis("", ticks(range(len(feet)), (codes[name] for name in feet)) | {"ticks": "", "tickangle": 0}),
        y=Axis("", ticks(range(len(sides)), (f"{plain(titles[name])}  {codes[name]}" for name in sides))
               | {"ticks": ""}),
        height=80 + 26 * max(len(sides), 1), layout={"margin": MARGIN},
        numbers=TOGETHER.describe(
            "first", cell=lambda row: Cell(f"{titles[row.first]}, also {titles[row.second]}", row.first)
        ).rows(vars(row) for pair in listed for row in pair if row is not None).sheet(),
    )  # fmt: skip


def doublings(both: int, expected: float) -> float:
    """Return how often the expected number doubles to the shared one, within the scale.

    Half a head is added to both, so that small numbers do not look large.

    Example:
        >>> doublings(7, 3.25), doublings(0, 0.0), doublings(0, 9.5)
        (1.0, 0.0, -2.0)
    """
    return max(-REACH, min(REACH, math.log2((both + 0.5) / (expected + 0.5))))
