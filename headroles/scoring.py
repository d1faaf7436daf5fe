"""Passages to scores: a model, a parser where needed, and the sieves, shard by shard."""

from collections.abc import Sequence
from pathlib import Path

from headroles.collecting import check_length, collect, units_of
from headroles.extraction.annotate import Annotator, load_parser
from headroles.extraction.checkpoint import Checkpoint
from headroles.extraction.model import load
from headroles.extraction.passages import Passage
from headroles.extraction.reader import Sieving
from headroles.extraction.stream import stream
from headroles.manifest import Scored
from headroles.options import Options
from headroles.progress import Progress, counted
from headroles.sieves.selection import Selection
from headroles.stats.resolution import check_resolution


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
    units = units_of(passages)
    parsed = bool(selection.needs) and any(passage.words is None for passage in passages)
    parser, described = load_parser(options.parser) if parsed else (None, None)
    model = load(checkpoint, device=options.device, dtype=options.dtype, max_length=options.max_length)
    check_length(model, checkpoint, options.max_length)
    check_resolution(options.decision, selection.rules(), model.layers, model.heads)
    shards = stream(
        model,
        passages,
        Sieving(model, selection, Annotator(parser) if selection.needs else None),
        batch_size=options.batch_size,
        max_length=options.max_length,
        advance=counted(progress, len(passages)),
    )
    found = collect(shards, passages, units, selection.rules(options.margin), model, place)
    return Scored(found.scores, found.rules, model.described, described, found.truncated)
