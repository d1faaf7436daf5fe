"""Means of layers with their intervals, and shards of two passes put side by side."""

import numpy as np
import pytest
from scipy import stats as reference

from headroles.extraction.scoring.reader import Shard
from headroles.records.example import Scores
from headroles.records.rules.rule import Rule
from headroles.runs.surface.work import join_shards
from headroles.stats.surface import layer_means


def _shard(columns: int, keys: tuple[str, ...], null: int) -> Shard:
    count = len(keys)
    rng = np.random.default_rng(columns)
    return Shard(
        examples=keys,
        tokens=np.full(count, 5),
        truncated=np.zeros(count, dtype=np.bool_),
        values=rng.random((columns, count, 2, 3)).astype(np.float32),
        cells=rng.random((columns, count)),
        null=rng.random((null, count)),
        low=np.zeros(columns),
        high=np.ones(columns),
    )


def test_shards_are_joined_column_by_column() -> None:
    first, second = _shard(2, ("a", "b"), 2), _shard(3, ("a", "b"), 0)
    (both,) = join_shards([first], [second])
    assert both.examples == ("a", "b")
    np.testing.assert_array_equal(both.values, np.concatenate([first.values, second.values]))
    np.testing.assert_array_equal(both.null, np.concatenate([first.null, np.zeros((3, 2))]))
    with pytest.raises(ValueError, match="shorter"):
        list(join_shards([first, first], [second]))


def test_layer_means_and_their_intervals_are_those_of_scipy() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(0.3, 0.1, size=(2, 40, 3, 4)).astype(np.float32)
    values[0, 5:8] = np.nan
    units = tuple(f"u{k // 2}" for k in range(40))
    null = rng.random((2, 40))
    scores = Scores(
        sieves=("surface:self", "gradient:other"),
        examples=tuple(map(str, range(40))),
        units=units,
        tokens=np.full(40, 9),
        cells=np.ones((2, 40)),
        values=values,
        null=null,
    )
    rows = layer_means(scores, [Rule("surface:self"), Rule("gradient:other", role=False)])
    assert [(row.column, row.layer) for row in rows[:4]] == [
        *(("surface:self", layer) for layer in range(3)), ("gradient:other", 0),
    ]  # fmt: skip
    for row in rows:
        column = scores.sieves.index(row.column)
        heads = values[column, :, row.layer].astype(np.float64).mean(axis=1).reshape(20, 2)
        means = [pair[~np.isnan(pair)].mean() for pair in heads if not np.isnan(pair).all()]
        interval = reference.ttest_1samp(means, 0.0).confidence_interval(0.95)
        assert row.count == len(means)
        assert (row.mean, row.low, row.high) == pytest.approx((np.mean(means), *interval))
        assert np.isnan(row.even) == (row.column == "gradient:other")
    known = [
        null[0, 2 * k : 2 * k + 2][~np.isnan(values[0, 2 * k : 2 * k + 2, 0, 0])].mean()
        for k in range(20)
        if not np.isnan(values[0, 2 * k : 2 * k + 2]).all()
    ]
    assert rows[0].even == pytest.approx(np.mean(known))


def test_layers_of_which_little_is_known_have_no_interval() -> None:
    values = np.full((1, 3, 1, 2), np.nan, dtype=np.float32)
    values[0, 0] = 0.5
    scores = Scores(
        ("surface:self",),
        ("a", "b", "c"),
        ("a", "b", "c"),
        np.full(3, 4),
        np.ones((1, 3)),
        values,
        np.zeros((1, 3)),
    )
    (row,) = layer_means(scores, [Rule("surface:self")])
    assert (row.count, row.mean) == (1, 0.5)
    assert np.isnan([row.low, row.high]).all()
