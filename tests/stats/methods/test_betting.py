"""The test by betting holds at every look, adds up over units, and needs bounds stated before any data."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles.errors import BadInput
from headroles.records.example import Scores
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.decision import ANYTIME, check_bounds, check_decision
from headroles.stats.engine import judge
from headroles.stats.families import joint_explained_p
from headroles.stats.methods.betting import BETS, betting, log_capital
from headroles.stats.moments import describe

LOW, HIGH, THETA = -0.5, 1.0, 0.1
quick = settings(max_examples=30, deadline=None)
seeds = st.integers(0, 2**32 - 1)


def _scores(seed: int, units: int, columns: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return LOW + (HIGH - LOW) * rng.beta(0.5, 0.5 + 3 * rng.random(columns), size=(units, columns))


@quick
@given(seeds, st.integers(2, 300), st.floats(-0.4, 0.9))
def test_the_capital_is_the_mean_of_products_over_the_bets(seed: int, units: int, theta: float) -> None:
    values = _scores(seed, units)
    values[0, 0] = np.nan
    for column, capital in enumerate(log_capital(values, theta, LOW)):
        known = values[~np.isnan(values[:, column]), column].astype(np.longdouble)
        products = [np.prod(1 + bet * (known - theta) / (theta - LOW)) for bet in BETS]
        assert float(capital) == pytest.approx(float(np.log(np.mean(products))), rel=1e-9, abs=1e-9)


@quick
@given(seeds, st.integers(2, 100))
def test_the_order_of_the_units_changes_nothing_but_rounding(seed: int, units: int) -> None:
    values = _scores(seed, units)
    ours, turned = (betting(rows, describe(rows), THETA, LOW, HIGH) for rows in (values, values[::-1]))
    for name in ("statistic", "p", "p_not", "low", "high"):
        np.testing.assert_allclose(getattr(ours, name), getattr(turned, name), rtol=1e-9, atol=1e-9)


@quick
@given(seeds, st.integers(2, 100), st.floats(-0.45, 0.95))
def test_the_interval_holds_the_means_that_neither_side_refutes_at_half_the_level(
    seed: int, units: int, theta: float
) -> None:
    values = _scores(seed, units)
    outcome = betting(values, describe(values), theta, LOW, HIGH)
    apart = (np.abs(outcome.low - theta) > 1e-6) & (np.abs(outcome.high - theta) > 1e-6)
    np.testing.assert_array_equal((outcome.p <= 0.025)[apart], (theta < outcome.low)[apart])
    np.testing.assert_array_equal((outcome.p_not <= 0.025)[apart], (theta > outcome.high)[apart])
    assert ((outcome.low <= describe(values).mean) & (describe(values).mean <= outcome.high)).all()


@pytest.mark.parametrize("spread", [0.5, 5.0, 50.0], ids=["skewed", "middling", "narrow"])
def test_looking_after_every_unit_errs_in_at_most_a_twentieth_of_samples(spread: float) -> None:
    share = (THETA - LOW) / (HIGH - LOW)
    rng = np.random.default_rng(0)
    values = LOW + (HIGH - LOW) * rng.beta(share * spread, (1 - share) * spread, size=(300, 1500))
    gain = (values - THETA) / (THETA - LOW)
    loss = (THETA - values) / (HIGH - THETA)
    for side in (gain, loss):
        capital = np.mean([np.cumprod(1 + bet * side, axis=0) for bet in BETS], axis=0)
        assert (capital.max(axis=0) >= 20).mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1500)


def test_constant_scores_are_judged_like_others() -> None:
    values = np.full((60, 2), [0.3, 0.0])
    outcome = betting(values, describe(values), THETA, LOW, HIGH)
    assert outcome.p[0] < 1e-4
    assert outcome.p_not[1] < 0.02
    assert outcome.p[1] == outcome.p_not[0] == 1.0


def test_scores_beyond_the_stated_bounds_are_refused() -> None:
    values = np.array([[0.2], [-0.6]])
    with pytest.raises(BadInput, match="between their stated bounds"):
        betting(values, describe(values), THETA, LOW, HIGH)


def test_without_stated_bounds_there_is_no_p() -> None:
    values = _scores(0, 20)
    assert np.isnan(betting(values, describe(values), THETA, float("nan"), HIGH).p).all()


def _run(values: np.ndarray) -> Scores:
    columns, units = values.shape[:2]
    return Scores(
        sieves=("a", "a:matched")[:columns],
        examples=tuple(map(str, range(units))),
        units=tuple(map(str, range(units))),
        tokens=np.full(units, 9),
        cells=np.full((columns, units), 4.0),
        values=values[:, :, None, :].astype(np.float32),
        null=np.zeros((columns, units)),
    )


RULES = (
    Rule("a", margin=THETA, contrast="a:matched", stated_low=LOW, stated_high=HIGH),
    Rule("a:matched", margin=0.02, role=False, stated_low=LOW, stated_high=HIGH),
)


@quick
@given(seeds, st.integers(55, 150))
def test_benjamini_hochberg_over_p_is_e_bh(seed: int, units: int) -> None:
    values = np.stack([_scores(seed + shift, units, 8) for shift in (0, 1)])
    findings = judge(_run(values), RULES, Decision("betting"))
    kept = _run(values).values[:, :, 0].astype(np.float64)
    both = [log_capital(kept[k], rule.margin, LOW) for k, rule in enumerate(RULES)]
    capital = np.exp(np.minimum(*both))
    ordered = np.sort(capital)[::-1]
    ranks = np.arange(1, 9)
    most = max(ranks[ranks * ordered / 8 >= 1 / 0.05], default=0)
    wanted = np.argsort(-capital, kind="stable")[:most]
    assert set(np.flatnonzero(findings.decision[0, 0] == 0)) == set(wanted)


def test_intervals_may_be_left_out_where_only_decisions_are_asked() -> None:
    scores = _run(np.stack([_scores(0, 80, 6), _scores(1, 80, 6)]))
    whole, quickly = (judge(scores, RULES, Decision("betting"), intervals=ask) for ask in (True, False))
    np.testing.assert_array_equal(whole.decision, quickly.decision)
    np.testing.assert_array_equal(whole.p, quickly.p)
    assert np.isnan(quickly.low).all()
    assert not np.isnan(whole.low).any()


def test_two_contrasts_explain_by_the_mean_of_their_capitals() -> None:
    rules = [
        Rule("block", contrast="block:swap", weaker="block:matched"),
        Rule("block:matched", role=False),
        Rule("block:swap", role=False),
    ]
    p, p_not = np.array([[0.001], [1.0], [1.0]]), np.array([[1.0], [0.01], [1.0]])
    enough = np.ones_like(p, dtype=bool)
    assert joint_explained_p(p, p_not, enough, rules, bets=True)[0, 0] == pytest.approx(0.02)
    p_not[2] = 0.02
    assert joint_explained_p(p, p_not, enough, rules, bets=True)[0, 0] == pytest.approx(1 / 75)
    assert joint_explained_p(p, p_not, enough, rules)[0, 0] == pytest.approx(0.02)


@pytest.mark.parametrize("correction", ["maxT", "fdr_tsbh", "sidak"])
def test_corrections_made_for_one_look_are_refused(correction: str) -> None:
    with pytest.raises(BadInput, match="betting"):
        check_decision(Decision("betting", correction))


def test_corrections_that_need_only_p_are_taken_and_other_intervals_are_not() -> None:
    for correction in ANYTIME:
        check_decision(Decision("betting", correction))
    with pytest.raises(BadInput, match="interval"):
        check_decision(Decision("betting", interval="bca"))


def test_columns_without_stated_bounds_pooled_ones_and_sums_are_refused() -> None:
    decision = Decision("betting")
    check_bounds(decision, RULES)
    for rule in (Rule("odd"), replace(RULES[0], pooled=True), replace(RULES[0], stated_high=float("nan"))):
        with pytest.raises(BadInput, match=rule.sieve):
            check_bounds(decision, [RULES[1], rule])
    with pytest.raises(BadInput, match="sums"):
        check_bounds(decision, RULES, summed=True)
    check_bounds(Decision("t"), [Rule("odd")], summed=True)
