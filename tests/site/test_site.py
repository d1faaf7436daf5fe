"""The documentation site in a browser: whole, at every width, without the network, with a working search."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest
import yaml

from tests.support.browser import Listener, wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
MAIN = ("index.html", "start/tour.html", "tutorials/syntax.html", "gallery.html", "reference/commands.html")
"""Pages that axe looks at."""
FOUND = "document.querySelectorAll('.md-search-result__item').length > 0"
LOADED = "[...document.images].every(image => image.complete)"


class Reader(HTMLParser):
    """Addresses and anchors of a page; what a tutorial shows in a frame is a page of its own."""

    def __init__(self) -> None:
        """Begin with nothing."""
        super().__init__()
        self.addresses: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Write down the addresses and the anchor of an element."""
        given = {name: value or "" for name, value in attributes}
        self.addresses += [given[name] for name in ("href", "src") if name in given]
        self.anchors |= {given[name] for name in ("id", "name") if name in given}


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Reader]:
    """Every page of the site by its address, read; the live pages are not pages of the site."""
    read = {}
    for path in sorted(site.rglob("*.html")):
        address = path.relative_to(site).as_posix()
        if not address.startswith("live/"):
            read[address] = Reader()
            read[address].feed(path.read_text(encoding="utf-8"))
    return read


def _names(entry: object) -> list[str]:
    """Return all pages of a part of the navigation."""
    if isinstance(entry, str):
        return [entry]
    parts = entry.values() if isinstance(entry, dict) else entry
    return [name for part in parts for name in _names(part)]  # type: ignore[attr-defined]


def test_the_site_has_every_page_of_its_navigation(pages: dict[str, Reader]) -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    wanted = {name.replace(".md", ".html") for name in _names(yaml.safe_load(text)["nav"])}
    assert wanted | {"404.html"} == pages.keys()


def test_every_link_leads_to_a_page_and_an_anchor_that_exist(site: Path, pages: dict[str, Reader]) -> None:
    broken = []
    for page, reader in pages.items():
        for address in reader.addresses:
            if urlsplit(address).scheme or page == "404.html":
                continue
            target, anchor = urldefrag(urljoin(page, address))
            target = unquote(target) or page
            lost = anchor and target in pages and unquote(anchor) not in pages[target].anchors
            if lost or not (site / target).is_file():
                broken.append(f"{page}: {address}")
    assert broken == []


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    outside = re.compile(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=["']?(?:https?:)?//[^"'> ]+""")
    loaded = {
        f"{path.relative_to(site)}: {found}"
        for path in site.rglob("*.html")
        for found in outside.findall(path.read_text(encoding="utf-8"))
    }
    assert loaded == set()


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 400])
def test_every_page_fits_loads_its_pictures_and_asks_no_one(
    browser: "Browser", served: str, pages: dict[str, Reader], width: int
) -> None:
    faults, heard = [], Listener()
    window = browser.new_page(viewport={"width": width, "height": 900}, reduced_motion="reduce")
    heard.listen(window)
    for page in pages:
        window.goto(served + page)
        window.evaluate("document.querySelectorAll('img').forEach(image => image.loading = 'eager')")
        wait_until(window, LOADED)
        lost = window.evaluate("[...document.images].filter(image => !image.naturalWidth).map(i => i.src)")
        faults += [f"{page}: {image} is lost" for image in lost]
        wide = window.evaluate("document.documentElement.scrollWidth")
        faults += [f"{page}: {wide} pixels wide"] if wide > width else []
    assert faults == []
    heard.check(served, "about:", "data:", "blob:")


@pytest.mark.browser
@pytest.mark.parametrize("place", ["served", "folder"])
def test_search_finds_a_word_in_a_site_from_a_server_and_from_a_folder(
    browser: "Browser", served: str, site: Path, place: str
) -> None:
    start, heard = served if place == "served" else f"{site.as_uri()}/", Listener()
    window = browser.new_page(viewport={"width": 1280, "height": 900})
    heard.listen(window)
    window.goto(f"{start}index.html")
    window.locator(".md-search__input").click()
    window.keyboard.type("delimiter")
    wait_until(window, FOUND)
    assert "delimiter" in window.locator(".md-search-result__item").first.inner_text().lower()
    heard.check(start, "about:", "data:", "blob:")


@pytest.mark.browser
def test_an_address_without_a_page_shows_the_page_for_it(browser: "Browser", served: str) -> None:
    window = browser.new_page()
    answer = window.goto(f"{served}reference/nothing.html")
    assert answer is not None
    assert answer.status == 404
    assert "404" in window.locator("h1").inner_text()
    assert window.evaluate("getComputedStyle(document.querySelector('.md-header')).position") == "sticky"


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault_on_the_main_pages(
    browser: "Browser", served: str, scheme: Literal["light", "dark"]
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    faults = []
    for page in MAIN:
        window = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
        window.emulate_media(reduced_motion="reduce")
        window.goto(served + page)
        window.wait_for_timeout(300)
        for fault in axe.run(window).response["violations"]:
            if fault["impact"] in ("serious", "critical"):
                faults += [f"{page}: {fault['id']}: {node['html'][:150]}" for node in fault["nodes"]]
        window.close()
    assert faults == []
