"""Fine-tune the embedded encoder on MRPC and write a folder that ``headroles label --model`` takes.

Prints one line of JSON per evaluation on ``--dev``: before training, with a random classification head, and
after it. Progress goes to stderr.
"""

import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from transformers.utils import logging as library_logging

from headroles.errors import BadInput, HeadrolesError
from headroles.extraction.model.checkpoint import EMBEDDED, find_checkpoint, weights_hash
from headroles.extraction.texts.files import file_format
from headroles.extraction.texts.sources import read_table, sample_passages
from headroles.extraction.texts.tokens import tokenise
from headroles.storage.folder import write_errors
from headroles.tasks import task_of

TASK = task_of("MRPC")
LABEL = "Quality"
"""Column of the GLUE file that states whether the two sentences mean the same."""
NAMES = {0: "not_equivalent", 1: "equivalent"}
MAX_LENGTH = 128
POOL = 16
"""Number of batches that are sorted by length together: little padding, and a new order in each epoch."""
WARM_UP = 0.1
"""Share of the steps in which the learning rate rises."""
WEIGHT_DECAY = 0.01
LARGEST_GRADIENT = 1.0


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the training.

    Attributes:
        epochs: Passes over the data.
        batch_size: Number of pairs in a step.
        learning_rate: Highest learning rate, at the end of the warm-up.
        seed: Seed of the initial weights of the classification head, the subset, the order and dropout.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    seed: int

    def steps(self, pairs: int) -> int:
        """Return the number of steps for so many pairs."""
        return self.epochs * -(-pairs // self.batch_size)


@dataclass(frozen=True, slots=True)
class Pair:
    """One pair of sentences as the model gets it.

    Attributes:
        inputs: Outputs of the tokenizer, such as token ids, without padding.
        label: 1 where the sentences mean the same, otherwise 0.
    """

    inputs: dict[str, list[int]]
    label: int

    @property
    def size(self) -> int:
        """Return the number of tokens."""
        return len(self.inputs["input_ids"])


def read_pairs(path: Path, tokenizer: Any, limit: int | None, seed: int) -> list[Pair]:
    """Read labelled pairs from a file in the layout of GLUE, and tokenise them as ``headroles label`` does.

    Args:
        path: A ``.tsv`` or ``.csv`` file, gzipped or not.
        tokenizer: Tokenizer of the encoder.
        limit: Largest number of pairs, drawn at random; None for all.
        seed: Seed of that subset.

    Raises:
        BadInput: When the file cannot be used.
    """
    if file_format(path) not in (".tsv", ".csv"):
        raise BadInput(f"the files of MRPC end in .tsv or .csv, with or without .gz, but got '{path}'")
    passages = read_table(path, TASK.columns, name=TASK.name)
    answers: dict[str, int] = {}
    for row, (passage, answer) in enumerate(zip(passages, read_table(path, [LABEL]), strict=True), start=1):
        if answer.texts[0].strip() not in ("0", "1"):
            raise BadInput(
                f"{path}, row {row} below the header: {LABEL!r} is 0 or 1, but got {answer.texts[0]!r}; "
                f"give the train or dev file, as the test file has no labels"
            )
        answers[passage.key] = int(answer.texts[0])
    chosen = tokenise(tokenizer, sample_passages(passages, limit, seed), MAX_LENGTH)
    return [Pair(item.inputs, answers[item.passage.key]) for item in chosen]


def epoch_batches(sizes: Sequence[int], batch_size: int, order: np.random.Generator) -> list[np.ndarray]:
    """Return the positions of all pairs once, in batches of similar length, in random order."""
    mixed = order.permutation(len(sizes))
    lengths = np.asarray(sizes)
    batches: list[np.ndarray] = []
    for start in range(0, len(mixed), POOL * batch_size):
        pool = mixed[start : start + POOL * batch_size]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        batches += [pool[at : at + batch_size] for at in range(0, len(pool), batch_size)]
    return [batches[place] for place in order.permutation(len(batches))]


def padded(pairs: Sequence[Pair], pad: int) -> dict[str, torch.Tensor]:
    """Return a batch as tensors, padded on the right to its longest pair, with its labels."""
    width = max(pair.size for pair in pairs)
    tensors = {"labels": torch.tensor([pair.label for pair in pairs])}
    for name in pairs[0].inputs:
        fill = pad if name == "input_ids" else 0
        rows = [pair.inputs[name] + [fill] * (width - pair.size) for pair in pairs]
        tensors[name] = torch.tensor(rows)
    return tensors


def optimizer_of(network: Any, learning_rate: float) -> torch.optim.AdamW:
    """Return AdamW without weight decay for biases and the weights of layer norms."""
    weights = [weight for weight in network.parameters() if weight.requires_grad]
    groups: list[dict[str, Any]] = [
        {"params": [weight for weight in weights if weight.dim() > 1], "weight_decay": WEIGHT_DECAY},
        {"params": [weight for weight in weights if weight.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=learning_rate, fused=True)


def share_of_rate(step: int, steps: int) -> float:
    """Return the share of the highest learning rate at a step (from 0): a linear rise, then a linear fall."""
    rise = max(1, round(WARM_UP * steps))
    return (step + 1) / rise if step < rise else (steps - step) / (steps - rise + 1)


def checkpoint_steps(count: int, steps: int) -> list[int]:
    """Return after how many steps a checkpoint is kept: evenly from before the first to after the last.

    Example:
        >>> checkpoint_steps(5, 150)
        [0, 38, 75, 112, 150]
    """
    return [round(place * steps / (count - 1)) for place in range(count)]


def train(
    network: Any,
    pairs: Sequence[Pair],
    settings: Settings,
    pad: int,
    keep: Callable[[int], None] = lambda step: None,
) -> None:
    """Train all weights of the network in place.

    Args:
        network: A classifier.
        pairs: What it learns.
        settings: Of the training.
        pad: Token id of the padding.
        keep: Is told the number of steps so far, before the first step and after every step.
    """
    order = np.random.default_rng(settings.seed)
    sizes = [pair.size for pair in pairs]
    steps = settings.steps(len(pairs))
    optimizer = optimizer_of(network, settings.learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: share_of_rate(step, steps))
    network.train()
    done = 0
    keep(done)
    for epoch in range(1, settings.epochs + 1):
        start, total = time.perf_counter(), 0.0
        for places in epoch_batches(sizes, settings.batch_size, order):
            loss = network(**padded([pairs[place] for place in places], pad)).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), LARGEST_GRADIENT)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            total += float(loss.detach()) * len(places)
            done += 1
            keep(done)
        seconds = time.perf_counter() - start
        click.echo(
            f"epoch {epoch} of {settings.epochs}: loss {total / len(pairs):.4f}, {seconds:.0f} s", err=True
        )


def guesses(network: Any, pairs: Sequence[Pair], batch_size: int, pad: int) -> Iterator[tuple[int, int]]:
    """Yield the predicted and the true label of each pair, shortest pairs first."""
    ordered = sorted(pairs, key=lambda pair: pair.size)
    network.eval()
    for start in range(0, len(ordered), batch_size):
        batch = padded(ordered[start : start + batch_size], pad)
        with torch.inference_mode():
            predicted = network(**batch).logits.argmax(dim=1)
        yield from zip(predicted.tolist(), batch["labels"].tolist(), strict=True)


def evaluate(network: Any, pairs: Sequence[Pair], batch_size: int, pad: int) -> dict[str, float | int]:
    """Return the accuracy, and the F1 of the pairs that mean the same, as GLUE defines it."""
    columns = zip(*guesses(network, pairs, batch_size, pad), strict=True)
    predicted, true = (np.array(column) for column in columns)
    both, either = int((predicted & true).sum()), int(predicted.sum() + true.sum())
    return {
        "pairs": len(pairs),
        "accuracy": round(float((predicted == true).mean()), 4),
        "f1": round(2 * both / either, 4) if either else 0.0,
    }


def check_free(out: Path) -> None:
    """Refuse an output folder that holds anything, before any work is done.

    Raises:
        BadInput: When it is a file, or a folder that is not empty.
    """
    with write_errors(f"the folder '{out}'"):
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise BadInput(f"--out must be a new or empty folder, but '{out}' is there already; name another")


def finetune(
    train_file: Path,
    dev_file: Path | None,
    out: Path,
    limit: int | None,
    settings: Settings,
    checkpoints: int | None = None,
) -> None:
    """Fine-tune, evaluate before and after it where there is a dev file, and write the folder.

    Args:
        train_file: Pairs to train on.
        dev_file: Pairs for accuracy and F1; None for none.
        out: Folder to write. With checkpoints, each is a folder in it, named after its number of steps.
        limit: Largest number of pairs to train on; None for all.
        settings: Of the training.
        checkpoints: Number of checkpoints, at least 2; None for the last weights alone.

    Raises:
        HeadrolesError: In one sentence; everything that can be checked beforehand is checked before training.
    """
    check_free(out)
    library_logging.set_verbosity(logging.ERROR)
    library_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    source = find_checkpoint(None, None).target
    tokenizer = AutoTokenizer.from_pretrained(source)
    pairs = read_pairs(train_file, tokenizer, limit, settings.seed)
    held_out = read_pairs(dev_file, tokenizer, None, settings.seed) if dev_file else []
    with write_errors(f"the folder '{out}'"):
        out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(settings.seed)
    network = AutoModelForSequenceClassification.from_pretrained(
        source, use_safetensors=True, id2label=NAMES, label2id={name: key for key, name in NAMES.items()}
    )
    pad = int(tokenizer.pad_token_id or 0)

    def write(folder: Path) -> None:
        with write_errors(f"the folder '{folder}'"):
            network.save_pretrained(folder)
            AutoTokenizer.from_pretrained(source).save_pretrained(folder)  # loaded again: the other truncates
        click.echo(f"model {folder}, weights SHA-256 {weights_hash(folder)}, from {EMBEDDED}", err=True)

    kept = checkpoint_steps(checkpoints, settings.steps(len(pairs))) if checkpoints else []

    def keep(step: int) -> None:
        if step in kept:
            write(out / f"step-{step}")

    for when in ("before", "after"):
        if when == "after":
            train(network, pairs, settings, pad, keep)
        if held_out:
            click.echo(json.dumps({"when": when} | evaluate(network, held_out, settings.batch_size, pad)))
    if not kept:
        write(out)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--train", "train_file", type=Path, required=True, help="train.tsv of MRPC, as in GLUE.")
@click.option("--dev", "dev_file", type=Path, help="dev.tsv of MRPC, for accuracy and F1 before and after.")
@click.option("--out", type=Path, required=True, help="Folder to write; new or empty.")
@click.option("--epochs", type=click.IntRange(1), default=3, show_default=True)
@click.option("--batch-size", type=click.IntRange(1), default=16, show_default=True)
@click.option("--learning-rate", type=click.FloatRange(0, min_open=True), default=5e-5, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--limit", type=click.IntRange(1), help="Train on a random subset of this many pairs.")
@click.option(
    "--checkpoints",
    type=click.IntRange(2),
    help="Write so many checkpoints, from before the first step to after the last, in folders of --out.",
)
def main(
    train_file: Path,
    dev_file: Path | None,
    out: Path,
    limit: int | None,
    checkpoints: int | None,
    **settings: Any,
) -> None:
    """Fine-tune the embedded encoder on MRPC; the folder is then a model for headroles label."""
    try:
        finetune(train_file, dev_file, out, limit, Settings(**settings), checkpoints)
    except HeadrolesError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
