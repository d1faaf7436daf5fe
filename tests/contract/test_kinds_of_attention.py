"""Whole runs of attentions of encoder-decoders: what they say, surface statistics and stored maps."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import entr

import headroles
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


def test_surface_statistics_of_cross_attention_are_those_of_the_plain_models_weights(
    given: Given, model: Path
) -> None:
    run = headroles.surface(kind="cross", first=COUNT, batch_size=5, **given)
    values = dict(zip(run.scores.sieves, run.scores.values, strict=True))
    near: Given = {"rtol": 0, "atol": rounding_bound(96, float(np.log(96)))}
    for place, weights in enumerate(weights_of(model, "cross")):
        spread = entr(weights).sum(axis=-1)
        np.testing.assert_allclose(values["surface:entropy"][place], spread.mean(axis=-1), **near)
        np.testing.assert_allclose(values["surface:entropy-first"][place], spread[..., 0], **near)
    assert all(np.isnan(values[f"surface:{name}"]).all() for name in ("previous", "next", "self"))
    assert sum("offsets exist within one stack" in note for note in run.skipped) == 3


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
