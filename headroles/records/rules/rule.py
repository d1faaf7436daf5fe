"""The rule that judges one column of scores, and the decision that all columns share."""

from dataclasses import dataclass

FAMILIES = {
    "sieve": "the heads of one sieve",
    "run": "all heads and sieves of the run",
    "layer": "the heads of one sieve in one layer",
}
"""Tests that are corrected together, in words, by the name of the family."""
BOTH = ", both directions of a row together"
"""Addition to the family of probes whose rows have two directions."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule that judges one column of scores.

    Attributes:
        sieve: The column's name.
        question: The sieve's question, in words.
        null: Chance value of the score.
        margin: Distance beyond the null that counts; means are tested against ``null + margin``.
        contrast: The column that must also lie beyond its own margin for a role; "" for none.
        role: Whether the column can be a role (contrasts cannot).
        low: Smallest value a score can take, on the score scale; NaN when unknown.
        high: Largest value a score can take; NaN when unknown.
        pooled: Whether the mean is over all cells (arcs, mentions) of the inputs, with equal weight,
            rather than over units; its error is that of a ratio over units.
        together: Name of a family that this column's heads share with heads of other columns, when
            there is one family per sieve; "" for a family of its own.
        stronger: The column of a second contrast; a role beyond its margin, too, is a strong role
            ("beyond word class"); "" for none.
        weaker: The column of a contrast that controls for less than ``contrast``. It decides nothing about
            the role, but a score is explained where either contrast lies below its margin; "" for none.
        stated_low: Smallest difference of a score from its chance value that can occur, stated before any
            data; NaN where none is. Inputs that could score less are left out.
        stated_high: Largest difference, likewise. The test ``betting`` needs both; ``low`` and ``high`` are
            those of the inputs at hand.
    """

    sieve: str
    question: str = ""
    null: float = 0.0
    margin: float = 0.1
    contrast: str = ""
    role: bool = True
    low: float = float("nan")
    high: float = float("nan")
    pooled: bool = False
    together: str = ""
    stronger: str = ""
    weaker: str = ""
    stated_low: float = float("nan")
    stated_high: float = float("nan")

    @property
    def threshold(self) -> float:
        """θ, the value that means are tested against."""
        return self.null + self.margin


@dataclass(frozen=True, slots=True)
class Decision:
    """Test, correction and level that turn scores into decisions.

    Attributes:
        test: Name of the test.
        correction: Name of the correction for the number of tests.
        family: Tests that are corrected together.
        alpha: Level of both corrections.
        resamples: Draws of tests, corrections and intervals that resample units.
        seed: Seed of those draws.
        interval: Which interval of the mean is shown: the test's own ("test"), "t" or "bca".
    """

    test: str = "t-skew"
    correction: str = "fdr_bh"
    family: str = "sieve"
    alpha: float = 0.05
    resamples: int = 10_000
    seed: int = 0
    interval: str = "test"
