"""Figures as the bytes of files, drawn by a Chromium that requests nothing from the network."""

import asyncio
import html
import re
import zlib
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from struct import pack
from threading import Thread
from typing import Any

import plotly.graph_objects as go

from headroles.errors import BadInput, MissingExtra
from headroles.reports.example_heads import SVG
from headroles.reports.print.dress import scale_to
from headroles.reports.print.settings import check_form
from headroles.storage.integrity.origin import PDF_MARK, PNG_CHUNK, SVG_MARK

POLICY = "default-src 'none'; script-src file:; style-src 'unsafe-inline'; img-src data: blob:"
"""Policy of the page that draws: scripts from this machine, and the pictures that it makes."""
NOWHERE = "127.0.0.1:9"
"""Proxy that swallows every request the browser would make to other machines by itself."""
DOTS = 300
"""Dots of a PNG per inch."""
BEGINNING = b"D:20000101000000+00'00'"
"""The date in every PDF."""


def files_of(figures: Mapping[str, go.Figure], form: str) -> dict[str, bytes]:
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
    ready = {name: str(figure.layout.meta[SVG]) for name, figure in figures.items() if _is_svg(figure, form)}
    drawn = {name: figure for name, figure in figures.items() if name not in ready}
    files = _browser_files(drawn, form) if drawn else {}
    return {
        name: ready[name].encode() if name in ready else _make_repeatable(files[name], form, figures[name])
        for name in figures
    }


def _is_svg(figure: go.Figure, form: str) -> bool:
    """Return whether a figure is to be written as the SVG that it holds."""
    return form == "svg" and SVG in (figure.layout.meta or {})


def _browser_files(figures: Mapping[str, go.Figure], form: str) -> dict[str, bytes]:
    """Return the files as the browser gives them."""
    try:
        import kaleido
        from kaleido.errors import ChromeNotFoundError
    except ImportError as missing:
        raise MissingExtra(
            f"figures as files are drawn by kaleido, which cannot be imported ({missing}); install it with: "
            f"pip install 'headroles[figures]'"
        ) from missing
    try:
        contents: dict[str, bytes] = _run_in_thread(lambda: _draw_all(kaleido, figures, form))
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
    return contents


async def _draw_all(kaleido: Any, figures: Mapping[str, go.Figure], form: str) -> dict[str, bytes]:
    """Draw every figure in one browser with one window."""
    options = {"format": form, "scale": scale_to(form)}
    async with kaleido.Kaleido(n=1, page_generator=_page(kaleido), proxy_server=NOWHERE) as browser:
        return {
            name: await browser.calc_fig(_figure_dict(figure), opts=options)
            for name, figure in figures.items()
        }


def _page(kaleido: Any) -> Any:
    """Return the page that draws: plotly's script of this machine, no formulas, no request."""
    page = kaleido.PageGenerator(mathjax=False)
    guard = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    page.header = page.header.replace("<head>", f'<head><meta charset="utf-8">{guard}')
    return page


def _figure_dict(figure: go.Figure) -> dict[str, Any]:
    """Return a figure as plotly's script reads it."""
    content: dict[str, Any] = figure.to_dict()
    return content


def _run_in_thread(work: Callable[[], Any]) -> Any:
    """Run a coroutine in a thread of its own, because notebooks have a loop that runs already."""
    outcome: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

    def run() -> None:
        try:
            outcome.put((asyncio.run(work()), None))
        except BaseException as error:  # handed to the thread that waits
            outcome.put((None, error))

    thread = Thread(target=run)
    thread.start()
    thread.join()
    result, error = outcome.get()
    if error is not None:
        raise error
    return result


def _make_repeatable(data: bytes, form: str, figure: go.Figure) -> bytes:
    """Return a file without random ids or the date of its making, with its size and the mark of headroles."""
    if form == "svg":
        return _svg(data.decode("utf-8"), figure).encode("utf-8")
    return _png(data) if form == "png" else _pdf(data)


def _svg(text: str, figure: go.Figure) -> str:
    """Number ids in the order of their appearance, and set the size in millimetres and a description."""
    random_ids = re.findall(r'(?:id="(?:defs|topdefs|clip)-?|class="trace [a-z]+ trace)([0-9a-f]{6})', text)
    for place, random_id in enumerate(dict.fromkeys(random_ids)):
        text = text.replace(random_id, f"n{place:05}")
    scale = scale_to()
    wide, high = (f"{side * scale / 96 * 25.4:.2f}mm" for side in (figure.layout.width, figure.layout.height))
    text = re.sub(r'width="[\d.]+" height="[\d.]+"', f'width="{wide}" height="{high}"', text, count=1)
    description = html.escape(str((figure.layout.meta or {}).get("sentence", "")))
    added = (f"<desc>{description}</desc>" if description else "") + SVG_MARK
    return re.sub("(<svg[^>]*>)", lambda start: start[1] + added, text, count=1)


def _png(data: bytes) -> bytes:
    """Return the picture with its dots per inch, so that it has its size on paper, and with its software."""
    metre = round(DOTS / 0.0254)
    size = _chunk(b"pHYs" + pack(">IIB", metre, metre, 1))
    return data[:33] + size + _chunk(PNG_CHUNK) + data[33:]


def _chunk(body: bytes) -> bytes:
    """Return a chunk of a PNG file from its type and content."""
    return pack(">I", len(body) - 4) + body + pack(">I", zlib.crc32(body))


def _pdf(data: bytes) -> bytes:
    """Return the file with one fixed date of the same length, so that byte offsets stay right, and a mark."""

    def fixed(date: re.Match[bytes]) -> bytes:
        return date[1] + BEGINNING[: len(date[2])].ljust(len(date[2])) + date[3]

    return re.sub(rb"(/(?:CreationDate|ModDate) \()([^)]*)(\))", fixed, data) + PDF_MARK.encode() + b"\n"
