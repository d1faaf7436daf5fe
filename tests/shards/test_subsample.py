"""The subsample is a simple random one, and no worker drops what belongs to it."""

import numpy as np
from scipy import stats as reference

from headroles.shards.moments import LARGEST_RANK, rank_ceiling, ranks_of, select_candidates


def test_the_subsample_is_random_and_takes_every_example_equally_often() -> None:
    keys = [f"x/{n}" for n in range(40)]
    drawn = np.stack([select_candidates(keys, seed=seed, before=0, size=10) for seed in range(2000)])
    counts = drawn.sum(axis=0)
    assert counts.sum() == 20_000
    # drawing 10 of 40 without replacement leaves 3/4 of the variance of independent draws
    spread = ((counts - 500) ** 2).sum() / (500 * 0.75)
    assert 1e-3 < reference.chi2.sf(spread, 39) < 1 - 1e-3
    assert abs(drawn[:, :2].all(axis=1).mean() - 10 * 9 / (40 * 39)) < 4 * np.sqrt(0.058 / 2000)


def test_late_shards_keep_few_rows_and_none_of_the_sample_is_lost() -> None:
    keys = [f"x/{n}" for n in range(60_000)]
    kept = []
    for number in range(60):
        own = np.array(keys[number * 1000 : number * 1000 + 1000])
        kept.append(own[select_candidates(own.tolist(), seed=1, before=number * 1000, size=100)])
    assert len(kept[0]) == 100
    assert len(kept[-1]) < 20
    left = np.concatenate(kept)
    sample = left[select_candidates(left.tolist(), seed=1, before=59_000, size=100)]
    smallest = np.array(keys)[np.argsort(ranks_of(keys, 1), kind="stable")[:100]]
    assert set(sample) == set(smallest)


def test_the_ceiling_cuts_into_the_sample_of_one_run_in_a_thousand_million_at_most() -> None:
    for size in (1, 7, 100, 2000, 20_000):
        for before in (10 * size + 1000, 10**6, 10**9):
            assert reference.binom.cdf(size, before, rank_ceiling(before, size) / LARGEST_RANK) < 1e-9
