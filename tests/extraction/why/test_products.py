"""Parts of contrasts are those of the plain model's logits, and planted queries and keys are found."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headroles.errors import BadInput
from headroles.extraction.capture import neurons as capture_neurons
from headroles.extraction.model.load import Model
from headroles.extraction.texts.tokens import Tokenised
from headroles.extraction.why.products import Families, InputProducts, mean_queries, read_products
from tests.support.causal.plain import inputs_of, open_model, plain_attention
from tests.support.causal.planted_queries import (
    BY_QUERY,
    CLASSES,
    ONE,
    ROTATED,
    SIZE,
    STRENGTH,
    THREE,
    Planted,
    class_of,
    plant,
)

ModelOf = Callable[[str], Path]
Cells = dict[str, np.ndarray]
ZOO = [("bert", None), ("roberta", None), ("distilbert", None), ("gpt2", None), ("llama", None),
       ("t5", "encoder"), ("t5", "decoder"), ("bart", "decoder")]  # fmt: skip


def _cells(tokenised: Tokenised, seed: int = 0) -> Cells:
    """Made-up roles of an input: random cells, the previous token, separators, and one without cells."""
    size = tokenised.size
    generator = np.random.default_rng(seed)
    special = np.flatnonzero(tokenised.texts < 0)
    return {
        "random": generator.random((size, size)) < 0.2,
        "previous": np.eye(size, k=-1, dtype=bool),
        "special": np.isin(np.arange(size), special)[None].repeat(size, 0),
        "nothing": np.zeros((size, size), dtype=bool),
    }


def _families(model: Model, roles: tuple[str, ...] = ("random", "previous", "nothing")) -> Families:
    """Every role at every head."""
    grid = [(role, layer, head) for head in range(model.heads) for layer in range(model.layers)
            for role in roles]  # fmt: skip
    names, layers, heads = zip(*grid, strict=True)
    return Families(names, np.array(layers), np.array(heads))


def _contrast(logits: np.ndarray, cells: np.ndarray, visible: np.ndarray) -> float:
    """Mean over rows of the mean of the cells less that of other visible keys, row by row."""
    rows = [
        logits[i, inside].mean() - logits[i, rest].mean()
        for i in range(len(logits))
        if (inside := cells[i] & visible[i]).any() and (rest := visible[i] & ~cells[i]).any()
    ]
    return float(np.mean(rows)) if rows else float("nan")


def _read(
    model: Model, tokenised: Tokenised, cells: Cells, families: Families, **given: Any
) -> InputProducts:
    settings: dict[str, Any] = {"queries": mean_queries(model, [tokenised]), "redeals": 0, "seed": 0}
    return read_products(model, tokenised, cells, families, **settings | given)


@pytest.mark.parametrize(("name", "kind"), ZOO)
def test_parts_and_bias_sum_to_the_contrast_of_the_plain_models_logits(
    name: str, kind: str | None, model_of: ModelOf
) -> None:
    model = open_model(model_of(name), kind=kind)
    tokenised = inputs_of(model)[0]
    families, cells = _families(model), _cells(tokenised)
    found = _read(model, tokenised, cells, families, redeals=2)
    weights, _ = plain_attention(model, tokenised, name, kind)
    for place, role in enumerate(families.roles):
        own = weights[families.layers[place]][families.heads[place]].double().numpy()
        # A row's logarithm of attention is its logits less one number, which a contrast does not see.
        wanted = _contrast(np.log(np.maximum(own, 1e-300)), cells[role], own > 0)
        got = found.parts[place].sum() + found.bias[place]
        np.testing.assert_allclose(got, wanted, atol=2e-5)
        np.testing.assert_allclose(np.diag(found.outer[place]), found.parts[place], atol=1e-12)
    assert np.isnan(found.parts).any(1).tolist() == [role == "nothing" for role in families.roles]
    assert bool(np.nan_to_num(found.bias).any()) == (name == "t5")
    silent = np.isnan(found.parts).any(1)
    for array in (found.vertical, found.bias, found.outer, found.redealt):
        assert np.isnan(array[silent]).all()
        assert np.isfinite(array[~silent]).all()


def test_products_are_those_of_loops_over_queries_and_keys(model_of: ModelOf) -> None:
    model = open_model(model_of("bert"))
    inputs = inputs_of(model)
    kept: dict[str, torch.Tensor] = {}
    layer = model.network.encoder.layer[1].attention.self
    handles = [
        getattr(layer, part).register_forward_hook(
            lambda module, given, output, part=part: kept.update({part: output[0].double()})
        )
        for part in ("query", "key")
    ]
    sums, count, head, size = np.zeros(8), 0, 2, 8
    own = slice(head * size, (head + 1) * size)
    for tokenised in inputs[1:]:
        with torch.inference_mode():
            model.network(**{key: torch.tensor([ids]) for key, ids in tokenised.inputs.items()})
        sums += kept["query"].numpy()[tokenised.texts >= 0, own].sum(0)
        count += int((tokenised.texts >= 0).sum())
    with torch.inference_mode():
        model.network(**{key: torch.tensor([ids]) for key, ids in inputs[0].inputs.items()})
    query, key = kept["query"].numpy()[:, own], kept["key"].numpy()[:, own]
    for handle in handles:
        handle.remove()
    means = mean_queries(model, inputs[1:])
    assert means.shape == (2, 4, 8)
    assert means.dtype == np.float64
    np.testing.assert_allclose(means[1, head], sums / count, atol=1e-6)
    cells = _cells(inputs[0])
    families = Families(("random",), np.array([1]), np.array([head]))
    found = _read(model, inputs[0], cells, families, queries=means)
    outer, rows = np.zeros((size, size)), 0
    for i, inside in enumerate(cells["random"]):
        if inside.any() and not inside.all():
            rows += 1
            outer += size**-0.5 * np.outer(query[i], key[inside].mean(0) - key[~inside].mean(0))
    np.testing.assert_allclose(found.outer[0], outer / rows, atol=1e-6)
    scores = size**-0.5 * (key @ means[1, head])[None].repeat(len(key), 0)
    vertical = _contrast(scores, cells["random"], np.ones_like(cells["random"]))
    np.testing.assert_allclose(found.vertical[0], vertical, atol=1e-6)


@pytest.fixture(scope="module")
def planted(tokenizer_of: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory) -> Planted:
    return plant(tmp_path_factory.mktemp("models") / "planted", tokenizer_of("bert"))


def test_planted_queries_and_keys_are_found(planted: Planted) -> None:
    model = planted.model
    tokenised = inputs_of(model)[0]
    size, ids = tokenised.size, np.array(tokenised.inputs["input_ids"])
    separator = ids == model.tokenizer.sep_token_id
    words = tokenised.texts >= 0
    same = (class_of(ids)[:, None] == class_of(ids)[None]) & words[:, None] & words[None]
    cells = {"separator": separator[None].repeat(size, 0), "same": same}
    families = Families(
        ("separator",) * 3 + ("same",), np.zeros(4, dtype=np.int64), np.array([ONE, THREE, ROTATED, BY_QUERY])
    )
    found = _read(model, tokenised, cells, families)
    contrast = STRENGTH / np.sqrt(SIZE)
    np.testing.assert_allclose(found.parts.sum(1), contrast, rtol=1e-5)
    np.testing.assert_allclose(found.parts[ONE], contrast * np.eye(SIZE)[0], atol=1e-5)
    np.testing.assert_allclose(found.parts[THREE], contrast / 3 * (np.arange(SIZE) < 3), atol=1e-5)
    np.testing.assert_allclose(found.parts[ROTATED], contrast * planted.rotation[:, 0] ** 2, atol=1e-5)
    back = planted.rotation.T @ found.outer[ROTATED] @ planted.rotation
    np.testing.assert_allclose(back, contrast * np.outer(np.eye(SIZE)[0], np.eye(SIZE)[0]), atol=1e-5)
    np.testing.assert_allclose(found.vertical[:BY_QUERY], contrast, rtol=1e-5)
    share = np.bincount(class_of(ids)[words], minlength=CLASSES) / words.sum()
    kept = np.array([share[number] for number in class_of(ids)[words]])
    # The mean query knows only how frequent a class is, so it favours keys of the query's class by that.
    assert (
        0
        < found.vertical[BY_QUERY]
        == pytest.approx(
            contrast * np.mean(kept - _other_share(same[words], class_of(ids), words, share)), rel=1e-4
        )
    )
    assert np.linalg.matrix_rank(found.outer[:BY_QUERY], tol=1e-4).tolist() == [1, 1, 1]
    assert np.linalg.matrix_rank(found.outer[BY_QUERY], tol=1e-4) == CLASSES


def _other_share(same: np.ndarray, classes: np.ndarray, words: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Mean of the mean query's product with the keys outside the cells of each row, without the strength."""
    product = np.where(words, share[classes], 0.0)
    return np.array([product[~row].mean() for row in same])


