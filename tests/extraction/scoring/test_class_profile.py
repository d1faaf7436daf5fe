"""Profiles by word class in float32 are those of plain loops and of the reference."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from headroles.extraction.scoring.classes.profile import Totals, profile, sum_bags
from headroles.plans.class_profile import CellSums
from headroles.plans.word_pairs import CELLS

SEEDS = st.integers(0, 2**32 - 1)


@given(
    bags=st.lists(st.lists(st.integers(0, 8), max_size=6), min_size=1, max_size=9),
    weighted=st.booleans(),
    seed=SEEDS,
)
def test_sums_of_bags_are_those_of_a_loop(bags: list[list[int]], weighted: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table, weights = rng.normal(size=(9, 3)), [rng.random(len(bag)) for bag in bags]
    expected = np.zeros((len(bags), 3))
    for number, (bag, weight) in enumerate(zip(bags, weights, strict=True)):
        for row, own in zip(bag, weight, strict=True):
            expected[number] += table[row] * (own if weighted else 1)
    index = np.array([row for bag in bags for row in bag], dtype=np.int64)
    rows, opens = torch.from_numpy(table.astype(np.float32)), np.cumsum([0, *map(len, bags)])
    found = sum_bags(rows, index, opens, np.concatenate(weights) if weighted else None)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@given(seed=SEEDS, rows=st.integers(1, 300), asked=st.integers(1, 40))
def test_a_profile_of_all_levels_is_that_of_the_reference(seed: int, rows: int, asked: int) -> None:
    rng = np.random.default_rng(seed)
    some = rng.choice(CELLS, 60)  # few, so that cells and coarser cells meet
    cells, sums, pairs = rng.choice(some, rows), rng.random((rows, 4), np.float32), rng.integers(1, 5, rows)
    wanted = np.unique(np.concatenate([rng.choice(some, asked), rng.choice(CELLS, asked)]))
    by_cell = CellSums()
    for row in range(rows):
        by_cell.add(cells[row : row + 1], sums[row : row + 1], pairs[row : row + 1], 1)
    found = profile(Totals(cells, torch.from_numpy(sums), pairs), wanted)
    np.testing.assert_allclose(found, by_cell.profile(wanted), rtol=2e-6)
