"""How many heads keep a role when the margin moves."""

from collections.abc import Sequence
from dataclasses import replace

from headroles.records import Decision, Rule, Scores
from headroles.stats.engine import judge

STEPS = (0.0, 0.2, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Margins tried, as multiples of the one used."""


def sensitivity(
    scores: Scores, rules: Sequence[Rule], decision: Decision
) -> dict[str, list[tuple[float, int]]]:
    """Number of labelled heads of every role at margins around the one used.

    Contrasts keep their margins. Each point is a whole judgement with its own correction; the curve
    describes how far the convention decides and is itself no test.

    Returns:
        Per role, pairs of margin (on the score's scale, beyond the null) and number of heads.
    """
    usual = [rule.margin if rule.role else 0.0 for rule in rules]
    curve: dict[str, list[tuple[float, int]]] = {rule.sieve: [] for rule in rules if rule.role}
    for step in STEPS:
        moved = [
            replace(rule, margin=(margin or 0.1) * step) if rule.role else rule
            for rule, margin in zip(rules, usual, strict=True)
        ]
        found = judge(scores, moved, decision)
        for position, rule in enumerate(moved):
            if rule.role:
                labelled = int((found.decision[position] == 0).sum())
                curve[rule.sieve].append((round(rule.margin, 6), labelled))
    return curve
