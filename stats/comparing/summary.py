"""Summaries of paired differences beyond their tests: layer by layer, and remarks for readers.

Nothing here is a test: heads and layers are not a sample of anything.
"""

import numpy as np
from jaxtyping import Float

from headroles.records.comparison import LAYERS, OUTCOMES, Differences
from headroles.records.findings import DECISIONS, Findings
from headroles.records.layers import Stack
from headroles.records.rules.rule import Decision
from headroles.records.table import Table
from headroles.stats.decision import ENOUGH_FOR_NOT
from headroles.stats.methods.names import METHODS
from headroles.stats.relabel import closed_form_decision

EXPLAINED = DECISIONS.index("explained")
"""Code of the decision "explained": the mean lies above θ, and the contrast below its margin."""
MOST = 4
"""Sieves named in one sentence."""


def by_layer(differences: Differences, before: Findings, after: Findings, stack: Stack) -> Table:
    """Return outcomes, differences and labels of every sieve in every layer.

    Args:
        differences: Of every head.
        before: Findings of run A.
        after: Findings of run B; both in the order of the differences.
    """
    rows = []
    for sieve, layer in np.ndindex(differences.outcome.shape[:2]):
        rule = differences.rules[sieve]
        outcome = differences.outcome[sieve, layer]
        difference = differences.difference[sieve, layer]
        held_a, held_b = (run.decision[sieve, layer] == 0 for run in (before, after))
        labels = {
            "labels_a": held_a, "labels_b": held_b, "gained": held_b & ~held_a, "lost": held_a & ~held_b
        }  # fmt: skip
        rows.append(
            {"sieve": rule.sieve, "layer": stack.numbers[layer]}
            | {word: (outcome == code).sum() for code, word in enumerate(OUTCOMES)}
            | {"difference": _mean(difference), "absolute": _mean(np.abs(difference))}
            | {name: int(held.sum()) if rule.role else None for name, held in labels.items()}
        )
    return LAYERS.rows(rows)


def explained_labels(before: Findings, after: Findings) -> list[str]:
    """Return how many of the labels gained and lost belong to heads that are explained in the other run.

    Such a head has a mean above θ in both runs, and its contrast differs.

    Args:
        before: Findings of run A.
        after: Findings of run B.
    """
    sentences = []
    for way, name, labelled, other in (("lost", "B", before, after), ("gained", "A", after, before)):
        heads = int(((labelled.decision == 0) & (other.decision == EXPLAINED)).sum())
        if heads:
            belong = "belongs" if heads == 1 else "belong"
            sentences.append(
                f"{heads:,} of the labels {way} {belong} to heads that are explained in {name}. "
                f"There, too, the mean lies above the threshold, but the contrast lies below its margin."
            )
    return sentences


def _mean(values: Float[np.ndarray, " heads"]) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


def remarks(differences: Differences, decision: Decision, bound: float, labels: Decision | None) -> list[str]:
    """Return remarks for readers of the outcomes, one sentence each; none when nothing is unusual.

    Args:
        differences: The outcome.
        decision: How they were judged.
        bound: Largest difference that counts as none.
        labels: How both runs were labelled; None without swaps.
    """
    method = METHODS[decision.test]
    sentences = [method.warning] if method.warning else []
    few = [
        f"{rule.sieve} ({int(count.max())})"
        for rule, count in zip(differences.rules, differences.count, strict=True)
        if 1 < count.max() < ENOUGH_FOR_NOT
    ]
    if few and method.estimand == "mean":
        sentences.append(
            f"fewer than {ENOUGH_FOR_NOT} units: {', '.join(few)}. With so few, {decision.test} errs more "
            f"often than alpha says if differences are skewed. A head is called equivalent there only "
            f"where the bounds of its scores allow it."
        )
    sentences += _narrow_margins(differences, bound)
    if labels is not None:
        plain = closed_form_decision(labels)
        if (plain.test, plain.correction) != (labels.test, labels.correction):
            sentences.append(
                f"the comparison with swaps uses labels of {plain.test} with {plain.correction}, not of "
                f"{labels.test} with {labels.correction}."
            )
    return sentences


def _narrow_margins(differences: Differences, bound: float) -> list[str]:
    """Return a remark on sieves with a margin within the bound: equivalent heads may change labels there."""
    names = [rule.sieve for rule in differences.rules if abs(rule.margin) < bound]
    if not names:
        return []
    listed = ", ".join(names[:MOST]) + (f" and {len(names) - MOST} more" if len(names) > MOST else "")
    return [
        f"the bound {bound:g} is wider than the margin of {listed}. So a head called equivalent there may "
        f"still have gained or lost the role."
    ]
