"""Simulate the tests of interventions on heads where the truth is known, and count false and true claims.

Every test is the shipped one (``headroles.stats.causal``). A run has one family of heads, corrected by Holm's
method. "False" is the share of runs with any claim where no claim is true: all heads lie exactly at the
boundary of the null. "Found" is the share of heads whose planted effect is claimed.

    python benchmarks/calibration/interventions.py  # adds to docs/reference/calibration.json
    python benchmarks/calibration/interventions.py --kind damage  # renews the claims of one kind alone
"""

import json
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
import numpy as np
from intervention_tables import CLAIMS
from simulate import FIGURES, written

from headroles.records.causal.columns import LOSS
from headroles.records.example import Scores
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.causal.damage import damage_tests
from headroles.stats.causal.questions import Questions, judge_questions
from headroles.stats.causal.rarity import random_areas, rarity
from headroles.stats.causal.roles import unit_areas
from headroles.stats.engine import judge

OUT = Path(__file__).resolve().parents[2] / "docs" / "reference"
UNITS = (50, 75, 100, 200, 400)
HEADS = 24
"""Heads of a run, one family."""
THETA = 1.0
SPREAD = 2.0
"""Standard deviation over units of the damage of a head at a boundary, in θ."""
LITTLE = 0.2
"""The same for heads whose damage is little, as a share."""
HOLM = Decision(correction="holm", family="layer")
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def _log_normal(sigma: float) -> Draw:
    mean, sd = np.exp(sigma**2 / 2), np.sqrt((np.exp(sigma**2) - 1) * np.exp(sigma**2))
    return lambda rng, shape: (rng.lognormal(0, sigma, size=shape) - mean) / sd


