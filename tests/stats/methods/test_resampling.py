"""Sign flips and the studentised bootstrap agree with scipy and with loops written out."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from headroles.stats.methods.closed_form import Outcome, student_skew
from headroles.stats.methods.names import METHODS
from headroles.stats.methods.resampling import SLICE, bootstrap_t, sign_flip, studentise
from headroles.stats.moments import describe

quick = settings(max_examples=25)


def _of(test: str, values: np.ndarray, threshold: float, resamples: int = 999, seed: int = 0) -> Outcome:
    return METHODS[test](values, describe(values), threshold, resamples, seed)


@quick
@given(st.integers(2, 9), st.floats(-0.5, 0.5), st.integers(0, 2**32 - 1))
def test_exact_sign_flips_are_scipys_permutation_test(units: int, theta: float, seed: int) -> None:
    values = np.random.default_rng(seed).gamma(1, 1, size=(units, 3)) - 1
    ours = _of("sign-flip", values, theta, 1000)
    for side, found in (("greater", ours.p), ("less", ours.p_not)):
        how: dict[str, Any] = {"permutation_type": "samples", "alternative": side, "vectorized": False}
        theirs = [
            reference.permutation_test(
                (column - theta,), lambda flipped: float(np.mean(flipped)), **how
            ).pvalue
            for column in values.T
        ]
        np.testing.assert_allclose(found, theirs, rtol=1e-10)


def test_ties_among_sign_flips_count_as_reached() -> None:
    # Every unit 0.3 beyond: the data are 1 of 8 patterns; one unit at θ itself doubles the share.
    assert _of("sign-flip", np.full((3, 1), 0.4), 0.1).p.item() == pytest.approx(1 / 8)
    assert _of("sign-flip", np.array([[0.4], [0.4], [0.1]]), 0.1).p.item() == pytest.approx(1 / 4)


def test_random_sign_flips_count_the_data_as_one_of_the_draws() -> None:
    values = np.random.default_rng(0).normal(5, 0.1, size=(40, 2))
    ours = _of("sign-flip", values, 0.0, 999)
    np.testing.assert_allclose(ours.p, 1 / 1000)
    np.testing.assert_allclose(ours.p_not, 1.0)


def test_random_sign_flips_are_near_the_exact_ones() -> None:
    values = np.random.default_rng(1).normal(0.2, 1, size=(12, 6))
    exact, drawn = _of("sign-flip", values, 0.0, 4096), _of("sign-flip", values, 0.0, 4095)
    np.testing.assert_allclose(drawn.p, exact.p, atol=4 * 0.5 / 4095**0.5)
    assert (drawn.p != exact.p).any()


def test_units_without_a_score_are_left_out_of_flips_and_resamples() -> None:
    values = np.random.default_rng(2).normal(0.3, 1, size=(30, 3))
    holed = np.insert(values, [3, 9], np.nan, axis=0)
    for test in ("bootstrap-t", "sign-flip"):
        whole, ours = _of(test, values, 0.1), _of(test, holed, 0.1)
        np.testing.assert_allclose(ours.p, whole.p, rtol=1e-12)
        np.testing.assert_allclose(ours.low, whole.low, rtol=1e-9)


@pytest.mark.parametrize("test", ["bootstrap-t", "sign-flip", "wilcoxon", "sign"])
def test_a_head_has_the_same_p_whatever_heads_are_tested_beside_it(test: str) -> None:
    values = np.random.default_rng(3).gamma(1, 1, size=(25, SLICE + 5))
    together = _of(test, values, 1.0, 199)
    for place in (0, SLICE - 1, SLICE, SLICE + 4):
        alone = _of(test, values[:, [place]], 1.0, 199)
        assert together.p[place] == alone.p.item()
        assert together.p_not[place] == alone.p_not.item()


def test_the_studentised_bootstrap_is_the_loop_written_out() -> None:
    values = np.random.default_rng(4).gamma(1, 1, size=(15, 2))
    ours = bootstrap_t(values, describe(values), 0.7, 499, 11)
    drawn = np.random.default_rng(11).integers(0, 15, (499, 15))
    for k, column in enumerate(values.T):
        error = column.std(ddof=1) / 15**0.5
        own = (column.mean() - 0.7) / error
        stars = np.array(
            [(column[row].mean() - column.mean()) / (column[row].std(ddof=1) / 15**0.5) for row in drawn]
        )
        assert ours.statistic[k] == pytest.approx(own, rel=1e-12)
        assert ours.p[k] == pytest.approx((1 + (stars >= own).sum()) / 500, rel=1e-12)
        assert ours.p_not[k] == pytest.approx((1 + (stars <= own).sum()) / 500, rel=1e-12)
        low, high = np.sort(stars)[[12, 486]]  # outwards from 0.025 × 498 = 12.45
        assert ours.low[k] == pytest.approx(column.mean() - high * error, rel=1e-10)
        assert ours.high[k] == pytest.approx(column.mean() - low * error, rel=1e-10)


def test_resamples_without_spread_cannot_make_few_units_significant() -> None:
    # Of two units half of the resamples hold one unit twice: T* is infinite there.
    ours = _of("bootstrap-t", np.array([[0.7], [0.70001]]), 0.1, 999)
    assert ours.p.item() > 0.2
    assert ours.low.item() == -np.inf


def test_draws_of_fewer_than_two_units_are_infinite_by_their_sign() -> None:
    first, second = np.array([[0.3, -0.2, 0.0, 1.0]]), np.array([[0.09, 0.04, 0.0, 0.6]])
    drawn = studentise(first, second, np.array([[1.0, 1.0, 0.0, 3.0]]))
    assert drawn[0, :3].tolist() == [np.inf, -np.inf, 0.0]
    assert np.isfinite(drawn[0, 3])


@pytest.mark.parametrize("test", ["sign-flip", "bootstrap-t"])
def test_equal_seeds_give_equal_results_and_others_do_not(test: str) -> None:
    values = np.random.default_rng(5).normal(0.2, 1, size=(40, 8))
    first, again, other = (_of(test, values, 0.0, 499, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.p, again.p)
    assert (first.p != other.p).any()


def test_sign_flips_keep_their_level_under_symmetry_and_the_bootstrap_under_skew() -> None:
    # Breaks when flips are not about θ, and when T* is not centred at the mean of the data.
    rng = np.random.default_rng(6)
    symmetric = 0.1 + rng.normal(0, 1, size=(20, 4000))
    skewed = rng.gamma(1, 1, size=(50, 4000)) - 1 + 0.1
    for test, values, least, most in (
        ("sign-flip", symmetric, 0.040, 0.060),
        ("bootstrap-t", symmetric, 0.035, 0.065),
        ("bootstrap-t", skewed, 0.035, 0.070),
    ):
        ours = _of(test, values, 0.1, 999)
        for p in (ours.p, ours.p_not):
            assert least < (p <= 0.05).mean() < most


def test_the_bootstrap_interval_covers_the_mean_of_skewed_scores_better_than_students() -> None:
    values = np.random.default_rng(7).lognormal(0, 1, size=(40, 3000))
    truth = np.exp(0.5)
    ours, plain = _of("bootstrap-t", values, 0.0, 999), _of("t", values, 0.0)
    covered = [((each.low <= truth) & (truth <= each.high)).mean() for each in (ours, plain)]
    assert covered[0] > 0.92
    assert covered[0] > covered[1] + 0.02


def test_the_interval_of_sign_flips_is_that_of_the_skewness_corrected_test() -> None:
    values = np.random.default_rng(8).gamma(1, 1, size=(30, 4))
    sample = describe(values)
    ours, theirs = sign_flip(values, sample, 0.3, 99, 0), student_skew(sample, 0.3)
    np.testing.assert_array_equal(ours.low, theirs.low)
    np.testing.assert_array_equal(ours.high, theirs.high)
