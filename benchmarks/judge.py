"""How long judging takes, against one vectorised scipy t test per sieve on the same scores."""

import json
import platform
import time

import click
import numpy as np
from scipy import stats

from headroles.records import Decision, Rule, Scores
from headroles.stats.engine import judge


@click.command()
@click.option("--layers", default=32, show_default=True)
@click.option("--heads", default=32, show_default=True)
@click.option("--sieves", default=12, show_default=True)
@click.option("--examples", default=1000, show_default=True)
@click.option("--pairs", default=5, show_default=True)
def main(layers: int, heads: int, sieves: int, examples: int, pairs: int) -> None:
    """Time judge() and the baseline alternately."""
    rng = np.random.default_rng(0)
    names = tuple(f"sieve {k}" for k in range(sieves))
    keys = tuple(map(str, range(examples)))
    values = rng.normal(0.1, 0.1, (sieves, examples, layers, heads)).astype(np.float32)
    scores = Scores(
        names,
        keys,
        keys,
        np.full(examples, 50),
        np.ones((sieves, examples)),
        values,
        np.zeros((sieves, examples)),
    )
    rules = [Rule(name, low=-1.0, high=1.0) for name in names]
    ours, theirs = [], []
    for _ in range(pairs):
        start = time.perf_counter()
        judge(scores, rules, Decision())
        ours.append(time.perf_counter() - start)
        start = time.perf_counter()
        for column in values:
            stats.ttest_1samp(column, 0.1, axis=0, alternative="greater")
        theirs.append(time.perf_counter() - start)
    line = {
        "benchmark": "judge",
        "heads": layers * heads,
        "sieves": sieves,
        "examples": examples,
        "seconds": round(min(ours), 3),
        "baseline": "scipy.stats.ttest_1samp, one call a sieve, no correction",
        "baseline_s": round(min(theirs), 3),
        "ratio": round(min(ours) / min(theirs), 2),
        "machine": platform.machine(),
    }
    click.echo(json.dumps(line))


if __name__ == "__main__":
    main()
