"""Count the word pieces that a tokenizer makes of documents."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

from headroles.errors import BadInput
from headroles.extraction.texts.tokens import example_of, tokenise
from headroles.extraction.texts.windows import window_passage
from headroles.records.documents import Document, Window

NO_TRUNCATION = 10**6
"""More pieces than any document has, so that nothing is truncated where pieces are counted."""


def text_room(tokenizer: Any, size: int, option: str) -> int:
    """Return the number of pieces of a text that fit into an input with its special tokens.

    Args:
        tokenizer: Of the model.
        size: Longest input in tokens.
        option: Name of the option that sets the size, for the error.

    Raises:
        BadInput: When none fits.
    """
    special = int(tokenizer.num_special_tokens_to_add())
    if size <= special:
        raise BadInput(
            f"an input holds special tokens and at least one more, but {option} is {size} and {special} of "
            f"these are special; give a longer one"
        )
    return size - special


def count_pieces(tokenizer: Any, documents: Sequence[Document]) -> list[Int[np.ndarray, "_"]]:
    """Count the pieces of each word of each document, without special tokens; 0 for a word without any.

    Raises:
        BadInput: When the tokenizer keeps no character offsets, or makes nothing of a document.
    """
    passages = [window_passage(Window(document, 0, len(document.words), 0)) for document in documents]
    counts = []
    for tokenised, document in zip(tokenise(tokenizer, passages, NO_TRUNCATION), documents, strict=True):
        word = example_of(tokenised, tokenised.passage.words, False).word
        counts.append(pieces_of_words(word, len(document.words)))
    return counts


def pieces_of_words(word: Int[np.ndarray, " tokens"], words: int) -> Int[np.ndarray, " words"]:
    """Return the number of tokens of each word, from the word of each token; −1 for none."""
    return np.bincount(word[word >= 0], minlength=words)
