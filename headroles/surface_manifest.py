"""What a run of surface statistics was made with, and what it left out."""

from typing import Any

from headroles.manifest import common, counts_of, cut_told, silence
from headroles.options.surface import SurfaceOptions
from headroles.records.arrays import sharing_told
from headroles.sieves.surface import MASSES
from headroles.surface_scoring import Measured

WARNING = (
    "The preset 'published' smooths every row by 0.0001 of even attention before it takes entropies, as the "
    "code released with Clark et al. (2019) does. That code tests nothing and shows no interval; tests and "
    "intervals here are those of headroles. Its masses are the same under any preset."
)

FEW = "no head is said to lie below even attention, because rare attention then looks absent too often"


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
        "notes": [*_notes(options, measured), *sharing_told(measured.model)],
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
    said = cut_told(measured.truncated, len(measured.scores.examples), options.max_length)
    for position, rule in enumerate(measured.rules):
        said += silence(
            rule.sieve,
            measured.scores,
            position,
            nothing=_nothing(rule.sieve),
            few=FEW if rule.sieve.startswith("surface:") else "",
        )
    return said


def _nothing(column: str) -> str:
    """Why a column says nothing of any input."""
    if column in ("surface:next", "surface:entropy-first"):
        return "queries see no later key, so that nothing is left to choose"
    return "no input has what it counts" if column in MASSES else "no input has such a token"
