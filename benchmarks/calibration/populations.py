"""Populations for simulated runs, whose means and standard deviations are exactly known.

Made populations are tables of 65,536 equally likely values. A Gaussian copula ties heads within blocks and
keeps the distribution of every head. Recentred populations are the scores of a real run: units are drawn with
replacement, all heads at once, so that the dependence between heads stays real, too. All are standardised to
mean 0 (placed at θ) and standard deviation 1, so that a shift is an effect in standard deviations.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats as shapes
from scipy.special import ndtr

from headroles.errors import HeadrolesError
from headroles.stats.columns import Columns

SIZE = 65536
EVEN = (np.arange(SIZE) + 0.5) / SIZE
HEADS = 144
BLOCK = 12
"""Number of heads that share a factor, as those of one layer may."""
CORRELATIONS = (0.0, 0.5, 0.9)
SIEVES = ("local", "delimiter", "block", "syntactic")


def _zeros(share: float) -> np.ndarray:
    """Return exact zeros in this share, and beta(2, 3) scores otherwise."""
    none = round(SIZE * share)
    some = SIZE - none
    return np.concatenate([np.zeros(none), shapes.beta.ppf((np.arange(some) + 0.5) / some, 2, 3)])


SHAPES = {
    "normal": ("symmetric", shapes.norm.ppf(EVEN), None),
    "flat": ("symmetric", EVEN, (0.0, 1.0)),
    "heavy-tailed": ("symmetric", shapes.laplace.ppf(EVEN), None),
    "right-skewed": ("skewed", shapes.beta.ppf(EVEN, 0.5, 4.5), (0.0, 1.0)),
    "left-skewed": ("skewed", shapes.beta.ppf(EVEN, 9, 1), (0.0, 1.0)),
    "zero-inflated": ("skewed", _zeros(0.7), (0.0, 1.0)),
}
"""Kind, values, and bounds of the scores where there are bounds."""
IN_WORDS = {
    "normal": "normal",
    "flat": "uniform",
    "heavy-tailed": "Laplace",
    "right-skewed": "beta(0.5, 4.5)",
    "left-skewed": "beta(9, 1)",
    "zero-inflated": "0 in 70 %, else beta(2, 3)",
}


@dataclass(frozen=True)
class Population:
    """A population from which runs are drawn.

    Attributes:
        name: Name of the distribution, or task and sieve.
        kind: "symmetric", "skewed" or "real".
        table: Standardised values: (values, 1) for all heads alike, (units, heads) for real ones.
        heads: Number of heads of a run.
        correlation: Correlation of the normal scores behind heads of one block; NaN for real populations.
        low: Smallest possible standardised score; NaN when unknown.
        high: Largest possible standardised score; NaN when unknown.
    """

    name: str
    kind: str
    table: np.ndarray
    heads: int
    correlation: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")

    def draw(self, rng: np.random.Generator, units: int, runs: int) -> np.ndarray:
        """Draw the scores of independent runs: (units, runs, heads)."""
        if self.kind == "real":
            return self.table[rng.integers(0, len(self.table), (units, runs))]
        shape = (units, runs, self.heads)
        if not self.correlation:
            return self.table[rng.integers(0, SIZE, shape, dtype=np.uint16), 0]
        own = rng.standard_normal(shape, dtype=np.float32)
        common = rng.standard_normal((units, runs, self.heads // BLOCK), dtype=np.float32)
        own *= np.float32((1 - self.correlation) ** 0.5)
        own += np.float32(self.correlation**0.5) * np.repeat(common, BLOCK, axis=2)
        place = np.minimum(ndtr(own) * SIZE, SIZE - 1).astype(np.uint16)
        return self.table[place, 0]

    def described(self) -> dict[str, object]:
        """Describe the population for a reader."""
        skewness = (self.table**3).mean(axis=0)
        return {
            "name": self.name,
            "kind": self.kind,
            "heads": self.heads,
            "units": len(self.table) if self.kind == "real" else None,
            "skewness": [round(float(value), 2) for value in np.quantile(skewness, [0, 0.5, 1])],
            "kurtosis": round(float(np.median((self.table**4).mean(axis=0))), 2),
            "in_words": IN_WORDS.get(self.name, ""),
        }


def made(kind: str) -> Iterator[Population]:
    """Yield the made populations of a kind, for every correlation within blocks."""
    for name, (of_kind, values, bounds) in SHAPES.items():
        mean, sd = values.mean(), values.std()
        low, high = ((end - mean) / sd for end in bounds or (np.nan, np.nan))
        table = ((values - mean) / sd)[:, None]
        if of_kind == kind:
            for correlation in CORRELATIONS:
                yield Population(name, kind, table, HEADS, correlation, low, high)


def recentred(folder: Path) -> Iterator[Population]:
    """Yield the scores of every role of a run folder, each head shifted to mean 0 and scaled to spread 1.

    Units without a value for some head are left out, and so are heads without spread.
    """
    from headroles.storage.run import load  # imported here, because made populations do not need it

    run = load(folder)
    task = str(run.manifest["task"] or folder.name)
    for column in Columns(run.scores, run.findings.rules):
        values = column.values[~np.isnan(column.values).any(axis=1)]
        if not column.rule.role or len(values) < 2:
            continue
        moves = values.std(axis=0) > 1e-4
        values = values[:, moves]
        table = (values - values.mean(axis=0)) / values.std(axis=0)
        yield Population(f"{task} {column.rule.sieve}", "real", table, int(moves.sum()))


def real(folders: Sequence[str]) -> tuple[list[Population], str]:
    """Return populations of run folders or of the shipped samples, and their source in words."""
    if folders:
        populations = [population for folder in folders for population in recentred(Path(folder))]
        return populations, f"run folders: {', '.join(map(_run_text, folders))}"
    from headroles.runs.label.run import label

    populations = []
    with tempfile.TemporaryDirectory() as scratch:
        for task in ("QNLI", "SST-2", "MRPC"):
            place = Path(scratch) / task
            try:
                label(task, sieve=list(SIEVES), out=str(place))
            except HeadrolesError as error:
                return [], f"left out, as scores and the embedded model are missing ({error})"
            populations += recentred(place)
    return populations, "the samples shipped with headroles, scored by the embedded model"


def _run_text(folder: str) -> str:
    """Describe a run folder in words."""
    from headroles.storage.run import load

    run = load(folder)
    counts, model = run.manifest["counts"], run.manifest["model"]
    name = f"{run.manifest['task'] or 'own texts'} with {model['name']}"
    size = f"{model['layers']} × {model['heads']} heads"
    return f"{name} ({size}; {counts['examples']:,} examples, {counts['units']:,} units)"
