"""The report of a label run in a browser: maps, matrix, table, figures, copies and downloads."""

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from headroles.records import DECISIONS, phrase_of
from tests.support.browser import DRAW, UNFOLD, Opened, download, wait_until, widening
from tests.support.pages import MANIFEST, SIEVES, label_run, result_files, usual_page

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser of label runs")]

HIDDEN = "document.getElementById('{}').data.filter((t) => t.visible === false).length"


def rows(window: "Page") -> list[list[str]]:
    """Return the rows of all pages of the full table; the first page is shown again afterwards."""
    texts: list[list[str]] = window.evaluate("""() => {
      const [next, previous] = ["next", "previous"].map((id) => document.getElementById(id));
      const texts = (row) => [...row.cells].map((cell) => cell.textContent);
      const shown = () => [...document.querySelectorAll("#table tbody tr")].map(texts);
      const rows = shown();
      for (; !next.disabled; rows.push(...shown())) next.click();
      while (!previous.disabled) previous.click();
      return rows;
    }""")
    return texts


def minus(text: str) -> str:
    """Return a number with the sign that pages write."""
    return text.replace("-", "−")


def test_the_page_opens_silently_fits_draws_every_figure_and_follows_the_theme(opened: Opened) -> None:
    window = opened(usual_page("label"), height=400)
    assert window.evaluate("typeof Plotly") == "undefined"  # plotly runs with the first figure, not before
    window.evaluate(DRAW)
    assert window.evaluate("typeof Plotly") == "object"
    assert widening(window) == 0
    assert window.locator(".plot .main-svg").count() >= 7
    assert window.locator("main b, main i:not(.chip)").count() == 0
    colours = (
        "[getComputedStyle(document.body).color, "
        "getComputedStyle(document.querySelector('#figure-means .xtick text')).fill]"
    )
    light = window.evaluate(colours)
    window.emulate_media(color_scheme="dark")
    wait_until(window, f"({colours})[1] !== '{light[1]}'")
    assert window.evaluate(colours)[0] != light[0]


def test_the_table_has_the_numbers_of_the_findings_and_more_columns_on_request(opened: Opened) -> None:
    window, run = opened(usual_page("label")), label_run()
    assert run.assessment is not None
    precision, (lows, highs) = run.assessment.precision, run.mean_intervals()
    window.select_option("#rows", "100")
    shown = rows(window)
    roles = [row for row in run.frame().to_dict("records") if row["sieve"] in SIEVES]
    assert len(shown) == len(roles)
    for cells, row in zip(shown, roles, strict=True):
        place = (run.findings.of(row["sieve"]), row["layer"], row["head"])
        mean = "–" if np.isnan(row["mean"]) else f"{row['mean']:.3f}"
        ends = "–" if np.isnan(lows[place]) else f"[{lows[place]:.3f}, {highs[place]:.3f}]"
        named = [phrase_of(row["sieve"]).title, f"{row['layer']}-{row['head']}"]
        assert cells[:4] == [*named, minus(mean), minus(ends)]
        assert cells[6].startswith(row["decision"])
        stability = precision.stability[place]
        assert cells[7] == ("–" if np.isnan(stability) else f"{stability:.2f}")
        if np.isnan(row["q"]) or row["q"] < 1e-16:
            assert cells[5] == ("–" if np.isnan(row["q"]) else "< 1e-16")
        else:
            assert float(cells[5]) == pytest.approx(row["q"], rel=0.06)
    window.click("#more-columns")
    headings = window.locator("#table thead button").all_text_contents()
    effects = [row["effect"] for row in roles if not np.isnan(row["effect"])]
    missing, of_effects = len(roles) - len(effects), headings.index("effect")
    assert missing == 20
    for direction, first in (("ascending", min(effects)), ("descending", max(effects))):
        window.click("#table thead button:text-is('effect')")
        assert window.locator(f"#table th[aria-sort='{direction}']").all_text_contents() == ["effect"]
        column = [row[of_effects] for row in rows(window)]
        assert column[0] == minus(f"{first:.3f}")
        assert column[len(column) - missing :] == ["–"] * missing
    window.click("#more-columns")
    assert len(rows(window)[0]) == 8


def test_the_table_is_filtered_by_text_sieve_decision_and_by_the_answer(opened: Opened) -> None:
    window, run = opened(usual_page("label")), label_run()
    frame = run.frame()
    held = frame[frame["decision"] == "role"]
    window.select_option("#rows", "100")
    window.fill("#filter", "block 2-3")
    assert [row[:2] for row in rows(window)] == [["own text of the pair", "2-3"]]
    busy = {*zip(held["layer"], held["head"], strict=True)}
    holders, bare = (held["sieve"] == "local").sum(), 20 - len(busy)
    places = ("filter", "shown", 4 * bare, 20), ("heads-filter", "heads-shown", bare, holders)
    for place, shown, none, some in places:
        for words, count in {"No role": none, "L": some, "neighbours": some, "position": some}.items():
            window.fill(f"#{place}", words)
            assert window.inner_text(f"#{shown}").endswith(f" of {count}"), words
    for given, told in {"foo": "No head is called “foo”", "9-9": "No head is called", "l2h3": ""}.items():
        window.fill("#go-to-head", given)
        window.keyboard.press("Enter")
        assert window.inner_text("#go-to-told").startswith(told)
    assert window.inner_text("#head-card h2") == "Layer 2, head 3"
    window.keyboard.press("Escape")
    window.fill("#filter", "")
    window.select_option("#filter-decision", label="role")
    assert len(rows(window)) == len(held)
    window.select_option("#filter-sieve", label=SIEVES[2])
    assert len(rows(window)) == (held["sieve"] == SIEVES[2]).sum() > 0
    window.evaluate("filterTable({})")
    for detail, count in (
        ({"sieve": "local", "decision": "role"}, (held["sieve"] == "local").sum()),
        ({"sieve": "", "decision": "none"}, 4 * (20 - len(busy))),
        ({"head": "2-3"}, 4),
    ):
        window.evaluate("(detail) => filterTable(detail)", detail)
        assert len(rows(window)) == count, detail
    window.click("a[href='#filter=local,role']")
    assert window.inner_text("#heads-shown").endswith(f" of {(run.findings.decision[0] == 0).sum()}")
    assert window.locator("#map-grid .is-dim").count() > 0
    window.click("#filtered button")
    assert window.locator("#map-grid .is-dim").count() == 0


