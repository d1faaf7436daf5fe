"""Read documents of CoNLL-U files: trees, parts of speech, and coreference as in GUM and CorefUD."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
from jaxtyping import Int

from headroles.errors import BadInput
from headroles.extraction.gold.brackets import BracketReader
from headroles.extraction.texts.conllu import Sentence, read_sentences, rebuild_text
from headroles.extraction.texts.lines import sentence_starts
from headroles.records.documents import Document
from headroles.records.example import Mention

NONE = "_"
IDENTIFIERS = ("GRP", "eid")
"""Names of the field with an entity's name in ``# global.Entity``; without one it is the first field."""


def read_treebank(path: Path, name: str) -> list[Document]:
    """Return one document per ``# newdoc``; sentences that belong to none are documents of their own.

    The text is that of the sentences, joined by one blank each. Words of a multi-word token share its
    letters. Empty nodes and their mentions are skipped. Parts of speech are universal (cell 4), or
    specific (cell 5) where a word has no universal one, or "" where it has neither. Parts of speech,
    features and mentions (``Entity=`` in the last cell) are None where the whole file has none.

    Raises:
        BadInput: Naming file, line and rule.
    """
    sentences = list(read_sentences(path))
    annotated = (
        any(tag != (NONE, NONE) for sentence in sentences for tag in sentence.tags),
        any(feature != NONE for sentence in sentences for feature in sentence.features),
        any(sentence.entities for sentence in sentences),
    )
    documents = []
    numbered = enumerate(sentences)
    for (document, own_number), members in groupby(numbered, key=lambda pair: _document(*pair)):
        key = f"{name}/{own_number if document is None else document}"
        documents.append(_join_sentences(key, [sentence for _, sentence in members], path, annotated))
    return documents


def _document(number: int, sentence: Sentence) -> tuple[str | None, int]:
    """Return what sentences of one document share: its name, or, without one, nothing."""
    return sentence.document, number if sentence.document is None else 0


def _join_sentences(
    key: str, sentences: Sequence[Sentence], path: Path, annotated: tuple[bool, bool, bool]
) -> Document:
    tagged, featured, linked = annotated
    texts, spans, heads = [], [], []
    at = base = 0
    for sentence in sentences:
        text, words = rebuild_text(sentence)
        spans.append(_visible_spans(sentence, words.spans, path, len(text)) + at)
        heads.append(np.where(words.heads < 0, -1, words.heads + base))
        texts.append(text)
        at += len(text) + 1
        base += len(words.heads)
    tags = (universal if universal != NONE else specific for s in sentences for universal, specific in s.tags)
    return Document(
        key=key,
        text=" ".join(texts),
        spans=np.concatenate(spans).astype(np.int32),
        words=tuple(form for sentence in sentences for form in sentence.forms),
        sentences=sentence_starts([len(sentence.forms) for sentence in sentences]),
        heads=np.concatenate(heads).astype(np.int32),
        relations=tuple(relation for sentence in sentences for relation in sentence.relations),
        tags=tuple("" if tag == NONE else tag for tag in tags) if tagged else None,
        features=tuple("" if feature == NONE else feature for s in sentences for feature in s.features)
        if featured
        else None,
        mentions=_read_mentions(sentences, path) if linked else None,
    )


def _visible_spans(
    sentence: Sentence, spans: Int[np.ndarray, "words 2"], path: Path, length: int
) -> Int[np.ndarray, "words 2"]:
    """Return spans that are not empty: a word for which its token has no letter left gets a neighbour's."""
    blank = [line for form, line in zip(sentence.forms, sentence.lines, strict=True) if not form.strip()]
    if blank:
        raise BadInput(f"{path}, line {blank[0]}: a word has letters, but this one is blank")
    filled: np.ndarray = np.minimum(spans, length)
    word = 0
    for form, _, count in sentence.surface:
        if not form.strip():
            raise BadInput(
                f"{path}, line {sentence.lines[word]}: a multi-word token has letters, but the one that "
                f"starts here is blank"
            )
        last = filled[word + count - 1, 1] - 1
        if count > 1:
            own = filled[word : word + count]
            empty = own[:, 0] == own[:, 1]
            own[empty, 0] = np.minimum(own[empty, 0], last)
            own[empty, 1] = own[empty, 0] + 1
        word += count
    return filled


def _read_mentions(sentences: Sequence[Sentence], path: Path) -> tuple[Mention, ...]:
    fields = sentences[0].entity_fields.split("-")
    place = next((fields.index(name) for name in IDENTIFIERS if name in fields), 0)
    brackets = BracketReader(lambda text: text.split("-")[: place + 1][-1])
    base = 0
    for sentence in sentences:
        for line, start, stop, notes in sentence.entities:
            brackets.read(notes, base + start, base + stop, f"{path}, line {line}")
        base += len(sentence.forms)
    return brackets.closed()
