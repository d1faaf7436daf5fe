"""Is most of the contrast of a role the same for every query? Its part by the mean query against the rest.

The log-odds contrast C of a role is the mean logit of its cells minus that of the other visible keys. It is
the sum of a part by the mean query of the head, V, which all queries share, and of the rest, C − V. Position
bias that is added to logits has no part in either.

The mean query is itself a mean, over reference units that give no contrasts. All units share it, so its error
is the same in all of them, and their spread does not show it. It is added. Let V_r be the mean part by the
mean query of reference unit r alone. Then the variance of 2 V̄ − C̄ is var(2 V_u − C_u) / n + 4 var(V_r) / m,
over n units and m reference units. More units alone never make it smaller than the second term.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float
from scipy import special

from headroles.records.causal.ablation import FEWEST_UNITS
from headroles.records.causal.origins import BY_QUERY, UNDETERMINED, UNTESTABLE, VERTICAL, Products
from headroles.records.rules.rule import Decision
from headroles.stats.causal.questions import Answers
from headroles.stats.correction import adjust, significant
from headroles.stats.methods.closed_form import has_no_spread, t_quantile
from headroles.stats.methods.names import METHODS
from headroles.stats.methods.reliance import with_further
from headroles.stats.moments import Sample, describe
from headroles.stats.why.guarded import joint_correction, judge_guarded, judge_means


@dataclass(frozen=True, slots=True, eq=False)
class VerticalTests:
    """Contrasts of families, and the tests of what all queries share, one entry per family.

    Attributes:
        contrast: Mean contrast, its interval and the units that count, of one arm.
        more: Answers to "is the shared part larger than the rest?", of which p, q and decisions count. They
            include the error of the mean query.
        less: Answers to "is it smaller?".
        testable: Whether the contrast is significantly above 0, with at least 20 units and as many reference
            units.
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
    independent reference units, which measure nothing else here. The first two must hold twice: by the
    decision's test with the mean query as it is, and with its error (``shared_p``). p is the larger. All
    three must hold with three further units as bad as the worst (``guarded``), and the first two with three
    such reference units. All families are corrected together, whatever the family of the decision; Holm's
    method stands for ``maxT``.

    Args:
        products: Of at least one family.
        decision: Test, correction, alpha, resamples, seed and interval.
    """
    one = np.zeros(len(products.roles), dtype=np.int64)
    contrast, vertical = contrasts(products), products.vertical.astype(np.float64)
    shared = 2 * vertical - contrast
    shown = judge_means(products.units, contrast, one, decision)
    above = judge_guarded(products.units, contrast, one, decision)
    more, less = (_shared_answers(products, side * shared, side, decision) for side in (1, -1))
    fewest = np.minimum(shown.count[0], len(products.references))
    testable = (above.decision[0] == 0) & (fewest >= FEWEST_UNITS)
    share, low, high = fieller(vertical, contrast, products.references)
    verdict = tuple(
        _verdict(bool(testable[k]), int(more.decision[0, k]), int(less.decision[0, k]))
        for k in range(len(one))
    )
    return VerticalTests(shown, more, less, testable, share, low, high, verdict)


def _shared_answers(
    products: Products, values: Float[np.ndarray, "units families"], side: int, decision: Decision
) -> Answers:
    """Return whether means of ``values`` are above 0, with the error of the mean query in p and q."""
    one, references = np.zeros(values.shape[1], dtype=np.int64), 2.0 * side * products.references
    alone = judge_guarded(products.units, values, one, replace(decision, correction="none"))
    samples = [(values, references)]
    if METHODS[decision.test].guarded and len(values) and len(references):
        moved = with_further(references, -1)
        shift = moved.mean(axis=0) - references.mean(axis=0)
        samples = [(with_further(values, -1), references), (values + shift, moved)]
    skewed = decision.test == "t-skew"
    error = np.max([shared_p(*sample, skewed) for sample in samples], axis=0)
    p, counted = np.maximum(alone.p[0], error), np.maximum(alone.q[0], error)
    q = adjust(counted, joint_correction(decision), decision.alpha)
    refuted = significant(q, decision.alpha, counted)
    codes = np.where(np.isnan(counted), 3, np.where(refuted, 0, 2))
    return replace(alone, p=p[None], p_joint=p[None], q=q[None], decision=codes[None])


def shared_p(
    values: Float[np.ndarray, "units families"],
    references: Float[np.ndarray, "references families"],
    skewed: bool = True,
) -> Float[np.ndarray, " families"]:
    """Return p of "the mean of the values is at most 0", where all values share the mean of references.

    Null: E[values] ≤ 0, over units and over reference units. Alternative: above. Statistic: the mean over its
    standard error, whose square is var(values) / n + var(references) / m, referred to t with the degrees of
    freedom of Satterthwaite (1946), "An approximate distribution of estimates of variance components",
    Biometrics Bulletin 2(6), 110-114. Units: rows of either array. Assumptions: all rows are independent, and
    have a finite third moment. ``skewed`` corrects for skewness as Hall (1992) does
    (``closed_form.student_skew``), with the third cumulant of the sum, κ₃/n² + κ₃/m² (Zhou and Dinh 2005,
    "Nonparametric confidence intervals for the one- and two-sample problems", Biostatistics 6(2), 187-200).

    Args:
        values: One per unit; NaN where a unit has none.
        references: What each reference unit alone adds to the mean of the values.
        skewed: Whether skewness is corrected for.

    Returns:
        From 0 to 1; NaN below 2 units or reference units, and without any spread.

    Example:
        >>> chance = np.random.default_rng(0)
        >>> error = chance.normal(0, 1, (50, 1))
        >>> values = chance.normal(0.3, 1, (200, 1)) + error.mean()
        >>> float(shared_p(values, error)[0].round(3)), float(shared_p(values, 0 * error)[0].round(3))
        (0.006, 0.0)
    """
    own, other = describe(values), describe(references)
    error, freedom = _joint_error(own, other)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = own.mean / error
        if skewed:
            cumulants = (sample.skew * sample.sd**3 / sample.count**2 for sample in (own, other))
            bend = sum(cumulants) / error**3
            statistic = statistic + bend * statistic**2 / 3 + bend**2 * statistic**3 / 27 + bend / 6
    p = special.stdtr(freedom, -statistic)
    return np.where(has_no_spread(own) & has_no_spread(other), np.nan, p)


def _joint_error(
    own: Sample, other: Sample
) -> tuple[Float[np.ndarray, " families"], Float[np.ndarray, " families"]]:
    """Return the standard error of a mean that has the errors of two samples, and its degrees of freedom."""
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [sample.sd**2 / sample.count for sample in (own, other)]
        terms = [part**2 / (sample.count - 1) for part, sample in zip(parts, (own, other), strict=True)]
        return np.sqrt(parts[0] + parts[1]), (parts[0] + parts[1]) ** 2 / (terms[0] + terms[1])


def _verdict(testable: bool, more: int, less: int) -> str:
    if not testable or more == 3:
        return UNTESTABLE
    if more == 0:
        return VERTICAL
    return BY_QUERY if less == 0 else UNDETERMINED


def fieller(
    part: Float[np.ndarray, "units families"],
    whole: Float[np.ndarray, "units families"],
    references: Float[np.ndarray, "references families"],
    level: float = 0.95,
) -> tuple[Float[np.ndarray, " families"], Float[np.ndarray, " families"], Float[np.ndarray, " families"]]:
    """Return ratios of two means over the same units, with the ends of Fieller's interval.

    The interval holds every r for which t does not tell the mean of ``part − r·whole`` from 0. Its standard
    error has the error of the references in it, which all parts share; its degrees of freedom are those of
    Satterthwaite at the ratio itself. Unit: the rows. Assumptions: independent rows and normal means. Where
    the mean of ``whole`` itself cannot be told from 0, the set of such r is unbounded: its ends are then −inf
    and inf. Source: Fieller (1954), "Some problems in interval estimation", JRSS B 16(2), 175-185.

    Args:
        part: The part of each unit; units where either is NaN are left out.
        whole: What it is a part of.
        references: What each reference unit alone adds to the mean of the parts.
        level: Coverage.

    Returns:
        Ratios, lower ends and upper ends. All NaN where the mean of ``whole`` is not positive; the ends are
        NaN below 2 units or reference units, and without spread.

    Example:
        >>> chance = np.random.default_rng(0)
        >>> whole = chance.normal(2.0, 0.5, (200, 1))
        >>> error = chance.normal(0, 0.5, (100, 1))
        >>> part = 0.6 * whole + chance.normal(0, 0.1, (200, 1)) + error.mean()
        >>> ratio, low, high = fieller(part, whole, error)
        >>> bool(low[0] < 0.6 < high[0]), round(float(high[0] - low[0]), 2)
        (True, 0.11)
    """
    known = ~(np.isnan(part) | np.isnan(whole))
    top, bottom = (describe(np.where(known, values, np.nan)) for values in (part, whole))
    other = describe(references)
    count = np.maximum(bottom.count, 1)
    product = np.where(known, (part - top.mean) * (whole - bottom.mean), 0.0).sum(axis=0)
    product = product / np.maximum(count - 1, 1) / count
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(bottom.mean > 0, top.mean / bottom.mean, np.nan)
        freedom = _joint_error(describe(np.where(known, part - ratio * whole, np.nan)), other)[1]
        reach = t_quantile(0.5 + level / 2, freedom) ** 2
        top_error = top.sd**2 / count + other.sd**2 / other.count
        square = bottom.mean**2 - reach * bottom.sd**2 / count
        middle = top.mean * bottom.mean - reach * product
        root = np.sqrt(np.maximum(middle**2 - square * (top.mean**2 - reach * top_error), 0.0))
        ends = [np.where(square > 0, (middle + side * root) / square, side * np.inf) for side in (-1, 1)]
    nothing = np.isnan(ratio) | (bottom.count < 2) | np.isnan(top_error)
    nothing |= has_no_spread(top) & has_no_spread(bottom) & has_no_spread(other)
    low, high = (np.where(nothing, np.nan, end) for end in ends)
    return ratio, low, high
