"""What jobs take from attention is that of the plain model's: divergences, gradients, maps, answers."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

import headroles
from headroles import Example, Labelling, extraction, head_distances, probe_of, surface_of
from headroles.records import Passage, Words
from tests.support.causal.plain import cases, open_loss, tensors_of
from tests.support.read_models import cut_into_blocks, module_of, opened, plain_network, plain_run, ready
from tests.support.reference import draws, rounding_bound
from tests.support.streams import passages, tree_of

ModelOf = Callable[[str], Path]
HALF = 0.5 / 255
"""Half a step of a byte: as far as a rounded weight may be from the weight."""


def plain_layers(folder: Path, inputs: Sequence[Any]) -> list[np.ndarray]:
    """Attention (layers, heads, tokens, tokens) of the plain eager model on each input alone."""
    network = plain_network(folder, "eager")
    runs = [plain_run(network, tensors_of(each), output_attentions=True).attentions for each in inputs]
    return [np.stack([layer[0].double().numpy() for layer in layers]) for layers in runs]


# Divergences.


def random_rows(seed: int, heads: int, tokens: int, *, sharp: float = 2.0) -> np.ndarray:
    """Rows (heads, tokens, tokens) in float64; the first and the last head each have zeros."""
    rng = np.random.default_rng(seed)
    cells = np.exp(sharp * rng.normal(size=(heads, tokens, tokens)))
    cells[[0, -1]] *= np.maximum(rng.random((2, tokens, tokens)) < 0.5, np.eye(tokens, dtype=np.bool_))
    rows: np.ndarray = cells / cells.sum(axis=-1, keepdims=True)
    return rows


def by_scipy(attention: np.ndarray, smoothing: float = 0.0) -> np.ndarray:
    """Divergences of all pairs of heads, pair by pair."""
    mixed = (1 - smoothing) * attention + smoothing / attention.shape[-1]
    one, other = np.triu_indices(len(mixed), 1)
    found: np.ndarray = (jensenshannon(mixed[one], mixed[other], axis=-1) ** 2).sum(axis=-1)
    return found


def divergences(attention: np.ndarray, **how: Any) -> np.ndarray:
    """Divergences of all pairs of heads as runs take them."""
    import torch

    return np.asarray(extraction.pair_divergences(torch.from_numpy(attention), **how))


@settings(max_examples=draws(40))
@given(st.integers(0, 2**32), st.integers(2, 29), st.integers(1, 40), st.sampled_from([0.0, 0.001, 0.3]))
def test_every_pair_is_what_scipy_says_in_any_threads_and_precision(
    seed: int, heads: int, tokens: int, smoothing: float
) -> None:
    attention = random_rows(seed, heads, tokens, sharp=[0.3, 2.0, 8.0][seed % 3])
    wanted = by_scipy(attention, smoothing)
    found = divergences(attention, smoothing=smoothing)
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)
    single = attention.astype(np.float32)
    near = divergences(single, smoothing=smoothing)
    np.testing.assert_allclose(near, wanted, rtol=0, atol=5e-6 * tokens)
    np.testing.assert_array_equal(divergences(single, smoothing=smoothing, threads=3), near)
    pair = divergences(single[:2], smoothing=smoothing)
    np.testing.assert_allclose(pair, near[:1], rtol=0, atol=1e-6 * tokens)


@pytest.mark.parametrize("smoothing", [0.0, 0.001])
def test_equal_heads_hidden_keys_and_many_cells_make_no_error(
    smoothing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    for kind in (np.float32, np.float64):
        attention = random_rows(2, 3, 50).astype(kind)
        found = divergences(np.concatenate([attention, attention]), smoothing=smoothing, threads=2)
        rows, columns = np.triu_indices(6, 1)
        assert (found[columns == rows + 3] == 0).all()
        assert (found[columns != rows + 3] > 1).all()
    apart = np.stack([np.eye(9), np.roll(np.eye(9), 1, axis=1)])  # heads without a common key
    np.testing.assert_allclose(divergences(apart), 9 * np.log(2), rtol=1e-6)
    cells = np.tril(random_rows(3, 5, 70)) + 1e-9 * np.eye(70)
    causal = cells / cells.sum(axis=-1, keepdims=True)
    found = divergences(causal, smoothing=smoothing)
    np.testing.assert_allclose(found, by_scipy(causal, smoothing), rtol=1e-11)
    shared = random_rows(1, 6, 70)
    module = module_of("device_sums")
    monkeypatch.setattr(module, "DEVICE_CELLS", 1000)
    monkeypatch.setattr(module, "DEVICE_BLOCK", 2000)
    sums = extraction.device_sums(torch.from_numpy(shared).flatten(1) / 2 + 2.0**-101)
    alone, (one, other) = sums.diagonal(), np.triu_indices(6, 1)
    found = (alone[one] + alone[other]) / 2 - sums[one, other]
    np.testing.assert_allclose(found, by_scipy(shared), rtol=1e-12)


@pytest.mark.parametrize(("tokens", "threads"), [(5, 1), (40, 2)])
def test_weights_that_are_no_attention_give_no_number(tokens: int, threads: int) -> None:
    for kind, wrong in ((np.float32, np.nan), (np.float64, np.nan), (np.float32, np.inf), (np.float32, 100)):
        attention = random_rows(4, 3, tokens).astype(kind)
        attention[1, -1, 2] = wrong
        assert np.isnan(divergences(attention, threads=threads)).tolist() == [True, False, True]


NAMES = [f"unit {number}" for number in (0, 1, 2, 1, 3, 0)]


@pytest.mark.parametrize(
    ("name", "cuts", "how"),
    [("bert", (6,), {}), ("gptj", (1, 4, 6), {}), ("bert", (2, 6), {"smoothing": 0.001, "way": "sum"})],
)
def test_a_run_has_the_divergences_of_units_however_its_inputs_are_cut(
    name: str, cuts: tuple[int, ...], how: dict[str, Any], model_of: ModelOf
) -> None:
    model = ready(model_of(name))
    inputs = extraction.tokenise(model.tokenizer, passages(1, len(NAMES)), 96)
    units = list(dict.fromkeys(NAMES))
    layout = extraction.BlockLayout.of(len(units), model.layers, model.heads)
    blocks = layout.block(np.array([units.index(unit) for unit in NAMES]))
    members = np.array([NAMES.count(unit) for unit in NAMES])
    contents: list[Any] = []
    for start, stop in zip((0, *cuts), cuts, strict=False):
        own = slice(start, stop)
        sums = extraction.DivergenceSums(blocks[own], members[own], model.layers, model.heads, **how)
        job = extraction.DivergenceJob(model, sums, threads=2)
        contents += extraction.stream_tokenised(
            model, iter([inputs[own]]), job, batch_size=2, advance=lambda count: None
        )
    usual: dict[str, Any] = {"smoothing": 0.0, "way": "mean"}
    merged = extraction.merge_divergences(contents, layout, model.layers, model.heads, **usual | how)
    found = np.zeros((model.layers * model.heads,) * 2)
    found[np.triu_indices(len(found), 1)] = merged.mean()
    wanted = head_distances(plain_layers(model_of(name), inputs), units=NAMES, **how)
    np.testing.assert_allclose(found + found.T, wanted, rtol=1e-4, atol=rounding_bound(96))
    assert merged.block.tolist() == list(range(4))
    assert {"smoothing": merged.smoothing, "way": merged.way} == usual | how


def test_more_units_than_blocks_share_blocks_with_their_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    assert extraction.BlockLayout.of(500, 48, 48).count == 50
    monkeypatch.setattr(module_of("BlockLayout"), "FEWEST", 2)
    monkeypatch.setattr(module_of("BlockLayout"), "KEPT", 3 * 4 * 6)  # three blocks of six pairs
    layout = extraction.BlockLayout.of(5, 2, 2)
    places, members = np.array([0, 1, 2, 3, 4, 3, 2]), np.array([1, 1, 2, 2, 1, 2, 2])
    sums = extraction.DivergenceSums(layout.block(places), members, 2, 2)
    values = np.random.default_rng(0).random((7, 6))
    for place in (6, 0, 2, 1, 5, 4, 3, 3):  # an input counts once
        sums.add(place, 10, 10 * values[place])
    found = extraction.merge_divergences([sums.content()], layout, 2, 2, smoothing=0.0, way="mean")
    assert (found.block.tolist(), found.weight.tolist()) == ([0, 0, 1, 1, 2], [2.0, 2.0, 1.0])
    means = np.array([values[places == unit].mean(axis=0) for unit in range(5)])
    np.testing.assert_allclose(found.sums, [means[:2].sum(0), means[2:4].sum(0), means[4]], rtol=1e-6)
    np.testing.assert_allclose(found.mean(), means.mean(axis=0), rtol=1e-6)


# Gradients.

SAID = (
    "The committee did not decide about the long treaty, and nobody in Paris objected to it at all.",
    "Look!",
    "She can't believe that it was signed after the debate; what a day, what a treaty.",
)


def made_kinds(example: Example) -> dict[str, np.ndarray]:
    """Kinds of keys: the first token, other special ones, commas, and the rest."""
    first = np.arange(example.size) == 0
    special, comma = example.special & ~first, np.array(["," in token for token in example.tokens])
    comma &= ~first & ~special
    return {"first": first, "special": special, "comma": comma, "rest": ~first & ~special & ~comma}


def loss_options() -> Any:
    """Three in ten text tokens are masked."""
    return extraction.LossOptions(0.3, seed=3)


def importance(model: Any, texts: Sequence[str] = SAID, **how: Any) -> Any:
    """The shard of importances of some texts."""
    usual: dict[str, Any] = {"options": loss_options(), "max_length": 128, "advance": lambda count: None}
    given_passages = [Passage(text[:12], (text,)) for text in texts]
    (shard,) = extraction.gradient_shards(model, given_passages, made_kinds, batch_size=8, **usual | how)
    return shard


def by_autograd(network: Any, model: Any, text: str, masked: bool) -> tuple[np.ndarray, int]:
    """Importances (columns, layers, heads) of one input by the library's own loss, and its shown tokens."""
    import torch

    (plain,) = extraction.tokenise(model.tokenizer, [Passage(text[:12], (text,))], 128)
    shown, target = extraction.prepare_target(model, plain, loss_options())
    inputs = tensors_of(shown)
    asked = torch.full_like(inputs["input_ids"], -100)
    asked[0, target.places + (not masked)] = torch.from_numpy(target.words)
    if not len(target.places):
        asked = network(**inputs).logits.argmax(-1)
    output = network(**inputs, labels=asked, output_attentions=True)
    for weights in output.attentions:
        weights.retain_grad()
    output.loss.backward()
    kinds = made_kinds(extraction.example_of(plain, None, arcs=False))
    found = np.full((2, len(kinds), model.layers, model.heads), np.nan)
    for row, keys in enumerate(kinds.values()):
        own = [key for key in np.flatnonzero(keys) if not (masked and key in target.places)]
        for layer, head in np.ndindex(model.layers, model.heads):
            weights = output.attentions[layer]
            seen = (weights[0] > 0).any(0).numpy()
            sizes = weights.grad[0, head].abs().numpy()
            for measure, values in enumerate((sizes, sizes * weights[0, head].detach().numpy())):
                means = [values[seen[:, key], key].mean() for key in own]
                found[measure, row, layer, head] = np.mean(means) if means else np.nan
    return found.reshape(-1, model.layers, model.heads), plain.size - len(target.places) * masked


