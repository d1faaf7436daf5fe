"""Rows of an atlas about one head in many runs: in how many it has a role, and from which step on."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Consensus:
    """One role of one head over the runs of a group (a row of ``consensus.csv``).

    Attributes:
        group: The group: runs of one model by one rule.
        sieve: The role.
        layer: Layer of the head, from 0.
        head: Index of the head in its layer, from 0.
        runs: Runs that could test the head, k.
        held: Runs that gave it the role, each by its own correction.
        at_least: Largest u such that "a role in at least u of the runs" holds by its test, corrected over
            the heads of the role at each u; 0 for none.
        p_all: p of "a role in fewer than all k runs".
        q_all: The same, corrected.
        combination: How p of runs are combined: "fisher" for runs that share no input, else "bonferroni".
        r: Replicability of two runs in both directions: the smallest level at which the head has the role in
            both populations; NaN for other numbers of runs, and for runs that share inputs.
        mean: Mean score over the population of runs, by random effects; NaN below five runs, and for runs
            that share inputs.
        low: Lower end of its 95 % interval.
        high: Upper end.
        next_low: Lower end of the 95 % prediction interval of the mean in one more run.
        next_high: Upper end.
        between: Standard deviation of the true means between runs.
        heterogeneity: I², the part of the variance of means that is not sampling error.
    """

    group: str
    sieve: str
    layer: int
    head: int
    runs: int
    held: int
    at_least: int
    p_all: float
    q_all: float
    combination: str
    r: float
    mean: float
    low: float
    high: float
    next_low: float
    next_high: float
    between: float
    heterogeneity: float


@dataclass(frozen=True, slots=True)
class StepTrend:
    """One role of one head over the checkpoints of a training (a row of ``trends.csv``).

    Attributes:
        sieve: The role.
        layer: Layer of the head, from 0.
        head: Index of the head in its layer, from 0.
        slope: Mean change of the score from one step to the next.
        low: Lower end of its 95 % interval.
        high: Upper end.
        p: Two-sided p of no change.
        q: ``p`` corrected over the heads of the role.
        trend: "rises", "falls" or "undetermined"; "untestable" without two units.
        emerged: Name of the first run from which the head has the role until the last; "" where the last run
            does not give it.
        earliest: First run in the 95 % interval of the true step; "" where the interval has no lower end.
        latest: Last run in it; "" where the last run does not show the role at half the level.
        lost: Name of the first run from which a head that had the role has it no more; "" for none.
    """

    sieve: str
    layer: int
    head: int
    slope: float
    low: float
    high: float
    p: float
    q: float
    trend: str
    emerged: str
    earliest: str
    latest: str
    lost: str
