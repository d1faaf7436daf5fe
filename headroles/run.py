"""label(): texts and a checkpoint in, a labelling out. The one file that knows all layers."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headroles.addresses import is_address
from headroles.arrays import selection_of
from headroles.cluster_judging import with_clusters
from headroles.errors import BadInput
from headroles.extraction.model.checkpoint import EMBEDDED, find
from headroles.inputs import gather
from headroles.judging import judged
from headroles.manifest import left_out, manifest_of
from headroles.options.cluster import ClusterOptions
from headroles.options.inputs import called
from headroles.options.label import label_options_of
from headroles.records.findings import Labelling
from headroles.reports.pages import page_of
from headroles.sharded import labelled_in_shards
from headroles.sieves.base import Sieve
from headroles.stats.resolution import check_decision
from headroles.storage import run as store
from headroles.storage.folder import (
    MOMENTS,
    REPORT,
    RUN,
    asked_for,
    check_free,
    staged,
    staged_or_none,
    write_text,
)
from headroles.storage.moments import moments_bytes
from headroles.storage.places import place_of


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
        from headroles.map_labelling import labelled_maps

        return labelled_maps(chosen, progress)
    return labelled_in_shards(chosen, progress)


def sieves_of(sieve: str | Sieve | Sequence[str | Sieve]) -> tuple[str | Sieve, ...]:
    """Sieves as a caller gives them, one by itself or several, as a tuple."""
    return (sieve,) if isinstance(sieve, str) or not isinstance(sieve, Sequence) else tuple(sieve)


def labelled(chosen: ClusterOptions, progress: Callable[[int, int], None] | None) -> Labelling:
    """The run of sieves and clusters that options ask for, in one process and one pass.

    Args:
        chosen: The options.
        progress: Called with the inputs done and their total.

    Raises:
        HeadrolesError: One of its kinds, in one sentence, with nothing left half-written.
    """
    selection = selection_of(chosen.sieve or None, preset=chosen.preset, statistic=chosen.statistic)
    check_decision(chosen.decision)
    checkpoint = find(chosen.model, chosen.revision)
    folder = asked_for(chosen.out, chosen.settings(), chosen.overwrite)
    passages, source = gather(chosen, selection.needs, checkpoint)
    with staged_or_none(folder) as place:
        from headroles.scoring import exhibited, loaded, score_passages

        ready = loaded(chosen, selection, checkpoint, passages)
        scored = score_passages(ready, place, progress or (lambda done, total: None))
        found = judged(scored.scores, scored.rules, chosen, chosen.decision)
        if scored.divergence is not None:
            found = with_clusters(found, scored.divergence, chosen.clustering)
        shown, without = exhibited(ready, found)
        labelling = replace(
            found,
            manifest=manifest_of(chosen, source, scored),
            skipped=(*left_out(chosen, scored), *without),
            exhibited=shown,
        )
        if place is not None:
            store.write_examples(place, labelling.scores)
            store.write_results(place, labelling, page_of(labelling))
    return labelling


def save(labelling: Labelling, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write a labelling as a run folder.

    Raises:
        BadInput: When the folder holds something else, or cannot be written.
    """
    place = Path(folder)
    check_free(place, dict(labelling.manifest.get("settings", {})), overwrite)
    with staged(place) as staging:
        store.write_part(staging, 0, labelling.scores)
        store.write_examples(staging, labelling.scores)
        if labelling.moments is not None:
            (staging / MOMENTS).write_bytes(moments_bytes(labelling.moments))
        store.write_results(staging, labelling, page_of(labelling))


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
    page = page_of(store.load(folder))
    if target.resolve() == (Path(folder) / REPORT).resolve():
        store.write_report(Path(folder), page)
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
    page = page_of(store.load(folder))
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
