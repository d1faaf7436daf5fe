"""Tests from bounds alone are the product written out, and hold for rare scores at any number of units."""

import numpy as np
import pytest

from headroles.stats.methods.bets import STAKES, bounded_p
from headroles.stats.methods.closed_form import bounded_outcome
from headroles.stats.moments import describe


def test_p_is_one_over_the_mean_wealth_of_all_stakes() -> None:
    values = np.random.default_rng(0).uniform(-0.5, 1.0, (20, 3))
    values[:4, 1] = np.nan
    p, p_not = bounded_p(values, 0.1, -0.5, 1.0)
    for head in range(3):
        scores = [score for score in values[:, head] if score == score]
        above = np.mean([np.prod([1 + stake * (x - 0.1) / 0.6 for x in scores]) for stake in STAKES])
        below = np.mean([np.prod([1 + stake * (0.1 - x) / 0.9 for x in scores]) for stake in STAKES])
        assert p[head] == pytest.approx(min(1, 1 / above))
        assert p_not[head] == pytest.approx(min(1, 1 / below))


def test_of_constant_scores_it_is_no_smaller_than_markovs_bound() -> None:
    values = np.full((30, 2), 0.8)
    exact = bounded_outcome(describe(values), 0.1, -1.0, 1.0)
    p, p_not = bounded_p(values, 0.1, -1.0, 1.0)
    assert (p >= exact.p).all()
    assert (p < exact.p**0.8).all()
    assert (p_not == 1).all()


def test_unknown_bounds_say_nothing_and_a_theta_at_the_bound_cannot_be_left() -> None:
    values = np.full((30, 1), 0.8)
    p, p_not = bounded_p(values, 0.1, float("nan"), 1.0)
    assert np.isnan(p).all()
    assert (p_not == 1).all()
    assert bounded_p(values, 0.1, 0.1, 1.0)[0] == 1


@pytest.mark.parametrize("rare", [1.0, 3.0, 10.0])
def test_rare_scores_are_called_beyond_in_at_most_alpha_of_samples(rare: float) -> None:
    # Means lie exactly at θ. Student's t errs in up to a third of these samples: those without a rare score.
    rng = np.random.default_rng(1)
    units, samples, share = 60, 20_000, rare / 60
    seen = rng.random((units, samples)) < share
    allowed = 0.05 + 3 * (0.05 * 0.95 / samples) ** 0.5
    for sign in (1, -1):
        values = 0.1 + sign * 0.5 * (seen - share) + 1e-3 * rng.normal(size=seen.shape)
        p, p_not = bounded_p(values, 0.1, -0.6, 0.8)
        assert (p <= 0.05).mean() <= allowed
        assert (p_not <= 0.05).mean() <= allowed
