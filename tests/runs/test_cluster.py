"""The run that labels heads and clusters them."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon, squareform

from headroles import cluster, judge_again, label, load
from headroles.errors import BadInput, UnknownName
from headroles.options.cluster import ClusterOptions
from headroles.options.values import record_of
from headroles.records.findings import Labelling
from headroles.storage.folder import CLUSTER_FILES, DIVERGENCE, MANIFEST, PLAN, REPORT
from tests.support.reference import rounding_bound

SIEVES = ["local", "delimiter"]


@pytest.fixture(scope="module")
def folder(model_of: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of clusters of a tiny random BERT."""
    out = tmp_path_factory.mktemp("runs") / "clusters"
    cluster("QNLI", model=model_of("bert"), sieve=SIEVES, limit=60, max_length=40, draws=20, out=out)
    return out


@pytest.fixture(scope="module")
def found(folder: Path) -> Labelling:
    return load(folder)


def test_scores_and_roles_are_those_of_label(found: Labelling, model_of: Any) -> None:
    plain = label("QNLI", model=model_of("bert"), sieve=SIEVES, limit=60, max_length=40)
    np.testing.assert_array_equal(found.scores.values, plain.scores.values)
    np.testing.assert_array_equal(found.findings.decision, plain.findings.decision)
    assert plain.clustered is None


def test_divergences_are_those_of_the_attention_that_the_library_returns(
    found: Labelling, model_of: Any
) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    from headroles.extraction.texts.sources import read_sample, sample_passages
    from headroles.tasks import task_of

    model = AutoModel.from_pretrained(model_of("bert"), attn_implementation="eager").eval()
    tokenizer = AutoTokenizer.from_pretrained(model_of("bert"))
    passages = sample_passages(read_sample(task_of("QNLI")), 60, 0)
    means = []
    for passage in passages:
        inputs = tokenizer(*passage.texts, truncation=True, max_length=40, return_tensors="pt")
        with torch.inference_mode():
            maps = torch.cat(model(**inputs, output_attentions=True).attentions)[:, :].flatten(0, 1)
        rows = maps.double().numpy()
        one, other = np.triu_indices(len(rows), 1)
        means.append((jensenshannon(rows[one], rows[other], axis=-1) ** 2).mean(axis=-1))
    assert found.clustered is not None
    np.testing.assert_allclose(
        found.clustered.divergence.mean(), np.mean(means, axis=0), atol=rounding_bound(40)
    )


def test_the_folder_holds_distances_clusters_and_claims(folder: Path, found: Labelling) -> None:
    names = {each.name for each in folder.iterdir()}
    assert {"divergence.npz", "clusters.csv", "choices.csv", "claims.csv", "neighbours.csv"} <= names
    facts = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert facts["command"].startswith("headroles cluster --task QNLI")
    assert facts["settings"]["divergence"] == "mean"
    assert facts["settings"]["draws"] == 20
    clustered = found.clustered
    assert clustered is not None
    assert clustered.divergence.way == "mean"
    assert len(clustered.cluster) == found.scores.layers * found.scores.heads
    assert squareform(clustered.divergence.mean()).min() >= 0


def test_published_divergences_are_sums_with_smoothing(model_of: Any) -> None:
    run = cluster(
        "QNLI",
        model=model_of("bert"),
        sieve="local",
        limit=12,
        max_length=24,
        draws=20,
        divergence="published",
    )
    assert run.clustered is not None
    source = run.clustered.divergence
    assert (source.way, source.smoothing) == ("sum", 0.001)
    assert source.mean().max() > 1  # nats of all rows of all inputs together


