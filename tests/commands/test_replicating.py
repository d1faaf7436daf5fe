"""Roles of one run on the inputs of another: which families, which errors, how often they fail to hold."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles import Labelling, replicate, save
from headroles.records import (
    BEST_HEADS,
    GROUPS,
    Decision,
    ProbeResults,
    Rule,
    Scores,
    moments_of,
)
from headroles.stats import judge
from tests.conftest import Command
from tests.support.scores import scored
from tests.support.texts import sketches_of

Saved = Callable[..., Path]
LAYERS, HEADS = 3, 8
USUAL = Decision()
NAMES = ("local", "block", "block:matched", "dependency:obj:→", "dependency:obj:←")
RULES = {
    "block": Rule("block", contrast="block:matched"),
    "block:matched": Rule("block:matched", margin=0.02, role=False),
    "dependency:obj:→": Rule("dependency:obj:→", together="dependency:obj"),
    "dependency:obj:←": Rule("dependency:obj:←", together="dependency:obj"),
}


def _rules(names: Sequence[str] = NAMES) -> list[Rule]:
    return [RULES.get(name, Rule(name)) for name in names]


def _scores(
    seed: int, *, names: Sequence[str] = NAMES, units: int = 60, spread: float = 0.15, level: float = 1
) -> Scores:
    """Return scores of which a third of the heads is beyond every margin, a third at it, and a third at 0."""
    thirds, turns = np.tile([0.25, 0.1, 0.0], LAYERS * HEADS // 3), {"block": 1, "dependency:obj:→": 2}
    means = np.stack([np.roll(thirds, turns.get(name.removesuffix(":matched"), 0)) for name in names])
    noise = np.random.default_rng(seed).normal(0, spread, (len(names), units, LAYERS, HEADS))
    made = scored(level * means.reshape(-1, 1, LAYERS, HEADS) + noise, _rules(names), cells=1)
    keys = tuple(f"file {seed}/{unit}" for unit in range(units))
    return replace(made, examples=keys, units=keys)


def _labelling(scores: Scores, rules: Sequence[Rule] | None = None, decision: Decision = USUAL) -> Labelling:
    model = {"name": "tiny", "layers": LAYERS, "heads": HEADS, "weights_sha256": "w"}
    facts: dict[str, Any] = {
        "headroles": "0.1.0",
        "model": model | {"architecture": "Bert", "origin": "a folder"},
        "source": {"kind": "file", "name": scores.examples[0].split("/")[0], "sha256": scores.examples[0]},
        "counts": {"examples": len(scores.examples), "units": len(scores.units)},
        "preset": "calibrated",
        "statistic": "selectivity",
        "task": None,
        "parser": {"name": "parser", "version": "1"},
    }
    return Labelling(scores, judge(scores, rules or _rules(scores.sieves), decision), decision, facts)


def _with_manifest(run: Labelling, **entries: Any) -> Labelling:
    return replace(run, manifest=dict(run.manifest) | entries)


@pytest.fixture
def saved(tmp_path: Path) -> Saved:
    """Write a labelling as a run folder."""

    def write(name: str, labelling: Labelling) -> Path:
        save(labelling, tmp_path / name)
        return tmp_path / name

    return write


@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize(("correction", "family"), [("holm", "sieve"), ("fdr_bh", "layer"), ("none", "run")])
def test_p_of_b_are_its_own_and_corrected_over_the_roles_of_a_only(
    correction: str, family: str, saved: Saved
) -> None:
    from statsmodels.stats.multitest import multipletests

    before = _labelling(_scores(1), decision=Decision(family=family))
    after = _labelling(_scores(2, spread=0.5), decision=Decision(family=family, correction=correction))
    found = replicate(saved("a", before), saved("b", after), correction=correction)
    proposed, whole = before.findings, after.findings
    assert len(found.replicates) == int((proposed.decision == 0).sum()) > 20
    families: dict[str, list[int]] = {}
    for place, row in enumerate(found.replicates):
        k = proposed.of(row.sieve)
        here = (k, row.layer, row.head)
        assert proposed.decision[here] == 0
        assert (row.mean_a, row.q_a) == pytest.approx((proposed.mean[here], proposed.q[here]))
        for name in ("mean", "low", "high", "statistic", "p", "p_not"):
            assert getattr(row, name) == pytest.approx(getattr(whole, name)[here], rel=1e-9)
        question = proposed.rules[k].together or row.sieve
        key = {"sieve": question, "layer": f"{question} {row.layer}", "run": ""}[family]
        families.setdefault(key, []).append(place)
    for members in families.values():
        for name in ("", "_not"):
            p, q = ([getattr(found.replicates[k], f"{kind}{name}") for k in members] for kind in "pq")
            wanted = p if correction == "none" else multipletests(p, method=correction)[1]
            np.testing.assert_allclose(q, wanted, rtol=1e-9)
    assert [row.decision == "role" for row in found.replicates] == [r.q <= 0.05 for r in found.replicates]
    assert {row.decision for row in found.replicates} >= {"role", "undetermined"}


def test_max_t_resamples_the_roles_of_a_together(saved: Saved) -> None:
    decision = Decision(test="sign-flip", correction="maxT", resamples=499)
    before, scores = _labelling(_scores(1), decision=decision), _scores(2)
    found = replicate(saved("a", before), saved("b", _labelling(scores)))
    proposed = before.findings
    kept = proposed.decision == 0
    kept[proposed.of("block:matched")] = kept[proposed.of("block")]
    masked = np.where(kept[:, None], scores.values, np.nan).astype(np.float32)
    wanted = judge(replace(scores, values=masked), _rules(), decision)
    assert found.replicates
    for row in found.replicates:
        assert row.q == pytest.approx(wanted.q[proposed.of(row.sieve), row.layer, row.head])


def test_roles_without_units_in_b_are_untestable_and_stand_outside_the_family(saved: Saved) -> None:
    first = saved("a", _labelling(_scores(1)))
    place = headroles.load(first).findings
    layer, head = (int(k) for k in np.argwhere(place.decision[0] == 0)[0])
    scores = _scores(2)
    values = scores.values.copy()
    values[0, :, layer, head] = np.nan
    found = replicate(first, saved("b", _labelling(replace(scores, values=values))), correction="bonferroni")
    local = [row for row in found.replicates if row.sieve == "local"]
    assert (local[0].layer, local[0].head, local[0].decision) == (layer, head, "untestable")
    assert np.isnan([local[0].p, local[0].q]).all()
    assert local[1].q == pytest.approx(min(1.0, local[1].p * (len(local) - 1)))


def test_rows_count_both_directions_and_the_command_prints_their_counts(
    saved: Saved, command: Command, tmp_path: Path
) -> None:
    first, second = saved("a", _labelling(_scores(1))), saved("b", _labelling(_scores(2)))
    table = tmp_path / "found.csv"
    code, out, err = command("compare", first, second, "--replicate", "--correction", "holm", "--out", table)
    assert (code, err) == (0, "")
    found = replicate(first, second, correction="holm")
    assert table.read_text() == found.frame().to_csv(index=False, lineterminator="\n")
    assert f"{found.outcomes['role']} of {len(found.replicates)} labels of A hold in both runs." in out
    for row in found.rows:
        (line,) = [line.split() for line in out.splitlines() if line.startswith(f"{row.name} ")]
        counts = (row.roles, row.role, row.not_role, row.undetermined, row.untestable)
        assert line[1:6] == [str(number) for number in counts]
    row = next(row for row in found.rows if row.name == "dependency:obj")
    own = [each for each in found.replicates if each.sieve.startswith("dependency:obj")]
    assert (row.columns, row.roles, row.heads) == (2, len(own), 2 * LAYERS * HEADS)
    counted = {name: sum(each.decision == name for each in own) for name in ("role", "undetermined")}
    assert (row.role, row.undetermined) == (counted["role"], counted["undetermined"])
    assert row.roles == row.role + row.not_role + row.undetermined + row.untestable + row.explained
    means, others = (headroles.load(folder).findings.mean[3:].ravel() for folder in (first, second))
    assert row.correlation == pytest.approx(np.corrcoef(means, others)[0, 1])
    assert found.outcomes["role"] == sum(each.decision == "role" for each in found.replicates)
    flat = replace(_scores(2), values=np.full_like(_scores(2).values, 0.25))
    without_spread = replicate(first, saved("flat", _labelling(flat)))
    assert all(np.isnan(row.correlation) for row in without_spread.rows)
    nothing = saved("nothing", _labelling(_scores(1, level=0)))
    code, out, _ = command("compare", nothing, second, "--replicate", "--out", tmp_path / "none.csv")
    assert (code, (tmp_path / "none.csv").read_text().count("\n")) == (0, 1)
    assert "A has no role in the columns of both" in out


def _best(row: str, layer: int, head: int, decision: str, direction: str = "→") -> dict[str, Any]:
    values: dict[str, Any] = dict.fromkeys((column.name for column in BEST_HEADS.columns), 0.5)
    told = {"row": row, "direction": direction, "layer": layer, "head": head, "decision": decision}
    return values | told | {"items": 9, "units": 9, "baseline": "-1"}


def test_best_heads_beyond_their_baselines_in_a_are_corrected_together_and_others_only_shown(
    saved: Saved, command: Command
) -> None:
    best = BEST_HEADS.rows(
        [
            _best("dependency:obj", 0, 0, "beyond"),
            _best("dependency:obj", 1, 2, "undetermined", "←"),
            _best("dependency:obj", 2, 1, "beyond", "←"),
            _best("dependency:none", 0, 0, "beyond"),
            _best("dependency:obj", -1, -1, "untestable", ""),
        ]
    )
    scores = _scores(2)
    proposed = _labelling(_scores(1), decision=Decision(family="run"))
    first = saved("a", replace(proposed, probed=ProbeResults(None, best)))
    second = saved("b", _labelling(scores))
    found = replicate(first, second, correction="bonferroni").best
    plain = judge(scores, _rules(), Decision(correction="none"))
    assert [(row.layer, row.head) for row in found] == [(0, 0), (1, 2), (2, 1)]
    for row, k in zip(found, (3, 4, 4), strict=True):
        here = (k, row.layer, row.head)
        assert row.accuracy == pytest.approx(plain.mean[here])
        assert row.difference == pytest.approx(plain.mean[here] - plain.null[here])
        assert row.p == pytest.approx(plain.p[here])
    assert found["q"][::2] == pytest.approx(np.minimum(1, 2 * found["p"][::2]))
    assert (found[1].decision, bool(np.isnan(found[1].q))) == ("", True)
    out = command("compare", first, second, "--replicate")[1]
    held = sum(row.decision == "beyond" for row in replicate(first, second).best)
    assert f"Of the best heads of 2 rows beyond their baselines in A, {held} are in B." in out


def test_b_is_judged_by_the_margins_test_and_level_of_a(saved: Saved) -> None:
    own = Decision(test="t", alpha=0.2, correction="holm")
    rules = [replace(rule, margin=0.05) for rule in _rules()]
    first, second = saved("a", _labelling(_scores(1), rules, own)), saved("b", _labelling(_scores(2)))
    found = replicate(first, second)
    assert found.decision == own
    wanted = judge(_scores(2), rules, own)
    for row in found.replicates:
        assert row.margin == 0.05
        assert row.p == pytest.approx(wanted.p[wanted.of(row.sieve), row.layer, row.head])
        assert (row.decision == "role") == (row.q <= 0.2)
    assert "B is judged by the margins of A; its own differ in 5 columns." in found.notes
    assert replicate(first, second, correction="bonferroni").decision == replace(own, correction="bonferroni")
    betting = Decision(test="betting")
    stated = [replace(rule, stated_low=-2.0, stated_high=2.0) for rule in _rules()]
    bets = saved("bets", _labelling(_scores(3, units=900), stated, betting))
    assert replicate(bets, second).decision.test == "t-skew"


def _summed(scores: Scores, decision: Decision = USUAL) -> Labelling:
    """Return a run that kept sums of all scores, and the scores of a random 40."""
    sums = moments_of(scores, _rules(), 0)
    sample = scores.take(np.arange(0, len(scores.examples), 7)[:40])
    kept = {"mode": "moments", "groups": GROUPS, "examples": len(scores.examples), "subsample": 40}
    run = replace(_labelling(sample, decision=decision), findings=judge(sample, _rules(), decision, sums))
    return _with_manifest(replace(run, moments=sums), kept=kept)


@pytest.mark.parametrize("family", ["sieve", "layer"])
def test_roles_are_tested_on_all_inputs_of_a_run_that_kept_sums(family: str, saved: Saved) -> None:
    own, scores = Decision(family=family), _scores(2, units=900, spread=0.9)
    found = replicate(saved("a", _labelling(_scores(1), decision=own)), saved("b", _summed(scores)))
    wanted = judge(scores, _rules(), own, moments_of(scores, _rules(), 0))
    for row in found.replicates:
        here = (wanted.of(row.sieve), row.layer, row.head)
        assert row.count == 900
        for name in ("mean", "null", "low", "high", "statistic", "p", "p_not"):
            assert getattr(row, name) == pytest.approx(getattr(wanted, name)[here], rel=1e-9, abs=1e-12)
    assert found.outcomes["role"] > 0.9 * len(found.replicates)  # of which a random 40 would show few
    (said,) = found.notes
    assert said.startswith("B kept sums of 900 inputs. Its roles are tested on all of them")
    median = Decision(test="sign")
    second = _summed(_scores(2, units=900), median)
    found = replicate(saved("c", _labelling(_scores(1), decision=median)), saved("d", second))
    wanted = judge(second.scores, _rules(), median)
    for row in found.replicates:
        assert row.count == 40
        assert row.p == pytest.approx(wanted.p[wanted.of(row.sieve), row.layer, row.head], rel=1e-9)
    assert "sign tests its roles on a random 40 of them" in found.notes[0]
    assert found.notes[1].startswith("B has 40 units; below 50, roles that do not hold stay undetermined")


def test_what_else_differs_and_shared_inputs_are_said(saved: Saved) -> None:
    tuned = {"weights_sha256": "v", "name": "tuned", "layers": LAYERS, "heads": HEADS}
    one, two = _labelling(_scores(1)), _labelling(_scores(2))
    other = saved("b", _with_manifest(two, model=tuned, parser={"name": "other"}))
    found = replicate(saved("a", one), other)
    assert any("weights of the models differ (A tiny, B tuned)" in note for note in found.notes)
    assert any("the parser is parser in A and other in B" in note for note in found.notes)
    for texts, share in (("xz", "50"), ("yx", "100"), ("zw", "")):
        folders = []
        for name, run, own in (("a", one, "xy"), ("b", two, texts)):
            source = {"sha256": name, "identity": sketches_of(*own)}
            folders.append(saved(f"{name} {share}", _with_manifest(run, source=source)))
        again = replicate(*folders)
        told = f"about {share}.0\u00a0% of the texts of B are those of A: B is no independent test."
        assert [note[: len(told)] for note in again.notes] == [told] * bool(share)
        assert again.decision.correction == ("bonferroni" if share else found.decision.correction)
        roles = {(row.sieve, row.layer, row.head): row for row in again.replicates}
        assert roles.keys() == {(row.sieve, row.layer, row.head) for row in found.replicates}
        if share:  # whatever A chose: every head of the columns is in the family
            assert all(row.q >= min(1.0, LAYERS * HEADS * row.p) - 1e-12 for row in roles.values())
