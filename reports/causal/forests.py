"""Forest plots of roles and damage: which heads, where they matter, and all heads of a role together."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from headroles.records.causal.ablation import CellTest, GroupTest, RoleTest, SiteTest
from headroles.records.findings import Labelling
from headroles.records.numbers import number, plural
from headroles.reports.causal.words import (
    ablation_of,
    arm_name,
    arm_of,
    axis_title,
    cell_rows,
    damage_text,
    role_title,
    rows_of,
    tone,
    unit_title,
)
from headroles.reports.figures.drawing import (
    FAINT,
    INK,
    SOFT,
    Figure,
    add_scatter,
    add_stroke,
    blank,
    error_bars,
    set_axis,
)
from headroles.reports.figures.panel import Panel, SecondPlot, plain

PREDICTION, SITES, CELLS, GROUPS = "prediction", "sites", "cells", "groups"
"""Keys of the figures, which name their files."""
MOST = 60
"""Labelled heads that a forest plot shows."""
STEP = 22
"""Height of a row in pixels."""


def forest(
    figure: Figure,
    rows: Sequence[tuple[float, float, float]],
    *,
    name: str,
    look: tuple[str, str],
    words: Sequence[str],
    shift: float = 0.0,
    size: int = 8,
) -> None:
    """Add dots with level intervals, the first row on top.

    Args:
        figure: Is changed.
        rows: Value and ends of every row; NaN for a row without a dot, and for ends that are not known.
        name: Of the trace.
        look: Symbol and colour.
        words: Name of every row on hover.
        shift: Height of the dots above the middle of their row.
        size: Of a dot in pixels.
    """
    known = [place for place, row in enumerate(rows) if not math.isnan(row[0])]
    if not known:
        return
    values: Float[np.ndarray, "rows 3"] = np.array([rows[place] for place in known], dtype=float)
    values[:, 1:] = np.where(np.isnan(values[:, 1:]), values[:, :1], values[:, 1:])
    add_scatter(
        figure, x=values[:, 0], y=np.array([len(rows) - 1 - place + shift for place in known], dtype=float),
        mode="markers", name=name, text=[words[place] for place in known], customdata=values[:, 1:],
        marker={"symbol": look[0], "color": look[1], "size": size, "line": {"color": look[1], "width": 1.5}},
        error_x=error_bars(values.tolist(), color=look[1], thickness=1.5, width=0),
        hovertemplate="%{text}<br>%{fullData.name}: %{x:.3~g} "
        "[%{customdata[0]:.3~g}, %{customdata[1]:.3~g}]<extra></extra>",
    )  # fmt: skip


def named_rows(figure: Figure, names: Sequence[str]) -> None:
    """Name the rows of a forest plot at its left, the first on top.

    Args:
        figure: Is changed.
        names: Of the rows.
    """
    figure["layout"]["height"] = 84 + STEP * max(len(names), 2)
    figure["layout"]["margin"] = {"l": 12, "r": 16, "t": 8, "b": 56}
    set_axis(
        figure, "yaxis", tickmode="array", tickvals=list(range(len(names))),
        ticktext=[plain(name) for name in reversed(names)], range=[-0.7, len(names) - 0.3], showgrid=False,
    )  # fmt: skip


def prediction_panel(labelling: Labelling) -> Panel | None:
    """Draw whether roles go with damage within layers, and the mean damage of the heads of each role."""
    ablated, arm = ablation_of(labelling), arm_of(labelling)
    rows = rows_of(ablated.roles, arm)
    if not rows:
        return None
    names = [role_title(row.role) for row in rows]
    figure = blank(300)
    ends = [(row.area, row.low, row.high) for row in rows]
    _decided(figure, rows, ends, ("more damage", "less damage"), names, symbol="circle")
    add_stroke(figure, 0.5, color=FAINT, width=1.5, dash="dot")
    set_axis(figure, "xaxis", title="area (0.5: no relation)", nticks=6, showline=True)
    named_rows(figure, names)
    beside = _mean_damages(labelling, rows)
    return Panel(
        key=PREDICTION,
        title="Roles and damage",
        sentence=(
            f"The chance that a head with the role does more damage than a head of its layer without it "
            f"({arm_name(rows[0].arm)})."
        ),
        caption=(
            "Left: orange for more damage, blue for less. Dotted: no relation. Right: mean damage of heads "
            "with the role, grey where negligible; line: the threshold. Bars: 95\u00a0% intervals over units."
        ),
        figure=figure,
        header=(
            "role",
            "heads",
            "needed",
            "negligible",
            "area [95\u00a0%]",
            "decision",
            "mean damage [95\u00a0%]",
        ),
        rows=tuple(_role_row(row) for row in rows),
        beside=SecondPlot(
            f"{PREDICTION}-damage", "Mean damage of the heads of each role, each taken out alone.", beside
        ),
    )


def _decided(
    figure: Figure,
    rows: Sequence[RoleTest | SiteTest | CellTest | GroupTest],
    ends: Sequence[tuple[float, float, float]],
    decisions: tuple[str, ...],
    names: Sequence[str],
    *,
    symbol: str = "diamond",
    shift: float = 0.0,
) -> None:
    """Add dots with intervals in the colours of decisions: one, its opposite, and undetermined."""
    colours = {word: tone(place) for word, place in zip(decisions, (1, 0), strict=False)}
    for word, colour in {**colours, "undetermined": tone(4)}.items():
        part = [_if(row.decision == word, values) for row, values in zip(rows, ends, strict=True)]
        words = [plain(name) for name in names]
        forest(figure, part, name=word, look=(symbol, colour), words=words, shift=shift)


def _labelled(
    figure: Figure,
    rows: Sequence[SiteTest | CellTest],
    ends: Sequence[tuple[float, float, float]],
    decisions: tuple[str, str],
    *,
    title: str,
    shift: float = 0.0,
) -> None:
    """Draw a row per labelled head, on both sides of 0."""
    names = [_name(row) for row in rows]
    _decided(figure, rows, ends, decisions, names, shift=shift)
    add_stroke(figure, 0.0, color=FAINT, width=1.5, dash="dot")
    set_axis(figure, "xaxis", title=title, nticks=6, showline=True)
    named_rows(figure, names)


def _name(row: SiteTest | CellTest) -> str:
    """Return the name of a labelled head in a figure."""
    return f"{role_title(row.role)} · {row.layer}-{row.head}"


def _if(wanted: bool, values: tuple[float, float, float]) -> tuple[float, float, float]:
    """Return values where they are wanted, else NaN."""
    return values if wanted else (math.nan,) * 3


def _role_row(row: RoleTest) -> tuple[str, ...]:
    """Return one role of the table behind the figure."""
    return (
        row.role, f"{row.heads:,}", f"{row.needed:,}", f"{row.negligible:,}",
        damage_text(row.area, row.low, row.high), row.decision,
        damage_text(row.damage, row.damage_low, row.damage_high),
    )  # fmt: skip


def _mean_damages(labelling: Labelling, rows: Sequence[RoleTest]) -> Figure:
    """Draw the mean damage of the heads of each role, with the threshold on both sides of 0."""
    figure, arm = blank(300), rows[0].arm
    words = [plain(role_title(row.role)) for row in rows]
    for word, symbol, colour in (("negligible", "circle", 7), ("undetermined", "square", 4)):
        part = [_if(row.no_damage == word, (row.damage, row.damage_low, row.damage_high)) for row in rows]
        forest(figure, part, name=word, look=(symbol, tone(colour)), words=words)
    threshold = float(ablation_of(labelling).damage.threshold[ablation_of(labelling).damage.of(arm)])
    add_stroke(figure, threshold, color=INK, width=1.5)
    if min(row.damage_low for row in rows) < 0:
        add_stroke(figure, -threshold, color=INK, width=1.5)
    set_axis(
        figure,
        "xaxis",
        title=f"mean {axis_title(labelling, arm)}",
        nticks=5,
        rangemode="tozero",
        showline=True,
    )
    named_rows(figure, [role_title(row.role) for row in rows])
    return figure


def sites_panel(labelling: Labelling) -> Panel | None:
    """Draw damage at the sites of roles beyond that at other tokens, and beyond that of controls."""
    rows = _tested(rows_of(ablation_of(labelling).sites, arm_of(labelling)))
    if not rows:
        return None
    shown = _clearest(rows)
    figure, ends = blank(300), [(row.mean, row.low, row.high) for row in shown]
    title = f"at sites − elsewhere{unit_title(labelling, rows[0].arm)}"
    _labelled(figure, shown, ends, ("at its sites", "elsewhere"), title=title, shift=0.16)
    beyond = [(row.difference, row.difference_low, row.difference_high) for row in shown]
    words, look = [plain(_name(row)) for row in shown], ("circle-open", SOFT)
    forest(figure, beyond, name="beyond controls", look=look, words=words, shift=-0.2, size=6)
    found = sum(row.decision == "at its sites" for row in rows)
    return Panel(
        key=SITES,
        title="Damage at the sites of a role",
        sentence=(
            f"Damage where the role applies (its sites) minus that at other tokens. It is larger at sites "
            f"for {found} of {plural(len(rows), 'labelled head')}."
        ),
        caption=(
            "Orange diamonds: larger at sites. Blue: smaller. Circles: the same minus that of heads of the "
            "layer without the role. Both must lie above 0. Bars: 95\u00a0% intervals."
            f"{_cut(len(shown), len(rows))}"
        ),
        figure=figure,
        header=(
            "head", "role", "at sites − elsewhere [95\u00a0%]", "beyond controls [95\u00a0%]", "decision"
        ),
        rows=tuple(
            (
                f"{row.layer}-{row.head}", row.role, damage_text(row.mean, row.low, row.high),
                damage_text(row.difference, row.difference_low, row.difference_high), row.decision,
            )
            for row in shown
        ),
    )  # fmt: skip


def _tested(rows: Sequence[Any]) -> list[Any]:
    """Return the rows that could be tested."""
    return [row for row in rows if row.decision != "untestable"]


def _clearest(rows: Sequence[Any]) -> list[Any]:
    """Return rows role by role, at most ``MOST`` of them: those of the smallest p."""
    order = sorted(range(len(rows)), key=lambda place: (math.isnan(rows[place].p), rows[place].p))
    return [rows[place] for place in sorted(order[:MOST])]


def _cut(shown: int, total: int) -> str:
    """Return that rows were left out; "" where none were."""
    return f" The {shown} of {total} heads with the smallest p are drawn." if shown < total else ""


def cells_panel(labelling: Labelling) -> Panel | None:
    """Draw the damage of removing the cells of a role beyond that of matched cells."""
    rows = _tested(cell_rows(ablation_of(labelling).cells, arm_of(labelling)))
    if not rows:
        return None
    shown: list[CellTest] = _clearest(rows)
    figure, ends = blank(300), [(row.difference, row.low, row.high) for row in shown]
    title = f"its cells − other cells{unit_title(labelling, f'{rows[0].outcome}:mean')}"
    _labelled(figure, shown, ends, ("its cells matter", "other cells matter more"), title=title)
    found = sum(row.decision == "its cells matter" for row in rows)
    return Panel(
        key=CELLS,
        title="Damage without the cells of a role",
        sentence=(
            f"Damage without the attention that the role counts (its cells), minus that without as much at "
            f"the same offsets elsewhere. It is larger for {found} of {plural(len(rows), 'labelled head')}."
        ),
        caption=(
            f"Orange: larger. Blue: smaller. Bars: 95\u00a0% intervals."
            f"{_cut(len(shown), len(rows))}"
        ),
        figure=figure,
        header=("head", "role", "its cells", "other cells", "difference [95\u00a0%]", "decision"),
        rows=tuple(
            (
                f"{row.layer}-{row.head}", row.role, number(row.cells), number(row.matched),
                damage_text(row.difference, row.low, row.high), row.decision,
            )
            for row in shown
        ),
    )  # fmt: skip


def groups_panel(labelling: Labelling) -> Panel | None:
    """Draw the damage of all heads of a role together over the range of random sets."""
    rows = rows_of(ablation_of(labelling).groups, arm_of(labelling))
    if not rows:
        return None
    figure = blank(300)
    names = [role_title(row.role) for row in rows]
    words = [plain(name) for name in names]
    _random_ranges(figure, rows, words)
    ends = [(row.damage, row.low, row.high) for row in rows]
    _decided(figure, rows, ends, ("more than random sets",), names)
    singles = [(row.singles, row.singles, row.singles) for row in rows]
    forest(figure, singles, name="sum of single heads", look=("x-thin-open", INK), words=words)
    set_axis(
        figure, "xaxis", title=axis_title(labelling, rows[0].arm), nticks=6, rangemode="tozero", showline=True
    )
    named_rows(figure, names)
    found = sum(row.decision == "more than random sets" for row in rows)
    return Panel(
        key=GROUPS,
        title="All heads of a role at once",
        sentence=(
            f"Damage of taking out all heads of a role together. It is more than that of random sets of "
            f"heads for {found} of {plural(len(rows), 'role')}."
        ),
        caption=(
            f"Grey: from the 2.5 to the 97.5\u00a0% point of {rows[0].sets} random sets, with as many heads "
            "in each layer and in each half of its norms. p is of damage beyond the line by norm. Stroke: "
            "their median. Cross: the damages of the heads alone, added up. Bars: 95\u00a0% intervals."
        ),
        figure=figure,
        header=("role", "heads", "damage [95\u00a0%]", "random sets", "sum of single heads", "decision"),
        rows=tuple(
            (
                row.role, f"{row.heads:,}", damage_text(row.damage, row.low, row.high),
                f"{number(row.random_low)} to {number(row.random_high)}", number(row.singles), row.decision,
            )
            for row in rows
        ),
    )  # fmt: skip


def _random_ranges(figure: Figure, rows: Sequence[GroupTest], words: Sequence[str]) -> None:
    """Add the range of random sets as a broad line in each row, and their median as a stroke."""
    x: list[float | None] = []
    y: list[float | None] = []
    middles = []
    for place, row in enumerate(rows):
        level = float(len(rows) - 1 - place)
        middles.append((row.random_middle, row.random_low, row.random_high))
        if not math.isnan(row.random_middle):
            x += [row.random_low, row.random_high, None]
            y += [level, level, None]
    add_scatter(
        figure, x=x, y=y, mode="lines", name="random sets", line={"color": FAINT, "width": 9}, opacity=0.45,
        hoverinfo="skip",
    )  # fmt: skip
    known = [place for place, middle in enumerate(middles) if not math.isnan(middle[0])]
    add_scatter(
        figure, x=[middles[place][0] for place in known], y=[float(len(rows) - 1 - place) for place in known],
        mode="markers", name="median of random sets",
        marker={"symbol": "line-ns-open", "size": 10, "color": SOFT, "line": {"width": 2}},
        text=[words[place] for place in known], customdata=np.array([middles[place][1:] for place in known]),
        hovertemplate="%{text}<br>random sets: %{x:.3~g} "
        "[%{customdata[0]:.3~g}, %{customdata[1]:.3~g}]<extra></extra>",
    )  # fmt: skip
