"""Figures of probes: the best heads with their baselines, trained probes, learned weights."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from headroles.records.example import Scores
from headroles.records.numbers import percent
from headroles.records.probes import classifier_name
from headroles.records.table import Row, Table
from headroles.reports.figures.drawing import (
    FAINT,
    INK,
    RULE,
    SOFT,
    Figure,
    add_cells,
    add_note,
    add_scatter,
    blank,
    layer_ticks,
    set_axis,
)
from headroles.reports.figures.panel import plain
from headroles.reports.words.probes import (
    Published,
    accuracy,
    difference,
    head_name,
    split_row,
)

ROW = 28
"""Height of a row in pixels."""
LOOKS = {
    "beyond": ("var(--tone-0)", "diamond"),
    "not": ("var(--tone-1)", "circle"),
    "undetermined": ("var(--tone-7)", "square"),
    "untestable": (FAINT, "x"),
}
"""Colour and symbol of a tested accuracy by decision; the page's key draws the same."""
NEGATIVE, POSITIVE = "var(--tone-0)", "var(--tone-1)"
STRONG = 0.5
"""Least part of the largest weight at which a cell bears its sign."""


def best_figure(best: Table, published: Mapping[str, Published]) -> Figure:
    """Draw one row per relation or kind of mention: tested accuracy, selection, baseline, published value.

    Args:
        best: Of one probe, from the top down.
        published: By row.
    """
    rows = [*best]
    figure = _rows([f"{split_row(row.row)[1]}  {head_name(row)}" for row in rows])
    levels = dict(zip((row.row for row in rows), range(len(rows) - 1, -1, -1), strict=True))
    _whiskers(figure, [(row.low, row.high, levels[row.row]) for row in rows])
    texts = [_hover(row, published.get(row.row)) for row in rows]
    y = list(levels.values())
    baseline = {"symbol": "line-ns-open", "size": 17, "color": INK, "line": {"width": 2, "color": INK}}
    _marks(figure, "baseline", [row.baseline_accuracy for row in rows], y, texts, baseline)
    hollow = {"symbol": "circle-open", "size": 11, "color": SOFT, "line": {"width": 1.5, "color": SOFT}}
    _marks(figure, "chosen", [row.selection for row in rows], y, texts, hollow)
    for decision, (colour, symbol) in LOOKS.items():
        chosen = [k for k, row in enumerate(rows) if row.decision == decision]
        mark = {"symbol": symbol, "size": 10, "color": colour}
        tested = [rows[k].accuracy for k in chosen]
        _marks(figure, decision, tested, [y[k] for k in chosen], [texts[k] for k in chosen], mark)
    published_rows = [k for k, row in enumerate(rows) if row.row in published]
    small = {"symbol": "x-thin-open", "size": 7, "color": FAINT, "line": {"width": 1.5, "color": FAINT}}
    values = [published[rows[k].row].accuracy for k in published_rows]
    _marks(
        figure, "published", values, [y[k] for k in published_rows], [texts[k] for k in published_rows], small
    )
    return figure


def _rows(names: Sequence[str]) -> Figure:
    """Return an empty figure of named rows, from the top down, over per cent."""
    figure = blank(70 + ROW * max(len(names), 1), margin={"l": 12, "r": 16, "t": 8, "b": 48})
    set_axis(
        figure, "yaxis", tickmode="array", tickvals=list(range(len(names))),
        ticktext=[plain(name) for name in reversed(names)],
        range=[-0.7, len(names) - 0.3], showgrid=True, gridcolor=RULE,
    )  # fmt: skip
    ticks = [0, 20, 40, 60, 80, 100]
    set_axis(figure, "xaxis", title="% right", range=[-2, 102], tickvals=ticks, showline=True)
    return figure


def _whiskers(figure: Figure, ends: Sequence[tuple[float, float, int]]) -> None:
    """Draw the intervals of all rows as one trace of separate lines."""
    known = [(low, high, level) for low, high, level in ends if not math.isnan(low + high)]
    add_scatter(
        figure, x=[value for low, high, _ in known for value in (100 * low, 100 * high, None)],
        y=[value for *_, level in known for value in (level, level, None)],
        mode="lines", line={"color": SOFT, "width": 2}, hoverinfo="skip",
    )  # fmt: skip


def _marks(
    figure: Figure,
    name: str,
    values: Sequence[float],
    levels: Sequence[int],
    texts: Sequence[str],
    mark: dict[str, object],
) -> None:
    """Draw one kind of mark; plotly leaves out values without a number."""
    add_scatter(
        figure, x=[None if math.isnan(value) else 100 * value for value in values], y=list(levels),
        mode="markers", name=name, marker=mark, text=list(texts), hovertemplate="%{text}<extra></extra>",
    )  # fmt: skip


