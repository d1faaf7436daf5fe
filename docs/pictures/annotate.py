"""Pictures for docs/start/report.md: a real report with numbered callouts.

    python docs/pictures/annotate.py [--run runs/QNLI-all-MiniLM-L6-v2] [--out docs/pictures]

Without ``--run`` it makes the run of the README. It writes read-answer.png, read-head.png and read-sure.png.
Numbers are drawn beside elements of the page, so a page that changes moves them or stops this script.
Needs Chromium at /usr/bin/chromium; the page requests nothing from the network.
"""

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, sync_playwright

import headroles

CHROMIUM = "/usr/bin/chromium"
LARGEST = 300_000
"""Most bytes of a picture."""
HEAD = (1, 8)
"""Layer and head whose panel is shown."""
DRAW = """([number, x, y, box]) => {
  const layer = document.createElement('div')
  layer.style.cssText = 'position:fixed;inset:0;pointer-events:none;z-index:99999'
  document.body.append(layer)
  const add = (css, text) => {
    const part = document.createElement('div')
    part.style.cssText = css
    part.textContent = text
    layer.append(part)
  }
  if (box) add(`position:absolute;left:${box[0] - 4}px;top:${box[1] - 4}px;width:${box[2] + 8}px;`
    + `height:${box[3] + 8}px;border:2px solid #b3123f;border-radius:6px;box-sizing:border-box`, '')
  add(`position:absolute;left:${x - 12}px;top:${y - 12}px;width:24px;height:24px;border-radius:12px;`
    + 'background:#b3123f;color:#fff;font:bold 15px/24px sans-serif;text-align:center;'
    + 'box-shadow:0 0 0 2px #fff', String(number))
}"""


Box = tuple[float, float, float, float]
"""Left, top, width and height in pixels of the window."""


@dataclass(frozen=True, slots=True)
class Callout:
    """A number on the page.

    Attributes:
        box: The place that it explains.
        frame: Whether a frame is drawn around it.
        right: Whether the number stands to the right of the place, not to the left.
    """

    box: Box
    frame: bool = False
    right: bool = False


def annotate(page: Page, callouts: list[Callout]) -> None:
    """Draw callouts on a page, numbered from 1."""
    for number, callout in enumerate(callouts, start=1):
        left, top, width, height = callout.box
        across = left + width + 18 if callout.right else left - 16
        frame = list(callout.box) if callout.frame else None
        page.evaluate(DRAW, [number, across, top + height / 2, frame])


def place_of(what: Locator) -> Box:
    """Return the place of the first element that a locator finds.

    Raises:
        SystemExit: When it is not on the page.
    """
    box = what.first.bounding_box()
    if box is None:
        raise SystemExit(f"{what} has no place on the page; the report has changed")
    return box["x"], box["y"], box["width"], box["height"]


def cell_of(page: Page, role: str, layer: int, head: int) -> Box:
    """Return the place of one head in the map of a role."""
    chart = page.locator(f"#map-grid .map:has(:text('({role})')) svg")
    left, top, size = chart.evaluate(
        """(map, [layer, head]) => {
          const cells = map.querySelector('.cell').getAttribute('d')
          const [x, next] = [...cells.matchAll(/M([0-9]+) /g)].map(match => +match[1])
          const box = map.getBoundingClientRect()
          const step = next - x
          return [box.x + x + head * step, box.y + layer * step, step - 2]
        }""",
        [layer, head],
    )
    return left, top, size, size


def point_of(page: Page, axis: str, value: float, row: float) -> Box:
    """Return the place of a value in a row of the figure of means; rows count from 0 at the top."""
    left, top = page.evaluate(
        """([axis, value, row]) => {
          const figure = document.querySelector('#sure .js-plotly-plot')
          const layout = figure._fullLayout
          const box = figure.getBoundingClientRect()
          const across = layout[axis]._offset + layout[axis].l2p(value)
          return [box.x + across, box.y + layout._size.t + (row + 0.7) / 10 * layout._size.h]
        }""",
        [axis, value, row],
    )
    return left, top, 0, 0


