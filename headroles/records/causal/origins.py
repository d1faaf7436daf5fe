"""Origins of roles in queries and keys: parts of the log-odds contrast of heads, and their tests."""

import math
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.records.arrays import seal_arrays
from headroles.records.brief import brief
from headroles.records.causal.ablation import HeldRoles
from headroles.records.numbers import number, two_decimals
from headroles.records.table import (
    COUNT,
    ENDS,
    HEAD,
    LAYER,
    MISSING,
    SHARE,
    Cell,
    Column,
    Table,
    chance,
    counted,
    interval_ends,
)

VERTICAL, BY_QUERY, UNDETERMINED, UNTESTABLE = "vertical", "by query", "undetermined", "untestable"
"""Verdicts on the part that all queries share."""
FEW, AS_ROTATED = "few neurons", "as rotated"
"""Verdicts on the concentration on dimensions; "untestable" where the basis is fixed."""
FALLS, HOLDS = "falls", "holds"
"""Verdicts on a score after a removal; else "undetermined" or "untestable"."""
DIMENSIONS, SUBSPACE = "dimensions", "subspace"
"""Directions that are removed from the queries of a head."""
REMOVED = {DIMENSIONS: "found dimensions", SUBSPACE: "subspace"}
"""These directions in words."""


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


def open_share(value: float) -> str:
    """Return a share, or an end of its interval, with two decimals; an open end is infinite.

    Example:
        >>> open_share(0.5), open_share(float("-inf")), open_share(float("nan"))
        ('0.50', '−∞', '–')
    """
    return number(value) if math.isinf(value) else two_decimals(value)


ROLE = Column("role", "The role.", str, "role", terminal="narrow")
UNITS = counted("count", "Units that counted.", "units")
ORIGINS = Table(
    "origins.csv",
    "What the contrast of a role consists of",
    "a role of a head",
    (
        ROLE,
        LAYER,
        HEAD,
        UNITS,
        Column(
            "contrast", "Mean log-odds contrast by queries and keys, without position bias.", float,
            f"contrast {ENDS}", ends=("low", "high"), terminal="wide",
        ),
        *interval_ends(),
        Column("bias", "Mean part of the position bias.", float, "position bias"),
        Column(
            "share",
            "Part by the mean query, as a share of the contrast; NaN where the contrast is not positive.",
            float, f"vertical share {ENDS}", open_share, ("share_low", "share_high"), terminal="narrow",
            short=f"vertical\nshare {ENDS}",
        ),
        Column(
            "share_low",
            "Lower end of its 95 % interval (Fieller), with the error of the mean query; −inf or NaN where "
            "it has none.",
        ),
        Column("share_high", "Upper end."),
        chance(
            "p_vertical",
            "One-sided p of “the part that all queries share is at most the rest”, with the error of the "
            "mean query, and with three further units as bad as the worst.",
        ),
        chance("q_vertical", "`p_vertical` adjusted over all families.", "q vertical"),
        chance(
            "p_query", "One-sided p of “the part that all queries share is at least the rest”, the same."
        ),
        chance("q_query", "`p_query` adjusted over all families.", "q by query"),
        Column(
            "verdict", "“vertical”, “by query”, “undetermined” or “untestable”.", str, "verdict",
            terminal="narrow", words=(VERTICAL, BY_QUERY, UNDETERMINED, UNTESTABLE),
        ),
        counted(
            "found", "Dimensions (or frequency pairs) with more than twice their fair share.", "found",
            terminal="narrow",
        ),
        Column(
            "participation",
            "Participation ratio of the mean parts, from 1 (one dimension, or frequency pair) to all of "
            "them; NaN where all parts are 0.",
            float, "participation", terminal="wide", short="partici-\npation", within=COUNT,
        ),
        Column(
            "rotated",
            "Median of the participation ratio after random rotations; NaN where the basis is fixed.",
            float, "when rotated", terminal="wide", short="when\nrotated", within=COUNT,
        ),
        chance(
            "p_few",
            "P of “the parts are no more concentrated than in a random basis”; NaN where the basis is "
            "fixed.",
        ),
        chance("q_few", "`p_few` adjusted over all families.", "q few"),
        Column(
            "few", "“few neurons”, “as rotated” or “untestable”.", str, "neurons", terminal="wide",
            words=(FEW, AS_ROTATED, UNTESTABLE),
        ),
        Column(
            "rank",
            "Directions beyond distance: stronger than in re-deals of the cells; −1 without re-deals.",
            int, "directions", terminal="wide", short="direc-\ntions", within=(-1.0, math.inf),
            cell=lambda row: Cell(f"{row.rank:,}", row.rank) if row.rank >= 0 else MISSING,
        ),
        Column(
            "strongest", "Largest singular value of the mean outer product.", float, "strongest",
            within=COUNT,
        ),
        Column(
            "expected",
            "95 % point of the largest singular value over re-deals; NaN where there are none.",
            float, "95\u00a0% by chance", within=COUNT,
        ),
    ),
    name="Heads",
    first=(
        "head", "role", "count", "contrast", "bias", "share", "q_vertical", "q_query", "verdict",
        "participation", "rotated", "q_few", "few",
    ),
    note="These tests have the error of the mean query in them; those of `findings.csv` do not.",
)  # fmt: skip
"""The parts of the contrast of every role of every head, and their tests."""
DIMENSION_TESTS = Table(
    "dimensions.csv",
    "Parts of the contrast by dimension, or by frequency pair",
    "a role of a head and a dimension",
    (
        ROLE,
        LAYER,
        replace(HEAD, short="found in"),
        counted(
            "dimension", "Number of the dimension, or of the frequency pair, from 0.", "dimension",
            terminal="narrow", short="dimen-\nsion",
        ),
        UNITS,
        Column(
            "mean", "Mean part of the contrast.", float, f"part {ENDS}", ends=("low", "high"),
            terminal="wide",
        ),
        *interval_ends(),
        Column(
            "share", "`mean` as a share of the contrast; NaN where the contrast is not positive.", float,
            "share", terminal="narrow",
        ),
        chance(
            "p",
            "One-sided p of “at most twice the fair share”, with three further units as bad as the worst; "
            "NaN where the contrast is not significantly above 0, and below 20 units.",
            "p",
        ),
        chance("q", "`p` adjusted over the dimensions of the family.", "q", terminal="narrow"),
        Column(
            "level",
            "Level of the family: alpha × families with a role / families tested (Benjamini and Bogomolov).",
            float, "level", terminal="wide", within=SHARE,
        ),
        Column(
            "found", "Whether `q` is at most `level`.", bool, "found",
            lambda value: "found" if value else "–",
        ),
    ),
    name="Dimensions",
    first=("head", "role"),
)  # fmt: skip
"""The part of every dimension, or frequency pair, of a head in a role."""


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


