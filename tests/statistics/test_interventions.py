"""Taking heads out: damage, roles, sites, cells, sets and certificates, by scipy and planted."""

from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy import optimize, special, stats

from headroles.records import VERDICTS, Ablation, Decision, Rule, Scores
from headroles.stats import adjust, certify, fall_p, judge_ablation
from tests.support.causal.damages import ablation_scores, made_roles, made_sets
from tests.support.causal.students import student, with_further
from tests.support.scores import scored

NEEDED, NEGLIGIBLE, UNDETERMINED, UNTESTABLE, INTERFERING = VERDICTS
T = Decision(test="t", correction="holm")


def _ablation(*given: Any) -> Ablation:
    return judge_ablation(*given)[2]


def _unit_means(scores: Scores, name: str) -> np.ndarray:
    """Means of units of a column, (units, heads)."""
    values = scores.values[scores.sieves.index(name)].astype(np.float64)
    units = list(dict.fromkeys(scores.units))
    means = [values[[own == unit for own in scores.units]].mean(axis=0) for unit in units]
    return np.stack(means).reshape(len(units), -1)


def _negligible(values: np.ndarray, theta: float) -> np.ndarray:
    """P of two one-sided tests, of the units and with three more as far out as the farthest."""
    both = student(values, theta).p_not, student(values, -theta).p
    further = student(with_further(values, 1), theta).p_not, student(with_further(values, -1), -theta).p
    return np.asarray(np.maximum.reduce([*both, *further]))


def _above(values: np.ndarray, theta: float | np.ndarray, side: int) -> np.ndarray:
    """P of "above θ" (1) or "below" (−1), with three more at the worst unit of any head of a layer of six."""
    beyond = side * (values - theta)
    layers = beyond.reshape(len(beyond), -1, 6)
    worst = np.broadcast_to(layers.min(axis=(0, 2))[:, None], (3, *layers.shape[1:])).reshape(3, -1)
    return np.asarray(student(np.concatenate([beyond, worst])).p)


def _are(row: Any, wanted: dict[str, Any], rel: float = 1e-3) -> None:
    """Compare numbers of a row with those that are wanted."""
    found = {name: getattr(row, name) for name in wanted}
    assert found == pytest.approx(wanted, rel=rel, abs=1e-6)


# Does a head matter?


@pytest.mark.parametrize("per_unit", [1, 3])
def test_verdicts_follow_from_p_of_scipy(per_unit: int) -> None:
    scores, rules = ablation_scores(3, per_unit=per_unit, units=80)
    known, findings, ablation = judge_ablation(scores, rules, T, 0.01)
    found, losses = ablation.damage, _unit_means(scores, "loss:clean")[:, :1]
    clean = losses.mean()
    seen = set()
    for row, arm in enumerate(found.arms):
        values, loss = _unit_means(scores, arm), arm.startswith("loss")
        theta = float(found.threshold[row])
        assert theta == pytest.approx(0.01 * clean if loss else 0.01)
        own = 0.01 * losses if loss else np.full((len(values), 1), 0.01)  # θ of each unit
        p = {"needed": np.maximum(student(values, theta).p, _above(values, own, 1))}
        if loss:
            interfering = np.maximum(student(values + own).p_not, _above(values, -own, -1))
            inside = [_negligible(values - side * (own - theta), theta) for side in (1, -1)]
            p |= {"negligible": np.maximum.reduce(inside), "interfering": interfering}
        else:
            assert (found.p_negligible[row].ravel() >= _negligible(values, theta) * (1 - 1e-5)).all()
            assert np.isnan([found.p_interfering[row], found.q_interfering[row]]).all()
        q = {name: adjust(numbers, "holm") for name, numbers in p.items()}
        wanted = {f"p_{name}": p[name] for name in p} | {f"q_{name}": q[name] for name in q}
        wanted |= {name: getattr(student(values), name) for name in ("mean", "low", "high")}
        for name, numbers in wanted.items():
            if not name.startswith("q_"):
                np.testing.assert_allclose(
                    getattr(found, name)[row].ravel(), numbers, rtol=1e-4, err_msg=name
                )
        for head, code in enumerate(found.verdict[row].ravel()) if loss else ():
            claims = [name for name in ("negligible", "interfering", "needed") if q[name][head] <= 0.05]
            assert VERDICTS[code] == (claims[-1] if claims else UNDETERMINED)
            seen.add(VERDICTS[code])
    assert seen >= {NEEDED, INTERFERING, UNDETERMINED}
    margins = {rule.sieve: rule.margin for rule in known}
    assert {margins[name] for name in scores.sieves if name not in found.arms} == {0.0}
    assert (findings.decision[findings.of("loss:clean")] == -1).all()


