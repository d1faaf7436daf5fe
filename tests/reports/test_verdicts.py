"""Explained, absent and strong heads in the words of report, terminal, notebook and tables."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.rules.rule import Decision, Rule
from headroles.reports.page import page
from headroles.reports.sections.role_sheets import roles_sheet, verdict_sheet
from headroles.reports.summary.embedded import findings_json
from headroles.reports.summary.summary import summarise
from headroles.reports.words import words
from headroles.stats.assessment.assess import assess
from headroles.stats.assessment.extent import ABSENT
from headroles.stats.engine import judge
from headroles.terminal.console import Detail
from headroles.terminal.label import show_labelling

RULES = (
    Rule("syntactic", contrast="syntactic:matched", stronger="syntactic:class"),
    Rule("syntactic:matched", margin=0.02, role=False),
    Rule("syntactic:class", margin=0.02, role=False),
    Rule("local"),
)
#          strong, role, explained, absent, not, in a few units
MEANS = np.array([
    [0.3, 0.3, 0.3, 0.0, 0.06, 0.0],
    [0.1, 0.1, -0.1, 0.0, 0.1, 0.0],
    [0.1, -0.1, 0.1, 0.0, 0.1, 0.0],
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.16],
])  # fmt: skip
STRONG, ROLE, EXPLAINED, ABSENT_HEAD, NOT, RARE = range(6)


@pytest.fixture(scope="module")
def run() -> Labelling:
    """Six heads, one of each verdict; the local head scores 0.9 in a few units and 0 in the others."""
    chance = np.random.default_rng(0)
    units = 120
    values = MEANS[:, None] + chance.normal(0, 0.03, (4, units, 6))
    values[3, :, RARE] = np.where(np.arange(units) < 30, 0.9, 0.0) + chance.normal(0, 0.01, units)
    names = tuple(f"x{unit}" for unit in range(units))
    scores = Scores(
        sieves=tuple(rule.sieve for rule in RULES),
        examples=names,
        units=names,
        tokens=np.full(units, 9),
        cells=np.full((4, units), 5.0),
        values=values[:, :, None].astype(np.float32),
        null=np.zeros((4, units)),
    )
    findings = judge(scores, RULES, Decision())
    facts = {"model": {"name": "tiny/model"}, "settings": {"splits": 4}}
    assessed = assess(scores, RULES, Decision(), findings)
    return Labelling(scores, findings, Decision(), facts, assessment=assessed)


def test_the_words_of_the_page_state_the_bound_of_the_assessment() -> None:
    assert words.ABSENT == ABSENT


def test_a_tally_counts_strong_explained_and_absent_heads(run: Labelling) -> None:
    syntactic, local = (role.tally for role in summarise(run).roles)
    assert (syntactic.role, syntactic.strong, syntactic.explained) == (2, 1, 1)
    assert (syntactic.not_role, syntactic.absent, syntactic.heads) == (3, 2, 6)
    assert (local.role, local.strong, local.explained, local.absent) == (1, 0, 0, 5)


def test_a_role_of_few_units_is_told_in_one_line(run: Labelling) -> None:
    syntactic, local = summarise(run).supports
    assert (syntactic.minority, local.minority) == (0, 1)
    assert local.least == pytest.approx(0.25)
    assert "1 of 1 label holds in under half of the units (at least 25\xa0%), by the score alone" in page(run)


def test_the_terminal_has_a_column_of_explained_heads_and_a_line_of_each_other_verdict(
    run: Labelling,
) -> None:
    console = Console(file=io.StringIO(), width=200)
    show_labelling(console, run, "here", Detail(verbose=True))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    (row,) = [line.split() for line in lines if line.startswith("syntactic ")]
    assert row[1:5] == ["2", "1", "3", "0"]
    assert "strong  syntactic: 2 heads beyond distance, 1 of them beyond word class (0-0)" in lines
    assert "absent  not, and mean within ± 0.02 of chance: syntactic 2 of 3, local 5 of 5" in lines
    assert "share   heads that score above the threshold in under half of the units: local (1 of 1)" in lines


def test_the_scripts_of_the_page_know_strong_and_absent_heads(run: Labelling) -> None:
    syntactic, local = json.loads(findings_json(summarise(run)))["roles"]
    assert (syntactic["strong"], syntactic["absent"]) == ([STRONG], [ABSENT_HEAD, RARE])
    assert (syntactic["control"], syntactic["stronger"]) == ("distance", "word class")
    assert (local["strong"], local["control"], local["stronger"]) == ([], "", "")
    assert page(run).count(' strong">') == 1


def test_the_table_of_roles_has_columns_of_the_new_verdicts(run: Labelling) -> None:
    sheet = roles_sheet(summarise(run)).pick(
        {name: name for name in ("role", "strong", "explained", "absent")}
    )
    assert [list(row) for row in sheet.texts] == [
        ["syntactic", "1", "1", "2"],
        ["local", "–", "–", "5"],
    ]


def test_tables_of_notebooks_mark_strong_roles_and_give_both_counts(
    run: Labelling, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headroles.reports.notebook.MOST_CELLS", 0)
    shown = run._repr_html_()
    assert "syntactic: 2 beyond distance, 1 of them beyond word class (+)." in shown
    assert shown.count("<td>S+</td>") == 1
    assert shown.count("<td>S</td>") == 2  # the mark in the counts, and head 0-1


def test_labels_of_explained_heads_are_empty(run: Labelling) -> None:
    labels = run.labels()["syntactic"]
    assert labels.isna().tolist() == [head == EXPLAINED for head in range(6)]
    assert run.frame()["decision"].tolist()[:6] == ["role", "role", "explained", "not", "not", "not"]


def test_runs_of_older_versions_say_nothing_of_the_new_verdicts(run: Labelling) -> None:
    assert run.assessment is not None
    names = ["p_explained", "q_explained", "p_absent", "q_absent"]
    names += ["prevalence", "prevalence_low", "prevalence_high"]
    empty = dict.fromkeys(names, np.full(run.findings.count.shape, np.nan))
    precision = replace(run.assessment.precision, **empty)
    older = replace(run, assessment=replace(run.assessment, precision=precision))
    summary = summarise(older)
    assert not summary.absent.any()
    assert not any(role.bounded for role in summary.roles)
    assert "absent" not in verdict_sheet(summary).header
    assert "in under half of the units" not in page(older)
