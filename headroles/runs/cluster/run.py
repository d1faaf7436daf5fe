"""Label heads and cluster them by the distances between their attention: ``cluster()``."""

from headroles.options.cluster import ClusterOptions
from headroles.options.keywords import keywords_of
from headroles.progress import Phases, Progress
from headroles.records.findings import Labelling


@keywords_of(ClusterOptions, "task")
def cluster(options: ClusterOptions, *, progress: Progress | Phases | None = None) -> Labelling:
    """Label the heads of a model, and cluster them by the Jensen-Shannon divergence of their attention.

    Distances and scores are computed in one pass over the inputs. Maps for head cards are computed in a
    second pass over a few of them. A distance is the square root of the mean divergence (nats) over query
    rows, inputs and units. The roles are compared with the clusters.

    Args:
        progress: Called with the inputs done and their total.
        {options}

    Returns:
        The labelling, with ``clustered``.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence, with nothing left half-written.
    """
    from headroles.runs.run import run

    return run(options, progress)
