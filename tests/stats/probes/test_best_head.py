"""The best head of a row: chosen on one half, tested on the other; and what one half for both would cost."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from headroles import judge_again, probe
from headroles.records.example import Scores
from headroles.records.probes import BaselineCounts, BestHead
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.probes.baselines import selection_half
from headroles.stats.probes.best_head import RowColumns, best_heads

NONE = Decision(test="t", correction="none")
Jackknife = Callable[[Any, Any], tuple[float, float, int]]
METHODS = {"holm": "holm", "fdr_bh": "fdr_bh", "bonferroni": "bonferroni"}
quick = settings(max_examples=10)


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


def _tallies(rivals: np.ndarray, items: np.ndarray) -> BaselineCounts:
    rows, _, baselines = rivals.shape
    names = tuple(f"{place:+d}" for place in range(baselines))
    every = (tuple(range(baselines)),) * rows
    return BaselineCounts(tuple(map(str, range(rows))), names, every, rivals, items, np.zeros_like(items))


def _rows(rows: int, ways: int = 2) -> list[RowColumns]:
    return [
        RowColumns(row, ("→", "←")[:ways], tuple(range(row * ways, row * ways + ways)), (-1,) * ways)
        for row in range(rows)
    ]


MARGINS = [0.0, 0.05] * 20
"""Of the rows of the simulation."""


def _best(
    scores: Scores, tallies: BaselineCounts, margins: list[float], *halves: np.ndarray
) -> tuple[BestHead, ...]:
    """Best heads of rows with two directions each, p as they are."""
    rules = [Rule(name, margin=margins[k // 2], pooled=True) for k, name in enumerate(scores.sieves)]
    return best_heads(scores, rules, tallies, _rows(len(margins)), NONE, *halves)


def _null(seed: int, documents: int = 60) -> tuple[Scores, BaselineCounts]:
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
    right, based = (0.9 / (1 + np.exp(-each)) for each in (level, other))
    right += np.array(MARGINS)[:, None, None, None]
    hits = rng.binomial(items[:, None, :, None], right)
    rivals = rng.binomial(items[:, None, :, None], based)[:, 0]
    units = [f"document {each}" for each in range(documents)]
    return _scores(hits, items, units, 12), _tallies(rivals, items)


@cache
def _under_the_null() -> tuple[list[BestHead], list[BestHead]]:
    """Best heads of 320 rows, honestly and naively: chosen and tested on all documents."""
    honest: list[BestHead] = []
    naive: list[BestHead] = []
    for seed in range(8):
        scores, tallies = _null(seed)
        everything = np.ones(len(scores.examples), dtype=bool)
        honest += _best(scores, tallies, MARGINS, selection_half(scores.units, seed))
        naive += _best(scores, tallies, MARGINS, everything, everything)
    return honest, naive


def test_a_best_head_no_better_than_the_margin_is_called_beyond_at_the_level_but_naively_in_most_rows() -> (
    None
):
    honest, naive = _under_the_null()
    for margin in (0.0, 0.05):
        wrong = np.mean([each.p <= 0.05 for each in honest if each.margin == margin])
        assert 0.015 < wrong < 0.1
        assert np.mean([each.p <= 0.05 for each in naive if each.margin == margin]) > 0.6
    assert 0.02 < np.mean([each.p <= 0.05 for each in honest]) < 0.085
    assert 0.02 < np.mean([each.p_not <= 0.05 for each in honest]) < 0.085
    assert [each.decision == "beyond" for each in honest] == [each.p <= 0.05 for each in honest]


def test_the_estimate_it_was_chosen_by_is_too_high_and_that_of_the_other_half_is_not() -> None:
    honest, naive = _under_the_null()
    curse = np.array([each.selection - each.accuracy for each in honest])
    assert curse.mean() > 20 * stats.sem(curse)
    assert curse.mean() > 0.05
    error = np.array([each.difference - each.margin for each in honest])
    assert abs(error.mean()) < 3 * stats.sem(error)
    assert abs(error.mean()) < 0.006
    assert np.mean([each.difference - each.margin for each in naive]) > 0.03
    covered = np.mean([each.difference_low <= each.margin <= each.difference_high for each in honest])
    assert 0.92 < covered < 0.98


@dataclass(frozen=True)
class _Arcs:
    """Right or wrong per row, direction, arc and head, and per arc and baseline; the sentence of each arc."""

    right: np.ndarray
    rival: np.ndarray
    sentence: np.ndarray
    document: np.ndarray

    @property
    def items(self) -> np.ndarray:
        count = np.bincount(self.sentence, minlength=len(self.document))
        return np.tile(count, (len(self.right), 1))

    def summed(self, answers: np.ndarray) -> np.ndarray:
        """Right answers per sentence, along the axis of arcs, the last but one."""
        made = np.zeros((*answers.shape[:-2], len(self.document), answers.shape[-1]), dtype=np.int64)
        np.add.at(np.moveaxis(made, -2, 0), self.sentence, np.moveaxis(answers, -2, 0))
        return made

    @property
    def scores(self) -> Scores:
        units = [f"d{each}" for each in self.document]
        return _scores(self.summed(self.right), self.items, units, 2)

    @property
    def tallies(self) -> BaselineCounts:
        return _tallies(self.summed(self.rival), self.items)

    def best(self, decision: Decision, chosen: np.ndarray, margin: float = 0.05) -> tuple[BestHead, ...]:
        rules = [Rule(name, margin=margin, pooled=True) for name in self.scores.sieves]
        return best_heads(self.scores, rules, self.tallies, _rows(len(self.right)), decision, chosen)


def _arcs(seed: int, rows: int = 3, documents: int = 17) -> _Arcs:
    rng = np.random.default_rng(seed)
    document = np.repeat(np.arange(documents), rng.integers(1, 5, documents))
    sentence = np.repeat(np.arange(len(document)), rng.integers(0, 7, len(document)))
    level = rng.beta(2, 2, (documents, 6))[document[sentence]]
    right = (rng.random((rows, 2, len(sentence), 6)) < level).astype(int)
    rival = (rng.random((rows, len(sentence), 4)) < level[:, :4] * 0.8).astype(int)
    return _Arcs(right, rival, sentence, document)


@quick
@given(st.integers(0, 2**32 - 1))
def test_choices_are_those_of_loops_over_the_arcs_of_the_selection_half(seed: int) -> None:
    made = _arcs(seed)
    chosen = selection_half(made.scores.units, 3)
    mine = [arc for arc, sentence in enumerate(made.sentence) if chosen[sentence]]
    for row, found in enumerate(made.best(NONE, chosen)):
        shares = {}
        for way in range(2):
            for head in range(6):
                shares[way, head] = sum(made.right[row, way, arc, head] for arc in mine) / len(mine)
        counts = [sum(made.rival[row, arc, each] for arc in mine) for each in range(4)]
        way, head = max(shares, key=lambda place: (shares[place], -place[0], -place[1]))
        assert (found.row, found.direction) == (str(row), "→←"[way])
        assert (found.layer, found.head) == divmod(head, 3)
        assert found.selection == pytest.approx(shares[way, head], abs=1e-6)
        assert found.baseline == f"{counts.index(max(counts)):+d}"


@quick
@given(seed=st.integers(0, 2**32 - 1))
def test_estimates_of_the_test_half_are_those_of_the_jackknife_over_documents(
    seed: int, jackknifed: Jackknife
) -> None:
    made = _arcs(seed)
    chosen = selection_half(made.scores.units, 5)
    theirs = ~chosen[made.sentence]
    groups = made.document[made.sentence][theirs]
    for row, found in enumerate(made.best(Decision(test="t", correction="none"), chosen)):
        way, head = "→←".index(found.direction), found.layer * 3 + found.head
        right = made.right[row, way, theirs, head]
        rival = made.rival[row, theirs, int(found.baseline)]
        level, raced = jackknifed(right, groups), jackknifed(right - rival, groups)
        reach = stats.t.isf(0.025, level[2] - 1)
        assert (found.items, found.units) == (theirs.sum(), level[2])
        assert found.accuracy == pytest.approx(level[0], abs=1e-5)
        ends = np.clip([level[0] - reach * level[1], level[0] + reach * level[1]], 0, 1)
        assert (found.low, found.high) == pytest.approx(tuple(ends), abs=1e-5)
        assert found.baseline_accuracy == pytest.approx(rival.mean(), abs=1e-5)
        assert found.difference == pytest.approx(raced[0], abs=1e-5)
        ends = np.array([raced[0] - reach * raced[1], raced[0] + reach * raced[1]])
        assert (found.difference_low, found.difference_high) == pytest.approx(tuple(ends), abs=1e-5)
        assert found.statistic == pytest.approx((raced[0] - 0.05) / raced[1], rel=1e-3, abs=1e-4)
        p = stats.t.sf(found.statistic, raced[2] - 1)
        assert (found.p, found.p_not) == pytest.approx((p, 1 - p), abs=1e-9)


@pytest.mark.parametrize("correction", sorted(METHODS))
def test_p_are_corrected_over_the_rows(correction: str) -> None:
    made = _arcs(8, rows=7)
    found = made.best(Decision(correction=correction), selection_half(made.scores.units, 0), margin=0.0)
    for name in ("", "_not"):
        p, q = ([getattr(each, f"{kind}{name}") for each in found] for kind in "pq")
        np.testing.assert_allclose(q, multipletests(p, method=METHODS[correction])[1], rtol=1e-10)
    assert len({each.q for each in found}) > 1


def test_the_first_of_equal_heads_and_of_equal_baselines_is_taken() -> None:
    made = _arcs(2)
    alike = _Arcs(
        np.repeat(made.right[:, :, :, :1], 6, axis=3)[:, [0, 0]],
        made.rival[:, :, [0, 0]],
        made.sentence,
        made.document,
    )
    for found in alike.best(NONE, selection_half(made.scores.units, 0)):
        assert (found.direction, found.layer, found.head, found.baseline) == ("→", 0, 0, "+0")


def test_a_head_that_is_its_baseline_differs_by_nothing_and_has_no_test() -> None:
    made = _arcs(2)
    same = _Arcs(made.right, made.right[:, 0, :, :1], made.sentence, made.document)
    alone = _Arcs(same.right[:, [0, 0]][..., :1].repeat(6, axis=3), same.rival, same.sentence, same.document)
    for found in alone.best(NONE, selection_half(made.scores.units, 0), margin=0.0):
        assert found.difference == pytest.approx(0, abs=1e-7)
        assert found.decision == "untestable"
        assert np.isnan([found.p, found.q, found.difference_low]).all()


def _without(made: _Arcs, row: int, where: np.ndarray) -> tuple[Scores, BaselineCounts]:
    """The same answers, one row without any in these sentences."""
    items, hits, rival = made.items, made.summed(made.right), made.summed(made.rival)
    items[row, where], hits[row][:, where], rival[row, where] = 0, 0, 0
    units = [f"d{each}" for each in made.document]
    return _scores(hits, items, units, 2), _tallies(rival, items)


@pytest.mark.parametrize("absent", ["selection", "test", "both"])
def test_a_row_without_items_is_untestable_and_no_part_of_the_correction(absent: str) -> None:
    made = _arcs(4)
    chosen = selection_half(made.scores.units, 0)
    where = {"selection": chosen, "test": ~chosen, "both": np.ones_like(chosen)}[absent]
    scores, tallies = _without(made, 1, where)
    rules = [Rule(name, margin=0.0, pooled=True) for name in scores.sieves]
    found = best_heads(scores, rules, tallies, _rows(3), Decision(correction="bonferroni"), chosen)
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


def test_a_test_half_with_arcs_in_one_document_is_untestable() -> None:
    made = _arcs(4)
    chosen = selection_half(made.scores.units, 0)
    own = made.document == made.document[~chosen][0]
    scores, tallies = _without(made, 0, ~chosen & ~own)
    rules = [Rule(name, margin=0.0, pooled=True) for name in scores.sieves]
    found = best_heads(scores, rules, tallies, _rows(3), NONE, chosen)[0]
    assert (found.units, found.decision) == (1, "untestable")
    assert found.accuracy == found.accuracy


@pytest.fixture(scope="module")
def probed(planted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two probes on 14 made-up documents."""
    rng = np.random.default_rng(3)
    lines = []
    for document in range(14):
        lines.append(f"# newdoc id = {document}")
        for _ in range(int(rng.integers(1, 5))):
            size = int(rng.integers(3, 9))
            root = int(rng.integers(1, size + 1))
            for word in range(1, size + 1):
                near = word + (1 if word < root else -1)
                head = 0 if word == root else near if rng.random() < 0.7 else root
                relation = "root" if word == root else str(rng.choice(["det", "obj", "amod", "nsubj"]))
                form = str(rng.choice(["the", "cat", "house", "is", "red", "dog", "small"]))
                lines.append(f"{word}\t{form}\t_\tX\t_\t_\t{head}\t{relation}\t_\t_")
            lines.append("")
    folder = tmp_path_factory.mktemp("honest")
    data = folder / "made.conllu"
    data.write_text("\n".join(lines) + "\n")
    out = folder / "run"
    told: dict[str, Any] = {"relations": ["det", "obj"], "seed": 4}
    probe(["dependency", "trees"], data=data, model=planted, out=out, **told)
    return out


