"""Findings recomputed one at a time by scipy, statsmodels and pingouin are those of the engine."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import headroles
from headroles.errors import BadInput
from headroles.records.assessment import Assessment
from headroles.records.example import Scores
from headroles.records.moments import moments_of
from headroles.records.rules.rule import Decision, Rule
from headroles.shards.verify import recompute, refuse_differences, verify
from headroles.stats import families
from headroles.stats.assessment.assess import assess
from headroles.stats.decision import CORRECTIONS, FAMILIES
from headroles.stats.engine import judge
from headroles.stats.methods.names import METHODS
from headroles.stats.oracles.one_finding import log_bayes_factor
from headroles.stats.oracles.recompute import TOLERANCES, Check, recompute_findings
from tests.storage.manifests import hash_again

Command = Callable[..., tuple[int, str, str]]
RULES = (
    Rule("a", margin=0.1, contrast="a:matched", low=-1.0, high=1.0),
    Rule("a:matched", margin=0.02, role=False, low=-2.0, high=2.0),
    Rule("b", margin=0.1, low=-1.0, high=1.0, pooled=True, together="b and c"),
    Rule("c", margin=0.1, low=-1.0, high=1.0, together="b and c"),
    Rule("d", margin=0.1),
)


def _scores(examples: int = 90, units: int = 60, seed: int = 0) -> Scores:
    """Skewed scores in unequal units, with holes, constant heads, and heads of one or no unit."""
    rng = np.random.default_rng(seed)
    values = (0.35 - 0.1 * rng.gamma(2.0, size=(5, examples, 2, 3))).astype(np.float32)
    values[rng.random(values.shape) < 0.1] = np.nan
    values[0, :, 0, 0] = values[3, :, 0, 1] = values[4, :, 0, 0] = 0.3
    values[1, :, 1, 1] = -0.2
    values[3, 1:, 1, 1] = np.nan
    values[4, :, 1, 2] = np.nan
    null = np.zeros((5, examples))
    null[3] = rng.choice([0.05, 0.1], examples)
    values[3] += null[3][:, None, None].astype(np.float32)
    return Scores(
        sieves=tuple(rule.sieve for rule in RULES),
        examples=tuple(map(str, range(examples))),
        units=tuple(f"u{unit}" for unit in [*range(units), *rng.integers(0, units // 3, examples - units)]),
        tokens=np.full(examples, 9),
        cells=rng.integers(0, 9, (5, examples)).astype(np.float64),
        values=values,
        null=null,
    )


def _checks(decision: Decision, **options: object) -> dict[str, Check]:
    """The checks of judged scores by quantity, the worst of each, after none exceeds its tolerance."""
    scores = _scores()
    findings = judge(scores, RULES, decision)
    checks = recompute_findings(scores, findings, decision, **options)  # type: ignore[arg-type]
    assert [check for check in checks if not check.fits] == []
    return {check.quantity: check for check in sorted(checks, key=lambda each: each.compared)}


@pytest.mark.parametrize("interval", ["test", "t"])
@pytest.mark.parametrize("test", ["t-skew", "t", "t-published", "wilcoxon", "sign"])
def test_tests_in_closed_form_are_recomputed(test: str, interval: str) -> None:
    checks = _checks(Decision(test, interval=interval))
    assert {"mean", "effect", "statistic", "p", "p_not", "q", "q_not", "low", "high"} <= {*checks}
    for name in ("p", "q", "low", "effect"):
        assert not checks[name].reason
        assert checks[name].difference <= 1e-10
    assert checks["q"].compared == 30
    assert checks["q"].oracle == "statsmodels multipletests(fdr_bh)"


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("correction", CORRECTIONS)
def test_every_correction_over_every_family_is_recomputed(correction: str, family: str) -> None:
    checks = _checks(Decision("t", correction, family))
    assert checks["q_not"].compared == checks["q"].compared == 30


@pytest.mark.parametrize(
    ("decision", "left", "compared"),
    [
        (Decision("bootstrap-t", resamples=999), ["p, p_not, statistic", "low, high"], "q"),
        (Decision("sign-flip", resamples=999), ["p, p_not, statistic"], "low"),
        (Decision("t-skew", "maxT", resamples=999), ["q, q_not"], "p"),
        (Decision("t-skew", interval="bca", resamples=999), ["low, high"], "p"),
    ],
)
def test_what_resamples_is_left_out_with_the_reason(
    decision: Decision, left: list[str], compared: str
) -> None:
    checks = _checks(decision)
    for name in left:
        assert "resamples" in checks[name].reason
        assert not checks[name].compared
    assert checks[compared].compared > 0
    assert checks["mean"].compared == 30


def test_every_test_is_recomputed_or_left_out() -> None:
    for test, method in METHODS.items():
        if method.bounded is None:
            _checks(Decision(test, resamples=999))


def test_betting_is_recomputed_from_sums_and_by_root_finding() -> None:
    weaker = Rule("b", margin=0.02, role=False)
    rules = [
        replace(rule, pooled=False, stated_low=-2.0, stated_high=2.0)
        for rule in (replace(RULES[0], weaker="b"), RULES[1], weaker, *RULES[3:])
    ]
    scores, decision = _scores(), Decision("betting")
    findings = judge(scores, rules, decision)
    precision = assess(scores, rules, decision, findings).precision
    checks = recompute_findings(scores, findings, decision, precision=precision)
    found = {check.quantity: check for check in checks if not check.oracle.startswith("NaN")}
    assert found["p"].compared == 28
    assert "brentq" in found["low"].oracle
    for name in ("p", "p_not", "q", "q_not", "low", "high", "mean_low", "p_explained", "decision"):
        assert found[name].compared > 0, name
    assert all(check.fits for check in checks), [check for check in checks if not check.fits]


def test_sizes_and_bayes_factors_are_pingouins() -> None:
    scores, decision = _scores(), Decision("t")
    findings = judge(scores, RULES, decision)
    precision = assess(scores, RULES, decision, findings, bayes=True).precision
    checks = _checks(decision, precision=precision)
    for name in ("hedges_g", "g_low", "g_high", "ln bayes_factor"):
        assert checks[name].compared == 30
        assert checks[name].oracle.startswith("pingouin.")
        assert checks[name].difference <= TOLERANCES[name]
    without = assess(scores, RULES, decision, findings).precision
    assert "--bayes" in _checks(decision, precision=without)["bayes_factor"].reason


@pytest.mark.parametrize("test", ["t-skew", "t", "wilcoxon"])
def test_sums_of_all_examples_are_recomputed_from_their_groups(test: str) -> None:
    scores, decision = _scores(900, 600), Decision(test)
    moments = moments_of(scores, RULES, 0)
    findings = judge(scores, RULES, decision, moments)
    assessment: Assessment = assess(scores, RULES, decision, findings, bayes=True, moments=moments)
    checks = recompute_findings(scores, findings, decision, precision=assessment.precision, moments=moments)
    assert [check for check in checks if not check.fits] == []
    reasons = {check.quantity: check.reason for check in checks if check.reason}
    assert ("kept sums" in reasons.get("effect, hedges_g, g_low, g_high", "")) == (test != "wilcoxon")
    assert {"p", "q", "low", "ln bayes_factor"} <= {check.quantity for check in checks}


@pytest.mark.parametrize("name", ["mean", "effect", "low", "high", "statistic", "p", "p_not", "q", "q_not"])
def test_one_altered_number_is_caught(name: str) -> None:
    scores, decision = _scores(), Decision("t")
    findings = judge(scores, RULES, decision)
    column = getattr(findings, name).copy()
    column[3, 1, 2] += 1e-5
    checks = recompute_findings(scores, replace(findings, **{name: column}), decision)
    wrong = [check.quantity for check in checks if not check.fits]
    assert wrong == [name]
    with pytest.raises(BadInput, match=rf"differ in {name} by .*e-0[56] from .* \(at most 1e-0"):
        refuse_differences(checks, "run")
    column[3, 1, 2] = np.nan
    checks = recompute_findings(scores, replace(findings, **{name: column}), decision)
    assert [check.difference for check in checks if not check.fits] == [math.inf]


@pytest.mark.parametrize(("statistic", "count"), [(0.0, 20), (3.5, 20), (40.0, 20), (-9.0, 3000), (1e5, 3)])
def test_the_logarithm_of_a_bayes_factor_is_that_of_the_engine(statistic: float, count: int) -> None:
    from headroles.stats.effects import bayes_factors

    ours = bayes_factors(np.array([statistic]), np.array([count]))[0]
    assert log_bayes_factor(statistic, count)[1] == pytest.approx(math.log(ours), abs=1e-6)


def test_a_finished_run_agrees_with_its_oracles_and_the_table_names_them(command: Command, run: Path) -> None:
    headroles.judge_again(run, bayes=True)
    code, out, err = command("verify", run, "--oracles")
    assert (code, err) == (0, "")
    text = " ".join(out.split())
    for oracle in ("scipy.stats ttest_1samp, skew, t + Hall 1992", "statsmodels multipletests(fdr_bh)",
                   "pingouin.compute_effsize", "pingouin.bayesfactor_ttest"):  # fmt: skip
        assert oracle.replace(" ", "") in text.replace(" ", "")
    assert "not recomputed: stability, design_effect (" in text
    assert out.splitlines()[-1] == f"{run} is whole"
    assert verify(run).checks == ()


def test_an_altered_q_is_caught_though_its_hash_was_mended(command: Command, run: Path) -> None:
    table = run / "findings.csv"
    first, row, *rows = table.read_text().splitlines()
    cells = row.split(",")
    cells[first.split(",").index("q")] = "0.04"
    table.write_text("\n".join([first, ",".join(cells), *rows]) + "\n")
    hash_again(run)
    checks = recompute(headroles.load(run))
    assert [check.quantity for check in checks if not check.fits] == ["q"]
    code, _, err = command("verify", run, "--oracles")
    assert code == 1
    assert "is not what the scores of the run give" in err


def test_an_error_of_the_engine_is_caught(
    command: Command, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(families, "adjust", lambda rows, correction, alpha: rows)
    headroles.judge_again(run)
    assert command("verify", run)[0] == 0
    code, out, err = command("verify", run, "--oracles")
    assert code == 1
    assert " !" in out
    assert re.search(
        r"must equal those of other libraries up to rounding, but they differ in .*q_?n?o?t? by", err
    )
    assert err.count("\n") == 1


@pytest.mark.parametrize("kind", ["surface", "cluster"])
def test_runs_of_other_kinds_are_recomputed_as_far_as_their_findings_go(
    kind: str, planted: Path, table: Path, tmp_path: Path
) -> None:
    given = {"sieve": "local", "draws": 20} if kind == "cluster" else {}
    make = getattr(headroles, kind)
    make("QNLI", data=table, model=planted, max_length=48, limit=30, out=tmp_path / "run", **given)
    checks = verify(tmp_path / "run", oracles=True).checks
    refuse_differences(checks, "run")
    reasons = {check.quantity: check.reason for check in checks if check.reason}
    assert ("layers.csv, noop.csv" in reasons) == (kind == "surface")
    assert ("claims.csv, clusters.csv" in reasons) == (kind == "cluster")
