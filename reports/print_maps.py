"""Maps of layers × heads for papers: the label matrix, a map per role, maps of verdicts, maps of an atlas."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.records.atlas.atlas import Atlas
from headroles.records.findings import DECISIONS, Labelling
from headroles.records.layers import Stack, plain_stack
from headroles.records.numbers import plural
from headroles.records.roles import explained_list, looks_of, phrase_of, without_wholes
from headroles.reports.drawing import (
    GAP,
    INK,
    RULE,
    SOFT,
    STRONG,
    SYMBOLS,
    Figure,
    add_bar,
    add_cells,
    add_note,
    add_scatter,
    add_shape,
    blank,
    layer_ticks,
    plain,
    set_axis,
    tone,
)
from headroles.reports.maps import CellLook
from headroles.reports.marks import Entry
from headroles.reports.prints import pixels, with_legend
from headroles.reports.summary import Role, Summary

ACROSS = {8: 4, 16: 3, 32: 2}
"""Maps side by side over 183 mm, by the most heads of a layer with which they have room."""
MOST_MAPS = 24
"""Roles above which maps of verdicts are left out."""
COLUMN = 110.0
"""Width in millimetres below which at most half as many maps stand side by side."""
TITLE, FOOT, SIDE = 22, 20, 26
"""Pixels above a map for its title, below it for numbers of heads, at its left for numbers of layers."""
TALLEST = 1.3
"""Height of a cell by its width at most."""
QUIET: dict[str, Any] = {
    "showgrid": False, "ticks": "", "tickmode": "linear", "tick0": 0, "automargin": False
}  # fmt: skip
"""Settings of every axis of the maps."""
ATLAS_FOOT, ATLAS_TOP = 6, 22
"""Pixels below the map of a row, and above the first row, of an atlas."""
ATLAS_ENTRIES = (
    Entry("holds the role", INK, "circle"),
    Entry("explained by distance or position", INK, "x-thin-open"),
    Entry("▨  undetermined"),
)
"""What the marks of an atlas mean."""
INNER = 0.86
"""Part of a cell of the matrix inside its empty border."""
LETTERS = 17
"""Height of a mark with letters in pixels."""
SMALLEST, SMALL = 8.0, 5.0
"""Sizes in pixels below which symbols stand in place of letters, and numbers of roles in place of symbols."""
HIGHEST = 1.35
"""Height of a page by its width."""
SIDES = 76
"""Pixels of the margins left and right of the matrix."""


@dataclass(frozen=True, slots=True)
class MapFrame:
    """Where a small map stands in its figure.

    Attributes:
        axes: Names of its axes, as traces name them.
        left: Left end of its title, as a part of the width.
        top: Upper end of its title, as a part of the height.
        right: Right end of its title.
    """

    axes: Mapping[str, Any]
    left: float
    top: float
    right: float


def look_entry(look: CellLook) -> Entry:
    """Return the line of a look in a legend."""
    words = f"{look.mark or '▨'}  {look.word}"
    return Entry(words) if look.tone is None else Entry(words, f"var(--tone-{look.tone})", "square")


def map_frames(stack: Stack, heads: int, number: int, width: float) -> tuple[Figure, tuple[MapFrame, ...]]:
    """Return a figure of empty maps side by side, with layers as rows, and where each map stands.

    Args:
        stack: The layers by their positions.
        heads: Heads of a layer.
        number: Of maps, at least one.
        width: Of the figure in millimetres.
    """
    fitting = next((number for most, number in ACROSS.items() if heads <= most), 1)
    across = min(max(1, fitting if width >= COLUMN else fitting // 2), number)
    down = math.ceil(number / across)
    wide = pixels(width) - 24
    cell = (wide / across - SIDE) / heads
    high = TITLE + FOOT + len(stack.layers) * max(min(cell * TALLEST, 18.0), 4.0)
    figure = _blank(down * high)
    frames = []
    for place in range(number):
        row, column = divmod(place, across)
        left, right = column / across + SIDE / wide, (column + 1) / across - 6 / wide
        upper, lower = 1 - row / down, 1 - (row + 1) / down + FOOT / (down * high)
        domains = [left, right], [lower, upper - TITLE / (down * high)]
        axes = _map_axes(figure, place + 1, domains, stack, heads, **QUIET)
        frames.append(MapFrame(axes, left, upper, right))
    return figure, tuple(frames)


def add_verdicts(
    figure: Figure, codes: Int[np.ndarray, "layers heads"], frame: MapFrame, looks: Sequence[CellLook]
) -> None:
    """Draw the verdicts of one map with their marks.

    Args:
        figure: Is changed.
        codes: Place of each verdict in the looks; cells of the code −1 stay empty.
        frame: Of the map.
        looks: By code.
    """
    for code, look in enumerate((CellLook("without the role"), *looks), start=-1):
        chosen = codes == code
        if not chosen.any():
            continue
        colour = "" if look.tone is None else f"var(--tone-{look.tone})"
        pale = look.faint and bool(colour)
        marker, hatch = {"color": colour or "var(--panel)"}, "/" if look.hatched else ""
        rows, columns = np.nonzero(chosen)
        faint: dict[str, Any] = {"name": look.word, "opacity": 0.45 if pale else 1.0}
        _add_bars(figure, rows, columns, marker, hatch, **faint, **frame.axes)
        if look.mark:
            ink = "var(--on-tone)" if colour and not pale else INK
            marks = {"text": [look.mark] * int(chosen.sum()), "textfont": {"size": 9, "color": ink}}
            _add_marks(figure, chosen, mode="text", name=look.word, **marks, **frame.axes)


def verdict_maps(
    run: Labelling,
    maps: Sequence[tuple[str, str, Int[np.ndarray, "layers heads"]]],
    looks: Sequence[CellLook],
    width: float,
    sentence: str,
) -> Figure:
    """Draw maps of verdicts side by side, with a legend.

    Args:
        run: Whose heads they show.
        maps: Title, note and codes of each; cells of the code −1 stay empty.
        looks: By code.
        width: Of the figure in millimetres.
        sentence: What it shows.
    """
    figure, frames = map_frames(run.scores.stack, run.scores.heads, len(maps), width)
    for (title, note, codes), frame in zip(maps, frames, strict=True):
        add_verdicts(figure, codes, frame, looks)
        map_title(figure, title, note, frame)
    figure["layout"]["meta"] = {"sentence": sentence}
    known = {int(code) for _, _, codes in maps for code in np.unique(codes)}
    return with_legend(figure, [look_entry(look) for code, look in enumerate(looks) if code in known])


def map_title(figure: Figure, title: str, note: str, frame: MapFrame) -> None:
    """Write what a map shows above it, and a note at its right end."""
    _add_title(figure, f"<b>{plain(title)}</b>", frame.left, frame.top, color=INK)
    _add_title(figure, note, frame.right, frame.top, xanchor="right")


def maps(summary: Summary, width: float) -> Figure | None:
    """Draw a map per role: the shade is the mean, a mark its decision.

    Args:
        summary: What the page may say.
        width: Of the figure in millimetres.

    Returns:
        The figure in the page's colours; None where no sieve can be a role, or there are too many.
    """
    roles = summary.roles
    if not roles or summary.many:
        return None
    figure, frames = map_frames(summary.stack, summary.heads, len(roles), width)
    means = [summary.of("mean", role.position).reshape(summary.layers, summary.heads) for role in roles]
    top = max(float(np.nanmax(mean, initial=0.0)) for mean in means) or 1.0
    for place, (role, mean, frame) in enumerate(zip(roles, means, frames, strict=True)):
        decided = summary.decided(role.position).reshape(mean.shape)
        undetermined, holds, explained = (
            decided == DECISIONS.index(word) for word in ("undetermined", "role", "explained")
        )
        trace: dict[str, Any] = {"name": plain(role.sieve), "meta": {"role": place}}
        colours = _add_map(figure, mean, top, undetermined, tone(role.tone), **trace, **frame.axes)
        strong = summary.strong[place]
        for sign, symbol, size, chosen in (("•", "circle", 4, holds & ~strong), ("◆", "diamond", 6, strong)):
            mark = {"symbol": symbol, "size": size, "color": colours[chosen].tolist()}
            _add_marks(figure, chosen, mode="markers", marker=mark, name=sign, **frame.axes)
        font = {"size": 11, "color": colours[explained].tolist()}
        text = ["~"] * int(explained.sum())
        _add_marks(figure, explained, mode="text", text=text, textfont=font, name="~", **frame.axes)
        map_title(figure, phrase_of(role.sieve).title, plural(role.tally.role, "head"), frame)
    sentence = (
        f"{_held(summary)}. One map per role, layers as rows; the stronger the shade, the larger the mean "
        f"{summary.account.statistic}."
    )
    figure["layout"]["meta"] = {"sentence": sentence}
    verdicts = explained_list(role.control for role in roles if role.tally.explained)
    entries = [Entry("holds the role", INK, "circle")]
    entries += [Entry(f"strong, beyond {kinds}", INK, "diamond") for kinds in _stronger(summary)]
    entries += [Entry(f"~  {verdicts}")] if verdicts else []
    entries += [Entry("▨  undetermined")] if any(role.tally.undetermined for role in roles) else []
    return with_legend(figure, entries)


def atlas_maps(atlas: Atlas, width: float) -> Figure:
    """Draw a map per role (rows) and run (columns): the shade is the mean, a mark its decision.

    Args:
        atlas: Of two runs or more.
        width: Of the figure in millimetres.

    Returns:
        The figure in the page's colours.
    """
    roles, runs = atlas.roles, atlas.runs
    wide = pixels(width) - 24
    cell = max(3.0, min(12.0, wide / len(runs) / max(run.heads for run in runs) - 0.6))
    high = TITLE + ATLAS_FOOT + cell * max(len(run.layers) for run in runs)
    height = ATLAS_TOP + high * len(roles)
    figure = _blank(height)
    for column, run in enumerate(runs):
        _add_title(figure, f"<b>{plain(run.name)}</b>", column / len(runs), 1, color=INK)
    number = 0
    for row, (role, look) in enumerate(zip(roles, looks_of(roles), strict=True)):
        top = 1 - (ATLAS_TOP + row * high) / height
        bottom = 1 - (ATLAS_TOP + (row + 1) * high - ATLAS_FOOT) / height
        tops = atlas.largest_means(role)
        _add_title(figure, plain(phrase_of(role).title), 0, top)
        for column, (run, found) in enumerate(zip(runs, atlas.findings, strict=True)):
            if role not in found.tested:
                continue
            number += 1
            domains = (
                [column / len(runs), (column + 1) / len(runs) - 6 / wide],
                [bottom, top - TITLE / height],
            )
            stack = plain_stack(len(run.layers))
            axes = _map_axes(figure, number, domains, stack, run.heads, edge=0.6, visible=False)
            place = found.of(role)
            verdict = found.verdict[place].astype(str)
            colours = _add_map(
                figure, found.numbers["mean"][place], tops[run.statistic] or 1.0, verdict == "undetermined",
                f"var(--tone-{look.tone})", fine=True, name=plain(role), **axes,
            )  # fmt: skip
            explained = np.char.startswith(verdict, "explained")
            for symbol, chosen in (("circle", found.held[place]), ("x-thin", explained)):
                colour = colours[chosen].tolist()
                line = {"width": 1 if symbol == "x-thin" else 0, "color": colour}
                mark = {"symbol": symbol, "size": 4, "color": colour, "line": line}
                _add_marks(figure, chosen, mode="markers", marker=mark, **axes)
    sentence = (
        f"One map per role and run ({plural(len(runs), 'run')}), layers as rows and heads as columns: "
        "a dot where the head holds the role, a cross where distance or position explains the score, "
        "hatching where it is undetermined; the stronger the shade, the larger the mean."
    )
    figure["layout"]["meta"] = {"sentence": sentence}
    return with_legend(figure, ATLAS_ENTRIES)


def matrix(summary: Summary, width: float) -> Figure | None:
    """Draw every head with the roles it holds; their number where there are too many to mark each.

    Args:
        summary: What the page may say.
        width: Of the figure in millimetres; where letters would be too small, plot symbols stand for them,
            and where these would be, numbers of roles.

    Returns:
        The figure in the page's colours; None where no sieve can be a role.
    """
    if not summary.roles:
        return None
    layers, heads = summary.layers, summary.heads
    figure = None if summary.many else _marked_matrix(summary, width)
    if figure is None:
        counts = summary.held.sum(axis=0)
        figure = blank(80 + 26 * layers, margin={"l": 44, "r": 8, "t": 8, "b": 48})
        add_cells(
            figure, counts.astype(float), ("var(--panel)", "var(--tone-0)"), (0, max(int(counts.max()), 1)),
            text=[[str(count) if count else "" for count in row] for row in counts.tolist()], name="counts",
            size=11 if heads <= 24 else 9, colorbar={"title": {"text": "roles", "font": {"size": 12}}},
        )  # fmt: skip
    steps: dict[str, Any] = {
        "tickmode": "linear",
        "tick0": 0,
        "showgrid": False,
        "ticks": "",
        "showline": False,
    }
    rows = layer_ticks(summary.stack, 1 if layers <= 32 else 4, by_place=True)
    across: dict[str, Any] = {"title": "head", "range": [-0.5, heads - 0.5], "dtick": 1 if heads <= 32 else 4}
    set_axis(figure, "xaxis", **across, **steps)
    set_axis(figure, "yaxis", title="layer", range=[layers - 0.5, -0.5], **steps | rows)
    figure["layout"]["meta"] = {"sentence": f"Label matrix: {_held(summary)}, layers as rows."}
    return figure


def _marked_matrix(summary: Summary, width: float) -> Figure | None:
    """Draw a mark per role and head; return None where no mark would have room on a page.

    Of a role with parts, a mark is drawn only where the head holds none of them.
    """
    layers, heads = summary.layers, summary.heads
    drawn = without_wholes([role.sieve for role in summary.roles], summary.held)
    most = int(drawn.sum(axis=0).max(initial=0))
    across = 1 if most < 2 else 2 if most <= 4 else 3 if most <= 9 else 4
    cell = (pixels(width) - SIDES) / heads * INNER
    size = min(11.0, 0.62 * cell / across)
    letters = size >= SMALLEST
    if not letters:
        across = max(1, min(across, int(cell / (SMALL + 1))))
        size = min(9.0, cell / across - 1)
    rows = max(math.ceil(most / across), 1)
    high = 60 + layers * ((LETTERS if letters else size + 2) * rows + 6)
    if not letters and (size < SMALL or high > HIGHEST * pixels(width)):
        return None
    figure = blank(round(high), margin={"l": 44, "r": 8, "t": 8, "b": 48})
    lines = [f"M{place - 0.5},-0.5 V{layers - 0.5}" for place in range(heads + 1)]
    lines += [f"M-0.5,{place - 0.5} H{heads - 0.5}" for place in range(layers + 1)]
    add_shape(figure, type="path", path=" ".join(lines), line={"color": RULE, "width": 1}, layer="below")
    marks: list[tuple[Role, float, float, bool]] = []  # role, centre in cells, whether it is a strong one
    for layer, head in np.ndindex(layers, heads):
        own = np.flatnonzero(drawn[:, layer, head]).tolist()
        for place, role in enumerate(own):
            row, column = divmod(place, across)
            in_row = min(across, len(own) - row * across)  # few marks stand in the middle of their row
            x = head + INNER * (column - (in_row - 1) / 2) / across
            y = layer + INNER * (row - (math.ceil(len(own) / across) - 1) / 2) / rows
            marks.append((summary.roles[role], x, y, bool(summary.strong[role, layer, head])))
    places = {"x": [x for _, x, *_ in marks], "y": [y for _, _, y, _ in marks], "name": "roles"}
    entries = matrix_entries([role for role in summary.roles if role.tally.role], letters=letters)
    if not letters:
        marker = {
            "symbol": [SYMBOLS[role.symbol] for role, *_ in marks], "size": size,
            "color": [tone(role.tone) for role, *_ in marks],
            "line": {"color": INK, "width": [1.0 * strong for *_, strong in marks]},
        }  # fmt: skip
        add_scatter(figure, mode="markers", marker=marker, **places)
        return with_legend(figure, entries)
    wide, tall = INNER / across * 0.46, INNER / rows * 0.45
    fields = [
        (role, strong, f"M{x - wide:.4f},{y - tall:.4f} H{x + wide:.4f} V{y + tall:.4f} H{x - wide:.4f} Z")
        for role, x, y, strong in marks
    ]
    by_tone = sorted(fields, key=lambda field: field[0].tone)
    for colour, alike in groupby(by_tone, key=lambda field: tone(field[0].tone)):  # a path for each colour
        path = " ".join(field for *_, field in alike)
        add_shape(figure, type="path", path=path, fillcolor=colour, line={"width": 0}, layer="below")
    if framed := " ".join(field for _, strong, field in fields if strong):
        add_shape(figure, type="path", path=framed, line={"width": 1.5, "color": INK})
    add_scatter(
        figure, mode="text", text=[role.code for role, *_ in marks], **places,
        textfont={"color": "var(--on-tone)", "size": size}, textposition="middle center",
    )  # fmt: skip
    return with_legend(
        figure, entries + [Entry(f"framed: strong, beyond {kinds}") for kinds in _stronger(summary)]
    )


def _held(summary: Summary) -> str:
    """Return how many heads hold a role."""
    heads = int(summary.held.any(axis=0).sum())
    return f"{heads} of {plural(summary.held[0].size, 'head')} hold a role"


def _stronger(summary: Summary) -> list[str]:
    """Return what strong roles lie beyond, as one text; nothing without strong roles."""
    kinds = " or ".join(sorted({role.stronger for role in summary.roles if role.tally.strong}))
    return [kinds] if kinds else []


def _blank(height: float) -> Figure:
    """Return a figure for maps of a height in pixels."""
    return blank(round(height) + 12, margin={"l": 12, "r": 12, "t": 4, "b": 8}, barmode="overlay")


def _map_axes(
    figure: Figure, number: int, domains: tuple[list[float], list[float]], stack: Stack, heads: int,
    edge: float = 0.5, **settings: Any,
) -> dict[str, str]:  # fmt: skip
    """Add the axes of a map, layers downwards, and return their names for its traces.

    The domains say where the map lies in the figure, ``edge`` how many cells an axis has beyond the centre of
    an outer cell; further settings are plotly's.
    """
    name, layers = number if number > 1 else "", len(stack.layers)
    step, layer_step = (
        1 if size <= 8 else 2 if size <= 16 else 4 if size <= 32 else 16 for size in (heads, layers)
    )
    ranges = [-edge, heads - 1 + edge], [layers - 1 + edge, -edge]
    ticks = {"dtick": step}, layer_ticks(stack, layer_step, by_place=True)
    for along, other, steps, domain, ends in zip("xy", "yx", ticks, domains, ranges, strict=True):
        anchors: dict[str, Any] = {"anchor": f"{other}{name}", "domain": domain, "range": ends}
        set_axis(figure, f"{along}axis{name}", **anchors | settings | steps)
    return {"xaxis": f"x{name}", "yaxis": f"y{name}"}


def _add_map(
    figure: Figure, mean: Float[np.ndarray, "layers heads"], top: float,
    hatched: Bool[np.ndarray, "layers heads"], colour: str, *, fine: bool = False, **trace: Any,
) -> np.ndarray:  # fmt: skip
    """Draw a cell for every head, full in colour at the mean ``top``; return colours of marks on them."""
    shade = np.nan_to_num(mean.clip(0, top))
    marker = {
        "color": shade.ravel(), "cmin": 0, "cmax": top, "colorscale": [[0, "var(--panel)"], [1, colour]]
    }  # fmt: skip
    rows, columns = (index.ravel() for index in np.indices(mean.shape))
    hatch = np.where(hatched.ravel(), "/", "").tolist()
    _add_bars(figure, rows, columns, marker, hatch, fine=fine, **trace)
    return np.where(shade > STRONG * top, "var(--on-tone)", INK)


def _add_bars(
    figure: Figure, rows: np.ndarray, columns: np.ndarray, marker: dict[str, Any], hatch: Any,
    *, fine: bool = False, **trace: Any,
) -> None:  # fmt: skip
    """Draw cells as bars from edge to edge; lines and hatching are fine where cells are small."""
    look = {
        "line": {"width": 0.6 if fine else 0.7, "color": RULE},
        "pattern": {
            "shape": hatch, "fillmode": "overlay", "fgcolor": SOFT, "size": 3 if fine else 4, "solidity": 0.2
        },
    }  # fmt: skip
    add_bar(
        figure, x=columns, base=rows - 0.5 + GAP / 2, y=np.full(rows.size, 1 - GAP), width=1 - GAP,
        hoverinfo="skip", marker=marker | look, **trace,
    )  # fmt: skip


def _add_marks(figure: Figure, chosen: Bool[np.ndarray, "layers heads"], **trace: Any) -> None:
    """Add a trace with a mark in every chosen cell; nothing where none is chosen."""
    layer, head = np.nonzero(chosen)
    if layer.size:
        add_scatter(figure, x=head, y=layer, hoverinfo="skip", **trace)


def _add_title(
    figure: Figure, text: str, x: float, y: float, xanchor: str = "left", color: str = SOFT
) -> None:
    """Write a line above maps, with its upper corner at a part of the width and of the height."""
    refs: dict[str, Any] = {"xref": "paper", "yref": "paper", "xanchor": xanchor, "yanchor": "top"}
    add_note(figure, text, color=color, x=x, y=y, **refs)


def matrix_entries(roles_held: Sequence[Role], *, letters: bool) -> list[Entry]:
    """Return roles of the label matrix with the numbers of their heads: by letters, or by symbols.

    Args:
        roles_held: The roles that heads hold.
        letters: Whether the cells bear letters.
    """
    return [
        Entry(
            plain(f"{f'{role.code}  ' * letters}{role.sieve} ({role.tally.role})"),
            tone(role.tone),
            "square" if letters else SYMBOLS[role.symbol],
        )
        for role in roles_held
    ]
