"""Simulate intervals of the accuracy of trained probes: how often do they hold the true accuracy?

Documents have log-normal sizes, and an accuracy of their own around 0.8, which may fall with their size. The
truth is the mean over all words. "bootstrap" is the percentile interval over resampled documents; "t" is that
of the jackknife over documents, with one degree of freedom less than documents.

    python benchmarks/calibration/trained.py [--quick]

"one large" cells have documents of one size, but some that hold a share of all words each. Their accuracy is
lower by 0.2, or the same. "missing" is the share of runs without any of them.

It prints a line of JSON for every cell.
"""

import json

import click
import numpy as np
from scipy import stats

from headroles.stats.pooled import jackknife_values

DOCUMENTS = (4, 8, 12, 20, 40, 80)
SIZES = {"even": 0.3, "uneven": 1.0, "very uneven": 1.5}
"""Standard deviations of the logarithm of the number of words."""
POPULATION, RESAMPLES = 20_000, 400


def cell(documents: int, sizes: str, slope: float, runs: int) -> dict[str, object]:
    """Return the coverage of both intervals."""
    chance = np.random.default_rng([documents, [*SIZES].index(sizes), int(10 * slope)])
    log_words = chance.normal(4, SIZES[sizes], POPULATION)
    words = np.ceil(np.exp(log_words))
    level = 0.8 - slope * (log_words - 4) / SIZES[sizes]
    right = words * np.clip(level + chance.normal(0, 0.08, POPULATION), 0, 1)
    truth, held = right.sum() / words.sum(), np.zeros((runs, 2), dtype=bool)
    for run in range(runs):
        drawn = chance.integers(0, POPULATION, documents)
        sums, size = right[drawn], words[drawn]
        again = chance.integers(0, documents, (RESAMPLES, documents))
        low, high = np.quantile(sums[again].sum(axis=1) / size[again].sum(axis=1), (0.025, 0.975))
        values = jackknife_values(sums[:, None], size[:, None])[:, 0]
        reach = stats.t.ppf(0.975, documents - 1) * values.std(ddof=1) / np.sqrt(documents)
        held[run] = low <= truth <= high, abs(values.mean() - truth) <= reach
    bootstrap, jackknife = held.mean(axis=0).round(3).tolist()
    return {"documents": documents, "sizes": sizes, "slope": slope, "bootstrap": bootstrap, "t": jackknife}


def large_cell(documents: int, share: float, many: int, gap: float, runs: int) -> dict[str, object]:
    """Return the coverage and one-sided errors where a share of words lies in each of ``many`` documents."""
    chance = np.random.default_rng([documents, int(100 * share), many, int(100 * gap)])
    times, often = share / (1 - share) * (documents - 1), many / documents
    large = chance.random((runs, documents)) < often
    words = np.round(100 * np.where(large, times, 1.0))
    level = np.clip(0.6 - gap * large + 0.05 * chance.normal(size=words.shape), 0, 1)
    truth = 0.6 - gap * often * times / (often * times + 1 - often)
    values = jackknife_values(chance.binomial(words.astype(int), level).T.astype(float), words.T)
    off = (values.mean(axis=0) - truth) / (values.std(axis=0, ddof=1) / np.sqrt(documents))
    held, seen = np.abs(off) <= stats.t.ppf(0.975, documents - 1), large.any(axis=1)
    figures = {
        "missing": 1 - seen.mean(), "t": held.mean(), "t where seen": held[seen].mean(),
        "beyond where seen": (off[seen] > stats.t.ppf(0.95, documents - 1)).mean(),
    }  # fmt: skip
    setting = {"documents": documents, "one large": share, "expected": many, "lower by": gap}
    return setting | {key: round(float(value), 3) for key, value in figures.items()}


@click.command()
@click.option("--runs", default=2000, show_default=True, help="Simulations of each cell.")
@click.option("--quick", is_flag=True, help="A tenth of them.")
def main(runs: int, quick: bool) -> None:
    """Print the coverage of every cell."""
    for documents in DOCUMENTS:
        for sizes in SIZES:
            for slope in (0.0, 0.05):
                print(json.dumps(cell(documents, sizes, slope, runs // 10 if quick else runs)), flush=True)
    for documents in (30, 60, 150, 300):
        for share in (0.05, 0.1, 0.2, 0.3, 0.5):
            for many, gap in ((1, 0.0), (1, 0.2), (3, 0.0), (3, 0.2)):
                print(json.dumps(large_cell(documents, share, many, gap, 4 * runs)), flush=True)


if __name__ == "__main__":
    main()
