"""The check of the fused path when a model is loaded: its sums against weights that are formed in float32."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from headroles.errors import BadInput
from headroles.extraction.capture.attention import run
from headroles.extraction.capture.readers import VisibleArray, VisibleMask
from headroles.extraction.fused.attention import Compared, FusedAttention
from headroles.extraction.fused.call import LEAVE_OUT
from headroles.extraction.model.trial import TOLERANCE, TRIAL_SENTENCE, Reading
from headroles.records.rules.names import RETURNED, SUMS

OF_ROWS = 2e-3
"""Largest difference of a number of one query."""
OF_SCORES = 5e-4
"""Largest difference of a mean over queries, as scores are."""
TEXT = " ".join([TRIAL_SENTENCE] * 4)


class _Comparing:
    """A reader that compares the sums of every layer with those of formed weights.

    Attributes:
        also_rows: True: weights are formed and read before the sums.
        rows: Largest difference of a number of one query.
        scores: Largest difference of a mean over queries.
        layers: Layers compared.
    """

    also_rows = True

    def __init__(self) -> None:
        self.rows = self.scores = 0.0
        self.layers = 0
        self._blocks: list[torch.Tensor] = []

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: VisibleArray) -> None:
        self._blocks.append(rows.clone())

    def read_fused(self, layer: int, example: int, attention: FusedAttention, visible: VisibleMask) -> None:
        weights, self._blocks = torch.cat(self._blocks, dim=1).double(), []
        n = weights.shape[1]
        self.layers += 1
        place = torch.arange(n, device=weights.device)
        sets = torch.stack([place >= 0, place == 0, place % 2 == 0], dim=1).float()
        label = 2 * (place % 2 == 0)
        masses, spread = attention.spread(sets, label)
        self._compare(masses, weights @ sets.double())
        inside = torch.where(label[:, None] == 2, sets[:, 2], sets[:, 0]).double() * weights
        total = inside.sum(-1)
        entropy = torch.xlogy(total, total) - torch.xlogy(inside, inside).sum(-1)
        self._compare(spread / np.log(n), entropy / np.log(n))
        query = np.concatenate([np.arange(n), np.arange(1, n)])
        key = np.concatenate([np.arange(n), np.arange(n - 1)])
        cells = weights[:, torch.from_numpy(query), torch.from_numpy(key)]
        found = attention.cells(query, key)
        self._compare(found[:, :n, None], cells[:, :n, None])
        self._compare(found[:, n:, None], cells[:, n:, None])
        every = torch.ones(n, dtype=torch.bool, device=weights.device)
        compared = Compared(place, every, apart=True, scope=None, units=n)
        offsets, rows = attention.offsets(compared, torch.ones(n, device=weights.device))
        apart = weights.masked_fill(torch.eye(n, dtype=torch.bool, device=weights.device), 0.0)
        self._compare(rows[..., None], apart.sum(-1, keepdim=True))
        by_offset = [apart.diagonal(step, 1, 2).sum(-1) for step in range(1 - n, n)]
        self.scores = _larger(self.scores, (offsets - torch.stack(by_offset, dim=-1)) / n)

    def _compare(self, ours: torch.Tensor, theirs: torch.Tensor) -> None:
        """Compare numbers (heads, queries, ...), and their means over queries."""
        difference = ours.double() - theirs
        self.rows = _larger(self.rows, difference)
        self.scores = _larger(self.scores, difference.mean(1))


def _larger(known: float, difference: torch.Tensor) -> float:
    """Return the largest difference so far; infinity for numbers that are not finite."""
    largest = float(difference.abs().nan_to_num(float("inf")).max())
    return max(known, largest)


def choose_fused_reading(
    network: Any, tokenizer: Any, device: torch.device, max_length: int, usual: Reading
) -> Reading:
    """Return the reading of the fused path, checked against the weights that are usually read.

    Every layer's sums are compared with weights that the model's own eager function forms in float32 from the
    same queries and keys. These weights were compared with those of the plain eager model before.

    Args:
        network: The network.
        tokenizer: Its tokenizer.
        device: Device of its inputs.
        max_length: Longest input of the run.
        usual: The reading of the default path.

    Raises:
        BadInput: When the model cannot be read so, or a sum differs by more than 2e-3 for a query or 5e-4 for
            a mean over queries.
    """
    kind = type(network).__name__
    if usual.way.name == RETURNED or not network._supports_sdpa or usual.way.modules is not None:
        raise BadInput(
            f"the fused path reads models of one stack that take the sdpa kernel of transformers, but "
            f"{kind} is no such model; {LEAVE_OUT}"
        )
    encoded = tokenizer(TEXT, return_tensors="pt", truncation=True, max_length=max_length)
    inputs = {name: ids.to(device) for name, ids in encoded.items()}
    lengths: Sequence[int] = [inputs["input_ids"].shape[1]]
    reader, way = _Comparing(), replace(usual.way, name=SUMS)
    try:
        network.set_attn_implementation("sdpa")
        with torch.inference_mode():
            plain = network(**inputs)[0]
        network.set_attn_implementation(SUMS)
        output, calls = run(network, way, inputs, lengths, reader)
    except (RuntimeError, TypeError, ValueError, AttributeError, NotImplementedError) as error:
        reason = " ".join(str(error).split())[:200]
        raise BadInput(
            f"the model must run on the fused path, but {kind} stopped with {type(error).__name__} "
            f"({reason}); {LEAVE_OUT}"
        ) from error
    same = torch.allclose(output, plain, rtol=TOLERANCE[network.dtype], atol=TOLERANCE[network.dtype])
    if not same or calls != usual.layers or reader.layers != calls:
        raise BadInput(
            f"the fused path must keep the output of the model and read all of its layers, but "
            f"{'kept' if same else 'changed'} the output of {kind} and read {reader.layers} of "
            f"{usual.layers} layers; {LEAVE_OUT}"
        )
    if reader.rows > OF_ROWS or reader.scores > OF_SCORES:
        raise BadInput(
            f"sums of the fused path must equal those of formed weights to {OF_ROWS:g} for a query and "
            f"{OF_SCORES:g} for a score, but those of {kind} differ by {reader.rows:.2g} and "
            f"{reader.scores:.2g}; {LEAVE_OUT}"
        )
    return replace(usual, way=way)
