"""Tests of sites and of cells: scipy's t, controls of the layer, honest on units that decided no role."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from headroles.records.causal.ablation import HeldRoles, SiteTest
from headroles.records.example import Scores
from headroles.records.rules.rule import Decision, Rule
from headroles.runs.held.labels import decide_roles
from headroles.stats.causal.controls import CONTROLS
from headroles.stats.causal.judge import judge_ablation
from headroles.stats.causal.sites import cell_tests, site_tests
from headroles.stats.columns import select_examples
from headroles.stats.engine import judge
from tests.support.causal.damages import ablation_scores, made_roles

T = Decision(test="t", correction="holm")
UNTESTABLE, UNDETERMINED, SITED, ELSEWHERE = "untestable", "undetermined", "at its sites", "elsewhere"


def _rest(scores: Scores, held: HeldRoles) -> Scores:
    return select_examples(scores, held.apart(scores.units, scores.examples))


def _column(scores: Scores, name: str, layer: int, head: int) -> np.ndarray:
    column: np.ndarray = scores.values[scores.sieves.index(name), :, layer, head].astype(np.float64)
    return column


def test_p_is_the_larger_of_scipys_for_the_sites_and_for_the_difference_from_controls() -> None:
    scores, _ = ablation_scores(2, units=240)
    held = made_roles(scores, 2)
    rest = _rest(scores, held)
    found = site_tests(rest, held, T)
    norms = rest.values[rest.sieves.index("norm")].astype(np.float64).mean(axis=0)
    assert {test.arm for test in found} == {"loss:mean", "distribution:mean"}
    for test in found:
        name = f"{test.arm.split(':')[0]}:sites:{test.role}"
        own = _column(rest, name, test.layer, test.head)
        free = np.flatnonzero(~held.heads(test.role)[test.layer])
        near = free[np.argsort(np.abs(norms[test.layer, free] - norms[test.layer, test.head]))[:CONTROLS]]
        beyond = own - np.mean([_column(rest, name, test.layer, head) for head in near], axis=0)
        p = stats.ttest_1samp(own, 0, alternative="greater").pvalue
        p_difference = stats.ttest_1samp(beyond, 0, alternative="greater").pvalue
        less = max(stats.ttest_1samp(each, 0, alternative="less").pvalue for each in (own, beyond))
        assert (test.p, test.p_difference) == pytest.approx((p, p_difference), rel=1e-4)
        assert test.p_joint == pytest.approx(max(p, p_difference), rel=1e-4)
        assert test.p_elsewhere == pytest.approx(less, rel=1e-4)
        assert (test.count, test.controls) == (120, len(near))
        assert (test.mean, test.difference) == pytest.approx((own.mean(), beyond.mean()), rel=1e-4)
    for arm in ("loss:mean", "distribution:mean"):
        own_arm = [test for test in found if test.arm == arm]
        q = multipletests([test.p_joint for test in own_arm], method="holm")[1]
        np.testing.assert_allclose([test.q for test in own_arm], q, rtol=1e-9)


def test_every_labelled_head_is_tested_and_no_other() -> None:
    scores, _ = ablation_scores(4, units=80)
    held = made_roles(scores, 4)
    rest = _rest(scores, held)
    labelled = {("induction", int(layer), int(head)) for layer, head in np.argwhere(held.heads("induction"))}
    places = [(test.role, test.layer, test.head) for test in site_tests(rest, held, T)]
    assert set(places) == labelled
    assert len(places) == 2 * len(labelled)
    of_cells = {(test.role, test.layer, test.head) for test in cell_tests(rest, held, T)}
    assert of_cells == labelled | {
        ("local", int(layer), int(head)) for layer, head in np.argwhere(held.heads("local"))
    }


def test_without_controls_the_sites_alone_decide() -> None:
    scores, _ = ablation_scores(5, units=80)
    held = made_roles(scores, 5)
    everywhere = replace(held, decision=np.zeros_like(held.decision))
    for test in site_tests(_rest(scores, everywhere), everywhere, T):
        assert test.controls == 0
        assert np.isnan([test.difference, test.p_difference, test.difference_low]).all()
        assert test.p_joint == test.p


def test_controls_that_were_not_taken_out_are_no_controls() -> None:
    scores, _ = ablation_scores(6, units=80, outcomes=("loss",))
    held = made_roles(scores, 6)
    values = scores.values.copy()
    free = np.argwhere(~held.heads("induction"))
    values[scores.sieves.index("loss:sites:induction"), :, free[:, 0], free[:, 1]] = np.nan
    found = site_tests(_rest(replace(scores, values=values), held), held, T)
    assert {test.controls for test in found} == {0}


def test_cells_are_compared_with_matched_cells_by_scipys_paired_test() -> None:
    scores, _ = ablation_scores(8, units=120)
    held = made_roles(scores, 8)
    rest = _rest(scores, held)
    found = cell_tests(rest, held, T)
    assert found
    for test in found:
        one, other = (
            _column(rest, f"{test.outcome}:{what}:{test.role}", test.layer, test.head)
            for what in ("cells", "cells:matched")
        )
        assert test.p == pytest.approx(stats.ttest_rel(one, other, alternative="greater").pvalue, rel=1e-4)
        assert test.p_other == pytest.approx(stats.ttest_rel(one, other, alternative="less").pvalue, rel=1e-4)
        low, high = stats.ttest_rel(one, other).confidence_interval(0.95)
        assert (test.low, test.high) == pytest.approx((low, high), rel=1e-3)
        assert (test.cells, test.matched) == pytest.approx((one.mean(), other.mean()), rel=1e-4)


def test_cells_without_matched_ones_are_shown_and_not_tested() -> None:
    scores, _ = ablation_scores(9, by=("mean", "cells"))
    held = made_roles(scores, 9)
    for test in cell_tests(_rest(scores, held), held, T):
        assert test.decision == UNTESTABLE
        assert np.isfinite(test.cells)
        assert np.isnan([test.matched, test.difference, test.p, test.q]).all()


def test_planted_sites_are_found_where_controls_have_none() -> None:
    scores, _ = ablation_scores(0, units=160, outcomes=("loss",))
    decision = np.ones((1, 2, 6), dtype=np.int8)
    decision[0, :, 0] = 0
    first = scores.units[:80]
    held = HeldRoles(("induction",), decision, decision * 1.0, first, "run", first)
    values = scores.values.copy()
    sites = values[scores.sieves.index("loss:sites:induction")]
    noise = np.random.default_rng(1).normal(0, 0.05, size=sites.shape)
    sites[...] = noise
    sites[:, 0, 0] += 0.1  # head 0-0 at its sites
    sites[:, 1] += 0.1  # all heads of layer 1: what the sites have, not the role
    found = {
        (test.layer, test.head): test
        for test in site_tests(_rest(replace(scores, values=values), held), held, T)
    }
    assert found[0, 0].decision == SITED
    assert found[1, 0].decision == UNDETERMINED
    assert found[1, 0].p < 1e-6
    turned = replace(scores, values=-values)
    assert _by_head(turned, held)[0, 0].decision == ELSEWHERE


def _by_head(scores: Scores, held: HeldRoles) -> dict[tuple[int, int], SiteTest]:
    return {(test.layer, test.head): test for test in site_tests(_rest(scores, held), held, T)}


def _one_role(values: np.ndarray, first: int) -> tuple[Scores, HeldRoles]:
    """Site damages (units, heads) of one layer, whose head 0 holds the role; the first units decided it."""
    units = tuple(f"u{k}" for k in range(len(values)))
    names = ("loss:mean", "loss:sites:induction", "norm")
    rng = np.random.default_rng(0)
    table = np.stack([values, values, rng.gamma(4, 1, size=values.shape)])[:, :, None].astype(np.float32)
    scores = Scores(
        sieves=names, examples=units, units=units, tokens=np.full(len(units), 9),
        cells=np.full((3, len(units)), np.nan), values=table, null=np.zeros((3, len(units))),
    )  # fmt: skip
    decision = np.ones((1, 1, values.shape[1]), dtype=np.int8)
    decision[0, 0, 0] = 0
    held = HeldRoles(("induction",), decision, decision * 1.0, units[:first], "run", units[:first])
    return scores, held


def _tested(values: np.ndarray, first: int = 0) -> SiteTest:
    scores, held = _one_role(values, first)
    (test,) = site_tests(_rest(scores, held), held, Decision())
    return test


@pytest.mark.slow
@pytest.mark.parametrize("skewed", [False, True])
def test_sites_and_their_difference_from_controls_err_in_at_most_alpha_of_runs(skewed: bool) -> None:
    rng, runs = np.random.default_rng(5), 1000
    found = np.zeros(3)
    for _ in range(runs):
        shared = rng.normal(0, 0.1, size=(100, 1))  # sites that matter to all heads of the layer
        own = rng.lognormal(0, 1, size=(100, 6)) - np.exp(0.5) if skewed else rng.normal(size=(100, 6))
        at_zero = _tested(shared + 0.05 * own)
        as_controls = _tested(0.2 + shared + 0.05 * own)
        planted = _tested(np.where(np.arange(6) == 0, 0.1, 0.0) + shared + 0.05 * own)
        found += [test.decision == SITED for test in (at_zero, as_controls, planted)]
    error = 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)
    assert (found[:2] / runs <= error).all()
    assert found[2] / runs > 0.8


def _selected(rng: np.random.Generator, halves: bool) -> bool:
    """Whether the site test of a run without any effect finds one, roles decided on other or the same units.

    A unit in which a head attends much to the role's cells loses more there when the head is taken out. So
    labels by chance and damage by chance go together.
    """
    units, heads = 80, 20
    names = tuple(f"u{k}" for k in range(units))
    noise = rng.normal(0, 0.3, size=(units, heads))
    score = Scores(
        sieves=("induction",), examples=names, units=names, tokens=np.full(units, 9),
        cells=np.ones((1, units)), values=(0.1 + noise)[None, :, None].astype(np.float32),
        null=np.zeros((1, units)),
    )  # fmt: skip
    rules = (Rule("induction", margin=0.1, low=-5.0, high=5.0),)
    decision = Decision(correction="none")
    from headroles.records.findings import Labelling

    run = Labelling(score, judge(score, rules, decision), decision)
    held = decide_roles(run, "run", 0 if halves else None)
    measured = held if halves else replace(held, units=(), examples=())
    values = np.stack([noise, noise])[:, :, None].astype(np.float32)
    damages = replace(
        score, sieves=("loss:mean", "loss:sites:induction"), values=values,
        cells=np.full((2, units), np.nan), null=np.zeros((2, units)),
    )  # fmt: skip
    rest = _rest(damages, measured)
    return any(test.decision == SITED for test in site_tests(rest, measured, Decision(correction="holm")))


@pytest.mark.slow
def test_roles_decided_on_the_same_units_would_err_and_those_of_the_other_half_do_not() -> None:
    rng, runs = np.random.default_rng(7), 400
    honest = np.mean([_selected(rng, True) for _ in range(runs)])
    same = np.mean([_selected(rng, False) for _ in range(runs)])
    assert honest <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)
    assert same > 0.3


def test_a_run_whose_units_all_decided_roles_has_no_test_of_them() -> None:
    scores, rules = ablation_scores(1)
    held = made_roles(scores)
    every = replace(held, units=scores.units, examples=scores.examples)
    *_, ablation = judge_ablation(scores, rules, Decision(), 0.01, every)
    assert (ablation.sites, ablation.cells, ablation.roles) == ((), (), ())
    assert ablation.held is every
