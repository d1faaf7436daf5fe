"""Partial conjunction is that of the paper and of scipy, and errs at most at alpha."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import combine_pvalues, norm
from statsmodels.stats.multitest import multipletests

from headroles.stats.across.conjunction import COMBINATIONS, conjunctions, partial_conjunction_p

PAPER = tuple(COMBINATIONS)
TABLES = hnp.arrays(np.float64, st.tuples(st.integers(1, 5), st.just(6)), elements=st.floats(0, 1))


def _largest_of_all_choices(p: np.ndarray, at_least: int, combination: str) -> float:
    """The definition: the largest combined p over all choices of k − u + 1 runs, by another library."""
    size = len(p) - at_least + 1
    found = []
    for chosen in combinations(p, size):
        if combination == "fisher":
            found.append(float(combine_pvalues(chosen, "fisher").pvalue))
        elif combination == "simes":
            found.append(float(multipletests(chosen, method="fdr_bh")[1].min()))
        else:
            found.append(min(1.0, size * min(chosen)))
    return max(found)


@pytest.mark.parametrize("combination", PAPER)
def test_p_is_the_largest_over_all_choices_of_runs(combination: str) -> None:
    p = np.random.default_rng(1).uniform(0.001, 1, (5, 7)) ** 2
    for at_least in range(1, 6):
        found = partial_conjunction_p(p, at_least, combination)
        wanted = [_largest_of_all_choices(column, at_least, combination) for column in p.T]
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize("combination", PAPER)
def test_of_all_runs_it_is_the_largest_p(combination: str) -> None:
    p = np.random.default_rng(2).uniform(size=(4, 9))
    np.testing.assert_allclose(partial_conjunction_p(p, 4, combination), p.max(axis=0))


@pytest.mark.parametrize("combination", PAPER)
@given(p=TABLES, data=st.data())
def test_it_rises_with_every_p_whatever_the_order_of_runs(
    combination: str, p: np.ndarray, data: st.DataObject
) -> None:
    rows = [partial_conjunction_p(p, u, combination) for u in range(1, len(p) + 1)]
    assert all(((row >= 0) & (row <= 1)).all() for row in rows)
    larger = np.minimum(1, p + data.draw(hnp.arrays(np.float64, p.shape, elements=st.floats(0, 1))))
    for u, row in enumerate(rows, 1):
        assert (partial_conjunction_p(larger, u, combination) >= row - 1e-12).all()
        turned = partial_conjunction_p(p[::-1], u, combination)
        np.testing.assert_array_equal(turned, row)


@pytest.mark.parametrize("combination", PAPER)
@given(p=TABLES)
def test_runs_that_could_not_test_are_left_out(combination: str, p: np.ndarray) -> None:
    wider = np.vstack([p[:1] * np.nan, p, p[:1] * np.nan])
    for u in range(1, len(p) + 1):
        np.testing.assert_array_equal(
            partial_conjunction_p(wider, u, combination), partial_conjunction_p(p, u, combination)
        )
    assert np.isnan(partial_conjunction_p(wider, len(p) + 1, combination)).all()


def test_an_unknown_combination_is_an_error() -> None:
    with pytest.raises(KeyError):
        partial_conjunction_p(np.ones((2, 1)), 1, "stouffer")


def test_a_head_counts_for_u_only_where_it_counts_for_less() -> None:
    p = np.random.default_rng(3).uniform(size=(4, 40)) ** 4
    found = conjunctions(p, "bonferroni", "fdr_bh", 0.05)
    q, at_least = found.q, found.at_least
    for u in range(1, 5):
        own = partial_conjunction_p(p, u, "bonferroni")
        np.testing.assert_array_equal(found.p[u - 1], own)
        np.testing.assert_allclose(q[u - 1], multipletests(own, method="fdr_bh")[1])
    for head, most in enumerate(at_least):
        assert (q[:most, head] <= 0.05).all()
        assert most == 4 or q[most, head] > 0.05
    assert len(set(at_least.tolist())) > 2


def _shared_noise(rng: np.random.Generator, runs: int, tests: int, correlation: float) -> np.ndarray:
    """One-sided p of tests whose noise runs share in part."""
    common = rng.normal(size=tests) * np.sqrt(correlation)
    return np.asarray(norm.sf(common + rng.normal(size=(runs, tests)) * np.sqrt(1 - correlation)))


@pytest.mark.parametrize(
    ("combination", "correlation"),
    [("fisher", 0.0), ("simes", 0.0), ("simes", 0.8), ("bonferroni", 0.0), ("bonferroni", 0.8)],
)
@pytest.mark.parametrize("at_least", [1, 2, 4])
def test_of_heads_with_the_role_in_one_run_too_few_alpha_are_called_at_most(
    combination: str, correlation: float, at_least: int
) -> None:
    p = _shared_noise(np.random.default_rng(4), 4, 20_000, correlation)
    p[: at_least - 1] = 1e-12
    wrong = (partial_conjunction_p(p, at_least, combination) <= 0.05).mean()
    assert wrong <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 20_000)


def test_fishers_p_of_runs_with_the_same_texts_would_err_far_more_often() -> None:
    p = _shared_noise(np.random.default_rng(5), 4, 20_000, 0.8)
    assert (partial_conjunction_p(p, 1, "fisher") <= 0.05).mean() > 0.08
