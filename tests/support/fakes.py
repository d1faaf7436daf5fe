"""Heads that fake a role, heads that hold one, and the layouts of real pairs that they are tried on.

A fake of tokens is a function of an example, a fake of words one of a ``Reading``; both return attention
whose rows sum to 1. Fakes know positions, marks, word classes and frequencies, but neither texts nor trees.
"""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from headroles import Example

Fake = Callable[[Example], np.ndarray]
Places = Callable[[np.ndarray, np.ndarray, int], np.ndarray]


def read_layouts(task: str, file: Path, count: int) -> tuple[list[Example], list[tuple[int, int]]]:
    """Return the first pairs of a task's table as examples with partners, and the places of partners."""
    from transformers import AutoTokenizer

    from headroles.extraction import find_checkpoint
    from headroles.tasks import TASKS

    with file.open(encoding="utf-8") as lines:
        table = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        texts = [[row[name] for name in TASKS[task].columns] for row in table][:count]
    tokenizer = AutoTokenizer.from_pretrained(find_checkpoint(None, None).target)
    encoded = tokenizer(*map(list, zip(*texts, strict=True)))
    examples, pairs, waiting = [], [], dict[tuple[int, int], int]()
    for number, ids in enumerate(encoded["input_ids"]):
        segment = np.array([-1 if part is None else part for part in encoded.sequence_ids(number)])
        tokens = tuple(tokenizer.convert_ids_to_tokens(ids))
        examples.append(Example(f"{task}/{number}", tokens, segment=segment))
        size, border = len(tokens), int((segment == 0).sum())
        other = next((key for key in waiting if key[0] == size and abs(key[1] - border) >= 3), None)
        if other is None:
            waiting[size, border] = number
        else:
            pairs.append((waiting.pop(other), number))
    for one, two in pairs:
        first, second = examples[one], examples[two]
        examples[one], examples[two] = replace(first, partner=second), replace(second, partner=first)
    return examples, pairs


def _rows(cells: np.ndarray) -> np.ndarray:
    """Scale rows to sum 1; a row of zeros looks at itself."""
    total = cells.sum(axis=1, keepdims=True)
    rows: np.ndarray = np.where(total > 0, cells / np.where(total > 0, total, 1), np.eye(len(cells)))
    return rows


def _by_places(cells: Places) -> Fake:
    """Make a fake of a function of query, key and length."""

    def fake(example: Example) -> np.ndarray:
        place, n = np.arange(example.size), example.size
        return _rows(np.broadcast_to(cells(place[:, None], place[None, :], n), (n, n)).astype(np.float64))

    return fake


def _halves(scale: float) -> Fake:
    """Look left in the first half of positions and right in the second, decaying with distance."""
    return _by_places(lambda i, j, n: np.where(i < n / 2, j < i, j > i) * np.exp(-abs(j - i) / scale))


def _back(step: int) -> Fake:
    """Look some tokens back; rows that cannot are even."""
    return _by_places(lambda i, j, n: (i - j == step) | (i < step))


