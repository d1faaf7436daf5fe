"""Half precision: weights of bf16 and fp16 models, scores in float32, and how far from chance they may lie.

Short inputs of models without sdpa, and models outside the interface, hand out rows as the model rounds
them: a bf16 row sums to 1 within 0.4 % (a cell is off by at most 2^-9 of itself), an fp16 row within 0.05 %.
Attention that is even stays even when it is rounded, and a row that sums to a little less or more scales
what is counted and what is compared alike: selectivity 0 and bias 1 hold to the rounding of float32. A
contrast weighs rows against each other, and is off by at most what rows are apart, measured below 0.0005
(bf16) and 0.00005 (fp16), a hundredth of its margin and less. Rows formed beside the model are in float32.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from headroles.arrays import selection_of
from headroles.errors import BadInput
from headroles.extraction.capture.attention import run
from headroles.sieves.weights.reference import apply
from tests.extraction.model.test_even_attention import EVERY, MASKS, annotated, visible
from tests.support.architectures import FORMED, TABLE
from tests.support.read_models import Kept, batch_of, opened
from tests.support.reference import rounding_bound

ModelOf = Callable[[str], Path]
ROW = {"bfloat16": 4e-3, "float16": 5e-4}
"""How far from 1 a row of rounded weights may sum."""
CONTRAST = {"bfloat16": 5e-4, "float16": 5e-5}
"""How far from 0 a contrast of even attention may lie that was rounded."""
SINKS = ("gpt-oss",)
FULL = ("xlnet",)
"""Architectures that the library itself runs in float32 only."""


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name in TABLE for dtype in ROW if dtype == "bfloat16" or TABLE[name].path != FORMED],
)
def test_rows_of_half_precision_models_sum_to_1_within_the_stated_bound(
    name: str, dtype: str, model_of: ModelOf
) -> None:
    if name in FULL:
        with pytest.raises(BadInput, match=r"XLNetModel failed at that \(RuntimeError: .*cannot be labelled"):
            opened(model_of(name), dtype=dtype)
        return
    model = opened(model_of(name), dtype=dtype)
    assert model.way.name == TABLE[name].path
    inputs, lengths = batch_of(model)
    kept = Kept()
    run(model.network, model.way, inputs, lengths, kept)
    for place in kept.rows:
        rows = kept.whole(*place)
        assert rows.dtype == torch.float32
        assert torch.isfinite(rows).all()
        sums = rows.sum(-1)
        if name in SINKS:
            assert 0 < sums.min() < sums.max() < 1
        else:
            bound = rounding_bound(rows.shape[-1]) if model.way.name == FORMED else ROW[dtype]
            assert (sums - 1).abs().max() <= bound


@pytest.mark.parametrize("dtype", ROW)
def test_even_attention_rounded_to_half_precision_stays_at_its_null_within_the_bound(dtype: str) -> None:
    rng = np.random.default_rng(5)
    plain, biased = selection_of(EVERY), selection_of(EVERY, statistic="bias")
    furthest = {"selectivity": 0.0, "bias": 0.0, "contrast": 0.0}
    for size in (7, 19, 52, 90):
        for mask in MASKS:
            example = annotated(rng, [size, size], specials=True)
            seen = visible(rng, example.size, mask)
            even = torch.from_numpy(seen / seen.sum(axis=1, keepdims=True)).to(getattr(torch, dtype))
            rounded = even.float().numpy()[None]
            for statistic, sieves in (("selectivity", plain), ("bias", biased)):
                laid = sieves.plan(example, seen, np.float32)
                found = apply(laid, rounded)[:, 0]
                null = 1.0 if statistic == "bias" else 0.0
                matched = np.array([name.endswith(":matched") for name in sieves.columns[: len(found)]])
                off = np.abs(np.where(matched, found, found - null))
                furthest[statistic] = max(furthest[statistic], float(np.nan_to_num(off[~matched]).max()))
                furthest["contrast"] = max(furthest["contrast"], float(np.nan_to_num(off[matched]).max()))
    assert furthest["selectivity"] <= rounding_bound(90)
    assert furthest["bias"] <= rounding_bound(90, magnitude=90)
    assert 1e-6 < furthest["contrast"] <= CONTRAST[dtype]
