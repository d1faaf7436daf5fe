"""What an atlas says over all its runs: in how many a head has a role, and from which step of a training."""

import json
import re
from collections.abc import Sequence
from dataclasses import astuple, replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import combine_pvalues
from statsmodels.stats.multitest import multipletests

from headroles import Atlas, Labelling
from headroles.comparing.collect import ReadRun, atlas_of
from headroles.errors import BadInput
from headroles.inputs.sketch import TextSketch
from headroles.records.example import Scores
from headroles.records.rules.rule import Decision, Rule
from headroles.reports.answer.atlas import answer_of
from headroles.reports.atlas_page import atlas_page
from headroles.reports.figures.atlas import agreement_panel
from headroles.reports.print.tables import atlas_tables
from headroles.reports.sections.across_sheets import counts_sheet, emerged_sheet
from headroles.reports.words.citations import works_cited
from headroles.reports.words.methods import methods_text
from headroles.stats.across.meta import pool_means
from headroles.stats.engine import judge
from headroles.terminal.facts import result_json

ROLES = ("local", "block")
LAYERS, HEADS = 2, 4
UNITS = 80


def _sketch(*texts: str) -> str:
    sketch = TextSketch()
    for text in texts:
        sketch.add(text)
    return sketch.encode()


def _run(
    means: np.ndarray, seed: int, *, names: Sequence[str] = ROLES, spread: float = 0.15, texts: str = ""
) -> Labelling:
    """A run of one model whose heads have these means, the second role like the first."""
    shape = (len(names), UNITS, LAYERS, HEADS)
    noise = np.random.default_rng(seed).normal(0, spread, shape)
    keys = tuple(f"e{number}" for number in range(UNITS))
    scores = Scores(
        sieves=tuple(names),
        examples=keys,
        units=keys,
        tokens=np.full(UNITS, 20),
        cells=np.full(shape[:2], 12.5),
        values=(means.reshape(1, 1, LAYERS, HEADS) + noise).astype(np.float32),
        null=np.zeros(shape[:2]),
    )
    rules = [Rule(name, low=-1.0, high=1.0) for name in names]
    facts: dict[str, Any] = {"model": {"name": "tiny"}, "task": f"task {seed}", "source": {"texts": texts}}
    return Labelling(scores, judge(scores, rules, Decision()), Decision(), facts)


def _atlas(runs: Sequence[Labelling], steps: bool = False) -> Atlas:
    return atlas_of([ReadRun(f"run{place}", "0" * 64, run) for place, run in enumerate(runs)], steps)


LEVELS = np.array([0.3, 0.2, 0.13, 0.1, 0.07, 0.0, -0.05, 0.16])


