"""label(): texts and a checkpoint in, a labelling out. The one file that knows all layers.

A run of sieves in shards: inputs surveyed, cut, scored by workers, put together and judged.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from headroles.addresses import is_address
from headroles.arrays import selection_of
from headroles.errors import BadInput
from headroles.extraction.model.checkpoint import EMBEDDED, find
from headroles.inputs.corpora import Corpus
from headroles.inputs.passages import corpus_of
from headroles.judging.scores import judged
from headroles.options.inputs import called
from headroles.options.label import LabelOptions, label_options_of
from headroles.progress import Progress, counted
from headroles.records.example import Rule
from headroles.records.findings import Labelling
from headroles.reports.page import page_of
from headroles.runs.card_maps import shown
from headroles.runs.manifest import Scored, left_out, manifest_of
from headroles.shards.engines import engine_of, leaves_the_process, threads_each
from headroles.shards.files import done_already, shard_name
from headroles.shards.lock import claimed
from headroles.shards.moment_runs import drop_shards, files_said, put_together, settle
from headroles.shards.moments import Adding
from headroles.shards.receipts import Tally
from headroles.shards.remote import remote_place, remote_work
from headroles.shards.resume import Work, work_in
from headroles.shards.survey import Survey, surveyed, tasks_of
from headroles.shards.work import Engine, Facts, Order, Receipt, Task
from headroles.sieves.base import Sieve
from headroles.sieves.selection import Selection
from headroles.stats.resolution import check_decision, check_resolution
from headroles.storage.folder import (
    EXAMPLES,
    MOMENTS,
    PLAN,
    REPORT,
    RUN,
    asked_for,
    check_free,
    staged,
    write_text,
)
from headroles.storage.moments import moments_bytes
from headroles.storage.places import place_of
from headroles.storage.run import load, write_examples, write_part, write_report, write_results


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
        write_results(folder, labelling, page_of(labelling), stays)
        work.publish()
        drop_shards(work.place, stays)
        return
    shards = {name: digest for receipt in tally.receipts for name, digest in receipt.files.items()}
    told = [shard_name(number, "json") for number in range(tally.shards)]
    work.tidy({*shards, *told})
    write_examples(folder, labelling.scores)
    beside = {name: work.place.read(name) for name in (*told, PLAN)}
    beside[EXAMPLES] = (folder / EXAMPLES).read_bytes()
    page = page_of(labelling)
    files = shards | {name: sha256(data).hexdigest() for name, data in beside.items()}
    write_results(folder, labelling, page, files)
    work.publish()


def label(
    task: str | None = None,
    *,
    sieve: str | Sieve | Sequence[str | Sieve] = (),
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Labelling:
    """Label the heads of a model with the roles that survive their tests.

    Args:
        task: "QNLI", "QQP", "MRPC" or "SST-2"; None when ``data`` says what the texts are.
        sieve: Sieves by name or as they are; all built-in ones when empty.
        progress: Called with the inputs done and their total; those that are run once more for head
            cards are not counted again.
        **options: The options of ``headroles label``, by the same names, checked by
            ``headroles.options.label``: ``model`` (folder or hub name; None: the embedded one),
            ``revision``, ``source`` ("sample" or "hub"), ``data`` (file, folder, pattern or address; with
            ``source="hub"`` a dataset in GLUE's layout), ``text_a``, ``text_b``, ``group`` (columns),
            ``limit`` and ``seed`` (a random subset), ``preset``, ``statistic``, ``margin``, ``alpha``,
            ``test``, ``correction``, ``family``, ``resamples``, ``resample_seed``, ``interval``,
            ``splits``, ``bayes``, ``parser``, ``vectors`` (word vectors), ``maps`` (most attention maps
            kept for head cards, together with the tokens of their inputs; 0: none, and no text),
            ``device``, ``dtype``, ``batch_size``, ``max_length``, ``out`` (run folder or address; None:
            nothing is written) and ``overwrite``; ``kind`` (of attention, for encoder-decoders),
            ``attention`` (a file of stored maps), ``stream`` and ``keep`` (corpora), ``shard_size``,
            ``workers``, ``threads``, ``engine``, ``address``, ``gpus`` and ``cache``, as
            ``headroles.options.label`` says.

    Returns:
        Scores, findings and everything needed to reproduce them.

    Raises:
        HeadrolesError: One of its kinds, in one sentence, with nothing left half-written: before the
            first shard is done nothing at all, later the shards that are done, and the same call goes on.
    """
    chosen = label_options_of(task=task, sieve=sieves_of(sieve), **options)
    if chosen.attention is not None:
        from headroles.runs.label_maps import labelled_maps

        return labelled_maps(chosen, progress)
    return labelled_in_shards(chosen, progress)


def sieves_of(sieve: str | Sieve | Sequence[str | Sieve]) -> tuple[str | Sieve, ...]:
    """Sieves as a caller gives them, one by itself or several, as a tuple."""
    return (sieve,) if isinstance(sieve, str) or not isinstance(sieve, Sequence) else tuple(sieve)


def save(labelling: Labelling, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write a labelling as a run folder.

    Raises:
        BadInput: When the folder holds something else, or cannot be written.
    """
    place = Path(folder)
    check_free(place, dict(labelling.manifest.get("settings", {})), overwrite)
    with staged(place) as staging:
        write_part(staging, 0, labelling.scores)
        write_examples(staging, labelling.scores)
        if labelling.moments is not None:
            (staging / MOMENTS).write_bytes(moments_bytes(labelling.moments))
        write_results(staging, labelling, page_of(labelling))


def report(folder: str | Path, out: str | Path | None = None) -> str | Path:
    """Write the report of a run folder, and say where.

    Args:
        folder: Of a run, or its address.
        out: File to write; None for ``report.html`` in the folder, or at the address.

    Raises:
        BadInput: When the folder is no run, or the file cannot be written.
    """
    if is_address(folder) or is_address(out or ""):
        return _remote_report(folder, out)
    target = Path(folder) / REPORT if out is None else Path(out)
    if target.name in RUN.holds - {REPORT} and target.resolve().parent == Path(folder).resolve():
        raise BadInput(
            f"a report does not take the place of a part of its run, but --out is '{target}'; "
            f"name another file"
        )
    page = page_of(load(folder))
    if target.resolve() == (Path(folder) / REPORT).resolve():
        write_report(Path(folder), page)
    else:
        write_text(target, page)
    return target


def _remote_report(folder: str | Path, out: str | Path | None) -> str | Path:
    """Write the report of a run at an address, or to an address, and say where."""
    run = str(folder).rstrip("/")
    target = f"{run}/{REPORT}" if out is None else str(out)
    where, _, name = target.rpartition("/")
    if where == run and name in RUN.holds - {REPORT}:
        raise BadInput(
            f"a report does not take the place of a part of its run, but --out is '{target}'; "
            f"name another file"
        )
    page = page_of(load(folder))
    if not is_address(target):
        write_text(Path(target), page)
        return Path(target)
    place_of(where).write(name, page.encode())
    return target


def default_folder(task: str | None, data: str | None, model: str | None, kind: str = "") -> str:
    """Where the command line writes a run: ``runs/<inputs>-<model>``, the kind before it where there is one.

    Example:
        >>> default_folder("QNLI", None, None)
        'runs/QNLI-all-MiniLM-L6-v2'
        >>> default_folder("QNLI", None, None, "surface")
        'runs/surface-QNLI-all-MiniLM-L6-v2'
    """
    inputs = task or called(data)
    parts = (kind, inputs, Path(model or EMBEDDED).resolve().name)
    return str(Path("runs") / "-".join(part for part in parts if part))
