"""Run passages through a model (or read their stored maps) shard by shard, and hand attention to a job.

Batches are prepared in a second thread where there is a processor for it. On Linux the C library (glibc) is
set to keep free memory so that it does not grow while inputs of many lengths are read.
"""

import ctypes
import mmap
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import torch

from headroles.errors import BadInput
from headroles.extraction.capture.attention import read_attention
from headroles.extraction.capture.method import EQUAL, SINGLE, CaptureMethod
from headroles.extraction.capture.readers import GraphReader, OptionalBatchReader, Reader
from headroles.extraction.capture.stacks import ENCODER_IDS, PADDING_MASKS
from headroles.extraction.model.load import Model
from headroles.extraction.padding import check_numbers, pad_inputs
from headroles.extraction.scoring.finite import NotFiniteError
from headroles.extraction.source import AttentionSource, StoredMaps
from headroles.extraction.texts.tokens import Tokenised, tokenise
from headroles.records.passage import Passage
from headroles.records.rules.names import RETURNED

SHARD = 256
"""Passages in a shard, which are sorted by length, held and written together."""
MOST_PAIRS = 2**18
"""Most (query, key) pairs in a batch on a CPU, such as 16 inputs of 128 tokens; memory grows with them."""
MOST_DEVICE_PAIRS = 2**21
"""Most pairs in a batch on other devices, such as 8 inputs of 512 tokens."""
RETURNED_BATCH = 8
"""Largest batch when the weights of all layers are in memory at once, as those of stored maps are."""
MMAP_THRESHOLD, MMAP_BYTES = -3, 8 * 2**20
"""Option of glibc for the smallest block that gets its own memory mapping, and its value here in bytes."""
TRIM_THRESHOLD, TRIM_BYTES = -1, 128 * 2**20
"""glibc's number for the free memory kept at the end of its heap, and the value set here, in bytes."""
MOST_FREE = 64 * 2**20
"""Bytes by which a process may grow beyond what a batch needs before free memory is returned."""


@runtime_checkable
class PreparedInput(Protocol):
    """One example that is ready for the model."""

    @property
    def tokenised(self) -> Tokenised:
        """Return its pieces."""


Prepared = TypeVar("Prepared", bound=PreparedInput)
Table = TypeVar("Table")
Result = TypeVar("Result", covariant=True)


@runtime_checkable
class Job(Protocol[Prepared, Table, Result]):
    """A job: scores of sieves, answers of probes, or maps to keep, computed from attention."""

    def table(self, tokenised: Sequence[Tokenised]) -> Table:
        """Return an empty table for the results of a shard."""

    def prepare(self, tokenised: Sequence[Tokenised], places: np.ndarray) -> list[Prepared]:
        """Prepare a batch, in a second thread where there is one.

        Args:
            tokenised: All examples of the shard.
            places: Places of the batch among them.
        """

    def reader(self, batch: list[Prepared], table: Table) -> Reader | GraphReader:
        """Return the reader of a batch's attention; called again when a batch is halved."""

    def result(self, table: Table) -> Result:
        """Return the result of a finished shard."""


def stream(
    model: AttentionSource,
    passages: Sequence[Passage],
    job: Job[Prepared, Table, Result],
    *,
    batch_size: int,
    max_length: int,
    advance: Callable[[int], None],
) -> Iterator[Result]:
    """Run passages through a model shard by shard, and hand their attention to a job.

    Args:
        model: The model to read, or stored maps.
        passages: All single texts, or all pairs.
        job: The job that gets the attention.
        batch_size: Largest batch; a batch that does not fit in memory is halved.
        max_length: Longest input, in tokens.
        advance: Called with the number of examples done since the last call.
    """
    shards = (passages[start : start + SHARD] for start in range(0, len(passages), SHARD))
    tokenised = (tokenise(model.tokenizer, shard, max_length) for shard in shards)
    yield from stream_tokenised(model, tokenised, job, batch_size=batch_size, advance=advance)


def stream_tokenised(
    model: AttentionSource,
    shards: Iterable[Sequence[Tokenised]],
    job: Job[Prepared, Table, Result],
    *,
    batch_size: int,
    advance: Callable[[int], None],
    prepared: Callable[[int], None] = lambda count: None,
    ahead: bool = True,
) -> Iterator[Result]:
    """Run tokenised inputs through a model shard by shard, and yield results as ``stream`` does.

    Args:
        model: As ``stream`` takes it.
        shards: Tokenised inputs of every shard.
        job: The job that gets the attention.
        batch_size: Largest batch.
        advance: Called with the number of examples done since the last call.
        prepared: Called with the number of examples whose annotation is ready since the last call.
        ahead: Whether the next batch is prepared in a second thread while the model computes. Without a
            processor for it, the two threads slow each other down: a run then takes 5 % longer. For a model
            on another device it always is.
    """
    ahead = ahead or model.device.type != "cpu"
    whole = isinstance(model, StoredMaps) or model.way.name == RETURNED
    size = min(batch_size, RETURNED_BATCH) if whole else batch_size
    memory = free_memory()
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="annotation") as executor:
        for tokenised in shards:
            memory.trim()
            table = job.table(tokenised)
            order = np.argsort([-passage.size for passage in tokenised], kind="stable")
            sizes = [passage.size for passage in tokenised]
            batches = list(split_into_batches(order, sizes, size, model))
            tasks = [partial(job.prepare, tokenised, places) for places in batches]
            getters = (executor.submit(task).result if ahead else task for task in tasks)
            get_batch = next(getters, None)
            while get_batch is not None:
                batch = get_batch()
                prepared(len(batch))
                get_batch = next(getters, None)
                _run_batch(model, batch, job, table)
                memory.trim()
                advance(len(batch))
            yield job.result(table)


