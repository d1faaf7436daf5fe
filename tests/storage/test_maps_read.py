"""Stored maps and attention of other tools give every command the numbers of the model that made them."""

import csv
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import headroles
from headroles import Example, Labelling
from headroles.errors import BadInput
from tests.support.reference import rounding_bound

ModelOf = Callable[..., Path]
SIEVES = ["local", "delimiter", "block", "previous"]
TOKENS = ("it", "rains", "again")


def assert_close(one: Labelling, other: Labelling, close: float = rounding_bound(64)) -> None:
    """Check that two runs have the same scores up to rounding, and the same decisions."""
    assert (one.scores.sieves, one.scores.units) == (other.scores.sieves, other.scores.units)
    for name in ("tokens", "cells", "null"):
        np.testing.assert_allclose(getattr(one.scores, name), getattr(other.scores, name))
    np.testing.assert_allclose(one.scores.values, other.scores.values, rtol=0, atol=close)
    if one.surface is None:  # else entropies are bounded by the longest input of each
        mine, theirs = ([(rule.low, rule.high) for rule in run.findings.rules] for run in (one, other))
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)
        np.testing.assert_array_equal(one.findings.decision, other.findings.decision)


@pytest.fixture
def pairs(table: Path, tmp_path: Path) -> Path:
    """The table of pairs in the layout that extract reads."""
    with table.open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))[:30]
    made = [{"text": [row["question"], row["sentence"]], "group": row["document"]} for row in rows]
    place = tmp_path / "pairs.jsonl"
    place.write_text("\n".join(map(json.dumps, made)))
    return place


def stored(file: Path, arrays: list[np.ndarray], rows: Any) -> Path:
    """Store maps from anywhere with a list of their inputs."""
    content: dict[str, Any] = {str(number): array for number, array in enumerate(arrays)}
    np.savez(file, **content)
    file.with_suffix(".json").write_text(json.dumps(rows))
    return file


def rows_of(count: int, size: int, **more: Any) -> list[dict[str, Any]]:
    """Return a list of inputs of different tokens."""
    return [{"tokens": [f"{number}.{place}" for place in range(size)], **more} for number in range(count)]


@pytest.mark.parametrize(
    ("name", "ending"), [("bert", ".npz"), pytest.param("mistral", ".safetensors", marks=pytest.mark.ci)]
)
def test_stored_maps_give_every_kind_of_run_the_numbers_of_the_model_that_made_them(
    name: str, ending: str, pairs: Path, table: Path, model_of: ModelOf, tmp_path: Path
) -> None:
    maps, model = tmp_path / f"maps{ending}", model_of(name)
    headroles.extract(pairs, out=maps, model=model, precision="float32", max_length=300)
    inputs: dict[str, Any] = {"first": 30, "data": table, "group": "document", "model": model}
    inputs["max_length"] = 300
    stored_run = headroles.label(attention=maps, sieve=SIEVES, out=tmp_path / "run")
    assert_close(stored_run, headroles.label("QNLI", sieve=SIEVES, maps=0, **inputs))
    facts = headroles.load(tmp_path / "run").manifest
    assert (facts["source"]["kind"], facts["model"]["capture"]) == ("maps", "stored maps")
    assert_close(headroles.surface(attention=maps), headroles.surface("QNLI", **inputs), 1e-5)
    options: dict[str, Any] = {"sieve": ["local"], "draws": 20, "maps": 0}
    one, other = headroles.cluster(attention=maps, **options), headroles.cluster("QNLI", **options, **inputs)
    assert one.clustered is not None
    assert other.clustered is not None
    np.testing.assert_allclose(
        one.clustered.divergence.sums, other.clustered.divergence.sums, rtol=0, atol=1e-5
    )
    for sieves, told in ((["local", "syntactic"], True), (["local"], False)):
        skipped = headroles.label(attention=maps, preset="published", sieve=sieves).skipped
        said = "Stored maps have no tokenizer: the preset 'published' counts pairs of the texts as they are"
        assert any(sentence.startswith(said) for sentence in skipped) == told


