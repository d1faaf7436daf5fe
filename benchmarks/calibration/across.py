"""Simulate the tests over many runs on heads where the truth is known: what is false, and what is covered.

Every test is the shipped one (``headroles.stats.across``). Scores of a run are tested by t-skew, and claims
that hinge on few units are withheld. Heads without a role lie exactly at its threshold. "False" is the mean
share of claims that are false. "Covers" is the share of intervals with the truth in them.

    python benchmarks/calibration/across.py  # adds to docs/reference/calibration.json
"""

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from interventions import SHAPES, Draw
from simulate import FIGURES, written

from headroles.records.example import Scores
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.across.conjunction import conjunctions
from headroles.stats.across.meta import pool_means
from headroles.stats.across.replicability import replicability_r
from headroles.stats.across.steps import NEVER, emergence, losses, trends
from headroles.stats.columns import Columns
from headroles.stats.correction import adjust, significant
from headroles.stats.engine import counted_p, judge

OUT = Path(__file__).resolve().parents[2] / "docs" / "reference"
UNITS, HEADS = 100, 24
"""Units and heads of a run, one family."""
RUNS, STEPS = 4, 6
CLEAR = 0.5
"""Distance from the threshold of heads with a role, in standard deviations over units."""
SHARED = 0.8
"""Correlation of the scores of two runs with the same inputs."""
COMBINED = {"apart": ("bonferroni", "simes", "fisher"), "the same": ("bonferroni", "simes")}
"""Combinations by the inputs of runs for which they are meant."""
POOLED, BETWEEN = (5, 8, 15), (0.0, 0.03, 0.1)
"""Numbers of runs, and standard deviations of their true means, of pooled means."""
Cell = dict[str, Any]


