"""Train probes with Adam on the mean cross-entropy per word, stopped by the loss on held-out documents."""

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int

from headroles.errors import BadInput
from headroles.runs.probe.trained.sentences import Batch, Sentence, Source, batches_by_length, chop_batches

EVALUATION_BATCH = 64
"""Sentences in a batch without training."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the training.

    Attributes:
        rate: Learning rate of Adam.
        batch_size: Sentences in a batch.
        epochs: Largest number of passes over the training sentences.
        patience: Passes without a lower held-out loss after which training stops.
        held_out: Share of the training documents that is held out.
        seed: Seed of initial weights, order, held-out part, and the control's random model.
        minutes: Time limit for all probes together, with the reading of attention. The time is shared
            among them, and each stops after its current pass; None for no limit.
        control: Whether attention probes are trained on the model with random weights, too.

    Raises:
        BadInput: For a number out of range.
    """

    rate: float = 0.002
    batch_size: int = 16
    epochs: int = 100
    patience: int = 3
    held_out: float = 0.1
    seed: int = 0
    minutes: float | None = None
    control: bool = True

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("batch_size", "epochs", "patience"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name} must be a whole number of at least 1, but got {getattr(self, name)}")
        for name in ("rate", "minutes"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise BadInput(f"{name} must be a number above 0, but got {value}")
        if not 0 < self.held_out < 1:
            raise BadInput(f"held_out must lie between 0 and 1, both excluded, but got {self.held_out}")
        if self.seed < 0:
            raise BadInput(f"seed must be a whole number of at least 0, but got {self.seed}")


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A trained probe.

    Attributes:
        probe: The probe with the weights of its best pass.
        trained_on: Number of training sentences without the held-out ones.
        epochs: Passes until the held-out loss was lowest.
        losses: Held-out loss after each pass, in nats per word.
        stopped: Why training ended: "held-out loss", "epochs" or "minutes".
        seconds: Duration of the training.
    """

    probe: torch.nn.Module
    trained_on: int
    epochs: int
    losses: tuple[float, ...]
    stopped: str
    seconds: float


def train(
    probe: torch.nn.Module,
    source: Source,
    sentences: Sequence[Sentence],
    settings: Settings,
    *,
    deadline: float = float("inf"),
    progress: Callable[[int], None] = lambda epoch: None,
) -> Fit:
    """Train a probe until the loss on held-out documents no longer falls.

    On a CPU, equal settings, data and number of threads give equal weights.

    Args:
        probe: The probe with its initial weights, which are changed.
        source: Source of batches.
        sentences: Training sentences; some of their documents are held out.
        settings: Settings of the training.
        deadline: Time by ``time.monotonic`` after which no pass begins (the first pass is always made).
        progress: Called with the number of each finished pass.

    Raises:
        BadInput: When there are fewer than two documents, or the loss is not a finite number.
    """
    started = time.monotonic()
    learned, held_out = split(sentences, settings)
    order = np.random.default_rng(settings.seed)
    probe.to(source.device)
    adam = torch.optim.Adam(
        [parameter for parameter in probe.parameters() if parameter.requires_grad], lr=settings.rate
    )
    lengths = [len(sentence.words) for sentence in learned]
    losses: list[float] = []
    best = copy.deepcopy(probe.state_dict())
    stopped = "epochs"
    for epoch in range(1, settings.epochs + 1):
        for places in batches_by_length(lengths, settings.batch_size, order):
            adam.zero_grad()
            total, words = _loss(probe, source.batch([learned[position] for position in places]))
            (total / words).backward()  # type: ignore[no-untyped-call]
            adam.step()
        losses.append(held_out_loss(probe, source, held_out))
        progress(epoch)
        lowest = int(np.argmin(losses)) + 1
        if lowest == epoch:
            best = copy.deepcopy(probe.state_dict())
        if epoch - lowest >= settings.patience:
            stopped = "held-out loss"
            break
        if time.monotonic() > deadline and epoch < settings.epochs:
            stopped = "minutes"
            break
    probe.load_state_dict(best)
    return Fit(
        probe, len(learned), int(np.argmin(losses)) + 1, tuple(losses), stopped, time.monotonic() - started
    )


def split(sentences: Sequence[Sentence], settings: Settings) -> tuple[list[Sentence], list[Sentence]]:
    """Split sentences into training and held-out ones by whole documents.

    Raises:
        BadInput: When there are fewer than two documents.
    """
    units = list(dict.fromkeys(sentence.unit for sentence in sentences))
    if len(units) < 2:
        raise BadInput(
            f"training holds whole documents out, so it needs at least 2, but got {len(units)}; "
            f"give more training documents"
        )
    drawn = np.random.default_rng(settings.seed).permutation(len(units))
    count = min(max(1, round(settings.held_out * len(units))), len(units) - 1)
    held_out = {units[k] for k in drawn[:count]}
    return [sentence for sentence in sentences if sentence.unit not in held_out], [
        sentence for sentence in sentences if sentence.unit in held_out
    ]


def held_out_loss(probe: torch.nn.Module, source: Source, sentences: Sequence[Sentence]) -> float:
    """Return the mean cross-entropy per word, in nats.

    Raises:
        BadInput: When it is not a finite number.
    """
    totals, words = 0.0, 0
    with torch.inference_mode():
        for _, batch in _in_order(source, sentences):
            total, count = _loss(probe, batch)
            totals, words = totals + float(total), words + count
    if not np.isfinite(totals):
        raise BadInput(
            f"the held-out loss of a probe must be a finite number, but it is {totals}; give a smaller --rate"
        )
    return totals / max(words, 1)


def predict(
    probe: torch.nn.Module, source: Source, sentences: Sequence[Sentence]
) -> list[Int[np.ndarray, " words"]]:
    """Return the most probable head of every word, −1 for ROOT; ties go to the first, ROOT before words."""
    heads: list[np.ndarray] = [np.empty(0, dtype=np.int64)] * len(sentences)
    with torch.inference_mode():
        for places, batch in _in_order(source, sentences):
            chosen = probe(batch).argmax(dim=2).cpu().numpy() - 1
            for row, position in enumerate(places):
                heads[position] = chosen[row, : len(sentences[position].words)]
    return heads


def _in_order(source: Source, sentences: Sequence[Sentence]) -> Iterator[tuple[np.ndarray, Batch]]:
    """Yield all sentences in batches of similar length, longest first, with their positions."""
    lengths = [len(sentence.words) for sentence in sentences]
    ranked = np.argsort([-length for length in lengths], kind="stable")
    for places in chop_batches(ranked, lengths, EVALUATION_BATCH):
        yield places, source.batch([sentences[position] for position in places])


def _loss(probe: torch.nn.Module, batch: Batch) -> tuple[torch.Tensor, int]:
    """Return the summed cross-entropy of the real words of a batch, and their number."""
    real = batch.real
    logits, target = probe(batch)[real], batch.target[real]
    return torch.nn.functional.cross_entropy(logits, target, reduction="sum"), len(target)
