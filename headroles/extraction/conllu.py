"""Sentences with gold dependency trees from CoNLL-U."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from headroles.errors import BadInput
from headroles.extraction.files import opened
from headroles.extraction.passages import Passage, Words

COLUMNS = 10


@dataclass(slots=True)
class _Sentence:
    """A sentence while its lines are read: surface tokens and, per word, form, head and relation."""

    document: str | None
    surface: list[tuple[str, bool, int]] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)
    covered: int = 0


def read_conllu(path: Path, name: str) -> list[Passage]:
    """One passage per sentence; ``# newdoc`` names its group.

    The text is rebuilt from the surface tokens and ``SpaceAfter=No``; the words of a multi-word
    token share its span; empty nodes are passed over.

    Raises:
        BadInput: Naming file, line and rule.
    """
    passages: list[Passage] = []
    for sentence in _sentences(path):
        text, words = _rebuilt(sentence)
        passages.append(Passage(f"{name}/{len(passages)}", (text,), sentence.document, (words,)))
    if not passages:
        raise BadInput(f"a CoNLL-U file holds at least one sentence, but '{path}' has none")
    return passages


def _sentences(path: Path) -> Iterator[_Sentence]:
    document, documents = None, 0
    with opened(path) as text:
        current = _Sentence(None)
        for number, raw in enumerate(text, start=1):
            line = raw.rstrip("\r\n")
            if line.startswith("#"):
                label, _, value = line[1:].partition("=")
                if label.strip().split()[:1] == ["newdoc"]:
                    documents += 1
                    document = value.strip() or f"document {documents}"
            elif line.strip():
                current.document = document
                _take(current, line.split("\t"), f"{path}, line {number}")
            elif current.surface:
                yield _finished(current, f"{path}, line {number}")
                current = _Sentence(document)
        if current.surface:
            yield _finished(current, f"{path}, end of file")


def _take(sentence: _Sentence, cells: list[str], place: str) -> None:
    if len(cells) != COLUMNS:
        raise BadInput(f"{place}: a CoNLL-U line has {COLUMNS} cells between tabs, but {len(cells)} came")
    spaced = "SpaceAfter=No" not in cells[9].split("|")
    first, _, last = cells[0].partition("-")
    if "." in cells[0]:
        return
    if last:
        following = len(sentence.forms) + 1
        fits = first == str(following) and last.isdecimal() and int(last) >= following
        if not fits or following <= sentence.covered:
            raise BadInput(
                f"{place}: a multi-word token's id spans the words that follow it, here from {following} on, "
                f"as in {following}-{following + 1}, but {cells[0]!r} came"
            )
        sentence.surface.append((cells[1], spaced, int(last) - int(first) + 1))
        sentence.covered = int(last)
        return
    if cells[0] != str(len(sentence.forms) + 1):
        raise BadInput(
            f"{place}: words are numbered from 1 without gaps, but {cells[0]!r} came "
            f"after {len(sentence.forms)}"
        )
    if not cells[6].isdecimal() or cells[6] == cells[0]:
        raise BadInput(
            f"{place}: the head (cell 7) is another word's number, or 0 for the root, but {cells[6]!r} came"
        )
    sentence.forms.append(cells[1])
    sentence.heads.append(int(cells[6]) - 1)
    sentence.relations.append(cells[7])
    if len(sentence.forms) > sentence.covered:
        sentence.surface.append((cells[1], spaced, 1))


def _finished(sentence: _Sentence, place: str) -> _Sentence:
    words = len(sentence.forms)
    if not any(form.strip() for form, _, _ in sentence.surface):
        raise BadInput(f"{place}: a sentence has a text, but all of its {words} words are blank")
    beyond = [head for head in sentence.heads if head >= words]
    if beyond:
        raise BadInput(f"{place}: heads are words of the sentence (1 to {words}), but {beyond[0] + 1} came")
    if sum(count for _, _, count in sentence.surface) != words:
        raise BadInput(f"{place}: a multi-word token's id reaches beyond the sentence's {words} words")
    return sentence


def _rebuilt(sentence: _Sentence) -> tuple[str, Words]:
    text, spans, word = "", [], 0
    for form, spaced, count in sentence.surface:
        spans += _split(len(text), form, sentence.forms[word : word + count])
        word += count
        text += form + (" " if spaced else "")
    return text.rstrip(), Words(
        spans=np.array(spans, dtype=np.int32).reshape(-1, 2),
        heads=np.array(sentence.heads, dtype=np.int32),
        relations=tuple(sentence.relations),
    )


def _split(start: int, form: str, words: list[str]) -> list[tuple[int, int]]:
    """Spans of the words of a surface token: as they are spelled, else in proportion to their length."""
    joined = "".join(words)
    if joined.lower() == form.lower() and len(joined) == len(form):
        ends = np.cumsum([len(word) for word in words])
    else:
        share = np.cumsum([len(word) for word in words]) / max(sum(map(len, words)), 1)
        ends = np.round(share * len(form)).astype(int)
    starts = [0, *ends[:-1].tolist()]
    return [(start + first, start + int(last)) for first, last in zip(starts, ends, strict=True)]
