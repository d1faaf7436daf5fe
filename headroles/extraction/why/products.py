"""Parts of the contrasts of heads: products of queries and differences of mean keys, on one input.

A family is one role of one head. M_i are the role's cells in row i, and ¬M_i the other visible keys. With
Δk_i = mean key of M_i − mean key of ¬M_i, the contrast of the logits s q_i·k_j is the mean of s q_i·Δk_i over
the rows that have both. It is a sum over dimensions, and with the mean query q̄ in place of q_i it is the part
that all queries share. q̄ is a mean over reference units, so it has an error of its own.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int

from headroles.errors import BadInput
from headroles.extraction.capture.neurons import Call, Parts
from headroles.extraction.capture.readers import visible_key
from headroles.extraction.model.load import Model
from headroles.extraction.texts.tokens import Tokenised
from headroles.extraction.why.calls import check_sizes, read_parts, reading
from headroles.extraction.why.redeals import contrast_weights, contrasted_rows, redeal
from headroles.records.arrays import seal_arrays


@dataclass(frozen=True, slots=True, eq=False)
class Families:
    """Roles and the heads that hold them.

    Attributes:
        roles: Role of each family.
        layers: Layer of each, from 0.
        heads: Head of each, from 0.
    """

    roles: tuple[str, ...]
    layers: Int[np.ndarray, " families"]
    heads: Int[np.ndarray, " families"]

    def __post_init__(self) -> None:
        """Check lengths, and make the arrays read-only.

        Raises:
            BadInput: Naming the first array that does not fit.
        """
        seal_arrays(self, "families", {"families": len(self.roles)})

    def __len__(self) -> int:
        """Return the number of families."""
        return len(self.roles)


@dataclass(frozen=True, slots=True, eq=False)
class InputProducts:
    """Parts of the contrast of every family on one input; NaN where no row has cells and other keys.

    Attributes:
        parts: Part of each dimension; they sum to the contrast without bias.
        difference: Mean of s Δk_i; its product with the mean query is ``vertical``.
        vertical: Part by the mean query.
        bias: Part of the position bias; 0 where the layer has none.
        outer: Mean of s q_i Δk_iᵀ; its diagonal is ``parts``.
        redealt: The same for each re-deal of the cells; NaN where a re-deal leaves no such row.
    """

    parts: Float[np.ndarray, "families size"]
    difference: Float[np.ndarray, "families size"]
    vertical: Float[np.ndarray, " families"]
    bias: Float[np.ndarray, " families"]
    outer: Float[np.ndarray, "families size size"]
    redealt: Float32[np.ndarray, "families redeals size size"]

    @classmethod
    def empty(cls, families: int, size: int, redeals: int) -> "InputProducts":
        """Return products that are all NaN."""
        nan = np.nan
        return cls(
            parts=np.full((families, size), nan),
            difference=np.full((families, size), nan),
            vertical=np.full(families, nan),
            bias=np.full(families, nan),
            outer=np.full((families, size, size), nan),
            redealt=np.full((families, redeals, size, size), nan, dtype=np.float32),
        )


def mean_queries(
    model: Model, inputs: Sequence[Tokenised], units: Sequence[str], families: Families
) -> Float[np.ndarray, "units families size"]:
    """Return the mean query of each reference unit, at the head of each family, in float64.

    That of an input is a mean over the tokens of its texts, without special tokens; that of a unit is the
    mean over its inputs. Queries are those that are multiplied with keys: after norms and rotary positions.
    Units without a token of a text are left out.

    Args:
        model: The model.
        inputs: Reference inputs.
        units: Unit of each.
        families: Roles and heads.

    Raises:
        BadInput: When no input has a token of a text, heads differ in size, or the model does not show its
            queries and keys.
    """
    sums: dict[str, np.ndarray] = {}
    members: Counter[str] = Counter()
    with reading(model):
        for unit, tokenised in zip(units, inputs, strict=True):
            own = torch.from_numpy(np.flatnonzero(tokenised.texts >= 0))
            if not len(own):
                continue
            means: list[np.ndarray] = []

            def take(
                layer: int, call: Call, parts: Parts, own: torch.Tensor = own, means: list[np.ndarray] = means
            ) -> None:
                means.append(parts.query[:, own.to(parts.query.device)].double().mean(1).cpu().numpy())

            read_parts(model, tokenised, take)
            check_sizes(model, [mean.shape[-1] for mean in means])
            at_heads = np.stack(means)[families.layers, families.heads]
            sums[unit] = sums.get(unit, 0.0) + at_heads
            members[unit] += 1
    if not sums:
        raise BadInput(
            f"mean queries are taken over tokens of texts, but {len(inputs)} reference inputs have none; "
            f"give inputs with words"
        )
    return np.stack([total / members[unit] for unit, total in sums.items()])


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The contrast of a role in the rows with cells and other keys, as weights of keys.

    Attributes:
        rows: The queries.
        weights: 1/|M_i| on cells and −1/|¬M_i| on other visible keys, over the number of rows.
        redealt: The same for each re-deal; NaN where no row is left.
    """

    rows: Int[torch.Tensor, " rows"]
    weights: Float[torch.Tensor, "rows tokens"]
    redealt: Float32[torch.Tensor, "redeals rows tokens"]


