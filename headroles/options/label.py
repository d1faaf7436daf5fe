"""Options of runs of sieves, and of ``headroles label``."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from headroles.errors import BadInput
from headroles.options.inputs import InputOptions
from headroles.options.shared import (
    CACHE,
    KEEP,
    MAPS,
    MARGIN,
    PARSER,
    SIEVE,
    STATISTIC,
    TEST,
    VECTORS,
)
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

    sieve: Annotated[tuple[str | Sieve, ...], SIEVE] = ()
    statistic: Annotated[str, STATISTIC] = "selectivity"
    parser: Annotated[str | None, PARSER] = None
    vectors: Annotated[str | None, VECTORS.but(detail="The sieve related:other reads them.")] = None
    maps: Annotated[int, MAPS] = 1000
    margin: Annotated[float | None, MARGIN.but(default="each sieve's own")] = None
    test: Annotated[str | None, TEST.but(default="t-skew")] = None
    cache: Annotated[str | None, CACHE] = None

    KIND: ClassVar[str] = "label"
    COMMAND: ClassVar[str] = "headroles label"
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


MOST_KEPT = 100_000
"""Most examples whose scores are all kept; above it, moments and a random subsample are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelOptions(Options):
    """Options of ``headroles label``; ``headroles.label`` documents each.

    Attributes:
        kind: Which attention of an encoder-decoder is scored; None: the encoder's, or "self" for
            models with one stack.
        stream: Whether inputs are read one by one, without storing or counting them beforehand.
        keep: Most examples whose scores are all kept; above it, moments and a random subsample are kept.

    Raises:
        UnknownName: For a kind of attention that does not exist, and names that ``Options``
            refuses.
        BadInput: For numbers out of range, and values that ``Options`` refuses.
    """

    keep: Annotated[int, KEEP] = MOST_KEPT

    OF_MODELS: ClassVar[tuple[str, ...]] = (*Options.OF_MODELS, "keep")

    @property
    def most_kept(self) -> int:
        """Most examples whose scores are all kept."""
        return self.keep
