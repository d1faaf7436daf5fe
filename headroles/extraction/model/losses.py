"""Models with a head that yields a loss, and the loss of each input alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from hashlib import blake2b
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch.nn.functional import cross_entropy, mse_loss
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
)

from headroles.errors import BadInput
from headroles.extraction.capture.attention import RETURNED
from headroles.extraction.model.checkpoint import Checkpoint
from headroles.extraction.model.load import Model, load
from headroles.extraction.texts.tokens import Tokenised

MASKED, CAUSAL, CLASSES = "masked words", "next words", "classes"
HEADS: Mapping[str, tuple[str, Any]] = MappingProxyType(
    {
        "ForMaskedLM": (MASKED, AutoModelForMaskedLM),
        "ForPreTraining": (MASKED, AutoModelForMaskedLM),
        "ForCausalLM": (CAUSAL, AutoModelForCausalLM),
        "LMHeadModel": (CAUSAL, AutoModelForCausalLM),
        "ForSequenceClassification": (CLASSES, AutoModelForSequenceClassification),
    }
)
"""By how an architecture's name ends: what its loss is about, and the library's class that loads it."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LossModel(Model):
    """A model whose output has a loss; its parameters are frozen.

    Attributes:
        about: What the loss is about: "masked words", "next words" or "classes".
    """

    about: str


@dataclass(frozen=True, slots=True)
class LossOptions:
    """What losses depend on besides model and inputs.

    Attributes:
        mask: Share of the text tokens of an input that are masked, above 0 and up to 1; at least one is.
        seed: Of the choice of masked tokens.
        labels: Class of each input by its key, as a name or number of the model's classes (a number for
            a model with one output); None to take the class that the model itself predicts.
    """

    mask: float
    seed: int = 0
    labels: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """What the loss of one input compares the model's output with.

    Attributes:
        places: Tokens whose output is compared; none for classes.
        words: What they should say, as token ids.
        label: The class, or the number of a model with one output; None for the predicted class.
    """

    places: Int[np.ndarray, " places"] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    words: Int[np.ndarray, " places"] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    label: float | None = None


def load_with_loss(checkpoint: Checkpoint, *, device: str, dtype: str, max_length: int) -> LossModel:
    """Load a checkpoint with the head it was saved with, and check how its attention is read.

    Attention is read in the model's own eager pass, which the loss goes through.

    Args:
        checkpoint: From ``headroles.extraction.model.checkpoint.find``.
        device: "auto", "cpu", "cuda" or "mps".
        dtype: "float32", "bfloat16" or "float16".
        max_length: Longest input that will come.

    Raises:
        BadInput: When the checkpoint has no head with a loss, has an encoder and a decoder, lacks
            weights of its head, or cannot be read.
    """
    about, head = _head(checkpoint)
    model = load(checkpoint, device=device, dtype=dtype, max_length=max_length, head=head)
    if about == MASKED and getattr(model.tokenizer, "mask_token_id", None) is None:
        raise BadInput(
            f"a loss of masked words needs a mask token, but the tokenizer of {checkpoint.name!r} has none; "
            f"save it with one, or give another model"
        )
    model.network.requires_grad_(False)
    if model.way.name == RETURNED:
        model.network.get_input_embeddings().register_forward_hook(_begin_graph)
    known = {each.name: getattr(model, each.name) for each in fields(Model)}
    return LossModel(**known, about=about)


def _head(checkpoint: Checkpoint) -> tuple[str, Any]:
    """What the loss of a checkpoint is about, and the class that loads it."""
    try:
        config = AutoConfig.from_pretrained(
            checkpoint.target, revision=checkpoint.revision or "main", trust_remote_code=False
        )
    except Exception as error:  # the library raises many kinds; each becomes one sentence
        reason = " ".join(str(error).split())[:300]
        raise BadInput(f"the model {checkpoint.name!r} has no config that can be read: {reason}") from error
    names = [str(each) for each in getattr(config, "architectures", None) or ()]
    if getattr(config, "is_encoder_decoder", False):
        raise BadInput(
            f"gradients are taken in models that are all encoder or all decoder, but {checkpoint.name!r} "
            f"({', '.join(names) or config.model_type}) has both; give another --model, or leave "
            f"--gradients out"
        )
    if getattr(config, "problem_type", None) == "multi_label_classification":
        raise BadInput(
            f"a loss of classes has one class an input, but {checkpoint.name!r} has several labels; give "
            f"another --model, or leave --gradients out"
        )
    for name in names:
        for ending, found in HEADS.items():
            if name.endswith(ending):
                return found
    raise BadInput(
        f"gradients need a model saved with a head that yields a loss (its architecture is a "
        f"…{', …'.join(HEADS)}), but {checkpoint.name!r} is {', '.join(names) or 'of no named one'}; "
        f"give such a model with --model, or leave --gradients out"
    )


