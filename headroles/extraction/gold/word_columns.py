"""Read sentences in the format of the code of Clark et al. (2019): a word, a blank, its head and relation."""

from pathlib import Path

import numpy as np

from headroles.errors import BadInput
from headroles.extraction.texts.lines import join_words, number_lines, whole_number
from headroles.extraction.texts.trees import check_tree
from headroles.records.documents import Document

Row = tuple[int, str, int, str]


def read_words(path: Path, name: str) -> list[Document]:
    """Return one document per sentence of ``word head-relation`` lines, blank lines between sentences.

    Heads are numbers of words from 1, 0 for the root, as in ``0-root``; a relation may hold hyphens.
    The text is the words with a blank between each two, also before punctuation.

    Raises:
        BadInput: Naming file, line and rule.
    """
    documents: list[Document] = []
    rows: list[Row] = []
    for number, line in number_lines(path):
        if line.strip():
            rows.append(_row(line, path, number))
        elif rows:
            documents.append(_document(rows, path, f"{name}/{len(documents)}"))
            rows = []
    if rows:
        documents.append(_document(rows, path, f"{name}/{len(documents)}"))
    return documents


def _row(line: str, path: Path, number: int) -> Row:
    cells = line.split()
    digits, hyphen, relation = cells[-1].partition("-")
    head = whole_number(digits)
    if len(cells) != 2 or head is None or not hyphen or not relation:
        raise BadInput(
            f"{path}, line {number}: a line is a word, a blank, the number of its head (0 for the root), a "
            f"hyphen and the relation, as in 'cat 3-nsubj', but got {line.strip()!r:.80}"
        )
    return number, cells[0], head - 1, relation


def _document(rows: list[Row], path: Path, key: str) -> Document:
    lines, words, heads, relations = zip(*rows, strict=True)
    check_tree(heads, path, lines)
    text, spans = join_words(words)
    return Document(
        key=key,
        text=text,
        spans=spans,
        words=words,
        sentences=np.zeros(1, dtype=np.int32),
        heads=np.array(heads, dtype=np.int32),
        relations=relations,
    )
