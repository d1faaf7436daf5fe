"""Sensitivity: how many heads keep a role as the margin, or alpha, is moved."""

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from headroles.records.assessment import SensitivityRow
from headroles.reports.figures.panel import ACCENT, SYMBOLS, Panel, SecondPlot, blank, plain, tone
from headroles.reports.records import Role, Summary
from headroles.reports.words.words import exact, isolate, join_names


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
    by_alpha.update_xaxes(
        type="log", tickmode="array", tickvals=(levels := _tried_values(moved_rows, "alpha"))
    )
    by_alpha.update_xaxes(
        tickangle=0, ticktext=[f"{value:g}" if _is_power_of_ten(value) else "" for value in levels]
    )
    used = join_names([exact(margin) for margin in margins])
    return Panel(
        key="sensitivity",
        title="Sensitivity to margin and alpha",
        sentence=(
            "Number of heads that hold each role as one convention moves: the margin "
            f"(used: {used}), and the level alpha (used: {summary.decision.alpha:g})."
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


def _tried_values(rows: Sequence[SensitivityRow], convention: str) -> list[float]:
    """Return the values of a convention that were tried, in order."""
    return sorted({row.value for row in rows if row.convention == convention})


def _is_power_of_ten(value: float) -> bool:
    """Return whether a level is a power of ten: those are named on the axis."""
    return f"{value:e}".startswith("1.000000e")


def _curves(
    summary: Summary, rows: Sequence[SensitivityRow], convention: str, used: Sequence[float]
) -> go.Figure:
    """Draw the number of heads with each role over the values of one convention."""
    figure = blank(340)
    most = max(max(row.heads for row in rows), 1)
    for number, role in enumerate(summary.roles):
        points = sorted(
            (row.value, row.heads) for row in rows if (row.sieve, row.convention) == (role.sieve, convention)
        )
        figure.add_scatter(
            x=[value for value, _ in points], y=[heads for _, heads in points],
            mode="lines+markers", name=plain(role.sieve), meta={"role": number},
            line={"color": tone(role), "width": 2},
            marker={"symbol": SYMBOLS[role.symbol], "size": 7, "color": tone(role)},
            hovertemplate=f"%{{fullData.name}}<br>{convention} %{{x}}, heads: %{{y}}<extra></extra>",
        )  # fmt: skip
    for value in used:
        figure.add_vline(x=value, line={"color": ACCENT, "width": 1, "dash": "dash"})
        figure.add_annotation(
            x=math.log10(value) if convention == "alpha" else value, y=1, yref="paper", yanchor="bottom",
            showarrow=False, text=f"used: {value:g}", font={"color": ACCENT, "size": 12},
        )  # fmt: skip
    figure.update_layout(margin={"l": 48, "r": 12, "t": 28, "b": 52})
    figure.update_xaxes(title_text=convention, showline=True)
    figure.update_yaxes(title_text="heads with the role", range=[0, most * 1.06])
    return figure


def _caption(summary: Summary, rows: Sequence[SensitivityRow]) -> str:
    """Return how to read the curves, and where they differ from the verdict."""
    parts = [
        "Margin and alpha are conventions: say so where a role hangs on their exact value. Contrasts keep "
        "their margins. Each point is a judgement with a correction of its own; the curves are no tests."
    ]
    at_used = {row.sieve: row.heads for row in rows if _is_used(summary, row)}
    differing = [
        f"{isolate(role.sieve)} ({at_used[role.sieve]} against {role.tally.role})"
        for role in summary.roles
        if at_used.get(role.sieve, role.tally.role) != role.tally.role
    ]
    if differing:
        parts.append(
            "At the margin used, the curve differs from the verdict, because it is drawn with another test "
            f"or correction (see the notes at the top): {join_names(differing)}."
        )
    return " ".join(parts)


def _is_used(summary: Summary, row: SensitivityRow) -> bool:
    """Return whether a row holds the margin that the run used."""
    margins = {role.sieve: _margin(summary, role) for role in summary.roles}
    return row.convention == "margin" and math.isclose(row.value, margins[row.sieve], abs_tol=1e-6)


def _rows(summary: Summary, tried: Sequence[SensitivityRow]) -> tuple[tuple[str, ...], ...]:
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
