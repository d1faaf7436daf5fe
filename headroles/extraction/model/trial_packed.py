"""Try at load whether examples may follow one another in one row, without padding.

Only attention mixes tokens, and it is formed by example. Everything else is done token by token, so that
tokens of padding are computed in vain. A model takes packed examples where positions can be given.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from headroles.extraction.capture.attention import read_attention
from headroles.extraction.capture.method import CaptureMethod, Packing
from headroles.extraction.capture.readers import VisibleArray
from headroles.extraction.capture.stacks import ENCODER_IDS, PADDING_MASKS
from headroles.extraction.model.trial import TRIAL_SENTENCE, Reading
from headroles.records.rules.names import EAGER, FORMED
from headroles.records.view import SELF

TEXTS = (TRIAL_SENTENCE, "Words differ.")
"""Examples of two lengths, which are read alone, and twice in a row."""
TOLERANCE = 1e-5
"""Largest difference of packed from plain weights: products of other shapes round differently."""
SHORT_LIMIT = 1024
"""Most tokens of a limit beyond which a row is tried; rows of short examples are seldom longer."""

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
    """Return the reading, with how examples may be packed.

    Sentences are read in one row. Each must be read as it is alone. Where the longest input of the model is
    short, a row beyond it is tried in the first layer.

    Args:
        network: The network, with its attention implementation set for the reading.
        tokenizer: Its tokenizer.
        device: Device of its inputs.
        limit: Longest input of the model in tokens; None where it has no limit.
        reading: How its weights are read.
    """
    if not _may_pack(network, device, reading.way):
        return reading
    texts = [_encode(tokenizer, text) for text in TEXTS]
    alone = [_read_row(network, reading, [text])[0] for text in texts]
    for first in dict.fromkeys((0, *_first_positions(network))):
        packed = replace(reading, way=replace(reading.way, packs=Packing(first, limit)))
        if _reads_rows(network, packed, texts * 2, alone * 2):
            break
    else:
        return reading
    if limit is None or limit > SHORT_LIMIT:
        return packed
    several = 1 + limit // sum(len(text[ENCODER_IDS]) for text in texts)
    beyond = _reads_rows(network, packed, texts * several, alone * several, layers=1)
    return replace(packed, way=replace(packed.way, packs=Packing(first))) if beyond else packed


def _may_pack(network: Any, device: torch.device, way: CaptureMethod) -> bool:
    """Return whether attention is formed example by example here, in all layers and on one device."""
    formed = device.type == "cpu" and way.plain and way.name in (FORMED, EAGER)
    alone = way.kind == SELF and way.modules is None
    return formed and alone and getattr(network, "hf_device_map", None) is None


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
        reading: Its reading; where it does not pack, the model counts positions itself.
        texts: Inputs of each text.
        layers: Number of layers to read; None for all.
    """
    sizes, reader, packs = [len(text[ENCODER_IDS]) for text in texts], _BatchKeeper(), reading.way.packs
    row = {name: torch.cat([text[name] for text in texts])[None] for name in texts[0]}
    if packs is not None:
        row["position_ids"] = torch.cat([torch.arange(size) + packs.first for size in sizes])[None]
    read_attention(network, reading.way, row, sizes, reader, layers or reading.layers)
    return [
        [weights[place, :, :size, :size] for weights in reader.layers] for place, size in enumerate(sizes)
    ]


def _reads_rows(
    network: Any,
    reading: Reading,
    texts: Sequence[Row],
    alone: Sequence[Sequence[torch.Tensor]],
    layers: int | None = None,
) -> bool:
    """Return whether texts in one row are read, in the first layers or in all, as each is read alone."""
    try:
        found = _read_row(network, reading, texts, layers)
    except (RuntimeError, TypeError, ValueError, LookupError):
        return False
    pairs = [pair for ours, own in zip(found, alone, strict=True) for pair in zip(ours, own, strict=False)]
    return all(torch.allclose(ours, own, rtol=0, atol=TOLERANCE) for ours, own in pairs)


def _first_positions(network: Any) -> list[int]:
    """Return the first positions of tables of positions that keep some for padding."""
    return [
        module.padding_idx + 1
        for path, module in network.named_modules()
        if path.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None
    ]
