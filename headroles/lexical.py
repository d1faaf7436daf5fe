"""What is known of the words and tokens of an input from outside it."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int

from headroles.readonly import frozen


@dataclass(frozen=True, slots=True, eq=False)
class Lexical:
    """Lemmas, vectors and frequencies; None where not known.

    Attributes:
        lemmas: Lemma of each word, counted over all texts; "" where unknown.
        vectors: Vector of each word, of length 1; all zeros for words without one.
        frequency: How often each token of the input occurs in all inputs of the run.
    """

    lemmas: tuple[str, ...] | None = None
    vectors: Float32[np.ndarray, "words dimensions"] | None = None
    frequency: Int[np.ndarray, " tokens"] | None = None

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for name in ("vectors", "frequency"):
            array = getattr(self, name)
            if array is not None:
                object.__setattr__(self, name, frozen(np.asarray(array)))
