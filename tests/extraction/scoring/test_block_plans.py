"""Scores of long inputs, summed from blocks of rows, are those of whole attention."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import torch

from headroles.arrays import selection_of
from headroles.extraction.capture.blocks import visible_key_range
from headroles.extraction.capture.readers import to_visible_mask
from headroles.extraction.scoring.blocks.sums import LongSums
from headroles.plans import even as even_plans
from headroles.plans.masks import Band, Keys, Mask
from headroles.plans.plan import LongPlan
from headroles.records.example import Arc, Example, Lexical, Mention
from headroles.sieves import BUILT_IN, PATTERNS
from headroles.sieves.base import Contrast, MaskSieve
from headroles.sieves.selection import Selection, select
from headroles.sieves.weights.long import cells as long_cells
from headroles.sieves.weights.long.cells import KeySets, Sums
from headroles.sieves.weights.reference import apply
from headroles.testing import made_example
from tests.sieves.third_party import THIRD_PARTY
from tests.support.reference import rounding_bound

HEADS = 3
MASKED = [
    name for name in (*BUILT_IN, *PATTERNS, "coreference", "local:9", "offset:-3") if name != "bag-of-words"
]


def _example(rng: np.random.Generator, texts: int, gaps: bool = False) -> Example:
    """Texts of words of one to four pieces with arcs, mentions and lemmas; some words lost their tokens."""
    segment, word, tokens, special = [-1], [-1], ["[CLS]"], [True]
    number = 0
    for text in range(texts):
        for _ in range(int(rng.integers(12, 16))):
            for _ in range(int(rng.choice([1, 1, 1, 2, 4]))):
                segment.append(text)
                word.append(number)
                tokens.append(str(rng.choice(list("abcdef,."))))
                special.append(False)
            number += 1 + int(gaps and rng.random() < 0.2)
        segment, word, tokens, special = [*segment, -1], [*word, -1], [*tokens, "[SEP]"], [*special, True]
    words = max(word) + 1
    relations = rng.choice(["nsubj", "obj", "amod", "advmod", "det", "punct"], words)
    heads = (np.arange(words) + rng.choice([-3, -2, -1, 1, 2, 5], words)) % words
    arcs = tuple(
        Arc(k, int(head), str(name)) for k, (head, name) in enumerate(zip(heads, relations, strict=True))
    )
    spans = [(int(k), int(k + rng.integers(1, 4))) for k in rng.integers(0, words, 8)]
    mentions = tuple(Mention(a, min(b, words), str(rng.choice(["x", "y"]))) for a, b in spans)
    known = Lexical(lemmas=tuple(rng.choice(list("klm"), words)), frequency=rng.integers(1, 4, len(tokens)))
    return Example(
        "made",
        tuple(tokens),
        segment=np.array(segment),
        special=np.array(special),
        word=np.array(word),
        arcs=arcs,
        mentions=mentions,
        lexical=known,
    )


def _visible(kind: str, example: Example) -> np.ndarray | None:
    place = np.arange(example.size)
    offset = place[None, :] - place[:, None]
    opens = np.flatnonzero(np.diff(example.word, prepend=-2))
    border = opens[np.searchsorted(opens, example.size // 3)]  # no word has both
    chunked = (offset <= 0) & (place[None, :] // 9 == place[:, None] // 9)
    found: dict[str, np.ndarray | None] = {
        "all": None,
        "causal": offset <= 0,
        "window": (offset <= 0) & (offset > -9),
        "near": np.abs(offset) <= 6,
        "chunks": chunked,
        "encoder": (place[:, None] < border) & (place[None, :] >= border),
    }
    return found[kind]


MASKS = ("all", "causal", "window", "near", "chunks", "encoder")


def _attention(rng: np.random.Generator, size: int, visible: np.ndarray | None) -> np.ndarray:
    logits = rng.normal(0, 2, (HEADS, size, size))
    seen = np.ones((size, size), dtype=np.bool_) if visible is None else visible
    weights = np.exp(logits) * seen
    weights[:, ~seen.any(axis=1)] = 1  # what a softmax makes of rows that see nothing
    made: np.ndarray = weights / weights.sum(axis=2, keepdims=True)
    return made


def _streamed(plan: LongPlan, attention: np.ndarray, shown: Mask | None, step: int) -> np.ndarray:
    """Two layers of the same attention in blocks, keys that cannot be seen left out; the second's scores."""
    sums = LongSums(plan, len(attention), torch.device("cpu"))
    size = attention.shape[1]
    rows = torch.from_numpy(attention.astype(np.float32))
    for _ in range(2):
        for start in range(0, size, step):
            first, last = visible_key_range(shown, start, min(start + step, size), size)
            sums.add(start, rows[:, start : start + step, first:last], first)
        found = sums.finish()
    return found


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(6)


