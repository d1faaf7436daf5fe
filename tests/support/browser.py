"""Pages opened in a headless Chromium, where they may neither complain nor ask for anything."""

import importlib.util
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
DRAW = "Promise.all(plots.map(draw))"
"""Draws every plot of a report, which otherwise waits until it is scrolled to."""
UNFOLD = "document.querySelectorAll('details').forEach((each) => { each.open = true; })"
FEW_ROWS = """document.querySelectorAll("tbody").forEach((body) => {
  [...body.rows].slice(4).forEach((row) => row.remove()); })"""
"""Leaves four rows of every table: they are alike, and axe-core takes its time."""
UNSTUCK = """(() => { const style = document.createElement("style");
  style.textContent = "* { position: static !important; } .unseen, .skip { display: none !important; }";
  document.head.append(style); })()"""
"""axe-core gives no verdict on text that something sticky may lie on."""
Opened = Callable[..., "Page"]


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """One headless Chromium for the tests of a worker; they skip without, or fail where all is required."""
    needed = ("playwright", "axe_playwright_python")
    if not CHROMIUM.exists() or any(importlib.util.find_spec(name) is None for name in needed):
        reason = f"these tests need {' and '.join(needed)}, and a browser at {CHROMIUM}"
        pytest.fail(reason) if os.environ.get("HEADROLES_REQUIRE_ALL") == "1" else pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(ARGUMENTS))
        yield opened
        opened.close()


class Listener:
    """Everything that pages asked for and complained about."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.complaints: list[str] = []
        self.requests: list[str] = []

    def listen(self, window: "Page") -> None:
        """Write down what a page says and asks for from now on."""
        window.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        window.on("pageerror", lambda error: self.complaints.append(str(error)))
        window.on("dialog", lambda dialog: self.complaints.append(f"a dialog: {dialog.message}"))
        window.on("request", lambda request: self.requests.append(request.url))

    def check(self, *allowed: str) -> None:
        """Fail on any complaint, and on requests whose addresses do not begin as allowed."""
        assert self.complaints == []
        assert [address for address in self.requests if not address.startswith(allowed)] == []


@pytest.fixture
def opened(browser: "Browser", tmp_path: Path) -> Iterator[Opened]:
    """Opens pages, each in a context of its own; fails in the end on any complaint, dialog or request."""
    heard, files = Listener(), ["blob:", "about:srcdoc"]
    contexts: list[BrowserContext] = []

    def open_(
        page: Path | str, place: str = "", *, width: int = 1280, height: int = 900, scheme: Any = "light"
    ) -> "Page":
        """Open a file or a text as a page, at a place such as "#head-1-2"."""
        file = page if isinstance(page, Path) else tmp_path / f"page-{len(contexts)}.html"
        if not isinstance(page, Path):
            file.write_text(page, encoding="utf-8")
        files.append(file.as_uri())
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            reduced_motion="reduce",
            accept_downloads=True,
        )
        contexts.append(context)
        window = context.new_page()
        heard.listen(window)
        window.goto(file.as_uri() + place)
        return window

    yield open_
    for context in contexts:
        context.close()
    heard.check(*files)


def wait_until(window: "Page", script: str) -> None:
    """Wait for a script to be true; the page's policy keeps Playwright from waiting by itself."""
    for _ in range(800):
        if window.evaluate(script):
            return
        window.wait_for_timeout(20)
    pytest.fail(f"never true: {script}")


def download(window: "Page", name: str) -> str:
    """Return the text of one of the files that a page offers."""
    with window.expect_download() as waiting:
        window.click(f'#downloads [data-file="{name}"]')
    return Path(waiting.value.path()).read_text(encoding="utf-8")


@cache
def axe() -> str:
    """Return the script of axe-core."""
    from importlib.resources import files

    (path,) = files("axe_playwright_python").joinpath("").rglob("axe.min.js")  # type: ignore[attr-defined]
    text: str = path.read_text(encoding="utf-8")
    return text


def serious(window: "Page", place: str = "document") -> list[tuple[str, list[str]]]:
    """Return the serious violations of accessibility that axe-core finds, with the markup of each."""
    window.evaluate(axe())
    found = window.evaluate(f"axe.run({place}, {{ resultTypes: ['violations'] }})")
    assert "color-contrast" in [each["id"] for each in found["passes"]]
    return [
        (each["id"], [node["html"][:160] for node in each["nodes"][:3]])
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]


def widening(window: "Page") -> int:
    """Return by how many pixels a page is wider than its window."""
    wide, seen = window.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    return int(max(wide - seen, 0))
