"""The plan of one long example, without an array of size tokens × tokens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from headroles.plans.masks import Keys, Mask
from headroles.plans.plan import LongPlan, MaskWeights
from headroles.records.example import Example
from headroles.sieves.base import Contrast, MaskSieve, Swap
from headroles.sieves.weights.calls import SieveCalls
from headroles.sieves.weights.long.cells import MaskForm, Sums, count_visible, find_form
from headroles.sieves.weights.long.contrast import long_profiles
from headroles.sieves.weights.plan import column_names, contrast_column, query_weights


@dataclass(frozen=True, slots=True, eq=False)
class LaidSieve:
    """One mask sieve laid over one example: its cells in their cheapest form, their number, its bounds."""

    part: MaskWeights
    inside: MaskForm
    scope: MaskForm
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
    swaps: Mapping[str, Swap] = MappingProxyType({}),
) -> LongPlan:
    """Lay sieves over one long example; the numbers are those of ``headroles.sieves.weights.plan``.

    Memory grows with the number of tokens, and with the number of cells of masks that have few of
    them (at most 64 a query, or a 64th of all pairs); the rows of masks that have more and are
    not made of sets of keys are read again in every layer.

    Args:
        example: The input.
        sieves: Mask sieves; each gives one column, and one more right after it for its contrast.
        visible: The keys each query can see; None when every key is visible.
        statistic: "selectivity" or "bias".
        beside: Contrasts of scorers, by their columns, which come after those of mask sieves.
        swaps: Contrasts beyond position, by their columns, which come last.

    Raises:
        BadSieve: When a mask has the wrong shape or type.
        BadInput: When a sieve needs annotation the example lacks.
    """
    columns = column_names(sieves) + tuple(beside) + tuple(swaps)
    cells = np.full(len(columns), np.nan)
    low, high = cells.copy(), cells.copy()
    calls = SieveCalls(example)
    laid = [
        own
        for mask in sieves
        if (own := lay_sieve(mask, calls, visible, columns.index(mask.name), statistic)) is not None
    ]
    for own in laid:
        column = own.part.column
        cells[column], low[column], high[column] = own.cells, own.low, own.high
    sums = _mask_sums(laid, example.size, statistic == "bias")
    exchanged = _lay_swaps(swaps, calls, visible, columns)
    for own, other in exchanged:
        column, place = own.part.column, sums.count
        _add_selectivity(sums, own, place)
        _add_selectivity(sums, other, place, -1.0)
        cells[column], low[column], high[column] = own.cells, own.low - other.high, own.high - other.low
    contrasts = {contrast_column(mask): mask.contrast for mask in sieves if mask.contrast is not None}
    profiles, bounds = long_profiles(calls, contrasts | dict(beside), columns, visible, sums)
    for column, count, reach in bounds:
        cells[column], low[column], high[column] = count, -reach, reach
    return LongPlan(
        columns=len(columns),
        linear=np.array([own.part.column for own in laid], dtype=np.int64),
        bias=statistic == "bias",
        swaps=tuple(own.part.column for own, _ in exchanged),
        parts=tuple(own.part for own in laid),
        keys=sums.keys(),
        weight=sums.weight(),
        listed=sums.listed(),
        weighed=tuple(sums.weighed),
        rowwise=sums.rowwise(),
        profiles=profiles,
        cells=cells,
        low=low,
        high=high,
    )


def _mask_sums(laid: Sequence[LaidSieve], size: int, bias: bool) -> Sums:
    """Return the linear sums of mask sieves: one for each, or two for the bias, all second ones last."""
    sums = Sums(size, len(laid) * (2 if bias else 1))
    for number, own in enumerate(laid):
        query, chance = own.part.query, own.part.chance
        if bias:
            sums.add(own.inside, number, query)
            sums.add(own.scope, len(laid) + number, query * chance)
        else:
            _add_selectivity(sums, own, number)
    return sums


def _add_selectivity(sums: Sums, own: LaidSieve, output: int, sign: float = 1.0) -> None:
    """Add the selectivity of a sieve, times ``sign``, to a sum."""
    scaled = sign * own.part.query / (1 - own.part.expected)
    sums.add(own.inside, output, scaled)
    sums.add(own.scope, output, -scaled * own.part.chance)


def _lay_swaps(
    swaps: Mapping[str, Swap], calls: SieveCalls, visible: Mask | None, columns: Sequence[str]
) -> list[tuple[LaidSieve, LaidSieve]]:
    """Lay the two sieves of each swap that applies; none where the example has no partner."""
    exchanged = []
    for name, swap in swaps.items() if calls.example.partner is not None else ():
        column = columns.index(name)
        own, other = (
            lay_sieve(side, calls, visible, column, "selectivity") for side in (swap.own, swap.partner)
        )
        if own is not None and other is not None:
            exchanged.append((own, other))
    return exchanged


def lay_sieve(
    mask: MaskSieve, calls: SieveCalls, visible: Mask | None, column: int, statistic: str
) -> LaidSieve | None:
    """Lay one sieve over an example; return None when none of its queries is eligible."""
    example, n = calls.example, calls.example.size
    counted, scope = calls.mask(mask), calls.scope(mask)
    everything = Keys(np.ones(n, dtype=np.bool_))
    members = [counted, *([] if scope is None else [scope])]
    if not mask.specials:
        members.append(Keys(~example.special))
    inside = find_form(members, visible, n)
    within = find_form([everything if scope is None else scope], visible, n)
    size, room = count_visible(inside, visible, n), count_visible(within, visible, n)
    query, groups = query_weights(calls.labels(mask), (size > 0) & (size < room) & ~example.special)
    if groups == 0:
        return None
    chance = size / np.maximum(room, 1)
    expected = float(query @ chance)
    part = MaskWeights(column, counted, scope, mask.specials, query, chance, expected)
    count = groups if mask.arcs else int((query > 0).sum())
    if statistic == "bias":
        return LaidSieve(part, inside, within, count, 0.0, float((1 / chance[query > 0]).max()))
    return LaidSieve(part, inside, within, count, -expected / (1 - expected), 1.0)
