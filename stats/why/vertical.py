"""Is most of the contrast of a role the same for every query? Its part by the mean query against the rest.

The log-odds contrast C of a role is the mean logit of its cells minus that of the other visible keys. It is
the sum of a part by the mean query of the head, V, which all queries share, and of the rest, C − V. Position
bias that is added to logits has no part in either.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.causal.ablation import FEWEST_UNITS
from headroles.records.causal.origins import BY_QUERY, UNDETERMINED, UNTESTABLE, VERTICAL, Products
from headroles.records.rules.rule import Decision
from headroles.stats.causal.questions import Answers
from headroles.stats.methods.closed_form import has_no_spread, t_quantile
from headroles.stats.moments import describe
from headroles.stats.why.guarded import judge_guarded, judge_means


@dataclass(frozen=True, slots=True, eq=False)
class VerticalTests:
    """Contrasts of families, and the tests of what all queries share, one entry per family.

    Attributes:
        contrast: Mean contrast, its interval and the units that count, of one arm.
        more: Answers to "is the shared part larger than the rest?", of which p, q and decisions count.
        less: Answers to "is it smaller?".
        testable: Whether the contrast is significantly above 0, with at least 20 units.
        share: Shared part as a share of the contrast; NaN where the contrast is not positive.
        low: Lower end of its 95 % interval (``fieller``).
        high: Upper end.
        verdict: "vertical", "by query", "undetermined" or "untestable".
    """

    contrast: Answers
    more: Answers
    less: Answers
    testable: Bool[np.ndarray, " families"]
    share: Float[np.ndarray, " families"]
    low: Float[np.ndarray, " families"]
    high: Float[np.ndarray, " families"]
    verdict: tuple[str, ...]


def contrasts(products: Products) -> Float[np.ndarray, "units families"]:
    """Return the contrast of every unit and family by queries and keys; NaN where a unit has none."""
    total: np.ndarray = products.parts.sum(axis=2, dtype=np.float64)
    return total


def vertical_tests(products: Products, decision: Decision) -> VerticalTests:
    """Test for every family whether the part of its contrast that all queries share is more than half of it.

    - **vertical**. Null: E[V − (C − V)] ≤ 0. Alternative: it is above 0.
    - **by query**. Null: E[V − (C − V)] ≥ 0. Alternative: it is below 0. A correction of its own.
    - The contrast itself. Null: E C ≤ 0. Alternative: above. Where it is not rejected, or fewer than 20 units
      count, the share means nothing and the family is untestable. Its p stays in the corrections.

    Unit: ``products.units``, which must have decided no role. Assumptions: those of the decision's test, and
    a fixed mean query: it comes from units that measure nothing here. All three must hold with three further
    units as bad as the worst (``guarded``). All families are corrected together, whatever the family of the
    decision.

    Args:
        products: Of at least one family.
        decision: Test, correction, alpha, resamples, seed and interval.
    """
    one = np.zeros(len(products.roles), dtype=np.int64)
    contrast, vertical = contrasts(products), products.vertical.astype(np.float64)
    shared = 2 * vertical - contrast
    shown = judge_means(products.units, contrast, one, decision)
    above, more, less = (
        judge_guarded(products.units, values, one, decision) for values in (contrast, shared, -shared)
    )
    testable = (above.decision[0] == 0) & (shown.count[0] >= FEWEST_UNITS)
    share, low, high = fieller(vertical, contrast)
    verdict = tuple(
        _verdict(bool(testable[k]), int(more.decision[0, k]), int(less.decision[0, k]))
        for k in range(len(one))
    )
    return VerticalTests(shown, more, less, testable, share, low, high, verdict)


def _verdict(testable: bool, more: int, less: int) -> str:
    if not testable or more == 3:
        return UNTESTABLE
    if more == 0:
        return VERTICAL
    return BY_QUERY if less == 0 else UNDETERMINED


def fieller(
    part: Float[np.ndarray, "units families"], whole: Float[np.ndarray, "units families"], level: float = 0.95
) -> tuple[Float[np.ndarray, " families"], Float[np.ndarray, " families"], Float[np.ndarray, " families"]]:
    """Return ratios of two means over the same units, with the ends of Fieller's interval.

    The interval holds every r for which Student's t does not tell the mean of ``part − r·whole`` from 0.
    Unit: the rows. Assumptions: independent units; exact where both are normal. Where the mean of ``whole``
    itself cannot be told from 0, the set of such r is unbounded: its ends are then −inf and inf. Source:
    Fieller (1954), "Some problems in interval estimation", JRSS B 16(2), 175-185.

    Args:
        part: The part of each unit; units where either is NaN are left out.
        whole: What it is a part of.
        level: Coverage.

    Returns:
        Ratios, lower ends and upper ends. All NaN where the mean of ``whole`` is not positive; the ends are
        NaN below 2 units, and without spread.

    Example:
        >>> chance = np.random.default_rng(0)
        >>> whole = chance.normal(2.0, 0.5, (200, 1))
        >>> ratio, low, high = fieller(0.6 * whole + chance.normal(0, 0.1, (200, 1)), whole)
        >>> bool(low[0] < 0.6 < high[0]), round(float(high[0] - low[0]), 2)
        (True, 0.01)
    """
    known = ~(np.isnan(part) | np.isnan(whole))
    top, bottom = (describe(np.where(known, values, np.nan)) for values in (part, whole))
    freedom = np.maximum(bottom.count - 1, 1)
    product = np.where(known, (part - top.mean) * (whole - bottom.mean), 0.0).sum(axis=0) / freedom
    reach = t_quantile(0.5 + level / 2, freedom) ** 2 / np.maximum(bottom.count, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(bottom.mean > 0, top.mean / bottom.mean, np.nan)
        square = bottom.mean**2 - reach * bottom.sd**2
        middle = top.mean * bottom.mean - reach * product
        root = np.sqrt(np.maximum(middle**2 - square * (top.mean**2 - reach * top.sd**2), 0.0))
        ends = [np.where(square > 0, (middle + side * root) / square, side * np.inf) for side in (-1, 1)]
    nothing = np.isnan(ratio) | (bottom.count < 2) | (has_no_spread(top) & has_no_spread(bottom))
    low, high = (np.where(nothing, np.nan, end) for end in ends)
    return ratio, low, high
