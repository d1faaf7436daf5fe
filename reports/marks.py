"""Figures as marks over the rows of a table, and their form in plotly's JSON.

A figure names columns; hover texts, the legend and the numbers behind it follow from the same rows. Colours
are CSS variables, written as ``var(--name)``; the page fills in the colours of the theme.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from markupsafe import Markup

from headroles.records.layers import Stack
from headroles.records.table import Row, Sheet, Table
from headroles.reports import drawing
from headroles.reports.drawing import FAINT, INK, SYMBOLS, add_scatter, layer_ticks, plain, set_axis
from headroles.reports.drawing import Figure as PlotlyFigure

SIGNS = {
    "circle": "●", "circle-open": "○", "square": "■", "diamond": "◆", "line-ns-open": "┃", "x": "×",
    "x-thin-open": "×",
}  # fmt: skip
"""Signs of symbols in the key of a page, by plotly's names."""
NOTHING = Table("", "", "", ())
"""Rows of figures that draw themselves."""
STEP = 22
"""Height of a row of a forest plot in pixels."""
INTERVAL = (
    "%{text}<br>%{fullData.name}: %{x:.3~g} [%{customdata[0]:.3~g}, %{customdata[1]:.3~g}]<extra></extra>"
)
"""Hover text of a dot with a level interval: the row, the trace, the value with its ends."""


@dataclass(frozen=True, slots=True)
class Look:
    """Colour and symbol of a word, everywhere: in figures, maps, legends and cells of tables.

    Attributes:
        tone: Number of a colour of the page, or a colour such as ``INK``.
        symbol: Plotly's name of the symbol.
    """

    tone: int | str
    symbol: str = "circle"

    @property
    def colour(self) -> str:
        """Return the colour as the page knows it."""
        return f"var(--tone-{self.tone})" if isinstance(self.tone, int) else self.tone

    @property
    def number(self) -> int:
        """Return the number of the symbol, filled, in the legend of a page."""
        return SYMBOLS.index(self.symbol.removesuffix("-open"))


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a legend.

    Attributes:
        name: Its text, escaped for plotly.
        colour: Of its mark.
        symbol: Of its mark; "" for none.
        line: "solid", "dash" or "dot" for a line; "" for a mark.
    """

    name: str
    colour: str = INK
    symbol: str = ""
    line: str = ""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis.

    Attributes:
        title: Its title, with line breaks.
        settings: As plotly names them.
    """

    title: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dots:
    """Dots with intervals: a trace for every word of a column, or one trace.

    Attributes:
        x: Column along the first axis.
        y: Column along the second; "" for a line of its own for every row, the first on top (a forest plot).
        ends: Columns of the ends of the interval, which lies along y, or along x in a forest plot.
        by: Column of the words that decide the look; "" for one trace.
        looks: Look by word; rows with other words are not drawn.
        name: Name of the only trace.
        shift: Height above the middle of a row of a forest plot.
        size: Size in pixels.
        line: Width of outlines and intervals in pixels.
        hover: Template of the hover text; "" for none.
        custom: Columns that the hover text finds in ``customdata``; () for the ends.
        text: Writes the text of a row on hover, in lines; it is escaped unless it is ``Markup``. None for the
            name of the row.
        bars: Colour of intervals; "" for that of their dots.
        marker: Further settings of the marks, as plotly names them.
        toggles: Names the button that switches a word on and off; None for no buttons.
        level: Whether the interval lies along x, though rows have a ``y``.
        rows: Another table that it draws; None for that of the figure.
        filled: Whether the mark of a row is filled, and not open; None where looks say it.
        joined: Whether a line joins the dots of a word.
        cap: Length of the strokes at the ends of intervals in pixels.
    """

    x: str
    y: str = ""
    ends: tuple[str, ...] = ()
    by: str = ""
    looks: Mapping[Any, Look] = field(default_factory=dict)
    name: str = ""
    shift: float = 0.0
    size: float = 8
    line: float = 1.5
    bars: str = ""
    hover: str = INTERVAL
    custom: tuple[str, ...] = ()
    text: Callable[[Row], str] | None = None
    marker: Mapping[str, Any] = field(default_factory=dict)
    toggles: Callable[[str], str] | None = None
    level: bool = False
    rows: Table | None = None
    filled: Callable[[Row], bool] | None = None
    joined: bool = False
    cap: int = 0

    @property
    def buttons(self) -> dict[str, int]:
        """Return the number of every button by its name."""
        names = dict.fromkeys(map(self.toggles, self.looks)) if self.toggles else ()
        return {name: number for number, name in enumerate(names)}


