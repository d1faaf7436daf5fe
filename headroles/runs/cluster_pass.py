"""Score passages and sum divergences between heads in one pass, shard by shard; then keep maps of a few."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from headroles.arrays import selection_of
from headroles.extraction.jobs.both import JointJob
from headroles.extraction.jobs.divergence import DivergenceJob, DivergenceSums, max_batch_size
from headroles.extraction.model.checkpoint import Checkpoint, find_checkpoint
from headroles.extraction.model.load import Model, check_length, load
from headroles.extraction.stream import stream
from headroles.inputs.annotation import AnnotatedSieves, load_annotation
from headroles.inputs.passages import read_inputs
from headroles.judging.clusters import add_clusters
from headroles.judging.scores import judge_scores
from headroles.options.cluster import ClusterOptions
from headroles.progress import Progress, ignore_progress, progress_counter
from headroles.records.findings import Labelling
from headroles.records.kept_maps import KeptMaps
from headroles.records.passage import Passage
from headroles.reports.page import page_of
from headroles.runs.card_maps import keep_card_maps
from headroles.runs.collect import collect, units_of
from headroles.runs.manifest import RunScores, manifest_of, omission_notes
from headroles.shards.worker import keep_maps_of_inputs
from headroles.sieves.selection import Selection
from headroles.stats.clusters.clusters import candidate_numbers
from headroles.stats.resolution import check_decision, check_resolution
from headroles.storage.folder import output_folder, stage_if_named
from headroles.storage.run import write_examples, write_results


@dataclass(frozen=True, slots=True, eq=False)
class RunParts:
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
    known: AnnotatedSieves


def load_run_parts(
    options: ClusterOptions, selection: Selection, checkpoint: Checkpoint, passages: Sequence[Passage]
) -> RunParts:
    """Load the model and the parser, and check that they can score and test the inputs.

    Args:
        options: Of the run.
        selection: The sieves; those selected by a group that lack annotation are left out.
        checkpoint: The model, found but not loaded.
        passages: The inputs.

    Raises:
        BadInput: When the inputs are longer than the model takes, the model,
            parser or vectors cannot be used, or a sieve lacks its annotation. Also when the resamples
            are too few for the heads, or the heads too few for the number of clusters.
    """
    units = units_of(passages)
    known = load_annotation(options, selection, passages)
    model = load(checkpoint, device=options.device, dtype=options.dtype, max_length=options.max_length)
    check_length(model, checkpoint, options.max_length)
    check_resolution(options.decision, known.selection.rules(), model.layers, model.heads)
    candidate_numbers(model.layers * model.heads, options.clustering.method, options.clustering.clusters)
    counts = known.counted(model.tokenizer, passages, options.max_length)
    return RunParts(options, passages, units, model, counts)


def score_passages(ready: RunParts, place: Path | None, progress: Progress) -> RunScores:
    """Score every passage, and write each shard as soon as it is done.

    Args:
        ready: Model, sieves and inputs; divergences between heads are summed in the same pass.
        place: Unfinished run folder; None to write nothing.
        progress: Called with the inputs done and their total.
    """
    options, model, known, passages = ready.options, ready.model, ready.known, ready.passages
    sieving = known.sieving(model)
    advance = progress_counter(progress, len(passages))
    clustering = options.clustering
    sums = DivergenceSums(
        ready.units, model.layers, model.heads, smoothing=clustering.smoothing, way=clustering.way
    )
    both = JointJob(sieving, DivergenceJob(model, sums))
    size = max_batch_size(model.layers, model.heads, options.max_length, options.batch_size)
    pairs = stream(model, passages, both, batch_size=size, max_length=options.max_length, advance=advance)
    shards = (shard for shard, _ in pairs)
    rules = known.selection.rules(options.margin)
    collected = collect(shards, passages, ready.units, rules, model, place)
    return RunScores(
        collected.scores,
        collected.rules,
        model.described,
        known.parser,
        collected.truncated,
        vectors=known.vectors,
        omitted=(*known.omitted, *known.notes),
        divergence=sums.divergence(),
    )


def keep_maps(ready: RunParts, judged: Labelling) -> tuple[KeptMaps | None, list[str]]:
    """Run the examples of head cards again and keep their maps, as ``headroles.runs.card_maps`` describes.

    Args:
        ready: Model and inputs; the options say how many maps are kept at most.
        judged: The scores, and which heads hold which roles.
    """
    return keep_card_maps(
        judged,
        ready.options.maps,
        ready.passages,
        lambda passages, heads: keep_maps_of_inputs(ready.model, ready.options, passages, heads),
    )


def label_and_cluster(options: ClusterOptions, progress: Callable[[int, int], None] | None) -> Labelling:
    """Run the sieves and clusters that the options name, in one process and one pass.

    Args:
        options: The options.
        progress: Called with the inputs done and their total.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence, with nothing left half-written.
    """
    selection = selection_of(options.sieve or None, preset=options.preset, statistic=options.statistic)
    check_decision(options.decision)
    checkpoint = find_checkpoint(options.model, options.revision)
    folder = output_folder(options.out, options.settings(), options.overwrite)
    passages, source = read_inputs(options, selection.needs, checkpoint)
    with stage_if_named(folder) as place:
        ready = load_run_parts(options, selection, checkpoint, passages)
        scored = score_passages(ready, place, progress or ignore_progress)
        judgement = judge_scores(scored.scores, scored.rules, options, options.decision)
        if scored.divergence is not None:
            judgement = add_clusters(judgement, scored.divergence, options.clustering)
        maps, omissions = keep_maps(ready, judgement)
        labelling = replace(
            judgement,
            manifest=manifest_of(options, source, scored),
            skipped=(*omission_notes(options, scored), *omissions),
            exhibited=maps,
        )
        if place is not None:
            write_examples(place, labelling.scores)
            write_results(place, labelling, page_of(labelling))
    return labelling
