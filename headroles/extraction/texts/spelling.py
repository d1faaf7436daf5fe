"""Words of a text by its spelling alone, where no parser is asked: letters that stand together."""

import unicodedata

import numpy as np
from jaxtyping import Int

from headroles.extraction.texts.tokens import Tokenised, example_of
from headroles.records.passage import Words

APOSTROPHES = "'’ʼ"
"""Signs that belong to a word where a letter or digit stands on both sides."""
NON_JOINER, JOINER = "\u200c", "\u200d"
IDEOGRAPHS = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))
SKINS = (0x1F3FB, 0x1F3FF)
"""Modifiers of the sign before them."""


def words_of(tokenised: Tokenised) -> Int[np.ndarray, " tokens"]:
    """Number of the word that each piece spells, from the character spans alone.

    Letters and digits that stand together are one word, apostrophes between them included; every
    other sign stands alone, and so does an ideograph. A piece belongs to the word of its first
    visible character; one without any (a lone blank) to the word that follows.

    Args:
        tokenised: The pieces with their spans, of one text or two.

    Returns:
        Numbers from 0 that count on over both texts, none left out; −1 on special tokens.

    Example:
        >>> from headroles.records.passage import Passage
        >>> spans = np.array([[0, 0], [0, 3], [3, 5], [5, 8], [8, 9], [0, 0]])
        >>> texts = np.array([-1, 0, 0, 0, 0, -1])
        >>> pieces = ("<s>", "Don", "'t", "Ġgo", ".", "</s>")
        >>> passage = Passage("note", ("Don't go.",))
        >>> words_of(Tokenised(passage, {}, pieces, texts, spans, texts < 0, False)).tolist()
        [-1, 0, 0, 1, 2, -1]
    """
    spelled = [_unparsed(text) for text in tokenised.passage.texts]
    word = example_of(tokenised, spelled, arcs=False).word
    numbers = np.full(tokenised.size, -1, dtype=np.int32)
    numbers[word >= 0] = np.unique(word[word >= 0], return_inverse=True)[1]
    return numbers


def word_spans(text: str) -> Int[np.ndarray, "words 2"]:
    """Character span of each word of a text, as it is spelled; start included, end excluded.

    Example:
        >>> word_spans("Don't stop, Ann!").tolist()
        [[0, 5], [6, 10], [10, 11], [12, 15], [15, 16]]
    """
    spans: list[list[int]] = []
    touching = running = False  # whether the last span ends here, and whether it is of letters
    for place, sign in enumerate(text):
        if sign.isspace():
            touching = running = False
            continue
        letter = sign.isalnum() and not _ideograph(sign)
        inner = sign in APOSTROPHES and _letter_at(text, place + 1)
        joined = _joins(sign) or text[place - 1 : place] == JOINER
        if touching and (joined or (running and (letter or inner))):
            spans[-1][1] = place + 1
        else:
            spans.append([place, place + 1])
            running = letter
        touching = True
    return np.array(spans, dtype=np.int64).reshape(-1, 2)


def _unparsed(text: str) -> Words:
    """The words of a text without a tree; all of it is one word where nothing is visible."""
    spans = word_spans(text)
    if not len(spans):
        spans = np.array([[0, len(text)]], dtype=np.int64)
    return Words(spans, np.full(len(spans), -1, dtype=np.int64), ("",) * len(spans))


def _letter_at(text: str, place: int) -> bool:
    sign = text[place : place + 1]
    return sign.isalnum() and not _ideograph(sign)


def _ideograph(sign: str) -> bool:
    return any(low <= ord(sign) <= high for low, high in IDEOGRAPHS)


def _joins(sign: str) -> bool:
    """Whether a sign only changes the one before it: accents, joiners, skin tones."""
    if sign.isascii():
        return False
    changes = sign in (NON_JOINER, JOINER) or SKINS[0] <= ord(sign) <= SKINS[1]
    return changes or unicodedata.category(sign).startswith("M")
