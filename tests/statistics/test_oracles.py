"""Every test statistic, interval and p is that of a library, or of its formula in a plain loop."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from headroles import stats
from headroles.records import Decision, Rule
from headroles.stats import METHODS, describe, judge
from tests.support.scores import scored, skewed

THETA, RESAMPLES, SEED = 0.1, 999, 11
NAMES = ("statistic", "p", "p_not", "low", "high")


# The loops: one column without NaN.


def _flips(values: np.ndarray) -> tuple[float, float, float]:
    n, beyond = len(values), values - THETA
    own, exact = beyond.sum(), 2**n <= RESAMPLES
    if exact:
        patterns = np.array(list(product((1.0, -1.0), repeat=n)))
    else:
        patterns = 1.0 - 2.0 * np.random.default_rng(SEED).integers(0, 2, (RESAMPLES, n), dtype=np.int8)
    sums, slack, more = patterns @ beyond, 1e-10 * np.abs(beyond).sum(), int(not exact)
    p, p_not = (
        (more + int(reached.sum())) / (more + len(sums))
        for reached in (sums >= own - slack, sums <= own + slack)
    )
    return own / n, p, p_not


def _bootstrap(values: np.ndarray) -> tuple[float, ...]:
    n, mean, error = len(values), values.mean(), values.std(ddof=1) / np.sqrt(len(values))
    drawn = []
    for row in np.random.default_rng(SEED).integers(0, n, (RESAMPLES, n)):
        moved, spread = values[row].mean() - mean, values[row].std(ddof=1)
        drawn.append(
            moved / (spread / np.sqrt(n)) if np.ptp(values[row]) else np.sign(round(moved, 12)) * np.inf
        )
    stars = np.nan_to_num(np.array(drawn), nan=0.0, posinf=np.inf, neginf=-np.inf)
    own, ordered = (mean - THETA) / error, np.sort(stars)
    p, p_not = ((1 + int(reached.sum())) / (1 + RESAMPLES) for reached in (stars >= own, stars <= own))
    outer = int(0.025 * (RESAMPLES - 1)), int(np.ceil(0.975 * (RESAMPLES - 1)))
    return own, p, p_not, mean - ordered[outer[1]] * error, mean - ordered[outer[0]] * error


RESAMPLED: dict[str, Callable[[np.ndarray], tuple[float, ...]]] = {
    "bootstrap-t": _bootstrap, "sign-flip": _flips
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
    "nine units": lambda rng: rng.gamma(1, 1, (9, 3)) - 0.8,
    "ten units": lambda rng: rng.gamma(1, 1, (10, 3)) - 0.8,
    "fifty units": lambda rng: skewed(rng, 50, 2),
    "fifty-one units": lambda rng: skewed(rng, 51, 2),
    "holes": _holes,
    "ties": _tied,
    "far from θ": lambda rng: rng.normal([5, -3], 0.1, (40, 2)),
    "all above 0": lambda rng: rng.beta(1, 4, (40, 3)) * 0.5 + 0.05,
    "all above θ": lambda rng: rng.beta(1, 4, (40, 3)) + 0.2,
    "all below θ": lambda rng: 0.05 - rng.beta(1, 4, (40, 3)),
}  # fmt: skip


def _bounds(values: np.ndarray) -> tuple[float, float]:
    """Stated bounds: of scores above 0 the lowest is above 0, too, and the highest is not 1."""
    return float(np.nanmin(values)) - 0.02, float(np.nanmax(values)) + 0.15


@pytest.mark.parametrize("test", sorted(set(METHODS) - set(RESAMPLED)))
@pytest.mark.parametrize("kind", INPUTS)
def test_all_numbers_of_a_test_are_those_of_libraries(kind: str, test: str) -> None:
    values = INPUTS[kind](np.random.default_rng(len(kind)))
    low, high = _bounds(values)
    rule = Rule("s", margin=THETA, low=low, high=high, stated_low=low, stated_high=high)
    scores, decision = scored(values[None], [rule]), Decision(test)
    checks = stats.recompute_findings(scores, judge(scores, [rule], decision), decision)
    assert [check for check in checks if not check.fits] == []
    for name in (*NAMES, "q", "q_not"):
        assert sum(check.compared for check in checks if check.quantity == name) == values.shape[1]


@pytest.mark.parametrize("test", RESAMPLED)
@pytest.mark.parametrize("kind", INPUTS)
def test_all_numbers_of_a_resampled_test_are_those_of_a_plain_loop(kind: str, test: str) -> None:
    if test == "bootstrap-t" and kind == "ties":
        kind = "normal"  # resamples of equal scores tie with the data, and rounding breaks the ties
    values = INPUTS[kind](np.random.default_rng(len(kind)))
    ours = METHODS[test](values, describe(values), THETA, RESAMPLES, SEED)
    for place, column in enumerate(values.T):
        known = column[~np.isnan(column)]
        wanted = RESAMPLED[test](known) if len(known) > 1 else (np.nan,) * 5
        found = [float(getattr(ours, name)[place]) for name in NAMES[: len(wanted)]]
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-9, err_msg=f"column {place}")


def test_scores_at_the_threshold_in_single_precision_are_at_it() -> None:
    for theta in (0.1, 0.2, 30.0):  # float32(0.2) is above 0.2
        scores = np.repeat([theta, theta - 0.05], [40, 20]).astype(np.float32).astype(np.float64)[:, None]
        signs, ranks = (METHODS[name](scores, describe(scores), theta, 0, 0) for name in ("sign", "wilcoxon"))
        assert signs.statistic[0] == -10
        assert signs.p[0] == 1.0
        assert ranks.p[0] > 0.99


# Scores without spread, and tests from bounds alone.


def test_the_test_from_bounds_at_theta_at_the_bounds_and_without_any() -> None:
    def one(value: float, theta: float, low: float, high: float, n: int = 4) -> list[float]:
        outcome = stats.bounded_outcome(describe(np.full((n, 1), value)), theta, low, high)
        return [float(getattr(outcome, name)[0]) for name in NAMES]

    assert one(0.1, 0.1, 0.0, 1.0)[1:3] == [1, 1]
    assert one(1.0, -0.1, 0.0, 1.0)[1:3] == [0, 1]
    assert one(0.0, 1.1, 0.0, 1.0)[1:3] == [1, 0]
    assert one(1.0 + 6e-8, 0.1, -0.5, 1.0)[1] == pytest.approx(0.4**4)  # rounding beyond a bound
    assert one(1.0 + 6e-8, 0.1, -0.5, 1.0)[4] == 1.0
    for bounds in ((np.nan, 1.0), (0.0, np.nan), (np.nan, np.nan)):
        assert np.isnan(one(0.7, 0.1, *bounds)).all()
