"""Distances between heads, and answers of heads to probes, from plain attention arrays of any source."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from headroles.arrays import checked_attention, list_inputs
from headroles.errors import BadInput, UnknownName, describe_object
from headroles.options.probe import PROBES
from headroles.records.documents import Document, Window
from headroles.records.example import Example
from headroles.records.probes import ChoiceProbe, DecodingProbe
from headroles.records.rules.names import WAYS
from headroles.sieves.language.relations import relations_of
from headroles.sieves.probes.choices import choose_candidates, hits, right_by_row
from headroles.sieves.probes.coreference import CoreferenceProbe
from headroles.sieves.probes.dependency import DependencyProbe
from headroles.sieves.probes.trees import TreeProbe

Arrays = Float[np.ndarray, "layers heads _ _"] | Sequence[Float[np.ndarray, "layers heads _ _"]]
"""Attention of one input, or of several inputs of different lengths."""


def head_distances(
    attention: Arrays,
    *,
    smoothing: float = 0.0,
    way: str = "mean",
    units: Sequence[str] | None = None,
    root: bool = False,
    sinks: bool = False,
) -> Float[np.ndarray, "heads heads"]:
    """Return the Jensen-Shannon divergence between the attention rows of every two heads, as a square matrix.

    With ``smoothing=0.001`` and ``way="sum"`` it is the matrix of the released ``head_distances.py``.

    Args:
        attention: Float (layers, heads, tokens, tokens) of one input, or a sequence of such arrays with the
            same layers and heads; rows are queries and sum to 1. Entropies are in its precision, float64 or
            float32; half precision is taken as float32.
        smoothing: Share ε of even attention mixed into every row first: ``(1 − ε) a + ε / tokens``.
        way: "mean" over the rows of an input, then over the inputs of a unit, then over units, as
            ``headroles cluster`` does; or "sum" over all rows of all inputs.
        units: Name of the unit of each input; each input is a unit where None.
        root: Whether to return square roots, which are distances that fulfil the triangle inequality.
        sinks: Whether rows may sum to less than 1, because part of the attention went to a sink.

    Returns:
        Float64 (layers × heads, layers × heads), symmetric, with 0 on the diagonal; head h of layer l has row
        l × heads + h. In nats: a mean is 0 to ln 2, a sum 0 to all rows × ln 2; with ``root`` the square
        roots of these.

    Raises:
        BadInput: For arrays that are no attention or of different models, smoothing out of range, or another
            number of units than inputs.
        UnknownName: For another way.

    Source:
        Clark et al. (2019), section 6 and the released code; Lin (1991), equation 4.1.

    Example:
        >>> one, other = np.eye(4), np.eye(4)[::-1]
        >>> head_distances(np.stack([one, other])[None]).round(4).tolist()  # ln 2 = 0.6931
        [[0.0, 0.6931], [0.6931, 0.0]]
    """
    from headroles.extraction.jobs.divergence import array_divergences

    if way not in WAYS:
        raise UnknownName("way of summing divergences", way, WAYS)
    if not 0 <= smoothing < 1:
        raise BadInput(f"smoothing must be at least 0 and below 1, but got {smoothing}")
    inputs = _checked(attention, sinks)
    names = list(units) if units is not None else [str(number) for number in range(len(inputs))]
    if len(names) != len(inputs):
        raise BadInput(f"every input has one unit, but got {len(names)} units for {len(inputs)} inputs")
    heads = inputs[0].shape[0] * inputs[0].shape[1]
    condensed = np.zeros(heads * (heads - 1) // 2)
    for weights, name in zip(inputs, names, strict=True):
        rows = weights.reshape(heads, *weights.shape[2:])
        share = 1 / (weights.shape[2] * names.count(name) * len(set(names))) if way == "mean" else 1.0
        condensed += share * array_divergences(rows, smoothing)
    square = np.zeros((heads, heads))
    square[np.triu_indices(heads, 1)] = np.sqrt(condensed) if root else condensed
    return square + square.T


def probe_of(
    attention: Arrays,
    annotation: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    probe: str = "dependency",
    *,
    word: Int[np.ndarray, " tokens"] | Sequence[Int[np.ndarray, "_"]] | None = None,
    relations: Sequence[str] | None = None,
    scheme: str = "ud",
    root: str = "given",
    published: bool = False,
) -> dict[str, Float[np.ndarray, "layers heads"]]:
    """Return the share of right answers of every head to a probe, over the items of all inputs.

    Args:
        attention: Float (layers, heads, words, words) of one input, or a sequence of such arrays with the
            same layers and heads; rows attend, and sum to at most 1. With ``word``, (…, tokens, tokens).
        annotation: Words of each input and their annotation: an object as a line of JSON of ``headroles
            probe --data``, with ``words``, ``heads`` (from 1, 0 for the root) and ``relations``, or
            ``mentions`` and ``clusters``; ``sentences``, ``tags`` and ``features`` where there are any.
        probe: "dependency", "trees" or "coreference".
        word: Word of each token from 0, −1 on special tokens. Attention to a word is then summed over its
            tokens, attention from a word averaged over them.
        relations: Rows of the dependency probe; None for all relations of the inputs.
        scheme: Scheme of the names of relations, "ud" or "clearnlp".
        root: "given" or "found", for directed trees.
        published: Whether the dependency probe counts as the released code does.

    Returns:
        By column, such as ``dependency:nsubj:→``, shares from 0 to 1; NaN where no input has an item. "→":
        the item's word attends; "←": it is attended to.

    Raises:
        BadInput: For arrays that are no attention or do not fit the words; for annotation that breaks a
            rule, or lacks what the probe asks about.
        UnknownName: For another probe, scheme or root.

    Source:
        Clark et al. (2019), sections 4.1 to 4.3.

    Example:
        >>> attention = np.array([[[[0, 1, 0], [0.5, 0, 0.5], [0.9, 0.1, 0]]]])
        >>> sentence = {"words": ["it", "rains", "again"], "heads": [2, 0, 2]}
        >>> shares = probe_of(attention, sentence | {"relations": ["expl", "root", "advmod"]})
        >>> {name: share.item() for name, share in shares.items() if name.endswith("→")}
        {'dependency:all:→': 0.5, 'dependency:advmod:→': 0.0, 'dependency:expl:→': 1.0}
    """
    from headroles.extraction.gold.jsonlines import document_of
    from headroles.extraction.texts.pieces import pieces_of_words

    rows = [annotation] if isinstance(annotation, Mapping) else list_inputs("annotation", annotation)
    strange = next((row for row in rows if not isinstance(row, Mapping)), None)
    if strange is not None:
        raise BadInput(
            f"annotation is a dictionary of words and their annotation, but got {describe_object(strange)}"
        )
    inputs = [weights.astype(np.float64) for weights in _checked(attention, sinks=True)]
    numbers = [None] * len(inputs) if word is None else [word] if isinstance(word, np.ndarray) else list(word)
    if not len(rows) == len(inputs) == len(numbers):
        raise BadInput(
            f"every input has attention and annotation (and the words of its tokens, where it is of tokens), "
            f"but got {len(inputs)} arrays, {len(rows)} annotations and {len(numbers)} lists of words"
        )
    documents = [document_of(dict(row), f"input {k}", f"annotation {k}", 1) for k, row in enumerate(rows)]
    probes = _probes(probe, documents, relations, scheme, root, published)
    right: dict[str, np.ndarray] = {}
    items: dict[str, int] = {}
    for weights, document, own in zip(inputs, documents, numbers, strict=True):
        between = _between_words(weights, document, own)
        if own is not None:
            pieces = pieces_of_words(np.asarray(own), len(document.words))
            document = replace(document, tokenless=pieces == 0)
        window = Window(document, 0, len(document.words), 0)
        for chosen in probes:
            for name, count, rights in _answers(chosen, window, between):
                right[name] = right.get(name, 0) + rights
                items[name] = items.get(name, 0) + count
    none = np.full(inputs[0].shape[:2], np.nan)
    return {name: right[name] / count if count else none for name, count in items.items()}


def _checked(attention: Arrays, sinks: bool) -> list[np.ndarray]:
    """Return the attention of each input, after checking that it is attention of one model."""
    single = isinstance(attention, np.ndarray) and attention.ndim == 4
    arrays = [attention] if single else list_inputs("attention", attention)
    if not arrays:
        raise BadInput("at least one input needs attention, but no array was given")
    checked = []
    for number, array in enumerate(map(np.asarray, arrays)):
        tokens = array.shape[-1] if array.ndim == 4 else 1
        checked.append(checked_attention(array, Example(f"input {number}", ("",) * tokens), sinks=sinks))
        if checked[-1].shape[:2] != checked[0].shape[:2]:
            raise BadInput(
                f"all attention must be from one model, but that of input {number} has "
                f"{checked[-1].shape[:2]} layers and heads, and that of input 0 {checked[0].shape[:2]}"
            )
    return checked


def _probes(
    name: str,
    documents: Sequence[Document],
    relations: Sequence[str] | None,
    scheme: str,
    root: str,
    published: bool,
) -> tuple[ChoiceProbe | DecodingProbe, ...]:
    """Return the probes of a name, after checking that all documents have the annotation they ask about."""
    if name not in PROBES:
        raise UnknownName("probe", name, PROBES)
    needed = "mentions" if name == "coreference" else "heads"
    for document in documents:
        if getattr(document, needed) is None or (needed == "heads" and document.relations is None):
            what = "'mentions' or 'clusters'" if needed == "mentions" else "'heads' and 'relations'"
            raise BadInput(f"the {name} probe needs {what} of every input, but {document.key} has none")
    if name == "coreference":
        return (CoreferenceProbe(),)
    if name == "trees":
        return TreeProbe("uuas"), TreeProbe("uas", root)
    rows = relations_of(documents, scheme, 1)[0] if relations is None else tuple(relations)
    return (DependencyProbe(rows, scheme, published),)


def _between_words(
    weights: np.ndarray, document: Document, word: np.ndarray | None
) -> Float[np.ndarray, "layers heads words words"]:
    """Return attention between words: summed over the tokens attended to, averaged over those that attend."""
    words, tokens = len(document.words), weights.shape[-1]
    if word is None:
        if tokens != words:
            raise BadInput(
                f"attention between words has one row for each, {words} for {document.key}, but got "
                f"{tokens}; for attention between tokens, give the word of each token in 'word'"
            )
        return weights
    numbers = np.asarray(word)
    if (
        numbers.shape != (tokens,)
        or numbers.dtype.kind != "i"
        or not -1 <= numbers.min() <= numbers.max() < words
    ):
        raise BadInput(
            f"'word' has the word of each of the {tokens} tokens of {document.key}, from 0 to {words - 1} "
            f"and -1 for none, but got {numbers.dtype} of shape {numbers.shape}"
        )
    member = (numbers[:, None] == np.arange(words)).astype(np.float64)
    share = member / np.maximum(member.sum(axis=0), 1)
    between: np.ndarray = share.T @ (weights @ member)
    return between


def _answers(
    probe: ChoiceProbe | DecodingProbe, window: Window, attention: np.ndarray
) -> list[tuple[str, int, Float[np.ndarray, "layers heads"]]]:
    """Return name, items and right answers of each column of a probe on one input."""
    layers, heads = attention.shape[:2]
    flat = attention.reshape(layers * heads, *attention.shape[2:])
    if isinstance(probe, ChoiceProbe):
        choices, _ = probe.choices(window)
        items = choices.rows.sum(axis=1)
        ways = [
            right_by_row(hits(choose_candidates(flat, choices, direction == "←"), choices), choices)
            for direction in probe.directions
        ]
        rights = np.stack(ways, axis=1)
    else:
        items = probe.items(window)
        rights = probe.decode(flat, window).reshape(len(probe.rows), len(probe.directions), -1)
    return [
        (
            ":".join(part for part in (probe.name, label, direction) if part),
            int(items[row]),
            rights[row, way].reshape(layers, heads).astype(np.float64),
        )
        for row, label in enumerate(probe.rows)
        for way, direction in enumerate(probe.directions)
    ]
