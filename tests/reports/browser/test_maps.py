"""Maps of all heads on pages of other kinds: their numbers, the keyboard, the panel of a head."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from headroles.records.comparison import OUTCOMES
from headroles.records.findings import DECISIONS
from headroles.reports.causal.page import ablation_page
from headroles.reports.clusters_page import clusters_page
from headroles.reports.compare_page import comparison_page
from headroles.reports.probes_page import probe_maps, probes_page
from headroles.reports.surface_page import surface_page
from tests.reports.test_compare import comparison
from tests.support.browser import Listener, chromium
from tests.support.causal.ablated_runs import ablated_run
from tests.support.clustered_runs import clustered_run

if TYPE_CHECKING:
    from playwright.sync_api import Page

PLACES = {
    "surface": "surface-maps",
    "ablate": "ablation-maps",
    "probe": "probe-maps",
    "cluster": "cluster-heads",
    "compare": "compare-maps",
}


@pytest.fixture(scope="module")
def opened(
    surface_run: Any, probed_run: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], "Page"]]:
    """Opens a page anew; fails in the end on any complaint or request."""
    folder, heard = tmp_path_factory.mktemp("maps"), Listener()
    made: dict[str, Callable[[], str]] = {
        "surface": lambda: surface_page(surface_run()),
        "ablate": lambda: ablation_page(ablated_run()),
        "probe": lambda: probes_page(probed_run()),
        "cluster": lambda: clusters_page(clustered_run()),
        "compare": lambda: comparison_page(comparison()),
    }
    with chromium() as browser:
        window = browser.new_page(viewport={"width": 1280, "height": 900})
        heard.listen(window)

        def open_(name: str) -> "Page":
            file = folder / f"{name}.html"
            if not file.exists():
                file.write_text(made[name](), encoding="utf-8")
            window.goto(file.as_uri())
            return window

        yield open_
    heard.check(Path(folder).as_uri())


@pytest.mark.browser
@pytest.mark.parametrize("name", PLACES)
def test_arrow_keys_read_a_map_enter_opens_the_head_and_escape_gives_the_focus_back(
    opened: Any, name: str
) -> None:
    window = opened(name)
    window.focus(f"#{PLACES[name]} svg >> nth=0")
    window.keyboard.press("ArrowRight")
    window.keyboard.press("ArrowDown")
    lines = window.locator("#maps-told span").all_inner_texts()
    assert len(lines) == 3
    assert lines[0].startswith("1-1 · ")
    told, drawn = (
        window.locator(place).bounding_box() for place in ("#maps-told", f"#{PLACES[name]} svg >> nth=0")
    )
    apart = told["x"] >= drawn["x"] + drawn["width"] or told["x"] + told["width"] <= drawn["x"]
    assert apart or told["y"] >= drawn["y"] + drawn["height"]
    window.keyboard.press("Enter")
    assert window.inner_text(".side h2") == ("Layer 1, head 1" if name == "cluster" else "Head 1-1")
    assert window.evaluate("location.hash") == "#head-1-1"
    window.keyboard.press("Escape")
    assert window.is_hidden(".side")
    assert window.evaluate("document.activeElement.tagName") == "svg"


@pytest.mark.browser
def test_a_link_to_a_head_opens_its_panel(opened: Any) -> None:
    window = opened("surface")
    window.evaluate("location.hash = '#head-2-3'")
    window.wait_for_selector("#head-panel h2:text-is('Head 2-3')")
    window.click("#head-close")
    assert window.is_hidden("#head-panel")


@pytest.mark.browser
def test_the_panel_of_a_head_has_the_numbers_of_the_findings(opened: Any, surface_run: Any) -> None:
    window, findings = opened("surface"), surface_run().findings
    window.evaluate("location.hash = '#head-4-7'")
    window.wait_for_selector("#head-panel tbody tr")
    rows = [row.split("\t") for row in window.locator("#head-panel tbody tr").all_inner_texts()]
    first = findings.of("surface:first")
    assert rows[0][0] == "First token"
    assert rows[0][1].startswith(f"{findings.mean[first, 4, 7]:.3f}")
    words = dict(zip(DECISIONS, ("above even", "below even", "undetermined", "untestable"), strict=False))
    assert rows[0][2] == words[DECISIONS[findings.decision[first, 4, 7]]]


@pytest.mark.browser
def test_marks_of_maps_count_as_the_tables_do(opened: Any, surface_run: Any) -> None:
    findings = surface_run().findings
    window = opened("surface")
    maps = [name for name in findings.sieves if name.startswith("surface:")]
    held = [
        window.locator("#surface-maps svg").nth(place).locator(".held").count() for place in range(len(maps))
    ]
    assert held == [int((findings.decision[findings.of(name)] == 0).sum()) for name in maps]
    window, found = opened("compare"), comparison()
    shown = [place for place, rule in enumerate(found.differences.rules) if rule.role]
    changed = [window.locator("#compare-maps svg").nth(k).locator(".held").count() for k in range(len(shown))]
    code = OUTCOMES.index("changed")
    assert changed == [int((found.differences.outcome[place] == code).sum()) for place in shown]
    window, run = opened("cluster"), clustered_run()
    assert run.clustered is not None
    assert window.locator("#cluster-heads .mark").all_text_contents() == list(map(str, run.clustered.cluster))


@pytest.mark.browser
def test_a_sentence_of_the_answer_shows_its_map_and_rows(opened: Any, surface_run: Any) -> None:
    window, findings = opened("surface"), surface_run().findings
    link = window.locator("a[data-filter]").first
    link.click()
    assert window.locator("#surface-maps svg").count() == 1
    assert set(window.locator("#table tbody th").all_inner_texts()) <= {
        name for name in findings.sieves if name in link.get_attribute("href")
    }
    window.click("#filtered button")
    assert window.locator("#surface-maps svg").count() == 10


def test_maps_of_probes_show_first_what_some_head_gets(probed_run: Any) -> None:
    run = probed_run()
    maps = probe_maps(run)
    assert [entry["name"] for entry in maps] == list(run.findings.roles)
    for entry in maps:
        decided = run.findings.decision[run.findings.of(entry["name"])]
        assert entry["heads"] == int((decided == 0).sum())
        assert entry["heads"] > 0 or not entry["shown"]
    assert 0 < sum(entry["shown"] for entry in maps) <= 12
    assert next(entry["title"] for entry in maps if entry["name"].startswith("dependency:all")).startswith(
        "all"
    )
    none = probed_run()
    decided = np.ones_like(none.findings.decision)
    bare = probe_maps(replace(none, findings=replace(none.findings, decision=decided)))
    assert [entry["shown"] for entry in bare] == [True] + [False] * (len(bare) - 1)
