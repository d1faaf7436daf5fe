"""A layer's attention as a static picture: its lines against numpy, its text as text."""

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles.errors import BadInput, UnknownName
from headroles.records.example import Example
from headroles.records.view import CROSS, SELF, Maps
from headroles.reports.views.panels import TONES
from headroles.reports.views.svg import FAINTEST, view_svg
from headroles.reports.views.units import units_of, values_of

NAMESPACE = "{http://www.w3.org/2000/svg}"
HOSTILE = ('<script>alert("1")</script>', "a&b</text>", "\u202eabc\x00\x1b", "😀", "x" * 10_000, "", "]]>")
ROOT = Path(__file__).resolve().parents[3]


def _example(*tokens: str) -> Example:
    """One text between special tokens; the second and third token are one word."""
    tokens = tokens or ("it", "rain", "##s", "here")
    word = [0, 1, 1, *range(2, len(tokens) - 1)][: len(tokens)]
    return Example(
        "x",
        ("[CLS]", *tokens, "[SEP]"),
        segment=np.array([-1, *[0] * len(tokens), -1]),
        word=np.array([-1, *word, -1]),
    )


def _maps(queries: Example, keys: Example | None = None, *, heads: int = 3, seed: int = 0) -> Maps:
    """Two layers, 3 and 5, of random attention; heads count from 10."""
    other = queries if keys is None else keys
    shape = (2, heads, queries.size)
    rows = np.random.default_rng(seed).dirichlet(np.full(other.size, 0.3), size=shape)
    numbers = tuple(range(10, 10 + heads))
    kind = SELF if keys is None else CROSS
    return Maps(kind, (3, 5), numbers, queries, other, np.rint(255 * rows).astype(np.uint8))


def _lines(svg: str) -> list[list[tuple[float, ...]]]:
    """Ends and opacity of each line, head by head."""
    tree = ElementTree.fromstring(svg)
    groups = [each for each in tree.findall(f"{NAMESPACE}g") if each.get("stroke")]
    names = ("x1", "y1", "x2", "y2", "stroke-opacity")
    return [[tuple(float(line.get(name, "")) for name in names) for line in group] for group in groups]


def _texts(svg: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(svg).iter(f"{NAMESPACE}text")]


@settings(max_examples=25)
@given(seed=st.integers(0, 999), tokens=st.integers(1, 9), heads=st.integers(1, 12))
def test_every_weight_that_is_not_faint_is_one_line_as_opaque_as_it_is_strong(
    seed: int, tokens: int, heads: int
) -> None:
    maps = _maps(_example(*(f"w{k}" for k in range(tokens))), heads=heads, seed=seed)
    for own, weights in zip(_lines(view_svg([maps], [5], maps.heads)), maps.weights[1] / 255, strict=True):
        strong = np.sort(weights[weights >= FAINTEST])
        np.testing.assert_allclose([line[4] for line in own], strong, rtol=0, atol=6e-4)


def test_a_line_goes_from_the_row_of_its_query_to_the_row_of_its_key() -> None:
    maps = _maps(_example())
    (own,) = _lines(view_svg([maps], [3], [11]))
    top, step = min(line[1] for line in own), 17.0
    found = {(round((line[1] - top) / step), round((line[3] - top) / step)): line[4] for line in own}
    weights = maps.weights[0, 1] / 255
    assert found == {
        (int(q), int(k)): pytest.approx(weights[q, k], abs=6e-4) for q, k in np.argwhere(weights >= FAINTEST)
    }
    assert len({line[0] for line in own}) == len({line[2] for line in own}) == 1


def test_heads_of_one_pair_lie_side_by_side_and_differ_in_colour_or_dashes() -> None:
    maps = _maps(_example(), heads=20)
    tree = ElementTree.fromstring(view_svg([maps], [3], maps.heads))
    groups = [each for each in tree.findall(f"{NAMESPACE}g") if each.get("stroke")]
    assert len({(each.get("stroke"), each.get("stroke-dasharray")) for each in groups}) == 20
    assert {each.get("stroke") for each in groups} == set(TONES)
    legend = [text for text in _texts(view_svg([maps], [3], maps.heads)) if text.startswith("head ")]
    assert legend == [f"head {head}" for head in maps.heads]


def test_words_sum_over_what_is_attended_to_and_average_over_what_attends() -> None:
    maps = _maps(_example())
    units = units_of(maps.queries, "words", True, True)
    assert [unit.text for unit in units] == ["[CLS]", "it", "rains", "here", "[SEP]"]
    weights = maps.weights[0] / 255
    values = values_of(weights, units, units)
    assert values[0, 2, 2] == pytest.approx(weights[0][2:4, 2:4].sum(axis=1).mean())
    assert values[1, 0, 2] == pytest.approx(weights[1][0, 2:4].sum())
    np.testing.assert_allclose(values.sum(axis=2), _means(weights))
    (own,) = _lines(view_svg([maps], [3], [10], level="words"))
    assert len(own) == int((values[0] >= FAINTEST).sum())


def _means(weights: np.ndarray) -> np.ndarray:
    """Row sums of the five words."""
    sums = weights.sum(axis=2)
    return np.stack([sums[:, 0], sums[:, 1], sums[:, 2:4].mean(axis=1), sums[:, 4], sums[:, 5]], axis=1)


