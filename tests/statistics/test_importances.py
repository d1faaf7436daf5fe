"""Tests of attention that does not matter: scipy's t on relative differences; and means over layers."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kurtosis, ttest_1samp

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


def test_every_kind_but_other_is_tested_in_every_layer_for_both_measures() -> None:
    assert noop_tests(_scores(_drawn(0), kinds=("a", "b", "c", "d")), Decision()) == ()
    found = noop_tests(_scores(_drawn(0), two=True), Decision())
    assert [(test.measure, test.kind, test.layer) for test in found] == [
        (measure, kind, layer)
        for measure in ("gradient", "attention×gradient")
        for kind in KINDS[:3]
        for layer in range(3)
    ]


@pytest.mark.parametrize("grouped", [False, True])
def test_the_test_is_scipys_on_relative_differences_corrected_over_layers(grouped: bool) -> None:
    for seed in range(4):
        values = _drawn(seed)
        keys = np.random.default_rng(seed).integers(1, 6, (5, 30)).astype(float)
        scores = _scores(values, units=(np.arange(30) // 3).tolist() if grouped else None)
        scores = replace(scores, cells=keys)
        found = noop_tests(scores, Decision(test="t", correction="holm", family="run"))
        heads = values.astype(np.float32).astype(np.float64).mean(axis=3)
        for row, kind in enumerate(KINDS[:3]):
            share = (keys[row + 1] / (keys[row + 1] + keys[4]))[:, None]
            relative = (heads[3] - heads[row]) / (share * heads[row] + (1 - share) * heads[3])
            least = (-1 / share.min(), 1 / (1 - share).min())
            if grouped:
                relative = relative.reshape(10, 3, -1).mean(axis=1)
            n, ours = len(relative), [test for test in found if test.kind == kind]
            wanted, ends = (
                ttest_1samp(relative, 0.0, alternative="greater"),
                ttest_1samp(relative, 0.0).confidence_interval(0.95),
            )
            carried = n / kurtosis(relative, fisher=False) >= min(15, n / 4)
            carried |= (relative.sum(axis=0) + 3 * least[0]) / (n + 3) > 0
            counted = np.where(carried, wanted.pvalue, 1.0)  # nothing hinges on few units
            for name, numbers, rounding in (
                ("statistic", wanted.statistic, 1e-4), ("p", wanted.pvalue, 1e-3), ("low", ends.low, 1e-4),
                ("mean", relative.mean(axis=0), 1e-4), ("high", ends.high, 1e-4),
                ("q", adjust(counted, "holm"), 2e-3), ("count", [n] * 3, 0),
            ):  # fmt: skip
                given = [getattr(test, name) for test in ours]
                np.testing.assert_allclose(given, numbers, rtol=rounding, atol=1e-6, err_msg=name)
            said = ["less important" if test.q <= 0.05 else "undetermined" for test in ours]
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
    for options in ({"correction": "maxT"}, {"test": "sign-flip"}, {"interval": "bca"}):
        decision = replace(Decision(resamples=999), **options)
        planted = noop_tests(_scores(values), decision)[4]
        assert planted.low < planted.mean < planted.high
        assert planted.q >= planted.p > 0
        assert (planted.kind, planted.layer, planted.decision) == ("separator", 1, "less important")


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


def test_a_difference_that_never_varies_has_an_exact_p() -> None:
    values = np.ones((2, 12, 1, 2))
    values[0] = 0.5
    (found,) = noop_tests(_scores(values, kinds=("separator", "other")), Decision())
    assert found.mean == pytest.approx(2 / 3)
    assert found.p == pytest.approx((2 / (2 + 2 / 3)) ** 12)
    assert found.decision == "less important"


def test_means_over_layers_are_students_over_units() -> None:
    rng = np.random.default_rng(3)
    values = rng.gamma(2.0, size=(2, 40, 3, 4))
    values[0, :, 1, 0] = np.nan  # one head of a layer
    values[0, :5, 2] = np.nan  # examples without a value in a layer
    values[1, 2:, 0] = np.nan  # one unit alone
    values[1, :, 1] = np.nan
    null, owner = rng.uniform(0.1, 0.4, (2, 40)), np.arange(40) // 2
    rules = [Rule("entropy"), Rule("gradient:first", role=False)]
    rows = layer_means(scored(values, rules, units=owner.tolist(), null=null), rules)
    assert [(row.column, row.layer) for row in rows] == [(rule.sieve, k) for rule in rules for k in range(3)]
    for number, row in enumerate(rows):
        with np.errstate(all="ignore"):
            heads = values[number // 3, :, number % 3].astype(np.float32).astype(float)
        said = ~np.isnan(heads).all(axis=1)
        means = np.array([np.nanmean(heads[pair & said]) for pair in _pairs(owner) if (pair & said).any()])
        levels = [null[0][pair & said].mean() for pair in _pairs(owner) if (pair & said).any()]
        assert row.count == len(means)
        wanted = means.mean() if len(means) else np.nan
        assert row.mean == pytest.approx(wanted, rel=1e-6, nan_ok=True)
        assert row.even == pytest.approx(np.mean(levels) if number < 3 else np.nan, nan_ok=True)
        if len(means) > 1:
            ends = ttest_1samp(means, 0).confidence_interval(0.95)
            assert (row.low, row.high) == pytest.approx((ends.low, ends.high), rel=1e-6)
        else:
            assert np.isnan([row.low, row.high]).all()


def _pairs(owner: np.ndarray) -> list[np.ndarray]:
    return [owner == unit for unit in np.unique(owner)]


# Error rates of exchangeable kinds.


@pytest.mark.ci
@pytest.mark.parametrize("test", ["t-skew", "t"])
def test_exchangeable_kinds_are_said_to_matter_less_or_more_no_oftener_than_alpha(test: str) -> None:
    runs = 4000
    values = np.concatenate([_drawn(seed, kinds=2, examples=50, layers=500) for seed in range(8)], axis=2)
    scores = _scores(values, kinds=("separator", "other"))
    found = noop_tests(scores, Decision(test=test, correction="none"))
    assert len(found) == runs
    for decision in ("less important", "not less"):
        said = np.mean([one.decision == decision for one in found])
        assert abs(said - 0.05) <= 3.5 * np.sqrt(0.05 * 0.95 / runs), decision
    holm = noop_tests(scores, Decision(test=test, correction="holm"))
    assert sum(one.decision == "less important" for one in holm) <= 2


@pytest.mark.ci
@pytest.mark.parametrize(("sigma", "most"), [(0.5, 0.08), (1.0, 0.09)])
def test_two_keys_among_many_are_not_said_to_matter_less_because_they_are_few(
    sigma: float, most: float
) -> None:
    keys, examples, layers = (2, 120), 60, 500
    rng = np.random.default_rng(11)
    size = rng.lognormal(0, 1, size=(examples, 1, 1))
    key = size * rng.lognormal(0, sigma, size=(examples, layers, sum(keys)))
    values = np.stack([key[..., : keys[0]].mean(axis=2), key[..., keys[0] :].mean(axis=2)])[..., None]
    scores = _scores(values, kinds=("separator", "other"))
    scores = replace(scores, cells=np.array([[9.0], [keys[0]], [keys[1]]]).repeat(examples, axis=1))
    found = noop_tests(scores, Decision(correction="none"))
    mean = np.mean([test.mean for test in found])
    assert abs(mean) <= 4 * np.std([test.mean for test in found]) / np.sqrt(layers)
    assert np.mean([test.p <= 0.05 for test in found]) <= most
