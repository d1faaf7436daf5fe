"""Dimensions that carry a role, in the neuron view of a run that asked for them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from headroles.records.view import Carriers
from tests.support import made_views
from tests.support.browser import Opened, until, view_windows

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
PLACES = "all => all.map((each) => each.getAttribute('x'))"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """Opens a page in a browser."""
    yield from view_windows(tmp_path_factory.mktemp("carriers"))


def _open(opened: Opened, name: str = "carried", **settings: Any) -> "Page":
    window = opened(name, "#neuron", first=False, **settings)
    until(
        window,
        "neuronView.loaded() !== null && document.querySelectorAll('#neuron-table tbody tr').length === 7",
    )
    return window


def _first() -> Carriers:
    origins = made_views.carried().origins
    assert origins is not None
    return origins.carriers[0]


def _ground(window: "Page") -> str:
    text: str = window.evaluate(
        "document.getElementById('panel-neuron').style.getPropertyValue('--found-columns')"
    )
    return text


def test_the_head_of_the_strongest_role_opens_with_its_found_dimensions_marked(opened: Opened) -> None:
    window = _open(opened)
    assert window.locator("#neuron-role option").all_inner_texts() == ["separators", "neighbours (±2)"]
    assert window.inner_text("#neuron-found") == "found: dimensions 1, 5, more than twice the fair share"
    assert window.inner_text("#neuron-carriers-said") == _first().text
    assert _ground(window).count("var(--found)") == 4
    assert "12.5%" in _ground(window)
    assert window.locator("#neuron-dims .view-found").evaluate_all(PLACES) == ["1", "5"]
    window.close()


def test_the_strip_is_as_strong_as_the_share_of_each_dimension(opened: Opened) -> None:
    window = _open(opened)
    script = """(canvas) => {
        const { data, width } = canvas.getContext("2d").getImageData(0, 0, canvas.width, 2);
        return [...Array(width).keys()].map((x) => data[4 * x + 3] - data[4 * (width + x) + 3]);
    }"""
    shades = np.array(window.locator("#neuron-share").evaluate(script))
    np.testing.assert_allclose(shades / 255, _first().share / _first().share.max(), atol=0.01)
    window.close()


def test_the_words_of_a_dimension_have_its_share_and_its_test(opened: Opened) -> None:
    window = _open(opened)
    box = window.locator("#neuron-table canvas >> nth=1").bounding_box()
    assert box is not None
    for place, words in (
        (1, "; 60.0 % of separators, adjusted p < 0.001, found"),
        (3, "; −5.0 % of separators"),
    ):
        window.mouse.move(box["x"] + (place + 0.5) * box["width"] / 8, box["y"] + 9)
        told = window.inner_text("#neuron-told")
        assert words in told
        assert told.startswith("▁t0, dimension")
        assert (", found" in told) == (place == 1)
    window.hover("#neuron-share", position={"x": 2, "y": 9})
    assert window.inner_text("#neuron-told") == "dimension 0; 2.0 % of separators, adjusted p 0.800"
    window.close()


def test_another_role_of_the_head_can_be_chosen_by_keyboard(opened: Opened) -> None:
    window = _open(opened)
    window.focus("#neuron-role")
    window.keyboard.press("ArrowDown")
    until(window, "document.getElementById('neuron-carriers-said').textContent === '0-1: not tested.'")
    assert window.inner_text("#neuron-found") == "no dimension has more than twice the fair share"
    assert _ground(window) == "none"
    assert window.locator("#neuron-dims .view-found").count() == 0
    window.select_option("#neuron-layer", "1")
    until(window, "document.getElementById('neuron-carriers').hidden")
    window.select_option("#neuron-head", "3")
    until(window, "!document.getElementById('neuron-carriers').hidden")
    assert window.inner_text("#neuron-carriers-said") == "1-3: by query."
    assert window.is_disabled("#neuron-role")
    window.close()


def test_the_numbers_have_the_share_of_every_dimension(opened: Opened) -> None:
    window = _open(opened)
    window.evaluate("document.getElementById('neuron-numbers').open = true")
    until(window, "document.querySelectorAll('#neuron-numbers tbody tr').length === 8")
    heads = window.locator("#neuron-numbers thead th").all_inner_texts()
    assert heads == ["dimension", "q", "k", "q × k", "part in separators", "adjusted p"]
    cells = [line.split("\t")[-2:] for line in window.locator("#neuron-numbers tbody tr").all_inner_texts()]
    assert cells[1] == ["60.0 % ●", "< 0.001"]
    assert cells[2] == ["10.0 %", "0.800"]
    window.close()


def test_both_dimensions_of_a_frequency_pair_are_marked(opened: Opened) -> None:
    window = _open(opened, "paired")
    assert window.inner_text("#neuron-found") == "found: frequency pair 1, more than twice the fair share"
    assert window.locator("#neuron-dims .view-found").evaluate_all(PLACES) == ["1", "5"]
    box = window.locator("#neuron-table canvas >> nth=1").bounding_box()
    assert box is not None
    window.mouse.move(box["x"] + 5.5 * box["width"] / 8, box["y"] + 9)
    assert "dimension 5" in window.inner_text("#neuron-told")
    assert "60.0 % of separators, frequency pair 1, adjusted p < 0.001, found" in window.inner_text(
        "#neuron-told"
    )
    window.close()


def test_views_without_such_a_run_are_as_before(opened: Opened) -> None:
    window = opened("grouped", "#neuron")
    until(window, "neuronView.loaded() !== null")
    assert window.locator("#neuron-carriers").count() == 0
    assert _ground(window) == ""
    window.hover("#neuron-table canvas >> nth=0")
    assert "separators" not in window.inner_text("#neuron-told")
    window.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_the_view_fits_and_has_no_serious_violation(opened: Opened, width: int, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    window = _open(opened, width=width, scheme=scheme)
    wide, seen = window.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= seen
    found = Axe().run(window).response["violations"]
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
    window.close()
