"""Draws over units: the same for a seed, the same as scipy's, and what they claim to be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles.stats.draws import BLOCK, bootstrap_counts, flips_are_exact, random_halves, sign_flips
from tests.support.reference import draws

quick = settings(max_examples=draws(40))


def test_bootstrap_counts_are_the_draws_of_one_generator_in_a_row() -> None:
    counts = np.concatenate(list(bootstrap_counts(7, 2 * BLOCK + 3, 5)))
    drawn = np.random.default_rng(5).integers(0, 7, (2 * BLOCK + 3, 7))
    np.testing.assert_array_equal(counts, [np.bincount(row, minlength=7) for row in drawn])


@quick
@given(st.integers(1, 30), st.integers(1, 600), st.integers(0, 2**32 - 1))
def test_every_resample_has_as_many_units_as_the_data(units: int, resamples: int, seed: int) -> None:
    blocks = list(bootstrap_counts(units, resamples, seed))
    counts = np.concatenate(blocks)
    assert counts.shape == (resamples, units)
    assert (counts.sum(axis=1) == units).all()
    assert max(len(block) for block in blocks) <= BLOCK


@pytest.mark.parametrize("units", [1, 4, 9])
def test_few_units_are_flipped_in_every_pattern_once_the_unflipped_first(units: int) -> None:
    signs = np.concatenate(list(sign_flips(units, 2**units, 0)))
    assert len(np.unique(signs, axis=0)) == len(signs) == 2**units
    assert (signs[0] == 1).all()
    assert set(np.unique(signs)) == {-1.0, 1.0}


def test_many_units_are_flipped_at_random_and_evenly() -> None:
    assert not flips_are_exact(14, 10_000)
    assert flips_are_exact(13, 10_000)
    assert not flips_are_exact(2000, 10_000)
    signs = np.concatenate(list(sign_flips(14, 10_000, 3)))
    assert signs.shape == (10_000, 14)
    assert np.abs(signs.mean(axis=0)).max() < 0.05
    again = np.concatenate(list(sign_flips(14, 10_000, 3)))
    np.testing.assert_array_equal(signs, again)
    assert (signs != np.concatenate(list(sign_flips(14, 10_000, 4)))).any()


@quick
@given(st.integers(2, 41), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_halves_are_disjoint_and_of_equal_size(units: int, splits: int, seed: int) -> None:
    side = random_halves(units, splits, seed)
    assert side.shape == (splits, units)
    assert ((side > 0).sum(axis=1) == units // 2).all()
    assert ((side < 0).sum(axis=1) == units // 2).all()


def test_every_unit_is_as_often_in_one_half_as_in_the_other() -> None:
    assert np.abs(random_halves(11, 4000, 1).mean(axis=0)).max() < 0.06
