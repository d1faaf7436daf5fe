"""Step-down max-t is the loop of Romano and Wolf written out, with heads that hang on few units apart."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from headroles.errors import BadInput
from headroles.records import Decision, Rule, Scores
from headroles.stats import judge, sign_flips
from tests.support.scores import made, scored

pytestmark = pytest.mark.usefixtures("module_unguarded")
Run = tuple[Scores, list[Rule]]
MAXT = Decision(correction="maxT", resamples=99, seed=3)
CLAIMS = ((1, 1), (-1, 0))
"""Signs of the main mean and of the contrast in what a direction claims: role, not."""


def _t(values: np.ndarray, theta: float) -> float:
    """Student's t of what is known; its limit where the values are all equal."""
    known = values[~np.isnan(values)]
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (known.mean() - theta) / (known.std(ddof=1) / len(known) ** 0.5)
    return float(np.nan_to_num(found, nan=0.0, posinf=np.inf, neginf=-np.inf))


def _resampled(column: np.ndarray, margin: float, test: str) -> Iterator[float]:
    """Null statistics of one head, draw by draw, of all units, so that heads stay together."""
    n = len(column)
    if test == "sign-flip":
        for signs in np.concatenate(list(sign_flips(n, MAXT.resamples, MAXT.seed))):
            yield _t(signs * (column - margin), 0.0)
        return
    for row in np.random.default_rng(MAXT.seed).integers(0, n, (MAXT.resamples, n)):
        yield _t(column[row], float(np.nanmean(column)))


def _written_out(run: Run, places: list[tuple[int, int]], test: str, side: int) -> list[float]:
    """Adjusted p of some sieves' heads as one family, step by step; column 1 is the contrast of column 0."""
    scores, rules = run
    values = scores.values.astype(np.float64).reshape(len(rules), len(scores.examples), -1)
    own, null = [], []
    for k, head in places:
        claims = [(CLAIMS[side][0], k)]
        if k == 0 and CLAIMS[side][1]:
            claims.append((CLAIMS[side][1], 1))
        own.append(min(sign * _t(values[part, :, head], rules[part].margin) for sign, part in claims))
        drawn = [
            sign * np.array(list(_resampled(values[part, :, head], rules[part].margin, test)))
            for sign, part in claims
        ]
        null.append(np.max(drawn, axis=0))
    order = np.argsort(-np.array(own), kind="stable")
    adjusted, before = np.empty(len(own)), 0.0
    exact = test == "sign-flip" and 2 ** len(scores.examples) <= MAXT.resamples
    for step, place in enumerate(order):
        largest = np.array(null)[order[step:]].max(axis=0)
        reached = int((largest >= own[place] - 1e-9 * abs(own[place])).sum())
        before = max(before, (int(not exact) + reached) / (int(not exact) + len(largest)))
        adjusted[place] = before
    return adjusted.tolist()


