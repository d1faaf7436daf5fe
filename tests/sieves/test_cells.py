"""Cells of sieves as drawn by hand, kinds of mask, and names of relations."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

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
from headroles.sieves import ON_REQUEST, PATTERNS
from tests.support import table

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
DRAWN = table(
    """
# sieve            | keys of each query; "every" stands for all fifteen queries
next               | 0:1 1:2 2:3 3:4 4:5 5:6 6:7 7:8 8:9 9:10 10:11 11:12 12:13 13:14
previous           | 1:0 2:1 3:2 4:3 5:4 6:5 7:6 8:7 9:8 10:9 11:10 12:11 13:12 14:13
self               | 0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7 8:8 9:9 10:10 11:11 12:12 13:13 14:14
offset:-3          | 3:0 4:1 5:2 6:3 7:4 8:5 9:6 10:7 11:8 12:9 13:10 14:11
offset:+12         | 0:12 1:13 2:14
first              | every:0
delimiter          | every:0,7,14
delimiter:cls      | every:0
delimiter:sep      | every:7,14
parked             | every:0,3,7,11,14
punctuation        | every:3,11
punctuation:.      |
punctuation:,      | every:3,11
punctuation:all    | every:3,11
identical          | 1:4 2:5 4:1 5:2 12:13 13:12
identical:other    | 1:12,13 2:9 3:11 4:12,13 5:9 9:2,5 11:3 12:1,4 13:1,4
related:other      | 1:12,13 2:9,10 4:12,13 5:9 6:9 9:2,5,6 10:2 12:1,4 13:1,4
subword            | 5:6 6:5
subword:completing | 5:6
rare               | every:6,10
duplicate          | 4:1 5:2 9:2,5 11:3 12:1,4 13:1,4,12
induction          | 4:2 5:3 9:3,6 11:4 12:2,5 13:2,5
local:1            | 1:1,2 2:1,2,3 3:2,3,4 4:3,4,5 5:4,5,6 6:5,6 8:8,9 9:8,9,10 10:9,10,11 11:10,11,12 \
12:11,12,13 13:12,13
block              | 1:1,2,3,4,5,6 2:1,2,3,4,5,6 3:1,2,3,4,5,6 4:1,2,3,4,5,6 5:1,2,3,4,5,6 6:1,2,3,4,5,6 \
8:8,9,10,11,12,13 9:8,9,10,11,12,13 10:8,9,10,11,12,13 11:8,9,10,11,12,13 12:8,9,10,11,12,13 \
13:8,9,10,11,12,13
""".replace("\\\n", "")
)


def cells_of(name: str, example: Example) -> np.ndarray:
    """Return the cells of a mask sieve, before special tokens are taken out."""
    found = sieve_of(name)
    assert isinstance(found, MaskSieve)
    mask = found.mask(example)
    if not isinstance(mask, np.ndarray):
        whole: np.ndarray = mask.rows(0, example.size)
        halves = mask.rows(0, 2), mask.rows(2, example.size)
        np.testing.assert_array_equal(np.concatenate(halves), whole)
        return whole
    return np.broadcast_to(mask, (example.size, example.size))


def keys_of(name: str, example: Example) -> dict[int, list[int]]:
    """Return the keys of each query that has some."""
    return {i: np.flatnonzero(row).tolist() for i, row in enumerate(cells_of(name, example)) if row.any()}


def read_keys(drawing: str, size: int) -> dict[int, list[int]]:
    """Return the keys of each query of a drawing."""
    parts = [part.split(":") for part in drawing.split()]
    keys = {who: [int(key) for key in listed.split(",")] for who, listed in parts}
    return (
        dict.fromkeys(range(size), keys["every"])
        if "every" in keys
        else {int(i): own for i, own in keys.items()}
    )


def test_keys_of_sieves_are_those_drawn_by_hand() -> None:
    found = {name: keys_of(name, WORDS) for name, _ in DRAWN}
    assert found == {name: read_keys(drawing, 15) for name, drawing in DRAWN}
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
    # Marks behind any boundary count; two marks are no single one, but punctuation all the same.
    ("punctuation", _texts("a ##. ▁, Ġ. .. ."), "every:1,2,3,5"),
    ("punctuation:all", _texts("a ... ? $ Ġ, l"), "every:1,2,4"),
    ("punctuation:?!?", _texts("? a ! ."), "every:0,2"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "example", "drawing"), EDGES)
def test_edges_of_sieves_are_those_drawn_by_hand(name: str, example: Example, drawing: str) -> None:
    assert keys_of(name, example) == read_keys(drawing, example.size)


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
    assert keys_of("coreference", STORY) == read_keys("1:4,5 2:8 4:1 5:1 8:1,2", 10)
    scope = {
        i: np.flatnonzero(row).tolist() for i, row in enumerate(found.scope(STORY).rows(0, 10)) if row.any()
    }
    assert scope == read_keys(
        "1:2,4,5,6,7,8 2:4,5,6,7,8 4:1,2,6,7,8 5:1,2,6,7,8 6:1,2,8 7:1,2,4,5,6,8 8:1,2,4,5,6,7", 10
    )
    short = Example("short", STORY.tokens[:6], word=STORY.word[:6], mentions=STORY.mentions)
    assert keys_of("coreference", short) == read_keys(
        "1:4,5 4:1 5:1", 6
    )  # words that were cut off are no cells


# Names of relations.


def test_a_plain_name_covers_its_subtypes_and_a_subtype_only_itself_in_both_schemes() -> None:
    for relation, name, covered in COVERED:
        example = _texts("a b c", arcs=(Arc(0, 1, relation),))
        assert cells_of(name, example).any() == (covered == "yes"), (relation, name)


COVERED = table("""
# relation    | sieve                 | counts
nsubj:pass    | syntactic:nsubj       | yes
nsubjpass     | syntactic:nsubj       | yes
NSUBJPASS     | syntactic:nsubj:pass  | yes
nsubj:pass    | syntactic:nsubj:outer | no
nsubj         | syntactic:nsubj:pass  | no
nsubj         | syntactic:obj         | no
obj           | syntactic:dobj        | yes
DOBJ          | syntactic:obj         | yes
compound:prt  | syntactic:prt         | yes
neg           | syntactic:advmod      | yes
relcl         | syntactic:acl         | yes
dative        | syntactic:iobj        | yes
acl           | syntactic:acl:relcl   | no
det           | syntactic             | yes
ROOT          | syntactic             | no
PUNCT         | syntactic             | no
""")


# Tokens without the marks of their tokenizers.


@given(st.text(st.characters(codec="utf-8", exclude_categories=("Z", "C")), min_size=1, max_size=4))
def test_a_byte_level_token_is_read_as_its_text(text: str) -> None:
    cut = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    ((token, _),) = cut.pre_tokenize_str(f" {text}")
    assert token.startswith("Ġ")
    word = text.removeprefix("##") or text
    if text.endswith("</w>") or not any(sign.isalpha() for sign in word):
        return
    example = Example(
        "two",
        (token, "b"),
        segment=np.array([0, 1]),
        word=np.array([0, 1]),
        lexical=Lexical(lemmas=("", word.lower())),
    )
    assert cells_of("related:other", example)[0, 1]


def test_marks_of_tokenizers_are_no_part_of_a_token_unless_they_are_all_of_it() -> None:
    for token in ("##,", "Ġ,", "▁,", ",</w>", ",", "##Ġ,"):
        assert keys_of("punctuation", Example("one", (token, "a"))) == {0: [0], 1: [0]}
    for token in ("##", "▁", "▁▁", "Ã", "日", "##ing"):
        assert not cells_of("punctuation", Example("one", (token, "a"))).any()
        assert keys_of("identical", Example("twice", (token, token))) == {0: [1], 1: [0]}


# Kinds of mask.


def test_kinds_of_mask_give_the_rows_that_they_are_asked_for() -> None:
    n, place = 13, np.arange(13)
    offset = place[None, :] - place[:, None]
    band = (offset >= -1) & (offset <= 3)
    labels, target = place % 4 - 1, (place + 2) % 5 - 1
    same = (labels[:, None] == labels[None, :]) & (labels[:, None] >= 0)
    match = (target[:, None] == labels[None, :]) & (target[:, None] >= 0)
    keys = place % 3 == 1
    every_key = np.broadcast_to(keys, (n, n))
    query, key = np.nonzero(band)
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
