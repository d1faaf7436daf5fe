"""Roles of one run on the inputs of another: which families, which errors, how often they fail to hold."""

import re
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

import headroles
from headroles import Labelling, Replication, replicate, save
from headroles.errors import BadInput, UnknownName
from headroles.inputs.sketch import TextSketch
from headroles.records.example import Scores
from headroles.records.findings import Findings
from headroles.records.moments import GROUPS, moments_of
from headroles.records.probes import BestHead, ConditionGap, ProbeResults
from headroles.records.rules.rule import Decision, Rule
from headroles.shards.moments import take_examples
from headroles.stats.comparing.replication import (
    count_replicates,
    pearson,
    replicate_best_heads,
    replicate_roles,
)
from headroles.stats.engine import judge

Command = Callable[..., tuple[int, str, str]]
Saved = Callable[..., Path]
LAYERS, HEADS = 3, 8
USUAL = Decision()
NAMES = ("local", "block", "block:matched", "dependency:obj:→", "dependency:obj:←")


def _rules(names: Sequence[str] = NAMES) -> list[Rule]:
    known = {
        "block": Rule("block", contrast="block:matched"),
        "block:matched": Rule("block:matched", margin=0.02, role=False),
        "dependency:obj:→": Rule("dependency:obj:→", together="dependency:obj"),
        "dependency:obj:←": Rule("dependency:obj:←", together="dependency:obj"),
    }
    return [known.get(name, Rule(name)) for name in names]


