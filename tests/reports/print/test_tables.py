"""Tables for a paper: the report's numbers, text that stays text, and every digit where it is asked for."""

import csv
import io
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headroles
from headroles import exporting
from headroles.cli.main import cli
from headroles.errors import BadInput, UnknownName
from headroles.kinds import kind_of
from headroles.records.comparison import COLUMNS, Comparison, Differences, RoleChange
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.rules.rule import Decision, Rule
from headroles.reports.print.tables import table_text
from headroles.reports.print.writers import as_csv, as_latex, as_markdown, latex_text
from headroles.reports.records import Interval
from headroles.reports.sections.surface_sheets import statistics_sheet
from headroles.reports.sheets import Sheet, word_cell
from headroles.reports.summary.summary import summarise
from headroles.reports.words.surface import layers_of
from headroles.reports.words.words import interval, mean, number, p_text
from headroles.stats.engine import judge
from tests.support.clustered_runs import clustered_run

Command = Callable[..., tuple[int, str, str]]
LOUD = "<b>loud</b> | 50 % & $x_1$ \\input{x} \u202e😀"


@pytest.fixture(scope="module")
def hostile() -> Labelling:
    """Two layers of three heads; a name with everything that Markdown and LaTeX take for commands."""
    names = ("local", LOUD, "local:matched", "never")
    chance = np.random.default_rng(2)
    level = chance.beta(0.6, 1.2, size=(4, 1, 2, 3))
    level[3] = -0.5
    keys = tuple(f"e{number}" for number in range(60))
    values = (level + chance.normal(0, 0.1, size=(4, 60, 2, 3))).clip(-1, 1).astype(np.float32)
    cells = np.full((4, 60), 9.0)
    scores = Scores(names, keys, keys, np.full(60, 20), cells, values, np.zeros((4, 60)))
    rules = [Rule(name, low=-1.0, high=1.0, role=name != "local:matched") for name in names]
    rules[0] = Rule("local", contrast="local:matched", low=-1.0, high=1.0)
    rules[2] = Rule("local:matched", margin=0.05, role=False, low=-1.0, high=1.0)
    findings = judge(scores, rules, Decision())
    return Labelling(scores, findings, Decision(), {"model": {"name": "tiny"}, "task": "QNLI"})


def _read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_roles_have_the_numbers_of_the_report(hostile: Labelling) -> None:
    summary = summarise(hostile)
    lines = table_text(hostile, "roles").splitlines()
    assert "QNLI" in lines[0]
    assert "alpha 0.05; 60 units." in lines[0]
    for role, line in zip(summary.roles, lines[4:], strict=True):
        head = role.strongest
        assert f"| {role.tally.role}/{role.tally.tests} |" in line
        if head is None:
            assert role.sieve == "never"
            assert line.endswith("| none | – | – | 0.100 | – |")
            continue
        place = head.layer * 3 + head.head
        q = float(summary.table.of("q", role.position)[place])
        assert f"| {head.layer}-{head.head} | {interval(head.score)} |" in line
        assert line.endswith(f"| {p_text(q)} |")
    first = summary.roles[0].strongest
    assert first is not None
    assert first.contrast is not None
    assert f"| {interval(first.contrast)} |" in lines[4]


def test_captions_name_what_was_corrected_together(hostile: Labelling) -> None:
    rules = tuple(replace(rule, together="row") for rule in hostile.findings.rules)
    rowed = replace(hostile, findings=replace(hostile.findings, rules=rules))
    bare = replace(hostile, decision=Decision(correction="none"))
    for name in ("roles", "heads", "findings"):
        assert "the heads of one sieve; alpha" in table_text(hostile, name)
        assert "the heads of one sieve, both directions of a row together; alpha" in table_text(rowed, name)
        assert "correction: none; alpha" in table_text(bare, name)


def test_csv_has_every_digit(hostile: Labelling) -> None:
    found = hostile.findings
    rows = _read(table_text(hostile, "roles", "csv"))
    assert [row["role"] for row in rows] == ["local", LOUD, "never"]
    for row in rows[:2]:
        at = (found.of(row["role"]), int(row["layer"]), int(row["head"]))
        for column in ("mean", "low", "high", "q"):
            assert float(row[column]) == float(getattr(found, column)[at])
    assert rows[2]["mean"] == rows[2]["q"] == rows[1]["contrast"] == ""
    frame = hostile.frame()
    told = _read(table_text(hostile, "findings", "csv"))
    assert list(told[0]) == list(frame.columns)
    assert [float(row["mean"]) for row in told] == frame["mean"].tolist()


def test_rows_of_findings_and_contrasts_of_roles_stand_under_their_names(hostile: Labelling) -> None:
    tables = kind_of(hostile).tables(hostile)
    findings = tables["findings"]()
    for row, cells in zip(hostile.frame().to_dict("records"), findings.texts, strict=True):
        told = [number(row["null"]), number(row["effect"]), p_text(row["q"]), p_text(row["q_not"])]
        assert list(cells[4:8]) == told
    first = _read(table_text(hostile, "roles", "csv"))[0]
    at = (hostile.findings.of("local:matched"), int(first["layer"]), int(first["head"]))
    for column, name in (("contrast", "mean"), ("contrast_low", "low"), ("contrast_high", "high")):
        assert float(first[column]) == float(getattr(hostile.findings, name)[at])
    roles = summarise(hostile).roles
    assert float(first["threshold"]) == roles[0].threshold
    assert float(first["contrast_threshold"]) == roles[0].contrast_threshold


