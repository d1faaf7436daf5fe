"""Output projections: found in every architecture of the table by what they read, or refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers.pytorch_utils import Conv1D

from headroles.errors import BadInput
from headroles.extraction.capture.plain import run_with_calls
from headroles.extraction.capture.stacks import shorten_inputs
from headroles.extraction.model.projections import Projection, output_projections
from tests.support.architectures import RETURNED, TABLE
from tests.support.read_models import batch_of, opened, ready
from tests.support.reference import rounding_bound
from tests.support.seq2seq import loaded, pairs, saved

ModelOf = Callable[[str], Path]
TEXT = ("The heads of a model look at words, and at each other.",)
READ = [name for name, told in TABLE.items() if told.path != RETURNED]
NOT_READ = [name for name, told in TABLE.items() if told.path == RETURNED]


def _outputs_by_layer(
    network: Any, inputs: dict[str, torch.Tensor], found: list[Projection]
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The outputs of heads of every call, and what the projection module returned for them."""
    heads: list[torch.Tensor] = []
    projected: list[torch.Tensor] = []
    modules = {projection.attention for projection in found}
    hooks = [
        module.register_forward_hook(lambda module, given, result: projected.append(result))
        for module in {projection.module for projection in found}
    ]
    run_with_calls(
        network, inputs, lambda call: heads.append(call.output) if call.module in modules else None
    )
    for hook in hooks:
        hook.remove()
    return list(zip(heads, projected, strict=True))


@pytest.mark.parametrize("name", READ)
def test_head_outputs_times_their_weights_add_up_to_the_module_output(name: str, model_of: ModelOf) -> None:
    model = ready(model_of(name))
    inputs, _ = batch_of(model, TEXT)
    before = model.network.config._attn_implementation
    found = output_projections(model.network, inputs)
    assert model.network.config._attn_implementation == before
    assert len(found) == model.layers
    assert {projection.heads for projection in found} == {model.heads}
    for projection, (output, expected) in zip(
        found, _outputs_by_layer(model.network, inputs, found), strict=True
    ):
        weight, bias = projection.weight.detach(), projection.bias
        by_head = [output[0, :, head] @ weight[head] for head in range(model.heads)]
        total = torch.stack(by_head).sum(0) + (0 if bias is None else bias.detach())
        close = rounding_bound(32 * 4, float(expected.abs().max()))
        torch.testing.assert_close(total, expected.reshape(total.shape), rtol=0, atol=close)
    model.network.set_attn_implementation(before)


@pytest.mark.parametrize("name", NOT_READ)
def test_models_outside_the_attention_interface_are_refused(name: str, model_of: ModelOf) -> None:
    model = ready(model_of(name))
    with pytest.raises(BadInput, match=r"interface, but \w+ does not; take another"):
        output_projections(model.network, batch_of(model, TEXT)[0], advice="take another")


def test_weights_are_a_view_that_shows_changes_of_the_module(model_of: ModelOf) -> None:
    for name, kind in (("gpt2", Conv1D), ("bert", torch.nn.Linear)):
        model = opened(model_of(name))
        projection = output_projections(model.network, batch_of(model, TEXT)[0])[1]
        assert isinstance(projection.module, kind)
        with torch.no_grad():
            projection.weight[2].zero_()
        weight = projection.module.weight if name == "gpt2" else projection.module.weight.T
        assert weight.reshape(4, 8, -1).abs().sum((1, 2)).gt(0).tolist() == [True, True, False, True]


def test_layers_that_share_weights_share_a_projection(model_of: ModelOf) -> None:
    model = ready(model_of("albert"))
    found = output_projections(model.network, batch_of(model, TEXT)[0])
    assert len(found) == model.layers > 1
    assert len({id(projection.module) for projection in found}) == 1


@pytest.mark.parametrize("name", ["t5", "bart"])
@pytest.mark.parametrize("kind", ["decoder", "cross"])
def test_each_kind_of_attention_has_projections_of_its_own(
    name: str, kind: str, tokenizer_of: Any, tmp_path: Path
) -> None:
    model = loaded(saved(name, tmp_path, tokenizer_of), kind)
    raw = model.tokenizer.tokenised(pairs(1), 64)[0].inputs
    inputs = shorten_inputs({key: torch.tensor([values]) for key, values in raw.items()}, 64)
    found = output_projections(model.network, inputs, model.way.modules)
    assert len(found) == model.layers == 3
    paths = {module: path for path, module in model.network.named_modules()}
    cross = {"t5": "EncDecAttention", "bart": "encoder_attn"}[name]
    own = {"t5": "SelfAttention", "bart": "self_attn"}[name]
    assert all({"decoder": own, "cross": cross}[kind] in paths[projection.module] for projection in found)


class _Scaled(torch.nn.Linear):
    """A linear map with a gate after it."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Return half of the map."""
        return super().forward(input) / 2


def _changed(model_of: ModelOf, change: Callable[[torch.nn.Linear], torch.nn.Module]) -> tuple[Any, Any]:
    model = opened(model_of("llama"))
    attention = model.network.layers[1].self_attn
    attention.o_proj = change(attention.o_proj)
    return model.network, batch_of(model, TEXT)[0]


def test_a_map_whose_output_is_changed_is_refused(model_of: ModelOf) -> None:
    def scale(linear: torch.nn.Linear) -> torch.nn.Module:
        scaled = _Scaled(32, 32, bias=False)
        scaled.weight = linear.weight
        return scaled

    with pytest.raises(BadInput, match="add up to the projection's output, but not in layer 1 of LlamaModel"):
        output_projections(*_changed(model_of, scale))


def test_a_gate_or_norm_before_the_projection_is_refused(model_of: ModelOf) -> None:
    def put_norm_before(linear: torch.nn.Linear) -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.RMSNorm(32), linear)

    with pytest.raises(BadInput, match="but none reads that of layer 1 of LlamaModel"):
        output_projections(*_changed(model_of, put_norm_before))


def test_a_low_rank_addition_to_the_projection_is_refused(model_of: ModelOf) -> None:
    class Added(torch.nn.Module):
        def __init__(self, linear: torch.nn.Linear) -> None:
            super().__init__()
            self.base_layer, self.down, self.up = linear, torch.nn.Linear(32, 2), torch.nn.Linear(2, 32)

        def forward(self, given: torch.Tensor) -> torch.Tensor:
            return self.base_layer(given) + self.up(self.down(given))  # type: ignore[no-any-return]

    with pytest.raises(BadInput, match="but 2 maps read that of layer 1 of LlamaModel"):
        output_projections(*_changed(model_of, Added))


def test_quantised_weights_are_refused(model_of: ModelOf) -> None:
    class Packed(torch.nn.Module):
        def __init__(self, linear: torch.nn.Linear) -> None:
            super().__init__()
            self.scale = linear.weight.abs().max() / 127
            self.register_buffer("weight", (linear.weight / self.scale).round().to(torch.int8))

        def forward(self, given: torch.Tensor) -> torch.Tensor:
            assert isinstance(self.weight, torch.Tensor)
            return given @ (self.weight.float() * self.scale).T

    with pytest.raises(BadInput, match="has a Packed of int8; give the model without quantisation"):
        output_projections(*_changed(model_of, Packed))
