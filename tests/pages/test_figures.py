"""Figures of runs of sieves and of comparisons: every mark stands at a number of the run."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles.records import Decision, Labelling, Rule
from headroles.reports import figures_of, summarise
from tests.support.made_runs import made_run
from tests.support.pages import (
    COMPARED,
    SIEVES,
    Parts,
    comparison,
    label_run,
    page,
    parts_of,
    small,
    small_page,
    unpacked,
    usual_page,
)

NAMES = [name for name in SIEVES if name != "rare"]


def figure(parts: Parts, key: str) -> Any:
    """Return a figure of a page."""
    return unpacked(parts.islands[f"figure-{key}-spec"])


def behind(parts: Parts, key: str) -> list[list[str]]:
    """Return the rows of the table behind a figure, without its header."""
    return parts.rows(f'id="figure-{key}-spec"')[1:]


def of_role(drawn: Any, role: int, **wanted: Any) -> list[Any]:
    """Return the traces of a role."""
    return [
        trace
        for trace in drawn["data"]
        if trace.get("meta", {}).get("role") == role
        and all(trace.get(key) == value for key, value in wanted.items())
    ]


def strokes(drawn: Any, dash: str | None = None) -> list[Any]:
    """Return the lines of a figure with a dash, or the solid ones."""
    return [shape for shape in drawn["layout"]["shapes"] if shape["line"].get("dash") == dash]


@pytest.fixture(scope="module")
def parts() -> Parts:
    """The page of the usual label run."""
    return parts_of(usual_page("label"))


def test_means_of_a_role_and_its_contrast_stand_in_its_row_with_their_thresholds(parts: Parts) -> None:
    run, drawn = label_run(), figure(parts, "means")
    found = run.findings
    rows = {row[0]: row[1:] for row in behind(parts, "means")}
    for place, name in enumerate(NAMES):
        held, level = found.decision[found.of(name)].ravel() == 0, len(SIEVES) - 1 - place
        for column, axis in ((name, "x"), *([("block:matched", "x2")] if name == "block" else [])):
            position = found.of(column)
            means, chance = found.mean[position].ravel(), float(found.null[position].mean())
            threshold = chance + found.rules[position].margin
            filled, open_ = of_role(drawn, place, mode="markers", xaxis=axis)
            np.testing.assert_allclose(filled["x"], means[held], rtol=1e-6)
            np.testing.assert_allclose(open_["x"], means[~held], rtol=1e-6)
            assert filled["customdata"].tolist() == np.flatnonzero(held).tolist()
            assert open_["marker"]["symbol"] == f"{filled['marker']['symbol']}-open"
            heights = np.concatenate([filled["y"], open_["y"]])
            assert (np.abs(heights - level) < 0.5).all()
            assert len(set(heights.tolist())) == heights.size
            for dash, value in ((None, threshold), ("dot", chance)):
                lines = [line for line in strokes(drawn, dash) if line["xref"] == axis]
                inside = [line["x0"] for line in lines if line["y0"] < level < line["y1"]]
                assert inside == pytest.approx([value])
            assert float(rows[column][1]) == pytest.approx(threshold)
            told = [float(cell.replace("−", "-")) for cell in rows[column][2:]]
            np.testing.assert_allclose(told, np.quantile(means, [0, 0.25, 0.5, 0.75, 1]), atol=0.006)
        low, high = (ends[found.of(name)].ravel() for ends in run.mean_intervals())
        strength = np.where(held, found.mean[found.of(name)].ravel(), -np.inf)
        best = np.argsort(-strength, kind="stable").tolist()
        (whisker,) = of_role(drawn, place, name="intervals", xaxis="x")
        ends = [value for value in whisker["x"] if value is not None]
        assert 0 < len(ends) // 2 <= held.sum()
        expected = [end[head] for head in best[: len(ends) // 2] for end in (low, high)]
        np.testing.assert_allclose(ends, expected)
    assert not any(len(trace["x"]) for trace in of_role(drawn, SIEVES.index("rare")))


def test_the_threshold_is_the_chance_met_in_the_run_plus_the_margin() -> None:
    run = label_run()
    shifted = replace(run, findings=replace(run.findings, null=run.findings.null + 1.0))
    roles = summarise(shifted).roles
    assert [role.threshold for role in roles[:3]] == pytest.approx([1.1] * 3)
    assert roles[1].contrast_threshold == pytest.approx(1.02)
    assert behind(Parts(page(shifted)), "means")[0][1:3] == ["1", "1.10"]


@pytest.mark.parametrize("correction", ["fdr_bh", "none"])
def test_the_strip_draws_every_p_and_strokes_the_largest_one_of_a_role(correction: str) -> None:
    from headroles.stats import judge

    usual = label_run()
    p = usual.findings.p.copy()
    p[2, 0, 0] = 0.0
    with np.errstate(all="ignore"):
        found = judge(usual.scores, usual.findings.rules, Decision(correction=correction))
    run = replace(usual, findings=replace(found, p=p), decision=Decision(correction=correction))
    made = Parts(page(run))
    drawn, rows = figure(made, "p-values"), behind(made, "p-values")
    cuts = []
    for place, (name, row) in enumerate(zip(SIEVES, rows, strict=True)):
        own, held = p[found.of(name)].ravel(), found.decision[found.of(name)].ravel() == 0
        known = ~np.isnan(own)
        filled, open_ = of_role(drawn, place, mode="markers")
        strength = -np.log10(np.maximum(own, 1e-16))
        np.testing.assert_allclose(filled["x"], strength[held & known], rtol=1e-6)
        np.testing.assert_allclose(open_["x"], strength[~held & known], rtol=1e-6)
        assert row[1:4] == [str(known.sum()), str((own <= 0.05).sum()), str(held.sum())]
        cuts += [strength[held].min()] if held.any() else []
    np.testing.assert_allclose([shape["x0"] for shape in strokes(drawn)], cuts, rtol=1e-9)
    assert [shape["x0"] for shape in strokes(drawn, "dash")] == pytest.approx([-np.log10(0.05)])
    assert rows[2][5] == "<1e-16"
    assert rows[3][1:] == ["0", "0", "0", *["–"] * 7]


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
        ("delimiter:cls", 4), ("delimiter", 1), ("delimiter + local", 1),
    ]  # fmt: skip
    assert [row[:2] for row in behind(made, "overlap")] == [
        ["delimiter + delimiter:cls", "3"],
        ["delimiter", "1"],
        ["delimiter + local", "1"],
        ["delimiter:cls", "1"],
    ]
    assert all(trace.get("name") != "by chance" for trace in figure(made, "overlap")["data"])


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


@given(most=st.integers(1, 20), seed=st.integers(0, 99))
@settings(max_examples=12)
def test_marks_of_a_cell_lie_inside_it_and_apart(most: int, seed: int) -> None:
    held = np.random.default_rng(seed).random((most, 2, 3)) < 0.6
    noise = np.random.default_rng(seed).normal(0, 0.05, (most, 40, 2, 3))
    rules = [Rule(f"role{number}", low=-1.0, high=1.0) for number in range(most)]
    run = made_run(rules, np.where(held, 0.5, -0.5)[:, None] + noise)
    np.testing.assert_array_equal(summarise(run).held, held)
    from headroles.reports import matrix

    drawn = matrix(summarise(run), 183.0)
    marks = next(trace for trace in drawn["data"] if trace.get("name") in ("roles", "counts"))
    places = np.column_stack([np.asarray(marks["x"], float), np.asarray(marks["y"], float)])
    assert len(places) == held.sum()
    cells = np.rint(places)
    assert (np.abs(places - cells) < 0.5).all()
    np.testing.assert_array_equal(
        np.histogram2d(cells[:, 1], cells[:, 0], bins=[np.arange(-0.5, 2), np.arange(-0.5, 3)])[0],
        held.sum(axis=0),
    )
    assert len({tuple(place) for place in places.round(6).tolist()}) == len(places)


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
        for mark, code in (("•", 0), ("~", 4)):
            told = {
                (y, x) for trace in own if trace.name == mark for x, y in zip(trace.x, trace.y, strict=True)
            }
            assert told - {(None, None)} == {tuple(cell) for cell in np.argwhere(decided == code).tolist()}
    notes = [note.text for note in drawn.layout.annotations]
    counts = [role.tally.role for role in summary.roles]
    assert notes[1::2] == [f"{count} head{'s' * (count != 1)}" for count in counts]


def test_figures_of_a_comparison_hold_every_head_of_every_sieve() -> None:
    found, made = comparison(), parts_of(usual_page("compare"))
    differences, drawn = found.differences, figures_of(found)
    maps = [name for name in drawn if name.startswith("map-")]
    assert len(drawn) == 1 + 3 * len(maps) == 1 + 3 * (len(COMPARED) + 1)
    for place in range(4):
        counts = [int((differences.outcome[place] == code).sum()) for code in range(4)]
        (shade,) = of_role(unpacked(drawn[maps[place]].to_plotly_json()), place)
        rows, columns = np.nonzero(~np.isnan(differences.difference[place]))
        colours = np.asarray(shade["marker"]["color"], float)
        np.testing.assert_allclose(colours, differences.difference[place][rows, columns], atol=1e-6)
        np.testing.assert_array_equal(np.asarray(shade["x"], float), columns)
        assert shade["marker"]["cmax"] == -shade["marker"]["cmin"] >= 0.05
        assert "".join(shade["text"]).count("●") == counts[0]
        dots = of_role(figure(made, "means"), place, mode="markers")
        assert [len(trace["x"]) for trace in dots] == counts[:3]
        for code, trace in enumerate(dots):
            own = differences.outcome[place] == code
            np.testing.assert_allclose(trace["x"], differences.mean_a[place][own], atol=1e-6)
            np.testing.assert_allclose(trace["y"], differences.mean_b[place][own], atol=1e-6)
