"""What a report says beyond the tests: every number is the assessment's, nothing sounds surer than it is."""

import base64
import json
import math
import re
from dataclasses import fields, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from headroles.records.assessment import Assessment, Precision, RoleOverlap, SensitivityRow
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.rules.rule import Decision, Rule
from headroles.reports.figures.pairs import pairs
from headroles.reports.figures.panel import Panel
from headroles.reports.figures.run import figures
from headroles.reports.figures.sensitivity import sensitivity
from headroles.reports.page import page
from headroles.reports.sections.role_sheets import depth_rows
from headroles.reports.summary.pairs import (
    is_outside,
    notable_pairs,
    pair_sentence,
    pairs_of,
)
from headroles.reports.summary.summary import summarise
from headroles.reports.summary.verdicts import support_sentence, supports_of
from headroles.reports.words import words
from headroles.stats.assessment.assess import POWER, RELABELLINGS, assess
from headroles.stats.decision import ALL_CORRECTIONS, ENOUGH_FOR_NOT, FAMILIES, INTERVALS
from headroles.stats.engine import judge
from headroles.stats.methods.names import METHODS

NAMES = ("local", "delimiter", "delimiter:cls", "syntactic")
MANIFEST: dict[str, Any] = {"preset": "calibrated"}


def labelling(decision: Decision | None = None, *, grouped: bool = False, **more: Any) -> Labelling:
    """A labelling of 80 examples and 3 × 4 heads, with its assessment."""
    chance, judged = np.random.default_rng(11), decision or Decision()
    rules = [Rule(name, low=-1.0, high=1.0) for name in NAMES[:-1]]
    rules.append(Rule("syntactic", contrast="syntactic:matched", low=-1.0, high=1.0))
    rules.append(Rule("syntactic:matched", margin=0.05, role=False, low=-1.0, high=1.0))
    level = chance.uniform(-0.1, 0.35, size=(len(rules), 1, 3, 4))
    values = level + chance.normal(0, 0.3, size=(len(rules), 80, 3, 4))
    values[-2, :, 1] += 0.4
    values[-1] = 0.3 + chance.normal(0, 0.3, size=(80, 3, 4))
    keys = tuple(f"e{number}" for number in range(80))
    scores = Scores(
        sieves=tuple(rule.sieve for rule in rules),
        examples=keys,
        units=tuple(f"u{number // 2}" for number in range(80)) if grouped else keys,
        tokens=np.full(80, 20),
        cells=np.full((len(rules), 80), 12.5),
        values=values.clip(-1, 1).astype(np.float32),
        null=np.zeros((len(rules), 80)),
    )
    findings = judge(scores, rules, judged)
    found = assess(scores, rules, judged, findings, **more)
    return Labelling(scores, findings, judged, MANIFEST, (), found)


RUN = labelling()
"""Read-only, as all records are."""


def assessment_of(run: Labelling) -> Assessment:
    assert run.assessment is not None
    return run.assessment