def test_judging_again_keeps_clusters_and_tests_roles_anew(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(folder, copy)
    before, after = load(copy), judge_again(copy, margin=0.0, correction="holm")
    assert before.clustered is not None
    assert after.clustered is not None
    np.testing.assert_array_equal(before.clustered.cluster, after.clustered.cluster)

    def claims(run: Labelling, about_roles: bool) -> list[str]:
        assert run.clustered is not None
        return [repr(each) for each in run.clustered.claims if each.about_roles == about_roles]

    assert claims(before, False) == claims(after, False)
    assert claims(before, True) != claims(after, True)
    again = load(copy)
    assert claims(again, True) == claims(after, True)
    assert json.loads((copy / "manifest.json").read_text())["command"].startswith("headroles cluster")


@pytest.mark.parametrize(
    "more", [{}, {"method": "spectral"}, {"method": "dbscan"}, {"clusters": 3}, {"divergence": "published"}]
)
def test_judging_again_with_another_seed_gives_what_a_new_run_would(
    model_of: Any, tmp_path: Path, more: dict[str, Any]
) -> None:
    options: dict[str, Any] = {
        "model": model_of("bert"), "sieve": SIEVES, "limit": 40, "max_length": 24, "draws": 20, **more
    }  # fmt: skip
    first, fresh = tmp_path / "first", tmp_path / "fresh"
    cluster("QNLI", out=first, **options)
    before = {name: (first / name).read_bytes() for name in CLUSTER_FILES}
    judge_again(first, resample_seed=7)
    cluster("QNLI", out=fresh, resample_seed=7, **options)
    planned = {PLAN, MANIFEST, REPORT}  # they hold the settings that the run began with, or hashes of these
    for name in sorted({path.name for path in fresh.iterdir() if path.is_file()} - planned):
        assert (first / name).read_bytes() == (fresh / name).read_bytes(), name
    assert (first / DIVERGENCE).read_bytes() != before[DIVERGENCE]
    judge_again(first, resample_seed=0)
    assert {name: (first / name).read_bytes() for name in CLUSTER_FILES} == before


def test_clusters_are_not_made_anew_while_the_seed_stays(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("clusters were made anew")

    monkeypatch.setattr("headroles.runs.cluster.judging.cluster_heads", refuse)
    copy = Path(shutil.copytree(folder, tmp_path / "run"))
    assert judge_again(copy, alpha=0.01, resample_seed=0).clustered is not None
    with pytest.raises(AssertionError, match="made anew"):
        judge_again(copy, resample_seed=1)


def test_the_versions_of_what_clusters_are_in_the_manifest(found: Labelling) -> None:
    from importlib.metadata import version

    assert found.manifest["versions"]["scikit-learn"] == version("scikit-learn")


def test_a_method_and_a_number_of_clusters_are_followed(model_of: Any) -> None:
    options: dict[str, Any] = {
        "model": model_of("bert"), "sieve": "local", "limit": 12, "max_length": 24, "draws": 20
    }  # fmt: skip
    fixed = cluster("QNLI", clusters=3, **options).clustered
    spectral = cluster("QNLI", method="spectral", clusters=2, **options).clustered
    assert fixed is not None
    assert set(fixed.cluster.tolist()) == {0, 1, 2}
    assert spectral is not None
    assert spectral.method == "spectral"
    assert set(spectral.cluster.tolist()) == {0, 1}


@pytest.mark.parametrize(
    ("given", "kind", "told"),
    [
        ({"method": "kmeans"}, UnknownName, "method"),
        ({"divergence": "median"}, UnknownName, "divergence"),
        ({"smoothing": 1.0}, BadInput, "smoothing must be a number of at least 0 and below 1"),
        ({"draws": 3}, BadInput, "draws must be a whole number of at least 20"),
        ({"clusters": 1}, BadInput, "clusters must be a whole number of at least 2"),
        ({"clusters": 4, "method": "dbscan"}, BadInput, "leave --clusters out"),
    ],
)
def test_wrong_options_are_told_in_one_sentence(given: dict[str, Any], kind: type, told: str) -> None:
    with pytest.raises(kind, match=told):
        record_of(ClusterOptions, task="QNLI", **given)
