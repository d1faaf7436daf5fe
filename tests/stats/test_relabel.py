"""Relabelled resamples are whole judgements of the units drawn."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles.records.example import Scores
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.columns import Columns
from headroles.stats.decision import CORRECTIONS
from headroles.stats.draws import BLOCK, bootstrap_counts, random_halves
from headroles.stats.engine import judge
from headroles.stats.moments import describe, sample_from_sums
from headroles.stats.relabel import (
    CentredPowers,
    Grid,
    closed_form_decision,
    deciding,
    gather_draws,
    label_draws,
    p_of_draws,
    role_p,
    roles_from_p,
)
from tests.support.reference import draws

Run = tuple[Scores, list[Rule]]


def _taken(run: Run, row: np.ndarray) -> Run:
    """The run with unit u occurring ``row[u]`` times, each time as a unit of its own."""
    scores, rules = run
    keep = np.repeat(np.arange(len(row)), row.astype(int))
    keys = tuple(f"{k}" for k in range(len(keep)))
    return Scores(
        scores.sieves, keys, keys, scores.tokens[keep], scores.cells[:, keep], scores.values[:, keep],
        scores.null[:, keep],
    ), rules  # fmt: skip


def _holed(run: Run) -> Run:
    scores, rules = run
    values = scores.values.copy()
    values[0, :9, 0, 1] = np.nan
    values[2, 3:] = np.nan
    values[3, :, 1, 0] = 0.6
    return replace(scores, values=values), rules


@pytest.mark.parametrize("test", ["t-skew", "t", "sign", "wilcoxon"])
@pytest.mark.parametrize("correction", ["fdr_bh", "holm-sidak"])
@pytest.mark.parametrize("holes", [False, True])
def test_a_resample_is_labelled_as_if_it_were_the_data(
    scores_of: Callable[..., Run], test: str, correction: str, holes: bool
) -> None:
    run = _holed(scores_of(1, units=30)) if holes else scores_of(1, units=30)
    decision = Decision(test, correction, alpha=0.1)
    draws = np.concatenate(
        [np.ones((1, 30)), *bootstrap_counts(30, 5, 2), np.maximum(random_halves(30, 2, 3), 0)]
    )
    drawn = label_draws(Columns(*run), draws, Grid(2, 6), decision)
    assert drawn.shape == (3, 8, 12)
    for number, row in enumerate(draws):
        found = judge(*_taken(run, row), decision)
        np.testing.assert_array_equal(drawn[:, number], found.decision[[0, 2, 3]].reshape(3, 12) == 0)
    assert 0 < drawn.mean() < 1


def test_weighted_moments_are_those_of_the_repeated_units() -> None:
    rng = np.random.default_rng(4)
    values = 50 + rng.gamma(1, 1, size=(20, 3))
    values[:4, 1] = np.nan
    values[:, 2] = 7.0
    weights = np.concatenate(list(bootstrap_counts(20, 6, 1)))
    ours = sample_from_sums(*CentredPowers(values).sums(weights))
    for number, row in enumerate(weights):
        theirs = describe(np.repeat(values, row.astype(int), axis=0))
        for name in ("count", "mean", "sd", "skew"):
            np.testing.assert_allclose(
                getattr(ours, name)[number], getattr(theirs, name), rtol=1e-8, atol=1e-7, err_msg=name
            )


def test_weights_on_one_unit_have_no_spread() -> None:
    values = np.random.default_rng(5).random((6, 2))
    row = np.zeros((1, 6))
    row[0, 3] = 6
    ours = sample_from_sums(*CentredPowers(values).sums(row))
    assert (ours.sd == 0).all()
    assert (ours.skew == 0).all()


def test_tests_that_resample_are_stood_in_for() -> None:
    assert closed_form_decision(Decision("bootstrap-t", "maxT", "run", 0.01)) == Decision(
        "t-skew", "holm", "run", 0.01
    )
    assert closed_form_decision(Decision("sign-flip", "fdr_by")) == Decision("t", "fdr_by")
    assert closed_form_decision(Decision("wilcoxon", "sidak", "layer")) == Decision(
        "wilcoxon", "sidak", "layer"
    )


def test_gathered_blocks_hold_the_same_draws() -> None:
    draws = [np.arange(200.0).reshape(100, 2), np.ones((33, 2))]
    blocks = list(gather_draws(draws, 2**13))
    assert [len(block) for block in blocks] == [64, 64, 5]
    np.testing.assert_array_equal(np.concatenate(blocks), np.concatenate(draws))
    assert not list(gather_draws([], 12))


def test_p_of_many_draws_is_that_of_each(scores_of: Callable[..., Run]) -> None:
    columns = Columns(*_holed(scores_of(1, units=30)))
    weights = np.concatenate(list(bootstrap_counts(30, BLOCK + 9, 6)))
    decision = Decision("t-skew", "holm")
    for column in columns:
        each = np.concatenate([role_p(column, row[None], decision) for row in weights])
        for kind in (np.uint16, np.float64):
            np.testing.assert_allclose(role_p(column, weights.astype(kind), decision), each, rtol=1e-9)


ONE_DRAW_LEFT = 0.43
"""Below the smallest p of a mean at most θ: 1/6 standard errors beyond it in a normal distribution."""


@pytest.mark.parametrize("test", ["t-skew", "t", "t-published"])
@pytest.mark.parametrize("size", [3, 8, 40])
@settings(max_examples=draws(10), deadline=None)
@given(seed=st.integers(0, 10_000), shape=st.sampled_from([0.05, 0.5, 3.0]))
def test_p_is_left_out_only_where_no_correction_makes_a_role_of_it(
    test: str, size: int, seed: int, shape: float
) -> None:
    rng = np.random.default_rng(seed)
    drawn = rng.gamma(shape, 1 / shape, (2, size, 2, 9)) * rng.choice([-1, 1], (2, 1, 2, 9))
    values = (drawn + rng.normal(0, 0.3, (2, 1, 2, 9))).astype(np.float32)
    values[0, : size // 2, 0, 1], values[1, :, 1, 1] = np.nan, 0.1
    keys = tuple(f"{number}" for number in range(size))
    nothing = np.zeros((2, size))
    scores = Scores(("a", "a:x"), keys, keys, np.full(size, 9), nothing, values, nothing)
    columns = Columns(scores, [Rule("a", margin=0.1, contrast="a:x"), Rule("a:x", margin=0.0, role=False)])
    weights = next(bootstrap_counts(size, 20, seed))
    whole = np.stack([role_p(column, weights, Decision(test, alpha=0.9)) for column in columns])
    for correction in CORRECTIONS:
        decision = Decision(test, correction, alpha=0.2)
        p = np.stack([role_p(column, weights, decision) for column in columns])
        left_out = (p == 1) & (whole != 1)
        np.testing.assert_array_equal(p[~left_out], whole[~left_out])
        assert whole[left_out].min(initial=1.0) > ONE_DRAW_LEFT
        grid = Grid(2, 9)
        np.testing.assert_array_equal(
            roles_from_p(p, columns.rules, grid, decision), roles_from_p(whole, columns.rules, grid, decision)
        )


def test_only_roles_and_their_contrasts_decide_about_resamples(scores_of: Callable[..., Run]) -> None:
    scores, rules = scores_of(1, units=30)
    decision, grid = Decision("t", "fdr_bh", "run"), Grid(2, 6)
    columns = Columns(scores, rules)
    weights = next(bootstrap_counts(30, 9, 4))
    places = deciding(rules)
    p = p_of_draws(columns, range(len(rules)), weights, decision)
    some = roles_from_p(p[places], [rules[place] for place in places], grid, decision)
    np.testing.assert_array_equal(roles_from_p(p, rules, grid, decision), some)
    np.testing.assert_array_equal(label_draws(columns, weights, grid, decision), some)
