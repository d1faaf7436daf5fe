"""Probes: baselines, the best head of a row, and gaps between conditions, by libraries and loops."""

from collections import Counter
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from headroles.records import BaselineCounts, Decision, Rule, Scores, Table
from headroles.stats import (
    RowColumns,
    adjust,
    baseline_rows,
    best_heads,
    bootstrap_counts,
    cross_fitted_baselines,
    gaps,
    selection_half,
)
from tests.support.reference import Jackknife
from tests.support.scores import scored

NONE = Decision(test="t", correction="none")


# Baselines.


def _tallies(seed: int) -> tuple[BaselineCounts, list[str]]:
    """Four baselines, of which the first three are rivals and the last says nothing of the last row."""
    rng = np.random.default_rng(seed)
    units = [f"d{document}" for document in rng.permutation(np.repeat(np.arange(13), 3))]
    items = rng.integers(0, 7, (2, len(units)))
    hits = rng.binomial(items[:, :, None], rng.uniform(0.2, 0.6, 4))
    hits[-1, :, 3] = -1
    names, rivals = ("-1", "+1", "nearest", "rules"), ((0, 1, 2),) * 2
    return BaselineCounts(("r0", "r1"), names, rivals, hits, items, items * 0), units


def test_halves_are_of_whole_units_drawn_evenly_by_the_seed() -> None:
    rng = np.random.default_rng(0)
    for documents in (4, 5, 10, 39):
        units = [f"d{number}" for number in [*range(documents), *rng.integers(0, documents, 30)]]
        chosen = selection_half(units, documents)
        sides = {(unit, bool(side)) for unit, side in zip(units, chosen, strict=True)}
        assert len(sides) == documents
        assert Counter(side for _, side in sides)[True] == documents // 2  # the odd one is tested
    drawn = np.stack([selection_half([*"abcdefghij"], seed) for seed in range(400)])
    assert (np.abs(drawn.mean(axis=0) - 0.5) < 0.1).all()


def test_each_half_is_scored_by_the_rival_that_is_best_on_the_other() -> None:
    for seed in range(6):
        tallies, units = _tallies(seed)
        chosen = selection_half(units, seed)
        hits, items = tallies.hits.copy(), tallies.items.copy()
        hits[0, ::3], items[0, ::3] = 0, 0
        null = cross_fitted_baselines(replace(tallies, hits=hits, items=items), chosen)
        for row in range(2):
            best = {half: hits[row, chosen == half, :3].sum(axis=0).argmax() for half in (True, False)}
            for example, half in enumerate(chosen.tolist()):
                own, of = hits[row, example, best[not half]], items[row, example]
                assert null[row, example] == pytest.approx(own / of if of else np.nan, nan_ok=True)
    # Only rivals are chosen: the first of equals, and none without items.
    hits, items = np.tile([1, 2, 2, 9], (4, 4, 1)), np.full((4, 4), 9)
    items[2, :2] = items[3] = 0
    rivals = ((2, 1, 0), (), (0,), (0,))
    tallies = BaselineCounts(tuple("rstu"), tuple("abcd"), rivals, hits, items, items * 0)
    null = cross_fitted_baselines(tallies, np.array([True, True, False, False]))
    np.testing.assert_array_equal(null[0], [2 / 9] * 4)
    assert np.isnan(null).tolist() == [[False] * 4, [True] * 4, [True] * 4, [True] * 4]


def _each(hits: Any, items: Any) -> np.ndarray:
    """A number per item, 1 for each hit, from counts per example."""
    return np.concatenate([np.repeat([1.0, 0.0], [hit, n - hit]) for hit, n in zip(hits, items, strict=True)])


