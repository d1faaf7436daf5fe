"""Two runs: paired differences, equivalence, swaps, agreement of labels and gaps that replicate."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pingouin
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_paired

from headroles.records import ConditionGap, Decision, Differences, RoleChange, Rule, Scores
from headroles.stats import (
    METHODS,
    Columns,
    Grid,
    Labels,
    adjust,
    agreements,
    bounded_p,
    by_layer,
    column_pairs,
    compare_by_swaps,
    describe,
    evidence_columns,
    explained_labels,
    fresh_roles,
    judge,
    paired_differences,
    remarks,
    replicate_gaps,
    student_skew,
)
from tests.support.scores import scored
from tests.support.sequential import rate_is_kept

BOUND = 0.05
PLAIN, USUAL = Decision(test="t", correction="none"), Decision()
CHANGED, EQUIVALENT, UNDETERMINED, UNTESTABLE = range(4)


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


def test_numbers_are_those_of_scipy_pingouin_and_statsmodels() -> None:
    before, after = _noise(60, 6), _noise(60, 6, seed=1) + np.linspace(-0.05, 0.05, 6).astype(np.float32)
    found = _compared(before, after, bound=0.04)
    one, other = before.astype(np.float64), after.astype(np.float64)
    paired = stats.ttest_rel(other, one)
    interval = paired.confidence_interval(0.95)
    wanted = {
        "p": paired.pvalue, "q": paired.pvalue, "statistic": paired.statistic, "low": interval.low,
        "high": interval.high, "mean_a": one.mean(axis=0), "mean_b": other.mean(axis=0), "count": [60] * 6,
        "difference": (other - one).mean(axis=0),
        "effect": (other - one).mean(axis=0) / (other - one).std(axis=0, ddof=1),
    }  # fmt: skip
    inside = (interval.low > -0.04) & (interval.high < 0.04)
    wanted["q"] = np.where(inside | (_one(found, "p_equivalent") <= 0.05), 1, paired.pvalue)
    for name, numbers in wanted.items():
        np.testing.assert_allclose(_one(found, name), numbers, rtol=1e-9, atol=1e-12, err_msg=name)
    for head in range(6):
        p = _one(found, "p_equivalent")[head]
        assert p == pytest.approx(ttost_paired(other[:, head], one[:, head], -0.04, 0.04)[0], abs=1e-10)
        theirs = pingouin.tost(other[:, head], one[:, head], bound=0.04, paired=True)
        assert p == pytest.approx(float(theirs["pval"].iloc[0]), abs=1e-10)
    sample = describe(other - one)
    skewed = _compared(before, after, Decision(correction="none"))
    none, above, below = (student_skew(sample, theta) for theta in (0.0, -BOUND, BOUND))
    np.testing.assert_allclose(
        _one(skewed, "p"), np.minimum(1, 2 * np.minimum(none.p, none.p_not)), atol=1e-12
    )
    np.testing.assert_allclose(_one(skewed, "p_equivalent"), np.maximum(above.p, below.p_not), atol=1e-12)


@pytest.mark.parametrize("test", [name for name, method in METHODS.items() if method.bounded is None])
def test_every_test_and_max_t_tell_changes_of_either_sign_from_equivalence(test: str) -> None:
    before = _noise(120, 4)
    after = before + np.array([0.0, 0.2, -0.2, 0.0]) + 0.3 * _noise(120, 4, seed=9)
    after[:, 3] = before[:, 3]
    studentised = test in ("t-skew", "t", "bootstrap-t", "sign-flip")
    for correction in ("holm", "maxT") if studentised else ("holm",):
        found = _compared(before, after, Decision(test=test, correction=correction, resamples=999))
        outcomes = [EQUIVALENT, CHANGED, CHANGED]
        assert _one(found, "outcome").tolist()[:3] == outcomes, correction
        assert np.sign(_one(found, "effect")[1:3]).tolist() == [1, -1]
        assert (found.q >= found.p - 1e-12).all()
        assert (found.q_equivalent >= found.p_equivalent - 1e-12).all()
    before = _noise(120, 8)
    after = before + 0.2 + 0.1 * _noise(120, 8, seed=1)
    after[:, 0], after[0, 0] = before[:, 0], before[0, 0] + 0.2  # a head that differs in one unit hides none
    found = _compared(before, after, Decision(test="t", correction="maxT", resamples=999))
    assert (_one(found, "outcome") == CHANGED).tolist() == [False] + [True] * 7


def test_swapping_the_runs_turns_signs_and_keeps_outcomes() -> None:
    before, after = _noise(60, 30), _noise(60, 30, seed=5) + 0.03
    for correction in ("fdr_bh", "maxT"):
        decision = Decision("t", correction, resamples=199)
        there, back = _compared(before, after, decision), _compared(after, before, decision)
        for name in ("p", "q", "p_equivalent", "q_equivalent", "outcome"):
            np.testing.assert_allclose(getattr(there, name), getattr(back, name), atol=1e-12)
        np.testing.assert_allclose(there.low, -back.high, atol=1e-12)
    assert len(np.unique(_compared(before, after).outcome)) > 1


def test_units_are_averaged_over_what_both_runs_know_and_chance_is_taken_off_each_run() -> None:
    before, after = _noise(6, 1), _noise(6, 1, seed=6)
    before[1], after[4] = np.nan, np.nan
    found = _compared(before, after, units=[*"xxyyzz"])
    gaps = (after.astype(float) - before.astype(float))[:, 0]
    means = [gaps[0], gaps[2:4].mean(), gaps[5]]
    assert found.count.item() == 3
    assert found.difference.item() == pytest.approx(np.mean(means))
    assert found.p.item() == pytest.approx(stats.ttest_1samp(means, 0).pvalue)
    assert found.mean_a.item() == pytest.approx(np.mean([before[0, 0], before[2:4, 0].mean(), before[5, 0]]))

    before, after = _noise(40, 2), _noise(40, 2, seed=7)
    first, second, rules = (
        _scores(before, null=0.25),
        _scores(after, null=1.0),
        (Rule("s0", low=-1.0, high=1.0),),
    )
    found = paired_differences(first, second, (rules, rules), PLAIN, BOUND)
    np.testing.assert_allclose(_one(found, "difference"), (after - before).mean(axis=0) - 0.75, rtol=1e-6)
    np.testing.assert_allclose(_one(found, "mean_a"), before.mean(axis=0), rtol=1e-5)
    (pair,) = column_pairs(first, second, (rules, rules))
    assert (pair.column.low, pair.column.high) == (-2.75, 1.25)


def test_items_of_units_are_pooled_where_the_rule_says_so() -> None:
    before, after = _noise(30, 2), _noise(30, 2, seed=1)
    items = np.random.default_rng(0).integers(1, 9, (1, 30)).astype(float)
    first, second = replace(_scores(before), cells=items), replace(_scores(after), cells=items)
    rules = (Rule("s0", low=-1.0, high=1.0, pooled=True),)
    found = paired_differences(first, second, (rules, rules), PLAIN, BOUND)
    wanted = np.average(after.astype(float) - before, axis=0, weights=items[0])
    np.testing.assert_allclose(_one(found, "difference"), wanted, rtol=1e-6)


# Equivalence and its limits.


def test_equal_runs_are_equivalent_from_enough_units_on_and_remarks_say_how_many() -> None:
    least = int(np.ceil(np.log(0.05) / np.log(1 - BOUND / 2.0)))  # differences reach from −2 to 2
    for units, outcome in ((least - 1, UNDETERMINED), (least, EQUIVALENT)):
        own = _noise(units, 3)
        found = _compared(own, own, Decision())
        assert (found.outcome == outcome).all()
        assert (found.p == 1).all()
        assert np.isnan(found.effect).all()
        assert ((found.low < 0) & (found.high > 0)).all()
    own = _noise(20, 2)
    first, rules = _scores(own), (Rule("s0", margin=0.02, low=-1.0, high=1.0),)
    decision = Decision(test="bootstrap-t", correction="maxT", resamples=199)
    found = paired_differences(first, first, (rules, rules), decision, BOUND)
    columns = [pair.column for pair in column_pairs(first, first, (rules, rules))]
    said = " ".join(remarks(found, columns, decision, BOUND, decision))
    for words in (f"s0 ({least} units, but got 20)", "fewer than 50 units", "wider than the margin of s0",
                  "labels of t-skew with holm"):  # fmt: skip
        assert words in said
    open_rules = (Rule("s0"),)
    unbounded = paired_differences(first, first, (open_rules, open_rules), Decision(), BOUND)
    assert (unbounded.outcome == UNTESTABLE).all()
    columns = [pair.column for pair in column_pairs(first, first, (open_rules, open_rules))]
    assert "bounds are not known" in " ".join(remarks(unbounded, columns, Decision(), BOUND, None))
    changed = _compared(_noise(200, 2), _noise(200, 2) + 0.3 + 0.1 * _noise(200, 2, seed=1), Decision())
    assert remarks(changed, [], Decision(), 0.01, None) == []


def test_rounding_is_no_change_however_certain_and_fifty_units_are_needed_without_bounds() -> None:
    before = _noise(200, 1)
    found = _compared(before, before + 0.01 + 0.1 * _noise(200, 1, seed=8))
    assert found.p.item() < 1e-6
    assert (found.low.item() > 0, found.q.item(), found.outcome.item()) == (True, 1, EQUIVALENT)
    for test in ("t", "t-skew"):
        for units, outcome in ((49, UNDETERMINED), (50, EQUIVALENT)):
            before = _noise(units, 3)
            found = _compared(before, before + 0.001 + 0.001 * _noise(units, 3, seed=1), Decision(test=test))
            assert (found.p < 1e-6).all()
            assert (found.q == 1).all()
            assert (found.outcome == outcome).all(), (test, units)
    before = 0.2 * _noise(40, 3)
    after = before + 0.0005 * _noise(40, 3, seed=1)
    difference = after.astype(np.float64) - before.astype(np.float64)
    for reach, outcome in ((1.0, UNDETERMINED), (0.1, EQUIVALENT)):  # the bounds of the scores may suffice
        found = _compared(before, after, reach=reach)
        assert (found.outcome == outcome).all()
        above = bounded_p(difference, -BOUND, -2 * reach, 2 * reach)[0]
        below = bounded_p(difference, BOUND, -2 * reach, 2 * reach)[1]
        np.testing.assert_allclose(_one(found, "p_equivalent"), np.maximum(above, below))
    assert (_compared(before, after, reach=np.nan).outcome == UNDETERMINED).all()


def test_an_interval_within_the_bound_is_no_change_though_equivalence_fails_its_correction() -> None:
    before = _noise(60, 300)
    after = before.astype(np.float64)
    after[:, 0] += 0.033 + 0.039 * stats.zscore(_noise(60, 1, seed=2)[:, 0], ddof=1)
    after[:, 1:] += 0.25 * np.tile([1, -1], 30)[:, None] + 3 * _noise(60, 299, seed=3)
    found = _compared(before, after.astype(np.float32), Decision(test="t", correction="holm"), reach=9.0)
    here = (0, 0, 0)
    assert -BOUND < found.low[here] < found.high[here] < BOUND
    assert found.p[here] * 300 < 0.05 < found.q_equivalent[here]
    assert found.outcome[here] == UNDETERMINED


def test_below_two_units_nothing_is_tested_and_contrasts_are_corrected_by_themselves() -> None:
    assert (_compared(_noise(1, 2), _noise(1, 2, seed=1)).outcome == UNTESTABLE).all()
    silent = _noise(30, 2)
    silent[:, 1] = np.nan
    found = _compared(_noise(30, 2), silent)
    assert _one(found, "outcome").tolist()[1] == UNTESTABLE
    assert _one(found, "count").tolist() == [30, 0]
    assert np.isnan(_one(found, "q_equivalent")).tolist() == [False, True]
    assert (_compared(silent * np.nan, silent).outcome == UNTESTABLE).all()

    values = _noise(2, 50, 1, 3)
    first, second = _scores(values), _scores(values + 0.02 * _noise(2, 50, 1, 3, seed=1) + 0.004)
    rules = (Rule("s0", low=-1.0, high=1.0), Rule("s1", low=-1.0, high=1.0, role=False))
    run, alone = (
        paired_differences(first, second, (rules, rules), Decision("t", family=family), BOUND)
        for family in ("run", "sieve")
    )
    np.testing.assert_array_equal(run.q_equivalent, alone.q_equivalent)


def test_layers_sum_up_heads_and_labels_and_explained_ones_are_counted() -> None:
    chance = np.random.default_rng(15)
    before = 0.05 + 0.02 * chance.normal(size=(2, 60, 3, 4))
    after = before + 0.002 * chance.normal(size=before.shape)
    after[0, :, 1, :2] += 0.2
    after[0, :, 2, 3] = np.nan
    first, second = _scores(before), _scores(after)
    rules = (Rule("s0", low=-1.0, high=1.0), Rule("s1", low=-1.0, high=1.0, role=False))
    found = paired_differences(first, second, (rules, rules), Decision(), BOUND)
    runs = judge(first, rules, Decision()), judge(second, rules, Decision())
    rows = by_layer(found, *runs)
    assert [(row.sieve, row.layer) for row in rows] == [
        (sieve, k) for sieve in ("s0", "s1") for k in range(3)
    ]
    assert [[row.changed, row.equivalent, row.undetermined, row.untestable] for row in rows] == [
        [0, 4, 0, 0], [2, 2, 0, 0], [0, 3, 0, 1], *[[0, 4, 0, 0]] * 3,
    ]  # fmt: skip
    assert [[row.labels_a, row.labels_b, row.gained, row.lost] for row in rows] == [
        [0, 0, 0, 0], [0, 2, 2, 0], [0, 0, 0, 0], *[[None] * 4] * 3,
    ]  # fmt: skip
    for row, values in zip(rows, found.difference.reshape(6, 4), strict=True):
        assert (row.difference, row.absolute) == pytest.approx(
            (np.nanmean(values), np.nanmean(np.abs(values)))
        )
    (back, *_) = by_layer(found, *runs[::-1])[1:]
    assert (back.labels_a, back.labels_b, back.gained, back.lost) == (2, 0, 0, 2)

    codes = [np.array(row).reshape(1, 1, 4) for row in ([0, 0, 4, 1], [4, 2, 0, 4])]
    own = judge(_scores(_noise(60, 4)), rules[:1], Decision())
    one, other = (replace(own, decision=code) for code in codes)
    lost, gained = explained_labels(one, other)
    assert "1 of the labels lost belongs to heads that are explained in B" in lost
    assert "1 of the labels gained belongs to heads that are explained in A" in gained
    assert explained_labels(one, one) == []


# Error rates of both lists.


@pytest.mark.ci
@pytest.mark.parametrize("shape", ["normal", "skewed"])
def test_lists_of_changed_and_of_equivalent_heads_err_in_at_most_alpha(shape: str) -> None:
    chance, size = np.random.default_rng(11), 6000
    drawn = chance.normal(size=(100, size)) if shape == "normal" else chance.gamma(4.0, 0.5, (100, size)) - 2
    most = (0.05 if shape == "normal" else 0.056) + 3 * (0.05 * 0.95 / size) ** 0.5
    alone = Decision(correction="none")
    same = _compared(0.01 * chance.normal(size=(100, size)), 0.1 * drawn, alone, bound=1e-6, reach=9.0)
    assert 0.03 < (same.outcome == CHANGED).mean() <= most
    for side in (-1, 1):
        before = 0.1 * chance.normal(size=(100, size))
        at_bound = _compared(before, before + side * BOUND + 0.04 * drawn, alone, reach=9.0)
        assert 0.03 < (at_bound.outcome == EQUIVALENT).mean() <= most


@pytest.mark.ci
def test_rare_differences_tiny_changes_and_dependent_heads_break_no_promise() -> None:
    chance, runs = np.random.default_rng(16), 300
    most = 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5
    # Student's t alone is certain wherever a sample missed the rare differences.
    rare = chance.random((runs, 60, 1, 1)) < 3 / 60
    after = BOUND + 0.4 * (rare - 3 / 60) + 0.001 * chance.normal(size=rare.shape)
    assert (_compared(np.zeros_like(after), after, PLAIN).outcome == EQUIVALENT).mean() <= most
    # True but tiny changes leave the list, and must not lower the bar for 12 heads without any.
    after = 0.02 * chance.normal(size=(runs, 60, 1, 72))
    after[..., :60] += 0.015
    after[..., 60:] *= 50
    found = _compared(np.zeros_like(after), after, Decision(test="t"), reach=50.0)
    assert (found.outcome[:, 0, :60] == EQUIVALENT).mean() > 0.99
    assert (found.outcome[:, 0, 60:] == CHANGED).any(axis=1).mean() <= most
    naive = (adjust(found.p[:, 0], "fdr_bh") <= 0.05)[:, 60:].any(axis=1).mean()
    assert naive > 0.3  # what counting the whole list would do
    drawn = 0.07 * (chance.normal(size=(runs, 40, 1, 1)) + chance.normal(size=(runs, 40, 1, 8)))
    decision, still = Decision(test="t", correction="maxT", resamples=199), np.zeros_like(drawn)
    same = _compared(still, drawn, decision, bound=1e-6, reach=9.0)
    assert (same.outcome[:, 0] == CHANGED).any(axis=1).mean() <= most
    at_bound = _compared(still, drawn + BOUND, decision, reach=9.0)
    assert (at_bound.outcome[:, 0] == EQUIVALENT).any(axis=1).mean() <= most


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


def _swapped(one: Scores, other: Scores, decision: Decision = USUAL, swaps: int = 19) -> list[RoleChange]:
    columns = [list(Columns(scores, RULES)) for scores in (one, other)]
    changes: list[RoleChange] = compare_by_swaps(*columns, GRID, decision, swaps)
    return changes


def _exchanged(one: Scores, other: Scores, row: np.ndarray) -> list[np.ndarray]:
    """Scores of both runs, with those of some units in each other's place."""
    names = {f"u{unit}" for unit in np.flatnonzero(row)}
    mine = np.array([unit in names for unit in one.units])[None, :, None, None]
    return [np.where(mine, other.values, one.values), np.where(mine, one.values, other.values)]


