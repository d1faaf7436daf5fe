"""Passages to scores, shard by shard: annotation beside the model, attention read as it passes by."""

import ctypes
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

from headroles.errors import BadInput
from headroles.extraction.annotate import Annotator
from headroles.extraction.capture import RETURNED, run
from headroles.extraction.model import Model
from headroles.extraction.passages import Passage
from headroles.extraction.reader import Columns, Prepared, Reader, Shard, Table, planned
from headroles.extraction.tokens import Tokenised, example_of, tokenise

SHARD = 256
"""Passages in a shard: what is sorted by length, held and written together."""
PAIRS = 2**18
"""Most (query, key) pairs in a batch, such as 16 inputs of 128 tokens: what is laid over them grows so."""
RETURNED_BATCH = 8
"""Largest batch when all layers' weights are alive at once."""


MMAP_THRESHOLD, LARGE = -3, 2**20
"""glibc's name for the smallest block that is mapped on its own, and what we set it to, in bytes."""


def stream(
    model: Model,
    passages: Sequence[Passage],
    sieves: Columns,
    annotator: Annotator | None,
    *,
    batch_size: int,
    max_length: int,
    advance: Callable[[int], None],
) -> Iterator[Shard]:
    """Score passages shard by shard.

    Args:
        model: Ready to be read.
        passages: All of one width (single texts or pairs).
        sieves: What is scored.
        annotator: Gives words and trees; None when no sieve needs them.
        batch_size: Largest batch; a batch that does not fit in memory is halved.
        max_length: Longest input, in tokens.
        advance: Called with the number of examples done since the last call.
    """
    size = min(batch_size, RETURNED_BATCH) if model.way.name == RETURNED else batch_size
    _return_large_blocks()
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="annotation") as beside:
        for start in range(0, len(passages), SHARD):
            part = passages[start : start + SHARD]
            tokenised = tokenise(model.tokenizer, part, max_length)
            table = Table(sieves, tokenised, model)
            order = np.argsort([-each.size for each in tokenised], kind="stable")
            batches = list(_batches(order, [each.size for each in tokenised], size))
            prepare = _preparer(tokenised, sieves, annotator, model.way.causal)
            coming = [beside.submit(prepare, batch) for batch in batches[:1]]
            for number in range(len(batches)):
                batch = coming.pop().result()
                if number + 1 < len(batches):
                    coming.append(beside.submit(prepare, batches[number + 1]))
                _score(model, batch, table)
                advance(len(batch))
            yield table.shard()


def _return_large_blocks() -> None:
    """Have the C library give large blocks back to the system as soon as they are freed.

    Otherwise it soon keeps blocks of up to 32 MB in its heap, where batches of many shapes leave
    holes, and memory grows with the number of batches.
    """
    if sys.platform == "linux":
        set_option = getattr(ctypes.CDLL(None), "mallopt", None)
        if set_option is not None:
            set_option(MMAP_THRESHOLD, LARGE)


def _batches(order: np.ndarray, sizes: Sequence[int], largest: int) -> Iterator[np.ndarray]:
    """Places in batches, longest inputs first, each within ``largest`` inputs and ``PAIRS`` pairs."""
    start = 0
    while start < len(order):
        fitting = max(1, PAIRS // sizes[order[start]] ** 2)
        stop = start + min(largest, fitting)
        yield order[start:stop]
        start = stop


def _preparer(
    tokenised: Sequence[Tokenised], sieves: Columns, annotator: Annotator | None, causal: bool
) -> Callable[[np.ndarray], list[Prepared]]:
    """A function that annotates a batch and lays the sieves over it, for the thread beside the model."""

    def prepare(places: np.ndarray) -> list[Prepared]:
        chosen = [tokenised[place] for place in places]
        words = annotator.words([each.passage for each in chosen]) if annotator else [None] * len(chosen)
        arcs = "arcs" in sieves.needs
        batch = []
        for place, each, own in zip(places, chosen, words, strict=True):
            prepared = Prepared(int(place), each, example_of(each, own, arcs))
            planned(prepared, sieves, np.tri(each.size, dtype=np.bool_) if causal and each.size > 1 else None)
            batch.append(prepared)
        return batch

    return prepare


def _score(model: Model, batch: list[Prepared], table: Table) -> None:
    """Run a batch and write its scores; halve it and try again when memory does not suffice."""
    if _fits(model, batch, table):
        return
    if len(batch) == 1:
        raise BadInput(
            f"one input of {batch[0].tokenised.size} tokens does not fit in the memory of "
            f"{model.device}; give a smaller --max-length, or another --device"
        )
    half = len(batch) // 2
    _score(model, batch[:half], table)
    _score(model, batch[half:], table)


def _fits(model: Model, batch: list[Prepared], table: Table) -> bool:
    """Run a batch; False when memory did not suffice, with all that the failed pass held let go."""
    try:
        reader = Reader(model, batch, table)
        lengths = [prepared.tokenised.size for prepared in batch]
        run(model.network, model.way, _padded(model, batch), lengths, reader)
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if not _out_of_memory(error):
            raise
        return False
    return True


def _out_of_memory(error: BaseException) -> bool:
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    text = str(error).lower()
    return "out of memory" in text or "can't allocate memory" in text or "not enough memory" in text


def _padded(model: Model, batch: list[Prepared]) -> dict[str, torch.Tensor]:
    """The batch as tensors, padded on the right and masked by ourselves: not every tokenizer can."""
    width = max(prepared.tokenised.size for prepared in batch)
    pad = getattr(model.tokenizer, "pad_token_id", None) or 0
    tensors = {}
    for name in (*batch[0].tokenised.inputs, "attention_mask"):
        array = np.full((len(batch), width), pad if name == "input_ids" else 0, dtype=np.int64)
        for row, prepared in enumerate(batch):
            values = prepared.tokenised.inputs.get(name, [1] * prepared.tokenised.size)
            array[row, : len(values)] = values
        tensors[name] = torch.from_numpy(array).to(model.device)
    return tensors