def test_heads_name_their_roles_and_the_largest_effect(hostile: Labelling) -> None:
    labels = hostile.labels()
    rows = _read(table_text(hostile, "heads", "csv"))
    assert [row["roles"] for row in rows] == labels["roles"].tolist()
    for row in rows:
        names = [name for name in hostile.findings.roles if name in row["roles"].split(";")]
        at = (int(row["layer"]), int(row["head"]))
        effects = {name: float(hostile.findings.effect[(hostile.findings.of(name), *at)]) for name in names}
        assert row["strongest"] == (max(effects, key=lambda name: effects[name]) if effects else "")
        assert row["effect"] == (str(max(effects.values())) if effects else "")


def test_every_kind_of_run_has_its_own_table_first(
    hostile: Labelling, probed_run: Any, surface_run: Any
) -> None:
    probed, surface, clustered = probed_run(("all", "det")), surface_run((20, 2, 3)), clustered_run(2, 3)
    assert table_text(hostile) == table_text(hostile, "roles")
    assert table_text(probed) == table_text(probed, "best")
    assert table_text(surface) == table_text(surface, "statistics")
    assert table_text(clustered) == table_text(clustered, "roles")
    rows = _read(table_text(probed, form="csv"))
    assert [float(row["accuracy"]) for row in rows] == [each.accuracy for each in probed.probed.best]
    for row in _read(table_text(surface, "statistics", "csv")):
        layers = [each.mean for each in layers_of(surface, row["statistic"])]
        assert float(row["layer_mean"]) == max(layers)
        assert float(row["low"]) <= float(row["mean"]) <= float(row["high"])
    sheet = statistics_sheet(surface)
    assert table_text(surface).count("\n") == 4 + len(sheet.rows)
    assert "| To separators |" in table_text(surface)
    assert clustered.clustered is not None
    numbers = set(clustered.clustered.cluster.tolist())
    assert len(_read(table_text(clustered, "clusters", "csv"))) == len(numbers)
    with pytest.raises(UnknownName, match="known: findings, statistics"):
        table_text(surface, "roles")
    with pytest.raises(UnknownName, match="did you mean 'heads'"):
        table_text(hostile, "head")
    with pytest.raises(UnknownName, match="known: csv, latex, markdown"):
        table_text(hostile, "roles", "html")


ACTIVE = list("\\{}$&#%_^~<>|\"'`[]*-!?\n\r\t\u202e")
LETTERS = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(ACTIVE)), max_size=30)
COMMANDS = (
    r"\\(?:text(?:backslash|asciicircum|asciitilde|less|greater|bar|quotedbl|quotesingle|asciigrave)\{\}"
    r"|ldots\{\}|[{}$&#%_])|\$(?:-|\\(?:times|pm|leq|geq|infty|theta|rightarrow|leftarrow|partial))\$"
    r"|\{[\[*]\}|-\{\}"
)


@given(LETTERS)
def test_latex_never_sees_a_command_in_a_name(name: str) -> None:
    rest = re.sub(COMMANDS, "", latex_text(name))
    assert not re.search(r"[\\{}$&#%_^<>|\"\n\r]", rest)
    assert not re.match(r"[\[*]", latex_text(name))
    assert "\u202e" not in rest


@given(st.lists(st.lists(LETTERS, min_size=2, max_size=2).map(tuple), min_size=1, max_size=3))
def test_a_markdown_row_has_as_many_cells_as_columns(rows: list[tuple[str, ...]]) -> None:
    table = Sheet("", ("one", "two"), tuple(tuple(map(word_cell, row)) for row in rows), caption="a caption")
    lines = as_markdown(table).split("\n")
    assert len(lines) == 5 + len(rows)
    for line in lines[2:-1]:
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 3
        assert not re.search(r"(?<!\\)(?:\\\\)*<[A-Za-z/!?]", line)


@given(st.lists(st.tuples(LETTERS, st.floats()), max_size=4))
def test_csv_reads_back(rows: list[tuple[str, float]]) -> None:
    kept = [(name, value) for name, value in rows if "\0" not in name]  # which csv cannot read
    table = Sheet("", (), (), columns=("name", "value"), values=tuple(kept))
    _, *read = csv.reader(io.StringIO(as_csv(table), newline=""))
    expected = [[name, "" if value != value else str(value)] for name, value in kept]
    assert read == expected