@dataclass(frozen=True, slots=True)
class Span:
    """A broad line from one column to another in every row of a forest plot, with a stroke between."""

    low: str
    high: str
    middle: str
    name: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A line across the plot at a value of an axis; none at NaN."""

    at: float
    axis: str = "x"
    name: str = ""
    dash: str = ""
    colour: str = INK
    width: float = 1.5


@dataclass(frozen=True, slots=True)
class Line:
    """A line with marks through the rows, or through points.

    Attributes:
        x: Column along the first axis, or values.
        y: Column along the second axis, or values.
        name: Name of the trace.
        look: Its look; a symbol "" for a line without marks.
        hover: Template of the hover text; "" for none.
        dash: As plotly names it; "" for a solid line.
        number: Of the button that switches it off, its own if it has marks; −1 for none.
        ends: Columns or values of the ends of intervals along the second axis.
        custom: Columns or values that the hover text finds in ``customdata``, before the ends.
        axis: Plotly's name of the second axis; "" for the first of them.
        width: Of the line in pixels.
        size: Of the marks in pixels.
    """

    x: str | Sequence[float]
    y: str | Sequence[float]
    name: str
    look: Look
    hover: str = ""
    dash: str = ""
    number: int = -1
    ends: Sequence[str | Sequence[float]] = ()
    custom: Sequence[str | Sequence[float]] = ()
    axis: str = ""
    width: float = 2
    size: int = 8


@dataclass(frozen=True, slots=True)
class Cells:
    """A field of cells, shaded by a column; the first row lies at the top.

    Attributes:
        row: Column of the row of a cell, from 0.
        column: Column of its place in the row, from 0.
        value: Column of the shade; cells at NaN are left out.
        shade: Colours of the lowest value, those between, and the highest.
        ends: Values of the first and the last colour.
        name: Name of the trace; "" for none.
        hover: Template of the hover text, after ``customdata`` of row, column, value and ``custom``.
        custom: Further columns of the hover text.
        text: Writes what stands in a cell; None for nothing.
        settings: Further settings, as ``drawing.add_cells`` names them.
        meanings: Colours by their meaning, for the legend of a figure that stands alone.
    """

    row: str
    column: str
    value: str
    shade: tuple[str, ...]
    ends: tuple[float, float]
    name: str
    hover: str
    custom: tuple[str, ...] = ()
    text: Callable[[Row], str] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trace:
    """Anything else that plotly draws, as it names the settings; names and texts are escaped already."""

    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape behind or before the marks, as plotly names its settings."""

    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Note:
    """A text inside the plot, at a place as plotly names it; it is escaped here."""

    text: str
    place: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Key:
    """A sign that only the legend of a figure for print explains.

    Attributes:
        text: Its meaning.
        look: Its look; a symbol "" for a line.
        dash: Of a line, as plotly names it; "" for a sign.
    """

    text: str
    look: Look
    dash: str = ""


