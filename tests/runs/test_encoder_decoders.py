"""Whole runs of decoder and cross attention: tables, report, notes, head cards, and judging them again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from transformers import AutoTokenizer

from headroles import label, load
from headroles.errors import BadInput
from tests.support.seq2seq import KINDS, pairs, plain, saved

Command = Callable[..., tuple[int, str, str]]
SIEVES = ["local", "delimiter", "syntactic", "next", "identical:other", "punctuation:all", "rare"]


@pytest.fixture(scope="module")
def model(tokenizer_of: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved("t5", tmp_path_factory.mktemp("seq2seq"), tokenizer_of)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    rows = ["source\ttarget\tdocument"]
    rows += ["\t".join((*each.texts, f"d{k}")) for k, each in enumerate(pairs(60))]
    file.write_text("\n".join(rows) + "\n")
    return file


@pytest.mark.with_report
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_of_one_kind_writes_tables_and_a_report_and_can_be_judged_again(
    kind: str, model: Path, data: Path, tmp_path: Path, command: Command
) -> None:
    words = ["--model", model, "--data", data, "--text-a", "source", "--text-b", "target"]
    words += [word for name in SIEVES for word in ("--sieve", name)]
    out = tmp_path / "run"
    words += ["--kind", kind, "--max-length", 64, "--maps", 20]
    code, told, problem = command("label", *words, "--out", out)
    assert (code, problem) == (0, "")
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["model"]["kind"] == kind
    assert f"--kind {kind}" in manifest["command"]
    said = {
        "encoder": "encoder's attention is",
        "decoder": "decoder's attention to",
        "cross": "Cross attention is",
    }
    assert said[kind] in told
    assert said[kind] in (out / "report.html").read_text().replace("&#39;", "'").replace("&#x27;", "'")
    labels = pd.read_csv(out / "labels.csv")
    assert len(labels) == {"encoder": 2, "decoder": 3, "cross": 3}[kind] * 4
    silent = {name for name in SIEVES if any(f"{name} does not apply" in line for line in told.splitlines())}
    assert (
        silent
        == {
            "encoder": set(),
            "decoder": {"next", "identical:other"},
            "cross": {"local", "syntactic", "next"},
        }[kind]
    )
    before = (out / "findings.csv").read_bytes()
    assert command("judge", out, "--alpha", "0.05")[0] == 0
    assert (out / "findings.csv").read_bytes() == before


def test_head_cards_of_cross_attention_show_joint_examples_whose_encoder_rows_are_empty(
    model: Path, data: Path
) -> None:
    run = label(
        data=data, text_a="source", text_b="target", model=model, kind="cross", max_length=64, margin=0.0,
        sieve=["punctuation:all", "identical:other"], test="wilcoxon", correction="none",
    )  # fmt: skip
    assert run.exhibited is not None
    assert run.exhibited.exhibits
    tokenizer, texts = AutoTokenizer.from_pretrained(model), pairs(60)
    for (example, layer, head), kept in zip(run.exhibited.places, run.exhibited.weights, strict=True):
        shown = run.exhibited.examples[example]
        passage = texts[run.scores.examples.index(shown.key)]
        (whole,) = plain(model, [passage], "cross", tokenizer)
        said, read = whole.shape[2:]
        assert kept.shape == (shown.size, shown.size) == (said + read, said + read)
        assert not kept[said:].any()
        assert not kept[:, :said].any()
        np.testing.assert_allclose(kept[:said, said:] / 255, whole[layer, head], rtol=0, atol=0.51 / 255)


def test_a_folder_that_is_not_named_has_the_kind_of_attention(
    model: Path, data: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--model", model, "--data", data, "--text-a", "source", "--text-b", "target", "--maps", 0]
    assert command("label", *words, "--kind", "cross", "--sieve", "delimiter")[0] == 0
    name = "pairs-t5-kind-cross-maps-0-sieve-delimiter"
    assert [each.name for each in (tmp_path / "runs").iterdir()] == [name]
    assert load(tmp_path / "runs" / name).manifest["model"]["layers"] == 3


def test_single_texts_and_the_released_scores_are_refused_before_anything_is_written(
    model: Path, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    with pytest.raises(BadInput, match="decoder attention needs pairs"):
        label(data=data, text_a="source", model=model, kind="decoder", sieve="delimiter", out=out)
    with pytest.raises(BadInput, match="'published' scores attention of a stack to itself"):
        label(data=data, text_a="source", text_b="target", model=model, kind="cross", preset="published")
    assert not out.exists()


def test_the_released_scores_can_be_had_of_a_decoder(model: Path, data: Path) -> None:
    run = label(
        data=data, text_a="source", text_b="target", model=model, kind="decoder", preset="published",
        sieve=["local", "delimiter"], maps=0, limit=20,
    )  # fmt: skip
    assert not np.isnan(run.scores.values).any()
