"""Simulate every test, correction and interval, and count how often headroles is wrong.

Writes ``calibration.json`` (all figures) and, from it alone, ``calibration.md`` (the summary), its pictures
and ``calibration-tables.md``. Prints the first of these tables, and one line of JSON for every limit. Each
cell has a seed of its own, so figures do not depend on which other cells are run, nor on the number of
processes.
"""

import json
import os
import sys
import zlib
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import click
from cells import simulate
from counts import ALPHA, BOUNDS, DRAWS, EFFECTS, ERRORS, PATTERN, UNITS, Effort
from limits import limits
from page import limits_table, pages
from populations import BLOCK, CORRELATIONS, Population, made, real
from threadpoolctl import threadpool_limits

KINDS = ("symmetric", "skewed", "real")
FIGURES = "calibration.json"


def one_cell(population: Population, units: int, effort: Effort, seed: int) -> dict[str, object]:
    """Simulate one cell in its own process, on one thread."""
    name = f"{population.name} {population.correlation} {units}"
    with threadpool_limits(1):
        return simulate(population, units, effort, (seed, zlib.crc32(name.encode())))


def gathered(cells: str, folders: tuple[str, ...]) -> tuple[list[Population], str]:
    """Return the requested populations, and the source of the real scores."""
    populations = [each for kind in KINDS[:2] if cells in (kind, "all") for each in made(kind)]
    if cells not in ("real", "all"):
        return populations, "not asked for"
    scored, origin = real(folders)
    return populations + scored, origin


def simulated(
    cells: list[tuple[Population, int]], effort: Effort, seed: int, jobs: int
) -> list[dict[str, object]]:
    """Simulate all cells, and return them in the order of the request."""
    with ProcessPoolExecutor(jobs) as pool:
        futures = [pool.submit(one_cell, *cell, effort, seed) for cell in cells]
        with click.progressbar(as_completed(futures), len(cells), "cells", file=sys.stderr) as done:
            for _ in done:
                pass
        return [future.result() for future in futures]


def about(cells: list[tuple[Population, int]], origin: str, effort: Effort, seed: int) -> dict[str, Any]:
    """Return the settings that a reader needs to judge the figures or to repeat them."""
    described = {population.name: population.described() for population, _ in cells}
    return {
        "runs": effort.runs,
        "seed": seed,
        "alpha": ALPHA,
        "units": sorted({units for _, units in cells}),
        "block": BLOCK,
        "correlations": CORRELATIONS,
        "effects": PATTERN,
        "bounds": BOUNDS,
        "interval_effects": EFFECTS,
        "draws": DRAWS,
        "order_of_errors": [f"{error}, {side}" for error in ERRORS for side in ("role", "not")],
        "real": origin,
        "populations": list(described.values()),
    }


def written(data: dict[str, Any], out: Path) -> None:
    """Write the JSON with one line per cell, its pages and its pictures."""
    out.mkdir(parents=True, exist_ok=True)
    cells = ",\n".join(json.dumps(cell, separators=(",", ":"), allow_nan=False) for cell in data["cells"])
    head = json.dumps(data["about"], allow_nan=False)
    text = f'{{"about": {head},\n"cells": [\n{cells}\n]{_added_text(data)}}}\n'
    (out / FIGURES).write_text(text, encoding="utf-8")
    for name, content in pages(json.loads(text)).items():
        (out / name).write_text(content, encoding="utf-8")


ADDED = ("columns", "interventions", "across", "origins")
"""Figures of columns.py, interventions.py, across.py and origins.py, which simulate.py does not renew."""


def _added_text(data: dict[str, Any]) -> str:
    """Return the figures of other scripts with one line per cell; nothing where there are none."""
    texts = []
    for name in ADDED:
        if name in data:
            about, cells = data[name]["about"], data[name]["cells"]
            lines = ",\n".join(json.dumps(cell, separators=(",", ":"), allow_nan=False) for cell in cells)
            texts.append(f',\n"{name}": {{"about": {json.dumps(about)},\n"cells": [\n{lines}\n]}}')
    return "".join(texts)


def _kept(place: Path) -> dict[str, Any]:
    """Return the figures of other scripts that a folder holds."""
    if not (place / FIGURES).is_file():
        return {}
    data = json.loads((place / FIGURES).read_text(encoding="utf-8"))
    return {name: data[name] for name in ADDED if name in data}


def fresh(
    quick: bool, runs: int, cells: str, units: tuple[int, ...], scores: tuple[str, ...], seed: int, jobs: int
) -> dict[str, Any]:
    """Simulate all figures."""
    effort = Effort(runs // 50 if quick else runs)
    if effort.runs < 200:
        sys.exit("some figures get a 100th of the runs or less; give at least 200 (10,000 with --quick)")
    populations, origin = gathered(cells, scores)
    requested = [(population, size) for population in populations for size in units]
    results = simulated(requested, effort, seed, jobs)
    return {"about": about(requested, origin, effort, seed), "cells": results}


@click.command()
@click.option(
    "--quick", is_flag=True, help="A fiftieth of the runs: for a first look, not for figures to quote."
)
@click.option("--runs", default=20_000, show_default=True, help="Runs of the default test on normal scores.")
@click.option("--cells", type=click.Choice([*KINDS, "all"]), default="all", show_default=True)
@click.option("--units", multiple=True, type=int, default=UNITS, show_default=True, help="Repeatable.")
@click.option("--scores", multiple=True, help="Run folder whose scores are recentred; repeatable.")
@click.option("--seed", default=0, show_default=True)
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes.")
@click.option("--out", default="calibration", show_default=True, help="Folder for the figures and the page.")
@click.option("--again", is_flag=True, help="Simulate nothing: make the page from the figures in --out.")
def main(again: bool, out: str, **chosen: Any) -> None:
    """Simulate, and report which promises hold and which do not."""
    place = Path(out)
    data = (
        json.loads((place / FIGURES).read_text(encoding="utf-8")) if again else fresh(**chosen) | _kept(place)
    )
    written(data, place)
    click.echo("\n".join(limits_table(limits(data))))
    for row in limits(data):
        click.echo(json.dumps({"benchmark": "calibration", **row}))


if __name__ == "__main__":
    main()
