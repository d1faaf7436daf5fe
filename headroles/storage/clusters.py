"""Distances between heads and clusters as files of a run folder and back, with checks of the values read.

No pickle is written or read.
"""

from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from headroles.records.clusters import (
    CHOICES,
    CLAIMS,
    HEAD_CLUSTERS,
    NEAR_HEADS,
    ClusterResults,
    Divergence,
    Neighbours,
)
from headroles.records.example import Scores
from headroles.records.rules.names import METHODS
from headroles.records.table import Table
from headroles.storage.archive import archive_bytes, arrays_of, read_archive, record_of
from headroles.storage.folder import DIVERGENCE
from headroles.storage.tables import read_table

CLOSE = 1e-5
"""Largest relative difference between the stored mean and the mean of the sums."""
ROUNDING = 1e-9


def cluster_files(clustered: ClusterResults) -> dict[str, str | bytes]:
    """Return every file by name; NaN is an empty cell.

    ``divergence.npz`` holds the arrays that are in no table: block sums (float32), weights, blocks, the
    divergence of every pair (float64, condensed), its standard error, linkage, map and cloud. The array of
    pairs is called ``mean`` where divergences of units are averaged, and ``sum`` where they are added.
    """
    tables: dict[str, str | bytes] = {
        DIVERGENCE: _archive_bytes(clustered),
        **{table.file: table.csv() for table in (clustered.heads, clustered.choices, clustered.claims)},
    }
    if clustered.neighbours is not None:
        tables[NEAR_HEADS.file] = _near_heads(clustered.neighbours, clustered.divergence.heads).csv()
    return tables


def _archive_bytes(clustered: ClusterResults) -> bytes:
    source = clustered.divergence
    arrays = arrays_of(source, leave_out=("layers", "heads")) | arrays_of(clustered)
    arrays |= {"grid": np.array([source.layers, source.heads]), source.way: source.mean()}
    return archive_bytes(arrays, compressed=True)


def _near_heads(neighbours: Neighbours, heads: int) -> Table:
    """Return the rows of every head's nearest heads, nearest first."""
    head, rank = np.indices(neighbours.head.shape).reshape(2, -1)
    near = neighbours.head.ravel()
    return NEAR_HEADS.of(
        layer=head // heads,
        head=head % heads,
        rank=rank + 1,
        near_layer=near // heads,
        near_head=near % heads,
        distance=neighbours.distance.ravel(),
        low=neighbours.low.ravel(),
        high=neighbours.high.ravel(),
    )


def read_clusters(folder: Path, scores: Scores) -> ClusterResults:
    """Read distances between heads and clusters from a run folder.

    Args:
        folder: Folder of the run.
        scores: Of the run, which has its layers, heads and units.

    Raises:
        KeyError: When an array or a column is missing.
        OSError: When a file other than that of the nearest heads is missing.
        ValueError: When a file is damaged, has other heads or units, or values that no run computes.
        BadInput: When arrays do not fit together.
    """
    arrays = read_archive((folder / DIVERGENCE).read_bytes(), DIVERGENCE)
    layers, heads = (int(number) for number in arrays["grid"])
    if (layers, heads) != (scores.layers, scores.heads):
        raise ValueError(
            f"{DIVERGENCE} is of {layers} x {heads} heads, the run of {scores.layers} x {scores.heads}"
        )
    divergence = record_of(Divergence, arrays, layers=layers, heads=heads)
    older = divergence.way not in arrays  # sums were called "mean", too
    check_divergence(divergence, arrays["mean" if older else divergence.way], len(set(scores.units)))
    clustered = record_of(
        ClusterResults,
        arrays,
        divergence=divergence,
        choices=read_table(CHOICES, folder / CHOICES.file),
        claims=read_table(CLAIMS, folder / CLAIMS.file),
        neighbours=_read_neighbours(folder / NEAR_HEADS.file, heads, layers * heads),
    )
    check_clusters(clustered)
    text = clustered.heads.numbered(scores.stack).csv()
    if (folder / HEAD_CLUSTERS.file).read_text(encoding="utf-8") != text:
        raise ValueError(f"{HEAD_CLUSTERS.file} says other than {DIVERGENCE}")
    return clustered


