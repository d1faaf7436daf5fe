"""The page of a view in a browser: heads, thumbnails, neurons, kinds of attention, roles, print."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.support import made_views
from tests.support.browser import Opened, serious, wait_until, widening
from tests.support.made_views import HOSTILE, LONG, PIECES, SEGMENT
from tests.support.pages import view_html

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser of other kinds")]
FIRST = "chosen.layer = 0; headView.choose(0); leaveOut(); show(open)"
"""Shows the first head of the first layer of a view, whichever it opens with."""
TOKENS = "document.querySelectorAll('#head-map .map-side-0 .map-token').length"


def show(
    opened: Opened, name: str = "usual", place: str = "", *, first: bool = True, **window: Any
) -> "Page":
    """Open the page of a made view, at its first head unless told otherwise."""
    page = opened(view_html(name), place, **window)
    page.evaluate(FIRST if first else "show(open)")
    return page


def drawn(window: "Page", side: int) -> list[str]:
    """Return the tokens on one side of the picture."""
    texts: list[str] = window.locator(f"#head-map .map-side-{side} .map-token").all_text_contents()
    return texts


def test_weights_are_decoded_words_sum_and_average_and_tokens_are_text_whatever_they_are(
    opened: Opened,
) -> None:
    window, weights = show(opened), made_views.usual().maps[0].weights
    head = "layerOf(2).then((bytes) => [...headOf(bytes, 3)])"
    assert window.evaluate(head) == weights[2, 3].ravel().tolist()
    shares = weights[0, 1] / 255
    units = [[0], [1], [2, 3, 4], [5], [6], [7], [8], [9], [10], [11]]
    expected = [[shares[np.ix_(row, column)].sum(axis=1).mean() for column in units] for row in units]
    texts, values = window.evaluate("""layerOf(0).then((bytes) => {
        const data = { queries: mapsNow().queries, keys: mapsNow().keys, weights: headOf(bytes, 1) };
        const found = attention.matrix(data, { level: "words" });
        return [found.rows.map((unit) => unit.text), [...found.values]];
    })""")
    np.testing.assert_allclose(np.reshape(values, (10, 10)), expected, atol=1e-6)
    assert (len(texts), texts[2]) == (10, "unbelievable")
    assert drawn(window, 0) == [*PIECES[:10], "a" * 40 + "…", "[SEP]"]
    assert window.locator("#head-map .map-side-1 .map-token").nth(10).get_attribute("title") == LONG
    assert HOSTILE in drawn(window, 1)
    assert window.locator("main i, main b").count() == 0
    assert window.locator("h1").inner_text() == "tiny/<i>model</i>"
    window.select_option("#view-filter", "0,1")
    assert drawn(window, 0)[:3] == ["[CLS]", "the", "un"]
    assert drawn(window, 1)[0] == "שלום"
    window.uncheck("#view-specials")
    assert [len(drawn(window, side)) for side in (0, 1)] == [np.sum(side == SEGMENT) for side in (0, 1)]
    window.check("#view-specials")
    window.select_option("#view-filter", "all,all")
    window.uncheck("#view-sink")
    assert drawn(window, 0)[0] == "the"
    window.dblclick("#head-map .map-side-0 .map-token >> nth=1")
    wait_until(window, f"{TOKENS} === 1")
    assert window.inner_text("#view-only") == "Only “un” attends · show all"
    window.click("#view-only")
    wait_until(window, f"{TOKENS} === {len(PIECES) - 1}")
    window = show(opened, "encoder_decoder")
    window.select_option("#view-kind", "2")
    wait_until(window, f"{TOKENS} === 3")
    assert [drawn(window, side) for side in (0, 1)] == [list("xyz"), list("abcde")]
    assert window.locator("#view-filter-label").is_hidden()


def test_a_token_in_hand_tells_its_strongest_keys_and_a_cell_its_weight(opened: Opened) -> None:
    window, weights = show(opened), made_views.usual().maps[0].weights[0, 0]
    window.focus("#head-map .map-side-0 .map-token")
    window.keyboard.press("ArrowDown")
    window.keyboard.press("ArrowDown")
    best = int(weights[2].argmax())
    told = window.locator("#head-map .map-told")
    start = f"un attends most to {PIECES[best]} {weights[2, best] / 255:.2f}"
    assert told.inner_text().startswith(start)
    window.keyboard.press("Enter")
    window.keyboard.press("ArrowRight")
    assert told.inner_text().startswith(start)
    window.keyboard.press("Escape")
    window.keyboard.press("ArrowUp")
    assert told.inner_text().startswith("the gets most from ")
    window.select_option("#view-form", "heat")
    canvas = window.locator("#head-map canvas")
    canvas.hover(position={"x": 8 * 20 + 10, "y": 1 * 20 + 10})
    assert told.inner_text() == f"the → 😀: {weights[1, 8] / 255:.2f}"


def test_thumbnails_show_every_head_and_open_it(opened: Opened) -> None:
    window = show(opened, place="#model")
    window.select_option("#view-form", "heat")
    wait_until(window, "modelView.tiles().every((thumb) => thumb.firstChild.dataset.form === 'heat')")
    weights = made_views.usual().maps[0].weights
    shades = """(thumb) => {
        const { width, height } = thumb.firstChild;
        const { data } = thumb.firstChild.getContext("2d").getImageData(0, 0, width, height);
        return [...data].filter((_, place) => place % 4 < 3);
    }"""
    pixels = np.reshape(window.locator(".view-thumb[aria-label='layer 5, head 7']").evaluate(shades), (-1, 3))
    shares = weights[2, 3].ravel()[:, None] / 255
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


def test_neuron_numbers_are_those_of_16_bit_copies(opened: Opened) -> None:
    window, maps = show(opened, "grouped", "#neuron"), made_views.grouped().maps[0]
    neurons = maps.neurons
    assert neurons is not None
    script = "Array.from({ length: 7 }, (_, key) => products.steps(neuronView.loaded(), 5, key).sums.at(-1))"
    for layer in (0, 1):
        window.select_option("#neuron-layer", str(layer))
        window.select_option("#neuron-head", "3")
        window.click("#neuron-queries button >> nth=5")
        wait_until(window, f"neuronView.loaded().layer === {layer} && neuronView.loaded().head === 3")
        expected = made_views.products_of(neurons, layer, 3)
        np.testing.assert_allclose(window.evaluate(script), expected[5], rtol=1e-5, atol=1e-5)
        rows = window.locator("#neuron-table tbody tr")
        shown = [rows.nth(key).locator("td").last.inner_text() for key in range(7)]
        weights = maps.weights[layer, 3, 5] / 255
        assert shown == [*(f"{weight:.3f}" for weight in weights[:6]), "not visible"]
        said = window.inner_text("#neuron-said")
        assert said.startswith("Query heads 2–3 share key head 1.")
        assert ("sink" in said) == (layer == 0)


def test_roles_open_their_head_colour_its_keys_and_order_the_heads(opened: Opened) -> None:
    window = show(opened, "with_roles", first=False)
    wait_until(window, "roles.coloured()")
    near = made_views.roles_of().keys[2]
    assert near is not None
    assert window.input_value("#head-layer") == "1"
    label = window.locator("#head-heads [aria-pressed='true']").get_attribute("aria-label")
    assert label == "head 2, neighbours, class token"
    assert window.input_value("#view-keys") == "2"
    assert window.evaluate("[...roles.settings().own]") == near.astype(int).ravel().tolist()
    assert "runs/<b>x</b>" in window.inner_text("header")
    assert window.locator("header b").count() == 0
    assert not window.is_checked("#view-specials")
    window.select_option("#view-keys", "1")
    wait_until(window, "document.getElementById('view-specials').checked")
    disabled = window.locator("#view-keys option").evaluate_all("all => all.map((each) => each.disabled)")
    assert disabled == [False, True, False, False, False]
    window.click("#tab-model")
    assert window.locator("#model-grid .view-thumb").count() == 12
    window.select_option("#view-order", "role")
    groups = window.locator(".view-group")
    assert [text.split("\n")[0] for text in groups.locator("h2").all_inner_texts()] == [
        "L neighbours 2 heads", "Dc class token 8 heads", "no role 2 heads",
    ]  # fmt: skip
    assert groups.nth(0).locator(".view-tiles .count").all_inner_texts() == ["3-2", "2-7"]
    window.focus(".view-tiles .view-thumb >> nth=1")
    window.keyboard.press("Enter")
    numbers = window.locator("#head-heads button").evaluate_all("all => all.map((each) => each.place)")
    assert numbers == [3, 0, 1, 2]  # in layer 2: its local head before the sinks


@pytest.mark.ci
@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [("grouped", 400, "dark"), ("with_roles", 1280, "light"), ("carried", 400, "dark")],
)
def test_every_view_fits_and_has_no_serious_violation(
    opened: Opened, name: str, width: int, scheme: str
) -> None:
    window = show(opened, name, width=width, scheme=scheme)
    for tab in ("model", "neuron", "head"):
        window.click(f"#tab-{tab}")
        window.evaluate("show(open)")
        if name == "with_roles" and tab == "model":
            window.select_option("#view-order", "role")
        assert widening(window) == 0
        assert serious(window) == []