@pytest.mark.parametrize("words", [False, True])
def test_probes_of_stored_maps_answer_as_the_model(words: bool, model_of: ModelOf, tmp_path: Path) -> None:
    rng, rows = np.random.default_rng(11), list[dict[str, Any]]()
    for number, size in enumerate((7, 12, 3, 9, 5, 8, 4, 6, 10, 3)):
        heads = [0, *(int(rng.integers(1, word)) for word in range(2, size + 1))]
        relations = ["root", *rng.choice(["nsubj", "obj", "det"], size - 1).tolist()]
        spelled = rng.choice(["the", "committee", "decide", "treaty", "it", "was"], size).tolist()
        row = {"words": spelled, "heads": heads, "relations": relations, "clusters": [[[0, 1], [2, 3]]]}
        rows.append(row | {"group": f"g{number // 2}", "key": str(number)})
    file, maps, model = tmp_path / "in.jsonl", tmp_path / "m.safetensors", model_of("bert")
    file.write_text("\n".join(map(json.dumps, rows)))
    headroles.extract(file, out=maps, model=model, precision="float32", word_level=words)
    asked: dict[str, Any] = {"probes": ["dependency", "trees", "coreference"], "relations": "nsubj,obj"}
    one = headroles.probe(**asked, attention=maps)
    other = headroles.probe(**asked, data=file, model=model, max_length=200)
    keys, others = ([key.rpartition("/")[2] for key in run.scores.examples] for run in (one, other))
    assert keys == others
    assert one.scores.sieves == other.scores.sieves
    answers = [not name.endswith(":matched") for name in one.scores.sieves]
    mine, theirs = one.scores.values[answers], other.scores.values[answers]
    np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-6)
    counts: Any = one.probed and one.probed.tallies
    plain: Any = other.probed and other.probed.tallies
    drawn = counts.baselines.index("random tree")  # by the name of the document
    np.testing.assert_array_equal(counts.items, plain.items)
    np.testing.assert_array_equal(np.delete(counts.hits, drawn, 2), np.delete(plain.hits, drawn, 2))