def split_into_batches(
    order: np.ndarray, sizes: Sequence[int], largest: int, model: AttentionSource
) -> Iterator[np.ndarray]:
    """Yield batches of places, longest inputs first, with limits on inputs and (query, key) pairs.

    Args:
        order: Places, longest inputs first.
        sizes: Number of tokens by place.
        largest: Most inputs in a batch.
        model: The model. Its device sets the limit on pairs, and its way which inputs may share a batch.
    """
    start, most = 0, MOST_PAIRS if model.device.type == "cpu" else MOST_DEVICE_PAIRS
    together = model.way.batches
    while start < len(order):
        longest = sizes[order[start]]
        stop = start + min(largest, max(1, most // longest**2))
        if together == SINGLE:
            stop = start + 1
        elif together == EQUAL:
            stop = next(
                (at for at in range(start, min(stop, len(order))) if sizes[order[at]] < longest), stop
            )
        yield order[start:stop]
        start = stop


def _run_batch(
    model: AttentionSource, batch: list[Prepared], job: Job[Prepared, Table, Result], table: Table
) -> None:
    """Run a batch and hand its attention over; halve it and try again when it does not fit in memory."""
    if _try_batch(model, batch, job, table):
        return
    if len(batch) == 1:
        raise BadInput(
            f"one input of {batch[0].tokenised.size} tokens does not fit in the memory of "
            f"{model.device}; give a smaller --max-length, or another --device"
        )
    half = len(batch) // 2
    _run_batch(model, batch[:half], job, table)
    _run_batch(model, batch[half:], job, table)


def _try_batch(
    model: AttentionSource, batch: list[Prepared], job: Job[Prepared, Table, Result], table: Table
) -> bool:
    """Run a batch; return False when it does not fit in memory, after the failed pass has been freed."""
    try:
        inputs, reader = [prepared.tokenised for prepared in batch], job.reader(batch, table)
        if isinstance(model, StoredMaps):
            model.read(inputs, reader)
        else:
            assert isinstance(model, Model)
            lengths = [given.size for given in inputs]
            packs = _packs(model.way, lengths, reader)
            tensors = pack_inputs(model, inputs) if packs else pad_inputs(model, inputs)
            read_attention(model.network, model.way, tensors, lengths, reader, model.layers)
    except NotFiniteError as error:
        raise NotFiniteError(error.key, model.way.number(error.layer)) from None
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        return False
    return True


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that memory was too small, in the words of torch or of the system."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    text = str(error).lower()
    return "out of memory" in text or "can't allocate memory" in text or "not enough memory" in text


def _packs(way: CaptureMethod, lengths: Sequence[int], reader: Reader | GraphReader) -> bool:
    """Return whether a batch is packed: lengths differ, and it is read as one, without norms of values."""
    if way.packs is None or way.norms is not None or len(set(lengths)) == 1:
        return False
    if way.packs.most is not None and sum(lengths) > way.packs.most:
        return False
    return isinstance(reader, OptionalBatchReader) and reader.together


def pack_inputs(model: Model, batch: Sequence[Tokenised]) -> dict[str, torch.Tensor]:
    """Return the examples of a batch in one row, one after another, with the positions of their tokens."""
    assert model.way.packs is not None
    for name in batch[0].inputs:
        check_numbers(model.network, name, [given.inputs[name] for given in batch])
    tensors = {
        name: torch.tensor([[number for given in batch for number in given.inputs[name]]])
        for name in batch[0].inputs
        if name != PADDING_MASKS[ENCODER_IDS]
    }
    positions = [np.arange(given.size) + model.way.packs.first for given in batch]
    return tensors | {"position_ids": torch.from_numpy(np.concatenate(positions))[None]}


def set_memory_options() -> None:
    """Let the C library keep blocks of up to 8 MB, and return larger ones to the system once freed.

    The system clears every page of a block that is returned and allocated again. That took a fifth of the
    time of a run of short inputs when blocks of 1 MB were returned. By default the library soon keeps
    blocks of up to 32 MB. Batches of many shapes leave holes in them, and memory grows with the number of
    batches.
    """
    set_option = _c_function("mallopt")
    if set_option is not None:
        set_option(MMAP_THRESHOLD, MMAP_BYTES)
        set_option(TRIM_THRESHOLD, TRIM_BYTES)


class FreeMemory:
    """The memory that the C library keeps for new blocks, holes included.

    Returned to the system after every batch, it costs a run of short inputs 6 % of its time: the next batch
    asks for the same pages again, and the system clears each. Never returned, it grows with the number of
    batches. So it is returned when the process has grown since the first batch after the last time.
    """

    def __init__(self) -> None:
        """Set the options of the C library."""
        set_memory_options()
        self._least: int | None = None

    def trim(self) -> None:
        """Return all free pages when the process has grown by ``MOST_FREE`` bytes.

        Called before every shard and after every batch. What the first batch after a return needs counts as
        no growth, unless a shard ends in between.
        """
        size = _resident_bytes()
        if self._least is None:
            self._least = size
        elif size - self._least >= MOST_FREE:
            self.release()

    def release(self) -> None:
        """Return all free pages: what comes next needs other memory than batches do."""
        trim = _c_function("malloc_trim")
        if trim is not None:
            trim(0)
            self._least = None


@cache
def free_memory() -> FreeMemory:
    """Return the free memory of this process, with the options of the C library set."""
    return FreeMemory()


def _resident_bytes() -> int:
    """Return the bytes of memory that the process has; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * mmap.PAGESIZE
    except OSError:
        return 0


@cache
def _c_function(name: str) -> Any:
    """Return a function of the C library; None on other systems than Linux, or where there is none."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
