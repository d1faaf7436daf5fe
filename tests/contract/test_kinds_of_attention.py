"""Whole runs of the attentions of encoder-decoders: sieves, surface, clusters, probes and stored maps."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import entr

import headroles
from headroles.errors import BadInput
from tests.support.reference import rounding_bound

COUNT = 12
KINDS = ("encoder", "decoder", "cross")
SIEVES = ["local", "delimiter", "syntactic", "next", "identical:other", "punctuation:all", "rare"]
SILENT = {"encoder": set(), "decoder": {"next", "identical:other"}, "cross": {"local", "syntactic", "next"}}
SAID = {
    "encoder": "encoder's attention is", "decoder": "decoder's attention to", "cross": "Cross attention is",
}  # fmt: skip
Given = dict[str, Any]


@pytest.fixture(scope="module")
def model(tokenizer_of: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random T5 with 2 layers in its encoder and 3 in its decoder."""
    from tests.support.seq2seq import saved

    return saved("t5", tmp_path_factory.mktemp("seq2seq"), tokenizer_of)


@pytest.fixture(scope="module")
def given(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Given:
    """Options of runs on pairs."""
    from tests.support.seq2seq import pairs

    file = tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
    rows = [{"source": pair.texts[0], "target": pair.texts[1]} for pair in pairs(60)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"data": file, "text_a": "source", "text_b": "target", "model": model, "max_length": 96}


def weights_of(model: Path, kind: str, count: int = COUNT) -> list[np.ndarray]:
    """Return the attention of the plain model on the first pairs."""
    from transformers import AutoTokenizer

    from tests.support.seq2seq import pairs, plain

    return plain(model, pairs(60)[:count], kind, AutoTokenizer.from_pretrained(model))


def smoothed(weights: np.ndarray, share: float) -> np.ndarray:
    """Return rows of which a share is spread evenly."""
    rows: np.ndarray = (1 - share) * weights + share / weights.shape[-1]
    return rows


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_of_one_kind_says_so_everywhere_and_can_be_judged_again(
    kind: str, given: Given, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    run = headroles.label(kind=kind, sieve=SIEVES, maps=20, out=out, **given)
    assert run.manifest["model"]["kind"] == kind
    assert f"--kind {kind}" in run.manifest["command"]
    assert any(SAID[kind] in note for note in run.manifest["notes"])
    assert len(run.labels()) == {"encoder": 2, "decoder": 3, "cross": 3}[kind] * 4
    silent = {name for name in SIEVES if any(f"{name} does not apply" in line for line in run.skipped)}
    assert silent == SILENT[kind]
    before = (out / "findings.csv").read_bytes()
    headroles.judge_again(out, alpha=0.05)
    assert (out / "findings.csv").read_bytes() == before


@pytest.mark.parametrize("preset", ["calibrated", "published"])
@pytest.mark.parametrize("kind", ["decoder", "cross"])
def test_surface_statistics_are_those_of_the_plain_models_weights(
    kind: str, preset: str, given: Given, model: Path
) -> None:
    run = headroles.surface(kind=kind, preset=preset, first=COUNT, batch_size=5, **given)
    values = dict(zip(run.scores.sieves, run.scores.values, strict=True))
    for place, weights in enumerate(weights_of(model, kind)):
        rows = smoothed(weights, 1e-4 if preset == "published" else 0.0)
        spread, near = entr(rows).sum(axis=-1), rounding_bound(96, float(np.log(96)))
        np.testing.assert_allclose(values["surface:entropy"][place], spread.mean(axis=-1), rtol=0, atol=near)
        if kind == "cross":  # the start token opens the decoder's text
            np.testing.assert_allclose(
                values["surface:entropy-first"][place], spread[..., 0], rtol=0, atol=near
            )
        elif weights.shape[2] > 1:
            diagonal = np.diagonal(weights, offset=-1, axis1=2, axis2=3).sum(axis=-1) / weights.shape[2]
            np.testing.assert_allclose(values["surface:previous"][place], diagonal, rtol=0, atol=near)
    offsets = [f"surface:{name}" for name in ("previous", "next", "self")]
    if kind == "cross":
        assert all(np.isnan(values[column]).all() for column in offsets)
        assert sum("offsets exist within one stack" in note for note in run.skipped) == len(offsets)


@pytest.mark.parametrize(
    ("kind", "divergence"), [("encoder", "mean"), ("decoder", "published"), ("cross", "mean")]
)
def test_clusters_are_of_the_divergences_of_one_kind(
    kind: str, divergence: str, given: Given, model: Path
) -> None:
    from scipy.spatial.distance import jensenshannon

    more: Given = {"sieve": "delimiter", "maps": 0, "draws": 20, "first": COUNT}
    run = headroles.cluster(kind=kind, divergence=divergence, **more, **given)
    assert run.clustered is not None
    found = run.clustered.divergence
    assert (found.layers, found.heads) == ({"encoder": 2, "decoder": 3, "cross": 3}[kind], 4)
    if kind == "encoder":  # which reads the pair as one input
        return
    sums = []
    for weights in weights_of(model, kind):
        heads = weights.reshape(-1, *weights.shape[2:])
        heads = smoothed(heads, 0.001 if divergence == "published" else 0.0)
        one, other = np.triu_indices(len(heads), 1)
        rows = jensenshannon(heads[one], heads[other], axis=-1) ** 2
        sums.append(rows.sum(axis=-1) if divergence == "published" else rows.mean(axis=-1))
    wanted = np.sum(sums, axis=0) if divergence == "published" else np.mean(sums, axis=0)
    np.testing.assert_allclose(found.mean(), wanted, rtol=1e-3, atol=10 * rounding_bound(96))


def test_cards_of_cross_attention_show_joint_examples_whose_encoder_rows_are_empty(
    given: Given, model: Path
) -> None:
    run = headroles.label(
        kind="cross", margin=0.0, sieve=["punctuation:all", "identical:other"], test="wilcoxon",
        correction="none", **given,
    )  # fmt: skip
    assert run.exhibited is not None
    assert run.exhibited.exhibits
    plain = weights_of(model, "cross", 60)
    for (example, layer, head), kept in zip(run.exhibited.places, run.exhibited.weights, strict=True):
        shown = run.exhibited.examples[example]
        whole = plain[run.scores.examples.index(shown.key)]
        queries, keys = whole.shape[2:]
        assert kept.shape == (queries + keys, queries + keys)
        assert not kept[queries:].any()
        assert not kept[:, :queries].any()
        np.testing.assert_allclose(
            kept[:queries, queries:] / 255, whole[layer, head], rtol=0, atol=0.51 / 255
        )


def test_maps_of_a_decoder_are_stored_and_labelled_like_the_model(given: Given, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in given["data"].read_text().splitlines()][:COUNT]
    file, out = tmp_path / "pairs.json", tmp_path / "maps.npz"
    file.write_text(json.dumps([{"text": [row["source"], row["target"]]} for row in rows]))
    headroles.extract(file, out=out, model=given["model"], kind="decoder", precision="float32")
    with np.load(out) as maps:
        for number, weights in enumerate(weights_of(given["model"], "decoder")):
            np.testing.assert_allclose(maps[str(number)], weights, rtol=0, atol=rounding_bound(96))
    listed = json.loads(out.with_suffix(".json").read_text())
    assert (listed["model"]["kind"], listed["examples"][0]["visible"]) == ("decoder", [[None, 0]] * 3)
    sieves = ["local", "delimiter:cls", "first", "next", "identical"]
    stored = headroles.label(attention=out, sieve=sieves)
    run = headroles.label(kind="decoder", sieve=sieves, maps=0, first=COUNT, **given)
    np.testing.assert_allclose(stored.scores.values, run.scores.values, rtol=0, atol=1e-5)
    assert stored.manifest["model"]["kind"] == "decoder"
    assert stored.scores.tokens.tolist() == run.scores.tokens.tolist()


def test_probes_read_the_encoder_and_released_scores_a_decoder(given: Given, tmp_path: Path) -> None:
    file = tmp_path / "gold.jsonl"
    row = {"heads": [3, 3, 0], "relations": ["nsubj", "aux", "root"]}
    texts = (["it", "was", word] for word in ("signed", "decide", "long", "Paris"))
    file.write_text("".join(json.dumps(row | {"words": words}) + "\n" for words in texts))
    options: Given = {"data": file, "model": given["model"], "relations": "nsubj", "max_length": 32}
    usual, named = (headroles.probe("dependency", **options, kind=kind) for kind in (None, "encoder"))
    assert usual.scores.values.tobytes() == named.scores.values.tobytes()
    with pytest.raises(BadInput, match="has encoder and decoder and no 'self' attention"):
        headroles.probe("dependency", kind="self", **options)
    more: Given = {"preset": "published", "sieve": ["local", "delimiter"], "maps": 0, "first": 20}
    assert not np.isnan(headroles.label(kind="decoder", **more, **given).scores.values).any()
