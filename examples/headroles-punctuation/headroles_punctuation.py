"""Does the head look at punctuation marks? A complete plug-in for headroles."""

import numpy as np

from headroles import Example, sieve


@sieve("marks", source="Clark et al. 2019, section 3.2 (periods and commas)")
def marks(example: Example) -> np.ndarray:
    """Does the head look at punctuation marks?"""
    return np.array([token in ".,;:!?" for token in example.tokens])
