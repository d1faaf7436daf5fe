"""Tokens know their text, their word and whether they are special, whatever tokenizer made them."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroles import Example
from headroles.extraction import Tokenised, example_of, parsed_part, tokenise
from headroles.records import Passage, Words
from tests.support.texts import sections, words_between_blanks

TokenizerOf = Callable[[str], Any]
TABLES = sections(Path(__file__).with_name("tables.txt"))
KINDS = ("bert", "roberta", "gpt2", "t5", "xlnet")
PAIR = ("What did the committee decide?", "It was signed in Paris!")
tokens = sys.modules[tokenise.__module__]


def one(tokenizer: Any, *texts: str, most: int = 512) -> Tokenised:
    """Return one input as a model reads it."""
    (made,) = tokenise(tokenizer, [Passage("made/0", texts)], most)
    return made


def example(
    tokenizer: Any, *texts: str, words: tuple[Words, ...] | None = None, arcs: bool = False
) -> Example:
    """Return the example of one input."""
    made: Example = example_of(one(tokenizer, *texts), words, arcs)
    return made


@pytest.mark.parametrize(("kind", "front", "between", "end", "first", "single"), TABLES["special"])
def test_special_tokens_are_those_the_tokenizer_added(
    kind: str, front: str, between: str, end: str, first: str, single: str, tokenizer_of: TokenizerOf
) -> None:
    made = example(tokenizer_of(kind), *PAIR)
    own = [np.flatnonzero(made.segment == text) for text in (0, 1)]
    assert [place.tolist() for place in own] == [list(range(place[0], place[-1] + 1)) for place in own]
    parts = made.tokens[: own[0][0]], made.tokens[own[0][-1] + 1 : own[1][0]], made.tokens[own[1][-1] + 1 :]
    assert [list(part) for part in parts] == [front.split(), between.split(), end.split()]
    assert made.special.tolist() == [text < 0 for text in made.segment]
    assert [made.tokens[place] for place in np.flatnonzero(made.first)] == first.split()
    assert (made.special | ~made.first).all()
    assert (made.word == -1).all()
    alone = example(tokenizer_of(kind), PAIR[0])
    assert (made.texts, alone.texts, alone.special.sum()) == (2, 1, int(single))
    assert set(alone.segment[~alone.special].tolist()) == {0}


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens_written_in_a_text_stay_text(kind: str, tokenizer_of: TokenizerOf) -> None:
    tokenizer = tokenizer_of(kind)
    usual = example(tokenizer, "a house", "a cat")
    borders = [usual.tokens[place] for place in np.flatnonzero(usual.special)]
    for literal in ("[SEP]", "[CLS]", "</s>", "<s>", "<|endoftext|>", "<sep>", "<cls>"):
        written = example(tokenizer, f"a {literal} house", f"a cat {literal}")
        assert [written.tokens[place] for place in np.flatnonzero(written.special)] == borders
        assert written.first.sum() == usual.first.sum()
        if kind in ("bert", "roberta", "gpt2"):
            assert literal not in [written.tokens[place] for place in np.flatnonzero(~written.special)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_longest_text_is_cut_first_the_cut_is_noted_and_words_keep_their_numbers(
    kind: str, tokenizer_of: TokenizerOf
) -> None:
    tokenizer = tokenizer_of(kind)
    short, long = "the cat", "the committee signed it " * 8
    whole, cut = one(tokenizer, long, short), one(tokenizer, long, short, most=24)
    assert (whole.truncated, cut.truncated, cut.size) == (False, True, 24)
    assert one(tokenizer, long, most=12).truncated
    counts = [[int((made.texts == text).sum()) for text in (-1, 0, 1)] for made in (whole, cut)]
    assert counts[0][::2] == counts[1][::2]
    assert counts[1][1] < counts[0][1]
    fits = one(tokenizer, long, short, most=whole.size)
    assert (fits.truncated, fits.tokens) == (False, whole.tokens)
    words = tuple(
        replace(words_between_blanks(text), heads=np.arange(count) - 1, upos=("X",) * count)
        for text, count in ((long, 32), (short, 2))
    )
    number, kept = example_of(whole, words, True), example_of(cut, words, True)
    for text, numbers in ((0, range(32)), (1, range(32, 34))):
        every, left = (each.word[each.segment == text].tolist() for each in (number, kept))
        assert {*every} == {*numbers}
        assert left == every[: len(left)]
    assert number.upos == ("X",) * 34
    arcs = [(arc.dependent, arc.head, arc.relation) for arc in number.arcs or ()]
    assert arcs == [(word, word - 1, "root") for word in range(1, 34) if word != 32]
    assert example_of(whole, words, False).arcs is None


def test_a_piece_belongs_to_the_word_of_its_first_visible_character(tokenizer_of: TokenizerOf) -> None:
    text = "a  b c "
    made = one(tokenizer_of("gpt2"), text)
    word = example_of(made, (words_between_blanks(text),), False).word.tolist()
    numbers = dict(zip(map(tuple, made.spans.tolist()), word, strict=True))
    assert (numbers[0, 1], numbers[1, 2], numbers[6, 7]) == (0, 1, 2)  # blanks go to the word that follows
    assert word == sorted(word)
    made = one(tokenizer_of("bert"), "a look at it")
    assert made.tokens[1:-1] == ("a", "look", "at", "it")
    spans = np.array([(0, 1), (2, 4), (4, 6), (7, 9), (10, 12)])  # "lo" and "ok" of "look"
    words = Words(spans, np.array([1, -1, 1, 4, 1]), ("det", "root", "dep", "case", "obl"))
    aligned = example_of(made, (words,), True)
    assert aligned.word[1:-1].tolist() == [0, 1, 3, 4]
    assert aligned.arcs is not None
    assert [arc.dependent for arc in aligned.arcs] == [0, 2, 3, 4]
    empty = Words(np.array([(0, 1), (2, 2), (2, 7)]), np.array([-1, 0, 0]), ("dep",) * 3)
    thing = example(tokenizer_of("xlnet"), "x thing", words=(empty,))
    assert set(thing.word[~thing.special].tolist()) == {0, 2}  # a word without letters takes no piece
    nothing = Words(np.zeros((0, 2), np.int32), np.zeros(0, np.int32), ())
    none = example(tokenizer_of("gpt2"), "a b", words=(nothing,), arcs=True)
    assert (none.word == -1).all()
    assert none.arcs == ()


LONG = (
    "What did the committee decide? It was signed in Paris! " * 12,
    "committee" * 80,
    "a" + " " * 2500 + "b it " * 10,
)
"""Texts that are very long where a token has few characters and few are counted."""


@pytest.mark.parametrize("kind", KINDS)
def test_the_start_of_a_very_long_text_has_the_tokens_of_the_whole(
    kind: str, tokenizer_of: TokenizerOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer, other, short = tokenizer_of(kind), LONG[0][:500], "It was signed."
    inputs = [
        (texts, most)  # with one more token, the longer text keeps it
        for text in LONG
        for texts in ((text,), (text, short), (short, text), (text, other), (other, text))
        for most in (20, 21)
    ]
    whole = [one(tokenizer, *texts, most=most) for texts, most in inputs]
    cut = one(tokenizer, LONG[0] * 9, most=20)  # a parser gets whole words, up to a margin behind the last
    (part,), room = parsed_part(cut).texts, int(cut.spans[:, 1].max()) + tokens.MARGIN
    assert (LONG[0] * 9).startswith(f"{part} ")
    assert room - 20 < len(part) <= room
    for name, value in (("FAR", 1), ("LONG", 500), ("SPARE", 2)):
        monkeypatch.setattr(tokens, name, value)
    for (texts, most), wanted in zip(inputs, whole, strict=True):
        made = one(tokenizer, *texts, most=most)
        assert (made.tokens, made.truncated) == (wanted.tokens, wanted.truncated)
        assert (made.spans.tolist(), made.passage.texts) == (wanted.spans.tolist(), texts)
    left = tokenizer_of(kind)
    left.truncation_side = "left"  # a tokenizer that keeps the end gets all of a text
    end = one(left, f"{other}decide", most=20)
    assert end.spans[end.texts == 0][-1, 1] == len(other) + 6
