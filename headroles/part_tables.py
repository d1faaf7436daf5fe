"""What only some kinds of run hold, as files of a run folder and back."""

from pathlib import Path
from typing import Any

from headroles.cluster_tables import clustered_in, texts_of_clustered
from headroles.folder import LAYERS, NOOP, TALLIES
from headroles.outcomes import Labelling
from headroles.probe_tables import probed_in, tallies_bytes, texts_of_probed
from headroles.records import Scores
from headroles.surfaced import LayerMean, NoOp, Surface
from headroles.tables import csv_of, records_in


def parts_of(labelling: Labelling) -> dict[str, str | bytes]:
    """The files of probes, surface statistics and clusters by their names; none where none ran."""
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
    return contents


def parts_in(folder: Path, scores: Scores) -> dict[str, Any]:
    """What a run folder holds of them, by the names of the fields of ``Labelling``.

    Args:
        folder: Of the run.
        scores: Of the run, whose examples and heads they must be of.

    Raises:
        KeyError: When a column is missing.
        ValueError: When a cell is no number, a file is damaged, or heads or examples differ.
    """
    return {
        "probed": probed_in(folder, scores.examples),
        "surface": _surface(folder),
        "clustered": clustered_in(folder, (scores.layers, scores.heads)),
    }


def _surface(folder: Path) -> Surface | None:
    if not (folder / LAYERS).is_file():
        return None
    noop = records_in(NoOp, folder / NOOP) if (folder / NOOP).is_file() else []
    return Surface(tuple(records_in(LayerMean, folder / LAYERS)), tuple(noop))
