"""Compare the time of the dependency and coreference probes with that of the plain forward pass.

Prints one line of JSON per comparison, all on the same batches in one process: the dependency probe without
and with the contrast beyond distance, a plain loop over heads in numpy that must find the same, and the
coreference probe over windows; each for the embedded encoder and for BERT-base with random weights. Sides
run alternately; a ratio is that of the minima. A run prepares items, their baselines and the word of
each piece in a thread beside the model; here this is done between the batches, inside the timing. Tokenising
and padding, which the plain forward needs too, are on neither side.
"""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from machine import machine
from overhead import minima
from plain_probe import Batch, right_heads
from transformers import AutoModel, BertConfig, BertModel

from headroles.extraction.capture.attention import read_attention
from headroles.extraction.capture.method import CaptureMethod
from headroles.extraction.gold.read import read_documents
from headroles.extraction.jobs.questions import Answers, ProbeJob, answer_columns
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import Model, load
from headroles.extraction.stream import MOST_PAIRS, SHARD, stream
from headroles.extraction.texts.pieces import count_pieces
from headroles.extraction.texts.tokens import Tokenised, tokenise
from headroles.extraction.texts.windows import document_windows, sentence_windows, window_passage
from headroles.options.probe import LEAST_ARCS, WINDOW
from headroles.records.documents import Window
from headroles.records.probes import ChoiceProbe
from headroles.records.rules.names import EAGER
from headroles.sieves.language.relations import relations_of
from headroles.sieves.probes.coreference import CoreferenceProbe
from headroles.sieves.probes.dependency import DependencyProbe

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SENTENCES = Path("ud_english_ewt", "en_ewt-ud-dev.conllu.gz")
DOCUMENTS = Path("ud_english_gum", "en_gum-ud-dev.conllu.gz")
HITS, LOOP = "dependency: hits", "plain loop over heads"


class HitsOnly(DependencyProbe):
    """The dependency probe without the contrast beyond distance."""

    @property
    def contrast(self) -> bool:
        """Return False."""
        return False


@dataclass(frozen=True)
class Encoder:
    """A model three times: read by the probe, plain (sdpa), and eager with its attention returned."""

    name: str
    batch: int
    model: Model
    plain: Any
    eager: Any


@dataclass(frozen=True)
class Material:
    """Windows as an encoder gets them: tokenised, and in padded batches of similar length."""

    windows: dict[str, Window]
    tokenised: list[Tokenised]
    batches: list[Batch]


def encoders() -> list[Encoder]:
    """Return the embedded encoder, and BERT-base with random weights and the same tokenizer."""
    checkpoint = find_checkpoint(None, None)
    model = load(checkpoint, device="cpu", dtype="float32", max_length=WINDOW)
    small = [
        AutoModel.from_pretrained(checkpoint.target, attn_implementation=way).eval()
        for way in ("sdpa", "eager")
    ]
    torch.manual_seed(0)
    large: list[Any] = [BertModel(BertConfig()).eval() for _ in range(3)]
    for network, way in zip(large, (EAGER, "sdpa", "eager"), strict=True):
        network.load_state_dict(large[0].state_dict())
        network.set_attn_implementation(way)
    read = Model(
        large[0], model.tokenizer, CaptureMethod(EAGER), 12, 12, torch.device("cpu"), 512, {"name": "random"}
    )
    return [
        Encoder("all-MiniLM-L6-v2", 32, model, small[0], small[1]),
        Encoder("BERT-base shape, random weights", 16, read, large[1], large[2]),
    ]


