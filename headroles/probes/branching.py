"""Trees that need no model: each word hangs on its neighbour."""

import numpy as np
from jaxtyping import Int

BRANCHING = ("right-branching", "left-branching")


def branching(name: str, words: int) -> Int[np.ndarray, " words"]:
    """Heads when every word's head is its neighbour, −1 (the root) at the end of the chain.

    "right-branching" takes the word to the right as the head, as the baseline of Clark et al. (2019,
    Table 3) does; "left-branching" the word to the left.

    Example:
        >>> branching("right-branching", 4).tolist(), branching("left-branching", 4).tolist()
        ([1, 2, 3, -1], [-1, 0, 1, 2])
    """
    if name == "left-branching":
        return np.arange(words) - 1
    heads = np.arange(words) + 1
    heads[-1:] = -1
    return heads
