"""Comparing two run folders: what matches, what is refused, what is written and what is said."""

import csv
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles import Comparison, Labelling, compare
from headroles.errors import BadInput, UnknownName
from headroles.options.finished import CompareOptions
from headroles.options.values import record_of
from headroles.records.findings import COLUMNS
from headroles.records.moments import GROUPS, moments_of
from headroles.records.rules.rule import Rule

Change = Callable[[Labelling], Labelling]
Command = Callable[..., tuple[int, str, str]]
FILES = ["differences.csv", "labels.csv", "layers.csv", "manifest.json", "report.html", "swaps.csv"]
QUICK: dict[str, Any] = {"swaps": 99}


@pytest.fixture(scope="session")
def other(even: Path, table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a model whose heads attend evenly, on the inputs of ``finished``."""
    folder = tmp_path_factory.mktemp("runs") / "other"
    sieves = ["local", "delimiter", "block"]
    headroles.label("QNLI", data=table, model=even, max_length=48, sieve=sieves, out=folder)
    return folder


@pytest.fixture
def changed(other: Path, tmp_path: Path) -> Callable[[Change], Path]:
    """A copy of that run with something changed."""

    def make(change: Change) -> Path:
        folder = tmp_path / "changed"
        headroles.save(change(headroles.load(other)), folder)
        return folder

    return make


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def _with_scores(run: Labelling, **fields: Any) -> Labelling:
    return replace(run, scores=replace(run.scores, **fields), exhibited=None)


def _with_manifest(run: Labelling, **entries: Any) -> Labelling:
    return replace(run, manifest=dict(run.manifest) | entries)


def _with_rules(run: Labelling, change: Callable[[Rule], Rule]) -> Labelling:
    return replace(run, findings=replace(run.findings, rules=tuple(map(change, run.findings.rules))))


def _part(run: Labelling, examples: slice) -> Labelling:
    scores = run.scores
    fields: dict[str, Any] = {
        name: getattr(scores, name)[:, examples] for name in ("cells", "values", "null")
    }
    return _with_scores(
        run,
        examples=scores.examples[examples],
        units=scores.units[examples],
        tokens=scores.tokens[examples],
        **fields,
    )


def test_a_run_against_itself_has_not_changed(finished: Path) -> None:
    found = compare(finished, finished, bound=0.5, **QUICK)
    counts = [found.differences.counts(place) for place in range(4)]
    heads = found.differences.count[0].size
    assert [each[0] for each in counts] == [0] * 4
    assert all(each[1] == heads for each in counts)
    assert (found.by_role()["changed"] == 0).all()
    assert not found.labels()[["gained", "lost"]].any(axis=None)
    assert (found.frame()["p"] == 1).all()


def test_roles_that_a_model_lacks_are_lost_and_named_by_layer(finished: Path, other: Path) -> None:
    found = compare(finished, other, **QUICK)
    before, after = headroles.load(finished).labels(), headroles.load(other).labels()
    labels = found.labels()
    assert labels["roles_a"].tolist() == before["roles"].tolist()
    assert labels["roles_b"].tolist() == after["roles"].tolist() == [""] * 6
    assert labels["lost"].tolist() == labels["roles_a"].tolist()
    assert not labels["gained"].any()
    layers = found.by_layer().dropna()
    assert layers["lost"].sum() == found.by_role()["lost"].iloc[-1] == labels["lost"].astype(bool).sum()
    assert found.by_role()["p"].iloc[-1] == 0.01
    back = compare(other, finished, **QUICK)
    assert back.labels()["gained"].tolist() == labels["lost"].tolist()
    np.testing.assert_array_equal(back.differences.outcome, found.differences.outcome)


def test_differences_are_those_of_the_runs(finished: Path, other: Path) -> None:
    found = compare(finished, other, **QUICK).differences
    one, two = headroles.load(finished).findings, headroles.load(other).findings
    np.testing.assert_allclose(found.mean_a, one.mean, atol=1e-9)
    np.testing.assert_allclose(found.mean_b, two.mean, atol=1e-9)
    np.testing.assert_allclose(found.difference, two.mean - one.mean, atol=1e-9)


def test_the_folder_holds_what_was_found(finished: Path, other: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "comparison"
    found = compare(finished, other, out=out, **QUICK)
    assert sorted(each.name for each in out.iterdir()) == FILES
    rows = _rows(out / "differences.csv")
    assert list(rows[0]) == [
        "sieve", "layer", "head", "count", "mean_a", "mean_b", "difference", "effect", "low", "high",
        "statistic", "p", "q", "p_equivalent", "q_equivalent", "outcome",
    ]  # fmt: skip
    assert [row["outcome"] for row in rows] == found.frame()["outcome"].tolist()
    assert [float(row["difference"]) for row in rows] == found.frame()["difference"].tolist()
    assert list(_rows(out / "labels.csv")[0]) == ["layer", "head", "roles_a", "roles_b", "gained", "lost"]
    layers = _rows(out / "layers.csv")
    assert len(layers) == 5 * 2
    assert {row["gained"] == "" for row in layers if row["sieve"] == "block:matched"} == {True}
    assert [row["sieve"] for row in _rows(out / "swaps.csv")] == ["local", "delimiter", "block", ""]
    facts = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert facts["kind"] == "comparison"
    assert facts["command"] == f"headroles compare {finished} {other} --swaps 99"
    assert facts["a"]["folder"] == str(finished)
    assert facts["a"]["model"]["weights_sha256"] != facts["b"]["model"]["weights_sha256"]
    assert facts["a"]["source"]["sha256"] == facts["b"]["source"]["sha256"]
    assert facts["settings"]["bound"] == 0.05
    assert facts["remarks"] == list(found.remarks)
    assert (out / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_equal_comparisons_are_equal_byte_by_byte(finished: Path, other: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        compare(finished, other, out=tmp_path / name, **QUICK)
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_what_is_there_is_replaced_only_when_it_may_be(
    finished: Path, other: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "comparison"
    compare(finished, other, out=out, **QUICK)
    before = (out / "manifest.json").read_bytes()
    compare(finished, other, out=out, **QUICK)
    with pytest.raises(BadInput, match=r"other settings \(bound\); give --overwrite"):
        compare(finished, other, out=out, bound=0.1, **QUICK)
    assert (out / "manifest.json").read_bytes() == before
    compare(finished, other, out=out, bound=0.1, overwrite=True, **QUICK)
    assert (out / "manifest.json").read_bytes() != before
    (out / "notes.txt").write_text("mine")
    with pytest.raises(BadInput, match=r"also holds 'notes.txt'"):
        compare(finished, other, out=out, overwrite=True, **QUICK)
    taken = Path(shutil.copytree(finished, tmp_path / "run"))
    with pytest.raises(BadInput, match="holds files that are no comparison of headroles"):
        compare(finished, other, out=taken, overwrite=True, **QUICK)
    with pytest.raises(BadInput, match="is a file"):
        compare(finished, other, out=out / "notes.txt", **QUICK)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="current folder"):
        compare(finished, other, out=".", **QUICK)


def test_a_run_never_replaces_a_comparison(finished: Path, other: Path, tmp_path: Path) -> None:
    compare(finished, other, out=tmp_path / "comparison", **QUICK)
    with pytest.raises(BadInput, match="holds files that are no run of headroles"):
        headroles.save(headroles.load(finished), tmp_path / "comparison", overwrite=True)
    with pytest.raises(BadInput, match=r"this needs a run, but '.*/comparison' is a comparison of two"):
        compare(finished, tmp_path / "comparison", **QUICK)


def _mismatches() -> list[tuple[str, Change, str]]:
    """What differs, how it is made to, and what is said about it."""
    parser = {"name": "another", "version": "2"}
    tokenizer = {"class": "BertTokenizer", "max_length": 32}
    cut: dict[str, Any] = {"tokens": np.full(60, 9)}
    return [
        ("heads", lambda run: _narrow(run), "A has 2 layers of 3 heads and B 2 of 2"),
        ("sieves", lambda run: _renamed(run, "delimiter", "other"), "'delimiter' is in A only"),
        ("preset", lambda run: _with_manifest(run, preset="published"), "preset is calibrated in A and pub"),
        ("statistic", lambda run: _with_manifest(run, statistic="bias"), "selectivity in A and bias in B"),
        (
            "margin",
            lambda run: _with_rules(run, lambda rule: replace(rule, margin=0.3)),
            "margin of 'local' is 0.1 in A and 0.3 in B",
        ),
        (
            "chance",
            lambda run: _with_rules(run, lambda rule: replace(rule, null=1.0)),
            "chance value of 'local' is 0.0 in A and 1.0 in B",
        ),
        (
            "contrast",
            lambda run: _with_rules(run, lambda rule: replace(rule, contrast="")),
            "contrast of 'block' is block:swap in A and none in B",
        ),
        ("number", lambda run: _part(run, slice(0, 50)), "A has 60 and B 50"),
        ("order", lambda run: _part(run, slice(None, None, -1)), "where A has 'QNLI/0' B has 'QNLI/59'"),
        ("cut", lambda run: _with_manifest(_with_scores(run, **cut), tokenizer=tokenizer), "--max-length"),
        ("parser", lambda run: _with_manifest(run, parser=parser), "parser is none in A and another 2 in B"),
        (
            "texts",
            lambda run: _with_manifest(_with_scores(run, **cut), source={"sha256": "ab"}),
            "tokens in A and 9 in B",
        ),
        ("both", lambda run: _with_manifest(run, source={"sha256": "ab"}), "change one at a time"),
    ]


def _narrow(run: Labelling) -> Labelling:
    arrays = {name: getattr(run.findings, name)[:, :, :2] for name in (*COLUMNS, "decision")}
    return replace(
        _with_scores(run, values=run.scores.values[..., :2]),
        findings=replace(run.findings, **arrays),
        assessment=None,
        manifest=dict(run.manifest) | {"model": dict(run.manifest["model"]) | {"heads": 2}},
    )


def _renamed(run: Labelling, old: str, new: str) -> Labelling:
    names = tuple(new if name == old else name for name in run.scores.sieves)
    renamed = _with_rules(run, lambda rule: replace(rule, sieve=new) if rule.sieve == old else rule)
    return _with_scores(renamed, sieves=names)


@pytest.mark.parametrize(("change", "words"), [pytest.param(*rest, id=name) for name, *rest in _mismatches()])
def test_runs_that_do_not_match_are_refused_saying_how(
    finished: Path, changed: Callable[[Change], Path], tmp_path: Path, change: Change, words: str
) -> None:
    out = tmp_path / "comparison"
    with pytest.raises(BadInput) as refused:
        compare(finished, changed(lambda run: replace(change(run), assessment=None)), out=out, **QUICK)
    assert words in str(refused.value)
    assert "; " in str(refused.value)
    assert not out.exists()


def test_one_model_is_compared_on_two_inputs_of_equal_layout(finished: Path, tmp_path: Path) -> None:
    run = headroles.load(finished)
    keys = tuple(key.replace("QNLI", "shuffled") for key in run.scores.examples)
    twin = _with_manifest(_with_scores(run, examples=keys, units=keys), source={"sha256": "ab", "name": "b"})
    headroles.save(twin, tmp_path / "twin")
    found = compare(finished, tmp_path / "twin", **QUICK)
    assert found.manifest["matched"] == "one model on two inputs of equal layout"
    assert not (found.differences.outcome == 0).any()


def test_sieves_of_b_are_taken_in_the_order_of_a(finished: Path, other: Path, tmp_path: Path) -> None:
    run = headroles.load(other)
    order = [4, 3, 2, 1, 0]
    fields: dict[str, Any] = {name: getattr(run.scores, name)[order] for name in ("cells", "values", "null")}
    names = tuple(run.scores.sieves[place] for place in order)
    arrays = {name: getattr(run.findings, name)[order] for name in (*COLUMNS, "decision")}
    findings = replace(run.findings, rules=tuple(run.findings.rules[k] for k in order), **arrays)
    turned = replace(_with_scores(run, sieves=names, **fields), findings=findings, assessment=None)
    headroles.save(turned, tmp_path / "turned")
    there = compare(finished, other, **QUICK).frame()
    here = compare(finished, tmp_path / "turned", **QUICK).frame()
    assert here.equals(there)


def test_units_of_both_runs_are_joined(finished: Path, changed: Callable[[Change], Path]) -> None:
    paired_up = changed(lambda run: _with_scores(run, units=tuple(f"u{k // 2}" for k in range(60))))
    found = compare(finished, paired_up, **QUICK)
    assert found.manifest["counts"] == {"examples": 60, "units": 30}
    assert found.differences.count.max() == 30
    assert found.before.count.max() == found.after.count.max() == 30


def test_both_runs_are_judged_as_a_was_unless_told_otherwise(
    finished: Path, other: Path, tmp_path: Path
) -> None:
    strict = Path(shutil.copytree(finished, tmp_path / "strict"))
    headroles.judge_again(strict, test="t", correction="holm", alpha=0.01)
    found = compare(strict, other, **QUICK)
    assert (found.decision.test, found.decision.correction, found.decision.alpha) == ("t", "holm", 0.01)
    told = compare(strict, other, alpha=0.1, family="run", resample_seed=3, **QUICK)
    assert (told.decision.test, told.decision.alpha) == ("t", 0.1)
    assert (told.decision.family, told.decision.seed) == ("run", 3)
    assert "--alpha 0.1 --family run --resample-seed 3" in told.manifest["command"]


def test_differences_have_students_t_and_labels_the_test_of_a(finished: Path, other: Path) -> None:
    found = compare(finished, other, **QUICK)
    assert found.decision.test == found.manifest["settings"]["test"] == "t"
    assert found.manifest["label_test"] == "t-skew"
    own = headroles.load(finished).findings
    np.testing.assert_array_equal(found.before.p, own.p)
    assert any("Labels of both runs are tested by t-skew, as in A" in remark for remark in found.remarks)
    assert "--test" not in found.manifest["command"]
    skewed = compare(finished, other, test="t-skew", **QUICK)
    assert not any("Labels of both runs" in remark for remark in skewed.remarks)
    np.testing.assert_array_equal(skewed.before.q, found.before.q)
    assert not np.array_equal(skewed.differences.p, found.differences.p)


@pytest.mark.parametrize("limit", [30, 60])
def test_the_rounding_of_a_precision_changes_no_head(
    planted: Path, table: Path, tmp_path: Path, limit: int
) -> None:
    for dtype in ("float32", "bfloat16"):
        headroles.label(
            "QNLI", data=table, model=planted, max_length=48, sieve=["local", "delimiter", "block"],
            limit=limit, dtype=dtype, out=tmp_path / dtype,
        )  # fmt: skip
    found = compare(tmp_path / "float32", tmp_path / "bfloat16", **QUICK)
    assert (found.frame()["p"] < 0.001).any()
    assert not (found.differences.outcome == 0).any()
    assert (found.differences.outcome == 1).any() == (limit >= 50)


def test_labels_that_the_joint_decision_moved_are_counted(
    finished: Path, other: Path, tmp_path: Path
) -> None:
    strict = Path(shutil.copytree(finished, tmp_path / "strict"))
    headroles.judge_again(strict, alpha=1e-12)
    before, after = (headroles.load(folder).labels()["roles"] for folder in (strict, finished))
    moved = (before != after).sum()
    assert moved > 0
    found = compare(strict, other, alpha=0.05, **QUICK)
    said = [each for each in found.remarks if "from its own folder" in each]
    assert said == [each for each in said if f"A differs from its own folder in {moved} label" in each] != []


def test_that_runs_of_sums_are_compared_on_their_subsamples_is_said(
    finished: Path, changed: Callable[[Change], Path]
) -> None:
    def summed(run: Labelling) -> Labelling:
        sums = replace(moments_of(run.scores, run.findings.rules, 0), examples=5000)
        kept = {"mode": "moments", "groups": GROUPS, "examples": 5000, "subsample": 60}
        none = replace(run.findings, decision=np.full_like(run.findings.decision, 2))
        return _with_manifest(
            replace(run, moments=sums, findings=none, assessment=None, exhibited=None), kept=kept
        )

    run = headroles.load(finished)
    folder = changed(lambda other: replace(summed(run), manifest=summed(other).manifest))
    found = compare(finished, folder, **QUICK)
    kept = [each for each in found.remarks if "kept sums" in each]
    assert kept == [each for each in kept if each.startswith("B kept sums of 5,000 inputs")] != []
    assert "on the random 60 of them" in kept[0]
    (moved,) = [each for each in found.remarks if "from its own folder" in each]
    assert "one decision for both runs and on its subsample alone, B differs" in moved
    assert found.manifest["remarks"] == list(found.remarks)


@pytest.mark.parametrize("bound", [0.0, -0.1, float("nan"), float("inf")])
def test_a_bound_is_a_number_above_zero(finished: Path, bound: float) -> None:
    with pytest.raises(BadInput, match="bound must be a number above 0"):
        compare(finished, finished, bound=bound)


@pytest.mark.parametrize("swaps", [-1, 1, 98])
def test_swaps_are_enough_or_none(finished: Path, swaps: int) -> None:
    with pytest.raises(
        BadInput, match="swaps must be a whole number of at least 99 and at most 1,000,000, or 0"
    ):
        compare(finished, finished, swaps=swaps)


def test_settings_of_another_type_are_refused_and_numbers_of_numpy_taken() -> None:
    for bound in ("wide", True, None):
        with pytest.raises(BadInput, match="bound must be a number"):
            record_of(CompareOptions, dir_a="A", dir_b="B", bound=bound)
    for swaps in (99.5, "many", True, None):
        with pytest.raises(BadInput, match="swaps must be a whole number"):
            record_of(CompareOptions, dir_a="A", dir_b="B", swaps=swaps)
    chosen = record_of(CompareOptions, dir_a="A", dir_b="B", bound=np.int64(1), swaps=np.int64(200))
    assert (chosen.bound, type(chosen.bound)) == (1.0, float)
    assert (chosen.swaps, type(chosen.swaps)) == (200, int)


def test_unknown_options_and_folders_are_named(finished: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="no option is called 'alhpa'; did you mean 'alpha'"):
        compare(finished, finished, alhpa=0.1)  # type: ignore[call-arg]
    with pytest.raises(UnknownName, match="no test is called 'u'"):
        compare(finished, finished, test="u", **QUICK)
    with pytest.raises(BadInput, match="alpha must be a number"):
        compare(finished, finished, alpha="high")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=r"^No such folder: .*/nowhere; give the folder of a finished run"):
        compare(finished, tmp_path / "nowhere")


def test_one_example_and_a_silent_sieve_cannot_be_tested(finished: Path, tmp_path: Path) -> None:
    run = headroles.load(finished)
    alone = replace(_part(run, slice(0, 1)), assessment=None)
    headroles.save(alone, tmp_path / "alone")
    found = compare(tmp_path / "alone", tmp_path / "alone", out=tmp_path / "one", **QUICK)
    assert (found.differences.outcome == 3).all()
    assert "could not be tested" in (tmp_path / "one" / "report.html").read_text(encoding="utf-8")
    values, cells, null = (getattr(run.scores, name).copy() for name in ("values", "cells", "null"))
    values[1], cells[1], null[1] = np.nan, np.nan, np.nan
    silent = replace(_with_scores(run, values=values, cells=cells, null=null), assessment=None)
    headroles.save(silent, tmp_path / "silent")
    found = compare(finished, tmp_path / "silent", out=tmp_path / "two", **QUICK)
    assert found.differences.counts(1) == (0, 0, 0, 6)
    assert found.differences.counts(0)[3] == 0
    assert np.isnan(found.differences.difference[1]).all()


def test_the_command_says_where_roles_moved(
    finished: Path, other: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = command("compare", finished, other, "--swaps", 99, "--verbose")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[1].startswith(f"A       {finished}, model ")
    assert "bound ±0.05; 99 swaps, seed 0" in out
    found = compare(finished, other, **QUICK)
    counts = found.differences.counts(0)
    row = next(line.split() for line in lines if line.startswith("local "))
    assert row[1:5] == [str(each) for each in counts]
    assert any(line.startswith("moved   Roles moved most in layer") for line in lines)
    assert lines[-1] == "report  compare/finished-other/report.html"
    assert (tmp_path / "compare" / "finished-other" / "report.html").is_file()
    code, out, _ = command("compare", finished, other, "--swaps", 0, "--overwrite", "--verbose")
    assert (code, "by swaps" in out) == (0, False)


def test_mistakes_end_with_one_sentence_and_code_one(
    finished: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = command("compare", finished, tmp_path, "--bound", "0.1")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("headroles: a run folder holds a manifest.json")
    assert command("compare", finished, finished, "--bound", "0")[0] == 1
    assert command("compare", finished)[0] == 2
    assert command("compare", finished, finished, "--bound", "wide")[0] == 2
    assert not (tmp_path / "compare").exists()


def test_a_notebook_shows_counts_per_sieve(finished: Path, other: Path) -> None:
    found = compare(finished, other, **QUICK)
    assert isinstance(found, Comparison)
    shown = found._repr_html_()
    assert "block:matched" in shown
    assert "equivalent" in shown
    with pytest.raises(AttributeError):
        found.bound = 1.0  # type: ignore[misc]


def test_other_tokenizers_of_the_same_texts_are_allowed(
    finished: Path, changed: Callable[[Change], Path]
) -> None:
    finer = changed(lambda run: _with_scores(run, tokens=np.asarray(run.scores.tokens) + 1))
    assert compare(finished, finer, **QUICK).manifest["matched"] == "the same examples"
