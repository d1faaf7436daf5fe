"""Tokenise pairs for an encoder-decoder: the first text for the encoder, the second for the decoder.

A decoder that is to produce a text reads the text's tokens shifted right; that rule is here too.
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
from headroles.extraction.capture.stacks import DECODER_IDS, ENCODER_IDS, PADDING_MASKS
from headroles.extraction.model.checkpoint import Checkpoint
from headroles.extraction.texts.tokens import Tokenised, first_token, tokenise
from headroles.records.example import Example
from headroles.records.passage import Passage
from headroles.records.view import CROSS, DECODER, ENCODER, SELF


class TargetTokenizer:
    """A tokenizer that tokenises texts as targets, which a decoder is to produce."""

    is_fast = True

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.cls_token_id = getattr(tokenizer, "cls_token_id", None)

    def __call__(self, texts: list[str], **options: Any) -> Any:
        return self._tokenizer(text_target=texts, **options)


def set_decoder_start(network: Any, checkpoint: Checkpoint) -> None:
    """Set the start token of a decoder in its configuration, where the configuration has none.

    It is that of the checkpoint's settings for generation. Without these it is the padding token, from
    which models without the setting (T5) start.
    """
    if getattr(network.config, "decoder_start_token_id", None) is not None:
        return
    try:
        settings = (
            GenerationConfig.from_pretrained(checkpoint.target, revision=checkpoint.revision or "main")
            if checkpoint.given is None
            else checkpoint.given.network.generation_config
        )
        start = getattr(settings, "decoder_start_token_id", None)
    except (OSError, ValueError):
        start = None
    network.config.decoder_start_token_id = (
        getattr(network.config, "pad_token_id", None) if start is None else start
    )


def shift_right(network: Any, labels: list[int]) -> list[int]:
    """Return the tokens that a decoder reads to produce the labels, by the model's own code.

    Raises:
        BadInput: When the model has no such code, or the code does something else.
    """
    config, batch = network.config, torch.tensor([labels])
    if hasattr(network, "_shift_right"):
        return _check_shift(network, network._shift_right(batch)[0].tolist(), labels)
    for base in type(network).__mro__:
        shift = getattr(sys.modules.get(base.__module__), "shift_tokens_right", None)
        if shift is not None:
            arguments = (batch, config.pad_token_id, config.decoder_start_token_id)
            count = len(inspect.signature(shift).parameters)
            return _check_shift(network, shift(*arguments[:count])[0].tolist(), labels)
    raise BadInput(
        "a decoder reads its text shifted right by the model's own rule, but the rule of "
        f"{type(network).__name__} is unknown; give the first text alone, for its encoder"
    )


def shift_example(start: str, target: Example) -> Example:
    """Return the example that a decoder reads: a start token, then text 1 without its last token.

    Example:
        >>> target = Example("note", ("it", "rains", "</s>"), segment=np.array([0, 0, -1]))
        >>> read = shift_example("<pad>", target)
        >>> read.tokens, read.segment.tolist(), read.first.tolist()
        (('<pad>', 'it', 'rains'), [-1, 1, 1], [True, False, False])
    """
    tokens = (start, *target.tokens[:-1])
    return Example(
        target.key,
        tokens,
        segment=np.array([-1, *np.where(target.segment >= 0, 1, -1)[:-1]]),
        first=np.arange(len(tokens)) == 0,
        word=np.array([-1, *target.word[:-1]]),
    )


def _check_shift(network: Any, shifted: list[int], labels: list[int]) -> list[int]:
    if shifted[1:] == labels[:-1]:
        return shifted
    raise BadInput(
        f"a decoder reads its text shifted right by one token, but {type(network).__name__} shifts it "
        f"otherwise; give the first text alone, for its encoder"
    )


class PairTokenizer:
    """The tokenizer of an encoder-decoder whose decoder or cross attention is read.

    The decoder's tokens are those of the second text, shifted right by the model's own rule: a start
    token opens them, and the last one is only predicted. Where cross attention is read, an input is a
    joint one: the decoder's tokens, which attend, then the encoder's, which are attended to. All other
    attributes are those of the wrapped tokenizer.
    """

    def __init__(self, tokenizer: Any, network: Any, kind: str) -> None:
        """Take the tokenizer, the whole network, and "decoder" or "cross"."""
        self.kind = kind
        self._tokenizer, self._network = tokenizer, network

    def __getattr__(self, name: str) -> Any:
        """Return attributes of the wrapped tokenizer, such as special tokens and their numbers."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._tokenizer, name)

    def tokenised(self, passages: Sequence[Passage], max_length: int) -> list[Tokenised]:
        """Tokenise pairs; each text is truncated by itself.

        Args:
            passages: Pairs.
            max_length: Most tokens of the encoder, and most tokens of the decoder.

        Raises:
            BadInput: For single texts, for texts that ``tokenise`` refuses, or when the model's rule of
                shifting is not known.
        """
        single = next((passage for passage in passages if len(passage.texts) != 2), None)
        if single is not None:
            raise BadInput(
                f"{self.kind} attention needs pairs, text_a for the encoder and text_b for the decoder, but "
                f"{single.key!r} is a single text; name a second column with --text-b, or use --kind encoder"
            )
        first, second = ([_single_text(passage, text) for passage in passages] for text in (0, 1))
        sources = tokenise(self._tokenizer, first, max_length)
        targets = tokenise(TargetTokenizer(self._tokenizer), second, max_length)
        return [self._join(*triple) for triple in zip(passages, sources, targets, strict=True)]

    def _join(self, passage: Passage, source: Tokenised, target: Tokenised) -> Tokenised:
        """Return the input of encoder and decoder for a pair, with the tokens of the kind that is read."""
        shifted = shift_right(self._network, target.inputs["input_ids"])
        decoder = _shift_target(str(self._tokenizer.convert_ids_to_tokens(shifted[0])), target)
        inputs = {
            ENCODER_IDS: source.inputs["input_ids"],
            PADDING_MASKS[ENCODER_IDS]: [1] * source.size,
            DECODER_IDS: shifted,
            PADDING_MASKS[DECODER_IDS]: [1] * decoder.size,
        }
        joint = replace(
            decoder, passage=passage, inputs=inputs, truncated=source.truncated or target.truncated
        )
        if self.kind == DECODER:
            return joint
        return replace(
            joint,
            tokens=(*decoder.tokens, *source.tokens),
            texts=np.concatenate([decoder.texts, source.texts]),
            spans=np.concatenate([decoder.spans, source.spans]),
            class_id=np.concatenate([decoder.class_id, first_token(source)]),
            stack=np.repeat(np.array([0, 1], dtype=np.int32), [decoder.size, source.size]),
        )


