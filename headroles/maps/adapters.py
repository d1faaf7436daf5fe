"""Read the attention of one input from what other libraries store: TransformerLens caches, nnsight saves.

Neither library is imported: a cache is anything with keys and tensors, and a save is a tensor, or holds
one. The returned attention and tokens go into ``headroles.score``, ``surface_of``, ``head_distances``,
``probe_of`` and ``view``. ``headroles.write_maps`` stores them in a file for the commands.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from headroles.arrays import array_of, checked_attention
from headroles.errors import BadInput, UnknownName, shorten
from headroles.records.example import Example

Attention = Float[np.ndarray, "layers heads tokens tokens"]
PATTERN = re.compile(r"(?P<stack>.*?)\.?(?P<layer>\d+)\.(?P<part>[^.]*attn)\.hook_pattern")
"""Name of a layer's weights after the softmax in a cache of TransformerLens."""
SCORES = "hook_attn_scores"
"""End of the names of a layer's scores before the softmax."""
CROSS = "cross_attn"
PADDING = ("left", "right")
"""Sides on which a batch fills up shorter inputs."""
MOST_NAMED = 4
"""Most names that a message repeats."""


def from_transformer_lens(
    cache: Any,
    tokens: Sequence[str] | None = None,
    *,
    batch: int = 0,
    padding: str | None = None,
    stack: str | None = None,
    sinks: bool = False,
) -> tuple[Attention, tuple[str, ...]]:
    """Return the attention of one input from a cache of TransformerLens.

    Args:
        cache: What ``run_with_cache`` returns second, or a dictionary of its activations. Weights after the
            softmax are read, ``blocks.{layer}.attn.hook_pattern``, each (batch, heads, tokens, tokens), or
            (heads, tokens, tokens) where the batch dimension was removed. A ``names_filter`` must keep
            those of all layers.
        tokens: Tokens of the input, special ones included, as ``model.to_str_tokens`` gives them; None: the
            places "0", "1", and so on.
        batch: Number of the input in the batch, from 0.
        padding: "left" or "right": the side on which the input was filled up to the longest of its batch.
            Rows and columns of the padding are cut off; ``tokens`` are those of the input alone. None: the
            input has no padding.
        stack: Stack of layers of an encoder-decoder, as its names begin: "encoder" or "decoder", or
            "encoder_blocks" or "decoder_blocks". None where there is one stack. Cross attention is not
            read, because its rows and columns are of different texts.
        sinks: Whether rows may sum to less than 1, because part of the attention went to a sink.

    Returns:
        Attention, float32 (float64 where the cache is) of shape (layers, heads, tokens, tokens), rows are
        queries; and the tokens.

    Raises:
        BadInput: For a cache without weights of every layer, with scores in their place, or with several
            stacks and none named; for tokens that do not fit; for rows that do not sum to 1.
        UnknownName: For another side of the padding, or another stack.

    Example:
        >>> cache = {f"blocks.{layer}.attn.hook_pattern": np.full((1, 3, 2, 2), 0.5) for layer in (0, 1)}
        >>> attention, tokens = from_transformer_lens(cache, ["it", "rains"])
        >>> attention.shape, tokens
        ((2, 3, 2, 2), ('it', 'rains'))
    """
    names = [str(name) for name in cache.keys()] if hasattr(cache, "keys") else []  # noqa: SIM118
    stacks: dict[str, dict[int, str]] = {}
    for name in names:
        found = PATTERN.fullmatch(name)
        if found is not None and found["part"] != CROSS:
            stacks.setdefault(found["stack"], {})[int(found["layer"])] = name
    if not stacks:
        raise BadInput(_no_patterns(cache, names))
    if stack is None and len(stacks) > 1:
        raise BadInput(
            f"the adapter reads one stack of layers, but the cache has {' and '.join(sorted(stacks))}; "
            "name one as stack"
        )
    if stack is not None and stack not in stacks:
        raise UnknownName("stack of layers", stack, stacks)
    chosen = stacks[next(iter(stacks)) if stack is None else stack]
    layers = {layer: cache[name] for layer, name in chosen.items()}
    return _attention(_in_order(layers, "cache"), tokens, batch, padding, sinks)


