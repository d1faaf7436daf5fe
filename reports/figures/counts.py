"""Figures that count heads: by layer and by role set."""

import math

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from headroles.reports.content import Combination, Summary
from headroles.reports.figures.panel import (
    ACCENT,
    FAINT,
    INK,
    RULE,
    SOFT,
    SYMBOLS,
    Panel,
    blank,
    dress,
    plain,
    tone,
)
from headroles.reports.words.words import count, plural, ranged

CLOSE = 20
"""Height of a row of the map in pixels."""
MOST = 20
"""Role sets drawn at most."""
ASIDE = 0.42
"""How far beside the middle of its bar the number is drawn that dealing gives."""
DEALT = (
    " Strokes in red: heads expected when the labels of every role are dealt at random within each layer, "
    "one role apart from another, with the range of 95 of 100 dealings. Roles that ask for a part of another "
    "(delimiter and delimiter:cls) meet more often than any dealing has it. A description: heads are not a "
    "sample, and nothing is tested here."
)


def layers(summary: Summary) -> Panel:
    """Heads with each role in each layer: a small chart per role, or one map where there are many."""
    roles, size = summary.roles, summary.table.layers
    tallest = max((max(role.layers, default=0) for role in roles), default=0)
    return Panel(
        key="layers",
        title="Roles by layer",
        sentence=f"Number of heads with each role in each of the {plural(size, 'layer')}, on one scale.",
        caption=f"The {'darkest cell' if summary.many else 'tallest bar'} is {plural(tallest, 'head')} of "
        f"{summary.table.heads} in a layer.",
        figure=_map(summary, tallest) if summary.many else _bars(summary, tallest),
        header=("role", *(f"layer {layer}" for layer in range(size))),
        rows=tuple((role.sieve, *map(str, role.layers)) for role in roles),
    )


