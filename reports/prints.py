"""Figures of a report for print: each stands without its page, with a legend and its sentence."""

import asyncio
import html
import math
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import count
from struct import pack
from typing import TYPE_CHECKING, Any

import numpy as np

from headroles.errors import BadInput, MissingExtra
from headroles.kinds import report_of
from headroles.records.atlas.atlas import Atlas
from headroles.records.comparison import Comparison
from headroles.records.findings import Labelling
from headroles.records.numbers import isolate
from headroles.reports.document import template
from headroles.reports.drawing import FAINT, add_scatter, plain
from headroles.reports.drawing import Figure as PlotlyFigure
from headroles.reports.forms import WIDTH, check_form
from headroles.reports.marks import Cells, Dots, Entry, Figure, Key, Line, Rule, Span, plotly_json
from headroles.reports.report import Report
from headroles.storage.integrity.origin import PDF_MARK, PNG_CHUNK, SVG_MARK

if TYPE_CHECKING:
    import plotly.graph_objects as go

SVG = "svg"
"""Key of the SVG of a figure that is one already, in ``layout.meta``."""
NAME = 40
"""Letters of a name in a file's name at most."""


def file_names(names: Iterable[str]) -> list[str]:
    """Return names that can stand in a file's name on any system, no two alike.

    Example:
        >>> file_names(["local", "delimiter:cls", "a/b", "a b", "../律"])
        ['local', 'delimiter-cls', 'a-b', 'a-b-2', 'sieve']
    """
    taken: list[str] = []
    for name in names:
        slug = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:NAME].strip("-") or "sieve"
        candidates = (f"{slug}-{number}" if number > 1 else slug for number in count(1))
        taken.append(next(candidate for candidate in candidates if candidate not in taken))
    return taken


def legend_of(figure: Figure) -> list[Entry]:
    """Return the legend of a figure that stands without its page: its own, or what follows from its marks.

    What a page can switch on and off comes first.
    """
    if figure.legend:
        return [*figure.legend]
    found = {word: Entry(plain(word), look.colour, look.symbol) for _, look, word in figure.switches}
    for mark in sorted(figure.marks, key=lambda mark: not getattr(mark, "toggles", None)):
        if isinstance(mark, Dots):
            rows = figure.rows if mark.rows is None else mark.rows
            known = rows.take(~np.isnan(rows[mark.x].astype(float)))
            drawn = {*known[mark.by].tolist()} if mark.by else {""} if len(known) else set()
            for word, look in mark.looks.items():
                name = mark.toggles(word) if mark.toggles else mark.name or word
                name = figure.meanings.get(name, name)
                if word in drawn:
                    symbol = mark.marker.get("symbol", look.symbol)
                    found.setdefault(name, Entry(plain(name), look.colour, symbol))
        elif isinstance(mark, Cells):
            found |= {name: Entry(name, colour, "square") for name, colour in mark.meanings.items()}
        elif isinstance(mark, Key):
            found[mark.text] = Entry(mark.text, mark.look.colour, mark.look.symbol, mark.dash)
        elif isinstance(mark, Rule | Span) and mark.name:
            colour, dash = (mark.colour, mark.dash) if isinstance(mark, Rule) else (FAINT, "")
            found[mark.name] = Entry(mark.name, colour, line=dash or "solid")
        elif isinstance(mark, Line) and mark.name and (mark.look.symbol or mark.number < 0):
            line = mark.dash if mark.look.symbol else mark.dash or "solid"
            found[mark.name] = Entry(plain(mark.name), mark.look.colour, mark.look.symbol, line)
    return list(found.values())


def with_legend(figure: PlotlyFigure, entries: Iterable[Entry]) -> PlotlyFigure:
    """Add a legend to a figure in place of any other; without entries, that of its own traces, if any.

    Args:
        figure: Is changed.
        entries: In their order.
    """
    lines = tuple(entries)
    if not lines:
        figure["layout"]["showlegend"] |= any(trace.get("showlegend") for trace in figure["data"])
        return figure
    for trace in figure["data"]:
        trace["showlegend"] = False
    for entry in lines:
        looks: dict[str, Any] = {}
        if entry.line:
            looks["line"] = {"color": entry.colour, "dash": entry.line, "width": 2}
        if entry.symbol:
            looks["marker"] = {
                "symbol": entry.symbol, "color": entry.colour, "size": 10, "line": {"color": entry.colour}
            }  # fmt: skip
        elif not entry.line:
            looks["marker"] = {"size": 1, "color": "rgba(0,0,0,0)"}
        mode = "+".join(f"{name}s" for name in ("line", "marker") if name in looks)
        add_scatter(figure, x=[None], y=[None], name=entry.name, showlegend=True, mode=mode, **looks)
    figure["layout"]["showlegend"] = True
    return figure


