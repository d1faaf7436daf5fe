"""Resamples are whole judgements of the units drawn; overlaps, depth and stability follow from them."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from math import isnan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from headroles.records import Decision, Rule, Scores
from headroles.stats import (
    CORRECTIONS,
    FAMILIES,
    METHODS,
    Columns,
    Grid,
    adjust,
    bootstrap_counts,
    describe,
    evidence_columns,
    fresh_roles,
    joint_probability,
    judge,
    label_draws,
    random_halves,
    reached_cuts,
    role_depths,
    role_p,
    role_pairs,
    role_sets,
    several_roles,
    sign_flips,
    significant,
    stability,
)
from tests.support.reference import draws
from tests.support.scores import made, repeated, scored, skewed

Run = tuple[Scores, list[Rule]]
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
ALONE = [Rule("s")]


# Draws.


@settings(max_examples=draws(40))
@given(st.integers(1, 30), st.integers(1, 600), st.integers(0, 2**32 - 1))
def test_bootstrap_counts_are_the_draws_of_one_generator_in_a_row(
    units: int, resamples: int, seed: int
) -> None:
    blocks = list(bootstrap_counts(units, resamples, seed))
    drawn = np.random.default_rng(seed).integers(0, units, (resamples, units))
    np.testing.assert_array_equal(
        np.concatenate(blocks), [np.bincount(row, minlength=units) for row in drawn]
    )
    assert max(map(len, blocks)) <= 256


def test_signs_are_every_pattern_once_or_random_and_even() -> None:
    for units in (1, 4, 9):
        signs = np.concatenate(list(sign_flips(units, 2**units, 0)))
        assert len(np.unique(signs, axis=0)) == len(signs) == 2**units
        assert (signs[0] == 1).all()
        assert set(np.unique(signs)) == {-1.0, 1.0}
    first, again, other = (np.concatenate(list(sign_flips(14, 10_000, seed))) for seed in (3, 3, 4))
    assert first.shape == (10_000, 14)  # 2^14 patterns would be more
    assert np.abs(first.mean(axis=0)).max() < 0.05
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert sum(map(len, sign_flips(2000, 300, 0))) == 300


@settings(max_examples=draws(40))
@given(st.integers(2, 41), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_halves_are_disjoint_and_of_equal_size(units: int, splits: int, seed: int) -> None:
    side = random_halves(units, splits, seed)
    assert side.shape == (splits, units)
    for half in (side > 0, side < 0):
        assert (half.sum(axis=1) == units // 2).all()
    assert np.abs(random_halves(11, 2000, 1).mean(axis=0)).max() < 0.09


# Labels of resamples.


def _holed(run: Run) -> Run:
    scores, rules = run
    values = scores.values.copy()
    values[0, :9, 0, 1] = np.nan
    values[2, 3:] = np.nan
    values[3, :, 1, 0] = 0.6
    return replace(scores, values=values), rules


@pytest.mark.parametrize("test", ["t-skew", "t", "t-published", "sign", "wilcoxon"])
def test_a_resample_is_labelled_as_if_it_were_the_data(test: str) -> None:
    weights = np.concatenate(
        [np.ones((1, 30)), *bootstrap_counts(30, 5, 2), np.maximum(random_halves(30, 2, 3), 0)]
    )
    for run in (made(1, units=30), _holed(made(1, units=30))):
        ways = (("fdr_bh", "sieve"), ("holm-sidak", "layer"), ("fdr_tsbh", "run"))
        for correction, family in ways[: 1 if test == "wilcoxon" else 3]:
            decision = Decision(test, correction, family, alpha=0.1)
            drawn = label_draws(Columns(*run), weights, Grid(2, 6), decision)
            assert drawn.shape == (3, 8, 12)
            for number, row in enumerate(weights):
                found = judge(repeated(run[0], row), run[1], decision)
                wanted = found.decision[[0, 2, 3]].reshape(3, 12) == 0
                np.testing.assert_array_equal(drawn[:, number], wanted)
            assert 0 < drawn.mean() < 1


@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize("test", ["t-skew", "t", "t-published", "wilcoxon", "sign"])
def test_p_of_a_resample_is_that_of_the_units_repeated_and_that_of_many_that_of_each(test: str) -> None:
    rng = np.random.default_rng(4)
    values = skewed(rng, 40, 9) + 50
    values[:4, 1] = np.nan
    values[:, 2] = 50.3
    rule = Rule("s", margin=50.0)  # far from 0, where sums of powers cancel
    column = Columns(scored(values[None], [rule]), [rule])[0]
    number = 265 if test.startswith("t") else 6  # more than one block
    weights = np.concatenate(list(bootstrap_counts(40, number, 6)))
    weights = np.concatenate([weights, np.eye(40)[[3]] * 40])  # one unit alone
    decision = Decision(test, "none", alpha=0.9)
    whole = role_p(column, weights, decision)
    for kind in (np.uint16, np.float64):
        np.testing.assert_array_equal(role_p(column, weights.astype(kind), decision), whole)
    for row in (*range(5), number):
        again = np.repeat(column.values, weights[row].astype(int), axis=0)
        sample = describe(again)
        bare = METHODS[test].role_p(again, sample, 50.0)
        still = sample.sd <= 1e-6 * 50
        np.testing.assert_allclose(whole[row][~still], bare[~still], rtol=1e-6)
        assert np.isnan(whole[row][still]).all()  # no bounds are known


@pytest.mark.parametrize("test", ["t-skew", "t", "t-published"])
@settings(max_examples=draws(10), deadline=None)
@given(seed=st.integers(0, 10_000), shape=st.sampled_from([0.05, 0.5, 3.0]), size=st.sampled_from([3, 8, 40]))
def test_p_is_left_out_only_where_no_correction_makes_a_role_of_it(
    test: str, size: int, seed: int, shape: float
) -> None:
    rng = np.random.default_rng(seed)
    drawn = rng.gamma(shape, 1 / shape, (2, size, 2, 9)) * rng.choice([-1, 1], (2, 1, 2, 9))
    values = drawn + rng.normal(0, 0.3, (2, 1, 2, 9))
    values[0, : size // 2, 0, 1], values[1, :, 1, 1] = np.nan, 0.1
    rules = [Rule("a", margin=0.1, contrast="a:x"), Rule("a:x", margin=0.0, role=False)]
    columns = Columns(scored(values, rules), rules)
    weights = next(bootstrap_counts(size, 20, seed))
    whole = np.stack([role_p(column, weights, Decision(test, alpha=0.9)) for column in columns])
    short = np.stack([role_p(column, weights, Decision(test, alpha=0.2)) for column in columns])
    left_out = (short == 1) & (whole != 1)
    np.testing.assert_array_equal(short[~left_out], whole[~left_out])
    assert whole[left_out].min(initial=1.0) > 0.43  # 1/6 standard errors beyond in a normal distribution
    for correction in CORRECTIONS:
        decision = Decision(test, correction, alpha=0.2)
        labels = label_draws(columns, weights, Grid(2, 9), decision)
        joint = np.maximum(whole[0], whole[1])
        q = adjust(joint, correction, 0.2)
        np.testing.assert_array_equal(labels[0], significant(q, 0.2, joint), err_msg=correction)


# Pairs and sets of roles.

NAMES = ("local", "block", "none")


def _held(rng: np.random.Generator, number: int = 0) -> np.ndarray:
    """Roles over 3 layers of 8 heads: local early, block late, none nowhere."""
    chance = np.repeat([[0.7, 0.4, 0.1], [0.1, 0.3, 0.8], [0.0, 0.0, 0.0]], 8, axis=1)
    shape = (3, number, 24) if number else (3, 24)
    held: np.ndarray = rng.random(shape) < (chance[:, None] if number else chance)
    return held


def test_overlaps_are_counted_and_their_reference_deals_labels_anew_within_layers() -> None:
    rng = np.random.default_rng(0)
    observed, drawn = _held(rng), _held(rng, 200)
    found = role_pairs(NAMES, observed, drawn, Grid(3, 8), "with")
    pairs = {(pair.first, pair.second): pair for pair in found}
    assert len(pairs) == len(found) == 6
    for (one, other), pair in pairs.items():
        mine, theirs = (observed[NAMES.index(name)] for name in (one, other))
        assert (pair.heads_first, pair.heads_second) == (mine.sum(), theirs.sum())
        assert pair.both == (mine & theirs).sum()
        counts = (drawn[NAMES.index(one)] & drawn[NAMES.index(other)]).sum(axis=1)
        assert (pair.both_low, pair.both_high) == tuple(np.quantile(counts, [0.025, 0.975]))
        if one == "none":
            assert all(map(isnan, (pair.share, pair.share_low, pair.share_high)))
            continue
        shares = counts / drawn[NAMES.index(one)].sum(axis=1)
        assert (pair.share_low, pair.share_high) == tuple(np.quantile(shares, [0.025, 0.975]))
        assert pair.share == pair.both / pair.heads_first
        layers = np.ones(1)  # the overlap of a layer is hypergeometric, that of all their convolution
        for here, there in zip(mine.reshape(3, 8).sum(axis=1), theirs.reshape(3, 8).sum(axis=1), strict=True):
            layers = np.convolve(layers, reference.hypergeom.pmf(np.arange(9), 8, here, there))
        assert pair.expected == pytest.approx(layers @ np.arange(len(layers)))
        upto = np.cumsum(layers)
        ends = [int(np.argmax(upto >= level)) for level in (0.025, 0.975)]
        assert [pair.expected_low, pair.expected_high] == ends
    apart = np.zeros((2, 16), dtype=bool)
    apart[0, :8] = apart[1, 8:] = True
    assert role_pairs(("a", "b"), apart, apart[:, None], Grid(2, 8), "with")[0].expected == 0
    flicker = np.zeros((2, 5, 16), dtype=bool)
    flicker[:, :2, 0] = True  # no share in three of five draws
    pair = role_pairs(("a", "b"), apart, flicker, Grid(2, 8), "with")[0]
    assert isnan(pair.share_low)
    assert pair.both_high == 1.0


def test_sets_are_counted_once_and_expected_as_labels_dealt_within_layers() -> None:
    names = ("local", "block", "rare")
    chance = np.random.default_rng(2)
    share = np.array([0.6, 0.4, 0.1])[:, None, None] * chance.uniform(0.3, 1.6, size=(3, 4, 1))
    held = chance.random((3, 4, 7)) < share
    found = role_sets(names, held.reshape(3, -1), Grid(4, 7))
    assert sum(row.heads for row in found) == held.any(axis=0).sum()
    assert [row.heads for row in found] == sorted((row.heads for row in found), reverse=True)
    dealings = [np.stack([chance.permuted(role, axis=1) for role in held]) for _ in range(3000)]
    for row in found:
        asked = np.array([name in row.roles.split(";") for name in names])[:, None, None]
        assert row.heads == (held == asked).all(axis=0).sum() > 0
        even = np.where(asked, held.mean(axis=2, keepdims=True), 1 - held.mean(axis=2, keepdims=True))
        assert row.expected == pytest.approx(7 * even.prod(axis=0).sum())
        counts = [(dealing == asked).all(axis=0).sum() for dealing in dealings]
        ends = np.quantile(counts, [0.025, 0.975], method="inverted_cdf")
        assert np.abs(ends - [row.expected_low, row.expected_high]).max() <= 1
    assert role_sets(names, np.zeros((3, 8), dtype=bool), Grid(2, 4)) == ()


# Depth, and several roles.


@pytest.mark.parametrize("layers", [3, 6, 7, 8, 12])
def test_reordered_layers_are_those_of_scipys_permutation_test(layers: int) -> None:
    thirds = {3: (1, 1, 1), 6: (2, 2, 2), 7: (2, 3, 2), 8: (3, 2, 3), 12: (4, 4, 4)}[layers]
    depth = np.arange(layers) - (layers - 1) / 2

    def strength(values: np.ndarray, axis: int = -1) -> np.ndarray:
        return np.asarray(np.abs((np.moveaxis(values, axis, -1) * depth).sum(axis=-1)))

    for seed in range(2):
        rng = np.random.default_rng(seed)
        counts = rng.integers(0, 9, layers) + np.arange(layers) // 2
        held = (np.arange(16) < counts[:, None]).reshape(1, -1)
        drawn = rng.random((1, 50, held.size)) < 0.3
        drawn[0, :5] = False
        (found,) = role_depths(["a"], held, drawn, Grid(layers, 16), seed)
        theirs = reference.permutation_test(
            (counts.astype(np.float64),), strength, permutation_type="pairings", n_resamples=9999,
            alternative="greater", vectorized=True, rng=np.random.default_rng(seed),
        )  # fmt: skip
        assert found.reference == theirs.pvalue
        assert found.trend == pytest.approx(np.corrcoef(depth, counts)[0, 1])
        parts = np.split(counts, np.cumsum(thirds)[:2])
        shares = [part.sum() / counts.sum() for part in parts]
        assert (found.first, found.middle, found.last) == pytest.approx(tuple(shares))
        resampled = drawn[0, 5:].reshape(-1, layers, 16).sum(axis=2)
        trends = [np.corrcoef(depth, row)[0, 1] for row in resampled if np.ptp(row)]
        ends = np.quantile(trends, [0.025, 0.975])
        assert (found.trend_low, found.trend_high) == pytest.approx(tuple(ends))
        last = np.split(resampled, np.cumsum(thirds)[:2], axis=1)[2].sum(axis=1) / resampled.sum(axis=1)
        assert (found.last_low, found.last_high) == pytest.approx(tuple(np.quantile(last, [0.025, 0.975])))


def test_roles_that_live_nowhere_evenly_or_in_two_layers_have_no_trend() -> None:
    even = np.ones((1, 8), dtype=bool)
    nowhere, everywhere = (
        role_depths(["a"], held, held[:, None], Grid(4, 2), 0)[0] for held in (~even, even)
    )
    two = role_depths(["a"], even, even[:, None], Grid(2, 4), 0)[0]
    for found, heads in ((nowhere, 0), (everywhere, 8), (two, 8)):
        assert found.heads == heads
        assert isnan(found.trend)
        assert isnan(found.reference)
    assert isnan(nowhere.first)
    assert isnan(nowhere.last_high)
    assert (everywhere.first, everywhere.middle, everywhere.last) == (0.25, 0.5, 0.25)


@pytest.mark.ci
def test_layers_that_merely_differ_are_seldom_called_a_trend() -> None:
    # 12 layers with chances of their own, in no order: 15 to 37 % false trends by permuting heads.
    rng = np.random.default_rng(3)
    references = []
    for seed in range(60):
        counts = rng.binomial(12, rng.beta(1, 1, size=12))
        held = (np.arange(12) < counts[:, None]).reshape(1, -1)
        references.append(role_depths(("r",), held, held[:, None], Grid(12, 12), seed)[0].reference)
    assert np.mean(np.array(references) <= 0.05) <= 0.13


def test_a_whole_is_not_counted_with_its_part_and_two_layers_have_no_middle() -> None:
    held = np.zeros((3, 6), dtype=bool)
    held[0, :3] = held[1, 0] = held[2, 1] = True  # heads of the first layer: part, whole and local, whole
    names = ("delimiter", "delimiter:cls", "local")
    rows = several_roles(names, held, held[:, None].repeat(9, 1), Grid(2, 3), 0)
    assert [(row.scope, row.heads) for row in rows] == [("all", 6), ("layer 0", 3), ("layer 1", 3)]
    assert (rows[1].mean, rows[1].several) == pytest.approx((4 / 3, 1 / 3))
    assert (rows[2].mean, rows[2].several) == (0, 0)
    assert (rows[1].mean_low, rows[1].mean_high) == (rows[1].mean,) * 2
    assert (
        several_roles((), np.zeros((0, 6), dtype=bool), np.zeros((0, 2, 6), dtype=bool), Grid(2, 3), 0) == ()
    )


@given(st.lists(st.integers(0, 4), min_size=3, max_size=9), st.integers(0, 99))
def test_the_reference_is_the_share_of_all_choices_of_as_many_layers(several: list[int], seed: int) -> None:
    layers, heads = len(several), 4
    held = np.zeros((2, layers, heads), dtype=bool)
    for layer, count in enumerate(several):
        held[:, layer, :count] = True
    grid = Grid(layers, heads)
    row = several_roles(("a", "b"), held.reshape(2, -1), held.reshape(2, 1, -1), grid, seed)[-1]
    middle = np.array([1 / 3 <= (2 * layer + 1) / (2 * layers) < 2 / 3 for layer in range(layers)])
    sums = [sum(chosen) for chosen in combinations(several, int(middle.sum()))]
    assert row.scope == "middle − others"
    assert row.reference == pytest.approx(
        np.mean([total >= sum(np.array(several)[middle]) for total in sums])
    )
    shares = np.array(several) / heads
    assert row.several == pytest.approx(shares[middle].mean() - shares[~middle].mean())
    assert row.p == (1.0 if row.several <= 0 else 0.5)


def test_fresh_samples_differ_with_twice_the_variance_of_a_mean() -> None:
    values = 0.1 + 0.1 * np.random.default_rng(0).normal(size=(1, 80, 400))
    scores, rules = scored(values), [Rule("s0")]
    decision = Decision("t", correction="none", alpha=0.5)
    drawn = fresh_roles(evidence_columns(scores, rules, decision), Grid(1, 400), decision)
    assert drawn.shape == (1, 300, 400)
    kept = scores.values[0, :, 0]
    errors = kept.std(axis=0, ddof=1) / np.sqrt(80)
    expected = reference.norm.cdf((kept.mean(axis=0) - 0.1) / errors / np.sqrt(2))
    assert np.abs(drawn[0].mean(axis=0) - expected).mean() < 0.03  # alpha 0.5: a role where it is beyond θ


# Stability.


def _predicted(scores: Scores, rules: list[Rule], decision: Decision) -> np.ndarray:
    found = judge(scores, rules, decision)
    grid = Grid(scores.layers, scores.heads)
    share: np.ndarray = stability(Columns(scores, rules), grid, decision, found)[0]
    return share


def _by_reweighting(values: np.ndarray, theta: float, cut: float, test: str) -> float:
    """P(role in a fresh sample) from a numerical infinitesimal jackknife of the distance to the cut."""
    n = len(values)
    quantile = reference.t.isf(cut, n - 1)

    def distance(weight: np.ndarray) -> float:
        share = weight / weight.sum()
        mean = share @ values
        second, third = share @ (values - mean) ** 2, share @ (values - mean) ** 3
        sd, skew = (
            np.sqrt(second * (n if test == "t-published" else n * n / (n - 1)) / n),
            third / second**1.5,
        )
        needed = quantile
        if test == "t-skew":
            needed = (
                3
                * np.sqrt(n)
                / skew
                * (np.cbrt(1 + skew * (quantile - skew / (6 * np.sqrt(n))) / np.sqrt(n)) - 1)
            )
        return float(mean - theta - sd * needed / np.sqrt(n))

    step = 1e-5
    even = np.ones(n)
    slopes = [
        (distance(even + step * unit) - distance(even - step * unit)) / (2 * step) for unit in np.eye(n)
    ]
    error = np.sqrt(2 * np.sum(np.square(slopes)) * n / (n - 1))
    return float(reference.norm.cdf(distance(even) / error))


def test_stability_is_a_jackknife_of_the_distance_to_the_cut_and_even_at_it() -> None:
    values = skewed(np.random.default_rng(8), 150, 12)
    spread, cut = values.std(axis=0, ddof=1), np.array(0.01)
    values += 0.1 - values.mean(axis=0) + spread * np.linspace(-0.1, 0.5, 12)
    values[:40, 3] = np.nan
    for test in ("t", "t-skew", "t-published"):
        share = _predicted(scored(values[None]), [Rule("s0")], Decision(test, "none", alpha=float(cut)))
        for head, column in enumerate(values.T):
            wanted = _by_reweighting(column[~np.isnan(column)], 0.1, float(cut), test)
            assert share[head] == pytest.approx(wanted, abs=0.01), (test, head)
        assert share.min() < 0.2 < 0.8 < share.max()
    normal = np.random.default_rng(2).normal(size=(80, 100))
    normal = (normal - normal.mean(axis=0)) / normal.std(axis=0, ddof=1)
    at_cut = 0.1 + reference.t.isf(0.05, 79) / np.sqrt(80)
    share = _predicted(scored((at_cut + normal)[None]), [Rule("s0")], Decision("t", "none"))
    np.testing.assert_allclose(share, 0.5, atol=1e-3)


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return scores of mean 0 and spread 1."""
    return np.asarray(rng.normal(size=shape))


