"""Scores of the streamed path are those of the plain arrays, however the inputs are batched."""

import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float
from transformers import AutoModel

from headroles import Example
from headroles.arrays import selection_of
from headroles.errors import BadInput, BadSieve
from headroles.extraction import stream
from headroles.extraction.capture import attention as capture_attention
from headroles.extraction.capture.method import CaptureMethod
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import Model, load
from headroles.extraction.parsing.annotate import Annotator
from headroles.extraction.scoring.batches import reading as batch_reading
from headroles.extraction.scoring.job import SieveJob
from headroles.extraction.scoring.prepared import Prepared
from headroles.extraction.scoring.reader import Reader, Shard, Table
from headroles.extraction.texts.tokens import Tokenised, example_of, tokenise
from headroles.records.passage import Passage, Words
from headroles.records.rules.names import FORMED
from headroles.sieves.selection import Selection
from headroles.sieves.weights.reference import apply
from tests.support.read_models import cut_into_blocks
from tests.support.reference import rounding_bound

ModelOf = Callable[[str], Path]
RELATIONS = ("nsubj", "obj", "amod", "advmod", "det", "punct")
VOCABULARY = (
    "the committee didn't decide about unbelievable treaty it was signed in Paris long debate re-opening , !"
)


def _passages(texts: int, count: int = 18) -> list[Passage]:
    """Random texts with trees: words of one piece and of several, lengths from 3 to 24 words."""
    rng = np.random.default_rng(11)
    made = []
    for number in range(count):
        both, trees = [], []
        for _ in range(texts):
            words = rng.choice(VOCABULARY.split(), size=rng.integers(3, 25)).tolist()
            ends = np.cumsum([len(word) + 1 for word in words]) - 1
            spans = np.stack([ends - [len(word) for word in words], ends], axis=1)
            places = np.arange(len(words))
            heads = np.clip(places + rng.integers(-4, 5, size=len(words)), 0, len(words) - 1)
            heads[heads == places] = -1
            both.append(" ".join(words))
            trees.append(Words(spans, heads, tuple(rng.choice(RELATIONS, size=len(words)).tolist())))
        made.append(Passage(f"made/{number}", tuple(both), None, tuple(trees)))
    return made


def _load(folder: Path, max_length: int = 96, dtype: str = "float32") -> Model:
    return load(find_checkpoint(str(folder), None), device="cpu", dtype=dtype, max_length=max_length)


def _scores(
    model: Model, passages: Sequence[Passage], sieves: Selection | None = None, size: int = 5, most: int = 96
) -> list[Shard]:
    """Shards of a stream with gold words; all built-in sieves unless told otherwise."""
    job = SieveJob(model, sieves or selection_of(None), Annotator(None))
    coming = stream.stream(model, passages, job, batch_size=size, max_length=most, advance=lambda count: None)
    return list(coming)


def _reference(model: Model, folder: Path, passages: Sequence[Passage], sieves: Selection) -> np.ndarray:
    """Scores of the plain eager model's attention, in float64: columns, examples, layers, heads."""
    network = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    network = network.get_encoder() if network.config.is_encoder_decoder else network
    found = []
    for each in tokenise(model.tokenizer, passages, 96):
        example = example_of(each, each.passage.words, True)
        inputs = {name: torch.tensor([values]) for name, values in each.inputs.items()}
        with torch.inference_mode():
            layers = network(**inputs, output_attentions=True).attentions
        scores = []
        for layer in layers:
            weights = layer[0].numpy().astype(np.float64)
            plan = sieves.plan(example, (weights > 0).any(0), np.float64)
            scores.append(apply(plan, weights))
        found.append(np.stack(scores, axis=1))
    return np.stack(found, axis=1)