@pytest.mark.parametrize("correction", ["fdr_bh", "maxT"])
def test_planted_damages_get_verdicts_unless_units_are_few_or_three_more_could_turn_them(
    correction: str,
) -> None:
    rng, decision = np.random.default_rng(0), Decision(correction=correction, resamples=999)

    def verdicts(values: np.ndarray) -> list[str]:
        rules = [Rule("tokens:mean")]  # an outcome of either sign, with θ itself as its margin
        found = _ablation(scored(values[None, :, None], rules), rules, decision, 0.03).damage
        return [VERDICTS[code] for code in found.verdict[0, 0]]

    values = np.array([0.2, -0.2, 0.0, 0.03, 0.0, 0.0]) + rng.normal(0, 0.05, size=(200, 6))
    values[:, 3] += rng.normal(0, 0.3, size=200)
    values[:, 4] = 0.0  # a head that does nothing
    values[:, 5] = np.nan
    expected = [NEEDED, INTERFERING, NEGLIGIBLE, UNDETERMINED, NEGLIGIBLE, UNTESTABLE]
    assert verdicts(values) == expected
    for mean, least, verdict in ((1.0, 20, NEEDED), (0.0, 75, NEGLIGIBLE), (-0.2, 75, INTERFERING)):
        damage = rng.normal(mean, 0.001, size=(least, 20))
        assert set(verdicts(damage)) == {verdict}
        assert set(verdicts(damage[1:])) == {UNDETERMINED}, (mean, least)
    for mean, side in ((0.0, 1), (0.0, -1), (-0.06, 1)):
        values = np.random.default_rng(0).normal(mean, 1e-3, size=(100, 3))
        assert set(verdicts(values)) == {INTERFERING if mean else NEGLIGIBLE}
        values[:2] += side * 0.6  # the mean moves by 0.012, and by 0.029 with three more
        assert set(verdicts(values)) == {UNDETERMINED}


def test_a_head_is_needed_by_a_loss_only_where_some_answer_is_wrong_or_the_damage_is_large() -> None:
    rules = [Rule("loss:clean", role=False), Rule("loss:mean")]
    rng, verdicts = np.random.default_rng(0), []
    for worst, damage in ((0.69, 0.01), (0.70, 0.01), (0.69, 0.05)):  # ln 2 is 0.693
        values = np.stack([np.full((100, 3), 0.01), rng.normal(damage, 1e-3, size=(100, 3))])
        values[0, 7] = worst
        found = _ablation(scored(values[:, :, None], rules), rules, T, 0.01).damage
        verdicts.append({VERDICTS[code] for code in found.verdict.ravel()})
    assert verdicts == [{UNDETERMINED}, {NEEDED}, {NEEDED}]


# Do roles say which heads matter, and where?


