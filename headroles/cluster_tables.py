"""Distances between heads and what is made of them, as files of a run folder and back; no pickle."""

import csv
import struct
import zlib
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from headroles.cluster_checks import check_clustered, check_divergence
from headroles.clustered import Choice, Claim, Clustered, Divergence, Neighbours
from headroles.folder import CHOICES, CLAIMS, CLUSTERS, DIVERGENCE, NEIGHBOURS
from headroles.tables import csv_of, records_in

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
