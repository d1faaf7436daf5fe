"""Asking a sieve that sees attention, which may be a stranger's: its answer, or one sentence about it."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float

from headroles.errors import BadSieve, HeadrolesError
from headroles.plans.masks import Mask
from headroles.records.example import Example


@runtime_checkable
class Asked(Protocol):
    """The part of a scorer that gives the scores."""

    def score(
        self, attention: Float[np.ndarray, "heads tokens tokens"], example: Example
    ) -> Float[np.ndarray, " heads"]:
        """One number per head."""


@runtime_checkable
class AskedOfVisible(Asked, Protocol):
    """A scorer whose scores also depend on which keys can be seen."""

    def score_visible(
        self,
        attention: Float[np.ndarray, "heads tokens tokens"],
        example: Example,
        visible: Bool[np.ndarray, "tokens tokens"] | None,
    ) -> Float[np.ndarray, " heads"]:
        """One number per head; ``visible`` says which keys each query can see, None: all."""


@runtime_checkable
class AskedOfRows(Asked, Protocol):
    """A scorer whose score is a sum over queries, so that long inputs need not be held whole."""

    def score_rows(
        self,
        rows: Float[np.ndarray, "heads rows tokens"],
        start: int,
        example: Example,
        visible: Mask | None,
    ) -> Float[np.ndarray, " heads"]:
        """What the rows of queries ``start`` on add; ``visible``: which keys each can see, None: all."""


def rows_per_head(
    scorer: AskedOfRows,
    rows: Float[np.ndarray, "heads rows tokens"],
    start: int,
    example: Example,
    visible: Mask | None,
) -> Float[np.ndarray, " heads"]:
    """What some rows of a layer add to a scorer's numbers, when there is one per head.

    Args:
        scorer: A sieve that sees attention row by row.
        rows: Attention of queries ``start`` on.
        start: The first query.
        example: The input.
        visible: Which keys each query can see; None: all.

    Raises:
        BadSieve: When it fails, or gives something else.
    """
    return _checked(scorer, len(rows), example, lambda: scorer.score_rows(rows, start, example, visible))


def per_head(
    scorer: Asked,
    attention: Float[np.ndarray, "heads tokens tokens"],
    example: Example,
    visible: Bool[np.ndarray, "tokens tokens"] | None,
) -> Float[np.ndarray, " heads"]:
    """A scorer's numbers on one layer, when there is one per head.

    Args:
        scorer: A sieve that sees attention.
        attention: Of one layer.
        example: The input.
        visible: Which keys each query can see; None: all. Only scorers that ask for it get it.

    Raises:
        BadSieve: When it fails, or gives something else.
    """

    def ask() -> object:
        if isinstance(scorer, AskedOfVisible):
            return scorer.score_visible(attention, example, visible)
        return scorer.score(attention, example)

    return _checked(scorer, len(attention), example, ask)


def _checked(
    scorer: Asked, heads: int, example: Example, ask: Callable[[], object]
) -> Float[np.ndarray, " heads"]:
    """What asking a scorer gives, when it is one number per head; otherwise one sentence about it."""
    name = getattr(scorer, "name", type(scorer).__name__)
    try:
        made = np.asarray(ask())
    except HeadrolesError:
        raise
    except Exception as error:  # a stranger's sieve may raise anything
        raise BadSieve(
            f"sieve {name!r} failed on example {example.key!r} ({type(error).__name__}: {error}); mend it"
        ) from error
    if made.shape != (heads,) or made.dtype.kind not in "fiu":
        raise BadSieve(
            f"sieve {name!r} must give one number per head, shape ({heads},), but gave "
            f"{made.dtype} {made.shape} on example {example.key!r}"
        )
    numbers: np.ndarray = made.astype(np.float64)
    return numbers