def _means(names: Sequence[str] = NAMES) -> np.ndarray:
    """A third of the heads clearly beyond every margin, a third at it, a third at 0."""
    level = np.tile([0.25, 0.1, 0.0], LAYERS * HEADS // 3)
    turns = {"block": 1, "block:matched": 1, "dependency:obj:→": 2}
    return np.stack([np.roll(level, turns.get(name, 0)) for name in names]).reshape(-1, LAYERS, HEADS)


def _scores(
    seed: int, means: np.ndarray, names: Sequence[str] = NAMES, units: int = 60, spread: float = 0.15
) -> Scores:
    rng = np.random.default_rng(seed)
    shape = (len(names), units, *means.shape[1:])
    keys = tuple(f"file {seed}/{each}" for each in range(units))
    return Scores(
        sieves=tuple(names),
        examples=keys,
        units=keys,
        tokens=np.full(units, 9),
        cells=np.ones((len(names), units)),
        values=(means[:, None] + rng.normal(0, spread, shape)).astype(np.float32),
        null=np.zeros((len(names), units)),
    )


def _labelling(scores: Scores, rules: Sequence[Rule], decision: Decision = USUAL) -> Labelling:
    facts: dict[str, Any] = {
        "headroles": "0.1.0",
        "model": {"name": "tiny", "layers": LAYERS, "heads": HEADS, "weights_sha256": "w"}
        | {"architecture": "Bert", "origin": "a folder"},
        "source": {"kind": "file", "name": scores.examples[0].split("/")[0], "sha256": scores.examples[0]},
        "counts": {"examples": len(scores.examples), "units": len(scores.units)},
        "preset": "calibrated",
        "statistic": "selectivity",
        "task": None,
        "parser": {"name": "parser", "version": "1"},
    }
    return Labelling(scores, judge(scores, rules, decision), decision, facts)


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Saved:
    """Write a labelling as a run folder; its report is beside the point."""
    monkeypatch.setattr("headroles.reports.page.page_of", lambda labelling: "")

    def write(name: str, labelling: Labelling) -> Path:
        save(labelling, tmp_path / name)
        return tmp_path / name

    return write


@pytest.fixture
def pair(saved: Saved) -> Callable[..., tuple[Path, Path]]:
    """Folders of two runs with the same means on other inputs, B changed at will."""

    def write(change: Callable[[Labelling], Labelling] = lambda run: run) -> tuple[Path, Path]:
        one, other = (_labelling(_scores(seed, _means()), _rules()) for seed in (1, 2))
        return saved("a", one), saved("b", change(other))

    return write


def _with_manifest(run: Labelling, **entries: Any) -> Labelling:
    return replace(run, manifest=dict(run.manifest) | entries)


def _findings(seed: int) -> Findings:
    return judge(_scores(seed, _means()), _rules(), USUAL)


@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize("correction", ["holm", "fdr_bh", "bonferroni", "none"])
@pytest.mark.parametrize("family", ["sieve", "layer", "run"])
def test_p_of_b_are_its_own_and_corrected_over_the_roles_of_a_only(correction: str, family: str) -> None:
    decision = Decision(correction=correction, family=family)
    before, scores = _findings(1), _scores(2, _means(), spread=0.5)
    whole = judge(scores, _rules(), decision)
    found = replicate_roles(before, scores, _rules(), decision)
    assert len(found) == int((before.decision == 0).sum()) > 20
    families: dict[str, list[int]] = {}
    for place, each in enumerate(found):
        k = before.of(each.sieve)
        here = (k, each.layer, each.head)
        assert before.decision[here] == 0
        assert (each.mean_a, each.q_a) == (before.mean[here], before.q[here])
        for name in ("mean", "low", "high", "statistic", "p", "p_not"):
            assert getattr(each, name) == pytest.approx(getattr(whole, name)[here], rel=1e-9)
        row = before.rules[k].together or each.sieve
        key = {"sieve": row, "layer": f"{row} {each.layer}", "run": ""}[family]
        families.setdefault(key, []).append(place)
    for members in families.values():
        for name in ("", "_not"):
            p, q = ([getattr(found[place], f"{kind}{name}") for place in members] for kind in "pq")
            wanted = p if correction == "none" else multipletests(p, method=correction)[1]
            np.testing.assert_allclose(q, wanted, rtol=1e-9)
    assert [each.decision == "role" for each in found] == [each.q <= 0.05 for each in found]
    assert {each.decision for each in found} >= {"role", "undetermined"}


@pytest.mark.parametrize("test", ["t-skew", "sign-flip"])
def test_max_t_resamples_the_roles_of_a_together(test: str) -> None:
    decision = Decision(test=test, correction="maxT", resamples=499)
    before, scores = _findings(1), _scores(2, _means())
    found = replicate_roles(before, scores, _rules(), decision)
    kept = before.decision == 0
    kept[before.of("block:matched")] = kept[before.of("block")]
    masked = np.where(kept[:, None], scores.values, np.nan).astype(np.float32)
    wanted = judge(replace(scores, values=masked), _rules(), decision)
    for each in found:
        here = (before.of(each.sieve), each.layer, each.head)
        assert each.q == pytest.approx(wanted.q[here])


def test_where_b_holds_nothing_a_family_replicates_falsely_at_most_at_alpha() -> None:
    names, nothing, rule = ("local",), np.full((1, LAYERS, HEADS), 0.1), Rule("local")
    proposed = [judge(_scores(seed, _means(names), names), [rule], USUAL) for seed in range(4)]
    wrong: dict[str, list[bool]] = {"holm": [], "fdr_bh": [], "none": []}
    for seed in range(150):
        scores = _scores(10_000 + seed, nothing, names, units=30)
        for correction, each in wrong.items():
            decision = Decision(test="t", correction=correction)
            found = replicate_roles(proposed[seed % 4], scores, [rule], decision)
            assert len(found) >= 8
            each.append(any(one.decision == "role" for one in found))
    limit = 0.05 + 2 * np.sqrt(0.05 * 0.95 / 150)
    assert np.mean(wrong["holm"]) <= limit
    assert np.mean(wrong["fdr_bh"]) <= limit
    assert np.mean(wrong["none"]) > 0.25


def test_what_a_searched_through_costs_nothing_on_b() -> None:
    before, scores = _findings(1), _scores(2, _means(), spread=0.4)
    found = replicate_roles(before, scores, _rules(), Decision(correction="holm"))
    searched = judge(scores, _rules(), Decision(correction="holm"))
    places = [(before.of(each.sieve), each.layer, each.head) for each in found]
    assert all(each.q <= searched.q[here] for each, here in zip(found, places, strict=True))
    assert sum(each.decision == "role" for each in found) > sum(
        searched.decision[here] == 0 for here in places
    )


def test_roles_without_units_in_b_are_untestable_and_stand_outside_the_family() -> None:
    before, scores = _findings(1), _scores(2, _means())
    first = next(
        each for each in replicate_roles(before, scores, _rules(), Decision(correction="bonferroni"))
    )
    values = scores.values.copy()
    values[0, :, first.layer, first.head] = np.nan
    found = replicate_roles(
        before, replace(scores, values=values), _rules(), Decision(correction="bonferroni")
    )
    local = [each for each in found if each.sieve == "local"]
    assert local[0].decision == "untestable"
    assert np.isnan([local[0].p, local[0].q]).all()
    assert local[1].q == pytest.approx(min(1.0, local[1].p * (len(local) - 1)))


def test_rows_count_both_directions_and_correlate_all_their_heads() -> None:
    before, after = _findings(1), _findings(2)
    found = replicate_roles(before, _scores(2, _means()), _rules(), Decision())
    row = count_replicates("dependency:obj", [3, 4], found, (before.mean, after.mean), _rules())
    one, other = (count_replicates("", [k], found, (before.mean, after.mean), _rules()) for k in (3, 4))
    for name in ("columns", "roles", "role", "not_role", "explained", "undetermined", "untestable", "heads"):
        assert getattr(row, name) == getattr(one, name) + getattr(other, name)
    assert row.roles == row.role + row.not_role + row.undetermined + row.untestable + row.explained
    explained = [replace(found[0], sieve="dependency:obj:→", decision="explained"), *found[1:]]
    again = count_replicates("", [3, 4], explained, (before.mean, after.mean), _rules())
    assert again.explained == 1
    wanted = np.corrcoef(before.mean[3:].ravel(), after.mean[3:].ravel())[0, 1]
    assert row.correlation == pytest.approx(wanted)
    assert row.heads == 2 * LAYERS * HEADS


def test_a_correlation_needs_three_heads_and_spread() -> None:
    rising = np.arange(4.0)
    assert pearson(rising, 2 * rising + 1) == pytest.approx(1)
    assert np.isnan(pearson(rising[:2], rising[:2]))
    assert np.isnan(pearson(rising, np.ones(4)))


def _best(row: str, layer: int, head: int, decision: str, direction: str = "→") -> BestHead:
    values: dict[str, Any] = dict.fromkeys((each.name for each in fields(BestHead)), 0.5)
    told = {"row": row, "direction": direction, "layer": layer, "head": head, "decision": decision}
    return BestHead(**values | told | {"items": 9, "units": 9, "baseline": "-1"})


def test_best_heads_beyond_their_baselines_in_a_are_corrected_together_and_others_only_shown() -> None:
    scores = _scores(2, _means())
    rules = _rules()
    best = [
        _best("dependency:obj", 0, 0, "beyond"),
        _best("dependency:obj", 1, 2, "undetermined", "←"),
        _best("dependency:all", 2, 1, "beyond"),
        _best("trees:uas", 0, 3, "beyond"),
    ]
    whole = judge(scores, rules, Decision(correction="none"))
    columns = [3, 4, 0, 1]
    found = replicate_best_heads(
        best, columns, scores, rules, Decision(correction="bonferroni", family="run")
    )
    plain = judge(scores, [replace(rule, contrast="") for rule in rules], Decision(correction="none"))
    for each, k in zip(found, columns, strict=True):
        here = (k, each.layer, each.head)
        assert each.accuracy == pytest.approx(whole.mean[here])
        assert each.difference == pytest.approx(whole.mean[here] - whole.null[here])
        assert each.p == pytest.approx(plain.p[here])
    assert [each.q for each in found[::2]] == pytest.approx([min(1, 2 * each.p) for each in found[::2]])
    assert found[3].q == pytest.approx(found[3].p)
    assert (found[1].decision, np.isnan(found[1].q)) == ("", True)
    assert {each.decision for each in found} <= {"beyond", "not", "undetermined", ""}
    assert replicate_best_heads([], [], scores, rules, Decision()) == ()


def test_two_folders_are_read_and_every_part_is_told(pair: Callable[..., tuple[Path, Path]]) -> None:
    first, second = pair()
    found = replicate(first, second)
    assert isinstance(found, Replication)
    before = headroles.load(first).findings
    assert len(found.frame()) == (before.decision == 0).sum()
    assert found.by_column()["name"].tolist() == ["local", "block", "dependency:obj:→", "dependency:obj:←"]
    assert found.by_row()["name"].tolist() == ["local", "block", "dependency:obj"]
    for table in (found.by_column(), found.by_row()):
        counts = table[["roles", "role", "not_role", "undetermined", "untestable"]].sum()
        assert counts["roles"] == len(found.frame())
        assert counts["role"] == found.outcomes["role"]
    assert found.outcomes["role"] > len(found.frame()) / 2
    assert (found.by_column()["correlation"] > 0.9).all()
    assert (found.notes, found.only_a, found.only_b, found.best) == ((), (), (), ())
    assert found.decision == headroles.load(first).decision
    assert "dependency:obj" in found._repr_html_()


def test_columns_are_matched_by_name_and_those_of_one_run_are_named(saved: Saved) -> None:
    names = ("dependency:obj:←", "delimiter", "local", "dependency:obj:→")
    first = saved("a", _labelling(_scores(1, _means()), _rules()))
    second = saved("b", _labelling(_scores(2, _means(names), names), _rules(names)))
    found = replicate(first, second)
    assert (found.only_a, found.only_b) == (("block",), ("delimiter",))
    assert found.by_column()["name"].tolist() == ["local", "dependency:obj:→", "dependency:obj:←"]
    assert (found.by_column()["correlation"] > 0.9).all()
    roles = int((headroles.load(first).findings.decision[1] == 0).sum())
    assert roles > 1
    assert f"1 column of A only, with {roles} roles, left out: block." in found.notes
    assert any(note.startswith("1 column of B only, with ") for note in found.notes)


def test_b_is_judged_by_the_margins_test_and_level_of_a(saved: Saved) -> None:
    own = Decision(test="t", alpha=0.2, correction="holm")
    rules = [replace(rule, margin=0.05) for rule in _rules()]
    first = saved("a", _labelling(_scores(1, _means()), rules, own))
    second = saved("b", _labelling(_scores(2, _means()), _rules()))
    found = replicate(first, second)
    assert found.decision == own
    wanted = judge(_scores(2, _means()), rules, own)
    for each in found.replicates:
        here = (wanted.of(each.sieve), each.layer, each.head)
        assert each.margin == 0.05
        assert each.p == pytest.approx(wanted.p[here])
        assert (each.decision == "role") == (each.q <= 0.2)
    assert "B is judged by the margins of A; its own differ in 5 columns." in found.notes
    assert replicate(first, second, correction="bonferroni").decision == replace(own, correction="bonferroni")


def test_a_run_labelled_by_betting_is_replicated_by_the_test_of_b(saved: Saved) -> None:
    stated = [replace(rule, stated_low=-2.0, stated_high=2.0) for rule in _rules()]
    first = saved("a", _labelling(_scores(1, _means(), units=900), stated, Decision(test="betting")))
    second = saved("b", _labelling(_scores(2, _means()), _rules(), Decision(test="t")))
    found = replicate(first, second)
    assert found.decision.test == "t"
    assert found.replicates
    assert not any(np.isnan(head.p) for head in found.replicates)


def test_best_heads_of_a_probe_are_found_by_their_column(saved: Saved) -> None:
    best = (
        _best("dependency:obj", 0, 0, "beyond"),
        _best("dependency:none", 0, 0, "beyond"),
        _best("dependency:obj", -1, -1, "untestable", ""),
    )
    one, other = (_labelling(_scores(seed, _means()), _rules()) for seed in (1, 2))
    first = saved("a", replace(one, probed=ProbeResults(None, best)))
    found = replicate(first, saved("b", other))
    (only,) = found.best
    assert (only.row, only.decision_a) == ("dependency:obj", "beyond")
    assert only.accuracy == pytest.approx(other.findings.mean[3, 0, 0], abs=1e-6)
    assert found.best_heads()["decision"].tolist() == [only.decision]


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"model": {"weights_sha256": "v", "name": "tuned", "layers": LAYERS, "heads": HEADS}},
         r"weights of the models differ \(A tiny, B tuned\)"),
        ({"parser": {"name": "other"}}, r"the parser is parser in A and other in B"),
        ({"probe": {"scheme": "ud"}}, r"the scheme of relations is none in A and ud in B"),
        ({"probe": {"windows": {"size": 128}}}, r"the window in tokens is none in A and 128 in B"),
    ],
)  # fmt: skip
def test_what_else_differs_is_said(
    entries: dict[str, Any], said: str, pair: Callable[..., tuple[Path, Path]]
) -> None:
    found = replicate(*pair(lambda run: _with_manifest(run, **entries)))
    assert pd.Series(found.notes).str.contains(said).sum() == 1


