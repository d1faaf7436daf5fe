"""Label heads and cluster them by the distances between their attention: ``cluster()``."""

from collections.abc import Callable, Sequence
from typing import Any

from headroles.options.cluster import cluster_options_of
from headroles.records.findings import Labelling
from headroles.runs.defaults import sieve_tuple
from headroles.runs.run import run
from headroles.sieves.base import Sieve


def cluster(
    task: str | None = None,
    *,
    sieve: str | Sieve | Sequence[str | Sieve] = (),
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Labelling:
    """Label the heads of a model, and cluster them by the Jensen-Shannon divergence of their attention.

    Distances and scores are computed in one pass over the inputs. Maps for head cards are computed in a
    second pass over a few of them. A distance is the square root of the mean divergence (nats) over query
    rows, inputs and units.

    Args:
        task: As for ``headroles.label``.
        sieve: As for ``headroles.label``; the roles are compared with the clusters.
        progress: Called with the inputs done and their total.
        **options: The options of ``headroles.label`` but ``keep``; and
            ``divergence`` ("mean", or "published": summed and smoothed as released), ``smoothing`` (share of
            even attention mixed into every row; None: 0, or 0.001 as released), ``method`` ("average"
            linkage, "spectral" or "dbscan"), ``clusters`` (their number; None: chosen by silhouette and
            stability) and ``draws`` (resamples of the units for intervals, stability and clouds).

    Returns:
        The labelling, with ``clustered``.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence, with nothing left half-written.
    """
    return run(cluster_options_of(task=task, sieve=sieve_tuple(sieve), **options), progress)
