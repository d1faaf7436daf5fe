"""The report of a comparison: closed, safe, repeatable, and in agreement with what was found."""

import json
import re
from dataclasses import replace
from html import unescape
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from headroles.records.comparison import Comparison
from headroles.records.example import Scores
from headroles.records.rules.rule import Decision, Rule
from headroles.records.shown.phrases import phrase_of
from headroles.reports.compare_page import comparison_page
from headroles.reports.document import PLOTLY, template
from headroles.reports.figures.compare import plots
from headroles.reports.sections.compare_sheets import changes_sheet, outcome_sheets
from headroles.reports.words.citations import citation_bibtex
from headroles.reports.words.compare import (
    label_change_text,
    label_changes_by_layer,
    outcomes_sentence,
    promise,
    role_change_sentence,
    run_names,
    score_change_sentence,
    sieve_verdict,
    swap_p,
)
from headroles.reports.words.methods import methods_text
from headroles.stats.columns import Columns
from headroles.stats.comparing.paired import paired_differences
from headroles.stats.comparing.summary import by_layer
from headroles.stats.comparing.swaps import compare_by_swaps
from headroles.stats.engine import judge
from headroles.stats.relabel import Grid
from tests.support.browser import DRAW, NARROW, Visit, wait_until

LOUD = '<b>loud</b>, "quoted" \u202e😀'
NAMES = ("local", LOUD, "rare")
MANIFEST: dict[str, Any] = {
    "command": "headroles compare a b",
    "matched": "the same examples",
    "a": {"folder": "runs/a", "model": {"name": "one/<i>model</i>"}, "task": "QNLI"},
    "b": {"folder": "runs/b", "model": {"name": "another"}, "task": "QNLI"},
    "settings": {"swaps": 99},
    "counts": {"examples": 60, "units": 60},
}
DECISION = Decision()
RULES = (
    *(Rule(name, contrast="local:matched" * (name == "local"), low=-1.0, high=1.0) for name in NAMES),
    Rule("local:matched", margin=0.02, role=False, low=-2.0, high=2.0),
)


def scores(shift: float, seed: int, shape: tuple[int, int, int] = (60, 4, 5)) -> Scores:
    chance = np.random.default_rng(3)
    level = chance.beta(0.4, 1.6, size=(4, 1, *shape[1:]))
    values = level + np.random.default_rng(seed).normal(0, 0.1, size=(4, *shape))
    values[:, :, 2] += shift
    values = values.clip(-1, 1).astype(np.float32)
    values[NAMES.index("rare"), 1:] = np.nan
    keys = tuple(f"e{number}" for number in range(shape[0]))
    return Scores(
        sieves=tuple(rule.sieve for rule in RULES),
        examples=keys,
        units=keys,
        tokens=np.full(shape[0], 20),
        cells=np.full((4, shape[0]), 12.5),
        values=values,
        null=np.zeros((4, shape[0])),
    )


def comparison(shift: float = -0.3, *, swaps: int = 99, seeds: tuple[int, int] = (1, 2)) -> Comparison:
    """Four layers of five heads; layer 2 moves, and the last role could not be tested."""
    first, second = scores(0.0, seeds[0]), scores(shift, seeds[1])
    found = paired_differences(first, second, (RULES, RULES), DECISION, 0.05)
    before, after = (judge(each, RULES, DECISION) for each in (first, second))
    columns = [Columns(each, RULES) for each in (first, second)]
    moved = compare_by_swaps(columns[0], columns[1], Grid(4, 5), DECISION, swaps)
    layers = tuple(by_layer(found, before, after))
    said = (f"a remark about {LOUD}.",)
    return Comparison(found, before, after, DECISION, 0.05, layers, tuple(moved), MANIFEST, said)


@pytest.fixture(scope="module")
def found() -> Comparison:
    return comparison()


@pytest.fixture(scope="module")
def html(found: Comparison) -> str:
    return comparison_page(found)


def _text(html: str) -> str:
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return _plain(unescape(re.sub(r"<[^>]+>", "", bare)))


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def test_the_page_says_what_was_found(found: Comparison, html: str) -> None:
    text = _text(html)
    for sentence in (role_change_sentence(found), score_change_sentence(found), outcomes_sentence(found)):
        assert sentence in text
    assert _plain(label_change_text(found.swaps[-1])) in text
    for place in range(4):
        assert _plain(sieve_verdict(found, place)) in text
    for head in found.labels().query("gained != '' or lost != ''").itertuples():
        assert f"{head.layer}-{head.head}" in text
    assert "headroles compare a b" in text
    assert "bound ±0.05; 99 swaps, seed 0" in text


