"""Sieves of one example to a plan: chance, visible keys, eligible queries and weights, for all at once.

Offsets between tokens of one stack of layers only, which is where they mean something.

A joint example of cross attention has the decoder's tokens before the encoder's. A key there is as far
from its query as the decoder's text is long, which says nothing, so that a sieve of offsets does not apply.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.errors import BadSieve, HeadrolesError
from headroles.plans.masks import Band, Every, Same
from headroles.plans.plan import Plan
from headroles.records.example import Example
from headroles.sieves.base import Contrast, MaskSieve, Sieve
from headroles.sieves.masks import as_mask
from headroles.sieves.weights.contrast import profiles


def within_stacks(returned: object, example: Example) -> object:
    """What a mask function returned, its bands kept to keys of the query's own stack.

    Args:
        returned: Anything; only a ``Band``, by itself or among ``Every``, is changed.
        example: The input.

    Example:
        >>> import numpy as np
        >>> joint = Example("joint", ("a", "b", "c"), stack=np.array([0, 0, 1]))
        >>> within_stacks(Band(1, 1, 3), joint).rows(0, 3).astype(int).tolist()
        [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    """
    masks = returned.masks if isinstance(returned, Every) else (returned,)
    if not any(isinstance(mask, Band) for mask in masks) or not example.stack.any():
        return returned
    return Every((*masks, Same(example.stack)))


Array = np.ndarray


def plan(
    example: Example,
    sieves: Sequence[MaskSieve],
    visible: Bool[np.ndarray, "tokens tokens"] | None,
    *,
    statistic: str = "selectivity",
    dtype: type[np.floating] = np.float64,
    beside: Mapping[str, Contrast] = MappingProxyType({}),
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
        beside: Contrasts of sieves that are no masks, by their columns, which come last.

    Returns:
        The plan; a sieve without eligible queries has no row in it and its column is NaN.

    Raises:
        BadSieve: When a mask has the wrong shape or type.
        BadInput: When a sieve needs annotation the example lacks.
    """
    columns = columns_of(sieves) + tuple(beside)
    cells = np.full(len(columns), np.nan)
    low, high = cells.copy(), cells.copy()
    linear: list[int] = []
    weight = np.zeros((len(sieves), example.size, example.size), dtype=dtype)
    divisor = np.zeros_like(weight) if statistic == "bias" else None
    for each in sieves:
        counted, scope = _cells(each, example, visible)
        size = counted.sum(axis=1)
        room = np.full(example.size, example.size) if scope is None else scope.sum(axis=1)
        labels = None if each.groups is None else each.groups(example)
        query, groups = query_weights(labels, (size > 0) & (size < room) & ~example.special)
        if groups == 0:
            continue
        column, row = columns.index(each.name), len(linear)
        linear.append(column)
        cells[column] = groups if each.arcs else int((query > 0).sum())
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
    contrasts = {matched(each): each.contrast for each in sieves if each.contrast is not None}
    made = profiles(example, contrasts | dict(beside), columns, visible, dtype)
    for column, number, reach in made.bounds:
        cells[column], low[column], high[column] = number, -reach, reach
    pairs = example.size**2
    return Plan(
        columns=len(columns),
        linear=np.array(linear, dtype=np.int64),
        weight=weight[: len(linear)].reshape(-1, pairs),
        divisor=None if divisor is None else divisor[: len(linear)].reshape(-1, pairs),
        profiles=made.profiles,
        cells=cells,
        low=low,
        high=high,
    )


def columns_of(sieves: Sequence[MaskSieve]) -> tuple[str, ...]:
    """Names of the columns that sieves give: each one's own, then its contrast's.

    Example:
        >>> from headroles.sieves.built_in.block import block
        >>> columns_of([block])
        ('block', 'block:matched')
    """
    names: list[str] = []
    for each in sieves:
        names += [each.name] if each.contrast is None else [each.name, matched(each)]
    return tuple(names)


def matched(each: Sieve) -> str:
    """The column of a sieve's contrast."""
    return f"{each.name}:matched"


def _cells(
    each: MaskSieve, example: Example, visible: Array | None
) -> tuple[Bool[np.ndarray, "tokens tokens"], Bool[np.ndarray, "tokens tokens"] | None]:
    """S and R of every query: counted cells and the cells they are compared within (None: all)."""
    n = example.size
    scope = visible
    if each.scope is not None:
        own = as_mask(each.scope(example), n, each.name, example.key).rows(0, n)
        scope = own if visible is None else own & visible
    counted = as_mask(asked(each, example), n, each.name, example.key).rows(0, n)
    if scope is not None:
        counted = counted & scope
    return counted if each.specials else counted & ~example.special, scope


def asked(each: MaskSieve, example: Example) -> object:
    """What a sieve's mask function says; whatever goes wrong in it becomes one sentence about it."""
    try:
        return within_stacks(each.mask(example), example)
    except HeadrolesError:
        raise
    except Exception as error:  # a stranger's function may raise anything
        raise BadSieve(
            f"the mask of sieve {each.name!r} failed on example {example.key!r} "
            f"({type(error).__name__}: {error}); mend the sieve"
        ) from error


def query_weights(
    labels: Int[np.ndarray, " tokens"] | None, eligible: Bool[np.ndarray, " tokens"]
) -> tuple[Float[np.ndarray, " tokens"], int]:
    """Weights of the eligible queries, summing to 1, and the number of groups that share them.

    Args:
        labels: The group of each query, at least 0 for eligible ones; None: every query is its own.
        eligible: Which queries count.

    Example:
        >>> query_weights(np.array([0, 0, 1, -1]), np.array([True, True, True, False]))[0].tolist()
        [0.25, 0.25, 0.5, 0.0]
    """
    if not eligible.any():
        return np.zeros(len(eligible)), 0
    if labels is None:
        total = int(eligible.sum())
        return eligible / total, total
    size = np.bincount(labels[eligible], minlength=int(labels.max()) + 1)
    groups = int((size > 0).sum())
    share = 1 / (groups * np.maximum(size, 1))
    return np.where(eligible, share[labels], 0.0), groups