Mark = Dots | Span | Rule | Line | Cells | Trace | Shape | Note | Key


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """A figure of any output.

    Attributes:
        key: Names its place on the page and its file.
        title: Heading; "" for none, such as where it is that of the section.
        sentence: What it shows, with its numbers, in one or two sentences.
        caption: How to read it; "" for nothing.
        rows: The table that it draws.
        marks: What is drawn, from back to front.
        x: First axis.
        y: Second axis.
        height: In pixels; forest plots take the height of their rows.
        names: Name of every row of a forest plot; None for other figures.
        numbers: The table behind it: columns of ``rows`` with their headings ("" for those of the schema), or
            a table of its own; empty for none.
        beside: A second plot over the same rows; its sentence describes it.
        axes: Further axes by plotly's names, such as "xaxis2".
        layout: Further settings of the layout, as plotly names them.
        plot: Draws the figure in place of marks, where these cannot.
        parts: Figures of which a reader sees one at a time in its place, in the layout of the first.
            Buttons have their titles and captions; for print each is a figure of its own.
        name: Name of its file for print; "" for its key.
        single: Whether one look alone has its button, too.
        meanings: What dots mean by the name of their trace, which the page has as a key, and print as legend.
        switches: Number, look and word of traces that a reader can switch on and off, as their ``meta`` names
            them; () for what follows from the marks.
        legend: Its legend where it stands without its page; () for what follows from marks and switches.
    """

    key: str
    title: str
    sentence: str
    caption: str
    rows: Table = NOTHING
    marks: Sequence[Mark] = ()
    x: Axis = Axis()
    y: Axis = Axis()
    height: int = 360
    names: Callable[[Row], str] | None = None
    numbers: Mapping[str, str] | Sheet = field(default_factory=dict)
    beside: "Figure | None" = None
    axes: Mapping[str, Axis] = field(default_factory=dict)
    layout: Mapping[str, Any] = field(default_factory=dict)
    plot: Callable[[], PlotlyFigure] | None = None
    parts: Sequence["Figure"] = ()
    name: str = ""
    single: bool = False
    meanings: Mapping[str, str] = field(default_factory=dict)
    switches: Sequence[tuple[int, Look, str]] = ()
    legend: Sequence[Entry] = ()

    @property
    def sheet(self) -> Sheet | None:
        """Return the numbers behind the figure as people read them; None where there are none."""
        if isinstance(self.numbers, Sheet):
            return self.numbers
        if not self.numbers:
            return None
        columns = {column.name: column for column in self.rows.columns}
        shown = [columns[name] for name in self.numbers]
        header = tuple(self.numbers[column.name] or column.heading for column in shown)
        return Sheet(self.title, header, tuple(tuple(c.write(row) for c in shown) for row in self.rows))

    @property
    def signs(self) -> list[tuple[str, str, str]]:
        """Return sign, colour and meaning of the dots that have one, as the key of a page."""
        dots = (mark for mark in self.marks if isinstance(mark, Dots))
        drawn = [mark for mark in dots if not np.isnan(self.rows[mark.x].astype(float)).all()]
        looks = {mark.name or word: look for mark in drawn for word, look in mark.looks.items()}
        known = [(looks[name], meaning) for name, meaning in self.meanings.items() if name in looks]
        return [(SIGNS[look.symbol], look.colour, meaning) for look, meaning in known]

    @property
    def toggles(self) -> list[tuple[Any, Look, str]]:
        """Return number, look and word of every trace that a reader can switch on and off."""
        found: dict[Any, tuple[Any, Look, str]] = {entry[2]: entry for entry in self.switches}
        for mark in self.marks:
            if isinstance(mark, Dots) and mark.toggles is not None:
                rows = self.rows if mark.rows is None else mark.rows
                drawn, buttons = {*rows[mark.by].tolist()}, mark.buttons
                for word, look in mark.looks.items():
                    name = mark.toggles(word)
                    if word in drawn and name not in found:
                        found[name] = (buttons[name], look, name)
            elif isinstance(mark, Line) and mark.number >= 0 and mark.look.symbol:
                found[mark.name] = (mark.number, mark.look, mark.name)
        return list(found.values())


def ticks(values: Iterable[float], texts: Iterable[str]) -> dict[str, Any]:
    """Return settings of an axis with these texts at these values; texts are escaped already."""
    return {"tickmode": "array", "tickvals": [*values], "ticktext": [*texts]}


def layers_axis(stack: Stack, **settings: Any) -> Axis:
    """Return an axis of layers, each at its position in the model."""
    return Axis("layer", settings | layer_ticks(stack, 1 if len(stack.layers) <= 16 else 4))


