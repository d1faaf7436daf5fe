"""Record everything needed to reproduce a run that asks why heads attend, and what it left out."""

from typing import Any

from headroles.options.causal.why import WhyOptions
from headroles.records.causal.ablation import FEWEST_UNITS
from headroles.records.causal.origins import Origins
from headroles.records.findings import Labelling
from headroles.runs.held.manifest import record_of_questions
from headroles.runs.manifest import truncation_notes
from headroles.runs.scored import ScoredRun


def manifest_of(options: WhyOptions, scored: ScoredRun) -> dict[str, Any]:
    """Return everything needed to reproduce a run that asks what makes heads attend, in JSON types."""
    return record_of_questions(options, scored, "why", "contrast")


def omission_notes(options: WhyOptions, scored: ScoredRun, judged: Labelling) -> list[str]:
    """Return what was cut, was not applicable or has too few units, one sentence each."""
    notes = truncation_notes(scored.truncated, len(scored.scores.examples), options.max_length)
    notes += scored.facts.known.omitted
    return notes + (unit_notes(judged.origins) if judged.origins is not None else [])


def unit_notes(origins: Origins) -> list[str]:
    """Return which questions have too few units to decide, one sentence each.

    Args:
        origins: Tests of the products.
    """
    notes = []
    few = [row for row in origins.origins if row.count < FEWEST_UNITS]
    if few:
        notes.append(
            f"below {FEWEST_UNITS} units, nothing is decided about queries and keys: {len(few):,} of "
            f"{len(origins.origins):,} pairs of head and role."
        )
    short = [row for row in origins.knockouts if row.count < FEWEST_UNITS]
    if short:
        notes.append(
            f"below {FEWEST_UNITS} units, no score after a removal is decided: {len(short):,} of "
            f"{len(origins.knockouts):,}."
        )
    return notes
