"""Inputs prepared for the model, each with the plans of its sieves, and the protocols that sieves fulfil."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from headroles.extraction.capture.readers import VisibleMask, visible_key
from headroles.extraction.scoring.batches.reading import BatchPlans, reads_as_batch
from headroles.extraction.source import AttentionSource
from headroles.extraction.texts.tokens import Tokenised
from headroles.plans.batch import SieveLayout, SieveMasks
from headroles.plans.class_profile import ClassSpace
from headroles.plans.masks import Mask
from headroles.plans.plan import LongPlan
from headroles.plans.word_pairs import WordPairs
from headroles.records.example import Example
from headroles.records.rules.names import SUMS


@runtime_checkable
class SieveColumns(Protocol):
    """The sieves of a run, as the reader of attention uses them."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of all columns, those of scorers last."""

    @property
    def needs(self) -> frozenset[str]:
        """Return the annotation that the sieves read."""

    @property
    def cleaned(self) -> bool:
        """Return whether a sieve looks words up in cleaned texts."""

    @property
    def scorers(self) -> Sequence["LayerScorer"]:
        """Return the sieves that see attention; each has one column."""

    def long_plan(self, example: Example, visible: Mask | None) -> LongPlan:
        """Lay the mask sieves over one example, for attention that comes in blocks of rows."""

    @property
    def layout(self) -> SieveLayout:
        """Return the columns and settings of mask sieves and contrasts, the same for every example."""

    def masks_of(self, examples: Sequence[Example]) -> list[SieveMasks]:
        """Return the masks of each example."""

    @property
    def class_spaces(self) -> Sequence[ClassSpace]:
        """Return the columns of contrasts against word class, by the words that are compared."""

    @property
    def bounds(self) -> Mapping[str, tuple[float, float]]:
        """Return the smallest and largest value of each column that inputs may have; NaN for any."""

    @property
    def by_norms(self) -> "SieveColumns | None":
        """Return the sieves that score norm-weighted attention; None for none."""

    @property
    def norm_columns(self) -> tuple[int, ...]:
        """Return the column of minus the score of each of ``by_norms``."""

    def word_pairs_of(self, examples: Sequence[Example]) -> list[tuple[WordPairs | None, ...]]:
        """Return the compared pairs of words of each example, one for each of ``class_spaces``."""


@runtime_checkable
class LayerScorer(Protocol):
    """A sieve that scores attention, one layer at a time."""

    def score(
        self, attention: Float[np.ndarray, "heads tokens tokens"], example: Example
    ) -> Float[np.ndarray, " heads"]:
        """Return one number per head."""

    def null(self, example: Example) -> float:
        """Return the chance value of the score on this example."""


@dataclass(slots=True)
class Prepared:
    """One example ready for the model, with its own plans by visible set, or with the plans of its batch.

    ``by_norms`` has the plans of sieves that score norm-weighted attention; None where there are none.
    """

    place: int
    tokenised: Tokenised
    example: Example
    long_plans: dict[bytes, LongPlan] = field(default_factory=dict)
    together: BatchPlans | None = None
    word_pairs: tuple[WordPairs | None, ...] = ()
    by_norms: "Prepared | None" = None

    def second(self) -> "Prepared":
        """Return the example for the sieves that score norm-weighted attention, with plans of its own."""
        if self.by_norms is None:
            self.by_norms = Prepared(self.place, self.tokenised, self.example)
        return self.by_norms


def long_plan_of(prepared: Prepared, sieves: SieveColumns, shown: VisibleMask) -> LongPlan:
    """Return the plan of an example for a visible set, made at the first call."""
    key = visible_key(shown)
    if key not in prepared.long_plans:
        prepared.long_plans[key] = sieves.long_plan(prepared.example, shown)
    return prepared.long_plans[key]


def batch_plans_of(
    model: AttentionSource, sieves: SieveColumns, batch: Sequence[Prepared]
) -> BatchPlans | None:
    """Return the plans of a batch that is read as one; None where its examples are read one by one.

    The plans made before the model ran are used again unless the batch has been halved since. Examples of
    cross attention and, on a processor, long ones are read one by one, in blocks of rows. The fused path also
    reads examples one by one, without rows.
    """
    sizes = [prepared.tokenised.size for prepared in batch]
    crossing = any(prepared.tokenised.stack is not None for prepared in batch)
    if crossing or model.way.name == SUMS or not reads_as_batch(sizes, model.heads, model.device):
        return None
    known = batch[0].together
    if known is not None and len(known.examples) == len(batch):
        return known
    return BatchPlans(sieves, [prepared.example for prepared in batch], model.heads, model.device)
