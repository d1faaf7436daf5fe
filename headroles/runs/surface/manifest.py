"""Record everything that reproduces a run of surface statistics, and what the run left out."""

from typing import Any

from headroles.options.surface import SurfaceOptions
from headroles.records.arrays import shared_keys_note
from headroles.records.view import CROSS
from headroles.runs.manifest import (
    attention_notes,
    column_notes,
    common_record,
    few_unit_notes,
    truncation_notes,
)
from headroles.runs.scored import ScoredRun
from headroles.sieves.statistics import MASSES

WARNING = (
    "The preset 'published' smooths every row by 0.0001 of even attention before it takes entropies, as the "
    "code released with Clark et al. (2019) does. That code tests nothing and shows no interval; tests and "
    "intervals here are those of headroles. Its masses are the same under any preset."
)

OFFSETS = ("surface:previous", "surface:next", "surface:self")
"""Columns that count keys at an offset."""
FEW = "no head is called below even attention, because rare attention would look absent too often"


UNEQUAL = "unequal"
"""Name of the count of inputs whose layers see different keys."""


def manifest_of(options: SurfaceOptions, scored: ScoredRun) -> dict[str, Any]:
    """Return everything needed to reproduce a run of surface statistics, in JSON types."""
    noted = scored.facts.known.noted
    return common_record(options, scored, noted["longest"]) | {
        "task": options.task,
        "parser": None,
        "statistic": "surface",
        "surface": {
            "marks": options.marks,
            "smoothing": options.smoothing,
            "loss": noted["loss"],
        },
        "notes": [
            *_notes(options, scored),
            *attention_notes(scored.facts.described),
            *shared_keys_note(scored.facts.described),
        ],
    }


def _notes(options: SurfaceOptions, scored: ScoredRun) -> list[str]:
    notes = [WARNING] if options.preset == "published" else []
    if unequal := scored.counts.get(UNEQUAL):
        notes.append(
            f"In {unequal} of {len(scored.scores.examples)} inputs the layers of this model see different "
            "keys, but even attention is the mean over layers. Tests of heads are wrong by this "
            "difference. A --max-length within the window of the model avoids it."
        )
    return notes


def omission_notes(options: SurfaceOptions, scored: ScoredRun) -> list[str]:
    """Return what was cut, was not applicable or has too few units, one sentence each."""
    notes = truncation_notes(scored.truncated, len(scored.scores.examples), options.max_length)
    few: dict[str, int] = {}
    for position, rule in enumerate(scored.rules):
        reason = _reason_for_no_values(rule.sieve, scored.facts.described.get("kind"))
        notes += column_notes(rule.sieve, scored.scores, position, nothing=reason, few=few)
    return notes + few_unit_notes({name: few[name] for name in few if name.startswith("surface:")}, FEW)


def _reason_for_no_values(column: str, kind: str | None) -> str:
    """Return why a column has no value for any input, of a kind of attention or of all of a model."""
    if kind == CROSS and column in OFFSETS:
        return "offsets exist within one stack"
    if column in ("surface:next", "surface:entropy-first"):
        return "queries see no later key, so that nothing is left to choose"
    return "no input has what it counts" if column in MASSES else "no input has such a token"