@pytest.mark.parametrize("statistic", ["selectivity", "bias"])
@pytest.mark.parametrize("texts", [1, 2])
@pytest.mark.parametrize("name", ["bert", "roberta", "modernbert", "gpt2", "mistral", "t5", "xlnet", "gptj"])
def test_streamed_scores_are_those_of_plain_attention_in_float64(
    name: str, texts: int, statistic: str, model_of: ModelOf
) -> None:
    model, passages = _load(model_of(name)), _passages(texts, 12)
    sieves = selection_of(None, statistic=statistic)
    (shard,) = _scores(model, passages, sieves)
    wanted = _reference(model, model_of(name), passages, sieves)
    close = rounding_bound(96, magnitude=1 if statistic == "selectivity" else 10)
    np.testing.assert_allclose(shard.values, wanted, rtol=0, atol=close)
    unsaid = np.isnan(wanted).all(axis=(1, 2, 3))
    silent = {column for column, nothing in zip(sieves.columns, unsaid, strict=True) if nothing}
    delimiters = {"delimiter", "delimiter:cls", "delimiter:sep"}
    absent = {"t5": {"delimiter:cls"}} | dict.fromkeys(("gpt2", "mistral", "gptj"), delimiters)
    classes = {column for column in sieves.columns if column.endswith(":class")}  # words have none here
    single = {"block", "block:matched"} if texts == 1 else set()
    assert silent == absent.get(name, set()) | single | classes


