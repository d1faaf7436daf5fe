"""label(): texts and a checkpoint in, a labelling out. The one file that knows all layers."""

import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headroles import store
from headroles.arrays import selection_of
from headroles.errors import BadInput
from headroles.extraction import checkpoint
from headroles.extraction.texts import fingerprint, kind_of, read_file, read_hub, read_sample, sampled
from headroles.options import Options
from headroles.presets import preset_of
from headroles.records import Decision, Labelling, Rule, Scores
from headroles.sieves.base import Sieve
from headroles.sieves.selection import Selection
from headroles.tasks import HUB, task_of
from headroles.units import unit_names

if TYPE_CHECKING:
    from headroles.extraction.passages import Passage
    from headroles.extraction.stream import Shard

Progress = Callable[[int, int], None]
PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "scipy", "statsmodels", "pandas", "spacy")


def label(
    task: str | None = None,
    *,
    sieve: str | Sieve | Sequence[str | Sieve] = (),
    progress: Progress | None = None,
    **options: Any,
) -> Labelling:
    """Label the heads of a model with the roles that survive their tests.

    Args:
        task: "QNLI", "QQP", "MRPC" or "SST-2"; None when ``data`` says what the texts are.
        sieve: Sieves by name or as they are; all built-in ones when empty.
        progress: Called with the examples done and their total.
        **options: The options of ``headroles label``, by the same names, checked by
            ``headroles.options.Options``: ``model`` (folder or hub name; None: the embedded one),
            ``revision``, ``source`` ("sample" or "hub"), ``data`` (file; with ``source="hub"`` a
            dataset in GLUE's layout), ``text_a``, ``text_b``, ``group`` (columns), ``limit`` and
            ``seed`` (a random subset), ``preset``, ``statistic``, ``margin``, ``alpha``, ``test``,
            ``correction``, ``family``, ``parser``, ``device``, ``dtype``, ``batch_size``,
            ``max_length``, ``out`` (run folder; None: nothing is written) and ``overwrite``.

    Returns:
        Scores, findings and everything needed to reproduce them.

    Raises:
        HeadrolesError: One of its kinds, in one sentence, with nothing left half-written.
    """
    sieves = [sieve] if isinstance(sieve, str) or not isinstance(sieve, Sequence) else list(sieve)
    chosen = _options(task=task, sieve=tuple(sieves), **options)
    return _run(chosen, progress or (lambda done, total: None))


def _options(**given: Any) -> Options:
    try:
        return Options(**given)
    except TypeError as error:
        raise BadInput(f"{error}; the options of label() are those of headroles label --help") from error


def _run(options: Options, progress: Progress) -> Labelling:
    """Check everything cheap first, then read texts, load the model, score, judge and write."""
    from headroles.stats.engine import check_decision

    selection = selection_of(options.sieve or None, preset=options.preset, statistic=options.statistic)
    check_decision(options.decision)
    found = checkpoint.find(options.model, options.revision)
    folder = None if options.out is None else Path(options.out)
    if folder is not None:
        store.check_free(folder, options.settings(), options.overwrite)
    passages, source = _inputs(options)
    with _target(folder) as place:
        scores, rules, facts = _scored(options, selection, found, passages, place, progress)
        manifest = _manifest(options, source, facts, scores)
        labelling = judged(
            scores, rules, options.decision, manifest, _left_out(scores, rules, facts, options)
        )
        if place is not None:
            store.write_examples(place, scores)
            store.write_results(place, labelling, page_of(labelling))
    return labelling


@contextmanager
def _target(folder: Path | None) -> Iterator[Path | None]:
    if folder is None:
        yield None
    else:
        with store.staged(folder) as staging:
            yield staging


def _inputs(options: Options) -> tuple[list["Passage"], dict[str, Any]]:
    """The passages of a run, and where they come from."""
    task = None if options.task is None else task_of(options.task)
    kind, name = "file", options.data
    if options.source == "hub" and task is not None:
        kind, name = "hub", options.data or HUB
        passages = read_hub(task, name, options.name)
    elif options.data is not None:
        columns = [options.text_a] if options.text_a else list(task.columns if task else ())
        columns += [options.text_b] if options.text_b else []
        passages = read_file(Path(options.data), columns, options.group, options.name)
    elif task is not None:
        kind, name = "sample", "written for headroles"
        passages = read_sample(task)
    chosen = sampled(passages, options.limit, options.seed)
    source = {"kind": kind, "name": name, "rows": len(passages), "sha256": fingerprint(chosen)}
    if kind == "file" and kind_of(Path(options.data or "")) == ".conllu":
        source["trees"] = "gold"
    return chosen, source


