"""Fine-tune the embedded encoder as a masked-word model: all weights, with a head tied to its embeddings.

Prints one line of JSON per minute; the last line states what a repetition needs.
"""

import json
import logging
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from masked_text import (
    Document,
    TokenSequence,
    cut_document,
    draw_words,
    pad_batch,
    read_documents,
    replace_words,
)
from transformers import AutoModelForMaskedLM, AutoTokenizer
from transformers.utils import logging as library_logging

from headroles.errors import BadInput, HeadrolesError
from headroles.extraction.model.checkpoint import EMBEDDED, find_checkpoint, weights_hash
from headroles.storage.folder import write_errors

WARM_UP = 60
"""Steps in which the learning rate rises."""
FALL = 0.3
"""Share of the time, or of the steps, in which the learning rate falls to zero, at the end."""
WEIGHT_DECAY = 0.01
LARGEST_GRADIENT = 1.0
POOL = 32
"""Number of batches that are sorted by length together."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the training.

    Attributes:
        minutes: Time after which training ends; None where the steps are given.
        steps: Number of steps; None where the time decides.
        fall_from: Step from which the learning rate falls; None for a share of the time or steps.
        batch_size: Number of sequences in a step.
        learning_rate: Highest learning rate.
        share: Share of words that are hidden.
        seed: Seed of the order, the cuts, the hidden words and the head's layer.
        frozen: Whether the body stays as it is, for the baseline.
        checkpoint_minutes: Time between two checkpoints.
    """

    minutes: float | None
    steps: int | None
    fall_from: int | None
    batch_size: int
    learning_rate: float
    share: float
    seed: int
    frozen: bool
    checkpoint_minutes: float


class Schedule:
    """Learning rate of each step: a rise, a plateau, and a linear fall to zero."""

    def __init__(self, settings: Settings) -> None:
        """Take the settings; with a time limit, the fall begins when most of the time is over."""
        self.settings = settings
        self.steps = settings.steps
        self.fall_from = settings.fall_from
        if self.steps is not None and self.fall_from is None:
            self.fall_from = round((1 - FALL) * self.steps)

    def rate(self, step: int, minutes: float) -> float | None:
        """Return the learning rate of a step (from 0) after some minutes; None after the last step."""
        limit = self.settings.minutes
        if self.steps is None and limit is not None and minutes >= (1 - FALL) * limit:
            self.fall_from, self.steps = step, step + max(1, round(step * FALL / (1 - FALL)))
        if self.steps is not None and step >= self.steps:
            return None
        share = min(1.0, (step + 1) / WARM_UP)
        if self.steps is not None and self.fall_from is not None and step >= self.fall_from:
            share = min(share, (self.steps - step) / (self.steps - self.fall_from + 1))
        return share * self.settings.learning_rate


def load_network(source: str, documents: Sequence[Document], settings: Settings) -> Any:
    """Return the encoder with a head of masked words that begins near its embeddings.

    The decoder of the head is the matrix of word embeddings. Its layer begins as the identity, and its
    biases as log frequencies of the pieces in the texts, plus one each.
    """
    torch.manual_seed(settings.seed)
    network = AutoModelForMaskedLM.from_pretrained(
        source, use_safetensors=True, attn_implementation="eager", dtype=torch.float32
    )
    counts = np.ones(network.config.vocab_size)
    for document in documents:
        counts += np.bincount(document.pieces, minlength=len(counts))
    head = network.cls.predictions
    with torch.no_grad():
        torch.nn.init.eye_(head.transform.dense.weight)
        head.bias.copy_(torch.from_numpy(np.log(counts / counts.sum())).to(head.bias.dtype))
    if settings.frozen:
        network.base_model.requires_grad_(False)
    for module in network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0  # each text is seen a few times only
    return network


def endless_batches(
    documents: Sequence[Document], tokenizer: Any, settings: Settings
) -> Iterator[dict[str, torch.Tensor]]:
    """Yield batches of sequences of similar length, epoch after epoch, with new cuts and hidden words."""
    draws = np.random.default_rng(settings.seed)
    while True:
        sequences = [piece for document in documents for piece in cut_document(document, tokenizer, draws)]
        mixed = draws.permutation(len(sequences))
        sizes = np.array([len(sequence.tokens) for sequence in sequences])
        batches = []
        for start in range(0, len(mixed), POOL * settings.batch_size):
            pool = mixed[start : start + POOL * settings.batch_size]
            pool = pool[np.argsort(sizes[pool], kind="stable")]
            batches += [
                pool[at : at + settings.batch_size] for at in range(0, len(pool), settings.batch_size)
            ]
        for place in draws.permutation(len(batches)):
            yield hide_words([sequences[at] for at in batches[place]], tokenizer, settings.share, draws)


def hide_words(
    sequences: Sequence[TokenSequence], tokenizer: Any, share: float, draws: np.random.Generator
) -> dict[str, torch.Tensor]:
    """Return a batch of sequences with newly drawn hidden words."""
    hidden = [draw_words(sequence, share, draws) for sequence in sequences]
    tokens = [
        replace_words(sequence, mask, tokenizer, draws)
        for sequence, mask in zip(sequences, hidden, strict=True)
    ]
    return pad_batch(tokens, sequences, hidden, int(tokenizer.pad_token_id))


