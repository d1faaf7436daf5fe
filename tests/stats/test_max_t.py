"""Step-down max-t is the loop of Romano and Wolf written out, and keeps the family-wise error."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroles.records.example import Scores
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.draws import sign_flips
from headroles.stats.engine import judge
from headroles.stats.max_t import collapse_rate

pytestmark = pytest.mark.usefixtures("module_unguarded")

Run = tuple[Scores, list[Rule]]
MAXT = Decision(correction="maxT", resamples=499, seed=3)
CONTRAST_OF = {0: 1}
CLAIMS = ((1, 1), (-1, 0))
"""Signs of the main mean and of the contrast in what a direction claims: role, not."""


def _t(values: np.ndarray, theta: float) -> float:
    """Student's t; its limit where the values are all equal."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (values.mean() - theta) / (values.std(ddof=1) / len(values) ** 0.5)
    return float(np.nan_to_num(found, nan=0.0, posinf=np.inf, neginf=-np.inf))


def _resampled(column: np.ndarray, margin: float, test: str) -> Iterator[float]:
    """Null statistics of one head, draw by draw."""
    n = len(column)
    if test == "sign-flip":
        for signs in np.concatenate(list(sign_flips(n, MAXT.resamples, MAXT.seed))):
            yield _t(signs * (column - margin), 0.0)
        return
    for row in np.random.default_rng(MAXT.seed).integers(0, n, (MAXT.resamples, n)):
        yield _t(column[row], float(column.mean()))


def _written_out(run: Run, places: list[tuple[int, int]], test: str, side: int) -> list[float]:
    """Adjusted p of some sieves' heads as one family, step by step."""
    scores, rules = run
    values = scores.values.astype(np.float64).reshape(len(rules), len(scores.examples), -1)
    own, null = [], []
    for k, head in places:
        claims = [(CLAIMS[side][0], k)]
        if k in CONTRAST_OF and CLAIMS[side][1]:
            claims.append((CLAIMS[side][1], CONTRAST_OF[k]))
        own.append(min(sign * _t(values[part, :, head], rules[part].margin) for sign, part in claims))
        drawn = [
            sign * np.array(list(_resampled(values[part, :, head], rules[part].margin, test)))
            for sign, part in claims
        ]
        null.append(np.max(drawn, axis=0))
    order = np.argsort(-np.array(own), kind="stable")
    adjusted, before = np.empty(len(own)), 0.0
    for step, place in enumerate(order):
        largest = np.array(null)[order[step:]].max(axis=0)
        reached = int((largest >= own[place] - 1e-9 * abs(own[place])).sum())
        before = max(before, (1 + reached) / (1 + len(largest)))
        adjusted[place] = before
    return adjusted.tolist()


