"""Read sentences of CoNLL-U files with their trees, for passages and for whole documents."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from headroles.errors import BadInput, shorten
from headroles.extraction.texts.files import Location
from headroles.extraction.texts.lines import number_lines, whole_number
from headroles.extraction.texts.trees import check_tree
from headroles.records.passage import Passage, Words

COLUMNS = 10


@dataclass(slots=True)
class Sentence:
    """One sentence as its lines state it; lists have one entry per word unless stated otherwise.

    Attributes:
        document: Name of its document; None before the first ``# newdoc``.
        entity_fields: Names of the fields of a mention (``# global.Entity``); "" where not named.
        surface: For each surface token its form, whether a blank follows, and its number of words.
        forms: The words.
        lemmas: Their lemmas; ``"_"`` for none.
        heads: Head of each word, counted from 0 in the sentence; −1 for the root.
        relations: Relation to the head.
        tags: Universal and specific part of speech; ``"_"`` for none.
        features: Morphological features; ``"_"`` for none.
        lines: Line of each word in the file.
        entities: Each ``Entity=`` note: its line, the first word of a mention that opens there, one past
            the last word of a mention that closes there, and the note. The two are equal at empty nodes.
        covered: Number of words up to the end of the last multi-word token so far.
    """

    document: str | None
    entity_fields: str = ""
    surface: list[tuple[str, bool, int]] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)
    lemmas: list[str] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)
    tags: list[tuple[str, str]] = field(default_factory=list)
    features: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    entities: list[tuple[int, int, int, str]] = field(default_factory=list)
    covered: int = 0


def read_conllu(path: Location, name: str) -> list[Passage]:
    """Return all passages of ``stream_conllu`` as a list."""
    return list(stream_conllu(path, name))


def stream_conllu(path: Location, name: str, first: int = 0) -> Iterator[Passage]:
    """Yield one passage per sentence while the file is read; ``# newdoc`` names its group.

    The text is rebuilt from the surface tokens and ``SpaceAfter=No``. The words of a multi-word
    token share its span. Empty nodes are skipped.

    Args:
        path: The file.
        name: First part of the keys.
        first: Number of the first sentence; the second part of the keys counts from it.

    Raises:
        BadInput: Naming file, line and rule.
    """
    for number, sentence in enumerate(read_sentences(path), start=first):
        text, words = rebuild_text(sentence)
        yield Passage(f"{name}/{number}", (text,), sentence.document, (words,))


def read_sentences(path: Location) -> Iterator[Sentence]:
    """Yield the sentences of a CoNLL-U file, and check that the heads of each form a tree.

    Raises:
        BadInput: Naming file, line and rule; also when the file, or a document in it, has no sentence.
    """
    current, documents = Sentence(None), _DocumentTracker(path)
    for number, line in number_lines(path):
        if line.startswith("#"):
            documents.comment(number, line)
        elif line.strip():
            current.document, current.entity_fields = documents.name, documents.entity_fields
            documents.filled = documents.any = True
            _add_word(current, line.split("\t"), path, number)
        elif current.surface:
            yield _check_sentence(current, path, f"line {number}")
            current = Sentence(None)
    if current.surface:
        yield _check_sentence(current, path, "end of file")
    documents.close()


@dataclass(slots=True)
class _DocumentTracker:
    """The document that the lines belong to, and whether it, and any document, has words yet."""

    path: Location
    name: str | None = None
    entity_fields: str = ""
    count: int = 0
    line: int = 0
    filled: bool = False
    any: bool = False

    def comment(self, number: int, line: str) -> None:
        label, _, value = line[1:].partition("=")
        if label.split()[:1] == ["newdoc"]:
            if self.count:
                self.check_filled()
            self.count += 1
            self.name = value.strip() or f"document {self.count}"
            self.line, self.filled = number, False
        elif label.strip() == "global.Entity":
            self.entity_fields = value.strip()

    def close(self) -> None:
        if not self.any:
            raise BadInput(f"a CoNLL-U file holds at least one sentence, but '{self.path}' has none")
        self.check_filled()

    def check_filled(self) -> None:
        if not self.filled:
            raise BadInput(
                f"{self.path}, line {self.line}: a document holds at least one sentence, "
                f"but {self.name!r} has none"
            )


def _add_word(sentence: Sentence, cells: list[str], path: Location, line: int) -> None:
    if len(cells) != COLUMNS:
        raise BadInput(
            f"{path}, line {line}: a CoNLL-U line has {COLUMNS} cells between tabs, but got {len(cells)}"
        )
    misc = cells[9].split("|")
    word = len(sentence.forms)
    empty = "." in cells[0]
    sentence.entities += [
        (line, word, word + (not empty), note[7:]) for note in misc if note.startswith("Entity=")
    ]
    if empty:
        return
    spaced = "SpaceAfter=No" not in misc
    if "-" in cells[0]:
        _add_range(sentence, cells, f"{path}, line {line}", spaced)
        return
    if cells[0] != str(word + 1):
        raise BadInput(
            f"{path}, line {line}: words are numbered from 1 without gaps, but got {cells[0]!r} after {word}"
        )
    head = whole_number(cells[6])
    if head is None or cells[6] == cells[0]:
        raise BadInput(
            f"{path}, line {line}: the head (cell 7) is another word's number, or 0 for the root, "
            f"but got {cells[6]!r:.60}"
        )
    sentence.forms.append(cells[1])
    sentence.lemmas.append(cells[2])
    sentence.heads.append(head - 1)
    sentence.relations.append(cells[7])
    sentence.tags.append((cells[3], cells[4]))
    sentence.features.append(cells[5])
    sentence.lines.append(line)
    if word >= sentence.covered:
        sentence.surface.append((cells[1], spaced, 1))


def _add_range(sentence: Sentence, cells: list[str], place: str, spaced: bool) -> None:
    first, _, end = cells[0].partition("-")
    following, last = len(sentence.forms) + 1, whole_number(end)
    if first == str(following) and following <= sentence.covered:
        raise BadInput(
            f"{place}: multi-word tokens do not overlap, but {shorten(cells[0])} starts at word {following}, "
            f"and the one before it ends at word {sentence.covered}; mend the ids"
        )
    if last is None or first != str(following) or last < following:
        raise BadInput(
            f"{place}: a multi-word token's id spans the words that follow it, here from {following} on, "
            f"as in {following}-{following + 1}, but got {cells[0]!r:.60}"
        )
    sentence.surface.append((cells[1], spaced, last - following + 1))
    sentence.covered = last


def _check_sentence(sentence: Sentence, path: Location, end: str) -> Sentence:
    words = len(sentence.forms)
    if not any(form.strip() for form, _, _ in sentence.surface):
        raise BadInput(f"{path}, {end}: a sentence has a text, but all of its {words} words are blank")
    if sum(count for _, _, count in sentence.surface) != words:
        raise BadInput(f"{path}, {end}: a multi-word token's id reaches beyond the sentence's {words} words")
    check_tree(sentence.heads, path, sentence.lines)
    return sentence


def rebuild_text(sentence: Sentence) -> tuple[str, Words]:
    """Return the text of a sentence, rebuilt from its surface tokens, and its words."""
    text, spans, word = "", [], 0
    for form, spaced, count in sentence.surface:
        spans += _word_spans(len(text), form, sentence.forms[word : word + count])
        word += count
        text += form + (" " if spaced else "")
    return text.rstrip(), Words(
        spans=np.array(spans, dtype=np.int32).reshape(-1, 2),
        heads=np.array(sentence.heads, dtype=np.int32),
        relations=tuple(sentence.relations),
        lemmas=_lemmas(sentence),
        upos=_word_classes(sentence),
    )


def _word_classes(sentence: Sentence) -> tuple[str, ...] | None:
    """Return the universal part of speech of each word, "" for none (``_``); None if no word has one."""
    classes = tuple("" if universal == "_" else universal for universal, _ in sentence.tags)
    return classes if any(classes) else None


def _lemmas(sentence: Sentence) -> tuple[str, ...] | None:
    """Return the lemmas, "" for none (``_``, unless the word itself is ``_``); None if no word has one."""
    pairs = zip(sentence.lemmas, sentence.forms, strict=True)
    lemmas = tuple("" if lemma == "_" != form else lemma for lemma, form in pairs)
    return lemmas if any(lemmas) else None


def _word_spans(start: int, form: str, words: list[str]) -> list[tuple[int, int]]:
    """Return the spans of the words of a surface token, by spelling or else in proportion to their length."""
    if len(words) == 1:
        return [(start, start + len(form))]
    joined = "".join(words)
    if joined.lower() == form.lower() and len(joined) == len(form):
        ends = np.cumsum([len(word) for word in words])
    else:
        share = np.cumsum([len(word) for word in words]) / max(sum(map(len, words)), 1)
        ends = np.round(share * len(form)).astype(int)
    starts = [0, *ends[:-1].tolist()]
    return [(start + first, start + int(last)) for first, last in zip(starts, ends, strict=True)]
