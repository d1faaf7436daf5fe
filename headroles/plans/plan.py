"""Plans: weights of the sieves of one example as plain arrays, which any engine can apply to its attention.

A plan is made once per example and set of visible keys (``headroles.sieves``), and applied to every layer
either in numpy (``headroles.sieves.weights.reference``) or in torch (``headroles.extraction``).
"""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.plans.even import EvenUnits
from headroles.plans.masks import Band, Mask

LEFT_OUT = "beyond bounds of "
"""Before the name of a column: the count of inputs left out of it, as they could score beyond its bounds."""
ROUNDING = 1e-6
"""Bounds of an input beyond the stated ones by no more than this are equal to them but for rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """Contrasts against a head's own distance profile, in token or word space (units u, offsets 2u−1).

    With A the attention between units (words: summed over attended tokens, averaged over attending
    ones), R the compared pairs, U the even attention on each pair: ``f(d) = Σ A / Σ U`` over
    the pairs of R at signed offset d, ``E_ij = m_i f(j−i) U_ij / Σ_k f(k−i) U_ik``, and each
    contrast is ``Σ weight · (A − E)``. Only rows (contrast, query) with weight are kept. Offset d
    has index ``d + u − 1``.

    Attributes:
        columns: Output column of each contrast.
        lead: First token of each unit.
        extra: Further tokens of units.
        extra_unit: Unit of each of ``extra``.
        pieces: Tokens per unit.
        inside: 1 on the pairs of R, else 0.
        contrast: Contrast of each kept row.
        query: Attending unit of each kept row.
        weight: Weight of each key in each kept row.
        even: Σ U over R at each offset.
        total: U on R by offset and query: turns f into the normaliser of each query.
        expected: ``weight × U`` by offset and kept row: turns f into expected attention.
    """

    columns: tuple[int, ...]
    lead: Int[np.ndarray, " units"]
    extra: Int[np.ndarray, " extra"]
    extra_unit: Int[np.ndarray, " extra"]
    pieces: Float[np.ndarray, " units"]
    inside: Float[np.ndarray, "units units"]
    contrast: Int[np.ndarray, " rows"]
    query: Int[np.ndarray, " rows"]
    weight: Float[np.ndarray, "rows units"]
    even: Float[np.ndarray, " offsets"]
    total: Float[np.ndarray, "offsets units"]
    expected: Float[np.ndarray, "offsets rows"]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """All mask sieves and contrasts of one example.

    Attributes:
        columns: Number of output columns, contrasts included.
        linear: Output column of each mask sieve that applies to the example.
        weight: Score = Σ weight · attention, one flattened (tokens × tokens) row per mask sieve.
        divisor: For the bias: the score is divided by Σ divisor · attention; None for selectivity.
        profiles: Contrasts, at most one profile per space.
        cells: Eligible queries (arcs for syntactic sieves) per column; NaN where not applicable.
        low: Smallest value each column can take on this example; NaN where not applicable.
        high: Largest value each column can take.
        swaps: Output column of each swap that applies to the example, which has a partner.
        exchanged: Its value = Σ exchanged · attention, one flattened row per swap.
    """

    columns: int
    linear: Int[np.ndarray, " masks"]
    weight: Float[np.ndarray, "masks pairs"]
    divisor: Float[np.ndarray, "masks pairs"] | None
    profiles: tuple[Profile, ...]
    cells: Float[np.ndarray, " columns"]
    low: Float[np.ndarray, " columns"]
    high: Float[np.ndarray, " columns"]
    swaps: tuple[int, ...] = ()
    exchanged: Float[np.ndarray, "swaps pairs"] = field(default_factory=lambda: np.zeros((0, 0)))


@dataclass(frozen=True, slots=True, eq=False)
class MaskWeights:
    """Weights of one mask sieve on one example, without its cells.

    With V_i the keys that query i can see, R_i the scope within V_i (all of V_i without a scope) and
    S_i the counted keys within R_i, special tokens left out unless ``specials``: the weight of cell
    (i, j) is ``q_i / (1 − e) · ([j ∈ S_i] − c_i [j ∈ R_i])``. For the bias the score is divided:
    ``Σ q_i [j ∈ S_i] A_ij / Σ q_i c_i [j ∈ R_i] A_ij``.

    Attributes:
        column: Output column of the sieve.
        counted: The sieve's counted cells, before V, R and special tokens are applied.
        scope: The sieve's cells to compare within; None for every visible key.
        specials: Whether special tokens may be counted as keys.
        query: Query weights q_i, summing to 1; 0 where a query does not count.
        chance: c_i = |S_i| / |R_i|; 0 where R_i is empty.
        expected: e = Σ q_i c_i, from 0 to below 1.
    """

    column: int
    counted: Mask
    scope: Mask | None
    specials: bool
    query: Float[np.ndarray, " tokens"]
    chance: Float[np.ndarray, " tokens"]
    expected: float


@dataclass(frozen=True, slots=True, eq=False)
class CellList:
    """Single weighted cells, sorted by their queries.

    Attributes:
        query: Attending token (unit) of each cell.
        key: Attended token (unit) of each cell.
        output: Index of the sum that each cell adds to.
        weight: Factor of the cell's attention.
    """

    query: Int[np.ndarray, " cells"]
    key: Int[np.ndarray, " cells"]
    output: Int[np.ndarray, " cells"]
    weight: Float[np.ndarray, " cells"]


@dataclass(frozen=True, slots=True, eq=False)
class RowCells:
    """Cells that are neither few nor sets of keys: computed by rows, block by block.

    Attributes:
        mask: The cells.
        output: Index of the sum that they add to.
        weight: Weight of each query.
    """

    mask: Mask
    output: int
    weight: Float[np.ndarray, " queries"]


@dataclass(frozen=True, slots=True, eq=False)
class KeyWeights:
    """Cells between sets of tokens that attend and keys with weights.

    Attributes:
        label: Set of each query; −1 for none.
        keys: Weight of each key for the queries of each set.
        band: The offsets of the cells; None for all.
        output: Index of the sum that they add to.
    """

    label: Int[np.ndarray, " queries"]
    keys: Float[np.ndarray, "keys sets"]
    band: Band | None
    output: int

    def rows(self, start: int, stop: int) -> Float[np.ndarray, "rows keys"]:
        """Return the weights of queries ``start`` to ``stop``."""
        label = self.label[start:stop]
        weights: np.ndarray = self.keys.T[label] * (label >= 0)[:, None]
        return weights if self.band is None else weights * self.band.rows(start, stop)


@dataclass(frozen=True, slots=True, eq=False)
class LongProfile:
    """``Profile`` without arrays of size units × units: from sums by offset and by query.

    Three sums are accumulated over blocks of rows: A over R at each offset, A over R in each row
    (m_i), and ``Σ weight · A`` of each contrast. Afterwards f is known and the expected part is
    ``Σ_i m_i / Z_i · X_i`` with ``Z_i = Σ_k f(k−i) U_ik`` over R and X_i the same over the counted
    cells, times the weight of the query. Offset d has index ``d + u − 1``.

    Attributes:
        columns: Output column of each contrast.
        sums: Index of the plan's linear sum that is ``Σ weight · A`` of each contrast.
        unit: Unit of each token; −1 for none.
        taken: Units whose pairs are compared.
        scope: The pairs compared; None when they are all pairs of ``taken`` units (except by ``apart``).
        apart: Whether a unit is not compared with itself.
        spread: Even attention on pairs of units, U, by rows.
        rate: U_ij is ``rate_i · pieces_j`` on all compared pairs with a visible offset; None when it
            has no such form.
        even: Σ U over R at each offset.
        keys: Sets of keys, 1 inside, that contrasts count.
        label: Index of the key set that each query counts in each contrast; −1 for none.
        weight: Weight of the queries that count a set.
        listed: Single cells that contrasts count, by units, weighted with U; output is the contrast.
        weighed: Weighted keys of contrasts, between tokens; output is the contrast.
        rowwise: Other cells that contrasts count, by units; output is the contrast.
    """

    columns: tuple[int, ...]
    sums: tuple[int, ...]
    unit: Int[np.ndarray, " tokens"]
    taken: Bool[np.ndarray, " units"]
    scope: Mask | None
    apart: bool
    spread: EvenUnits
    rate: Float[np.ndarray, " units"] | None
    even: Float[np.ndarray, " offsets"]
    keys: Float[np.ndarray, "units sets"]
    label: Int[np.ndarray, "contrasts units"]
    weight: Float[np.ndarray, "contrasts units"]
    listed: CellList
    weighed: tuple[KeyWeights, ...]
    rowwise: tuple[RowCells, ...]


@dataclass(frozen=True, slots=True, eq=False)
class LongPlan:
    """All mask sieves and contrasts of one long example, for attention in blocks of rows.

    It has no array with a cell per pair of tokens, unless a sieve or a mask brings one. Linear sums have
    four kinds of terms: attention on sets of keys (one thin product for all sieves, then weighted by
    query), attention from sets of queries (weighted by key), single cells, and cells computed by rows.

    Attributes:
        columns: Number of output columns, contrasts included.
        linear: Output column of each mask sieve that applies to the example.
        bias: Whether each mask sieve's sum is divided by a second one, ``len(linear)`` sums later.
        swaps: Output column of each swap that applies; their sums follow those of the mask sieves.
        parts: Weights of the mask sieves, in the order of ``linear``.
        keys: Sets of keys, 1 inside.
        weight: Weight of each query's attention on each set in each linear sum.
        listed: Single cells; output is the linear sum.
        weighed: Weighted keys of sets of queries; output is the linear sum.
        rowwise: Cells computed by rows; output is the linear sum.
        profiles: Contrasts, at most one profile per space and scope.
        cells: Eligible queries (arcs for syntactic sieves) per column; NaN where not applicable.
        low: Smallest value each column can take on this example; NaN where not applicable.
        high: Largest value each column can take.
    """

    columns: int
    linear: Int[np.ndarray, " masks"]
    bias: bool
    swaps: tuple[int, ...]
    parts: tuple[MaskWeights, ...]
    keys: Float[np.ndarray, "tokens sets"]
    weight: Float[np.ndarray, "tokens sets sums"]
    listed: CellList
    weighed: tuple[KeyWeights, ...]
    rowwise: tuple[RowCells, ...]
    profiles: tuple[LongProfile, ...]
    cells: Float[np.ndarray, " columns"]
    low: Float[np.ndarray, " columns"]
    high: Float[np.ndarray, " columns"]


@dataclass(frozen=True, slots=True, eq=False)
class SurfacePlan:
    """Plan of the surface statistics of one example.

    Attributes:
        plan: Mean attention as one product; columns that do not apply have no row, and NaN for cells.
            The entropies are its last two columns, which have no row either.
        even: Value of even attention over the visible keys in each column; NaN where not applicable.
        first: Queries of the first or class token.
        queries: Number of queries, which come first. In a joint example of cross attention these are the
            decoder's tokens; else all tokens.
        keys: Place of the first key: that of the encoder's first token in cross attention, else 0.
    """

    plan: Plan
    even: Float[np.ndarray, " columns"]
    first: Int[np.ndarray, " first"]
    queries: int
    keys: int


def beyond_bounds(
    low: Float[np.ndarray, "*shape"],
    high: Float[np.ndarray, "*shape"],
    stated_low: Float[np.ndarray, "*#shape"],
    stated_high: Float[np.ndarray, "*#shape"],
) -> Bool[np.ndarray, "*shape"]:
    """Return which inputs could score beyond the stated bounds; False where either is NaN.

    Args:
        low: Smallest score that each input could have.
        high: Largest score.
        stated_low: Smallest score stated before any data.
        stated_high: Largest score.

    Example:
        >>> one = np.ones(2)
        >>> beyond_bounds(np.array([-3.0, -0.2]), one, np.array(-0.5), np.array(1.0)).tolist()
        [True, False]
    """
    beyond: np.ndarray = (low < stated_low - ROUNDING) | (high > stated_high + ROUNDING)
    return beyond
