"""What scoring costs beside the plain forward pass of the same model, on the same batches.

Prints one line of JSON per comparison: the linear mask sieves alone, and with the contrasts. Both
sides run alternately in one process; the ratio is that of the minima. Masks are built inside the
timing.
"""

import json
import platform
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click
import numpy as np
import torch
from transformers import BertConfig, BertModel

from headroles.arrays import selection_of
from headroles.extraction.capture import EAGER, FUSED, Way, run
from headroles.extraction.forming import WHOLE
from headroles.extraction.model import Model
from headroles.extraction.passages import Passage
from headroles.extraction.reader import Prepared, Reader, Table, planned
from headroles.extraction.tokens import Tokenised
from headroles.lexical import Lexical
from headroles.records import Example
from headroles.sieves import BUILT_IN
from headroles.sieves.base import MaskSieve
from headroles.sieves.selection import Selection, select
from headroles.testing import made_example


def example_of(rng: np.random.Generator, tokens: int) -> Example:
    """A pair of about 0.86 words a token, cut or grown to the wanted length."""
    while True:
        example = made_example(rng, words=max(4, int(tokens * 0.42)))
        if example.size >= tokens:
            break
    keep = slice(0, tokens)
    words = int(example.word.max()) + 1
    known = Lexical(
        lemmas=tuple(f"w{each % 20}" for each in range(words)), frequency=rng.integers(1, 50, tokens)
    )
    return Example(
        example.key,
        example.tokens[keep],
        segment=example.segment[keep],
        special=example.special[keep],
        word=example.word[keep],
        arcs=example.arcs,
        lexical=known,
    )


def tokenised(example: Example, ids: np.ndarray) -> Tokenised:
    """The example as a tokenizer would have given it."""
    return Tokenised(
        passage=Passage(example.key, ("",)),
        inputs={"input_ids": ids.tolist(), "attention_mask": [1] * example.size},
        tokens=example.tokens,
        texts=example.segment,
        spans=np.zeros((example.size, 2), dtype=np.int64),
        class_id=example.first,
        truncated=False,
    )


def linear_only(selection: Selection) -> Selection:
    """The same mask sieves without their contrasts."""
    masks = [replace(each, contrast=None) for each in selection.sieves if isinstance(each, MaskSieve)]
    return select(masks)


def scored(model: Model, items: list[Tokenised], examples: list[Example], selection: Selection) -> None:
    """Everything that labelling does to a batch after tokenising and parsing."""
    table = Table(selection, items, model)
    batch = [
        Prepared(k, item, example) for k, (item, example) in enumerate(zip(items, examples, strict=True))
    ]
    for prepared in batch:
        planned(prepared, selection, None)
    inputs = {
        name: torch.tensor([item.inputs[name] for item in items]) for name in ("input_ids", "attention_mask")
    }
    run(model.network, model.way, inputs, [item.size for item in items], Reader(model, batch, table))


def minima(sides: dict[str, Callable[[], None]], pairs: int) -> dict[str, float]:
    """Smallest seconds of each side over alternating runs, after one uncounted round."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(pairs + 1):
        for name, side in sides.items():
            start = time.perf_counter()
            side()
            if turn:
                taken[name].append(time.perf_counter() - start)
    return {name: min(seconds) for name, seconds in taken.items()}


@click.command()
@click.option("--batch", default=32, show_default=True)
@click.option("--tokens", default=128, show_default=True)
@click.option("--pairs", default=5, show_default=True, help="Alternating runs of each side.")
@click.option("--threads", default=1, show_default=True)
@click.option("--hidden", default=768, show_default=True)
@click.option("--layers", default=12, show_default=True)
@click.option("--sieve", multiple=True, help="Sieves beside the usual ones, such as patterns.")
def main(
    batch: int, tokens: int, pairs: int, threads: int, hidden: int, layers: int, sieve: tuple[str, ...]
) -> None:
    """Compare scoring with the plain sdpa forward."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    heads = hidden // 64
    config = BertConfig(
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * hidden,
        max_position_embeddings=max(512, tokens),
    )
    plain = BertModel(config).eval()
    network: Any = BertModel(config).eval()
    network.load_state_dict(plain.state_dict())
    plain.set_attn_implementation("sdpa")
    way = EAGER if tokens <= WHOLE else FUSED
    network.set_attn_implementation(way)
    model = Model(network, None, Way(way), layers, heads, torch.device("cpu"), None, {})
    rng = np.random.default_rng(0)
    examples = [example_of(rng, tokens) for _ in range(batch)]
    items = [tokenised(each, rng.integers(1000, 30000, each.size)) for each in examples]
    everything = selection_of([*BUILT_IN, *sieve])
    masks = linear_only(everything)
    inputs = {name: torch.tensor([item.inputs[name] for item in items]) for name in items[0].inputs}

    def forward() -> None:
        with torch.inference_mode():
            plain(**inputs)

    seconds = minima(
        {
            "forward": forward,
            "masks": lambda: scored(model, items, examples, masks),
            "contrasts": lambda: scored(model, items, examples, everything),
        },
        pairs,
    )
    shared = {
        "baseline": "plain sdpa forward",
        "batch": batch,
        "tokens": tokens,
        "layers": layers,
        "heads": heads,
        "threads": threads,
        "pairs": pairs,
        "machine": f"{platform.machine()}, torch {torch.__version__}",
        "forward_s": round(seconds["forward"], 3),
    }
    for name, count in (("masks", len(masks.columns)), ("contrasts", len(everything.columns))):
        line = {"benchmark": f"overhead of {name}", "columns": count, "seconds": round(seconds[name], 3)}
        click.echo(json.dumps(line | {"ratio": round(seconds[name] / seconds["forward"], 3)} | shared))


if __name__ == "__main__":
    main()