@pytest.mark.parametrize("name", ["bert", "modernbert", "llama", "t5"])
def test_reading_in_blocks_gives_the_same_scores(
    name: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, passages = _load(model_of(name), 512), _passages(2, 8)
    assert model.way.name == FORMED
    cut_into_blocks(monkeypatch, 8, 4096)
    for statistic, close in (("selectivity", rounding_bound(96)), ("bias", rounding_bound(96, magnitude=10))):
        sieves = selection_of(None, statistic=statistic)
        (shard,) = _scores(model, passages, sieves)
        wanted = _reference(model, model_of(name), passages, sieves)
        np.testing.assert_allclose(shard.values, wanted, rtol=0, atol=close)


@pytest.mark.parametrize("name", ["bert", "modernbert", "gpt2"])
@pytest.mark.parametrize("max_length", [96, 512])
def test_the_same_settings_give_the_same_bits(name: str, max_length: int, model_of: ModelOf) -> None:
    model, passages = _load(model_of(name), max_length), _passages(2)
    (once,), (again,) = _scores(model, passages), _scores(_load(model_of(name), max_length), passages)
    np.testing.assert_array_equal(again.values, once.values)


def test_the_padding_around_an_example_does_not_change_a_bit_of_its_scores(model_of: ModelOf) -> None:
    model, passages = _load(model_of("bert")), _passages(2, 6)
    sieves = selection_of(None)
    torch.manual_seed(5)
    for each in tokenise(model.tokenizer, passages, 96):
        example = example_of(each, each.passage.words, True)
        n, found = each.size, []
        weights = torch.rand((model.heads, n, n)).softmax(-1)
        for width, batch in ((n, 1), (n + 7, 5), (128, 16)):
            padded = torch.rand((batch, model.heads, width, width))
            padded[batch - 1, :, :n, :n] = weights
            table = Table(sieves, [each], model)
            pairs = sieves.word_pairs_of([example])[0]
            reader = Reader(model, [Prepared(0, each, example, word_pairs=pairs)], table)
            for layer in range(model.layers):
                reader.read(layer, 0, 0, padded[batch - 1, :, :n, :n], None)
            found.append(table.values[:, 0, 0])
        assert np.isfinite(found[0]).mean() > 0.5
        np.testing.assert_array_equal(found[1], found[0])
        np.testing.assert_array_equal(found[2], found[0])


@pytest.mark.parametrize(
    ("name", "max_length"),
    [
        ("bert", 96),
        ("bert", 512),
        ("modernbert", 96),
        ("t5", 512),
        ("llama", 512),
        ("mpnet", 96),
        ("bloom", 96),
    ],
)
def test_scores_hardly_depend_on_batch_and_order(name: str, max_length: int, model_of: ModelOf) -> None:
    model, passages = _load(model_of(name), max_length), _passages(2)
    (one,) = _scores(model, passages, size=1)
    for size in (5, 16):
        (many,) = _scores(model, passages, size=size)
        np.testing.assert_allclose(many.values, one.values, rtol=0, atol=rounding_bound(96))
        np.testing.assert_array_equal(many.cells, one.cells)
    (turned,) = _scores(model, passages[::-1], size=5)
    assert turned.examples == one.examples[::-1]
    np.testing.assert_allclose(turned.values[:, ::-1], one.values, rtol=0, atol=rounding_bound(96))
    np.testing.assert_array_equal(turned.cells[:, ::-1], one.cells)


def test_a_tokenizer_without_attention_mask_still_hides_the_padding(model_of: ModelOf) -> None:
    model, passages = _load(model_of("bert")), _passages(2)
    model.tokenizer.model_input_names = ["input_ids", "token_type_ids"]
    (one,), (many,) = _scores(model, passages, size=1), _scores(model, passages, size=16)
    np.testing.assert_allclose(many.values, one.values, rtol=0, atol=rounding_bound(96))


def test_shards_follow_one_another_in_the_order_of_the_passages(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, passages = _load(model_of("bert")), _passages(1)
    (whole,) = _scores(model, passages)
    monkeypatch.setattr(stream, "SHARD", 7)
    done: list[int] = []
    parts = list(
        stream.stream(
            model,
            passages,
            SieveJob(model, selection_of(None), Annotator(None)),
            batch_size=4,
            max_length=96,
            advance=done.append,
        )
    )
    assert [len(part.examples) for part in parts] == [7, 7, 4]
    assert sum(done) == len(passages)
    joined = np.concatenate([part.values for part in parts], axis=1)
    np.testing.assert_allclose(joined, whole.values, rtol=0, atol=rounding_bound(96))
    assert sum((part.examples for part in parts), ()) == tuple(each.key for each in passages)
    tokenised = tokenise(model.tokenizer, passages, 96)
    assert whole.tokens.tolist() == [each.size for each in tokenised]


def test_inputs_that_were_cut_are_marked_and_scored_as_cut(model_of: ModelOf) -> None:
    model, passages = _load(model_of("bert")), _passages(2)
    (shard,) = _scores(model, passages, most=40)
    lengths = [each.size for each in tokenise(model.tokenizer, passages, 96)]
    assert shard.truncated.tolist() == [length > 40 for length in lengths]
    assert 0 < shard.truncated.sum() < len(passages)
    assert shard.tokens.max() == 40
    assert np.isfinite(shard.values[0]).all()


@pytest.mark.parametrize("name", ["even bert", "even gpt2", "even llama"])
@pytest.mark.parametrize("max_length", [96, 512])
def test_even_attention_scores_0_on_every_column(name: str, max_length: int, model_of: ModelOf) -> None:
    model = _load(model_of(name), max_length)
    (shard,) = _scores(model, _passages(2))
    np.testing.assert_allclose(np.nan_to_num(shard.values), 0, rtol=0, atol=rounding_bound(96))
    said = ~np.isnan(shard.values).all(axis=(1, 2, 3))
    columns = selection_of(None).columns
    silent = {
        name for name, known in zip(columns, said, strict=True) if not known and not name.endswith(":class")
    }
    assert silent == (set() if "bert" in name else {"delimiter", "delimiter:cls", "delimiter:sep"})


def test_a_batch_that_does_not_fit_is_halved_until_it_does(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, passages = _load(model_of("bert")), _passages(2)
    (wanted,) = _scores(model, passages, size=16)
    honest = capture_attention.read_attention
    sizes: list[int] = []
    left: list[weakref.ref[torch.Tensor]] = []

    def small(network: Any, way: CaptureMethod, inputs: Any, lengths: Sequence[int], *rest: Any) -> Any:
        sizes.append(len(lengths))
        assert all(reference() is None for reference in left), "the failed pass still holds its memory"
        if sizes[-1] > 3:
            activations = torch.zeros(1000)
            left.append(weakref.ref(activations))
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate much")
        return honest(network, way, inputs, lengths, *rest)

    monkeypatch.setattr(stream, "read_attention", small)
    (got,) = _scores(model, passages, size=16)
    np.testing.assert_allclose(got.values, wanted.values, rtol=0, atol=rounding_bound(96))
    assert sizes[:6] == [16, 8, 4, 2, 2, 4]
    assert len(left) == sum(size > 3 for size in sizes)


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
        MemoryError(),
        RuntimeError("MPS backend out of memory"),
        RuntimeError("not enough memory: you tried to allocate much"),
    ],
)
def test_an_input_that_does_not_fit_alone_is_a_sentence(
    error: Exception, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(stream, "read_attention", full)
    with pytest.raises(
        BadInput, match=r"one input of \d+ tokens does not fit in the memory of cpu; give a sma"
    ):
        _scores(_load(model_of("bert")), _passages(1, 4))


def test_other_errors_of_a_run_are_not_taken_for_a_lack_of_memory(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> None:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    monkeypatch.setattr(stream, "read_attention", broken)
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        _scores(_load(model_of("bert")), _passages(1, 4))


@dataclass
class Watching:
    """A third party's scorer that remembers what it was given."""

    name: str = "watching"
    needs: frozenset[str] = frozenset()
    shape: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        self.given: list[tuple[str, np.ndarray]] = []

    def score(self, attention: Float[np.ndarray, "heads tokens tokens"], example: Example) -> np.ndarray:
        self.given.append((example.key, attention))
        found: np.ndarray = attention[:, :, 0].max(axis=1)
        return found if self.shape is None else np.zeros(self.shape)

    def null(self, example: Example) -> float:
        return 1 / example.size


@pytest.mark.parametrize("max_length", [96, 512])
def test_a_scorer_gets_each_layers_whole_attention_and_its_own_null(
    max_length: int, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_into_blocks(monkeypatch, 8 if max_length == 512 else 256, 4096)
    folder = model_of("bert")
    model, passages, scorer = _load(folder, max_length), _passages(2, 6), Watching()
    sieves = selection_of(["local", scorer])
    (shard,) = _scores(model, passages, sieves)
    sizes = dict(zip(shard.examples, shard.tokens.tolist(), strict=True))
    assert len(scorer.given) == len(passages) * model.layers
    for key, attention in scorer.given:
        assert attention.shape == (model.heads, sizes[key], sizes[key])
        assert attention.dtype == np.float32
        assert not attention.flags.writeable
        np.testing.assert_allclose(attention.sum(-1), 1, rtol=0, atol=1e-5)
    np.testing.assert_allclose(shard.null, [[1 / size for size in sizes.values()]], rtol=1e-12)
    network = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    for place, each in enumerate(tokenise(model.tokenizer, passages, 96)):
        inputs = {name: torch.tensor([values]) for name, values in each.inputs.items()}
        with torch.inference_mode():
            layers = network(**inputs, output_attentions=True).attentions
        wanted = np.stack([layer[0, :, :, 0].amax(1).numpy() for layer in layers])
        np.testing.assert_allclose(shard.values[1, place], wanted, rtol=0, atol=rounding_bound(96))
    assert np.isnan(shard.cells[1]).all()
    assert np.isinf([shard.low[1], shard.high[1]]).all()


@pytest.mark.parametrize("shape", [(), (1,), (3,), (4, 4)])
def test_a_scorer_that_does_not_give_one_number_per_head_is_refused(
    shape: tuple[int, ...], model_of: ModelOf
) -> None:
    with pytest.raises(BadSieve, match=r"'watching' must give one number per head, shape \(4,\), but gave"):
        _scores(_load(model_of("bert")), _passages(1, 3), selection_of([Watching(shape=shape)]))


def test_bounds_and_cells_are_those_of_the_plans(model_of: ModelOf) -> None:
    model, passages = _load(model_of("mistral")), _passages(2, 6)
    sieves = selection_of(["local", "block", "syntactic"])
    (shard,) = _scores(model, passages, sieves)
    plans = []
    for each in tokenise(model.tokenizer, passages, 96):
        place = np.arange(each.size)
        offset = place[:, None] - place[None, :]
        window = (offset >= 0) & (offset < 6)
        plans.append(sieves.plan(example_of(each, each.passage.words, True), window, np.float32))
    np.testing.assert_array_equal(shard.cells, np.stack([plan.cells for plan in plans], axis=1))
    speaks = np.array([not name.endswith(":class") for name in sieves.columns])  # words have no class here
    assert np.isnan(shard.values[~speaks]).all()
    assert np.isposinf(shard.low[~speaks]).all()
    assert np.isneginf(shard.high[~speaks]).all()
    low, high = shard.low[speaks], shard.high[speaks]
    np.testing.assert_allclose(low, np.min([plan.low[speaks] for plan in plans], axis=0), rtol=1e-12)
    np.testing.assert_allclose(high, np.max([plan.high[speaks] for plan in plans], axis=0), rtol=1e-12)
    finite = np.nan_to_num(shard.values[speaks])
    assert (finite >= low[:, None, None, None] - 1e-6).all()
    assert (finite <= high[:, None, None, None] + 1e-6).all()


@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize(("name", "kinds"), [("bert", 1), ("llama", 1), ("gptj", 1), ("modernbert", 2)])
def test_sieves_are_laid_over_an_example_once_per_kind_of_mask(
    name: str, kinds: int, size: int, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, passages = _load(model_of(name)), _passages(2, 6)
    laid: list[str] = []
    together = batch_reading.batch_plan

    def batch_plan(asking: Any, stated: Any, examples: Sequence[Example], *rest: Any) -> Any:
        laid.extend(example.key for example in examples)
        return together(asking, stated, examples, *rest)

    monkeypatch.setattr(batch_reading, "batch_plan", batch_plan)
    _scores(model, passages, size=size)
    assert sorted(laid) == sorted([each.key for each in passages] * kinds)


@given(st.lists(st.integers(1, 4096), min_size=1, max_size=60), st.integers(1, 64))
def test_batches_take_every_input_once_and_fewer_where_they_are_long(sizes: list[int], most: int) -> None:
    order = np.argsort([-size for size in sizes], kind="stable")
    batches = list(stream.split_into_batches(order, sizes, most, torch.device("cpu")))
    assert np.concatenate(batches).tolist() == order.tolist()
    for batch in batches:
        assert 1 <= len(batch) <= most
        assert len(batch) == 1 or len(batch) * max(sizes[place] for place in batch) ** 2 <= stream.MOST_PAIRS


def test_large_batches_are_small_where_attention_is_returned(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, passages = _load(model_of("mpnet")), _passages(1)
    honest = capture_attention.read_attention
    sizes: list[int] = []

    def watched(network: Any, way: CaptureMethod, inputs: dict[str, torch.Tensor], *rest: Any) -> Any:
        sizes.append(len(inputs["input_ids"]))
        return honest(network, way, inputs, *rest)

    monkeypatch.setattr(stream, "read_attention", watched)
    _scores(model, passages, size=64)
    assert max(sizes) == stream.RETURNED_BATCH


@pytest.mark.parametrize(("dtype", "close"), [("bfloat16", 0.02), ("float16", 0.002)])
def test_half_precision_gives_nearly_the_scores_of_full_precision(
    dtype: str, close: float, model_of: ModelOf
) -> None:
    passages = _passages(2, 8)
    (full,) = _scores(_load(model_of("bert")), passages)
    (half,) = _scores(_load(model_of("bert"), dtype=dtype), passages)
    assert half.values.dtype == np.float32
    np.testing.assert_allclose(half.values, full.values, rtol=0, atol=close)


def test_single_texts_and_pairs_do_not_mix(model_of: ModelOf) -> None:
    mixed = [*_passages(1, 2), *(replace(each, key=f"pair {each.key}") for each in _passages(2, 2))]
    with pytest.raises(BadInput, match="single texts or pairs, but got both"):
        _scores(_load(model_of("bert")), mixed)


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


def test_batches_are_prepared_in_the_own_thread_where_none_is_free_and_scores_are_the_same_bits(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, passages, prepare = _load(model_of("bert")), _passages(1), SieveJob.prepare
    threads: list[int] = []

    def note_thread(job: SieveJob, tokenised: Sequence[Tokenised], places: np.ndarray) -> list[Prepared]:
        threads.append(threading.get_ident())
        return prepare(job, tokenised, places)

    monkeypatch.setattr(SieveJob, "prepare", note_thread)
    values, ready = {}, dict[bool, list[int]]()
    for ahead in (True, False):
        threads.clear()
        ready[ahead] = []
        (shard,) = stream.stream_tokenised(
            model,
            [tokenise(model.tokenizer, passages, 96)],
            SieveJob(model, selection_of(None), Annotator(None)),
            batch_size=5,
            advance=lambda count: None,
            prepared=ready[ahead].append,
            ahead=ahead,
        )
        values[ahead] = shard.values
        assert len(threads) == 4
        assert (set(threads) == {threading.get_ident()}) is not ahead
    np.testing.assert_array_equal(values[True], values[False])
    assert ready[True] == ready[False] == [5, 5, 5, 3]
