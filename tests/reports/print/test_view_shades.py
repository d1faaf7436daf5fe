"""Heat maps and shaded texts of single heads, and several pictures in one SVG, against numpy."""

from xml.etree import ElementTree

import numpy as np
import pytest

from headroles.errors import BadInput, UnknownName
from headroles.records.example import Example
from headroles.records.view import SELF, Maps
from headroles.reports.views.panels import MOST, TONES
from headroles.reports.views.shades import CELL, STRONGEST
from headroles.reports.views.svg import MOST_CELLS, view_svg
from tests.support.made_views import HOSTILE, maps_of, pair, plain

SVG = "{http://www.w3.org/2000/svg}"


def rects(svg: str, tone: str) -> list[tuple[float, float, float]]:
    """Place and opacity of every shaded rectangle in a colour, which its group may have."""
    found = []
    for group in ElementTree.fromstring(svg).iter():
        for rect in group.findall(f"{SVG}rect"):
            if tone in (rect.get("fill"), group.get("fill")) and rect.get("fill-opacity"):
                found.append(tuple(float(rect.get(name, "")) for name in ("x", "y", "fill-opacity")))
    return found  # type: ignore[return-value]


def texts(svg: str) -> list[str]:
    return [entry.text or "" for entry in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_a_heat_map_has_a_cell_for_every_weight_as_opaque_as_it_is_strong() -> None:
    maps = maps_of(plain("abcde"))
    weights = maps.weights[1, 2]
    cells = rects(view_svg([maps], [3], [2], form="heat"), TONES[2])
    left, top = min(x for x, _, _ in cells), min(y for _, y, _ in cells)
    drawn = {(round((y - top) / CELL), round((x - left) / CELL)): opacity for x, y, opacity in cells}
    rows, columns = np.nonzero(weights)
    first = (rows.min(), columns.min())
    expected = {
        (int(row - first[0]), int(column - first[1])): pytest.approx(weights[row, column] / 255, abs=6e-4)
        for row, column in zip(rows, columns, strict=True)
    }
    assert drawn == expected


@pytest.mark.parametrize("token", [None, "c", "2"])
def test_a_text_is_shaded_by_the_attention_that_its_tokens_get(token: str | None) -> None:
    maps = maps_of(plain("abcde"))
    weights = maps.weights[0, 0] / 255
    got = weights.mean(axis=0) if token is None else weights[2]
    svg = view_svg([maps], [2], [0], form="text", token=token)
    opacities = [opacity for _, _, opacity in rects(svg, TONES[0])]
    np.testing.assert_allclose(opacities, STRONGEST * got / got.max(), atol=6e-4)
    assert [text for text in texts(svg) if text in "abcde"] == list("abcde")
    assert f"full colour: {got.max():.2f} of the attention" in texts(svg)
    whose = "attention that each token gets" if token is None else "attention from “c”"
    assert whose in texts(svg)


def test_layers_and_inputs_are_rows_of_one_picture_with_their_captions() -> None:
    both = [maps_of(plain("abc")), maps_of(plain("vwxyz"))]
    svg = view_svg(both, [2, 5], [0, 7], form="heat", captions=("a b c", HOSTILE))
    titles = [text for text in texts(svg) if text.startswith("layer")]
    assert titles == [f"layer {layer}, head {head}" for _ in both for layer in (2, 5) for head in (0, 7)]
    assert texts(svg).index("a b c") < texts(svg).index(HOSTILE)
    assert view_svg(both, [2, 5], [0, 7]).count("<g transform=") == 4
    assert svg == view_svg(both, [2, 5], [0, 7], form="heat", captions=("a b c", HOSTILE))
    assert 'width="89mm"' in view_svg(both, [2], [0], form="text", width="89mm")


def test_hostile_and_long_tokens_stay_text_in_every_form() -> None:
    for form in ("heat", "text"):
        svg = view_svg([maps_of(pair())], [2], [0, 1], form=form)
        assert HOSTILE in texts(svg)
        assert max(map(len, texts(svg))) < 80
        tags = {entry.tag.removeprefix(SVG) for entry in ElementTree.fromstring(svg).iter()}
        assert tags <= {"svg", "title", "desc", "metadata", "rect", "text", "g"}


def test_cross_attention_shades_the_text_attended_to() -> None:
    maps = maps_of(plain("xyz"), plain("abcde"), "cross")
    shown = texts(view_svg([maps], [2], [0], form="text", token="y"))
    assert [text for text in shown if len(text) == 1] == list("abcde")
    assert shown[0] == "cross, layer 2, head 0"


def test_pieces_of_a_word_stand_close_together_without_their_signs() -> None:
    example = Example("x", ("rain", "##s", "▁here"), word=np.array([0, 0, 1]))
    weights = np.full((1, 1, 3, 3), 85, dtype=np.uint8)
    maps = Maps(SELF, (0,), (0,), example, example, weights)
    svg = view_svg([maps], [0], [0], form="text")
    assert [text for text in texts(svg) if text in ("rain", "s", "here")] == ["rain", "s", "here"]
    xs = [x for x, _, _ in rects(svg, TONES[0])]
    widths = [float(each.get("width", "")) for each in ElementTree.fromstring(svg).iter(f"{SVG}rect")][1:]
    gaps = [xs[1] - xs[0] - widths[0], xs[2] - xs[1] - widths[1]]
    assert gaps == [pytest.approx(0, abs=0.02), pytest.approx(4, abs=0.02)]


def test_what_cannot_be_drawn_is_refused_in_one_sentence() -> None:
    maps = maps_of(plain("abc"))
    with pytest.raises(UnknownName, match="no form of an SVG is called 'dots'"):
        view_svg([maps], [2], [0], form="dots")
    with pytest.raises(BadInput, match="a token is for the text with shaded tokens"):
        view_svg([maps], [2], [0], form="heat", token="a")
    with pytest.raises(BadInput, match="but got '7'; the text has 'a', 'b' and 'c'"):
        view_svg([maps], [2], [0], form="text", token="7")
    with pytest.raises(BadInput, match=f"up to {MOST} pictures"):
        view_svg([maps] * 20, [2], [0, 1, 2, 7], form="heat")
    long = plain([f"t{number}" for number in range(MOST_CELLS + 1)])
    with pytest.raises(BadInput, match=f"up to {MOST_CELLS} tokens on a side"):
        view_svg([maps_of(long)], [2], [0], form="heat")
