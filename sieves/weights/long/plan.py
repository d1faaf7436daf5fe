"""Sieves of one long example to a plan without an array of size tokens × tokens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from headroles.plans.masks import Keys, Mask
from headroles.plans.plan import LongPlan, Part
from headroles.records.example import Example
from headroles.sieves.base import Contrast, MaskSieve
from headroles.sieves.masks import as_mask
from headroles.sieves.weights.long.cells import Resolved, Sums, resolved, sizes
from headroles.sieves.weights.long.contrast import long_profiles
from headroles.sieves.weights.plan import asked, columns_of, matched, query_weights


@dataclass(frozen=True, slots=True, eq=False)
class LaidPart:
    """One mask sieve laid over one example, its cells resolved, and what is known of its scores."""

    part: Part
    inside: Resolved
    scope: Resolved
    cells: int
    low: float
    high: float


def long_plan(
    example: Example,
    sieves: Sequence[MaskSieve],
    visible: Mask | None,
    *,
    statistic: str = "selectivity",
    beside: Mapping[str, Contrast] = MappingProxyType({}),
) -> LongPlan:
    """Lay sieves over one long example; the same numbers as ``headroles.sieves.weights.plan``, put otherwise.

    Memory grows with the number of tokens, and with the number of cells of masks that have few of
    them (at most 64 a query, or a 64th of all pairs); masks that have more and are not made of sets of
    keys are asked for their rows again in every layer.

    Args:
        example: The input.
        sieves: Mask sieves; each gives one column, and one more right after it for its contrast.
        visible: The keys each query can see; None when every key is visible.
        statistic: "selectivity" or "bias".
        beside: Contrasts of sieves that are no masks, by their columns, which come last.

    Raises:
        BadSieve: When a mask has the wrong shape or type.
        BadInput: When a sieve needs annotation the example lacks.
    """
    columns = columns_of(sieves) + tuple(beside)
    cells = np.full(len(columns), np.nan)
    low, high = cells.copy(), cells.copy()
    laid = [part for each in sieves if (part := lay(each, example, visible, columns, statistic)) is not None]
    for each in laid:
        column = each.part.column
        cells[column], low[column], high[column] = each.cells, each.low, each.high
    sums = _summed(laid, example.size, statistic == "bias")
    contrasts = {matched(each): each.contrast for each in sieves if each.contrast is not None}
    profiles, bounds = long_profiles(example, contrasts | dict(beside), columns, visible, sums)
    for column, count, reach in bounds:
        cells[column], low[column], high[column] = count, -reach, reach
    return LongPlan(
        columns=len(columns),
        linear=np.array([each.part.column for each in laid], dtype=np.int64),
        bias=statistic == "bias",
        parts=tuple(each.part for each in laid),
        keys=sums.keys(),
        weight=sums.weight(),
        listed=sums.listed(),
        rowwise=sums.rowwise(),
        profiles=profiles,
        cells=cells,
        low=low,
        high=high,
    )


def _summed(laid: Sequence[LaidPart], size: int, bias: bool) -> Sums:
    """The linear sums of mask sieves: one each, or two each for the bias, the second ones last."""
    sums = Sums(size, len(laid) * (2 if bias else 1))
    for number, each in enumerate(laid):
        query, chance = each.part.query, each.part.chance
        if bias:
            sums.add(each.inside, number, query)
            sums.add(each.scope, len(laid) + number, query * chance)
        else:
            scaled = query / (1 - each.part.expected)
            sums.add(each.inside, number, scaled)
            sums.add(each.scope, number, -scaled * chance)
    return sums


def lay(
    each: MaskSieve, example: Example, visible: Mask | None, columns: Sequence[str], statistic: str
) -> LaidPart | None:
    """One sieve laid over an example; None when no query of it is eligible."""
    n = example.size
    counted = as_mask(asked(each, example), n, each.name, example.key)
    scope = None if each.scope is None else as_mask(each.scope(example), n, each.name, example.key)
    everything = Keys(np.ones(n, dtype=np.bool_))
    members = [counted, *([] if scope is None else [scope])]
    if not each.specials:
        members.append(Keys(~example.special))
    inside = resolved(members, visible, n)
    within = resolved([everything if scope is None else scope], visible, n)
    size, room = sizes(inside, visible, n), sizes(within, visible, n)
    labels = None if each.groups is None else each.groups(example)
    query, groups = query_weights(labels, (size > 0) & (size < room) & ~example.special)
    if groups == 0:
        return None
    chance = size / np.maximum(room, 1)
    expected = float(query @ chance)
    part = Part(columns.index(each.name), counted, scope, each.specials, query, chance, expected)
    count = groups if each.arcs else int((query > 0).sum())
    if statistic == "bias":
        return LaidPart(part, inside, within, count, 0.0, float((1 / chance[query > 0]).max()))
    return LaidPart(part, inside, within, count, -expected / (1 - expected), 1.0)
