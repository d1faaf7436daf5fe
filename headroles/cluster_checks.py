"""Whether what a run folder says of distances between heads, and of clusters, can be."""

import numpy as np
from jaxtyping import Float, Int

from headroles.clustered import METHODS, Choice, Clustered, Divergence
from headroles.folder import CHOICES, CLAIMS, DIVERGENCE

CLOSE = 1e-5
"""How far the stored mean may be from that of the sums, as a share of it."""
ROUNDING = 1e-9


def check_divergence(divergence: Divergence, mean: np.ndarray, units: int) -> None:
    """Refuse divergences that are not those of a run.

    Args:
        divergence: As its file has it.
        mean: Of every pair, as the same file has it.
        units: How many units the scores of the run have.

    Raises:
        ValueError: When units, weights, sums or means are not those of such a run.
    """
    if len(divergence.block) != units:
        raise ValueError(f"{DIVERGENCE} is of {len(divergence.block)} units, the run of {units}")
    members = np.bincount(divergence.block, minlength=len(divergence.weight))
    if not np.array_equal(divergence.weight, members) or not members.all():
        raise ValueError(f"the weights of blocks in {DIVERGENCE} are not those of their units")
    if not np.isfinite(divergence.sums).all() or divergence.sums.min() < 0:
        raise ValueError(f"{DIVERGENCE} has sums that are no finite numbers of at least 0")
    ours = divergence.mean()
    if mean.dtype.kind != "f" or mean.shape != ours.shape or not np.allclose(mean, ours, rtol=CLOSE, atol=0):
        raise ValueError(f"the means in {DIVERGENCE} are not those of its sums")


def check_clustered(clustered: Clustered) -> None:
    """Refuse clusters, maps, choices and claims that nothing can have given.

    Args:
        clustered: As its files have it.

    Raises:
        ValueError: When a number is out of its range, or a method is unknown.
    """
    if clustered.method not in METHODS:
        raise ValueError(f"{DIVERGENCE} names a method {clustered.method!r}, which no run has")
    single = len(clustered.divergence.weight) < 2
    ranges = {
        "error": (0.0, np.inf, single),
        "silhouette": (-1.0, 1.0, True),
        "stability": (0.0, 1.0, True),
        "place": (-np.inf, np.inf, False),
        "cloud": (-np.inf, np.inf, False),
    }
    for name, (low, high, silent) in ranges.items():
        if not _within(getattr(clustered, name), low, high, silent):
            raise ValueError(f"{DIVERGENCE} has numbers out of range for {name!r}")
    if not _within(np.array(clustered.stress), 0.0, np.inf, True):
        raise ValueError(f"{DIVERGENCE} has a stress of {clustered.stress}")
    if not _tree(clustered.linkage):
        raise ValueError(f"the merges in {DIVERGENCE} are no tree of all heads")
    _check_numbers(clustered.cluster, clustered.choices, clustered.method)
    for claim in clustered.claims:
        if np.isnan(claim.p) != (claim.placements == 0) or not (np.isnan(claim.p) or 0 < claim.p <= 1):
            raise ValueError(f"{CLAIMS} has a p of {claim.p} of {claim.placements} placements")


def _within(values: np.ndarray, low: float, high: float, silent: bool) -> bool:
    """Whether all numbers are finite and in their range; NaN may be among them where ``silent``."""
    known = values[~np.isnan(values)] if silent else values
    return bool((np.isfinite(known) & (known >= low - ROUNDING) & (known <= high + ROUNDING)).all())


def _tree(linkage: Float[np.ndarray, "merges 4"]) -> bool:
    """Whether merges join every head and every earlier merge once, at heights of at least 0.

    Example:
        >>> good = np.array([[0.0, 1.0, 0.2, 2.0], [2.0, 3.0, 0.5, 3.0]])
        >>> _tree(good), _tree(good[::-1])
        (True, False)
    """
    heads, nodes = len(linkage) + 1, linkage[:, :2]
    once = np.array_equal(np.sort(nodes.ravel()), np.arange(2 * heads - 2))
    if not once or not (nodes < heads + np.arange(heads - 1)[:, None]).all():
        return False
    size = np.ones(2 * heads - 1)
    for merge, (left, right) in enumerate(nodes.astype(int)):
        size[heads + merge] = size[left] + size[right]
    return np.array_equal(linkage[:, 3], size[heads:]) and _within(linkage[:, 2], 0.0, np.inf, False)


def _check_numbers(cluster: Int[np.ndarray, " heads"], choices: tuple[Choice, ...], method: str) -> None:
    """Refuse clusters that are not numbered from 0, and choices of which not one was taken."""
    names = np.unique(cluster)
    noisy = bool(names[0] == -1)
    if (noisy and method != "dbscan") or not np.array_equal(names[int(noisy) :], np.arange(names[-1] + 1)):
        raise ValueError(f"the clusters in {DIVERGENCE} are not numbered from 0")
    taken = [each.clusters for each in choices if each.chosen == 1]
    if len(taken) != 1 or any(each.chosen not in (0, 1) for each in choices):
        raise ValueError(f"{CHOICES} has {len(taken)} numbers of clusters that were chosen, not one")
    if names[-1] + 1 > taken[0]:
        raise ValueError(f"{CHOICES} says {taken[0]} clusters, {DIVERGENCE} has {names[-1] + 1}")
