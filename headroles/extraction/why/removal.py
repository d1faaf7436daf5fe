"""Weights of heads after directions were removed from their queries."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float

from headroles.extraction.capture.neurons import Parts, recompute_weights

Basis = Float[np.ndarray, "_ _"]
"""Orthonormal directions (size, removed), in columns."""


def removed_weights(parts: Parts, bases: Mapping[int, Basis]) -> Float[torch.Tensor, "heads queries keys"]:
    """Return the weights of a layer after directions were removed from the queries of some heads.

    A query q becomes q − B Bᵀ q. Without any direction left, logits are the position bias alone. Without a
    bias, attention to visible keys is then uniform.

    Args:
        parts: Parts of the weights of all heads of a layer.
        bases: Directions by head.

    Example:
        >>> one = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]])
        >>> parts = Parts(one, one, 0.5, float("nan"), None, torch.ones(2, 2).tril() > 0, None, (0,))
        >>> removed_weights(parts, {0: np.eye(2)}).tolist()
        [[[1.0, 0.0], [0.5, 0.5]]]
    """
    if not bases:
        return recompute_weights(parts)
    query = parts.query.clone()
    for head, basis in bases.items():
        directions = torch.from_numpy(np.array(basis, dtype=np.float64)).to(query.device)
        wide = query[head].double()
        query[head] = (wide - wide @ directions @ directions.T).to(query.dtype)
    return recompute_weights(replace(parts, query=query))
