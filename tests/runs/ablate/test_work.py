"""Whole runs that take heads out of models whose heads are written by hand."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles import Labelling
from headroles.errors import BadInput
from headroles.options.causal.ablate import AblateOptions
from headroles.records.causal.columns import INTERVENTIONS
from headroles.runs.ablate.work import AblateWork
from headroles.runs.sources import corpus_of
from headroles.shards.survey import count_inputs, cut_into_tasks
from tests.support.causal.induction import INDUCTION, PREVIOUS, WORDS, exact_losses, save_induction

HEADS = [(layer, head) for layer in range(2) for head in range(4)]


def _repeated_texts(count: int, seed: int) -> list[str]:
    """Return texts of seven words, four others, and the same seven words twice.

    Words are repeated at three distances, so distance alone does not explain the copying head. Where the
    second seven end, it copies a wrong word.
    """
    rng, texts = np.random.default_rng(seed), []
    for _ in range(count):
        words = rng.choice(WORDS, 11, replace=False).tolist()
        texts.append(" ".join([*words, *words[:7], *words[:7]]))
    return texts


TEXTS = _repeated_texts(60, seed=0)


@pytest.fixture(scope="module")
def copying(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hand-built decoder whose head 1-0 copies what followed a word before."""
    return save_induction(tmp_path_factory.mktemp("models") / "copying")


