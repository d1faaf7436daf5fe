"""Records that a run of shards exchanges with its workers, and the protocol of engines.

A run gives an order and tasks to an engine, and gets facts and receipts.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, runtime_checkable

from headroles.options.label import LabelOptions
from headroles.records.kept_maps import InputMaps
from headroles.records.passage import Passage


@dataclass(frozen=True, slots=True)
class Order:
    """Instructions that every worker of a run gets before its first shard.

    Attributes:
        options: Options of the run; sieves given as objects instead of names cannot leave the process.
        place: Path or address that shards are written to; None for the memory of a single worker's process.
        whole: Whether the scores of all examples are kept; otherwise moments and a random subsample.
        threads: Threads of the worker; None for as many as its process has.
    """

    options: LabelOptions
    place: str | None
    whole: bool = True
    threads: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A shard to be scored: a fixed sequence of examples.

    Attributes:
        number: Number of the shard, from 0.
        passages: Its inputs.
        units: The unit of each input.
        digest: SHA-256 over keys, texts, groups, units and gold annotation.
    """

    number: int
    passages: tuple[Passage, ...]
    units: tuple[str, ...]
    digest: str


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


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about the model and annotation of a loaded worker; the run itself loads no model.

    Attributes:
        layers: Number of layers.
        heads: Number of heads in each layer.
        described: Description of the model, for the manifest.
        identity: As in ``Receipt``.
        parser: Description of the parser; None when none is used.
        vectors: Description of the word vectors; None when none are used.
        omitted: Sieves left out because annotation is missing, one sentence each.
        columns: Names of the columns of scores, those of scorers last.
        scorers: Number of columns of scorers, which have a chance value per example.
        components: The parts of ``identity`` by name, so that a difference can be named.
    """

    layers: int
    heads: int
    described: dict[str, Any]
    identity: str
    parser: dict[str, str] | None
    vectors: dict[str, Any] | None
    omitted: tuple[str, ...]
    columns: tuple[str, ...] = ()
    scorers: int = 0
    components: dict[str, Any] = field(default_factory=dict)


@runtime_checkable
class Engine(Protocol):
    """Scores shards in this process, in other processes of this machine, or on a cluster.

    Used as a context manager; no process is left behind, however the context ends.
    """

    @property
    def facts(self) -> Facts:
        """Return the facts of the model and annotation, as the first worker loaded them."""

    def score(self, tasks: Iterable[Task]) -> Iterator[Receipt]:
        """Score shards and yield each receipt when the files of its shard are whole, in any order.

        Tasks are taken from the iterable when workers become free, a few ahead, never all at once.

        Raises:
            HeadrolesError: When a worker raised it.
        """

    def keep(self, passages: Sequence[Passage], asked: Sequence[dict[int, list[int]]]) -> list[InputMaps]:
        """Run some inputs again and keep, for each, the attention maps of the requested heads by layer."""

    def __enter__(self) -> "Engine":
        """Start the workers."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the workers."""