def test_shared_names_and_few_units_are_said(saved: Saved) -> None:
    one, other = (_scores(seed, _means(), units=20) for seed in (1, 2))
    mixed = replace(other, examples=(*one.examples[:3], *other.examples[3:]))
    labelling = _with_manifest(_labelling(mixed, _rules()), source={"name": "x", "sha256": "x"})
    found = replicate(saved("a", _labelling(one, _rules())), saved("b", labelling))
    assert any(note.startswith("3 examples of A and B have the same names") for note in found.notes)
    assert any(
        note.startswith("B has 20 units; below 50, roles that do not hold stay undetermined")
        for note in found.notes
    )


def _summed(scores: Scores, decision: Decision = USUAL) -> Labelling:
    """A run that kept sums of all scores, and the scores of a random 40."""
    sums, sample = (
        moments_of(scores, _rules(), 0),
        take_examples(scores, np.arange(0, len(scores.examples), 7)[:40]),
    )
    plain = _labelling(sample, _rules(), decision)
    kept = {"mode": "moments", "groups": GROUPS, "examples": len(scores.examples), "subsample": 40}
    found = replace(plain, findings=judge(sample, _rules(), decision, sums), moments=sums)
    return _with_manifest(found, kept=kept)


@pytest.mark.parametrize("family", ["sieve", "layer"])
def test_roles_are_tested_on_all_inputs_of_a_run_that_kept_sums(family: str, saved: Saved) -> None:
    own, scores = Decision(family=family), _scores(2, _means(), units=900, spread=0.9)
    first = saved("a", _labelling(_scores(1, _means()), _rules(), own))
    found = replicate(first, saved("b", _summed(scores)))
    wanted = judge(scores, _rules(), own, moments_of(scores, _rules(), 0))
    assert {each.sieve for each in found.replicates} >= {"local", "block", "dependency:obj:→"}
    for each in found.replicates:
        here = (wanted.of(each.sieve), each.layer, each.head)
        assert each.count == 900
        for name in ("mean", "null", "low", "high", "statistic", "p", "p_not"):
            assert getattr(each, name) == pytest.approx(getattr(wanted, name)[here], rel=1e-9, abs=1e-12)
    assert found.outcomes["role"] > 0.9 * len(found.replicates)  # of which a random 40 would show few
    (said,) = found.notes
    assert said.startswith(
        "B kept sums of 900 inputs. Its roles are tested on all of them, with random groups"
    )


