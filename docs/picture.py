"""Pictures for README.md, made from real runs of the embedded model.

    python docs/picture.py [--out docs]       # writes report.png, card.png and view.png

Needs Chromium at /usr/bin/chromium; the pages request nothing from the network.
"""

import argparse
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

import headroles

CHROMIUM = "/usr/bin/chromium"
WIDTH = 1200
LARGEST = 300_000
"""Most bytes of a picture."""
HEAD = (2, 8)
"""Layer and head whose card and attention are shown."""
SENTENCE, KEYS = "The old sailor quickly mended the torn sail.", "Sa · adjective → noun"
"""Text of the view, and the role whose keys it colours."""


def open_page(browser: Browser, path: Path, height: int, width: int = WIDTH) -> Page:
    """Open a page in the light theme, without motion."""
    window = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
    window.emulate_media(reduced_motion="reduce")
    window.goto(path.resolve().as_uri())
    return window


def report(browser: Browser, path: Path) -> bytes:
    """Return a picture of the first screen: the answer, and a map of heads for every role."""
    window = open_page(browser, path, 900, width=1280)
    window.locator("#maps").wait_for()
    return take_picture(window)


def card(browser: Browser, path: Path) -> bytes:
    """Return a picture of the answer, with one head open in the panel."""
    window = open_page(browser, path, 900)
    window.evaluate("head => openHead(...head)", HEAD)
    window.locator("#head-card canvas").first.wait_for()
    return take_picture(window)


def view(browser: Browser, folder: Path) -> bytes:
    """Return a picture of all heads with the roles of the run, and of the head in a preview."""
    path, (layer, head) = folder / "view.html", HEAD
    headroles.view(SENTENCE, run=folder / "run", view="model", out=path)
    window = open_page(browser, path, 780, width=1120)
    window.select_option("#view-keys", label=KEYS)
    window.evaluate("document.getElementById('view-app').scrollIntoView()")
    window.hover(f".view-thumb[aria-label^='layer {layer}, head {head}']")
    return take_picture(window)


def take_picture(window: Page) -> bytes:
    """Return a picture of the window once it has drawn its content."""
    window.wait_for_timeout(1500)
    picture = window.screenshot()
    window.close()
    return picture


def main() -> None:
    """Make the runs and write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        headroles.label("QNLI", out=str(folder / "run"))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = folder / "run" / "report.html"
        pictures = {
            "report.png": report(browser, page),
            "card.png": card(browser, page),
            "view.png": view(browser, folder),
        }
        browser.close()
    for file, picture in pictures.items():
        if len(picture) > LARGEST:
            raise SystemExit(f"a picture may have {LARGEST:,} bytes, but {file} has {len(picture):,}")
        (out / file).write_bytes(picture)


if __name__ == "__main__":
    main()
