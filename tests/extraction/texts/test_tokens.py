"""Tokens know their text, their word and whether they are special, whatever tokenizer made them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import processors

from headroles import Example
from headroles.errors import BadInput
from headroles.extraction.parsing.pipeline import load_parser, parse_texts
from headroles.extraction.texts import tokens
from headroles.extraction.texts.tokens import Tokenised, example_of, parsed_part, tokenise
from headroles.records.passage import Passage, Words
from tests.support.reference import draws

TokenizerOf = Callable[[str], Any]
KINDS = ("bert", "roberta", "gpt2", "t5", "xlnet")
PAIR = ("What did the committee decide?", "It was signed in Paris!")
SIGNS = "aeiost .,-'!  éßñ\u0301\u0308日本語ة😀🎉👍\u200d\ufe0f\t\n\u00a0\u3000İǆ½"


def _one(tokenizer: Any, *texts: str, most: int = 512) -> Tokenised:
    (made,) = tokenise(tokenizer, [Passage("made/0", texts)], most)
    return made


def _example(tokenizer: Any, *texts: str, most: int = 512) -> Example:
    return example_of(_one(tokenizer, *texts, most=most), None, False)


def _blank_separated(text: str) -> Words:
    """Words as they stand between blanks, each a root."""
    spans, start = [], None
    for place, sign in enumerate(text + " "):
        if sign.isspace() and start is not None:
            spans.append((start, place))
            start = None
        elif not sign.isspace() and start is None:
            start = place
    return Words(
        np.array(spans, dtype=np.int32).reshape(-1, 2),
        np.full(len(spans), -1, dtype=np.int32),
        ("root",) * len(spans),
    )


@pytest.mark.parametrize(
    ("kind", "front", "between", "end", "first"),
    [
        ("bert", ["[CLS]"], ["[SEP]"], ["[SEP]"], "[CLS]"),
        ("roberta", ["<s>"], ["</s>", "</s>"], ["</s>"], "<s>"),
        ("gpt2", [], [], [], None),
        ("t5", [], ["</s>"], ["</s>"], None),
        ("xlnet", [], ["<sep>"], ["<sep>", "<cls>"], "<cls>"),
    ],
)
def test_special_tokens_are_those_the_tokenizer_added(
    kind: str,
    front: list[str],
    between: list[str],
    end: list[str],
    first: str | None,
    tokenizer_of: TokenizerOf,
) -> None:
    example = _example(tokenizer_of(kind), *PAIR)
    texts = example.segment.tolist()
    a, b = texts.index(0), texts.index(1)
    last_a, last_b = max(k for k, text in enumerate(texts) if text == 0), len(texts) - texts[::-1].index(1)
    assert list(example.tokens[:a]) == front
    assert list(example.tokens[last_a + 1 : b]) == between
    assert list(example.tokens[last_b:]) == end
    assert set(texts[a : last_a + 1]) == {0}
    assert set(texts[b:last_b]) == {1}
    assert example.special.tolist() == [text < 0 for text in texts]
    assert [example.tokens[k] for k in np.flatnonzero(example.first)] == ([] if first is None else [first])
    assert (example.special | ~example.first).all()
    assert (example.word == -1).all()
    assert example.texts == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_text_is_text_0_between_its_special_tokens(kind: str, tokenizer_of: TokenizerOf) -> None:
    example = _example(tokenizer_of(kind), PAIR[0])
    assert example.texts == 1
    assert set(example.segment.tolist()) == {0} | ({-1} if kind != "gpt2" else set())
    assert example.special.sum() == {"bert": 2, "roberta": 2, "gpt2": 0, "t5": 1, "xlnet": 2}[kind]


def test_texts_are_told_by_sequence_ids_where_token_types_say_nothing(tokenizer_of: TokenizerOf) -> None:
    made = _one(tokenizer_of("roberta"), *PAIR)
    assert "token_type_ids" not in made.inputs
    assert set(made.texts.tolist()) == {-1, 0, 1}
    bert = _one(tokenizer_of("bert"), *PAIR)
    types = np.array(bert.inputs["token_type_ids"])
    assert (types[bert.texts == 1] == 1).all()
    assert types[-1] == 1
    assert bert.texts[-1] == -1
    xlnet = _one(tokenizer_of("xlnet"), *PAIR)
    assert xlnet.inputs["token_type_ids"][-1] == 2


def test_an_opening_special_token_is_first_where_no_class_token_is_named(tokenizer_of: TokenizerOf) -> None:
    tokenizer = tokenizer_of("bert")
    tokenizer.cls_token = None
    assert np.flatnonzero(_example(tokenizer, *PAIR).first).tolist() == [0]
    tokenizer = tokenizer_of("xlnet")
    tokenizer.cls_token = None
    assert not _example(tokenizer, *PAIR).first.any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("literal", ["[SEP]", "[CLS]", "</s>", "<s>", "<|endoftext|>", "<sep>", "<cls>"])
def test_special_tokens_written_in_a_text_stay_text(
    kind: str, literal: str, tokenizer_of: TokenizerOf
) -> None:
    tokenizer = tokenizer_of(kind)
    usual = _example(tokenizer, "a house", "a cat")
    written = _example(tokenizer, f"a {literal} house", f"a cat {literal}")
    assert written.special.sum() == usual.special.sum()
    assert written.first.sum() == usual.first.sum()
    borders = [written.tokens[k] for k in np.flatnonzero(written.special)]
    assert borders == [usual.tokens[k] for k in np.flatnonzero(usual.special)]
    if kind in ("bert", "roberta", "gpt2"):
        assert literal not in [written.tokens[k] for k in np.flatnonzero(~written.special)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_longest_text_is_cut_first_and_the_cut_is_noted(kind: str, tokenizer_of: TokenizerOf) -> None:
    tokenizer = tokenizer_of(kind)
    short, long = "the cat", "the committee signed it " * 8
    whole, cut = _one(tokenizer, long, short), _one(tokenizer, long, short, most=24)
    assert not whole.truncated
    assert cut.truncated
    assert cut.size == 24
    assert (cut.texts == 1).sum() == (whole.texts == 1).sum()
    assert (cut.texts == 0).sum() < (whole.texts == 0).sum()
    assert (cut.texts < 0).sum() == (whole.texts < 0).sum()
    fits = _one(tokenizer, long, short, most=whole.size)
    assert not fits.truncated
    assert fits.tokens == whole.tokens
    assert _one(tokenizer, long, most=12).truncated


@pytest.mark.parametrize("kind", KINDS)
def test_words_left_whole_by_a_cut_keep_their_numbers(kind: str, tokenizer_of: TokenizerOf) -> None:
    tokenizer, text = tokenizer_of(kind), "the committee signed it in Paris after a long debate"
    words = (_blank_separated(text), _blank_separated(text))
    whole = example_of(_one(tokenizer, text, text), words, True)
    cut = example_of(_one(tokenizer, text, text, most=24), words, True)
    assert set(whole.word[whole.segment == 0].tolist()) == set(range(10))
    assert set(whole.word[whole.segment == 1].tolist()) == set(range(10, 20))
    kept = cut.word[cut.segment == 1]
    assert kept.tolist() == whole.word[whole.segment == 1][: len(kept)].tolist()
    assert kept.min() == 10


@pytest.mark.parametrize("kind", KINDS)
def test_words_are_pieces_with_one_number_counted_on_over_both_texts(
    kind: str, tokenizer_of: TokenizerOf
) -> None:
    texts = ("She can't believe it!", "unbelievable, re-opening")
    spans = ([(0, 3), (4, 6), (6, 9), (10, 17), (18, 20), (20, 21)], [(0, 12), (12, 13), (14, 24)])
    words = tuple(
        Words(np.array(each), np.array([k - 1 for k in range(len(each))]), ("dep",) * len(each))
        for each in spans
    )
    example = example_of(_one(tokenizer_of(kind), *texts), words, True)
    assert (example.word[example.special] == -1).all()
    assert (np.diff(example.word[~example.special]) >= 0).all()
    assert set(example.word[example.segment == 1].tolist()) == {6, 7, 8}
    assert example.arcs is not None
    arcs = [(arc.dependent, arc.head, arc.relation) for arc in example.arcs]
    first = [(1, 0), (2, 1), (3, 2), (4, 3), (5, 4)]
    assert arcs == [(*arc, "dep") for arc in (*first, (7, 6), (8, 7))]
    assert example_of(_one(tokenizer_of(kind), *texts), words, False).arcs is None


def test_a_piece_goes_to_the_word_of_its_first_visible_character(tokenizer_of: TokenizerOf) -> None:
    made = _one(tokenizer_of("gpt2"), "a  b c ")
    words = _blank_separated("a  b c ")
    word = example_of(made, (words,), False).word
    assert dict(zip(made.tokens, word.tolist(), strict=True))["a"] == 0
    by_span = {
        tuple(span): (token, number)
        for span, token, number in zip(made.spans.tolist(), made.tokens, word.tolist(), strict=True)
    }
    assert by_span[1, 2] == ("Ġ", 1)
    assert by_span[6, 7] == ("Ġ", 2)
    assert word.tolist() == sorted(word.tolist())


def test_a_token_of_two_words_belongs_to_the_word_of_its_first_letter(tokenizer_of: TokenizerOf) -> None:
    made = _one(tokenizer_of("bert"), "a look at it")
    assert made.tokens[1:-1] == ("a", "look", "at", "it")
    spans = np.array([(0, 1), (2, 4), (4, 6), (7, 9), (10, 12)])  # "lo" and "ok" of "look"
    words = Words(spans, np.array([1, -1, 1, 4, 1]), ("det", "root", "dep", "case", "obl"))
    example = example_of(made, (words,), True)
    assert example.word[1:-1].tolist() == [0, 1, 3, 4]
    assert example.arcs is not None
    assert [arc.dependent for arc in example.arcs] == [0, 2, 3, 4]


def test_a_word_without_letters_of_its_own_takes_no_piece(tokenizer_of: TokenizerOf) -> None:
    text, relations = "x thing", ("dep",) * 3
    words = Words(np.array([(0, 1), (2, 2), (2, 7)]), np.array([-1, 0, 0]), relations)
    tokenizer = tokenizer_of("xlnet")
    made = _one(tokenizer, text)
    assert any(text[start:end].startswith(" ") for start, end in made.spans.tolist())
    assert set(example_of(made, (words,), False).word[~(made.texts < 0)].tolist()) == {0, 2}


@pytest.mark.parametrize("kind", KINDS)
def test_emoji_of_several_byte_pieces_are_one_word(kind: str, tokenizer_of: TokenizerOf) -> None:
    text = "so 😀👍 good"
    made = _one(tokenizer_of(kind), text)
    word = example_of(made, (_blank_separated(text),), False).word[made.texts == 0]
    assert sorted(set(word.tolist())) == [0, 1, 2]
    if kind in ("roberta", "gpt2"):
        assert (word == 1).sum() >= 8


@settings(max_examples=draws(150))
@given(
    kind=st.sampled_from(KINDS),
    texts=st.lists(st.text(SIGNS, min_size=1, max_size=40).filter(str.strip), min_size=1, max_size=2),
)
def test_no_piece_crosses_to_a_wrong_word(kind: str, texts: list[str], tokenizer_of: TokenizerOf) -> None:
    made = _one(tokenizer_of(kind), *texts, most=512)
    words = tuple(_blank_separated(text) for text in texts)
    example = example_of(made, words, False)
    base = [0, len(words[0].heads)]
    for place in np.flatnonzero(~example.special):
        text = int(made.texts[place])
        start, end = made.spans[place].tolist()
        own = int(example.word[place]) - base[text]
        assert 0 <= own < len(words[text].heads)
        visible = [k for k in range(start, end) if not texts[text][k].isspace()]
        low, high = words[text].spans[own]
        if visible:
            assert low <= visible[0] < high
        elif (words[text].spans[:, 0] >= end).any():
            assert own == int(np.flatnonzero(words[text].spans[:, 1] > start)[0])
        else:
            assert own == len(words[text].heads) - 1
    if kind in ("roberta", "gpt2"):
        assert set(example.word[~example.special].tolist()) == set(range(sum(len(w.heads) for w in words)))


def test_a_piece_without_words_around_it_is_no_word(tokenizer_of: TokenizerOf) -> None:
    nothing = Words(np.zeros((0, 2), dtype=np.int32), np.zeros(0, dtype=np.int32), ())
    example = example_of(_one(tokenizer_of("gpt2"), "a b"), (nothing,), True)
    assert (example.word == -1).all()
    assert example.arcs == ()


def test_a_slow_tokenizer_is_refused(tokenizer_of: TokenizerOf) -> None:
    class Slow:
        is_fast = False

    with pytest.raises(BadInput, match=r"needs a fast tokenizer.*but Slow is not one; save the model with"):
        tokenise(Slow(), [Passage("made/0", ("text",))], 16)


def test_an_input_without_any_token_is_refused(tokenizer_of: TokenizerOf) -> None:
    bare = tokenizer_of("bert")
    bare.backend_tokenizer.post_processor = processors.Sequence([])
    with pytest.raises(BadInput, match=r"at least one token, but \w+ makes none of 'made/0'"):
        _one(bare, "\u200b")


def test_nothing_in_is_nothing_out(tokenizer_of: TokenizerOf) -> None:
    assert tokenise(tokenizer_of("bert"), [], 16) == []


LONG_TEXTS = {
    "sentences": "What did the committee decide? It was signed in Paris! " * 12,
    "one word": "committee" * 80,
    "blanks": "a" + " " * 2500 + "b committee decide " * 10,
    "shorter": "What did the committee decide? It was signed in Paris! " * 10,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LONG_TEXTS)
def test_the_start_of_a_very_long_text_has_the_tokens_of_the_whole(
    kind: str, name: str, tokenizer_of: TokenizerOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer, text, other = tokenizer_of(kind), LONG_TEXTS[name], LONG_TEXTS["sentences"]
    inputs = [(text,), (text, "It was signed."), ("It was signed.", text), (text, other), (other, text)]
    lengths = (20, 21)  # the longer text keeps one token more
    whole = [_one(tokenizer, *texts, most=most) for texts in inputs for most in lengths]
    monkeypatch.setattr(tokens, "FAR", 1)
    monkeypatch.setattr(tokens, "LONG", 500)
    monkeypatch.setattr(tokens, "SPARE", 2)
    calls = [(texts, most) for texts in inputs for most in lengths]
    for (texts, most), wanted in zip(calls, whole, strict=True):
        got = _one(tokenizer, *texts, most=most)
        assert got.tokens == wanted.tokens
        assert got.spans.tolist() == wanted.spans.tolist()
        assert got.truncated == wanted.truncated
        assert got.passage.texts == texts


class _Counted:
    """A tokenizer that counts the characters it gets."""

    is_fast = True

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer, self.characters, self.parts = tokenizer, 0, 0

    def __call__(self, *columns: list[str], **options: Any) -> Any:
        self.characters += sum(len(text) for column in columns for text in column)
        batch = self._tokenizer(*columns, **options)
        self.parts = sum(len(encoding.overflowing) for encoding in batch.encodings)
        return batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)


def test_a_text_of_millions_of_characters_is_not_tokenised_whole(tokenizer_of: TokenizerOf) -> None:
    counted = _Counted(tokenizer_of("bert"))
    made = _one(counted, "It was signed in Paris! " * 200_000, most=48)
    assert made.size == 48
    assert made.truncated
    assert 0 < counted.characters <= 1.1 * tokens.LONG


def test_two_long_texts_are_not_paired_part_by_part(tokenizer_of: TokenizerOf) -> None:
    counted = _Counted(tokenizer_of("gpt2"))
    made = _one(counted, "It was signed. " * 4_000, "日本" * 30_000, most=20)
    assert (made.texts == 0).sum() == (made.texts == 1).sum() == 10
    assert counted.parts < 1000  # rather than thousands of thousands


def test_a_tokenizer_that_keeps_the_end_of_a_text_gets_all_of_it(
    tokenizer_of: TokenizerOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "FAR", 1)
    tokenizer = tokenizer_of("bert")
    tokenizer.truncation_side = "left"
    text = LONG_TEXTS["sentences"] + "naïve"
    assert _one(tokenizer, text, most=20).spans[-2, 1] == len(text)


def test_a_parser_reads_little_beyond_the_tokens_of_an_input_that_was_cut(tokenizer_of: TokenizerOf) -> None:
    tokenizer, text = tokenizer_of("bert"), LONG_TEXTS["sentences"] * 20
    made = _one(tokenizer, text, "It was signed.", most=30)
    first, second = parsed_part(made).texts
    end = made.spans[made.texts == 0, 1].max()
    assert end + tokens.MARGIN // 2 < len(first) <= end + tokens.MARGIN
    assert text.startswith(first + " ")
    assert second == "It was signed."
    unbroken = _one(tokenizer_of("gpt2"), "committee" * 3000, most=30)
    assert len(parsed_part(unbroken).texts[0]) == unbroken.spans[:, 1].max() + tokens.MARGIN


def test_what_was_not_cut_or_has_words_of_its_own_is_parsed_as_it_is(tokenizer_of: TokenizerOf) -> None:
    tokenizer, text = tokenizer_of("bert"), LONG_TEXTS["sentences"] * 10
    whole = _one(tokenizer, text, most=10_000)
    assert parsed_part(whole) is whole.passage
    (gold,) = tokenise(tokenizer, [Passage("gold", (text * 3,), None, (_blank_separated(text * 3),))], 20)
    assert parsed_part(gold) is gold.passage


def test_words_of_an_input_that_was_cut_have_the_heads_of_the_whole_text(tokenizer_of: TokenizerOf) -> None:
    parser, _ = load_parser(None)
    text = "The small dog saw a cat in the rain. It slept, and who did it? " * 200
    made = _one(tokenizer_of("bert"), text, most=60)
    (part,), (whole,) = (list(parse_texts(parser, [each])) for each in (parsed_part(made).texts[0], text))
    assert len(part.heads) < len(whole.heads) / 2
    last = int(example_of(made, (part,), True).word.max())
    assert last > 8
    assert example_of(made, (part,), True).word.tolist() == example_of(made, (whole,), True).word.tolist()
    assert part.heads[: last + 1].tolist() == whole.heads[: last + 1].tolist()
    assert part.relations[: last + 1] == whole.relations[: last + 1]
