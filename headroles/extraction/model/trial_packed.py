"""Try at load whether examples may follow one another in one row, without padding.

Only attention mixes tokens, and it is formed by example. Everything else is done token by token, so that
tokens of padding are computed in vain. A model takes packed examples where positions can be given, and
where a row may be longer than an example.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import torch

from headroles.extraction.capture.attention import read_attention
from headroles.extraction.capture.readers import VisibleArray
from headroles.extraction.capture.stacks import ENCODER_IDS, PADDING_MASKS
from headroles.extraction.model.trial import TRIAL_SENTENCE, Reading
from headroles.records.rules.names import EAGER, FORMED
from headroles.records.view import SELF

TEXTS = (TRIAL_SENTENCE, "Words differ.", TRIAL_SENTENCE)
"""Examples of two lengths, one after another."""
TOLERANCE = 1e-5
"""Largest difference of packed from plain weights: products of other shapes round differently."""
SHORT_LIMIT = 1024
"""Most tokens of a model whose limit is tried; a row of short examples can hold more."""
LONGEST_ROW = 2**14
"""Tokens that no batch of short examples reaches; a model that takes as many needs no trial of its limit."""

Row = dict[str, torch.Tensor]
"""Inputs of a model for one text, each with a number for every token."""


class _BatchKeeper:
    """A reader that keeps every layer of a batch of short examples, or of one."""

    together = True

    def __init__(self) -> None:
        self.layers: list[torch.Tensor] = []

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: VisibleArray) -> None:
        self.layers.append(rows[None].clone())

    def read_batch(self, layer: int, weights: torch.Tensor, visible: Sequence[VisibleArray]) -> None:
        self.layers.append(weights.clone())


def choose_packing(
    network: Any, tokenizer: Any, device: torch.device, limit: int | None, reading: Reading
) -> Reading:
    """Return the reading, with the position of the first token where examples may be packed.

    Sentences are read in one row. Each must be read as it is alone. Then a row with more tokens than an
    example may have is read in the first layer.

    Args:
        network: The network, with its attention implementation set for the reading.
        tokenizer: Its tokenizer.
        device: Device of its inputs.
        limit: Longest input of the model in tokens; None where it has no limit.
        reading: How its weights are read.
    """
    row = _longest_row(network, device, limit, reading)
    if row is None:
        return reading
    texts = [_encode(tokenizer, text) for text in TEXTS]
    alone = [_read_row(network, reading, [text])[0] for text in texts]
    several = 1 + row // sum(len(text[ENCODER_IDS]) for text in texts)
    for first in dict.fromkeys((0, *_first_positions(network))):
        packed = replace(reading, way=replace(reading.way, packs=first))
        with suppress(RuntimeError, TypeError, ValueError, LookupError):
            if _same(_read_row(network, packed, texts), alone) and (
                row == 0 or _same(_read_row(network, packed, texts * several, layers=1), alone * several)
            ):
                return packed
    return reading


def _longest_row(network: Any, device: torch.device, limit: int | None, reading: Reading) -> int | None:
    """Return the tokens of a row to be exceeded; 0 for a model without a limit, None where none is packed."""
    way = reading.way
    if device.type != "cpu" or not way.plain or way.name not in (FORMED, EAGER):
        return None
    if way.kind != SELF or way.modules is not None or getattr(network, "hf_device_map", None) is not None:
        return None
    if limit is None or limit >= LONGEST_ROW:
        return 0
    return limit if limit <= SHORT_LIMIT else None


def _encode(tokenizer: Any, text: str) -> Row:
    """Return the inputs of the model for a text, without a mask: nothing is padded."""
    encoded = tokenizer(text, return_tensors="pt").items()
    return {name: ids[0] for name, ids in encoded if name != PADDING_MASKS[ENCODER_IDS]}


def _read_row(
    network: Any, reading: Reading, texts: Sequence[Row], layers: int | None = None
) -> list[list[torch.Tensor]]:
    """Return the weights of texts in one row: for each text, its weights by layer.

    Args:
        network: The network.
        reading: Its reading; where it has no first position, the model counts positions itself.
        texts: Inputs of each text.
        layers: Number of layers to read; None for all.
    """
    sizes, reader, first = [len(text[ENCODER_IDS]) for text in texts], _BatchKeeper(), reading.way.packs
    row = {name: torch.cat([text[name] for text in texts])[None] for name in texts[0]}
    if first is not None:
        row["position_ids"] = torch.cat([torch.arange(size) + first for size in sizes])[None]
    read_attention(network, reading.way, row, sizes, reader, layers or reading.layers)
    return [
        [weights[place, :, :size, :size] for weights in reader.layers] for place, size in enumerate(sizes)
    ]


def _same(ours: Sequence[Sequence[torch.Tensor]], alone: Sequence[Sequence[torch.Tensor]]) -> bool:
    """Return whether the layers that were read in a row are those of each text alone."""
    pairs = [pair for own, wanted in zip(ours, alone, strict=True) for pair in zip(own, wanted, strict=False)]
    return all(torch.allclose(own, wanted, rtol=0, atol=TOLERANCE) for own, wanted in pairs)


def _first_positions(network: Any) -> list[int]:
    """Return the first positions of tables of positions that keep some for padding."""
    return [
        module.padding_idx + 1
        for path, module in network.named_modules()
        if path.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None
    ]
