"""A table for a paper, and a sentence on how its decisions were made."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from typing import Any

from headroles.records.example import Decision
from headroles.records.findings import Labelling
from headroles.reports.words.words import BOTH, CORRECTIONS, FAMILIES, TESTS, plural

Tables = Mapping[str, Callable[[], "PaperTable"]]
"""Functions that make the tables of a run, by name; the first is what the run is about."""


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table for a paper.

    Attributes:
        caption: What it shows, and test, correction, alpha and units.
        header: Names of its columns.
        rows: Its cells as the report writes them; as many in each row as there are columns.
        columns: Names of the columns with all digits.
        values: Their cells; NaN and None where there is no value.
    """

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    columns: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]


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
    correction = CORRECTIONS.get(decision.correction, decision.correction)
    if decision.correction != "none":
        correction += f" over {over}"
    return (
        f"Test: {TESTS.get(decision.test, decision.test)}; correction: {correction}; "
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


def columns_of_records(
    kind: type, rows: Iterable[Any]
) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
    """Return columns and values of records of one kind."""
    return tuple(field.name for field in fields(kind)), tuple(astuple(record) for record in rows)


def columns_of_frame(frame: Any) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
    """Return columns and values of a pandas frame."""
    return tuple(map(str, frame.columns)), tuple(frame.itertuples(index=False, name=None))


def families_of(labelling: Labelling) -> Mapping[str, str]:
    """Return the tests that a run corrects together, in words, by the name of the family."""
    joint = BOTH * any(rule.together for rule in labelling.findings.rules)
    return {name: over + joint for name, over in FAMILIES.items()}


def units_of(labelling: Labelling) -> int:
    """Return the number of units that a run has scores of."""
    return len(set(labelling.scores.units))
