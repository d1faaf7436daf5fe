"""What attention is read from: a model that runs, or stored maps in its place."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float32

from headroles.errors import BadInput
from headroles.extraction.capture.method import CaptureMethod
from headroles.extraction.capture.readers import BatchReader, GraphReader, Reader, VisibleArray
from headroles.extraction.capture.threads import one_thread
from headroles.extraction.texts.tokens import Tokenised
from headroles.records.passage import Passage

STORED = "stored maps"
"""Name of the way in which stored maps are read."""


@runtime_checkable
class AttentionSource(Protocol):
    """What jobs and ``stream`` read of a model, or of stored maps in its place."""

    @property
    def tokenizer(self) -> Any:
        """Return what makes the tokens of passages, for ``texts.tokens.tokenise``."""

    @property
    def way(self) -> CaptureMethod:
        """Return the way in which attention is read, and whether every layer hides later keys."""

    @property
    def layers(self) -> int:
        """Return the number of layers."""

    @property
    def heads(self) -> int:
        """Return the number of heads in a layer."""

    @property
    def device(self) -> torch.device:
        """Return the device of the attention."""

    @property
    def limit(self) -> int | None:
        """Return the longest input in tokens; None where nothing limits it."""

    @property
    def described(self) -> dict[str, Any]:
        """Return the description for the record."""


@dataclass(frozen=True, slots=True, eq=False)
class ExampleMaps:
    """The maps of one example.

    Attributes:
        weights: Attention by layer, head, query and key.
        visible: Keys that each query sees, by layer; None for all keys.
    """

    weights: Float32[np.ndarray, "layers heads tokens tokens"]
    visible: Sequence[VisibleArray]


@dataclass(frozen=True, slots=True, eq=False)
class StoredTokens:
    """The tokens of stored maps by the keys of their examples, in the place of a model's tokenizer."""

    inputs: Mapping[str, Tokenised]

    def tokenised(self, passages: Sequence[Passage], max_length: int) -> list[Tokenised]:
        """Return the stored tokens of passages; stored maps are never cut, so no length is too long."""
        return [replace(self.inputs[passage.key], passage=passage) for passage in passages]


@dataclass(frozen=True, slots=True, eq=False)
class StoredMaps:
    """Stored maps in the place of a model: the same jobs read them by the same ``stream``.

    Attributes:
        tokenizer: The tokens of all examples.
        layers: Number of layers.
        heads: Number of heads in a layer.
        way: "stored maps", and whether every layer is expected to hide later keys.
        described: Description for the record.
        load: Returns the maps of an example.
    """

    tokenizer: StoredTokens
    layers: int
    heads: int
    way: CaptureMethod
    described: dict[str, Any]
    load: Callable[[Tokenised], ExampleMaps] = field(repr=False)

    @property
    def device(self) -> torch.device:
        """Return the processor: stored maps are on no other device."""
        return torch.device("cpu")

    @property
    def limit(self) -> int | None:
        """Return None: stored maps have the length they have."""
        return None

    @property
    def passages(self) -> tuple[Passage, ...]:
        """Return the passages of all examples, in their order."""
        return tuple(given.passage for given in self.tokenizer.inputs.values())

    def read(self, batch: Sequence[Tokenised], reader: Reader | GraphReader) -> None:
        """Hand the maps of a batch to a reader, layer by layer; they are in memory until it is done.

        Raises:
            BadInput: When the reader wants gradients, or maps break a rule.
        """
        if isinstance(reader, GraphReader):
            raise BadInput("gradients need a model that runs, but stored maps were given; give --model")
        maps = [self.load(given) for given in batch]
        with torch.inference_mode(), one_thread(self.device):
            for layer in range(self.layers):
                rows = [torch.from_numpy(example.weights[layer]) for example in maps]
                visible = [example.visible[layer] for example in maps]
                if isinstance(reader, BatchReader) and len(batch) > 1:
                    reader.read_batch(layer, _pad(rows), visible)
                    continue
                for number, own in enumerate(rows):
                    reader.read(layer, number, 0, own, visible[number])


def _pad(
    layer: Sequence[Float32[torch.Tensor, "heads _ _"]],
) -> Float32[torch.Tensor, "examples heads tokens tokens"]:
    """Return a layer of several examples as one array, with zeros after shorter examples."""
    size = max(rows.shape[1] for rows in layer)
    padded = layer[0].new_zeros((len(layer), layer[0].shape[0], size, size))
    for place, rows in enumerate(layer):
        padded[place, :, : rows.shape[1], : rows.shape[1]] = rows
    return padded
