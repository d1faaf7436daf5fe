"""Asking a sieve that sees attention, which may be a stranger's: its answer, or one sentence about it."""

from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from headroles.errors import BadSieve, HeadrolesError
from headroles.records import Example


@runtime_checkable
class Asked(Protocol):
    """The part of a scorer that gives the scores."""

    def score(
        self, attention: Float[np.ndarray, "heads tokens tokens"], example: Example
    ) -> Float[np.ndarray, " heads"]:
        """One number per head."""


def per_head(
    scorer: Asked, attention: Float[np.ndarray, "heads tokens tokens"], example: Example
) -> Float[np.ndarray, " heads"]:
    """A scorer's numbers on one layer, when there is one per head.

    Raises:
        BadSieve: When it fails, or gives something else.
    """
    name = getattr(scorer, "name", type(scorer).__name__)
    try:
        made = np.asarray(scorer.score(attention, example))
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
