"""The report: what it says agrees with the findings, and it is one closed, safe, repeatable file."""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from html.parser import HTMLParser
from itertools import permutations
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from plotly.offline import get_plotlyjs

from headroles.records.assessment import Assessment, Depth, Precision, RoleOverlap, SensitivityRow
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.rules.rule import Decision, Rule
from headroles.records.shown.looks import role_marks
from headroles.reports.document import PLOTLY, template
from headroles.reports.figures.drawing import figure_json
from headroles.reports.figures.run import figures
from headroles.reports.page import page
from headroles.reports.summary.summary import summarise
from headroles.stats.assessment.assess import assess
from headroles.stats.engine import judge

DECISION = Decision()
MANIFEST: dict[str, Any] = {
    "headroles": "0.1.0",
    "command": "headroles label --task QNLI",
    "task": "QNLI",
    "source": {"kind": "sample", "name": "QNLI sample", "sha256": "ab" * 32, "rows": 60},
    "model": {"name": "tiny/model", "revision": None, "architecture": "BertModel", "layers": 3, "heads": 4},
    "parser": None,
    "preset": "calibrated",
    "statistic": "selectivity",
    "counts": {"examples": 60, "units": 60},
    "oddity": {"never heard of": [1, 2]},
}


def labelling(
    sieves: tuple[str, ...] = ("local", "delimiter", "block"),
    *,
    contrasts: tuple[str, ...] = ("block",),
    shape: tuple[int, int, int] = (60, 3, 4),
    manifest: Mapping[str, Any] = MANIFEST,
    decision: Decision = DECISION,
    silent: int = -1,
    skipped: tuple[str, ...] = (),
    assessed: bool = False,
) -> Labelling:
    """A labelling of random scores; ``silent`` is a sieve with a score on one example only."""
    chance = np.random.default_rng(7)
    rules = [
        Rule(
            name, f"Asks {name}?", contrast=f"{name}:matched" if name in contrasts else "", low=-1.0, high=1.0
        )
        for name in sieves
    ]
    rules += [Rule(f"{name}:matched", margin=0.02, role=False, low=-1.0, high=1.0) for name in contrasts]
    examples, layers, heads = shape
    level = chance.beta(0.4, 1.6, size=(len(rules), 1, layers, heads))
    values = (level + chance.normal(0, 0.1, size=(len(rules), *shape))).clip(-1, 1).astype(np.float32)
    if silent >= 0:
        values[silent, 1:] = np.nan
    keys = tuple(f"e{number}" for number in range(examples))
    scores = Scores(
        sieves=tuple(rule.sieve for rule in rules),
        examples=keys,
        units=keys,
        tokens=np.full(examples, 20),
        cells=np.full((len(rules), examples), 12.5),
        values=values,
        null=np.zeros((len(rules), examples)),
    )
    with np.errstate(all="ignore"):
        findings = judge(scores, rules, decision)
        assessment = assess(scores, rules, decision, findings) if assessed else None
    return Labelling(scores, findings, decision, manifest, skipped, assessment)


