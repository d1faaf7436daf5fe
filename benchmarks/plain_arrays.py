"""Compare scores and divergences of plain arrays with the published functions, written as plain loops.

The loops follow the published definitions. The first line scores local, the three delimiter sieves and block,
one head and one query at a time. The second line adds syntactic, one pair of words at a time. The scores of
headroles also have the contrasts of block and syntactic. Divergences compare one head with all heads at a
time, in float32 as released. Both sides run alternately in one process on the same random attention. Ratios
are those of minima of processor time. The loops run for some heads, and their time is scaled to all.
"""

import json
from collections.abc import Callable
from functools import partial
from itertools import cycle

import click
import numpy as np
import torch
from divergence import SMOOTHING, made_attention, plain_row, seconds_of
from machine import machine

from headroles import Arc, Example, score
from headroles.extraction.jobs.divergence import array_divergences

SIEVES = ("local", "delimiter", "delimiter:cls", "delimiter:sep", "block")
RELATIONS = ("nsubj", "obj", "amod", "advmod")
"""Relations of the syntactic score; a third of the words has one, as in the texts of MRPC."""
Pairs = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
"""Tokens of each dependent and of its head word."""


def made_example(tokens: int) -> Example:
    """Return a pair of texts between a class token and two separators, with arcs."""
    middle = tokens // 2
    segment = np.repeat([0, 1], [middle, tokens - middle])
    segment[[0, middle - 1, tokens - 1]] = -1
    tokens_of = tuple("[SEP]" if own < 0 else f"w{place}" for place, own in enumerate(segment))
    word = np.where(segment < 0, -1, np.cumsum(segment >= 0) - 1)
    arcs = tuple(
        Arc(dependent, dependent + (1 if dependent % 2 else -1) * (1 + dependent % 4), name)
        for dependent, name in zip(range(4, int(word.max()) - 4, 3), cycle(RELATIONS), strict=False)
    )
    return Example("made", ("[CLS]", *tokens_of[1:]), segment=segment, word=word, arcs=arcs)


def pairs_of(example: Example) -> Pairs:
    """Return the tokens of the dependent and of the head word of each arc."""
    tokens = {word: tuple(np.flatnonzero(example.word == word).tolist()) for word in set(example.word)}
    return tuple((tokens[arc.dependent], tokens[arc.head]) for arc in example.arcs or ())


def published_scores(attention: np.ndarray, segment: np.ndarray, pairs: Pairs = ()) -> list[float]:
    """Return the five published scores of one head (tokens, tokens), query by query.

    With pairs, the syntactic score comes last.
    """
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
    scores = [float(total) / n for total in totals]
    ratios = []
    for dependents, heads in pairs:
        inside = np.mean([np.mean(attention[query][list(heads)]) for query in dependents])
        ratios.append(inside / np.mean([np.mean(attention[query]) for query in dependents]))
    return [*scores, float(np.mean(ratios))] if ratios else scores


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


def _loop(attention: np.ndarray, segment: np.ndarray, pairs: Pairs) -> list[list[float]]:
    """Return the published scores of some heads."""
    return [published_scores(head, segment, pairs) for head in attention]


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
    scored: tuple[tuple[str, tuple[str, ...], Pairs], ...] = (
        ("scores of plain arrays", SIEVES, ()),
        ("scores of plain arrays with syntactic", (*SIEVES, "syntactic"), pairs_of(example)),
    )
    for name, sieves, pairs in scored:
        click.echo(
            compared(
                name,
                partial(score, attention, example, sieves),
                partial(_loop, flat[chosen], example.segment, pairs),
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
