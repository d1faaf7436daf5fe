"""A hand-built induction model: its losses are known exactly, with and without each head."""

from pathlib import Path

import numpy as np
import pytest

from headroles.extraction.ablation.arms import Ablator, Arm
from headroles.extraction.model.losses import LossOptions, prepare_target
from headroles.extraction.texts.tokens import tokenise
from headroles.records.passage import Passage
from tests.support.causal.induction import (
    HEADS,
    INDUCTION,
    LAYERS,
    PREVIOUS,
    SECOND,
    exact_losses,
    repeated_texts,
    save_induction,
)
from tests.support.causal.plain import open_loss

ALL = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]


@pytest.mark.parametrize("redundant", [False, True])
def test_damage_of_every_head_is_the_exact_one(tmp_path: Path, redundant: bool) -> None:
    model = open_loss(save_induction(tmp_path / "model", redundant=redundant))
    texts = repeated_texts(6)
    units = [f"t{k}" for k in range(len(texts))]
    tokenised = tokenise(
        model.tokenizer, [Passage(unit, (text,)) for unit, text in zip(units, texts, strict=True)], 64
    )
    prepared = [prepare_target(model, own, LossOptions(0.15)) for own in tokenised]
    arms = [*(Arm("zero", (head,)) for head in ALL), Arm("zero", (INDUCTION, SECOND))]
    effects = Ablator(model, ["loss"]).measure(
        [own for own, _ in prepared], units, [own for _, own in prepared], arms
    )
    for place, text in enumerate(texts):
        clean = exact_losses(text, redundant=redundant)
        np.testing.assert_allclose(effects.clean_tokens[place][:-1], clean, atol=1e-5)
        for number, arm in enumerate(arms):
            expected = exact_losses(text, removed=arm.heads, redundant=redundant) - clean
            np.testing.assert_allclose(effects.by_token["loss"][place][number, :-1], expected, atol=1e-5)
    damage = dict(zip([arm.heads for arm in arms], effects.values["loss"].mean(1), strict=True))
    assert damage[(PREVIOUS,)] > 1
    assert (damage[(INDUCTION,)] < 1e-3) if redundant else (damage[(INDUCTION,)] > 1)
    assert damage[(INDUCTION, SECOND)] > 1
