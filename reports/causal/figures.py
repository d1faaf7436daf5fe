"""Figures of a run that takes heads out: damage by layer, roles and damage, sites, sets of heads, margins."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.causal.ablation import VERDICTS
from headroles.records.causal.columns import LOSS, SCREEN, Column, parse_column
from headroles.records.findings import Labelling
from headroles.records.numbers import count, number, plural
from headroles.reports.causal.forests import (
    cells_panel,
    groups_panel,
    prediction_panel,
    sites_panel,
)
from headroles.reports.causal.words import (
    INTERFERING,
    NEEDED,
    NEGLIGIBLE,
    OUTCOMES,
    UNDETERMINED,
    ablation_of,
    arm_name,
    arm_of,
    axis_title,
    clean_loss,
    role_title,
    rows_of,
    threshold_text,
    tone,
    unit_title,
    verdict_counts,
)
from headroles.reports.figures.drawing import (
    FAINT,
    INK,
    SYMBOLS,
    Figure,
    add_scatter,
    add_stroke,
    blank,
    layer_axis,
    set_axis,
)
from headroles.reports.figures.panel import Panel, plain

LOOKS = {NEEDED: (2, 1), NEGLIGIBLE: (0, 7), UNDETERMINED: (1, 4), INTERFERING: (5, 0)}
"""Symbol and colour of every verdict that is drawn."""
DAMAGE, SCREENED, SCORES, MARGINS = "damage", "screen", "scores", "margins"
"""Keys of the figures, which name their files."""
STEEP = 20.0
"""Ratio of the largest to the smallest damage above which the axis is logarithmic, where all are positive."""
CLOSE = 16
"""Layers up to which each has a number on the axis, and a colour of its own."""
TOP = 10
"""Heads of largest damage that are looked up among those of largest damage to first order."""
SPAN = 0.8
"""Part of a layer's width over which its heads are spread."""


def ablation_panels(labelling: Labelling) -> tuple[Panel, ...]:
    """Draw every figure that has something to show, in the order of the page.

    Args:
        labelling: Of a run that takes heads out.
    """
    panels = [
        *damage_panels(labelling), screen_panel(labelling), *scores_panels(labelling),
        prediction_panel(labelling),
        sites_panel(labelling), cells_panel(labelling), groups_panel(labelling), margins_panel(labelling),
    ]  # fmt: skip
    return tuple(panel for panel in panels if panel is not None)


def damage_panels(labelling: Labelling) -> tuple[Panel, ...]:
    """Draw the damage of every head by layer, one figure per arm, the main arm first."""
    arms, main = ablation_of(labelling).damage.arms, arm_of(labelling)
    return tuple(_damage_panel(labelling, arm) for arm in (main, *(arm for arm in arms if arm != main)))


def _damage_panel(labelling: Labelling, arm: str) -> Panel:
    """Draw the damage of every head by layer in one arm."""
    damage = ablation_of(labelling).damage
    place = damage.of(arm)
    means, low, high = damage.mean[place], damage.low[place], damage.high[place]
    layers, heads = means.shape
    figure = blank(360)
    stack = labelling.scores.stack
    layer, head = (index.ravel() for index in np.indices(means.shape))
    layer = stack.positions[layer]
    x = layer + SPAN * ((head + 0.5) / heads - 0.5)
    steep = _is_steep(means)
    for code, (symbol, colour) in LOOKS.items():
        chosen = (damage.verdict[place].ravel() == code) & ~np.isnan(means.ravel())
        _marks(
            figure, (x, means.ravel(), low.ravel(), high.ravel()), chosen,
            name=VERDICTS[code], look=(SYMBOLS[symbol], tone(colour)), number_of_role=code, steep=steep,
            custom=np.column_stack([layer, head]),
        )  # fmt: skip
    threshold = float(damage.threshold[place])
    add_stroke(figure, threshold, along="y", color=INK, width=1.5)
    if not steep:
        add_stroke(figure, 0.0, along="y", color=FAINT, width=1, dash="dot")
    layer_axis(figure, stack, showgrid=False, range=[-0.6, stack.blocks - 0.4])
    set_axis(figure, "yaxis", title=axis_title(labelling, arm), **_damage_axis(steep))
    counts = verdict_counts(labelling, arm)
    known = [f"{counts[code]:,} {VERDICTS[code]}" for code in LOOKS if counts[code]]
    main = arm == arm_of(labelling)
    outcome = arm_name(arm)
    return Panel(
        key=DAMAGE if main else f"{DAMAGE}-{arm.replace(':', '-')}",
        title="Damage by layer" if main else f"Damage by layer: {outcome}",
        sentence=(
            f"Damage of taking out each head alone ({outcome}): {', '.join(known) or 'no head was tested'}."
        ),
        caption=(
            f"Line: the threshold, {threshold_text(labelling, arm)}. Bars: 95\u00a0% intervals. Heads of a "
            f"layer stand side by side in their order."
        ),
        figure=figure,
        header=("layer", "heads", "mean damage", "smallest", "largest", *(VERDICTS[code] for code in LOOKS)),
        rows=tuple(_layer_row(labelling, arm, row) for row in range(layers)),
        legend=tuple(code for code in LOOKS if counts[code]),
    )


