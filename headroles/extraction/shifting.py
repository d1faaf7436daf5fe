"""What a decoder reads so that it says a text: the text's tokens, shifted right."""

import inspect
import sys
from typing import Any

import numpy as np
import torch
from transformers import GenerationConfig

from headroles.errors import BadInput
from headroles.extraction.checkpoint import Checkpoint
from headroles.records.example import Example


class Target:
    """A tokenizer as it makes the texts a decoder is to say."""

    is_fast = True

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.cls_token_id = getattr(tokenizer, "cls_token_id", None)

    def __call__(self, texts: list[str], **options: Any) -> Any:
        return self._tokenizer(text_target=texts, **options)


def ready_to_shift(network: Any, checkpoint: Checkpoint) -> None:
    """Tell an encoder-decoder's configuration which token its decoder starts from, where it does not say.

    It is what the checkpoint's settings for generation say; without any, the padding token, which
    the models that say nothing (T5) start from.
    """
    if getattr(network.config, "decoder_start_token_id", None) is not None:
        return
    try:
        settings = GenerationConfig.from_pretrained(checkpoint.target, revision=checkpoint.revision or "main")
        start = settings.decoder_start_token_id
    except (OSError, ValueError):
        start = None
    network.config.decoder_start_token_id = (
        getattr(network.config, "pad_token_id", None) if start is None else start
    )


def shifted_right(network: Any, labels: list[int]) -> list[int]:
    """What the model's own code makes its decoder read so that it says the labels.

    Raises:
        BadInput: When the model has no such code, or it does something else.
    """
    config, given = network.config, torch.tensor([labels])
    if hasattr(network, "_shift_right"):
        return _by_one(network, network._shift_right(given)[0].tolist(), labels)
    for base in type(network).__mro__:
        shift = getattr(sys.modules.get(base.__module__), "shift_tokens_right", None)
        if shift is not None:
            arguments = (given, config.pad_token_id, config.decoder_start_token_id)
            wanted = len(inspect.signature(shift).parameters)
            return _by_one(network, shift(*arguments[:wanted])[0].tolist(), labels)
    raise BadInput(
        f"a decoder reads its text shifted right by the model's own rule, but {type(network).__name__} has "
        f"none that is known; give the first text alone, for its encoder"
    )


def behind(start: str, said: Example) -> Example:
    """The example of what a decoder reads: a start token, then all but the last token of its text, text 1.

    Example:
        >>> said = Example("note", ("it", "rains", "</s>"), segment=np.array([0, 0, -1]))
        >>> read = behind("<pad>", said)
        >>> read.tokens, read.segment.tolist(), read.first.tolist()
        (('<pad>', 'it', 'rains'), [-1, 1, 1], [True, False, False])
    """
    tokens = (start, *said.tokens[:-1])
    return Example(
        said.key,
        tokens,
        segment=np.array([-1, *np.where(said.segment >= 0, 1, -1)[:-1]]),
        first=np.arange(len(tokens)) == 0,
        word=np.array([-1, *said.word[:-1]]),
    )


def _by_one(network: Any, shifted: list[int], labels: list[int]) -> list[int]:
    if shifted[1:] == labels[:-1]:
        return shifted
    raise BadInput(
        f"a decoder reads its text shifted right by one token, but {type(network).__name__} shifts it "
        f"otherwise; give the first text alone, for its encoder"
    )
