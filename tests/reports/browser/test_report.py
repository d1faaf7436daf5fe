"""The report in a real browser: nothing asked for, nothing broken, everything reachable."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from headroles.records.example import Decision, Rule, Scores
from headroles.records.findings import Labelling
from headroles.reports.page import page
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
        """The visible rows of the full table."""
        script = (
            "[...document.querySelectorAll('#table tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
        )
        rows: list[list[str]] = self.page.evaluate(script)
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


def test_the_table_sorts_with_missing_numbers_last(visit: Report, run: Labelling) -> None:
    frame = run.frame()
    effects = frame["effect"].dropna().sort_values()
    for direction, first in (("ascending", effects.iloc[0]), ("descending", effects.iloc[-1])):
        visit.page.click("#table thead button:text-is('effect')")
        heading = visit.page.locator(f"#table th[aria-sort='{direction}']")
        assert heading.all_text_contents() == ["effect"]
        shown = [row[9] for row in visit.rows()]
        assert shown[0] == f"{first:.3f}".replace("-", "−")
        assert shown[-20:] == ["–"] * 20
        assert "–" not in shown[:-20]


def test_the_table_filters_by_text_sieve_and_decision(visit: Report, run: Labelling) -> None:
    frame = run.frame()
    assert len(visit.rows()) == len(frame) == 100
    visit.page.fill("#filter", "block 2-3")
    assert [row[:3] for row in visit.rows()] == [["block", "2", "3"], ["block:matched", "2", "3"]]
    visit.page.fill("#filter", "")
    visit.page.select_option("#filter-decision", label="role")
    assert len(visit.rows()) == (frame["decision"] == "role").sum()
    visit.page.select_option("#filter-sieve", label=NAMES[2])
    wanted = (frame["decision"] == "role") & (frame["sieve"] == NAMES[2])
    assert len(visit.rows()) == wanted.sum() > 0
    visit.page.fill("#filter", "nothing like it")
    assert visit.page.inner_text("#shown") == "No row matches."


def test_the_columns_beyond_the_tests_sort_and_filter(visit: Report, run: Labelling) -> None:
    assert run.assessment is not None
    precision = run.assessment.precision
    headings = visit.page.locator("#table thead button").all_text_contents()
    wanted = [
        "hedges g [95 %]",
        "detectable",
        "design effect",
        "stability",
        "BF10",
        "share of units beyond θ",
    ]
    assert headings[-6:] == wanted
    visit.page.click("#table thead button:text-is('hedges g [95 %]')")
    place = np.unravel_index(np.nanargmin(precision.hedges_g), precision.hedges_g.shape)
    effect, low, high = (
        f"{values[place]:.2f}".replace("-", "−")
        for values in (precision.hedges_g, precision.g_low, precision.g_high)
    )
    assert visit.rows()[0][-6] == f"{effect} [{low}, {high}]"
    visit.page.fill("#filter-stability", "0.9")
    assert len(visit.rows()) == (precision.stability >= 0.9).sum() > 0
    visit.page.fill("#filter-stability", "")
    assert len(visit.rows()) == 100


def test_the_matrix_is_walked_with_arrow_keys_and_enter_opens_a_card(visit: Report) -> None:
    visit.page.focus("#matrix tbody td")
    visit.page.keyboard.press("ArrowDown")
    visit.page.keyboard.press("ArrowRight")
    visit.page.keyboard.press("ArrowRight")
    assert visit.focused().startswith("layer 1 head 2:")
    small = visit.page.locator("#card")
    assert small.locator("p").inner_text() == "Layer 1, head 2"
    assert NAMES[2] in small.locator("th").all_text_contents()
    visit.page.keyboard.press("Enter")
    assert small.is_hidden()
    large = visit.page.locator("#head-card")
    assert large.locator("h2").inner_text().startswith("Layer 1, head 2")
    visit.page.keyboard.press("Escape")
    assert large.is_hidden()
    assert visit.focused().startswith("layer 1 head 2:")
    visit.page.keyboard.press("End")
    assert visit.focused().startswith("layer 1 head 4:")
    assert small.locator("p").inner_text() == "Layer 1, head 4"
    visit.page.keyboard.press("Escape")
    assert small.is_hidden()
    assert visit.page.locator("#matrix td[tabindex='0']").count() == 1


def test_the_card_shows_the_scores_of_the_cell_under_the_pointer(visit: Report, run: Labelling) -> None:
    visit.page.hover("#matrix tbody tr:nth-child(3) td:nth-of-type(2)")
    row = run.frame().query("sieve == 'block' and layer == 2 and head == 1").iloc[0]
    contrast = run.frame().query("sieve == 'block:matched' and layer == 2 and head == 1").iloc[0]
    cells = visit.page.locator("#card tbody tr:nth-child(2)").locator("th, td").all_text_contents()
    numbers = f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]".replace("-", "−")
    assert cells[:2] == ["block", row["decision"]]
    assert cells[2:4] == [numbers, f"{contrast['mean']:.3f}".replace("-", "−")]


def test_the_matrix_filters_by_role_q_and_stability(visit: Report, run: Labelling) -> None:
    found = run.findings
    held = sum(int((found.decision[found.of(name)] == 0).sum()) for name in NAMES)
    chips = visit.page.locator("#matrix .chip")
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
    visible = "document.getElementById('figure-evidence').data.filter(t => t.visible !== false).length"
    before = visit.page.evaluate(visible)
    visit.page.click("#evidence .legend [data-role='1']")
    assert visit.page.evaluate(visible) == before - 2


def test_one_legend_serves_both_plots_of_the_sensitivity(visit: Report) -> None:
    visit.page.evaluate(DRAW)
    visible = "document.getElementById('{}').data.filter(t => t.visible !== false).length"
    plots = ("figure-sensitivity", "figure-sensitivity-alpha")
    before = [visit.page.evaluate(visible.format(plot)) for plot in plots]
    visit.page.click("#sensitivity .legend [data-role='1']")
    assert [visit.page.evaluate(visible.format(plot)) for plot in plots] == [each - 1 for each in before]


def test_the_page_follows_the_theme_of_its_reader(visit: Report) -> None:
    visit.page.evaluate(DRAW)
    colours = (
        "[getComputedStyle(document.body).color, "
        "getComputedStyle(document.querySelector('#figure-evidence .xtick text')).fill]"
    )
    light = visit.page.evaluate(colours)
    visit.page.emulate_media(color_scheme="dark")
    until(visit.page, f"({colours})[1] !== '{light[1]}'")
    dark = visit.page.evaluate(colours)
    assert dark[0] != light[0]
    assert dark[1] != light[1]
