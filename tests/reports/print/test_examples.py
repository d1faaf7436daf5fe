"""Example heads in rows: which are chosen, what is coloured, and how they are written."""

import re
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from headroles.records.example import Example, Scores
from headroles.records.findings import Labelling
from headroles.records.kept_maps import KeptMaps, TypicalInput
from headroles.records.rules.rule import Decision, Rule
from headroles.reports.print.dress import dress_for_print
from headroles.reports.print.examples import SVG, examples
from headroles.reports.print.files import files_of
from headroles.reports.summary.summary import summarise
from headroles.reports.views.examples import (
    GREY,
    MOST_ROLES,
    MOST_ROWS,
    chosen_examples,
    example_panel,
)
from headroles.stats.engine import judge
from tests.support.browser import CHROMIUM

LOUD = '<b>&"'
RED = "#a3243b"


def _example(words: int, specials: bool = True) -> Example:
    tokens = tuple(f"w{number}" for number in range(words))
    if not specials:
        return Example("plain", tokens)
    segment = np.array([-1, *[0] * words, -1])
    return Example("marked", ("[CLS]", *tokens, "[SEP]"), segment=segment)


def _kept(example: Example, cells: dict[tuple[int, int], int], name: str = "local") -> KeptMaps:
    """One kept map with weights at some cells, which the role counts."""
    weights = np.zeros((example.size,) * 2, dtype=np.uint8)
    for cell, weight in cells.items():
        weights[cell] = weight
    counted = weights > 0
    weights[1, 1] = max(int(weights[1, 1]), 30)  # what the role does not count
    exhibit = TypicalInput(name, 0, 0, 1, 0.5, 0)
    return KeptMaps(
        (example,), np.array([[0, 0, 0]]), (weights,), (exhibit,), 0, 9, counted={(0, name): counted}
    )


def _lines(parts: tuple[str, ...], colour: str) -> int:
    """Return the number of lines in the group of a colour."""
    text = "".join(parts)
    (group,) = re.findall(
        f'<g role="group" aria-label="[^"]*" stroke="{colour}"[^>]*>(.*?)</g>', text, flags=re.DOTALL
    )
    return int(group.count("<line "))


def test_what_a_role_counts_is_coloured_and_the_rest_is_grey() -> None:
    kept = _kept(_example(4), {(2, 3): 200, (3, 2): 100})
    panel = example_panel(kept, kept.exhibits[0], RED)
    assert (_lines(panel.parts, RED), _lines(panel.parts, GREY)) == (2, 1)
    text = "".join(panel.parts)
    assert len(re.findall(f'fill="{RED}">w[12]<', text)) == 4
    assert "[CLS]" not in text
    assert "“w1” to “w2”, 0.78" in panel.description


def test_special_tokens_are_drawn_where_the_role_counts_them() -> None:
    kept = _kept(_example(4), {(2, 0): 200})
    assert "[CLS]" in "".join(example_panel(kept, kept.exhibits[0], RED).parts)


def test_words_have_no_colour_where_most_of_them_would_have_it() -> None:
    kept = _kept(_example(4), {(number, number + 1): 90 for number in range(1, 4)})
    text = "".join(example_panel(kept, kept.exhibits[0], RED).parts)
    assert not re.findall(f'fill="{RED}">w', text)


def test_of_a_long_input_the_stretch_is_drawn_in_which_the_role_counts_most() -> None:
    kept = _kept(_example(60, specials=False), {(40, 41): 250, (50, 49): 250, (3, 4): 100})
    panel = example_panel(kept, kept.exhibits[0], RED)
    text = "".join(panel.parts)
    assert ">w40<" in text
    assert ">w50<" in text
    assert ">w3<" not in text
    assert len(re.findall(r">w\d", text)) == 2 * MOST_ROWS
    assert f"words 37–{36 + MOST_ROWS} of 60" in text


def test_attention_between_two_far_stretches_is_drawn_between_them() -> None:
    kept = _kept(_example(60, specials=False), {(5, 50): 250, (6, 52): 250, (30, 31): 60})
    text = "".join(example_panel(kept, kept.exhibits[0], RED).parts)
    assert text.count(">w5<") == text.count(">w50<") == 1
    assert _lines((text,), RED) == 2
    assert re.search(r"words \d+–\d+ → \d+–\d+ of 60", text)


def test_an_input_without_a_word_has_a_panel() -> None:
    example = Example("bare", ("[CLS]", "[SEP]"), segment=np.array([-1, -1]))
    exhibit = TypicalInput("local", 0, 0, 1, 0.5, 0)
    none = np.zeros((2, 2), dtype=np.bool_)
    kept = KeptMaps(
        (example,), np.array([[0, 0, 0]]), (np.full((2, 2), 127, np.uint8),), (exhibit,), 0, 9,
        counted={(0, "local"): none},
    )  # fmt: skip
    assert "<line " not in "".join(example_panel(kept, exhibit, RED).parts)


