"""Whole runs on a model whose heads are written by hand: what is planted is found, and nothing else."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from headroles import Labelling
from headroles.records.causal.ablation import VERDICTS
from headroles.runs.ablate.run import ablate
from headroles.runs.label.run import label
from tests.support.causal.induction import (
    BAG,
    IDLE,
    INDUCTION,
    PREVIOUS,
    SECOND,
    SINK,
    UNREAD,
    WORDS,
    exact_losses,
    repeated_texts,
    save_induction,
)

INPUTS = 80
Ablated = Callable[[bool], Labelling]


def _varied_texts(count: int) -> list[str]:
    """Texts of four blocks of words, of which some occur again in another order, so at many distances."""
    rng, texts = np.random.default_rng(3), []
    for _ in range(count):
        blocks = rng.choice(WORDS, 12, replace=False).reshape(4, 3).tolist()
        again = [blocks[k] for k in rng.permutation(4)[: rng.integers(2, 5)]]
        texts.append(" ".join(word for block in (*blocks, *again) for word in block))
    return texts


def _table(folder: Path, name: str, texts: list[str]) -> Path:
    path = folder / f"{name}.tsv"
    path.write_text("\n".join(["text", *texts]) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def ablated(tmp_path_factory: pytest.TempPathFactory) -> Ablated:
    """A run that takes out the heads of the model, or of the one with two induction heads, made once."""
    from functools import cache

    @cache
    def made(redundant: bool) -> Labelling:
        folder = tmp_path_factory.mktemp("planted")
        model = save_induction(folder / "model", redundant=redundant)
        label(
            data=_table(folder, "varied", _varied_texts(INPUTS)), text_a="text", model=model,
            sieve=("induction", "first"), max_length=48, maps=0, out=folder / "labels",
        )  # fmt: skip
        return ablate(
            data=_table(folder, "repeated", repeated_texts(INPUTS, 5)), text_a="text", model=model,
            max_length=48, roles=folder / "labels", by=("zero", "cells"), groups=True,
        )  # fmt: skip

    return made


def _verdict(run: Labelling, head: tuple[int, int]) -> str:
    assert run.ablated is not None
    return VERDICTS[run.ablated.damage.verdict[(0, *head)]]


def test_damage_is_the_exact_difference_of_losses(ablated: Ablated) -> None:
    run = ablated(False)
    assert run.ablated is not None
    texts = repeated_texts(INPUTS, 5)
    clean = [exact_losses(text).mean() for text in texts]
    assert run.ablated.damage.threshold[0] == pytest.approx(0.01 * np.mean(clean), rel=1e-4)
    for head in (PREVIOUS, INDUCTION, BAG):
        exact = [exact_losses(text, removed=(head,)).mean() for text in texts]
        expected = np.mean(np.array(exact) - clean)
        assert run.ablated.damage.mean[(0, *head)] == pytest.approx(expected, rel=1e-3, abs=1e-5)


def test_the_induction_head_is_needed_at_its_sites_and_heads_that_do_nothing_are_negligible(
    ablated: Ablated,
) -> None:
    run = ablated(False)
    assert run.ablated is not None
    assert {_verdict(run, head) for head in (PREVIOUS, INDUCTION)} == {"needed"}
    assert {_verdict(run, head) for head in (IDLE, SINK, UNREAD, SECOND, BAG)} == {"negligible"}
    (site,) = run.ablated.sites
    assert (site.role, site.layer, site.head, site.decision) == ("induction", *INDUCTION, "at its sites")
    assert site.controls == 3
    assert site.difference == pytest.approx(site.mean, abs=0.01)
    cells = {(row.role, row.layer, row.head): row for row in run.ablated.cells}
    assert cells["induction", *INDUCTION].cells > 1
    assert cells["first", *SINK].cells == 0


def test_damage_of_the_sites_of_heads_without_the_role_is_none(ablated: Ablated) -> None:
    run = ablated(False)
    column = run.scores.values[run.scores.sieves.index("loss:sites:induction")]
    for head in (SECOND, BAG, (1, 3)):
        assert abs(np.nanmean(column[(slice(None), *head)])) < 0.01
    assert np.nanmean(column[(slice(None), *INDUCTION)]) > 1


def test_the_role_predicts_damage_and_a_quiet_role_none_but_for_heads_that_hold_both(
    ablated: Ablated,
) -> None:
    run = ablated(False)
    assert run.ablated is not None
    assert run.ablated.held is not None
    rows = {row.role: row for row in run.ablated.roles}
    assert (rows["induction"].area, rows["induction"].decision) == (1.0, "more damage")
    assert rows["induction"].needed == 1
    assert rows["first"].quiet == 1
    quiet = rows["first"].heads - run.ablated.held.heads("first")[INDUCTION]
    assert rows["first"].negligible == quiet


def test_two_heads_that_make_up_for_each_other_are_negligible_alone_and_needed_together(
    ablated: Ablated,
) -> None:
    run = ablated(True)
    assert run.ablated is not None
    assert {_verdict(run, head) for head in (INDUCTION, SECOND)} == {"negligible"}
    assert _verdict(run, PREVIOUS) == "needed"
    (group,) = [row for row in run.ablated.groups if row.role == "induction"]
    texts = repeated_texts(INPUTS, 5)
    without, clean = (
        np.mean([exact_losses(text, redundant=True, removed=heads).mean() for text in texts])
        for heads in ((INDUCTION, SECOND), ())
    )
    assert group.damage == pytest.approx(without - clean, rel=1e-3)
    assert (group.heads, group.sets, group.decision) == (2, 0, "untestable")  # no other two are like them
    assert group.excess == pytest.approx(group.damage, abs=0.01)
    assert group.q_excess < 1e-6
