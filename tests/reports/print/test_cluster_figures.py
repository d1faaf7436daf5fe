"""Clusters as figures: the tree, the square of distances, the map, and the facts they show."""

from functools import cache
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import dendrogram, leaves_list, linkage
from scipy.spatial.distance import squareform
from scipy.stats import chi2

from headroles.records.clusters import ClusterResults, Divergence
from headroles.records.findings import Labelling
from headroles.reports.figures.cluster_map import by_cluster, by_roles, ellipses, look_of
from headroles.reports.figures.cluster_tree import STEPS, brackets, leaves, scale_of, shrink, tree_figure
from headroles.reports.records import Combination
from headroles.reports.sections import clusters
from headroles.reports.summary.summary import summarise
from headroles.reports.words.cluster_facts import (
    distances_of,
    group_distances,
    groups_of,
    nearest_of,
    square_of,
)
from tests.support.clustered_runs import clustered_run, huge_run, replaced

NAN = float("nan")


@cache
def usual() -> Labelling:
    """Three planted kinds of 24 heads."""
    return clustered_run()


def _found(run: Labelling) -> ClusterResults:
    assert run.clustered is not None
    return run.clustered


def _section(run: Labelling) -> clusters.Section:
    shown = clusters.section(run, summarise(run))
    assert shown is not None
    return shown


def _traces(figure: Any) -> dict[str, Any]:
    return {trace.name: trace for trace in go.Figure(figure).data}


@st.composite
def merged(draw: st.DrawFn) -> np.ndarray:
    """Linkages of random points."""
    size, seed = draw(st.integers(2, 40)), draw(st.integers(0, 2**31))
    return linkage(np.random.default_rng(seed).normal(size=(size, 3)), "average")


@given(merged())
def test_leaves_come_in_the_order_of_scipy(merges: np.ndarray) -> None:
    assert leaves(merges).tolist() == leaves_list(merges).tolist()


@given(merged())
def test_brackets_are_those_of_scipys_tree(merges: np.ndarray) -> None:
    drawn = dendrogram(merges, no_plot=True)
    corners, _ = brackets(merges, np.zeros(len(merges) + 1, dtype=np.int64))
    ours = sorted((*(corner[:, 0] * 10 + 5), *corner[:, 1]) for corner in corners)
    theirs = sorted((*x, *y) for x, y in zip(drawn["icoord"], drawn["dcoord"], strict=True))
    np.testing.assert_allclose(ours, theirs)


def test_a_bracket_has_a_cluster_only_where_all_its_heads_have_it() -> None:
    merges = np.array([[0.0, 1.0, 0.1, 2.0], [2.0, 3.0, 0.2, 2.0], [4.0, 5.0, 0.9, 4.0]])
    _, own = brackets(merges, np.array([0, 0, 1, 1]))
    assert own.tolist() == [0, 1, -1]
    _, noise = brackets(merges, np.array([-1, -1, 0, 0]))
    assert noise.tolist() == [-1, 0, -1]


