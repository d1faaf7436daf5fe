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


def grouped(*names: str) -> list[Any]:
    """Names of models for ``parametrize``: one worker has all tests of a model."""
    return [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in names]


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
def plain_network(folder: Path, way: str) -> Any:
    """The library's own model, untouched by headroles; the encoder of encoder-decoders."""
    import torch
    from transformers import AutoModel

    network = AutoModel.from_pretrained(folder, attn_implementation=way, dtype=torch.float32).eval()
    return network.get_encoder() if network.config.is_encoder_decoder else network


def plain_run(network: Any, inputs: dict[str, "torch.Tensor"], **options: Any) -> Any:
    """The library's own run."""
    import torch

    with torch.inference_mode():
        return network(**inputs, **options)


@contextmanager
def in_threads(count: int = 1) -> Iterator[None]:
    """Let torch use as many threads, which the code inside leaves as it is; one gives equal bits."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
        assert torch.get_num_threads() == count
    finally:
        torch.set_num_threads(before)


@contextmanager
def sizes_made() -> Iterator[list[int]]:
    """Note the bytes of every tensor that an operation of torch makes."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    sizes: list[int] = []

    class Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            made = function(*args, **(kwargs or {}))
            made_tensors = [each for each in torch.utils._pytree.tree_leaves(made) if torch.is_tensor(each)]
            sizes.extend(each.untyped_storage().nbytes() for each in made_tensors)
            return made

    with Watch():  # type: ignore[no-untyped-call]
        yield sizes


def module_of(name: str) -> Any:
    """The module in which a public name of extraction was written, to put a fault or a limit there.

    Modules that take limits of others when they are imported are imported first: they must not keep a
    limit that a test sets.
    """
    from headroles import extraction

    *_, wanted = (getattr(extraction, each) for each in ("load", "stream_tokenised", "SieveJob", name))
    return sys.modules[wanted.__module__]


def cut_into_blocks(monkeypatch: pytest.MonkeyPatch, longest: int, cache: int | None = None) -> None:
    """Let inputs of more tokens than ``longest`` be read in blocks of rows, of as many bytes as are given."""
    monkeypatch.setattr(module_of("own_eager"), "WHOLE", longest)
    if cache is not None:
        monkeypatch.setattr(module_of("rows_per_block"), "CACHE", cache)
