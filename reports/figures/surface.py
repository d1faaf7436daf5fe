"""Figures of a surface run as in Clark et al. (2019): layers along x, a mark per head."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from headroles.records.findings import Labelling
from headroles.records.numbers import number
from headroles.records.table import Row, Table
from headroles.reports.figures import drawing
from headroles.reports.figures.drawing import (
    SOFT,
    SYMBOLS,
    add_scatter,
    blank,
    error_bars,
    layer_axis,
    set_axis,
)
from headroles.reports.figures.panel import Panel, plain
from headroles.reports.words.surface import (
    DECISION_WORDS,
    GROUP,
    MEASURES,
    ROWS,
    has_scores,
    interval_text,
    layer_interval,
    layers_of,
    short_name,
    value_text,
)

ATTENTION, ENTROPY, IMPORTANCE = "attention", "entropy", "importance"
TONES = {"first": 0, "separator": 1, "punctuation": 2, "other": 7}
"""Colours of kinds of tokens, the same in every figure; other series take them in turn."""
SHARES = {
    "first": ("the first token", ("first", "separator", "text")),
    "separator": ("separators", ("first", "separator", "own-text", "other-text")),
}
"""Rows of special tokens: whose they are, and the keys among which they are divided."""
STEP = 0.17
"""Between the marks of two series in one layer, so that they do not hide each other."""
LINEAR = {"rangemode": "tozero", "exponentformat": "e"}
LOGARITHMIC = {"type": "log", "dtick": 1, "tickformat": ".0e", "minor": {"dtick": "D1", "ticks": "outside"}}
DENSE = 300
"""Heads above which their marks are small and faint."""
STEEP = 20.0
"""Ratio of the largest to the smallest layer mean above which importance has a logarithmic axis."""


@dataclass(frozen=True, slots=True)
class Series:
    """One column in a figure.

    Attributes:
        column: Its name.
        label: In few words.
        number: Of its button and its traces.
        tone: Number of its colour.
    """

    column: str
    label: str
    number: int
    tone: int

    @property
    def colour(self) -> str:
        """Return its colour as a CSS variable."""
        return f"var(--tone-{self.tone})"


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """A figure of the page with its legend.

    Attributes:
        part: The part of the page it stands in: attention, entropy or importance.
        panel: Title, plot and the table behind it.
        series: What is drawn, in the order of the legend.
    """

    part: str
    panel: Panel
    series: tuple[Series, ...]


def figures(labelling: Labelling) -> tuple[Figure, ...]:
    """Draw every figure that has something to show, in the order of the page.

    Args:
        labelling: Of a surface run.
    """
    panels = []
    for part, key, title, columns in _possible_figures(labelling):
        series = _series([column for column in columns if has_scores(labelling.findings, column)])
        if series:
            panels.append(_figure(labelling, part, (key, title), series))
    return tuple(panels)


def _possible_figures(labelling: Labelling) -> list[tuple[str, str, str, tuple[str, ...]]]:
    """Return part of the page, key, title and columns of every possible figure."""
    at = "{}:{}".format
    wanted = [
        (ATTENTION, "kinds", "To the first token, separators and punctuation",
         tuple(at(GROUP, kind) for kind in ("first", "separator", "punctuation"))),
        (ATTENTION, "separators", "To separators, from separators and from other tokens",
         (at(GROUP, "separator→separator"), at(GROUP, "other→separator"))),
        (ATTENTION, "neighbours", "To the previous, the next and the same token",
         tuple(at(GROUP, place) for place in ("previous", "next", "self"))),
        (ENTROPY, "entropy", "Entropy of all rows", (at(GROUP, "entropy"),)),
        (ENTROPY, "entropy-first", "Entropy of the first token's row", (at(GROUP, "entropy-first"),)),
    ]  # fmt: skip
    if any(name in labelling.findings.sieves for name in ROWS):
        wanted[3:3] = [
            (
                ATTENTION,
                f"rows-{kind}",
                f"From {title}",
                tuple(at(GROUP, f"{kind}→{keys}") for keys in shares),
            )
            for kind, (title, shares) in SHARES.items()
        ]
    for place, (measure, formula) in enumerate(MEASURES.items()):
        columns = tuple(
            name for name in labelling.findings.sieves if name.partition(":")[0] == measure
        )  # fmt: skip
        wanted.append((IMPORTANCE, f"importance-{place}", formula, columns))
    return wanted


def _series(columns: Sequence[str]) -> tuple[Series, ...]:
    """Return the columns of a figure with their labels and colours."""
    tones = [TONES.get(column.partition(":")[2], 3 * (place > 0)) for place, column in enumerate(columns)]
    if len(set(tones)) < len(tones):
        tones = list(range(len(tones)))
    pairs = enumerate(zip(columns, tones, strict=True))
    return tuple(Series(column, short_name(column), place, tone) for place, (column, tone) in pairs)


def _figure(
    labelling: Labelling, part: str, name: tuple[str, str], series: tuple[Series, ...]
) -> Figure:  # fmt: skip
    """Draw one figure with its words and its table."""
    stack = labelling.scores.stack
    figure = blank(340)
    shifts = [STEP * (column.number - (len(series) - 1) / 2) for column in series]
    rows = {column.column: layers_of(labelling, column.column) for column in series}
    for line, shift in zip(series, shifts, strict=True) if part != IMPORTANCE else ():
        _even(figure, line, rows[line.column], part)
        _heads(figure, labelling, line, shift)
    for line, shift in zip(series, shifts, strict=True):
        _means(figure, line, rows[line.column], shift)
    layer_axis(figure, stack, range=[-0.6, stack.blocks - 0.4], showgrid=False)
    title = {ATTENTION: "mean attention", ENTROPY: "entropy (nats)", IMPORTANCE: name[1]}[part]
    steep = part == IMPORTANCE and _steep(labelling, series)
    set_axis(figure, "yaxis", title=title, **(LOGARITHMIC if steep else LINEAR))
    sentence = _highlight(labelling, series, part)
    panel = Panel(*name, sentence, "", figure, *_table(labelling, series, part))
    return Figure(part, panel, series)


def _heads(figure: drawing.Figure, labelling: Labelling, series: Series, shift: float) -> None:
    """Draw a mark per head: filled above even attention, open where it is not."""
    findings = labelling.findings
    place = findings.of(series.column)
    place_of_layer, head = (index.ravel() for index in np.indices(findings.mean.shape[1:]))
    layer = labelling.scores.stack.positions[place_of_layer]
    scored = ~np.isnan(findings.mean[place].ravel())
    names = ("mean", "low", "high", "null", "q", "q_not")
    values = [getattr(findings, name)[place].ravel() for name in names]
    decided = findings.decision[place].ravel()[scored]
    symbol = SYMBOLS[series.number % len(SYMBOLS)]
    dense = layer.size > DENSE
    custom: Float[np.ndarray, "heads numbers"] = np.column_stack([*values, layer, head])[scored]
    add_scatter(
        figure, x=(layer[scored] + shift).astype(np.float32), y=values[0][scored].astype(np.float32),
        mode="markers",
        name=plain(series.label), meta={"role": series.number}, customdata=custom.astype(np.float32),
        text=[DECISION_WORDS[code] for code in decided.tolist()],
        marker={
            "symbol": [symbol if code == 0 else f"{symbol}-open" for code in decided.tolist()],
            "color": series.colour, "line": {"color": series.colour, "width": 1}, "size": 4 if dense else 6,
            "opacity": 0.4 if dense else 0.7,
        },
        hovertemplate="%{fullData.name}<br>layer %{customdata[6]} head %{customdata[7]}: %{text}<br>"
        "mean %{customdata[0]:.3f} [%{customdata[1]:.3f}, %{customdata[2]:.3f}], even %{customdata[3]:.3f}"
        "<br>q above %{customdata[4]:.2g}, q below %{customdata[5]:.2g}<extra></extra>",
    )  # fmt: skip


def _means(figure: drawing.Figure, series: Series, rows: Table, shift: float) -> None:
    """Draw a line through the layers' means, each with its 95 % interval."""
    ends = [(row.mean, row.low, row.high) for row in rows]
    add_scatter(
        figure, x=np.array([row.layer + shift for row in rows]), y=np.array([row.mean for row in rows]),
        mode="lines+markers", name=plain(series.label), meta={"role": series.number},
        line={"color": series.colour, "width": 2},
        marker={"symbol": "line-ew-open", "size": 11, "color": series.colour, "line": {"width": 3}},
        error_y=error_bars(ends, color=series.colour, thickness=1.5, width=4),
        customdata=np.array([(row.layer, row.low, row.high) for row in rows]),
        hovertemplate="%{fullData.name}, mean of layer %{customdata[0]}<br>%{y:.4~g} "
        "[%{customdata[1]:.4~g}, %{customdata[2]:.4~g}]<extra></extra>",
    )  # fmt: skip


