"""Distances between heads: their errors, intervals, resamples and nearest heads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.stats import sem, t

from headroles.records.clusters import Divergence
from headroles.stats.clusters import distances as distances_module
from headroles.stats.clusters.distances import (
    distance_intervals,
    distances,
    jackknife,
    jackknife_means,
    nearest_heads,
    resampled_means,
    square_matrix,
    standard_error,
    weighted_means,
)
from tests.support.reference import draws


def _of(sums: np.ndarray, heads: int, *, weight: np.ndarray | None = None, way: str = "mean") -> Divergence:
    blocks = len(sums)
    weights = np.ones(blocks) if weight is None else weight
    return Divergence(1, heads, sums, weights, np.arange(blocks), way=way)


def test_the_error_of_a_mean_over_units_is_the_usual_one() -> None:
    sums = np.random.default_rng(0).gamma(2, 1, size=(30, 6))
    usual = sums.std(axis=0, ddof=1) / np.sqrt(30)
    np.testing.assert_allclose(standard_error(_of(sums, 4)), usual)
    np.testing.assert_allclose(standard_error(_of(sums, 4, way="sum")), 30 * usual)


def test_the_error_over_blocks_of_several_units_is_that_of_a_ratio() -> None:
    rng = np.random.default_rng(1)
    weight = rng.integers(1, 4, size=200).astype(float)
    sums = weight[:, None] * rng.gamma(4, 0.25, size=(200, 3))
    found = _of(sums, 3, weight=weight)
    bootstrapped = np.concatenate(list(resampled_means(found, 4000, 0)))
    np.testing.assert_allclose(standard_error(found), bootstrapped.std(axis=0), rtol=0.06)


def test_one_block_says_nothing_about_its_error() -> None:
    found = _of(np.ones((1, 3)), 3)
    assert np.isnan(standard_error(found)).all()
    assert np.isnan(np.stack(distance_intervals(found))).all()
    estimate, low, high = jackknife(found, lambda mean: mean)
    assert estimate.tolist() == [1, 1, 1]
    assert np.isnan([low, high]).all()


@settings(max_examples=draws(50))
@given(seed=some.integers(0, 1000), blocks=some.integers(2, 9), way=some.sampled_from(["mean", "sum"]))
def test_resamples_in_parts_are_the_means_of_the_record(seed: int, blocks: int, way: str) -> None:
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 4, size=blocks).astype(float)
    found = _of(rng.random((blocks, 6)), 4, weight=weight, way=way)
    counts = rng.multinomial(blocks, np.full(blocks, 1 / blocks), size=7).astype(float)
    parts = np.concatenate(list(weighted_means(found, counts)))
    np.testing.assert_allclose(parts, [found.mean(row) for row in counts])
    dropped = [found.mean(row) for row in 1 - np.eye(blocks)]
    np.testing.assert_allclose(list(jackknife_means(found)), dropped)


def test_parts_are_as_small_as_memory_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _of(np.random.default_rng(2).random((9, 6)), 4)
    whole = np.concatenate(list(resampled_means(found, 20, 3)))
    monkeypatch.setattr(distances_module, "CELLS", 13)
    parts = list(resampled_means(found, 20, 3))
    assert [len(part) for part in parts] == [2] * 10
    np.testing.assert_allclose(np.concatenate(parts), whole)


def test_the_jackknife_of_a_mean_is_students_interval() -> None:
    sums = np.random.default_rng(3).random((20, 3))
    found = _of(sums, 3)
    estimate, low, high = jackknife(found, lambda mean: mean)
    np.testing.assert_allclose(estimate, sums.mean(axis=0))
    np.testing.assert_allclose(np.sqrt([low, high]), distance_intervals(found))


def test_many_blocks_are_left_out_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distances_module, "GROUPS", 3)
    sums = np.arange(7.0)[:, None] * np.ones((7, 3))
    without = [1.0 * np.delete(np.arange(7), np.arange(group, 7, 3)).mean() for group in range(3)]
    np.testing.assert_allclose(np.array(list(jackknife_means(_of(sums, 3))))[:, 0], without)


@pytest.mark.parametrize(("shape", "least"), [("normal", 0.94), ("skewed", 0.92)])
def test_intervals_of_distances_cover_the_truth(shape: str, least: float) -> None:
    rng = np.random.default_rng(4)
    truth = rng.uniform(0.05, 0.5, size=45)
    covered = []
    for _ in range(150):
        noise = rng.normal(0, 0.5, (60, 45)) if shape == "normal" else rng.gamma(4, 0.25, (60, 45)) - 1
        low, high = distance_intervals(_of(truth * (1 + noise), 10))
        covered.append((low <= np.sqrt(truth)) & (np.sqrt(truth) <= high))
    assert least <= np.mean(covered) <= 0.98


@pytest.mark.parametrize("blocks", [2, 3, 12])
def test_intervals_of_distances_are_the_roots_of_students(blocks: int) -> None:
    sums = np.random.default_rng(6).gamma(9, 0.1, size=(blocks, 6))
    ends = t.interval(0.95, blocks - 1, loc=sums.mean(axis=0), scale=sem(sums, axis=0))
    np.testing.assert_allclose(distance_intervals(_of(sums, 4)), np.sqrt(np.maximum(ends, 0)))


def test_nearest_heads_come_with_their_distances_and_intervals() -> None:
    rng = np.random.default_rng(5)
    found = _of(rng.random((12, 10)), 5)
    error = standard_error(found)
    near = nearest_heads(found, error, 3)
    whole = square_matrix(distances(found.mean()))
    low, high = (square_matrix(end) for end in distance_intervals(found))
    for head in range(5):
        others = np.delete(np.arange(5), head)
        expected = others[np.argsort(whole[head, others])][:3]
        assert near.head[head].tolist() == expected.tolist()
        np.testing.assert_allclose(near.distance[head], whole[head, expected])
        np.testing.assert_allclose(near.low[head], low[head, expected])
        np.testing.assert_allclose(near.high[head], high[head, expected])
    assert nearest_heads(found, error).head.shape == (5, 4)