def test_scores_of_stored_maps_are_those_of_plain_arrays_in_what_queries_see(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    visible, arrays, rows = [[-3, 0], [None, 0]], [], []
    offset = np.arange(9)[None, :] - np.arange(9)[:, None]
    seen = [(offset <= 0) & (offset >= -3), offset <= 0]
    for row in rows_of(5, 9):
        weights = rng.random((2, 3, 9, 9)) * np.stack(seen)[:, None]
        arrays.append(weights / weights.sum(axis=-1, keepdims=True))
        rows.append(row | {"segment": [-1, 0, 0, 0, -1, 1, 1, 1, -1], "visible": visible, "first": [0]})
    found = headroles.label(attention=stored(tmp_path / "any.npz", arrays, rows), sieve=["previous", "first"])
    for number, (array, row) in enumerate(zip(arrays, rows, strict=True)):
        example = Example("e", tuple(row["tokens"]), segment=np.array(row["segment"]))
        for layer in range(2):
            plain = headroles.score(array[layer][None], example, ["previous", "first"], visible=seen[layer])
            for column, wanted in plain.items():
                got = found.scores.values[found.scores.sieves.index(column), number, layer]
                np.testing.assert_allclose(got, wanted[0], rtol=0, atol=3e-6)
    assert np.isfinite(found.scores.values).any(axis=(1, 3)).all()


def test_maps_from_anywhere_need_only_their_tokens(tmp_path: Path) -> None:
    rng, arrays, rows = np.random.default_rng(3), [], []
    for number in range(20):
        n = int(rng.integers(6, 12))
        even = np.full((2, 2, n, n), 1 / n)
        even[0, 1] = 0.9 * np.eye(n)[:, [*range(1, n), n - 1]].T + 0.1 / n
        arrays.append(even.astype(np.float32))
        rows.append({"tokens": [f"w{number}.{place}" for place in range(n)], "attns": str(number)})
    model = {"name": ["odd"], "kv_heads": ["x"], "threads": "many", "note": "mine"}
    found = headroles.label(
        attention=stored(tmp_path / "any.npz", arrays, {"examples": rows, "model": model})
    )
    assert any("local" in roles.split(";") for roles in found.labels()["roles"])
    assert [name for name in found.scores.sieves if name.startswith("syntactic")] == []
    assert sum("syntactic" in each and "left out" in each for each in found.skipped) == 5
    wanted = {"name": "any", "origin": "stored maps", "note": "mine", "blocks": 2, "heads": 2}
    assert found.manifest["model"].items() >= wanted.items()
    assert "kv_heads" not in found.manifest["model"]


def test_rows_under_1_are_refused_unless_the_list_says_sinks(tmp_path: Path) -> None:
    half, rows = [np.full((1, 1, 6, 6), 0.1, dtype=np.float32)] * 3, rows_of(3, 6)
    file = stored(tmp_path / "sink.npz", half, rows)
    with pytest.raises(BadInput, match="sums to 1 over the keys"):
        headroles.label(attention=file, sieve=["local"])
    for written in (
        stored(file, half, {"sinks": True, "examples": rows}),
        headroles.write_maps(tmp_path / "written.npz", [*zip(half, rows, strict=True)], sinks=True).file,
    ):
        found = headroles.label(attention=written, sieve=["local"])
        np.testing.assert_allclose(found.scores.values, 0, atol=rounding_bound(6))


def test_damaged_and_pickled_maps_are_never_read(tmp_path: Path) -> None:
    file = stored(tmp_path / "odd.npz", [np.full((1, 1, 3, 3), 1 / 3)], rows_of(2, 3))
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("1", b"no array")
    with pytest.raises(BadInput, match=r"read from a whole \.npz file.*its entry '1' is no array"):
        headroles.label(attention=file, sieve=["local"])
    objects: Any = np.array([{"a": 1}], dtype=object)
    with pytest.raises(BadInput, match=r"its entry '0\.npy' holds pickled objects"):
        headroles.label(attention=stored(tmp_path / "evil.npz", [objects], rows_of(1, 1)), sieve=["local"])
    file.write_bytes(b"PK\x03\x04 cut")
    with pytest.raises(BadInput, match=r"read from a whole \.npz file"):
        headroles.label(attention=file)


def test_arrays_and_tensors_by_layer_are_shown_as_one_array_is() -> None:
    import torch

    tokens = ["[CLS]", "it", "rain", "##s", "[SEP]"]
    attention = np.random.default_rng(2).dirichlet(np.ones(5), size=(2, 3, 5))
    wanted = headroles.view(attention, tokens).view.maps[0]
    np.testing.assert_array_equal(wanted.weights, np.rint(attention * 255).astype(np.uint8))
    assert not wanted.queries.special.any()
    layers = tuple(torch.from_numpy(layer)[None] for layer in attention)
    for given in (torch.from_numpy(attention), layers, list(attention)):
        np.testing.assert_array_equal(headroles.view(given, tokens).view.maps[0].weights, wanted.weights)
    chosen = headroles.view(attention, tokens, layers=1, heads="0,2").view.maps[0]
    np.testing.assert_array_equal(chosen.weights, wanted.weights[[1]][:, [0, 2]])
    named = headroles.view(attention, tokens, segments=[-1, 0, 1, 1, -1]).view
    assert (named.texts, named.maps[0].queries.segment.tolist()) == (("it", "rain ##s"), [-1, 0, 1, 1, -1])
    assert named.maps[0].queries.special.tolist() == [True, False, False, False, True]


class Cache:
    """Activations by name, as TransformerLens keeps them: no mapping, but with keys."""

    def __init__(self, activations: dict[str, Any]) -> None:
        self.keys = activations.keys
        self._activations = activations

    def __getitem__(self, name: str) -> Any:
        return self._activations[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._activations)


def weights_of(layers: int = 11, size: int = 3, seed: int = 0) -> Any:
    """Return random weights (layers, 2 inputs, 2 heads, size, size) whose rows sum to 1."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    return torch.randn(layers, 2, 2, size, size, generator=generator).softmax(-1)


def cache_of(weights: Any, name: str = "blocks.{}.attn.hook_pattern") -> dict[str, Any]:
    """Return a cache with these weights, in the order in which names sort as text."""
    kept = {name.format(layer): own for layer, own in enumerate(weights)}
    return {"hook_embed": weights[0]} | dict(sorted(kept.items()))


def test_a_cache_of_transformer_lens_gives_its_weights_in_the_order_of_layers() -> None:
    import torch

    weights = weights_of()
    attention, tokens = headroles.from_transformer_lens(Cache(cache_of(weights)), TOKENS, batch=1)
    assert (tokens, attention.dtype) == (TOKENS, np.dtype(np.float32))
    np.testing.assert_array_equal(attention, weights[:, 1].numpy())
    attention, tokens = headroles.from_transformer_lens(Cache(cache_of(weights[:, 0])))
    assert tokens == ("0", "1", "2")
    np.testing.assert_array_equal(attention, weights[:, 0].numpy())
    half = cache_of(weights.to(torch.bfloat16).requires_grad_())
    assert headroles.from_transformer_lens(half)[0].dtype == np.float32
    encoder, decoder = weights_of(2, seed=1), weights_of(2, size=4, seed=2)
    cache = cache_of(encoder, "encoder.{}.attn.hook_pattern") | cache_of(
        decoder, "decoder.{}.attn.hook_pattern"
    )
    cache |= cache_of(torch.full((2, 2, 2, 4, 3), 1), "decoder.{}.cross_attn.hook_pattern")
    for name, own in (("encoder", encoder), ("decoder", decoder)):
        attention, _ = headroles.from_transformer_lens(cache, stack=name)
        np.testing.assert_array_equal(attention, own[:, 0].numpy())
    with pytest.raises(BadInput, match="the cache has decoder and encoder; name one as stack"):
        headroles.from_transformer_lens(cache)


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_is_cut_off_on_its_side_and_rows_may_sum_to_less_where_there_are_sinks(side: str) -> None:
    import torch

    own, padded = weights_of(), torch.full((11, 2, 2, 5, 5), 0.2)
    kept = slice(2, 5) if side == "left" else slice(0, 3)
    padded[..., kept, :] = 0
    padded[..., kept, kept] = own
    for read, source in (
        (headroles.from_transformer_lens, cache_of(padded)),
        (headroles.from_nnsight, list(padded)),
    ):
        attention, _ = read(source, TOKENS, padding=side)
        np.testing.assert_array_equal(attention, own[:, 0].numpy())
        with pytest.raises(BadInput, match=r"every row of attention sums to 1 .* without padding"):
            read(source, TOKENS, padding={"left": "right", "right": "left"}[side])
    with pytest.raises(BadInput, match="give sinks=True"):
        headroles.from_nnsight(list(own / 2))
    assert headroles.from_nnsight(list(own / 2), sinks=True)[0].sum(-1).max() < 0.51


def test_saves_of_nnsight_of_every_kind_give_the_same_attention() -> None:
    weights = weights_of()
    hidden = weights[0][..., 0]
    saves: list[Any] = [
        list(weights), [own.numpy() for own in weights], [SimpleNamespace(value=own) for own in weights],
        SimpleNamespace(value=list(weights)),
        [(hidden, own) for own in weights], [SimpleNamespace(value=(hidden, own, None)) for own in weights],
        dict(sorted(enumerate(weights), key=lambda pair: str(pair[0]))),
        {f"model.transformer.h.{layer}.attn": own for layer, own in enumerate(weights)},
        {f"layers.{layer}.attn": SimpleNamespace(output=(hidden, own)) for layer, own in enumerate(weights)},
    ]  # fmt: skip
    for given in saves:
        attention, tokens = headroles.from_nnsight(given, TOKENS, batch=1)
        assert tokens == TOKENS
        np.testing.assert_array_equal(attention, weights[:, 1].numpy())
    with pytest.raises(BadInput, match="the saves lacks layer 1 of 3"):
        headroles.from_nnsight({0: weights[0], 2: weights[0]})


def test_inputs_of_stored_maps_without_texts_are_told_by_their_keys_and_groups(tmp_path: Path) -> None:
    chance = np.random.default_rng(0)
    arrays = [chance.dirichlet(np.ones(4), (2, 3, 4)).astype(np.float32) for _ in range(6)]
    rows = [{"tokens": ["p0", "p1", "p2", "p3"], "group": f"image {min(place, 4)}"} for place in range(6)]
    for named, units in ((rows, 5), ([{"tokens": row["tokens"]} for row in rows], 6)):
        run = headroles.label(attention=stored(tmp_path / "m.npz", arrays, named), sieve=["local"])
        assert (run.manifest["counts"]["examples"], run.manifest["counts"]["units"]) == (6, units)
