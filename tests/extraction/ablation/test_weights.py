"""Attention that is made even, or removed from cells, equals loops over the weights of a plain model."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headroles.errors import BadInput
from headroles.extraction.ablation.arms import Ablator, Arm
from headroles.extraction.ablation.removal import even_weights, remove_cells, remove_matched
from headroles.extraction.texts.tokens import Tokenised
from tests.support.causal.plain import (
    UNITS,
    inputs_of,
    one_minus_cosine,
    open_model,
    plain_attention,
    plain_run,
)

ZOO = [("bert", None), ("roberta", None), ("distilbert", None), ("gpt2", None), ("llama", None),
       ("gemma2", None), ("t5", "encoder"), ("t5", "decoder"), ("bart", "decoder")]  # fmt: skip


def looped_cells(weights: np.ndarray, cells: np.ndarray, visible: np.ndarray) -> np.ndarray:
    """Weights without a role's cells, row by row."""
    new = weights.copy()
    for i, row in enumerate(weights):
        inside = cells[i] & visible[i]
        if not inside.any():
            continue
        kept = np.where(inside, 0.0, row)
        if kept.sum() <= 1e-6 * row.sum():
            outside = visible[i] & ~cells[i]
            kept = outside / max(outside.sum(), 1)
            new[i] = kept * row.sum()
            continue
        new[i] = kept * row.sum() / kept.sum()
    return new


