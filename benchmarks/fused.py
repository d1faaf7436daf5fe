"""Compare the plain sdpa forward with scoring from rows of weights and by the fused path, on a device.

Prints one line of JSON for each kind of model and length. Time is the ratio of the minima of alternating runs
in one process. Plans are made before the timing, since runs make them in a second thread. Memory is the peak
of the device during a run; a processor has no such figure. Models have random weights. Their number of layers
is an option.

On a processor the fused path runs uncompiled and is slow. There, figures only show that the script works.
"""

import json
from collections.abc import Callable
from typing import Any

import click
import numpy as np
import torch
from long import HEADS, KINDS, VOCABULARY, configured, long_example, minima
from machine import machine
from transformers import AutoModel

from headroles.arrays import selection_of
from headroles.extraction.capture.attention import read_attention
from headroles.extraction.capture.method import CaptureMethod
from headroles.extraction.model.load import DTYPES, Model
from headroles.extraction.scoring.job import SieveJob
from headroles.extraction.scoring.prepared import Prepared, batch_plans_of, long_plan_of
from headroles.extraction.texts.tokens import Tokenised
from headroles.plans.masks import Band
from headroles.records.passage import Passage
from headroles.records.rules.names import FORMED, FUSED, ROWS, SUMS
from headroles.sieves import BUILT_IN

NAMES = {ROWS: FORMED, FUSED: SUMS}


class Sides:
    """A random model on a device, to be run alone, and to be scored by both paths."""

    def __init__(
        self, kind: str, tokens: int, layers: int, device: torch.device, dtype: str, sieves: tuple[str, ...]
    ) -> None:
        torch.manual_seed(0)
        config = configured(kind, tokens, layers)
        network: Any = AutoModel.from_config(config, attn_implementation="sdpa")  # type: ignore[no-untyped-call]
        self.network: Any = network.eval().to(device, DTYPES[dtype])
        self.device, self.layers, self.causal = device, layers, kind == "decoder"
        self.example = long_example(tokens)
        self.ids = np.random.default_rng(0).integers(0, VOCABULARY, tokens)
        self.sieves = selection_of([*sieves] or [*BUILT_IN])
        self.values: dict[str, np.ndarray] = {}

    def plain(self) -> Callable[[], None]:
        """Return a run of the plain forward."""

        def forward() -> None:
            self.network.set_attn_implementation("sdpa")
            with torch.inference_mode():
                self.network(input_ids=self.given())
            self.wait()

        return forward

    def scored(self, path: str) -> Callable[[], None]:
        """Return a run that scores all heads by a path; its plans are made here, uncounted."""
        model = Model(
            network=self.network,
            tokenizer=None,
            way=CaptureMethod(NAMES[path], causal=self.causal),
            layers=self.layers,
            heads=HEADS,
            device=self.device,
            limit=None,
            described={},
        )
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
        job = SieveJob(model, self.sieves, None)
        shown = Band(1 - example.size, 0, example.size) if self.causal else None
        laid = Prepared(0, tokenised, example)
        if batch_plans_of(model, self.sieves, [laid]) is None:
            long_plan_of(laid, self.sieves, shown)
        plans = dict(laid.long_plans)

        def score() -> None:
            self.network.set_attn_implementation(NAMES[path])
            table = job.table([tokenised])
            laid.long_plans = dict(plans)
            laid.word_pairs = self.sieves.word_pairs_of([example])[0]
            reader = job.reader([laid], table)
            ids = {"input_ids": self.given()}
            read_attention(self.network, model.way, ids, [example.size], reader, model.layers)
            self.wait()
            self.values[path] = job.result(table).values

        return score

    def given(self) -> torch.Tensor:
        """Return the tokens on the device."""
        return torch.from_numpy(self.ids)[None].to(self.device)

    def wait(self) -> None:
        """Wait until the device has done all of its work."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()


def peak(side: Callable[[], None], device: torch.device) -> float | None:
    """Return the peak megabytes of the device during a run; None on a processor."""
    if device.type != "cuda":
        return None
    torch.cuda.reset_peak_memory_stats()
    side()
    return torch.cuda.max_memory_allocated() / 2**20


@click.command()
@click.option("--tokens", multiple=True, type=int, default=(512, 2048, 8192), show_default=True)
@click.option("--kind", multiple=True, type=click.Choice(KINDS), default=KINDS, show_default=True)
@click.option("--layers", default=4, show_default=True)
@click.option("--pairs", default=5, show_default=True, help="Alternating runs of each side.")
@click.option("--device", default="cuda", show_default=True)
@click.option("--dtype", type=click.Choice(list(DTYPES)), default="bfloat16", show_default=True)
@click.option("--sieve", multiple=True, help="Sieves; without it, all built-in ones.")
def main(
    tokens: tuple[int, ...],
    kind: tuple[str, ...],
    layers: int,
    pairs: int,
    device: str,
    dtype: str,
    sieve: tuple[str, ...],
) -> None:
    """Compare both paths of scoring with the plain sdpa forward."""
    if device == "cuda" and not torch.cuda.is_available():
        raise click.UsageError("this machine has no CUDA device; give --device cpu, with few --tokens")
    place = torch.device(device)
    for model_kind in kind:
        for length in tokens:
            made = Sides(model_kind, length, layers, place, dtype, sieve)
            sides = {"plain": made.plain()} | {path: made.scored(path) for path in NAMES}
            seconds = minima(sides, pairs)
            peaks = {name: peak(side, place) for name, side in sides.items()}
            difference = np.nanmax(np.abs(made.values["fused"] - made.values["rows"]))
            line = {
                "benchmark": "fused path",
                "model": model_kind,
                "tokens": length,
                "columns": len(made.sieves.columns),
                "baseline": "plain sdpa forward",
                "baseline_s": round(seconds["plain"], 5),
                **{f"ratio_{path}": round(seconds[path] / seconds["plain"], 3) for path in NAMES},
                **{f"peak_mb_{name}": most and round(most) for name, most in peaks.items()},
                "largest_difference": float(f"{difference:.2g}"),
                "dtype": dtype,
                "layers": layers,
                "heads": HEADS,
                "pairs": pairs,
                "machine": machine(place),
            }
            click.echo(json.dumps(line))


if __name__ == "__main__":
    main()
