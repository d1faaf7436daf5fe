"""Read documents from any file, and write them as JSON lines with gold or parsed dependency trees."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from headroles.errors import BadInput, UnknownName
from headroles.extraction.gold.read import PAIR, read_documents
from headroles.extraction.texts.files import file_format
from headroles.extraction.texts.lines import number_lines
from headroles.extraction.texts.rows import TABLE_ENDINGS
from headroles.extraction.texts.running_text import read_running_text
from headroles.extraction.texts.sources import stream_files
from headroles.records.documents import Document
from headroles.records.passage import Words

GOLD = ("conllu", "words")
LAYOUTS = (*GOLD, "table", "text")
"""Layouts of a file: gold trees in two forms, a table with columns of text, or running text."""


@dataclass(frozen=True, slots=True)
class PlainDocument:
    """A document without trees.

    Attributes:
        name: Name of the document, or of its group.
        paragraphs: Texts of the document; no sentence crosses from one to another.
    """

    name: str
    paragraphs: tuple[str, ...]


def layout_of(path: Path) -> str:
    """Return the layout of a file, from its ending, or from its first line for other endings.

    Raises:
        BadInput: When the file cannot be read.
    """
    kind = file_format(path)
    if kind == ".conllu":
        return "conllu"
    if kind in TABLE_ENDINGS:
        return "table"
    first = next((line for _, line in number_lines(path) if line.strip()), "")
    return "words" if PAIR.fullmatch(first.strip()) else "text"


def read_any(
    path: Path, layout: str | None, columns: Sequence[str], group: str | None
) -> Iterator[Document | PlainDocument]:
    """Read the documents of a file, with trees where it has them.

    Args:
        path: The file, ``.gz`` too.
        layout: One of ``LAYOUTS``; detected from the file where None.
        columns: Columns of the texts; needed for tables, and for tables only.
        group: Column of a table with the document of each row.

    Raises:
        UnknownName: For another layout.
        BadInput: When columns are named for a file that is no table, or none for a table. Also when the
            file cannot be used; the message names file, line and rule.
    """
    layout = layout or layout_of(path)
    if layout not in LAYOUTS:
        raise UnknownName("layout of a file to parse", layout, LAYOUTS)
    if layout != "table" and (columns or group):
        raise BadInput(
            f"--text-a, --text-b and --group name columns of a table, but '{path}' is read as {layout}; "
            f"leave them out, or give --layout table"
        )
    if layout in GOLD:
        yield from read_documents(path, "", layout)
    elif layout == "table":
        for passage in stream_files([path], columns, group, ""):
            yield PlainDocument(passage.group or passage.key.removeprefix("/"), passage.texts)
    else:
        for document in read_running_text(path):
            yield PlainDocument(document.name, document.paragraphs)


def gold_row(document: Document) -> dict[str, Any]:
    """Return a document with gold trees as a JSON row, without characters outside of words.

    Words keep their heads, relations, tags, features and mentions. The text is that of the words: a
    multi-word token with another spelling is written as its words.
    """
    text_is_word = [
        document.text[start:stop] == word
        for word, (start, stop) in zip(document.words, document.spans.tolist(), strict=True)
    ]
    whole = np.array([*text_is_word, True])
    apart = np.append(document.spans[1:, 0] > document.spans[:-1, 1], False)
    lengths = np.diff([*document.sentences.tolist(), len(document.words)])
    row: dict[str, Any] = {
        "document": (document.group or document.key).removeprefix("/"),
        "words": list(document.words),
        "sentences": lengths.tolist(),
        "spaces": (apart | ~(whole[:-1] & whole[1:])).tolist(),
    }
    if document.heads is not None and document.relations is not None:
        row["heads"] = _heads_in_sentences(document.heads, document.sentences)
        row["relations"] = list(document.relations)
    for name in ("tags", "features"):
        values = getattr(document, name)
        row |= {} if values is None else {name: list(values)}
    if document.mentions is not None:
        entities: dict[str, list[list[int]]] = {}
        for mention in document.mentions:
            entities.setdefault(mention.entity, []).append([mention.start, mention.stop])
        row["clusters"] = list(entities.values())
    return row | {"trees": "gold"}


def parsed_row(document: PlainDocument, words: Sequence[Words], parser: str) -> dict[str, Any] | None:
    """Return a parsed document as a JSON row marked as parsed; None where it has no word.

    Args:
        document: The document.
        words: Words of each paragraph.
        parser: Name and version of the parser.
    """
    all_words: list[str] = []
    spaces: list[bool] = []
    heads: list[int] = []
    relations: list[str] = []
    lengths: list[int] = []
    for text, text_words in zip(document.paragraphs, words, strict=True):
        if not len(text_words.heads):
            continue
        tree, firsts = split_trees(text_words.heads)
        all_words += [text[start:stop] for start, stop in text_words.spans.tolist()]
        spaces += [*(text_words.spans[1:, 0] > text_words.spans[:-1, 1]).tolist(), True]
        heads += _heads_in_sentences(tree, firsts)
        relations += [
            "root" if head < 0 else "dep" if before < 0 else relation
            for head, before, relation in zip(
                tree.tolist(), text_words.heads.tolist(), text_words.relations, strict=True
            )
        ]
        lengths += np.diff([*firsts.tolist(), len(tree)]).tolist()
    if not all_words:
        return None
    row = {"document": document.name, "words": all_words, "sentences": lengths, "spaces": spaces}
    return row | {"heads": heads, "relations": relations, "trees": "automatic", "parser": parser}


def split_trees(
    heads: Int[np.ndarray, " words"],
) -> tuple[Int[np.ndarray, " words"], Int[np.ndarray, " sentences"]]:
    """Cut a parsed text into sentences with one tree each.

    A sentence ends where no arc crosses. Words made of blanks can make trees interleave: then the first
    root is the root, and later roots depend on it.

    Args:
        heads: Head of each word in the text; −1 for roots.

    Returns:
        The heads, with one root per sentence, and the first word of each sentence.

    Example:
        >>> heads, firsts = split_trees(np.array([1, -1, 1, 4, -1, -1, 3]))
        >>> heads.tolist(), firsts.tolist()
        ([1, -1, 1, 4, -1, 4, 3], [0, 3])
    """
    words = np.arange(len(heads))
    head_or_self = np.where(heads < 0, words, heads)
    reach = np.maximum.accumulate(np.maximum(words, head_or_self))
    back = np.minimum.accumulate(np.minimum(words, head_or_self)[::-1])[::-1]
    starts = np.flatnonzero(np.append(True, (reach[:-1] < words[1:]) & (back[1:] > words[:-1])))
    sentence = np.searchsorted(starts, words, side="right") - 1
    roots = words[heads < 0]
    first = roots[np.unique(sentence[roots], return_index=True)[1]]
    whole: np.ndarray = np.where(heads < 0, first[sentence], heads)
    whole[first] = -1
    return whole.astype(np.int32), starts.astype(np.int32)


def _heads_in_sentences(heads: Int[np.ndarray, " words"], firsts: Int[np.ndarray, " sentences"]) -> list[int]:
    """Return heads numbered from 1 within their sentences, 0 for roots."""
    words = np.arange(len(heads))
    start = firsts[np.searchsorted(firsts, words, side="right") - 1]
    numbers: list[int] = np.where(heads < 0, 0, heads - start + 1).tolist()
    return numbers
