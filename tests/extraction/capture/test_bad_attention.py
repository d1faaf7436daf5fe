"""Attention that is no number is one sentence, and never taken for nothing to say; nor are cells lost."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from headroles import Example
from headroles.arrays import selection_of
from headroles.errors import BadInput
from headroles.extraction.capture.readers import to_visible_mask
from headroles.extraction.model.load import Model
from headroles.extraction.scoring.batches.reading import BatchPlans, BatchScores, batch_plan
from headroles.extraction.scoring.job import SieveJob
from headroles.extraction.scoring.reader import Shard, Table
from headroles.extraction.stream import stream
from headroles.extraction.texts.tokens import tokenise
from headroles.records.passage import Passage
from headroles.sieves.base import MaskSieve
from headroles.sieves.selection import Selection
from headroles.testing import made_example
from tests.support.read_models import TEXTS, cut_into_blocks, opened

ModelOf = Callable[..., Path]
CPU = torch.device("cpu")
PLACES = ["together", "one by one", "in blocks"]


class _Sums:
    """A scorer that sees attention and has no mask."""

    name, needs = "sums", frozenset[str]()

    def score(self, attention: np.ndarray, example: Example) -> np.ndarray:
        summed: np.ndarray = attention.sum(axis=(1, 2))
        return summed

    def null(self, example: Example) -> float:
        return 0.0


def _scored(model: Model, sieves: Selection, where: str, monkeypatch: pytest.MonkeyPatch) -> Shard:
    cut_into_blocks(monkeypatch, 4 if where == "in blocks" else 256)
    passages = [Passage(f"text/{number}", (text, "Was it?")) for number, text in enumerate(TEXTS)]
    job = SieveJob(model, sieves, None)
    size = 3 if where == "together" else 1
    (shard,) = stream(model, passages, job, batch_size=size, max_length=96, advance=lambda count: None)
    return shard


def _spoil(model: Model, name: str, row: int) -> None:
    with torch.no_grad():
        dict(model.network.named_parameters())[name][row] = torch.nan


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("statistic", ["selectivity", "bias"])
def test_an_input_whose_attention_is_no_number_is_named_with_the_layer(
    statistic: str, where: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = opened(model_of("bert"))
    sieves = selection_of(["local", "delimiter", "block"], statistic=statistic)
    assert np.isfinite(_scored(model, sieves, where, monkeypatch).values[:, 0]).all()
    _spoil(model, "encoder.layer.1.attention.self.query.bias", 3)
    with pytest.raises(BadInput, match="must be finite, but layer 1 gives some that are not for the input"):
        _scored(model, sieves, where, monkeypatch)


@pytest.mark.parametrize("where", PLACES)
def test_other_inputs_of_a_batch_are_not_blamed(
    where: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = opened(model_of("bert"))
    known = tokenise(model.tokenizer, [Passage("all", (text,)) for text in TEXTS], 96)
    odd = ({*known[1].inputs["input_ids"]} - {*known[0].inputs["input_ids"]}) - {
        *known[2].inputs["input_ids"]
    }
    _spoil(model, "embeddings.word_embeddings.weight", odd.pop())
    with pytest.raises(BadInput, match="layer 0 gives some that are not for the input 'text/1'; try "):
        _scored(model, selection_of(["local", "delimiter"]), where, monkeypatch)


@pytest.mark.parametrize("where", PLACES)
def test_a_sieve_that_sees_attention_is_not_given_what_is_no_number(
    where: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = opened(model_of("bert"))
    _spoil(model, "encoder.layer.1.attention.self.query.bias", 3)
    with pytest.raises(BadInput, match="must be finite, but layer 1"):
        _scored(model, Selection((_Sums(),)), where, monkeypatch)


def _examples() -> list[Example]:
    rng = np.random.default_rng(2)
    return [made_example(rng, texts=2, words=8 + 3 * number, key=f"made/{number}") for number in range(3)]


def _even(examples: list[Example], width: int) -> torch.Tensor:
    weights = torch.full((len(examples), 2, width, width), torch.nan)
    for row, example in enumerate(examples):
        weights[row, :, : example.size, : example.size] = 1 / example.size
    return weights


def test_padding_and_what_no_query_sees_may_be_no_number_in_a_batch_but_not_the_rest() -> None:
    sieves, examples = selection_of(["local", "block"]), _examples()
    width, seen = max(each.size for each in examples) + 2, [None, None, None]
    weights = _even(examples, width)
    hidden = np.ones((examples[1].size,) * 2, dtype=np.bool_)
    hidden[:, 2] = False
    scores = BatchScores(BatchPlans(sieves, examples, 2, CPU), 1, CPU)
    spoilt = weights.clone()
    spoilt[1, :, :, 2] = torch.nan
    scores.add(spoilt, [None, hidden, None])
    assert np.isfinite(scores.values()).all()
    again = BatchScores(BatchPlans(sieves, examples, 2, CPU), 2, CPU)
    again.add(weights, seen)
    spoilt = weights.clone()
    spoilt[2, 1, 3, 0] = torch.nan
    again.add(spoilt, seen)
    with pytest.raises(BadInput, match="layer 1 gives some that are not for the input 'made/2'"):
        again.values()


def test_a_column_with_nothing_to_say_says_nothing_of_attention_that_is_no_number() -> None:
    single = [made_example(np.random.default_rng(1), texts=1, words=6, key="single")]
    sieves = selection_of(["local", "block"])
    plan = batch_plan(sieves.layout, sieves.masks_of(single), single, [None], single[0].size, CPU)
    weights = torch.full((1, 2, single[0].size, single[0].size), torch.nan)
    found = plan.scores(weights)[0].numpy()
    assert np.isinf(found[sieves.columns.index("local")]).all()
    assert np.isnan(found[sieves.columns.index("block")]).all()


def _far(example: Example) -> np.ndarray:
    place = np.arange(example.size)
    apart: np.ndarray = np.abs(place[:, None] - place[None, :]) == 6
    return apart


@pytest.mark.parametrize("first", ["window", "all"])
@pytest.mark.parametrize("way", ["plan", "long plan", "batch"])
def test_cells_are_the_most_of_any_layer_whichever_comes_first(
    way: str, first: str, model_of: ModelOf
) -> None:
    sieves = Selection((MaskSieve("far", _far),))
    model = opened(model_of("bert"))
    passages = [Passage(f"text/{number}", (text,)) for number, text in enumerate(TEXTS)]
    tokenised = tokenise(model.tokenizer, passages, 96)
    examples = [made_example(np.random.default_rng(each.size), texts=1, words=12) for each in tokenised]
    table = Table(sieves, tokenised, model)
    size = max(each.size for each in examples)
    window = [np.abs(np.subtract.outer(np.arange(each.size), np.arange(each.size))) < 3 for each in examples]
    for kind in ["window", "all"] if first == "window" else ["all", "window"]:
        seen = window if kind == "window" else [None] * len(examples)
        if way == "batch":
            stated = sieves.masks_of(examples)
            plan = batch_plan(sieves.layout, stated, examples, seen, size, CPU)
            table.note_batch(list(range(len(examples))), plan)
            continue
        for place, (example, own) in enumerate(zip(examples, seen, strict=True)):
            if way == "plan":
                table.note(place, sieves.plan(example, own))
            else:
                table.note(place, sieves.long_plan(example, to_visible_mask(own)))
    wanted = [sieves.plan(example, None).cells[0] for example in examples]
    assert np.isnan(sieves.plan(examples[0], window[0]).cells[0])
    np.testing.assert_array_equal(table.cells[0], wanted)
