"""Options of runs of sieves and of ``headroles label``, named as on the command line and in ``label()``."""

from dataclasses import dataclass, fields
from typing import ClassVar

from headroles.errors import BadInput, UnknownName
from headroles.options.inputs import InputOptions, input_name
from headroles.options.run import typed_options
from headroles.sieves.base import Sieve


@dataclass(frozen=True, slots=True)
class Clustering:
    """Settings of summing distances between heads, and of clustering heads by them.

    Attributes:
        way: "mean" over rows, inputs and units, or plain "sum" as in the released code.
        smoothing: Share of even attention mixed into every row.
        method: "average", "spectral" or "dbscan".
        clusters: Number of clusters; None: chosen by silhouette and stability.
        draws: Resamples of the units.
    """

    way: str
    smoothing: float
    method: str
    clusters: int | None
    draws: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(InputOptions):
    """Options of a run of sieves; ``headroles.label`` documents each.

    Raises:
        UnknownName: For a task, source, preset, device or precision that does not exist.
        BadInput: For numbers out of range, or options that exclude each other.
    """

    sieve: tuple[str | Sieve, ...] = ()
    statistic: str = "selectivity"
    parser: str | None = None
    vectors: str | None = None
    maps: int = 1000

    COMMAND: ClassVar[str] = "headroles label"
    LEAST: ClassVar[dict[str, int]] = InputOptions.LEAST | {"maps": 0}

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        InputOptions.__post_init__(self)
        if self.statistic != "selectivity" and self.preset == "published":
            raise BadInput("the preset 'published' has a statistic of its own; leave --statistic out")


def options_of(**given: object) -> Options:
    """Return options from given values, converting paths and numpy numbers.

    Raises:
        UnknownName: For an option, task, source, preset, device or precision that does not exist.
        BadInput: For values of another type or out of range, or options that exclude each other.

    Example:
        >>> from pathlib import Path
        >>> options_of(task="QNLI", model=Path("models") / "bert").model
        'models/bert'
    """
    return typed_options(Options, given)


ENGINES = ("local", "ray")
KINDS = ("self", "encoder", "decoder", "cross")
MODEL_OPTIONS = (
    "task", "source", "data", "text_a", "text_b", "group", "limit", "seed", "model", "revision", "kind",
    "stream", "keep", "shard_size", "maps", "max_length", "batch_size", "device", "dtype", "workers",
    "threads", "engine",
)  # fmt: skip
"""Options of runs of a model, which runs on stored maps do not accept."""
MOST_KEPT = 100_000
"""Most examples whose scores are all kept; above it, moments and a random subsample are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelOptions(Options):
    """Options of ``headroles label``; ``headroles.label`` documents each.

    Attributes:
        kind: Which attention of an encoder-decoder is scored; None: the encoder's, or "self" for
            models with one stack.
        attention: A file of stored maps that are scored instead of running a model; None runs a model.
        stream: Whether inputs are read one by one, without storing or counting them beforehand.
        keep: Most examples whose scores are all kept; above it, moments and a random subsample are kept.
        shard_size: Examples in a shard, which is scored and written as one.
        workers: Processes that score shards in parallel.
        threads: Threads of each worker; None: the processors of the machine shared among them.
        engine: "local" or "ray".
        address: Address of a Ray cluster; None uses that of ``RAY_ADDRESS``, or starts one on this machine.
        gpus: GPUs of each worker, for Ray; fractions are allowed.
        cache: Folder of cached parses, or "none"; None: a cache folder of the user.

    Raises:
        UnknownName: For an engine or kind of attention that does not exist, and names that ``Options``
            refuses.
        BadInput: For numbers out of range, and values that ``Options`` refuses.
    """

    kind: str | None = None
    attention: str | None = None
    stream: bool = False
    keep: int = MOST_KEPT
    shard_size: int = 256
    workers: int = 1
    threads: int | None = None
    engine: str = "local"
    address: str | None = None
    gpus: float = 0.0
    cache: str | None = None

    LEAST: ClassVar[dict[str, int]] = Options.LEAST | {
        "keep": 1, "shard_size": 1, "workers": 1, "threads": 1
    }  # fmt: skip
    PLACES: ClassVar[tuple[str, ...]] = (
        *InputOptions.PLACES, "workers", "threads", "engine", "address", "gpus", "cache"
    )  # fmt: skip

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        Options.__post_init__(self)
        if self.engine not in ENGINES:
            raise UnknownName("engine", self.engine, ENGINES)
        if self.kind is not None and self.kind not in KINDS:
            raise UnknownName("kind of attention", self.kind, KINDS)
        if self.attention is not None:
            self._check_stored()
        if self.kind == "cross" and self.preset == "published":
            raise BadInput(
                "the preset 'published' scores attention of a stack to itself, as the released code does, "
                "but --kind is 'cross'; leave --preset out"
            )
        if not 0 <= self.gpus < float("inf"):
            raise BadInput(f"gpus must be a number of at least 0, but got {self.gpus}")
        if self.engine != "ray":
            for name, default in (("address", None), ("gpus", 0.0)):
                if getattr(self, name) != default:
                    raise BadInput(f"--{name} is of the engine 'ray', but the engine is {self.engine!r}")

    @property
    def brought(self) -> bool:
        """Whether stored maps are scored, which have their own inputs."""
        return self.attention is not None

    @property
    def name(self) -> str:
        """Name of the inputs: the task's, or the file's."""
        return self.task or input_name(self.attention or self.data)

    def _check_stored(self) -> None:
        """Refuse options of model and inputs where stored maps are scored."""
        defaults = {field.name: field.default for field in fields(self)}
        for name in MODEL_OPTIONS:
            if getattr(self, name) != defaults[name]:
                raise BadInput(
                    f"--attention brings inputs and a model of its own, so --{name.replace('_', '-')} has "
                    f"no effect; leave it out"
                )


def label_options_of(**given: object) -> LabelOptions:
    """Return options from given values, converting paths and numpy numbers.

    Raises:
        UnknownName: For an option that does not exist, or a name that ``LabelOptions`` refuses.
        BadInput: For values of another type, or values that ``LabelOptions`` refuses.

    Example:
        >>> label_options_of(task="QNLI", workers=2).settings()["shard_size"]
        256
    """
    return typed_options(LabelOptions, given)
