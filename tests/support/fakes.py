"""Heads that fake a role, heads that hold one, and the layouts of real pairs that they are tried on."""

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np

from headroles import Example

Fake = Callable[[Example], np.ndarray]
Places = Callable[[np.ndarray, np.ndarray, int], np.ndarray]


def read_layouts(task: str, file: Path, count: int) -> list[Example]:
    """Return the first pairs of a task's table as examples."""
    from transformers import AutoTokenizer

    from headroles.extraction import find_checkpoint
    from headroles.tasks import TASKS

    with file.open(encoding="utf-8") as lines:
        table = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        texts = [[row[name] for name in TASKS[task].columns] for row in table][:count]
    tokenizer = AutoTokenizer.from_pretrained(find_checkpoint(None, None).target)
    encoded = tokenizer(*map(list, zip(*texts, strict=True)))
    examples = []
    for number, ids in enumerate(encoded["input_ids"]):
        segment = np.array([-1 if part is None else part for part in encoded.sequence_ids(number)])
        tokens = tuple(tokenizer.convert_ids_to_tokens(ids))
        examples.append(Example(f"{task}/{number}", tokens, segment=segment))
    return examples


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


POSITIONS: dict[str, Fake] = {
    "first 13 positions and the rest": _by_places(lambda i, j, n: (i < 13) == (j < 13)),
    "first half of positions and second": _by_places(lambda i, j, n: (i < n / 2) == (j < n / 2)),
    "halves look left and right": _by_places(lambda i, j, n: np.where(i < n / 2, j < i, j > i)),
    "halves look left and right, decay 3": _by_places(
        lambda i, j, n: np.where(i < n / 2, j < i, j > i) * np.exp(-abs(j - i) / 3)
    ),
    "narrow window early, wide late": _by_places(lambda i, j, n: abs(j - i) <= np.where(i < n / 2, 2, 10)),
    "two back, even first rows": _by_places(lambda i, j, n: (i - j == 2) | (i < 2)),
    "decay 4": _by_places(lambda i, j, n: np.exp(-abs(j - i) / 4)),
    "late positions": _by_places(lambda i, j, n: np.where(j >= 2 * n // 3, 1.0, 0.02) + 0 * i),
    "even": _by_places(lambda i, j, n: 0 * i * j + 1),
}
"""Heads that are functions of query, key and length alone."""


def _next_mark(example: Example) -> np.ndarray:
    """Look at the next mark of the texts."""
    marks = np.array([token in tuple(".?!,:-\"'()") for token in example.tokens]) & (example.segment >= 0)
    later = np.triu(np.broadcast_to(marks, (example.size, example.size)), 1)
    cells = np.zeros(later.shape)
    cells[np.arange(example.size), later.argmax(axis=1)] = later.any(axis=1)
    return _rows(cells)


def own_text(share: float) -> Fake:
    """Return a head that spreads a share of attention over the own text, and the rest over everything."""

    def fake(example: Example) -> np.ndarray:
        text = example.segment
        own = (text[:, None] == text[None, :]) & (text >= 0)[:, None]
        rows: np.ndarray = share * _rows(own.astype(np.float64)) + (1 - share) / example.size
        return rows

    return fake


PUNCTUATION: dict[str, Fake] = {"next mark": _next_mark}
TEXTS: dict[str, Fake] = {"own text": own_text(1.0), "half own text": own_text(0.5)}
"""Heads that know the texts."""
WH = ("what", "which", "who", "whom", "whose", "when", "where", "why", "how")


def by_words(weigh: Callable[[list[str]], list[float]], look: str = "everywhere") -> Fake:
    """Make a head that looks at words by weight, at the "latest" of them, or at all words "since" it."""

    def fake(example: Example) -> np.ndarray:
        inside = zip(example.tokens, example.segment >= 0, strict=True)
        words = [token if there and token.strip("#").isalnum() else "" for token, there in inside]
        weights = np.array(weigh(words), dtype=np.float64)
        hour = np.cumsum(weights > 0)
        since = np.equal.outer(hour, hour) & (hour > 0)[:, None] & (example.segment >= 0)
        cells = 1.0 * since if look == "since" else weights * (since | (look == "everywhere"))
        return _rows(cells)

    return fake


def by_copies(place: int, look: str) -> Fake:
    """Make a head that looks for copies of a word of the input, the first or a later one."""
    return by_words(
        lambda words: [word in [each for each in words if each][place:][:1] for word in words], look
    )


CLOCKS: dict[str, Fake] = {
    "previous wh-word": by_words(lambda words: [word.lower() in WH for word in words], "latest"),
    "previous copy of the input's first token": by_copies(0, "latest"),
    "previous copy of the input's second token": by_copies(1, "latest"),
}
"""Heads that look for words that often open a text."""
KEYS: dict[str, Fake] = {
    "frequent tokens": by_words(lambda words: [words.count(word) ** 4 * (word != "") for word in words]),
    "always the": by_words(lambda words: [word.lower() == "the" for word in words]),
}
"""Heads that know keys alone."""


def equal_words(example: Example) -> np.ndarray:
    """Look at all other tokens of the texts that are the same."""
    numbers = np.unique(example.tokens, return_inverse=True)[1]
    cells = np.equal.outer(numbers, numbers) & (example.segment >= 0) & ~np.eye(example.size, dtype=np.bool_)
    return _rows(cells.astype(np.float64))
