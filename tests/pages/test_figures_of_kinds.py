"""Figures of runs of other kinds where data are unusual; the usual ones are recorded in tests/contract."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.pages.test_figures import behind, figure
from tests.support.pages import Parts, page, result


def ends(trace: Any, axis: str = "y") -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper ends of the intervals of a trace."""
    values, bars = np.asarray(trace[axis], float), trace[f"error_{axis}"]
    return values - np.asarray(bars["arrayminus"], float), values + np.asarray(bars["array"], float)


@pytest.mark.parametrize("size", [2, 3, 17, 40])
def test_leaves_and_brackets_of_a_tree_are_those_of_scipy(size: int) -> None:
    from scipy.cluster.hierarchy import dendrogram, leaves_list, linkage

    from headroles.reports import brackets, leaves

    merges = linkage(np.random.default_rng(size).normal(size=(size, 3)), "average")
    assert leaves(merges).tolist() == leaves_list(merges).tolist()
    drawn = dendrogram(merges, no_plot=True)
    corners, _ = brackets(merges, np.zeros(size, dtype=np.int64))
    ours = sorted((*(corner[:, 0] * 10 + 5), *corner[:, 1]) for corner in corners)
    theirs = sorted((*x, *y) for x, y in zip(drawn["icoord"], drawn["dcoord"], strict=True))
    np.testing.assert_allclose(ours, theirs)


def test_outlines_hold_95_of_100_normal_places() -> None:
    from scipy.stats import chi2

    from headroles.reports import ellipses

    chance = np.random.default_rng(4)
    cloud = chance.normal(size=(4000, 2, 2)) @ np.array([[1.0, 0.0], [0.8, 0.3]]).T + np.array([3.0, -1.0])
    outline = ellipses(cloud).reshape(2, -1, 2)
    assert np.isnan(outline[:, -1]).all()
    for head in range(2):
        covariance = np.cov(cloud[:, head].T)
        moved = outline[head, :-1] - cloud[:, head].mean(axis=0)
        radius = np.einsum("pi,ij,pj->p", moved, np.linalg.inv(covariance), moved)
        np.testing.assert_allclose(radius, chi2.ppf(0.95, 2), rtol=1e-9)
    assert ellipses(cloud[:2]).shape == (0, 2)


def test_many_labelled_heads_are_cut_to_those_of_the_smallest_p_and_untestable_ones_left_out() -> None:
    run = result("ablate")
    part = run.ablated
    tested = part.sites.take(np.isfinite(part.sites["difference"]))
    numbers = np.arange(4 * len(tested))
    many = tested.joined([tested] * 4).replace(p=numbers / 1000, head=numbers)
    size = len(part.cells)
    bare = part.cells.replace(decision=["untestable"] * size, difference=np.full(size, np.nan))
    cells = part.cells.joined([part.cells, bare])
    made = Parts(page(replace(run, ablated=replace(part, sites=many, cells=cells))))
    rows = [row[0].split("-")[1].split()[0] for row in behind(made, "sites")]
    assert rows == [str(number) for number in range(len(rows))]
    assert 0 < len(rows) < len(many)
    assert f"The {len(rows)} of {len(many)} heads with the smallest p are drawn." in made.plain
    assert len(behind(made, "cells")) == len(part.cells)


def test_shares_far_away_and_intervals_without_ends_stay_on_the_axis() -> None:
    run = result("why")
    origins = run.origins.origins
    others = {name: origins[name][2:] for name in ("share", "share_low", "share_high")}
    changed = origins.replace(
        share=[9.0, origins["share"][1], *others["share"]],
        share_low=[-np.inf, np.nan, *others["share_low"]],
        share_high=[np.inf, np.nan, *others["share_high"]],
    )
    drawn = figure(Parts(page(replace(run, origins=replace(run.origins, origins=changed)))), "shares")
    marks = [trace for trace in drawn["data"] if "error_x" in trace]
    assert max(float(max(trace["x"])) for trace in marks) == 2.0
    for trace in marks:
        assert np.isfinite(np.concatenate([trace["x"], *ends(trace, "x")])).all()