def test_latex_is_for_booktabs_with_caption_and_label(hostile: Labelling) -> None:
    text = table_text(hostile, "roles", "latex")
    assert r"\label{tab:headroles-roles}" in text
    assert text.count(r"\begin{") == text.count(r"\end{") == 2
    assert [text.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1, 1, 1]
    body = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
    assert body.count(r"\\") == 4
    lines = [line for line in body.splitlines() if line.endswith(r"\\")]
    columns = len(kind_of(hostile).tables(hostile)["roles"]().header)
    assert [len(re.findall(r"(?<!\\)&", line)) for line in lines] == [columns - 1] * 4
    assert "LuaLaTeX" in text.splitlines()[0]  # the name has letters of no usual font
    many = Sheet("", ("one",), ((word_cell("x"),),) * 41, caption="many")
    assert r"\begin{longtable}{l}" in as_latex(many, "many")


def test_the_largest_change_is_that_of_a_changed_head_and_may_be_a_loss(hostile: Labelling) -> None:
    values = {name: np.array([[[0.2, -0.3, 0.9]]]) for name in COLUMNS}
    rules, outcome = (Rule("local", low=-1.0, high=1.0),), np.array([[[0, 0, 2]]])
    found = Differences(rules, **{**values, "count": np.full((1, 1, 3), 9)}, outcome=outcome)
    run = hostile.findings
    swap = RoleChange("local", 4, 7, 5, 2, 7, 2.0, 1.0, 3.0, 2.0, 1.0, 3.0, 4.0, 3.0, 6.0, 0.5, 0.25)
    compared = Comparison(found, run, run, Decision(), 0.05, layers=(), swaps=(swap,), manifest={})
    (row,) = _read(table_text(compared, "changes", "csv"))
    assert (row["head"], row["difference"]) == ("1", "-0.3")
    cells = table_text(compared, "changes").splitlines()[-1].split(" | ")
    assert cells[5:11] == ["4", "7", "5", "2", "4 [3, 6]", "0.250"]
    compared = replace(compared, differences=replace(found, mean_b=found.mean_a + 0.5))
    assert "| 0.20 | 0.70 | 0.20 [0.20, 0.20] |" in table_text(compared, "differences")
    assert (row["gained"], row["lost"], row["swapped_low"], row["swapped_high"]) == ("5", "2", "3.0", "6.0")


def test_a_comparison_tells_what_changed(finished: Path, tmp_path: Path, command: Command) -> None:
    found = headroles.compare(finished, finished, swaps=0, out=tmp_path / "compared")
    code, out, err = command("table", tmp_path / "compared")
    assert (code, err) == (0, "")
    assert "differences are B − A" in out
    rows = _read(exporting.table(tmp_path / "compared", format="csv"))
    assert [row["sieve"] for row in rows] == list(found.differences.sieves)
    for place, row in enumerate(rows):
        names = ("changed", "equivalent", "undetermined", "untestable")
        assert tuple(int(row[name]) for name in names) == found.differences.counts(place)
    frame = _read(exporting.table(tmp_path / "compared", "differences", "csv"))
    assert len(frame) == found.differences.count.size


def test_the_command_prints_what_the_function_gives(command: Command, finished: Path) -> None:
    for form in ("markdown", "latex", "csv"):
        assert command("table", finished, "--format", form) == (0, headroles.table(finished, format=form), "")
    assert command("table", finished, "--name", "heads")[1] == headroles.table(finished, "heads")
    options = {each.name for each in cli.commands["table"].params}
    assert options == {"folder", "name", "format", "methods", "out", "overwrite"}
    with pytest.raises(BadInput, match="give the folder of a run"):
        headroles.table(finished / "scores")


def test_tables_of_probes_name_both_intervals(probed_run: Callable[..., Labelling]) -> None:
    run = probed_run(("all", "det"), shape=(30, 2, 3), assessed=True)
    assert run.assessment is not None
    findings = replace(run.findings, null=run.findings.null + 0.2)
    precision = replace(run.assessment.precision, mean_low=findings.low - 0.03)
    precision = replace(precision, mean_high=findings.high + 0.03)
    run = replace(run, findings=findings, assessment=replace(run.assessment, precision=precision))
    rows = _read(table_text(run, "findings", "csv"))
    for name, values in (
        ("mean_low", precision.mean_low),
        ("low", findings.low),
        ("difference_low", findings.low - findings.null),
        ("difference_high", findings.high - findings.null),
    ):
        np.testing.assert_allclose([float(row[name]) for row in rows], values.ravel())
    header, _, first, *_ = table_text(run, "findings").splitlines()[2:]
    assert "mean [95\u00a0%] | chance | difference [95\u00a0%]" in header
    own, difference = (
        interval(Interval(*(float(array[0, 0, 0]) for array in arrays)))
        for arrays in (
            (findings.mean, precision.mean_low, precision.mean_high),
            tuple(array - findings.null for array in (findings.mean, findings.low, findings.high)),
        )
    )
    assert f"| {own} |" in first.replace("\\", "")
    assert f"| {difference} |" in first.replace("\\", "")


def test_accuracies_of_an_older_run_stand_without_the_interval_of_the_difference(
    probed_run: Callable[..., Labelling],
) -> None:
    run = probed_run(("all",), shape=(30, 2, 3))
    assert run.assessment is None
    cells = table_text(run, "findings").splitlines()[4].replace("\\", "").split(" | ")
    assert cells[3] == mean(float(run.findings.mean[0, 0, 0]))
