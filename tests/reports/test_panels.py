"""The strip of p values, role sets and those by chance, the calibration note, and the embedded files."""

import json
import re
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest

from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.rules.rule import Decision, Rule
from headroles.reports.figures.counts import overlap
from headroles.reports.figures.p_strip import exponent, p_strip
from headroles.reports.figures.several import several
from headroles.reports.files import LARGEST, files_of
from headroles.reports.page import page
from headroles.reports.records import Combination
from headroles.reports.sections.calibration import HEADER, calibration_note, nearest_simulated, percent
from headroles.reports.summary.summary import summarise
from headroles.reports.words.words import count, with_range
from headroles.stats.assessment.assess import assess
from headroles.stats.engine import judge
from headroles.storage.tables import assessment_texts

ROOT = Path(__file__).resolve().parents[2]
CALIBRATION = ROOT / "docs" / "reference" / "calibration.json"
NAMES = ("local", "delimiter", "silent", "syntactic")


def labelling(decision: Decision | None = None, *, units: int = 60, assessed: bool = False) -> Labelling:
    """3 × 6 heads; nothing was to be seen of one sieve, and one needs its contrast."""
    chance, judged = np.random.default_rng(4), decision or Decision()
    rules = [Rule(name, low=-1.0, high=1.0) for name in NAMES[:-1]]
    rules.append(Rule("syntactic", contrast="syntactic:matched", low=-1.0, high=1.0))
    rules.append(Rule("syntactic:matched", margin=0.05, role=False, low=-1.0, high=1.0))
    level = chance.uniform(0.0, 0.25, size=(5, 1, 3, 6))
    values = (level + chance.normal(0, 0.25, size=(5, units, 3, 6))).clip(-1, 1).astype(np.float32)
    values[2, 1:] = np.nan
    keys = tuple(f"e{number}" for number in range(units))
    cells = np.full((5, units), 9.0)
    scores = Scores(
        tuple(rule.sieve for rule in rules), keys, keys, np.full(units, 20), cells, values, 0 * cells
    )
    findings = judge(scores, rules, judged)
    found = assess(scores, rules, judged, findings) if assessed else None
    return Labelling(scores, findings, judged, {"statistic": "selectivity"}, (), found)


@pytest.fixture(scope="module")
def whole() -> Labelling:
    """With its assessment, made once."""
    return labelling(assessed=True)


@pytest.mark.parametrize("correction", ["fdr_bh", "holm", "none"])
def test_the_strip_draws_every_p_and_strokes_the_largest_one_of_a_role(correction: str) -> None:
    run = labelling(Decision(correction=correction))
    found, panel = run.findings, p_strip(summarise(run))
    figure = go.Figure(panel.figure)
    drawn = [trace for trace in figure.data if trace.name == "local"]
    assert sum(len(trace.x) for trace in drawn) == 18
    held = found.decision[0] == 0
    filled = next(trace for trace in drawn if not trace.marker.symbol.endswith("-open"))
    np.testing.assert_allclose(np.sort(filled.x), np.sort(-np.log10(found.p[0][held])), rtol=1e-6)
    strokes = [shape.x0 for shape in figure.layout.shapes if shape.line.dash is None]
    cuts = [found.p[k][found.decision[k] == 0].max() for k in (0, 1, 3) if (found.decision[k] == 0).any()]
    np.testing.assert_allclose(strokes, -np.log10(cuts), rtol=1e-9)


def test_the_table_behind_the_strip_counts_with_and_without_correction(whole: Labelling) -> None:
    found, panel = whole.findings, p_strip(summarise(whole))
    for name, row in zip(NAMES, panel.rows, strict=True):
        p = found.p[found.of(name)]
        assert row[0] == name
        assert [int(text) for text in row[1:4]] == [
            (~np.isnan(p)).sum(), (p <= 0.05).sum(), (found.decision[found.of(name)] == 0).sum()
        ]  # fmt: skip
    assert panel.rows[2][1:] == ("0", "0", "0", *["–"] * 7)
    assert "the larger of the two tests" in panel.caption


def test_rows_levels_counts_and_quantiles_of_the_strip_are_those_of_p() -> None:
    run = labelling(Decision(correction="holm"))
    p = run.findings.p.copy()
    p[1, 0, 0] = 0.05
    panel = p_strip(summarise(replace(run, findings=replace(run.findings, p=p))))
    assert panel.rows[1][2] == str(int((p[1] <= 0.05).sum()))
    assert panel.rows[1][5:10] == tuple(map(exponent, np.quantile(p[1], [0, 0.25, 0.5, 0.75, 1])))
    near = int(((p[1] < 0.05) | (p[1] > 0.95)).sum())
    assert panel.rows[1][10] == f"{near} ({100 * near / p[1].size:.1f}\u00a0%)"
    roles = p[[rule.role for rule in run.findings.rules]]
    every = int(((roles < 0.05) | (roles > 0.95)).sum())
    assert f"{every} of {int((~np.isnan(roles)).sum())} p (" in panel.sentence
    figure = go.Figure(panel.figure)
    shapes = figure.layout.shapes
    assert [shape.x0 for shape in shapes if shape.line.dash == "dash"] == pytest.approx([-np.log10(0.05)])
    axis = figure.layout.yaxis
    for tick, name in zip(axis.tickvals, axis.ticktext, strict=True):
        own = [y for trace in figure.data if trace.name == name for y in trace.y]
        assert all(abs(y - tick) < 0.5 for y in own)
    strokes = {(shape.y0 + shape.y1) / 2 for shape in shapes if shape.line.dash is None}
    held = {
        3 - k for k, name in enumerate(NAMES) if (run.findings.decision[run.findings.of(name)] == 0).any()
    }
    assert {round(each) for each in strokes} == held


