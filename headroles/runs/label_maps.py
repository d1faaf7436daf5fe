"""Label stored attention maps from any source (``label --attention``); no model is run."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from headroles.arrays import selection_of
from headroles.extraction.source import StoredMaps
from headroles.extraction.stream import stream
from headroles.extraction.texts.sources import fingerprint
from headroles.inputs.annotation import AnnotatedSieves
from headroles.judging.scores import judge_scores
from headroles.maps.stored import annotate_maps, open_stored_maps
from headroles.options.label import LabelOptions
from headroles.progress import Progress, ignore_progress, progress_counter
from headroles.records.findings import Labelling
from headroles.reports.page import page_of
from headroles.runs.collect import collect, units_of
from headroles.runs.manifest import RunScores, manifest_of, omission_notes
from headroles.stats.resolution import check_decision, check_resolution
from headroles.storage.folder import output_folder, stage_folder
from headroles.storage.run import write_examples, write_results


def label_stored_maps(options: LabelOptions, progress: Progress | None) -> Labelling:
    """Score stored maps, and judge the scores like those of a model that is run.

    Args:
        options: The options; ``attention`` is the file of maps; the list of the same name lies next to it.
        progress: Called with the inputs done and their total.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence, with nothing left half-written.
    """
    file = Path(options.attention or "")
    selection = selection_of(options.sieve or None, preset=options.preset, statistic=options.statistic)
    check_decision(options.decision)
    folder = output_folder(options.out, options.settings(), options.overwrite)
    with open_stored_maps(file, options.name) as maps:
        annotation = annotate_maps(options, selection, maps)
        with nullcontext() if folder is None else stage_folder(folder) as place:
            scored = _score_maps(maps, annotation, options, place, progress or ignore_progress)
            source = {
                "kind": "maps",
                "name": str(options.attention),
                "rows": len(maps.passages),
                "sha256": fingerprint(maps.passages),
            }
            judgement = judge_scores(scored.scores, scored.rules, options, options.decision)
            labelling = replace(
                judgement,
                manifest=manifest_of(options, source, scored),
                skipped=tuple(omission_notes(options, scored)),
            )
            if place is not None:
                write_examples(place, labelling.scores)
                write_results(place, labelling, page_of(labelling))
    return labelling


def _score_maps(
    maps: StoredMaps,
    annotation: AnnotatedSieves,
    options: LabelOptions,
    place: Path | None,
    progress: Progress,
) -> RunScores:
    """Score every head of every example by every sieve, and write each shard when it is done."""
    passages, rules = maps.passages, annotation.selection.rules(options.margin)
    check_resolution(options.decision, rules, maps.layers, maps.heads)
    shards = stream(
        maps,
        passages,
        annotation.sieving(maps),
        batch_size=options.batch_size,
        max_length=options.max_length,
        advance=progress_counter(progress, len(passages)),
    )
    collected = collect(shards, passages, units_of(passages), rules, maps, place)
    return RunScores(
        collected.scores,
        collected.rules,
        maps.described,
        annotation.parser,
        collected.truncated,
        vectors=annotation.vectors,
        omitted=annotation.omitted,
    )
