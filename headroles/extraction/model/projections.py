"""Find the output projection of every attention module, and check it against what the network computes.

A projection maps the weighted sums of values of all heads, side by side, to the hidden state. Its name
differs between architectures (``o_proj``, ``out_proj``, ``dense``, ``c_proj``, ``wo``), and BERT keeps it
outside of its attention module. So it is found by what it reads: the output of the attention call, as it is
or times a gate, a number for each query, head and dimension (Qwen3-Next).
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from transformers.pytorch_utils import Conv1D

from headroles.errors import BadInput
from headroles.extraction.capture.neurons import Call
from headroles.extraction.capture.plain import run_with_calls, same_attention
from headroles.extraction.capture.stacks import ModelInputs

FLOATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
"""Types of the numbers of weights that are not quantised."""
CLOSE = {torch.float64: 1e-10, torch.float32: 1e-5, torch.bfloat16: 4e-2, torch.float16: 4e-3}
"""Largest difference of a sum over heads from the projection's output, relative to its largest number."""
ADVICE = "give a model of another architecture"


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """The output projection of one layer's attention.

    Attributes:
        attention: The attention module, which calls transformers' attention interface.
        module: The projection, an ``nn.Linear`` or transformers' ``Conv1D``; its weights can be changed.
        heads: Number of query heads.
        gated: Whether it reads the output of the attention times a gate.
    """

    attention: torch.nn.Module
    module: torch.nn.Module
    heads: int
    gated: bool = False

    @property
    def weight(self) -> Float[torch.Tensor, "heads head_dim hidden"]:
        """Return the weights by head, as a view: head h adds ``output[:, h] @ weight[h]``."""
        weight = self.module.weight
        assert isinstance(weight, torch.Tensor)
        columns = weight if isinstance(self.module, Conv1D) else weight.T
        return columns.view(self.heads, -1, columns.shape[1])

    @property
    def bias(self) -> Float[torch.Tensor, " hidden"] | None:
        """Return the bias, which belongs to no head; None where there is none."""
        bias = getattr(self.module, "bias", None)
        assert bias is None or isinstance(bias, torch.Tensor)
        return bias


def output_projections(
    network: Any,
    inputs: ModelInputs,
    modules: Collection[torch.nn.Module] | None = None,
    *,
    advice: str = ADVICE,
) -> list[Projection]:
    """Return the output projection of every layer's attention, checked on one input.

    The network runs once on two copies of the input, with eager attention. The projection of a layer is the
    one linear map that reads exactly what its attention call returned, or this times a gate. In the second
    copy this output is multiplied by other numbers. What is read must be multiplied by them, too, because a
    gate does not depend on it. Σ_h o^h W^h + b must equal the output of the map, where o^h is what it reads
    of head h, W^h its rows of the weights, and b the bias.

    Args:
        network: A network that calls transformers' attention interface; its attention implementation is the
            same afterwards.
        inputs: Tensors for the network, one short input without padding.
        modules: Attention modules to look at, where the network computes attention of several kinds; None
            for all.
        advice: What to do where the model is refused, as the end of a sentence.

    Returns:
        One projection for each attention call, in their order. Layers that share weights share a projection.

    Raises:
        BadInput: When the network does not use the interface, the weights are quantised, something else than
            a gate stands before the projection, several maps read the output, or the sums differ.
    """
    name = type(network).__name__
    search = _Search(modules)
    twice = {key: torch.cat([given, given]) for key, given in inputs.items()}
    with same_attention(network), search.watch(network):
        run_with_calls(network, twice, search.take)
    if not search.calls:
        raise BadInput(
            f"output projections are found where a model calls transformers' attention interface, but {name} "
            f"does not; {advice}"
        )
    paths = {module: path for path, module in network.named_modules()}
    return [_checked(name, paths[call.attention], call, advice) for call in search.calls]


@dataclass(slots=True, eq=False)
class _Reader:
    """A linear map, what it read and made of the first copy, and whether it read through a gate."""

    module: torch.nn.Module
    given: torch.Tensor
    result: torch.Tensor
    gated: bool


@dataclass(slots=True, eq=False)
class _Found:
    """What one attention call returned for both copies, and the linear maps that read it."""

    attention: torch.nn.Module
    output: torch.Tensor
    readers: list[_Reader]


