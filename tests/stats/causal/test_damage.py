"""Verdicts of heads: equal to libraries on random damages, and honest at the boundaries of their nulls."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pingouin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW

from headroles.records.causal.ablation import ENOUGH_FOR_LITTLE, FEWEST_UNITS
from headroles.records.causal.columns import parse_column
from headroles.records.example import Scores
from headroles.records.findings import Findings
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.causal.damage import SHARES, damage_tests, decide_enough, loss_without, margin_rows
from headroles.stats.causal.judge import judge_ablation
from headroles.stats.causal.unseen import with_unseen
from headroles.stats.engine import judge
from tests.support.causal.damages import ablation_scores

NEEDED, NEGLIGIBLE, UNDETERMINED, UNTESTABLE, INTERFERING = range(5)
T = Decision(test="t", correction="holm")


def _unit_values(scores: Scores, name: str) -> np.ndarray:
    """Means of units of a column, (units, heads)."""
    values = scores.values[scores.sieves.index(name)].astype(np.float64)
    units = list(dict.fromkeys(scores.units))
    means = [values[[own == unit for own in scores.units]].mean(axis=0) for unit in units]
    return np.stack(means).reshape(len(units), -1)


@pytest.mark.parametrize("per_unit", [1, 3])
def test_p_values_are_those_of_scipy_and_statsmodels(per_unit: int) -> None:
    scores, rules = ablation_scores(3, per_unit=per_unit, units=80)
    *_, ablation = judge_ablation(scores, rules, T, 0.01)
    found = ablation.damage
    for row, arm in enumerate(found.arms):
        values, theta = _unit_values(scores, arm), found.threshold[row]
        above = stats.ttest_1samp(values, theta, alternative="greater").pvalue
        high, low = (
            np.concatenate([values, [worst] * 3]) for worst in (values.max(axis=0), values.min(axis=0))
        )
        below = stats.ttest_1samp(high, -theta, alternative="less").pvalue
        tost = [DescrStatsW(column).ttost_mean(-theta, theta)[0] for column in values.T]
        assert [float(pingouin.tost(column, 0, theta)["pval"].iloc[0]) for column in values.T] == (
            pytest.approx(tost, rel=1e-6)
        )
        within = stats.ttest_1samp(high, theta, alternative="less").pvalue
        beyond = stats.ttest_1samp(low, -theta, alternative="greater").pvalue
        tost = np.maximum.reduce([np.asarray(tost), np.asarray(within), np.asarray(beyond)])
        np.testing.assert_allclose(found.p_needed[row].ravel(), above, rtol=1e-5)
        if parse_column(arm).outcome == "loss":
            np.testing.assert_allclose(found.p_negligible[row].ravel(), tost, rtol=1e-5)
            np.testing.assert_allclose(found.p_interfering[row].ravel(), below, rtol=1e-5)
            q = multipletests(below, method="holm")[1]
            np.testing.assert_allclose(found.q_interfering[row].ravel(), q, rtol=1e-5)
            q = multipletests(tost, method="holm")[1]
            np.testing.assert_allclose(found.q_negligible[row].ravel(), q, rtol=1e-5)
        else:
            assert (found.p_negligible[row].ravel() >= np.array(tost) * (1 - 1e-5)).all()
            assert np.isnan(found.p_interfering[row]).all()


def test_theta_is_a_share_of_the_mean_loss_over_units_and_the_share_itself_of_distances() -> None:
    scores, rules = ablation_scores(1, per_unit=2)
    clean = _unit_values(scores, "loss:clean")[:, 0].mean()
    assert loss_without(scores) == pytest.approx(clean)
    known, findings, ablation = judge_ablation(scores, rules, T, 0.02)
    margins = {rule.sieve: rule.margin for rule in known}
    assert margins["loss:mean"] == pytest.approx(0.02 * clean)
    assert margins["distribution:mean"] == 0.02
    assert ablation.damage.threshold.tolist() == [margins[arm] for arm in ablation.damage.arms]
    assert {margins[name] for name in margins if not parse_column(name).arm} == {0.0}
    assert (findings.decision[findings.of("loss:clean")] == -1).all()


def _damages(values: np.ndarray, theta: float) -> tuple[Scores, list[Rule]]:
    """Losses (units, heads) of one layer, with their rule."""
    units = tuple(f"u{k}" for k in range(len(values)))
    scores = Scores(
        sieves=("loss:mean",),
        examples=units,
        units=units,
        tokens=np.full(len(units), 9),
        cells=np.full((1, len(units)), np.nan),
        values=values[None, :, None].astype(np.float32),
        null=np.zeros((1, len(units))),
    )
    return scores, [Rule("loss:mean", margin=theta)]


def _verdicts(values: np.ndarray, theta: float, decision: Decision) -> np.ndarray:
    scores, rules = _damages(values, theta)
    found: Findings = judge(scores, rules, decision)
    verdict: np.ndarray = damage_tests(scores, rules, found, decision).verdict[0, 0]
    return verdict


def test_verdicts_are_as_planted() -> None:
    rng = np.random.default_rng(0)
    means = np.array([0.2, -0.2, 0.0, 0.03, 0.0])
    values = means + rng.normal(0, 0.05, size=(200, 5))
    values[:, 3] += rng.normal(0, 0.3, size=200)
    values[:, 4] = 0.0  # a head that does nothing
    expected = [NEEDED, INTERFERING, NEGLIGIBLE, UNDETERMINED, NEGLIGIBLE]
    assert _verdicts(values, 0.03, Decision()).tolist() == expected
    assert _verdicts(values, 0.03, Decision(correction="maxT", resamples=999)).tolist() == expected
    values[:, 0] = np.nan
    assert _verdicts(values, 0.03, Decision())[0] == UNTESTABLE


@pytest.mark.parametrize(("mean", "verdict"), [(0.0, NEGLIGIBLE), (-0.2, INTERFERING)])
@pytest.mark.parametrize("correction", ["fdr_bh", "maxT"])
def test_no_damage_is_called_small_with_few_units(mean: float, verdict: int, correction: str) -> None:
    damage = np.random.default_rng(0).normal(mean, 0.001, size=(ENOUGH_FOR_LITTLE, 20))
    decision = Decision(correction=correction, resamples=999)
    assert (_verdicts(damage, 0.03, decision) == verdict).all()
    assert (_verdicts(damage[1:], 0.03, decision) == UNDETERMINED).all()


def test_nothing_is_decided_below_twenty_units() -> None:
    damage = np.random.default_rng(0).normal(1, 0.001, size=(FEWEST_UNITS, 20))
    assert (_verdicts(damage, 0.03, Decision()) == NEEDED).all()
    assert (_verdicts(damage[1:], 0.03, Decision()) == UNDETERMINED).all()
    scores, rules = _damages(damage[1:], 0.03)
    found = judge(scores, rules, Decision())
    assert (found.decision == 0).all()
    assert (decide_enough(found).decision == UNDETERMINED).all()


@pytest.mark.parametrize("correction", ["holm", "maxT"])
@pytest.mark.parametrize(("mean", "side"), [(0.0, 1), (0.0, -1), (-0.06, 1)])
def test_a_small_damage_that_three_more_units_like_the_worst_would_turn_is_not_claimed(
    mean: float, side: int, correction: str
) -> None:
    decision = Decision(correction=correction, resamples=999)
    values = np.random.default_rng(0).normal(mean, 1e-3, size=(100, 3))
    assert set(_verdicts(values, 0.03, decision)) == {INTERFERING if mean else NEGLIGIBLE}
    values[:2] += side * 0.6  # the mean moves by 0.012, and by 0.029 with three more
    assert set(_verdicts(values, 0.03, decision)) == {UNDETERMINED}


@given(seed=st.integers(0, 10_000), side=st.sampled_from([-1, 1]), missing=st.integers(0, 3))
def test_further_units_have_the_most_extreme_mean_of_each_head(seed: int, side: int, missing: int) -> None:
    scores, _ = ablation_scores(seed, per_unit=2, units=5, grid=(1, 3))
    values = scores.values.copy()
    values[:, :, 0, :missing] = np.nan
    more = with_unseen(replace(scores, values=values), side)
    whole = np.stack([_unit_values(more, name) for name in more.sieves])
    assert len(set(more.units)) == 5 + 3
    assert len(set(more.examples)) == len(more.examples) == 10 + 3
    np.testing.assert_array_equal(
        whole[:, :5], [_unit_values(scores, n) for n in scores.sieves] + 0 * whole[:, :5]
    )
    extreme = (whole[:, :5].max if side == 1 else whole[:, :5].min)(axis=1)
    np.testing.assert_allclose(whole[:, 5:], np.repeat(extreme[:, None], 3, axis=1), rtol=1e-6)
    assert np.isnan(whole[..., :missing]).all()
    assert not np.isnan(whole[..., missing:]).any()


def test_margins_count_the_verdicts_at_each_share() -> None:
    scores, rules = ablation_scores(5)
    rows = margin_rows(scores, rules, Decision(), 0.03)
    arms = list(dict.fromkeys(row.arm for row in rows))
    assert [row.margin for row in rows if row.arm == arms[0]] == sorted({*SHARES, 0.03})
    for share in (0.002, 0.03):
        *_, ablation = judge_ablation(scores, rules, Decision(), share)
        for k, arm in enumerate(ablation.damage.arms):
            (row,) = [row for row in rows if (row.arm, row.margin) == (arm, share)]
            verdict = ablation.damage.verdict[k]
            counted = [int((verdict == code).sum()) for code in (NEEDED, NEGLIGIBLE, INTERFERING)]
            assert [row.needed, row.negligible, row.interfering] == counted


@pytest.mark.parametrize("decision", [Decision(family="run"), Decision(family="layer", interval="bca")])
def test_families_and_intervals_are_those_of_the_decision(decision: Decision) -> None:
    scores, rules = ablation_scores(7, units=ENOUGH_FOR_LITTLE)
    *_, ablation = judge_ablation(scores, rules, replace(decision, resamples=999, correction="holm"), 0.01)
    found = ablation.damage
    p = found.p_negligible.ravel() if decision.family == "run" else found.p_negligible[0, 0]
    q = found.q_negligible.ravel() if decision.family == "run" else found.q_negligible[0, 0]
    np.testing.assert_allclose(q, multipletests(p, method="holm")[1], rtol=1e-9)
    assert (found.low <= found.mean).all()
    assert (found.mean <= found.high).all()


Draw = Callable[[np.random.Generator, int, int], np.ndarray]


def _log_normal(rng: np.random.Generator, units: int, heads: int) -> np.ndarray:
    """Damages with right skew and mean 0: of most units small, of a few large."""
    damage: np.ndarray = 0.03 * (rng.lognormal(0, 1, size=(units, heads)) - np.exp(0.5))
    return damage


def _rare(rng: np.random.Generator, units: int, heads: int) -> np.ndarray:
    """Damages with mean 0 that one unit in twenty holds."""
    held = np.where(rng.random((units, heads)) < 0.05, rng.gamma(2, size=(units, heads)), 0.0) - 0.1
    damage: np.ndarray = 0.1 * held + 1e-4 * rng.normal(size=(units, heads))
    return damage


DRAWS: dict[str, Draw] = {
    "normal": lambda rng, units, heads: rng.normal(0, 0.1, size=(units, heads)),
    "log-normal": _log_normal,
    "one unit in twenty": _rare,
    "Laplace": lambda rng, units, heads: rng.laplace(0, 0.07, size=(units, heads)),
}


@pytest.mark.slow
@pytest.mark.parametrize("units", [75, 200])
@pytest.mark.parametrize("shape", DRAWS)
def test_each_verdict_errs_at_its_boundary_in_at_most_alpha_of_heads(shape: str, units: int) -> None:
    rng, theta, heads = np.random.default_rng(17), 0.03, 4000
    noise = DRAWS[shape](rng, units, heads)
    error = 0.05 + 3 * np.sqrt(0.06 * 0.94 / heads)
    single = Decision(correction="none")
    at_theta, at_minus = (_verdicts(centre + noise, theta, single) for centre in (theta, -theta))
    assert (at_theta == NEEDED).mean() <= error
    assert (at_minus == INTERFERING).mean() <= error
    assert (at_theta == NEGLIGIBLE).mean() <= error
    assert (at_minus == NEGLIGIBLE).mean() <= error


@pytest.mark.slow
def test_no_verdict_is_false_in_more_than_alpha_of_families_under_holm() -> None:
    rng, theta, families = np.random.default_rng(3), 0.03, 600
    false = np.zeros(3)
    for _ in range(families):
        shared = rng.normal(0, 0.1, size=(100, 1))
        noise = shared + rng.normal(0, 0.1, size=(100, 24))
        at_theta = _verdicts(theta + noise, theta, Decision(correction="holm"))
        at_minus = _verdicts(-theta + noise, theta, Decision(correction="holm"))
        false += [
            (at_theta == NEEDED).any(), (at_minus == INTERFERING).any(), (at_theta == NEGLIGIBLE).any()
        ]  # fmt: skip
    assert (false / families <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / families)).all()
