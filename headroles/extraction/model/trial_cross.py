"""The check at load of an encoder-decoder whose decoder or cross attention is read.

Encoder and decoder get as many tokens as tells their attentions apart, which says what each module
computes; what is read of those of the wanted kind must be what the plain model computes.
"""

from typing import Any

import torch

from headroles.errors import BadInput
from headroles.extraction.capture.attention import EAGER, FUSED, RETURNED, Way, run
from headroles.extraction.capture.neurons import Call
from headroles.extraction.capture.plain import kind_of, run_plain, run_viewed
from headroles.extraction.capture.readers import Visible
from headroles.extraction.capture.stacks import BOTH, Inputs, cut, sizes, uncached
from headroles.extraction.capture.weights import WHOLE
from headroles.extraction.model.trial import CUT, SENTENCE, TOLERANCE, Chosen
from headroles.extraction.model.two_texts import TwoTexts
from headroles.records.passage import Passage
from headroles.records.view import CROSS, DECODER

SHORT = 64
"""Most tokens of either text on trial."""


class _Read:
    """A reader that keeps every layer of one example, and notes the largest weight on a hidden key."""

    def __init__(self) -> None:
        self.blocks: dict[int, list[torch.Tensor]] = {}
        self.hidden = 0.0

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: Visible) -> None:
        self.blocks.setdefault(layer, []).append(rows.clone())
        if visible is not None:
            seen = torch.from_numpy(visible[start : start + rows.shape[1]]).to(rows.device)
            self.hidden = max(self.hidden, float(rows.masked_fill(seen, 0).max()))

    def layers(self, kind: str, inputs: Inputs) -> list[torch.Tensor]:
        """What came by layer, as the model returns it: cross attention without the rest of its square."""
        whole = [torch.cat(blocks, dim=1) for _, blocks in sorted(self.blocks.items())]
        queries = sizes(inputs, kind)[0]
        return [each[:, :queries, queries:] for each in whole] if kind == CROSS else whole


def chosen_of(network: Any, texts: TwoTexts, device: torch.device, max_length: int) -> Chosen:
    """Choose the way of reading decoder or cross attention, and compare it with the plain eager model's.

    Args:
        network: Loaded with eager attention.
        texts: Its tokenizer, which says which kind is read.
        device: Where the network lies.
        max_length: Longest text that will come; long ones are read in blocks.

    Raises:
        BadInput: When the model cannot run on a pair, shows no attention of that kind, or is misread.
    """
    pair = Passage("trial", (SENTENCE, f"{SENTENCE} {SENTENCE}"))
    try:
        given = texts.tokenised([pair], SHORT)[0].inputs
        whole = {name: torch.tensor([values], device=device) for name, values in given.items()}
        inputs, kind = cut(whole, SHORT), texts.kind
        plain = run_plain(network, inputs, BOTH)[kind]
        modules, key_heads = _modules(network, inputs, kind)
        heads = plain[0].shape[0]
        if not modules:
            network.set_attn_implementation("eager")
            way = Way(RETURNED, _causal(network, plain, kind), kind)
            return Chosen(way, len(plain), heads, (heads,) * len(plain))
        small = device.type == "cpu" and max_length <= WHOLE and network.dtype == torch.float32
        name = FUSED if network._supports_sdpa and not small else EAGER
        way = Way(name, kind == DECODER, kind, modules)
        if not _agrees(network, way, inputs, plain):
            raise BadInput(
                f"what is read while {type(network).__name__} runs must be what the plain model computes, "
                f"but its {kind} attention is not; this architecture cannot be labelled"
            )
        network.set_attn_implementation(way.name)
        return Chosen(way, len(plain), heads, key_heads)
    except (RuntimeError, TypeError, ValueError, AttributeError, LookupError, NotImplementedError) as error:
        reason = " ".join(str(error).split())[:200]
        raise BadInput(
            f"the model must run on two texts and show its attention, but {type(network).__name__} failed "
            f"at that ({type(error).__name__}: {reason}); its {texts.kind} attention cannot be labelled"
        ) from error


def _modules(network: Any, inputs: Inputs, kind: str) -> tuple[frozenset[Any], tuple[int, ...]]:
    """The modules that compute attention of a kind, and the heads of keys of each of its layers.

    Raises:
        ValueError: When a module computes attention of several kinds, or of none.
    """
    seen: dict[Any, str] = {}
    key_heads: list[int] = []

    def take(call: Call) -> None:
        own = kind_of(call, inputs, BOTH)
        if seen.setdefault(call.module, own) != own:
            raise ValueError(f"one module computes {seen[call.module]} and {own} attention")
        if own == kind:
            key_heads.append(call.key.shape[1])

    run_viewed(network, inputs, take)
    return frozenset(module for module, own in seen.items() if own == kind), tuple(key_heads)


def _agrees(network: Any, way: Way, inputs: Inputs, plain: list[torch.Tensor]) -> bool:
    """Whether weights are read as the plain model returns them, and its output stays what it is."""
    close = TOLERANCE[network.dtype]
    lengths = [sum(sizes(inputs, CROSS))] if way.kind == CROSS else [sizes(inputs, way.kind)[0]]
    reference = _output(network, inputs, "eager" if way.name == EAGER else "sdpa")
    network.set_attn_implementation(way.name)
    for blocks in (1, 2) if way.name == FUSED else (1,):
        kept = _Read()
        run(network, way, inputs, lengths, kept, trial=blocks)
        if kept.hidden or not _equal(
            kept.layers(way.kind, inputs), plain, close if blocks == 1 else max(close, CUT)
        ):
            return False
    usual, _ = run(network, way, inputs, lengths, _Read())
    return torch.allclose(usual, reference, rtol=close, atol=close)


def _output(network: Any, inputs: Inputs, implementation: str) -> torch.Tensor:
    """What the plain model gives."""
    network.set_attn_implementation(implementation)
    with torch.inference_mode():
        output: torch.Tensor = network(**inputs, **uncached(inputs))[0]
    return output


def _equal(ours: list[torch.Tensor], theirs: list[torch.Tensor], close: float) -> bool:
    return len(ours) == len(theirs) and all(
        a.shape == b.shape and torch.allclose(a, b, rtol=0, atol=close)
        for a, b in zip(ours, theirs, strict=True)
    )


def _causal(network: Any, plain: list[torch.Tensor], kind: str) -> bool:
    """Whether the decoder of a model outside the interface hides later keys, in every layer; else none.

    Raises:
        ValueError: When keys are hidden by another rule.
    """
    seen = [weights.amax(0) > 0 for weights in plain]
    causal = kind == DECODER and not any(bool(each.triu(1).any()) for each in seen)
    every = torch.ones_like(seen[0])
    if all(bool((each == (every.tril() if causal else every)).all()) for each in seen):
        return causal
    raise ValueError(f"{type(network).__name__} does not tell which keys its {kind} attention hides")
