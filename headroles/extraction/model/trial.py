"""Choose at load how a model's attention is read, and check it against what the plain model computes."""

import inspect
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from headroles.errors import BadInput
from headroles.extraction.capture import weights
from headroles.extraction.capture.attention import run
from headroles.extraction.capture.method import CaptureMethod
from headroles.extraction.capture.readers import Place, VisibleArray, VisibleMask
from headroles.extraction.capture.visible import check_rows
from headroles.extraction.capture.weights import WHOLE, forms_output
from headroles.records.rules.names import EAGER, FORMED, RETURNED

TOLERANCE = {torch.float32: 1e-6, torch.bfloat16: 2e-2, torch.float16: 2e-3}
"""Largest difference of captured from returned weights, both in the model's own precision."""

BLOCK_TOLERANCE = 1e-3
"""Largest difference where an input is cut into blocks: products of other shapes round differently."""

OUTPUT_TOLERANCE = 1e-5
"""Largest difference of outputs where products have other shapes: their rounding adds up over layers."""

LONGEST_SEARCHED = 512
"""Longest input on which hidden keys are searched for; known attention windows have 256 tokens."""
SMALL = 1e-3
"""Factor of the matrices of a network whose logits shall be small."""
FEWEST_CELLS = 8
"""Fewest cells of an offset that is examined when hidden keys are searched for."""

NOT_FINITE = {
    torch.float16: "its numbers are too large for float16; give --dtype bfloat16 or float32",
    torch.bfloat16: "give --dtype float32, or a sound checkpoint",
    torch.float32: "give a sound checkpoint",
}
"""What to do where attention is NaN."""
OTHER_INPUTS = {
    "pixel_values": "images", "pixel_values_videos": "videos", "input_values": "sound",
    "input_features": "sound", "past_values": "series of numbers", "bbox": "places on a page",
}  # fmt: skip
"""Inputs of models beside text, in words."""
TRIAL_SENTENCE = "The heads of a model look at words, and at each other."

Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True, slots=True)
class Reading:
    """The way a model is read, with its layers and heads, counted on tensors and not taken from its config.

    Attributes:
        way: The way of reading.
        layers: Number of layers that compute attention.
        heads: Query heads of each layer.
        key_heads: Heads of keys and values of each layer; fewer than ``heads`` where query heads share
            them (grouped-query attention), 1 where all do (multi-query attention).
        returned: Place of each layer among those for which the plain model returns attention, or nothing.
        places: Number of these places.
    """

    way: CaptureMethod
    layers: int
    heads: int
    key_heads: tuple[int, ...]
    returned: tuple[int, ...]
    places: int


class _KeepingReader:
    """A reader that keeps every layer of one example.

    It also keeps the number of key heads of each layer, the largest weight on a hidden key, and whether
    all later keys are hidden.
    """

    def __init__(self) -> None:
        self.blocks: dict[int, list[torch.Tensor]] = {}
        self.key_heads: dict[int, int] = {}
        self.hidden = 0.0
        self.causal = True

    def read_keys(self, layer: int, heads: int) -> None:
        self.key_heads[layer] = heads

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: VisibleArray) -> None:
        self.blocks.setdefault(layer, []).append(rows.clone())
        self.causal &= visible is not None and np.array_equal(visible, np.tri(len(visible), dtype=np.bool_))
        if visible is not None:
            mask = torch.from_numpy(visible[start : start + rows.shape[1]]).to(rows.device)
            self.hidden = max(self.hidden, float(rows.masked_fill(mask, 0).max()))

    @property
    def layers(self) -> list[torch.Tensor]:
        return [torch.cat(blocks, dim=1) for _, blocks in sorted(self.blocks.items())]


class _HeadReader:
    """A reader that keeps every layer of one example, which it takes head by head."""

    by_heads = True

    def __init__(self, tokens: int) -> None:
        self.heads: dict[tuple[int, int], list[torch.Tensor]] = {}
        self._tokens = tokens

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: VisibleArray) -> None:
        raise TypeError("this reader takes blocks of some heads only")

    def read_rows(self, place: Place, rows: torch.Tensor, visible: VisibleMask) -> None:
        whole = torch.nn.functional.pad(rows, (place.first, self._tokens - place.first - rows.shape[2]))
        self.heads.setdefault((place.layer, place.heads.start), []).append(whole)

    @property
    def layers(self) -> list[torch.Tensor]:
        by_layer: dict[int, list[torch.Tensor]] = {}
        for (layer, _), blocks in sorted(self.heads.items()):
            by_layer.setdefault(layer, []).append(torch.cat(blocks, dim=1))
        return [torch.cat(heads) for _, heads in sorted(by_layer.items())]


