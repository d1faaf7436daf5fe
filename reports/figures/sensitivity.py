"""Sensitivity: how many heads keep a role as the margin, or alpha, is moved."""

import math
from collections.abc import Sequence

from headroles.records.numbers import exact, isolate, join_names
from headroles.records.table import Row
from headroles.reports.figures.drawing import (
    ACCENT,
    SYMBOLS,
    Figure,
    add_note,
    add_scatter,
    add_stroke,
    blank,
    set_axis,
)
from headroles.reports.figures.panel import Panel, SecondPlot, plain, tone
from headroles.reports.records import Role, Summary


def sensitivity(summary: Summary) -> Panel | None:
    """Draw the heads that keep each role at other margins and levels; None where none were tried."""
    all_rows = summary.assessment.moved if summary.assessment else ()
    numbers = {role.sieve: number for number, role in enumerate(summary.roles)}
    moved_rows = [row for row in all_rows if row.sieve in numbers]
    if not moved_rows:
        return None
    margins = sorted({_margin(summary, role) for role in summary.roles})
    by_margin = _curves(summary, moved_rows, "margin", margins)
    by_alpha = _curves(summary, moved_rows, "alpha", [summary.decision.alpha])
    levels = _tried_values(moved_rows, "alpha")
    names = [f"{value:g}" if _is_power_of_ten(value) else "" for value in levels]
    set_axis(by_alpha, "xaxis", type="log", tickmode="array", tickvals=levels, ticktext=names, tickangle=0)
    used = join_names([exact(margin) for margin in margins])
    return Panel(
        key="sensitivity",
        title="Sensitivity to margin and alpha",
        sentence=(
            f"Heads with each role at other margins (used: {used}) and other levels "
            f"(used: {summary.decision.alpha:g})."
        ),
        caption=_caption(summary, moved_rows),
        figure=by_margin,
        header=("moved to", *(role.sieve for role in summary.roles)),
        rows=_rows(summary, moved_rows),
        legend=tuple(numbers[name] for name in dict.fromkeys(row.sieve for row in moved_rows)),
        beside=SecondPlot(
            "sensitivity-alpha", "Number of heads that hold each role as the level alpha moves.", by_alpha
        ),
    )


def _margin(summary: Summary, role: Role) -> float:
    """Return the margin that a role was tested with."""
    return float(summary.table.of("margin", role.position)[0])


def _tried_values(rows: Sequence[Row], convention: str) -> list[float]:
    """Return the values of a convention that were tried, in order."""
    return sorted({row.value for row in rows if row.convention == convention})


def _is_power_of_ten(value: float) -> bool:
    """Return whether a level is a power of ten: those are named on the axis."""
    return f"{value:e}".startswith("1.000000e")


def _curves(summary: Summary, rows: Sequence[Row], convention: str, used: Sequence[float]) -> Figure:
    """Draw the number of heads with each role over the values of one convention."""
    figure = blank(300, margin={"l": 48, "r": 12, "t": 28, "b": 52})
    most = max(max(row.heads for row in rows), 1)
    for number, role in enumerate(summary.roles):
        points = sorted(
            (row.value, row.heads) for row in rows if (row.sieve, row.convention) == (role.sieve, convention)
        )
        add_scatter(
            figure, x=[value for value, _ in points], y=[heads for _, heads in points],
            mode="lines+markers", name=plain(role.sieve), meta={"role": number},
            line={"color": tone(role), "width": 2},
            marker={"symbol": SYMBOLS[role.symbol], "size": 7, "color": tone(role)},
            hovertemplate=f"%{{fullData.name}}<br>{convention} %{{x}}, heads: %{{y}}<extra></extra>",
        )  # fmt: skip
    for value in used:
        add_stroke(figure, value, color=ACCENT, width=1, dash="dash")
        place = math.log10(value) if convention == "alpha" else value
        add_note(figure, f"used: {value:g}", color=ACCENT, x=place, y=1, yref="paper", yanchor="bottom")
    set_axis(figure, "xaxis", title=convention, showline=True)
    set_axis(figure, "yaxis", title="heads with the role", range=[0, most * 1.06])
    return figure


def _caption(summary: Summary, rows: Sequence[Row]) -> str:
    """Return how to read the curves, and where they differ from the verdict."""
    parts = [
        "Margin and alpha are conventions. Contrasts keep their margins. Each point is decided with a "
        "correction of its own."
    ]
    margins = {role.sieve: _margin(summary, role) for role in summary.roles}
    at_used = {
        row.sieve: row.heads
        for row in rows
        if row.convention == "margin" and math.isclose(row.value, margins[row.sieve], abs_tol=1e-6)
    }
    differing = [
        f"{isolate(role.sieve)} ({at_used[role.sieve]} against {role.tally.role})"
        for role in summary.roles
        if at_used.get(role.sieve, role.tally.role) != role.tally.role
    ]
    if differing:
        parts.append(
            "The curve is drawn with another test or correction, so it differs from the verdict at the "
            f"margin used: {join_names(differing)}."
        )
    return " ".join(parts)


def _rows(summary: Summary, tried: Sequence[Row]) -> tuple[tuple[str, ...], ...]:
    """Return one row per value tried, one column per role; an en dash where a role was not tried there."""
    heads = {(row.convention, row.value, row.sieve): str(row.heads) for row in tried}
    margins = {_margin(summary, role) for role in summary.roles}
    rows = []
    for convention, used in (("margin", margins), ("alpha", {summary.decision.alpha})):
        for value in _tried_values(tried, convention):
            is_used = any(
                math.isclose(value, level, abs_tol=1e-6 * (convention == "margin")) for level in used
            )
            text = exact(value) if convention == "margin" else f"{value:g}"
            counts = (heads.get((convention, value, role.sieve), "–") for role in summary.roles)
            rows.append((f"{convention} {text}{' (used)' * is_used}", *counts))
    return tuple(rows)
