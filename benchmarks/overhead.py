"""Compare the time of scoring with that of the plain forward pass of the same model on the same inputs.

Prints one line of JSON per length and selection: the linear mask sieves alone; with the contrasts against
distance; then these with the contrasts against word class, with the swap of layouts, for which every input
has a partner, and with the roles of equal and related words, without and with what a key gets from its other
queries. ``adds`` is the time beyond that of the selection named ``over``, as a share of the forward. All
sides run alternately in one process; times are minima. Plans are made inside the timing; tokenising and
parsing are not. Inputs are cut into batches as by ``headroles label``, of a usual size. With ``--device cuda``
all sides wait for the device.
"""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click
import numpy as np
import torch
from machine import machine
from transformers import AutoModel, BertConfig, BertModel

from headroles.arrays import selection_of
from headroles.extraction.capture.attention import read_attention
from headroles.extraction.capture.method import CaptureMethod
from headroles.extraction.capture.weights import WHOLE
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import DTYPES, Model, device_of
from headroles.extraction.scoring.prepared import Prepared
from headroles.extraction.scoring.reader import Reader, Table
from headroles.extraction.stream import set_memory_options, split_into_batches
from headroles.extraction.texts.tokens import Tokenised
from headroles.plans.word_pairs import CLASSES
from headroles.records.example import Example, Lexical
from headroles.records.passage import Passage
from headroles.records.rules.names import EAGER, FORMED
from headroles.sieves import BUILT_IN
from headroles.sieves.base import MaskSieve
from headroles.sieves.selection import Selection, select
from headroles.testing import made_example

BATCHES = {64: 32, 128: 32, 512: 8, 2048: 2}
"""Usual number of inputs in a batch, by their tokens."""
SENTENCE = 20
"""Words of a sentence, across which no arc goes."""
SPELLINGS = 3000
"""Spellings, drawn with a probability of one over their rank. Of 61, 125 and 509 tokens of texts, 0.24, 0.34
and 0.49 then have the same one before them; in EWT dev, cut into such pairs, 0.25, 0.34 and 0.50."""
KEYS = ("identical", "identical:other", "related:other", "duplicate")
"""Sieves whose contrasts compare keys with themselves."""