class _Search:
    """Attention calls of one run of a network on two copies, each with the maps that read its output."""

    def __init__(self, modules: Collection[torch.nn.Module] | None) -> None:
        self.modules = modules
        self.calls: list[_Found] = []
        self._latest: _Found | None = None
        self._random = torch.Generator().manual_seed(0)

    def take(self, call: Call) -> None:
        """Take an attention call, and change its output for the second copy.

        Linear maps that run from now on may read it.
        """
        self._latest = None
        if self.modules is None or call.module in self.modules:
            output = call.output
            output[1].mul_((2 + 4 * torch.rand(output.shape[1:], generator=self._random)).to(output))
            self._latest = _Found(call.module, output, [])
            self.calls.append(self._latest)

    @contextmanager
    def watch(self, network: torch.nn.Module) -> Iterator[None]:
        """Look at the input and output of every module with a matrix of weights, also quantised ones."""
        hooks = [
            module.register_forward_hook(self._look)
            for module in network.modules()
            if getattr(getattr(module, "weight", None), "ndim", 0) == 2
            and not isinstance(module, torch.nn.Embedding)
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def _look(self, module: torch.nn.Module, arguments: tuple[Any, ...], result: Any) -> Any:
        """Look at a linear map; where it reads the latest output, both copies go on as the first one."""
        latest = self._latest
        given = arguments[0] if arguments else None
        if latest is None or not isinstance(given, torch.Tensor) or not isinstance(result, torch.Tensor):
            return None
        output = latest.output
        if given.numel() != output.numel():
            return None
        given = given.reshape(output.shape)
        same = torch.equal(given, output)
        if not same and not _is_gated(given, output):
            return None
        copies = result.reshape(2, -1)
        latest.readers.append(_Reader(module, given[0], copies[0], not same))
        return torch.stack([copies[0], copies[0]]).reshape(result.shape)


def _is_gated(given: torch.Tensor, output: torch.Tensor) -> bool:
    """Return whether both copies of an output were multiplied by the same numbers, element by element."""
    first, second = (each.double() for each in (given[1] * output[0].double(), given[0] * output[1].double()))
    close = 2 * CLOSE[output.dtype]
    return bool(first.any()) and torch.allclose(
        first, second, rtol=close, atol=close * 1e-3 * float(second.abs().max())
    )


def _checked(name: str, path: str, found: _Found, advice: str) -> Projection:
    """Return the projection of one call, after comparing the sum over its heads with its output.

    Raises:
        BadInput: As ``output_projections`` states.
    """
    if len(found.readers) != 1:
        several = f"{len(found.readers)} maps read" if found.readers else "none reads"
        raise BadInput(
            f"one linear map reads the output of all heads, as it is or times a gate, but {several} that of "
            f"{path!r} in {name}, as where a norm stands before it; {advice}"
        )
    reader = found.readers[0]
    module = reader.module
    if module.weight.is_meta:
        raise BadInput(
            f"weights of an output projection are in the memory of a device, but those of {path!r} in "
            f"{name} are not; give a --device-map that places all parts, or {advice}"
        )
    if not isinstance(module, torch.nn.Linear | Conv1D) or module.weight.dtype not in FLOATS:
        raise BadInput(
            f"weights of an output projection are plain numbers of a linear map, but {path!r} in {name} "
            f"has a {type(module).__name__} of {str(module.weight.dtype).removeprefix('torch.')}; give the "
            f"model without quantisation, or {advice}"
        )
    projection = Projection(found.attention, module, found.output.shape[2], reader.gated)
    wide = torch.float64 if module.weight.dtype == torch.float64 else torch.float32
    with torch.inference_mode():
        outputs = reader.given.to(wide)
        total = torch.einsum("qhd,hdD->qD", outputs, projection.weight.to(outputs.device, wide))
        if projection.bias is not None:
            total = total + projection.bias.to(total.device, wide)
        expected = reader.result.to(total.device, wide).reshape(total.shape)
        scale = max(float(expected.abs().max()), 1e-30)
        if not float((total - expected).abs().max()) <= CLOSE[module.weight.dtype] * scale:
            raise BadInput(
                f"the outputs of all heads, each times its part of the projection, add up to the projection's"
                f" output, but not in {path!r} of {name}; {advice}"
            )
    return projection
