"""Passages to scores, and to divergences where asked for: one pass, shard by shard."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from headroles.annotating import annotated
from headroles.collecting import check_length, collect, units_of
from headroles.extraction.checkpoint import Checkpoint
from headroles.extraction.diverging import Diverging, Sums, fitting_batch
from headroles.extraction.jobs import Both
from headroles.extraction.model import load
from headroles.extraction.passages import Passage
from headroles.extraction.reader import Shard
from headroles.extraction.stream import stream
from headroles.manifest import Scored
from headroles.options import Options
from headroles.progress import Progress, counted
from headroles.sieves.selection import Selection
from headroles.stats.choosing_clusters import numbers_of
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
        options: Of the run; with ``clustering``, divergences between heads are summed in the same pass.
        selection: The sieves; those that came by a group and lack annotation are left out.
        checkpoint: The model, found but not loaded.
        passages: The inputs.
        place: Run folder in the making; None to write nothing.
        progress: Called with the inputs done and their total.

    Raises:
        BadInput: When the inputs are fewer than two units or longer than the model takes, the model,
            parser or vectors cannot be used, a sieve lacks its annotation, or the resamples asked for
            are too few for its heads, or it has too few heads for the clusters asked for.
    """
    units = units_of(passages)
    known = annotated(options, selection, passages)
    model = load(checkpoint, device=options.device, dtype=options.dtype, max_length=options.max_length)
    check_length(model, checkpoint, options.max_length)
    check_resolution(options.decision, known.selection.rules(), model.layers, model.heads)
    if options.clustering is not None:
        numbers_of(model.layers * model.heads, options.clustering.method, options.clustering.clusters)
    sieving = known.sieving(model, passages, options.max_length)
    advance = counted(progress, len(passages))
    size, how = options.batch_size, options.clustering
    if how is None:
        sums = None
        shards = stream(
            model, passages, sieving, batch_size=size, max_length=options.max_length, advance=advance
        )
    else:
        sums = Sums(units, model.layers, model.heads, smoothing=how.smoothing, way=how.way)
        both = Both(sieving, Diverging(model, sums))
        size = fitting_batch(model.layers, model.heads, options.max_length, size)
        pairs = stream(model, passages, both, batch_size=size, max_length=options.max_length, advance=advance)
        shards = _first(pairs)
    rules = known.selection.rules(options.margin)
    found = collect(shards, passages, units, rules, model, place)
    return Scored(
        found.scores,
        found.rules,
        model.described,
        known.parser,
        found.truncated,
        vectors=known.vectors,
        omitted=known.omitted,
        divergence=None if sums is None else sums.divergence(),
    )


def _first(results: Iterator[tuple[Shard, int]]) -> Iterator[Shard]:
    """The scores of shards whose divergences are in their sums."""
    for shard, _ in results:
        yield shard
