"""Old files through the commands: convert, then label, surface, cluster, probe and judge."""

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import squareform

import headroles
from tests.converting.old_files import old_pairs, old_words, write_pickle, write_scores, write_trees


def test_old_maps_go_through_label_surface_cluster_and_probe(tmp_path: Path) -> None:
    pairs = headroles.convert(write_pickle(tmp_path / "u.pkl", old_pairs(8)), out=tmp_path / "u.npz").file
    words = headroles.convert(write_pickle(tmp_path / "d.pkl", old_words(8)), out=tmp_path / "d.npz").file
    assert headroles.label(attention=pairs, sieve=["delimiter"]).findings.count.max() == 8
    assert headroles.surface(attention=pairs).surface is not None
    double = [row["attns"].astype(np.float64) for row in old_pairs(8)]
    clustered = headroles.cluster(attention=pairs, sieve=["delimiter"], divergence="published")
    assert clustered.clustered is not None
    np.testing.assert_allclose(
        clustered.clustered.divergence.mean(),
        squareform(headroles.head_distances(double, smoothing=0.001, way="sum"), checks=False),
        rtol=1e-4,
    )
    probed = headroles.probe("dependency", attention=words)
    assert probed.probed is not None
    trees = headroles.convert(write_trees(tmp_path / "dev.json", 4), out=tmp_path / "dev.jsonl").file
    assert trees.read_text().count("\n") == 4


@pytest.mark.slow
def test_the_released_scores_give_the_labels_of_the_preset_published(tmp_path: Path, shared: Path) -> None:
    golden = np.load(shared / "golden" / "published_text.npz")
    scores = {name.partition("/")[2]: golden[name] for name in golden.files if name.startswith("qnli/")}
    folder = write_scores(tmp_path / "sieve_scores", "qnli", scores)
    table = headroles.convert(folder, out=tmp_path / "qnli.parquet").file
    judged = headroles.judge_scores(table, margin=2, test="t-published", correction="none")
    data = shared / "data" / "glue" / "small" / "glue_data_QNLI_test_small.tsv"
    made = headroles.label("QNLI", data=data, preset="published", maps=0)
    columns = ["sieve", "layer", "head"]
    both = judged.frame().merge(made.frame(), on=columns, suffixes=("", "_made"))
    assert len(both) == 720
    assert (both["decision"] == both["decision_made"]).all()
    np.testing.assert_allclose(both["p"], both["p_made"], atol=1e-5)
