"""Replace the outputs of heads by a constant, in the weights of their layer's output projection.

The rows of a head in the projection become 0, and the mean output of the head, times these rows, is added to
the projection's bias. So the network stays one of its class, and its files load like those of any other.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float

from headroles.errors import BadInput
from headroles.extraction.capture.plain import copy_attention
from headroles.extraction.capture.stacks import ModelInputs
from headroles.extraction.model.projections import Projection, output_projections

FIELD = "attention_bias"
"""Setting of configurations that gives the projections of attention biases."""
ADVICE = "prune a model of another architecture"

Means = Sequence[Float[torch.Tensor, "heads head_dim"]]
"""Mean outputs of the heads of every layer."""


def find_projections(network: Any, inputs: ModelInputs) -> list[Projection]:
    """Return the output projection of every layer, each of which belongs to one layer alone.

    Args:
        network: The network.
        inputs: One short input without padding.

    Raises:
        BadInput: When the network computes attention elsewhere, layers share weights, or weights are
            quantised.
    """
    found = output_projections(network, inputs, advice=ADVICE)
    if len({projection.weight.data_ptr() for projection in found}) < len(found):
        raise BadInput(
            f"heads are removed from one layer at a time, but layers of {type(network).__name__} share their "
            f"weights; {ADVICE}"
        )
    return found


def with_output_biases(network: Any, projections: Sequence[Projection]) -> Any:
    """Return the same network with biases in its output projections, where its configuration has a switch.

    New biases are 0, so outputs are the same. Heads can then be replaced by their means.

    Args:
        network: The network.
        projections: Its output projections.

    Returns:
        The network itself where all projections have biases, or where its class takes none; otherwise a new
        network with the same weights.
    """
    if all(projection.bias is not None for projection in projections):
        return network
    config = deepcopy(network.config)
    if getattr(config, FIELD, None) is not False:
        return network
    setattr(config, FIELD, True)
    with torch.device("meta"):
        empty = type(network)(config)
    names = {module: name for name, module in network.named_modules()}
    biased = [empty.get_submodule(names[projection.module]) for projection in projections]
    if any(getattr(module, "bias", None) is None for module in biased):
        return network
    weights = network.state_dict()
    like = projections[0].module.weight
    assert isinstance(like, torch.Tensor)
    fresh = type(network)(config).to(like.device, like.dtype).eval()
    unfilled = fresh.load_state_dict(weights, strict=False)
    if unfilled.unexpected_keys or any(not name.endswith("bias") for name in unfilled.missing_keys):
        return network
    with torch.no_grad():
        for name in unfilled.missing_keys:
            fresh.get_parameter(name).zero_()
    copy_attention(network, fresh)
    fresh.requires_grad_(False)
    return fresh


class HeadRemover:
    """Replaces outputs of heads by their means in the weights of a network, and puts them back."""

    def __init__(self, projections: Sequence[Projection], means: Means) -> None:
        """Keep the weights as they are now.

        Args:
            projections: The output projection of every layer.
            means: Mean output of every head.
        """
        self._projections, self._means = projections, means
        self._weights = [projection.weight.detach().clone() for projection in projections]
        self._biases = [
            None if projection.bias is None else projection.bias.detach().clone()
            for projection in projections
        ]

    @property
    def folds_means(self) -> bool:
        """Whether every projection has a bias that takes the means; where one has none, all heads are 0."""
        return all(bias is not None for bias in self._biases)

    def remove(self, heads: Bool[np.ndarray, "layers heads"]) -> None:
        """Replace these heads in the network, and put all others back.

        Weights stay in the network's type of numbers; sums of means are computed in float64.
        """
        for layer, projection in enumerate(self._projections):
            gone = torch.from_numpy(heads[layer].copy()).to(self._weights[layer].device)
            weight, bias = self._weights[layer], self._biases[layer]
            with torch.no_grad():
                projection.weight.copy_(weight.masked_fill(gone[:, None, None], 0))
                if self.folds_means and bias is not None and projection.bias is not None:
                    mean = self._means[layer].to(weight.device, torch.float64)[gone]
                    added = torch.einsum("hd,hdD->D", mean, weight[gone].double())
                    projection.bias.copy_((bias.double() + added).to(bias.dtype))

    @contextmanager
    def without(self, heads: Bool[np.ndarray, "layers heads"]) -> Iterator[None]:
        """Replace these heads in the network for a while."""
        try:
            self.remove(heads)
            yield
        finally:
            self.remove(np.zeros_like(heads))
