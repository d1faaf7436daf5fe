"""What reading asks of the sieves."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float

from headroles.plans.batch import Asking, Stated
from headroles.plans.masks import Mask
from headroles.plans.plan import LongPlan, Plan
from headroles.records.example import Example


@runtime_checkable
class Columns(Protocol):
    """What the stream asks of the sieves."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns, those of scorers last."""

    @property
    def needs(self) -> frozenset[str]:
        """Annotation the sieves read."""

    @property
    def scorers(self) -> Sequence["LayerScorer"]:
        """Sieves that see attention, one column each."""

    def plan(self, example: Example, visible: Bool[np.ndarray, "tokens tokens"] | None) -> Plan:
        """The mask sieves laid over one example."""

    def long_plan(self, example: Example, visible: Mask | None) -> LongPlan:
        """The same for a long example."""

    @property
    def asking(self) -> Asking:
        """What mask sieves and contrasts ask of every example."""

    def stated(self, example: Example) -> Stated:
        """What they say of one, as kinds of mask."""


@runtime_checkable
class LayerScorer(Protocol):
    """A sieve that sees attention, one layer at a time."""

    def score(
        self, attention: Float[np.ndarray, "heads tokens tokens"], example: Example
    ) -> Float[np.ndarray, " heads"]:
        """One number per head."""

    def null(self, example: Example) -> float:
        """The score's chance value on this example."""