KNOCKOUTS = Table(
    "knockouts.csv",
    "Scores after directions were removed from queries",
    "a removal and a scored role",
    (
        Column(
            "by", "What was removed: “dimensions” that were found, or the “subspace” of directions beyond "
            "distance.",
            str, "removed", REMOVED.__getitem__, terminal="narrow", words=(DIMENSIONS, SUBSPACE),
        ),
        Column("role", "The role whose directions were removed.", str, "of role", terminal="wide"),
        LAYER,
        replace(HEAD, short="in head"),
        counted("removed", "Number of directions.", "directions"),
        Column(
            "scored", "The role that is scored: `role` itself, or another of the head.", str, "scored",
            terminal="narrow",
        ),
        UNITS,
        Column(
            "threshold", "Threshold of the scored role, θ.", float, "threshold", terminal="wide",
            short="thres-\nhold",
        ),
        Column("before", "Mean score before.", float, "before", terminal="narrow"),
        Column(
            "after", "Mean score after.", float, f"after {ENDS}", ends=("low", "high"), terminal="narrow"
        ),
        *interval_ends(),
        chance(
            "p_falls",
            "One-sided p of “after the removal the score is at least θ”, with three further units as bad "
            "as the worst.",
        ),
        chance(
            "q_falls",
            "`p_falls` adjusted over all rows of the same removal that score the same thing: the removed "
            "role, or other roles.",
            "q falls",
        ),
        chance("p_holds", "One-sided p of “after the removal the score is at most θ”, the same."),
        chance("q_holds", "`p_holds` adjusted likewise.", "q holds"),
        Column(
            "verdict", "“falls”, “holds”, “undetermined” or “untestable”.", str, "verdict",
            terminal="narrow", words=(FALLS, HOLDS, UNDETERMINED, UNTESTABLE),
        ),
    ),
    name="Removals",
    first=("head",),
)  # fmt: skip
"""Every role of a head after directions were removed from its queries."""


@dataclass(frozen=True, slots=True, eq=False)
class Origins:
    """Origins of the roles of heads: the evidence for why they attend where they do.

    Attributes:
        held: The roles that are asked about, decided on other units.
        products: Parts of the contrasts.
        origins: One row per family.
        dimensions: One row per family and dimension or frequency pair.
        knocked: Scores before and after removals; None where nothing was found that could be removed.
        knockouts: Tests of these scores.
    """

    held: HeldRoles
    products: Products
    origins: Table
    dimensions: Table
    knocked: Knocked | None = None
    knockouts: Table = KNOCKOUTS

    __repr__ = brief
