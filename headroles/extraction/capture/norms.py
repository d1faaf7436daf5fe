"""Weigh attention by the norms of the values that it moves (norm-weighted attention).

Attention A_ij alone does not say how much a head takes from key j: a key with a small value adds little. What
key j adds for a head is the vector A_ij f(x_j), with f(x_j) = v_j W_O. Its norm is A_ij ν_j, ν_j = ‖v_j W_O‖.
So norms are a factor of each column. Rows of A_ij ν_j that are made to sum to 1 are attention again.

A gate g before the projection has a number for each query, head and dimension. Key j then adds the vector
A_ij (g_i ⊙ v_j) W_O, and its norm is A_ij ν_ij, ν_ij = ‖(g_i ⊙ v_j) W_O‖.

Source: Kobayashi et al. 2020, "Attention is not only a weight" (section 3). They leave rows unscaled.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float

GATED = 2**24
"""Numbers of gated values that are formed at a time."""
ALL = slice(None)


@dataclass(frozen=True, slots=True, eq=False)
class ValueNorms:
    """Factors with which the norms of transformed values are computed, and who reads them.

    Attributes:
        factors: For each layer (heads, rank, value size), float32 or float64: R_h with R_hᵀ R_h = W_h W_hᵀ,
            where W_h is the part of the output projection of head h. So ‖v W_h‖ = ‖R_h v‖.
        everywhere: Whether all readers get norm-weighted attention. Otherwise they get attention, and only
            their ``norm_reader`` gets it norm-weighted.
        gated: The output projection of each layer, where gates stand before some; none where they do not.
    """

    factors: tuple[Float[torch.Tensor, "heads rank size"], ...]
    everywhere: bool = False
    gated: tuple[torch.nn.Module, ...] = ()

    def of(
        self,
        layer: int,
        value: Float[torch.Tensor, "examples key_heads keys size"],
        gate: Float[torch.Tensor, "examples queries heads size"] | None = None,
        heads: slice = ALL,
    ) -> Float[torch.Tensor, "examples heads queries keys"]:
        """Return ν, at least 0: the norm of every transformed value, by query head.

        Args:
            layer: The layer, from 0.
            value: Values of the layer; a key head that several query heads share stands once.
            gate: What the output of each query and head is multiplied by; None for nothing.
            heads: The query heads to which values and gates belong.

        Returns:
            ν; without a gate it has one row, which stands for all queries.

        Example:
            >>> norms = ValueNorms((torch.tensor([[[2.0, 0.0], [0.0, 1.0]]]),))
            >>> values = torch.tensor([[[[3.0, 0.0], [0.0, 4.0]]]])
            >>> norms.of(0, values).tolist()
            [[[[6.0, 4.0]]]]
            >>> norms.of(0, values, torch.tensor([[[[1.0, 0.5]], [[0.0, 1.0]]]])).tolist()
            [[[[6.0, 2.0], [0.0, 4.0]]]]
        """
        factor = self.factors[layer][heads].to(value.device)
        value = value.to(factor.dtype)
        examples, shared, keys, size = value.shape
        count, rank, _ = factor.shape
        if gate is not None:
            values = value.repeat_interleave(count // shared, dim=1).transpose(2, 3)  # (…, heads, size, keys)
            gate = gate.to(factor).transpose(1, 2)[:, :, :, None]  # (examples, heads, queries, 1, size)
            rows = max(1, GATED // (examples * count * rank * max(keys, size)))
            parts = []
            for start in range(0, gate.shape[2], rows):
                scaled = (gate[:, :, start : start + rows] * factor[:, None]).flatten(2, 3)
                parts.append(
                    torch.linalg.vector_norm(
                        (scaled @ values).reshape(examples, count, -1, rank, keys), dim=3
                    )
                )
            return torch.cat(parts, dim=2)
        groups = factor.reshape(shared, -1, size)  # (key heads, heads of one × rank, size)
        moved = value @ groups.transpose(1, 2)
        moved = moved.reshape(examples, shared, keys, -1, rank)  # one more axis: heads of one
        norms: torch.Tensor = torch.linalg.vector_norm(moved, dim=-1)
        return norms.transpose(2, 3).reshape(examples, count, 1, keys)


def factors_of(weight: Float[torch.Tensor, "heads size hidden"]) -> Float[torch.Tensor, "heads rank size"]:
    """Return R_h of each head, with R_hᵀ R_h = W_h W_hᵀ, by a QR decomposition of W_hᵀ in float64.

    ‖R_h v‖ is the norm of v W_h at a cost that does not grow with the hidden size. Where the norm is small,
    it loses no digits, as the root of v W_h W_hᵀ vᵀ would.

    Example:
        >>> weight = torch.tensor([[[3.0, 4.0, 0.0]]])
        >>> factors_of(weight).abs().tolist()
        [[[5.0]]]
    """
    wide = weight.detach().double()
    factors: torch.Tensor = torch.linalg.qr(wide.transpose(1, 2), mode="r").R
    return factors if weight.dtype == torch.float64 else factors.float()


def weigh_by_norms(
    weights: Float[torch.Tensor, "*heads queries keys"], norms: Float[torch.Tensor, "*heads rows keys"]
) -> Float[torch.Tensor, "*heads queries keys"]:
    """Return norm-weighted attention: weights times norms, each row made to sum to 1.

    A row whose products are all 0 stays 0: that query takes nothing.

    Args:
        weights: Attention, at least 0.
        norms: ν of every key, at least 0; one row for all queries, or one for each.

    Example:
        >>> weights, norms = torch.tensor([[0.5, 0.5], [1.0, 0.0]]), torch.tensor([[3.0, 1.0]])
        >>> weigh_by_norms(weights, norms).tolist()
        [[0.75, 0.25], [1.0, 0.0]]
        >>> weigh_by_norms(weights, torch.tensor([[0.0, 1.0]])).tolist()
        [[0.0, 1.0], [0.0, 0.0]]
    """
    return weigh_in_place(weights.clone(), norms)


def weigh_in_place(
    weights: Float[torch.Tensor, "*heads queries keys"], norms: Float[torch.Tensor, "*heads rows keys"]
) -> Float[torch.Tensor, "*heads queries keys"]:
    """Return the same in the memory of the weights: on a processor, new memory takes as long as the sums."""
    taken = weights.mul_(norms)
    total = taken.sum(-1, keepdim=True)
    return taken.div_(total.masked_fill_(total == 0, 1.0))
