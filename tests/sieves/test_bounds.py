"""Bounds stated before data hold for all attention, on every input that is not left out."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles import Example
from headroles.arrays import selection_of
from headroles.plans.plan import beyond_bounds
from headroles.sieves import BUILT_IN, PATTERNS
from headroles.sieves.weights.reference import apply
from tests.sieves.recipes import Recipe, recipes_of
from tests.support.reference import draws

RELATIONS = ("nsubj", "obj", "amod", "advmod", "det")
SIEVES = [*BUILT_IN, "next", "previous", "first", "punctuation", "identical", "subword", "duplicate"]
few = settings(max_examples=draws(40))


def _one_key(rng: np.random.Generator, visible: np.ndarray) -> np.ndarray:
    """Every query of four heads looks at one key that it sees: scores are as extreme as they can be."""
    heads = rng.random((4, *visible.shape)) * visible
    rows: np.ndarray = (heads == heads.max(axis=2, keepdims=True)).astype(np.float64)
    return rows


@few
@given(recipes_of(RELATIONS, 14), st.booleans())
def test_no_score_lies_beyond_the_stated_bounds_of_inputs_that_stay(recipe: Recipe, causal: bool) -> None:
    example, rng = recipe.made()
    selection = replace(selection_of(SIEVES), stated=True)
    visible = np.tri(example.size, dtype=np.bool_) if causal else np.ones((example.size,) * 2, dtype=np.bool_)
    laid = selection.plan(example, visible, np.float64)
    stated = np.array([selection.bounds[name] for name in selection.columns])
    beyond = beyond_bounds(laid.low, laid.high, *stated.T)
    scores = apply(laid, _one_key(rng, visible))[~beyond]
    known = ~np.isnan(scores)
    lowest, highest = (np.broadcast_to(stated[~beyond, side, None], scores.shape) for side in (0, 1))
    assert (scores >= lowest - 1e-6)[known].all()
    assert (scores <= highest + 1e-6)[known].all()


def test_a_text_of_eight_tokens_is_too_short_for_local_and_one_of_nine_is_not() -> None:
    selection = replace(selection_of(["local"]), stated=True)
    low, high = selection.bounds["local"]
    for size, left_out in ((4, True), (8, True), (9, False), (40, False)):
        laid = selection.plan(Example("text", ("a",) * size, segment=np.zeros(size, dtype=int)), None)
        assert beyond_bounds(laid.low, laid.high, np.array(low), np.array(high))[0] == left_out


def test_sieves_of_attention_without_both_bounds_and_the_bias_state_none() -> None:
    selection = replace(selection_of(["bag-of-words", "local"]), stated=True)
    assert np.isnan(selection.bounds["bag-of-words"]).all()
    assert selection.bounds["local"] == (-1.0, 1.0)
    bias = replace(selection_of(["local"], statistic="bias"), stated=True)
    assert np.isnan(bias.bounds["local"]).all()


def test_rules_have_stated_bounds_only_where_inputs_are_left_out() -> None:
    selection = selection_of([*BUILT_IN, *(name for name in PATTERNS if name != "bag-of-words")])
    assert all(np.isnan(rule.stated_low) for rule in selection.rules())
    for rule in replace(selection, stated=True, paired=True).rules():
        assert rule.stated_low < rule.margin < rule.stated_high
