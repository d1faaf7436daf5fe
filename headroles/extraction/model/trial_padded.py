"""Try at load which inputs may share a batch: in some models padding changes what is computed.

A convolution over tokens (ConvBERT) or an embedding of neighbours reads the padding beside a short input, and
no attention mask hides it there. Each input must be read as it is alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from headroles.errors import BadInput, shorten_quotes
from headroles.extraction.capture.attention import read_attention
from headroles.extraction.capture.method import EQUAL, PADDED, SINGLE, CaptureMethod
from headroles.extraction.capture.plain import same_attention
from headroles.extraction.capture.readers import VisibleArray
from headroles.extraction.capture.stacks import PADDING_MASKS
from headroles.extraction.model.trial import (
    BLOCK_TOLERANCE,
    OUTPUT_TOLERANCE,
    TRIAL_SENTENCE,
    run_plain_eager,
)
from headroles.extraction.padding import pad_inputs
from headroles.extraction.texts.tokens import Tokenised, tokenise
from headroles.records.passage import Passage
from headroles.records.view import CROSS, DECODER

SHORT = Passage("short", ("Words differ.",))
LONG = Passage("long", (TRIAL_SENTENCE,))
PAIRS = (
    Passage("short", ("Words differ.", "Words")),
    Passage("long", (TRIAL_SENTENCE, f"{TRIAL_SENTENCE} {TRIAL_SENTENCE}")),
)
"""Inputs of two texts, for decoders of encoder-decoders."""
HALF = 0.1
"""Largest difference of weights in half precision that may be rounding."""
OTHER = 5
"""A token of any vocabulary in place of padding; where that is the padding, the next one."""
MOST_TOKENS = 64
"""Most tokens of a text in the check."""


@dataclass(frozen=True, slots=True, eq=False)
class Tried:
    """A network with all that reads it.

    Attributes:
        network: The network, with its attention implementation set for the way.
        tokenizer: Its tokenizer.
        device: Device of its inputs.
        way: The way its attention is read.
        layers: Number of layers.
    """

    network: Any
    tokenizer: Any
    device: torch.device
    way: CaptureMethod
    layers: int


class _FirstReader:
    """A reader that keeps every layer of the first example of a batch."""

    def __init__(self) -> None:
        self.blocks: dict[int, list[torch.Tensor]] = {}

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: VisibleArray) -> None:
        if example == 0:
            self.blocks.setdefault(layer, []).append(rows.clone())

    @property
    def layers(self) -> list[torch.Tensor]:
        return [torch.cat(blocks, dim=1) for _, blocks in sorted(self.blocks.items())]


def choose_batches(tried: Tried, most: int) -> str:
    """Return which inputs may share a batch: ``PADDED``, ``EQUAL`` lengths alone, or a ``SINGLE`` one.

    A short input is read alone, padded beside a long one, and beside one of its own length. In half precision
    rounding adds up over layers, so that only large differences count. There the padding is also made of
    another token, which must change nothing.

    Args:
        tried: The network.
        most: Longest input of the model.

    Raises:
        BadInput: When an input that is read alone is not what the plain model computes.
    """
    pairs = tried.way.kind in (DECODER, CROSS)
    short, long = (
        tokenise(tried.tokenizer, [passage], min(most, MOST_TOKENS))[0]
        for passage in (PAIRS if pairs else (SHORT, LONG))
    )
    try:
        alone = _read(tried, [short])
    except (RuntimeError, TypeError, ValueError, LookupError) as error:
        raise BadInput(
            f"the model must run on a short text, too, but {type(tried.network).__name__} failed at one of "
            f"{short.size} tokens ({type(error).__name__}: {shorten_quotes(error)}); it cannot be labelled"
        ) from error
    half = tried.network.dtype != torch.float32
    plain = None if pairs or half else _plain(tried, short)  # the first check is of half precision, too
    if plain is not None and not _same(alone, plain, BLOCK_TOLERANCE):
        raise BadInput(
            f"what is read of a short text must be what the plain model computes, but that of "
            f"{type(tried.network).__name__} is not; this architecture cannot be labelled"
        )
    for name, other in ((PADDED, long), (EQUAL, _cut(long, short))):
        if other is None:
            continue
        try:
            beside = _read(tried, [short, other])
        except (RuntimeError, TypeError, ValueError, LookupError):
            continue
        if not _same(beside, alone, HALF if half else OUTPUT_TOLERANCE):
            continue
        if half and not _same(_read(tried, [short, other], other=True), beside, 0.0):
            continue
        return name
    return SINGLE


def _read(tried: Tried, batch: Sequence[Tokenised], other: bool = False) -> list[torch.Tensor]:
    """Return the weights of the first input of a batch by layer, with another token as padding if asked."""
    reader, way = _FirstReader(), replace(tried.way, packs=None, norms=None, by_heads=False)
    tensors, lengths = pad_inputs(tried, batch), [given.size for given in batch]
    for name, mask in PADDING_MASKS.items():
        if other and name in tensors and mask in tensors:
            ids = tensors[name]
            tensors[name] = ids.where(tensors[mask].bool(), OTHER + (ids == OTHER).long())
    read_attention(tried.network, way, tensors, lengths, reader, tried.layers)
    return reader.layers


def _plain(tried: Tried, given: Tokenised) -> list[torch.Tensor]:
    """Return the weights of the plain eager model on one input."""
    with same_attention(tried.network):
        return run_plain_eager(tried.network, pad_inputs(tried, [given])).weights


def _cut(long: Tokenised, short: Tokenised) -> Tokenised | None:
    """Return the start of a long input, with as many tokens as a short one; None where it is no longer."""
    sizes = {name: len(ids) for name, ids in short.inputs.items()}
    if any(len(long.inputs[name]) < size for name, size in sizes.items()):
        return None
    inputs = {name: long.inputs[name][:size] for name, size in sizes.items()}
    return replace(long, inputs=inputs, tokens=long.tokens[: short.size])


def _same(ours: Sequence[torch.Tensor], theirs: Sequence[torch.Tensor], close: float) -> bool:
    return len(ours) == len(theirs) and all(
        a.shape == b.shape and torch.allclose(a, b, rtol=0, atol=close)
        for a, b in zip(ours, theirs, strict=True)
    )
