"""The report of a surface run: closed, safe, repeatable, and in agreement with what was found."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from headroles.records.findings import Labelling
from headroles.records.rules.rule import Decision
from headroles.records.surface import LayerMean, NoOp, SurfaceResults
from headroles.reports.document import PLOTLY, template
from headroles.reports.figures.surface import Figure, figures
from headroles.reports.sections.surface_sheets import noop_sheet, statistics_sheet
from headroles.reports.surface_page import surface_page
from headroles.reports.words.surface import (
    column_name,
    column_sentence,
    decision_counts,
    even_attention,
    has_scores,
    noop_sentence,
    noop_sentences,
    peak,
    promise,
)
from headroles.stats.decision import ENOUGH_FOR_NOT
from headroles.storage.tables import assessment_texts, csv_text
from tests.support.browser import DARK, DRAW, NARROW, WIDE, Visit, wait_until

Made = Callable[..., Labelling]

SEPARATORS = ("surface:separator", "surface:separator→separator", "surface:other→separator")


@pytest.fixture(scope="module")
def found(surface_run: Made) -> Labelling:
    return surface_run()


@pytest.fixture(scope="module")
def html(found: Labelling) -> str:
    return surface_page(found)


def _text(html: str) -> str:
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return _plain(unescape(re.sub(r"<[^>]+>", "", bare)))


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _drawn(labelling: Labelling) -> dict[str, Figure]:
    return {each.panel.key: each for each in figures(labelling)}


def _layers(labelling: Labelling) -> tuple[LayerMean, ...]:
    assert labelling.surface is not None
    return labelling.surface.layers


def test_the_page_says_what_was_found(found: Labelling, html: str) -> None:
    text = _text(html)
    for column in found.findings.sieves:
        assert _plain(column_sentence(found, column)) in text
    for said in noop_sentences(found):
        assert said in text
    assert "headroles surface --task QNLI" in text
    assert "0.05, for above and for below even attention" in text
    assert 'a note about <b>loud</b>, "quoted" \u202e😀' in text
    assert not re.search(
        r"\broles?\b", text[: text.index("A paragraph for a paper")].replace("headroles", "")
    )


def test_a_sentence_counts_as_the_findings_do(found: Labelling) -> None:
    place = found.findings.of("surface:separator")
    decided, means = found.findings.decision[place], found.findings.mean[place]
    layer, head = np.unravel_index(means.argmax(), means.shape)
    rows = {each.layer: each.mean for each in _layers(found) if each.column == "surface:separator"}
    top = max(rows, key=lambda each: rows[each])
    said = column_sentence(found, "surface:separator")
    assert said.startswith(f"{(decided == 0).sum()} of 72 heads above even attention (0.0237), ")
    assert f"{(decided == 1).sum()} below" in said
    assert f"largest in layer {top}, {rows[top]:.2f} [" in said
    assert f"Strongest: head {layer}-{head}, {means.max():.2f} [" in said


def test_an_entropy_is_told_by_its_most_focused_and_its_broadest_head(found: Labelling) -> None:
    means = found.findings.mean[found.findings.of("surface:entropy")]
    low, high = (
        "-".join(map(str, np.unravel_index(each, means.shape))) for each in (means.argmin(), means.argmax())
    )
    said = column_sentence(found, "surface:entropy")
    assert f"From {means.min():.2f} [" in said
    assert f"in head {low}, the most focused, to {means.max():.2f} [" in said
    assert f"in head {high}, the broadest; even attention has 4.16. 72 of 72 heads below it." in said


def test_columns_without_scores_are_said_not_to_apply_and_are_not_drawn(surface_run: Made) -> None:
    bare = surface_run(lacking=(*SEPARATORS, "surface:entropy-first", "gradient:separator"))
    for column in (*SEPARATORS, "surface:entropy-first", "gradient:separator"):
        assert column_sentence(bare, column) == "Not applicable to these inputs and this model."
        assert not has_scores(bare.findings, column)
        assert np.isnan(even_attention(bare.findings, column))
    drawn = _drawn(bare)
    assert [each.column for each in drawn["kinds"].series] == ["surface:first", "surface:punctuation"]
    assert {"separators", "entropy-first"}.isdisjoint(drawn)
    assert [each.label for each in drawn["importance-0"].series] == [
        "the first token", "punctuation", "other tokens"
    ]  # fmt: skip
    rows = {row[0].text: row for row in statistics_sheet(bare).rows}
    assert [cell.text for cell in rows["To separators"][1:]] == ["–", "0", "0", "0", "72", *"–––––"]
    assert surface_page(bare).count("Not applicable to these inputs and this model.") == 5


def test_a_run_of_one_layer_without_gradients_has_a_page(surface_run: Made) -> None:
    small = surface_run((60, 1, 4), gradients=False)
    page = _text(surface_page(small))
    assert "The mean over a layer is" not in page
    assert "What the loss needs" not in page
    assert noop_sheet(small) is None
    assert noop_sentences(small) == []
    assert "Mean over the only layer: " in page
    assert surface_page(replace(small, surface=SurfaceResults(()), manifest={})).startswith("<!doctype html>")


def test_a_figure_holds_every_head_and_every_layer(found: Labelling) -> None:
    drawn = _drawn(found)
    assert list(drawn) == [
        "kinds", "separators", "neighbours", "entropy", "entropy-first", "importance-0", "importance-1"
    ]  # fmt: skip
    for figure in drawn.values():
        for each in figure.series:
            traces = [one for one in go.Figure(figure.panel.figure).data if one.meta["role"] == each.number]
            rows = [row for row in _layers(found) if row.column == each.column]
            *_, line = traces
            np.testing.assert_allclose(line.y, [row.mean for row in rows])
            np.testing.assert_allclose(line.y + line.error_y.array, [row.high for row in rows])
            np.testing.assert_allclose(line.y - line.error_y.arrayminus, [row.low for row in rows])
            if figure.part == "importance":
                assert len(traces) == 1
                continue
            straight, heads, _ = traces
            np.testing.assert_allclose(straight.y, rows[0].even)
            place = found.findings.of(each.column)
            np.testing.assert_allclose(heads.y, found.findings.mean[place].ravel(), rtol=1e-6)
            assert np.array_equal(np.rint(heads.x), np.repeat(np.arange(6), 12))
            filled = [not symbol.endswith("-open") for symbol in heads.marker.symbol]
            assert filled == (found.findings.decision[place] == 0).ravel().tolist()


def test_importance_has_a_logarithmic_axis_only_where_it_spans_much_and_stays_above_0(
    found: Labelling,
) -> None:
    assert _drawn(found)["importance-0"].panel.figure["layout"]["yaxis"]["type"] == "log"
    alike = tuple(replace(each, mean=0.5, low=0.4, high=0.6) for each in _layers(found))
    touching = tuple(replace(each, low=0.0) for each in _layers(found))
    for layers in (alike, touching):
        other = replace(found, surface=SurfaceResults(layers))
        assert "type" not in _drawn(other)["importance-0"].panel.figure["layout"]["yaxis"]


def test_the_table_behind_a_figure_has_every_layer(found: Labelling) -> None:
    panel = _drawn(found)["kinds"].panel
    assert panel.header == (
        "layer", "first token [95\u00a0%]", "even", "separators [95\u00a0%]", "even",
        "punctuation [95\u00a0%]", "even",
    )  # fmt: skip
    row = next(each for each in _layers(found) if (each.column, each.layer) == ("surface:separator", 3))
    assert panel.rows[3][3] == f"{row.mean:.2f} [{row.low:.2f}, {row.high:.2f}]"
    assert [each[0] for each in panel.rows] == list("012345")


def test_every_statistic_has_a_line_in_the_table(found: Labelling) -> None:
    sheet = statistics_sheet(found)
    columns = [name for name in found.findings.sieves if name.startswith("surface")]
    assert [row[0].text for row in sheet.rows] == [column_name(name) for name in columns]
    for row, column in zip(sheet.rows, columns, strict=True):
        assert tuple(cell.key for cell in row[2:6]) == decision_counts(found.findings, column)
        assert row[6].text == peak(found.findings, column).place
    assert all(len(row) == len(sheet.header) for row in sheet.rows)


def _noop(layer: int, decision: str, measure: str = "gradient") -> NoOp:
    return NoOp(measure, "first", layer, 50, 0.1, 0.0, 0.2, 2.0, 0.02, 0.04, decision)


def test_tests_over_layers_are_told_in_one_sentence() -> None:
    less = [_noop(layer, "less important") for layer in range(4)]
    claim = "changing the attention to the first token matters less than changing that to other tokens"
    assert noop_sentence(less, 4) == f"In all 4 layers, {claim}."
    assert noop_sentence(less, 5) == f"In layers 0–3, {claim}."
    assert noop_sentence(less[:2], 2) == f"In both layers, {claim}."
    mixed = [less[0], less[1], less[3], _noop(2, "undetermined"), _noop(4, "untestable")]
    told = f"In layers 0, 1 and 3, {claim}; layer 2: undetermined; layer 4: untestable."
    assert noop_sentence(mixed, 5) == told
    assert noop_sentence([_noop(0, "undetermined")], 2) == f"In no layer is it shown that {claim}."
    more = [_noop(layer, "not less") for layer in range(4)]
    assert noop_sentence(more, 4) == f"In no layer is it shown that {claim}; all 4 layers: not less."
    told = f"In no layer is it shown that {claim}; layers 0–2: not less; layer 3: undetermined."
    assert noop_sentence([*more[:3], _noop(3, "undetermined")], 5) == told
    told = f"In layer 4, {claim}; layers 0–3: not less; layer 5: undetermined."
    assert noop_sentence([*more, _noop(4, "less important"), _noop(5, "undetermined")], 6) == told
    assert noop_sentence([_noop(0, "untestable")], 1) == f"Whether {claim} could be tested in no layer."
    away = "taking away the attention to the first token matters less than taking away that to other tokens"
    assert noop_sentence([_noop(1, "less important", "attention×gradient")], 3) == f"In layer 1, {away}."


def test_kinds_that_matter_more_are_not_less_in_words_and_in_the_table(found: Labelling, html: str) -> None:
    assert found.surface is not None
    decisions = [each.decision for each in found.surface.noop]
    assert "not less" in decisions
    sheet = noop_sheet(found)
    assert sheet is not None
    assert [row[-1].text for row in sheet.rows] == decisions
    assert any(": not less" in each for each in noop_sentences(found))
    text = _text(html)
    assert f"“Not less”: significantly below 0, which needs at least {ENOUGH_FOR_NOT} units" in text


def test_the_loss_is_told_where_it_is_told_what_was_run(found: Labelling) -> None:
    loss = "The loss of an input is the mean cross-entropy of its next tokens."
    page = surface_page(replace(found, manifest={**found.manifest, "surface": {"loss": loss}}))
    assert loss in page[page.index('id="run"') : page.index("Everything else")]


def test_importances_are_named_as_what_they_are() -> None:
    assert (
        column_name("gradient:first") == "Gradient of the loss with respect to attention to the first token"
    )
    assert (
        column_name("attention×gradient:mine")
        == "Attention to mine × gradient of the loss with respect to it"
    )


def test_kinds_that_no_input_has_are_not_told(found: Labelling) -> None:
    assert found.surface is not None
    noop = tuple(
        replace(each, count=0, decision="untestable") if each.measure == "gradient" else each
        for each in found.surface.noop
    )
    told = noop_sentences(replace(found, surface=SurfaceResults(found.surface.layers, noop)))
    assert told == noop_sentences(found)[1:]


def test_promises_name_what_they_count() -> None:
    assert "at most 5\u00a0% are expected not to be" in promise(Decision())
    assert "one statistic in one layer" in promise(Decision(family="layer"))
    assert "Nothing was corrected" in promise(Decision(correction="none"))
    assert "even one false “above even”" in promise(Decision(correction="holm"))


def test_the_page_is_closed_and_text_from_data_is_no_markup(html: str) -> None:
    assert "default-src 'none'" in unescape(html)
    bare = html.replace(template(PLOTLY), "")
    assert len(bare) < len(html) - 1_000_000
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#)""", bare)
    assert not re.search(r"\bon\w+\s*=\s*[\"']", bare)
    assert "<b>loud" not in bare
    assert "<i>model" not in bare
    assert html.count("<script") == html.count("</script>")
    for key in ("figure-kinds-spec", "figure-importance-1-spec", "findings-columns", "surface-layers"):
        inside = re.search(rf'id="{key}">(.*?)</script>', html, flags=re.DOTALL)
        assert inside
        json.loads(inside.group(1))


