"""Inputs made ready for the model: each with what its sieves say, by itself or as part of its batch.

What reading asks of the sieves.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from headroles.extraction.capture.readers import Shown, key_of
from headroles.extraction.model.load import Model
from headroles.extraction.scoring.batches.reading import Together, reads_together
from headroles.extraction.texts.tokens import Tokenised
from headroles.plans.batch import Asking, Stated
from headroles.plans.masks import Mask
from headroles.plans.plan import LongPlan
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

    def long_plan(self, example: Example, visible: Mask | None) -> LongPlan:
        """The mask sieves laid over one example, for attention that comes in blocks of rows."""

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


@dataclass(slots=True)
class Prepared:
    """One example ready for the model, with its plans by visible set or with those of its whole batch."""

    place: int
    tokenised: Tokenised
    example: Example
    long_plans: dict[bytes, LongPlan] = field(default_factory=dict)
    together: Together | None = None


def long_planned(prepared: Prepared, sieves: Columns, shown: Shown) -> LongPlan:
    key = key_of(shown)
    if key not in prepared.long_plans:
        prepared.long_plans[key] = sieves.long_plan(prepared.example, shown)
    return prepared.long_plans[key]


def together_of(model: Model, sieves: Columns, batch: Sequence[Prepared]) -> Together | None:
    """What is laid over a batch as one; None where its examples are read one by one.

    That of the batch as it was made ready, unless it has been halved since. Examples of cross attention
    and, on a processor, long ones are read by themselves, in blocks of rows.
    """
    sizes = [prepared.tokenised.size for prepared in batch]
    crossing = any(prepared.tokenised.stack is not None for prepared in batch)
    if crossing or not reads_together(sizes, model.heads, model.device):
        return None
    made = batch[0].together
    if made is not None and len(made.examples) == len(batch):
        return made
    return Together(sieves, [prepared.example for prepared in batch], model.heads, model.device)
