"""Attention of one input for viewing: weights as bytes, and the queries and keys they come from."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, UInt8

from headroles.errors import BadInput
from headroles.records.arrays import read_only, seal_arrays
from headroles.records.brief import brief
from headroles.records.example import Example

SELF, ENCODER, DECODER, CROSS = "self", "encoder", "decoder", "cross"
KINDS = (SELF, ENCODER, DECODER, CROSS)
"""Which attention a map shows: of a model with one stack, or of one part of an encoder-decoder."""


@dataclass(frozen=True, slots=True, eq=False)
class Neurons:
    """Query and key vectors behind attention weights, per layer and query head.

    The weights are ``softmax(cap(scaling · q·k) + bias)`` over the visible keys, with ``cap(x) = softcap ·
    tanh(x / softcap)`` where there is a soft cap, and with the sink as one more key that is then dropped.
    Queries and keys are as the attention logits use them: after rotary positions and norms. Keys that
    several query heads share are repeated for each of these heads.

    Attributes:
        query: Per layer, head, query and dimension.
        key: Per layer, head, key and dimension.
        scaling: Factor of the products, per layer.
        softcap: Soft cap per layer; NaN where there is none.
        bias: Added after the cap (relative positions), per layer, head, query and key; None without one.
        visible: Whether a query can see a key, per layer.
        sink: Logit of the key that is dropped, per layer and head; NaN where there is none.
        group: Index of the key head of each query head, from 0.
    """

    query: Float32[np.ndarray, "layers heads queries size"]
    key: Float32[np.ndarray, "layers heads keys size"]
    scaling: Float[np.ndarray, " layers"]
    softcap: Float[np.ndarray, " layers"]
    bias: Float32[np.ndarray, "layers heads queries keys"] | None
    visible: Bool[np.ndarray, "layers queries keys"]
    sink: Float[np.ndarray, "layers heads"]
    group: tuple[int, ...]

    __repr__ = brief

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for name in ("query", "key", "scaling", "softcap", "bias", "visible", "sink"):
            array = getattr(self, name)
            if array is not None:
                object.__setattr__(self, name, read_only(array))


@dataclass(frozen=True, slots=True, eq=False)
class Maps:
    """Attention of one kind over one input, in the chosen layers and heads.

    Attributes:
        kind: One of ``KINDS``.
        layers: Number of each layer shown, from 0.
        heads: Number of each head shown, from 0.
        queries: The tokens that attend; ``segment`` is 0 on the first text and 1 on the second.
        keys: The tokens attended to; the same as ``queries`` but in cross attention.
        weights: Attention in steps of 1/255, rounded to the nearest; 255 is 1.
        neurons: Queries and keys behind the weights; None where not known or not requested.

    Raises:
        BadInput: When the arrays do not fit the tokens, layers and heads.
    """

    kind: str
    layers: tuple[int, ...]
    heads: tuple[int, ...]
    queries: Example
    keys: Example
    weights: UInt8[np.ndarray, "layers heads queries keys"]
    neurons: Neurons | None = None

    __repr__ = brief

    def __post_init__(self) -> None:
        """Check the shape, and make the array read-only."""
        shape = (len(self.layers), len(self.heads), self.queries.size, self.keys.size)
        if self.kind not in KINDS or self.weights.shape != shape:
            raise BadInput(
                f"maps must be of kind {', '.join(KINDS)} and have the shape of their layers, heads, "
                f"queries and keys, {shape}, but got {self.kind!r} of shape {self.weights.shape}"
            )
        object.__setattr__(self, "weights", read_only(self.weights))


@dataclass(frozen=True, slots=True, eq=False)
class ViewRoles:
    """What a run found about the heads of one kind of attention, and the keys of its roles on the input.

    Attributes:
        run: Name of the run.
        kind: Kind of the maps whose heads were tested, one of ``KINDS``.
        names: Names of the roles.
        decision: Code of each decision, in the order of the layers and heads of the maps; 0 is a role.
        mean: Mean score of each head in the run; NaN where it was not testable.
        control: What explains the score of a head whose decision is "explained", by role; "" for others.
        keys: By role, whether a key counts for a query of the input; None where it is not known.

    Raises:
        BadInput: When an array does not have one entry per role, or the arrays differ in shape.
    """

    run: str
    kind: str
    names: tuple[str, ...]
    decision: Int[np.ndarray, "roles layers heads"]
    mean: Float[np.ndarray, "roles layers heads"]
    control: tuple[str, ...]
    keys: tuple[Bool[np.ndarray, "queries keys"] | None, ...]

    __repr__ = brief

    def __post_init__(self) -> None:
        """Check the shapes, and make the arrays read-only."""
        lengths = {len(self.decision), len(self.control), len(self.keys)}
        if lengths != {len(self.names)} or self.decision.shape != self.mean.shape:
            raise BadInput(
                f"roles of a view have a decision, a mean and keys each, but got {len(self.names)} names for "
                f"decisions of shape {self.decision.shape} and means of shape {self.mean.shape}"
            )
        for name in ("decision", "mean"):
            object.__setattr__(self, name, read_only(getattr(self, name)))


@dataclass(frozen=True, slots=True, eq=False)
class Carriers:
    """Parts of the dimensions of one head in one of its roles, as a run of ``headroles why`` found them.

    Attributes:
        role: Name of the role.
        layer: Place of the layer in the maps.
        head: Place of the head in the maps.
        share: Part of the contrast by dimension or frequency pair; NaN where the contrast is not positive.
        q: Adjusted p of "at most twice the fair share"; NaN where it could not be tested.
        found: Whether the part is significantly more than twice the fair share.
        text: What the run says of the role of the head, in sentences.

    Raises:
        BadInput: When the arrays differ in length.
    """

    role: str
    layer: int
    head: int
    share: Float[np.ndarray, " parts"]
    q: Float[np.ndarray, " parts"]
    found: Bool[np.ndarray, " parts"]
    text: str

    __repr__ = brief

    def __post_init__(self) -> None:
        """Check the lengths, and make the arrays read-only."""
        seal_arrays(self, "parts of a role", {})


@dataclass(frozen=True, slots=True, eq=False)
class ViewOrigins:
    """Which dimensions carry the roles of heads.

    Attributes:
        kind: Kind of the maps whose heads were tested, one of ``KINDS``.
        group: Number of the part of each dimension: its own, or that of its frequency pair.
        carriers: One per role of a head.
    """

    kind: str
    group: Int[np.ndarray, " size"]
    carriers: tuple[Carriers, ...]

    __repr__ = brief

    def __post_init__(self) -> None:
        """Make the array read-only."""
        object.__setattr__(self, "group", read_only(self.group))

    @property
    def paired(self) -> bool:
        """Whether dimensions turn in pairs, so that parts are those of frequency pairs."""
        return len(np.unique(self.group)) < len(self.group)


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A model's attention over one input.

    Attributes:
        model: Name of the model.
        texts: The input, one text or two.
        maps: One of kind "self", or one each of encoder, decoder and cross attention, in this order.
        notes: Notes on reading the maps, one sentence each.
        roles: Roles that a run found in these heads; None without a run.
        origins: Dimensions that carry these roles; None without a run that asked for them.
    """

    model: str
    texts: tuple[str, ...]
    maps: tuple[Maps, ...]
    notes: tuple[str, ...] = ()
    roles: ViewRoles | None = None
    origins: ViewOrigins | None = None

    __repr__ = brief