def _rare(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Damage of one in twenty units, next to nothing of the others."""
    damage = np.where(rng.random(shape) < 0.05, rng.gamma(2, size=shape), 0.0) - 0.1
    return damage / np.sqrt(0.05 * 6 - 0.01) + 1e-3 * rng.normal(size=shape)


SHAPES: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "heavy-tailed": lambda rng, shape: rng.laplace(size=shape) / np.sqrt(2),
    "log-normal, σ = 1": _log_normal(1.0),
    "log-normal, σ = 1.5": _log_normal(1.5),
    "5 % of units": _rare,
}
"""Damage over units, with mean 0 and standard deviation 1."""


def _scores(values: np.ndarray) -> tuple[Scores, list[Rule]]:
    """Return damages (units, runs, heads) as those of a model whose layers are runs."""
    units = tuple(map(str, range(len(values))))
    nothing = np.zeros((1, len(units)))
    arm = f"{LOSS}:mean"
    scores = Scores(
        (arm,), units, units, np.zeros(len(units), int), nothing, values[None].astype(np.float32), nothing
    )
    return scores, [Rule(arm, margin=THETA)]


def _verdicts(values: np.ndarray) -> np.ndarray:
    scores, rules = _scores(values)
    verdict: np.ndarray = damage_tests(scores, rules, judge(scores, rules, HOLM), HOLM).verdict[0]
    return verdict


def damage(draw: Draw, units: int, runs: int, rng: np.random.Generator) -> dict[str, list[float]]:
    """Return false and found claims of the three verdicts of heads, which share a part of their damage."""
    shape = (units, runs, HEADS)
    noise = SPREAD * (0.8 * draw(rng, shape) + 0.6 * draw(rng, (units, runs, 1)))
    above, below = _verdicts(THETA + noise), _verdicts(-THETA + noise)
    found = _verdicts(np.where(np.arange(HEADS) % 3, 0.1 * THETA + LITTLE * noise, 2 * THETA + noise))
    mirrored = _verdicts(-2 * THETA + noise)
    one = found[:, np.arange(HEADS) % 3 == 0]
    return {
        "needed": [float((above == 0).any(axis=1).mean()), float((one == 0).mean())],
        "interfering": [float((below == 4).any(axis=1).mean()), float((mirrored == 4).mean())],
        "negligible": [
            float((above == 1).any(axis=1).mean()), float((found[:, np.arange(HEADS) % 3 > 0] == 1).mean())
        ],
    }  # fmt: skip


LABELLED = 4
"""Heads with a role in a run, one family."""


def _asked(values: np.ndarray, contrast: np.ndarray | None) -> np.ndarray:
    """Return the decisions of questions (units, runs, labelled heads), a family for each run."""
    units, runs, heads = values.shape
    flat = [None if part is None else part.reshape(1, units, -1) for part in (values, contrast)]
    questions = Questions(
        ("loss:mean",), tuple(map(str, range(units))), np.repeat(np.arange(runs), heads), flat[0],
        [(np.nan, np.nan)], flat[1],
    )  # fmt: skip
    decided: np.ndarray = judge_questions(questions, Decision(correction="holm")).decision
    return decided.reshape(runs, heads) == 0


def sites(draw: Draw, units: int, runs: int, rng: np.random.Generator) -> dict[str, list[float]]:
    """Return false and found claims of sites, beyond 3 controls, and of cells, beyond matched ones."""
    shape = (units, runs, LABELLED)
    layer = draw(rng, (units, runs, 1))
    own = layer + draw(rng, shape)
    controls = layer + draw(rng, (units, runs, 3)).mean(axis=2, keepdims=True)
    nothing = _asked(own, own - controls)
    everywhere = _asked(0.5 + own, own - controls)
    planted = _asked(0.5 + own, 0.5 + own - controls)
    cells, matched = layer + draw(rng, shape), layer + draw(rng, shape)
    return {
        "at its sites": [float(nothing.any(axis=1).mean()), float(planted.mean())],
        "at its sites, where all heads of the layer do damage": [
            float(everywhere.any(axis=1).mean()),
            np.nan,
        ],
        "its cells matter": [
            float(_asked(cells - matched, None).any(axis=1).mean()),
            float(_asked(0.5 + cells - matched, None).mean()),
        ],
    }


LAYERS, IN_LAYER, HELD = 2, 8, 3


def roles(draw: Draw, units: int, runs: int, rng: np.random.Generator) -> dict[str, list[float]]:
    """Return false and found claims of roles over exchangeable heads, and of labels and sets at random."""
    held = np.zeros((LAYERS, IN_LAYER), dtype=bool)
    held[:, :HELD] = True
    areas = np.empty((2, units, runs))
    rare = np.empty((3, runs))
    for run in range(runs):
        size = np.exp(draw(rng, (units, 1, 1)) / 2)
        values = size * draw(rng, (units, LAYERS, IN_LAYER))
        areas[0, :, run], areas[1, :, run] = (
            unit_areas(values, held),
            unit_areas(values + 0.3 * size * held, held),
        )
        own = values + draw(rng, (1, LAYERS, IN_LAYER))  # heads that differ, whatever their labels
        mean = own.mean(axis=0)
        drawn = np.array([mean[rng.permuted(held, axis=1)].sum() for _ in range(99)])
        rare[0, run] = rarity(float(mean[held].sum()), drawn)
        rare[1, run] = rarity(float(unit_areas(own, held).mean()), random_areas(own, held, 199, run))
    names = tuple(map(str, range(units)))
    more = []
    for values in areas:
        questions = Questions(("loss:mean",), names, np.arange(runs), values[None], [(0.0, 1.0)], null=0.5)
        more.append(float((judge_questions(questions, Decision()).decision == 0).mean()))
    return {
        "more damage (area above 0.5)": more,
        "more than random sets (p at most 0.05)": [float((rare[0] <= 0.05).mean()), np.nan],
        "area rarer than of labels at random (p at most 0.05)": [float((rare[1] <= 0.05).mean()), np.nan],
    }


KINDS = {"damage": damage, "sites": sites, "roles": roles}


def cells_of(
    units: Iterable[int], runs: int, seed: int, kinds: Iterable[str] = tuple(KINDS)
) -> list[dict[str, Any]]:
    """Return a cell for every claim of some kinds, shape and number of units."""
    cells = []
    for kind, simulate in ((kind, KINDS[kind]) for kind in kinds):
        for shape, draw in SHAPES.items():
            for size in units:
                rng = np.random.default_rng([seed, zlib.crc32(f"{kind} {shape} {size}".encode())])
                for claim, (false, found) in simulate(draw, size, runs, rng).items():
                    cell = {"claim": claim, "shape": shape, "units": size, "false": round(false, 4)}
                    cells.append(cell | ({} if np.isnan(found) else {"found": round(found, 4)}))
    return cells


@click.command()
@click.option("--runs", default=1_000, show_default=True, help="Runs of every cell.")
@click.option("--units", multiple=True, type=int, default=UNITS, show_default=True, help="Repeatable.")
@click.option("--seed", default=0, show_default=True)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(list(KINDS)),
    default=tuple(KINDS),
    help="Kinds of claims to renew; cells of others stay. Repeatable.",
)
@click.option("--out", default=str(OUT), show_default=True, help="Folder with calibration.json.")
def main(runs: int, units: tuple[int, ...], seed: int, kinds: tuple[str, ...], out: str) -> None:
    """Simulate the tests of interventions, and add them to the other figures.

    Raises:
        ClickException: When cells that stay have another number of runs or another seed.
    """
    about = {"runs": runs, "seed": seed, "heads": HEADS, "labelled": LABELLED}
    place = Path(out)
    data = json.loads((place / FIGURES).read_text(encoding="utf-8"))
    before = data.get("interventions", {"about": about, "cells": []})
    renewed = {claim for kind in kinds for claim in CLAIMS[kind]}
    stay = [cell for cell in before["cells"] if cell["claim"] not in renewed]
    was = {name: before["about"].get(name) for name in about}
    if stay and was != about:
        raise click.ClickException(
            f"cells that stay must be of the same simulation, but theirs is {was} and this one {about}; "
            f"give the same options, or renew every kind"
        )
    cells = cells_of(units, runs, seed, kinds) + stay
    written(data | {"interventions": {"about": about, "cells": cells}}, place)


if __name__ == "__main__":
    main()
