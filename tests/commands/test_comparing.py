"""Two run folders compared: what matches, what is written, and what is said."""

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
from headroles.records import COLUMNS, GROUPS, moments_of
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


def _with_scores(run: Labelling, **fields: Any) -> Labelling:
    return replace(run, scores=replace(run.scores, **fields), exhibited=None)


def _with_manifest(run: Labelling, **entries: Any) -> Labelling:
    return replace(run, manifest=dict(run.manifest) | entries)


NOTED: dict[str, Change] = {
    "B is judged by the margins of A; its own differ in 5 columns": lambda run: _with_rules(run, margin=0.3),
    "chance gives local the score 0 in A and 1 in B": lambda run: _with_rules(run, null=1.0),
    "block is decided with the contrast block:swap in A and none": lambda run: _with_rules(run, contrast=""),
    "51 inputs of A only are left out": lambda run: _with_manifest(
        _part(run, slice(9)), source={"identity": run.manifest["source"]["identity"]}
    ),
    "Each of the 9 units of B is set against a random part of the 60 of A": lambda run: _with_manifest(
        _part(run, slice(9)), source={"sha256": "ab", "name": "b"}
    ),
    "1 column of A only is left out: local": lambda run: _without_first(run),
}
"""What may differ between two runs, and the note that says so."""


def _without_first(run: Labelling) -> Labelling:
    arrays = {name: getattr(run.findings, name)[1:] for name in (*COLUMNS, "decision")}
    findings = replace(run.findings, rules=run.findings.rules[1:], **arrays)
    rest = _with_scores(run, sieves=run.scores.sieves[1:], **_columns(run, slice(1, None)))
    return replace(rest, findings=findings, assessment=None)


def _with_rules(run: Labelling, **fields: Any) -> Labelling:
    rules = tuple(replace(rule, **fields) for rule in run.findings.rules)
    return replace(run, findings=replace(run.findings, rules=rules))


def _saved(run: Labelling, folder: Path) -> Path:
    headroles.save(replace(run, assessment=None), folder, overwrite=True)
    return folder


def _columns(run: Labelling, places: Any) -> dict[str, Any]:
    """Return the arrays of scores that have a row for every column, indexed alike."""
    return {name: getattr(run.scores, name)[places] for name in ("cells", "values", "null")}


def _part(run: Labelling, examples: slice) -> Labelling:
    scores = run.scores
    names = {name: getattr(scores, name)[examples] for name in ("examples", "units", "tokens")}
    return _with_scores(run, **names, **_columns(run, (slice(None), examples)))


def test_a_run_against_itself_has_not_changed(finished: Path) -> None:
    found = compare(finished, finished, bound=0.5, **QUICK)
    assert (found.differences.outcome == 4).all()  # identical
    assert found.manifest["matched"] == "one model on the same examples"
    assert (found.by_role()["changed"] == 0).all()
    assert not found.labels()[["gained", "lost"]].any(axis=None)
    assert (found.frame()["p"] == 1).all()


def test_roles_that_a_model_lacks_are_lost_and_named_by_layer(
    finished: Path, other: Path, tmp_path: Path
) -> None:
    found = compare(finished, other, **QUICK)
    labels, run, order = found.labels(), headroles.load(other), [4, 3, 2, 1, 0]
    assert labels["roles_a"].tolist() == headroles.load(finished).labels()["roles"].tolist()
    assert labels["roles_b"].tolist() == run.labels()["roles"].tolist() == [""] * 6
    assert labels["lost"].tolist() == labels["roles_a"].tolist()
    assert not labels["gained"].any()
    layers = found.by_layer().dropna()
    assert layers["lost"].sum() == found.by_role()["lost"].iloc[-1] == labels["lost"].astype(bool).sum()
    assert found.by_role()["p"].iloc[-1] == 0.01
    back = compare(other, finished, **QUICK)
    assert back.labels()["gained"].tolist() == labels["lost"].tolist()
    np.testing.assert_array_equal(back.differences.outcome, found.differences.outcome)
    one, two = headroles.load(finished).findings, run.findings
    np.testing.assert_allclose(found.differences.mean_a, one.mean, atol=1e-9)
    np.testing.assert_allclose(found.differences.mean_b, two.mean, atol=1e-9)
    np.testing.assert_allclose(found.differences.difference, two.mean - one.mean, atol=1e-9)
    arrays = {name: getattr(two, name)[order] for name in (*COLUMNS, "decision")}
    findings = replace(two, rules=tuple(two.rules[k] for k in order), **arrays)
    turned = _with_scores(run, sieves=tuple(run.scores.sieves[k] for k in order), **_columns(run, order))
    folder = _saved(replace(turned, findings=findings), tmp_path / "turned")
    assert compare(finished, folder, **QUICK).frame().equals(found.frame())  # in the order of A


