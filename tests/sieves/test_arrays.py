"""Scores of plain arrays: what they are, and what is refused where it enters."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles import Arc, Example, HeadrolesError, score
from headroles.arrays import checked_attention, selection_of, visible_keys
from headroles.catalogue import check_usable
from headroles.errors import BadInput, BadSieve, UnknownName
from headroles.sieves import BUILT_IN

PAIR = Example(
    "pair",
    ("[CLS]", "who", "is", "it", "[SEP]", "a", "small", "cat", "[SEP]"),
    segment=np.array([-1, 0, 0, 0, -1, 1, 1, 1, -1]),
    word=np.array([-1, 0, 1, 2, -1, 3, 4, 5, -1]),
    arcs=(Arc(0, 2, "nsubj"), Arc(1, 2, "cop"), Arc(3, 5, "det"), Arc(4, 5, "amod")),
)
BARE = Example("bare", PAIR.tokens, segment=PAIR.segment)


def _attention(layers: int = 2, heads: int = 3, n: int = 9, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(n), size=(layers, heads, n))


def test_every_built_in_sieve_is_scored_when_none_is_named() -> None:
    named = score(_attention(), PAIR)
    contrasts = {f"{name}:matched" for name in BUILT_IN if name.startswith(("block", "syntactic"))}
    assert set(named) == set(BUILT_IN) | contrasts
    assert {each.shape for each in named.values()} == {(2, 3)}
    assert not [name for name in score(_attention(), BARE) if name.startswith("syntactic")]


def test_scores_are_those_worked_by_hand() -> None:
    attention = _attention(1, 1)
    rows = attention[0, 0]
    special = PAIR.special
    inside = rows[~special][:, special].sum(axis=1)
    expected = (inside - 3 / 9).mean() / (1 - 3 / 9)
    assert score(attention, PAIR, "delimiter")["delimiter"].item() == pytest.approx(expected, abs=1e-12)
    bias = (inside.mean()) / (3 / 9)
    got = score(attention, PAIR, "delimiter", statistic="bias")["delimiter"].item()
    assert got == pytest.approx(bias, abs=1e-12)


def test_even_attention_has_no_selectivity_and_a_bias_of_one() -> None:
    even = np.full((1, 2, 9, 9), 1 / 9)
    for name, values in score(even, PAIR).items():
        np.testing.assert_allclose(values[~np.isnan(values)], 0, atol=1e-12, err_msg=name)
    for name, values in score(even, PAIR, statistic="bias").items():
        wanted = 0 if name.endswith(":matched") else 1
        np.testing.assert_allclose(values[~np.isnan(values)], wanted, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_any_float_is_taken(kind: type[np.floating[Any]]) -> None:
    named = score(_attention().astype(kind), PAIR, ["local", "block"])
    reference = score(_attention(), PAIR, ["local", "block"])
    for name, values in named.items():
        np.testing.assert_allclose(values, reference[name], atol=5e-3)


@settings(max_examples=40)
@given(
    st.integers(0, 2**32 - 1), st.floats(0.0, 8.0), st.booleans(), st.sampled_from(["selectivity", "bias"])
)
def test_scores_of_float32_are_those_of_float64(
    seed: int, sharpness: float, causal: bool, statistic: str
) -> None:
    # Breaks when sums of many cells are left in single precision.
    rng = np.random.default_rng(seed)
    n = int(rng.integers(9, 90))
    segment = np.repeat([0, 1], [n // 2, n - n // 2])
    segment[[0, n // 2 - 1, n - 1]] = -1
    inside = segment >= 0
    word = np.where(inside, np.cumsum(inside & (rng.random(n) < 0.8)), -1)
    last = int(word.max())
    arcs = tuple(
        Arc(one, last - one, "obj") for one in range(last // 2) if np.isin([one, last - one], word).all()
    )
    example = Example("random", ("[CLS]",) + ("w",) * (n - 1), segment=segment, word=word, arcs=arcs)
    logits = sharpness * rng.standard_normal((2, 3, n, n))
    weights = np.exp(np.where(np.tri(n, dtype=np.bool_) | (not causal), logits, -np.inf))
    single = (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)
    wanted = score(single.astype(np.float64), example, statistic=statistic)
    for name, values in score(single, example, statistic=statistic).items():
        size = np.maximum(1, np.abs(wanted[name]))
        np.testing.assert_allclose(values / size, wanted[name] / size, rtol=0, atol=1e-6, err_msg=name)
        assert values.dtype == np.float64


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(("off", "refused"), [(4.95e-3, False), (4.999e-3, False), (5.02e-3, True)])
def test_rows_near_the_limit_are_judged_by_their_sum_in_double_precision(
    kind: type[np.floating[Any]], off: float, refused: bool
) -> None:
    attention = (np.full((1, 1, 9, 9), 1 / 9) * (1 + off)).astype(kind)
    if refused:
        with pytest.raises(BadInput, match=r"the worst row is off by 0\.00502;"):
            checked_attention(attention, PAIR)
    else:
        assert checked_attention(attention, PAIR).dtype == kind


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_infinities_of_both_signs_in_a_row_are_refused_in_one_sentence(
    kind: type[np.floating[Any]],
) -> None:
    attention = _attention().astype(kind)
    attention[0, 0, 0, :2] = np.inf, -np.inf
    with pytest.raises(BadInput, match="no NaN or infinite cells"):
        checked_attention(attention, PAIR)


def test_the_attention_is_not_written_into() -> None:
    attention = _attention()
    before = attention.copy()
    score(attention, PAIR)
    np.testing.assert_array_equal(attention, before)
    attention.flags.writeable = False
    score(attention, PAIR)


def test_causal_attention_is_recognised_and_can_be_told() -> None:
    causal = np.tril(_attention())
    causal /= causal.sum(axis=-1, keepdims=True)
    visible = np.tril(np.ones((9, 9), dtype=np.bool_))
    names = ["delimiter", "local", "block"]
    read, told = score(causal, PAIR, names), score(causal, PAIR, names, visible=visible)
    wide = score(causal, PAIR, names, visible=np.ones((9, 9), dtype=np.bool_))
    for name, values in read.items():
        np.testing.assert_array_equal(values, told[name])
    assert not np.allclose(read["delimiter"], wide["delimiter"])
    even = visible / visible.sum(axis=1, keepdims=True)
    assert abs(score(even[None, None], PAIR, "delimiter")["delimiter"].item()) < 1e-12


def _spoilt(change: Callable[[np.ndarray], Any]) -> np.ndarray:
    attention = _attention()
    changed = change(attention)
    return attention if changed is None else np.asarray(changed)


BAD: dict[str, tuple[Callable[[np.ndarray], Any], str]] = {
    "NaN": (lambda a: a.__setitem__((0, 0, 0, 0), np.nan), "no NaN or infinite cells, but some were given"),
    "infinity": (lambda a: a.__setitem__((1, 2, 8, 8), np.inf), "no NaN or infinite cells"),
    "scores before the softmax": (
        lambda a: np.log(a),
        r"attention is never negative, but one cell is -.*; give weights after the softmax",
    ),
    "one cell slightly below 0": (
        lambda a: a.__setitem__((0, 0, 0, 0), -6e-4),
        r"attention is never negative, but one cell is -0.0006;",
    ),
    "rows and columns exchanged": (lambda a: a.swapaxes(-1, -2), "give rows as queries, after the softmax"),
    "percentages": (lambda a: a * 100, "off by 99"),
    "padding": (lambda a: a.__setitem__((..., 8, slice(None)), 0), "off by 1"),
    "negative cells": (
        lambda a: a.__setitem__((0, 0, 0), [-0.5, 1.5, *[0] * 7]),
        r"attention is never negative, but one cell is -0.5;",
    ),
    "one layer": (
        lambda a: a[0],
        r"shape \(layers, heads, 9, 9\) .*, as floats, but got float64 \(3, 9, 9\)",
    ),
    "a batch": (lambda a: a[None], r"but got float64 \(1, 2, 3, 9, 9\)"),
    "another length": (
        lambda a: a[..., :8, :8],
        r"for the 9 tokens of example 'pair', .* but got float64 \(2, 3, 8, 8\)",
    ),
    "no layers": (lambda a: a[:0], r"but got float64 \(0, 3, 9, 9\)"),
    "no heads": (lambda a: a[:, :0], r"but got float64 \(2, 0, 9, 9\)"),
    "whole numbers": (lambda a: (a > 0.5).astype(np.int64), r"as floats, but got int64"),
    "complex numbers": (lambda a: a.astype(np.complex128), "as floats, but got complex128"),
    "objects": (lambda a: a.astype(object), "as floats, but got object"),
    "a number": (lambda a: np.float64(1), r"as floats, but got float64 \(\)"),
}


@pytest.mark.parametrize("what", sorted(BAD))
def test_what_is_no_attention_is_refused(what: str) -> None:
    change, sentence = BAD[what]
    with pytest.raises(BadInput, match=sentence):
        checked_attention(_spoilt(change), PAIR)


def test_half_precision_rows_are_near_enough_to_one() -> None:
    rounded = _attention(n=9).astype(np.float16)
    assert np.abs(rounded.astype(np.float64).sum(axis=-1) - 1).max() > 0
    checked_attention(rounded, PAIR)


@pytest.mark.parametrize(
    ("visible", "sentence"),
    [
        (np.ones((8, 8), dtype=np.bool_), r"visible is bool of shape \(9, 9\), but got bool \(8, 8\)"),
        (np.ones((9, 9)), r"but got float64 \(9, 9\)"),
        (np.tril(np.ones((9, 9), dtype=np.bool_)), "visible must hold every key that gets attention"),
    ],
)
def test_what_cannot_be_the_visible_keys_is_refused(visible: np.ndarray, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        visible_keys(_attention(), visible)


@pytest.mark.parametrize(
    ("given", "kind", "sentence"),
    [
        ({"sieves": "locl"}, UnknownName, "no sieve is called 'locl'; did you mean 'local'"),
        ({"preset": "calibrate"}, UnknownName, "no preset is called 'calibrate'; did you mean 'calibrated'"),
        ({"statistic": "biased"}, UnknownName, "no statistic is called 'biased'; did you mean 'bias'"),
        ({"sieves": []}, BadSieve, "needs at least one sieve, but none was given"),
        ({"sieves": ["local", "local"]}, BadSieve, "'local' was given twice; name it once"),
        ({"sieves": ["local", "syntactic"]}, BadInput, "need dependency arcs, but example 'bare' has none"),
    ],
)
def test_a_wrong_name_or_a_missing_tree_is_one_sentence(
    given: dict[str, Any], kind: type[HeadrolesError], sentence: str
) -> None:
    with pytest.raises(kind, match=sentence):
        score(_attention(), BARE, **given)


@pytest.mark.parametrize("found", [None, 3, len, BAD, BUILT_IN])
def test_what_is_no_sieve_is_refused(found: object) -> None:
    with pytest.raises(BadSieve, match="a sieve is made by @sieve or has name, needs, score and null"):
        check_usable(found)


@dataclass(frozen=True)
class Odd:
    """A scorer that gives something else than one number per head."""

    gives: object
    name: str = "odd"
    needs: frozenset[str] = frozenset()

    def score(self, attention: np.ndarray, example: Example) -> Any:
        """Whatever was asked for."""
        return self.gives

    def null(self, example: Example) -> float:
        """Zero."""
        return 0.0


@pytest.mark.parametrize(
    ("gives", "came"),
    [
        (0.5, r"float64 \(\)"),
        (np.zeros(2), r"float64 \(2,\)"),
        (np.zeros((3, 1)), r"float64 \(3, 1\)"),
        (["a", "b", "c"], r"<U1 \(3,\)"),
        (None, r"object \(\)"),
    ],
)
def test_a_scorer_that_breaks_its_contract_is_named(gives: object, came: str) -> None:
    sentence = rf"sieve 'odd' must give one number per head, shape \(3,\), but gave {came} on example 'pair'"
    with pytest.raises(BadSieve, match=sentence):
        score(_attention(), PAIR, [Odd(gives)])


def test_sieves_come_by_name_as_they_are_or_both() -> None:
    odd = Odd(np.array([0.1, np.nan, 0.3]))
    assert selection_of([odd, "local"]).columns == ("local", "odd")
    assert selection_of(odd).columns == ("odd",)
    assert selection_of("local").columns == ("local",)
    assert selection_of(None).columns[:3] == ("local", "delimiter", "delimiter:cls")
    named = score(_attention(), PAIR, [odd, "local"])
    np.testing.assert_array_equal(named["odd"], [[0.1, np.nan, 0.3]] * 2)


def test_the_preset_published_scores_plain_arrays_too() -> None:
    attention = _attention()
    got = score(attention, PAIR, "delimiter:cls", preset="published")["delimiter:cls"]
    np.testing.assert_allclose(got, (attention[..., 0] * 9).mean(axis=-1), rtol=1e-12)
