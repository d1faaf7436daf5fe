"""Clusters as files of a run folder, and back."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from headroles.cluster_tables import clustered_in, texts_of_clustered
from headroles.clustered import Clustered
from headroles.folder import CLAIMS, CLUSTERS, DIVERGENCE, NEIGHBOURS
from tests.clustered_runs import clustered_run


@pytest.fixture(scope="module")
def found() -> Clustered:
    clustered = clustered_run().clustered
    assert clustered is not None
    return clustered


def _written(clustered: Clustered, folder: Path) -> Path:
    for name, content in texts_of_clustered(clustered).items():
        if isinstance(content, bytes):
            (folder / name).write_bytes(content)
        else:
            (folder / name).write_text(content, encoding="utf-8", newline="")
    return folder


def test_what_is_written_comes_back(found: Clustered, tmp_path: Path) -> None:
    back = clustered_in(_written(found, tmp_path), (4, 6))
    assert back is not None
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


def test_the_same_clusters_give_the_same_bytes(found: Clustered) -> None:
    assert texts_of_clustered(found) == texts_of_clustered(replace(found))


def test_the_archive_is_read_without_pickle_and_holds_mean_and_block_sums(
    found: Clustered, tmp_path: Path
) -> None:
    with np.load(_written(found, tmp_path) / DIVERGENCE, allow_pickle=False) as archive:
        np.testing.assert_allclose(archive["mean"], found.divergence.mean(), rtol=1e-12)
        assert archive["sums"].shape == (40, 24 * 23 // 2)
        assert archive["mean"].dtype == np.float64


def test_every_head_has_a_row_and_its_nearest_ones(found: Clustered, tmp_path: Path) -> None:
    _written(found, tmp_path)
    rows = (tmp_path / CLUSTERS).read_text(encoding="utf-8").splitlines()
    assert rows[0] == "layer,head,cluster,silhouette,stability,x,y"
    assert len(rows) == 25
    near = (tmp_path / NEIGHBOURS).read_text(encoding="utf-8").splitlines()
    assert near[0] == "layer,head,rank,near_layer,near_head,distance,low,high"
    assert near[1].startswith("0,0,1,")


def test_no_claim_has_a_p_of_0_and_claims_about_roles_have_none(found: Clustered) -> None:
    tested = [each.p for each in found.claims if each.placements]
    assert tested
    assert min(tested) > 0
    about_roles = [each for each in found.claims if "role" in each.claim]
    assert about_roles
    assert all(np.isnan(each.p) for each in about_roles)


def test_clusters_of_another_model_or_a_damaged_archive_are_refused(found: Clustered, tmp_path: Path) -> None:
    _written(found, tmp_path)
    with pytest.raises(ValueError, match="4 x 6 heads, the run of 2 x 12"):
        clustered_in(tmp_path, (2, 12))
    (tmp_path / DIVERGENCE).write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(ValueError, match="no archive"):
        clustered_in(tmp_path, (4, 6))


def test_a_folder_without_an_archive_says_nothing(tmp_path: Path) -> None:
    assert clustered_in(tmp_path, (4, 6)) is None
    assert not (tmp_path / CLAIMS).exists()