def test_folders_from_before_cells_were_kept_show_all_lines_in_the_colour_of_the_role() -> None:
    kept = replace(_kept(_example(4), {(2, 3): 200}), counted={})
    panel = example_panel(kept, kept.exhibits[0], RED)
    assert (_lines(panel.parts, RED), _lines(panel.parts, GREY)) == (2, 0)


def _run(names: tuple[str, ...], level: np.ndarray, exhibits: tuple[TypicalInput, ...]) -> Labelling:
    """Forty inputs with scores around a level for each sieve, layer and head, and one kept map for each."""
    chance = np.random.default_rng(3)
    values = level[:, None] + chance.normal(0, 0.05, size=(len(names), 40, *level.shape[1:]))
    keys = tuple(f"e{number}" for number in range(40))
    shape = values.shape[:2]
    scores = Scores(
        names, keys, keys, np.full(40, 5), np.full(shape, 3.0), values.astype(np.float32), np.zeros(shape)
    )
    findings = judge(scores, [Rule(name, low=-1.0, high=1.0) for name in names], Decision())
    example = Example("marked", ("[CLS]", "it", LOUD, "rains", "[SEP]"), segment=np.array([-1, 0, 0, 0, -1]))
    places = sorted({(0, exhibit.layer, exhibit.head) for exhibit in exhibits})
    weights = tuple(np.full((5, 5), 40 + 10 * number, dtype=np.uint8) for number in range(len(places)))
    listed = tuple(
        replace(exhibit, map=places.index((0, exhibit.layer, exhibit.head))) for exhibit in exhibits
    )
    kept = KeptMaps((example,), np.array(places), weights, listed, 0, 99)
    return Labelling(scores, findings, Decision(), {"task": "QNLI"}, exhibited=kept)


@pytest.fixture(scope="module")
def run() -> Labelling:
    """Two directions of a question and a role; head 0-1 is the strongest of the last."""
    names = ("dependency:det:→", "dependency:det:←", "local", "block")
    level = np.array([[[0.5, 0.3]], [[0.2, 0.7]], [[0.5, 0.6]], [[0.0, 0.0]]])
    exhibits = tuple(
        TypicalInput(name, 0, head, rank, 0.5, 0) for name in names for head in (0, 1) for rank in (1, 2)
    )
    return _run(names, level, exhibits)


def test_the_strongest_head_of_every_role_is_drawn_and_of_two_directions_the_stronger(
    run: Labelling,
) -> None:
    chosen = chosen_examples(run, summarise(run))
    assert [(role.sieve, exhibit.layer, exhibit.head, exhibit.rank) for role, exhibit in chosen] == [
        ("dependency:det:←", 0, 1, 1), ("local", 0, 1, 1)
    ]  # fmt: skip


def test_of_many_roles_those_furthest_above_their_thresholds_are_drawn_in_their_order() -> None:
    names = tuple(f"role-{number:02}" for number in range(MOST_ROLES + 3))
    means = np.linspace(0.9, 0.3, len(names))[::-1]
    exhibits = tuple(TypicalInput(name, 0, 0, 1, 0.5, 0) for name in names)
    found = _run(names, means[:, None, None], exhibits)
    assert [role.sieve for role, _ in chosen_examples(found, summarise(found))] == [*names[3:]]


def test_runs_without_kept_inputs_have_no_such_figure(run: Labelling) -> None:
    bare = replace(run, exhibited=None)
    assert examples(bare, summarise(bare), 183.0) is None
    silent = _run(("block",), np.zeros((1, 1, 2)), (TypicalInput("block", 0, 0, 1, 0.5, 0),))
    assert examples(silent, summarise(silent), 183.0) is None


def _drawn(run: Labelling, width: float = 183.0) -> go.Figure:
    figure = examples(run, summarise(run), width)
    assert figure is not None
    return dress_for_print(figure, width)


@pytest.mark.parametrize("width", [89.0, 183.0])
def test_as_svg_it_is_real_text_of_the_given_width_with_a_description(run: Labelling, width: float) -> None:
    drawn = _drawn(run, width)
    text = files_of({"examples": drawn}, "svg")["examples"].decode()
    assert text == drawn.layout.meta[SVG]
    assert f'width="{width:g}mm"' in text
    assert "&lt;b&gt;&amp;" in text
    assert "<b>" not in text
    assert "<desc>Head 0-1 looks from nouns to their determiners: score 0.50 on this input." in text


@pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Chromium")
@pytest.mark.parametrize(("form", "start"), [("pdf", b"%PDF"), ("png", b"\x89PNG")])
def test_other_forms_are_drawn_from_the_svg(run: Labelling, form: str, start: bytes) -> None:
    first, second = (files_of({"examples": _drawn(run)}, form)["examples"] for _ in range(2))
    assert first.startswith(start)
    assert first == second
