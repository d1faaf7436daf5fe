"""Several runs in an atlas: agreement, in how many a role holds, steps of a training, parts of one corpus."""

import csv
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import combine_pvalues

import headroles
from headroles import Atlas, Labelling, atlas
from headroles.errors import BadInput
from headroles.kinds import report_of
from headroles.records import Decision, Rule
from headroles.reports import figures_of
from headroles.stats import judge
from tests.conftest import Command
from tests.support.scores import scored
from tests.support.texts import sketches_of

ROLES = ("local", "block")
LAYERS, HEADS, UNITS = 2, 4, 80
LEVELS = np.array([0.3, 0.2, 0.13, 0.1, 0.07, 0.0, -0.05, 0.16])
SIEVES = ["local", "delimiter"]


def _run(means: np.ndarray, seed: int, *, names: Sequence[str] = ROLES, text: str = "") -> Labelling:
    """Return a run of one model whose heads have these means, the second role like the first."""
    noise = np.random.default_rng(seed).normal(0, 0.15, (len(names), UNITS, LAYERS, HEADS))
    rules = [Rule(name, low=-1.0, high=1.0) for name in names]
    scores = scored(means.reshape(1, 1, LAYERS, HEADS) + noise, rules)
    source = {"identity": sketches_of(text)} if text else {}
    model = {"name": "tiny", "layers": LAYERS, "heads": HEADS}
    facts: dict[str, Any] = {"headroles": "0.1.0", "model": model, "task": f"task {seed}", "source": source}
    return Labelling(scores, judge(scores, rules, Decision()), Decision(), facts | {"preset": "calibrated"})


def _with(run: Labelling, **entries: Any) -> Labelling:
    return replace(run, manifest=dict(run.manifest) | entries)


