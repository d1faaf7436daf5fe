"""Gaps between conditions that one run found, on another: their sign, families and error rate."""

import numpy as np
import pytest
from scipy.stats import norm
from statsmodels.stats.multitest import multipletests

from headroles.records.probes import ConditionGap
from headroles.records.rules.rule import Decision
from headroles.stats.comparing.replication import replicate_gaps


def _gap(
    head: int, difference: float, p: float, q: float = 0.01, *, measure: str = "accuracy", first: str = "pro"
) -> ConditionGap:
    second = {"pro": "anti", "feminine": "masculine"}[first]
    ends = (difference - 0.1, difference + 0.1)
    return ConditionGap(0, head, measure, first, second, 0.5, 0.5, 0.5, difference, *ends, p, q)


def test_gaps_of_a_are_tested_in_their_direction_and_corrected_together() -> None:
    before = [
        _gap(0, 0.2, 0.001),
        _gap(1, -0.2, 0.001),
        _gap(2, 0.2, 0.001),
        _gap(3, 0.2, 0.9, q=0.9),  # which A did not find
        _gap(4, 0.2, 0.001),
    ]
    after = [_gap(0, 0.1, 0.02), _gap(1, 0.1, 0.001), _gap(2, 0.05, 0.4), _gap(3, 0.2, 0.001)]
    found = replicate_gaps(before, after, Decision(correction="holm"))
    assert [gap.head for gap in found] == [0, 1, 2, 4]
    assert [gap.p for gap in found] == pytest.approx([0.01, 0.9995, 0.2, np.nan], nan_ok=True)
    assert [gap.decision for gap in found] == ["gap", "reversed", "undetermined", "untestable"]
    wanted = multipletests([0.01, 0.9995, 0.2], method="holm")[1]
    assert [gap.q for gap in found[:3]] == pytest.approx(wanted)
    assert (found[0].difference_a, found[0].q_a, found[0].difference) == (0.2, 0.01, 0.1)
    assert np.isnan([found[3].difference, found[3].low, found[3].q]).all()


def test_conditions_and_measures_are_families_of_their_own() -> None:
    before = [
        _gap(0, 0.2, 0.001),
        _gap(0, 0.2, 0.001, first="feminine"),
        _gap(0, 0.2, 0.001, first="feminine", measure="f1"),
    ]
    found = replicate_gaps(before, before, Decision(correction="bonferroni"))
    assert [gap.q for gap in found] == pytest.approx([0.0005] * 3)
    assert replicate_gaps(before, [], Decision())[0].decision == "untestable"
    assert replicate_gaps([], before, Decision()) == ()


def test_gaps_that_are_not_there_hold_at_most_at_alpha() -> None:
    rng = np.random.default_rng(1)
    wrong = []
    for _ in range(400):
        differences = rng.normal(size=(2, 10))
        before = [_gap(head, value, 0.001) for head, value in enumerate(differences[0])]
        p = 2 * norm.sf(np.abs(differences[1]))
        after = [
            _gap(head, value, float(one))
            for head, (value, one) in enumerate(zip(differences[1], p, strict=True))
        ]
        found = replicate_gaps(before, after, Decision(correction="holm"))
        wrong.append([any(gap.decision == word for gap in found) for word in ("gap", "reversed")])
    assert (np.mean(wrong, axis=0) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)).all()
