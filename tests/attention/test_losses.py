"""Models are loaded with the head they were saved with, and each input's loss is the library's own."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles.errors import BadInput
from headroles.extraction import (
    LossOptions,
    Tokenised,
    describe_loss,
    find_checkpoint,
    load_with_loss,
    losses,
    prepare_target,
    tokenise,
)
from headroles.records import Passage
from tests.support import table
from tests.support.architectures import EAGER, RETURNED

Headed = Callable[..., Path]
TEXT = "What did the committee decide about the treaty?"
OPTIONS = LossOptions(0.3)
LABELS = {"num_labels": 3}


def _load(folder: Path, max_length: int = 128) -> Any:
    return load_with_loss(
        find_checkpoint(str(folder), None), device="cpu", dtype="float32", max_length=max_length
    )


def _tokenised(model: Any, text: str = TEXT, key: str = "x") -> Tokenised:
    return tokenise(model.tokenizer, [Passage(key, (text,))], 128)[0]


@pytest.mark.parametrize(
    ("name", "head"),
    table("""
        bert  | MaskedLM
        bert  | PreTraining
        mpnet | MaskedLM
        gpt2  | CausalLM
        llama | CausalLM
        bert  | SequenceClassification
    """),
)
def test_the_head_is_the_one_the_model_was_saved_with_and_attention_is_read_in_its_own_pass(
    name: str, head: str, headed: Headed
) -> None:
    about = {"CausalLM": "next words", "SequenceClassification": "classes"}.get(head, "masked words")
    for max_length in (128, 512):
        model = _load(headed(name, head), max_length)
        assert (model.about, model.way.name) == (about, RETURNED if name == "mpnet" else EAGER)
        assert not any(weights.requires_grad for weights in model.network.parameters())
        assert not model.network.training


@pytest.mark.parametrize("name", ["bert", "roberta", "distilbert", "albert", "electra", "modernbert"])
def test_the_loss_of_masked_words_is_the_librarys(name: str, headed: Headed) -> None:
    model = _load(headed(name, "MaskedLM"))
    plain = _tokenised(model)
    shown, target = prepare_target(model, plain, OPTIONS)
    ids, masked = (torch.tensor([each.inputs["input_ids"]]) for each in (plain, shown))
    assert len(target.places) == round(0.3 * int((plain.texts >= 0).sum()))
    assert (masked[0] == model.tokenizer.mask_token_id).nonzero()[:, 0].tolist() == target.places.tolist()
    assert (plain.texts[target.places] >= 0).all()
    theirs = model.network(masked, labels=torch.where(ids == masked, -100, ids))
    ours, there = losses(model, theirs.logits, [target])
    torch.testing.assert_close(ours[0], theirs.loss)
    assert there == [True]
    half = torch.from_numpy(np.random.default_rng(0).normal(size=(1, 40, 400))).to(torch.bfloat16)
    assert losses(model, half, [target])[0].dtype == torch.float32


@pytest.mark.parametrize("name", ["gpt2", "llama", "mistral", "gemma2"])
def test_the_loss_of_next_words_is_the_librarys_and_a_single_token_has_none(
    name: str, headed: Headed
) -> None:
    model = _load(headed(name, "CausalLM"))
    tokenised = _tokenised(model)
    shown, target = prepare_target(model, tokenised, OPTIONS)
    assert shown is tokenised
    ids = torch.tensor([tokenised.inputs["input_ids"]])
    theirs = model.network(ids, labels=ids)
    torch.testing.assert_close(losses(model, theirs.logits, [target])[0][0], theirs.loss)
    single = _tokenised(model, "a")
    assert single.size == 1
    _, target = prepare_target(model, single, OPTIONS)
    found, there = losses(model, torch.ones(1, 1, 400), [target])
    assert (found.tolist(), there) == ([0.0], [False])


def test_the_loss_of_classes_is_the_librarys_for_the_label_or_the_predicted_class(headed: Headed) -> None:
    model = _load(headed("bert", "SequenceClassification", **LABELS))
    tokenised = _tokenised(model)
    ids = torch.tensor([tokenised.inputs["input_ids"]])
    for label, number in (("0", 0), ("LABEL_1", 1), ("2.0", 2)):
        _, target = prepare_target(model, tokenised, replace(OPTIONS, labels={"x": label}))
        theirs = model.network(ids, labels=torch.tensor([number]))
        torch.testing.assert_close(losses(model, theirs.logits, [target])[0][0], theirs.loss)
    own = model.network(ids).logits
    free, _ = losses(model, own, [prepare_target(model, tokenised, OPTIONS)[1]])
    torch.testing.assert_close(free[0], model.network(ids, labels=own.argmax(-1)).loss)
    for labels, said in (
        ({"y": "0"}, "every input has a label, but 'x' has none"),
        ({"x": "3"}, "is 0 to 2, or LABEL_0, LABEL_1, LABEL_2, but 'x' has '3'; mend it"),
        *(({"x": wrong}, f"but 'x' has '{wrong}'") for wrong in ("-1", "0.5", "entailment", "nan", "")),
    ):
        with pytest.raises(BadInput, match=said):
            prepare_target(model, tokenised, replace(OPTIONS, labels=labels))


def test_the_loss_of_a_number_is_the_librarys_squared_error(headed: Headed) -> None:
    model = _load(headed("bert", "SequenceClassification", num_labels=1))
    tokenised = _tokenised(model)
    _, target = prepare_target(model, tokenised, replace(OPTIONS, labels={"x": " -2.5"}))
    ids = torch.tensor([tokenised.inputs["input_ids"]])
    theirs = model.network(ids, labels=torch.tensor([-2.5]))
    torch.testing.assert_close(losses(model, theirs.logits, [target])[0][0], theirs.loss)
    for wrong in ("LABEL_0", "inf"):
        with pytest.raises(BadInput, match=f"is a number, but 'x' has '{wrong}'"):
            prepare_target(model, tokenised, replace(OPTIONS, labels={"x": wrong}))


def test_masks_depend_on_the_seed_and_the_key_alone(headed: Headed) -> None:
    model = _load(headed("bert", "MaskedLM"))

    @settings(max_examples=25)
    @given(share=st.floats(0.01, 1), seed=st.integers(0, 2**32), words=st.integers(1, 12))
    def check(share: float, seed: int, words: int) -> None:
        asked, text = LossOptions(share, seed), " ".join(["look"] * words)
        (one,) = tokenise(model.tokenizer, [Passage("a", (text,))], 128)
        again = tokenise(model.tokenizer, [Passage("b", (TEXT,)), Passage("a", (text,))], 128)[1]
        shown, target = prepare_target(model, one, asked)
        assert prepare_target(model, again, asked)[0].inputs == shown.inputs
        count = int((one.texts >= 0).sum())
        assert (
            len(set(target.places.tolist())) == len(target.places) == min(count, max(1, round(share * count)))
        )
        assert one.inputs["input_ids"] != shown.inputs["input_ids"]

    check()
    places = {
        tuple(prepare_target(model, _tokenised(model, key=key), LossOptions(0.2, seed))[1].places.tolist())
        for key in "abcd"
        for seed in range(4)
    }
    assert len(places) > 12


def test_the_loss_is_said_in_one_sentence(headed: Headed) -> None:
    labels = replace(OPTIONS, labels={"x": "1"})
    words = _load(headed("gpt2", "CausalLM"))
    classes = _load(headed("bert", "SequenceClassification", **LABELS))
    number = _load(headed("bert", "SequenceClassification", num_labels=1))
    assert "30% of its text tokens, which are masked" in describe_loss(
        _load(headed("bert", "MaskedLM")), OPTIONS
    )
    assert describe_loss(words, OPTIONS).endswith("mean cross-entropy of its next tokens.")
    assert describe_loss(classes, OPTIONS).endswith("the class that the model itself predicts.")
    assert describe_loss(classes, labels).endswith("its label.")
    assert describe_loss(number, labels).endswith("squared error of the model's number.")
