"""Windows cover documents word by word, keep sentences whole, and become passages."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroles.errors import BadInput
from headroles.extraction.gold.read import read_documents
from headroles.extraction.texts.conllu import read_conllu
from headroles.extraction.texts.lines import join_words, sentence_starts
from headroles.extraction.texts.windows import document_windows, sentence_windows, window_passage
from headroles.records.documents import Document, Window


def _document(lengths: list[int], key: str = "d", **fields: str) -> Document:
    """Sentences of some lengths, each word's head the one before it."""
    words = tuple(f"w{k}" for k in range(sum(lengths)))
    text, spans = join_words(words)
    sentences = sentence_starts(lengths)
    heads = np.arange(-1, len(words) - 1, dtype=np.int32)
    heads[sentences] = -1
    relations = tuple(f"r{k}" for k in range(len(words)))
    return Document(key, text, spans, words, sentences, heads, relations, **fields)  # type: ignore[arg-type]


def _bounds(windows: list[Window]) -> list[tuple[int, int, int]]:
    return [(window.start, window.stop, window.fresh) for window in windows]


Case = tuple[list[int], list[int], int, int]


@st.composite
def _cases(draw: st.DrawFn) -> Case:
    """Lengths of sentences, pieces of words, size and stride."""
    lengths = draw(st.lists(st.integers(1, 7), min_size=1, max_size=8))
    counts = draw(st.lists(st.integers(0, 4), min_size=sum(lengths), max_size=sum(lengths)))
    size = draw(st.integers(1, 20))
    return lengths, counts, size, draw(st.integers(1, size))


def _windows(case: Case) -> tuple[list[Window], np.ndarray, list[int]]:
    """Windows of a case, its pieces, and where its sentences stop."""
    lengths, pieces, size, stride = case
    counts = np.array(pieces)
    windows = document_windows([_document(lengths)], [counts], size, stride)
    return windows, counts, np.cumsum(lengths).tolist()


@given(_cases())
def test_every_word_is_fresh_in_one_window_of_the_size(case: Case) -> None:
    windows, counts, _ = _windows(case)
    _, _, size, stride = case
    fresh = [word for window in windows for word in range(window.fresh, window.stop)]
    assert fresh == list(range(len(counts)))
    for window in windows:
        assert window.start <= window.fresh < window.stop
        assert counts[window.start : window.stop].sum() <= size or window.size == 1
    for before, after in pairwise(windows):
        assert after.fresh == before.stop
        assert before.start < after.start <= before.stop
        apart = counts[before.start : after.start].sum()
        assert apart >= stride or after.start == before.stop


@given(_cases())
def test_a_sentence_that_fits_is_whole_where_its_words_are_fresh(case: Case) -> None:
    windows, counts, stops = _windows(case)
    for start, stop in pairwise([0, *stops]):
        if counts[start:stop].sum() <= case[2]:
            (home,) = [each for each in windows if each.fresh < stop and start < each.stop]
            assert home.start <= start
            assert stop <= home.stop


@given(_cases())
def test_windows_overlap_where_stride_and_the_next_sentence_leave_room(case: Case) -> None:
    windows, counts, stops = _windows(case)
    _, _, size, stride = case
    for before, after in pairwise(windows):
        if after.start == before.stop:
            last = before.stop - 1
            following = next(stop for stop in stops if stop > before.stop)
            need = counts[before.stop : following].sum()
            need = need if need <= size else counts[before.stop]
            assert counts[last] + need > size or counts[before.start : last].sum() < stride
        elif after.start not in stops:
            assert not [stop for stop in stops if after.start < stop < before.stop]


def test_windows_start_at_sentences_a_stride_apart() -> None:
    document = _document([3, 3, 3, 3, 3])
    windows = document_windows([document], [np.ones(15, dtype=int)], size=10, stride=4)
    assert _bounds(windows) == [(0, 9, 0), (6, 15, 9)]
    assert [window.key for window in windows] == ["d@0", "d@6"]