def test_columns_of_sums_are_found_by_name_where_runs_have_others(saved: Saved) -> None:
    names = ("dependency:obj:←", "local", "dependency:obj:→")
    scores = _scores(2, _means(), units=300)
    first = saved("a", _labelling(_scores(1, _means(names), names), _rules(names)))
    found = replicate(first, saved("b", _summed(scores)))
    wanted = judge(scores, _rules(), USUAL, moments_of(scores, _rules(), 0))
    for each in found.replicates:
        assert each.p == pytest.approx(wanted.p[wanted.of(each.sieve), each.layer, each.head], rel=1e-9)


def test_medians_are_tested_on_the_subsample_of_sums_with_a_note(saved: Saved) -> None:
    own = Decision(test="sign")
    first = saved("a", _labelling(_scores(1, _means()), _rules(), own))
    second = _summed(_scores(2, _means(), units=900), own)
    found = replicate(first, saved("b", second))
    wanted = judge(second.scores, _rules(), own)
    for each in found.replicates:
        here = (wanted.of(each.sieve), each.layer, each.head)
        assert each.count == 40
        assert each.p == pytest.approx(wanted.p[here], rel=1e-9)
    assert "sign tests its roles on a random 40 of them" in found.notes[0]
    assert found.notes[1].startswith("B has 40 units; below 50, roles that do not hold stay undetermined")


