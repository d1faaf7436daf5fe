"""Interventions equal direct changes to the input of the output projection, in plain eager models."""

from typing import Any

import numpy as np
import pytest
import torch

from headroles.extraction.ablation.arms import Ablator, Arm
from headroles.extraction.ablation.references import References
from headroles.extraction.model.losses import LossOptions, prepare_target
from tests.support.causal.plain import (
    UNITS,
    inputs_of,
    one_minus_cosine,
    open_loss,
    open_model,
    plain_run,
    replaced,
)

ZOO = [("bert", None), ("roberta", None), ("distilbert", None), ("gpt2", None), ("llama", None),
       ("gemma2", None), ("t5", "encoder"), ("t5", "decoder"), ("bart", "decoder")]  # fmt: skip


HEADS = ((0, 1), (1, 3), (1, 0))
ARMS = [*(Arm(by, (head,)) for by in ("zero", "mean") for head in HEADS), Arm("mean", HEADS), Arm("zero", ())]


@pytest.mark.parametrize(("name", "kind"), ZOO)
def test_zero_and_mean_are_what_a_hook_on_the_plain_model_gives(
    model_of: Any, name: str, kind: str | None
) -> None:
    model = open_model(model_of(name), kind=kind)
    batch = inputs_of(model)
    ablator = Ablator(model, ["representation", "tokens"], References(batch, UNITS))
    effects = ablator.measure(batch, UNITS, None, ARMS)
    for place, tokenised in enumerate(batch):
        clean = plain_run(model, tokenised, name, lambda layer, own: None, kind)
        for number, arm in enumerate(ARMS):
            change = replaced(arm, ablator.means(), tokenised, UNITS[place])
            changed = plain_run(model, tokenised, name, change, kind)
            by_token = effects.by_token["tokens"][place][number]
            np.testing.assert_allclose(by_token, one_minus_cosine(changed, clean), atol=2e-6)
            damage = effects.values["representation"][number, place]
            assert damage == pytest.approx(one_minus_cosine(changed.mean(0), clean.mean(0)), abs=2e-6)
            assert (damage > 1e-5) if arm.heads else (damage == 0 and (by_token == 0).all())


@pytest.mark.parametrize(
    ("name", "head"),
    [("bert", "MaskedLM"), ("roberta", "MaskedLM"), ("distilbert", "MaskedLM"), ("gpt2", "CausalLM"),
     ("llama", "CausalLM"), ("gemma2", "CausalLM"), ("bert", "SequenceClassification"),
     ("gpt2", "SequenceClassification"), ("llama", "SequenceClassification")],
)  # fmt: skip
def test_loss_and_distribution_are_what_a_hook_on_the_plain_model_gives(
    headed: Any, name: str, head: str
) -> None:
    model = open_loss(headed(name, head))
    prepared = [prepare_target(model, tokenised, LossOptions(0.3)) for tokenised in inputs_of(model)]
    batch, targets = [own for own, _ in prepared], [target for _, target in prepared]
    ablator = Ablator(model, ["loss", "distribution", "representation"], References(batch, UNITS))
    effects = ablator.measure(batch, UNITS, targets, ARMS)
    classes = head == "SequenceClassification"
    for place, (tokenised, target) in enumerate(prepared):
        clean = plain_run(model, tokenised, name, lambda layer, own: None).double()
        places = torch.from_numpy(target.places)
        words = clean.argmax()[None] if classes else torch.from_numpy(target.words)
        rows = clean[None] if classes else clean[places]
        loss = torch.nn.functional.cross_entropy(rows, words, reduction="none")
        assert effects.clean[place] == pytest.approx(float(loss.mean()), abs=1e-5)
        for number, arm in enumerate(ARMS):
            change = replaced(arm, ablator.means(), tokenised, UNITS[place])
            changed = plain_run(model, tokenised, name, change).double()
            changed = changed[None] if classes else changed[places]
            risen = torch.nn.functional.cross_entropy(changed, words, reduction="none") - loss
            moved = (changed.softmax(-1) - rows.softmax(-1)).abs().sum(-1) / 2
            for outcome, expected in (("loss", risen), ("distribution", moved)):
                damage = effects.values[outcome][number, place]
                assert damage == pytest.approx(float(expected.mean()), abs=2e-5)
                assert arm.heads or damage == 0
                if not classes:
                    by_token = effects.by_token[outcome][place][number]
                    np.testing.assert_allclose(by_token[places], expected, atol=2e-5)
                    assert np.isnan(np.delete(by_token, places)).all()
            assert effects.values["representation"][number, place] > 0 or not arm.heads
