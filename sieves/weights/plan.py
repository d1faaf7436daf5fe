"""The plan of one example: chance, visible keys, eligible queries and weights of all sieves."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.plans.plan import Plan
from headroles.records.example import Example
from headroles.records.roles import CLASS, KEY, MATCHED, SWAP, VALUES
from headroles.sieves.base import Contrast, MaskSieve, Sieve, Swap
from headroles.sieves.weights.calls import SieveCalls
from headroles.sieves.weights.contrast import profiles


def plan(
    example: Example,
    sieves: Sequence[MaskSieve],
    visible: Bool[np.ndarray, "tokens tokens"] | None,
    *,
    statistic: str = "selectivity",
    dtype: type[np.floating] = np.float64,
    beside: Mapping[str, Contrast] = MappingProxyType({}),
    swaps: Mapping[str, Swap] = MappingProxyType({}),
) -> Plan:
    """Lay sieves over one example.

    For query i: V_i the keys it can see, R_i the keys compared within, S_i ⊆ R_i the sieve's keys,
    c_i = |S_i| / |R_i| chance; Q the queries whose S_i is neither empty nor all of R_i; q_i query
    weights summing to 1. Selectivity is ``Σ q_i (s_i − c_i m_i) / (1 − Σ q_i c_i)`` with s_i, m_i
    the attention on S_i, R_i (chance-corrected as agreement coefficients with fixed chance, Bennett,
    Alpert & Goldstein 1954); 0 for attention that is even over R, at most 1. The bias is
    ``Σ q_i s_i / Σ q_i c_i m_i``, 1 for even attention (Pande et al. 2021). Special tokens are in
    no S_i, unless the sieve says so, and in no Q.

    Args:
        example: The input.
        sieves: Mask sieves; each gives one column, and one more right after it for its contrast.
        visible: Whether query i can see key j; None when every key is visible.
        statistic: "selectivity" or "bias".
        dtype: Precision of the weights.
        beside: Contrasts of scorers, by their columns, which come after those of mask sieves.
        swaps: Contrasts beyond position, by their columns, which come last.

    Returns:
        The plan; a sieve without eligible queries has no row in it and its column is NaN.

    Raises:
        BadSieve: When a mask has the wrong shape or type.
        BadInput: When a sieve needs annotation the example lacks.
    """
    columns = column_names(sieves) + tuple(beside) + tuple(swaps)
    calls = SieveCalls(example)
    cells = np.full(len(columns), np.nan)
    low, high = cells.copy(), cells.copy()
    linear: list[int] = []
    weight = np.zeros((len(sieves), example.size, example.size), dtype=dtype)
    divisor = np.zeros_like(weight) if statistic == "bias" else None
    for mask in sieves:
        counted, scope = cells_of(mask, calls, visible)
        size = counted.sum(axis=1)
        room = np.full(example.size, example.size) if scope is None else scope.sum(axis=1)
        query, groups = query_weights(calls.labels(mask), (size > 0) & (size < room) & ~example.special)
        if groups == 0:
            continue
        column, row = columns.index(mask.name), len(linear)
        linear.append(column)
        cells[column] = groups if mask.arcs else int((query > 0).sum())
        chance = size / np.maximum(room, 1)
        within = np.ones((1, 1), dtype=np.bool_) if scope is None else scope
        if divisor is not None:
            np.multiply(counted, query[:, None].astype(dtype), out=weight[row])
            np.multiply(within, (query * chance)[:, None].astype(dtype), out=divisor[row])
            low[column], high[column] = 0.0, float((1 / chance[query > 0]).max())
            continue
        expected = float(query @ chance)
        scaled = query / (1 - expected)
        np.multiply(counted, scaled[:, None].astype(dtype), out=weight[row])
        weight[row] -= within * (scaled * chance)[:, None].astype(dtype)
        low[column], high[column] = -expected / (1 - expected), 1.0
    contrasts = {contrast_column(mask): mask.contrast for mask in sieves if mask.contrast is not None}
    laid = profiles(calls, contrasts | dict(beside), columns, visible, dtype)
    for column, number, reach in laid.bounds:
        cells[column], low[column], high[column] = number, -reach, reach
    pairs, both = example.size**2, example.partner is not None
    exchanged: dict[int, np.ndarray] = {}
    for name, swap in swaps.items() if both else ():
        laid_twice = plan(example, [swap.own, swap.partner], visible, dtype=dtype)
        if len(laid_twice.linear) == 2:
            column = columns.index(name)
            exchanged[column] = laid_twice.weight[0] - laid_twice.weight[1]
            cells[column] = laid_twice.cells[0]
            low[column] = laid_twice.low[0] - laid_twice.high[1]
            high[column] = laid_twice.high[0] - laid_twice.low[1]
    return Plan(
        columns=len(columns),
        linear=np.array(linear, dtype=np.int64),
        weight=weight[: len(linear)].reshape(-1, pairs),
        divisor=None if divisor is None else divisor[: len(linear)].reshape(-1, pairs),
        profiles=laid.profiles,
        cells=cells,
        low=low,
        high=high,
        swaps=tuple(exchanged),
        exchanged=np.array([*exchanged.values()], dtype=dtype).reshape(-1, pairs),
    )


def column_names(sieves: Sequence[MaskSieve]) -> tuple[str, ...]:
    """Return the names of the columns of sieves: each sieve, followed by its contrasts.

    Example:
        >>> from headroles.sieves.built_in.block import block
        >>> column_names([block])
        ('block', 'block:matched')
    """
    names: list[str] = []
    for mask in sieves:
        names.append(mask.name)
        names += [contrast_column(mask)] if mask.contrast is not None else []
        names += [class_column(mask)] if mask.word_class is not None else []
        names += [values_column(mask)] if mask.values_below is not None else []
    return tuple(names)


def class_column(sieve: MaskSieve) -> str:
    """Return the name of the column of a sieve's contrast against word class."""
    return f"{sieve.name}{CLASS}"


