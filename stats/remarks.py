"""What a reader of the decisions must know about how they were made."""

import math

import numpy as np

from headroles.records.example import Decision
from headroles.records.findings import Findings
from headroles.stats.draws import flips_are_exact
from headroles.stats.engine import ENOUGH_FOR_NOT
from headroles.stats.families import with_contrast
from headroles.stats.methods import METHODS
from headroles.stats.naming import shortened
from headroles.stats.power import assumed_cut
from headroles.stats.relabel import stand_in
from headroles.stats.resolution import needed_p, tests_in

SMALL = {
    "t-skew": "even for normal scores (family-wise error of holm 0.07 instead of 0.05 at 20 units, "
    "0.12 at 5), and more under skew or heavy tails",
    "t": "under skew",
    "bootstrap-t": "under strong skew",
    "sign-flip": "under skew",
}
"""When so few units err more often than alpha says."""


def remarks(decision: Decision, findings: Findings) -> list[str]:
    """One sentence each; none when nothing is unusual.

    Args:
        decision: How the findings were made.
        findings: What was found.
    """
    method = METHODS[decision.test]
    said = [method.warning] if method.warning else []
    said += _few(decision, findings)
    said += _coarse(decision, findings)
    if decision.correction == "fdr_tsbh":
        said.append(
            "fdr_tsbh assumes independent heads, which heads of one model are not, and holds its rate nearly."
        )
    if decision.correction in ("sidak", "holm-sidak"):
        said.append(
            f"{decision.correction} assumes independent or positively dependent heads; holm does not."
        )
    if decision.correction == "maxT" and decision.test == "sign-flip":
        said.append(
            "maxT by sign flips assumes that all heads are jointly symmetric about θ; family-wise errors of "
            "0.10 to 0.28 were measured on real scores, 0.03 to 0.08 with the bootstrap (any other test)."
        )
    plain = stand_in(decision)
    if (plain.test, plain.correction) != (decision.test, decision.correction) and np.any(findings.count > 1):
        said.append(
            f"stability, sensitivity to the margin, overlaps without the contrast, and intervals over "
            f"resampled units use {plain.test} with {plain.correction} in place of {decision.test} with "
            f"{decision.correction}."
        )
    return said


def _few(decision: Decision, findings: Findings) -> list[str]:
    """Roles that rest on few units, with the fewest that any of their heads or contrasts has."""
    if decision.test not in SMALL:
        return []
    contrast = dict(with_contrast(findings.rules))
    few = []
    for k, rule in enumerate(findings.rules):
        count = np.concatenate([findings.count[each].ravel() for each in (k, contrast.get(k, k))])
        least = int(count[count > 1].min(initial=ENOUGH_FOR_NOT))
        if rule.role and least < ENOUGH_FOR_NOT:
            few.append(f"{rule.sieve} ({least})")
    if not few:
        return []
    return [
        f"fewer than {ENOUGH_FOR_NOT} units: {shortened(few)}; with so few, {decision.test} errs more "
        f"often than alpha says {SMALL[decision.test]}."
    ]


def _coarse(decision: Decision, findings: Findings) -> list[str]:
    """Roles whose smallest possible p is too large for a head that stands alone, or for any."""
    if METHODS[decision.test].resampled is None or decision.correction == "maxT":
        return []
    shape = findings.count.shape
    tests = max(tests_in(decision.family, findings.rules, *shape[1:]), 1)
    alone = assumed_cut(decision.correction, decision.alpha, tests)
    best = needed_p(decision.correction, decision.alpha, tests)
    said = []
    for k, rule in enumerate(findings.rules):
        units = int(findings.count[k].max())
        exact = decision.test == "sign-flip" and flips_are_exact(units, decision.resamples)
        floor = 0.5**units if exact else 1 / (decision.resamples + 1)
        if not rule.role or units < 2 or floor <= alone:
            continue
        why = f"{units} units" if exact else f"{decision.resamples:,} resamples"
        together = math.ceil(floor / alone * (1 - 1e-9))
        who = f"only {together} heads or more, together, can" if floor <= best else "no head can"
        cure = "more units" if exact else f"{math.ceil(1 / alone - 1 - 1e-9):,} resamples"
        said.append(
            f"{rule.sieve}: {decision.test} with {why} has no p below {floor:.2g}, so that {who} "
            f"get the role; {cure} would let a single one through."
        )
    return said
