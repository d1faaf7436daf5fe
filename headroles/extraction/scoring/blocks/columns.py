"""Sums over keys with weights, from blocks of rows: what each key gets from sets of queries."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float

from headroles.plans.masks import Band
from headroles.plans.plan import KeyWeights


class KeyColumns:
    """The attention that keys get from each set of queries, by which weights of keys are multiplied."""

    def __init__(self, weighed: Sequence[KeyWeights], heads: int, device: torch.device) -> None:
        """Take the weights of keys, the number of heads, and the device of the attention."""
        sets: dict[tuple[bytes, int, int], int] = {}
        queries: list[np.ndarray] = []
        self._weights: list[tuple[int, int, np.ndarray]] = []
        tokens = len(weighed[0].label) if weighed else 0
        for own in weighed:
            band = Band(-tokens, tokens, tokens) if own.band is None else own.band
            for number, keys in enumerate(own.keys.T):
                inside = own.label == number
                place = sets.setdefault((inside.tobytes(), band.low, band.high), len(sets))
                if place == len(queries):
                    queries.append(inside)
                self._weights.append((own.output, place, keys))
        self._bands = np.array([bounds for _, *bounds in sets], dtype=np.int64).reshape(-1, 2)
        self._queries = np.array(queries, dtype=np.float32).reshape(len(queries), tokens)
        self._device = device
        exact = torch.float64 if device.type == "cpu" else torch.float32
        self._sums = torch.zeros((heads, len(sets), tokens), dtype=exact, device=device)

    def add(self, start: int, rows: torch.Tensor, first: int, heads: slice) -> None:
        """Add attention (heads, rows, keys) of queries from ``start`` to keys from ``first``."""
        if not len(self._queries):
            return
        count, width = rows.shape[1:]
        queries = self._queries[:, start : start + count]
        bands = self._bands + start - first  # of keys of the block, by the places of rows
        if self._device.type == "cpu":
            from headroles.extraction.scoring.blocks.offsets import sum_columns

            found = torch.from_numpy(sum_columns(rows.numpy(), np.ascontiguousarray(queries), bands))
        else:
            found = torch.stack(
                [
                    torch.from_numpy(own).to(rows) @ rows.triu(int(low)).tril(int(high))
                    for own, (low, high) in zip(queries, bands, strict=True)
                ],
                dim=1,
            )
        self._sums[heads, :, first : first + width] += found

    def finish(self, sums: Float[np.ndarray, "heads sums"]) -> None:
        """Add what keys got to the sums (heads, sums) of a layer, and begin the next layer."""
        got = self._sums.cpu().numpy()
        for output, place, keys in self._weights:
            sums[:, output] += got[:, place] @ keys
        self._sums.zero_()
