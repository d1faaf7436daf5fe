"""Measure the cost of words and trees of texts: parsed here, parsed by processes, and read from the cache.

Prints one line of JSON for each, in milliseconds per text (by the clock, and processor time of this process,
which other programs do not disturb), and for the plain forward pass of the embedded encoder on the same
sentences in batches of 32 by length. Everything runs in one thread, one after the other; the parsing that a
run does in a thread beside the model is timed on its own.
"""

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path

import click
import numpy as np
import torch
from curves import TEXT, sentences
from machine import machine

from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import Model, load
from headroles.extraction.parsing import annotate
from headroles.extraction.parsing.annotate import Annotator
from headroles.extraction.parsing.cache import ParseCache
from headroles.extraction.parsing.pipeline import identity_of, load_parser
from headroles.extraction.parsing.pool import ParserPool, processes_here
from headroles.extraction.texts.tokens import Tokenised, example_of, tokenise
from headroles.records.passage import Passage

BATCH, SHARD = 32, 256


Spent = tuple[float, float]


@contextmanager
def timed(seconds: dict[str, Spent], name: str) -> Iterator[None]:
    """Record the seconds of a block, by the clock and on a processor."""
    start, busy = time.perf_counter(), time.process_time()
    yield
    seconds[name] = time.perf_counter() - start, time.process_time() - busy


def forward(model: Model, tokenised: Sequence[Tokenised]) -> None:
    """Run the plain forward pass."""
    network = model.network
    network.set_attn_implementation("sdpa")
    order = sorted(tokenised, key=lambda item: -item.size)
    with torch.inference_mode():
        for first in range(0, len(order), BATCH):
            part = order[first : first + BATCH]
            width = part[0].size
            rows = [np.pad(item.inputs["input_ids"], (0, width - item.size)) for item in part]
            masks = [np.arange(width) < item.size for item in part]
            network(
                input_ids=torch.from_numpy(np.stack(rows)),
                attention_mask=torch.from_numpy(np.stack(masks)).long(),
            )


def shards(passages: Sequence[Passage]) -> Iterator[Sequence[Passage]]:
    """Yield passages in shards, as a run cuts them."""
    for start in range(0, len(passages), SHARD):
        yield passages[start : start + SHARD]


def annotated(annotator: Annotator, passages: Sequence[Passage]) -> None:
    """Get all words batch by batch, and announce the next shard before each shard."""
    for part, next_part in pairwise([*shards(passages), ()]):
        annotator.expect(next_part)
        for first in range(0, len(part), BATCH):
            annotator.words(part[first : first + BATCH])


@contextmanager
def ready(start: Callable[[], ParserPool]) -> Iterator[ParserPool]:
    """Give processes that have loaded their parser, and end them afterwards."""
    pool = start()
    for _, words in pool.submit(["It rains."]):
        words.result()
    yield pool
    pool.close()


@click.command()
@click.option("--examples", default=2000, show_default=True)
@click.option("--text", type=Path, default=TEXT, help="Running text to take sentences from.")
def main(examples: int, text: Path) -> None:
    """Measure the cost of annotation next to that of a forward pass."""
    torch.set_num_threads(1)
    texts = sentences(text)
    passages = [Passage(str(number), (next(texts),)) for number in range(examples)]
    parser, described = load_parser(None)
    seconds: dict[str, Spent] = {}
    with tempfile.TemporaryDirectory() as folder:
        first = Annotator(parser, ParseCache(Path(folder), identity_of(described)))
        with timed(seconds, "parsed here, kept on disk"):
            annotated(first, passages)
        again = Annotator(parser, ParseCache(Path(folder), identity_of(described)))
        with timed(seconds, "taken from the cache"):
            annotated(again, passages)
        words = first.words(passages)
    annotate.ALONE = 0
    start = partial(ParserPool, None, described, max(1, processes_here()))
    with ready(start) as pool, timed(seconds, "parsed here and by processes"):
        annotated(Annotator(parser, None, lambda: pool), passages)
    model = load(find_checkpoint(None, None), device="cpu", dtype="float32", max_length=128)
    with timed(seconds, "tokenised"):
        tokenised = tokenise(model.tokenizer, passages, 128)
    with timed(seconds, "aligned with tokens"):
        for item, parse in zip(tokenised, words, strict=True):
            example_of(item, parse, True)
    with timed(seconds, "plain forward"):
        forward(model, tokenised)
    tokens = round(float(np.mean([item.size for item in tokenised])), 1)
    for name, (took, busy) in seconds.items():
        line = {"benchmark": f"annotation: {name}", "examples": examples, "tokens": tokens}
        line |= {"ms": round(took / examples * 1000, 3), "processor_ms": round(busy / examples * 1000, 3)}
        line |= {"machine": machine()}
        click.echo(json.dumps(line))


if __name__ == "__main__":
    main()