def loss_of(network: Any, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, float]:
    """Return the mean loss of the hidden pieces, and the share of them that is guessed right."""
    labels = batch["labels"]
    hidden = labels >= 0
    with torch.autocast("cpu", torch.bfloat16):
        states = network.base_model(
            **{name: batch[name] for name in batch if name != "labels"}
        ).last_hidden_state
        logits = network.cls(states[hidden]).float()
    loss = torch.nn.functional.cross_entropy(logits, labels[hidden])
    return loss, float((logits.detach().argmax(dim=1) == labels[hidden]).float().mean())


def optimizer_of(network: Any, learning_rate: float) -> torch.optim.AdamW:
    """Return AdamW without weight decay for biases and the weights of layer norms."""
    weights = [weight for weight in network.parameters() if weight.requires_grad]
    groups: list[dict[str, Any]] = [
        {"params": [weight for weight in weights if weight.dim() > 1], "weight_decay": WEIGHT_DECAY},
        {"params": [weight for weight in weights if weight.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, 0.98), fused=True)


def save(network: Any, tokenizer: Any, out: Path) -> None:
    """Write the model; each file appears whole, so the folder can be read while training goes on."""
    part = out / "part"
    network.save_pretrained(part)
    tokenizer.save_pretrained(part)
    for file in sorted(part.iterdir()):
        os.replace(file, out / file.name)
    shutil.rmtree(part)


def train(network: Any, tokenizer: Any, documents: Sequence[Document], settings: Settings, out: Path) -> None:
    """Train the network in place, and write checkpoints and the last state."""
    schedule = Schedule(settings)
    optimizer = optimizer_of(network, settings.learning_rate)
    start = saved = told = time.perf_counter()
    tokens = 0
    recent: list[tuple[float, float]] = []
    network.train()
    for step, batch in enumerate(endless_batches(documents, tokenizer, settings)):
        now = time.perf_counter()
        rate = schedule.rate(step, (now - start) / 60)
        if now - told >= 60 or rate is None:
            told = now
            loss, right = np.mean(recent, axis=0) if recent else (np.nan, np.nan)
            line = {"minute": round((now - start) / 60, 1), "step": step, "tokens": tokens}
            line |= {"rate": rate, "loss": round(float(loss), 4), "right": round(float(right), 4)}
            click.echo(json.dumps(line))
            recent.clear()
        if rate is None:
            break
        for group in optimizer.param_groups:
            group["lr"] = rate
        mean, right = loss_of(network, batch)
        mean.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), LARGEST_GRADIENT)
        optimizer.step()
        optimizer.zero_grad()
        recent.append((float(mean.detach()), right))
        tokens += int(batch["attention_mask"].sum())
        if time.perf_counter() - saved >= 60 * settings.checkpoint_minutes:
            saved = time.perf_counter()
            save(network, tokenizer, out)
    save(network, tokenizer, out)
    again = {"steps": schedule.steps, "fall_from": schedule.fall_from, "seed": settings.seed}
    click.echo(json.dumps(again | {"tokens": tokens, "sha256": weights_hash(out)}))


def run(texts: Sequence[Path], out: Path, settings: Settings) -> None:
    """Read the texts, train and write the folder.

    Raises:
        HeadrolesError: In one sentence; everything that can be checked beforehand is checked before training.
    """
    if (settings.minutes is None) == (settings.steps is None):
        raise BadInput("the end of training is --minutes or --steps, but got both or none; give one of them")
    with write_errors(f"the folder '{out}'"):
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise BadInput(f"--out must be a new or empty folder, but '{out}' is there already; name another")
        out.mkdir(parents=True, exist_ok=True)
    library_logging.set_verbosity(logging.ERROR)
    library_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    source = find_checkpoint(None, None).target
    tokenizer = AutoTokenizer.from_pretrained(source)
    documents = [document for path in texts for document in read_documents(path, tokenizer)]
    pieces = sum(len(document.pieces) for document in documents)
    click.echo(json.dumps({"model": EMBEDDED, "documents": len(documents), "pieces": pieces}))
    network = load_network(source, documents, settings)
    train(network, AutoTokenizer.from_pretrained(source), documents, settings, out)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--texts", type=Path, required=True, multiple=True, help="Plain text; repeat for more files.")
@click.option("--out", type=Path, required=True, help="Folder to write; new or empty.")
@click.option("--minutes", type=click.FloatRange(0, min_open=True), help="End after this time.")
@click.option("--steps", type=click.IntRange(1), help="End after this number of steps.")
@click.option("--fall-from", type=click.IntRange(0), help="Step from which the learning rate falls.")
@click.option("--batch-size", type=click.IntRange(1), default=16, show_default=True)
@click.option("--learning-rate", type=click.FloatRange(0, min_open=True), default=4e-4, show_default=True)
@click.option("--share", type=click.FloatRange(0, 1, min_open=True), default=0.2, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--frozen", is_flag=True, help="Train the head only; the baseline.")
@click.option("--checkpoint-minutes", type=click.FloatRange(0, min_open=True), default=5, show_default=True)
def main(texts: tuple[Path, ...], out: Path, **settings: Any) -> None:
    """Fine-tune the embedded encoder as a masked-word model; the folder is then a model for headroles."""
    try:
        run(texts, out, Settings(**settings))
    except HeadrolesError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
