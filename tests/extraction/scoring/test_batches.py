"""Plans of whole batches say what those of single examples do, whatever is hidden, however it is padded."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles import Example, sieve
from headroles.arrays import selection_of
from headroles.errors import BadSieve
from headroles.extraction.capture.visible import VisibleSets
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import Model, load
from headroles.extraction.parsing.annotate import Annotator
from headroles.extraction.scoring.batches import reading as batch_reading
from headroles.extraction.scoring.batches.cells import by_cell, cell_bags
from headroles.extraction.scoring.batches.plan import lay_masks, pad_batch
from headroles.extraction.scoring.batches.reading import (
    BatchPlan,
    BatchPlans,
    BatchScores,
    batch_plan,
    reads_as_batch,
    sums_over_pairs,
)
from headroles.extraction.scoring.batches.units import token_units, word_units
from headroles.extraction.scoring.job import SieveJob
from headroles.extraction.stream import stream
from headroles.plans.masks import Band, Cells, Every, Keys, Mask, Match, Pairs, Same, Without
from headroles.records.example import Lexical, Mention
from headroles.records.passage import Passage, Words
from headroles.records.rules.names import EAGER, FORMED
from headroles.sieves import BUILT_IN, PATTERNS
from headroles.sieves.selection import Selection
from headroles.sieves.weights.reference import apply
from headroles.testing import made_example
from tests.sieves.third_party import THIRD_PARTY
from tests.support.read_models import cut_into_blocks
from tests.support.reference import rounding_bound

ModelOf = Callable[[str], Path]
CPU = torch.device("cpu")
HEADS = 3
EVERYTHING = (*BUILT_IN, *PATTERNS, "coreference", "local:4", "offset:-3")
VISIBLE = ("all", "causal", "window", "irregular", "mixed")


def _examples(count: int = 6) -> list[Example]:
    """Single texts and pairs of many lengths; in some a word has no token of its own."""
    rng = np.random.default_rng(3)
    made = []
    for number in range(count):
        plain = made_example(rng, texts=1 + number % 2, words=4 + 2 * number, key=f"made/{number}")
        word, words = plain.word.copy(), int(plain.word.max()) + 1
        if number % 3 == 0:
            word[word == 2] = 1
        names = [token.rstrip("0123456789") if rng.random() < 0.5 else token for token in plain.tokens]
        starts = rng.integers(0, words - 1, 4)
        made.append(
            Example(
                plain.key,
                tuple(names),
                segment=plain.segment,
                word=word,
                arcs=plain.arcs,
                mentions=tuple(Mention(int(at), int(at) + 2, f"m{k % 2}") for k, at in enumerate(starts)),
                lexical=Lexical(
                    lemmas=tuple(f"w{each % 5}" for each in range(words)),
                    frequency=rng.integers(1, 9, plain.size),
                ),
            )
        )
    return made


def _visible(kind: str, number: int, size: int) -> np.ndarray | None:
    offset = np.arange(size)[:, None] - np.arange(size)[None, :]
    rng = np.random.default_rng(number)
    cells = {
        "causal": offset >= 0,
        "window": (offset >= 0) & (offset < 6),
        "irregular": (rng.random((size, size)) < 0.6) | (offset == 0),
        "mixed": offset >= 0,
    }
    return None if kind == "all" or (kind == "mixed" and number % 2) else cells[kind]


def _attention(examples: Sequence[Example], visible: Sequence[np.ndarray | None], width: int) -> torch.Tensor:
    """Random attention; rubbish beyond each example's own tokens."""
    rng = np.random.default_rng(8)
    made = rng.random((len(examples), HEADS, width, width), dtype=np.float32) * 100
    for row, (example, seen) in enumerate(zip(examples, visible, strict=True)):
        n = example.size
        own = rng.random((HEADS, n, n)) ** 2 * (1 if seen is None else seen)
        made[row, :, :n, :n] = own / own.sum(-1, keepdims=True)
    return torch.from_numpy(made)


def _planned(
    sieves: Selection, examples: Sequence[Example], visible: Sequence[np.ndarray | None], width: int
) -> BatchPlan:
    stated = sieves.masks_of(examples)
    return batch_plan(sieves.layout, stated, examples, visible, width, CPU)


