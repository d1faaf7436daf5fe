"""Origins of roles in queries and keys: parts of the log-odds contrast of heads, and their tests."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.records.arrays import seal_arrays
from headroles.records.brief import brief
from headroles.records.causal.ablation import HeldRoles

VERTICAL, BY_QUERY, UNDETERMINED, UNTESTABLE = "vertical", "by query", "undetermined", "untestable"
"""Verdicts on the part that all queries share."""
FEW, AS_ROTATED = "few neurons", "as rotated"
"""Verdicts on the concentration on dimensions; "untestable" where the basis is fixed."""
FALLS, HOLDS = "falls", "holds"
"""Verdicts on a score after a removal; else "undetermined" or "untestable"."""
DIMENSIONS, SUBSPACE = "dimensions", "subspace"
"""Directions that are removed from the queries of a head."""


@dataclass(frozen=True, slots=True, eq=False)
class Products:
    """Parts of the log-odds contrast of every family, over units that decided no role.

    A family is one role of one head. Its contrast is the mean logit of the role's cells minus that of the
    other visible keys, averaged over the queries that have both.

    Attributes:
        roles: Role of each family.
        layers: Layer of each family.
        heads: Head of each family.
        units: Names of the units.
        parts: Part of each dimension of the head, s q_d (mean k_d of the cells − mean k_d of the rest);
            NaN where a unit has no query with both.
        vertical: Part by the mean query alone, which all queries share. The mean query is that of reference
            units, which measure nothing else here.
        references: Mean over ``units`` of that part, by the mean query of each reference unit alone. Their
            spread is the error of the mean query.
        bias: Part of the position bias that is added to logits; zeros where the model has none.
        outer: Mean of s q (difference of mean keys)ᵀ; the diagonal is the mean of ``parts``.
        redealt: Largest singular value of ``outer`` for each re-deal: the cells in random rows, at equal
            offsets.
        group: Number of the frequency pair of each dimension; its own number without rotary positions.
        free: Whether the basis of a dimension is arbitrary: no rotary position acts on it.
    """

    roles: tuple[str, ...]
    layers: Int[np.ndarray, " families"]
    heads: Int[np.ndarray, " families"]
    units: tuple[str, ...]
    parts: Float[np.ndarray, "units families size"]
    vertical: Float[np.ndarray, "units families"]
    references: Float[np.ndarray, "references families"]
    bias: Float[np.ndarray, "units families"]
    outer: Float[np.ndarray, "families size size"]
    redealt: Float[np.ndarray, "families redeals"]
    group: Int[np.ndarray, " size"]
    free: Bool[np.ndarray, " size"]

    __repr__ = brief

    def __post_init__(self) -> None:
        """Check shapes, and make the arrays read-only.

        Raises:
            BadInput: Naming the first array that does not fit.
        """
        seal_arrays(self, "products", {"families": len(self.roles), "units": len(self.units)})


@dataclass(frozen=True, slots=True)
class Origin:
    """The parts of the contrast of one role of one head, and their tests (a row of ``origins.csv``).

    Attributes:
        role: The role.
        layer: Layer of the head.
        head: The head.
        count: Units that counted.
        contrast: Mean log-odds contrast by queries and keys, without position bias.
        low: Lower end of its 95 % interval.
        high: Upper end.
        bias: Mean part of the position bias.
        share: Part by the mean query, as a share of the contrast; NaN where the contrast is not positive.
        share_low: Lower end of its 95 % interval (Fieller), with the error of the mean query; −inf or NaN
            where it has none.
        share_high: Upper end.
        p_vertical: One-sided p of "the part that all queries share is at most the rest", with the error of
            the mean query, and with three further units as bad as the worst.
        q_vertical: ``p_vertical`` adjusted over all families.
        p_query: One-sided p of "the part that all queries share is at least the rest", the same.
        q_query: ``p_query`` adjusted over all families.
        verdict: "vertical", "by query", "undetermined" or "untestable".
        found: Dimensions (or frequency pairs) with more than twice their fair share.
        participation: Participation ratio of the mean parts, from 1 (one dimension, or frequency pair) to all
            of them; NaN where all parts are 0.
        rotated: Median of the participation ratio after random rotations; NaN where the basis is fixed.
        p_few: P of "the parts are no more concentrated than in a random basis"; NaN where the basis is fixed.
        q_few: ``p_few`` adjusted over all families.
        few: "few neurons", "as rotated" or "untestable".
        rank: Directions beyond distance: stronger than in re-deals of the cells; −1 without re-deals.
        strongest: Largest singular value of the mean outer product.
        expected: 95 % point of the largest singular value over re-deals; NaN where there are none.
    """

    role: str
    layer: int
    head: int
    count: int
    contrast: float
    low: float
    high: float
    bias: float
    share: float
    share_low: float
    share_high: float
    p_vertical: float
    q_vertical: float
    p_query: float
    q_query: float
    verdict: str
    found: int
    participation: float
    rotated: float
    p_few: float
    q_few: float
    few: str
    rank: int
    strongest: float
    expected: float


@dataclass(frozen=True, slots=True)
class DimensionTest:
    """The part of one dimension, or frequency pair, of a head in a role (a row of ``dimensions.csv``).

    Attributes:
        role: The role.
        layer: Layer of the head.
        head: The head.
        dimension: Number of the dimension, or of the frequency pair, from 0.
        count: Units that counted.
        mean: Mean part of the contrast.
        low: Lower end of its 95 % interval.
        high: Upper end.
        share: ``mean`` as a share of the contrast; NaN where the contrast is not positive.
        p: One-sided p of "at most twice the fair share", with three further units as bad as the worst; NaN
            where the contrast is not significantly above 0, and below 20 units.
        q: ``p`` adjusted over the dimensions of the family.
        level: Level of the family: alpha × families with a role / families tested (Benjamini and Bogomolov).
        found: Whether ``q`` is at most ``level``.
    """

    role: str
    layer: int
    head: int
    dimension: int
    count: int
    mean: float
    low: float
    high: float
    share: float
    p: float
    q: float
    level: float
    found: bool


@dataclass(frozen=True, slots=True, eq=False)
class Removal:
    """Directions that are removed from the queries of one head.

    Attributes:
        family: Place of the family among those of ``Products``.
        by: "dimensions" or "subspace".
        basis: Orthonormal directions; a query q becomes q − basis basisᵀ q.
    """

    family: int
    by: str
    basis: Float[np.ndarray, "size removed"]


@dataclass(frozen=True, slots=True, eq=False)
class Knocked:
    """Scores of heads before and after removals, over units that measured nothing else.

    Attributes:
        by: What is removed, of each row: "dimensions" or "subspace".
        family: Place of the family whose directions are removed, of each row.
        size: Number of directions that are removed, of each row.
        scored: Role whose score is taken, of each row: that of the family, and all others of the head.
        units: Names of the units.
        before: Scores of the head; NaN where the sieve does not apply.
        after: The same after the removal.
        threshold: Threshold of the scored role, of each row.
    """

    by: tuple[str, ...]
    family: Int[np.ndarray, " rows"]
    size: Int[np.ndarray, " rows"]
    scored: tuple[str, ...]
    units: tuple[str, ...]
    before: Float[np.ndarray, "rows units"]
    after: Float[np.ndarray, "rows units"]
    threshold: Float[np.ndarray, " rows"]

    __repr__ = brief

    def __post_init__(self) -> None:
        """Check shapes, and make the arrays read-only.

        Raises:
            BadInput: Naming the first array that does not fit.
        """
        seal_arrays(self, "knocked-out scores", {"rows": len(self.by), "units": len(self.units)})


@dataclass(frozen=True, slots=True)
class KnockOut:
    """One role of a head after directions were removed from its queries (a row of ``knockouts.csv``).

    Attributes:
        by: What was removed: "dimensions" that were found, or the "subspace" of directions beyond distance.
        role: The role whose directions were removed.
        layer: Layer of the head.
        head: The head.
        removed: Number of directions.
        scored: The role that is scored: ``role`` itself, or another of the head.
        count: Units that counted.
        threshold: Threshold of the scored role, θ.
        before: Mean score before.
        after: Mean score after.
        low: Lower end of the 95 % interval of ``after``.
        high: Upper end.
        p_falls: One-sided p of "after the removal the score is at least θ", with three further units as bad
            as the worst.
        q_falls: ``p_falls`` adjusted over all rows of the same removal that score the same thing: the
            removed role, or other roles.
        p_holds: One-sided p of "after the removal the score is at most θ", the same.
        q_holds: ``p_holds`` adjusted likewise.
        verdict: "falls", "holds", "undetermined" or "untestable".
    """

    by: str
    role: str
    layer: int
    head: int
    removed: int
    scored: str
    count: int
    threshold: float
    before: float
    after: float
    low: float
    high: float
    p_falls: float
    q_falls: float
    p_holds: float
    q_holds: float
    verdict: str


@dataclass(frozen=True, slots=True, eq=False)
class Origins:
    """Origins of the roles of heads: the evidence for why they attend where they do.

    Attributes:
        held: The roles that are asked about, decided on other units.
        products: Parts of the contrasts.
        origins: One per family.
        dimensions: One per family and dimension or frequency pair.
        knocked: Scores before and after removals; None where nothing was found that could be removed.
        knockouts: Tests of these scores.
    """

    held: HeldRoles
    products: Products
    origins: tuple[Origin, ...]
    dimensions: tuple[DimensionTest, ...]
    knocked: Knocked | None = None
    knockouts: tuple[KnockOut, ...] = ()

    __repr__ = brief
