"""Take attention away from cells of one head's weights, and spread it over the others of the row."""

import torch
from jaxtyping import Bool, Float

NO_MASS = 1e-6
"""Share of a row's mass below which what is left of it is rounding: the row is then made even."""

Weights = Float[torch.Tensor, "queries keys"]
Cells = Bool[torch.Tensor, "queries keys"]


def even_weights(visible: Cells, like: Weights) -> Weights:
    """Return the same weight on every visible key: A'_ij = 1 / visible_i; rows without one are 0.

    Source: Jain & Wallace (2019), Wiegreffe & Pinter (2019), uniform weights.

    Example:
        >>> even_weights(torch.ones(2, 2).tril() > 0, torch.zeros(2, 2)).tolist()
        [[1.0, 0.0], [0.5, 0.5]]
    """
    count = visible.sum(-1, keepdim=True).clamp(min=1)
    return visible.to(like.dtype) / count


def remove_cells(
    weights: Weights, cells: Cells, visible: Cells
) -> tuple[Weights, Bool[torch.Tensor, " queries"]]:
    """Remove attention on cells, and scale up the rest of each row.

    A'_ij = A_ij (1 − M_ij) S_i / (S_i − R_i). S_i = Σ_j A_ij is the mass of the row (1 unless the model drops
    the weight of a sink), and R_i = Σ_j A_ij M_ij what the cells have of it. A row with all of its mass in
    the cells gets equal weights on its visible keys outside of them; one that has no such key is 0.

    Args:
        weights: Weights of one head.
        cells: The cells M.
        visible: Keys that each query can see.

    Returns:
        The new weights, and the queries that have others than before.

    Example:
        >>> weights = torch.tensor([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]])
        >>> cells = torch.tensor([[True, False, False], [True, False, False]])
        >>> remove_cells(weights, cells, torch.ones(2, 3) > 0)[0].tolist()
        [[0.0, 0.5, 0.5], [0.0, 0.5, 0.5]]
    """
    share = (cells & visible).to(weights.dtype)
    return _renormalised(weights, weights * (1 - share), cells, visible), (share > 0).any(-1)


def remove_matched(
    weights: Weights, cells: Cells, visible: Cells, others: Cells
) -> tuple[Weights, Bool[torch.Tensor, " queries"], float]:
    """Remove as much attention as a role's cells have from other cells, at the same offsets.

    For every offset d = j − i, r_d is the mass of the role's cells and m_d that of other visible cells.
    The others lose all of their weight, the largest first, until r_d is reached; the last one loses a
    part. So they are cells like the role's: small parts of many cells would hardly change any row. The
    rest of each row is scaled up to the mass that it had. A row that loses all of it gets equal weights
    on its visible keys outside of the role's cells.

    Args:
        weights: Weights of one head.
        cells: The role's cells.
        visible: Keys that each query can see.
        others: Cells from which attention is removed, none of them the role's.

    Returns:
        The new weights, the queries that have others than before, and the share of the role's mass that
        the other cells have: Σ_d min(r_d, m_d) / Σ_d r_d, 1 where the role has no mass.

    Example:
        >>> weights = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
        >>> cells = torch.tensor([[False] * 3, [True, False, False], [False] * 3])
        >>> new, changed, share = remove_matched(weights, cells, torch.ones(3, 3).tril() > 0, ~cells)
        >>> new[2].tolist(), changed.tolist(), share
        ([0.0, 0.0, 1.0], [False, False, True], 1.0)
    """
    queries, keys = weights.shape
    inside, outside = cells & visible, others & visible
    offset = torch.arange(keys, device=weights.device)[None] - torch.arange(
        queries, device=weights.device
    )[:, None] + (queries - 1)  # fmt: skip
    role, other = (
        torch.zeros(queries + keys - 1, dtype=torch.float64, device=weights.device).index_add_(
            0, offset.reshape(-1), (weights * own).double().reshape(-1)
        )
        for own in (inside, outside)
    )
    there = (weights * outside).double().reshape(-1)
    order = there.argsort(descending=True, stable=True)
    order = order[offset.reshape(-1)[order].argsort(stable=True)]
    mass, place = there[order], offset.reshape(-1)[order]
    before = mass.cumsum(0) - mass - (other.cumsum(0) - other)[place]
    part = ((role[place] - before) / mass.clamp(min=1e-300)).clamp(0, 1)
    lost = torch.zeros_like(mass).index_copy_(0, order, part).reshape(queries, keys).to(weights) * outside
    taken, total = torch.minimum(role, other), float(role.sum())
    return (
        _renormalised(weights, weights * (1 - lost), cells, visible),
        (lost > 0).any(-1),
        float(taken.sum()) / total if total > 0 else 1.0,
    )


def _renormalised(weights: Weights, left: Weights, cells: Cells, visible: Cells) -> Weights:
    """Return what is left of each row, scaled to the mass that it had."""
    mass, kept = weights.sum(-1, keepdim=True), left.sum(-1, keepdim=True)
    empty = kept <= NO_MASS * mass
    scaled = left * (mass / torch.where(empty, torch.ones_like(kept), kept))
    return torch.where(empty, even_weights(visible & ~cells, weights) * mass, scaled)
