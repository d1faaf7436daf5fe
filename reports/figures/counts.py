"""Figures that count heads: by layer and by exact set of roles."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headroles.records.numbers import count, plural, with_range
from headroles.records.roles import parts_of
from headroles.reports.figures.drawing import (
    ACCENT,
    FAINT,
    INK,
    RULE,
    SOFT,
    SYMBOLS,
    Figure,
    add_bar,
    add_cells,
    add_note,
    add_scatter,
    add_shape,
    bar_width,
    blank,
    error_bars,
    layer_axis,
    layer_ticks,
    set_axis,
)
from headroles.reports.figures.panel import Panel, plain, tone
from headroles.reports.records import Combination, Summary

CLOSE = 20
"""Height of a row of the map in pixels."""
STEP = 46
"""Height of a role's chart in pixels."""
MOST = 20
"""Role sets drawn at most."""
BARS = 150
"""Height of the bars above the role sets in pixels."""
SHIFT = 0.42
"""Distance of the expected number's stroke from the middle of its bar."""
EXPECTED_CAPTION = (
    " Red: heads by chance, with labels shuffled within each layer; whisker: 95\u00a0% of the shuffles."
)


def layers(summary: Summary) -> Panel:
    """Draw heads with each role in each layer: a small chart per role, or one map where there are many."""
    roles, stack = summary.roles, summary.table.stack
    tallest = max((max(role.layers, default=0) for role in roles), default=0)
    return Panel(
        key="layers",
        title="Roles by layer",
        sentence=f"Heads with each role in each of the {plural(len(stack.layers), 'layer')}.",
        caption=f"One scale for all roles: the {'darkest cell' if summary.many else 'tallest bar'} is "
        f"{tallest} of {plural(summary.table.heads, 'head')} of a layer.",
        figure=_map(summary, tallest) if summary.many else _bars(summary, tallest),
        header=("role", *(f"layer {layer}" for layer in stack.numbers)),
        rows=tuple((role.sieve, *map(str, role.layers)) for role in roles),
    )


def _map(summary: Summary, tallest: int) -> Figure:
    """Draw roles × layers as a map of counts, where a chart per role would not end."""
    roles, size, stack = summary.roles, summary.table.layers, summary.table.stack
    figure = blank(80 + CLOSE * len(roles), margin={"l": 12, "r": 12, "t": 8, "b": 48})
    heads = np.array([role.layers for role in roles], dtype=float)
    add_cells(
        figure, heads, ("var(--panel)", "var(--tone-0)"), (0, max(tallest, 1)), size=11,
        layers=stack, along="x",
        text=[[str(count) if count else "" for count in role.layers] for role in roles],
        hovertext=[plain(role.sieve) for role in roles for _ in range(size)],
        hovertemplate="%{hovertext}<br>layer %{customdata[1]}, heads: %{customdata[2]}<extra></extra>",
    )  # fmt: skip
    set_axis(figure, "xaxis", title="layer", **layer_ticks(stack, 1 if size <= 16 else 4, by_place=True))
    set_axis(
        figure, "yaxis", tickmode="array", tickvals=list(range(len(roles))),
        ticktext=[plain(role.sieve) for role in roles],
    )  # fmt: skip
    return figure


def _bars(summary: Summary, tallest: int) -> Figure:
    """Draw one small chart per role, one below the other."""
    roles, size, stack = summary.roles, summary.table.layers, summary.table.stack
    number = max(len(roles), 1)
    figure = blank(60 + STEP * number, margin={"l": 12, "r": 12, "t": 8, "b": 48}, bargap=0.25)
    for row, role in enumerate(roles):
        axis = f"y{row + 1 if row else ''}"
        add_bar(
            figure, x=list(stack.numbers), y=list(role.layers), yaxis=axis, name=plain(role.sieve),
            **bar_width(stack), marker={"color": tone(role)},
            text=[str(count) if count and size <= 16 else "" for count in role.layers],
            textposition="outside", cliponaxis=False, textangle=0, textfont={"color": SOFT, "size": 11},
            hovertemplate="%{fullData.name}<br>layer %{x}, heads: %{y}<extra></extra>",
        )  # fmt: skip
        set_axis(
            figure, axis.replace("y", "yaxis"), range=[0, max(tallest, 1) * 1.9], visible=False,
            domain=[1 - (row + 1) / number, 1 - row / number], anchor="x",
        )  # fmt: skip
        add_shape(
            figure, type="line", xref="x domain", x0=0, x1=1, yref=axis, y0=0, y1=0,
            line={"color": FAINT, "width": 1},
        )  # fmt: skip
        add_note(
            figure, plain(role.sieve), color=INK, x=0, xref="paper", xanchor="left", y=1,
            yref=f"{axis} domain", yanchor="top",
        )  # fmt: skip
    layer_axis(
        figure, stack, showgrid=False, range=[-0.6, stack.blocks - 0.4], ticks="", tickmode="linear",
        anchor="free", position=0,
    )  # fmt: skip
    return figure