def _read_neighbours(path: Path, heads: int, size: int) -> Neighbours | None:
    """Read the nearest heads from a table; None where there is none."""
    if not path.is_file():
        return None
    rows = read_table(NEAR_HEADS, path)
    near = len(rows) // size
    head, rank = np.indices((size, near)).reshape(2, -1)
    wanted = {"layer": head // heads, "head": head % heads, "rank": rank + 1}
    if not near or not all(np.array_equal(rows[name], column) for name, column in wanted.items()):
        raise ValueError(f"the rows of {path.name} are not every head and rank in turn")
    others = rows["near_layer"] * heads + rows["near_head"]
    if not ((rows["near_head"] >= 0) & (rows["near_head"] < heads) & (others >= 0) & (others < size)).all():
        raise ValueError(f"{path.name} has heads that the run has not")
    values = (others, *(rows[name] for name in ("distance", "low", "high")))
    return Neighbours(*(column.reshape(size, -1) for column in values))


def check_divergence(divergence: Divergence, mean: np.ndarray, units: int) -> None:
    """Refuse divergences that cannot be those of a run.

    Args:
        divergence: Divergence from its file.
        mean: Mean or sum of every pair, from the same file.
        units: Number of units of the run's scores.

    Raises:
        ValueError: When units, weights, sums or means are not those of such a run.
    """
    if len(divergence.block) != units:
        raise ValueError(f"{DIVERGENCE} is of {len(divergence.block)} units, the run of {units}")
    members = np.bincount(divergence.block, minlength=len(divergence.weight))
    if not np.array_equal(divergence.weight, members) or not members.all():
        raise ValueError(f"the weights of blocks in {DIVERGENCE} do not match their units")
    if not np.isfinite(divergence.sums).all() or divergence.sums.min() < 0:
        raise ValueError(f"{DIVERGENCE} has sums that are no finite numbers of at least 0")
    ours = divergence.mean()
    if mean.dtype.kind != "f" or mean.shape != ours.shape or not np.allclose(mean, ours, rtol=CLOSE, atol=0):
        raise ValueError(f"the means in {DIVERGENCE} are not those of its sums")


def check_clusters(clustered: ClusterResults) -> None:
    """Refuse clusters, maps, choices and claims that no run can have computed.

    Args:
        clustered: Results from their files.

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
    for name, (low, high, nan_allowed) in ranges.items():
        if not _within(getattr(clustered, name), low, high, nan_allowed):
            raise ValueError(f"{DIVERGENCE} has numbers out of range for {name!r}")
    if not _within(np.array(clustered.stress), 0.0, np.inf, True):
        raise ValueError(f"{DIVERGENCE} has a stress of {clustered.stress}")
    if not _is_tree(clustered.linkage):
        raise ValueError(f"the merges in {DIVERGENCE} are no tree of all heads")
    _check_numbers(clustered.cluster, clustered.choices, clustered.method)
    for claim in clustered.claims:
        if np.isnan(claim.p) != (claim.placements == 0) or not (np.isnan(claim.p) or 0 < claim.p <= 1):
            raise ValueError(f"{CLAIMS.file} has a p of {claim.p} of {claim.placements} placements")


def _within(values: np.ndarray, low: float, high: float, nan_allowed: bool) -> bool:
    """Return whether all numbers are finite and in their range; NaN passes where ``nan_allowed``."""
    known = values[~np.isnan(values)] if nan_allowed else values
    return bool((np.isfinite(known) & (known >= low - ROUNDING) & (known <= high + ROUNDING)).all())


def _is_tree(linkage: Float[np.ndarray, "merges 4"]) -> bool:
    """Return whether merges join every head and every earlier merge once, at heights of at least 0.

    Example:
        >>> good = np.array([[0.0, 1.0, 0.2, 2.0], [2.0, 3.0, 0.5, 3.0]])
        >>> _is_tree(good), _is_tree(good[::-1])
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


def _check_numbers(cluster: Int[np.ndarray, " heads"], choices: Table, method: str) -> None:
    """Refuse clusters that are not numbered from 0, and choices of which not exactly one is chosen."""
    names = np.unique(cluster)
    noisy = bool(names[0] == -1)
    if (noisy and method != "dbscan") or not np.array_equal(names[int(noisy) :], np.arange(names[-1] + 1)):
        raise ValueError(f"the clusters in {DIVERGENCE} are not numbered from 0")
    chosen = choices.where(chosen=1)["clusters"].tolist()
    if len(chosen) != 1 or choices["chosen"].sum() != 1 or choices["chosen"].min() < 0:
        raise ValueError(f"{CHOICES.file} has {len(chosen)} numbers of clusters that were chosen, not one")
    if names[-1] + 1 > chosen[0]:
        raise ValueError(f"{CHOICES.file} says {chosen[0]} clusters, {DIVERGENCE} has {names[-1] + 1}")
