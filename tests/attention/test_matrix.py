"""Every architecture is opened once and asked many questions; those of ``USUAL`` by default, all in CI."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroles import extraction
from headroles.errors import BadInput
from headroles.records import Passage
from tests.support.architectures import EAGER, FORMED, RETURNED, TABLE, architectures
from tests.support.read_models import (
    TEXTS,
    Kept,
    Together,
    batch_of,
    in_threads,
    plain_network,
    plain_run,
    ready,
)
from tests.support.read_models import opened as load_anew
from tests.support.reference import rounding_bound

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
"""Architectures that read padding beside a short input: inputs of one length alone share a batch."""
every = pytest.mark.parametrize("name", architectures())
of_the_interface = pytest.mark.parametrize("name", architectures(lambda told: told.path != RETURNED))


class Opened:
    """An architecture: its folder, our model by length, and the plain eager model on each text alone."""

    def __init__(self, name: str, folder: Path) -> None:
        """Take its name and folder."""
        import torch

        self.told, self.folder = TABLE[name], folder
        self.network = plain_network(folder, "eager")
        asked = [Passage(str(number), (text,)) for number, text in enumerate(TEXTS)]
        self.inputs = extraction.tokenise(self.model().tokenizer, asked, 96)
        self.lengths = [each.size for each in self.inputs]
        self.tensors = [
            {key: torch.tensor([ids]) for key, ids in each.inputs.items()} for each in self.inputs
        ]
        with in_threads():
            self.alone = [plain_run(self.network, given, output_attentions=True) for given in self.tensors]

    def model(self, max_length: int = 128) -> Any:
        """Our model; the way in which it is read depends on the longest input."""
        return ready(self.folder, max_length)

    def read(self, model: Any, packed: bool = False, reader: Kept | None = None) -> tuple[Any, Kept]:
        """All texts in batches that the model allows: the outputs, and a reader that keeps the attention."""
        kept, outputs = Kept() if reader is None else reader, []
        every = range(len(self.inputs))
        for batch in [every] if model.way.batches == "padded" else [[place] for place in every]:
            own = kept if len(batch) > 1 else Kept()
            inputs = [self.inputs[place] for place in batch]
            tensors = (extraction.pack_inputs if packed else extraction.pad_inputs)(model, inputs)
            with in_threads():
                output, layers = extraction.run(
                    model.network, model.way, tensors, [given.size for given in inputs], own
                )
            assert layers == model.layers
            outputs += [*output]
            if own is not kept:
                kept.rows |= {(layer, batch[0]): rows for (layer, _), rows in own.rows.items()}
                kept.visible |= {(layer, batch[0]): seen for (layer, _), seen in own.visible.items()}
        return outputs, kept

    def check(self, kept: Kept, layers: int) -> None:
        """Compare what was kept with the plain model on each text alone, weights and visible keys."""
        for example, (n, plain) in enumerate(zip(self.lengths, self.alone, strict=True)):
            assert len(plain.attentions) == layers
            for layer, (weights,) in enumerate(plain.attentions):
                ours, close = kept.whole(layer, example), rounding_bound(n * layers)
                np.testing.assert_allclose(ours, weights, rtol=0, atol=close)
                np.testing.assert_array_equal(kept.seen(layer, example), (weights > 0).any(0))


Open = Callable[[str], Opened]


@pytest.fixture(scope="module")
def opened(model_of: Callable[[str], Path]) -> Open:
    """An architecture by its name, opened once."""
    return cache(lambda name: Opened(name, model_of(name)))


@every
def test_attention_visible_keys_and_output_are_the_plain_models_on_each_input_alone(
    name: str, opened: Open
) -> None:
    it = opened(name)
    for max_length in (128, 512):
        model = it.model(max_length)
        assert model.way.name == (EAGER if it.told.path == FORMED and max_length == 128 else it.told.path)
        assert model.described["capture"] == model.way.name
        assert model.way.causal == it.told.causal
        assert model.way.batches == ("of equal lengths" if name in MIXES_PADDING else "padded")
        shared = it.told.key_heads or (model.heads,) * model.layers
        assert model.described["kv_heads"] == (shared[0] if len(set(shared)) == 1 else list(shared))
        output, kept = it.read(model)
        it.check(kept, model.layers)
        for example, (n, plain) in enumerate(zip(it.lengths, it.alone, strict=True)):
            close = rounding_bound(n * model.layers, float(plain[0].abs().max()))
            np.testing.assert_allclose(output[example][:n], plain[0][0], rtol=0, atol=close)


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
            np.testing.assert_array_equal(ours.seen(layer, example), (own > 0).any(0))
    if it.told.rigid:
        assert furthest > MOVED
    else:
        assert furthest <= rounding_bound(max(it.lengths) * model.layers)


@of_the_interface
def test_packed_examples_are_read_as_the_plain_model_reads_each_alone(name: str, opened: Open) -> None:
    it = opened(name)
    for max_length in (128, 512):
        model = it.model(max_length)
        assert (model.way.packs is None) == (name in PADDED)
        if model.way.packs is not None:
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
            rows = half.whole(*place).numpy()
            assert rows.dtype == np.float32
            np.testing.assert_allclose(rows, full.whole(*place), rtol=0, atol=3 * NEAR[dtype])
            sums = rows.sum(-1)
            if name in SINKS:
                assert 0 < sums.min() < sums.max() < 1
            else:
                bound = rounding_bound(rows.shape[-1]) if model.way.name == FORMED else ROW[dtype]
                assert np.abs(sums - 1).max() <= bound


@pytest.mark.parametrize("name", architectures(lambda told: told.path == RETURNED))
def test_models_outside_the_interface_have_no_projections_and_no_norms(name: str, opened: Open) -> None:
    it = opened(name)
    with pytest.raises(BadInput, match=r"interface, but \w+ does not; take another"):
        extraction.output_projections(it.model().network, batch_of(it.model())[0], advice="take another")
    with pytest.raises(BadInput, match=r"does not; use --weights attention, without the sieve parked"):
        ready(it.folder, norms="all")


@of_the_interface
def test_a_head_taken_out_is_one_set_to_0_by_hand_and_taking_out_none_changes_nothing(
    name: str, opened: Open
) -> None:
    import torch

    it = opened(name)
    model = load_anew(it.folder)  # an ablator sets an attention function of its own
    head, layer = model.heads - 1, model.layers - 1
    ablator = extraction.Ablator(model, ["tokens", "representation"])
    arms = [extraction.Arm("zero", ()), extraction.Arm("zero", ((layer, head),)), extraction.Arm("even", ())]
    effects = ablator.measure(it.inputs, ["a", "b", "c"], None, arms)
    for outcome in ("tokens", "representation"):
        assert (effects.values[outcome][[0, 2]] == 0).all()
        assert (effects.values[outcome][1] > 0).all()
    module = extraction.output_projections(model.network, batch_of(model, TEXTS[:1])[0])[layer].module
    uses = model.layers if name == "albert" else 1  # whose layers are one module
    calls: list[int] = []

    def zero(module: Any, given: Any) -> Any:
        calls.append(1)
        own = given[0].clone()
        if len(calls) == uses:
            own.view(*own.shape[:-1], model.heads, -1)[..., head, :] = 0
        return (own, *given[1:])

    for place, tensors in enumerate(it.tensors):
        clean = plain_run(model.network, tensors)[0].double()
        calls.clear()
        hook = module.register_forward_pre_hook(zero)
        changed = plain_run(model.network, tensors)[0].double()
        hook.remove()
        assert len(calls) == uses
        apart = 1 - torch.nn.functional.cosine_similarity(clean, changed, dim=-1)
        np.testing.assert_allclose(effects.by_token["tokens"][place][1], apart[0], rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(effects.values["tokens"][1, place], apart.mean(), rtol=1e-3, atol=1e-6)