def test_re_deals_of_previous_tokens_change_nothing_and_those_of_others_do(model_of: ModelOf) -> None:
    model = open_model(model_of("gpt2"))
    tokenised = inputs_of(model)[0]
    families = _families(model, ("previous", "random"))
    found = _read(model, tokenised, _cells(tokenised), families, redeals=3)
    assert found.redealt.shape == (len(families), 3, 8, 8)
    assert found.redealt.dtype == np.float32
    previous = np.array([role == "previous" for role in families.roles])
    still = np.broadcast_to(found.outer[:, None], found.redealt.shape)
    np.testing.assert_allclose(found.redealt[previous], still[previous], atol=1e-5)
    moved = np.abs(found.redealt[~previous] - still[~previous]).max((2, 3))
    assert (moved > 1e-3).all()


def test_re_deals_are_those_of_their_seed_input_and_role(model_of: ModelOf) -> None:
    model = open_model(model_of("bert"))
    first = inputs_of(model)[0]
    cells, families = _cells(first), _families(model)
    whole = _read(model, first, cells, families, redeals=4)
    chosen = [place for place, role in enumerate(families.roles)
              if role == "random" and families.layers[place] == 1][1:3]  # fmt: skip
    alone = Families(("random",) * 2, families.layers[chosen], families.heads[chosen])
    part = _read(model, first, cells, alone, redeals=4)
    np.testing.assert_allclose(part.redealt, whole.redealt[chosen], atol=1e-6)
    np.testing.assert_allclose(part.parts, whole.parts[chosen], atol=1e-12)
    other = _read(model, first, cells, alone, redeals=4, seed=1)
    assert np.abs(other.redealt - part.redealt).max() > 1e-3
    assert np.array_equal(other.parts, part.parts)