@pytest.mark.parametrize(("test", "units"), [("t-skew", 40), ("sign-flip", 40), ("sign-flip", 6)])
def test_adjusted_values_are_those_of_the_procedure_written_out(test: str, units: int) -> None:
    scores, rules = made(1, units=units, layers=2, heads=3)
    values = scores.values.copy()
    if test == "t-skew":
        values[2, :10, 0, 0] = np.nan
    run = replace(scores, values=values), rules
    heads = {"sieve": [range(6)], "layer": [range(3), range(3, 6)], "run": [range(6)]}
    for family, parts in heads.items():
        found = judge(*run, replace(MAXT, test=test, family=family))
        groups = [[0, 2, 3]] if family == "run" else [[0], [2], [3]]
        for part in parts:
            for group in groups:
                places = [(k, head) for k in group for head in part]
                for side, (p, q) in enumerate(((found.p, found.q), (found.p_not, found.q_not))):
                    wanted = _written_out(run, places, test, side)
                    for (k, head), value in zip(places, wanted, strict=True):
                        at = (k, head // 3, head % 3)
                        assert q[at] == pytest.approx(max(value, p[at]), rel=1e-9), (family, at)


def test_a_head_with_one_outlier_hides_no_other_head() -> None:
    # Without its outlier the head is constant, and its statistic in that resample is infinite.
    rng = np.random.default_rng(11)
    values = rng.normal(0.2, 0.1, (1, 120, 30))
    values[0, :, 0], values[0, 0, 0] = 0.9 + 1e-4 * rng.normal(size=120), 0.3
    scores, rules = scored(values), [Rule("s0", low=-1.0, high=1.0)]
    for test in ("t", "t-skew"):
        decision = replace(MAXT, test=test, resamples=999)
        joint = judge(scores, rules, decision)
        assert (joint.decision == 0).all()
        assert joint.q[0, 0, 0] == pytest.approx(30 * max(joint.p[0, 0, 0], (1.1 / 1.895) ** 120), rel=1e-3)
        rest = judge(scored(values[:, :, 1:]), rules, decision).q[0, 0]
        np.testing.assert_allclose(joint.q[0, 0, 1:], np.minimum(rest * 30 / 29, 1), rtol=1e-9)


def test_heads_without_spread_keep_their_exact_p_times_the_tests_and_untestable_ones_are_in_no_family() -> (
    None
):
    scores, rules = made(3, units=50, layers=1, heads=4)
    values, holed = scores.values.copy(), scores.values.copy()
    values[2, :, 0, 0], holed[2, :, 0, 0] = 0.9, np.nan
    found, empty = (judge(replace(scores, values=given), rules, MAXT) for given in (values, holed))
    plain = judge(replace(scores, values=values[:, :, :, 1:]), rules, MAXT)
    assert found.q[2, 0, 0] == pytest.approx(4 * (1.1 / 1.9) ** 50, rel=1e-5)
    wanted = np.minimum(np.maximum(plain.q[2, 0] * 4 / 3, plain.p[2, 0]), 1)
    np.testing.assert_allclose(found.q[2, 0, 1:], wanted, rtol=1e-9)
    assert np.isnan(empty.q[2, 0, 0])
    np.testing.assert_array_equal(empty.q[2, 0, 1:], plain.q[2, 0])
    nothing = judge(replace(scores, values=np.full_like(values, np.nan)), rules, MAXT)
    assert np.isnan(nothing.q).all()
    assert (nothing.decision[[0, 2, 3]] == 3).all()


# Resamples that suffice.

TEN = [*(Rule(f"r{k}") for k in range(10)), Rule("r0:matched", role=False)]
REQUIRED = (
    (Decision("sign-flip", "holm"), 1439),  # 72 tests: 1/1440 = 0.05/72
    (Decision("bootstrap-t", "bonferroni", "run"), 14399),
    (Decision("bootstrap-t", "holm", "layer"), 239),
    (Decision("sign-flip", "sidak"), 1404),
    (Decision("sign-flip", "fdr_bh", alpha=0.001), 999),
    (Decision("sign-flip", "fdr_by", "layer", 0.01), 310),
    (Decision("t-skew", "maxT", "run", 0.001), 999),
)


def test_the_number_of_resamples_required_is_enough_for_a_label_and_one_fewer_is_refused() -> None:
    nothing = scored(np.full((11, 1, 6, 12), np.nan), TEN)
    for decision, required in REQUIRED:
        with pytest.raises(BadInput, match=f"give at least {required} resamples"):
            judge(nothing, TEN, replace(decision, resamples=required - 1))
        judge(nothing, TEN, replace(decision, resamples=required))
    for test in ("t-skew", "wilcoxon"):
        judge(nothing, TEN, Decision(test, "holm", "run", 1e-6, resamples=99))
    scores, rules = made(0, units=60)
    values = scores.values.copy()
    values[2, :, 0, 0] += 2
    for test in ("sign-flip", "bootstrap-t"):
        found = judge(replace(scores, values=values), rules, Decision(test, "bonferroni", resamples=239))
        assert found.decision[2, 0, 0] == 0
