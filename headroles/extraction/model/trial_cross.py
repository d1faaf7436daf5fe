"""Choose at load how decoder or cross attention of an encoder-decoder is read, and check it.

Encoder and decoder get different numbers of tokens, which shows the kind of attention that each module
computes. Weights of the wanted kind must be those that the plain model computes.
"""

from typing import Any

import torch

from headroles.errors import BadInput
from headroles.extraction.capture.attention import run
from headroles.extraction.capture.method import CaptureMethod
from headroles.extraction.capture.neurons import Call
from headroles.extraction.capture.plain import attention_kind, run_plain, run_with_calls
from headroles.extraction.capture.readers import VisibleArray
from headroles.extraction.capture.stacks import (
    PAIR_KINDS,
    ModelInputs,
    attention_shape,
    cache_arguments,
    shorten_inputs,
)
from headroles.extraction.capture.weights import WHOLE
from headroles.extraction.model.trial import BLOCK_TOLERANCE, TOLERANCE, TRIAL_SENTENCE, Reading
from headroles.extraction.model.two_texts import PairTokenizer
from headroles.records.passage import Passage
from headroles.records.rules.names import EAGER, FORMED, RETURNED
from headroles.records.view import CROSS, DECODER

MOST_TOKENS = 64
"""Most tokens of each text in the check."""


class _KeepingReader:
    """A reader that keeps every layer of one example, and the largest weight on a hidden key."""

    def __init__(self) -> None:
        self.blocks: dict[int, list[torch.Tensor]] = {}
        self.hidden = 0.0

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: VisibleArray) -> None:
        self.blocks.setdefault(layer, []).append(rows.clone())
        if visible is not None:
            mask = torch.from_numpy(visible[start : start + rows.shape[1]]).to(rows.device)
            self.hidden = max(self.hidden, float(rows.masked_fill(mask, 0).max()))

    def layers(self, kind: str, inputs: ModelInputs) -> list[torch.Tensor]:
        """Return the weights by layer as the model does: cross attention without the rest of its square."""
        whole = [torch.cat(blocks, dim=1) for _, blocks in sorted(self.blocks.items())]
        queries = attention_shape(inputs, kind)[0]
        return [weights[:, :queries, queries:] for weights in whole] if kind == CROSS else whole


def choose_cross_reading(
    network: Any, texts: PairTokenizer, device: torch.device, max_length: int
) -> Reading:
    """Choose the way of reading decoder or cross attention, and compare its weights with the plain model's.

    Args:
        network: Loaded with eager attention.
        texts: Its tokenizer, which knows the kind to read.
        device: Device that holds the network.
        max_length: Longest text of the run; long ones are read in blocks.

    Raises:
        BadInput: When the model cannot run on a pair, shows no attention of that kind, or is read wrongly.
    """
    pair = Passage("trial", (TRIAL_SENTENCE, f"{TRIAL_SENTENCE} {TRIAL_SENTENCE}"))
    try:
        model_inputs = texts.tokenised([pair], MOST_TOKENS)[0].inputs
        whole = {name: torch.tensor([values], device=device) for name, values in model_inputs.items()}
        inputs, kind = shorten_inputs(whole, MOST_TOKENS), texts.kind
        returned = run_plain(network, inputs, PAIR_KINDS)[kind]
        plain = returned.weights
        modules, key_heads = _find_modules(network, inputs, kind)
        heads = plain[0].shape[0]
        if not modules:
            network.set_attn_implementation("eager")
            way = CaptureMethod(RETURNED, _hides_later_keys(network, plain, kind), kind)
            return Reading(way, len(plain), heads, (heads,) * len(plain), returned.places, returned.every)
        small = device.type == "cpu" and max_length <= WHOLE and network.dtype == torch.float32
        name = FORMED if network._supports_sdpa and not small else EAGER
        way = CaptureMethod(name, kind == DECODER, kind, modules)
        if not _reading_agrees(network, way, inputs, plain):
            raise BadInput(
                f"what is read while {type(network).__name__} runs must be what the plain model computes, "
                f"but its {kind} attention is not; this architecture cannot be labelled"
            )
        network.set_attn_implementation(way.name)
        return Reading(way, len(plain), heads, key_heads, returned.places, returned.every)
    except (RuntimeError, TypeError, ValueError, AttributeError, LookupError, NotImplementedError) as error:
        reason = " ".join(str(error).split())[:200]
        raise BadInput(
            f"the model must run on two texts and show its attention, but {type(network).__name__} failed "
            f"at that ({type(error).__name__}: {reason}); its {texts.kind} attention cannot be labelled"
        ) from error


