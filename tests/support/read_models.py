"""Tiny models read as runs read them, and the library's own run of the same, for tests to compare."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    import torch

    from headroles.extraction import Model

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
        self, layer: int, example: int, start: int, rows: "torch.Tensor", visible: np.ndarray | None
    ) -> None:
        """Keep a block of rows."""
        self.rows.setdefault((layer, example), []).append(rows.clone())
        self.starts.setdefault((layer, example), []).append(start)
        self.visible[layer, example] = visible

    def whole(self, layer: int, example: int) -> "torch.Tensor":
        """All rows of a layer of an example."""
        import torch

        return torch.cat(self.rows[layer, example], dim=1)

    def seen(self, layer: int, example: int) -> np.ndarray:
        """Which keys each query sees, cell by cell."""
        n = self.whole(layer, example).shape[-1]
        kept = self.visible[layer, example]
        return np.ones((n, n), dtype=np.bool_) if kept is None else kept


class Together(Kept):
    """A reader that keeps what it is given, asks for whole batches, and notes the weight of padding."""

    together = True

    def __init__(self, lengths: Sequence[int], second: Kept | None = None) -> None:
        """Take the lengths of the examples, and a reader of the same weighted by norms of values."""
        super().__init__()
        self.lengths, self.norm_reader = lengths, second
        self.padding = 0.0

    def read_batch(self, layer: int, weights: "torch.Tensor", visible: Sequence[np.ndarray | None]) -> None:
        """Keep each example, and the largest sum of weights beyond one."""
        for example, (n, seen) in enumerate(zip(self.lengths, visible, strict=True)):
            self.read(layer, example, 0, weights[example, :, :n, :n], seen)
            beyond = weights[example, :, n:].abs().sum() + weights[example, :, :n, n:].abs().sum()
            self.padding = max(self.padding, float(beyond))


def opened(folder: Path, max_length: int = 128, dtype: str = "float32", **how: Any) -> "Model":
    """A model as a run loads it."""
    from headroles.extraction import find_checkpoint, load

    usual = {"device": "cpu", "dtype": dtype, "max_length": max_length}
    return load(find_checkpoint(str(folder), None), **usual | how)


@cache
def ready(folder: Path, max_length: int = 128, dtype: str = "float32", **how: Any) -> "Model":
    """The same, loaded once for all tests that only read it."""
    return opened(folder, max_length, dtype, **how)


def batch_of(
    model: "Model", texts: Sequence[str] = TEXTS, side: str = "right"
) -> tuple[dict[str, "torch.Tensor"], list[int]]:
    """Texts as one batch padded by hand on a side, with a mask, and their lengths."""
    import torch

    encoded = [model.tokenizer(text) for text in texts]
    lengths = [len(each["input_ids"]) for each in encoded]
    inputs = {}
    for name in encoded[0]:
        padding = (model.network.config.pad_token_id or 0) if name == "input_ids" else 0
        rows = torch.full((len(texts), max(lengths)), padding)
        for row, each in enumerate(encoded):
            own = slice(0, lengths[row]) if side == "right" else slice(max(lengths) - lengths[row], None)
            rows[row, own] = torch.tensor(each[name])
        inputs[name] = rows
    return inputs, lengths


@cache
def plain_network(folder: Path, way: str, dtype: Any = None) -> Any:
    """The library's own model, untouched by headroles; the encoder of encoder-decoders."""
    import torch
    from transformers import AutoModel

    own = torch.float32 if dtype is None else dtype
    network = AutoModel.from_pretrained(folder, attn_implementation=way, dtype=own).eval()
    return network.get_encoder() if network.config.is_encoder_decoder else network


def plain_run(network: Any, inputs: dict[str, "torch.Tensor"], **options: Any) -> Any:
    """The library's own run."""
    import torch

    with torch.inference_mode():
        return network(**inputs, **options)


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread, so that equal products have equal bits."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def module_of(name: str) -> Any:
    """The module in which a public name of extraction was written, to put a fault or a limit there."""
    from headroles import extraction

    return sys.modules[getattr(extraction, name).__module__]


def cut_into_blocks(monkeypatch: pytest.MonkeyPatch, longest: int, cache: int | None = None) -> None:
    """Let inputs of more tokens than ``longest`` be read in blocks of rows, as long inputs are.

    Args:
        monkeypatch: Of the test.
        longest: Tokens up to which inputs are read whole.
        cache: Bytes of weights that a block may take; as usual when None.
    """
    monkeypatch.setattr(module_of("own_eager"), "WHOLE", longest)
    if cache is not None:
        monkeypatch.setattr(module_of("rows_per_block"), "CACHE", cache)