def _close(got: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
    close = 2e-6 * np.maximum(1, np.nan_to_num(np.abs(wanted)))
    assert (np.nan_to_num(np.abs(got - wanted)) <= close).all(), np.nanmax(np.abs(got - wanted), axis=1)


def _agree(selection: Selection, example: Example, kind: str, step: int, rng: np.random.Generator) -> None:
    visible = _visible(kind, example)
    attention = _attention(rng, example.size, visible)
    shown = to_visible_mask(visible)
    whole = selection.plan(example, visible, np.float64)
    plan = selection.long_plan(example, shown)
    wanted = apply(whole, attention)
    got = _streamed(plan, attention, shown, step)
    np.testing.assert_allclose(plan.cells, whole.cells)
    np.testing.assert_allclose(plan.low, whole.low)
    np.testing.assert_allclose(plan.high, whole.high)
    _close(got, wanted)


@pytest.mark.parametrize("statistic", ["selectivity", "bias"])
@pytest.mark.parametrize("kind", MASKS)
def test_groups_scopes_and_contrasts_of_a_third_party_score_in_blocks_as_on_whole_attention(
    kind: str, statistic: str, rng: np.random.Generator
) -> None:
    for texts in (1, 2):
        _agree(select(THIRD_PARTY, statistic), _example(rng, texts), kind, 13, rng)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("statistic", ["selectivity", "bias"])
@pytest.mark.parametrize("texts", [1, 2])
@pytest.mark.parametrize("kind", MASKS)
def test_every_built_in_sieve_scores_blocks_as_it_scores_whole_attention(
    kind: str, texts: int, statistic: str, gaps: bool, rng: np.random.Generator
) -> None:
    example = _example(rng, texts, gaps)
    assert 20 < example.size < 90
    selection = selection_of([*MASKED, "bag-of-words"], statistic=statistic)
    _agree(selection, example, kind, int(rng.integers(3, 8)), rng)


@pytest.mark.parametrize("texts", [1, 2])
@pytest.mark.parametrize("kind", ["all", "window", "chunks"])
def test_cells_that_are_too_many_to_list_are_asked_for_by_rows(
    kind: str, texts: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_cells, "PER_QUERY", 0)
    monkeypatch.setattr(long_cells, "ONE_OF", 10**6)
    monkeypatch.setattr(even_plans, "BLOCK", 300)
    example = _example(rng, texts, gaps=True)
    selection = selection_of(MASKED)
    plan = selection.long_plan(example, to_visible_mask(_visible(kind, example)))
    assert len(plan.rowwise) > 10
    assert any(profile.rowwise for profile in plan.profiles)
    assert not len(plan.listed.query)
    _agree(selection, example, kind, 5, rng)


def _strange(example: Example) -> np.ndarray:
    """Cells that follow no rule."""
    cells: np.ndarray = np.random.default_rng(example.size).random((example.size, example.size)) < 0.3
    return cells


def _strange_words(example: Example) -> np.ndarray:
    words = int(example.word.max()) + 1
    cells: np.ndarray = np.random.default_rng(words).random((words, words)) < 0.3
    return cells


def _most(example: Example) -> np.ndarray:
    cells: np.ndarray = _strange(example).T | _strange(example)
    return cells


def _every_word(example: Example) -> Keys:
    return Keys(np.ones(int(example.word.max()) + 1, dtype=np.bool_))


@pytest.mark.parametrize("most", [0, 64])
@pytest.mark.parametrize("kind", MASKS)
def test_sieves_of_strangers_score_blocks_as_they_score_whole_attention(
    kind: str, most: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_cells, "PER_QUERY", most)
    monkeypatch.setattr(long_cells, "ONE_OF", 10**6)
    example = _example(rng, 2)
    tokens = Contrast(0.05, cells=_strange, scope=_most)
    words = Contrast(0.05, cells=_strange_words, scope=_every_word, words=True)
    marked = MaskSieve("marked", lambda each: np.array([token in "ab" for token in each.tokens]))
    sieves = [
        MaskSieve("dense", _strange, contrast=tokens),
        MaskSieve("scoped", _strange, scope=_most, contrast=words),
        MaskSieve("earlier", lambda each: Band(-each.size, -1, each.size), specials=True),
        replace(marked, contrast=Contrast(0.05, cells=marked.mask, scope=_most)),
    ]
    _agree(select(sieves), example, kind, 4, rng)


def test_queries_that_look_at_equal_sets_of_keys_all_count() -> None:
    keys = np.array([[True, True], [False, False], [True, True]])
    sums = Sums(3)
    sums.add(KeySets(np.array([0, 1, -1]), keys), 0, np.array([2.0, 3.0, 5.0]))
    assert sums.keys().tolist() == [[1], [0], [1]]
    assert sums.weight()[:, 0, 0].tolist() == [2, 3, 0]


def test_the_distance_profile_of_a_fixed_offset_is_no_contrast() -> None:
    example = _example(np.random.default_rng(0), 2)
    selection = selection_of(["block", "syntactic", "duplicate"])
    attention = np.stack([np.eye(example.size, k=offset) for offset in (-1, 1, 2)])
    got = _streamed(selection.long_plan(example, None), attention, None, 5)
    contrasts = [name.endswith(":matched") for name in selection.columns]
    assert np.abs(got[contrasts]).max() < 0.05
    even = _streamed(selection.long_plan(example, None), np.full_like(attention, 1 / example.size), None, 5)
    classes = np.array([name.endswith(":class") for name in selection.columns])  # of a whole shard, not here
    assert np.isnan(even[classes]).all()
    np.testing.assert_allclose(even[~classes], 0, atol=rounding_bound(example.size))


def _long(tokens: int) -> Example:
    made = made_example(np.random.default_rng(0), words=tokens // 2)
    assert made.size >= tokens
    keep = slice(0, tokens)
    return Example(
        "long",
        tuple(f"w{each % 300}" for each in range(tokens)),
        segment=made.segment[keep],
        special=made.special[keep],
        word=made.word[keep],
        arcs=made.arcs,
    )


@pytest.mark.parametrize("shown", [None, Band(-500, 0, 2000)])
def test_a_plan_for_2000_tokens_takes_less_than_the_attention_of_one_head(
    shown: Mask | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(even_plans, "BLOCK", 2**14)
    example, selection = _long(2000), selection_of([*BUILT_IN, "identical", "duplicate", "previous", "first"])
    tracemalloc.start()
    plan = selection.long_plan(example, shown)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    unknown = [name for name, cells in zip(selection.columns, plan.cells, strict=False) if np.isnan(cells)]
    assert unknown == [name for name in selection.columns if name.endswith(":class")]  # of a whole shard
    assert not plan.rowwise
    assert peak < 4 * 2000**2
    assert held < 2000 * 4000