def _even(figure: drawing.Figure, series: Series, rows: Table, part: str) -> None:
    """Draw the value of even attention as a broken line from end to end."""
    if not rows:
        return
    value = float(np.mean([row.even for row in rows]))
    ends = np.array([rows[0].layer - 0.5, rows[-1].layer + 0.5])
    alone = part == ENTROPY
    add_scatter(
        figure, x=ends, y=np.array([value, value]), mode="lines", meta={"role": series.number},
        name=plain(series.label), hovertemplate=f"%{{fullData.name}}, even {value:.3g}<extra></extra>",
        line={"color": SOFT if alone else series.colour, "width": 1.5, "dash": "dash" if alone else "dot"},
    )  # fmt: skip


def _steep(labelling: Labelling, series: Sequence[Series]) -> bool:
    """Return whether the layers' means span too much for a linear axis, and none reaches down to 0."""
    rows = [row for column in series for row in layers_of(labelling, column.column)]
    lows = [row.mean if np.isnan(row.low) else row.low for row in rows]
    means = [row.mean for row in rows]
    return bool(rows) and min(lows) > 0 and max(means) > STEEP * min(means)


def _highlight(labelling: Labelling, series: Sequence[Series], part: str) -> str:
    """Return the layer with the largest mean of every series; with one series, the smallest as well."""
    parts = []
    for column in series:
        rows = sorted(layers_of(labelling, column.column), key=lambda row: row.mean)
        ends = [f"layer {row.layer} ({_mean_text(column.column, row, part)})" for row in rows[:1] + rows[-1:]]
        if len(rows) > 1 and len(series) == 1:
            return f"Mean over a layer: from {ends[0]} to {ends[1]}."
        parts += [f"{column.label} in {ends[-1]}"] if ends else []
    alone = labelling.findings.count.shape[1] == 1
    which = "Mean over the only layer" if alone else "Largest mean over a layer"
    return f"{which}: {'; '.join(parts)}." if parts else "No means over layers."


def _mean_text(column: str, row: Row, part: str) -> str:
    """Return a layer's mean, with its interval where digits are few."""
    return value_text(column, row.mean) if part == IMPORTANCE else interval_text(column, layer_interval(row))


def _table(
    labelling: Labelling, series: Sequence[Series], part: str
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return every mean with its interval layer by layer and, but for importance, even attention."""
    header, rows = ["layer"], []
    for column in series:
        header += [f"{column.label} [95\u00a0%]"] + ["even"] * (part != IMPORTANCE)
    for layer in labelling.scores.stack.numbers:
        cells = [str(layer)]
        for column in series:
            layer_row = {row.layer: row for row in layers_of(labelling, column.column)}.get(layer)
            cells.append(interval_text(column.column, layer_interval(layer_row)) if layer_row else "–")
            cells += [number(layer_row.even) if layer_row else "–"] * (part != IMPORTANCE)
        rows.append(tuple(cells))
    return tuple(header), tuple(rows)
