"""Simulate the error of the mean query in ``headroles why``: false verdicts, sizes of tests, coverage.

Units measure contrasts, and reference units give the mean query, which all units share. "Before" takes the
mean query as a constant; "after" is the shipped test. Prints one JSON line per cell.

- **made**: 12 families a run, Holm's method, half of every contrast is shared. False: runs with any verdict.
- **real**: heads of the embedded encoder, units drawn with replacement from rows of QNLI, whose means are
  the truth. Contrasts are moved so that half of them is shared. Size of one-sided tests at 0.05, and coverage
  of the 95 % interval of the true share.

    python benchmarks/calibration/mean_query.py [--quick] [--data dev.tsv]
"""

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from interventions import SHAPES, Draw
from origins import ALONE, products_of

from headroles.records.causal.origins import BY_QUERY, VERTICAL
from headroles.records.passage import Passage
from headroles.stats.columns import unit_numbers
from headroles.stats.correction import adjust, significant
from headroles.stats.moments import unit_means
from headroles.stats.why.guarded import judge_guarded
from headroles.stats.why.vertical import fieller, vertical_tests

SIZES = ((50, 50), (50, 100), (100, 100), (200, 20), (200, 200))
"""Measured and reference units."""
REAL = ((50, 50), (100, 100), (200, 20), (200, 200), (400, 200))
"""The same on real heads."""
FAMILIES = 12
SPREAD = 0.2
"""Standard deviation over measured units of twice the shared part less the contrast, as a part of that."""
OF_QUERY = 0.35
"""The same over reference units of twice the shared part."""
GROUP = (1.0, 1.0, -1.0, -1.0)
"""Direction in which each of four query heads takes the noise of the key head that they share."""
CLEAR = 1.0
"""Least mean contrast of real heads."""
KINDS = (("", "mirrored"), ("", "grouped keys"))
"""Kinds of noise: of skewed or heavy-tailed shapes, and of normal ones."""
Cell = dict[str, Any]


def both_sides(vertical: np.ndarray, contrast: np.ndarray, references: np.ndarray) -> dict[str, np.ndarray]:
    """Return p of both directions, before and after, by name: one row for each direction."""
    products = products_of(contrast[:, :, None], vertical, references=references)
    one, shared = np.zeros(contrast.shape[1], dtype=int), 2 * vertical - contrast
    before = [judge_guarded(products.units, side * shared, one, ALONE).q[0] for side in (1, -1)]
    after = vertical_tests(products, ALONE)
    return {"before": np.stack(before), "after": np.stack([after.more.q[0], after.less.q[0]])}


