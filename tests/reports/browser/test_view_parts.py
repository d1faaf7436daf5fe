"""The page of a view in a real browser: thumbnails, queries and keys, the three kinds of attention."""

from collections.abc import Iterator

import numpy as np
import pytest

from tests.support import made_views
from tests.support.browser import Opened, until, view_windows

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """Opens a page in a browser."""
    yield from view_windows(tmp_path_factory.mktemp("view"))


def test_thumbnails_show_every_head_and_open_it(opened: Opened) -> None:
    window = opened(place="#model")
    window.select_option("#view-form", "heat")
    until(window, "modelView.tiles().every((thumb) => thumb.firstChild.dataset.form === 'heat')")
    weights = made_views.usual().maps[0].weights
    shades = """(thumb) => {
        const { width, height } = thumb.firstChild;
        const { data } = thumb.firstChild.getContext("2d").getImageData(0, 0, width, height);
        return [...data].filter((_, place) => place % 4 < 3);
    }"""
    thumb = window.locator(".view-thumb[aria-label='layer 5, head 7']")
    shares = weights[2, 3].ravel()[:, None] / 255
    pixels = np.reshape(thumb.evaluate(shades), (-1, 3))
    assert np.abs(pixels - made_views.WHITE - shares * (made_views.TONE_7 - made_views.WHITE)).max() <= 1
    window.focus(".view-thumb")
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowUp", "End", "ArrowRight", "ArrowLeft"):
        window.keyboard.press(key)
    assert window.evaluate("document.activeElement.getAttribute('aria-label')") == "layer 2, head 2"
    window.keyboard.press("Enter")
    assert window.locator("#panel-head").is_visible()
    assert window.input_value("#head-layer") == "0"
    assert window.locator("#head-heads [aria-pressed='true']").all_text_contents() == ["2"]
    assert window.evaluate("location.hash") == "#head"
    window.close()


@pytest.mark.parametrize("layer", [0, 1])
def test_neuron_numbers_are_those_of_16_bit_copies(opened: Opened, layer: int) -> None:
    window = opened("grouped", "#neuron")
    window.select_option("#neuron-layer", str(layer))
    window.select_option("#neuron-head", "3")
    window.click("#neuron-queries button >> nth=5")
    until(window, f"neuronView.loaded().layer === {layer} && neuronView.loaded().head === 3")
    maps = made_views.grouped().maps[0]
    assert maps.neurons is not None
    script = "Array.from({ length: 7 }, (_, key) => products.steps(neuronView.loaded(), 5, key).sums.at(-1))"
    expected = made_views.products_of(maps.neurons, layer, 3)
    np.testing.assert_allclose(window.evaluate(script), expected[5], rtol=1e-5, atol=1e-5)
    rows = window.locator("#neuron-table tbody tr")
    shown = [rows.nth(key).locator("td").last.inner_text() for key in range(7)]
    seen = [f"{weight / 255:.3f}" for weight in maps.weights[layer, 3, 5, :6]]
    assert shown == [*seen, "not visible"]
    assert window.locator("#neuron-table thead th").count() == 6 + (layer == 0)
    said = window.inner_text("#neuron-said")
    assert said.startswith("Query heads 2–3 share key head 1.")
    assert ("sink" in said) == (layer == 0)
    window.close()


def test_numbers_of_a_key_are_read_with_the_keyboard(opened: Opened) -> None:
    window = opened("grouped", "#neuron")
    neurons = made_views.grouped().maps[0].neurons
    assert neurons is not None
    window.click("#neuron-numbers summary")
    window.focus("#neuron-queries button")
    window.keyboard.press("ArrowRight")
    assert window.locator("#neuron-queries [aria-pressed='true']").inner_text() == "▁t1"
    window.focus("#neuron-table tbody button")
    window.keyboard.press("ArrowDown")
    window.keyboard.press("ArrowDown")
    window.keyboard.press("ArrowRight")
    query, key = (array.astype(np.float16)[0, 0] for array in (neurons.query, neurons.key))
    values = [query[1, 1], key[2, 1], np.float32(query[1, 1]) * np.float32(key[2, 1])]
    q, k, both = (f"{value:.3f}".replace("-", "−") for value in map(float, values))
    assert window.inner_text("#neuron-told") == f"▁t2, dimension 1: q {q}, k {k}, q × k {both}"
    cells = window.locator("#neuron-numbers tbody tr").nth(1).locator("td").all_text_contents()
    assert cells == [q, k, both]
    window.close()


def test_kinds_of_attention_are_chosen_and_the_tokens_follow(opened: Opened) -> None:
    window = opened("encoder_decoder")
    tokens = "#head-map .map-side-{} .map-token"
    assert window.locator(tokens.format(0)).all_text_contents() == list("abcde")
    window.select_option("#view-kind", "2")
    until(window, "document.querySelectorAll('#head-map .map-side-0 .map-token').length === 3")
    shown = [window.locator(tokens.format(side)).all_text_contents() for side in (0, 1)]
    assert shown == [list("xyz"), list("abcde")]
    assert window.locator("#view-filter-label").is_hidden()
    window.click("#tab-neuron")
    assert window.inner_text("#neuron-none") == "What the weights are made of is not known here."
    window.close()