def _hover(row: Row, published: Published | None) -> str:
    """Return the hover text of a row."""
    lines = [
        f"<b>{plain(split_row(row.row)[1])}</b>: {plain(head_name(row))}, {plain(row.decision)}",
        f"tested {accuracy(row)} on {row.items:,} items",
        f"chosen {percent(row.selection)}",
        f"{plain(row.baseline)} {percent(row.baseline_accuracy)}, difference {difference(row)}",
    ]
    if published is not None:
        lines.append(f"published {percent(published.accuracy)}")
    return "<br>".join(lines)


def trained_figure(rows: Table, published: Mapping[str, Published]) -> Figure:
    """Draw the UAS of trained probes with intervals; controls are hollow, baselines square.

    Args:
        rows: From the top down.
        published: Those of a probe stand under ``"trained:NAME"``.
    """
    trained = [*rows]
    figure = _rows([classifier_name(probe) for probe in trained])
    levels = list(range(len(trained) - 1, -1, -1))
    _whiskers(figure, [(probe.low, probe.high, level) for probe, level in zip(trained, levels, strict=True)])
    looks: dict[str, dict[str, object]] = {
        "trained": {"symbol": "circle", "size": 11, "color": "var(--tone-0)"},
        "random": {"symbol": "circle-open", "size": 11, "color": "var(--tone-0)", "line": {"width": 2}},
        "": {"symbol": "square", "size": 10, "color": "var(--tone-7)"},
    }
    for weights, mark in looks.items():
        chosen = [k for k, probe in enumerate(trained) if probe.weights == weights]
        texts = [f"{plain(classifier_name(trained[k]))}: {accuracy(trained[k], field='uas')}" for k in chosen]
        _marks(
            figure,
            weights or "baseline",
            [trained[k].uas for k in chosen],
            [levels[k] for k in chosen],
            texts,
            mark,
        )
    small = {"symbol": "x-thin-open", "size": 8, "color": FAINT, "line": {"width": 1.5, "color": FAINT}}
    published_rows = [
        (k, published[name]) for k, name in enumerate(map(_published_row, trained)) if name in published
    ]
    texts = [f"published {percent(probe.accuracy)}" for _, probe in published_rows]
    _marks(
        figure,
        "published",
        [probe.accuracy for _, probe in published_rows],
        [levels[k] for k, _ in published_rows],
        texts,
        small,
    )
    set_axis(figure, "xaxis", title="UAS, %")
    return figure


def _published_row(trained: Row) -> str:
    """Return the row under which a trained probe was published."""
    return f"trained:{classifier_name(trained)}"


def weights_figure(weights: Table, direction: str, scores: Scores, reach: float) -> Figure:
    """Draw layers × heads in one direction, on a scale symmetric around 0.

    Args:
        weights: Of one classifier, with the positions of their layers.
        direction: "→" or "←".
        scores: Of the run, which has its layers and heads.
        reach: Weight at the ends of the scale.
    """
    layers, heads = scores.layers, scores.heads
    values = weight_grid(weights, direction, scores)
    figure = blank(80 + (34 if layers <= 16 else 22) * layers, margin={"l": 44, "r": 8, "t": 34, "b": 48})
    signs = [[_sign(value, reach) for value in row] for row in values.tolist()]
    add_cells(
        figure, values, (NEGATIVE, "var(--panel)", POSITIVE), (-reach, reach), text=signs, size=14,
        layers=scores.stack,
        colorbar={"tickfont": {"color": SOFT, "size": 12}},
        hovertemplate=f"{direction} layer %{{customdata[0]}} head %{{customdata[1]}}<br>"
        "weight %{customdata[2]:.2f}<extra></extra>",
    )  # fmt: skip
    meaning = "a word attends to its head" if direction == "→" else "a head word attends to its dependent"
    add_note(
        figure, f"{direction} {meaning}", size=13, color=INK, x=0, xref="paper", xanchor="left", y=1,
        yref="paper", yanchor="bottom",
    )  # fmt: skip
    set_axis(figure, "yaxis", title="layer", **layer_ticks(scores.stack, _step(layers), by_place=True))
    set_axis(figure, "xaxis", title="head", dtick=_step(heads))
    return figure


def weight_grid(weights: Table, direction: str, scores: Scores) -> Float[np.ndarray, "layers heads"]:
    """Return weights in one direction by layer and head; NaN where there is none."""
    values = np.full((scores.layers, scores.heads), np.nan)
    for weight in weights.where(direction=direction):
        values[scores.stack.place(weight.layer), weight.head] = weight.weight
    return values


def _sign(value: float, reach: float) -> str:
    """Return the sign of a large weight; "" for others."""
    if math.isnan(value) or abs(value) < STRONG * reach:
        return ""
    return "+" if value > 0 else "−"


def _step(size: int) -> int:
    """Return the distance between tick labels."""
    return 1 if size <= 16 else 4
