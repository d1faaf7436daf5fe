"""Stored runs that ask what makes heads attend: read, saved, decided again and verified."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import headroles
from headroles import Labelling
from headroles.errors import BadInput
from headroles.kinds import kind_of
from headroles.records.causal.origins import Origins
from headroles.shards.verify import verify
from headroles.sharing.head_cards import SCHEMAS, head_cards_text, schema_text
from headroles.storage.folder import KNOCKOUTS, ORIGIN_FILES, ORIGINS, PRODUCTS
from tests.storage.manifests import hash_again


@pytest.fixture
def run(asked: Path, tmp_path: Path) -> Path:
    """A copy of the run, which a test may change."""
    return Path(shutil.copytree(asked, tmp_path / "run"))


def _part(run: Labelling) -> Origins:
    assert run.origins is not None
    return run.origins


def test_a_copy_of_what_is_loaded_has_the_same_files(run: Path, tmp_path: Path) -> None:
    loaded = headroles.load(run)
    assert kind_of(loaded).name == "why"
    headroles.save(loaded, tmp_path / "copy")
    for name in ORIGIN_FILES:
        assert (tmp_path / "copy" / name).read_bytes() == (run / name).read_bytes()


def test_a_run_says_how_to_repeat_it(answered: Labelling, labelled: Path) -> None:
    command = str(answered.manifest["command"])
    assert command.startswith(f"headroles why {labelled} --task QNLI --data {labelled.parent / 'pairs.tsv'} ")
    assert "--rotations 199" in command
    assert answered.manifest["settings"]["folder"] == str(labelled)


def test_another_level_tests_the_stored_products_and_scores_again(run: Path) -> None:
    before = _part(headroles.load(run))
    strict = headroles.judge_again(run, alpha=1e-9, correction="holm")
    after = _part(strict)
    assert strict.decision.alpha == 1e-9
    assert after.products.parts.tobytes() == before.products.parts.tobytes()
    for one, other in zip(before.dimensions, after.dimensions, strict=True):
        assert other.level == pytest.approx(1e-9 * one.level / 0.05)
    assert [row.few for row in before.origins if row.role == "delimiter"] == ["few neurons"]
    assert {row.few for row in after.origins} == {"as rotated"}  # 199 rotations give no smaller p than 1/200
    assert after.knocked is not None
    assert before.knocked is not None
    np.testing.assert_array_equal(after.knocked.after, before.knocked.after)  # what was removed stays
    assert [row.removed for row in after.knockouts] == [row.removed for row in before.knockouts]
    assert [row.p_falls for row in after.knockouts] == [row.p_falls for row in before.knockouts]
    back = headroles.judge_again(run, alpha=0.05, correction="fdr_bh")
    assert repr(_part(back).origins) == repr(before.origins)
    assert repr(_part(back).knockouts) == repr(before.knockouts)


def test_other_scores_after_a_removal_give_another_verdict(answered: Labelling) -> None:
    part = _part(answered)
    assert part.knocked is not None
    stays = replace(part, knocked=replace(part.knocked, after=part.knocked.before))
    kind, run = kind_of(answered), replace(answered, origins=stays)
    options = kind.options(dict(answered.manifest["settings"]))
    after = kind.judge_again(run, answered.findings.rules, answered.decision, options)
    assert {row.verdict for row in _part(after).knockouts} == {"holds"}


def test_the_label_run_is_not_needed_to_decide_again(run: Path, labelled: Path) -> None:
    hidden = labelled.rename(labelled.parent / "hidden")
    try:
        assert _part(headroles.judge_again(run, correction="holm")).origins
        assert verify(run).findings
    finally:
        hidden.rename(labelled)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"margin": 0.1}, "parts of a contrast are compared without a margin; leave --margin out"),
        ({"family": "run"}, "all heads of all roles are corrected together; leave --family out"),
        ({"test": "betting"}, "contrasts of logits have no bounds, which --test betting needs; give another"),
    ],
)
def test_what_no_contrast_can_be_judged_by_is_refused(
    run: Path, options: dict[str, Any], sentence: str
) -> None:
    before = (run / ORIGINS).read_bytes()
    with pytest.raises(BadInput, match=sentence):
        headroles.judge_again(run, **options)
    assert (run / ORIGINS).read_bytes() == before


def test_verify_finds_the_run_whole_and_other_libraries_give_its_findings(run: Path) -> None:
    verified = verify(run, oracles=True)
    assert [check for check in verified.checks if not check.fits] == []
    assert "origins.csv" in " ".join(check.quantity for check in verified.checks if check.reason)
    (run / ORIGINS).write_text((run / ORIGINS).read_text().replace("by query", "vertical", 1))
    with pytest.raises(BadInput, match=ORIGINS):
        verify(run)


def test_head_cards_have_the_verdicts_and_are_valid(answered: Labelling) -> None:
    cards = json.loads(head_cards_text(answered))
    jsonschema.Draft202012Validator(json.loads(schema_text(SCHEMAS[1]))).validate(cards)
    assert cards["kind"] == "why"
    words = head_cards_text(answered)
    assert '"vertical"' in words
    assert '"by query"' in words


def test_damaged_files_are_refused(run: Path) -> None:
    text = (run / KNOCKOUTS).read_text()
    (run / KNOCKOUTS).write_text(text.replace(",falls\n", ",drops\n", 1))
    hash_again(run)
    with pytest.raises(BadInput, match="a verdict 'drops' in knockouts"):
        headroles.load(run)
    (run / KNOCKOUTS).write_text(text)
    (run / PRODUCTS).write_bytes(b"no archive")
    hash_again(run)
    with pytest.raises(BadInput, match="damaged"):
        headroles.load(run)
