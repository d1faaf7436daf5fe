"""Stability: the probability that a fresh sample of as many units gives a head the role (``stability``)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy import special

from headroles.records.findings import Findings
from headroles.records.rules.rule import Decision
from headroles.stats.columns import Column, Columns
from headroles.stats.correction import adjust, significant
from headroles.stats.families import contrast_pairs, family_members
from headroles.stats.methods.closed_form import hall_inverse, has_no_spread, t_quantile_above
from headroles.stats.methods.names import METHODS
from headroles.stats.methods.ranks import beyond_threshold
from headroles.stats.methods.reliance import UNSEEN
from headroles.stats.moments import Sample
from headroles.stats.power import harmonic
from headroles.stats.relabel import Grid, closed_form_decision, role_p

FEWEST = 4
"""Units below which a head has no stability: its error is hardly known."""
STEP = 1e-4
"""Change of the skewness by which its influence on a mean that just passes is measured."""
FAR = 38.0
"""Standard errors beyond which a normal probability is 0 or 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Distance:
    """Distance of the heads of one column above the value that a significant result needs.

    Attributes:
        value: The distance: in scores for tests of means, in shares of units for tests of medians; above
            0 where the result is significant.
        influence: n times the change of ``value`` that each unit makes; 0 where a unit has no score. The
            sum of their squares over n² is the variance of ``value``.
        count: Units n.
    """

    value: Float[np.ndarray, " heads"]
    influence: Float[np.ndarray, "units heads"]
    count: Float[np.ndarray, " heads"]

    def in_errors(self) -> Float[np.ndarray, " heads"]:
        """Return the value in standard errors of its difference from that of a fresh sample of n units."""
        square = np.einsum("uh,uh->h", self.influence, self.influence)
        error = np.sqrt(2 * square / np.maximum(self.count * (self.count - 1), 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            errors: np.ndarray = self.value / error
        return errors


def stability(
    columns: Columns, grid: Grid, decision: Decision, findings: Findings
) -> Float[np.ndarray, "roles heads"]:
    """Return the probability that a fresh sample of as many units gives the role, for every head.

    A head has the role when its mean exceeds θ by c standard errors, where c is the quantile of the level
    that the correction leaves it (``reached_cuts``). So D = mean − θ − c × error decides. Units that are
    missing (``methods.reliance``) ask for a least mean, too; where that is nearer, in errors, D is the
    distance from it. D has an error in this sample and another in a fresh one. Both are nearly normal with
    one variance V, hence P(fresh D > 0) = Φ(D / √(2V)), which integrates the error of the estimate (a flat
    prior). V is the variance of D's influence values, in which mean, spread and skewness vary together
    (infinitesimal jackknife). With a contrast both have to pass: a bivariate normal probability, whose
    correlation is that of the two columns' influence values.

    Unit: that of the test; random groups of examples where a run kept sums. Assumptions: independent units,
    a fresh sample from the same source, enough units for D to be nearly normal, and as many roles among the
    other heads as here. It is not the probability that the label is true. Tests in closed form replace
    those that resample, and ``holm`` replaces ``maxT`` (``relabel.closed_form_decision``). Heads without
    spread get 1 or 0, as they are labelled here. On disjoint samples of real rows predicted and observed
    shares agree; ``docs/reference/statistics.md`` has the table. Source: Efron (1982), "The jackknife, the
    bootstrap and other resampling plans", ch. 6; for the predictive probability Goodman (1992), Statistics
    in Medicine 11(7), 875-879.

    Args:
        columns: The run's columns, contrasts included.
        grid: Layers and heads.
        decision: How the run was judged.
        findings: The outcome.

    Returns:
        Probabilities in [0, 1]; NaN where a head could not be tested, and below four units.
    """
    plain = closed_form_decision(decision)
    pairs = dict(contrast_pairs(columns.rules))
    p = findings.p.reshape(len(columns.rules), -1)
    cuts = reached_cuts(findings, grid, plain)
    rows = []
    for position, rule in enumerate(columns.rules):
        if not rule.role:
            continue
        chance = _passes(columns[position], cuts[position], plain)
        few = chance.count
        if rule.contrast:
            second = _passes(columns[pairs[position]], cuts[position], plain)
            few = np.minimum(few, second.count)
            joint = joint_probability(chance.in_errors(), second.in_errors(), _correlation(chance, second))
        else:
            joint = special.ndtr(chance.in_errors())
        rows.append(np.where(np.isnan(p[position]) | (few < FEWEST), np.nan, joint))
    return np.stack(rows) if rows else np.empty((0, p.shape[1]))


def reached_cuts(findings: Findings, grid: Grid, decision: Decision) -> Float[np.ndarray, "sieves heads"]:
    """Return the level that each head's p has to reach, given the roles among the other heads of its family.

    Args:
        findings: The outcome, whose other labels stay as they are.
        grid: Layers and heads.
        decision: Correction, family and alpha; not ``maxT``.

    Returns:
        At most alpha; NaN in families without a test.
    """
    p = findings.p.reshape(len(findings.rules), -1)
    held = findings.decision.reshape(p.shape) == 0
    cuts = np.full(p.shape, np.nan)
    for family in family_members(findings.rules, grid.layers, grid.heads, decision.family):
        own = np.concatenate([p[k, part] for k, part in family])
        others = sum(int(held[k, part].sum()) for k, part in family)
        tests = int((~np.isnan(own)).sum())
        first = 0
        if decision.correction == "fdr_tsbh":
            first = int(significant(adjust(own[None], "fdr_bh"), decision.alpha).sum())
        for k, part in family:
            if tests:
                cuts[k, part] = _cut(decision, tests, others - held[k, part], first)
    return cuts


def _cut(
    decision: Decision, tests: int, others: Int[np.ndarray, " heads"], first: int
) -> Float[np.ndarray, " heads"]:
    """Return the level of heads, given the number of roles among the others (and of a first stage)."""
    alpha, correction = decision.alpha, decision.correction
    left = np.maximum(tests - others, 1.0)
    share = np.minimum((others + 1.0) / tests, 1.0)
    cuts: dict[str, np.ndarray] = {
        "none": alpha + 0 * left,
        "bonferroni": alpha / tests + 0 * left,
        "sidak": -np.expm1(np.log1p(-alpha) / tests) + 0 * left,
        "holm": alpha / left,
        "holm-sidak": -np.expm1(np.log1p(-alpha) / left),
        "fdr_bh": alpha * share,
        "fdr_by": alpha * share / harmonic(tests),
        "fdr_tsbh": np.minimum(alpha * share * tests / (tests - first if first < tests else tests), alpha),
    }
    return cuts[correction]


def _passes(column: Column, cut: Float[np.ndarray, " heads"], decision: Decision) -> Distance:
    """Return the distance of every head above the value that just passes; infinite without spread."""
    sample, test = column.sample, decision.test
    ranked = METHODS[test].ranked is not None
    distance = _rank_distance(column, cut, test) if ranked else _mean_distance(column, sample, cut, test)
    if METHODS[test].guarded:
        distance = _nearer(distance, _guard_distance(column, cut))
    still = has_no_spread(column.counted(sample)) | ~distance.influence.any(axis=0)
    if not still.any():
        return distance
    p = role_p(column, np.ones((1, len(column.values))), decision)[0]
    value = np.where(still, np.where(p <= cut, np.inf, -np.inf), distance.value)
    return Distance(value, np.where(still, 0.0, distance.influence), distance.count)


def _mean_distance(column: Column, sample: Sample, cut: Float[np.ndarray, " heads"], test: str) -> Distance:
    """Return the distance in a test of the mean, with the influence of mean, spread and skewness."""
    count = np.maximum(sample.count, 2).astype(np.float64)
    quantile = t_quantile_above(cut, count - 1) / np.sqrt(count)
    if test == "t-published":
        quantile = quantile * np.sqrt((count - 1) / count)
    skewed = test == "t-skew"
    skew = sample.skew if skewed else np.zeros_like(sample.skew)
    needed = hall_inverse(quantile, skew, count) if skewed else quantile
    known = ~np.isnan(column.values)
    deviation = np.where(known, column.values - sample.mean, 0.0)
    spread = np.where(sample.sd > 0, sample.sd, 1.0)
    score = deviation / spread
    square = score * score
    influence = deviation - needed * sample.sd * (square - 1) / 2
    if skewed:
        ends = (hall_inverse(quantile, skew + side * STEP, count) for side in (1, -1))
        slope = (next(ends) - next(ends)) / (2 * STEP)
        bend = square * score - skew - 3 * score - 1.5 * skew * (square - 1)
        influence -= slope * sample.sd * bend
    value = sample.mean - column.rule.margin - sample.sd * needed
    return Distance(value, np.where(known, influence, 0.0), count)


def _guard_distance(column: Column, cut: Float[np.ndarray, " heads"]) -> Distance:
    """Return the distance of every mean above the least one that missing units leave (``missed_p``)."""
    sample, margin = column.sample, column.rule.margin
    count = np.maximum(column.counted(sample).count, 2)
    room = np.maximum(margin - column.worst(1), 0.0)
    needed = room * np.maximum(UNSEEN / count, cut ** (-1 / count) - 1)
    deviation = np.where(np.isnan(column.values), 0.0, column.values - sample.mean)
    return Distance(sample.mean - margin - needed, deviation, np.maximum(sample.count, 2).astype(np.float64))


def _nearer(first: Distance, second: Distance) -> Distance:
    """Return the distance of every head that is smaller in standard errors."""
    own = ~(second.in_errors() < first.in_errors())
    value = np.where(own, first.value, second.value)
    return Distance(value, np.where(own, first.influence, second.influence), first.count)


def _rank_distance(column: Column, cut: Float[np.ndarray, " heads"], test: str) -> Distance:
    """Return the distance in a test of a median, in shares of units, with the influence of each unit.

    For the sign test the value rests on the mean sign of the units. For Wilcoxon's test it rests on the mean
    sign of all sums of two units. The spread of both under their nulls is known.
    """
    beyond = beyond_threshold(column.values, column.rule.margin)
    known = ~np.isnan(beyond)
    count = known.sum(axis=0).astype(np.float64)
    safe = np.maximum(count, 1)
    if test == "sign":
        signs, weight = np.sign(np.where(known, beyond, 0.0)), 1.0
        spread = np.sqrt((signs * signs).sum(axis=0) / safe)
    else:
        signs, weight = np.stack([_signs_of_sums(scores) for scores in beyond.T], axis=1), 2.0
        spread = np.full(count.shape, np.sqrt(4 / 3))
    mean = signs.sum(axis=0) / safe
    value = mean - -special.ndtri(cut) * spread / np.sqrt(safe)
    return Distance(value, np.where(known, weight * (signs - mean), 0.0), count)


def _signs_of_sums(scores: Float[np.ndarray, " units"]) -> Float[np.ndarray, " units"]:
    """Return the mean sign of each unit's sums with all units; 0 where a unit has no score."""
    known = ~np.isnan(scores)
    ordered = np.sort(scores[known])
    below = np.searchsorted(ordered, -scores[known], side="left")
    upto = np.searchsorted(ordered, -scores[known], side="right")
    signs = np.zeros(scores.shape)
    signs[known] = (ordered.size - upto - below) / max(ordered.size, 1)
    return signs


def _correlation(first: Distance, second: Distance) -> Float[np.ndarray, " heads"]:
    """Return the correlation of two distances over units; 0 where one of them does not vary."""
    cross = np.einsum("uh,uh->h", first.influence, second.influence)
    squares = [np.einsum("uh,uh->h", side.influence, side.influence) for side in (first, second)]
    size = np.sqrt(squares[0] * squares[1])
    correlation: np.ndarray = np.divide(cross, size, out=np.zeros_like(cross), where=size > 0)
    return correlation


def joint_probability(
    first: Float[np.ndarray, "*shape"],
    second: Float[np.ndarray, "*shape"],
    correlation: Float[np.ndarray, "*shape"],
) -> Float[np.ndarray, "*shape"]:
    """Return P(X ≤ first, Y ≤ second) of two standard normal variables, by Owen's T function.

    Source: Owen (1956), Annals of Mathematical Statistics 27(4), 1075-1090; ``scipy.special.owens_t``.

    Args:
        first: Any number; NaN gives NaN.
        second: Any number.
        correlation: From −1 to 1.

    Example:
        >>> sides = joint_probability(np.array([0.0, 1.0]), np.array([0.0, 40.0]), np.array([0.5, 0.5]))
        >>> sides.round(4).tolist()
        [0.3333, 0.8413]
    """
    h, k = (np.where(side == 0, 1e-12, np.clip(side, -FAR, FAR)) for side in (first, second))
    r = np.clip(correlation, -1 + 1e-9, 1 - 1e-9)
    root = np.sqrt(1 - r * r)
    apart = np.where(h * k > 0, 0.0, 1.0)
    sides = special.ndtr(h) + special.ndtr(k) - apart
    tails = special.owens_t(h, (k / h - r) / root) + special.owens_t(k, (h / k - r) / root)
    joint: np.ndarray = np.clip(sides / 2 - tails, 0.0, 1.0)
    return joint
