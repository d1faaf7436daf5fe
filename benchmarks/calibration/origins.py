"""Simulate the tests of where roles come from, on heads where the truth is known: what is false, what found.

Every test is the shipped one (``headroles.stats.why``). "False" is the share of false claims, where means lie
exactly at the boundary of the null. "Found" is the share of planted effects that are claimed.

    python benchmarks/calibration/origins.py  # adds to docs/reference/calibration.json
"""

import json
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from interventions import SHAPES, Draw
from simulate import FIGURES, written

from headroles.records.causal.ablation import FEWEST_UNITS
from headroles.records.causal.origins import (
    BY_QUERY,
    FALLS,
    FEW,
    HOLDS,
    SUBSPACE,
    VERTICAL,
    Knocked,
    Products,
)
from headroles.records.rules.rule import Decision
from headroles.records.table import Table
from headroles.stats.correction import adjust, significant
from headroles.stats.why.dimensions import FAIR, dimension_tests
from headroles.stats.why.knockouts import knockout_tests
from headroles.stats.why.rotations import rotation_tests
from headroles.stats.why.subspace import find_directions
from headroles.stats.why.vertical import vertical_tests

OUT = Path(__file__).resolve().parents[2] / "docs" / "reference"
UNITS = (50, 100, 200)
FAMILIES = 24
"""Roles of heads in a run, corrected together by Holm's method."""
SIZE = 32
"""Dimensions of a head, where the case names no other."""
SPREAD, SHIFT = 0.2, 0.5
"""Standard deviation over units, as a part of the contrast, and planted effects in standard deviations."""
REDEALS, INPUTS, TOKENS, OFFSETS, KEYS = 19, 8, 20, 3, 8
"""Of the simulation of directions: re-deals, inputs, queries of each, keys of each query, dimensions."""
ALONE = Decision(correction="none")
"""Holm's method is applied to the runs of a cell afterwards, so that many runs are tested at once."""
Cell = dict[str, Any]


def products_of(
    parts: np.ndarray,
    vertical: np.ndarray | None = None,
    outer: np.ndarray | None = None,
    redealt: np.ndarray | None = None,
    references: np.ndarray | None = None,
) -> Products:
    """Return products with some arrays, and nothing in the others; without references one cannot err."""
    units, families, size = parts.shape
    return Products(
        roles=("made",) * families,
        layers=np.zeros(families, dtype=int),
        heads=np.arange(families),
        units=tuple(map(str, range(units))),
        parts=parts,
        vertical=np.zeros((units, families)) if vertical is None else vertical,
        references=np.zeros((FEWEST_UNITS, families)) if references is None else references,
        bias=np.zeros((units, families)),
        outer=np.zeros((families, size, size)) if outer is None else outer,
        redealt=np.zeros((families, 0)) if redealt is None else redealt,
        group=np.arange(size),
        free=np.ones(size, dtype=bool),
    )


