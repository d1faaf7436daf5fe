"""Passages to results, shard by shard: prepared beside the model, attention read as it passes by.

How the C library keeps free memory while inputs of many lengths pass by; nothing where it is not glibc.
"""

import ctypes
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import torch

from headroles.errors import BadInput
from headroles.extraction.capture.attention import RETURNED, run
from headroles.extraction.capture.readers import GraphReader, Reader
from headroles.extraction.capture.stacks import DECODED, ENCODED
from headroles.extraction.model.load import Model
from headroles.extraction.texts.tokens import Tokenised, tokenise
from headroles.records.passage import Passage

MMAP_THRESHOLD, LARGE = -3, 8 * 2**20
"""glibc's name for the smallest block that is mapped on its own, and what we set it to, in bytes."""
TRIM_THRESHOLD, SPARE = -1, 128 * 2**20
"""glibc's name for how much free memory it keeps at the end of its heap, and what we set it to, in bytes."""


def keep_blocks() -> None:
    """Have the C library keep blocks of up to 8 MB, and give larger ones back as soon as they are freed.

    A block that is given back and asked for again has each of its pages cleared by the system, which
    took a fifth of the time of a run of short inputs when blocks of 1 MB were. Left to itself, the
    library soon keeps blocks of up to 32 MB, where batches of many shapes leave holes, and memory
    grows with the number of batches.
    """
    set_option = _function("mallopt")
    if set_option is not None:
        set_option(MMAP_THRESHOLD, LARGE)
        set_option(TRIM_THRESHOLD, SPARE)


def give_back() -> None:
    """Have the C library give the pages of all free blocks back, holes among them.

    Asked for after each batch, whose layers use the same blocks again and again, it costs a run of short
    inputs 3 to 5 % of its time, and keeps memory from growing with the number of batches.
    """
    trim = _function("malloc_trim")
    if trim is not None:
        trim(0)


@cache
def _function(name: str) -> Any:
    """A function of the C library; None where there is none of that name."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None


SHARD = 256
"""Passages in a shard: what is sorted by length, held and written together."""
PAIRS = 2**18
"""Most (query, key) pairs in a batch, such as 16 inputs of 128 tokens: what is laid over them grows so."""
DEVICE_PAIRS = 2**21
"""The same on devices other than processors, such as 8 inputs of 512 tokens."""
RETURNED_BATCH = 8
"""Largest batch when all layers' weights are alive at once."""


@runtime_checkable
class Ready(Protocol):
    """One example ready for the model."""

    @property
    def tokenised(self) -> Tokenised:
        """Its pieces."""


Prepared = TypeVar("Prepared", bound=Ready)
Table = TypeVar("Table")
Result = TypeVar("Result", covariant=True)


@runtime_checkable
class Job(Protocol[Prepared, Table, Result]):
    """What is done with attention: scored by sieves, asked by probes, kept for training."""

    def table(self, tokenised: Sequence[Tokenised]) -> Table:
        """Where the results of a shard come together."""

    def prepare(self, tokenised: Sequence[Tokenised], places: np.ndarray) -> list[Prepared]:
        """Make a batch ready, in the thread beside the model.

        Args:
            tokenised: All examples of the shard.
            places: Which of them are the batch.
        """

    def reader(self, batch: list[Prepared], table: Table) -> Reader | GraphReader:
        """What takes the attention of a batch; asked for anew when a batch is halved."""

    def result(self, table: Table) -> Result:
        """What a finished shard gives."""


def stream(
    model: Model,
    passages: Sequence[Passage],
    job: Job[Prepared, Table, Result],
    *,
    batch_size: int,
    max_length: int,
    advance: Callable[[int], None],
) -> Iterator[Result]:
    """Run passages through a model shard by shard, and hand their attention to a job.

    Args:
        model: Ready to be read.
        passages: All of one width (single texts or pairs).
        job: What is done with the attention.
        batch_size: Largest batch; a batch that does not fit in memory is halved.
        max_length: Longest input, in tokens.
        advance: Called with the number of examples done since the last call.
    """
    shards = (passages[start : start + SHARD] for start in range(0, len(passages), SHARD))
    tokenised = (tokenise(model.tokenizer, shard, max_length) for shard in shards)
    yield from streamed(model, tokenised, job, batch_size=batch_size, advance=advance)


