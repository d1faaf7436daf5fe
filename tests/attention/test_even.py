"""Even attention over what can be seen: selectivity 0, bias 1 and contrasts 0, whatever can be seen."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles import Example, score
from headroles.arrays import selection_of
from tests.support.annotated import EVERY, MASKS, annotated, visible
from tests.support.reference import draws, rounding_bound

SIEVES = selection_of(EVERY).sieves
SCORERS = ("bag-of-words", "bag-of-words:matched")
CONTRAST = {"bfloat16": 5e-4, "float16": 5e-5}
"""How far from 0 a contrast of even attention may lie that was rounded."""


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
        example = annotated(rng, list(self.lengths), specials=self.specials)
        seen = visible(rng, example.size, self.mask)
        return example, seen, seen / seen.sum(axis=1, keepdims=True)


recipes = st.builds(
    _Recipe,
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(2, 9), min_size=1, max_size=2).map(tuple),
    st.booleans(),
    st.sampled_from(MASKS),
)


def _said(
    rows: np.ndarray, example: Example, seen: np.ndarray, statistic: str, sinks: bool = False
) -> dict[str, float]:
    """Scores of one head that are numbers."""
    found = score(rows[None, None], example, SIEVES, visible=seen, statistic=statistic, sinks=sinks)
    return {name: value.item() for name, value in found.items() if not np.isnan(value).all()}


def _null(name: str, statistic: str) -> float:
    return 0.0 if statistic == "selectivity" or name.endswith(":matched") or name in SCORERS else 1.0


@settings(max_examples=draws(50))
@given(recipes, st.floats(0.05, 0.95))
def test_even_attention_is_at_its_null_and_what_a_sink_takes_is_spent_elsewhere(
    recipe: _Recipe, left: float
) -> None:
    example, seen, even = recipe.made()
    rng = np.random.default_rng(recipe.seed)
    rows = seen * rng.dirichlet(np.ones(example.size), size=example.size)
    whole = rows / rows.sum(axis=1, keepdims=True)
    for statistic, scaled in (("selectivity", left), ("bias", 1.0)):
        for name, value in _said(even, example, seen, statistic).items():
            assert value == pytest.approx(_null(name, statistic), abs=1e-9), name
        full = _said(whole, example, seen, statistic)
        part = _said(left * whole, example, seen, statistic, sinks=True)
        evened = _said(left * even, example, seen, statistic, sinks=True)
        assert part.keys() == full.keys()
        for name in full.keys() - set(SCORERS):
            factor = left if name.endswith(":matched") else scaled
            assert part[name] == pytest.approx(factor * full[name], abs=1e-9), name
            assert evened[name] == pytest.approx(_null(name, statistic), abs=1e-9), name


def test_a_sink_that_takes_more_of_short_rows_leaves_selectivity_at_0_and_contrasts_near_it() -> None:
    rng, furthest = np.random.default_rng(9), 0.0
    for number in range(40):
        example = annotated(rng, rng.integers(8, 30, 2).tolist())
        seen = visible(rng, example.size, "causal")
        even = seen / (seen.sum(axis=1, keepdims=True) + np.exp(number % 5 - 1))
        for name, value in _said(even, example, seen, "selectivity", sinks=True).items():
            if name.endswith(":matched"):
                furthest = max(furthest, abs(value))
            elif name not in SCORERS:
                assert abs(value) <= 1e-9, name
    assert 1e-3 < furthest < 0.08


def test_every_sieve_has_something_to_say_under_every_mask_that_leaves_it_keys() -> None:
    rng = np.random.default_rng(3)
    ahead = {"causal", "causal window", "chunks", "padding left"}
    silent = dict.fromkeys(("next", "offset:2", "subword:completing", "subword:completing:matched"), ahead)
    spoken: dict[str, set[str]] = {name: set() for name in selection_of(EVERY).columns}
    for mask in MASKS:
        for number in range(16):
            example = annotated(rng, [12, 12], specials=number % 4 > 0)
            seen = visible(rng, example.size, mask)
            for name in _said(seen / seen.sum(axis=1, keepdims=True), example, seen, "selectivity"):
                spoken[name].add(mask)
    wrong = {}
    for name, masks in spoken.items():
        rare = (
            {"causal window", "chunks"} if name.startswith(("coreference", "syntactic", "block")) else set()
        )
        rare |= {"window", "causal window", "chunks"} if name == "local:9" else set()
        rare |= {"padding left"} if name in ("first", "delimiter:cls") else set()
        wanted = set() if name.endswith(":class") else set(MASKS) - silent.get(name, set())
        if not wanted - rare <= masks <= wanted:
            wrong[name] = masks
    assert not wrong, wrong


@pytest.mark.parametrize("dtype", CONTRAST)
def test_even_attention_rounded_to_half_precision_stays_at_its_null_within_the_bound(dtype: str) -> None:
    rng = np.random.default_rng(5)
    furthest = {"selectivity": 0.0, "bias": 0.0, "contrast": 0.0}
    for size in (7, 19, 52):
        for mask in MASKS:
            example = annotated(rng, [size, size])
            seen = visible(rng, example.size, mask)
            even = torch.from_numpy(seen / seen.sum(axis=1, keepdims=True)).to(getattr(torch, dtype))
            for statistic in ("selectivity", "bias"):
                for name, value in _said(even.float().numpy(), example, seen, statistic).items():
                    kind = "contrast" if name.endswith(":matched") else statistic
                    if name not in SCORERS:
                        furthest[kind] = max(furthest[kind], abs(value - _null(name, statistic)))
    assert furthest["selectivity"] <= rounding_bound(90)
    assert furthest["bias"] <= rounding_bound(90, magnitude=90)
    assert 1e-6 < furthest["contrast"] <= 2 * CONTRAST[dtype]
