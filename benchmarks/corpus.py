"""Label a corpus of short texts end to end, and compare with the plain forward of the same texts.

Sentences of WikiText-2 (12 to 32 words, one text each), repeated under new ids where fewer than the
requested number differ, are labelled with the embedded encoder: tokenised, annotated, scored, written
shard by shard, judged and reported, without maps. The first run parses all texts; the others find all
parses in the cache. Prints one line of JSON for each.

The baseline is the network alone with all processors, on a part of the texts that is tokenised beforehand. A
shared machine does 10 % more or less from minute to minute, and a run takes ten minutes. So both take turns:
every half minute all processes of the run are stopped, and the forward runs for some seconds. The rate is
that of all its turns, with the better one of two sizes of batches.
"""

import gzip
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from machine import machine
from transformers import AutoModel

from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import load_tokenizer

DATA = Path(__file__).resolve().parents[2] / "shared/data/wikitext2"
WORDS = (12, 32)
BATCHES = (32, 64)
"""Sizes of batches of the plain forward."""


def sentences(*files: Path) -> list[str]:
    """Return the sentences of raw WikiText, each once."""
    unique: dict[str, None] = {}
    for file in files:
        with gzip.open(file, "rt") as lines:
            for line in lines:
                text = re.sub(r" @([-,.])@ ", r"\1", line.strip())
                if text and not text.startswith("="):
                    for sentence in re.split(r"(?<=[.!?]) ", text):
                        if WORDS[0] <= len(sentence.split()) <= WORDS[1]:
                            unique.setdefault(sentence.strip())
    return list(unique)


class PlainForward:
    """The network alone on part of the texts, tokenised beforehand, in batches of 32 and of 64.

    Texts of similar length share a batch; batches of all lengths come in a fixed random order.
    """

    def __init__(self, texts: list[str]) -> None:
        """Load the network and tokenise the texts."""
        checkpoint = find_checkpoint(None, None)
        tokenizer = load_tokenizer(checkpoint)
        self._network = AutoModel.from_pretrained(checkpoint.target, attn_implementation="sdpa").eval()
        texts, shuffle = sorted(texts, key=len, reverse=True), np.random.default_rng(1).permutation
        self._batches = {}
        for size in BATCHES:
            parts = [texts[start : start + size] for start in range(0, len(texts), size)]
            encoded = [
                tokenizer(parts[number], padding=True, truncation=True, return_tensors="pt")
                for number in shuffle(len(parts))
            ]
            self._batches[size] = itertools.cycle(encoded)
        self.start_again()

    def start_again(self) -> None:
        """Forget all turns so far."""
        self._texts, self._seconds = dict.fromkeys(BATCHES, 0), dict.fromkeys(BATCHES, 0.0)

    def run(self, seconds: float) -> None:
        """Read batches of each size for half of some seconds, after one that is not measured."""
        for size, batches in self._batches.items():
            with torch.inference_mode():
                self._network(**next(batches))
                start = time.perf_counter()
                while (taken := time.perf_counter() - start) < seconds / len(BATCHES):
                    batch = next(batches)
                    self._network(**batch)
                    self._texts[size] += len(batch["input_ids"])
            self._seconds[size] += taken

    @property
    def rate(self) -> float:
        """Return the texts a second of the better size of batches, over all turns since the start."""
        return max(self._texts[size] / self._seconds[size] for size in BATCHES)


def label_in_turns(call: dict[str, Any], forward: PlainForward, turn: float, pause: float) -> float:
    """Return the seconds of a run in a process of its own, which waits while the plain forward has its turns.

    Args:
        call: Arguments of ``headroles.label``.
        forward: The plain forward, which has a turn before the run, after it, and in between.
        turn: Seconds of the run between turns of the forward.
        pause: Seconds of each turn of the forward.
    """
    code = f"import headroles, json; headroles.label(**json.loads({json.dumps(call)!r}))"
    forward.start_again()
    forward.run(pause)
    process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    seconds = 0.0
    try:
        while process.poll() is None:
            start = time.perf_counter()
            with suppress(subprocess.TimeoutExpired):
                process.wait(turn)
            _send(process, signal.SIGSTOP)
            seconds += time.perf_counter() - start
            forward.run(pause)
            _send(process, signal.SIGCONT)
    finally:
        _send(process, signal.SIGKILL)
    if process.returncode:
        raise SystemExit(f"the run ended with {process.returncode}")
    return seconds


def _send(process: "subprocess.Popen[bytes]", kind: signal.Signals) -> None:
    """Send a signal to a run and its workers, unless the run has ended."""
    if process.poll() is None:
        os.killpg(process.pid, kind)


@click.command()
@click.option("--examples", default=100_000, show_default=True)
@click.option("--baseline", default=3_000, show_default=True, help="Texts of the plain forward.")
@click.option("--workers", multiple=True, type=int, default=(1, 2), show_default=True)
@click.option("--turn", default=30.0, show_default=True, help="Seconds of a run between two plain passes.")
@click.option("--pause", default=6.0, show_default=True, help="Seconds of each plain pass.")
@click.option(
    "--data",
    multiple=True,
    default=(DATA / "wiki.valid.raw.gz", DATA / "wiki.test.raw.gz"),
    type=click.Path(path_type=Path),
)
def main(
    examples: int,
    baseline: int,
    workers: tuple[int, ...],
    turn: float,
    pause: float,
    data: tuple[Path, ...],
) -> None:
    """Label a corpus and compare its rate with that of the plain forward."""
    unique = sentences(*data)
    texts = [unique[number % len(unique)] for number in range(examples)]
    part = np.random.default_rng(0).choice(len(unique), min(baseline, len(unique)), replace=False)
    forward = PlainForward([unique[number] for number in part])
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with (place / "corpus.jsonl").open("w") as file:
            for number, text in enumerate(texts):
                file.write(json.dumps({"id": number, "text": text}) + "\n")
        for number, count in enumerate((workers[-1], *workers)):
            call = {
                "data": str(place / "corpus.jsonl"),
                "text_a": "text",
                "out": str(place / f"run-{number}"),
                "workers": count,
                "maps": 0,
                "cache": str(place / "cache"),
                "keep": 10**6,
                "device": "cpu",
            }
            seconds = label_in_turns(call, forward, turn, pause)
            line = {
                "benchmark": "corpus, " + ("all parses cached" if number else "first pass over unseen text"),
                "workers": count,
                "seconds": round(seconds, 1),
                "examples": examples,
                "distinct_texts": min(examples, len(unique)),
                "a_second": round(examples / seconds, 1),
                "baseline": "plain sdpa forward, all processors, in turns with the run",
                "baseline_a_second": round(forward.rate, 1),
                "share": round(examples / seconds / forward.rate, 3),
                "machine": machine() | {"threads": torch.get_num_threads()},
            }
            click.echo(json.dumps(line))


if __name__ == "__main__":
    main()
