"""One forward pass whose attention is read."""

from collections.abc import Sequence

from headroles.extraction.readers import GraphReader, Reader
from headroles.extraction.seen import Seen


class Pass:
    """Which layer a forward pass is at, who reads it, and what each mask lets be seen.

    Attributes:
        reader: Takes the attention.
        lengths: Real tokens of each example.
        trial: Into how many blocks an input is cut on trial; 0 in earnest.
        layer: The layer whose attention comes next.
        seen: What the queries can see.
    """

    def __init__(self, reader: Reader | GraphReader, lengths: Sequence[int], trial: int) -> None:
        """Begin at the first layer."""
        self.reader = reader
        self.lengths = lengths
        self.trial = trial
        self.layer = 0
        self.seen = Seen(lengths)
