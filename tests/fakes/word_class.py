"""Heads that know word class, length, frequency and nearness but no syntax, and oracles that know heads.

Each fake is a function of the words of one input: it returns attention between words, rows that sum to 1.
Nothing but the oracles reads trees.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

NOUNS, VERBS = ("NOUN", "PROPN", "PRON"), ("VERB", "AUX")
CONTENT = ("NOUN", "PROPN", "VERB", "ADJ", "ADV")
DECAY = 3.0
"""Words over which the attention of decaying heads falls to 1/e."""
RARE = 3
"""Most occurrences of a rare word."""


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The words of one input as fakes and oracles see them.

    Attributes:
        forms: The words.
        upos: Their word classes.
        heads: Head of each word; −1 for roots and for arcs that are no role.
        count: Occurrences of each word in all inputs, in lower case.
    """

    forms: tuple[str, ...]
    upos: tuple[str, ...]
    heads: np.ndarray
    count: np.ndarray

    @property
    def size(self) -> int:
        """Return the number of words."""
        return len(self.forms)

    @property
    def offset(self) -> np.ndarray:
        """Return key − query of every pair."""
        place = np.arange(self.size)
        return place[None, :] - place[:, None]

    def of(self, *classes: str) -> np.ndarray:
        """Return which words belong to one of some classes."""
        return np.isin(self.upos, classes)

    @property
    def long(self) -> np.ndarray:
        """Return which words have at least six letters."""
        return np.array([len(form) >= 6 for form in self.forms])

    @property
    def rare(self) -> np.ndarray:
        """Return which words are rare."""
        return self.count <= RARE


Fake = Callable[[Reading], np.ndarray]


def rows_of(weight: np.ndarray) -> np.ndarray:
    """Return rows that sum to 1, without the word itself; even rows where nothing has weight."""
    own = np.array(weight, dtype=np.float64)
    np.fill_diagonal(own, 0.0)
    total = own.sum(axis=1, keepdims=True)
    even = np.full(own.shape, 1 / len(own))
    return np.where(total > 0, own / np.where(total > 0, total, 1.0), even)


def decaying(reading: Reading) -> np.ndarray:
    """Return weights that fall with the distance of key and query."""
    weights: np.ndarray = np.exp(-np.abs(reading.offset) / DECAY)
    return weights


def _nearby(chosen: Callable[[Reading], np.ndarray]) -> Fake:
    return lambda reading: rows_of(decaying(reading) * chosen(reading)[None, :])


def _even(chosen: Callable[[Reading], np.ndarray]) -> Fake:
    return lambda reading: rows_of(np.broadcast_to(chosen(reading), (reading.size, reading.size)))


def one_key(reading: Reading, allowed: np.ndarray, low: int, high: int) -> np.ndarray:
    """Return 1 on the nearest allowed key of each query within offsets, on the later one of two."""
    far = 10.0 * reading.size
    offset = reading.offset
    inside = allowed & (offset >= low) & (offset <= high) & (offset != 0)
    distance = np.where(inside, np.abs(offset) - 0.1 * (offset > 0), far)
    chosen = distance.argmin(axis=1)
    cells = np.zeros(offset.shape)
    there = distance.min(axis=1) < far
    cells[there, chosen[there]] = 1.0
    return cells


def _one(chosen: Callable[[Reading], np.ndarray], low: int, high: int) -> Fake:
    def fake(reading: Reading) -> np.ndarray:
        allowed = np.broadcast_to(chosen(reading), (reading.size, reading.size))
        return rows_of(one_key(reading, allowed, low, high))

    return fake


def _offset(offset: int) -> Fake:
    return lambda reading: rows_of(reading.offset == offset)


def _classes(*names: str) -> Callable[[Reading], np.ndarray]:
    return lambda reading: reading.of(*names)


def _rarer(reading: Reading) -> np.ndarray:
    return rows_of(one_key(reading, reading.count[None, :] < reading.count[:, None], 1, reading.size))


def _by_class(reading: Reading) -> np.ndarray:
    """Look one word back from nouns, two ahead from determiners, and one ahead from all others."""
    step = np.where(reading.of(*NOUNS), -1, np.where(reading.of("DET", "ADP"), 2, 1))
    return rows_of(reading.offset == step[:, None])


def _phrases(reading: Reading) -> np.ndarray:
    """Look from determiners, adjectives and prepositions at the next noun, else at the nearest verb."""
    size = reading.size
    nouns = one_key(reading, np.broadcast_to(reading.of("NOUN", "PROPN"), (size, size)), 1, size)
    verbs = one_key(reading, np.broadcast_to(reading.of(*VERBS), (size, size)), -size, size)
    return rows_of(np.where(reading.of("DET", "ADJ", "ADP")[:, None], nouns, verbs))


def _halves(reading: Reading) -> np.ndarray:
    first = np.arange(reading.size) < reading.size / 2
    return rows_of(first[:, None] == first[None, :])


FAR = 10_000
FAKES: dict[str, Fake] = {
    "nouns nearby": _nearby(_classes(*NOUNS)),
    "verbs nearby": _nearby(_classes(*VERBS)),
    "nouns and verbs nearby": _nearby(_classes(*NOUNS, *VERBS)),
    "next noun": _one(_classes(*NOUNS), 1, FAR),
    "previous noun": _one(_classes(*NOUNS), -FAR, -1),
    "nearest noun": _one(_classes(*NOUNS), -FAR, FAR),
    "next noun or verb": _one(_classes(*NOUNS, *VERBS), 1, FAR),
    "nearest noun or verb": _one(_classes(*NOUNS, *VERBS), -FAR, FAR),
    "nearest verb": _one(_classes(*VERBS), -FAR, FAR),
    "previous verb": _one(_classes(*VERBS), -FAR, -1),
    "nearest content word": _one(_classes(*CONTENT), -FAR, FAR),
    "offset by word class": _by_class,
    "next noun from determiners, nearest verb from others": _phrases,
    "even on nouns": _even(_classes(*NOUNS)),
    "even on content words": _even(_classes(*CONTENT)),
    "rare words nearby": _nearby(lambda reading: reading.rare),
    "even on rare words": _even(lambda reading: reading.rare),
    "next rarer word": _rarer,
    "long words nearby": _nearby(lambda reading: reading.long),
    "previous word": _offset(-1),
    "next word": _offset(1),
    "decay": lambda reading: rows_of(decaying(reading)),
    "own half": _halves,
}
"""Heads that know no syntax, by what they do."""


def oracle(share: float, rest: Fake | None = None) -> Fake:
    """Return a head that puts a share of its attention on the head word, the rest evenly or as a fake."""

    def head(reading: Reading) -> np.ndarray:
        cells = np.zeros((reading.size, reading.size))
        dependent = np.flatnonzero(reading.heads >= 0)
        cells[dependent, reading.heads[dependent]] = 1.0
        other = np.full(cells.shape, 1 / len(cells)) if rest is None else rest(reading)
        there = cells.sum(axis=1, keepdims=True)
        weights: np.ndarray = share * cells + (1 - share * there) * other
        return weights

    return head


ORACLES: dict[str, Fake] = {
    "half on the head word": oracle(0.5),
    "a third on the head word": oracle(1 / 3),
    "a quarter on the head word, the rest on nouns and verbs nearby": oracle(
        0.25, FAKES["nouns and verbs nearby"]
    ),
}
"""Heads that know the head word."""
