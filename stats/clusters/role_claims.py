"""Claims that heads of one role lie closer and that clusters are roles: shares and agreement, without p."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.errors import BadInput
from headroles.records.clusters import CLAIMS, Divergence
from headroles.records.example import Scores
from headroles.records.findings import Findings
from headroles.records.rules.rule import Decision
from headroles.records.table import Table
from headroles.stats.assessment.together import percentile_interval
from headroles.stats.clusters.clusters import adjusted_rand, noise_as_clusters
from headroles.stats.clusters.distance_tests import r_squared_of_roles
from headroles.stats.clusters.distances import square_matrix, weighted_means
from headroles.stats.columns import Columns
from headroles.stats.draws import bootstrap_counts
from headroles.stats.relabel import Grid, closed_form_decision, gather_draws, label_draws

Row = tuple[float, float, float]
"""Estimate, and lower and upper end of its interval."""


def claim_without_p(
    name: str, subject: str, measure: str, row: Row, counted: tuple[int, int]
) -> dict[str, Any]:
    """Return a claim without p.

    Args:
        name: Name of the claim.
        subject: Its subject, such as a role; "" for all heads.
        measure: Name of the number.
        row: The number with its interval.
        counted: Heads, and units.

    Example:
        >>> claim_without_p("split halves agree", "", "adjusted Rand", (0.8, 0.7, 0.9), (9, 5))["placements"]
        0
    """
    estimate, low, high = row
    heads, units = counted
    return {
        "claim": name, "subject": subject, "measure": measure, "estimate": estimate, "low": low, "high": high,
        "p": float("nan"), "placements": 0, "reference": "", "heads": heads, "units": units,
    }  # fmt: skip


CLOSER, ROLE, SETS = "same role closer", "clusters are the role", "clusters are the sets of roles"
"""Names of the claims."""


def role_claims(
    divergence: Divergence,
    scores: Scores,
    decision: Decision,
    findings: Findings,
    cluster: Int[np.ndarray, " heads"],
    *,
    draws: int = 200,
    seed: int = 0,
) -> Table:
    """Return claims about roles, distances and clusters.

    Per role with two or more holders and two or more others: R² of holding it ("R2"), and the adjusted
    Rand index of the clusters against holders and others; over all heads the index of the clusters
    against the sets of roles that heads hold. Intervals are percentiles over resampled units: in each
    resample distances and roles are computed again, from the same units; the clusters stay. Labels of
    resamples flicker near the decision's edge, so an interval describes a spread and need not be
    centred on the estimate.

    There is no p. Roles and distances are made of the same attention: of random heads, those that
    happen to look near are alike in that, and placing roles at random gives small p in every run.

    Args:
        divergence: Block sums.
        scores: The scores that were judged, over the same units.
        decision: How they were judged.
        findings: The outcome, with its rules.
        cluster: Cluster of each head (``Clustered.cluster``); each noise head is one of its own.
        draws: Resamples of the blocks.
        seed: Of the resamples.

    Raises:
        BadInput: When units or heads are not those of the divergences.
    """
    rules = findings.rules
    columns = Columns(scores, rules)
    _check_same_units(divergence, scores, len(columns[0].values))
    names = [rule.sieve for rule in rules if rule.role]
    held = findings.decision[[rule.role for rule in rules]].reshape(len(names), -1) == 0
    if not held.any():
        return CLAIMS
    group = noise_as_clusters(cluster)
    observed = _measures(square_matrix(divergence.mean()), held, group)
    drawn = bootstrap_counts(len(divergence.weight), draws, seed)
    redrawn = _resample_measures(divergence, columns, decision, group, drawn)
    counted = len(group), len(divergence.block)
    known = [role for role in range(len(names)) if not np.isnan(observed[role])]
    wanted = [(CLOSER, names[role], "R2", role) for role in known]
    wanted += [(ROLE, names[role], "adjusted Rand", len(names) + role) for role in known]
    wanted.append((SETS, "", "adjusted Rand", 2 * len(names)))
    return CLAIMS.rows(
        claim_without_p(
            name, role, measure, (float(observed[at]), *percentile_interval(redrawn[:, at])), counted
        )
        for name, role, measure, at in wanted
    )


def _resample_measures(
    divergence: Divergence,
    columns: Columns,
    decision: Decision,
    group: Int[np.ndarray, " heads"],
    drawn: Iterator[Float[np.ndarray, "block blocks"]],
) -> Float[np.ndarray, "draws measures"]:
    """Return all measures with distances and roles of resampled blocks; no row with one block."""
    plain, grid = closed_form_decision(decision), Grid(divergence.layers, divergence.heads)
    measures = 2 * sum(rule.role for rule in columns.rules) + 1
    rows: list[np.ndarray] = []
    for counts in gather_draws(drawn if len(divergence.weight) > 1 else (), len(group)):
        held = label_draws(columns, counts[:, divergence.block], grid, plain)
        mean = (row for some in weighted_means(divergence, counts.astype(np.float64)) for row in some)
        rows += [_measures(square_matrix(row), held[:, draw], group) for draw, row in enumerate(mean)]
    return np.array(rows).reshape(len(rows), measures)


def _measures(
    whole: Float[np.ndarray, "heads heads"],
    held: Bool[np.ndarray, "roles heads"],
    group: Int[np.ndarray, " heads"],
) -> Float[np.ndarray, " measures"]:
    """Return R² of every role, the index of clusters against every role, and against the sets of roles."""
    r2 = r_squared_of_roles(whole, held)
    each = [
        float("nan") if np.isnan(share) else adjusted_rand(group, row.astype(np.int64))
        for share, row in zip(r2, held, strict=True)
    ]
    _, sets = np.unique(held, axis=1, return_inverse=True)
    return np.array([*r2, *each, adjusted_rand(group, sets.ravel())])


def _check_same_units(divergence: Divergence, scores: Scores, units: int) -> None:
    ours = (divergence.layers, divergence.heads, len(divergence.block))
    theirs = (scores.layers, scores.heads, units)
    if ours != theirs:
        raise BadInput(
            f"roles and divergences need the same layers, heads and units, but divergences have {ours} "
            f"and scores {theirs}; make both from the same inputs"
        )
