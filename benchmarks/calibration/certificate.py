"""Simulate certificates of removed heads, and count how often the damage of the certified set is not small.

A run orders the heads of a model by their measured damage on one half of the units, and tests growing sets on
the other half, with the shipped code. The damage of a set is the sum of that of its heads, plus what heads do
for each other (self-repair), so that the true damage of every set is known. A run is wrong where the true
damage of the certified set is at least the bound.

    python benchmarks/calibration/certificate.py --runs 1000 --out docs/reference

It writes ``certificates.json`` and ``certificates.md``: a page of what was simulated. ``--quick`` has a tenth
of the runs.
"""

import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from threadpoolctl import threadpool_limits

from headroles.records.causal.pruning import WITHIN
from headroles.stats.causal.certificate import certify, decide_set

OUT = Path(__file__).resolve().parents[2] / "docs" / "reference"
ALPHA = 0.05
HEADS = 24
BOUND = 0.05
"""Share of the mean loss, which is 1 in all populations."""
UNITS = (75, 100, 200, 400)
SPREAD = 2.0
"""Standard deviation of the damage of a set over units, in units of the bound."""
SIZES = tuple(range(1, HEADS))
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


@dataclass(frozen=True)
class Noise:
    """Shape of the damage over units, with mean 0 and the standard deviation 1.

    Attributes:
        name: In words.
        draw: Draws numbers of a shape.
    """

    name: str
    draw: Draw


def _scaled(draw: Draw, mean: float, sd: float) -> Draw:
    return lambda chance, shape: (draw(chance, shape) - mean) / sd


