"""judge(): what a finding says, units, joint decisions, edges, and who is never decided about."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats as reference

from headroles.records import Decision, Findings, Rule
from headroles.stats import ENOUGH_FOR_NOT, judge
from tests.support import table
from tests.support.scores import scored

ROLE, NOT, UNDETERMINED, UNTESTABLE, EXPLAINED, PART = 0, 1, 2, 3, 4, -1
BOUNDED = Rule("s0", low=-0.5, high=1.0)
JOINT = [Rule("s0", contrast="s1", low=-1.0, high=1.0), Rule("s1", margin=0.02, role=False, low=-1.0, high=1.0)]
TESTS = ("t-skew", "t", "bootstrap-t", "sign-flip", "wilcoxon", "sign", "t-published")


def _drawn(seed: int, means: Sequence[float], examples: int, sd: float = 0.1) -> np.ndarray:
    """Normal scores of one column, one layer, with a mean per head."""
    values = np.random.default_rng(seed).normal(0, sd, size=(1, examples, 1, len(means)))
    return np.asarray(means) + values


def _one(
    values: Sequence[float] | np.ndarray, rule: Rule = BOUNDED, decision: Decision | None = None
) -> Findings:
    """Findings of one head."""
    return judge(scored(np.reshape(values, (1, -1, 1, 1))), [rule], decision or Decision())


# What a finding says.


def test_a_finding_describes_the_scores_on_their_own_scale() -> None:
    null = np.linspace(0.5, 1.5, 60)[None]
    cells = np.where(np.arange(60) < 20, np.nan, np.arange(60.0))[None]
    scores = scored(_drawn(0, [1.3, 3.4], 60, sd=0.8), null=null, cells=cells)
    found = judge(scores, [Rule("s0", null=1.0, margin=2.0)], Decision(test="t"))
    stored = scores.values.astype(np.float64)[0, :, 0]
    beyond = stored - null[0][:, None]
    above, below = (reference.ttest_1samp(beyond, 2.0, alternative=side) for side in ("greater", "less"))
    ends = reference.ttest_1samp(beyond, 2.0).confidence_interval(0.95)
    for name, wanted in {
        "count": [60, 60], "cells": [39.5, 39.5], "null": [1.0, 1.0], "margin": [2.0, 2.0],
        "mean": stored.mean(axis=0), "effect": (beyond.mean(axis=0) - 2) / beyond.std(axis=0, ddof=1),
        "low": ends.low + 1, "high": ends.high + 1, "statistic": above.statistic, "p": above.pvalue,
        "p_not": below.pvalue, "decision": [UNDETERMINED, ROLE],
    }.items():  # fmt: skip
        np.testing.assert_allclose(getattr(found, name)[0, 0], wanted, rtol=1e-7, err_msg=name)
    bent = judge(scores, found.rules, Decision(interval="bca", resamples=999))
    bca = reference.bootstrap(
        (beyond,), np.mean, method="BCa", n_resamples=999, rng=np.random.default_rng(0)
    ).confidence_interval
    np.testing.assert_allclose((bent.low[0, 0], bent.high[0, 0]), (bca.low + 1, bca.high + 1), rtol=1e-9)


# Edges: columns that hold nothing, one thing, or too little.


def _edges() -> np.ndarray:
    """Heads: all NaN, one unit, two units, constants at 0.5, 0 and θ, half of the units, normal scores."""
    values = np.random.default_rng(2).normal(0.3, 0.1, (60, 8))
    values[:, 0] = values[1:, 1] = values[2:, 2] = np.nan
    values[:, 3], values[:, 4], values[:, 5], values[:30, 6] = 0.5, 0.0, 0.1, np.nan
    return values


@pytest.mark.parametrize("test", TESTS)
def test_edges_are_decided_alike_by_every_test(test: str) -> None:
    values = _edges()[None]
    decided = [UNTESTABLE, UNTESTABLE, UNDETERMINED, ROLE, NOT, UNDETERMINED, ROLE, ROLE]
    for bounded in (True, False):
        rule = Rule("s0", low=-0.5, high=1.0) if bounded else Rule("s0")
        found = judge(scored(values), [rule], Decision(test, resamples=1999))
        wanted = decided if bounded else [*decided[:3], *[UNTESTABLE] * 3, *decided[6:]]
        assert found.decision[0, 0].tolist() == wanted
        assert found.count[0, 0].tolist() == [0, 1, 2, 60, 60, 60, 30, 60]
        tested = [code != UNTESTABLE for code in wanted]
        for name in ("p", "q", "p_not", "q_not"):
            numbers = getattr(found, name)[0, 0]
            np.testing.assert_array_equal(~np.isnan(numbers), tested, err_msg=name)
            assert ((numbers[tested] >= 0) & (numbers[tested] <= 1)).all()
        assert np.isnan(found.effect[0, 0, [0, 1, 3, 4, 5]]).all()
        assert np.isnan(found.statistic[0, 0, [0, 1, 3, 4, 5]]).all()
        assert np.isnan(found.mean[0, 0]).tolist() == [True] + [False] * 7
    nothing = judge(scored(np.empty((1, 0, 2, 3))), [BOUNDED], Decision(test))
    assert (nothing.decision == UNTESTABLE).all()


CONSTANTS = """
    # score | units | p           | p_not    | decision
    0.0     | 49    | 1           | 0.9**49  | 2
    0.0     | 50    | 1           | 0.9**50  | 1
    1.0     | 19    | .4**19      | 1        | 2
    1.0     | 20    | .4**20      | 1        | 0
    0.11    | 50    | (.6/.61)**50| 1        | 2
    0.11    | 1000  | (.6/.61)**1000 | 1     | 0
    0.1     | 500   | 1           | 1        | 2