def test_baselines_are_plain_shares_with_intervals_of_the_jackknife_over_units(jackknifed: Jackknife) -> None:
    for seed in range(5):
        tallies, units = _tallies(seed)
        if seed == 0:  # ends stay shares, and a baseline without items is not known
            tallies.items[0] = tallies.hits[0] = 0
            tallies.hits[1, :, 0], tallies.hits[1, :, 1] = tallies.items[1], 0
            tallies.hits[1, tallies.items[1].argmax(), :2] += np.array([-1, 1])
        found = baseline_rows(tallies, units)
        names = [*product(["r0"], tallies.baselines), *product(["r1"], tallies.baselines[:3])]
        assert [(baseline.row, baseline.baseline) for baseline in found] == names
        for baseline in found:
            row, place = tallies.rows.index(baseline.row), tallies.baselines.index(baseline.baseline)
            items = tallies.items[row]
            right, wanted, count = _each(tallies.hits[row, :, place], items), (np.nan,) * 3, 0
            if items.any():
                mean, error, count = jackknifed(right, np.repeat(units, items))
                reach = stats.t.isf(0.025, count - 1) * error
                wanted = (mean, max(mean - reach, 0), min(mean + reach, 1))
            ends = (baseline.accuracy, baseline.low, baseline.high)
            assert ends == pytest.approx(wanted, abs=1e-9, nan_ok=True)
            assert (baseline.items, baseline.units) == (len(right), count)


# The best head of a row.


