"""Paired differences: agreement with libraries, the three outcomes, and how often they err."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pingouin
import pytest
from scipy import stats as scipy_stats
from statsmodels.stats.weightstats import ttost_paired

from headroles.errors import BadInput, UnknownName
from headroles.records.comparison import OUTCOMES, Differences
from headroles.records.example import Scores
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.comparing.paired import column_pairs, paired_differences
from headroles.stats.comparing.summary import by_layer, explained_labels, remarks, units_needed
from headroles.stats.engine import judge
from headroles.stats.methods.bets import bounded_p
from headroles.stats.methods.closed_form import student_skew
from headroles.stats.moments import describe

BOUND = 0.05
PLAIN = Decision(test="t", correction="none")
CHANGED, EQUIVALENT, UNDETERMINED, UNTESTABLE = range(4)


def rule(name: str = "local", *, reach: float = 1.0, role: bool = True) -> Rule:
    return Rule(name, low=-reach, high=reach, role=role)


def scores(values: np.ndarray, units: Sequence[str] | None = None, null: float = 0.0) -> Scores:
    """Scores of (examples, heads) as one sieve and one layer, or of (sieves, examples, layers, heads)."""
    table = values if values.ndim == 4 else values[None, :, None, :]
    sieves, examples = table.shape[:2]
    keys = tuple(f"e{k}" for k in range(examples))
    return Scores(
        sieves=tuple(f"sieve {k}" for k in range(sieves)),
        examples=keys,
        units=tuple(units or keys),
        tokens=np.full(examples, 9),
        cells=np.full((sieves, examples), 5.0),
        values=table.astype(np.float32),
        null=np.full((sieves, examples), null),
    )


def compared(
    before: np.ndarray,
    after: np.ndarray,
    decision: Decision = PLAIN,
    *,
    bound: float = BOUND,
    reach: float = 1.0,
    units: Sequence[str] | None = None,
) -> Differences:
    first, second = scores(before, units), scores(after, units)
    rules = tuple(replace(rule(reach=reach), sieve=name) for name in first.sieves)
    return paired_differences(first, second, (rules, rules), decision, bound)


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 0.1, shape).astype(np.float32)


def test_the_t_test_of_differences_is_the_paired_t_test_of_scipy_and_pingouin() -> None:
    before, after = noise(40, 6), noise(40, 6, seed=1) + np.linspace(-0.05, 0.05, 6)
    after = after.astype(np.float32)
    found = compared(before, after)
    one, other = before.astype(np.float64), after.astype(np.float64)
    expected = scipy_stats.ttest_rel(other, one)
    np.testing.assert_allclose(found.p[0, 0], expected.pvalue, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.statistic[0, 0], expected.statistic, rtol=1e-9)
    interval = expected.confidence_interval(0.95)
    np.testing.assert_allclose(found.low[0, 0], interval.low, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.high[0, 0], interval.high, rtol=0, atol=1e-10)
    for head in range(6):
        row = pingouin.ttest(other[:, head], one[:, head], paired=True)
        assert float(row.filter(regex="^p").iloc[0, 0]) == pytest.approx(found.p[0, 0, head], abs=1e-10)
    np.testing.assert_allclose(found.mean_b - found.mean_a, found.difference, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        found.effect[0, 0], (other - one).mean(axis=0) / (other - one).std(axis=0, ddof=1), rtol=1e-9
    )


def test_two_one_sided_tests_agree_with_pingouin_and_statsmodels() -> None:
    before, after = noise(60, 5), noise(60, 5, seed=2)
    found = compared(before, after, bound=0.04)
    for head in range(5):
        one, other = before[:, head].astype(np.float64), after[:, head].astype(np.float64)
        theirs, *_ = ttost_paired(other, one, -0.04, 0.04)
        assert found.p_equivalent[0, 0, head] == pytest.approx(theirs, abs=1e-10)
        row: pd.DataFrame = pingouin.tost(other, one, bound=0.04, paired=True)
        assert found.p_equivalent[0, 0, head] == pytest.approx(float(row["pval"].iloc[0]), abs=1e-10)


def test_the_default_is_the_test_of_roles_on_differences() -> None:
    before, after = noise(50, 4), np.abs(noise(50, 4, seed=3))
    found = compared(before, after, Decision(correction="none"))
    difference = after.astype(np.float64) - before.astype(np.float64)
    sample = describe(difference)
    none = student_skew(sample, 0.0)
    np.testing.assert_allclose(found.p[0, 0], np.minimum(1, 2 * np.minimum(none.p, none.p_not)), atol=1e-12)
    both = np.maximum(student_skew(sample, -BOUND).p, student_skew(sample, BOUND).p_not)
    np.testing.assert_allclose(found.p_equivalent[0, 0], both, atol=1e-12)


@pytest.mark.parametrize("test", ["bootstrap-t", "sign-flip", "wilcoxon", "sign", "t-published"])
def test_every_test_tells_a_change_from_none(test: str) -> None:
    before = noise(80, 3)
    after = before + np.array([0.0, 0.3, -0.3]) + 0.2 * noise(80, 3, seed=4)
    found = compared(before, after, Decision(test=test, correction="holm", resamples=2000))
    assert found.outcome.ravel().tolist() == [EQUIVALENT, CHANGED, CHANGED]
    np.testing.assert_array_equal(np.sign(found.effect[0, 0, 1:]), [1, -1])


def test_swapping_the_runs_turns_signs_and_keeps_outcomes() -> None:
    before, after = noise(60, 30), noise(60, 30, seed=5) + 0.03
    there, back = compared(before, after), compared(after, before)
    np.testing.assert_array_equal(there.outcome, back.outcome)
    for name in ("p", "q", "p_equivalent", "q_equivalent"):
        np.testing.assert_allclose(getattr(there, name), getattr(back, name), atol=1e-12)
    np.testing.assert_allclose(there.low, -back.high, atol=1e-12)
    assert len(np.unique(there.outcome)) > 1


def test_examples_of_a_unit_are_averaged_over_what_both_runs_know() -> None:
    before, after = noise(6, 1), noise(6, 1, seed=6)
    before[1], after[4] = np.nan, np.nan
    found = compared(before, after, units=["x", "x", "y", "y", "z", "z"])
    gaps = (after.astype(float) - before.astype(float))[:, 0]
    means = [gaps[0], gaps[2:4].mean(), gaps[5]]
    assert found.count.item() == 3
    assert found.difference.item() == pytest.approx(np.mean(means))
    assert found.p.item() == pytest.approx(scipy_stats.ttest_1samp(means, 0).pvalue)
    own = [before[0, 0], before[2:4, 0].astype(float).mean(), before[5, 0]]
    assert found.mean_a.item() == pytest.approx(np.mean(own))


def test_chance_values_are_taken_off_each_run() -> None:
    before, after = noise(40, 2), noise(40, 2, seed=7)
    first, second = scores(before, null=0.25), scores(after, null=1.0)
    rules = (rule("sieve 0"),)
    found = paired_differences(first, second, (rules, rules), PLAIN, BOUND)
    shifted = describe(after.astype(float) - 1.0 - (before.astype(float) - 0.25))
    np.testing.assert_allclose(found.difference[0, 0], shifted.mean)
    np.testing.assert_allclose(found.mean_a[0, 0], before.astype(float).mean(axis=0))
    (pair,) = column_pairs(first, second, (rules, rules))
    assert (pair.column.low, pair.column.high) == (-2.75, 1.25)


def test_a_run_against_itself_has_not_changed_and_is_equivalent_from_enough_units_on() -> None:
    least = units_needed(2.0, BOUND, 0.05)
    for units, outcome in ((least - 1, UNDETERMINED), (least, EQUIVALENT)):
        own = noise(units, 3)
        found = compared(own, own, Decision())
        assert (found.outcome == outcome).all()
        assert (found.p == 1).all()
        assert (found.difference == 0).all()
        assert np.isnan(found.effect).all()
        assert (found.low < 0).all()
        assert (found.high > 0).all()


def test_a_detectable_change_within_the_bound_is_equivalent() -> None:
    before = noise(200, 1)
    after = before + 0.01 + 0.1 * noise(200, 1, seed=8)
    found = compared(before, after)
    assert found.p.item() < 1e-6
    assert found.low.item() > 0
    assert found.outcome.item() == EQUIVALENT
    assert found.q.item() == 1


@pytest.mark.parametrize(("units", "outcome"), [(49, UNDETERMINED), (50, EQUIVALENT)])
@pytest.mark.parametrize("test", ["t", "t-skew"])
def test_below_fifty_units_a_certain_change_within_the_bound_is_undetermined(
    units: int, outcome: int, test: str
) -> None:
    before = noise(units, 3)
    after = before + 0.001 + 0.001 * noise(units, 3, seed=1)
    found = compared(before, after, Decision(test=test))
    assert (found.p < 1e-6).all()
    assert (found.q == 1).all()
    assert (found.outcome == outcome).all()


def test_below_fifty_units_the_bounds_of_the_scores_alone_allow_equivalence() -> None:
    before = 0.2 * noise(40, 3)
    after = before + 0.0005 * noise(40, 3, seed=1)
    wide, narrow = compared(before, after, reach=1.0), compared(before, after, reach=0.1)
    assert (wide.outcome == UNDETERMINED).all()
    assert (narrow.outcome == EQUIVALENT).all()
    difference = after.astype(np.float64) - before.astype(np.float64)
    for found, reach in ((wide, 2.0), (narrow, 0.2)):
        above, _ = bounded_p(difference, -BOUND, -reach, reach)
        _, below = bounded_p(difference, BOUND, -reach, reach)
        np.testing.assert_allclose(found.p_equivalent[0, 0], np.maximum(above, below))
    rules = (Rule("sieve 0"),)
    unbounded = paired_differences(scores(before), scores(after), (rules, rules), PLAIN, BOUND)
    assert (unbounded.outcome == UNDETERMINED).all()


def test_an_interval_within_the_bound_is_no_change_though_equivalence_fails_its_correction() -> None:
    before = noise(60, 300)
    after = before.astype(np.float64)
    spread = scipy_stats.zscore(noise(60, 1, seed=2)[:, 0], ddof=1)
    after[:, 0] += 0.033 + 0.039 * spread
    after[:, 1:] += 0.25 * np.tile([1, -1], 30)[:, None] + 3 * noise(60, 299, seed=3)
    found = compared(before, after.astype(np.float32), Decision(test="t", correction="holm"), reach=9.0)
    here = (0, 0, 0)
    assert -BOUND < found.low[here] < found.high[here] < BOUND
    assert found.p[here] * 300 < 0.05 < found.q_equivalent[here]
    assert found.outcome[here] == UNDETERMINED


def test_below_two_units_nothing_can_be_tested() -> None:
    alone = compared(noise(1, 2), noise(1, 2, seed=1))
    assert (alone.outcome == UNTESTABLE).all()
    silent = noise(30, 2)
    silent[:, 1] = np.nan
    found = compared(noise(30, 2), silent)
    assert found.outcome.ravel().tolist()[1] == UNTESTABLE
    assert found.count.ravel().tolist() == [30, 0]
    assert np.isnan(found.q_equivalent[0, 0, 1])
    nothing = compared(np.full((30, 2), np.nan, np.float32), silent)
    assert (nothing.outcome == UNTESTABLE).all()


def test_constant_scores_without_bounds_cannot_be_tested() -> None:
    own = noise(60, 2)
    first = scores(own)
    rules = (Rule("sieve 0"),)
    found = paired_differences(first, first, (rules, rules), Decision(), BOUND)
    assert (found.outcome == UNTESTABLE).all()
    columns = [pair.column for pair in column_pairs(first, first, (rules, rules))]
    (said,) = remarks(found, columns, Decision(), BOUND, None)
    assert "sieve 0" in said
    assert "bounds are not known" in said


SIZE = 20_000
ALLOWED = 0.05 + 3 * (0.05 * 0.95 / SIZE) ** 0.5


@pytest.mark.parametrize("shape", ["normal", "skewed alike", "skewed"])
def test_without_a_change_at_most_alpha_of_heads_are_called_changed(shape: str) -> None:
    chance = np.random.default_rng(11)
    before, after = (chance.normal(0.2, 0.1, (100, SIZE)) for _ in range(2))
    if shape == "skewed alike":  # their difference is symmetric
        before, after = (chance.exponential(0.1, (100, SIZE)) for _ in range(2))
    if shape == "skewed":
        after = 0.2 + 0.1 * (chance.gamma(4.0, 0.5, (100, SIZE)) - 2)
        before = np.full((100, SIZE), 0.2) + 0.01 * chance.normal(size=(100, SIZE))
    found = compared(before, after, Decision(correction="none"), bound=1e-6, reach=9.0)
    rate = (found.outcome == CHANGED).mean()
    assert rate <= (ALLOWED if shape == "normal" else 0.06), rate
    assert rate > 0.03


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("shape", ["normal", "skewed"])
def test_at_the_bound_at_most_alpha_of_heads_are_called_equivalent(shape: str, side: int) -> None:
    chance = np.random.default_rng(12)
    drawn = chance.normal(size=(100, SIZE)) if shape == "normal" else chance.gamma(4.0, 0.5, (100, SIZE)) - 2
    before = 0.1 * chance.normal(size=(100, SIZE))
    after = before + side * BOUND + 0.04 * drawn
    found = compared(before, after, Decision(correction="none"), reach=9.0)
    rate = (found.outcome == EQUIVALENT).mean()
    assert rate <= (ALLOWED if shape == "normal" else 0.06), rate
    assert rate > 0.03


def test_rare_differences_at_the_bound_are_called_equivalent_in_at_most_alpha_of_runs() -> None:
    # Student's t alone is certain wherever a sample missed the rare differences: in 1 of 20 runs, and more.
    runs = 1500
    chance = np.random.default_rng(16)
    rare = chance.random((runs, 60, 1, 1)) < 3 / 60
    after = BOUND + 0.4 * (rare - 3 / 60) + 0.001 * chance.normal(size=rare.shape)
    found = compared(np.zeros_like(after), after, PLAIN, reach=1.0)
    assert (found.outcome == EQUIVALENT).mean() <= 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5


def test_of_heads_called_changed_at_most_alpha_are_false_though_equivalent_ones_left_the_list() -> None:
    """True but tiny changes must not lower the bar for heads without any."""
    runs, tiny, none = 400, 60, 12
    chance = np.random.default_rng(13)
    before = np.zeros((runs, 60, 1, tiny + none))
    after = 0.02 * chance.normal(size=before.shape)
    after[..., :tiny] += 0.015
    after[..., tiny:] *= 50
    decision = Decision(test="t")
    found = compared(before, after, decision, reach=50.0)
    called = found.outcome[:, 0] == CHANGED
    assert (found.outcome[:, 0, :tiny] == EQUIVALENT).mean() > 0.99
    false = called[:, tiny:].any(axis=1).mean()  # every changed head is a false one here
    assert false <= 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5
    from headroles.stats.correction import adjust

    naive = (adjust(found.p[:, 0], "fdr_bh") <= 0.05)[:, tiny:].any(axis=1).mean()
    assert naive > 0.3  # what counting the whole list would do


def test_max_t_keeps_the_chance_of_any_false_outcome_at_alpha() -> None:
    runs, heads = 300, 8
    chance = np.random.default_rng(14)
    shared = chance.normal(size=(runs, 40, 1, 1))  # heads depend on each other
    drawn = 0.1 * (0.7 * shared + 0.7 * chance.normal(size=(runs, 40, 1, heads)))
    decision = Decision(test="t", correction="maxT", resamples=199)
    allowed = 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5
    still = np.zeros_like(drawn)
    no_change = compared(still, drawn, decision, bound=1e-6, reach=9.0)
    assert (no_change.outcome[:, 0] == CHANGED).any(axis=1).mean() <= allowed
    at_bound = compared(still, drawn + BOUND, decision, reach=9.0)
    assert (at_bound.outcome[:, 0] == EQUIVALENT).any(axis=1).mean() <= allowed


def test_max_t_finds_changes_in_both_directions_and_equivalence() -> None:
    before = noise(120, 4)
    after = before + np.array([0.0, 0.2, -0.2, 0.0]) + 0.3 * noise(120, 4, seed=9)
    after[:, 3] = before[:, 3]
    for test in ("t-skew", "sign-flip"):
        found = compared(before, after, Decision(test=test, correction="maxT", resamples=999))
        assert found.outcome.ravel().tolist() == [EQUIVALENT, CHANGED, CHANGED, UNDETERMINED]
        assert (found.q >= found.p - 1e-12).all()
        assert (found.q_equivalent >= found.p_equivalent - 1e-12).all()


def test_a_head_that_differs_in_one_unit_hides_no_change_from_max_t() -> None:
    before = noise(120, 8)
    after = before + 0.2 + 0.1 * noise(120, 8, seed=1)
    after[:, 0], after[0, 0] = before[:, 0], before[0, 0] + 0.2
    found = compared(before, after, Decision(test="t", correction="maxT", resamples=999))
    assert (found.outcome[0, 0, 1:] == CHANGED).all()
    assert found.outcome[0, 0, 0] != CHANGED


def test_contrasts_are_corrected_by_themselves() -> None:
    values = noise(2, 50, 1, 3)
    first, second = scores(values), scores(values + 0.02 * noise(2, 50, 1, 3, seed=1) + 0.004)
    rules = (rule("sieve 0"), rule("sieve 1", role=False))
    run = paired_differences(first, second, (rules, rules), Decision(family="run", test="t"), BOUND)
    alone = paired_differences(first, second, (rules, rules), Decision(test="t"), BOUND)
    np.testing.assert_array_equal(run.q_equivalent, alone.q_equivalent)


def test_wrong_settings_are_refused_in_one_sentence() -> None:
    own = noise(10, 2)
    for bound in (0.0, -0.1, float("nan"), float("inf")):
        with pytest.raises(BadInput, match="a number above 0"):
            compared(own, own, bound=bound)
    with pytest.raises(UnknownName, match="no test is called 'u'"):
        compared(own, own, Decision(test="u"))
    with pytest.raises(BadInput, match=r"at least 1599 resamples.*both directions"):
        compared(noise(9, 40), noise(9, 40), Decision("sign-flip", "holm", resamples=999))
    with pytest.raises(BadInput, match="no bounds that are stated before any data"):
        compared(own, own, Decision("betting"))
    first = scores(own)
    for second, rules, words in (
        (replace(first, units=("one",) * 10), 1, "the same units"),
        (replace(first, sieves=("other",)), 1, "the same sieves"),
        (first, 2, "one rule a sieve"),
        (scores(noise(10, 3)), 1, "head by head"),
    ):
        with pytest.raises(BadInput, match=words):
            paired_differences(first, second, ((rule(),), (rule(),) * rules), PLAIN, BOUND)


def test_layers_sum_up_heads_and_labels() -> None:
    chance = np.random.default_rng(15)
    before = 0.05 + 0.02 * chance.normal(size=(2, 60, 3, 4))
    after = before + 0.002 * chance.normal(size=before.shape)
    after[0, :, 1, :2] += 0.2
    after[0, :, 2, 3] = np.nan
    first, second = scores(before), scores(after)
    rules = (rule("sieve 0"), rule("sieve 1", role=False))
    decision = Decision()
    found = paired_differences(first, second, (rules, rules), decision, BOUND)
    runs = (judge(first, rules, decision), judge(second, rules, decision))
    rows = by_layer(found, *runs)
    assert [(row.sieve, row.layer) for row in rows] == [
        (f"sieve {sieve}", layer) for sieve in range(2) for layer in range(3)
    ]
    middle, last = rows[1], rows[2]
    assert (middle.changed, middle.equivalent, middle.gained, middle.lost) == (2, 2, 2, 0)
    assert (middle.labels_a, middle.labels_b) == (0, 2)
    assert middle.difference == pytest.approx(float(found.difference[0, 1].mean()))
    assert (last.equivalent, last.untestable) == (3, 1)
    assert last.absolute == pytest.approx(float(np.nanmean(np.abs(found.difference[0, 2]))))
    assert rows[4].labels_a is None
    assert sum(getattr(row, name) for row in rows for name in OUTCOMES) == found.outcome.size


def test_labels_that_a_contrast_explains_in_the_other_run_are_counted() -> None:
    own = judge(scores(noise(60, 4)), (rule("sieve 0"),), Decision())
    before, after = (
        replace(own, decision=np.array(codes).reshape(1, 1, 4)) for codes in ([0, 0, 4, 1], [4, 2, 0, 4])
    )
    lost, gained = explained_labels(before, after)
    assert "1 of the labels lost belongs" in lost
    assert "explained in B. There, too, the mean lies above the threshold" in lost
    assert "1 of the labels gained belongs" in gained
    assert explained_labels(before, before) == []


def test_remarks_say_what_is_unusual() -> None:
    own = noise(20, 2)
    first = scores(own)
    rules = (replace(rule("sieve 0"), margin=0.02),)
    decision = Decision(test="bootstrap-t", correction="maxT", resamples=199)
    found = paired_differences(first, first, (rules, rules), decision, BOUND)
    columns = [pair.column for pair in column_pairs(first, first, (rules, rules))]
    said = " ".join(remarks(found, columns, decision, BOUND, decision))
    assert "fewer than 50 units" in said
    assert "wider than the margin of sieve 0" in said
    assert "sieve 0 (119 units, but got 20)" in said
    assert "labels of t-skew with holm" in said
    changed = paired_differences(
        first, scores(own + 0.1 * noise(20, 2, seed=1)), (rules, rules), Decision(), BOUND
    )
    assert not remarks(changed, columns[:0], Decision(), 0.01, None)[1:]


def test_units_needed_are_those_from_which_identical_scores_are_equivalent() -> None:
    assert units_needed(2.71, 0.05, 0.05) == 161
    assert units_needed(0.04, 0.05, 0.05) == 2
