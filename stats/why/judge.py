"""Judge the products of queries and keys: the parts of the contrasts of roles, and directions to remove."""

import numpy as np

from headroles.errors import BadInput
from headroles.records.causal.ablation import HeldRoles
from headroles.records.causal.origins import DIMENSION_TESTS, ORIGINS, Products
from headroles.records.rules.rule import Decision
from headroles.records.table import Table
from headroles.stats.moments import describe
from headroles.stats.why.dimensions import dimension_tests
from headroles.stats.why.knockouts import knockout_tests, removals_of
from headroles.stats.why.rotations import rotation_tests
from headroles.stats.why.subspace import find_directions
from headroles.stats.why.vertical import contrasts, vertical_tests

__all__ = ["ROTATIONS", "judge_origins", "knockout_tests", "removals_of"]

ROTATIONS = 9_999
"""Random rotations that the concentration of a family is compared with."""


def judge_origins(
    products: Products, held: HeldRoles, tested: int, decision: Decision, rotations: int = ROTATIONS
) -> tuple[Table, Table]:
    """Test the parts of the contrast of every role of every head.

    Nulls, alternatives, units and assumptions stand with the tests: ``vertical_tests``, ``dimension_tests``,
    ``rotation_tests`` and ``find_directions``. Below 20 units, or where the contrast is not significantly
    above 0, a family gets no verdict and no dimensions.

    Args:
        products: Over units that decided no role.
        held: The roles, which every family must hold.
        tested: Pairs of role and head that were tested for the role when the roles were decided.
        decision: Test, correction, alpha, resamples, seed and interval. Its family does not count.
        rotations: Random rotations of each head.

    Returns:
        A row per family, and a row per family and dimension or frequency pair; none without families.

    Raises:
        BadInput: For a family that does not hold its role, or a test that needs bounds of what it tests.
    """
    _check_held(products, held)
    if not products.roles:
        return ORIGINS, DIMENSION_TESTS
    vertical = vertical_tests(products, decision)
    dimensions = dimension_tests(products, vertical.testable, tested, decision)
    turned = rotation_tests(products, vertical.testable, rotations, decision)
    directions = find_directions(products)
    known = ~np.isnan(contrasts(products))
    bias = describe(np.where(known, products.bias.astype(np.float64), np.nan)).mean
    origins = ORIGINS.of(
        role=products.roles,
        layer=products.layers,
        head=products.heads,
        count=vertical.contrast.count[0],
        contrast=vertical.contrast.mean[0],
        low=vertical.contrast.low[0],
        high=vertical.contrast.high[0],
        bias=bias,
        share=vertical.share,
        share_low=vertical.low,
        share_high=vertical.high,
        p_vertical=vertical.more.p[0],
        q_vertical=vertical.more.q[0],
        p_query=vertical.less.p[0],
        q_query=vertical.less.q[0],
        verdict=vertical.verdict,
        found=dimensions["found"].reshape(len(products.roles), -1).sum(axis=1),
        participation=turned.participation,
        rotated=turned.rotated,
        p_few=turned.p,
        q_few=turned.q,
        few=turned.few,
        rank=directions.rank,
        strongest=directions.strongest,
        expected=directions.expected,
    )
    return origins, dimensions


def _check_held(products: Products, held: HeldRoles) -> None:
    """Refuse families that do not hold their role."""
    for role, layer, head in zip(
        products.roles, products.layers.tolist(), products.heads.tolist(), strict=True
    ):
        if role not in held.roles or not held.heads(role)[layer, head]:
            raise BadInput(
                f"origins are asked of heads that hold a role, but got {role!r} of layer {layer}, head "
                f"{head}, which does not hold it; give products of heads with roles alone"
            )
