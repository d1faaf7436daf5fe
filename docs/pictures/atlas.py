"""Pictures of atlases for docs/how-to/atlas.md and docs/gallery.md, from real runs of the embedded model.

    python docs/pictures/atlas.py [--runs FOLDER] [--out docs/pictures]   # writes atlas-maps.png and others
    python docs/pictures/atlas.py --example runs/atlas  # writes those of examples/atlas

Runs that are in the folder already, under the names of the tasks, are used as they are. It needs Chromium at
/usr/bin/chromium; the pages request nothing from the network.
"""

import argparse
import tempfile
from collections.abc import Mapping
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

import headroles
from headroles.reports.html import page_html
from headroles.reports.kinds.atlas_report import report
from headroles.storage.atlas.folder import load_atlas

CHROMIUM = "/usr/bin/chromium"
TASKS = ("QNLI", "QQP", "MRPC", "SST-2")
PARTS = {
    "atlas-maps": "#roles",
    "atlas-p-values": "#p-values-panel figure",
    "atlas-several": "#several-panel figure",
}
"""Parts of the page that become pictures."""
EXAMPLE = {"atlas-across": ("tasks", "#across"), "atlas-steps": ("training", "#steps")}
"""Parts of pages of ``examples/atlas/`` that become pictures: atlas and part."""
WIDTH, WIDE = 1000, 1400
"""Width of the window in pixels, and its width for wide tables."""
LARGEST, PATIENCE = 300_000, 300_000
"""Most bytes of a picture, and most milliseconds to wait for one."""


def main() -> None:
    """Make the runs that are missing and their atlas, and write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument("--example", type=Path, help="folder that examples/atlas/make.py wrote")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        page = Path(name) / "report.html"
        if given.example is not None:
            for file, (atlas, part) in EXAMPLE.items():
                page.write_text(
                    page_html(report(load_atlas(given.example / "atlas" / atlas))), encoding="utf-8"
                )
                write_pictures(page, {file: part}, given.out, WIDE)
            return
        folders = [given.runs / task for task in TASKS]
        for task, folder in zip(TASKS, folders, strict=True):
            if not folder.exists():
                headroles.label(task, out=folder)
        page.write_text(page_html(report(headroles.atlas(folders))), encoding="utf-8")
        write_pictures(page, PARTS, given.out)


def write_pictures(page: Path, parts: Mapping[str, str], out: Path, width: int = WIDTH) -> None:
    """Write a picture of every part of a page."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"], timeout=PATIENCE
        )
        pictures = take_pictures(browser, page, parts, width)
        browser.close()
    for file, picture in pictures.items():
        if len(picture) > LARGEST:
            raise SystemExit(f"a picture may have {LARGEST:,} bytes, but {file} has {len(picture):,}")
        (out / f"{file}.png").write_bytes(picture)


def take_pictures(browser: Browser, page: Path, parts: Mapping[str, str], width: int) -> dict[str, bytes]:
    """Return pictures of the parts of a page by name, in the light theme."""
    window = browser.new_page(viewport={"width": width, "height": 900}, color_scheme="light")
    window.set_default_timeout(PATIENCE)
    window.goto(page.resolve().as_uri())
    window.evaluate("Promise.all(plots.map(draw))")
    return {file: window.locator(part).screenshot() for file, part in parts.items()}


if __name__ == "__main__":
    main()
