"""Gaps between conditions: as libraries and a bootstrap have them, and the error rate where there is none."""

import numpy as np
import pytest
from scipy import stats

from headroles.errors import BadInput
from headroles.records.probes import ConditionGap
from headroles.records.rules.rule import Decision
from headroles.stats.correction import adjust
from headroles.stats.draws import bootstrap_counts
from headroles.stats.probes.conditions import compare_ratios, gaps

NONE = Decision(correction="none")


def _hits(rng: np.random.Generator, examples: int, heads: int = 6) -> np.ndarray:
    chance = rng.uniform(0.2, 0.8, heads)
    return (rng.random((examples, heads)) < chance).astype(float).reshape(examples, 2, heads // 2)


def _column(found: tuple[ConditionGap, ...], name: str) -> np.ndarray:
    return np.array([getattr(each, name) for each in found])


def test_pairs_are_tested_as_scipy_tests_them() -> None:
    rng = np.random.default_rng(0)
    hits = _hits(rng, 120)
    order = rng.permutation(120)
    conditions, units = ["pro"] * 60 + ["anti"] * 60, [f"pair {k}" for k in range(60)] * 2
    found = gaps(hits[order], [conditions[k] for k in order], [units[k] for k in order], NONE)
    flat = hits.reshape(120, 6)
    wanted = stats.ttest_rel(flat[:60], flat[60:])
    np.testing.assert_allclose(_column(found, "p"), wanted.pvalue, rtol=1e-10)
    np.testing.assert_allclose(
        _column(found, "difference"), flat[:60].mean(0) - flat[60:].mean(0), atol=1e-12
    )
    interval = wanted.confidence_interval()
    np.testing.assert_allclose(_column(found, "low"), interval.low, atol=1e-12)
    np.testing.assert_allclose(_column(found, "high"), interval.high, atol=1e-12)
    np.testing.assert_allclose(_column(found, "both"), flat.mean(0), atol=1e-12)
    assert [(each.layer, each.head) for each in found] == [(k, j) for k in range(2) for j in range(3)]
    assert {(each.measure, each.first, each.second) for each in found} == {("accuracy", "pro", "anti")}


def test_single_passages_are_tested_as_welch_does() -> None:
    rng = np.random.default_rng(1)
    hits = _hits(rng, 100)
    conditions, units = ["masculine"] * 35 + ["feminine"] * 65, [str(k) for k in range(100)]
    found = gaps(hits, conditions, units, NONE)
    flat = hits.reshape(100, 6)
    wanted = stats.ttest_ind(flat[35:], flat[:35], equal_var=False)
    np.testing.assert_allclose(_column(found, "p"), wanted.pvalue, rtol=1e-10)
    interval = wanted.confidence_interval()
    np.testing.assert_allclose(_column(found, "low"), interval.low, atol=1e-12)
    np.testing.assert_allclose(_column(found, "high"), interval.high, atol=1e-12)


def test_units_of_several_examples_are_tested_as_by_a_clustered_regression() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(2)
    hits = _hits(rng, 200)
    first = rng.random(200) < 0.4
    cluster = rng.permutation(200) % 40
    found = gaps(hits, list(np.where(first, "pro", "anti")), [str(k) for k in cluster], NONE)
    for head, outcome in enumerate(hits.reshape(200, 6).T):
        design = sm.add_constant(first.astype(float))
        robust = {"groups": cluster, "use_correction": False}
        fitted = sm.OLS(outcome, design).fit(cov_type="cluster", cov_kwds=robust)
        error = fitted.bse[1] * np.sqrt(40 / 39)
        assert found[head].difference == pytest.approx(fitted.params[1], abs=1e-12)
        wanted = 2 * stats.t.sf(abs(fitted.params[1] / error), 39)
        assert found[head].p == pytest.approx(wanted, rel=1e-9)


def test_f1_is_that_of_its_counts() -> None:
    rng = np.random.default_rng(3)
    hits = _hits(rng, 80)
    conditions = ["feminine", "masculine"] * 40
    named = rng.random(80) < 0.8
    hits[~named] = np.nan
    found = gaps(hits, conditions, [str(k) for k in range(80)], NONE, named)
    assert [each.measure for each in found] == ["accuracy"] * 6 + ["f1"] * 6
    for each in found[6:]:
        for condition, value in (("feminine", each.first_value), ("masculine", each.second_value)):
            here = np.array([one == condition for one in conditions])
            true = np.nansum(hits[here, each.layer, each.head])
            false, missed = here.sum() - true, named[here].sum() - true
            assert value == pytest.approx(2 * true / (2 * true + false + missed), abs=1e-12)
    whole = gaps(
        np.nan_to_num(hits), conditions, [str(k) for k in range(80)], NONE, np.ones(80, dtype=np.bool_)
    )
    for name in ("both", "first_value", "second_value", "low", "high", "p"):
        np.testing.assert_allclose(_column(whole[:6], name), _column(whole[6:], name), atol=1e-12)


def test_a_passage_that_was_not_asked_has_missed_its_name_and_called_none_true() -> None:
    hits = np.array([1.0, np.nan, 0.0, 1.0, 1.0, np.nan]).reshape(6, 1, 1)
    conditions = ["feminine"] * 3 + ["masculine"] * 3
    named = np.array([True, True, True, True, True, False])
    accuracy, f1 = gaps(hits, conditions, [str(k) for k in range(6)], NONE, named)
    assert (accuracy.first_value, accuracy.second_value) == (0.5, 1.0)
    assert f1.first_value == pytest.approx(2 / (2 + 1 + 2))  # one false positive, two names missed
    assert f1.second_value == pytest.approx(2 * 2 / (2 * 2 + 1 + 0))  # the nameless passage is wrong


def test_the_interval_of_f1_is_that_of_a_bootstrap_over_passages() -> None:
    rng = np.random.default_rng(4)
    sizes, drawn, columns = (300, 400), [], []
    for size, right in zip(sizes, (0.5, 0.65), strict=True):
        named = rng.random(size) < 0.9
        hit = (rng.random(size) < right) & named
        columns.append((2.0 * hit, 1.0 + named))
        counts = np.concatenate(list(bootstrap_counts(size, 4000, 7)))
        drawn.append((counts @ columns[-1][0]) / (counts @ columns[-1][1]))
    low, high = np.quantile(drawn[0] - drawn[1], [0.025, 0.975])
    empty = [np.zeros(size) for size in sizes[::-1]]
    (above, below), (other_above, other_below) = columns
    found = compare_ratios(
        np.concatenate([above, empty[0]])[:, None],
        np.concatenate([below, empty[0]])[:, None],
        np.concatenate([empty[1], other_above])[:, None],
        np.concatenate([empty[1], other_below])[:, None],
    )
    assert found.low[0] == pytest.approx(low, abs=0.005)
    assert found.high[0] == pytest.approx(high, abs=0.005)
    outside = (drawn[0] - drawn[1] >= 0).mean() * 2
    assert found.p[0] == pytest.approx(outside, abs=0.02)


def _rate(p: np.ndarray) -> float:
    return float((p <= 0.05).mean())


@pytest.mark.parametrize("chance", [0.3, 0.5, 0.7])
def test_without_a_gap_five_percent_are_called_one(chance: float) -> None:
    rng = np.random.default_rng(5)
    heads, pairs = 4000, 60
    shared = rng.random((pairs, heads)) < chance
    sides = [
        np.where(rng.random((pairs, heads)) < 0.5, shared, rng.random((pairs, heads)) < chance)
        for _ in range(2)
    ]
    hits = np.concatenate(sides).astype(float)[:, None]
    found = gaps(hits, ["pro"] * pairs + ["anti"] * pairs, [str(k) for k in range(pairs)] * 2, NONE)
    assert 0.038 < _rate(_column(found, "p")) < 0.062
    hits = (rng.random((100, heads)) < chance).astype(float)[:, None]
    passages = [str(k) for k in range(100)]
    found = gaps(hits, ["feminine"] * 40 + ["masculine"] * 60, passages, NONE)
    assert 0.038 < _rate(_column(found, "p")) < 0.062
    covered = (_column(found, "low") <= 0) & (_column(found, "high") >= 0)
    assert _rate(_column(found, "p")) == pytest.approx(1 - covered.mean(), abs=0.001)


@pytest.mark.parametrize("chance", [0.3, 0.7])
def test_without_a_gap_five_percent_of_f1_are_called_one(chance: float) -> None:
    rng = np.random.default_rng(6)
    sums = []
    for before, size, after in ((0, 40, 60), (40, 60, 0)):
        named = rng.random((size, 4000)) < 0.9
        right = (rng.random((size, 4000)) < chance) & named
        sums += [np.pad(each, ((before, after), (0, 0))) for each in (2.0 * right, 1.0 + named)]
    assert 0.04 < _rate(compare_ratios(*sums).p) < 0.06


def test_scores_without_spread_get_a_bound() -> None:
    right, wrong = np.ones((8, 1, 1)), np.zeros((8, 1, 1))
    both = np.concatenate([right, wrong])
    pairs = [str(k) for k in range(8)] * 2
    (found,) = gaps(both, ["pro"] * 8 + ["anti"] * 8, pairs, NONE)
    assert found.difference == 1
    assert found.p == pytest.approx(2 * 0.5**8)
    assert np.isnan([found.low, found.high]).all()
    apart = [str(k) for k in range(16)]
    (found,) = gaps(both, ["feminine"] * 8 + ["masculine"] * 8, apart, NONE)
    assert found.p == pytest.approx(2 * 0.5**16)
    (found,) = gaps(np.ones((16, 1, 1)), ["feminine"] * 8 + ["masculine"] * 8, apart, NONE)
    assert (found.difference, found.p) == (0.0, 1.0)


def test_too_few_units_or_nothing_asked_say_nothing() -> None:
    hits = np.array([[1.0, np.nan], [0.0, np.nan], [1.0, 1.0]]).reshape(3, 1, 2)
    first, second = gaps(hits, ["feminine", "feminine", "masculine"], ["a", "b", "c"], NONE)
    assert (first.first_value, first.second_value, first.difference) == (0.5, 1.0, -0.5)
    assert np.isnan([first.p, first.q, first.low, second.first_value, second.difference, second.p]).all()
    assert second.both == 1.0
    assert gaps(hits, ["", "pro", ""], ["a", "b", "c"], NONE) == ()


def test_heads_of_a_pair_and_measure_are_corrected_together() -> None:
    rng = np.random.default_rng(8)
    hits = _hits(rng, 160)
    conditions = ["pro", "anti"] * 40 + ["feminine", "masculine"] * 40
    units = [f"pair {k // 2}" for k in range(80)] + [f"passage {k}" for k in range(80)]
    for correction, wanted in (("fdr_bh", "fdr_bh"), ("bonferroni", "bonferroni"), ("maxT", "holm")):
        found = gaps(hits, conditions, units, Decision(correction=correction))
        assert [each.first for each in found] == ["feminine"] * 6 + ["pro"] * 6
        for family in (found[:6], found[6:]):
            np.testing.assert_array_equal(_column(family, "q"), adjust(_column(family, "p"), wanted))


def test_hits_that_fit_nothing_are_refused() -> None:
    hits = np.zeros((2, 1, 1))
    with pytest.raises(BadInput, match="got hits of 2 examples with 2, 3 of them"):
        gaps(hits, ["pro", "anti"], ["a", "b", "c"], NONE)
    with pytest.raises(BadInput, match="from 0 to 1"):
        gaps(hits + 2, ["pro", "anti"], ["a", "b"], NONE)
