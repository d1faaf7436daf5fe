"""Simulate intervals of the accuracy of trained probes: how often do they hold the true accuracy?

Documents have log-normal sizes, and an accuracy of their own around 0.8, which may fall with their size. The
truth is the mean over all words. "bootstrap" is the percentile interval over resampled documents; "t" is that
of the jackknife over documents, with one degree of freedom less than documents.

    python benchmarks/calibration/trained.py [--quick]

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


@click.command()
@click.option("--runs", default=2000, show_default=True, help="Simulations of each cell.")
@click.option("--quick", is_flag=True, help="A tenth of them.")
def main(runs: int, quick: bool) -> None:
    """Print the coverage of every cell."""
    for documents in DOCUMENTS:
        for sizes in SIZES:
            for slope in (0.0, 0.05):
                print(json.dumps(cell(documents, sizes, slope, runs // 10 if quick else runs)), flush=True)


if __name__ == "__main__":
    main()
