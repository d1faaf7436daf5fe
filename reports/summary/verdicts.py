"""What the run says about one role, in sentences.

How firm the labels of every role are: counted from the run's own assessment, nothing computed anew.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from headroles.records.example import Decision
from headroles.records.findings import Labelling
from headroles.reports.content import Role, Strongest, Support
from headroles.reports.words.words import HALF_SAMPLES, STEADY, exact, family, interval, isolate, plural, two


def verdict(role: Role, decision: Decision, run_tests: int, statistic: str) -> str:
    """What the run says about one role, without the role's name."""
    tally = role.tally
    if not tally.tests:
        return (
            f"Not applicable here: none of the {plural(tally.heads, 'head')} could be tested "
            "(fewer than two units with a score, or scores without spread or known bounds)."
        )
    below = f"significantly below θ = {exact(role.threshold)}"
    if role.contrast:
        below += f", or contrast significantly below {exact(role.contrast_threshold)}"
    parts = [
        f"{tally.role or 'None'} of {plural(tally.heads, 'head')} "
        f"({family(decision, tally.tests, run_tests)}); {tally.not_role} are not ({below})"
    ]
    parts.append(f"{tally.undetermined} undetermined")
    if tally.untestable:
        parts.append(f"{tally.untestable} could not be tested")
    sentences = [", ".join(parts) + "."]
    if role.contrast:
        sentences.append(
            f"Both had to pass: {statistic} beyond θ = {exact(role.threshold)} and contrast "
            f"({isolate(role.contrast)}) beyond {exact(role.contrast_threshold)}."
        )
    if role.strongest is not None:
        sentences.append(strongest(role.strongest, statistic))
    return " ".join(sentences)


def strongest(head: Strongest, statistic: str) -> str:
    """The strongest head of a role, with its interval or intervals."""
    place = f"Strongest: layer {head.layer} head {head.head}"
    if head.contrast is None:
        return f"{place}, mean {interval(head.score)}."
    return f"{place}, {statistic} {interval(head.score)}, contrast {interval(head.contrast)}."


def support(held: Support, contrast: bool) -> str:
    r"""How firm the labels of one role are; "" where there is nothing to say.

    Args:
        held: Stability, detectable effects and design effect of the role.
        contrast: Whether the role asks for a contrast as well.

    Example:
        >>> support(Support(21, 18, 200, (0.24, 0.24), float("nan")), False).split("; ")[0]
        '18 of 21 labels came back in both halves of at least 90\xa0% of 200 random half-samples'
    """
    parts = [stable(held)] if held.labels and held.steady is not None else []
    low, high = held.detectable
    if not math.isnan(low):
        told = two(low) if two(low) == two(high) else f"{two(low)} to {two(high)}"
        parts.append(f"smallest detectable effect {told}{' (of the score)' if contrast else ''}")
    if not math.isnan(held.design):
        parts.append(f"median design effect {two(held.design)}")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def stable(held: Support) -> str:
    """How many labels of a role came back."""
    if held.labels == 1:
        labels = "the one label came back" if held.steady else "the one label did not come back"
    elif held.steady in (0, held.labels):
        labels = f"{'all' if held.steady else 'none of the'} {held.labels} labels came back"
    else:
        labels = f"{held.steady} of {held.labels} labels came back"
    return f"{labels} in both halves of {halves(held.splits)}"


def halves(splits: int) -> str:
    """The half-samples from which on a label is said to have come back."""
    drawn = f"of {splits:,} random half-samples" if splits else "of the random half-samples"
    return f"at least {100 * STEADY:g}\u00a0% {drawn}"


def supports(labelling: Labelling) -> tuple[Support, ...]:
    """Stability, detectable effect and design effect of every role, in their order.

    Args:
        labelling: The result of a run.

    Returns:
        One entry per role; empty when the run has no assessment.
    """
    if labelling.assessment is None:
        return ()
    precision, findings = labelling.assessment.precision, labelling.findings
    units = labelling.scores.units
    grouped = len(set(units)) < len(units)
    found = []
    for place in (k for k, rule in enumerate(findings.rules) if rule.role):
        decided = findings.decision[place]
        stability = precision.stability[place][decided == 0]
        unknown = bool(np.isnan(precision.stability[place][decided != 3]).any())
        found.append(
            Support(
                labels=stability.size,
                steady=None if unknown else int((stability >= STEADY).sum()),
                splits=splits(labelling.manifest),
                detectable=_range(precision.detectable[place][decided != 3]),
                design=_median(precision.design_effect[place]) if grouped else float("nan"),
            )
        )
    return tuple(found)


def splits(manifest: Mapping[str, Any]) -> int:
    """Random half-samples that the manifest asks for, the usual ones for None; 0 when it does not say."""
    settings = manifest.get("settings")
    drawn = settings.get("splits", 0) if isinstance(settings, Mapping) else 0
    return HALF_SAMPLES if drawn is None else drawn if isinstance(drawn, int) else 0


def _range(values: np.ndarray) -> tuple[float, float]:
    known = values[~np.isnan(values)]
    return (float(known.min()), float(known.max())) if known.size else (float("nan"), float("nan"))


def _median(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size else float("nan")