def test_the_page_has_the_methods_and_their_references(found: Comparison, html: str) -> None:
    assert _plain(methods_text(found)) in _text(html)
    assert _plain(citation_bibtex(found)).strip() in _text(html)
    assert 'data-copy="methods-text"' in html


def test_roles_stand_in_words_and_contrasts_are_folded(found: Comparison) -> None:
    roles, contrasts = outcome_sheets(found)
    assert [row[0].text for row in roles.rows] == [phrase_of(name).title for name in NAMES]
    assert roles.rows[0][0].note == "local"
    assert not roles.folded
    assert [row[0].text for row in contrasts.rows] == ["local:matched"]
    assert contrasts.folded
    for place, row in enumerate([*roles.texts, *contrasts.texts]):
        assert row[1:5] == tuple(map(str, found.differences.counts(place)))


def test_sentences_count_as_the_records_do(found: Comparison) -> None:
    roles = [rule.role for rule in found.differences.rules]
    outcome = found.differences.outcome[roles]
    changed, same, open_ones, untested = ((outcome == code).sum() for code in range(4))
    assert outcomes_sentence(found) == (
        f"Of 60 head × role pairs, {changed} changed, {same} are equivalent within ±0.05 and {open_ones} are "
        f"undetermined; {untested} could not be tested."
    )
    moved = label_changes_by_layer(found)
    assert moved.total() == found.swaps[-1].changed
    assert role_change_sentence(found).startswith("Roles moved most in layer 2: ")
    assert score_change_sentence(found).startswith("Scores moved most in layer 2 ")
    assert sieve_verdict(found, 2).startswith("None of the 20 heads could be tested")
    assert run_names(found) == ("one/<i>model</i>", "another")
    same_model = replace(found, manifest=MANIFEST | {"b": MANIFEST["a"] | {"folder": "runs/c"}})
    assert run_names(same_model) == ("runs/a", "runs/c")
    assert run_names(replace(found, manifest={})) == ("A", "B")


def test_a_single_label_that_differs_is_no_finding(found: Comparison) -> None:
    whole = found.swaps[-1]
    row = replace(whole, sieve="local", gained=0, lost=1, changed=1, changed_mean=0.0, p=0.01, q=0.02)
    text = label_change_text(row)
    assert "1 label differs (0 gained, 1 lost)" in text
    assert "a single head at the edge of the decision is no finding" in text
    assert "p = " not in text
    assert np.isnan(swap_p(row)).all()
    two = replace(row, lost=2, changed=2)
    assert "2 labels differ (0 gained, 2 lost); after swaps 0 [" in label_change_text(two)
    assert label_change_text(two).endswith("p = 0.01")
    assert swap_p(two) == (0.01, 0.02)
    single = replace(found, swaps=(row, *found.swaps[1:]))
    cells = {cell.text for cell in changes_sheet(single).rows[0]}
    assert not cells & {"0.01", "0.020"}
    assert _plain(text) in _text(comparison_page(single))


def test_nothing_moved_is_said_so() -> None:
    still = comparison(0.0, seeds=(1, 1))
    assert role_change_sentence(still) == "No head gained or lost a role."
    assert score_change_sentence(still) == "No mean score differs."
    assert "Heads whose roles moved" not in comparison_page(still)
    bare = comparison_page(comparison(swaps=0))
    assert "No swaps were drawn" in bare


def test_promises_name_what_they_count() -> None:
    assert "Nothing was corrected" in promise(Decision(correction="none"))
    assert "at most 5\u00a0% of the heads called equivalent" in promise(Decision())
    assert "that of one false “changed”" in promise(Decision(correction="maxT"))
    assert "in one layer" in promise(Decision(family="layer"))


def test_the_page_is_closed_and_text_from_data_is_no_markup(html: str) -> None:
    assert "default-src 'none'" in unescape(html)
    bare = html.replace(template(PLOTLY), "")
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#)""", bare)
    assert not re.search(r"\bon\w+\s*=\s*[\"']", bare)
    assert "<b>loud" not in bare
    assert "<i>model" not in bare
    assert html.count("<script") == html.count("</script>")
    for key in ("figure-means-spec", "figure-means-spec", "findings-columns"):
        inside = re.search(rf'id="{key}">(.*?)</script>', html, flags=re.DOTALL)
        assert inside
        json.loads(inside.group(1))