@pytest.mark.parametrize(
    ("name", "head"),
    cases(
        "bert:MaskedLM modernbert:MaskedLM llama:CausalLM distilbert:SequenceClassification gptj:CausalLM",
        "roberta:MaskedLM albert:MaskedLM electra:MaskedLM mpnet:MaskedLM deberta-v2:MaskedLM gpt2:CausalLM "
        "mistral:CausalLM gemma2:CausalLM bloom:CausalLM falcon:CausalLM bert:SequenceClassification "
        "gemma2:SequenceClassification",
    ),
)
def test_importances_are_those_of_the_librarys_loss_on_each_input_alone(
    name: str, head: str, headed: Any
) -> None:
    import transformers

    folder = headed(name, head)
    model = open_loss(folder)
    shard = importance(model)
    library = getattr(transformers, str(model.described["architecture"]))
    network = library.from_pretrained(folder, attn_implementation="eager").eval()
    alone, sizes = zip(*(by_autograd(network, model, text, head == "MaskedLM") for text in SAID), strict=True)
    wanted = np.stack(alone, axis=1)
    assert np.nanmax(wanted[:4]) > 1e-6
    close = rounding_bound(96, float(np.nanmax(wanted)))
    np.testing.assert_allclose(shard.values, wanted, rtol=1e-4, atol=close)
    assert np.isnan(shard.values[2, 1]).all()  # "Look!" has no comma
    assert all(weights.grad is None for weights in model.network.parameters())
    np.testing.assert_array_equal(shard.cells[:4], shard.cells[4:])
    np.testing.assert_array_equal(shard.cells[:4].sum(0), sizes)
    assert (shard.null.shape, (shard.low == 0).all(), np.isinf(shard.high).all()) == ((0, 3), True, True)


