"""Load models with a head that has a loss, and compute the loss of each input alone."""

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

from headroles.errors import BadInput, shorten
from headroles.extraction.model.checkpoint import Checkpoint
from headroles.extraction.model.load import Model, load
from headroles.extraction.model.placing import DeviceMap
from headroles.extraction.texts.tokens import Tokenised
from headroles.records.rules.names import RETURNED

MASKED, CAUSAL, CLASSES = "masked words", "next words", "classes"
LOSS_HEADS: Mapping[str, tuple[str, Any]] = MappingProxyType(
    {
        "ForMaskedLM": (MASKED, AutoModelForMaskedLM),
        "ForPreTraining": (MASKED, AutoModelForMaskedLM),
        "ForCausalLM": (CAUSAL, AutoModelForCausalLM),
        "LMHeadModel": (CAUSAL, AutoModelForCausalLM),
        "ForSequenceClassification": (CLASSES, AutoModelForSequenceClassification),
    }
)
"""By the ending of an architecture's name: the kind of its loss, and the library's class that loads it."""


@dataclass(frozen=True, slots=True)
class LossNeed:
    """What a run needs losses for, as its error messages say it.

    Attributes:
        what: What is computed from the loss.
        instead: What a user with a model without a loss can do, besides giving another model.
    """

    what: str
    instead: str


GRADIENTS = LossNeed("gradients", "leave --gradients out")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LossModel(Model):
    """A model whose output has a loss; its parameters are frozen.

    Attributes:
        about: Kind of loss: "masked words", "next words" or "classes".
    """

    about: str


@dataclass(frozen=True, slots=True)
class LossOptions:
    """Options of the loss, which it depends on in addition to model and inputs.

    Attributes:
        mask: Share of the text tokens of an input that are masked, above 0 and up to 1; at least one is.
        seed: Seed of the choice of masked tokens.
        labels: Class of each input by its key, as a name or number of the model's classes (a number for
            a model with one output); None for the class that the model itself predicts.
        distinct: The different labels, which are read in one way for all inputs.
    """

    mask: float
    seed: int = 0
    labels: Mapping[str, str] | None = None
    distinct: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        """Collect the different labels."""
        found = frozenset(str(label).strip() for label in (self.labels or {}).values())
        object.__setattr__(self, "distinct", found)


@dataclass(frozen=True, slots=True, eq=False)
class LossTarget:
    """The target that the loss of one input compares the model's output with.

    Attributes:
        places: Tokens whose output is compared; none for classes.
        words: Their right outputs, as token ids.
        label: The class, or the number of a model with one output; None for the predicted class.
    """

    places: Int[np.ndarray, " places"] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    words: Int[np.ndarray, " places"] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    label: float | None = None


def load_with_loss(
    checkpoint: Checkpoint,
    *,
    device: str,
    dtype: str,
    max_length: int,
    device_map: DeviceMap | None = None,
    need: LossNeed = GRADIENTS,
) -> LossModel:
    """Load a checkpoint with the head it was saved with, and check the way its attention is read.

    Attention is read in the model's own eager pass, because gradients of the loss flow through it.

    Args:
        checkpoint: From ``headroles.extraction.model.checkpoint.find_checkpoint``.
        device: "auto", "cpu", "cuda" or "mps".
        dtype: "float32", "bfloat16" or "float16".
        max_length: Longest input of the run.
        device_map: As ``headroles.extraction.model.load.load`` takes it; None for one device.
        need: What the loss is for.

    Raises:
        BadInput: When the checkpoint has no head with a loss, has an encoder and a decoder, lacks
            weights of its head, or cannot be read.
    """
    about, head = _find_head(checkpoint, need)
    model = load(
        checkpoint, device=device, dtype=dtype, max_length=max_length, head=head, device_map=device_map
    )
    if about == MASKED and getattr(model.tokenizer, "mask_token_id", None) is None:
        raise BadInput(
            f"a loss of masked words needs a mask token, but the tokenizer of {checkpoint.name!r} has none; "
            f"save it with one, or give another model"
        )
    model.network.requires_grad_(False)
    if model.way.name == RETURNED:
        model.network.get_input_embeddings().register_forward_hook(_begin_graph)
    attributes = {field.name: getattr(model, field.name) for field in fields(Model)}
    return LossModel(**attributes, about=about)