def test_sums_of_few_units_are_told_to_leave_nots_open(saved: Saved) -> None:
    scores = _scores(2, _means(), units=300)
    scores = replace(scores, units=tuple(f"unit {n % 30}" for n in range(300)))
    found = replicate(saved("a", _labelling(_scores(1, _means()), _rules())), saved("b", _summed(scores)))
    assert any(
        re.match(
            r"in its sparsest column B says as much as 2\d random groups of equal weight; below 50", each
        )
        for each in found.notes
    )
    assert not any(each.decision == "not" for each in found.replicates)


def _smaller(run: Labelling) -> Labelling:
    scores = replace(run.scores, values=run.scores.values[:, :, :2])
    model = dict(run.manifest["model"]) | {"layers": 2}
    return _with_manifest(
        replace(run, scores=scores, findings=judge(scores, _rules(), run.decision)), model=model
    )


def _renamed(run: Labelling) -> Labelling:
    names = ("x", "y", "z", "v", "w")
    scores = replace(run.scores, sieves=names)
    return replace(run, scores=scores, findings=judge(scores, _rules(names), run.decision))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (_smaller, "A has 3 layers of 8 heads and B 2 of 8; give two runs of one model"),
        (_renamed, r"none in common \(A has local, block, dependency:obj:→ …; B has x, y, z …\); run both"),
        (lambda run: _with_manifest(run, source={"sha256": "file 1/0"}), "A and B read the same ones"),
        (lambda run: _with_manifest(run, preset="published"), "the preset is calibrated in A and published"),
        (
            lambda run: _with_manifest(run, statistic="bias"),
            "the statistic is selectivity in A and bias in B",
        ),
    ],
)
def test_runs_that_cannot_be_set_side_by_side_are_refused_in_one_sentence(
    change: Callable[[Labelling], Labelling], sentence: str, pair: Callable[..., tuple[Path, Path]]
) -> None:
    first, second = pair(change)
    with pytest.raises(BadInput, match=sentence) as error:
        replicate(first, second)
    assert "\n" not in str(error.value)


