"""Labels gained and lost between two runs, compared with swaps of the runs within each unit.

Null: the two runs are exchangeable within every unit, that is, it makes no difference which of a unit's two
sets of scores (all sieves and heads at once) is called A. Statistic: labels gained plus labels lost, of one
role or of all. Unit: the examples that share a unit in either run. Assumption: independent units, nothing
else: the level is exact at any number of units. Each swap exchanges the scores of a random half or so of the
units, labels both sides anew with the same test, correction and family, and counts. With N swaps
``p = (1 + b) / (1 + N)``, b those with at least as many changed labels: no p is 0 (Davison and Hinkley 1997,
Bootstrap methods and their application, eq. 4.11; Fisher 1935 for the principle).

Its rejection says that the runs differ in what they label, not that any one head changed its role; labels
near the decision's edge flicker, which the reference shows. Tests in closed form replace those that resample
(``relabel.stand_in``), for the observed labels as for the swapped ones. Tests of ranks have no such short
cut: with ``wilcoxon`` a thousand swaps take minutes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.records.comparison import SWAPS
from headroles.records.findings import Findings
from headroles.records.rules.rule import Decision
from headroles.records.table import Table
from headroles.stats.columns import Column
from headroles.stats.correction import adjust
from headroles.stats.relabel import Grid, closed_form_decision, deciding, p_of_draws, roles_from_p

BLOCK = 256
"""Swaps labelled at once: bounds memory and, being fixed, changes no result."""


def compare_by_swaps(
    first: Sequence[Column], second: Sequence[Column], grid: Grid, decision: Decision, swaps: int = 1000
) -> Table:
    """Return labels gained and lost per role, and for all roles together, with their reference.

    Args:
        first: Columns of run A, contrasts included.
        second: Columns of run B, on the same units and under the same rules.
        grid: Layers and heads.
        decision: How both runs are judged; its seed draws the swaps.
        swaps: Number of random swaps; 0 for no reference (NaN).

    Returns:
        One row per role, then one for all roles together.
    """
    plain = closed_form_decision(decision)
    stacked = [_stack(one, other) for one, other in zip(first, second, strict=True)]
    units = len(first[0].values)
    before, after = swapped_labels(stacked, np.zeros((1, units)), grid, plain)
    held = np.stack([before[:, 0].sum(axis=1), after[:, 0].sum(axis=1)], axis=1)
    counted = [_count_changes(before, after)]
    counted += [
        _count_changes(*swapped_labels(stacked, block, grid, plain))
        for block in swap_blocks(units, swaps, decision.seed)
    ]
    moved = np.concatenate(counted, axis=2)
    names = [column.rule.sieve for column in first if column.rule.role]
    p = np.array([_p_value(changed) for changed in moved[:, 0] + moved[:, 1]])
    q = adjust(p, plain.correction, plain.alpha) if swaps else p
    rows = [_row(name, held[k], moved[k], float(q[k])) for k, name in enumerate(names)]
    return SWAPS.rows([*rows, _row("", held.sum(axis=0), moved.sum(axis=0), float("nan"))])


def labels_moved(before: Findings, after: Findings) -> Table:
    """Return labels gained and lost per role, and for all roles together, where nothing can be swapped.

    Args:
        before: Findings of run A.
        after: Findings of run B; both in the same order.

    Returns:
        Rows as those of ``compare_by_swaps`` without swaps.
    """
    roles = [rule.role for rule in before.rules]
    held = np.stack([run.decision[roles].reshape(sum(roles), -1) == 0 for run in (before, after)])
    moved = _count_changes(held[0][:, None], held[1][:, None])
    labels = held.sum(axis=2).T
    rows = [_row(name, labels[k], moved[k], float("nan")) for k, name in enumerate(before.roles)]
    return SWAPS.rows([*rows, _row("", labels.sum(axis=0), moved.sum(axis=0), float("nan"))])


def swap_blocks(units: int, swaps: int, seed: int) -> Iterator[Float[np.ndarray, "draws units"]]:
    """Yield random swaps in blocks: 1 where a unit's two sets of scores change places."""
    rng = np.random.default_rng(seed)
    for start in range(0, swaps, BLOCK):
        yield rng.integers(0, 2, (min(BLOCK, swaps - start), units), dtype=np.int8).astype(np.float64)


def swapped_labels(
    stacked: Sequence[Column], swap: Float[np.ndarray, "draws units"], grid: Grid, decision: Decision
) -> tuple[Bool[np.ndarray, "roles draws heads"], Bool[np.ndarray, "roles draws heads"]]:
    """Return the roles of both sides under every swap.

    Args:
        stacked: Columns whose units are those of run A followed by those of run B.
        swap: 1 where a unit is swapped.
        grid: Layers and heads.
        decision: With a test that is not itself resampled.
    """
    all_rules = [column.rule for column in stacked]
    deciders = deciding(all_rules)
    rules = [all_rules[position] for position in deciders]
    sides = []
    for weights in (np.hstack([1 - swap, swap]), np.hstack([swap, 1 - swap])):
        p = p_of_draws(stacked, deciders, weights, decision)
        sides.append(roles_from_p(p, rules, grid, decision))
    return sides[0], sides[1]


def _stack(one: Column, other: Column) -> Column:
    """Return the units of A followed by those of B, within the bounds of both."""
    return replace(
        one,
        values=np.concatenate([one.values, other.values]),
        low=min(one.low, other.low),
        high=max(one.high, other.high),
    )


def _count_changes(
    before: Bool[np.ndarray, "roles draws heads"], after: Bool[np.ndarray, "roles draws heads"]
) -> Int[np.ndarray, "roles 2 draws"]:
    """Return labels gained and labels lost."""
    return np.stack([(after & ~before).sum(axis=2), (before & ~after).sum(axis=2)], axis=1)


def _p_value(changed: Int[np.ndarray, " draws"]) -> float:
    """Return p of the first draw, the observed one, among all."""
    if changed.size == 1:
        return float("nan")
    return float((1 + (changed[1:] >= changed[0]).sum()) / changed.size)


def _row(
    sieve: str, held: Int[np.ndarray, " 2"], moved: Int[np.ndarray, "2 draws"], q: float
) -> dict[str, Any]:
    gained, lost, changed = (*moved, moved.sum(axis=0))
    reference = {
        f"{kind}_{name}": value
        for kind, drawn in (("gained", gained), ("lost", lost), ("changed", changed))
        for name, value in zip(("mean", "low", "high"), _spread(drawn[1:]), strict=True)
    }
    counts = {"gained": gained[0], "lost": lost[0], "changed": changed[0]}
    named = {"sieve": sieve, "labels_a": held[0], "labels_b": held[1]}
    return named | counts | reference | {"p": _p_value(changed), "q": q}


def _spread(drawn: Int[np.ndarray, " swaps"]) -> tuple[float, float, float]:
    """Return mean, 2.5 % and 97.5 % point; NaN without swaps."""
    if not drawn.size:
        return float("nan"), float("nan"), float("nan")
    low, high = np.quantile(drawn, [0.025, 0.975], method="inverted_cdf")
    return float(drawn.mean()), float(low), float(high)
