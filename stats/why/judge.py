"""Judge the products of queries and keys: the parts of the contrasts of roles, and directions to remove."""

import numpy as np

from headroles.errors import BadInput
from headroles.records.causal.ablation import HeldRoles
from headroles.records.causal.origins import DimensionTest, Origin, Products
from headroles.records.rules.rule import Decision
from headroles.stats.moments import describe
from headroles.stats.why.dimensions import dimension_tests
from headroles.stats.why.knockouts import knockout_tests, removals_of
from headroles.stats.why.rotations import RotationTests, rotation_tests
from headroles.stats.why.subspace import Directions, find_directions
from headroles.stats.why.vertical import VerticalTests, contrasts, vertical_tests

__all__ = ["ROTATIONS", "judge_origins", "knockout_tests", "removals_of"]

ROTATIONS = 9_999
"""Random rotations that the concentration of a family is compared with."""


def judge_origins(
    products: Products, held: HeldRoles, tested: int, decision: Decision, rotations: int = ROTATIONS
) -> tuple[tuple[Origin, ...], tuple[DimensionTest, ...]]:
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
        One origin per family, and one test per family and dimension or frequency pair; none without families.

    Raises:
        BadInput: For a family that does not hold its role, or a test that needs bounds of what it tests.
    """
    _check_held(products, held)
    if not products.roles:
        return (), ()
    vertical = vertical_tests(products, decision)
    dimensions = dimension_tests(products, vertical.testable, tested, decision)
    turned = rotation_tests(products, vertical.testable, rotations, decision)
    directions = find_directions(products)
    known = ~np.isnan(contrasts(products))
    bias = describe(np.where(known, products.bias.astype(np.float64), np.nan)).mean
    found = np.array([test.found for test in dimensions]).reshape(len(products.roles), -1).sum(axis=1)
    origins = tuple(
        _origin(products, family, vertical, turned, directions, (float(bias[family]), int(found[family])))
        for family in range(len(products.roles))
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


def _origin(
    products: Products,
    family: int,
    vertical: VerticalTests,
    turned: RotationTests,
    directions: Directions,
    more: tuple[float, int],
) -> Origin:
    at = (0, family)
    return Origin(
        role=products.roles[family],
        layer=int(products.layers[family]),
        head=int(products.heads[family]),
        count=int(vertical.contrast.count[at]),
        contrast=float(vertical.contrast.mean[at]),
        low=float(vertical.contrast.low[at]),
        high=float(vertical.contrast.high[at]),
        bias=more[0],
        share=float(vertical.share[family]),
        share_low=float(vertical.low[family]),
        share_high=float(vertical.high[family]),
        p_vertical=float(vertical.more.p[at]),
        q_vertical=float(vertical.more.q[at]),
        p_query=float(vertical.less.p[at]),
        q_query=float(vertical.less.q[at]),
        verdict=vertical.verdict[family],
        found=more[1],
        participation=float(turned.participation[family]),
        rotated=float(turned.rotated[family]),
        p_few=float(turned.p[family]),
        q_few=float(turned.q[family]),
        few=turned.few[family],
        rank=int(directions.rank[family]),
        strongest=float(directions.strongest[family]),
        expected=float(directions.expected[family]),
    )