def visible(html: str) -> str:
    """The text outside scripts and styles, with plain spaces."""
    body = re.sub(r"<(script|style).*?</\1>", " ", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", "", body).replace("\xa0", " ").split())


def stored(html: str) -> dict[str, Any]:
    found = re.search(r'id="findings-columns">(.*?)</script>', html, flags=re.DOTALL)
    assert found is not None
    columns: dict[str, Any] = json.loads(found[1])
    return columns


def panel_of(run: Labelling, key: str) -> Panel:
    return next(panel for panel in figures(summarise(run)) if panel.key == key)


def with_remarks(run: Labelling, *remarks: str) -> Labelling:
    return replace(run, assessment=replace(assessment_of(run), remarks=remarks))


def test_a_run_without_an_assessment_has_none_of_its_panels() -> None:
    bare = replace(RUN, assessment=None)
    summary = summarise(bare)
    assert (sensitivity(summary), pairs(summary), depth_rows(summary)) == (None, None, ())
    assert summary.supports == ()
    text = visible(page(bare))
    for word in (
        "A label is stable",
        "detectable",
        "Trend over depth",
        "Every pair",
        "Stability",
        "precision.csv",
    ):
        assert word not in text
    assert stored(page(bare))["precision"] == []


def test_stable_labels_are_counted_from_the_table() -> None:
    precision, found = assessment_of(RUN).precision, RUN.findings
    for name, held in zip(found.roles, supports_of(RUN), strict=True):
        row = found.of(name)
        assert held.labels == (found.decision[row] == 0).sum()
        assert held.steady == (precision.stability[row][found.decision[row] == 0] >= words.STEADY).sum()
        told = support_sentence(held, contrast=False)
        if 0 < (held.steady or 0) < held.labels:
            assert (
                f"{held.steady} of {held.labels} labels are stable: a fresh sample gives each again" in told
            )
        assert ("again with probability ≥ 90" in told) == (held.labels > 0)
    text = visible(page(RUN))
    assert "It is no probability of being true" in text


@pytest.mark.parametrize(
    ("labels", "steady", "said"),
    [
        (1, 1, "The one label is stable: a fresh sample gives it again"),
        (1, 0, "The one label is not stable:"),
        (3, 3, "All 3 labels are stable: a fresh sample gives each again"),
        (3, 0, "None of the 3 labels are stable:"),
        (0, 0, ""),
        (3, None, ""),
    ],
)
def test_few_labels_are_told_in_words(labels: int, steady: int | None, said: str) -> None:
    nan = float("nan")
    held = replace(supports_of(RUN)[0], labels=labels, steady=steady, detectable=(nan, nan), design=nan)
    told = support_sentence(held, contrast=False)
    assert told.startswith(said)
    assert bool(told) == bool(said)


def test_a_run_whose_stability_is_unknown_says_nothing_of_it() -> None:
    run = replace(labelling(), manifest={})
    precision = assessment_of(run).precision
    silent = replace(precision, stability=np.full(precision.stability.shape, np.nan))
    html = page(replace(run, assessment=replace(assessment_of(run), precision=silent)))
    assert "again with probability" not in visible(html)
    assert 'id="matrix-stability"' not in html


def test_detectable_effects_span_the_heads_of_a_role() -> None:
    precision = assessment_of(RUN).precision
    for name, held in zip(RUN.findings.roles, supports_of(RUN), strict=True):
        row = RUN.findings.of(name)
        assert held.detectable == (precision.detectable[row].min(), precision.detectable[row].max())
    assert "smallest detectable effect" in support_sentence(supports_of(RUN)[0], contrast=False)
    assert "(of the score)" in support_sentence(supports_of(RUN)[-1], contrast=True)


def test_a_design_effect_is_told_of_groups_only() -> None:
    assert all(math.isnan(held.design) for held in supports_of(RUN))
    assert "median design effect" not in visible(page(RUN))
    grouped = labelling(grouped=True)
    effects = assessment_of(grouped).precision.design_effect
    for row, held in enumerate(supports_of(grouped)):
        assert held.design == np.median(effects[row])
    assert "median design effect" in visible(page(grouped))


def test_sensitivity_shows_every_point_and_marks_what_was_used() -> None:
    panel = panel_of(RUN, "sensitivity")
    assert panel.beside is not None
    heads = {row[0].removesuffix(" (used)"): row[1:] for row in panel.rows}
    for each in assessment_of(RUN).moved:
        told = f"{each.convention} {words.exact(each.value) if each.convention == 'margin' else each.value}"
        assert heads[f"{told}"][NAMES.index(each.sieve)] == str(each.heads)
    assert [row[0] for row in panel.rows if row[0].endswith("(used)")] == [
        "margin 0.10 (used)",
        "alpha 0.05 (used)",
    ]
    by_margin, by_alpha = go.Figure(panel.figure), go.Figure(panel.beside.figure)
    assert by_margin.layout.shapes[0].x0 == 0.1
    assert by_alpha.layout.shapes[0].x0 == 0.05
    assert by_alpha.layout.xaxis.type == "log"
    assert {trace.meta["role"] for trace in by_margin.data} == set(panel.legend) == {0, 1, 2, 3}
    assert "differs from the verdict" not in panel.caption


def test_a_curve_of_a_stand_in_says_where_it_differs() -> None:
    found = assessment_of(RUN)
    at_used = SensitivityRow("local", "margin", 0.1, 0)
    moved = tuple(
        replace(each, heads=each.heads + 1) if replace(each, heads=0) == at_used else each
        for each in found.moved
    )
    held = int((RUN.findings.decision[0] == 0).sum())
    caption = panel_of(replace(RUN, assessment=replace(found, moved=moved)), "sensitivity").caption
    assert f"local ({held + 1} against {held})" in caption


def test_pairs_are_those_of_the_table_with_interval_and_reference() -> None:
    every = pairs_of(summarise(RUN))
    rows = {(row[0], row[1]): row[2:] for row in panel_of(RUN, "pairs").rows}
    assert len(rows) == len(assessment_of(RUN).together)
    for each in assessment_of(RUN).together:
        pair = every[each.first, each.second]
        assert each == (pair.found if each.contrasts == "with" else pair.bare)
        row = rows[f"{each.first} → {each.second}", each.contrasts]
        assert row[:2] == (str(each.heads_first), str(each.heads_second))
        assert row[4].startswith(f"{each.expected:.1f}".removesuffix(".0"))


def _together(first: str, second: str, both: int, low: float) -> RoleOverlap:
    """A pair of 21 and 63 heads."""
    intervals = (18.0, 19.0, both / 21, 0.9, 0.9, 18.9166, low, 20.0)
    return RoleOverlap(first, second, "with", 21, 63, both, *intervals)


def test_a_pair_has_its_interval_and_the_number_by_chance() -> None:
    found = replace(assessment_of(RUN), together=(_together("local", "delimiter", 19, 18.0),))
    (pair,) = pairs_of(summarise(replace(RUN, assessment=found))).values()
    assert pair_sentence(pair).replace("\xa0", " ") == (
        "Of 21 local heads, 19 (90 % [90, 90]) are also delimiter; by chance 18.9 [18, 20] would be."
    )
    bare = replace(pair.found, contrasts="without", heads_first=0, both=0, share=float("nan"))
    told = pair_sentence(replace(pair, bare=bare))
    assert told.endswith("Without the contrast beyond distance: no head is local.")


def test_pairs_outside_their_reference_come_first_and_parts_of_a_sieve_are_left_to_the_table() -> None:
    together = (
        _together("local", "delimiter", 19, 18.0),
        _together("local", "syntactic", 5, 18.0),
        _together("delimiter", "delimiter:cls", 20, 18.0),
        _together("local", "delimiter:cls", 0, 0.0),
        _together("local", "unknown", 19, 18.0),
    )
    run = replace(RUN, assessment=replace(assessment_of(RUN), together=together))
    chosen = notable_pairs(summarise(run))
    assert [pair.found.second for pair in chosen] == ["syntactic", "delimiter"]
    assert [is_outside(pair.found) for pair in chosen] == [True, False]
    assert "(1 of 2 pairs)" in panel_of(run, "pairs").caption
    assert "delimiter → delimiter:cls" in {row[0] for row in panel_of(run, "pairs").rows}
    assert not any("unknown" in row[0] for row in panel_of(run, "pairs").rows)


def test_without_a_shared_head_no_pair_is_drawn_or_told() -> None:
    together = (_together("local", "delimiter", 0, 0.0),)
    run = replace(RUN, assessment=replace(assessment_of(RUN), together=together))
    panel = panel_of(run, "pairs")
    assert "(0 of 0 pairs)" in panel.caption
    assert [note["text"] for note in panel.figure["layout"]["annotations"]] == ["no head is shared"]
    assert len(panel.rows) == 1


def test_depth_is_told_with_intervals_and_called_descriptive() -> None:
    rows = depth_rows(summarise(RUN))
    for each, row in zip(assessment_of(RUN).depth, rows, strict=True):
        assert row[:2] == (each.sieve, str(each.heads))
        if each.heads and not math.isnan(each.trend):
            assert row[2] == words.with_range(
                words.two_decimals(each.trend),
                words.two_decimals(each.trend_low),
                words.two_decimals(each.trend_high),
            )
            assert row[3] == words.share(each.reference)
            assert row[4].startswith(words.share(each.first))
    assert "(descriptive, not a test)" in visible(page(RUN))


def test_what_must_be_known_stands_above_everything_else() -> None:
    run = replace(with_remarks(RUN, "mind this."), manifest=MANIFEST | {"notes": ["and that.", 3]})
    text = visible(page(run))
    place = [text.index(part) for part in ("to know before", "and that.", "mind this.", "What was run")]
    assert place == sorted(place)
    assert "to know before" not in visible(page(replace(with_remarks(RUN), manifest=MANIFEST)))


def test_what_the_page_says_of_the_published_preset_is_not_said_twice() -> None:
    note = "The preset 'published' repeats the released notebooks."
    text = visible(page(replace(RUN, manifest=MANIFEST | {"preset": "published", "notes": [note, "other."]})))
    assert "A threshold of 3 is not a null" in text
    assert "other." in text
    assert note not in text


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (Decision(), {"interval": "95\xa0% of the mean: Hall's t, corrected for skew (that of the test)"}),
        (Decision(test="t", family="layer"), {"family": "the heads of one sieve in one layer"}),
        (
            Decision(test="sign-flip", correction="maxT", resamples=500, seed=3),
            {"resamples": "500, seed 3", "interval": "95\xa0% of the mean: " + words.INTERVALS["sign-flip"]},
        ),
        (Decision(interval="bca", resamples=200), {"resamples": "200, seed 0"}),
        (Decision(test="wilcoxon", correction="fdr_tsbh"), {"test": words.TESTS["wilcoxon"]}),
    ],
)
def test_how_it_was_decided_is_said_in_words(decision: Decision, said: dict[str, str]) -> None:
    run = replace(RUN, decision=decision)
    lines = {
        line.term: line.value for line in summarise(run).account.main if line.group == "how it was decided"
    }
    assert lines | said == lines
    assert lines["test"] == words.TESTS[decision.test]
    assert lines["correction"] == words.CORRECTIONS[decision.correction]
    assert ("resamples" in lines) == ("resamples" in said)


