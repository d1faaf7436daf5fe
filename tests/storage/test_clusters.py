"""Clusters as files of a run folder, and back."""

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles import load
from headroles.errors import BadInput, HeadrolesError
from headroles.exporting import save
from headroles.extraction.jobs import divergence as divergence_job
from headroles.options.cluster import ClusterOptions
from headroles.options.values import record_of
from headroles.records.clusters import ClusterResults, Divergence, Neighbours
from headroles.records.rules.names import METHODS, WAYS
from headroles.stats.clusters import clusters
from headroles.storage.clusters import cluster_files, read_clusters
from headroles.storage.folder import CHOICES, CLAIMS, CLUSTERS, DIVERGENCE, NEIGHBOURS
from tests.storage.manifests import hash_again
from tests.support.clustered_runs import UNITS, clustered_run
from tests.support.reference import draws

GRID = (4, 6)


@pytest.fixture(scope="module")
def found() -> ClusterResults:
    clustered = clustered_run().clustered
    assert clustered is not None
    return clustered


def _written(clustered: ClusterResults, folder: Path) -> Path:
    for name, content in cluster_files(clustered).items():
        if isinstance(content, bytes):
            (folder / name).write_bytes(content)
        else:
            (folder / name).write_text(content, encoding="utf-8", newline="")
    return folder


def test_what_is_written_comes_back(found: ClusterResults, tmp_path: Path) -> None:
    back = read_clusters(_written(found, tmp_path), GRID, UNITS)
    assert back.neighbours is not None
    assert found.neighbours is not None
    for name in ("error", "cluster", "silhouette", "stability", "linkage", "place", "cloud"):
        np.testing.assert_array_equal(getattr(back, name), getattr(found, name))
    np.testing.assert_array_equal(back.divergence.mean(), found.divergence.mean())
    np.testing.assert_array_equal(back.neighbours.head, found.neighbours.head)
    np.testing.assert_array_equal(back.neighbours.low, found.neighbours.low)
    assert (back.choices, back.method, back.stress) == (found.choices, found.method, found.stress)
    assert [each.claim for each in back.claims] == [each.claim for each in found.claims]
    assert repr(back.claims) == repr(found.claims)


def test_the_same_clusters_give_the_same_bytes(found: ClusterResults) -> None:
    assert cluster_files(found) == cluster_files(replace(found))


