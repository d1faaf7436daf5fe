"""Two run folders compared: what matches, what is written, and what is said."""

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
from headroles.errors import BadInput
from headroles.records import COLUMNS, GROUPS, Rule, moments_of
from tests.conftest import Command

pytestmark = pytest.mark.xdist_group("planted runs")
Change = Callable[[Labelling], Labelling]
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
        headroles.save(replace(change(headroles.load(other)), assessment=None), folder, overwrite=True)
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


def _columns(run: Labelling, places: Any) -> dict[str, Any]:
    """Return the arrays of scores that have a row for every column, indexed alike."""
    return {name: getattr(run.scores, name)[places] for name in ("cells", "values", "null")}


def _part(run: Labelling, examples: slice) -> Labelling:
    scores = run.scores
    names = {name: getattr(scores, name)[examples] for name in ("examples", "units", "tokens")}
    return _with_scores(run, **names, **_columns(run, (slice(None), examples)))


def test_a_run_against_itself_has_not_changed(finished: Path) -> None:
    found = compare(finished, finished, bound=0.5, **QUICK)
    heads = found.differences.count[0].size
    assert [found.differences.counts(place)[:2] for place in range(4)] == [(0, heads)] * 4
    assert (found.by_role()["changed"] == 0).all()
    assert not found.labels()[["gained", "lost"]].any(axis=None)
    assert (found.frame()["p"] == 1).all()


def test_roles_that_a_model_lacks_are_lost_and_named_by_layer(finished: Path, other: Path) -> None:
    found = compare(finished, other, **QUICK)
    labels = found.labels()
    assert labels["roles_a"].tolist() == headroles.load(finished).labels()["roles"].tolist()
    assert labels["roles_b"].tolist() == headroles.load(other).labels()["roles"].tolist() == [""] * 6
    assert labels["lost"].tolist() == labels["roles_a"].tolist()
    assert not labels["gained"].any()
    layers = found.by_layer().dropna()
    assert layers["lost"].sum() == found.by_role()["lost"].iloc[-1] == labels["lost"].astype(bool).sum()
    assert found.by_role()["p"].iloc[-1] == 0.01
    back = compare(other, finished, **QUICK)
    assert back.labels()["gained"].tolist() == labels["lost"].tolist()
    np.testing.assert_array_equal(back.differences.outcome, found.differences.outcome)
    one, two = headroles.load(finished).findings, headroles.load(other).findings
    np.testing.assert_allclose(found.differences.mean_a, one.mean, atol=1e-9)
    np.testing.assert_allclose(found.differences.mean_b, two.mean, atol=1e-9)
    np.testing.assert_allclose(found.differences.difference, two.mean - one.mean, atol=1e-9)