def test_columns_of_others_are_shown_as_data(found: Labelling) -> None:
    mark = "gradient:<b>mark</b>"
    rules = tuple(
        replace(rule, sieve=mark) if rule.sieve == "gradient:other" else rule for rule in found.findings.rules
    )
    layers = tuple(
        replace(each, column=mark) if each.column == "gradient:other" else each for each in _layers(found)
    )
    strange = replace(found, findings=replace(found.findings, rules=rules), surface=SurfaceResults(layers))
    page = surface_page(strange)
    assert "<b>mark" not in page.replace(template(PLOTLY), "")
    assert "Gradient of the loss with respect to attention to <b>mark</b>: " in _text(page)


def test_the_same_run_gives_the_same_page(found: Labelling, html: str) -> None:
    assert surface_page(found) == html


@pytest.fixture(scope="module")
def window(browser: Any, html: str, tmp_path_factory: pytest.TempPathFactory) -> Visit:
    """The page in one window for all tests of this file."""
    path = tmp_path_factory.mktemp("surface") / "report.html"
    path.write_text(html, encoding="utf-8")
    return Visit(browser.new_page(), path.as_uri())


@pytest.fixture
def visit(window: Visit, request: pytest.FixtureRequest) -> Any:
    """The page loaded anew, where nothing was asked for and nothing complained about."""
    window.again(*getattr(request, "param", WIDE))
    window.page.evaluate(DRAW)
    assert window.complaints == []
    assert len(window.requests) == 1
    return window.page