def test_the_archive_is_read_without_pickle_and_holds_mean_and_block_sums(
    found: ClusterResults, tmp_path: Path
) -> None:
    with np.load(_written(found, tmp_path) / DIVERGENCE, allow_pickle=False) as archive:
        np.testing.assert_allclose(archive["mean"], found.divergence.mean(), rtol=1e-12)
        assert archive["sums"].shape == (40, 24 * 23 // 2)
        assert archive["mean"].dtype == np.float64


def test_sums_are_called_sums_and_older_archives_that_called_them_means_are_read(
    found: ClusterResults, tmp_path: Path
) -> None:
    added = replace(found, divergence=replace(found.divergence, way="sum"))
    _written(added, tmp_path)
    with np.load(tmp_path / DIVERGENCE) as archive:
        arrays = {name: archive[name] for name in archive.files}
    assert "mean" not in arrays
    np.testing.assert_allclose(arrays["sum"], found.divergence.sums.sum(axis=0, dtype=float), rtol=1e-12)
    np.savez_compressed(tmp_path / DIVERGENCE, **{"mean": arrays.pop("sum")}, **arrays)
    back = read_clusters(tmp_path, GRID, UNITS)
    np.testing.assert_array_equal(back.divergence.mean(), added.divergence.mean())


def test_every_head_has_a_row_and_its_nearest_ones(found: ClusterResults, tmp_path: Path) -> None:
    _written(found, tmp_path)
    rows = (tmp_path / CLUSTERS).read_text(encoding="utf-8").splitlines()
    assert rows[0] == "layer,head,cluster,silhouette,stability,x,y"
    assert len(rows) == 25
    near = (tmp_path / NEIGHBOURS).read_text(encoding="utf-8").splitlines()
    assert near[0] == "layer,head,rank,near_layer,near_head,distance,low,high"
    assert near[1].startswith("0,0,1,")


def test_no_claim_has_a_p_of_0_and_claims_about_roles_have_none(found: ClusterResults) -> None:
    tested = [each.p for each in found.claims if each.placements]
    assert tested
    assert min(tested) > 0
    about_roles = [each for each in found.claims if "role" in each.claim]
    assert about_roles
    assert all(np.isnan(each.p) for each in about_roles)


def test_clusters_of_another_model_or_a_damaged_archive_are_refused(
    found: ClusterResults, tmp_path: Path
) -> None:
    _written(found, tmp_path)
    with pytest.raises(ValueError, match="4 x 6 heads, the run of 2 x 12"):
        read_clusters(tmp_path, (2, 12), UNITS)
    with pytest.raises(ValueError, match="is of 40 units, the run of 39"):
        read_clusters(tmp_path, GRID, 39)
    (tmp_path / DIVERGENCE).write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(ValueError, match="no archive"):
        read_clusters(tmp_path, GRID, UNITS)


@settings(max_examples=draws(60))
@given(place=st.floats(0, 1, exclude_max=True), content=st.binary(max_size=4), shorter=st.booleans())
def test_an_archive_with_a_few_bytes_changed_is_refused_or_says_the_same(
    found: ClusterResults, place: float, content: bytes, shorter: bool
) -> None:
    with TemporaryDirectory() as name:
        folder = _written(found, Path(name))
        whole = (folder / DIVERGENCE).read_bytes()
        start = int(place * len(whole))
        rest = b"" if shorter else whole[start + len(content) :]
        (folder / DIVERGENCE).write_bytes(whole[:start] + content + rest)
        try:
            back = read_clusters(folder, GRID, UNITS)
        except (KeyError, TypeError, ValueError, OSError, BadInput):
            return
        np.testing.assert_array_equal(back.divergence.sums, found.divergence.sums)
        np.testing.assert_array_equal(back.cloud, found.cloud)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clustered") / "run"
    save(clustered_run(), folder)
    return folder


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    """A copy of a run folder, to be spoiled."""
    return Path(shutil.copytree(saved, tmp_path / "run"))


def _spoiled(folder: Path, name: str, change: Callable[[np.ndarray], Any]) -> None:
    """Write the archive again with one array changed."""
    with np.load(folder / DIVERGENCE) as archive:
        arrays = {each: archive[each].copy() for each in archive.files}
    arrays[name] = change(arrays[name])
    np.savez_compressed(folder / DIVERGENCE, **arrays)


def _at(place: Any, value: Any) -> Callable[[np.ndarray], np.ndarray]:
    """A change of one entry."""

    def change(array: np.ndarray) -> np.ndarray:
        array[place] = value
        return array

    return change


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("sums", lambda old: old[:, :-1], "'sums' as floats of shape (40, 276)"),
        ("sums", lambda old: old.astype("S4"), "'sums' as floats"),
        ("sums", lambda old: old.astype(complex), "'sums' as floats"),
        ("sums", _at((3, 7), np.nan), "no finite numbers of at least 0"),
        ("sums", _at((3, 7), -1e-3), "no finite numbers of at least 0"),
        ("sums", lambda old: old * 2, "the means in divergence.npz are not those of its sums"),
        ("mean", lambda old: old[:-1], "the means in divergence.npz"),
        ("mean", lambda old: old.astype(str), "the means in divergence.npz"),
        ("weight", lambda old: old[:-1], "'weight'"),
        ("weight", lambda old: old.astype(int), "'weight' as floats"),
        ("weight", lambda old: old * 2, "the weights of blocks"),
        ("weight", _at(0, np.nan), "the weights of blocks"),
        ("block", lambda old: old[:-1], "is of 39 units, the run of 40"),
        ("block", lambda old: old.astype(float), "'block' as whole numbers"),
        ("block", lambda old: old + 1, "every unit is in one of the 40 blocks"),
        ("block", lambda old: old[:, None], "'block'"),
        ("way", lambda old: np.array("median"), "by 'mean' or 'sum'"),
        ("way", lambda old: np.array(["mean"]), "by 'mean' or 'sum'"),
        ("smoothing", lambda old: np.array(np.nan), "smoothing of at least 0 and below 1"),
        ("smoothing", lambda old: np.array("much"), "ValueError"),
        ("method", lambda old: np.array("kmeans"), "method 'kmeans'"),
        ("grid", lambda old: old[:1], "ValueError"),
        ("grid", lambda old: old[::-1], "is of 6 x 4 heads, the run of 4 x 6"),
        ("error", lambda old: old[:-1], "'error'"),
        ("error", _at(5, np.nan), "out of range for 'error'"),
        ("cluster", lambda old: old.astype(float), "'cluster' as whole numbers"),
        ("cluster", lambda old: old[:-1], "'cluster'"),
        ("cluster", lambda old: old + 1, "not numbered from 0"),
        ("cluster", lambda old: old - 1, "not numbered from 0"),
        ("cluster", lambda old: np.arange(24), "clusters, divergence.npz has 24"),
        ("silhouette", _at(0, 1.5), "out of range for 'silhouette'"),
        ("stability", _at(0, -0.5), "out of range for 'stability'"),
        ("stability", _at(0, 0.123), "clusters.csv says other than divergence.npz"),
        ("linkage", lambda old: old[:-1], "'linkage'"),
        ("linkage", _at((0, 0), 60.0), "no tree of all heads"),
        ("linkage", _at((-1, 3), 23.0), "no tree of all heads"),
        ("linkage", _at((-1, 2), np.inf), "no tree of all heads"),
        ("linkage", lambda old: old[::-1], "no tree of all heads"),
        ("place", _at((0, 0), np.nan), "out of range for 'place'"),
        ("cloud", lambda old: old[0], "'cloud'"),
        ("cloud", lambda old: old[:, :-1], "'cloud'"),
        ("cloud", _at((0, 0, 0), np.inf), "out of range for 'cloud'"),
        ("stress", lambda old: np.array(-0.1), "a stress of -0.1"),
    ],
)  # fmt: skip
def test_arrays_that_no_run_has_are_refused_in_the_usual_sentence(
    copy: Path, name: str, change: Callable[[np.ndarray], Any], told: str
) -> None:
    load(copy)
    _spoiled(copy, name, change)
    hash_again(copy)
    with pytest.raises(BadInput, match="is damaged or from another version") as caught:
        load(copy)
    assert told in str(caught.value)