def _areas(damage: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Areas under the curve per unit: pairs of heads of one layer, of all layers, by Mann and Whitney's U."""
    wins, pairs = np.zeros(len(damage)), 0
    for layer, own in enumerate(held):
        if own.any() and not own.all():
            sides = damage[:, layer, own], damage[:, layer, ~own]
            wins += stats.mannwhitneyu(*sides, axis=1, method="asymptotic").statistic
            pairs += own.sum() * (~own).sum()
    return wins / pairs


def test_areas_and_mean_damage_of_roles_are_those_of_libraries() -> None:
    scores, rules = ablation_scores(3, units=150, per_unit=2)
    scores = replace(scores, values=np.round(scores.values, 2))  # with ties
    held = made_roles(scores, 3)
    ablation = _ablation(scores, rules, T, 0.01, held)
    rest = scores.take(held.apart(scores.units, scores.examples))
    assert [(row.arm, row.role) for row in ablation.roles] == [*product(ablation.damage.arms, held.roles)]
    for row in ablation.roles:
        per_unit, own = _unit_means(rest, row.arm).reshape(75, 2, 6), held.heads(row.role)
        area, damage = student(_areas(per_unit, own), 0.5), per_unit[:, own].mean(axis=1)
        place = ablation.damage.of(row.arm)
        wanted = {
            "p_more": area.p, "p_less": area.p_not, "area": area.mean, "low": area.low, "high": area.high,
            "damage": damage.mean(), "count": 75, "heads": own.sum(),
            "quiet": int(row.role == "delimiter:sep"),
        }  # fmt: skip
        if row.arm.startswith("loss"):
            theta = float(ablation.damage.threshold[place])
            wanted["p_negligible"] = _negligible(damage[:, None], theta)[0]
        _are(row, wanted)
        verdict = ablation.damage.verdict[place][own]
        assert [row.needed, row.negligible, row.interfering] == [(verdict == k).sum() for k in (0, 1, 4)]
    for arm, name in product(ablation.damage.arms, ("more", "less", "negligible")):
        rows = [row for row in ablation.roles if row.arm == arm]
        p, q = (np.array([getattr(row, f"{letter}_{name}") for row in rows]) for letter in "pq")
        labels = np.array([row.p_labels for row in rows]) * (name != "negligible")
        if name != "negligible" or "loss" in arm:
            np.testing.assert_allclose(q, adjust(np.maximum(p, labels), "holm"), rtol=1e-9)


def test_labels_at_random_are_as_far_out_on_either_side_as_often_as_p_labels_says() -> None:
    scores, rules = ablation_scores(2, units=24, outcomes=("loss",))
    own = np.zeros((2, 6), dtype=bool)
    own[0, :2] = own[1, 0] = True
    held = made_roles(scores, 2)
    held = replace(held, decision=np.where(own, 0, 1)[None].repeat(3, axis=0).astype(np.int8))
    values = scores.values.copy()
    values[:, :, 1, 5] = np.nan  # a head that was not taken out is in no pair
    row = _ablation(replace(scores, values=values), rules, T, 0.01, held).roles[0]
    rest = scores.take(held.apart(scores.units, scores.examples))
    per_unit = rest.values[rest.sieves.index("loss:mean")].astype(np.float64)
    parts = []
    for layer, size, labelled in ((0, 6, 2), (1, 5, 1)):
        chosen = [np.isin(np.arange(size), heads)[None] for heads in combinations(range(size), labelled)]
        parts.append([_areas(per_unit[:, [layer], :size], label).mean() for label in chosen])
    every = np.array([(8 * one + 4 * other) / 12 for one, other in product(*parts)])
    assert row.area == pytest.approx(every[0], rel=1e-5)  # which the role is: the first heads of each layer
    tails = (every >= row.area - 1e-6).mean(), (every <= row.area + 1e-6).mean()
    assert row.p_labels == pytest.approx(min(1, 2 * min(tails)), abs=0.02)


def test_sets_are_compared_with_random_ones_and_with_the_sum_of_single_damages() -> None:
    scores, rules = ablation_scores(4, units=120, outcomes=("loss",))
    held = made_roles(scores, 4)
    sets, apart = made_sets(scores, held, sets=99), held.apart(scores.units, scores.examples)
    single = scores.values[scores.sieves.index("loss:mean")].astype(np.float64)
    excess = 0.3 + np.random.default_rng(1).gamma(1, 0.1, size=sets.damage.shape)
    own_sets = (sets.number == 0)[None, :, None]
    damage = sets.damage + np.where(own_sets, excess, 0).astype(np.float32)
    rows = _ablation(scores, rules, T, 0.01, held, replace(sets, damage=damage)).groups
    for row in rows:
        of_role = np.array([role == row.role for role in sets.roles])
        mine, *others = damage[0, of_role][:, apart].astype(np.float64)
        means, heads = np.array(others).mean(axis=1), held.heads(row.role)
        beyond = student(mine - single[apart][:, heads].sum(axis=1))
        low, middle, high = np.quantile(means, (0.025, 0.5, 0.975))
        _are(row, {
            "damage": mine.mean(), "p": (1 + (means >= mine.mean()).sum()) / 100, "excess": beyond.mean,
            "singles": mine.mean() - beyond.mean, "p_excess": beyond.p, "excess_low": beyond.low,
            "excess_high": beyond.high, "random_low": low, "random_middle": middle, "random_high": high,
            "heads": heads.sum(), "sets": 99, "count": 60,
        })  # fmt: skip
        assert (row.decision, row.excess_decision) == ("more than random sets", "more than the sum")
    for letter in ("", "_excess"):
        p, q = (np.array([getattr(row, f"{name}{letter}") for row in rows]) for name in "pq")
        np.testing.assert_allclose(q, adjust(p, "holm"))
    decision = np.ones_like(held.decision)
    decision[:, 0, 0] = 0
    alone = replace(held, decision=decision)
    for row in _ablation(scores, rules, T, 0.01, alone, made_sets(scores, alone)).groups:
        assert np.isnan([row.excess, row.p_excess, row.singles]).all()  # a set of one has no excess
        assert row.excess_decision == "untestable"
        assert np.isfinite([row.damage, row.p]).all()


def _sized(scores: Scores) -> Scores:
    """Damages that are clearly above 0 for every head."""
    values = scores.values.copy()
    values[scores.sieves.index("loss:mean")] += np.float32(0.2)
    return replace(scores, values=values)


def test_sites_and_cells_of_every_labelled_head_are_tested_by_scipy() -> None:
    scores, rules = ablation_scores(2, units=240)
    scores = _sized(scores)
    held = made_roles(scores, 2)
    ablation = _ablation(scores, rules, T, 0.01, held)
    rest = scores.take(held.apart(scores.units, scores.examples))
    columns = dict(zip(rest.sieves, rest.values.astype(np.float64), strict=True))
    norms = columns["norm"].mean(axis=0)
    places = {role: [*map(tuple, np.argwhere(held.heads(role)))] for role in ("induction", "local")}
    assert [(row.arm, row.layer, row.head) for row in ablation.sites] == [
        (arm, *place) for arm in ("loss:mean", "distribution:mean") for place in places["induction"]
    ]
    for row in ablation.sites:
        values = columns[f"{row.arm.split(':')[0]}:sites:induction"][:, row.layer]
        size = columns[row.arm][:, row.layer]
        free = np.flatnonzero(~held.heads("induction")[row.layer])
        near = free[np.argsort(np.abs(norms[row.layer, free] - norms[row.layer, row.head]))[:3]]
        own = student(values[:, row.head])
        ratio = values.mean(axis=0) / size.mean(axis=0)
        apart = ((values - ratio * size) / size.mean(axis=0))[:, near].mean(axis=1)
        beyond = student(
            values[:, row.head] - ratio[near].mean() * size[:, row.head] - size[:, row.head].mean() * apart
        )
        _are(row, {
            "p": own.p, "p_difference": beyond.p, "p_joint": max(own.p, beyond.p), "mean": own.mean,
            "p_elsewhere": max(own.p_not, beyond.p_not), "difference": beyond.mean, "low": own.low,
            "difference_low": beyond.low, "difference_high": beyond.high, "count": 120, "controls": len(near),
        })  # fmt: skip
    assert {(row.role, row.layer, row.head) for row in ablation.cells} == {
        (role, *place) for role, heads in places.items() for place in heads
    }
    for cell in ablation.cells:
        one, other = (
            columns[f"{cell.outcome}:{what}:{cell.role}"][:, cell.layer, cell.head]
            for what in ("cells", "cells:matched")
        )
        paired = student(one - other)
        _are(cell, {
            "p": paired.p, "p_other": paired.p_not, "low": paired.low, "high": paired.high,
            "cells": one.mean(), "matched": other.mean(), "difference": paired.mean,
        })  # fmt: skip
    for rows, tested, family in ((ablation.sites, "p_joint", "arm"), (ablation.cells, "p", "outcome")):
        for key in {(getattr(row, family), row.role) for row in rows if "loss" in getattr(row, family)}:
            members = [row for row in rows if (getattr(row, family), row.role) == key]
            q = adjust(np.array([getattr(row, tested) for row in members]), "holm")
            given = np.array([row.q for row in members])
            np.testing.assert_allclose(given[given < 1], q[given < 1], rtol=1e-9)  # 1: units may be missing
            assert (given >= q - 1e-9).all()


def test_without_controls_sites_are_tested_alone_and_less_damage_is_elsewhere() -> None:
    scores, rules = ablation_scores(5, units=80, by=("mean", "cells"))
    scores, held = _sized(scores), made_roles(scores, 5)
    sites, values = scores.sieves.index("loss:sites:induction"), scores.values.copy()
    mine = held.heads("induction")
    values[sites, :, ~mine] = np.nan
    everywhere = replace(held, decision=np.zeros_like(held.decision))
    for changed, roles in ((scores, everywhere), (replace(scores, values=values), held)):
        for row in _ablation(changed, rules, T, 0.01, roles).sites:
            if row.arm == "loss:mean":
                assert (row.controls, row.p_joint) == (0, row.p)
                assert np.isnan([row.difference, row.p_difference, row.difference_low]).all()
    for shift, decision in ((-0.5 * mine, "elsewhere"), (0.5, UNDETERMINED)):  # less, or all of a layer alike
        moved = scores.values.copy()
        moved[sites] += np.float32(shift)
        found = _ablation(replace(scores, values=moved), rules, T, 0.01, held).sites
        assert {row.decision for row in found if row.arm == "loss:mean"} == {decision}
    moved[scores.sieves.index("loss:mean")] -= np.float32(0.2)  # the sizes of heads are not clear
    found = _ablation(replace(scores, values=moved), rules, T, 0.01, held).sites
    assert UNTESTABLE in {row.decision for row in found if row.arm == "loss:mean"}


def test_planted_roles_are_decided_from_20_units_on_and_no_damage_from_75() -> None:
    def decisions(units: int) -> list[set[str]]:
        """Damage where heads hold "induction", others hold "delimiter:sep"; other units decided the roles."""
        scores, rules = ablation_scores(4, units=2 * units, grid=(2, 12))
        held = made_roles(scores)
        one = held.heads("induction")
        held = replace(held, decision=np.stack([~one, held.decision[1], 2 * one]).astype(np.int8))
        values = 1e-3 * np.random.default_rng(0).normal(size=scores.values.shape)
        for place, name in enumerate(scores.sieves):
            damaging = name in ("loss:mean", "distribution:mean") or ":sites:" in name or ":cells:" in name
            if "matched" not in name:
                size = 0.5 if ":" in name.partition(":")[2] else 0.25  # twice as much at sites and cells
                values[place] += size * one if damaging else 1.0 if name.endswith("clean") else 0.0
        scores = replace(scores, values=np.abs(values).astype(np.float32))
        found = _ablation(scores, rules, Decision(), 0.01, held, made_sets(scores, held, sets=99))
        tables = (found.sites, found.cells, found.roles, found.groups)
        said = [{row.decision for row in rows if row.role == "induction"} - {UNTESTABLE} for rows in tables]
        little = [row for row in found.roles if row.role == "delimiter:sep"]
        return [*said, {row.no_damage for row in little if row.arm == "loss:mean"}]

    sure = [{"at its sites"}, {"its cells matter"}, {"more damage"}, {"more than random sets"}]
    assert decisions(75) == [*sure, {"negligible"}]
    assert decisions(74) == decisions(20) == [*sure, {UNDETERMINED}]
    assert decisions(19) == [{UNDETERMINED}] * 5


# Certificates of removed heads.

WITHIN, NOT_SHOWN = "within the bound", "not shown"


def _step(
    change: np.ndarray, clean: np.ndarray, bound: float, alpha: float = 0.05, ends: Any = (np.nan, np.nan)
) -> Any:
    return certify([3], change[None], clean, bound, alpha, ends)[0]


def test_p_is_that_of_halls_t_and_the_ends_are_where_it_reaches_the_level() -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        change, clean = rng.exponential(0.1, 80), rng.uniform(0.5, 2.0, 80)
        step = _step(change, clean, 0.09, alpha=0.1)
        excess = change - 0.09 * clean
        plain, skew, root = stats.ttest_1samp(excess, 0.0).statistic, stats.skew(excess), np.sqrt(80)
        bent = plain + skew * plain**2 / (3 * root) + skew**2 * plain**3 / (27 * 80) + skew / (6 * root)
        assert step.p == pytest.approx(stats.t.cdf(bent, 79), rel=1e-9)
        assert (step.size, step.count, step.damage) == (3, 80, pytest.approx(change.mean()))
        assert step.mean == pytest.approx(change.sum() / clean.sum())
        assert step.low < step.mean < step.upper < step.high
        for end, level in ((step.low, 0.975), (step.high, 0.025), (step.upper, 0.1)):
            assert _step(change, clean, end).p == pytest.approx(level, abs=1e-6)
        assert _step(change, clean, step.upper + 1e-6, 0.1).decision != NOT_SHOWN
        assert _step(change, clean, step.upper - 1e-6, 0.1).decision == NOT_SHOWN
    change = np.random.default_rng(0).normal(0, 0.01, (4, 80)) + np.array([[0.0], [0.2], [0.0], [0.0]])
    steps = certify([1, 2, 4, 8], change, np.ones(80), 0.05, 0.05)
    assert [step.decision for step in steps] == [WITHIN, NOT_SHOWN, "not tested", "not tested"]
    assert [step.size for step in steps] == [1, 2, 4, 8]
    assert all(step.p < 0.05 for step in steps[2:])


def test_few_units_no_spread_and_claims_that_hinge_on_few_units_certify_nothing() -> None:
    change, one, answers = np.random.default_rng(0).normal(0, 0.001, 200), np.ones(200), (-1.0, 1.0)
    assert [_step(change[:n], one[:n], 0.05).decision for n in (74, 75)] == [NOT_SHOWN, WITHIN]
    holed = np.where(np.arange(200) < 20, np.nan, change)
    assert repr(_step(holed, one, 0.05)) == repr(_step(change[20:], one[20:], 0.05))
    empty = _step(np.where(np.arange(200) == 3, 0.1, np.nan), one, 0.05)
    assert (empty.decision, np.isnan(empty.p), empty.count) == (NOT_SHOWN, True, 1)
    still = one * 0
    assert _step(still[:100], one[:100], 0.02, ends=answers).decision == NOT_SHOWN
    assert _step(still, one, 0.02).decision == NOT_SHOWN  # no largest damage is known
    for ends, lowest in ((answers, -1 + 0.025 ** (1 / 65)), ((0.0, 1.0), 0.0)):
        step = _step(still, one, 0.02, ends=ends)
        assert (step.decision, step.p) == (WITHIN, pytest.approx(0.98**200, rel=0.25))
        assert (step.missed, step.upper) == pytest.approx((1 - 0.05 ** (1 / 200),) * 2, abs=2e-6)
        few = _step(still[:65], one[:65], 0.02, ends=ends)
        assert (few.mean, few.low) == (0.0, pytest.approx(lowest, abs=3e-3))
    spiked = change.copy()
    spiked[:6] = [1.0, -1.0] * 3
    for rare, bound, ends in ((spiked, 0.03, (np.nan, np.nan)), (change, 0.01, (0.0, 1.0))):
        step = _step(rare, one, bound, ends=ends)
        assert step.p < 0.05
        assert step.decision == "hinges on few units"  # three more could break it
    assert _step(change, one, 0.02, ends=(0.0, 1.0)).decision == WITHIN


def test_falls_of_accuracy_are_tested_exactly_and_their_intervals_hold_mean_and_truth() -> None:
    rng = np.random.default_rng(3)
    for _ in range(8):
        count, fall = int(rng.integers(8, 18)), float(rng.uniform(-0.3, 0.4))
        falls, rises = (int(number) for number in rng.integers(0, count // 3, 2))
        tables = np.array([(a, b, count - a - b) for a in range(count + 1) for b in range(count + 1 - a)])

        def statistic(table: np.ndarray, count: int = count, fall: float = fall) -> float:
            def minus_likelihood(rise: float) -> float:
                return -float(special.xlogy(table, (rise + fall, rise, 1 - 2 * rise - fall)).sum())

            ends = (max(0.0, -fall), (1 - fall) / 2)
            rise = optimize.minimize_scalar(
                minus_likelihood, bounds=ends, method="bounded", options={"xatol": 1e-9}
            )
            spread = count * (2 * rise.x + fall - fall**2)
            return float((table[0] - table[1] - count * fall) / np.sqrt(spread))

        observed = statistic(np.array([falls, rises, count - falls - rises]))
        tail = tables[[statistic(table) <= observed + 1e-4 for table in tables]]
        p = max(
            stats.multinomial.pmf(tail, count, (rise + fall, rise, max(1 - 2 * rise - fall, 0))).sum()
            for rise in np.linspace(max(0.0, -fall), (1 - fall) / 2, 401)
        )
        assert fall_p(falls, rises, count, fall) == pytest.approx(p, rel=2e-3, abs=1e-9)
    change = rng.choice([1.0, -1.0, 0.0], p=(0.06, 0.04, 0.9), size=(300, 120))
    steps = [_step(row, np.ones(120), 0.05, ends=(-1.0, 1.0)) for row in change[:40]]
    assert all(step.low <= step.mean <= step.upper <= step.high for step in steps)
    wrong = np.mean([fall_p(int((row > 0).sum()), int((row < 0).sum()), 120, 0.02) <= 0.05 for row in change])
    assert wrong <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 300)
