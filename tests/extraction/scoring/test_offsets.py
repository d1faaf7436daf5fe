"""Sums by offset from the compiled loop, and plans of contrasts by formula, are those of single cells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroles.extraction.scoring.blocks import offset_keys
from headroles.extraction.scoring.blocks.offset_keys import OffsetKeys
from headroles.extraction.scoring.blocks.offsets import add_offsets
from headroles.plans.even import EvenUnits, visible_counts
from headroles.plans.masks import Band, Keys, Mask, Match, Same, Without
from headroles.sieves.weights.long import contrast as long_contrast
from headroles.sieves.weights.long.cells import find_form
from tests.support.reference import rounding_bound


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.3, 0.8, 0.97]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([1, 3, 64]),
)
def test_a_block_adds_each_cell_to_the_offset_of_its_units(
    seed: int, alone: float, apart: bool, shuffled: bool, run: int
) -> None:
    rng = np.random.default_rng(seed)
    tokens, heads = int(rng.integers(2, 40)), int(rng.integers(1, 3))
    unit = (rng.random(tokens) < alone).astype(np.int64).cumsum()
    unit = np.unique(rng.permutation(unit) if shuffled else unit, return_inverse=True)[1]
    units = int(unit.max()) + 1
    compared = np.where(rng.random(tokens) < 0.9, unit, -1)
    first, start = (int(each) for each in rng.integers(0, tokens, 2))
    width, count = int(rng.integers(1, tokens - first + 1)), int(rng.integers(1, tokens - start + 1))
    rows = rng.random((heads, count, width), dtype=np.float32)
    weight = (rng.random(count) * (rng.random(count) < 0.8)).astype(np.float32)
    sums, itself = np.zeros((heads, 2 * units - 1)), np.zeros((heads, units))
    own = unit[start : start + count]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offset_keys, "RUN", run)
        keys = OffsetKeys.of(compared, units, apart)
    add_offsets(sums, itself, rows, first, (own, weight), keys)
    wanted, wanted_itself = np.zeros_like(sums), np.zeros_like(itself)
    for row in range(count):
        for key in range(width):
            other = compared[first + key]
            if other >= 0:
                cells = rows[:, row, key].astype(np.float64) * weight[row]
                wanted[:, other - own[row] + units - 1] += cells
                wanted_itself[:, other] -= cells * (apart and other == own[row])
    close = rounding_bound(tokens) * max(1.0, float(wanted.max()))
    np.testing.assert_allclose(sums, wanted, rtol=0, atol=close)
    np.testing.assert_allclose(itself, wanted_itself, rtol=0, atol=close)


def test_cells_that_are_not_numbers_stay_so() -> None:
    sums, itself = np.zeros((2, 39)), np.zeros((2, 20))
    rows = np.ones((2, 20, 20), np.float32)
    rows[1, 3, 4] = np.nan
    unit = np.arange(20)
    add_offsets(sums, itself, rows, 0, (unit, np.ones(20, np.float32)), OffsetKeys.of(unit, 20, True))
    assert np.isnan(sums).any(axis=1).tolist() == [False, True]


def _visible(rng: np.random.Generator, kind: str, tokens: int) -> Mask | None:
    if kind == "all":
        return None
    if kind == "earlier":
        return Band(1 - tokens, 0, tokens)
    low, high = sorted(int(each) for each in rng.integers(-6, 7, 2))
    return Band(low, high, tokens)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["all", "earlier", "band"]),
    st.sampled_from([0.5, 1.0]),
    st.booleans(),
    st.booleans(),
)
def test_plans_by_formula_are_those_counted_row_by_row(
    seed: int, kind: str, alone: float, apart: bool, every: bool
) -> None:
    rng = np.random.default_rng(seed)
    tokens = int(rng.integers(3, 40))
    unit = (rng.random(tokens) < alone).astype(np.int64).cumsum()
    unit -= unit[0]
    if alone < 1:
        unit = np.where(rng.random(tokens) < 0.8, unit, -1)
        unit[unit >= 0] = np.unique(unit[unit >= 0], return_inverse=True)[1]
    if not (unit >= 0).any():
        return
    spread = EvenUnits.of(unit, _visible(rng, kind, tokens))
    units = len(spread.pieces)
    some = np.where(rng.random(units) < 0.7, 0, -1)
    scope: Mask = Keys(np.ones(units, dtype=np.bool_)) if every else Same(some)
    scope = Without(scope, Band(0, 0, units)) if apart else scope
    labels = rng.integers(-1, 12, units)
    own = [find_form([Match(labels, rng.permutation(labels)), scope], None, units)]
    own.append(find_form([Band(-2, 1, units), scope], None, units))
    own += [] if apart else [find_form([Keys(rng.random(units) < 0.5), scope], None, units)]
    found = long_contrast._walk(spread, scope, own)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_contrast, "_rate", lambda *_: None)
        wanted = long_contrast._walk(spread, scope, own)
    np.testing.assert_array_equal(found.room, wanted.room)
    np.testing.assert_array_equal(found.size, wanted.size)
    np.testing.assert_allclose(found.even, wanted.even, rtol=0, atol=1e-12 * tokens)
    np.testing.assert_array_equal(found.even > 0, wanted.even > 0)
    for one, other in zip(found.at, wanted.at, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("low", [-30, -4, 2, 40])
@pytest.mark.parametrize("width", [0, 3, 60])
def test_a_band_has_as_many_visible_keys_as_its_rows(low: int, width: int) -> None:
    band = Band(low, low + width, 20)
    np.testing.assert_array_equal(visible_counts(band, 20), band.rows(0, 20).sum(axis=1))