def plotly_json(figure: Figure) -> PlotlyFigure:
    """Return a figure as plotly's JSON, its numbers as arrays."""
    if figure.plot is not None:
        return figure.plot()
    if figure.parts:
        drawn = [plotly_json(part) for part in figure.parts]
        traces = [trace | {"meta": {"role": k}} for k, part in enumerate(drawn) for trace in part["data"]]
        return drawn[0] | {"data": traces}
    made = drawing.blank(figure.height, **figure.layout)
    layout, names = made["layout"], [plain(figure.names(row)) for row in figure.rows] if figure.names else []
    for mark in figure.marks:
        if isinstance(mark, Rule) and not math.isnan(mark.at):
            one, other = mark.axis, "y" if mark.axis == "x" else "x"
            ends = {f"{one}0": mark.at, f"{one}1": mark.at, f"{other}0": 0, f"{other}1": 1}
            dash = {"dash": mark.dash} if mark.dash else {}
            line = {"color": mark.colour, "width": mark.width, **dash}
            refs = {f"{one}ref": one, f"{other}ref": f"{other} domain"}
            layout["shapes"].append({"type": "line", "line": line, **refs, **ends})
        elif isinstance(mark, Span):
            _add_span(made, figure.rows, mark, names)
        elif isinstance(mark, Line):
            _add_line(made, figure.rows, mark)
        elif isinstance(mark, Cells):
            _add_cells(made, figure.rows, mark)
        elif isinstance(mark, Dots):
            _add_dots(made, figure, mark, names)
        elif isinstance(mark, Trace):
            made["data"].append(dict(mark.settings))
        elif isinstance(mark, Shape):
            layout["shapes"].append(dict(mark.settings))
        elif isinstance(mark, Note):
            drawing.add_note(made, escape(mark.text, quote=False), **mark.place)
    if names:
        layout["height"] = 84 + STEP * max(len(names), 2)
        layout["margin"] = {"l": 12, "r": 16, "t": 8, "b": 56}
        places = ticks(range(len(names)), names[::-1])
        set_axis(made, "yaxis", **places, range=[-0.7, len(names) - 0.3], showgrid=False)
    for name, axis in {"xaxis": figure.x, "yaxis": figure.y, **figure.axes}.items():
        set_axis(made, name, title=_lines(axis.title), **axis.settings)
    return made


def _lines(text: str) -> str:
    """Return text as plotly reads it."""
    return escape(text, quote=False).replace("\n", "<br>")


def _add_dots(made: PlotlyFigure, figure: Figure, mark: Dots, names: Sequence[str]) -> None:
    """Add a trace for every word that is drawn."""
    rows, forest = figure.rows if mark.rows is None else mark.rows, not mark.y
    along = rows[mark.x].astype(float)
    up = len(rows) - 1 - np.arange(len(rows)) + mark.shift if forest else rows[mark.y].astype(float)
    level = forest or mark.level
    value = along if level else up
    ends = [rows[name].astype(float) for name in mark.ends] or [value, value]
    low, high = (np.where(np.isnan(end), value, end) for end in ends)
    if figure.y.settings.get("type") == "log":
        low = np.where(low > 0, low, value)
    known = ~np.isnan(along) & ~np.isnan(up)
    kind = np.float32 if mark.custom or mark.text else np.float64
    filled = np.array([mark.filled(row) for row in rows], np.bool_) if mark.filled else None
    if mark.text:
        texts = map(mark.text, rows)
        names = [text if isinstance(text, Markup) else _lines(text) for text in texts]
    for word, look in mark.looks.items():
        chosen = known & ((rows[mark.by] == word) if mark.by else True)
        if not chosen.any():
            continue
        custom = [rows[name] for name in mark.custom] or [low, high]
        symbols = look.symbol if filled is None else [
            look.symbol if full else f"{look.symbol}-open" for full in filled[chosen].tolist()
        ]  # fmt: skip
        trace: dict[str, Any] = {
            "x": along[chosen].astype(kind), "y": up[chosen].astype(kind),
            "mode": "lines+markers" if mark.joined else "markers",
        }  # fmt: skip
        if mark.joined:
            trace["line"] = {"color": look.colour, "width": 2}
        trace["name"] = escape(mark.name or word, quote=False)
        if mark.toggles:
            trace["meta"] = {"role": mark.buttons[mark.toggles(word)]}
        if names:
            trace["text"] = [name for name, drawn in zip(names, chosen, strict=True) if drawn]
        if "customdata" in mark.hover:
            trace["customdata"] = np.column_stack([values[chosen] for values in custom]).astype(kind)
        trace["marker"] = {
            "symbol": symbols, "color": look.colour, "size": mark.size,
            "line": {"color": look.colour, "width": mark.line}, **mark.marker,
        }  # fmt: skip
        if mark.ends:
            bars = {"array": (high - value)[chosen], "arrayminus": (value - low)[chosen]}
            trace["error_x" if level else "error_y"] = {
                "type": "data", **{name: bar.astype(kind) for name, bar in bars.items()}, "symmetric": False,
                "color": mark.bars or look.colour, "thickness": mark.line, "width": mark.cap,
            }  # fmt: skip
        add_scatter(made, **trace, **_hovered(mark.hover))


def _hovered(template: str) -> dict[str, str]:
    """Return the settings of a hover text; "" for none."""
    return {"hovertemplate": template} if template else {"hoverinfo": "skip"}


