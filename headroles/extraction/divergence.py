"""Jensen-Shannon divergence between all pairs of heads of one input."""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

CELLS = 4096
"""Cells of a map that are done together on a processor; sums of so few stay accurate in float32. Half as many
take a tenth less with one thread, and a fifth more with two, which wait for each other between calls."""
LATER = 24
"""Heads done together on a processor: three blocks of heads × cells (1.2 MB) nearly fit its second cache."""
DEVICE_CELLS = 2**14
"""Cells done together on a device."""
DEVICE_BLOCK = 2**26
"""Numbers in one block of heads × cells on a device (256 MB in float32)."""
SPARE = 0.05
"""Share of cells that are 0 in every head, from which on it pays to leave them out."""
TINY = 2.0**-101
"""Added to every half weight, so that 0 · log 0 is 0; of no weight beside any that is not."""


def pair_divergences(
    attention: Float[torch.Tensor, "heads tokens tokens"], *, smoothing: float = 0.0, threads: int = 1
) -> Float[np.ndarray, " pairs"]:
    """Jensen-Shannon divergence between the rows of every two heads, summed over query rows, in nats.

    JS(a, b) = H((a + b) / 2) − (H(a) + H(b)) / 2 with H the Shannon entropy of a row: 0 for equal rows,
    ln 2 for rows that share no key. All rows count, those of special tokens too. Cells that are 0 in all
    heads, as keys hidden by a causal mask are, say nothing and are left out.

    In float32 the error of a sum is some 1e-6 of it, more for heads that are nearly equal; in float64
    some 1e-13. Heads that are equal have exactly 0.

    Args:
        attention: Weights of one input, queries by keys; each row sums to 1. float32 or float64 says in
            what precision entropies are computed; sums over blocks of cells are always in float64.
        smoothing: Share ε of even attention mixed into every row before: ``(1 − ε) a + ε / tokens``.
        threads: On a processor: how many share the work.

    Returns:
        One float64 per pair in condensed order, (0, 1), (0, 2), …, (1, 2), …; from 0 to tokens × ln 2.
        NaN where weights are NaN.

    Source: Clark et al. (2019), section 6, whose released code sums with ε = 0.001; Lin (1991), equation
    4.1, for the divergence.

    Example:
        >>> one, other = torch.eye(4), torch.eye(4).flip(0)
        >>> pair_divergences(torch.stack([one, other, one])).round(3).tolist()  # 4 ln 2 = 2.773
        [2.773, 0.0, 2.773]
    """
    heads, tokens = attention.shape[:2]
    halves = _halves(attention.reshape(heads, tokens * tokens), smoothing, tokens)
    sums = _sums(halves.numpy(), threads) if halves.device.type == "cpu" else device_sums(halves)
    alone = sums.diagonal()
    rows, columns = np.triu_indices(heads, 1)
    divergences: np.ndarray = np.maximum((alone[rows] + alone[columns]) / 2 - sums[rows, columns], 0.0)
    return divergences


def _halves(cells: torch.Tensor, smoothing: float, tokens: int) -> torch.Tensor:
    """Half of every weight (heads, cells), so that halves of two heads add up to their mean."""
    empty = cells.amax(dim=0) == 0
    if float(empty.float().mean()) > SPARE:
        cells = cells[:, ~empty]
    halves = cells * (0.5 * (1 - smoothing))
    return halves.add_(0.5 * smoothing / tokens + TINY)


def _sums(halves: Float[np.ndarray, "heads cells"], threads: int) -> Float[np.ndarray, "heads heads"]:
    """Σ m log m over cells, m the mean of two heads' weights; the upper triangle, diagonal included."""
    starts = range(0, halves.shape[1], CELLS)
    if threads == 1 or len(starts) == 1:
        return _sums_at(halves, starts)
    shares = [starts[first::threads] for first in range(threads)]
    with ThreadPoolExecutor(threads, thread_name_prefix="divergence") as pool:
        sums: np.ndarray = sum(pool.map(lambda share: _sums_at(halves, share), shares), start=np.zeros(()))
    return sums


def _sums_at(halves: np.ndarray, starts: range) -> np.ndarray:
    """The sums over the blocks of cells that begin at ``starts``.

    A block of later heads stays in the cache while every head up to them passes by. The logarithm is
    numpy's, which is several times as fast as torch's on processors with wide registers.
    """
    heads, cells = halves.shape
    log, unit = logarithm(halves.dtype)
    sums = np.zeros((heads, heads))
    room = np.empty((2, LATER * CELLS), dtype=halves.dtype)
    for start in starts:
        part = np.ascontiguousarray(halves[:, start : min(start + CELLS, cells)])
        for low in range(0, heads, LATER):
            later = part[low : low + LATER]
            high = low + len(later)
            means, logs = (each[: later.size].reshape(later.shape) for each in room)
            found = np.zeros((high, len(later)), dtype=halves.dtype)
            for head in range(high):
                own = max(0, head - low)  # pairs with itself and those after it
                mean, logged = (means, logs) if own == 0 else (means[own:], logs[own:])
                np.add(later[own:], part[head], out=mean)
                log(mean, out=logged)
                np.vecdot(mean, logged, out=found[head, own:])
            sums[:high, low:high] += found
    return sums * unit


def logarithm(kind: np.dtype[Any]) -> tuple[np.ufunc, float]:
    """Numpy's quickest logarithm of a precision on this processor, and what makes its values nats.

    That of base 2 where numpy has one for wide registers, as it does for AVX-512; else the natural one,
    which has more such versions.
    """
    told = getattr(np.lib, "introspect", None)  # not in the first numpy 2
    if told is None:
        return np.log, 1.0
    versions = told.opt_func_info(func_name="^log2$", signature=kind.name).get("log2", {})
    wide = any(not each["current"].startswith("baseline") for each in versions.values())
    return (np.log2, math.log(2)) if wide else (np.log, 1.0)


def device_sums(halves: Float[torch.Tensor, "heads cells"]) -> Float[np.ndarray, "heads heads"]:
    """Σ m log m as on a processor, in larger blocks and by torch, for accelerators.

    Args:
        halves: Half of every weight, none of them 0.

    Returns:
        The upper triangle of all pairs of heads, diagonal included; 0 below it.
    """
    heads, cells = halves.shape
    wide = torch.float32 if halves.device.type == "mps" else torch.float64
    sums = torch.zeros((heads, heads), dtype=wide, device=halves.device)
    later = max(1, DEVICE_BLOCK // DEVICE_CELLS)
    for start in range(0, cells, DEVICE_CELLS):
        part = halves[:, start : start + DEVICE_CELLS]
        for head in range(heads):
            for first in range(head, heads, later):
                means = part[first : first + later] + part[head]
                sums[head, first : first + later] += torch.xlogy(means, means).sum(dim=1, dtype=wide)
    found: np.ndarray = sums.cpu().double().numpy()
    return found
