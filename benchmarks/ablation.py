"""Compare the time of taking out every head of the embedded encoder with that of plain whole forwards.

Prints one line of JSON. The plain side runs the model with the library's sdpa attention once without and
once for every head, each as its own forward of one input, and the same in rows of as many copies as a layer
has heads. Both sides have the same inputs (pairs of texts of the installed samples), run alternately in one
process, and use all threads: the plain side inside its operations, the other by inputs. Times are by the
clock and on processors; the ratios are those of the minima.
"""

import json
from typing import Any

import click
import numpy as np
import torch
from machine import machine
from overhead import minima
from transformers import AutoModel

from headroles.extraction.ablation.arms import Ablator, Arm
from headroles.extraction.ablation.references import References
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import load
from headroles.extraction.stream import set_memory_options
from headroles.extraction.texts.tokens import tokenise
from headroles.options.causal.ablate import AblateOptions
from headroles.runs.sources import corpus_of


@click.command()
@click.option("--inputs", default=24, show_default=True, help="Inputs of each turn.")
@click.option("--pairs", default=3, show_default=True, help="Turns that are counted.")
@click.option(
    "--by", default="mean", show_default=True, type=click.Choice(["mean", "zero", "even", "resample"])
)
@click.option("--threads", default=2, show_default=True)
def main(inputs: int, pairs: int, by: str, threads: int) -> None:
    """Time both sides."""
    torch.set_num_threads(threads)
    set_memory_options()
    checkpoint = find_checkpoint(None, None)
    model = load(checkpoint, device="cpu", dtype="float32", max_length=128)
    plain = AutoModel.from_pretrained(checkpoint.target, attn_implementation="sdpa").eval()
    passages = list(corpus_of(AblateOptions(task="QNLI", limit=inputs), frozenset()))
    items = tokenise(model.tokenizer, passages, 128)
    units = [passage.key for passage in passages]
    ablator = Ablator(model, ["representation", "tokens"], References(items, units))
    heads = [(layer, head) for layer in range(model.layers) for head in range(model.heads)]
    arms = [Arm(by, (head,)) for head in heads]
    tensors = [{name: torch.tensor([own]) for name, own in item.inputs.items()} for item in items]

    def whole(rows: int) -> None:
        with torch.inference_mode():
            for own in tensors:
                copies = {name: ids.expand(rows, -1).contiguous() for name, ids in own.items()}
                for _ in range(-(-(len(heads) + 1) // rows)):
                    plain(**copies)

    sides: dict[str, Any] = {
        "ablation": lambda: ablator.measure(items, units, None, arms),
        "forwards": lambda: whole(1),
        "forwards in rows": lambda: whole(model.heads),
    }
    seconds = minima(sides, pairs)
    clock, worked = seconds["ablation"]
    figures = {
        "benchmark": f"ablation by {by}",
        "seconds": round(clock, 2),
        "baseline": "plain whole sdpa forwards, one for every head and one without",
        "forwards_s": round(seconds["forwards"][0], 2),
        "ratio": round(clock / seconds["forwards"][0], 3),
        "processor_ratio": round(worked / seconds["forwards"][1], 3),
        "rows_s": round(seconds["forwards in rows"][0], 2),
        "ratio_to_rows": round(clock / seconds["forwards in rows"][0], 3),
        "processor_ratio_to_rows": round(worked / seconds["forwards in rows"][1], 3),
        "ms_per_head_and_input": round(1e3 * clock / len(heads) / inputs, 3),
        "processor_ms_per_head_and_input": round(1e3 * worked / len(heads) / inputs, 3),
        "heads": len(heads),
        "inputs": inputs,
        "tokens": float(np.mean([item.size for item in items]).round(1)),
        "threads": threads,
        "machine": machine(),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