"""


def test_constants_have_exact_p_from_their_bounds() -> None:
    for value, units, p, p_not, decided in table(CONSTANTS):
        found = _one(np.full(int(units), float(value)))
        assert found.p.item() == pytest.approx(eval(p), rel=1e-4), value
        assert found.p_not.item() == pytest.approx(eval(p_not), rel=1e-4), value
        assert found.decision.item() == int(decided), (value, units)
    rule = Rule("s0", low=0.0, high=1.0)  # a share whose chance is 0.5 lies in [−0.5, 0.5] beyond it
    null = np.linspace(0.25, 0.5, 20)[None]  # where chance varies the widest bounds are taken
    for values, chance in ((np.full((1, 20, 1), 0.75), 0.5), (null[..., None] + 0.25, null)):
        found = judge(scored(values, null=chance), [rule], Decision())
        assert found.p.item() == pytest.approx((0.6 / 0.75) ** 20)


def test_float32_rounding_is_no_spread() -> None:
    rng = np.random.default_rng(24)
    for level, spread, known in ((0.1, 5e-7, False), (0.1, 5e-5, True), (200.0, 1e-5, False)):
        found = _one(level + rng.uniform(-spread, spread, size=128))
        assert np.isfinite(found.statistic.item()) == known, (level, spread)


# Decisions.


@pytest.mark.parametrize("correction", ["fdr_tsbh", "fdr_bh", "holm"])
def test_a_head_far_below_the_margin_is_no_role_whatever_the_others_are(correction: str) -> None:
    # The two-stage rate multiplies p by the share of true nulls: 1 becomes 1/72 among 71 true roles.
    found = judge(scored(_drawn(13, [0.5] * 71 + [-0.3], 100)), [BOUNDED], Decision(correction=correction))
    assert found.decision[0, 0].tolist() == [ROLE] * 71 + [NOT]
    assert found.p[0, 0, -1] == 1.0
    assert (found.q[0, 0, -1] < 0.05) == (correction == "fdr_tsbh")


def test_not_and_explained_need_fifty_units_or_300_without_bounds_and_a_role_needs_20() -> None:
    for units, enough in ((ENOUGH_FOR_NOT - 1, False), (ENOUGH_FOR_NOT, True)):
        found = _one(_drawn(9, [0.0], units))
        assert found.p_not.item() < 1e-6
        assert found.decision.item() == (NOT if enough else UNDETERMINED)
        pair = np.concatenate([_drawn(1, [0.5], units), _drawn(2, [-0.5], units)])
        explained = judge(scored(pair), JOINT, Decision()).decision[0].item()
        assert explained == (EXPLAINED if enough else UNDETERMINED)
    grouped = scored(_drawn(10, [0.0], 200), units=[k % 49 for k in range(200)])
    assert judge(grouped, [BOUNDED], Decision()).decision.item() == UNDETERMINED
    for units, bounded, decided in ((19, True, UNDETERMINED), (20, True, ROLE), (20, False, ROLE)):
        assert _one(_drawn(12, [0.5], units), BOUNDED if bounded else Rule("s0")).decision.item() == decided
    for units, decided in ((299, UNDETERMINED), (300, NOT)):
        assert _one(_drawn(9, [0.0], units), Rule("s0")).decision.item() == decided
    pair = np.concatenate([_drawn(11, [0.2, 0.0], 80), _drawn(12, [-0.1, -0.1], 80)])
    pair[1, 30:] = np.nan  # 30 units of the contrast explain nothing
    found = judge(scored(pair), JOINT, Decision())
    assert (found.p_not[1] < 1e-3).all()
    assert found.decision[0, 0].tolist() == [UNDETERMINED, NOT]


def test_a_score_beyond_its_margin_is_a_role_or_explained_by_its_contrast() -> None:
    means = np.array([[0.5, 0.5, 0.0, 0.0, 0.5, 0.1, 0.1], [0.2, 0.0, 0.2, 0.0, 0.02, 0.2, 0.0]])
    values = np.random.default_rng(19).normal(0, 0.03, (2, 300, 7))
    values += (means - values.mean(axis=1))[:, None]
    found = judge(scored(values), JOINT, Decision())
    assert found.decision[0, 0].tolist() == [ROLE, EXPLAINED, NOT, NOT] + [UNDETERMINED] * 3
    assert (found.decision[1] == PART).all()


def test_the_order_of_columns_does_not_matter_and_a_head_without_its_contrast_is_no_role() -> None:
    values = np.random.default_rng(20).normal(0.1, 0.1, size=(2, 60, 3, 4))
    values[0, :, 0, 2] -= 0.6
    values[1, :, 0, [0, 2]] = np.nan
    found = judge(scored(values), JOINT, Decision())
    assert found.decision[0, 0, [0, 2]].tolist() == [UNTESTABLE, NOT]
    turned = judge(scored(values[::-1], JOINT[::-1]), JOINT[::-1], Decision())
    for name in ("p", "q", "p_not", "q_not", "decision"):
        np.testing.assert_array_equal(getattr(found, name), getattr(turned, name)[::-1])
