"""Options of a run of sieves that also clusters heads."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from headroles.errors import BadInput
from headroles.options.described import Option
from headroles.options.label import Clustering, Options
from headroles.records.rules.names import METHODS

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

    divergence: Annotated[
        str,
        Option(
            "Distances between heads: mean, or published (summed and smoothed).",
            "Questions",
            choices=WAYS,
            rare=True,
        ),
    ] = "mean"
    smoothing: Annotated[
        float | None,
        Option(
            "Share of even attention that is mixed into every row.",
            "Questions",
            least=0,
            below=1,
            default="0; published: 0.001",
            rare=True,
        ),
    ] = None
    method: Annotated[str, Option("Method of clustering.", "Questions", choices=METHODS)] = "average"
    clusters: Annotated[
        int | None,
        Option("Number of clusters.", "Questions", least=2, default="chosen by silhouette and stability"),
    ] = None
    draws: Annotated[
        int, Option("Number of resamples of the units for clusters.", "Questions", least=20, rare=True)
    ] = 200

    KIND: ClassVar[str] = "cluster"
    COMMAND: ClassVar[str] = "headroles cluster"

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        Options.__post_init__(self)
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
