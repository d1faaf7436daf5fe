"""Every architecture is opened once and asked many questions; those of ``USUAL`` by default, all in CI."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headroles import score
from headroles.arrays import selection_of
from headroles.errors import BadInput
from headroles.extraction import (
    Ablator,
    Arm,
    Model,
    Tokenised,
    output_projections,
    pack_inputs,
    pad_inputs,
    run,
    tokenise,
    value_norms,
)
from headroles.records import Passage
from tests.support.annotated import EVERY, annotated
from tests.support.architectures import EAGER, FORMED, RETURNED, TABLE, architectures
from tests.support.read_models import (
    TEXTS,
    Kept,
    Together,
    batch_of,
    one_thread,
    plain_network,
    plain_run,
    ready,
)
from tests.support.read_models import opened as load_anew
from tests.support.reference import rounding_bound
from tests.support.streams import passages, plain_scores, streamed

PADDED = {"t5", "mt5", "umt5", "bart", "mbart", "pegasus", "gemma2", "gpt-oss"}
"""Architectures whose examples cannot stand in one row: biases, no positions, caps and sinks."""
FIRST = {"roberta": 2, "xlm-roberta": 2, "camembert": 2}
"""Position of the first token, where it is not 0."""
SINKS, FULL = ("gpt-oss",), ("xlnet",)
"""Architectures whose rows sum to less than 1, and those that the library runs in float32 only."""
MOVED = 1e-3
"""Weights that differ by more are of another model."""
ROW = {"bfloat16": 4e-3, "float16": 5e-4}
"""How far from 1 a row of rounded weights may sum."""
NEAR = {"bfloat16": 0.03, "float16": 0.005}
"""How far a weight of a model in half precision may lie from that in full precision."""
MIXES_PADDING = {"convbert"}
"""Architectures whose attention in a padded batch is not that of an input alone, which is not refused yet."""
every = pytest.mark.parametrize("name", architectures())
of_the_interface = pytest.mark.parametrize("name", architectures(lambda told: told.path != RETURNED))


def _inputs(model: Model, texts: Any = TEXTS) -> list[Tokenised]:
    read: list[Tokenised]
    read = tokenise(model.tokenizer, [Passage(str(n), (text,)) for n, text in enumerate(texts)], 96)
    return read


class Opened:
    """An architecture: its folder, our model by length, and the plain eager model on each text alone."""

    def __init__(self, name: str, folder: Path) -> None:
        """Take its name and folder."""
        self.name, self.told, self.folder = name, TABLE[name], folder
        self.network = plain_network(folder, "eager")
        self.inputs = _inputs(self.model())
        self.lengths = [each.size for each in self.inputs]
        alone = [{key: torch.tensor([ids]) for key, ids in each.inputs.items()} for each in self.inputs]
        with one_thread():
            self.alone = [plain_run(self.network, given, output_attentions=True) for given in alone]

    def model(self, max_length: int = 128) -> Model:
        """Our model; the way in which it is read depends on the longest input."""
        return ready(self.folder, max_length)

    def read(self, model: Model, packed: bool = False, reader: Kept | None = None) -> tuple[Any, Kept]:
        """All texts in one batch: the output, and a reader that keeps the attention."""
        kept = Kept() if reader is None else reader
        tensors = pack_inputs(model, self.inputs) if packed else pad_inputs(model, self.inputs)
        with one_thread():
            output, layers = run(model.network, model.way, tensors, self.lengths, kept)
        assert layers == model.layers
        return output, kept

    def check(self, kept: Kept, layers: int) -> None:
        """Compare what was kept with the plain model on each text alone, weights and visible keys."""
        for example, (n, plain) in enumerate(zip(self.lengths, self.alone, strict=True)):
            assert len(plain.attentions) == layers
            for layer, (weights,) in enumerate(plain.attentions):
                ours, close = kept.whole(layer, example), rounding_bound(n * layers)
                torch.testing.assert_close(ours, weights, rtol=0, atol=close)
                np.testing.assert_array_equal(kept.seen(layer, example), (weights > 0).any(0).numpy())


@pytest.fixture(scope="session")
def opened(model_of: Callable[[str], Path]) -> Callable[[str], Opened]:
    """An architecture by its name, opened once."""
    return cache(lambda name: Opened(name, model_of(name)))


Open = Callable[[str], Opened]


@every
def test_attention_visible_keys_and_output_are_the_plain_models_on_each_input_alone(
    name: str, opened: Open, request: pytest.FixtureRequest
) -> None:
    if name in MIXES_PADDING:
        request.node.add_marker(pytest.mark.xfail(strict=True, reason="padding is mixed in"))
    it = opened(name)
    for max_length in (128, 512):
        model = it.model(max_length)
        assert model.way.name == (EAGER if it.told.path == FORMED and max_length == 128 else it.told.path)
        assert model.described["capture"] == model.way.name
        assert model.way.causal == it.told.causal
        output, kept = it.read(model)
        it.check(kept, model.layers)
        for example, (n, plain) in enumerate(zip(it.lengths, it.alone, strict=True)):
            close = rounding_bound(n * model.layers, float(plain[0].abs().max()))
            torch.testing.assert_close(output[example, :n], plain[0][0], rtol=0, atol=close)


@every
def test_heads_of_keys_and_values_are_counted_from_the_tensors(name: str, opened: Open) -> None:
    model = opened(name).model()
    shared = TABLE[name].key_heads or (model.heads,) * model.layers
    counted = model.described["kv_heads"]
    assert ([counted] * model.layers if isinstance(counted, int) else counted) == list(shared)
    assert isinstance(counted, int) == (len(set(shared)) == 1)


@every
def test_padding_on_the_left_gives_the_same_attention_unless_positions_are_absolute(
    name: str, opened: Open
) -> None:
    it = opened(name)
    model = it.model(512 if it.told.path == FORMED else 128)
    _, ours = it.read(model)
    left, _ = batch_of(model, side="left")
    furthest = 0.0
    for layer, weights in enumerate(plain_run(it.network, left, output_attentions=True).attentions):
        for example, n in enumerate(it.lengths):
            own = weights[example, :, -n:, -n:]
            furthest = max(furthest, float((ours.whole(layer, example) - own).abs().max()))
            np.testing.assert_array_equal(ours.seen(layer, example), (own > 0).any(0).numpy())
    if it.told.rigid:
        assert furthest > MOVED
    else:
        assert furthest <= rounding_bound(max(it.lengths) * model.layers)


@every
def test_even_attention_over_what_a_model_sees_scores_0_in_every_sieve(name: str, opened: Open) -> None:
    it = opened(name)
    _, kept = it.read(it.model())
    rng = np.random.default_rng(7)
    masks = {(seen := kept.seen(*place)).tobytes(): seen for place in kept.rows}
    for seen in masks.values():
        example = annotated(rng, [len(seen) // 2, len(seen) - len(seen) // 2], specials=False)
        even = (seen / seen.sum(axis=1, keepdims=True))[None, None]
        flat = score(even, example, EVERY, visible=seen)
        known = np.array([own.item() for own in flat.values()])
        np.testing.assert_allclose(np.nan_to_num(known), 0, rtol=0, atol=1e-9)
        assert np.isfinite(known).mean() > (0.5 if len(seen) > 9 else 0)
        for column, own in score(even, example, EVERY, visible=seen, statistic="bias").items():
            wanted = 0 if column.endswith(":matched") or column.startswith("bag") else 1
            assert np.isnan(own) or abs(own - wanted) <= 1e-9, column


@of_the_interface
def test_packed_examples_are_read_as_the_plain_model_reads_each_alone(name: str, opened: Open) -> None:
    it = opened(name)
    for max_length in (128, 512):
        model = it.model(max_length)
        assert (model.way.packs is None) == (name in PADDED)
        if model.way.packs is None:
            continue
        assert (model.way.packs.first, model.way.packs.most) == (FIRST.get(name, 0), None)
        reader = Together(it.lengths)
        it.read(model, packed=True, reader=reader)
        assert reader.padding == 0
        it.check(reader, model.layers)


@every
def test_models_in_half_precision_are_read_within_the_stated_bounds(name: str, opened: Open) -> None:
    it = opened(name)
    if name in FULL:
        with pytest.raises(BadInput, match=r"failed at that \(RuntimeError: .*cannot be labelled"):
            ready(it.folder, dtype="bfloat16")
        return
    _, full = it.read(it.model())
    for dtype in ROW if it.told.path != FORMED else ["bfloat16"]:
        model = ready(it.folder, dtype=dtype)
        assert model.way.name == it.told.path
        _, half = it.read(model)
        for place in half.rows:
            rows = half.whole(*place)
            assert rows.dtype == torch.float32
            torch.testing.assert_close(rows, full.whole(*place), rtol=0, atol=3 * NEAR[dtype])
            sums = rows.sum(-1)
            if name in SINKS:
                assert 0 < sums.min() < sums.max() < 1
            else:
                bound = rounding_bound(rows.shape[-1]) if model.way.name == FORMED else ROW[dtype]
                assert (sums - 1).abs().max() <= bound


@of_the_interface
def test_outputs_of_heads_times_their_projections_add_up_to_the_output_of_the_module(
    name: str, opened: Open
) -> None:
    model = opened(name).model()
    inputs, _ = batch_of(model, TEXTS[:1])
    before = model.network.config._attn_implementation
    found = output_projections(model.network, inputs)
    assert model.network.config._attn_implementation == before
    assert (len(found), {each.heads for each in found}) == (model.layers, {model.heads})
    given: list[tuple[torch.Tensor, torch.Tensor]] = []
    modules = {each.module for each in found}
    assert len(modules) == (1 if name == "albert" else model.layers)
    hooks = [
        each.register_forward_hook(lambda _, heads, out: given.append((heads[0], out))) for each in modules
    ]
    with torch.inference_mode():
        model.network(**inputs)
    for hook in hooks:
        hook.remove()
    for projection, (heads, expected) in zip(found, given, strict=True):
        outputs = heads.reshape(-1, model.heads, projection.weight.shape[1])
        total = torch.einsum("qhd,hdD->qD", outputs, projection.weight.detach())
        if projection.bias is not None:
            total = total + projection.bias.detach()
        close = rounding_bound(32 * 4, float(expected.abs().max()))
        torch.testing.assert_close(total, expected.reshape(total.shape), rtol=0, atol=close)


@of_the_interface
def test_norms_weigh_every_visible_key_and_keep_the_output(name: str, opened: Open) -> None:
    it = opened(name)
    plain = it.model()
    inputs, _ = batch_of(plain, TEXTS[:1])
    norms = value_norms(plain.network, inputs, plain.way.modules, everywhere=True)
    model = replace(plain, way=replace(plain.way, norms=norms))
    output, kept = it.read(model)
    same, unweighted = it.read(plain)
    assert torch.equal(output, same)
    for place in kept.rows:
        whole, attention = kept.whole(*place), unweighted.whole(*place)
        torch.testing.assert_close(whole.sum(-1), torch.ones(whole.shape[:2]), rtol=0, atol=1e-5)
        assert bool(((whole > 0) == (attention > 0)).all())
        assert float((whole - attention).abs().max()) > 1e-4


@pytest.mark.parametrize("name", architectures(lambda told: told.path == RETURNED))
def test_models_outside_the_interface_have_no_projections_and_no_norms(name: str, opened: Open) -> None:
    it = opened(name)
    with pytest.raises(BadInput, match=r"interface, but \w+ does not; take another"):
        output_projections(it.model().network, batch_of(it.model(), TEXTS)[0], advice="take another")
    with pytest.raises(BadInput, match=r"does not; use --weights attention, without the sieve parked"):
        ready(it.folder, norms="all")


@of_the_interface
def test_a_head_taken_out_is_one_set_to_0_by_hand_and_taking_out_none_changes_nothing(
    name: str, opened: Open
) -> None:
    it = opened(name)
    model = load_anew(it.folder)  # an ablator sets an attention function of its own
    head, layer = model.heads - 1, model.layers - 1
    ablator = Ablator(model, ["tokens", "representation"])
    arms = [Arm("zero", ()), Arm("zero", ((layer, head),)), Arm("even", ())]
    effects = ablator.measure(it.inputs, ["a", "b", "c"], None, arms)
    for outcome in ("tokens", "representation"):
        assert (effects.values[outcome][[0, 2]] == 0).all()
        assert (effects.values[outcome][1] > 0).all()
    module = output_projections(model.network, batch_of(model, TEXTS[:1])[0])[layer].module
    for place, each in enumerate(it.inputs):
        tensors = {key: torch.tensor([ids]) for key, ids in each.inputs.items()}
        with torch.inference_mode():
            clean = model.network(**tensors)[0].double()
            changed = _without(model, module, head, tensors).double()
        apart = 1 - torch.nn.functional.cosine_similarity(clean, changed, dim=-1)
        np.testing.assert_allclose(effects.by_token["tokens"][place][1], apart[0], rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(effects.values["tokens"][1, place], apart.mean(), rtol=1e-3, atol=1e-6)


def _without(model: Model, module: Any, head: int, tensors: dict[str, torch.Tensor]) -> torch.Tensor:
    """The output where the last call of a projection gets zeros of one head."""
    calls: list[int] = []
    uses = model.layers if hasattr(model.network, "encoder") and _shared(model) else 1

    def zero(module: Any, given: Any) -> Any:
        calls.append(1)
        own = given[0].clone()
        if len(calls) == uses:
            own.view(*own.shape[:-1], -1)[..., _part(own, head, model.heads)] = 0
        return (own, *given[1:])

    hook = module.register_forward_pre_hook(zero)
    output: torch.Tensor = model.network(**tensors)[0]
    hook.remove()
    assert len(calls) == uses
    return output


def _part(own: torch.Tensor, head: int, heads: int) -> slice:
    size = own.shape[-1] // heads
    return slice(head * size, (head + 1) * size)


def _shared(model: Model) -> bool:
    """Whether all layers are one module."""
    shared: bool = model.described["architecture"] == "AlbertModel"
    return shared


@every
def test_streamed_scores_are_those_of_plain_attention_in_float64(
    name: str, opened: Open, request: pytest.FixtureRequest
) -> None:
    if name in MIXES_PADDING:
        request.node.add_marker(pytest.mark.xfail(strict=True, reason="padding is mixed in"))
    it = opened(name)
    names = [
        "local",
        "delimiter",
        "block",
        "syntactic",
        "syntactic:obj",
        "previous",
        "identical",
        "bag-of-words",
    ]
    for texts, statistic in ((2, "selectivity"), (1, "bias")):
        given, sieves = passages(texts, 4), selection_of(names, statistic=statistic)
        wanted = plain_scores(it.model(), it.network, given, names, statistic)
        for max_length in (128, 512):
            shard = streamed(it.model(max_length), given, sieves, size=3)
            close = rounding_bound(96, magnitude=1 if statistic == "selectivity" else 10)
            np.testing.assert_allclose(shard.values, wanted, rtol=0, atol=close)
        said = np.isfinite(wanted).any(axis=(1, 2, 3))
        assert said.sum() >= len(names) - 3
