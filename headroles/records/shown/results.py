"""The ``repr`` of runs, comparisons and replications: what was tested on what, and the roles found."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headroles.records.rules.rule import Decision
from headroles.records.shown.brief import MOST_LINES, brief_lines, sentence_lines
from headroles.records.shown.notebook import DifferencesGrid, FindingsGrid
from headroles.records.table import Table

MOST_ROLES = 10
"""Most lines for sieves of a comparison or replication."""
TABLES = '.roles["name"], .head(layer, head), .to_pandas(), .to_xarray()'
"""What a run offers at the prompt."""
CHANGES = ("changed", "equivalent", "undetermined", "untestable")


def labelling_text(
    findings: FindingsGrid,
    decision: Decision,
    manifest: Mapping[str, Any],
    outcomes: Sequence[str],
    notes: int,
    folder: str | None,
    answer: Sequence[str],
) -> str:
    """Return a run as text: model, inputs, decision, the answer, and counts of heads per role.

    Args:
        findings: Findings of the run.
        decision: Test, correction and level that judged it.
        manifest: The run's manifest; missing facts are left out.
        outcomes: The decisions in words, in their order.
        notes: Number of notes on what was left out.
        folder: Folder of the run; None where it is not known, or nothing was written.
        answer: What the run found, in sentences. Roles have the lines that these leave.
    """
    places = [place for place, rule in enumerate(findings.rules) if rule.role]
    names = [findings.rules[place].sieve for place in places]
    counts = [_counts(findings.decision[place], outcomes) for place in places]
    before = [
        *_account(manifest),
        ("decision", _decision(decision)),
    ]
    after = [
        *([("notes", f"{notes} on what was left out (.skipped)")] if notes else []),
        *([("folder", folder)] if folder else []),
        ("more", TABLES),
    ]
    left = MOST_LINES - 1 - len(sentence_lines(answer)) - len(before) - len(after)
    facts = [*before, *_first(names, counts, "role", left), *after]
    return brief_lines(f"Labelling of {_heads(findings.decision)}", facts, answer)


def comparison_text(
    differences: DifferencesGrid,
    decision: Decision,
    bound: float,
    manifest: Mapping[str, Any],
    answer: Sequence[str],
) -> str:
    """Return a comparison as text: the answer, both models, decision, and counts of changed heads per sieve.

    Args:
        differences: Differences B − A.
        decision: Test, correction and level that judged both.
        bound: Differences within ± bound are equivalent.
        manifest: The comparison's manifest; missing facts are left out.
        answer: What changed, in sentences. Sieves have the lines that these leave.
    """
    names = [rule.sieve for rule in differences.rules]
    counts = [_counts(outcome, CHANGES) for outcome in differences.outcome]
    runs = [(f"run {name.upper()}", _model(manifest.get(name))) for name in ("a", "b")]
    before = [
        *((name, model) for name, model in runs if model),
        ("decision", f"{_decision(decision)}; within ± {bound:g} is equivalent"),
    ]
    after = [("tables", ".to_pandas(), .labels(), .by_layer(), .by_role()")]
    left = MOST_LINES - 1 - len(sentence_lines(answer)) - len(before) - len(after)
    facts = [*before, *_first(names, counts, "sieve", left), *after]
    return brief_lines(f"Comparison of {_heads(differences.outcome)}", facts, answer)


def replication_text(counts: Table, outcomes: Mapping[str, int], decision: Decision, notes: int) -> str:
    """Return a replication as text: roles of run A by their decision in run B.

    Args:
        counts: Counts of roles per row, each with ``name``, ``roles`` and ``role``.
        outcomes: Number of roles of A per decision in B.
        decision: Test, correction and level that judged B.
        notes: Number of remarks.
    """
    words = ", ".join(f"{number} {name}" for name, number in sorted(outcomes.items())) or "none"
    lines = [f"{row.role} of {row.roles} roles again" for row in counts]
    facts = [
        ("in run B", words),
        ("decision", _decision(decision)),
        *_first([row.name for row in counts], lines, "row"),
        *([("notes", f"{notes} (.notes)")] if notes else []),
        ("tables", ".frame(), .by_column(), .by_row(), .best_heads(), .condition_gaps()"),
    ]
    return brief_lines(f"Replication of {sum(outcomes.values())} roles of run A", facts)


def _first(
    names: Sequence[str], lines: Sequence[str], noun: str, most: int = MOST_ROLES
) -> list[tuple[str, str]]:
    """Return the first lines with their names, and how many more there are, in at most ``most`` lines."""
    shown = len(names) if len(names) <= most else most - 1
    facts = [*zip(names, lines, strict=True)][:shown]
    left = len(names) - len(facts)
    return [*facts, *([("…", f"{left} more {noun}{'s' * (left > 1)}")] if left else [])]


def _counts(codes: np.ndarray, words: Sequence[str]) -> str:
    """Return how many heads have each decision, those without any left out."""
    numbers = [(int((codes == code).sum()), word) for code, word in enumerate(words)]
    return ", ".join(f"{number} {word}" for number, word in numbers if number) or "no head"


def _heads(codes: np.ndarray) -> str:
    layers, heads = codes.shape[1:]
    return f"{layers} layers × {heads} heads"


def _account(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return model and inputs of a run, as far as its manifest knows them."""
    source, counts = manifest.get("source") or {}, manifest.get("counts") or {}
    words = [str(name) for name in (manifest.get("task"), source.get("name")) if name]
    words += [
        f"{counts[name]:,} {name}" for name in ("examples", "units") if isinstance(counts.get(name), int)
    ]
    facts = (("model", _model(manifest)), ("inputs", ", ".join(words)))
    return [(name, text) for name, text in facts if text]


def _model(manifest: Any) -> str:
    """Return the name of a run's model; "" where it is not known."""
    model = manifest.get("model") if isinstance(manifest, Mapping) else None
    return str(model.get("name") or "") if isinstance(model, Mapping) else ""


def _decision(decision: Decision) -> str:
    return f"{decision.test}, {decision.correction} over family {decision.family!r}, alpha {decision.alpha:g}"
