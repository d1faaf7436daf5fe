"""Inputs that could score beyond the stated bounds are left out of a column, whatever they score."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from headroles.arrays import selection_of
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import load
from headroles.extraction.scoring.job import SieveJob
from headroles.extraction.scoring.reader import Shard
from headroles.extraction.stream import stream
from headroles.plans.plan import LEFT_OUT
from headroles.records.passage import Passage
from headroles.sieves.selection import Selection

ModelOf = Callable[[str], Path]
TEXTS = tuple("the " * times for times in (1, 2, 3, 4, 5, 6, 30, 40))


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_short_inputs_are_left_out_and_all_others_keep_their_scores(
    name: str, size: int, model_of: ModelOf
) -> None:
    model = load(find_checkpoint(str(model_of(name)), None), device="cpu", dtype="float32", max_length=96)
    passages = [Passage(f"made/{number}", (text,)) for number, text in enumerate(TEXTS)]
    selection = selection_of(["local", "delimiter", "first"])

    def scored(sieves: Selection) -> Shard:
        job = SieveJob(model, sieves, None)
        (shard,) = stream(model, passages, job, batch_size=size, max_length=96, advance=lambda count: None)
        return shard

    plain, stated = scored(selection), scored(replace(selection, stated=True))
    local, bounds = 0, replace(selection, stated=True).bounds
    gone = np.isnan(stated.values[local]).all(axis=(1, 2))
    assert not gone[-2:].any()
    silent = np.isnan(plain.values[local]).all(axis=(1, 2))
    assert stated.counts[f"{LEFT_OUT}local"] == (gone & ~silent).sum() > 0
    np.testing.assert_array_equal(stated.values[local, ~gone], plain.values[local, ~gone])
    assert np.isnan(stated.cells[local, gone]).all()
    assert bounds["local"][0] <= stated.low[local] + 1e-6
    assert plain.low[local] < bounds["local"][0]
    for column, (low, high) in enumerate(bounds.values()):
        known = stated.values[column][~np.isnan(stated.values[column])]
        assert ((known >= low - 1e-5) & (known <= high + 1e-5)).all()
