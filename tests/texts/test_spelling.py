"""Words by their spelling, and words of cleaned texts at their first occurrence, whatever the tokenizer."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroles.extraction import clean_passage, clean_text, look_up_words, number_words, tokenise, word_spans
from headroles.records import Cleaned, Passage, Words
from tests.support import table
from tests.support.texts import words_between_blanks

TokenizerOf = Callable[[str], Any]
KINDS = ("bert", "roberta", "gpt2", "t5", "xlnet")
TEXT = "Don't stop: she can't believe it isn't unbelievable, re-opening co-ops."
SPELLED = "Don't stop : she can't believe it isn't unbelievable , re - opening co - ops ."
WORDS = table(f"""
    {TEXT} | {SPELLED}
    rock 'n' roll, dogs’ and dog’s | rock ' n ' roll , dogs ’ and dog’s
    3.14 (a_b)…?!                  | 3 . 14 ( a _ b ) … ? !
    cafe\u0301s  naïve             | cafe\u0301s naïve
    我们 ok的                        | 我 们 ok 的
    a👩‍👧👍🏽!b                        | a 👩‍👧 👍🏽 ! b
    نمی‌خواهم.                       | نمی‌خواهم .
""")


def numbered(tokenizer: Any, *texts: str) -> tuple[Any, np.ndarray]:
    """Return one input, and the word of each of its pieces by spelling alone."""
    (tokenised,) = tokenise(tokenizer, [Passage("x", texts)], 10_000)
    return tokenised, number_words(tokenised)


@pytest.mark.parametrize(("text", "words"), WORDS)
def test_letters_stand_together_and_signs_alone(text: str, words: str) -> None:
    assert [text[start:stop] for start, stop in word_spans(text).tolist()] == words.split()
    assert word_spans(" \t\n").shape == word_spans("").shape == (0, 2)


def test_a_text_of_blanks_is_one_word_that_covers_it(tokenizer_of: TokenizerOf) -> None:
    tokenised, word = numbered(tokenizer_of("gpt2"), "   ", "a b")
    assert (tokenised.texts == 0).any()
    assert word[tokenised.texts == 0].tolist() == [0] * int((tokenised.texts == 0).sum())
    assert sorted(set(word[tokenised.texts == 1].tolist())) == [1, 2]
    _, lone = numbered(tokenizer_of("gpt2"), " ")
    assert lone.tolist() == [0]


texts = st.text(
    st.one_of(st.sampled_from(list("aZé9' ’-.,\t\n我😀ø\u0301\u200d\u200f")), st.characters(codec="utf-8")),
    min_size=1,
    max_size=40,
)


@given(text=texts)
def test_words_cover_what_is_visible_in_order_and_hold_no_blank(text: str) -> None:
    spans = word_spans(text).tolist()
    covered = [place for start, stop in spans for place in range(start, stop)]
    assert covered == [place for place, sign in enumerate(text) if not sign.isspace()]
    assert all(start < stop for start, stop in spans)


@given(pair=st.tuples(texts.filter(str.strip), texts.filter(str.strip)), kind=st.sampled_from(KINDS))
def test_numbers_count_on_without_a_gap_and_blanks_part_words(
    pair: tuple[str, str], kind: str, tokenizer_of: TokenizerOf
) -> None:
    tokenised, word = numbered(tokenizer_of(kind), *pair)
    assert np.array_equal(word < 0, tokenised.texts < 0)
    own = word[word >= 0]
    assert np.unique(own).tolist() == list(range(own.max(initial=-1) + 1))
    for text, line in enumerate(pair):
        mine = np.flatnonzero(tokenised.texts == text)
        assert (np.diff(word[mine]) >= 0).all()
        for left, right in pairwise(mine):
            if word[left] == word[right]:
                between = line[tokenised.spans[left][1] : tokenised.spans[right][0]]
                assert not any(sign.isspace() for sign in between)
    if {0, 1} <= set(tokenised.texts.tolist()):
        assert word[tokenised.texts == 0].max() < word[tokenised.texts == 1].min()


CLEAN = table("""
    Palestine took a "quiescent" stance. | Palestine took a quiescent stance .
    the Yarrow-Schlick 'system' ($5m)    | the Yarrow Schlick 'system' 5m
    Don't!? it's _here_; 3.5             | Don't ! ? it's _here_ ; 3 . 5
    naïve 日本                            | naïve 日本
    — (…)                                |
""")


@pytest.mark.parametrize(("text", "cleaned"), CLEAN)
def test_letters_apostrophes_and_five_marks_stay_of_texts_without_gold_words(text: str, cleaned: str) -> None:
    assert clean_text(text) == cleaned
    gold = Passage("x", (text,), words=(words_between_blanks(text),))
    assert clean_passage(gold) is None
    opened = clean_passage(replace(gold, words=None))
    assert opened is not None
    assert opened.texts == (cleaned,)


def tree(text: str, forms: str, heads: list[int], relations: str) -> Words:
    """Return the words of a text with a tree."""
    spans, start = [], 0
    for form in forms.split():
        start = text.index(form, start)
        spans.append((start, start + len(form)))
        start += len(form)
    return Words(np.array(spans, np.int32), np.array(heads, np.int32), tuple(relations.split()))


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_are_found_where_their_like_first_occur_in_the_same_text(
    kind: str, tokenizer_of: TokenizerOf
) -> None:
    tokenizer = tokenizer_of(kind)
    first, second = "the words of a model look at the words", "it look at it"
    words = (
        tree(first, first, [1, 5, 4, 4, 1, -1, 8, 8, 5], "det nsubj dep dep dep root x dep obj"),
        tree(second, second, [1, -1, 1, 2], "nsubj root obl obj"),
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
    tokenizer, text = tokenizer_of("bert"), "she cannot stop , don't look"
    heads, relations = [3, 3, 3, -1, 3, 7, 7, 3], "nsubj aux advmod root punct aux advmod parataxis"
    forms = "she can not stop , do n't look"
    found = look_up_words(tokenizer, Passage("x", (text,)), (tree(text, forms, heads, relations),))
    assert found is not None
    assert [pair.relation for pair in found.pairs] == ["nsubj", "punct", "parataxis"]
    more = tree(f"{text} can not", f"{forms} can not", [*heads, 9, -1], f"{relations} aux root")
    again = look_up_words(tokenizer, Passage("x", (f"{text} can not",)), (more,))
    assert again is not None
    assert " ".join(pair.relation for pair in again.pairs) == "nsubj aux advmod punct parataxis aux"
    assert again.pairs[1].dependent == again.pairs[5].dependent  # of "cannot" at the place of the other "can"


def test_a_text_of_which_nothing_is_left_has_no_pairs(tokenizer_of: TokenizerOf) -> None:
    none = words_between_blanks("")
    other = tree("it stop", "it stop", [1, -1], "nsubj root")
    for kind in ("bert", "gpt2"):
        assert look_up_words(tokenizer_of(kind), Passage("x", ("",)), (none,)) == Cleaned(0, ())
        half = look_up_words(tokenizer_of(kind), Passage("x", ("", "it stop")), (none, other))
        assert half is not None
        assert [pair.relation for pair in half.pairs] == ["nsubj"]
