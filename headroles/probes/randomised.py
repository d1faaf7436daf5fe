"""The control of trained probes: the same model with random weights."""

import copy
from dataclasses import replace
from typing import Any

import torch

from headroles.errors import BadInput
from headroles.extraction.model.load import Model


def randomised(model: Model, seed: int) -> Model:
    """The same model with random weights, but for its word and position embeddings.

    As the control of Clark et al. (2019, section 5): what a probe finds in it comes from the
    embeddings and the probe's own learning. The network is built anew from its configuration, with the
    library's own initialisation for the architecture; then all embeddings (words, positions, text
    types, relative positions) are copied over, with the normalisation that belongs to their block.

    Args:
        model: Left as it is.
        seed: Of the random weights; torch's own generator is left where it was.

    Raises:
        BadInput: When the architecture cannot be built from its configuration.
    """
    network = model.network
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            fresh = type(network)(copy.deepcopy(network.config))
        except Exception as error:  # the library raises many kinds; each becomes one sentence
            reason = " ".join(str(error).split())[:200]
            raise BadInput(
                f"the control needs a model that can be built from its configuration, but "
                f"{type(network).__name__} cannot ({reason}); leave the control out"
            ) from error
    kept = _kept(network)
    state = network.state_dict()
    with torch.no_grad():
        for name, tensor in fresh.state_dict().items():
            if name in kept:
                tensor.copy_(state[name])
    fresh.to(device=model.device, dtype=network.dtype).eval()
    fresh.set_attn_implementation(network.config._attn_implementation)
    described = model.described | {"weights": "random but for the embeddings", "seed": seed}
    return replace(model, network=fresh, described=described)


def _kept(network: Any) -> set[str]:
    """Names of the weights of embeddings, and of the block that holds the word embeddings."""
    words = network.get_input_embeddings()
    blocks = [name for name, module in network.named_modules() if isinstance(module, torch.nn.Embedding)]
    block = next(name for name, module in network.named_modules() if module is words).rpartition(".")[0]
    if block:
        blocks.append(block)
    return {name for name in network.state_dict() if any(name.startswith(f"{each}.") for each in blocks)}