def test_a_sentence_longer_than_a_window_is_cut_at_words() -> None:
    document = _document([2, 9, 2])
    windows = document_windows([document], [np.full(13, 2)], size=8, stride=4)
    assert _bounds(windows) == [(0, 2, 0), (2, 6, 2), (4, 8, 6), (7, 11, 8), (9, 13, 11)]


def test_a_word_longer_than_a_window_is_alone_in_it() -> None:
    windows = document_windows([_document([3])], [np.array([1, 9, 1])], size=4, stride=2)
    assert _bounds(windows) == [(0, 1, 0), (1, 2, 1), (2, 3, 2)]


@pytest.mark.parametrize("layout", ["gap", "winobias"])
def test_a_passage_with_candidates_is_one_window_cut_at_the_size(layout: str) -> None:
    document = _document([4, 4], layout=layout)
    whole, cut = (document_windows([document], [np.ones(8, dtype=int)], size, 2) for size in (8, 5))
    assert (_bounds(whole), whole[0].key) == ([(0, 8, 0)], "d")
    assert _bounds(cut) == [(0, 5, 0)]


@pytest.mark.parametrize(("size", "stride"), [(4, 5), (4, 0), (0, 0), (3, -1)])
def test_a_stride_beyond_the_size_is_refused(size: int, stride: int) -> None:
    with pytest.raises(
        BadInput, match=rf"stride of windows must lie between 1 .* {stride} with a size of {size}"
    ):
        document_windows([_document([2])], [np.ones(2, dtype=int)], size, stride)


def test_pieces_are_one_number_per_word() -> None:
    with pytest.raises(BadInput, match=r"so 2 for document 'd', but got numbers of shape \(3,\)"):
        document_windows([_document([2])], [np.ones(3, dtype=int)], 4, 2)


def test_a_window_becomes_a_passage_with_the_arcs_inside_it() -> None:
    document = _document([3, 2])
    passage = window_passage(Window(document, 1, 4, 1))
    assert (passage.key, passage.texts, passage.group) == ("d@1", ("w1 w2 w3",), "d")
    assert passage.words is not None
    (words,) = passage.words
    assert [passage.texts[0][start:stop] for start, stop in words.spans.tolist()] == ["w1", "w2", "w3"]
    assert words.heads.tolist() == [-1, 0, -1]
    assert words.relations == ("r1", "r2", "r3")
    backwards = Document(
        "b", "a b", document.spans[:2], ("a", "b"), sentence_starts([2]), np.array([1, -1]), group="g"
    )
    half = window_passage(Window(backwards, 0, 1, 0))
    assert half.words is not None
    assert (half.words[0].heads.tolist(), half.words[0].relations, half.group) == ([-1], ("",), "g")


def test_a_document_without_trees_becomes_a_passage_without_arcs() -> None:
    text, spans = join_words(["Yes", "."], [False, False])
    document = Document("d", text, spans, ("Yes", "."), sentence_starts([2]))
    passage = window_passage(Window(document, 0, 2, 0))
    assert (passage.key, passage.texts) == ("d", ("Yes.",))
    assert passage.words is not None
    assert passage.words[0].heads.tolist() == [-1, -1]
    assert passage.words[0].relations == ("", "")


def test_sentence_windows_give_the_sentences_that_labelling_reads(shared: Path) -> None:
    path = shared / "data" / "ud_english_gum" / "en_gum-ud-dev.conllu.gz"
    passages = read_conllu(path, "dev")
    windows = sentence_windows(read_documents(path, "dev"))
    assert len(windows) == len(passages) == 1_575
    for window, passage in zip(windows, passages, strict=True):
        ours = window_passage(window)
        assert ours.texts == passage.texts
        assert ours.group == f"dev/{passage.group}"
        assert ours.words is not None
        assert passage.words is not None
        assert (ours.words[0].spans == passage.words[0].spans).all()
        assert (ours.words[0].heads == passage.words[0].heads).all()
        assert ours.words[0].relations == passage.words[0].relations
    assert len({window.key for window in windows}) == len(windows)