@pytest.mark.parametrize("test", ["t-skew", "t", "sign", pytest.param("wilcoxon", marks=pytest.mark.ci)])
def test_swaps_count_the_labels_of_swapped_scores(test: str) -> None:
    decision, silent = Decision(test=test, seed=5), test in ("t-skew", "wilcoxon")
    one, other = _run(0, silent=silent), _run(1, silent=silent, shift=0.05)
    drawn = np.random.default_rng(5).integers(0, 2, (19, 40), dtype=np.int8)
    gained, lost, held = [], [], []
    for row in [np.zeros(40), *drawn]:
        before, after = (
            judge(replace(one, values=values), RULES, decision).decision[:2].reshape(2, -1) == 0
            for values in _exchanged(one, other, row)
        )
        gained.append((after & ~before).sum(axis=1))
        lost.append((before & ~after).sum(axis=1))
        held.append((before.sum(axis=1), after.sum(axis=1)))
    changes = _swapped(one, other, decision)
    assert [change.sieve for change in changes] == ["local", "block", ""]
    for k, change in enumerate(changes):
        part = [k] if k < 2 else [0, 1]
        counts = {
            name: np.array(of)[:, part].sum(axis=1) for name, of in (("gained", gained), ("lost", lost))
        }
        counts["changed"] = counts["gained"] + counts["lost"]
        for name, moved in counts.items():
            ordered = np.sort(moved[1:])  # the 1st and the 19th are the ends of 95 % of 19 swaps
            wanted = (moved[0], moved[1:].mean(), ordered[0], ordered[18])
            assert [getattr(change, f"{name}{end}") for end in ("", "_mean", "_low", "_high")] == (
                pytest.approx(wanted)
            )
        moved = counts["changed"]
        assert change.p == (1 + (moved[1:] >= moved[0]).sum()) / 20
        assert [change.labels_a, change.labels_b] == np.array(held[0])[:, part].sum(axis=1).tolist()
    assert np.isnan(changes[2].q)
    q = multipletests([change.p for change in changes[:2]], method="fdr_bh")[1]
    assert [change.q for change in changes[:2]] == pytest.approx(q)


