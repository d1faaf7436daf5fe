"""Words by their spelling: what stands together in the text stays together, whatever the tokenizer."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroles.extraction.texts.spelling import number_words, word_spans
from headroles.extraction.texts.tokens import tokenise
from headroles.records.passage import Passage

KINDS = ("bert", "roberta", "gpt2", "t5", "xlnet")
TEXT = "Don't stop: she can't believe it isn't unbelievable, re-opening co-ops."
SPELLED = (
    "Don't", "stop", ":", "she", "can't", "believe", "it", "isn't", "unbelievable", ",", "re", "-", "opening",
    "co", "-", "ops", ".",
)  # fmt: skip


def _words(tokenizer: Any, *texts: str) -> tuple[Any, np.ndarray]:
    tokenised = tokenise(tokenizer, [Passage("x", texts)], 10_000)[0]
    return tokenised, number_words(tokenised)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TEXT, SPELLED),
        ("rock 'n' roll, dogs’ and dog’s", ("rock", "'", "n", "'", "roll", ",", "dogs", "’", "and", "dog’s")),
        ("3.14 (a_b)…?!", ("3", ".", "14", "(", "a", "_", "b", ")", "…", "?", "!")),
        ("cafe\u0301s  naïve", ("cafe\u0301s", "naïve")),
        ("我们 ok的", ("我", "们", "ok", "的")),
        ("a👩‍👧👍🏽!b", ("a", "👩‍👧", "👍🏽", "!", "b")),
        ("نمی‌خواهم.", ("نمی‌خواهم", ".")),
        (" \t\n", ()),
        ("", ()),
    ],
)
def test_letters_stand_together_and_signs_alone(text: str, words: tuple[str, ...]) -> None:
    assert tuple(text[start:stop] for start, stop in word_spans(text).tolist()) == words


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_of_a_word_have_its_number(kind: str, tokenizer_of: Callable[[str], Any]) -> None:
    tokenised, word = _words(tokenizer_of(kind), TEXT, "Look!")
    assert word.tolist() == sorted(word[word >= 0].tolist()) or (word[tokenised.texts < 0] == -1).all()
    spelled = [
        "".join(TEXT[a:b] for a, b in tokenised.spans[word == number]) for number in range(len(SPELLED))
    ]
    assert tuple(each.strip() for each in spelled) == SPELLED
    assert word[tokenised.texts == 1].min() == len(SPELLED)
    assert word.max() == len(SPELLED) + 1


@pytest.mark.parametrize("kind", ["gpt2", "roberta"])
def test_bytes_of_one_letter_are_one_word(kind: str, tokenizer_of: Callable[[str], Any]) -> None:
    tokenised, word = _words(tokenizer_of(kind), "ab 😀 我c")
    spans = tokenised.spans[word >= 0].tolist()
    assert len({tuple(span) for span in spans}) < len(spans)
    by_word = {number: tokenised.spans[word == number][:, 1].max() for number in range(word.max() + 1)}
    assert by_word == {0: 2, 1: 4, 2: 6, 3: 7}


texts = st.text(
    st.one_of(st.sampled_from(list("aZé9' ’-.,\t\n我😀ø\u0301\u200d\u200f")), st.characters(codec="utf-8")),
    min_size=1,
    max_size=40,
).filter(lambda text: text.strip())


@given(text=texts)
def test_words_cover_what_is_visible_in_order_and_hold_no_blank(text: str) -> None:
    spans = word_spans(text).tolist()
    covered = [place for start, stop in spans for place in range(start, stop)]
    assert covered == [place for place, sign in enumerate(text) if not sign.isspace()]
    assert all(start < stop for start, stop in spans)


@given(first=texts, second=texts, kind=st.sampled_from(KINDS))
def test_numbers_count_on_without_a_gap_and_blanks_part_words(
    first: str, second: str, kind: str, tokenizer_of: Callable[[str], Any]
) -> None:
    tokenised, word = _words(tokenizer_of(kind), first, second)
    assert np.array_equal(word < 0, tokenised.texts < 0)
    own = word[word >= 0]
    assert np.unique(own).tolist() == list(range(own.max(initial=-1) + 1))
    for text, line in enumerate((first, second)):
        mine = np.flatnonzero(tokenised.texts == text)
        assert (np.diff(word[mine]) >= 0).all()
        for one, next_ in pairwise(mine):
            if word[one] == word[next_]:
                start, stop = tokenised.spans[one][1], tokenised.spans[next_][0]
                assert not any(sign.isspace() for sign in line[start:stop])
    if (tokenised.texts == 0).any() and (tokenised.texts == 1).any():
        assert word[tokenised.texts == 0].max() < word[tokenised.texts == 1].min()
