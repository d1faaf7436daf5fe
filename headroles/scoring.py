"""Passages to scores: a model, a parser where needed, and the sieves, shard by shard."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from headroles import store
from headroles.errors import BadInput
from headroles.extraction.annotate import Annotator, load_parser
from headroles.extraction.checkpoint import Checkpoint
from headroles.extraction.model import Model, load
from headroles.extraction.passages import Passage
from headroles.extraction.reader import Shard, Sieving
from headroles.extraction.stream import stream
from headroles.manifest import Scored
from headroles.options import Options
from headroles.progress import Progress, counted
from headroles.records import Rule, Scores
from headroles.sieves.selection import Selection
from headroles.stats.resolution import check_resolution
from headroles.units import unit_names


def score_passages(
    options: Options,
    selection: Selection,
    checkpoint: Checkpoint,
    passages: Sequence[Passage],
    place: Path | None,
    progress: Progress,
) -> Scored:
    """Load the model and the parser and score every passage, writing each shard as it is done.

    Args:
        options: Of the run.
        selection: The sieves.
        checkpoint: The model, found but not loaded.
        passages: The inputs.
        place: Run folder in the making; None to write nothing.
        progress: Called with the inputs done and their total.

    Raises:
        BadInput: When the inputs are fewer than two units or longer than the model takes, the model
            or parser cannot be used, or the resamples asked for are too few for its heads.
    """
    units = _units(passages)
    parsed = bool(selection.needs) and any(passage.words is None for passage in passages)
    parser, described = load_parser(options.parser) if parsed else (None, None)
    model = load(checkpoint, device=options.device, dtype=options.dtype, max_length=options.max_length)
    _check_length(model, checkpoint, options.max_length)
    check_resolution(options.decision, selection.rules(), model.layers, model.heads)
    table = _Table(selection, passages, units, model)
    coming = stream(
        model,
        passages,
        Sieving(model, selection, Annotator(parser) if selection.needs else None),
        batch_size=options.batch_size,
        max_length=options.max_length,
        advance=counted(progress, len(passages)),
    )
    for number, shard in enumerate(coming):
        part = table.add(shard)
        if place is not None:
            store.write_part(place, number, part)
    return Scored(
        scores=table.scores(0, len(passages)),
        rules=table.bounded(selection.rules(options.margin), len(selection.scorers)),
        model=model.described,
        parser=described,
        truncated=table.truncated,
    )


def _units(passages: Sequence[Passage]) -> list[str]:
    """The unit of each input, when there are enough to test anything."""
    units = unit_names(
        [passage.group for passage in passages],
        [passage.texts for passage in passages],
        [passage.key for passage in passages],
    )
    if len(set(units)) < 2:
        raise BadInput(
            f"a test needs at least 2 units, but the inputs are {len(passages)} in {len(set(units))} "
            f"(inputs of one group, or that share a text, are one unit); give more inputs"
        )
    return units


def _check_length(model: Model, checkpoint: Checkpoint, max_length: int) -> None:
    if model.limit is not None and max_length > model.limit:
        raise BadInput(
            f"{checkpoint.name!r} takes at most {model.limit} tokens, but --max-length is {max_length}; "
            f"give at most {model.limit}"
        )


class _Table:
    """The scores of a run while its shards come in: one allocation, each shard a slice of it."""

    def __init__(
        self, selection: Selection, passages: Sequence[Passage], units: list[str], model: Model
    ) -> None:
        rules, count = selection.rules(), len(passages)
        shape = (len(rules), count)
        self._sieves = selection.columns
        self._keys = tuple(passage.key for passage in passages)
        self._units = tuple(units)
        self._tokens = np.zeros(count, dtype=np.int64)
        self._cells = np.full(shape, np.nan)
        self._values = np.full((*shape, model.layers, model.heads), np.nan, dtype=np.float32)
        self._null = np.repeat(np.array([[rule.null] for rule in rules]), count, axis=1)
        self._low, self._high = np.full(len(rules), np.inf), np.full(len(rules), -np.inf)
        self._done = 0
        self.truncated = 0

    def add(self, shard: Shard) -> Scores:
        """Take a shard over; the scores of its examples alone."""
        start, stop = self._done, self._done + len(shard.examples)
        here = slice(start, stop)
        self._tokens[here] = shard.tokens
        self._cells[:, here] = shard.cells
        self._values[:, here] = shard.values
        if len(shard.null):
            self._null[-len(shard.null) :, here] = shard.null
        self._low, self._high = np.minimum(self._low, shard.low), np.maximum(self._high, shard.high)
        self._done = stop
        self.truncated += int(shard.truncated.sum())
        return self.scores(start, stop)

    def scores(self, start: int, stop: int) -> Scores:
        """The scores of some examples."""
        here = slice(start, stop)
        return Scores(
            sieves=self._sieves,
            examples=self._keys[here],
            units=self._units[here],
            tokens=self._tokens[here],
            cells=self._cells[:, here],
            values=self._values[:, here],
            null=self._null[:, here],
        )

    def bounded(self, rules: Sequence[Rule], scorers: int) -> tuple[Rule, ...]:
        """Rules with what only the examples say: bounds of masks, mean chance values of scorers."""
        made = []
        for column, rule in enumerate(rules):
            low, high, null = self._low[column], self._high[column], self._null[column]
            if column >= len(rules) - scorers:
                chance = float(np.nanmean(null)) if (~np.isnan(null)).any() else 0.0
                made.append(replace(rule, null=chance))
            elif np.isfinite([low, high]).all():
                made.append(replace(rule, low=float(low), high=float(high)))
            else:
                made.append(rule)
        return tuple(made)
