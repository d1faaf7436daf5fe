"""Keys of the query's own text, against those of both texts."""

import numpy as np

from headroles.records import Example
from headroles.sieves.base import Contrast, MaskSieve
from headroles.sieves.local import own_text

CONTRAST_MARGIN = 0.02


def _own(example: Example) -> np.ndarray:
    return own_text(example).rows(0, example.size)


def _both(example: Example) -> np.ndarray:
    text = example.segment >= 0
    return text[:, None] & text[None, :]


def _text(example: Example) -> np.ndarray:
    return example.segment


block = MaskSieve(
    name="block",
    mask=own_text,
    question="Does the head keep to the query's own text, not the other one, beyond what distance gives?",
    source="Pande et al. 2021, block sieve; here Youden's J over the two texts",
    scope=_both,
    groups=_text,
    contrast=Contrast(margin=CONTRAST_MARGIN, cells=_own, scope=_both, groups=_text),
)
