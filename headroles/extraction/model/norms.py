"""Find the norms of transformed values of a network, and check that its heads add up values by weights."""

from collections.abc import Collection
from typing import Any

import torch

from headroles.errors import BadInput
from headroles.extraction.capture.neurons import Call
from headroles.extraction.capture.norms import ValueNorms, factors_of
from headroles.extraction.capture.plain import run_with_calls, same_attention
from headroles.extraction.capture.stacks import ModelInputs, shorten_inputs
from headroles.extraction.model.projections import CLOSE, output_projections
from headroles.extraction.model.trial import TRIAL_SENTENCE
from headroles.extraction.model.two_texts import PairTokenizer
from headroles.records.passage import Passage

ADVICE = "use --weights attention, without the sieve parked"
MOST_TOKENS = 64
"""Most tokens of each text in the check."""


def value_norms(
    network: Any,
    inputs: ModelInputs,
    modules: Collection[torch.nn.Module] | None = None,
    *,
    everywhere: bool = False,
) -> ValueNorms:
    """Return what the norms ‖v W_h‖ of every layer are computed with, checked on one input.

    The output of a head must be its weights times its values, o = A v. All heads by their projections must
    add up to what the module returns (``output_projections``), with or without a gate. Then key j adds a
    vector of norm A_ij ν_j, and with a gate A_ij ν_ij.

    Args:
        network: As ``output_projections`` takes it.
        inputs: Tensors for the network, one short input without padding.
        modules: Attention modules that are read; None for all.
        everywhere: As ``ValueNorms`` has it.

    Raises:
        BadInput: When heads add something else up, or ``output_projections`` refuses the network.
    """
    projections = output_projections(network, inputs, modules, advice=ADVICE)
    wrong: list[torch.nn.Module] = []

    def take(call: Call) -> None:
        if (modules is None or call.module in modules) and not _adds_values(call):
            wrong.append(call.module)

    with same_attention(network):
        run_with_calls(network, inputs, take)
    if wrong:
        raise BadInput(
            f"the output of a head is the sum of its values by their weights, but that of"
            f" {type(network).__name__} is not; {ADVICE}"
        )
    factors: dict[int, torch.Tensor] = {}
    for projection in projections:  # layers that share weights share factors
        key = id(projection.module)
        factors[key] = factors[key] if key in factors else factors_of(projection.weight)
    gated = any(projection.gated for projection in projections)
    return ValueNorms(
        tuple(factors[id(projection.module)] for projection in projections),
        everywhere,
        tuple(projection.module for projection in projections) if gated else (),
    )


def trial_inputs(tokenizer: Any, device: torch.device) -> ModelInputs:
    """Return one short input for the checks of a loaded model, also of one that reads two texts.

    Args:
        tokenizer: Of the model, as ``select_network`` returns it.
        device: Device of the model's inputs.
    """
    if not isinstance(tokenizer, PairTokenizer):
        encoded = tokenizer(TRIAL_SENTENCE, return_tensors="pt")
        return {name: ids.to(device) for name, ids in encoded.items()}
    pair = Passage("trial", (TRIAL_SENTENCE, f"{TRIAL_SENTENCE} {TRIAL_SENTENCE}"))
    whole = tokenizer.tokenised([pair], MOST_TOKENS)[0].inputs
    return shorten_inputs(
        {name: torch.tensor([ids], device=device) for name, ids in whole.items()}, MOST_TOKENS
    )


def _adds_values(call: Call) -> bool:
    """Return whether the output of a call is the sum of its values by their weights."""
    weights = call.weights[0].float()
    value = call.value[0].repeat_interleave(len(weights) // call.value.shape[1], dim=0).float()
    expected, output = (weights @ value).transpose(0, 1), call.output[0].float()
    if expected.shape != output.shape:
        return False
    close = CLOSE[call.output.dtype] * max(float(output.abs().max()), 1e-30)
    return float((expected - output).abs().max()) <= max(close, 1e-30)
