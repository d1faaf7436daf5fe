"""The maps of a run in a notebook: true to the findings, small, and shut off from what is around them."""

import html
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from headroles.kinds import kind_of
from headroles.records.findings import Labelling
from headroles.reports.answer.heads import head_sentences
from headroles.reports.notebook import STEPS, drawn_roles, maps_data
from headroles.reports.summary.summary import summarise
from tests.support.clustered_runs import labelled

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Frame

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "local")


def _numbers(text: str) -> np.ndarray:
    return np.array([float(part) / STEPS if part else np.nan for part in text.split(" ")])


def test_maps_hold_means_intervals_and_decisions_of_the_findings() -> None:
    run = labelled(4, 6)
    summary = summarise(run)
    data = maps_data(run, summary, head_sentences(summary))
    low, high = run.mean_intervals()
    assert [role["sieve"] for role in data["roles"]] == [*run.findings.roles]
    for role in data["roles"]:
        place = run.findings.of(role["sieve"])
        center = _numbers(role["mean"])
        np.testing.assert_allclose(center, run.findings.mean[place].ravel(), atol=0.0006)
        np.testing.assert_allclose(center - _numbers(role["below"]), low[place].ravel(), atol=0.0011)
        np.testing.assert_allclose(center + _numbers(role["above"]), high[place].ravel(), atol=0.0011)
        assert [int(code) for code in role["code"]] == [*run.findings.decision[place].ravel()]
    assert data["sentences"] == [*head_sentences(summary)]


def test_a_whole_has_no_map_beside_its_parts() -> None:
    whole = summarise(labelled(2, 6, ("delimiter", "delimiter:cls", "local")))
    held = whole.held.copy()
    assert drawn_roles(whole) == [0, 1, 2]
    held[0] = held[1]
    object.__setattr__(whole, "held", held)
    assert drawn_roles(whole) == [1, 2]


def test_of_very_many_roles_only_those_of_a_head_have_a_map() -> None:
    summary = summarise(labelled(2, 6, tuple(f"sieve{number}" for number in range(30))))
    held = summary.held.copy()
    held[3:] = False
    object.__setattr__(summary, "held", held)
    assert drawn_roles(summary) == [0, 1, 2]


def test_the_sentences_stand_outside_of_the_frame() -> None:
    run = labelled(2, 6)
    outside, _, rest = run._repr_html_().partition("<iframe")
    assert rest
    for sentence in kind_of(run).answer(run).sentences:
        assert html.escape(sentence.lead) in outside
    assert "<script" not in outside + rest.partition("</iframe>")[2]


def test_a_run_in_a_notebook_is_small_and_one_too_large_for_maps_has_tables() -> None:
    small = labelled(6, 12, tuple(f"role{number}" for number in range(10)))
    assert len(small._repr_html_().encode()) < 60_000
    large = labelled(32, 32, tuple(f"role{number}" for number in range(20)), units=6)
    assert "<iframe" in large._repr_html_()
    assert len(large._repr_html_().encode()) < 450_000
    larger = labelled(32, 32, tuple(f"role{number}" for number in range(21)), units=6)
    assert "<iframe" not in larger._repr_html_()
    assert len(larger._repr_html_().encode()) < 200_000


def _open(browser: "Browser", run: Labelling, **how: Any) -> tuple[Any, "Frame", list[str]]:
    """Open a run as a notebook shows it, and return the page, its frame and what went wrong."""
    page = browser.new_page(**how)
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: problems.append(dialog.message))
    page.on("request", lambda request: problems.append(request.url))
    page.set_content(
        f'<html lang="en"><title>n</title><body><main><h1>n</h1>{run._repr_html_()}</main></body></html>'
    )
    frame = page.frames[1]
    frame.wait_for_selector("td")
    return page, frame, [problem for problem in problems if not problem.startswith("about:")]


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_maps_are_accessible_and_ask_for_nothing(browser: "Browser", scheme: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe

    how = {"viewport": {"width": 400, "height": 800}, "color_scheme": scheme}
    page, frame, problems = _open(browser, labelled(3, 6, HOSTILE), **how)
    assert HOSTILE[0] in frame.inner_text("#maps")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    found = Axe().run(page).response["violations"]
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
    assert problems == []
    page.close()


@pytest.mark.browser
def test_pointing_and_arrow_keys_show_a_head_in_three_lines(browser: "Browser") -> None:
    run = labelled(3, 6)
    page, frame, problems = _open(browser, run)
    cell = frame.locator("section").nth(0).locator("td").nth(8)
    cell.hover()
    lines = frame.locator("#card p").all_inner_texts()
    place = run.findings.of("local"), 1, 2
    assert lines[0] == "1-2 · neighbours (±2)"
    assert re.match(rf"{abs(run.findings.mean[place]):.2f} \[", lines[1].lstrip("−"))
    assert lines[2] == run.evidence().query("sieve == 'local' and layer == 1 and head == 2")["verdict"].item()
    assert run.head(1, 2).sentence in frame.inner_text("#sentence")
    cell.click()
    cell.focus()
    cell.press("ArrowRight")
    frame.locator("td:focus").press("ArrowDown")
    assert frame.inner_text("#card p:first-child").startswith("2-3 ·")
    assert "run.head(2, 3)" in frame.inner_text("#sentence")
    assert frame.locator("td[tabindex='0']").count() == 3
    assert problems == []
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("width", [400, 720, 1000])
def test_a_frame_on_the_site_is_as_high_as_its_maps(browser: "Browser", width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800})
    script = (ROOT / "docs" / "assets" / "frames.js").read_text(encoding="utf-8")
    run = labelled(6, 12, tuple(f"mine{number}" for number in range(5)))
    page.set_content(f"<div class=shown>{run._repr_html_()}</div><script>{script}</script>")
    frame = page.frames[1]
    frame.wait_for_selector("td")
    for _ in range(100):
        page.wait_for_timeout(50)
        content = frame.evaluate("document.querySelector('main').getBoundingClientRect().bottom")
        if 0 < page.evaluate("document.querySelector('iframe').offsetHeight") - content < 40:
            break
    else:
        pytest.fail("the frame never got the height of its maps")
    page.close()
