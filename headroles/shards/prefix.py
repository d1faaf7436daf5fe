"""Receipts of a run that may stop: only shards without a gap from the first count, one after the other."""

from collections.abc import Callable

from headroles.records.stops.look import Look
from headroles.shards.receipts import Receipts
from headroles.shards.work import Receipt


class PrefixReceipts(Receipts):
    """Receipts that count in the order of the shards, in whatever order they arrive, until one ends the run.

    So the shard at which a run stops does not depend on the number or the speed of its workers. Shards that
    were scored beyond it do not count.

    Attributes:
        look: The look after the last shard that counted.
        stopped: Whether that look ended the run.
    """

    def __init__(self, judge: Callable[[Receipt, Receipts], Look]) -> None:
        """Start without any finished shard.

        Args:
            judge: Called with every shard that counts, and with the receipts that include it.
        """
        super().__init__(True)
        self._judge = judge
        self._waiting: dict[int, Receipt] = {}

    def add(self, receipt: Receipt) -> None:
        """Take a finished shard, and count those that follow the last one that counted."""
        self._waiting[receipt.number] = receipt
        while not self.stopped and self.shards in self._waiting:
            following = self._waiting.pop(self.shards)
            super().add(following)
            self.look = self._judge(following, self)
            self.stopped = self.look.stops

    def check(self, count: int) -> None:
        """Check that all shards are finished, unless the run stopped before the last one.

        Args:
            count: Number of shards of the run.

        Raises:
            RuntimeError: When a shard is missing or there is one too many.
        """
        if not self.stopped:
            super().check(count)
