"""Pages opened in a headless Chromium, where they may neither complain nor ask for anything."""

import importlib.util
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
DRAW = "Promise.all(plots.map(draw))"
"""Draws every plot of a report, which otherwise waits until it is scrolled to."""
FIRST = "chosen.layer = 0; headView.choose(0); leaveOut(); show(open)"
"""Shows the first head of the first layer of a view, whichever it opens with."""
Opened = Callable[..., "Page"]


def wait_until(page: "Page", condition: str) -> None:
    """Wait until an expression is true; Playwright's own waiting evaluates text, which pages forbid."""
    for _ in range(200):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never true: {condition}")


@contextmanager
def chromium(*libraries: str) -> Iterator["Browser"]:
    """Open a headless Chromium; skip the test without one, or fail where everything is required.

    Args:
        *libraries: Modules that the tests need beside Playwright.
    """
    lacking = [name for name in ("playwright", *libraries) if importlib.util.find_spec(name) is None]
    if lacking or not CHROMIUM.exists():
        reason = f"these tests need {', '.join(('playwright', *libraries))} and a browser at {CHROMIUM}"
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
        assert [each for each in self.requests if not each.startswith(allowed)] == []


class Visit(Listener):
    """One opened page, and everything it asked for and complained about."""

    def __init__(self, opened: "Page", address: str) -> None:
        """Open the page of an address."""
        super().__init__()
        self.page = opened
        self.listen(opened)
        opened.goto(address)

    def again(self, width: int, height: int, scheme: Any) -> None:
        """Load the page anew in a window of some size and theme, and forget what was heard."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(color_scheme=scheme)
        self.page.mouse.move(0, 0)
        self.complaints.clear()
        self.requests.clear()
        self.page.reload()


WIDE, NARROW, DARK = (1280, 900, "light"), (400, 800, "light"), (1280, 900, "dark")
"""Width, height and theme of a window."""


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """One headless Chromium for all tests of a file."""
    with chromium() as opened:
        yield opened


@cache
def view_html(name: str) -> str:
    """The page of a made view, made once."""
    from headroles.reports.views.page import view_page
    from tests.support import made_views

    return view_page(getattr(made_views, name)())


def view_windows(folder: Path) -> Iterator[Opened]:
    """Opens pages of views in one browser; fails in the end on any complaint or request."""
    file, heard = folder / "view.html", Listener()
    with chromium() as browser:

        def open_(
            name: str = "usual",
            place: str = "",
            width: int = 1280,
            scheme: Any = "light",
            text: str = "",
            first: bool = True,
        ) -> "Page":
            file.write_text(text or view_html(name), encoding="utf-8")
            window = browser.new_page(
                viewport={"width": width, "height": 900},
                color_scheme=scheme,
                reduced_motion="reduce",
            )
            heard.listen(window)
            window.goto(file.as_uri() + place)
            if not text:
                window.evaluate(FIRST if first else "show(open)")
            return window

        yield open_
    heard.check(file.as_uri(), "about:srcdoc")


def until(window: "Page", script: str) -> None:
    """Wait for a script to be true; the page's policy keeps it from waiting by itself."""
    for _ in range(800):
        if window.evaluate(script):
            return
        window.wait_for_timeout(20)
    pytest.fail(f"never true: {script}")
