"""Simulate "few neurons" of ``headroles why`` on heads with random weights, in which no role has neurons.

States are random. A role takes keys from one side of a random direction, for every query ("vertical"), or
from the side that the query asks for ("by query"). Weights are normal, heavy-tailed, or normal with
dimensions that differ in scale. Prints one JSON line per cell, with the share of heads whose p is at most
0.05 in the shipped test.

    python benchmarks/calibration/few_neurons.py [--quick]
"""

import json

import click
import numpy as np
from origins import products_of

from headroles.records.causal.origins import FEW
from headroles.records.rules.rule import Decision
from headroles.stats.why.rotations import rotation_tests

STATE, SIZE, TOKENS = 128, 32, 400
"""Dimensions of states and of a head, and tokens."""
WEIGHTS = {
    "normal": (np.inf, 0.0),
    "t with 5 degrees of freedom": (5.0, 0.0),
    "t with 3 degrees of freedom": (3.0, 0.0),
    "t with 2 degrees of freedom": (2.0, 0.0),
    "scales of dimensions × or ÷ 1.28": (np.inf, 0.25),
    "scales of dimensions × or ÷ 1.65": (np.inf, 0.5),
    "scales of dimensions × or ÷ 2.7": (np.inf, 1.0),
}
"""Degrees of freedom of weights, and standard deviation of the logarithm of the scale of a dimension."""


def outer_of(freedom: float, spread: float, by_query: bool, rng: np.random.Generator) -> np.ndarray:
    """Return the mean outer product of queries and differences of mean keys of a random head."""
    shape = (2, STATE, SIZE)
    weights = rng.normal(size=shape) if np.isinf(freedom) else rng.standard_t(freedom, shape)
    query, key = weights * np.exp(spread * rng.normal(size=(2, 1, SIZE)))
    asking, others = rng.normal(size=(2, TOKENS, STATE))
    side = np.sign(others @ rng.normal(size=STATE))
    difference = (others * side[:, None]).mean(axis=0) @ key
    if by_query:
        wanted = np.sign(asking @ rng.normal(size=STATE))
        mean_state = (asking * wanted[:, None]).mean(axis=0)
    else:
        mean_state = rng.normal(size=STATE)
    return np.outer(mean_state @ query, difference)


@click.command()
@click.option("--times", default=1000, show_default=True, help="Heads of every cell.")
@click.option("--seed", default=0, show_default=True)
@click.option("--quick", is_flag=True, help="A tenth of the heads.")
def main(times: int, seed: int, quick: bool) -> None:
    """Simulate heads whose roles have no neurons, and print a line of JSON for every cell."""
    rng = np.random.default_rng(seed)
    count = times // 10 if quick else times
    for name, (freedom, spread) in WEIGHTS.items():
        for by_query in (False, True):
            outer = np.stack([outer_of(freedom, spread, by_query, rng) for _ in range(count)])
            made = products_of(np.zeros((1, count, SIZE)), outer=outer)
            tested = rotation_tests(
                made, np.ones(count, dtype=bool), 999, Decision(correction="none", seed=seed)
            )
            print(
                json.dumps(
                    {
                        "weights": name,
                        "role": "by query" if by_query else "vertical",
                        "false": float(np.mean([said == FEW for said in tested.few])),
                        "participation": float(np.median(tested.participation)),
                        "rotated": float(np.median(tested.rotated)),
                    }
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