def right_skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return the same with a long right tail."""
    return np.asarray((rng.gamma(2.0, size=shape) - 2.0) / np.sqrt(2.0))


def heavy(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return the same with two heavy tails."""
    return np.asarray(rng.laplace(size=shape) / np.sqrt(2.0))


FRESH: list[tuple[str, str, Draw, int]] = [
    ("sign", "fdr_bh", normal, 40), ("wilcoxon", "fdr_bh", normal, 40),
    ("t-skew", "fdr_bh", right_skewed, 100),
]  # fmt: skip
MORE: list[tuple[str, str, Draw, int]] = [
    ("t", "none", normal, 40), ("t", "holm", heavy, 100), ("t-published", "sidak", normal, 40),
    ("t-skew", "fdr_by", heavy, 100), ("t-skew", "fdr_tsbh", normal, 40), ("wilcoxon", "fdr_bh", normal, 100),
    ("bootstrap-t", "holm-sidak", right_skewed, 40), ("sign-flip", "bonferroni", normal, 40),
]  # fmt: skip


@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize(
    ("test", "correction", "draw", "units"),
    [*FRESH, *(pytest.param(*row, marks=pytest.mark.ci) for row in MORE)],
)
def test_so_many_heads_have_the_role_in_a_fresh_sample_as_predicted(
    test: str, correction: str, draw: Draw, units: int
) -> None:
    rng, layers, heads = np.random.default_rng(units), 120, 25
    effect = rng.uniform(-4, 12, size=(layers, heads)) / np.sqrt(units)
    decision = Decision(test, correction, "layer", resamples=999)

    def sample() -> Scores:
        return scored((0.1 + effect + draw(rng, (units, layers, heads)))[None], ALONE)

    _compare(_predicted(sample(), ALONE, decision), judge(sample(), ALONE, decision).decision[0].ravel() == 0)


