"""Maps of layers × heads for papers: the label matrix, a map per role, maps of verdicts, maps of an atlas."""

import math
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.records.atlas.atlas import Atlas
from headroles.records.findings import DECISIONS, Labelling
from headroles.records.layers import Stack, plain_stack
from headroles.records.numbers import plural
from headroles.records.roles import explained_list, looks_of, phrase_of, without_wholes
from headroles.reports import drawing
from headroles.reports.drawing import INK, RULE, SOFT, SYMBOLS, Figure, layer_ticks, plain, set_axis, tone
from headroles.reports.maps import MARKS, CellLook
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
SIDES, MATRIX_MARGIN = 76, {"l": 44, "r": 8, "t": 8, "b": 48}
"""Pixels left and right of the cells of the matrix, and its margins."""


def _framed(
    stack: Stack, heads: int, titles: Sequence[tuple[str, str]], width: float
) -> tuple[Figure, list[dict[str, Any]]]:
    """Return a figure of empty maps side by side under titles and notes, and the axes of each for traces."""
    fitting = next((number for most, number in ACROSS.items() if heads <= most), 1)
    across = min(max(1, fitting if width >= COLUMN else fitting // 2), len(titles))
    down = math.ceil(len(titles) / across)
    wide = pixels(width) - 24
    cell = (wide / across - SIDE) / heads
    high = TITLE + FOOT + len(stack.layers) * max(min(cell * TALLEST, 18.0), 4.0)
    figure, axes = _blank(down * high), []
    for place in range(len(titles)):
        row, column = divmod(place, across)
        left, right = column / across + SIDE / wide, (column + 1) / across - 6 / wide
        upper, lower = 1 - row / down, 1 - (row + 1) / down + FOOT / (down * high)
        domains = [left, right], [lower, upper - TITLE / (down * high)]
        axes.append(_map_axes(figure, place + 1, domains, stack, heads, **QUIET))
        _add_title(figure, f"<b>{plain(titles[place][0])}</b>", left, upper, color=INK)
        _add_title(figure, titles[place][1], right, upper, xanchor="right")
    return figure, axes


def _told(figure: Figure, sentence: str, entries: Sequence[Entry]) -> Figure:
    """Add what a figure shows, and a legend."""
    figure["layout"]["meta"] = {"sentence": sentence}
    return with_legend(figure, entries)


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
    titles = [(title, note) for title, note, _ in maps]
    figure, every = _framed(run.scores.stack, run.scores.heads, titles, width)
    for (*_, codes), axes in zip(maps, every, strict=True):
        for code, look in enumerate((CellLook("without the role"), *looks), start=-1):
            chosen = codes == code
            if not chosen.any():
                continue
            pale = look.faint and look.tone is not None
            marker, hatch = {"color": _colour(look) or "var(--panel)"}, "/" if look.hatched else ""
            own: dict[str, Any] = {"name": look.word, **axes}
            rows, columns = np.nonzero(chosen)
            _add_bars(figure, rows, columns, marker, hatch, opacity=0.45 if pale else 1.0, **own)
            if look.mark:
                font = {"size": 9, "color": "var(--on-tone)" if _colour(look) and not pale else INK}
                _add_marks(figure, chosen, look.mark, textfont=font, **own)
    known = {int(code) for _, _, codes in maps for code in np.unique(codes)}
    shown = [look for code, look in enumerate(looks) if code in known]
    return _told(figure, sentence, [
        Entry("  ".join(look.told), _colour(look) or INK, "square" * bool(_colour(look)))
        for look in shown
    ])  # fmt: skip


def _colour(look: CellLook) -> str:
    return "" if look.tone is None else tone(look.tone)


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
    titles = [(phrase_of(role.sieve).title, plural(role.tally.role, "head")) for role in roles]
    figure, every = _framed(summary.stack, summary.heads, titles, width)
    means = [summary.of("mean", role.position).reshape(summary.layers, summary.heads) for role in roles]
    top = max(float(np.nanmax(mean, initial=0.0)) for mean in means) or 1.0
    for place, (role, mean, axes) in enumerate(zip(roles, means, every, strict=True)):
        decided = summary.decided(role.position).reshape(mean.shape)
        undetermined, holds, explained = (
            decided == DECISIONS.index(word) for word in ("undetermined", "role", "explained")
        )
        trace: dict[str, Any] = {"name": plain(role.sieve), "meta": {"role": place}}
        colours = _add_map(figure, mean, top, undetermined, tone(role.tone), **trace, **axes)
        strong = summary.strong[place]
        kinds = ("role", "circle", 4, holds & ~strong), ("strong", "circle-open-dot", 7, strong)
        for sign, symbol, size, chosen in kinds:
            mark = {"symbol": symbol, "size": size, "color": colours[chosen].tolist()}
            _add_marks(figure, chosen, marker=mark, name=sign, **axes)
        font = {"size": 11, "color": colours[explained].tolist()}
        _add_marks(figure, explained, MARKS["explained"], textfont=font, name="explained", **axes)
    verdicts = explained_list(role.control for role in roles if role.tally.explained)
    return _told(
        figure,
        f"{_held(summary)}. One map per role, layers as rows; the stronger the shade, the larger the mean "
        f"{summary.account.statistic}.",
        [
            Entry("holds the role", INK, "circle"),
            *(Entry(f"strong, beyond {kinds}", INK, "circle-open-dot") for kinds in _stronger(summary)),
            *([Entry(f"~  {verdicts}")] if verdicts else []),
            *([Entry("▨  undetermined")] if any(role.tally.undetermined for role in roles) else []),
        ],
    )


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
    figure, number = _blank(height), 0
    for column, run in enumerate(runs):
        _add_title(figure, f"<b>{plain(run.name)}</b>", column / len(runs), 1, color=INK)
    for row, (role, look) in enumerate(zip(roles, looks_of(roles), strict=True)):
        top = 1 - (ATLAS_TOP + row * high) / height
        bottom = 1 - (ATLAS_TOP + (row + 1) * high - ATLAS_FOOT) / height
        tops = atlas.largest_means(role)
        _add_title(figure, plain(phrase_of(role).title), 0, top)
        for column, (run, found) in enumerate(zip(runs, atlas.findings, strict=True)):
            if role not in found.tested:
                continue
            number, place = number + 1, found.of(role)
            across = [column / len(runs), (column + 1) / len(runs) - 6 / wide]
            domains, stack = (across, [bottom, top - TITLE / height]), plain_stack(len(run.layers))
            axes = _map_axes(figure, number, domains, stack, run.heads, edge=0.6, visible=False)
            verdict = found.verdict[place].astype(str)
            colours = _add_map(
                figure, found.numbers["mean"][place], tops[run.statistic] or 1.0, verdict == "undetermined",
                tone(look.tone), fine=True, name=plain(role), **axes,
            )  # fmt: skip
            explained = np.char.startswith(verdict, "explained")
            for symbol, chosen, line in (("circle", found.held[place], 0), ("x-thin", explained, 1)):
                colour = colours[chosen].tolist()
                edge = {"width": line, "color": colour}
                mark = {"symbol": symbol, "size": 4, "color": colour, "line": edge}
                _add_marks(figure, chosen, marker=mark, **axes)
    return _told(
        figure,
        f"One map per role and run ({plural(len(runs), 'run')}), layers as rows and heads as columns: "
        "a dot where the head holds the role, a cross where distance or position explains the score, "
        "hatching where it is undetermined; the stronger the shade, the larger the mean.",
        ATLAS_ENTRIES,
    )


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
        figure = drawing.blank(80 + 26 * layers, margin=MATRIX_MARGIN)
        drawing.add_cells(
            figure, counts.astype(float), ("var(--panel)", "var(--tone-0)"), (0, max(int(counts.max()), 1)),
            text=[[str(count) if count else "" for count in row] for row in counts.tolist()], name="counts",
            size=11 if heads <= 24 else 9, colorbar={"title": {"text": "roles", "font": {"size": 12}}},
        )  # fmt: skip
    steps: dict[str, Any] = {"tickmode": "linear", "tick0": 0, "showgrid": False, "ticks": ""}
    across = {"range": [-0.5, heads - 0.5], "dtick": 1 if heads <= 32 else 4}
    rows = layer_ticks(summary.stack, 1 if layers <= 32 else 4, by_place=True)
    set_axis(figure, "xaxis", title="head", showline=False, **across, **steps)
    set_axis(figure, "yaxis", title="layer", range=[layers - 0.5, -0.5], showline=False, **steps | rows)
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
    figure = drawing.blank(round(high), margin=MATRIX_MARGIN)
    shape = partial(drawing.add_shape, figure, type="path")
    lines = [f"M{place - 0.5},-0.5 V{layers - 0.5}" for place in range(heads + 1)]
    lines += [f"M-0.5,{place - 0.5} H{heads - 0.5}" for place in range(layers + 1)]
    shape(path=" ".join(lines), line={"color": RULE, "width": 1}, layer="below")
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
    entries = [
        Entry(
            plain(f"{f'{role.code}  ' * letters}{role.sieve} ({role.tally.role})"), tone(role.tone),
            "square" if letters else SYMBOLS[role.symbol],
        )
        for role in summary.roles if role.tally.role
    ]  # fmt: skip
    if not letters:
        marker = {
            "symbol": [SYMBOLS[role.symbol] for role, *_ in marks], "size": size,
            "color": [tone(role.tone) for role, *_ in marks],
            "line": {"color": INK, "width": [1.0 * strong for *_, strong in marks]},
        }  # fmt: skip
        drawing.add_scatter(figure, mode="markers", marker=marker, **places)
        return with_legend(figure, entries)
    wide, tall = INNER / across * 0.46, INNER / rows * 0.45
    fields = [
        (role, strong, f"M{x - wide:.4f},{y - tall:.4f} H{x + wide:.4f} V{y + tall:.4f} H{x - wide:.4f} Z")
        for role, x, y, strong in marks
    ]
    by_tone = sorted(fields, key=lambda field: field[0].tone)
    for colour, alike in groupby(by_tone, key=lambda field: tone(field[0].tone)):  # a path for each colour
        path = " ".join(field for *_, field in alike)
        shape(path=path, fillcolor=colour, line={"width": 0}, layer="below")
    if framed := " ".join(field for _, strong, field in fields if strong):
        shape(path=framed, line={"width": 1.5, "color": INK})
    drawing.add_scatter(
        figure, mode="text", text=[role.code for role, *_ in marks], **places,
        textfont={"color": "var(--on-tone)", "size": size}, textposition="middle center",
    )  # fmt: skip
    framed_entries = [Entry(f"framed: strong, beyond {kinds}") for kinds in _stronger(summary)]
    return with_legend(figure, entries + framed_entries)


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
    margin = {"l": 12, "r": 12, "t": 4, "b": 8}
    return drawing.blank(round(height) + 12, margin=margin, barmode="overlay")


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
    scale = [[0, "var(--panel)"], [1, colour]]
    marker = {"color": shade.ravel(), "cmin": 0, "cmax": top, "colorscale": scale}
    rows, columns = (index.ravel() for index in np.indices(mean.shape))
    hatch = np.where(hatched.ravel(), "/", "").tolist()
    _add_bars(figure, rows, columns, marker, hatch, fine=fine, **trace)
    return np.where(shade > drawing.STRONG * top, "var(--on-tone)", INK)


def _add_bars(
    figure: Figure, rows: np.ndarray, columns: np.ndarray, marker: dict[str, Any], hatch: Any,
    *, fine: bool = False, **trace: Any,
) -> None:  # fmt: skip
    """Draw cells as bars from edge to edge; lines and hatching are fine where cells are small."""
    size, gap = 3 if fine else 4, drawing.GAP
    pattern = {"shape": hatch, "fillmode": "overlay", "fgcolor": SOFT, "size": size, "solidity": 0.2}
    look = {"line": {"width": 0.6 if fine else 0.7, "color": RULE}, "pattern": pattern}
    drawing.add_bar(
        figure, x=columns, base=rows - 0.5 + gap / 2, y=np.full(rows.size, 1 - gap), width=1 - gap,
        hoverinfo="skip", marker=marker | look, **trace,
    )  # fmt: skip


def _add_marks(
    figure: Figure, chosen: Bool[np.ndarray, "layers heads"], sign: str = "", **trace: Any
) -> None:
    """Add a trace with a mark, or a sign, in every chosen cell; nothing where none is chosen."""
    layer, head = np.nonzero(chosen)
    if layer.size:
        looks = {"mode": "text", "text": [sign] * layer.size} if sign else {"mode": "markers"}
        drawing.add_scatter(figure, x=head, y=layer, hoverinfo="skip", **looks, **trace)


def _add_title(
    figure: Figure, text: str, x: float, y: float, xanchor: str = "left", color: str = SOFT
) -> None:
    """Write a line above maps, with its upper corner at a part of the width and of the height."""
    refs: dict[str, Any] = {"xref": "paper", "yref": "paper", "xanchor": xanchor, "yanchor": "top"}
    drawing.add_note(figure, text, color=color, x=x, y=y, **refs)
