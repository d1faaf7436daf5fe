"""What a reader of the decisions must know about how they were made."""

import numpy as np

from headroles.outcomes import Findings
from headroles.records import Decision
from headroles.stats.methods import METHODS
from headroles.stats.relabel import stand_in
from headroles.stats.resolution import needed_p, tests_in

FEW = 50
"""Units below which a t test's level is not to be trusted under skew."""


def remarks(decision: Decision, findings: Findings) -> list[str]:
    """One sentence each; none when nothing is unusual.

    Args:
        decision: How the findings were made.
        findings: What was found.
    """
    method = METHODS[decision.test]
    said = [method.warning] if method.warning else []
    roles = [k for k, rule in enumerate(findings.rules) if rule.role]
    few = [
        f"{findings.rules[k].sieve} ({int(findings.count[k].max())})"
        for k in roles
        if 1 < findings.count[k].max() < FEW
    ]
    if few and method.estimand == "mean":
        said.append(
            f"fewer than {FEW} units under {decision.test}: {', '.join(few)}; with skewed scores so few "
            f"units err more often than alpha says."
        )
    said += _coarse(decision, findings, roles)
    if decision.correction == "fdr_tsbh":
        said.append("fdr_tsbh assumes independent heads, which heads of one model are not; fdr_bh does not.")
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


def _coarse(decision: Decision, findings: Findings, roles: list[int]) -> list[str]:
    """Roles whose few units have too few sign patterns for the correction, whatever the resamples."""
    if decision.test != "sign-flip":
        return []
    tests = tests_in(decision.family, len(roles), *findings.count.shape[1:])
    level = needed_p(decision.correction, decision.alpha, max(tests, 1))
    most = [(findings.rules[k].sieve, int(findings.count[k].max())) for k in roles]
    coarse = [f"{name} ({units})" for name, units in most if 1 < units < 60 and 0.5**units > level]
    if not coarse:
        return []
    return [
        f"too few units for sign-flip with {decision.correction}: {', '.join(coarse)}; all their sign "
        f"patterns together reach no p of {level:.2g}, so no head can get the role."
    ]
