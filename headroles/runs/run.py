"""Run any kind of run: cut the inputs into shards, score them, judge all scores, and write the results.

This is the one skeleton of all kinds. What differs between them is in their records (``headroles.kinds``).
Options, files, folder and inputs are checked before torch, spaCy or scipy is imported.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from headroles.errors import BadInput
from headroles.extraction.model.borrow import borrow
from headroles.inputs.corpora import Corpus, first_part
from headroles.inputs.passages import with_text_column
from headroles.kinds import RunKind, kind_named
from headroles.options.run import CommonOptions
from headroles.progress import LOAD, PARSE, REPORT, SCORE, TEST, Advance, Phases, Progress, phases_of
from headroles.records.findings import Labelling
from headroles.runs.checks import check_run
from headroles.runs.scored import ScoredRun
from headroles.shards.engines import engine_of, threads_per_worker, uses_other_processes
from headroles.shards.files import find_finished_shard, shard_name
from headroles.shards.identity import version_of
from headroles.shards.moment_runs import assemble_run, drop_shards, files_in_manifest, write_final_sums
from headroles.shards.moments import RunningSums
from headroles.shards.receipts import Receipts
from headroles.shards.remote import remote_place, remote_work
from headroles.shards.resume import Work, open_work
from headroles.shards.survey import Survey, count_inputs, cut_into_tasks
from headroles.shards.work import Engine, Facts, Order, Receipt, Task
from headroles.storage.folder import EXAMPLES, PLAN, output_folder
from headroles.storage.integrity.lock import lock_run_folder
from headroles.storage.run import write_examples, write_results


def run(options: CommonOptions, progress: Progress | Phases | None = None) -> Labelling:
    """Make a run of the kind that the options are of, or go on with one that was stopped in the same folder.

    Args:
        options: The options of any kind of run.
        progress: Called with the inputs done and their total (0 where it is unknown); or phases of the run.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence. Before the first shard is done, nothing is
            left behind; later, finished shards stay.
        KeyboardInterrupt: When the run was stopped; the message says how many shards are kept.
    """
    kind = kind_named(options.KIND)
    options = with_text_column(options)
    check_run(options)
    in_other_processes = uses_other_processes(options)
    remote = remote_place(options, in_other_processes)
    with lock_run_folder(options.out if remote is None else None):
        folder = output_folder(options.out, options.settings(), options.overwrite) if remote is None else None
        with ExitStack() as stack:
            stack.enter_context(borrow(options.model))
            corpus = kind.read_corpus(options)
            stack.callback(corpus.close)
            inputs = kind.in_order(options, corpus)
            survey = count_inputs(inputs, options.most_kept, options.streamed)
            local = open_work(folder, in_other_processes, options.overwrite)
            work = stack.enter_context(local if remote is None else remote_work(remote, options.overwrite))
            try:
                return _run_shards(options, corpus, inputs, survey, work, phases_of(progress))
            except KeyboardInterrupt as stop:
                if count := work.kept():
                    raise KeyboardInterrupt(_stop_message(count, work.place.url)) from stop
                raise


def _stop_message(count: int, where: str) -> str:
    """Say how many shards of a stopped run are kept, and how to continue."""
    shards = "1 finished shard is" if count == 1 else f"{count} finished shards are"
    return f"stopped; {shards} kept in '{where}': start the same command again, and the run goes on"


def _run_shards(
    options: CommonOptions, corpus: Corpus, inputs: Corpus, survey: Survey, work: Work, phases: Phases
) -> Labelling:
    """Score the shards that are not done, judge all scores, and write the results into the folder.

    Args:
        options: Of the run.
        corpus: The inputs, as workers open them.
        inputs: The same in the order of the shards.
        survey: Of the inputs in this order.
        work: The unfinished run.
        phases: Called when a phase starts, advances and ends.
    """
    from headroles.stats.resolution import check_resolution

    kind = kind_named(options.KIND)
    passes = kind.passes(options)
    known = survey.count if options.units_per_shard is None else None
    shards = None if known is None else -(-known // options.shard_size)
    order = Order(options, work.place.url or None, survey.whole, threads_per_worker(options), shards)
    phases.start(LOAD)
    with engine_of(order, work.place, corpus, phases.advance) as engine:
        phases.end(LOAD)
        facts = engine.facts
        rules = kind.rules(options, facts)
        check_resolution(options.decision, rules, facts.layers, facts.heads)
        work.begin(run_record(options, survey, facts))
        tasks = cut_into_tasks(inputs, survey, options.shard_size, options.units_per_shard)
        adding = None if survey.whole else RunningSums(work.place, files_in_manifest(work.place))
        own_tally = kind.tally(options, rules, facts, survey, work.place, phases.watch)
        tally = Receipts(survey.whole) if own_tally is None else own_tally
        total, parses = survey.count or 0, facts.known.parser is not None
        with phases.during(SCORE, total * passes), phases.during(PARSE, total) if parses else nullcontext():
            skip = partial(_skip, phases.advance, passes)
            score_shards(engine, tasks, work, skip, tally, adding)
        phases.start(TEST)
        rules = kind.settle(rules, tally.counts)
        scores, rules, moments = assemble_run(work.place, tally, rules, facts, options, adding)
        scores = replace(scores, stack=facts.stack)
        inputs, survey = _read_inputs(inputs, survey, tally)
        source = {"sha256": survey.sha256, "identity": dict(survey.identity)} | dict(inputs.source)
        scored = ScoredRun(
            scores,
            rules,
            facts,
            source,
            tally.truncated,
            work.place,
            tally.shards,
            dict(tally.counts),
            moments,
            tally.look,
        )
        judged = kind.judge(options, scored, inputs)
        phases.end(TEST)
        with phases.during(later) if (later := kind.later(options)) else nullcontext():
            judged, more = kind.complete(options, judged, inputs, engine, partial(phases.reach, later))
    labelling = _with_record(kind, options, scored, judged, inputs, more)
    if work.folder is not None:
        with phases.during(REPORT):
            _finish(kind, work, work.folder, labelling, tally)
    return replace(labelling, folder=options.out)


def _read_inputs(inputs: Corpus, survey: Survey, tally: Receipts) -> tuple[Corpus, Survey]:
    """Return the inputs of the shards that count and their survey: all inputs, unless the run stopped."""
    if not tally.stopped:
        return inputs, survey
    count = sum(receipt.examples for receipt in tally.receipts)
    read = first_part(inputs, count)
    return read, count_inputs(read, count, stream=False)


def _skip(advance: Advance, passes: int, count: int) -> None:
    """Count the examples of a shard that is done already."""
    advance(count, PARSE)
    advance(count * passes)


def _with_record(
    kind: RunKind,
    options: CommonOptions,
    scored: ScoredRun,
    judged: Labelling,
    corpus: Corpus,
    more: list[str],
) -> Labelling:
    """Return a labelling with its manifest, and with a note on everything that was left out."""
    from headroles.runs.manifest import subset_notes

    shards = {"shards": {"size": options.shard_size, "count": scored.shards}}
    if options.units_per_shard is not None:
        shards["shards"] = {"units": options.units_per_shard, "count": scored.shards}
    return replace(
        judged,
        manifest=kind.record(options, scored, judged, corpus) | shards,
        skipped=(*subset_notes(options.first), *kind.notes(options, scored, judged, corpus), *more),
    )


def run_record(options: CommonOptions, survey: Survey, facts: Facts) -> dict[str, Any]:
    """Return the record of a run that is written before its first shard, in JSON types."""
    return {
        "headroles": version_of("headroles"),
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
    """Have all shards scored that are not done yet, or as many as a run needs that may stop.

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
            if tally.stopped:
                return

    for receipt in engine.score(unfinished()):
        record(receipt)
        if tally.stopped:
            engine.drop()
            break
    tally.check(count)


def _finish(kind: RunKind, work: Work, folder: Path, labelling: Labelling, tally: Receipts) -> None:
    """Write examples, tables and report, and last the manifest, which marks the run as finished."""
    page = kind.page(labelling)
    if labelling.moments is not None:
        kept_files = write_final_sums(work.place, labelling.moments, labelling.scores, tally.shards)
        write_results(folder, labelling, page, kept_files)
        work.publish()
        drop_shards(work.place, kept_files)
        return
    shards = {name: digest for receipt in tally.receipts for name, digest in receipt.files.items()}
    receipts = [shard_name(number, "json") for number in range(tally.shards)]
    work.tidy({*shards, *receipts})
    write_examples(folder, labelling.scores)
    hashed_files = {name: work.place.read(name) for name in (*receipts, PLAN)}
    hashed_files[EXAMPLES] = (folder / EXAMPLES).read_bytes()
    files = shards | {name: sha256(data).hexdigest() for name, data in hashed_files.items()}
    write_results(folder, labelling, page, files)
    work.publish()
