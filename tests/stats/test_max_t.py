"""Step-down max-t is the loop of Romano and Wolf written out, and keeps the family-wise error."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from headroles.records.example import Decision, Rule, Scores
from headroles.stats.draws import sign_flips
from headroles.stats.engine import judge

Run = tuple[Scores, list[Rule]]
MAXT = Decision(correction="maxT", resamples=499, seed=3)


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
    contrast = {0: 1}
    own, null = [], []
    for k, head in places:
        parts = [k] + ([contrast[k]] if k in contrast and not side else [])
        sign = -1 if side else 1
        each = [sign * _t(values[part, :, head], rules[part].margin) for part in parts]
        own.append(min(each))
        drawn = np.array(
            [list(_resampled(values[part, :, head], rules[part].margin, test)) for part in parts]
        )
        null.append((sign * drawn).max(axis=0))
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
        keys = tuple(map(str, range(units)))
        scores = Scores(
            tuple(rule.sieve for rule in rules), keys, keys, np.full(units, 9), np.ones((100, units)),
            (0.1 + 0.1 * values).astype(np.float32), np.zeros((100, units)),
        )  # fmt: skip
        found = judge(scores, rules, MAXT)
        wrong += [(found.decision == code).any(axis=(1, 2)).sum() for code in (0, 1)]
    assert (wrong / runs).max() <= most
    assert (wrong / runs).min() > 0.01