def test_the_folder_holds_what_was_found_and_is_replaced_only_when_it_may_be(
    finished: Path, other: Path, tmp_path: Path
) -> None:
    out = tmp_path / "deep" / "comparison"
    found = compare(finished, other, out=out, **QUICK)
    assert sorted(file.name for file in out.iterdir()) == FILES
    for name, table in {
        "differences.csv": found.frame(),
        "layers.csv": found.by_layer(),
        "swaps.csv": found.by_role(),
    }.items():
        assert (out / name).read_text() == table.to_csv(index=False, lineterminator="\n"), name
    facts = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert (facts["kind"], facts["settings"]["bound"]) == ("comparison", 0.05)
    assert facts["command"] == f"headroles compare {finished} {other} --swaps 99"
    assert facts["a"]["model"]["weights_sha256"] != facts["b"]["model"]["weights_sha256"]
    assert facts["a"]["source"]["sha256"] == facts["b"]["source"]["sha256"]
    compare(finished, other, out=tmp_path / "two", **QUICK)
    before = {name: (out / name).read_bytes() for name in FILES}
    assert before == {name: (tmp_path / "two" / name).read_bytes() for name in FILES}
    with pytest.raises(BadInput, match=r"other settings \(bound\); give --overwrite"):
        compare(finished, other, out=out, bound=0.1, **QUICK)
    assert before == {name: (out / name).read_bytes() for name in FILES}
    compare(finished, other, out=out, bound=0.1, overwrite=True, **QUICK)
    assert (out / "manifest.json").read_bytes() != before["manifest.json"]
    (out / "notes.txt").write_text("mine")
    with pytest.raises(BadInput, match=r"also holds 'notes.txt'"):
        compare(finished, other, out=out, overwrite=True, **QUICK)


def test_any_two_runs_are_compared_in_what_both_have_and_the_rest_is_noted(
    finished: Path, other: Path, tmp_path: Path
) -> None:
    run, usual = headroles.load(other), compare(finished, other, **QUICK)
    for words, change in NOTED.items():
        found = compare(finished, _saved(change(run), tmp_path / "changed"), **QUICK)
        assert words in " ".join(found.remarks), words
    assert found.differences.sieves == usual.differences.sieves[1:]
    np.testing.assert_array_equal(found.differences.p, usual.differences.p[1:])
    turned = compare(finished, _saved(_part(run, slice(None, None, -1)), tmp_path / "turned"), **QUICK)
    assert turned.frame().equals(usual.frame())  # inputs in the order of A
    with pytest.raises(BadInput, match="preset is calibrated in A and published in B"):
        compare(finished, _saved(_with_manifest(run, preset="published"), tmp_path / "preset"), **QUICK)