def test_a_p_of_nothing_is_drawn_at_the_edge_and_told() -> None:
    run = labelling()
    p = run.findings.p.copy()
    p[0, 0, 0] = 0.0
    panel = p_strip(summarise(replace(run, findings=replace(run.findings, p=p))))
    assert "value of p below 1e-16 is drawn at 1e-16" in panel.caption
    assert max(max(trace["x"], default=0) for trace in panel.figure["data"]) == 16
    assert panel.rows[0][5] == "<1e-16"


def test_role_sets_are_drawn_with_their_numbers_by_chance(whole: Labelling) -> None:
    assert whole.assessment is not None
    panel = overlap(summarise(whole))
    sets = {each.roles.replace(";", " + "): each for each in whole.assessment.sets}
    assert len(panel.rows) == len(sets) > 1
    for name, heads, expected in panel.rows:
        assert int(heads) == sets[name].heads
        ends = (count(sets[name].expected_low), count(sets[name].expected_high))
        assert expected == with_range(count(sets[name].expected), *ends)
    (dealt,) = [trace for trace in go.Figure(panel.figure).data if trace.name == "by chance"]
    np.testing.assert_allclose(dealt.y, [sets[row[0]].expected for row in panel.rows])
    bare = overlap(summarise(replace(whole, assessment=replace(whole.assessment, sets=()))))
    assert bare.header == ("exactly these roles", "heads")
    assert all(trace.get("name") != "by chance" for trace in bare.figure["data"])


def test_sets_that_differ_in_a_whole_only_are_drawn_as_one() -> None:
    names = ("delimiter", "delimiter:cls", "local", "block")
    summary = summarise(labelling())
    roles = tuple(replace(role, sieve=name) for role, name in zip(summary.roles, names, strict=True))
    whole = Combination((0, 1), 4, 1.0, 0.0, 2.0)
    sets = (whole, Combination((1,), 3), Combination((0, 2), 2), Combination((0,), 1))
    panel = overlap(replace(summary, roles=roles, combinations=sets))
    bars = panel.figure["data"][0]
    assert list(zip(bars["hovertext"], bars["y"], strict=True)) == [
        ("delimiter:cls", 7), ("delimiter + local", 2), ("delimiter", 1)
    ]  # fmt: skip
    assert [row[:2] for row in panel.rows][:2] == [("delimiter + delimiter:cls", "4"), ("delimiter:cls", "3")]
    assert all(trace.get("name") != "by chance" for trace in panel.figure["data"])


def test_the_extract_of_the_calibration_is_that_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks" / "calibration"), *sys.path])
    module = import_module("extract")
    whole = json.loads(module.WHOLE.read_text(encoding="utf-8"))
    assert module.EXTRACT.read_text(encoding="utf-8") == module.text_of(whole)


def test_the_note_tells_the_errors_of_this_test_and_correction_at_the_units_reached() -> None:
    cells = json.loads(CALIBRATION.read_text(encoding="utf-8"))["cells"]
    note = calibration_note(summarise(labelling(Decision(correction="holm"))))
    assert note is not None
    errors = [each["errors"]["t-skew"]["holm"] for each in cells if each["units"] == 50]
    low, high = min(each[2] for each in errors), max(each[2] for each in errors)
    assert "The roles here have 60 units; 50 is the next smaller number simulated." in note.text
    assert f"{100 * low:.1f} to {100 * high:.1f}\u00a0% of the runs had a false role" in note.text
    assert "heavy-tailed scores" in note.text
    assert "Roles with a contrast" in note.text
    assert note.header == HEADER
    assert [row[0] for row in note.rows] == ["20", "20", "50", "50", "128", "128", "200", "200"]


@pytest.mark.parametrize("correction", ["fdr_bh", "holm", "none"])
def test_every_figure_of_the_note_is_that_of_its_setting_and_side(correction: str) -> None:
    cells = json.loads(CALIBRATION.read_text(encoding="utf-8"))["cells"]
    note = calibration_note(summarise(labelling(Decision(correction=correction))))
    assert note is not None
    errors = [each["errors"]["t-skew"][correction] for each in cells if each["units"] == 50]
    told = re.findall(r"(\S+) to (\S+)\xa0%", note.text)
    for (low, high), place in zip(told, (2, 3, 0, 1), strict=True):
        rates = [each[place] for each in errors]
        assert (low, high) == (percent(min(rates)), percent(max(rates)))
    assert ("% of the roles were false" in note.text) == (correction != "holm")


