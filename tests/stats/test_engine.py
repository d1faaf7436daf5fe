"""judge(): units, families, joint decisions, and who is never decided about."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats as reference

from headroles.errors import BadInput, UnknownName
from headroles.records.example import Scores
from headroles.records.findings import Findings
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.correction import adjust
from headroles.stats.decision import ENOUGH_FOR_NOT
from headroles.stats.engine import judge
from headroles.stats.methods.closed_form import bounded_outcome, student_skew
from headroles.stats.moments import describe

ROLE, NOT, UNDETERMINED, UNTESTABLE, EXPLAINED, PART = 0, 1, 2, 3, 4, -1
BOUNDED = Rule("s0", low=-0.5, high=1.0)


def _scores(
    values: np.ndarray,
    *,
    units: Sequence[str] | None = None,
    null: np.ndarray | float = 0.0,
    cells: np.ndarray | float = 5.0,
) -> Scores:
    """Scores of shape (sieves, examples, layers, heads); sieves are called s0, s1 and so on."""
    sieves, examples = values.shape[:2]
    names = tuple(f"x{k}" for k in range(examples))
    return Scores(
        sieves=tuple(f"s{k}" for k in range(sieves)),
        examples=names,
        units=tuple(units) if units is not None else names,
        tokens=np.full(examples, 12),
        cells=np.broadcast_to(np.asarray(cells, dtype=np.float64), (sieves, examples)).copy(),
        values=values.astype(np.float32),
        null=np.broadcast_to(np.asarray(null, dtype=np.float64), (sieves, examples)).copy(),
    )


def _drawn(
    rng: np.random.Generator, means: np.ndarray | Sequence[float], examples: int, sd: float = 0.1
) -> np.ndarray:
    """Normal scores of one sieve, one layer, with a mean per head."""
    return np.asarray(means) + rng.normal(0, sd, size=(1, examples, 1, len(means)))


def _one(
    values: Sequence[float] | np.ndarray, rule: Rule = BOUNDED, decision: Decision | None = None
) -> Findings:
    """Findings of one head."""
    column = np.asarray(values, dtype=np.float64).reshape(1, -1, 1, 1)
    return judge(_scores(column), [rule], decision or Decision())


# What a finding says.


def test_a_finding_describes_the_scores_on_their_own_scale() -> None:
    values = _drawn(np.random.default_rng(0), [1.3, 3.4], 60, sd=0.8)
    rule = Rule("s0", null=1.0, margin=2.0)
    found = judge(_scores(values, null=1.0), [rule], Decision(test="t"))
    stored = values.astype(np.float32).astype(np.float64)[0, :, 0]
    ends = reference.ttest_1samp(stored, 3.0).confidence_interval(0.95)
    upper = reference.ttest_1samp(stored, 3.0, alternative="greater")
    lower = reference.ttest_1samp(stored, 3.0, alternative="less")
    np.testing.assert_allclose(found.mean[0, 0], stored.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.low[0, 0], ends.low, rtol=1e-9)
    np.testing.assert_allclose(found.high[0, 0], ends.high, rtol=1e-9)
    np.testing.assert_allclose(found.statistic[0, 0], upper.statistic, rtol=1e-9)
    np.testing.assert_allclose(found.p[0, 0], upper.pvalue, rtol=1e-7)
    np.testing.assert_allclose(found.p_not[0, 0], lower.pvalue, rtol=1e-7)
    assert found.count.tolist() == [[[60, 60]]]
    assert found.null.tolist() == [[[1.0, 1.0]]]
    assert found.margin.tolist() == [[[2.0, 2.0]]]
    assert found.decision.tolist() == [[[NOT, ROLE]]]


def test_the_default_test_is_the_skewness_corrected_one() -> None:
    values = np.random.default_rng(1).gamma(4.0, 0.03, size=(1, 200, 1, 3))  # no role hinges on few units
    found = judge(_scores(values), [BOUNDED], Decision())
    wanted = student_skew(describe(values.astype(np.float32).astype(np.float64)[0]), 0.1)
    np.testing.assert_allclose(found.statistic[0], wanted.statistic, rtol=1e-9)
    np.testing.assert_allclose(found.p[0], wanted.p, rtol=1e-9)


def test_the_effect_is_pingouins_cohen_d_with_a_sign() -> None:
    import pingouin

    values = _drawn(np.random.default_rng(2), [0.02, 0.3], 40)
    found = judge(_scores(values), [BOUNDED], Decision())
    for head, sign in ((0, -1), (1, 1)):
        column = values[0, :, 0, head].astype(np.float32).astype(np.float64)
        theirs = float(pingouin.ttest(column, 0.1)["cohen_d"].iloc[0])
        assert found.effect[0, 0, head] == pytest.approx(sign * abs(theirs), rel=1e-6)
        assert np.sign(found.effect[0, 0, head]) == sign


def test_the_null_of_each_example_is_taken_off_before_the_test() -> None:
    rng = np.random.default_rng(3)
    null = rng.uniform(0.2, 0.6, size=(1, 80))
    beyond = rng.normal(0.25, 0.05, size=(1, 80, 1, 1))
    shifted = judge(_scores(beyond + null[:, :, None, None], null=null), [BOUNDED], Decision())
    plain = judge(_scores(beyond), [BOUNDED], Decision())
    np.testing.assert_allclose(shifted.statistic, plain.statistic, rtol=1e-4)
    assert shifted.null[0, 0, 0] == pytest.approx(null.mean())
    assert shifted.mean[0, 0, 0] == pytest.approx((beyond + null[:, :, None, None]).mean(), rel=1e-6)


def test_cells_are_averaged_over_the_examples_that_have_them() -> None:
    cells = np.array([[2.0, 4.0, np.nan], [np.nan, np.nan, np.nan]])
    found = judge(
        _scores(np.random.default_rng(4).random((2, 3, 1, 2)), cells=cells),
        [BOUNDED, Rule("s1")],
        Decision(),
    )
    assert found.cells[0].tolist() == [[3.0, 3.0]]
    assert np.isnan(found.cells[1]).all()


def test_scores_are_not_changed_by_judging_them() -> None:
    scores = _scores(np.random.default_rng(5).random((1, 30, 1, 2)), null=0.5)
    before = scores.values.copy()
    judge(scores, [BOUNDED], Decision())
    np.testing.assert_array_equal(scores.values, before)


# Units.


def test_the_examples_of_a_group_are_one_unit() -> None:
    rng = np.random.default_rng(6)
    values = rng.normal(0.15, 0.1, size=(1, 60, 1, 2))
    values[0, 7, 0, 1] = np.nan
    units = [f"u{k}" for k in rng.integers(20, size=60)]
    found = judge(_scores(values, units=units), [BOUNDED], Decision())
    means = []
    for unit in sorted(set(units)):
        inside = values[0, [own == unit for own in units], 0].astype(np.float32).astype(np.float64)
        means.append(np.nanmean(inside, axis=0))
    by_hand = judge(_scores(np.array(means)[None, :, None, :]), [BOUNDED], Decision())
    assert found.count[0, 0].tolist() == [len(set(units))] * 2
    np.testing.assert_allclose(found.statistic, by_hand.statistic, rtol=1e-5)
    np.testing.assert_allclose(found.p, by_hand.p, rtol=1e-4)


def test_repeating_every_input_changes_nothing_when_copies_share_a_unit() -> None:
    values = _drawn(np.random.default_rng(7), [0.12, 0.3], 60)
    units = [f"u{k}" for k in range(60)]
    once = judge(_scores(values, units=units), [BOUNDED], Decision())
    again = np.concatenate([values] * 5, axis=1)
    five = judge(_scores(again, units=units * 5), [BOUNDED], Decision())
    np.testing.assert_allclose(five.p, once.p, rtol=1e-6)
    assert five.count.tolist() == once.count.tolist()


@pytest.mark.parametrize("units", [0, 1])
def test_fewer_than_two_units_are_untestable(units: int) -> None:
    values = np.full((1, 30, 1, 2), np.nan)
    values[0, :10, 0, 0] = 0.9 if units else np.nan
    values[0, :, 0, 1] = np.random.default_rng(8).normal(0.5, 0.1, size=30)
    found = judge(_scores(values, units=["u0"] * 10 + [f"v{k}" for k in range(20)]), [BOUNDED], Decision())
    assert found.decision[0, 0].tolist() == [UNTESTABLE, ROLE]
    assert found.count[0, 0, 0] == units
    for name in ("statistic", "p", "q", "p_not", "q_not", "low", "high", "effect"):
        assert np.isnan(getattr(found, name)[0, 0, 0])
    assert found.q[0, 0, 1] == found.p[0, 0, 1]  # the other is a family of one


def test_two_units_are_tested() -> None:
    assert _one([0.7, 0.701]).decision.item() == ROLE


def test_no_examples_at_all_are_untestable() -> None:
    found = judge(_scores(np.empty((1, 0, 2, 3))), [BOUNDED], Decision())
    assert (found.decision == UNTESTABLE).all()


@pytest.mark.parametrize("correction", ["fdr_tsbh", "fdr_bh", "holm"])
def test_a_head_far_below_the_margin_is_no_role_whatever_the_others_are(correction: str) -> None:
    # The two-stage rate multiplies p by the share of true nulls: 1 becomes 1/72 among 71 true roles.
    values = _drawn(np.random.default_rng(13), [0.5] * 71 + [-0.3], 100)
    found = judge(_scores(values), [BOUNDED], Decision(correction=correction))
    assert found.decision[0, 0].tolist() == [ROLE] * 71 + [NOT]
    assert found.p[0, 0, -1] == 1.0
    if correction == "fdr_tsbh":
        assert found.q[0, 0, -1] < 0.05


# "Not" needs units.


@pytest.mark.parametrize(("units", "decided"), [(ENOUGH_FOR_NOT - 1, UNDETERMINED), (ENOUGH_FOR_NOT, NOT)])
def test_not_is_never_said_below_fifty_units(units: int, decided: int) -> None:
    found = _one(np.random.default_rng(9).normal(0, 0.05, size=units))
    assert found.p_not.item() < 1e-6
    assert found.decision.item() == decided


def test_fifty_examples_of_fewer_units_are_not_enough_for_not() -> None:
    values = _drawn(np.random.default_rng(10), [0.0], 200)
    found = judge(_scores(values, units=[f"u{k % 49}" for k in range(200)]), [BOUNDED], Decision())
    assert found.decision.item() == UNDETERMINED


@pytest.mark.parametrize(("mean", "decided"), [(0.2, UNDETERMINED), (0.0, NOT)])
def test_explained_needs_fifty_units_of_the_contrast_and_not_needs_none(mean: float, decided: int) -> None:
    rng = np.random.default_rng(11)
    values = np.concatenate([_drawn(rng, [mean], 80), _drawn(rng, [0.0], 80)])
    values[1, 30:] = np.nan
    rules = [Rule("s0", contrast="s1"), Rule("s1", role=False)]
    found = judge(_scores(values), rules, Decision())
    assert found.p_not[1].item() < 1e-3
    assert found.decision[0].item() == decided


def test_a_role_can_be_said_of_few_units() -> None:
    assert _one(np.random.default_rng(12).normal(0.5, 0.05, size=10)).decision.item() == ROLE


# Families.


def _four_sieves(rng: np.random.Generator) -> tuple[Scores, list[Rule]]:
    """Two sieves, of which the first has a contrast; 24 heads, most near the margin."""
    values = rng.normal(0.12, 0.1, size=(4, 60, 2, 12))
    rules = [
        Rule("s0", contrast="s1"),
        Rule("s1", margin=0.02, role=False),
        Rule("s2"),
        Rule("s3"),
    ]
    return _scores(values), rules


@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize("correction", ["fdr_bh", "holm", "bonferroni", "fdr_by"])
def test_a_sieves_heads_are_one_family_by_default(correction: str) -> None:
    scores, rules = _four_sieves(np.random.default_rng(13))
    found = judge(scores, rules, Decision(correction=correction))
    for k in range(4):
        for raw, adjusted in ((found.p, found.q), (found.p_not, found.q_not)):
            wanted = adjust(raw[k].ravel(), correction).reshape(raw[k].shape)
            np.testing.assert_allclose(adjusted[k], wanted, rtol=1e-12)


@pytest.mark.usefixtures("unguarded")
def test_a_run_wide_family_holds_all_roles_and_no_contrast() -> None:
    scores, rules = _four_sieves(np.random.default_rng(14))
    found = judge(scores, rules, Decision(family="run", correction="holm"))
    roles = [0, 2, 3]
    for raw, adjusted in ((found.p, found.q), (found.p_not, found.q_not)):
        wanted = adjust(raw[roles].ravel(), "holm").reshape(raw[roles].shape)
        np.testing.assert_allclose(adjusted[roles], wanted, rtol=1e-12)
        np.testing.assert_allclose(adjusted[1], adjust(raw[1].ravel(), "holm").reshape(raw[1].shape))


@pytest.mark.parametrize("family", ["sieve", "run"])
def test_contrasts_do_not_move_the_adjusted_values_of_other_roles(family: str) -> None:
    scores, rules = _four_sieves(np.random.default_rng(15))
    both = judge(scores, rules, Decision(family=family))
    bent = scores.values.copy()
    bent[1] += 0.5  # the contrast of s0 passes everywhere
    other = judge(replace(scores, values=bent), rules, Decision(family=family))
    if family == "sieve":
        np.testing.assert_array_equal(both.q[2:], other.q[2:])
    alone = judge(
        replace(
            scores,
            sieves=("s0", "s2", "s3"),
            values=bent[[0, 2, 3]],
            cells=scores.cells[[0, 2, 3]],
            null=scores.null[[0, 2, 3]],
        ),
        [Rule("s0"), Rule("s2"), Rule("s3")],
        Decision(family=family),
    )
    np.testing.assert_allclose(other.q[[0, 2, 3]], alone.q, rtol=1e-6)


def test_the_two_directions_are_corrected_apart() -> None:
    # One clear role among many clear nots: over both directions together its q would be doubled.
    means = [0.16] + [-0.2] * 19
    found = judge(
        _scores(_drawn(np.random.default_rng(16), means, 60)), [BOUNDED], Decision(correction="holm")
    )
    assert found.q[0, 0, 0] == pytest.approx(20 * found.p[0, 0, 0], rel=1e-9)
    both = np.concatenate([found.p.ravel(), found.p_not.ravel()])
    assert adjust(both, "holm")[0] > found.q[0, 0, 0]
    assert found.decision[0, 0].tolist() == [ROLE] + [NOT] * 19


def test_untestable_heads_do_not_count_among_the_tests() -> None:
    values = _drawn(np.random.default_rng(17), [0.15, 0.15, 0.15], 60)
    values[0, :, 0, 1] = np.nan
    found = judge(_scores(values), [BOUNDED], Decision(correction="bonferroni"))
    np.testing.assert_allclose(found.q[0, 0, [0, 2]], np.minimum(2 * found.p[0, 0, [0, 2]], 1), rtol=1e-12)
    assert found.decision[0, 0, 1] == UNTESTABLE


def test_an_adjusted_p_of_exactly_alpha_is_a_role() -> None:
    values = _drawn(np.random.default_rng(18), [0.13], 40)
    p = judge(_scores(values), [BOUNDED], Decision()).q.item()
    assert judge(_scores(values), [BOUNDED], Decision(alpha=p)).decision.item() == ROLE
    below = float(np.nextafter(p, 0))
    assert judge(_scores(values), [BOUNDED], Decision(alpha=below)).decision.item() == UNDETERMINED


# Roles that also need a contrast.


def _joint(selectivity: float, contrast: float, units: int = 200) -> Findings:
    rng = np.random.default_rng(19)
    values = np.concatenate([_drawn(rng, [selectivity], units, 0.03), _drawn(rng, [contrast], units, 0.03)])
    rules = [Rule("s0", margin=0.1, contrast="s1"), Rule("s1", margin=0.02, role=False)]
    return judge(_scores(values), rules, Decision())


@pytest.mark.parametrize(
    ("selectivity", "contrast", "decided"),
    [
        (0.5, 0.2, ROLE),
        (0.5, 0.0, EXPLAINED),
        (0.0, 0.2, NOT),
        (0.0, 0.0, NOT),
        (0.5, 0.02, UNDETERMINED),
        (0.1, 0.2, UNDETERMINED),
        (0.1, 0.0, UNDETERMINED),
    ],
)
def test_a_score_beyond_its_margin_is_a_role_or_explained_by_its_contrast(
    selectivity: float, contrast: float, decided: int
) -> None:
    assert _joint(selectivity, contrast).decision[:, 0, 0].tolist() == [decided, PART]


def test_the_joint_p_is_the_larger_and_p_not_that_of_the_score_alone() -> None:
    rng = np.random.default_rng(20)
    values = rng.normal(0.1, 0.1, size=(2, 60, 3, 4))
    joint = [Rule("s0", contrast="s1"), Rule("s1", margin=0.02, role=False)]
    found = judge(_scores(values), joint, Decision())
    alone = judge(_scores(values), [Rule("s0"), Rule("s1", margin=0.02)], Decision())
    np.testing.assert_array_equal(found.p[0], np.maximum(alone.p[0], alone.p[1]))
    np.testing.assert_array_equal(found.p_not, alone.p_not)
    np.testing.assert_array_equal(found.p[1], alone.p[1])
    for name in ("count", "mean", "effect", "low", "high", "statistic"):
        np.testing.assert_array_equal(getattr(found, name), getattr(alone, name))


def test_the_contrast_may_stand_before_its_sieve() -> None:
    values = np.random.default_rng(21).normal(0.1, 0.1, size=(2, 60, 1, 6))
    ordered = judge(_scores(values), [Rule("s0", contrast="s1"), Rule("s1", role=False)], Decision())
    turned = judge(_scores(values[::-1]), [Rule("s1", role=False), Rule("s0", contrast="s1")], Decision())
    np.testing.assert_array_equal(ordered.p[0], turned.p[1])
    np.testing.assert_array_equal(ordered.q_not[0], turned.q_not[1])


def test_without_a_contrast_to_test_the_role_is_untestable_and_not_is_not() -> None:
    values = np.random.default_rng(22).normal(0.5, 0.1, size=(2, 60, 1, 3))
    values[0, :, 0, 2] -= 0.6
    values[1, :, 0, [0, 2]] = np.nan
    found = judge(_scores(values), [Rule("s0", contrast="s1"), Rule("s1", role=False)], Decision())
    assert found.decision.tolist() == [[[UNTESTABLE, ROLE, NOT]], [[PART, PART, PART]]]


# Scores without spread.


@pytest.mark.parametrize(("units", "decided"), [(49, UNDETERMINED), (50, NOT), (128, NOT)])
def test_a_head_of_even_attention_is_not_a_role(units: int, decided: int) -> None:
    found = _one(np.zeros(units))
    assert found.p_not.item() == pytest.approx(0.9**units)
    assert found.decision.item() == decided
    assert np.isnan(found.statistic.item())
    assert np.isnan(found.effect.item())


def test_a_head_that_always_has_all_its_attention_inside_is_a_role() -> None:
    found = _one(np.ones(5))
    assert found.p.item() == pytest.approx((0.6 / 1.5) ** 5)
    assert found.decision.item() == ROLE
    assert 0.1 < found.low.item() < found.mean.item() == found.high.item() == 1.0


def test_a_constant_barely_above_the_margin_stays_undetermined() -> None:
    assert _one(np.full(50, 0.11)).decision.item() == UNDETERMINED
    assert _one(np.full(1000, 0.11)).decision.item() == ROLE


def test_a_constant_of_unknown_bounds_is_untestable_and_in_no_family() -> None:
    values = np.concatenate(
        [np.full((1, 60, 1, 1), 0.5), _drawn(np.random.default_rng(23), [0.13], 60)], axis=3
    )
    found = judge(_scores(values), [Rule("s0")], Decision(correction="bonferroni"))
    assert found.decision[0, 0, 0] == UNTESTABLE
    assert np.isnan(found.p[0, 0, 0])
    assert found.q[0, 0, 1] == found.p[0, 0, 1]


def test_the_bounds_of_a_constant_move_with_the_chance_value() -> None:
    # A share in [0, 1] whose chance is 0.5 lies in [-0.5, 0.5] beyond chance.
    rule = Rule("s0", low=0.0, high=1.0)
    found = judge(_scores(np.full((1, 20, 1, 1), 0.75), null=0.5), [rule], Decision())
    assert found.p.item() == pytest.approx((0.6 / 0.75) ** 20)
    column = describe(np.full((20, 1), 0.25))
    assert found.low.item() == pytest.approx(0.5 + bounded_outcome(column, 0.1, -0.5, 0.5).low[0])


def test_where_chance_varies_the_widest_bounds_are_taken() -> None:
    null = np.linspace(0.25, 0.5, 20)[None]
    values = (null + 0.25)[:, :, None, None]
    found = judge(_scores(values, null=null), [Rule("s0", low=0.0, high=1.0)], Decision())
    assert found.p.item() == pytest.approx((0.6 / 0.75) ** 20)


def test_float32_rounding_is_no_spread() -> None:
    rng = np.random.default_rng(24)
    assert np.isnan(_one(0.1 + rng.uniform(-5e-7, 5e-7, size=128)).statistic.item())
    assert np.isfinite(_one(0.1 + rng.uniform(-5e-5, 5e-5, size=128)).statistic.item())


# Names and numbers that do not exist.


@pytest.mark.parametrize(
    ("kind", "wrong", "near"),
    [("test", "t-skwe", "t-skew"), ("correction", "fdr_hb", "fdr_b"), ("family", "sieves", "sieve")],
)
def test_an_unknown_name_is_refused_with_the_nearest_known_one(kind: str, wrong: str, near: str) -> None:
    asked: dict[str, Any] = {kind: wrong}
    with pytest.raises(UnknownName, match=rf"no {kind} is called '{wrong}'; did you mean '{near}"):
        _one([0.1, 0.2], decision=Decision(**asked))


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.05, 5.0, float("nan")])
def test_an_alpha_outside_its_range_is_refused(alpha: float) -> None:
    with pytest.raises(BadInput, match="alpha must lie between 0 and 1"):
        _one([0.1, 0.2], decision=Decision(alpha=alpha))


# Sensitivity.