def _rare(share: float) -> Draw:
    """Damage that hits a share of the units alone, where it is exponential; small noise elsewhere."""

    def draw(chance: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        hit = chance.random(shape) < share
        drawn: np.ndarray = hit * chance.exponential(1, shape) + chance.normal(0, 0.02, shape)
        return drawn

    return draw


def _rare_sd(share: float) -> float:
    return float(np.sqrt(2 * share - share**2 + 0.02**2))


NOISES = (
    Noise("normal", lambda chance, shape: chance.normal(0, 1, shape)),
    Noise(
        "skewed (log-normal, 1)",
        _scaled(
            lambda chance, shape: chance.lognormal(0, 1, shape),
            float(np.exp(0.5)),
            float(np.sqrt((np.e - 1) * np.e)),
        ),
    ),
    Noise(
        "very skewed (log-normal, 1.5)",
        _scaled(
            lambda chance, shape: chance.lognormal(0, 1.5, shape),
            float(np.exp(1.125)),
            float(np.sqrt((np.exp(2.25) - 1) * np.exp(2.25))),
        ),
    ),
    Noise("heavy tails (t, 3)", _scaled(lambda chance, shape: chance.standard_t(3, shape), 0.0, 3**0.5)),
    Noise("a tenth of the units is hurt", _scaled(_rare(0.1), 0.1, _rare_sd(0.1))),
    Noise("one unit in fifty is hurt", _scaled(_rare(0.02), 0.02, _rare_sd(0.02))),
    Noise("one unit in a hundred is hurt", _scaled(_rare(0.01), 0.01, _rare_sd(0.01))),
)
RARE = 2
"""Noises at the end of which no test of a mean without bounds can promise anything."""
ANSWERS = tuple((bound, rise) for bound in (0.01, 0.02, 0.05) for rise in (0.0, 0.01, 0.03))
"""Bound of the fall of accuracy, and share of inputs that the smaller model gets right anew."""
SETTINGS = ("many sets at the bound", "growing through the bound", "half the heads do nothing")
"""What the damages of heads are; see ``damages``."""


def damages(setting: str) -> np.ndarray:
    """Return the true damage of every head alone, in units of the bound.

    "many sets at the bound": heads do a quarter of the bound each, and all sets of four and more do exactly
    as much as the bound. "growing through the bound": all heads do the same damage, and 12 of them together
    reach the bound. "half the heads do nothing": 12 heads do none, and each of the others a third of it.
    """
    if setting == SETTINGS[0]:
        return np.full(HEADS, 1 / 4)
    if setting == SETTINGS[1]:
        return np.full(HEADS, 1 / 12)
    return np.array([0.0] * (HEADS // 2) + [1 / 3] * (HEADS // 2))


def joint_damage(single: np.ndarray, chosen: np.ndarray, setting: str) -> float:
    """Return the true damage of a set, in units of the bound.

    It is the sum of its heads, at most 1 in the first setting. In the last it is up to half as much more,
    where heads stand in for each other.
    """
    total = float(single[chosen].sum())
    if setting == SETTINGS[0]:
        return min(total, 1.0)
    return total * (1 + 0.5 * (len(chosen) - 1) / HEADS * (setting == SETTINGS[2]))


def one_run(
    chance: np.random.Generator, noise: Noise, setting: str, units: int, spread: float
) -> tuple[bool, int, int]:
    """Order heads, test sets, and return whether the certificate is wrong, its size, and the largest size.

    Args:
        chance: Source of all random numbers.
        noise: Shape of the damage over units.
        setting: One of ``SETTINGS``.
        units: Units of each half.
        spread: Standard deviation of the damage of one set over units, in units of the bound.
    """
    single = damages(setting)
    measured = BOUND * (single + spread * noise.draw(chance, (units, HEADS)).mean(axis=0))
    order = np.argsort(measured, kind="stable")
    clean = chance.gamma(4.0, 0.25, units)  # mean 1
    shared = noise.draw(chance, (units,))
    certified = 0
    for size in SIZES:
        true = joint_damage(single, order[:size], setting)
        own = 0.9 * shared + 0.1 * noise.draw(chance, (units,))
        change = BOUND * (true * clean + spread * own)
        if decide_set(change, clean, BOUND, ALPHA)[1] != WITHIN:
            break
        certified = size
    true_sizes = [size for size in SIZES if joint_damage(single, order[:size], setting) < 1 - 1e-9]
    wrong = certified > 0 and joint_damage(single, order[:certified], setting) >= 1 - 1e-9
    return wrong, certified, max(true_sizes, default=0)


def answers_run(
    chance: np.random.Generator, bound: float, rise: float, setting: str, units: int, intervals: bool
) -> tuple[bool, int, int, int, int]:
    """Return whether a certificate of accuracy is wrong, its size, the largest size, and its intervals.

    Every unit is an input. It falls with probability true damage + ``rise``, and rises with probability
    ``rise``; inputs that fall without a set of heads fall without a larger one.

    Returns:
        The last two: intervals that lack their mean, and those that lack the truth; both of the first set.
    """
    single = damages(setting)
    order = np.argsort(single + chance.normal(0, SPREAD / units**0.5, HEADS), kind="stable")
    true = [bound * joint_damage(single, order[:size], setting) for size in SIZES]
    where, ones, certified = chance.random(units), np.ones(units), 0
    without_mean = without_truth = 0
    for size, fall in zip(SIZES, true, strict=True):
        change = (where < fall + rise).astype(float) - (where >= 1 - rise)
        if intervals and size == 4:
            step = certify([size], change[None], ones, bound, ALPHA, (-1.0, 1.0))[0]
            without_mean += not step.low <= step.mean <= step.high
            without_truth += not step.low <= fall <= step.high
        if decide_set(change, ones, bound, ALPHA, (-1.0, 1.0))[1] != WITHIN:
            break
        certified = size
    most = max((size for size, fall in zip(SIZES, true, strict=True) if fall < bound - 1e-9), default=0)
    return certified > most, certified, most, without_mean, without_truth


def answers_cell(place: int, setting: str, units: int, runs: int, seed: int) -> dict[str, Any]:
    """Return the figures of certificates of accuracy; intervals are counted at 100 units alone."""
    bound, rise = ANSWERS[place]
    chance = np.random.default_rng([seed, 99, place, SETTINGS.index(setting), units])
    with threadpool_limits(1):
        results = [
            answers_run(
                chance, bound, rise, setting, units, intervals=units == 100 and setting == SETTINGS[0]
            )
            for _ in range(runs)
        ]
    columns = [np.array(column) for column in zip(*results, strict=True)]
    wrong = float(columns[0].mean())
    return {
        "noise": f"accuracy, bound {bound:g}, {rise:g} rise",
        "setting": setting,
        "units": units,
        "wrong": wrong,
        "standard_error": float(np.sqrt(max(wrong * (1 - wrong), 1e-9) / runs)),
        "found": float(np.mean(columns[1] / np.maximum(columns[2], 1))),
        "intervals_without_mean": int(columns[3].sum()),
        "intervals_without_truth": float(columns[4].mean()),
    }


def cell(noise: Noise, setting: str, units: int, runs: int, seed: int) -> dict[str, Any]:
    """Return the share of wrong certificates and the mean share of removable heads that were certified."""
    number = [NOISES.index(noise), SETTINGS.index(setting), units]
    chance = np.random.default_rng([seed, *number])
    with threadpool_limits(1):
        results = [one_run(chance, noise, setting, units, SPREAD) for _ in range(runs)]
    wrong = float(np.mean([each[0] for each in results]))
    found = [certified / most for _, certified, most in results if most]
    return {
        "noise": noise.name,
        "setting": setting,
        "units": units,
        "wrong": wrong,
        "standard_error": float(np.sqrt(max(wrong * (1 - wrong), 1e-9) / runs)),
        "found": float(np.mean(found)) if found else None,
    }


def page(data: dict[str, Any]) -> str:
    """Return the page of figures, from the figures alone."""
    cells = data["cells"]
    rare = {noise.name for noise in NOISES[-RARE:]}
    common = [each for each in cells if each["noise"] not in rare]
    answers = [each for each in cells if "intervals_without_mean" in each]
    measured = [each for each in answers if each["units"] == 100 and each["setting"] == SETTINGS[0]]
    worst = max(common, key=lambda each: each["wrong"])
    lines = [
        "# Calibration of pruning certificates",
        "",
        "How often is the damage of a certified set of heads not below its bound? We simulated runs whose "
        "true damages are known, and counted. The promise is at most 5 %.",
        "",
        f"Every cell has {data['about']['runs']:,} runs of {HEADS} heads. A rate of 0.05 has a standard "
        f"error of {np.sqrt(0.05 * 0.95 / data['about']['runs']):.3f}. The worst rate is "
        f"{worst['wrong']:.3f} ({worst['noise']}, {worst['setting']}, {worst['units']} units), without the "
        f"{RARE} rows of rare harm. No certificate has fewer than 75 test units.",
        "",
    ]
    for setting in SETTINGS:
        lines += [f"## {setting[0].upper()}{setting[1:]}", "", " ".join((damages_text(setting)).split()), ""]
        header = ["damage over units", *(f"{units} units" for units in UNITS)]
        lines += [f"| {' | '.join(header)} |", f"| {' | '.join(['---'] * len(header))} |"]
        for name in dict.fromkeys(each["noise"] for each in cells):
            own = {
                each["units"]: each for each in cells if (each["noise"], each["setting"]) == (name, setting)
            }
            lines.append(f"| {' | '.join([name, *(cell_text(own[units]) for units in UNITS)])} |")
        lines.append("")
    lines += [
        "Each cell has the share of wrong certificates, and in brackets the mean share of the removable "
        "heads that were certified.",
        "",
        "Rows of accuracy name the bound of its fall, and the share of inputs that the smaller model gets "
        "right anew. Their test is exact. Of "
        f"{len(measured) * data['about']['runs']:,} intervals at 100 units, "
        f"{sum(each['intervals_without_mean'] for each in measured)} lack their own mean; at most "
        f"{max(each['intervals_without_truth'] for each in measured):.3f} of those of a cell lack the truth.",
        "",
        "The two rows of rare harm are what no test of a mean can promise: damage that hits one unit in "
        "fifty or a hundred may be missing from the test half. A loss has no largest value, so nothing "
        "bounds what is not seen. Every certificate states which harm it could miss. Outcomes between 0 and "
        "1 (accuracy, distribution, representation) have a largest value: the certificate counts three "
        "further units with it.",
        "",
        "```",
        f"python benchmarks/calibration/certificate.py --runs {data['about']['runs']}",
        "```",
        "",
    ]
    return "\n".join(lines)


def damages_text(setting: str) -> str:
    """Return what the damages of heads are, in a sentence or two."""
    return {
        "many sets at the bound": "Each head does a quarter of the bound. Every set of four heads or more "
        "does exactly as much as the bound.",
        "growing through the bound": "All heads do the same damage, and 12 of 24 together reach the bound.",
        "half the heads do nothing": "12 heads do no damage, and each of the others a third of the bound. "
        "Heads stand in for each other: together they do more damage than the sum.",
    }[setting]


def cell_text(figures: dict[str, Any]) -> str:
    """Return the figures of a cell as text."""
    found = "" if figures["found"] is None else f" ({figures['found']:.2f})"
    return f"{figures['wrong']:.3f}{found}"


@click.command()
@click.option("--runs", default=1000, show_default=True, help="Runs of each cell.")
@click.option("--quick", is_flag=True, help="A tenth of the runs.")
@click.option("--seed", default=0, show_default=True, help="Seed of all cells.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes.")
@click.option("--again", is_flag=True, help="Write the page from the figures that are there.")
@click.option(
    "--out", default=OUT, type=click.Path(path_type=Path), help="Folder of the figures and the page."
)
def main(runs: int, quick: bool, seed: int, jobs: int, again: bool, out: Path) -> None:
    """Simulate certificates, and write figures and page."""
    runs = runs // 10 if quick else runs
    if again:
        data = json.loads((out / "certificates.json").read_text(encoding="utf-8"))
    else:
        places = [
            (noise, setting, units)
            for noise in range(len(NOISES) + len(ANSWERS))
            for setting in SETTINGS
            for units in UNITS
        ]
        with ProcessPoolExecutor(jobs) as pool:
            futures = [pool.submit(one_cell, *place, runs, seed) for place in places]
            cells = [future.result() for future in futures]
        data = {
            "about": {"runs": runs, "seed": seed, "alpha": ALPHA, "bound": BOUND, "heads": HEADS},
            "cells": cells,
        }
        out.mkdir(parents=True, exist_ok=True)
        lines = ",\n".join(json.dumps(each) for each in cells)
        text = f'{{"about": {json.dumps(data["about"])},\n"cells": [\n{lines}\n]}}\n'
        (out / "certificates.json").write_text(text, encoding="utf-8")
    (out / "certificates.md").write_text(page(data), encoding="utf-8")
    worst = max(data["cells"], key=lambda each: each["wrong"])
    print(json.dumps({"worst": worst}), file=sys.stdout)


def one_cell(noise: int, setting: str, units: int, runs: int, seed: int) -> dict[str, Any]:
    """Simulate one cell in its own process."""
    if noise >= len(NOISES):
        return answers_cell(noise - len(NOISES), setting, units, runs, seed)
    return cell(NOISES[noise], setting, units, runs, seed)


if __name__ == "__main__":
    main()
