"""Options of a run of sieves that also clusters heads."""

from dataclasses import dataclass
from typing import ClassVar

from headroles.errors import BadInput, UnknownName
from headroles.options.label import Clustering, Options
from headroles.options.run import typed_options
from headroles.records.clusters import METHODS

WAYS = ("mean", "published")
RELEASED = 0.001
"""Share of even attention that the released code mixes into every row (Clark et al. 2019)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions(Options):
    """Options of a run of clusters; ``headroles.cluster`` documents each.

    Raises:
        UnknownName: For a divergence or method that does not exist, and names that ``Options`` refuses.
        BadInput: For numbers out of range, and values that ``Options`` refuses.
    """

    divergence: str = "mean"
    smoothing: float | None = None
    method: str = "average"
    clusters: int | None = None
    draws: int = 200

    KIND: ClassVar[str] = "cluster"
    COMMAND: ClassVar[str] = "headroles cluster"
    LEAST: ClassVar[dict[str, int]] = Options.LEAST | {"clusters": 2, "draws": 20}

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        Options.__post_init__(self)
        for kind, value, known in (("divergence", self.divergence, WAYS), ("method", self.method, METHODS)):
            if value not in known:
                raise UnknownName(kind, value, known)
        if self.smoothing is not None and not 0 <= self.smoothing < 1:
            raise BadInput(f"smoothing must be at least 0 and below 1, but got {self.smoothing}")
        if self.method == "dbscan" and self.clusters is not None:
            raise BadInput("dbscan finds the number of clusters itself; leave --clusters out")

    @property
    def clustering(self) -> Clustering:
        """Settings of divergences and clusters."""
        published = self.divergence == "published"
        default = RELEASED if published else 0.0
        return Clustering(
            way="sum" if published else "mean",
            smoothing=default if self.smoothing is None else self.smoothing,
            method=self.method,
            clusters=self.clusters,
            draws=self.draws,
        )


def cluster_options_of(**given: object) -> ClusterOptions:
    """Return options from given values, converting paths and numpy numbers.

    Raises:
        UnknownName: For an option that does not exist, or a name that ``ClusterOptions`` refuses.
        BadInput: For values of another type, or values that ``ClusterOptions`` refuses.

    Example:
        >>> cluster_options_of(task="QNLI", divergence="published").clustering.smoothing
        0.001
    """
    return typed_options(ClusterOptions, given)
