"""Figures and tables of runs that take heads out have the numbers of the record."""

import csv
import io
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from headroles.errors import UnknownName
from headroles.records.causal.ablation import VERDICTS, Ablation
from headroles.records.findings import Labelling
from headroles.reports.causal.figures import (
    LOOKS,
    ablation_panels,
    damage_panels,
    margins_panel,
    scores_panels,
    screen_panel,
)
from headroles.reports.causal.forests import MOST, cells_panel, groups_panel, prediction_panel, sites_panel
from headroles.reports.causal.page import ablation_page
from headroles.reports.causal.sheets import (
    ablation_tables,
    arms_sheet,
    damage_sheet,
    groups_sheet,
    roles_sheet,
    sites_sheet,
)
from headroles.reports.causal.words import rows_of
from headroles.reports.print.figures import figures_of
from headroles.reports.print.tables import table_text, tables_of
from tests.support.causal.ablated_runs import ablated_run


@pytest.fixture(scope="module")
def run() -> Labelling:
    return ablated_run()


def _part(labelling: Labelling) -> Ablation:
    assert labelling.ablated is not None
    return labelling.ablated


def test_a_figure_of_damage_has_a_mark_for_every_head_by_its_verdict(run: Labelling) -> None:
    damage = _part(run).damage
    for panel, arm in zip(damage_panels(run), ("loss:mean", "loss:zero"), strict=True):
        place = damage.of(arm)
        drawn = {trace["name"]: trace for trace in panel.figure["data"]}
        for code in LOOKS:
            own = damage.verdict[place] == code
            if not own.any():
                assert VERDICTS[code] not in drawn
                continue
            trace = drawn[VERDICTS[code]]
            np.testing.assert_allclose(trace["y"], damage.mean[place][own], rtol=1e-6)
            ends = trace["y"] + trace["error_y"]["array"]
            np.testing.assert_allclose(ends, damage.high[place][own], rtol=1e-5, atol=1e-7)
        (line,) = [shape for shape in panel.figure["layout"]["shapes"] if shape["line"].get("dash") is None]
        assert line["y0"] == damage.threshold[place]


def test_damage_over_a_wide_range_has_a_logarithmic_axis() -> None:
    wide = ablated_run(roles=(), outcome="representation", by=("mean",))
    assert wide.ablated is not None
    values = np.broadcast_to(np.geomspace(1e-4, 0.5, 72).reshape(6, 12), (1, 6, 12)).copy()
    spread = replace(wide.ablated.damage, mean=values, low=values * 0 - 1.0, high=values * 1.1)
    (panel,) = damage_panels(replace(wide, ablated=replace(wide.ablated, damage=spread)))
    assert panel.figure["layout"]["yaxis"]["type"] == "log"
    for trace in panel.figure["data"]:
        assert not np.asarray(trace["error_y"]["arrayminus"]).any()
    (line,) = panel.figure["layout"]["shapes"]
    assert line["y0"] == 0.01


def test_damage_to_first_order_is_drawn_against_the_exact_one() -> None:
    screened = ablated_run(screened=3)
    panel = screen_panel(screened)
    assert panel is not None
    damage, findings = _part(screened).damage, screened.findings
    exact, first = damage.mean[damage.of("loss:mean")], findings.mean[findings.of("loss:screen")]
    known = ~np.isnan(exact)
    drawn = [trace for trace in panel.figure["data"] if trace["mode"] == "markers"]
    np.testing.assert_allclose(
        np.sort(np.concatenate([trace["y"] for trace in drawn])), np.sort(exact[known]), rtol=1e-6
    )
    np.testing.assert_allclose(
        np.sort(np.concatenate([trace["x"] for trace in drawn])), np.sort(first[known]), rtol=1e-6
    )
    tops = [{*np.argsort(-values[known])[:10].tolist()} for values in (exact, first)]
    assert f" {len(tops[0] & tops[1])} of the 10 heads of largest damage" in panel.sentence
    assert len(panel.rows) == known.sum() == 54
    assert screen_panel(ablated_run()) is None
    assert "screen" in figures_of(screened)
    assert "Estimated damage (to first order)" in ablation_page(screened)


def test_scores_are_drawn_against_damage_filled_where_a_head_holds_the_role(run: Labelling) -> None:
    part = _part(run)
    assert part.held is not None
    panels = scores_panels(run)
    assert len(panels) == 5
    for place, panel in enumerate(panels):
        held = part.held.heads(part.held.roles[place])
        filled = [trace for trace in panel.figure["data"] if trace["name"].endswith(": holds the role")]
        assert sum(len(trace["x"]) for trace in filled) == held.sum()
        assert all(not trace["marker"]["symbol"].endswith("-open") for trace in filled)
        assert sum(len(trace["x"]) for trace in panel.figure["data"]) == 72


def test_areas_and_mean_damages_of_roles_are_those_of_their_tests(run: Labelling) -> None:
    panel, rows = prediction_panel(run), rows_of(_part(run).roles, "loss:mean")
    assert panel is not None
    assert panel.beside is not None
    areas = np.concatenate([trace["x"] for trace in panel.figure["data"]])
    np.testing.assert_allclose(sorted(areas), sorted(row.area for row in rows))
    means = np.concatenate([trace["x"] for trace in panel.beside.figure["data"]])
    np.testing.assert_allclose(sorted(means), sorted(row.damage for row in rows))
    assert [row[0] for row in panel.rows] == [row.role for row in rows]


