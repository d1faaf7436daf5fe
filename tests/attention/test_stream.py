"""Streamed scores are those of plain arrays, however inputs are batched, ordered, padded, packed or cut."""

import threading
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import headroles
from headroles import Example, MaskSieve
from headroles.arrays import selection_of
from headroles.errors import BadInput, BadSieve
from headroles.extraction import (
    Annotator,
    LongSums,
    Model,
    SieveJob,
    Tokenised,
    example_of,
    pack_inputs,
    pad_inputs,
    run,
    stream_tokenised,
    tokenise,
)
from headroles.records import Passage
from tests.support import table
from tests.support.architectures import FORMED
from tests.support.read_models import (
    TEXTS,
    Together,
    cut_into_blocks,
    module_of,
    opened,
    plain_network,
    ready,
)
from tests.support.reference import rounding_bound
from tests.support.streams import passages, plain_scores, streamed, tree_of

ModelOf = Callable[[str], Path]
CLOSE = rounding_bound(96)
stream = module_of("stream_tokenised")
NAMES = (
    "local",
    "delimiter",
    "block",
    "syntactic",
    "identical",
    "previous",
    "subword",
    "duplicate",
    "bag-of-words",
)


def _grouped(*names: str) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in names]


@pytest.mark.parametrize("name", _grouped("bert", "modernbert", "llama", "t5"))
def test_scores_do_not_depend_on_batches_order_length_or_blocks(
    name: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, asked, sieves = model_of(name), passages(2, 9), selection_of(NAMES)
    wanted = plain_scores(ready(folder), plain_network(folder, "eager"), asked, NAMES)
    unsaid = {column for column, own in zip(sieves.columns, wanted, strict=True) if np.isnan(own).all()}
    absent = {"bert": set(), "modernbert": set(), "llama": {"delimiter"}, "t5": set()}[name]
    assert unsaid == absent | {column for column in sieves.columns if column.endswith(":class")}
    for longest, size, order, cache in table("""
        # longest input | batch size | order | bytes of a block
        96  | 1  | given    |
        96  | 5  | reversed |
        96  | 16 | given    |
        512 | 1  | reversed |
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


def test_a_batch_of_sieves_scorers_and_masks_of_others_is_read_in_blocks_as_whole(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def odd(example: Example) -> np.ndarray:
        cells: np.ndarray = np.random.default_rng(example.size).random((example.size, example.size)) < 0.4
        return cells

    folder, asked = model_of("mistral"), passages(2, 5, fewest=8, most=40)
    mixed: list[str | MaskSieve | Watching] = [*NAMES, MaskSieve("odd", odd), Watching()]
    wanted = plain_scores(ready(folder, 512), plain_network(folder, "eager"), asked, mixed)
    cut_into_blocks(monkeypatch, 4, 5000)
    shard = streamed(ready(folder, 512), asked, selection_of(mixed), size=3)
    np.testing.assert_array_equal(np.isnan(shard.values), np.isnan(wanted))
    np.testing.assert_allclose(shard.values, wanted, rtol=0, atol=CLOSE)


@pytest.mark.parametrize("name", _grouped("bert", "llama", "mistral"))
def test_groups_of_heads_in_any_threads_score_as_all_heads_together(
    name: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, asked = opened(model_of(name), 512), passages(2, 4, fewest=8, most=40)
    sieves = selection_of(["local", "identical", "block", "syntactic"])
    cut_into_blocks(monkeypatch, 4, 5000)
    together = streamed(model, asked, sieves, size=3).values
    assert np.isfinite(together).any(axis=(1, 2, 3)).mean() > 0.5
    assert model.way.by_heads
    blocks, softmax = module_of("rows_per_block"), module_of("softmax_attention")
    for module, name, limit in (
        (blocks, "FEWEST_ROWS", 5000), (blocks, "GROUP", 4000), (softmax, "BLOCK", 4000),
        (softmax, "ROWS", 10),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, limit)
    added, groups = LongSums.add, set[tuple[int, int]]()

    def note(sums: LongSums, start: int, rows: torch.Tensor, *rest: Any) -> None:
        groups.add((rows.shape[0], rows.shape[1]))
        added(sums, start, rows, *rest)

    monkeypatch.setattr(LongSums, "add", note)
    before = torch.get_num_threads()
    try:
        for plain, threads in ((True, 1), (True, 3), (False, 3)):
            torch.set_num_threads(threads)
            own = replace(model, way=replace(model.way, plain=plain))
            with torch.inference_mode():
                apart = streamed(own, asked, sieves, size=3).values
            assert torch.get_num_threads() == threads
            np.testing.assert_allclose(apart, together, rtol=0, atol=2e-6)
            assert max(heads for heads, _ in groups) < model.heads
            assert max(rows for _, rows in groups) < 40
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("name", _grouped("bert", "gpt2"))
@pytest.mark.parametrize("longest", [96, 512])
def test_the_same_settings_give_the_same_bits_also_where_no_thread_is_free(
    name: str, longest: int, model_of: ModelOf
) -> None:
    asked, ready_counts = passages(1, 12), dict[bool, list[int]]()
    once = streamed(ready(model_of(name), longest), asked).values
    for ahead in (True, False):
        ready_counts[ahead] = []
        again = streamed(
            opened(model_of(name), longest), asked, ahead=ahead, prepared=ready_counts[ahead].append
        )
        np.testing.assert_array_equal(again.values, once)
    assert ready_counts[True] == ready_counts[False] == [5, 5, 2]


def test_batches_are_prepared_in_the_own_thread_where_none_is_free(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare, threads = SieveJob.prepare, list[int]()

    def note_thread(job: SieveJob, tokenised: Sequence[Tokenised], places: np.ndarray) -> Any:
        threads.append(threading.get_ident())
        return prepare(job, tokenised, places)

    monkeypatch.setattr(SieveJob, "prepare", note_thread)
    for ahead in (True, False):
        threads.clear()
        streamed(ready(model_of("bert")), passages(1, 12), ahead=ahead)
        assert len(threads) == 3
        assert (set(threads) == {threading.get_ident()}) is not ahead


@pytest.mark.parametrize("name", _grouped("bert", "llama"))
def test_batches_of_different_lengths_are_packed_and_score_as_padded_ones(
    name: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, rows = TEXTS[0].split() * 3, list[int]()
    asked = [Passage(str(n), (" ".join(words[:size]),)) for n, size in enumerate((3, 30, 7, 7, 40, 12, 1))]
    model, sieves = ready(model_of(name), 512), selection_of(["local", "previous", "first"])

    def pack(chosen: Model, batch: list[Tokenised]) -> dict[str, torch.Tensor]:
        rows.append(len(batch))
        tensors: dict[str, torch.Tensor] = pack_inputs(chosen, batch)
        return tensors

    monkeypatch.setattr(stream, "pack_inputs", pack)
    packed = _plain(model, asked, sieves, size=4)
    assert rows == [4, 3]
    padded = _plain(replace(model, way=replace(model.way, packs=None)), asked, sieves, size=4)
    assert rows == [4, 3]
    np.testing.assert_allclose(packed, padded, rtol=0, atol=rounding_bound(40 * model.layers))
    assert np.isfinite(packed).any()
    _plain(model, [asked[2], asked[3]], sieves, size=4)  # of one length: nothing to pack
    assert rows == [4, 3]
    assert model.way.packs is not None
    short = replace(model, way=replace(model.way, packs=replace(model.way.packs, most=60)))
    _plain(short, asked, sieves, size=4)
    assert rows == [4, 3, 3]
    assert model.way.name == FORMED


def _plain(model: Model, asked: Sequence[Passage], sieves: Any, size: int = 5) -> np.ndarray:
    """Scores of inputs whose words nobody knows."""
    job = SieveJob(model, sieves, None)
    shards = [tokenise(model.tokenizer, asked, 96)]
    (shard,) = stream_tokenised(model, shards, job, batch_size=size, advance=lambda count: None)
    values: np.ndarray = shard.values
    return values


@given(st.lists(st.integers(1, 40), min_size=2, max_size=9), st.sampled_from(["bert", "roberta", "mistral"]))
def test_packing_changes_rounding_alone_whatever_the_lengths(
    model_of: ModelOf, sizes: list[int], name: str
) -> None:
    model, words = ready(model_of(name), 512), TEXTS[0].split() * 3
    texts = [" ".join(words[:size]) for size in [*sizes, 40]]
    batch = tokenise(model.tokenizer, [Passage(str(n), (text,)) for n, text in enumerate(texts)], 96)
    lengths = [each.size for each in batch]
    packed, padded = Together(lengths), Together(lengths)
    run(model.network, model.way, pack_inputs(model, batch), lengths, packed)
    run(model.network, model.way, pad_inputs(model, batch), lengths, padded)
    for place in packed.rows:
        close = rounding_bound(40 * model.layers)
        torch.testing.assert_close(packed.whole(*place), padded.whole(*place), rtol=0, atol=close)
        np.testing.assert_array_equal(packed.seen(*place), padded.seen(*place))


def test_a_tokenizer_without_attention_mask_still_hides_the_padding(model_of: ModelOf) -> None:
    model, asked = opened(model_of("bert")), passages(2)
    model.tokenizer.model_input_names = ["input_ids", "token_type_ids"]
    one, many = (streamed(model, asked, size=size).values for size in (1, 6))
    np.testing.assert_allclose(many, one, rtol=0, atol=CLOSE)


def test_shards_follow_one_another_in_the_order_of_the_passages(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, asked, done = ready(model_of("bert")), passages(1, 18), list[int]()
    whole = streamed(model, asked)
    monkeypatch.setattr(stream, "SHARD", 7)
    sieves = selection_of(None)
    parts = list(
        stream.stream(
            model,
            asked,
            SieveJob(model, sieves, Annotator(None)),
            batch_size=4,
            max_length=96,
            advance=done.append,
        )
    )
    assert [len(part.examples) for part in parts] == [7, 7, 4]
    assert sum(done) == len(asked)
    joined = np.concatenate([part.values for part in parts], axis=1)
    np.testing.assert_allclose(joined, whole.values, rtol=0, atol=CLOSE)
    assert sum((part.examples for part in parts), ()) == tuple(each.key for each in asked)
    assert whole.tokens.tolist() == [each.size for each in tokenise(model.tokenizer, asked, 96)]


def test_inputs_that_were_cut_are_marked_and_scored_as_cut(model_of: ModelOf) -> None:
    model, asked = ready(model_of("bert")), passages(2, 9)
    shard = streamed(model, asked, longest=40)
    lengths = [each.size for each in tokenise(model.tokenizer, asked, 96)]
    assert shard.truncated.tolist() == [length > 40 for length in lengths]
    assert 0 < shard.truncated.sum() < len(asked)
    assert shard.tokens.max() == 40
    assert np.isfinite(shard.values[0]).all()


@pytest.mark.parametrize("longest", [96, 512])
def test_even_attention_scores_0_on_every_column(longest: int, model_of: ModelOf) -> None:
    columns = selection_of(None).columns
    for name in ("even bert", "even gpt2", "even llama"):
        values = streamed(ready(model_of(name), longest), passages(2)).values
        np.testing.assert_allclose(np.nan_to_num(values), 0, rtol=0, atol=CLOSE)
        silent = {each for each, own in zip(columns, values, strict=True) if np.isnan(own).all()}
        classes = {each for each in columns if each.endswith(":class")}
        assert silent == classes | (
            {"delimiter", "delimiter:cls", "delimiter:sep"} if "bert" not in name else set()
        )


def test_a_batch_that_does_not_fit_is_halved_until_it_does(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, asked = ready(model_of("bert")), passages(2, 18)
    wanted = streamed(model, asked, size=16).values
    honest, sizes = stream.read_attention, list[int]()
    left: list[weakref.ref[torch.Tensor]] = []

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


@pytest.mark.parametrize(
    ("error", "known"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), True),
        (MemoryError(), True),
        (RuntimeError("MPS backend out of memory"), True),
        (RuntimeError("not enough memory: you tried to allocate much"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
    ],
)
def test_an_input_that_does_not_fit_alone_is_a_sentence_and_other_errors_are_raised(
    error: Exception, known: bool, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(stream, "read_attention", full)
    sentence = r"one input of \d+ tokens does not fit in the memory of cpu; give a sma" if known else "mat1"
    with pytest.raises(BadInput if known else RuntimeError, match=sentence):
        streamed(ready(model_of("bert")), passages(1, 4))


@given(st.lists(st.integers(1, 4096), min_size=1, max_size=60), st.integers(1, 64))
def test_batches_take_every_input_once_and_fewer_where_they_are_long(sizes: list[int], most: int) -> None:
    order = np.argsort([-size for size in sizes], kind="stable")
    for device, pairs in (("cpu", 2**18), ("meta", 2**21)):
        batches = list(stream.split_into_batches(order, sizes, most, torch.device(device)))
        assert np.concatenate(batches).tolist() == order.tolist()
        for batch in batches:
            assert 1 <= len(batch) <= most
            assert len(batch) == 1 or len(batch) * max(sizes[place] for place in batch) ** 2 <= pairs


def test_batches_are_small_where_attention_is_returned(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, sizes = stream.read_attention, list[int]()

    def watched(network: Any, way: Any, inputs: dict[str, torch.Tensor], *rest: Any) -> Any:
        sizes.append(len(inputs["input_ids"]))
        return honest(network, way, inputs, *rest)

    monkeypatch.setattr(stream, "read_attention", watched)
    streamed(ready(model_of("mpnet")), passages(1, 18), size=64)
    assert sizes == [8, 8, 2]


def test_free_memory_is_returned_when_the_process_has_grown_beyond_what_a_batch_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    returned: list[int] = []
    resident = iter([100, 100 + 63, 100 + 64, 190, 190 + 63, 190 + 70, 80])
    monkeypatch.setattr(stream, "_c_function", lambda name: lambda *given: returned.append(len(given)))
    monkeypatch.setattr(stream, "_resident_bytes", lambda: next(resident) * 2**20)
    memory = stream.FreeMemory()
    returned.clear()
    counts = []
    for _ in range(7):
        memory.trim()
        counts.append(len(returned))
    assert counts == [0, 0, 1, 1, 1, 2, 2]


@dataclass
class Watching:
    """A third party's scorer that remembers what it was given."""

    name: str = "watching"
    needs: frozenset[str] = frozenset()
    shape: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        """Begin with nothing."""
        self.given: list[tuple[str, np.ndarray]] = []

    def score(self, attention: np.ndarray, example: Example) -> np.ndarray:
        """Return the most that any query gives to the first token."""
        self.given.append((example.key, attention))
        found: np.ndarray = attention[:, :, 0].max(axis=1)
        return found if self.shape is None else np.zeros(self.shape)

    def null(self, example: Example) -> float:
        """Return that of even attention."""
        return 1 / example.size


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
        with pytest.raises(
            BadSieve, match=r"'watching' must give one number per head, shape \(4,\), but gave"
        ):
            streamed(model, asked, selection_of([Watching(shape=shape)]))


def test_bounds_and_cells_are_those_of_the_plans_and_the_most_of_any_layer(model_of: ModelOf) -> None:
    def far(example: Example) -> np.ndarray:
        place = np.arange(example.size)
        apart: np.ndarray = np.abs(place[:, None] - place[None, :]) == 9
        return apart

    sieves = selection_of(["local", "block", "syntactic", MaskSieve("far", far)])
    asked = passages(2)
    for name in ("mistral", "modernbert"):
        for longest in (96, 512):
            shard, plans = streamed(ready(model_of(name), longest), asked, sieves), []
            for each in tokenise(ready(model_of(name)).tokenizer, asked, 96):
                offset = np.subtract.outer(np.arange(each.size), np.arange(each.size))
                window = (offset >= 0) & (offset < 6) if name == "mistral" else np.abs(offset) <= 4
                example = example_of(each, each.passage.words, True)
                kinds = [window] if name == "mistral" else [window, None]
                plans.append([sieves.plan(example, seen, np.float32) for seen in kinds])
            for bound, own, most, none in (
                ("low", shard.low, np.fmin, np.inf), ("high", shard.high, np.fmax, -np.inf),
            ):  # fmt: skip
                limits = most.reduce([getattr(plan, bound) for kinds in plans for plan in kinds])
                wanted = np.where(np.isnan(limits), none, limits)
                np.testing.assert_allclose(own[: len(wanted)], wanted, rtol=0, atol=1e-6)
            cells = [np.fmax.reduce([plan.cells for plan in kinds]) for kinds in plans]
            np.testing.assert_array_equal(shard.cells, np.stack(cells, axis=1))
            assert np.isnan(shard.cells[-1]).all() == (name == "mistral")


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("name", _grouped("bert", "gpt2"))
def test_inputs_that_could_score_beyond_stated_bounds_are_left_out_and_all_others_keep_their_scores(
    name: str, size: int, model_of: ModelOf
) -> None:
    texts = ["the " * times for times in (1, 2, 3, 4, 5, 6, 30, 40)]
    asked = [Passage(f"made/{number}", (text,)) for number, text in enumerate(texts)]
    selection = selection_of(["local", "delimiter", "first"])
    model, bounded = ready(model_of(name)), replace(selection, stated=True)

    def scored(sieves: Any) -> Any:
        job = SieveJob(model, sieves, None)
        shards = [tokenise(model.tokenizer, asked, 96)]
        (shard,) = stream_tokenised(model, shards, job, batch_size=size, advance=lambda count: None)
        return shard

    plain, stated = scored(selection), scored(bounded)
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


@pytest.mark.parametrize("where", ["together", "one by one", "in blocks"])
def test_attention_that_is_no_number_is_named_with_its_layer_and_input(
    where: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_into_blocks(monkeypatch, 4 if where == "in blocks" else 256)
    size = 3 if where == "together" else 1
    asked = [Passage(f"text/{number}", (text, "Was it?")) for number, text in enumerate(TEXTS)]
    sieves = [
        selection_of(["local", "delimiter", "block"]),
        selection_of(["local", "delimiter", "block"], statistic="bias"),
        selection_of([Watching()]),
    ]
    query = opened(model_of("bert"))
    assert np.isfinite(_plain(query, asked, sieves[0], size)[:, 0]).all()
    _spoil(query, "encoder.layer.1.attention.self.query.bias", 3)
    for own in sieves:
        with pytest.raises(
            BadInput, match="must be finite, but layer 1 gives some that are not for the input"
        ):
            _plain(query, asked, own, size)
    word = opened(model_of("bert"))
    ids = [{*each.inputs["input_ids"]} for each in tokenise(word.tokenizer, asked, 96)]
    _spoil(word, "embeddings.word_embeddings.weight", (ids[1] - ids[0] - ids[2]).pop())
    with pytest.raises(BadInput, match="layer 0 gives some that are not for the input 'text/1'; try "):
        _plain(word, asked, sieves[0], size)


def _spoil(model: Model, name: str, row: int) -> None:
    with torch.no_grad():
        dict(model.network.named_parameters())[name][row] = torch.nan


@pytest.mark.parametrize("name", _grouped("bert", "llama"))
def test_nothing_as_large_as_a_matrix_of_booleans_is_made_while_a_long_input_is_scored(
    name: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.support.largest import Largest

    monkeypatch.setattr(module_of("rows_per_block"), "CACHE", 2**17)
    words = ["treaty"] * 900
    tree = tree_of(words, list(range(-1, 899)), ["nsubj"] * 900)
    long = Passage("long", (" ".join(words),), None, (tree,))
    model = ready(model_of(name), 512)
    with Largest() as largest:
        sieves = selection_of(["local", "delimiter", "block", "syntactic", "bag-of-words"])
        shard = streamed(model, [long], sieves, longest=512, ahead=False)
    assert shard.tokens[0] > 500
    assert 2**16 < largest.bytes < shard.tokens[0] ** 2
    assert np.isfinite(shard.values[0]).all()


@pytest.mark.parametrize("name", _grouped("bert", "llama", "t5", "xlnet"))
def test_the_side_that_a_tokenizer_pads_on_makes_no_difference_to_a_run(
    name: str, model_of: ModelOf, tmp_path: Path
) -> None:
    import json
    import shutil

    texts = [
        " ".join(["the committee did not decide about the treaty"] * (1 + k % 3)) + f" {k}" for k in range(8)
    ]
    found = []
    for side in ("right", "left"):
        folder = Path(shutil.copytree(model_of(name), tmp_path / side))
        settings = folder / "tokenizer_config.json"
        settings.write_text(json.dumps(json.loads(settings.read_text()) | {"padding_side": side}))
        run = headroles.label(
            data=texts, model=folder, sieve=["local", "previous", "first"], max_length=64, maps=0
        )
        found.append(run.scores.values)
        assert run.scores.tokens.min() < run.scores.tokens.max()
    np.testing.assert_array_equal(found[1], found[0])
    assert np.isfinite(found[0]).all()