class Parts(HTMLParser):
    """Visible text, attributes and script texts of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self.links: list[str] = []
        self.handlers: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.tags: list[str] = []
        self._inside = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._inside = tag if tag in {"script", "style"} else ""
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        self.links += [value or "" for name, value in attrs if name in {"src", "href", "data", "action"}]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif not self._inside:
            self.text += data

    def embedded(self, key: str) -> Any:
        return json.loads(next(text for attributes, text in self.scripts if attributes.get("id") == key))


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def test_every_count_on_the_page_is_the_count_of_the_frame() -> None:
    run = labelling()
    rows = re.findall(r'<tr><th scope="row" data-key="\d+"><bdi>(\w+)</bdi></th>(.*?)</tr>', page(run))
    counted = {name: re.findall(r"<bdi>(.*?)</bdi>", row) for name, row in rows}
    frame = run.frame()
    for name in run.findings.roles:
        counts = frame[frame["sieve"] == name]["decision"].value_counts()
        words = ("role", "explained", "not", "undetermined", "untestable")
        held, explained, below, open_, silent = (str(counts.get(word, 0)) for word in words)
        shown = counted[name][:5]
        assert shown == [held, explained if name == "block" else "–", below, open_, silent]


def test_the_strongest_head_of_a_role_has_its_mean_and_its_contrast() -> None:
    run = labelling()
    strongest = summarise(run).roles[2].strongest
    assert strongest is not None
    assert strongest.contrast is not None
    place = (run.findings.of("block:matched"), strongest.layer, strongest.head)
    assert strongest.contrast.mean == run.findings.mean[place]
    held = run.findings.decision[2] == 0
    assert strongest.score.mean == run.findings.mean[2][held].max()


def test_the_same_labelling_gives_the_same_bytes() -> None:
    assert page(labelling()) == page(labelling())
    assert page(labelling(assessed=True)) == page(labelling(assessed=True))


def test_the_page_asks_for_nothing_and_holds_plotly_once() -> None:
    html = page(labelling())
    parts = Parts(html)
    assert html.count(template(PLOTLY)[:2000]) == 1
    assert html.count("plotly.js (basic - minified) v") == 1
    assert all(link.startswith("#") for link in parts.links)
    assert parts.handlers == []
    assert not {"link", "iframe", "object", "embed", "img", "base"} & set(parts.tags)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    assert policy[1].startswith("default-src &#39;none&#39;; script-src &#39;sha256-")
    assert "unsafe-eval" not in policy[1]


def test_the_embedded_findings_are_the_frame_bit_for_bit() -> None:
    run = labelling(silent=1)
    stored = Parts(page(run)).embedded("findings-columns")
    frame = run.frame()
    size = stored["layers"] * stored["heads"]
    for name in stored["names"]:
        values = np.frombuffer(base64.b64decode(stored["columns"][name]), dtype="<f8")
        values = values if values.size == len(frame) else np.repeat(values, size)
        np.testing.assert_array_equal(values, frame[name].to_numpy(dtype=np.float64))
    codes_ = np.frombuffer(base64.b64decode(stored["decision"]), dtype="u1")
    assert [stored["decisions"][code] for code in codes_] == frame["decision"].tolist()


def test_hostile_names_are_text_and_nothing_else() -> None:
    bad = ("<script>alert('x')</script>", "a\"b' onmouseover=alert(1) x", "<!--", "\u202eright 😀", "%{x}")
    manifest = MANIFEST | {
        "model": {"name": "</title><script>alert(2)</script>"},
        "command": "</code><img src=x onerror=alert(3)>",
        "notes": ["</script><script>alert(4)</script>"],
        "<b>key</b>": {"<i>": "</dd>"},
    }
    run = labelling(bad, contrasts=(bad[0],), manifest=manifest, skipped=("<img src=x>",), assessed=True)
    html = page(run)
    parts = Parts(html)
    clean = Parts(
        page(
            labelling(
                ("a", "b", "c", "d", "e"),
                contrasts=("a",),
                manifest=MANIFEST | {"notes": [""]},
                assessed=True,
            )
        )
    )
    assert [tag for tag in parts.tags if tag in {"script", "img"}] == [
        tag for tag in clean.tags if tag in {"script", "img"}
    ]
    for text in (*bad, "<img src=x>", manifest["command"], "<b>key</b>", manifest["notes"][0]):
        assert text in parts.text
    means = next(panel for panel in figures(summarise(run)) if panel.key == "means")
    assert "\u2068\u202eright 😀\u2069" in {note["text"] for note in means.figure["layout"]["annotations"]}
    assert parts.embedded("findings-columns")["sieves"][: len(bad)] == list(bad)
    assert parts.embedded("manifest")["notes"] == manifest["notes"]
    for panel in figures(summarise(run)):
        names = [trace["name"] for trace in panel.figure["data"] if "name" in trace]
        assert not any("<" in name for name in names)


def test_the_published_preset_carries_its_warning() -> None:
    published = squeezed(Parts(page(labelling(manifest=MANIFEST | {"preset": "published"}))).text)
    assert "A threshold of 3 is not a null" in published
    assert "instead of n − 1" in published
    assert "A threshold of 3" not in Parts(page(labelling())).text


def test_what_could_not_be_tested_is_said_and_drawn_nowhere() -> None:
    run = labelling(silent=1, skipped=("delimiter: only one example has a delimiter.",))
    assert set(run.frame().query("sieve == 'delimiter'")["decision"]) == {"untestable"}
    html = page(run)
    text = squeezed(Parts(html).text)
    assert "Could not be tested: delimiter." in text
    assert "delimiter: only one example has a delimiter." in text
    means = next(panel for panel in figures(summarise(run)) if panel.key == "means")
    assert next(row for row in means.rows if row[0] == "delimiter")[3:] == ("–",) * 5
    assert all(not len(trace["x"]) for trace in means.figure["data"] if trace["name"] == "delimiter")
    assert "nan" not in text.lower().split()


def test_the_threshold_named_is_the_chance_met_in_the_run_plus_the_margin() -> None:
    run = labelling()
    shifted = replace(run, findings=replace(run.findings, null=run.findings.null + 1.0))
    assert summarise(shifted).roles[0].threshold == pytest.approx(1.1)
    means = next(panel for panel in figures(summarise(shifted)) if panel.key == "means")
    assert means.rows[0][1:3] == ("1", "1.10")


def test_means_and_contrasts_of_a_role_stand_in_one_row_with_their_thresholds() -> None:
    run = labelling()
    summary = summarise(run)
    panel = next(panel for panel in figures(summary) if panel.key == "means")
    drawn = go.Figure(panel.figure)
    top = len(summary.roles) - 1
    for place, role in enumerate(summary.roles):
        names = [(role.sieve, "x", role.threshold), (role.contrast, "x2", role.contrast_threshold)]
        for name, axis, threshold in names[: 1 + bool(role.contrast)]:
            own = [trace for trace in drawn.data if trace.name == name and trace.mode == "markers"]
            assert {trace.xaxis for trace in own} == {axis}
            means = np.concatenate([trace.x for trace in own])
            expected = run.findings.mean[run.findings.of(name)].ravel()
            np.testing.assert_allclose(np.sort(means), np.sort(expected), rtol=1e-6)
            assert all(abs(y - (top - place)) < 0.5 for trace in own for y in trace.y)
            strokes = [
                shape.x0 for shape in drawn.layout.shapes
                if shape.xref == axis and shape.line.dash is None and shape.y0 < top - place < shape.y1
            ]  # fmt: skip
            assert strokes == pytest.approx([threshold])
            held = run.findings.decision[run.findings.of(role.sieve)].ravel() == 0
            (filled,) = (trace for trace in own if not trace.marker.symbol.endswith("-open"))
            assert len(filled.x) == held.sum()


def test_every_figure_is_one_that_plotly_knows() -> None:
    for panel in figures(summarise(labelling(assessed=True))):
        for plot in (panel, panel.beside):
            if plot is not None:
                go.Figure(plot.figure)
                assert {trace["type"] for trace in plot.figure["data"]} <= {"scatter", "bar"}
                json.loads(figure_json(plot.figure))


def test_the_script_of_plotly_is_that_of_the_package() -> None:
    small, whole = (
        re.search(r"plotly\.js .*?v([\d.]+)", text[:200]) for text in (template(PLOTLY), get_plotlyjs())
    )
    assert small is not None
    assert whole is not None
    assert small[1] == whole[1]
    assert len(template(PLOTLY)) < len(get_plotlyjs()) / 3


def test_sets_of_roles_are_counts_of_heads() -> None:
    run = labelling()
    summary = summarise(run)
    held = np.stack([run.findings.decision[run.findings.of(name)] == 0 for name in run.findings.roles])
    assert sum(each.heads for each in summary.combinations) == int(held.any(axis=0).sum())
    assert [role.layers for role in summary.roles] == [tuple(each.sum(axis=1).tolist()) for each in held]


def test_an_empty_manifest_is_enough() -> None:
    text = squeezed(Parts(page(labelling(manifest={}))).text)
    assert "What do the 12 heads do?" in text
    assert "Nothing was left out" in text


def test_everything_in_the_manifest_is_shown() -> None:
    account = summarise(labelling()).account
    shown = {(line.term, line.value) for line in (*account.main, *account.rest)}
    assert ("never heard of", "1, 2") in shown
    assert ("data", "QNLI sample") in shown
    assert ("name", "none") in shown
    assert ("SHA-256", "abababababab…") in shown
    assert ("margin", "0.10; 0.02 for block:matched") in shown
    assert account.subtitle == "QNLI · QNLI sample · 60 examples · 60 units · 12 heads in 3 layers"


def test_marks_are_short_and_no_two_alike() -> None:
    names = [f"syntactic:{relation}" for relation in ("nsubj", "nmod", "nummod", "n", "nn")] + ["😀", "", "S"]
    names += ["offset:1", "offset:+1", "offset:-2", "punctuation:,.", ",", "-2"]
    marks = role_marks(names)
    assert len(set(marks)) == len(names)
    assert all(re.fullmatch("[A-Za-z0-9]{1,2}", mark) for mark in marks)


def test_a_run_without_roles_still_makes_a_page() -> None:
    run = labelling((), contrasts=("block",))
    assert "No sieve of this run can be a role." in Parts(page(run)).text


def made_up(names: tuple[str, ...], shape: tuple[int, ...]) -> Assessment:
    """An assessment as large as a run of such sieves has, of numbers that do not compress."""
    chance = np.random.default_rng(5)
    precision = Precision(*(chance.random(shape) for _ in fields(Precision)))
    moved = [
        SensitivityRow(name, convention, step / 100, step)
        for convention in ("margin", "alpha")
        for step in range(1, 12)
        for name in names
    ]
    together = [
        RoleOverlap(one, other, contrasts, 9, 8, 7, *chance.random(8).tolist())
        for contrasts in ("with", "without")
        for one, other in permutations(names, 2)
    ]
    depth = [Depth(name, 9, *chance.random(13).tolist()) for name in names]
    return Assessment(precision, tuple(moved), tuple(together), tuple(depth))


def test_a_thousand_heads_under_twenty_sieves_stay_below_fifteen_megabytes() -> None:
    names = tuple(f"sieve-{number}" for number in range(20))
    run = labelling(names, contrasts=names[:4], shape=(52, 32, 32))
    html = page(replace(run, assessment=made_up(names, run.findings.p.shape)))
    assert len(html.encode()) < 15_000_000
