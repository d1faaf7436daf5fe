"""Inputs made ready for the model: each with what its sieves say, by itself or as part of its batch."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from headroles.extraction import forming
from headroles.extraction.batched_reading import Together, reads_together
from headroles.extraction.columns import Columns
from headroles.extraction.model import Model
from headroles.extraction.readers import Shown, key_of
from headroles.extraction.tokens import Tokenised
from headroles.plans.plan import LongPlan, Plan
from headroles.records.example import Example


@dataclass(slots=True)
class Prepared:
    """One example ready for the model, with its plans by visible set or with those of its whole batch."""

    place: int
    tokenised: Tokenised
    example: Example
    plans: dict[bytes, Plan] = field(default_factory=dict)
    long_plans: dict[bytes, LongPlan] = field(default_factory=dict)
    together: Together | None = None

    @property
    def long(self) -> bool:
        """Whether its attention comes in blocks of rows, of which only sums are kept."""
        return self.tokenised.size > forming.WHOLE


def planned(prepared: Prepared, sieves: Columns, visible: np.ndarray | None) -> Plan:
    key = key_of(visible)
    if key not in prepared.plans:
        prepared.plans[key] = sieves.plan(prepared.example, visible)
    return prepared.plans[key]


def long_planned(prepared: Prepared, sieves: Columns, shown: Shown) -> LongPlan:
    key = key_of(shown)
    if key not in prepared.long_plans:
        prepared.long_plans[key] = sieves.long_plan(prepared.example, shown)
    return prepared.long_plans[key]


def together_of(model: Model, sieves: Columns, batch: Sequence[Prepared]) -> Together | None:
    """What is laid over a batch as one; None where its examples are read one by one.

    That of the batch as it was made ready, unless it has been halved since. Examples of cross attention
    and, on a processor, long ones are read by themselves, and so are all where no sieve is a mask.
    """
    sizes = [prepared.tokenised.size for prepared in batch]
    crossing = any(prepared.tokenised.stack is not None for prepared in batch)
    if crossing or not sieves.asking.linear or not reads_together(sizes, model.heads, model.device):
        return None
    made = batch[0].together
    if made is not None and len(made.examples) == len(batch):
        return made
    return Together(sieves, [prepared.example for prepared in batch], model.heads, model.device)
