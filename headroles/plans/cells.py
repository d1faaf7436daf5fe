"""What a sieve counts on one input: its cells, the cells they are compared within, and their weights."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.example import Example


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SieveCells:
    """Cells of attention that a sieve counts on one input; rows are queries, columns are keys.

    Attributes:
        sieve: Name of the sieve.
        question: Its question, in words.
        example: The input.
        counted: Cells that count, of queries that ask; all False for a sieve that computes from attention.
        compared: Cells that the counted keys are compared within, of queries that ask.
        asking: Queries that count: those with some, but not all, of the keys that they are compared within.
        weight: Weight of each cell in the selectivity, which is the sum of weight × attention; 0 elsewhere.
        notes: Facts in sentences: what has no cells, the contrast, where annotation is from.
    """

    sieve: str
    question: str
    example: Example
    counted: Bool[np.ndarray, "tokens tokens"]
    compared: Bool[np.ndarray, "tokens tokens"]
    asking: Bool[np.ndarray, " tokens"]
    weight: Float[np.ndarray, "tokens tokens"]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return the sieve, and the numbers of cells and queries."""
        return (
            f"<SieveCells of {self.sieve!r}: {int(self.counted.sum())} of {int(self.compared.sum())} cells, "
            f"{int(self.asking.sum())} of {self.example.size} queries>"
        )
