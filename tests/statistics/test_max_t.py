"""Step-down max-t is the loop of Romano and Wolf written out, with heads that hang on few units apart."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles.errors import BadInput
from headroles.records import Decision, Rule, Scores
from headroles.stats import adjust, bounded_p, collapse_rate, judge, sign_flips
from tests.support.reference import draws
from tests.support.scores import made, scored

pytestmark = pytest.mark.usefixtures("module_unguarded")
Run = tuple[Scores, list[Rule]]
MAXT = Decision(correction="maxT", resamples=99, seed=3)
CLAIMS = ((1, 1), (-1, 0))
"""Signs of the main mean and of the contrast in what a direction claims: role, not."""


def _t(values: np.ndarray, theta: float) -> float:
    """Student's t; its limit where the values are all equal."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (values.mean() - theta) / (values.std(ddof=1) / len(values) ** 0.5)
    return float(np.nan_to_num(found, nan=0.0, posinf=np.inf, neginf=-np.inf))


def _resampled(column: np.ndarray, margin: float, test: str) -> Iterator[float]:
    """Null statistics of one head, draw by draw."""
    n = len(column)
    if test == "sign-flip":
        for signs in np.concatenate(list(sign_flips(n, MAXT.resamples, MAXT.seed))):
            yield _t(signs * (column - margin), 0.0)
        return
    for row in np.random.default_rng(MAXT.seed).integers(0, n, (MAXT.resamples, n)):
        yield _t(column[row], float(column.mean()))


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
    run = made(1, units=units, layers=2, heads=3)
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


def test_heads_and_contrasts_with_one_outlier_hide_no_other_head() -> None:
    # Without its outlier the head is constant, and its statistic in that resample is infinite.
    rng = np.random.default_rng(11)
    values = rng.normal(0.2, 0.1, (1, 120, 30))
    values[0, :, 0], values[0, 0, 0] = 0.9 + 1e-4 * rng.normal(size=120), 0.3
    scores, rules = scored(values), [Rule("s0", low=-1.0, high=1.0)]
    for test in ("t", "t-skew"):
        joint, holm = (
            judge(scores, rules, Decision(test, correction, resamples=999)) for correction in ("maxT", "holm")
        )
        assert (holm.decision == 0).sum() == (joint.decision == 0).sum() == 30
        bounds = bounded_p(scores.values[0, :, 0, :1].astype(float), 0.1, -1.0, 1.0)[0][0]
        hanging = max(joint.p[0, 0, 0], bounds)  # a head that hangs on few units has the p of its bounds
        assert joint.q[0, 0, 0] == pytest.approx(30 * hanging, rel=1e-6)
        rest = judge(scored(values[:, :, 1:]), rules, Decision(test, "maxT", resamples=999)).q[0, 0]
        np.testing.assert_allclose(joint.q[0, 0, 1:], np.minimum(rest * 30 / 29, 1), rtol=1e-9)
    pair = rng.normal(0.2, 0.1, (2, 120, 12))
    pair[0, :, 1] -= 0.4
    pair[1, :, :2], pair[1, 0, :2] = 0.9 + 1e-4 * rng.normal(size=(120, 2)), 0.3
    found = judge(
        scored(pair), [Rule("s0", contrast="s1"), Rule("s1", role=False)], replace(MAXT, resamples=999)
    )
    assert found.decision[0, 0].tolist() == [0, 1] + [0] * 10


def test_the_collapse_rate_is_the_chance_to_draw_none_of_the_few_units_that_hold_the_spread() -> None:
    rng = np.random.default_rng(13)
    values = np.full((80, 5), 0.5) + 1e-3 * rng.normal(size=(80, 5))
    for head, few in enumerate((1, 2, 4)):
        values[:few, head] = 0.9
    values[:, 3], values[:, 4] = rng.normal(size=80), 0.5
    rate = collapse_rate(values)
    np.testing.assert_allclose(rate[:3], [(1 - few / 80) ** 80 for few in (1, 2, 4)])
    assert rate[3] < 1e-9
    assert rate[4] == 1
    drawn = values[rng.integers(0, 80, (4000, 80))]
    shrunk = (drawn.std(axis=1) <= values.std(axis=0) / 4)[:, :3].mean(axis=0)
    np.testing.assert_allclose(shrunk, rate[:3], atol=0.03)
    holed = values.copy()
    holed[40:, 0] = np.nan
    assert collapse_rate(holed)[0] == pytest.approx(rate[0])


