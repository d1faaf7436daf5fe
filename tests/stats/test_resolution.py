"""What cannot be carried out is refused in a sentence, before anything is computed."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from headroles.errors import BadInput, UnknownName
from headroles.records.example import Scores
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.decision import TESTS, check_decision
from headroles.stats.engine import judge
from headroles.stats.methods.names import METHODS
from headroles.stats.resolution import check_resolution

Run = tuple[Scores, list[Rule]]
TEN = [*(Rule(f"r{k}") for k in range(10)), Rule("r0:matched", role=False)]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"test": "t-skwe"}, "no test is called 't-skwe'; did you mean 't-skew'?"),
        ({"correction": "maxt"}, "no correction is called 'maxt'; did you mean 'maxT'?"),
        ({"family": "layers"}, "no family is called 'layers'; did you mean 'layer'?"),
        ({"interval": "BCa"}, "no interval is called 'BCa'; did you mean 'bca'?"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(given: dict[str, str], said: str) -> None:
    with pytest.raises(UnknownName) as error:
        check_decision(Decision(**given))  # type: ignore[arg-type]
    assert said in str(error.value)


def test_every_test_has_a_name_that_decisions_take() -> None:
    assert tuple(METHODS) == TESTS


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (Decision(alpha=0.0), "alpha must lie between 0 and 1"),
        (Decision(alpha=1.0), "alpha must lie between 0 and 1"),
        (Decision(resamples=98), "at least 99 and at most 1,000,000, but got 98"),
        (Decision(seed=-1), "at least 0, but got -1"),
        (Decision(resamples=1_000_001), "at most 1,000,000, but got 1000001"),
        (Decision(test="wilcoxon", correction="maxT"), "maxT compares studentised means"),
        (Decision(test="t-published", correction="maxT"), "take one of t-skew, t, bootstrap-t, sign-flip"),
    ],
)
def test_numbers_out_of_range_and_tests_that_do_not_fit_are_refused(decision: Decision, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        check_decision(decision)


@pytest.mark.parametrize(
    ("test", "correction", "family", "alpha", "required"),
    [
        ("sign-flip", "holm", "sieve", 0.05, 1439),  # 72 tests: 1/1440 = 0.05/72
        ("bootstrap-t", "bonferroni", "run", 0.05, 14399),
        ("bootstrap-t", "holm", "layer", 0.05, 239),
        ("sign-flip", "sidak", "sieve", 0.05, 1404),
        ("sign-flip", "fdr_bh", "sieve", 0.001, 999),
        ("sign-flip", "fdr_by", "layer", 0.01, 310),
        ("t-skew", "maxT", "run", 0.001, 999),
    ],
)
def test_too_few_resamples_are_refused_with_the_number_required(
    test: str, correction: str, family: str, alpha: float, required: int
) -> None:
    decision = Decision(test, correction, family, alpha, resamples=required - 1)
    with pytest.raises(BadInput, match=f"give at least {required} resamples"):
        check_resolution(decision, TEN, 6, 12)
    check_resolution(replace(decision, resamples=required), TEN, 6, 12)


def test_tests_in_closed_form_need_no_resamples() -> None:
    for test in ("t-skew", "t", "wilcoxon", "sign"):
        check_resolution(Decision(test, "holm", "run", 1e-6, resamples=99), TEN, 32, 32)


def test_the_number_required_is_enough_for_a_label(scores_of: Callable[..., Run]) -> None:
    scores, rules = scores_of(0, units=60)
    values = scores.values.copy()
    values[2, :, 0, 0] += 2
    clear = replace(scores, values=values)
    for test in ("sign-flip", "bootstrap-t"):
        decision = Decision(test, "bonferroni", alpha=0.05, resamples=239)
        assert judge(clear, rules, decision).decision[2, 0, 0] == 0
        with pytest.raises(BadInput, match="239"):
            judge(clear, rules, replace(decision, resamples=238))


def test_rules_that_are_not_those_of_the_scores_are_refused(scores_of: Callable[..., Run]) -> None:
    scores, rules = scores_of(0)
    with pytest.raises(BadInput, match="got 3 rules for 4 sieves"):
        judge(scores, rules[:3], Decision())
    orphan = [replace(rules[0], contrast="s9"), *rules[1:]]
    with pytest.raises(BadInput, match="only with its contrast 's9', but no rule has that name"):
        judge(scores, orphan, Decision())


def test_one_example_is_untestable_under_every_test(scores_of: Callable[..., Run]) -> None:
    scores, rules = scores_of(0, units=1)
    for test in ("t-skew", "t", "bootstrap-t", "sign-flip", "wilcoxon", "sign"):
        found = judge(scores, rules, Decision(test))
        assert (found.decision[[0, 2, 3]] == 3).all()
        assert np.isnan(found.q).all()


@pytest.mark.parametrize("test", ["t-skew", "t", "bootstrap-t", "sign-flip", "wilcoxon", "sign"])
@pytest.mark.parametrize("correction", ["fdr_bh", "maxT", "holm-sidak"])
def test_q_is_never_nan_where_a_test_was_made(
    scores_of: Callable[..., Run], test: str, correction: str
) -> None:
    if correction == "maxT" and test in ("wilcoxon", "sign"):
        return
    scores, rules = scores_of(1, units=40)
    values = scores.values.copy()
    values[0, :, 0, 0] = np.nan  # all NaN
    values[1, :, 0, 1] = 0.0  # a constant contrast
    values[2, :, 0, 0] = 0.5  # constant
    values[2, 5:, 0, 1] = np.nan  # few units
    values[3] = np.nan  # a sieve that says nothing
    found = judge(replace(scores, values=values), rules, Decision(test, correction, resamples=999))
    for p, q in ((found.p, found.q), (found.p_not, found.q_not)):
        np.testing.assert_array_equal(np.isnan(p), np.isnan(q))
        known = ~np.isnan(q)
        assert ((q[known] >= 0) & (q[known] <= 1)).all()
    assert (found.decision[3] == 3).all()
    assert found.decision[0, 0, 0] == 3
