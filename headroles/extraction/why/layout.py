"""Sizes of queries, and the dimensions that rotary positions turn together, found by running the model.

An input is one token repeated. So before attention, all places hold the same state. Queries and keys then
differ between places only by their position. Two dimensions that turn together change, while the sum of their
squares does not. Absolute positions change all dimensions, and no such sum stays the same.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from headroles.errors import BadInput
from headroles.extraction.ablation.trial import trial_input
from headroles.extraction.capture.neurons import Call, Parts
from headroles.extraction.capture.stacks import DECODER_IDS, ENCODER_IDS, PADDING_MASKS, ModelInputs
from headroles.extraction.model.load import Model
from headroles.extraction.why.calls import check_sizes, read_calls, read_parts, reading
from headroles.records.view import DECODER

PLACES = 16
"""Times that a token is repeated."""
TOKENS = 4
"""Tokens that are repeated, each in an input of its own."""
FAR = (0, 1, 2, 3, 5, 8, 13, 21, 50, 100, 1000, 3000, 10**4, 10**5, 10**6, 10**7)
"""Positions of the places: far apart, so that the slowest pairs turn, too."""
STEADY = {torch.float64: 1e-6, torch.float32: 1e-3, torch.bfloat16: 5e-2, torch.float16: 1e-2}
"""Largest change of a sum of squares that counts as none, relative to the largest sum, by precision."""


@dataclass(frozen=True, slots=True, eq=False)
class QueryLayout:
    """Size, basis and position bias of the queries and keys of a model.

    Attributes:
        size: Dimensions of the queries of every head.
        group: Number of the frequency pair of each dimension, from 0 in the order of its first dimension; a
            dimension that does not turn is a group of its own.
        free: Whether no layer turns the dimension, so that its basis is arbitrary.
        capped: Whether logits are soft-capped, so that products are those before the cap.
        biased: Whether a position bias is added to logits.
    """

    size: int
    group: Int[np.ndarray, " size"]
    free: Bool[np.ndarray, " size"]
    capped: bool
    biased: bool


def query_layout(model: Model) -> QueryLayout:
    """Return the layout of queries and keys of a model.

    Call it before a long run, since it refuses models.

    Raises:
        BadInput: When the model does not show its queries and keys, its weights differ from those
            recomputed from them, or its heads differ in size.
    """
    sizes: list[int] = []
    capped, biased = [], []

    def take(layer: int, call: Call, parts: Parts) -> None:
        sizes.append(parts.query.shape[-1])
        capped.append(not np.isnan(parts.softcap))
        biased.append(parts.bias is not None)

    with reading(model):
        read_parts(model, trial_input(model), take)
        check_sizes(model, sizes)
        together = _turning_together(model, sizes[0])
    free = np.asarray(~together.any(axis=1))
    return QueryLayout(sizes[0], _groups(together), free, any(capped), any(biased))


def frequency_groups(model: Model) -> tuple[Int[np.ndarray, " size"], Bool[np.ndarray, " size"]]:
    """Return the frequency pair of every dimension of a query, and whether no layer turns the dimension.

    Raises:
        BadInput: As ``query_layout`` raises it.
    """
    layout = query_layout(model)
    return layout.group, layout.free


def turning_pairs(
    vectors: Float[np.ndarray, "samples places size"], steady: float
) -> Bool[np.ndarray, "size size"]:
    """Return which pairs of dimensions change over places while the sum of their squares does not.

    Args:
        vectors: Vectors that would be the same at all places but for their positions.
        steady: Largest change that counts as none, relative to the largest sum of squares of the pair.

    Example:
        >>> angle = np.arange(5.0)[None]
        >>> turned = np.stack([np.cos(angle), np.ones((1, 5)), np.sin(angle)], axis=-1)
        >>> turning_pairs(turned, 1e-6).astype(int).tolist()
        [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    """
    wide = vectors.astype(np.float64)
    square = wide**2
    scale = np.sqrt(square.max((0, 1)))
    moves = np.ptp(wide, axis=1).max(0) > 2 * steady * np.maximum(scale, np.finfo(np.float64).tiny)
    size = wide.shape[-1]
    pairs = np.zeros((size, size), dtype=np.bool_)
    for first in np.flatnonzero(moves):
        both = square[..., first, None] + square
        change = np.ptp(both, axis=1).max(0)
        pairs[first] = moves & (change <= steady * both.max((0, 1)))
        pairs[first, first] = False
    return pairs | pairs.T


def _groups(together: Bool[np.ndarray, "size size"]) -> Int[np.ndarray, " size"]:
    """Return the number of each dimension's group: those that turn together, also by way of others.

    Example:
        >>> _groups(np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]]) > 0).tolist()
        [0, 1, 0]
    """
    first = np.arange(len(together))
    while True:
        other = np.where(together, first[None], len(together)).min(1, initial=len(together))
        lower = np.minimum(first, other)
        if np.array_equal(lower, first):
            break
        first = lower
    groups: np.ndarray = np.unique(first, return_inverse=True)[1].astype(np.int64)
    return groups


def _turning_together(model: Model, size: int) -> Bool[np.ndarray, "size size"]:
    """Return which dimensions turn together in some layer.

    Positions far apart are given to models with rotary positions. Other models, and those that take no
    positions, count their places.
    """
    together = np.zeros((size, size), dtype=np.bool_)
    steady = STEADY.get(model.network.dtype, max(STEADY.values()))

    def take(layer: int, call: Call) -> None:
        samples = torch.cat([call.query.flatten(0, 1), call.key.flatten(0, 1)])
        together[...] |= turning_pairs(samples.double().cpu().numpy(), steady)

    inputs = _repeated_tokens(model)
    if any("rotary" in type(module).__name__.lower() for module in model.network.modules()):
        far = torch.tensor([FAR], device=model.device).expand(len(inputs[ENCODER_IDS]), -1)
        try:
            read_calls(model, {**inputs, "position_ids": far}, take)
        except BadInput:  # it takes no positions, or none so large
            together[...] = False
        else:
            return together
    read_calls(model, inputs, take)
    return together


def _repeated_tokens(model: Model) -> ModelInputs:
    """Return inputs of one repeated token each, for the encoder and, where it is read, for the decoder."""
    trial = trial_input(model)
    ids = list(dict.fromkeys(trial.inputs[ENCODER_IDS][1:]))[:TOKENS]
    repeated = torch.tensor(ids, device=model.device)[:, None].expand(-1, PLACES).contiguous()
    names = (ENCODER_IDS, DECODER_IDS) if model.way.kind == DECODER else (ENCODER_IDS,)
    inputs = dict.fromkeys(names, repeated)
    return inputs | {PADDING_MASKS[name]: torch.ones_like(repeated) for name in names}
