"""Put inputs of several lengths into one batch, padded on the right."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch

from headroles.errors import BadInput
from headroles.extraction.capture.stacks import DECODER_IDS, ENCODER_IDS
from headroles.extraction.texts.tokens import Tokenised


class PaddedModel(Protocol):
    """What padding needs of a model."""

    @property
    def tokenizer(self) -> Any:
        """Return its tokenizer; not every one can pad."""

    @property
    def network(self) -> Any:
        """Return the network."""

    @property
    def device(self) -> torch.device:
        """Return the device of its inputs."""


def check_numbers(network: Any, name: str, rows: Sequence[Sequence[int]]) -> None:
    """Check that the numbers of tokens, or of their types, have a row in the embedding.

    Args:
        network: The network.
        name: Name of the input of the model.
        rows: Numbers of each example.

    Raises:
        BadInput: When a number has no row: a new token of the tokenizer, or the type of a second text.
    """
    if name in (ENCODER_IDS, DECODER_IDS):
        table, what = _tokens_of(network), "token"
        advice = "resize the embedding of the model to the tokenizer (resize_token_embeddings), and save it"
    elif name == "token_type_ids":
        table, what, advice = _types_of(network), "type of text", "give texts without a second one"
    else:
        return
    size = getattr(getattr(table, "weight", None), "shape", (None,))[0]
    most = max((max(numbers, default=0) for numbers in rows), default=0)
    if size is not None and most >= size:
        raise BadInput(
            f"every {what} has a row in the embedding of the model, but {type(network).__name__} has {size} "
            f"rows, and its tokenizer gave the number {most}; {advice}"
        )


def _tokens_of(network: Any) -> Any:
    """Return the embedding of tokens; None where there is none, as where tokens are hashed (CANINE)."""
    try:
        return network.get_input_embeddings()
    except NotImplementedError:
        return None


def _types_of(network: Any) -> Any:
    """Return the embedding of types of texts; None where there is none."""
    found = (module for path, module in network.named_modules() if path.endswith("token_type_embeddings"))
    return next(found, None)


def pad_inputs(model: PaddedModel, batch: Sequence[Tokenised]) -> dict[str, torch.Tensor]:
    """Return the batch as tensors padded on the right, with masks.

    Raises:
        BadInput: When a number has no row in an embedding of the model.
    """
    pad = getattr(model.tokenizer, "pad_token_id", None) or 0
    tensors = {}
    for name in dict.fromkeys((*batch[0].inputs, "attention_mask")):
        ones = [[1] * given.size for given in batch]
        rows = [given.inputs.get(name, own) for given, own in zip(batch, ones, strict=True)]
        fill = pad if name in (ENCODER_IDS, DECODER_IDS) else 0
        check_numbers(model.network, name, rows)
        array = np.full((len(batch), max(map(len, rows))), fill, dtype=np.int64)
        for row, values in enumerate(rows):
            array[row, : len(values)] = values
        tensors[name] = torch.from_numpy(array).to(model.device)
    return tensors
