"""Every test statistic, interval and p is that of a library, or of its formula in a plain loop."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from scipy import stats as reference

from headroles.stats import METHODS, bounded_outcome, bounded_p, describe, student, student_skew
from tests.support.reference import draws
from tests.support.scores import skewed

Numbers = tuple[float, float, float, float, float]
"""Statistic, p, p_not, and the ends of the interval."""
THETA, RESAMPLES, SEED = 0.1, 999, 11
NOTHING: Numbers = (np.nan,) * 5
BETS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
NAMES = ("statistic", "p", "p_not", "low", "high")


def _floats(*numbers: Any) -> Numbers:
    statistic, p, p_not, low, high = map(float, numbers)
    return statistic, p, p_not, low, high


# The oracles: one column without NaN, its threshold, and the bounds that are stated.


def _student(values: np.ndarray, theta: float) -> Numbers:
    above, below = (reference.ttest_1samp(values, theta, alternative=side) for side in ("greater", "less"))
    ends = reference.ttest_1samp(values, theta).confidence_interval(0.95)
    numbers = (above.statistic, above.pvalue, below.pvalue, ends.low, ends.high)
    return _floats(*numbers)


def _published(values: np.ndarray, theta: float) -> Numbers:
    n, mean, error = len(values), values.mean(), values.std() / np.sqrt(len(values))
    statistic, reach = (mean - theta) / error, reference.t.ppf(0.975, n - 1) * error
    tail = reference.t(n - 1)
    return statistic, tail.sf(statistic), tail.cdf(statistic), mean - reach, mean + reach


def _hall(values: np.ndarray, theta: float) -> Numbers:
    """Hall's cubic transformation of Student's t; its interval by finding the t that reach both quantiles."""
    n, skew = len(values), float(reference.skew(values))
    root, error = np.sqrt(n), values.std(ddof=1) / np.sqrt(n)

    def bent(plain: float) -> float:
        cubic = skew * plain**2 / (3 * root) + skew**2 * plain**3 / (27 * n)
        return float(plain + cubic + skew / (6 * root))

    statistic, reach = bent((values.mean() - theta) / error), reference.t.ppf(0.975, n - 1)
    far, near = (
        optimize.brentq(lambda plain, end=end: bent(plain) - end, -1e6, 1e6, xtol=1e-13)
        for end in (reach, -reach)
    )
    tail = reference.t(n - 1)
    ends = values.mean() - error * far, values.mean() - error * near
    return statistic, tail.sf(statistic), tail.cdf(statistic), *ends


def _ranks(values: np.ndarray, theta: float) -> Numbers:
    beyond = np.where(np.abs(values - theta) <= 1e-6, 0.0, values - theta)
    sizes = np.abs(beyond)
    if not sizes.any():
        return np.nan, 1.0, 1.0, np.nan, np.nan
    tied = not sizes.all() or len(set(sizes)) < len(sizes)
    how: Any = "exact" if len(values) <= 50 and not tied else "asymptotic"
    above, below = (reference.wilcoxon(beyond, alternative=side, method=how) for side in ("greater", "less"))
    return _floats(above.statistic, above.pvalue, below.pvalue, *_hall(values, theta)[3:])


def _signs(values: np.ndarray, theta: float) -> Numbers:
    above, below = int((values > theta + 1e-6).sum()), int((values < theta - 1e-6).sum())
    p, p_not = 1.0, 1.0
    if above + below:
        p, p_not = (
            reference.binomtest(above, above + below, alternative=side).pvalue for side in ("greater", "less")
        )
    return (above - below) / 2, p, p_not, *_hall(values, theta)[3:]


def _flips(values: np.ndarray, theta: float) -> Numbers:
    n, beyond = len(values), values - theta
    own, exact = beyond.sum(), 2**n <= RESAMPLES
    if exact:
        patterns = np.array(list(product((1.0, -1.0), repeat=n)))
    else:
        patterns = 1.0 - 2.0 * np.random.default_rng(SEED).integers(0, 2, (RESAMPLES, n), dtype=np.int8)
    sums = np.array([float(np.dot(signs, beyond)) for signs in patterns])
    slack, more = 1e-10 * np.abs(beyond).sum(), int(not exact)
    p, p_not = (
        (more + int(reached.sum())) / (more + len(sums))
        for reached in (sums >= own - slack, sums <= own + slack)
    )
    return own / n, p, p_not, *_hall(values, theta)[3:]


def _bootstrap(values: np.ndarray, theta: float) -> Numbers:
    n, mean, error = len(values), values.mean(), values.std(ddof=1) / np.sqrt(len(values))
    drawn = []
    for row in np.random.default_rng(SEED).integers(0, n, (RESAMPLES, n)):
        moved, spread = values[row].mean() - mean, values[row].std(ddof=1)
        drawn.append(
            moved / (spread / np.sqrt(n)) if np.ptp(values[row]) else np.sign(round(moved, 12)) * np.inf
        )
    stars = np.nan_to_num(np.array(drawn), nan=0.0, posinf=np.inf, neginf=-np.inf)
    own, ordered = (mean - theta) / error, np.sort(stars)
    p, p_not = ((1 + int(reached.sum())) / (1 + RESAMPLES) for reached in (stars >= own, stars <= own))
    outer = int(0.025 * (RESAMPLES - 1)), int(np.ceil(0.975 * (RESAMPLES - 1)))
    return own, p, p_not, mean - ordered[outer[1]] * error, mean - ordered[outer[0]] * error


def _capital(values: np.ndarray, theta: float, low: float) -> float:
    """The logarithm of the mean of the products over all bets; 0 where θ is the bound or beyond it."""
    if theta <= low:
        return 0.0
    gains = ((values - theta) / (theta - low)).astype(np.longdouble)
    return float(np.log(np.mean([np.prod(1 + np.longdouble(bet) * gains) for bet in BETS])))


def _betting(values: np.ndarray, theta: float, low: float, high: float) -> Numbers:
    above, below = _capital(values, theta, low), _capital(-values, -theta, -high)

    def end(numbers: np.ndarray, bound: float) -> float:
        centre, goal = numbers.mean(), np.log(40)
        first = bound + 1e-7 * (centre - bound)
        if _capital(numbers, first, bound) < goal:
            return bound
        return float(optimize.brentq(lambda mean: _capital(numbers, mean, bound) - goal, first, centre))

    p, p_not = (min(1.0, float(np.exp(-capital))) for capital in (above, below))
    return above, p, p_not, end(values, low), -end(-values, -high)


ORACLES: dict[str, Callable[..., Numbers]] = {
    "t-skew": _hall, "t": _student, "bootstrap-t": _bootstrap, "sign-flip": _flips, "wilcoxon": _ranks,
    "sign": _signs, "betting": _betting, "t-published": _published,
}  # fmt: skip


# The inputs: units × columns.


def _holes(rng: np.random.Generator) -> np.ndarray:
    """Columns with every unit, some, two, one and none."""
    values = skewed(rng, 20, 6)
    values[rng.random(20) < 0.3, 1] = np.nan
    values[:4, 2] = np.nan
    values[2:, 3] = values[1:, 4] = values[:, 5] = np.nan
    return values


def _tied(rng: np.random.Generator) -> np.ndarray:
    """Scores in tenths: many at θ, and many equal; one column holds θ and what lies below it."""
    values = np.round(rng.normal(0.15, 0.2, (24, 4)), 1)
    values[:, 3] = np.repeat([0.1, 0.05, 0.0], 8)
    return values


INPUTS: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "normal": lambda rng: rng.normal(0.2, 0.4, (30, 3)),
    "skewed": lambda rng: skewed(rng, 60, 5),
    "two units": lambda rng: rng.normal(0.3, 0.2, (2, 4)),
    "three units": lambda rng: rng.normal(0.3, 0.2, (3, 4)),
    "nine units": lambda rng: rng.gamma(1, 1, (9, 3)) - 0.8,
    "ten units": lambda rng: rng.gamma(1, 1, (10, 3)) - 0.8,
    "fifty units": lambda rng: skewed(rng, 50, 2),
    "fifty-one units": lambda rng: skewed(rng, 51, 2),
    "holes": _holes,
    "ties": _tied,
    "far above": lambda rng: rng.normal(5, 0.1, (40, 2)),
    "far below": lambda rng: rng.normal(-3, 0.1, (40, 2)),
    "all above 0": lambda rng: rng.beta(1, 4, (40, 3)) * 0.5 + 0.05,
    "all above θ": lambda rng: rng.beta(1, 4, (40, 3)) + 0.2,
    "all below θ": lambda rng: 0.05 - rng.beta(1, 4, (40, 3)),
}  # fmt: skip


def _bounds(values: np.ndarray) -> tuple[float, float]:
    """Stated bounds: of scores above 0 the lowest is above 0, too, and the highest is not 1."""
    return float(np.nanmin(values)) - 0.02, float(np.nanmax(values)) + 0.15


@pytest.mark.parametrize("test", METHODS)
@pytest.mark.parametrize("kind", INPUTS)
def test_all_numbers_of_a_test_are_those_of_its_oracle(kind: str, test: str) -> None:
    if test == "bootstrap-t" and kind == "ties":
        kind = "normal"  # resamples of equal scores tie with the data, and rounding breaks the ties
    values = INPUTS[kind](np.random.default_rng(len(kind)))
    bounds = _bounds(values)
    ours = METHODS[test](values, describe(values), THETA, RESAMPLES, SEED, bounds)
    for place, column in enumerate(values.T):
        known = column[~np.isnan(column)]
        more = bounds if test == "betting" else ()
        wanted = ORACLES[test](known, THETA, *more) if len(known) > 1 else NOTHING
        found = tuple(float(getattr(ours, name)[place]) for name in NAMES)
        rounding = 1e-6 if test == "betting" else 1e-8
        np.testing.assert_allclose(found, wanted, rtol=rounding, atol=1e-9, err_msg=f"column {place}")


def test_the_table_has_every_test_and_p_of_a_role_alone_is_that_of_the_test() -> None:
    assert set(ORACLES) == set(METHODS)
    values = skewed(np.random.default_rng(2), 30, 8) / 9
    values[:, 0], values[1:, 1], values[:7, 2] = 0.5, np.nan, np.nan
    sample, bounds = describe(values), _bounds(values)
    for name, method in METHODS.items():
        if method.resampled is None:
            whole = method(values, sample, THETA, 0, 0, bounds).p
            np.testing.assert_array_equal(method.role_p(values, sample, THETA, bounds), whole, err_msg=name)


def test_a_head_has_the_same_numbers_whatever_heads_are_tested_with_it() -> None:
    values = np.random.default_rng(3).gamma(1, 1, size=(25, 1029))
    values[:6, 7] = np.repeat(values[:3, 7], 2)
    bounds = _bounds(values)
    for test in ("bootstrap-t", "sign-flip", "wilcoxon", "sign", "betting"):
        together = METHODS[test](values, describe(values), 1.0, 199, 1, bounds)
        for place in (0, 7, 1023, 1024, 1028):
            column = values[:, [place]]
            alone = METHODS[test](column, describe(column), 1.0, 199, 1, bounds)
            for name in ("p", "p_not"):
                assert getattr(together, name)[place] == getattr(alone, name)[0], (test, place, name)


def test_equal_seeds_give_equal_draws_and_other_seeds_others() -> None:
    values = np.random.default_rng(5).normal(0.2, 1, size=(40, 8))
    for test in ("sign-flip", "bootstrap-t"):
        first, again, other = (METHODS[test](values, describe(values), 0.0, 499, s).p for s in (1, 1, 2))
        np.testing.assert_array_equal(first, again)
        assert (first != other).any()
        assert min(first.min(), other.min()) >= 1 / 500


def test_scores_at_the_threshold_in_single_precision_are_at_it() -> None:
    for theta in (0.1, 0.2, 30.0):  # float32(0.2) is above 0.2
        scores = np.repeat([theta, theta - 0.05], [40, 20]).astype(np.float32).astype(np.float64)[:, None]
        signs, ranks = (METHODS[name](scores, describe(scores), theta, 0, 0) for name in ("sign", "wilcoxon"))
        assert signs.statistic[0] == -10
        assert signs.p[0] == 1.0
        assert ranks.p[0] > 0.99


def test_a_larger_mean_never_makes_a_role_less_likely() -> None:
    rng = np.random.default_rng(4)
    for n in (2, 5, 60):
        shape = skewed(rng, n, 1)
        many = shape + np.linspace(-4, 4, 401) * shape.std()
        for test in ("t", "t-skew", "t-published", "wilcoxon", "sign"):
            outcome = METHODS[test](many, describe(many), THETA, 0, 0)
            assert (np.diff(outcome.statistic) >= -1e-9).all(), (n, test)
            assert (np.diff(outcome.p) <= 1e-12).all(), (n, test)
            assert (np.diff(outcome.p_not) >= -1e-12).all(), (n, test)


def test_the_interval_passes_smoothly_through_zero_skewness() -> None:
    half = np.random.default_rng(1).normal(size=(20, 1))
    symmetric = np.concatenate([half, -half])
    for bend in (0.0, 1e-9, 1e-7, -1e-9, -1e-6):
        sample = describe(symmetric + bend * symmetric**2)
        bent, plain = student_skew(sample, THETA), student(sample, THETA)
        for name in NAMES:
            assert getattr(bent, name)[0] == pytest.approx(getattr(plain, name)[0], abs=3e-6), (bend, name)


# Scores without spread, and tests from bounds alone.


@settings(max_examples=draws(60))
@given(
    st.integers(2, 200), st.floats(-1, 0.05), st.floats(0.06, 0.3), st.floats(0.001, 1), st.floats(0.001, 1)
)
def test_p_of_a_constant_is_that_of_the_worst_two_point_distribution(
    n: int, low: float, theta: float, up: float, room: float
) -> None:
    # Mass π at c and the rest at the lower bound, with mean exactly θ, makes n equal c with π^n.
    c = theta + up
    pi = (theta - low) / (c - low)
    outcome = bounded_outcome(describe(np.full((n, 1), c)), theta, low, c + room)
    mirrored = bounded_outcome(describe(np.full((n, 1), -c)), -theta, -c - room, -low)
    assert (outcome.p[0], outcome.p_not[0]) == (pytest.approx(pi**n, rel=1e-9), 1)
    assert (mirrored.p_not[0], mirrored.p[0]) == (pytest.approx(pi**n, rel=1e-9), 1)
    share = 0.025 ** (1 / n)
    assert outcome.low[0] == pytest.approx(low + up * share + (theta - low) * share, rel=1e-9, abs=1e-12)
    assert outcome.high[0] == pytest.approx(c + room - room * share, rel=1e-9)
    assert mirrored.high[0] == pytest.approx(-outcome.low[0])
    at_end = bounded_outcome(describe(np.full((n, 1), c)), float(outcome.low[0]), low, c + room)
    assert at_end.p[0] == pytest.approx(0.025, rel=1e-5)


def test_constants_at_bounds_at_theta_and_without_bounds() -> None:
    def one(value: float, theta: float, low: float, high: float, n: int = 4) -> list[float]:
        outcome = bounded_outcome(describe(np.full((n, 1), value)), theta, low, high)
        return [float(getattr(outcome, name)[0]) for name in NAMES]

    assert one(0.1, 0.1, 0.0, 1.0)[1:3] == [1, 1]
    assert one(1.0, -0.1, 0.0, 1.0)[1:3] == [0, 1]
    assert one(0.0, 1.1, 0.0, 1.0)[1:3] == [1, 0]
    assert one(1.0 + 6e-8, 0.1, -0.5, 1.0)[1] == pytest.approx(0.4**4)  # rounding beyond a bound
    assert one(1.0 + 6e-8, 0.1, -0.5, 1.0)[4] == 1.0
    for bounds in ((np.nan, 1.0), (0.0, np.nan), (np.nan, np.nan)):
        assert np.isnan(one(0.7, 0.1, *bounds)).all()


def test_p_from_bounds_is_one_over_the_mean_wealth_of_all_stakes() -> None:
    values = np.random.default_rng(0).uniform(-0.5, 1.0, (20, 3))
    values[:4, 1] = np.nan
    p, p_not = bounded_p(values, 0.1, -0.5, 1.0)
    for head in range(3):
        scores = [score for score in values[:, head] if score == score]
        stakes = (0.1, 0.3, 0.5, 0.7, 0.9)
        above = np.mean([np.prod([1 + stake * (x - 0.1) / 0.6 for x in scores]) for stake in stakes])
        below = np.mean([np.prod([1 + stake * (0.1 - x) / 0.9 for x in scores]) for stake in stakes])
        assert p[head] == pytest.approx(min(1, 1 / above))
        assert p_not[head] == pytest.approx(min(1, 1 / below))
    constant = np.full((30, 2), 0.8)
    exact = bounded_outcome(describe(constant), 0.1, -1.0, 1.0).p
    p, p_not = bounded_p(constant, 0.1, -1.0, 1.0)
    assert (p >= exact).all()
    assert (p < exact**0.8).all()
    assert (p_not == 1).all()
    unknown, known = bounded_p(constant, 0.1, float("nan"), 1.0)
    assert np.isnan(unknown).all()
    assert (known == 1).all()
    assert bounded_p(constant, 0.1, 0.1, 1.0)[0].tolist() == [1, 1]  # no mean lies below the bound
    assert bounded_p(np.full((2, 1), -0.5), 0.1, -0.5, 1.0)[0] == 1  # a lost stake leaves no log of 0


def test_betting_needs_stated_bounds_and_judges_constants_like_others() -> None:
    values = np.full((60, 2), [0.3, 0.0])
    outcome = METHODS["betting"](values, describe(values), THETA, 0, 0, (-0.5, 1.0))
    assert outcome.p[0] < 1e-4
    assert outcome.p_not[1] < 0.02
    assert outcome.p[1] == outcome.p_not[0] == 1.0
    for bounds in ((np.nan, 1.0), (-0.5, np.nan)):
        unstated = METHODS["betting"](values, describe(values), THETA, 0, 0, bounds)
        assert np.isnan([getattr(unstated, name) for name in NAMES]).all()
    quick = METHODS["betting"](values, describe(values), THETA, 0, 0, (-0.5, 1.0), intervals=False)
    np.testing.assert_array_equal(quick.p, outcome.p)
    assert np.isnan(quick.low).all()
