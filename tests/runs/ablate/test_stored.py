"""Stored runs that took heads out: read, saved, decided again, verified, compared and shared."""

import json
import shutil
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import headroles
from headroles.errors import BadInput
from headroles.runs.ablate.run import ablate
from headroles.runs.label.run import label
from headroles.shards.verify import verify
from headroles.sharing.head_cards import SCHEMAS, head_cards_text, schema_text
from headroles.storage.folder import ABLATION_FILES, DAMAGE, HELD
from tests.storage.manifests import hash_again
from tests.support.causal.induction import INDUCTION, repeated_texts, save_induction

INPUTS = 52


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a run with roles and sets, beside those of its model, data and label run."""
    folder = tmp_path_factory.mktemp("stored")
    save_induction(folder / "model")
    for name, seed in (("first", 1), ("second", 2)):
        (folder / f"{name}.tsv").write_text("\n".join(["text", *repeated_texts(INPUTS, seed)]) + "\n")
    label(
        data=folder / "first.tsv", text_a="text", model=folder / "model", sieve=("previous", "first"),
        max_length=48, maps=0, out=folder / "labels",
    )  # fmt: skip
    ran = ablate(
        data=folder / "second.tsv", text_a="text", model=folder / "model", max_length=48,
        roles=folder / "labels", by=("zero", "cells"), groups=True, out=folder / "run",
    )  # fmt: skip
    (folder / "skipped.txt").write_text("\n".join(ran.skipped))
    return folder


@pytest.fixture
def run(stored: Path, tmp_path: Path) -> Path:
    """A copy of the run, which a test may change."""
    return Path(shutil.copytree(stored / "run", tmp_path / "run"))


def test_what_is_loaded_is_what_was_judged_and_a_copy_of_it_is_whole(run: Path, tmp_path: Path) -> None:
    loaded = headroles.load(run)
    assert loaded.ablated is not None
    assert loaded.ablated.held is not None
    assert loaded.ablated.sets is not None
    assert loaded.ablated.damage.verdict[(0, *INDUCTION)] == 0
    headroles.save(loaded, tmp_path / "copy")
    for name in ABLATION_FILES:
        assert (tmp_path / "copy" / name).exists() == (run / name).exists()
    assert (tmp_path / "copy" / DAMAGE).read_bytes() == (run / DAMAGE).read_bytes()


def test_a_run_says_that_its_units_are_too_few_for_claims_of_little_damage(stored: Path) -> None:
    notes = (stored / "skipped.txt").read_text()
    assert f"below 75 units, no head is called negligible or interfering: loss:zero ({INPUTS} units)" in notes
    assert "below 20 units" not in notes


def test_another_margin_moves_thresholds_and_keeps_roles_and_sets(run: Path) -> None:
    before = headroles.load(run)
    after = headroles.judge_again(run, margin=0.05, alpha=0.01)
    assert before.ablated is not None
    assert after.ablated is not None
    np.testing.assert_allclose(after.ablated.damage.threshold, 5 * before.ablated.damage.threshold)
    assert after.findings.rules[after.findings.of("loss:zero")].margin == after.ablated.damage.threshold[0]
    assert after.decision.alpha == 0.01
    assert after.ablated.held is not None
    np.testing.assert_array_equal(after.ablated.held.decision, before.ablated.held.decision)  # type: ignore[union-attr]
    assert [(row.arm, row.role, row.p) for row in after.ablated.groups] == [
        (row.arm, row.role, row.p) for row in before.ablated.groups
    ]
    back = headroles.judge_again(run, margin=0.01, alpha=0.05)
    assert repr(back.ablated.margins) == repr(before.ablated.margins)  # type: ignore[union-attr]
    np.testing.assert_array_equal(back.findings.q, before.findings.q)


def test_the_label_run_is_not_needed_to_decide_again(stored: Path, run: Path) -> None:
    hidden = (stored / "labels").rename(stored / "hidden")
    try:
        assert headroles.judge_again(run, correction="holm").ablated is not None
    finally:
        hidden.rename(stored / "labels")


def test_verify_finds_the_run_whole_and_other_libraries_give_its_findings(run: Path) -> None:
    verified = verify(run, oracles=True)
    assert [check for check in verified.checks if not check.fits] == []
    assert {"p", "q", "decision"} <= {check.quantity for check in verified.checks if check.compared}
    assert "damage.csv" in " ".join(check.quantity for check in verified.checks if check.reason)
    (run / DAMAGE).write_text((run / DAMAGE).read_text().replace("negligible", "needed", 1))
    with pytest.raises(BadInput, match=DAMAGE):
        verify(run)


def test_a_file_of_other_heads_is_refused_as_damaged(run: Path) -> None:
    text = (run / DAMAGE).read_text()
    (run / DAMAGE).write_text(text.replace(",undetermined\n", ",superfluous\n", 1))
    hash_again(run)
    with pytest.raises(BadInput, match="a verdict 'superfluous'"):
        headroles.load(run)
    (run / DAMAGE).write_text(text)
    (run / HELD).write_bytes(b"no archive")
    hash_again(run)
    with pytest.raises(BadInput, match="damaged"):
        headroles.load(run)


def test_tables_are_written_in_every_format(run: Path) -> None:
    for form in ("markdown", "latex", "csv"):
        text = headroles.table(run, format=form)
        assert "needed" in str(text)


def test_two_models_are_compared_by_the_threshold_of_the_first(stored: Path, tmp_path: Path) -> None:
    save_induction(tmp_path / "redundant", redundant=True)
    for name, model in (("a", stored / "model"), ("b", tmp_path / "redundant")):
        ablate(
            data=stored / "second.tsv", text_a="text", model=model, max_length=48, by=("zero",),
            out=tmp_path / name,
        )  # fmt: skip
    compared = headroles.compare(tmp_path / "a", tmp_path / "b")
    rule = compared.differences.rules[compared.differences.of("loss:zero")]
    assert rule.margin == headroles.load(tmp_path / "a").findings.rules[1].margin
    place = (compared.differences.of("loss:zero"), *INDUCTION)
    assert compared.differences.outcome[place] == 0
    assert compared.differences.difference[place] < -1
    headroles.judge_again(tmp_path / "b", margin=0.2)
    with pytest.raises(BadInput, match=r"the margin is none in A and 0\.2 in B"):
        headroles.compare(tmp_path / "a", tmp_path / "b")


def test_cards_of_heads_and_manifest_fulfil_their_schemas(run: Path) -> None:
    cards = json.loads(head_cards_text(headroles.load(run)))
    assert cards["kind"] == "ablate"
    manifest = json.loads((run / "manifest.json").read_text())
    for name, record in zip(SCHEMAS, (manifest, cards), strict=True):
        jsonschema.Draft202012Validator(json.loads(schema_text(name))).validate(record)
    assert {*manifest["parts"]["ablated"]} >= {DAMAGE, HELD}