def test_folders_settings_and_files_that_do_not_fit_are_one_sentence(
    pair: Callable[..., tuple[Path, Path]], tmp_path: Path
) -> None:
    first, second = pair()
    with pytest.raises(BadInput, match=r"^No such folder: .*/nowhere; give the folder of a finished run"):
        replicate(first, tmp_path / "nowhere")
    with pytest.raises(UnknownName, match="no correction is called 'hollm'; did you mean 'holm'"):
        replicate(first, second, correction="hollm")
    with pytest.raises(BadInput, match="cannot be written"):
        replicate(first, second, out=tmp_path)
    (second / "findings.csv").write_text("nothing\n")
    with pytest.raises(BadInput, match="damaged or from another version"):
        replicate(first, second)


def test_the_command_prints_counts_and_writes_a_row_per_role(
    pair: Callable[..., tuple[Path, Path]], command: Command, tmp_path: Path
) -> None:
    first, second = pair()
    table = tmp_path / "found.csv"
    code, out, err = command("replicate", first, second, "--correction", "holm", "--out", table)
    assert (code, err) == (0, "")
    found = replicate(first, second, correction="holm")
    pd.testing.assert_frame_equal(pd.read_csv(table), found.frame(), check_dtype=False)
    assert f"{found.outcomes['role']} of {len(found.replicates)} roles of A hold on B" in out
    assert "holm over" in out
    assert "the roles of A, of" in out
    for row in found.rows:
        (line,) = [each.split() for each in out.splitlines() if each.startswith(f"{row.name} ")]
        counts = (row.roles, row.role, row.not_role, row.undetermined, row.untestable)
        assert row.explained == 0
        assert line[1:6] == [str(number) for number in counts]
    code, out, err = command("replicate", first, first)
    assert (code, out) == (1, "")
    assert err.startswith("headroles: a replication needs new inputs")


def test_without_a_role_in_a_there_is_nothing_to_replicate(
    saved: Saved, command: Command, tmp_path: Path
) -> None:
    first = saved("a", _labelling(_scores(1, _means() * 0), _rules()))
    second = saved("b", _labelling(_scores(2, _means()), _rules()))
    code, out, _ = command("replicate", first, second, "--out", tmp_path / "none.csv")
    assert code == 0
    assert "A has no role in the columns of both" in out
    assert "3 without a role in A" in out
    assert pd.read_csv(tmp_path / "none.csv").empty