def test_sites_cells_and_sets_are_drawn_one_row_each(run: Labelling) -> None:
    part = _part(run)
    for panel, count in (
        (sites_panel(run), len(part.sites)),
        (cells_panel(run), len(part.cells)),
        (groups_panel(run), len(part.groups)),
    ):
        assert panel is not None
        assert len(panel.rows) == len(panel.figure["layout"]["yaxis"]["tickvals"]) == count


def test_many_labelled_heads_are_cut_to_those_of_the_smallest_p(run: Labelling) -> None:
    part = _part(run)
    many = tuple(replace(row, p=number / 1000, head=number) for number, row in enumerate(part.sites * 4))
    panel = sites_panel(replace(run, ablated=replace(part, sites=many)))
    assert panel is not None
    assert len(panel.rows) == MOST < len(many)
    assert [row[0].split("-")[1] for row in panel.rows] == [str(number) for number in range(MOST)]
    assert f"The {MOST} of {len(many)} heads with the smallest p are drawn." in panel.caption


def test_heads_that_could_not_be_tested_are_not_drawn(run: Labelling) -> None:
    part = _part(run)
    bare = tuple(replace(row, decision="untestable", difference=float("nan")) for row in part.cells)
    panel = cells_panel(replace(run, ablated=replace(part, cells=(*part.cells, *bare))))
    assert panel is not None
    assert len(panel.rows) == len(part.cells)
    assert cells_panel(replace(run, ablated=replace(part, cells=bare))) is None
    assert "<section" in ablation_page(replace(run, ablated=replace(part, cells=bare, sites=())))


def test_margins_are_counted_as_in_their_table(run: Labelling) -> None:
    panel = margins_panel(run)
    assert panel is not None
    rows = sorted(rows_of(_part(run).margins, "loss:mean"), key=lambda row: row.margin)
    drawn = {trace["name"]: trace for trace in panel.figure["data"]}
    assert list(drawn["negligible"]["y"]) == [row.negligible for row in rows]
    (line,) = panel.figure["layout"]["shapes"]
    assert line["x0"] == pytest.approx(0.01)


def test_a_run_without_roles_draws_damage_and_margins_alone() -> None:
    bare = ablated_run(roles=(), outcome="representation", by=("mean",))
    assert [panel.key for panel in ablation_panels(bare)] == ["damage", "margins"]


def test_every_figure_is_one_that_plotly_knows_and_bears_a_sentence(run: Labelling) -> None:
    figures = figures_of(run, 89.0)
    assert list(figures)[:3] == ["verdicts", "damage", "damage-loss-zero"]
    assert {"scores-local", "prediction", "prediction-damage", "sites", "cells", "groups", "margins"} <= {
        *figures
    }
    for name, figure in figures.items():
        assert isinstance(figure, go.Figure)
        assert len(figure.layout.meta["sentence"]) > 20, name
        assert "var(--" not in figure.to_json(), name


def test_the_printed_map_marks_heads_as_the_verdicts_say(run: Labelling) -> None:
    damage = _part(run).damage
    codes = damage.verdict[damage.of("loss:mean")]
    figure = figures_of(run)["verdicts"]
    for code, word in enumerate(VERDICTS):
        bars = [
            trace
            for trace in figure.data
            if trace.type == "bar" and trace.name == word and trace.xaxis in (None, "x")
        ]
        assert sum(len(trace.x) for trace in bars) == (codes == code).sum()


def test_tables_hold_every_number_of_the_record(run: Labelling) -> None:
    part, damage = _part(run), _part(run).damage
    assert [row[2].key for row in arms_sheet(run).rows] == [
        int((damage.verdict[place] == 0).sum()) for place in range(2)
    ]
    words = [row[-2].text for row in damage_sheet(run).rows]
    assert words == [VERDICTS[code] for code in damage.verdict.ravel()]
    for make, rows in ((roles_sheet, part.roles), (sites_sheet, part.sites), (groups_sheet, part.groups)):
        sheet = make(run)
        assert sheet is not None
        assert len(sheet.rows) == len(rows)


@pytest.mark.parametrize("form", ["csv", "markdown", "latex"])
def test_every_table_can_be_written(run: Labelling, form: str) -> None:
    names = list(tables_of(run))
    assert names == [
        "verdicts", "damage", "prediction", "sites", "cells", "groups", "margins", "findings"
    ]  # fmt: skip
    for name in names:
        assert table_text(run, name, form).endswith("\n")


def test_the_csv_of_a_table_reads_back_as_the_record(run: Labelling) -> None:
    damage = _part(run).damage
    rows = list(csv.DictReader(io.StringIO(table_text(run, "damage", "csv"))))
    np.testing.assert_array_equal([float(row["mean"]) for row in rows], damage.mean.ravel())
    np.testing.assert_array_equal([float(row["q_negligible"]) for row in rows], damage.q_negligible.ravel())
    assert [row["verdict"] for row in rows] == [VERDICTS[code] for code in damage.verdict.ravel()]
    tested = list(csv.DictReader(io.StringIO(table_text(run, "prediction", "csv"))))
    assert [float(row["area"]) for row in tested] == [row.area for row in _part(run).roles]


def test_a_table_that_a_run_lacks_is_refused_by_name() -> None:
    bare = ablated_run(roles=(), outcome="representation", by=("mean",))
    assert list(ablation_tables(bare)) == ["verdicts", "damage", "margins", "findings"]
    with pytest.raises(UnknownName, match="sites"):
        table_text(bare, "sites")
