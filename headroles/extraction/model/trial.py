"""The check at load: what is read while a model runs must be what the plain model computes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from headroles.errors import BadInput
from headroles.extraction.capture.attention import EAGER, FUSED, RETURNED, Way, run
from headroles.extraction.capture.readers import Visible
from headroles.extraction.capture.weights import WHOLE

TOLERANCE = {torch.float32: 1e-6, torch.bfloat16: 2e-2, torch.float16: 2e-3}
"""Largest difference of captured from returned weights, both formed in the model's own precision."""

CUT = 1e-3
"""Largest difference where an input is cut: products of other shapes round otherwise."""

LONG = 512
"""Longest input on which hidden keys are searched for; known windows are of 256 tokens."""
CORNER = 8
"""Offsets with fewer cells than this are not looked at when hidden keys are searched for."""

SENTENCE = "The heads of a model look at words, and at each other."

Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True, slots=True)
class Chosen:
    """How a model is read, and what was counted on the trial, from tensors and not from its config.

    Attributes:
        way: The way of reading.
        layers: Layers that compute attention.
        heads: Query heads of each.
        key_heads: Heads of keys and values of each layer; fewer than ``heads`` where query heads share
            them (grouped-query attention), 1 where all do (multi-query attention).
    """

    way: Way
    layers: int
    heads: int
    key_heads: tuple[int, ...]


class _Kept:
    """A reader that keeps every layer of one example.

    It also notes how many heads its keys have, the largest weight on a key said to be hidden, and
    whether all later keys are.
    """

    def __init__(self) -> None:
        self.blocks: dict[int, list[torch.Tensor]] = {}
        self.key_heads: dict[int, int] = {}
        self.hidden = 0.0
        self.causal = True

    def read_keys(self, layer: int, heads: int) -> None:
        self.key_heads[layer] = heads

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: Visible) -> None:
        self.blocks.setdefault(layer, []).append(rows.clone())
        self.causal &= visible is not None and np.array_equal(visible, np.tri(len(visible), dtype=np.bool_))
        if visible is not None:
            seen = torch.from_numpy(visible[start : start + rows.shape[1]]).to(rows.device)
            self.hidden = max(self.hidden, float(rows.masked_fill(seen, 0).max()))

    @property
    def layers(self) -> list[torch.Tensor]:
        return [torch.cat(blocks, dim=1) for _, blocks in sorted(self.blocks.items())]


