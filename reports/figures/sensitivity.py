"""Sensitivity: how many heads keep a role as the margin, or alpha, is moved."""

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from headroles.records.assessment import Moved
from headroles.reports.content import Role, Summary
from headroles.reports.figures.panel import ACCENT, SYMBOLS, Beside, Panel, blank, plain, tone
from headroles.reports.words.words import exact, isolate, listing


def sensitivity(summary: Summary) -> Panel | None:
    """Heads that keep each role at other margins and at other levels; None where none were tried."""
    moved = summary.assessment.moved if summary.assessment else ()
    numbers = {role.sieve: number for number, role in enumerate(summary.roles)}
    known = [each for each in moved if each.sieve in numbers]
    if not known:
        return None
    margins = sorted({_margin(summary, role) for role in summary.roles})
    by_margin = _curves(summary, known, "margin", margins)
    by_alpha = _curves(summary, known, "alpha", [summary.decision.alpha])
    by_alpha.update_xaxes(type="log", tickmode="array", tickvals=(tried := _tried(known, "alpha")))
    by_alpha.update_xaxes(tickangle=0, ticktext=[f"{value:g}" if _power(value) else "" for value in tried])
    used = listing([exact(margin) for margin in margins])
    return Panel(
        key="sensitivity",
        title="Sensitivity to margin and alpha",
        sentence=(
            "Number of heads that hold each role as one convention moves: the margin "
            f"(used: {used}), and the level alpha (used: {summary.decision.alpha:g})."
        ),
        caption=_caption(summary, known),
        figure=by_margin,
        header=("moved to", *(role.sieve for role in summary.roles)),
        rows=_rows(summary, known),
        legend=tuple(numbers[name] for name in dict.fromkeys(each.sieve for each in known)),
        beside=Beside(
            "sensitivity-alpha", "Number of heads that hold each role as the level alpha moves.", by_alpha
        ),
    )


def _margin(summary: Summary, role: Role) -> float:
    """The margin a role was tested with."""
    return float(summary.table.of("margin", role.position)[0])


def _tried(moved: Sequence[Moved], convention: str) -> list[float]:
    return sorted({each.value for each in moved if each.convention == convention})


def _power(value: float) -> bool:
    """Whether a level is a power of ten: those are named on the axis."""
    return f"{value:e}".startswith("1.000000e")


def _curves(summary: Summary, moved: Sequence[Moved], convention: str, used: Sequence[float]) -> go.Figure:
    figure = blank(340)
    most = max(max(each.heads for each in moved), 1)
    for number, role in enumerate(summary.roles):
        points = sorted(
            (each.value, each.heads)
            for each in moved
            if (each.sieve, each.convention) == (role.sieve, convention)
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


def _caption(summary: Summary, moved: Sequence[Moved]) -> str:
    parts = [
        "Margin and alpha are conventions: say so where a role hangs on their exact value. Contrasts keep "
        "their margins. Each point is a judgement with a correction of its own; the curves are no tests."
    ]
    at_used = {each.sieve: each.heads for each in moved if _is_used(summary, each)}
    other = [
        f"{isolate(role.sieve)} ({at_used[role.sieve]} against {role.tally.role})"
        for role in summary.roles
        if at_used.get(role.sieve, role.tally.role) != role.tally.role
    ]
    if other:
        parts.append(
            "At the margin used, the curve differs from the verdict, because it is drawn with another test "
            f"or correction (see the notes at the top): {listing(other)}."
        )
    return " ".join(parts)


def _is_used(summary: Summary, each: Moved) -> bool:
    margins = {role.sieve: _margin(summary, role) for role in summary.roles}
    return each.convention == "margin" and math.isclose(each.value, margins[each.sieve], abs_tol=1e-6)


def _rows(summary: Summary, moved: Sequence[Moved]) -> tuple[tuple[str, ...], ...]:
    """One row per value tried, one column per role; an en dash where a role was not tried there."""
    heads = {(each.convention, each.value, each.sieve): str(each.heads) for each in moved}
    margins = {_margin(summary, role) for role in summary.roles}
    rows = []
    for convention, used in (("margin", margins), ("alpha", {summary.decision.alpha})):
        for value in _tried(moved, convention):
            here = any(math.isclose(value, each, abs_tol=1e-6 * (convention == "margin")) for each in used)
            text = exact(value) if convention == "margin" else f"{value:g}"
            counts = (heads.get((convention, value, role.sieve), "–") for role in summary.roles)
            rows.append((f"{convention} {text}{' (used)' * here}", *counts))
    return tuple(rows)
