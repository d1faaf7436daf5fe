"""Sums over attention that is never formed equal those of formed weights, in less memory than theirs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import _disable_current_modes

from headroles.arrays import selection_of
from headroles.extraction.fused import attention as fused
from headroles.extraction.fused.attention import Compared, FusedAttention
from headroles.extraction.scoring.blocks.sums import LongSums
from headroles.extraction.scoring.fused import FusedSums
from headroles.plans.masks import Band, Cells, Mask
from headroles.sieves.base import MaskSieve
from headroles.sieves.selection import Selection
from headroles.testing import made_example
from tests.support.largest import Largest

HEADS, SIZE, SCALE = 4, 8, 0.6
CPU = torch.device("cpu")
VISIBLE: dict[str, Callable[[int], Mask | None]] = {
    "all keys": lambda n: None,
    "earlier keys": lambda n: Band(1 - n, 0, n),
    "a window": lambda n: Band(-5, 0, n),
    "an irregular mask": lambda n: Cells(np.random.default_rng(n).random((n, n)) + np.eye(n) > 0.4),
}


def _pair(n: int, key_heads: int, shown: Mask | None) -> tuple[FusedAttention, torch.Tensor]:
    """The same attention unformed, and formed in float64."""
    rng = torch.Generator().manual_seed(n)
    query, key = (torch.randn((heads, n, SIZE), generator=rng) for heads in (HEADS, key_heads))
    logits = (query.double() @ key.double().repeat_interleave(HEADS // key_heads, 0).transpose(1, 2)) * SCALE
    seen = np.ones((n, n), dtype=np.bool_) if shown is None else np.array(shown.rows(0, n))
    weights = logits.masked_fill(~torch.from_numpy(seen), -torch.inf).softmax(-1)
    return FusedAttention(query, key, SCALE, shown, CPU), weights


@pytest.mark.parametrize("key_heads", [HEADS, 2, 1])
@pytest.mark.parametrize("visible", VISIBLE)
def test_every_sum_is_that_of_formed_weights(visible: str, key_heads: int) -> None:
    n = 37
    attention, weights = _pair(n, key_heads, VISIBLE[visible](n))
    rng = np.random.default_rng(1)
    columns = torch.from_numpy(rng.random((n, 21)))
    torch.testing.assert_close(attention.sums(columns).double(), weights @ columns, rtol=0, atol=1e-5)
    query, key = rng.integers(0, n, (2, 90))
    torch.testing.assert_close(
        attention.cells(query, key).double(), weights[:, query, key], rtol=0, atol=1e-5
    )
    sets = torch.from_numpy((rng.random((n, 3)) < 0.5).astype(np.float32))
    label = torch.from_numpy(rng.integers(-1, 3, n))
    masses, spread = attention.spread(sets, label)
    torch.testing.assert_close(masses.double(), weights @ sets.double(), rtol=0, atol=1e-5)
    inside = weights * sets.double().T[label.clamp(min=0)]
    mass = inside.sum(-1)
    wanted = torch.xlogy(mass, mass) - torch.xlogy(inside, inside).sum(-1)
    torch.testing.assert_close(spread.double(), wanted * (label >= 0), rtol=0, atol=1e-5)


@pytest.mark.parametrize("scoped", [False, True])
@pytest.mark.parametrize("visible", VISIBLE)
def test_sums_by_offset_are_those_of_compared_pairs_between_units(visible: str, scoped: bool) -> None:
    n = 29
    attention, weights = _pair(n, 2, VISIBLE[visible](n))
    rng = np.random.default_rng(2)
    unit = np.sort(rng.integers(-1, 12, n))
    taken, units = (unit >= 0) & (unit != 4), 12
    scope = rng.random((units, units)) < 0.7 if scoped else None
    weight = rng.random(n)
    compared = Compared(
        torch.from_numpy(unit),
        torch.from_numpy(taken),
        apart=True,
        scope=None if scope is None else torch.from_numpy(scope),
        units=units,
    )
    offsets, masses = attention.offsets(compared, torch.from_numpy(weight).float())
    pairs = taken[:, None] & taken[None] & (unit[:, None] != unit[None])
    if scope is not None:
        pairs &= scope[unit[:, None], unit[None]]
    there = weights.numpy() * pairs * weight[:, None]
    wanted = np.zeros((HEADS, 2 * units - 1))
    place = (unit[None] - unit[:, None] + units - 1)[pairs]
    for head in range(HEADS):
        np.add.at(wanted[head], place, there[head][pairs])
    np.testing.assert_allclose(offsets.numpy(), wanted, rtol=0, atol=1e-5)
    np.testing.assert_allclose(masses.numpy(), there.sum(-1), rtol=0, atol=1e-5)


def _odd(example: Any) -> np.ndarray:
    cells: np.ndarray = np.random.default_rng(example.size).random((example.size, example.size)) < 0.9
    return cells


@pytest.mark.parametrize("visible", ["all keys", "earlier keys", "an irregular mask"])
def test_scores_of_a_plan_are_those_of_blocks_of_rows(visible: str) -> None:
    example = made_example(np.random.default_rng(3), words=80)
    names = ["local", "delimiter", "block", "syntactic", "identical", "previous", "subword", "duplicate"]
    selection = Selection((*selection_of(names).sieves, MaskSieve("odd", _odd)))
    shown = VISIBLE[visible](example.size)
    plan = selection.long_plan(example, shown)
    attention, weights = _pair(example.size, 2, shown)
    rows = LongSums(plan, HEADS, CPU)
    rows.add(0, weights.float())
    wanted, found = rows.finish(), FusedSums(plan, HEADS, CPU).scores(attention)
    assert plan.profiles
    assert plan.rowwise
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-5)


def _unwatched(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function without its inside being watched: on a processor, torch itself forms logits there."""

    def call(*given: Any, **options: Any) -> Any:
        with _disable_current_modes():
            return function(*given, **options)

    return call


def test_no_tensor_outside_of_the_library_has_a_cell_for_each_pair_of_tokens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n = 401
    attention, _ = _pair(n, 2, Band(1 - n, 0, n))
    place = torch.arange(n)
    compared = Compared(place, place >= 0, apart=True, scope=None, units=n)
    flex = fused._function("cpu")
    monkeypatch.setattr(fused, "_function", lambda device: _unwatched(flex))
    monkeypatch.setattr(torch.autograd, "grad", _unwatched(torch.autograd.grad))
    with Largest() as largest:
        attention.sums(torch.ones((n, 12)))
        attention.cells(np.arange(n), np.arange(n))
        attention.spread(torch.ones((n, 2)), place % 2)
        attention.offsets(compared, torch.ones(n))
    assert n < largest.numbers < n * n