def _scored(
    options: Options,
    selection: Selection,
    found: checkpoint.Checkpoint,
    passages: list["Passage"],
    place: Path | None,
    progress: Progress,
) -> tuple[Scores, tuple[Rule, ...], dict[str, Any]]:
    """Load the model and parser and score every passage, writing each shard as it is done."""
    from headroles.extraction.annotate import Annotator, load_parser
    from headroles.extraction.model import load
    from headroles.extraction.stream import stream

    parsed = bool(selection.needs) and any(passage.words is None for passage in passages)
    parser, described = load_parser(options.parser) if parsed else (None, None)
    model = load(found, device=options.device, dtype=options.dtype, max_length=options.max_length)
    if model.limit is not None and options.max_length > model.limit:
        raise BadInput(
            f"{found.name!r} takes at most {model.limit} tokens, but --max-length is {options.max_length}; "
            f"give at most {model.limit}"
        )
    units = unit_names(
        [passage.group for passage in passages],
        [passage.texts for passage in passages],
        [passage.key for passage in passages],
    )
    done = [0]

    def advance(count: int) -> None:
        done[0] += count
        progress(done[0], len(passages))

    shards: list[Shard] = []
    parts: list[Scores] = []
    annotator = Annotator(parser) if selection.needs else None
    for shard in stream(
        model,
        passages,
        selection,
        annotator,
        batch_size=options.batch_size,
        max_length=options.max_length,
        advance=advance,
    ):
        at = sum(len(each.examples) for each in shards)
        part = _part(shard, selection, units[at : at + len(shard.examples)])
        if place is not None:
            store.write_part(place, len(parts), part)
        shards.append(shard)
        parts.append(part)
    facts = {
        "model": model.described,
        "parser": described,
        "truncated": sum(int(shard.truncated.sum()) for shard in shards),
    }
    return _joined(parts), _bounded(selection.rules(options.margin), shards), facts


def _part(shard: "Shard", selection: Selection, units: list[str]) -> Scores:
    rules = selection.rules()
    null = np.array([np.full(len(shard.examples), rule.null) for rule in rules])
    if len(selection.scorers):
        null[-len(selection.scorers) :] = shard.null
    return Scores(
        sieves=selection.columns,
        examples=shard.examples,
        units=tuple(units),
        tokens=shard.tokens,
        cells=shard.cells,
        values=shard.values,
        null=null,
    )


def _joined(parts: Sequence[Scores]) -> Scores:
    return Scores(
        sieves=parts[0].sieves,
        examples=tuple(key for part in parts for key in part.examples),
        units=tuple(unit for part in parts for unit in part.units),
        tokens=np.concatenate([part.tokens for part in parts]),
        cells=np.concatenate([part.cells for part in parts], axis=1),
        values=np.concatenate([part.values for part in parts], axis=1),
        null=np.concatenate([part.null for part in parts], axis=1),
    )


def _bounded(rules: Sequence[Rule], shards: Sequence["Shard"]) -> tuple[Rule, ...]:
    """Rules of masks with the smallest and largest value that a score could take on any example."""
    low = np.min([shard.low for shard in shards], axis=0)
    high = np.max([shard.high for shard in shards], axis=0)
    return tuple(
        replace(rule, low=float(low[k]), high=float(high[k]))
        if np.isfinite([low[k], high[k]]).all()
        else rule
        for k, rule in enumerate(rules)
    )


def judged(
    scores: Scores,
    rules: Sequence[Rule],
    decision: Decision,
    manifest: dict[str, Any],
    skipped: Sequence[str],
) -> Labelling:
    """Findings of scores, with the curve of labelled heads over margins in the manifest."""
    from headroles.stats.engine import judge
    from headroles.stats.sensitivity import sensitivity

    findings = judge(scores, rules, decision)
    curve = {"sensitivity": sensitivity(scores, rules, decision)}
    return Labelling(scores, findings, decision, manifest | curve, tuple(skipped))


def default_folder(task: str | None, data: str | None, model: str | None) -> str:
    """Where the command line writes a run: ``runs/<inputs>-<model>``.

    Example:
        >>> default_folder("QNLI", None, None)
        'runs/QNLI-all-MiniLM-L6-v2'
    """
    inputs = task or Path(data or "data").name.split(".")[0]
    return str(Path("runs") / f"{inputs}-{Path(model or checkpoint.EMBEDDED).name}")