@pytest.mark.parametrize("apart", [True, False])
def test_consensus_is_the_partial_conjunction_of_the_runs_own_p(apart: bool) -> None:
    levels = [LEVELS, np.roll(LEVELS, 1), LEVELS]
    runs = [_run(level, seed, texts=_sketch(str(seed * apart))) for seed, level in enumerate(levels, 1)]
    found = _atlas(runs)
    assert {row.combination for row in found.consensus} == {"fisher" if apart else "bonferroni"}
    for place, role in enumerate(ROLES):
        rows = [row for row in found.consensus if row.sieve == role]
        p = np.stack([run.findings.p[place].ravel() for run in runs])
        largest = np.sort(p, axis=0)
        each = [
            [combine_pvalues(head[u:], "fisher").pvalue for head in largest.T]
            if apart
            else np.minimum(1, (3 - u) * largest[u])
            for u in range(3)
        ]
        q = [multipletests(row, method="fdr_bh")[1] for row in each]
        np.testing.assert_allclose([row.p_all for row in rows], each[2])
        np.testing.assert_allclose([row.q_all for row in rows], q[2])
        at_least = [next((u for u in range(3) if q[u][head] > 0.05), 3) for head in range(len(rows))]
        assert [row.at_least for row in rows] == at_least
        assert {0, 3} <= set(at_least)
        held = sum((run.findings.decision[place].ravel() == 0).astype(int) for run in runs)
        assert [row.held for row in rows] == held.tolist()
        assert all((row.runs, row.group) == (3, found.groups[0]) for row in rows)
        assert [(row.layer, row.head) for row in rows] == [(j // HEADS, j % HEADS) for j in range(len(rows))]


def test_two_runs_have_r_values_and_five_have_pooled_means() -> None:
    runs = [_run(LEVELS, seed) for seed in range(5)]
    two, five = _atlas(runs[:2]), _atlas(runs)
    assert all(0 <= row.r <= 1 and np.isnan(row.mean) for row in two.consensus)
    assert min(row.r for row in two.consensus) < 0.05 < max(row.r for row in two.consensus)
    for row in five.consensus:
        assert np.isnan(row.r)
        own = [run.scores.values[ROLES.index(row.sieve), :, row.layer, row.head] for run in runs]
        errors = np.array([each.std(ddof=1) / np.sqrt(UNITS) for each in own])
        wanted = pool_means(np.array([each.mean() for each in own]), errors)
        assert (row.mean, row.low, row.high) == pytest.approx(
            (wanted.mean, wanted.low, wanted.high), abs=1e-6
        )
        assert row.low < LEVELS[row.layer * HEADS + row.head] + 0.05


def test_a_role_that_no_run_could_test_is_counted_nowhere() -> None:
    runs = [_run(LEVELS, seed) for seed in (1, 2)]
    for place, run in enumerate(runs):
        values = run.scores.values.copy()
        values[1] = np.nan
        scores = replace(run.scores, values=values)
        judged = judge(scores, run.findings.rules, run.decision)
        runs[place] = replace(run, scores=scores, findings=judged)
    sheet = counts_sheet(_atlas(runs))
    row = dict(zip(sheet.columns, sheet.values[1], strict=True))
    assert (row["role"], row["runs"], row["at_least_1"], row["labelled_in_all"]) == ("block", 0, None, None)
    assert sheet.texts[1][-1] == "–"
    assert sheet.values[0][-1] > 0


def test_roles_of_one_run_only_and_groups_of_one_run_have_no_row() -> None:
    runs = [_run(LEVELS, 1), _run(LEVELS, 2, names=ROLES[:1])]
    assert {row.sieve for row in _atlas(runs).consensus} == {"local"}
    other = replace(runs[1], manifest={"model": {"name": "other"}})
    assert _atlas([runs[0], other]).consensus == ()


def test_runs_without_the_role_anywhere_say_at_most_alpha_in_some_run() -> None:
    wrong = []
    for seed in range(60):
        runs = [
            _run(np.full(8, 0.1), 10 * seed + place, texts=_sketch(f"{seed} {place}")) for place in range(3)
        ]
        rows = [row for row in _atlas(runs).consensus if row.sieve == "local"]
        wrong.append(any(row.at_least for row in rows))
    assert np.mean(wrong) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 60)


def test_sentence_and_sheet_count_the_rows() -> None:
    found = _atlas([_run(LEVELS, seed) for seed in range(3)])
    everywhere = sum(row.at_least == 3 for row in found.consensus)
    two = sum(row.at_least > 1 for row in found.consensus)
    text = " ".join(f"{sentence.lead} {sentence.text}" for sentence in answer_of(found).sentences)
    assert f"{everywhere} roles of a head hold in all 3 runs" in text
    assert f"{two} hold in at least two" in text
    assert "partial conjunction (Benjamini and Heller, 2008)" in methods_text(found)
    sheet = counts_sheet(found)
    assert [line[0].text for line in sheet.rows] == list(ROLES)
    page = atlas_page(found)
    assert 'id="across"' in page
    assert 'id="steps"' not in page


ALWAYS, LATE, LOST, NEVER = 0, 1, 2, 3


def _checkpoints() -> list[Labelling]:
    """Four checkpoints: one head always has the role, one from the third on, one until the second."""
    levels = np.zeros((4, 8))
    levels[:, ALWAYS] = 0.3
    levels[2:, LATE] = 0.3
    levels[:2, LOST] = 0.3
    return [_run(level, seed) for seed, level in enumerate(levels, 1)]


@pytest.fixture(scope="module")
def training() -> Atlas:
    """The atlas of the checkpoints."""
    return _atlas(_checkpoints(), steps=True)


def test_planted_steps_are_found(training: Atlas) -> None:
    names = [run.name for run in training.runs]
    rows = {(row.sieve, row.layer * HEADS + row.head): row for row in training.steps}
    assert len(rows) == 2 * 8
    for role in ROLES:
        always, late, lost, never = (rows[role, head] for head in (ALWAYS, LATE, LOST, NEVER))
        assert (always.emerged, always.latest, always.earliest, always.lost) == (names[0], names[0], "", "")
        assert (late.emerged, late.earliest, late.latest, late.trend) == (*[names[2]] * 3, "rises")
        assert (lost.emerged, lost.lost, lost.trend) == ("", names[2], "falls")
        assert (never.emerged, never.latest, never.lost) == ("", "", "")


def test_checkpoints_on_one_task_have_the_names_of_their_folders() -> None:
    weights = [
        {"model": {"name": "tiny", "weights_sha256": str(place)}, "task": "MRPC"} for place in range(4)
    ]
    runs = [replace(run, manifest=fact) for run, fact in zip(_checkpoints(), weights, strict=True)]
    found = _atlas(runs, steps=True)
    assert [run.name for run in found.runs] == ["run0", "run1", "run2", "run3"]
    assert {row.emerged for row in found.steps} == {"", "run0", "run2"}
    assert found.remarks == ()
    title = re.sub("[\u2066-\u2069]", "", answer_of(found).title)
    assert title == "Which roles come and go from run0 to run3?"
    assert "no other run of the same model" in " ".join(_atlas(runs).remarks)


def test_slopes_are_those_of_the_means(training: Atlas) -> None:
    runs = _checkpoints()
    for row in training.steps:
        place = ROLES.index(row.sieve)
        means = [run.scores.values[place, :, row.layer, row.head].mean() for run in runs]
        assert row.slope == pytest.approx(np.polyfit(range(4), means, 1)[0], abs=1e-6)
        assert row.low < row.slope < row.high
    for role in ROLES:
        own = [row for row in training.steps if row.sieve == role]
        wanted = multipletests([row.p for row in own], method="fdr_bh")[1]
        np.testing.assert_allclose([row.q for row in own], wanted)


def test_the_page_and_the_answer_tell_the_steps(training: Atlas) -> None:
    text = " ".join(f"{sentence.lead} {sentence.text}" for sentence in answer_of(training).sentences)
    assert "4 roles of heads hold at the last step, 2 of them not yet at the first" in text
    assert "2 were lost on the way" in text
    sheet = emerged_sheet(training)
    names = [run.name for run in training.runs]
    assert [dict(zip(sheet.columns, row, strict=True))[names[2]] for row in sheet.values] == [1, 1]
    assert "fixed sequence" in " ".join(methods_text(training).split())
    assert 'id="steps"' in atlas_page(training)
    assert atlas_page(training).count('aria-label="Roles of every head"') == 1


def test_a_map_of_many_pairs_has_no_numbers_and_names_pairs_on_hover() -> None:
    few, many = (_atlas([_run(LEVELS, seed) for seed in range(count)]) for count in (3, 6))
    for found, written in ((few, True), (many, False)):
        figure = agreement_panel(found, 0, found.groups[0]).figure
        assert any(figure["data"][0]["text"]) == written
        assert len(figure["data"][0]["hovertext"]) == len(figure["data"][0]["text"])
        assert len(figure["layout"]["xaxis"]["ticktext"]) == (4 if written else 0)
    assert "task 0 and task 1" in figure["data"][0]["hovertext"]


def test_every_work_that_the_methods_name_is_cited(training: Atlas) -> None:
    five = _atlas([_run(LEVELS, seed) for seed in range(5)])
    for found in (training, five):
        named = set(re.findall(r"([A-Z]\w+ and [A-Z]\w+), (\d{4})", methods_text(found)))
        cited = {tuple(work.short.split(", ")) for work in works_cited(found)} - {("Cohen", "1960")}
        assert named == cited


def test_every_table_of_a_training_can_be_printed(training: Atlas) -> None:
    for name, sheet in atlas_tables(training).items():
        table = sheet()
        assert table.caption, name
        assert len(table.columns or table.header) > 1, name
    assert len(atlas_tables(training)["trends"]().values) == len(training.steps)
    assert len(atlas_tables(training)["consensus"]().values) == len(training.consensus)


def test_json_has_every_row_of_the_training(training: Atlas) -> None:
    facts = json.loads(result_json(training, "atlas/steps"))
    assert [tuple(row.values()) for row in facts["trends"]] == [astuple(row) for row in training.steps]
    assert len(facts["consensus"]) == len(training.consensus)
    assert [row["labelled_in_all"] for row in facts["in_runs"]] == [1, 1]


def _other_units(run: Labelling) -> Labelling:
    keys = tuple(f"x{number}" for number in range(UNITS))
    return replace(run, scores=replace(run.scores, examples=keys, units=keys))


def _other_margin(run: Labelling) -> Labelling:
    rules = tuple(replace(rule, margin=0.2) for rule in run.findings.rules)
    return replace(run, findings=replace(run.findings, rules=rules))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (_other_units, "the units of 'task 4' differ from those of 'task 1'; label all checkpoints on the"),
        (_other_margin, "the margins and thresholds of 'task 4' differ"),
        (lambda run: replace(run, decision=Decision(alpha=0.1)), "the rule of decision of 'task 4.* differ"),
        (lambda run: _run(LEVELS, 4, names=ROLES[:1]), "the roles of 'task 4' differ"),
    ],
)
def test_runs_that_cannot_be_steps_of_one_training_are_refused(change: Any, sentence: str) -> None:
    *first, last = _checkpoints()
    with pytest.raises(BadInput, match=sentence):
        _atlas([*first, change(last)], steps=True)


def test_a_trend_needs_three_checkpoints() -> None:
    with pytest.raises(BadInput, match="a trend needs 3 checkpoints or more, but got 2; name more runs, or"):
        _atlas(_checkpoints()[:2], steps=True)
