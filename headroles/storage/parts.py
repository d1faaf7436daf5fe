"""Parts of a run folder that only some kinds of run have: probes, surface statistics, clusters, kept maps."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.probes import Probed
from headroles.records.surface import OUTCOMES, LayerMean, NoOp, Surface
from headroles.storage.clusters import clustered_in, texts_of_clustered
from headroles.storage.folder import CLUSTERED, EXHIBITED, LAYERS, MANIFEST, NOOP, PROBED, SURFACE, TALLIES
from headroles.storage.kept_maps import exhibited_in, files_of_exhibited
from headroles.storage.probes import probed_in, tallies_bytes, texts_of_probed
from headroles.storage.tables import csv_of, records_in

PARTS: dict[str, tuple[str, ...]] = {
    "probed": PROBED, "surface": SURFACE, "clustered": CLUSTERED, "exhibited": EXHIBITED
}  # fmt: skip
"""Files that each part of a run may have, by its field of ``Labelling``."""
MEASURED, OTHER = "surface", "other"
"""First part of names of columns that are no importance; kind of token that others are tested against."""


def parts_of(labelling: Labelling) -> dict[str, str | bytes]:
    """Return files of probes, surface statistics, clusters and kept maps by name, where there are any."""
    contents: dict[str, str | bytes] = {}
    if labelling.probed is not None:
        contents |= texts_of_probed(labelling.probed)
        if labelling.probed.tallies is not None:
            contents[TALLIES] = tallies_bytes(labelling.probed.tallies, labelling.scores.examples)
    if labelling.surface is not None:
        contents[LAYERS] = csv_of(LayerMean, labelling.surface.layers)
        if labelling.surface.noop:
            contents[NOOP] = csv_of(NoOp, labelling.surface.noop)
    if labelling.clustered is not None:
        contents |= texts_of_clustered(labelling.clustered)
    if labelling.exhibited is not None:
        contents |= files_of_exhibited(labelling.exhibited)
    return contents


def promise_of(labelling: Labelling, contents: Iterable[str]) -> dict[str, list[str]]:
    """Return the parts of a run and the files of each, for the manifest.

    Args:
        labelling: Result of the run.
        contents: Names of the files that ``parts_of`` gives.
    """
    written = set(contents)
    return {
        part: sorted(written.intersection(files))
        for part, files in PARTS.items()
        if getattr(labelling, part) is not None
    }


def parts_in(folder: Path, scores: Scores, promise: Any = None) -> dict[str, Any]:
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
        "probed": (probed_in(folder, scores.examples) or Probed(None)) if "probed" in parts else None,
        "surface": _read_surface(folder, scores) if "surface" in parts else None,
        "clustered": clustered_in(folder, grid, units) if "clustered" in parts else None,
        "exhibited": exhibited_in(folder, scores) if "exhibited" in parts else None,
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


def _read_surface(folder: Path, scores: Scores) -> Surface:
    layers: list[LayerMean] = records_in(LayerMean, folder / LAYERS)
    noop: list[NoOp] = records_in(NoOp, folder / NOOP) if (folder / NOOP).is_file() else []
    wanted = [(column, layer) for column in scores.sieves for layer in range(scores.layers)]
    if [(row.column, row.layer) for row in layers] != wanted:
        raise ValueError(f"the rows of {LAYERS} are not every column and layer in turn")
    tested = [(*pair, layer) for pair in _importances(scores.sieves) for layer in range(scores.layers)]
    if sorted((row.measure, row.kind, row.layer) for row in noop) != sorted(tested):
        raise ValueError(f"the rows of {NOOP} are not every importance, kind of token and layer once")
    for row in noop:
        if row.decision not in OUTCOMES:
            raise ValueError(f"{NOOP} has a decision {row.decision!r}, which no test gives")
    return Surface(tuple(layers), tuple(noop))


def _importances(columns: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return measure and kind of token of the columns that are tested against other tokens.

    Example:
        >>> _importances(("surface:first", "gradient:first", "gradient:other", "gradient×attention:first"))
        [('gradient', 'first')]
    """
    pairs = [(measure, kind) for measure, _, kind in (name.partition(":") for name in columns)]
    tested = {measure for measure, kind in pairs if kind == OTHER and measure != MEASURED}
    return [(measure, kind) for measure, kind in pairs if measure in tested and kind != OTHER]
