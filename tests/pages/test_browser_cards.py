"""Cards of heads in a browser: opened, read, walked through, left again; every test opens its own page."""

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from headroles.records import Stack, StackLayer
from headroles.reports import page_of, spreads_of
from tests.support.browser import Opened, serious, wait_until, widening
from tests.support.card_runs import HOSTILE, NAMES, card_run

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser of label runs")]


@cache
def html_of(*, marked: bool = False) -> str:
    """Return the page of a run with cards, made once."""
    page: str = page_of(card_run(marked=marked))
    return page


def title(window: "Page") -> str:
    """Return which head's card is open; "" for none."""
    return window.inner_text("#head-card-title") if window.locator("#head-card").is_visible() else ""


def in_order(layer: int, head: int) -> list[int]:
    """Return the roles that a head holds, those first that the fewest heads hold."""
    held = card_run().findings.decision[: len(NAMES)] == 0
    return sorted(np.flatnonzero(held[:, layer, head]).tolist(), key=lambda role: int(held[role].sum()))


def test_keys_buttons_and_addresses_lead_into_a_card_on_to_others_and_back_to_its_cell(
    opened: Opened,
) -> None:
    window = opened(html_of())
    window.focus("#map-grid .map svg[tabindex='0']")
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        window.keyboard.press(key)
    assert title(window) == "Layer 1, head 1"
    assert window.evaluate("[location.hash, document.activeElement.id]") == ["#head-1-1", "head-card-title"]
    window.keyboard.press("Tab")
    assert window.evaluate("!!document.activeElement.closest('#head-card')")
    window.keyboard.press("Escape")
    assert title(window) == ""
    wait_until(window, "location.hash === ''")
    window.keyboard.press("ArrowRight")
    window.keyboard.press(" ")
    assert title(window) == "Layer 1, head 2"
    window.evaluate("openHead(0)")
    window.click("#card-previous")
    assert title(window) == "Layer 3, head 5"
    window.click("#card-next")
    window.click("#card-next")
    assert (title(window), window.evaluate("document.activeElement.id")) == ("Layer 0, head 1", "card-next")
    window = opened(html_of())
    window.evaluate("location.hash = '#head-1-1'")
    wait_until(window, "document.getElementById('head-card-title').textContent === 'Layer 1, head 1'")
    wait_until(window, "document.activeElement.id === 'head-card-title'")
    arrows = {"ArrowRight": (1, 2), "ArrowDown": (2, 2), "ArrowLeft": (2, 1), "ArrowUp": (1, 1)}
    for key, place in arrows.items():
        window.keyboard.press(key)
        assert title(window) == "Layer {}, head {}".format(*place)
        assert window.evaluate("location.hash") == window.get_attribute("#card-link", "href")
        start = f"document.getElementById('card-told').textContent.startsWith('{place[0]}-{place[1]} ')"
        wait_until(window, start)
        assert window.inner_text("#card-told") == card_run().head(*place).sentence
    window.evaluate("location.hash = '#head-9-9'")
    wait_until(window, "!document.getElementById('head-card').open")


def test_roles_held_come_first_and_the_histogram_is_that_of_the_run(opened: Opened) -> None:
    window, run = opened(html_of(), "#head-0-0"), card_run()
    titles = window.locator("#card-roles tbody th").evaluate_all("rows => rows.map(row => row.title)")
    assert titles == [NAMES[role] for role in in_order(0, 0)]
    window.click("#card-next")
    first, second = window.locator("#card-roles tbody tr").all()[:2]
    row = run.frame().query(f"layer == 0 and head == 1 and sieve == {NAMES[in_order(0, 1)[0]]!r}").iloc[0]
    numbers = f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]".replace("-", "−")
    assert first.locator("td").all_text_contents()[0] == numbers
    assert first.locator("td").last.inner_text().startswith("role")
    weight = "row => getComputedStyle(row.cells[0]).fontWeight"
    assert [line.evaluate(weight) for line in (first, second)] == ["700", "400"]
    window.evaluate("location.hash = '#head-1-1'")
    wait_until(window, "document.getElementById('head-card-title').textContent === 'Layer 1, head 1'")
    window.wait_for_selector("#card-spread svg[role='img']", state="attached")
    spreads = spreads_of(run.scores, range(3))
    best = in_order(1, 1)[0]
    assert window.input_value("#card-role") == str(best)
    for role in (best, (best + 1) % 3):
        window.select_option("#card-role", str(role))
        mean = f"mean {run.findings.mean[role, 1, 1]:.3f}".replace("-", "−")
        wait_until(window, f"document.getElementById('card-spread-key').textContent.includes('{mean}')")
        counts = window.locator("#card-spread-numbers tbody td:last-child").all_text_contents()
        assert [int(count) for count in counts] == spreads.counts[role, 7].tolist()
        five = [f"{value:.3f}".replace("-", "−") for value in spreads.five[role, 7].tolist()]
        said = window.inner_text("#card-spread-told")
        assert [number for number in five if number not in said] == []