@pytest.mark.parametrize("statistic", ["selectivity", "bias"])
@pytest.mark.parametrize("kind", VISIBLE)
def test_a_batch_scores_as_the_reference_does_on_each_example_by_itself(kind: str, statistic: str) -> None:
    sieves, examples = selection_of(EVERYTHING, statistic=statistic), _examples()
    visible = [_visible(kind, number, each.size) for number, each in enumerate(examples)]
    width = max(each.size for each in examples) + 3
    attention = _attention(examples, visible, width)
    plan = _planned(sieves, examples, visible, width)
    found = plan.scores(attention).numpy()
    for row, (example, seen) in enumerate(zip(examples, visible, strict=True)):
        single, n = sieves.plan(example, seen, np.float64), example.size
        wanted = apply(single, attention[row, :, :n, :n].numpy().astype(np.float64))
        np.testing.assert_array_equal(np.isnan(found[row]), np.isnan(wanted))
        np.testing.assert_allclose(found[row], wanted, rtol=1e-5, atol=rounding_bound(width))
        for name in ("cells", "low", "high"):
            np.testing.assert_allclose(getattr(plan, name)[row], getattr(single, name), rtol=1e-12)
    assert np.isfinite(found).any(axis=(0, 2)).sum() >= (15 if kind == "window" else 20)


@pytest.mark.parametrize("kind", VISIBLE)
def test_even_attention_scores_0_in_a_batch(kind: str) -> None:
    sieves, examples = selection_of(EVERYTHING), _examples()
    visible = [_visible(kind, number, each.size) for number, each in enumerate(examples)]
    width = max(each.size for each in examples)
    even = torch.zeros((len(examples), HEADS, width, width))
    for row, (example, own) in enumerate(zip(examples, visible, strict=True)):
        cells = np.ones((example.size, example.size)) if own is None else own
        even[row, :, : example.size, : example.size] = torch.from_numpy(cells / cells.sum(-1, keepdims=True))
    found = _planned(sieves, examples, visible, width).scores(even).numpy()
    np.testing.assert_allclose(np.nan_to_num(found), 0, rtol=0, atol=rounding_bound(width))


def test_padding_may_hold_anything_even_what_is_no_number() -> None:
    sieves, examples = selection_of(None), _examples()
    visible = [None] * len(examples)
    width = max(each.size for each in examples)
    attention = _attention(examples, visible, width)
    plan = _planned(sieves, examples, visible, width)
    wanted = plan.scores(attention).numpy()
    spoilt = attention.clone()
    for row, example in enumerate(examples):
        spoilt[row, :, example.size :] = torch.nan
        spoilt[row, :, :, example.size :] = torch.inf
    np.testing.assert_allclose(plan.scores(spoilt).numpy(), wanted, rtol=0, atol=rounding_bound(width))


@pytest.mark.parametrize(
    "masks",
    [
        [Keys(np.array([True, False, True])), Keys(np.array([False, True]))],
        [Band(-1, 0, 3), Band(0, 2, 2)],
        [Same(np.array([0, 0, -1])), Same(np.array([-1, 1]))],
        [Match(np.array([0, 1, -1]), np.array([1, 0, -1])), Match(np.array([2, -1]), np.array([2, 2]))],
        [Pairs(np.array([0, 2]), np.array([1, 1]), 3), Pairs(np.array([], int), np.array([], int), 2)],
        [Cells(np.eye(3, dtype=bool)), Cells(np.ones((2, 2), dtype=bool))],
        [Every((Band(-1, 1, 3), Same(np.array([0, 0, 1])))), Every((Band(0, 0, 2), Same(np.array([0, 0]))))],
        [Every((Band(-1, 1, 3),)), Every((Band(0, 0, 2), Same(np.array([0, 0]))))],
        [
            Without(Keys(np.array([True] * 3)), Band(0, 0, 3)),
            Without(Keys(np.array([True] * 2)), Band(1, 1, 2)),
        ],
        [Band(0, 0, 3), Keys(np.array([False, True]))],
    ],
    ids=lambda masks: type(masks[0]).__name__,
)
def test_masks_of_every_kind_are_laid_out_as_their_own_rows(masks: list[Mask]) -> None:
    made = lay_masks(masks, [3, 2], 4, CPU).expand(-1, 4, 4).numpy()
    for row, (mask, size) in enumerate(zip(masks, (3, 2), strict=True)):
        np.testing.assert_array_equal(made[row, :size, :size], mask.rows(0, size))


def test_a_mask_of_a_third_party_and_its_mistakes_come_through_a_batch() -> None:
    @sieve("odd")
    def odd(example: Example) -> np.ndarray:
        """Keys at odd places."""
        keys: np.ndarray = np.arange(example.size) % 2 == 1
        return keys

    @sieve("short")
    def short(example: Example) -> np.ndarray:
        """A mask of the wrong shape."""
        return np.ones(example.size - 1, dtype=np.bool_)

    examples = _examples(3)
    width = max(each.size for each in examples)
    attention = _attention(examples, [None] * 3, width)
    sieves = selection_of([odd])
    found = _planned(sieves, examples, [None] * 3, width).scores(attention).numpy()
    for row, example in enumerate(examples):
        wanted = apply(sieves.plan(example, None), attention[row, :, : example.size, : example.size].numpy())
        np.testing.assert_allclose(found[row], wanted, rtol=0, atol=rounding_bound(width))
    with pytest.raises(BadSieve, match="'short' made a mask of shape"):
        BatchPlans(selection_of([short]), examples, HEADS, CPU)


