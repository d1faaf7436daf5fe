"""Figures that count heads: by layer and by exact set of roles."""

import math

import plotly.graph_objects as go
from plotly.subplots import make_subplots

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
from headroles.reports.records import Combination, Summary
from headroles.reports.words.words import count, plural, with_range

CLOSE = 20
"""Height of a row of the map in pixels."""
MOST = 20
"""Role sets drawn at most."""
SHIFT = 0.42
"""Distance of the expected number's stroke from the middle of its bar."""
EXPECTED_CAPTION = (
    " Strokes in red: heads expected when the labels of every role are dealt at random within each layer, "
    "one role apart from another, with the range of 95 of 100 dealings. Roles that ask for a part of another "
    "(delimiter and delimiter:cls) meet more often than any dealing has it. A description: heads are not a "
    "sample, and nothing is tested here."
)


def layers(summary: Summary) -> Panel:
    """Draw heads with each role in each layer: a small chart per role, or one map where there are many."""
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
    """Draw roles × layers as a map of counts, where a chart per role would not end."""
    roles, size = summary.roles, summary.table.layers
    figure = blank(80 + CLOSE * len(roles), margin={"l": 12, "r": 12, "t": 8, "b": 48})
    figure.add_heatmap(
        x=list(range(size)), y=list(range(len(roles))), z=[list(role.layers) for role in roles],
        zmin=0, zmax=max(tallest, 1), colorscale=[[0, "var(--panel)"], [1, "var(--tone-0)"]], xgap=2, ygap=2,
        showscale=False, text=[[str(count) if count else "" for count in role.layers] for role in roles],
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
    """Draw one small chart per role."""
    roles, size = summary.roles, summary.table.layers
    step = 62
    figure = make_subplots(rows=max(len(roles), 1), cols=1, shared_xaxes=True, vertical_spacing=0)
    dress(figure, 60 + step * max(len(roles), 1))
    for row, role in enumerate(roles, start=1):
        figure.add_bar(
            x=list(range(size)), y=list(role.layers), row=row, col=1, name=plain(role.sieve),
            marker={"color": tone(role)},
            text=[str(count) if count and size <= 16 else "" for count in role.layers],
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
    """Draw exact role sets: a bar for the number of heads, dots for the roles in the set."""
    drawn = summary.combinations[:MOST]
    members = sorted({role for role_set in drawn for role in role_set.roles})
    grid = 26 * max(len(members), 1)
    height = 190 + grid + 20
    figure = make_subplots(
        rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.02, row_heights=[190 / height, 1 - 190 / height]
    )
    dress(figure, height)
    figure.add_bar(
        x=list(range(len(drawn))), y=[role_set.heads for role_set in drawn], row=1, col=1,
        marker={"color": SOFT}, text=[str(role_set.heads) for role_set in drawn], textposition="outside",
        cliponaxis=False, textfont={"color": INK, "size": 12},
        customdata=[[_names(role_set, summary), _expected(role_set)] for role_set in drawn],
        hovertemplate="%{customdata[0]}<br>heads: %{y}<br>dealt: %{customdata[1]}<extra></extra>",
    )  # fmt: skip
    expects = any(not math.isnan(role_set.expected) for role_set in drawn)
    _dots(figure, summary, drawn, members)
    _expected_strokes(figure, drawn)
    _count_axis(figure, max((_reach(role_set) for role_set in drawn), default=1.0))
    figure.update_xaxes(
        showticklabels=False, ticks="", showgrid=False, range=[-0.6, max(len(drawn), 6) - 0.4]
    )
    figure.update_layout(bargap=0.35, margin={"l": 56, "r": 12, "t": 8, "b": 12})
    bare = int((~summary.held.any(axis=0)).sum())
    multiple = sum(role_set.heads for role_set in summary.combinations if len(role_set.roles) > 1)
    sets = plural(len(summary.combinations), "different set")
    limit = f" The {MOST} most frequent of {sets} are drawn." if len(summary.combinations) > MOST else ""
    return Panel(
        key="overlap",
        title="Roles together",
        sentence=(
            f"{plural(multiple, 'head')} of {summary.held[0].size} hold several roles; "
            f"each bar counts the heads that hold exactly the roles dotted below it"
            f"{', beside the number that dealing labels within layers gives' * expects}."
        ),
        caption=f"{plural(bare, 'head')} without any role {'are' if bare != 1 else 'is'} not drawn.{limit}"
        + EXPECTED_CAPTION * expects,
        figure=figure,
        header=(
            "exactly these roles",
            "heads",
            *(("dealt within layers [95\u00a0% range]",) if expects else ()),
        ),
        rows=tuple(
            (
                _names_text(role_set, summary),
                str(role_set.heads),
                *((_expected(role_set),) if expects else ()),
            )
            for role_set in summary.combinations
        ),
    )


def _expected(role_set: Combination) -> str:
    """Return the number of heads expected under permuted labels, with its range."""
    return with_range(count(role_set.expected), count(role_set.expected_low), count(role_set.expected_high))


def _reach(role_set: Combination) -> float:
    """Return the highest value drawn for a set."""
    return max(float(role_set.heads), 0.0 if math.isnan(role_set.expected_high) else role_set.expected_high)


def _expected_strokes(figure: go.Figure, drawn: tuple[Combination, ...]) -> None:
    """Draw the expected number under permuted labels as a stroke over every bar, its range as a whisker."""
    known = [(place, role_set) for place, role_set in enumerate(drawn) if not math.isnan(role_set.expected)]
    if not known:
        return
    figure.add_scatter(
        x=[place + SHIFT for place, _ in known], y=[role_set.expected for _, role_set in known], row=1, col=1,
        mode="markers", marker={"symbol": "line-ew-open", "size": 12, "color": ACCENT, "line": {"width": 2}},
        error_y={
            "type": "data", "symmetric": False, "color": ACCENT, "thickness": 1.2, "width": 0,
            "array": [role_set.expected_high - role_set.expected for _, role_set in known],
            "arrayminus": [role_set.expected - role_set.expected_low for _, role_set in known],
        },
        hoverinfo="skip", name="dealt",
    )  # fmt: skip


def _count_axis(figure: go.Figure, tallest: float) -> None:
    """Put whole heads on the upper axis, with room for the numbers on the bars."""
    figure.update_yaxes(title_text="heads", range=[0, tallest * 1.18], row=1, col=1)
    if tallest <= 5:
        figure.update_yaxes(dtick=1, row=1, col=1)


def _names(role_set: Combination, summary: Summary) -> str:
    """Return the roles of a set as plotly shows them."""
    return " + ".join(plain(summary.roles[role].sieve) for role in role_set.roles)


def _names_text(role_set: Combination, summary: Summary) -> str:
    """Return the roles of a set as text."""
    return " + ".join(summary.roles[role].sieve for role in role_set.roles)


def _dots(figure: go.Figure, summary: Summary, drawn: tuple[Combination, ...], members: list[int]) -> None:
    """Draw the grid under the bars: faint dots everywhere, joined marks where a set has the role."""
    height = {role: len(members) - 1 - place for place, role in enumerate(members)}
    figure.add_scatter(
        x=[column for column in range(len(drawn)) for _ in members],
        y=[height[role] for _ in drawn for role in members],
        row=2, col=1, mode="markers", hoverinfo="skip", marker={"size": 9, "color": RULE},
    )  # fmt: skip
    for column, role_set in enumerate(drawn):
        levels = [height[role] for role in role_set.roles]
        if len(levels) > 1:
            figure.add_scatter(
                x=[column, column], y=[min(levels), max(levels)], row=2, col=1, mode="lines",
                line={"color": FAINT, "width": 2}, hoverinfo="skip",
            )  # fmt: skip
    for number in members:
        role = summary.roles[number]
        columns = [column for column, role_set in enumerate(drawn) if number in role_set.roles]
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
