"""Simulate intervals of the number of roles a head, where all heads lie near their thresholds.

72 heads of 6 layers have three roles. Their means lie up to so many standard errors from the threshold. An
interval is right where it holds the number of a second sample of as many units.

    python benchmarks/calibration/several.py [--runs 60]

It prints a line of JSON for every cell.
"""

import json

import click
import numpy as np

from headroles.records.example import Scores
from headroles.records.layers import plain_stack
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.assessment.several import fresh_roles, role_counts, several_roles
from headroles.stats.columns import Columns
from headroles.stats.engine import judge
from headroles.stats.relabel import Grid

NAMES, GRID, SPREAD, THETA = ("a", "b", "c"), Grid(6, 12), 0.1, 0.1
RULES = [Rule(name, margin=THETA, low=-0.1, high=1.0) for name in NAMES]


def sample(chance: np.random.Generator, means: np.ndarray, units: int, shared: float) -> Scores:
    """Return normal scores whose units share some of their variance over all heads."""
    own = chance.normal(size=(3, units, GRID.layers, GRID.heads))
    common = chance.normal(size=(3, units, 1, 1))
    values = means[:, None] + SPREAD * (np.sqrt(1 - shared) * own + np.sqrt(shared) * common)
    names, nothing = tuple(map(str, range(units))), np.zeros((3, units))
    return Scores(NAMES, names, names, np.zeros(units, int), nothing, values.astype(np.float32), nothing)


def cell(units: int, errors: float, shared: float, runs: int) -> dict[str, float]:
    """Return how often the intervals of all heads and of layers hold the number of a second sample."""
    chance, decision = np.random.default_rng([units, int(10 * errors), int(10 * shared)]), Decision()
    whole, layers = [], []
    for _ in range(runs):
        means = THETA + errors * SPREAD / np.sqrt(units) * chance.uniform(-1, 1, (3, GRID.layers, GRID.heads))
        first, second = (sample(chance, means, units, shared) for _ in range(2))
        held, again = (
            judge(scores, RULES, decision).decision.reshape(3, -1) == 0 for scores in (first, second)
        )
        fresh = fresh_roles(Columns(first, RULES), GRID, decision)
        rows = several_roles(NAMES, held, fresh, GRID, 0, plain_stack(GRID.layers))
        counts = role_counts(NAMES, again[:, None])[0].reshape(GRID.layers, GRID.heads)
        whole.append(rows[0].mean_low <= counts.mean() <= rows[0].mean_high)
        for row, own in zip(rows[1:], counts, strict=False):
            layers.append(row.mean_low <= own.mean() <= row.mean_high)
    return {"all heads": round(float(np.mean(whole)), 3), "a layer": round(float(np.mean(layers)), 3)}


@click.command()
@click.option("--runs", default=60, show_default=True, help="Simulations of each cell.")
def main(runs: int) -> None:
    """Print the coverage of every cell."""
    for shared in (0.0, 0.3):
        for units in (60, 160, 300):
            for errors in (1.0, 2.0, 4.0):
                setting = {"units": units, "standard errors": errors, "shared": shared}
                print(json.dumps(setting | cell(units, errors, shared, runs)), flush=True)


if __name__ == "__main__":
    main()