@pytest.mark.parametrize("statistic", ["selectivity", "bias"])
@pytest.mark.parametrize("kind", VISIBLE)
def test_groups_scopes_and_contrasts_of_a_third_party_score_in_a_batch_as_the_reference_does(
    kind: str, statistic: str
) -> None:
    sieves, examples = selection_of(THIRD_PARTY, statistic=statistic), _examples()
    visible = [_visible(kind, number, each.size) for number, each in enumerate(examples)]
    width = max(each.size for each in examples)
    attention = _attention(examples, visible, width)
    found = _planned(sieves, examples, visible, width).scores(attention).numpy()
    counted = 0
    for row, (example, seen) in enumerate(zip(examples, visible, strict=True)):
        plan = sieves.plan(example, seen)
        wanted = apply(plan, attention[row, :, : example.size, : example.size].numpy())
        most = np.maximum(1, np.nan_to_num(plan.high))[:, None]
        np.testing.assert_allclose(found[row] / most, wanted / most, rtol=0, atol=rounding_bound(width))
        counted += int(np.isfinite(wanted).all(axis=1).sum())
    assert counted >= 5 * len(examples)


def test_parts_of_a_batch_stay_in_the_cache_and_give_the_scores_of_the_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sieves, examples = selection_of(None), _examples()
    width = max(each.size for each in examples)
    attention = _attention(examples, [None] * len(examples), width)
    wanted, parts = None, []
    for chunk in (2**30, 4 * HEADS * width**2 * 2, 1):
        monkeypatch.setattr(batch_reading, "CHUNK", chunk)
        together = BatchPlans(sieves, examples, HEADS, CPU)
        scores = BatchScores(together, 1, CPU)
        parts.append(len(scores.add(attention, [None] * len(examples))[0]))
        assert scores.done
        wanted = scores.values() if wanted is None else wanted
        np.testing.assert_allclose(scores.values(), wanted, rtol=0, atol=rounding_bound(width))
    assert parts == [1, 3, 6]


@pytest.mark.parametrize("tokens", [64, 128, 211, 256])
def test_sums_over_many_pairs_keep_the_small_ones(tokens: int) -> None:
    attention = torch.softmax(3 * torch.randn(2, HEADS, tokens, tokens, generator=_generator()), dim=-1)
    place = torch.arange(tokens)
    near = ((place[:, None] - place).abs() <= 2).float()
    weight = (near - near.mean(-1, keepdim=True)) / tokens  # as that of the sieve local
    weights = weight.expand(2, 5, -1, -1).flatten(2)
    exact = attention.double().flatten(2) @ weights.double().mT
    found = sums_over_pairs(attention.flatten(2), weights)
    np.testing.assert_allclose(found, exact.mT, rtol=0, atol=1e-6)


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 9), st.booleans())
def test_bags_of_cells_add_up_offsets_and_attending_units(
    seed: int, inputs: int, width: int, words: bool
) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, width + 1, inputs)
    examples = [Example(f"{row}", tuple("x" * n), word=_runs(rng, n)) for row, n in enumerate(sizes.tolist())]
    batch = pad_batch(examples, [None] * inputs, CPU, width, 0)
    units = word_units(batch) if words else token_units(batch)
    inside = torch.zeros((inputs, units.width, units.width), dtype=torch.bool)
    for row, size in enumerate(units.sizes):
        inside[row, :size, :size] = torch.from_numpy(rng.random((size, size)) < 0.6)
    attention = torch.from_numpy(rng.random((inputs, HEADS, width, width), dtype=np.float32))
    sums = cell_bags(inside, units, batch).sums(by_cell(attention)).numpy()
    span = 2 * units.width - 1
    wanted = np.zeros((inputs, span + units.width, HEADS))
    for row, asking, asked in np.ndindex(inputs, width, width):
        query, key = units.unit[row, asking], units.unit[row, asked]
        if max(query, key) < units.width and inside[row, query, key]:
            cell = attention[row, :, asking, asked].numpy() / units.pieces[row, query].item()
            wanted[row, key - query + units.width - 1] += cell
            wanted[row, span + query] += cell
    both = np.split(sums, [inputs * span])
    found = np.concatenate([part.reshape(inputs, -1, HEADS) for part in both], axis=1)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)


def _runs(rng: np.random.Generator, tokens: int) -> np.ndarray:
    """Words of one or more tokens each, after some tokens of no word."""
    word = np.cumsum(rng.random(tokens) < 0.6) - 1
    return np.where(rng.random() < 0.2, -1, word)


