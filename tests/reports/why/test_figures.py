"""Figures and tables of runs that ask where roles come from have the numbers of the record."""

import csv
import io
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from headroles.errors import UnknownName
from headroles.records.causal.origins import Origins
from headroles.records.findings import Labelling
from headroles.reports.print.figures import figures_of
from headroles.reports.print.tables import table_text, tables_of
from headroles.reports.why.figures import (
    EACH,
    LEAST,
    STEPS,
    TALLEST,
    neurons_panel,
    removal_panels,
    shares_panel,
    strips_panel,
    strongest_heads,
    why_panels,
)
from headroles.reports.why.sheets import dimensions_sheet, heads_sheet, knockouts_sheet, roles_sheet
from headroles.reports.why.words import LOOKS, share_text
from tests.support.causal.origins import why_run


@pytest.fixture(scope="module")
def run() -> Labelling:
    return why_run()


def _part(labelling: Labelling) -> Origins:
    assert labelling.origins is not None
    return labelling.origins


def _marks(panel: Any, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(trace for trace in panel.figure["data"] if trace.get("name") == name)
    return found


def test_every_tested_head_has_its_share_with_the_interval(run: Labelling) -> None:
    panel = shares_panel(run)
    assert panel is not None
    for verdict in LOOKS:
        rows = [row for row in _part(run).origins if row.verdict == verdict]
        marks = _marks(panel, verdict)
        np.testing.assert_allclose(np.sort(marks["x"]), sorted(row.share for row in rows), rtol=1e-6)
        low = np.asarray(marks["x"]) - marks["error_x"]["arrayminus"]
        high = np.asarray(marks["x"]) + marks["error_x"]["array"]
        np.testing.assert_allclose(np.sort(low), sorted(row.share_low for row in rows), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(
            np.sort(high), sorted(row.share_high for row in rows), rtol=1e-5, atol=1e-6
        )
        assert all(share_text(row) in " ".join(marks["text"]) for row in rows)
    heights = np.concatenate([_marks(panel, verdict)["y"] for verdict in LOOKS])
    assert len(np.unique(heights)) == len(heights)
    half = [shape for shape in panel.figure["layout"]["shapes"] if shape.get("x0") == shape.get("x1") == 0.5]
    assert len(half) == 1


def test_heads_of_a_role_stand_together_and_roles_are_named(run: Labelling) -> None:
    panel = shares_panel(run)
    assert panel is not None
    axis = panel.figure["layout"]["yaxis"]
    bands = [shape for shape in panel.figure["layout"]["shapes"] if shape["type"] == "rect"]
    assert list(axis["ticktext"]) == ["class token", "separators", "neighbours (±2)", "adjective → noun"]
    sizes = [round(band["y1"] - band["y0"]) for band in bands]
    tested = [row.role for row in _part(run).origins if row.verdict != "untestable"]
    assert sizes == [tested.count(role) for role in dict.fromkeys(tested)]
    assert all(first["y1"] < second["y0"] for first, second in pairwise(bands))


def test_intervals_without_ends_and_shares_far_away_stay_on_the_axis(run: Labelling) -> None:
    first, second, *others = _part(run).origins
    changed = (
        replace(first, share=9.0, share_low=-np.inf, share_high=np.inf),
        replace(second, share_low=np.nan, share_high=np.nan),
        *others,
    )
    panel = shares_panel(replace(run, origins=replace(_part(run), origins=changed)))
    assert panel is not None
    marks = _marks(panel, "vertical")
    assert np.isfinite(marks["x"]).all()
    assert max(marks["x"]) == 2.0
    assert np.isfinite(marks["error_x"]["array"]).all()
    assert np.isfinite(marks["error_x"]["arrayminus"]).all()
    assert "1 share below −1 or above 2 at the ends." in panel.caption


def test_figures_of_many_heads_are_no_taller_than_their_rows() -> None:
    many = why_run((25, 8, 10), removed=False)
    panel = shares_panel(many)
    assert panel is not None
    rows = sum(row.verdict != "untestable" for row in _part(many).origins)
    gaps = len(panel.figure["layout"]["yaxis"]["ticktext"])
    assert panel.figure["layout"]["height"] <= 86 + max(STEPS[0] * (rows + gaps), TALLEST) + 1


def test_names_of_roles_with_few_heads_have_room(run: Labelling) -> None:
    many = why_run((25, 8, 10), removed=False)
    part = _part(many)
    own = [row for row in part.origins if row.role == "local" and row.verdict != "untestable"]
    few = tuple(row for row in part.origins if row.role == "delimiter:cls" or row in own[:1])
    panel = shares_panel(replace(many, origins=replace(part, origins=few * 4)))
    assert panel is not None
    (_, one) = [shape for shape in panel.figure["layout"]["shapes"] if shape["type"] == "rect"]
    upper, lower = panel.figure["layout"]["yaxis"]["range"]
    pixels = (panel.figure["layout"]["height"] - 86) / (upper - lower)
    assert (one["y1"] - one["y0"]) * pixels >= 0.9 * LEAST
    for axis_place in _marks(panel, "by query")["y"]:
        assert one["y0"] < axis_place < one["y1"]


def test_participation_is_drawn_against_that_of_rotations(run: Labelling) -> None:
    panel = neurons_panel(run)
    assert panel is not None
    for few in ("few neurons", "as rotated"):
        rows = [row for row in _part(run).origins if row.few == few]
        marks = _marks(panel, few)
        np.testing.assert_allclose(marks["x"], [row.rotated for row in rows], rtol=1e-6)
        np.testing.assert_allclose(marks["y"], [row.participation for row in rows], rtol=1e-6)
    line = _marks(panel, "the same")
    assert line["x"] == line["y"]
    assert "1 of 41 roles of heads is carried by few neurons" in panel.sentence
    assert panel.rows[0][-1] == "few neurons"
    assert neurons_panel(why_run(rotary=True)) is None


def test_dimensions_of_the_strongest_heads_are_drawn_and_found_ones_are_marked(run: Labelling) -> None:
    part, panel, rows = _part(run), strips_panel(run), strongest_heads(run)
    assert panel is not None
    for role in dict.fromkeys(row.role for row in part.origins if row.verdict != "untestable"):
        contrasts = sorted((row.contrast for row in part.origins if row.role == role), reverse=True)
        assert [row.contrast for row in rows if row.role == role] == contrasts[:EACH]
    cells = panel.figure["data"][0]
    values = {(int(row), int(column)): value for row, column, value, *_ in cells["customdata"].tolist()}
    found = {
        (int(row), int(column))
        for column, row in zip(*(_marks(panel, "found")[axis] for axis in "xy"), strict=True)
    }
    for place, row in enumerate(rows):
        for test in part.dimensions:
            if (test.role, test.layer, test.head) == (row.role, row.layer, row.head):
                assert values[place, test.dimension] == pytest.approx(test.share, rel=1e-5, abs=1e-6)
                assert ((place, test.dimension) in found) == test.found
    assert len(values) == 16 * len(rows)
    pairs = strips_panel(why_run(rotary=True))
    assert pairs is not None
    assert pairs.figure["layout"]["xaxis"]["title"]["text"] == "frequency pair"


def test_scores_are_drawn_before_and_after_every_removal(run: Labelling) -> None:
    own, dimensions, others = removal_panels(run)
    for panel, by, same in (
        (own, "subspace", True),
        (dimensions, "dimensions", True),
        (others, "subspace", False),
    ):
        rows = [row for row in _part(run).knockouts if row.by == by and (row.role == row.scored) == same]
        assert sorted(_marks(panel, "before")["x"]) == sorted(row.before for row in rows)
        assert list(_marks(panel, "threshold")["x"]) == [row.threshold for row in rows]
        after = [_marks(panel, verdict)["x"] for verdict in {row.verdict for row in rows}]
        np.testing.assert_allclose(
            np.sort(np.concatenate(after)), sorted(row.after for row in rows), rtol=1e-6
        )
        falls = sum(row.verdict == "falls" for row in rows)
        assert f"falls below the threshold in {falls} of {len(rows)}" in panel.sentence
    assert removal_panels(why_run(removed=False)) == ()


def test_without_heads_there_are_no_figures() -> None:
    assert why_panels(why_run(held=False)) == ()


def test_the_table_of_roles_counts_the_heads(run: Labelling) -> None:
    sheet, part = roles_sheet(run), _part(run)
    assert [row[0].text for row in sheet.rows] == list(part.held.roles)
    for row in sheet.rows:
        own = [one for one in part.origins if one.role == row[0].text]
        cells = dict(zip(sheet.header, row, strict=True))
        assert cells["heads"].key == len(own)
        for word in ("vertical", "by query", "undetermined", "untestable"):
            assert cells[word].key == sum(one.verdict == word for one in own)
        assert cells["found"].key == sum(one.found for one in own)
    assert "when rotated" not in roles_sheet(why_run(rotary=True)).header
    assert "directions" not in roles_sheet(why_run(redeals=0)).header
    assert "falls without" not in roles_sheet(why_run(removed=False)).header
    assert "falls without" not in roles_sheet(why_run(redeals=0)).header  # it is without directions


def test_tables_have_a_row_per_test(run: Labelling) -> None:
    part = _part(run)
    for sheet, rows in (
        (heads_sheet(run), part.origins),
        (dimensions_sheet(run), part.dimensions),
        (dimensions_sheet(run, found=True), [row for row in part.dimensions if row.found]),
        (knockouts_sheet(run), part.knockouts),
    ):
        assert sheet is not None
        assert len(sheet.rows) == len(rows)
    sheet = heads_sheet(run)
    assert sheet is not None
    assert "position bias" not in sheet.header
    biased = replace(
        run, origins=replace(part, origins=(replace(part.origins[0], bias=0.5), *part.origins[1:]))
    )
    sheet = heads_sheet(biased)
    assert sheet is not None
    assert "position bias" in sheet.header
    empty = why_run(held=False)
    assert (heads_sheet(empty), dimensions_sheet(empty), knockouts_sheet(empty)) == (None, None, None)


def test_tables_for_papers_have_all_digits_and_say_how_they_were_decided(run: Labelling) -> None:
    assert list(tables_of(run)) == ["roles", "heads", "dimensions", "removals", "findings"]
    lines = list(csv.DictReader(io.StringIO(table_text(run, "heads", "csv"))))
    part = _part(run)
    shares = [float(line["share"] or "nan") for line in lines]
    np.testing.assert_array_equal(shares, [row.share for row in part.origins])
    text = table_text(run, "roles", "markdown")
    assert "over all roles of heads; alpha 0.05; 40 units." in text
    with pytest.raises(UnknownName):
        table_text(why_run(held=False), "heads", "csv")


def test_all_figures_are_drawn_for_print(run: Labelling) -> None:
    drawn = figures_of(run)
    assert list(drawn) == [
        "verdicts", "shares", "neurons", "dimensions", "removals-subspace", "removals-dimensions",
        "removals-others",
    ]  # fmt: skip
    for name, figure in drawn.items():
        assert isinstance(figure, go.Figure), name
        assert "var(--" not in figure.to_json(), name
        assert figure.layout.meta["sentence"], name
    assert (
        "22 vertical, 17 by query, 2 undetermined, 5 untestable" in drawn["verdicts"].layout.meta["sentence"]
    )
    legend = [trace.name for trace in drawn["shares"].data if trace.showlegend]
    assert legend == ["vertical", "by query", "undetermined", "one half"]
    assert list(figures_of(why_run(held=False))) == []
