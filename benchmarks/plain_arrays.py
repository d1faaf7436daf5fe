"""Compare scores and divergences of plain arrays with the published functions, written as plain loops.

The loops do the steps of the released code, in its order and with its functions of numpy and scipy:

 - Pande et al. (2021) released one notebook for each score: local, delimiter, class token, separators, block
   and syntactic. So each score here is a function of its own, which takes the mean of each row anew. A
   notebook goes through layers, heads and queries. It divides the attention of a query on the keys of
   the sieve by the mean of the row, and averages over all queries. Block multiplies by the entropy of scipy.
   Syntactic goes through the pairs of words cell by cell, in both directions, and keeps the dependent's.
 - Clark et al. (2019, section 6) released a script that compares one head with all heads. It smooths all
   heads anew for each head, and takes two logarithms a cell.

Ours add the contrasts of block and syntactic. Both sides run alternately in one process on the same random
attention in float32, with one thread. Ratios are those of minima of processor time. The loops are run for
some heads, and scaled.
"""

import json
from collections.abc import Callable
from functools import partial
from itertools import cycle

import click
import numpy as np
import scipy
import torch
from divergence import SMOOTHING, made_attention, plain_row, seconds_of
from machine import machine
from scipy.stats import entropy
from threadpoolctl import threadpool_limits

from headroles import Arc, Example, score
from headroles.extraction.jobs.divergence import array_divergences

SIEVES = ("local", "delimiter", "delimiter:cls", "delimiter:sep", "block")
RELATIONS = ("nsubj", "obj", "amod", "advmod")
"""Relations of the syntactic score; a third of the words has one, as in the texts of MRPC."""
Pairs = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
"""Tokens of each dependent and of its head word."""
Inside = Callable[[int, np.ndarray], float]
"""The mean attention of a query on the keys of a sieve, from its number and its row."""


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


def averaged(weights: np.ndarray, inside: Inside) -> float:
    """Return the mean over queries of attention on the keys of a sieve, over the mean of the query's row."""
    n = len(weights)
    total = 0.0
    for query in range(n):
        row = weights[query]
        total += inside(query, row) / (np.sum(row) / n)
    return float(total) / n


def local_score(weights: np.ndarray) -> float:
    """Return the local score: keys within two tokens; the divisor runs one key past the end, as released."""
    n = len(weights)

    def inside(query: int, row: np.ndarray) -> float:
        start, stop = max(0, query - 2), min(query + 2, n) + 1
        return float(np.sum(row[start:stop]) / (stop - start))

    return averaged(weights, inside)


def delimiter_score(weights: np.ndarray, middle: int, end: int) -> float:
    """Return the delimiter score of a pair of texts: the class token and two separators, divided by 3."""
    return averaged(weights, lambda query, row: (row[0] + row[middle] + row[end]) / 3)


def class_score(weights: np.ndarray) -> float:
    """Return the score of the class token."""
    return averaged(weights, lambda query, row: row[0])


def separator_score(weights: np.ndarray, middle: int, end: int) -> float:
    """Return the score of the two separators, divided by 2."""
    return averaged(weights, lambda query, row: (row[middle] + row[end]) / 2)


def block_score(weights: np.ndarray, middle: int, end: int) -> float:
    """Return the block score: queries before the first separator have the first text, all others the second.

    It is multiplied by the entropy of the row in nats.
    """

    def inside(query: int, row: np.ndarray) -> float:
        start, stop = (1, middle) if query < middle else (middle + 1, end)
        return float(np.sum(row[start:stop]) / (stop - start) * entropy(row))

    return averaged(weights, inside)


def syntactic_score(weights: np.ndarray, pairs: Pairs) -> float:
    """Return the syntactic score: mean attention from dependents to heads over the mean of these rows.

    The other direction is computed too, and left out, as by the default option of the released code.
    """
    n = len(weights)
    total = 0.0
    for pair in pairs:
        ratios = []
        for queries, keys in (pair, pair[::-1]):
            mean = attended = 0.0
            for query in queries:
                mean += np.sum(weights[query]) / n
                attended += sum(weights[query, key] for key in keys) / len(keys)
            ratios.append(attended / mean)
        total += ratios[0]
    return float(total) / len(pairs)


def published_scores(attention: np.ndarray, segment: np.ndarray, pairs: Pairs = ()) -> dict[str, list[float]]:
    """Return the five published scores of heads (heads, tokens, tokens), one notebook after the other.

    With pairs, the syntactic score comes last.
    """
    middle, end = np.flatnonzero(segment < 0)[1:].tolist()
    notebooks: dict[str, Callable[[np.ndarray], float]] = {
        "local": local_score,
        "delimiter": partial(delimiter_score, middle=middle, end=end),
        "delimiter:cls": class_score,
        "delimiter:sep": partial(separator_score, middle=middle, end=end),
        "block": partial(block_score, middle=middle, end=end),
    }
    if pairs:
        notebooks["syntactic"] = partial(syntactic_score, pairs=pairs)
    return {name: [notebook(weights) for weights in attention] for name, notebook in notebooks.items()}


def compared(
    name: str, ours: Callable[[], object], plain: Callable[[], object], scale: float, pairs: int
) -> str:
    """Return a line of JSON: the processor time of both sides, whose runs alternate, and their ratio."""
    ours()
    fast, slow = [], []
    for _ in range(pairs):
        fast += [seconds_of(ours)[1] for _ in range(10)]
        slow.append(seconds_of(plain)[1] * scale)
    described = machine() | {"numpy": np.__version__, "scipy": scipy.__version__}
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
@click.option(
    "--pairs", default=6, show_default=True, help="Alternating runs: one of the loops, ten of ours."
)
def main(layers: int, heads: int, tokens: int, plain_heads: int, pairs: int) -> None:
    """Compare scores and divergences of plain arrays with plain loops."""
    torch.set_num_threads(1)
    threadpool_limits(1)  # numpy's products wait for each other where they share out small ones
    flat = made_attention(layers * heads, tokens, 0).numpy()
    attention, example = flat.reshape(layers, heads, tokens, tokens), made_example(tokens)
    chosen = np.linspace(0, len(flat) - 1, min(plain_heads, len(flat))).astype(int)
    scale = len(flat) / len(chosen)
    scored: tuple[tuple[str, tuple[str, ...], Pairs], ...] = (
        ("scores of plain arrays", SIEVES, ()),
        ("scores of plain arrays with syntactic", (*SIEVES, "syntactic"), pairs_of(example)),
    )
    for name, sieves, arcs in scored:
        click.echo(
            compared(
                name,
                partial(score, attention, example, sieves),
                partial(published_scores, flat[chosen], example.segment, arcs),
                scale,
                pairs,
            )
        )
    click.echo(
        compared(
            "divergences of plain arrays",
            lambda: array_divergences(flat, SMOOTHING),
            lambda: [plain_row(flat, head) for head in chosen],
            scale,
            pairs,
        )
    )


if __name__ == "__main__":
    main()