def _table(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "best.csv", keep_default_na=False, na_values=["", "nan"])


def test_judging_a_run_again_by_the_same_rules_gives_the_same_best_heads(probed: Path) -> None:
    before = (probed / "best.csv").read_text()
    assert {row.split(":")[0] for row in _table(probed)["row"]} == {"dependency", "trees"}
    judge_again(probed)
    assert (probed / "best.csv").read_text() == before


def test_another_correction_level_or_margin_changes_q_and_decisions_of_best_heads(probed: Path) -> None:
    first = _table(probed)
    families = first["row"].str.split(":").str[0]
    kept = ["row", "layer", "head", "selection", "accuracy", "difference", "baseline", "contrast"]
    judge_again(probed, margin=0.0, correction="holm")
    level = _table(probed)
    pd.testing.assert_frame_equal(level[kept], first[kept])
    for table, method in ((first, "fdr_bh"), (level, "holm")):
        for name in ("dependency", "trees"):
            mine = table[(families == name) & table["p"].notna()]
            np.testing.assert_allclose(mine["q"], multipletests(mine["p"], method=method)[1], rtol=1e-6)
    assert (level["p"] < first["p"]).any()
    assert (level["margin"] == 0).all()
    middle = level["q"].drop_duplicates().nsmallest(2).mean()
    judge_again(probed, alpha=float(middle))
    found = _table(probed)
    assert (found["decision"] == "beyond").tolist() == (level["q"] <= middle).tolist()
    assert 0 < (found["decision"] == "beyond").sum() < len(found)