def _map(summary: Summary, tallest: int) -> go.Figure:
    """Roles × layers as a map of counts, where a chart per role would not end."""
    roles, size = summary.roles, summary.table.layers
    figure = blank(80 + CLOSE * len(roles), margin={"l": 12, "r": 12, "t": 8, "b": 48})
    figure.add_heatmap(
        x=list(range(size)), y=list(range(len(roles))), z=[list(role.layers) for role in roles],
        zmin=0, zmax=max(tallest, 1), colorscale=[[0, "var(--panel)"], [1, "var(--tone-0)"]], xgap=2, ygap=2,
        showscale=False, text=[[str(held) if held else "" for held in role.layers] for role in roles],
        texttemplate="%{text}", textfont={"size": 11},
        customdata=[[plain(role.sieve)] * size for role in roles],
        hovertemplate="%{customdata}<br>layer %{x}, heads: %{z}<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(title_text="layer", showgrid=False, tickmode="linear", dtick=1 if size <= 16 else 4)
    figure.update_yaxes(
        autorange="reversed", tickmode="array", tickvals=list(range(len(roles))), showgrid=False,
        ticktext=[plain(role.sieve) for role in roles],
    )  # fmt: skip
    return figure


def _bars(summary: Summary, tallest: int) -> go.Figure:
    """One small chart per role."""
    roles, size = summary.roles, summary.table.layers
    step = 62
    figure = make_subplots(rows=max(len(roles), 1), cols=1, shared_xaxes=True, vertical_spacing=0)
    dress(figure, 60 + step * max(len(roles), 1))
    for row, role in enumerate(roles, start=1):
        figure.add_bar(
            x=list(range(size)), y=list(role.layers), row=row, col=1, name=plain(role.sieve),
            marker={"color": tone(role)},
            text=[str(held) if held and size <= 16 else "" for held in role.layers],
            textposition="outside", cliponaxis=False, textfont={"color": SOFT, "size": 11},
            hovertemplate="%{fullData.name}<br>layer %{x}, heads: %{y}<extra></extra>",
        )  # fmt: skip
        figure.add_annotation(
            x=0, xref="paper", xanchor="left", y=1, yref=f"y{row if row > 1 else ''} domain", yanchor="top",
            text=plain(role.sieve), showarrow=False, font={"size": 12, "color": INK},
        )  # fmt: skip
    figure.update_yaxes(range=[0, max(tallest, 1) * 1.8], visible=False)
    figure.update_xaxes(showgrid=False, showline=True, range=[-0.6, size - 0.4], ticks="")
    figure.update_xaxes(
        title_text="layer", row=max(len(roles), 1), col=1, tickmode="linear", dtick=1 if size <= 16 else 4
    )
    figure.update_layout(bargap=0.25, margin={"l": 12, "r": 12, "t": 8, "b": 48})
    return figure


def overlap(summary: Summary) -> Panel:
    """Exact role sets: a bar for the number of heads, dots for the roles in the set."""
    shown = summary.combinations[:MOST]
    members = sorted({role for each in shown for role in each.roles})
    grid = 26 * max(len(members), 1)
    height = 190 + grid + 20
    figure = make_subplots(
        rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.02, row_heights=[190 / height, 1 - 190 / height]
    )
    dress(figure, height)
    figure.add_bar(
        x=list(range(len(shown))), y=[each.heads for each in shown], row=1, col=1,
        marker={"color": SOFT}, text=[str(each.heads) for each in shown], textposition="outside",
        cliponaxis=False, textfont={"color": INK, "size": 12},
        customdata=[[_names(each, summary), _expected(each)] for each in shown],
        hovertemplate="%{customdata[0]}<br>heads: %{y}<br>dealt: %{customdata[1]}<extra></extra>",
    )  # fmt: skip
    told = any(not math.isnan(each.expected) for each in shown)
    _dots(figure, summary, shown, members)
    _dealt(figure, shown)
    _count_axis(figure, max((_reach(each) for each in shown), default=1.0))
    figure.update_xaxes(
        showticklabels=False, ticks="", showgrid=False, range=[-0.6, max(len(shown), 6) - 0.4]
    )
    figure.update_layout(bargap=0.35, margin={"l": 56, "r": 12, "t": 8, "b": 12})
    bare = int((~summary.held.any(axis=0)).sum())
    several = sum(each.heads for each in summary.combinations if len(each.roles) > 1)
    sets = plural(len(summary.combinations), "different set")
    limit = f" The {MOST} most frequent of {sets} are drawn." if len(summary.combinations) > MOST else ""
    return Panel(
        key="overlap",
        title="Roles together",
        sentence=(
            f"{plural(several, 'head')} of {summary.held[0].size} hold several roles; "
            f"each bar counts the heads that hold exactly the roles dotted below it"
            f"{', beside the number that dealing labels within layers gives' * told}."
        ),
        caption=f"{plural(bare, 'head')} without any role {'are' if bare != 1 else 'is'} not drawn.{limit}"
        + DEALT * told,
        figure=figure,
        header=(
            "exactly these roles",
            "heads",
            *(("dealt within layers [95\u00a0% range]",) if told else ()),
        ),
        rows=tuple(
            (_plain_names(each, summary), str(each.heads), *((_expected(each),) if told else ()))
            for each in summary.combinations
        ),
    )


def _expected(each: Combination) -> str:
    """Heads that dealing gives, with its range."""
    return ranged(count(each.expected), count(each.expected_low), count(each.expected_high))


def _reach(each: Combination) -> float:
    """The highest of what is drawn of a set."""
    return max(float(each.heads), 0.0 if math.isnan(each.expected_high) else each.expected_high)


def _dealt(figure: go.Figure, shown: tuple[Combination, ...]) -> None:
    """The number that dealing gives as a stroke over every bar, its range as a whisker."""
    known = [(place, each) for place, each in enumerate(shown) if not math.isnan(each.expected)]
    if not known:
        return
    figure.add_scatter(
        x=[place + ASIDE for place, _ in known], y=[each.expected for _, each in known], row=1, col=1,
        mode="markers", marker={"symbol": "line-ew-open", "size": 12, "color": ACCENT, "line": {"width": 2}},
        error_y={
            "type": "data", "symmetric": False, "color": ACCENT, "thickness": 1.2, "width": 0,
            "array": [each.expected_high - each.expected for _, each in known],
            "arrayminus": [each.expected - each.expected_low for _, each in known],
        },
        hoverinfo="skip", name="dealt",
    )  # fmt: skip


def _count_axis(figure: go.Figure, tallest: float) -> None:
    """Whole heads on the upper axis, with room for the numbers on the bars."""
    figure.update_yaxes(title_text="heads", range=[0, tallest * 1.18], row=1, col=1)
    if tallest <= 5:
        figure.update_yaxes(dtick=1, row=1, col=1)


def _names(each: Combination, summary: Summary) -> str:
    return " + ".join(plain(summary.roles[role].sieve) for role in each.roles)


def _plain_names(each: Combination, summary: Summary) -> str:
    return " + ".join(summary.roles[role].sieve for role in each.roles)


def _dots(figure: go.Figure, summary: Summary, shown: tuple[Combination, ...], members: list[int]) -> None:
    """The grid under the bars: faint dots everywhere, joined marks where a set has the role."""
    height = {role: len(members) - 1 - place for place, role in enumerate(members)}
    figure.add_scatter(
        x=[column for column in range(len(shown)) for _ in members],
        y=[height[role] for _ in shown for role in members],
        row=2, col=1, mode="markers", hoverinfo="skip", marker={"size": 9, "color": RULE},
    )  # fmt: skip
    for column, each in enumerate(shown):
        levels = [height[role] for role in each.roles]
        if len(levels) > 1:
            figure.add_scatter(
                x=[column, column], y=[min(levels), max(levels)], row=2, col=1, mode="lines",
                line={"color": FAINT, "width": 2}, hoverinfo="skip",
            )  # fmt: skip
    for number in members:
        role = summary.roles[number]
        columns = [column for column, each in enumerate(shown) if number in each.roles]
        figure.add_scatter(
            x=columns, y=[height[number]] * len(columns), row=2, col=1,
            mode="markers", name=plain(role.sieve),
            marker={"size": 11, "color": tone(role), "symbol": SYMBOLS[role.symbol]}, hoverinfo="name",
        )  # fmt: skip
    figure.update_yaxes(
        row=2, col=1, tickmode="array", tickvals=[height[role] for role in members], showgrid=False,
        ticktext=[plain(summary.roles[role].sieve) for role in members],
        range=[-0.6, max(len(members), 1) - 0.4],
    )  # fmt: skip