POSITIONS: dict[str, Fake] = {
    "first 13 positions and the rest": _by_places(lambda i, j, n: (i < 13) == (j < 13)),
    "first half of positions and second": _by_places(lambda i, j, n: (i < n / 2) == (j < n / 2)),
    "first 12 look left, later right": _by_places(lambda i, j, n: np.where(i < 12, j < i, j > i)),
    "halves look left and right": _halves(np.inf),
    "halves look left and right, decay 8": _halves(8),
    "halves look left and right, decay 3": _halves(3),
    "narrow window early, wide late": _by_places(lambda i, j, n: abs(j - i) <= np.where(i < n / 2, 2, 10)),
    "window grows with the query": _by_places(lambda i, j, n: abs(j - i) <= 1 + i / 2),
    "two back, even first rows": _back(2),
    "three back, even first rows": _back(3),
    "decay 4": _by_places(lambda i, j, n: np.exp(-abs(j - i) / 4)),
    "decay 15": _by_places(lambda i, j, n: np.exp(-abs(j - i) / 15)),
    "window of 5": _by_places(lambda i, j, n: abs(j - i) <= 5),
    "previous 5": _by_places(lambda i, j, n: (i - j > 0) & (i - j <= 5)),
    "itself": _by_places(lambda i, j, n: i == j),
    "late positions": _by_places(lambda i, j, n: np.where(j >= 2 * n // 3, 1.0, 0.02) + 0 * i),
    "even": _by_places(lambda i, j, n: 0 * i * j + 1),
}
"""Seventeen heads that are functions of query, key and length alone."""


def _marks(example: Example, wanted: str) -> np.ndarray:
    """Return the tokens of texts that are one of some marks."""
    return np.array([token in tuple(wanted) for token in example.tokens]) & (example.segment >= 0)


def _at_next(marks: str, before: int = 0) -> Fake:
    """Look at the next of some marks, or at a token before it."""

    def fake(example: Example) -> np.ndarray:
        place = np.arange(example.size)
        keys = np.append(_marks(example, marks)[before:], np.zeros(before, dtype=np.bool_))
        later = keys[None, :] & (place[None, :] > place[:, None])
        cells = np.zeros(later.shape)
        cells[place, later.argmax(axis=1)] = later.any(axis=1)
        return _rows(cells)

    return fake


def _same_stretch(example: Example) -> np.ndarray:
    """Look at all tokens between the same two ends of sentences."""
    number = np.cumsum(np.append(False, _marks(example, ".?!")[:-1]))
    return _rows((number[:, None] == number[None, :]).astype(np.float64))


def own_text(share: float) -> Fake:
    """Return a head that spreads a share of attention over the own text, and the rest over everything."""

    def fake(example: Example) -> np.ndarray:
        text = example.segment
        own = (text[:, None] == text[None, :]) & (text >= 0)[:, None]
        rows: np.ndarray = share * _rows(own.astype(np.float64)) + (1 - share) / example.size
        return rows

    return fake


PUNCTUATION: dict[str, Fake] = {"next . ? or !": _at_next(".?!"), "next mark": _at_next(".?!,:-\"'()")}
SENTENCES: dict[str, Fake] = {"word before the next end": _at_next(".?!", 1), "same sentence": _same_stretch}
"""Heads that infer sentences from marks: the swap does not tell them from heads of texts."""
TEXTS: dict[str, Fake] = {"own text": own_text(1.0), "half own text": own_text(0.5)}
"""Heads that know the texts."""


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The words of one input: forms, word classes, head of each (−1 for none), and how often it occurs."""

    forms: tuple[str, ...]
    upos: tuple[str, ...]
    heads: np.ndarray
    count: np.ndarray

    @property
    def offset(self) -> np.ndarray:
        """Return key − query of every pair."""
        place = np.arange(len(self.forms))
        return place[None, :] - place[:, None]

    @property
    def late(self) -> np.ndarray:
        """Return which words stand in the second half."""
        return np.arange(len(self.forms)) >= len(self.forms) / 2

    def of(self, classes: Sequence[str]) -> np.ndarray:
        """Return which words belong to one of some classes."""
        return np.isin(self.upos, classes)


WordFake = Callable[[Reading], np.ndarray]
Chosen = Callable[[Reading], np.ndarray]
NOUNS, VERBS, CONTENT = ("NOUN", "PROPN", "PRON"), ("VERB", "AUX"), ("NOUN", "PROPN", "VERB", "ADJ", "ADV")


def rows_of(weight: np.ndarray) -> np.ndarray:
    """Return rows that sum to 1, without the word itself; even rows where nothing has weight."""
    own = np.array(weight, dtype=np.float64)
    np.fill_diagonal(own, 0.0)
    total = own.sum(axis=1, keepdims=True)
    return np.where(total > 0, own / np.where(total > 0, total, 1.0), 1 / len(own))


def _one(reading: Reading, allowed: np.ndarray, side: int) -> np.ndarray:
    """Return 1 on the nearest allowed key after each query (1), before it (−1) or on either side (0)."""
    offset, far = reading.offset, 10.0 * len(reading.forms)
    inside = allowed & (offset != 0) & (offset * side >= 0)
    distance = np.where(inside, np.abs(offset) - 0.1 * (offset > 0), far)
    cells = np.zeros(offset.shape)
    there = distance.min(axis=1) < far
    cells[there, distance.argmin(axis=1)[there]] = 1.0
    return cells


def _nearby(chosen: Chosen) -> WordFake:
    return lambda reading: rows_of(np.exp(-np.abs(reading.offset) / 3.0) * chosen(reading)[None, :])


def _even(chosen: Chosen) -> WordFake:
    return lambda reading: rows_of(chosen(reading) + 0 * reading.offset)


def _at(classes: Sequence[str], side: int) -> WordFake:
    return lambda reading: rows_of(_one(reading, reading.of(classes), side))


def _by_class(reading: Reading) -> np.ndarray:
    """Look one word back from nouns, two ahead from determiners, and one ahead from all others."""
    step = np.where(reading.of(NOUNS), -1, np.where(reading.of(("DET", "ADP")), 2, 1))
    return rows_of(reading.offset == step[:, None])


def _phrases(reading: Reading) -> np.ndarray:
    """Look from determiners, adjectives and prepositions at the next noun, else at the nearest verb."""
    nouns, verbs = (_one(reading, reading.of(kind), side) for kind, side in ((NOUNS[:2], 1), (VERBS, 0)))
    return rows_of(np.where(reading.of(("DET", "ADJ", "ADP"))[:, None], nouns, verbs))


WORDS: dict[str, WordFake] = {
    "nouns nearby": _nearby(lambda reading: reading.of(NOUNS)),
    "verbs nearby": _nearby(lambda reading: reading.of(VERBS)),
    "nouns and verbs nearby": _nearby(lambda reading: reading.of(NOUNS + VERBS)),
    **{f"{what} noun": _at(NOUNS, side) for what, side in (("next", 1), ("previous", -1), ("nearest", 0))},
    **{f"{what} noun or verb": _at(NOUNS + VERBS, side) for what, side in (("next", 1), ("nearest", 0))},
    **{f"{what} verb": _at(VERBS, side) for what, side in (("previous", -1), ("nearest", 0))},
    "nearest content word": _at(CONTENT, 0),
    "offset by word class": _by_class,
    "next noun from determiners, nearest verb from others": _phrases,
    "even on nouns": _even(lambda reading: reading.of(NOUNS)),
    "even on content words": _even(lambda reading: reading.of(CONTENT)),
    "rare words nearby": _nearby(lambda reading: reading.count <= 3),
    "even on rare words": _even(lambda reading: reading.count <= 3),
    "next rarer word": lambda reading: rows_of(
        _one(reading, reading.count[None, :] < reading.count[:, None], 1)
    ),
    "long words nearby": _nearby(lambda reading: np.array([len(form) >= 6 for form in reading.forms])),
    "previous word": lambda reading: rows_of(reading.offset == -1),
    "next word": lambda reading: rows_of(reading.offset == 1),
    "decay": lambda reading: rows_of(np.exp(-np.abs(reading.offset) / 3.0)),
    "own half": lambda reading: rows_of(reading.late[:, None] == reading.late),
}
"""Heads that know no syntax, by what they do."""


def _head_words(share: float, rest: WordFake | None = None) -> WordFake:
    """Return a head that puts a share of its attention on the head word, the rest evenly or as a fake."""

    def head(reading: Reading) -> np.ndarray:
        cells = np.zeros(reading.offset.shape)
        dependent = np.flatnonzero(reading.heads >= 0)
        cells[dependent, reading.heads[dependent]] = 1.0
        other = np.full(cells.shape, 1 / len(cells)) if rest is None else rest(reading)
        weights: np.ndarray = share * cells + (1 - share * cells.sum(axis=1, keepdims=True)) * other
        return weights

    return head


SYNTAX: dict[str, WordFake] = {
    "half on the head word": _head_words(0.5),
    "a third on the head word": _head_words(1 / 3),
    "a quarter on the head word, the rest on nouns and verbs nearby": _head_words(
        0.25, WORDS["nouns and verbs nearby"]
    ),
}
"""Heads that know the head word."""