def _layer_row(labelling: Labelling, arm: str, layer: int) -> tuple[str, ...]:
    """Return one layer of the table behind a figure of damage."""
    damage = ablation_of(labelling).damage
    place = damage.of(arm)
    means, codes = damage.mean[place, layer], damage.verdict[place, layer]
    known = means[~np.isnan(means)]
    ends = (known.mean(), known.min(), known.max()) if known.size else (math.nan,) * 3
    return (
        str(labelling.scores.stack.numbers[layer]), str(known.size), *(number(float(end)) for end in ends),
        *(str(int((codes == code).sum())) for code in LOOKS),
    )  # fmt: skip


def _is_steep(means: Float[np.ndarray, "layers heads"]) -> bool:
    """Return whether damages span too much for a linear axis, and all are positive."""
    known = means[~np.isnan(means)]
    return bool(known.size) and float(known.min()) > 0 and float(known.max()) > STEEP * float(known.min())


def _damage_axis(steep: bool) -> dict[str, Any]:
    """Return the settings of an axis of damage."""
    return {"type": "log", "dtick": 1} if steep else {"nticks": 6}


def _marks(
    figure: Figure,
    points: Sequence[Float[np.ndarray, " heads"]],
    chosen: Bool[np.ndarray, " heads"],
    *,
    name: str,
    look: tuple[str, str],
    number_of_role: int,
    steep: bool,
    custom: np.ndarray,
) -> None:
    """Add marks with upright intervals, and what a reader of the page gets on hover.

    Args:
        figure: Is changed.
        points: Where marks stand from left to right, their values, and the ends of the intervals.
        chosen: Which heads are drawn.
        name: Of the trace.
        look: Symbol and colour.
        number_of_role: Of the button that switches the trace off.
        steep: Whether the axis is logarithmic; ends below it are left out.
        custom: Layer and head of each mark, then numbers of the hover text.
    """
    x, y, low, high = (values[chosen].astype(float) for values in points)
    if not x.size:
        return
    below = y - low
    if steep:
        below = np.where(low > 0, below, 0.0)
    symbol, colour = look
    add_scatter(
        figure, x=x.astype(np.float32), y=y.astype(np.float32), mode="markers", name=name,
        meta={"role": number_of_role},
        customdata=np.column_stack([custom[chosen], low, high]).astype(np.float32),
        marker={"symbol": symbol, "color": colour, "size": 7, "line": {"color": colour, "width": 1}},
        error_y={
            "type": "data", "array": (high - y).astype(np.float32), "arrayminus": below.astype(np.float32),
            "symmetric": False, "color": colour, "thickness": 1, "width": 0,
        },
        hovertemplate="%{fullData.name}<br>layer %{customdata[0]} head %{customdata[1]}<br>"
        "damage %{y:.3~g} [%{customdata[2]:.3~g}, %{customdata[3]:.3~g}]<extra></extra>",
    )  # fmt: skip