def figures_of(result: Labelling | Comparison | Atlas, width: float = WIDTH) -> "Mapping[str, go.Figure]":
    """Draw every figure of a report by its name, in the order of the report, prepared for print.

    Args:
        result: A run of any kind, a comparison of two, or an atlas of several.
        width: Of every figure in millimetres.

    Returns:
        Plotly figures with ``layout.meta["sentence"]``; none of the page's colours is left as a variable.
    """
    drawn = figures_for_print(report_of(result), width)
    return {name: dress_for_print(figure, width) for name, figure in drawn.items()}


def figures_for_print(report: Report, width: float) -> dict[str, PlotlyFigure]:
    """Draw all figures of a report by name, with legends and sentences, at a width in millimetres."""
    made = dict(report.prints(width))
    return made | {
        name: figure for name, figure in drawn_for_print(report.page().figures()).items() if name not in made
    }


def drawn_for_print(figures: Iterable[Figure]) -> dict[str, PlotlyFigure]:
    """Draw figures by name, with legends and their sentences; of a choice, each of its parts."""
    made = {}
    for figure in figures:
        for plot in filter(None, (figure, figure.beside)):
            key, sentence = plot.name or plot.key, plot.sentence
            slugs = file_names(part.title for part in plot.parts)
            drawn = {key: (plot, sentence)} if not plot.parts else {
                f"{key}-{slug}": (part, f"{isolate(part.title)}: {sentence}")
                for slug, part in zip(slugs, plot.parts, strict=True)
            }  # fmt: skip
            for name, (part, words) in drawn.items():
                made[name] = with_legend(plotly_json(part), legend_of(part))
                made[name]["layout"]["meta"] = {"sentence": words}
    return made


FONTS = "Arial, Helvetica, 'Liberation Sans', 'DejaVu Sans', sans-serif"
"""Fonts of figures; the first that a reader's machine has is used."""
TYPE = 9.0
"""Size of axis titles in points."""
PAGE_TYPE = 13.0
"""Size of axis titles in pixels, as figures are drawn for the page; everything else keeps its proportion."""
LONGEST = {"ticktext": 48, "name": 48, "text": 120}
"""Most letters of names at axes, in legends and inside a plot; longer ones are cut."""
LINE = 19
"""Height of a line of the legend in pixels."""
LETTER = 6.2
"""Width of a letter of the legend in pixels, rather too much than too little."""
MARK = 42
"""Width of a mark of the legend with its gaps in pixels."""


@cache
def palette() -> Mapping[str, str]:
    """Return colours of the page's light theme by variable name, read from its style; paper is white.

    Example:
        >>> palette()["tone-0"], palette()["paper"]
        ('#0063a8', '#ffffff')
    """
    first = re.search(r":root\s*{(.*?)}", template("page.css"), flags=re.DOTALL)
    colours = re.findall(r"--([\w-]+):\s*(#[0-9a-fA-F]{6});", first.group(1) if first else "")
    return dict(colours) | {"paper": "#ffffff", "panel": "#ffffff"}


def scale_to(form: str = "svg") -> float:
    """Return the factor from drawn pixels to points of type, and for "png" to 300 dots an inch.

    Example:
        >>> round(PAGE_TYPE * scale_to() * 72 / 96, 6)
        9.0
    """
    vector = TYPE * 96 / 72 / PAGE_TYPE
    return vector * 300 / 96 if form == "png" else vector


def pixels(width: float) -> float:
    """Return the pixels in which a figure of a width in millimetres is drawn, before ``scale_to``.

    Example:
        >>> round(pixels(183.0) * scale_to() / 96 * 25.4, 6)
        183.0
    """
    return width / 25.4 * 96 / scale_to()


