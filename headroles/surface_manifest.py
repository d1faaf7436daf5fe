"""What a run of surface statistics was made with, and what it left out."""

from typing import Any

import numpy as np

from headroles.manifest import common, counts_of
from headroles.sieves.surface import MASSES
from headroles.stats.engine import ENOUGH_FOR_NOT
from headroles.surface_options import SurfaceOptions
from headroles.surface_scoring import Measured

WARNING = (
    "The preset 'published' smooths every row by 0.0001 of even attention before it takes entropies, as the "
    "code released with Clark et al. (2019) does. That code tests nothing and shows no interval; tests and "
    "intervals here are those of headroles. Its masses are the same under any preset."
)


def manifest_of(options: SurfaceOptions, source: dict[str, Any], measured: Measured) -> dict[str, Any]:
    """Everything needed to reproduce a run of surface statistics, in JSON types."""
    counts = counts_of(measured.scores) | {"truncated": measured.truncated}
    return common(options, source, measured.model, options.max_length, counts) | {
        "task": options.task,
        "parser": None,
        "statistic": "surface",
        "surface": {
            "marks": options.marks,
            "smoothing": options.smoothing,
            "loss": measured.loss,
        },
        "notes": _notes(options, measured),
    }


def _notes(options: SurfaceOptions, measured: Measured) -> list[str]:
    said = [WARNING] if options.preset == "published" else []
    if measured.unequal:
        said.append(
            f"In {measured.unequal} of {len(measured.scores.examples)} inputs the layers of this model see "
            f"different keys, and even attention is that of the mean layer, so that tests of heads are "
            f"off by how far theirs is apart; a --max-length within the model's window avoids it."
        )
    return said


def left_out(options: SurfaceOptions, measured: Measured) -> list[str]:
    """What was cut, not applicable or too little to say, one sentence each."""
    total = len(measured.scores.examples)
    said = []
    if measured.truncated:
        said.append(
            f"{measured.truncated} of {total} inputs were cut to {options.max_length} tokens, "
            f"longest text first."
        )
    for rule, values in zip(measured.rules, measured.scores.values, strict=True):
        silent = np.isnan(values).all(axis=(1, 2))
        said += _silence(rule.sieve, silent, measured.scores.units)
    return said


def _silence(column: str, silent: np.ndarray, units: tuple[str, ...]) -> list[str]:
    """Where a column had nothing to say, or too little to be tested."""
    said = []
    if silent.all():
        why = "no input has what it counts" if column in MASSES else "no input has such a token"
        if column in ("surface:next", "surface:entropy-first"):
            why = "queries see no later key, so that nothing is left to choose"
        return [f"{column} does not apply to these inputs: {why}."]
    if silent.any():
        said.append(f"{column} had nothing to count in {int(silent.sum())} of {len(silent)} inputs.")
    count = len({unit for unit, quiet in zip(units, silent, strict=True) if not quiet})
    if count == 1:
        said.append(f"{column} rests on 1 unit and cannot be tested; give more inputs.")
    elif count < ENOUGH_FOR_NOT and column.startswith("surface:"):
        said.append(
            f"{column} rests on {count} units; below {ENOUGH_FOR_NOT} no head is said to lie below even "
            f"attention, because rare attention then looks absent too often."
        )
    return said
