"""Compare the divergences between all pairs of heads with a plain loop over heads, and measure their memory.

The first line of JSON compares the divergences of one input with a float64 loop in numpy that works like the
released script: one head against all others at a time, smoothing, logarithm of the mean, sum. The loop is run
for some heads and scaled to all. Both sides run alternately in one process on the same random attention.
Ratios are those of the minima, of wall time and of the processor time of all threads, which other processes
disturb less. The second line is the peak memory of a process that sums the divergences of many heads, next to
that of a process that does nothing. The third line is the time that a process takes to compile the loop over
cells, as after an install, and to read it from disk.
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from tempfile import TemporaryDirectory

import click
import numpy as np
import torch
from machine import machine

from headroles.extraction.jobs.divergence import (
    BlockLayout,
    DivergenceSums,
    merge_divergences,
    pair_divergences,
)

SMOOTHING = 0.001
UNITS = 64
"""Units of the line on memory, as many as there are blocks for 1,024 heads."""


def made_attention(heads: int, tokens: int, seed: int) -> torch.Tensor:
    """Return random attention (heads, tokens, tokens) whose rows sum to 1, some sharp and some even."""
    generator = torch.Generator().manual_seed(seed)
    sharpness = torch.linspace(0.5, 4.0, heads)[:, None, None]
    return torch.softmax(sharpness * torch.randn(heads, tokens, tokens, generator=generator), dim=-1)


def plain_row(attention: np.ndarray, head: int) -> np.ndarray:
    """Return the divergence of one head from all heads (heads), summed over rows like the released script.

    It smooths all heads anew for each head, takes two logarithms a cell, and halves cells before the sum; it
    adds and halves in place, as the script does.
    """
    even = SMOOTHING / attention.shape[-1]
    own = even + (1 - SMOOTHING) * attention[head][None]
    all_heads = even + (1 - SMOOTHING) * attention
    mean = (own + all_heads) / 2
    apart = -own * np.log(mean / own)
    apart += -all_heads * np.log(mean / all_heads)
    apart /= 2
    summed: np.ndarray = apart.sum(axis=-1).sum(axis=-1)
    return summed


def seconds_of(work: Callable[[], object]) -> tuple[float, float]:
    """Return the wall time of one call, and the processor time of all its threads."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


def speed(heads: int, tokens: int, threads: int, pairs: int, plain_heads: int) -> dict[str, object]:
    """Time both sides alternately, and return times, ratios and the largest difference of their results."""
    attention = made_attention(heads, tokens, 0)
    double = attention.numpy().astype(np.float64)
    chosen = np.linspace(0, heads - 1, min(plain_heads, heads)).astype(int)
    condensed, rows = np.empty(0), np.empty((0, heads))

    def ours() -> None:
        nonlocal condensed
        condensed = pair_divergences(attention, smoothing=SMOOTHING, threads=threads)

    def plain() -> None:
        nonlocal rows
        rows = np.stack([plain_row(double, head) for head in chosen])

    fast, slow = [], []
    for _ in range(pairs):
        fast += [seconds_of(ours) for _ in range(5)]
        slow.append(seconds_of(plain))
    square = np.zeros((heads, heads))
    square[np.triu_indices(heads, 1)] = condensed
    square += square.T
    wall, processor = np.min(fast, axis=0)
    plain_wall, plain_processor = np.min(slow, axis=0) * heads / len(chosen)
    return {
        "benchmark": "divergence",
        "seconds": round(wall, 4),
        "processor_s": round(processor, 4),
        "baseline": f"float64 numpy loop over heads, {len(chosen)} of {heads} heads run and scaled",
        "baseline_s": round(plain_wall, 2),
        "baseline_processor_s": round(plain_processor, 2),
        "ratio": round(plain_wall / wall, 1),
        "processor_ratio": round(plain_processor / processor, 1),
        "largest_difference": float(np.abs(square[chosen] - rows).max() / rows.max()),
    }


