"""Scores and surface statistics of plain attention arrays, from any source and without torch."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from headroles.catalogue import sieves_of
from headroles.errors import BadInput, BadSieve, UnknownName, describe_object, shorten
from headroles.plans.scorers import score_layer
from headroles.presets import preset_of
from headroles.records.example import Example
from headroles.sieves import BUILT_IN
from headroles.sieves.base import MaskSieve, Sieve, annotation_of
from headroles.sieves.selection import STATISTICS, Selection, select
from headroles.sieves.settings import USUAL
from headroles.sieves.spread import entropies
from headroles.sieves.statistics import COLUMNS, MASSES
from headroles.sieves.surface import lay_surface
from headroles.sieves.weights.reference import apply

ROUNDING = 5e-3
"""Largest difference of the sum of a row from 1: half-precision rows reach 0.9976 to 1.003."""
SLACK = 1e-4
"""Bound on the error of a row's sum in float32; sums this near to ``ROUNDING`` are taken again in float64."""


def selection_of(
    sieves: Sequence[str | Sieve] | str | Sieve | None,
    *,
    preset: str = "calibrated",
    statistic: str = "selectivity",
) -> Selection:
    """Return a selection of sieves, given by name, by group or as objects; all usual ones when None.

    Raises:
        UnknownName: For a sieve, preset or statistic that does not exist.
        BadSieve: When a sieve cannot be used.
    """
    preset_of(preset)
    if statistic not in STATISTICS:
        raise UnknownName("statistic", statistic, STATISTICS)
    if sieves is None:
        sieves = list(BUILT_IN)
    elif isinstance(sieves, str) or not isinstance(sieves, Sequence):
        sieves = [sieves]
    chosen, optional = sieves_of(sieves, preset)
    masks = [sieve.name for sieve in chosen if preset == "published" and isinstance(sieve, MaskSieve)]
    if masks:
        raise BadSieve(
            f"the preset 'published' judges the released scores only, but {masks[0]!r} is a sieve of another "
            f"kind; leave it out, or take the preset 'calibrated'"
        )
    return select(chosen, statistic, optional)


def score(
    attention: Float[np.ndarray, "layers heads tokens tokens"],
    example: Example,
    sieves: Sequence[str | Sieve] | str | Sieve | None = None,
    *,
    visible: Bool[np.ndarray, "tokens tokens"] | None = None,
    preset: str = "calibrated",
    statistic: str = "selectivity",
    sinks: bool = False,
) -> dict[str, Float[np.ndarray, "layers heads"]]:
    """Score every head of plain attention arrays on one example.

    Args:
        attention: Float, (layers, heads, tokens, tokens); rows are queries and sum to 1. Scores of float32
            are within 1e-6 of those of the same cells in float64.
        example: The tokens and their annotation.
        sieves: Names or sieves; None for all usual ones that the example is annotated for. "patterns"
            stands for all patterns that it is annotated for.
        visible: Whether query i can see key j. None: read from the attention; causal where every
            cell above the diagonal is 0 in all heads and every other cell is not 0 in some, else
            every key is visible.
        preset: "calibrated", or "published" for the released notebooks' scores.
        statistic: "selectivity" (0 for even attention, at most 1) or "bias" (1 for even attention).
        sinks: Whether the model has attention sinks beside its keys, so that rows may sum to less than
            1. Attention on a sink counts as attention elsewhere, on none of the keys: even attention on
            the rest still has selectivity 0 and bias 1, and a selectivity is at most the share of
            attention that is left; nothing is scaled up.

    Returns:
        Scores by column, contrasts as ``name:matched``; NaN where a sieve has no value. One input has no
        partner to exchange layouts with, so ``block`` has no ``block:swap`` here. Contrasts beyond word class
        compare many inputs, so one example has none. ``parked`` has no ``parked:values``, which needs values.

    Raises:
        BadInput: For attention of another rank or size, with NaN or negative cells, or with rows
            that do not sum to 1 (with ``sinks``: that sum to more); for a missing annotation.
        BadSieve: For a sieve that breaks its contract.
        UnknownName: For a sieve that does not exist.

    Example:
        >>> example = Example("note", tuple("abcdefgh"))
        >>> even = np.full((1, 2, 8, 8), 1 / 8)
        >>> score(even, example, ["local"])["local"].round(12).tolist()
        [[0.0, 0.0]]
    """
    (example,) = check_examples([example])
    weights = checked_attention(attention, example, sinks=sinks)
    if sieves is None and example.arcs is None:
        sieves = [name for name in BUILT_IN if not name.startswith("syntactic")]
    selection = selection_of(sieves, preset=preset, statistic=statistic).fitting(annotation_of(example))
    seen = visible_keys(weights, visible)
    plan = selection.plan(example, seen, np.float64)
    scores = apply(plan, weights.reshape(-1, *weights.shape[2:]))
    layers = scores.reshape(len(scores), *weights.shape[:2])
    classes = {column for space in selection.class_spaces for column in space.columns}
    classes.update(selection.norm_columns)
    columns = enumerate(zip(selection.columns, layers, strict=False))
    named = {name: values for place, (name, values) in columns if place not in classes}
    for scorer in selection.scorers:
        named[scorer.name] = np.stack(
            [score_layer(scorer, layer.astype(np.float64), example, seen) for layer in weights]
        )
    return named


