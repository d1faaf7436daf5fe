"""Label heads with their roles: ``label()``, and its run in shards.

Inputs are counted and cut into shards, workers score the shards, and the scores are put together and judged.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from headroles.arrays import selection_of
from headroles.errors import BadInput
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.inputs.corpora import Corpus
from headroles.inputs.passages import read_corpus
from headroles.judging.scores import judge_scores
from headroles.options.label import LabelOptions, label_options_of
from headroles.progress import Progress, ignore_progress, progress_counter
from headroles.records.example import Rule
from headroles.records.findings import Labelling
from headroles.reports.page import page_of
from headroles.runs.card_maps import keep_card_maps
from headroles.runs.defaults import sieve_tuple
from headroles.runs.manifest import RunScores, manifest_of, omission_notes
from headroles.shards.engines import engine_of, threads_per_worker, uses_other_processes
from headroles.shards.files import find_finished_shard, shard_name
from headroles.shards.lock import lock_run_folder
from headroles.shards.moment_runs import assemble_run, drop_shards, files_in_manifest, write_final_sums
from headroles.shards.moments import RunningSums
from headroles.shards.receipts import Receipts
from headroles.shards.remote import remote_place, remote_work
from headroles.shards.resume import Work, open_work
from headroles.shards.survey import Survey, count_inputs, cut_into_tasks
from headroles.shards.work import Engine, Facts, Order, Receipt, Task
from headroles.sieves.base import Sieve
from headroles.sieves.selection import Selection
from headroles.stats.resolution import check_decision, check_resolution
from headroles.storage.folder import (
    EXAMPLES,
    PLAN,
    output_folder,
)
from headroles.storage.run import write_examples, write_results


def label(
    task: str | None = None,
    *,
    sieve: str | Sieve | Sequence[str | Sieve] = (),
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Labelling:
    """Label the heads of a model with the roles that survive their tests.

    Args:
        task: "QNLI", "QQP", "MRPC" or "SST-2"; None when ``data`` names the texts.
        sieve: Sieves by name or as objects; all built-in ones when empty.
        progress: Called with the inputs done and their total; inputs that are run again for head cards
            are not counted twice.
        **options: The options of ``headroles label``, by the same names, checked by
            ``headroles.options.label``: ``model`` (folder or hub name; None: the embedded one),
            ``revision``, ``source`` ("sample" or "hub"), ``data`` (file, folder, pattern or address; with
            ``source="hub"`` a dataset in GLUE's layout), ``text_a``, ``text_b``, ``group`` (columns),
            ``limit`` and ``seed`` (a random subset), ``preset``, ``statistic``, ``margin``, ``alpha``,
            ``test``, ``correction``, ``family``, ``resamples``, ``resample_seed``, ``interval``,
            ``splits``, ``bayes``, ``parser``, ``vectors`` (word vectors), ``maps`` (most attention maps
            kept for head cards, with the tokens of their inputs; 0: none, and no text),
            ``device``, ``dtype``, ``batch_size``, ``max_length``, ``out`` (run folder or address; None:
            nothing is written) and ``overwrite``; ``kind`` (of attention, for encoder-decoders),
            ``attention`` (a file of stored maps), ``stream`` and ``keep`` (corpora), ``shard_size``,
            ``workers``, ``threads``, ``engine``, ``address``, ``gpus`` and ``cache``, as
            ``headroles.options.label`` describes them.

    Returns:
        Scores, findings and everything needed to reproduce them.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence. No file is left half-written. Before the
            first shard is done, nothing is left; later, finished shards stay, and the same call goes on.
    """
    chosen = label_options_of(task=task, sieve=sieve_tuple(sieve), **options)
    if chosen.attention is not None:
        from headroles.runs.label_maps import label_stored_maps

        return label_stored_maps(chosen, progress)
    return label_in_shards(chosen, progress)


def label_in_shards(options: LabelOptions, progress: Progress | None) -> Labelling:
    """Run the sieves that the options name; continue a run that was stopped in the same folder.

    Args:
        options: The options.
        progress: Called with the inputs done and their total (0 where it is unknown).

    Raises:
        HeadrolesError: One of its subclasses, in one sentence. Before the first shard is done, nothing is
            left behind; later, finished shards stay.
        KeyboardInterrupt: When the run was stopped; the message says how many shards are kept.
    """
    selection = selection_of(options.sieve or None, preset=options.preset, statistic=options.statistic)
    check_decision(options.decision)
    in_other_processes = uses_other_processes(options)
    checkpoint = find_checkpoint(options.model, options.revision)
    remote = remote_place(options, in_other_processes)
    with lock_run_folder(options.out if remote is None else None):
        folder = output_folder(options.out, options.settings(), options.overwrite) if remote is None else None
        corpus = read_corpus(options, selection.needs, checkpoint)
        survey = count_inputs(corpus, options.keep, options.stream)
        local = open_work(folder, in_other_processes, options.overwrite)
        with local if remote is None else remote_work(remote, options.overwrite) as work:
            try:
                return _run_shards(options, selection, corpus, survey, work, progress or ignore_progress)
            except KeyboardInterrupt as stop:
                if count := work.kept():
                    raise KeyboardInterrupt(_stop_message(count, work.place.url)) from stop
                raise


def _stop_message(count: int, where: str) -> str:
    """Say how many shards of a stopped run are kept, and how to continue."""
    shards = "1 finished shard is" if count == 1 else f"{count} finished shards are"
    return f"stopped; {shards} kept in '{where}': start the same command again, and the run goes on"


def _run_shards(
    options: LabelOptions,
    selection: Selection,
    corpus: Corpus,
    survey: Survey,
    work: Work,
    progress: Progress,
) -> Labelling:
    """Score the shards that are not done, judge all scores, and write the results into the folder."""
    advance = progress_counter(progress, survey.count or 0)
    order = Order(options, work.place.url or None, survey.whole, threads_per_worker(options))
    with engine_of(order, work.place, corpus, advance) as engine:
        facts = engine.facts
        rules = column_rules(selection, facts, options.margin)
        check_resolution(options.decision, rules, facts.layers, facts.heads)
        work.begin(run_record(options, survey, facts))
        tasks = cut_into_tasks(corpus, survey, options.shard_size)
        adding = None if survey.whole else RunningSums(work.place, files_in_manifest(work.place))
        tally = Receipts(survey.whole)
        score_shards(engine, tasks, work, advance, tally, adding)
        scores, rules, moments = assemble_run(work.place, tally, rules, facts, options, adding)
        judgement = judge_scores(scores, rules, options, options.decision, moments)
        exhibited, omissions = keep_card_maps(judgement, options.maps, corpus, engine.keep)
    scored = RunScores(
        scores,
        rules,
        facts.described,
        facts.parser,
        tally.truncated,
        vectors=facts.vectors,
        omitted=facts.omitted,
        moments=moments,
    )
    source = dict(corpus.source) | {"sha256": survey.sha256}
    shards = {"shards": {"size": options.shard_size, "count": tally.shards}}
    labelling = replace(
        judgement,
        manifest=manifest_of(options, source, scored) | shards,
        skipped=(*omission_notes(options, scored), *omissions),
        exhibited=exhibited,
    )
    if work.folder is not None:
        _finish(work, work.folder, labelling, tally)
    return labelling


def column_rules(selection: Selection, facts: Facts, margin: float | None) -> tuple[Rule, ...]:
    """Return the rules of the columns that the workers score; workers may leave sieves out."""
    rules = {rule.sieve: rule for rule in selection.rules(margin)}
    return tuple(rules[name] for name in facts.columns)


def run_record(options: LabelOptions, survey: Survey, facts: Facts) -> dict[str, Any]:
    """Return the record of a run that is written before its first shard, in JSON types."""
    return {
        "headroles": version("headroles"),
        "settings": options.settings(),
        "inputs": survey.digest,
        "examples": survey.count,
        "identity": facts.identity,
        "components": facts.components,
    }


def score_shards(
    engine: Engine,
    tasks: Iterator[Task],
    work: Work,
    advance: Callable[[int], None],
    tally: Receipts,
    adding: RunningSums | None = None,
) -> None:
    """Have all shards scored that are not done yet.

    Args:
        engine: Scores the shards that are left.
        tasks: All shards in their order.
        work: The unfinished run.
        advance: Called with the number of examples of each shard that is done already.
        tally: Counts the shards that are done.
        adding: Adds up every finished shard where only sums are kept; None where all scores are kept.

    Raises:
        BadInput: When a worker has another model, code or parser than the first, or inputs were changed.
        HeadrolesError: From a worker.
    """

    def record(receipt: Receipt) -> None:
        if receipt.identity != engine.facts.identity:
            raise BadInput(
                f"all workers of a run have the same model, code, libraries and kind of device, but shard "
                f"{receipt.number} was scored by one that has others; make them alike, and start the same "
                f"command again"
            )
        tally.add(receipt)
        work.counted()
        if adding is not None:
            adding.done(receipt.number)

    count = 0

    def unfinished() -> Iterator[Task]:
        nonlocal count
        for task in tasks:
            count += 1
            if adding is None:
                receipt = find_finished_shard(work.place, task, engine.facts.identity)
            else:
                adding.seen(task)
                receipt = find_finished_shard(work.place, task, engine.facts.identity, adding.gone)
            if receipt is None:
                work.reopen()
                yield task
            else:
                record(receipt)
                advance(receipt.examples)

    for receipt in engine.score(unfinished()):
        record(receipt)
    tally.check(count)


def _finish(work: Work, folder: Path, labelling: Labelling, tally: Receipts) -> None:
    """Write examples, tables and report, and last the manifest, which marks the run as finished."""
    if labelling.moments is not None:
        kept_files = write_final_sums(work.place, labelling.moments, labelling.scores, tally.shards)
        write_results(folder, labelling, page_of(labelling), kept_files)
        work.publish()
        drop_shards(work.place, kept_files)
        return
    shards = {name: digest for receipt in tally.receipts for name, digest in receipt.files.items()}
    receipts = [shard_name(number, "json") for number in range(tally.shards)]
    work.tidy({*shards, *receipts})
    write_examples(folder, labelling.scores)
    hashed_files = {name: work.place.read(name) for name in (*receipts, PLAN)}
    hashed_files[EXAMPLES] = (folder / EXAMPLES).read_bytes()
    page = page_of(labelling)
    files = shards | {name: sha256(data).hexdigest() for name, data in hashed_files.items()}
    write_results(folder, labelling, page, files)
    work.publish()