def test_batches_are_as_large_as_memory_allows_and_give_the_same(
    headed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, done = open_loss(headed("bert", "MaskedLM")), list[int]()
    module, usual = module_of("gradient_shards"), importance(model)
    one = 4 * (module.COPIES * 2 * 4 * 128**2 + module.LOGITS * 128 * 400)
    close = rounding_bound(96, float(np.nanmax(usual.values)))
    for room, batches in ((one - 1, [1, 1, 1]), (2 * one, [2, 1]), (3 * one, [3])):
        monkeypatch.setattr(module, "BUDGET", room)
        done.clear()
        found = importance(model, advance=done.append)
        assert done == batches
        np.testing.assert_allclose(found.values, usual.values, rtol=1e-4, atol=close)
    shard = importance(open_loss(headed("gpt2", "CausalLM")), ("a", SAID[0]))
    assert np.isnan(shard.values[:, 0]).all()  # a single token has no loss
    assert not np.isnan(shard.values[0, 1]).any()


# Kept maps.


@pytest.mark.parametrize(
    ("name", "texts", "blocks"),
    [("bert", 2, True), ("gpt2", 1, False), ("llama", 2, True), ("gptj", 1, False)],
)
def test_kept_maps_are_the_plain_models_attention_of_the_chosen_heads(
    name: str, texts: int, blocks: bool, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    if blocks:
        cut_into_blocks(monkeypatch, 3, 100)
    model = opened(model_of(name), 512 if blocks else 96)
    inputs = extraction.tokenise(model.tokenizer, passages(texts, 5), 96)
    asked: tuple[dict[int, list[int]], ...]
    asked = ({0: [3, 1]}, {}, {0: [2], 1: [0, 3]}, {1: [1]}, {0: [0], 1: [2]})
    job, shards = extraction.KeepMapsJob(asked), iter([inputs[:2], inputs[2:]])
    coming = extraction.stream_tokenised(model, shards, job, batch_size=2, advance=lambda count: None)
    kept = [each for shard in coming for each in shard]
    for each, heads, plain in zip(kept, asked, plain_layers(model_of(name), inputs), strict=True):
        assert {layer: len(maps) for layer, maps in each.maps.items()} == {
            layer: len(own) for layer, own in heads.items()
        }
        for layer, own in heads.items():
            for head in own:
                found = each.weights(layer, head) / 255
                np.testing.assert_allclose(found, plain[layer, head], rtol=0, atol=HALF + 1e-6)
        words = each.tokenised.passage.words or ()
        assert each.example().word.max() == sum(len(own.heads) for own in words) - 1


def test_weights_are_rounded_to_the_nearest_step_and_stay_bytes() -> None:
    import torch

    given_weights = torch.tensor([0.0, 0.00195, 0.00197, 0.5, 0.999, 1.0, 1.0000002, 1.01, float("nan")])
    assert extraction.bytes_of(given_weights).tolist() == [0, 0, 1, 128, 255, 255, 255, 255, 0]


def test_a_run_keeps_typical_inputs_of_each_role_and_the_same_inputs_for_other_heads(
    label: Callable[..., Labelling],
) -> None:
    run = label()
    kept, scores = run.exhibited, run.scores
    assert kept is not None
    held = {(run.findings.sieves[row], *head) for row, *head in np.argwhere(run.findings.decision == 0)}
    chosen: dict[Any, list[tuple[int, str]]] = {}
    for each in kept.exhibits:
        key = kept.examples[kept.places[each.map, 0]].key
        chosen.setdefault((each.sieve, each.layer, each.head), []).append((each.rank, key))
    assert {role[1:] for role in chosen} == {*np.ndindex(scores.layers, scores.heads)}
    assert {role for role in chosen if role[0] in run.findings.sieves} == held
    for (sieve, layer, head), cards in chosen.items():
        if (sieve, layer, head) in held:
            own = scores.values[scores.sieves.index(sieve), :, layer, head]
            highest = [scores.examples[place] for place in np.argsort(-own, kind="stable")[:3]]
            assert cards[:3] == list(enumerate(highest, 1))
            assert [rank for rank, _ in cards[3:]] == [-1, -2]
        else:
            assert [rank for rank, _ in cards] == [1, 2, 3]
    assert len({tuple(cards) for role, cards in chosen.items() if role not in held}) == 1
    for weights in kept.weights:
        np.testing.assert_allclose(weights.sum(axis=1, dtype=int) / 255, 1, atol=weights.shape[1] * HALF)


# Probes, surface statistics and word attention.


@pytest.mark.parametrize(
    ("name", "length", "preset"),
    cases(
        "bert:96:calibrated gpt2:96:published mistral:512:calibrated",
        "modernbert:96:calibrated gptj:96:calibrated",
    ),
)
def test_answers_to_probes_and_surface_statistics_are_those_of_plain_attention(
    name: str, length: str, preset: str, model_of: ModelOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if length == "512":
        cut_into_blocks(monkeypatch, 4, 4 * 4 * 40 * 7)
    inputs, rows = passages(1, 5, fewest=3, most=16), list[dict[str, Any]]()
    for each in inputs:
        assert each.words is not None
        (words,) = each.words
        named = zip(words.heads, words.relations, strict=True)
        relations = ["root" if head < 0 else relation for head, relation in named]
        said = each.texts[0].split(" ")
        rows.append({"words": said, "heads": (words.heads + 1).tolist(), "relations": relations})
    (tmp_path / "trees.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    how: dict[str, Any] = {"model": model_of(name), "max_length": int(length), "batch_size": 3}
    asked: dict[str, dict[str, Any]] = {"dependency": {"relations": ["nsubj", "det"]}, "trees": {}}
    probed = headroles.probe(
        [*asked], data=tmp_path / "trees.jsonl", relations=["nsubj", "det"], root="given", maps=0,
        shard_size=3, **how,
    ).scores  # fmt: skip
    texts = [each.texts[0] for each in inputs]
    measured = headroles.surface(data=texts, preset=preset, **how).scores
    smoothing, close = 1e-4 if preset == "published" else 0.0, rounding_bound(96, magnitude=float(np.log(96)))
    tokenised = extraction.tokenise(ready(model_of(name)).tokenizer, inputs, 96)
    layers_of = plain_layers(model_of(name), tokenised)
    for place, (each, layers) in enumerate(zip(tokenised, layers_of, strict=True)):
        example = extraction.example_of(each, each.passage.words, False)
        answers: dict[str, Any] = {}
        for probe, options in asked.items():
            answers |= probe_of(layers, rows[place], probe, word=example.word, **options)
        assert len(answers) > 5
        for column, wanted in answers.items():
            found = probed.values[probed.sieves.index(column), place]
            np.testing.assert_allclose(found, wanted, atol=rounding_bound(96), err_msg=column)
        nulls = []
        for layer, weights in enumerate(layers):
            seen = (weights > 0).any(axis=0)
            even = np.broadcast_to(seen / seen.sum(axis=1, keepdims=True), weights.shape)
            own = surface_of(np.stack([weights, even]), example, visible=seen, smoothing=smoothing)
            told = np.array([own[column] for column in measured.sieves])
            np.testing.assert_allclose(measured.values[:, place, layer], told[:, 0], rtol=0, atol=close)
            nulls.append(told[:, 1, 0])
        with np.errstate(all="ignore"):
            blank = np.sum(np.nan_to_num(nulls), axis=0) / np.sum(~np.isnan(nulls), axis=0)
        np.testing.assert_allclose(measured.null[:, place], blank, rtol=0, atol=close)


def sentences() -> list[Passage]:
    """Sentences with words; the last two of the last one share a span, so the second has no piece."""
    made = []
    texts = (
        "She can't believe it was signed",
        "Look",
        "the unbelievable committee objected",
        "nobody cannot",
    )
    for number, text in enumerate(texts):
        words = text.split()
        tree = tree_of(words, [-1] * len(words), ["dep"] * len(words))
        if words[-1] == "cannot":
            tree = Words(tree.spans[[0, 1, 1]], np.full(3, -1), ("dep",) * 3)
        made.append(Passage(f"made/{number}", (text,), "document", (tree,)))
    return made


@pytest.mark.parametrize(
    ("name", "blocks"), [("bert", False), ("bert", True), ("llama", False), ("bloom", False)]
)
def test_word_attention_is_the_sum_over_attended_and_the_mean_over_attending_pieces(
    name: str, blocks: bool, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if blocks:
        cut_into_blocks(monkeypatch, 4, 700)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    model, done = opened(model_of(name), 512 if blocks else 64), list[int]()
    how: dict[str, Any] = {"batch_size": 3, "advance": done.append}
    tokenised = extraction.tokenise(model.tokenizer, sentences(), 64)
    with extraction.read_word_maps(model, sentences(), max_length=64, **how) as maps:
        assert (sum(done), maps.kept.all(), maps.special) == (4, True, name == "bert")
        layers_of = plain_layers(model_of(name), tokenised)
        for number, (each, layers) in enumerate(zip(tokenised, layers_of, strict=True)):
            example = extraction.example_of(each, each.passage.words, False)
            weights = layers.reshape(-1, each.size, each.size)
            units = [example.first, example.special & ~example.first]
            units += [example.word == word for word in range(len(each.passage.words[0].heads))]
            wanted = np.zeros((len(units), len(units), len(weights)))
            for query, own in enumerate(units):
                for key, seen in enumerate(units):
                    wanted[query, key] = weights[:, own][:, :, seen].sum(2).mean(1) if own.any() else 0.0
            np.testing.assert_allclose(maps(number).astype(float), wanted, rtol=0, atol=5e-4)
        assert (maps(3)[-1] == 0).all()
        assert (maps(3)[-2] > 0).any()
    assert not list(tmp_path.iterdir())
