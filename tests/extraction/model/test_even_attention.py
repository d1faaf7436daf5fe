"""Even attention over what can be seen: selectivity 0, bias 1 and contrasts 0, whatever can be seen."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles import Arc, Example, score
from headroles.arrays import selection_of
from headroles.extraction.capture.attention import run
from headroles.records.example import Lexical, Mention
from headroles.sieves import BUILT_IN, PATTERNS
from headroles.sieves.weights.reference import apply
from tests.support.architectures import TABLE
from tests.support.read_models import Kept, batch_of, ready
from tests.support.reference import draws

ModelOf = Callable[[str], Path]
EVERY = (
    *BUILT_IN,
    "patterns",
    "coreference",
    "local:1",
    "offset:-3",
    "offset:2",
    "punctuation:all",
    "syntactic:det",
)
SIEVES = selection_of(EVERY).sieves
SCORERS = ("bag-of-words", "bag-of-words:matched")
MASKS = ("dense", "causal", "window", "causal window", "prefix", "padding left", "padding right", "random")
RELATIONS = ("nsubj", "obj", "amod", "advmod", "det")


def annotated(rng: np.random.Generator, lengths: list[int], specials: bool) -> Example:
    """An example on which every built-in sieve has something to read: repeats, words, trees, mentions."""
    segment, word = [-1] * specials, [-1] * specials
    base = 0
    for text, length in enumerate(lengths):
        own = np.unique(np.sort(rng.integers(0, length, length)), return_inverse=True)[1]
        segment += [text] * length + [-1] * specials
        word += [base + int(each) for each in own] + [-1] * specials
        base += int(own[-1]) + 1
    heads = rng.integers(0, base, base)
    arcs = [Arc(k, int(head), str(rng.choice(RELATIONS))) for k, head in enumerate(heads) if head != k]
    starts = sorted(set(rng.integers(0, base, 4).tolist()))
    vectors = rng.normal(size=(base, 2))
    tokens = tuple(str(rng.choice(list("abc.,"))) if each >= 0 else "[SEP]" for each in segment)
    return Example(
        "made",
        tokens,
        segment=np.array(segment),
        word=np.array(word),
        arcs=tuple(arcs),
        mentions=tuple(Mention(start, start + 1, str(rng.choice(["x", "y"]))) for start in starts),
        lexical=Lexical(
            lemmas=tuple(rng.choice(["", "m", "n"], base).tolist()),
            vectors=(vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32),
            frequency=rng.integers(1, 4, len(tokens)),
        ),
    )


def visible(rng: np.random.Generator, size: int, mask: str) -> np.ndarray:
    """What each query sees; every query sees some key, also where its own place is padding."""
    place = np.arange(size)
    offset = place[None, :] - place[:, None]
    reach = int(rng.integers(1, 5))
    cut = int(rng.integers(0, size))
    seen: np.ndarray = {
        "dense": np.ones((size, size), dtype=np.bool_),
        "causal": offset <= 0,
        "window": np.abs(offset) <= reach,
        "causal window": (offset <= 0) & (offset > -reach),
        "prefix": (offset <= 0) | (place <= cut)[None, :],
        "padding left": (offset <= 0) & (place >= cut)[None, :],
        "padding right": np.ones((size, 1), dtype=np.bool_) & (place <= cut)[None, :],
        "random": rng.random((size, size)) < rng.uniform(0.1, 0.9),
    }[mask]
    lonely = ~seen.any(axis=1)
    seen[lonely, place[lonely]] = True
    return seen


@dataclass(frozen=True)
class _Recipe:
    """What hypothesis draws; the example is made in the test, where randomness is allowed."""

    seed: int
    lengths: tuple[int, ...]
    specials: bool
    mask: str

    def made(self) -> tuple[Example, np.ndarray, np.ndarray]:
        """An example, what is seen in it, and even attention over that."""
        rng = np.random.default_rng(self.seed)
        example = annotated(rng, list(self.lengths), self.specials)
        seen = visible(rng, example.size, self.mask)
        return example, seen, seen / seen.sum(axis=1, keepdims=True)


recipes = st.builds(
    _Recipe,
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(2, 9), min_size=1, max_size=2).map(tuple),
    st.booleans(),
    st.sampled_from(MASKS),
)


def _said(found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: value for name, value in found.items() if not np.isnan(value).all()}


@settings(max_examples=draws(50))
@given(recipes)
def test_selectivity_and_contrasts_of_even_attention_are_0_under_any_mask(recipe: _Recipe) -> None:
    example, seen, even = recipe.made()
    found = _said(score(even[None, None], example, SIEVES, visible=seen))
    assert {name: value.item() for name, value in found.items() if not abs(value.item()) <= 1e-9} == {}


@settings(max_examples=draws(50))
@given(recipes)
def test_the_bias_of_even_attention_is_1_under_any_mask(recipe: _Recipe) -> None:
    example, seen, even = recipe.made()
    found = _said(score(even[None, None], example, SIEVES, visible=seen, statistic="bias"))
    for name, value in found.items():
        wanted = 0.0 if name.endswith(":matched") or name in SCORERS else 1.0
        assert value.item() == pytest.approx(wanted, abs=1e-9), name


@settings(max_examples=draws(30))
@given(recipes, st.floats(0.05, 0.95))
def test_what_a_sink_takes_is_spent_elsewhere(recipe: _Recipe, left: float) -> None:
    example, seen, even = recipe.made()
    rng = np.random.default_rng(recipe.seed)
    rows = seen * rng.dirichlet(np.ones(example.size), size=example.size)
    whole = rows / rows.sum(axis=1, keepdims=True)
    for statistic, scaled in (("selectivity", left), ("bias", 1.0)):
        full = _said(score(whole[None, None], example, SIEVES, visible=seen, statistic=statistic))
        part = _said(
            score(left * whole[None, None], example, SIEVES, visible=seen, statistic=statistic, sinks=True)
        )
        evened = _said(
            score(left * even[None, None], example, SIEVES, visible=seen, statistic=statistic, sinks=True)
        )
        assert part.keys() == full.keys()
        for name, value in full.items():
            factor = left if name.endswith(":matched") else scaled
            if name not in SCORERS:
                assert part[name].item() == pytest.approx(factor * value.item(), abs=1e-9), name
                nothing = 0.0 if name.endswith(":matched") or statistic == "selectivity" else 1.0
                assert evened[name].item() == pytest.approx(nothing, abs=1e-9), name


def test_a_sink_that_takes_more_of_short_rows_leaves_selectivity_at_0_and_contrasts_near_it() -> None:
    rng = np.random.default_rng(9)
    furthest = 0.0
    for number in range(60):
        example = annotated(rng, rng.integers(8, 30, 2).tolist(), specials=True)
        seen = visible(rng, example.size, "causal")
        even = seen / (seen.sum(axis=1, keepdims=True) + np.exp(number % 5 - 1))
        found = _said(score(even[None, None], example, SIEVES, visible=seen, sinks=True))
        for name, value in found.items():
            if name.endswith(":matched"):
                furthest = max(furthest, abs(value.item()))
            elif name not in SCORERS:
                assert abs(value.item()) <= 1e-9, name
    assert 1e-3 < furthest < 0.05


def test_every_sieve_has_something_to_say_under_every_mask_that_leaves_it_keys() -> None:
    rng = np.random.default_rng(3)
    ahead, near = {"causal", "causal window", "padding left"}, {"causal window"}
    silent = dict.fromkeys(("next", "offset:2", "subword:completing", "subword:completing:matched"), ahead)
    spoken: dict[str, set[str]] = {name: set() for name in selection_of(EVERY).columns}
    assert spoken.keys() >= set(BUILT_IN) | set(PATTERNS) | {"coreference"}
    for mask in MASKS:
        for number in range(16):
            example = annotated(rng, [9, 9], number % 4 > 0)
            seen = visible(rng, example.size, mask)
            even = seen / seen.sum(axis=1, keepdims=True)
            for name in _said(score(even[None, None], example, SIEVES, visible=seen)):
                spoken[name].add(mask)
    assert not any(masks for name, masks in spoken.items() if name.endswith(":class"))  # of many inputs
    for name, masks in spoken.items():
        if name.endswith(":class"):
            continue
        rare = name.startswith(("coreference", "syntactic"))
        assert masks >= set(MASKS) - silent.get(name, set()) - (near if rare else set()), name
        assert not masks & silent.get(name, set()), name


@pytest.mark.parametrize("name", TABLE)
def test_even_attention_over_what_a_model_sees_scores_0_in_every_sieve(name: str, model_of: ModelOf) -> None:
    model = ready(model_of(name))
    inputs, lengths = batch_of(model)
    kept = Kept()
    run(model.network, model.way, inputs, lengths, kept)
    rng = np.random.default_rng(7)
    plain, biased = selection_of(SIEVES), selection_of(SIEVES, statistic="bias")
    masks: dict[bytes, np.ndarray] = {}
    for layer in range(model.layers):
        for place in range(len(lengths)):
            seen = kept.seen(layer, place)
            masks[seen.tobytes()] = seen
    for seen in masks.values():
        example = annotated(rng, [len(seen) // 2, len(seen) - len(seen) // 2], specials=False)
        even = (seen / seen.sum(axis=1, keepdims=True))[None]
        flat = apply(plain.plan(example, seen, np.float64), even)
        np.testing.assert_allclose(np.nan_to_num(flat), 0, rtol=0, atol=1e-9)
        assert np.isfinite(flat).mean() > (0.5 if len(seen) > 9 else 0)
        ones = apply(biased.plan(example, seen, np.float64), even)
        matched = np.array([column.endswith(":matched") for column in biased.columns[: len(ones)]])
        np.testing.assert_allclose(np.nan_to_num(ones[~matched], nan=1), 1, rtol=0, atol=1e-9)
