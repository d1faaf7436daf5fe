"""Figures of roles: means, p values, sensitivity, counts by layer, several roles, exact sets and pairs."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from headroles.records.assessment import MIDDLE, NEAR, count_extreme_p
from headroles.records.numbers import exact, isolate, join_names, number, p_text, percent_text, plural
from headroles.records.roles import CONTROLS, VALUES, control_of, titles_of
from headroles.records.table import MISSING, Cell, Sheet, Table, counted
from headroles.reports import drawing
from headroles.reports.drawing import ACCENT, FAINT, INK, SOFT, SYMBOLS, plain, shortened, tone
from headroles.reports.kinds.label_pairs import MARGIN, overlap, pairs
from headroles.reports.marks import (  # fmt: skip
    Axis,
    Cells,
    Entry,
    Figure,
    Line,
    Look,
    Note,
    Rule,
    Shape,
    Trace,
    layers_axis,
    ticks,
)
from headroles.reports.summary import Role, Summary
from headroles.reports.words import CAPTION, extremes_sentence, layers_sentence, middle_sentence

CLOSE, STEP, SMALL_STEP = 20, 46, 34
"""Height of a row in pixels: where there are many, of means and charts, and of p values."""
STRONGEST = 3
"""Heads of a row whose intervals are drawn."""
SMALLEST = 1e-16
"""Smaller p values are drawn at this one."""
AT_SIDE: Mapping[str, Any] = {"x": 0, "xref": "paper", "xanchor": "left"}
FILLED = (Entry("holds the role", SOFT, "circle"), Entry("does not", SOFT, "circle-open"))
"""Marks of heads in the legends of figures whose rows bear the names of their roles."""
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
BETWEEN = ("quarter", "middle", "three quarters")
BY_LAYER = Table("", "Roles by layer", "a role and layer", (
    counted("row", "Place of the role."), counted("column", "Place of the layer."),
    counted("heads", "Heads of the layer with the role."),
))  # fmt: skip


def exponent(p: float) -> str:
    """Return a p value with its order of magnitude.

    Example:
        >>> exponent(0.0123), exponent(3.21e-9), exponent(float("nan")), exponent(0.0)
        ('0.012', '3.2e-09', '–', '<1e-16')
    """
    if p == 0:
        return f"<{SMALLEST:g}"
    return f"{p:.1e}" if p < 0.001 else p_text(p)


def figures(summary: Summary) -> tuple[Figure, ...]:
    """Return every figure in the order of the page; sensitivity and pairs only where the run computed them.

    Exact sets of roles are left out where there are many: hardly any two heads hold the same.
    """
    makers: list[Callable[[Summary], Figure | None]] = [means, p_values, sensitivity, layers, several]
    makers += [*[overlap] * (not summary.many), pairs]
    drawn = [make(summary) for make in makers if summary.roles]
    return tuple(figure for figure in drawn if figure is not None)


def look_of(role: Role) -> Look:
    """Return the colour and symbol of a role."""
    return Look(role.tone, SYMBOLS[role.symbol])


def _switches(summary: Summary) -> list[tuple[int, Look, str]]:
    """Return number, look and name of every role, whose traces a reader can switch on and off."""
    return [
        (place, look_of(role), title)
        for place, (role, title) in enumerate(zip(summary.roles, titles_of(summary.names), strict=True))
    ]


def _heads(
    summary: Summary, place: int, x: Float[np.ndarray, " heads"], y: Float[np.ndarray, " heads"],
    position: int, axis: str = "x", more: str = "",
) -> Iterator[Trace]:  # fmt: skip
    """Yield the heads of a role as two traces: those that hold the role, filled, and those that do not.

    A mark bears the number of its head; heads at NaN have none. The page looks up the numbers of the sieve at
    ``position`` in the one copy of all findings that it embeds. ``more`` is a further line of the hover text.
    """
    role, cells = summary.roles[place], np.arange(x.size, dtype=np.uint32)
    holds, look = summary.decided(role.position) == 0, look_of(role)
    for state, suffix, state_of in (("role", "", holds), ("no role", "-open", ~holds)):
        chosen = state_of & ~np.isnan(x)
        yield Trace({
            "type": "scatter", "x": x[chosen].astype(np.float32), "y": y[chosen].astype(np.float32),
            "xaxis": axis, "customdata": cells[chosen], "mode": "markers", "opacity": 0.85,
            "name": plain(titles_of(summary.sieves)[position]), "meta": {"role": place, "sieve": position},
            "marker": {"symbol": look.symbol + suffix, "color": look.colour, "size": 6},
            "hovertemplate": f"%{{fullData.name}}: {state}<br>layer %{{customdata[0]}} "
            f"head %{{customdata[1]}}<br>mean %{{customdata[2]:.3f}} [%{{customdata[3]:.3f}}, "
            f"%{{customdata[4]:.3f}}]{more}<extra></extra>",
        })  # fmt: skip


def _spread(size: int) -> Float[np.ndarray, " heads"]:
    """Return fixed heights within ±0.28 that keep neighbouring heads apart (golden-ratio steps)."""
    steps: np.ndarray = ((np.arange(size) * 0.6180339887498949) % 1 - 0.5) * 0.56
    return steps


def _upright(x: float, low: float, high: float, line: Mapping[str, Any], **refs: str) -> Shape:
    """Return a stroke in a row."""
    return Shape({"type": "line", **refs, "line": line, "x0": x, "x1": x, "y0": low, "y1": high})


def _quarters(values: Float[np.ndarray, " heads"], write: Callable[[float], str]) -> list[Cell]:
    """Return minimum, quartiles and maximum; NaN where there are no values."""
    found = np.quantile(values, QUARTERS).tolist() if values.size else [math.nan] * len(QUARTERS)
    return [Cell(write(value), value) for value in found]


def _rows_axis(names: Sequence[str], **settings: Any) -> Axis:
    """Return an axis whose rows bear the names of roles, the first on top."""
    own = settings or ticks(range(len(names)), map(plain, reversed(names)))
    return Axis("", {"range": [-0.6, len(names) - 0.4], "showgrid": False, **own})


def means(summary: Summary) -> Figure:
    """Draw the means, one row per role: score on the left, contrast on the right, threshold and chance."""
    roles, size, rows, marks = summary.roles, len(summary.roles), list[tuple[Cell, ...]](), list[Any]()
    titles = titles_of(summary.sieves)
    split = any(role.contrast for role in roles)
    ends = ("mean_low", "mean_high") if "mean_low" in summary.columns else ("low", "high")
    for place, role in enumerate(roles):
        level = float(size - 1 - place)
        strength = np.where(summary.decided(role.position) == 0, summary.of("mean", role.position), -np.inf)
        best = [k for k in np.argsort(-strength, kind="stable")[:STRONGEST] if strength[k] > -np.inf]
        halves = [(role.sieve, "x", role.threshold)]
        halves += [(role.contrast, "x2", role.contrast_threshold)] if role.contrast else []
        for name, axis, threshold in halves:
            position = summary.sieves.index(name)
            mean, null, q, low, high = (summary.of(key, position) for key in ("mean", "null", "q", *ends))
            shown = ~(np.isnan(mean) | np.isnan(q))
            heights = level + (_spread(mean.size) if summary.many else 0.85 * _spread(mean.size) - 0.13)
            drawn = [k for k in best if not math.isnan(low[k] + high[k])]
            if drawn:
                marks.append(Trace({
                    "type": "scatter", "mode": "lines", "name": "intervals", "xaxis": axis,
                    "x": [end for k in drawn for end in (float(low[k]), float(high[k]), None)],
                    "y": [end for k in drawn for end in (float(heights[k]), float(heights[k]), None)],
                    "line": {"color": tone(role.tone), "width": 1.5}, "hoverinfo": "skip",
                    "meta": {"role": place},
                }))  # fmt: skip
            marks += _heads(summary, place, np.where(shown, mean, np.nan), heights, position, axis)
            chance = math.nan if np.isnan(null).all() else float(np.nanmean(null))
            dotted = {"color": FAINT, "width": 2, "dash": "dot"}
            marks += [
                _upright(x, level - 0.44, level + 0.24, line, xref=axis, yref="y")
                for x, line in ((chance, dotted), (threshold, {"color": INK, "width": 2}))
                if not math.isnan(x)
            ]
            numbers = Cell(number(chance), chance), Cell(exact(threshold), threshold)
            rows.append((Cell(titles[position], len(rows)), *numbers, *_quarters(mean[shown], number)))
        if not summary.many:
            marks.append(Note(shortened(titles[role.position]), {
                "color": INK, **AT_SIDE, "y": level + 0.37, "yref": "y", "yanchor": "middle",
            }))  # fmt: skip
    parts = (control_of(role.contrast).split(" or ") for role in roles if role.contrast)
    controls = sorted({control for each in parts for control in each} - {""})
    title = "beyond " + "\nor ".join(controls) if controls else "contrast"
    if controls == [CONTROLS[VALUES]]:
        title = "minus the score by norm"
    second = Axis(title, {"showline": True, "nticks": 4, "domain": [0.64, 1], "anchor": "y"})
    header = ("mean of", "by chance", "threshold", "lowest", *BETWEEN, "highest")
    return Figure(
        "means", "Means and thresholds",
        f"Mean score of every head, a row per role{', its contrast on the right' * split}. "
        "A role lies beyond the solid stroke, the threshold.",
        "Filled: the head holds the role. Dotted stroke: by chance. "
        f"Lines: 95\u00a0% intervals of the {STRONGEST} strongest heads. "
        "Height within a row has no meaning.",
        marks=marks,
        x=Axis(f"mean {shortened(summary.account.statistic)}",
               {"showline": True, "nticks": 6, "domain": [0, 0.58 if split else 1]}),
        y=_rows_axis(titles_of(summary.names)) if summary.many
        else _rows_axis(summary.names, showticklabels=False, ticks=""),
        axes={"xaxis2": second} if split else {}, height=84 + (CLOSE if summary.many else STEP) * size,
        layout={} if summary.many else {"margin": {**MARGIN, "b": 60}},
        numbers=Sheet("Means and thresholds", header, tuple(rows)),
        switches=_switches(summary) if summary.many else (),
        legend=(*FILLED, Entry("threshold", INK, line="solid"), Entry("by chance", FAINT, line="dot")),
    )  # fmt: skip


def p_values(summary: Summary) -> Figure:
    """Draw every head's p before correction, one row per role, with the level and the correction's cut."""
    roles, decision, rows, marks = summary.roles, summary.decision, [], list[Any]()
    titles = titles_of(summary.names)
    corrected, level = decision.correction != "none", -math.log10(decision.alpha)
    for place, role in enumerate(roles):
        at, p = float(len(roles) - 1 - place), summary.of("p", role.position)
        strength = -np.log10(np.maximum(p, SMALLEST))
        hover = "<br>p %{customdata[5]}"
        marks += _heads(summary, place, strength, at + _spread(p.size), position=role.position, more=hover)
        held = p[summary.decided(role.position) == 0]
        largest = float(held.max()) if held.size else math.nan
        if not math.isnan(largest):
            x = -math.log10(max(largest, SMALLEST))
            marks.append(_upright(x, at - 0.42, at + 0.42, {"color": INK, "width": 2}))
        near = count_extreme_p(p)
        counts = (near.tests, int((p <= decision.alpha).sum()), role.tally.role)
        part = f"{near.near} ({percent_text(near.share)})" if near.tests else "–"
        rows.append((
            Cell(titles[place], place), *(Cell(str(count), count) for count in counts),
            Cell(exponent(largest), largest), *_quarters(p[~np.isnan(p)], exponent), Cell(part, near.share),
        ))  # fmt: skip
    marks += [
        Rule(level, dash="dash", colour=ACCENT, width=1),
        Note(f"p = {decision.alpha:g}",
             {"color": ACCENT, "x": level, "y": 1, "yref": "paper", "yanchor": "bottom"}),
    ]  # fmt: skip
    powers = range(0, round(-math.log10(SMALLEST)) + 1, 2)
    tests, found = sum(role.tally.tests for role in roles), sum(role.tally.role for role in roles)
    header = (
        "p of", "heads tested", f"p ≤ {decision.alpha:g}", "roles",
        "largest p left by the correction" if corrected else "largest p of a role", "smallest", *BETWEEN,
        "largest", f"near 0 or 1 ({NEAR:g})",
    )  # fmt: skip
    known = np.concatenate([summary.of("p", role.position) for role in roles])
    capped = int((known < SMALLEST).sum())
    verb = "is" if capped == 1 else "are"
    caption = [
        "Dashed: the level before correction. Solid: the largest p that the correction leaves as a role "
        f"({decision.correction}). Between the two: significant before correction only."
        if corrected else "Dashed: the level; nothing corrects it here. Solid: the largest p of a role.",
        "Each layer is corrected by itself, so some heads beyond the solid stroke hold no role."
        if corrected and decision.family == "layer" else "",
        "With a contrast, p is the larger of the two tests." if any(role.contrast for role in roles) else "",
        f"{plural(capped, 'value')} of p below {SMALLEST:g} {verb} drawn at {SMALLEST:g}." if capped else "",
    ]  # fmt: skip
    return Figure(
        "p-values", "p values",
        f"p of {plural(tests, 'test')}, one row per role and one mark per head, on a logarithmic axis; "
        f"{found:,} of them are roles, filled. {extremes_sentence(count_extreme_p(known))}".strip(),
        " ".join(filter(None, caption)), marks=marks,
        x=Axis("p, smaller to the right", {
            "showline": True, **ticks(powers, ["1", *(f"10<sup>−{power}</sup>" for power in powers[1:])]),
            "range": [-0.3, powers[-1] + 0.4],
        }),
        y=_rows_axis(titles), height=100 + (CLOSE if summary.many else SMALL_STEP) * len(roles),
        layout={"margin": {"l": 56, "r": 16, "t": 28, "b": 52}},
        numbers=Sheet("p values", header, tuple(rows)), switches=_switches(summary),
        legend=(*FILLED, Entry("largest p of a role", INK, line="solid")),
    )  # fmt: skip


def _counts(title: str, header: Iterable[str], rows: Iterable[tuple[str, Iterable[int | None]]]) -> Sheet:
    """Return a table of counts by row; a dash where there is none."""
    return Sheet(title, tuple(header), tuple(
        (Cell(name, place), *(MISSING if count is None else Cell(str(count), count) for count in counts))
        for place, (name, counts) in enumerate(rows)
    ))  # fmt: skip


def sensitivity(summary: Summary) -> Figure | None:
    """Draw the heads that keep each role at other margins and levels; None where none were tried."""
    roles, names, alpha = summary.roles, summary.names, summary.decision.alpha
    tried = [row for row in (summary.assessment.moved if summary.assessment else ()) if row.sieve in names]
    if not tried:
        return None
    title, titles = "Sensitivity to margin and alpha", dict(zip(names, titles_of(names), strict=True))
    margins = {role.sieve: float(summary.of("margin", role.position)[0]) for role in roles}
    used = {"margin": sorted({*margins.values()}), "alpha": [alpha]}
    values = {name: sorted({row.value for row in tried if row.convention == name}) for name in used}
    heads = {(row.convention, row.value, row.sieve): row.heads for row in tried}
    rows = []
    for convention, tolerance in (("margin", 1e-6), ("alpha", 0.0)):
        for value in values[convention]:
            is_used = any(math.isclose(value, level, abs_tol=tolerance) for level in used[convention])
            text = exact(value) if convention == "margin" else f"{value:g}"
            counts = [heads.get((convention, value, name)) for name in names]
            rows.append((f"{convention} {text}{' (used)' * is_used}", counts))
    at_used = {
        row.sieve: row.heads for row in tried
        if row.convention == "margin" and math.isclose(row.value, margins[row.sieve], abs_tol=1e-6)
    }  # fmt: skip
    differing = [
        f"{isolate(titles[role.sieve])} ({at_used[role.sieve]} against {role.tally.role})"
        for role in roles if at_used.get(role.sieve, role.tally.role) != role.tally.role
    ]  # fmt: skip
    caption = (
        "Margin and alpha are conventions. Contrasts keep their margins. Each point is decided with a "
        "correction of its own."
    )
    if differing:
        caption += (
            " The curve is drawn with another test or correction, so it differs from the verdict at the "
            f"margin used: {join_names(differing)}."
        )
    known, legend, most = {row.sieve for row in tried}, dict[Look, Entry](), max(row.heads for row in tried)
    for role in roles if summary.many else ():  # roles of one group look alike
        look, group = look_of(role), role.sieve.partition(":")
        name = f"{group[0]}:…" if group[1] else f"{role.code}  {titles[role.sieve]}"
        legend.setdefault(look, Entry(plain(name), look.colour, look.symbol))

    def drawn(key: str, convention: str, sentence: str, settings: Mapping[str, Any], **more: Any) -> Figure:
        hover = f"%{{fullData.name}}<br>{convention} %{{x}}, heads: %{{y}}<extra></extra>"
        marks = list[Any]()
        for place, role in enumerate(roles):
            x = [value for value in values[convention] if (convention, value, role.sieve) in heads]
            y = [heads[convention, value, role.sieve] for value in x]
            number = place if role.sieve in known else -1
            marks.append(Line(x, y, titles[role.sieve], look_of(role), hover, number=number, size=7))
        for value in used[convention]:
            at = math.log10(value) if convention == "alpha" else value
            where = {"color": ACCENT, "x": at, "y": 1, "yref": "paper", "yanchor": "bottom"}
            marks += [Rule(value, dash="dash", colour=ACCENT, width=1), Note(f"used: {value:g}", where)]
        return Figure(
            key, title, sentence, caption, marks=marks, x=Axis(convention, {"showline": True, **settings}),
            y=Axis("heads with the role", {"range": [0, max(most, 1) * 1.06]}), height=300,
            layout={"margin": {"l": 48, "r": 12, "t": 28, "b": 52}}, legend=[*legend.values()], **more,
        )  # fmt: skip

    sentence = (
        f"Heads with each role at other margins (used: {join_names([*map(exact, used['margin'])])}) "
        f"and other levels (used: {alpha:g})."
    )
    beside = "Number of heads that hold each role as the level alpha moves."
    powers = [f"{value:g}" if f"{value:e}".startswith("1.000000e") else "" for value in values["alpha"]]
    logarithmic = {"type": "log", **ticks(values["alpha"], powers), "tickangle": 0}
    return drawn(
        "sensitivity", "margin", sentence, {}, numbers=_counts(title, ("moved to", *titles.values()), rows),
        beside=drawn("sensitivity-alpha", "alpha", beside, logarithmic),
    )  # fmt: skip


def layers(summary: Summary) -> Figure:
    """Draw heads with each role in each layer: a small chart per role, or one map where there are many."""
    roles, stack, size = summary.roles, summary.stack, len(summary.roles)
    titles = titles_of(summary.names)
    tallest = max((max(role.layers, default=0) for role in roles), default=0)
    shared: dict[str, Any] = {
        "key": "layers", "title": "Roles by layer",
        "sentence": f"Heads with each role in each of the {plural(len(stack.layers), 'layer')}.",
        "caption": f"One scale for all roles: the {'darkest cell' if summary.many else 'tallest bar'} is "
        f"{tallest} of {plural(summary.heads, 'head')} of a layer.",
        "numbers": _counts(
            "Roles by layer", ("role", *(f"layer {layer}" for layer in stack.numbers)),
            ((title, role.layers) for title, role in zip(titles, roles, strict=True)),
        ),
    }  # fmt: skip
    if summary.many:
        cells = [
            {"row": row, "column": column, "heads": count}
            for row, role in enumerate(roles) for column, count in enumerate(role.layers)
        ]  # fmt: skip
        names = [plain(title) for title in titles]
        hover = "%{hovertext}<br>layer %{customdata[1]}, heads: %{customdata[2]}<extra></extra>"
        settings = {
            "size": 11, "layers": stack, "along": "x",
            "hovertext": [name for name in names for _ in range(summary.layers)],
        }  # fmt: skip
        return Figure(
            rows=BY_LAYER.rows(cells),
            marks=[Cells("row", "column", "heads", ("var(--panel)", "var(--tone-0)"), (0, max(tallest, 1)),
                         "layers", hover, text=lambda row: str(row.heads or ""), settings=settings)],
            x=Axis("layer", drawing.layer_ticks(stack, 1 if summary.layers <= 16 else 4, by_place=True)),
            y=Axis("", ticks(range(size), names)),
            height=80 + CLOSE * size, layout={"margin": MARGIN}, **shared,
        )  # fmt: skip
    marks, axes = list[Any](), {}
    for row, role in enumerate(roles):
        axis = f"y{row + 1 if row else ''}"
        axes[axis.replace("y", "yaxis")] = Axis("", {
            "range": [0, max(tallest, 1) * 1.9], "visible": False, "anchor": "x",
            "domain": [1 - (row + 1) / size, 1 - row / size],
        })  # fmt: skip
        marks += [
            Trace({
                "type": "bar", "x": [*stack.numbers], "y": [*role.layers], "yaxis": axis,
                "name": plain(titles[row]), **drawing.bar_width(stack), "marker": {"color": tone(role.tone)},
                "text": [str(count) if count and summary.layers <= 16 else "" for count in role.layers],
                "textposition": "outside", "cliponaxis": False, "textangle": 0,
                "textfont": {"color": SOFT, "size": 11},
                "hovertemplate": "%{fullData.name}<br>layer %{x}, heads: %{y}<extra></extra>",
            }),
            Shape({"type": "line", "xref": "x domain", "x0": 0, "x1": 1, "yref": axis, "y0": 0, "y1": 0,
                   "line": {"color": FAINT, "width": 1}}),
            Note(shortened(titles[row]),
                 {"color": INK, **AT_SIDE, "y": 1, "yref": f"{axis} domain", "yanchor": "top"}),
        ]  # fmt: skip
    return Figure(
        marks=marks, axes=axes, height=60 + STEP * size, layout={"margin": MARGIN, "bargap": 0.25},
        x=_whole_layers(summary, ticks=""), **shared,
    )  # fmt: skip


def _whole_layers(summary: Summary, **settings: Any) -> Axis:
    """Return an axis of all layers below several charts."""
    ends = {"range": [-0.6, summary.stack.blocks - 0.4], "tickmode": "linear"}
    return layers_axis(summary.stack, showgrid=False, anchor="free", position=0, **ends, **settings)


def several(summary: Summary) -> Figure | None:
    """Draw roles a head above the share of heads with several, layer by layer; None where not counted."""
    rows, stack = summary.assessment.several if summary.assessment else (), summary.stack
    if not rows:
        return None
    marks, axes = list[Any](), {}
    layers = [row for row in map(vars, rows) if row["scope"] not in ("all", MIDDLE)]
    parts = (
        ("mean", 1, "", "Roles a head", (0.58, 1.0)),
        ("several", 100, "2", "Heads with two or more roles, %", (0.0, 0.42)),
    )
    for name, factor, axis, title, domain in parts:
        ends = [tuple(factor * row[key] for key in (name, f"{name}_low", f"{name}_high")) for row in layers]
        top = max(high for _, _, high in ends) or 1
        axes[f"yaxis{axis}"] = Axis(
            "", {"domain": [*domain], "range": [-0.06 * top, 1.15 * top], "nticks": 4, "anchor": "x"}
        )
        marks += [
            Trace({
                "type": "scatter", "x": [*stack.numbers], "y": [mean for mean, _, _ in ends],
                "yaxis": f"y{axis}", "mode": "lines+markers", "line": {"color": FAINT, "width": 1},
                "marker": {"color": INK, "size": 8},
                "error_y": drawing.error_bars(ends, color=INK, thickness=1.4, width=3),
                "customdata": [[low, high] for _, low, high in ends],
                "hovertemplate": "layer %{x}: %{y:.2f} [%{customdata[0]:.2f}, %{customdata[1]:.2f}]"
                "<extra></extra>",
            }),
            Note(title, {**AT_SIDE, "y": 1, "yref": f"y{axis} domain", "yanchor": "bottom"}),
        ]  # fmt: skip
    return Figure(
        "several", "Heads with several roles", f"{layers_sentence(rows)} {middle_sentence(rows)}".strip(),
        CAPTION, rows, marks, x=_whole_layers(summary), axes=axes, height=300,
        layout={"margin": {"l": 56, "r": 16, "t": 24, "b": 48}}, numbers=rows.sheet(),
    )  # fmt: skip
