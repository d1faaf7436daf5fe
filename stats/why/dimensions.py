"""Which dimensions of a head carry a role? Parts of its contrast, against twice their fair share.

Where rotary positions act, two dimensions turn together, so the frequency pair is tested: the sum of its two
dimensions.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.records.causal.origins import DIMENSION_TESTS, Products
from headroles.records.rules.rule import Decision
from headroles.records.table import Table
from headroles.stats.why.guarded import judge_guarded, judge_means
from headroles.stats.why.vertical import contrasts

FAIR = 2.0
"""Multiple of the fair share above which a part counts; the fair share is contrast / dimensions."""


def group_numbers(group: Int[np.ndarray, " size"]) -> Int[np.ndarray, " size"]:
    """Return the places of dimensions among the dimensions or frequency pairs, from 0 without gaps.

    Example:
        >>> group_numbers(np.array([5, 2, 5, 2])).tolist()
        [1, 0, 1, 0]
    """
    return np.unique(group, return_inverse=True)[1].reshape(-1)


def grouped_parts(
    parts: Float[np.ndarray, "*shape size"], group: Int[np.ndarray, " size"]
) -> Float[np.ndarray, "*shape groups"]:
    """Return the sum of the parts of each frequency pair; the parts themselves where no dimensions turn.

    Example:
        >>> grouped_parts(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 1, 0, 1])).tolist()
        [4.0, 6.0]
    """
    numbers = group_numbers(group)
    members = (numbers[:, None] == np.arange(numbers.max(initial=-1) + 1)).astype(np.float64)
    sums: np.ndarray = parts.astype(np.float64) @ members
    return sums


def family_level(alpha: float, selected: int, tested: int) -> float:
    """Return the level of each selected family (Benjamini and Bogomolov 2014): alpha × selected / tested.

    Example:
        >>> family_level(0.05, 3, 12)
        0.0125
    """
    return alpha * (selected / max(tested, selected))


def dimension_tests(
    products: Products, testable: Bool[np.ndarray, " families"], tested: int, decision: Decision
) -> Table:
    """Test every dimension (or frequency pair) of every family for more than twice its fair share.

    Null of dimension d: E[c_d − 2 C/D] ≤ 0, with c_d its part of the contrast C, and D dimensions.
    Alternative: it is above 0. It must hold with three further units as bad as the worst (``guarded``). Unit:
    ``products.units``, which must have decided no role. Assumptions: those of the decision's test. Family:
    the dimensions of one role and head, corrected by Benjamini and Hochberg whatever the correction of the
    decision. Families were selected by their role. So each is tested at alpha × selected / tested. Then the
    false discovery rate, averaged over selected families, is at most alpha. Source: Benjamini and Bogomolov
    (2014), "Selective inference on multiple families of hypotheses", JRSS B 76(1), 297-318.

    Args:
        products: Of at least one family; all of them are selected.
        testable: Families whose contrast is above 0, with enough units; p and q of others are NaN.
        tested: Pairs of role and head that were tested for the role; at least the families.
        decision: Test, alpha, resamples, seed and interval.

    Returns:
        One row per family and dimension or frequency pair, in that order.
    """
    families = len(products.roles)
    level = family_level(decision.alpha, families, tested)
    parts, whole = grouped_parts(products.parts, products.group), contrasts(products)
    size = parts.shape[2]
    own = np.repeat(np.arange(families), size)
    usual = replace(decision, correction="fdr_bh", alpha=level)
    beyond = parts - FAIR * whole[:, :, None] / max(size, 1)
    asked = np.where(testable[:, None], beyond, np.nan)
    answers = judge_guarded(products.units, asked.reshape(len(asked), len(own)), own, usual)
    shown = judge_means(products.units, parts.reshape(len(parts), len(own)), own, usual)
    total = shown.mean[0].reshape(families, size).sum(axis=1)[own]
    return DIMENSION_TESTS.of(
        role=[products.roles[family] for family in own],
        layer=products.layers[own],
        head=products.heads[own],
        dimension=np.arange(len(own)) % max(size, 1),
        count=shown.count[0],
        mean=shown.mean[0],
        low=shown.low[0],
        high=shown.high[0],
        share=np.divide(shown.mean[0], total, out=np.full(len(own), np.nan), where=total > 0),
        p=answers.p[0],
        q=answers.q[0],
        level=np.full(len(own), level),
        found=answers.decision[0] == 0,
    )
