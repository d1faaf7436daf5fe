"""Models are loaded with the head they were saved with, and each input's loss is the library's own."""

import json
import shutil
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
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.losses import (
    CAUSAL,
    CLASSES,
    MASKED,
    LossModel,
    LossOptions,
    describe_loss,
    load_with_loss,
    losses,
    prepare_target,
)
from headroles.extraction.texts.tokens import Tokenised, tokenise
from headroles.records.passage import Passage
from headroles.records.rules.names import EAGER, RETURNED

Headed = Callable[..., Path]
TEXT = "What did the committee decide about the treaty?"
OPTIONS = LossOptions(0.3)


def _load(folder: Path | str, max_length: int = 128) -> LossModel:
    return load_with_loss(
        find_checkpoint(str(folder), None), device="cpu", dtype="float32", max_length=max_length
    )


def _tokenised(model: LossModel, text: str = TEXT, key: str = "x") -> Tokenised:
    return tokenise(model.tokenizer, [Passage(key, (text,))], 128)[0]


def _changed(folder: Path, place: Path, **settings: Any) -> Path:
    """A copy of a checkpoint with other settings."""
    shutil.copytree(folder, place)
    config = json.loads((place / "config.json").read_text())
    (place / "config.json").write_text(json.dumps(config | settings))
    return place


@pytest.mark.parametrize(
    ("name", "head", "about", "way"),
    [
        ("bert", "MaskedLM", MASKED, EAGER),
        ("bert", "PreTraining", MASKED, EAGER),
        ("mpnet", "MaskedLM", MASKED, RETURNED),
        ("gpt2", "CausalLM", CAUSAL, EAGER),
        ("llama", "CausalLM", CAUSAL, EAGER),
        ("bert", "SequenceClassification", CLASSES, EAGER),
    ],
)
@pytest.mark.parametrize("max_length", [128, 512])
def test_the_head_is_the_one_the_model_was_saved_with_and_attention_is_read_in_its_own_pass(
    name: str, head: str, about: str, way: str, max_length: int, headed: Headed
) -> None:
    model = _load(headed(name, head), max_length)
    assert (model.about, model.way.name) == (about, way)
    assert not any(weights.requires_grad for weights in model.network.parameters())
    assert not model.network.training


@pytest.mark.parametrize("name", ["bert", "roberta", "distilbert", "albert", "electra", "modernbert"])
def test_the_loss_of_masked_words_is_the_librarys(name: str, headed: Headed) -> None:
    model = _load(headed(name, "MaskedLM"))
    plain = _tokenised(model)
    shown, target = prepare_target(model, plain, OPTIONS)
    ids, masked = (torch.tensor([each.inputs["input_ids"]]) for each in (plain, shown))
    text = int((plain.texts >= 0).sum())
    assert len(target.places) == round(0.3 * text)
    assert (masked[0] == model.tokenizer.mask_token_id).nonzero()[:, 0].tolist() == target.places.tolist()
    assert (plain.texts[target.places] >= 0).all()
    asked = torch.where(ids == masked, -100, ids)
    theirs = model.network(masked, labels=asked)
    ours, there = losses(model, theirs.logits, [target])
    torch.testing.assert_close(ours[0], theirs.loss)
    assert there == [True]


@pytest.mark.parametrize("name", ["gpt2", "llama", "mistral", "gemma2"])
def test_the_loss_of_next_words_is_the_librarys(name: str, headed: Headed) -> None:
    model = _load(headed(name, "CausalLM"))
    tokenised = _tokenised(model)
    shown, target = prepare_target(model, tokenised, OPTIONS)
    assert shown is tokenised
    ids = torch.tensor([tokenised.inputs["input_ids"]])
    theirs = model.network(ids, labels=ids)
    torch.testing.assert_close(losses(model, theirs.logits, [target])[0][0], theirs.loss)


