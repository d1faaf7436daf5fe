"""Cut heads out of the weights of a network, so that it is smaller and faster.

A head is cut where its rows of the query, key and value projections and its columns of the output projection
are taken away. Heads that share keys and values are cut only when all heads of their group leave, because the
remaining groups must be equally large. The rows of a gate before the output projection are taken away, too,
whether they stand in the query projection (Qwen3-Next) or in one of their own. A configuration has one number
of heads for all layers, so a cut network has no checkpoint of its own: it is made from the files of the
network whose heads are replaced.
"""

from collections.abc import Sequence
from copy import deepcopy
from time import perf_counter
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool

from headroles.errors import BadInput
from headroles.extraction.capture.stacks import ModelInputs
from headroles.extraction.model.load import Model
from headroles.extraction.model.machine import describe_machine, device_name
from headroles.extraction.model.projections import Projection
from headroles.extraction.padding import pad_inputs
from headroles.extraction.pruning.passes import batches_of
from headroles.extraction.texts.tokens import Tokenised
from headroles.records.causal.pruning import Gain

NAMES = (("query", "key", "value"), ("q_proj", "k_proj", "v_proj"), ("q_lin", "k_lin", "v_lin"))
"""Names of the query, key and value projections in attention modules, by family of architectures."""
CLOSE = 1e-5
"""Largest difference between outputs of one network in two forms, relative to the largest output."""
ROUNDS = 5
"""Times that both networks run over the inputs, in turns."""

Heads = Bool[np.ndarray, "layers heads"]


def cut_heads(network: Any, projections: Sequence[Projection], heads: Heads) -> tuple[Any, Heads]:
    """Return a copy of a network without some heads, and the heads that were cut.

    One group of heads stays in every layer, because the library's attention needs one. Where heads share keys
    and values, those of groups that do not leave as a whole stay. Heads that stay do what they do in the
    network that is given.

    Args:
        network: A network whose heads were replaced, so that those that stay have no effect.
        projections: Its output projections.
        heads: Heads to cut.

    Raises:
        BadInput: When the attention of the network is not laid out in separate projections.
    """
    names = {module: name for name, module in network.named_modules()}
    smaller, cut = deepcopy(network), np.zeros_like(heads)
    for layer, projection in enumerate(projections):
        if heads[layer].any():
            attention = smaller.get_submodule(names[projection.attention])
            output = smaller.get_submodule(names[projection.module])
            cut[layer] = _cut_layer(
                attention, output, heads[layer], type(network).__name__, gated=projection.gated
            )
    return smaller, cut


