"""Views of stored maps and of plain arrays, which show weights without a model and so without neurons."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from headroles.arrays import array_of, checked_attention
from headroles.errors import BadInput
from headroles.extraction.source import StoredMaps
from headroles.extraction.texts.spelling import number_words
from headroles.extraction.texts.tokens import Tokenised, example_of
from headroles.extraction.views.numbers import check_numbers
from headroles.extraction.views.view import check_size
from headroles.maps.stored import open_stored_maps
from headroles.options.inputs import input_name
from headroles.records.example import Example
from headroles.records.layers import stack_of
from headroles.records.view import SELF, Maps, View

NO_NEURONS = "The neuron view is left out, because no model was run: queries and keys are not known."
ARRAYS = "plain arrays"
"""Name of the model in views of arrays."""


def view_of_arrays(
    attention: Any,
    tokens: Sequence[str] | Sequence[Sequence[str]],
    segments: Sequence[int] | None = None,
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
) -> View:
    """Return a view of plain attention arrays.

    Args:
        attention: Float (layers, heads, tokens, tokens), or a sequence with one array or tensor for each
            layer, (heads, tokens, tokens) or (1, heads, tokens, tokens). Rows are queries, and sum to at
            most 1.
        tokens: The tokens, or two lists of tokens for a pair, which stand one after the other.
        segments: Text of each token, 0 or 1, and −1 on special tokens; None for one text (a pair: the two
            lists) and no special tokens.
        layers: Numbers of the layers to show, from 0; None for all.
        heads: Numbers of the heads to show, from 0; None for all.

    Raises:
        BadInput: For arrays that are no attention between these tokens, for segments that do not fit, for
            layers or heads that do not exist, or more weights than a page can hold.

    Example:
        >>> even = np.full((2, 3, 4, 4), 0.25)
        >>> view_of_arrays(even, [["it", "rains"], ["yes", "."]]).maps[0].queries.segment.tolist()
        [0, 0, 1, 1]
    """
    listed, own_segments = _tokens_of(tokens)
    texts = own_segments if segments is None else np.asarray(segments)
    whole = texts.shape == (len(listed),) and texts.dtype.kind == "i"
    if not whole or not -1 <= texts.min() <= texts.max() <= 1:
        raise BadInput(
            f"segments hold the text of each of the {len(listed)} tokens, 0 or 1, or -1 for a special token, "
            f"but got {texts.tolist()!r:.60}"
        )
    example = Example("view", listed, segment=texts)
    weights = checked_attention(_joined(attention), example, sinks=True)
    words = (" ".join(token for token, text in zip(listed, texts, strict=True) if text == k) for k in (0, 1))
    shown = tuple(text for text in words if text)
    return _view(ARRAYS, shown, weights, example, (layers, heads), range(len(weights)))


def view_of_stored(
    file: Path,
    example: str | None = None,
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
) -> View:
    """Return a view of one example of a file of maps.

    Args:
        file: File of the maps, with its list next to it.
        example: Key of the example, or its number from 0; None for the first.
        layers: Numbers of the layers to show, from 0; None for all.
        heads: Numbers of the heads to show, from 0; None for all.

    Raises:
        BadInput: When file, list or example cannot be read, layers or heads do not exist, or the weights
            are more than a page can hold.
    """
    with open_stored_maps(file, input_name(str(file))) as maps:
        given, numbers = _chosen(maps, example, file), stack_of(maps.described).numbers
        weights = maps.load(given).weights
        name = f"{maps.described['name']} ({file.name}, {given.passage.key})"
    return _view(name, given.passage.texts, weights, _example(given), (layers, heads), numbers)


def _chosen(maps: StoredMaps, example: str | None, file: Path) -> Tokenised:
    """Return the example of a key, with or without the name of the file before it, or of a number."""
    inputs = maps.tokenizer.inputs
    keys = list(inputs)
    if example is None:
        return inputs[keys[0]]
    for key in keys:
        if example in (key, key.partition("/")[2]):
            return inputs[key]
    if example.isdecimal() and len(example) < 10 and int(example) < len(keys):
        return inputs[keys[int(example)]]
    raise BadInput(
        f"--example is a key of the list or a number from 0 to {len(keys) - 1}, but '{file}' has no "
        f"{example!r}; its first keys: {', '.join(repr(key.partition('/')[2]) for key in keys[:5])}"
    )


def _example(given: Tokenised) -> Example:
    """Return an example with its listed words, or else with words by spelling."""
    example = example_of(given, given.passage.words, arcs=False)
    word = example.word if given.word is not None else number_words(given)
    return Example(example.key, example.tokens, example.segment, example.special, example.first, word)


def _tokens_of(tokens: Any) -> tuple[tuple[str, ...], np.ndarray]:
    """Return tokens in one row, and the text of each: 0, and 1 in the second list of a pair."""
    given = list(tokens) if isinstance(tokens, Iterable) and not isinstance(tokens, str) else []
    lists = [given] if all(isinstance(token, str) for token in given) else given
    flat = [token for part in lists if isinstance(part, list | tuple) for token in part]
    strings = bool(flat) and all(isinstance(token, str) for token in flat)
    if not strings or len(lists) > 2 or not all(isinstance(part, list | tuple) for part in lists):
        raise BadInput(
            f"tokens are a list of strings, at least one, or two such lists for a pair, but got "
            f"{tokens!r:.60}; give the tokens of the rows of attention, special tokens included"
        )
    return tuple(flat), np.repeat(np.arange(len(lists)), [len(part) for part in lists])


def _joined(attention: Any) -> Float[np.ndarray, "layers heads tokens tokens"]:
    """Return the layers of arrays or tensors as one array; an axis of one batch is dropped.

    Raises:
        BadInput: When the layers have different shapes, or a batch has several inputs.
    """
    array = array_of(attention) if hasattr(attention, "ndim") else None
    given = list(attention) if array is None else list(array)
    absent = sum(layer is None for layer in given)
    if absent:
        raise BadInput(
            f"attention has an array for each layer, but {absent} of {len(given)} layers are None; run the "
            f"model with attn_implementation='eager' and output_attentions=True"
        )
    layers = [array_of(layer) for layer in given]
    shapes = {layer.shape for layer in layers}
    if len(shapes) != 1 or {len(shape) for shape in shapes} - {3, 4}:
        raise BadInput(
            f"attention is one array (layers, heads, tokens, tokens), or one (heads, tokens, tokens) for "
            f"each layer, all of one shape, but got {' and '.join(sorted(map(str, shapes))) or 'none'}"
        )
    if layers[0].ndim == 4 and len(layers[0]) != 1:
        raise BadInput(f"a view shows one input, but got a batch of {len(layers[0])}; give one of them")
    joined: np.ndarray = np.stack([layer.reshape(layer.shape[-3:]) for layer in layers])
    return joined


def _view(
    name: str,
    texts: tuple[str, ...],
    weights: np.ndarray,
    example: Example,
    chosen: tuple[Sequence[int] | None, Sequence[int] | None],
    positions: Sequence[int],
) -> View:
    """Return the view of the chosen layers and heads of one example; layers are named by position."""
    numbers = []
    for what, own, known in zip(
        ("layers", "heads"), chosen, (positions, range(weights.shape[1])), strict=True
    ):
        check_numbers(what, own, [known])
        numbers.append(tuple(known) if own is None else tuple(sorted(set(own))))
    layers, heads = numbers
    check_size(len(layers) * len(heads) * example.size**2)
    places = [positions.index(layer) for layer in layers]
    steps = np.rint(weights[np.ix_(places, heads)] * 255).clip(0, 255).astype(np.uint8)
    return View(name, texts, (Maps(SELF, layers, heads, example, example, steps),), (NO_NEURONS,))
