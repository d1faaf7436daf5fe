"""Options of runs of sieves and of ``headroles label``, named as on the command line and in ``label()``."""

from dataclasses import dataclass
from typing import ClassVar

from headroles.errors import BadInput
from headroles.options.inputs import InputOptions
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

    Attributes:
        cache: Folder of cached parses, or "none"; None: a cache folder of the user.

    Raises:
        UnknownName: For a task, source, preset, device or precision that does not exist.
        BadInput: For numbers out of range, or options that exclude each other.
    """

    sieve: tuple[str | Sieve, ...] = ()
    statistic: str = "selectivity"
    parser: str | None = None
    vectors: str | None = None
    maps: int = 1000
    cache: str | None = None

    KIND: ClassVar[str] = "label"
    COMMAND: ClassVar[str] = "headroles label"
    LEAST: ClassVar[dict[str, int]] = InputOptions.LEAST | {"maps": 0}
    PLACES: ClassVar[tuple[str, ...]] = (*InputOptions.PLACES, "cache")

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        InputOptions.__post_init__(self)
        if self.statistic != "selectivity" and self.preset == "published":
            raise BadInput("the preset 'published' has a statistic of its own; leave --statistic out")
        if self.kind == "cross" and self.preset == "published":
            raise BadInput(
                "the preset 'published' scores attention of a stack to itself, as the released code does, "
                "but --kind is 'cross'; leave --preset out"
            )


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


MOST_KEPT = 100_000
"""Most examples whose scores are all kept; above it, moments and a random subsample are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelOptions(Options):
    """Options of ``headroles label``; ``headroles.label`` documents each.

    Attributes:
        keep: Most examples whose scores are all kept; above it, moments and a random subsample are kept.

    Raises:
        UnknownName: For names that ``Options`` refuses.
        BadInput: For numbers out of range, and values that ``Options`` refuses.
    """

    keep: int = MOST_KEPT

    LEAST: ClassVar[dict[str, int]] = Options.LEAST | {"keep": 1}
    OF_MODELS: ClassVar[tuple[str, ...]] = (*Options.OF_MODELS, "keep")

    @property
    def most_kept(self) -> int:
        """Most examples whose scores are all kept."""
        return self.keep


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
