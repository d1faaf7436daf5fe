"""Parts of a run folder that only some kinds of run have: probes, surface statistics, clusters, kept maps."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.probes import ProbeResults
from headroles.records.surface import OUTCOMES, LayerMean, NoOp, SurfaceResults
from headroles.storage.clusters import cluster_files, read_clusters
from headroles.storage.folder import (
    CLUSTER_FILES,
    KEPT_MAP_FILES,
    LAYERS,
    MANIFEST,
    NOOP,
    PROBE_FILES,
    SURFACE_FILES,
    TALLIES,
)
from headroles.storage.kept_maps import kept_map_files, read_kept_maps
from headroles.storage.probes import counts_bytes, probe_texts, read_probes
from headroles.storage.tables import csv_text, read_records

PARTS: dict[str, tuple[str, ...]] = {
    "probed": PROBE_FILES, "surface": SURFACE_FILES, "clustered": CLUSTER_FILES, "exhibited": KEPT_MAP_FILES
}  # fmt: skip
"""Files that each part of a run may have, by its field of ``Labelling``."""
MEASURED, OTHER = "surface", "other"
"""First part of names of columns that are no importance; kind of token that others are tested against."""


def part_files(labelling: Labelling) -> dict[str, str | bytes]:
    """Return files of probes, surface statistics, clusters and kept maps by name, where there are any."""
    contents: dict[str, str | bytes] = {}
    if labelling.probed is not None:
        contents |= probe_texts(labelling.probed)
        if labelling.probed.tallies is not None:
            contents[TALLIES] = counts_bytes(labelling.probed.tallies, labelling.scores.examples)
    if labelling.surface is not None:
        contents[LAYERS] = csv_text(LayerMean, labelling.surface.layers)
        if labelling.surface.noop:
            contents[NOOP] = csv_text(NoOp, labelling.surface.noop)
    if labelling.clustered is not None:
        contents |= cluster_files(labelling.clustered)
    if labelling.exhibited is not None:
        contents |= kept_map_files(labelling.exhibited)
    return contents


def promised_files(labelling: Labelling, contents: Iterable[str]) -> dict[str, list[str]]:
    """Return the parts of a run and the files of each, for the manifest.

    Args:
        labelling: Result of the run.
        contents: Names of the files that ``part_files`` gives.
    """
    written = set(contents)
    return {
        part: sorted(written.intersection(files))
        for part, files in PARTS.items()
        if getattr(labelling, part) is not None
    }


def read_parts(folder: Path, scores: Scores, promise: Any = None) -> dict[str, Any]:
    """Read the parts of a run folder, by the names of the fields of ``Labelling``.

    Args:
        folder: Folder of the run.
        scores: Scores of the run; the parts must have the same examples, columns and heads.
        promise: The manifest's entry of parts, as ``promised_files`` returns it; None (folders that were
            written before manifests had it): a part is there when one of its files is.

    Raises:
        KeyError: When a column is missing.
        OSError: When a file is missing that every run of the kind has.
        ValueError: When a promised file is missing, a cell is no number, a file is damaged, or rows,
            heads or examples are not those of the run.
        BadInput: When arrays do not fit together.
    """
    parts = _present_parts(folder) if promise is None else _promised_parts(folder, promise)
    grid, units = (scores.layers, scores.heads), len(set(scores.units))
    return {
        "probed": (read_probes(folder, scores.examples) or ProbeResults(None)) if "probed" in parts else None,
        "surface": _read_surface(folder, scores) if "surface" in parts else None,
        "clustered": read_clusters(folder, grid, units) if "clustered" in parts else None,
        "exhibited": read_kept_maps(folder, scores) if "exhibited" in parts else None,
    }


def _present_parts(folder: Path) -> set[str]:
    """Return the parts of which a folder has any file."""
    return {part for part, files in PARTS.items() if any((folder / name).is_file() for name in files)}


def _promised_parts(folder: Path, promise: Any) -> set[str]:
    """Return the parts that a manifest promises, after checking that all their files are there."""
    if not isinstance(promise, dict):
        raise ValueError(f"the parts in {MANIFEST} are not named")
    for part, files in promise.items():
        if part not in PARTS or not isinstance(files, list) or not set(files) <= set(PARTS[part]):
            raise ValueError(f"{MANIFEST} has a part {part!r} that no run has")
        for name in files:
            if not (folder / name).is_file():
                raise ValueError(f"{name} is missing, which {MANIFEST} promises")
    return set(promise)


def _read_surface(folder: Path, scores: Scores) -> SurfaceResults:
    layers: list[LayerMean] = read_records(LayerMean, folder / LAYERS)
    noop: list[NoOp] = read_records(NoOp, folder / NOOP) if (folder / NOOP).is_file() else []
    wanted = [(column, layer) for column in scores.sieves for layer in range(scores.layers)]
    if [(row.column, row.layer) for row in layers] != wanted:
        raise ValueError(f"the rows of {LAYERS} are not every column and layer in turn")
    tested = [(*pair, layer) for pair in _importances(scores.sieves) for layer in range(scores.layers)]
    if sorted((row.measure, row.kind, row.layer) for row in noop) != sorted(tested):
        raise ValueError(f"the rows of {NOOP} are not every importance, kind of token and layer once")
    for row in noop:
        if row.decision not in OUTCOMES:
            raise ValueError(f"{NOOP} has a decision {row.decision!r}, which no test gives")
    return SurfaceResults(tuple(layers), tuple(noop))


def _importances(columns: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return measure and kind of token of the columns that are tested against other tokens.

    Example:
        >>> _importances(("surface:first", "gradient:first", "gradient:other", "gradient×attention:first"))
        [('gradient', 'first')]
    """
    pairs = [(measure, kind) for measure, _, kind in (name.partition(":") for name in columns)]
    tested = {measure for measure, kind in pairs if kind == OTHER and measure != MEASURED}
    return [(measure, kind) for measure, kind in pairs if measure in tested and kind != OTHER]
