"""Pairs for an encoder-decoder: the first text is read by the encoder, the second by the decoder.

What a decoder reads so that it says a text: the text's tokens, shifted right.
"""

import inspect
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from transformers import GenerationConfig

from headroles.errors import BadInput
from headroles.extraction.capture.stacks import DECODED, ENCODED, MASKS
from headroles.extraction.model.checkpoint import Checkpoint
from headroles.extraction.texts.tokens import Tokenised, opening, tokenise
from headroles.records.example import Example
from headroles.records.passage import Passage
from headroles.records.view import CROSS, DECODER, ENCODER, SELF


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


class TwoTexts:
    """The tokenizer of an encoder-decoder of which decoder or cross attention is read.

    The decoder's tokens are those of the second text, shifted right by the model's own rule: a start
    token opens them, and the last one is only predicted. Where cross attention is read, an input is a
    joint one: the decoder's tokens, which attend, then the encoder's, which are attended to. In all else
    it is the tokenizer that it was made of.
    """

    def __init__(self, tokenizer: Any, network: Any, kind: str) -> None:
        """Take the tokenizer, the whole network, and "decoder" or "cross"."""
        self.kind = kind
        self._tokenizer, self._network = tokenizer, network

    def __getattr__(self, name: str) -> Any:
        """What the tokenizer says of itself: special tokens, their numbers and the like."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._tokenizer, name)

    def tokenised(self, passages: Sequence[Passage], max_length: int) -> list[Tokenised]:
        """Tokenise pairs; each text is cut by itself.

        Args:
            passages: Pairs.
            max_length: Most tokens that the encoder reads, and most that the decoder does.

        Raises:
            BadInput: For single texts, or what ``tokenise`` refuses, or when the model's rule of shifting
                is not known.
        """
        alone = next((each for each in passages if len(each.texts) != 2), None)
        if alone is not None:
            raise BadInput(
                f"{self.kind} attention needs pairs, text_a for the encoder and text_b for the decoder, but "
                f"{alone.key!r} is a single text; name a second column with --text-b, or label --kind encoder"
            )
        first, second = ([_only(each, text) for each in passages] for text in (0, 1))
        read = tokenise(self._tokenizer, first, max_length)
        said = tokenise(Target(self._tokenizer), second, max_length)
        return [self._joined(*each) for each in zip(passages, read, said, strict=True)]

    def _joined(self, passage: Passage, read: Tokenised, said: Tokenised) -> Tokenised:
        """What encoder and decoder read of a pair, as the tokens of the kind that is scored."""
        shifted = shifted_right(self._network, said.inputs["input_ids"])
        written = _written(str(self._tokenizer.convert_ids_to_tokens(shifted[0])), said)
        inputs = {
            ENCODED: read.inputs["input_ids"],
            MASKS[ENCODED]: [1] * read.size,
            DECODED: shifted,
            MASKS[DECODED]: [1] * written.size,
        }
        whole = replace(written, passage=passage, inputs=inputs, truncated=read.truncated or said.truncated)
        if self.kind == DECODER:
            return whole
        return replace(
            whole,
            tokens=(*written.tokens, *read.tokens),
            texts=np.concatenate([written.texts, read.texts]),
            spans=np.concatenate([written.spans, read.spans]),
            class_id=np.concatenate([written.class_id, opening(read)]),
            stack=np.repeat(np.array([0, 1], dtype=np.int32), [written.size, read.size]),
        )


def network_of(
    network: Any, tokenizer: Any, checkpoint: Checkpoint, kind: str | None
) -> tuple[Any, Any, str]:
    """The network that is read, its tokenizer, and the kind of attention.

    Args:
        network: As loaded.
        tokenizer: Its tokenizer.
        checkpoint: Where it comes from; may say from which token a decoder starts.
        kind: As asked for; None for an encoder-decoder's encoder, and for all of any other model.

    Raises:
        BadInput: When the model has no attention of that kind.
    """
    both = bool(network.config.is_encoder_decoder)
    known = (ENCODER, DECODER, CROSS) if both else (SELF,)
    chosen = known[0] if kind is None else kind
    if chosen not in known:
        what = "encoder and decoder" if both else "one stack of layers"
        raise BadInput(
            f"--kind is of what the model has, but {checkpoint.name!r} ({type(network).__name__}) has {what} "
            f"and {kind!r} came; allowed: {', '.join(known)}"
        )
    if chosen in (DECODER, CROSS):
        ready_to_shift(network, checkpoint)
        return network, TwoTexts(tokenizer, network, chosen), chosen
    return (network.get_encoder() if both else network), tokenizer, chosen


def _only(passage: Passage, text: int) -> Passage:
    """One text of a pair."""
    return Passage(passage.key, (passage.texts[text],))


def _written(start: str, said: Tokenised) -> Tokenised:
    """What a decoder reads so that it says a text: a start token, then all but the last; of text 1."""
    return replace(
        said,
        tokens=(start, *said.tokens[:-1]),
        texts=np.array([-1, *np.where(said.texts >= 0, 1, -1)[:-1]], dtype=np.int32),
        spans=np.concatenate([np.zeros((1, 2), dtype=np.int64), said.spans[:-1]]),
        class_id=np.arange(said.size) == 0,
    )
