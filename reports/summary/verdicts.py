"""How firm the labels of each role are, in words.

All is counted from the run's own assessment.
"""

import math

import numpy as np

from headroles.records.findings import Labelling
from headroles.records.numbers import plural, share, two_decimals
from headroles.reports.records import Role, Support
from headroles.reports.words.words import HALF, STEADY


def counts_beyond(role: Role) -> str:
    """Return how many heads hold a role beyond its contrast, and how many beyond the second one, too.

    Example: "12 heads beyond distance, 3 of them beyond word class".
    """
    tally = role.tally
    heads = plural(tally.role, "head")
    return f"{heads} beyond {role.control}, {tally.strong or 'none'} of them beyond {role.stronger}"


def support_sentence(firmness: Support, contrast: bool) -> str:
    r"""Return how firm the labels of one role are; "" where there is no value.

    Args:
        firmness: Stability, detectable effects and design effect of the role.
        contrast: Whether the role asks for a contrast as well.

    Example:
        >>> support_sentence(Support(21, 18, (0.24, 0.24), float("nan")), False).split("; ")[0]
        '18 of 21 labels are stable: a fresh sample gives each again with probability ≥ 90\xa0%'
    """
    parts = [stability_text(firmness)] if firmness.labels and firmness.steady is not None else []
    low, high = firmness.detectable
    if not math.isnan(low):
        effects = (
            two_decimals(low)
            if two_decimals(low) == two_decimals(high)
            else f"{two_decimals(low)} to {two_decimals(high)}"
        )
        parts.append(f"smallest detectable effect {effects}{' (of the score)' if contrast else ''}")
    if not math.isnan(firmness.design):
        parts.append(f"median design effect {two_decimals(firmness.design)}")
    if firmness.minority:
        parts.append(minority_text(firmness))
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def minority_text(firmness: Support) -> str:
    r"""Return how many labels hold in under half of the units.

    Example:
        >>> minority_text(Support(21, 18, (0.2, 0.2), float("nan"), minority=2, least=0.41))
        '2 of 21 labels hold in under half of the units (at least 41\xa0%), by the score alone'
    """
    few = f"{firmness.minority} of {plural(firmness.labels, 'label')}"
    holds = "holds" if firmness.labels == 1 else "hold"
    return f"{few} {holds} in under half of the units (at least {share(firmness.least)}), by the score alone"


def stability_text(firmness: Support) -> str:
    """Return how many labels of a role are stable."""
    if firmness.labels == 1:
        labels = "the one label is stable" if firmness.steady else "the one label is not stable"
    elif firmness.steady in (0, firmness.labels):
        labels = f"{'all' if firmness.steady else 'none of the'} {firmness.labels} labels are stable"
    else:
        labels = f"{firmness.steady} of {firmness.labels} labels are stable"
    return (
        f"{labels}: a fresh sample gives {_again(firmness)} again with probability ≥ {100 * STEADY:g}\u00a0%"
    )


def _again(firmness: Support) -> str:
    """Return the word for the labels that a fresh sample gives again."""
    return "it" if firmness.labels == 1 else "each"


def supports_of(labelling: Labelling) -> tuple[Support, ...]:
    """Return stability, detectable effect and design effect of every role, in their order.

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
    firmness = []
    for place in (number for number, rule in enumerate(findings.rules) if rule.role):
        decided = findings.decision[place]
        stability = precision.stability[place][decided == 0]
        unknown = bool(np.isnan(precision.stability[place][decided != 3]).any())
        firmness.append(
            Support(
                labels=stability.size,
                steady=None if unknown else int((stability >= STEADY).sum()),
                detectable=_range(precision.detectable[place][decided != 3]),
                design=_median(precision.design_effect[place]) if grouped else float("nan"),
                minority=int((precision.prevalence[place][decided == 0] < HALF).sum()),
                least=_range(precision.prevalence[place][decided == 0])[0],
            )
        )
    return tuple(firmness)


def _range(values: np.ndarray) -> tuple[float, float]:
    """Return the smallest and the largest of the numbers that are not NaN; NaN where there are none."""
    known = values[~np.isnan(values)]
    return (float(known.min()), float(known.max())) if known.size else (float("nan"), float("nan"))


def _median(values: np.ndarray) -> float:
    """Return the median of the numbers that are not NaN; NaN where there are none."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size else float("nan")