def _begin_graph(module: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor | None:
    """Begin the graph at the embeddings of a model whose first weights are out of reach."""
    return output.detach().requires_grad_().clone() if torch.is_grad_enabled() else None


def with_target(model: LossModel, tokenised: Tokenised, options: LossOptions) -> tuple[Tokenised, Target]:
    """An input as the model gets it, some of its tokens masked where the loss is about these; its target.

    Masked tokens are drawn by the seed and the input's key alone, so that batches do not matter; all of
    them become the mask token.

    Raises:
        BadInput: When the input's label is missing, or none of the model's.
    """
    ids = np.array(tokenised.inputs["input_ids"], dtype=np.int64)
    if model.about == CLASSES:
        return tokenised, Target(label=_label(model, tokenised.passage.key, options.labels))
    if model.about == CAUSAL:
        return tokenised, Target(np.arange(len(ids) - 1), ids[1:])
    key = int.from_bytes(blake2b(tokenised.passage.key.encode(), digest_size=8).digest())
    text = np.flatnonzero(tokenised.texts >= 0)
    count = min(len(text), max(1, round(options.mask * len(text))))
    places = np.sort(np.random.default_rng([options.seed, key]).choice(text, count, replace=False))
    words = ids[places]
    ids[places] = model.tokenizer.mask_token_id
    return replace(tokenised, inputs=tokenised.inputs | {"input_ids": ids.tolist()}), Target(places, words)


def _label(model: LossModel, key: str, labels: Mapping[str, str] | None) -> float | None:
    config = model.network.config
    if labels is None:
        if config.num_labels == 1:
            raise BadInput(
                f"{model.described['name']!r} has one output and no classes, so its loss needs the right "
                f"number of each input; name its column with --label"
            )
        return None
    if key not in labels:
        raise BadInput(f"every input has a label, but {key!r} has none; mend or drop it")
    said = str(labels[key]).strip()
    names = {str(name): float(number) for number, name in config.id2label.items()}
    if said in names and config.num_labels > 1:
        return names[said]
    try:
        number = float(said)
    except ValueError:
        number = float("nan")
    if np.isfinite(number) and (config.num_labels == 1 or number in range(config.num_labels)):
        return number
    known = "a number" if config.num_labels == 1 else f"0 to {config.num_labels - 1}, or {', '.join(names)}"
    raise BadInput(f"a label of {model.described['name']!r} is {known}, but {key!r} has {said!r}; mend it")


def losses(
    model: LossModel, output: torch.Tensor, targets: Sequence[Target]
) -> tuple[torch.Tensor, list[bool]]:
    """The loss of each input alone, by its own row of the output.

    Masked and next words: mean cross-entropy over the places of the input, in nats. Classes:
    cross-entropy; a model with one output: squared error.

    Args:
        model: Where the output comes from.
        output: Logits (examples, tokens, words), or (examples, classes).
        targets: One for each example.

    Returns:
        Losses (examples,), and whether each input has one; where not, such as for a single token
        without a next one, 0 stands in its place.
    """
    found, there = [], []
    for row, target in zip(output, targets, strict=True):
        logits = row if row.dtype == torch.float64 else row.float()
        there.append(model.about == CLASSES or len(target.places) > 0)
        if not there[-1]:
            found.append(0.0 * logits.sum())
        elif model.about != CLASSES:
            places, words = (torch.from_numpy(each).to(row.device) for each in (target.places, target.words))
            found.append(cross_entropy(logits[places], words))
        elif model.network.config.num_labels == 1:
            found.append(mse_loss(logits[0], torch.full_like(logits[0], target.label or 0.0)))
        else:
            label = int(logits.argmax()) if target.label is None else int(target.label)
            found.append(cross_entropy(logits, torch.tensor(label, device=row.device)))
    return torch.stack(found), there


def described_loss(model: LossModel, options: LossOptions) -> str:
    """The loss in one sentence, for the record and the report.

    Raises:
        BadInput: When labels came for a loss that has none.
    """
    if model.about != CLASSES and options.labels is not None:
        raise BadInput(
            f"labels are for models of classes, but {model.described['name']!r} "
            f"({model.described['architecture']}) has a loss of {model.about}; leave --label out"
        )
    if model.about == MASKED:
        share = f"{options.mask:.0%} of its text tokens, which are masked"
        return f"The loss of an input is the mean cross-entropy of {share}."
    if model.about == CAUSAL:
        return "The loss of an input is the mean cross-entropy of its next tokens."
    if model.network.config.num_labels == 1:
        return "The loss of an input is the squared error of the model's number."
    said = "its label" if options.labels is not None else "the class that the model itself predicts"
    return f"The loss of an input is the cross-entropy of {said}."