@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize("correlation", [pytest.param(0.0, marks=pytest.mark.ci), 0.8])
def test_a_contrast_counts_with_its_correlation(correlation: float) -> None:
    rng, units, layers, heads = np.random.default_rng(3), 60, 120, 25
    effects = rng.uniform(-3, 9, size=(2, 1, layers, heads)) / np.sqrt(units)
    theta = np.array([0.1, 0.02])[:, None, None, None]
    pair = [Rule("s", contrast="s:matched"), Rule("s:matched", margin=0.02, role=False)]
    decision = Decision("t", "fdr_bh", "layer")

    def sample() -> Scores:
        shared, own = rng.normal(size=(units, layers, heads)), rng.normal(size=(2, units, layers, heads))
        return scored(theta + effects + np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own, pair)

    _compare(_predicted(sample(), pair, decision), judge(sample(), pair, decision).decision[0].ravel() == 0)


def _compare(share: np.ndarray, role: np.ndarray) -> None:
    """Require that predicted shares are those observed, in four bins and in all."""
    place = np.digitize(share, (0.1, 0.5, 0.9))
    for number in range(4):
        inside = place == number
        assert inside.sum() > 100
        error = np.sqrt(0.25 / inside.sum()) if number in (1, 2) else 0.01
        assert role[inside].mean() == pytest.approx(share[inside].mean(), abs=3.5 * error), number
    assert share.mean() == pytest.approx(role.mean(), abs=0.02)


