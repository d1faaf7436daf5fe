"""Figures of runs of sieves and of comparisons: every mark stands at a number of the run."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from headroles.records import Labelling, Rule
from headroles.reports import figures_of, summarise
from tests.support.made_runs import made_run
from tests.support.pages import (
    Parts,
    label_run,
    page,
    parts_of,
    small,
    small_page,
    unpacked,
)


def figure(parts: Parts, key: str) -> Any:
    """Return a figure of a page."""
    return unpacked(parts.islands[f"figure-{key}-spec"])


def behind(parts: Parts, key: str) -> list[list[str]]:
    """Return the rows of the table behind a figure, without its header."""
    return parts.rows(f'id="figure-{key}-spec"')[1:]


def test_a_p_of_0_has_a_place_and_the_threshold_lies_beyond_the_chance_that_was_met() -> None:
    usual = label_run()
    p = usual.findings.p.copy()
    p[2, 0, 0] = 0.0
    made = Parts(page(replace(usual, findings=replace(usual.findings, p=p, null=usual.findings.null + 1.0))))
    assert behind(made, "means")[0][1:3] == ["1", "1.10"]
    rows = behind(made, "p-values")
    assert rows[2][5] == "<1e-16"
    assert rows[3][1:] == ["0", "0", "0", *["–"] * 7]
    traces = [trace for trace in figure(made, "p-values")["data"] if trace.get("mode") == "markers"]
    strengths = np.concatenate([trace["x"] for trace in traces])
    wanted = -np.log10(np.maximum(p[:4][~np.isnan(p[:4])], 1e-16))
    np.testing.assert_allclose(np.sort(strengths), np.sort(wanted), rtol=1e-6)


def _levels(
    level: np.ndarray, names: tuple[str, ...] = ("local", "delimiter", "delimiter:cls", "syntactic")
) -> Labelling:
    """Return an assessed run of forty inputs with scores around a level for each sieve, layer and head."""
    noise = np.random.default_rng(3).normal(0, 0.1, size=(len(level), 40, *level.shape[1:]))
    rules = [Rule(name, low=-1.0, high=1.0) for name in names[: len(level)]]
    return made_run(rules, (level[:, None] + noise).clip(-1, 1), assessed=True)


def test_sets_that_differ_in_a_whole_alone_are_drawn_as_one() -> None:
    level = np.full((3, 1, 6), -0.5)
    level[0, 0, :5] = level[1, 0, :3] = 0.5
    level[2, 0, 3] = 0.5
    level[:, 0, 5] = -0.5
    level[1, 0, 5] = 0.5
    run = _levels(level, ("delimiter", "delimiter:cls", "local"))
    made = Parts(page(run))
    bars = figure(made, "overlap")["data"][0]
    assert [*zip(bars["hovertext"], bars["y"], strict=True)] == [
        ("class token", 4), ("special tokens", 1), ("special tokens + neighbours", 1),
    ]  # fmt: skip
    assert [row[:2] for row in behind(made, "overlap")] == [
        ["special tokens + class token", "3"],
        ["special tokens", "1"],
        ["special tokens + neighbours", "1"],
        ["class token", "1"],
    ]


@pytest.mark.parametrize("kind", ["label", "cluster", "ablate", "why"])
def test_figures_for_print_have_the_numbers_of_the_page_on_white(kind: str) -> None:
    made, drawn = parts_of(small_page(kind)), figures_of(small(kind))
    keys = [key.removeprefix("figure-").removesuffix("-spec") for key in made.islands]
    shared = [key for key in keys if key in drawn and key != "cluster-map"]  # which print draws three times
    assert len(shared) >= 2
    for key in shared:
        before, after = figure(made, key), unpacked(drawn[key].to_plotly_json())
        for one, other in zip(before["data"], after["data"], strict=False):
            for side in ("x", "y"):
                mine, theirs = (_as_numbers(trace.get(side)) for trace in (one, other))
                np.testing.assert_allclose(mine, theirs, rtol=1e-6, err_msg=f"{key} {side}")
    for name, shown in drawn.items():
        assert "var(--" not in str(shown.to_plotly_json()["data"]), name
        assert shown.layout.paper_bgcolor == shown.layout.plot_bgcolor == "#ffffff"
        assert len(shown.layout.meta["sentence"]) > 20, name


def _as_numbers(values: Any) -> np.ndarray:
    """Return places of marks as numbers, NaN for gaps."""
    listed = [] if values is None else list(values)
    return np.array([np.nan if value is None else value for value in listed], dtype=float)


def test_the_matrix_has_a_mark_for_every_role_of_every_head() -> None:
    run = label_run()
    summary = summarise(run)
    wide, narrow = (figures_of(run, width)["matrix"] for width in (183.0, 60.0))
    (marks,) = (trace for trace in wide.data if trace.mode == "text")
    assert len(marks.text) == summary.held.sum() > 0
    for role, held in zip(summary.roles, summary.held, strict=True):
        own = [place for place, code in enumerate(marks.text) if code == role.code]
        cells = {(round(float(marks.y[place])), round(float(marks.x[place]))) for place in own}
        assert cells == {(int(layer), int(head)) for layer, head in np.argwhere(held)}
    assert sum(len(trace.x) for trace in narrow.data if trace.name == "roles") == len(marks.x)
    crowded = _levels(np.full((4, 2, 70), 0.5))
    (counts,) = figures_of(crowded, 60.0)["matrix"].data
    assert list(counts.text) == summarise(crowded).held.sum(axis=0).astype(str).ravel().tolist()
    level = np.array([[[0.5, 0.5, -0.5]], [[0.5, -0.5, -0.5]], [[0.5, -0.5, 0.5]]])
    parts_of_one = _levels(level, ("delimiter", "delimiter:cls", "local"))
    (marks,) = (trace for trace in figures_of(parts_of_one)["matrix"].data if trace.mode == "text")
    drawn = {(round(float(x)), code) for x, code in zip(marks.x, marks.text, strict=True)}
    assert drawn == {(0, "Dc"), (0, "L"), (1, "D"), (2, "L")}  # a whole only where no part of it holds


def test_a_map_shows_mean_and_decision_of_every_head_of_its_role() -> None:
    run = _levels(np.random.default_rng(3).beta(0.6, 1.2, size=(4, 3, 4)), ("local", "block", "a", "b"))
    decision = run.findings.decision.copy()
    decision[1, 0, 0] = 4
    run = replace(run, findings=replace(run.findings, decision=decision))
    drawn, summary = figures_of(run)["maps"], summarise(run)
    for place, role in enumerate(summary.roles):
        axis = f"x{place + 1 if place else ''}"
        own = [trace for trace in drawn.data if trace.xaxis in ((axis, None) if axis == "x" else (axis,))]
        (cells,) = (trace for trace in own if trace.type == "bar")
        decided = decision[role.position]
        np.testing.assert_allclose(
            cells.marker.color, run.findings.mean[role.position].ravel().clip(0), rtol=1e-6
        )
        assert [shape == "/" for shape in cells.marker.pattern.shape] == (decided == 2).ravel().tolist()
        for mark, code in (("role", 0), ("explained", 4)):
            told = {
                (y, x) for trace in own if trace.name == mark for x, y in zip(trace.x, trace.y, strict=True)
            }
            assert told - {(None, None)} == {tuple(cell) for cell in np.argwhere(decided == code).tolist()}
    notes = [note.text for note in drawn.layout.annotations]
    counts = [role.tally.role for role in summary.roles]
    assert notes[1::2] == [f"{count} head{'s' * (count != 1)}" for count in counts]
