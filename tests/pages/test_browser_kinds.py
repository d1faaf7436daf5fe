"""Reports of other kinds in a browser: maps of all heads, panels, tables, filters, legends and downloads."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headroles.records import VERDICTS
from tests.support.browser import DRAW, UNFOLD, Opened, download, serious, wait_until, widening
from tests.support.clustered_runs import labelled
from tests.support.pages import result, result_files, usual_page

if TYPE_CHECKING:
    from playwright.sync_api import Locator

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser of other kinds")]
MAPS_OF = {
    "surface": "surface-maps",
    "cluster": "cluster-heads",
    "compare": "compare-maps",
    "ablate": "ablation-maps",
    "probe": "probe-maps",
}


def cells(paths: "Locator") -> int:
    """Return how many cells some paths of maps draw: a line around each, or three stripes."""
    drawn: list[str] = paths.evaluate_all("(all) => all.map((path) => path.getAttribute('d'))")
    return sum(path.count("M") if "z" in path else path.count("M") // 3 for path in drawn)


MAPS = ["surface", "cluster", *(pytest.param(kind, marks=pytest.mark.ci) for kind in [*MAPS_OF][2:])]


@pytest.mark.parametrize("kind", MAPS)
def test_arrow_keys_read_a_map_enter_opens_the_head_and_escape_gives_the_focus_back(
    opened: Opened, kind: str
) -> None:
    window = opened(usual_page(kind))
    assert widening(window) == 0
    window.focus(f"#{MAPS_OF[kind]} svg >> nth=0")
    window.keyboard.press("ArrowRight")
    window.keyboard.press("ArrowDown")
    lines = window.locator("#tip p").all_inner_texts()
    assert len(lines) == 3
    assert lines[0].startswith("1-1 · ")
    window.keyboard.press("Enter")
    assert window.inner_text(".side h2") == ("Layer 1, head 1" if kind == "cluster" else "Head 1-1")
    assert window.evaluate("location.hash") == "#head-1-1"
    window.keyboard.press("Escape")
    assert window.is_hidden(".side")
    assert window.evaluate("document.activeElement.tagName") == "svg"


def test_a_comparison_page_chooses_sieves_filters_and_offers_its_tables(opened: Opened) -> None:
    window, found = opened(usual_page("compare")), result("compare")
    differences = found.differences
    maps = window.locator("#compare-maps svg")
    changed = [cells(maps.nth(place).locator(".held")) for place in range(3)]
    assert changed == [(differences.outcome[place] == 0).sum() for place in range(3)]
    window.evaluate(UNFOLD)
    window.evaluate(DRAW)
    shown = (
        "[...document.querySelectorAll('#sieves .plot')].map((plot) => "
        "[...new Set(plot.data.filter((trace) => trace.visible).map((trace) => trace.meta.role))].join())"
    )
    assert window.evaluate(shown) == ["0", "0"]
    window.locator(".chosen button").nth(2).click()
    wait_until(window, f"{shown}.every((place) => place === '2')")
    rows = (
        "[...document.querySelectorAll('#table tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"
    )
    assert len(window.evaluate(rows)) == 36
    window.select_option("#filter-decision", "0")
    assert len(window.evaluate(rows)) == (differences.outcome == 0).sum()
    window.get_by_role("button", name="difference", exact=True).click()
    numbers = [float(row[7].replace("−", "-")) for row in window.evaluate(rows)]
    assert numbers == sorted(numbers)
    window.fill("#filter", "local 2-1")
    assert all(row[1:3] == ["2", "1"] for row in window.evaluate(rows))
    for name, table in {"differences.csv": found.frame(), "swaps.csv": found.by_role()}.items():
        assert download(window, name) == table.to_csv(index=False, lineterminator="\n"), name


def test_an_ablation_page_maps_verdicts_filters_and_opens_heads(opened: Opened) -> None:
    window, run = opened(usual_page("ablate")), result("ablate")
    part = run.ablated
    codes = part.damage.verdict[part.damage.of("loss:mean")].ravel()
    drawn = window.locator("#ablation-maps .map:has(bdi:text-is('Verdicts'))")
    for code, kind in enumerate(("shade.needed", "shade.negligible", "open", "shade.untestable")):
        assert cells(drawn.locator(f".{kind}")) == (codes == code).sum(), VERDICTS[code]
    held = part.held.heads("delimiter").ravel()
    own = window.locator("#ablation-maps .map:has(bdi:text-is('special tokens'))")
    assert cells(own.locator(".shade, .open")) == held.sum()
    window.click("a[data-filter] >> nth=0")
    assert window.locator("#ablation-maps svg").count() == 1
    rows = window.locator("#table tbody tr").all_inner_texts()
    assert len(rows) == (codes == 0).sum()
    assert all("needed" in row and "loss:mean" in row for row in rows)
    window.click("#filtered button")
    assert window.locator("#ablation-maps svg").count() == 7
    window.evaluate("location.hash = '#head-5-6'")
    window.wait_for_selector("#head-panel h2:text-is('Head 5-6')")
    lines = [row.split("\t") for row in window.locator("#head-panel tbody tr").all_inner_texts()]
    assert (lines[0][0], lines[0][2]) == ("loss, mean output", VERDICTS[part.damage.verdict[0, 5, 6]])
    assert window.text_content("#head-told") == run.head(5, 6).sentence
    window.click("#head-close")
    assert download(window, "damage.csv") == result_files(run)["damage.csv"].decode()


def test_tables_of_probes_are_sorted_and_searched(opened: Opened) -> None:
    window = opened(usual_page("probe"))
    rows = [best for best in result("probe").probed.best if best.row.startswith("dependency")]
    place = window.locator("#probes table.sortable").first
    names = [name.split(" [")[0] for name in place.locator("thead th").all_inner_texts()]
    script = "(t, c) => [...t.tBodies[0].rows].map(r => r.cells[c].textContent)"
    chosen = sorted(best.selection for best in rows)
    for order in (chosen, chosen[::-1]):
        place.locator("thead button", has_text="chosen").click()
        assert place.evaluate(script, names.index("chosen")) == [f"{100 * value:.1f}" for value in order]
    place.locator("thead button", has_text="published").click()
    published = place.evaluate(script, names.index("published"))
    assert [float(text) for text in published if text] == [34.5, 58.5, 94.3]


@pytest.mark.ci
def test_a_run_in_a_notebook_asks_for_nothing_and_gets_the_height_of_its_maps(opened: Opened) -> None:
    scripts = Path(__file__).resolve().parents[2] / "docs" / "assets"
    script = (scripts / "frames.js").read_text(encoding="utf-8")
    run = labelled(3, 6, ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "local"))
    shown = f'<div class="shown">{run._repr_html_()}</div><script>{script}</script>'
    text = f'<!doctype html><html lang="en"><title>n</title><main><h1>n</h1>{shown}</main>'
    window = opened(text, width=400)
    frame = window.frames[1]
    frame.wait_for_selector("td")
    assert "<script>alert(1)</script>" in frame.inner_text("#maps")
    assert widening(window) == 0
    bottom = "document.querySelector('main').getBoundingClientRect().bottom"
    for _ in range(100):
        window.wait_for_timeout(50)
        apart = window.evaluate("document.querySelector('iframe').offsetHeight") - frame.evaluate(bottom)
        if 0 < apart < 40:
            break
    else:
        pytest.fail("the frame never got the height of its maps")
    cell = frame.locator("section").nth(2).locator("td").nth(8)
    cell.focus()
    cell.press("ArrowRight")
    frame.locator("td:focus").press("ArrowDown")
    assert frame.inner_text("#card p:first-child").startswith("2-3 ·")
    assert serious(window) == []
