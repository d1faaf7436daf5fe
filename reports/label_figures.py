"""Figures of roles: means, p values, sensitivity, counts by layer, several roles, exact sets and pairs."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.assessment import MIDDLE, NEAR, TOGETHER, count_extreme_p
from headroles.records.numbers import exact, isolate, join_names, number, p_text, percent_text, plural
from headroles.records.roles import CONTROLS, VALUES, control_of, parts_of, phrase_of
from headroles.records.table import Row
from headroles.reports.figures import drawing
from headroles.reports.figures.drawing import ACCENT, FAINT, INK, RULE, SOFT, SYMBOLS, Figure, set_axis
from headroles.reports.figures.panel import Panel, SecondPlot, plain, tone
from headroles.reports.label import expected_text, is_outside, is_part, notable_pairs, pairs_of
from headroles.reports.summary import Combination, Summary
from headroles.reports.words.words import CAPTION, extremes_sentence, layers_sentence, middle_sentence

CLOSE, STEP, SMALL_STEP = 20, 46, 34
"""Height of a row in pixels: where there are many, of means and charts, and of p values."""
MOST_SETS, MOST_ROLES, MOST_PAIRS = 20, 24, 100
"""Role sets and roles of the map of pairs that are drawn, and pairs listed where there are many, at most."""
BARS = 150
"""Height of the bars above the role sets in pixels."""
STRONGEST = 3
"""Heads of a row whose intervals are drawn."""
SMALLEST = 1e-16
"""Smaller p values are drawn at this one."""
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
REACH = 2.0
"""Doublings, or halvings, at the ends of the scale of pairs."""
AT_SIDE: Mapping[str, Any] = {"x": 0, "xref": "paper", "xanchor": "left"}


def figures(summary: Summary) -> tuple[Panel, ...]:
    """Draw every figure in the order of the page; sensitivity and pairs only where the run computed them.

    Exact sets of roles are left out where there are many: hardly any two heads hold the same.

    Args:
        summary: What the page may say.

    Returns:
        Figures with title, sentence, caption and the table behind them.
    """
    if not summary.roles:
        return ()
    panels = (
        means(summary), p_values(summary), sensitivity(summary), layers(summary), several(summary),
        None if summary.many else overlap(summary), pairs(summary),
    )  # fmt: skip
    return tuple(panel for panel in panels if panel is not None)


def add_heads(
    figure: Figure,
    summary: Summary,
    place: int,
    x: Float[np.ndarray, " heads"],
    y: Float[np.ndarray, " heads"],
    shown: Bool[np.ndarray, " heads"],
    *,
    position: int,
    axis: str = "x",
    more: str = "",
) -> None:
    """Add the heads of a role as two traces: those that hold the role, filled, and those that do not.

    A mark bears the number of its head. The page looks up the head's numbers in the one copy of all
    findings that it embeds.

    Args:
        figure: Where they are drawn.
        summary: What the page may say.
        place: Number of the role.
        x: Place of every head, layer-major.
        y: The same on the other axis.
        shown: Which heads are drawn.
        position: Sieve whose scores are shown on hover: the role's own, or its contrast.
        axis: The horizontal axis.
        more: A further line of the hover text.
    """
    role, cells = summary.roles[place], np.arange(x.size, dtype=np.uint32)
    holds = summary.decided(role.position) == 0
    for state, suffix, chosen in (("role", "", shown & holds), ("no role", "-open", shown & ~holds)):
        drawing.add_scatter(
            figure, x=x[chosen].astype(np.float32), y=y[chosen].astype(np.float32), xaxis=axis,
            customdata=cells[chosen], mode="markers", name=plain(summary.sieves[position]),
            meta={"role": place, "sieve": position},
            marker={"symbol": SYMBOLS[role.symbol] + suffix, "color": tone(role), "size": 6}, opacity=0.85,
            hovertemplate=f"%{{fullData.name}}: {state}<br>layer %{{customdata[0]}} "
            "head %{customdata[1]}<br>"
            f"mean %{{customdata[2]:.3f}} [%{{customdata[3]:.3f}}, %{{customdata[4]:.3f}}]{more}"
            "<extra></extra>",
        )  # fmt: skip


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
    roles, size = summary.roles, len(summary.roles)
    split = any(role.contrast for role in roles)
    figure = drawing.blank(84 + (CLOSE if summary.many else STEP) * max(size, 1))
    rows, ends = [], ("mean_low", "mean_high") if "mean_low" in summary.columns else ("low", "high")
    for place, role in enumerate(roles):
        level, own = float(size - 1 - place), summary.of("mean", role.position)
        strength = np.where(summary.decided(role.position) == 0, own, -np.inf)
        best = np.argsort(-strength, kind="stable")[:STRONGEST]
        halves = [(role.sieve, "x", role.threshold)]
        halves += [(role.contrast, "x2", role.contrast_threshold)] if role.contrast else []
        for name, axis, threshold in halves:
            position = summary.sieves.index(name)
            mean, null, q, low, high = (summary.of(key, position) for key in ("mean", "null", "q", *ends))
            shown = ~(np.isnan(mean) | np.isnan(q))
            heights = level + (spread(mean.size) if summary.many else 0.85 * spread(mean.size) - 0.13)
            drawn = [k for k in best if strength[k] > -np.inf and not math.isnan(low[k] + high[k])]
            if drawn:
                drawing.add_scatter(
                    figure,
                    x=[end for k in drawn for end in (float(low[k]), float(high[k]), None)],
                    y=[end for k in drawn for end in (float(heights[k]), float(heights[k]), None)],
                    xaxis=axis, mode="lines", line={"color": tone(role), "width": 1.5}, hoverinfo="skip",
                    meta={"role": place}, name="intervals",
                )  # fmt: skip
            add_heads(figure, summary, place, mean, heights, shown, position=position, axis=axis)
            chance = math.nan if np.isnan(null).all() else float(np.nanmean(null))
            between: Mapping[str, Any] = {"y0": level - 0.44, "y1": level + 0.24}
            dotted = {"color": FAINT, "width": 2, "dash": "dot"}
            for x, line in ((chance, dotted), (threshold, {"color": INK, "width": 2})):
                if not math.isnan(x):
                    refs = {"xref": axis, "yref": "y"}
                    drawing.add_shape(figure, type="line", **refs, line=line, x0=x, x1=x, **between)
            rows.append((name, number(chance), exact(threshold), *map(number, _quarters(mean[shown]))))
    set_axis(
        figure, "xaxis", title=f"mean {plain(summary.account.statistic)}", showline=True, nticks=6,
        domain=[0, 0.58 if split else 1],
    )  # fmt: skip
    if split:
        parts = (control_of(role.contrast).split(" or ") for role in roles if role.contrast)
        controls = sorted({control for each in parts for control in each} - {""})
        title = f"beyond {'<br>or '.join(controls)}" if controls else "contrast"
        if controls == [CONTROLS[VALUES]]:
            title = "minus the score by norm"
        set_axis(figure, "xaxis2", title=title, showline=True, nticks=4, domain=[0.64, 1], anchor="y")
    names = [plain(name) for name in summary.names]
    inside: Mapping[str, Any] = {"range": [-0.6, max(size, 1) - 0.4], "showgrid": False}
    if summary.many:
        set_axis(
            figure, "yaxis", tickmode="array", tickvals=list(range(size)), ticktext=names[::-1], **inside
        )  # fmt: skip
    else:
        figure["layout"]["margin"] = {"l": 12, "r": 12, "t": 8, "b": 60}
        set_axis(figure, "yaxis", showticklabels=False, ticks="", **inside)
        for place, (role, name) in enumerate(zip(roles, names, strict=True)):
            title = plain(phrase_of(role.sieve).title)
            drawing.add_note(
                figure, name if title == name else f"{title} ({name})", color=INK, **AT_SIDE,
                y=size - 1 - place + 0.37, yref="y", yanchor="middle",
            )  # fmt: skip
    return Panel(
        key="means",
        title="Means and thresholds",
        sentence=f"Mean score of every head, a row per role{', its contrast on the right' * split}. "
        "A role lies beyond the solid stroke, the threshold.",
        caption="Filled: the head holds the role. Dotted stroke: by chance. "
        f"Lines: 95\u00a0% intervals of the {STRONGEST} strongest heads. "
        "Height within a row has no meaning.",
        figure=figure,
        header=(
            "mean of", "by chance", "threshold", "lowest", "quarter", "middle", "three quarters", "highest",
        ),
        rows=tuple(rows),
        legend=tuple(range(size)),
    )  # fmt: skip


def _quarters(values: Float[np.ndarray, " heads"]) -> list[float]:
    """Return minimum, quartiles and maximum; NaN where there are no values."""
    return np.quantile(values, QUARTERS).tolist() if values.size else [math.nan] * len(QUARTERS)


def p_values(summary: Summary) -> Panel:
    """Draw every head's p before correction, one row per role, with the level and the correction's cut.

    Args:
        summary: What the page may say.

    Returns:
        The figure; behind it, per role, how many heads reach the level with and without correction and
        the quantiles of p.
    """
    roles, decision, size = summary.roles, summary.decision, len(summary.roles)
    corrected = decision.correction != "none"
    figure = drawing.blank(100 + (CLOSE if summary.many else SMALL_STEP) * max(size, 1))
    rows = []
    known = np.concatenate([summary.of("p", role.position) for role in roles] or [np.empty(0)])
    for place, role in enumerate(roles):
        level, p = float(size - 1 - place), summary.of("p", role.position)
        strength, heights, shown = -np.log10(np.maximum(p, SMALLEST)), level + spread(p.size), ~np.isnan(p)
        hover = "<br>p %{customdata[5]}"
        add_heads(figure, summary, place, strength, heights, shown, position=role.position, more=hover)
        held = p[summary.decided(role.position) == 0]
        largest = float(held.max()) if held.size else math.nan
        if not math.isnan(largest):
            x, line = -math.log10(max(largest, SMALLEST)), {"color": INK, "width": 2}
            drawing.add_shape(figure, type="line", x0=x, x1=x, y0=level - 0.42, y1=level + 0.42, line=line)
        counts, near = (int((p <= decision.alpha).sum()), role.tally.role), count_extreme_p(p)
        ends = map(exponent, (largest, *_quarters(p[shown])))
        part = f"{near.near} ({percent_text(near.share)})" if near.tests else "–"
        rows.append((role.sieve, *map(str, (near.tests, *counts)), *ends, part))
    level = -math.log10(decision.alpha)
    drawing.add_stroke(figure, level, color=ACCENT, width=1, dash="dash")
    drawing.add_note(
        figure, f"p = {decision.alpha:g}", color=ACCENT, x=level, y=1, yref="paper", yanchor="bottom"
    )
    ticks = list(range(0, round(-math.log10(SMALLEST)) + 1, 2))
    set_axis(
        figure, "xaxis", title="p, smaller to the right", showline=True, tickmode="array", tickvals=ticks,
        ticktext=["1", *(f"10<sup>−{tick}</sup>" for tick in ticks[1:])], range=[-0.3, ticks[-1] + 0.4],
    )  # fmt: skip
    set_axis(
        figure, "yaxis", tickmode="array", tickvals=list(range(size)), showgrid=False,
        ticktext=[plain(role.sieve) for role in reversed(roles)], range=[-0.6, max(size, 1) - 0.4],
    )  # fmt: skip
    figure["layout"]["margin"] = {"l": 56, "r": 16, "t": 28, "b": 52}
    tests, found = sum(role.tally.tests for role in roles), sum(role.tally.role for role in roles)
    sentence = (
        f"p of {plural(tests, 'test')}, one row per role and one mark per head, on a logarithmic axis; "
        f"{found:,} of them are roles, filled. {extremes_sentence(count_extreme_p(known))}"
    )
    return Panel(
        key="p-values",
        title="p values",
        sentence=sentence.strip(),
        caption=_p_caption(summary, int((known < SMALLEST).sum())),
        figure=figure,
        header=(
            "p of", "heads tested", f"p ≤ {decision.alpha:g}", "roles",
            "largest p left by the correction" if corrected else "largest p of a role",
            "smallest", "quarter", "middle", "three quarters", "largest", f"near 0 or 1 ({NEAR:g})",
        ),
        rows=tuple(rows),
        legend=tuple(range(size)),
    )  # fmt: skip


def exponent(p: float) -> str:
    """Return a p value with its order of magnitude.

    Example:
        >>> exponent(0.0123), exponent(3.21e-9), exponent(float("nan")), exponent(0.0)
        ('0.012', '3.2e-09', '–', '<1e-16')
    """
    if p == 0:
        return f"<{SMALLEST:g}"
    return f"{p:.1e}" if p < 0.001 else p_text(p)


def _p_caption(summary: Summary, capped: int) -> str:
    """Return how to read the figure of p values, of which so many are drawn at the smallest."""
    decision = summary.decision
    parts = ["Dashed: the level; nothing corrects it here. Solid: the largest p of a role."]
    if decision.correction != "none":
        parts = [
            "Dashed: the level before correction. Solid: the largest p that the correction leaves as a role "
            f"({decision.correction}). Between the two: significant before correction only."
        ]
        if decision.family == "layer":
            parts.append(
                "Each layer is corrected by itself, so some heads beyond the solid stroke hold no role."
            )
    if any(role.contrast for role in summary.roles):
        parts.append("With a contrast, p is the larger of the two tests.")
    if capped:
        verb = "is" if capped == 1 else "are"
        parts.append(f"{plural(capped, 'value')} of p below {SMALLEST:g} {verb} drawn at {SMALLEST:g}.")
    return " ".join(parts)


def sensitivity(summary: Summary) -> Panel | None:
    """Draw the heads that keep each role at other margins and levels; None where none were tried."""
    names, alpha = summary.names, summary.decision.alpha
    tried = [row for row in (summary.assessment.moved if summary.assessment else ()) if row.sieve in names]
    if not tried:
        return None
    margins = {role.sieve: float(summary.of("margin", role.position)[0]) for role in summary.roles}
    used = {"margin": sorted({*margins.values()}), "alpha": [alpha]}
    values = {name: sorted({row.value for row in tried if row.convention == name}) for name in used}
    by_margin, by_alpha = (_curves(summary, tried, convention, used[convention]) for convention in used)
    powers = [f"{value:g}" if f"{value:e}".startswith("1.000000e") else "" for value in values["alpha"]]
    set_axis(
        by_alpha, "xaxis", type="log", tickmode="array", tickvals=values["alpha"], ticktext=powers,
        tickangle=0,
    )  # fmt: skip
    heads = {(row.convention, row.value, row.sieve): row.heads for row in tried}
    rows = []
    for convention, tolerance in (("margin", 1e-6), ("alpha", 0.0)):
        for value in values[convention]:
            is_used = any(math.isclose(value, level, abs_tol=tolerance) for level in used[convention])
            text = exact(value) if convention == "margin" else f"{value:g}"
            counts = (str(heads.get((convention, value, name), "–")) for name in names)
            rows.append((f"{convention} {text}{' (used)' * is_used}", *counts))
    caption = (
        "Margin and alpha are conventions. Contrasts keep their margins. Each point is decided with a "
        "correction of its own."
    )
    at_used = {
        row.sieve: row.heads
        for row in tried
        if row.convention == "margin" and math.isclose(row.value, margins[row.sieve], abs_tol=1e-6)
    }
    differing = [
        f"{isolate(role.sieve)} ({at_used[role.sieve]} against {role.tally.role})"
        for role in summary.roles
        if at_used.get(role.sieve, role.tally.role) != role.tally.role
    ]
    if differing:
        caption += (
            " The curve is drawn with another test or correction, so it differs from the verdict at the "
            f"margin used: {join_names(differing)}."
        )
    return Panel(
        key="sensitivity",
        title="Sensitivity to margin and alpha",
        sentence=f"Heads with each role at other margins (used: {join_names([*map(exact, used['margin'])])}) "
        f"and other levels (used: {alpha:g}).",
        caption=caption,
        figure=by_margin,
        header=("moved to", *names),
        rows=tuple(rows),
        legend=tuple(names.index(name) for name in dict.fromkeys(row.sieve for row in tried)),
        beside=SecondPlot(
            "sensitivity-alpha", "Number of heads that hold each role as the level alpha moves.", by_alpha
        ),
    )


def _curves(summary: Summary, rows: Sequence[Row], convention: str, used: Sequence[float]) -> Figure:
    """Draw the number of heads with each role over the values of one convention."""
    figure = drawing.blank(300, margin={"l": 48, "r": 12, "t": 28, "b": 52})
    for place, role in enumerate(summary.roles):
        points = sorted(
            (row.value, row.heads) for row in rows if (row.sieve, row.convention) == (role.sieve, convention)
        )
        drawing.add_scatter(
            figure, x=[value for value, _ in points], y=[heads for _, heads in points],
            mode="lines+markers", name=plain(role.sieve), meta={"role": place},
            line={"color": tone(role), "width": 2},
            marker={"symbol": SYMBOLS[role.symbol], "size": 7, "color": tone(role)},
            hovertemplate=f"%{{fullData.name}}<br>{convention} %{{x}}, heads: %{{y}}<extra></extra>",
        )  # fmt: skip
    for value in used:
        drawing.add_stroke(figure, value, color=ACCENT, width=1, dash="dash")
        x = math.log10(value) if convention == "alpha" else value
        drawing.add_note(figure, f"used: {value:g}", color=ACCENT, x=x, y=1, yref="paper", yanchor="bottom")
    set_axis(figure, "xaxis", title=convention, showline=True)
    most = max(max(row.heads for row in rows), 1)
    set_axis(figure, "yaxis", title="heads with the role", range=[0, most * 1.06])
    return figure


def layers(summary: Summary) -> Panel:
    """Draw heads with each role in each layer: a small chart per role, or one map where there are many."""
    roles, stack = summary.roles, summary.stack
    tallest = max((max(role.layers, default=0) for role in roles), default=0)
    return Panel(
        key="layers",
        title="Roles by layer",
        sentence=f"Heads with each role in each of the {plural(len(stack.layers), 'layer')}.",
        caption=f"One scale for all roles: the {'darkest cell' if summary.many else 'tallest bar'} is "
        f"{tallest} of {plural(summary.heads, 'head')} of a layer.",
        figure=_layers_map(summary, tallest) if summary.many else _layers_bars(summary, tallest),
        header=("role", *(f"layer {layer}" for layer in stack.numbers)),
        rows=tuple((role.sieve, *map(str, role.layers)) for role in roles),
    )


def _layers_map(summary: Summary, tallest: int) -> Figure:
    """Draw roles × layers as a map of counts, where a chart per role would not end."""
    roles, size, names = summary.roles, summary.layers, [plain(name) for name in summary.names]
    figure = drawing.blank(80 + CLOSE * len(roles), margin={"l": 12, "r": 12, "t": 8, "b": 48})
    drawing.add_cells(
        figure, np.array([role.layers for role in roles], dtype=float), ("var(--panel)", "var(--tone-0)"),
        (0, max(tallest, 1)), size=11, layers=summary.stack, along="x",
        text=[[str(count) if count else "" for count in role.layers] for role in roles],
        hovertext=[name for name in names for _ in range(size)],
        hovertemplate="%{hovertext}<br>layer %{customdata[1]}, heads: %{customdata[2]}<extra></extra>",
    )  # fmt: skip
    ticks = drawing.layer_ticks(summary.stack, 1 if size <= 16 else 4, by_place=True)
    set_axis(figure, "xaxis", title="layer", **ticks)
    set_axis(figure, "yaxis", tickmode="array", tickvals=list(range(len(roles))), ticktext=names)
    return figure


def _layers_bars(summary: Summary, tallest: int) -> Figure:
    """Draw one small chart per role, one below the other."""
    stack, size = summary.stack, max(len(summary.roles), 1)
    figure = drawing.blank(60 + STEP * size, margin={"l": 12, "r": 12, "t": 8, "b": 48}, bargap=0.25)
    for row, role in enumerate(summary.roles):
        axis = f"y{row + 1 if row else ''}"
        drawing.add_bar(
            figure, x=list(stack.numbers), y=list(role.layers), yaxis=axis, name=plain(role.sieve),
            **drawing.bar_width(stack), marker={"color": tone(role)},
            text=[str(count) if count and summary.layers <= 16 else "" for count in role.layers],
            textposition="outside", cliponaxis=False, textangle=0, textfont={"color": SOFT, "size": 11},
            hovertemplate="%{fullData.name}<br>layer %{x}, heads: %{y}<extra></extra>",
        )  # fmt: skip
        set_axis(
            figure, axis.replace("y", "yaxis"), range=[0, max(tallest, 1) * 1.9], visible=False,
            domain=[1 - (row + 1) / size, 1 - row / size], anchor="x",
        )  # fmt: skip
        drawing.add_shape(
            figure, type="line", xref="x domain", x0=0, x1=1, yref=axis, y0=0, y1=0,
            line={"color": FAINT, "width": 1},
        )  # fmt: skip
        drawing.add_note(
            figure, plain(role.sieve), color=INK, **AT_SIDE, y=1, yref=f"{axis} domain", yanchor="top"
        )  # fmt: skip
    drawing.layer_axis(
        figure, stack, showgrid=False, range=[-0.6, stack.blocks - 0.4], ticks="", tickmode="linear",
        anchor="free", position=0,
    )  # fmt: skip
    return figure


def several(summary: Summary) -> Panel | None:
    """Draw roles a head above the share of heads with several, layer by layer; None where not counted."""
    rows, stack = summary.assessment.several if summary.assessment else (), summary.stack
    if not rows:
        return None
    figure = drawing.blank(300, margin={"l": 56, "r": 16, "t": 24, "b": 48})
    parts = (("", "Roles a head", (0.58, 1.0)), ("2", "Heads with two or more roles, %", (0.0, 0.42)))
    for part, (axis, title, domain) in enumerate(parts):
        ends = ends_of(rows, part)
        drawing.add_scatter(
            figure, x=list(stack.numbers), y=[mean for mean, _, _ in ends], mode="lines+markers",
            line={"color": FAINT, "width": 1}, marker={"color": INK, "size": 8},
            error_y=drawing.error_bars(ends, color=INK, thickness=1.4, width=3),
            customdata=[[low, high] for _, low, high in ends],
            hovertemplate="layer %{x}: %{y:.2f} [%{customdata[0]:.2f}, %{customdata[1]:.2f}]<extra></extra>",
            yaxis=f"y{axis}",
        )  # fmt: skip
        top = max(high for _, _, high in ends) or 1
        set_axis(
            figure, f"yaxis{axis}", domain=list(domain), range=[-0.06 * top, 1.15 * top], nticks=4, anchor="x"
        )
        drawing.add_note(figure, title, **AT_SIDE, y=1, yref=f"y{axis} domain", yanchor="bottom")
    drawing.layer_axis(
        figure, stack, showgrid=False, range=[-0.6, stack.blocks - 0.4], tickmode="linear", anchor="free",
        position=0,
    )  # fmt: skip
    sheet = rows.sheet()
    return Panel(
        key="several",
        title="Heads with several roles",
        sentence=f"{layers_sentence(rows)} {middle_sentence(rows)}".strip(),
        caption=CAPTION,
        figure=figure,
        header=sheet.header,
        rows=sheet.texts,
    )


def ends_of(rows: Iterable[Row], part: int) -> list[tuple[float, float, float]]:
    """Return values of layers with their ends: roles a head (0), or per cent of heads with several (1)."""
    layers = [row for row in rows if row.scope not in ("all", MIDDLE)]
    if part == 0:
        return [(row.mean, row.mean_low, row.mean_high) for row in layers]
    return [(100 * row.several, 100 * row.several_low, 100 * row.several_high) for row in layers]


def overlap(summary: Summary) -> Panel:
    """Draw role sets: a bar for the number of heads, dots for the roles in the set.

    A role with parts is drawn only where no part of it holds; the table has the exact sets. Sets that become
    alike are one. They have no expected number: it is known of exact sets only.
    """
    places = {name: place for place, name in enumerate(summary.names)}
    wholes = {places[whole]: {places[name] for name in own} for whole, own in parts_of(summary.names).items()}
    sets: dict[tuple[int, ...], Combination] = {}
    for role_set in summary.combinations:
        roles = tuple(role for role in role_set.roles if not wholes.get(role, set()) & {*role_set.roles})
        heads = role_set.heads + (sets[roles].heads if roles in sets else 0)
        alone = roles == role_set.roles and roles not in sets
        sets[roles] = role_set if alone else Combination(roles, heads)
    drawn = sorted(sets.values(), key=lambda role_set: (-role_set.heads, role_set.roles))
    shown = drawn[:MOST_SETS]
    expects = bool(shown) and not any(math.isnan(role_set.expected) for role_set in shown)
    known = any(not math.isnan(role_set.expected) for role_set in summary.combinations)
    bare = int((~summary.held.any(axis=0)).sum())
    multiple = sum(role_set.heads for role_set in drawn if len(role_set.roles) > 1)
    limit = f" The {MOST_SETS} most frequent of {len(drawn)} sets are drawn." * (len(drawn) > MOST_SETS)
    if expects:
        limit += " Red: heads by chance, with labels shuffled within each layer; "
        limit += "whisker: 95\u00a0% of the shuffles."
    rows = []
    for role_set in summary.combinations:
        names = " + ".join(summary.names[role] for role in role_set.roles)
        rows.append((names, str(role_set.heads), *([expected_text(role_set)] if known else [])))
    return Panel(
        key="overlap",
        title="Roles together",
        sentence=f"{plural(multiple, 'head')} of {summary.held[0].size} hold several roles.",
        caption="A bar counts the heads with exactly the roles dotted below it. "
        f"{plural(bare, 'head')} without a role {'are' if bare != 1 else 'is'} not drawn.{limit}",
        figure=_sets_figure(summary, shown, expects),
        header=("exactly these roles", "heads", *(("by chance [95\u00a0% range]",) if known else ())),
        rows=tuple(rows),
    )  # fmt: skip


def _sets_figure(summary: Summary, drawn: Sequence[Combination], expects: bool) -> Figure:
    """Draw bars, and below them faint dots everywhere and joined marks where a set has the role.

    The number by chance is a stroke over every bar, its range a whisker.
    """
    members, size = sorted({role for role_set in drawn for role in role_set.roles}), len(drawn)
    height = BARS + 26 * max(len(members), 1) + 20
    figure = drawing.blank(height, bargap=0.35, margin={"l": 56, "r": 12, "t": 8, "b": 12})
    cut = 1 - BARS / height
    names = {role: plain(summary.names[role]) for role in members}
    drawing.add_bar(
        figure, x=list(range(size)), y=[role_set.heads for role_set in drawn], marker={"color": SOFT},
        text=[str(role_set.heads) for role_set in drawn], textposition="outside", cliponaxis=False,
        textangle=0, textfont={"color": SOFT, "size": 11},
        hovertext=[" + ".join(names[role] for role in role_set.roles) for role_set in drawn],
        hovertemplate="%{hovertext}<br>heads: %{y}<extra></extra>",
    )  # fmt: skip
    tallest = max((float(role_set.heads) for role_set in drawn), default=1.0)
    if expects:
        ends = [(role_set.expected, role_set.expected_low, role_set.expected_high) for role_set in drawn]
        marker = {"symbol": "line-ew-open", "size": 12, "color": ACCENT, "line": {"width": 2}}
        drawing.add_scatter(
            figure, x=[place + 0.42 for place in range(size)], y=[value for value, _, _ in ends],
            mode="markers", marker=marker,
            error_y=drawing.error_bars(ends, color=ACCENT, thickness=1.2, width=0),
            hoverinfo="skip", name="by chance",
        )  # fmt: skip
    tallest = max([tallest, *(each.expected_high for each in drawn if not math.isnan(each.expected_high))])
    whole: Mapping[str, Any] = {"dtick": 1} if tallest <= 5 else {}
    set_axis(figure, "yaxis", title="heads", range=[0, tallest * 1.18], domain=[cut + 0.02, 1], **whole)
    level = {role: len(members) - 1 - place for place, role in enumerate(members)}
    drawing.add_scatter(
        figure, x=[column for column in range(size) for _ in members],
        y=[level[role] for _ in drawn for role in members],
        yaxis="y2", mode="markers", hoverinfo="skip", marker={"size": 9, "color": RULE},
    )  # fmt: skip
    levels = [[level[role] for role in role_set.roles] for role_set in drawn]
    joined = [(column, min(own), max(own)) for column, own in enumerate(levels) if len(own) > 1]
    drawing.add_scatter(
        figure, x=[place for column, *_ in joined for place in (column, column, None)],
        y=[end for _, low, high in joined for end in (low, high, None)],
        yaxis="y2", mode="lines", line={"color": FAINT, "width": 2}, hoverinfo="skip",
    )  # fmt: skip
    for place in members:
        role = summary.roles[place]
        columns = [column for column, role_set in enumerate(drawn) if place in role_set.roles]
        drawing.add_scatter(
            figure, x=columns, y=[level[place]] * len(columns), yaxis="y2", mode="markers",
            name=names[place], hoverinfo="name",
            marker={"size": 11, "color": tone(role), "symbol": SYMBOLS[role.symbol]},
        )  # fmt: skip
    set_axis(
        figure, "yaxis2", tickmode="array", tickvals=[*level.values()], showgrid=False,
        ticktext=[*names.values()], range=[-0.6, max(len(members), 1) - 0.4], domain=[0, cut], anchor="x",
    )  # fmt: skip
    set_axis(
        figure, "xaxis", showticklabels=False, ticks="", showgrid=False, anchor="y2",
        range=[-0.6, max(size, 6) - 0.4],
    )  # fmt: skip
    return figure


def pairs(summary: Summary) -> Panel | None:
    """Draw how many heads every two roles share, over the number by chance; None where the run has none.

    Behind it stands every ordered pair with and without contrasts; of many roles, the notable pairs.
    """
    overlaps, notable = pairs_of(summary), notable_pairs(summary)
    if not overlaps:
        return None
    names, limit = [role.sieve for role in summary.roles if role.tally.role], ""
    if summary.many:
        wanted = dict.fromkeys(name for pair in notable for name in (pair.found.first, pair.found.second))
        names = [name for name in names if name in [*wanted][:MOST_ROLES]]
        limit = f" The {len(names)} roles of the most notable pairs are drawn."
    outliers = sum(is_outside(pair.found) for pair in notable)
    shown = notable[:MOST_PAIRS] if summary.many else overlaps.values()
    sheet = TOGETHER.rows(vars(row) for pair in shown for row in pair if row is not None).sheet()
    return Panel(
        key="pairs",
        title="Pairs of roles",
        sentence="Heads that two roles share, against the number by chance (labels shuffled within layers).",
        caption="Number: heads of both roles. Orange: more than by chance, blue: fewer; a dot: outside "
        f"95\u00a0% of the shuffles ({outliers} of {plural(len(notable), 'pair')}).{limit} Not drawn: a "
        "role with its own part. Heads are not a sample, so nothing is tested.",
        figure=_pairs_figure(summary, names),
        header=sheet.header,
        rows=sheet.texts,
    )


def _pairs_figure(summary: Summary, names: list[str]) -> Figure:
    """Draw the lower half of the map of roles by roles, a cell per pair."""
    rows, columns, overlaps = names[1:], names[:-1], pairs_of(summary)
    shape = (len(rows), len(columns))
    ratio, numbers = np.full(shape, math.nan), np.full((*shape, 4), math.nan)
    texts, hover = [[""] * len(columns) for _ in rows], []
    for row, first in enumerate(rows):
        for column, second in enumerate(columns[: row + 1]):
            if (first, second) in overlaps and not is_part(first, second):
                pair = overlaps[first, second].found
                numbers[row, column] = pair.both, pair.expected, pair.expected_low, pair.expected_high
                ratio[row, column] = doublings(pair.both, pair.expected)
                texts[row][column] = f"{pair.both}{' •' * is_outside(pair)}"
                hover.append(f"{plain(first)} and {plain(second)}")
    figure = drawing.blank(80 + 26 * max(len(rows), 1), margin={"l": 12, "r": 12, "t": 8, "b": 48})
    drawing.add_cells(
        figure, ratio, ("var(--tone-0)", "var(--panel)", "var(--tone-1)"), (-REACH, REACH), text=texts,
        numbers=numbers, size=11, hovertext=hover,
        name="pairs", hovertemplate="%{hovertext}<br>heads of both: %{customdata[3]}<br>"
        "by chance %{customdata[4]:.1f} [%{customdata[5]:.1f}, %{customdata[6]:.1f}]<extra></extra>",
        colorbar={
            "tickvals": [-REACH, 0, REACH], "ticktext": ["¼", "1", "4"],
            "title": {"text": "times chance", "side": "right", "font": {"color": SOFT, "size": 12}},
            "tickfont": {"color": SOFT, "size": 12},
        },
    )  # fmt: skip
    if not numbers[..., 0].any(where=~np.isnan(ratio)):
        drawing.add_note(figure, "no head is shared", x=0.5, xref="paper", y=0.5, yref="paper")
    codes = {role.sieve: f"<b>{role.code}</b>" for role in summary.roles}
    ticks: Mapping[str, Any] = {"tickmode": "array", "ticks": ""}
    sides, feet = [f"{plain(name)}  {codes[name]}" for name in rows], [codes[name] for name in columns]
    set_axis(figure, "yaxis", tickvals=list(range(len(rows))), ticktext=sides, **ticks)
    set_axis(figure, "xaxis", tickvals=list(range(len(columns))), ticktext=feet, tickangle=0, **ticks)
    return figure


def doublings(both: int, expected: float) -> float:
    """Return how often the expected number doubles to the shared one, within the scale.

    Half a head is added to both, so that small numbers do not look large.

    Example:
        >>> doublings(7, 3.25), doublings(0, 0.0), doublings(0, 9.5)
        (1.0, 0.0, -2.0)
    """
    return max(-REACH, min(REACH, math.log2((both + 0.5) / (expected + 0.5))))
