"""The preset published gives the numbers of the released code."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroles.records.example import Arc, Cleaned, Example, Pair
from headroles.sieves.built_in import published
from headroles.stats.methods.closed_form import student_biased
from headroles.stats.moments import describe
from tests.support.word_attention import word_attention

Golden = tuple[dict[str, Any], dict[str, np.ndarray]]


@pytest.fixture(scope="module")
def golden(shared: Path) -> Golden:
    """Reference numbers, and the attention they were computed from."""
    with np.load(shared / "golden" / "published.npz") as arrays:
        tensors = {name: arrays[name] for name in arrays.files}
    return json.loads((shared / "golden" / "published.json").read_text()), tensors


def _example(*lengths: int) -> Example:
    segment = [-1]
    for text, length in enumerate(lengths):
        segment += [text] * length + [-1]
    return Example("golden", tuple(f"t{k}" for k in range(len(segment))), segment=np.array(segment))


def _layouts(numbers: dict[str, Any], kind: str) -> list[Example]:
    if kind == "single":
        return [_example(length) for length in numbers["single"]["len"]]
    return [_example(a, b) for a, b in zip(numbers["pair"]["len_a"], numbers["pair"]["len_b"], strict=True)]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (kind, name)
        for kind in ("pair", "single")
        for name in ("local", "delimiter", "delimiter_cls", "delimiter_sep")
    ]
    + [("pair", "block")],
)
def test_released_scores_of_masks_are_reproduced(golden: Golden, kind: str, name: str) -> None:
    numbers, tensors = golden
    rule = getattr(published, name)
    for k, example in enumerate(_layouts(numbers, kind)):
        n = example.size
        got = np.stack([rule.score(layer[:, :n, :n], example) for layer in tensors[f"{kind}_attention"][k]])
        np.testing.assert_allclose(got, numbers[kind]["scores"][name][k], rtol=0, atol=1e-9)


@pytest.mark.parametrize("direction", ["l2r", "r2l", "bi"])
def test_released_syntactic_scores_are_reproduced(golden: Golden, direction: str) -> None:
    numbers, tensors = golden
    sequences = numbers["pair"]["scores"]["syntactic_sents"]
    for k, sequence in enumerate(sequences):
        n = _layouts(numbers, "pair")[sequence].size
        pairs = [
            (pair["dependent"], pair["head"])
            for pair in numbers["pair"]["pairs"]
            if pair["sequence"] == sequence
        ]
        layers = tensors["pair_attention"][sequence][:, :, :n, :n]
        got = np.stack([published.pairs_rule(layer, pairs, direction) for layer in layers])
        wanted = numbers["pair"]["scores"][f"syntactic_{direction}"]
        row = sequence if len(wanted) > len(sequences) else k
        np.testing.assert_allclose(got, wanted[row], rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["pair", "single"])
@pytest.mark.parametrize("threshold", [1, 3])
def test_released_p_values_are_reproduced(golden: Golden, kind: str, threshold: int) -> None:
    scores = golden[0][kind]["scores"]
    outcome = student_biased(describe(np.array(scores["local"])), float(threshold))
    np.testing.assert_allclose(outcome.p, scores[f"p_local_tau{threshold}"], rtol=0, atol=1e-9)


@pytest.mark.parametrize("way", ["first", "mean", "max"])
def test_word_level_conversion_of_the_released_code_is_reproduced(golden: Golden, way: str) -> None:
    numbers, tensors = golden
    word = np.empty(9, dtype=np.int64)
    for unit, pieces in enumerate(numbers["word_level"]["words_to_pieces"]):
        word[pieces] = unit
    got = word_attention(tensors["pieces_attention"], word, way)
    np.testing.assert_allclose(got, numbers["word_level"][way], rtol=0, atol=1e-9)


def test_even_attention_scores_one_except_in_block() -> None:
    example = _example(9, 8)
    even = np.full((1, 20, 20), 1 / 20)
    assert published.delimiter.score(even, example)[0] == pytest.approx(1)
    assert published.local.score(even, example)[0] == pytest.approx(1 - 0.45 / 20)
    assert published.block.score(even, example)[0] == pytest.approx(np.log(20))


def test_repeated_pieces_are_found_at_their_first_occurrence() -> None:
    rng = np.random.default_rng(0)
    attention = rng.dirichlet(np.ones(5), size=(2, 5))
    tokens = ("[CLS]", "a", "b", "a", "[SEP]")
    segment, word = np.array([-1, 0, 0, 0, -1]), np.array([-1, 0, 1, 2, -1])
    example = Example("x", tokens, segment=segment, word=word, arcs=(Arc(2, 1, "nsubj"),))
    got = published.syntactic_nsubj.score(attention, example)
    np.testing.assert_allclose(got, attention[:, 1, 2] / attention[:, 1].mean(axis=1))


def _looked_up(n: int, size: int, *pairs: Pair) -> Example:
    return Example("x", tuple(f"t{k}" for k in range(n)), cleaned=Cleaned(size, pairs))


@pytest.mark.parametrize("relation", ["nsubj:pass", "nsubjpass", "advmod:neg", "neg", "det", "csubj"])
def test_only_the_relation_itself_counts(relation: str) -> None:
    attention = np.random.default_rng(0).dirichlet(np.ones(6), size=(2, 6))
    for example in (
        _looked_up(6, 6, Pair((1,), (2,), relation)),
        Example("x", tuple("abcdef"), word=np.arange(6), arcs=(Arc(1, 2, relation),)),
    ):
        assert np.isnan(published.syntactic.score(attention, example)).all()
        assert np.isnan(published.syntactic_nsubj.score(attention, example)).all()


@pytest.mark.parametrize("name", ["dobj", "obj"])
def test_both_names_of_the_object_count(name: str) -> None:
    attention = np.random.default_rng(0).dirichlet(np.ones(6), size=(2, 6))
    example = _looked_up(6, 6, Pair((1, 2), (4,), name), Pair((3,), (5,), "amod"))
    wanted = attention[:, [1, 2], 4].mean(axis=1) * 6
    np.testing.assert_allclose(published.syntactic_obj.score(attention, example), wanted)
    both = published.syntactic.score(attention, example)
    np.testing.assert_allclose(both, (wanted + attention[:, 3, 5] * 6) / 2)


def test_rows_are_cut_at_the_length_of_the_cleaned_input() -> None:
    attention = np.random.default_rng(1).dirichlet(np.ones(9), size=(2, 9))
    pair = Pair((1,), (3,), "amod")
    shorter = published.syntactic.score(attention, _looked_up(9, 5, pair))
    np.testing.assert_allclose(shorter, attention[:, 1, 3] / (attention[:, 1, :5].sum(axis=1) / 5))
    longer = published.syntactic.score(attention, _looked_up(9, 12, pair, Pair((2,), (10,), "amod")))
    np.testing.assert_allclose(longer, attention[:, 1, 3] * 12)
    assert np.isnan(published.syntactic.score(attention, _looked_up(9, 12, Pair((2,), (10,), "amod")))).all()


def test_words_beyond_128_tokens_are_not_looked_up() -> None:
    attention = np.random.default_rng(2).dirichlet(np.ones(140), size=(1, 140))
    example = _looked_up(140, 140, Pair((127,), (3,), "amod"), Pair((128,), (3,), "amod"))
    got = published.syntactic_amod.score(attention, example)
    np.testing.assert_allclose(got, attention[:, 127, 3] / (attention[:, 127, :128].sum(axis=1) / 128))


def test_sieves_without_their_tokens_say_nothing() -> None:
    single = _example(6)
    attention = np.full((2, 8, 8), 1 / 8)
    assert np.isnan(published.block.score(attention, single)).all()
    bare = Example("bare", ("a", "b"))
    assert np.isnan(published.delimiter.score(np.full((2, 2, 2), 0.5), bare)).all()
