"""From figures to the bytes of their files: drawn in a Chromium that asks for nothing from anywhere."""

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

from headroles.errors import BadInput, MissingExtra, UnknownName
from headroles.reports.print.dress import scale_to

FORMS = ("pdf", "png", "svg")
POLICY = "default-src 'none'; script-src file:; style-src 'unsafe-inline'; img-src data: blob:"
"""What the page that draws may load: scripts from this machine, and the pictures that it makes."""
NOWHERE = "127.0.0.1:9"
"""Where everything goes that the browser would ask of other machines of its own accord."""
DOTS = 300
"""Dots of a PNG per inch."""
BEGINNING = b"D:20000101000000+00'00'"
"""The date that every PDF bears."""


def checked_form(form: str) -> str:
    """A form of files that there is.

    Raises:
        UnknownName: When there is none of that name.
    """
    if form not in FORMS:
        raise UnknownName("form of figures", str(form), FORMS)
    return form


def files_of(figures: Mapping[str, go.Figure], form: str) -> dict[str, bytes]:
    """Figures as the contents of files, all drawn by one browser.

    The same figures give the same bytes on one machine: ids are numbered, dates are fixed.

    Args:
        figures: By name, dressed for print.
        form: "svg" (text stays text), "pdf" (fonts embedded) or "png" (300 dots an inch).

    Returns:
        The content of each file by the name of its figure.

    Raises:
        UnknownName: When the form does not exist.
        MissingExtra: When kaleido is not installed.
        BadInput: When there is no Chrome or Chromium on the machine, or it does not draw.
    """
    checked_form(form)
    return {name: _tidied(drawn, form, figures[name]) for name, drawn in _drawn(figures, form).items()}


def _drawn(figures: Mapping[str, go.Figure], form: str) -> dict[str, bytes]:
    """Files as the browser gives them."""
    try:
        import kaleido
        from kaleido.errors import ChromeNotFoundError
    except ImportError as missing:
        raise MissingExtra(
            f"figures as files are drawn by kaleido, which cannot be imported ({missing}); install it with: "
            f"pip install 'headroles[figures]'"
        ) from missing
    try:
        drawn: dict[str, bytes] = _apart(lambda: _all_drawn(kaleido, figures, form))
    except ChromeNotFoundError as missing:
        raise BadInput(
            "figures as files are drawn by Chrome or Chromium, and none is on this machine; install one "
            "(Debian: apt install chromium), or name it in the environment variable BROWSER_PATH"
        ) from missing
    except (RuntimeError, OSError, ValueError, TypeError, kaleido.errors.KaleidoError) as error:
        said = next((each for each in error.args if isinstance(each, str)), "no reason given")
        reason = f"{type(error).__name__}: {' '.join(said.split())[:200]}"
        raise BadInput(
            f"the figures could not be drawn as {form} ({reason}), and nothing was written; try another "
            f"form, update Chromium and kaleido, or name another browser in the environment variable "
            f"BROWSER_PATH"
        ) from error
    return drawn


async def _all_drawn(kaleido: Any, figures: Mapping[str, go.Figure], form: str) -> dict[str, bytes]:
    """Every figure by one browser with one window."""
    options = {"format": form, "scale": scale_to(form)}
    async with kaleido.Kaleido(n=1, page_generator=_page(kaleido), proxy_server=NOWHERE) as browser:
        return {name: await browser.calc_fig(_told(figure), opts=options) for name, figure in figures.items()}


def _page(kaleido: Any) -> Any:
    """The page that draws: plotly's script of this machine, no formulas, no request."""
    page = kaleido.PageGenerator(mathjax=False)
    guard = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    page.header = page.header.replace("<head>", f'<head><meta charset="utf-8">{guard}')
    return page


def _told(figure: go.Figure) -> dict[str, Any]:
    """A figure as plotly's script reads it."""
    told: dict[str, Any] = figure.to_dict()
    return told


def _apart(work: Callable[[], Any]) -> Any:
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


def _tidied(drawn: bytes, form: str, figure: go.Figure) -> bytes:
    """A file without what chance or the clock put into it, and with its size."""
    if form == "svg":
        return _svg(drawn.decode("utf-8"), figure).encode("utf-8")
    return _png(drawn) if form == "png" else _pdf(drawn)


def _svg(text: str, figure: go.Figure) -> str:
    """Ids numbered in the order of their appearance, the size in millimetres, and what the figure shows."""
    chance = re.findall(r'(?:id="(?:defs|topdefs|clip)-?|class="trace [a-z]+ trace)([0-9a-f]{6})', text)
    for place, found in enumerate(dict.fromkeys(chance)):
        text = text.replace(found, f"n{place:05}")
    scale = scale_to()
    wide, high = (f"{side * scale / 96 * 25.4:.2f}mm" for side in (figure.layout.width, figure.layout.height))
    text = re.sub(r'width="[\d.]+" height="[\d.]+"', f'width="{wide}" height="{high}"', text, count=1)
    said = html.escape(str((figure.layout.meta or {}).get("sentence", "")))
    return (
        re.sub("(<svg[^>]*>)", lambda start: f"{start[1]}<desc>{said}</desc>", text, count=1)
        if said
        else text
    )


def _png(data: bytes) -> bytes:
    """The picture with its dots per inch, so that it has its size on paper."""
    metre = round(DOTS / 0.0254)
    body = b"pHYs" + pack(">IIB", metre, metre, 1)
    chunk = pack(">I", 9) + body + pack(">I", zlib.crc32(body))
    return data[:33] + chunk + data[33:]


def _pdf(data: bytes) -> bytes:
    """The same with one fixed date, of the same length so that every place in the file stays where it is."""

    def fixed(found: re.Match[bytes]) -> bytes:
        return found[1] + BEGINNING[: len(found[2])].ljust(len(found[2])) + found[3]

    return re.sub(rb"(/(?:CreationDate|ModDate) \()([^)]*)(\))", fixed, data)
