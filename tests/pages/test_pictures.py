"""Static pictures of attention: lines, heat maps and shaded texts against numpy, always well-formed."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from headroles.records import Example, KeptMaps, Maps, Rule, TypicalInput
from headroles.reports import figures_of, files_of, view_svg
from tests.support.made_runs import made_run
from tests.support.made_views import maps_of, plain
from tests.support.pages import parts_of, small_page

SVG = "{http://www.w3.org/2000/svg}"
ODD = ('<script>alert("1")</script>', "a&b</text>", "\u202eabc\x00\x1b", "😀", "x" * 10_000, "", "]]>")
FAINTEST = 0.01
"""Smallest weight that is drawn as a line."""


def _example(*tokens: str) -> Example:
    """Return one text between special tokens; the second and third token are one word."""
    tokens = tokens or ("it", "rain", "##s", "here")
    word = [0, 1, 1, *range(2, len(tokens) - 1)][: len(tokens)]
    return Example(
        "x",
        ("[CLS]", *tokens, "[SEP]"),
        segment=np.array([-1, *[0] * len(tokens), -1]),
        word=np.array([-1, *word, -1]),
    )


def _maps(text: Example, *, heads: int = 3, seed: int = 0) -> Maps:
    """Return two layers, 3 and 5, of random attention; heads count from 10."""
    rows = np.random.default_rng(seed).dirichlet(np.full(text.size, 0.3), size=(2, heads, text.size))
    numbers = tuple(range(10, 10 + heads))
    return Maps("self", (3, 5), numbers, text, text, np.rint(255 * rows).astype(np.uint8))


def tones() -> list[str]:
    """Return the colours of heads in the light theme of a page."""
    light = parts_of(small_page("label")).styles.partition("@media")[0]
    return re.findall(r"--tone-[0-7]: (#[0-9a-f]{6})", light)


def texts(svg: str) -> list[str]:
    """Return the texts of a picture."""
    return [entry.text or "" for entry in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def lines(svg: str) -> list[list[tuple[float, ...]]]:
    """Return ends and opacity of each line, head by head."""
    names = ("x1", "y1", "x2", "y2", "stroke-opacity")
    groups = [entry for entry in ElementTree.fromstring(svg).findall(f"{SVG}g") if entry.get("stroke")]
    return [[tuple(float(line.get(name, "")) for name in names) for line in group] for group in groups]


def rects(svg: str, tone: str) -> list[tuple[float, float, float]]:
    """Return place and opacity of every shaded rectangle in a colour, which its group may have."""
    found = []
    for group in ElementTree.fromstring(svg).iter():
        for rect in group.findall(f"{SVG}rect"):
            if tone in (rect.get("fill"), group.get("fill")) and rect.get("fill-opacity"):
                x, y, opacity = (float(rect.get(name, "")) for name in ("x", "y", "fill-opacity"))
                found.append((x, y, opacity))
    return found


@pytest.mark.parametrize(("tokens", "heads"), [(1, 1), (4, 3), (9, 12)])
def test_every_weight_that_is_not_faint_is_a_line_as_opaque_as_it_is_strong(tokens: int, heads: int) -> None:
    maps = _maps(_example(*(f"w{k}" for k in range(tokens))), heads=heads, seed=tokens)
    for own, weights in zip(lines(view_svg([maps], [5], maps.heads)), maps.weights[1] / 255, strict=True):
        strong = np.sort(weights[weights >= FAINTEST])
        np.testing.assert_allclose([line[4] for line in own], strong, rtol=0, atol=6e-4)
        assert len({line[0] for line in own}) == len({line[2] for line in own}) == 1


def test_special_tokens_and_the_first_can_be_left_out_and_weights_stay() -> None:
    maps = _maps(_example())
    (own,) = lines(view_svg([maps], [3], [10], specials=False))
    inner = maps.weights[0, 0, 1:-1, 1:-1] / 255
    np.testing.assert_allclose([line[4] for line in own], np.sort(inner[inner >= FAINTEST]), atol=6e-4)
    assert "[SEP]" not in texts(view_svg([maps], [3], [10], specials=False))
    without = texts(view_svg([maps], [3], [10], sink=False))
    assert ("[CLS]" in without, "[SEP]" in without) == (False, True)
    bare = Example("x", ("[CLS]",), segment=np.array([-1]), special=np.array([True]))
    alone = Maps("self", (0,), (0,), bare, bare, np.full((1, 1, 1, 1), 255, dtype=np.uint8))
    assert lines(view_svg([alone], [0], [0], specials=False)) == [[]]


def test_a_heat_map_has_a_cell_for_every_weight_as_opaque_as_it_is_strong() -> None:
    maps = maps_of(plain("abcde"))
    weights = maps.weights[1, 2]
    cells = rects(view_svg([maps], [3], [2], form="heat"), tones()[2])
    left, top = min(x for x, _, _ in cells), min(y for _, y, _ in cells)
    step = min(np.diff(sorted({x for x, _, _ in cells})))
    drawn = {(round((y - top) / step), round((x - left) / step)): opacity for x, y, opacity in cells}
    shown = np.argwhere(weights)
    assert {*drawn} == {(int(row), int(column)) for row, column in shown - shown.min(axis=0)}
    np.testing.assert_allclose(sorted(drawn.values()), np.sort(weights[weights > 0] / 255), atol=6e-4)


@pytest.mark.parametrize("token", [None, "c", "2"])
def test_a_text_is_shaded_by_the_attention_that_its_tokens_get(token: str | None) -> None:
    maps = maps_of(plain("abcde"))
    weights = maps.weights[0, 0] / 255
    got = weights.mean(axis=0) if token is None else weights[2]
    svg = view_svg([maps], [2], [0], form="text", token=token)
    opacities = np.array([opacity for _, _, opacity in rects(svg, tones()[0])])
    np.testing.assert_allclose(opacities / opacities.max(), got / got.max(), atol=2e-3)
    assert [text for text in texts(svg) if text in "abcde"] == list("abcde")
    assert f"full colour: {got.max():.2f} of the attention" in texts(svg)
    assert ("attention that each token gets" if token is None else "attention from “c”") in texts(svg)


@pytest.mark.parametrize("form", ["lines", "heat", "text"])
def test_hostile_and_long_tokens_are_text_within_a_closed_picture(form: str) -> None:
    maps = _maps(_example(*ODD), heads=2)
    svg = view_svg([maps], [3], maps.heads, form=form, width="89mm")
    assert svg == view_svg([maps], [3], maps.heads, form=form, width="89mm")
    shown = texts(svg)
    assert {ODD[0], ODD[1], "\u202eabc\ufffd\ufffd", "·"} <= {*shown}
    assert max(map(len, shown)) < 80
    tree = ElementTree.fromstring(svg)
    tags = {entry.tag.removeprefix(SVG) for entry in tree.iter()}
    assert tags <= {"svg", "title", "desc", "metadata", "rect", "path", "text", "g", "line"}
    assert not re.search(r"href|url\(|@import|https?://(?!www\.w3\.org/2000/svg)", svg)
    assert tree.get("role") == "img"
    assert [entry.tag for entry in tree[:2]] == [f"{SVG}title", f"{SVG}desc"]
    assert not [entry for entry in tree.iter() if entry.get("id")]  # two pictures fit on one page
    across, down = (float(side) for side in (tree.get("viewBox") or "").split()[2:])
    high = float((tree.get("height") or "").removesuffix("mm"))
    assert tree.get("width") == "89mm"
    assert 89 / high == pytest.approx(across / down, rel=1e-3)


# example heads of a run


def _picture(example: Example, cells: dict[tuple[int, int], int], *, counted: bool = True) -> str:
    """Return the picture of example heads of a run whose head 0-0 holds a role that counts some cells."""
    weights = np.zeros((example.size,) * 2, dtype=np.uint8)
    for cell, weight in cells.items():
        weights[cell] = weight
    own = weights > 0
    weights[1, 1] = max(int(weights[1, 1]), 30)  # what the role does not count
    exhibits = tuple(TypicalInput("local", 0, 0, rank, 0.5, 0) for rank in (1, 2))
    known = {(0, "local"): own} if counted else {}
    kept = KeptMaps((example,), np.array([[0, 0, 0]]), (weights,), exhibits, 0, 9, counted=known)
    values = 0.9 + np.random.default_rng(3).normal(0, 0.05, size=(1, 40, 1, 2))
    run = replace(made_run([Rule("local", low=-1.0, high=1.0)], values), exhibited=kept)
    svg: str = files_of({"examples": figures_of(run)["examples"]}, "svg")["examples"].decode()
    return svg


def _stroked(svg: str) -> dict[str, int]:
    """Return the number of lines by colour."""
    found = re.findall(
        r'<g role="group" aria-label="[^"]*" stroke="([^"]*)"[^>]*>(.*?)</g>', svg, flags=re.DOTALL
    )
    return {colour: part.count("<line ") for colour, part in found}


def test_what_a_role_counts_is_coloured_and_the_rest_is_grey() -> None:
    words = Example("x", ("[CLS]", "w0", "w1", "w2", "w3", "[SEP]"), segment=np.array([-1, 0, 0, 0, 0, -1]))
    svg = _picture(words, {(2, 3): 200, (3, 2): 100})
    ElementTree.fromstring(svg)
    assert sorted(_stroked(svg).values()) == [1, 2]
    (colour,) = [name for name, count in _stroked(svg).items() if count == 2]
    assert len(re.findall(f'fill="{colour}">w[12]<', svg)) == 4
    assert "[CLS]" not in svg
    assert "“w1” to “w2”, 0.78" in svg
    assert "[CLS]" in _picture(words, {(2, 0): 200})
    busy = _picture(words, {(number, number + 1): 90 for number in range(1, 4)})
    assert not re.findall(f'fill="{colour}">w', busy)
    assert _stroked(_picture(words, {(2, 3): 200}, counted=False))[colour] == 2


def test_of_a_long_input_the_stretch_is_drawn_in_which_the_role_counts_most() -> None:
    words = Example("plain", tuple(f"w{number}" for number in range(60)))
    svg = _picture(words, {(40, 41): 250, (50, 49): 250, (3, 4): 100})
    assert [f">w{number}<" in svg for number in (40, 50, 3)] == [True, True, False]
    far = _picture(words, {(5, 50): 250, (6, 52): 250, (30, 31): 60})
    assert far.count(">w5<") == far.count(">w50<") == 1
    assert 2 in _stroked(far).values()
