"""Remarks for readers of the decisions, one sentence each.

They name weaknesses of the test and the correction, roles that rest on few units or groups, runs that kept
sums instead of scores, and heads with heavy tails where a decision could go either way.
"""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from headroles.records.assessment import OUTLIER_RATE, OUTLIERS
from headroles.records.example import Scores
from headroles.records.findings import Findings
from headroles.records.moments import Moments
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.columns import Column, Columns, unit_numbers
from headroles.stats.decision import ENOUGH_FOR_NOT, inputs_needed
from headroles.stats.draws import flips_are_exact
from headroles.stats.families import contrast_pairs
from headroles.stats.grouped import equal_groups
from headroles.stats.methods.closed_form import has_no_spread
from headroles.stats.methods.names import METHODS
from headroles.stats.power import assumed_cut
from headroles.stats.relabel import closed_form_decision
from headroles.stats.resolution import largest_family, required_p

MOST = 12
"""Most names in one sentence; of more, the first ones and the number of others."""


def join_names(names: Sequence[str]) -> str:
    """Return names joined by commas, at most ``MOST`` of them.

    Example:
        >>> join_names(["local", "block"]), join_names([str(k) for k in range(20)])
        ('local, block', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 8 others')
    """
    more = len(names) - MOST
    others = "1 other" if more == 1 else f"{more} others"
    return ", ".join(names[:MOST]) + (f" and {others}" if more > 0 else "")


SMALL = ("t-skew", "t", "bootstrap-t", "sign-flip")
"""Tests that err more often than alpha states with few units."""


def remarks(decision: Decision, findings: Findings, inputs: int) -> list[str]:
    """Return remarks on test and correction, one sentence each; none when nothing is unusual.

    Args:
        decision: How the findings were made.
        findings: The outcome.
        inputs: Number of inputs.
    """
    method = METHODS[decision.test]
    sentences = [method.warning] if method.warning else []
    sentences += _few_units(decision, findings, inputs)
    sentences += _coarse_p(decision, findings)
    if decision.correction == "fdr_tsbh":
        sentences.append(
            "fdr_tsbh assumes independent heads. Heads of one model depend on each other, so its rate holds "
            "only approximately."
        )
    if decision.correction in ("sidak", "holm-sidak"):
        sentences.append(
            f"{decision.correction} assumes independent or positively dependent heads; holm does not."
        )
    if decision.correction == "maxT" and decision.test == "sign-flip":
        sentences.append(
            "maxT by sign flips assumes that the scores of all heads are jointly symmetric about the "
            "threshold. On real scores its family-wise error was 0.10 to 0.28; with the bootstrap, which "
            "other tests use, it was 0.03 to 0.08."
        )
    plain = closed_form_decision(decision)
    if (plain.test, plain.correction) != (decision.test, decision.correction) and np.any(findings.count > 1):
        described = "" if method.bounded else "sensitivity to the margin, "
        sentences.append(
            f"stability, {described}overlaps without the contrast and intervals over "
            f"resampled units use {plain.test} with {plain.correction}, not {decision.test} with "
            f"{decision.correction}."
        )
    return sentences


def _few_units(decision: Decision, findings: Findings, inputs: int) -> list[str]:
    """Return remarks on roles with few units, with the fewest of any of their heads or contrasts."""
    contrast = dict(contrast_pairs(findings.rules))
    none, few, fewest = dict[str, int](), dict[str, int](), METHODS[decision.test].fewest
    for k, rule in enumerate(findings.rules):
        count = np.concatenate([findings.count[row].ravel() for row in (k, contrast.get(k, k))])
        least = int(count[count > 1].min(initial=ENOUGH_FOR_NOT))
        if rule.role and least < ENOUGH_FOR_NOT:
            (none if least < fewest else few)[rule.sieve] = least

    def told(roles: dict[str, int], enough: int) -> tuple[str, str]:
        names = join_names([f"{name} ({units})" for name, units in roles.items()])
        needed = inputs_needed(min(roles.values()), inputs, enough)
        return f"fewer than {enough} units: {names}.", f"About {needed:,} inputs like these would do."

    sentences = []
    if none:
        names, cure = told(none, fewest)
        sentences.append(f"{names} With so few, no head gets a label. {cure}")
    if few and decision.test in SMALL:
        names, cure = told(few, ENOUGH_FOR_NOT)
        sentences.append(f"{names} With so few, labels may be false more often than alpha says. {cure}")
    return sentences


def _coarse_p(decision: Decision, findings: Findings) -> list[str]:
    """Return remarks on roles whose smallest possible p is too large for a single head, or for any."""
    if METHODS[decision.test].resampled is None or decision.correction == "maxT":
        return []
    shape = findings.count.shape
    tests = max(largest_family(decision.family, findings.rules, *shape[1:]), 1)
    alone = assumed_cut(decision.correction, decision.alpha, tests)
    best = required_p(decision.correction, decision.alpha, tests)
    sentences = []
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
        sentences.append(
            f"{rule.sieve}: {decision.test} with {why} has no p below {floor:.2g}. So {who} "
            f"get the role. A single head needs {cure}."
        )
    return sentences


