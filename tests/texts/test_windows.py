"""Windows cover documents word by word, keep sentences whole, and become passages."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroles.extraction import document_windows, join_words, sentence_starts, window_passage
from headroles.records import Document, Mention, Passage, Window
from tests.support import table


def document(lengths: list[int], **fields: str) -> Document:
    """Return sentences of some lengths, each word's head the one before it."""
    words = tuple(f"w{place}" for place in range(sum(lengths)))
    text, spans = join_words(words)
    sentences = sentence_starts(lengths)
    heads = np.arange(-1, len(words) - 1, dtype=np.int32)
    heads[sentences] = -1
    relations = tuple(f"r{place}" for place in range(len(words)))
    mentions = (Mention(0, 2, "a"), Mention(1, 2, "b"), Mention(2, 4, "c"))[: len(words) // 2]
    return Document("d", text, spans, words, sentences, heads, relations, mentions=mentions, **fields)


Case = tuple[list[int], list[int], int, int]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw lengths of sentences, pieces of words, size and stride."""
    lengths = draw(st.lists(st.integers(1, 7), min_size=1, max_size=8))
    counts = draw(st.lists(st.integers(0, 4), min_size=sum(lengths), max_size=sum(lengths)))
    size = draw(st.integers(1, 20))
    return lengths, counts, size, draw(st.integers(1, size))


@given(cases())
def test_windows_show_every_word_first_in_one_of_them_and_sentences_whole(case: Case) -> None:
    lengths, pieces, size, stride = case
    counts, stops = np.array(pieces), np.cumsum(lengths).tolist()
    windows = document_windows([document(lengths)], [counts], size, stride)
    fresh = [word for window in windows for word in range(window.fresh, window.stop)]
    assert fresh == list(range(len(counts)))
    for window in windows:
        assert window.start <= window.fresh < window.stop
        assert counts[window.start : window.stop].sum() <= size or window.size == 1
    for start, stop in pairwise([0, *stops]):  # a sentence that fits is whole where its words are fresh
        if counts[start:stop].sum() <= size:
            (home,) = [window for window in windows if window.fresh < stop and start < window.stop]
            assert home.start <= start < stop <= home.stop
    for before, after in pairwise(windows):
        assert after.fresh == before.stop
        assert before.start < after.start <= before.stop
        if after.start < before.stop:
            assert counts[before.start : after.start].sum() >= stride
            if after.start not in stops:  # inside a sentence, because none begins in what both show
                assert not [stop for stop in stops if after.start < stop < before.stop]
            continue
        last, following = before.stop - 1, next(stop for stop in stops if stop > before.stop)
        need = counts[before.stop : following].sum()
        need = need if need <= size else counts[before.stop]
        assert counts[last] + need > size or counts[before.start : last].sum() < stride


WINDOWS = table("""
    # sentences | pieces of a word | size | stride | start, stop and first fresh word of each window
    3 3 3 3 3   | 1                | 10   | 4      | 0 9 0, 6 15 9
    2 9 2       | 2                | 8    | 4      | 0 2 0, 2 6 2, 4 8 6, 7 11 8, 9 13 11
    1           | 9                | 4    | 2      | 0 1 0
    2 2         | 1                | 2    | 2      | 0 2 0, 2 4 2
""")


@pytest.mark.parametrize(("sentences", "pieces", "size", "stride", "wanted"), WINDOWS)
def test_windows_begin_at_sentences_a_stride_apart_and_long_sentences_are_cut_at_words(
    sentences: str, pieces: str, size: str, stride: str, wanted: str
) -> None:
    own = document([int(length) for length in sentences.split()])
    counts = np.full(len(own.words), int(pieces))
    windows = document_windows([own], [counts], int(size), int(stride))
    bounds = ", ".join(f"{window.start} {window.stop} {window.fresh}" for window in windows)
    assert bounds == wanted
    whole = len(windows) == 1
    assert [window.key for window in windows] == [f"d{'' if whole else f'@{w.start}'}" for w in windows]


def test_a_long_word_is_alone_and_a_passage_with_candidates_is_one_window_cut_at_the_size() -> None:
    alone = document_windows([document([3])], [np.array([1, 9, 1])], size=4, stride=2)
    assert [(window.start, window.stop, window.fresh) for window in alone] == [
        (0, 1, 0),
        (1, 2, 1),
        (2, 3, 2),
    ]
    for layout in ("gap", "winobias"):
        for size, key in ((8, "d"), (5, "d@0")):
            (window,) = document_windows([document([4, 4], layout=layout)], [np.ones(8, int)], size, 2)
            assert (window.start, window.stop, window.fresh) == (0, size, 0)
            assert window.key == key


def words_of(passage: Passage) -> tuple[list[str], list[int], tuple[str, ...]]:
    """Return words, heads and relations of a passage."""
    assert passage.words is not None
    (words,) = passage.words
    return (
        [passage.texts[0][start:stop] for start, stop in words.spans.tolist()],
        words.heads.tolist(),
        words.relations,
    )


def test_a_window_becomes_a_passage_with_the_arcs_and_mentions_inside_it() -> None:
    passage = window_passage(Window(document([3, 2]), 1, 4, 1))
    assert (passage.key, passage.texts, passage.group) == ("d@1", ("w1 w2 w3",), "d")
    assert words_of(passage) == (["w1", "w2", "w3"], [-1, 0, -1], ("r1", "r2", "r3"))
    assert passage.mentions == (Mention(0, 1, "b"),)
    text, spans = join_words(("a", "b"))
    heads = np.array([1, -1])
    backwards = Document("b", text, spans, ("a", "b"), sentence_starts([2]), heads, group="g")
    half = window_passage(Window(backwards, 0, 1, 0))
    assert words_of(half) == (["a"], [-1], ("",))
    assert (half.group, half.mentions) == ("g", None)
    text, spans = join_words(["Yes", "."], [False, False])
    bare = window_passage(Window(Document("d", text, spans, ("Yes", "."), sentence_starts([2])), 0, 2, 0))
    assert (bare.key, bare.texts) == ("d", ("Yes.",))
    assert words_of(bare) == (["Yes", "."], [-1, -1], ("", ""))
