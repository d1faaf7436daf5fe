"""Wilcoxon's and the sign test are those of scipy, statsmodels and pingouin, and no tests of a mean."""

from typing import Any

import numpy as np
import pingouin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference
from statsmodels.stats.descriptivestats import sign_test

from headroles.stats.methods.closed_form import Outcome
from headroles.stats.methods.names import METHODS
from headroles.stats.moments import describe

quick = settings(max_examples=25)


def _of(test: str, values: np.ndarray, threshold: float) -> Outcome:
    return METHODS[test](values, describe(values), threshold, 0, 0)


@quick
@given(st.sampled_from([5, 30, 51, 120]), st.floats(-0.5, 0.5), st.integers(0, 2**32 - 1))
def test_wilcoxon_is_scipys_column_by_column(units: int, theta: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.gamma(1, 1, size=(units, 3)) - 1
    values[: units // 5, 1] = np.nan
    ours = _of("wilcoxon", values, theta)
    for k, column in enumerate(values.T):
        known = column[~np.isnan(column)] - theta
        above = reference.wilcoxon(known, alternative="greater")
        assert ours.statistic[k] == pytest.approx(above.statistic, rel=1e-12)
        assert ours.p[k] == pytest.approx(above.pvalue, rel=1e-10)
        assert ours.p_not[k] == pytest.approx(reference.wilcoxon(known, alternative="less").pvalue, rel=1e-10)


def test_wilcoxon_is_pingouins_but_for_its_continuity_correction() -> None:
    values = np.random.default_rng(0).normal(0.2, 1, size=(80, 1))
    theirs = pingouin.wilcoxon(values[:, 0] - 0.1, alternative="greater", correction=False)
    assert _of("wilcoxon", values, 0.1).p.item() == pytest.approx(theirs["p_val"].iloc[0], rel=1e-10)


@quick
@given(st.integers(2, 80), st.integers(0, 2**32 - 1))
def test_the_sign_test_is_that_of_statsmodels_and_scipy(units: int, seed: int) -> None:
    values = np.round(np.random.default_rng(seed).normal(0.1, 0.2, size=(units, 3)), 1)
    ours = _of("sign", values, 0.1)
    for k, column in enumerate(values.T):
        above, below = int((column > 0.1).sum()), int((column < 0.1).sum())
        if not above + below:
            assert ours.p[k] == ours.p_not[k] == 1.0
            continue
        statistic, two_sided = sign_test(column, 0.1)
        assert ours.statistic[k] == statistic
        assert min(1.0, 2 * min(ours.p[k], ours.p_not[k])) == pytest.approx(two_sided, rel=1e-10)
        exact = reference.binomtest(above, above + below, alternative="greater").pvalue
        assert ours.p[k] == pytest.approx(exact, rel=1e-10)


def test_scores_all_at_the_threshold_say_nothing() -> None:
    values = np.column_stack([np.full(60, 0.1), np.random.default_rng(1).normal(0.3, 0.1, 60)])
    for test in ("wilcoxon", "sign"):
        ours = _of(test, values, 0.1)
        assert ours.p[0] == ours.p_not[0] == 1.0
        assert ours.p[1] < 1e-6


def test_ties_in_one_head_change_nothing_for_another() -> None:
    values = np.random.default_rng(3).normal(0.3, 1, size=(20, 3))
    tied = values.copy()
    tied[:6, 2] = np.repeat(tied[:3, 2], 2)
    np.testing.assert_array_equal(_of("wilcoxon", tied, 0.0).p[:2], _of("wilcoxon", values, 0.0).p[:2])
    how: dict[str, Any] = {"alternative": "greater", "method": "asymptotic"}
    theirs = reference.wilcoxon(tied[:, 2], **how)
    assert _of("wilcoxon", tied, 0.0).p[2] == pytest.approx(theirs.pvalue, rel=1e-12)


@pytest.mark.parametrize("theta", [0.1, 0.2])
def test_scores_at_the_threshold_in_single_precision_are_at_it(theta: float) -> None:
    # float32(0.2) is above 0.2: two thirds at θ and one third below are no evidence of a role.
    scores = np.repeat([theta, theta - 0.05], [40, 20]).astype(np.float32)
    values = (scores + np.arange(60) % 2 * 0)[:, None].astype(np.float64)
    ours = _of("sign", values, theta)
    assert ours.statistic.item() == -10
    assert ours.p.item() == pytest.approx(1.0)
    assert _of("wilcoxon", values, theta).p.item() > 0.99


def test_both_keep_their_level_at_their_own_middle_but_not_at_the_mean_of_skewed_scores() -> None:
    # Why they carry a warning: left-skewed scores with mean θ have their median above it.
    rng = np.random.default_rng(2)
    normal = rng.normal(0.1, 1, size=(200, 1500))
    skewed = 0.1 + 0.9 - rng.beta(1, 9, size=(200, 1500)) * 1.0 - (0.9 - 0.1)
    for test in ("wilcoxon", "sign"):
        assert 0.03 < (_of(test, normal, 0.1).p <= 0.05).mean() < 0.07
        assert (_of(test, skewed, 0.1).p <= 0.05).mean() > 0.4
        assert METHODS[test].warning
