"""What a run of shards hands to its workers, and what comes back: the records between run and engines."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, runtime_checkable

from headroles.options.label import LabelOptions
from headroles.records.kept_maps import Maps
from headroles.records.passage import Passage


@dataclass(frozen=True, slots=True)
class Order:
    """What every worker of a run is told before its first shard, wherever it is.

    Attributes:
        options: Of the run; sieves that are no names cannot leave the process.
        place: Path or address that shards are written to; None: memory of the one worker's process.
        whole: Whether the scores of all examples are kept; else moments and a random subsample.
        threads: Threads of the worker; None: as many as its process has.
    """

    options: LabelOptions
    place: str | None
    whole: bool = True
    threads: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A shard to be scored: a fixed run of examples.

    Attributes:
        number: Of the shard, from 0.
        passages: Its inputs.
        units: The unit of each.
        digest: SHA-256 over keys, texts, groups, units and gold annotation: what was read.
    """

    number: int
    passages: tuple[Passage, ...]
    units: tuple[str, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """What says that a shard is done: written beside it once its files are whole.

    Attributes:
        number: Of the shard.
        examples: How many.
        tokens: All its tokens.
        truncated: Inputs that were cut.
        digest: Of the task.
        identity: SHA-256 over all that decides its numbers: settings, code, weights, parser, versions.
        files: SHA-256 of each of its files, by name within the run folder.
        low: Smallest value each column could take on its examples; NaN is written as None.
        high: Largest value.
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
    """What a loaded worker says of itself, so that the run need not load a model of its own.

    Attributes:
        layers: Number of layers.
        heads: Heads of each.
        described: What the model is, for the manifest.
        identity: As in ``Receipt``.
        parser: What the parser is; None when none is used.
        vectors: What the word vectors are; None when none are used.
        omitted: Sieves left out for want of annotation, one sentence each.
        columns: Names of the columns of scores, those of scorers last.
        scorers: How many of the columns are of scorers, which have a chance value per example.
        components: What ``identity`` is made of, by name, so that a difference can be named.
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
    """Where shards are scored: in this process, in processes beside it, or on a cluster.

    Used as a context; leaving it leaves no process behind, however it is left.
    """

    @property
    def facts(self) -> Facts:
        """Of the model and annotation, as the first worker loaded them."""

    def score(self, tasks: Iterable[Task]) -> Iterator[Receipt]:
        """Score shards; each receipt comes when the files of its shard are whole, in any order.

        Tasks are taken from the iterable as workers get free, a few ahead, never all at once.

        Raises:
            HeadrolesError: What a worker raised.
        """

    def keep(self, passages: Sequence[Passage], asked: Sequence[dict[int, list[int]]]) -> list[Maps]:
        """Run some inputs once more and keep maps of the heads asked for, by layer, for each."""

    def __enter__(self) -> "Engine":
        """Start the workers."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop them."""
