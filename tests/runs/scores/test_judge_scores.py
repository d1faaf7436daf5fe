"""Tables of scores from anywhere get the findings that other libraries, and runs of sieves, give."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

import headroles
from headroles.errors import BadInput, HeadrolesError, UnknownName
from headroles.records.findings import Labelling
from headroles.shards.verify import verify
from tests.converting.old_files import old_pairs, old_words, write_pickle

SEEDS = st.integers(0, 10_000)


def _table(values: np.ndarray, **columns: Any) -> pd.DataFrame:
    """A table of an array (units, layers, heads)."""
    unit, layer, head = np.indices(values.shape).reshape(3, -1)
    rows = {"unit": [f"u{number}" for number in unit], "layer": layer, "head": head, "score": values.ravel()}
    return pd.DataFrame(rows | columns)


def _random(seed: int, shape: tuple[int, int, int] = (60, 2, 3)) -> np.ndarray:
    rng = np.random.default_rng(seed)
    means = rng.choice([0.1, 0.2, 0.3], size=shape[1:])
    return np.clip(rng.normal(means, 0.15, size=shape), 0, 1)


def exported(run: Labelling) -> pd.DataFrame:
    """The scores of a run as a table, with everything that its rules say."""
    scores, rows = run.scores, []
    for position, rule in enumerate(run.findings.rules):
        frame = _table(scores.values[position].astype(np.float64))
        place = np.repeat(np.arange(len(scores.examples)), scores.layers * scores.heads)
        own = {
            name: getattr(rule, name) for name in ("margin", "low", "high", "contrast", "stronger", "weaker")
        }
        frame = frame.assign(
            unit=np.array(scores.examples, dtype=object)[place],
            group=np.array(scores.units, dtype=object)[place],
            tokens=scores.tokens[place],
            cells=scores.cells[position][place],
            null=scores.null[position][place],
            sieve=rule.sieve,
            role=rule.role,
            pooled=rule.pooled,
            question=rule.question,
            **own,
        )
        rows.append(frame)
    return pd.concat(rows, ignore_index=True)


@given(seed=SEEDS)
@settings(max_examples=4, deadline=None)
def test_findings_are_those_of_scipy_and_statsmodels(seed: int) -> None:
    values = _random(seed).astype(np.float32).astype(np.float64)
    run = headroles.judge_scores(
        _table(values), margin=0.1, null=0.1, low=0, high=1, test="t", correction="fdr_bh"
    )
    flat = values.reshape(len(values), -1)
    expected = stats.ttest_1samp(flat, 0.2, alternative="greater")
    frame = run.frame()
    np.testing.assert_allclose(frame["mean"], flat.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(frame["p"], expected.pvalue, rtol=1e-7, atol=1e-12)
    reject, adjusted, *_ = multipletests(expected.pvalue, 0.05, method="fdr_bh")
    small = adjusted < 0.5  # p far above alpha may be those of withheld claims
    np.testing.assert_allclose(frame["q"][small], adjusted[small], rtol=1e-7, atol=1e-12)
    assert ((frame["decision"] == "role") <= reject).all()


@pytest.mark.parametrize("sieve", ["delimiter", "local", "syntactic"])
def test_the_exported_scores_of_a_run_give_its_findings(sieve: str, tmp_path: Path) -> None:
    old = old_words(60) if sieve == "syntactic" else old_pairs(60)
    maps = headroles.convert(write_pickle(tmp_path / "old.pkl", old), out=tmp_path / "maps.npz").file
    made = headroles.label(attention=maps, sieve=[sieve])
    judged = headroles.judge_scores(exported(made))
    pd.testing.assert_frame_equal(judged.frame(), made.frame(), rtol=1e-9)
    pd.testing.assert_frame_equal(judged.labels(), made.labels())


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv", "csv.gz"])
def test_every_form_of_table_gives_one_run_folder_that_verifies(ending: str, tmp_path: Path) -> None:
    frame, file = _table(_random(1), sieve="mine"), tmp_path / f"scores.{ending}"
    if ending == "parquet":
        frame.to_parquet(file)
    else:
        frame.to_csv(file, index=False, sep="\t" if ending == "tsv" else ",")
    run = headroles.judge_scores(file, margin=0.1, low=0, high=1, out=tmp_path / "run", model_name="tiny")
    assert verify(tmp_path / "run", oracles=True).examples == 60
    np.testing.assert_array_equal(headroles.load(tmp_path / "run").findings.p, run.findings.p)
    again = headroles.judge_again(tmp_path / "run", alpha=0.01, margin=0.2)
    assert again.findings.rules[0].margin == 0.2
    assert verify(tmp_path / "run").files > 5
    assert "tiny" in (tmp_path / "run" / "report.html").read_text()
    in_memory = headroles.judge_scores(frame, margin=0.1, low=0, high=1)
    np.testing.assert_array_equal(in_memory.findings.p, run.findings.p)


def test_the_order_of_rows_and_missing_rows_do_not_matter(tmp_path: Path) -> None:
    frame = _table(_random(2))
    gone = frame.sample(frac=0.9, random_state=0)
    empty = frame.assign(score=frame["score"].where(frame.index.isin(gone.index)))
    first = headroles.judge_scores(gone.sort_index(), margin=0.1)
    second = headroles.judge_scores(empty, margin=0.1)
    np.testing.assert_allclose(first.findings.p, second.findings.p)
    assert "36 of 360 scores are missing." in second.skipped


def test_groups_are_the_units_and_a_contrast_decides_with_the_score() -> None:
    values = _random(3)
    frame = _table(values)
    frame = frame.assign(group=[unit[:-1] or unit for unit in frame["unit"]], sieve="mine", margin=0.1)
    grouped = headroles.judge_scores(frame, margin=0.1)
    assert grouped.findings.count.max() == len({unit[:-1] for unit in frame["unit"]})
    other = frame.assign(sieve="control", score=-0.2, margin=0.02)
    both = pd.concat([frame.assign(contrast="control"), other.assign(contrast="")])
    run = headroles.judge_scores(both, low=-1, high=1)
    assert [rule.role for rule in run.findings.rules] == [True, False]
    assert (run.frame()["decision"] != "role").all()


def test_what_the_table_does_not_say_is_said() -> None:
    notes = headroles.judge_scores(_table(_random(4)[:20], sieve="mine", more=1), margin=0.1).skipped
    assert notes[0].startswith("the table does not say which score chance gives; 0 was taken")
    assert "unknown for mine (--low, --high)" in notes[1]
    assert notes[2:] == (
        "columns that were not read: more.",
        "mine rests on 20 units; below 50, no head is called 'not'.",
    )
    said = headroles.judge_scores(_table(_random(4)), margin=0.1, null=0, low=0, high=1).skipped
    assert said == ()


def test_roles_that_rest_on_as_few_units_share_a_sentence() -> None:
    tables = [
        _table(_random(4)[:units], sieve=name) for name, units in (("a", 20), ("b", 1), ("c", 20), ("d", 7))
    ]
    run = headroles.judge_scores(pd.concat(tables), margin=0.1, null=0, low=-10, high=10)
    assert [note for note in run.skipped if "on" in note.split()] == [
        "b rests on 1 unit and cannot be tested. Give more units.",
        "d rests on 7 units; below 50, no head is called 'not'.",
        "a, c rest on 20 units; below 50, no head is called 'not'.",
    ]


def test_heads_without_spread_are_decided_by_bounds_alone() -> None:
    values = np.full((60, 1, 2), 0.5)
    unknown = headroles.judge_scores(_table(values), margin=0.1)
    known = headroles.judge_scores(_table(values), margin=0.1, low=0, high=1)
    assert (unknown.frame()["decision"] != "role").all()
    assert (known.frame()["decision"] == "role").all()


MISTAKES: list[tuple[Callable[[pd.DataFrame], Any], dict[str, Any], str]] = [
    (lambda frame: frame.drop(columns="score"), {}, "the column 'score' is needed but not there"),
    (lambda frame: frame.assign(layer=-1), {}, "the column 'layer' holds whole numbers from 0, but has -1"),
    (lambda frame: frame.assign(head=0.5), {}, "the column 'head' holds whole numbers from 0"),
    (lambda frame: frame.assign(layer=2**30), {}, "are at most 1,000,000,000"),
    (lambda frame: frame.assign(score=1e35), {}, "numbers are at most 1e30"),
    (lambda frame: frame.assign(score="high"), {}, "the column 'score' holds numbers"),
    (lambda frame: frame.assign(unit=""), {}, "the column 'unit' has a name in every row"),
    (lambda frame: pd.concat([frame, frame]), {}, "'u0' has two for 'score' in head 0-0"),
    (lambda frame: frame, {"margin": None}, "a margin says how far beyond chance"),
    (lambda frame: frame, {"low": 0.5, "high": 1}, "lie between its lowest and highest possible score"),
    (lambda frame: frame, {"low": 1, "high": 0}, "low must lie below high"),
    (lambda frame: frame, {"null": float("inf")}, "null must be a finite number"),
    (
        lambda frame: frame.assign(null=frame["score"]),
        {},
        "the column 'null' has one value for each unit of a sieve",
    ),
    (
        lambda frame: frame.assign(contrast="none"),
        {},
        "a contrast is a sieve of the table, but 'none' is none",
    ),
    (lambda frame: frame.assign(role=False), {}, "at least one sieve is a role"),
    (lambda frame: frame.assign(role="maybe"), {}, "'role' holds true or false"),
    (lambda frame: frame.assign(pooled=True), {}, "a pooled sieve needs the column 'cells'"),
    (lambda frame: "scores.txt", {}, "tables of scores end in .parquet"),
    (lambda frame: "none.csv", {}, "No such file: none.csv"),
    (lambda frame: frame, {"test": "t-skwe"}, "did you mean 't-skew'"),
]


@pytest.mark.parametrize(("change", "options", "words"), MISTAKES)
def test_mistakes_get_one_sentence(change: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(HeadrolesError) as error:
        headroles.judge_scores(change(_table(_random(5))), **{"margin": 0.1} | options)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_view_of_such_a_run_is_refused() -> None:
    run = headroles.judge_scores(_table(_random(7)), margin=0.1)
    with pytest.raises(BadInput, match="judged a table of scores, which has none"):
        headroles.view("It rains.", run=run)


def test_a_folder_with_another_run_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "scores.parquet"
    _table(_random(6)).to_parquet(file)
    headroles.judge_scores(file, margin=0.1, out=tmp_path / "run")
    before = (tmp_path / "run" / "findings.csv").read_bytes()
    with pytest.raises(BadInput, match=r"holds a run with other settings \(high, low\).*--overwrite"):
        headroles.judge_scores(file, margin=0.1, low=0, high=1, out=tmp_path / "run")
    assert (tmp_path / "run" / "findings.csv").read_bytes() == before
    headroles.judge_scores(file, margin=0.1, low=0, high=1, out=tmp_path / "run", overwrite=True)
    assert verify(tmp_path / "run").examples == 60
    with pytest.raises(UnknownName):
        headroles.judge_scores(file, margin=0.1, nul=0)  # type: ignore[call-arg]


def test_bounds_that_the_user_gives_let_the_test_bet_and_without_them_it_is_refused() -> None:
    table = _table(_random(5))
    run = headroles.judge_scores(table, margin=0.1, null=0.1, low=0, high=1, test="betting")
    (rule,) = run.findings.rules
    assert (rule.stated_low, rule.stated_high) == pytest.approx((-0.1, 0.9))
    assert not np.isnan(run.findings.p).any()
    number = table["unit"].factorize()[0]
    varying = table.assign(null=0.05 + 0.1 * number / number.max())
    (rule,) = headroles.judge_scores(varying, margin=0.1, low=0, high=1, test="betting").findings.rules
    assert (rule.stated_low, rule.stated_high) == (-1.0, 1.0)
    with pytest.raises(BadInput, match="stated before any score"):
        headroles.judge_scores(table, margin=0.1, null=0.1, test="betting")