@pytest.fixture(scope="module")
def labelled(copying: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of its label run on texts that repeat themselves."""
    folder = tmp_path_factory.mktemp("runs") / "labelled"
    table = folder.parent / "texts.tsv"
    table.write_text("\n".join(["text", *TEXTS, ""]))
    headroles.label(
        data=table, text_a="text", model=copying, max_length=32, maps=0, out=folder,
        sieve=["induction", "duplicate", "previous", "first"],
    )  # fmt: skip
    return folder


def _values(run: Labelling, column: str) -> np.ndarray:
    own: np.ndarray = run.scores.values[run.scores.sieves.index(column)]
    return own


def test_damage_of_zero_is_that_of_the_exact_losses(labelled: Path) -> None:
    run = headroles.ablate(roles=labelled, by="zero", limit=12)
    texts = {key: TEXTS[int(key.split("/")[1])] for key in run.scores.examples}
    for layer, head in HEADS:
        for place, text in enumerate(texts.values()):
            clean, removed = exact_losses(text), exact_losses(text, removed=((layer, head),))
            wanted = np.nanmean(removed) - np.nanmean(clean)
            assert _values(run, "loss:zero")[place, layer, head] == pytest.approx(wanted, abs=1e-4)
            assert _values(run, "loss:clean")[place, layer, head] == pytest.approx(
                np.nanmean(clean), abs=1e-4
            )


@pytest.fixture(scope="module")
def whole(labelled: Path) -> Labelling:
    """A run with everything: all interventions and outcomes, cells, sites and sets."""
    outcomes = ["loss", "distribution", "representation", "tokens"]
    return headroles.ablate(roles=labelled, by=INTERVENTIONS, outcome=outcomes, groups=True, donors=2)


def test_roles_are_asked_about_on_units_that_decide_no_label(whole: Labelling) -> None:
    assert whole.ablated is not None
    held = whole.ablated.held
    assert held is not None
    apart = held.apart(whole.scores.units, whole.scores.examples)
    assert apart.sum() == 30
    for column in whole.scores.sieves:
        values = _values(whole, column)
        if ":sites:" in column or ":cells" in column:
            assert np.isnan(values[~apart]).all()
        else:
            assert not np.isnan(values).any()
    assert whole.ablated.sets is not None
    assert np.isnan(whole.ablated.sets.damage[..., ~apart]).all()
    assert not np.isnan(whole.ablated.sets.damage[..., apart]).any()


def test_sites_exist_where_some_tokens_are_none_and_the_role_speaks_of_tokens(whole: Labelling) -> None:
    with_sites = {name.split(":sites:")[1] for name in whole.scores.sieves if ":sites:" in name}
    assert with_sites == {"induction"}  # previous is everywhere, no head holds duplicate, first is quiet
    assert "representation:sites:induction" not in whole.scores.sieves
    notes = whole.manifest["ablation"]["notes"]
    assert "These roles have no sites, because they apply to nearly every token: previous." in notes
    place = whole.scores.sieves.index("loss:sites:induction")
    for key, cells in zip(whole.scores.examples, whole.scores.cells[place], strict=True):
        words = TEXTS[int(key.split("/")[1])].split()
        again = [k for k, word in enumerate(words[:-1]) if word in words[:k]]
        assert np.isnan(cells) or 0 < cells <= len(again)


def test_the_induction_head_matters_at_its_sites(whole: Labelling) -> None:
    difference = np.nanmean(_values(whole, "loss:sites:induction"), axis=0)
    assert difference[INDUCTION] > 1
    assert difference[PREVIOUS] > 1  # it feeds the induction head, and the test against its layer sees that
    others = [head for head in HEADS if head not in (INDUCTION, PREVIOUS)]
    assert np.abs([difference[head] for head in others]).max() < 0.05


def test_cells_are_removed_from_heads_that_hold_the_role_and_from_no_other(whole: Labelling) -> None:
    assert whole.ablated is not None
    held = whole.ablated.held
    assert held is not None
    for role in ("induction", "previous", "first"):
        values = _values(whole, f"loss:cells:{role}")
        measured = ~np.isnan(values).all(axis=0)
        np.testing.assert_array_equal(measured, held.heads(role))
    removed, zero = (_values(whole, f"loss:{name}")[:, *INDUCTION] for name in ("cells:induction", "zero"))
    known = ~np.isnan(removed)
    assert removed[known].mean() > zero[known].mean() > 1  # other words gain what the right one loses
    assert any(note.startswith("No matched cells were removed for") for note in whole.skipped)


def test_a_set_of_one_head_has_the_damage_of_the_head(whole: Labelling) -> None:
    assert whole.ablated is not None
    sets = whole.ablated.sets
    assert sets is not None
    for number, members in enumerate(sets.members):
        if members.sum() == 1:
            for place, arm in enumerate(sets.arms):
                alone = _values(whole, arm)[:, members][:, 0]
                known = ~np.isnan(sets.damage[place, number])
                np.testing.assert_array_equal(sets.damage[place, number][known], alone[known])


def test_every_arm_of_a_head_that_does_nothing_is_zero(whole: Labelling) -> None:
    for by in ("mean", "zero", "resample"):
        for head in ((0, 1), (0, 2)):  # they read nothing, so any output of theirs is the same
            assert (_values(whole, f"loss:{by}")[:, *head] == 0).all()


def test_the_manifest_says_what_was_taken_out(whole: Labelling) -> None:
    facts = whole.manifest["ablation"]
    assert facts["heads"] == {"run": 8, "of": 8, "chosen_by": 0}
    assert facts["references"] == {"inputs": 60, "units": 60}
    assert facts["loss"] == "The loss of an input is the mean cross-entropy of its next tokens."
    assert facts["roles"]["sites"] == ["induction"]
    assert whole.manifest["statistic"] == "damage"
    assert whole.manifest["notes"][: len(facts["notes"])] == facts["notes"]
    assert facts["sets"]["different"] > 0


def _task_of(options: AblateOptions) -> Any:
    corpus = corpus_of(options, frozenset())
    (task,) = cut_into_tasks(corpus, count_inputs(corpus, 10**6, False), 10**6)
    return corpus, task


def test_batches_change_nothing(labelled: Path) -> None:
    options = AblateOptions(roles=str(labelled), by=("mean", "cells"), groups=True, limit=20)
    corpus, task = _task_of(options)
    one, many = (
        AblateWork(replace(options, batch_size=size), corpus).read(task, lambda *_: None) for size in (1, 9)
    )
    np.testing.assert_allclose(one.scores.values, many.scores.values, atol=1e-6)
    assert one.files.keys() == many.files.keys() == {"sets.npz"}


def test_an_unlabelled_run_of_a_model_without_a_loss_measures_its_representation(
    planted: Path, table: Path
) -> None:
    run = headroles.ablate("QNLI", data=table, model=planted, max_length=48, limit=10)
    assert run.scores.sieves == ("representation:mean", "tokens:mean", "norm")
    assert run.ablated is not None
    assert run.ablated.held is None
    for column in run.scores.sieves[:2]:
        assert (_values(run, column) >= 0).all()
        assert (_values(run, column) <= 1).all()


def test_other_inputs_measure_damage_on_all_units_that_decide_no_label(
    copying: Path, labelled: Path, tmp_path: Path
) -> None:
    other = tmp_path / "others.tsv"
    other.write_text("\n".join(["text", *TEXTS[:4], *_repeated_texts(8, seed=1), ""]))
    run = headroles.ablate(
        roles=labelled, data=other, text_a="text", model=copying, max_length=32, references=6
    )
    values = _values(run, "loss:sites:induction")
    assert not np.isnan(_values(run, "loss:mean")).any()
    assert (~np.isnan(values).any(axis=(1, 2))).sum() <= 12


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"outcome": "loss"}, "measure --outcome representation or tokens"),
        ({"outcome": "distribution"}, "measure --outcome representation or tokens"),
        (
            {"label": "document"},
            "--label is for damage of loss, but it is measured on repr",
        ),
        ({"limit": 1}, "give more inputs"),
    ],
)
def test_what_the_model_cannot_do_is_refused_in_one_sentence(
    options: dict[str, Any], sentence: str, planted: Path, table: Path
) -> None:
    with pytest.raises(BadInput, match=sentence):
        headroles.ablate("QNLI", data=table, model=planted, max_length=48, **{"limit": 10} | options)


def test_roles_of_another_model_are_refused(labelled: Path, tmp_path: Path) -> None:
    other = save_induction(tmp_path / "other", redundant=True)
    with pytest.raises(BadInput, match="labels other weights"):
        headroles.ablate(roles=labelled, model=other)


def test_a_screen_leaves_out_heads_of_small_damage_and_the_units_that_chose(
    labelled: Path, copying: Path, tmp_path: Path
) -> None:
    small = tmp_path / "labelled"
    texts: dict[str, Any] = {"data": labelled.parent / "texts.tsv", "text_a": "text", "model": copying}
    headroles.label(**texts, max_length=32, maps=0, out=small, sieve="previous")
    run = headroles.ablate(roles=small, screen=1, references=20)
    facts = run.manifest["ablation"]["heads"]
    assert run.ablated is not None
    held = run.ablated.held
    assert held is not None
    taken = ~np.isnan(_values(run, "loss:mean")).all(axis=0)
    assert facts["run"] == taken.sum() < facts["of"]
    assert taken[0].all()  # one head is at the previous token, and three of its layer are its controls
    assert taken[held.heads("previous")].all()
    np.testing.assert_array_equal(np.argwhere(taken[1]), [[INDUCTION[1]]])
    chose = np.isnan(_values(run, "loss:mean")[:, *INDUCTION])
    assert not np.isnan(_values(run, "loss:clean")).any()
    assert len({unit for unit, own in zip(run.scores.units, chose, strict=True) if own}) == facts["chosen_by"]
    assert not (chose & held.apart(run.scores.units, run.scores.examples)).any()
    assert not np.isnan(_values(run, "loss:screen")).any()
    verdict = run.ablated.damage.verdict[0]
    assert (verdict[~taken] == 3).all()
    assert any("others are untestable" in note for note in run.manifest["ablation"]["notes"])


def test_without_roles_one_half_of_the_references_chooses_heads(copying: Path, labelled: Path) -> None:
    run = headroles.ablate(
        data=labelled.parent / "texts.tsv", text_a="text", model=copying, max_length=32, screen=2
    )
    chose = np.isnan(_values(run, "loss:mean")).all(axis=(1, 2))
    assert chose.sum() == 30
    taken = ~np.isnan(_values(run, "loss:mean")[~chose]).any(axis=0)
    assert taken[INDUCTION]
    assert not taken[PREVIOUS]  # of what it puts out, a part alone changes nothing to first order
    assert taken.sum() == 2
