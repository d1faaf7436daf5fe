"""The documentation site: built strictly, whole, at every width, without the network, with a working search.

CI builds it without running the tutorials; ``HEADROLES_SITE`` names a site that is built already.
"""

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest

from tests.conftest import EVERYTHING, ROOT
from tests.support.browser import Listener, wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.xdist_group("site")
MAIN = ("index.html", "start/tour.html", "tutorials/syntax.html", "gallery.html", "reference/commands.html")
"""Pages that axe looks at."""
FOUND = "document.querySelectorAll('.md-search-result__item').length > 0"
LOADED = "[...document.images].every(image => image.complete)"
OUTSIDE = re.compile(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=["']?(?:https?:)?//[^"'> ]+""")


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


def _built(folder: Path, *, execute: bool) -> Path:
    """Build the site strictly, with the code of tutorials run or not."""
    if importlib.util.find_spec("mkdocs") is None:
        reason = "the site is built with the extra docs, or HEADROLES_SITE names a built one"
        pytest.fail(reason) if EVERYTHING else pytest.skip(reason)
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    chosen = {"NO_MKDOCS_2_WARNING": "1", "HEADROLES_DOCS_EXECUTE": str(int(execute))}
    done = subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, timeout=2400, env=os.environ | chosen
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return folder


def _read(site: Path) -> dict[str, Reader]:
    """Return every page of the site by its address; the live pages are not pages of the site."""
    pages = {}
    for path in sorted(site.rglob("*.html")):
        address = path.relative_to(site).as_posix()
        if not address.startswith("live/"):
            pages[address] = Reader()
            pages[address].feed(path.read_text(encoding="utf-8"))
    return pages


def _broken_links(site: Path, pages: dict[str, Reader]) -> list[str]:
    """Return the links that lead to no page, file or anchor."""
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
    return broken


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site."""
    if given := os.environ.get("HEADROLES_SITE"):
        return Path(given).resolve()
    return _built(tmp_path_factory.mktemp("site"), execute=False)


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[str, Reader]:
    """Every page of the site by its address."""
    return _read(site)


@pytest.fixture(scope="session")
def served(site: Path) -> Iterator[str]:
    """The address of a local server of the site."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *given: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def _names(entry: Any) -> list[str]:
    """Return all pages of a part of the navigation."""
    if isinstance(entry, str):
        return [entry]
    parts = entry.values() if isinstance(entry, dict) else entry
    return [name for part in parts for name in _names(part)]


@pytest.mark.ci
def test_the_site_has_every_page_of_its_navigation_no_broken_link_and_nothing_from_elsewhere(
    site: Path, pages: dict[str, Reader]
) -> None:
    import yaml

    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    wanted = {name.replace(".md", ".html") for name in _names(yaml.safe_load(text)["nav"])}
    assert wanted | {"404.html"} == pages.keys()
    assert _broken_links(site, pages) == []
    loaded = {
        f"{path.relative_to(site)}: {found}"
        for path in site.rglob("*.html")
        for found in OUTSIDE.findall(path.read_text(encoding="utf-8"))
    }
    assert loaded == set()


@pytest.mark.browser
@pytest.mark.release
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
@pytest.mark.release
def test_search_finds_a_word_from_a_server_and_from_a_folder(
    browser: "Browser", served: str, site: Path
) -> None:
    for start in (served, f"{site.as_uri()}/"):
        heard, window = Listener(), browser.new_page(viewport={"width": 1280, "height": 900})
        heard.listen(window)
        window.goto(f"{start}index.html")
        window.locator(".md-search__input").click()
        window.keyboard.type("delimiter")
        wait_until(window, FOUND)
        found = window.locator(".md-search-result__item").all_inner_texts()
        assert any("delimiter" in text.lower() for text in found)
        heard.check(start, "about:", "data:", "blob:")


@pytest.mark.browser
@pytest.mark.release
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


@pytest.mark.release
def test_the_site_is_built_strictly_with_the_code_of_its_tutorials_run(tmp_path: Path) -> None:
    site = _built(tmp_path / "site", execute=True)
    assert _broken_links(site, _read(site)) == []
