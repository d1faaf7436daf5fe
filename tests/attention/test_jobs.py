"""What jobs take from attention is that of the plain model's: divergences, gradients, maps, answers."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

import headroles
from headroles import Labelling, head_distances, probe_of, surface_of
from headroles.extraction import (
    BlockLayout,
    DivergenceJob,
    DivergenceSums,
    KeepMapsJob,
    LossOptions,
    bytes_of,
    device_sums,
    example_of,
    gradient_shards,
    merge_divergences,
    pair_divergences,
    prepare_target,
    read_word_maps,
    stream_tokenised,
    tokenise,
)
from headroles.records import Example, Passage, Words
from tests.support import table as rows_of
from tests.support.causal.plain import cases, open_loss, tensors_of
from tests.support.read_models import cut_into_blocks, opened, plain_network, plain_run, ready
from tests.support.reference import draws, rounding_bound
from tests.support.streams import passages, tree_of

ModelOf = Callable[[str], Path]
HALF = 0.5 / 255
"""Half a step of a byte: as far as a rounded weight may be from the weight."""
seeds = st.integers(0, 2**32 - 1)


def plain_layers(folder: Path, inputs: Sequence[Any]) -> list[np.ndarray]:
    """Attention (layers, heads, tokens, tokens) of the plain eager model on each input alone."""
    network = plain_network(folder, "eager")
    runs = [plain_run(network, tensors_of(each), output_attentions=True).attentions for each in inputs]
    return [torch.cat(layers).double().numpy() for layers in runs]


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


@settings(max_examples=draws(40))
@given(seeds, st.integers(2, 29), st.integers(1, 40), st.sampled_from([0.0, 0.001, 0.3]))
def test_every_pair_is_what_scipy_says_in_any_threads_and_precision(
    seed: int, heads: int, tokens: int, smoothing: float
) -> None:
    attention = random_rows(seed, heads, tokens, sharp=[0.3, 2.0, 8.0][seed % 3])
    wanted = by_scipy(attention, smoothing)
    found = pair_divergences(torch.from_numpy(attention), smoothing=smoothing)
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)
    single = torch.from_numpy(attention).float()
    near = pair_divergences(single, smoothing=smoothing)
    np.testing.assert_allclose(near, wanted, rtol=0, atol=5e-6 * tokens)
    np.testing.assert_array_equal(pair_divergences(single, smoothing=smoothing, threads=3), near)
    pair = near[0], pair_divergences(single[:2], smoothing=smoothing).item()
    assert pair[0] == pytest.approx(pair[1], abs=1e-6 * tokens)


@pytest.mark.parametrize("smoothing", [0.0, 0.001])
def test_equal_heads_have_exactly_none_and_heads_without_a_common_key_the_most(smoothing: float) -> None:
    for kind in (torch.float32, torch.float64):
        attention = torch.from_numpy(random_rows(2, 3, 50)).to(kind)
        found = pair_divergences(torch.cat([attention, attention]), smoothing=smoothing, threads=2)
        rows, columns = np.triu_indices(6, 1)
        assert (found[columns == rows + 3] == 0).all()
        assert (found[columns != rows + 3] > 1).all()
    eye = torch.eye(9)
    np.testing.assert_allclose(
        pair_divergences(torch.stack([eye, eye.roll(1, dims=1)])), 9 * np.log(2), rtol=1e-6
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.001])
def test_keys_that_are_hidden_or_many_cells_change_nothing(
    smoothing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = np.tril(random_rows(3, 5, 70)) + 1e-9 * np.eye(70)
    causal = cells / cells.sum(axis=-1, keepdims=True)
    found = pair_divergences(torch.from_numpy(causal), smoothing=smoothing)
    np.testing.assert_allclose(found, by_scipy(causal, smoothing), rtol=1e-11)
    shared = random_rows(1, 6, 70)
    module = sys.modules[device_sums.__module__]
    monkeypatch.setattr(module, "DEVICE_CELLS", 1000)
    monkeypatch.setattr(module, "DEVICE_BLOCK", 2000)
    sums = device_sums(torch.from_numpy(shared).flatten(1) / 2 + 2.0**-101)
    alone, (one, other) = sums.diagonal(), np.triu_indices(6, 1)
    np.testing.assert_allclose(
        (alone[one] + alone[other]) / 2 - sums[one, other], by_scipy(shared), rtol=1e-12
    )


@pytest.mark.parametrize(("tokens", "threads"), [(5, 1), (40, 2)])
def test_weights_that_are_no_attention_give_no_number(tokens: int, threads: int) -> None:
    for kind in (torch.float32, torch.float64):
        attention = torch.from_numpy(random_rows(4, 3, tokens)).to(kind)
        attention[1, -1, 2] = torch.nan
        assert np.isnan(pair_divergences(attention, threads=threads)).tolist() == [True, False, True]
    for weight in (torch.inf, 100.0):
        attention = torch.from_numpy(random_rows(4, 3, 5)).float()
        attention[0, 2, 2] = weight
        assert np.isnan(pair_divergences(attention)).tolist() == [True, True, False]


@pytest.mark.parametrize("tokens", [2, 3, 8, 23, 33, 64, 100])
def test_weights_that_repeat_have_no_errors_that_add_up(tokens: int) -> None:
    eye, rows = np.eye(tokens), np.zeros((4, tokens, tokens))
    rows[0, :, 0] = rows[1, :, -1] = rows[2, :, : -(-tokens // 2)] = rows[3, :, ::2] = 1
    sinks = [np.where(np.arange(tokens) == 0, share * tokens, 1.0) * np.ones((tokens, 1)) for share in (2, 9)]
    band = eye + np.roll(eye, 1, axis=1) + np.roll(eye, -1, axis=1)
    cells = np.stack([eye, np.roll(eye, 1, axis=1), *rows, *sinks, band, np.tri(tokens), np.ones_like(eye)])
    attention = torch.from_numpy(cells / cells.sum(axis=-1, keepdims=True)).float()
    wanted = pair_divergences(attention.double())
    np.testing.assert_allclose(pair_divergences(attention), wanted, rtol=0, atol=6e-7 * tokens)


NAMES = [f"unit {number}" for number in (0, 1, 2, 1, 3, 0)]


@pytest.mark.parametrize(
    ("name", "cuts", "how"),
    [("bert", (6,), {}), ("gptj", (1, 4, 6), {}), ("bert", (2, 6), {"smoothing": 0.001, "way": "sum"})],
)
def test_a_run_has_the_divergences_of_units_however_its_inputs_are_cut(
    name: str, cuts: tuple[int, ...], how: dict[str, Any], model_of: ModelOf
) -> None:
    model = ready(model_of(name))
    inputs = tokenise(model.tokenizer, passages(1, len(NAMES)), 96)
    units = list(dict.fromkeys(NAMES))
    layout = BlockLayout.of(len(units), model.layers, model.heads)
    blocks = layout.block(np.array([units.index(unit) for unit in NAMES]))
    members = np.array([NAMES.count(unit) for unit in NAMES])
    contents: list[Any] = []
    for start, stop in zip((0, *cuts), cuts, strict=False):
        own = slice(start, stop)
        sums = DivergenceSums(blocks[own], members[own], model.layers, model.heads, **how)
        job = DivergenceJob(model, sums, threads=2)
        contents += stream_tokenised(
            model, iter([inputs[own]]), job, batch_size=2, advance=lambda count: None
        )
    usual: dict[str, Any] = {"smoothing": 0.0, "way": "mean"}
    merged = merge_divergences(contents, layout, model.layers, model.heads, **usual | how)
    found = np.zeros((model.layers * model.heads,) * 2)
    found[np.triu_indices(len(found), 1)] = merged.mean()
    wanted = head_distances(plain_layers(model_of(name), inputs), units=NAMES, **how)
    np.testing.assert_allclose(found + found.T, wanted, rtol=1e-4, atol=rounding_bound(96))
    assert merged.block.tolist() == list(range(4))
    assert (merged.way, merged.smoothing) == (how.get("way", "mean"), how.get("smoothing", 0.0))


def test_more_units_than_blocks_share_blocks_with_their_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules[BlockLayout.__module__]
    assert BlockLayout.of(500, 48, 48).count == 50
    monkeypatch.setattr(module, "FEWEST", 2)
    monkeypatch.setattr(module, "KEPT", 3 * 4 * 6)  # three blocks of six pairs
    layout = BlockLayout.of(5, 2, 2)
    places, members = np.array([0, 1, 2, 3, 4, 3, 2]), np.array([1, 1, 2, 2, 1, 2, 2])
    sums = DivergenceSums(layout.block(places), members, 2, 2)
    values = np.random.default_rng(0).random((7, 6))
    for place in (6, 0, 2, 1, 5, 4, 3, 3):  # an input counts once
        sums.add(place, 10, 10 * values[place])
    found = merge_divergences([sums.content()], layout, 2, 2, smoothing=0.0, way="mean")
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
LOSS = LossOptions(0.3, seed=3)


def made_kinds(example: Example) -> dict[str, np.ndarray]:
    """Kinds of keys: the first token, other special ones, commas, and the rest."""
    first = np.arange(example.size) == 0
    special, comma = example.special & ~first, np.array(["," in token for token in example.tokens])
    comma &= ~first & ~special
    return {"first": first, "special": special, "comma": comma, "rest": ~first & ~special & ~comma}


def importance(model: Any, texts: Sequence[str] = SAID, size: int = 8, **how: Any) -> Any:
    """The shard of importances of some texts."""
    usual: dict[str, Any] = {"options": LOSS, "max_length": 128, "advance": lambda count: None}
    given_passages = [Passage(text[:12], (text,)) for text in texts]
    (shard,) = gradient_shards(model, given_passages, made_kinds, batch_size=size, **usual | how)
    return shard


def by_autograd(network: Any, model: Any, text: str, masked: bool) -> np.ndarray:
    """Importances (columns, layers, heads) of one input, by the library's own loss, key by key."""
    (plain,) = tokenise(model.tokenizer, [Passage(text[:12], (text,))], 128)
    shown, target = prepare_target(model, plain, LOSS)
    inputs = tensors_of(shown)
    asked = torch.full_like(inputs["input_ids"], -100)
    asked[0, target.places + (not masked)] = torch.from_numpy(target.words)
    if not len(target.places):
        asked = network(**inputs).logits.argmax(-1)
    output = network(**inputs, labels=asked, output_attentions=True)
    for weights in output.attentions:
        weights.retain_grad()
    output.loss.backward()
    kinds = made_kinds(example_of(plain, None, arcs=False))
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
    return found.reshape(-1, model.layers, model.heads)


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
    wanted = np.stack([by_autograd(network, model, text, head == "MaskedLM") for text in SAID], axis=1)
    assert np.nanmax(wanted[:4]) > 1e-6
    close = rounding_bound(96, float(np.nanmax(wanted)))
    np.testing.assert_allclose(shard.values, wanted, rtol=1e-4, atol=close)
    assert np.isnan(shard.values[2, 1]).all()  # "Look!" has no comma
    assert all(weights.grad is None for weights in model.network.parameters())
    np.testing.assert_array_equal(shard.cells[:4], shard.cells[4:])
    sizes = [
        (each.size, len(prepare_target(model, each, LOSS)[1].places) * (head == "MaskedLM"))
        for each in tokenise(model.tokenizer, [Passage(text[:12], (text,)) for text in SAID], 128)
    ]
    np.testing.assert_array_equal(shard.cells[:4].sum(0), [tokens - masked for tokens, masked in sizes])
    assert (shard.null.shape, (shard.low == 0).all(), np.isinf(shard.high).all()) == ((0, 3), True, True)


