"""The coreference sieve: its cells by hand, even attention, planted heads, and how it is had by name."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles import Example, score
from headroles.arrays import selection_of
from headroles.catalogue import entries, sieve_of
from headroles.errors import BadInput, BadSieve
from headroles.records.example import Mention
from headroles.sieves.built_in.coreference import coreference, other_mentions, own_mention, same_entity
from headroles.testing import PLANTED, check_sieve, planted
from tests.support.reference import draws

if TYPE_CHECKING:
    from headroles.records.documents import Document

# [CLS] her aunt saw An ##n and Bob ; she left [SEP]: words 0 her, 1 aunt, 2 saw, 3 Ann, 4 and, 5 Bob, 6 she
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


def _keys(cells: np.ndarray) -> dict[int, list[int]]:
    return {query: np.flatnonzero(row).tolist() for query, row in enumerate(cells) if row.any()}


def test_a_word_belongs_to_its_innermost_mention() -> None:
    assert own_mention(STORY).tolist() == [1, 0, -1, 3, 2, 4, 5]


def test_cells_are_those_of_other_mentions_of_the_entity() -> None:
    assert _keys(same_entity(STORY)) == {0: [3], 1: [6], 3: [0], 6: [0, 1]}
    assert _keys(other_mentions(STORY)) == {
        0: [1, 3, 4, 5, 6],
        1: [3, 4, 5, 6],
        3: [0, 1, 4, 5, 6],
        4: [0, 1, 6],
        5: [0, 1, 3, 4, 6],
        6: [0, 1, 3, 4, 5],
    }


def test_the_score_is_that_worked_out_by_hand() -> None:
    rows = np.full((10, 10), 0.1)
    rows[1] = [0.1, 0, 0.2, 0, 0.3, 0.1, 0, 0.1, 0.2, 0]  # her: Ann is 0.4 of 0.9, chance 2/6
    rows[2] = [0, 0.5, 0, 0.2, 0, 0, 0, 0.1, 0.2, 0]  # aunt: she is 0.2 of 0.3, chance 1/5
    rows[4] = [0, 0.3, 0.1, 0, 0.5, 0, 0, 0, 0, 0.1]  # An: her is 0.3 of 0.4, chance 1/5
    rows[5] = [0, 0.1, 0.1, 0.2, 0, 0.6, 0, 0, 0, 0]  # ##n: her is 0.1 of 0.2, chance 1/5
    rows[8] = [0, 0.2, 0.3, 0.1, 0, 0, 0.1, 0.1, 0.2, 0]  # she: her aunt is 0.5 of 0.7, chance 2/6
    beyond = (0.4 - 0.9 / 3) + (0.2 - 0.3 / 5) + ((0.3 - 0.4 / 5) + (0.1 - 0.2 / 5)) / 2 + (0.5 - 0.7 / 3)
    chance = 1 / 3 + 1 / 5 + 1 / 5 + 1 / 3
    found = score(rows[None, None], STORY, ["coreference"])
    assert found["coreference"].item() == pytest.approx((beyond / 4) / (1 - chance / 4), abs=1e-12)
    plan = selection_of("coreference").plan(STORY, None, np.float64)
    assert plan.cells.tolist() == [4, 4]  # four mentions; four words


def _layout(rng: np.random.Generator, words: int, count: int) -> Example:
    """Words of one or two pieces, and mentions of up to four words and three entities."""
    word = np.repeat(np.arange(words), rng.integers(1, 3, words))
    starts = rng.integers(0, words, count)
    mentions = [
        Mention(int(start), int(min(start + rng.integers(1, 5), words)), str(rng.integers(3)))
        for start in starts
    ]
    word = np.concatenate([[-1], word, [-1]])
    segment = np.where(word < 0, -1, 0)
    tokens = tuple(f"t{k}" for k in range(len(word)))
    return Example("made", tokens, segment=segment, word=word, mentions=tuple(mentions))


@settings(max_examples=draws(40))
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(0, 15), st.booleans())
def test_even_attention_scores_zero_whatever_the_mentions(
    seed: int, words: int, count: int, causal: bool
) -> None:
    rng = np.random.default_rng(seed)
    example = _layout(rng, words, count)
    visible = np.ones((example.size, example.size), dtype=np.bool_)
    visible = np.tril(visible) if causal else visible
    even = visible / visible.sum(axis=1, keepdims=True)
    for value in score(even[None, None], example, ["coreference"], visible=visible).values():
        assert np.isnan(value).all() or np.abs(value).max() <= 1e-12
    # A mention lies in no cell of its own words, and the cells lie within those compared.
    own, cells, scope = own_mention(example), same_entity(example), other_mentions(example)
    assert not (cells & ~scope).any()
    assert not (scope & (own[:, None] == own[None, :])).any()
    assert not scope[own < 0].any()


def test_the_sieve_keeps_its_contract() -> None:
    rng = np.random.default_rng(5)
    check_sieve(coreference, [STORY, *(_layout(rng, 20, 8) for _ in range(5))])


def test_words_without_tokens_are_no_cells() -> None:
    short = Example("short", STORY.tokens[:6], word=STORY.word[:6], mentions=STORY.mentions)
    assert same_entity(short).shape == (4, 4)
    assert _keys(same_entity(short)) == {0: [3], 3: [0]}


def test_without_mentions_there_is_one_sentence() -> None:
    example = Example("bare", tuple("abcd"))
    even = np.full((1, 1, 4, 4), 0.25)
    with pytest.raises(BadInput, match=r"needs mentions of entities, but example 'bare' has none annotated"):
        score(even, example, ["coreference"])
    assert "coreference" not in score(even, example)
    none = replace(example, word=np.arange(4), mentions=())
    assert np.isnan(score(even, none, ["coreference"])["coreference"]).all()


def test_it_is_had_by_name_but_is_no_default_and_has_no_published_form() -> None:
    assert sieve_of("coreference") is coreference
    assert coreference.needs == {"mentions"}
    assert [entry.origin for entry in entries() if entry.name == "coreference"] == ["headroles"]
    assert "coreference" not in selection_of(None).columns
    assert selection_of("coreference").columns == ("coreference", "coreference:matched")
    with pytest.raises(BadSieve, match="released notebooks' sieves only"):
        sieve_of("coreference", "published")


@pytest.fixture(scope="module")
def windows() -> Callable[[Path], list[Example]]:
    """Examples of 150 words from the documents of a treebank, one each."""

    def cut(document: "Document") -> Example:
        words = min(150, len(document.words))
        word = np.concatenate([[-1], np.arange(words), [-1]])
        return Example(
            document.key,
            ("[CLS]", *document.words[:words], "[SEP]"),
            segment=np.where(word < 0, -1, 0),
            word=word,
            mentions=tuple(each for each in document.mentions or () if each.stop <= words),
        )

    def read(file: Path) -> list[Example]:
        from headroles.extraction.gold.read import read_documents

        return [cut(each) for each in read_documents(file, "dev")]

    return read


def test_planted_heads_stay_within_the_margin_on_real_layouts(
    windows: Callable[[Path], list[Example]], shared: Path
) -> None:
    kinds = [kind for kind in PLANTED if kind not in ("arcs", "own text")]
    offsets = (-8, -5, -3, -2, 2, 3, 5, 8)
    beyond: dict[str, list[float]] = {}
    for example in windows(shared / "data/ud_english_gum/en_gum-ud-dev.conllu.gz"):
        heads = {kind: planted(example, kind) for kind in kinds}
        for offset in offsets:
            rows = np.eye(example.size, k=offset) + 1e-6
            heads[f"offset {offset}"] = rows / rows.sum(axis=1, keepdims=True)
        cells = np.zeros((example.size, example.size))
        cells[1:-1, 1:-1] = same_entity(example)
        rows = cells + 0.02
        heads["coreference"] = rows / rows.sum(axis=1, keepdims=True)
        found = score(np.stack(list(heads.values()))[None], example, ["coreference"])
        for name, value in zip(heads, found["coreference:matched"][0], strict=True):
            beyond.setdefault(name, []).append(float(value))
    means = {name: float(np.nanmean(values)) for name, values in beyond.items()}
    assert means.pop("coreference") > 0.3
    assert max(abs(each) for each in means.values()) < 0.015, means