def tested(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return p of roles and of nots of units × runs × heads, as families count them."""
    units = tuple(map(str, range(len(values))))
    nothing = np.zeros((1, len(units)))
    scores = Scores(
        ("made",),
        units,
        units,
        np.ones(len(units), int),
        nothing + 1,
        values[None].astype(np.float32),
        nothing,
    )
    rules, usual = [Rule("made", margin=0.0)], Decision()
    p, p_not = counted_p(Columns(scores, rules), judge(scores, rules, usual), usual)
    return p[0], p_not[0]


def false_share(claimed: np.ndarray, true: np.ndarray) -> float:
    """Return the share of claims that are false; 0 without a claim."""
    return float((claimed & ~true).sum() / max(claimed.sum(), 1))


def in_runs(draw: Draw, times: int, rng: np.random.Generator) -> Iterator[Cell]:
    """Yield false claims of "in at least u runs": a third of heads hold it in u, the others in u − 1."""
    having = np.arange(HEADS) % 3 == 0
    for inputs, names in COMBINED.items():
        part = np.sqrt(SHARED) if inputs == "the same" else 0.0
        for u in range(1, RUNS + 1):
            shares: dict[str, list[float]] = {name: [] for name in names}
            for _ in range(times):
                means = CLEAR * (np.arange(RUNS)[:, None] < np.where(having, u, u - 1))
                common = draw(rng, (UNITS, HEADS))
                own = draw(rng, (UNITS, RUNS, HEADS))
                p = tested(means + part * common[:, None] + np.sqrt(1 - part**2) * own)[0]
                for name in names:
                    at_least = conjunctions(p, name, "fdr_bh", 0.05).at_least
                    shares[name].append(false_share(at_least >= u, having))
            for name, found in shares.items():
                case = f"u = {u}, inputs {inputs}"
                yield {
                    "claim": f"in at least u of {RUNS} runs, {name}",
                    "case": case,
                    "false": np.mean(found),
                }


def in_both(draw: Draw, times: int, rng: np.random.Generator) -> Iterator[Cell]:
    """Yield false claims of r values: a third of heads have the role in both runs, a third in one each."""
    kind = np.arange(HEADS) % 3
    means = CLEAR * np.stack([kind != 2, kind != 1])
    shares = []
    for _ in range(times):
        first, second = tested(means + draw(rng, (UNITS, 2, HEADS)))[0]
        shares.append(false_share(replicability_r(first, second) <= 0.05, kind == 0))
    yield {"claim": "in both of two runs, r values", "case": "inputs apart", "false": np.mean(shares)}


def over_steps(draw: Draw, times: int, rng: np.random.Generator) -> Iterator[Cell]:
    """Yield errors of trends, of first steps and of losses, where steps share half of the variance."""
    false: dict[str, list[float]] = {"trend": [], "from its step on": [], "lost": []}
    covered = []
    flat = np.zeros(HEADS, dtype=bool)
    for _ in range(times):
        noise = np.sqrt(0.5) * (draw(rng, (1, UNITS, HEADS)) + draw(rng, (STEPS, UNITS, HEADS)))
        slope = trends(noise)[1]
        p = np.minimum(1, 2 * np.minimum(slope.p, slope.p_not))
        false["trend"].append(false_share(significant(adjust(p, "fdr_bh", 0.05), 0.05, p), flat))
        step = rng.integers(0, STEPS + 1, HEADS)
        side = np.where(np.arange(STEPS)[:, None] >= step, CLEAR, 0.0)
        found = emergence(*tested(side + noise.swapaxes(0, 1)))
        held = found.step != NEVER
        false["from its step on"].append(false_share(held, found.step >= step))
        latest = np.where(found.latest == NEVER, STEPS, found.latest)
        covered.append(float(((found.earliest <= step) & (step <= latest)).mean()))
        gone = losses(*tested(side[::-1] + noise.swapaxes(0, 1)))
        false["lost"].append(false_share(gone != NEVER, flat))
    for claim, shares in false.items():
        yield {"claim": claim, "case": f"{STEPS} steps", "false": np.mean(shares)}
    yield {"claim": "interval of the step", "case": f"{STEPS} steps", "covers": np.mean(covered)}


def pooled(times: int, rng: np.random.Generator) -> Iterator[Cell]:
    """Yield coverage of pooled means and of the next run, with standard errors of 0.03 to 0.1."""
    for runs in POOLED:
        for between in BETWEEN:
            mean, ahead = [], []
            for _ in range(times):
                errors = rng.uniform(0.03, 0.1, runs)
                true = between * rng.normal(size=runs + 1)
                found = pool_means(true[:runs] + errors * rng.normal(size=runs), errors)
                mean.append(found.low <= 0 <= found.high)
                ahead.append(found.next_low <= true[runs] <= found.next_high)
            case = f"{runs} runs, τ = {between:g}"
            yield {"claim": "interval of the pooled mean", "case": case, "covers": np.mean(mean)}
            yield {"claim": "prediction interval of the next run", "case": case, "covers": np.mean(ahead)}


def cells_of(times: int, seed: int) -> list[Cell]:
    """Return a cell for every claim, case and shape of scores."""
    cells = []
    for shape, draw in SHAPES.items():
        rng = np.random.default_rng([seed, zlib.crc32(shape.encode())])
        for simulate in (in_runs, in_both, over_steps):
            cells += [{"shape": shape} | cell for cell in simulate(draw, times, rng)]
    cells += [{"shape": "normal"} | cell for cell in pooled(times, np.random.default_rng([seed, 1]))]
    return [
        {key: round(float(value), 4) if key in ("false", "covers") else value for key, value in cell.items()}
        for cell in cells
    ]


@click.command()
@click.option("--times", default=1_000, show_default=True, help="Simulations of every cell.")
@click.option("--seed", default=0, show_default=True)
@click.option("--out", default=str(OUT), show_default=True, help="Folder with calibration.json.")
def main(times: int, seed: int, out: str) -> None:
    """Simulate the tests over many runs, and add them to the other figures."""
    about = {"times": times, "seed": seed, "units": UNITS, "heads": HEADS, "runs": RUNS, "steps": STEPS}
    place = Path(out)
    data = json.loads((place / FIGURES).read_text(encoding="utf-8"))
    written(data | {"across": {"about": about, "cells": cells_of(times, seed)}}, place)


if __name__ == "__main__":
    main()
