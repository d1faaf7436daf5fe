"""Attention between word pieces to attention between words."""

import numpy as np
from jaxtyping import Float, Int

from headroles.errors import BadInput

WAYS = ("mean", "first", "max")


def word_attention(
    attention: Float[np.ndarray, "*heads tokens tokens"], word: Int[np.ndarray, " tokens"], way: str = "mean"
) -> Float[np.ndarray, "*heads words words"]:
    """Sum attention to a word's pieces; take the mean (or first, or maximum) from its pieces.

    Rows still sum to what they did; with "max" they are divided by their sum. Source: Clark et al.
    (2019), section 4.1 (mean); the released code's default is "first".

    Args:
        attention: Rows are queries.
        word: Unit number of each token, from 0 without gaps; special tokens are units of their own.
        way: How the attending pieces of a word are joined.

    Raises:
        BadInput: For another way, or when a unit number is missing.

    Example:
        >>> word_attention(np.full((3, 3), 1 / 3), np.array([0, 0, 1])).round(2).tolist()
        [[0.67, 0.33], [0.67, 0.33]]
    """
    if way not in WAYS:
        raise BadInput(f"pieces of an attending word are joined by one of {', '.join(WAYS)}, not by {way!r}")
    words = int(word.max(initial=-1)) + 1
    belongs = word[None, :] == np.arange(words)[:, None]
    if not belongs.any(axis=1).all():
        raise BadInput("units are numbered from 0 without gaps, but a unit number has no token")
    keys = attention @ belongs.T.astype(attention.dtype)
    if way == "mean":
        mean: np.ndarray = (belongs / belongs.sum(axis=1, keepdims=True)).astype(attention.dtype) @ keys
        return mean
    if way == "first":
        first: np.ndarray = keys[..., belongs.argmax(axis=1), :]
        return first
    rows = [keys[..., mine, :].max(axis=-2) for mine in belongs]
    largest = np.stack(rows, axis=-2)
    shares: np.ndarray = largest / largest.sum(axis=-1, keepdims=True)
    return shares
