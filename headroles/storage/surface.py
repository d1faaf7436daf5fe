"""Surface statistics of layers as the tables of a run folder, and back."""

from pathlib import Path

from headroles.records.example import Scores
from headroles.records.surface import LAYER_MEANS, NO_OPS, SurfaceResults
from headroles.storage.tables import read_table

MEASURED, OTHER = "surface", "other"
"""First part of names of columns that are no importance; kind of token that others are tested against."""


def surface_texts(surface: SurfaceResults) -> dict[str, str]:
    """Return the text of the tables by file name; tests of no effect only where there are any."""
    noop = {NO_OPS.file: surface.noop.csv()} if surface.noop else {}
    return {LAYER_MEANS.file: surface.layers.csv()} | noop


def read_surface(folder: Path, scores: Scores) -> SurfaceResults:
    """Read the tables of a run folder.

    Raises:
        KeyError: When a column is missing.
        ValueError: When a cell is no number, or rows are not those of the run's columns and layers.
    """
    layers, noop = (read_table(table, folder / table.file) for table in (LAYER_MEANS, NO_OPS))
    wanted = [(column, layer) for column in scores.sieves for layer in range(scores.layers)]
    if [(row.column, row.layer) for row in layers] != wanted:
        raise ValueError(f"the rows of {LAYER_MEANS.file} are not every column and layer in turn")
    tested = [(*pair, layer) for pair in _importances(scores.sieves) for layer in range(scores.layers)]
    if sorted((row.measure, row.kind, row.layer) for row in noop) != sorted(tested):
        raise ValueError(f"the rows of {NO_OPS.file} are not every importance, kind of token and layer once")
    return SurfaceResults(layers, noop)


def _importances(columns: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return measure and kind of token of the columns that are tested against other tokens.

    Example:
        >>> _importances(("surface:first", "gradient:first", "gradient:other", "gradient×attention:first"))
        [('gradient', 'first')]
    """
    pairs = [(measure, kind) for measure, _, kind in (name.partition(":") for name in columns)]
    tested = {measure for measure, kind in pairs if kind == OTHER and measure != MEASURED}
    return [(measure, kind) for measure, kind in pairs if measure in tested and kind != OTHER]