def has_loss(checkpoint: Checkpoint) -> bool:
    """Return whether a checkpoint was saved with a head that has a loss which can be computed here."""
    try:
        _find_head(checkpoint, GRADIENTS)
    except BadInput:
        return False
    return True


def _find_head(checkpoint: Checkpoint, need: LossNeed) -> tuple[str, Any]:
    """Return the kind of a checkpoint's loss, and the class that loads it."""
    config, names = _architectures(checkpoint)
    if getattr(config, "is_encoder_decoder", False):
        raise BadInput(
            f"{need.what} are taken in models that are all encoder or all decoder, but {checkpoint.name!r} "
            f"({', '.join(names) or config.model_type}) has both; give another --model, or {need.instead}"
        )
    if getattr(config, "problem_type", None) == "multi_label_classification":
        raise BadInput(
            f"a loss of classes has one class an input, but {checkpoint.name!r} has several labels; give "
            f"another --model, or {need.instead}"
        )
    for name in names:
        for ending, head in LOSS_HEADS.items():
            if name.endswith(ending):
                return head
    raise BadInput(
        f"{need.what} need a model saved with a head that yields a loss (its architecture is a "
        f"…{', …'.join(LOSS_HEADS)}), but {checkpoint.name!r} is {', '.join(names) or 'of no named one'}; "
        f"give such a model with --model, or {need.instead}"
    )


def _architectures(checkpoint: Checkpoint) -> tuple[Any, list[str]]:
    """Return the configuration of a checkpoint, and the names of the classes that it was saved from."""
    if checkpoint.given is not None:
        network = checkpoint.given.network
        return network.config, [type(network).__name__]
    try:
        config = AutoConfig.from_pretrained(
            checkpoint.target, revision=checkpoint.revision or "main", trust_remote_code=False
        )
    except Exception as error:  # the library raises many kinds; each becomes one sentence
        reason = " ".join(str(error).split())[:300]
        raise BadInput(f"the model {checkpoint.name!r} has no config that can be read: {reason}") from error
    return config, [str(name) for name in getattr(config, "architectures", None) or ()]


