"""Taking heads out: damage, roles, sites, cells, sets and certificates, by scipy and at their nulls."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, product
from typing import Any, Literal

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW

from headroles.records import VERDICTS, Ablation, Decision, HeldRoles, Rule, Scores
from headroles.stats import (
    assess,
    certify,
    decide_set,
    judge_ablation,
    recompute_findings,
    select_examples,
)
from tests.support.causal.damages import ablation_scores, made_roles, made_sets
from tests.support.scores import scored
from tests.support.sequential import rate_is_kept

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


def _tail(values: np.ndarray, theta: float, side: Literal["less", "greater"], worst: int = 0) -> np.ndarray:
    """Student's p of columns, with three more units at the largest (1) or smallest (−1) of each."""
    if worst:
        extreme = values.max(axis=0) if worst > 0 else values.min(axis=0)
        values = np.concatenate([values, np.repeat(extreme[None], 3, axis=0)])
    return np.asarray(stats.ttest_1samp(values, theta, alternative=side).pvalue)


def _negligible(values: np.ndarray, theta: float) -> np.ndarray:
    """P of two one-sided tests, of the units and with three more as far out as the farthest."""
    tost = [DescrStatsW(column).ttost_mean(-theta, theta)[0] for column in values.T]
    further = _tail(values, theta, "less", 1), _tail(values, -theta, "greater", -1)
    return np.asarray(np.maximum.reduce([np.array(tost), *further]))


# Does a head matter?


@pytest.mark.parametrize("per_unit", [1, 3])
def test_verdicts_follow_from_p_of_scipy_and_statsmodels(per_unit: int) -> None:
    scores, rules = ablation_scores(3, per_unit=per_unit, units=80)
    known, findings, ablation = judge_ablation(scores, rules, T, 0.01)
    found, clean = ablation.damage, _unit_means(scores, "loss:clean")[:, 0].mean()
    seen = set()
    for row, arm in enumerate(found.arms):
        values, loss = _unit_means(scores, arm), arm.startswith("loss")
        theta = float(found.threshold[row])
        assert theta == pytest.approx(0.01 * clean if loss else 0.01)
        p = {"needed": _tail(values, theta, "greater")}
        if loss:
            p |= {"negligible": _negligible(values, theta), "interfering": _tail(values, -theta, "less", 1)}
        else:
            assert (found.p_negligible[row].ravel() >= _negligible(values, theta) * (1 - 1e-5)).all()
            assert np.isnan([found.p_interfering[row], found.q_interfering[row]]).all()
        q = {name: multipletests(numbers, method="holm")[1] for name, numbers in p.items()}
        for name in p:
            np.testing.assert_allclose(getattr(found, f"p_{name}")[row].ravel(), p[name], rtol=1e-5)
            np.testing.assert_allclose(getattr(found, f"q_{name}")[row].ravel(), q[name], rtol=1e-5)
        ends = np.asarray(stats.ttest_1samp(values, 0).confidence_interval(0.95))
        np.testing.assert_allclose([found.low[row].ravel(), found.high[row].ravel()], ends, rtol=1e-4)
        np.testing.assert_allclose(found.mean[row].ravel(), values.mean(axis=0), rtol=1e-5)
        for head, code in enumerate(found.verdict[row].ravel()) if loss else ():
            claims = [name for name in ("negligible", "interfering", "needed") if q[name][head] <= 0.05]
            assert VERDICTS[code] == (claims[-1] if claims else UNDETERMINED)
            seen.add(VERDICTS[code])
    assert seen >= {NEEDED, INTERFERING, UNDETERMINED}
    margins = {rule.sieve: rule.margin for rule in known}
    assert {margins[name] for name in scores.sieves if name not in found.arms} == {0.0}
    assert (findings.decision[findings.of("loss:clean")] == -1).all()


def _damages(values: np.ndarray, decision: Decision, theta: float = 0.03) -> np.ndarray:
    """Verdicts about damages (units, heads), of an outcome of either sign with θ itself as its margin."""
    rules = [Rule("tokens:mean")]
    found = _ablation(scored(values[None, :, None], rules), rules, decision, theta).damage
    verdicts: np.ndarray = np.array(VERDICTS)[found.verdict[0, 0]]
    return verdicts


