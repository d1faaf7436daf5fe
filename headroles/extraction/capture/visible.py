"""What each query of an example can see, read from the mask that reaches an attention function.

One forward pass whose attention is read.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from headroles.extraction.capture.cross import Crossing
from headroles.extraction.capture.readers import GraphReader, Reader, Shown, Visible
from headroles.plans.masks import Band, Cells

BLOCK = 2**22
"""Cells of a mask that are looked at at a time."""


class Seen:
    """The visible sets of a batch under each kind of mask, worked out once for a forward pass."""

    def __init__(self, lengths: Sequence[int]) -> None:
        """Take the tokens of each example."""
        self._lengths = lengths
        self._known: list[tuple[object, bool, dict[int, Visible], dict[int, Shown]]] = []

    def under(self, mask: torch.Tensor | None, causal: bool) -> list[Visible]:
        """Visible sets of all examples under a mask."""
        sets, _ = self._sets(mask, causal)
        if mask is not None and not sets:
            whole = wholly_seen(mask, self._lengths)
            sets.update({example: None for example, seen in enumerate(whole) if seen})
        return [self.of(mask, causal, example) for example in range(len(self._lengths))]

    def of(self, mask: torch.Tensor | None, causal: bool, example: int) -> Visible:
        """The visible set of one example under a mask."""
        sets, _ = self._sets(mask, causal)
        if example not in sets:
            sets[example] = visible_under(mask, causal, example, self._lengths[example])
        return sets[example]

    def shown(self, mask: torch.Tensor | None, causal: bool, example: int) -> Shown:
        """The same as a mask, which for a long example takes no room unless it is irregular."""
        _, masks = self._sets(mask, causal)
        if example not in masks:
            masks[example] = shown_under(mask, causal, example, self._lengths[example])
        return masks[example]

    def _sets(self, mask: torch.Tensor | None, causal: bool) -> tuple[dict[int, Visible], dict[int, Shown]]:
        for known, rule, sets, masks in self._known:
            if known is mask and rule == causal:
                return sets, masks
        self._known.append((mask, causal, {}, {}))
        return self._known[-1][2:]


def wholly_seen(mask: torch.Tensor, lengths: Sequence[int]) -> list[bool]:
    """Whether each example's queries see all of its keys: asked once, as answers wait for the device."""
    own = _seen(mask[:, 0])
    tokens = torch.tensor(lengths, device=mask.device)
    real = torch.arange(own.shape[2], device=mask.device)[None] < tokens[:, None]
    outside = ~(real[:, None] & real[:, : own.shape[1], None])
    found: list[bool] = (own | outside).flatten(1).all(1).tolist()
    return found


def visible_under(mask: torch.Tensor | None, causal: bool, example: int, length: int) -> Visible:
    """The visible set of one example of so many tokens."""
    if mask is None:
        return np.tril(np.ones((length, length), dtype=np.bool_)) if causal and length > 1 else None
    own = mask[min(example, mask.shape[0] - 1), 0, :length, :length]
    seen = _seen(own)
    return None if bool(seen.all()) else seen.cpu().numpy()


def shown_under(mask: torch.Tensor | None, causal: bool, example: int, length: int) -> Shown:
    """The visible set of one example as a band of offsets, or cells where it is none; None for all keys."""
    if mask is None:
        return Band(1 - length, 0, length) if causal and length > 1 else None
    own = mask[min(example, mask.shape[0] - 1), 0, :, :length]
    own = own if own.shape[0] == 1 else own[:length]
    band = Band(_edge(own[-1], 0) + 1 - length, _edge(~_seen(own[0]), length) - 1, length)
    step = max(1, BLOCK // length)
    for start in range(0, length, step):
        stop = min(start + step, length)
        rows = _seen(own[start:stop] if own.shape[0] > 1 else own)
        offset = torch.arange(length, device=own.device)[None, :]
        place = torch.arange(start, stop, device=own.device)[:, None]
        inside = (offset - place >= band.low) & (offset - place <= band.high)
        if not torch.equal(rows.expand(stop - start, -1), inside):
            return Cells(np.ascontiguousarray(_seen(own).expand(length, -1).cpu().numpy()))
    return None if band.low <= 1 - length and band.high >= length - 1 else band


def _seen(mask: torch.Tensor) -> torch.Tensor:
    """Which keys a mask, boolean or additive, lets be seen."""
    return mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2


def _edge(row: torch.Tensor, otherwise: int) -> int:
    """The first key that a row lets be seen."""
    places = torch.nonzero(_seen(row))
    return int(places[0]) if len(places) else otherwise


def hides_later(module: Any, query: torch.Tensor, mask: Any, rest: dict[str, Any]) -> bool:
    """The library's own rule for a causal layer that gets no mask."""
    given = rest.get("is_causal")
    rule = getattr(module, "is_causal", False) if given is None else given
    return bool(rule) and mask is None and query.shape[2] > 1


class Pass:
    """Which layer a forward pass is at, who reads it, and what each mask lets be seen.

    Attributes:
        reader: Takes the attention.
        lengths: Real tokens of each example.
        trial: Into how many blocks an input is cut on trial; 0 in earnest.
        layer: The layer whose attention comes next.
        seen: What the queries can see.
        crossing: How cross attention is laid into joint examples; None where other attention is read.
    """

    def __init__(
        self,
        reader: Reader | GraphReader,
        lengths: Sequence[int],
        trial: int,
        *,
        modules: frozenset[torch.nn.Module] | None = None,
        crossing: Crossing | None = None,
    ) -> None:
        """Begin at the first layer; modules other than those given are not read (None: all are)."""
        self.reader = reader
        self.lengths = lengths
        self.trial = trial
        self.layer = 0
        self.seen = Seen(lengths)
        self.crossing = crossing
        self._modules = modules

    def reads(self, module: torch.nn.Module) -> bool:
        """Whether a module computes attention of the kind that is read."""
        return self._modules is None or module in self._modules
