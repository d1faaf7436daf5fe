"""The figure of evidence: the mean of every head, a row per role, with its contrast in the same row."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.numbers import exact, number
from headroles.records.roles import CONTROLS, VALUES, control_of, phrase_of
from headroles.reports.figures.drawing import (
    FAINT,
    INK,
    SYMBOLS,
    Figure,
    add_note,
    add_scatter,
    add_shape,
    blank,
    set_axis,
)
from headroles.reports.figures.panel import Panel, plain, tone
from headroles.reports.records import Role, Summary, Table

STATES = (("role", ""), ("no role", "-open"))
CLOSE = 20
"""Height of a row in pixels where there are many."""
STEP = 46
"""Height of a row in pixels where there are few."""
STRONGEST = 3
"""Heads of a row whose intervals are drawn."""
SPLIT = (0.58, 0.64)
"""End of the score's part of the width, and beginning of the contrast's."""
TOP = 0.37
"""Height of a role's name above the middle of its row."""


def marks(
    figure: Figure,
    table: Table,
    role: Role,
    index: int,
    *,
    points: tuple[Float[np.ndarray, " heads"], Float[np.ndarray, " heads"], Bool[np.ndarray, " heads"]],
    position: int,
    size: int = 6,
    axis: str = "x",
    more: str = "",
) -> None:
    """Add one sieve's heads as two traces: those that hold the role and those that do not.

    A mark bears the number of its head. The page looks up the head's numbers in the one copy of all
    findings that it embeds.

    Args:
        figure: Where they are drawn.
        table: Every finding.
        role: Role whose colour and symbol they bear, and whose decision fills them.
        index: Its number on the page.
        points: Place of every head on either axis, layer-major, and which heads are drawn.
        position: Whose scores are shown on hover: the role's, or those of its contrast.
        size: Of a mark, in pixels.
        axis: The horizontal axis.
        more: A further line of the hover text.
    """
    x, y, shown = points
    cells = np.arange(x.size, dtype=np.uint32)
    holds = table.decided(role.position) == 0
    for (state, suffix), chosen in zip(STATES, (shown & holds, shown & ~holds), strict=True):
        add_scatter(
            figure,
            x=x[chosen].astype(np.float32),
            y=y[chosen].astype(np.float32),
            xaxis=axis,
            customdata=cells[chosen],
            mode="markers",
            name=plain(table.sieves[position]),
            meta={"role": index, "sieve": position},
            marker={"symbol": SYMBOLS[role.symbol] + suffix, "color": tone(role), "size": size},
            opacity=0.85,
            hovertemplate=(
                f"%{{fullData.name}}: {state}<br>layer %{{customdata[0]}} head %{{customdata[1]}}<br>"
                "mean %{customdata[2]:.3f} [%{customdata[3]:.3f}, %{customdata[4]:.3f}]"
                + f"{more}<extra></extra>"
            ),
        )


def spread(size: int) -> Float[np.ndarray, " heads"]:
    """Return fixed heights within ±0.28 that keep neighbouring heads apart (golden-ratio steps).

    Example:
        >>> spread(3).round(2).tolist()
        [-0.28, 0.07, -0.15]
    """
    steps: np.ndarray = ((np.arange(size) * 0.6180339887498949) % 1 - 0.5) * 0.56
    return steps


def means(summary: Summary) -> Panel:
    """Draw the means, one row per role: score on the left, contrast on the right, threshold and chance.

    Args:
        summary: What the page may say.

    Returns:
        The figure; behind it, per role and contrast, chance, threshold and quantiles of the means.
    """
    size = len(summary.roles)
    split = any(role.contrast for role in summary.roles)
    figure = blank(84 + (CLOSE if summary.many else STEP) * max(size, 1))
    rows = []
    for place, role in enumerate(summary.roles):
        level = float(size - 1 - place)
        for name, axis, threshold in _parts(role):
            position = summary.table.sieves.index(name)
            chance, shown = _row(summary, figure, (place, level), (position, axis, threshold))
            rows.append((name, number(chance), exact(threshold), *_quantiles(shown)))
    _axes(figure, summary, split)
    return Panel(
        key="means",
        title="Means and thresholds",
        sentence=(
            f"Mean score of every head, a row per role{', its contrast on the right' * split}. "
            "A role lies beyond the solid stroke, the threshold."
        ),
        caption=(
            "Filled: the head holds the role. Dotted stroke: by chance. "
            f"Lines: 95\u00a0% intervals of the {STRONGEST} strongest heads. "
            "Height within a row has no meaning."
        ),
        figure=figure,
        header=(
            "mean of",
            "by chance",
            "threshold",
            "lowest",
            "quarter",
            "middle",
            "three quarters",
            "highest",
        ),
        rows=tuple(rows),
        legend=tuple(range(size)),
    )


def _parts(role: Role) -> list[tuple[str, str, float]]:
    """Return name, axis and threshold of a role's score and of its contrast."""
    score = (role.sieve, "x", role.threshold)
    return [score, (role.contrast, "x2", role.contrast_threshold)] if role.contrast else [score]


