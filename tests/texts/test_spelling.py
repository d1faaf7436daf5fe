"""Words by their spelling, and words of cleaned texts at their first occurrence, whatever the tokenizer."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroles.extraction import clean_passage, clean_text, look_up_words, number_words, tokenise, word_spans
from headroles.records import Cleaned, Passage, Words
from tests.support.texts import sections, words_between_blanks

TokenizerOf = Callable[[str], Any]
TABLES = sections(Path(__file__).with_name("tables.txt"))
KINDS = ("bert", "roberta", "gpt2", "t5", "xlnet")


def test_letters_stand_together_and_signs_alone() -> None:
    for text, words in TABLES["words"]:
        assert [text[start:stop] for start, stop in word_spans(text).tolist()] == words.split()
    assert word_spans(" \t\n").shape == word_spans("").shape == (0, 2)


def test_a_text_of_blanks_is_one_word_that_covers_it(tokenizer_of: TokenizerOf) -> None:
    blank, lone = tokenise(tokenizer_of("gpt2"), [Passage("x", ("   ", "a b")), Passage("y", (" ", "a"))], 99)
    word = number_words(blank)
    assert {*word[blank.texts == 0].tolist()} == {0}
    assert {*word[blank.texts == 1].tolist()} == {1, 2}
    assert number_words(lone).tolist() == [0, 1]


def test_letters_apostrophes_and_five_marks_stay_of_texts_without_gold_words() -> None:
    for text, cleaned in TABLES["clean"]:
        assert clean_text(text) == cleaned
        gold = Passage("x", (text,), words=(words_between_blanks(text),))
        assert clean_passage(gold) is None
        opened = clean_passage(replace(gold, words=None))
        assert opened is not None
        assert opened.texts == (cleaned,)


def tree(text: str, heads: list[int], relations: str) -> Words:
    """Return the words between blanks of a text with a tree."""
    spans = words_between_blanks(text).spans
    return Words(spans, np.array(heads, np.int32), tuple(relations.split()))


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_are_found_where_their_like_first_occur_in_the_same_text(
    kind: str, tokenizer_of: TokenizerOf
) -> None:
    tokenizer = tokenizer_of(kind)
    first, second = "the words of a model look at the words", "it look at it"
    words = (
        tree(first, [1, 5, 4, 4, 1, -1, 8, 8, 5], "det nsubj dep dep dep root x dep obj"),
        tree(second, [1, -1, 1, 2], "nsubj root obl obj"),
    )
    found = look_up_words(tokenizer, Passage("x", (first, second)), words)
    assert found is not None
    encoded = tokenizer(first, second)
    tokens, sides = encoded.tokens(), encoded.encodings[0].sequence_ids
    assert found.size == len(tokens)
    relations = "det nsubj dep dep dep x dep obj nsubj obl obj"
    assert " ".join(pair.relation for pair in found.pairs) == relations
    for pair, text in zip(found.pairs, [0] * 8 + [1] * 3, strict=True):
        for place in pair.dependent + pair.head:
            like = [other for other, token in enumerate(tokens) if token == tokens[place]]
            assert place == next(other for other in like if sides[other] == text)
    assert found.pairs[1].dependent == found.pairs[7].dependent  # "words" twice


def test_a_word_that_does_not_stand_between_blanks_is_left_out(tokenizer_of: TokenizerOf) -> None:
    text, starts = "she cannot stop , don't look", [0, 4, 7, 11, 16, 18, 20, 24]
    spans = np.array([*zip(starts, [3, 7, 10, 15, 17, 20, 23, 28], strict=True)], np.int32)
    words = Words(
        spans,
        np.array([3, 3, 3, -1, 3, 7, 7, 3], np.int32),
        ("nsubj", "aux", "advmod", "root", "punct", "aux", "advmod", "parataxis"),
    )
    found = look_up_words(tokenizer_of("bert"), Passage("x", (text,)), (words,))
    assert found is not None
    assert [pair.relation for pair in found.pairs] == ["nsubj", "punct", "parataxis"]


def test_a_text_of_which_nothing_is_left_has_no_pairs(tokenizer_of: TokenizerOf) -> None:
    none = words_between_blanks("")
    other = tree("it stop", [1, -1], "nsubj root")
    for kind in ("bert", "gpt2"):
        assert look_up_words(tokenizer_of(kind), Passage("x", ("",)), (none,)) == Cleaned(0, ())
        half = look_up_words(tokenizer_of(kind), Passage("x", ("", "it stop")), (none, other))
        assert half is not None
        assert [pair.relation for pair in half.pairs] == ["nsubj"]
