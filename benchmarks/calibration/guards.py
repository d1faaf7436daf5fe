"""Simulate claims about means where rare units hold the mean, and what the guard costs.

Every family has 24 independent heads whose mean lies exactly at the threshold, so every claim is a false one.
Tests, guard and corrections are the shipped code. One line of JSON for every claim, shape and number of
units; then, for normal scores, the smallest mean that gets a role with a power of 0.8, without the guard and
with it, and the power at means that had 0.5, 0.8 and 0.95. Given runs of ``headroles label``, it counts their
labels in place of all this, without the guard and with it.

    python benchmarks/calibration/guards.py [--quick] [RUN ...]
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from unittest.mock import patch

import click
import numpy as np
from scipy import stats
from scipy.optimize import brentq

import headroles
from headroles.records import Decision, Rule, Scores
from headroles.stats import adjust, assess, judge
from headroles.stats.methods.reliance import missed_p
from headroles.stats.moments import Sample

HEADS, UNITS = 24, (60, 80, 128, 160, 300)
DECISION = Decision(test="t-skew", correction="holm")
THETA, ABSENT = 0.1, 0.02
ROLE, NOT, EXPLAINED = 0, 1, 4
Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


def rare(usual: float, spread: float, share: float, value: float) -> Draw:
    """Return a draw of usual units with a share of units at another value."""

    def draw(rng: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
        values = rng.normal(usual, spread, size)
        return np.where(rng.random(size) < share, value, values)

    return draw


def skewed(mean: float, low: float, high: float, side: int) -> Draw:
    """Return a draw of beta scores between two bounds, with a long tail to the left (−1) or to the right."""
    share = (mean - low) / (high - low)
    a, b = (0.5, 0.5 * (1 - share) / share) if side > 0 else (0.5 * share / (1 - share), 0.5)
    return lambda rng, size: low + (high - low) * rng.beta(a, b, size)


def two_rare(mean: float, side: int) -> Draw:
    """Return a draw with one unit in 50 far off and one in 200 farther."""
    off = 0.02 * 0.3 + 0.005 * 0.9

    def draw(rng: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
        values, chance = rng.normal(mean + side * off, 0.01, size), rng.random(size)
        return values - side * np.where(chance < 0.02, 0.3, np.where(chance < 0.025, 0.9, 0.0))

    return draw


SHAPES: dict[str, dict[str, Draw]] = {
    "role": {
        "2 % at −0.5": rare((THETA + 0.02 * 0.5) / 0.98, 0.004, 0.02, -0.5),
        "3 % at −0.5": rare((THETA + 0.03 * 0.5) / 0.97, 0.004, 0.03, -0.5),
        "5 % at −0.2": rare((THETA + 0.05 * 0.2) / 0.95, 0.01, 0.05, -0.2),
        "beta with a left tail": skewed(THETA, -1.0, 0.3, -1),
        "2 % at −0.3, 0.5 % at −0.9": two_rare(THETA, 1),
    },
    "not": {
        "2 % at 0.7": rare((THETA - 0.02 * 0.7) / 0.98, 0.004, 0.02, 0.7),
        "3 % at 0.7": rare((THETA - 0.03 * 0.7) / 0.97, 0.004, 0.03, 0.7),
        "5 % at 0.4": rare((THETA - 0.05 * 0.4) / 0.95, 0.01, 0.05, 0.4),
        "beta with a right tail": skewed(THETA, 0.0, 1.0, 1),
        "2 % at +0.3, 0.5 % at +0.9": two_rare(THETA, -1),
    },
    "absent": {
        "2 % at 1": rare(0.0, 0.004, 0.02, 1.0),
        "3 % at 0.67": rare(0.0, 0.004, 0.03, 2 / 3),
        "2 % at −1": rare(0.0, 0.004, 0.02, -1.0),
        "beta with a right tail": skewed(ABSENT, 0.0, 1.0, 1),
        "5 % at 0.4": rare(0.0, 0.01, 0.05, 0.4),
    },
    "explained": {
        "2 % at 1": rare((ABSENT - 0.02) / 0.98, 0.004, 0.02, 1.0),
        "3 % at 0.5": rare((ABSENT - 0.03 * 0.5) / 0.97, 0.004, 0.03, 0.5),
        "5 % at 0.3": rare((ABSENT - 0.05 * 0.3) / 0.95, 0.01, 0.05, 0.3),
    },
}
"""Draws by claim and by name; the mean is 0.1 for roles and nots, ± 0.02 for the others."""


def scores_of(values: np.ndarray) -> Scores:
    """Return scores of columns, units and heads of one layer."""
    columns, units = values.shape[:2]
    names = tuple(map(str, range(units)))
    return Scores(
        sieves=("score", "contrast")[:columns],
        examples=names,
        units=names,
        tokens=np.zeros(units, dtype=np.int64),
        cells=np.full((columns, units), np.nan),
        values=values[:, :, None].astype(np.float32),
        null=np.zeros((columns, units)),
    )


def false_claim(claim: str, values: np.ndarray, rng: np.random.Generator) -> bool:
    """Return whether any head of a family gets a claim."""
    rules, rows = [Rule("score", margin=THETA, low=-1.0, high=1.0)], [values]
    if claim == "explained":
        rules = [
            replace(rules[0], contrast="contrast"),
            Rule("contrast", margin=ABSENT, role=False, low=-1.0, high=1.0),
        ]
        rows = [rng.normal(0.5, 0.05, values.shape), values]
    scores = scores_of(np.stack(rows))
    found = judge(scores, rules, DECISION)
    if claim == "absent":
        precision = assess(scores, rules, DECISION, found).precision
        return bool(((precision.q_absent <= DECISION.alpha) & (found.decision == NOT)).any())
    code = {"role": ROLE, "not": NOT, "explained": EXPLAINED}[claim]
    return bool((found.decision[0] == code).any())


def errors(families: int, seed: int) -> Iterator[dict[str, object]]:
    """Yield the share of families with a false claim, for every claim, shape and number of units."""
    for claim, shapes in SHAPES.items():
        runs = families // 10 if claim == "absent" else families
        for name, draw in shapes.items():
            for units in UNITS:
                rng = np.random.default_rng([seed, units])
                false = [false_claim(claim, draw(rng, (units, HEADS)), rng) for _ in range(runs)]
                share = float(np.mean(false))
                error = float(np.sqrt(max(share * (1 - share), 0.0) / runs))
                yield {
                    "claim": claim, "shape": name, "units": units, "families": runs,
                    "false": round(share, 4), "standard error": round(error, 4),
                    "above 0.05": share > DECISION.alpha + 2 * max(error, (0.05 * 0.95 / runs) ** 0.5),
                }  # fmt: skip


def powers(low: float, families: int, seed: int) -> Iterator[dict[str, object]]:
    """Yield the price of the guard: 24 heads of one mean, normal scores, corrected by fdr_bh."""
    for units in UNITS:
        rng = np.random.default_rng([seed, units])
        noise = rng.normal(0, 1 / np.sqrt(units), (families, HEADS))
        spreads = np.sqrt(rng.chisquare(units - 1, noise.shape) / (units - 1))
        for spread in (0.03, 0.05, 0.1, 0.2):

            def power(mean: float, guarded: bool, spread: float = spread) -> float:
                """Return the share of heads with the role."""
                means, sd = mean + spread * noise, spread * spreads  # noqa: B023
                p = stats.t.sf((means - THETA) / sd * np.sqrt(units), units - 1)  # noqa: B023
                if guarded:
                    sample = Sample(np.full(means.shape, units), means, sd, np.zeros(means.shape))  # noqa: B023
                    p = np.maximum(p, missed_p(sample, THETA, low, 1))
                return float((adjust(p, "fdr_bh") <= DECISION.alpha).mean())

            def mean_of(wanted: float, guarded: bool, power: Callable[..., float] = power) -> float:
                """Return the smallest mean with this power."""
                return float(brentq(lambda at: power(at, guarded) - wanted, THETA, THETA + 1.0, xtol=1e-5))

            means = {wanted: mean_of(wanted, False) for wanted in (0.5, 0.8, 0.95)}
            yield {
                "low": low, "units": units, "spread": spread,
                "three more need": round(THETA + 3 * (THETA - low) / units, 4),
                "means": {str(wanted): round(mean, 4) for wanted, mean in means.items()},
                "guarded": {str(wanted): round(power(mean, True), 3) for wanted, mean in means.items()},
                "mean with power 0.8, guarded": round(mean_of(0.8, True), 4),
            }  # fmt: skip


def labels(folder: str) -> Iterator[dict[str, object]]:
    """Yield the labels of a run, decided without the guard and with it."""
    run = headroles.load(folder)
    for guarded in (False, True):
        with patch(
            "headroles.stats.claims.missed_p", missed_p if guarded else lambda sample, *_: sample.mean * 0
        ):
            found = judge(run.scores, run.findings.rules, run.decision)
            precision = assess(run.scores, run.findings.rules, run.decision, found).precision
        codes = {"role": ROLE, "explained": EXPLAINED, "not": NOT, "undetermined": 2}
        count = {name: int((found.decision == code).sum()) for name, code in codes.items()}
        absent = (precision.q_absent <= run.decision.alpha) & (found.decision == NOT)
        yield {"run": folder, "guarded": guarded} | count | {"absent": int(absent.sum())}


@click.command()
@click.argument("runs", nargs=-1)
@click.option("--families", default=300, show_default=True, help="Of each cell; a tenth for absent.")
@click.option("--seed", default=0, show_default=True)
@click.option("--quick", is_flag=True, help="A tenth of the families.")
def main(runs: tuple[str, ...], families: int, seed: int, quick: bool) -> None:
    """Print one line of JSON for every cell, or two for every run."""
    for cell in (cell for folder in runs for cell in labels(folder)):
        click.echo(json.dumps(cell))
    if runs:
        return
    for cell in errors(families // 10 if quick else families, seed):
        click.echo(json.dumps(cell, ensure_ascii=False))
    for low in (0.0, -0.1, -1.0):
        for cell in powers(low, families, seed):
            click.echo(json.dumps(cell))


if __name__ == "__main__":
    main()