def test_short_inputs_are_read_together_on_a_processor_and_several_long_ones_where_they_have_room() -> None:
    assert reads_as_batch([20, 256], 12, CPU)
    assert not reads_as_batch([20, 257], 12, CPU)
    other = torch.device("cuda")
    for device in (CPU, other):
        assert reads_as_batch([256], 12, device)
        assert not reads_as_batch([257], 12, device)
    assert reads_as_batch([512] * 8, 12, other)
    assert not reads_as_batch([8192] * 2, 12, other)


def test_a_mask_that_hides_nothing_is_found_for_all_examples_at_once() -> None:
    rng = np.random.default_rng(5)
    for turn in range(200):
        lengths = rng.integers(1, 9, 4).tolist()
        shape = (4 if turn % 3 else 1, 1, max(lengths) if turn % 2 else 1, max(lengths))
        mask = torch.from_numpy(rng.random(shape) < (0.97 if turn % 5 else 2))
        given = mask if turn % 7 else torch.where(mask, 0.0, torch.finfo(torch.float32).min)
        found = VisibleSets(lengths).arrays(given, causal=False)
        for example, length in enumerate(lengths):
            own = mask[min(example, len(mask) - 1), 0, :length, :length].numpy()
            assert (found[example] is None) == bool(own.all())
            if found[example] is not None:
                np.testing.assert_array_equal(found[example], own)


RELATIONS = ("nsubj", "obj", "amod", "advmod", "det", "punct")


def _passages(count: int) -> list[Passage]:
    """Random pairs of texts with trees."""
    rng = np.random.default_rng(11)
    vocabulary = ["the", "committee", "didn't", "unbelievable", "treaty", "signed", "in", "Paris"]
    made = []
    for number in range(count):
        texts, trees = [], []
        for _ in range(2):
            words = rng.choice(vocabulary, size=rng.integers(3, 18)).tolist()
            ends = np.cumsum([len(word) + 1 for word in words]) - 1
            spans = np.stack([ends - [len(word) for word in words], ends], axis=1)
            heads = np.clip(np.arange(len(words)) + rng.integers(-3, 4, len(words)), 0, len(words) - 1)
            heads[heads == np.arange(len(words))] = -1
            texts.append(" ".join(words))
            trees.append(Words(spans, heads, tuple(rng.choice(RELATIONS, len(words)).tolist())))
        made.append(Passage(f"made/{number}", tuple(texts), None, tuple(trees)))
    return made


def _values(model: Model, passages: Sequence[Passage], size: int) -> np.ndarray:
    job = SieveJob(model, selection_of(None), Annotator(None))
    (shard,) = stream(model, passages, job, batch_size=size, max_length=96, advance=lambda count: None)
    values: np.ndarray = shard.values
    return values


@pytest.mark.parametrize("name", ["bert", "modernbert", "gpt2", "llama", "t5"])
def test_weights_formed_beside_the_model_for_a_whole_batch_are_those_of_each_example(
    name: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def loaded(most: int) -> Model:
        return load(
            find_checkpoint(str(model_of(name)), None), device="cpu", dtype="float32", max_length=most
        )

    short, long, passages = loaded(96), loaded(512), _passages(9)
    assert (short.way.name, long.way.name) == (EAGER, FORMED)
    calls: list[int] = []
    honest = BatchScores.add

    def add(
        scores: BatchScores, weights: torch.Tensor, visible: Sequence[np.ndarray | None], **kept: bool
    ) -> object:
        calls.append(len(weights))
        return honest(scores, weights, visible, **kept)

    monkeypatch.setattr(BatchScores, "add", add)
    together = _values(long, passages, 4)
    assert calls == [4] * 2 * long.layers + [1] * long.layers
    alone = _values(long, passages, 1)
    np.testing.assert_allclose(together, alone, rtol=0, atol=rounding_bound(96))
    np.testing.assert_allclose(together, _values(short, passages, 4), rtol=0, atol=rounding_bound(96))


def test_a_batch_beyond_the_limit_is_read_example_by_example(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(find_checkpoint(str(model_of("bert")), None), device="cpu", dtype="float32", max_length=96)
    passages = _passages(6)
    wanted = _values(model, passages, 3)
    cut_into_blocks(monkeypatch, 8)
    np.testing.assert_allclose(_values(model, passages, 3), wanted, rtol=0, atol=rounding_bound(96))


def test_the_same_batches_give_the_same_bits_again(model_of: ModelOf) -> None:
    model = load(find_checkpoint(str(model_of("bert")), None), device="cpu", dtype="float32", max_length=96)
    passages = _passages(12)
    np.testing.assert_array_equal(_values(model, passages, 5), _values(model, passages, 5))