@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize("correction", CORRECTIONS)
def test_a_head_has_the_role_where_its_p_reaches_its_cut(correction: str) -> None:
    scores, rules = made(3, units=25)
    values = scores.values.copy()
    values[2, :, 0, 0] = np.nan
    for family in FAMILIES:
        decision = Decision("t", correction, family)
        found = judge(replace(scores, values=values), rules, decision)
        cuts = reached_cuts(found, Grid(scores.layers, scores.heads), decision).reshape(found.p.shape)
        roles = [rule.role for rule in rules]
        held = found.decision[roles] == 0
        np.testing.assert_array_equal(found.p[roles] <= cuts[roles], held)
        assert 0 < held.mean() < 1
        assert np.nanmax(cuts) <= decision.alpha


def test_the_joint_probability_is_scipys() -> None:
    rng = np.random.default_rng(1)
    sides = np.concatenate([rng.normal(scale=2, size=(60, 2)), [[0, 0], [0, 1], [-1, 0], [3, 3], [-2, 5]]])
    correlation = np.concatenate([rng.uniform(-0.99, 0.99, size=60), [0.3, -0.5, 0.9, 0.0, 0.7]])
    ours = joint_probability(sides[:, 0], sides[:, 1], correlation)
    for (h, k), r, one in zip(sides, correlation, ours, strict=True):
        theirs = reference.multivariate_normal.cdf([h, k], cov=[[1, r], [r, 1]])
        assert one == pytest.approx(theirs, abs=1e-7)
    far, near = np.array([np.inf, -np.inf, np.inf]), np.array([0.5, 0.5, np.inf])
    certain = [reference.norm.cdf(0.5), 0.0, 1.0]
    np.testing.assert_allclose(joint_probability(far, near, np.zeros(3)), certain, atol=1e-12)
    side = np.linspace(-3, 3, 13)
    equal = joint_probability(side, side, np.ones(13))  # equal columns count once
    np.testing.assert_allclose(equal, reference.norm.cdf(side), atol=1e-4)


def test_heads_without_spread_keep_their_label_and_hardly_any_units_have_none() -> None:
    values = np.random.default_rng(4).normal(0.5, 0.1, size=(60, 3))
    values[:, 0], values[:, 1] = 1.0, 0.0
    rules = [Rule("s", low=-1.0, high=1.0)]
    assert _predicted(scored(values[None], rules), rules, Decision()).tolist() == [1.0, 0.0, 1.0]
    few = np.random.default_rng(5).normal(0.5, 0.1, size=(9, 3))
    few[3:, 1], few[4:, 2] = np.nan, np.nan
    for test in ("t-skew", "wilcoxon"):
        share = _predicted(scored(few[None], ALONE), ALONE, Decision(test))
        assert np.isnan(share).tolist() == [False, True, False]
    scores, made_rules = made(6)
    contrasts = [Rule(rule.sieve, role=False) for rule in made_rules]
    found = judge(scores, contrasts, Decision())
    assert stability(Columns(scores, contrasts), Grid(2, 6), Decision(), found).shape == (0, 12)