def _cut_layer(
    attention: Any, output: Any, heads: np.ndarray, name: str, *, gated: bool
) -> Bool[np.ndarray, " heads"]:
    """Cut heads out of one layer, and return which were cut."""
    parts = next(
        (
            [getattr(attention, part) for part in names]
            for names in NAMES
            if all(isinstance(getattr(attention, part, None), torch.nn.Linear) for part in names)
        ),
        None,
    )
    if parts is None or not isinstance(output, torch.nn.Linear):
        raise BadInput(
            f"heads are cut out of separate query, key and value projections, but {type(attention).__name__} "
            f"of {name} has none; remove them by their outputs alone"
        )
    query, key, value = parts
    count = len(heads)
    groups = key.out_features // (output.in_features // count)
    leaving: np.ndarray = np.all(heads.reshape(groups, -1), axis=1)
    if leaving.all():
        leaving[0] = False
    gone: np.ndarray = np.repeat(leaving, count // groups)
    if gone.any():
        gates = [
            part
            for part in attention.children()
            if isinstance(part, torch.nn.Linear) and part not in (query, key, value, output)
        ]
        for linear in (query, *(gates if gated else ())):
            _keep_outputs(linear, ~gone)
        _keep_outputs(key, ~leaving)
        _keep_outputs(value, ~leaving)
        _keep_inputs(output, ~gone)
    return gone


def _keep_outputs(linear: torch.nn.Linear, kept: np.ndarray) -> None:
    """Keep only some blocks of the outputs of a linear map."""
    rows = _places(kept, linear.out_features)
    linear.weight = torch.nn.Parameter(linear.weight.detach()[rows].clone(), requires_grad=False)
    if linear.bias is not None:
        linear.bias = torch.nn.Parameter(linear.bias.detach()[rows].clone(), requires_grad=False)
    linear.out_features = len(rows)


def _keep_inputs(linear: torch.nn.Linear, kept: np.ndarray) -> None:
    """Keep only some blocks of the inputs of a linear map."""
    columns = _places(kept, linear.in_features)
    linear.weight = torch.nn.Parameter(linear.weight.detach()[:, columns].clone(), requires_grad=False)
    linear.in_features = len(columns)


def _places(kept: np.ndarray, features: int) -> torch.Tensor:
    return torch.from_numpy(np.flatnonzero(np.repeat(kept, features // len(kept))))


def measure_gain(
    model: Model,
    projections: Sequence[Projection],
    heads: Heads,
    inputs: Sequence[Tokenised],
    batch_size: int,
) -> Gain:
    """Cut heads out of a copy of a network, check that it computes the same, and measure what is gained.

    Both networks run over the inputs in turns, and the smallest time of each counts.

    Args:
        model: The model, in whose network the heads are replaced.
        projections: Its output projections.
        heads: The replaced heads.
        inputs: Inputs to run.
        batch_size: Largest batch.

    Returns:
        What is gained; where the heads cannot be cut, the reason.
    """
    network = model.network
    before = sum(weights.numel() for weights in network.parameters())
    batches = [
        pad_inputs(model, [inputs[place] for place in places])
        for places in batches_of(model, inputs, batch_size)
    ]
    try:
        smaller, cut = cut_heads(network, projections, heads)
        gap = largest_gap(network, smaller, batches)
    except (BadInput, RuntimeError, ValueError) as error:
        reason = str(error) if isinstance(error, BadInput) else _uncuttable(network)
        return Gain(parameters_before=before, parameters_after=before, reason=reason)
    if not gap <= CLOSE:
        return Gain(parameters_before=before, parameters_after=before, reason=_uncuttable(network))
    if not cut.any():
        why = "No head was cut, because no group of heads that share keys and values leaves as a whole."
        return Gain(parameters_before=before, parameters_after=before, reason=why)
    after = sum(weights.numel() for weights in smaller.parameters())
    both = zip(*_times((network, smaller), batches), strict=True)
    before_cut, after_cut = (min(times) / len(inputs) for times in both)
    name = describe_machine()["cpu"] if model.device.type == "cpu" else device_name(model.device)
    number = torch.get_num_threads()
    threads = f", {number} thread{'s' * (number > 1)}" if model.device.type == "cpu" else ""
    return Gain(int(cut.sum()), before, after, before_cut, after_cut, len(inputs), f"{name}{threads}")


def _uncuttable(network: Any) -> str:
    return (
        f"Heads cannot be cut out of {type(network).__name__}, because its attention does not take layers "
        "with fewer heads."
    )


def largest_gap(network: Any, other: Any, batches: Sequence[ModelInputs]) -> float:
    """Return the largest difference of two networks' outputs at real tokens, relative to the largest output.

    NaN where an output is no finite number, or shapes differ.
    """
    gap = scale = 0.0
    with torch.inference_mode():
        for tensors in batches:
            first, second = (each(**tensors)[0].double() for each in (network, other))
            if first.shape != second.shape:
                return float("nan")
            if first.ndim == 3 and first.shape[1] == tensors["attention_mask"].shape[1]:
                real = tensors["attention_mask"].bool()
                first, second = first[real], second[real]
            gap = max(gap, float((first - second).abs().max()))
            scale = max(scale, float(first.abs().max()))
    return gap / scale if scale else gap


def _times(networks: Sequence[Any], batches: Sequence[ModelInputs]) -> list[list[float]]:
    """Return the seconds of each network over all batches, by round; the first round does not count."""
    rounds: list[list[float]] = []
    for _ in range(ROUNDS + 1):
        seconds = []
        for network in networks:
            started = perf_counter()
            with torch.inference_mode():
                for tensors in batches:
                    output = network(**tensors)[0]
                output.flatten()[0].item()  # waits for the device
            seconds.append(perf_counter() - started)
        rounds.append(seconds)
    return rounds[1:]
