"""Resamples are whole judgements of the units drawn; overlaps, depth and stability follow from them."""

from dataclasses import replace
from itertools import combinations
from math import isnan

import numpy as np
import pytest
from scipy import stats as reference

from headroles import stats
from headroles.records import Decision, Rule, Scores, Stack, StackLayer, plain_stack
from headroles.stats import CORRECTIONS, FAMILIES, Columns, Grid, judge
from tests.support.scores import made, repeated, scored, skewed

ALONE = [Rule("s")]


def test_halves_are_disjoint_and_of_equal_size() -> None:
    for units in (2, 11, 40):
        side = stats.random_halves(units, 2000, units)
        assert ((side > 0).sum(axis=1) == units // 2).all()
        assert ((side < 0).sum(axis=1) == units // 2).all()
        assert np.abs(side.mean(axis=0)).max() < 0.1


# Labels of resamples.


@pytest.mark.parametrize("test", ["t-skew", "t", "t-published", "sign", "wilcoxon"])
def test_a_resample_is_labelled_as_if_it_were_the_data(test: str) -> None:
    halves = np.maximum(stats.random_halves(30, 2, 3), 0)
    weights = np.concatenate([np.ones((1, 30)), *stats.bootstrap_counts(30, 5, 2), halves])
    scores, rules = made(1, units=30)
    values = scores.values.copy()
    values[0, :9, 0, 1] = values[2, 3:, 1, 5] = np.nan
    values[3, :, 1, 0] = 0.6
    scores = replace(scores, values=values)
    ways = (("fdr_bh", "sieve"), ("holm-sidak", "layer"), ("fdr_tsbh", "run"))
    for correction, family in ways[: 1 if test == "wilcoxon" else 3]:
        decision = Decision(test, correction, family, alpha=0.1)
        drawn = stats.label_draws(Columns(scores, rules), weights, Grid(2, 6), decision)
        assert drawn.shape == (3, 8, 12)
        for number, row in enumerate(weights):
            found = judge(repeated(scores, row), rules, decision)
            wanted = found.decision[[0, 2, 3]].reshape(3, 12) == 0
            np.testing.assert_array_equal(drawn[:, number], wanted)
        assert 0 < drawn.mean() < 1


# Pairs and sets of roles.


def test_overlaps_are_counted_and_their_reference_deals_labels_anew_within_layers() -> None:
    chance = np.repeat([[0.7, 0.4, 0.1], [0.1, 0.3, 0.8], [0.0, 0.0, 0.0]], 8, axis=1)
    rng, names = np.random.default_rng(0), ("local", "block", "none")
    observed, drawn = rng.random((3, 24)) < chance, rng.random((3, 200, 24)) < chance[:, None]
    found = stats.role_pairs(names, observed, drawn, Grid(3, 8), "with")
    assert len({(pair.first, pair.second) for pair in found}) == len(found) == 6
    for pair in found:
        one, other = names.index(pair.first), names.index(pair.second)
        mine, theirs = observed[one], observed[other]
        assert (pair.heads_first, pair.heads_second) == (mine.sum(), theirs.sum())
        assert pair.both == (mine & theirs).sum()
        counts = (drawn[one] & drawn[other]).sum(axis=1)
        assert (pair.both_low, pair.both_high) == tuple(np.quantile(counts, [0.025, 0.975]))
        if pair.first == "none":
            assert np.isnan([pair.share, pair.share_low, pair.share_high]).all()
            continue
        shares = counts / drawn[one].sum(axis=1)
        assert (pair.share_low, pair.share_high) == tuple(np.quantile(shares, [0.025, 0.975]))
        assert pair.share == pair.both / pair.heads_first
        layers = np.ones(1)  # the overlap of a layer is hypergeometric, that of all their convolution
        for here, there in zip(mine.reshape(3, 8).sum(axis=1), theirs.reshape(3, 8).sum(axis=1), strict=True):
            layers = np.convolve(layers, reference.hypergeom.pmf(np.arange(9), 8, here, there))
        assert pair.expected == pytest.approx(layers @ np.arange(len(layers)))
        ends = [int(np.argmax(np.cumsum(layers) >= level)) for level in (0.025, 0.975)]
        assert [pair.expected_low, pair.expected_high] == ends
    apart = np.repeat(np.eye(2, dtype=bool), 8, axis=1)
    flicker = np.zeros((2, 5, 16), dtype=bool)
    flicker[:, :2, 0] = True  # no share in three of five draws
    pair = stats.role_pairs(("a", "b"), apart, flicker, Grid(2, 8), "with")[0]
    assert isnan(pair.share_low)
    assert (pair.expected, pair.both_high) == (0.0, 1.0)


def test_sets_are_counted_once_and_expected_as_labels_dealt_within_layers() -> None:
    names, rng = ("local", "block", "rare"), np.random.default_rng(2)
    share = np.array([0.6, 0.4, 0.1])[:, None, None] * rng.uniform(0.3, 1.6, size=(3, 4, 1))
    held = rng.random((3, 4, 7)) < share
    found = stats.role_sets(names, held.reshape(3, -1), Grid(4, 7))
    assert sum(row.heads for row in found) == held.any(axis=0).sum()
    assert [row.heads for row in found] == sorted((row.heads for row in found), reverse=True)
    dealings = [np.stack([rng.permuted(role, axis=1) for role in held]) for _ in range(3000)]
    for row in found:
        asked = np.array([name in row.roles.split(";") for name in names])[:, None, None]
        assert row.heads == (held == asked).all(axis=0).sum() > 0
        even = np.where(asked, held.mean(axis=2, keepdims=True), 1 - held.mean(axis=2, keepdims=True))
        assert row.expected == pytest.approx(7 * even.prod(axis=0).sum())
        counts = [(dealing == asked).all(axis=0).sum() for dealing in dealings]
        ends = np.quantile(counts, [0.025, 0.975], method="inverted_cdf")
        assert np.abs(ends - [row.expected_low, row.expected_high]).max() <= 1
    assert not stats.role_sets(names, np.zeros((3, 8), dtype=bool), Grid(2, 4))


# Depth, and several roles.


@pytest.mark.parametrize("layers", [3, 6, 7, 8, 12])
def test_reordered_layers_are_those_of_scipys_permutation_test(layers: int) -> None:
    thirds = {3: (1, 2), 6: (2, 4), 7: (2, 5), 8: (3, 5), 12: (4, 8)}[layers]
    stack = plain_stack(layers)
    if layers == 8:  # a hybrid of 12 blocks, the first four of which compute no attention
        stack, thirds = Stack(tuple(map(StackLayer, range(4, 12))), 12), (0, 4)
    depth = stack.positions - stack.positions.mean()

    def strength(values: np.ndarray, axis: int = -1) -> np.ndarray:
        return np.asarray(np.abs((np.moveaxis(values, axis, -1) * depth).sum(axis=-1)))

    rng = np.random.default_rng(layers)
    counts = rng.integers(0, 9, layers) + np.arange(layers) // 2
    held = (np.arange(16) < counts[:, None]).reshape(1, -1)
    drawn = rng.random((1, 50, held.size)) < 0.3
    drawn[0, :5] = False
    (found,) = stats.role_depths(["a"], held, drawn, Grid(layers, 16), seed=3, stack=stack)
    theirs = reference.permutation_test(
        (counts.astype(np.float64),), strength, permutation_type="pairings", n_resamples=9999,
        alternative="greater", vectorized=True, rng=np.random.default_rng(3),
    )  # fmt: skip
    assert found.reference == theirs.pvalue
    assert found.trend == pytest.approx(np.corrcoef(depth, counts)[0, 1])
    shares = [part.sum() / counts.sum() for part in np.split(counts, thirds)]
    assert (found.first, found.middle, found.last) == pytest.approx(tuple(shares))
    resampled = drawn[0, 5:].reshape(-1, layers, 16).sum(axis=2)
    trends = [np.corrcoef(depth, row)[0, 1] for row in resampled if np.ptp(row)]
    assert (found.trend_low, found.trend_high) == pytest.approx(tuple(np.quantile(trends, [0.025, 0.975])))
    last = resampled[:, thirds[1] :].sum(axis=1) / resampled.sum(axis=1)
    assert (found.last_low, found.last_high) == pytest.approx(tuple(np.quantile(last, [0.025, 0.975])))


def test_a_whole_is_not_counted_with_its_part_and_two_layers_have_no_middle() -> None:
    held = np.zeros((3, 6), dtype=bool)
    held[0, :3] = held[1, 0] = held[2, 1] = True  # heads of the first layer: part, whole and local, whole
    names = ("delimiter", "delimiter:cls", "local")
    rows = stats.several_roles(names, held, held[:, None].repeat(9, 1), Grid(2, 3), 0, plain_stack(2))
    assert [(row.scope, row.heads) for row in rows] == [("all", 6), ("layer 0", 3), ("layer 1", 3)]
    assert (rows[1].mean, rows[1].several) == pytest.approx((4 / 3, 1 / 3))
    assert (rows[2].mean, rows[2].several) == (0, 0)
    assert (rows[1].mean_low, rows[1].mean_high) == (rows[1].mean,) * 2


def test_the_reference_is_the_share_of_all_choices_of_as_many_layers() -> None:
    for layers in range(3, 10):
        several = np.random.default_rng(layers).integers(0, 5, layers)
        held = np.tile((np.arange(4) < several[:, None]).ravel(), (2, 1))
        row = stats.several_roles(("a", "b"), held, held[:, None], Grid(layers, 4), 0, plain_stack(layers))[
            -1
        ]
        middle = np.array([1 / 3 <= (2 * layer + 1) / (2 * layers) < 2 / 3 for layer in range(layers)])
        sums = [sum(chosen) for chosen in combinations(several, int(middle.sum()))]
        assert row.scope == "middle − others"
        assert row.reference == pytest.approx(np.mean(np.array(sums) >= several[middle].sum()))
        assert row.several == pytest.approx((several[middle].mean() - several[~middle].mean()) / 4)
        assert row.p == (1.0 if row.several <= 0 else 0.5)


@pytest.mark.usefixtures("unguarded")
def test_fresh_samples_differ_with_twice_the_variance_of_a_mean() -> None:
    scores = scored(0.1 + 0.1 * np.random.default_rng(0).normal(size=(1, 80, 400)))
    decision = Decision("t", correction="none", alpha=0.5)
    drawn = stats.fresh_roles(stats.evidence_columns(scores, ALONE, decision), Grid(1, 400), decision)
    assert drawn.shape == (1, 300, 400)
    kept = scores.values[0, :, 0]
    errors = kept.std(axis=0, ddof=1) / np.sqrt(80)
    expected = reference.norm.cdf((kept.mean(axis=0) - 0.1) / errors / np.sqrt(2))
    assert np.abs(drawn[0].mean(axis=0) - expected).mean() < 0.03  # alpha 0.5: a role where it is beyond θ


# Stability.


def _predicted(scores: Scores, rules: list[Rule], decision: Decision) -> np.ndarray:
    found = judge(scores, rules, decision)
    grid = Grid(scores.layers, scores.heads)
    share: np.ndarray = stats.stability(Columns(scores, rules), grid, decision, found)[0]
    return share


def _by_reweighting(values: np.ndarray, theta: float, cut: float, test: str) -> float:
    """P(role in a fresh sample) from a numerical infinitesimal jackknife of the distance to the cut."""
    n = len(values)
    root, quantile = np.sqrt(n), reference.t.isf(cut, n - 1)

    def distance(weight: np.ndarray) -> float:
        share = weight / weight.sum()
        mean = share @ values
        second, third = share @ (values - mean) ** 2, share @ (values - mean) ** 3
        sd = np.sqrt(second if test == "t-published" else second * n / (n - 1))
        skew, needed = third / second**1.5, quantile
        if test == "t-skew":
            inner = 1 + skew * (quantile - skew / (6 * root)) / root
            needed = 3 * root / skew * (np.cbrt(inner) - 1)
        return float(mean - theta - sd * needed / root)

    step, even = 1e-5, np.ones(n)
    slopes = [
        (distance(even + step * unit) - distance(even - step * unit)) / (2 * step) for unit in np.eye(n)
    ]
    error = np.sqrt(2 * np.sum(np.square(slopes)) * n / (n - 1))
    return float(reference.norm.cdf(distance(even) / error))


def test_stability_is_a_jackknife_of_the_distance_to_the_cut() -> None:
    values = skewed(np.random.default_rng(8), 150, 12)
    values += 0.1 - values.mean(axis=0) + values.std(axis=0, ddof=1) * np.linspace(-0.1, 0.5, 12)
    values[:40, 3] = np.nan
    for test in ("t", "t-skew", "t-published"):
        share = _predicted(scored(values[None]), [Rule("s0")], Decision(test, "none", alpha=0.01))
        for head, column in enumerate(values.T):
            wanted = _by_reweighting(column[~np.isnan(column)], 0.1, 0.01, test)
            assert share[head] == pytest.approx(wanted, abs=0.01), (test, head)
        assert share.min() < 0.2 < 0.8 < share.max()


@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize("correction", CORRECTIONS)
def test_a_head_has_the_role_where_its_p_reaches_its_cut(correction: str) -> None:
    scores, rules = made(3, units=25)
    values = scores.values.copy()
    values[2, :, 0, 0] = np.nan
    scores = replace(scores, values=values)
    roles = [rule.role for rule in rules]
    for family in FAMILIES:
        decision = Decision("t", correction, family)
        found = judge(scores, rules, decision)
        cuts = stats.reached_cuts(found, Grid(scores.layers, scores.heads), decision).reshape(found.p.shape)
        held = found.decision[roles] == 0
        np.testing.assert_array_equal(found.p[roles] <= cuts[roles], held)
        assert 0 < held.mean() < 1
        assert np.nanmax(cuts) <= decision.alpha


def test_the_joint_probability_is_scipys() -> None:
    rng = np.random.default_rng(1)
    sides = np.concatenate([rng.normal(scale=2, size=(40, 2)), [[0, 0], [0, 1], [-1, 0], [3, 3], [-2, 5]]])
    correlation = np.concatenate([rng.uniform(-0.99, 0.99, size=40), [0.3, -0.5, 0.9, 0.0, 0.7]])
    ours = stats.joint_probability(sides[:, 0], sides[:, 1], correlation)
    for pair, r, one in zip(sides, correlation, ours, strict=True):
        theirs = reference.multivariate_normal.cdf(pair, cov=[[1, r], [r, 1]])
        assert one == pytest.approx(theirs, abs=1e-7)
    far, near = np.array([np.inf, -np.inf, np.inf]), np.array([0.5, 0.5, np.inf])
    certain = [reference.norm.cdf(0.5), 0.0, 1.0]
    np.testing.assert_allclose(stats.joint_probability(far, near, np.zeros(3)), certain, atol=1e-12)
    side = np.linspace(-3, 3, 13)
    equal = stats.joint_probability(side, side, np.ones(13))  # equal columns count once
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
    assert stats.stability(Columns(scores, contrasts), Grid(2, 6), Decision(), found).shape == (0, 12)
