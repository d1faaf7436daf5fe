"""Surface statistics, clusters, probes and stored maps of the attentions of an encoder-decoder."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoTokenizer

import headroles
from headroles.errors import BadInput
from headroles.extraction.jobs.divergence import pair_divergences
from headroles.sieves.settings import SMOOTHING
from headroles.sieves.spread import entropies
from headroles.storage.map_files import MapFile
from tests.support.reference import rounding_bound
from tests.support.seq2seq import KINDS, hand_made, pairs, plain, saved

Command = Callable[..., tuple[int, str, str]]
COUNT = 12
QUICK: dict[str, Any] = {"max_length": 96, "batch_size": 5}
OFFSETS = ("surface:previous", "surface:next", "surface:self")


@pytest.fixture(scope="module", params=["t5", "bart"])
def model(
    request: pytest.FixtureRequest,
    tokenizer_of: Callable[[str], Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    return saved(request.param, tmp_path_factory.mktemp("seq2seq"), tokenizer_of)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
    rows = [{"source": each.texts[0], "target": each.texts[1]} for each in pairs(COUNT)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture
def given(model: Path, data: Path) -> dict[str, Any]:
    return {"data": data, "text_a": "source", "text_b": "target", "model": model} | QUICK


@pytest.mark.parametrize("preset", ["calibrated", "published"])
@pytest.mark.parametrize("kind", ["decoder", "cross"])
def test_surface_statistics_are_those_of_the_plain_models_weights(
    kind: str, preset: str, given: dict[str, Any], model: Path
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(model)
    run = headroles.surface(kind=kind, preset=preset, **given)
    smoothing = SMOOTHING if preset == "published" else 0.0
    assert run.manifest["model"]["kind"] == kind
    values = dict(zip(run.scores.sieves, run.scores.values, strict=True))
    for place, (passage, weights) in enumerate(
        zip(pairs(COUNT), plain(model, pairs(COUNT), kind, tokenizer), strict=True)
    ):
        start = "x"
        example = hand_made(passage, kind, tokenizer, start)
        queries = weights.shape[2]
        spread = entropies(weights, smoothing)
        wanted = {"surface:entropy": spread.mean(axis=-1)}
        keys = example.special[-weights.shape[3] :] & ~example.first[-weights.shape[3] :]
        if keys.any():
            wanted["surface:separator"] = weights[..., keys].sum(axis=-1).mean(axis=-1)
        if kind == "cross":  # the start token opens the decoder's text
            wanted["surface:entropy-first"] = spread[..., 0]
        if kind == "decoder" and queries > 1:
            diagonal = np.diagonal(weights, offset=-1, axis1=2, axis2=3)
            wanted["surface:previous"] = diagonal.sum(axis=-1) / queries
        for column, plainly in wanted.items():
            np.testing.assert_allclose(
                values[column][place],
                plainly,
                rtol=0,
                atol=rounding_bound(example.size, magnitude=float(np.log(max(example.size, 3)))),
                err_msg=column,
            )
    if kind == "cross":
        assert all(np.isnan(values[column]).all() for column in OFFSETS)
        silent = [note for note in run.skipped if "offsets exist within one stack" in note]
        assert len(silent) == len(OFFSETS)


def test_even_cross_attention_is_neither_above_nor_below(
    tokenizer_of: Callable[[str], Any], tmp_path: Path, data: Path
) -> None:
    even = saved("even bart", tmp_path, tokenizer_of)
    run = headroles.surface(
        data=data, text_a="source", text_b="target", model=even, kind="cross", max_length=96
    )
    off = run.scores.values - run.scores.null[:, :, None, None]
    assert np.nanmax(np.abs(off)) < 1e-5
    assert not np.isnan(off[run.scores.sieves.index("surface:entropy")]).any()


@pytest.mark.parametrize("divergence", ["mean", "published"])
@pytest.mark.parametrize("kind", KINDS)
def test_clusters_are_of_the_divergences_of_one_kind(
    kind: str, divergence: str, given: dict[str, Any], model: Path
) -> None:
    run = headroles.cluster(
        kind=kind, divergence=divergence, sieve="delimiter", maps=0, draws=20, **given | {"text_b": "target"}
    )
    assert run.clustered is not None
    smoothing = 0.001 if divergence == "published" else 0.0
    tokenizer = AutoTokenizer.from_pretrained(model)
    if kind == "encoder":  # which reads the pair as one input
        assert (run.clustered.divergence.layers, run.clustered.divergence.heads) == (2, 4)
        return
    sums = []
    for weights in plain(model, pairs(COUNT), kind, tokenizer):
        rows = pair_divergences(torch.from_numpy(weights).flatten(0, 1), smoothing=smoothing)
        sums.append(rows / (weights.shape[2] if divergence == "mean" else 1))
    wanted = np.sum(sums, axis=0) if divergence == "published" else np.mean(sums, axis=0)
    np.testing.assert_allclose(
        run.clustered.divergence.mean(), wanted, rtol=1e-3, atol=10 * rounding_bound(96)
    )


def test_a_folder_that_is_not_named_states_the_kind(
    given: dict[str, Any], tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [word for name, value in given.items() for word in ("--" + name.replace("_", "-"), value)]
    code, told, _ = command("surface", *words, "--kind", "cross")
    assert code == 0
    assert "Cross attention is read" in told
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.startswith("surface-pairs-")
    assert "-kind-cross-" in folder.name


@pytest.mark.parametrize("kind", ["decoder", "cross"])
def test_probes_read_one_text_and_so_the_encoder_alone(kind: str, data: Path) -> None:
    with pytest.raises(BadInput, match=f"probes read one annotated text, but --kind '{kind}' needs two"):
        headroles.probe("dependency", data=data, kind=kind)


def test_a_probe_of_the_encoder_by_name_is_the_usual_probe(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "gold.jsonl"
    row = {"heads": [3, 3, 0], "relations": ["nsubj", "aux", "root"]}
    texts = (["it", "was", word] for word in ("signed", "decide", "long", "Paris"))
    file.write_text("".join(json.dumps(row | {"words": words}) + "\n" for words in texts))
    options: dict[str, Any] = {"data": file, "model": model, "relations": "nsubj", "max_length": 32}
    usual, named = (headroles.probe("dependency", **options, kind=kind) for kind in (None, "encoder"))
    assert usual.scores.values.tobytes() == named.scores.values.tobytes()
    with pytest.raises(BadInput, match="has encoder and decoder and no 'self' attention"):
        headroles.probe("dependency", kind="self", **options)


def test_gradients_have_one_kind_of_attention(given: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="one kind of attention, but --kind is 'decoder'; leave it out"):
        headroles.surface(gradients=True, kind="decoder", **given)


def test_maps_of_a_decoder_are_stored_and_labelled_like_the_model(
    given: dict[str, Any], model: Path, data: Path, tmp_path: Path
) -> None:
    rows = [json.loads(line) for line in data.read_text().splitlines()]
    file, out = tmp_path / "pairs.json", tmp_path / "maps.npz"
    file.write_text(json.dumps([{"text": [row["source"], row["target"]]} for row in rows]))
    headroles.extract(file, out=out, model=model, kind="decoder", precision="float32")
    whole = plain(model, pairs(COUNT), "decoder", AutoTokenizer.from_pretrained(model))
    with MapFile.open(out) as maps:
        for number, weights in enumerate(whole):
            np.testing.assert_allclose(
                maps[str(number)], weights, rtol=0, atol=rounding_bound(weights.shape[-1])
            )
    listed = json.loads(out.with_suffix(".json").read_text())
    assert listed["model"]["kind"] == "decoder"
    assert listed["examples"][0]["visible"] == [[None, 0]] * 3
    sieves = ["local", "delimiter:cls", "first", "next", "identical"]
    stored = headroles.label(attention=out, sieve=sieves)
    run = headroles.label(kind="decoder", sieve=sieves, maps=0, **given)
    np.testing.assert_allclose(stored.scores.values, run.scores.values, rtol=0, atol=1e-5)
    assert stored.manifest["model"]["kind"] == "decoder"
    pd.testing.assert_series_equal(pd.Series(stored.scores.tokens), pd.Series(run.scores.tokens))


@pytest.mark.parametrize(
    ("row", "kind", "sentence"),
    [
        ({"text": "it was signed"}, "decoder", "a decoder reads the second text of a pair, but an object of"),
        ({"words": ["it", "was"]}, "decoder", "a decoder reads the second text of a pair, but an object of"),
        ({"text": ["it", "was"]}, "cross", "cross attention has two texts"),
    ],
)
def test_maps_of_a_decoder_need_pairs_and_cross_attention_is_not_stored(
    row: dict[str, Any], kind: str, sentence: str, model: Path, tmp_path: Path
) -> None:
    file = tmp_path / "texts.json"
    file.write_text(json.dumps([row]))
    with pytest.raises(BadInput, match=sentence):
        headroles.extract(file, out=tmp_path / "maps.npz", model=model, kind=kind)