def test_equal_runs_move_nothing_planted_changes_most_and_no_swaps_give_no_reference() -> None:
    own = _run(2)
    for change in _swapped(own, own):
        assert (change.changed, change.changed_mean, change.changed_high, change.p) == (0, 0, 0, 1)
    whole = _swapped(_run(3, 80), _run(4, 80, shift=0.2), swaps=199)[-1]
    assert (whole.gained > 5, whole.p) == (True, 1 / 200)
    one, other = _run(5), _run(6)
    assert all(
        np.isnan([change.p, change.q, change.changed_mean]).all() for change in _swapped(one, other, swaps=0)
    )
    first, again, seeded = (_swapped(one, other, Decision(seed=seed), 300) for seed in (0, 0, 1))
    assert repr(first) == repr(again)
    assert first[-1].changed_mean != seeded[-1].changed_mean
    stood = _swapped(one, other, Decision(test="bootstrap-t", correction="maxT"))
    assert repr(stood) == repr(_swapped(one, other, Decision(test="t-skew", correction="holm")))


def test_exchangeable_runs_are_told_apart_in_at_most_alpha_of_cases() -> None:
    def draw(seed: int) -> tuple[int, int]:
        chance = np.random.default_rng(seed)
        one, other = _run(2 * seed, 12), _run(2 * seed + 1, 12, shift=0.1 * chance.normal())
        sides = _exchanged(one, other, chance.random(12) < 0.5)
        first, second = (replace(one, values=values) for values in sides)
        return int(_swapped(first, second, Decision(seed=seed))[-1].p <= 0.1), 1

    kept, wrong, runs = rate_is_kept(draw, kept=0.1, broken=0.25, most=120)
    assert kept, (wrong, runs)


