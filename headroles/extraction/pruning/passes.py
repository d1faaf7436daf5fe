"""Run a network over inputs in batches: mean outputs of heads, and what comes out for every input."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from headroles.extraction.ablation.outcomes import Answers
from headroles.extraction.model.load import Model
from headroles.extraction.model.losses import CLASSES, LossModel, LossTarget
from headroles.extraction.model.projections import Projection
from headroles.extraction.padding import pad_inputs
from headroles.extraction.stream import split_into_batches
from headroles.extraction.texts.tokens import Tokenised

FAST, PLAIN = "sdpa", "eager"
"""The library's attention implementations that passes use, the first where the network has it."""


def use_fast_attention(network: Any) -> None:
    """Let a network compute attention by the library's fast implementation, where its class has it."""
    network.set_attn_implementation(FAST if getattr(network, "_supports_sdpa", False) else PLAIN)


def batches_of(model: Model, inputs: Sequence[Tokenised], batch_size: int) -> list[np.ndarray]:
    """Return batches of places of inputs, longest inputs first."""
    sizes = [given.size for given in inputs]
    order = np.argsort([-size for size in sizes], kind="stable")
    return list(split_into_batches(order, sizes, batch_size, model))


def mean_outputs(
    model: Model, projections: Sequence[Projection], inputs: Sequence[Tokenised], batch_size: int
) -> list[Float[torch.Tensor, "heads head_dim"]]:
    """Return the mean output of every head over all tokens of all inputs, in float64.

    Args:
        model: The model.
        projections: The output projection of every layer; what it reads are the outputs of the heads.
        inputs: Inputs, at least one.
        batch_size: Largest batch.
    """
    sums: list[torch.Tensor | None] = [None] * len(projections)
    real: list[torch.Tensor] = []

    def add(layer: int) -> Callable[[Any, tuple[Any, ...]], None]:
        def hook(module: Any, arguments: tuple[Any, ...]) -> None:
            outputs = arguments[0].reshape(*real[0].shape, projections[layer].heads, -1)
            total = outputs[real[0].to(outputs.device)].double().sum(0)
            known = sums[layer]
            sums[layer] = total if known is None else known + total

        return hook

    hooks = [
        projection.module.register_forward_pre_hook(add(layer))
        for layer, projection in enumerate(projections)
    ]
    try:
        for places in batches_of(model, inputs, batch_size):
            tensors = pad_inputs(model, [inputs[place] for place in places])
            real[:] = [tensors["attention_mask"].bool()]
            with torch.inference_mode():
                model.network(**tensors)
    finally:
        for registered in hooks:
            registered.remove()
    tokens = sum(given.size for given in inputs)
    return [total / tokens for total in sums if total is not None]


def answers_of(
    model: Model,
    inputs: Sequence[Tokenised],
    targets: Sequence[LossTarget] | None,
    *,
    hidden: bool,
    batch_size: int,
) -> Iterator[tuple[int, Answers]]:
    """Run inputs through a network, and yield the place of each input with what came out.

    Args:
        model: The model, whose network may lack heads.
        inputs: Inputs as the model reads them.
        targets: Places of tokens whose logits are kept; None where no logits are needed.
        hidden: Whether last hidden states are needed.
        batch_size: Largest batch.
    """
    for places in batches_of(model, inputs, batch_size):
        tensors = pad_inputs(model, [inputs[place] for place in places])
        with torch.inference_mode(), _last_states(model.network) as states:
            output = model.network(**tensors)
        for row, place in enumerate(places.tolist()):
            size = inputs[place].size
            kept = states[-1][row : row + 1, :size] if hidden else None
            logits = None if targets is None else _logits(model, output, row, targets[place])
            yield place, Answers(kept, logits)


def _logits(model: Model, output: Any, row: int, target: LossTarget) -> torch.Tensor:
    """Return the logits of an input at its places (1, places, words), or of its classes (1, 1, classes)."""
    logits: torch.Tensor = output.logits[row : row + 1]
    if isinstance(model, LossModel) and model.about == CLASSES:
        return logits[:, None]
    return logits[:, torch.from_numpy(target.places).to(logits.device)]


@contextmanager
def _last_states(network: Any) -> Iterator[list[torch.Tensor]]:
    """Take the last hidden states of every pass, which networks with a head do not return."""
    taken: list[torch.Tensor] = []

    def take(module: Any, arguments: Any, output: Any) -> None:
        taken[:] = [output.last_hidden_state]

    hook = network.base_model.register_forward_hook(take)
    try:
        yield taken
    finally:
        hook.remove()
