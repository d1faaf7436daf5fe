"""Pattern sieves: their keys by hand, even attention, planted heads, and what positional heads can fake."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from headroles import Example, score
from headroles.catalogue import sieve_of
from headroles.errors import BadInput, BadSieve
from headroles.records.example import Lexical
from headroles.sieves import PATTERNS
from headroles.sieves.base import MaskSieve
from headroles.sieves.built_in.repeats import induction_cells
from headroles.sieves.language.spelling import spelled
from headroles.sieves.masks import as_mask
from headroles.testing import check_sieve
from tests.support.reference import draws

KEYS = (*(name for name in PATTERNS if name != "bag-of-words"), "offset:-2", "offset:3", "punctuation:all")

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


def _keys(name: str, example: Example = WORDS) -> dict[int, list[int]]:
    """The keys of each query of a sieve, before special tokens are taken out."""
    found = sieve_of(name)
    assert isinstance(found, MaskSieve)
    rows = as_mask(found.mask(example), example.size, name, example.key).rows(0, example.size)
    return {query: np.flatnonzero(row).tolist() for query, row in enumerate(rows) if row.any()}


def _for_all(keys: list[int]) -> dict[int, list[int]]:
    """The same keys for each of the fifteen queries."""
    return dict.fromkeys(range(15), keys)


BY_HAND: list[tuple[str, dict[int, list[int]]]] = [
    ("next", {query: [query + 1] for query in range(14)}),
    ("previous", {query: [query - 1] for query in range(1, 15)}),
    ("self", {query: [query] for query in range(15)}),
    ("offset:-3", {query: [query - 3] for query in range(3, 15)}),
    ("offset:+12", {0: [12], 1: [13], 2: [14]}),
    ("first", _for_all([0])),
    ("punctuation", _for_all([3, 11])),
    ("punctuation:.", {}),
    ("punctuation:,", _for_all([3, 11])),
    ("punctuation:all", _for_all([3, 11])),
    ("identical", {1: [4], 4: [1], 2: [5], 5: [2], 12: [13], 13: [12]}),
    (
        "identical:other",
        {1: [12, 13], 2: [9], 3: [11], 4: [12, 13], 5: [9], 9: [2, 5], 11: [3], 12: [1, 4], 13: [1, 4]},
    ),
    (
        "related:other",
        {1: [12, 13], 2: [9, 10], 4: [12, 13], 5: [9], 6: [9], 9: [2, 5, 6], 10: [2], 12: [1, 4], 13: [1, 4]},
    ),
    ("subword", {5: [6], 6: [5]}),
    ("subword:completing", {5: [6]}),
    ("rare", _for_all([6, 10])),
    ("duplicate", {4: [1], 5: [2], 9: [2, 5], 11: [3], 12: [1, 4], 13: [1, 4, 12]}),
    ("induction", {4: [2], 5: [3], 9: [3, 6], 11: [4], 12: [2, 5], 13: [2, 5]}),
]


@pytest.mark.parametrize(("name", "wanted"), BY_HAND, ids=[name for name, _ in BY_HAND])
def test_keys_are_those_drawn_by_hand(name: str, wanted: dict[int, list[int]]) -> None:
    assert _keys(name) == wanted


def test_lemmas_are_the_same_in_capitals_and_words_without_one_are_as_they_are_spelled() -> None:
    example = Example(
        "six",
        ("Reds", "The", "oak", "red", "the", "elm"),
        segment=np.array([0, 0, 0, 1, 1, 1]),
        word=np.arange(6),
        lexical=Lexical(lemmas=("Red", "", "oak", "red", "", "elm")),
    )
    assert _keys("related:other", example) == {0: [3], 1: [4], 3: [0], 4: [1]}


def test_vectors_that_are_only_a_little_alike_are_of_unrelated_words() -> None:
    turn = np.array([0.0, np.arccos(0.61), np.arccos(0.59), np.pi / 2])
    vectors = np.stack([np.cos(turn), np.sin(turn)], axis=1).astype(np.float32)
    example = Example(
        "four",
        tuple("abcd"),
        segment=np.array([0, 1, 1, 1]),
        word=np.arange(4),
        lexical=Lexical(vectors=vectors),
    )
    assert _keys("related:other", example) == {0: [1], 1: [0]}


def test_a_special_token_is_never_the_rarest() -> None:
    example = Example(
        "four",
        ("[CLS]", "a", "b", "[SEP]"),
        segment=np.array([-1, 0, 0, -1]),
        lexical=Lexical(frequency=np.array([1, 9, 4, 1])),
    )
    assert _keys("rare", example) == {query: [2] for query in range(4)}


def test_pieces_of_a_word_are_completed_by_its_last_one() -> None:
    example = Example("one", tuple("abcd"), word=np.array([0, 0, 0, 1]))
    assert _keys("subword", example) == {0: [1, 2], 1: [0, 2], 2: [0, 1]}
    assert _keys("subword:completing", example) == {0: [2], 1: [2]}


def test_what_follows_a_token_is_no_induction_where_it_is_the_query() -> None:
    repeated = Example("again", ("a", "a", "a"))
    assert induction_cells(repeated).astype(int).tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 0]]
    across = Example("across", ("a", "[SEP]", "a"), segment=np.array([0, -1, 1]))
    rows = np.array([[[[1, 0, 0], [0, 1, 0], [0, 1, 0]]]], dtype=np.float64)
    assert np.isnan(score(rows, across, ["induction"])["induction"]).all()  # a separator is never counted


def _lettered(rng: np.random.Generator, lengths: list[int], specials: bool) -> Example:
    """Texts of few different tokens, words of one to three pieces, everything annotated."""
    segment, word = [-1] * specials, [-1] * specials
    base = 0
    for text, length in enumerate(lengths):
        own = np.sort(rng.integers(0, length, length))
        own = np.unique(own, return_inverse=True)[1]
        segment += [text] * length + [-1] * specials
        word += [base + int(each) for each in own] + [-1] * specials
        base += int(own[-1]) + 1
    tokens = tuple(str(rng.choice(list("abc.,"))) if each >= 0 else "[SEP]" for each in segment)
    vectors = rng.normal(size=(base, 2))
    known = Lexical(
        lemmas=tuple(rng.choice(["", "x", "y"], base).tolist()),
        vectors=(vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32),
        frequency=rng.integers(1, 4, len(tokens)),
    )
    return Example("made", tokens, segment=np.array(segment), word=np.array(word), lexical=known)


@dataclass(frozen=True)
class _Recipe:
    """What hypothesis draws; the example is made in the test, where randomness is allowed."""

    seed: int
    lengths: tuple[int, ...]
    specials: bool

    def made(self) -> tuple[Example, np.random.Generator]:
        rng = np.random.default_rng(self.seed)
        return _lettered(rng, list(self.lengths), self.specials), rng


recipes = st.builds(
    _Recipe,
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(1, 9), min_size=1, max_size=2).map(tuple),
    st.booleans(),
)


MASKS = ("every", "causal", "window", "causal window")


def _visible(size: int, mask: str) -> np.ndarray:
    """Every key, those up to the query, or those within 3 tokens of it."""
    every = np.ones((size, size), dtype=np.bool_)
    seen = np.triu(np.tril(every, 3), -3) if "window" in mask else every
    return np.tril(seen) if "causal" in mask else seen


@settings(max_examples=draws(60))
@given(recipes, st.sampled_from(MASKS))
def test_even_attention_scores_zero_in_every_pattern(recipe: _Recipe, mask: str) -> None:
    example, _ = recipe.made()
    visible = _visible(example.size, mask)
    even = visible / visible.sum(axis=1, keepdims=True)
    found = score(even[None, None], example, ["patterns", "offset:-2", "punctuation:all"], visible=visible)
    for name, value in found.items():
        assert np.isnan(value).all() or np.abs(value).max() <= 1e-9, name


@settings(max_examples=draws(40))
@given(recipes, st.sampled_from(MASKS), st.sampled_from(KEYS))
def test_a_head_that_looks_at_a_sieve_s_keys_scores_one(recipe: _Recipe, mask: str, name: str) -> None:
    example, rng = recipe.made()
    visible = _visible(example.size, mask)
    found = sieve_of(name)
    assert isinstance(found, MaskSieve)
    cells = as_mask(found.mask(example), example.size, name, "").rows(0, example.size) & visible
    cells = cells if found.specials else cells & ~example.special
    rows = cells * rng.gamma(1.0, size=cells.shape) + visible * 1e-12
    rows /= rows.sum(axis=1, keepdims=True)
    value = score(rows[None, None], example, [name], visible=visible)[name].item()
    assert np.isnan(value) or value == pytest.approx(1, abs=1e-6)
    assert np.isnan(value) or cells.any()


@pytest.mark.parametrize("name", [*KEYS, "bag-of-words"])
def test_patterns_keep_the_contract_of_sieves(name: str) -> None:
    rng = np.random.default_rng(1)
    check_sieve(sieve_of(name), [WORDS, *(_lettered(rng, [7, 9], True) for _ in range(4))])


def test_two_spellings_of_one_parameter_are_one_sieve() -> None:
    assert sieve_of("offset:+2").name == "offset:2"
    assert sieve_of("punctuation:?!?").name == "punctuation:!?"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("offset:0", "the offset of 'offset:0' must be a whole number of tokens other than 0"),
        ("offset:1.5", "negative for keys before the query, as in offset:-3"),
        ("offset:x", "must be a whole number"),
        ("offset:--2", "must be a whole number"),
        ("offset:٣", "must be a whole number"),
        ("punctuation:ab", "the marks of 'punctuation:ab' must be punctuation other than ';'"),
        ("punctuation:;", "other than ';', as in"),
        ("punctuation:. ", "must be punctuation"),
    ],
)
def test_families_refuse_what_is_no_parameter(name: str, sentence: str) -> None:
    with pytest.raises(BadSieve, match=sentence):
        sieve_of(name)


@pytest.mark.parametrize(
    ("name", "example", "sentence"),
    [
        ("subword", Example("bare", tuple("abcd")), "need words, but example 'bare' has none"),
        ("subword:completing", Example("bare", tuple("abcd")), "need words, but example 'bare' has none"),
        ("rare", Example("bare", tuple("abcd")), "needs frequencies of tokens, but example 'bare' has none"),
        (
            "rare",
            Example("odd", tuple("abcd"), lexical=Lexical(frequency=np.array([1, 2]))),
            r"one count per token, shape \(4,\) for example 'odd', but got \(2,\)",
        ),
        (
            "related:other",
            Example("bare", tuple("abcd")),
            "needs lemmas or vectors of words, but example 'bare'",
        ),
        (
            "related:other",
            Example("few", tuple("abcd"), word=np.arange(4), lexical=Lexical(lemmas=("a",))),
            "one entry among the lemmas, but example 'few' has 4 words and 1 lemmas",
        ),
    ],
)
def test_what_a_pattern_lacks_is_said_in_one_sentence(name: str, example: Example, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        score(np.full((1, 1, 4, 4), 0.25), example, [name])


def test_the_group_leaves_out_what_an_example_is_not_annotated_for() -> None:
    even = np.full((1, 1, 4, 4), 0.25)
    bare = {name for name in score(even, Example("bare", tuple("abcd")), "patterns") if name in PATTERNS}
    assert set(PATTERNS) - bare == {"rare", "related:other", "subword", "subword:completing"}
    known = Example(
        "known", tuple("abcd"), word=np.arange(4), lexical=Lexical(frequency=np.ones(4, dtype=int))
    )
    assert "rare" in score(even, known, "patterns")
    with pytest.raises(BadInput, match="needs frequencies"):
        score(even, Example("bare", tuple("abcd")), ["patterns", "rare"])


@pytest.mark.parametrize(
    ("token", "wanted"),
    [
        ("##ing", "ing"),
        ("Ġthe", "the"),
        ("▁", "▁"),
        ("▁▁", "▁"),
        ("##", "##"),
        (".</w>", "."),
        ("Ã©", "é"),
        ("日", "日"),
    ],
)
def test_a_token_is_told_without_the_marks_of_its_tokenizer(token: str, wanted: str) -> None:
    assert spelled(token) == wanted


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_categories=("Z", "C")), min_size=1, max_size=4))
def test_a_byte_level_token_is_told_as_its_text(text: str) -> None:
    cut = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    ((token, _),) = cut.pre_tokenize_str(f" {text}")
    assert token.startswith("Ġ")
    wanted = text.removeprefix("##") or text
    assert spelled(token) == wanted or text.endswith("</w>")