def test_one_model_on_two_inputs_other_tokenizers_and_joined_units_match(
    finished: Path, other: Path, tmp_path: Path
) -> None:
    run, another = headroles.load(finished), headroles.load(other)
    keys = tuple(key.replace("QNLI", "shuffled") for key in run.scores.examples)
    twin = _with_manifest(_with_scores(run, examples=keys, units=keys), source={"sha256": "ab", "name": "b"})
    found = compare(finished, _saved(twin, tmp_path / "twin"), **QUICK)
    assert found.manifest["matched"] == "one model on two inputs of equal layout"
    assert not (found.differences.outcome == 0).any()
    finer = _with_scores(another, tokens=np.asarray(another.scores.tokens) + 1)
    found = compare(finished, _saved(finer, tmp_path / "finer"), **QUICK)
    assert found.manifest["matched"] == "the same examples"
    paired = _with_scores(another, units=tuple(f"u{k // 2}" for k in range(60)))
    found = compare(finished, _saved(paired, tmp_path / "paired"), **QUICK)
    assert found.manifest["counts"] == {"examples": 60, "units": 30}
    assert found.differences.count.max() == found.before.count.max() == found.after.count.max() == 30


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


def test_that_runs_of_sums_are_compared_on_their_subsamples_is_said(
    finished: Path, other: Path, tmp_path: Path
) -> None:
    run, another = headroles.load(finished), headroles.load(other)
    sums = replace(moments_of(run.scores, run.findings.rules, 0), examples=5000)
    kept = {"mode": "moments", "groups": GROUPS, "examples": 5000, "subsample": 60}
    open_ = replace(run.findings, decision=np.full_like(run.findings.decision, 2))
    summed = replace(run, moments=sums, findings=open_, exhibited=None, manifest=another.manifest)
    found = compare(finished, _saved(_with_manifest(summed, kept=kept), tmp_path / "sums"), **QUICK)
    (said,) = [remark for remark in found.remarks if "kept sums" in remark]
    assert said.startswith("B kept sums of 5,000 inputs")
    assert "on the random 60 of them" in said
    (moved,) = [remark for remark in found.remarks if "from its own folder" in remark]
    assert "one decision for both runs and on its subsample alone, B differs" in moved
    assert found.manifest["remarks"] == list(found.remarks)


def test_one_example_and_a_silent_sieve_cannot_be_tested(finished: Path, tmp_path: Path) -> None:
    run = headroles.load(finished)
    _saved(_part(run, slice(0, 1)), tmp_path / "alone")
    found = compare(tmp_path / "alone", tmp_path / "alone", **QUICK)
    assert (found.differences.outcome == 4).any()
    assert (found.differences.outcome >= 3).all()
    arrays = {name: array.copy() for name, array in _columns(run, slice(None)).items()}
    for array in arrays.values():
        array[1] = np.nan
    _saved(_with_scores(run, **arrays), tmp_path / "silent")
    found = compare(finished, tmp_path / "silent", **QUICK)
    assert found.differences.counts(1) == (0, 0, 0, 6, 0)
    assert found.differences.counts(0)[3] == 0
    assert np.isnan(found.differences.difference[1]).all()


def test_the_command_says_where_roles_moved_and_its_json_counts_the_table(
    finished: Path, other: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = command("compare", finished, other, "--swaps", 99, "--verbose")
    assert (code, err) == (0, "60 units: no score can be called changed or equivalent below 75.\n")
    lines = out.splitlines()
    found = compare(finished, other, **QUICK)
    assert isinstance(found, Comparison)
    row = next(line.split() for line in lines if line.startswith("local "))
    assert row[1:6] == [str(count) for count in found.differences.counts(0)]
    assert lines[-1] == "report  compare/finished-other/report.html"
    facts = json.loads(command("show", "compare/finished-other", "--json")[1])
    frame = found.frame()
    for name, result in facts["results"].items():
        counted = frame[frame["sieve"] == name]["outcome"].value_counts()
        assert result["counts"] == {outcome: int(counted.get(outcome, 0)) for outcome in result["counts"]}
    code, out, _ = command("compare", finished, other, "--swaps", 0, "--overwrite", "--verbose")
    assert (code, "by swaps" in out) == (0, False)