def read_products(
    model: Model,
    tokenised: Tokenised,
    cells: Mapping[str, Bool[np.ndarray, "tokens tokens"]],
    families: Families,
    queries: Float[np.ndarray, "families size"],
    redeals: int,
    seed: int,
) -> InputProducts:
    """Return the parts of the contrast of every family on one input; the model runs once.

    Cells that a layer does not show to a query are left out there. Re-deals move the cells of a role to other
    rows at the same offsets (``redeals.redeal``). They are drawn by seed, key of the input and role alone, so
    the heads of a role share them.

    Args:
        model: The model.
        tokenised: The input.
        cells: Cells by role; a role without cells here is NaN.
        families: Roles and heads.
        queries: Mean query of the head of each family: the mean of ``mean_queries`` over units.
        redeals: Number of re-deals; 0 for none.
        seed: Of the re-deals.

    Raises:
        BadInput: When the model does not show its queries and keys.
    """
    size = queries.shape[-1]
    products = InputProducts.empty(len(families), size, redeals)
    laid: dict[tuple[str, bytes], _Rows | None] = {}

    def take(layer: int, call: Call, parts: Parts) -> None:
        here = np.flatnonzero(families.layers == layer)
        if not len(here):
            return
        visible = parts.visible.cpu().numpy()
        key = visible_key(visible)
        for role in dict.fromkeys(families.roles[place] for place in here):
            if role not in cells:
                continue
            if (role, key) not in laid:
                generator = np.random.default_rng([seed, _number(tokenised.passage.key), _number(role)])
                laid[role, key] = _lay(cells[role], visible, redeals, generator)
            rows = laid[role, key]
            if rows is not None:
                places = np.array([place for place in here if families.roles[place] == role])
                heads = families.heads[places]
                _multiply(products, places, heads, parts, rows, queries[places])

    with reading(model):
        read_parts(model, tokenised, take)
    return products


def _number(name: str) -> int:
    """Return a hash of a name as a number, for the seed of a generator."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest())


def _lay(
    cells: Bool[np.ndarray, "tokens tokens"],
    visible: Bool[np.ndarray, "tokens tokens"],
    redeals: int,
    generator: np.random.Generator,
) -> _Rows | None:
    """Return the contrast of a role as weights of keys; None where no row has cells and other keys."""
    rows = contrasted_rows(cells, visible)
    if not len(rows):
        return None
    own, seen = (cells & visible)[rows], visible[rows]
    again = np.empty((redeals, *own.shape), dtype=np.float32)
    for number, moved in enumerate(redeal(own, seen, rows, redeals, generator)):
        again[number] = contrast_weights(moved, seen)
    return _Rows(
        torch.from_numpy(rows), torch.from_numpy(contrast_weights(own, seen)), torch.from_numpy(again)
    )


def _multiply(
    products: InputProducts,
    places: Int[np.ndarray, " families"],
    heads: Int[np.ndarray, " families"],
    parts: Parts,
    rows: _Rows,
    mean_query: Float[np.ndarray, "families size"],
) -> None:
    """Store the products of some heads of a layer, all of one role."""
    home, chosen, scaling = parts.query.device, torch.from_numpy(heads), parts.scaling
    keys = parts.key[chosen.to(home)]
    own_rows, weights = rows.rows.to(home), rows.weights.to(home)
    query = parts.query[chosen.to(home)][:, own_rows]
    wide = query.double()
    difference = weights @ keys.double()  # Δk_i over the number of rows, (heads, rows, size)
    outer = scaling * (wide.transpose(1, 2) @ difference)
    products.parts[places] = (scaling * wide * difference).sum(1).cpu().numpy()
    products.outer[places] = outer.cpu().numpy()
    products.difference[places] = (scaling * difference.sum(1)).cpu().numpy()
    products.vertical[places] = (mean_query * products.difference[places]).sum(-1)
    products.bias[places] = 0.0
    if parts.bias is not None:
        bias = parts.bias[chosen.to(home)][:, own_rows].double().masked_fill(weights == 0, 0.0)
        products.bias[places] = (weights * bias).sum((1, 2)).cpu().numpy()
    if len(rows.redealt):
        again = _outer_of_redeals(query.float(), keys.float(), rows.redealt.to(home))
        products.redealt[places] = (scaling * again).cpu().numpy()


def _outer_of_redeals(
    query: Float[torch.Tensor, "heads rows size"],
    keys: Float[torch.Tensor, "heads tokens size"],
    weights: Float32[torch.Tensor, "redeals rows tokens"],
) -> Float32[torch.Tensor, "heads redeals size size"]:
    """Return the mean outer products of all re-deals, by two products over all heads and re-deals."""
    heads, tokens, size = keys.shape
    redeals, rows, _ = weights.shape
    side_by_side = keys.transpose(0, 1).reshape(tokens, heads * size)
    difference = (weights.view(-1, tokens) @ side_by_side).view(redeals, rows, heads, size)
    by_head = difference.permute(2, 1, 0, 3).reshape(heads, rows, redeals * size)
    outer = query.transpose(1, 2) @ by_head
    return outer.view(heads, size, redeals, size).transpose(1, 2)