def overlap(summary: Summary) -> Panel:
    """Draw role sets: a bar for the number of heads, dots for the roles in the set.

    A role with parts is drawn only where no part of it holds; the table has the exact sets.
    """
    drawn = _drawn_sets(summary)
    shown = drawn[:MOST]
    expects = _all_expected(shown)
    bare = int((~summary.held.any(axis=0)).sum())
    multiple = sum(role_set.heads for role_set in drawn if len(role_set.roles) > 1)
    limit = f" The {MOST} most frequent of {len(drawn)} sets are drawn." if len(drawn) > MOST else ""
    known = any(not math.isnan(role_set.expected) for role_set in summary.combinations)
    return Panel(
        key="overlap",
        title="Roles together",
        sentence=f"{plural(multiple, 'head')} of {summary.held[0].size} hold several roles.",
        caption="A bar counts the heads with exactly the roles dotted below it. "
        f"{plural(bare, 'head')} without a role {'are' if bare != 1 else 'is'} not drawn.{limit}"
        + EXPECTED_CAPTION
        * expects,
        figure=_sets_figure(summary, shown),
        header=("exactly these roles", "heads", *(("by chance [95\u00a0% range]",) if known else ())),
        rows=tuple(
            (
                _names_text(role_set, summary),
                str(role_set.heads),
                *((_expected(role_set),) if known else ()),
            )
            for role_set in summary.combinations
        ),
    )


def _drawn_sets(summary: Summary) -> list[Combination]:
    """Return sets without the roles of which they hold a part, most frequent first.

    Sets that become alike are one. They have no expected number: it is known of exact sets only.
    """
    names = [role.sieve for role in summary.roles]
    parts = {
        names.index(whole): {names.index(name) for name in own} for whole, own in parts_of(names).items()
    }
    sets: dict[tuple[int, ...], Combination] = {}
    for role_set in summary.combinations:
        roles = tuple(role for role in role_set.roles if not parts.get(role, set()) & set(role_set.roles))
        known = sets.get(roles)
        if known is not None:
            sets[roles] = Combination(roles, known.heads + role_set.heads)
        elif roles != role_set.roles:
            sets[roles] = Combination(roles, role_set.heads)
        else:
            sets[roles] = role_set
    return sorted(sets.values(), key=lambda role_set: (-role_set.heads, role_set.roles))


def _sets_figure(summary: Summary, drawn: Sequence[Combination]) -> Figure:
    """Draw the bars above the dots."""
    members = sorted({role for role_set in drawn for role in role_set.roles})
    height = BARS + 26 * max(len(members), 1) + 20
    figure = blank(height, bargap=0.35, margin={"l": 56, "r": 12, "t": 8, "b": 12})
    cut = 1 - BARS / height
    add_bar(
        figure, x=list(range(len(drawn))), y=[role_set.heads for role_set in drawn], marker={"color": SOFT},
        text=[str(role_set.heads) for role_set in drawn], textposition="outside", cliponaxis=False,
        textangle=0, textfont={"color": SOFT, "size": 11},
        hovertext=[_names(role_set, summary) for role_set in drawn],
        hovertemplate="%{hovertext}<br>heads: %{y}<extra></extra>",
    )  # fmt: skip
    _expected_strokes(figure, drawn)
    tallest = max((_reach(role_set) for role_set in drawn), default=1.0)
    whole: Mapping[str, Any] = {"dtick": 1} if tallest <= 5 else {}
    set_axis(figure, "yaxis", title="heads", range=[0, tallest * 1.18], domain=[cut + 0.02, 1], **whole)
    _dots(figure, summary, drawn, members)
    set_axis(figure, "yaxis2", domain=[0, cut], anchor="x")
    set_axis(
        figure, "xaxis", showticklabels=False, ticks="", showgrid=False, anchor="y2",
        range=[-0.6, max(len(drawn), 6) - 0.4],
    )  # fmt: skip
    return figure