def shared_noise(draw: Draw, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Return noise of units × (runs and families); the families of a run share a third of the variance."""
    units, runs = shape
    own, common = draw(rng, (units, runs, FAMILIES)), draw(rng, (units, runs, 1))
    noise: np.ndarray = SPREAD * (0.8 * own + 0.6 * common).reshape(units, -1)
    return noise


def in_runs(p: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Return the claims of runs × families under Holm's method, from p as a family counts them."""
    own = p.reshape(-1, FAMILIES)
    claimed: np.ndarray = significant(adjust(own, "holm"), 0.05, own) & allowed.reshape(own.shape)
    return claimed


def vertical(draw: Draw, times: int, rng: np.random.Generator) -> list[Cell]:
    """Return errors and power of the shared part: half of the contrast, or more or less than half."""
    cells = []
    for units in UNITS:
        noise = shared_noise(draw, (units, times), rng)
        parts = 1 + SPREAD * rng.normal(size=noise.shape)
        claims: dict[str, list[np.ndarray]] = {VERTICAL: [], BY_QUERY: []}
        for shift in (0.0, SHIFT * SPREAD, -SHIFT * SPREAD):
            found = vertical_tests(products_of(parts[:, :, None], (parts + noise + shift) / 2), ALONE)
            for verdict, answers in ((VERTICAL, found.more), (BY_QUERY, found.less)):
                claims[verdict].append(in_runs(answers.q[0], found.testable))
        for place, (verdict, claimed) in enumerate(claims.items()):
            false, power = claimed[0].any(axis=1).mean(), claimed[1 + place].mean()
            cells.append({"claim": verdict, "case": f"{units} units", "false": false, "found": power})
    return cells


def dimensions(draw: Draw, times: int, rng: np.random.Generator) -> list[Cell]:
    """Return false discoveries of dimensions at twice their fair share, and power of two at eight times."""
    cells = []
    share = np.zeros((2, SIZE))
    share[0, : SIZE // int(FAIR)] = FAIR
    share[1, :2], share[1, 2:10] = 8.0, FAIR
    side = np.where(np.arange(SIZE) % 2, -1.0, 1.0)  # a long tail on either side
    for units in UNITS:
        rates = []
        for means in share / SIZE:
            parts = means + side * FAIR / SIZE * draw(rng, (units, times, SIZE))
            tests = dimension_tests(products_of(parts), np.ones(times, dtype=bool), times, ALONE)
            found = np.array([test.found for test in tests]).reshape(times, SIZE)
            true = means > FAIR / SIZE
            false = (found & ~true).sum(axis=1) / np.maximum(found.sum(axis=1), 1)
            rates.append((false.mean(), found[:, true].mean() if true.any() else np.nan))
        (alone, _), (beside, power) = rates
        case = f"{units} units"
        cells.append(
            {"claim": "dimensions, none has more than twice its share", "case": case, "false": alone}
        )
        claim = "dimensions, two of 32 have eight times their share"
        cells.append({"claim": claim, "case": case, "false": beside, "found": power})
    return cells


def rotations(draw: Draw, times: int, rng: np.random.Generator) -> list[Cell]:
    """Return claims of few neurons, of rotated copies of heads with planted dimensions, and of these."""
    cells = []
    for size, planted in ((16, 1), (32, 1), (32, 4), (64, 1)):
        claimed = np.zeros((times, 2), dtype=bool)
        for start in range(0, times, 50):
            own = range(start, min(start + 50, times))
            outer = 0.2 * draw(rng, (len(own), size, size))
            places = np.arange(planted)
            outer[:, places, places] += 1
            turn = np.linalg.qr(rng.normal(size=outer.shape))[0]
            for column, heads in enumerate((turn @ outer @ turn.swapaxes(1, 2), outer)):
                decision = replace(ALONE, seed=int(rng.integers(2**31)))
                made = products_of(np.zeros((1, len(own), size)), outer=heads)
                few = rotation_tests(made, np.ones(len(own), dtype=bool), 999, decision).few
                claimed[own, column] = [said == FEW for said in few]
        false, power = claimed.mean(axis=0)
        case = f"{planted} of {size}"
        cells.append({"claim": FEW, "case": case, "false": false, "found": power})
    return cells


def directions(draw: Draw, times: int, rng: np.random.Generator) -> list[Cell]:
    """Return claims of directions: roles choose one of three keys by chance, or by one or two directions."""
    cells = []
    for planted in (0, 1, 2):
        largest, rank = np.zeros((times, 1 + REDEALS)), np.zeros(times, dtype=int)
        for run in range(times):
            queries = draw(rng, (INPUTS, TOKENS, KEYS))
            keys = draw(rng, (INPUTS, TOKENS, OFFSETS, KEYS))
            score = 3 * np.einsum("ird,irod->iro", queries[..., :planted], keys[..., :planted])
            choice = (score + rng.gumbel(size=score.shape)).argmax(axis=2)
            choices = [choice, *(rng.permuted(choice, axis=1) for _ in range(REDEALS))]
            outer = np.stack([_outer(queries, keys, chosen) for chosen in choices])
            largest[run] = np.linalg.norm(outer, ord=2, axis=(1, 2))
            made = products_of(np.zeros((1, 1, KEYS)), outer=outer[:1], redealt=largest[run : run + 1, 1:])
            rank[run] = find_directions(made).rank[0]
        cell = {"claim": "directions beyond distance", "case": f"{planted} planted"}
        found = {"found": (rank >= planted).mean()} if planted else {}
        cells.append(cell | {"false": (rank > planted).mean()} | found)
    return cells


def _outer(queries: np.ndarray, keys: np.ndarray, choice: np.ndarray) -> np.ndarray:
    """Return the mean of query times difference of keys: the chosen one minus the mean of the others."""
    chosen = np.take_along_axis(keys, choice[..., None, None], axis=2)[:, :, 0]
    difference = chosen - (keys.sum(axis=2) - chosen) / (OFFSETS - 1)
    outer: np.ndarray = np.einsum("ird,ire->de", queries, difference) / choice.size
    return outer


def knockouts(draw: Draw, times: int, rng: np.random.Generator) -> list[Cell]:
    """Return errors and power of scores after removals: at their threshold, and beyond it on either side."""
    cells = []
    for units in UNITS:
        noise = shared_noise(draw, (units, times), rng)
        claims: dict[str, list[np.ndarray]] = {FALLS: [], HOLDS: []}
        for shift in (0.0, -SHIFT * SPREAD, SHIFT * SPREAD):
            tests = _knocked((noise + shift).T)
            for verdict, name in ((FALLS, "q_falls"), (HOLDS, "q_holds")):
                p = tests[name]
                claims[verdict].append(in_runs(p, np.ones(p.shape, dtype=bool)))
        for place, (verdict, claimed) in enumerate(claims.items()):
            false, power = claimed[0].any(axis=1).mean(), claimed[1 + place].mean()
            cells.append({"claim": verdict, "case": f"{units} units", "false": false, "found": power})
    return cells


def _knocked(beyond: np.ndarray) -> Table:
    """Return the tests of scores less their threshold (rows, units); q are p as a family counts them."""
    rows, units = beyond.shape
    knocked = Knocked(
        by=(SUBSPACE,) * rows,
        family=np.arange(rows),
        size=np.ones(rows, dtype=int),
        scored=("made",) * rows,
        units=tuple(map(str, range(units))),
        before=beyond,
        after=beyond,
        threshold=np.zeros(rows),
    )
    return knockout_tests(products_of(np.zeros((1, rows, 1))), knocked, ALONE)


KINDS = (vertical, dimensions, rotations, directions, knockouts)


def cells_of(times: int, seed: int) -> list[Cell]:
    """Return a cell for every claim, case and shape of scores."""
    cells = []
    for shape, draw in SHAPES.items():
        for simulate in KINDS:
            rng = np.random.default_rng([seed, zlib.crc32(f"{simulate.__name__} {shape}".encode())])
            cells += [{"shape": shape} | cell for cell in simulate(draw, times, rng)]
    return [
        {key: round(float(value), 4) if key in ("false", "found") else value for key, value in cell.items()}
        for cell in cells
    ]


@click.command()
@click.option("--times", default=200, show_default=True, help="Simulations of every cell.")
@click.option("--seed", default=0, show_default=True)
@click.option("--out", default=str(OUT), show_default=True, help="Folder with calibration.json.")
def main(times: int, seed: int, out: str) -> None:
    """Simulate the tests of where roles come from, and add them to the other figures."""
    about = {
        "times": times,
        "seed": seed,
        "families": FAMILIES,
        "size": SIZE,
        "spread": SPREAD,
        "shift": SHIFT,
    }
    place = Path(out)
    data = json.loads((place / FIGURES).read_text(encoding="utf-8"))
    written(data | {"origins": {"about": about, "cells": cells_of(times, seed)}}, place)


if __name__ == "__main__":
    main()
