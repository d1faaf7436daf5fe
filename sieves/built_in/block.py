"""Keys of the query's own text, against those of both texts."""

import numpy as np
from jaxtyping import Int

from headroles.records.example import Example
from headroles.sieves.base import Contrast, MaskSieve, both_texts
from headroles.sieves.built_in.local import own_text

CONTRAST_MARGIN = 0.02


def text_of(example: Example) -> Int[np.ndarray, " tokens"]:
    """Return the text of each token; −1 on special tokens."""
    return example.segment


block = MaskSieve(
    name="block",
    mask=own_text,
    question="Does the head keep to the query's own text, not the other one, beyond what distance gives?",
    source="Pande et al. 2021, block sieve; here Youden's J over the two texts",
    scope=both_texts,
    groups=text_of,
    contrast=Contrast(margin=CONTRAST_MARGIN, cells=own_text, scope=both_texts, groups=text_of),
)
