"""Tests of roles over heads, one by one and together: sklearn's area, honest p, self-repair that is seen."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import roc_auc_score
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW

from headroles.records.causal.ablation import HeadSets, HeldRoles
from headroles.records.example import Scores
from headroles.records.rules.rule import Decision
from headroles.stats.causal.groups import group_tests
from headroles.stats.causal.judge import judge_ablation
from headroles.stats.causal.rarity import random_areas, rarity
from headroles.stats.causal.roles import unit_areas
from headroles.stats.columns import select_examples
from tests.support.causal.damages import ablation_scores, made_roles, made_sets

T = Decision(test="t", correction="holm")


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(2, 12), st.booleans())
def test_areas_of_one_layer_are_those_of_sklearn(seed: int, heads: int, tied: bool) -> None:
    rng = np.random.default_rng(seed)
    damage = rng.integers(0, 4, size=(5, 1, heads)).astype(float) if tied else rng.normal(size=(5, 1, heads))
    held = np.zeros((1, heads), dtype=bool)
    held[0, : rng.integers(1, heads)] = True
    expected = [roc_auc_score(held[0], unit[0]) for unit in damage]
    np.testing.assert_allclose(unit_areas(damage, held), expected)


def test_areas_pool_pairs_of_heads_within_layers_and_leave_out_what_was_not_measured() -> None:
    rng = np.random.default_rng(0)
    damage, held = rng.normal(size=(7, 3, 5)), np.zeros((3, 5), dtype=bool)
    held[0, :2] = held[1, 1] = True  # layer 2 has no head with the role
    expected = [
        (6 * roc_auc_score(held[0], unit[0]) + 4 * roc_auc_score(held[1], unit[1])) / 10 for unit in damage
    ]
    np.testing.assert_allclose(unit_areas(damage, held), expected)
    damage[:, 1] = np.nan
    np.testing.assert_allclose(unit_areas(damage, held), [roc_auc_score(held[0], unit[0]) for unit in damage])
    assert np.isnan(unit_areas(damage, np.ones((3, 5), dtype=bool))).all()


def _rest(scores: Scores, held: HeldRoles) -> Scores:
    return select_examples(scores, held.apart(scores.units, scores.examples))


@pytest.mark.parametrize("per_unit", [1, 2])
def test_p_of_roles_are_those_of_scipy_and_statsmodels(per_unit: int) -> None:
    scores, rules = ablation_scores(3, units=160, per_unit=per_unit)
    held = made_roles(scores, 3)
    *_, ablation = judge_ablation(scores, rules, T, 0.01, held)
    rest = _rest(scores, held)
    assert [(row.arm, row.role) for row in ablation.roles] == [
        (arm, role) for arm in ablation.damage.arms for role in held.roles
    ]
    for row in ablation.roles:
        values = rest.values[rest.sieves.index(row.arm)].astype(np.float64)
        values = values.reshape(-1, per_unit, *values.shape[1:]).mean(axis=1)
        own = held.heads(row.role)
        areas = unit_areas(values, own)
        damage = values[:, own].mean(axis=1)
        theta = float(ablation.damage.threshold[ablation.damage.of(row.arm)])
        assert row.p_more == pytest.approx(
            stats.ttest_1samp(areas, 0.5, alternative="greater").pvalue, rel=1e-4
        )
        less = stats.ttest_1samp(areas, 0.5, alternative="less").pvalue
        assert row.p_less == pytest.approx(less, rel=1e-4)
        assert row.area == pytest.approx(areas.mean())
        assert row.count == 80
        low, high = stats.ttest_1samp(areas, 0.5).confidence_interval(0.95)
        assert (row.low, row.high) == pytest.approx((low, high), rel=1e-4)
        high, low = (np.append(damage, [worst] * 3) for worst in (damage.max(), damage.min()))
        tost = max(
            DescrStatsW(damage).ttost_mean(-theta, theta)[0],
            stats.ttest_1samp(high, theta, alternative="less").pvalue,
            stats.ttest_1samp(low, -theta, alternative="greater").pvalue,
        )
        assert row.p_negligible == pytest.approx(tost, rel=1e-3) or "distribution" in row.arm
        assert row.damage == pytest.approx(damage.mean(), rel=1e-4)
        assert row.heads == own.sum()
        assert row.quiet == int(row.role == "delimiter:sep")
        verdict = ablation.damage.verdict[ablation.damage.of(row.arm)][own]
        assert [row.needed, row.negligible, row.interfering] == [
            (verdict == code).sum() for code in (0, 1, 4)
        ]
    for arm in ablation.damage.arms:
        rows = [row for row in ablation.roles if row.arm == arm]
        for name in ("more", "less", "negligible"):
            p = [getattr(row, f"p_{name}") for row in rows]
            q = [getattr(row, f"q_{name}") for row in rows]
            if name != "negligible" or "loss" in arm:
                np.testing.assert_allclose(q, multipletests(p, method="holm")[1], rtol=1e-9)


def test_labels_by_chance_have_an_area_as_rare_as_their_p_says() -> None:
    rng = np.random.default_rng(2)
    damage = rng.normal(size=(30, 2, 6)) + rng.normal(size=(1, 2, 6))
    held = np.zeros((2, 6), dtype=bool)
    held[0, :2] = held[1, 0] = True
    drawn = random_areas(damage, held, 4000, 1)
    every = [
        unit_areas(damage, np.isin(np.arange(12), [a, b, 6 + c]).reshape(2, 6)).mean()
        for a in range(6) for b in range(a) for c in range(6)
    ]  # fmt: skip
    own = unit_areas(damage, held).mean()
    assert rarity(own, drawn) == pytest.approx((np.array(every) >= own - 1e-12).mean(), abs=0.03)
    assert sorted({round(float(area), 9) for area in drawn}) == sorted({round(float(a), 9) for a in every})


@pytest.mark.parametrize("seed", range(4))
def test_a_label_of_one_head_is_never_rarer_than_one_in_the_heads_of_its_layer(seed: int) -> None:
    scores, rules = ablation_scores(seed, units=362)
    held = made_roles(scores, seed)
    damage = _rest(scores, held).values[scores.sieves.index("loss:mean"), :, 0]
    decision = np.ones_like(held.decision)
    decision[:, 0, damage.mean(axis=0).argmax()] = 0
    *_, ablation = judge_ablation(scores, rules, T, 0.01, replace(held, decision=decision))
    for row in ablation.roles:
        assert row.heads == 1
        assert row.p_labels > 1 / 6 - 0.02


@given(st.integers(0, 10_000), st.integers(1, 40))
def test_rarity_counts_sets_at_least_as_large(seed: int, sets: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, 5, size=sets) / 7
    observed = float(rng.integers(0, 5)) / 7
    assert rarity(observed, drawn) == (1 + sum(value >= observed for value in drawn)) / (1 + sets)
    assert np.isnan(rarity(observed, np.zeros(0)))


def test_sets_are_compared_with_random_ones_and_with_the_sum_of_single_damages() -> None:
    scores, _ = ablation_scores(4, units=120, outcomes=("loss",))
    held = made_roles(scores, 4)
    sets, rest = made_sets(scores, held, sets=99), _rest(scores, held)
    apart = held.apart(scores.units, scores.examples)
    found = group_tests(rest, replace(sets, damage=sets.damage[..., apart]), T)
    for row in found:
        of_role = np.array([role == row.role for role in sets.roles])
        means = sets.damage[0, of_role][:, apart].astype(np.float64).mean(axis=1)
        assert row.damage == pytest.approx(means[0], rel=1e-4)
        assert row.p == rarity(means[0], means[1:])
        assert row.sets == 99
        assert row.random_middle == pytest.approx(np.median(means[1:]))
        assert row.excess == pytest.approx(0, abs=1e-6)
        assert row.excess_decision != "more than the sum"
        assert row.singles == pytest.approx(row.damage, abs=1e-6)
    np.testing.assert_allclose(
        [row.q for row in found], multipletests([row.p for row in found], method="holm")[1]
    )


def test_two_heads_that_make_up_for_each_other_are_each_negligible_and_needed_together() -> None:
    rng = np.random.default_rng(1)
    scores, rules = ablation_scores(6, units=200, outcomes=("loss",), by=("mean",))
    values = scores.values.copy()
    row = scores.sieves.index("loss:mean")
    values[row] = rng.normal(0, 0.01, size=values[row].shape)
    decision = np.ones((1, 2, 6), dtype=np.int8)
    decision[0, 0, :2] = 0
    first = scores.units[:100]
    held = HeldRoles(("induction",), decision, decision * 1.0, first, "run", first)
    members = np.stack(
        [rng.permuted(held.heads("induction"), axis=1) if k else held.heads("induction") for k in range(100)]
    )
    damage = rng.normal(0, 0.01, size=(1, 100, 200)) + 0.5 * (np.arange(100) == 0)[None, :, None]
    sets = HeadSets(("loss:mean",), ("induction",) * 100, np.arange(100), members, damage.astype(np.float32))
    *_, ablation = judge_ablation(replace(scores, values=values), rules, Decision(), 0.02, held, sets)
    assert (ablation.damage.verdict[0, 0, :2] == 1).all()
    (group,) = ablation.groups
    assert group.decision == "more than random sets"
    assert (group.p, group.heads) == (0.01, 2)
    assert group.excess_decision == "more than the sum"
    assert group.q_excess < 1e-6
    assert group.excess == pytest.approx(0.5, abs=0.02)


def test_a_role_of_one_head_has_no_excess() -> None:
    scores, _ = ablation_scores(4, units=60, outcomes=("loss",))
    held = made_roles(scores, 4)
    decision = np.ones_like(held.decision)
    decision[:, 0, 0] = 0
    single = replace(held, decision=decision)
    sets = made_sets(scores, single)
    apart = single.apart(scores.units, scores.examples)
    for row in group_tests(_rest(scores, single), replace(sets, damage=sets.damage[..., apart]), T):
        assert np.isnan([row.excess, row.p_excess, row.singles]).all()
        assert row.excess_decision == "untestable"
        assert np.isfinite([row.damage, row.p]).all()


def _area_p(rng: np.random.Generator, shift: float) -> tuple[float, float]:
    """Both p of the area of labels on exchangeable heads that share the damage of their unit."""
    from headroles.stats.causal.questions import Questions, judge_questions

    held = np.zeros((2, 8), dtype=bool)
    held[:, :3] = True
    damage = rng.lognormal(0, 1, size=(60, 1, 1)) * (rng.gamma(1, size=(60, 2, 8)) + shift * held)
    areas = unit_areas(damage, held)
    units = tuple(f"u{k}" for k in range(60))
    asked = Questions(("a",), units, np.zeros(1, int), areas[None, :, None], [(0.0, 1.0)], null=0.5)
    more, less = (judge_questions(each, Decision()) for each in (asked, asked.negated()))
    return float(more.p[0, 0]), float(less.p[0, 0])


@pytest.mark.slow
def test_areas_of_exchangeable_heads_differ_from_one_half_in_at_most_alpha_of_runs() -> None:
    rng, runs = np.random.default_rng(11), 1000
    p = np.array([_area_p(rng, 0.0) for _ in range(runs)])
    assert ((p <= 0.05).mean(axis=0) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)).all()
    assert np.mean([_area_p(rng, 0.3)[0] <= 0.05 for _ in range(200)]) > 0.8


@pytest.mark.slow
def test_rarity_of_labels_and_of_sets_at_random_is_uniform() -> None:
    rng, runs = np.random.default_rng(13), 600
    of_sets, of_labels = [], []
    for _ in range(runs):
        damage = rng.normal(size=(20, 2, 6)) + rng.lognormal(size=(1, 2, 6))
        held = np.stack([rng.permutation(6) < 2 for _ in range(2)])
        of_labels.append(rarity(float(unit_areas(damage, held).mean()), random_areas(damage, held, 199, 3)))
        mean = damage.mean(axis=0)
        drawn = np.array([mean[rng.permuted(held, axis=1)].sum() for _ in range(99)])
        of_sets.append(rarity(float(mean[held].sum()), drawn))
    for p in (np.array(of_sets), np.array(of_labels)):
        for level in (0.05, 0.1, 0.5):
            assert (p <= level).mean() <= level + 3 * np.sqrt(level * (1 - level) / runs)
        assert (p <= 0.5).mean() > 0.35
