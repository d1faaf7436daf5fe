"""Scores of the fused path are those of the default path, checked at load; what it cannot read is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headroles
from headroles import MaskSieve
from headroles.arrays import selection_of
from headroles.errors import BadInput
from headroles.extraction import FusedAttention, check_arguments, run
from tests.support.read_models import cut_into_blocks, opened, plain_run
from tests.support.streams import passages, streamed

ModelOf = Callable[[str], Path]
NAMES = (
    "local",
    "delimiter",
    "block",
    "identical",
    "previous",
    "subword",
    "syntactic",
    "induction",
    "bag-of-words",
)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("bert", "float32"),
        pytest.param("llama", "bfloat16", marks=pytest.mark.ci),
        *(pytest.param(name, "float32", marks=pytest.mark.ci) for name in ("gpt2", "mistral", "llama")),
    ],
)
def test_scores_of_padded_batches_are_those_of_the_default_path(
    name: str, dtype: str, model_of: ModelOf
) -> None:
    sieves, asked = selection_of(NAMES), passages(2, 3, most=12)
    unformed, rows = (opened(model_of(name), 300, dtype, path=path) for path in ("fused", "rows"))
    assert unformed.way.name == unformed.described["capture"] == "headroles-fused"
    wanted, found = (streamed(model, asked, sieves, size=2).values for model in (rows, unformed))
    assert np.isfinite(wanted).any(axis=(1, 2, 3)).mean() > 0.6
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-5)


class Masses:
    """A reader of sums that keeps the attention of every layer on the first token."""

    also_rows = False

    def __init__(self) -> None:
        """Begin with nothing."""
        self.layers: list[torch.Tensor] = []

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: Any) -> None:
        """Refuse rows."""
        raise TypeError("this reader takes sums only")

    def read_fused(self, layer: int, example: int, attention: FusedAttention, visible: Any) -> None:
        """Keep sums."""
        self.layers.append(attention.sums(torch.eye(attention.tokens)[:, :1]))


def test_the_output_of_the_model_stays_that_of_sdpa_while_sums_are_taken(model_of: ModelOf) -> None:
    model, reader = opened(model_of("llama"), 300, path="fused"), Masses()
    inputs = {"input_ids": torch.from_numpy(np.random.default_rng(1).integers(5, 60, (1, 70)))}
    output, calls = run(model.network, model.way, inputs, [70], reader)
    assert calls == len(reader.layers) == model.layers
    assert all(float(masses[:, 1:].min()) > 0 for masses in reader.layers)
    model.network.set_attn_implementation("sdpa")
    assert torch.equal(output, plain_run(model.network, inputs)[0])


@pytest.mark.parametrize("blocks", [1, 3])
def test_the_check_at_load_compares_sums_with_formed_weights_of_any_number_of_blocks(
    blocks: int, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    if blocks > 1:
        tokens = 100
        cut_into_blocks(monkeypatch, 4, 4 * 4 * tokens * tokens // blocks)
    assert opened(model_of("bert"), 300, path="fused").way.name == "headroles-fused"
    right = FusedAttention._flex
    for error in (0.01, float("nan")):

        def wrong(
            self: FusedAttention, *given: Any, error: float = error
        ) -> tuple[torch.Tensor, torch.Tensor]:
            output, levels = right(self, *given)
            return output, levels + error

        with monkeypatch.context() as patch:
            patch.setattr(FusedAttention, "_flex", wrong)
            with pytest.raises(BadInput, match=r"must equal those of formed weights.*leave --path fused out"):
                opened(model_of("bert"), 300, path="fused")


def test_models_whose_attention_is_more_than_a_softmax_of_products_are_refused(model_of: ModelOf) -> None:
    for name in ("t5", "gpt-oss", "gemma2", "mpnet"):
        with pytest.raises(BadInput, match=r"the fused path reads .*leave --path fused out"):
            opened(model_of(name), 300, path="fused")
    for given, reason in (
        ({"softcap": 50.0}, "caps its logits"),
        ({"s_aux": torch.zeros(4)}, "a sink that is no token"),
        ({"position_bias": torch.zeros(1)}, "a bias of positions"),
    ):
        with pytest.raises(BadInput, match=reason):
            check_arguments(torch.nn.Identity(), None, given)
    with pytest.raises(BadInput, match="a bias of positions"):
        check_arguments(torch.nn.Identity(), torch.zeros(1, 1, 2, 2), {})
    check_arguments(torch.nn.Identity(), torch.ones(1, 1, 2, 2, dtype=torch.bool), {"softcap": None})


def test_a_run_records_its_path_keeps_maps_and_is_judged_again(tmp_path: Path, model_of: ModelOf) -> None:
    odd = MaskSieve("odd", lambda each: np.eye(each.size, dtype=np.bool_))
    run = headroles.label(
        data=["It was signed in Paris. " * (1 + k % 3) + str(k) for k in range(8)],
        model=model_of("bert"), sieve=["first", odd], path="fused", maps=4, max_length=48,
        out=tmp_path / "run",
    )  # fmt: skip
    assert run.manifest["settings"]["path"] == "fused"
    assert run.manifest["model"]["capture"] == "headroles-fused"
    assert "--path fused" in run.manifest["command"]
    assert any("fused path" in note for note in headroles.load(tmp_path / "run").manifest["notes"])
    again = headroles.judge_again(tmp_path / "run", alpha=0.01)
    np.testing.assert_array_equal(again.scores.values, run.scores.values)
    assert run.exhibited is not None
    assert headroles.load(tmp_path / "run").exhibited is not None
