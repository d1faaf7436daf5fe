"""Cluster heads: distances to clusters, a map, nearest heads, and claims about layers (``cluster_heads``)."""

import numpy as np
from jaxtyping import Int

from headroles.errors import BadInput
from headroles.records.clusters import CLAIMS, ClusterResults, Divergence
from headroles.stats.clusters.clusters import choose_clusters, linkage_tree
from headroles.stats.clusters.distances import (
    distances,
    map_distances,
    nearest_heads,
    place_heads,
    resampled_maps,
    standard_error,
)
from headroles.stats.clusters.layer_claims import halves_agree, layer_claims


def cluster_heads(
    divergence: Divergence,
    *,
    method: str = "average",
    clusters: int | None = None,
    draws: int = 200,
    seed: int = 0,
    positions: Int[np.ndarray, " layers"] | None = None,
) -> ClusterResults:
    """Return everything that follows from divergences alone; ``role_claims`` adds roles.

    Distances are square roots of mean divergences; the map of way "sum" is of the sums themselves.
    Uncertainty comes from resampling blocks of units: heads are the whole model and no sample of anything.

    Args:
        divergence: Block sums.
        method: "average" (linkage), "spectral" or "dbscan".
        clusters: How many; None: chosen by silhouette and stability (``choose_clusters``).
        draws: Resamples behind stabilities and split halves; the cloud of the map has at most 100.
        seed: Of resamples, random placements and starts of the map.
        positions: Position of each layer in the model; None for 0, 1, ….

    Raises:
        UnknownName: For a method that does not exist.
        BadInput: For fewer than three heads, a number of clusters that cannot be, a negative number of
            draws, or divergences that are no finite numbers.

    Example:
        >>> sums = np.array([[0.1, 0.5, 0.5, 0.5, 0.5, 0.1], [0.2, 0.6, 0.5, 0.5, 0.5, 0.1]])
        >>> found = cluster_heads(Divergence(2, 2, sums, np.ones(2), np.arange(2)), draws=20)
        >>> found.cluster.tolist(), found.claims[0].measure
        ([0, 0, 1, 1], 'R2')
    """
    if draws < 0:
        raise BadInput(f"the number of resamples is 0 or more, but got {draws}; 200 is usual")
    mean = divergence.mean()
    if not np.isfinite(mean).all():
        raise BadInput(
            f"divergences are finite numbers, but {int((~np.isfinite(mean)).sum())} of {mean.size} pairs of "
            f"heads have none; check that attention has no NaN"
        )
    chosen = choose_clusters(divergence, method, clusters, draws, seed)
    place, stress = place_heads(map_distances(mean, divergence.way), seed)
    error = standard_error(divergence)
    return ClusterResults(
        divergence=divergence,
        error=error,
        method=method,
        cluster=chosen.cluster,
        silhouette=chosen.silhouette,
        stability=chosen.stability,
        linkage=linkage_tree(distances(mean)),
        choices=chosen.choices,
        place=place,
        cloud=resampled_maps(divergence, place, draws, seed),
        stress=stress,
        claims=CLAIMS.joined(
            [
                layer_claims(
                    divergence, seed, np.arange(divergence.layers) if positions is None else positions
                ),
                halves_agree(divergence, method, chosen, draws, seed),
            ]
        ),
        neighbours=nearest_heads(divergence, error),
    )
