"""Figures with one mark per head:

evidence against effect, and the means with their θ. Marks are filled where a head holds the role, hollow
where it does not.
"""

import math

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from headroles.reports.figures.panel import ACCENT, FAINT, INK, SOFT, SYMBOLS, Panel, blank, plain, tone
from headroles.reports.records import Role, Summary, Table
from headroles.reports.words.words import exact, number, plural

STATES = (("role", ""), ("no role", "-open"))


def marks(
    figure: go.Figure,
    table: Table,
    role: Role,
    index: int,
    *,
    points: tuple[Float[np.ndarray, " heads"], Float[np.ndarray, " heads"], Bool[np.ndarray, " heads"]],
    position: int,
    size: int = 8,
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
    """
    x, y, shown = points
    cells = np.arange(x.size, dtype=np.uint32)
    holds = table.decided(role.position) == 0
    for (state, suffix), chosen in zip(STATES, (shown & holds, shown & ~holds), strict=True):
        figure.add_scatter(
            x=x[chosen].astype(np.float32),
            y=y[chosen].astype(np.float32),
            customdata=cells[chosen],
            mode="markers",
            name=plain(table.sieves[position]),
            meta={"role": index, "sieve": position},
            marker={"symbol": SYMBOLS[role.symbol] + suffix, "color": tone(role), "size": size},
            opacity=0.85,
            hovertemplate=(
                f"%{{fullData.name}}: {state}<br>layer %{{customdata[0]}} head %{{customdata[1]}}<br>"
                "mean %{customdata[2]:.3f} [%{customdata[3]:.3f}, %{customdata[4]:.3f}]<br>"
                "effect %{customdata[5]:.3f}, p %{customdata[6]:.2e}, q %{customdata[7]:.2e}<extra></extra>"
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


SMALLEST = 1e-16
"""Smaller q values are drawn at this one."""
FARTHEST = 6.0
"""Effects farther from 0 (heads with hardly any spread) are drawn here."""
CLOSE = 20
"""Height of a row of the means in pixels where there are many."""


def evidence(summary: Summary) -> Panel:
    """Draw effect against −log10 q, one mark per head and role."""
    figure = blank(440)
    rows, counts = [], np.zeros(3, dtype=np.int64)
    for index, role in enumerate(summary.roles):
        effect, q = (summary.table.of(name, role.position) for name in ("effect", "q"))
        shown = ~(np.isnan(effect) | np.isnan(q))
        tiny, distant = shown & (q < SMALLEST), shown & (np.abs(effect) > FARTHEST)
        left_out = np.array([(~shown).sum(), tiny.sum(), distant.sum()])
        counts += left_out
        rows.append((role.sieve, str(int(shown.sum())), *map(str, left_out.tolist())))
        points = (effect.clip(-FARTHEST, FARTHEST), -np.log10(np.maximum(q, SMALLEST)), shown)
        marks(figure, summary.table, role, index, points=points, position=role.position)
    name = "p" if summary.decision.correction == "none" else "q"
    _guides(figure, summary.decision.alpha, name)
    drawn = sum(int(row[1]) for row in rows)
    return Panel(
        key="evidence",
        title="Evidence",
        sentence=(
            f"Effect of {plural(drawn, 'head × role pair')} against the strength of the evidence; "
            "marks above the dashed line are roles."
        ),
        caption=_evidence_caption(summary, name, *counts.tolist()),
        figure=figure,
        header=("role", "heads drawn", "left out", f"drawn at {name} = {SMALLEST:g}", "drawn at the edge"),
        rows=tuple(rows),
        legend=tuple(range(len(summary.roles))),
    )


def _guides(figure: go.Figure, alpha: float, name: str) -> None:
    """Draw axis titles, and the lines at θ and at alpha."""
    level = -math.log10(alpha)
    figure.add_vline(x=0, line={"color": FAINT, "width": 1})
    figure.add_hline(y=level, line={"color": ACCENT, "width": 1, "dash": "dash"})
    figure.add_annotation(
        x=1, xref="paper", xanchor="right", y=level, yanchor="bottom", showarrow=False,
        text=f"{name} = {alpha:g}", font={"color": ACCENT, "size": 12},
    )  # fmt: skip
    figure.add_annotation(
        x=0, y=1, yref="paper", yanchor="bottom", showarrow=False, text="mean = θ",
        font={"color": SOFT, "size": 12},
    )  # fmt: skip
    figure.update_layout(margin={"l": 56, "r": 16, "t": 28, "b": 52})
    figure.update_xaxes(title_text="effect: (mean − θ) / standard deviation", showline=True)
    figure.update_yaxes(title_text=f"−log<sub>10</sub> {name}", rangemode="tozero")


def _evidence_caption(summary: Summary, name: str, missing: int, capped: int, far: int) -> str:
    """Return how to read the figure of evidence, and what it leaves out."""
    parts = ["Effect 0 is θ, the margin included: chance lies to the left of it. Filled marks hold the role."]
    if any(role.contrast for role in summary.roles):
        parts.append(
            f"Where a contrast is asked for, the effect is that of the score and {name} belongs to the joint "
            "decision, so a large effect alone may stay low."
        )
    if capped:
        many = capped != 1
        parts.append(
            f"{plural(capped, 'value')} of {name} below {SMALLEST:g} (0 included) "
            f"{'are' if many else 'is'} drawn at {SMALLEST:g}."
        )
    if far:
        parts.append(
            f"{plural(far, 'effect')} beyond ±{FARTHEST:g} {'are' if far != 1 else 'is'} drawn there."
        )
    if missing:
        parts.append(
            f"{plural(missing, 'pair')} without an effect or {name} (untestable, or scores without spread) "
            f"{'are' if missing != 1 else 'is'} left out."
        )
    return " ".join(parts)


def means(summary: Summary) -> Panel:
    """Draw the means, one row per role and contrast, with chance and θ of each."""
    lines = _lines(summary)
    count, step = len(lines), CLOSE if summary.many else 42
    figure = blank(90 + step * max(count, 1))
    rows = []
    for place, (name, index, position, threshold) in enumerate(lines):
        level = float(count - 1 - place)
        mean, null = (summary.table.of(column, position) for column in ("mean", "null"))
        shown = ~(np.isnan(mean) | np.isnan(summary.table.of("q", position)))
        points = (mean, level + spread(mean.size), shown)
        marks(figure, summary.table, summary.roles[index], index, points=points, size=6, position=position)
        chance = math.nan if np.isnan(null).all() else float(np.nanmean(null))
        _stroke(figure, chance, level, FAINT, "dot")
        _stroke(figure, threshold, level, INK, "solid")
        rows.append((name, number(chance), exact(threshold), *_quantiles(mean[shown])))
    figure.update_xaxes(title_text=f"mean {plain(summary.account.statistic)}", showline=True)
    figure.update_yaxes(
        tickmode="array",
        tickvals=list(range(count)),
        ticktext=[plain(name) for name, *_ in reversed(lines)],
        range=[-0.6, count - 0.4],
        showgrid=False,
    )
    return Panel(
        key="means",
        title="Means and margins",
        sentence=(
            f"Mean score of every head, one row per role{' or contrast' * (not summary.many)}; "
            "the solid stroke is θ, the dotted one chance."
        ),
        caption=(
            "The two strokes lie one margin apart. Untestable heads are left out. "
            "Height within a row only keeps marks apart."
        ),
        figure=figure,
        header=("mean of", "chance", "θ", "lowest", "quarter", "middle", "three quarters", "highest"),
        rows=tuple(rows),
        legend=tuple(range(len(summary.roles))),
    )


def _lines(summary: Summary) -> list[tuple[str, int, int, float]]:
    """Return name, role, position and θ of every row: each role, then its contrast unless there are many."""
    lines: list[tuple[str, int, int, float]] = []
    for index, role in enumerate(summary.roles):
        lines.append((role.sieve, index, role.position, role.threshold))
        if role.contrast and not summary.many:
            position = summary.table.sieves.index(role.contrast)
            lines.append((role.contrast, index, position, role.contrast_threshold))
    return lines


def _stroke(figure: go.Figure, x: float, level: float, colour: str, dash: str) -> None:
    """Draw an upright stroke in a row; nothing for NaN."""
    if not math.isnan(x):
        line = {"color": colour, "width": 2, "dash": dash}
        figure.add_shape(type="line", x0=x, x1=x, y0=level - 0.42, y1=level + 0.42, line=line)


def _quantiles(mean: Float[np.ndarray, " shown"]) -> tuple[str, ...]:
    """Return minimum, quartiles and maximum as text."""
    cuts = np.quantile(mean, [0, 0.25, 0.5, 0.75, 1]) if mean.size else np.full(5, np.nan)
    return tuple(number(float(value)) for value in cuts)
