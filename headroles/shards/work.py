"""Records that a run of shards exchanges with its workers, and the protocol of engines.

A run gives an order and tasks to an engine, and gets facts and receipts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from headroles.options.run import CommonOptions
from headroles.progress import Advance
from headroles.records.example import Scores
from headroles.records.kept_maps import InputMaps, WantedMaps
from headroles.records.layers import Stack, stack_of
from headroles.records.passage import Passage
from headroles.records.rules.rule import Rule

if TYPE_CHECKING:
    from headroles.extraction.jobs.keep_maps import KeptInput
    from headroles.extraction.source import AttentionSource


@dataclass(frozen=True, slots=True)
class Order:
    """Instructions that every worker of a run gets before its first shard.

    Attributes:
        options: Options of a run of any kind; sieves given as objects instead of names cannot leave the
            process.
        place: Path or address that shards are written to; None for the memory of a single worker's process.
        whole: Whether the scores of all examples are kept; otherwise moments and a random subsample.
        threads: Threads of the worker; None for as many as its process has.
        shards: Most shards of the run, which is the most workers that it can use; None where it is not known.
    """

    options: CommonOptions
    place: str | None
    whole: bool = True
    threads: int | None = None
    shards: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A shard to be scored: a fixed sequence of examples.

    Attributes:
        number: Number of the shard, from 0.
        passages: Its inputs.
        units: The unit of each input.
        digest: SHA-256 over keys, texts, groups, units and gold annotation.
        places: The place of each input's unit among all units of the run, from 0 in the order of first
            appearance; empty where all units of the run are not known.
        members: Number of inputs in the unit of each input; empty where all units are not known.
        units_of_run: Number of units of the run; 0 where they are not known.
    """

    number: int
    passages: tuple[Passage, ...]
    units: tuple[str, ...]
    digest: str
    places: tuple[int, ...] = ()
    members: tuple[int, ...] = ()
    units_of_run: int = 0


@dataclass(frozen=True, slots=True)
class Receipt:
    """The record of a finished shard, written after all its files.

    Attributes:
        number: Number of the shard.
        examples: Number of its examples.
        tokens: Number of its tokens.
        truncated: Number of truncated inputs.
        digest: Digest of the task.
        identity: SHA-256 over all that decides its numbers: settings, code, weights, parser, versions.
        files: SHA-256 of each of its files, by name within the run folder.
        low: Smallest value each column could take on its examples; NaN is written as None.
        high: Largest value each column could take on its examples; NaN is written as None.
        counts: Further counts of its examples by name, which the kind of run adds up.
    """

    number: int
    examples: int
    tokens: int
    truncated: int
    digest: str
    identity: str
    files: dict[str, str]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class ShardResult:
    """Results of a shard, as a worker of any kind of run writes them.

    Attributes:
        scores: Scores of its examples, one row per column.
        low: Smallest value each column could take on its examples; not finite where none is known.
        high: Largest value.
        truncated: Number of inputs that were cut.
        files: Contents of the files of the kind of run, by the ending of their names; they come beside
            the files of scores.
        counts: As in ``Receipt``.
    """

    scores: Scores
    low: Float[np.ndarray, " columns"]
    high: Float[np.ndarray, " columns"]
    truncated: int
    files: Mapping[str, bytes] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


@runtime_checkable
class ShardWork(Protocol):
    """The work of one kind of run on shards, with model and annotation loaded."""

    @property
    def source(self) -> "AttentionSource":
        """Return the model, or the stored maps, whose attention is read."""

    @property
    def rules(self) -> Sequence[Rule]:
        """Return the rule of each column, those of scorers last."""

    @property
    def known(self) -> "Known":
        """Return what the work knows beyond model and options."""

    def read(self, task: Task, advance: Advance) -> ShardResult:
        """Read the inputs of a shard.

        Args:
            task: The shard.
            advance: Called with the number of examples scored or parsed since the last call.
        """

    def expect(self, task: Task) -> None:
        """Take notice of a later shard, whose texts may be parsed ahead."""

    def close(self) -> None:
        """Release everything that outlives a shard, such as parser processes."""


@runtime_checkable
class HoldsMaps(Protocol):
    """Work of a kind of run that holds the attention maps of all heads of a small run since it was scored."""

    def held_maps(self) -> "Mapping[str, KeptInput] | None":
        """Return the maps of every input of the run by its key; None where the run is too large for that."""


@runtime_checkable
class CountsCells(Protocol):
    """Work of a kind of run whose sieves count cells of attention."""

    def count_cells(
        self, passages: Sequence[Passage], sieves: Sequence[Sequence[str]]
    ) -> list[dict[str, np.ndarray]]:
        """Return the (queries, keys) cells, bool, that the named sieves count on each input.

        Sieves that compute from attention count no cells and are left out.
        """


@dataclass(frozen=True, slots=True)
class Known:
    """Facts that the work of a kind of run knows beyond its model.

    Attributes:
        parser: Description of the parser; None when none is used.
        vectors: Description of the word vectors; None when none are used.
        omitted: Sieves left out because annotation is missing, one sentence each.
        scorers: Number of columns of scorers, which have a chance value per example.
        components: Parts of the identity of a run by name, beyond those of model, code and settings.
        noted: Facts for the manifest, by name.
    """

    parser: dict[str, str] | None = None
    vectors: dict[str, Any] | None = None
    omitted: tuple[str, ...] = ()
    scorers: int = 0
    components: dict[str, Any] = field(default_factory=dict)
    noted: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about the model and annotation of a loaded worker; the run itself loads no model.

    Attributes:
        layers: Number of layers.
        heads: Number of heads in each layer.
        described: Description of the model, for the manifest.
        identity: As in ``Receipt``.
        columns: Names of the columns of scores, those of scorers last.
        components: The parts of ``identity`` by name, so that a difference can be named.
        known: Facts that the work of the kind of run knows beyond its model.
    """

    layers: int
    heads: int
    described: dict[str, Any]
    identity: str
    columns: tuple[str, ...]
    components: dict[str, Any]
    known: Known

    @property
    def stack(self) -> Stack:
        """Return the layers by their positions in the model."""
        return stack_of(self.described)


@runtime_checkable
class Engine(Protocol):
    """Scores shards in this process, in other processes of this machine, or on a cluster.

    Used as a context manager; no process is left behind, however the context ends.
    """

    @property
    def facts(self) -> Facts:
        """Return the facts of the model and annotation, as the first worker loaded them."""

    @property
    def source(self) -> "AttentionSource | None":
        """Return the model, or the stored maps, of the worker in this process; None where there is none."""

    def score(self, tasks: Iterable[Task]) -> Iterator[Receipt]:
        """Score shards and yield each receipt when the files of its shard are whole, in any order.

        Tasks are taken from the iterable when workers become free, a few ahead, never all at once.

        Raises:
            HeadrolesError: When a worker raised it.
        """

    def drop(self) -> None:
        """Wait for shards that are being scored, and drop their receipts and errors: no more are needed.

        ``score`` is then over. The workers stay, for ``keep``.
        """

    def keep(self, passages: Sequence[Passage], asked: Sequence[WantedMaps]) -> list[InputMaps]:
        """Return, for each of some inputs, the wanted attention maps and cells."""

    def __enter__(self) -> "Engine":
        """Start the workers."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the workers."""
