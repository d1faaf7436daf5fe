"""Tokens know their text, their word and whether they are special, whatever tokenizer made them."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles import Example
from headroles.extraction import Tokenised, example_of, parse_texts, parsed_part, tokenise
from headroles.records import Passage, Words
from tests.support import table
from tests.support.reference import draws
from tests.support.texts import words_between_blanks

TokenizerOf = Callable[[str], Any]
KINDS = ("bert", "roberta", "gpt2", "t5", "xlnet")
PAIR = ("What did the committee decide?", "It was signed in Paris!")
SIGNS = "aeiost .,-'!  éßñ\u0301\u0308日本語ة😀🎉👍\u200d\ufe0f\t\n\u00a0\u3000İǆ½"
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


SPECIAL = table("""
    # kind  | in front | between     | at the end  | first | of one text
    bert    | [CLS]    | [SEP]       | [SEP]       | [CLS] | 2
    roberta | <s>      | </s> </s>   | </s>        | <s>   | 2
    gpt2    |          |             |             |       | 0
    t5      |          | </s>        | </s>        |       | 1
    xlnet   |          | <sep>       | <sep> <cls> | <cls> | 2
""")


@pytest.mark.parametrize(("kind", "front", "between", "end", "first", "single"), SPECIAL)
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
    counts = [[int((made.texts == text).sum()) for text in (-1, 0, 1)] for made in (whole, cut)]
    assert counts[0][::2] == counts[1][::2]
    assert counts[1][1] < counts[0][1]
    fits = one(tokenizer, long, short, most=whole.size)
    assert not fits.truncated
    assert fits.tokens == whole.tokens
    assert one(tokenizer, long, most=12).truncated
    text = "the committee signed it in Paris after a long debate"
    words = (words_between_blanks(text),) * 2
    whole_example, cut_example = (
        example_of(one(tokenizer, text, text, most=most), words, True) for most in (512, 24)
    )
    for number, base in ((0, 0), (1, 10)):
        kept = whole_example.word[whole_example.segment == number]
        left = cut_example.word[cut_example.segment == number]
        assert set(kept.tolist()) == set(range(base, base + 10))
        assert left.tolist() == kept[: len(left)].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_words_are_pieces_with_one_number_counted_on_over_both_texts(
    kind: str, tokenizer_of: TokenizerOf
) -> None:
    texts = ("She can't believe it!", "unbelievable, re-opening")
    spans = ([(0, 3), (4, 6), (6, 9), (10, 17), (18, 20), (20, 21)], [(0, 12), (12, 13), (14, 24)])
    words = tuple(
        Words(np.array(own), np.arange(-1, len(own) - 1), ("dep",) * len(own), upos=("X",) * len(own))
        for own in spans
    )
    made = example(tokenizer_of(kind), *texts, words=words, arcs=True)
    assert (made.word[made.special] == -1).all()
    assert (np.diff(made.word[~made.special]) >= 0).all()
    assert set(made.word[made.segment == 0].tolist()) == set(range(6))
    assert set(made.word[made.segment == 1].tolist()) == {6, 7, 8}
    assert made.upos == ("X",) * 9
    assert made.arcs is not None
    arcs = [(arc.dependent, arc.head, arc.relation) for arc in made.arcs]
    assert arcs == [(word, word - 1, "dep") for word in (1, 2, 3, 4, 5, 7, 8)]
    assert example(tokenizer_of(kind), *texts, words=words).arcs is None


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


@settings(max_examples=draws(150))
@given(
    kind=st.sampled_from(KINDS),
    texts=st.lists(st.text(SIGNS, min_size=1, max_size=40).filter(str.strip), min_size=1, max_size=2),
)
def test_no_piece_crosses_to_a_wrong_word(kind: str, texts: list[str], tokenizer_of: TokenizerOf) -> None:
    made = one(tokenizer_of(kind), *texts)
    words = tuple(words_between_blanks(text) for text in texts)
    aligned = example_of(made, words, False)
    base = [0, len(words[0].heads)]
    for place in np.flatnonzero(~aligned.special):
        text = int(made.texts[place])
        start, end = made.spans[place].tolist()
        own = int(aligned.word[place]) - base[text]
        assert 0 <= own < len(words[text].heads)
        visible = [sign for sign in range(start, end) if not texts[text][sign].isspace()]
        low, high = words[text].spans[own]
        if visible:
            assert low <= visible[0] < high
        elif (words[text].spans[:, 0] >= end).any():
            assert own == int(np.flatnonzero(words[text].spans[:, 1] > start)[0])
        else:
            assert own == len(words[text].heads) - 1
    if kind in ("roberta", "gpt2"):
        everything = set(range(sum(len(own.heads) for own in words)))
        assert set(aligned.word[~aligned.special].tolist()) == everything


LONG = {
    "sentences": "What did the committee decide? It was signed in Paris! " * 12,
    "one word": "committee" * 80,
    "blanks": "a" + " " * 2500 + "b committee decide " * 10,
    "shorter": "What did the committee decide? It was signed in Paris! " * 10,
}
"""Texts that are very long where a token has few characters and few are counted."""


@pytest.mark.parametrize("kind", KINDS)
def test_the_start_of_a_very_long_text_has_the_tokens_of_the_whole(
    kind: str, tokenizer_of: TokenizerOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer, other, short = tokenizer_of(kind), LONG["sentences"], "It was signed."
    inputs = [
        (texts, most)  # with one more token, the longer text keeps it
        for text in LONG.values()
        for texts in ((text,), (text, short), (short, text), (text, other), (other, text))
        for most in (20, 21)
    ]
    whole = [one(tokenizer, *texts, most=most) for texts, most in inputs]
    for name, value in (("FAR", 1), ("LONG", 500), ("SPARE", 2)):
        monkeypatch.setattr(tokens, name, value)
    for (texts, most), wanted in zip(inputs, whole, strict=True):
        made = one(tokenizer, *texts, most=most)
        assert made.tokens == wanted.tokens
        assert made.spans.tolist() == wanted.spans.tolist()
        assert made.truncated == wanted.truncated
        assert made.passage.texts == texts
    left = tokenizer_of(kind)
    left.truncation_side = "left"  # a tokenizer that keeps the end gets all of a text
    end = one(left, f"{other}decide", most=20)
    assert end.spans[end.texts == 0][-1, 1] == len(other) + 6


@pytest.mark.xdist_group("spacy")
def test_a_parser_reads_a_part_of_a_long_text_and_gives_the_same_words(
    tokenizer_of: TokenizerOf, parser: Any
) -> None:
    long = "The small dog saw a cat in the rain. It slept, and who did it? " * 120
    made = one(tokenizer_of("bert"), long, most=60)
    part, everything = parse_texts(parser, [parsed_part(made).texts[0], long])
    assert len(part.heads) < 0.7 * len(everything.heads)
    number = example_of(made, (part,), True).word
    last = int(number.max())
    assert number.tolist() == example_of(made, (everything,), True).word.tolist()
    assert part.heads[: last + 1].tolist() == everything.heads[: last + 1].tolist()
    assert part.relations[: last + 1] == everything.relations[: last + 1]
    whole = one(tokenizer_of("bert"), long, most=10_000)
    assert parsed_part(whole) is whole.passage