def _find_modules(network: Any, inputs: ModelInputs, kind: str) -> tuple[frozenset[Any], tuple[int, ...]]:
    """Return the modules that compute attention of a kind, and the key heads of each of its layers.

    Raises:
        ValueError: When a module computes attention of several kinds, or of none.
    """
    kinds: dict[Any, str] = {}
    key_heads: list[int] = []

    def take(call: Call) -> None:
        call_kind = attention_kind(call, inputs, PAIR_KINDS)
        if kinds.setdefault(call.module, call_kind) != call_kind:
            raise ValueError(f"one module computes {kinds[call.module]} and {call_kind} attention")
        if call_kind == kind:
            key_heads.append(call.key.shape[1])

    run_with_calls(network, inputs, take)
    return frozenset(module for module, call_kind in kinds.items() if call_kind == kind), tuple(key_heads)


def _reading_agrees(network: Any, way: CaptureMethod, inputs: ModelInputs, plain: list[torch.Tensor]) -> bool:
    """Return whether weights are read as the plain model returns them, and its output is unchanged."""
    tolerance = TOLERANCE[network.dtype]
    lengths = (
        [sum(attention_shape(inputs, CROSS))] if way.kind == CROSS else [attention_shape(inputs, way.kind)[0]]
    )
    reference = _run_plain(network, inputs, "eager" if way.name == EAGER else "sdpa")
    network.set_attn_implementation(way.name)
    for blocks in (1, 2) if way.name == FORMED else (1,):
        reader = _KeepingReader()
        run(network, way, inputs, lengths, reader, trial=blocks)
        if reader.hidden or not _all_close(
            reader.layers(way.kind, inputs),
            plain,
            tolerance if blocks == 1 else max(tolerance, BLOCK_TOLERANCE),
        ):
            return False
    usual, _ = run(network, way, inputs, lengths, _KeepingReader())
    return torch.allclose(usual, reference, rtol=tolerance, atol=tolerance)


def _run_plain(network: Any, inputs: ModelInputs, implementation: str) -> torch.Tensor:
    """Return the output of the plain model."""
    network.set_attn_implementation(implementation)
    with torch.inference_mode():
        output: torch.Tensor = network(**inputs, **cache_arguments(inputs))[0]
    return output


def _all_close(ours: list[torch.Tensor], theirs: list[torch.Tensor], close: float) -> bool:
    return len(ours) == len(theirs) and all(
        a.shape == b.shape and torch.allclose(a, b, rtol=0, atol=close)
        for a, b in zip(ours, theirs, strict=True)
    )


def _hides_later_keys(network: Any, plain: list[torch.Tensor], kind: str) -> bool:
    """Return whether every layer hides later keys, for a model that does not use the interface.

    Raises:
        ValueError: When keys are hidden by another rule.
    """
    visible = [weights.amax(0) > 0 for weights in plain]
    causal = kind == DECODER and not any(bool(layer.triu(1).any()) for layer in visible)
    every = torch.ones_like(visible[0])
    if all(bool((layer == (every.tril() if causal else every)).all()) for layer in visible):
        return causal
    raise ValueError(f"{type(network).__name__} does not show which keys its {kind} attention hides")
