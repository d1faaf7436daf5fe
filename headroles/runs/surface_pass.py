"""Compute surface statistics of passages in one pass, and importances in a second pass with gradients.

Gradients also need a model with a loss, and the classes of the inputs.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from headroles.errors import BadInput
from headroles.extraction.capture.readers import VisibleArray
from headroles.extraction.jobs.gradients import gradient_shards
from headroles.extraction.jobs.surface import SurfaceJob, SurfaceStatistics
from headroles.extraction.model.checkpoint import Checkpoint
from headroles.extraction.model.load import check_length, load
from headroles.extraction.model.losses import MASKED, LossModel, LossOptions, describe_loss, load_with_loss
from headroles.extraction.scoring.reader import Shard
from headroles.extraction.stream import stream
from headroles.extraction.texts.files import file_format
from headroles.extraction.texts.sources import read_table
from headroles.options.surface import MASK, SurfaceOptions
from headroles.plans.plan import SurfacePlan
from headroles.progress import Progress, progress_counter
from headroles.records.example import Example, Rule, Scores
from headroles.records.passage import Passage
from headroles.runs.collect import collect, units_of
from headroles.sieves.surface import COLUMNS, importance_rules, kinds, lay_surface, rules
from headroles.stats.resolution import check_resolution


def loss_options(options: SurfaceOptions) -> LossOptions:
    """Return the settings of the losses of a run, with the classes of its inputs from the file.

    Raises:
        BadInput: When the file has no such column.
    """
    return LossOptions(mask=options.mask, seed=options.seed, labels=_labels(options))


def _labels(options: SurfaceOptions) -> dict[str, str] | None:
    """Return the class of each row of the file, by the key of its passage."""
    if options.label is None:
        return None
    file = Path(options.data or "")
    if file_format(file) == ".conllu":
        raise BadInput(f"--label names a column of a table, but '{file}' is a CoNLL-U file; leave it out")
    rows = read_table(file, (), group=options.label, name=options.name)
    return {row.key: row.group for row in rows if row.group is not None}


def model_with_loss(checkpoint: Checkpoint, options: SurfaceOptions, losses: LossOptions) -> LossModel:
    """Load the model of a run with gradients.

    Raises:
        BadInput: When the model has no loss, or an option does not fit its loss.
    """
    model = load_with_loss(
        checkpoint, device=options.device, dtype=options.dtype, max_length=options.max_length
    )
    describe_loss(model, losses)
    if options.mask != MASK and model.about != MASKED:
        raise BadInput(
            f"--mask is for losses of {MASKED}, but that of {checkpoint.name!r} "
            f"({model.described['architecture']}) is of {model.about}; leave it out"
        )
    return model


def importance_shards(
    model: LossModel,
    passages: Sequence[Passage],
    options: SurfaceOptions,
    losses: LossOptions,
    advance: Callable[[int], None],
) -> Iterator[Shard]:
    """Compute the importance of attention to each kind of token, shard by shard."""
    return gradient_shards(
        model,
        passages,
        partial(kinds, marks=options.marks),
        options=losses,
        batch_size=options.batch_size,
        max_length=options.max_length,
        advance=advance,
    )


@dataclass(frozen=True, slots=True, eq=False)
class SurfaceScores:
    """Surface statistics, their rules, and the model and loss that gave them.

    Attributes:
        scores: One number per column, example and head.
        rules: One per column.
        model: Description of the model, for the record.
        truncated: Number of inputs that were cut.
        unequal: Number of inputs whose layers see different keys.
        loss: The loss of the gradients, in a sentence; "" without gradients.
    """

    scores: Scores
    rules: tuple[Rule, ...]
    model: dict[str, Any]
    truncated: int
    unequal: int
    loss: str = ""


def score_surface(
    options: SurfaceOptions,
    checkpoint: Checkpoint,
    passages: Sequence[Passage],
    place: Path | None,
    progress: Progress,
) -> SurfaceScores:
    """Load the model, compute the statistics of every passage, and write each shard when it is done.

    Args:
        options: Of the run.
        checkpoint: The model, found but not loaded.
        passages: The inputs.
        place: Unfinished run folder; None to write nothing.
        progress: Called with the inputs done and their total over both passes.

    Raises:
        BadInput: When the inputs are longer than the model takes, the model
            cannot be used or has no loss, or the resamples are too few for its heads.
    """
    units = units_of(passages)
    columns = (*rules(options.max_length), *(importance_rules() if options.gradients else ()))
    advance = progress_counter(progress, len(passages) * (2 if options.gradients else 1))
    losses = loss_options(options)
    model = (
        model_with_loss(checkpoint, options, losses)
        if options.gradients
        else load(checkpoint, device=options.device, dtype=options.dtype, max_length=options.max_length)
    )
    check_length(model, checkpoint, options.max_length)
    check_resolution(options.decision, columns, model.layers, model.heads)
    job = SurfaceJob(model, surface_counting(options.marks, options.smoothing))
    size, longest = options.batch_size, options.max_length
    shards: Iterable[Shard] = stream(
        model, passages, job, batch_size=size, max_length=longest, advance=advance
    )
    loss = ""
    if isinstance(model, LossModel):
        shards = join_shards(shards, importance_shards(model, passages, options, losses, advance))
        loss = describe_loss(model, losses)
    collected = collect(shards, passages, units, columns, model, place)
    return SurfaceScores(
        collected.scores, collected.rules, model.described, collected.truncated, job.unequal, loss
    )


def surface_counting(marks: str, smoothing: float = 0.0) -> SurfaceStatistics:
    """Return the statistics to count, in the precision of the attention.

    Args:
        marks: Characters that count as punctuation.
        smoothing: Share of each row that is spread evenly before entropies are computed.
    """

    def lay(example: Example, visible: VisibleArray) -> SurfacePlan:
        return lay_surface(example, visible, marks=marks, smoothing=smoothing, dtype=np.float32)

    return SurfaceStatistics(len(COLUMNS), lay, smoothing)


def join_shards(first: Iterable[Shard], second: Iterable[Shard]) -> Iterator[Shard]:
    """Shards of the same examples side by side: the columns of the first, then those of the second.

    Chance values are given per example for all columns; they are 0 where the second has none.
    """
    for shard, importance_shard in zip(first, second, strict=True):
        assert shard.examples == importance_shard.examples
        null = np.zeros((len(importance_shard.values), len(importance_shard.examples)))
        yield replace(
            shard,
            values=np.concatenate([shard.values, importance_shard.values]),
            cells=np.concatenate([shard.cells, importance_shard.cells]),
            null=np.concatenate([shard.null, null]),
            low=np.concatenate([shard.low, importance_shard.low]),
            high=np.concatenate([shard.high, importance_shard.high]),
        )
