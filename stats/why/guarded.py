"""Means over units against 0, asked twice: of the units, and of three more that are as bad as the worst.

Parts of logits have no bounds, and can be skewed to either side. Where few units hold most of a mean, samples
that lack them have a small spread, and tests err on one side. So every claim must hold with three further
units at the smallest value of any (``causal.unseen``). ``benchmarks/calibration/origins.py`` simulates the
errors.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from headroles.records.rules.rule import Decision
from headroles.stats.causal.questions import Answers, Questions, judge_questions
from headroles.stats.causal.unseen import further_names
from headroles.stats.methods.names import METHODS
from headroles.stats.methods.reliance import with_further

UNKNOWN = (float("nan"), float("nan"))
"""Bounds of values: none are known."""


def judge_means(
    units: Sequence[str],
    values: Float[np.ndarray, "units questions"],
    families: Int[np.ndarray, " questions"],
    decision: Decision,
) -> Answers:
    """Test whether means over units are above 0, each family corrected by itself (``judge_questions``).

    Args:
        units: Names of the units, all different.
        values: A value per unit and question; NaN where there is none.
        families: Number of the family of each question, from 0.
        decision: Test, correction, alpha, resamples, seed and interval; its family does not count.

    Returns:
        Answers of one arm; all NaN without units.
    """
    names = tuple(units) or ("no unit",)
    rows = values if len(units) else np.full((1, values.shape[1]), np.nan)
    questions = Questions(("made",), names, families, rows[None], [UNKNOWN])
    return judge_questions(questions, replace(decision, family="sieve"))


def judge_guarded(
    units: Sequence[str],
    values: Float[np.ndarray, "units questions"],
    families: Int[np.ndarray, " questions"],
    decision: Decision,
) -> Answers:
    """Test whether means over units are above 0, with three further units at the smallest value of any.

    Null, of each question: the mean is at most 0. Alternative: it is above. Unit and arguments as of
    ``judge_means``; assumptions are those of the decision's test. Claims that still depend on few units count
    as p = 1. Tests of other values than a mean get no further units.

    Returns:
        p, q and decisions. Counts, means and intervals include the further units, so do not use them.

    Example:
        >>> values = np.random.default_rng(0).normal(1.0, 1.0, (40, 1))
        >>> names = tuple(map(str, range(40)))
        >>> one, usual = np.zeros(1, dtype=int), Decision()
        >>> plain, guarded = judge_means(names, values, one, usual), judge_guarded(names, values, one, usual)
        >>> bool(plain.p[0, 0] < guarded.p[0, 0] < 0.05)
        True
    """
    if not len(units) or not METHODS[decision.test].guarded:
        return judge_means(units, values, families, decision)
    names = (*units, *further_names(len(units)))
    return judge_means(names, with_further(values, -1), families, decision)


def joint_correction(decision: Decision) -> str:
    """Return the correction of p values that no resamples stand behind: the decision's, or Holm's for maxT.

    Example:
        >>> joint_correction(Decision(correction="maxT")), joint_correction(Decision(correction="fdr_bh"))
        ('holm', 'fdr_bh')
    """
    return "holm" if decision.correction == "maxT" else decision.correction
