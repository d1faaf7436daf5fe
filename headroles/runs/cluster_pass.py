"""Score passages and sum divergences between heads in one pass, shard by shard; then keep maps of a few."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from headroles.arrays import selection_of
from headroles.extraction.jobs.both import Both
from headroles.extraction.jobs.divergence import Diverging, Sums, fitting_batch
from headroles.extraction.model.checkpoint import Checkpoint, find
from headroles.extraction.model.load import Model, check_length, load
from headroles.extraction.stream import stream
from headroles.inputs.annotation import Annotated, annotated
from headroles.inputs.passages import gather
from headroles.judging.clusters import with_clusters
from headroles.judging.scores import judged
from headroles.options.cluster import ClusterOptions
from headroles.progress import Progress, counted, ignore_progress
from headroles.records.findings import Labelling
from headroles.records.kept_maps import Exhibited
from headroles.records.passage import Passage
from headroles.reports.page import page_of
from headroles.runs.card_maps import shown
from headroles.runs.collect import collect, units_of
from headroles.runs.manifest import Scored, left_out, manifest_of
from headroles.shards.worker import kept
from headroles.sieves.selection import Selection
from headroles.stats.clusters.clusters import numbers_of
from headroles.stats.resolution import check_decision, check_resolution
from headroles.storage.folder import asked_for, staged_or_none
from headroles.storage.run import write_examples, write_results


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """The model, sieves and inputs of a run, loaded once for all its passes.

    Attributes:
        options: Of the run.
        passages: The inputs.
        units: The unit of each passage.
        model: Ready to be read.
        known: The sieves whose annotation is available, and their annotator.
    """

    options: ClusterOptions
    passages: Sequence[Passage]
    units: list[str]
    model: Model
    known: Annotated


def loaded(
    options: ClusterOptions, selection: Selection, checkpoint: Checkpoint, passages: Sequence[Passage]
) -> Loaded:
    """Load the model and the parser, and check that they can score and test the inputs.

    Args:
        options: Of the run.
        selection: The sieves; those selected by a group that lack annotation are left out.
        checkpoint: The model, found but not loaded.
        passages: The inputs.

    Raises:
        BadInput: When the inputs are fewer than two units or longer than the model takes, the model,
            parser or vectors cannot be used, or a sieve lacks its annotation. Also when the resamples
            are too few for the heads, or the heads too few for the number of clusters.
    """
    units = units_of(passages)
    known = annotated(options, selection, passages)
    model = load(checkpoint, device=options.device, dtype=options.dtype, max_length=options.max_length)
    check_length(model, checkpoint, options.max_length)
    check_resolution(options.decision, known.selection.rules(), model.layers, model.heads)
    numbers_of(model.layers * model.heads, options.clustering.method, options.clustering.clusters)
    counts = known.counted(model.tokenizer, passages, options.max_length)
    return Loaded(options, passages, units, model, counts)


def score_passages(ready: Loaded, place: Path | None, progress: Progress) -> Scored:
    """Score every passage, and write each shard as soon as it is done.

    Args:
        ready: Model, sieves and inputs; divergences between heads are summed in the same pass.
        place: Unfinished run folder; None to write nothing.
        progress: Called with the inputs done and their total.
    """
    options, model, known, passages = ready.options, ready.model, ready.known, ready.passages
    sieving = known.sieving(model)
    advance = counted(progress, len(passages))
    clustering = options.clustering
    sums = Sums(ready.units, model.layers, model.heads, smoothing=clustering.smoothing, way=clustering.way)
    both = Both(sieving, Diverging(model, sums))
    size = fitting_batch(model.layers, model.heads, options.max_length, options.batch_size)
    pairs = stream(model, passages, both, batch_size=size, max_length=options.max_length, advance=advance)
    shards = (shard for shard, _ in pairs)
    rules = known.selection.rules(options.margin)
    collected = collect(shards, passages, ready.units, rules, model, place)
    return Scored(
        collected.scores,
        collected.rules,
        model.described,
        known.parser,
        collected.truncated,
        vectors=known.vectors,
        omitted=(*known.omitted, *known.notes),
        divergence=sums.divergence(),
    )


def exhibited(ready: Loaded, judged: Labelling) -> tuple[Exhibited | None, list[str]]:
    """Run the examples of head cards again and keep their maps, as ``headroles.runs.card_maps`` describes.

    Args:
        ready: Model and inputs; the options say how many maps are kept at most.
        judged: The scores, and which heads hold which roles.
    """
    return shown(
        judged,
        ready.options.maps,
        ready.passages,
        lambda passages, heads: kept(ready.model, ready.options, passages, heads),
    )


def labelled(options: ClusterOptions, progress: Callable[[int, int], None] | None) -> Labelling:
    """Run the sieves and clusters that the options name, in one process and one pass.

    Args:
        options: The options.
        progress: Called with the inputs done and their total.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence, with nothing left half-written.
    """
    selection = selection_of(options.sieve or None, preset=options.preset, statistic=options.statistic)
    check_decision(options.decision)
    checkpoint = find(options.model, options.revision)
    folder = asked_for(options.out, options.settings(), options.overwrite)
    passages, source = gather(options, selection.needs, checkpoint)
    with staged_or_none(folder) as place:
        ready = loaded(options, selection, checkpoint, passages)
        scored = score_passages(ready, place, progress or ignore_progress)
        judgement = judged(scored.scores, scored.rules, options, options.decision)
        if scored.divergence is not None:
            judgement = with_clusters(judgement, scored.divergence, options.clustering)
        maps, omissions = exhibited(ready, judgement)
        labelling = replace(
            judgement,
            manifest=manifest_of(options, source, scored),
            skipped=(*left_out(options, scored), *omissions),
            exhibited=maps,
        )
        if place is not None:
            write_examples(place, labelling.scores)
            write_results(place, labelling, page_of(labelling))
    return labelling