def choose_reading(
    network: Any, tokenizer: Any, device: torch.device, max_length: int, *, fused: bool = True
) -> Reading:
    """Choose the way of reading, and compare its weights with the plain eager model's.

    Args:
        network: Loaded with eager attention.
        tokenizer: Its tokenizer.
        device: Device that holds the network.
        max_length: Longest input of the run; long ones are read in blocks.
        fused: Whether weights may be computed outside the model, where they have no gradients.

    Returns:
        The way, and the numbers of layers, heads, and heads of keys and values.

    Raises:
        BadInput: When the model cannot run on a text, computes no attention, or is read wrongly.
    """
    inputs = _encode(tokenizer, TRIAL_SENTENCE, device)
    try:
        plain = run_plain_eager(network, inputs)
        output, returned, cached = plain.output, plain.weights, plain.cached
        heads = returned[0].shape[0]
        small = device.type == "cpu" and max_length <= WHOLE and network.dtype == torch.float32
        way = CaptureMethod(FORMED if fused and not small and network._supports_sdpa else EAGER)
        network.set_attn_implementation(way.name)
        reader = _KeepingReader()
        if _check_reading(network, way, inputs, output, returned, reader):
            way = replace(
                way, causal=reader.causal, plain=_is_softmax(network, way, inputs, output, returned)
            )
            by_heads = way.name == FORMED and _forms_some_heads(network, way, inputs, [*returned, output])
            way = replace(way, by_heads=by_heads)
            key_heads = _key_heads_by_layer(list(reader.key_heads.values()), len(returned), heads)
            return Reading(way, len(returned), heads, key_heads, plain.returned, plain.places)
        network.set_attn_implementation("eager")
        text = " ".join([TRIAL_SENTENCE] * (LONGEST_SEARCHED // 8))
        long = _encode(tokenizer, text, device, min(max_length, LONGEST_SEARCHED))
        causal = _hides_later_keys(network, long, len(returned))
        return Reading(
            CaptureMethod(RETURNED, causal),
            len(returned),
            heads,
            _key_heads_by_layer(cached, len(returned), heads),
            plain.returned,
            plain.places,
        )
    except (RuntimeError, TypeError, ValueError, AttributeError, LookupError, NotImplementedError) as error:
        reason = " ".join(str(error).split())[:200]
        asked = inspect.signature(network.forward).parameters
        others = sorted({what for name, what in OTHER_INPUTS.items() if name in asked})
        more = f", which reads {' and '.join(others)}, too," if others else ""
        raise BadInput(
            f"the model must run on a text alone and show its attention, but {type(network).__name__}{more} "
            f"failed at that ({type(error).__name__}: {reason}); this architecture cannot be labelled"
        ) from error


def _encode(tokenizer: Any, text: str, device: torch.device, max_length: int | None = None) -> Tensors:
    encoded = tokenizer(text, return_tensors="pt", truncation=max_length is not None, max_length=max_length)
    return {name: ids.to(device) for name, ids in encoded.items()}


@dataclass(frozen=True, slots=True, eq=False)
class PlainRun:
    """What the plain eager model computes.

    Attributes:
        output: Its output.
        weights: Weights (heads, tokens, tokens) of each layer that computes attention.
        cached: Heads of the keys that a decoder caches, by layer; none where nothing is cached.
        returned: Place of each such layer among those that the model returns.
        places: Number of places that it returns.
    """

    output: torch.Tensor
    weights: list[torch.Tensor]
    cached: list[int]
    returned: tuple[int, ...]
    places: int


def run_plain_eager(network: Any, inputs: Tensors, layers: int | None = None) -> PlainRun:
    """Run the plain eager model.

    Args:
        network: The model.
        inputs: Of one text.
        layers: Layers that must return attention, and no other may return anything; None for any number.

    Raises:
        BadInput: When no layer returns attention, or not as many as are asked for, or one returns something
            else.
    """
    network.set_attn_implementation("eager")
    if network.config._attn_implementation != "eager":
        raise BadInput(
            f"weights are checked against plain eager attention, which {type(network).__name__} does not "
            "support; this architecture cannot be labelled"
        )
    with torch.inference_mode():
        plain = network(**inputs, output_attentions=True)
    every, n = getattr(plain, "attentions", None) or (), inputs["input_ids"].shape[1]
    every = [own if isinstance(own, torch.Tensor) else None for own in every]  # Pegasus-X gives a dictionary
    places = [k for k, own in enumerate(every) if own is not None and tuple(own.shape[2:]) == (n, n)]
    returned = [every[place] for place in places]
    # Layers of linear attention have other shapes, or none; where attention is taken as returned, none may.
    others = layers is not None and sum(own is not None for own in every) != layers
    if others or len({own.shape[1] for own in returned}) != 1:
        shapes = {None if own is None else tuple(own.shape[1:]) for own in every}
        raise BadInput(
            f"layers compute (heads, tokens, tokens) attention of one number of heads, but "
            f"{type(network).__name__} gave {sorted(map(str, shapes)) or 'none'} for {n} tokens; its heads "
            f"cannot be read"
        )
    for own in returned:
        if not bool(torch.isfinite(own).all()):
            kind = str(network.dtype).removeprefix("torch.")
            raise BadInput(
                f"attention is finite numbers, but in {kind} that of {type(network).__name__} holds NaN; "
                f"{NOT_FINITE[network.dtype]}"
            )
        check_rows(own, type(network).__name__)
    caches = getattr(getattr(plain, "past_key_values", None), "layers", ())
    cached = [_count_key_heads(layer) for layer in caches if getattr(layer, "keys", None) is not None]
    home = inputs["input_ids"].device
    weights = [own[0].float().to(home) for own in returned]
    return PlainRun(plain[0], weights, cached, tuple(places), len(every))


def _count_key_heads(cached: Any) -> int:
    """Return the number of key-value heads of a layer's cache, without heads that repeat the one before.

    Falcon's newer decoder caches them repeated for its query heads.
    """
    heads = torch.cat([cached.keys[0], cached.values[0]], dim=-1)
    distinct = 1 + int((heads[1:] != heads[:-1]).flatten(1).any(1).sum())
    return distinct if bool(heads.any()) and len(heads) % distinct == 0 else len(heads)


def _key_heads_by_layer(counts: Sequence[int], layers: int, heads: int) -> tuple[int, ...]:
    """Return the key heads by layer as counted, or the query heads where none were read, as in encoders."""
    return tuple(counts) if len(counts) == layers else (heads,) * layers


def _check_reading(
    network: Any,
    way: CaptureMethod,
    inputs: Tensors,
    output: torch.Tensor,
    returned: list[torch.Tensor],
    reader: _KeepingReader,
) -> bool:
    """Check that attention is read as returned; False when the model does not call the interface at all.

    The weights are compared on a run in which every layer gets the same input as in the plain eager
    model, so that no rounding adds up over layers. Weights and output are compared once more, cut into two
    blocks. On a usual run the output is compared: with that of the plain eager model where it is taken from
    formed weights, else with that of the plain sdpa model.
    """
    tolerance, n = TOLERANCE[network.dtype], inputs["input_ids"].shape[1]
    _, calls = run(network, way, inputs, [n], reader, trial=1)
    if calls == 0:
        return False
    same = reader.hidden == 0 and _all_close(reader.layers, returned, tolerance)
    if way.name == FORMED:
        close = max(tolerance, BLOCK_TOLERANCE)
        second_reader = _KeepingReader()
        cut, _ = run(network, way, inputs, [n], second_reader, trial=2)
        same = same and _all_close([*second_reader.layers, cut], [*returned, output], close)
    usual, _ = run(network, way, inputs, [n], _KeepingReader())
    own = way.name == EAGER or forms_output(output)
    reference = output if own else _run_plain_fused(network, inputs, way.name)
    limit = tolerance if n <= weights.WHOLE else max(tolerance, BLOCK_TOLERANCE)
    if not same or not torch.allclose(usual, reference, rtol=limit, atol=limit):
        small = way.name == FORMED and network.dtype == torch.float32 and inputs["input_ids"].is_cpu
        raise BadInput(
            f"what is read while {type(network).__name__} runs must be what the plain model computes, but "
            f"it is not ({calls} attention calls for {len(returned)} layers); this architecture cannot be "
            f"labelled{f' with --max-length beyond {weights.WHOLE}' if small else ''}"
        )
    return True


def _is_softmax(
    network: Any, way: CaptureMethod, inputs: Tensors, output: torch.Tensor, returned: list[torch.Tensor]
) -> bool:
    """Return whether weights and output are those of a softmax of scaled products, with a mask alone.

    Weights are compared as in ``_check_reading``, on equal inputs of every layer, and the output on a usual
    run. Heads that share keys are formed by one product, which rounds differently from the model's own:
    with registers of 256 bits the output of a few layers differs by up to 4e-6. Only processors in float32
    use that.
    """
    if not forms_output(output):
        return False
    reader, n = _KeepingReader(), inputs["input_ids"].shape[1]
    try:
        run(network, replace(way, plain=True), inputs, [n], reader, trial=1)
        usual, _ = run(network, replace(way, plain=True), inputs, [n], _KeepingReader())
    except (RuntimeError, TypeError, ValueError, LookupError):
        return False
    same = reader.hidden == 0 and _all_close(reader.layers, returned, TOLERANCE[network.dtype])
    return same and torch.allclose(usual, output, rtol=OUTPUT_TOLERANCE, atol=OUTPUT_TOLERANCE)


def _forms_some_heads(network: Any, way: CaptureMethod, inputs: Tensors, wanted: list[torch.Tensor]) -> bool:
    """Return whether the model's eager function gives weights and output of some heads without the others.

    Only processors use that; ``wanted`` has the weights by layer, then the output of the model.
    """
    if inputs["input_ids"].device.type != "cpu":
        return False
    tokens = inputs["input_ids"].shape[1]
    reader = _HeadReader(tokens)
    try:
        output, _ = run(network, replace(way, by_heads=True), inputs, [tokens], reader, trial=2)
    except (RuntimeError, TypeError, ValueError, LookupError):
        return False
    return _all_close([*reader.layers, output], wanted, max(TOLERANCE[network.dtype], BLOCK_TOLERANCE))


def _all_close(ours: list[torch.Tensor], theirs: list[torch.Tensor], close: float) -> bool:
    if [tuple(weights.shape) for weights in ours] != [tuple(weights.shape) for weights in theirs]:
        return False
    return all(torch.allclose(a, b, rtol=0, atol=close) for a, b in zip(ours, theirs, strict=True))


def _run_plain_fused(network: Any, inputs: Tensors, way: str) -> torch.Tensor:
    network.set_attn_implementation("sdpa")
    with torch.inference_mode():
        output: torch.Tensor = network(**inputs)[0]
    network.set_attn_implementation(way)
    return output


def _hides_later_keys(network: Any, inputs: Tensors, layers: int) -> bool:
    """Return whether a model that does not use the interface hides later keys, from weights of a long input.

    Weights of visible keys can be too small for their type, and 0. A copy of the network with small matrices
    has small logits, and hides the same keys.
    """
    rule = _rule_of(network, inputs, layers)
    if rule is None:
        even = deepcopy(network)
        with torch.no_grad():
            for weight in even.parameters():
                if weight.dim() > 1:
                    weight.mul_(SMALL)
        rule = _rule_of(even, inputs, layers)
    if rule is None:
        raise BadInput(
            f"keys must be hidden in every layer by one rule, all later ones or none, where a model does not "
            f"state which, but those of {type(network).__name__} are not at {inputs['input_ids'].shape[1]} "
            f"tokens; give a smaller --max-length, or another model"
        )
    return rule


def _rule_of(network: Any, inputs: Tensors, layers: int) -> bool | None:
    """Return whether a model hides later keys; None where some of those it hides follow another rule.

    A hidden offset is 0 in all heads and places. Single cells show nothing, since small weights become 0
    in half precision; nor do the far corners, which have few cells.
    """
    visible = [weights.amax(0) > 0 for weights in run_plain_eager(network, inputs, layers).weights]
    n = visible[0].shape[0]
    reach = max(1, n - FEWEST_CELLS)
    later = any(bool(layer.triu(1).any()) for layer in visible)
    offsets = range(-reach + 1, reach if later else 1)
    shown = all(bool(layer.diagonal(d).any()) for layer in visible for d in offsets)
    return not later if shown else None