def _row(
    summary: Summary, figure: Figure, place: tuple[int, float], part: tuple[int, str, float]
) -> tuple[float, Float[np.ndarray, " shown"]]:
    """Draw the heads of one row in one half, with its strokes; return chance and the means drawn."""
    (index, level), (position, axis, threshold) = place, part
    role, table = summary.roles[index], summary.table
    mean, null = (table.of(column, position) for column in ("mean", "null"))
    shown = ~(np.isnan(mean) | np.isnan(table.of("q", position)))
    heights = level + (spread(mean.size) if summary.many else 0.85 * spread(mean.size) - 0.13)
    _intervals(figure, summary, index, (position, axis, heights))
    points = (mean, heights, shown)
    marks(figure, table, role, index, points=points, position=position, axis=axis)
    chance = math.nan if np.isnan(null).all() else float(np.nanmean(null))
    _stroke(figure, axis, chance, level, {"color": FAINT, "width": 2, "dash": "dot"})
    _stroke(figure, axis, threshold, level, {"color": INK, "width": 2})
    return chance, mean[shown]


def _intervals(
    figure: Figure, summary: Summary, index: int, part: tuple[int, str, Float[np.ndarray, " heads"]]
) -> None:
    """Draw the intervals of the means of a role's strongest heads."""
    role, table = summary.roles[index], summary.table
    position, axis, heights = part
    ends = ("mean_low", "mean_high") if "mean_low" in table.columns else ("low", "high")
    low, high = (table.of(name, position) for name in ends)
    strength = np.where(table.decided(role.position) == 0, table.of("mean", role.position), -np.inf)
    best = [head for head in np.argsort(-strength, kind="stable")[:STRONGEST] if strength[head] > -np.inf]
    known = [head for head in best if not math.isnan(low[head] + high[head])]
    if known:
        add_scatter(
            figure,
            x=[value for head in known for value in (float(low[head]), float(high[head]), None)],
            y=[value for head in known for value in (float(heights[head]), float(heights[head]), None)],
            xaxis=axis, mode="lines", line={"color": tone(role), "width": 1.5}, hoverinfo="skip",
            meta={"role": index}, name="intervals",
        )  # fmt: skip


def _stroke(figure: Figure, axis: str, value: float, level: float, line: dict[str, object]) -> None:
    """Draw an upright stroke in a row; nothing for NaN."""
    if not math.isnan(value):
        ends = {"x0": value, "x1": value, "y0": level - 0.44, "y1": level + 0.24}
        add_shape(figure, type="line", xref=axis, yref="y", line=line, **ends)


def _axes(figure: Figure, summary: Summary, split: bool) -> None:
    """Draw both horizontal axes, and name the rows: above their marks, where there are many at the side."""
    size = len(summary.roles)
    set_axis(
        figure, "xaxis", title=f"mean {plain(summary.account.statistic)}", showline=True, nticks=6,
        domain=[0, SPLIT[0] if split else 1],
    )  # fmt: skip
    if split:
        title = _contrast_title(summary.roles)
        set_axis(figure, "xaxis2", title=title, showline=True, nticks=4, domain=[SPLIT[1], 1], anchor="y")
    names = [plain(role.sieve) for role in summary.roles]
    rows: dict[str, Any] = {"range": [-0.6, max(size, 1) - 0.4], "showgrid": False}
    if summary.many:
        levels = list(range(size))
        set_axis(figure, "yaxis", tickmode="array", tickvals=levels, ticktext=names[::-1], **rows)
        return
    figure["layout"]["margin"] = {"l": 12, "r": 12, "t": 8, "b": 60}
    set_axis(figure, "yaxis", showticklabels=False, ticks="", **rows)
    for place, (role, name) in enumerate(zip(summary.roles, names, strict=True)):
        title = plain(phrase_of(role.sieve).title)
        add_note(
            figure, name if title == name else f"{title} ({name})", color=INK, x=0, xref="paper",
            xanchor="left", y=size - 1 - place + TOP, yref="y", yanchor="middle",
        )  # fmt: skip


def _contrast_title(roles: Sequence[Role]) -> str:
    """Return what the contrasts of a run control for, in words, a line each."""
    parts = (control_of(role.contrast).split(" or ") for role in roles if role.contrast)
    controls = sorted({control for each in parts for control in each} - {""})
    if controls == [CONTROLS[VALUES]]:
        return "minus the score by norm"
    return f"beyond {'<br>or '.join(controls)}" if controls else "contrast"


def _quantiles(mean: Float[np.ndarray, " shown"]) -> tuple[str, ...]:
    """Return minimum, quartiles and maximum as text."""
    cuts = np.quantile(mean, [0, 0.25, 0.5, 0.75, 1]) if mean.size else np.full(5, np.nan)
    return tuple(number(float(value)) for value in cuts)