def list_inputs(name: str, values: object) -> list[Any]:
    """Return what is given for each input as a list.

    Raises:
        BadInput: For a single thing that cannot be iterated.
    """
    if isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping):
        return list(values)
    raise BadInput(
        f"{name} must be one for a single input, or a list with one for each input, but got "
        f"{describe_object(values)}"
    )


def check_examples(examples: list[Any]) -> list[Example]:
    """Check that inputs are examples.

    Raises:
        BadInput: For anything else.
    """
    for example in examples:
        if not isinstance(example, Example):
            raise BadInput(
                f"example is a headroles.Example, with the tokens of the attention, but got "
                f"{describe_object(example)}; give Example(key, tokens)"
            )
    return examples


def array_of(weights: Any) -> np.ndarray:
    """Return an array, or a tensor of any device and precision, as an array; half precision as float32.

    Example:
        >>> array_of([[0.5, 0.5]]).shape
        (1, 2)
    """
    if hasattr(weights, "detach"):
        tensor = weights.detach().cpu()
        weights = (tensor if str(tensor.dtype).endswith("64") else tensor.float()).numpy()
    return np.asarray(weights)


def checked_attention(
    attention: np.ndarray, example: Example, *, sinks: bool = False
) -> Float[np.ndarray, "layers heads tokens tokens"]:
    """Return the attention, after checking that it is attention of this example.

    Args:
        attention: Rows are queries.
        example: The tokens and their annotation.
        sinks: Whether rows may sum to less than 1.

    Returns:
        Float64 for attention in float64; float32 for float32 and half precision.

    Raises:
        BadInput: When it is not.
    """
    array = np.asarray(attention)
    n = example.size
    wanted = f"(layers, heads, {n}, {n}) for the {n} tokens of example {example.key!r}"
    if array.ndim != 4 or array.shape[2:] != (n, n) or array.dtype.kind != "f" or array.size == 0:
        raise BadInput(f"attention has shape {wanted}, as floats, but got {array.dtype} {array.shape}")
    weights = array.astype(np.float32 if array.dtype.itemsize <= 4 else np.float64, copy=False)
    with np.errstate(all="ignore"):
        over = weights @ np.ones(n, dtype=weights.dtype) - 1  # NaN or infinite where a cell is
    worst = float((over if sinks else np.abs(over)).max())
    if not (np.isfinite(over).all() and worst <= ROUNDING - SLACK and weights.min() >= 0):
        _refuse_wrong(weights.astype(np.float64), sinks)
    return weights


def _refuse_wrong(weights: Float[np.ndarray, "layers heads tokens tokens"], sinks: bool) -> None:
    """Check float64 attention cell by cell and row by row.

    Raises:
        BadInput: For cells or rows that attention does not have.
    """
    if not np.isfinite(weights).all():
        raise BadInput(
            "attention has no NaN or infinite cells, but some were given; look for masked or empty rows"
        )
    if (weights < 0).any():
        raise BadInput(
            f"attention is never negative, but one cell is {weights.min():.3g}; give weights after the "
            f"softmax"
        )
    over = weights.sum(axis=-1) - 1
    worst = float((over if sinks else np.abs(over)).max(initial=0.0))
    if worst > ROUNDING:
        less = " or less" if sinks else ""
        advice = "" if sinks else "; where a sink takes the rest, give sinks=True"
        raise BadInput(
            f"every row of attention sums to 1{less} over the keys, but the worst row is "
            f"off by {worst:.3g}; give rows as queries, after the softmax, without padding{advice}"
        )


def visible_keys(weights: np.ndarray, visible: np.ndarray | None) -> np.ndarray | None:
    """Return the keys that each query can see, as given or as read from checked attention; None for all.

    Raises:
        BadInput: For another shape or type, or when a hidden key gets attention.
    """
    n = weights.shape[-1]
    if visible is not None:
        seen = np.asarray(visible)
        if seen.shape != (n, n) or seen.dtype != np.bool_:
            raise BadInput(f"visible is bool of shape ({n}, {n}), but got {seen.dtype} {seen.shape}")
        if weights.max(axis=(0, 1))[~seen].max(initial=0.0) > ROUNDING:
            raise BadInput("visible must hold every key that gets attention, but some key outside it does")
        return seen
    if n == 1 or weights[:, :, 0, 1:].any():
        return None
    causal = np.tril(np.ones((n, n), dtype=np.bool_))
    return causal if np.array_equal(weights.max(axis=(0, 1)) > 0, causal) else None


