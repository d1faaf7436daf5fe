"""Runs of clusters: their scores are those of label, their distances those of the plain model."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon, squareform

import headroles
from headroles import Labelling
from headroles.records import ClusterResults
from tests.contract.same import byte_differences
from tests.support.reference import rounding_bound

SIEVES = ["local", "delimiter"]
PLANNED = {"plan.json", "manifest.json", "report.html"}
"""Files that hold the settings that a run began with, or hashes of these."""


@pytest.fixture(scope="module")
def model(model_of: Any) -> Path:
    """A tiny random BERT."""
    folder: Path = model_of("bert")
    return folder


@pytest.fixture(scope="module")
def found(model: Path) -> Labelling:
    """A run of clusters."""
    return run_of(model, sieve=SIEVES, limit=60, max_length=40)


def run_of(model: Path, **options: Any) -> Labelling:
    """Cluster the heads of a model on few inputs."""
    usual: dict[str, Any] = {"sieve": "local", "limit": 12, "max_length": 24, "draws": 20}
    return headroles.cluster("QNLI", model=model, **usual | options)


def clusters(run: Labelling) -> ClusterResults:
    """Return the clusters of a run."""
    assert run.clustered is not None
    return run.clustered


def test_scores_are_those_of_label_and_divergences_those_of_the_plain_model(
    found: Labelling, model: Path
) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    plain = headroles.label("QNLI", model=model, sieve=SIEVES, limit=60, max_length=40)
    np.testing.assert_array_equal(found.scores.values, plain.scores.values)
    np.testing.assert_array_equal(found.findings.decision, plain.findings.decision)
    assert plain.clustered is None
    network = AutoModel.from_pretrained(model, attn_implementation="eager").eval()
    tokenizer = AutoTokenizer.from_pretrained(model)
    lines = (Path(headroles.__file__).parent / "samples" / "QNLI.tsv").read_text().splitlines()
    columns = [lines[0].split("\t").index(name) for name in ("question", "sentence")]
    means = []
    for key in found.scores.examples:
        cells = lines[1 + int(key.split("/")[1])].split("\t")
        inputs = tokenizer(
            *(cells[column] for column in columns), truncation=True, max_length=40, return_tensors="pt"
        )
        with torch.inference_mode():
            maps = torch.cat(network(**inputs, output_attentions=True).attentions).flatten(0, 1)
        rows = maps.double().numpy()
        one, other = np.triu_indices(len(rows), 1)
        means.append((jensenshannon(rows[one], rows[other], axis=-1) ** 2).mean(axis=-1))
    divergence = clusters(found).divergence
    np.testing.assert_allclose(divergence.mean(), np.mean(means, axis=0), atol=rounding_bound(40))
    assert squareform(divergence.mean()).min() >= 0
    assert (divergence.way, len(clusters(found).cluster)) == (
        "mean",
        found.scores.layers * found.scores.heads,
    )


def test_published_divergences_are_sums_with_smoothing(model: Path) -> None:
    source = clusters(run_of(model, divergence="published")).divergence
    assert (source.way, source.smoothing) == ("sum", 0.001)
    assert source.mean().max() > 1  # nats of all rows of all inputs together


def test_a_method_and_a_number_of_clusters_are_followed(model: Path) -> None:
    fixed, spectral = run_of(model, clusters=3), run_of(model, method="spectral", clusters=2)
    assert set(clusters(fixed).cluster.tolist()) == {0, 1, 2}
    assert clusters(spectral).method == "spectral"
    assert set(clusters(spectral).cluster.tolist()) == {0, 1}


@pytest.mark.parametrize(
    "more",
    [
        {"divergence": "published"},
        {"method": "spectral"},
        pytest.param({}, marks=pytest.mark.ci),
        pytest.param({"method": "dbscan"}, marks=pytest.mark.ci),
        pytest.param({"clusters": 3}, marks=pytest.mark.ci),
    ],
)
def test_judging_again_with_another_seed_gives_what_a_new_run_would(
    model: Path, tmp_path: Path, more: dict[str, Any]
) -> None:
    first, kept, fresh = tmp_path / "first", tmp_path / "kept", tmp_path / "fresh"
    for out in (first, kept):
        run_of(model, limit=30, sieve=SIEVES, out=out, **more)
    headroles.judge_again(first, resample_seed=7)
    run_of(model, limit=30, sieve=SIEVES, out=fresh, resample_seed=7, **more)
    assert set(byte_differences(first, fresh)) <= PLANNED
    assert "divergence.npz" in byte_differences(first, kept)
    headroles.judge_again(first, resample_seed=0)
    assert set(byte_differences(first, kept)) <= PLANNED