def test_the_same_comparison_gives_the_same_page(found: Comparison, html: str) -> None:
    assert comparison_page(comparison()) == html
    assert comparison_page(replace(found, manifest={}, swaps=(), remarks=())).startswith("<!doctype html>")


def test_figures_hold_every_head_of_every_sieve(found: Comparison) -> None:
    drawn = {each.key: go.Figure(each.figure) for each in plots(found)}
    for place in range(4):
        (shade,) = [trace for trace in drawn["map"].data if trace.meta["role"] == place]
        difference = found.differences.difference[place]
        rows, columns = np.nonzero(~np.isnan(difference))
        np.testing.assert_allclose(shade.marker.color, difference[rows, columns], atol=1e-6)
        np.testing.assert_array_equal(shade.x, columns)
        middles = np.asarray(shade.base, dtype=float) + shade.y / 2
        np.testing.assert_allclose(middles, rows, atol=1e-6)
        assert shade.marker.cmax == -shade.marker.cmin >= 0.05
        numbers = found.differences.mean_a[place][rows, columns]
        np.testing.assert_allclose(shade.customdata[:, 3], numbers, atol=1e-6)
        marks = "".join(shade.text)
        assert marks.count("●") == found.differences.counts(place)[0]
        dots = [t for t in drawn["means"].data if t.meta["role"] == place and t.mode == "markers"]
        assert [len(trace.x) for trace in dots] == list(found.differences.counts(place)[:3])
        bars = [trace for trace in drawn["outcomes"].data if trace.meta["role"] == place]
        assert [sum(trace.y) for trace in bars] == list(found.differences.counts(place))
    gained, lost = drawn["moved"].data
    assert (sum(gained.y), -sum(lost.y)) == (found.swaps[-1].gained, found.swaps[-1].lost)


@pytest.fixture(scope="module")
def window(browser: Any, html: str, tmp_path_factory: pytest.TempPathFactory) -> Visit:
    """The page in one window for all tests of this file."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(html, encoding="utf-8")
    return Visit(browser.new_page(), path.as_uri())


@pytest.fixture
def visit(window: Visit) -> Any:
    """The page loaded anew on a small screen, where nothing was asked for and nothing complained about."""
    window.again(*NARROW)
    window.page.evaluate(DRAW)
    assert window.complaints == []
    assert len(window.requests) == 1
    return window.page


@pytest.mark.browser
def test_a_sieve_is_chosen_for_all_figures_at_once(visit: Any) -> None:
    shown = (
        "[...document.querySelectorAll('#sieves .plot')].map((plot) => "
        "[...new Set(plot.data.filter((trace) => trace.visible).map((trace) => trace.meta.role))].join())"
    )
    visit.evaluate("document.querySelectorAll('#sieves details').forEach((fold) => { fold.open = true; })")
    assert visit.evaluate(shown) == ["0", "0"]
    visit.locator(".chosen button").nth(3).click()
    wait_until(visit, f"{shown}.every((place) => place === '3')")
    pressed = "[...document.querySelectorAll('.chosen [aria-pressed=\"true\"]')].map((b) => b.dataset.role)"
    assert visit.evaluate(pressed) == ["3"]
    visit.locator(".chosen button").nth(3).click()
    assert visit.evaluate(pressed) == ["3"]


@pytest.mark.browser
def test_the_table_is_filtered_and_sorted(visit: Any, found: Comparison) -> None:
    rows = (
        "[...document.querySelectorAll('#table tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"
    )
    assert len(visit.evaluate(rows)) == 80
    visit.select_option("#filter-outcome", "0")
    changed = int((found.differences.outcome == 0).sum())
    assert len(visit.evaluate(rows)) == changed
    visit.get_by_role("button", name="difference", exact=True).click()
    numbers = [float(row[7].replace("−", "-")) for row in visit.evaluate(rows)]
    assert numbers == sorted(numbers)
    visit.fill("#filter", "local 2-1")
    assert all(row[1:3] == ["2", "1"] for row in visit.evaluate(rows))


@pytest.mark.browser
def test_nothing_is_wider_than_a_small_screen(visit: Any) -> None:
    assert visit.evaluate("document.documentElement.scrollWidth") <= 400
