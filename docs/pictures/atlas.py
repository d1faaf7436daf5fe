"""Pictures for docs/how-to/atlas.md, made from real runs of the embedded model on the shipped samples.

    python docs/pictures/atlas.py [--runs FOLDER] [--out docs/pictures]   # writes atlas-maps.png and others

Runs that are in the folder already, under the names of the tasks, are used as they are. It needs Chromium at
/usr/bin/chromium; the page requests nothing from the network.
"""

import argparse
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

import headroles

CHROMIUM = "/usr/bin/chromium"
TASKS = ("QNLI", "QQP", "MRPC", "SST-2")
PARTS = {"atlas-maps": "#roles", "atlas-p-values": "#p-values figure", "atlas-several": "#several figure"}
"""Parts of the page that become pictures."""
WIDTH, LARGEST, PATIENCE = 1000, 300_000, 300_000
"""Width of the window in pixels, most bytes of a picture, and most milliseconds to wait for one."""


def main() -> None:
    """Make the runs that are missing and their atlas, and write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    given = parser.parse_args()
    folders = [given.runs / task for task in TASKS]
    for task, folder in zip(TASKS, folders, strict=True):
        if not folder.exists():
            headroles.label(task, out=folder)
    with tempfile.TemporaryDirectory() as name:
        headroles.atlas(folders, out=Path(name) / "atlas")
        write_pictures(Path(name) / "atlas" / "report.html", given.out)


def write_pictures(page: Path, out: Path) -> None:
    """Write a picture of every part of a page."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"], timeout=PATIENCE
        )
        pictures = take_pictures(browser, page)
        browser.close()
    for file, picture in pictures.items():
        if len(picture) > LARGEST:
            raise SystemExit(f"a picture may have {LARGEST:,} bytes, but {file} has {len(picture):,}")
        (out / f"{file}.png").write_bytes(picture)


def take_pictures(browser: Browser, page: Path) -> dict[str, bytes]:
    """Return pictures of the parts of a page by name, in the light theme."""
    window = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
    window.set_default_timeout(PATIENCE)
    window.goto(page.resolve().as_uri())
    window.evaluate("Promise.all(plots.map(draw))")
    return {file: window.locator(part).screenshot() for file, part in PARTS.items()}


if __name__ == "__main__":
    main()
