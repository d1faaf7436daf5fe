"""Findings recomputed one at a time by scipy, statsmodels and pingouin are those of the engine."""

import math
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import headroles
from headroles.records import DECISIONS, Decision, Rule, Scores, moments_of
from headroles.stats import CORRECTIONS, FAMILIES, assess, judge, recompute_findings
from tests.support.scores import scored, spiky

Command = Callable[..., tuple[int, str, str]]
RULES = (
    Rule("a", margin=0.1, contrast="a:matched", stronger="a:class", weaker="a:swap", low=-1.0, high=1.0),
    Rule("a:matched", margin=0.02, role=False, low=-2.0, high=2.0),
    Rule("a:class", margin=0.02, role=False, low=-2.0, high=2.0),
    Rule("a:swap", margin=0.02, role=False),
    Rule("b", margin=0.1, low=-1.0, high=1.0, pooled=True, together="b and c"),
    Rule("c", margin=0.1, low=-1.0, high=1.0, together="b and c"),
    Rule("d", margin=0.1),
    Rule("e", margin=0.1, low=0.05, high=0.8),
)


def _scores(examples: int = 90, units: int = 60, seed: int = 0) -> Scores:
    """Skewed scores in unequal units: holes, constants, outliers, ties, and heads of one or no unit."""
    rng = np.random.default_rng(seed)
    values = 0.35 - 0.1 * rng.gamma(2.0, size=(len(RULES), examples, 2, 3))
    values[rng.random(values.shape) < 0.1] = np.nan
    values[0, :, 0, 0] = values[5, :, 0, 1] = values[6, :, 0, 0] = 0.3
    values[1, :, 1, 1] = values[1, :, 0, 1] = -0.2
    values[0, :, 0, 1] = 0.4 + 0.05 * rng.normal(size=examples)
    values[5, 1:, 1, 1] = np.nan
    values[6, :, 1, 2] = np.nan
    values[6, :, 0, 1] = 0.5 + 1e-3 * rng.normal(size=examples)  # a statistic of thousands
    values[7, :, 0, :1] = spiky(examples, 0.1008, 0.4)
    values[7, :, 0, 1] = rng.normal(0.08, 0.002, examples)
    values[7, :, 0, 2] = np.round(rng.uniform(0.05, 0.3, examples), 1)
    values[7, :, 1] = np.clip(values[7, :, 1], 0.05, 0.8)
    null = np.zeros(values.shape[:2])
    null[5] = rng.choice([0.05, 0.1], examples)
    values[5] += null[5][:, None, None]
    owners = [*range(units), *rng.integers(0, units // 3, examples - units).tolist()]
    cells = rng.integers(0, 9, values.shape[:2])
    return scored(values, RULES, units=owners, null=null, cells=cells)


def _check(decision: Decision, rules: tuple[Rule, ...] = RULES, *, assessed: bool = True) -> dict[str, int]:
    """Judge, assess, require that every number fits its oracle; return how many were compared."""
    scores = _scores()
    findings = judge(scores, rules, decision)
    said = assess(scores, rules, decision, findings, bayes=decision.test == "t") if assessed else None
    precision = None if said is None else said.precision
    checks = recompute_findings(scores, findings, decision, precision=precision)
    assert [check for check in checks if not check.fits] == []
    compared = dict.fromkeys((check.quantity for check in checks), 0)
    for check in checks:
        compared[check.quantity] += check.compared
        assert check.reason or check.oracle
        assert bool(check.reason) == (check.compared == 0)
    return compared


EVERY = len(RULES) * 6
"""Findings of the scores."""


@pytest.mark.parametrize("interval", ["test", "t"])
@pytest.mark.parametrize("test", ["t-skew", "t", "t-published", "wilcoxon", "sign"])
def test_every_number_of_tests_in_closed_form_is_recomputed(test: str, interval: str) -> None:
    assessed = interval == "test" and test != "wilcoxon"  # 500 resamples would call scipy's test each
    compared = _check(Decision(test, interval=interval), assessed=assessed)
    names = ["mean", "effect", "statistic", "p", "p_not", "q", "q_not", "low", "high"]
    if assessed:
        names += ["hedges_g", "g_low", "g_high", "p_explained", "q_explained", "p_absent", "q_absent"]
        names += ["prevalence", "prevalence_low", "prevalence_high", "mean_low", "mean_high", "decision"]
    assert {name: compared[name] for name in names} == dict.fromkeys(names, EVERY)
    assert compared.get("ln bayes_factor", 0) == (EVERY if test == "t" and assessed else 0)


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_every_correction_and_family_is_recomputed(correction: str) -> None:
    for family in FAMILIES:
        compared = _check(Decision("t", correction, family, alpha=0.1), assessed=family == "layer")
        assert compared["q"] == compared["q_not"] == EVERY
    assert compared["q_explained"] == EVERY


@pytest.mark.parametrize("test", ["t-skew", "t", "wilcoxon"])
def test_sums_of_all_examples_are_recomputed_from_their_groups(test: str) -> None:
    scores, decision, moments = _scores(), Decision(test), moments_of(_scores(), RULES, 0)
    findings = judge(scores, RULES, decision, moments)
    precision = None
    if test == "t":
        precision = assess(scores, RULES, decision, findings, bayes=True, moments=moments).precision
    checks = recompute_findings(scores, findings, decision, precision=precision, moments=moments)
    assert [check for check in checks if not check.fits] == []
    reasons = {check.quantity: check.reason for check in checks if check.reason}
    assert ("kept sums" in reasons.get("effect, hedges_g, g_low, g_high", "")) == (test != "wilcoxon")
    compared = {check.quantity for check in checks if check.compared}
    assert {"mean", "p", "q", "low"} <= compared
    assert ("ln bayes_factor" in compared) == (test == "t")


@pytest.mark.parametrize("change", [1e-5, math.nan])
def test_altered_numbers_are_caught_and_named(change: float) -> None:
    scores, decision = _scores(), Decision("t")
    findings = judge(scores, RULES, decision)
    precision = assess(scores, RULES, decision, findings).precision
    altered = ("mean", "effect", "low", "high", "statistic", "p", "p_not", "q", "q_not", "decision")
    more = ("hedges_g", "g_low", "q_absent", "p_explained", "prevalence", "mean_high")
    place = (0, 0, 1)
    assert findings.decision[place] == DECISIONS.index("explained")
    given = []
    for record, names in ((findings, altered), (precision, more)):
        columns = {name: getattr(record, name).copy() for name in names}
        for name, column in columns.items():
            column[place] += 1 if name == "decision" else change
        given.append(replace(record, **columns))
    checks = recompute_findings(scores, given[0], decision, precision=given[1])
    wrong = {check.quantity: check.difference for check in checks if not check.fits}
    assert set(wrong) == {*altered, *more}
    assert wrong.pop("decision") > 0.2
    assert all(math.isinf(gap) if math.isnan(change) else 1e-7 < gap < 1e-4 for gap in wrong.values())


# The command.


def test_an_error_of_the_engine_is_caught_and_the_table_names_the_oracles(
    command: Command, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    families = sys.modules["headroles.stats.families"]
    monkeypatch.setattr(families, "adjust", lambda rows, correction, alpha: rows)
    headroles.judge_again(run, bayes=True)
    assert command("verify", run)[0] == 0
    code, out, err = command("verify", run, "--oracles")
    assert (code, err.count("\n")) == (1, 1)
    text = "".join(out.split())
    for part in ("!", "scipy.stats ttest_1samp, skew, t + Hall 1992", "statsmodels multipletests(fdr_bh)",
                 "pingouin.bayesfactor_ttest", "not recomputed: stability, design_effect ("):  # fmt: skip
        assert part.replace(" ", "") in text
    assert re.search(r"must equal those of other libraries up to rounding, but they differ in .*q.* by", err)