# Agreement of labels.


def _labels(
    name: str, held: np.ndarray, fresh: np.ndarray | None = None, tested: np.ndarray | None = None
) -> Labels:
    """Labels of one run; without fresh samples they are certain."""
    drawn = held[:, None].repeat(5, 1) if fresh is None else fresh
    return Labels(
        name, ("local", "block")[: len(held)], held, held | True if tested is None else tested, drawn
    )


def test_kappa_of_pairs_and_its_means_are_those_of_scikit_learn_over_heads_that_both_tested() -> None:
    rng = np.random.default_rng(0)
    held, tested = rng.random((3, 2, 30)) < 0.4, rng.random((3, 2, 30)) < 0.9
    runs = [_labels(name, held[k], tested=tested[k]) for k, name in enumerate("abc")]
    runs.append(_labels("d", held[0, :1]))
    rows = {(row.sieve, row.run_a, row.run_b): row for row in agreements("calibrated", runs)}
    assert len(rows) == 6 + 1 + 3 + 1 + 1
    kappas: dict[str, list[float]] = {"local": [], "block": []}
    for (role, one, other), row in rows.items():
        assert row.group == "calibrated"
        if one:
            place, a, b = (
                ("local", "block").index(role),
                "abc".index(one),
                "abca".index(other) if other != "d" else 0,
            )
            known = tested[a, place] & (tested[b, place] if other != "d" else True)
            first, second = held[a, place][known], held[b, place][known]
            assert row.kappa == row.low == row.high == pytest.approx(cohen_kappa_score(first, second))
            assert (row.heads, row.both, row.either) == (
                known.sum(), (first & second).sum(), (first | second).sum(),
            )  # fmt: skip
            kappas[role].append(row.kappa)
    means = [np.mean(kappas[role]) for role in kappas]
    assert [rows[role, "", ""].kappa for role in kappas] == pytest.approx(means)
    assert rows["", "", ""].kappa == pytest.approx(np.mean(means))
    nobody = np.stack([held[0, 0], held[0, 0] & False])
    again = {(row.sieve, row.run_a): row for row in agreements("g", [_labels(name, nobody) for name in "ab"])}
    assert np.isnan([again["block", "a"].kappa, again["block", "a"].low]).all()  # a role of no head
    assert again["", ""].kappa == 1
    assert agreements("g", runs[:1]) == []
    assert np.isnan(
        agreements("g", [_labels(n, held[0, :1], tested=held[0, :1] & False) for n in "ab"])[0].kappa
    )


