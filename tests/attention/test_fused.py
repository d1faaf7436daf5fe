"""Scores of the fused path are those of the default path, checked at load; what it cannot read is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroles import extraction
from headroles.arrays import selection_of
from headroles.errors import BadInput
from tests.support.read_models import cut_into_blocks, opened
from tests.support.streams import passages, streamed

ModelOf = Callable[[str], Path]
NAMES = (
    "local", "delimiter", "block", "identical", "previous", "subword", "syntactic", "induction",
    "bag-of-words",
)  # fmt: skip


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
    wanted, found = (streamed(model, asked, sieves, size=2).values for model in (rows, unformed))
    assert np.isfinite(wanted).any(axis=(1, 2, 3)).mean() > 0.6
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-5)


@pytest.mark.parametrize("blocks", [1, 3])
def test_the_check_at_load_compares_sums_with_formed_weights_of_any_number_of_blocks(
    blocks: int, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    if blocks > 1:
        tokens = 100
        cut_into_blocks(monkeypatch, 4, 4 * 4 * tokens * tokens // blocks)
    assert opened(model_of("bert"), 300, path="fused").way.name == "headroles-fused"
    right = extraction.FusedAttention._flex
    for error in (0.01, float("nan")):

        def wrong(self: Any, *given: Any, error: float = error) -> tuple[Any, Any]:
            output, levels = right(self, *given)
            return output, levels + error

        with monkeypatch.context() as patch:
            patch.setattr(extraction.FusedAttention, "_flex", wrong)
            with pytest.raises(BadInput, match=r"must equal those of formed weights.*leave --path fused out"):
                opened(model_of("bert"), 300, path="fused")


def test_models_whose_attention_is_more_than_a_softmax_of_products_are_refused(model_of: ModelOf) -> None:
    import torch

    for name in ("t5", "gpt-oss", "gemma2", "mpnet"):
        with pytest.raises(BadInput, match=r"the fused path reads .*leave --path fused out"):
            opened(model_of(name), 300, path="fused")
    module, check = torch.nn.Identity(), extraction.check_arguments
    for mask, given, reason in (
        (None, {"softcap": 50.0}, "caps its logits"),
        (None, {"s_aux": torch.zeros(4)}, "a sink that is no token"),
        (None, {"position_bias": torch.zeros(1)}, "a bias of positions"),
        (torch.zeros(1, 1, 2, 2), {}, "a bias of positions"),
    ):
        with pytest.raises(BadInput, match=reason):
            check(module, mask, given)
    check(module, torch.ones(1, 1, 2, 2, dtype=torch.bool), {"softcap": None})
