"""Sentences of a table for a paper: model and inputs, and how its decisions were made."""

from collections.abc import Mapping
from typing import Any

from headroles.records.findings import Labelling
from headroles.records.numbers import plural
from headroles.records.rules.rule import BOTH, FAMILIES, Decision
from headroles.reports.words.words import correction_words, words_of_test


def decision_sentence(decision: Decision, units: int, families: Mapping[str, str] = FAMILIES) -> str:
    """Return test, correction, level and units in a sentence.

    Args:
        decision: Of the run.
        units: Number of units with scores.
        families: Tests that are corrected together, in words.

    Example:
        >>> decision_sentence(Decision(), 160).split("; ")[1:]
        ['correction: Benjamini–Hochberg (fdr_bh) over the heads of one sieve', 'alpha 0.05', '160 units.']
    """
    over = families.get(decision.family, decision.family)
    correction = correction_words(decision.test, decision.correction)
    if decision.correction != "none":
        correction += f" over {over}"
    return (
        f"Test: {words_of_test(decision.test)}; correction: {correction}; "
        f"alpha {decision.alpha:g}; {plural(units, 'unit')}."
    )


def inputs_text(manifest: Mapping[str, Any]) -> str:
    """Return model and inputs of a run, as far as its manifest states them; "" for nothing.

    Example:
        >>> inputs_text({"model": {"name": "tiny"}, "task": "QNLI"}), inputs_text({})
        (' (tiny, QNLI)', '')
    """
    model, source = (manifest.get(name) or {} for name in ("model", "source"))
    names = [
        model.get("name") if isinstance(model, Mapping) else None,
        manifest.get("task") or (source.get("name") if isinstance(source, Mapping) else None),
    ]
    known = [str(text) for text in names if text]
    return f" ({', '.join(known)})" if known else ""


def families_of(labelling: Labelling) -> Mapping[str, str]:
    """Return the tests that a run corrects together, in words, by the name of the family."""
    joint = BOTH * any(rule.together for rule in labelling.findings.rules)
    return {name: over + joint for name, over in FAMILIES.items()}


def units_of(labelling: Labelling) -> int:
    """Return the number of units that a run has scores of."""
    return len(set(labelling.scores.units))
