"""The section of probes on the page, and a page with very many roles."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from html import unescape
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
import pytest
from rich.console import Console

from headroles.records.findings import Labelling
from headroles.records.probes import Baseline, ProbeResults
from headroles.reports.figures.drawing import figure_json
from headroles.reports.figures.probes import LOOKS, best_figure, trained_figure, weights_figure
from headroles.reports.figures.run import figures
from headroles.reports.page import page
from headroles.reports.print.tables import table_text
from headroles.reports.probes_page import probes_page
from headroles.reports.sections.probe_sheets import GAPS, best_sheet
from headroles.reports.sections.probes import section
from headroles.reports.summary.summary import summarise
from headroles.reports.words.probes import best_by_probe, published_in
from headroles.terminal.console import terminal_table
from tests.support.browser import DRAW, Visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

Made = Callable[..., Labelling]
MANY = ("all", *(f"relation{number}" for number in range(47)))
"""With both directions, coreference and trees: 102 roles."""
ROLES = ("roles",)
"""Stands for the page of roles of the run with ``MANY``."""


def _probed(run: Labelling) -> ProbeResults:
    assert run.probed is not None
    return run.probed


def _text(html: str) -> str:
    """What is between the tags of a page, scripts and styles left out."""
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", bare)))


def _traces(figure: Any) -> dict[str, tuple[list[float], list[float]]]:
    return {trace.name: (list(trace.x), list(trace.y)) for trace in go.Figure(figure).data if trace.name}


@pytest.fixture(scope="module")
def html_of(probed_run: Made) -> Callable[..., str]:
    """The page of a made-up run by its relations, made once."""

    @cache
    def made(relations: tuple[str, ...] = ()) -> str:
        return probes_page(probed_run(relations) if relations else probed_run())

    return made


@pytest.fixture(scope="module")
def roles_html(probed_run: Made) -> str:
    """The page of the roles of a run of many relations."""
    return page(probed_run(MANY))


def test_every_row_of_the_best_stands_on_the_page(probed_run: Made, html_of: Callable[..., str]) -> None:
    run, html = probed_run(), html_of()
    body = html[html.index('<section id="probes"') : html.index('<section id="verdicts"')]
    rows = [_text(row).split() for row in re.findall(r"<tr.*?</tr>", body, flags=re.DOTALL)]
    for each in _probed(run).best:
        name = each.row.partition(":")[2]
        head = f"{each.layer}-{each.head}"
        (row,) = [row for row in rows if row[0] == name and head in row and each.decision in row]
        assert f"{each.items:,}" in row
        assert f"{100 * each.selection:.1f}" in row
        told = " ".join(row)
        assert f"{100 * each.accuracy:.1f} [{100 * each.low:.1f}, {100 * each.high:.1f}]" in told
        assert f"{each.baseline}: {100 * each.baseline_accuracy:.1f}" in told


def test_the_page_says_how_the_best_were_chosen(probed_run: Made, html_of: Callable[..., str]) -> None:
    text = _text(html_of())
    assert "chosen on one half of the units and tested on the other" in text
    assert "chosen on 31 units, tested on the other 29; seed 3" in text
    assert "Relations are those of the scheme ud." in text
    assert "windows (size 128, stride 64); left out: 12 of coreference:pronoun" in text
    assert "for orientation only" in text
    bare = _text(probes_page(probed_run(probe={})))
    assert "for orientation only" not in bare
    assert "tested on the other" in bare


def test_a_run_without_probes_has_no_such_section(probed_run: Made) -> None:
    run = replace(probed_run(), probed=None)
    assert section(run) is None
    assert 'id="probes"' not in page(run)


def test_marks_stand_at_the_numbers_they_show(probed_run: Made) -> None:
    run = probed_run()
    rows = best_by_probe(_probed(run).best)["dependency"]
    published = published_in(run.manifest)
    traces = _traces(best_figure(rows, published))
    levels = {each.row: len(rows) - 1 - place for place, each in enumerate(rows)}
    assert traces["chosen"] == ([100 * each.selection for each in rows], list(levels.values()))
    assert traces["baseline"][0] == [100 * each.baseline_accuracy for each in rows]
    for decision in LOOKS:
        kept = [each for each in rows if each.decision == decision]
        tested = ([100 * each.accuracy for each in kept], [levels[each.row] for each in kept])
        assert traces.get(decision, ([], [])) == tested
    known = [each for each in rows if each.row in published]
    assert traces["published"] == ([58.5] * len(known), [levels[each.row] for each in known])
    assert len(known) == 4


def test_decisions_and_controls_differ_in_shape_and_not_in_colour_alone(probed_run: Made) -> None:
    assert len({symbol for _, symbol in LOOKS.values()}) == len(LOOKS)
    trained = go.Figure(trained_figure(_probed(probed_run()).trained, {}))
    marks = [trace.marker.symbol for trace in trained.data if trace.name in ("trained", "random", "baseline")]
    assert len(set(marks)) == 3


def test_an_accuracy_that_is_not_there_is_drawn_nowhere(probed_run: Made) -> None:
    (each, *_) = _probed(probed_run()).best
    nan = float("nan")
    silent = replace(each, layer=-1, accuracy=nan, low=nan, high=nan, selection=nan, baseline_accuracy=nan)
    for x, _ in _traces(best_figure([silent], {})).values():
        assert [value for value in x if value is not None] == []
    assert not best_figure([silent], {})["data"][0]["x"]


def test_the_maps_of_weights_share_one_scale_that_is_even_around_nought(probed_run: Made) -> None:
    run = probed_run()
    weights = _probed(run).weights
    shown = section(run)
    assert shown is not None
    (panel,) = shown.weights
    assert panel.beside is not None
    assert "positive (+, orange) = evidence for being the head" in panel.sentence
    reach = max(abs(each.weight) for each in weights)
    for figure, direction in ((panel.figure, "→"), (panel.beside.figure, "←")):
        (drawn,) = go.Figure(figure).data
        assert (drawn.marker.cmin, drawn.marker.cmax) == (-reach, reach)
        cells = {(int(row), int(head)): k for k, (row, head, _) in enumerate(drawn.customdata)}
        for each in weights:
            if each.direction == direction:
                place = cells[each.layer, each.head]
                assert drawn.marker.color[place] == np.float32(each.weight)
                assert (drawn.x[place], round(drawn.base[place] + 0.46)) == (each.head, each.layer)
                sign = "" if abs(each.weight) < reach / 2 else "+" if each.weight > 0 else "−"
                assert drawn.text[place] == sign
    assert len(weights_figure(weights[:3], "→", (6, 12), 1.0)["data"][0]["x"]) == 3


def test_the_top_head_and_the_widest_gaps_are_shown(probed_run: Made) -> None:
    run = probed_run()
    shown = section(run)
    assert shown is not None
    (table,) = shown.gaps
    assert table.header[1:4] == ("accuracy, all", "pro", "anti")
    assert len(table.rows) == GAPS + 1
    assert table.rows[0][0].text.endswith("top head")
    widths = [abs(float(row[4].key)) for row in table.rows[1:]]
    assert widths == sorted(widths, reverse=True)


def test_many_baselines_are_folded_away_and_few_stand_open(probed_run: Made) -> None:
    shown = section(probed_run())
    assert shown is not None
    folded = {block.title: block.baselines.folded for block in shown.blocks if block.baselines}
    assert folded == {"Dependency relations": True, "Coreference": False, "Trees": False}


def test_hostile_names_are_text_and_nothing_else(probed_run: Made) -> None:
    run, bad = probed_run(), "<script>alert('x')</script><img src=x onerror=y> \u202e%{x}"
    found = _probed(run)
    hostile = ProbeResults(
        None,
        tuple(replace(each, row=f"{bad}:{bad}", baseline=bad, decision=bad) for each in found.best[:1]),
        (Baseline(f"{bad}:{bad}", bad, 9, 9, 0.5, 0.4, 0.6),),
        tuple(replace(each, first=bad, second=bad, measure=bad) for each in found.gaps),
        tuple(replace(each, classifier=bad) for each in found.trained),
        tuple(replace(each, first=bad, second=bad) for each in found.contests),
        tuple(replace(each, classifier=bad) for each in found.weights),
    )
    told: dict[str, Any] = {"published": {f"{bad}:{bad}": {"accuracy": 0.5, "head": bad}}}
    told |= {"windows": {"size": bad, "lost": {bad: 3}}, "halves": {"selection": 3, "test": 4, "seed": bad}}
    html = probes_page(replace(run, probed=hostile, manifest={**run.manifest, "probe": told}))
    assert "<script>alert" not in html
    assert "<img" not in html
    assert _text(html).count("<script>alert('x')</script>") > 20
    shown = section(replace(run, probed=hostile))
    assert shown is not None
    for panel in (*(block.panel for block in shown.blocks), *shown.weights):
        drawn = json.dumps(json.loads(figure_json(panel.figure)))
        assert "<script" not in drawn


@pytest.mark.parametrize(
    "published", [None, 3, {"dependency:all": "x", "b": {}, "c": True}, ["dependency:all"]]
)
def test_published_values_that_cannot_be_read_are_left_out(published: object) -> None:
    assert published_in({"probe": {"published": published}}) == {}


def test_a_page_of_a_hundred_roles_counts_them_and_lets_one_be_chosen(
    probed_run: Made, roles_html: str
) -> None:
    run, html = probed_run(MANY), roles_html
    summary = summarise(run)
    assert summary.many
    assert html.count('class="chip') == 0
    held = (np.stack([run.findings.decision[run.findings.of(n)] for n in run.findings.roles]) == 0).sum(
        axis=0
    )
    matrix = html[html.index('<table id="matrix"') : html.index('<p class="caption axis">')]
    cells = re.findall(r'<span class="marks">(\d*)</span>', matrix)
    assert [int(cell or 0) for cell in cells] == held.ravel().tolist()
    assert html.count("<option value=") > 3 * len(summary.roles)
    assert [panel.key for panel in figures(summary)] == ["means", "p-values", "layers"]
    line = next(line for line in summary.account.main if line.term == "margin")
    assert re.fullmatch(r"0\.00; 0\.05 for 96 contrasts", line.value)


def test_the_map_of_layers_and_the_table_of_verdicts_count_the_same_heads(
    probed_run: Made, html_of: Callable[..., str]
) -> None:
    run = probed_run(MANY)
    summary = summarise(run)
    layers = next(panel for panel in figures(summary) if panel.key == "layers")
    drawn = go.Figure(layers.figure).data[0].marker.color.reshape(len(summary.roles), -1)
    frame = run.frame()
    roles = frame[frame["decision"] == "role"].groupby("sieve").size()
    assert drawn.sum(axis=1).tolist() == [int(roles.get(name, 0)) for name in run.findings.roles]
    html = html_of(MANY)
    verdicts = html[html.index('id="verdicts-title"') : html.index('id="findings-title"')]
    rows = [_text(row).split() for row in re.findall(r"<tr>.*?</tr>", verdicts, flags=re.DOTALL)]
    counts = {row[0]: int(row[1]) for row in rows[1:]}
    assert counts == {name: int(roles.get(name, 0)) for name in run.findings.roles}


def test_a_hundred_and_forty_four_heads_under_a_hundred_columns_stay_below_fifteen_megabytes(
    probed_run: Made,
) -> None:
    run = probed_run(MANY, shape=(60, 12, 12))
    assert len(run.findings.roles) == 102
    assert run.findings.decision[0].size == 144
    assert len(probes_page(run).encode()) < 15_000_000


@pytest.fixture(scope="module")
def windows(
    browser: Any, html_of: Callable[..., str], probed_run: Made, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[tuple[str, ...]], Visit]:
    """The page of few or many roles in a window, opened once."""
    folder = tmp_path_factory.mktemp("probes")

    @cache
    def open_(relations: tuple[str, ...]) -> Visit:
        file = folder / f"{len(relations)}.html"
        text = page(probed_run(MANY)) if relations == ROLES else html_of(relations)
        file.write_text(text, encoding="utf-8")
        return Visit(browser.new_page(), file.as_uri())

    return open_


@pytest.fixture
def opened(windows: Callable[..., Visit], request: pytest.FixtureRequest) -> Iterator["Page"]:
    """A page of few or many roles in a window of some width; it fails on any complaint or request."""
    relations, width, scheme = request.param
    visit = windows(relations)
    visit.again(width, 900, scheme)
    visit.page.evaluate(DRAW)
    yield visit.page
    assert visit.complaints == []
    assert len(visit.requests) == 1


@pytest.mark.browser
@pytest.mark.parametrize(
    "opened",
    [((), 1280, "light"), ((), 400, "dark"), (MANY, 1280, "dark"), (MANY, 400, "light")],
    indirect=True,
)
def test_the_page_fits_its_window(opened: "Page") -> None:
    wide, window = opened.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= window
    assert opened.locator("main .plot .main-svg").count() >= 6


@pytest.mark.browser
@pytest.mark.parametrize("opened", [((), 1280, "light")], indirect=True)
def test_the_table_of_best_heads_shows_published_values_without_scrolling(opened: "Page") -> None:
    place = opened.locator("#probes table.sortable").first
    assert place.locator("thead th").last.inner_text() == "published"
    assert place.evaluate("t => t.parentElement.scrollWidth - t.parentElement.clientWidth") <= 0
    words = {text.strip() for text in place.locator("tbody th small").all_text_contents()}
    assert "subject → verb" in words
    assert all(" " in text for text in words)


@pytest.mark.browser
@pytest.mark.parametrize("opened", [((), 400, "dark")], indirect=True)
def test_a_table_that_scrolls_has_an_edge_that_says_so(opened: "Page") -> None:
    place = opened.locator("#probes .scroll").first
    assert place.evaluate("s => s.scrollWidth - s.clientWidth") > 0
    drawn = place.evaluate("s => getComputedStyle(s).backgroundAttachment")
    assert drawn == "local, scroll"


@pytest.mark.browser
@pytest.mark.parametrize("opened", [((), 1280, "light")], indirect=True)
def test_a_table_of_probes_sorts_numbers_words_and_back(opened: "Page", probed_run: Made) -> None:
    rows = best_by_probe(_probed(probed_run()).best)["dependency"]
    place = opened.locator("#probes table.sortable").first

    names = [name.split(" [")[0] for name in place.locator("thead th").all_inner_texts()]

    def first(column: str) -> list[str]:
        script = "(t, c) => [...t.tBodies[0].rows].map(r => r.cells[c].textContent)"
        texts: list[str] = place.evaluate(script, names.index(column))
        return texts

    place.locator("thead button", has_text="chosen").click()
    assert first("chosen") == [f"{100 * value:.1f}" for value in sorted(each.selection for each in rows)]
    place.locator("thead button", has_text="chosen").click()
    assert first("chosen")[0] == f"{100 * max(each.selection for each in rows):.1f}"
    assert place.locator("th[aria-sort='descending']").count() == 1
    place.locator("thead button", has_text="decision").click()
    assert first("decision") == sorted(each.decision for each in rows)
    place.locator("thead button", has_text="published").click()
    assert [bool(text) for text in first("published")] == [True] * 4 + [False] * 8


@pytest.mark.browser
@pytest.mark.parametrize("opened", [(ROLES, 1280, "light")], indirect=True)
def test_one_of_many_roles_is_chosen_in_the_matrix_and_in_a_figure(opened: "Page", probed_run: Made) -> None:
    run = probed_run(MANY)
    opened.click("[data-view='matrix']")
    opened.select_option("#matrix-role", value="5")
    decided = run.findings.decision[run.findings.of(run.findings.roles[5])]
    assert opened.locator("#matrix .state:text-is('●')").count() == (decided == 0).sum()
    opened.select_option("#matrix-role", value="-1")
    assert opened.locator("#matrix .tally").count() == decided.size
    opened.focus("#matrix tbody td")
    assert opened.locator("#tip p").first.inner_text() == "Layer 0, head 0"
    opened.select_option("#means .pick", value="5")
    drawn = "document.getElementById('figure-means').data.filter(t => t.visible !== false)"
    assert set(opened.evaluate(f"{drawn}.map(t => t.meta.role)")) == {5}


def test_page_terminal_and_paper_write_the_cells_of_one_sheet(
    probed_run: Made, html_of: Callable[..., str]
) -> None:
    run = probed_run()
    rows = best_by_probe(_probed(run).best)["coreference"]
    sheet = best_sheet("coreference", rows, published_in(run.manifest))
    console = Console(width=200, color_system=None, force_terminal=True)
    with console.capture() as captured:
        console.print(terminal_table(sheet))
    page_text, paper = _text(html_of()), table_text(run, "best").replace("\\", "")
    for row in sheet.texts:
        for text in filter(None, row):
            assert text in captured.get()
            assert text in paper
            assert text in page_text
    assert sheet.numeric[:3] == (False, True, True)
    picked = sheet.pick({"decision": "outcome", "never there": "x", "head": "head"}, "row")
    assert picked.header == ("row", "outcome", "head")
    assert picked.texts[0] == tuple(sheet.texts[0][k] for k in (0, sheet.header.index("decision"), 1))
