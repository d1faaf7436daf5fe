"""Products of shards are joined to means over units, however the inputs are cut into shards."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles.extraction.why.layout import QueryLayout
from headroles.extraction.why.products import Families, InputProducts
from headroles.records.causal.origins import Products
from headroles.runs.why.products import ShardProducts, join_products

FAMILIES = Families(("local", "first", "first"), np.array([0, 0, 1]), np.array([1, 0, 2]))
SIZE, REDEALS = 4, 3
LAYOUT = QueryLayout(SIZE, np.arange(SIZE), np.ones(SIZE, dtype=np.bool_), capped=False, biased=False)


def _inputs(count: int, seed: int, silent: float = 0.0) -> list[InputProducts]:
    rng, made = np.random.default_rng(seed), []
    for _ in range(count):
        outer = rng.normal(size=(3, SIZE, SIZE))
        redealt = rng.normal(size=(3, REDEALS, SIZE, SIZE)).astype(np.float32)
        parts = np.diagonal(outer, axis1=1, axis2=2).copy()
        vertical, bias = rng.normal(size=3), rng.normal(size=3)
        quiet = rng.random(3) < silent
        for array in (outer, redealt, parts, vertical, bias):
            array[quiet] = np.nan
        made.append(InputProducts(parts, vertical, bias, outer, redealt))
    return made


def _joined(inputs: list[InputProducts], units: list[str], cuts: list[int]) -> Products:
    """Join the products of shards that end at some places."""
    members = {unit: units.count(unit) for unit in units}
    contents = []
    for start, stop in pairwise([0, *cuts, len(inputs)]):
        shard = ShardProducts(FAMILIES, LAYOUT, REDEALS)
        for place in range(start, stop):
            shard.add(f"x{place}", inputs[place], members[units[place]])
        contents.append(shard.content())
    return join_products(contents, {f"x{place}": unit for place, unit in enumerate(units)})


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=9), st.integers(0, 99), st.data())
def test_a_unit_is_the_mean_of_its_inputs_and_all_units_weigh_the_same(
    units: list[str], seed: int, data: st.DataObject
) -> None:
    inputs = _inputs(len(units), seed)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(units)), max_size=3)))
    joined, names = _joined(inputs, units, cuts), list(dict.fromkeys(units))
    assert joined.units == tuple(names)

    def mean_of(field: str) -> np.ndarray:
        own = [
            np.mean(
                [getattr(one, field) for one, unit in zip(inputs, units, strict=True) if unit == name], axis=0
            )
            for name in names
        ]
        return np.array(own)

    np.testing.assert_allclose(joined.parts, mean_of("parts"), atol=1e-6)
    np.testing.assert_allclose(joined.vertical, mean_of("vertical"), atol=1e-12)
    np.testing.assert_allclose(joined.bias, mean_of("bias"), atol=1e-12)
    np.testing.assert_allclose(joined.outer, mean_of("outer").mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(
        np.diagonal(joined.outer, axis1=1, axis2=2), joined.parts.mean(axis=0), atol=1e-6
    )
    again = mean_of("redealt").mean(axis=0)
    np.testing.assert_allclose(joined.redealt, np.linalg.norm(again, 2, axis=(2, 3)), rtol=1e-4)


def test_inputs_without_a_value_are_left_out_of_their_family_alone() -> None:
    inputs = _inputs(12, 3, silent=0.4)
    units = [f"u{place // 2}" for place in range(12)]
    joined = _joined(inputs, units, [5])
    vertical = np.array([one.vertical for one in inputs]).reshape(6, 2, 3)
    known = ~np.isnan(vertical)
    assert known.any(axis=1).sum() < known.any(axis=1).size  # a family is silent in all inputs of a unit
    for unit, family in np.ndindex(6, 3):
        own = vertical[unit, known[unit, :, family], family]
        expected = own.mean() if len(own) else np.nan
        np.testing.assert_allclose(joined.vertical[unit, family], expected)
    assert not np.isnan(joined.outer).any()
    outer = np.array([one.outer for one in inputs])
    np.testing.assert_allclose(joined.outer, np.nanmean(outer, axis=0))  # all units have two inputs


def test_a_run_without_families_has_products_of_no_family() -> None:
    none = Families((), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    joined = join_products([ShardProducts(none, LAYOUT, REDEALS).content()] * 2, {})
    assert joined.roles == joined.units == ()
    assert joined.parts.shape == (0, 0, SIZE)
    assert joined.redealt.shape == (0, REDEALS)


def test_a_damaged_file_of_a_shard_is_refused() -> None:
    with pytest.raises(ValueError, match=r"products\.npz is no archive"):
        join_products([b""], {})
