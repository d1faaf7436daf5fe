"""A run of sieves in shards: inputs surveyed, cut, scored by workers, put together and judged."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from headroles.arrays import selection_of
from headroles.claiming import claimed
from headroles.engines import engine_of, leaves_the_process, threads_each
from headroles.errors import BadInput
from headroles.extraction.model.checkpoint import find
from headroles.inputs import corpus_of
from headroles.judging import judged
from headroles.manifest import Scored, left_out, manifest_of
from headroles.moment_runs import drop_shards, files_said, put_together, settle
from headroles.moment_shards import Adding
from headroles.options.label import LabelOptions
from headroles.progress import Progress, counted
from headroles.records.example import Rule
from headroles.records.findings import Labelling
from headroles.remote_work import remote_place, remote_work
from headroles.reports.pages import page_of
from headroles.resuming import Work, work_in
from headroles.shards import done_already, shard_name
from headroles.showing import shown
from headroles.sieves.selection import Selection
from headroles.stats.resolution import check_decision, check_resolution
from headroles.storage import run as store
from headroles.storage.folder import EXAMPLES, PLAN, asked_for
from headroles.surveys import Survey, surveyed, tasks_of
from headroles.tally import Tally
from headroles.work import Corpus, Engine, Facts, Order, Receipt, Task


def labelled_in_shards(chosen: LabelOptions, progress: Progress | None) -> Labelling:
    """The run that options ask for; one that was stopped in the same folder goes on where it was.

    Args:
        chosen: The options.
        progress: Called with the inputs done and their total (0 where it is unknown).

    Raises:
        HeadrolesError: One of its kinds, in one sentence. Before the first shard is done nothing is left
            behind; later the shards that are done stay.
        KeyboardInterrupt: Saying how many shards are kept, when it was stopped.
    """
    selection = selection_of(chosen.sieve or None, preset=chosen.preset, statistic=chosen.statistic)
    check_decision(chosen.decision)
    apart = leaves_the_process(chosen)
    checkpoint = find(chosen.model, chosen.revision)
    remote = remote_place(chosen, apart)
    with claimed(chosen.out if remote is None else None):
        folder = asked_for(chosen.out, chosen.settings(), chosen.overwrite) if remote is None else None
        corpus = corpus_of(chosen, selection.needs, checkpoint)
        survey = surveyed(corpus, chosen.keep, chosen.stream)
        local = work_in(folder, apart, chosen.overwrite)
        with local if remote is None else remote_work(remote, chosen.overwrite) as work:
            try:
                return _labelled(
                    chosen, selection, corpus, survey, work, progress or (lambda done, total: None)
                )
            except KeyboardInterrupt as stop:
                if count := work.kept():
                    raise KeyboardInterrupt(_kept(count, work.place.url)) from stop
                raise


def _kept(count: int, where: str) -> str:
    what = "1 finished shard is" if count == 1 else f"{count} finished shards are"
    return f"stopped; {what} kept in '{where}': start the same command again, and the run goes on"


def _labelled(
    chosen: LabelOptions, selection: Selection, corpus: Corpus, survey: Survey, work: Work, progress: Progress
) -> Labelling:
    advance = counted(progress, survey.count or 0)
    order = Order(chosen, work.place.url or None, survey.whole, threads_each(chosen))
    with engine_of(order, work.place, corpus, advance) as engine:
        facts = engine.facts
        rules = rules_of(selection, facts, chosen.margin)
        check_resolution(chosen.decision, rules, facts.layers, facts.heads)
        work.begin(plan_of(chosen, survey, facts))
        tasks = tasks_of(corpus, survey, chosen.shard_size)
        adding = None if survey.whole else Adding(work.place, files_said(work.place))
        tally = Tally(survey.whole)
        scored_shards(engine, tasks, work, advance, tally, adding)
        scores, rules, moments = put_together(work.place, tally, rules, facts, chosen, adding)
        found = judged(scores, rules, chosen, chosen.decision, moments)
        exhibited, without = shown(found, chosen.maps, corpus, engine.keep)
    scored = Scored(
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
    shards = {"shards": {"size": chosen.shard_size, "count": tally.shards}}
    labelling = replace(
        found,
        manifest=manifest_of(chosen, source, scored) | shards,
        skipped=(*left_out(chosen, scored), *without),
        exhibited=exhibited,
    )
    if work.folder is not None:
        _finish(work, work.folder, labelling, tally)
    return labelling


def rules_of(selection: Selection, facts: Facts, margin: float | None) -> tuple[Rule, ...]:
    """How the columns are judged that the workers score; sieves may have been left out there."""
    known = {rule.sieve: rule for rule in selection.rules(margin)}
    return tuple(known[name] for name in facts.columns)


def plan_of(chosen: LabelOptions, survey: Survey, facts: Facts) -> dict[str, Any]:
    """What a run is written down as before its first shard, in JSON types."""
    return {
        "headroles": version("headroles"),
        "settings": chosen.settings(),
        "inputs": survey.digest,
        "examples": survey.count,
        "identity": facts.identity,
        "components": facts.components,
    }


def scored_shards(
    engine: Engine,
    tasks: Iterator[Task],
    work: Work,
    advance: Callable[[int], None],
    tally: Tally,
    adding: Adding | None = None,
) -> None:
    """Have all shards scored; those that are done already are not done again.

    Args:
        engine: Which scores those that are left.
        tasks: All shards in their order.
        work: The run in the making.
        advance: Told of the examples of shards that are done already.
        tally: Counts the shards that are done.
        adding: Told of every shard that is done, where sums are kept of all; None where all scores are.

    Raises:
        BadInput: When a worker has another model, code or parser than the first, or inputs were changed.
        HeadrolesError: What a worker raised.
    """

    def taken(receipt: Receipt) -> None:
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

    def left() -> Iterator[Task]:
        nonlocal count
        for task in tasks:
            count += 1
            if adding is None:
                receipt = done_already(work.place, task, engine.facts.identity)
            else:
                adding.seen(task)
                receipt = done_already(work.place, task, engine.facts.identity, adding.gone)
            if receipt is None:
                work.reopen()
                yield task
            else:
                taken(receipt)
                advance(receipt.examples)

    for receipt in engine.score(left()):
        taken(receipt)
    tally.check(count)


def _finish(work: Work, folder: Path, labelling: Labelling, tally: Tally) -> None:
    """Write examples, tables, report, and last the manifest, which says that the run is finished."""
    if labelling.moments is not None:
        stays = settle(work.place, labelling.moments, labelling.scores, tally.shards)
        store.write_results(folder, labelling, page_of(labelling), stays)
        work.publish()
        drop_shards(work.place, stays)
        return
    shards = {name: digest for receipt in tally.receipts for name, digest in receipt.files.items()}
    told = [shard_name(number, "json") for number in range(tally.shards)]
    work.tidy({*shards, *told})
    store.write_examples(folder, labelling.scores)
    beside = {name: work.place.read(name) for name in (*told, PLAN)}
    beside[EXAMPLES] = (folder / EXAMPLES).read_bytes()
    page = page_of(labelling)
    files = shards | {name: sha256(data).hexdigest() for name, data in beside.items()}
    store.write_results(folder, labelling, page, files)
    work.publish()