def made(draw: Draw, kind: str, times: int, rng: np.random.Generator) -> Iterator[Cell]:
    """Yield runs with a false verdict, and the power where 55 % or 45 % of the contrast are shared."""
    sign = -1.0 if kind == "mirrored" else 1.0
    for units, references in SIZES:
        wide = (units, times * FAMILIES)
        contrast = 1 + 0.1 * rng.normal(size=wide)
        own = SPREAD * sign * draw(rng, wide)
        if kind == "grouped keys":
            key = draw(rng, (units, times, FAMILIES // len(GROUP), 1))
            own = SPREAD * (0.95 * (key * GROUP).reshape(wide) + np.sqrt(1 - 0.95**2) * draw(rng, wide))
        drawn = draw(rng, (references, times, FAMILIES)) + draw(rng, (references, times, 1))
        query = sign * OF_QUERY * (drawn / np.sqrt(2)).reshape(references, -1)
        for shift in (0.0, 0.1, -0.1):
            vertical = (contrast + own + query.mean(axis=0) + shift) / 2
            p = both_sides(vertical, contrast, 0.5 + query / 2)
            cell: Cell = {"claim": "made", "units": units, "references": references, "shift": shift}
            for name, sides in p.items():
                for side, verdict in zip(sides, (VERTICAL, BY_QUERY), strict=True):
                    rows = side.reshape(times, FAMILIES)
                    said = significant(adjust(rows, "holm"), 0.05, rows)
                    cell[f"{verdict}, {name}"] = float(said.any(axis=1).mean() if not shift else said.mean())
            yield cell


def real(
    passages: Sequence[Passage], sizes: Sequence[tuple[int, int]], times: int, rng: np.random.Generator
) -> Iterator[Cell]:
    """Yield sizes and coverage over the heads of the embedded encoder with a clear contrast.

    Units are the groups of the inputs, or else inputs.
    """
    numbers = unit_numbers([passage.group or passage.key for passage in passages])
    query, difference, whole = (unit_means(each, numbers) for each in read_heads(passages))
    clear = whole.mean(axis=0) > CLEAR
    query, difference, whole = query[:, clear], difference[:, clear], whole[:, clear]
    shared = (query.mean(axis=0) * difference.mean(axis=0)).sum(axis=1)
    moved = whole + 2 * shared - whole.mean(axis=0)
    share = shared / whole.mean(axis=0)
    for units, references in sizes:
        said = {name: np.zeros((2, clear.sum())) for name in ("before", "after")}
        covers = {name: np.zeros(clear.sum()) for name in said}
        for _ in range(times):
            own, drawn = rng.integers(0, len(whole), units), rng.integers(0, len(whole), references)
            vertical = np.einsum("ufd,fd->uf", difference[own], query[drawn].mean(axis=0))
            by_reference = np.einsum("rfd,fd->rf", query[drawn], difference[own].mean(axis=0))
            for name, p in both_sides(vertical, moved[own], by_reference).items():
                said[name] += p <= 0.05
                error = by_reference if name == "after" else 0 * by_reference
                _, low, high = fieller(vertical, whole[own], error)
                covers[name] += (low <= share) & (share <= high)
        cell: Cell = {"claim": "real", "units": units, "references": references, "heads": int(clear.sum())}
        cell |= {"inputs": len(passages), "of": len(whole)}
        for name, found in said.items():
            cell |= {
                f"size, {name}": float(found.mean() / times),
                f"worst, {name}": float(found.max() / times),
            }
            cell |= {f"coverage, {name}": float(covers[name].mean() / times)}
            cell |= {f"lowest coverage, {name}": float(covers[name].min() / times)}
        yield cell


def rows_of(data: Path, rows: int) -> list[Passage]:
    """Return the first rows of GLUE's QNLI."""
    with data.open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[:rows]
    return [Passage(str(k), (line["question"], line["sentence"])) for k, line in enumerate(lines)]


def read_heads(passages: Sequence[Passage]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mean query, scaled difference of mean keys and contrast of every input, role and head."""
    from headroles.extraction.model.checkpoint import find_checkpoint
    from headroles.extraction.model.load import load
    from headroles.extraction.texts.tokens import tokenise
    from headroles.extraction.why.products import Families, mean_queries, read_products

    model = load(find_checkpoint(None, None), device="cpu", dtype="float32", max_length=128)
    roles = ("special", "near", "own")
    grid = [
        (role, layer, head) for role in roles for layer in range(model.layers) for head in range(model.heads)
    ]
    names, layers, heads = zip(*grid, strict=True)
    families = Families(names, np.array(layers), np.array(heads))
    inputs = tokenise(model.tokenizer, passages, 128)
    query = mean_queries(model, inputs, [passage.key for passage in passages], families)
    found = []
    for given in inputs:
        place, text = np.arange(given.size), given.texts
        near = np.isin(np.abs(place[:, None] - place), (1, 2))
        own = (text[:, None] == text) & ~np.eye(given.size, dtype=bool)
        asked = (text >= 0)[:, None]
        cells = {"special": asked & (text < 0), "near": asked & near, "own": asked & own}
        found.append(read_products(model, given, cells, families, query[0], 0, 0))
    difference = np.stack([products.difference for products in found])
    return query, difference, np.stack([products.parts.sum(axis=1) for products in found])


@click.command()
@click.option("--times", default=400, show_default=True, help="Simulations of every cell.")
@click.option("--seed", default=0, show_default=True)
@click.option(
    "--data", type=click.Path(path_type=Path), help="Table of GLUE's QNLI; without it no real heads."
)
@click.option("--rows", default=500, show_default=True, help="Its rows that are read.")
@click.option("--quick", is_flag=True, help="A tenth of the simulations.")
def main(times: int, seed: int, data: Path | None, rows: int, quick: bool) -> None:
    """Simulate the error of the mean query, and print a line of JSON for every cell."""
    times = max(times // 10, 20) if quick else times
    rng = np.random.default_rng(seed)
    if data is not None:
        for cell in real(rows_of(data, rows // 4 if quick else rows), REAL, times, rng):
            print(json.dumps(cell), flush=True)
    for shape, draw in SHAPES.items():
        for kind in KINDS[shape == "normal"]:
            for cell in made(draw, kind, times, rng):
                print(json.dumps({"shape": shape, "kind": kind} | cell), flush=True)


if __name__ == "__main__":
    main()
