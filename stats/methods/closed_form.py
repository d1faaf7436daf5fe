"""One-sample tests of a mean against θ in closed form, for all heads at once.

Null hypotheses, both one-sided and composite: ``mean <= θ`` (its rejection makes a role) and
``mean >= θ`` (its rejection makes a "not"). The unit is the one that the caller averaged scores over.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy import special

from headroles.stats.moments import Sample

SPREAD = 1e-6
"""A standard deviation up to here, times the mean where that exceeds 1, is float32 rounding, not spread."""


def has_no_spread(sample: Sample) -> Bool[np.ndarray, "*shape"]:
    """Return whether scores have no spread beyond rounding; False below two units."""
    constant_scores: np.ndarray = sample.sd <= SPREAD * np.maximum(1.0, np.abs(sample.mean))
    return constant_scores


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Statistic, p values and interval of a test, one entry per head.

    Attributes:
        statistic: The test statistic of ``mean − θ``.
        p: P of a statistic at least this large when the mean is θ.
        p_not: P of a statistic at most this small when the mean is θ.
        low: Lower end of the two-sided interval of the mean.
        high: Upper end.
    """

    statistic: Float[np.ndarray, "*shape"]
    p: Float[np.ndarray, "*shape"]
    p_not: Float[np.ndarray, "*shape"]
    low: Float[np.ndarray, "*shape"]
    high: Float[np.ndarray, "*shape"]


def t_quantile(level: float, freedom: np.ndarray) -> Float[np.ndarray, "*#shape"]:
    """Return a quantile of t, computed once where all degrees of freedom are equal."""
    if freedom.size and freedom.min() == freedom.max():
        return np.asarray(special.stdtrit(float(freedom.flat[0]), level))
    values: np.ndarray = special.stdtrit(freedom, level)
    return values


def t_quantile_above(
    level: Float[np.ndarray, "*#shape"] | float, freedom: Float[np.ndarray, "*#shape"]
) -> Float[np.ndarray, "*#shape"]:
    """Return the value that t exceeds with a probability (``scipy.stats.t.isf``), infinite for none.

    Example:
        >>> t_quantile_above(0.05, np.array([10.0, 100.0])).round(3).tolist()
        [1.812, 1.66]
    """
    values: np.ndarray = -special.stdtrit(freedom, level)
    return np.where((np.asarray(level) == 0) & ~np.isnan(freedom), np.inf, values)


def student(sample: Sample, threshold: float, confidence: float = 0.95) -> Outcome:
    """Return Student's one-sample t test, with its interval.

    Null: the mean of the units is θ (worst case of the composite nulls). Alternatives: above (p),
    below (p_not). Unit: the entries averaged in ``sample``. Assumptions: independent units; exact
    for normal scores, approximate otherwise, too liberal below the margin under right skew.

    Example:
        >>> sample = Sample(np.array([20]), np.array([0.3]), np.array([0.2]), np.array([0.0]))
        >>> float(student(sample, 0.1).statistic[0].round(3))
        4.472
    """
    return _student(sample, threshold, confidence, sample.sd)


def student_statistic(sample: Sample, threshold: float) -> Float[np.ndarray, "*shape"]:
    """Return the statistic of ``student``."""
    return _statistic(sample, threshold, sample.sd)[0]


def student_biased(sample: Sample, threshold: float, confidence: float = 0.95) -> Outcome:
    """Return the released notebooks' t test: the spread is divided by n instead of n − 1.

    Kept for the preset ``published`` only. The statistic is too large by sqrt(n / (n − 1)), so the
    test is too liberal (5.5 % instead of 5 % at 20 normal units). Source: ``ztest_own`` of the code
    released with Pande et al. (2021). Nulls, unit and assumptions as for Student's test.
    """
    return _student(sample, threshold, confidence, _biased_sd(sample))


def biased_statistic(sample: Sample, threshold: float) -> Float[np.ndarray, "*shape"]:
    """Return the statistic of ``student_biased``."""
    return _statistic(sample, threshold, _biased_sd(sample))[0]


def _biased_sd(sample: Sample) -> Float[np.ndarray, "*shape"]:
    count = np.maximum(sample.count, 1)
    sd: np.ndarray = sample.sd * np.sqrt((count - 1) / count)
    return sd


