"""Compare the time of scoring norm-weighted attention with that of scoring attention, by the same masks.

Prints one line of JSON per length. Three sides run alternately in one process on the same inputs: masks on
attention, masks on norm-weighted attention, and the sieve parked in addition, which reads both in one pass.
Ratios are those of the minima. Plans are made inside the timing; tokenising and parsing are not.
"""

import json
from dataclasses import replace
from functools import partial

import click
import numpy as np
import torch
from machine import machine
from overhead import (
    BATCHES,
    example_of,
    linear_only,
    minima,
    model_of,
    model_options,
    networks,
    scored,
    tokenised,
)

from headroles.arrays import selection_of
from headroles.extraction.capture.method import CaptureMethod
from headroles.extraction.capture.weights import WHOLE
from headroles.extraction.model.load import Model
from headroles.extraction.model.norms import value_norms
from headroles.extraction.stream import set_memory_options
from headroles.records.rules.names import EAGER, FORMED
from headroles.sieves import BUILT_IN
from headroles.sieves.selection import Selection, select


def models(embedded: bool, tokens: int, hidden: int, layers: int) -> tuple[Model, Model, Model]:
    """Return one network read in three ways: attention, by norms for all readers, and for some."""
    _, network = networks(embedded, tokens, hidden, layers)
    network = network.eval()
    way = EAGER if tokens <= WHOLE else FORMED
    network.set_attn_implementation(way)
    ids = torch.arange(1000, 1012)[None]
    norms = value_norms(network, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    plain = model_of(network, way, torch.device("cpu"))
    everywhere = replace(plain, way=CaptureMethod(way, norms=replace(norms, everywhere=True)))
    return plain, everywhere, replace(plain, way=CaptureMethod(way, norms=norms))


def selections() -> tuple[Selection, Selection]:
    """Return the masks of the built-in sieves, and the same with parked."""
    masks = linear_only(selection_of([*BUILT_IN]))
    return masks, select([*masks.sieves, *selection_of(["parked"]).sieves])


@click.command()
@click.option("--tokens", multiple=True, type=int, default=(64, 128, 512), show_default=True)
@click.option("--batch", type=int, help="Inputs.  [default: 32, 8 of 512 tokens]")
@model_options
def main(
    tokens: tuple[int, ...],
    batch: int | None,
    pairs: int,
    threads: int,
    hidden: int,
    layers: int,
    embedded: bool,
) -> None:
    """Compare scoring by norms with scoring by weights."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    set_memory_options()
    masks, with_parked = selections()
    for length in tokens:
        plain, everywhere, some = models(embedded, length, hidden, layers)
        size = batch or BATCHES.get(length, max(1, 4096 // length))
        rng = np.random.default_rng(0)
        examples = [example_of(rng, length) for _ in range(size)]
        items = [tokenised(example, rng.integers(1000, 30000, example.size)) for example in examples]
        sides = {
            name: partial(scored, model, items, examples, chosen, size)
            for name, model, chosen in (
                ("masks", plain, masks),
                ("norms", everywhere, masks),
                ("parked", some, with_parked),
            )
        }
        seconds = minima(sides, pairs)
        line = {
            "benchmark": "norms over masks",
            "masks_s": round(seconds["masks"][0], 4),
            "ratio": round(seconds["norms"][0] / seconds["masks"][0], 3),
            "processor_ratio": round(seconds["norms"][1] / seconds["masks"][1], 3),
            "parked_ratio": round(seconds["parked"][0] / seconds["masks"][0], 3),
            "parked_processor_ratio": round(seconds["parked"][1] / seconds["masks"][1], 3),
            "tokens": length,
            "batch": size,
            "model": "embedded" if embedded else f"random BERT, {hidden} wide",
            "layers": plain.layers,
            "heads": plain.heads,
            "threads": threads,
            "pairs": pairs,
            "machine": machine(),
        }
        click.echo(json.dumps(line))


if __name__ == "__main__":
    main()
