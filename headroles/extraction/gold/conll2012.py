"""Read coreference in columns as in CoNLL-2012, also in OntoGUM's three columns and LitBank's empty cells."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from headroles.errors import BadInput
from headroles.extraction.gold.brackets import BracketReader
from headroles.extraction.texts.lines import join_words, number_lines, sentence_starts, whole_number
from headroles.records.documents import Document

BEGIN = re.compile(r"#\s*begin document\b\s*(?P<name>.*)")
END = re.compile(r"#\s*end document\b.*")
PART = re.compile(r"\((?P<name>.*)\)(?:\s*;\s*part\s+(?P<part>\d+))?\s*;?")
NONE = ("", "-", "_")
FEW, MANY = 3, 11


@dataclass(slots=True)
class _OpenDocument:
    """A document while its lines are read."""

    name: str
    line: int
    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    brackets: BracketReader = field(default_factory=BracketReader)
    width: int = 0


def read_conll2012(path: Path, name: str) -> list[Document]:
    """Return one document per ``#begin document (NAME); part 000``, or ``# begin document NAME``.

    Lines have at least eleven cells between tabs or blanks: the word is the fourth, its part of speech
    the fifth (``-`` or ``_`` for none), coreference the last (``-``, ``_`` or, after a tab, nothing at
    all for none). Or they have three cells between tabs: number, word, coreference. Blank lines separate
    sentences. The text is the words with a blank between each two, also before punctuation. Parts of one
    document are documents of their own in one group.

    Raises:
        BadInput: Naming file, line and rule.
    """
    documents: list[Document] = []
    current: _OpenDocument | None = None
    for number, line in number_lines(path):
        begin = BEGIN.fullmatch(line.strip())
        if begin or END.fullmatch(line.strip()):
            documents += [] if current is None else [_document(current, path, name)]
            title = begin["name"].strip() if begin else ""
            current = _OpenDocument(title or f"document {len(documents) + 1}", number) if begin else None
        elif not line.strip():
            if current is not None:
                current.width = 0
        elif not line.startswith("#"):
            if current is None:
                raise BadInput(
                    f"{path}, line {number}: words must lie between '#begin document (NAME); part 000' "
                    "and '#end document', but this line does not; add the line that begins the document"
                )
            _add_line(current, line, f"{path}, line {number}")
    documents += [] if current is None else [_document(current, path, name)]
    if not documents:
        raise BadInput(f"a CoNLL-2012 file holds at least one document, but '{path}' has none")
    return documents


def _add_line(document: _OpenDocument, line: str, place: str) -> None:
    cells = line.split("\t") if "\t" in line else line.split()
    width = len(cells)
    if width != FEW and width < MANY:
        raise BadInput(
            f"{place}: a line has {FEW} cells between tabs (number, word, coreference) or at least {MANY} "
            f"(coreference last), but got {width}"
        )
    if document.width and width != document.width:
        raise BadInput(
            f"{place}: lines of one sentence have equally many cells, here {document.width}, but got {width}"
        )
    if not document.width:
        document.lengths.append(0)
        document.width = width
    word, tag = (cells[1], "") if width == FEW else (cells[3], cells[4])
    if not word.strip():
        raise BadInput(f"{place}: a word has letters, but this one is blank")
    at = len(document.words)
    if cells[-1] not in NONE:
        document.brackets.read(cells[-1], at, at + 1, place)
    document.words.append(word)
    document.tags.append("" if tag in NONE else tag)
    document.lengths[-1] += 1


def _document(document: _OpenDocument, path: Path, name: str) -> Document:
    if not document.words:
        raise BadInput(
            f"{path}, line {document.line}: a document holds at least one word, "
            f"but {document.name!r} has none"
        )
    numbered = PART.fullmatch(document.name)
    title, part = (
        (numbered["name"], whole_number(numbered["part"] or "0")) if numbered else (document.name, 0)
    )
    if part is None:
        raise BadInput(
            f"{path}, line {document.line}: the part of a document is a number such as 000, but got one of "
            f"{len(document.name) - len(title)} characters"
        )
    group = f"{name}/{title}"
    text, spans = join_words(document.words)
    return Document(
        key=f"{group}#{part}" if part else group,
        text=text,
        spans=spans,
        words=tuple(document.words),
        sentences=sentence_starts(document.lengths),
        tags=tuple(document.tags) if any(document.tags) else None,
        mentions=document.brackets.closed(),
        group=group if part else "",
    )