def screen_panel(labelling: Labelling) -> Panel | None:
    """Draw exact damage against damage to first order, with the line where both are the same.

    Args:
        labelling: Of a run that takes heads out.

    Returns:
        The figure; None where no damage to first order was measured.
    """
    findings, damage, arm = labelling.findings, ablation_of(labelling).damage, arm_of(labelling)
    name = Column(parse_column(arm).outcome, SCREEN).name
    if name not in findings.sieves or np.isnan(findings.mean[findings.of(name)]).all():
        return None
    place, first = damage.of(arm), findings.mean[findings.of(name)].ravel()
    exact, codes = damage.mean[place].ravel(), damage.verdict[place].ravel()
    both = ~np.isnan(first) & ~np.isnan(exact)
    figure = blank(360)
    layer, head = (index.ravel() for index in np.indices(damage.mean.shape[1:]))
    layer = labelling.scores.stack.positions[layer]
    points = (first, exact, damage.low[place].ravel(), damage.high[place].ravel())
    for code, (symbol, colour) in LOOKS.items():
        _marks(
            figure, points, both & (codes == code), name=VERDICTS[code],
            look=(SYMBOLS[symbol], tone(colour)), number_of_role=code, steep=False,
            custom=np.column_stack([layer, head]),
        )  # fmt: skip
    ends = [float(np.nanmin(first)), float(np.nanmax(first))]
    line = {"color": FAINT, "width": 1.5, "dash": "dot"}
    add_scatter(figure, x=ends, y=ends, mode="lines", name="the same", line=line, hoverinfo="skip")
    set_axis(figure, "xaxis", title=f"to first order{unit_title(labelling, arm)}", showgrid=False, nticks=7)
    set_axis(figure, "yaxis", title=axis_title(labelling, arm), nticks=6)
    top = min(TOP, int(both.sum()))
    largest = [{*np.argsort(-np.where(both, values, -np.inf))[:top].tolist()} for values in (first, exact)]
    common, measured = len(largest[0] & largest[1]), int(both.sum())
    return Panel(
        key=SCREENED,
        title="Estimated damage (to first order)",
        sentence=(
            f"Measured damage of {plural(measured, 'head')} against its estimate, gradient times difference. "
            f"{common} of the {top} heads of largest damage are among the {top} of largest estimate."
        ),
        caption="Dotted: where both are the same. Heads that were not taken out are not drawn.",
        figure=figure,
        header=("head", "to first order", "exact", "verdict"),
        rows=tuple(
            (f"{layer[at]}-{head[at]}", number(first[at]), number(exact[at]), VERDICTS[codes[at]])
            for at in np.argsort(-np.where(both, exact, -np.inf))[:measured].tolist()
        ),
        legend=tuple(code for code in LOOKS if (both & (codes == code)).any()),
    )


def scores_panels(labelling: Labelling) -> tuple[Panel, ...]:
    """Draw the score of a role against damage, one figure per role that a head holds."""
    held = ablation_of(labelling).held
    if held is None:
        return ()
    return tuple(
        _scores_panel(labelling, place) for place, role in enumerate(held.roles) if held.heads(role).any()
    )


def _scores_panel(labelling: Labelling, place: int) -> Panel:
    """Draw the score of one role against damage: filled where the head holds the role."""
    ablated, arm = ablation_of(labelling), arm_of(labelling)
    held, damage = ablated.held, ablated.damage
    assert held is not None
    number_of_arm, role = damage.of(arm), held.roles[place]
    means = damage.mean[number_of_arm]
    layers, numbers = len(means), labelling.scores.stack.numbers
    steep = _is_steep(means)
    figure = blank(360)
    layer, head = (index.ravel() for index in np.indices(means.shape))
    score, holds = held.score[place].ravel().astype(float), held.heads(role).ravel()
    known = ~np.isnan(score) & ~np.isnan(means.ravel())
    points = (score, *(getattr(damage, name)[number_of_arm].ravel() for name in ("mean", "low", "high")))
    for row in range(layers):
        for states, suffix, words in ((holds, "", "holds the role"), (~holds, "-open", "does not")):
            chosen = known & (layer == row) & states
            _marks(
                figure, points, chosen, name=f"layer {numbers[row]}: {words}",
                look=(f"{SYMBOLS[row % len(SYMBOLS)]}{suffix}", tone(row % 8)), number_of_role=row,
                steep=steep, custom=np.column_stack([labelling.scores.stack.positions[layer], head]),
            )  # fmt: skip
    add_stroke(figure, float(damage.threshold[number_of_arm]), along="y", color=INK, width=1.5)
    set_axis(figure, "xaxis", title=f"score of {plain(role_title(role))}", showgrid=False, nticks=7)
    set_axis(figure, "yaxis", title=axis_title(labelling, arm), **_damage_axis(steep))
    count_held = int((holds & known).sum())
    inside = float(np.nanmean(means.ravel()[holds & known])) if count_held else math.nan
    outside = float(np.nanmean(means.ravel()[~holds & known])) if (~holds & known).any() else math.nan
    rows = tuple(
        (str(numbers[row]), *_score_row(row, (layer, holds & known, ~holds & known), means.ravel()))
        for row in range(layers)
    )
    return Panel(
        key=f"{SCORES}-{place}",
        title=f"Score of {role_title(role)}, and damage",
        sentence=(
            f"Mean damage of {plural(count_held, 'head')} with the role: {number(inside)}; of the others: "
            f"{number(outside)}. Layers differ, so compare within them."
        ),
        caption="Filled: the head holds the role. Line: the threshold. Bars: 95\u00a0% intervals.",
        figure=figure,
        header=("layer", "with the role", "their mean damage", "others", "their mean damage"),
        rows=rows,
        legend=tuple(range(layers)) if layers <= CLOSE else (),
    )


