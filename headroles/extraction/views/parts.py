"""What goes into a view: one or two texts as pieces, and what the model is called with."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from headroles.errors import BadInput
from headroles.extraction.capture.stacks import DECODED, Inputs
from headroles.extraction.model.load import limit_of
from headroles.extraction.model.two_texts import Target, behind, shifted_right
from headroles.extraction.texts.pieces import UNCUT
from headroles.extraction.texts.spelling import words_of
from headroles.extraction.texts.tokens import Tokenised, example_of, tokenise
from headroles.records.example import Example
from headroles.records.passage import Passage
from headroles.records.view import CROSS, DECODER, ENCODER, SELF


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """An input of a view.

    Attributes:
        sides: The example that attends and the one attended to, by kind of attention.
        inputs: What the model is called with, one example each.
        notes: What must be known of the input.
    """

    sides: dict[str, tuple[Example, Example]]
    inputs: Inputs
    notes: tuple[str, ...] = ()


def checked_texts(texts: str | Sequence[str]) -> tuple[str, ...]:
    """One text or two, none of them blank.

    Raises:
        BadInput: When other texts came.
    """
    given = (texts,) if isinstance(texts, str) else tuple(texts)
    if not 1 <= len(given) <= 2 or any(not isinstance(text, str) or not text.strip() for text in given):
        blank = sum(not isinstance(text, str) or not text.strip() for text in given)
        raise BadInput(
            f"a view is of one text or of two, none of them blank, but {len(given)} came, {blank} of them "
            f"blank; give one or two"
        )
    return given


def entry_of(
    network: Any, tokenizer: Any, texts: tuple[str, ...], max_length: int, kind: str = SELF
) -> Entry:
    """The input of a model with one stack, or of an encoder alone.

    Args:
        network: The model, or the encoder of one whose decoder gets nothing to read.
        tokenizer: Its tokenizer.
        texts: One text or two.
        max_length: Most tokens, where the model does not take fewer.
        kind: Of its attention, "self" or "encoder".

    Raises:
        BadInput: When the input has more tokens, or the tokenizer makes nothing of it.
    """
    tokenised, example = _pieces(tokenizer, texts)
    _within(tokenised, max_length, limit_of(network, tokenizer))
    return Entry({kind: (example, example)}, _tensors(tokenised.inputs, network.device))


def entry_of_both(network: Any, tokenizer: Any, texts: tuple[str, ...], max_length: int) -> Entry:
    """The input of an encoder-decoder: the first text for the encoder, the second for the decoder.

    Raises:
        BadInput: When a text has too many tokens, or the model does not say how its decoder begins.
    """
    tokenised, read = _pieces(tokenizer, texts[:1])
    target, said = _pieces(Target(tokenizer), texts[1:])
    for each in (tokenised, target):
        _within(each, max_length, limit_of(network, tokenizer))
    shifted = shifted_right(network, target.inputs["input_ids"])
    start = str(tokenizer.convert_ids_to_tokens(shifted[0]))
    written = behind(start, said)
    note = (
        f"The decoder read the second text shifted right by one token, from the start token {start!r} on: "
        f"the row of a token is where the model predicts the one after it, and {said.tokens[-1]!r}, which "
        f"ends the text, is only predicted."
    )
    given = {name: each for name, each in tokenised.inputs.items() if name in ("input_ids", "attention_mask")}
    tensors = _tensors({**given, DECODED: shifted}, network.device)
    return Entry(
        {ENCODER: (read, read), DECODER: (written, written), CROSS: (written, read)}, tensors, (note,)
    )


def _pieces(tokenizer: Any, texts: tuple[str, ...]) -> tuple[Tokenised, Example]:
    tokenised = tokenise(tokenizer, [Passage("view", texts)], UNCUT)[0]
    return tokenised, replace(example_of(tokenised, None, arcs=False), word=words_of(tokenised))


def _within(tokenised: Tokenised, max_length: int, limit: int | None) -> None:
    """Refuse what is too long: a view that hid the end of a text would not be one of the text."""
    if tokenised.size > min(max_length, limit or max_length):
        most, way = max_length, "shorten it, or give a larger --max-length"
        if limit is not None and limit <= max_length:
            most, way = limit, "the model takes no more; shorten it"
        raise BadInput(
            f"a view shows its input whole, up to {most:,} tokens, but {tokenised.size:,} came "
            f"({tokenised.passage.texts[0][:40]!r}); {way}"
        )


def _tensors(inputs: dict[str, list[int]], device: torch.device) -> Inputs:
    return {name: torch.tensor([values], device=device) for name, values in inputs.items()}