@settings(max_examples=draws(25))
@given(
    seed=st.integers(0, 10_000),
    units=st.integers(30, 60),
    heads=st.integers(1, 12),
    hanging=st.integers(0, 4),
)
def test_adjusted_p_are_never_below_their_own_and_fall_with_the_statistic(
    seed: int, units: int, heads: int, hanging: int
) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(0.1, 0.1, (1, units, heads)) + rng.normal(0, 0.1, heads)
    few = min(hanging, heads)
    values[0, 1:, :few] = values[0, 1, :few]
    found = judge(scored(values), [Rule("s0")], replace(MAXT, test="t", resamples=99))
    for sign, p, q in ((1, found.p, found.q), (-1, found.p_not, found.q_not)):
        own, adjusted, statistic = (array.ravel() for array in (p, q, sign * found.statistic))
        assert (adjusted >= own).all()
        assert (adjusted <= 1).all()
        for part in (slice(0, few), slice(few, heads)):
            order = np.argsort(-statistic[part], kind="stable")
            assert (np.diff(adjusted[part][order]) >= -1e-12).all()


def test_units_without_a_score_are_missing_from_their_own_heads_only() -> None:
    scores, rules = made(2, units=50, layers=1, heads=4)
    values = scores.values.copy()
    values[2, :10, 0, 0] = np.nan
    holed = judge(replace(scores, values=values), rules, MAXT)
    alone = judge(scored(values[2:3, 10:, :, :1], rules[2:3]), rules[2:3], MAXT)
    assert holed.count[2, 0, 0] == 40
    assert holed.statistic[2, 0, 0] == alone.statistic.item()
    draws_of = np.random.default_rng(MAXT.seed).integers(0, 50, (MAXT.resamples, 50))
    column = values[2, :, 0, 0].astype(float)
    stars = []
    for row in draws_of:  # of all units, so that heads stay together; NaN are left out of each resample
        drawn = column[row][~np.isnan(column[row])]
        stars.append(_t(drawn, float(np.nanmean(column))))
    one = judge(scored(values[2:3, :, :, :1], rules[2:3]), rules[2:3], replace(MAXT, test="t"))
    reached = (1 + (np.array(stars) >= one.statistic.item()).sum()) / (1 + MAXT.resamples)
    assert one.q.item() == pytest.approx(max(reached, one.p.item()))


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


def test_strong_roles_and_explained_heads_are_corrected_by_holm() -> None:
    values = np.random.default_rng(7).normal([[[0.3]], [[0.08]], [[0.06]]], 0.1, (3, 80, 6))
    rules = [
        Rule("a", contrast="a:m", stronger="a:c"), Rule("a:m", margin=0.02, role=False),
        Rule("a:c", margin=0.02, role=False),
    ]  # fmt: skip
    found = judge(scored(values, rules), rules, MAXT)
    np.testing.assert_allclose(found.q[2, 0], adjust(found.p[2, 0], "holm"))


def test_equal_heads_cost_nothing_under_max_t_where_holm_pays_for_each() -> None:
    column = np.random.default_rng(5).normal(0.16, 0.1, size=(1, 60, 1)).repeat(30, axis=2)
    joint = judge(scored(column), [Rule("s0")], replace(MAXT, resamples=1999))
    holm = judge(scored(column), [Rule("s0")], Decision(correction="holm"))
    assert joint.q.max() < 3 * joint.p.max() + 2e-3
    assert holm.q.min() == pytest.approx(30 * holm.p.min(), rel=1e-6)


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
    for test in ("t-skew", "t", "wilcoxon", "sign"):
        judge(nothing, TEN, Decision(test, "holm", "run", 1e-6, resamples=99))
    scores, rules = made(0, units=60)
    values = scores.values.copy()
    values[2, :, 0, 0] += 2
    for test in ("sign-flip", "bootstrap-t"):
        found = judge(replace(scores, values=values), rules, Decision(test, "bonferroni", resamples=239))
        assert found.decision[2, 0, 0] == 0