@pytest.mark.parametrize("name", ["sums", "mean", "cloud", "way", "grid", "method"])
def test_an_archive_that_lacks_an_array_is_refused(copy: Path, name: str) -> None:
    with np.load(copy / DIVERGENCE) as archive:
        arrays = {each: archive[each] for each in archive.files if each != name}
    np.savez_compressed(copy / DIVERGENCE, **arrays)
    hash_again(copy)
    with pytest.raises(BadInput, match=f"is damaged or from another version .*{name}"):
        load(copy)


@pytest.mark.parametrize("content", [b"", b"PK", b"\x93NUMPY", b"\x80\x04N."])
def test_a_report_of_a_run_whose_archive_is_none_says_so_and_exits_with_1(
    copy: Path, content: bytes, command: Callable[..., tuple[int, str, str]]
) -> None:
    (copy / DIVERGENCE).write_bytes(content)
    hash_again(copy)
    code, _, said = command("report", copy)
    assert (code, said.count("\n")) == (1, 1)
    assert "is damaged or from another version" in said
    with pytest.raises(BadInput, match="is damaged or from another version"):
        load(copy)


def _chosen(lines: list[str], flags: list[str]) -> list[str]:
    return [lines[0], *(f"{line[:-1]}{flag}" for line, flag in zip(lines[1:], flags, strict=False))]


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        (CLUSTERS, lambda lines: lines[:-1], "clusters.csv says other than divergence.npz"),
        (CLUSTERS, lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], "clusters.csv says other"),
        (CHOICES, lambda lines: lines[:1], "0 numbers of clusters that were chosen, not one"),
        (CHOICES, lambda lines: _chosen(lines, ["0"] * 30), "0 numbers of clusters that were chosen"),
        (CHOICES, lambda lines: _chosen(lines, ["1"] * 30), "numbers of clusters that were chosen, not one"),
        (CHOICES, lambda lines: _chosen(lines, ["1", "2", *"0" * 30]), "that were chosen, not one"),
        (CLAIMS, lambda lines: [re.sub(r",0\.\d+,9999", ",0.0,9999", each) for each in lines], "a p of 0.0"),
        (CLAIMS, lambda lines: [each.replace(",9999,", ",0,") for each in lines], "of 0 placements"),
        (NEIGHBOURS, lambda lines: lines[:-1], "the rows of neighbours.csv"),
        (NEIGHBOURS, lambda lines: lines[:1], "the rows of neighbours.csv"),
        (NEIGHBOURS, lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], "the rows of neighbours.csv"),
        (NEIGHBOURS, lambda lines: [lines[0], "0,0,1,9,0,1,1,1", *lines[2:]], "heads that the run has not"),
    ],
)  # fmt: skip
def test_tables_of_clusters_with_other_rows_are_refused(
    copy: Path, name: str, change: Callable[[list[str]], list[str]], told: str
) -> None:
    before = (copy / name).read_text(encoding="utf-8").splitlines()
    after = change(before)
    assert after != before
    (copy / name).write_text("\n".join(after) + "\n", encoding="utf-8")
    hash_again(copy)
    with pytest.raises(BadInput, match="is damaged or from another version") as caught:
        load(copy)
    assert told in str(caught.value)


