"""Read documents with gold annotation from a file of any known layout."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from headroles.errors import BadInput, UnknownName
from headroles.extraction.gold.conll2012 import BEGIN, read_conll2012
from headroles.extraction.gold.jsonlines import document_of, read_jsonlines
from headroles.extraction.gold.pronouns import BRACKETED, LINE, read_gap, read_winobias
from headroles.extraction.gold.treebank import read_treebank
from headroles.extraction.gold.word_columns import read_words
from headroles.extraction.texts.files import file_format
from headroles.extraction.texts.lines import number_lines
from headroles.extraction.texts.rows import object_rows
from headroles.records.documents import Document
from headroles.records.objects import DataObject

READERS: dict[str, Callable[[Path, str], list[Document]]] = {
    "conllu": read_treebank,
    "words": read_words,
    "conll2012": read_conll2012,
    "gap": read_gap,
    "winobias": read_winobias,
    "jsonl": read_jsonlines,
}
LAYOUTS = tuple(READERS)
"""Names of the layouts that can be read."""

ENDINGS = {".conllu": "conllu", ".json": "jsonl", ".jsonl": "jsonl", ".conll": "conll2012"}
PAIR = re.compile(r"\S+\s+\d+-\S+")


def read_documents(path: Path, name: str, layout: str | None = None) -> list[Document]:
    """Return the documents of a file, gzipped (``.gz``) or not, with distinct keys.

    Args:
        path: The file.
        name: First part of the keys.
        layout: One of ``LAYOUTS``. None to recognise it by the file's ending or its first lines:
            ``.conllu``, ``.json``, ``.jsonl``, ``.conll`` or a line ``#begin document``, GAP's header, a
            number and a sentence with two mentions in square brackets, a word and its head as in
            ``cat 3-nsubj``.

    Raises:
        UnknownName: For another layout.
        BadInput: When the layout is not recognised, and for any line that breaks its rules, naming file,
            line and rule.
    """
    if layout is None:
        layout = layout_of(path)
    else:
        check_layout(layout)
    return list(_with_distinct_keys(READERS[layout](path, name)))


def check_layout(layout: str) -> None:
    """Refuse a layout that cannot be read.

    Raises:
        UnknownName: When there is none of that name.
    """
    if layout not in READERS:
        raise UnknownName("layout of gold annotation", layout, LAYOUTS)


def object_documents(data: DataObject, name: str) -> list[Document]:
    """Return the documents of dictionaries, each with the fields that ``read_jsonlines`` describes.

    Args:
        data: A list of dictionaries, or a table with these columns; a field without a value is left out.
        name: First part of the keys.

    Raises:
        BadInput: For any row that breaks a rule, naming the row.
    """
    return list(
        _with_distinct_keys(
            document_of(row, f"{name}/{row.get('document', number)}", data.name, number + 1)
            for number, row in enumerate(object_rows(data))
        )
    )


def layout_of(path: Path) -> str:
    """Return the layout of a file, by its ending or its first lines.

    Raises:
        BadInput: When neither shows a layout, or the file cannot be read.
    """
    ending = ENDINGS.get(file_format(path))
    if ending is not None:
        return ending
    for _, line in number_lines(path):
        text = line.strip()
        if BEGIN.fullmatch(text):
            return "conll2012"
        if text and not text.startswith("#"):
            layout = _layout_of_line(line)
            if layout is not None:
                return layout
            break
    raise BadInput(
        f"the layout of gold annotation is recognised by a file's ending or first lines, but those of "
        f"'{path}' show none; name it: {', '.join(LAYOUTS)}"
    )


def _layout_of_line(line: str) -> str | None:
    """Return the layout that the first line without a comment shows; None for no known one."""
    cells = line.split("\t")
    if {"Pronoun", "Pronoun-offset"} <= set(cells):
        return "gap"
    if line.lstrip().startswith(("{", "[{")):
        return "jsonl"
    if len(cells) == 10 and cells[0].split("-")[0] == "1":
        return "conllu"
    if LINE.fullmatch(line.rstrip()) and BRACKETED.search(line):
        return "winobias"
    return "words" if PAIR.fullmatch(line.strip()) else None


def _with_distinct_keys(documents: Iterable[Document]) -> Iterable[Document]:
    """Yield the documents; second and later ones of one key get a distinct key and a common group."""
    counts: Counter[str] = Counter()
    for document in documents:
        counts[document.key] += 1
        times = counts[document.key]
        if times > 1:
            yield replace(document, key=f"{document.key} ({times})", group=document.group or document.key)
        else:
            yield document
