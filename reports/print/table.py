"""A table for a paper, and how what it shows was decided."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from typing import Any

from headroles.records.example import Decision
from headroles.records.findings import Labelling
from headroles.reports.words.words import BOTH, CORRECTIONS, FAMILIES, TESTS, plural

Tables = Mapping[str, Callable[[], "Printed"]]
"""The tables of a run by name, made when asked for; the first is what the run is about."""


@dataclass(frozen=True, slots=True)
class Printed:
    """A table for a paper.

    Attributes:
        caption: What it shows, and test, correction, alpha and units.
        header: Names of its columns.
        rows: Its cells as the report writes them; as many in each row as there are columns.
        columns: Names of the columns with all digits.
        values: Their cells; NaN and None where there is nothing to say.
    """

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    columns: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]


def decided(decision: Decision, units: int, families: Mapping[str, str] = FAMILIES) -> str:
    """Test, correction, level and units in a sentence.

    Args:
        decision: Of the run.
        units: That scores were seen of.
        families: What is corrected together, in words.

    Example:
        >>> decided(Decision(), 160).split("; ")[1:]
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


def inputs(manifest: Mapping[str, Any]) -> str:
    """Model and inputs of a run, as far as its manifest tells them; "" for nothing.

    Example:
        >>> inputs({"model": {"name": "tiny"}, "task": "QNLI"}), inputs({})
        (' (tiny, QNLI)', '')
    """
    model, source = (manifest.get(name) or {} for name in ("model", "source"))
    told = [
        model.get("name") if isinstance(model, Mapping) else None,
        manifest.get("task") or (source.get("name") if isinstance(source, Mapping) else None),
    ]
    known = [str(each) for each in told if each]
    return f" ({', '.join(known)})" if known else ""


def records(kind: type, found: Iterable[Any]) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
    """Columns and values of records of one kind."""
    return tuple(each.name for each in fields(kind)), tuple(astuple(each) for each in found)


def framed(frame: Any) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
    """Columns and values of a frame of pandas."""
    return tuple(map(str, frame.columns)), tuple(frame.itertuples(index=False, name=None))


def families_of(labelling: Labelling) -> Mapping[str, str]:
    """What a run corrects together, in words, by the name of the family."""
    both = BOTH * any(rule.together for rule in labelling.findings.rules)
    return {name: over + both for name, over in FAMILIES.items()}


def units_of(labelling: Labelling) -> int:
    """Units that a run has scores of."""
    return len(set(labelling.scores.units))
