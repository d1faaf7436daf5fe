"""How many heads keep a role when margin or alpha move: whole judgements, counted."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from headroles.records.example import Scores
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.assessment.sensitivity import ALPHAS, STEPS, sensitivity_to_alpha, sensitivity_to_margin
from headroles.stats.columns import Columns
from headroles.stats.engine import judge
from headroles.stats.relabel import Grid

Judged = tuple[Scores, list[Rule]]


@pytest.fixture(scope="module")
def run(scores_of: Callable[..., Judged]) -> Judged:
    """Roles near their margins, one with a contrast."""
    return scores_of(26, units=80, layers=3, heads=8)


def _counts(run: Judged, convention: str, decision: Decision) -> dict[str, dict[float, int]]:
    scores, rules = run
    found = (
        sensitivity_to_margin(Columns(scores, rules), Grid(scores.layers, scores.heads), decision)
        if convention == "margin"
        else sensitivity_to_alpha(judge(scores, rules, decision), decision)
    )
    curves: dict[str, dict[float, int]] = {}
    for point in found:
        assert point.convention == convention
        curves.setdefault(point.sieve, {})[point.value] = point.heads
    return curves


@pytest.mark.parametrize("correction", ["fdr_bh", "holm", "fdr_tsbh", "none"])
@pytest.mark.parametrize("family", ["sieve", "run", "layer"])
def test_every_margin_is_a_judgement_of_its_own(run: Judged, correction: str, family: str) -> None:
    scores, rules = run
    decision = Decision(correction=correction, family=family)
    curves = _counts(run, "margin", decision)
    assert list(curves) == [rule.sieve for rule in rules if rule.role]
    for step in STEPS:
        moved = [replace(rule, margin=rule.margin * step) if rule.role else rule for rule in rules]
        found = judge(scores, moved, decision)
        for k, rule in enumerate(moved):
            if rule.role:
                assert curves[rule.sieve][round(rule.margin, 6)] == (found.decision[k] == 0).sum()


@pytest.mark.parametrize("correction", ["fdr_bh", "holm", "fdr_tsbh", "maxT"])
def test_every_alpha_is_a_judgement_of_its_own(run: Judged, correction: str) -> None:
    scores, rules = run
    decision = Decision(correction=correction, resamples=499)
    curves = _counts(run, "alpha", decision)
    for alpha in (*ALPHAS, decision.alpha):
        found = judge(scores, rules, replace(decision, alpha=alpha)) if alpha > 0.002 else None
        for k, rule in enumerate(rules):
            if rule.role and found is not None:
                assert curves[rule.sieve][alpha] == (found.decision[k] == 0).sum()


def test_the_curve_falls_with_the_margin_and_rises_with_alpha(run: Judged) -> None:
    for curve in _counts(run, "margin", Decision()).values():
        heads = [curve[margin] for margin in sorted(curve)]
        assert heads == sorted(heads, reverse=True)
    for curve in _counts(run, "alpha", Decision()).values():
        heads = [curve[alpha] for alpha in sorted(curve)]
        assert heads == sorted(heads)
        assert heads[0] < heads[-1]


def test_an_alpha_between_those_tried_is_tried_too(run: Judged) -> None:
    assert 0.03 in _counts(run, "alpha", Decision(alpha=0.03))["s0"]
