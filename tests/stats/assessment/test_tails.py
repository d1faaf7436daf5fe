"""Heavy tails are told where they could change a decision."""

from collections.abc import Callable

import numpy as np
from scipy import stats as reference

from headroles.records.example import Scores
from headroles.records.moments import moments_of
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.assessment.remarks import kurtosis, tail_remarks
from headroles.stats.columns import Columns
from headroles.stats.grouped import GroupColumns

Run = tuple[Scores, list[Rule]]


def test_the_kurtosis_is_scipys_over_the_units_that_say_something() -> None:
    values = np.random.default_rng(0).standard_t(5, size=(60, 4))
    values[:20, 1] = np.nan
    values[:, 2] = 0.3
    ours = kurtosis(values)
    assert np.isclose(ours[0], reference.kurtosis(values[:, 0], fisher=False))
    assert np.isclose(ours[1], reference.kurtosis(values[20:, 1], fisher=False))
    assert ours[2] == 0
    assert kurtosis(np.full((5, 1), np.nan)).tolist() == [0]


def _told(values: np.ndarray, decision: Decision | None = None) -> list[str]:
    """Remarks on scores of (units, heads)."""
    decided, keys = decision or Decision(), tuple(map(str, range(len(values))))
    ones = np.ones((1, len(keys)))
    table = values[None, :, None].astype(np.float32)
    scores = Scores(("local",), keys, keys, np.full(len(keys), 9), ones, table, 0 * ones)
    rules = [Rule("local")]
    return tail_remarks(Columns(scores, rules), decided)


def test_heavy_tails_are_told_for_heads_close_to_the_margin_only() -> None:
    rng = np.random.default_rng(1)
    heavy = 0.1 * np.sign(rng.normal(size=(200, 3))) * rng.lognormal(0, 1.2, size=(200, 3)) + [0.1, 0.12, 5.0]
    normal = rng.normal(0.1, 0.1, size=(200, 2))
    (told,) = _told(np.hstack([heavy, normal]))
    assert "heads near the threshold have outliers (kurtosis above 9): local (2 of 4 heads)." in told
    assert _told(normal) == []


def test_they_are_not_told_where_another_method_is_asked_for() -> None:
    rng = np.random.default_rng(2)
    heavy = 0.1 + 0.1 * np.sign(rng.normal(size=(100, 2))) * rng.lognormal(0, 1.5, size=(100, 2))
    assert _told(heavy)
    assert _told(heavy, Decision("t")) == []
    assert _told(heavy, Decision(correction="maxT", resamples=99)) == []


def test_scores_of_made_runs_have_light_tails(scores_of: Callable[..., Run]) -> None:
    scores, rules = scores_of(0, units=80)
    assert tail_remarks(Columns(scores, rules), Decision()) == []


def test_closeness_to_the_margin_is_in_errors_of_units_where_sums_are_of_their_examples() -> None:
    rng = np.random.default_rng(3)
    units = rng.standard_t(2.1, size=(400, 3)) * 0.1
    errors = units.std(axis=0, ddof=1) / 20
    units += 0.1 - units.mean(axis=0) + errors * [2.0, -2.0, 12.0]
    values = np.repeat(units, 100, axis=0)[None, :, None].astype(np.float32)
    keys = tuple(map(str, range(40_000)))
    owners = tuple(f"unit {n // 100}" for n in range(40_000))
    ones, rules = np.ones((1, 40_000)), [Rule("local")]
    scores = Scores(("local",), keys, owners, np.full(40_000, 9), ones, values, 0 * ones)
    (told,) = tail_remarks(GroupColumns(moments_of(scores, rules, 0), rules), Decision())
    assert "local (2 of 2 heads)" in told
