"""One forward pass whose attention is read."""

from collections.abc import Sequence

import torch

from headroles.extraction.across import Crossing
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
        crossing: How cross attention is laid into joint examples; None where other attention is read.
    """

    def __init__(
        self,
        reader: Reader | GraphReader,
        lengths: Sequence[int],
        trial: int,
        *,
        modules: frozenset[torch.nn.Module] | None = None,
        crossing: Crossing | None = None,
    ) -> None:
        """Begin at the first layer; modules other than those given are not read (None: all are)."""
        self.reader = reader
        self.lengths = lengths
        self.trial = trial
        self.layer = 0
        self.seen = Seen(lengths)
        self.crossing = crossing
        self._modules = modules

    def reads(self, module: torch.nn.Module) -> bool:
        """Whether a module computes attention of the kind that is read."""
        return self._modules is None or module in self._modules