def _begin_graph(module: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor | None:
    """Begin the graph at the embeddings of a model whose first weights cannot be reached."""
    return output.detach().requires_grad_().clone() if torch.is_grad_enabled() else None


def prepare_target(
    model: LossModel, tokenised: Tokenised, options: LossOptions
) -> tuple[Tokenised, LossTarget]:
    """Return an input as the model reads it, with tokens masked for a loss of masked words, and its target.

    Masked tokens are drawn by the seed and the input's key alone, so that batches do not matter. All of
    them become the mask token.

    Raises:
        BadInput: When the input's label is missing, or is not one of the model's.
    """
    ids = np.array(tokenised.inputs["input_ids"], dtype=np.int64)
    if model.about == CLASSES:
        return tokenised, LossTarget(label=_class_label(model, tokenised.passage.key, options))
    if model.about == CAUSAL:
        return tokenised, LossTarget(np.arange(len(ids) - 1), ids[1:])
    key = int.from_bytes(blake2b(tokenised.passage.key.encode(), digest_size=8).digest())
    text = np.flatnonzero(tokenised.texts >= 0)
    count = min(len(text), max(1, round(options.mask * len(text))))
    places = np.sort(np.random.default_rng([options.seed, key]).choice(text, count, replace=False))
    words = ids[places]
    ids[places] = model.tokenizer.mask_token_id
    return replace(tokenised, inputs=tokenised.inputs | {"input_ids": ids.tolist()}), LossTarget(
        places, words
    )


def _class_label(model: LossModel, key: str, options: LossOptions) -> float | None:
    config, labels = model.network.config, options.labels
    if labels is None:
        if config.num_labels == 1:
            raise BadInput(
                f"{model.described['name']!r} has one output and no classes, so its loss needs the right "
                f"number of each input; name its column with --label"
            )
        return None
    if key not in labels:
        raise BadInput(f"every input has a label, but {key!r} has none; mend or drop it")
    label = str(labels[key]).strip()
    if config.num_labels == 1:
        number = _finite(label)
        if number is None:
            raise BadInput(
                f"a label of {model.described['name']!r} is a number, but {key!r} has {shorten(label)}; mend "
                f"it"
            )
        return number
    return _classes(model, options.distinct)[label]


def _classes(model: LossModel, labels: frozenset[str]) -> Mapping[str, float]:
    """Return the class of every label of a run: all of them are names, or all are numbers.

    Raises:
        BadInput: When they are neither, or when both readings exist and differ.
    """
    config = model.network.config
    by_name = {str(name): float(number) for number, name in config.id2label.items()}
    numbers = {label: number for label in labels if (number := _finite(label)) is not None}
    by_number = {label: number for label, number in numbers.items() if number in range(config.num_labels)}
    named, numbered = labels <= by_name.keys(), labels <= by_number.keys()
    differing = sorted(label for label in labels if named and numbered and by_name[label] != by_number[label])
    name, what = model.described["name"], f"0 to {config.num_labels - 1}, or {', '.join(by_name)}"
    if differing:
        raise BadInput(
            f"labels are names of classes or their numbers, but those of the data may be both, and "
            f"{differing[0]!r} is the name of class {by_name[differing[0]]:g} of {name!r}; write names that "
            f"are no numbers"
        )
    if named or numbered:
        return by_name if named else by_number
    wrong = sorted(labels - by_name.keys() - by_number.keys())
    mixed = f"names and numbers are mixed (such as {sorted(labels - by_name.keys())[0]!r})"
    raise BadInput(
        f"all labels of {name!r} are {what}, but {shorten(wrong[0]) + ' is none' if wrong else mixed}; mend "
        f"them"
    )


def _finite(label: str) -> float | None:
    """Return the number of a label; None where it is no finite number."""
    try:
        number = float(label)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def losses(
    model: LossModel, output: torch.Tensor, targets: Sequence[LossTarget]
) -> tuple[torch.Tensor, list[bool]]:
    """Compute the loss of each input alone, from its own row of the output.

    Masked and next words: mean cross-entropy over the places of the input, in nats. Classes:
    cross-entropy; a model with one output: squared error.

    Args:
        model: The model that computed the output.
        output: Logits (examples, tokens, words), or (examples, classes).
        targets: One for each example.

    Returns:
        Losses (examples,), and whether each input has one. An input without one, such as a single token
        with no next token, has 0.
    """
    values, exist = [], []
    for row, target in zip(output, targets, strict=True):
        logits = row if row.dtype == torch.float64 else row.float()
        exist.append(model.about == CLASSES or len(target.places) > 0)
        if not exist[-1]:
            values.append(0.0 * logits.sum())
        elif model.about != CLASSES:
            places, words = (torch.from_numpy(ids).to(row.device) for ids in (target.places, target.words))
            values.append(cross_entropy(logits[places], words))
        elif model.network.config.num_labels == 1:
            values.append(mse_loss(logits[0], torch.full_like(logits[0], target.label or 0.0)))
        else:
            label = int(logits.argmax()) if target.label is None else int(target.label)
            values.append(cross_entropy(logits, torch.tensor(label, device=row.device)))
    return torch.stack(values), exist


def describe_loss(model: LossModel, options: LossOptions) -> str:
    """Describe the loss in one sentence, for the record and the report.

    Raises:
        BadInput: When labels are given for a loss that has none.
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
    source = "its label" if options.labels is not None else "the class that the model itself predicts"
    return f"The loss of an input is the cross-entropy of {source}."