def select_network(
    network: Any, tokenizer: Any, checkpoint: Checkpoint, kind: str | None
) -> tuple[Any, Any, str]:
    """Return the network to read, its tokenizer, and the kind of attention.

    Args:
        network: The network as loaded.
        tokenizer: Its tokenizer.
        checkpoint: The checkpoint; it may name the token from which a decoder starts.
        kind: Kind of attention; None for an encoder-decoder's encoder, and for all of any other model.

    Raises:
        BadInput: When the model has no attention of that kind.
    """
    has_decoder = bool(network.config.is_encoder_decoder)
    kinds = (ENCODER, DECODER, CROSS) if has_decoder else (SELF,)
    chosen = kinds[0] if kind is None else kind
    if chosen not in kinds:
        parts = "encoder and decoder" if has_decoder else "one stack of layers"
        raise BadInput(
            f"--kind names attention that the model has, but {checkpoint.name!r} ({type(network).__name__}) "
            f"has {parts} and no {kind!r} attention; allowed: {', '.join(kinds)}"
        )
    if chosen in (DECODER, CROSS):
        set_decoder_start(network, checkpoint)
        return network, PairTokenizer(tokenizer, network, chosen), chosen
    chosen_network = network.get_encoder() if has_decoder else network
    if not hasattr(chosen_network, "config"):  # FSMT
        raise BadInput(
            f"an encoder is read as a model of its own, but that of {type(network).__name__} is none; give "
            f"--kind decoder or --kind cross, with pairs"
        )
    return chosen_network, tokenizer, chosen


def _single_text(passage: Passage, text: int) -> Passage:
    """Return one text of a pair."""
    return Passage(passage.key, (passage.texts[text],))


def _shift_target(start: str, target: Tokenised) -> Tokenised:
    """Return the tokens that a decoder reads to produce text 1: a start token, then all but the last."""
    return replace(
        target,
        tokens=(start, *target.tokens[:-1]),
        texts=np.array([-1, *np.where(target.texts >= 0, 1, -1)[:-1]], dtype=np.int32),
        spans=np.concatenate([np.zeros((1, 2), dtype=np.int64), target.spans[:-1]]),
        class_id=np.arange(target.size) == 0,
    )
