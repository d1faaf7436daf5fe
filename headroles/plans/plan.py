"""How the sieves of one example are laid over its attention: plain arrays that any engine can apply.

A plan is made once per example and visible set (``headroles.sieves``), and applied to every layer
either in numpy (``headroles.sieves.weights.reference``) or in torch (``headroles.extraction``).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.plans.even import EvenUnits
from headroles.plans.masks import Mask


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """Contrasts against a head's own distance profile, in token or word space (units u, offsets 2u−1).

    With A the attention between units (words: summed over attended pieces, averaged over attending
    ones), R the compared pairs, U what even attention puts on each pair: ``f(d) = Σ A / Σ U`` over
    the pairs of R at signed offset d, ``E_ij = m_i f(j−i) U_ij / Σ_k f(k−i) U_ik``, and each
    contrast is ``Σ weight · (A − E)``. Only rows (contrast, query) with weight are kept. Offset d
    has index ``d + u − 1``.

    Attributes:
        columns: Output column of each contrast.
        lead: Token that opens each unit.
        extra: Tokens that continue a unit.
        extra_unit: The unit each of ``extra`` continues.
        pieces: Tokens per unit.
        inside: 1 on the pairs of R, else 0.
        contrast: Which contrast each kept row belongs to.
        query: Which unit attends in each kept row.
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
        linear: Output column of each mask sieve that has something to say.
        weight: Score = Σ weight · attention, one flattened (tokens × tokens) row per mask sieve.
        divisor: For the bias: the score is divided by Σ divisor · attention; None for selectivity.
        profiles: Contrasts, at most one profile per space.
        cells: Eligible queries (arcs for syntactic sieves) per column; NaN where not applicable.
        low: Smallest value each column can take on this example; NaN where not applicable.
        high: Largest value each column can take.
    """

    columns: int
    linear: Int[np.ndarray, " masks"]
    weight: Float[np.ndarray, "masks pairs"]
    divisor: Float[np.ndarray, "masks pairs"] | None
    profiles: tuple[Profile, ...]
    cells: Float[np.ndarray, " columns"]
    low: Float[np.ndarray, " columns"]
    high: Float[np.ndarray, " columns"]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One mask sieve laid over one example, without its cells.

    With V_i the keys that query i can see, R_i the scope within V_i (all of V_i without a scope) and
    S_i the counted keys within R_i, special tokens left out unless ``specials``: the weight of cell
    (i, j) is ``q_i / (1 − e) · ([j ∈ S_i] − c_i [j ∈ R_i])``. For the bias the score is divided:
    ``Σ q_i [j ∈ S_i] A_ij / Σ q_i c_i [j ∈ R_i] A_ij``.

    Attributes:
        column: Its output column.
        counted: The counted cells as the sieve gives them, before V, R and special tokens are seen to.
        scope: The cells compared within as the sieve gives them; None for every visible key.
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
class Listed:
    """Single weighted cells, sorted by their queries.

    Attributes:
        query: Which token (unit) attends.
        key: Which is attended to.
        output: The sum that each cell adds to.
        weight: What its attention is multiplied by.
    """

    query: Int[np.ndarray, " cells"]
    key: Int[np.ndarray, " cells"]
    output: Int[np.ndarray, " cells"]
    weight: Float[np.ndarray, " cells"]


@dataclass(frozen=True, slots=True, eq=False)
class Rowwise:
    """Cells that are neither few nor sets of keys: asked for by rows, block by block.

    Attributes:
        mask: The cells.
        output: The sum they add to.
        weight: Weight of each query.
    """

    mask: Mask
    output: int
    weight: Float[np.ndarray, " queries"]


@dataclass(frozen=True, slots=True, eq=False)
class LongProfile:
    """``Profile`` without anything of size units × units: from sums by offset and by query.

    While blocks of rows pass by, three sums are taken: A over R at each offset, A over R in each row
    (m_i), and ``Σ weight · A`` of each contrast. Afterwards f is known and the expected part is
    ``Σ_i m_i / Z_i · X_i`` with ``Z_i = Σ_k f(k−i) U_ik`` over R and X_i the same over the counted
    cells, times the weight of the query. Offset d has index ``d + u − 1``.

    Attributes:
        columns: Output column of each contrast.
        sums: Which linear sum of the plan is ``Σ weight · A`` of each contrast.
        unit: Unit of each token; −1 for none.
        taken: Units whose pairs are compared.
        scope: The pairs compared; None when they are all pairs of ``taken`` units (but for ``apart``).
        apart: Whether a unit is not compared with itself.
        spread: What even attention puts on pairs of units, U, by rows.
        rate: U_ij is ``rate_i · pieces_j`` on all compared pairs with an offset that is seen; None
            when it has no such form.
        even: Σ U over R at each offset.
        keys: Sets of keys, 1 inside, that contrasts count.
        label: The set that each query counts in each contrast; −1 for none.
        weight: Weight of the queries that count a set.
        listed: Single cells that contrasts count, by units, weighted with U; output is the contrast.
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
    listed: Listed
    rowwise: tuple[Rowwise, ...]


@dataclass(frozen=True, slots=True, eq=False)
class LongPlan:
    """All mask sieves and contrasts of one long example, for attention that comes in blocks of rows.

    Nothing in it has a cell per pair of tokens, unless a sieve or a mask brought such an array. Linear
    sums are made of three kinds of terms: attention on sets of keys (one thin product for all sieves,
    then weighted by query), single cells, and cells asked for by rows.

    Attributes:
        columns: Number of output columns, contrasts included.
        linear: Output column of each mask sieve that has something to say.
        bias: Whether each mask sieve's sum is divided by a second one, ``len(linear)`` sums later.
        parts: The mask sieves, as they were laid, in the order of ``linear``.
        keys: Sets of keys, 1 inside.
        weight: What each query's attention on each set adds to each linear sum.
        listed: Single cells; output is the linear sum.
        rowwise: Cells asked for by rows; output is the linear sum.
        profiles: Contrasts, at most one profile per space and scope.
        cells: Eligible queries (arcs for syntactic sieves) per column; NaN where not applicable.
        low: Smallest value each column can take on this example; NaN where not applicable.
        high: Largest value each column can take.
    """

    columns: int
    linear: Int[np.ndarray, " masks"]
    bias: bool
    parts: tuple[Part, ...]
    keys: Float[np.ndarray, "tokens sets"]
    weight: Float[np.ndarray, "tokens sets sums"]
    listed: Listed
    rowwise: tuple[Rowwise, ...]
    profiles: tuple[LongProfile, ...]
    cells: Float[np.ndarray, " columns"]
    low: Float[np.ndarray, " columns"]
    high: Float[np.ndarray, " columns"]


@dataclass(frozen=True, slots=True, eq=False)
class Laid:
    """The surface statistics of one example, ready to be taken.

    Attributes:
        plan: Mean attention as one product; columns that say nothing have no row, and NaN for cells.
            The entropies are its last two columns, which no row of it gives.
        even: What even attention over the visible keys gives in each column; NaN where not applicable.
        first: Queries of the first or class token.
    """

    plan: Plan
    even: Float[np.ndarray, " columns"]
    first: Int[np.ndarray, " first"]
