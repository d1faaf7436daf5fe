"""Parts of one corpus in an atlas: their sums and scores are those of one run of the whole."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles import Labelling, atlas
from headroles.comparing.parts import add_moments, merge_parts
from headroles.errors import BadInput
from headroles.records.moments import moments_of
from headroles.reports.answer.atlas import answer_of
from headroles.shards.moments import take_examples

Label = Callable[..., Labelling]
SIEVES = ["local", "delimiter"]
FINDINGS = ("mean", "null", "statistic", "p", "p_not", "q", "q_not", "effect", "count")


@pytest.fixture
def tables(table: Path, tmp_path: Path) -> list[Path]:
    """The table of pairs, cut between two documents."""
    header, *lines = table.read_text().splitlines(keepends=True)
    files = []
    for number, rows in enumerate((lines[:27], lines[27:]), 1):
        files.append(tmp_path / f"part{number}.tsv")
        files[-1].write_text(header + "".join(rows))
    return files


@pytest.mark.parametrize("keep", [100, 20])
def test_the_whole_is_the_run_of_all_inputs(
    keep: int, tables: list[Path], table: Path, label: Label, tmp_path: Path
) -> None:
    folders = [tmp_path / file.stem for file in tables]
    for file, folder in zip(tables, folders, strict=True):
        label(data=file, keep=keep, sieve=SIEVES, out=folder)
    wanted = label(data=table, keep=keep, sieve=SIEVES)
    whole = merge_parts([headroles.load(folder) for folder in folders])
    for name in ("mean", "null", "effect", "q"):  # other batches: scores agree to the last bits of 32
        own, other = getattr(whole.findings, name), getattr(wanted.findings, name)
        np.testing.assert_allclose(own, other, rtol=1e-4, atol=1e-6, err_msg=name)
    np.testing.assert_array_equal(whole.findings.decision, wanted.findings.decision)
    np.testing.assert_array_equal(whole.findings.count, wanted.findings.count)
    assert whole.manifest["counts"]["examples"] == 60
    assert (whole.moments is None) == (keep == 100)
    if whole.moments is None:
        np.testing.assert_allclose(whole.scores.values, wanted.scores.values, rtol=0, atol=1e-6)
        assert whole.manifest["counts"]["units"] == len(set(wanted.scores.units))
    elif wanted.moments is not None:
        np.testing.assert_allclose(whole.moments.total, wanted.moments.total, rtol=0, atol=1e-5)
        np.testing.assert_array_equal(whole.moments.weight, wanted.moments.weight)


def _cut(run: Labelling, at: int) -> list[Labelling]:
    """Cut a run in two, as if each part had been run by itself in the same batches."""
    total = len(run.scores.examples)
    parts = []
    for number, places in enumerate((np.arange(at), np.arange(at, total))):
        own = take_examples(run.scores, places)
        counts = {"examples": len(places), "units": len(set(own.units))}
        part = _with(replace(run, scores=own), source={"sha256": str(number)}, counts=counts)
        parts.append(part)
    return parts


@pytest.mark.parametrize("at", [1, 27, 59])
def test_parts_of_the_same_scores_give_the_same_findings_to_twelve_digits(at: int, label: Label) -> None:
    wanted = label()
    whole = merge_parts(_cut(wanted, at))
    assert whole.scores.examples == wanted.scores.examples
    np.testing.assert_array_equal(whole.scores.values, wanted.scores.values)
    for name in FINDINGS:
        own, other = getattr(whole.findings, name), getattr(wanted.findings, name)
        np.testing.assert_allclose(own, other, rtol=1e-12, atol=1e-12, err_msg=name)
    np.testing.assert_array_equal(whole.findings.decision, wanted.findings.decision)


@pytest.mark.parametrize("at", [1, 27, 59])
def test_sums_of_parts_are_the_sums_of_the_whole_to_twelve_digits(at: int, label: Label) -> None:
    run = label()
    rules = list(run.findings.rules)
    wanted = moments_of(run.scores, rules, 0)
    found = add_moments([moments_of(part.scores, rules, 0) for part in _cut(run, at)])
    assert found.examples == wanted.examples == 60
    for name in ("cells", "nulls", "count", "square", "chance", "least", "most", "weight", "total"):
        own, other = getattr(found, name), getattr(wanted, name)
        np.testing.assert_allclose(own, other, rtol=0, atol=1e-12, err_msg=name)


def test_an_atlas_shows_the_whole_beside_its_parts(tables: list[Path], label: Label, tmp_path: Path) -> None:
    folders = [str(tmp_path / file.stem) for file in tables]
    for file, folder in zip(tables, folders, strict=True):
        label(data=file, out=folder)
    found = atlas(folders, parts=True)
    assert [run.examples for run in found.runs] == [60, 27, 33]
    assert found.runs[0].name.startswith("whole")
    assert found.manifest["command"].endswith("--parts")
    merged = merge_parts([headroles.load(folder) for folder in folders])
    roles = [merged.findings.of(name) for name in found.findings[0].roles]
    np.testing.assert_array_equal(found.findings[0].numbers["p"], merged.findings.p[roles])
    named = {name for row in found.agreement for name in (row.run_a, row.run_b)}
    assert found.runs[0].name not in named
    assert {row.runs for row in found.consensus} <= {0, 1, 2}
    one, other = (run.held for run in found.findings[1:])
    roles = [place for place, role in enumerate(found.findings[1].roles) if role in found.findings[2].tested]
    same = int((one[roles] == other[roles]).all(axis=0).sum())
    assert (
        answer_of(found).sentences[0].text.startswith(f"{same} of 6 heads hold the same roles in both runs")
    )


def test_parts_that_name_their_inputs_alike_are_told_apart(tables: list[Path], label: Label) -> None:
    runs = [label(data=file) for file in tables]
    keys = tuple(f"row {number}" for number in range(27))
    alike = [replace(run, scores=replace(_first(run, 27).scores, examples=keys, units=keys)) for run in runs]
    whole = merge_parts(alike)
    assert whole.scores.examples[:2] == ("1/row 0", "1/row 1")
    assert whole.scores.examples[27] == "2/row 0"
    assert len(set(whole.scores.units)) == 54


def _first(run: Labelling, count: int) -> Labelling:
    return replace(run, scores=take_examples(run.scores, np.arange(count)))


def _with(run: Labelling, **entries: Any) -> Labelling:
    return replace(run, manifest=dict(run.manifest) | entries)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda run: _with(run, model={"name": "other"}), "the model of two runs differ; label all parts"),
        (lambda run: _with(run, preset="published"), "the preset of two runs differ"),
        (lambda run: _with(run, statistic="bias"), "the statistic of two runs differ"),
        (lambda run: replace(run, decision=replace(run.decision, alpha=0.2)), "the rule of decision of two"),
        (
            lambda run: replace(
                run,
                findings=replace(
                    run.findings, rules=tuple(replace(rule, margin=0.3) for rule in run.findings.rules)
                ),
            ),
            "the columns, margins and contrasts of two runs differ",
        ),
        (
            lambda run: replace(
                run,
                findings=replace(
                    run.findings, rules=tuple(replace(rule, contrast="") for rule in run.findings.rules)
                ),
            ),
            "the columns, margins and contrasts of two runs differ",
        ),
    ],
)
def test_runs_that_cannot_be_parts_of_one_corpus_are_refused(
    change: Callable[[Labelling], Labelling], sentence: str, tables: list[Path], label: Label
) -> None:
    first, second = (label(data=file) for file in tables)
    with pytest.raises(BadInput, match=sentence):
        merge_parts([first, change(second)])


def test_sums_and_scores_are_not_mixed_and_no_part_counts_twice(tables: list[Path], label: Label) -> None:
    first, second = label(data=tables[0]), label(data=tables[1], keep=20)
    with pytest.raises(BadInput, match=r"the kept results \(sums or all scores\) of two runs differ"):
        merge_parts([first, second])
    with pytest.raises(BadInput, match=r"two runs read the same ones .*; name every part once"):
        merge_parts([first, first])


def test_shards_are_counted_on_from_part_to_part(tables: list[Path], label: Label) -> None:
    parts = [label(data=file, keep=20).moments for file in tables]
    assert all(part is not None for part in parts)
    found = add_moments([part for part in parts if part is not None])
    assert found.stop - found.start == sum(part.stop - part.start for part in parts if part is not None)


def test_steps_and_parts_are_not_asked_for_at_once() -> None:
    with pytest.raises(BadInput, match="got --steps and --parts; leave one out"):
        atlas(["a", "b"], steps=True, parts=True)