def test_the_note_tells_the_fewest_and_the_most_units_of_roles() -> None:
    run = labelling(Decision(alpha=0.2))
    n = run.findings.count.copy()
    n[1] = 31
    note = calibration_note(summarise(replace(run, findings=replace(run.findings, count=n))))
    assert note is not None
    assert "between 31 (delimiter) and 60 units; 20 is the next smaller number simulated." in note.text
    assert "The level of this run, 0.2, was not simulated." in note.text
    assert "“Not” needs at least 50 units" in note.text


@pytest.mark.parametrize(
    ("decision", "told"),
    [
        (Decision(correction="fdr_by"), "of the roles were false"),
        (Decision(alpha=0.01), "The level of this run, 0.01, was not simulated."),
        (Decision(family="run"), "Families other than the heads of one sieve were not simulated."),
        (Decision(test="t", correction="none"), "t with no correction"),
    ],
)
def test_the_note_says_what_the_simulations_do_not_speak_to(decision: Decision, told: str) -> None:
    note = calibration_note(summarise(labelling(decision)))
    assert note is not None
    assert told in note.text


def test_the_note_names_joint_families_and_other_scores_than_were_simulated() -> None:
    run = labelling()
    rules = tuple(replace(rule, together="row") for rule in run.findings.rules)
    rowed = replace(run, findings=replace(run.findings, rules=rules))
    joint = "Families other than the heads of one sieve were not simulated."
    for found, decision, told in (
        (run, run.decision, False),
        (rowed, run.decision, True),
        (rowed, Decision(correction="none"), False),
        (run, Decision(correction="none", family="layer"), False),
    ):
        note = calibration_note(summarise(replace(found, decision=decision)))
        assert note is not None
        assert (joint in note.text) is told
    note = calibration_note(summarise(replace(run, manifest={"statistic": "bias"})))
    assert note is not None
    assert "selectivities; those of this run are not (bias)" in note.text


def test_a_strip_that_nothing_corrects_speaks_of_no_correction_by_layer() -> None:
    told = "Each layer is corrected by itself"
    assert told in p_strip(summarise(labelling(Decision(family="layer")))).caption
    assert told not in p_strip(summarise(labelling(Decision(correction="none", family="layer")))).caption


def test_what_was_not_simulated_has_no_figures() -> None:
    summary = summarise(labelling())
    other = replace(summary, decision=Decision(test="t", correction="maxT"))
    assert calibration_note(other) is not None
    assert calibration_note(other).rows == ()  # type: ignore[union-attr]
    assert calibration_note(replace(summary, roles=())) is None
    assert [nearest_simulated(units, [20, 50]) for units in (1, 20, 49, 50, 400)] == [20, 20, 20, 50, 50]


def test_few_units_are_told_beside_the_smallest_number_simulated() -> None:
    note = calibration_note(summarise(labelling(units=12)))
    assert note is not None
    assert "The roles here have 12 units; 20 is the smallest number simulated, and" in note.text
    assert "“Not” needs at least 50 units" in note.text


def test_the_page_embeds_the_smaller_tables_as_the_run_folder_has_them(whole: Labelling) -> None:
    assert whole.assessment is not None
    files = files_of(whole)
    texts = assessment_texts(whole.assessment, whole.findings.sieves)
    assert set(files) == {"sensitivity.csv", "together.csv", "sets.csv", "depth.csv", "several.csv"}
    assert all(files[name] == texts[name] for name in files)
    large = replace(whole.assessment, sets=whole.assessment.sets * (LARGEST // 20))
    assert "sets.csv" not in files_of(replace(whole, assessment=large))
    html = page(whole)
    assert all(f'data-file="{name}"' in html for name in files)
    assert files_of(labelling()) == {}


def test_the_figure_and_table_of_several_roles_are_those_of_the_run(whole: Labelling) -> None:
    assert whole.assessment is not None
    rows, panel = whole.assessment.several, several(summarise(whole))
    assert panel is not None
    layers = [row for row in rows if row.scope.startswith("layer")]
    means, shares = go.Figure(panel.figure).data
    assert list(means.y) == [row.mean for row in layers]
    assert list(shares.y) == [100 * row.several for row in layers]
    assert [low + high for low, high in zip(means.error_y.arrayminus, means.error_y.array, strict=True)] == (
        pytest.approx([row.mean_high - row.mean_low for row in layers])
    )
    assert [row[0] for row in panel.rows] == [row.scope for row in rows]
    assert f"A head holds {rows[0].mean:.2f} [" in panel.sentence
    assert several(summarise(labelling())) is None
