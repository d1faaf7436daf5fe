"""Measure the memory and time that scoring adds to the plain sdpa forward of long inputs.

Prints one line of JSON for each kind of model and length. Memory is the peak of a new process that scores,
less that of a new process that runs the plain forward alone. Time is the ratio of the minima of alternating
runs in one process. Plans are made inside the timing; tokenising and parsing are not. The models have random
weights; their number of layers is an option.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from machine import machine
from transformers import AutoModel, BertConfig, LlamaConfig

from headroles.arrays import selection_of
from headroles.extraction.capture.attention import read_attention
from headroles.extraction.capture.method import CaptureMethod
from headroles.extraction.model.load import Model
from headroles.extraction.scoring.job import SieveJob
from headroles.extraction.scoring.prepared import Prepared
from headroles.extraction.texts.tokens import Tokenised
from headroles.plans.word_pairs import CLASSES
from headroles.records.example import Example, Lexical
from headroles.records.passage import Passage
from headroles.records.rules.names import FORMED
from headroles.sieves import BUILT_IN
from headroles.testing import made_example

HEADS, WIDTH, VOCABULARY = 12, 768, 5000
CLEARED, STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")
KINDS = {"encoder": HEADS, "decoder": HEADS // 3, "shared": 1}
"""Key heads of BERT, which sees all keys, and of two kinds of Llama, which see earlier ones."""


def configured(kind: str, tokens: int, layers: int) -> Any:
    """Return the configuration of a random model with heads of 64 dimensions."""
    shared = {
        "vocab_size": VOCABULARY,
        "hidden_size": WIDTH,
        "num_hidden_layers": layers,
        "num_attention_heads": HEADS,
        "intermediate_size": 4 * WIDTH,
        "max_position_embeddings": tokens,
    }
    if kind == "encoder":
        return BertConfig(**shared)
    return LlamaConfig(**shared, num_key_value_heads=KINDS[kind], use_cache=False)


def long_example(tokens: int) -> Example:
    """Return a pair of texts of about 0.86 words per token, with arcs; spellings are as frequent as words."""
    rng = np.random.default_rng(0)
    made = made_example(rng, words=int(tokens * 0.45))
    while made.size < tokens:
        made = made_example(rng, words=int(tokens * 0.5))
    keep = slice(0, tokens)
    words = int(made.word.max()) + 1
    share = 1 / (np.arange(VOCABULARY) + 4)
    spelled = tuple(f"w{number}" for number in rng.choice(VOCABULARY, tokens, p=share / share.sum()))
    known = Lexical(lemmas=spelled[:words], frequency=rng.integers(1, 50, tokens))
    return Example(
        made.key,
        spelled,
        segment=made.segment[keep],
        special=made.special[keep],
        word=made.word[keep],
        arcs=made.arcs,
        lexical=known,
        upos=tuple(rng.choice(CLASSES, size=words).tolist()),
    )


class Sides:
    """A random model, to be run alone and to be run while its heads are scored."""

    def __init__(self, kind: str, tokens: int, layers: int, sieves: tuple[str, ...]) -> None:
        torch.manual_seed(0)
        config = configured(kind, tokens, layers)
        self.network: Any = AutoModel.from_config(config, attn_implementation="sdpa").eval()
        self.model = Model(
            network=self.network,
            tokenizer=None,
            way=CaptureMethod(FORMED, causal=kind != "encoder", by_heads=True, plain=True),
            layers=layers,
            heads=HEADS,
            device=torch.device("cpu"),
            limit=None,
            described={},
        )
        self.example = long_example(tokens)
        self.ids = np.random.default_rng(0).integers(0, VOCABULARY, tokens)
        self.sieves = selection_of([*BUILT_IN, *sieves])

    def plain(self) -> None:
        """Run the plain forward."""
        self.network.set_attn_implementation("sdpa")
        with torch.inference_mode():
            self.network(input_ids=torch.from_numpy(self.ids)[None])

    def scored(self) -> None:
        """Run the forward and score all heads."""
        self.network.set_attn_implementation(FORMED)
        example = self.example
        tokenised = Tokenised(
            passage=Passage(example.key, ("", "")),
            inputs={"input_ids": self.ids.tolist()},
            tokens=example.tokens,
            texts=example.segment,
            spans=np.zeros((example.size, 2), dtype=np.int64),
            class_id=example.first,
            truncated=False,
        )
        job = SieveJob(self.model, self.sieves, None)
        table = job.table([tokenised])
        batch = [Prepared(0, tokenised, example, word_pairs=self.sieves.word_pairs_of([example])[0])]
        inputs = {"input_ids": torch.from_numpy(self.ids)[None]}
        reader = job.reader(batch, table)
        read_attention(self.network, self.model.way, inputs, [example.size], reader, self.model.layers)
        there = np.isfinite(job.result(table).values).any(axis=(1, 2, 3))
        asked = [not name.endswith(":class") for name in self.sieves.columns]  # those take a whole shard
        assert there[asked].mean() > 0.8


def minima(sides: dict[str, Callable[[], None]], pairs: int) -> dict[str, float]:
    """Return the smallest seconds of each side over alternating runs, after one uncounted round."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(pairs + 1):
        for name, side in sides.items():
            start = time.perf_counter()
            side()
            if turn:
                taken[name].append(time.perf_counter() - start)
    return {name: min(seconds) for name, seconds in taken.items()}


