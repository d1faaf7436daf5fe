"""Simulate runs that share inputs: what an atlas would claim with r values, pooled means and Fisher's method.

All heads lie exactly at the threshold. "false" is the share of families with a false claim, "covers" that of
intervals with the truth. Where anything is shared an atlas combines by Bonferroni's method alone, and gives
neither r values nor pooled means.

    python benchmarks/calibration/shared.py [--quick]

It prints a line of JSON for every cell.
"""

import json

import click
import numpy as np
from scipy import stats

from headroles.stats import conjunctions, pool_means, replicability_r

HEADS, UNITS, ALPHA = 72, 100, 0.05
DOCUMENTS, SENTENCES, ICC = 40, 8, 0.2
"""Documents, sentences of each in one run, and correlation of the scores of two sentences of a document."""


def p_above(values: np.ndarray) -> np.ndarray:
    """Return p of "the mean over units is above 0", units first."""
    found: np.ndarray = stats.ttest_1samp(values, 0.0, alternative="greater").pvalue
    return found


def overlapping(chance: np.random.Generator, share: float) -> np.ndarray:
    """Return p of two runs that have a share of their inputs in common, (runs, heads)."""
    common = chance.normal(size=(round(share * UNITS), HEADS))
    own = chance.normal(size=(2, UNITS - len(common), HEADS))
    return np.stack([p_above(np.concatenate([common, part])) for part in own])


def documents(chance: np.random.Generator, runs: int) -> np.ndarray:
    """Return p of runs on other sentences of the same documents; units are documents."""
    level = chance.normal(size=(DOCUMENTS, HEADS)) * ICC**0.5
    noise = chance.normal(size=(runs, DOCUMENTS, SENTENCES, HEADS)) * (1 - ICC) ** 0.5
    return np.stack([p_above(level + part.mean(axis=1)) for part in noise])


def any_claim(p: np.ndarray, way: str, least: int) -> bool:
    """Return whether any head is said to have the role in at least so many runs."""
    return bool((conjunctions(p, way, "fdr_bh", ALPHA).at_least >= least).any())


def covers(chance: np.random.Generator, share: float, times: int) -> float:
    """Return how often the pooled mean of five runs with a common share of inputs covers the truth."""
    held = []
    for _ in range(times):
        common = chance.normal(size=round(share * UNITS))
        runs = [np.append(common, chance.normal(size=UNITS - len(common))) for _ in range(5)]
        means = np.array([run.mean() for run in runs])
        found = pool_means(means, np.array([run.std(ddof=1) for run in runs]) / UNITS**0.5)
        held.append(found.low <= 0 <= found.high)
    return float(np.mean(held))


@click.command()
@click.option("--times", default=500, show_default=True, help="Simulations of each cell.")
@click.option("--quick", is_flag=True, help="A tenth of them.")
def main(times: int, quick: bool) -> None:
    """Print the figures of every cell."""
    times = times // 10 if quick else times
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        chance = np.random.default_rng([1, int(100 * share)])
        drawn = [overlapping(chance, share) for _ in range(times)]
        cell = {
            "overlap of two runs": share,
            "any r": np.mean([(replicability_r(*p, ALPHA) <= ALPHA).any() for p in drawn]),
            "in both, bonferroni": np.mean([any_claim(p, "bonferroni", 2) for p in drawn]),
            "in one, bonferroni": np.mean([any_claim(p, "bonferroni", 1) for p in drawn]),
        }
        print(json.dumps({name: round(float(value), 3) for name, value in cell.items()}), flush=True)
    for share in (0.0, 0.25, 0.5, 0.75, 0.9):
        covered = covers(np.random.default_rng([2, int(100 * share)]), share, times)
        print(json.dumps({"common share of five runs": share, "pooled mean covers": round(covered, 3)}))
    for runs in (2, 5, 10):
        chance = np.random.default_rng([3, runs])
        drawn = [documents(chance, runs) for _ in range(times // 5)]
        cell = {way: np.mean([any_claim(p, way, 1) for p in drawn]) for way in ("fisher", "bonferroni")}
        rates = {way: round(float(rate), 3) for way, rate in cell.items()}
        print(json.dumps({"runs on the same documents": runs, "false in at least one": rates}), flush=True)


if __name__ == "__main__":
    main()
