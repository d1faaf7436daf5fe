"""Clean texts and look words up in them as the notebooks of Pande et al. (2021) do, for the preset published.

The notebooks parse a cleaned text: its words and the marks ``. , ! ? ;``, with a blank between any two.
They find the pieces of a parsed word by their first occurrence in that text. A pair counts where both of
its words stand between blanks, so parts such as "n't" of "don't" do not.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from headroles.extraction.texts.pieces import NO_TRUNCATION
from headroles.extraction.texts.tokens import PassageTokenizer, Tokenised, example_of, tokenise
from headroles.records.example import Cleaned, Pair
from headroles.records.passage import Passage, Words

KEPT = re.compile(r"(?:\w|')+|[.,!?;]")
"""Parts of a text that are kept: runs of letters, digits, underscores and apostrophes, and five marks."""
APART = re.compile(r"[^ ]+")


def clean_text(text: str) -> str:
    """Return a text without marks other than ``. , ! ? ;`` and ``'``, with a blank between any two parts.

    Example:
        >>> clean_text('the "quiescent" Yarrow-Schlick stance, e.g. $5.')
        'the quiescent Yarrow Schlick stance , e . g . 5 .'
    """
    return " ".join(KEPT.findall(text))


def clean_passage(passage: Passage) -> Passage | None:
    """Return a passage with its texts cleaned, which may leave them empty; None where it has gold words."""
    if passage.words is not None:
        return None
    return replace(passage, texts=tuple(map(clean_text, passage.texts)), mentions=None)


def look_up_words(tokenizer: Any, cleaned: Passage, words: Sequence[Words]) -> Cleaned | None:
    """Return the pairs of a cleaned passage that the notebooks find, at their places in it.

    Args:
        tokenizer: Of the model.
        cleaned: The cleaned passage.
        words: Words and trees of its texts.

    Returns:
        The pairs; None for a source that cannot tokenise another text, such as stored maps.
    """
    if isinstance(tokenizer, PassageTokenizer):
        return None
    if not any(cleaned.texts):
        return Cleaned(0, ())
    (tokenised,) = tokenise(tokenizer, [cleaned], NO_TRUNCATION)
    pieces = _places_of_words(tokenised)
    pairs = []
    for text, own, places in zip(cleaned.texts, words, pieces, strict=True):
        names = [text[start:stop] for start, stop in own.spans.tolist()]
        for name, head, relation in zip(names, own.heads.tolist(), own.relations, strict=True):
            if head >= 0 and name in places and names[head] in places:
                pairs.append(Pair(places[name], places[names[head]], relation))
    return Cleaned(tokenised.size, tuple(pairs))


def _places_of_words(tokenised: Tokenised) -> list[dict[str, tuple[int, ...]]]:
    """Return for each text where the pieces of each word between blanks first occur."""
    texts = tokenised.passage.texts
    spans = [
        np.array([word.span() for word in APART.finditer(text)], dtype=np.int32).reshape(-1, 2)
        for text in texts
    ]
    apart = [Words(own, np.full(len(own), -1, dtype=np.int32), ("",) * len(own)) for own in spans]
    example, base, found = example_of(tokenised, apart, arcs=False), 0, []
    for number, (text, own) in enumerate(zip(texts, spans, strict=True)):
        inside = np.flatnonzero(example.segment == number)
        first = {example.tokens[place]: int(place) for place in inside[::-1]}
        places: dict[str, tuple[int, ...]] = {}
        for word, (start, stop) in enumerate(own.tolist(), start=base):
            parts = [example.tokens[place] for place in inside if example.word[place] == word]
            if parts:
                places.setdefault(text[start:stop], tuple(first[part] for part in parts))
        found.append(places)
        base += len(own)
    return found
