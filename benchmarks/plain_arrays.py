"""Compare scores and divergences of plain arrays with the published functions, written as plain loops.

The loops follow the published definitions. Scores take one head and one query at a time, for local, the three
delimiter sieves and block. Divergences take one head against all heads, in float32 as released. Both run
alternately in one process on the same random attention. Ratios are those of minima of processor time. The
loops are run for some heads and scaled.
"""

import json
from collections.abc import Callable

import click
import numpy as np
import torch
from divergence import SMOOTHING, made_attention, plain_row, seconds_of
from machine import machine

from headroles import Example, score
from headroles.extraction.jobs.divergence import array_divergences

SIEVES = ("local", "delimiter", "delimiter:cls", "delimiter:sep", "block")


def made_example(tokens: int) -> Example:
    """Return a pair of texts between a class token and two separators."""
    middle = tokens // 2
    segment = np.repeat([0, 1], [middle, tokens - middle])
    segment[[0, middle - 1, tokens - 1]] = -1
    words = tuple("[SEP]" if own < 0 else f"w{place}" for place, own in enumerate(segment))
    return Example("made", ("[CLS]", *words[1:]), segment=segment)


def published_scores(attention: np.ndarray, segment: np.ndarray) -> list[float]:
    """Return the five published scores of one head (tokens, tokens), query by query."""
    n = len(attention)
    separators = np.flatnonzero(segment < 0)[1:]
    firsts, seconds = np.flatnonzero(segment == 0), np.flatnonzero(segment == 1)
    totals = [0.0] * len(SIEVES)
    for query in range(n):
        row = attention[query]
        mean = np.mean(row)
        totals[0] += (
            np.sum(row[max(0, query - 2) : query + 3]) / (min(query + 2, n) + 1 - max(0, query - 2)) / mean
        )
        totals[1] += (row[0] + np.sum(row[separators])) / (1 + len(separators)) / mean
        totals[2] += row[0] / mean
        totals[3] += np.mean(row[separators]) / mean
        share = row / np.sum(row)
        entropy = -np.sum(share * np.log(share))
        totals[4] += np.mean(row[firsts if query < separators[0] else seconds]) / mean * entropy
    return [float(total) / n for total in totals]


def compared(name: str, ours: Callable[[], object], plain: Callable[[], object], scale: float) -> str:
    """Return a line of JSON: the processor time of both sides, whose runs alternate, and their ratio."""
    ours()
    fast, slow = [], []
    for _ in range(3):
        fast += [seconds_of(ours)[1] for _ in range(5)]
        slow.append(seconds_of(plain)[1] * scale)
    described = machine() | {"numpy": np.__version__}
    line = {
        "benchmark": name,
        "processor_s": round(min(fast), 4),
        "baseline_processor_s": round(min(slow), 2),
    }
    return json.dumps(line | {"ratio": round(min(slow) / min(fast)), "machine": described})


@click.command()
@click.option("--layers", default=12, show_default=True)
@click.option("--heads", default=12, show_default=True, help="Heads in a layer.")
@click.option("--tokens", default=128, show_default=True)
@click.option("--plain-heads", default=12, show_default=True, help="Heads of the plain loops that are run.")
def main(layers: int, heads: int, tokens: int, plain_heads: int) -> None:
    """Compare scores and divergences of plain arrays with plain loops."""
    torch.set_num_threads(1)
    flat = made_attention(layers * heads, tokens, 0).numpy()
    attention, example = flat.reshape(layers, heads, tokens, tokens), made_example(tokens)
    chosen = np.linspace(0, len(flat) - 1, min(plain_heads, len(flat))).astype(int)
    scale = len(flat) / len(chosen)
    click.echo(
        compared(
            "scores of plain arrays",
            lambda: score(attention, example, SIEVES),
            lambda: [published_scores(flat[head], example.segment) for head in chosen],
            scale,
        )
    )
    click.echo(
        compared(
            "divergences of plain arrays",
            lambda: array_divergences(flat, SMOOTHING),
            lambda: [plain_row(flat, head) for head in chosen],
            scale,
        )
    )


if __name__ == "__main__":
    main()
