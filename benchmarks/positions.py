"""Print what fake heads of positions and marks reach in ``block`` and its two contrasts, on real layouts.

One line per fake: mean selectivity, mean contrast beyond distance, mean contrast beyond position. The layouts
are those of the shipped samples, or of a table of the same columns.
"""

from dataclasses import replace
from pathlib import Path

import click
import numpy as np

from headroles.arrays import selection_of
from headroles.sieves.weights.reference import apply
from tests.support.fakes import POSITIONS, PUNCTUATION, SENTENCES, TEXTS, read_layouts

FAKES = {**POSITIONS, **PUNCTUATION, **SENTENCES, **TEXTS}
SAMPLES = Path(__file__).resolve().parents[1] / "headroles" / "samples"


@click.command()
@click.option("--task", default="QNLI", show_default=True, type=click.Choice(["QNLI", "MRPC", "QQP"]))
@click.option("--data", type=click.Path(exists=True, path_type=Path), help="A table instead of the samples.")
@click.option("--limit", default=256, show_default=True, help="Rows.")
def main(task: str, data: Path | None, limit: int) -> None:
    """Measure the fakes."""
    examples, pairs = read_layouts(task, data or SAMPLES / f"{task}.tsv", limit)
    sieves = replace(selection_of(["block"]), paired=True)
    scores = np.array(
        [
            apply(
                sieves.plan(example, None, np.float64),
                np.stack([fake(example) for fake in FAKES.values()]),
            )
            for example in examples
        ]
    )
    first, second = np.array(pairs).T
    swap = (scores[first, 2] + scores[second, 2]) / 2
    click.echo(f"{task}: {len(examples)} inputs, {len(pairs)} pairs")
    for place, name in enumerate(FAKES):
        plain, matched = np.nanmean(scores[:, :2, place], axis=0)
        click.echo(f"{name:40} {plain:7.3f} {matched:7.3f} {swap[:, place].mean():7.3f}")


if __name__ == "__main__":
    main()