def example_of(rng: np.random.Generator, tokens: int) -> Example:
    """Return a pair of texts of about 0.86 words per token with the requested number of tokens."""
    while True:
        example = made_example(rng, words=max(4, int(tokens * 0.42)))
        if example.size >= tokens:
            break
    keep = slice(0, tokens)
    words = int(example.word.max()) + 1
    chance = 1 / np.arange(1, SPELLINGS + 1)
    rank = rng.choice(SPELLINGS, tokens, p=chance / chance.sum())
    places, lead = np.unique(example.word[keep], return_index=True)
    lemmas = [f"w{number}" for number in rank[lead[places >= 0]]]
    known = Lexical(lemmas=tuple(lemmas), frequency=1 + 10 * SPELLINGS // (rank + 1))
    spelt = zip(example.tokens, example.special, rank, strict=False)
    classes = rng.choice(CLASSES, size=words).tolist()
    return Example(
        example.key,
        tuple(token if special else f"w{number}" for token, special, number in spelt),
        segment=example.segment[keep],
        special=example.special[keep],
        word=example.word[keep],
        arcs=tuple(arc for arc in example.arcs or () if arc.dependent // SENTENCE == arc.head // SENTENCE),
        lexical=known,
        upos=tuple(classes),
    )


def tokenised(example: Example, ids: np.ndarray) -> Tokenised:
    """Return the example as a tokenizer would give it."""
    return Tokenised(
        passage=Passage(example.key, ("",)),
        inputs={"input_ids": ids.tolist(), "attention_mask": [1] * example.size},
        tokens=example.tokens,
        texts=example.segment,
        spans=np.zeros((example.size, 2), dtype=np.int64),
        class_id=example.first,
        truncated=False,
    )


def changed(selection: Selection, **changes: None) -> Selection:
    """Return a selection with changes to its mask sieves."""
    return select([
        replace(sieve, **changes) if isinstance(sieve, MaskSieve) else sieve for sieve in selection.sieves
    ])


def beyond_distance(selection: Selection) -> Selection:
    """Return a selection whose contrasts do not compare keys with themselves."""
    return select([
        replace(sieve, contrast=replace(sieve.contrast, others=None))
        if isinstance(sieve, MaskSieve) and sieve.contrast is not None
        else sieve
        for sieve in selection.sieves
    ])


def padded(items: list[Tokenised], device: torch.device) -> dict[str, torch.Tensor]:
    """Return inputs of equal length as tensors."""
    names = ("input_ids", "attention_mask")
    return {name: torch.tensor([item.inputs[name] for item in items], device=device) for name in names}


def scored(
    model: Model, items: list[Tokenised], examples: list[Example], selection: Selection, batch: int
) -> None:
    """Do everything that labelling does to inputs after tokenising and parsing."""
    table = Table(selection, items, model)
    sizes = [item.size for item in items]
    for places in split_into_batches(np.arange(len(items)), sizes, batch, model):
        made = [Prepared(int(place), items[place], examples[place]) for place in places]
        for prepared in made:
            prepared.word_pairs = selection.word_pairs_of([prepared.example])[0]
        inputs = padded([items[place] for place in places], model.device)
        reader = Reader(model, made, table)
        lengths = [sizes[place] for place in places]
        read_attention(model.network, model.way, inputs, lengths, reader, model.layers)
    table.shard()
    if model.device.type == "cuda":
        torch.cuda.synchronize()


def minima(sides: dict[str, Callable[[], None]], pairs: int) -> dict[str, tuple[float, float]]:
    """Return the smallest seconds of each side, by the clock and on processors, over alternating runs.

    One round before them is not counted.
    """
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    for turn in range(pairs + 1):
        for name, side in sides.items():
            start, worked = time.perf_counter(), time.process_time()
            side()
            if turn:
                taken[name].append((time.perf_counter() - start, time.process_time() - worked))
    return {
        name: (min(wall for wall, _ in times), min(processor for _, processor in times))
        for name, times in taken.items()
    }


def added(seconds: dict[str, tuple[float, float]], name: str, over: str | None, clock: int) -> float:
    """Return the time of a side beyond another, or beyond the forward, in units of the forward."""
    forward = seconds["forward"][clock]
    return (seconds[name][clock] - seconds[over or "forward"][clock]) / forward


def networks(embedded: bool, tokens: int, hidden: int, layers: int) -> tuple[Any, Any]:
    """Return a model twice, for the plain forward and for scoring: random weights or the embedded encoder."""
    if embedded:
        folder = find_checkpoint(None, None).target
        return AutoModel.from_pretrained(folder), AutoModel.from_pretrained(folder)
    config = BertConfig(
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=hidden // 64,
        intermediate_size=4 * hidden,
        max_position_embeddings=max(512, tokens),
    )
    plain, read = BertModel(config), BertModel(config)
    read.load_state_dict(plain.state_dict())
    return plain, read


def measured(
    model: Model, plain: Any, tokens: int, batch: int, sieve: tuple[str, ...], pairs: int
) -> list[dict[str, Any]]:
    """Return one line of figures per selection."""
    rng = np.random.default_rng(0)
    examples = [example_of(rng, tokens) for _ in range(batch)]
    items = [tokenised(example, rng.integers(1000, 30000, example.size)) for example in examples]
    everything = selection_of([*BUILT_IN, *sieve])
    contrasts = changed(everything, word_class=None)
    equal = changed(selection_of([*BUILT_IN, *sorted({*sieve, *KEYS})]), word_class=None)
    examples = [replace(own, partner=other) for own, other in zip(examples, reversed(examples), strict=True)]
    selections = {
        "masks": changed(select(everything.masks), contrast=None, word_class=None),
        "contrasts": contrasts,
        "word class": everything,
        "swap": replace(contrasts, paired=True),
        "equal words": beyond_distance(equal),
        "keys": equal,
    }
    over = {"contrasts": "masks", "word class": "contrasts", "swap": "contrasts", "keys": "equal words"}
    inputs = padded(items, model.device)

    def forward() -> None:
        with torch.inference_mode():
            plain(**inputs)
        if model.device.type == "cuda":
            torch.cuda.synchronize()

    sides = {"forward": forward} | {
        name: lambda chosen=chosen: scored(model, items, examples, chosen, batch)
        for name, chosen in selections.items()
    }
    seconds = minima(sides, pairs)
    return [
        {
            "benchmark": f"overhead of {name}",
            "columns": len(chosen.columns),
            "seconds": round(seconds[name][0], 4),
            "ratio": round(seconds[name][0] / seconds["forward"][0], 3),
            "processor_ratio": round(seconds[name][1] / seconds["forward"][1], 3),
            "over": over.get(name),
            "adds": round(added(seconds, name, over.get(name), 0), 3),
            "processor_adds": round(added(seconds, name, over.get(name), 1), 3),
            "baseline": "plain sdpa forward",
            "forward_s": round(seconds["forward"][0], 4),
            "tokens": tokens,
            "batch": batch,
        }
        for name, chosen in selections.items()
    ]


def model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of the timed network to a command."""
    options = (
        click.option("--pairs", default=5, show_default=True, help="Alternating runs of each side."),
        click.option("--threads", default=1, show_default=True),
        click.option("--hidden", default=768, show_default=True),
        click.option("--layers", default=12, show_default=True),
        click.option("--embedded", is_flag=True, help="The embedded encoder instead of random weights."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def model_of(network: Any, way: str, place: torch.device) -> Model:
    """Return a network whose attention is read in one way, without a tokenizer."""
    config = network.config
    layers, heads = config.num_hidden_layers, config.num_attention_heads
    plain = place.type == "cpu" and network.dtype == torch.float32  # as the check at load finds out
    method = CaptureMethod(way, by_heads=way == FORMED, plain=plain)
    return Model(network, None, method, layers, heads, place, None, {})


@click.command()
@click.option("--tokens", multiple=True, type=int, help="Lengths.  [default: 64, 128, 512, 2048]")
@click.option("--batch", type=int, help="Inputs.  [default: 32, 8 of 512 tokens, 2 of 2,048]")
@model_options
@click.option("--device", default="cpu", show_default=True)
@click.option("--dtype", default="float32", show_default=True, type=click.Choice(sorted(DTYPES)))
@click.option("--sieve", multiple=True, help="Sieves in addition to the built-in ones, such as patterns.")
def main(
    tokens: tuple[int, ...],
    batch: int | None,
    pairs: int,
    threads: int,
    hidden: int,
    layers: int,
    embedded: bool,
    device: str,
    dtype: str,
    sieve: tuple[str, ...],
) -> None:
    """Compare scoring with the plain sdpa forward."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    set_memory_options()
    place = device_of(device)
    for length in tokens or tuple(BATCHES):
        if embedded and length > 512:
            continue
        plain, network = (
            network.eval().to(place, DTYPES[dtype]) for network in networks(embedded, length, hidden, layers)
        )
        plain.set_attn_implementation("sdpa")
        small = length <= WHOLE and place.type == "cpu" and dtype == "float32"
        way = EAGER if small else FORMED
        network.set_attn_implementation(way)
        read = model_of(network, way, place)
        shared = {
            "model": "embedded" if embedded else f"random BERT, {hidden} wide",
            "layers": read.layers,
            "heads": read.heads,
            "threads": threads,
            "pairs": pairs,
            "dtype": dtype,
            "machine": machine(place),
        }
        size = batch or BATCHES.get(length, max(1, 4096 // length))
        for line in measured(read, plain, length, size, sieve, pairs):
            click.echo(json.dumps(line | shared))


if __name__ == "__main__":
    main()
