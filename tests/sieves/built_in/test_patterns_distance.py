"""Bags of words by their formula, and pairs of tokens as roles: what positional heads can fake of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles import Example, score
from headroles.arrays import selection_of
from headroles.catalogue import sieve_of
from headroles.records.example import Lexical
from headroles.sieves.base import MaskSieve
from headroles.sieves.built_in.bag_of_words import bag_of_words
from headroles.sieves.masks import as_mask
from headroles.testing import made_example
from tests.support.reference import draws

PAIRS = (
    "identical",
    "identical:other",
    "related:other",
    "subword",
    "subword:completing",
    "duplicate",
    "induction",
)


def _visible(size: int, causal: bool) -> np.ndarray:
    every = np.ones((size, size), dtype=np.bool_)
    return np.tril(every) if causal else every


def _bag_by_loops(example: Example, rows: np.ndarray, visible: np.ndarray) -> float:
    """The formula as it is written."""
    text = example.segment
    terms: dict[int, list[tuple[float, float]]] = {}
    for i in np.flatnonzero(text >= 0):
        room = [j for j in range(example.size) if text[j] >= 0 and visible[i, j]]
        own = [j for j in room if text[j] == text[i]]
        if not own or len(own) == len(room):
            continue
        inside, chance = sum(rows[i, j] for j in own), len(own) / len(room)
        shares = [rows[i, j] / inside for j in own if inside > 0 and rows[i, j] > 0]
        spread = 1.0 if len(own) == 1 else -sum(each * np.log(each) for each in shares) / np.log(len(own))
        beyond = inside * spread - chance * sum(rows[i, j] for j in room)
        terms.setdefault(int(text[i]), []).append((beyond, chance))
    if not terms:
        return float("nan")
    means = np.mean([np.mean(each, axis=0) for each in terms.values()], axis=0)
    return float(means[0] / (1 - means[1]))


@settings(max_examples=draws(40))
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 9), min_size=1, max_size=2), st.booleans())
def test_a_bag_of_words_is_the_formula_written_as_loops(seed: int, lengths: list[int], causal: bool) -> None:
    rng = np.random.default_rng(seed)
    segment = [-1, *(place for text, length in enumerate(lengths) for place in (*[text] * length, -1))]
    example = Example("made", ("t",) * len(segment), segment=np.array(segment))
    visible = _visible(example.size, causal)
    cells = rng.gamma(0.3, size=(3, *visible.shape)) * visible + visible * 1e-9
    heads = cells / cells.sum(axis=2, keepdims=True)
    wanted = [_bag_by_loops(example, rows, visible) for rows in heads]
    np.testing.assert_allclose(bag_of_words.score(heads, example), wanted, atol=1e-12)
    assert not (np.array(wanted) > 1 + 1e-12).any()


def test_a_bag_of_words_is_seen_as_causal_by_the_layer_not_by_one_head() -> None:
    example = Example("six", tuple("abcdef"), segment=np.array([0, 0, 0, 1, 1, 1]))
    back = np.tril(np.ones((6, 6)))
    back /= back.sum(axis=1, keepdims=True)
    even = np.full((6, 6), 1 / 6)
    assert bag_of_words.score(back[None], example).item() == pytest.approx(0, abs=1e-12)
    beside = bag_of_words.score(np.stack([back, even]), example)
    assert beside[1] == pytest.approx(0, abs=1e-12)
    assert abs(beside[0]) > 0.05
    assert np.isnan(bag_of_words.score(even[None], Example("one", tuple("abcdef")))).all()


def test_a_query_that_sees_nothing_of_its_own_text_is_in_no_bag_of_words() -> None:
    # Tokens see earlier ones and not themselves: d sees nothing of its text, so e and f alone count.
    # e: 0.5 on d, of 4 keys one its own: 0.5 - 1/4; f: 0.25 on d and on e, of 5 keys two: 0.5 - 2/5.
    example = Example("six", tuple("abcdef"), segment=np.array([0, 0, 0, 1, 1, 1]))
    visible = np.tri(6, k=-1, dtype=np.bool_)
    visible[0, 0] = True
    rows = visible / visible.sum(axis=1, keepdims=True)
    rows[4] = [0.5, 0, 0, 0.5, 0, 0]
    rows[5] = [0.25, 0.25, 0, 0.25, 0.25, 0]
    found = score(rows[None, None], example, ["bag-of-words"], visible=visible)["bag-of-words"].item()
    assert found == pytest.approx((0.25 + 0.1) / 2 / (1 - (0.25 + 0.4) / 2))


def test_the_contrast_of_a_bag_of_words_is_that_of_block() -> None:
    rng = np.random.default_rng(3)
    example = made_example(rng)
    heads = rng.dirichlet(np.full(example.size, 0.2), size=(2, 3, example.size))
    found = score(heads, example, ["local", "bag-of-words", "block"])
    np.testing.assert_array_equal(found["bag-of-words:matched"], found["block:matched"])
    selection = selection_of(["local", "bag-of-words", "block"])
    assert selection.columns == ("local", "block", "block:matched", "bag-of-words:matched", "bag-of-words")
    rules = {rule.sieve: rule for rule in selection.rules()}
    assert tuple(rules) == selection.columns
    assert rules["bag-of-words"].contrast == "bag-of-words:matched"
    assert not rules["bag-of-words:matched"].role
    np.testing.assert_allclose(found["bag-of-words"][0], bag_of_words.score(heads[0], example))


def _profiled(size: int, kind: str, visible: np.ndarray) -> np.ndarray:
    place = np.arange(size)
    offset = place[None, :] - place[:, None]
    if kind.startswith("decay"):
        cells = np.exp(-np.abs(offset) / float(kind.split()[1]))
    else:
        cells = (offset == int(kind)) + 1e-6
    cells = cells * visible
    rows: np.ndarray = cells / cells.sum(axis=1, keepdims=True)
    return rows


def _zipf(rng: np.random.Generator, number: int) -> Example:
    """A pair of texts of 14 words, some frequent and some of two or three pieces."""
    names = [f"w{each}" for each in range(60)]
    odds = 1 / np.arange(1, 61)
    tokens, segment, word = ["[CLS]"], [-1], [-1]
    base = 0
    for text in range(2):
        for name in rng.choice(names, size=14, p=odds / odds.sum()):
            pieces = int(rng.choice([1, 1, 1, 2, 3]))
            tokens += [str(name), "##a", "##b"][:pieces]
            segment += [text] * pieces
            word += [base] * pieces
            base += 1
        tokens, segment, word = [*tokens, "[SEP]"], [*segment, -1], [*word, -1]
    lemmas = tuple(next(t for t, w in zip(tokens, word, strict=True) if w == each) for each in range(base))
    return Example(
        f"zipf/{number}",
        tuple(tokens),
        segment=np.array(segment),
        word=np.array(word),
        lexical=Lexical(lemmas=lemmas),
    )


@pytest.mark.parametrize("causal", [False, True])
def test_pairs_are_no_role_of_positional_heads_but_of_planted_ones(causal: bool) -> None:
    rng = np.random.default_rng(8)
    kinds = [*map(str, (-5, -3, -2, -1, 1, 2, 3, 5)), *(f"decay {reach}" for reach in (1, 2, 4, 8))]
    names = [name for name in PAIRS if not (causal and name == "subword:completing")]
    margins = {rule.sieve: rule.margin for rule in selection_of([*names, "bag-of-words"]).rules()}
    found: dict[str, list[np.ndarray]] = {}
    for number in range(40):
        example = _zipf(rng, number)
        visible = _visible(example.size, causal)
        heads = [_profiled(example.size, kind, visible) for kind in kinds]
        for name in names:
            mask = sieve_of(name)
            assert isinstance(mask, MaskSieve)
            cells = as_mask(mask.mask(example), example.size, name, "").rows(0, example.size) & visible
            rows = (
                cells / np.maximum(cells.sum(axis=1, keepdims=True), 1)
                + visible / visible.sum(axis=1)[:, None]
            )
            heads.append(rows / rows.sum(axis=1, keepdims=True))
        for name, value in score(
            np.stack(heads)[None], example, [*names, "bag-of-words"], visible=visible
        ).items():
            found.setdefault(name, []).append(value[0])
    means = {name: np.nanmean(values, axis=0) for name, values in found.items()}
    for place, name in enumerate((*names, "bag-of-words")):
        beyond, matched = means[name] > margins[name], means[f"{name}:matched"] > margins[f"{name}:matched"]
        assert not (beyond & matched)[: len(kinds)].any(), (name, means[f"{name}:matched"][: len(kinds)])
        if name != "bag-of-words":
            assert (beyond & matched)[len(kinds) + place], name


def test_without_its_contrast_nearness_would_be_a_bag_of_words_and_a_subword() -> None:
    rng = np.random.default_rng(8)
    example = _zipf(rng, 0)
    near = _profiled(example.size, "decay 4", _visible(example.size, False))
    following = _profiled(example.size, "1", _visible(example.size, False))
    found = score(
        np.stack([near, following])[None], example, ["bag-of-words", "subword", "subword:completing"]
    )
    assert found["bag-of-words"][0, 0] > 0.3
    assert found["subword"][0, 1] > 0.3
    assert found["subword:completing"][0, 1] > 0.3