@pytest.mark.browser
@pytest.mark.parametrize("visit", [WIDE, NARROW, DARK], indirect=True)
def test_all_is_drawn_and_nothing_is_wider_than_the_window(visit: Any) -> None:
    wide, window = visit.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= window
    assert visit.locator(".plot .main-svg").count() >= 7
    assert visit.locator("main b, main i").count() == 0


def _column(visit: Any, table: str, place: int) -> list[str]:
    script = f"[...document.querySelectorAll('#{table} tbody tr')].filter((r) => !r.hidden)"
    cells: list[str] = visit.evaluate(f"{script}.map((r) => r.cells[{place}].firstChild.textContent)")
    return cells


@pytest.mark.browser
def test_every_head_stands_in_a_table_that_sorts_and_filters(visit: Any, found: Labelling) -> None:
    places = [f"{layer}-{head}" for layer in range(6) for head in range(12)]
    assert _column(visit, "heads", 0) == places
    means = found.findings.mean[found.findings.of("surface:separator")].ravel()
    assert _column(visit, "heads", 2) == [f"{mean:.3f}" for mean in means]
    visit.evaluate("document.querySelectorAll('#profiles details').forEach((fold) => { fold.open = true; })")
    for order in (np.argsort(means, kind="stable"), np.argsort(-means, kind="stable")):
        visit.click("#heads thead :text-is('To separators')")
        assert _column(visit, "heads", 0) == [places[place] for place in order]
    visit.fill("#heads-filter", "layer 3")
    assert sorted(_column(visit, "heads", 0)) == sorted(f"3-{head}" for head in range(12))
    assert visit.inner_text("#heads-shown") == "12 of 72 heads"
    visit.fill("#heads-filter", "3-1")
    assert _column(visit, "heads", 0) == ["3-1"]