def forget_peak() -> None:
    """Reset the peak, so that making the model does not count; on Linux only."""
    if CLEARED.exists():
        CLEARED.write_text("5")


def peak_so_far() -> float:
    """Return the peak megabytes of this process."""
    if CLEARED.exists():
        (line,) = (line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def peak(words: list[str], side: str) -> float:
    """Return the peak megabytes of a new process that runs one side once."""
    done = subprocess.run(
        [sys.executable, __file__, *words, "--side", side], capture_output=True, text=True, check=True
    )
    return float(done.stdout.strip().splitlines()[-1])


def measured(kind: str, tokens: int, layers: int, pairs: int, sieve: tuple[str, ...]) -> dict[str, Any]:
    """Return one line of figures."""
    words = ["--kind", kind, "--tokens", str(tokens), "--layers", str(layers)]
    for name in sieve:
        words += ["--sieve", name]
    peaks = {side: peak(words, side) for side in ("plain", "scored")}
    sides = Sides(kind, tokens, layers, sieve)
    seconds = minima({"plain": sides.plain, "scored": sides.scored}, pairs) if pairs else {}
    line: dict[str, Any] = {
        "benchmark": "long inputs",
        "model": kind,
        "tokens": tokens,
        "columns": len(sides.sieves.columns),
        "added_mb": round(peaks["scored"] - peaks["plain"]),
        "baseline": "plain sdpa forward",
        "baseline_mb": round(peaks["plain"]),
    }
    if seconds:
        line |= {
            "ratio": round(seconds["scored"] / seconds["plain"], 3),
            "seconds": round(seconds["scored"], 3),
            "baseline_s": round(seconds["plain"], 3),
        }
    threads = torch.get_num_threads()
    return line | {"layers": layers, "heads": HEADS, "threads": threads, "pairs": pairs, "machine": machine()}


@click.command()
@click.option("--tokens", multiple=True, type=int, default=(512, 1024, 2048, 4096, 8192), show_default=True)
@click.option(
    "--kind", multiple=True, type=click.Choice(tuple(KINDS)), default=tuple(KINDS), show_default=True
)
@click.option("--layers", default=4, show_default=True)
@click.option("--pairs", default=5, show_default=True, help="Alternating runs of each side; 0 for none.")
@click.option("--threads", default=1, show_default=True)
@click.option("--sieve", multiple=True, help="Sieves in addition to the built-in ones, such as patterns.")
@click.option("--side", hidden=True)
def main(
    tokens: tuple[int, ...],
    kind: tuple[str, ...],
    layers: int,
    pairs: int,
    threads: int,
    sieve: tuple[str, ...],
    side: str | None,
) -> None:
    """Compare scoring with the plain sdpa forward on long inputs."""
    torch.set_num_threads(threads)
    if side is not None:
        sides = Sides(kind[0], tokens[0], layers, sieve)
        forget_peak()
        getattr(sides, side)()
        click.echo(peak_so_far())
        return
    for model_kind in kind:
        for length in tokens:
            click.echo(json.dumps(measured(model_kind, length, layers, pairs, sieve)))


if __name__ == "__main__":
    main()
