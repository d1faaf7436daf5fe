"""Verdicts and tests of roles as files of a run folder, and back."""

from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles.errors import HeadrolesError
from headroles.records.causal.ablation import Ablation
from headroles.records.example import Scores
from headroles.records.rules.rule import Decision
from headroles.stats.causal.judge import judge_ablation
from headroles.storage.causal.ablation import ablation_files, read_ablation
from headroles.storage.folder import DAMAGE, GROUPS, HEAD_SETS, HELD, MARGINS, PREDICTION, SITES
from tests.support.causal.damages import ablation_scores, made_roles, made_sets


@pytest.fixture(scope="module")
def judged() -> tuple[Scores, Ablation]:
    scores, rules = ablation_scores()
    held = made_roles(scores)
    *_, ablation = judge_ablation(scores, rules, Decision(), 0.01, held, made_sets(scores, held))
    return scores, ablation


def _written(ablation: Ablation, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in ablation_files(ablation).items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def _same(first: object, second: object) -> None:
    for field in fields(first):  # type: ignore[arg-type]
        one, other = getattr(first, field.name), getattr(second, field.name)
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, other)
        else:
            assert repr(one) == repr(other)


def test_what_is_written_comes_back(judged: tuple[Scores, Ablation], tmp_path: Path) -> None:
    scores, ablation = judged
    back = read_ablation(_written(ablation, tmp_path), scores)
    for name in ("sites", "cells", "roles", "groups", "margins"):
        assert getattr(ablation, name)
        assert repr(getattr(back, name)) == repr(getattr(ablation, name))
    for name in ("damage", "held", "sets"):
        _same(getattr(ablation, name), getattr(back, name))


def test_the_same_tests_give_the_same_bytes(judged: tuple[Scores, Ablation]) -> None:
    assert ablation_files(judged[1]) == ablation_files(replace(judged[1]))


def test_a_run_without_roles_has_verdicts_and_margins_only(tmp_path: Path) -> None:
    scores, rules = ablation_scores(by=("mean",))
    *_, ablation = judge_ablation(scores, rules, Decision(), 0.01)
    assert set(ablation_files(ablation)) == {DAMAGE, MARGINS}
    back = read_ablation(_written(ablation, tmp_path), scores)
    assert back.held is None
    assert back.sets is None


def test_rows_of_other_heads_arms_or_words_are_refused(
    judged: tuple[Scores, Ablation], tmp_path: Path
) -> None:
    scores, ablation = judged
    folder = _written(ablation, tmp_path)
    for name, before, after, sentence in (
        (DAMAGE, "loss:mean,0,1", "loss:mean,0,0", "not every arm, layer and head"),
        (DAMAGE, "needed\n", "superfluous\n", "has a verdict 'superfluous'"),
        (SITES, "loss:mean,induction,0,0", "loss:mean,induction,5,0", "head 5-0, which is not induction"),
        (SITES, "loss:mean,induction", "loss:mean,copying", "a role 'copying'"),
        (PREDICTION, "loss:mean", "loss:zero", "an arm 'loss:zero'"),
        (MARGINS, "loss:mean", "loss:zero", "an arm 'loss:zero'"),
        (GROUPS, ",untestable,", ",repaired,", "a decision 'repaired'"),
    ):
        text = (folder / name).read_text()
        assert before in text, name
        (folder / name).write_text(text.replace(before, after, 1))
        with pytest.raises(ValueError, match=sentence):
            read_ablation(folder, scores)
        (folder / name).write_text(text)
    read_ablation(folder, scores)


def test_archives_of_other_examples_are_refused(judged: tuple[Scores, Ablation], tmp_path: Path) -> None:
    scores, ablation = judged
    assert ablation.sets is not None
    fewer = replace(ablation, sets=replace(ablation.sets, damage=ablation.sets.damage[..., 1:]))
    with pytest.raises(ValueError, match=r"sets.npz is of 59 examples, the run of 60"):
        read_ablation(_written(fewer, tmp_path / "fewer"), scores)
    without = _written(ablation, tmp_path / "without")
    (without / HELD).unlink()
    with pytest.raises(ValueError, match=r"tests of roles, but no held.npz"):
        read_ablation(without, scores)


@settings(max_examples=40)
@given(st.data())
def test_damaged_files_never_end_in_an_error_of_another_kind(
    judged: tuple[Scores, Ablation], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    scores, ablation = judged
    folder = _written(ablation, tmp_path_factory.mktemp("damaged"))
    name = data.draw(st.sampled_from([DAMAGE, SITES, HELD, HEAD_SETS, MARGINS]))
    content = bytearray((folder / name).read_bytes())
    start = data.draw(st.integers(0, len(content) - 1))
    content[start : start + data.draw(st.integers(1, 40))] = data.draw(st.binary(max_size=40))
    (folder / name).write_bytes(bytes(content))
    with suppress(ValueError, KeyError, OSError, HeadrolesError):
        read_ablation(folder, scores)
