"""Fake heads that know positions, marks or separators and no texts, and oracles that know texts.

Each is a function of an example that returns attention (tokens, tokens) whose rows sum to 1. A row without a
key to look at looks at itself.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.example import Example
from headroles.sieves.built_in.punctuation import mark_keys

Cells = Float[np.ndarray, "tokens tokens"]
Fake = Callable[[Example], Cells]
ENDS = ".?!"


def _rows(cells: np.ndarray) -> Cells:
    """Scale rows to sum 1; a row of zeros looks at itself."""
    total = cells.sum(axis=1, keepdims=True)
    rows: np.ndarray = np.where(total > 0, cells / np.where(total > 0, total, 1), np.eye(len(cells)))
    return rows


def _by_places(cells: Callable[[np.ndarray, np.ndarray, int], np.ndarray]) -> Fake:
    """Make a fake of a function of query, key and length."""

    def fake(example: Example) -> Cells:
        place, n = np.arange(example.size), example.size
        return _rows(np.broadcast_to(cells(place[:, None], place[None, :], n), (n, n)).astype(np.float64))

    return fake


def _halves(scale: float) -> Fake:
    """Look left in the first half of positions and right in the second, decaying with distance."""
    return _by_places(
        lambda query, key, n: (
            np.where(query < n / 2, key < query, key > query) * np.exp(-abs(key - query) / scale)
        )
    )


def _offset(step: int) -> Fake:
    """Look ``step`` tokens back; rows that cannot are even."""
    return _by_places(lambda query, key, n: (query - key == step) | (query < step))


POSITIONS: Mapping[str, Fake] = MappingProxyType(
    {
        "first 13 positions and the rest": _by_places(lambda query, key, n: (query < 13) == (key < 13)),
        "first half of positions and second": _by_places(
            lambda query, key, n: (query < n / 2) == (key < n / 2)
        ),
        "first 12 look left, later right": _by_places(
            lambda query, key, n: np.where(query < 12, key < query, key > query)
        ),
        "halves look left and right": _halves(np.inf),
        "halves look left and right, decay 8": _halves(8),
        "halves look left and right, decay 3": _halves(3),
        "narrow window early, wide late": _by_places(
            lambda query, key, n: abs(key - query) <= np.where(query < n / 2, 2, 10)
        ),
        "window grows with the query": _by_places(lambda query, key, n: abs(key - query) <= 1 + query / 2),
        "two back, even first rows": _offset(2),
        "three back, even first rows": _offset(3),
        "decay 4": _by_places(lambda query, key, n: np.exp(-abs(key - query) / 4)),
        "decay 15": _by_places(lambda query, key, n: np.exp(-abs(key - query) / 15)),
        "window of 5": _by_places(lambda query, key, n: abs(key - query) <= 5),
        "previous 5": _by_places(lambda query, key, n: (query - key > 0) & (query - key <= 5)),
        "itself": _by_places(lambda query, key, n: query == key),
        "late positions": _by_places(
            lambda query, key, n: np.where(key >= 2 * n // 3, 1.0, 0.02) + 0 * query
        ),
        "even": _by_places(lambda query, key, n: 0 * query * key + 1),
    }
)
"""Seventeen heads that are functions of query, key and length alone."""


def _next(wanted: str) -> Fake:
    """Look at the next mark behind the query."""

    def fake(example: Example) -> Cells:
        marks = mark_keys(example, wanted) & (example.segment >= 0)
        place = np.arange(example.size)
        later = marks[None, :] & (place[None, :] > place[:, None])
        cells = np.zeros(later.shape)
        cells[place, later.argmax(axis=1)] = later.any(axis=1)
        return _rows(cells)

    return fake


def _before_next_end(example: Example) -> Cells:
    """Look at the word before the next end of a sentence."""
    ends = mark_keys(example, ENDS) & (example.segment >= 0)
    place = np.arange(example.size)
    later = np.append(ends[1:], False)[None, :] & (place[None, :] > place[:, None])
    cells = np.zeros(later.shape)
    cells[place, later.argmax(axis=1)] = later.any(axis=1)
    return _rows(cells)


def _stretch(example: Example) -> Cells:
    """Look at all tokens between the same two ends of sentences."""
    number = np.cumsum(np.append(False, mark_keys(example, ENDS)[:-1]))
    return _rows((number[:, None] == number[None, :]).astype(np.float64))


PUNCTUATION: Mapping[str, Fake] = MappingProxyType({"next . ? or !": _next(ENDS), "next mark": _next("all")})
"""Heads that look for marks alone: no token of theirs counts."""

SENTENCES: Mapping[str, Fake] = MappingProxyType(
    {"word before the next end": _before_next_end, "same sentence by its end": _stretch}
)
"""Heads that infer sentences from marks: the swap does not tell them from heads of texts."""


def _own(share: float) -> Fake:
    """Spread a share of attention over the own text, and the rest over everything."""

    def fake(example: Example) -> Cells:
        text = example.segment
        own: Bool[np.ndarray, "tokens tokens"] = (text[:, None] == text[None, :]) & (text >= 0)[:, None]
        rows: np.ndarray = share * _rows(own.astype(np.float64)) + (1 - share) / example.size
        return rows

    return fake


ORACLES: Mapping[str, Fake] = MappingProxyType({"own text": _own(1.0), "half own text": _own(0.5)})
"""Heads that know the texts."""