def values_column(sieve: MaskSieve) -> str:
    """Return the name of the column of minus the selectivity of a sieve by norm-weighted attention."""
    return f"{sieve.name}{VALUES}"


def contrast_column(sieve: Sieve) -> str:
    """Return the name of the column of a sieve's contrast beyond distance, and beyond the key where it is."""
    contrast = getattr(sieve, "contrast", None)
    return f"{sieve.name}{MATCHED if contrast is None or contrast.others is None else KEY}"


def swap_column(sieve: Sieve) -> str:
    """Return the name of the column of a sieve's contrast beyond position."""
    return f"{sieve.name}{SWAP}"


def cells_of(
    mask: MaskSieve, calls: SieveCalls, visible: np.ndarray | None
) -> tuple[Bool[np.ndarray, "tokens tokens"], Bool[np.ndarray, "tokens tokens"] | None]:
    """Return S and R of every query: counted cells, and the cells they are compared within (None: all)."""
    n, special = calls.example.size, calls.example.special
    within = calls.scope(mask)
    own = None if within is None else within.rows(0, n)
    scope = visible if own is None else own if visible is None else own & visible
    counted = calls.mask(mask).rows(0, n)
    if scope is not None:
        counted = counted & scope
    return counted if mask.specials else counted & ~special, scope


def query_weights(
    labels: Int[np.ndarray, " tokens"] | None, eligible: Bool[np.ndarray, " tokens"]
) -> tuple[Float[np.ndarray, " tokens"], int]:
    """Return the weights of the eligible queries, which sum to 1, and the number of groups.

    Args:
        labels: The group of each query, −1 for queries that ask nothing; None: each query is its own group.
        eligible: Which queries count.

    Example:
        >>> query_weights(np.array([0, 0, 1, -1]), np.array([True, True, True, False]))[0].tolist()
        [0.25, 0.25, 0.5, 0.0]
    """
    if labels is not None:
        eligible = eligible & (labels >= 0)
    if not eligible.any():
        return np.zeros(len(eligible)), 0
    if labels is None:
        total = int(eligible.sum())
        return eligible / total, total
    size = np.bincount(labels[eligible], minlength=int(labels.max()) + 1)
    groups = int((size > 0).sum())
    share = 1 / (groups * np.maximum(size, 1))
    return np.where(eligible, share[labels], 0.0), groups
