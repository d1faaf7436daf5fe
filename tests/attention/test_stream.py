"""Streamed scores are those of plain arrays, however inputs are batched, ordered, padded, packed or cut."""

import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from headroles import Example, MaskSieve, extraction
from headroles.arrays import selection_of
from headroles.errors import BadInput, BadSieve
from headroles.records import Passage
from tests.support import table
from tests.support.read_models import (
    TEXTS,
    cut_into_blocks,
    grouped,
    in_threads,
    module_of,
    opened,
    plain_network,
    ready,
    sizes_made,
)
from tests.support.reference import rounding_bound
from tests.support.streams import passages, plain_scores, streamed, tree_of

ModelOf = Callable[[str], Path]
CLOSE = rounding_bound(96)
NAMES = (
    "local", "delimiter", "block", "syntactic", "identical", "previous", "subword", "duplicate",
    "bag-of-words",
)  # fmt: skip


@dataclass
class Watching:
    """A third party's scorer, the most that any query gives to the first token; remembers what it got."""

    name: str = "watching"
    needs: frozenset[str] = frozenset()
    shape: tuple[int, ...] | None = None
    given: list[tuple[str, np.ndarray]] = field(default_factory=list)

    def score(self, attention: np.ndarray, example: Example) -> np.ndarray:
        """Return it for each head."""
        self.given.append((example.key, attention))
        found: np.ndarray = attention[:, :, 0].max(axis=1)
        return found if self.shape is None else np.zeros(self.shape)

    def null(self, example: Example) -> float:
        """Return that of even attention."""
        return 1 / example.size


def _odd(example: Example) -> np.ndarray:
    cells: np.ndarray = np.random.default_rng(example.size).random((example.size, example.size)) < 0.4
    return cells