def test_examples_are_drawn_when_they_come_near_and_follow_one_set_of_controls(opened: Opened) -> None:
    window, kept = opened(html_of(), "#head-0-0"), card_run().exhibited
    assert kept is not None
    blocks, figures = window.locator("#card-examples > details"), window.locator("#card-examples figure")
    assert [blocks.nth(place).get_attribute("open") for place in range(blocks.count())] == ["", None, None]
    figures.nth(2).scroll_into_view_if_needed()
    figures.nth(2).locator("canvas").wait_for()
    assert (blocks.nth(0).locator("canvas").count(), blocks.nth(1).locator("canvas").count()) == (3, 0)
    window.locator("#card-examples .card-least summary").first.click()
    captions = window.locator("#card-examples > details[open] figcaption").all_text_contents()
    scores = [text.partition(" in/")[0].partition(": score ")[2].strip() for text in captions]
    assert scores == ["0.625", "0.750", "0.875", "0.375", "0.250"]
    first = figures.first
    token = first.locator(".map-side-0 .map-token")
    assert token.count() == 3
    window.click("#card-drawn [data-level='pieces']")
    assert token.count() == 4
    window.check("#card-drawn [data-switch='specials']")
    assert token.count() == 6
    assert any(HOSTILE in text for text in token.all_text_contents())
    place = (NAMES[in_order(0, 0)[0]], 0, 0, 1)
    shown = next(each for each in kept.exhibits if (each.sieve, each.layer, each.head, each.rank) == place)
    token.nth(1).focus()
    strongest = f"{kept.weights[shown.map][1].max() / 255:.2f}"
    assert strongest in window.locator("#card-examples .map-told").first.inner_text()
    window.click("#card-drawn [data-form='heat']")
    blocks.nth(1).locator("summary").first.click()
    blocks.nth(1).locator("canvas").first.wait_for()
    assert blocks.nth(1).locator(".map[data-form='heat']").count() >= 1
    assert "7 more examples of this run were not kept" in window.inner_text("#card-examples-told")
    assert window.locator("#head-card script, #head-card b").count() == 0
    assert HOSTILE in window.locator("#card-roles tbody th bdi").all_text_contents()
    window.evaluate("location.hash = '#head-3-0'")
    wait_until(window, "document.getElementById('head-card-title').textContent === 'Layer 3, head 0'")
    assert "No examples are kept of " in window.inner_text("#card-examples-told")
    window.emulate_media(media="print")
    assert window.locator("#head-card").is_hidden()


def test_special_tokens_are_hidden_unless_the_role_is_about_them_and_the_strongest_link_is_its_own(
    opened: Opened,
) -> None:
    window, kept = opened(html_of(marked=True), "#head-0-0"), card_run(marked=True).exhibited
    assert kept is not None
    assert window.inner_text("#card-examples-told").startswith("Coloured: keys that the role counts.")
    for block in window.locator("#card-examples > details").all():
        block.evaluate("block => { block.open = true; }")
        first = block.locator("figure").first
        first.scroll_into_view_if_needed()
        first.locator("canvas").wait_for()
        about = "special tokens" in block.locator("summary").first.inner_text()
        assert first.locator(".map-side-0 .map-token").count() == (5 if about else 3)
    shown = next(each for each in kept.exhibits if (each.sieve, each.rank) == ("local", 1))
    cells = kept.counted[int(kept.places[shown.map, 0]), "local"]
    window.click("#card-drawn [data-level='pieces']")
    window.check("#card-drawn [data-switch='specials']")
    figure = window.locator("#card-examples > details", has_text="neighbours").locator("figure").first
    strongest = kept.weights[shown.map][cells].max() / 255
    assert figure.locator(".card-pair").first.inner_text().endswith(f" {strongest:.2f}")
    assert figure.locator(".card-pair").count() == 3
    window.evaluate("location.hash = '#head-3-0'")
    wait_until(window, "document.getElementById('head-card-title').textContent === 'Layer 3, head 0'")
    captions = window.locator("#card-examples figcaption").all_text_contents()
    assert [text.partition(" in/")[0].strip() for text in captions] == ["Input 1", "Input 2"]
    assert window.locator("#card-examples details").count() == 0


@pytest.mark.ci
@pytest.mark.parametrize(("marked", "width", "scheme"), [(False, 400, "dark"), (True, 1280, "light")])
def test_an_open_card_fits_and_has_no_serious_violation(
    opened: Opened, marked: bool, width: int, scheme: str
) -> None:
    window = opened(html_of(marked=marked), "#head-0-0", width=width, scheme=scheme)
    window.evaluate("document.getElementById('card-spread-numbers').open = true")
    window.locator("#card-examples figure").first.scroll_into_view_if_needed()
    window.locator("#card-examples canvas").first.wait_for()
    assert widening(window) == 0
    assert serious(window, "'#head-card'") == []


def test_a_card_of_a_hybrid_is_named_and_addressed_by_the_position_of_its_layer(opened: Opened) -> None:
    run = card_run()
    stack = Stack(tuple(StackLayer(3 + 4 * place) for place in range(run.scores.layers)), 16)
    window = opened(page_of(replace(run, scores=replace(run.scores, stack=stack))))
    assert window.locator("#matrix tbody th").all_inner_texts() == ["3", "7", "11", "15"]
    window.fill("#go-to-head", "1-0")
    window.press("#go-to-head", "Enter")
    assert title(window) == ""
    window.fill("#go-to-head", "7-2")
    window.press("#go-to-head", "Enter")
    assert (title(window), window.evaluate("location.hash")) == ("Layer 7, head 2", "#head-7-2")
    window.click("#card-previous")
    assert title(window) == "Layer 7, head 1"
    assert window.inner_text("#card-told").startswith("7-1 ")
    assert window.evaluate("[headName(0), cellNamed(15, 1), cellNamed(1, 0)]") == ["3-0", 19, -1]
    assert window.evaluate("placeOf(perSieve)") == {"sieve": 1, "layer": 3, "head": 0}