def from_nnsight(
    saves: Any,
    tokens: Sequence[str] | None = None,
    *,
    batch: int = 0,
    padding: str | None = None,
    sinks: bool = False,
) -> tuple[Attention, tuple[str, ...]]:
    """Return the attention of one input from what a trace of nnsight saved of every layer.

    Args:
        saves: One save for each layer: a sequence in the order of the layers, a mapping from their numbers
            or from names with a number (``model.transformer.h.0.attn``), or a cache of nnsight. A save is a
            tensor (batch, heads, tokens, tokens) or (heads, tokens, tokens), what an attention module
            returns (a tuple with one such tensor), or a proxy with its ``value``. Weights exist only in a
            model loaded with ``attn_implementation="eager"``.
        tokens: Tokens of the input, special ones included; None: the places "0", "1", and so on.
        batch: Number of the input in the batch, from 0.
        padding: "left" or "right": the side on which the input was filled up to the longest of its batch.
            Rows and columns of the padding are cut off; ``tokens`` are those of the input alone. None: the
            input has no padding.
        sinks: Whether rows may sum to less than 1, because part of the attention went to a sink.

    Returns:
        Attention, float32 (float64 where the saves are) of shape (layers, heads, tokens, tokens), rows are
        queries; and the tokens.

    Raises:
        BadInput: For saves that hold no weights, or not those of every layer; for tokens that do not fit;
            for rows that do not sum to 1.
        UnknownName: For another side of the padding.

    Example:
        >>> hidden, weights = np.zeros((1, 2, 8)), np.full((1, 3, 2, 2), 0.5)
        >>> attention, tokens = from_nnsight([(hidden, weights), (hidden, weights)], ["it", "rains"])
        >>> attention.shape, tokens
        ((2, 3, 2, 2), ('it', 'rains'))
    """
    saves = getattr(saves, "value", saves)
    if hasattr(saves, "keys"):
        numbered: dict[int, Any] = {}
        for name in saves.keys():  # noqa: SIM118
            digits = re.findall(r"\d+", str(name))
            if not digits or int(digits[-1]) in numbered:
                raise BadInput(
                    f"every save has the number of its layer as the last number of its name, but got "
                    f"{shorten(name)}; give the saves as a list in the order of the layers"
                )
            numbered[int(digits[-1])] = saves[name]
        layers = _in_order(numbered, "saves")
    elif isinstance(saves, Iterable) and not isinstance(saves, str | bytes):
        layers = list(saves)
    else:
        raise BadInput(f"saves are one for each layer, as a list or a mapping, but got {shorten(saves)}")
    weights = [_saved_weights(save, number) for number, save in enumerate(layers)]
    return _attention(weights, tokens, batch, padding, sinks)


def _no_patterns(cache: Any, names: Sequence[str]) -> str:
    """Return the sentence on a cache that has no weights after the softmax."""
    if not hasattr(cache, "keys"):
        return f"a cache maps names to activations, but got {shorten(cache)}; give that of run_with_cache"
    rule = "attention is read after the softmax, from blocks.{layer}.attn.hook_pattern"
    if any(name.endswith(SCORES) for name in names):
        return (
            f"{rule}, but the cache has scores before it ({SCORES}) only; keep hook_pattern in names_filter"
        )
    if any(name.endswith(f"{CROSS}.hook_pattern") for name in names):
        return (
            f"{rule}, but the cache has cross attention only, whose rows and columns belong to different "
            "texts"
        )
    shown = ", ".join(names[:MOST_NAMED]) + ", …" * (len(names) > MOST_NAMED) or "none"
    return f"{rule}, but the cache has no such name (it has {shown}); keep hook_pattern in names_filter"