def chosen(
    network: Any, tokenizer: Any, device: torch.device, max_length: int, *, fused: bool = True
) -> Chosen:
    """Choose the way of reading, and compare what it reads with the plain eager model's weights.

    Args:
        network: Loaded with eager attention.
        tokenizer: Its tokenizer.
        device: Where the network lies.
        max_length: Longest input that will come; long ones are read in blocks.
        fused: Whether weights may be formed beside the model, where they have no gradients.

    Returns:
        The way, and the numbers of layers, heads, and heads of keys and values.

    Raises:
        BadInput: When the model cannot run on a text, computes no attention, or is misread.
    """
    inputs = _inputs(tokenizer, SENTENCE, device)
    try:
        output, returned, cached = _plain(network, inputs)
        heads = returned[0].shape[0]
        small = device.type == "cpu" and max_length <= WHOLE and network.dtype == torch.float32
        way = Way(FUSED if fused and not small and network._supports_sdpa else EAGER)
        network.set_attn_implementation(way.name)
        kept = _Kept()
        if _agrees(network, way, inputs, output, returned, kept):
            way = replace(way, causal=kept.causal)
            shared = _counted(list(kept.key_heads.values()), len(returned), heads)
            return Chosen(way, len(returned), heads, shared)
        network.set_attn_implementation("eager")
        text = " ".join([SENTENCE] * (LONG // 8))
        causal = _causal(network, _inputs(tokenizer, text, device, min(max_length, LONG)))
        return Chosen(Way(RETURNED, causal), len(returned), heads, _counted(cached, len(returned), heads))
    except (RuntimeError, TypeError, ValueError, AttributeError, LookupError, NotImplementedError) as error:
        reason = " ".join(str(error).split())[:200]
        raise BadInput(
            f"the model must run on a text alone and show its attention, but {type(network).__name__} failed "
            f"at that ({type(error).__name__}: {reason}); this architecture cannot be labelled"
        ) from error


def _inputs(tokenizer: Any, text: str, device: torch.device, max_length: int | None = None) -> Tensors:
    encoded = tokenizer(text, return_tensors="pt", truncation=max_length is not None, max_length=max_length)
    return {name: each.to(device) for name, each in encoded.items()}


def _plain(network: Any, inputs: Tensors) -> tuple[torch.Tensor, list[torch.Tensor], list[int]]:
    """Output and weights (heads, tokens, tokens) by layer of the plain eager model, and cached key heads.

    The last are counted from the keys that a decoder caches, by layer; none where nothing is cached.
    """
    network.set_attn_implementation("eager")
    if network.config._attn_implementation != "eager":
        raise BadInput(
            f"weights are checked against plain eager attention, which {type(network).__name__} does not "
            f"take up; this architecture cannot be labelled"
        )
    with torch.inference_mode():
        plain = network(**inputs, output_attentions=True)
    found = getattr(plain, "attentions", None) or ()
    shapes = {None if weights is None else tuple(weights.shape[1:]) for weights in found}
    n = inputs["input_ids"].shape[1]
    square = all(shape is not None and shape[1:] == (n, n) for shape in shapes)
    if len(shapes) != 1 or not square:
        raise BadInput(
            f"every layer must compute one (heads, tokens, tokens) attention, but {type(network).__name__} "
            f"gave {sorted(map(str, shapes)) or 'none'} for {n} tokens; its heads cannot be read"
        )
    layers = getattr(getattr(plain, "past_key_values", None), "layers", ())
    cached = [_own_keys(each) for each in layers if getattr(each, "keys", None) is not None]
    return plain[0], [weights[0].float() for weights in found], cached


def _own_keys(cached: Any) -> int:
    """Heads of keys and values of a layer's cache, those that are the head before once more left out.

    Falcon's newer decoder caches them repeated for its query heads.
    """
    both = torch.cat([cached.keys[0], cached.values[0]], dim=-1)
    own = 1 + int((both[1:] != both[:-1]).flatten(1).any(1).sum())
    return own if bool(both.any()) and len(both) % own == 0 else len(both)


def _counted(found: Sequence[int], layers: int, heads: int) -> tuple[int, ...]:
    """Heads of keys by layer, as found; those of queries where none were seen, as in encoders."""
    return tuple(found) if len(found) == layers else (heads,) * layers


def _agrees(
    network: Any, way: Way, inputs: Tensors, output: torch.Tensor, returned: list[torch.Tensor], kept: _Kept
) -> bool:
    """Whether attention is read as returned; False when the model does not call the interface at all.

    The weights are compared on a run whose every layer gets what it gets in the plain eager model, so
    that no rounding adds up over layers, and once more cut into two blocks; the output is compared
    on a run as runs will be.
    """
    close, n = TOLERANCE[network.dtype], inputs["input_ids"].shape[1]
    _, calls = run(network, way, inputs, [n], kept, trial=1)
    if calls == 0:
        return False
    same = kept.hidden == 0 and _equal(kept.layers, returned, close)
    if way.name == FUSED:
        halves = _Kept()
        run(network, way, inputs, [n], halves, trial=2)
        same = same and _equal(halves.layers, returned, max(close, CUT))
    usual, _ = run(network, way, inputs, [n], _Kept())
    reference = output if way.name == EAGER else _plain_fused(network, inputs, way.name)
    if not same or not torch.allclose(usual, reference, rtol=close, atol=close):
        raise BadInput(
            f"what is read while {type(network).__name__} runs must be what the plain model computes, but "
            f"it is not ({calls} attention calls for {len(returned)} layers); "
            f"this architecture cannot be labelled"
        )
    return True


def _equal(ours: list[torch.Tensor], theirs: list[torch.Tensor], close: float) -> bool:
    if [tuple(each.shape) for each in ours] != [tuple(each.shape) for each in theirs]:
        return False
    return all(torch.allclose(a, b, rtol=0, atol=close) for a, b in zip(ours, theirs, strict=True))


def _plain_fused(network: Any, inputs: Tensors, way: str) -> torch.Tensor:
    network.set_attn_implementation("sdpa")
    with torch.inference_mode():
        output: torch.Tensor = network(**inputs)[0]
    network.set_attn_implementation(way)
    return output


def _causal(network: Any, inputs: Tensors) -> bool:
    """Whether a model outside the interface hides later keys: read from weights of a long input.

    A hidden offset is 0 in all heads and places. Single cells say nothing, since small weights
    become 0 in half precision, and neither do the far corners, which have few cells.
    """
    _, returned, _ = _plain(network, inputs)
    seen = [weights.amax(0) > 0 for weights in returned]
    n = seen[0].shape[0]
    reach = max(1, n - CORNER)
    later = any(bool(layer.triu(1).any()) for layer in seen)
    offsets = range(-reach + 1, reach if later else 1)
    if all(bool(layer.diagonal(d).any()) for layer in seen for d in offsets):
        return not later
    raise BadInput(
        f"keys must be hidden in every layer by one rule, all later ones or none, where a model does not say "
        f"which, but those of {type(network).__name__} are not at {n} tokens; "
        f"give a smaller --max-length, or another model"
    )
