"""Adjusted p values are those of R, scipy and statsmodels, and NaN stands outside every family."""

import gc
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import false_discovery_control
from statsmodels.stats.multitest import multipletests

from headroles.stats.correction import TIE, adjust, significant
from headroles.stats.decision import CORRECTIONS

# The fifteen p values of Benjamini & Hochberg (1995), and what R's p.adjust makes of them.
PUBLISHED = (
    0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
    0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000,
)  # fmt: skip
ADJUSTED = {
    "fdr_bh": (
        0.0015, 0.0030, 0.0095, 0.035625, 0.0603, 0.06385714, 0.06385714, 0.0645,
        0.0765, 0.486, 0.58118182, 0.714875, 0.75323077, 0.81321429, 1.0,
    ),
    "holm": (
        0.0015, 0.0056, 0.0247, 0.1140, 0.2211, 0.2780, 0.2780, 0.2780,
        0.3213, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0,
    ),
    "bonferroni": (
        0.0015, 0.0060, 0.0285, 0.1425, 0.3015, 0.4170, 0.4470, 0.5160,
        0.6885, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0,
    ),
    "none": PUBLISHED,
}  # fmt: skip

families = hnp.arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 1))


def _of_statsmodels(p: np.ndarray, correction: str, alpha: float = 0.05) -> np.ndarray:
    """Each row adjusted by statsmodels, NaN left out, and a family of one as it is."""
    adjusted = p.copy()
    gc.freeze()  # theirs collects all garbage at every Holm
    try:
        for place in np.ndindex(p.shape[:-1]):
            tested = ~np.isnan(p[place])
            if correction != "none" and tested.sum() > 1:
                with np.errstate(divide="ignore"):  # theirs takes the logarithm of 0 where p is 1
                    found = multipletests(p[place][tested], alpha=alpha, method=correction)[1]
                adjusted[place][tested] = found
    finally:
        gc.unfreeze()
    return adjusted


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("seed", range(40))
def test_families_are_corrected_as_statsmodels_does(correction: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.random((10, int(rng.integers(1, 150)))) ** rng.integers(1, 6)
    p[rng.random(p.shape) < 0.1] = np.nan
    p[rng.random(p.shape) < 0.1] = 0.0
    p[rng.random(p.shape) < 0.1] = 1.0
    tied = rng.random(p.shape) < 0.2
    p[tied] = np.round(p[tied], 2)
    alpha = float(rng.choice([0.01, 0.05, 0.2]))
    ours, theirs = adjust(p, correction, alpha), _of_statsmodels(p, correction, alpha)
    np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-15)
    np.testing.assert_array_equal(significant(ours, alpha, p), significant(theirs, alpha, p))


@pytest.mark.parametrize("correction", ["fdr_bh", "fdr_by", "holm", "bonferroni"])
def test_ties_with_alpha_are_decided_alike(correction: str) -> None:
    rng = np.random.default_rng(6)
    p = rng.integers(1, 60, size=(400, 25)) / 1000
    ours, theirs = adjust(p, correction), _of_statsmodels(p, correction)
    tied = np.isclose(ours, 0.05, rtol=1e-13)
    assert tied.any() or correction == "fdr_by"
    assert significant(ours, 0.05)[tied].all()
    np.testing.assert_array_equal(significant(ours, 0.05), significant(theirs, 0.05))


def _of_r(p: np.ndarray, correction: str) -> np.ndarray:
    """``p.adjust`` of R, written out from its source, one test at a time."""
    m = len(p)
    harmonic = sum(1 / k for k in range(1, m + 1))
    raw: dict[str, Callable[[int, float], float]] = {
        "bonferroni": lambda rank, value: m * value,
        "holm": lambda rank, value: (m - rank + 1) * value,
        "fdr_bh": lambda rank, value: m / rank * value,
        "fdr_by": lambda rank, value: harmonic * m / rank * value,
    }
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(m)
    for place, own in enumerate(order, start=1):
        if correction == "bonferroni":
            inside = [raw[correction](place, p[own])]
        elif correction == "holm":
            inside = [raw[correction](rank, p[order[rank - 1]]) for rank in range(1, place + 1)]
        else:
            inside = [raw[correction](rank, p[order[rank - 1]]) for rank in range(place, m + 1)]
        adjusted[own] = min(1.0, max(inside) if correction == "holm" else min(inside))
    return adjusted


@pytest.mark.parametrize("correction", ADJUSTED)
def test_a_published_family_is_adjusted_as_r_does(correction: str) -> None:
    shuffled = np.random.default_rng(0).permutation(len(PUBLISHED))
    p = np.array(PUBLISHED)[shuffled]
    np.testing.assert_allclose(adjust(p, correction), np.array(ADJUSTED[correction])[shuffled], atol=5e-9)


