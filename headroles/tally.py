"""What the receipts of a run say together, and in runs that keep all scores the receipts themselves."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from headroles.work import Receipt


class Tally:
    """Shards that are done, counted as they come, in any order.

    Where sums are kept of all examples, receipts are counted and let go, so that memory does not grow with
    the shards.

    Attributes:
        shards: Shards that are done without a gap, from the first.
        truncated: Inputs that were cut.
        low: Smallest value that each column could take in any shard; NaN where none says.
        high: Largest.
    """

    def __init__(self, whole: bool) -> None:
        """Nothing is done yet.

        Args:
            whole: Whether receipts are held, because the scores of all examples are kept.
        """
        self._held: dict[int, Receipt] | None = {} if whole else None
        self._beyond: set[int] = set()
        self.shards = self.truncated = 0
        self.low: Float[np.ndarray, " columns"] = np.array(np.nan)
        self.high: Float[np.ndarray, " columns"] = np.array(np.nan)

    def add(self, receipt: Receipt) -> None:
        """Count a shard."""
        if self._held is not None:
            self._held[receipt.number] = receipt
        self._beyond.add(receipt.number)
        while self.shards in self._beyond:
            self._beyond.remove(self.shards)
            self.shards += 1
        self.truncated += receipt.truncated
        low, high = (np.array(each, dtype=np.float64) for each in (receipt.low, receipt.high))
        self.low, self.high = np.fmin(self.low, low), np.fmax(self.high, high)

    def check(self, count: int) -> None:
        """See that so many shards are done, and no others.

        Raises:
            RuntimeError: When one is missing, or was not asked for.
        """
        if self.shards != count or self._beyond:
            raise RuntimeError(
                f"{count} shards were to be scored, but receipts came of the first {self.shards} and of "
                f"{sorted(self._beyond)}"
            )

    @property
    def receipts(self) -> Sequence[Receipt]:
        """The receipts in the order of the shards.

        Raises:
            RuntimeError: When they were not held.
        """
        if self._held is None:
            raise RuntimeError("receipts are held only where all scores are kept")
        return [self._held[number] for number in sorted(self._held)]