def test_the_matrix_is_walked_with_keys_and_filtered_by_role_q_stability_and_effect(opened: Opened) -> None:
    window, found = opened(usual_page("label")), label_run().findings
    window.click("[data-view='matrix']")
    window.focus("#matrix tbody td")
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        window.keyboard.press(key)
    assert window.evaluate("document.activeElement.ariaLabel").startswith("layer 1 head 2:")
    tip = window.locator("#tip")
    window.keyboard.press("Enter")
    assert tip.is_hidden()
    assert window.locator("#head-card h2").inner_text().startswith("Layer 1, head 2")
    window.keyboard.press("Escape")
    window.keyboard.press("End")
    assert tip.locator("p").first.inner_text() == "Layer 1, head 4"
    window.keyboard.press("Escape")
    assert tip.is_hidden()
    assert window.locator("#matrix td[tabindex='0']").count() == 1
    held = found.decision == 0
    assessment = label_run().assessment
    assert assessment is not None
    chips = window.locator("#matrix .chip")
    for place, text, wanted in (
        ("#matrix-q", "1e-12", held & (found.q <= 1e-12)),
        ("#matrix-q", "0,05", held),
        ("#matrix-effect", "5", held & (found.effect >= 5)),
        ("#matrix-effect", "", held),
        ("#matrix-stability", "1", held & (assessment.precision.stability >= 1)),
        ("#matrix-stability", "0", held),
    ):
        window.fill(place, text)
        assert chips.count() == wanted.sum(), (place, text)
    window.click("#matrix-controls [data-role='0']")
    assert chips.count() == held[0].sum()
    assert window.locator("#matrix .state:text-is('–')").count() == (found.decision[0] == 1).sum()


def test_maps_tell_the_cell_under_the_pointer_and_are_walked_over_their_edges(opened: Opened) -> None:
    window, run = opened(usual_page("label")), label_run()
    window.locator("#map-grid svg").first.focus()
    for key in ("ArrowDown", "End"):
        window.keyboard.press(key)
    assert window.locator("#tip p").first.inner_text().startswith("1-4 · neighbours")
    window.keyboard.press("ArrowRight")
    assert window.locator("#tip p").first.inner_text().startswith("1-0 · own text")
    window.keyboard.press("Enter")
    assert window.locator("#head-card h2").inner_text().startswith("Layer 1, head 0")
    window.keyboard.press("Escape")
    assert window.evaluate("document.activeElement === document.querySelectorAll('#map-grid svg')[1]")
    svg = window.locator("#map-grid svg").nth(1)
    unit = svg.evaluate("(svg) => (svg.clientWidth - 17) / 5")
    svg.hover(position={"x": 17 + 1.5 * unit, "y": 2.5 * unit})
    lines = window.locator("#tip p").all_text_contents()
    mean, (low, high) = run.findings.mean[1, 2, 1], (ends[1, 2, 1] for ends in run.mean_intervals())
    assert lines[0] == "2-1 · own text of the pair"
    assert lines[1] == minus(f"mean {mean:.3f} [{low:.3f}, {high:.3f}]")
    assert lines[2].startswith(DECISIONS[run.findings.decision[1, 2, 1]])


def test_skip_link_legends_tables_of_figures_and_downloads_obey(opened: Opened) -> None:
    window = opened(usual_page("label"))
    window.keyboard.press("Tab")
    assert window.evaluate("document.activeElement.className") == "skip"
    window.keyboard.press("Enter")
    assert window.evaluate("location.hash") == "#answer"
    window.evaluate(UNFOLD)
    window.evaluate(DRAW)
    plots = ("figure-p-values", "figure-sensitivity", "figure-sensitivity-alpha")
    for place in ("#p-values-panel", "#sensitivity-panel"):
        window.focus(f"{place} .legend [data-role='1']")
        window.keyboard.press("Space")
    assert window.evaluate(HIDDEN.format(plots[0])) > 0
    assert [window.evaluate(HIDDEN.format(plot)) for plot in plots[1:]] == [1, 1]
    files = result_files(label_run())
    for name in ("findings.csv", "labels.csv", "precision.csv", "several.csv"):
        assert download(window, name) == files[name].decode(), name
    manifest = download(window, "run.json")
    assert json.loads(manifest) == MANIFEST
    assert '"number": 1.0' in manifest
    table = window.locator("#p-values-panel table")
    table.locator("thead button:has-text('smallest')").click()
    shown = table.locator("tbody tr td:nth-child(6)").all_text_contents()
    numbers = [float(text.replace("<", "")) for text in shown if text != "–"]
    assert numbers == sorted(numbers)
    keys = window.evaluate(
        "['−1.5 [−2, 3]', '<0.001', '1,234', '12\\u00a0%', '–', 'yes', '2-11', '10.2e3'].map(keyOf)"
    )
    assert keys == ["-1.5", "0.001", "1234", "12", "nan", "yes", "2-11", "10200"]