def _add_span(made: PlotlyFigure, rows: Table, mark: Span, names: Sequence[str]) -> None:
    """Add a broad line in each row, and a stroke between its ends."""
    known = np.flatnonzero(~np.isnan(rows[mark.middle]))
    levels = (len(rows) - 1 - known).astype(float)
    low, high, middle = (rows[name][known] for name in (mark.low, mark.high, mark.middle))
    add_scatter(
        made, x=[value for pair in zip(low.tolist(), high.tolist(), strict=True) for value in (*pair, None)],
        y=[value for level in levels.tolist() for value in (level, level, None)], mode="lines",
        name=mark.name, line={"color": FAINT, "width": 9}, opacity=0.45, hoverinfo="skip",
    )  # fmt: skip
    add_scatter(
        made, x=middle.tolist(), y=levels.tolist(), mode="markers", name=f"median of {mark.name}",
        marker={"symbol": "line-ns-open", "size": 10, "color": "var(--soft)", "line": {"width": 2}},
        text=[names[place] for place in known.tolist()], customdata=np.column_stack([low, high]),
        hovertemplate=INTERVAL.replace("%{fullData.name}", mark.name),
    )  # fmt: skip


def _add_cells(made: PlotlyFigure, rows: Table, mark: Cells) -> None:
    """Add a field of cells."""
    at = (rows[mark.row], rows[mark.column])
    shape = tuple(int(places.max(initial=0)) + 1 for places in at)
    values, numbers = np.full(shape, np.nan), np.full((*shape, len(mark.custom)), np.nan)
    values[at], texts = rows[mark.value], np.full(shape, "", object)
    for place, name in enumerate(mark.custom):
        numbers[(*at, place)] = rows[name]
    if mark.text is not None:
        texts[at] = [escape(mark.text(row), quote=False) for row in rows]
    trace = ({"name": plain(mark.name)} if mark.name else {}) | dict(mark.settings)
    drawing.add_cells(
        made, values, mark.shade, mark.ends, numbers=numbers if mark.custom else None,
        text=texts.tolist() if mark.text is not None else None, hovertemplate=mark.hover, **trace,
    )  # fmt: skip


def _add_line(made: PlotlyFigure, rows: Table, mark: Line) -> None:
    """Add a line with marks."""
    x, y, *more = (
        rows[values].tolist() if isinstance(values, str) else [*values]
        for values in (mark.x, mark.y, *mark.custom, *mark.ends)
    )
    marked, colour = bool(mark.look.symbol), mark.look.colour
    ends = [*zip(y, *more[-2:], strict=True)] if mark.ends else []
    add_scatter(
        made, x=x, y=y, mode="lines+markers" if marked else "lines", name=plain(mark.name),
        **({"meta": {"role": mark.number}} if mark.number >= 0 else {}),
        **({"yaxis": mark.axis} if mark.axis else {}),
        line={"color": colour, "width": mark.width} | ({"dash": mark.dash} if mark.dash else {}),
        **({"marker": {"symbol": mark.look.symbol, "size": mark.size, "color": colour}} if marked else {}),
        **({"error_y": drawing.error_bars(ends, color=colour, thickness=1.1, width=2)} if ends else {}),
        **({"customdata": [[*values] for values in zip(*more, strict=True)]} if more else {}),
        **_hovered(mark.hover),
    )  # fmt: skip


def clearest(table: Table, most: int = 60) -> tuple[Table, int, str]:
    """Return the tested rows of the smallest p in their order, how many were tested, and what was left out.

    Args:
        table: With columns ``decision`` and ``p``.
        most: Rows that a forest plot shows.
    """
    tested = table.take(table["decision"] != "untestable") if len(table) else table
    if len(tested) <= most:
        return tested, len(tested), ""
    order = np.argsort(tested["p"], kind="stable")[:most]
    return tested.take(np.sort(order)), len(tested), (
        f" The {most} of {len(tested)} heads with the smallest p are drawn."
    )  # fmt: skip


def decided(*words: str, symbol: str = "diamond") -> dict[str, Look]:
    """Return the looks of a decision: one word, its opposite, and undetermined."""
    looks = {word: Look(tone, symbol) for word, tone in zip(words, (1, 0), strict=False)}
    return looks | {"undetermined": Look(4, symbol)}


def is_steep(values: Iterable[float], ratio: float = 20.0) -> bool:
    """Return whether numbers span too much for a linear axis, and all are positive."""
    known = [value for value in values if not math.isnan(value)]
    return bool(known) and min(known) > 0 and max(known) > ratio * min(known)