def test_there_are_words_for_everything_a_decision_can_name() -> None:
    assert words.TESTS.keys() == words.INTERVALS.keys() == METHODS.keys()
    assert set(words.CORRECTIONS) == set(ALL_CORRECTIONS)
    assert set(words.FAMILIES) == set(FAMILIES)
    assert set(words.RESAMPLING) == {name for name, method in METHODS.items() if method.resampled}
    for name in INTERVALS:
        assert words.interval_name(Decision(interval=name)) not in INTERVALS


def test_what_the_page_says_of_the_methods_is_what_they_do() -> None:
    assert words.ENOUGH_FOR_NOT == ENOUGH_FOR_NOT
    assert (words.POWER, words.RELABELLINGS) == (POWER, RELABELLINGS)


def test_the_embedded_precision_is_the_assessment_bit_for_bit() -> None:
    run = labelling(bayes=True)
    columns = stored(page(run))
    assert columns["precision"] == [each.name for each in fields(Precision)]
    for name in columns["precision"]:
        values = np.frombuffer(base64.b64decode(columns["columns"][name]), dtype="<f8")
        values = values if values.size == run.findings.p.size else np.repeat(values, 12)
        np.testing.assert_array_equal(values, getattr(assessment_of(run).precision, name).ravel())


def test_a_bayes_factor_is_explained_only_where_it_was_computed() -> None:
    assert "Bayes factor" in visible(page(labelling(bayes=True)))
    assert "Bayes factor" not in visible(page(RUN))


def test_every_figure_has_a_table_and_a_label() -> None:
    html = page(RUN)
    keys = [panel.key for panel in figures(summarise(RUN))]
    assert keys == ["means", "p-values", "sensitivity", "layers", "several", "overlap", "pairs"]
    for key in (*keys, "sensitivity-alpha"):
        assert re.search(rf'id="figure-{key}" role="figure" aria-label="[^"]{{20,}}"', html)
    figures_only = html[html.index('<section id="sure"') :]
    assert figures_only.partition("<aside")[0].count("The numbers behind this figure") == len(keys)


def test_a_role_the_run_does_not_know_is_not_drawn() -> None:
    found = assessment_of(RUN)
    stray = replace(found, moved=(*found.moved, SensitivityRow("elsewhere", "margin", 0.1, 9)))
    panel = panel_of(replace(RUN, assessment=stray), "sensitivity")
    assert panel.rows == panel_of(RUN, "sensitivity").rows