def test_special_tokens_and_the_first_can_be_left_out_and_weights_stay() -> None:
    maps = _maps(_example())
    (own,) = _lines(view_svg([maps], [3], [10], specials=False))
    inner = maps.weights[0, 0, 1:-1, 1:-1] / 255
    assert len(own) == int((inner >= FAINTEST).sum())
    assert sum(line[4] for line in own) == pytest.approx(inner[inner >= FAINTEST].sum(), abs=0.02)
    assert "[SEP]" not in _texts(view_svg([maps], [3], [10], specials=False))
    without = _texts(view_svg([maps], [3], [10], sink=False))
    assert ("[CLS]" in without, "[SEP]" in without) == (False, True)


def test_nothing_left_to_show_is_a_picture_without_lines() -> None:
    bare = Example("x", ("[CLS]",), segment=np.array([-1]), special=np.array([True]))
    maps = Maps(SELF, (0,), (0,), bare, bare, np.full((1, 1, 1, 1), 255, dtype=np.uint8))
    assert _lines(view_svg([maps], [0], [0], specials=False)) == [[]]


def test_cross_attention_has_the_decoder_left_and_the_encoder_right() -> None:
    queries, keys = _example("wer", "schlief"), _example("who", "slept", "here", "then", "?")
    maps = _maps(queries, keys)
    svg = view_svg([maps], [3], [10])
    texts = [text for text in _texts(svg) if not text.startswith(("layer", "head"))]
    assert texts == ["decoder, attending", *queries.tokens, "encoder, attended to", *keys.tokens]
    assert len(_lines(svg)[0]) == int((maps.weights[0, 0] / 255 >= FAINTEST).sum())


def test_hostile_text_is_text_and_long_text_is_cut() -> None:
    maps = _maps(_example(*HOSTILE))
    svg = view_svg([maps], [3], maps.heads)
    texts = _texts(svg)
    assert HOSTILE[0] in texts
    assert HOSTILE[1] in texts
    assert "\u202eabc\ufffd\ufffd" in texts
    assert "·" in texts
    assert max(map(len, texts)) == 29
    tags = {each.tag.removeprefix(NAMESPACE) for each in ElementTree.fromstring(svg).iter()}
    assert tags == {"svg", "title", "desc", "metadata", "rect", "path", "text", "g", "line"}
    assert not re.search(r"href|url\(|@import|https?://(?!www\.w3\.org/2000/svg)", svg)


def test_what_is_shown_is_said_in_a_title_and_a_description() -> None:
    maps = _maps(_example())
    tree = ElementTree.fromstring(view_svg([maps], [3], [10, 12]))
    assert tree.get("role") == "img"
    assert [each.tag for each in tree[:2]] == [f"{NAMESPACE}title", f"{NAMESPACE}desc"]
    assert not [each for each in tree.iter() if each.get("id")]  # two pictures fit on one page
    assert tree[0].text == "Attention of layer 3, heads 10, 12"
    query, key = np.unravel_index(int(maps.weights[0, 2].argmax()), maps.weights[0, 2].shape)
    pair = f"“{maps.queries.tokens[query]}” to “{maps.keys.tokens[key]}”"
    assert f"Strongest in head 12: {pair}, {maps.weights[0, 2].max() / 255:.2f}." in (tree[1].text or "")


@pytest.mark.parametrize("width", ["", "89mm", "640px"])
def test_the_width_is_what_was_asked_for_and_the_picture_keeps_its_shape(width: str) -> None:
    tree = ElementTree.fromstring(view_svg([_maps(_example())], [3], [10], width=width))
    across, down = (float(each) for each in (tree.get("viewBox") or "").split()[2:])
    wide, high = tree.get("width") or "", tree.get("height") or ""
    assert wide == (width or f"{across:g}px")
    assert wide[-2:] == high[-2:]
    assert float(wide[:-2]) / float(high[:-2]) == pytest.approx(across / down, rel=1e-3)


def test_all_of_it_lies_within_the_picture() -> None:
    tree = ElementTree.fromstring(view_svg([_maps(_example(*HOSTILE), heads=20)], [3], range(10, 30)))
    across, down = (float(each) for each in (tree.get("viewBox") or "").split()[2:])
    for each in tree.iter():
        for name, most in (("x", across), ("x1", across), ("x2", across), ("y", down), ("y2", down)):
            assert 0 <= float(each.get(name, 0)) <= most


def test_the_same_maps_give_the_same_bytes() -> None:
    one, two = (view_svg([_maps(_example(*HOSTILE))], [3], [10, 11]) for _ in range(2))
    assert one == two


def test_colours_are_those_of_the_report_on_a_light_ground() -> None:
    css = (ROOT / "reports" / "templates" / "shared" / "page.css").read_text().split("@media")[0]
    assert tuple(re.findall(r"--tone-[0-7]: (#[0-9a-f]{6})", css)) == TONES


@pytest.mark.parametrize(
    ("layer", "heads", "looks", "expected"),
    [
        (4, [10], {}, "this view holds the layers 3, 5, but layer 4 was given"),
        (3, [10, 2], {}, "this view holds the heads 10, 11, 12, but head 2 was given"),
        (3, [], {}, "but head none was given"),
        (3, [10], {"width": "wide"}, "a width is a number above 0 with its unit, such as 89mm or 640px"),
        (3, [10], {"width": "0mm"}, "but got '0mm'"),
    ],
)
def test_what_cannot_be_drawn_is_said(
    layer: int, heads: list[int], looks: dict[str, str], expected: str
) -> None:
    with pytest.raises(BadInput, match=re.escape(expected)):
        view_svg([_maps(_example())], [layer], heads, **looks)  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="no level is called 'word'; did you mean 'words'"):
        view_svg([_maps(_example())], [3], [10], level="word")
