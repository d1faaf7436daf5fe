"""The report in a real browser: nothing asked for, nothing broken, everything reachable."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.rules.rule import Decision, Rule
from headroles.records.shown.controls import control_of
from headroles.reports.page import page
from headroles.reports.words.citations import citation_bibtex
from headroles.reports.words.methods import methods_text
from headroles.stats.assessment.assess import assess
from headroles.stats.engine import judge
from headroles.storage.tables import assessment_texts
from tests.support.browser import DARK, DRAW, NARROW, WIDE, Visit, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("local", "block", '<b>loud</b>, "quoted" \u202e😀', "rare")
MANIFEST = {
    "command": "headroles label --task QNLI",
    "model": {"name": "tiny/<i>model</i>"},
    "number": 1.0,
    "settings": {},
}

HEAR_COPIES = """() => {
  window.put = "";
  navigator.clipboard.writeText = async (text) => { put = text; };
}"""
"""A clipboard that keeps its text in the page."""

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def run() -> Labelling:
    """Four layers of five heads in 30 groups of two; the last sieve could not be tested."""
    chance = np.random.default_rng(3)
    rules = [
        Rule(name, contrast="block:matched" if name == "block" else "", low=-1.0, high=1.0) for name in NAMES
    ]
    rules.append(Rule("block:matched", margin=0.02, role=False, low=-1.0, high=1.0))
    shape = (len(rules), 60, 4, 5)
    level = chance.beta(0.4, 1.6, size=(len(rules), 1, 4, 5))
    values = (level + chance.normal(0, 0.1, size=shape)).clip(-1, 1).astype(np.float32)
    values[NAMES.index("rare"), 1:] = np.nan
    keys = tuple(f"e{number}" for number in range(60))
    scores = Scores(
        sieves=tuple(rule.sieve for rule in rules),
        examples=keys,
        units=tuple(f"u{number // 2}" for number in range(60)),
        tokens=np.full(60, 20),
        cells=np.full(shape[:2], 12.5),
        values=values,
        null=np.zeros(shape[:2]),
    )
    with np.errstate(all="ignore"):
        findings = judge(scores, rules, Decision())
        assessment = assess(scores, rules, Decision(), findings, bayes=True)
    return Labelling(scores, findings, Decision(), MANIFEST, ("rare: one example only.",), assessment)


@pytest.fixture(scope="module")
def report(run: Labelling, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Address of the report as a file."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page(run), encoding="utf-8")
    return path.as_uri()


class Report(Visit):
    """An opened report."""

    def rows(self) -> list[list[str]]:
        """The rows of all pages of the full table; the first page is shown again afterwards."""
        rows: list[list[str]] = self.page.evaluate("""() => {
          const [next, previous] = ["next", "previous"].map((id) => document.getElementById(id));
          const texts = (row) => [...row.cells].map((cell) => cell.textContent);
          const shown = () => [...document.querySelectorAll("#table tbody tr")].map(texts);
          const rows = shown();
          for (; !next.disabled; rows.push(...shown())) next.click();
          while (!previous.disabled) previous.click();
          return rows;
        }""")
        return rows

    def focused(self) -> str:
        """The label of the focused element."""
        return str(self.page.evaluate("document.activeElement.getAttribute('aria-label')"))

    def download(self, name: str, folder: Path) -> str:
        """Text of one of the offered files."""
        with self.page.expect_download() as waiting:
            self.page.click(f'#downloads [data-file="{name}"]')
        waiting.value.save_as(folder / name)
        return (folder / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def window(browser: "Browser", report: str) -> Report:
    """The report in one window for all tests of this file."""
    return Report(browser.new_page(accept_downloads=True), report)


@pytest.fixture
def visit(window: Report, request: pytest.FixtureRequest) -> Report:
    """The report loaded anew; width, height and theme come from an indirect parameter."""
    window.again(*getattr(request, "param", WIDE))
    window.page.select_option("#rows", "100")
    return window


@pytest.mark.parametrize("visit", [WIDE, NARROW, DARK], indirect=True)
def test_the_page_asks_for_nothing_complains_of_nothing_and_fits(visit: Report, report: str) -> None:
    visit.page.evaluate(DRAW)
    assert visit.complaints == []
    assert [address for address in visit.requests if address != report] == []
    wide, window = visit.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= window
    assert visit.page.locator(".plot .main-svg").count() >= 7
    assert visit.page.locator("main b, main i:not(.chip)").count() == 0


def _minus(text: str) -> str:
    return text.replace("-", "−")


def _of_roles(run: Labelling) -> list[dict[str, Any]]:
    """The rows of findings.csv that are no contrasts, each with the mean of its contrast."""
    rows: list[Any] = run.frame().to_dict("records")
    names = {rule.sieve: rule.contrast for rule in run.findings.rules if rule.role}
    means = {(row["sieve"], row["layer"], row["head"]): row["mean"] for row in rows}
    return [
        row | {"contrast": means.get((names[row["sieve"]], row["layer"], row["head"]), np.nan)}
        for row in rows
        if row["sieve"] in names
    ]


def _decision_text(run: Labelling, row: dict[str, Any]) -> str:
    contrast = run.findings.rules[run.findings.of(row["sieve"])].contrast
    word = str(row["decision"])
    return f"explained by {control_of(contrast)}" if word == "explained" else word


def test_the_eight_columns_are_the_numbers_of_the_findings(visit: Report, run: Labelling) -> None:
    assert run.assessment is not None
    lows, highs = run.mean_intervals()
    stability = run.assessment.precision.stability
    assert visit.page.locator("#table thead button").all_text_contents() == [
        "role", "head", "mean", "95 % interval", "contrast [95 %]", "q (> threshold)", "decision",
        "stability",
    ]  # fmt: skip
    shown, roles = visit.rows(), _of_roles(run)
    assert len(shown) == len(roles)
    for cells, row in zip(shown, roles, strict=True):
        place = (run.findings.of(row["sieve"]), row["layer"], row["head"])
        mean = "–" if np.isnan(row["mean"]) else _minus(f"{row['mean']:.3f}")
        ends = "–" if np.isnan(lows[place]) else _minus(f"[{lows[place]:.3f}, {highs[place]:.3f}]")
        contrast = "–" if np.isnan(row["contrast"]) else _minus(f"{row['contrast']:.3f}")
        assert cells[:4] == [row["sieve"], f"{row['layer']}-{row['head']}", mean, ends]
        assert cells[4].split(" [")[0] == contrast
        assert cells[6] == _decision_text(run, row)
        assert cells[7] == ("–" if np.isnan(stability[place]) else f"{stability[place]:.2f}")
        if np.isnan(row["q"]):
            assert cells[5] == "–"
        elif row["q"] < 1e-16:
            assert cells[5] == "< 1e-16"
        else:
            assert float(cells[5]) == pytest.approx(row["q"], rel=0.06)


def test_more_columns_show_the_rest_without_the_statistic(visit: Report, run: Labelling) -> None:
    assert run.assessment is not None
    visit.page.click("#more-columns")
    headings = visit.page.locator("#table thead button").all_text_contents()
    assert headings[8:15] == [
        "units", "cells", "chance", "margin", "effect", "p (> threshold)", "p (< threshold)",
    ]  # fmt: skip
    assert "statistic" not in headings
    precision = run.assessment.precision
    visit.page.click("#table thead button:text-is('hedges g [95 %]')")
    roles = [place for place, rule in enumerate(run.findings.rules) if rule.role]
    place = np.unravel_index(np.nanargmin(precision.hedges_g[roles]), precision.hedges_g[roles].shape)
    effect, low, high = (
        _minus(f"{values[roles][place]:.2f}")
        for values in (precision.hedges_g, precision.g_low, precision.g_high)
    )
    assert visit.rows()[0][headings.index("hedges g [95 %]")] == f"{effect} [{low}, {high}]"
    visit.page.click("#more-columns")
    assert len(visit.rows()[0]) == 8


def test_the_table_sorts_with_missing_numbers_last(visit: Report, run: Labelling) -> None:
    visit.page.click("#more-columns")
    roles = _of_roles(run)
    effects = [row["effect"] for row in roles if not np.isnan(row["effect"])]
    missing = len(roles) - len(effects)
    assert missing == 20
    for direction, first in (("ascending", min(effects)), ("descending", max(effects))):
        visit.page.click("#table thead button:text-is('effect')")
        heading = visit.page.locator(f"#table th[aria-sort='{direction}']")
        assert heading.all_text_contents() == ["effect"]
        shown = [row[12] for row in visit.rows()]
        assert shown[0] == _minus(f"{first:.3f}")
        assert shown[len(shown) - missing :] == ["–"] * missing
        assert "–" not in shown[: len(shown) - missing]


def test_the_table_filters_by_text_sieve_and_decision(visit: Report, run: Labelling) -> None:
    frame = run.frame()
    visit.page.fill("#filter", "block 2-3")
    assert [row[:2] for row in visit.rows()] == [["block", "2-3"]]
    visit.page.select_option("#filter-decision", label="contrast")
    assert [row[:2] for row in visit.rows()] == [["block:matched", "2-3"]]
    visit.page.fill("#filter", "")
    visit.page.select_option("#filter-decision", label="role")
    assert len(visit.rows()) == (frame["decision"] == "role").sum()
    visit.page.select_option("#filter-sieve", label=NAMES[2])
    wanted = (frame["decision"] == "role") & (frame["sieve"] == NAMES[2])
    assert len(visit.rows()) == wanted.sum() > 0
    visit.page.fill("#filter", "nothing like it")
    assert visit.page.inner_text("#shown") == "No row matches."


def test_the_table_filters_by_stability(visit: Report, run: Labelling) -> None:
    assert run.assessment is not None
    before = len(visit.rows())
    visit.page.fill("#filter-stability", "0.9")
    assert len(visit.rows()) == (run.assessment.precision.stability >= 0.9).sum() > 0
    visit.page.fill("#filter-stability", "")
    assert len(visit.rows()) == before


def test_links_of_the_answer_filter_the_table(visit: Report, run: Labelling) -> None:
    frame, everything = run.frame(), len(visit.rows())
    held = frame[frame["decision"] == "role"]
    busy = set(zip(held["layer"], held["head"], strict=True))
    roles = sum(rule.role for rule in run.findings.rules)
    layers, heads = run.findings.count.shape[1:]
    cases: list[tuple[dict[str, str], int]] = [
        ({"sieve": "local", "decision": "role"}, int((held["sieve"] == "local").sum())),
        ({"sieve": "local", "decision": "family"}, int((held["sieve"] == "local").sum())),
        ({"sieve": "", "decision": "none"}, roles * (layers * heads - len(busy))),
        ({"head": "2-3"}, roles),
        ({}, everything),
    ]
    for detail, rows in cases:
        visit.page.evaluate("(detail) => filterTable(detail)", detail)
        assert len(visit.rows()) == rows, detail
    clicked = "{ detail: { sieve: 'block', decision: 'role' } }"
    visit.page.evaluate(f"document.dispatchEvent(new CustomEvent('filter', {clicked}))")
    assert len(visit.rows()) == (held["sieve"] == "block").sum()


def test_the_filtered_rows_are_copied_as_markdown_and_latex(visit: Report) -> None:
    visit.page.fill("#filter", "block 2-3")
    (cells,) = visit.rows()
    visit.page.evaluate(HEAR_COPIES)
    visit.page.click("#copy-markdown")
    lines = visit.page.evaluate("put").splitlines()
    assert lines[2].startswith("| role | head | mean | 95 % interval |")
    assert lines[-1] == f"| {' | '.join(cells)} |"
    visit.page.click("#copy-latex")
    text = visit.page.evaluate("put")
    assert text.startswith("% \\usepackage{booktabs}\n\\begin{table}")
    assert "q (\\textgreater{} threshold)" in text
    assert text.count(" & ") == 2 * 7
    row = next(line for line in text.splitlines() if line.startswith("block & 2-3 & "))
    assert row.endswith(" \\\\")


def test_the_methods_are_copied_as_the_command_line_prints_them(visit: Report, run: Labelling) -> None:
    visit.page.evaluate(HEAR_COPIES)
    visit.page.click("[data-copy='methods-text']")
    assert visit.page.evaluate("put") == methods_text(run) + "\n"
    visit.page.click("[data-copy='bibtex']")
    assert visit.page.evaluate("put").strip() == citation_bibtex(run).strip()


def test_text_that_the_clipboard_refuses_is_shown_to_be_copied_by_hand(visit: Report) -> None:
    visit.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    visit.page.evaluate("() => { document.execCommand = () => false; }")
    visit.page.click("#copy-markdown")
    field = visit.page.locator("textarea.to-copy")
    assert field.input_value().startswith("Findings")
    assert visit.page.evaluate("getSelection().toString().length") > 100
    visit.page.keyboard.press("Tab")
    assert field.count() == 0


def test_the_matrix_is_walked_with_arrow_keys_and_enter_opens_a_card(visit: Report) -> None:
    visit.page.click("[data-view='matrix']")
    visit.page.focus("#matrix tbody td")
    visit.page.keyboard.press("ArrowDown")
    visit.page.keyboard.press("ArrowRight")
    visit.page.keyboard.press("ArrowRight")
    assert visit.focused().startswith("layer 1 head 2:")
    small = visit.page.locator("#tip")
    assert small.locator("p").all_text_contents()[0] == "Layer 1, head 2"
    visit.page.keyboard.press("Enter")
    assert small.is_hidden()
    large = visit.page.locator("#head-card")
    assert large.locator("h2").inner_text().startswith("Layer 1, head 2")
    visit.page.keyboard.press("Escape")
    assert large.is_hidden()
    assert visit.focused().startswith("layer 1 head 2:")
    visit.page.keyboard.press("End")
    assert visit.focused().startswith("layer 1 head 4:")
    assert small.locator("p").all_text_contents()[0] == "Layer 1, head 4"
    visit.page.keyboard.press("Escape")
    assert small.is_hidden()
    assert visit.page.locator("#matrix td[tabindex='0']").count() == 1


def test_three_lines_tell_the_cell_of_a_map_under_the_pointer_and_never_cover_it(
    visit: Report, run: Labelling
) -> None:
    row = run.frame().query("sieve == 'block' and layer == 2 and head == 1").iloc[0]
    svg = visit.page.locator("#map-grid svg").nth(1)
    unit = svg.evaluate("(svg) => (svg.clientWidth - 17) / 5")
    svg.hover(position={"x": 17 + 1.5 * unit, "y": 2.5 * unit})
    lines = visit.page.locator("#tip p").all_text_contents()
    assert lines[0] == "2-1 · own text of the pair"
    low, high = (ends[1, 2, 1] for ends in run.mean_intervals())
    assert lines[1] == f"mean {row['mean']:.3f} [{low:.3f}, {high:.3f}]".replace("-", "−")
    assert lines[2].startswith(row["decision"])
    covers = """() => { const tip = document.getElementById("tip").getBoundingClientRect();
      const cell = document.querySelectorAll(".is-cursor")[1].getBoundingClientRect();
      const across = tip.left < cell.right && tip.right > cell.left;
      return across && tip.top < cell.bottom && tip.bottom > cell.top; }"""
    assert not visit.page.evaluate(covers)


def test_maps_are_walked_with_arrow_keys_over_their_edges_and_enter_opens_the_panel(visit: Report) -> None:
    first = visit.page.locator("#map-grid svg").first
    first.focus()
    for key in ("ArrowDown", "End"):
        visit.page.keyboard.press(key)
    assert visit.page.locator("#tip p").first.inner_text().startswith("1-4 · neighbours")
    visit.page.keyboard.press("ArrowRight")
    assert visit.page.locator("#tip p").first.inner_text().startswith("1-0 · own text")
    visit.page.keyboard.press("Enter")
    panel = visit.page.locator("#head-card")
    assert panel.locator("h2").inner_text().startswith("Layer 1, head 0")
    visit.page.keyboard.press("Escape")
    assert panel.is_hidden()
    assert visit.page.evaluate("document.activeElement === document.querySelectorAll('#map-grid svg')[1]")
    assert visit.page.locator("#map-grid svg[tabindex='0']").count() == 1


def test_a_sentence_of_the_answer_filters_maps_and_list(visit: Report, run: Labelling) -> None:
    held = (run.findings.decision[run.findings.of("local")] == 0).sum()
    visit.page.click("a[href='#filter=local,role']")
    assert visit.page.inner_text("#heads-shown").endswith(f" of {held}")
    assert visit.page.locator("#map-grid .is-dim").count() > 0
    visit.page.click("#filtered button")
    assert visit.page.inner_text("#heads-shown").endswith(" of 20")
    assert visit.page.locator("#map-grid .is-dim").count() == 0


def test_the_line_of_a_filter_names_and_links_the_few_heads_it_shows(visit: Report, run: Labelling) -> None:
    without = np.argwhere((run.findings.decision != 0).all(axis=0)).tolist()
    visit.page.click("a[href='#filter=,none']")
    links = visit.page.locator("#filtered span a")
    assert links.all_text_contents() == [f"{layer}-{head}" for layer, head in without]
    links.first.click()
    layer, head = without[0]
    assert visit.page.locator("#head-card h2").inner_text().startswith(f"Layer {layer}, head {head}")
    visit.page.keyboard.press("Escape")
    visit.page.click("#filtered button")


def test_plotly_runs_with_the_first_figure_and_not_before(visit: Report) -> None:
    browser = visit.page.context.browser
    assert browser is not None
    page = browser.new_page(viewport={"width": 1280, "height": 400})
    page.goto(visit.page.url.partition("#")[0], wait_until="domcontentloaded")
    assert page.evaluate("typeof Plotly") == "undefined"
    page.locator("#methods").scroll_into_view_if_needed()
    page.locator(".plot").first.scroll_into_view_if_needed()
    page.locator(".plot .main-svg").first.wait_for()
    assert page.evaluate("typeof Plotly") == "object"
    assert not page.locator("#plotly-source").count()
    page.close()


def test_the_matrix_filters_by_role_q_and_stability(visit: Report, run: Labelling) -> None:
    found = run.findings
    held = sum(int((found.decision[found.of(name)] == 0).sum()) for name in NAMES)
    chips = visit.page.locator("#matrix .chip")
    visit.page.click("[data-view='matrix']")
    assert chips.count() == held
    visit.page.fill("#matrix-q", "1e-12")
    assert chips.count() == sum(
        int(((found.decision[k] == 0) & (found.q[k] <= 1e-12)).sum()) for k in map(found.of, NAMES)
    )
    visit.page.fill("#matrix-q", "0,05")
    assert chips.count() == held
    assert run.assessment is not None
    stability = run.assessment.precision.stability
    visit.page.fill("#matrix-stability", "1")
    assert chips.count() == ((found.decision == 0) & (stability >= 1)).sum() < held
    visit.page.fill("#matrix-stability", "0")
    visit.page.click("#matrix-controls [data-role='0']")
    assert chips.count() == (found.decision[0] == 0).sum()
    assert visit.page.locator("#matrix .state:text-is('–')").count() == (found.decision[0] == 1).sum()


def test_the_downloads_hold_every_digit(visit: Report, run: Labelling, tmp_path: Path) -> None:
    assert visit.download("findings.csv", tmp_path) == run.frame().to_csv(index=False, lineterminator="\n")
    assert visit.download("labels.csv", tmp_path) == run.labels().to_csv(index=False, lineterminator="\n")
    assert run.assessment is not None
    precision = assessment_texts(run.assessment, run.findings.sieves)["precision.csv"]
    assert visit.download("precision.csv", tmp_path) == precision
    manifest = visit.download("run.json", tmp_path)
    assert json.loads(manifest) == MANIFEST
    assert '"number": 1.0' in manifest
    assert visit.complaints == []


def test_the_legend_switches_a_role_off(visit: Report) -> None:
    visit.page.evaluate(DRAW)
    visible = "document.getElementById('figure-p-values').data.filter(t => t.visible !== false).length"
    before = visit.page.evaluate(visible)
    visit.page.click("summary:text-is('p values')")
    visit.page.click("#p-values .legend [data-role='1']")
    assert visit.page.evaluate(visible) < before


def test_one_legend_serves_both_plots_of_the_sensitivity(visit: Report) -> None:
    visit.page.evaluate(DRAW)
    visible = "document.getElementById('{}').data.filter(t => t.visible !== false).length"
    plots = ("figure-sensitivity", "figure-sensitivity-alpha")
    before = [visit.page.evaluate(visible.format(plot)) for plot in plots]
    visit.page.click("summary:text-is('How counts move with margin and alpha')")
    visit.page.click("#sensitivity .legend [data-role='1']")
    assert [visit.page.evaluate(visible.format(plot)) for plot in plots] == [each - 1 for each in before]


def test_the_page_follows_the_theme_of_its_reader(visit: Report) -> None:
    visit.page.evaluate(DRAW)
    colours = (
        "[getComputedStyle(document.body).color, "
        "getComputedStyle(document.querySelector('#figure-means .xtick text')).fill]"
    )
    light = visit.page.evaluate(colours)
    visit.page.emulate_media(color_scheme="dark")
    until(visit.page, f"({colours})[1] !== '{light[1]}'")
    dark = visit.page.evaluate(colours)
    assert dark[0] != light[0]
    assert dark[1] != light[1]