def moment_remarks(moments: Moments, scores: Scores, columns: Columns, decision: Decision) -> list[str]:
    """Return remarks on what was kept of the scores and tested, and on groups too few for nots.

    Args:
        moments: Of all examples.
        scores: Of the subsample.
        columns: The columns that were tested.
        decision: How they were judged.
    """
    total, some = f"{moments.examples:,}", f"{len(scores.examples):,}"
    if METHODS[decision.test].ranked is not None:
        return [
            f"the scores of a random {some} of {total} examples were kept, and {decision.test} tests these. "
            f"Sums over all examples do not give medians."
        ]
    groups = len(columns[0].values)
    sentences = [
        f"sums over {groups} random groups of all {total} examples were kept, and the scores of a random "
        f"{some}. Means, tests, intervals, stability and overlaps use the sums: groups are their units, and "
        f"every example has the same weight. Distributions and typical inputs use the random {some}."
    ]
    return sentences + _few_groups(moments, columns.rules, groups) + _constant_scores(columns)


def _few_groups(moments: Moments, rules: Sequence[Rule], groups: int) -> list[str]:
    """Return a remark on roles with few groups, with the fewest of any of their heads or contrasts."""
    least, contrast = [], dict(contrast_pairs(rules))
    for weight in moments.weight.reshape(len(rules), groups, -1):
        least.append(int(equal_groups(weight[:, weight.any(axis=0)]).min(initial=groups)))
    both = [min(groups_of, least[contrast.get(k, k)]) for k, groups_of in enumerate(least)]
    few = [
        f"{rule.sieve} ({fewest})"
        for rule, fewest in zip(rules, both, strict=True)
        if rule.role and fewest < ENOUGH_FOR_NOT
    ]
    if not few:
        return []
    return [
        f"few units, or a few large ones, hold most scores of {join_names(few)}, or of their contrasts. The "
        f"number in brackets is the number of equally large groups that carry as much information. Below "
        f"{ENOUGH_FOR_NOT}, no head is called 'not', and tests err more often than alpha says."
    ]


def _constant_scores(columns: Columns) -> list[str]:
    """Return a remark on roles with heads whose scores, or contrasts, are the same on every example."""
    contrast = dict(contrast_pairs(columns.rules))
    equal = [has_no_spread(column.counted(column.sample)) for column in columns]
    heads = [int((own | equal[contrast.get(k, k)]).sum()) for k, own in enumerate(equal)]
    still = [
        f"{rule.sieve} ({count})"
        for rule, count in zip(columns.rules, heads, strict=True)
        if rule.role and count
    ]
    if not still:
        return []
    return [
        f"heads that score the same on every example are untestable: {join_names(still)}. Equal scores do "
        f"not bound the mean, since a rare large unit could hold most examples."
    ]


LARGE = 0.2
"""Share of all cells above which one unit is too large for tests of pooled columns."""


def large_remarks(scores: Scores, rules: Sequence[Rule]) -> list[str]:
    """Return one sentence on pooled columns of which a single unit holds much; none without.

    Args:
        scores: The scores that were judged, with the cells of every example.
        rules: One per column.
    """
    units, large = unit_numbers(scores.units), []
    for rule, cells in zip(rules, np.nan_to_num(scores.cells), strict=True):
        if rule.role and rule.pooled and cells.any():
            share = float(np.bincount(units, cells).max() / cells.sum())
            if share > LARGE:
                large.append(f"{rule.sieve} ({100 * share:.0f} %)")
    if not large:
        return []
    return [
        f"one unit holds more than {100 * LARGE:.0f} % of the items of {join_names(large)}. In simulations, "
        f"95 % intervals then hold the mean in 87 to 95 %, and up to 9 % of tests err, not 5 %."
    ]


HEAVY = 9.0
"""Kurtosis above which a tail is called heavy: that of an exponential distribution; a normal one has 3."""
NEAR = 6.0
"""Standard errors from θ within which a head's decision could go either way."""


def tail_remarks(columns: Sequence[Column], decision: Decision) -> list[str]:
    """Return one sentence on roles with heavy tails near θ; none for other tests, or under max-t.

    Args:
        columns: The columns that were tested: scores of units, or of random groups in their place.
        decision: How they were judged.
    """
    if decision.test != "t-skew" or decision.correction == "maxT":
        return []
    roles = []
    for column in columns:
        if not column.rule.role:
            continue
        near = np.abs(column.errors_beyond()) < NEAR
        heavy = int((kurtosis(column.values[:, near]) > HEAVY).sum())
        if heavy:
            roles.append(f"{column.rule.sieve} ({heavy} of {int(near.sum())} heads)")
    if not roles:
        return []
    return [
        f"{OUTLIERS} (kurtosis above {HEAVY:g}): {join_names(roles)}. In simulations, 8 to "
        f"{100 * OUTLIER_RATE:.0f}\u00a0% of such families held an error, not 5\u00a0%. More inputs help, "
        f"and so does --test betting, which holds for scores of any shape between stated bounds."
    ]


def kurtosis(values: Float[np.ndarray, "units heads"]) -> Float[np.ndarray, " heads"]:
    """Return the fourth central moment over the squared second, as ``scipy.stats.kurtosis`` plus 3.

    Both are divided by n. NaN units are left out; 0 for a head without spread or without scores.
    """
    known = ~np.isnan(values)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, values, 0.0).sum(axis=0) / count
    square = np.where(known, values - mean, 0.0) ** 2
    second, fourth = square.sum(axis=0) / count, (square * square).sum(axis=0) / count
    ratio: np.ndarray = np.divide(fourth, second**2, out=np.zeros_like(second), where=second > 1e-15)
    return ratio
