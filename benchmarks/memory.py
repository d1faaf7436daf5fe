"""Measure the peak memory that more inputs add to a run: two whole runs, each in its own process."""

import json
import resource
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path

import click
import numpy as np
from machine import machine


def write_pairs(path: Path, count: int) -> None:
    """Write distinct question-sentence pairs, recombined from the samples written for QNLI."""
    rows = (resources.files("headroles") / "samples" / "QNLI.tsv").read_text("utf-8").splitlines()[1:]
    questions, sentences = zip(*(row.split("\t")[1:3] for row in rows), strict=True)
    rng = np.random.default_rng(0)
    lines = ["index\tquestion\tsentence\tlabel"]
    for index in range(count):
        question, sentence = rng.choice(len(rows), 2)
        extra = f"({index}) "
        lines.append(f"{index}\t{extra}{questions[question]}\t{extra}{sentences[sentence]}\tentailment")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def peak(count: int, folder: Path) -> float:
    """Return the peak megabytes of one run over ``count`` inputs."""
    inputs = folder / f"{count}.tsv"
    write_pairs(inputs, count)
    command = [sys.executable, __file__, "--one", str(inputs), "--out", str(folder / f"run-{count}")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.strip().splitlines()[-1])


@click.command()
@click.option("--few", default=100, show_default=True)
@click.option("--many", default=5000, show_default=True)
@click.option("--one", hidden=True)
@click.option("--out", hidden=True)
def main(few: int, many: int, one: str | None, out: str | None) -> None:
    """Compare the peaks of a small and a large run."""
    if one is not None:
        from headroles import label

        label("QNLI", data=one, out=out)
        click.echo(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    with tempfile.TemporaryDirectory() as scratch:
        small, large = peak(few, Path(scratch)), peak(many, Path(scratch))
    line = {
        "benchmark": "memory",
        "examples": many,
        "peak_mb": round(large),
        "baseline": f"the same run with {few} examples",
        "baseline_mb": round(small),
        "added_mb": round(large - small),
        "machine": machine(),
    }
    click.echo(json.dumps(line))


if __name__ == "__main__":
    main()