def looped_matched(weights: np.ndarray, cells: np.ndarray, visible: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights without as much attention on other cells at the same offsets, cell by cell, and the share."""
    new, taken, total = weights.copy(), 0.0, 0.0
    queries, keys = weights.shape
    for d in range(1 - queries, keys):
        places = [(i, i + d) for i in range(queries) if 0 <= i + d < keys and visible[i, i + d]]
        role = sum(weights[place] for place in places if cells[place])
        other = sum(weights[place] for place in places if not cells[place])
        total += role
        if other > 0:
            share = min(1.0, role / other)
            taken += share * other
            for place in places:
                if not cells[place]:
                    new[place] *= 1 - share
    for i, row in enumerate(weights):
        if new[i].sum() <= 1e-6 * row.sum():
            outside = visible[i] & ~cells[i]
            new[i] = row.sum() * outside / max(outside.sum(), 1)
        else:
            new[i] *= row.sum() / new[i].sum()
    return new, taken / total if total else 1.0


@given(st.integers(2, 7), st.booleans(), st.floats(0, 1), st.integers(0, 10**6))
def test_removals_equal_loops_over_cells(size: int, causal: bool, share: float, seed: int) -> None:
    generator = np.random.default_rng(seed)
    visible = np.tri(size, dtype=bool) if causal else np.ones((size, size), dtype=bool)
    weights = np.where(visible, generator.dirichlet(np.ones(size), size), 0.0)
    weights /= weights.sum(1, keepdims=True)
    cells = generator.random((size, size)) < share
    arrays = [torch.from_numpy(array) for array in (weights, cells, visible)]
    new, changed = remove_cells(*arrays)
    np.testing.assert_allclose(new, looped_cells(weights, cells, visible), atol=1e-12)
    assert changed.tolist() == (cells & visible).any(1).tolist()
    new, changed, matched = remove_matched(*arrays)
    expected, share = looped_matched(weights, cells, visible)
    np.testing.assert_allclose(new, expected, atol=1e-9)
    assert matched == pytest.approx(share, abs=1e-12)
    assert set(np.flatnonzero(np.abs(expected - weights).max(1) > 1e-9)) <= set(
        np.flatnonzero(changed.numpy())
    )
    np.testing.assert_allclose(new.sum(1).numpy()[(visible & ~cells).any(1)], 1, atol=1e-9)


@given(st.integers(2, 7), st.integers(0, 10**6))
def test_matched_cells_lose_as_much_as_the_role_has_where_they_have_it(size: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    weights = torch.from_numpy(generator.dirichlet(np.ones(size), size))
    cells = torch.zeros(size, size, dtype=torch.bool)
    cells[0, 1] = True
    everything = torch.ones_like(cells)
    new, _, share = remove_matched(weights, cells, everything)
    others = weights.diagonal(1)[1:].sum()
    assert share == pytest.approx(min(1.0, float(others / weights[0, 1])), abs=1e-12)
    assert new[0].tolist() == pytest.approx(weights[0].tolist())


def test_even_weights_are_those_of_visible_keys() -> None:
    visible = torch.tensor([[True, False, False], [True, True, False], [False, False, False]])
    assert even_weights(visible, torch.zeros(3, 3)).tolist() == [[1, 0, 0], [0.5, 0.5, 0], [0, 0, 0]]


def cells_of(tokenised: Tokenised, seed: int) -> np.ndarray:
    """Some cells, all of them in one row, and none in another."""
    cells: np.ndarray = np.random.default_rng(seed).random((tokenised.size, tokenised.size)) < 0.2
    cells[1], cells[2] = True, False
    return cells


@pytest.mark.parametrize(("name", "kind"), ZOO)
def test_new_weights_act_as_in_a_plain_model_whose_outputs_are_made_anew(
    model_of: Any, name: str, kind: str | None
) -> None:
    model = open_model(model_of(name), kind=kind)
    batch = inputs_of(model)
    cells = [cells_of(tokenised, place) for place, tokenised in enumerate(batch)]
    places = ((0, 1), (1, 3), (1, 0))
    arms = [Arm(by, (place,), () if by == "even" else cells) for by in ("even", "cells", "cells:matched")
            for place in places]  # fmt: skip
    effects = Ablator(model, ["tokens"]).measure(batch, UNITS, None, arms)
    for place, tokenised in enumerate(batch):
        weights, values = plain_attention(model, tokenised, name, kind)
        clean = plain_run(model, tokenised, name, lambda layer, own: None, kind)
        for number, arm in enumerate(arms):
            ((layer, head),) = arm.heads
            own = weights[layer][head].double().numpy()
            seen = np.tri(len(own), dtype=bool) if own[0, 1:].sum() == 0 else np.ones_like(own, dtype=bool)
            if name == "gemma2" and layer == 0:
                seen &= ~np.tri(len(own), k=-6, dtype=bool)
            if arm.by == "even":
                new, share = seen / seen.sum(1, keepdims=True), 1.0
            elif arm.by == "cells":
                new, share = looped_cells(own, cells[place], seen), 1.0
            else:
                new, share = looped_matched(own, cells[place], seen)
            output = (torch.from_numpy(new) @ values[layer][head].double()).float()

            def change(
                own_layer: int,
                states: torch.Tensor,
                layer: int = layer,
                head: int = head,
                output: Any = output,
            ) -> None:
                if own_layer == layer:
                    states[:, head] = output

            expected = one_minus_cosine(plain_run(model, tokenised, name, change, kind), clean)
            measured = effects.by_token["tokens"][place][number]
            if share < 0.5:
                assert np.isnan(measured).all()
                assert np.isnan(effects.values["tokens"][number, place])
            else:
                np.testing.assert_allclose(measured, expected, atol=3e-6)
                assert measured.max() > 1e-6


def test_removing_no_cells_changes_exactly_nothing(model_of: Any) -> None:
    model = open_model(model_of("llama"))
    batch = inputs_of(model)
    none = [np.zeros((tokenised.size, tokenised.size), dtype=bool) for tokenised in batch]
    arms = [Arm(by, ((1, 2),), none) for by in ("cells", "cells:matched")]
    effects = Ablator(model, ["tokens", "representation"]).measure(batch, UNITS, None, arms)
    assert (effects.values["tokens"] == 0).all()
    assert (effects.values["representation"] == 0).all()


def test_new_weights_are_refused_where_outputs_are_not_weights_times_values(
    model_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_model(model_of("bert"))
    monkeypatch.setattr("headroles.extraction.ablation.trial._is_convex", lambda attended: False)
    batch = inputs_of(model)
    with pytest.raises(BadInput, match=r"--by even needs outputs of heads that are weights times values"):
        Ablator(model, ["tokens"]).measure(batch, UNITS, None, [Arm("even", ((0, 0),))])