def page_of(labelling: Labelling) -> str:
    """The labelling's report as one HTML page."""
    from headroles.reports.page import page

    return page(labelling)


def save(labelling: Labelling, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write a labelling as a run folder.

    Raises:
        BadInput: When the folder holds something else, or cannot be written.
    """
    place = Path(folder)
    store.check_free(place, dict(labelling.manifest.get("settings", {})), overwrite)
    with store.staged(place) as staging:
        store.write_part(staging, 0, labelling.scores)
        store.write_examples(staging, labelling.scores)
        store.write_results(staging, labelling, page_of(labelling))


def judge_again(
    folder: str | Path,
    *,
    alpha: float | None = None,
    margin: float | None = None,
    test: str | None = None,
    correction: str | None = None,
    family: str | None = None,
) -> Labelling:
    """Decide again from the stored scores of a run folder, and write the outcome into it.

    No model is needed. What is not given stays as it was.

    Raises:
        HeadrolesError: When the folder is no run, or a setting does not exist; the folder is then
            left as it was.
    """
    before = store.load(folder)
    asked = {"alpha": alpha, "test": test, "correction": correction, "family": family}
    given: dict[str, Any] = {name: each for name, each in asked.items() if each is not None}
    decision = replace(before.decision, **given)
    settings = dict(before.manifest.get("settings", {})) | given
    settings |= {} if margin is None else {"margin": margin}
    Options(**(settings | {"sieve": tuple(settings.get("sieve", ())), "task": None, "data": "judged"}))
    rules = before.findings.rules
    if margin is not None:
        rules = tuple(replace(rule, margin=margin) if rule.role else rule for rule in rules)
    manifest = dict(before.manifest) | {"settings": settings}
    after = judged(before.scores, rules, decision, manifest, before.skipped)
    store.write_results(Path(folder), after, page_of(after))
    return after


def _manifest(
    options: Options, source: dict[str, Any], facts: dict[str, Any], scores: Scores
) -> dict[str, Any]:
    import torch

    preset = preset_of(options.preset)
    tokenizer = {"class": facts["model"].pop("tokenizer"), "max_length": options.max_length}
    return {
        "headroles": version("headroles"),
        "command": options.command(),
        "task": options.task,
        "source": source,
        "model": facts["model"],
        "tokenizer": tokenizer,
        "parser": facts["parser"],
        "preset": options.preset,
        "statistic": "published" if preset.warning else options.statistic,
        "settings": options.settings(),
        "counts": {
            "examples": len(scores.examples),
            "units": len(set(scores.units)),
            "tokens": int(scores.tokens.sum()),
            "truncated": facts["truncated"],
        },
        "notes": [preset.warning] if preset.warning else [],
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
        "machine": {
            "system": platform.platform(),
            "processor": platform.machine(),
            "threads": torch.get_num_threads(),
        },
    }


def _left_out(scores: Scores, rules: Sequence[Rule], facts: dict[str, Any], options: Options) -> list[str]:
    """What was cut, not applicable or too little to say, one sentence each."""
    from headroles.stats.engine import ENOUGH_FOR_NOT

    said = []
    total = len(scores.examples)
    if facts["truncated"]:
        said.append(
            f"{facts['truncated']} of {total} inputs were cut to {options.max_length} tokens, "
            f"longest text first."
        )
    for position, rule in enumerate(rules):
        if not rule.role:
            continue
        silent = np.isnan(scores.values[position]).all(axis=(1, 2))
        units = len({unit for unit, quiet in zip(scores.units, silent, strict=True) if not quiet})
        if silent.all():
            said.append(f"{rule.sieve} does not apply to these inputs: nothing in them can be counted.")
        elif silent.any():
            said.append(f"{rule.sieve} had nothing to count in {int(silent.sum())} of {total} inputs.")
        if 0 < units < ENOUGH_FOR_NOT:
            said.append(
                f"{rule.sieve} rests on {units} units; below {ENOUGH_FOR_NOT} no head is called 'not', "
                f"because rare scores then look absent too often."
            )
    if options.data and kind_of(Path(options.data)) == ".conllu" and options.task is not None:
        said.append(f"the inputs are the sentences of a CoNLL-U file, not the texts of {options.task}.")
    return said