@pytest.mark.parametrize("correction", ["fdr_bh", "maxT"])
def test_planted_damages_get_their_verdicts_and_few_units_none(correction: str) -> None:
    rng, decision = np.random.default_rng(0), Decision(correction=correction, resamples=999)
    values = np.array([0.2, -0.2, 0.0, 0.03, 0.0, 0.0]) + rng.normal(0, 0.05, size=(200, 6))
    values[:, 3] += rng.normal(0, 0.3, size=200)
    values[:, 4] = 0.0  # a head that does nothing
    values[:, 5] = np.nan
    expected = [NEEDED, INTERFERING, NEGLIGIBLE, UNDETERMINED, NEGLIGIBLE, UNTESTABLE]
    assert _damages(values, decision).tolist() == expected
    for mean, least, verdict in ((1.0, 20, NEEDED), (0.0, 75, NEGLIGIBLE), (-0.2, 75, INTERFERING)):
        damage = rng.normal(mean, 0.001, size=(least, 20))
        assert set(_damages(damage, decision)) == {verdict}
        assert set(_damages(damage[1:], decision)) == {UNDETERMINED}, (mean, least)


@pytest.mark.parametrize("correction", ["holm", "maxT"])
def test_a_small_damage_that_three_more_units_like_the_worst_would_turn_is_not_claimed(
    correction: str,
) -> None:
    decision = Decision(correction=correction, resamples=999)
    for mean, side in ((0.0, 1), (0.0, -1), (-0.06, 1)):
        values = np.random.default_rng(0).normal(mean, 1e-3, size=(100, 3))
        assert set(_damages(values, decision)) == {INTERFERING if mean else NEGLIGIBLE}
        values[:2] += side * 0.6  # the mean moves by 0.012, and by 0.029 with three more
        assert set(_damages(values, decision)) == {UNDETERMINED}


def test_margins_families_and_intervals_are_those_asked_for() -> None:
    scores, rules = ablation_scores(7, units=75)
    rows = _ablation(scores, rules, Decision(), 0.03).margins
    assert [row.margin for row in rows if row.arm == rows[0].arm] == [
        0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1,
    ]  # fmt: skip
    for share in (0.002, 0.03):
        damage = _ablation(scores, rules, Decision(), share).damage
        for arm, verdict in zip(damage.arms, damage.verdict, strict=True):
            (row,) = [row for row in rows if (row.arm, row.margin) == (arm, share)]
            counts = [
                int((verdict == VERDICTS.index(name)).sum()) for name in (NEEDED, NEGLIGIBLE, INTERFERING)
            ]
            assert [row.needed, row.negligible, row.interfering] == counts
    for family in ("run", "layer"):
        found = _ablation(
            scores, rules, Decision("t", "holm", family, resamples=999, interval="bca"), 0.01
        ).damage
        part = slice(None) if family == "run" else (0, 0)
        p, q = found.p_negligible[part].ravel(), found.q_negligible[part].ravel()
        np.testing.assert_allclose(q, multipletests(p, method="holm")[1], rtol=1e-9)
        assert ((found.low < found.mean) & (found.mean < found.high)).all()


def test_other_libraries_leave_heads_with_few_units_undetermined_too() -> None:
    scores, rules = ablation_scores(4, units=19)
    scores = replace(scores, values=scores.values + np.float32(0.5))
    known, findings, _ = judge_ablation(scores, rules, Decision(), 0.01)
    precision = assess(scores, known, Decision(), findings, absence=False, nots=False).precision
    assert (findings.decision[findings.of("loss:mean")] == 2).all()
    for fewest, fits in ((20, True), (0, False)):
        checks = recompute_findings(
            scores, findings, Decision(), precision=precision, absence=False, fewest=fewest
        )
        assert [check.fits for check in checks if check.quantity == "decision"] == [fits]


# Do roles say which heads matter, and where?


