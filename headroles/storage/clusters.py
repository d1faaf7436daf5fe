"""Distances between heads and what is made of them, as files of a run folder and back; no pickle.

Whether what a run folder says of distances between heads, and of clusters, can be.
"""

import csv
import struct
import zlib
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from jaxtyping import Float, Int

from headroles.records.clusters import METHODS, Choice, Claim, Clustered, Divergence, Neighbours
from headroles.storage.folder import CHOICES, CLAIMS, CLUSTERS, DIVERGENCE, NEIGHBOURS
from headroles.storage.tables import csv_of, records_in

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


KEPT = ("sums", "weight", "block")
"""Arrays of ``Divergence`` in the file."""
MADE = ("error", "cluster", "silhouette", "stability", "linkage", "place", "cloud")
"""Arrays of ``Clustered`` in the file."""
BROKEN = (BadZipFile, EOFError, zlib.error, struct.error, RuntimeError, MemoryError)
"""What reading a file raises that is no whole archive, beside ``ValueError`` and ``OSError``."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One row of ``neighbours.csv``: a head near another.

    Attributes:
        layer: Layer of the head.
        head: The head.
        rank: 1 for the nearest.
        near_layer: Layer of the other.
        near_head: The other head.
        distance: Between them, with its 95 % interval.
        low: Lower end.
        high: Upper end.
    """

    layer: int
    head: int
    rank: int
    near_layer: int
    near_head: int
    distance: float
    low: float
    high: float


def texts_of_clustered(clustered: Clustered) -> dict[str, str | bytes]:
    """Every file by its name; NaN is an empty cell.

    ``divergence.npz`` holds what the tables cannot: block sums (float32), weights, blocks, the mean
    divergence of every pair (float64, condensed), its standard error, linkage, map and cloud.
    """
    tables: dict[str, str | bytes] = {
        DIVERGENCE: _archive(clustered),
        CLUSTERS: _heads(clustered),
        CHOICES: csv_of(Choice, clustered.choices),
        CLAIMS: csv_of(Claim, clustered.claims),
    }
    if clustered.neighbours is not None:
        tables[NEIGHBOURS] = csv_of(Neighbour, _near(clustered.neighbours, clustered.divergence.heads))
    return tables


def _archive(clustered: Clustered) -> bytes:
    source = clustered.divergence
    arrays = {name: getattr(source, name) for name in KEPT}
    arrays |= {name: getattr(clustered, name) for name in MADE}
    content = BytesIO()
    np.savez_compressed(
        content,
        mean=source.mean(),
        grid=np.array([source.layers, source.heads]),
        smoothing=np.array(source.smoothing),
        way=np.array(source.way),
        method=np.array(clustered.method),
        stress=np.array(clustered.stress),
        **arrays,
    )
    return content.getvalue()


def _heads(clustered: Clustered) -> str:
    """One row per head: its cluster, how well it sits there, and its place on the map."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("layer", "head", "cluster", "silhouette", "stability", "x", "y"))
    heads = clustered.divergence.heads
    for number, cluster in enumerate(clustered.cluster.tolist()):
        values = [clustered.silhouette[number], clustered.stability[number], *clustered.place[number]]
        cells = ["" if np.isnan(each) else float(each) for each in values]
        writer.writerow((number // heads, number % heads, cluster, *cells))
    return text.getvalue()


def _near(found: Neighbours, heads: int) -> list[Neighbour]:
    """Every head's nearest ones, nearest first."""
    rows = []
    for number, rank in np.ndindex(found.head.shape):
        other = int(found.head[number, rank])
        reach = [float(each[number, rank]) for each in (found.distance, found.low, found.high)]
        places = (number // heads, number % heads, rank + 1, other // heads, other % heads)
        rows.append(Neighbour(*places, *reach))
    return rows


def _neighbours_in(path: Path, heads: int, size: int) -> Neighbours | None:
    """Nearest heads as a table has them; None where there is none."""
    if not path.is_file():
        return None
    rows: list[Neighbour] = records_in(Neighbour, path)
    near = len(rows) // size
    wanted = [(head // heads, head % heads, rank + 1) for head, rank in np.ndindex(size, near)]
    if not near or [(row.layer, row.head, row.rank) for row in rows] != wanted:
        raise ValueError(f"the rows of {path.name} are not every head and rank in turn")
    if not all(0 <= row.near_head < heads and 0 <= row.near_layer < size // heads for row in rows):
        raise ValueError(f"{path.name} has heads that the run has not")
    head = np.array([row.near_layer * heads + row.near_head for row in rows], dtype=np.int64)
    values = [np.array([getattr(row, name) for row in rows]) for name in ("distance", "low", "high")]
    return Neighbours(head.reshape(size, -1), *(each.reshape(size, -1) for each in values))


def clustered_in(folder: Path, grid: tuple[int, int], units: int) -> Clustered:
    """What a run folder says of distances between heads.

    Args:
        folder: Of the run.
        grid: Layers and heads of its model.
        units: How many units its scores have.

    Raises:
        KeyError: When an array or a column is missing.
        OSError: When a file other than that of the nearest heads is missing.
        ValueError: When a file is damaged, of other heads or units, or says what cannot be.
        BadInput: When arrays do not fit together.
    """
    found = _arrays(folder / DIVERGENCE)
    layers, heads = (int(each) for each in found["grid"])
    if (layers, heads) != grid:
        raise ValueError(f"{DIVERGENCE} is of {layers} x {heads} heads, the run of {grid[0]} x {grid[1]}")
    divergence = Divergence(
        layers,
        heads,
        **{name: found[name] for name in KEPT},
        smoothing=float(found["smoothing"]),
        way=str(found["way"]),
    )
    check_divergence(divergence, found["mean"], units)
    clustered = Clustered(
        divergence,
        method=str(found["method"]),
        stress=float(found["stress"]),
        choices=tuple(records_in(Choice, folder / CHOICES)),
        claims=tuple(records_in(Claim, folder / CLAIMS)),
        neighbours=_neighbours_in(folder / NEIGHBOURS, heads, layers * heads),
        **{name: found[name] for name in MADE},
    )
    check_clustered(clustered)
    if (folder / CLUSTERS).read_text(encoding="utf-8") != _heads(clustered):
        raise ValueError(f"{CLUSTERS} says other than {DIVERGENCE}")
    return clustered


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """All arrays of an archive by their names."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except BROKEN as error:
        raise ValueError(f"{path.name} is no archive of arrays") from error
