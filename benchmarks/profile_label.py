"""Profile the labelling of short texts: write the seconds of each stage on its own thread as a text.

Sentences of WikiText-2 are scored by the embedded encoder with all built-in sieves on one thread, with parses
from an earlier pass in memory. The plain sdpa forward of the same texts is timed, too. The text is written to
standard output; ``benchmarks/profile.txt`` is the output of one run.
"""

import functools
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from corpus import DATA, sentences
from machine import machine
from transformers import AutoModel

from headroles.arrays import selection_of
from headroles.extraction import stream
from headroles.extraction.capture import attention
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import load
from headroles.extraction.parsing.annotate import Annotator
from headroles.extraction.parsing.pipeline import load_parser
from headroles.extraction.scoring import job as sieving
from headroles.extraction.scoring import reader
from headroles.extraction.scoring.batches import reading
from headroles.extraction.scoring.classes import sums as class_sums
from headroles.extraction.scoring.classes import table as class_table
from headroles.extraction.texts.tokens import tokenise
from headroles.records.passage import Passage, Words
from headroles.sieves.selection import Selection

STAGES = (
    ("tokenise", "", stream, "tokenise"),
    ("prepare", "", sieving.SieveJob, "prepare"),
    ("align words and tokens", "prepare", sieving, "example_of"),
    ("ask the sieves", "prepare", Selection, "masks_of"),
    ("lay sieves over the batch", "prepare", reading, "batch_plan"),
    ("lay word classes over the batch", "", class_sums.ClassSums, "__init__"),
    ("model and reading", "", stream, "read_attention"),
    ("hand over attention", "model and reading", attention, "hand_over"),
    ("scores", "hand over attention", reading.BatchPlan, "scores"),
    ("write into the table", "hand over attention", reader.Table, "note_batch"),
    ("return memory", "", stream.FreeMemory, "trim"),
    ("profiles by word class", "", class_table.ClassTable, "finish"),
)
"""Stages by name: the stage that each is part of, and the function that is timed."""


class Known(Annotator):
    """An annotator with words that were parsed before."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        """Parse all passages."""
        super().__init__(load_parser(None)[0])
        parsed = super().words(passages)
        self._words = {passage.key: words for passage, words in zip(passages, parsed, strict=True)}

    def words(self, passages: Sequence[Passage]) -> list[tuple[Words, ...]]:
        """Return the words of each passage."""
        return [self._words[passage.key] for passage in passages]

    def expect(self, passages: Iterable[Passage], *, final: bool = True) -> None:
        """Do nothing, because nothing is parsed ahead."""


def timed(spent: dict[str, float], name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that its time on its own thread is added up."""

    @functools.wraps(function)
    def measured(*given: Any, **named: Any) -> Any:
        start = time.thread_time()
        try:
            return function(*given, **named)
        finally:
            spent[name] += time.thread_time() - start

    return measured


def table(spent: dict[str, float], whole: float, forward: float, examples: int) -> str:
    """Return the stages as lines of text, and the three largest costs besides the forward."""
    lines = [f"{'stage':<34}{'µs an input':>12}{'of the run':>12}"]

    def line(name: str, seconds: float, depth: int) -> None:
        text = "  " * depth + name
        lines.append(f"{text:<34}{1e6 * seconds / examples:>12.0f}{seconds / whole:>11.1%}")

    depths = {"": -1}
    for name, part, _, _ in STAGES:
        depths[name] = depths[part] + 1
        line(name, spent.get(name, 0.0), depths[name])
    line("the whole run", whole, 0)
    line("plain sdpa forward, tokenised", forward, 0)
    lines += ["", f"run / forward: {whole / forward:.3f}", ""]
    inner = {part for _, part, _, _ in STAGES}
    leaves = {name: spent[name] for name, _, _, _ in STAGES if name not in inner}
    leaves["the rest of preparing"] = spent["prepare"] - sum(
        spent[name] for name, part, _, _ in STAGES if part == "prepare"
    )
    leaves["the rest of handing over"] = spent["hand over attention"] - spent["scores"]
    leaves["the model beyond the plain forward"] = (
        spent["model and reading"] - spent["hand over attention"] - (forward - spent["tokenise"])
    )
    largest = sorted(leaves, key=lambda name: -leaves[name])[:3]
    lines.append("largest costs beside the model itself: " + "; ".join(largest))
    return "\n".join(lines)


@click.command()
@click.option("--examples", default=1_024, show_default=True)
@click.option("--turns", default=3, show_default=True, help="Passes of each side; the fastest counts.")
@click.option("--data", default=DATA / "wiki.valid.raw.gz", type=click.Path(path_type=Path))
def main(examples: int, turns: int, data: Path) -> None:
    """Time the stages of labelling."""
    torch.set_num_threads(1)
    texts = sentences(data)[:examples]
    passages = [Passage(str(number), (text,)) for number, text in enumerate(texts)]
    model = load(find_checkpoint(None, None), device="cpu", dtype="float32", max_length=128)
    plain = AutoModel.from_pretrained(find_checkpoint(None, None).target, attn_implementation="sdpa").eval()
    job = sieving.SieveJob(model, selection_of(None), Known(passages))
    spent: dict[str, float] = defaultdict(float)

    def forward() -> None:
        tokenised = tokenise(model.tokenizer, passages, 128)
        order = np.argsort([-item.size for item in tokenised], kind="stable")
        with torch.inference_mode():
            for start in range(0, len(order), 32):
                batch = [tokenised[place] for place in order[start : start + 32]]
                width = max(item.size for item in batch)
                ids = [item.inputs["input_ids"] + [0] * (width - item.size) for item in batch]
                mask = [[1] * item.size + [0] * (width - item.size) for item in batch]
                plain(input_ids=torch.tensor(ids), attention_mask=torch.tensor(mask))

    def run() -> None:
        for _ in stream.stream(
            model, passages, job, batch_size=32, max_length=128, advance=lambda count: None
        ):
            pass

    runs: list[tuple[float, dict[str, float]]] = []
    forwards: list[float] = []
    forward()
    for _ in range(turns):
        start = time.process_time()
        forward()
        forwards.append(time.process_time() - start)
        originals = [(owner, name, getattr(owner, name)) for _, _, owner, name in STAGES]
        spent.clear()
        for (label, _, owner, name), (_, _, function) in zip(STAGES, originals, strict=True):
            setattr(owner, name, timed(spent, label, function))
        start = time.process_time()
        run()
        runs.append((time.process_time() - start, dict(spent)))
        for owner, name, function in originals:
            setattr(owner, name, function)
    whole, parts = min(runs, key=lambda run: run[0])
    click.echo(
        f"{examples} sentences, {np.mean([len(text.split()) for text in texts]):.0f} words on average; "
        f"embedded encoder, 1 thread, batches of 32; {', '.join(map(str, machine().values()))}\n"
        f"processor time, fastest of {turns}\n"
    )
    click.echo(table(parts, whole, min(forwards), examples))


if __name__ == "__main__":
    main()
