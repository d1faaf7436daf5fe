"""Gaps of accuracy between two conditions (WinoBias pro/anti, GAP by gender), head by head (``gaps``).

Measures are ratios of sums over units (documents, pairs of sentences), so one formula serves all:

- **accuracy**: right answers over examples asked.
- **f1** (GAP): each passage has two names, of which a head calls exactly one true: right answers TP, false
  positives passages − TP, false negatives true names − TP, over all passages, also those in which neither
  name is true. ``F1 = 2 TP / (2 TP + FP + FN) = 2 TP / (passages + true names)``. Source: Webster et al.
  (2018), "Mind the GAP", TACL 6, section 4. Where all passages have a true name it is the accuracy.

Null: the ratio is the same under both conditions in the population the units come from. Alternative: it is
not (two-sided). Unit: ``units``; a unit's examples may depend on each other. With a_u, b_u a unit's sums and
R = Σ a / Σ b, it adds r_u = (a_u − R b_u) / Σ b to the error of R (linearisation; Cochran 1977, "Sampling
techniques", ch. 6). Two cases, per head:

- some unit holds both conditions (the pairs of WinoBias): a unit adds its r_u under the first condition less
  that under the second; the variance is n/(n − 1) times the sum of squares, t with n − 1 degrees of freedom.
  With one example of each condition a unit this is ``scipy.stats.ttest_rel``, otherwise the cluster-robust
  variance of a regression on the condition (times n/(n − 1), with no other small-sample factor).
- none does (GAP by gender): the variances add up, with Welch's degrees of freedom; with one example a unit
  this is ``scipy.stats.ttest_ind(equal_var=False)``.

Assumptions: independent units, enough of them for a t of means of zeros and ones. Measured for a nominal 5 %
without any gap, accuracies of 0.3 to 0.7: 4.4 to 5.6 % with 40 pairs or 40 and 60 passages, 4.4 to 5.5 % with
100 and more; F1, a tenth of the passages without a true name: 4.6 to 5.4 % from 20 and 30 passages on. With
20 pairs or an accuracy of 0.9 it is 2 to 6 %. p is at least a bound on the probability that equal means of
scores in [0, 1] give ratios like these, though every unit shows them: rare other units may be missing. It is
1 below 20 units of either condition. Without spread (every answer right under one condition, every one wrong
under the other) there is no t: p is the bound, and the interval is NaN.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import stdtr, stdtrit

from headroles.errors import BadInput
from headroles.records.causal.ablation import FEWEST_UNITS
from headroles.records.probes import CONDITION_GAPS
from headroles.records.rules.rule import Decision
from headroles.records.table import Table
from headroles.stats.claims import withhold
from headroles.stats.columns import unit_numbers
from headroles.stats.correction import adjust
from headroles.stats.decision import CORRECTIONS

PAIRS = (("feminine", "masculine"), ("pro", "anti"))
"""Conditions that are compared, first minus second."""
NAMED = ("feminine", "masculine")
"""The conditions of GAP, whose passages F1 is about."""

Sums = Float[np.ndarray, "units heads"]
Heads = Float[np.ndarray, " heads"]


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """Ratios under two conditions and their difference, one entry per head; NaN where unknown."""

    both: Heads
    first: Heads
    second: Heads
    difference: Heads
    low: Heads
    high: Heads
    p: Heads


def gaps(
    hits: Float[np.ndarray, "examples layers heads"],
    conditions: Sequence[str],
    units: Sequence[str],
    decision: Decision,
    named: Bool[np.ndarray, " examples"] | None = None,
) -> Table:
    """Compare every head under the conditions that the examples hold, as the module states.

    Args:
        hits: Share of right answers of each example, 0 to 1 (0 or 1 where it has one item); NaN where
            there was no question.
        conditions: Of each example; those of no pair in ``PAIRS``, such as "", are left out.
        units: Name of the unit of each example; equal names are one unit.
        decision: Correction and alpha. The heads of one pair and measure are a family. Under "maxT",
            which corrects by resampled scores, it is Holm's, which holds the same error rate.
        named: GAP only: whether each example is a passage with a true name. Given, F1 is compared too:
            an example without one counts as answered wrongly though nothing was asked, one with
            a true name and NaN hits as not answered (the window did not hold it). None: no F1.

    Returns:
        Rows per pair of which both conditions occur, per measure, the heads in order. With fewer than two
        units under a condition values and difference are given, interval and p are NaN.

    Raises:
        BadInput: When the lengths differ, or a share lies outside 0 to 1.

    Example:
        >>> hits = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0]).reshape(6, 1, 1)
        >>> found = gaps(hits, ["pro", "anti"] * 3, list("aabbcc"), Decision())
        >>> [(gap.first, gap.second, gap.both, round(gap.difference, 3)) for gap in found]
        [('pro', 'anti', 0.5, 0.333)]
    """
    _check(hits, conditions, units, named)
    named_as, layout = np.array(conditions, dtype=np.str_), hits.shape[1:]
    flat = hits.reshape(len(hits), layout[0] * layout[1]).astype(np.float64)
    numbers = unit_numbers(tuple(units))
    asked = ~np.isnan(flat)
    right = np.where(asked, flat, 0.0)
    found: list[dict[str, Any]] = []
    for pair in PAIRS:
        if not set(pair) <= set(conditions):
            continue
        measures = {"accuracy": (right, asked.astype(np.float64))}
        if named is not None and pair == NAMED:
            passages = asked | ~named[:, None]
            measures["f1"] = (2 * right, passages.astype(np.float64) + named[:, None])
        for measure, (above, below) in measures.items():
            sums = [_unit_sums(of, numbers, named_as == name) for name in pair for of in (above, below)]
            found += _gap_rows(measure, pair, layout, compare_ratios(*sums))
    return adjust_gaps(CONDITION_GAPS.rows(found), decision)


def adjust_gaps(found: Table, decision: Decision) -> Table:
    """Return gaps with their p corrected (again), the heads of one pair of conditions and measure together.

    Args:
        found: The gaps; their order stays.
        decision: Correction and alpha, as for ``gaps``.
    """
    correction = decision.correction if decision.correction in CORRECTIONS else "holm"
    families: dict[tuple[str, str, str], list[int]] = {}
    for place, gap in enumerate(found):
        families.setdefault((gap.first, gap.second, gap.measure), []).append(place)
    q = np.full(len(found), np.nan)
    for members in families.values():
        q[members] = adjust(found["p"][members], correction, decision.alpha)
    return found.replace(q=q)


def compare_ratios(above: Sums, below: Sums, other_above: Sums, other_below: Sums) -> Difference:
    """Return two ratios of sums over the same units, one unit a row, and the test of their difference.

    Args:
        above: Numerators under the first condition.
        below: Denominators, 0 where the unit does not hold the condition.
        other_above: Numerators under the second condition.
        other_below: Denominators.
    """
    first, one = _ratio(above, below)
    second, other = _ratio(other_above, other_below)
    held, other_held = below > 0, other_below > 0
    count, other_count = held.sum(axis=0), other_held.sum(axis=0)
    together, paired = (held | other_held).sum(axis=0), (held & other_held).any(axis=0)
    joint = _factor(together) * ((one - other) ** 2).sum(axis=0)
    variances = [_factor(n) * (error**2).sum(axis=0) for n, error in ((count, one), (other_count, other))]
    apart = variances[0] + variances[1]
    variance = np.where(paired, joint, apart)
    still = variance <= 1e-24
    with np.errstate(divide="ignore", invalid="ignore"):
        welch = apart**2 / (variances[0] ** 2 / (count - 1) + variances[1] ** 2 / (other_count - 1))
        freedom = np.where(still, np.nan, np.where(paired, together - 1.0, welch))
        error = np.where(still, np.nan, np.sqrt(variance))
        difference = first - second
        p = np.minimum(1.0, 2 * stdtr(freedom, -np.abs(difference / error)))
        reach = stdtrit(freedom, 0.975) * error
    constant = np.where(
        paired, _p_of_constant_pairs(difference, together), _p_of_constants(first, second, count, other_count)
    )
    everything = below.sum(axis=0) + other_below.sum(axis=0)
    total = above.sum(axis=0) + other_above.sum(axis=0)
    return Difference(
        both=np.divide(total, everything, out=np.full_like(total, np.nan), where=everything > 0),
        first=first,
        second=second,
        difference=difference,
        low=difference - reach,
        high=difference + reach,
        p=withhold(
            np.where(still, constant, np.maximum(p, constant)),
            np.where(paired, together, np.minimum(count, other_count)) >= FEWEST_UNITS,
        ),
    )


def _ratio(above: Sums, below: Sums) -> tuple[Heads, Sums]:
    """Return R = Σ a / Σ b, and what each unit adds to its error; NaN and 0 where Σ b is 0."""
    total, size = above.sum(axis=0), below.sum(axis=0)
    ratio = np.divide(total, size, out=np.full_like(total, np.nan), where=size > 0)
    error = (above - np.where(size > 0, ratio, 0.0) * below) / np.maximum(size, 1e-300)
    return ratio, error


def _factor(count: Int[np.ndarray, " heads"]) -> Heads:
    """Return the factor n / (n − 1); NaN under two units."""
    factor: np.ndarray = np.where(count > 1, count / np.maximum(count - 1, 1), np.nan)
    return factor


def _p_of_constant_pairs(difference: Heads, count: Int[np.ndarray, " heads"]) -> Heads:
    """Return the p of differences in [−1, 1] that are all the same: twice the bound (1 / (1 + |d|))^n."""
    p: np.ndarray = np.minimum(1.0, 2 * (1 + np.abs(difference)) ** -count.astype(np.float64))
    return np.where(difference == 0, 1.0, p)


def _p_of_constants(
    first: Heads, second: Heads, count: Int[np.ndarray, " heads"], other: Int[np.ndarray, " heads"]
) -> Heads:
    """Return the p of scores in [0, 1] that are one constant under each condition, by Markov's inequality.

    With a mean µ under both, n scores of at least h have probability (µ / h)^n at most, and m scores
    of at most l have ((1 − µ) / (1 − l))^m; the product is largest at µ = n / (n + m) between l and h.
    """
    upper, lower = np.maximum(first, second), np.minimum(first, second)
    high, low = np.where(first >= second, count, other), np.where(first >= second, other, count)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.clip(high / (high + low), lower, upper)
        p = 2 * (mean / upper) ** high * ((1 - mean) / (1 - lower)) ** low
    return np.where(first == second, 1.0, np.minimum(p, 1.0))


def _unit_sums(
    values: Float[np.ndarray, "examples heads"],
    numbers: Int[np.ndarray, " examples"],
    taken: Bool[np.ndarray, " examples"],
) -> Sums:
    sums = np.zeros((int(numbers.max(initial=-1)) + 1, values.shape[1]))
    np.add.at(sums, numbers[taken], values[taken])
    return sums


def _gap_rows(
    measure: str, pair: tuple[str, str], layout: tuple[int, ...], found: Difference
) -> list[dict[str, Any]]:
    """Return the heads of one pair and measure, in order; their q is not known yet."""
    return [
        {
            "layer": place // layout[1],
            "head": place % layout[1],
            "measure": measure,
            "first": pair[0],
            "second": pair[1],
            "both": found.both[place],
            "first_value": found.first[place],
            "second_value": found.second[place],
            "difference": found.difference[place],
            "low": found.low[place],
            "high": found.high[place],
            "p": found.p[place],
            "q": np.nan,
        }
        for place in range(len(found.p))
    ]


def _check(
    hits: np.ndarray, conditions: Sequence[str], units: Sequence[str], named: np.ndarray | None
) -> None:
    others = [len(conditions), len(units)] + ([] if named is None else [len(named)])
    if set(others) - {len(hits)}:
        raise BadInput(
            f"gaps are between examples with one condition and one unit each, but got hits of {len(hits)} "
            f"examples with {', '.join(map(str, others))} of them"
        )
    if hits.size and not (np.nanmin(hits, initial=0.0) >= 0 and np.nanmax(hits, initial=0.0) <= 1):
        raise BadInput("hits are shares of right answers from 0 to 1, NaN where not asked, but got others")
