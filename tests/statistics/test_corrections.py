"""Adjusted p are those of statsmodels; NaN stands outside every family."""

from unittest.mock import patch

import numpy as np
import pytest

from headroles.stats import CORRECTIONS, TIE, adjust, significant


def _of_statsmodels(p: np.ndarray, correction: str, alpha: float = 0.05) -> np.ndarray:
    """Each row adjusted by statsmodels, NaN left out, and a family of one as it is."""
    from statsmodels.stats.multitest import multipletests

    adjusted = p.copy()
    for place in np.ndindex(p.shape[:-1]):
        tested = ~np.isnan(p[place])
        if correction != "none" and tested.sum() > 1:
            with np.errstate(divide="ignore"), patch("gc.collect"):  # log(0), and a second for each call
                found = multipletests(p[place][tested], alpha=alpha, method=correction)[1]
            adjusted[place][tested] = found
    return adjusted


def _drawn(seed: int) -> tuple[np.ndarray, float]:
    """Ten families of 1 to 150 tests, with NaN, 0, 1 and ties, and an alpha."""
    rng = np.random.default_rng(seed)
    p = rng.random((10, int(rng.integers(1, 150)))) ** rng.integers(1, 6)
    for value in (np.nan, 0.0, 1.0):
        p[rng.random(p.shape) < 0.1] = value
    tied = rng.random(p.shape) < 0.2
    p[tied] = np.round(p[tied], 2)
    return p, float(rng.choice([0.01, 0.05, 0.2]))


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_families_are_corrected_as_statsmodels_does(correction: str) -> None:
    for seed in range(3):
        p, alpha = _drawn(seed)
        ours, theirs = adjust(p, correction, alpha), _of_statsmodels(p, correction, alpha)
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-15, err_msg=f"seed {seed}")
        np.testing.assert_array_equal(significant(ours, alpha, p), significant(theirs, alpha, p))
        for row, one in zip(p, ours, strict=True):  # a row is a family of its own
            np.testing.assert_array_equal(adjust(row, correction, alpha), one)


def test_edges_of_families_stay_as_they_are_under_every_correction() -> None:
    for correction in CORRECTIONS:
        assert adjust(np.empty(0), correction).shape == (0,)
        assert adjust(np.empty((3, 0)), correction).shape == (3, 0)
        assert np.isnan(adjust(np.full(3, np.nan), correction)).all()
        assert adjust(np.array([0.037]), correction).tolist() == [0.037]
        assert adjust(np.array([np.nan, 0.037]), correction)[1] == 0.037
    with pytest.raises(KeyError, match="bh"):
        adjust(np.array([0.5]), "bh")


def test_a_value_of_exactly_alpha_is_decided_and_ties_are_decided_alike() -> None:
    adjusted = np.array([0.05, np.nextafter(0.05, 1), 0.05 * (1 + 3 * TIE), 0.0, np.nan, 1.0])
    assert significant(adjusted, 0.05).tolist() == [True, True, False, True, False, False]
    p = np.array([0.05, 0.06, 0.05, 0.0, 0.01, 0.01])
    assert significant(adjusted, 0.05, p).tolist() == [True, False, False, True, False, False]
    fractions = np.random.default_rng(6).integers(1, 60, size=(60, 25)) / 1000
    for correction in ("fdr_bh", "bonferroni"):
        ours, theirs = adjust(fractions, correction), _of_statsmodels(fractions, correction)
        tied = np.isclose(ours, 0.05, rtol=1e-13)
        assert tied.any()
        assert significant(ours, 0.05)[tied].all()
        np.testing.assert_array_equal(significant(ours, 0.05), significant(theirs, 0.05))
