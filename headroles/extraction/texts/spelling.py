"""Find the words of a text by its spelling alone, where no parser is used."""

import unicodedata

import numpy as np
from jaxtyping import Int

from headroles.extraction.texts.tokens import Tokenised, example_of, parsed_part
from headroles.records.passage import Words

APOSTROPHES = "'’ʼ"
"""Characters that belong to a word where a letter or digit stands on both sides."""
NON_JOINER, JOINER = "\u200c", "\u200d"
IDEOGRAPHS = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))
SKIN_TONES = (0x1F3FB, 0x1F3FF)
"""First and last of the skin tones, which modify the character before them."""


def number_words(tokenised: Tokenised) -> Int[np.ndarray, " tokens"]:
    """Return the number of the word that each piece belongs to, from the character spans alone.

    A run of letters and digits is one word, apostrophes between them included. Every other character
    is a word of its own, and so is an ideograph. A piece belongs to the word of its first visible
    character; a piece without any (a lone blank) belongs to the word that follows.

    Args:
        tokenised: The pieces with their spans, of one text or two.

    Returns:
        Numbers from 0, which continue over both texts without gaps; −1 on special tokens.

    Example:
        >>> from headroles.records.passage import Passage
        >>> spans = np.array([[0, 0], [0, 3], [3, 5], [5, 8], [8, 9], [0, 0]])
        >>> texts = np.array([-1, 0, 0, 0, 0, -1])
        >>> pieces = ("<s>", "Don", "'t", "Ġgo", ".", "</s>")
        >>> passage = Passage("note", ("Don't go.",))
        >>> number_words(Tokenised(passage, {}, pieces, texts, spans, texts < 0, False)).tolist()
        [-1, 0, 0, 1, 2, -1]
    """
    words = [_words_without_tree(text) for text in parsed_part(tokenised).texts]
    word = example_of(tokenised, words, arcs=False).word
    numbers = np.full(tokenised.size, -1, dtype=np.int32)
    numbers[word >= 0] = np.unique(word[word >= 0], return_inverse=True)[1]
    return numbers


def word_spans(text: str) -> Int[np.ndarray, "words 2"]:
    """Return the character span of each word of a text: its start, and one past its end.

    Example:
        >>> word_spans("Don't stop, Ann!").tolist()
        [[0, 5], [6, 10], [10, 11], [12, 15], [15, 16]]
    """
    spans: list[list[int]] = []
    touching = running = False  # whether the last span ends here; whether it holds letters
    for place, sign in enumerate(text):
        if sign.isspace():
            touching = running = False
            continue
        letter = sign.isalnum() and not _is_ideograph(sign)
        inner = sign in APOSTROPHES and _is_letter_at(text, place + 1)
        joined = _is_modifier(sign) or text[place - 1 : place] == JOINER
        if touching and (joined or (running and (letter or inner))):
            spans[-1][1] = place + 1
        else:
            spans.append([place, place + 1])
            running = letter
        touching = True
    return np.array(spans, dtype=np.int64).reshape(-1, 2)


def _words_without_tree(text: str) -> Words:
    """Return the words of a text without a tree; a text without a visible character is one word."""
    spans = word_spans(text)
    if not len(spans):
        spans = np.array([[0, len(text)]], dtype=np.int64)
    return Words(spans, np.full(len(spans), -1, dtype=np.int64), ("",) * len(spans))


def _is_letter_at(text: str, place: int) -> bool:
    sign = text[place : place + 1]
    return sign.isalnum() and not _is_ideograph(sign)


def _is_ideograph(sign: str) -> bool:
    return ord(sign) >= IDEOGRAPHS[0][0] and any(low <= ord(sign) <= high for low, high in IDEOGRAPHS)


def _is_modifier(sign: str) -> bool:
    """Return whether a character only modifies the one before it: an accent, joiner or skin tone."""
    if sign.isascii():
        return False
    changes = sign in (NON_JOINER, JOINER) or SKIN_TONES[0] <= ord(sign) <= SKIN_TONES[1]
    return changes or unicodedata.category(sign).startswith("M")