def _areas(damage: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Areas under the curve per unit: pairs of heads of one layer, of all layers, by Mann and Whitney's U."""
    layers = [k for k in range(len(held)) if held[k].any() and not held[k].all()]
    wins = [
        stats.mannwhitneyu(
            damage[:, k, held[k]], damage[:, k, ~held[k]], axis=1, method="asymptotic"
        ).statistic
        for k in layers
    ]
    return np.asarray(sum(wins) / sum(held[k].sum() * (~held[k]).sum() for k in layers))


def test_areas_and_mean_damage_of_roles_are_those_of_libraries() -> None:
    scores, rules = ablation_scores(3, units=150, per_unit=2)
    values = np.round(scores.values, 2)  # with ties
    scores, held = replace(scores, values=values), made_roles(scores, 3)
    ablation = _ablation(scores, rules, T, 0.01, held)
    rest = select_examples(scores, held.apart(scores.units, scores.examples))
    assert [(row.arm, row.role) for row in ablation.roles] == [*product(ablation.damage.arms, held.roles)]
    for row in ablation.roles:
        per_unit, own = _unit_means(rest, row.arm).reshape(75, 2, 6), held.heads(row.role)
        areas, damage = _areas(per_unit, own), per_unit[:, own].mean(axis=1)
        place = ablation.damage.of(row.arm)
        low, high = stats.ttest_1samp(areas, 0.5).confidence_interval(0.95)
        wanted = {
            "p_more": float(_tail(areas, 0.5, "greater")), "p_less": float(_tail(areas, 0.5, "less")),
            "area": areas.mean(), "low": low, "high": high, "damage": damage.mean(),
        }  # fmt: skip
        assert {name: getattr(row, name) for name in wanted} == pytest.approx(wanted, rel=1e-4)
        theta = float(ablation.damage.threshold[place])
        little = float(_negligible(damage[:, None], theta)[0])
        assert row.p_negligible == pytest.approx(little, rel=1e-3) or "distribution" in row.arm
        assert (row.count, row.heads, row.quiet) == (75, own.sum(), int(row.role == "delimiter:sep"))
        verdict = ablation.damage.verdict[place][own]
        assert [row.needed, row.negligible, row.interfering] == [(verdict == k).sum() for k in (0, 1, 4)]
    for arm, name in product(ablation.damage.arms, ("more", "less", "negligible")):
        rows = [row for row in ablation.roles if row.arm == arm]
        p, q = ([getattr(row, f"{letter}_{name}") for row in rows] for letter in "pq")
        if name != "negligible" or "loss" in arm:
            np.testing.assert_allclose(q, multipletests(p, method="holm")[1], rtol=1e-9)


def test_labels_at_random_have_as_large_an_area_as_often_as_p_labels_says() -> None:
    scores, rules = ablation_scores(2, units=24, outcomes=("loss",))
    held = made_roles(scores, 2)
    own = np.zeros((2, 6), dtype=bool)
    own[0, :2] = own[1, 0] = True
    held = replace(held, decision=np.where(own, 0, 1)[None].repeat(3, axis=0).astype(np.int8))
    values = scores.values.copy()
    values[:, :, 1, 5] = np.nan  # a head that was not taken out is in no pair
    row = _ablation(replace(scores, values=values), rules, T, 0.01, held).roles[0]
    rest = select_examples(scores, held.apart(scores.units, scores.examples))
    per_unit = rest.values[rest.sieves.index("loss:mean")].astype(np.float64)
    of_layers: list[tuple[int, int, list[tuple[int, ...]]]] = [
        (0, 6, [*combinations(range(6), 2)]),
        (1, 5, [*combinations(range(5), 1)]),
    ]
    parts = []
    for layer, size, chosen in of_layers:
        labels = [np.isin(np.arange(size), heads)[None] for heads in chosen]
        parts.append([_areas(per_unit[:, [layer], :size], label).mean() for label in labels])
    every = np.array([(8 * one + 4 * other) / 12 for one, other in product(*parts)])
    assert row.area == pytest.approx((8 * parts[0][0] + 4 * parts[1][0]) / 12, rel=1e-5)
    assert row.p_labels == pytest.approx((every >= row.area - 1e-6).mean(), abs=0.02)
    single = np.ones_like(held.decision)
    single[:, 0, per_unit.mean(axis=0)[0].argmax()] = 0
    for row in _ablation(scores, rules, T, 0.01, replace(held, decision=single)).roles:
        assert (row.heads, row.p_labels > 1 / 6 - 0.02) == (1, True)


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
        means = np.array([other.mean() for other in others])
        beyond = mine - single[apart][:, held.heads(row.role)].sum(axis=1)
        ends = stats.ttest_1samp(beyond, 0).confidence_interval(0.95)
        low, middle, high = np.quantile(means, (0.025, 0.5, 0.975))
        wanted = {
            "damage": mine.mean(), "p": (1 + (means >= mine.mean()).sum()) / 100, "excess": beyond.mean(),
            "singles": (mine - beyond).mean(), "p_excess": float(_tail(beyond, 0, "greater")),
            "random_low": low, "random_middle": middle, "random_high": high,
            "excess_low": ends.low, "excess_high": ends.high,
        }  # fmt: skip
        assert {name: getattr(row, name) for name in wanted} == pytest.approx(wanted, rel=1e-3, abs=1e-6)
        assert (row.heads, row.sets, row.count) == (held.heads(row.role).sum(), 99, 60)
        assert (row.decision, row.excess_decision) == ("more than random sets", "more than the sum")
    for name in ("p", "p_excess"):
        q = multipletests([getattr(row, name) for row in rows], method="holm")[1]
        np.testing.assert_allclose([getattr(row, name.replace("p", "q", 1)) for row in rows], q)
    decision = np.ones_like(held.decision)
    decision[:, 0, 0] = 0
    alone = replace(held, decision=decision)
    for row in _ablation(scores, rules, T, 0.01, alone, made_sets(scores, alone)).groups:
        assert np.isnan([row.excess, row.p_excess, row.singles]).all()  # a set of one has no excess
        assert row.excess_decision == "untestable"
        assert np.isfinite([row.damage, row.p]).all()


def _column(scores: Scores, name: str, layer: int) -> np.ndarray:
    """Values of a column in a layer, (examples, heads)."""
    column: np.ndarray = scores.values[scores.sieves.index(name), :, layer].astype(np.float64)
    return column


def test_sites_and_cells_of_every_labelled_head_are_tested_by_scipy() -> None:
    scores, rules = ablation_scores(2, units=240)
    held = made_roles(scores, 2)
    ablation = _ablation(scores, rules, T, 0.01, held)
    rest = select_examples(scores, held.apart(scores.units, scores.examples))
    norms = rest.values[rest.sieves.index("norm")].astype(np.float64).mean(axis=0)
    places = {role: [*map(tuple, np.argwhere(held.heads(role)))] for role in ("induction", "local")}
    assert [(row.arm, row.layer, row.head) for row in ablation.sites] == [
        (arm, *place) for arm in ("loss:mean", "distribution:mean") for place in places["induction"]
    ]
    for row in ablation.sites:
        values = _column(rest, f"{row.arm.split(':')[0]}:sites:induction", row.layer)
        free = np.flatnonzero(~held.heads("induction")[row.layer])
        near = free[np.argsort(np.abs(norms[row.layer, free] - norms[row.layer, row.head]))[:3]]
        own = values[:, row.head]
        beyond = own - values[:, near].mean(axis=1)
        p, p_beyond = (float(_tail(column, 0, "greater")) for column in (own, beyond))
        ends = stats.ttest_1samp(beyond, 0).confidence_interval(0.95)
        wanted = {
            "p": p, "p_difference": p_beyond, "p_joint": max(p, p_beyond), "mean": own.mean(),
            "p_elsewhere": max(float(_tail(column, 0, "less")) for column in (own, beyond)),
            "difference": beyond.mean(), "difference_low": ends.low, "difference_high": ends.high,
        }  # fmt: skip
        assert {name: getattr(row, name) for name in wanted} == pytest.approx(wanted, rel=1e-3, abs=1e-6)
        assert (row.count, row.controls) == (120, len(near))
    assert {(row.role, row.layer, row.head) for row in ablation.cells} == {
        (role, *place) for role, heads in places.items() for place in heads
    }
    for cell in ablation.cells:
        one, other = (
            _column(rest, f"{cell.outcome}:{what}:{cell.role}", cell.layer)[:, cell.head]
            for what in ("cells", "cells:matched")
        )
        paired = stats.ttest_rel(one, other, alternative="greater"), stats.ttest_rel(one, other)
        ends = paired[1].confidence_interval(0.95)
        wanted = {
            "p": paired[0].pvalue, "p_other": 1 - paired[0].pvalue, "low": ends.low, "high": ends.high,
            "cells": one.mean(), "matched": other.mean(), "difference": (one - other).mean(),
        }  # fmt: skip
        assert {name: getattr(cell, name) for name in wanted} == pytest.approx(wanted, rel=1e-3, abs=1e-6)
    for rows, tested, family in ((ablation.sites, "p_joint", "arm"), (ablation.cells, "p", "outcome")):
        for key in {(getattr(row, family), row.role) for row in rows if "loss" in getattr(row, family)}:
            members = [row for row in rows if (getattr(row, family), row.role) == key]
            q = multipletests([getattr(row, tested) for row in members], method="holm")[1]
            np.testing.assert_allclose([row.q for row in members], q, rtol=1e-9)


def test_without_controls_matched_cells_or_units_less_is_tested() -> None:
    scores, rules = ablation_scores(5, units=80, by=("mean", "cells"))
    held = made_roles(scores, 5)
    values = scores.values.copy()
    free = np.argwhere(~held.heads("induction"))
    values[scores.sieves.index("loss:sites:induction"), :, free[:, 0], free[:, 1]] = np.nan
    everywhere = replace(held, decision=np.zeros_like(held.decision))
    for changed, roles in ((scores, everywhere), (replace(scores, values=values), held)):
        for row in _ablation(changed, rules, T, 0.01, roles).sites:
            if row.arm == "loss:mean":
                assert (row.controls, row.p_joint) == (0, row.p)
                assert np.isnan([row.difference, row.p_difference, row.difference_low]).all()
    for cell in _ablation(scores, rules, T, 0.01, held).cells:
        assert cell.decision == "untestable"
        assert np.isfinite(cell.cells)
        assert np.isnan([cell.matched, cell.difference, cell.p, cell.q]).all()
    every = replace(held, units=scores.units, examples=scores.examples)
    ablation = _ablation(scores, rules, Decision(), 0.01, every)
    assert (ablation.sites, ablation.cells, ablation.roles, ablation.held) == ((), (), (), every)


def _planted(units: int) -> Ablation:
    """Damage where heads hold "induction", others hold "delimiter:sep"; units that decided no role."""
    scores, rules = ablation_scores(4, units=2 * units, grid=(2, 12))
    held = made_roles(scores)
    one = held.heads("induction")
    decision = held.decision.copy()
    decision[held.roles.index("delimiter:sep")] = np.where(one, 2, 0)
    held = replace(held, decision=decision)
    values = 1e-3 * np.random.default_rng(0).normal(size=scores.values.shape)
    for place, name in enumerate(scores.sieves):
        damaging = name in ("loss:mean", "distribution:mean") or ":sites:" in name or ":cells:" in name
        if "matched" not in name:
            values[place] += 0.5 * one if damaging else 1.0 if name.endswith("clean") else 0.0
    scores = replace(scores, values=np.abs(values).astype(np.float32))
    return _ablation(scores, rules, Decision(), 0.01, held, made_sets(scores, held, sets=99))


def test_planted_roles_are_decided_from_20_units_on_and_no_damage_from_75() -> None:
    def decisions(units: int) -> list[set[str]]:
        ablation = _planted(units)
        tables = (ablation.sites, ablation.cells, ablation.roles, ablation.groups)
        found = [
            {row.decision for row in rows if row.role == "induction"} - {"untestable"} for rows in tables
        ]
        return [*found, {row.no_damage for row in ablation.roles if row.role == "delimiter:sep"}]

    sure = [{"at its sites"}, {"its cells matter"}, {"more damage"}, {"more than random sets"}]
    assert decisions(75) == [*sure, {"negligible"}]
    assert decisions(74) == decisions(20) == [*sure, {UNDETERMINED}]
    assert decisions(19) == [{UNDETERMINED}] * 5


def _site(values: np.ndarray, decision: Decision = T) -> str:
    """Decision about head 0, which holds the role, from site damages (units, heads) of one layer."""
    rules = [Rule("loss:mean"), Rule("loss:sites:induction", role=False), Rule("norm", role=False)]
    norms = np.random.default_rng(0).gamma(4, 1, size=values.shape)
    scores = scored(np.stack([values, values, norms])[:, :, None], rules)
    roles = np.ones((1, 1, values.shape[1]), dtype=np.int8)
    roles[0, 0, 0] = 0
    (found,) = _ablation(
        scores, rules, decision, 0.01, HeldRoles(("induction",), roles, roles * 1.0, ())
    ).sites
    return str(found.decision)


@pytest.mark.release
def test_sites_differ_from_0_and_from_controls_in_at_most_alpha_of_runs() -> None:
    def draw(batch: int) -> tuple[int, int]:
        rng, wrong = np.random.default_rng(batch), 0
        for _ in range(10):
            own = 0.05 * (rng.lognormal(0, 1, size=(100, 6)) - np.exp(0.5))
            wrong += _site(0.2 + rng.normal(0, 0.1, size=(100, 1)) + own, Decision()) == "at its sites"
        return wrong, 10

    kept, wrong, runs = rate_is_kept(draw, most=150)
    assert kept, (wrong, runs)
    noise = 0.05 * np.random.default_rng(0).normal(size=(100, 6))
    head = np.arange(6) == 0
    assert [_site(noise + mean * head) for mean in (0.1, -0.1)] == ["at its sites", "elsewhere"]
    assert _site(noise + 0.1) == UNDETERMINED  # what all heads of the layer have is not the role's


Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
DRAWS: dict[str, Draw] = {
    "normal": lambda rng, size: rng.normal(0, 0.1, size=size),
    "log-normal": lambda rng, size: 0.03 * (rng.lognormal(0, 1, size=size) - np.exp(0.5)),
    "one unit in twenty": lambda rng, size: (
        0.1 * (np.where(rng.random(size) < 0.05, rng.gamma(2, size=size), 0.0) - 0.1)
        + 1e-4 * rng.normal(size=size)
    ),
}
"""Damages with mean 0."""


@pytest.mark.ci
@pytest.mark.parametrize("shape", DRAWS)
def test_each_verdict_errs_at_its_boundary_in_at_most_alpha_of_heads(shape: str) -> None:
    heads = 1500
    error = 0.05 + 3 * np.sqrt(0.06 * 0.94 / heads)
    for units in (75, 200):
        noise = DRAWS[shape](np.random.default_rng(17), (units, heads))
        for centre, claims in ((0.03, (NEEDED, NEGLIGIBLE)), (-0.03, (INTERFERING, NEGLIGIBLE))):
            verdicts = _damages(centre + noise, Decision(correction="none"))
            assert all((verdicts == claim).mean() <= error for claim in claims), (units, centre)


# Certificates of removed heads.

WITHIN, NOT_SHOWN = "within the bound", "not shown"
NAN = float("nan")


def _step(
    change: np.ndarray, clean: np.ndarray, bound: float, alpha: float = 0.05, worst: float = NAN
) -> Any:
    return certify([3], change[None], clean, bound, alpha, worst)[0]


def test_p_is_that_of_halls_t_and_the_ends_are_where_it_reaches_the_level() -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        change, clean = rng.exponential(0.1, 70), rng.uniform(0.5, 2.0, 70)
        step = _step(change, clean, 0.09, alpha=0.1)
        excess = change - 0.09 * clean
        plain, skew, root = stats.ttest_1samp(excess, 0.0).statistic, stats.skew(excess), np.sqrt(70)
        bent = plain + skew * plain**2 / (3 * root) + skew**2 * plain**3 / (27 * 70) + skew / (6 * root)
        assert step.p == pytest.approx(stats.t.cdf(bent, 69), rel=1e-9)
        assert (step.size, step.count, step.damage) == (3, 70, pytest.approx(change.mean()))
        assert step.mean == pytest.approx(change.sum() / clean.sum())
        assert step.low < step.mean < step.upper < step.high
        for end, level in ((step.low, 0.975), (step.high, 0.025), (step.upper, 0.1)):
            assert _step(change, clean, end).p == pytest.approx(level, abs=1e-6)
        assert _step(change, clean, step.upper + 1e-6, 0.1).decision != NOT_SHOWN
        assert _step(change, clean, step.upper - 1e-6, 0.1).decision == NOT_SHOWN
    symmetric = rng.normal(0, 1, 60)
    symmetric = np.concatenate([symmetric, -symmetric]) + 0.3
    step = _step(symmetric, np.ones(120), 1.0)
    ends = stats.ttest_1samp(symmetric, 0.0).confidence_interval(0.95)
    assert (step.low, step.high) == pytest.approx((ends.low, ends.high), abs=1e-9)


def test_sets_after_the_first_that_fails_are_not_tested() -> None:
    change = np.random.default_rng(0).normal(0, 0.01, (4, 60)) + np.array([[0.0], [0.2], [0.0], [0.0]])
    steps = certify([1, 2, 4, 8], change, np.ones(60), 0.05, 0.05)
    assert [step.decision for step in steps] == [WITHIN, NOT_SHOWN, "not tested", "not tested"]
    assert [step.size for step in steps] == [1, 2, 4, 8]
    assert all(step.p < 0.05 for step in steps[2:])


def test_few_units_no_spread_and_claims_that_hinge_on_few_units_certify_nothing() -> None:
    change, one = np.random.default_rng(0).normal(0, 0.001, 200), np.ones(200)
    assert [_step(change[:n], one[:n], 0.05).decision for n in (49, 50)] == [NOT_SHOWN, WITHIN]
    holed = np.where(np.arange(200) < 20, np.nan, change)
    assert _step(holed, one, 0.05) == _step(change[20:], one[20:], 0.05)
    for few in (holed * np.nan, np.where(np.arange(200) == 3, 0.1, np.nan)):
        empty = _step(few, one, 0.05)
        assert (empty.decision, np.isnan(empty.p), empty.count < 2) == (NOT_SHOWN, True, True)
    still = one * 0
    assert _step(still[:100], one[:100], 0.02, worst=1.0).decision == NOT_SHOWN
    assert _step(still, one, 0.02).decision == NOT_SHOWN  # no largest damage is known
    step = _step(still, one, 0.02, worst=1.0)
    assert (step.decision, step.p) == (WITHIN, pytest.approx(0.98**200))
    assert step.upper == pytest.approx(1 - 0.05 ** (1 / 200), rel=1e-6)
    spiked = change.copy()
    spiked[:6] = [1.0, -1.0] * 3
    for few, bound, worst in ((spiked, 0.03, NAN), (change, 0.01, 1.0)):  # three more units could break it
        step = _step(few, one, bound, worst=worst)
        assert step.p < 0.05
        assert step.decision == "hinges on few units"
    assert _step(change, one, 0.02, worst=1.0).decision == WITHIN


SHAPES: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "normal": lambda rng: rng.normal(0, 1, 100),
    "very skewed": lambda rng: rng.lognormal(0, 1.5, 100) - np.exp(1.125),
    "a tenth is hurt": lambda rng: (
        rng.normal(0, 0.3, 100) + (rng.random(100) < 0.1) * rng.lognormal(0, 1, 100) - 0.1 * np.exp(0.5)
    ),
}


@pytest.mark.ci
@pytest.mark.parametrize("shape", SHAPES)
def test_some_set_at_its_bound_passes_in_at_most_alpha_of_sequences(shape: str) -> None:
    """Sets approach the bound, reach it at the third and then fall below it again."""
    means = np.array([-0.5, -0.05, 0.0, 0.02, -0.3])

    def draw(batch: int) -> tuple[int, int]:
        rng, wrong = np.random.default_rng(batch), 0
        for _ in range(50):
            shared = SHAPES[shape](rng)
            for mean in means:
                change = 1.0 + mean + 0.8 * shared + 0.2 * SHAPES[shape](rng)
                if decide_set(change, np.ones(100), 1.0, 0.05)[1] != WITHIN:
                    break
                if mean >= 0:
                    wrong += 1
                    break
        return wrong, 50

    kept, wrong, runs = rate_is_kept(draw, most=1000)
    assert kept, (wrong, runs)
    rng = np.random.default_rng(6)
    far = [decide_set(0.5 + rng.normal(0, 1, 100), np.ones(100), 1.0, 0.05)[1] == WITHIN for _ in range(100)]
    assert np.mean(far) > 0.95