def test_benjamini_yekutieli_divides_by_the_harmonic_sum() -> None:
    p = np.array([0.01, 0.02, 0.03, 0.04, 0.05])
    np.testing.assert_allclose(adjust(p, "fdr_by"), np.full(5, 0.05 * 137 / 60), rtol=1e-12)


@pytest.mark.parametrize("correction", ["sidak", "holm-sidak", "fdr_tsbh"])
@given(p=families)
def test_the_other_corrections_are_those_of_statsmodels(correction: str, p: np.ndarray) -> None:
    theirs = _of_statsmodels(p, correction)
    np.testing.assert_allclose(adjust(p, correction), theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.01, 0.2])
def test_the_two_stage_rate_depends_on_alpha_as_in_statsmodels(alpha: float) -> None:
    p = np.random.default_rng(3).random(200) ** 3
    theirs = multipletests(p, alpha=alpha, method="fdr_tsbh")[1]
    np.testing.assert_array_equal(adjust(p, "fdr_tsbh", alpha), theirs)
    assert (adjust(p, "fdr_tsbh", alpha) < adjust(p, "fdr_bh", alpha)).any()


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_each_row_is_a_family_of_its_own(correction: str) -> None:
    p = np.random.default_rng(5).random((4, 3, 20)) ** 3
    p[1, 2, 4:9] = np.nan
    p[0, 0] = np.nan
    together = adjust(p, correction)
    for place in np.ndindex(4, 3):
        np.testing.assert_array_equal(together[place], adjust(p[place], correction))


@pytest.mark.parametrize("correction", ["fdr_bh", "fdr_by", "holm", "bonferroni"])
@given(p=families)
def test_every_family_is_adjusted_as_r_and_statsmodels_do(correction: str, p: np.ndarray) -> None:
    ours = adjust(p, correction)
    np.testing.assert_allclose(ours, _of_r(p, correction), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours, _of_statsmodels(p, correction), rtol=1e-9, atol=1e-12)


@given(p=families)
def test_false_discovery_rates_are_those_of_scipy(p: np.ndarray) -> None:
    by_scipy: np.ndarray = false_discovery_control(p, method="bh")
    np.testing.assert_allclose(adjust(p, "fdr_bh"), by_scipy, rtol=1e-9, atol=1e-12)
    by_scipy = false_discovery_control(p, method="by")
    np.testing.assert_allclose(adjust(p, "fdr_by"), by_scipy, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("correction", CORRECTIONS)
@given(p=families, where=st.lists(st.integers(0, 40), max_size=10))
def test_untestable_entries_stay_nan_and_count_nowhere(
    correction: str, p: np.ndarray, where: list[int]
) -> None:
    places = [min(place, len(p)) for place in where]
    holed = np.insert(p, places, np.nan)
    ours = adjust(holed, correction)
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(holed))
    np.testing.assert_array_equal(ours[~np.isnan(holed)], adjust(p, correction))


@pytest.mark.parametrize("correction", CORRECTIONS)
@given(p=families)
def test_adjusting_only_raises_and_keeps_the_order(correction: str, p: np.ndarray) -> None:
    ours = adjust(p, correction)
    if correction != "fdr_tsbh":  # it multiplies by the estimated share of true nulls
        assert (ours >= p - 1e-15).all()
    assert (ours <= 1).all()
    assert (np.diff(ours[np.argsort(p, kind="stable")]) >= -1e-12).all()


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_the_p_values_given_are_not_changed(correction: str) -> None:
    p = np.array([0.03, np.nan, 0.01])
    p.flags.writeable = False
    adjust(p, correction)
    np.testing.assert_array_equal(p, [0.03, np.nan, 0.01])


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_an_empty_family_stays_empty_and_one_of_nan_stays_nan(correction: str) -> None:
    assert adjust(np.empty(0), correction).shape == (0,)
    assert np.isnan(adjust(np.full(3, np.nan), correction)).all()


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_a_family_of_one_is_not_corrected(correction: str) -> None:
    assert adjust(np.array([0.037]), correction).tolist() == [0.037]


def test_an_unknown_correction_is_refused() -> None:
    with pytest.raises(KeyError, match="bh"):
        adjust(np.array([0.5]), "bh")


def test_a_value_of_exactly_alpha_is_decided_and_nan_never() -> None:
    adjusted = np.array([0.05, np.nextafter(0.05, 1), 0.05 * (1 + 3 * TIE), 0.0, np.nan, 1.0])
    assert significant(adjusted, 0.05).tolist() == [True, True, False, True, False, False]
    assert significant(adjust(np.array([0.05]), "holm"), 0.05).tolist() == [True]
