"""Words of cleaned texts are looked up as the notebooks do: between blanks, at their first occurrence."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from headroles.extraction.parsing.cleaned import clean_passage, clean_text, look_up_words
from headroles.extraction.source import StoredTokens
from headroles.records.example import Cleaned
from headroles.records.passage import Passage, Words

Tokenizers = Callable[[str], Any]


def _words(text: str, forms: list[str], heads: list[int], relations: list[str]) -> Words:
    spans, start = [], 0
    for form in forms:
        start = text.index(form, start)
        spans.append((start, start + len(form)))
        start += len(form)
    return Words(np.array(spans, np.int32), np.array(heads, np.int32), tuple(relations))


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ('Palestine took a "quiescent" stance.', "Palestine took a quiescent stance ."),
        ("the Yarrow-Schlick 'system' ($5m)", "the Yarrow Schlick 'system' 5m"),
        ("Don't!? it's _here_; 3.5", "Don't ! ? it's _here_ ; 3 . 5"),
        ("naïve 日本", "naïve 日本"),
        ("— (…)", ""),
    ],
)
def test_letters_apostrophes_and_five_marks_stay(text: str, cleaned: str) -> None:
    assert clean_text(text) == cleaned


def test_gold_words_are_not_cleaned() -> None:
    text = "It rains."
    words = _words(text, ["It", "rains", "."], [1, -1, 1], ["nsubj", "root", "punct"])
    passage = Passage("x", (text,), words=(words,))
    assert clean_passage(passage) is None
    opened = clean_passage(replace(passage, words=None))
    assert opened is not None
    assert opened.texts == ("It rains .",)


@pytest.mark.parametrize("kind", ["bert", "roberta", "t5", "xlnet", "gpt2"])
def test_pieces_are_found_where_their_like_first_occur_in_the_same_text(
    tokenizer_of: Tokenizers, kind: str
) -> None:
    tokenizer = tokenizer_of(kind)
    first, second = "the words of a model look at the words", "it look at it"
    relations = ["det", "nsubj", "dep", "dep", "dep", "root", "x", "dep", "obj"]
    words = (
        _words(first, first.split(), [1, 5, 4, 4, 1, -1, 8, 8, 5], relations),
        _words(second, second.split(), [1, -1, 1, 2], ["nsubj", "root", "obl", "obj"]),
    )
    found = look_up_words(tokenizer, Passage("x", (first, second)), words)
    assert found is not None
    encoded = tokenizer(first, second)
    tokens, texts = encoded.tokens(), encoded.encodings[0].sequence_ids
    assert found.size == len(tokens)
    assert [pair.relation for pair in found.pairs if pair.relation != "dep"] == [
        "det", "nsubj", "x", "obj", "nsubj", "obl", "obj"
    ]  # fmt: skip
    for pair, text in zip(found.pairs, [0] * 8 + [1] * 3, strict=True):
        for place in pair.dependent + pair.head:
            same = [other for other, token in enumerate(tokens) if token == tokens[place]]
            assert place == next(other for other in same if texts[other] == text)
    subject, item = (pair for pair in found.pairs[:8] if pair.relation in ("nsubj", "obj"))
    assert subject.dependent == item.dependent  # "words" twice


def test_a_word_that_does_not_stand_between_blanks_is_left_out(tokenizer_of: Tokenizers) -> None:
    text = "she cannot stop , don't look"
    words = _words(
        text,
        ["she", "can", "not", "stop", ",", "do", "n't", "look"],
        [3, 3, 3, -1, 3, 7, 7, 3],
        ["nsubj", "aux", "advmod", "root", "punct", "aux", "advmod", "parataxis"],
    )
    found = look_up_words(tokenizer_of("bert"), Passage("x", (text,)), (words,))
    assert found is not None
    assert [pair.relation for pair in found.pairs] == ["nsubj", "punct", "parataxis"]
    also = f"{text} can not"
    more = _words(
        also,
        ["she", "can", "not", "stop", ",", "do", "n't", "look", "can", "not"],
        [3, 3, 3, -1, 3, 7, 7, 3, 9, -1],
        ["nsubj", "aux", "advmod", "root", "punct", "aux", "advmod", "parataxis", "aux", "root"],
    )
    again = look_up_words(tokenizer_of("bert"), Passage("x", (also,)), (more,))
    assert again is not None
    assert [pair.relation for pair in again.pairs] == ["nsubj", "aux", "advmod", "punct", "parataxis", "aux"]
    assert (
        again.pairs[1].dependent == again.pairs[5].dependent
    )  # the "can" of "cannot" at the other one's place


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_a_text_of_which_nothing_is_left_has_no_pairs(tokenizer_of: Tokenizers, kind: str) -> None:
    none = Words(np.zeros((0, 2), np.int32), np.zeros(0, np.int32), ())
    assert look_up_words(tokenizer_of(kind), Passage("x", ("",)), (none,)) == Cleaned(0, ())
    other = _words("it stop", ["it", "stop"], [1, -1], ["nsubj", "root"])
    half = look_up_words(tokenizer_of(kind), Passage("x", ("", "it stop")), (none, other))
    assert half is not None
    assert [pair.relation for pair in half.pairs] == ["nsubj"]


def test_stored_tokens_of_other_texts_are_not_made_up() -> None:
    passage = Passage("x", ("it rains",))
    words = (_words("it rains", ["it", "rains"], [1, -1], ["nsubj", "root"]),)
    assert look_up_words(StoredTokens({}), passage, words) is None