@pytest.mark.browser
def test_marks_say_above_or_below_even_attention(visit: Any, found: Labelling) -> None:
    script = "[...document.querySelectorAll('#heads small')].filter((m) => m.textContent === '{}').length"
    for code, mark in enumerate("▲▼"):
        assert visit.evaluate(script.format(mark)) == (found.findings.decision == code).sum()


@pytest.mark.browser
def test_all_findings_are_filtered_by_what_a_decision_reads_here(visit: Any, found: Labelling) -> None:
    visit.select_option("#filter-sieve", label="surface:first")
    visit.select_option("#filter-decision", label="above even")
    above = found.findings.decision[found.findings.of("surface:first")] == 0
    assert visit.inner_text("#shown").endswith(f" of {above.sum()}")
    assert set(_column(visit, "table", 0)) == {"surface:first"}
    visit.select_option("#filter-decision", label="described")
    assert visit.inner_text("#shown") == "No row matches."


@pytest.mark.browser
def test_the_downloads_are_the_files_of_the_run(visit: Any, found: Labelling, tmp_path: Path) -> None:
    assert found.surface is not None
    assert found.assessment is not None
    wanted = {
        "findings.csv": found.frame().to_csv(index=False, lineterminator="\n"),
        "labels.csv": found.labels().to_csv(index=False, lineterminator="\n"),
        "layers.csv": csv_text(LayerMean, found.surface.layers),
        "noop.csv": csv_text(NoOp, found.surface.noop),
        "precision.csv": assessment_texts(found.assessment, found.findings.sieves)["precision.csv"],
    }
    for name, text in wanted.items():
        with visit.expect_download() as waiting:
            visit.click(f'#downloads [data-file="{name}"]')
        waiting.value.save_as(tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8") == text


@pytest.mark.browser
def test_a_legend_switches_a_series_off(visit: Any) -> None:
    visible = "document.getElementById('figure-kinds').data.filter((t) => t.visible !== false).length"
    before = visit.evaluate(visible)
    visit.click("#kinds .legend [data-role='1']")
    wait_until(visit, f"{visible} === {before - 3}")
