"""Contrasts are their formula, see through distance, and planted heads get their roles and no other."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles import Example, score
from headroles.arrays import selection_of
from headroles.records.example import Arc, Scores
from headroles.records.findings import Findings
from headroles.records.rules.rule import Decision
from headroles.sieves.weights.contrast import by_offset
from headroles.sieves.weights.reference import apply
from headroles.stats.engine import judge
from headroles.testing import made_example, planted
from tests.sieves.recipes import Recipe, recipes_of
from tests.support.reference import draws

MAIN = ("local", "delimiter", "block", "syntactic")
CONTRASTS = ("block:matched", "syntactic:matched", "syntactic:nsubj:matched", "syntactic:obj:matched")
ROLE, NOT = 0, 1

RELATIONS = ("nsubj", "obj", "amod", "advmod", "det", "punct")
few = settings(max_examples=draws(30))
recipes = recipes_of(RELATIONS, 8)


def _visible(size: int, causal: bool) -> np.ndarray:
    return np.tril(np.ones((size, size), dtype=np.bool_)) if causal else np.ones((size, size), dtype=np.bool_)


def _random_heads(rng: np.random.Generator, visible: np.ndarray, heads: int = 3) -> np.ndarray:
    cells = rng.gamma(rng.choice([0.05, 0.5, 5.0], size=(heads, 1, 1)), size=(heads, *visible.shape)) + 1e-12
    cells *= visible
    rows: np.ndarray = cells / cells.sum(axis=2, keepdims=True)
    return rows


# By plain loops, straight from the formula.


def _words_of(example: Example, rows: np.ndarray) -> tuple[list[int], np.ndarray, list[int]]:
    """Word attention: summed over pieces attended to, mean over pieces attending; and pieces per word."""
    names = sorted({int(word) for word in example.word if word >= 0})
    places = [np.flatnonzero(example.word == name) for name in names]
    between = np.array(
        [[rows[np.ix_(own, other)].sum(axis=1).mean() for other in places] for own in places]
    ).reshape(len(names), len(names))
    return names, between, [len(own) for own in places]


def _by_loops(name: str, example: Example, rows: np.ndarray) -> float:
    """The contrast of one head that sees every key."""
    if name == "block":
        units = range(example.size)
        text = example.segment
        between, pieces = rows, [1] * example.size
        room = {i: {j for j in units if text[i] >= 0 and text[j] >= 0} for i in units}
        counted = {i: {j for j in room[i] if text[i] == text[j]} for i in units}
        group = {i: int(text[i]) for i in units}
    else:
        names, between, pieces = _words_of(example, rows)
        units = range(len(names))
        wanted = name.partition(":")[2]
        arcs = {
            (arc.dependent, arc.head)
            for arc in example.arcs or ()
            if arc.relation != "punct" and (not wanted or arc.relation == wanted)
        }
        room = {i: {j for j in units if j != i} for i in units}
        counted = {i: {j for j in room[i] if (names[i], names[j]) in arcs} for i in units}
        group = dict.fromkeys(units, 0)
    mass: dict[int, float] = {}
    even: dict[int, float] = {}
    for i in units:
        for j in room[i]:
            mass[j - i] = mass.get(j - i, 0) + between[i][j]
            even[j - i] = even.get(j - i, 0) + pieces[j]
    profile = {d: mass[d] / even[d] for d in mass}
    kept = [i for i in units if counted[i] and counted[i] != room[i]]
    if not kept:
        return float("nan")
    total = 0.0
    for i in kept:
        q = 1 / sum(group[k] == group[i] for k in kept)
        m = sum(between[i][j] for j in room[i])
        base = sum(profile[k - i] * pieces[k] for k in room[i])
        for j in counted[i]:
            total += q * (between[i][j] - m * profile[j - i] * pieces[j] / base)
    return total


@few
@given(recipes)
def test_contrasts_are_the_formula_written_as_loops(recipe: Recipe) -> None:
    example, rng = recipe.made()
    heads = _random_heads(rng, _visible(example.size, False))
    found = score(heads[None], example)
    for column in CONTRASTS:
        name = column.removesuffix(":matched")
        wanted = [_by_loops(name, example, rows) for rows in heads]
        np.testing.assert_allclose(found[column][0], wanted, rtol=1e-9, atol=1e-10)


def test_the_contrast_of_five_words_is_that_worked_out_by_hand() -> None:
    # Three words of one piece each; the arc is 0 -> 2. R leaves out the word itself.
    # Attention within R: 0: 0.2 on 1, 0.6 on 2; 1: 0.3 on 0, 0.3 on 2; 2: 0.1 on 0, 0.4 on 1.
    # f(1) = (0.2 + 0.3) / 2 = 0.25; f(2) = 0.6. E_02 = 0.8 * 0.6 / (0.25 + 0.6).
    rows = np.array(
        [
            [0.2, 0.2, 0.2, 0.2, 0.2],
            [0.1, 0.1, 0.2, 0.6, 0.0],
            [0.2, 0.3, 0.1, 0.3, 0.1],
            [0.1, 0.1, 0.4, 0.3, 0.1],
            [0.2, 0.2, 0.2, 0.2, 0.2],
        ]
    )
    place = np.array([-1, 0, 1, 2, -1])
    example = Example(
        "five", tuple("[abc]"), segment=np.minimum(place, 0), word=place, arcs=(Arc(0, 2, "obj"),)
    )
    found = score(rows[None, None], example, ["syntactic"])["syntactic:matched"].item()
    assert found == pytest.approx(0.6 - 0.48 / 0.85, abs=1e-12)


def test_offsets_of_the_contrast_skip_words_without_a_token() -> None:
    rows = np.random.default_rng(0).dirichlet(np.ones(7), size=(3, 7))
    found = []
    for words in ([-1, 0, 1, 3, 4, 5, -1], [-1, 0, 1, 2, 3, 4, -1]):  # "can" and "not" of "cannot", or "can"
        place = np.array(words)
        arcs = (Arc(words[2], words[4], "aux"), Arc(words[5], words[3], "obj"), Arc(words[1], words[2], "x"))
        example = Example("x", tuple("[abcde]"), segment=np.minimum(place, 0), word=place, arcs=arcs)
        found.append(score(rows[None], example, ["syntactic"]))
    np.testing.assert_array_equal(found[0]["syntactic:matched"], found[1]["syntactic:matched"])
    np.testing.assert_array_equal(found[0]["syntactic"], found[1]["syntactic"])


def test_the_block_contrast_of_four_tokens_is_that_worked_out_by_hand() -> None:
    # Texts ab and c, one token apart from each other by a separator: offsets 0 (aa, bb, cc), 1 (ab), -1 (ba),
    # 3 (ac), 2 (bc), -3 (ca), -2 (cb). f(0) = (0.2 + 0.4 + 0.6) / 3 = 0.4, f(1) = 0.3, f(3) = 0.1,
    # f(-1) = 0.1, f(2) = 0.2, f(-2) = 0.2, f(-3) = 0.1; rows on R: 0.6, 0.7, 0.9.
    # E own: a 0.6 * 0.7 / 0.8, b 0.7 * 0.5 / 0.7, c 0.9 * 0.4 / 0.7; A own: a 0.5, b 0.5, c 0.6.
    # Both texts weigh one, so the queries of ab weigh a half each.
    rows = np.zeros((6, 6))
    rows[:, 0] = 1
    rows[1] = [0.4, 0.2, 0.3, 0.0, 0.1, 0.0]
    rows[2] = [0.2, 0.1, 0.4, 0.1, 0.2, 0.0]
    rows[4] = [0.1, 0.1, 0.2, 0.0, 0.6, 0.0]
    example = Example("four", tuple("[ab|c]"), segment=np.array([-1, 0, 0, -1, 1, -1]))
    expected = [0.42 / 0.8, 0.5, 0.36 / 0.7]
    wanted = ((0.5 - expected[0]) + (0.5 - expected[1])) / 2 + (0.6 - expected[2])
    found = score(rows[None, None], example, ["block"])["block:matched"].item()
    assert found == pytest.approx(wanted, abs=1e-12)


@few
@given(recipes, st.booleans())
def test_no_attention_contrasts_beyond_the_bounds(recipe: Recipe, causal: bool) -> None:
    example, rng = recipe.made()
    visible = _visible(example.size, causal)
    selection = selection_of(None)
    plan = selection.plan(example, visible, np.float64)
    scores = apply(plan, _random_heads(rng, visible, 20))
    for column, name in enumerate(selection.columns):
        if name.endswith(":matched"):
            assert np.isnan(plan.low[column]) == np.isnan(scores[column]).all()
            assert not (np.abs(scores[column]) > plan.high[column] + 1e-9).any()
            assert not plan.low[column] > -plan.high[column] + 1e-12


def test_pairs_of_one_offset_share_a_column() -> None:
    pairs = np.arange(9.0).reshape(1, 3, 3)
    shifted = by_offset(pairs, np.arange(3))[0]
    for query in range(3):
        for offset in range(-2, 3):
            inside = 0 <= query + offset < 3
            assert shifted[query, offset + 2] == (pairs[0, query, query + offset] if inside else 0)


# Distance alone.


def _at_token_offset(example: Example, offset: int, visible: np.ndarray) -> np.ndarray:
    """All attention at one offset; on the first token where that is outside."""
    rows = np.zeros((example.size, example.size))
    for i in range(example.size):
        j = i + offset
        rows[i, j if 0 <= j < example.size and visible[i, j] else 0] = 1
    return rows


def _at_word_offset(rng: np.random.Generator, example: Example, offset: int) -> np.ndarray:
    """All attention on the pieces of the word at one offset, in any shares; else on the first token."""
    rows = np.zeros((example.size, example.size))
    for i in range(example.size):
        pieces = np.flatnonzero((example.word == example.word[i] + offset) & (example.word[i] >= 0))
        if pieces.size:
            rows[i, pieces] = rng.dirichlet(np.ones(len(pieces)))
        else:
            rows[i, 0] = 1
    return rows


@few
@given(recipes, st.integers(-4, 4), st.booleans())
def test_a_head_at_one_token_offset_has_no_block_contrast(recipe: Recipe, offset: int, causal: bool) -> None:
    example, _ = replace(recipe, specials=True).made()
    visible = _visible(example.size, causal)
    rows = _at_token_offset(example, offset, visible)
    found = score(rows[None, None], example, ["block"], visible=visible)["block:matched"]
    assert np.isnan(found).all() or np.abs(found).max() <= 1e-12


@few
@given(recipes, st.integers(-4, 4).filter(bool))
def test_a_head_at_one_word_offset_has_no_syntactic_contrast(recipe: Recipe, offset: int) -> None:
    example, rng = replace(recipe, specials=True).made()
    rows = _at_word_offset(rng, example, offset)
    for name, value in score(rows[None, None], example).items():
        if name.startswith("syntactic") and name.endswith(":matched"):
            assert np.isnan(value).all() or np.abs(value).max() <= 1e-12


@few
@given(recipes)
def test_attention_off_the_compared_keys_only_scales_the_contrast(recipe: Recipe) -> None:
    example, rng = replace(recipe, specials=True).made()
    rows = _random_heads(rng, _visible(example.size, False), 1)[0]
    parked = rows / 2
    parked[:, -1] += 0.5
    whole, half = (score(each[None, None], example) for each in (rows, parked))
    for name in CONTRASTS:
        np.testing.assert_allclose(half[name], whole[name] / 2, rtol=1e-7, atol=1e-10)


# Planted heads, scored and judged.


def _found(
    examples: Sequence[Example],
    kinds: Sequence[str],
    sieves: Sequence[str],
    rng: np.random.Generator | None,
    mixed: float = 1.0,
) -> Mapping[str, Mapping[str, int]]:
    """The decision for each kind of planted head (heads of one layer) under each sieve."""
    selection = selection_of(list(sieves))
    values, low, high = [], [], []
    for example in examples:
        heads = np.stack([mixed * planted(example, kind, rng) for kind in kinds])
        if mixed < 1:
            heads += (1 - mixed) * planted(example, "decaying", rng)
        plan = selection.plan(example, None, np.float64)
        values.append(apply(plan, heads))
        low.append(plan.low)
        high.append(plan.high)
    stacked = np.stack(values, axis=1)[:, :, None].astype(np.float32)
    count = len(examples)
    names = tuple(f"{k}" for k in range(count))
    scores = Scores(
        sieves=selection.columns,
        examples=names,
        units=names,
        tokens=np.array([example.size for example in examples]),
        cells=np.full(stacked.shape[:2], 1.0),
        values=stacked,
        null=np.zeros(stacked.shape[:2]),
    )
    rules = [
        replace(rule, low=float(np.fmin.reduce(low)[k]), high=float(np.fmax.reduce(high)[k]))
        for k, rule in enumerate(selection.rules())
    ]
    return _named(judge(scores, rules, Decision()), kinds)


def _named(found: Findings, kinds: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
    return {
        kind: {name: int(found.decision[found.of(name), 0, head]) for name in found.roles}
        for head, kind in enumerate(kinds)
    }


def _roles(decisions: Mapping[str, int]) -> set[str]:
    return {name for name, code in decisions.items() if code == ROLE}


@cache
def _made(count: int) -> list[Example]:
    rng = np.random.default_rng(count)
    return [made_example(rng, words=int(rng.integers(6, 25)), key=f"made/{k}") for k in range(count)]


NOISE = [pytest.param(False, id="clean"), pytest.param(True, id="noisy")]


@pytest.mark.parametrize("noisy", NOISE)
def test_planted_heads_get_their_roles_and_no_other(noisy: bool) -> None:
    rng = np.random.default_rng(0) if noisy else None
    kinds = ("even", "next", "previous", "separator", "own text", "arcs")
    found = _found(_made(150), kinds, MAIN, rng)
    assert _roles(found["even"]) == set()
    assert _roles(found["next"]) == {"local"}
    assert _roles(found["previous"]) == {"local"}
    assert _roles(found["separator"]) == {"delimiter"}
    assert "block" in _roles(found["own text"])
    assert not {"local", "delimiter", "syntactic"} & _roles(found["own text"])
    assert {"syntactic", "block", "local"} == _roles(found["arcs"])


def test_even_attention_is_a_not_on_every_main_sieve() -> None:
    found = _found(_made(128), ["even"], MAIN, None)["even"]
    assert set(found.values()) == {NOT}


def test_the_arcs_of_one_relation_are_found_beneath_a_decaying_head() -> None:
    sieves = ("syntactic:nsubj", "syntactic:obj", "syntactic")
    found = _found(_made(150), ["arcs"], sieves, np.random.default_rng(1), mixed=0.5)
    assert _roles(found["arcs"]) == set(sieves)


@pytest.mark.parametrize("noisy", NOISE)
def test_heads_of_distance_separators_and_position_are_neither_block_nor_syntactic(noisy: bool) -> None:
    # At 1,000 examples a bias of 0.001 would be significant: only the margins of the contrasts hold it back.
    rng = np.random.default_rng(2) if noisy else None
    found = _found(
        _made(1000), ("decaying", "separator-pulled", "late positions"), ("block", "syntactic"), rng
    )
    for kind, decisions in found.items():
        assert _roles(decisions) == set(), kind


# The same on real layouts and trees.


@pytest.fixture(scope="module")
def sentences(shared: Path) -> list[Example]:
    """Sentences of EWT dev with at least five words, one token a word, two neighbours to an example."""
    from headroles.extraction.texts.conllu import read_conllu

    passages = read_conllu(shared / "data" / "ud_english_ewt" / "en_ewt-ud-dev.conllu.gz", "EWT")
    trees = [passage.words[0] for passage in passages if passage.words and len(passage.words[0].heads) >= 5]
    made = []
    for first, second in zip(trees[::2], trees[1::2], strict=False):
        arcs, base = [], 0
        for tree in (first, second):
            arcs += [
                Arc(base + dependent, base + int(head), relation)
                for dependent, (head, relation) in enumerate(zip(tree.heads, tree.relations, strict=True))
                if head >= 0
            ]
            base += len(tree.heads)
        lengths = (len(first.heads), len(second.heads))
        made.append(replace(_pair(*lengths), arcs=tuple(arcs)))
    return made


@pytest.fixture(scope="module")
def questions(shared: Path) -> list[Example]:
    """Question and sentence of QNLI dev, one token a word."""
    with (shared / "data" / "glue" / "QNLI" / "dev.tsv").open(encoding="utf-8") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [_pair(len(row["question"].split()), len(row["sentence"].split())) for row in rows][:1000]


def _pair(first: int, second: int) -> Example:
    segment = np.array([-1, *[0] * first, -1, *[1] * second, -1])
    word = np.where(segment < 0, -1, np.cumsum(segment >= 0) - 1)
    tokens = tuple(f"t{k}" for k in range(len(segment)))
    return Example(f"{first}+{second}", tokens, segment=segment, word=word)


def test_planted_heads_get_their_roles_on_real_trees(sentences: list[Example]) -> None:
    kinds = ("even", "next", "previous", "separator", "own text", "arcs")
    found = _found(sentences[:200], kinds, MAIN, np.random.default_rng(3))
    assert _roles(found["even"]) == set()
    assert _roles(found["next"]) == {"local"}
    assert _roles(found["previous"]) == {"local"}
    assert _roles(found["separator"]) == {"delimiter"}
    assert _roles(found["own text"]) == {"block"}
    assert {"syntactic", "block", "local"} == _roles(found["arcs"])


@pytest.mark.parametrize("relation", ["nsubj", "obj", "amod", "advmod", "det", "case", "compound"])
def test_next_word_heads_follow_no_relation_of_real_trees(sentences: list[Example], relation: str) -> None:
    # A next-token head is det, case or amod in most runs when arcs are only compared with other pairs.
    found = _found(
        sentences[:300], ("next", "previous", "arcs"), [f"syntactic:{relation}"], np.random.default_rng(4)
    )
    assert _roles(found["next"]) == _roles(found["previous"]) == set()
    assert _roles(found["arcs"]) == {f"syntactic:{relation}"}


def test_distance_separators_and_position_are_no_roles_on_real_trees(sentences: list[Example]) -> None:
    found = _found(
        sentences,
        ("decaying", "separator-pulled", "late positions"),
        ("block", "syntactic", "syntactic:det", "syntactic:case"),
        np.random.default_rng(5),
    )
    for kind, decisions in found.items():
        assert _roles(decisions) == set(), kind


def test_planted_heads_get_their_roles_on_real_pairs(questions: list[Example]) -> None:
    kinds = ("even", "next", "previous", "separator", "own text")
    found = _found(questions[:128], kinds, ("local", "delimiter", "block"), np.random.default_rng(6))
    assert [_roles(found[kind]) for kind in kinds] == [set(), {"local"}, {"local"}, {"delimiter"}, {"block"}]


def test_distance_separators_and_position_are_no_block_on_real_pairs(questions: list[Example]) -> None:
    kinds = ("decaying", "separator-pulled", "late positions", "even")
    found = _found(questions, kinds, ["block"], np.random.default_rng(7))
    assert [_roles(found[kind]) for kind in kinds] == [set()] * 4
