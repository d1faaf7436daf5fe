"""The options of a run of sieves: one record with the names of the command line and of ``label()``."""

from dataclasses import dataclass
from typing import ClassVar

from headroles.common_options import typed_options
from headroles.errors import BadInput
from headroles.input_options import InputOptions
from headroles.sieves.base import Sieve


@dataclass(frozen=True, slots=True)
class Clustering:
    """How distances between heads are summed, and how heads are clustered by them.

    Attributes:
        way: "mean" over rows, inputs and units, or plain "sum" as released.
        smoothing: Share of even attention mixed into every row.
        method: "average", "spectral" or "dbscan".
        clusters: Their number; None: chosen by silhouette and stability.
        draws: Resamples of the units.
    """

    way: str
    smoothing: float
    method: str
    clusters: int | None
    draws: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(InputOptions):
    """What a run is asked to do; ``headroles.label`` documents each.

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
    """Options from whatever a caller gave them as, such as paths or numbers of numpy.

    Raises:
        UnknownName: For an option, task, source, preset, device or precision that does not exist.
        BadInput: For values of another type or out of range, or options that exclude each other.

    Example:
        >>> from pathlib import Path
        >>> options_of(task="QNLI", model=Path("models") / "bert").model
        'models/bert'
    """
    return typed_options(Options, given)
