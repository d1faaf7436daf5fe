"""What each query of an example can see, read from the mask that reaches an attention function."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from headroles.extraction.readers import Visible


class Seen:
    """The visible sets of a batch under each kind of mask, worked out once for a forward pass."""

    def __init__(self, lengths: Sequence[int]) -> None:
        """Take the tokens of each example."""
        self._lengths = lengths
        self._known: list[tuple[object, bool, list[Visible]]] = []

    def under(self, mask: torch.Tensor | None, causal: bool) -> list[Visible]:
        """Visible sets of all examples under a mask."""
        for known, rule, sets in self._known:
            if known is mask and rule == causal:
                return sets
        sets = [visible_under(mask, causal, k, n) for k, n in enumerate(self._lengths)]
        self._known.append((mask, causal, sets))
        return sets


def visible_under(mask: torch.Tensor | None, causal: bool, example: int, length: int) -> Visible:
    """The visible set of one example of so many tokens."""
    if mask is None:
        return np.tril(np.ones((length, length), dtype=np.bool_)) if causal and length > 1 else None
    own = mask[min(example, mask.shape[0] - 1), 0, :length, :length]
    seen = own if own.dtype == torch.bool else own > torch.finfo(own.dtype).min / 2
    return None if bool(seen.all()) else seen.cpu().numpy()


def hides_later(module: Any, query: torch.Tensor, mask: Any, rest: dict[str, Any]) -> bool:
    """The library's own rule for a causal layer that gets no mask."""
    given = rest.get("is_causal")
    rule = getattr(module, "is_causal", False) if given is None else given
    return bool(rule) and mask is None and query.shape[2] > 1
