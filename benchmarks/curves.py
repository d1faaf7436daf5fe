"""Measure the peak memory of runs by their examples, by the layers of the model, and by tokens.

Each point is a whole ``headroles label`` in its own process, written to a folder, with nothing cached. Prints
one line of JSON per point, and one per curve with the memory per step, by least squares.
"""

import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from machine import machine

TEXT = Path(__file__).resolve().parents[2] / "shared" / "data" / "wikitext2" / "wiki.valid.raw.gz"
AXES = ("examples", "layers", "tokens")
EXAMPLES = (100, 1_000, 5_000, 20_000)
LAYERS = (2, 4, 8, 16)
TOKENS = (128, 512, 1_024, 2_048, 4_096)
FEW, MANY, TARGET = 100, 5_000, 100
"""The run of ``MANY`` examples must need less than ``TARGET`` MB more than the run of ``FEW``."""


def sentences(text: Path) -> Iterator[str]:
    """Yield sentences of 10 to 40 words of running text without end; repeated sentences get a number."""
    from headroles.extraction.texts.running_text import read_running_text

    paragraphs = [line for document in read_running_text(text) for line in document.paragraphs]
    cut = [sentence.strip() for line in paragraphs for sentence in re.split(r"(?<= \.) ", line)]
    fitting = [sentence for sentence in dict.fromkeys(cut) if 10 <= len(sentence.split()) <= 40]
    order = np.random.default_rng(0).permutation(len(fitting))
    turn = 0
    while True:
        for place in order:
            yield f"( {turn} ) {fitting[place]}" if turn else fitting[place]
        turn += 1


def write_inputs(path: Path, texts: Sequence[str]) -> None:
    """Write texts as JSON lines."""
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")


def write_model(folder: Path, layers: int, positions: int) -> None:
    """Write a BERT of random weights, 128 wide with 16 heads, and the tokenizer of the embedded encoder."""
    import torch
    from transformers import BertConfig, BertModel

    from headroles.extraction.model.checkpoint import find_checkpoint
    from headroles.extraction.model.load import load_tokenizer

    tokenizer = load_tokenizer(find_checkpoint(None, None))
    size = {"hidden_size": 128, "num_attention_heads": 16, "intermediate_size": 256}
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer), num_hidden_layers=layers, max_position_embeddings=positions, **size
    )
    BertModel(config).save_pretrained(folder)
    tokenizer.model_max_length = positions
    tokenizer.save_pretrained(folder)


def peak(inputs: Path, folder: Path, **options: Any) -> dict[str, float]:
    """Return the peak megabytes of one run (without its parser processes), and its seconds."""
    command = [
        sys.executable,
        __file__,
        "--one",
        json.dumps({"data": str(inputs), "out": str(folder)} | options),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise click.ClickException(done.stderr[-2000:])
    figures: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return figures


def run_one(options: dict[str, Any]) -> None:
    """Run in this process, and print peak memory and seconds."""
    from headroles import label

    start = time.perf_counter()
    label(text_a="text", maps=0, cache="none", **options)
    figures = {
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "seconds": time.perf_counter() - start,
    }
    click.echo(json.dumps({name: round(value, 1) for name, value in figures.items()}))


def by_examples(text: Path, points: Sequence[int], scratch: Path) -> Iterator[dict[str, Any]]:
    """Measure the embedded encoder on growing numbers of sentences."""
    stream = sentences(text)
    texts = [next(stream) for _ in range(max(points))]
    longest = max(texts[: min(points)], key=lambda sentence: len(sentence.split()))
    for count in points:
        write_inputs(scratch / "examples.jsonl", [longest, *texts[: count - 1]])
        yield {"examples": count} | peak(scratch / "examples.jsonl", scratch / f"run-{count}")


def by_layers(text: Path, points: Sequence[int], scratch: Path) -> Iterator[dict[str, Any]]:
    """Measure models of growing depth, with 16 heads per layer, on 256 sentences."""
    stream = sentences(text)
    write_inputs(scratch / "layers.jsonl", [next(stream) for _ in range(256)])
    for layers in points:
        write_model(scratch / f"model-{layers}", layers, 512)
        run = peak(
            scratch / "layers.jsonl", scratch / f"layers-{layers}", model=str(scratch / f"model-{layers}")
        )
        weights = (scratch / f"model-{layers}" / "model.safetensors").stat().st_size / 2**20
        yield {"layers": layers} | run | {"weights_mb": round(weights, 1)}


def by_tokens(text: Path, points: Sequence[int], scratch: Path) -> Iterator[dict[str, Any]]:
    """Measure a model of 2 layers of 16 heads on four inputs of growing length."""
    write_model(scratch / "model", 2, max(points) + 8)
    for tokens in points:
        stream = sentences(text)
        long_texts = [" ".join(next(stream) for _ in range(tokens // 8)) for _ in range(4)]
        cut = [" ".join(long_text.split()[:tokens]) for long_text in long_texts]  # a word has a token or more
        write_inputs(scratch / "tokens.jsonl", cut)
        options = {"model": str(scratch / "model"), "max_length": tokens}
        yield {"tokens": tokens} | peak(scratch / "tokens.jsonl", scratch / f"tokens-{tokens}", **options)


def slope(axis: str, points: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the memory that a step along an axis adds."""
    at = np.array([point[axis] for point in points], dtype=float)
    megabytes = np.array([point["peak_mb"] - point.get("weights_mb", 0) for point in points])
    per, base = np.polyfit(at, megabytes, 1)
    line = {"benchmark": f"slope by {axis}", "kb_each": round(per * 1024, 2), "base_mb": round(base)}
    peaks = {point[axis]: point["peak_mb"] for point in points}
    if axis == "examples" and {FEW, MANY} <= peaks.keys():
        added = round(peaks[MANY] - peaks[FEW])
        line |= {"from": FEW, "to": MANY, "added_mb": added, "target_mb": TARGET, "held": added < TARGET}
    return line | {"machine": machine()}


@click.command()
@click.option("--axis", type=click.Choice(AXES), multiple=True, help="Curves to measure.  [default: all]")
@click.option("--examples", type=int, multiple=True, default=EXAMPLES, show_default=True)
@click.option("--layers", type=int, multiple=True, default=LAYERS, show_default=True)
@click.option("--tokens", type=int, multiple=True, default=TOKENS, show_default=True)
@click.option("--text", type=Path, default=TEXT, help="Running text to take sentences from.")
@click.option("--one", hidden=True)
def main(axis: tuple[str, ...], text: Path, one: str | None, **points: tuple[int, ...]) -> None:
    """Measure peak memory by examples, layers and tokens."""
    if one is not None:
        run_one(json.loads(one))
        return
    if not text.exists():
        raise click.ClickException(
            f"sentences are taken from running text, but there is no file '{text}'; name one with --text"
        )
    measures = {"examples": by_examples, "layers": by_layers, "tokens": by_tokens}
    for name in axis or AXES:
        with tempfile.TemporaryDirectory() as scratch:
            results = []
            for point in measures[name](text, sorted(points[name]), Path(scratch)):
                click.echo(json.dumps({"benchmark": f"memory by {name}"} | point))
                results.append(point)
        click.echo(json.dumps(slope(name, results)))


if __name__ == "__main__":
    main()
