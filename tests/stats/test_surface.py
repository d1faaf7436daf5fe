"""Tests of attention that does not matter: scipy's t, honest under the null, powerful where it is planted."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kurtosis, ttest_1samp
from statsmodels.stats.multitest import multipletests

from headroles.errors import UnknownName
from headroles.records.example import Scores
from headroles.records.rules.rule import Decision
from headroles.records.surface import NoOp
from headroles.stats.surface import noop_tests

KINDS = ("first", "separator", "punctuation", "other")


def _scores(
    values: np.ndarray, kinds: Sequence[str] = KINDS, units: Sequence[str] | None = None, two: bool = False
) -> Scores:
    """Importances (kinds, examples, layers, heads) as the columns of a run, after one of another sort."""
    measures = ("gradient", "attention×gradient")[: 1 + two]
    names = ("surface:self", *(f"{measure}:{kind}" for measure in measures for kind in kinds))
    keys = tuple(f"x{k}" for k in range(values.shape[1]))
    table = np.concatenate([np.full((1, *values.shape[1:]), 0.3), *([values] * len(measures))])
    return Scores(
        sieves=names,
        examples=keys,
        units=tuple(units) if units is not None else keys,
        tokens=np.full(len(keys), 9),
        cells=np.full(table.shape[:2], 3.0),
        values=table.astype(np.float32),
        null=np.zeros(table.shape[:2]),
    )


def _drawn(seed: int, kinds: int = 4, examples: int = 30, layers: int = 3, heads: int = 4) -> np.ndarray:
    """Skewed importances whose size differs between examples, of exchangeable kinds."""
    rng = np.random.default_rng(seed)
    size = rng.lognormal(0, 1, size=(1, examples, 1, 1))
    return size * rng.gamma(1.5, size=(kinds, examples, layers, heads))


def _of(found: Sequence[NoOp], kind: str, measure: str = "gradient") -> list[NoOp]:
    return [each for each in found if (each.kind, each.measure) == (kind, measure)]


def _relative(values: np.ndarray, row: int) -> np.ndarray:
    """Scores (examples, layers) of one kind where every kind has the same number of keys."""
    heads = values.astype(np.float32).astype(np.float64).mean(axis=3)
    relative: np.ndarray = (heads[3] - heads[row]) / ((heads[3] + heads[row]) / 2)
    return relative


def test_scores_without_gradients_have_no_tests() -> None:
    plain = _scores(_drawn(0), kinds=("a", "b", "c", "d"))
    assert noop_tests(plain, Decision()) == ()


def test_every_kind_but_other_is_tested_in_every_layer_for_both_measures() -> None:
    found = noop_tests(_scores(_drawn(0), two=True), Decision())
    assert [(each.measure, each.kind, each.layer) for each in found] == [
        (measure, kind, layer)
        for measure in ("gradient", "attention×gradient")
        for kind in KINDS[:3]
        for layer in range(3)
    ]


@given(seed=st.integers(0, 10_000), grouped=st.booleans())
@settings(max_examples=10)
def test_the_test_is_scipys_on_relative_differences_corrected_over_layers(seed: int, grouped: bool) -> None:
    values = _drawn(seed)
    units = [f"u{k // 3}" for k in range(30)] if grouped else None
    found = noop_tests(_scores(values, units=units), Decision(test="t", correction="holm", family="run"))
    for row, kind in enumerate(KINDS[:3]):
        relative = _relative(values, row)
        if grouped:
            relative = relative.reshape(10, 3, -1).mean(axis=1)
        wanted = ttest_1samp(relative, 0.0, alternative="greater")
        reach = ttest_1samp(relative, 0.0).confidence_interval(0.95)
        ours = _of(found, kind)
        np.testing.assert_allclose([each.statistic for each in ours], wanted.statistic, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose([each.p for each in ours], wanted.pvalue, rtol=1e-3)
        np.testing.assert_allclose([each.mean for each in ours], relative.mean(axis=0), atol=1e-6)
        np.testing.assert_allclose([each.low for each in ours], reach.low, atol=1e-6)
        np.testing.assert_allclose([each.high for each in ours], reach.high, atol=1e-6)
        n = len(relative)
        carried = n / kurtosis(relative, fisher=False) >= min(15, n / 4)
        carried |= relative.mean(axis=0) * np.sqrt(n) > 6 * relative.std(axis=0, ddof=1)
        counted = np.where(carried, [each.p for each in ours], 1.0)  # nothing hinges on few units
        adjusted = multipletests(counted, method="holm")[1]
        np.testing.assert_allclose([each.q for each in ours], adjusted)
        assert {each.count for each in ours} == {len(relative)}


@pytest.mark.parametrize("test", ["t-skew", "t"])
def test_exchangeable_kinds_are_said_to_matter_less_no_oftener_than_alpha(test: str) -> None:
    runs = 4000
    values = np.concatenate([_drawn(seed, kinds=2, examples=40, layers=500) for seed in range(8)], axis=2)
    scores = _scores(values, kinds=("separator", "other"))
    found = noop_tests(scores, Decision(test=test, correction="none"))
    said = np.mean([each.decision == "less important" for each in found])
    assert len(found) == runs
    assert abs(said - 0.05) <= 3 * np.sqrt(0.05 * 0.95 / runs)
    holm = noop_tests(scores, Decision(test=test, correction="holm"))
    assert sum(each.decision == "less important" for each in holm) <= 2


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
    mean = np.mean([each.mean for each in found])
    assert abs(mean) <= 4 * np.std([each.mean for each in found]) / np.sqrt(layers)
    assert np.mean([each.p <= 0.05 for each in found]) <= most


def test_a_planted_no_op_is_found_in_its_layer_alone_and_never_the_opposite() -> None:
    values = _drawn(5, examples=60)
    values[1, :, 1] *= 0.5
    values[0, :, 2] *= 3
    found = noop_tests(_scores(values), Decision())
    assert [each.decision for each in _of(found, "separator")] == [
        "undetermined",
        "less important",
        "undetermined",
    ]
    louder = _of(found, "first")[2]
    assert louder.high < 0
    assert (louder.decision, round(louder.p, 3)) == ("not less", 1.0)


def test_not_less_needs_50_units_and_its_own_correction_over_layers() -> None:
    values = _drawn(5, examples=50)
    values[0, :, 0] *= 3
    values[0, :, 1] *= 1.3
    fewer = noop_tests(_scores(values[:, :49]), Decision())
    assert "not less" not in {each.decision for each in fewer}
    assert _of(fewer, "first")[0].high < 0
    for correction in ("none", "holm", "maxT"):
        found = _of(noop_tests(_scores(values), Decision(test="t", correction=correction)), "first")
        relative = _relative(values, 0)
        p = np.asarray(ttest_1samp(relative, 0.0, alternative="less").pvalue)
        q: np.ndarray = p if correction == "none" else np.asarray(multipletests(p, method="holm")[1])
        near = np.abs(q - 0.05) < 0.02 * (correction == "maxT")
        said = np.array([each.decision == "not less" for each in found])
        assert said[0]
        np.testing.assert_array_equal(said[~near], q[~near] <= 0.05)


def test_exchangeable_kinds_are_said_to_matter_more_no_oftener_than_alpha() -> None:
    runs = 4000
    values = np.concatenate([_drawn(seed, kinds=2, examples=50, layers=500) for seed in range(8)], axis=2)
    found = noop_tests(_scores(values, kinds=("separator", "other")), Decision(correction="none"))
    said = np.mean([each.decision == "not less" for each in found])
    assert len(found) == runs
    assert abs(said - 0.05) <= 3 * np.sqrt(0.05 * 0.95 / runs)


def test_examples_without_the_kind_or_without_any_importance_say_nothing() -> None:
    values = _drawn(2)
    values[0, :10] = np.nan
    values[1, :29] = np.nan
    values[[2, 3], 4] = 0.0
    found = noop_tests(_scores(values), Decision())
    assert {each.count for each in _of(found, "first")} == {20}
    assert {each.count for each in _of(found, "punctuation")} == {29}
    for each in _of(found, "separator"):
        assert (each.count, each.decision) == (1, "untestable")
        assert np.isnan([each.p, each.q, each.statistic]).all()


def test_a_difference_that_never_varies_has_an_exact_p() -> None:
    values = np.ones((2, 12, 1, 2))
    values[0] = 0.5
    (found,) = noop_tests(_scores(values, kinds=("separator", "other")), Decision())
    assert found.mean == pytest.approx(2 / 3)
    assert found.p == pytest.approx((2 / (2 + 2 / 3)) ** 12)
    assert found.decision == "less important"


@pytest.mark.parametrize("options", [{"correction": "maxT"}, {"test": "sign-flip"}, {"interval": "bca"}])
def test_resampled_tests_corrections_and_intervals_work_as_for_heads(options: dict[str, str]) -> None:
    values = _drawn(9, examples=50)
    values[1] *= 0.3
    found = noop_tests(_scores(values), Decision(resamples=2000, **options))  # type: ignore[arg-type]
    for each in _of(found, "separator"):
        assert each.low < each.mean < each.high
        assert each.q >= each.p > 0
        assert each.decision == "less important"


def test_a_test_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UnknownName, match="no test is called 'z'"):
        noop_tests(_scores(_drawn(0)), Decision(test="z"))


def test_an_example_with_neither_kind_has_no_score_and_no_warning() -> None:
    values = _drawn(4, kinds=2)
    values[:, 0] = np.nan
    scores = _scores(values, kinds=("separator", "other"))
    cells = scores.cells.copy()
    cells[:, 0] = 0.0
    for each in noop_tests(replace(scores, cells=cells), Decision()):
        assert each.count == 29
