"""The page of a run that takes heads out, in a browser: maps, sentences, scores, downloads."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from headroles.kinds import kind_of
from headroles.records.causal.ablation import VERDICTS, Ablation
from headroles.reports.causal.page import ablation_page
from tests.support.browser import DRAW, Listener, chromium
from tests.support.causal.ablated_runs import ablated_run

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page as a file."""
    path = tmp_path_factory.mktemp("ablate") / "report.html"
    path.write_text(ablation_page(ablated_run()), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def window(address: str) -> "Iterator[Page]":
    """The opened page; fails in the end on any complaint or request."""
    heard = Listener()
    with chromium() as browser:
        page = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True).new_page()
        heard.listen(page)
        page.goto(address)
        yield page
    heard.check(address, "blob:")


def _part() -> Ablation:
    part = ablated_run().ablated
    assert part is not None
    return part


def _map(window: Any, title: str) -> Any:
    return window.locator(f"#ablation-maps .map:has(bdi:text-is('{title}'))")


@pytest.mark.browser
def test_the_map_of_verdicts_has_the_mark_of_every_head(window: "Page") -> None:
    damage = _part().damage
    codes = damage.verdict[damage.of("loss:mean")].ravel()
    drawn = _map(window, "Verdicts")
    for code, word in enumerate(VERDICTS):
        if word != "untestable":
            assert drawn.locator(f".shade.{word}").count() == (codes == code).sum(), word
    assert drawn.locator(".open").count() == (codes == 2).sum()
    assert drawn.locator("h3 .count").inner_text() == f"{(codes == 0).sum()} needed"


@pytest.mark.browser
def test_the_map_of_a_role_shows_the_verdicts_of_its_heads_alone(window: "Page") -> None:
    part = _part()
    assert part.held is not None
    held = part.held.heads("delimiter")
    drawn = _map(window, "special tokens")
    assert drawn.locator(".shade").count() == held.sum()
    negligible = int((part.damage.verdict[0][held] == 1).sum())
    assert drawn.locator("h3 .count").inner_text() == f"{negligible} of {held.sum()} negligible"


@pytest.mark.browser
def test_a_sentence_about_a_verdict_filters_table_and_maps(window: "Page") -> None:
    window.click("a[data-filter] >> nth=0")
    assert window.locator("#ablation-maps svg").count() == 1
    rows = window.locator("#table tbody tr").all_inner_texts()
    assert len(rows) == int((_part().damage.verdict[0] == 0).sum())
    assert all("needed" in row and "loss:mean" in row for row in rows)
    window.click("#filtered button")
    assert window.locator("#ablation-maps svg").count() == 7


@pytest.mark.browser
def test_a_sentence_about_a_role_shows_its_map_and_the_main_arm(window: "Page") -> None:
    window.click("a[data-filter]:has-text('special tokens')")
    assert window.locator("#ablation-maps h3 bdi").all_inner_texts() == ["special tokens"]
    assert window.locator("#table tbody tr").count() == 72
    window.click("#filtered button")


@pytest.mark.browser
def test_the_panel_of_a_head_has_its_damage_verdicts_and_scores(window: "Page") -> None:
    part = _part()
    assert part.held is not None
    window.evaluate("location.hash = '#head-5-6'")
    window.wait_for_selector("#head-panel h2:text-is('Head 5-6')")
    rows = [row.split("\t") for row in window.locator("#head-panel tbody tr").all_inner_texts()]
    verdict = VERDICTS[int(part.damage.verdict[0, 5, 6])]
    assert rows[0][0] == "loss, mean output"
    assert rows[0][1].endswith(" nats")
    assert rows[0][2] == verdict
    scores = {row[0]: row for row in rows if row[0].startswith("score: ")}
    assert scores["score: first token"][1] == f"{part.held.score[2, 5, 6]:.3f}"
    assert window.inner_text("#head-told").startswith(f"5-6 is {verdict}: ")
    window.click("#head-close")


@pytest.mark.browser
def test_one_figure_of_scores_is_shown_at_a_time_and_the_keyboard_chooses_it(window: "Page") -> None:
    figures = window.locator("#score-figures > .panel")
    assert figures.count() == 5
    assert [figures.nth(place).is_visible() for place in range(5)] == [True, *[False] * 4]
    window.focus("#score-choice select")
    window.keyboard.press("ArrowDown")
    assert [figures.nth(place).is_visible() for place in range(5)] == [False, True, *[False] * 3]


@pytest.mark.browser
def test_a_button_of_a_verdict_takes_its_marks_away(window: "Page") -> None:
    window.evaluate(DRAW)
    hidden = "document.getElementById('figure-damage').data.filter((t) => t.visible === false).length"
    window.focus("#damage-panel .legend button >> nth=1")
    window.keyboard.press("Space")
    assert window.evaluate(hidden) == 1
    window.keyboard.press("Space")
    assert window.evaluate(hidden) == 0


@pytest.mark.browser
def test_the_downloads_are_the_files_of_the_run(window: "Page", tmp_path: Path) -> None:
    run = ablated_run()
    texts = kind_of(run).write(run.ablated, run.scores)
    for name in ("findings.csv", "damage.csv", "sites.csv"):
        with window.expect_download() as waiting:
            window.click(f"#downloads button[data-file='{name}']")
        path = tmp_path / name
        waiting.value.save_as(path)
        expected = (
            run.frame().to_csv(index=False, lineterminator="\n") if name == "findings.csv" else texts[name]
        )
        assert path.read_text(encoding="utf-8") == expected, name
    decided = window.evaluate("[...decisions]")
    assert decided[: 72 * 2].count(5) == 72
    shown = np.array(decided[72:144])
    np.testing.assert_array_equal(shown, run.ablated.damage.verdict[0].ravel() if run.ablated else [])
