"""What only some kinds of run hold, as files of a run folder and back."""

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
"""What columns that are no importance begin with, and the kind that the other importances stand beside."""


def parts_of(labelling: Labelling) -> dict[str, str | bytes]:
    """The files of probes, surface statistics, clusters and kept maps by their names, where there are any."""
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
    """What kind of run it is, for the manifest: the parts it has, and the files of each.

    Args:
        labelling: Of the run.
        contents: Names of the files that ``parts_of`` gives.
    """
    written = set(contents)
    return {
        part: sorted(written.intersection(files))
        for part, files in PARTS.items()
        if getattr(labelling, part) is not None
    }


def parts_in(folder: Path, scores: Scores, promise: Any = None) -> dict[str, Any]:
    """What a run folder holds of them, by the names of the fields of ``Labelling``.

    Args:
        folder: Of the run.
        scores: Of the run, whose examples, columns and heads they must be of.
        promise: As ``promise_of`` wrote it into the manifest; None (folders that were written before
            manifests said it): a part is there when one of its files is.

    Raises:
        KeyError: When a column is missing.
        OSError: When a file is missing that every run of the kind has.
        ValueError: When a promised file is missing, a cell is no number, a file is damaged, or rows,
            heads or examples are not those of the run.
        BadInput: When arrays do not fit together.
    """
    parts = _seen(folder) if promise is None else _kept(folder, promise)
    grid, units = (scores.layers, scores.heads), len(set(scores.units))
    return {
        "probed": (probed_in(folder, scores.examples) or Probed(None)) if "probed" in parts else None,
        "surface": _surface(folder, scores) if "surface" in parts else None,
        "clustered": clustered_in(folder, grid, units) if "clustered" in parts else None,
        "exhibited": exhibited_in(folder, scores) if "exhibited" in parts else None,
    }


def _seen(folder: Path) -> set[str]:
    """Parts of which a folder has any file."""
    return {part for part, files in PARTS.items() if any((folder / name).is_file() for name in files)}


def _kept(folder: Path, promise: Any) -> set[str]:
    """The parts that a manifest promises, when all their files are there."""
    if not isinstance(promise, dict):
        raise ValueError(f"the parts in {MANIFEST} are not named")
    for part, files in promise.items():
        if part not in PARTS or not isinstance(files, list) or not set(files) <= set(PARTS[part]):
            raise ValueError(f"{MANIFEST} has a part {part!r} that no run has")
        for name in files:
            if not (folder / name).is_file():
                raise ValueError(f"{name} is missing, which {MANIFEST} promises")
    return set(promise)


def _surface(folder: Path, scores: Scores) -> Surface:
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
    """Measure and kind of token of the columns that are tested against other tokens.

    Example:
        >>> _importances(("surface:first", "gradient:first", "gradient:other", "gradient×attention:first"))
        [('gradient', 'first')]
    """
    pairs = [(measure, kind) for measure, _, kind in (name.partition(":") for name in columns)]
    beside = {measure for measure, kind in pairs if kind == OTHER and measure != MEASURED}
    return [(measure, kind) for measure, kind in pairs if measure in beside and kind != OTHER]
