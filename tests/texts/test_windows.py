"""Windows cover documents word by word, keep sentences whole, and become passages."""

from pathlib import Path

import numpy as np

from headroles.extraction import document_windows, join_words, sentence_starts, window_passage
from headroles.records import Document, Mention, Passage, Window
from tests.support.texts import sections, spelled


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


def test_windows_begin_at_sentences_a_stride_apart_and_long_sentences_are_cut_at_words() -> None:
    for sentences, pieces, size, stride, wanted in sections(Path(__file__).with_name("tables.txt"))[
        "windows"
    ]:
        own = document([int(length) for length in sentences.split()])
        counts = np.full(len(own.words), int(pieces))
        windows = document_windows([own], [counts], int(size), int(stride))
        assert ", ".join(f"{each.start} {each.stop} {each.fresh}" for each in windows) == wanted
        whole = len(windows) == 1
        assert [each.key for each in windows] == [f"d{'' if whole else f'@{each.start}'}" for each in windows]


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
    return spelled(passage.texts[0], words), words.heads.tolist(), words.relations


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
