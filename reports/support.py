"""How firm the labels of every role are: counted from the run's own assessment, nothing computed anew."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from headroles.records.findings import Labelling
from headroles.reports.content import Support
from headroles.reports.words import HALF_SAMPLES, STEADY


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
