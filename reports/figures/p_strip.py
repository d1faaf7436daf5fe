"""The strip of p values: every head of every role on one logarithmic axis."""

import math

import numpy as np
from jaxtyping import Float

from headroles.records.assessment import NEAR, count_extreme_p
from headroles.records.numbers import p_text, plural
from headroles.records.rules.rule import Decision
from headroles.reports.figures.drawing import (
    ACCENT,
    INK,
    Figure,
    add_note,
    add_shape,
    add_stroke,
    blank,
    set_axis,
)
from headroles.reports.figures.means import CLOSE, marks, spread
from headroles.reports.figures.panel import Panel, plain
from headroles.reports.records import Role, Summary
from headroles.reports.words.several import extremes_sentence, percent

STEP = 34
"""Height of a row in pixels where there are few."""
SMALLEST = 1e-16
"""Smaller p values are drawn at this one."""
EDGES = (0.0, 0.25, 0.5, 0.75, 1.0)


def p_strip(summary: Summary) -> Panel:
    """Draw every head's p before correction, one row per role, with the level and the correction's cut.

    Args:
        summary: What the page may say.

    Returns:
        The figure; behind it, per role, how many heads reach the level with and without correction and
        the quantiles of p.
    """
    roles, decision = summary.roles, summary.decision
    step = CLOSE if summary.many else STEP
    figure = blank(100 + step * max(len(roles), 1))
    rows, capped = [], 0
    known = np.concatenate([summary.table.of("p", role.position) for role in roles] or [np.empty(0)])
    for place, role in enumerate(roles):
        level = float(len(roles) - 1 - place)
        p = summary.table.of("p", role.position)
        shown = ~np.isnan(p)
        capped += int((p[shown] < SMALLEST).sum())
        strength = -np.log10(np.maximum(p, SMALLEST))
        points = (strength, level + spread(p.size), shown)
        hover = "<br>p %{customdata[5]}"
        marks(figure, summary.table, role, place, points=points, position=role.position, more=hover)
        largest = _largest_p(summary, role, p)
        _stroke(figure, largest, level)
        rows.append(_row(summary, role, p[shown], largest))
    _axes(figure, summary)
    return Panel(
        key="p-values",
        title="p values",
        sentence=f"{_sentence(summary)} {extremes_sentence(count_extreme_p(known))}".strip(),
        caption=_caption(summary, capped),
        figure=figure,
        header=(
            "p of", "heads tested", f"p ≤ {decision.alpha:g}", "roles", _header(decision),
            "smallest", "quarter", "middle", "three quarters", "largest", f"near 0 or 1 ({NEAR:g})",
        ),
        rows=tuple(rows),
        legend=tuple(range(len(roles))),
    )  # fmt: skip


def _largest_p(summary: Summary, role: Role, p: Float[np.ndarray, " heads"]) -> float:
    """Return the largest p of a head that the correction leaves as a role; NaN where none is one."""
    held = p[summary.table.decided(role.position) == 0]
    return float(held.max()) if held.size else math.nan


def _header(decision: Decision) -> str:
    """Return the column name of the largest p of a role."""
    return "largest p of a role" if decision.correction == "none" else "largest p left by the correction"


def _stroke(figure: Figure, largest: float, level: float) -> None:
    """Draw the largest p of a role as an upright stroke; nothing for NaN."""
    if not math.isnan(largest):
        x = -math.log10(max(largest, SMALLEST))
        line = {"color": INK, "width": 2}
        add_shape(figure, type="line", x0=x, x1=x, y0=level - 0.42, y1=level + 0.42, line=line)


def _row(summary: Summary, role: Role, p: Float[np.ndarray, " tested"], largest: float) -> tuple[str, ...]:
    """Return counts and quantiles of one role as text."""
    ends = np.quantile(p, EDGES).tolist() if p.size else [math.nan] * len(EDGES)
    counts = (p.size, int((p <= summary.decision.alpha).sum()), role.tally.role)
    near = count_extreme_p(p)
    part = f"{near.near} ({percent(near.share)})" if near.tests else "–"
    return (role.sieve, *map(str, counts), *(exponent(value) for value in (largest, *ends)), part)


def exponent(p: float) -> str:
    """Return a p value with its order of magnitude.

    Example:
        >>> exponent(0.0123), exponent(3.21e-9), exponent(float("nan")), exponent(0.0)
        ('0.012', '3.2e-09', '–', '<1e-16')
    """
    if p == 0:
        return f"<{SMALLEST:g}"
    return f"{p:.1e}" if p < 0.001 else p_text(p)


def _axes(figure: Figure, summary: Summary) -> None:
    """Draw both axes and the line at the level."""
    roles, alpha = summary.roles, summary.decision.alpha
    level = -math.log10(alpha)
    add_stroke(figure, level, color=ACCENT, width=1, dash="dash")
    add_note(figure, f"p = {alpha:g}", color=ACCENT, x=level, y=1, yref="paper", yanchor="bottom")
    ticks = list(range(0, round(-math.log10(SMALLEST)) + 1, 2))
    set_axis(
        figure, "xaxis", title="p, smaller to the right", showline=True, tickmode="array", tickvals=ticks,
        ticktext=["1", *(f"10<sup>−{tick}</sup>" for tick in ticks[1:])], range=[-0.3, ticks[-1] + 0.4],
    )  # fmt: skip
    set_axis(
        figure, "yaxis", tickmode="array", tickvals=list(range(len(roles))), showgrid=False,
        ticktext=[plain(role.sieve) for role in reversed(roles)], range=[-0.6, max(len(roles), 1) - 0.4],
    )  # fmt: skip
    figure["layout"]["margin"] = {"l": 56, "r": 16, "t": 28, "b": 52}


def _sentence(summary: Summary) -> str:
    """Return the content of the figure in one sentence."""
    tests = sum(role.tally.tests for role in summary.roles)
    held = sum(role.tally.role for role in summary.roles)
    return (
        f"p of {plural(tests, 'test')}, one row per role and one mark per head, on a logarithmic axis; "
        f"{held:,} of them are roles, filled."
    )


def _caption(summary: Summary, capped: int) -> str:
    """Return how to read the figure."""
    decision, parts = summary.decision, []
    if decision.correction == "none":
        parts.append("Dashed: the level; nothing corrects it here. Solid: the largest p of a role.")
    else:
        parts.append(
            "Dashed: the level before correction. Solid: the largest p that the correction leaves as a role "
            f"({decision.correction}). Between the two: significant before correction only."
        )
    if decision.family == "layer" and decision.correction != "none":
        parts.append("Each layer is corrected by itself, so some heads beyond the solid stroke hold no role.")
    if any(role.contrast for role in summary.roles):
        parts.append("With a contrast, p is the larger of the two tests.")
    if capped:
        verb = "is" if capped == 1 else "are"
        parts.append(f"{plural(capped, 'value')} of p below {SMALLEST:g} {verb} drawn at {SMALLEST:g}.")
    return " ".join(parts)
