"""Passages to scores: a model, a parser where needed, and the sieves, shard by shard."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from headroles import store
from headroles.errors import BadInput
from headroles.extraction.annotate import Annotator, load_parser
from headroles.extraction.checkpoint import Checkpoint
from headroles.extraction.model import Model, load
from headroles.extraction.passages import Passage
from headroles.extraction.reader import Shard
from headroles.extraction.stream import stream
from headroles.manifest import Scored
from headroles.options import Options
from headroles.records import Rule, Scores
from headroles.sieves.selection import Selection
from headroles.units import unit_names

Progress = Callable[[int, int], None]


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
        BadInput: When the model or parser cannot be used, or inputs are longer than it takes.
    """
    parsed = bool(selection.needs) and any(passage.words is None for passage in passages)
    parser, described = load_parser(options.parser) if parsed else (None, None)
    model = load(checkpoint, device=options.device, dtype=options.dtype, max_length=options.max_length)
    _check_length(model, checkpoint, options.max_length)
    units = unit_names(
        [passage.group for passage in passages],
        [passage.texts for passage in passages],
        [passage.key for passage in passages],
    )
    shards: list[Shard] = []
    parts: list[Scores] = []
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        progress(done, len(passages))

    coming = stream(
        model,
        passages,
        selection,
        Annotator(parser) if selection.needs else None,
        batch_size=options.batch_size,
        max_length=options.max_length,
        advance=advance,
    )
    for shard in coming:
        start = sum(len(part.examples) for part in parts)
        parts.append(_part(shard, selection, units[start : start + len(shard.examples)]))
        shards.append(shard)
        if place is not None:
            store.write_part(place, len(parts) - 1, parts[-1])
    return Scored(
        scores=_joined(parts),
        rules=_bounded(selection.rules(options.margin), shards, len(selection.scorers)),
        model=model.described,
        parser=described,
        truncated=sum(int(shard.truncated.sum()) for shard in shards),
    )


def _check_length(model: Model, checkpoint: Checkpoint, max_length: int) -> None:
    if model.limit is not None and max_length > model.limit:
        raise BadInput(
            f"{checkpoint.name!r} takes at most {model.limit} tokens, but --max-length is {max_length}; "
            f"give at most {model.limit}"
        )


def _part(shard: Shard, selection: Selection, units: list[str]) -> Scores:
    rules = selection.rules()
    null = np.array([np.full(len(shard.examples), rule.null) for rule in rules])
    if len(selection.scorers):
        null[-len(selection.scorers) :] = shard.null
    return Scores(
        sieves=selection.columns,
        examples=shard.examples,
        units=tuple(units),
        tokens=shard.tokens,
        cells=shard.cells,
        values=shard.values,
        null=null,
    )


def _joined(parts: Sequence[Scores]) -> Scores:
    return Scores(
        sieves=parts[0].sieves,
        examples=tuple(key for part in parts for key in part.examples),
        units=tuple(unit for part in parts for unit in part.units),
        tokens=np.concatenate([part.tokens for part in parts]),
        cells=np.concatenate([part.cells for part in parts], axis=1),
        values=np.concatenate([part.values for part in parts], axis=1),
        null=np.concatenate([part.null for part in parts], axis=1),
    )


def _bounded(rules: Sequence[Rule], shards: Sequence[Shard], scorers: int) -> tuple[Rule, ...]:
    """Rules with what only the examples can say: the bounds of masks, the mean chance value of scorers."""
    low = np.min([shard.low for shard in shards], axis=0)
    high = np.max([shard.high for shard in shards], axis=0)
    null = np.concatenate([shard.null for shard in shards], axis=1)
    chance = [float(np.nanmean(each)) if (~np.isnan(each)).any() else 0.0 for each in null]
    made = []
    for column, rule in enumerate(rules):
        if column >= len(rules) - scorers:
            made.append(replace(rule, null=chance[column - len(rules)]))
        elif np.isfinite([low[column], high[column]]).all():
            made.append(replace(rule, low=float(low[column]), high=float(high[column])))
        else:
            made.append(rule)
    return tuple(made)