def material(encoder: Encoder, path: Path, count: int, whole: bool) -> tuple[Material, tuple[str, ...]]:
    """Return some sentences (or windows over whole documents), and the frequent relations of the treebank.

    They are drawn with a fixed seed; windows have the length and overlap of those of a run.
    """
    documents = read_documents(path, path.name.split(".")[0])
    tokenizer = encoder.model.tokenizer
    room = WINDOW - tokenizer.num_special_tokens_to_add()
    windows = sentence_windows(documents)
    if whole:
        windows = document_windows(documents, count_pieces(tokenizer, documents), room, room // 2)
    places = np.sort(np.random.default_rng(0).choice(len(windows), min(count, len(windows)), replace=False))
    chosen = [windows[place] for place in places]
    tokenised = tokenise(tokenizer, [window_passage(window) for window in chosen], WINDOW)
    order = np.argsort([-item.size for item in tokenised], kind="stable")
    batches: list[Batch] = []
    while len(order):
        most = min(encoder.batch, max(1, MOST_PAIRS // tokenised[order[0]].size ** 2))
        batches.append((order[:most], padded([tokenised[place] for place in order[:most]])))
        order = order[most:]
    relations, _ = relations_of(documents, "ud", LEAST_ARCS)
    return Material({window.key: window for window in chosen}, tokenised, batches), relations


def padded(batch: Sequence[Tokenised]) -> dict[str, torch.Tensor]:
    """Return the inputs of a batch, padded on the right with 0, which masks these positions, too."""
    width = max(item.size for item in batch)
    return {
        name: torch.tensor([item.inputs[name] + [0] * (width - item.size) for item in batch])
        for name in batch[0].inputs
    }


def forward(encoder: Encoder, work: Material) -> None:
    """Run the plain sdpa model on all batches."""
    with torch.inference_mode():
        for _, inputs in work.batches:
            encoder.plain(**inputs)


def asked(encoder: Encoder, work: Material, probe: ChoiceProbe) -> Answers:
    """Do everything that a run of a probe does after tokenising and padding."""
    job = ProbeJob(encoder.model, [probe], work.windows)
    table = job.table(work.tokenised)
    for places, inputs in work.batches:
        batch = job.prepare(work.tokenised, places)
        lengths = [work.tokenised[place].size for place in places]
        model, reader = encoder.model, job.reader(batch, table)
        read_attention(model.network, model.way, inputs, lengths, reader, model.layers)
    return job.result(table)


def check_same(encoder: Encoder, work: Material, probe: DependencyProbe, keep_blocks: bool) -> None:
    """Check that the plain loop finds as many right answers for every row, direction and head.

    The probe is run by ``stream`` as in a run, which makes the C library return large blocks of memory at
    once from then on; with ``keep_blocks`` it is not.
    """
    if keep_blocks:
        answers = asked(encoder, work, probe)
    else:
        passages = [item.passage for item in work.tokenised]
        job, size = ProbeJob(encoder.model, [probe], work.windows), encoder.batch
        (answers,) = stream(
            encoder.model, passages, job, batch_size=size, max_length=WINDOW, advance=lambda count: None
        )
    rows = [column.row for column in answer_columns([probe])]
    counts = answers.values * answers.items[rows][:, :, None, None]
    actual = np.rint(np.nansum(counts, axis=1)).astype(int)
    expected = right_heads(encoder.eager, work.batches, work.tokenised, work.windows, probe)
    np.testing.assert_array_equal(actual, expected.reshape(actual.shape))


def compared(encoder: Encoder, work: Material, sides: dict[str, Callable[[], Any]], pairs: int) -> None:
    """Time the sides and the plain forward, with one thread and with all, and print a line for each."""
    for threads in dict.fromkeys((1, os.cpu_count() or 1)):
        torch.set_num_threads(threads)
        times = minima({"forward": lambda: forward(encoder, work)} | sides, pairs)
        seconds = {name: wall for name, (wall, _) in times.items()}
        for name in sides:
            base = HITS if name == LOOP else "forward"
            line = {
                "benchmark": name,
                "encoder": encoder.name,
                "threads": threads,
                "inputs": len(work.tokenised),
                "tokens": sum(item.size for item in work.tokenised),
                "seconds": round(seconds[name], 3),
                "inputs_a_second": round(len(work.tokenised) / seconds[name], 1),
                "baseline": base,
                "baseline_s": round(seconds[base], 3),
                "ratio": round(seconds[name] / seconds[base], 3),
                "pairs": pairs,
                "machine": machine(),
            }
            click.echo(json.dumps(line))


@click.command()
@click.option(
    "--sentences", default=256, show_default=True, help="Sentences of EWT dev; at most one shard of a run."
)
@click.option("--windows", default=32, show_default=True, help="Windows of 256 tokens of GUM dev.")
@click.option("--pairs", default=5, show_default=True, help="Alternating runs of all sides.")
@click.option("--data", default=DATA, type=click.Path(path_type=Path), help="Folder of the treebanks.")
@click.option("--keep-blocks", is_flag=True, help="Do not change the C library; a run changes it.")
def main(sentences: int, windows: int, pairs: int, data: Path, keep_blocks: bool) -> None:
    """Compare probes with the plain forward pass, and with a plain loop over heads."""
    for path in (data / SENTENCES, data / DOCUMENTS):
        if not path.is_file():
            raise click.ClickException(
                f"the benchmark reads two treebanks, but '{path}' is not there; name their folder by --data"
            )
    for encoder in encoders():
        torch.set_num_threads(1)
        work, relations = material(encoder, data / SENTENCES, min(sentences, SHARD), whole=False)
        hits, both = HitsOnly(relations), DependencyProbe(relations)
        check_same(encoder, work, hits, keep_blocks)
        loop = partial(right_heads, encoder.eager, work.batches, work.tokenised, work.windows, hits)
        sides: dict[str, Callable[[], Any]] = {
            HITS: partial(asked, encoder, work, hits),
            "dependency: hits and contrasts": partial(asked, encoder, work, both),
            LOOP: loop,
        }
        compared(encoder, work, sides, pairs)
        work, _ = material(encoder, data / DOCUMENTS, windows, whole=True)
        compared(encoder, work, {"coreference": partial(asked, encoder, work, CoreferenceProbe())}, pairs)


if __name__ == "__main__":
    main()