@given(st.integers(2, 12), st.integers(0, 2**31))
def test_a_square_of_distances_is_that_of_scipy(size: int, seed: int) -> None:
    pairs = np.random.default_rng(seed).uniform(size=size * (size - 1) // 2)
    np.testing.assert_array_equal(square_of(pairs, size), squareform(pairs))


def test_groups_say_size_layers_roles_and_the_most_central_head() -> None:
    pairs = np.array([0.1, 0.2, 0.9, 0.15, 0.8, 0.7])
    distance, missing = square_of(pairs, 4), np.full(4, NAN)
    found = ClusterResults(
        divergence=Divergence(2, 2, pairs[None] ** 2, np.ones(1), np.zeros(3, dtype=np.int64)),
        error=np.full(6, NAN),
        method="dbscan",
        cluster=np.array([0, 0, 0, -1]),
        silhouette=np.array([0.2, 0.4, NAN, NAN]),
        stability=missing,
        linkage=linkage(pairs, "average"),
        choices=(),
        place=np.zeros((4, 2)),
        cloud=np.zeros((0, 4, 2)),
        stress=NAN,
        claims=(),
    )
    np.testing.assert_allclose(distances_of(found), distance)
    held = np.array([[True, False, False, True], [True, True, False, False]])
    first, noise = groups_of(found, distance, ("a", "b"), held)
    assert (first.number, first.heads, first.central, first.layers) == (0, (0, 1, 2), 1, (2, 1))
    assert first.within == pytest.approx((0.1 + 0.2 + 0.15) / 3)
    assert first.silhouette == pytest.approx(0.3)
    assert np.isnan(first.stability)
    assert first.roles == (("b", 2), ("a", 1))
    assert (noise.number, noise.heads, noise.roles) == (-1, (3,), (("a", 1),))
    assert np.isnan(noise.within)
    mean = group_distances((first, noise), distance)
    assert mean[0, 0] == pytest.approx(first.within)
    assert mean[0, 1] == mean[1, 0] == pytest.approx((0.9 + 0.8 + 0.7) / 3)
    assert np.isnan(mean[1, 1])


def test_nearest_heads_are_those_of_the_run_and_else_made_of_distances() -> None:
    found = _found(usual())
    assert found.neighbours is not None
    distance = distances_of(found)
    kept, made = nearest_of(found, distance), nearest_of(replaced(found, neighbours=None), distance)
    np.testing.assert_array_equal(kept.head, made.head)
    np.testing.assert_allclose(kept.distance, made.distance, rtol=1e-6)
    assert np.isfinite(kept.low).all()
    assert np.isnan(made.low).all()
    for head, others in enumerate(made.head):
        assert head not in others
        assert distance[head, others].tolist() == sorted(distance[head, others])


def test_outlines_hold_95_of_100_normal_places() -> None:
    chance = np.random.default_rng(4)
    spread = np.array([[1.0, 0.0], [0.8, 0.3]])
    cloud = chance.normal(size=(4000, 2, 2)) @ spread.T + np.array([3.0, -1.0])
    outline = ellipses(cloud).reshape(2, -1, 2)
    assert np.isnan(outline[:, -1]).all()
    for head in range(2):
        places = cloud[:, head]
        centre, covariance = places.mean(axis=0), np.cov(places.T)
        moved = outline[head, :-1] - centre
        radius = np.einsum("pi,ij,pj->p", moved, np.linalg.inv(covariance), moved)
        np.testing.assert_allclose(radius, chi2.ppf(0.95, 2), rtol=1e-9)
    assert ellipses(cloud[:2]).shape == (0, 2)


def test_clusters_differ_in_symbol_and_colour_together() -> None:
    looks = [look_of(number) for number in range(64)]
    assert len(set(looks)) == 64
    for start in range(0, 64, 8):
        assert len({look.symbol for look in looks[start : start + 8]}) == 8
    noise = by_cluster(replaced(_found(usual()), cluster=np.array([-1] * 23 + [0])))
    assert noise["marker"]["symbol"] == ["x-thin-open"] * 23 + ["circle"]


def test_the_map_has_every_head_at_its_place_and_says_what_it_is() -> None:
    run = usual()
    heads = _traces(_section(run).map.figure)["heads"]
    np.testing.assert_allclose(np.stack([heads.x, heads.y], axis=1), _found(run).place, rtol=1e-6)
    found = _found(run)
    assert found.neighbours is not None
    near = found.neighbours
    told = heads.hovertext[8]
    assert "layer 1 head 2" in told
    assert f"cluster {found.cluster[8]}" in told
    assert "roles: delimiter" in told
    assert f"nearest: {near.head[8, 0] // 6}-{near.head[8, 0] % 6} ({near.distance[8, 0]:.3f})" in told


def test_heads_with_the_same_set_of_roles_look_alike_and_rare_sets_are_stars() -> None:
    held = np.zeros((5, 24), dtype=np.bool_)
    for head in range(20):  # ten sets of two heads each, then four heads without a role
        held[:, head] = [(head // 2 + 1) >> bit & 1 for bit in range(5)]
    sets = [Combination(tuple(np.flatnonzero(held[:, 2 * place]).tolist()), 2) for place in range(10)]
    marker = by_roles(_found(usual()), sets, held)["marker"]
    looks = list(zip(marker["symbol"], marker["color"], strict=True))
    assert looks[0:20:2] == looks[1:20:2]
    assert len(set(looks[:16])) == 8
    assert {symbol for symbol, _ in looks[16:20]} == {"star-diamond"}
    assert {symbol for symbol, _ in looks[20:]} == {"circle-open"}


def test_the_key_of_roles_names_every_set_with_its_heads() -> None:
    run = usual()
    shown = _section(run)
    names = {each.name: each.heads for each in shown.sets}
    assert names == {"block": 8, "delimiter": 8, "local": 7, "local + block + delimiter": 1}
    assert shown.rare == 0


def test_distances_are_drawn_in_the_order_of_the_tree() -> None:
    run = usual()
    found = _found(run)
    distance, order = distances_of(found), leaves(found.linkage)
    traces = _traces(tree_figure(found, distance, order))
    np.testing.assert_allclose(traces["distances"].z, distance[np.ix_(order, order)], rtol=1e-6)
    band = traces["clusters"]
    drawn = np.repeat(band.customdata, np.asarray(band.width, dtype=int))
    assert drawn.tolist() == found.cluster[order].tolist()
    assert [round(middle - wide / 2 + 0.5) for middle, wide in zip(band.x, band.width, strict=True)] == [
        0, *np.cumsum(band.width)[:-1].tolist()
    ]  # fmt: skip
    assert [int(each) for each in traces["numbers"].text] == list(
        dict.fromkeys(found.cluster[order].tolist())
    )


def test_many_distances_are_told_in_steps_that_lose_little() -> None:
    found = _found(huge_run())
    distance, order = distances_of(found), leaves(found.linkage)
    levels = _traces(tree_figure(found, distance, order))["distances"].z
    assert levels.dtype == np.uint8
    low, step = scale_of(distance)
    back = low + step * levels.astype(np.float64)
    between = ~np.eye(len(order), dtype=np.bool_)
    assert np.abs(back - distance[np.ix_(order, order)])[between].max() <= step / 2 + 1e-9
    assert levels.max() == STEPS


def test_very_many_heads_are_drawn_as_means_of_their_neighbours() -> None:
    square = np.random.default_rng(0).uniform(size=(2500, 2500))
    shown, factor = shrink(square)
    assert (shown.shape, factor) == ((834, 834), 3)
    assert shown[1, 2] == pytest.approx(square[3:6, 6:9].mean())
    assert shown[833, 0] == pytest.approx(square[2499:, :3].mean())
    assert shrink(square[:9, :9])[1] == 1