def test_windows_leave_cells_out_that_a_layer_does_not_show(model_of: ModelOf) -> None:
    model = open_model(model_of("mistral"))
    tokenised = inputs_of(model)[0]
    first = np.zeros((tokenised.size, tokenised.size), dtype=bool)
    first[:, 0] = True
    assert tokenised.size > 8
    families = _families(model, ("first",))
    found = _read(model, tokenised, {"first": first}, families)
    shown = first.copy()
    shown[6:] = False  # its window is of 6 tokens
    again = _read(model, tokenised, {"first": shown}, families)
    np.testing.assert_array_equal(found.parts, again.parts)
    assert np.isfinite(found.parts).all()


def test_parts_of_capped_logits_are_those_before_the_cap(model_of: ModelOf) -> None:
    model = open_model(model_of("gemma2"))
    tokenised = inputs_of(model)[0]
    cells, families = _cells(tokenised), _families(model, ("random",))
    found = _read(model, tokenised, cells, families)
    weights, _ = plain_attention(model, tokenised, "gemma2")
    capped = [
        _contrast(np.log(np.maximum(own, 1e-300)), cells["random"], own > 0)
        for layer, head in zip(families.layers, families.heads, strict=True)
        for own in [weights[layer][head].double().numpy()]
    ]
    assert np.abs(found.parts.sum(1) - capped).max() > 1e-3


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_results_do_not_depend_on_threads_and_attention_is_read_as_before(
    name: str, model_of: ModelOf
) -> None:
    model = open_model(model_of(name))
    tokenised = inputs_of(model)[0]
    before = model.network.config._attn_implementation
    families, cells, threads = _families(model), _cells(tokenised), torch.get_num_threads()
    found = []
    for count in (1, 3):
        torch.set_num_threads(count)
        try:
            found.append(_read(model, tokenised, cells, families, redeals=2))
            assert torch.get_num_threads() == count
        finally:
            torch.set_num_threads(threads)
    for field in ("parts", "vertical", "bias", "outer", "redealt"):
        np.testing.assert_array_equal(getattr(found[0], field), getattr(found[1], field))
    assert model.network.config._attn_implementation == before


def test_models_that_do_not_show_queries_and_keys_are_refused(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = open_model(model_of("gptj"))
    with pytest.raises(
        BadInput, match=r"queries and keys are read from models that call .* GPTJModel does not"
    ):
        mean_queries(outside, inputs_of(outside))
    crossing = open_model(model_of("t5"), kind="cross")
    with pytest.raises(BadInput, match="within one text, but --kind is cross"):
        mean_queries(crossing, [])
    model = open_model(model_of("bert"))
    with pytest.raises(BadInput, match="2 reference inputs have none; give inputs with words"):
        mean_queries(model, inputs_of(model, ["\u200b", "\u200b"]))
    with pytest.raises(BadInput, match=r"BertModel has 3 layers and 2 calls of attention; its queries and"):
        mean_queries(replace(model, layers=3), inputs_of(model))
    honest = capture_neurons.parts_of

    def wrong(call: capture_neurons.Call, heads: Any) -> capture_neurons.Parts:
        parts = honest(call, heads)
        parts.query.mul_(1.01)
        return parts

    monkeypatch.setattr(capture_neurons, "parts_of", wrong)
    with pytest.raises(BadInput, match=r"layer 0 of BertModel are up to .* off; its queries and keys cannot"):
        mean_queries(model, inputs_of(model))
    monkeypatch.undo()

    def full(*given: Any) -> None:
        raise torch.OutOfMemoryError("out of memory")

    monkeypatch.setattr("headroles.extraction.why.calls.run_with_calls", full)
    with pytest.raises(BadInput, match=r"one input of \d+ tokens does not fit in the memory of cpu; give a"):
        mean_queries(model, inputs_of(model))
    monkeypatch.undo()
    broken = inputs_of(model)[0]
    broken.inputs["input_ids"][1] = 10**6
    with pytest.raises(BadInput, match=r"BertModel failed .*; its queries and keys cannot be read"):
        mean_queries(model, [broken])


def test_families_have_one_layer_and_head_each() -> None:
    with pytest.raises(BadInput, match="families have 'heads' as whole numbers"):
        Families(("a", "b"), np.array([0, 1]), np.array([0]))
