"""Figures of origins of roles: vertical shares, few neurons or many, dimensions, scores after removals."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from jaxtyping import Float

from headroles.records.causal.origins import (
    AS_ROTATED,
    DIMENSIONS,
    FALLS,
    FEW,
    HOLDS,
    SUBSPACE,
    UNDETERMINED,
    UNTESTABLE,
    KnockOut,
    Origin,
)
from headroles.records.findings import Labelling
from headroles.records.numbers import number, plural, two_decimals
from headroles.reports.ablate import damage_text, role_title
from headroles.reports.figures.drawing import (
    FAINT,
    INK,
    SOFT,
    SYMBOLS,
    Figure,
    add_cells,
    add_scatter,
    add_shape,
    add_stroke,
    blank,
    error_bars,
    set_axis,
    tone,
)
from headroles.reports.figures.panel import Panel, plain
from headroles.reports.why.words import (
    LOOKS,
    VERDICTS,
    counts_by_role,
    dimensions_of,
    noun,
    origins_of,
    pairs,
    place_name,
    share_text,
    spread,
    with_ends,
)

SHARES, NEURONS, STRIPS, REMOVALS = "shares", "neurons", "dimensions", "removals"
"""Keys of the figures, which name their files."""
NEURON_LOOKS = {FEW: (2, 1), AS_ROTATED: (0, 4)}
REMOVAL_LOOKS = {FALLS: (2, 1), HOLDS: (1, 0), UNDETERMINED: (0, 4)}
"""Symbol and colour of the verdicts on neurons and on removals."""
WIDEST = (-1.0, 2.0)
"""Vertical shares that the axis shows at most; marks beyond stand at its ends."""
TALLEST, STEPS = 620, (3.5, 16.0)
"""Height in pixels of a figure with many heads, and of the row of a head at least and at most."""
FULL = 0.5
"""Part of a contrast from which a dimension has the full colour."""
LEAST = 15
"""Least height in pixels of the heads of a role, so that its name has room."""
EACH, MOST = 3, 24
"""Heads of a role whose dimensions are drawn, and heads in all."""

Row = TypeVar("Row", Origin, KnockOut)


@dataclass(frozen=True, slots=True)
class Bands(Generic[Row]):
    """Heads one below the other, those of a role together.

    Attributes:
        rows: In the order in which they are drawn.
        y: Height of each, from 0 at the top.
        names: Of the roles.
        ends: Upper and lower end of the band of each role.
        step: Height of a row in pixels.
    """

    rows: tuple[Row, ...]
    y: tuple[float, ...]
    names: tuple[str, ...]
    ends: tuple[tuple[float, float], ...]
    step: float

    @property
    def size(self) -> float:
        """Size of a mark in pixels."""
        return min(self.step, 7.0)


def _bands(rows: Sequence[Row], roles: Iterable[str], key: Callable[[Row], float]) -> Bands[Row]:
    """Return rows role by role, in each by a key, with a gap of one row between bands; names have room."""
    known = [role for role in roles if any(row.role == role for row in rows)]
    step = min(max(TALLEST / (len(rows) + len(known)), STEPS[0]), STEPS[1])
    ordered: list[Row] = []
    heights, ends = list[float](), list[tuple[float, float]]()
    at = 0.0
    for role in known:
        own = sorted((row for row in rows if row.role == role), key=key)
        high = max(len(own), LEAST / step)
        first = at + (high - len(own)) / 2 + 0.5
        ordered += own
        heights += [first + place for place in range(len(own))]
        ends.append((at, at + high))
        at += high + 1
    return Bands(tuple(ordered), tuple(heights), tuple(known), tuple(ends), step)


def _lay(figure: Figure, bands: Bands[Row]) -> None:
    """Name the roles at the left, and set the height of a figure of bands."""
    total = bands.ends[-1][1]
    figure["layout"]["height"] = round(86 + bands.step * max(total, 5))
    figure["layout"]["margin"] = {"l": 12, "r": 16, "t": 8, "b": 56}
    set_axis(
        figure, "yaxis", tickmode="array", tickvals=[(low + high) / 2 for low, high in bands.ends],
        ticktext=[plain(role_title(name)) for name in bands.names], range=[total + 0.3, -0.3],
        showgrid=False, ticks="",
    )  # fmt: skip
    for low, high in bands.ends:
        ends = {"x0": 0, "x1": 1, "y0": low, "y1": high}
        add_shape(
            figure, type="rect", xref="x domain", yref="y", layer="below", line={"width": 0},
            fillcolor="var(--rule)", opacity=0.28, **ends,
        )  # fmt: skip


def why_panels(labelling: Labelling) -> tuple[Panel, ...]:
    """Draw every figure that has something to show, in the order of the page.

    Args:
        labelling: Of a run that asks where roles come from.
    """
    panels = (
        shares_panel(labelling), neurons_panel(labelling), strips_panel(labelling),
        *removal_panels(labelling),
    )  # fmt: skip
    return tuple(panel for panel in panels if panel is not None)


def shares_panel(labelling: Labelling) -> Panel | None:
    """Draw the vertical share of every head by role; None where no head could be tested."""
    origins = origins_of(labelling)
    rows = [row for row in origins.origins if row.verdict != UNTESTABLE]
    if not rows:
        return None
    bands = _bands(rows, origins.held.roles, lambda row: row.share)
    low, high = WIDEST
    figure = blank(300)
    for code, verdict in enumerate(VERDICTS):
        chosen = [place for place, row in enumerate(bands.rows) if row.verdict == verdict]
        if verdict in LOOKS and chosen:
            shown = [bands.rows[place] for place in chosen]
            ends = [
                tuple(
                    min(max(end, low), high)
                    for end in (row.share, *_known(row.share_low, row.share_high, row.share))
                )
                for row in shown
            ]
            _dots(
                figure, ends, [bands.y[place] for place in chosen], name=verdict, look=LOOKS[verdict],
                number_of_role=code, words=[_row_words(row) for row in shown],
                size=bands.size,
            )  # fmt: skip
    add_stroke(figure, 0.5, color=INK, width=1.5)
    for value in (0.0, 1.0):
        add_stroke(figure, value, color=FAINT, width=1, dash="dot")
    _lay(figure, bands)
    shares = [row.share for row in rows]
    span = [max(low, min(-0.2, *shares) - 0.1), min(high, max(1.2, *shares) + 0.1)]
    set_axis(figure, "xaxis", title="vertical share of the contrast", range=span, nticks=8, showline=True)
    counts = counts_by_role(origins)
    known = {code: sum(row.verdict == verdict for row in rows) for code, verdict in enumerate(VERDICTS)}
    said = ", ".join(f"{known[code]:,} {VERDICTS[code]}" for code in range(len(LOOKS)) if known[code])
    return Panel(
        key=SHARES,
        title="Vertical share of every head",
        sentence=f"Part of the contrast that the mean query gives alone, by role: {said}.",
        caption=(
            "Right of the line (one half): vertical, most of the push is the same for every query. Left: by "
            f"query. Dotted: none and all of it. Bars: 95\u00a0% intervals.{_beyond(shares)}"
        ),
        figure=figure,
        header=("role", "heads", *VERDICTS, "vertical share, median (range)"),
        rows=tuple(
            (
                one.role, f"{len(one.rows):,}", *(f"{one.count(verdict):,}" for verdict in VERDICTS),
                spread(one.shares),
            )
            for one in counts
        ),
        legend=tuple(code for code in range(len(LOOKS)) if known[code]),
    )  # fmt: skip


def _beyond(shares: Sequence[float]) -> str:
    """Return a sentence on marks beyond the ends of the axis; "" where there are none."""
    low, high = WIDEST
    beyond = sum(not low <= value <= high for value in shares)
    return f" {plural(beyond, 'share')} below {number(low)} or above {number(high)} at the ends." * bool(
        beyond
    )


def _known(low: float, high: float, value: float) -> tuple[float, float]:
    """Return the ends of an interval; the value itself where they are not known."""
    return (value, value) if math.isnan(low) or math.isnan(high) else (low, high)


def _row_words(row: Origin) -> str:
    """Return the text of the mark of a head on hover."""
    return f"{plain(role_title(row.role))} · {place_name(row)}<br>vertical share {share_text(row)}"


def _dots(
    figure: Figure,
    ends: Sequence[tuple[float, ...]],
    y: Sequence[float],
    *,
    name: str,
    look: tuple[int, int],
    number_of_role: int,
    words: Sequence[str],
    size: float,
) -> None:
    """Add dots with level intervals at given heights.

    Args:
        figure: Is changed.
        ends: Value and ends of each dot.
        y: Height of each.
        name: Of the trace.
        look: Symbol and colour.
        number_of_role: Of the button that switches the trace off.
        words: Text of each dot on hover.
        size: Of a dot in pixels.
    """
    symbol, colour = look
    add_scatter(
        figure, x=np.array([end[0] for end in ends], dtype=np.float32), y=np.array(y, dtype=np.float32),
        mode="markers", name=name, meta={"role": number_of_role}, text=list(words),
        marker={"symbol": SYMBOLS[symbol], "color": tone(colour), "size": size},
        error_x=error_bars(ends, color=tone(colour), thickness=1.2, width=0),
        hovertemplate="%{text}<br>%{fullData.name}<extra></extra>",
    )  # fmt: skip


def neurons_panel(labelling: Labelling) -> Panel | None:
    """Draw the participation of every head against that after rotations; None where the basis is fixed."""
    rows = [row for row in origins_of(labelling).origins if row.few != UNTESTABLE]
    if not rows:
        return None
    figure = blank(380)
    for code, (few, (symbol, colour)) in enumerate(NEURON_LOOKS.items()):
        shown = [row for row in rows if row.few == few]
        if not shown:
            continue
        add_scatter(
            figure, x=np.array([row.rotated for row in shown], dtype=np.float32),
            y=np.array([row.participation for row in shown], dtype=np.float32), mode="markers", name=few,
            meta={"role": code},
            text=[
                f"{plain(role_title(row.role))} · {place_name(row)}<br>participation "
                f"{number(row.participation)}, {number(row.rotated)} when rotated"
                for row in shown
            ],
            marker={"symbol": SYMBOLS[symbol], "color": tone(colour), "size": 8, "opacity": 0.85},
            hovertemplate="%{text}<br>%{fullData.name}<extra></extra>",
        )  # fmt: skip
    top = max(max(row.participation, row.rotated) for row in rows)
    first = min(row.rotated for row in rows)
    last = max(row.rotated for row in rows)
    ends = [max(0.0, first - 0.15 * (last - first) - 0.2), last + 0.15 * (last - first) + 0.2]
    line = {"color": INK, "width": 1.5}
    add_scatter(figure, x=ends, y=ends, mode="lines", name="the same", line=line, hoverinfo="skip")
    set_axis(
        figure, "xaxis", title="participation when rotated (median)", range=ends, showgrid=False, nticks=7
    )
    set_axis(figure, "yaxis", title="participation", range=[0, 1.08 * top], nticks=7)
    found = sum(row.few == FEW for row in rows)
    return Panel(
        key=NEURONS,
        title="Spread over dimensions, before and after rotations",
        sentence=(
            f"Dimensions that the contrast is spread over, against those after random rotations. "
            f"{found:,} of {plural(len(rows), 'role')} of heads {'is' if found == 1 else 'are'} carried by "
            f"few neurons."
        ),
        caption=(
            "Line: where both are the same. Far below it: fewer neurons than a basis without meaning gives. "
            "Whether that is more than chance is tested."
        ),
        figure=figure,
        header=("head", "role", "participation", "when rotated", "q", "neurons"),
        rows=tuple(
            (
                place_name(row), row.role, number(row.participation), number(row.rotated),
                number(row.q_few), row.few,
            )
            for row in sorted(rows, key=lambda row: row.participation / row.rotated)
        ),
        legend=tuple(
            code for code, few in enumerate(NEURON_LOOKS) if any(row.few == few for row in rows)
        ),
    )  # fmt: skip


def strongest_heads(labelling: Labelling) -> tuple[Origin, ...]:
    """Return the heads of the largest contrast of every role, role by role."""
    origins = origins_of(labelling)
    chosen: list[Origin] = []
    for role in origins.held.roles:
        own = [row for row in origins.origins if row.role == role and row.verdict != UNTESTABLE]
        chosen += sorted(own, key=lambda row: -row.contrast)[:EACH]
    return tuple(chosen[:MOST])


def strips_panel(labelling: Labelling) -> Panel | None:
    """Draw the parts of all dimensions of the strongest heads; None where none could be tested."""
    origins, rows = origins_of(labelling), strongest_heads(labelling)
    if not rows:
        return None
    tests = [dimensions_of(origins, row) for row in rows]
    columns = max(test.dimension for own in tests for test in own) + 1
    values: Float[np.ndarray, "rows columns"] = np.full((len(rows), columns), np.nan)
    chances = values.copy()
    for place, own in enumerate(tests):
        for test in own:
            values[place, test.dimension] = test.share
            chances[place, test.dimension] = test.q
    names = [f"{plain(role_title(row.role))} · {place_name(row)}" for row in rows]
    most = min(float(np.nanmax(np.abs(values), initial=0.0)) or 1.0, FULL)
    figure = blank(92 + 19 * max(len(rows), 3))
    one = "frequency pair" if pairs(origins) else "dimension"
    add_cells(
        figure, values, ("var(--tone-0)", "var(--panel)", "var(--tone-1)"), (-most, most),
        numbers=chances[:, :, None], name="parts",
        hovertext=[names[row] for row in np.nonzero(~np.isnan(values))[0].tolist()],
        hovertemplate=f"%{{hovertext}}<br>{one} %{{customdata[1]}}: %{{customdata[2]:.3~g}} of the contrast, "
        "q %{customdata[3]:.2~g}<extra></extra>",
    )  # fmt: skip
    found = [(test.dimension, place) for place, own in enumerate(tests) for test in own if test.found]
    add_scatter(
        figure, x=[column for column, _ in found], y=[row for _, row in found], mode="markers", name="found",
        marker={"symbol": "circle", "size": 5, "color": INK, "line": {"color": "var(--panel)", "width": 1}},
        hoverinfo="skip",
    )  # fmt: skip
    figure["layout"]["margin"] = {"l": 12, "r": 16, "t": 8, "b": 56}
    set_axis(figure, "xaxis", title=one, nticks=9, ticks="")
    set_axis(
        figure, "yaxis", tickmode="array", tickvals=list(range(len(rows))), ticktext=names, ticks="",
    )  # fmt: skip
    total = sum(len(own) for own in tests)
    cut = f" The {EACH} strongest heads of each role are drawn." if len(rows) < len(origins.origins) else ""
    return Panel(
        key=STRIPS,
        title="Which dimensions carry the contrast?",
        sentence=(
            f"Part of each {one} in the contrast of the strongest heads. {len(found):,} of "
            f"{noun(origins, total)} {'has' if len(found) == 1 else 'have'} more than twice the fair share."
        ),
        caption=(
            f"Orange: adds to the contrast, blue: takes from it; full colour from {two_decimals(most)} of "
            f"it. Dots: found.{cut}"
        ),
        figure=figure,
        header=("head", "role", "found", f"largest {one}", "its share [95\u00a0%]", "q"),
        rows=tuple(_strip_row(row, own) for row, own in zip(rows, tests, strict=True)),
    )


def _strip_row(row: Origin, own: Sequence[Any]) -> tuple[str, ...]:
    """Return one head of the table behind the strips."""
    test = max(own, key=lambda test: test.mean)
    return (
        place_name(row), row.role, f"{row.found:,}", str(test.dimension),
        with_ends(test.share, test.low / row.contrast, test.high / row.contrast), number(test.q),
    )  # fmt: skip


def removal_panels(labelling: Labelling) -> tuple[Panel, ...]:
    """Draw scores before and after removals: of the role itself, by what is removed, then of other roles."""
    rows = [row for row in origins_of(labelling).knockouts if row.verdict != UNTESTABLE]
    own = [row for row in rows if row.role == row.scored]
    others = [row for row in rows if row.role != row.scored and row.by == SUBSPACE]
    drawn = [
        ("subspace", "Without the directions of the role", [row for row in own if row.by == SUBSPACE]),
        ("dimensions", "Without the found dimensions", [row for row in own if row.by == DIMENSIONS]),
        ("others", "Other roles of these heads", others),
    ]
    return tuple(_removals(labelling, key, title, shown) for key, title, shown in drawn if shown)


def _removals(labelling: Labelling, key: str, title: str, rows: Sequence[KnockOut]) -> Panel:
    """Draw scores before and after one sort of removal, role by role."""
    bands = _bands(rows, origins_of(labelling).held.roles, lambda row: row.before)
    figure = blank(300)
    x: list[float | None] = []
    y: list[float | None] = []
    for row, height in zip(bands.rows, bands.y, strict=True):
        x += [row.before, row.after, None]
        y += [height, height, None]
    add_scatter(
        figure, x=x, y=y, mode="lines", name="change", line={"color": FAINT, "width": 1}, opacity=0.6,
        hoverinfo="skip",
    )  # fmt: skip
    add_scatter(
        figure, x=[row.before for row in bands.rows], y=list(bands.y), mode="markers", name="before",
        marker={"symbol": "circle-open", "size": 0.9 * bands.size, "color": SOFT}, hoverinfo="skip",
    )  # fmt: skip
    add_scatter(
        figure, x=[row.threshold for row in bands.rows], y=list(bands.y), mode="markers", name="threshold",
        marker={
            "symbol": "line-ns-open", "size": bands.step, "color": INK, "line": {"width": 1.5, "color": INK},
        },
        hoverinfo="skip",
    )  # fmt: skip
    for code, (verdict, look) in enumerate(REMOVAL_LOOKS.items()):
        chosen = [place for place, row in enumerate(bands.rows) if row.verdict == verdict]
        if chosen:
            shown = [bands.rows[place] for place in chosen]
            _dots(
                figure, [(row.after, *_known(row.low, row.high, row.after)) for row in shown],
                [bands.y[place] for place in chosen], name=verdict, look=look, number_of_role=code,
                words=[_removal_words(row) for row in shown], size=bands.size,
            )  # fmt: skip
    _lay(figure, bands)
    set_axis(figure, "xaxis", title="score", nticks=7, showline=True)
    falls, holds = (sum(row.verdict == verdict for row in rows) for verdict in (FALLS, HOLDS))
    what = "found dimensions" if key == "dimensions" else "directions"
    who = "other roles of the head" if key == "others" else "the role"
    return Panel(
        key=f"{REMOVALS}-{key}",
        title=title,
        sentence=(
            f"Score of {who} before and after these {what} are removed from the query. It falls below the "
            f"threshold in {falls:,} of {len(rows):,}, and holds in {holds:,}."
        ),
        caption="Circles: before. Strokes: threshold. Filled: after, with 95\u00a0% intervals.",
        figure=figure,
        header=("head", "role", "scored", "removed", "before", "after [95\u00a0%]", "threshold", "verdict"),
        rows=tuple(
            (
                place_name(row), row.role, row.scored, str(row.removed), number(row.before),
                damage_text(row.after, row.low, row.high), number(row.threshold), row.verdict,
            )
            for row in bands.rows
        ),
        legend=tuple(
            code for code, verdict in enumerate(REMOVAL_LOOKS) if any(row.verdict == verdict for row in rows)
        ),
    )  # fmt: skip


def _removal_words(row: KnockOut) -> str:
    """Return the text of the mark of a removal on hover."""
    scored = "" if row.role == row.scored else f", score of {plain(role_title(row.scored))}"
    return (
        f"{plain(role_title(row.role))} · {place_name(row)}{scored}<br>before {number(row.before)}, after "
        f"{damage_text(row.after, row.low, row.high)}, threshold {number(row.threshold)}"
    )
