"""Two runs: paired differences, equivalence, swaps, agreement of labels and gaps that replicate."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from headroles.records import CONDITION_GAPS, Decision, Differences, Rule, Scores, Table
from headroles.stats import (
    METHODS,
    Columns,
    Grid,
    Labels,
    adjust,
    agreements,
    by_layer,
    column_pairs,
    compare_by_swaps,
    describe,
    explained_labels,
    judge,
    pair_at_random,
    paired_differences,
    remarks,
    replicate_gaps,
    student_skew,
)
from tests.support.causal.students import student, with_further
from tests.support.scores import scored

BOUND = 0.05
PLAIN = Decision(test="t", correction="none")
CHANGED, EQUIVALENT, UNDETERMINED, UNTESTABLE, IDENTICAL = range(5)


def _noise(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 0.1, shape).astype(np.float32)


def _scores(values: np.ndarray, units: Sequence[object] | None = None, null: float = 0.0) -> Scores:
    """Scores of (examples, heads) as one column and one layer, or of all axes."""
    return scored(values if values.ndim == 4 else values[None, :, None], units=units, null=null)


def _compared(
    before: np.ndarray,
    after: np.ndarray,
    decision: Decision = PLAIN,
    *,
    bound: float = BOUND,
    reach: float = 1.0,
    units: Sequence[object] | None = None,
) -> Differences:
    first, second = _scores(before, units), _scores(after, units)
    rules = tuple(Rule(name, low=-reach, high=reach) for name in first.sieves)
    found: Differences = paired_differences(first, second, (rules, rules), decision, bound)
    return found


def _one(found: Differences, name: str) -> np.ndarray:
    """Numbers of the heads of the only column and layer."""
    numbers: np.ndarray = getattr(found, name)[0, 0]
    return numbers


# Paired differences.


def _counted(differences: np.ndarray, theta: float, side: int) -> np.ndarray:
    """Return p of one side as the correction counts it; differences have the bounds ± 2."""
    own, more = student(differences, theta), student(with_further(differences, -side), theta)
    p = np.maximum(own.p, more.p) if side > 0 else np.maximum(own.p_not, more.p_not)
    units, beyond, room = len(differences), side * (differences.mean(axis=0) - theta), 2 + side * theta
    missing = np.where(beyond * units > 3 * room, (room / (room + beyond)) ** units, 1.0) * (beyond > 0)
    counted: np.ndarray = np.maximum(p, missing)
    return counted


def test_numbers_are_those_of_scipy_and_statsmodels() -> None:
    from statsmodels.stats.weightstats import ttost_paired

    before, change = _noise(300, 6), 0.1 * stats.zscore(_noise(300, 6, seed=1), ddof=1)
    after = before + np.array([-0.1, -0.027, -0.012, 0.0, 0.012, 0.05], dtype=np.float32) + change
    one, other = before.astype(np.float64), after.astype(np.float64)
    paired, gaps = stats.ttest_rel(other, one), other - one
    interval = paired.confidence_interval(0.95)
    wanted = {
        "p": paired.pvalue, "statistic": paired.statistic, "low": interval.low, "high": interval.high,
        "p_equivalent": [ttost_paired(other[:, head], one[:, head], -0.04, 0.04)[0] for head in range(6)],
        "mean_a": one.mean(axis=0), "mean_b": other.mean(axis=0), "count": [300] * 6,
        "difference": gaps.mean(axis=0), "effect": gaps.mean(axis=0) / gaps.std(axis=0, ddof=1),
    }  # fmt: skip
    near = np.maximum(_counted(gaps, -0.04, 1), _counted(gaps, 0.04, -1))
    change_p = np.minimum(1, 2 * np.minimum(_counted(gaps, 0, 1), _counted(gaps, 0, -1)))
    for correction in ("none", "fdr_bh", "holm"):
        found = _compared(before, after, Decision("t", correction), bound=0.04)
        wanted["q_equivalent"] = adjust(near, correction)
        within, equivalent = (np.abs(interval) < 0.04).all(axis=0), wanted["q_equivalent"] <= 0.05
        wanted["q"] = adjust(np.where(within | equivalent, 1, change_p), correction)
        changed = np.where(wanted["q"] <= 0.05, CHANGED, UNDETERMINED)
        wanted["outcome"] = np.where(equivalent, EQUIVALENT, changed)
        for name, numbers in wanted.items():
            np.testing.assert_allclose(_one(found, name), numbers, rtol=1e-9, atol=1e-10, err_msg=name)
        assert set(wanted["outcome"].tolist()) == {CHANGED, EQUIVALENT, UNDETERMINED}
    assert (within & ~equivalent).any()  # equivalence that is withheld is no change either
    skewed = _compared(before, after, Decision(correction="none"))
    none, above, below = (student_skew(describe(gaps), theta) for theta in (0.0, -BOUND, BOUND))
    two_sided = np.minimum(1, 2 * np.minimum(none.p, none.p_not))
    np.testing.assert_allclose(_one(skewed, "p"), two_sided, atol=1e-12)
    np.testing.assert_allclose(_one(skewed, "p_equivalent"), np.maximum(above.p, below.p_not), atol=1e-12)


@pytest.mark.parametrize("test", [name for name, method in METHODS.items() if method.bounded is None])
def test_every_test_and_max_t_tell_changes_of_either_sign_from_equivalence(test: str) -> None:
    before = _noise(200, 4)
    after = before + np.array([0.0, 0.2, -0.2, 0.0]) + 0.1 * _noise(200, 4, seed=9)
    after[:, 3] = before[:, 3]
    studentised = test in ("t-skew", "t", "bootstrap-t", "sign-flip")
    for correction in ("holm", "maxT") if studentised else ("holm",):
        found = _compared(before, after, Decision(test=test, correction=correction, resamples=999))
        outcomes = [EQUIVALENT, CHANGED, CHANGED]
        assert _one(found, "outcome").tolist()[:3] == outcomes, correction
        assert np.sign(_one(found, "effect")[1:3]).tolist() == [1, -1]
        assert (found.q >= found.p - 1e-12).all()
        assert (found.q_equivalent >= found.p_equivalent - 1e-12).all()


def test_units_are_averaged_pooled_over_items_and_freed_of_the_chance_of_each_run() -> None:
    before, after = _noise(6, 1), _noise(6, 1, seed=6)
    before[1], after[4] = np.nan, np.nan  # what both runs know counts
    found = _compared(before, after, units=[*"xxyyzz"])
    gaps = (after.astype(float) - before.astype(float))[:, 0]
    means = [gaps[0], gaps[2:4].mean(), gaps[5]]
    assert found.count.item() == 3
    assert found.difference.item() == pytest.approx(np.mean(means))
    assert found.p.item() == pytest.approx(stats.ttest_1samp(means, 0).pvalue)
    assert found.mean_a.item() == pytest.approx(np.mean([before[0, 0], before[2:4, 0].mean(), before[5, 0]]))

    before, after = _noise(40, 2), _noise(40, 2, seed=7)
    items = np.random.default_rng(0).integers(1, 9, (1, 40)).astype(float)
    first = replace(_scores(before, null=0.25), cells=items)
    second = replace(_scores(after, null=1.0), cells=items)
    for pooled in (False, True):
        rules = (Rule("s0", low=-1.0, high=1.0, pooled=pooled),)
        found = paired_differences(first, second, (rules, rules), PLAIN, BOUND)
        weights = items[0] if pooled else np.ones(40)
        for name, wanted in (("difference", after.astype(float) - before - 0.75), ("mean_a", before)):
            mean = np.average(wanted, axis=0, weights=weights)
            np.testing.assert_allclose(_one(found, name), mean, rtol=1e-5)
        (pair,) = column_pairs(first, second, (rules, rules))
        assert (pair.column.low, pair.column.high) == (-2.75, 1.25)


# Equivalence and its limits.


def test_equal_scores_are_identical_without_a_test_and_all_other_numbers_stay() -> None:
    for units in (1, 20, 200):
        own = _noise(units, 4)
        planted = own + np.array([0, 1e-8, 1e-3, 0.4], dtype=np.float32) * (1 + _noise(units, 4, seed=1))
        found = _compared(own, planted, Decision())
        assert (_one(found, "outcome") == IDENTICAL).tolist() == [True, True, False, False], units
        alone = _compared(own[:, 2:], planted[:, 2:], PLAIN)
        assert (_one(_compared(own, planted, PLAIN), "outcome")[2:] == _one(alone, "outcome")).all()
    assert _one(found, "p").tolist()[0] == 1  # and stays in its family: q of the others are those of four
    assert _one(found, "q")[3] == pytest.approx(4 * _one(found, "p")[3], rel=1e-6)
    own[0, 0] = np.nan  # in one run alone
    assert _one(_compared(_noise(200, 4), own), "outcome")[:2].tolist() == [EQUIVALENT, IDENTICAL]
    rule = Rule("s0", margin=0.02, low=-1.0, high=1.0)
    few = paired_differences(_scores(own[:20]), _scores(own[:20]), ((rule,), (rule,)), PLAIN, BOUND)
    resampled = Decision(test="bootstrap-t", correction="maxT", resamples=199)
    said = " ".join(remarks(few, resampled, BOUND, resampled))
    for part in ("fewer than 50 units", "wider than the margin of s0", "labels of t-skew with holm"):
        assert part in said
    changed = _compared(_noise(200, 2), _noise(200, 2) + 0.3 + 0.1 * _noise(200, 2, seed=1), Decision())
    assert remarks(changed, Decision(), 0.01, None) == []


def test_runs_on_other_inputs_err_as_promised_with_any_spreads_and_find_a_planted_difference() -> None:
    before, after = 3 * _noise(80, 3000), 1 + _noise(400, 3000, seed=1)
    after[:, 2000:] += 0.2
    one, other = _scores(before), _scores(after, units=[f"u{row // 2}" for row in range(400)], null=1.0)
    rule = (Rule("s0", low=-9.0, high=9.0),)
    pairs = pair_at_random(one, other, [False], 0)
    found = paired_differences(*pairs, (rule, rule), PLAIN, 0.01)
    null, planted = _one(found, "p")[:2000], _one(found, "p")[2000:]
    assert 0.035 < (null < 0.05).mean() < 0.065
    welch = stats.ttest_ind(after[:, 2000:] - 1, before[:, 2000:], equal_var=False).pvalue
    assert (planted < 0.05).mean() == pytest.approx((welch < 0.05).mean(), abs=0.02)  # no power is lost
    np.testing.assert_allclose(_one(found, "mean_b"), after.mean(axis=0), atol=0.02)
    assert (_one(found, "count") == 80).all()
    pooled = pair_at_random(replace(one, cells=np.arange(1.0, 81)[None]), other, [True], 0)
    np.testing.assert_allclose(pooled[0].cells[0], np.arange(1.0, 81))
    np.testing.assert_allclose(pooled[0].values, one.values)


def test_rounding_is_no_change_however_certain_and_claims_need_75_units_and_safe_bounds() -> None:
    before = _noise(400, 1)
    found = _compared(before, before + 0.01 + 0.1 * _noise(400, 1, seed=8))
    assert found.p.item() < 1e-6
    assert (found.low.item() > 0, found.q.item(), found.outcome.item()) == (True, 1, EQUIVALENT)
    for test, shift, claim in (("t", 0.001, EQUIVALENT), ("t-skew", 0.3, CHANGED)):
        for units, reach, outcome in (
            (74, np.nan, UNDETERMINED), (75, np.nan, claim), (75, 0.1, claim), (75, 4.0, UNDETERMINED),
        ):  # fmt: skip
            before = _noise(units, 3)
            after = before + shift + 0.001 * _noise(units, 3, seed=1)
            found = _compared(before, after, Decision(test=test), reach=reach)
            assert (found.p < 1e-6).all()
            assert (found.outcome == outcome).all(), (test, units, reach)
    rare = np.zeros((100, 3))  # a claim of the units alone, which three more of the worst would reverse
    rare[:2] = 0.9
    found = _compared(before := _noise(100, 3), before + rare, reach=np.nan)
    assert (found.p_equivalent < 0.05).all()
    assert (found.outcome == UNDETERMINED).all()


def test_units_that_may_be_missing_are_corrected_over_heads_by_every_correction() -> None:
    # a head with 3 % of units at 1, which are missing, and the mean 0: p = 2 (1 / 1.031)^160 = 0.015
    before = np.zeros((160, 24))
    after = np.random.default_rng(0).normal(-0.031, 0.002, before.shape)
    for correction, code in (("none", CHANGED), ("holm", UNDETERMINED), ("maxT", UNDETERMINED)):
        decision = Decision(correction=correction, resamples=999)
        assert (_compared(before, after, decision, bound=0.01, reach=0.5).outcome == code).all(), correction


def test_below_two_units_nothing_is_tested() -> None:
    assert (_compared(_noise(1, 2), _noise(1, 2, seed=1)).outcome == UNTESTABLE).all()
    silent = _noise(30, 2)
    silent[:, 1] = np.nan
    found = _compared(_noise(30, 2), silent)
    assert _one(found, "outcome").tolist()[1] == UNTESTABLE
    assert _one(found, "count").tolist() == [30, 0]
    assert np.isnan(_one(found, "q_equivalent")).tolist() == [False, True]
    assert (_compared(silent * np.nan, silent).outcome == UNTESTABLE).all()


def test_layers_sum_up_heads_and_labels_and_explained_ones_are_counted() -> None:
    chance = np.random.default_rng(15)
    before = 0.05 + 0.02 * chance.normal(size=(2, 150, 3, 4))
    after = before + 0.002 * chance.normal(size=before.shape)
    after[0, :, 1, :2] += 0.2
    after[0, :, 2, 3] = np.nan
    first, second = _scores(before), _scores(after)
    rules = (Rule("s0", low=-1.0, high=1.0), Rule("s1", low=-1.0, high=1.0, role=False))
    found = paired_differences(first, second, (rules, rules), Decision(), BOUND)
    runs = judge(first, rules, Decision()), judge(second, rules, Decision())
    rows = by_layer(found, *runs, first.stack)
    assert [(row.sieve, row.layer) for row in rows] == [*product(("s0", "s1"), range(3))]
    assert [[row.changed, row.equivalent, row.undetermined, row.untestable] for row in rows] == [
        [0, 4, 0, 0], [2, 2, 0, 0], [0, 3, 0, 1], *[[0, 4, 0, 0]] * 3,
    ]  # fmt: skip
    assert [[row.labels_a, row.labels_b, row.gained, row.lost] for row in rows] == [
        [0, 0, 0, 0], [0, 2, 2, 0], [0, 0, 0, 0], *[[None] * 4] * 3,
    ]  # fmt: skip
    for row, values in zip(rows, found.difference.reshape(6, 4), strict=True):
        means = np.nanmean(values), np.nanmean(np.abs(values))
        assert (row.difference, row.absolute) == pytest.approx(means)

    codes = [np.array(row).reshape(1, 1, 4) for row in ([0, 0, 4, 1], [4, 2, 0, 4])]
    own = judge(_scores(_noise(60, 4)), rules[:1], Decision())
    one, other = (replace(own, decision=code) for code in codes)
    lost, gained = explained_labels(one, other)
    assert "1 of the labels lost belongs to heads that are explained in B" in lost
    assert "1 of the labels gained belongs to heads that are explained in A" in gained


# Swaps of both runs within units.

GRID = Grid(3, 4)
RULES = (
    Rule("local", low=-1.0, high=1.0),
    Rule("block", contrast="block:matched", low=-1.0, high=1.0),
    Rule("block:matched", margin=0.02, role=False, low=-2.0, high=2.0),
)


def _run(seed: int, units: int = 40, shift: float = 0.0, silent: bool = False) -> Scores:
    """Heads below, near and beyond the margin, on two examples a unit in the first five units."""
    chance, examples = np.random.default_rng(seed), units + 5
    level = np.linspace(0.0, 0.3, 12).reshape(3, 4)
    values = level + shift + 0.2 * chance.normal(size=(3, examples, 3, 4))
    values[2] *= 0.3
    if silent:
        values[:, ::3, :, 1] = np.nan
    return scored(values, RULES, units=[k % units for k in range(examples)])


def _swapped(one: Scores, other: Scores, decision: Decision, swaps: int = 19) -> Table:
    columns = [list(Columns(scores, RULES)) for scores in (one, other)]
    changes: Table = compare_by_swaps(*columns, GRID, decision, swaps)
    return changes


@pytest.mark.parametrize(
    ("given", "judged"),
    [(("t-skew", "fdr_bh"),) * 2, (("sign", "holm"),) * 2, (("bootstrap-t", "maxT"), ("t-skew", "holm"))],
)
def test_swaps_count_the_labels_of_swapped_scores(given: tuple[str, str], judged: tuple[str, str]) -> None:
    asked, decision = (Decision(*names, seed=5) for names in (given, judged))
    silent = given[0] == "t-skew"
    one, other = _run(0, silent=silent), _run(1, silent=silent, shift=0.05)
    drawn = np.random.default_rng(5).integers(0, 2, (19, 40), dtype=np.int8)
    labels = []
    for row in [np.zeros(40), *drawn]:
        mine = np.array([row[int(unit[1:])] == 1 for unit in one.units])[None, :, None, None]
        sides = np.where(mine, other.values, one.values), np.where(mine, one.values, other.values)
        found = [judge(replace(one, values=values), RULES, decision).decision for values in sides]
        labels.append([(codes[:2] == 0).reshape(2, -1) for codes in found])
    before, after = np.array(labels).swapaxes(0, 1)  # each (swaps, roles, heads), without swaps first
    changes = _swapped(one, other, asked)
    assert [change.sieve for change in changes] == ["local", "block", ""]
    for change, part in zip(changes, ([0], [1], [0, 1]), strict=True):
        moves = {"gained": after & ~before, "lost": before & ~after, "changed": before ^ after}
        for name, moved in moves.items():
            own, *counts = moved[:, part].sum(axis=(1, 2))
            ordered = np.sort(counts)  # the 1st and the 19th are the ends of 95 % of 19 swaps
            wanted = (own, np.mean(counts), ordered[0], ordered[18])
            found = [getattr(change, f"{name}{end}") for end in ("", "_mean", "_low", "_high")]
            assert found == pytest.approx(wanted), name
        assert change.p == (1 + (np.array(counts) >= own).sum()) / 20
        assert (change.labels_a, change.labels_b) == (before[0, part].sum(), after[0, part].sum())
    q = adjust(np.array([change.p for change in [*changes][:2]]), decision.correction)
    assert [change.q for change in changes] == pytest.approx([*q, np.nan], nan_ok=True)
    for change in _swapped(one, other, asked, swaps=0):  # no swaps give no reference
        assert np.isnan([change.p, change.q, change.changed_mean]).all()


# Agreement of labels.


def _labels(name: str, held: np.ndarray, tested: np.ndarray, fresh: np.ndarray | None = None) -> Labels:
    """Labels of one run; without fresh samples they are certain."""
    drawn = held[:, None].repeat(5, 1) if fresh is None else fresh
    return Labels(name, ("local", "block")[: len(held)], held, tested, drawn)


def test_kappa_of_pairs_and_its_means_are_those_of_scikit_learn_over_heads_that_both_tested() -> None:
    from sklearn.metrics import cohen_kappa_score

    rng = np.random.default_rng(0)
    held, tested = rng.random((4, 2, 30)) < 0.4, rng.random((4, 2, 30)) < 0.9
    runs = [_labels(name, held[k], tested[k]) for k, name in enumerate("abc")]
    runs.append(_labels("d", held[3, :1], tested[3, :1]))  # which has one of both roles
    found = agreements("calibrated", runs)
    assert {row.group for row in found} == {"calibrated"}
    rows = {(row.sieve, row.run_a, row.run_b): row for row in found}
    means = []
    for place, role, names in ((0, "local", "abcd"), (1, "block", "abc")):
        kappas = []
        for one, other in combinations(names, 2):
            a, b, row = "abcd".index(one), "abcd".index(other), rows.pop((role, one, other))
            known = tested[a, place] & tested[b, place]
            first, second = held[a, place][known], held[b, place][known]
            assert row.kappa == row.low == row.high == pytest.approx(cohen_kappa_score(first, second))
            counts = (known.sum(), (first & second).sum(), (first | second).sum())
            assert (row.heads, row.both, row.either) == counts
            kappas.append(row.kappa)
        means.append(np.mean(kappas))
    wanted = {("local", "", ""): means[0], ("block", "", ""): means[1], ("", "", ""): np.mean(means)}
    assert {key: row.kappa for key, row in rows.items()} == pytest.approx(wanted)
    nobody = np.stack([held[0, 0], held[0, 0] & False])
    again = {
        (row.sieve, row.run_a): row
        for row in agreements("g", [_labels(name, nobody, nobody | True) for name in "ab"])
    }
    assert np.isnan([again["block", "a"].kappa, again["block", "a"].low]).all()  # a role of no head
    assert again["", ""].kappa == 1
    assert not agreements("g", runs[:1])
    untested = [_labels(name, held[0, :1], held[0, :1] & False) for name in "ab"]
    assert np.isnan(agreements("g", untested)[0].kappa)


def test_the_interval_lies_around_kappa_as_wide_as_fresh_samples_differ() -> None:
    from sklearn.metrics import cohen_kappa_score

    rng = np.random.default_rng(5)
    held = rng.random((2, 1, 40)) < 0.5
    fresh = held[:, :, None] ^ (rng.random((2, 1, 200, 40)) < 0.1)
    every = held | True
    row = agreements("g", [_labels(name, held[k], every[k], fresh[k]) for k, name in enumerate("ab")])[0]
    drawn = [cohen_kappa_score(*pair) for pair in zip(fresh[0, 0], fresh[1, 0], strict=True)]
    apart = np.abs(np.subtract.outer(drawn, drawn))
    half = row.high - row.kappa
    assert half == pytest.approx(row.kappa - row.low)
    assert (apart < half - 1e-9).mean() < 0.95 <= (apart <= half + 1e-9).mean()


# Gaps that one run found, on another.


def _gap(
    head: int, difference: float, p: float, q: float = 0.01, kind: str = "pro accuracy"
) -> dict[str, Any]:
    first, measure = kind.split()
    return {
        "layer": 0, "head": head, "measure": measure, "first": first,
        "second": {"pro": "anti", "feminine": "masculine"}[first], "both": 0.5, "first_value": 0.5,
        "second_value": 0.5, "difference": difference, "low": difference - 0.1, "high": difference + 0.1,
        "p": p, "q": q,
    }  # fmt: skip


def test_gaps_of_a_are_tested_on_b_in_their_direction_and_corrected_by_conditions_and_measure() -> None:
    proposed = [_gap(head, sign * 0.2, 0.001) for head, sign in enumerate((1, -1, 1, 1))]
    proposed += [_gap(9, 0.2, 0.9, q=0.9)]  # which A did not find
    fresh = [_gap(0, 0.1, 0.02), _gap(1, 0.1, 0.001), _gap(2, 0.05, 0.4), _gap(9, 0.2, 0.001)]
    before, after = CONDITION_GAPS.rows(proposed), CONDITION_GAPS.rows(fresh)
    found = replicate_gaps(before, after, Decision(correction="holm"))
    assert [gap.head for gap in found] == [0, 1, 2, 3]
    assert [gap.p for gap in found] == pytest.approx([0.01, 0.9995, 0.2, np.nan], nan_ok=True)
    assert [gap.decision for gap in found] == ["gap", "reversed", "undetermined", "untestable"]
    wanted = adjust(np.array([0.01, 0.9995, 0.2]), "holm")
    assert found["q"][:3] == pytest.approx(wanted)
    assert (found[0].difference_a, found[0].q_a, found[0].difference, found[0].low) == (0.2, 0.01, 0.1, 0.0)
    assert np.isnan([found[3].difference, found[3].low, found[3].q]).all()
    assert replicate_gaps(before, after, Decision(correction="maxT")).csv() == found.csv()
    kinds = ("pro accuracy", "feminine accuracy", "feminine f1")
    apart = CONDITION_GAPS.rows(_gap(0, 0.2, 0.001, kind=kind) for kind in kinds)
    assert [gap.q for gap in replicate_gaps(apart, apart, Decision())] == pytest.approx([0.0005] * 3)
    assert replicate_gaps(apart, CONDITION_GAPS, Decision())[0].decision == "untestable"
    assert not replicate_gaps(CONDITION_GAPS, apart, Decision())