def _atlas(folder: Path, runs: Sequence[Labelling], **options: Any) -> Atlas:
    """Write runs into folders, and return their atlas."""
    places = [folder / f"run{number}" for number in range(len(runs))]
    for place, run in zip(places, runs, strict=True):
        headroles.save(run, place, overwrite=True)
    return atlas(places, **options)


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.usefixtures("unguarded")
def test_consensus_is_the_partial_conjunction_of_the_runs_own_p(apart: bool, tmp_path: Path) -> None:
    from statsmodels.stats.multitest import multipletests

    levels = [LEVELS, np.roll(LEVELS, 1), LEVELS]
    runs = [_run(level, seed, text=str(seed * apart)) for seed, level in enumerate(levels, 1)]
    found = _atlas(tmp_path, runs)
    assert {row.combination for row in found.consensus} == {"fisher" if apart else "bonferroni"}
    every, some = (found.consensus["at_least"] == 3).sum(), (found.consensus["held"] > 0).sum()
    assert f"{every} of {some} labels hold in all 3 runs, " in report_of(found).answer.sentences[0].text
    for place, role in enumerate(ROLES):
        rows = [row for row in found.consensus if row.sieve == role]
        p = np.sort(np.stack([run.findings.p[place].ravel() for run in runs]), axis=0)
        each = [
            [combine_pvalues(head[u:], "fisher").pvalue for head in p.T]
            if apart
            else np.minimum(1, (3 - u) * p[u])
            for u in range(3)
        ]
        q = [multipletests(row, method="fdr_bh")[1] for row in each]
        np.testing.assert_allclose([row.p_all for row in rows], each[2])
        np.testing.assert_allclose([row.q_all for row in rows], q[2])
        at_least = [next((u for u in range(3) if q[u][head] > 0.05), 3) for head in range(len(rows))]
        assert [row.at_least for row in rows] == at_least
        assert {0, 3} <= {*at_least}
        held = sum((run.findings.decision[place].ravel() == 0).astype(int) for run in runs)
        assert [row.held for row in rows] == held.tolist()
        assert [(row.layer, row.head) for row in rows] == [(j // HEADS, j % HEADS) for j in range(len(rows))]


def test_roles_that_no_run_could_test_are_counted_nowhere_and_other_models_form_groups_of_their_own(
    tmp_path: Path,
) -> None:
    runs = [_run(LEVELS, 1, text="a"), _run(LEVELS, 2, names=ROLES[:1], text="b")]
    two = _atlas(tmp_path, runs)
    assert {row.sieve for row in two.consensus} == {"local"}
    assert min(row.r for row in two.consensus) < 0.05 < max(row.r for row in two.consensus)
    assert all(np.isnan(row.mean) for row in two.consensus)
    silent = []
    for run in (_run(LEVELS, 1), _run(LEVELS, 2)):
        values = run.scores.values.copy()
        values[1] = np.nan
        scores = replace(run.scores, values=values)
        silent.append(replace(run, scores=scores, findings=judge(scores, run.findings.rules, run.decision)))
    _atlas(tmp_path, silent, out=tmp_path / "atlas")
    rows = list(csv.DictReader(headroles.table(tmp_path / "atlas", "in-runs", "csv").splitlines()))
    known = [("local", "2", False), ("block", "0", True)]
    assert [(row["role"], row["runs"], row["at_least_1"] == "") for row in rows] == known
    five = _atlas(tmp_path, [_run(LEVELS, seed, text=str(seed)) for seed in range(5)])
    assert all(row.low < row.mean < row.high and np.isnan(row.r) for row in five.consensus)
    for count in (2, 5):  # the last two runs have a text in common
        shared = _atlas(
            tmp_path, [_run(LEVELS, seed, text=str(min(seed, count - 2))) for seed in range(count)]
        )
        assert all(np.isnan([row.r, row.mean]).all() for row in shared.consensus)
        assert any("share inputs (task" in remark for remark in shared.remarks)
    models = [
        _with(_run(LEVELS, seed), model={"name": name, "weights_sha256": name, "layers": 2, "heads": 4})
        for seed, name in enumerate("aba")
    ]
    found = _atlas(tmp_path, models)
    assert [run.group for run in found.runs] == ["a, calibrated", "b, calibrated", "a, calibrated"]
    assert {row.group for row in found.agreement} == {"a, calibrated"}
    assert any("no other run of the same model and rule" in remark for remark in found.remarks)


@pytest.mark.with_report
@pytest.mark.parametrize("bets", [(False, True), (True, True)])
def test_roles_a_head_of_runs_that_bet_are_dashes(bets: Sequence[bool], tmp_path: Path) -> None:
    decision, out = Decision(test="betting"), tmp_path / "atlas"
    runs = [_run(LEVELS, seed) for seed in range(len(bets))]
    for place, run in enumerate(runs):
        if bets[place]:
            stated = [replace(rule, stated_low=-1.0, stated_high=1.0) for rule in run.findings.rules]
            bet = judge(run.scores, stated, decision)
            runs[place] = replace(run, findings=bet, decision=decision)
    found = _atlas(tmp_path, runs, out=out)
    assert [len(rows) == 0 for rows in found.several] == [*bets]
    header, _, *lines = [line.split("|") for line in headroles.table(out, "runs").splitlines()[2:]]
    known = [line[column].strip() for line in lines for column, name in enumerate(header) if "[95" in name]
    assert [cell == "–" for cell in known] == [cell for bet in bets for cell in (bet, bet, True)]
    drawn = figures_of(found, width=120.0)["several"].to_plotly_json()["data"]
    assert {line["name"] for line in drawn} == {
        run.name for run, bet in zip(found.runs, bets, strict=True) if not bet
    }
    assert "Roles a head by layer" in (out / "report.html").read_text(encoding="utf-8")


def test_planted_steps_are_found_slopes_are_those_of_the_means_and_other_runs_are_refused(
    tmp_path: Path,
) -> None:
    from statsmodels.stats.multitest import multipletests

    levels = np.zeros((4, 8))
    levels[:, 0] = levels[2:, 1] = levels[:2, 2] = 0.3
    runs = [_run(level, seed) for seed, level in enumerate(levels, 1)]
    training = _atlas(tmp_path, runs, steps=True)
    names = [run.name for run in training.runs]
    rows = {(row.sieve, row.layer * HEADS + row.head): row for row in training.steps}
    assert len(rows) == 2 * 8
    for role in ROLES:
        always, late, lost, never = (rows[role, head] for head in range(4))
        assert (always.emerged, always.latest, always.earliest, always.lost) == (names[0], names[0], "", "")
        assert (late.emerged, late.earliest, late.latest, late.trend) == (*[names[2]] * 3, "rises")
        assert (lost.emerged, lost.lost, lost.trend) == ("", names[2], "falls")
        assert (never.emerged, never.latest, never.lost) == ("", "", "")
        own = [row for row in training.steps if row.sieve == role]
        wanted = multipletests([row.p for row in own], method="fdr_bh")[1]
        np.testing.assert_allclose([row.q for row in own], wanted)
    for row in training.steps:
        place = ROLES.index(row.sieve)
        means = [run.scores.values[place, :, row.layer, row.head].mean() for run in runs]
        assert row.slope == pytest.approx(np.polyfit(range(4), means, 1)[0], abs=1e-6)
        assert row.low < row.slope < row.high
    last = runs.pop()
    rules = tuple(replace(rule, margin=0.2) for rule in last.findings.rules)
    for sentence, changed in {
        "the margins and thresholds of 'task 4' differ": replace(
            last, findings=replace(last.findings, rules=rules)
        ),
        "the rule of decision of 'task 4": replace(last, decision=Decision(alpha=0.1)),
        "the roles of 'task 4' differ": _run(LEVELS, 4, names=ROLES[:1]),
    }.items():
        with pytest.raises(BadInput, match=sentence):
            _atlas(tmp_path, [*runs, changed], steps=True)


def test_the_folder_holds_the_findings_of_the_runs_and_gives_them_back(
    finished: Path, label: Any, tmp_path: Path, command: Command
) -> None:
    out, short = tmp_path / "deep" / "atlas", tmp_path / "short"
    label(sieve=["local", "delimiter", "block"], limit=52, out=short)
    both = atlas([finished, short], out=out)
    for place, folder in enumerate((finished, short)):
        run = headroles.load(folder)
        found, table = both.findings[place], run.evidence()
        assert found.verdict.ravel().tolist() == table["verdict"].tolist()
        np.testing.assert_array_equal(found.numbers["mean"].ravel(), table["mean"])
        np.testing.assert_array_equal(found.held.ravel(), table["verdict"] == "role")
        assert both.runs[place].manifest_sha256 == sha256((folder / "manifest.json").read_bytes()).hexdigest()
        assert both.runs[place].weights == run.manifest["model"]["weights_sha256"]
    assert [run.name for run in both.runs] == ["QNLI finished", "QNLI short"]
    facts = json.loads(command("show", out, "--json")[1])
    assert (facts["kind"], len(facts["runs"])) == ("atlas", 2)
    for key, name in (("agreement", "agreement"), ("in_runs", "in-runs"), ("consensus", "consensus")):
        lines = list(csv.DictReader(headroles.table(out, name, "csv").splitlines()))
        assert len(facts[key]) == len(lines) > 0
        for row, line in zip(facts[key], lines, strict=True):
            assert {column: "" if cell is None else str(cell) for column, cell in row.items()} == line
    with pytest.raises(BadInput, match="with other settings"):
        atlas([short, finished], out=out)
    with pytest.raises(BadInput, match="no atlas of headroles"):
        atlas([short, finished], out=Path(shutil.copytree(finished, tmp_path / "run")), overwrite=True)


def test_parts_of_one_corpus_give_the_findings_of_the_whole(label: Any, tmp_path: Path) -> None:
    wanted, at = label(sieve=SIEVES), 27
    folders = []
    for number, places in enumerate((np.arange(at), np.arange(at, 60))):
        own = wanted.scores.take(places)
        counts = {"examples": len(places), "units": len({*own.units})}
        part = _with(replace(wanted, scores=own), source={"sha256": str(number)}, counts=counts)
        folders.append(tmp_path / f"part{number}")
        findings = judge(own, wanted.findings.rules, wanted.decision)
        headroles.save(replace(part, findings=findings, assessment=None, exhibited=None), folders[-1])
    found = atlas(folders, parts=True)
    assert [run.examples for run in found.runs] == [60, at, 60 - at]
    assert found.runs[0].name.startswith("whole")
    assert found.runs[0].name not in {name for row in found.agreement for name in (row.run_a, row.run_b)}
    roles = [wanted.findings.of(name) for name in found.findings[0].roles]
    for name in ("mean", "p", "q", "effect", "count"):
        numbers = found.findings[0].numbers[name]
        np.testing.assert_allclose(
            numbers, getattr(wanted.findings, name)[roles], rtol=1e-9, atol=1e-12, err_msg=name
        )


@pytest.mark.ci
def test_parts_that_kept_sums_give_the_sums_of_the_whole(table: Path, label: Any, tmp_path: Path) -> None:
    header, *lines = table.read_text().splitlines(keepends=True)
    folders = []
    for number, rows in enumerate((lines[:27], lines[27:])):
        file = tmp_path / f"part{number}.tsv"
        file.write_text(header + "".join(rows))
        folders.append(tmp_path / file.stem)
        label(data=file, keep=20, sieve=SIEVES, out=folders[-1])
    wanted = label(keep=20, sieve=SIEVES).findings
    found = atlas(folders, parts=True).findings[0]
    roles = [wanted.of(name) for name in found.roles]
    for name in ("mean", "count"):
        np.testing.assert_allclose(
            found.numbers[name], getattr(wanted, name)[roles], rtol=1e-4, atol=1e-6, err_msg=name
        )