def test_the_loss_of_classes_is_the_librarys_for_the_label_or_the_predicted_class(headed: Headed) -> None:
    model = _load(headed("bert", "SequenceClassification", num_labels=3))
    tokenised = _tokenised(model)
    ids = torch.tensor([tokenised.inputs["input_ids"]])
    for label in ("0", "LABEL_1", "2.0"):
        _, target = prepare_target(model, tokenised, replace(OPTIONS, labels={"x": label}))
        theirs = model.network(ids, labels=torch.tensor([int(float(label.removeprefix("LABEL_")))]))
        torch.testing.assert_close(losses(model, theirs.logits, [target])[0][0], theirs.loss)
    own = model.network(ids).logits
    free, _ = losses(model, own, [prepare_target(model, tokenised, OPTIONS)[1]])
    torch.testing.assert_close(free[0], model.network(ids, labels=own.argmax(-1)).loss)


def test_the_loss_of_a_number_is_the_librarys_squared_error(headed: Headed) -> None:
    model = _load(headed("bert", "SequenceClassification", num_labels=1))
    tokenised = _tokenised(model)
    _, target = prepare_target(model, tokenised, replace(OPTIONS, labels={"x": " -2.5"}))
    ids = torch.tensor([tokenised.inputs["input_ids"]])
    theirs = model.network(ids, labels=torch.tensor([-2.5]))
    torch.testing.assert_close(losses(model, theirs.logits, [target])[0][0], theirs.loss)
    with pytest.raises(BadInput, match="needs the right number of each input; name its column with --label"):
        prepare_target(model, tokenised, OPTIONS)


@pytest.fixture(scope="module")
def masked(headed: Headed) -> LossModel:
    """A tiny BERT with a loss of masked words."""
    return _load(headed("bert", "MaskedLM"))


@given(share=st.floats(0.01, 1), seed=st.integers(0, 2**32), words=st.integers(1, 12))
@settings(max_examples=25)
def test_masks_depend_on_the_seed_and_the_key_alone(
    masked: LossModel, share: float, seed: int, words: int
) -> None:
    asked = LossOptions(share, seed)
    text = " ".join("look" for _ in range(words))
    (one,) = tokenise(masked.tokenizer, [Passage("a", (text,))], 128)
    again = tokenise(masked.tokenizer, [Passage("b", (TEXT,)), Passage("a", (text,))], 128)[1]
    shown, target = prepare_target(masked, one, asked)
    assert prepare_target(masked, again, asked)[0].inputs == shown.inputs
    count = int((one.texts >= 0).sum())
    assert len(target.places) == min(count, max(1, round(share * count)))
    assert len(set(target.places.tolist())) == len(target.places)
    assert one.inputs["input_ids"] != shown.inputs["input_ids"]


def test_other_seeds_and_keys_mask_other_tokens(masked: LossModel) -> None:
    places = {
        tuple(prepare_target(masked, _tokenised(masked, key=key), LossOptions(0.2, seed))[1].places.tolist())
        for key in "abcd"
        for seed in range(4)
    }
    assert len(places) > 12


def test_a_single_token_has_no_next_one_and_no_loss(headed: Headed) -> None:
    model = _load(headed("gpt2", "CausalLM"))
    tokenised = _tokenised(model, "a")
    assert tokenised.size == 1
    _, target = prepare_target(model, tokenised, OPTIONS)
    found, there = losses(model, torch.ones(1, 1, 400), [target])
    assert (found.tolist(), there) == ([0.0], [False])


def test_an_encoder_without_a_head_is_refused_with_what_is_needed(headed: Headed, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"a head that yields a loss \(.*…ForMaskedLM, .* is BertModel; give"):
        load_with_loss(find_checkpoint(None, None), device="cpu", dtype="float32", max_length=64)
    unnamed = _changed(headed("bert", "MaskedLM"), tmp_path / "unnamed", architectures=None)
    with pytest.raises(BadInput, match="is of no named one; give such a model"):
        _load(unnamed)


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_a_model_with_encoder_and_decoder_is_refused(name: str, model_of: Callable[[str], Path]) -> None:
    with pytest.raises(BadInput, match=r"all encoder or all decoder, but .* has both; give another --model"):
        _load(model_of(name))


