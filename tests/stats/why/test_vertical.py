"""The part that all queries share: scipy's t, Fieller's interval, errors at most alpha."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from headroles.records.causal.origins import BY_QUERY, UNDETERMINED, UNTESTABLE, VERTICAL
from headroles.records.rules.rule import Decision
from headroles.stats.why.vertical import contrasts, fieller, vertical_tests
from tests.support.causal.products import made_products, random_products, with_worst

T = Decision(test="t", correction="holm")
ALONE = Decision(correction="none")


@pytest.mark.parametrize("seed", range(3))
def test_p_is_that_of_scipy_and_q_that_of_statsmodels_over_all_families(seed: int) -> None:
    products = random_products(seed)
    found = vertical_tests(products, T)
    whole = contrasts(products)
    for sign, answers in ((1, found.more), (-1, found.less)):
        asked = with_worst(sign * (2 * products.vertical - whole))
        p = stats.ttest_1samp(asked, 0, alternative="greater").pvalue
        assert answers.p[0] == pytest.approx(p, rel=1e-3)
        assert answers.q[0] == pytest.approx(multipletests(p, method="holm")[1], rel=1e-3)
    low, high = stats.ttest_1samp(whole, 0).confidence_interval(0.95)
    assert found.contrast.mean[0] == pytest.approx(whole.mean(axis=0), rel=1e-5)
    assert found.contrast.low[0] == pytest.approx(low, rel=1e-4)
    assert found.contrast.high[0] == pytest.approx(high, rel=1e-4)


def test_the_family_of_the_decision_does_not_count() -> None:
    products = random_products(4)
    found = [vertical_tests(products, replace(T, family=family)) for family in ("sieve", "layer", "run")]
    for other in found[1:]:
        assert np.array_equal(found[0].more.q, other.more.q)


def test_shared_parts_are_told_from_parts_that_follow_the_query() -> None:
    rng = np.random.default_rng(0)
    parts = 0.5 + 0.2 * rng.normal(size=(100, 3, 4))
    shares = np.array([0.9, 0.1, 0.5])
    vertical = shares * parts.sum(axis=2) + 0.1 * rng.normal(size=(100, 3))
    vertical[:, 2] += 0.5 * parts[:, 2].sum(axis=1).mean() - vertical[:, 2].mean()
    found = vertical_tests(made_products(parts, vertical), T)
    assert found.verdict == (VERTICAL, BY_QUERY, UNDETERMINED)
    assert found.share == pytest.approx(shares, abs=0.05)
    assert (found.low < found.share).all()
    assert (found.share < found.high).all()
    assert found.low[0] > 0.5 > found.high[1]


def test_a_contrast_that_is_not_above_0_has_no_share_to_speak_of() -> None:
    rng = np.random.default_rng(1)
    parts = rng.normal(size=(100, 2, 4)) + np.array([0.0, -1.0])[:, None]
    parts[:, 0] -= parts[:, 0].mean(axis=0)
    found = vertical_tests(made_products(parts, np.full((100, 2), 5.0)), T)
    assert found.verdict == (UNTESTABLE, UNTESTABLE)
    assert not found.testable.any()
    assert np.isnan(found.share[1])
    assert (found.more.p < 0.05).all()


def test_below_20_units_nothing_is_said_but_p_stays_in_the_correction() -> None:
    rng = np.random.default_rng(2)
    parts = 1 + 0.1 * rng.normal(size=(60, 2, 3))
    parts[19:, 1] = np.nan
    found = vertical_tests(made_products(parts, 0.9 * parts.sum(axis=2)), T)
    assert found.verdict == (VERTICAL, UNTESTABLE)
    assert found.contrast.count[0].tolist() == [60, 19]
    assert found.more.q[0] == pytest.approx(multipletests(found.more.p[0], method="holm")[1], rel=1e-9)
    assert np.isfinite(found.more.q).all()


def test_parts_without_spread_are_untestable() -> None:
    found = vertical_tests(made_products(np.ones((30, 1, 4)), np.full((30, 1), 3.0)), T)
    assert found.verdict == (UNTESTABLE,)
    assert found.share.tolist() == [0.75]
    assert np.isnan([found.low, found.high, found.more.p[0], found.less.p[0]]).all()


def test_an_unknown_mean_query_leaves_the_contrast_known() -> None:
    products = random_products(5, families=2)
    found = vertical_tests(replace(products, vertical=np.full_like(products.vertical, np.nan)), T)
    assert found.verdict == (UNTESTABLE, UNTESTABLE)
    assert found.testable.all()
    assert np.isnan(found.share).all()


@given(seed=st.integers(0, 10_000), units=st.integers(3, 60), scale=st.floats(1e-2, 1e3))
def test_the_ends_of_fiellers_interval_are_where_students_t_has_p_of_5_percent(
    seed: int, units: int, scale: float
) -> None:
    rng = np.random.default_rng(seed)
    wholes = scale * (rng.uniform(-0.5, 3, 4) + rng.normal(size=(units, 4)))
    parts = 0.4 * wholes + scale * rng.normal(size=(units, 4))
    for part, whole, ratio, low, high in zip(parts.T, wholes.T, *fieller(parts, wholes), strict=True):
        told = stats.ttest_1samp(whole, 0).pvalue
        if whole.mean() <= 0:
            assert np.isnan([ratio, low, high]).all()
            continue
        assert ratio == pytest.approx(part.mean() / whole.mean(), rel=1e-9)
        if told > 0.0501:
            assert (low, high) == (-np.inf, np.inf)
        elif told < 0.0499:
            assert low <= ratio <= high
            for end in (low, high):
                assert stats.ttest_1samp(part - end * whole, 0).pvalue == pytest.approx(0.05, abs=1e-6)


def test_fiellers_interval_covers_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    whole = 1 + rng.normal(size=(25, 4000))
    low, high = fieller(0.7 * whole + rng.normal(size=(25, 4000)), whole)[1:]
    covered = ((low <= 0.7) & (high >= 0.7)).mean()
    assert abs(covered - 0.95) <= 3 * np.sqrt(0.05 * 0.95 / 4000)


def test_units_without_either_number_have_no_part_in_the_interval() -> None:
    rng = np.random.default_rng(4)
    part, whole = rng.normal(1, 0.2, (30, 2)), rng.normal(2, 0.2, (30, 2))
    part[:5, 0], whole[3:9, 0] = np.nan, np.nan
    found = fieller(part, whole)
    alone = fieller(part[9:, :1], whole[9:, :1])
    assert [end[0] for end in found] == pytest.approx([end[0] for end in alone])


@pytest.mark.parametrize(
    ("part", "whole", "ratio"),
    [
        ([1.0], [2.0], 0.5),
        ([1.0, 1.0, 1.0], [2.0, 2.0, 2.0], 0.5),
        ([np.nan, 1.0], [1.0, np.nan], np.nan),
        ([], [], np.nan),
    ],
)
def test_too_little_for_an_interval_has_none(part: list[float], whole: list[float], ratio: float) -> None:
    share, low, high = fieller(np.array(part)[:, None], np.array(whole)[:, None])
    assert share == pytest.approx([ratio], nan_ok=True)
    assert np.isnan([low, high]).all()


@pytest.mark.parametrize("shape", ["normal", "skewed"])
def test_where_half_of_the_contrast_is_shared_either_claim_errs_in_at_most_alpha(shape: str) -> None:
    rng = np.random.default_rng(7)
    families = 2000
    parts = 1 + 0.2 * rng.normal(size=(100, families, 2))
    noise = rng.normal(size=(100, families)) if shape == "normal" else rng.gamma(2, size=(100, families)) - 2
    found = vertical_tests(made_products(parts, (parts.sum(axis=2) + noise) / 2), ALONE)
    limit = 0.05 + 3 * np.sqrt(0.05 * 0.95 / families)
    assert found.testable.all()
    for verdict in (VERTICAL, BY_QUERY):
        assert 0.002 < np.mean([said == verdict for said in found.verdict]) <= limit
