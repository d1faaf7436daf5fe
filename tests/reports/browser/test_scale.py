"""A report of 32 × 32 heads and 20 sieves: small enough to send, and everything on it works."""

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from headroles.records.assessment import Assessment, Precision
from headroles.records.findings import Labelling
from headroles.reports.page import page
from tests.support.browser import Listener, chromium
from tests.support.hostile_runs import labelled

if TYPE_CHECKING:
    from playwright.sync_api import Page

NAMES = tuple(f"sieve{number}" for number in range(20))
LIMIT = 15_000_000
"""Bytes of a report at most."""


@pytest.fixture(scope="module")
def huge() -> Labelling:
    """1,024 heads under 20 sieves, with numbers in every column that an assessment adds."""
    chance, run = np.random.default_rng(0), labelled(NAMES, (20, 32, 32), assessed=False)
    precision = Precision(*(chance.uniform(size=(20, 32, 32)) for _ in fields(Precision)))
    return replace(run, assessment=Assessment(precision))


@pytest.fixture(scope="module")
def text(huge: Labelling) -> str:
    return page(huge)


def test_a_report_of_1024_heads_and_20_sieves_stays_within_its_size(text: str) -> None:
    assert len(text.encode()) <= 0.9 * LIMIT  # examples of head cards come on top
    assert text.count("plotly.js (basic - minified) v") == 1


def test_every_head_is_in_the_matrix_and_no_figure_repeats_the_findings(text: str) -> None:
    assert text.count('<span class="marks">') == 1024
    specs = [part.partition("</script>")[0] for part in text.split('-spec">')[1:]]
    assert max(len(spec) for spec in specs) < 500_000


@pytest.fixture(scope="module")
def opened(text: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator["Page"]:
    """The page in a browser, and not a complaint."""
    file, heard = tmp_path_factory.mktemp("huge") / "report.html", Listener()
    file.write_text(text, encoding="utf-8")
    with chromium() as browser:
        window = browser.new_page(viewport={"width": 1280, "height": 900})
        heard.listen(window)
        window.goto(file.as_uri())
        yield window
    assert heard.complaints == []


@pytest.mark.browser
def test_its_matrix_filters_and_its_table_finds_a_head(opened: "Page", huge: Labelling) -> None:
    found = huge.findings
    chips = opened.locator("#matrix .chip")
    assert chips.count() == (found.decision == 0).sum()
    opened.click("[data-view='matrix']")
    opened.click("#matrix-controls [data-role='7']")
    assert chips.count() == (found.decision[7] == 0).sum()
    opened.fill("#filter", "sieve7 30-9")
    rows = opened.locator("#table tbody tr").all_text_contents()
    assert len(rows) == 1
    assert rows[0].startswith("sieve730-9")


@pytest.mark.browser
def test_its_figures_draw_every_head_and_tell_it(opened: "Page", huge: Labelling) -> None:
    drawn = opened.evaluate("""async () => {
      const plot = document.getElementById("figure-p-values");
      await draw(plot);
      return plot.data.filter((trace) => trace.meta?.role === 3).flatMap((trace) => [...trace.customdata]);
    }""")
    assert len(drawn) == 1024
    for layer, head, mean, _, _, p in drawn[::97]:
        assert mean == huge.findings.mean[3, int(layer), int(head)]
        expected = huge.findings.p[3, int(layer), int(head)]
        assert p == "< 1e-16" if expected < 1e-16 else float(p) == pytest.approx(expected, rel=0.05)