def _score_row(
    layer: int, parts: tuple[np.ndarray, np.ndarray, np.ndarray], means: np.ndarray
) -> tuple[str, ...]:
    """Return numbers of heads and their damage in one layer, for the table behind a figure of scores."""
    cells = list[str]()
    for part in parts[1:]:
        values = means[(parts[0] == layer) & part]
        cells += [str(values.size), number(float(values.mean())) if values.size else "–"]
    return tuple(cells)


def margins_panel(labelling: Labelling) -> Panel | None:
    """Draw heads by verdict under other margins; the margin of the run is a stroke."""
    arm = arm_of(labelling)
    rows = sorted(rows_of(ablation_of(labelling).margins, arm), key=lambda row: row.margin)
    if not rows:
        return None
    figure = blank(320)
    margins = [row.margin for row in rows]
    for code, name in ((NEEDED, "needed"), (NEGLIGIBLE, "negligible"), (INTERFERING, "interfering")):
        symbol, colour = LOOKS[code]
        add_scatter(
            figure, x=margins, y=[getattr(row, name) for row in rows], mode="lines+markers", name=name,
            meta={"role": code}, line={"color": tone(colour), "width": 2},
            marker={"symbol": SYMBOLS[symbol], "size": 8, "color": tone(colour)},
            hovertemplate="margin %{x:.3~g}: %{y} %{fullData.name}<extra></extra>",
        )  # fmt: skip
    add_stroke(figure, _margin_of_run(labelling, arm), color=INK, width=1.5)
    loss = parse_column(arm).outcome == LOSS
    title = (
        "margin (share of the loss)" if loss else f"margin (damage: {OUTCOMES[parse_column(arm).outcome]})"
    )
    ticks = {"tickmode": "array", "tickvals": margins, "ticktext": [f"{margin:g}" for margin in margins]}
    set_axis(figure, "xaxis", title=title, type="log", showgrid=False, **ticks)
    set_axis(figure, "yaxis", title="heads", rangemode="tozero", nticks=6)
    return Panel(
        key=MARGINS,
        title="Other margins",
        sentence=(
            f"Heads by verdict under other margins ({arm_name(arm)}): of the smallest margin "
            f"{rows[0].needed:,} are needed, of the largest {rows[-1].needed:,}."
        ),
        caption="Line: the margin of this run.",
        figure=figure,
        header=("margin", "needed", "negligible", "interfering"),
        rows=tuple(
            (f"{row.margin:g}", count(row.needed), count(row.negligible), count(row.interfering))
            for row in rows
        ),
        legend=(NEEDED, NEGLIGIBLE, INTERFERING),
    )


def _margin_of_run(labelling: Labelling, arm: str) -> float:
    """Return the margin of a run as in ``margins.csv``: a share of the loss, or a damage."""
    damage = ablation_of(labelling).damage
    threshold = float(damage.threshold[damage.of(arm)])
    return threshold / clean_loss(labelling) if parse_column(arm).outcome == LOSS else threshold
