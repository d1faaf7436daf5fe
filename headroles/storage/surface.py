"""Surface statistics of layers as the tables of a run folder, and back."""

from pathlib import Path

from headroles.records.example import Scores
from headroles.records.surface import OUTCOMES, LayerMean, NoOp, SurfaceResults
from headroles.storage.folder import LAYERS, NOOP
from headroles.storage.tables import csv_text, read_records

MEASURED, OTHER = "surface", "other"
"""First part of names of columns that are no importance; kind of token that others are tested against."""


def surface_texts(surface: SurfaceResults) -> dict[str, str]:
    """Return the text of the tables by file name; tests of no effect only where there are any."""
    noop = {NOOP: csv_text(NoOp, surface.noop)} if surface.noop else {}
    return {LAYERS: csv_text(LayerMean, surface.layers)} | noop


def read_surface(folder: Path, scores: Scores) -> SurfaceResults:
    """Read the tables of a run folder.

    Raises:
        KeyError: When a column is missing.
        OSError: When the table of layers is missing.
        ValueError: When a cell is no number, or rows are not those of the run's columns and layers.
    """
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
