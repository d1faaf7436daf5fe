"""Does a role need the directions that carry it? Removals from queries, and tests of scores after them."""

import numpy as np

from headroles.records.causal.ablation import FEWEST_UNITS
from headroles.records.causal.origins import (
    DIMENSIONS,
    FALLS,
    HOLDS,
    KNOCKOUTS,
    SUBSPACE,
    UNDETERMINED,
    UNTESTABLE,
    Knocked,
    Products,
    Removal,
)
from headroles.records.rules.rule import Decision
from headroles.records.table import Table
from headroles.stats.moments import describe
from headroles.stats.why.dimensions import group_numbers
from headroles.stats.why.guarded import judge_guarded, judge_means
from headroles.stats.why.subspace import query_directions


def removals_of(products: Products, origins: Table, dimensions: Table) -> tuple[Removal, ...]:
    """Return the removals from queries: dimensions that were found, and directions beyond distance.

    Args:
        products: As they were judged.
        origins: One row per family.
        dimensions: Their tests. Of a frequency pair both dimensions are removed.

    Returns:
        At most two per family, its dimensions first; no subspace below 20 units.
    """
    size = len(products.group)
    numbers, unit = group_numbers(products.group), np.eye(size)
    places = _places(products)
    found: dict[int, list[int]] = {}
    for test in dimensions:
        if test.found:
            found.setdefault(places[test.role, test.layer, test.head], []).append(test.dimension)
    removals = list[Removal]()
    for family, origin in enumerate(origins):
        if family in found:
            removals.append(Removal(family, DIMENSIONS, unit[:, np.isin(numbers, found[family])]))
        if origin.rank > 0 and origin.count >= FEWEST_UNITS:
            basis = query_directions(products.outer[family], origin.rank)
            removals.append(Removal(family, SUBSPACE, basis))
    return tuple(removals)


def _places(products: Products) -> dict[tuple[str, int, int], int]:
    """Return the place of every family by its role, layer and head."""
    heads = zip(products.roles, products.layers.tolist(), products.heads.tolist(), strict=True)
    return {(role, layer, head): place for place, (role, layer, head) in enumerate(heads)}


def knockout_tests(products: Products, knocked: Knocked, decision: Decision) -> Table:
    """Test for every removal whether the scores of its head lie below their thresholds, or still above.

    - **falls**. Null: the mean score after the removal is at least θ. Alternative: it is below.
    - **holds**. Null: it is at most θ. Alternative: it is above.

    Unit: ``knocked.units``, which must neither have decided the role nor chosen the removal. Units count
    with a score before and after. Assumptions: those of the decision's test, and a fixed θ. Both must hold
    with three further units as bad as the worst (``guarded``). Family of either direction: all rows of the
    same removal ("dimensions" or "subspace") that score the role itself, or all that score other roles,
    whatever the family of the decision. Below 20 units nothing is decided, but p enters the correction.
    Scores without spread after a removal are untestable, as their bounds are not known here.

    Args:
        products: For roles, layers and heads of families.
        knocked: Scores before and after.
        decision: Test, correction, alpha, resamples, seed and interval.

    Returns:
        One row per row of ``knocked``.
    """
    rows = len(knocked.by)
    if not rows:
        return KNOCKOUTS
    before, after = (values.astype(np.float64) for values in (knocked.before, knocked.after))
    known = ~(np.isnan(before) | np.isnan(after))
    start = describe(np.where(known, before, np.nan).T).mean
    beyond = np.where(known, after, np.nan) - knocked.threshold[:, None]
    keys = [
        (by, products.roles[family] == scored)
        for by, family, scored in zip(knocked.by, knocked.family.tolist(), knocked.scored, strict=True)
    ]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    families = np.array([numbers[key] for key in keys])
    shown = judge_means(knocked.units, beyond.T, families, decision)
    falls, holds = (judge_guarded(knocked.units, side * beyond.T, families, decision) for side in (-1, 1))
    return KNOCKOUTS.of(
        by=knocked.by,
        role=[products.roles[family] for family in knocked.family],
        layer=products.layers[knocked.family],
        head=products.heads[knocked.family],
        removed=knocked.size,
        scored=knocked.scored,
        count=shown.count[0],
        threshold=knocked.threshold,
        before=start,
        after=shown.mean[0] + knocked.threshold,
        low=shown.low[0] + knocked.threshold,
        high=shown.high[0] + knocked.threshold,
        p_falls=falls.p[0],
        q_falls=falls.q[0],
        p_holds=holds.p[0],
        q_holds=holds.q[0],
        verdict=list(
            map(_verdict, shown.count[0].tolist(), falls.decision[0].tolist(), holds.decision[0].tolist())
        ),
    )


def _verdict(units: int, falls: int, holds: int) -> str:
    if units < FEWEST_UNITS or holds == 3:
        return UNTESTABLE
    if falls == 0:
        return FALLS
    return HOLDS if holds == 0 else UNDETERMINED