@pytest.mark.parametrize("test", ["t-skew", "sign-flip"])
@pytest.mark.parametrize("family", ["sieve", "layer", "run"])
def test_adjusted_values_are_those_of_the_procedure_written_out(
    scores_of: Callable[..., Run], test: str, family: str
) -> None:
    run = scores_of(1, units=40, layers=2, heads=3)
    decision = replace(MAXT, test=test, family=family)
    found = judge(*run, decision)
    heads = {"sieve": [range(6)], "layer": [range(3), range(3, 6)], "run": [range(6)]}[family]
    for part in heads:
        sieves = [[0], [2], [3]] if family != "run" else [[0, 2, 3]]
        for group in sieves:
            places = [(k, head) for k in group for head in part]
            for side, (p, q) in enumerate(((found.p, found.q), (found.p_not, found.q_not))):
                wanted = _written_out(run, places, test, side)
                for (k, head), value in zip(places, wanted, strict=True):
                    at = (k, head // 3, head % 3)
                    assert q[at] == pytest.approx(max(value, p[at]), rel=1e-9)


def _one_sieve(values: np.ndarray) -> Scores:
    """Scores of (runs, units, heads): every run a sieve, and so a family of its own."""
    runs, units, heads = values.shape
    keys = tuple(map(str, range(units)))
    table = values.reshape(runs, units, 1, heads).astype(np.float32)
    names = tuple(f"r{k}" for k in range(runs))
    return Scores(
        names, keys, keys, np.full(units, 9), np.ones((runs, units)), table, np.zeros((runs, units))
    )


@pytest.mark.parametrize("test", ["t", "t-skew"])
def test_a_head_with_one_outlier_hides_no_other_head(test: str) -> None:
    # Without its outlier the head is constant, and its statistic in that resample is infinite.
    rng = np.random.default_rng(11)
    values = rng.normal(0.2, 0.1, (1, 120, 30))
    values[0, :, 0], values[0, 0, 0] = 0.9 + 1e-4 * rng.normal(size=120), 0.3
    scores, rules = _one_sieve(values), [Rule("r0", low=-1.0, high=1.0)]
    joint, holm = (
        judge(scores, rules, Decision(test=test, correction=name, resamples=999)) for name in ("maxT", "holm")
    )
    assert (holm.decision == 0).sum() == 30
    assert (joint.decision == 0).sum() == 30
    assert joint.q.ravel()[0] == pytest.approx(30 * joint.p.ravel()[0])


def test_a_contrast_with_one_outlier_hides_no_other_head_and_no_not() -> None:
    rng = np.random.default_rng(12)
    values = rng.normal(0.2, 0.1, (2, 120, 12))
    values[0, :, 1] -= 0.4
    values[1, :, :2], values[1, 0, :2] = 0.9 + 1e-4 * rng.normal(size=(120, 2)), 0.3
    rules = [Rule("r0", contrast="r1"), Rule("r1", role=False)]
    found = judge(_one_sieve(values), rules, replace(MAXT, resamples=999))
    assert found.decision[0, 0].tolist() == [0, 1] + [0] * 10


def test_the_collapse_rate_is_the_chance_to_draw_none_of_the_few_units_that_hold_the_spread() -> None:
    rng = np.random.default_rng(13)
    values = np.full((80, 5), 0.5) + 1e-3 * rng.normal(size=(80, 5))
    for head, few in enumerate((1, 2, 4)):
        values[:few, head] = 0.9
    values[:, 3], values[:, 4] = rng.normal(size=80), 0.5
    rate = collapse_rate(values)
    np.testing.assert_allclose(rate[:3], [(1 - few / 80) ** 80 for few in (1, 2, 4)])
    assert rate[3] < 1e-9
    assert rate[4] == 1
    drawn = values[rng.integers(0, 80, (4000, 80))]
    shrunk = (drawn.std(axis=1) <= values.std(axis=0) / 4)[:, :3].mean(axis=0)
    np.testing.assert_allclose(shrunk, rate[:3], atol=0.03)
    holed = values.copy()
    holed[40:, 0] = np.nan
    assert collapse_rate(holed)[0] == pytest.approx(rate[0])


@given(
    seed=st.integers(0, 10_000),
    units=st.integers(30, 60),
    heads=st.integers(1, 12),
    hanging=st.integers(0, 4),
)
def test_adjusted_p_are_never_below_their_own_and_fall_with_the_statistic(
    seed: int, units: int, heads: int, hanging: int
) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(0.1, 0.1, (1, units, heads)) + rng.normal(0, 0.1, heads)
    few = min(hanging, heads)
    values[0, 1:, :few] = values[0, 1, :few]
    found = judge(_one_sieve(values), [Rule("r0")], replace(MAXT, test="t", resamples=99))
    for sign, p, q in ((1, found.p, found.q), (-1, found.p_not, found.q_not)):
        own, adjusted, statistic = (array.ravel() for array in (p, q, sign * found.statistic))
        assert (adjusted >= own).all()
        assert (adjusted <= 1).all()
        for part in (slice(0, few), slice(few, heads)):
            order = np.argsort(-statistic[part], kind="stable")
            assert (np.diff(adjusted[part][order]) >= -1e-12).all()


def test_units_without_a_score_are_missing_from_their_own_heads_only(scores_of: Callable[..., Run]) -> None:
    scores, rules = scores_of(2, units=50)
    values = scores.values.copy()
    values[2, :10, 0, 0] = np.nan
    holed = judge(replace(scores, values=values), rules, MAXT)
    alone = values[2:3, 10:, :1, :1]
    keys = scores.examples[10:]
    only = Scores(
        ("s2",), keys, keys, scores.tokens[10:], scores.cells[2:3, 10:], alone, scores.null[2:3, 10:]
    )
    assert holed.count[2, 0, 0] == 40
    assert holed.statistic[2, 0, 0] == judge(only, rules[2:3], MAXT).statistic.item()
    assert not np.isnan(holed.q[[0, 2, 3]]).any()


def test_heads_without_spread_keep_their_exact_p_times_the_tests_and_others_pay_their_share(
    scores_of: Callable[..., Run],
) -> None:
    scores, rules = scores_of(3, units=50, layers=1, heads=4)
    values = scores.values.copy()
    values[2, :, 0, 0] = 0.9
    found, plain = (
        judge(replace(scores, values=values), rules, MAXT),
        judge(replace(scores, values=values[:, :, :, 1:]), rules, MAXT),
    )
    exact = (1.1 / 1.9) ** 50
    assert found.q[2, 0, 0] == pytest.approx(4 * exact, rel=1e-5)
    wanted = np.minimum(np.maximum(plain.q[2, 0] * 4 / 3, plain.p[2, 0]), 1)
    np.testing.assert_allclose(found.q[2, 0, 1:], wanted, rtol=1e-9)


def test_untestable_heads_are_in_no_family(scores_of: Callable[..., Run]) -> None:
    scores, rules = scores_of(4, units=30, layers=1, heads=4)
    values = scores.values.copy()
    values[2, :, 0, 0] = np.nan
    found = judge(replace(scores, values=values), rules, MAXT)
    plain = judge(replace(scores, values=values[:, :, :, 1:]), rules, MAXT)
    assert np.isnan(found.q[2, 0, 0])
    np.testing.assert_array_equal(found.q[2, 0, 1:], plain.q[2, 0])
    empty = judge(replace(scores, values=np.full_like(values, np.nan)), rules, MAXT)
    assert np.isnan(empty.q).all()
    assert (empty.decision[[0, 2, 3]] == 3).all()


def test_equal_heads_cost_nothing_under_max_t_where_holm_pays_for_each() -> None:
    rng = np.random.default_rng(5)
    column = rng.normal(0.16, 0.1, size=(1, 60, 1, 1)).repeat(30, axis=3).astype(np.float32)
    keys = tuple(map(str, range(60)))
    scores = Scores(("s",), keys, keys, np.full(60, 9), np.ones((1, 60)), column, np.zeros((1, 60)))
    joint = judge(scores, [Rule("s")], replace(MAXT, resamples=1999))
    holm = judge(scores, [Rule("s")], Decision(correction="holm"))
    assert joint.q.max() < 3 * joint.p.max() + 2e-3
    assert holm.q.min() == pytest.approx(30 * holm.p.min(), rel=1e-6)


def test_the_family_wise_error_is_kept_where_some_heads_hang_on_few_units() -> None:
    # 400 runs of 12 heads at their margins, four of which have some eight rare scores of either sign.
    rng = np.random.default_rng(14)
    runs, units, heads = 400, 60, 12
    wrong = np.zeros(2)
    for _ in range(4):
        values = 0.1 + 0.1 * rng.normal(size=(100, units, heads))
        rare = rng.random((100, units, 4)) < 8 / units
        values[..., :4] = (
            0.1 + 1e-3 * rng.normal(size=rare.shape) + np.array([0.5, -0.5, 0.5, -0.5]) * (rare - 8 / units)
        )
        rules = [Rule(f"r{k}") for k in range(100)]
        found = judge(_one_sieve(values), rules, replace(MAXT, resamples=299))
        wrong += [(found.decision == code).any(axis=(1, 2)).sum() for code in (0, 1)]
    assert (wrong / runs).max() <= 0.075
    assert (wrong / runs).min() > 0.005


@pytest.mark.parametrize(("shape", "most"), [("normal", 0.075), ("gamma", 0.09)])
def test_the_family_wise_error_is_kept_with_dependent_heads_at_their_margins(shape: str, most: float) -> None:
    # 400 runs of 30 heads, correlation 0.5, n = 60. Breaks when the resamples are not centred.
    rng = np.random.default_rng(6)
    wrong = np.zeros(2)
    runs, units, heads = 400, 60, 30
    for _ in range(4):
        common, own = rng.normal(size=(100, units, 1, 1)), rng.normal(size=(100, units, 1, heads))
        values = 0.5**0.5 * (common + own)
        if shape == "gamma":
            values = np.exp(0.4 * values) - np.exp(0.08)
        rules = [Rule(f"r{k}") for k in range(100)]
        found = judge(_one_sieve(0.1 + 0.1 * values[:, :, 0]), rules, MAXT)
        wrong += [(found.decision == code).any(axis=(1, 2)).sum() for code in (0, 1)]
    assert (wrong / runs).max() <= most
    assert (wrong / runs).min() > 0.01
