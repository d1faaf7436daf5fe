"""Roles of a run on the page of a view: chips, order, coloured keys; isolated tokens, previews and lines."""

from collections.abc import Iterator

import numpy as np
import pytest

from tests.support import made_views
from tests.support.browser import Opened, until, view_windows
from tests.support.made_views import PIECES

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """Opens a page in a browser."""
    yield from view_windows(tmp_path_factory.mktemp("roles"))


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_every_view_with_roles_fits_and_has_no_serious_violation(
    opened: Opened, width: int, scheme: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    window = opened("with_roles", width=width, scheme=scheme, first=False)
    for tab, order in (("model", "role"), ("model", "number"), ("head", "role")):
        window.click(f"#tab-{tab}")
        window.select_option("#view-order", order)
        if tab == "model":
            window.focus(".view-thumb:visible >> nth=0")
            until(window, "!document.getElementById('model-preview').hidden")
        wide, seen = window.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide <= seen
        found = Axe().run(window).response["violations"]
        assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
    window.close()


def test_the_strongest_role_opens_with_its_keys_in_its_colour(opened: Opened) -> None:
    window = opened("with_roles", first=False)
    until(window, "roles.coloured()")
    assert window.input_value("#head-layer") == "1"
    assert window.locator("#head-heads [aria-pressed='true']").get_attribute("aria-label") == (
        "head 2, neighbours (±2), class token"
    )
    assert window.input_value("#view-keys") == "2"
    near = made_views.roles_of().keys[2]
    assert near is not None
    assert window.evaluate("[...roles.settings().own]") == near.astype(int).ravel().tolist()
    assert "neighbours (±2): role, mean 0.71" in window.inner_text("#head-roles")
    assert "adjective → noun: explained by distance, mean 0.42" in window.inner_text("#head-roles")
    assert "special" not in window.inner_text("#head-roles")  # the class token says more
    assert window.locator("#head-map .map").evaluate("e => e.style.getPropertyValue('--map-tone')") == (
        "var(--tone-12)"
    )
    window.close()


def test_keys_that_count_are_coloured_in_the_heat_map_and_others_are_grey(opened: Opened) -> None:
    window = opened("with_roles", first=False)
    until(window, "roles.coloured()")
    window.check("#view-specials")
    window.select_option("#view-form", "heat")
    until(window, "document.querySelector('#head-map canvas').width > 0")
    weights = made_views.usual().maps[0].weights[1, 2]
    script = """(canvas, places) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return places.map((place) => {
            const pixel = 4 * ((Math.floor(place / 12) * 20 + 9) * canvas.width + (place % 12) * 20 + 9);
            return data[pixel + 2] - data[pixel];
        });
    }"""
    near = made_views.roles_of().keys[2]
    assert near is not None
    places = [int(np.where(near == counted, weights, 0).argmax()) for counted in (True, False)]
    counted_blue, other_blue = window.locator("#head-map canvas").evaluate(script, places)
    assert counted_blue > 60 > other_blue
    window.close()


def test_a_role_about_special_tokens_shows_them_and_unknown_keys_cannot_be_chosen(opened: Opened) -> None:
    window = opened("with_roles", first=False)
    until(window, "roles.coloured()")
    assert not window.is_checked("#view-specials")
    window.select_option("#view-keys", "1")
    until(window, "document.getElementById('view-specials').checked")
    assert window.locator("#view-keys option").evaluate_all("all => all.map((each) => each.disabled)") == [
        False, True, False, False, False,
    ]  # fmt: skip
    window.select_option("#view-keys", "3")
    until(window, "document.getElementById('view-keys-key').textContent.includes('no keys of this role')")
    window.select_option("#view-keys", "")
    until(window, "document.getElementById('view-keys-key').hidden")
    window.close()


def test_heads_by_role_stand_once_under_the_rarest_and_the_strongest_is_first(opened: Opened) -> None:
    window = opened("with_roles", "#model", first=False)
    assert window.locator("#model-grid .view-thumb").count() == 12
    window.select_option("#view-order", "role")
    groups = window.locator(".view-group")
    assert [text.split("\n")[0] for text in groups.locator("h2").all_inner_texts()] == [
        "L neighbours (±2) 2 heads", "Dc class token 8 heads", "no role 2 heads",
    ]  # fmt: skip
    assert groups.nth(0).locator(".view-tiles .count").all_inner_texts() == ["3-2", "2-7"]
    assert window.locator(".view-tiles .view-thumb").count() == 12
    window.focus(".view-tiles .view-thumb >> nth=0")
    window.keyboard.press("ArrowRight")
    assert (
        window.evaluate("document.activeElement.getAttribute('aria-label')")
        == "layer 2, head 7, neighbours (±2)"
    )
    until(window, "document.getElementById('model-preview').innerText.includes('mean 0.33')")
    window.keyboard.press("Escape")
    assert window.locator("#model-preview").is_hidden()
    window.keyboard.press("Enter")
    assert window.locator("#panel-head").is_visible()
    numbers = window.locator("#head-heads button").evaluate_all("all => all.map((each) => each.place)")
    assert numbers == [3, 0, 1, 2]  # in layer 2: its local head before the sinks
    window.close()


def test_a_preview_stands_beside_its_tile(opened: Opened) -> None:
    window = opened("with_roles", "#model", first=False)
    for place in (0, 3):
        window.hover(f".view-thumb >> nth={place}")
        until(window, "!document.getElementById('model-preview').hidden")
        tile = window.locator(".view-thumb").nth(place).bounding_box()
        shown = window.locator("#model-preview").bounding_box()
        assert tile
        assert shown
        assert shown["x"] >= tile["x"] + tile["width"] or shown["x"] + shown["width"] <= tile["x"]
    window.close()


@pytest.mark.parametrize("by_keyboard", [False, True])
def test_a_token_is_isolated_in_every_picture_and_let_go(opened: Opened, by_keyboard: bool) -> None:
    window = opened()
    token = "#head-map .map-side-0 .map-token >> nth=1"
    if by_keyboard:
        window.focus(token)
        window.keyboard.press("Shift+Enter")
    else:
        window.dblclick(token)
    until(window, "document.querySelectorAll('#head-map .map-side-0 .map-token').length === 1")
    assert window.locator("#head-map .map-side-1 .map-token").count() == len(PIECES)
    assert window.evaluate("document.activeElement.textContent") == "the"
    assert window.inner_text("#view-only") == "Only “the” attends · show all"
    assert (
        window.evaluate(
            "attention.matrix({ ...mapsNow(), weights: new Uint8Array(144) }, settingsNow()).rows.length"
        )
        == 1
    )
    window.click("#tab-model")
    window.click("#view-only")
    window.click("#tab-head")
    until(window, f"document.querySelectorAll('#head-map .map-side-0 .map-token').length === {len(PIECES)}")
    assert window.locator("#view-only").is_hidden()
    window.close()


def test_strips_show_the_weight_of_every_head_beside_a_token(opened: Opened) -> None:
    window = opened()
    window.click("#head-all")
    window.focus("#head-map .map-side-0 .map-token >> nth=2")
    weights = made_views.usual().maps[0].weights[0, :, 2, 5] / 255
    strip = window.locator("#head-map .map-side-1 .map-token >> nth=5")
    text = str(strip.evaluate("e => e.style.getPropertyValue('--map-strip')"))
    for head, weight in zip((0, 1, 2, 7), weights, strict=True):
        assert f"var(--tone-{head}) {round(100 * weight)}%" in text
    assert window.locator("#head-map .map-side-0 .map-striped").count() == 0
    window.click("#head-only")
    window.focus("#head-map .map-side-0 .map-token >> nth=2")
    assert window.locator("#head-map .map-striped").count() == 0
    window.close()


def test_tokens_that_get_most_attention_are_left_out_at_first_and_it_is_said(opened: Opened) -> None:
    window = opened("sunk", first=False)
    assert not window.is_checked("#view-sink")
    assert window.is_checked("#view-specials")
    assert window.inner_text("#view-sink-share") == "gets 80 % of the attention"
    assert window.locator("#head-map .map-side-0 .map-token").first.inner_text() == "b"
    window.close()


def test_lines_join_a_query_to_every_key_as_strong_as_the_weight(opened: Opened) -> None:
    window = opened("grouped", "#neuron")
    window.click("#neuron-queries button >> nth=5")
    until(window, "document.querySelectorAll('#neuron-lines path').length > 0")
    maps = made_views.grouped().maps[0]
    weights = maps.weights[0, 0, 5] / 255
    drawn = window.locator("#neuron-lines path").evaluate_all(
        "all => all.map((each) => Number(each.getAttribute('stroke-opacity')))"
    )
    np.testing.assert_allclose(drawn, weights[weights > 0], atol=6e-4)
    window.focus("#neuron-table tbody button >> nth=0")
    window.keyboard.press("ArrowDown")
    neurons = maps.neurons
    assert neurons is not None
    product = neurons.query[0, 0, 5].astype(np.float16) * neurons.key[0, 0, 1].astype(np.float16)
    signs = window.locator("#neuron-dims rect").evaluate_all("all => all.map((each) => each.classList[0])")
    assert signs[8:16] == ["view-minus" if value < 0 else "view-plus" for value in product]
    assert "k of ▁t1 below" in window.inner_text("#neuron-dims-said")
    window.close()


def test_names_of_runs_are_text(opened: Opened) -> None:
    window = opened("with_roles", first=False)
    assert "runs/<b>x</b>" in window.inner_text("header")
    assert window.locator("header b").count() == 0
    window.close()
