"""The section of clusters in a real browser: buttons, the head picker, the tree, downloads."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headroles.records.clusters import ClusterResults
from headroles.reports.clusters_page import clusters_page
from headroles.reports.figures.cluster_tree import leaves
from headroles.reports.words.cluster_facts import distances_of
from headroles.storage.clusters import cluster_files
from tests.support.browser import DRAW, Listener, Opened, chromium, until
from tests.support.clustered_runs import clustered_run, huge_run

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

usual = cache(clustered_run)


@cache
def html_of(name: str) -> str:
    """The page of a made-up run, made once."""
    return clusters_page(huge_run() if name == "huge" else usual())


def _found() -> ClusterResults:
    found = usual().clustered
    assert found is not None
    return found


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """Opens a page in a browser of some width, anew each time; fails on any complaint or request."""
    folder, heard, windows = tmp_path_factory.mktemp("page"), Listener(), dict[str, "Page"]()
    with chromium() as browser:

        def open_(name: str = "usual", width: int = 1280, scheme: Any = "light") -> "Page":
            if name not in windows:
                windows[name] = browser.new_page()
                heard.listen(windows[name])
                (folder / f"{name}.html").write_text(html_of(name), encoding="utf-8")
            window = windows[name]
            window.set_viewport_size({"width": width, "height": 900})
            window.emulate_media(color_scheme=scheme, reduced_motion="no-preference")
            window.goto((folder / f"{name}.html").as_uri())
            window.evaluate(SHOW_ALL)
            window.evaluate(DRAW)
            return window

        yield open_
    heard.check(folder.as_uri(), "blob:")


SHOW_ALL = "document.querySelectorAll('main details').forEach((fold) => { fold.open = true; })"
TRACE = "document.getElementById('figure-cluster-map').data.find(t => t.name === '{}').{}"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_the_section_fits_its_window(opened: Opened, width: int, scheme: str) -> None:
    window = opened(width=width, scheme=scheme)
    wide, inner = window.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= inner
    assert window.locator("main .plot .main-svg").count() >= 6


def test_buttons_colour_the_map_by_layer_role_and_cluster(opened: Opened) -> None:
    window = opened()
    before = window.evaluate(TRACE.format("heads", "marker.symbol"))
    window.click("[data-view='layer']")
    assert window.evaluate(TRACE.format("heads", "text")) == [str(head // 6) for head in range(24)]
    assert window.get_attribute("[data-view='layer']", "aria-pressed") == "true"
    assert window.get_attribute("[data-view='cluster']", "aria-pressed") == "false"
    assert window.locator("#cluster-map [data-key]:visible").get_attribute("data-key") == "layer"
    window.select_option("#cluster-role", "1")
    found = usual().findings
    held = (found.decision[found.of("block")].ravel() == 0).tolist()
    symbols = window.evaluate(TRACE.format("heads", "marker.symbol"))
    assert [symbol != "circle-open" for symbol in symbols] == held
    window.click("[data-view='cluster']")
    assert window.evaluate(TRACE.format("heads", "marker.symbol")) == before
    assert window.input_value("#cluster-role") == ""


def test_a_button_shows_how_sure_places_are(opened: Opened) -> None:
    window = opened()
    assert window.evaluate(TRACE.format("cloud", "visible")) is False
    window.click("#cluster-controls .legend button")
    assert window.evaluate(TRACE.format("cloud", "visible")) is True


def test_the_nearest_heads_of_any_head_are_told_and_marked_on_the_map(opened: Opened) -> None:
    window = opened()
    window.select_option("#nearest-layer", "2")
    window.select_option("#nearest-head", "4")
    near = _found().neighbours
    assert near is not None
    rows = window.locator("#nearest tbody tr").all_inner_texts()
    assert [row.split()[0] for row in rows] == [f"{head // 6}-{head % 6}" for head in near.head[16].tolist()]
    far, low, high = (float(values[16, 0]) for values in (near.distance, near.low, near.high))
    assert f"{far:.3f} [{low:.3f}, {high:.3f}]" in rows[0]
    assert "layer 2 head 4" in window.inner_text("#nearest-told")
    (x,) = window.evaluate(TRACE.format("chosen", "x"))
    assert x == pytest.approx(_found().place[16, 0])


def test_a_click_on_the_map_chooses_a_head_and_a_cell_tells_its_pair(opened: Opened) -> None:
    window = opened()
    window.evaluate("document.getElementById('figure-cluster-map').emit('plotly_click', {points: "
                    "[{data: {name: 'heads'}, pointNumber: 9}]})")  # fmt: skip
    assert window.input_value("#nearest-layer") == "1"
    assert window.input_value("#nearest-head") == "3"
    window.emulate_media(reduced_motion="reduce")
    box = window.locator("#figure-cluster-tree image").first
    box.scroll_into_view_if_needed()
    placed = box.bounding_box()
    assert placed is not None
    cell = placed["width"] / 24
    window.mouse.move(placed["x"] + 5.5 * cell, placed["y"] + 2.5 * cell)
    until(window, "!document.getElementById('tree-told').textContent.startsWith('Point')")
    found = _found()
    order = leaves(found.linkage)
    pair = [f"{order[place] // 6}-{order[place] % 6}" for place in (2, 5)]
    far = distances_of(found)[order[2], order[5]]
    assert window.inner_text("#tree-told") == f"{pair[0]} and {pair[1]}: distance {far:.3f}"


def test_files_of_clusters_and_claims_are_those_of_the_run_folder(opened: Opened, tmp_path: Path) -> None:
    window = opened()
    texts = cluster_files(_found())
    for name in ("clusters.csv", "claims.csv"):
        with window.expect_download() as waiting:
            window.click(f'#downloads [data-file="{name}"]')
        waiting.value.save_as(tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8") == texts[name]


def test_colours_follow_the_theme_and_the_chosen_head_stays(opened: Opened) -> None:
    window = opened()
    window.select_option("#nearest-head", "5")
    colour = TRACE.format("heads", "marker.color[0]")
    light, place = window.evaluate(colour), window.evaluate(TRACE.format("chosen", "x"))
    window.emulate_media(color_scheme="dark")
    until(window, f"{colour} !== '{light}'")
    assert window.evaluate(TRACE.format("chosen", "x")) == place


def test_a_thousand_heads_are_drawn(opened: Opened) -> None:
    window = opened("huge")
    assert window.locator("#figure-cluster-tree image").count() == 1
    window.select_option("#nearest-layer", "31")
    assert window.locator("#nearest tbody tr").count() == 8
