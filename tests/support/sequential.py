"""Wald's sequential test of an error rate, which stops simulations when the answer is clear."""

from collections.abc import Callable
from math import log


def rate_is_kept(
    draw: Callable[[int], tuple[int, int]],
    *,
    kept: float = 0.05,
    broken: float = 0.09,
    most: int = 1000,
) -> tuple[bool, int, int]:
    """Return whether a rate is kept, with the wrong runs and all runs until that was clear.

    Null: the rate of wrong runs is ``kept``. Alternative: ``broken``. Each is given up wrongly in one of
    1,000 sequences of independent runs (Wald 1945). After the most runs, the likelier one counts.

    Args:
        draw: Simulates the batch of this number; returns its wrong runs and all its runs.
        kept: Rate that is promised.
        broken: Rate that would break the promise.
        most: Runs after which simulation ends.
    """
    wrong = runs = batch = 0
    evidence, bound = 0.0, log(999)
    while runs < most and abs(evidence) < bound:
        more, size = draw(batch)
        wrong, runs, batch = wrong + more, runs + size, batch + 1
        evidence = wrong * log(broken / kept) + (runs - wrong) * log((1 - broken) / (1 - kept))
    return evidence < 0, wrong, runs