@pytest.mark.parametrize("name", grouped("bert", "modernbert", "llama", "mistral", "t5"))
def test_scores_do_not_depend_on_batches_order_length_or_blocks(
    name: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, asked = model_of(name), passages(2, 9)
    mixed: list[str | MaskSieve | Watching] = [*NAMES, MaskSieve("odd", _odd), Watching()]
    sieves = selection_of(mixed)
    wanted = plain_scores(ready(folder), plain_network(folder, "eager"), asked, mixed)
    unsaid = {column for column, own in zip(sieves.columns, wanted, strict=True) if np.isnan(own).all()}
    absent = {"delimiter"} if name in ("llama", "mistral") else set()
    assert unsaid == absent | {column for column in sieves.columns if column.endswith(":class")}
    for longest, size, order, cache in table("""
        # longest input | batch size | order | bytes of a block
        96  | 1  | given    |
        96  | 5  | reversed |
        512 | 4  | given    |
        512 | 16 | reversed |
        512 | 1  | given    | 4096
        512 | 5  | reversed | 20000
    """):
        model, step = ready(folder, int(longest)), 1 if order == "given" else -1
        with monkeypatch.context() as patch:
            if cache:
                cut_into_blocks(patch, 8, int(cache))
            shard = streamed(model, asked[::step], sieves, size=int(size))
        assert shard.examples == tuple(each.key for each in asked[::step])
        np.testing.assert_array_equal(np.isnan(shard.values), np.isnan(wanted[:, ::step]))
        np.testing.assert_allclose(shard.values, wanted[:, ::step], rtol=0, atol=CLOSE)


@pytest.mark.parametrize("name", grouped("bert", "llama", "mistral"))
def test_groups_of_heads_in_any_threads_score_as_all_heads_together(
    name: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    model, asked = opened(model_of(name), 512), passages(2, 4, fewest=8, most=40)
    sieves = selection_of(["local", "identical", "block", "syntactic"])
    cut_into_blocks(monkeypatch, 4, 5000)
    together = streamed(model, asked, sieves, size=3).values
    assert np.isfinite(together).any(axis=(1, 2, 3)).mean() > 0.5
    assert model.way.by_heads
    blocks, softmax = module_of("rows_per_block"), module_of("softmax_attention")
    limits = ((blocks, "FEWEST_ROWS", 5000), (blocks, "GROUP", 4000), (softmax, "BLOCK", 4000))
    for module, limit, value in (*limits, (softmax, "ROWS", 10)):
        monkeypatch.setattr(module, limit, value)
    added, groups = extraction.LongSums.add, set[tuple[int, int]]()

    def note(sums: Any, start: int, rows: Any, *rest: Any) -> None:
        groups.add((rows.shape[0], rows.shape[1]))
        added(sums, start, rows, *rest)

    monkeypatch.setattr(extraction.LongSums, "add", note)
    for plain, threads in ((True, 1), (True, 3), (False, 3)):
        own = replace(model, way=replace(model.way, plain=plain))
        with in_threads(threads), torch.inference_mode():
            apart = streamed(own, asked, sieves, size=3).values
        np.testing.assert_allclose(apart, together, rtol=0, atol=2e-6)
        assert max(heads for heads, _ in groups) < model.heads
        assert max(rows for _, rows in groups) < 40


@pytest.mark.parametrize("name", grouped("bert", "llama"))
def test_batches_of_different_lengths_are_packed_and_score_as_padded_ones(
    name: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, rows = TEXTS[0].split() * 3, list[int]()
    asked = [Passage(str(n), (" ".join(words[:size]),)) for n, size in enumerate((3, 30, 7, 7, 40, 12, 1))]
    model, sieves = ready(model_of(name), 512), selection_of(["local", "previous", "first"])
    packs, pack_inputs = model.way.packs, extraction.pack_inputs
    assert packs is not None

    def pack(chosen: Any, batch: list[Any]) -> Any:
        rows.append(len(batch))
        return pack_inputs(chosen, batch)

    def scores(own: Any, inputs: Sequence[Passage] = asked) -> Any:
        chosen = replace(model, way=replace(model.way, packs=own))
        return streamed(chosen, inputs, sieves, size=4, known=False).values

    monkeypatch.setattr(module_of("stream_tokenised"), "pack_inputs", pack)
    packed = scores(packs)
    assert rows == [4, 3]
    np.testing.assert_allclose(packed, scores(None), rtol=0, atol=rounding_bound(40 * model.layers))
    assert np.isfinite(packed).any()
    scores(packs, asked[2:4])  # of one length: nothing to pack
    assert rows == [4, 3]
    scores(replace(packs, most=60))
    assert rows == [4, 3, 3]


def test_shards_follow_one_another_in_the_order_of_the_passages_and_say_what_was_cut(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, asked, done = ready(model_of("bert")), passages(2, 18), list[int]()
    whole, stream = streamed(model, asked, longest=40), module_of("stream_tokenised")
    monkeypatch.setattr(stream, "SHARD", 7)
    job = extraction.SieveJob(model, selection_of(None), extraction.Annotator(None))
    parts = list(stream.stream(model, asked, job, batch_size=4, max_length=40, advance=done.append))
    assert [len(part.examples) for part in parts] == [7, 7, 4]
    assert sum(done) == len(asked)
    joined = np.concatenate([part.values for part in parts], axis=1)
    np.testing.assert_allclose(joined, whole.values, rtol=0, atol=CLOSE)
    assert sum((part.examples for part in parts), ()) == tuple(each.key for each in asked)
    lengths = [each.size for each in extraction.tokenise(model.tokenizer, asked, 96)]
    assert whole.tokens.tolist() == [min(length, 40) for length in lengths]
    assert whole.truncated.tolist() == [length > 40 for length in lengths]
    assert 0 < whole.truncated.sum() < len(asked)


def test_a_batch_that_does_not_fit_is_halved_until_it_does(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    model, asked, stream = ready(model_of("bert")), passages(2, 18), module_of("stream_tokenised")
    wanted = streamed(model, asked, size=16).values
    honest, sizes = stream.read_attention, list[int]()
    left: list[weakref.ref[Any]] = []

    def small(network: Any, way: Any, inputs: Any, lengths: Sequence[int], *rest: Any) -> Any:
        sizes.append(len(lengths))
        assert all(reference() is None for reference in left), "the failed pass still holds its memory"
        if sizes[-1] > 3:
            activations = torch.zeros(1000)
            left.append(weakref.ref(activations))
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate much")
        return honest(network, way, inputs, lengths, *rest)

    monkeypatch.setattr(stream, "read_attention", small)
    np.testing.assert_allclose(streamed(model, asked, size=16).values, wanted, rtol=0, atol=CLOSE)
    assert sizes[:6] == [16, 8, 4, 2, 2, 4]
    assert len(left) == sum(size > 3 for size in sizes)


def test_an_input_that_does_not_fit_alone_is_a_sentence_and_other_errors_are_raised(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    sentence = r"one input of \d+ tokens does not fit in the memory of cpu; give"
    for error, raised, match in (
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), BadInput, sentence),
        (MemoryError(), BadInput, sentence),
        (RuntimeError("MPS backend out of memory"), BadInput, sentence),
        (RuntimeError("not enough memory: you tried to allocate much"), BadInput, sentence),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), RuntimeError, "mat1"),
    ):
        full = Mock(side_effect=error)
        monkeypatch.setattr(module_of("stream_tokenised"), "read_attention", full)
        with pytest.raises(raised, match=match):
            streamed(ready(model_of("bert")), passages(1, 4))


@pytest.mark.parametrize("longest", [96, 512])
def test_a_scorer_gets_each_layers_whole_attention_and_its_own_null(
    longest: int, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_into_blocks(monkeypatch, 8 if longest == 512 else 256, 4096)
    model, asked, scorer = ready(model_of("bert"), longest), passages(2), Watching()
    shard = streamed(model, asked, selection_of(["local", scorer]))
    sizes = dict(zip(shard.examples, shard.tokens.tolist(), strict=True))
    assert Counter(key for key, _ in scorer.given) == dict.fromkeys(sizes, model.layers)
    by_input = defaultdict(list)
    for key, attention in scorer.given:
        by_input[key].append(attention[:, :, 0].max(axis=1))
        assert attention.shape == (model.heads, sizes[key], sizes[key])
        assert (attention.dtype, attention.flags.writeable) == (np.dtype(np.float32), False)
        np.testing.assert_allclose(attention.sum(-1), 1, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(shard.values[1], [by_input[key] for key in shard.examples])
    np.testing.assert_allclose(shard.null, [[1 / size for size in sizes.values()]], rtol=1e-12)
    assert np.isnan(shard.cells[1]).all()
    assert np.isinf([shard.low[1], shard.high[1]]).all()
    for shape in ((), (1,), (3,), (4, 4)):
        with pytest.raises(BadSieve, match=r"must give one number per head, shape \(4,\), but gave"):
            streamed(model, asked, selection_of([Watching(shape=shape)]))


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("name", grouped("bert", "gpt2"))
def test_inputs_that_could_score_beyond_stated_bounds_are_left_out_and_all_others_keep_their_scores(
    name: str, size: int, model_of: ModelOf
) -> None:
    texts = ["the " * times for times in (1, 2, 3, 4, 5, 6, 30, 40)]
    asked = [Passage(f"made/{number}", (text,)) for number, text in enumerate(texts)]
    selection = selection_of(["local", "delimiter", "first"])
    bounded = replace(selection, stated=True)
    plain, stated = (
        streamed(ready(model_of(name)), asked, sieves, size=size, known=False)
        for sieves in (selection, bounded)
    )
    gone, silent = (np.isnan(shard.values[0]).all(axis=(1, 2)) for shard in (stated, plain))
    assert not gone[-2:].any()
    (left_out,) = [count for key, count in stated.counts.items() if key.endswith("local")]
    assert left_out == (gone & ~silent).sum() > 0
    np.testing.assert_array_equal(stated.values[0, ~gone], plain.values[0, ~gone])
    assert np.isnan(stated.cells[0, gone]).all()
    assert plain.low[0] < bounded.bounds["local"][0] <= stated.low[0] + 1e-6
    for column, (low, high) in enumerate(bounded.bounds.values()):
        known = stated.values[column][~np.isnan(stated.values[column])]
        assert ((known >= low - 1e-5) & (known <= high + 1e-5)).all()


def _spoil(model: Any, name: str, row: int) -> None:
    import torch

    with torch.no_grad():
        dict(model.network.named_parameters())[name][row] = torch.nan


@pytest.mark.parametrize("where", ["together", "one by one", "in blocks"])
def test_attention_that_is_no_number_is_named_with_its_layer_and_input(
    where: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_into_blocks(monkeypatch, 4 if where == "in blocks" else 256)
    how: dict[str, Any] = {"size": 3 if where == "together" else 1, "known": False}
    asked = [Passage(f"text/{number}", (text, "Was it?")) for number, text in enumerate(TEXTS)]
    names = ["local", "delimiter", "block"]
    sieves = (selection_of(names), selection_of(names, statistic="bias"), selection_of([Watching()]))
    query, word = opened(model_of("bert")), opened(model_of("bert"))
    assert np.isfinite(streamed(query, asked, sieves[0], **how).values[:, 0]).all()
    _spoil(query, "encoder.layer.1.attention.self.query.bias", 3)
    for own in sieves:
        with pytest.raises(BadInput, match="be finite, but layer 1 gives some that are not for the input"):
            streamed(query, asked, own, **how)
    ids = [{*each.inputs["input_ids"]} for each in extraction.tokenise(word.tokenizer, asked, 96)]
    _spoil(word, "embeddings.word_embeddings.weight", (ids[1] - ids[0] - ids[2]).pop())
    with pytest.raises(BadInput, match="layer 0 gives some that are not for the input 'text/1'; try "):
        streamed(word, asked, sieves[0], **how)


def test_nothing_as_large_as_a_matrix_of_booleans_is_made_while_a_long_input_is_scored(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module_of("rows_per_block"), "CACHE", 2**17)
    words = ["treaty"] * 900
    tree = tree_of(words, list(range(-1, 899)), ["nsubj"] * 900)
    long = Passage("long", (" ".join(words),), None, (tree,))
    sieves = selection_of(["local", "delimiter", "block", "syntactic", "bag-of-words"])
    model = ready(model_of("bert"), 512)  # loading makes larger tensors
    with sizes_made() as sizes:
        shard = streamed(model, [long], sieves, longest=512, ahead=False)
    assert shard.tokens[0] > 500
    assert 2**16 < max(sizes) < shard.tokens[0] ** 2
    assert np.isfinite(shard.values[0]).all()