def test_a_head_without_its_weights_is_refused(model_of: Callable[[str], Path], tmp_path: Path) -> None:
    for kind in ("BertForMaskedLM", "BertForSequenceClassification"):
        folder = _changed(model_of("bert"), tmp_path / kind, architectures=[kind])
        with pytest.raises(BadInput, match=r"every weight must come from the checkpoint, but .* lacks"):
            _load(folder)
    folder = _changed(model_of("bert"), tmp_path / "other", architectures=["GPT2ForSequenceClassification"])
    (folder / "config.json").write_text("{")
    with pytest.raises(BadInput, match="has no config that can be read"):
        _load(folder)


def test_a_tokenizer_without_a_mask_token_is_refused(headed: Headed, tmp_path: Path) -> None:
    folder = _changed(headed("bert", "MaskedLM"), tmp_path / "maskless")
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    del settings["mask_token"]
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(BadInput, match=r"a loss of masked words needs a mask token, but .* has none"):
        _load(folder)


def test_a_model_of_several_labels_an_input_is_refused(headed: Headed) -> None:
    folder = headed("bert", "SequenceClassification", problem_type="multi_label_classification")
    with pytest.raises(BadInput, match="a loss of classes has one class an input"):
        _load(folder)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ({"y": "0"}, "every input has a label, but 'x' has none"),
        ({"x": "3"}, "is 0 to 2, or LABEL_0, LABEL_1, LABEL_2, but 'x' has '3'; mend it"),
        ({"x": "0.5"}, "but 'x' has '0.5'"),
        ({"x": "entailment"}, "but 'x' has 'entailment'"),
        ({"x": "nan"}, "but 'x' has 'nan'"),
        ({"x": ""}, "but 'x' has ''"),
    ],
)
def test_labels_that_the_model_does_not_have_are_refused(
    labels: dict[str, str], said: str, headed: Headed
) -> None:
    model = _load(headed("bert", "SequenceClassification", num_labels=3))
    with pytest.raises(BadInput, match=said):
        prepare_target(model, _tokenised(model), replace(OPTIONS, labels=labels))


def test_a_number_that_is_none_is_refused(headed: Headed) -> None:
    model = _load(headed("bert", "SequenceClassification", num_labels=1))
    for wrong in ("LABEL_0", "inf"):
        with pytest.raises(BadInput, match=f"is a number, but 'x' has '{wrong}'"):
            prepare_target(model, _tokenised(model), replace(OPTIONS, labels={"x": wrong}))


def test_the_loss_is_said_in_one_sentence(masked: LossModel, headed: Headed) -> None:
    labels = replace(OPTIONS, labels={"x": "1"})
    words = _load(headed("gpt2", "CausalLM"))
    classes = _load(headed("bert", "SequenceClassification", num_labels=3))
    number = _load(headed("bert", "SequenceClassification", num_labels=1))
    assert "30% of its text tokens, which are masked" in describe_loss(masked, OPTIONS)
    assert describe_loss(words, OPTIONS).endswith("mean cross-entropy of its next tokens.")
    assert describe_loss(classes, OPTIONS).endswith("the class that the model itself predicts.")
    assert describe_loss(classes, labels).endswith("its label.")
    assert describe_loss(number, labels).endswith("squared error of the model's number.")
    with pytest.raises(BadInput, match=r"labels are for models of classes, but .* has a loss of next words"):
        describe_loss(words, labels)


def test_losses_in_half_precision_are_summed_in_single(masked: LossModel) -> None:
    _, target = prepare_target(masked, _tokenised(masked), OPTIONS)
    output = torch.from_numpy(np.random.default_rng(0).normal(size=(1, 40, 400))).to(torch.bfloat16)
    found, _ = losses(masked, output, [target])
    assert found.dtype == torch.float32