def test_the_interval_lies_around_kappa_as_wide_as_fresh_samples_differ() -> None:
    rng = np.random.default_rng(5)
    held = rng.random((2, 1, 40)) < 0.5
    fresh = held[:, :, None] ^ (rng.random((2, 1, 200, 40)) < 0.1)
    row = agreements("g", [_labels(name, held[k], fresh[k]) for k, name in enumerate("ab")])[0]
    drawn = [cohen_kappa_score(*pair) for pair in zip(fresh[0, 0], fresh[1, 0], strict=True)]
    apart = np.abs(np.subtract.outer(drawn, drawn))
    half = row.high - row.kappa
    assert half == pytest.approx(row.kappa - row.low)
    assert (apart < half - 1e-9).mean() < 0.95 <= (apart <= half + 1e-9).mean()
    for few, known in ((99, False), (100, True)):  # at least half of the draws must have a kappa
        certain = fresh & (np.arange(200) < few)[:, None]
        row = agreements("g", [_labels(name, held[k], certain[k]) for k, name in enumerate("ab")])[0]
        assert np.isnan(row.low) != known


@pytest.mark.ci
def test_kappa_of_fresh_samples_falls_within_the_interval() -> None:
    def labels(rng: np.random.Generator, means: np.ndarray, name: str) -> Labels:
        values = means[None] + 0.1 * rng.normal(size=(60, *means.shape))
        scores, rules = scored(values[None]), [Rule("s0", low=-9.0, high=9.0)]
        held = judge(scores, rules, Decision()).decision.reshape(1, -1) == 0
        columns = evidence_columns(scores, rules, Decision(), None)
        return _labels(name, held, fresh_roles(columns, Grid(*means.shape), Decision(), 0))

    rng, inside = np.random.default_rng(3), []
    for mean, spread, apart in [(0.1, 0.06, 0.03), (0.135, 0.013, 0.005)] * 8:  # second: all near detection
        means = mean + rng.normal(0, spread, size=(6, 12))
        other = means + rng.normal(0, apart, size=means.shape)
        row, again = (
            agreements("g", [labels(rng, means, "a"), labels(rng, other, "b")])[0] for _ in range(2)
        )
        inside.append(row.low <= again.kappa <= row.high)
        assert row.low <= row.kappa <= row.high
    assert np.mean(inside) >= 0.75  # 0.97 and 0.93 in longer simulations


