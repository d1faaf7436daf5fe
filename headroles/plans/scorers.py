"""Calling sieves that read attention, which may come from plug-ins: their scores, or one error sentence."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.errors import BadSieve, HeadrolesError
from headroles.plans.masks import Mask
from headroles.records.example import Example


@runtime_checkable
class AttentionScorer(Protocol):
    """A sieve that computes its scores from the attention of a layer."""

    def score(
        self, attention: Float[np.ndarray, "heads tokens tokens"], example: Example
    ) -> Float[np.ndarray, " heads"]:
        """Return one number per head."""


@runtime_checkable
class VisibleScorer(AttentionScorer, Protocol):
    """A scorer whose scores also depend on the visible keys."""

    def score_visible(
        self,
        attention: Float[np.ndarray, "heads tokens tokens"],
        example: Example,
        visible: Bool[np.ndarray, "tokens tokens"] | None,
    ) -> Float[np.ndarray, " heads"]:
        """Return one number per head; ``visible`` marks the keys that each query can see, None: all."""


@runtime_checkable
class RowScorer(AttentionScorer, Protocol):
    """A scorer whose score is a sum over queries, so that long inputs can be read in blocks."""

    def score_rows(
        self,
        rows: Float[np.ndarray, "heads rows tokens"],
        start: int,
        example: Example,
        visible: Mask | None,
    ) -> Float[np.ndarray, " heads"]:
        """Return the sum over the rows from ``start``; ``visible``: keys each query can see, None: all."""


@dataclass(frozen=True, slots=True, eq=False)
class KeySets:
    """Sets of keys of one input, and the set whose entropy each query asks for.

    Attributes:
        keys: Sets of keys, 1 inside.
        label: The set of each query, from 0; −1 for none.
    """

    keys: Float[np.ndarray, "tokens sets"]
    label: Int[np.ndarray, " tokens"]


@runtime_checkable
class SpreadScorer(AttentionScorer, Protocol):
    """A scorer that needs no rows, but masses on sets of keys and the entropy within one of them."""

    def key_sets(self, example: Example) -> KeySets:
        """Return the sets of keys."""

    def score_spread(
        self,
        masses: Float[np.ndarray, "heads tokens sets"],
        spread: Float[np.ndarray, "heads tokens"],
        example: Example,
        visible: Mask | None,
    ) -> Float[np.ndarray, " heads"]:
        """Return one number per head.

        ``masses`` is the attention of each query on each set. ``spread`` is its attention on its own set,
        times the entropy within that set in nats. ``visible``: keys each query can see, None: all.
        """


def score_spread(
    scorer: SpreadScorer,
    masses: Float[np.ndarray, "heads tokens sets"],
    spread: Float[np.ndarray, "heads tokens"],
    example: Example,
    visible: Mask | None,
) -> Float[np.ndarray, " heads"]:
    """Return a scorer's numbers on one layer from masses and entropies, one per head.

    Args:
        scorer: A sieve that needs no rows.
        masses: As ``SpreadScorer.score_spread`` takes them.
        spread: As ``SpreadScorer.score_spread`` takes it.
        example: The input.
        visible: Keys that each query can see; None: all.

    Raises:
        BadSieve: When it fails, or does not return one number per head.
    """
    return _call(scorer, len(masses), example, lambda: scorer.score_spread(masses, spread, example, visible))


def score_block(
    scorer: RowScorer,
    rows: Float[np.ndarray, "heads rows tokens"],
    start: int,
    example: Example,
    visible: Mask | None,
) -> Float[np.ndarray, " heads"]:
    """Return the part of a scorer's numbers that some rows of a layer contribute, one per head.

    Args:
        scorer: A sieve that reads attention row by row.
        rows: Attention of the queries from ``start``.
        start: The first query.
        example: The input.
        visible: Keys that each query can see; None: all.

    Raises:
        BadSieve: When it fails, or does not return one number per head.
    """
    return _call(scorer, len(rows), example, lambda: scorer.score_rows(rows, start, example, visible))


def score_layer(
    scorer: AttentionScorer,
    attention: Float[np.ndarray, "heads tokens tokens"],
    example: Example,
    visible: Bool[np.ndarray, "tokens tokens"] | None,
) -> Float[np.ndarray, " heads"]:
    """Return a scorer's numbers on one layer, one per head.

    Args:
        scorer: A sieve that reads attention.
        attention: Attention of one layer.
        example: The input.
        visible: Keys that each query can see; None: all. Only scorers with ``score_visible`` get it.

    Raises:
        BadSieve: When it fails, or does not return one number per head.
    """

    def score() -> object:
        if isinstance(scorer, VisibleScorer):
            return scorer.score_visible(attention, example, visible)
        return scorer.score(attention, example)

    return _call(scorer, len(attention), example, score)


def _call(
    scorer: AttentionScorer, heads: int, example: Example, score: Callable[[], object]
) -> Float[np.ndarray, " heads"]:
    """Call a scorer and check that it returns one number per head.

    Raises:
        BadSieve: When it fails, or does not.
    """
    name = getattr(scorer, "name", type(scorer).__name__)
    try:
        scores = np.asarray(score())
    except HeadrolesError:
        raise
    except Exception as error:  # a plug-in's sieve may raise anything
        raise BadSieve(
            f"sieve {name!r} failed on example {example.key!r} ({type(error).__name__}: {error}); mend it"
        ) from error
    if scores.shape != (heads,) or scores.dtype.kind not in "fiu":
        raise BadSieve(
            f"sieve {name!r} must give one number per head, shape ({heads},), but gave "
            f"{scores.dtype} {scores.shape} on example {example.key!r}"
        )
    numbers: np.ndarray = scores.astype(np.float64)
    return numbers