def surface_of(
    attention: Float[np.ndarray, "layers heads tokens tokens"]
    | Sequence[Float[np.ndarray, "layers heads _ _"]],
    example: Example | Sequence[Example],
    *,
    visible: Bool[np.ndarray, "tokens tokens"] | None = None,
    marks: str = USUAL,
    smoothing: float = 0.0,
) -> dict[str, Float[np.ndarray, "layers heads"]]:
    """Compute surface statistics of every head of plain attention arrays on one example, or on several.

    Args:
        attention: Float, (layers, heads, tokens, tokens); rows are queries and sum to 1. A sequence of such
            arrays where several examples are given.
        example: The tokens and their annotation. Of several examples the result is the mean over those that
            have a value, each with the same weight, as in the released code.
        visible: Whether query i can see key j, for one example. None: read from the attention; causal where
            every cell above the diagonal is 0 in all heads and every other cell is not 0 in some, else
            every key is visible.
        marks: Characters that count as punctuation.
        smoothing: Share of each row that is spread evenly before entropies are taken; the released
            code takes ``headroles.sieves.spread.SMOOTHING``.

    Returns:
        By column, mean attention (0 to 1), or entropy (nats, 0 to ln(tokens)); NaN where the input
        has nothing of the kind, or its visible keys leave no choice.

    Raises:
        BadInput: For attention of another rank or size, with NaN or negative cells, or with rows
            that do not sum to 1; for marks that are no punctuation, or smoothing out of range. For
            another number of arrays than of examples, or arrays of different models.

    Source:
        Clark et al. 2019, sections 3.1 to 3.3; definitions of the released code.

    Example:
        >>> tokens = ("[CLS]", "it", "rains", ".", "[SEP]")
        >>> example = Example("it", tokens, segment=np.array([-1, 0, 0, 0, -1]))
        >>> statistics = surface_of(np.full((1, 2, 5, 5), 0.2), example)
        >>> statistics["surface:separator"].round(12).tolist()
        [[0.2, 0.2]]
        >>> statistics["surface:previous"].round(12).tolist()
        [[0.16, 0.16]]
    """
    if not isinstance(smoothing, int | float | np.floating) or not 0 <= smoothing < 1:
        raise BadInput(f"smoothing must be at least 0 and below 1, but got {shorten(smoothing)}")
    if not isinstance(example, Example):
        examples = check_examples(list_inputs("example", example))
        return _mean_surface(list_inputs("attention", attention), examples, visible, marks, smoothing)
    weights = checked_attention(np.asarray(attention), example).astype(np.float64)
    surface = lay_surface(example, visible_keys(weights, visible), marks=marks, smoothing=smoothing)
    values = apply(surface.plan, weights.reshape(-1, *weights.shape[2:])).reshape(-1, *weights.shape[:2])
    spread = entropies(weights[..., : surface.queries, surface.keys :], smoothing)
    for column, rows in enumerate((spread, spread[..., surface.first]), start=len(MASSES)):
        if not np.isnan(surface.even[column]):
            values[column] = rows.mean(axis=-1)
    return dict(zip(COLUMNS, values, strict=True))


def _mean_surface(
    arrays: Sequence[np.ndarray],
    examples: Sequence[Example],
    visible: np.ndarray | None,
    marks: str,
    smoothing: float,
) -> dict[str, Float[np.ndarray, "layers heads"]]:
    """Return the mean of the surface statistics over the examples that have a value."""
    shapes = {np.shape(array)[:2] for array in arrays}
    if len(arrays) != len(examples) or len(shapes) != 1 or visible is not None:
        raise BadInput(
            "several examples need one array each, all with the same layers and heads, but got "
            f"{len(examples)} examples and {len(arrays)} arrays with "
            f"{' and '.join(map(str, sorted(shapes))) or 'none'}; leave 'visible' out"
        )
    pairs = zip(arrays, examples, strict=True)
    found = [surface_of(array, example, marks=marks, smoothing=smoothing) for array, example in pairs]
    means = {}
    for column in COLUMNS:
        values = np.stack([statistics[column] for statistics in found])
        known = ~np.isnan(values)
        total, count = np.where(known, values, 0.0).sum(axis=0), known.sum(axis=0)
        means[column] = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return means
