"""Inputs before tokenisation: one or two texts, their words where annotated, and their group."""

import unicodedata
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from headroles.records.brief import brief
from headroles.records.example import Mention


def plain_spelling(text: str) -> str:
    r"""Return a text without case, white space and accents, for telling texts that a model may read alike.

    Example:
        >>> plain_spelling(" It\n RAINS, caf\u00e9 .")
        'itrains,cafe.'
    """
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in letters if not (letter.isspace() or unicodedata.combining(letter)))


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """The words of one text and their dependency tree.

    Attributes:
        spans: Character span of each word in the text, start included, end excluded.
        heads: Index of each word's head word; −1 for a root.
        relations: Relation of each word to its head.
        lemmas: Lemma of each word, "" where unknown; None when there are none.
        upos: Universal part of speech of each word, such as ``"NOUN"``, "" where unknown; None when there
            are none.
    """

    spans: Int[np.ndarray, "words 2"]
    heads: Int[np.ndarray, " words"]
    relations: tuple[str, ...]
    lemmas: tuple[str, ...] | None = None
    upos: tuple[str, ...] | None = None

    __repr__ = brief


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """One input: one text or a pair.

    Attributes:
        key: A stable name, such as ``"QNLI/17"``.
        texts: One or two texts, none of them blank.
        group: The document or paragraph it comes from; None when unknown.
        words: Gold words and trees of each text; None to have them parsed when they are needed.
        mentions: Gold mentions of entities in the one text, by its words; None when not annotated.
    """

    key: str
    texts: tuple[str, ...]
    group: str | None = None
    words: tuple[Words, ...] | None = None
    mentions: tuple[Mention, ...] | None = None

    __repr__ = brief