def _scores(hits: np.ndarray, items: np.ndarray, units: list[str], layers: int) -> Scores:
    """Shares of right answers from counts (rows, directions, examples, heads); columns row by row."""
    rows, ways, examples, heads = hits.shape
    cells = np.repeat(items, ways, axis=0).astype(float)
    shares = np.full((rows * ways, examples, heads), np.nan)
    np.divide(hits.reshape(shares.shape), cells[:, :, None], out=shares, where=cells[:, :, None] > 0)
    values = shares.reshape(rows * ways, examples, layers, heads // layers)
    return replace(scored(values, cells=cells), units=tuple(units))


@dataclass(frozen=True)
class _Answers:
    """Right answers per row, direction, sentence and head, and per baseline; documents and a half of them."""

    items: np.ndarray
    right: np.ndarray
    rival: np.ndarray
    units: np.ndarray
    chosen: np.ndarray

    def best(self, decision: Decision, margin: float = 0.05) -> Table:
        """Best heads of the rows, among baselines that are all rivals, named by their place."""
        rows, examples, baselines = self.rival.shape
        scores = _scores(self.right, self.items, [*self.units], 2)
        names, every = tuple(f"{place:+d}" for place in range(baselines)), (tuple(range(baselines)),) * rows
        none = np.zeros((rows, examples), dtype=np.int64)
        numbers = tuple(map(str, range(rows)))
        tallies = BaselineCounts(numbers, names, every, self.rival, self.items, none)
        rules = [Rule(name, margin=margin, pooled=True) for name in scores.sieves]
        columns = [RowColumns(row, ("→", "←"), (row * 2, row * 2 + 1), (-1, -1)) for row in range(rows)]
        best: Table = best_heads(scores, rules, tallies, columns, decision, self.chosen)
        return best


def _answers(seed: int) -> _Answers:
    """Six heads and four baselines in sentences of 0 to 6 items, one to four of them in a document."""
    rng, rows = np.random.default_rng(seed), 3
    document = np.repeat(np.arange(80), rng.integers(1, 5, 80))
    units = np.array([f"d{number}" for number in document])
    items = np.tile(rng.integers(0, 7, len(document)), (rows, 1))
    level = rng.beta(2, 2, (80, 6))[document]
    right = rng.binomial(items[:, None, :, None], level, (rows, 2, len(document), 6))
    rival = rng.binomial(items[:, :, None], level[:, :4] * 0.6, (rows, len(document), 4))
    return _Answers(items, right, rival, units, selection_half([*units], seed))


def test_best_heads_are_chosen_on_one_half_and_estimated_on_the_other(jackknifed: Jackknife) -> None:
    outcomes = set()
    for seed in range(4):
        made = _answers(seed)
        every = made.best(Decision("t", "holm", family="layer"))
        for side, kind in ((1, ""), (-1, "_not")):  # corrected over the rows, with documents that are missing
            p, q = (np.array([getattr(best, f"{letter}{kind}") for best in every]) for letter in "pq")
            beyond, units, room = (
                np.array(numbers)
                for numbers in zip(
                    *((side * (best.difference - 0.05), best.units, 1 + side * 0.05) for best in every),
                    strict=True,
                )
            )
            missing = np.where(beyond * units > 3 * room, (room / (room + beyond)) ** units, 1.0)
            missing[beyond <= 0] = 0.0
            np.testing.assert_allclose(q, adjust(np.maximum(p, missing), "holm"), rtol=1e-7)
        assert [best.decision == "beyond" for best in every] == [
            best.q <= 0.05 and best.units >= 20 for best in every
        ]
        outcomes |= {best.decision for best in every}
        mine, theirs = made.chosen, ~made.chosen
        groups = np.repeat(made.units[theirs], made.items[0, theirs])
        for row, found in enumerate(every):
            shares = made.right[row][:, mine].sum(axis=1) / made.items[row, mine].sum()
            way, head = np.unravel_index(shares.argmax(), shares.shape)
            chosen = (str(row), "→←"[way], *divmod(head, 3))
            assert (found.row, found.direction, found.layer, found.head) == chosen
            assert found.selection == pytest.approx(shares.max(), abs=1e-6)
            assert found.baseline == f"{made.rival[row, mine].sum(axis=0).argmax():+d}"

            counts = made.right[row, way, :, head], made.rival[row, :, int(found.baseline)]
            right, rival = (_each(hits[theirs], made.items[row, theirs]) for hits in counts)
            level, raced = jackknifed(right, groups), jackknifed(right - rival, groups)
            reach = stats.t.isf(0.025, level[2] - 1)
            tail = stats.t.sf((raced[0] - 0.05) / raced[1], raced[2] - 1)
            wanted = {
                "accuracy": level[0], "baseline_accuracy": rival.mean(), "difference": raced[0],
                "margin": 0.05, "low": max(level[0] - reach * level[1], 0), "items": len(right),
                "high": min(level[0] + reach * level[1], 1), "difference_low": raced[0] - reach * raced[1],
                "difference_high": raced[0] + reach * raced[1], "p": tail, "p_not": 1 - tail,
                "units": level[2],
            }  # fmt: skip
            assert {name: getattr(found, name) for name in wanted} == pytest.approx(wanted, abs=1e-5)
            assert found.statistic == pytest.approx((raced[0] - 0.05) / raced[1], rel=1e-3, abs=1e-4)
            assert np.isnan([found.contrast, found.contrast_low, found.contrast_high]).all()
    assert "beyond" in outcomes
    assert len(outcomes) > 1


def test_the_first_of_equals_is_taken_and_rows_that_nothing_tells_of_are_untestable() -> None:
    made = _answers(2)
    alike = np.repeat(made.right[:, :, :, :1], 6, axis=3)[:, [0, 0]]
    for found in replace(made, right=alike, rival=made.rival[:, :, [0, 0]]).best(NONE):
        assert (found.direction, found.layer, found.head, found.baseline) == ("→", 0, 0, "+0")
    for found in replace(made, right=alike, rival=made.right[:, 0, :, :1]).best(NONE, 0.0):
        assert found.difference == pytest.approx(0, abs=1e-7)  # a head that is its baseline
        assert found.decision == "untestable"
        assert np.isnan([found.p, found.q, found.difference_low]).all()

    def without(row: int, where: np.ndarray, decision: Decision) -> Table:
        items, right, rival = made.items.copy(), made.right.copy(), made.rival.copy()
        items[row, where], right[row][:, where], rival[row, where] = 0, 0, 0
        return replace(made, items=items, right=right, rival=rival).best(decision, 0.0)

    for absent, where in (("test", ~made.chosen), ("selection", made.chosen), ("both", made.chosen | True)):
        first, row, last = without(1, where, Decision("t-published", "bonferroni"))
        assert row.decision == "untestable"
        assert np.isnan([row.p, row.q, row.accuracy, row.difference]).all()
        if absent == "test":
            assert (row.items, row.units) == (0, 0)
            assert row.layer >= 0
            assert 0 < row.selection <= 1
        else:
            assert (row.direction, row.layer, row.head, row.baseline) == ("", -1, -1, "")
            assert np.isnan(row.selection)
        assert (first.q, last.q) == pytest.approx((min(1.0, 2 * first.p), min(1.0, 2 * last.p)))


# Gaps between conditions.


def _hits(rng: np.random.Generator, examples: int, heads: int = 6) -> np.ndarray:
    chance = rng.uniform(0.2, 0.8, heads)
    return (rng.random((examples, heads)) < chance).astype(float).reshape(examples, 2, heads // 2)


def test_pairs_are_tested_as_scipys_pairs_and_single_passages_as_welch_does() -> None:
    rng = np.random.default_rng(0)
    hits, order = _hits(rng, 120), rng.permutation(120)
    flat = hits.reshape(120, 6)
    pairs = [f"pair {k}" for k in range(60)] * 2
    cases = (
        ("pro", "anti", pairs, 60, stats.ttest_rel(flat[:60], flat[60:])),
        ("feminine", "masculine", [*map(str, range(120))], 45,
         stats.ttest_ind(flat[:45], flat[45:], equal_var=False)),
    )  # fmt: skip
    for first, second, units, size, wanted in cases:
        conditions = [first] * size + [second] * (120 - size)
        found = gaps(hits[order], [conditions[k] for k in order], [units[k] for k in order], NONE)
        interval = wanted.confidence_interval()
        numbers = {
            "p": wanted.pvalue, "q": wanted.pvalue, "low": interval.low, "high": interval.high,
            "first_value": flat[:size].mean(0), "second_value": flat[size:].mean(0), "both": flat.mean(0),
            "difference": flat[:size].mean(0) - flat[size:].mean(0),
        }  # fmt: skip
        for name, value in numbers.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-10, atol=1e-12, err_msg=name)
        assert [(gap.layer, gap.head) for gap in found] == [(k, j) for k in range(2) for j in range(3)]
        assert {(gap.measure, gap.first, gap.second) for gap in found} == {("accuracy", first, second)}


def test_units_of_several_examples_are_tested_as_by_a_clustered_regression() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(2)
    hits = _hits(rng, 200)
    first, cluster = rng.random(200) < 0.4, rng.permutation(200) % 40
    found = gaps(hits, list(np.where(first, "pro", "anti")), [str(k) for k in cluster], NONE)
    for head, outcome in enumerate(hits.reshape(200, 6).T):
        robust = {"groups": cluster, "use_correction": False}
        design = sm.add_constant(first.astype(float))
        fitted = sm.OLS(outcome, design).fit(cov_type="cluster", cov_kwds=robust)
        error = fitted.bse[1] * np.sqrt(40 / 39)
        assert found[head].difference == pytest.approx(fitted.params[1], abs=1e-12)
        wanted = 2 * stats.t.sf(abs(fitted.params[1] / error), 39)
        missing = min(1.0, 2 * (1 + abs(fitted.params[1])) ** -40)
        assert found[head].p == pytest.approx(max(wanted, missing), rel=1e-9)


def test_f1_counts_names_that_were_not_asked_as_missed_and_nameless_passages_as_wrong() -> None:
    hits = np.array([1.0, np.nan, 0.0, 1.0, 1.0, np.nan]).reshape(6, 1, 1)
    named = np.array([True, True, True, True, True, False])
    accuracy, f1 = gaps(hits, ["feminine"] * 3 + ["masculine"] * 3, [*"abcdef"], NONE, named)
    assert (accuracy.first_value, accuracy.second_value) == (0.5, 1.0)
    assert f1.first_value == pytest.approx(2 / (2 + 1 + 2))  # one false positive, two names missed
    assert f1.second_value == pytest.approx(2 * 2 / (2 * 2 + 1 + 0))


def test_the_interval_of_f1_is_that_of_a_bootstrap_over_passages() -> None:
    rng = np.random.default_rng(4)
    hits, named, drawn = [], [], []
    for size, right in ((300, 0.5), (400, 0.65)):
        named.append(rng.random(size) < 0.9)
        hits.append((rng.random(size) < right) & named[-1])
        counts = np.concatenate(list(bootstrap_counts(size, 3000, 7)))
        drawn.append((counts @ (2.0 * hits[-1])) / (counts @ (1.0 + named[-1])))
    conditions = ["feminine"] * 300 + ["masculine"] * 400
    answers = np.concatenate(hits).astype(float)[:, None, None]
    found = gaps(answers, conditions, [*map(str, range(700))], NONE, np.concatenate(named))[1]
    ends = np.quantile(drawn[0] - drawn[1], [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx(tuple(ends), abs=0.007)
    assert found.p == pytest.approx((drawn[0] - drawn[1] >= 0).mean() * 2, abs=0.02)


BOUNDS = (
    (0.9, 0.3, 5, 5, False, (0.5 / 0.9) ** 5 * (0.5 / 0.7) ** 5),
    (0.7, 0.2, 5, 5, False, (0.5 / 0.7) ** 5 * (0.5 / 0.8) ** 5),
    (0.9, 0.7, 5, 5, False, (0.7 / 0.9) ** 5),  # 0.5 lies below both
    (0.4, 0.1, 4, 12, False, (0.25 / 0.4) ** 4 * (0.75 / 0.9) ** 12),
    (1.0, 0.0, 8, 8, False, 0.5**16),
    (1.0, 0.0, 8, 8, True, 0.5**8),
    (0.75, 0.25, 8, 8, True, 1.5**-8),
    (1.0, 1.0, 5, 5, False, 1),
    (0.3, 0.3, 5, 5, True, 1),
    (0.4, 0.39, 5, 5, False, 1),
    (0.4, 0.39, 5, 5, True, 1),
)
"""Two constants, their counts, whether they are pairs, and the largest chance of them in one direction.

At the likeliest common mean c, here 0.5, it is (c / high)^n ((1 − c) / (1 − low))^m.
"""


def test_scores_without_spread_get_a_bound() -> None:
    for first, second, many, others, paired, chance in BOUNDS:
        for values, each in (((first, second), (many, others)), ((second, first), (others, many))):
            counts = (5 * each[0], 5 * each[1])
            hits = np.repeat(values, counts)[:, None, None]
            units = [str(k % counts[0] if paired else k) for k in range(len(hits))]
            (found,) = gaps(hits, ["pro"] * counts[0] + ["anti"] * counts[1], units, NONE)
            assert found.p == pytest.approx(min(1.0, 2 * chance**5)), (first, second, paired)
            assert found.difference == pytest.approx(values[0] - values[1])
            assert np.isnan([found.low, found.high]).all()


def test_too_few_units_or_nothing_asked_say_nothing() -> None:
    hits = np.array([[1.0, np.nan], [0.0, np.nan], [1.0, 1.0]]).reshape(3, 1, 2)
    first, second = gaps(hits, ["feminine", "feminine", "masculine"], ["a", "b", "c"], NONE)
    assert (first.first_value, first.second_value, first.difference) == (0.5, 1.0, -0.5)
    assert np.isnan([first.p, first.q, first.low, second.first_value, second.difference, second.p]).all()
    assert second.both == 1.0
    assert not gaps(hits, ["", "pro", ""], ["a", "b", "c"], NONE)


def test_heads_of_a_pair_and_measure_are_corrected_together() -> None:
    hits = _hits(np.random.default_rng(8), 160)
    conditions = ["pro", "anti"] * 40 + ["feminine", "masculine"] * 40
    units = [f"pair {k // 2}" for k in range(80)] + [f"passage {k}" for k in range(80)]
    for correction, wanted in (("fdr_bh", "fdr_bh"), ("maxT", "holm")):
        found = gaps(hits, conditions, units, Decision(correction=correction))
        assert [gap.first for gap in found] == ["feminine"] * 6 + ["pro"] * 6
        for family in (found.where(first=name) for name in ("feminine", "pro")):
            np.testing.assert_array_equal(family["q"], adjust(family["p"], wanted))
