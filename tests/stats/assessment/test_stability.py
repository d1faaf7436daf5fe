"""Stability predicts fresh samples: by simulation, against scipy, and on real rows."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats as reference

import headroles
from headroles.records.example import Scores
from headroles.records.findings import Findings
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.assessment.stability import joint_probability, reached_cuts, stability
from headroles.stats.columns import Columns
from headroles.stats.decision import CORRECTIONS, FAMILIES
from headroles.stats.engine import judge
from headroles.stats.relabel import Grid

pytestmark = pytest.mark.usefixtures("module_unguarded")

Run = tuple[Scores, list[Rule]]
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
PAIR = [Rule("s", contrast="s:matched"), Rule("s:matched", margin=0.02, role=False)]
ALONE = [Rule("s")]
BINS = (0.1, 0.5, 0.9)


def _scores(values: np.ndarray, rules: list[Rule]) -> Scores:
    keys = tuple(map(str, range(values.shape[1])))
    table = (len(rules), len(keys))
    names = tuple(rule.sieve for rule in rules)
    return Scores(
        names, keys, keys, np.full(len(keys), 9), np.ones(table), values.astype(np.float32), np.zeros(table)
    )


def _predicted(scores: Scores, rules: list[Rule], decision: Decision) -> np.ndarray:
    found = judge(scores, rules, decision)
    share: np.ndarray = stability(Columns(scores, rules), Grid(scores.layers, scores.heads), decision, found)[
        0
    ]
    return share


def _gaps(share: np.ndarray, role: np.ndarray) -> list[tuple[float, float, int]]:
    """Return mean prediction, observed share and number of heads of each bin."""
    place = np.digitize(share, BINS)
    return [
        (float(share[place == k].mean()), float(role[place == k].mean()), int((place == k).sum()))
        for k in range(len(BINS) + 1)
    ]


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.asarray(rng.normal(size=shape))


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.asarray((rng.gamma(2.0, size=shape) - 2.0) / np.sqrt(2.0))


def heavy(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.asarray(rng.laplace(size=shape) / np.sqrt(2.0))


@pytest.mark.parametrize("units", [40, 100])
@pytest.mark.parametrize(
    ("test", "correction", "draw"),
    [
        ("t", "none", normal), ("t", "holm", heavy), ("t-published", "sidak", normal),
        ("t-skew", "fdr_bh", skewed), ("t-skew", "fdr_by", heavy), ("t-skew", "fdr_tsbh", normal),
        ("bootstrap-t", "holm-sidak", skewed), ("sign-flip", "bonferroni", normal),
        ("sign", "fdr_bh", normal), ("wilcoxon", "fdr_bh", normal),
    ],
)  # fmt: skip
def test_so_many_heads_have_the_role_in_a_fresh_sample_as_predicted(
    test: str, correction: str, draw: Draw, units: int
) -> None:
    rng = np.random.default_rng(units)
    layers, heads = 120, 25
    effect = rng.uniform(-4, 12, size=(layers, heads)) / np.sqrt(units)
    decision = Decision(test, correction, "layer", resamples=999)

    def sample() -> Scores:
        return _scores((0.1 + effect + draw(rng, (units, layers, heads)))[None], ALONE)

    share = _predicted(sample(), ALONE, decision)
    role = judge(sample(), ALONE, decision).decision[0].ravel() == 0
    for predicted, observed, many in _gaps(share, role):
        assert many > 100
        error = np.sqrt(0.25 / many) if 0.1 < predicted < 0.9 else 0.01
        assert observed == pytest.approx(predicted, abs=3.5 * error)
    assert share.mean() == pytest.approx(role.mean(), abs=0.02)


@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_a_contrast_counts_with_its_correlation(correlation: float) -> None:
    rng, units, layers, heads = np.random.default_rng(3), 60, 120, 25
    effects = rng.uniform(-3, 9, size=(2, 1, layers, heads)) / np.sqrt(units)
    theta = np.array([0.1, 0.02])[:, None, None, None]
    decision = Decision("t", "fdr_bh", "layer")

    def sample() -> Scores:
        shared, own = rng.normal(size=(units, layers, heads)), rng.normal(size=(2, units, layers, heads))
        mixed = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
        return _scores(theta + effects + mixed, PAIR)

    share = _predicted(sample(), PAIR, decision)
    role = judge(sample(), PAIR, decision).decision[0].ravel() == 0
    for predicted, observed, many in _gaps(share, role)[1:]:
        assert many > 100
        assert observed == pytest.approx(predicted, abs=3.5 * np.sqrt(0.25 / many))


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_head_has_the_role_where_its_p_reaches_its_cut(
    scores_of: Callable[..., Run], correction: str, family: str
) -> None:
    scores, rules = scores_of(3, units=25)
    decision = Decision("t", correction, family)
    found = judge(scores, rules, decision)
    cuts = reached_cuts(found, Grid(scores.layers, scores.heads), decision).reshape(found.p.shape)
    roles = [rule.role for rule in rules]
    held = found.decision[roles] == 0
    np.testing.assert_array_equal(found.p[roles] <= cuts[roles], held)
    assert 0 < held.mean() < 1
    assert np.nanmax(cuts) <= decision.alpha


def test_the_joint_probability_is_scipys() -> None:
    rng = np.random.default_rng(1)
    sides = np.concatenate([rng.normal(scale=2, size=(200, 2)), [[0, 0], [0, 1], [-1, 0], [3, 3], [-2, 5]]])
    correlation = np.concatenate([rng.uniform(-0.99, 0.99, size=200), [0.3, -0.5, 0.9, 0.0, 0.7]])
    ours = joint_probability(sides[:, 0], sides[:, 1], correlation)
    for (h, k), r, one in zip(sides, correlation, ours, strict=True):
        theirs = reference.multivariate_normal.cdf([h, k], cov=[[1, r], [r, 1]])
        assert one == pytest.approx(theirs, abs=1e-7)
    far, near = np.array([np.inf, -np.inf, np.inf]), np.array([0.5, 0.5, np.inf])
    certain = joint_probability(far, near, np.zeros(3))
    np.testing.assert_allclose(certain, [reference.norm.cdf(0.5), 0.0, 1.0], atol=1e-12)


def test_equal_columns_count_once() -> None:
    side = np.linspace(-3, 3, 13)
    np.testing.assert_allclose(
        joint_probability(side, side, np.ones(13)), reference.norm.cdf(side), atol=1e-4
    )


def test_a_head_at_its_cut_has_an_even_chance() -> None:
    rng, units = np.random.default_rng(2), 80
    values = rng.normal(size=(units, 1, 400))
    values = (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)
    at_cut = reference.t.isf(0.05, units - 1) / np.sqrt(units)
    share = _predicted(_scores((0.1 + at_cut + values)[None], ALONE), ALONE, Decision("t", "none"))
    np.testing.assert_allclose(share, 0.5, atol=1e-3)


def test_heads_without_spread_keep_their_label() -> None:
    values = np.random.default_rng(4).normal(0.5, 0.1, size=(60, 1, 3))
    values[:, 0, 0], values[:, 0, 1] = 1.0, 0.0
    rules = [Rule("s", low=-1.0, high=1.0)]
    share = _predicted(_scores(values[None], rules), rules, Decision())
    assert share.tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("test", ["t-skew", "wilcoxon"])
def test_hardly_any_units_give_no_stability(test: str) -> None:
    values = np.random.default_rng(5).normal(0.5, 0.1, size=(9, 1, 3))
    values[3:, 0, 1], values[4:, 0, 2] = np.nan, np.nan
    share = _predicted(_scores(values[None], ALONE), ALONE, Decision(test))
    assert np.isnan(share).tolist() == [False, True, False]


def test_runs_without_roles_have_no_rows(scores_of: Callable[..., Run]) -> None:
    scores, rules = scores_of(6)
    contrasts = [Rule(rule.sieve, role=False) for rule in rules]
    found: Findings = judge(scores, contrasts, Decision())
    shape = stability(Columns(scores, contrasts), Grid(2, 6), Decision(), found).shape
    assert shape == (0, 12)


@pytest.mark.slow
def test_on_real_rows_labels_are_found_again_as_often_as_predicted(shared: Path) -> None:
    file = shared / "data" / "glue" / "QQP" / "dev.tsv"
    run = headroles.label(
        data=file,
        text_a="question1",
        text_b="question2",
        sieve=["local", "delimiter", "block"],
        first=900,
        maps=0,
    )
    scores, rules, decision = run.scores, list(run.findings.rules), Decision()
    roles = [rule.role for rule in rules]
    rng, shares, again = np.random.default_rng(6), [], []
    for _ in range(24):
        order = rng.permutation(len(scores.examples))
        first, second = (_part(scores, order[start : start + 100]) for start in (0, 100))
        found = judge(first, rules, decision)
        shares.append(
            stability(Columns(first, rules), Grid(scores.layers, scores.heads), decision, found).ravel()
        )
        again.append((judge(second, rules, decision).decision[roles] == 0).ravel())
    share, role = np.stack(shares), np.stack(again)
    for low, high in ((0.1, 0.5), (0.5, 0.9)):
        inside = (share >= low) & (share < high)
        gap = np.where(inside, role - share, 0.0).sum(axis=1)  # of each pair of samples, whose heads depend
        assert inside.sum() > 60
        assert abs(gap.sum()) < 3 * np.sqrt((gap**2).sum()) + 0.02 * inside.sum()
    sure = share >= 0.99
    assert sure.sum() > 1000
    assert role[sure].mean() > 0.99
    assert role[share < 0.001].mean() < 0.005


def _part(scores: Scores, rows: np.ndarray) -> Scores:
    keys = tuple(scores.examples[row] for row in rows)
    units = tuple(scores.units[row] for row in rows)
    return Scores(
        scores.sieves, keys, units, scores.tokens[rows], scores.cells[:, rows], scores.values[:, rows],
        scores.null[:, rows],
    )  # fmt: skip