def test_best_heads_are_shown_where_a_found_them_beyond_their_baselines(
    saved: Saved, command: Command
) -> None:
    best = (_best("dependency:obj", 0, 0, "beyond"), _best("dependency:obj", 0, 1, "not", "←"))
    one, other = (_labelling(_scores(seed, _means()), _rules()) for seed in (1, 2))
    _, out, _ = command(
        "replicate", saved("a", replace(one, probed=ProbeResults(None, best))), saved("b", other)
    )
    (line,) = [each for each in out.splitlines() if each.startswith("dependency:obj  ") and "0-" in each]
    assert "0-0 →" in line
    held = int("beyond" in line)
    assert f"Of the best heads of 1 row beyond their baselines in A, {held} are on B." in out


def _sketch(*texts: str) -> str:
    sketch = TextSketch()
    for text in texts:
        sketch.add(text)
    return sketch.encode()


def test_equal_names_of_other_texts_are_no_matter(saved: Saved) -> None:
    one, other = (_scores(seed, _means()) for seed in (1, 2))
    named = replace(other, examples=one.examples, units=one.units)
    folders = [
        saved(name, _with_manifest(_labelling(scores, _rules()), source={"sha256": name, "texts": texts}))
        for name, scores, texts in (("a", one, _sketch("x", "y")), ("b", named, _sketch("z", "w")))
    ]
    assert replicate(*folders).notes == ()


@pytest.mark.parametrize(("texts", "share"), [(("x", "z"), "50"), (("y", "x"), "100")])
def test_equal_texts_under_other_names_are_said(texts: tuple[str, ...], share: str, saved: Saved) -> None:
    folders = [
        saved(
            str(seed),
            _with_manifest(
                _labelling(_scores(seed, _means()), _rules()), source={"sha256": str(seed), "texts": sketch}
            ),
        )
        for seed, sketch in ((1, _sketch("x", "y")), (2, _sketch(*texts)))
    ]
    (note,) = replicate(*folders).notes
    assert note == (
        f"about {share}.0\u00a0% of the texts of B are texts of A, by their hashes: B is no independent test."
    )


def _gap(
    head: int, difference: float, p: float, q: float = 0.01, *, measure: str = "accuracy", first: str = "pro"
) -> ConditionGap:
    second = {"pro": "anti", "feminine": "masculine"}[first]
    ends = (difference - 0.1, difference + 0.1)
    return ConditionGap(0, head, measure, first, second, 0.5, 0.5, 0.5, difference, *ends, p, q)


def test_the_command_shows_gaps_and_says_first_what_was_found(saved: Saved, command: Command) -> None:
    gaps = (_gap(0, 0.2, 0.001), _gap(1, -0.2, 0.001))
    runs = [
        replace(
            _labelling(_scores(seed, _means()), _rules()), probed=ProbeResults(None, (), gaps=gaps[:kept])
        )
        for seed, kept in ((1, 2), (2, 1))
    ]
    folders = [saved(name, run) for name, run in zip("ab", runs, strict=True)]
    code, out, _ = command("replicate", *folders)
    assert code == 0
    assert "roles of A hold on B" in " ".join(out.splitlines()[:3])
    assert "Of 2 gaps between conditions in A, 1 hold on B." in " ".join(out.split())
    lines = [line.split() for line in out.splitlines() if line.startswith("pro − anti")]
    assert [(line[3], line[-1]) for line in lines] == [("0-0", "gap"), ("0-1", "untestable")]
    assert replicate(*folders).condition_gaps()["decision"].tolist() == ["gap", "untestable"]


def test_roles_of_a_planted_model_hold_on_other_texts(
    finished: Path, table: Path, label: Callable[..., Labelling], tmp_path: Path
) -> None:
    lines = table.read_text().splitlines()
    other = tmp_path / "other.tsv"
    other.write_text("\n".join([lines[0], *(f"red {line}" for line in lines[1:])]) + "\n")
    label(data=other, out=tmp_path / "run")
    found = replicate(finished, tmp_path / "run")
    assert found.outcomes["role"] == len(found.replicates) > 2
