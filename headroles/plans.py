"""How the sieves of one example are laid over its attention: plain arrays that any engine can apply.

A plan is made once per example and visible set (``headroles.sieves``), and applied to every layer
either in numpy (``headroles.sieves.apply``) or in torch (``headroles.extraction``).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


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
