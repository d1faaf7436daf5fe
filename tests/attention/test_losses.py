"""Models are loaded with the head they were saved with, and each input's loss is the library's own."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from headroles import extraction
from headroles.errors import BadInput
from headroles.records import Passage
from tests.support.architectures import EAGER, RETURNED
from tests.support.causal.plain import cases, open_loss, tensors_of

Headed = Callable[..., Path]
TEXT = "What did the committee decide about the treaty?"


def options(**more: Any) -> Any:
    """Three in ten text tokens are masked."""
    return extraction.LossOptions(0.3, **more)


def tokenised_of(model: Any) -> Any:
    """One text as an input."""
    return extraction.tokenise(model.tokenizer, [Passage("x", (TEXT,))], 128)[0]


@pytest.mark.parametrize(
    ("name", "head"),
    cases(
        "bert:MaskedLM mpnet:MaskedLM albert:MaskedLM gpt2:CausalLM gemma2:CausalLM",
        "roberta:MaskedLM distilbert:MaskedLM electra:MaskedLM modernbert:MaskedLM llama:CausalLM "
        "mistral:CausalLM",
    ),
)
def test_the_head_is_the_one_the_model_was_saved_with_and_the_loss_of_words_is_the_librarys(
    name: str, head: str, headed: Headed
) -> None:
    import torch

    model, masks = open_loss(headed(name, head)), head != "CausalLM"
    assert open_loss(headed(name, head), max_length=512).way.name == model.way.name
    assert model.about == ("masked words" if masks else "next words")
    assert model.way.name == (RETURNED if name == "mpnet" else EAGER)
    assert not any(weights.requires_grad for weights in model.network.parameters())
    assert not model.network.training
    plain = tokenised_of(model)
    shown, target = extraction.prepare_target(model, plain, options())
    ids, read = tensors_of(plain)["input_ids"], tensors_of(shown)["input_ids"]
    if masks:
        assert len(target.places) == round(0.3 * int((plain.texts >= 0).sum()))
        assert (read[0] == model.tokenizer.mask_token_id).nonzero()[:, 0].tolist() == target.places.tolist()
        assert (plain.texts[target.places] >= 0).all()
    else:
        assert shown is plain
        assert extraction.describe_loss(model, options()).endswith("cross-entropy of its next tokens.")
    theirs = model.network(read, labels=torch.where(ids == read, -100, ids) if masks else ids)
    found, there = extraction.losses(model, theirs.logits, [target])
    torch.testing.assert_close(found[0], theirs.loss)
    assert there == [True]


def test_the_loss_of_classes_is_the_librarys_for_the_label_or_the_predicted_class(headed: Headed) -> None:
    import torch

    model = open_loss(headed("bert", "SequenceClassification", num_labels=3))
    assert model.about == "classes"
    tokenised = tokenised_of(model)
    ids = tensors_of(tokenised)["input_ids"]
    own = model.network(ids).logits
    for labels, number in (({"x": "0"}, 0), ({"x": "LABEL_1"}, 1), ({"x": "2.0"}, 2), (None, own.argmax())):
        asked = options() if labels is None else options(labels=labels)
        _, target = extraction.prepare_target(model, tokenised, asked)
        theirs = model.network(ids, labels=torch.tensor([number]))
        torch.testing.assert_close(extraction.losses(model, theirs.logits, [target])[0][0], theirs.loss)
        said = "its label." if labels else "the class that the model itself predicts."
        assert extraction.describe_loss(model, asked).endswith(said)
    for wrong, sentence in (
        ({"y": "0"}, "every input has a label, but 'x' has none"),
        (
            {"x": "3"},
            r"all labels of .* are 0 to 2, or LABEL_0, LABEL_1, LABEL_2, but '3' is none; mend them",
        ),
        ({"x": "0", "y": "LABEL_1"}, r"names and numbers are mixed \(such as '0'\); mend them"),
    ):
        with pytest.raises(BadInput, match=sentence):
            extraction.prepare_target(model, tokenised, options(labels=wrong))
    model.network.config.id2label = {0: "1", 1: "2", 2: "3"}
    for wrong, number in (({"x": "1", "y": "3"}, 0), ({"x": "1", "y": "0"}, 1)):
        assert extraction.prepare_target(model, tokenised, options(labels=wrong))[1].label == number
    with pytest.raises(
        BadInput, match=r"labels are names of classes or their numbers, but .*'1' is the name"
    ):
        extraction.prepare_target(model, tokenised, options(labels={"x": "1", "y": "2"}))
    model = open_loss(headed("bert", "SequenceClassification", num_labels=1))
    _, target = extraction.prepare_target(model, tokenised, options(labels={"x": " -2.5"}))
    theirs = model.network(ids, labels=torch.tensor([-2.5]))
    torch.testing.assert_close(extraction.losses(model, theirs.logits, [target])[0][0], theirs.loss)
    said = extraction.describe_loss(model, options(labels={"x": "1"}))
    assert said.endswith("squared error of the model's number.")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("01234", [0, 1, 2, 3, 4]),
        ("12345", [0, 1, 2, 3, 4]),
        ("123", "'1' is the name of class 0 of"),
        ("05", "names and numbers are mixed"),
        ("17", "'7' is none"),
    ],
)
def test_labels_are_names_for_all_inputs_or_numbers_for_all(
    headed: Headed, given: str, expected: list[int] | str
) -> None:
    model = open_loss(headed("bert", "SequenceClassification", num_labels=5))
    model.network.config.id2label = {number: str(number + 1) for number in range(5)}
    tokenised = tokenised_of(model)

    def target(label: str) -> float | None:
        """Return the class of a label among the others."""
        labels = {f"y{own}": own for own in given} | {"x": label}
        found: float | None = extraction.prepare_target(model, tokenised, options(labels=labels))[1].label
        return found

    if isinstance(expected, list):
        assert [target(label) for label in given] == expected
    else:
        with pytest.raises(BadInput, match=expected):
            target(given[0])


def test_masks_depend_on_the_seed_and_the_key_alone(headed: Headed) -> None:
    model, drawn = open_loss(headed("bert", "MaskedLM")), set[tuple[int, ...]]()
    for seed, words, share in product((0, 1, 2**32), (1, 2, 5, 12), (0.01, 0.2, 0.5, 1.0)):
        asked, text = extraction.LossOptions(share, seed), " ".join(["look"] * words)
        passages = [Passage(key, (text,)) for key in "abca"]
        given = extraction.tokenise(model.tokenizer, passages, 128)
        pairs = [extraction.prepare_target(model, each, asked) for each in given]
        assert pairs[0][0].inputs == pairs[-1][0].inputs != given[0].inputs
        places, count = pairs[0][1].places.tolist(), int((given[0].texts >= 0).sum())
        assert len({*places}) == len(places) == min(count, max(1, round(share * count)))
        drawn |= {tuple(target.places.tolist()) for _, target in pairs if (words, share) == (12, 0.2)}
    assert len(drawn) > 6  # of nine
