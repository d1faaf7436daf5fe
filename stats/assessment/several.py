"""Heads with several roles: the number of roles a head by layer, and whether the middle layers have most."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.records.assessment import MIDDLE, SEVERAL
from headroles.records.layers import Stack
from headroles.records.roles import without_wholes
from headroles.records.rules.rule import Decision
from headroles.records.table import Table
from headroles.stats.columns import Columns
from headroles.stats.decision import BETTING
from headroles.stats.draws import bootstrap_counts
from headroles.stats.relabel import Grid, closed_form_decision, gather_draws, label_draws

FRESH = 300
"""Fresh samples that are drawn."""
CHOICES = 9999
"""Choices of layers that a difference is compared with, where there are more in all."""
FEWEST_LAYERS = 3
"""Layers below which there is no middle third."""


def relabels(decision: Decision) -> bool:
    """Return whether fresh samples are labelled about as strictly as the run itself.

    ``betting`` needs about twice the units of the test that stands in for it, so its run holds fewer roles
    than such samples would.
    """
    return decision.test != BETTING


def fresh_roles(
    columns: Columns, grid: Grid, decision: Decision, seed: int | None = None
) -> Bool[np.ndarray, "roles draws heads"]:
    """Return the roles that fresh samples of as many units would give.

    A fresh sample is a resample with replacement of a resample of the units. The mean of such a sample
    differs from the observed mean with twice the variance of a mean, as that of a real fresh sample does:
    this sample and the fresh one each have an error. Its spread, and so its test, is that of one sample.
    Heads are resampled together, so their dependence is kept. Unit: that of the test. Assumptions:
    independent units, and a fresh sample from the same source. Tests in closed form replace those that
    resample, as in ``relabel.closed_form_decision``. Labels that hinge on few units are withheld.

    Args:
        columns: The run's columns, contrasts included.
        grid: Layers and heads.
        decision: How the run was judged.
        seed: Of the draws; None for that of the decision.
    """
    units = len(columns[0].values)
    counts = bootstrap_counts(units, FRESH, decision.seed if seed is None else seed)
    again = np.random.default_rng([decision.seed if seed is None else seed, 1])
    blocks = gather_draws(_drawn_again(counts, units, again), grid.layers * grid.heads)
    plain = closed_form_decision(decision)
    labels = [label_draws(columns, weights, grid, plain) for weights in blocks]
    return np.concatenate(labels, axis=1)


def _drawn_again(
    counts: Iterator[np.ndarray], units: int, rng: np.random.Generator
) -> Iterator[Float[np.ndarray, "block units"]]:
    """Yield resamples of resamples, as counts of the units."""
    for block in counts:
        yield rng.multinomial(units, block / units).astype(np.float64)


def several_roles(
    names: Sequence[str],
    observed: Bool[np.ndarray, "roles heads"],
    fresh: Bool[np.ndarray, "roles draws heads"],
    grid: Grid,
    seed: int,
    stack: Stack,
) -> Table:
    """Return roles a head and heads with two or more roles, by layer, and their surplus in the middle layers.

    The claim of the 2021 paper is that heads with several roles sit mostly in the middle layers. Statistic:
    share of heads with two or more roles in the middle third of layers, less that in the other layers. Null:
    in a fresh sample of inputs it is at most 0. Alternative: it is above 0. Unit: that of the test of roles;
    heads and layers are not a sample, so the only chance is that of the inputs. p is (1 + samples of
    ``fresh`` with at most 0) / (1 + samples). The reference, which tests nothing, is the share of all choices
    of as many layers with a difference at least as large: with six layers it is at least 1/15.

    A role with parts counts only where the head holds none of them, so ``delimiter`` and ``delimiter:cls``
    are one role of a head. Intervals are those of ``range_around``.

    Args:
        names: The roles.
        observed: Which head holds which role, layer after layer.
        fresh: The same in fresh samples (``fresh_roles``).
        grid: Layers and heads.
        seed: Of the choices of layers, where there are more than 9,999.
        stack: The layers by their positions; thirds are those of the whole stack.

    Returns:
        A row for all layers, one per layer, and ``MIDDLE`` where there are at least three layers, some of
        them in the middle third and some not; nothing without a role.
    """
    if not len(names):
        return SEVERAL
    held = role_counts(names, observed[:, None])[0].reshape(grid.layers, grid.heads)
    drawn = role_counts(names, fresh).reshape(-1, grid.layers, grid.heads)
    most = float(len(names))
    rows = [_row("all", held, drawn, most)]
    rows += [
        _row(f"layer {number}", held[layer], drawn[:, layer], most)
        for layer, number in enumerate(stack.numbers)
    ]
    middle = stack.thirds() == 1
    if grid.layers >= FEWEST_LAYERS and 0 < middle.sum() < grid.layers:
        rows.append(_middle_row(held, drawn, middle, seed))
    return SEVERAL.rows(rows)


def role_counts(
    names: Sequence[str], held: Bool[np.ndarray, "roles draws heads"]
) -> Int[np.ndarray, "draws heads"]:
    """Return how many roles every head holds in every draw, wholes left out where a part holds.

    Example:
        >>> held = np.array([[[True, True]], [[True, False]]])
        >>> role_counts(["delimiter", "delimiter:cls"], held).tolist()
        [[1, 1]]
    """
    counts: np.ndarray = without_wholes(names, held).sum(axis=0)
    return counts


def _row(scope: str, held: np.ndarray, drawn: np.ndarray, most: float) -> dict[str, Any]:
    """Return the numbers of some heads, from their roles, those of each draw, and all roles there are."""
    many = drawn.reshape(len(drawn), -1)
    mean, share = float(held.mean()), float((held >= 2).mean())
    ends = range_around(mean, many.mean(axis=1), 0.0, most)
    share_ends = range_around(share, (many >= 2).mean(axis=1), 0.0, 1.0)
    return {"scope": scope, "heads": held.size, "p": np.nan, "reference": np.nan} | _means(
        (mean, *ends), (share, *share_ends)
    )


def _middle_row(held: np.ndarray, drawn: np.ndarray, middle: np.ndarray, seed: int) -> dict[str, Any]:
    """Return the surplus of the middle third of layers over the others."""
    mean, means = (_surplus(counts.mean(axis=-1), middle) for counts in (held, drawn))
    share, shares = (_surplus((counts >= 2).mean(axis=-1), middle) for counts in (held, drawn))
    p = (1 + int((shares <= 0).sum())) / (1 + len(shares))
    reference = _reference((held >= 2).mean(axis=1), middle, seed)
    heads = int(middle.sum()) * held.shape[1]
    return {"scope": MIDDLE, "heads": heads, "p": p, "reference": reference} | _means(
        (float(mean), *range_around(float(mean), means)),
        (float(share), *range_around(float(share), shares, -1.0, 1.0)),
    )


def _means(mean: tuple[float, float, float], several: tuple[float, float, float]) -> dict[str, float]:
    """Return the columns of a mean number of roles and of a share of heads, each with its interval."""
    names = (name + end for name in ("mean", "several") for end in ("", "_low", "_high"))
    return dict(zip(names, (*mean, *several), strict=True))


def _surplus(
    layers: Float[np.ndarray, "*draws layers"], chosen: Bool[np.ndarray, " layers"]
) -> Float[np.ndarray, "*draws"]:
    """Return the mean of the chosen layers less that of the others; layers have equally many heads."""
    surplus: np.ndarray = np.asarray(layers[..., chosen].mean(axis=-1) - layers[..., ~chosen].mean(axis=-1))
    return surplus


def _reference(shares: Float[np.ndarray, " layers"], middle: Bool[np.ndarray, " layers"], seed: int) -> float:
    """Return the share of choices of as many layers whose surplus is at least that of the middle."""
    size, count = len(shares), int(middle.sum())
    if comb(size, count) <= CHOICES:
        chosen = np.array(list(combinations(range(size), count)))
    else:
        rng = np.random.default_rng(seed)
        order = rng.permuted(np.tile(np.arange(size), (CHOICES, 1)), axis=1)[:, :count]
        chosen = np.vstack([np.flatnonzero(middle), order])
    sums = shares[chosen].sum(axis=1)
    return float((sums >= shares[middle].sum() - 1e-12).mean())


def range_around(
    value: float, draws: Float[np.ndarray, " draws"], least: float = -np.inf, most: float = np.inf
) -> tuple[float, float]:
    """Return where a number of a fresh sample lies in 95 % of cases, from those of resampled samples.

    It reaches as far from the number as 95 % of the distances between two draws. It lies around this number
    and not around the draws. These have more error than a sample: heads near their thresholds change more
    often in them, so they hold more roles, and agree less.

    Args:
        value: The number in the run.
        draws: The same in fresh samples (``fresh_roles``); NaN where it is not defined.
        least: Smallest possible number.
        most: Largest.

    Returns:
        Two ends; NaN unless at least half of the draws are numbers.

    Example:
        >>> range_around(2.0, np.arange(101.0), 0.0)
        (0.0, 80.0)
    """
    known = draws[~np.isnan(draws)]
    if not known.size or known.size < len(draws) / 2:
        return float("nan"), float("nan")
    half = float(np.quantile(np.abs(known[:, None] - known), 0.95, method="higher"))
    return max(value - half, least), min(value + half, most)
