"""Pages of views opened in a real browser, which may neither complain nor ask for anything."""

import importlib.util
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headroles.reports.views.page import view_page
from tests.support import made_views

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = Path("/usr/bin/chromium")
Opened = Callable[..., "Page"]


@cache
def html_of(name: str) -> str:
    """A page of a made view, made once."""
    return view_page(getattr(made_views, name)())


def windows(folder: Path) -> Iterator[Opened]:
    """Opens pages in one browser; fails in the end on any complaint or request."""
    if importlib.util.find_spec("playwright") is None or not CHROMIUM.exists():
        reason = f"these tests take playwright and a browser at {CHROMIUM}"
        pytest.fail(reason) if os.environ.get("HEADROLES_REQUIRE_ALL") == "1" else pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    file = folder / "view.html"
    complaints: list[str] = []
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=arguments)

        def open_(
            name: str = "usual",
            place: str = "",
            width: int = 1280,
            scheme: Any = "light",
            text: str = "",
        ) -> "Page":
            file.write_text(text or html_of(name), encoding="utf-8")
            window = browser.new_page(
                viewport={"width": width, "height": 900},
                color_scheme=scheme,
                reduced_motion="reduce",
            )
            window.on("console", lambda message: complaints.append(message.text))
            window.on("pageerror", lambda error: complaints.append(str(error)))
            window.on("request", lambda asked: complaints.append(asked.url))
            window.goto(file.as_uri() + place)
            if not text:
                window.evaluate("show(open)")
            return window

        yield open_
        browser.close()
    assert not [each for each in complaints if not each.startswith((file.as_uri(), "about:srcdoc"))]


def until(window: "Page", script: str) -> None:
    """Wait for a script to be true; the page's policy keeps it from waiting by itself."""
    for _ in range(100):
        if window.evaluate(script):
            return
        window.wait_for_timeout(30)
    pytest.fail(f"never true: {script}")