def test_the_folder_holds_what_was_found_and_is_the_same_each_time(
    finished: Path, other: Path, tmp_path: Path
) -> None:
    out = tmp_path / "deep" / "comparison"
    found = compare(finished, other, out=out, **QUICK)
    assert sorted(file.name for file in out.iterdir()) == FILES
    rows = _rows(out / "differences.csv")
    assert [row["outcome"] for row in rows] == found.frame()["outcome"].tolist()
    assert [float(row["difference"]) for row in rows] == found.frame()["difference"].tolist()
    assert len(_rows(out / "layers.csv")) == 5 * 2
    assert [row["sieve"] for row in _rows(out / "swaps.csv")] == ["local", "delimiter", "block", ""]
    facts = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert (facts["kind"], facts["settings"]["bound"]) == ("comparison", 0.05)
    assert facts["command"] == f"headroles compare {finished} {other} --swaps 99"
    assert facts["a"]["model"]["weights_sha256"] != facts["b"]["model"]["weights_sha256"]
    assert facts["a"]["source"]["sha256"] == facts["b"]["source"]["sha256"]
    compare(finished, other, out=tmp_path / "two", **QUICK)
    for name in FILES:
        assert (out / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_what_is_there_is_replaced_only_when_it_may_be(finished: Path, other: Path, tmp_path: Path) -> None:
    out = tmp_path / "comparison"
    compare(finished, other, out=out, **QUICK)
    before = (out / "manifest.json").read_bytes()
    with pytest.raises(BadInput, match=r"other settings \(bound\); give --overwrite"):
        compare(finished, other, out=out, bound=0.1, **QUICK)
    assert (out / "manifest.json").read_bytes() == before
    compare(finished, other, out=out, bound=0.1, overwrite=True, **QUICK)
    assert (out / "manifest.json").read_bytes() != before
    (out / "notes.txt").write_text("mine")
    with pytest.raises(BadInput, match=r"also holds 'notes.txt'"):
        compare(finished, other, out=out, overwrite=True, **QUICK)
    with pytest.raises(BadInput, match="holds files that are no run of headroles"):
        headroles.save(headroles.load(finished), out, overwrite=True)


MISMATCHES: dict[str, tuple[Change, str]] = {
    "sieves": (
        lambda run: replace(
            _with_scores(run, sieves=tuple(f"{name} of B" for name in run.scores.sieves)),
            findings=_with_rules(run, lambda rule: replace(rule, sieve=f"{rule.sieve} of B")).findings,
        ),
        "'local' is in A only",
    ),
    "preset": (lambda run: _with_manifest(run, preset="published"), "preset is calibrated in A and pub"),
    "statistic": (lambda run: _with_manifest(run, statistic="bias"), "selectivity in A and bias in B"),
    "margin": (
        lambda run: _with_rules(run, lambda rule: replace(rule, margin=0.3)),
        "margin of 'local' is 0.1 in A and 0.3 in B",
    ),
    "chance": (
        lambda run: _with_rules(run, lambda rule: replace(rule, null=1.0)),
        "chance value of 'local' is 0.0 in A and 1.0 in B",
    ),
    "contrast": (
        lambda run: _with_rules(run, lambda rule: replace(rule, contrast="")),
        "contrast of 'block' is block:swap in A and none in B",
    ),
    "number": (lambda run: _part(run, slice(0, 50)), "A has 60 and B 50"),
    "order": (lambda run: _part(run, slice(None, None, -1)), "where A has 'QNLI/0' B has 'QNLI/59'"),
    "parser": (
        lambda run: _with_manifest(run, parser={"name": "another", "version": "2"}),
        "parser is none in A and another 2 in B",
    ),
    "texts": (
        lambda run: _with_manifest(_with_scores(run, tokens=np.full(60, 9)), source={"sha256": "ab"}),
        "tokens in A and 9 in B",
    ),
    "both": (lambda run: _with_manifest(run, source={"sha256": "ab"}), "change one at a time"),
}


def test_runs_that_do_not_match_are_refused_saying_how(
    finished: Path, changed: Callable[[Change], Path], tmp_path: Path
) -> None:
    for name, (change, words) in MISMATCHES.items():
        with pytest.raises(BadInput) as refused:
            compare(finished, changed(change), out=tmp_path / "comparison", **QUICK)
        assert words in str(refused.value), name
        assert not (tmp_path / "comparison").exists()


def test_one_model_on_two_inputs_other_tokenizers_and_joined_units_match(
    finished: Path, changed: Callable[[Change], Path], tmp_path: Path
) -> None:
    run = headroles.load(finished)
    keys = tuple(key.replace("QNLI", "shuffled") for key in run.scores.examples)
    twin = _with_manifest(_with_scores(run, examples=keys, units=keys), source={"sha256": "ab", "name": "b"})
    headroles.save(twin, tmp_path / "twin")
    found = compare(finished, tmp_path / "twin", **QUICK)
    assert found.manifest["matched"] == "one model on two inputs of equal layout"
    assert not (found.differences.outcome == 0).any()
    finer = changed(lambda run: _with_scores(run, tokens=np.asarray(run.scores.tokens) + 1))
    assert compare(finished, finer, **QUICK).manifest["matched"] == "the same examples"
    paired = changed(lambda run: _with_scores(run, units=tuple(f"u{k // 2}" for k in range(60))))
    found = compare(finished, paired, **QUICK)
    assert found.manifest["counts"] == {"examples": 60, "units": 30}
    assert found.differences.count.max() == found.before.count.max() == found.after.count.max() == 30


def test_sieves_of_b_are_taken_in_the_order_of_a(finished: Path, other: Path, tmp_path: Path) -> None:
    run, order = headroles.load(other), [4, 3, 2, 1, 0]
    arrays = {name: getattr(run.findings, name)[order] for name in (*COLUMNS, "decision")}
    findings = replace(run.findings, rules=tuple(run.findings.rules[k] for k in order), **arrays)
    turned = _with_scores(run, sieves=tuple(run.scores.sieves[k] for k in order), **_columns(run, order))
    headroles.save(replace(turned, findings=findings, assessment=None), tmp_path / "turned")
    there = compare(finished, other, **QUICK).frame()
    assert compare(finished, tmp_path / "turned", **QUICK).frame().equals(there)


def test_both_runs_are_judged_as_a_was_unless_told_otherwise(
    finished: Path, other: Path, tmp_path: Path
) -> None:
    strict = Path(shutil.copytree(finished, tmp_path / "strict"))
    headroles.judge_again(strict, test="t", correction="holm", alpha=1e-12)
    before, after = (headroles.load(folder).labels()["roles"] for folder in (strict, finished))
    found = compare(strict, other, **QUICK)
    assert (found.decision.test, found.decision.correction, found.decision.alpha) == ("t", "holm", 1e-12)
    told = compare(strict, other, alpha=0.1, family="run", resample_seed=3, **QUICK)
    assert (told.decision.test, told.decision.alpha) == ("t", 0.1)
    assert (told.decision.family, told.decision.seed) == ("run", 3)
    assert "--alpha 0.1 --family run --resample-seed 3" in told.manifest["command"]
    moved = int((before != after).sum())
    said = [remark for remark in told.remarks if "from its own folder" in remark]
    assert [f"A differs from its own folder in {moved} label" in remark for remark in said] == [True]


def test_differences_have_students_t_and_labels_the_test_of_a(finished: Path, other: Path) -> None:
    found = compare(finished, other, **QUICK)
    assert found.decision.test == found.manifest["settings"]["test"] == "t"
    assert found.manifest["label_test"] == "t-skew"
    np.testing.assert_array_equal(found.before.p, headroles.load(finished).findings.p)
    assert any("Labels of both runs are tested by t-skew, as in A" in remark for remark in found.remarks)
    assert "--test" not in found.manifest["command"]
    skewed = compare(finished, other, test="t-skew", **QUICK)
    assert not any("Labels of both runs" in remark for remark in skewed.remarks)
    np.testing.assert_array_equal(skewed.before.q, found.before.q)
    assert not np.array_equal(skewed.differences.p, found.differences.p)


@pytest.mark.ci
def test_the_rounding_of_a_precision_changes_no_head(planted: Path, table: Path, tmp_path: Path) -> None:
    for dtype in ("float32", "bfloat16"):
        options: dict[str, Any] = {"max_length": 48, "sieve": ["local", "delimiter", "block"]}
        headroles.label("QNLI", data=table, model=planted, dtype=dtype, out=tmp_path / dtype, **options)
    found = compare(tmp_path / "float32", tmp_path / "bfloat16", **QUICK)
    assert (found.frame()["p"] < 0.001).any()
    assert not (found.differences.outcome == 0).any()
    assert (found.differences.outcome == 1).any()


def test_that_runs_of_sums_are_compared_on_their_subsamples_is_said(
    finished: Path, changed: Callable[[Change], Path]
) -> None:
    def summed(run: Labelling) -> Labelling:
        sums = replace(moments_of(run.scores, run.findings.rules, 0), examples=5000)
        kept = {"mode": "moments", "groups": GROUPS, "examples": 5000, "subsample": 60}
        none = replace(run.findings, decision=np.full_like(run.findings.decision, 2))
        return _with_manifest(replace(run, moments=sums, findings=none, exhibited=None), kept=kept)

    run = headroles.load(finished)
    folder = changed(lambda other: replace(summed(run), manifest=summed(other).manifest))
    found = compare(finished, folder, **QUICK)
    (kept,) = [remark for remark in found.remarks if "kept sums" in remark]
    assert kept.startswith("B kept sums of 5,000 inputs")
    assert "on the random 60 of them" in kept
    (moved,) = [remark for remark in found.remarks if "from its own folder" in remark]
    assert "one decision for both runs and on its subsample alone, B differs" in moved
    assert found.manifest["remarks"] == list(found.remarks)


def test_one_example_and_a_silent_sieve_cannot_be_tested(finished: Path, tmp_path: Path) -> None:
    run = headroles.load(finished)
    headroles.save(replace(_part(run, slice(0, 1)), assessment=None), tmp_path / "alone")
    found = compare(tmp_path / "alone", tmp_path / "alone", **QUICK)
    assert (found.differences.outcome == 3).all()
    arrays = {name: array.copy() for name, array in _columns(run, slice(None)).items()}
    for array in arrays.values():
        array[1] = np.nan
    headroles.save(replace(_with_scores(run, **arrays), assessment=None), tmp_path / "silent")
    found = compare(finished, tmp_path / "silent", **QUICK)
    assert found.differences.counts(1) == (0, 0, 0, 6)
    assert found.differences.counts(0)[3] == 0
    assert np.isnan(found.differences.difference[1]).all()


def test_the_command_says_where_roles_moved_and_its_json_counts_the_table(
    finished: Path, other: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = command("compare", finished, other, "--swaps", 99, "--verbose")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    found = compare(finished, other, **QUICK)
    assert isinstance(found, Comparison)
    row = next(line.split() for line in lines if line.startswith("local "))
    assert row[1:5] == [str(count) for count in found.differences.counts(0)]
    assert lines[-1] == "report  compare/finished-other/report.html"
    facts = json.loads(command("show", "compare/finished-other", "--json")[1])
    frame = found.frame()
    for name, result in facts["results"].items():
        counted = frame[frame["sieve"] == name]["outcome"].value_counts()
        assert result["counts"] == {outcome: int(counted.get(outcome, 0)) for outcome in result["counts"]}
    code, out, _ = command("compare", finished, other, "--swaps", 0, "--overwrite", "--verbose")
    assert (code, "by swaps" in out) == (0, False)
