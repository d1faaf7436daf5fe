"""Label a corpus of short texts end to end, and compare with the plain forward of the same texts.

Sentences of WikiText-2 (12 to 32 words, one text each), repeated under new ids where fewer than the
requested number differ, are labelled with the embedded encoder: tokenised, annotated, scored, written
shard by shard, judged and reported, without maps. The first run parses all texts; the others find all
parses in the cache. The
baseline is the network alone, tokenised beforehand, in batches of 32 and 64 sorted by length over a part of
the texts, with all processors, before and after; the best of all passes counts. Prints one line of JSON for
each.
"""

import gzip
import json
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from machine import machine
from transformers import AutoModel

from headroles import label
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import load_tokenizer

DATA = Path(__file__).resolve().parents[2] / "shared/data/wikitext2"
WORDS = (12, 32)


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


def plain_rate(texts: list[str], batch: int) -> float:
    """Return the examples per second of the network alone, with texts of similar length in one batch."""
    checkpoint = find_checkpoint(None, None)
    tokenizer = load_tokenizer(checkpoint)
    network = AutoModel.from_pretrained(checkpoint.target, attn_implementation="sdpa").eval()
    texts = sorted(texts, key=len, reverse=True)
    encoded = [
        tokenizer(texts[start : start + batch], padding=True, truncation=True, return_tensors="pt")
        for start in range(0, len(texts), batch)
    ]
    with torch.inference_mode():
        network(**encoded[0])
        start = time.perf_counter()
        for batch_inputs in encoded:
            network(**batch_inputs)
    return len(texts) / (time.perf_counter() - start)


def labelled(data: Path, out: Path, workers: int, cache: Path) -> float:
    """Return the seconds of a whole run."""
    start = time.perf_counter()
    label(
        data=data,
        text_a="text",
        out=out,
        workers=workers,
        maps=0,
        cache=str(cache),
        keep=10**6,
        device="cpu",
    )
    return time.perf_counter() - start


@click.command()
@click.option("--examples", default=100_000, show_default=True)
@click.option("--baseline", default=3_000, show_default=True, help="Texts of each plain pass.")
@click.option("--workers", multiple=True, type=int, default=(1, 2), show_default=True)
@click.option(
    "--data",
    multiple=True,
    default=(DATA / "wiki.valid.raw.gz", DATA / "wiki.test.raw.gz"),
    type=click.Path(path_type=Path),
)
def main(examples: int, baseline: int, workers: tuple[int, ...], data: tuple[Path, ...]) -> None:
    """Label a corpus and compare its rate with that of the plain forward."""
    unique = sentences(*data)
    texts = [unique[number % len(unique)] for number in range(examples)]
    part = np.random.default_rng(0).choice(len(unique), min(baseline, len(unique)), replace=False)
    chosen = [unique[number] for number in part]
    rates = [plain_rate(chosen, batch) for batch in (32, 64)]
    lines: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with (place / "corpus.jsonl").open("w") as file:
            for number, text in enumerate(texts):
                file.write(json.dumps({"id": number, "text": text}) + "\n")
        for turn, count in enumerate((workers[-1], *workers)):
            seconds = labelled(place / "corpus.jsonl", place / f"run-{turn}", count, place / "cache")
            state = "all parses cached" if turn else "first pass over unseen text"
            lines.append({"benchmark": f"corpus, {state}", "workers": count, "seconds": round(seconds, 1)})
    rates += [plain_rate(chosen, batch) for batch in (32, 64)]
    for line in lines:
        rate = examples / line["seconds"]
        line |= {
            "examples": examples,
            "distinct_texts": min(examples, len(unique)),
            "a_second": round(rate, 1),
            "baseline": "plain sdpa forward, all processors",
            "baseline_a_second": round(max(rates), 1),
            "share": round(rate / max(rates), 3),
            "machine": machine() | {"threads": torch.get_num_threads()},
        }
        click.echo(json.dumps(line))


if __name__ == "__main__":
    main()
