"""Scores and decisions of the fused path are those of the default path; what it cannot read is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headroles
from headroles.arrays import selection_of
from headroles.errors import BadInput, UnknownName
from headroles.extraction.capture.attention import run
from headroles.extraction.fused.attention import FusedAttention
from headroles.extraction.fused.call import check_arguments
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import Model, load
from headroles.extraction.parsing.annotate import Annotator
from headroles.extraction.scoring.job import SieveJob
from headroles.extraction.stream import stream
from headroles.options.label import LabelOptions
from headroles.records.passage import Passage, Words
from headroles.records.rules.names import SUMS
from headroles.sieves.base import MaskSieve
from headroles.sieves.built_in.bag_of_words import BagOfWords
from headroles.sieves.selection import Selection

ModelOf = Callable[[str], Path]
TEXTS = (
    ("The heads of a model look at words, and at each other.", "What did the heads decide?"),
    ("Look!", "It was signed."),
    ("What did the committee decide about the treaty?", "The treaty was signed in Paris by the committee."),
)
CLOSE = 2e-5
"""The check at load allows 5e-4. In float32 the paths differ by rounding only."""


def _load(folder: Path, path: str, dtype: str = "float32") -> Model:
    return load(find_checkpoint(str(folder), None), device="cpu", dtype=dtype, max_length=300, path=path)


def _tree(text: str) -> Words:
    """A tree in which every word depends on the one before."""
    ends = np.cumsum([len(word) + 1 for word in text.split()]) - 1
    starts = ends - [len(word) for word in text.split()]
    return Words(np.stack([starts, ends], axis=1), np.arange(len(ends)) - 1, ("nsubj",) * len(ends))


def _scores(model: Model, sieves: Selection) -> np.ndarray:
    passages = [
        Passage(f"made/{number}", texts, None, tuple(map(_tree, texts))) for number, texts in enumerate(TEXTS)
    ]
    job = SieveJob(model, sieves, Annotator(None))
    (shard,) = stream(model, passages, job, batch_size=2, max_length=96, advance=lambda count: None)
    return shard.values


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "mistral"])
def test_scores_of_padded_batches_are_those_of_the_default_path(name: str, model_of: ModelOf) -> None:
    masks = selection_of(
        ["local", "delimiter", "block", "identical", "previous", "subword", "syntactic", "induction"]
    )
    sieves = Selection((*masks.sieves, BagOfWords()))
    fused = _load(model_of(name), "fused")
    assert fused.way.name == fused.described["capture"] == SUMS
    wanted, found = _scores(_load(model_of(name), "rows"), sieves), _scores(fused, sieves)
    assert np.isfinite(wanted).any(axis=(1, 2, 3)).mean() > 0.6
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=CLOSE)


def test_scores_of_a_model_in_bfloat16_are_those_of_its_rows(model_of: ModelOf) -> None:
    model = _load(model_of("llama"), "fused", "bfloat16")
    assert (model.way.name, model.network.dtype) == (SUMS, torch.bfloat16)
    sieves = selection_of(["local", "delimiter", "previous"])
    wanted = _scores(_load(model_of("llama"), "rows", "bfloat16"), sieves)
    np.testing.assert_allclose(_scores(model, sieves), wanted, rtol=0, atol=CLOSE)


class _Masses:
    """A reader of sums that keeps the attention of every layer on the first token."""

    also_rows = False

    def __init__(self) -> None:
        self.layers: list[torch.Tensor] = []

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: Any) -> None:
        raise TypeError("this reader takes sums only")

    def read_fused(self, layer: int, example: int, attention: FusedAttention, visible: Any) -> None:
        self.layers.append(attention.sums(torch.eye(attention.tokens)[:, :1]))


def test_the_output_of_the_model_stays_that_of_sdpa_while_sums_are_taken(model_of: ModelOf) -> None:
    model, reader = _load(model_of("llama"), "fused"), _Masses()
    inputs = {"input_ids": torch.from_numpy(np.random.default_rng(1).integers(5, 60, (1, 70)))}
    output, calls = run(model.network, model.way, inputs, [70], reader)
    assert calls == len(reader.layers) == model.layers
    assert all(float(masses[:, 1:].min()) > 0 for masses in reader.layers)
    model.network.set_attn_implementation("sdpa")
    with torch.inference_mode():
        assert torch.equal(output, model.network(**inputs)[0])


@pytest.mark.parametrize("error", [0.01, float("nan")])
def test_a_wrong_log_sum_exp_is_refused_at_load(
    error: float, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = FusedAttention._flex

    def wrong(self: FusedAttention, *given: Any) -> tuple[torch.Tensor, torch.Tensor]:
        output, levels = right(self, *given)
        return output, levels + error

    monkeypatch.setattr(FusedAttention, "_flex", wrong)
    with pytest.raises(BadInput, match=r"must equal those of formed weights.*leave --path fused out"):
        _load(model_of("bert"), "fused")


@pytest.mark.parametrize("name", ["t5", "gpt-oss", "gemma2", "mpnet"])
def test_models_whose_attention_is_more_than_a_softmax_of_products_are_refused(
    name: str, model_of: ModelOf
) -> None:
    with pytest.raises(BadInput, match=r"the fused path reads .*leave --path fused out"):
        _load(model_of(name), "fused")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"softcap": 50.0}, "caps its logits"),
        ({"s_aux": torch.zeros(4)}, "a sink that is no token"),
        ({"position_bias": torch.zeros(1)}, "a bias of positions"),
    ],
)
def test_arguments_that_change_logits_are_refused(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        check_arguments(torch.nn.Identity(), None, given)
    with pytest.raises(BadInput, match="a bias of positions"):
        check_arguments(torch.nn.Identity(), torch.zeros(1, 1, 2, 2), {})
    check_arguments(torch.nn.Identity(), torch.ones(1, 1, 2, 2, dtype=torch.bool), {"softcap": None})


class _Corners:
    """A scorer that needs rows."""

    name, needs = "corners", frozenset[str]()

    def score(self, attention: np.ndarray, example: Any) -> np.ndarray:
        corners: np.ndarray = attention[:, 0, 0]
        return corners

    def null(self, example: Any) -> float:
        return 0.0


def test_sieves_that_need_rows_are_refused_by_name() -> None:
    with pytest.raises(BadInput, match=r"forms no rows of attention, .* need them: 'corners'; leave --path"):
        headroles.label("QNLI", sieve=[_Corners()], path="fused", first=2)


def test_the_option_takes_two_values_and_goes_with_attention_alone() -> None:
    with pytest.raises(UnknownName, match="flash"):
        LabelOptions(task="QNLI", path="flash")
    with pytest.raises(BadInput, match="leave --path fused or --weights out"):
        LabelOptions(task="QNLI", path="fused", weights="norm")
    with pytest.raises(BadInput, match="--path has no effect"):
        LabelOptions(attention="maps.npz", path="fused")


def test_a_run_records_its_path_keeps_maps_and_is_judged_again(tmp_path: Path, model_of: ModelOf) -> None:
    folder = tmp_path / "run"
    run = headroles.label(
        "QNLI",
        model=model_of("bert"),
        first=12,
        sieve=["first", MaskSieve("odd", lambda each: np.eye(each.size, dtype=np.bool_))],
        path="fused",
        maps=4,
        out=str(folder),
    )
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["settings"]["path"] == "fused"
    assert manifest["model"]["capture"] == SUMS
    assert "--path fused" in manifest["command"]
    assert any("fused path" in note for note in headroles.load(folder).manifest["notes"])
    assert len(run.scores.examples) == 12
    again = headroles.judge_again(folder, alpha=0.01)
    np.testing.assert_array_equal(again.scores.values, run.scores.values)
    for own in (run, headroles.load(folder)):
        assert own.exhibited is not None


@pytest.mark.slow
def test_decisions_on_inputs_of_the_run_in_the_readme_are_those_of_the_default_path() -> None:
    rows, fused = (headroles.label("QNLI", first=16, maps=0, path=path) for path in ("rows", "fused"))
    np.testing.assert_allclose(fused.scores.values, rows.scores.values, rtol=0, atol=5e-4)
    np.testing.assert_array_equal(fused.findings.decision, rows.findings.decision)


@pytest.mark.slow
def test_decisions_on_long_inputs_of_a_decoder_are_those_of_the_default_path(
    stories: Path, tmp_path: Path
) -> None:
    rng = np.random.default_rng(4)
    said = [f"{name} saw a {thing}." for name in ("Lily", "Tom", "Sam") for thing in ("ball", "dog", "cat")]
    lines = [" ".join(rng.choice(said, 60)) for _ in range(12)]
    data = tmp_path / "texts.tsv"
    data.write_text("\n".join(["sentence", *lines]) + "\n")
    rows, fused = (
        headroles.label(
            data=data,
            text_a="sentence",
            model=stories,
            sieve=["previous", "first", "duplicate", "induction", "local"],
            max_length=384,
            maps=0,
            path=path,
        )
        for path in ("rows", "fused")
    )
    assert int(rows.scores.tokens.max()) > 256
    np.testing.assert_allclose(fused.scores.values, rows.scores.values, rtol=0, atol=5e-4)
    np.testing.assert_array_equal(fused.findings.decision, rows.findings.decision)
    assert (rows.findings.decision == 0).any()
