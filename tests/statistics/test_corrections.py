"""Adjusted p are those of statsmodels, scipy and R; NaN stands outside every family."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from headroles.records import Decision, Rule, Scores
from headroles.stats import CORRECTIONS, FAMILIES, TIE, adjust, judge, significant
from tests.support.scores import made, scored

PUBLISHED = (
    0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
    0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000,
)  # fmt: skip
"""The fifteen p values of Benjamini & Hochberg (1995)."""
OF_R = {
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
"""What ``p.adjust`` of R makes of them."""

families_of_p = hnp.arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 1))


@contextmanager
def _fast_statsmodels() -> Iterator[None]:
    """Keep its Holm from collecting all garbage at every call, and from warning of the logarithm of 0."""
    import gc

    gc.freeze()
    try:
        with np.errstate(divide="ignore"):
            yield
    finally:
        gc.unfreeze()


def _of_statsmodels(p: np.ndarray, correction: str, alpha: float = 0.05) -> np.ndarray:
    """Each row adjusted by statsmodels, NaN left out, and a family of one as it is."""
    from statsmodels.stats.multitest import multipletests

    adjusted = p.copy()
    with _fast_statsmodels():
        for place in np.ndindex(p.shape[:-1]):
            tested = ~np.isnan(p[place])
            if correction != "none" and tested.sum() > 1:
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
    for seed in range(12):
        p, alpha = _drawn(seed)
        ours, theirs = adjust(p, correction, alpha), _of_statsmodels(p, correction, alpha)
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-15, err_msg=f"seed {seed}")
        np.testing.assert_array_equal(significant(ours, alpha, p), significant(theirs, alpha, p))
        together = adjust(p.reshape(5, 2, -1), correction, alpha)
        np.testing.assert_array_equal(together.reshape(p.shape), ours)
        for row, one in zip(p, ours, strict=True):  # a row is a family of its own
            np.testing.assert_array_equal(adjust(row, correction, alpha), one)


@pytest.mark.parametrize("correction", CORRECTIONS)
@given(p=families_of_p, where=st.lists(st.integers(0, 40), max_size=10))
def test_an_adjusted_p_is_not_smaller_keeps_the_order_and_ignores_nan(
    correction: str, p: np.ndarray, where: list[int]
) -> None:
    ours = adjust(p, correction)
    if correction != "fdr_tsbh":  # it multiplies by the estimated share of true nulls
        assert (ours >= p).all()
    assert ((ours >= 0) & (ours <= 1)).all()
    assert (np.diff(ours[np.argsort(p, kind="stable")]) >= -1e-12).all()
    np.testing.assert_allclose(ours, _of_statsmodels(p, correction), rtol=1e-9, atol=1e-12)
    holed = np.insert(p, [min(place, len(p)) for place in where], np.nan)
    holed.flags.writeable = False
    with_holes = adjust(holed, correction)
    np.testing.assert_array_equal(np.isnan(with_holes), np.isnan(holed))
    np.testing.assert_array_equal(with_holes[~np.isnan(holed)], ours)


@given(p=families_of_p)
def test_false_discovery_rates_are_those_of_scipy(p: np.ndarray) -> None:
    from scipy.stats import false_discovery_control

    for name, theirs in (("fdr_bh", "bh"), ("fdr_by", "by")):
        wanted = np.asarray(false_discovery_control(p, method=theirs))  # type: ignore[arg-type]
        np.testing.assert_allclose(adjust(p, name), wanted, rtol=1e-9, atol=1e-12)


def test_a_published_family_is_adjusted_as_r_does_and_by_the_harmonic_sum() -> None:
    shuffled = np.random.default_rng(0).permutation(len(PUBLISHED))
    p = np.array(PUBLISHED)[shuffled]
    for correction, wanted in OF_R.items():
        np.testing.assert_allclose(adjust(p, correction), np.array(wanted)[shuffled], atol=5e-9)
    even = np.array([0.01, 0.02, 0.03, 0.04, 0.05])
    np.testing.assert_allclose(adjust(even, "fdr_by"), np.full(5, 0.05 * 137 / 60), rtol=1e-12)


def test_edges_of_families_stay_as_they_are_under_every_correction() -> None:
    for correction in CORRECTIONS:
        assert adjust(np.empty(0), correction).shape == (0,)
        assert adjust(np.empty((3, 0)), correction).shape == (3, 0)
        assert np.isnan(adjust(np.full(3, np.nan), correction)).all()
        assert adjust(np.array([0.037]), correction).tolist() == [0.037]
        assert adjust(np.array([np.nan, 0.037]), correction)[1] == 0.037
    with pytest.raises(KeyError, match="bh"):
        adjust(np.array([0.5]), "bh")


def test_the_two_stage_rate_depends_on_alpha() -> None:
    p = np.random.default_rng(3).random(200) ** 3
    strict, mild = (adjust(p, "fdr_tsbh", alpha) for alpha in (0.01, 0.2))
    assert (strict > mild).any()
    assert (mild < adjust(p, "fdr_bh")).any()
    for other in set(CORRECTIONS) - {"fdr_tsbh"}:
        np.testing.assert_array_equal(adjust(p, other, 0.01), adjust(p, other, 0.2))


def test_a_value_of_exactly_alpha_is_decided_and_ties_are_decided_alike() -> None:
    adjusted = np.array([0.05, np.nextafter(0.05, 1), 0.05 * (1 + 3 * TIE), 0.0, np.nan, 1.0])
    assert significant(adjusted, 0.05).tolist() == [True, True, False, True, False, False]
    p = np.array([0.05, 0.06, 0.05, 0.0, 0.01, 0.01])
    assert significant(adjusted, 0.05, p).tolist() == [True, False, False, True, False, False]
    fractions = np.random.default_rng(6).integers(1, 60, size=(400, 25)) / 1000
    for correction in ("fdr_bh", "holm", "bonferroni"):
        ours, theirs = adjust(fractions, correction), _of_statsmodels(fractions, correction)
        tied = np.isclose(ours, 0.05, rtol=1e-13)
        assert tied.any()
        assert significant(ours, 0.05)[tied].all()
        np.testing.assert_array_equal(significant(ours, 0.05), significant(theirs, 0.05))


# Families of findings.

TOGETHER = [
    Rule("a", contrast="a:matched", together="a and b", low=-9.0, high=9.0),
    Rule("a:matched", margin=0.02, role=False, low=-9.0, high=9.0),
    Rule("b", together="a and b", low=-9.0, high=9.0),
    Rule("c", low=-9.0, high=9.0),
]
PARTS = {
    "sieve": [[(0, slice(0, 6)), (2, slice(0, 6))], [(3, slice(0, 6))], [(1, slice(0, 6))]],
    "run": [[(0, slice(0, 6)), (2, slice(0, 6)), (3, slice(0, 6))], [(1, slice(0, 6))]],
    "layer": [
        [(0, slice(0, 3)), (2, slice(0, 3))], [(0, slice(3, 6)), (2, slice(3, 6))],
        [(3, slice(0, 3))], [(3, slice(3, 6))], [(1, slice(0, 6))],
    ],
}  # fmt: skip
"""Families of the rules above over 2 layers of 3 heads, written out."""


@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize("family", FAMILIES)
def test_families_are_those_written_out_in_each_direction(family: str) -> None:
    values = np.random.default_rng(13).normal(0.12, 0.1, size=(4, 60, 2, 3))
    values[3, :, 0, 1] = np.nan
    for correction in CORRECTIONS:
        found = judge(scored(values, TOGETHER), TOGETHER, Decision(correction=correction, family=family))
        for p, q in ((found.p, found.q), (found.p_not, found.q_not)):
            rows, wanted = p.reshape(4, 6), np.full((4, 6), -1.0)
            for parts in PARTS[family]:
                joined = adjust(np.concatenate([rows[k, part] for k, part in parts]), correction)
                for number, (k, part) in enumerate(parts):
                    width = part.stop - part.start
                    wanted[k, part] = joined[number * width : (number + 1) * width]
            np.testing.assert_allclose(q.reshape(4, 6), wanted, rtol=1e-12, err_msg=correction)


def _without_contrast(scores: Scores) -> Scores:
    rows = [0, 2, 3]
    kept = {name: getattr(scores, name)[rows] for name in ("cells", "values", "null")}
    return replace(scores, sieves=tuple(scores.sieves[row] for row in rows), **kept)


def test_a_contrast_that_passes_everywhere_changes_nothing_for_any_role() -> None:
    scores, rules = made(15)
    bent = scores.values.copy()
    bent[1] += 2.0
    bent_scores = replace(scores, values=bent)
    rules = [replace(rule, low=-9.0, high=9.0) for rule in rules]
    alone = [replace(rules[0], contrast=""), *rules[2:]]
    for family in FAMILIES:
        for correction in ("fdr_bh", "holm"):
            decision = Decision(correction=correction, family=family)
            together = judge(bent_scores, rules, decision)
            apart = judge(_without_contrast(scores), alone, decision)
            for name in ("p", "q", "q_not", "decision"):
                np.testing.assert_array_equal(getattr(together, name)[[0, 2, 3]], getattr(apart, name))


def test_the_two_directions_are_corrected_apart_and_untestable_heads_in_neither() -> None:
    rng = np.random.default_rng(16)
    values = np.array([0.16] + [-0.2] * 19) + rng.normal(0, 0.1, size=(1, 60, 20))
    values[:, :, 7] = np.nan
    rules = [Rule("s0", low=-0.5, high=1.0)]
    found = judge(scored(values), rules, Decision(correction="holm"))
    assert found.q[0, 0, 0] == pytest.approx(19 * found.p[0, 0, 0], rel=1e-9)
    assert found.decision[0, 0].tolist() == [0] + [1] * 6 + [3] + [1] * 12
    assert np.isnan(found.q[0, 0, 7])
