"""Tiny models read as runs read them, and the library's own run of the same, for tests to compare."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel

from headroles.extraction.capture import blocks, weights
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import Model, load

TEXTS = (
    "The committee did not decide about the long treaty, and nobody in Paris objected to it at all.",
    "Look!",
    "She can't believe that it was signed after the debate; what a day.",
)


class Kept:
    """A reader that keeps what it is given, by layer and example."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.rows: dict[tuple[int, int], list[torch.Tensor]] = {}
        self.starts: dict[tuple[int, int], list[int]] = {}
        self.visible: dict[tuple[int, int], np.ndarray | None] = {}

    def read(
        self, layer: int, example: int, start: int, rows: torch.Tensor, visible: np.ndarray | None
    ) -> None:
        """Keep a block of rows."""
        self.rows.setdefault((layer, example), []).append(rows.clone())
        self.starts.setdefault((layer, example), []).append(start)
        self.visible[layer, example] = visible

    def whole(self, layer: int, example: int) -> torch.Tensor:
        """All rows of a layer of an example."""
        return torch.cat(self.rows[layer, example], dim=1)

    def seen(self, layer: int, example: int) -> np.ndarray:
        """Which keys each query sees, cell by cell."""
        n = self.whole(layer, example).shape[-1]
        kept = self.visible[layer, example]
        return np.ones((n, n), dtype=np.bool_) if kept is None else kept


def opened(folder: Path, max_length: int = 128, dtype: str = "float32") -> Model:
    """A model as a run loads it."""
    return load(find_checkpoint(str(folder), None), device="cpu", dtype=dtype, max_length=max_length)


@cache
def ready(folder: Path, max_length: int = 128) -> Model:
    """The same, loaded once for all tests that only read it."""
    return opened(folder, max_length)


def batch_of(
    model: Model, texts: Sequence[str] = TEXTS, side: str = "right"
) -> tuple[dict[str, torch.Tensor], list[int]]:
    """Texts as one batch padded by hand on a side, with a mask, and their lengths."""
    encoded = [model.tokenizer(text) for text in texts]
    lengths = [len(each["input_ids"]) for each in encoded]
    inputs = {}
    for name in encoded[0]:
        padding = (model.network.config.pad_token_id or 0) if name == "input_ids" else 0
        table = torch.full((len(texts), max(lengths)), padding)
        for row, each in enumerate(encoded):
            own = slice(0, lengths[row]) if side == "right" else slice(max(lengths) - lengths[row], None)
            table[row, own] = torch.tensor(each[name])
        inputs[name] = table
    return inputs, lengths


def plain_network(folder: Path, way: str, dtype: torch.dtype = torch.float32) -> Any:
    """The library's own model, untouched by headroles; the encoder of encoder-decoders."""
    network = AutoModel.from_pretrained(folder, attn_implementation=way, dtype=dtype).eval()
    return network.get_encoder() if network.config.is_encoder_decoder else network


def plain_run(network: Any, inputs: dict[str, torch.Tensor], **options: Any) -> Any:
    """The library's own run."""
    with torch.inference_mode():
        return network(**inputs, **options)


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread, so that equal products have equal bits."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def cut_into_blocks(monkeypatch: pytest.MonkeyPatch, longest: int, cache: int | None = None) -> None:
    """Let inputs of more tokens than ``longest`` be read in blocks of rows, as long inputs are.

    Args:
        monkeypatch: Of the test.
        longest: Tokens up to which inputs are read whole.
        cache: Bytes of weights that a block may take; as usual when None.
    """
    monkeypatch.setattr(weights, "WHOLE", longest)
    if cache is not None:
        monkeypatch.setattr(blocks, "CACHE", cache)
