"""Compute surface statistics of shards in one pass, and importances in a second pass with gradients.

Gradients also need a model with a loss, and the classes of the inputs.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from headroles.extraction.capture.readers import VisibleArray
from headroles.extraction.jobs.gradients import gradient_shards
from headroles.extraction.jobs.surface import SurfaceJob, SurfaceStatistics
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import check_length
from headroles.extraction.model.losses import GRADIENTS, LossModel, LossOptions, describe_loss
from headroles.extraction.scoring.reader import Shard
from headroles.extraction.source import AttentionSource
from headroles.extraction.stream import stream_tokenised
from headroles.extraction.texts.tokens import tokenise
from headroles.inputs.corpora import Corpus
from headroles.options.surface import SurfaceOptions
from headroles.plans.plan import SurfacePlan
from headroles.progress import Advance
from headroles.records.example import Example
from headroles.records.passage import Passage
from headroles.records.rules.rule import Rule
from headroles.runs.losses import loss_options, model_with_loss
from headroles.runs.sources import longest_input, norms_of, open_source
from headroles.runs.surface.manifest import UNEQUAL
from headroles.shards.engines import has_idle_processor
from headroles.shards.work import Known, ShardResult, Task
from headroles.shards.worker import result_of
from headroles.sieves.statistics import COLUMNS, importance_rules, rules
from headroles.sieves.surface import kinds, lay_surface


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


class SurfaceWork:
    """Computes the surface statistics of shards, and with gradients the importance of attention."""

    def __init__(self, options: SurfaceOptions, corpus: Corpus) -> None:
        """Load the model, with its loss where gradients are computed.

        Args:
            options: Of the run.
            corpus: Its inputs.

        Raises:
            BadInput: When the model or the stored maps cannot be used, the model has no loss, or inputs are
                longer than it takes.
        """
        self._options, self._losses = options, loss_options(options)
        self.source: AttentionSource
        if options.gradients:
            checkpoint = find_checkpoint(options.model, options.revision)
            self.source = model_with_loss(checkpoint, options, self._losses, GRADIENTS)
            check_length(self.source, checkpoint, options.max_length)
        else:
            self.source = open_source(
                options, corpus, options.max_length, options.kind, norms_of(options.weights)
            )
        longest = longest_input(self.source, options.max_length)
        self.rules: Sequence[Rule] = column_rules(options, longest)
        loss = describe_loss(self.source, self._losses) if isinstance(self.source, LossModel) else ""
        self.known = Known(
            scorers=len(self.rules),  # chance is even attention, which each example has for itself
            components={"loss": [loss, options.label]},
            noted={"loss": loss, "longest": longest},
        )

    def read(self, task: Task, advance: Advance) -> ShardResult:
        """Compute the statistics of the inputs of a shard; with gradients in a second pass, importances."""
        options, source = self._options, self.source
        job = SurfaceJob(source, surface_counting(options.marks, options.smoothing))
        tokenised = tokenise(source.tokenizer, task.passages, options.max_length)
        shards: Iterable[Shard] = stream_tokenised(
            source,
            iter([tokenised]),
            job,
            batch_size=options.batch_size,
            advance=advance,
            ahead=has_idle_processor(options),
        )
        if isinstance(source, LossModel):
            second = importance_shards(source, task.passages, options, self._losses, advance)
            shards = join_shards(shards, second)
        (shard,) = shards
        return result_of(shard, task, self.rules, counts={UNEQUAL: job.unequal} if job.unequal else {})

    def expect(self, task: Task) -> None:
        """Do nothing: no text is parsed."""

    def close(self) -> None:
        """Do nothing: only the model was loaded."""


def column_rules(options: SurfaceOptions, longest: int) -> tuple[Rule, ...]:
    """Return the rules of all columns, those of importances last.

    Args:
        options: Of the run.
        longest: Length of the longest possible input, in tokens.
    """
    return (*rules(longest), *(importance_rules() if options.gradients else ()))


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