# Gaps that one run found, on another.


def _gap(head: int, difference: float, p: float, q: float = 0.01, kind: str = "pro accuracy") -> ConditionGap:
    first, measure = kind.split()
    second = {"pro": "anti", "feminine": "masculine"}[first]
    ends = difference - 0.1, difference + 0.1
    return ConditionGap(0, head, measure, first, second, 0.5, 0.5, 0.5, difference, *ends, p, q)


def test_gaps_of_a_are_tested_on_b_in_their_direction_and_corrected_by_conditions_and_measure() -> None:
    before = [_gap(head, sign * 0.2, 0.001) for head, sign in enumerate((1, -1, 1, 1))]
    before += [_gap(9, 0.2, 0.9, q=0.9)]  # which A did not find
    after = [_gap(0, 0.1, 0.02), _gap(1, 0.1, 0.001), _gap(2, 0.05, 0.4), _gap(9, 0.2, 0.001)]
    found = replicate_gaps(before, after, Decision(correction="holm"))
    assert [gap.head for gap in found] == [0, 1, 2, 3]
    assert [gap.p for gap in found] == pytest.approx([0.01, 0.9995, 0.2, np.nan], nan_ok=True)
    assert [gap.decision for gap in found] == ["gap", "reversed", "undetermined", "untestable"]
    wanted = multipletests([0.01, 0.9995, 0.2], method="holm")[1]
    assert [gap.q for gap in found[:3]] == pytest.approx(wanted)
    assert (found[0].difference_a, found[0].q_a, found[0].difference, found[0].low) == (0.2, 0.01, 0.1, 0.0)
    assert np.isnan([found[3].difference, found[3].low, found[3].q]).all()
    assert repr(replicate_gaps(before, after, Decision(correction="maxT"))) == repr(found)
    kinds = ("pro accuracy", "feminine accuracy", "feminine f1")
    apart = [_gap(0, 0.2, 0.001, kind=kind) for kind in kinds]
    assert [gap.q for gap in replicate_gaps(apart, apart, Decision())] == pytest.approx([0.0005] * 3)
    assert replicate_gaps(apart, [], Decision())[0].decision == "untestable"
    assert replicate_gaps([], apart, Decision()) == ()


def test_gaps_that_are_not_there_hold_at_most_at_alpha() -> None:
    def draw(batch: int) -> tuple[int, int]:
        one, other = np.random.default_rng(batch).normal(size=(2, 10))
        before = [_gap(head, value, 0.001) for head, value in enumerate(one)]
        after = [_gap(head, z, float(2 * stats.norm.sf(abs(z)))) for head, z in enumerate(other)]
        words = {gap.decision for gap in replicate_gaps(before, after, Decision(correction="holm"))}
        return len(words & {"gap", "reversed"}), 2

    kept, wrong, runs = rate_is_kept(draw, most=800)
    assert kept, (wrong, runs)