def _in_order(layers: Mapping[int, Any], what: str) -> list[Any]:
    """Return the layers in the order of their numbers, after checking that none is missing."""
    missing = sorted(set(range(max(layers, default=0) + 1)) - layers.keys())
    if missing:
        raise BadInput(
            f"attention must have all layers, numbered from 0, but the {what} lacks layer {missing[0]} of "
            f"{max(layers, default=0) + 1}; keep every layer"
        )
    return [layers[number] for number in sorted(layers)]


def _saved_weights(save: Any, layer: int) -> Any:
    """Return the tensor of weights that a save is or holds."""
    save = getattr(save, "value", save)
    if not hasattr(save, "ndim"):
        save = getattr(save, "output", save)
    if hasattr(save, "ndim"):
        return save
    given: list[Any] = [getattr(part, "value", part) for part in save] if isinstance(save, Iterable) else []
    parts = [part for part in given if getattr(part, "ndim", 0) == 4 and part.shape[2] == part.shape[3]]
    if len(parts) != 1:
        raise BadInput(
            f"the save of a layer is its weights (batch, heads, tokens, tokens), or holds them once, but "
            f"that of layer {layer} holds them {len(parts)} times; load the model with "
            f'attn_implementation="eager", and save output[1] of its attention'
        )
    return parts[0]


def _attention(
    layers: Sequence[Any], tokens: Sequence[str] | None, batch: int, padding: str | None, sinks: bool
) -> tuple[Attention, tuple[str, ...]]:
    """Return the weights of one input of a batch, without padding, and its tokens, after checking both."""
    if padding is not None and padding not in PADDING:
        raise UnknownName("side of the padding", padding, PADDING)
    arrays = [array_of(layer) for layer in layers]
    shapes = sorted({array.shape for array in arrays})
    size = shapes[0][-1] if shapes and shapes[0] else 0
    square = len(shapes) == 1 and len(shapes[0]) in (3, 4) and shapes[0][-2] == size
    if not square or not arrays[0].size:
        raise BadInput(
            f"every layer has weights (batch, heads, tokens, tokens), or (heads, tokens, tokens), all of one "
            f"shape, but got {' and '.join(map(str, shapes)) or 'none'}"
        )
    whole = np.stack([array if array.ndim == 4 else array[None] for array in arrays])
    inputs = whole.shape[1]
    if type(batch) is not int or not 0 <= batch < inputs:
        raise BadInput(f"batch is the number of an input, from 0 to {inputs - 1}, but got {shorten(batch)}")
    names = _token_names(tokens, size, padding)
    kept = slice(size - len(names), size) if padding == "left" else slice(0, len(names))
    weights = np.ascontiguousarray(whole[:, batch, :, kept, kept])
    checked_attention(weights, Example(f"input {batch}", names), sinks=sinks)
    return weights, names


def _token_names(tokens: Sequence[str] | None, size: int, padding: str | None) -> tuple[str, ...]:
    """Return the tokens of an input, or its places where none are given."""
    if tokens is None:
        if padding is not None:
            raise BadInput(
                "the number of tokens shows where the padding begins; give the tokens, or leave padding out"
            )
        return tuple(map(str, range(size)))
    names = () if isinstance(tokens, str) else tuple(tokens)
    if not names or not all(isinstance(token, str) for token in names):
        raise BadInput(
            f"tokens are a list of strings, at least one, but got {shorten(tokens)}; give those of the rows "
            f"of attention, special tokens included"
        )
    if len(names) > size or (padding is None and len(names) != size):
        hint = (
            "give the side of the padding, padding='left' or padding='right'"
            if len(names) < size
            else "give those of this input"
        )
        raise BadInput(
            f"attention has a row for each token, but got {size} rows and {len(names)} tokens; {hint}"
        )
    return names