def sum_many(heads: int, tokens: int, inputs: int, threads: int) -> float:
    """Sum divergences over as many units as there are blocks in one shard, and return seconds for one input.

    All units are in one shard, which takes the most memory: other shards have fewer blocks.
    Only ``inputs`` of them are computed; the last result is added for the others, too. With 0 inputs nothing
    is done.
    """
    if not inputs:
        return 0.0
    seconds = []
    layout = BlockLayout.of(UNITS, 1, heads)
    sums = DivergenceSums(layout.block(np.arange(UNITS)), np.ones(UNITS, dtype=np.int64), 1, heads)
    for place in range(UNITS):
        if place < inputs:
            attention = made_attention(heads, tokens, place)
            start = time.perf_counter()
            divergences = pair_divergences(attention, threads=threads)
            seconds.append(time.perf_counter() - start)
        sums.add(place, tokens, divergences)
    content = sums.content()
    del sums  # a worker gives them up with its shard
    merge_divergences([content], layout, 1, heads, smoothing=0.0, way="mean")
    return min(seconds)


def peak(heads: int, tokens: int, inputs: int, threads: int) -> tuple[float, float]:
    """Return the peak megabytes of a process that sums divergences, and its seconds for one input."""
    words = ["--one", str(inputs), "--many", str(heads), "--tokens", str(tokens), "--threads", str(threads)]
    command = [sys.executable, __file__, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    megabytes, seconds = done.stdout.split()[-2:]
    return float(megabytes), float(seconds)


def compile_seconds() -> dict[str, float]:
    """Return the seconds that the compiled loop takes in a new process: compiled, and then read from disk."""
    code = (
        "import time; import headroles.extraction.jobs.divergence; start = time.perf_counter(); "
        "import headroles.extraction.jobs.pair_entropies; print(time.perf_counter() - start)"
    )
    with TemporaryDirectory() as folder:
        times = [
            subprocess.run(
                [sys.executable, "-c", code],
                capture_output=True,
                text=True,
                check=True,
                env=os.environ | {"NUMBA_CACHE_DIR": folder},
            ).stdout
            for _ in range(2)
        ]
    return dict(zip(("compiled_s", "from_disk_s"), (round(float(took), 2) for took in times), strict=True))


@click.command()
@click.option("--heads", default=144, show_default=True)
@click.option("--many", default=1024, show_default=True, help="Heads of the line on memory.")
@click.option("--inputs", default=3, show_default=True, help="Inputs of that line that are computed.")
@click.option("--tokens", default=128, show_default=True)
@click.option("--threads", default=2, show_default=True)
@click.option("--pairs", default=5, show_default=True, help="Alternating runs of each side.")
@click.option("--plain-heads", default=12, show_default=True, help="Heads of the plain loop that are run.")
@click.option("--one", type=int, hidden=True)
def main(heads: int, many: int, inputs: int, one: int | None, **sizes: int) -> None:
    """Compare divergences with a plain loop, and measure the memory of many heads."""
    tokens, threads, pairs = sizes["tokens"], sizes["threads"], sizes["pairs"]
    if one is not None:
        took = sum_many(many, tokens, one, threads)
        click.echo(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024} {took}")
        return
    shared = {
        "tokens": tokens,
        "threads": threads,
        "machine": machine() | {"numpy": np.__version__},
    }
    line = speed(heads, tokens, threads, pairs, sizes["plain_heads"])
    click.echo(json.dumps(line | {"heads": heads, "pairs": pairs} | shared))
    megabytes, seconds = peak(many, tokens, inputs, threads)
    nothing, _ = peak(many, tokens, 0, threads)
    memory = {
        "benchmark": "memory of divergence",
        "heads": many,
        "blocks": UNITS,
        "seconds": round(seconds, 2),
        "peak_mb": round(megabytes),
        "baseline": "the imports alone",
        "baseline_mb": round(nothing),
        "added_mb": round(megabytes - nothing),
    }
    click.echo(json.dumps(memory | shared))
    compiling = {"benchmark": "first divergences in a process"} | compile_seconds()
    click.echo(json.dumps(compiling | {"machine": shared["machine"]}))


if __name__ == "__main__":
    main()
