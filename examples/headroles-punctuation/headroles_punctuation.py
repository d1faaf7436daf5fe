"""Does the head look at punctuation marks? A complete plug-in for headroles: a sieve and a family."""

import numpy as np

from headroles import Example, MaskSieve, sieve, sieve_family


@sieve("marks", source="Clark et al. 2019, section 3.2 (periods and commas)")
def marks(example: Example) -> np.ndarray:
    """Does the head look at punctuation marks?"""
    return np.array([token in ".,;:!?" for token in example.tokens])


@sieve_family("mark", parameter="mark", example="?")
def mark(wanted: str) -> MaskSieve:
    """Does the head look at this mark?"""
    named = sieve(f"mark:{wanted}", question=f"Does the head look at {wanted}?")
    return named(lambda example: np.array([token == wanted for token in example.tokens]))
