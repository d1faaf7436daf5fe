"""Asking a sieve that sees attention, which may be a stranger's: its answer, or one sentence about it."""

from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float

from headroles.errors import BadSieve, HeadrolesError
from headroles.records import Example


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
    name = getattr(scorer, "name", type(scorer).__name__)
    try:
        if isinstance(scorer, AskedOfVisible):
            found = scorer.score_visible(attention, example, visible)
        else:
            found = scorer.score(attention, example)
        made = np.asarray(found)
    except HeadrolesError:
        raise
    except Exception as error:  # a stranger's sieve may raise anything
        raise BadSieve(
            f"sieve {name!r} failed on example {example.key!r} ({type(error).__name__}: {error}); mend it"
        ) from error
    if made.shape != attention.shape[:1] or made.dtype.kind not in "fiu":
        raise BadSieve(
            f"sieve {name!r} must give one number per head, shape ({len(attention)},), but gave "
            f"{made.dtype} {made.shape} on example {example.key!r}"
        )
    numbers: np.ndarray = made.astype(np.float64)
    return numbers