def _expected(role_set: Combination) -> str:
    """Return the number of heads expected under permuted labels, with its range."""
    return with_range(count(role_set.expected), count(role_set.expected_low), count(role_set.expected_high))


def _reach(role_set: Combination) -> float:
    """Return the highest value drawn for a set."""
    return max(float(role_set.heads), 0.0 if math.isnan(role_set.expected_high) else role_set.expected_high)


def _all_expected(drawn: Sequence[Combination]) -> bool:
    """Return whether the number by chance is known of every set that is drawn."""
    return bool(drawn) and not any(math.isnan(role_set.expected) for role_set in drawn)


def _expected_strokes(figure: Figure, drawn: Sequence[Combination]) -> None:
    """Draw the expected number under permuted labels as a stroke over every bar, its range as a whisker."""
    if not _all_expected(drawn):
        return
    known = list(enumerate(drawn))
    add_scatter(
        figure, x=[place + SHIFT for place, _ in known], y=[role_set.expected for _, role_set in known],
        mode="markers", marker={"symbol": "line-ew-open", "size": 12, "color": ACCENT, "line": {"width": 2}},
        error_y=error_bars(
            [(role_set.expected, role_set.expected_low, role_set.expected_high) for _, role_set in known],
            color=ACCENT, thickness=1.2, width=0,
        ),
        hoverinfo="skip", name="by chance",
    )  # fmt: skip


def _names(role_set: Combination, summary: Summary) -> str:
    """Return the roles of a set as plotly shows them."""
    return " + ".join(plain(summary.roles[role].sieve) for role in role_set.roles)


def _names_text(role_set: Combination, summary: Summary) -> str:
    """Return the roles of a set as text."""
    return " + ".join(summary.roles[role].sieve for role in role_set.roles)


def _dots(figure: Figure, summary: Summary, drawn: Sequence[Combination], members: list[int]) -> None:
    """Draw the grid under the bars: faint dots everywhere, joined marks where a set has the role."""
    height = {role: len(members) - 1 - place for place, role in enumerate(members)}
    add_scatter(
        figure, x=[column for column in range(len(drawn)) for _ in members],
        y=[height[role] for _ in drawn for role in members],
        yaxis="y2", mode="markers", hoverinfo="skip", marker={"size": 9, "color": RULE},
    )  # fmt: skip
    ends = [[height[role] for role in role_set.roles] for role_set in drawn]
    joined = [(column, min(levels), max(levels)) for column, levels in enumerate(ends) if len(levels) > 1]
    add_scatter(
        figure, x=[place for column, *_ in joined for place in (column, column, None)],
        y=[level for _, low, high in joined for level in (low, high, None)],
        yaxis="y2", mode="lines", line={"color": FAINT, "width": 2}, hoverinfo="skip",
    )  # fmt: skip
    for number in members:
        role = summary.roles[number]
        columns = [column for column, role_set in enumerate(drawn) if number in role_set.roles]
        add_scatter(
            figure, x=columns, y=[height[number]] * len(columns), yaxis="y2", mode="markers",
            name=plain(role.sieve), hoverinfo="name",
            marker={"size": 11, "color": tone(role), "symbol": SYMBOLS[role.symbol]},
        )  # fmt: skip
    set_axis(
        figure, "yaxis2", tickmode="array", tickvals=[height[role] for role in members], showgrid=False,
        ticktext=[plain(summary.roles[role].sieve) for role in members],
        range=[-0.6, max(len(members), 1) - 0.4],
    )  # fmt: skip