@pytest.mark.parametrize("method", METHODS)
def test_runs_of_every_method_come_back(method: str, tmp_path: Path) -> None:
    run = clustered_run(method=method)
    save(run, tmp_path / "run")
    again = load(tmp_path / "run").clustered
    assert run.clustered is not None
    assert again is not None
    assert again.method == method
    np.testing.assert_array_equal(again.cluster, run.clustered.cluster)
    assert sum(each.chosen for each in again.choices) == 1


def test_clusters_without_nearest_heads_come_back_without(tmp_path: Path) -> None:
    run = clustered_run()
    assert run.clustered is not None
    save(replace(run, clustered=replace(run.clustered, neighbours=None)), tmp_path / "run")
    again = load(tmp_path / "run").clustered
    assert again is not None
    assert again.neighbours is None


def test_records_know_the_ways_and_methods_that_there_are() -> None:
    options = [record_of(ClusterOptions, task="QNLI", method=method) for method in METHODS]
    assert {each.method for each in options} == set(METHODS) == set(clusters.METHODS)
    one = np.ones(1, dtype=np.int64)
    sums = [divergence_job.DivergenceSums(one, one, 1, 2, way=way) for way in WAYS]
    assert {each.way for each in sums} == set(WAYS)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"weight": np.ones(4)}, "'weight' as floats of shape"),
        ({"sums": np.ones((5, 7))}, "'sums' as floats of shape"),
        ({"block": np.array([0, 1, 5])}, "every unit is in one of the 5 blocks"),
        ({"block": np.array([-1, 1])}, "every unit is in one of the 5 blocks"),
        ({"way": "median"}, "got 'median' and 0.0"),
        ({"smoothing": 1.0}, "got 'mean' and 1.0"),
    ],
)
def test_divergences_that_do_not_fit_together_are_told(change: dict[str, Any], told: str) -> None:
    fields: dict[str, Any] = {
        "layers": 2, "heads": 2, "sums": np.ones((5, 6)), "weight": np.ones(5), "block": np.arange(5)
    }  # fmt: skip
    Divergence(**fields)
    with pytest.raises(HeadrolesError, match=told):
        Divergence(**fields | change)


@pytest.mark.usefixtures("unchecked")
def test_nearest_heads_have_one_distance_each() -> None:
    near, apart = np.zeros((3, 2), dtype=np.int64), np.zeros((3, 2))
    Neighbours(near, apart, apart, apart)
    with pytest.raises(BadInput, match="'low' as floats of shape"):
        Neighbours(near, apart, apart[:, :1], apart)
