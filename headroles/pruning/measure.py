"""Remove growing sets of heads from a model, and test the damage of each, until one is too large."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.extraction.pruning.damage import DamageMeter, Measured
from headroles.extraction.pruning.replace import HeadRemover
from headroles.records.causal.columns import LOSS
from headroles.records.causal.pruning import NOT_TESTED, STEPS
from headroles.records.table import Row, Table
from headroles.stats.causal.certificate import in_sequence, measure_set, possible_damage
from headroles.stats.columns import unit_numbers
from headroles.stats.moments import unit_means

BEYOND = 3
"""Sets after the first that is not within the bound which are measured for the curve, and not tested."""


class UnitDamage:
    """Damage of test inputs, averaged over the inputs of each unit."""

    def __init__(self, meter: DamageMeter, outcome: str, units: Sequence[str]) -> None:
        """Take the damage of inputs from a meter, and their units in the order of the inputs."""
        self._meter, self._outcome = meter, outcome
        self._numbers = unit_numbers(units)
        self.names = tuple(dict.fromkeys(units))
        self.bounds = possible_damage(outcome)

    @property
    def clean(self) -> Float[np.ndarray, " units"]:
        """Loss of each unit without intervention; 1 where the bound is no share of it."""
        loss = self._meter.clean_loss if self._outcome == LOSS else np.ones(len(self._numbers))
        return unit_means(loss[:, None], self._numbers)[:, 0]

    def measure(self) -> Measured:
        """Return the damage of the test inputs under the network as it is."""
        return self._meter.measure()

    def by_unit(self, measured: Measured) -> Float[np.ndarray, " units"]:
        """Return the damage of each unit; NaN where a unit has none."""
        return unit_means(measured.change[:, None], self._numbers)[:, 0]

    def step(self, size: int, measured: Measured, bound: float, alpha: float) -> Row:
        """Return the test of one set of heads, with accuracy over inputs where there are classes."""
        step = measure_set(size, self.by_unit(measured), self.clean, bound, alpha, self.bounds)
        known = not np.isnan(measured.right).any()
        if known:
            step.accuracy_before = float(self._meter.clean_right.mean())
            step.accuracy_after = float(measured.right.mean())
        return step


def mask_of(
    order: Int[np.ndarray, "ordered 2"], size: int, shape: tuple[int, ...]
) -> Bool[np.ndarray, "layers heads"]:
    """Return the set of the first heads of an order.

    Example:
        >>> mask_of(np.array([[1, 0], [0, 1]]), 1, (2, 2)).tolist()
        [[False, False], [True, False]]
    """
    heads = np.zeros(shape, dtype=np.bool_)
    heads[tuple(order[:size].T)] = True
    return heads


def measure_sets(
    remover: HeadRemover,
    damage: UnitDamage,
    order: Int[np.ndarray, "ordered 2"],
    sizes: Sequence[int],
    limits: tuple[float, float],
    shape: tuple[int, ...],
    advance: Callable[[], None],
) -> tuple[Table, Float[np.ndarray, "steps units"]]:
    """Remove growing sets of heads until the damage of one is not within the bound, and a few more.

    Null, alternative, unit and assumptions are those of ``stats.causal.certificate.certify``: sets are tested
    in their order, each at alpha, until the first that fails.

    Args:
        remover: Of the network that damage is measured on.
        damage: Measures the damage of units.
        order: Heads, those removed first in front.
        sizes: Numbers of heads, growing.
        limits: Bound and alpha.
        shape: Layers and heads of the model.
        advance: Called after every set.

    Returns:
        The sets that were measured, and the damage of every unit under each.
    """
    steps: list[Row] = []
    changes: list[np.ndarray] = []
    for size in sizes:
        with remover.without(mask_of(order, size, shape)):
            measured = damage.measure()
        steps.append(in_sequence(steps, damage.step(size, measured, *limits)))
        changes.append(damage.by_unit(measured))
        advance()
        if sum(step.decision == NOT_TESTED for step in steps) >= BEYOND:
            break
    return STEPS.rows(map(vars, steps)), np.stack(changes)
