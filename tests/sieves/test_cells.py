"""Cells of sieves as drawn by hand, kinds of mask, and names of relations."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from headroles import (
    Arc,
    Band,
    Cells,
    Every,
    Example,
    Keys,
    Lexical,
    MaskSieve,
    Match,
    Mention,
    Pairs,
    Same,
    Without,
)
from headroles.catalogue import sieve_of
from headroles.sieves import BUILT_IN, ON_REQUEST, PATTERNS
from tests.sieves.oracle import mask_of, scope_of
from tests.support.texts import sections

TABLES = sections(Path(__file__).with_name("tables.txt"))
# [CLS] a cat , a cat ##s [SEP] the cat runs , a a [SEP]; cats and cat share a lemma, cat and runs a vector.
WORDS = Example(
    "pair",
    ("[CLS]", "a", "cat", ",", "a", "cat", "##s", "[SEP]", "the", "cat", "runs", ",", "a", "a", "[SEP]"),
    segment=np.array([-1, 0, 0, 0, 0, 0, 0, -1, 1, 1, 1, 1, 1, 1, -1]),
    word=np.array([-1, 0, 1, 2, 3, 4, 4, -1, 5, 6, 7, 8, 9, 10, -1]),
    lexical=Lexical(
        lemmas=("a", "cat", ",", "a", "cat", "the", "cat", "", ",", "a", "a"),
        vectors=np.array([[0, 0], [0.6, 0.8]] + [[0, 0]] * 5 + [[0, 1]] + [[0, 0]] * 3, dtype=np.float32),
        frequency=np.array([9, 9, 4, 6, 9, 4, 1, 9, 7, 4, 1, 6, 9, 9, 9]),
    ),
)


def drawn(cells: np.ndarray) -> dict[int, list[int]]:
    """Return the keys of each query that has some."""
    return {i: np.flatnonzero(row).tolist() for i, row in enumerate(cells) if row.any()}


def read_keys(drawing: str, size: int) -> dict[int, list[int]]:
    """Return the keys of each query of a drawing."""
    keys: dict[int, list[int]] = {}
    for part in drawing.split():
        who, listed = part.split(":")
        for query in range(size) if who == "every" else [int(who)]:
            keys[query] = [int(key) for key in listed.split(",")]
    return keys


def test_keys_of_sieves_are_those_drawn_by_hand() -> None:
    found = {name: drawn(mask_of(name, WORDS)) for name, _ in TABLES["drawn"]}
    assert found == {name: read_keys(drawing, 15) for name, drawing in TABLES["drawn"]}
    assert found.keys() >= {*PATTERNS, *ON_REQUEST} - {"bag-of-words", "coreference"}


def _texts(tokens: str, **more: Any) -> Example:
    """Return an example of tokens, one word each; a bar begins the second text."""
    parts = [part.split() for part in tokens.split("|")]
    every = [token for part in parts for token in part]
    segment = np.array([text for text, part in enumerate(parts) for _ in part])
    return Example("made", tuple(every), segment=segment, word=np.arange(len(every)), **more)


def _turned(*cosines: float) -> Lexical:
    turn = np.arccos(cosines)
    return Lexical(vectors=np.stack([np.cos(turn), np.sin(turn)], axis=1).astype(np.float32))


def _lemmas(tokens: str, *lemmas: str) -> Example:
    return _texts(tokens, lexical=Lexical(lemmas=lemmas))


def _often(*counts: int, **more: Any) -> Example:
    return replace(_texts("a b c d", lexical=Lexical(frequency=np.array(counts))), **more)


INSIDE = np.array([-1, 0, 0, -1])
EDGES: list[tuple[str, Example, str]] = [
    # Lemmas in capitals are the same; words without one are as they are spelled, in lower case.
    ("related:other", _lemmas("Reds The oak | red the elm", "Red", "", "oak", "red", "", "elm"),
     "0:3 1:4 3:0 4:1"),
    # Vectors that are only a little alike are of unrelated words.
    ("related:other", _texts("a | b c d", lexical=_turned(1, 0.61, 0.59, 0)), "0:1 1:0"),
    # Marks are related to nothing, also where they are equal.
    ("related:other", _lemmas("a , | , a", "", "", "", ""), "0:3 3:0"),
    # A special token is never the rarest, and all of the rarest count.
    ("rare", _often(1, 9, 4, 1, segment=INSIDE, special=INSIDE < 0), "every:2"),
    ("rare", _often(2, 5, 2, 3), "every:0,2"),
    # In cross attention the rarest of each stack count.
    ("rare", _often(1, 2, 3, 4, stack=np.array([0, 0, 1, 1])), "every:0,2"),
    # Pieces of a word are completed by its last one.
    ("subword", Example("one", tuple("abcd"), word=np.array([0, 0, 0, 1])), "0:1,2 1:0,2 2:0,1"),
    ("subword:completing", Example("one", tuple("abcd"), word=np.array([0, 0, 0, 1])), "0:2 1:2"),
    # What follows a token is no induction where it is the query itself; a separator may follow one.
    ("induction", _texts("a a a"), "2:1"),
    ("induction", Example("across", ("a", "[SEP]", "a"), segment=np.array([0, -1, 1])), "2:1"),
    # Without special tokens the first token parks.
    ("parked", Example("plain", tuple("ab.c")), "every:0,2"),
    # A byte-level token is read as its text: é and 日 are two and three letters of it.
    ("related:other", _lemmas("ĠÃ©tÃ© Ġaæ\x97¥ | ĠÃ©tÃ© b", "", "", "été", "a日"), "0:2 2:0"),
    # Marks behind any boundary count; two marks are no single one, but punctuation all the same.
    ("punctuation", _texts("a ##. ▁, Ġ. .. ."), "every:1,2,3,5"),
    ("punctuation:all", _texts("a ... ? $ Ġ, l"), "every:1,2,4"),
    ("punctuation:?!?", _texts("? a ! ."), "every:0,2"),
]  # fmt: skip


def test_sieves_compare_all_keys_but_within_texts_and_each_query_asks_for_itself_but_of_words() -> None:
    texts, every = WORDS.segment >= 0, np.ones((15, 15), dtype=np.bool_)
    both = np.logical_and.outer(texts, texts)
    scopes = {"block": both, "local": both & np.equal.outer(WORDS.segment, WORDS.segment)}
    groups = {"block": WORDS.segment, "syntactic": WORDS.word}
    groups["parked"] = np.array([-1, 1, 2, -1, 4, 5, 6, -1, 8, 9, 10, -1, 12, 13, -1])
    for name in {*BUILT_IN, *PATTERNS, *ON_REQUEST} - {"bag-of-words", "coreference"}:
        room, asking = scope_of(name, WORDS)
        np.testing.assert_array_equal(room, scopes.get(name, every), err_msg=name)
        wanted = groups.get(name.partition(":")[0], np.arange(15))
        np.testing.assert_array_equal(asking, wanted, err_msg=name)


def test_edges_of_sieves_are_those_drawn_by_hand() -> None:
    for name, example, drawing in EDGES:
        assert drawn(mask_of(name, example)) == read_keys(drawing, example.size), (name, drawing)


# Coreference. Words 0 her, 1 aunt, 2 saw, 3 Ann (two pieces), 4 and, 5 Bob, 6 she.

STORY = Example(
    "story",
    ("[CLS]", "her", "aunt", "saw", "An", "##n", "and", "Bob", "she", "[SEP]"),
    segment=np.array([-1, 0, 0, 0, 0, 0, 0, 0, 0, -1]),
    word=np.array([-1, 0, 1, 2, 3, 3, 4, 5, 6, -1]),
    mentions=(
        Mention(0, 2, "aunt"),
        Mention(0, 1, "ann"),
        Mention(3, 6, "both"),
        Mention(3, 4, "ann"),
        Mention(5, 6, "bob"),
        Mention(6, 7, "aunt"),
    ),
)


def test_cells_of_coreference_are_those_of_other_mentions_of_the_entity() -> None:
    found = sieve_of("coreference")
    assert isinstance(found, MaskSieve)
    assert found.groups is not None
    assert found.scope is not None
    assert found.groups(STORY).tolist() == [-1, 1, 0, -1, 3, 3, 2, 4, 5, -1]
    assert drawn(mask_of("coreference", STORY)) == read_keys("1:4,5 2:8 4:1 5:1 8:1,2", 10)
    scope = "1:2,4,5,6,7,8 2:4,5,6,7,8 4:1,2,6,7,8 5:1,2,6,7,8 6:1,2,8 7:1,2,4,5,6,8 8:1,2,4,5,6,7"
    assert drawn(found.scope(STORY).rows(0, 10)) == read_keys(scope, 10)
    short = Example("short", STORY.tokens[:6], word=STORY.word[:6], mentions=STORY.mentions)  # words are cut
    assert drawn(mask_of("coreference", short)) == read_keys("1:4,5 4:1 5:1", 6)


def test_a_plain_name_covers_its_subtypes_and_a_subtype_only_itself_in_both_schemes() -> None:
    for relation, name, covered in TABLES["covered"]:
        example = _texts("a b c", arcs=(Arc(0, 1, relation),))
        assert mask_of(name, example).any() == (covered == "yes"), (relation, name)


def test_marks_of_tokenizers_are_no_part_of_a_token_unless_they_are_all_of_it() -> None:
    for token in ("##,", "Ġ,", "▁,", ",</w>", ",", "##Ġ,"):
        assert drawn(mask_of("punctuation", Example("one", (token, "a")))) == {0: [0], 1: [0]}
    for token in ("##", "▁", "▁▁", "Ã", "日", "##ing"):
        assert not mask_of("punctuation", Example("one", (token, "a"))).any()
        assert drawn(mask_of("identical", Example("twice", (token, token)))) == {0: [1], 1: [0]}


def test_kinds_of_mask_give_the_rows_that_they_are_asked_for() -> None:
    n, place = 13, np.arange(13)
    offset = place[None, :] - place[:, None]
    band, keys = (offset >= -1) & (offset <= 3), place % 3 == 1
    labels, target = place % 4 - 1, (place + 2) % 5 - 1
    same = np.equal.outer(labels, labels) & (labels >= 0)
    match = np.equal.outer(target, labels) & (labels >= 0)
    every_key, (query, key) = np.broadcast_to(keys, (n, n)), np.nonzero(band)
    kinds: list[tuple[Any, np.ndarray]] = [
        (Band(-1, 3, n), band),
        (Same(labels), same),
        (Match(target, labels), match),
        (Pairs(query, key, n), band),
        (Keys(keys), every_key),
        (Cells(match), match),
        (Every((Band(-1, 3, n), Same(labels), Keys(keys))), band & same & every_key),
        (Without(Band(-1, 3, n), Keys(keys)), band & ~every_key),
        (Without(Every((Keys(keys), Cells(band))), Same(labels)), every_key & band & ~same),
    ]
    for mask, cells in kinds:
        for start, stop in ((0, n), (0, 1), (4, 9), (12, 13), (5, 5)):
            rows = mask.rows(start, stop)
            assert rows.dtype == np.bool_
            np.testing.assert_array_equal(rows, cells[start:stop])