def dress_for_print(figure: PlotlyFigure, width: float) -> "go.Figure":
    """Return a figure of the page as plotly's own object, prepared for print.

    Args:
        figure: As the page has it; with ``layout.showlegend``, the traces that say so get a legend.
        width: In millimetres, ``NARROWEST`` to ``WIDEST``.

    Returns:
        White ground, the light theme's colours for CSS variables, long names cut, sizes in pixels that
        ``scale_to`` brings to points.
    """
    from plotly import graph_objects  # two thirds of a second, and no page needs it

    copy = graph_objects.Figure(_light(figure))
    wide, high = pixels(width), float(copy.layout.height or 400)
    copy.update_layout(
        template="none", width=wide, autosize=False, paper_bgcolor="#ffffff", plot_bgcolor="#ffffff",
        height=min(high, 1.2 * wide) if copy.layout.yaxis.scaleanchor else high, font={"family": FONTS},
    )  # fmt: skip
    copy.update_xaxes(title_font_size=PAGE_TYPE)
    copy.update_yaxes(title_font_size=PAGE_TYPE)
    if copy.layout.showlegend:
        _legend(copy, wide)
    return copy


def _legend(figure: "go.Figure", wide: float) -> None:
    """Put a legend above the plot, and make room for it."""
    names = [len(_bare(trace.name or "")) for trace in figure.data if trace.showlegend]
    margin, entry = figure.layout.margin, MARK + LETTER * max(names, default=1)
    sides = [len(_bare(str(text))) for axis in figure.select_yaxes() for text in (axis.ticktext or ())]
    side = max(float(margin.l or 0), 16 + LETTER * max(sides, default=0))
    across = max(1, int((wide - side - (margin.r or 16)) // entry))
    rows = math.ceil(len(names) / across)
    room = LINE * rows + 12 * bool(rows)
    figure.update_layout(
        height=figure.layout.height + room,
        margin={"t": (margin.t or 0) + room},
        legend={
            "orientation": "h", "xref": "paper", "x": 0, "xanchor": "left", "yref": "container", "y": 1,
            "yanchor": "top", "entrywidth": entry - MARK,
            "font": {"size": 12, "color": palette()["ink"]},
            "bgcolor": "rgba(0,0,0,0)", "traceorder": "normal",
        },
    )  # fmt: skip


def _bare(text: str) -> str:
    """Return text as a reader sees it, without markup."""
    return html.unescape(re.sub("<[^>]*>", "", text))


def shorten(text: str, longest: int) -> str:
    """Return escaped text of limited length: whole letters, and isolates that are closed.

    Example:
        >>> shorten("local", 48), shorten("&lt;" * 60, 48).count("&lt;")
        ('local', 47)
    """
    bare = _bare(text)
    if len(bare) <= longest:
        return text
    shortened = bare[: longest - 1] + "…"
    open_isolates = sum(letter in "\u2066\u2067\u2068" for letter in shortened) - shortened.count("\u2069")
    return html.escape(shortened, quote=False) + "\u2069" * max(open_isolates, 0)


def _light(value: Any, key: str = "") -> Any:
    """Return the same value with colours for variables, and long names cut where text is shown."""
    if isinstance(value, dict):
        return {name: _light(inner, name) for name, inner in value.items() if name != "customdata"}
    if isinstance(value, list | tuple):
        return [_light(inner, key) for inner in value]
    if isinstance(value, np.ndarray):
        return _light(value.tolist(), key) if value.dtype.kind in "OU" else value
    if not isinstance(value, str):
        return value
    if value.startswith("var(--"):
        return palette()[value[6:-1]]
    return shorten(value, LONGEST[key]) if key in LONGEST and "<br>" not in value else value


POLICY = "default-src 'none'; script-src file:; style-src 'unsafe-inline'; img-src data: blob:"
"""Policy of the page that draws: scripts from this machine, and the pictures that it makes."""
NOWHERE = "127.0.0.1:9"
"""Proxy that swallows every request the browser would make to other machines by itself."""
DOTS = 300
"""Dots of a PNG per inch."""
BEGINNING = b"D:20000101000000+00'00'"
"""The date in every PDF."""


def files_of(figures: "Mapping[str, go.Figure]", form: str) -> dict[str, bytes]:
    """Return figures as the contents of files, all drawn by one browser.

    The same figures give the same bytes on one machine: ids are numbered, dates are fixed.

    Args:
        figures: By name, prepared for print.
        form: "svg" (text stays text), "pdf" (fonts embedded) or "png" (300 dots an inch).

    Returns:
        The content of each file by the name of its figure.

    Raises:
        UnknownName: When the form does not exist.
        MissingExtra: When kaleido is not installed.
        BadInput: When there is no Chrome or Chromium on the machine, or it does not draw.
    """
    check_form(form)
    ready = {
        name: str(figure.layout.meta[SVG]).encode()
        for name, figure in figures.items() if form == "svg" and SVG in (figure.layout.meta or {})
    }  # fmt: skip
    drawn = {name: figure for name, figure in figures.items() if name not in ready}
    for name, data in _browser_files(drawn, form).items() if drawn else ():
        finish: Callable[[bytes], bytes] = _png if form == "png" else _pdf
        ready[name] = _svg(drawn[name], data) if form == "svg" else finish(data)
    return {name: ready[name] for name in figures}


def _browser_files(figures: "Mapping[str, go.Figure]", form: str) -> dict[str, bytes]:
    """Return the files as one browser with one window draws them."""
    try:
        import kaleido
        from kaleido.errors import ChromeNotFoundError
    except ImportError as missing:
        raise MissingExtra(
            f"figures as files are drawn by kaleido, which cannot be imported ({missing}); install it with: "
            f"pip install 'headroles[figures]'"
        ) from missing

    async def draw() -> dict[str, bytes]:
        page, options = kaleido.PageGenerator(mathjax=False), {"format": form, "scale": scale_to(form)}
        guard = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        page.header = page.header.replace("<head>", f'<head><meta charset="utf-8">{guard}')
        async with kaleido.Kaleido(n=1, page_generator=page, proxy_server=NOWHERE) as browser:
            return {n: await browser.calc_fig(f.to_dict(), opts=options) for n, f in figures.items()}

    try:
        files: dict[str, bytes] = _run_in_thread(draw)
    except ChromeNotFoundError as missing:
        raise BadInput(
            "figures as files are drawn by Chrome or Chromium, and none is on this machine; install one "
            "(Debian: apt install chromium), or name it in the environment variable BROWSER_PATH"
        ) from missing
    except (RuntimeError, OSError, ValueError, TypeError, kaleido.errors.KaleidoError) as error:
        reason_given = next((text for text in error.args if isinstance(text, str)), "no reason given")
        reason = f"{type(error).__name__}: {' '.join(reason_given.split())[:200]}"
        raise BadInput(
            f"the figures could not be drawn as {form} ({reason}), and nothing was written; try another "
            f"form, update Chromium and kaleido, or name another browser in the environment variable "
            f"BROWSER_PATH"
        ) from error
    return files


def _run_in_thread(work: Callable[[], Any]) -> Any:
    """Run a coroutine in a thread of its own, because notebooks have a loop that runs already."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(work())).result()


# The files have no random ids and no date of their making, but their size and the mark of headroles.


def _svg(figure: "go.Figure", data: bytes) -> bytes:
    """Number ids in the order of their appearance, and set the size in millimetres and a description."""
    text = data.decode("utf-8")
    random_ids = re.findall(r'(?:id="(?:defs|topdefs|clip)-?|class="trace [a-z]+ trace)([0-9a-f]{6})', text)
    for place, random_id in enumerate(dict.fromkeys(random_ids)):
        text = text.replace(random_id, f"n{place:05}")
    sides = (figure.layout.width, figure.layout.height)
    wide, high = (f"{side * scale_to() / 96 * 25.4:.2f}mm" for side in sides)
    text = re.sub(r'width="[\d.]+" height="[\d.]+"', f'width="{wide}" height="{high}"', text, count=1)
    description = html.escape(str((figure.layout.meta or {}).get("sentence", "")))
    added = (f"<desc>{description}</desc>" if description else "") + SVG_MARK
    return re.sub("(<svg[^>]*>)", lambda start: start[1] + added, text, count=1).encode("utf-8")


def _png(data: bytes) -> bytes:
    """Return the picture with its dots per inch, so that it has its size on paper, and with its software."""
    metre = round(DOTS / 0.0254)
    chunks = (b"pHYs" + pack(">IIB", metre, metre, 1), PNG_CHUNK)
    added = (pack(">I", len(body) - 4) + body + pack(">I", zlib.crc32(body)) for body in chunks)
    return data[:33] + b"".join(added) + data[33:]


def _pdf(data: bytes) -> bytes:
    """Return the file with one fixed date of the same length, so that byte offsets stay right, and a mark."""

    def fixed(date: re.Match[bytes]) -> bytes:
        return date[1] + BEGINNING[: len(date[2])].ljust(len(date[2])) + date[3]

    return re.sub(rb"(/(?:CreationDate|ModDate) \()([^)]*)(\))", fixed, data) + PDF_MARK.encode() + b"\n"