def streamed(
    model: Model,
    shards: Iterable[Sequence[Tokenised]],
    job: Job[Prepared, Table, Result],
    *,
    batch_size: int,
    advance: Callable[[int], None],
) -> Iterator[Result]:
    """Run inputs that are tokenised already through a model, shard by shard; the rest is as in ``stream``."""
    size = min(batch_size, RETURNED_BATCH) if model.way.name == RETURNED else batch_size
    keep_blocks()
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="annotation") as beside:
        for tokenised in shards:
            table = job.table(tokenised)
            order = np.argsort([-each.size for each in tokenised], kind="stable")
            batches = list(batches_of(order, [each.size for each in tokenised], size, model.device))
            coming = [beside.submit(job.prepare, tokenised, batch) for batch in batches[:1]]
            for number in range(len(batches)):
                batch = coming.pop().result()
                if number + 1 < len(batches):
                    coming.append(beside.submit(job.prepare, tokenised, batches[number + 1]))
                _read(model, batch, job, table)
                give_back()
                advance(len(batch))
            yield job.result(table)


def batches_of(
    order: np.ndarray, sizes: Sequence[int], largest: int, device: torch.device
) -> Iterator[np.ndarray]:
    """Places in batches, longest inputs first, each within so many inputs and (query, key) pairs.

    Args:
        order: Places, longest inputs first.
        sizes: Tokens by place.
        largest: Most inputs in a batch.
        device: Where they will be read, which says how many pairs there may be.
    """
    start, most = 0, PAIRS if device.type == "cpu" else DEVICE_PAIRS
    while start < len(order):
        fitting = max(1, most // sizes[order[start]] ** 2)
        stop = start + min(largest, fitting)
        yield order[start:stop]
        start = stop


def _read(model: Model, batch: list[Prepared], job: Job[Prepared, Table, Result], table: Table) -> None:
    """Run a batch and hand its attention over; halve it and try again when memory does not suffice."""
    if _fits(model, batch, job, table):
        return
    if len(batch) == 1:
        raise BadInput(
            f"one input of {batch[0].tokenised.size} tokens does not fit in the memory of "
            f"{model.device}; give a smaller --max-length, or another --device"
        )
    half = len(batch) // 2
    _read(model, batch[:half], job, table)
    _read(model, batch[half:], job, table)


def _fits(model: Model, batch: list[Prepared], job: Job[Prepared, Table, Result], table: Table) -> bool:
    """Run a batch; False when memory did not suffice, with all that the failed pass held let go."""
    try:
        lengths = [prepared.tokenised.size for prepared in batch]
        run(model.network, model.way, _padded(model, batch), lengths, job.reader(batch, table))
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


def _padded(model: Model, batch: Sequence[Ready]) -> dict[str, torch.Tensor]:
    """The batch as tensors, padded on the right and masked by ourselves: not every tokenizer can."""
    pad = getattr(model.tokenizer, "pad_token_id", None) or 0
    tensors = {}
    for name in dict.fromkeys((*batch[0].tokenised.inputs, "attention_mask")):
        ones = [[1] * each.tokenised.size for each in batch]
        rows = [each.tokenised.inputs.get(name, own) for each, own in zip(batch, ones, strict=True)]
        fill = pad if name in (ENCODED, DECODED) else 0
        array = np.full((len(batch), max(map(len, rows))), fill, dtype=np.int64)
        for row, values in enumerate(rows):
            array[row, : len(values)] = values
        tensors[name] = torch.from_numpy(array).to(model.device)
    return tensors
