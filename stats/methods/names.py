"""The tests by name, with their estimands and assumptions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from jaxtyping import Float

from headroles.records.causal.ablation import FEWEST_UNITS
from headroles.stats.methods.betting import betting
from headroles.stats.methods.closed_form import (
    Outcome,
    biased_statistic,
    role_p_of,
    skew_statistic,
    student,
    student_biased,
    student_skew,
    student_statistic,
)
from headroles.stats.methods.ranks import sign, wilcoxon
from headroles.stats.methods.resampling import bootstrap_t, sign_flip
from headroles.stats.moments import Sample

Closed = Callable[[Sample, float], Outcome]
Statistic = Callable[[Sample, float], Float[np.ndarray, "*shape"]]
Ranked = Callable[[Float[np.ndarray, "units columns"], Sample, float], Outcome]
Resampled = Callable[[Float[np.ndarray, "units columns"], Sample, float, int, int], Outcome]
Bounded = Callable[[Float[np.ndarray, "units columns"], Sample, float, float, float, bool], Outcome]


@dataclass(frozen=True, slots=True)
class Method:
    """One test, in one of four forms: closed, by ranks, resampled, or from stated bounds.

    Attributes:
        estimand: Middle of the scores that is tested against θ.
        closed: From moments alone; None for other forms.
        statistic: The statistic of ``closed`` alone, which has a t distribution; None for other forms.
        ranked: From the values; None for other forms.
        resampled: From the values and random draws; None for other forms.
        bounded: From the values and the smallest and largest that can occur, stated before any data; None
            for other forms.
        stand_in: The test in closed form that labels resamples of the units in its place.
        warning: Sentence on when its labels must not be read as statements about means; "" for none.
        guarded: Whether labels that hinge on few units are withheld (``reliance``): in tests of a mean,
            except the released one.
        fewest: Units below which nothing is decided; the released one decides from 2 on.
    """

    estimand: str
    closed: Closed | None = None
    statistic: Statistic | None = None
    ranked: Ranked | None = None
    resampled: Resampled | None = None
    bounded: Bounded | None = None
    stand_in: str = ""
    warning: str = ""
    guarded: bool = True
    fewest: int = FEWEST_UNITS

    def __call__(
        self,
        values: Float[np.ndarray, "units columns"],
        sample: Sample,
        threshold: float,
        resamples: int,
        seed: int,
        bounds: tuple[float, float] = (float("nan"), float("nan")),
        intervals: bool = True,
    ) -> Outcome:
        """Test every column against θ; NaN values are units without a score.

        Args:
            values: Scores less chance values.
            sample: Their moments.
            threshold: θ.
            resamples: Draws of a test by resampling.
            seed: Of the draws.
            bounds: Smallest and largest value that can occur, stated before any data.
            intervals: Whether the interval is found, where that takes long.
        """
        if self.bounded is not None:
            return self.bounded(values, sample, threshold, *bounds, intervals)
        if self.resampled is not None:
            return self.resampled(values, sample, threshold, resamples, seed)
        if self.ranked is not None:
            return self.ranked(values, sample, threshold)
        if self.closed is None:
            raise TypeError("a method has one of four forms")
        return self.closed(sample, threshold)

    def role_p(
        self,
        values: Float[np.ndarray, "units columns"],
        sample: Sample,
        threshold: float,
        bounds: tuple[float, float] = (float("nan"), float("nan")),
    ) -> Float[np.ndarray, "*shape"]:
        """Return p of means beyond θ alone, as calling the method does; not of a method that resamples."""
        if self.statistic is not None:
            return role_p_of(sample, self.statistic(sample, threshold))
        return self(values, sample, threshold, 0, 0, bounds, False).p


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "t-skew": Method("mean", closed=student_skew, statistic=skew_statistic),
        "t": Method("mean", closed=student, statistic=student_statistic),
        "bootstrap-t": Method("mean", resampled=bootstrap_t, stand_in="t-skew"),
        "sign-flip": Method(
            "mean",
            resampled=sign_flip,
            stand_in="t",
            warning="sign-flip is exact only for scores that are symmetric about the threshold. Under skew "
            "it errs as t does.",
        ),
        "wilcoxon": Method(
            "pseudo-median",
            ranked=wilcoxon,
            warning="wilcoxon tests the pseudo-median, which is not the mean of skewed scores. "
            "Where scores are skewed, its labels are no roles.",
            guarded=False,
        ),
        "sign": Method(
            "median",
            ranked=sign,
            warning="sign tests the median, which is not the mean of skewed scores. "
            "Where scores are skewed, its labels are no roles.",
            guarded=False,
        ),
        "betting": Method("mean", bounded=betting, stand_in="t-skew", guarded=False),
        "t-published": Method(
            "mean",
            closed=student_biased,
            statistic=biased_statistic,
            warning="t-published divides the spread by n, as released: 5.5 % err instead of 5 % at 20 units.",
            guarded=False,
            fewest=2,
        ),
    }
)