def _statistic(
    sample: Sample, threshold: float, sd: Float[np.ndarray, "*shape"]
) -> tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
    """Return Student's statistic and the standard error below it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        error = sd / np.sqrt(np.maximum(sample.count, 1))
        return (sample.mean - threshold) / error, error


def _student(sample: Sample, threshold: float, confidence: float, sd: Float[np.ndarray, "*shape"]) -> Outcome:
    statistic, error = _statistic(sample, threshold, sd)
    freedom = np.maximum(sample.count - 1, 1)
    reach = t_quantile(0.5 + confidence / 2, freedom) * error
    return Outcome(
        statistic=statistic,
        p=special.stdtr(freedom, -statistic),
        p_not=special.stdtr(freedom, statistic),
        low=sample.mean - reach,
        high=sample.mean + reach,
    )


def student_skew(sample: Sample, threshold: float, confidence: float = 0.95) -> Outcome:
    """Return the t test with Hall's cubic correction for skewness, and the interval from inverting it.

    With T Student's statistic, g the sample skewness and n units, the statistic is
    ``T + gT²/(3√n) + g²T³/(27n) + g/(6√n)``, referred to t with n − 1 degrees of freedom; it is
    increasing in T, so its inverse in closed form gives the interval. Nulls, alternatives and unit
    as for Student's test. Assumptions: independent units with a finite third moment; errors are of
    order 1/n where Student's are of order 1/√n. The sample's skewness is used as the true one, and its
    noise matters for few units and heavy tails: at n = 50, 144 heads with Laplace scores err in 12 % of
    families under Holm, where normal ones err in 5.5 % (max-t errs in 5 % of both). Source: Hall (1992),
    "On the removal of skewness by transformation", JRSS B 54(1), 221-228.
    """
    root, skew = np.sqrt(np.maximum(sample.count, 1)), sample.skew
    statistic = skew_statistic(sample, threshold)
    freedom = np.maximum(sample.count - 1, 1)
    reach = t_quantile(0.5 + confidence / 2, freedom) / root
    return Outcome(
        statistic=statistic,
        p=special.stdtr(freedom, -statistic),
        p_not=special.stdtr(freedom, statistic),
        low=sample.mean - sample.sd * hall_inverse(reach, skew, sample.count),
        high=sample.mean - sample.sd * hall_inverse(-reach, skew, sample.count),
    )


def skew_statistic(sample: Sample, threshold: float) -> Float[np.ndarray, "*shape"]:
    """Return the statistic of ``student_skew``."""
    root, skew = np.sqrt(np.maximum(sample.count, 1)), sample.skew
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = (sample.mean - threshold) / (sample.sd / root)
        square = plain**2
        bent = skew * square / (3 * root) + skew**2 * plain**3 / (27 * root**2)
    statistic: np.ndarray = plain + bent + skew / (6 * root)
    return statistic


def role_p_of(sample: Sample, statistic: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Return p of a mean beyond θ from a statistic that has a t distribution, as ``Outcome.p``."""
    p: np.ndarray = special.stdtr(np.maximum(sample.count - 1, 1), -statistic)
    return p


def hall_inverse(
    value: Float[np.ndarray, "*shape"], skew: Float[np.ndarray, "*shape"], count: np.ndarray
) -> Float[np.ndarray, "*shape"]:
    """Return the standardised mean whose transformed value is ``value`` (both divided by √n)."""
    shifted = value - skew / (6 * np.maximum(count, 1))
    flat = np.abs(skew) < 1e-8
    curve = np.where(flat, 1.0, skew)
    inverse: np.ndarray = np.where(flat, shifted, 3 / curve * (np.cbrt(1 + curve * shifted) - 1))
    return inverse


def bounded_outcome(
    sample: Sample, threshold: float, low: float, high: float, confidence: float = 0.95
) -> Outcome:
    """Return the exact statement for scores without spread, from their bounds alone.

    Null: independent units in [low, high] whose mean is at most (p) or at least (p_not) θ. By
    Markov's inequality a unit reaches c > θ with probability at most (θ − low)/(c − low), so n
    units that all equal c have p = that to the power n; mirrored below θ. The interval holds every
    mean that neither one-sided statement at half the level refutes. The statistic is NaN, and so
    is everything where a bound is unknown (NaN).
    """
    value = np.clip(sample.mean, low, high)
    n = np.maximum(sample.count, 1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        above = np.where(value <= threshold, 1.0, (threshold - low) / (value - low))
        below = np.where(value >= threshold, 1.0, (high - threshold) / (high - value))
    share = ((1 - confidence) / 2) ** (1 / n)
    return Outcome(
        statistic=np.full(value.shape, np.nan),
        p=np.clip(above, 0.0, 1.0) ** n,
        p_not=np.clip(below, 0.0, 1.0) ** n,
        low=low + (value - low) * share,
        high=high - (high - value) * share,
    )
