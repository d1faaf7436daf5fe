"""The passages a run asks for, from wherever they come."""

from functools import partial
from typing import Any

from headroles.errors import BadInput
from headroles.extraction.model.checkpoint import Checkpoint
from headroles.extraction.texts.files import files_of, kind_of
from headroles.extraction.texts.rows import TABLES
from headroles.extraction.texts.sources import (
    CONLLU,
    check_readable,
    fingerprint,
    passages_in,
    read_sample,
    sampled,
    stream_hub,
)
from headroles.inputs.corpora import Corpus, Held, Streamed
from headroles.inputs.mentions import mention_windows
from headroles.options.inputs import InputOptions
from headroles.records.passage import Passage
from headroles.tasks import HUB, task_of


def gather(
    options: InputOptions, needs: frozenset[str], checkpoint: Checkpoint
) -> tuple[list[Passage], dict[str, Any]]:
    """The passages of a run, all at once, and where they come from (kind, name, rows, hash).

    Args:
        options: Of the run.
        needs: Annotation that its sieves read.
        checkpoint: Of the model, whose tokenizer cuts documents into windows where mentions are read.

    Raises:
        HeadrolesError: When the file, column or dataset cannot be used.
    """
    corpus = corpus_of(options, needs, checkpoint)
    chosen = list(corpus)
    return chosen, dict(corpus.source) | {"sha256": fingerprint(chosen)}


def corpus_of(options: InputOptions, needs: frozenset[str], checkpoint: Checkpoint) -> Corpus:
    """The passages of a run as often as they are needed, read anew each time.

    Args:
        options: Of the run.
        needs: Annotation that its sieves read.
        checkpoint: Of the model, as ``gather`` takes it.

    Raises:
        HeadrolesError: When it can be told before reading that file, column or dataset cannot be used.
    """
    task = None if options.task is None else task_of(options.task)
    stream = bool(getattr(options, "stream", False))
    if "mentions" in needs:
        windows = mention_windows(options, needs, checkpoint)
        source = {"kind": "file", "name": options.data, "rows": len(windows)}
        return Held(_taken(windows, options, stream), source | _gold(options.data))
    how: dict[str, Any] = {"limit": options.limit, "seed": options.seed, "first": stream}
    if options.source == "hub" and task is not None:
        name = options.data or HUB
        read = partial(stream_hub, task, name, options.name, stream=stream)
        return Streamed(read, {"kind": "hub", "name": name}, gold=False, **how)
    if options.data is not None:
        return _files(options, how)
    if task is None:
        raise BadInput("a run needs inputs: name a task with --task, or a file with --data")
    sample = read_sample(task)
    source = {"kind": "sample", "name": "written for headroles", "rows": len(sample)}
    return Held(_taken(sample, options, stream), source)


def _taken(passages: list[Passage], options: InputOptions, stream: bool) -> list[Passage]:
    """What a limit leaves of inputs at hand: the first of a stream, else a random subset."""
    return passages[: options.limit] if stream else sampled(passages, options.limit, options.seed)


def _files(options: InputOptions, how: dict[str, Any]) -> Corpus:
    """The passages of a file, of those in a folder, or of those that a pattern names."""
    named = str(options.data)
    files = files_of(named, TABLES)
    columns = _columns(options, kind_of(files[0]))
    check_readable(files[0], columns)
    gold = kind_of(files[0]) == CONLLU
    if gold:
        _check_columns(options)
    read = partial(passages_in, files, columns, options.group, options.name)
    several = {"files": len(files)} if len(files) > 1 else {}
    return Streamed(read, {"kind": "file", "name": named} | several | _gold(files[0]), gold=gold, **how)


def _gold(file: Any) -> dict[str, str]:
    """What the record says of files that bring trees."""
    return {"trees": "gold"} if kind_of(file or "") == CONLLU else {}


def _columns(options: InputOptions, kind: str) -> list[str]:
    """Columns of the texts: those named, else the task's, which Parquet files name as the hub does."""
    if options.text_a is not None:
        return [options.text_a, *([options.text_b] if options.text_b else [])]
    if options.task is None:
        return []
    task = task_of(options.task)
    return list(task.fields if kind == ".parquet" else task.columns)


def _check_columns(options: InputOptions) -> None:
    """Refuse column names where there are no columns."""
    for name in ("text_a", "text_b", "group"):
        if getattr(options, name) is not None:
            raise BadInput(
                f"--{name.replace('_', '-')} names a column of a table, but '{options.data}' is a CoNLL-U "
                f"file, whose texts are its sentences and whose groups are its # newdoc lines; leave it out"
            )