def open_page(browser: Browser, report: Path, height: int, width: int = 1280) -> Page:
    """Open the report in the light theme, without motion."""
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
    page.set_default_timeout(30_000)
    page.emulate_media(reduced_motion="reduce")
    page.goto(report.resolve().as_uri())
    page.locator("#map-grid svg").first.wait_for()
    return page


def answer(browser: Browser, report: Path) -> bytes:
    """Return a picture of the first screen."""
    page = open_page(browser, report, 870)
    callouts = [
        Callout(place_of(page.locator("ul.answer > li").nth(1))),
        Callout(place_of(page.locator("#warnings")), frame=True),
        Callout(place_of(page.locator("#maps-key"))),
        Callout(cell_of(page, "local", 0, 2), frame=True),
        Callout(cell_of(page, "syntactic:nsubj", 1, 8), frame=True, right=True),
        Callout(cell_of(page, "syntactic:nsubj", 2, 8), frame=True, right=True),
        Callout(place_of(page.locator("#go-to-head")), frame=True, right=True),
    ]
    annotate(page, callouts)
    return take_picture(page)


def head_panel(browser: Browser, report: Path) -> bytes:
    """Return a picture of the panel of one head, with one example."""
    page = open_page(browser, report, 1980)
    page.evaluate("head => openHead(cellNamed(...head))", HEAD)
    page.locator("#head-card canvas").first.wait_for()
    page.wait_for_timeout(1000)
    page.evaluate(
        """() => {
          document.querySelectorAll('#head-card .card-example').forEach((example, place) => {
            if (place) example.style.display = 'none'
          })
        }"""
    )
    page.wait_for_timeout(500)
    rows = page.locator("#head-card table").first.locator("tbody tr")
    seen = (
        page.locator("#card-told"),
        page.locator("#card-drawn"),
        page.locator("#head-card .card-links"),
        rows,
        rows.filter(has_text="explained by"),
        rows.filter(has_text="undetermined"),
    )
    annotate(page, [Callout(place_of(what)) for what in seen])
    left, _, width, _ = place_of(page.locator("#head-card"))
    _, top, _, height = place_of(page.locator("#head-card table"))
    return take_picture(page, {"x": left - 14, "y": 0, "width": width + 14, "height": top + height + 30})


def sure(browser: Browser, report: Path) -> bytes:
    """Return a picture of the means and contrasts of all heads."""
    page = open_page(browser, report, 1100)
    page.locator("#sure").evaluate("section => section.scrollIntoView()")
    page.locator("#sure .js-plotly-plot .main-svg").first.wait_for()
    page.wait_for_timeout(1500)
    points = (("xaxis", 0.1, 3), ("xaxis", 0.94, 0), ("xaxis", 0.9, 4), ("xaxis2", 0.05, 8))
    annotate(page, [Callout(point_of(page, *point), right=True) for point in points])
    left, top, width, height = place_of(page.locator("#sure .js-plotly-plot"))
    return take_picture(page, {"x": left, "y": max(top - 80, 0), "width": width, "height": height + 90})


def take_picture(page: Page, clip: dict[str, float] | None = None) -> bytes:
    """Return a picture of the window, or of a part of it, once it has drawn its content."""
    page.wait_for_timeout(1000)
    picture = page.screenshot(clip=clip) if clip else page.screenshot()
    page.close()
    return picture


def main() -> None:
    """Open the report of a run and write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--run", type=Path, help="folder of a run of QNLI with all defaults")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = given.run or Path(name) / "run"
        if given.run is None:
            headroles.label("QNLI", out=str(folder))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        report = folder / "report.html"
        pictures = {
            "read-answer.png": answer(browser, report),
            "read-head.png": head_panel(browser, report),
            "read-sure.png": sure(browser, report),
        }
        browser.close()
    for file, picture in pictures.items():
        if len(picture) > LARGEST:
            raise SystemExit(f"a picture may have {LARGEST:,} bytes, but {file} has {len(picture):,}")
        (given.out / file).write_bytes(picture)


if __name__ == "__main__":
    main()
