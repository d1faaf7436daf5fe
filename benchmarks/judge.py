"""Time every way of judging, next to a baseline on the same scores in the same process."""

import json
import resource
import time
from collections.abc import Callable

import click
import numpy as np
from machine import machine
from scipy import stats

from headroles.records.example import Scores
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.assessment.assess import assess
from headroles.stats.assessment.stability import stability
from headroles.stats.columns import Columns
from headroles.stats.draws import bootstrap_counts
from headroles.stats.engine import judge
from headroles.stats.relabel import Grid


def made(layers: int, heads: int, sieves: int, examples: int) -> tuple[Scores, list[Rule]]:
    """Return normal scores around the margin, and their rules."""
    rng = np.random.default_rng(0)
    names, keys = tuple(f"sieve {k}" for k in range(sieves)), tuple(map(str, range(examples)))
    values = rng.normal(0.1, 0.1, (sieves, examples, layers, heads)).astype(np.float32)
    table = (sieves, examples)
    scores = Scores(names, keys, keys, np.full(examples, 50), np.ones(table), values, np.zeros(table))
    return scores, [Rule(name, low=-1.0, high=1.0) for name in names]


def seconds(work: Callable[[], object]) -> float:
    """Return the seconds of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def scipy_t(scores: Scores) -> None:
    """Run one vectorised t test per sieve: one direction, no interval, no correction."""
    for column in scores.values:
        stats.ttest_1samp(column, 0.1, axis=0, alternative="greater")


def products(scores: Scores, resamples: int) -> None:
    """Compute the products of all draws with all scores, which every resampling needs."""
    examples = len(scores.examples)
    for column in scores.values:
        values = column.reshape(examples, -1).astype(np.float64)
        for counts in bootstrap_counts(examples, resamples, 0):
            counts @ values


@click.command()
@click.option("--layers", default=32, show_default=True)
@click.option("--heads", default=32, show_default=True)
@click.option("--sieves", default=12, show_default=True)
@click.option("--examples", default=1000, show_default=True)
@click.option("--resamples", default=10_000, show_default=True)
@click.option("--pairs", default=3, show_default=True)
def main(layers: int, heads: int, sieves: int, examples: int, resamples: int, pairs: int) -> None:
    """Time every way of judging and its baseline alternately; the minima count."""
    scores, rules = made(layers, heads, sieves, examples)
    columns, grid = Columns(scores, rules), Grid(layers, heads)
    found = judge(scores, rules, Decision())

    def judged(**how: str) -> Callable[[], object]:
        return lambda: judge(scores, rules, Decision(resamples=resamples, **how))

    floor = "products of the draws with the scores alone"
    ways: list[tuple[str, Callable[[], object], str, Callable[[], object], float]] = [
        ("t-skew", judged(), "scipy.stats.ttest_1samp a sieve, one direction, no correction",
         lambda: scipy_t(scores), 1.0),
        ("sign-flip", judged(test="sign-flip"), floor, lambda: products(scores, resamples), 1.0),
        ("bootstrap-t", judged(test="bootstrap-t"), floor, lambda: products(scores, resamples), 1.0),
        ("maxT", judged(correction="maxT"), floor, lambda: products(scores, resamples), 1.0),
        ("assess", lambda: assess(scores, rules, Decision(), found),
         "products of its 800 draws with three powers of the scores", lambda: products(scores, 800), 3.0),
        ("stability", lambda: stability(columns, grid, Decision(), found),
         "judge() of the same scores", judged(), 1.0),
    ]  # fmt: skip
    for name, ours, baseline, theirs, scale in ways:
        times = [(seconds(ours), scale * seconds(theirs)) for _ in range(pairs)]
        best, base = (min(side) for side in zip(*times, strict=True))
        line = {
            "benchmark": name, "heads": layers * heads, "sieves": sieves, "examples": examples,
            "resamples": resamples, "seconds": round(best, 3), "baseline": baseline,
            "baseline_s": round(base, 3), "ratio": round(best / base, 2),
            "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
            "machine": machine(),
        }  # fmt: skip
        click.echo(json.dumps(line))


if __name__ == "__main__":
    main()
