"""Sums of the reference engine are those of plain loops, however maps are cut into heads, rows and runs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from headroles.arrays import selection_of
from headroles.sieves.weights import reference
from headroles.sieves.weights.reference import apply, distance_profile, sums_of_pairs, weighted_sums
from tests.sieves.recipes import Recipe, recipes_of
from tests.support.reference import draws

few = settings(max_examples=draws(30))


@few
@given(
    seed=some.integers(0, 2**32 - 1),
    heads=some.integers(1, 6),
    units=some.integers(1, 40),
    room=some.sampled_from([1, 500, 2000, 2**16]),
    kind=some.sampled_from([np.float32, np.float64]),
)
def test_sums_over_pairs_are_those_of_diagonals_and_rows(
    seed: int, heads: int, units: int, room: int, kind: type[np.floating]
) -> None:
    rng = np.random.default_rng(seed)
    cells = rng.random((heads, units, units)).astype(kind)
    inside = (rng.random((units, units)) < 0.7).astype(kind)

    def write(first: int, stop: int, maps: np.ndarray) -> None:
        maps[...] = cells[first:stop]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference, "CACHED", room)
        offsets, rows = sums_of_pairs(write, heads, inside)
    counted = (cells * inside).astype(np.float64)
    wanted = [np.trace(counted, offset, axis1=1, axis2=2) for offset in range(1 - units, units)]
    bound = 1e-5 if kind == np.float32 else 1e-13
    np.testing.assert_allclose(offsets, np.transpose(wanted), rtol=bound, atol=0)
    np.testing.assert_allclose(rows, counted.sum(axis=2), rtol=bound, atol=0)


@few
@given(seed=some.integers(0, 2**32 - 1), units=some.integers(2, 40))
def test_a_head_that_knows_offsets_only_is_its_own_profile(seed: int, units: int) -> None:
    rng = np.random.default_rng(seed)
    offset = np.arange(units)[None, :] - np.arange(units)[:, None] + units - 1
    inside = (rng.random((units, units)) < 0.8).astype(np.float64)
    even = inside / units
    level = np.zeros((units, 2 * units - 1))
    np.put_along_axis(level, offset, even, axis=1)
    known = 0.1 + rng.random(2 * units - 1)
    curve, rate = distance_profile((known[offset] * even)[None], inside, level.sum(axis=0), level.T)
    there = level.sum(axis=0) > 0
    np.testing.assert_allclose(curve[0, there], known[there], rtol=1e-12)
    np.testing.assert_allclose(rate[0], inside.any(axis=1), rtol=1e-12)


@few
@given(recipe=recipes_of(("nsubj", "obj", "amod"), 12), seed=some.integers(0, 2**32 - 1))
def test_scores_do_not_depend_on_how_maps_are_cut(recipe: Recipe, seed: int) -> None:
    example, rng = recipe.made()
    cells = rng.gamma(0.3, size=(5, example.size, example.size)) + 1e-9
    attention = cells / cells.sum(axis=2, keepdims=True)
    plan = selection_of(["local", "block", "syntactic"]).plan(example, None, np.float64)
    wanted = apply(plan, attention)
    for name, number in (("CACHED", 1), ("ROWS", 3), ("CELLS", 7), ("RUNS", 0)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reference, name, number)
            np.testing.assert_allclose(apply(plan, attention), wanted, rtol=1e-11, atol=1e-12)


@few
@given(
    seed=some.integers(0, 2**32 - 1),
    cells=some.integers(1, 3000),
    kind=some.sampled_from([np.float32, np.float64]),
)
def test_weighted_sums_are_products(seed: int, cells: int, kind: type[np.floating]) -> None:
    rng = np.random.default_rng(seed)
    weight, flat = rng.normal(size=(3, cells)).astype(kind), rng.random((4, cells)).astype(kind)
    wanted = weight.astype(np.float64) @ flat.astype(np.float64).T
    bound = (1e-6 if kind == np.float32 else 1e-14) * np.abs(weight).sum()
    np.testing.assert_allclose(weighted_sums(weight, flat), wanted, rtol=0, atol=bound)
