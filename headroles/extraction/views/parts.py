"""Prepare the input of a view: one or two texts as pieces, and the tensors for the model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from headroles.errors import BadInput
from headroles.extraction.capture.stacks import DECODER_IDS, ModelInputs
from headroles.extraction.model.load import length_limit
from headroles.extraction.model.two_texts import TargetTokenizer, shift_example, shift_right
from headroles.extraction.texts.pieces import NO_TRUNCATION
from headroles.extraction.texts.spelling import number_words
from headroles.extraction.texts.tokens import Tokenised, example_of, tokenise
from headroles.records.example import Example
from headroles.records.passage import Passage
from headroles.records.view import CROSS, DECODER, ENCODER, SELF


@dataclass(frozen=True, slots=True, eq=False)
class ViewInput:
    """An input of a view.

    Attributes:
        sides: The example of the queries and that of the keys, by kind of attention.
        inputs: Tensors for the model, of one example each.
        notes: Remarks on the input for the reader.
    """

    sides: dict[str, tuple[Example, Example]]
    inputs: ModelInputs
    notes: tuple[str, ...] = ()


def check_texts(texts: str | Sequence[str]) -> tuple[str, ...]:
    """Return one text or two as a tuple, and check that none is blank.

    Raises:
        BadInput: When there are more or fewer texts, or one is blank.
    """
    given = (texts,) if isinstance(texts, str) else tuple(texts)
    if not 1 <= len(given) <= 2 or any(not isinstance(text, str) or not text.strip() for text in given):
        blank = sum(not isinstance(text, str) or not text.strip() for text in given)
        raise BadInput(
            f"a view shows one text or two, none of them blank, but got {len(given)}, {blank} of them "
            "blank; give one or two"
        )
    return given


def prepare_input(
    network: Any, tokenizer: Any, texts: tuple[str, ...], max_length: int, kind: str = SELF
) -> ViewInput:
    """Return the input of a model with one stack, or of an encoder alone.

    Args:
        network: The model, or the encoder of one whose decoder has no text.
        tokenizer: Its tokenizer.
        texts: One text or two.
        max_length: Most tokens, unless the model takes fewer.
        kind: Kind of its attention, "self" or "encoder".

    Raises:
        BadInput: When the input has more tokens, or the tokenizer makes no token of it.
    """
    tokenised, example = _tokenise_texts(tokenizer, texts)
    _check_size(tokenised, max_length, length_limit(network, tokenizer))
    return ViewInput({kind: (example, example)}, _tensors(tokenised.inputs))


def prepare_pair(network: Any, tokenizer: Any, texts: tuple[str, ...], max_length: int) -> ViewInput:
    """Return the input of an encoder-decoder: the first text for the encoder, the second for the decoder.

    Raises:
        BadInput: When a text has too many tokens, or it is not known how the model's decoder begins.
    """
    source, encoder_example = _tokenise_texts(tokenizer, texts[:1])
    target, target_example = _tokenise_texts(TargetTokenizer(tokenizer), texts[1:])
    for tokenised in (source, target):
        _check_size(tokenised, max_length, length_limit(network, tokenizer))
    shifted = shift_right(network, target.inputs["input_ids"])
    start = str(tokenizer.convert_ids_to_tokens(shifted[0]))
    decoder_example, last = shift_example(start, target_example), target_example.tokens[-1]
    note = (
        f"The decoder read the second text shifted right by one token, from the start token {start!r} on. "
        f"In the row of a token the model predicts the next token. The last token, {last!r}, has no row."
    )
    given = {name: ids for name, ids in source.inputs.items() if name in ("input_ids", "attention_mask")}
    tensors = _tensors({**given, DECODER_IDS: shifted})
    return ViewInput(
        {
            ENCODER: (encoder_example, encoder_example),
            DECODER: (decoder_example, decoder_example),
            CROSS: (decoder_example, encoder_example),
        },
        tensors,
        (note,),
    )


def _tokenise_texts(tokenizer: Any, texts: tuple[str, ...]) -> tuple[Tokenised, Example]:
    tokenised = tokenise(tokenizer, [Passage("view", texts)], NO_TRUNCATION)[0]
    return tokenised, replace(example_of(tokenised, None, arcs=False), word=number_words(tokenised))


def _check_size(tokenised: Tokenised, max_length: int, limit: int | None) -> None:
    """Check that an input is not too long: a view shows a text whole, and never without its end."""
    if tokenised.size > min(max_length, limit or max_length):
        most, advice = max_length, "shorten it, or give a larger --max-length"
        if limit is not None and limit <= max_length:
            most, advice = limit, "the model takes no more; shorten it"
        raise BadInput(
            f"a view shows its input whole, up to {most:,} tokens, but got {tokenised.size:,} "
            f"({tokenised.passage.texts[0][:40]!r}); {advice}"
        )


def _tensors(inputs: dict[str, list[int]]) -> ModelInputs:
    return {name: torch.tensor([values]) for name, values in inputs.items()}
