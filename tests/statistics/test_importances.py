"""Tests of attention that does not matter: scipy's t on relative differences; and means over layers."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from headroles.records import Decision, Rule, Scores
from headroles.stats import adjust, layer_means, noop_tests
from tests.support.scores import scored

KINDS = ("first", "separator", "punctuation", "other")


def _scores(
    values: np.ndarray,
    kinds: Sequence[str] = KINDS,
    *,
    units: Sequence[object] | None = None,
    two: bool = False,
) -> Scores:
    """Importances (kinds, examples, layers, heads) as the columns of a run, after one of another sort."""
    measures = ("gradient", "attention×gradient")[: 1 + two]
    names = ("surface:self", *(f"{measure}:{kind}" for measure in measures for kind in kinds))
    table = np.concatenate([np.full((1, *values.shape[1:]), 0.3), *([values] * len(measures))])
    return scored(table, [Rule(name) for name in names], units=units, cells=3.0)


def _drawn(seed: int, kinds: int = 4, examples: int = 30, layers: int = 3, heads: int = 4) -> np.ndarray:
    """Skewed importances whose size differs between examples, of exchangeable kinds."""
    rng = np.random.default_rng(seed)
    size = rng.lognormal(0, 1, size=(1, examples, 1, 1))
    return size * rng.gamma(1.5, size=(kinds, examples, layers, heads))


@pytest.mark.parametrize("grouped", [False, True])
def test_the_test_is_scipys_on_relative_differences_corrected_over_layers(grouped: bool) -> None:
    values = _drawn(0)
    scores = _scores(values, units=(np.arange(30) // 3).tolist() if grouped else None, two=True)
    keys = np.random.default_rng(0).integers(1, 6, (9, 30)).astype(float)
    keys[5:] = keys[1:5]
    found = noop_tests(replace(scores, cells=keys), Decision(test="t", correction="holm", family="run"))
    places = [(kind, layer) for kind in KINDS[:3] for layer in range(3)]
    measures = ("gradient", "attention×gradient")
    told = [(test.measure, test.kind, test.layer) for test in found]
    assert told == [(measure, *place) for measure in measures for place in places]
    heads = values.astype(np.float32).astype(np.float64).mean(axis=3)
    for row, kind in enumerate(KINDS[:3]):
        share = (keys[row + 1] / (keys[row + 1] + keys[4]))[:, None]
        relative = (heads[3] - heads[row]) / (share * heads[row] + (1 - share) * heads[3])
        least = (-1 / share.min(), 1 / (1 - share).min())
        if grouped:
            relative = relative.reshape(10, 3, -1).mean(axis=1)
        n, ours = len(relative), [test for test in found if test.kind == kind]
        wanted = ttest_1samp(relative, 0.0, alternative="greater")
        ends = ttest_1samp(relative, 0.0).confidence_interval(0.95)
        holds = (relative.sum(axis=0) + 3 * least[0]) / (n + 3) > 0
        counted = np.where(holds, wanted.pvalue, 1.0)  # nothing hinges on few units
        for name, numbers, rounding in (
            ("statistic", wanted.statistic, 1e-4), ("p", wanted.pvalue, 1e-3), ("low", ends.low, 1e-4),
            ("mean", relative.mean(axis=0), 1e-4), ("high", ends.high, 1e-4),
            ("q", adjust(counted, "holm"), 2e-3), ("count", [n] * 3, 0),
        ):  # fmt: skip
            given = np.reshape([getattr(test, name) for test in ours], (2, 3))
            np.testing.assert_allclose(
                given, np.tile(numbers, (2, 1)), rtol=rounding, atol=1e-6, err_msg=name
            )
        said = ["less important" if test.q <= 0.05 and n >= 20 else "undetermined" for test in ours]
        assert [test.decision for test in ours] == said


def test_a_planted_no_op_is_found_in_its_layer_alone_and_never_the_opposite() -> None:
    values = _drawn(5, examples=60)
    values[1, :, 1] *= 0.5
    values[0, :, 2] *= 3
    found = {(test.kind, test.layer): test for test in noop_tests(_scores(values), Decision())}
    said = [found["separator", layer].decision for layer in range(3)]
    assert said == ["undetermined", "less important", "undetermined"]
    louder = found["first", 2]
    assert louder.high < 0
    assert (louder.decision, round(louder.p, 3)) == ("not less", 1.0)
    fewer = noop_tests(_scores(values[:, :49]), Decision())  # 50 units are needed
    assert {test.decision for test in fewer} == {"undetermined", "less important"}


def test_examples_without_the_kind_or_without_any_importance_say_nothing() -> None:
    values = _drawn(2)
    values[0, :10] = np.nan
    values[1, :29] = np.nan
    values[[2, 3], 4] = 0.0
    scores = _scores(values)
    cells = scores.cells.copy()
    cells[:, 29] = 0.0
    values[:, 29] = np.nan  # neither kind: no score, and no warning
    found = noop_tests(replace(_scores(values), cells=cells), Decision())
    for kind, count in (("first", 19), ("punctuation", 28), ("separator", 0)):
        assert {test.count for test in found if test.kind == kind} == {count}
    for test in found[3:6]:
        assert test.decision == "untestable"
        assert np.isnan([test.p, test.q, test.statistic]).all()


def test_a_difference_that_never_varies_has_an_exact_p_and_columns_of_other_names_none() -> None:
    values = np.ones((2, 20, 1, 2))
    values[0] = 0.5
    (found,) = noop_tests(_scores(values, kinds=("separator", "other")), Decision())
    assert found.mean == pytest.approx(2 / 3)
    assert found.p == pytest.approx((2 / (2 + 2 / 3)) ** 20)
    assert found.decision == "less important"
    assert not noop_tests(_scores(values, kinds=("a", "b")), Decision())


def test_means_over_layers_are_students_over_units() -> None:
    rng = np.random.default_rng(3)
    values = rng.gamma(2.0, size=(2, 40, 3, 4)).astype(np.float32)
    values[0, :, 1, 0] = np.nan  # one head of a layer
    values[0, :5, 2] = np.nan  # examples without a value in a layer
    values[1, 2:, 0] = values[1, :, 1] = np.nan  # one unit alone, and none
    null, rules = rng.uniform(0.1, 0.4, (2, 40)), [Rule("entropy"), Rule("gradient:first", role=False)]
    rows = layer_means(scored(values, rules, units=(np.arange(40) // 2).tolist(), null=null), rules)
    assert [(row.column, row.layer) for row in rows] == [(rule.sieve, k) for rule in rules for k in range(3)]
    for row, (k, layer) in zip(rows, np.ndindex(2, 3), strict=True):
        heads = np.ma.masked_invalid(values[k, :, layer].astype(float))
        means = heads.reshape(20, 8).mean(axis=1).compressed()
        levels = (
            np.ma.masked_array(null[0], np.isnan(values[k, :, layer]).all(axis=1)).reshape(20, 2).mean(axis=1)
        )
        ends = ttest_1samp(means, 0).confidence_interval(0.95) if len(means) > 1 else (np.nan, np.nan)
        assert row.count == len(means)
        assert row.mean == pytest.approx(means.mean() if len(means) else np.nan, rel=1e-6, nan_ok=True)
        assert row.even == pytest.approx(levels.mean() if k == 0 else np.nan, nan_ok=True)
        assert (row.low, row.high) == pytest.approx(tuple(ends), rel=1e-6, nan_ok=True)
