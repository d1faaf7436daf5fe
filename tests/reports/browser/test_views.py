"""The page of a view in a real browser: its head view, its frame, its paper."""

import html
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest

from headroles.reports.views.page import view_page
from tests.support import made_views
from tests.support.browser import Opened, until, view_windows
from tests.support.made_views import HOSTILE, LONG, PIECES, SEGMENT, WORD

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """Opens a page in a browser."""
    yield from view_windows(tmp_path_factory.mktemp("view"))


def drawn(window: "Page", side: int) -> list[str]:
    """The tokens on one side of the picture."""
    texts: list[str] = window.locator(f"#head-map .map-side-{side} .map-token").all_text_contents()
    return texts


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
@pytest.mark.parametrize("name", ["usual", "grouped", "encoder_decoder"])
def test_every_view_fits_and_has_no_serious_violation(
    opened: Opened, name: str, width: int, scheme: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    window = opened(name, width=width, scheme=scheme)
    for tab in ("model", "neuron", "head"):
        window.click(f"#tab-{tab}")
        window.evaluate("show(open)")
        wide, seen = window.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide <= seen
        found = Axe().run(window).response["violations"]
        assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
    window.close()


def test_weights_are_decoded_byte_for_byte(opened: Opened) -> None:
    window = opened()
    weights = made_views.usual().maps[0].weights
    assert window.evaluate("layerOf(1).then((bytes) => [...bytes])") == weights[1].ravel().tolist()
    head = "layerOf(2).then((bytes) => [...headOf(bytes, 3)])"
    assert window.evaluate(head) == weights[2, 3].ravel().tolist()
    window.close()


def test_words_sum_what_is_attended_to_and_average_what_attends(opened: Opened) -> None:
    window = opened()
    weights = made_views.usual().maps[0].weights[0, 1] / 255
    units = [[0], [1], [2, 3, 4], [5], [6], [7], [8], [9], [10], [11]]
    expected = np.array(
        [[weights[np.ix_(row, column)].sum(axis=1).mean() for column in units] for row in units]
    )
    script = """layerOf(0).then((bytes) => {
        const data = { queries: mapsNow().queries, keys: mapsNow().keys, weights: headOf(bytes, 1) };
        const found = attention.matrix(data, { level: "words" });
        return [found.rows.map((unit) => unit.text), [...found.values]];
    })"""
    texts, values = window.evaluate(script)
    np.testing.assert_allclose(np.reshape(values, expected.shape), expected, atol=1e-6)
    assert texts[2] == "unbelievable"
    assert len({*WORD.tolist()} - {-1}) + 3 == len(texts)
    window.close()


def test_sentences_special_tokens_and_the_first_token_are_left_out(opened: Opened) -> None:
    window = opened()
    assert len(drawn(window, 0)) == len(PIECES)
    window.select_option("#view-filter", "0,1")
    assert drawn(window, 0)[:3] == ["[CLS]", "the", "un"]
    assert drawn(window, 0)[-1] == "[SEP]"
    assert drawn(window, 1)[0] == "שלום"
    assert len(drawn(window, 0)) + len(drawn(window, 1)) == len(PIECES)
    window.uncheck("#view-specials")
    assert len(drawn(window, 0)) == (SEGMENT == 0).sum()
    assert len(drawn(window, 1)) == (SEGMENT == 1).sum()
    assert window.locator("#view-left").is_visible()
    window.check("#view-specials")
    window.select_option("#view-filter", "all,all")
    window.uncheck("#view-sink")
    assert drawn(window, 0)[0] == "the"
    assert drawn(window, 0).count("[SEP]") == 2
    window.close()


def test_hostile_tokens_are_text_and_long_ones_are_cut(opened: Opened) -> None:
    window = opened()
    assert HOSTILE in drawn(window, 1)
    long = window.locator("#head-map .map-side-1 .map-token").nth(PIECES.index(LONG))
    assert long.text_content() == "a" * 40 + "…"
    assert long.get_attribute("title") == LONG
    assert window.locator("main i, main b").count() == 0
    assert window.locator("h1").inner_text() == "tiny/<i>model</i>"
    window.close()


def test_a_token_in_hand_tells_its_strongest_keys(opened: Opened) -> None:
    window = opened()
    weights = made_views.usual().maps[0].weights[0, 0]
    window.focus("#head-map .map-side-0 .map-token")
    window.keyboard.press("ArrowDown")
    window.keyboard.press("ArrowDown")
    best = int(weights[2].argmax())
    told = window.locator("#head-map .map-told")
    start = f"un attends most to {PIECES[best]} {weights[2, best] / 255:.2f}"
    assert told.inner_text().startswith(start)
    share = window.locator("#head-map .map-side-1 .map-token").nth(best)
    assert float(share.evaluate("e => e.style.getPropertyValue('--map-share')")) == pytest.approx(
        weights[2, best] / 255, abs=1e-3
    )
    window.keyboard.press("Enter")
    window.keyboard.press("ArrowRight")
    assert told.inner_text().startswith(start)
    window.keyboard.press("Escape")
    window.keyboard.press("ArrowUp")
    assert told.inner_text().startswith("the gets most from ")
    window.close()


def test_a_cell_of_the_heat_map_tells_its_weight(opened: Opened) -> None:
    window = opened()
    weights = made_views.usual().maps[0].weights[0, 0]
    window.select_option("#view-form", "heat")
    canvas = window.locator("#head-map canvas")
    canvas.hover(position={"x": 8 * 20 + 10, "y": 1 * 20 + 10})
    told = window.locator("#head-map .map-told").inner_text()
    assert told == f"the → 😀: {weights[1, 8] / 255:.2f}"
    until(window, "document.querySelector('#head-map canvas').width > 0")
    cells = [(3, 3), (7, 2), (10, 11)]
    script = """(canvas, cells) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return cells.map(([row, column]) => {
            const pixel = 4 * ((row * 20 + 9) * canvas.width + column * 20 + 9);
            return [...data.slice(pixel, pixel + 3)];
        });
    }"""
    shares = np.array([weights[cell] / 255 for cell in cells])
    expected = made_views.WHITE + shares[:, None] * (made_views.TONE - made_views.WHITE)
    drawn_cells = np.array(canvas.evaluate(script, cells))
    assert np.abs(drawn_cells - np.where(shares[:, None] > 0, expected, 0)).max() <= 1
    window.close()


def test_heads_are_switched_on_and_off_and_one_is_left(opened: Opened) -> None:
    window = opened()
    pressed = "#head-heads [aria-pressed='true']"
    window.click("#head-heads button >> nth=2")
    window.click("#head-heads button >> nth=3")
    assert window.locator(pressed).all_text_contents() == ["0", "2", "7"]
    assert "head 0, head 2, head 7" in str(window.get_attribute("#head-map canvas", "aria-label"))
    window.click("#head-only")
    assert window.locator(pressed).all_text_contents() == ["7"]
    window.click("#head-heads button >> nth=3")
    assert window.locator(pressed).all_text_contents() == ["7"]
    window.click("#head-all")
    assert window.locator(pressed).count() == 4
    window.dblclick("#head-heads button >> nth=1")
    assert window.locator(pressed).all_text_contents() == ["1"]
    window.close()


def test_the_table_behind_the_picture_has_three_keys_of_every_token(opened: Opened) -> None:
    window = opened()
    window.select_option("#head-layer", "1")
    window.click("#head-table summary")
    until(window, "document.querySelectorAll('#head-table tbody tr').length > 0")
    weights = made_views.usual().maps[0].weights[1, 0]
    rows = window.locator("#head-table tbody tr")
    assert rows.count() == len(PIECES)
    best = int(weights[4].argmax())
    assert rows.nth(4).locator("td").first.inner_text().endswith(f"{weights[4, best] / 255:.3f}")
    assert window.inner_text("#head-table-of") == "Layer 3, head 0."
    window.close()


def test_a_page_within_a_sandboxed_frame_works(opened: Opened) -> None:
    inner = html.escape(view_page(made_views.grouped(), "model"), quote=True)
    frame = (
        f'<!doctype html><title>notebook</title><iframe sandbox="allow-scripts" srcdoc="{inner}"></iframe>'
    )
    window = opened(text=frame)
    inside = window.frame_locator("iframe")
    inside.locator(".view-thumb").first.wait_for()
    inside.locator("#tab-neuron").click()
    inside.locator("#neuron-table tbody tr").first.wait_for()
    inside.locator("#tab-head").click()
    assert inside.locator("#head-map .map-token").count() == 14
    window.close()


def test_printing_shows_the_whole_picture_in_light_colours(opened: Opened) -> None:
    window = opened("long", scheme="dark")
    window.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert window.evaluate("parseFloat(document.querySelector('#head-map canvas').style.height)") == 90 * 22
    tone = "getComputedStyle(document.body).getPropertyValue('--tone-0')"
    printed = window.evaluate(tone)
    window.evaluate("dispatchEvent(new Event('afterprint'))")
    assert (printed, window.evaluate(tone)) == ("#0063a8", "#6cb4ee")
    assert window.evaluate("parseFloat(document.querySelector('#head-map canvas').style.height)") < 900
    window.close()


def test_printed_lines_end_at_their_tokens_and_the_picture_stays_on_one_sheet(opened: Opened) -> None:
    window = opened("long", width=400)
    window.click("#head-heads button >> nth=2")
    window.uncheck("#view-sink")
    window.evaluate("dispatchEvent(new Event('beforeprint'))")
    window.set_viewport_size({"width": 700, "height": 900})
    window.emulate_media(media="print")
    widths = [
        window.locator(f"#head-map .map-{part}").evaluate("e => e.clientWidth")
        for part in ("canvas", "field")
    ]
    assert widths[0] == widths[1] > 300
    assert window.locator("#head-map .map-box").evaluate("e => e.getBoundingClientRect().height") < 900
    assert window.inner_text("#view-printed") == "layer 2; heads 0, 2; without the first token"
    window.emulate_media(media="screen")
    window.evaluate("dispatchEvent(new Event('afterprint'))")
    assert window.locator("#head-map .map-box").evaluate("e => e.style.zoom") == ""
    assert window.locator("#view-printed").is_hidden()
    window.close()


def test_printing_draws_every_head_at_once_in_light_colours(opened: Opened) -> None:
    window = opened("usual", "#model", width=120, scheme="dark")
    until(window, "mapsNow().layers.every((_, layer) => layerHeld(layer))")
    strongest = """modelView.tiles().map(({ firstChild: canvas }) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        let best = 3;
        for (let pixel = 3; pixel < data.length; pixel += 4) if (data[pixel] > data[best]) best = pixel;
        return data[best] ? [...data.slice(best - 3, best)] : [];
    })"""
    assert window.evaluate("modelView.tiles().some((button) => !button.drawn)")  # not all have come near
    printed = window.evaluate(f"(() => {{ dispatchEvent(new Event('beforeprint')); return {strongest}; }})()")
    window.evaluate("dispatchEvent(new Event('afterprint'))")
    light = np.array([made_views.TONE, (0xB5, 0x48, 0x0A), (0x00, 0x75, 0x5A), made_views.TONE_7])
    assert np.abs(np.array(printed) - np.tile(light, (3, 1))).max() <= 6
    window.close()


def test_an_address_that_names_no_view_opens_the_first(opened: Opened) -> None:
    window = opened("usual", "#toString")
    assert window.locator("[role='tab'][aria-selected='true']").inner_text() == "Heads"
    window.close()


@pytest.mark.slow
def test_512_tokens_of_72_heads_open_switch_and_scroll(opened: Opened) -> None:
    window = opened("large")
    assert len(drawn(window, 0)) == 512
    window.click("#head-all")
    window.select_option("#head-layer", "4")
    label = "document.querySelector('#head-map canvas').getAttribute('aria-label')"
    until(window, f"{label}.startsWith('Layer 4, head 0, head 1')")
    window.evaluate("document.querySelector('.map-box').scrollTo(0, 5000)")
    until(window, "document.querySelector('#head-map canvas').getBoundingClientRect().top > 0")
    assert window.evaluate("document.querySelector('#head-map canvas').height") < 2000
    window.focus("#head-map .map-side-0 .map-token >> nth=300")
    weights = made_views.large().maps[0].weights[4, 0, 300]
    assert f"head 0: token{weights.argmax()} {weights.max() / 255:.2f}" in window.inner_text(
        "#head-map .map-told"
    )
    window.close()
