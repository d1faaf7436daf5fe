"""Sieves as a third party writes them, with everything that public names can state."""

import numpy as np

from headroles import Contrast, Example, Keys, MaskSieve, Pairs, Same, sieve


def _half(example: Example) -> np.ndarray:
    """Two groups of tokens; every third token is in none."""
    place = np.arange(example.size)
    return np.where(place % 3 == 2, -1, place % 2)


def _texts(example: Example) -> Same:
    return Same(np.where(example.segment >= 0, 0, -1))


def _words(example: Example) -> int:
    return int(example.word.max(initial=-1)) + 1


def _next_words(example: Example) -> Pairs:
    place = np.arange(max(_words(example) - 1, 0))
    return Pairs(place, place + 1, _words(example))


def _all_words(example: Example) -> Keys:
    return Keys(np.ones(_words(example), dtype=np.bool_))


def _every_third_word_asks_nothing(example: Example) -> np.ndarray:
    return np.where(np.arange(_words(example)) % 3 == 0, -1, 0)


@sieve("keys", contrast=0.05)
def keys(example: Example) -> np.ndarray:
    """The same keys for every query, within the texts."""
    fourth: np.ndarray = np.arange(example.size) % 4 == 1
    return fourth


@sieve("grouped", scope=_texts, groups=_half, contrast=Contrast(0.1, keys.mask, _texts, groups=_half))
def grouped(example: Example) -> np.ndarray:
    """Cells of any kind, with groups and tokens that ask nothing."""
    place = np.arange(example.size)
    cells: np.ndarray = (place[:, None] * place[None, :]) % 5 == 1
    return cells


over_words = sieve(
    "over-words",
    needs=["words"],
    contrast=Contrast(0.1, _next_words, _all_words, words=True, groups=_every_third_word_asks_nothing),
)(lambda example: Same(example.word))

THIRD_PARTY: tuple[MaskSieve, ...] = (keys, grouped, over_words)
