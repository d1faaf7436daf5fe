"""Read word vectors from text files in the layout of GloVe."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Int

from headroles.errors import BadInput
from headroles.extraction.texts.files import open_text
from headroles.extraction.texts.lines import whole_number
from headroles.records.arrays import read_only


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Fixed word vectors.

    Attributes:
        places: Row of each word, words in lower case.
        table: The vectors.
    """

    places: dict[str, int]
    table: Float32[np.ndarray, "words size"]

    def __post_init__(self) -> None:
        """Make the table read-only."""
        object.__setattr__(self, "table", read_only(self.table))

    @property
    def size(self) -> int:
        """Return the number of dimensions of a vector."""
        return int(self.table.shape[1])

    def rows(self, words: Sequence[str]) -> Int[np.ndarray, " words"]:
        """Return the row of each word, looked up in lower case; the number of rows for an unknown word.

        Example:
            >>> vectors = Vectors({"a": 0, "cat": 1}, np.ones((2, 3), dtype=np.float32))
            >>> vectors.rows(("A", "cat", "purrs")).tolist()
            [0, 1, 2]
        """
        unknown = len(self.table)
        return np.array([self.places.get(word.lower(), unknown) for word in words], dtype=np.int64)


def read_vectors(path: Path, wanted: Collection[str] | None = None) -> Vectors:
    """Read ``word n1 n2 …`` lines, plain or gzipped; a first line ``count size`` is skipped.

    Words are lower-cased. Of several words that are then equal, the first is kept (files are ordered by the
    frequency of words).

    Args:
        path: The file.
        wanted: Words to keep, in lower case; None for all. The numbers of other words are counted, not read.

    Raises:
        BadInput: When a line has another number of columns, a cell is not a finite number, or the file has
            no vectors. The message names file, line and rule.
    """
    places: dict[str, int] = {}
    vectors: list[np.ndarray] = []
    size = words = 0
    with open_text(path) as text:
        for number, raw in enumerate(text, start=1):
            word, *cells = raw.rstrip("\r\n ").split(" ")
            if not word and not cells:
                continue
            if number == 1 and len(cells) == 1 and word.isdecimal() and cells[0].isdecimal():
                size = whole_number(cells[0]) or 0
                continue
            size, words = size or len(cells), words + 1
            if len(cells) != size or not size:
                raise BadInput(
                    f"{path}, line {number}: every word has as many numbers as the first line ({size}, "
                    f"at least 1), between single blanks, but got {len(cells)} after {word!r}"
                )
            name = word.lower()
            if name not in places and (wanted is None or name in wanted):
                places[name] = len(vectors)
                vectors.append(_numbers(cells, f"{path}, line {number}"))
    if not words:
        raise BadInput(
            f"a file of word vectors holds at least one word and its numbers, but '{path}' has none"
        )
    return Vectors(places, np.stack(vectors) if vectors else np.zeros((0, size), dtype=np.float32))


def _numbers(cells: list[str], place: str) -> Float32[np.ndarray, " size"]:
    try:
        with np.errstate(over="ignore"):
            numbers = np.array(cells, dtype=np.float64).astype(np.float32)
        if np.isfinite(numbers).all():
            return numbers
    except ValueError:
        pass
    wrong = next(cell for cell in cells if not _is_number(cell))
    raise BadInput(f"{place}: a word is followed by finite numbers such as 0.25, but got {wrong[:40]!r}")


def _is_number(cell: str) -> bool:
    try:
        return bool(abs(float(cell)) <= float(np.finfo(np.float32).max))
    except ValueError:
        return False
