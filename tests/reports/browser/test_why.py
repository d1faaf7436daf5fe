"""The page of a run that asks where roles come from, in a browser: maps, sentences, marks, downloads."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headroles.kinds import kind_of
from headroles.records.causal.origins import Origins
from headroles.reports.why.answer import head_sentence
from headroles.reports.why.page import why_page
from headroles.reports.why.words import counts_by_role, share_text
from tests.support.browser import DRAW, Listener, chromium
from tests.support.causal.origins import why_run

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page as a file."""
    path = tmp_path_factory.mktemp("why") / "report.html"
    path.write_text(why_page(why_run()), encoding="utf-8")
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


def _part() -> Origins:
    part = why_run().origins
    assert part is not None
    return part


def _map(window: Any, title: str) -> Any:
    return window.locator(f"#why-maps .map:has(bdi:text-is('{title}'))")


def test_the_map_of_a_role_has_the_verdicts_of_the_heads_that_hold_it(window: "Page") -> None:
    for title, role in (("class token", "delimiter:cls"), ("adjective → noun", "syntactic:amod")):
        rows = [row for row in _part().origins if row.role == role]
        drawn = _map(window, title)
        for word in ("vertical", "by query"):
            count = sum(row.verdict == word for row in rows)
            assert drawn.locator(f".shade.{word.replace(' ', '-')}").count() == count
        assert drawn.locator(".open").count() == sum(row.verdict == "undetermined" for row in rows)
        vertical = sum(row.verdict == "vertical" for row in rows)
        assert drawn.locator("h3 .count").inner_text() == f"{vertical} of {len(rows)} vertical"
    assert _map(window, "neighbours (±2)").locator(".held").count() == 1
    assert _map(window, "class token").locator(".held").count() == 0


def test_a_sentence_about_a_role_filters_the_table_and_shows_its_map(window: "Page") -> None:
    window.click("a[data-filter]:has-text('neighbouring tokens')")
    assert window.locator("#why-maps h3 bdi").all_inner_texts() == ["neighbours (±2)"]
    rows = window.locator("#table tbody tr").all_inner_texts()
    expected = [row for row in _part().origins if row.role == "local" and row.verdict == "by query"]
    assert len(rows) == len(expected)
    assert all("vertical:local" in row and "by query" in row for row in rows)
    window.click("#filtered button")
    assert window.locator("#why-maps svg").count() == len(counts_by_role(_part()))


def test_the_panel_of_a_head_has_its_shares_neurons_and_removals(window: "Page") -> None:
    (few,) = [row for row in _part().origins if row.few == "few neurons"]
    window.evaluate(f"location.hash = '#head-{few.layer}-{few.head}'")
    window.wait_for_selector(f"#head-panel h2:text-is('Head {few.layer}-{few.head}')")
    script = "all => all.map((row) => [...row.cells].map((cell) => cell.textContent))"
    lines = window.locator("#head-panel tbody tr").evaluate_all(script)
    rows = [row for row in _part().origins if (row.layer, row.head) == (few.layer, few.head)]
    shares = [line[1:] for line in lines if line[1].startswith("vertical share")]
    assert shares == [[f"vertical share {share_text(row)}", row.verdict] for row in rows]
    assert any(line[0] == "participation" and line[2] == "few neurons" for line in lines)
    tests = [test for test in _part().knockouts if (test.layer, test.head) == (few.layer, few.head)]
    assert sum(line[0].startswith("without ") for line in lines) == len(tests)
    assert window.text_content("#head-told") == head_sentence(why_run(), few.layer, few.head)
    window.click("#head-close")


def test_a_button_of_a_verdict_takes_its_marks_away(window: "Page") -> None:
    window.evaluate(DRAW)
    hidden = "document.getElementById('figure-shares').data.filter((t) => t.visible === false).length"
    window.focus("#shares-panel .legend button >> nth=1")
    window.keyboard.press("Space")
    assert window.evaluate(hidden) == 1
    window.keyboard.press("Space")
    assert window.evaluate(hidden) == 0


def test_the_downloads_are_the_files_of_the_run(window: "Page", tmp_path: Path) -> None:
    run = why_run()
    texts = kind_of(run).downloads(run)
    for name in ("findings.csv", "origins.csv", "knockouts.csv"):
        with window.expect_download() as waiting:
            window.click(f"#downloads button[data-file='{name}']")
        path = tmp_path / name
        waiting.value.save_as(path)
        expected = (
            run.frame().to_csv(index=False, lineterminator="\n") if name == "findings.csv" else texts[name]
        )
        assert path.read_text(encoding="utf-8") == expected, name
