"""Simulate the false discovery rate where labels are looked at again and again, and looking stops by chance.

Run: ``python -m benchmarks.random_stops [--runs 2000]``. 36 heads, 800 units, a look at every 16 units. Two
rules stop a run: at the first look that calls any head ("first call"), and at a look drawn by chance. The
test by betting stands beside Student's t at every look, both with Benjamini-Hochberg at 0.05.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from jaxtyping import Bool, Float
from scipy import special

from headroles.stats.correction import adjust
from headroles.stats.methods.betting import BETS

HEADS, UNITS, LOOK, ALPHA = 36, 800, 16, 0.05
Scores = Float[np.ndarray, "units heads"]
Looks = Float[np.ndarray, "looks heads"]


@dataclass(frozen=True, slots=True)
class Population:
    """Heads whose scores are low + (high − low) U^a, with the power a that gives each head its mean.

    Attributes:
        low: Smallest score.
        theta: θ, which the mean of a head without effect equals.
        effects: Share of heads whose mean lies 0.1 beyond θ; as many lie 0.1 below.
        correlation: Correlation of the normal scores behind U between heads.
        contrasted: Whether a role needs a second column as well. Then a third of the heads has both, a third
            has the score alone and a third the contrast alone, and the other column lies at its margin.
    """

    low: float
    theta: float = 0.1
    effects: float = 0.0
    correlation: float = 0.0
    contrasted: bool = False


POPULATIONS: Mapping[str, Population] = MappingProxyType(
    {
        "all at θ": Population(-0.5),
        "all at θ, heads correlated (0.7)": Population(-0.5, correlation=0.7),
        "all at θ, skewed": Population(-0.02, theta=0.05),
        "all at θ, skewed, correlated": Population(-0.02, theta=0.05, correlation=0.7),
        "a third beyond, a third below": Population(-0.5, effects=1 / 3),
        "with contrasts": Population(-0.5, contrasted=True),
    }
)


def false_discovery_rates(
    population: Population, runs: int, seed: int = 0
) -> dict[tuple[str, str, str], float]:
    """Return the mean share of false calls among all calls of a run.

    Args:
        population: The heads.
        runs: Simulated runs.
        seed: Of the draws.

    Returns:
        By test ("betting", "t"), direction ("role", "not") and stop ("first call", "by chance").
    """
    rng = np.random.default_rng(seed)
    shares: dict[tuple[str, str, str], list[float]] = {}
    for _ in range(runs):
        columns, true_role, true_not = _draw(population, rng)
        chance = rng.integers(UNITS // LOOK)
        for test, p_of in (("betting", _betting_p), ("t", _t_p)):
            sides = [p_of(scores, population.theta, population.low) for scores in columns]
            role = np.maximum.reduce([above for above, _ in sides])
            for name, p, true in (("role", role, true_role), ("not", sides[0][1], true_not)):
                called = adjust(p, "fdr_bh") <= ALPHA
                any_call = called.any(axis=1)
                first = int(any_call.argmax()) if any_call.any() else len(called) - 1
                for stop, look in (("first call", first), ("by chance", chance)):
                    calls = called[look]
                    share = float((calls & ~true).sum() / max(calls.sum(), 1))
                    shares.setdefault((test, name, stop), []).append(share)
    return {key: float(np.mean(values)) for key, values in shares.items()}


def _draw(
    population: Population, rng: np.random.Generator
) -> tuple[list[Scores], Bool[np.ndarray, " heads"], Bool[np.ndarray, " heads"]]:
    """Return the scores of one run by column, and which heads truly have the role, and truly lie below θ."""
    place = np.arange(HEADS)
    if population.contrasted:
        score, contrast = place % 3 != 2, place % 3 != 1
        shifts = [0.1 * score, 0.1 * contrast]
        return [_scores(population, shift, rng) for shift in shifts], score & contrast, np.zeros(HEADS, bool)
    some = round(population.effects * HEADS)
    above, below = place < some, place >= HEADS - some
    shift = 0.1 * above - 0.1 * below
    return [_scores(population, shift, rng)], above, below


def _scores(population: Population, shift: np.ndarray, rng: np.random.Generator) -> Scores:
    """Return scores whose means lie at θ + shift."""
    share = (population.theta + shift - population.low) / (1 - population.low)
    shared = rng.normal(size=(UNITS, 1)) * np.sqrt(population.correlation)
    normal = shared + rng.normal(size=(UNITS, HEADS)) * np.sqrt(1 - population.correlation)
    scores: np.ndarray = population.low + (1 - population.low) * special.ndtr(normal) ** (1 / share - 1)
    return scores


def _betting_p(scores: Scores, theta: float, low: float) -> tuple[Looks, Looks]:
    """Return 1/E of both directions at every look."""
    return _capital_p((scores - theta) / (theta - low)), _capital_p((theta - scores) / (1 - theta))


def _capital_p(gain: Scores) -> Looks:
    starts = np.arange(0, UNITS, LOOK)
    won = np.stack(
        [np.cumsum(np.log(np.multiply.reduceat(1 + bet * gain, starts, axis=0)), axis=0) for bet in BETS]
    )
    most = won.max(axis=0)
    capital = most + np.log(np.exp(won - most).mean(axis=0))
    p: np.ndarray = np.exp(-np.maximum(capital, 0.0))
    return p


def _t_p(scores: Scores, theta: float, low: float) -> tuple[Looks, Looks]:
    """Return p of Student's t of both directions at every look."""
    looks = np.arange(LOOK, UNITS + 1, LOOK)
    count = looks[:, None].astype(np.float64)
    first, second = (np.cumsum(power, axis=0)[looks - 1] for power in (scores - theta, (scores - theta) ** 2))
    mean = first / count
    sd = np.sqrt((second - count * mean**2) / (count - 1))
    t = mean / sd * np.sqrt(count)
    return special.stdtr(count - 1, -t), special.stdtr(count - 1, t)


def main() -> None:
    """Print a table of all populations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    runs = parser.parse_args().runs
    print("| heads | calls | betting, first call | betting, by chance | t, first call | t, by chance |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, population in POPULATIONS.items():
        rates = false_discovery_rates(population, runs)
        for side in ("role", "not"):
            shown = [
                f"{rates[test, side, stop]:.1%}"
                for test in ("betting", "t")
                for stop in ("first call", "by chance")
            ]
            print(f"| {name} | {side} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
