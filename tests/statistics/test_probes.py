"""Probes: baselines, the best head of a row, and gaps between conditions, by libraries and loops."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from headroles.records import BaselineCounts, BestHead, ConditionGap, Decision, Rule, Scores
from headroles.stats import (
    Columns,
    RowColumns,
    adjust,
    baseline_rows,
    best_heads,
    bootstrap_counts,
    cross_fitted_baselines,
    gaps,
    judge,
    mean_intervals,
    selection_half,
)
from tests.support.reference import draws

NONE = Decision(test="t", correction="none")
Jackknife = Callable[[Any, Any], tuple[float, float, int]]
seeds = st.integers(0, 2**32 - 1)


# Baselines.


def _tallies(seed: int, documents: int = 13, rows: int = 2) -> tuple[BaselineCounts, list[str]]:
    """Four baselines, of which the first three are rivals and the last says nothing of the last row."""
    rng = np.random.default_rng(seed)
    units = [f"d{document}" for document in rng.permutation(np.repeat(np.arange(documents), 3))]
    items = rng.integers(0, 7, (rows, len(units)))
    hits = rng.binomial(items[:, :, None], rng.uniform(0.2, 0.6, 4))
    hits[-1, :, 3] = -1
    names, rivals = ("-1", "+1", "nearest", "rules"), ((0, 1, 2),) * rows
    return BaselineCounts(tuple(f"r{k}" for k in range(rows)), names, rivals, hits, items, items * 0), units


def test_halves_are_of_whole_units_drawn_evenly_by_the_seed() -> None:
    rng = np.random.default_rng(0)
    for documents in (4, 5, 10, 39):
        units = [f"d{number}" for number in [*range(documents), *rng.integers(0, documents, 30)]]
        chosen = selection_half(units, documents)
        sides = {(unit, bool(side)) for unit, side in zip(units, chosen, strict=True)}
        assert len(sides) == documents
        assert Counter(side for _, side in sides)[True] == documents // 2  # the odd one is tested
    drawn = np.stack([selection_half([*"abcdefghij"], seed) for seed in range(400)])
    assert len(np.unique(drawn, axis=0)) > 150
    assert (np.abs(drawn.mean(axis=0) - 0.5) < 0.1).all()


@settings(max_examples=draws(25))
@given(seeds)
def test_each_half_is_scored_by_the_rival_that_is_best_on_the_other(seed: int) -> None:
    tallies, units = _tallies(seed)
    chosen = selection_half(units, seed)
    hits, items = tallies.hits.copy(), tallies.items.copy()
    hits[0, ::3], items[0, ::3] = 0, 0
    tallies = replace(tallies, hits=hits, items=items)
    null = cross_fitted_baselines(tallies, chosen)
    for row in range(2):
        best = {}
        for half in (True, False):
            of_half = [example for example in range(len(units)) if chosen[example] == half]
            sums = [sum(int(hits[row, example, rival]) for example in of_half) for rival in range(3)]
            best[half] = sums.index(max(sums))
        for example, half in enumerate(chosen.tolist()):
            share = (
                hits[row, example, best[not half]] / items[row, example] if items[row, example] else np.nan
            )
            assert null[row, example] == pytest.approx(share, nan_ok=True)


def test_only_rivals_are_chosen_the_first_of_equals_and_none_without_items() -> None:
    hits, items = np.tile([1, 2, 2, 9], (4, 4, 1)), np.full((4, 4), 9)
    items[2, :2] = items[3] = 0
    rivals = ((2, 1, 0), (), (0,), (0,))
    tallies = BaselineCounts(tuple("rstu"), tuple("abcd"), rivals, hits, items, items * 0)
    null = cross_fitted_baselines(tallies, np.array([True, True, False, False]))
    np.testing.assert_array_equal(null[0], [2 / 9] * 4)
    assert np.isnan(null).tolist() == [[False] * 4, [True] * 4, [True] * 4, [True] * 4]


def test_baselines_are_plain_shares_with_intervals_of_the_jackknife_over_units(jackknifed: Jackknife) -> None:
    for seed in range(5):
        tallies, units = _tallies(seed)
        found = baseline_rows(tallies, units)
        names = [*product(["r0"], tallies.baselines), *product(["r1"], tallies.baselines[:3])]
        assert [(baseline.row, baseline.baseline) for baseline in found] == names
        for baseline in found:
            row, place = tallies.rows.index(baseline.row), tallies.baselines.index(baseline.baseline)
            right, groups = [], []
            for example, unit in enumerate(units):
                hits, items = int(tallies.hits[row, example, place]), int(tallies.items[row, example])
                right += [1.0] * hits + [0.0] * (items - hits)
                groups += [unit] * items
            mean, error, count = jackknifed(right, groups)
            assert (baseline.accuracy, baseline.items, baseline.units) == (
                pytest.approx(mean), len(right), count,
            )  # fmt: skip
            reach = stats.t.isf(0.025, count - 1) * error
            ends = np.clip([mean - reach, mean + reach], 0, 1)
            assert (baseline.low, baseline.high) == pytest.approx(tuple(ends), abs=1e-9)


def test_ends_stay_shares_and_a_baseline_without_items_is_not_known() -> None:
    tallies, units = _tallies(1)
    items, hits = tallies.items.copy(), tallies.hits.copy()
    items[0], hits[0] = 0, 0
    hits[1, :, 0], hits[1, :, 1] = items[1], 0
    most = items[1].argmax()
    hits[1, most, :2] += np.array([-1, 1])
    found = baseline_rows(replace(tallies, hits=hits, items=items), units)
    for baseline in found[:4]:
        assert (baseline.items, baseline.units) == (0, 0)
        assert np.isnan([baseline.accuracy, baseline.low, baseline.high]).all()
    assert (found[4].high, found[5].low) == (1.0, 0.0)
    assert found[4].low < found[4].accuracy < 1
    assert 0 < found[5].accuracy < found[5].high


# The best head of a row.


def _scores(hits: np.ndarray, items: np.ndarray, units: list[str], layers: int) -> Scores:
    """Shares of right answers from counts (rows, directions, examples, heads); columns row by row."""
    rows, ways, examples, heads = hits.shape
    cells = np.repeat(items, ways, axis=0).astype(float)
    flat = hits.reshape(rows * ways, examples, heads)
    shares = np.full(flat.shape, np.nan)
    np.divide(flat, cells[:, :, None], out=shares, where=cells[:, :, None] > 0)
    return Scores(
        sieves=tuple(f"{row}:{way}" for row in range(rows) for way in range(ways)),
        examples=tuple(map(str, range(examples))),
        units=tuple(units),
        tokens=np.ones(examples, dtype=np.int64),
        cells=cells,
        values=shares.reshape(rows * ways, examples, layers, heads // layers).astype(np.float32),
        null=np.zeros(cells.shape),
    )


def _rivals(hits: np.ndarray, items: np.ndarray) -> BaselineCounts:
    """Baselines that are all rivals, named by their place."""
    rows, _, baselines = hits.shape
    names, every = tuple(f"{place:+d}" for place in range(baselines)), (tuple(range(baselines)),) * rows
    return BaselineCounts(tuple(map(str, range(rows))), names, every, hits, items, np.zeros_like(items))


def _best(
    scores: Scores, tallies: BaselineCounts, margins: list[float], decision: Decision, *halves: np.ndarray
) -> tuple[BestHead, ...]:
    """Best heads of rows with two directions each."""
    rules = [Rule(name, margin=margins[k // 2], pooled=True) for k, name in enumerate(scores.sieves)]
    rows = [RowColumns(row, ("→", "←"), (row * 2, row * 2 + 1), (-1, -1)) for row in range(len(margins))]
    best: tuple[BestHead, ...] = best_heads(scores, rules, tallies, rows, decision, *halves)
    return best


@dataclass(frozen=True, slots=True)
class _Arcs:
    """Right or wrong per row, direction, arc and head, and per arc and baseline; the sentence of each arc."""

    right: np.ndarray
    rival: np.ndarray
    sentence: np.ndarray
    document: np.ndarray

    def best(
        self, decision: Decision, chosen: np.ndarray, margin: float = 0.05, without: tuple[int, Any] = (0, [])
    ) -> tuple[BestHead, ...]:
        """Best heads of the rows; one row may have no arcs in some sentences."""
        count = np.bincount(self.sentence, minlength=len(self.document))
        items, hits, rival = (
            np.tile(count, (len(self.right), 1)),
            self._sums(self.right),
            self._sums(self.rival),
        )
        row, where = without
        items[row, where], hits[row][:, where], rival[row, where] = 0, 0, 0
        units = [f"d{document}" for document in self.document]
        return _best(
            _scores(hits, items, units, 2), _rivals(rival, items), [margin] * len(items), decision, chosen
        )

    def _sums(self, answers: np.ndarray) -> np.ndarray:
        """Right answers per sentence, along the axis of arcs, the last but one."""
        made = np.zeros((*answers.shape[:-2], len(self.document), answers.shape[-1]), dtype=np.int64)
        np.add.at(np.moveaxis(made, -2, 0), self.sentence, np.moveaxis(answers, -2, 0))
        return made


def _arcs(seed: int, rows: int = 3, documents: int = 17) -> tuple[_Arcs, np.ndarray]:
    """Arcs, and the half of the sentences on which heads are chosen."""
    rng = np.random.default_rng(seed)
    document = np.repeat(np.arange(documents), rng.integers(1, 5, documents))
    sentence = np.repeat(np.arange(len(document)), rng.integers(0, 7, len(document)))
    level = rng.beta(2, 2, (documents, 6))[document[sentence]]
    right = (rng.random((rows, 2, len(sentence), 6)) < level).astype(int)
    rival = (rng.random((rows, len(sentence), 4)) < level[:, :4] * 0.8).astype(int)
    chosen = selection_half([f"d{number}" for number in document], seed)
    return _Arcs(right, rival, sentence, document), chosen


@settings(max_examples=draws(10))
@given(seed=seeds)
def test_best_heads_are_chosen_by_loops_over_one_half_and_estimated_on_the_other(
    seed: int, jackknifed: Jackknife
) -> None:
    made, chosen = _arcs(seed)
    mine = [arc for arc, sentence in enumerate(made.sentence) if chosen[sentence]]
    theirs = ~chosen[made.sentence]
    groups = made.document[made.sentence][theirs]
    for row, found in enumerate(made.best(NONE, chosen)):
        shares = {
            (way, head): sum(made.right[row, way, arc, head] for arc in mine) / len(mine)
            for way in range(2)
            for head in range(6)
        }
        counts = [sum(made.rival[row, arc, rival] for arc in mine) for rival in range(4)]
        way, head = max(shares, key=lambda place: (shares[place], -place[0], -place[1]))
        assert (found.row, found.direction, found.layer, found.head) == (
            str(row),
            "→←"[way],
            *divmod(head, 3),
        )
        assert found.selection == pytest.approx(shares[way, head], abs=1e-6)
        assert found.baseline == f"{counts.index(max(counts)):+d}"

        right, rival = made.right[row, way, theirs, head], made.rival[row, theirs, int(found.baseline)]
        level, raced = jackknifed(right, groups), jackknifed(right - rival, groups)
        reach = stats.t.isf(0.025, level[2] - 1)
        wanted = {
            "accuracy": level[0], "baseline_accuracy": rival.mean(), "difference": raced[0], "margin": 0.05,
            "low": max(level[0] - reach * level[1], 0), "high": min(level[0] + reach * level[1], 1),
            "difference_low": raced[0] - reach * raced[1], "difference_high": raced[0] + reach * raced[1],
        }  # fmt: skip
        assert {name: getattr(found, name) for name in wanted} == pytest.approx(wanted, abs=1e-5)
        assert (found.items, found.units) == (theirs.sum(), level[2])
        assert found.statistic == pytest.approx((raced[0] - 0.05) / raced[1], rel=1e-3, abs=1e-4)
        p = stats.t.sf(found.statistic, raced[2] - 1)
        assert (found.p, found.p_not) == pytest.approx((p, 1 - p), abs=1e-9)
        assert np.isnan([found.contrast, found.contrast_low, found.contrast_high]).all()


def test_p_are_corrected_over_the_rows_and_decide_them() -> None:
    made, chosen = _arcs(8, rows=7)
    for correction in ("holm", "fdr_bh", "bonferroni"):
        found = made.best(Decision(correction=correction, family="layer"), chosen, margin=0.0)
        for kind in ("", "_not"):
            p, q = ([getattr(best, f"{letter}{kind}") for best in found] for letter in "pq")
            np.testing.assert_allclose(q, multipletests(p, method=correction)[1], rtol=1e-10)
        assert len({best.q for best in found}) > 1
        for best in found:
            assert (best.decision == "beyond") == (best.q <= 0.05)


def test_the_contrast_of_the_chosen_head_is_shown_with_its_interval() -> None:
    made, chosen = _arcs(3, rows=1)
    count = np.bincount(made.sentence, minlength=len(made.document))[None]
    scores = _scores(made._sums(made.right), count, [f"d{k}" for k in made.document], 2)
    beyond = np.where(np.isnan(scores.values), np.nan, 2 * scores.values - 1)
    both = replace(
        scores, sieves=(*scores.sieves, "a", "b"), values=np.concatenate([scores.values, beyond]),
        cells=np.repeat(scores.cells, 2, axis=0), null=np.repeat(scores.null, 2, axis=0),
    )  # fmt: skip
    rules, row = [Rule(name, pooled=True) for name in both.sieves], RowColumns(0, ("→", "←"), (0, 1), (2, 3))
    (found,) = best_heads(both, rules, _rivals(made._sums(made.rival), count), [row], NONE, chosen)
    assert found.contrast == pytest.approx(2 * found.accuracy - 1, abs=1e-6)
    assert found.contrast_low == pytest.approx(2 * found.low - 1, abs=1e-5)
    assert found.contrast_high == pytest.approx(2 * found.high - 1, abs=1e-5)


def test_the_first_of_equals_is_taken_and_a_head_that_is_its_baseline_has_no_test() -> None:
    made, chosen = _arcs(2)
    alike = np.repeat(made.right[:, :, :, :1], 6, axis=3)[:, [0, 0]]
    for found in replace(made, right=alike, rival=made.rival[:, :, [0, 0]]).best(NONE, chosen):
        assert (found.direction, found.layer, found.head, found.baseline) == ("→", 0, 0, "+0")
    for found in replace(made, right=alike, rival=made.right[:, 0, :, :1]).best(NONE, chosen, 0.0):
        assert found.difference == pytest.approx(0, abs=1e-7)
        assert found.decision == "untestable"
        assert np.isnan([found.p, found.q, found.difference_low]).all()


def test_a_row_without_items_on_either_half_is_untestable_and_no_part_of_the_correction() -> None:
    made, chosen = _arcs(4)
    bonferroni = Decision(correction="bonferroni")
    for absent, where in (("test", ~chosen), ("selection", chosen), ("both", np.ones_like(chosen))):
        found = made.best(bonferroni, chosen, 0.0, (1, where))
        assert found[1].decision == "untestable"
        assert np.isnan([found[1].p, found[1].q, found[1].accuracy, found[1].difference]).all()
        if absent == "test":
            assert (found[1].items, found[1].units) == (0, 0)
            assert found[1].layer >= 0
            assert 0 < found[1].selection <= 1
        else:
            assert (found[1].direction, found[1].layer, found[1].head, found[1].baseline) == ("", -1, -1, "")
            assert np.isnan(found[1].selection)
        for place in (0, 2):
            assert found[place].q == pytest.approx(min(1.0, 2 * found[place].p))
    own = made.document == made.document[~chosen][0]
    (alone, *_) = made.best(NONE, chosen, 0.0, (0, ~chosen & ~own))
    assert (alone.units, alone.decision) == (1, "untestable")
    assert not np.isnan(alone.accuracy)


MARGINS = [0.0, 0.05] * 20
"""Of the rows of the simulation."""


def _no_better(seed: int, documents: int = 60) -> tuple[Scores, BaselineCounts]:
    """Rows of 144 heads both ways, each exactly the row's margin better than the best of three baselines.

    Documents hold 1 to 40 arcs, whose answers depend on each other: a head's level in a document is
    made of a part shared by all heads, which falls with the document's size, one shared by 12 heads, and its
    own. Before the margin comes on top, heads and the best baseline are exchangeable.
    """
    rng = np.random.default_rng(seed)
    rows = len(MARGINS)
    items = rng.integers(1, 41, (rows, documents))
    shared = rng.normal(0, 0.6, (rows, 1, documents, 1)) - 0.2 * np.log(items)[:, None, :, None]
    groups = rng.normal(0, 0.5, (rows, 1, documents, 12)).repeat(12, axis=3)
    level = shared + groups + rng.normal(0, 0.6, (rows, 2, documents, 144))
    other = shared + rng.normal(0, np.hypot(0.5, 0.6), (rows, 1, documents, 3)) + [0.0, -1.5, -1.5]
    right, based = (0.9 / (1 + np.exp(-chance)) for chance in (level, other))
    right += np.array(MARGINS)[:, None, None, None]
    hits = rng.binomial(items[:, None, :, None], right)
    rivals = rng.binomial(items[:, None, :, None], based)[:, 0]
    return _scores(hits, items, [f"d{number}" for number in range(documents)], 12), _rivals(rivals, items)


@pytest.mark.ci
def test_heads_chosen_and_tested_on_one_half_err_in_most_rows_and_on_two_halves_at_the_level() -> None:
    honest: list[BestHead] = []
    naive: list[BestHead] = []
    for seed in range(6):
        scores, tallies = _no_better(seed)
        everything = np.ones(len(scores.examples), dtype=bool)
        honest += _best(scores, tallies, MARGINS, NONE, selection_half(scores.units, seed))
        naive += _best(scores, tallies, MARGINS, NONE, everything, everything)
    for margin in (0.0, 0.05):
        wrong, cheap = (
            np.mean([best.p <= 0.05 for best in some if best.margin == margin]) for some in (honest, naive)
        )
        assert 0.01 < wrong < 0.1
        assert cheap > 0.5
    assert np.mean([best.p_not <= 0.05 for best in honest]) < 0.09
    curse = np.array([best.selection - best.accuracy for best in honest])  # chosen as the largest of many
    assert curse.mean() > max(0.05, 15 * stats.sem(curse))
    error = np.array([best.difference - best.margin for best in honest])
    assert abs(error.mean()) < 3 * stats.sem(error)
    covered = np.mean([best.difference_low <= best.margin <= best.difference_high for best in honest])
    assert 0.91 < covered < 0.985


# The interval of an accuracy itself, where chance values differ.

RULE = Rule("probe", "", 0.5, 0.05, low=0.0, high=1.0, pooled=True)


def _answers(seed: int, documents: int, heads: int) -> Scores:
    """Right answers of heads and of a baseline that is mostly right on the same items; one column.

    Answers depend within documents of unequal size: each document has its own level, and heads mostly
    repeat the answer of the baseline.
    """
    rng = np.random.default_rng(seed)
    items = np.maximum(np.rint(rng.lognormal(2.5, 0.7, documents)), 1).astype(int)
    owner = np.repeat(np.arange(documents), items)
    level = rng.beta(4, 4, (documents, heads))[owner]
    baseline = rng.random((len(owner), heads)) < level
    own = np.where(rng.random(level.shape) < 0.9, baseline, rng.random(level.shape) < level)
    shares, null = (
        np.stack([np.bincount(owner, column, documents) for column in answers.T])[:, None, :, None]
        / items[:, None]
        for answers in (own, baseline[:, :1])
    )
    scores = _scores(np.zeros((1, 1, documents, heads)), items[None], [*map(str, range(documents))], 1)
    values = shares[:, 0, :, 0].T[None, :, None].astype(np.float32)
    return replace(scores, sieves=("probe",), values=values, null=null[0, :, :, 0])


def test_the_interval_of_an_accuracy_is_that_of_the_jackknife_and_covers_it(jackknifed: Jackknife) -> None:
    scores = _answers(1, documents=30, heads=3)
    found = judge(scores, [RULE], NONE)
    low, high = mean_intervals(Columns(scores, [RULE]), found, NONE)
    items = scores.cells[0].astype(int)
    for head in range(3):
        hits = np.rint(scores.values[0, :, 0, head].astype(float) * items).astype(int)
        right = np.concatenate(
            [np.repeat([1.0, 0.0], [hit, n - hit]) for hit, n in zip(hits, items, strict=True)]
        )
        mean, error, count = jackknifed(right, np.repeat(np.arange(30), items))
        reach = stats.t.ppf(0.975, count - 1) * error
        ends = (low[0, 0, head], found.mean[0, 0, head], high[0, 0, head])
        assert ends == pytest.approx((mean - reach, mean, mean + reach), rel=1e-6)
    width = (high - low)[0, 0, 0] / (found.high - found.low)[0, 0, 0]
    assert width > 1.5  # items that are hard for the head are hard for the baseline, too
    scores = _answers(5, documents=80, heads=600)
    ends = mean_intervals(Columns(scores, [RULE]), judge(scores, [RULE], NONE), NONE)
    covered = ((ends[0] <= 0.5) & (ends[1] >= 0.5)).mean()
    assert covered == pytest.approx(0.95, abs=4 * (0.05 * 0.95 / 600) ** 0.5 + 0.01)


# Gaps between conditions.


def _hits(rng: np.random.Generator, examples: int, heads: int = 6) -> np.ndarray:
    chance = rng.uniform(0.2, 0.8, heads)
    return (rng.random((examples, heads)) < chance).astype(float).reshape(examples, 2, heads // 2)


def _column(found: tuple[ConditionGap, ...], name: str) -> np.ndarray:
    return np.array([getattr(gap, name) for gap in found])


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
            np.testing.assert_allclose(_column(found, name), value, rtol=1e-10, atol=1e-12, err_msg=name)
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
        assert found[head].p == pytest.approx(wanted, rel=1e-9)


def test_f1_counts_names_that_were_not_asked_as_missed_and_nameless_passages_as_wrong() -> None:
    hits = np.array([1.0, np.nan, 0.0, 1.0, 1.0, np.nan]).reshape(6, 1, 1)
    named = np.array([True, True, True, True, True, False])
    accuracy, f1 = gaps(hits, ["feminine"] * 3 + ["masculine"] * 3, [*"abcdef"], NONE, named)
    assert (accuracy.first_value, accuracy.second_value) == (0.5, 1.0)
    assert f1.first_value == pytest.approx(2 / (2 + 1 + 2))  # one false positive, two names missed
    assert f1.second_value == pytest.approx(2 * 2 / (2 * 2 + 1 + 0))

    rng = np.random.default_rng(3)
    hits, named = _hits(rng, 80), rng.random(80) < 0.8
    hits[~named] = np.nan
    conditions, units = ["feminine", "masculine"] * 40, [str(k) for k in range(80)]
    found = gaps(hits, conditions, units, NONE, named)
    assert [gap.measure for gap in found] == ["accuracy"] * 6 + ["f1"] * 6
    for gap in found[6:]:
        for condition, value in (("feminine", gap.first_value), ("masculine", gap.second_value)):
            here = np.array(conditions) == condition
            true = np.nansum(hits[here, gap.layer, gap.head])
            false, missed = here.sum() - true, named[here].sum() - true
            assert value == pytest.approx(2 * true / (2 * true + false + missed), abs=1e-12)
    whole = gaps(np.nan_to_num(hits), conditions, units, NONE, np.ones(80, dtype=np.bool_))
    for name in ("both", "first_value", "second_value", "low", "high", "p"):
        np.testing.assert_allclose(_column(whole[:6], name), _column(whole[6:], name), atol=1e-12)
    pairs = gaps(hits, ["pro", "anti"] * 40, units, NONE, named)
    assert {gap.measure for gap in pairs} == {"accuracy"}  # F1 is about GAP alone


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
    assert (found.low, found.high) == pytest.approx(
        tuple(np.quantile(drawn[0] - drawn[1], [0.025, 0.975])), abs=0.007
    )
    assert found.p == pytest.approx((drawn[0] - drawn[1] >= 0).mean() * 2, abs=0.02)


def test_scores_without_spread_get_a_bound() -> None:
    def of(
        first: float, second: float, counts: tuple[int, int] = (5, 5), paired: bool = False
    ) -> ConditionGap:
        values = np.repeat([first, second], counts)[:, None, None]
        conditions = ["pro"] * counts[0] + ["anti"] * counts[1]
        units = [str(k % counts[0] if paired else k) for k in range(sum(counts))]
        (found,) = gaps(values, conditions, units, NONE)
        assert found.difference == pytest.approx(first - second)
        assert np.isnan([found.low, found.high]).all()
        return found

    # Two constants: the likeliest common mean, here 0.5, gives (0.5 / high)^n ((1 − 0.5) / (1 − low))^m.
    assert of(0.9, 0.3).p == pytest.approx(2 * (0.5 / 0.9) ** 5 * (0.5 / 0.7) ** 5)
    assert of(0.3, 0.9).p == of(0.9, 0.3).p == pytest.approx(0.0197, abs=5e-5)
    assert of(0.7, 0.2).p == pytest.approx(2 * (0.5 / 0.7) ** 5 * (0.5 / 0.8) ** 5)
    assert of(0.9, 0.7).p == pytest.approx(min(1, 2 * (0.7 / 0.9) ** 5))  # 0.5 lies below both
    assert of(0.4, 0.1, (4, 12)).p == pytest.approx(2 * (0.25 / 0.4) ** 4 * (0.75 / 0.9) ** 12)
    assert of(0.1, 0.4, (12, 4)).p == of(0.4, 0.1, (4, 12)).p
    assert of(1.0, 0.0, (8, 8)).p == pytest.approx(2 * 0.5**16)
    assert of(1.0, 0.0, (8, 8), paired=True).p == pytest.approx(2 * 0.5**8)
    assert of(0.75, 0.25, (8, 8), paired=True).p == pytest.approx(2 * 1.5**-8)
    assert of(0.25, 0.75, (8, 8), paired=True).p == pytest.approx(2 * 1.5**-8)
    for paired in (True, False):
        assert of(1.0, 1.0, paired=paired).p == of(0.3, 0.3, paired=paired).p == 1.0
        assert of(0.4, 0.39, paired=paired).p == 1.0


def test_too_few_units_or_nothing_asked_say_nothing() -> None:
    hits = np.array([[1.0, np.nan], [0.0, np.nan], [1.0, 1.0]]).reshape(3, 1, 2)
    first, second = gaps(hits, ["feminine", "feminine", "masculine"], ["a", "b", "c"], NONE)
    assert (first.first_value, first.second_value, first.difference) == (0.5, 1.0, -0.5)
    assert np.isnan([first.p, first.q, first.low, second.first_value, second.difference, second.p]).all()
    assert second.both == 1.0
    assert gaps(hits, ["", "pro", ""], ["a", "b", "c"], NONE) == ()


def test_heads_of_a_pair_and_measure_are_corrected_together() -> None:
    hits = _hits(np.random.default_rng(8), 160)
    conditions = ["pro", "anti"] * 40 + ["feminine", "masculine"] * 40
    units = [f"pair {k // 2}" for k in range(80)] + [f"passage {k}" for k in range(80)]
    for correction, wanted in (("fdr_bh", "fdr_bh"), ("bonferroni", "bonferroni"), ("maxT", "holm")):
        found = gaps(hits, conditions, units, Decision(correction=correction))
        assert [gap.first for gap in found] == ["feminine"] * 6 + ["pro"] * 6
        for family in (found[:6], found[6:]):
            np.testing.assert_array_equal(_column(family, "q"), adjust(_column(family, "p"), wanted))


@pytest.mark.ci
@pytest.mark.parametrize("chance", [0.3, 0.5, 0.7])
def test_without_a_gap_five_percent_are_called_one(chance: float) -> None:
    rng = np.random.default_rng(5)
    heads, pairs = 3000, 60

    def rate(found: tuple[ConditionGap, ...]) -> float:
        return float((_column(found, "p") <= 0.05).mean())

    shared = rng.random((pairs, heads)) < chance
    sides = [
        np.where(rng.random((pairs, heads)) < 0.5, shared, rng.random((pairs, heads)) < chance)
        for _ in range(2)
    ]
    hits = np.concatenate(sides).astype(float)[:, None]
    found = gaps(hits, ["pro"] * pairs + ["anti"] * pairs, [str(k) for k in range(pairs)] * 2, NONE)
    assert 0.036 < rate(found) < 0.064
    named = rng.random(100) < 0.9
    hits = ((rng.random((100, heads)) < chance) & named[:, None]).astype(float)[:, None]
    conditions = ["feminine"] * 40 + ["masculine"] * 60
    shuffled = rng.permuted(hits, axis=0)  # so that names and answers are spread evenly over conditions
    found = gaps(shuffled, conditions, [str(k) for k in range(100)], NONE)
    assert 0.036 < rate(found) < 0.064
    covered = (_column(found, "low") <= 0) & (_column(found, "high") >= 0)
    assert rate(found) == pytest.approx(1 - covered.mean(), abs=0.001)