def test_batches_are_as_large_as_memory_allows_and_give_the_same(
    headed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, done = open_loss(headed("bert", "MaskedLM")), list[int]()
    module: Any = sys.modules[gradient_shards.__module__]
    usual = importance(model)
    one = 4 * (module.COPIES * 2 * 4 * 128**2 + module.LOGITS * 128 * 400)
    for room, batches in ((one - 1, [1, 1, 1]), (2 * one, [2, 1]), (3 * one, [3])):
        monkeypatch.setattr(module, "BUDGET", room)
        done.clear()
        found = importance(model, advance=done.append)
        assert done == batches
        close = rounding_bound(96, float(np.nanmax(usual.values)))
        np.testing.assert_allclose(found.values, usual.values, rtol=1e-4, atol=close)
    own = open_loss(headed("gpt2", "SequenceClassification"))  # answers at the last token: no padding token
    done.clear()
    importance(own, advance=done.append)
    assert done == [1, 1, 1]


def test_an_input_without_a_loss_has_none_and_labels_change_gradients(headed: Any) -> None:
    shard = importance(open_loss(headed("gpt2", "CausalLM")), ("a", SAID[0]))
    assert np.isnan(shard.values[:, 0]).all()
    assert not np.isnan(shard.values[0, 1]).any()
    model = open_loss(headed("bert", "SequenceClassification", num_labels=3))
    one, other = (
        importance(model, options=LossOptions(0.15, labels={text[:12]: label for text in SAID})).values[:4]
        for label in ("0", "1")
    )
    assert not np.allclose(one[0], other[0], rtol=1e-3)


def test_a_trained_decoders_loss_depends_most_on_the_attention_to_its_first_token(stories: Path) -> None:
    texts = (
        "Once upon a time, there was a little girl named Lily. She loved to play outside in the park.",
        "The cat was very hungry. She looked for fish, but there was none.",
    )
    values = importance(open_loss(stories), texts).values[4:].astype(np.float64)
    assert np.isnan(values[1]).all()  # it has no special tokens but the first
    assert (values[0].mean(axis=(0, 2)) > 2 * values[3].mean(axis=(0, 2))).all()


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
    inputs = tokenise(model.tokenizer, passages(texts, 5), 96)
    asked: tuple[dict[int, list[int]], ...]
    asked = ({0: [3, 1]}, {}, {0: [2], 1: [0, 3]}, {1: [1]}, {0: [0], 1: [2]})
    shards = iter([inputs[:2], inputs[2:]])
    job = KeepMapsJob(asked)
    coming = stream_tokenised(model, shards, job, batch_size=2, advance=lambda count: None)
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
    given_weights = torch.tensor([0.0, 0.00195, 0.00197, 0.5, 0.999, 1.0, 1.0000002, 1.01, float("nan")])
    assert bytes_of(given_weights).tolist() == [0, 0, 1, 128, 255, 255, 255, 255, 0]


def test_a_run_keeps_typical_inputs_of_each_role_and_the_same_inputs_for_other_heads(
    label: Callable[..., Labelling],
) -> None:
    run = label()
    kept, scores = run.exhibited, run.scores
    assert kept is not None
    held = {(run.findings.sieves[row], *head) for row, *head in np.argwhere(run.findings.decision == 0)}
    places = {(each.layer, each.head) for each in kept.exhibits}
    assert places == {*np.ndindex(scores.layers, scores.heads)}
    chosen: dict[Any, list[tuple[int, str]]] = {}
    for each in kept.exhibits:
        key = kept.examples[kept.places[each.map, 0]].key
        chosen.setdefault((each.sieve, each.layer, each.head), []).append((each.rank, key))
    assert {role for role in chosen if role[0] in run.findings.sieves} == held
    for (sieve, layer, head), cards in chosen.items():
        if (sieve, layer, head) in held:
            own = scores.values[scores.sieves.index(sieve), :, layer, head]
            highest = [scores.examples[place] for place in np.argsort(-own, kind="stable")[:3]]
            assert [rank for rank, _ in cards] == [1, 2, 3, -1, -2]
            assert [key for _, key in cards[:3]] == highest
        else:
            assert [rank for rank, _ in cards] == [1, 2, 3]
    assert len({tuple(cards) for role, cards in chosen.items() if role not in held}) == 1
    for weights in kept.weights:
        np.testing.assert_allclose(weights.sum(axis=1, dtype=int) / 255, 1, atol=weights.shape[1] * HALF)
    few = label(maps=7).exhibited
    assert few is not None
    assert (len(few.weights), label(maps=0).exhibited) == (7, None)


# Probes, surface statistics and word attention.


def annotated(inputs: Sequence[Passage]) -> list[dict[str, Any]]:
    """Passages of one text as lines of JSON with words and trees."""
    rows = []
    for each in inputs:
        assert each.words is not None
        (words,), (text,) = each.words, each.texts
        said = [text[start:end] for start, end in words.spans.tolist()]
        relations = [
            "root" if head < 0 else name for head, name in zip(words.heads, words.relations, strict=True)
        ]
        rows.append({"words": said, "heads": (words.heads + 1).tolist(), "relations": relations})
    return rows


@pytest.mark.parametrize(("name", "length"), cases("bert:96 gpt2:96", "mistral:512 gptj:96"))
def test_answers_to_probes_are_those_of_plain_attention(
    name: str, length: str, model_of: ModelOf, tmp_path: Path
) -> None:
    inputs = passages(1, 5, fewest=3, most=16)
    rows = annotated(inputs)
    (tmp_path / "trees.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = headroles.probe(
        ["dependency", "trees"], data=tmp_path / "trees.jsonl", model=model_of(name), max_length=int(length),
        relations=["nsubj", "det"], root="given", batch_size=3, maps=0, shard_size=3,
    )  # fmt: skip
    tokenised = tokenise(ready(model_of(name)).tokenizer, inputs, 96)
    attention = plain_layers(model_of(name), tokenised)
    compared = set()
    asked: dict[str, dict[str, Any]] = {"dependency": {"relations": ["nsubj", "det"]}, "trees": {}}
    for place, each in enumerate(tokenised):
        word = example_of(each, each.passage.words, False).word
        for probe, how in asked.items():
            for column, wanted in probe_of(attention[place], rows[place], probe, word=word, **how).items():
                found = run.scores.values[run.scores.sieves.index(column), place]
                np.testing.assert_allclose(found, wanted, atol=rounding_bound(96), err_msg=column)
                compared.add(column)
    assert len(compared) == 9


@pytest.mark.parametrize(
    ("name", "length", "preset"),
    rows_of("""
        bert       | 96  | calibrated
        modernbert | 96  | calibrated
        gpt2       | 96  | published
        mistral    | 400 | calibrated
        gptj       | 96  | calibrated
        even bert  | 96  | published
    """),
)
def test_surface_statistics_are_those_of_plain_attention(
    name: str, length: str, preset: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    if length == "400":
        cut_into_blocks(monkeypatch, 4, 4 * 4 * 40 * 7)
    texts = [each.texts[0] for each in passages(1, 6)]
    run = headroles.surface(
        data=texts, model=model_of(name), max_length=int(length), batch_size=4, preset=preset
    )
    smoothing = 1e-4 if preset == "published" else 0.0
    tokenised = tokenise(ready(model_of(name)).tokenizer, [Passage("x", (text,)) for text in texts], 96)
    close = rounding_bound(96, magnitude=float(np.log(96)))
    for place, (each, layers) in enumerate(
        zip(tokenised, plain_layers(model_of(name), tokenised), strict=True)
    ):
        example = example_of(each, None, arcs=False)
        nulls = []
        for layer, weights in enumerate(layers):
            seen = (weights > 0).any(axis=0)
            even = (seen / seen.sum(axis=1, keepdims=True))[None, None]
            own = surface_of(weights[None], example, visible=seen, smoothing=smoothing)
            blank = surface_of(even, example, visible=seen, smoothing=smoothing)
            nulls.append([blank[column].item() for column in run.scores.sieves])
            for row, column in enumerate(run.scores.sieves):
                found = run.scores.values[row, place, layer]
                np.testing.assert_allclose(found, own[column][0], rtol=0, atol=close, err_msg=column)
                if name == "even bert":
                    np.testing.assert_allclose(found, run.scores.null[row, place], rtol=0, atol=close)
        known = ~np.isnan(nulls).all(axis=0)
        means = np.nanmean(np.array(nulls)[:, known], axis=0)
        np.testing.assert_allclose(run.scores.null[known, place], means, rtol=0, atol=1e-6)
        assert np.isnan(run.scores.null[~known, place]).all()


def sentences() -> list[Passage]:
    """Sentences with words; the last two of the last one share a span, so the second has no piece."""
    texts = (
        "She can't believe it was signed",
        "Look",
        "the unbelievable committee objected",
        "nobody cannot",
    )
    made = []
    for number, text in enumerate(texts):
        words = text.split()
        tree = tree_of(words, [-1] * len(words), ["dep"] * len(words))
        if words[-1] == "cannot":
            spans = np.concatenate([tree.spans, tree.spans[-1:]])
            tree = Words(spans, np.full(3, -1), ("dep",) * 3)
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
    tokenised = tokenise(model.tokenizer, sentences(), 64)
    with read_word_maps(model, sentences(), max_length=64, **how) as maps:
        assert (sum(done), maps.kept.all(), maps.special) == (4, True, name == "bert")
        for number, (each, layers) in enumerate(
            zip(tokenised, plain_layers(model_of(name), tokenised), strict=True)
        ):
            example = example_of(each, each.passage.words, False)
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
    sizes = np.array([each.size for each in tokenised])
    longest = int(np.sort(sizes)[1])
    with read_word_maps(model, sentences(), max_length=longest, **how) as cut:
        np.testing.assert_array_equal(cut.kept, sizes <= longest)
        assert [bool((cut(number) > 0).any()) for number in range(4)] == cut.kept.tolist()
