"""Keys of the query's own text, against those of both texts."""

import numpy as np
from jaxtyping import Bool, Int

from headroles.records import Example
from headroles.sieves.base import Contrast, MaskSieve
from headroles.sieves.local import own_text

CONTRAST_MARGIN = 0.02


def own_cells(example: Example) -> Bool[np.ndarray, "tokens tokens"]:
    """Pairs of tokens of one text."""
    return own_text(example).rows(0, example.size)


def both_texts(example: Example) -> Bool[np.ndarray, "tokens tokens"]:
    """All pairs of tokens of the texts; special tokens are in none."""
    text = example.segment >= 0
    return text[:, None] & text[None, :]


def text_of(example: Example) -> Int[np.ndarray, " tokens"]:
    """The text of each token; −1 on special tokens."""
    return example.segment


block = MaskSieve(
    name="block",
    mask=own_text,
    question="Does the head keep to the query's own text, not the other one, beyond what distance gives?",
    source="Pande et al. 2021, block sieve; here Youden's J over the two texts",
    scope=both_texts,
    groups=text_of,
    contrast=Contrast(margin=CONTRAST_MARGIN, cells=own_cells, scope=both_texts, groups=text_of),
)
