"""Read the inputs of a run: a task's samples or dataset, files and addresses, or windows of documents."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from headroles.addresses import is_address
from headroles.errors import BadInput
from headroles.extraction.gold.jsonlines import parser_of
from headroles.extraction.gold.read import object_documents, read_documents
from headroles.extraction.model.checkpoint import Checkpoint
from headroles.extraction.texts.files import Location, check_present, file_format, list_files
from headroles.extraction.texts.rows import HUB_ENDINGS, JSON_ENDINGS, TABLE_ENDINGS, find_text_column
from headroles.extraction.texts.sources import (
    CONLLU_ENDING,
    check_readable,
    fingerprint,
    read_sample,
    sample_passages,
    stream_files,
    stream_hub,
)
from headroles.inputs.corpora import Corpus, ListCorpus, StreamedCorpus, first_inputs
from headroles.inputs.identity import Identity
from headroles.inputs.json_files import has_trees, stream_objects
from headroles.inputs.objects import object_corpus
from headroles.options.inputs import InputOptions
from headroles.records.documents import Document
from headroles.records.objects import DataObject, refuse_name
from headroles.records.passage import Passage
from headroles.tasks import HUB, task_of


def read_inputs(
    options: InputOptions, needs: frozenset[str], checkpoint: Checkpoint
) -> tuple[list[Passage], dict[str, Any]]:
    """Return all passages of a run, and their source (kind, name, rows, hash).

    Args:
        options: Options of the run.
        needs: Annotation that its sieves read.
        checkpoint: Checkpoint of the model, whose tokenizer cuts documents into windows where mentions are
            read.

    Raises:
        HeadrolesError: When the file, column or dataset cannot be used.
    """
    corpus = read_corpus(options, needs, checkpoint)
    passages = list(corpus)
    return passages, dict(corpus.source) | {"sha256": fingerprint(passages)}


def read_corpus(options: InputOptions, needs: frozenset[str], checkpoint: Checkpoint) -> Corpus:
    """Return the passages of a run as a corpus, which is read again in every pass.

    Args:
        options: Options of the run.
        needs: Annotation that its sieves read.
        checkpoint: Checkpoint of the model, whose tokenizer cuts documents into windows where mentions are
            read.

    Raises:
        HeadrolesError: When it is known before reading that file, column or dataset cannot be used.
    """
    corpus = _corpus_of(options, needs, checkpoint)
    corpus.identity = Identity(checkpoint, options.max_length)
    return corpus


def _corpus_of(
    options: InputOptions, needs: frozenset[str], checkpoint: Checkpoint
) -> StreamedCorpus | ListCorpus:
    """Return the passages of a run as a corpus, which tells equal inputs by their texts."""
    task = None if options.task is None else task_of(options.task)
    if "mentions" in needs:
        windows = mention_windows(options, needs, checkpoint)
        given = options.data
        source = (
            {"kind": "object", "name": given.name, "rows": len(windows)}
            if isinstance(given, DataObject)
            else {"kind": "file", "name": given, "rows": len(windows)} | _tree_facts(given)
        )
        return _list_corpus(windows, options, source)
    subset: dict[str, Any] = {"limit": options.limit, "seed": options.seed, "first": options.first}
    if options.source == "hub" and task is not None:
        name = options.file or HUB
        read = partial(stream_hub, task, name, options.name, stream=options.streamed)
        return StreamedCorpus(read, {"kind": "hub", "name": name}, gold=False, **subset)
    if isinstance(options.data, DataObject):
        return object_corpus(options, options.data, subset)
    if options.data is not None:
        return _file_corpus(options, subset)
    if task is None:
        raise BadInput("a run needs inputs: name a task with --task, or a file with --data")
    sample = read_sample(task)
    source = {"kind": "sample", "name": "written for headroles", "rows": len(sample)}
    return _list_corpus(sample, options, source)


def with_text_column(options: Any) -> Any:
    """Return options that name the only column of texts, where none was named and the data are a table.

    Raises:
        BadInput: When there is no such file, or not exactly one column holds texts.
    """
    if (
        not isinstance(options, InputOptions)
        or not isinstance(options.data, str)
        or options.source == "hub"
        or options.text_columns()
    ):
        return options
    refuse_name(options.data)
    check_present(options.data)
    file = list_files(options.data, TABLE_ENDINGS, beside=(".json",))[0]
    if file_format(file) not in (".tsv", ".csv"):
        return options
    others = (options.group, getattr(options, "label", None))
    return replace(options, text_a=find_text_column(file, others))


def check_data(options: InputOptions) -> None:
    """Refuse local data that no reader can read, before a model is opened.

    Raises:
        BadInput: When there is no such file, its ending is unknown, or columns have to be named.
    """
    refuse_name(options.data)
    if isinstance(options.data, str) and options.source != "hub" and not is_address(options.data):
        files = list_files(options.data, TABLE_ENDINGS, beside=(".json",))
        kind = file_format(files[0])
        columns = options.text_columns(kind in HUB_ENDINGS)
        if columns or kind not in JSON_ENDINGS:
            check_readable(files[0], columns)


def _list_corpus(passages: list[Passage], options: InputOptions, source: dict[str, Any]) -> ListCorpus:
    """Return the corpus of the first passages of a list, or of a random subset, or of all."""
    chosen = sample_passages(passages[: options.first], options.limit, options.seed)
    return ListCorpus(chosen, source | first_inputs(options.first))


def _file_corpus(options: InputOptions, subset: dict[str, Any]) -> StreamedCorpus:
    """Return the passages of a file, of the files in a folder, or of the files that a pattern names."""
    data = str(options.data)
    files = list_files(data, TABLE_ENDINGS, beside=(".json",))
    columns = options.text_columns(file_format(files[0]) in HUB_ENDINGS)
    if not columns and file_format(files[0]) in JSON_ENDINGS:
        return _json_corpus(files, options, subset)
    check_readable(files[0], columns)
    gold = file_format(files[0]) == CONLLU_ENDING
    if gold:
        _check_columns(options)
    read = partial(stream_files, files, columns, options.group, options.name)
    several = {"files": len(files)} if len(files) > 1 else {}
    source = {"kind": "file", "name": data} | several | _tree_facts(files[0])
    return StreamedCorpus(read, source, gold=gold, **subset)


def _json_corpus(files: list[Location], options: InputOptions, subset: dict[str, Any]) -> StreamedCorpus:
    """Return the passages of JSON objects whose fields say what they are, where no column is named."""
    trees = has_trees(files[0])
    parser = parser_of(files[0]) if trees else None
    read = partial(stream_objects, files, options.group, options.name, trees)
    several = {"files": len(files)} if len(files) > 1 else {}
    kind = {"trees": "gold" if parser is None else f"automatic: {parser}"} if trees else {}
    source = {"kind": "file", "name": str(options.data)} | several | kind
    return StreamedCorpus(read, source, gold=trees, **subset)


def _tree_facts(file: Any) -> dict[str, str]:
    """Return the source's entry of files that have trees."""
    return {"trees": "gold"} if file_format(file or "") == CONLLU_ENDING else {}


def _check_columns(options: InputOptions) -> None:
    """Refuse column names where there are no columns."""
    for name in ("text_a", "text_b", "group"):
        if getattr(options, name) is not None:
            raise BadInput(
                f"--{name.replace('_', '-')} names a column of a table, but '{options.data}' is a CoNLL-U "
                f"file, whose texts are its sentences and whose groups are its # newdoc lines; leave it out"
            )


def mention_windows(options: InputOptions, needs: frozenset[str], checkpoint: Checkpoint) -> list[Passage]:
    """Read the documents of ``--data`` in consecutive windows of at most ``--max-length`` tokens.

    A mention is related only to mentions in its window; the documents are the units.

    Args:
        options: Options of the run.
        needs: Annotation that the sieves read, "mentions" among it.
        checkpoint: Checkpoint of the model, whose tokenizer determines the length of words.

    Raises:
        BadInput: When no file is given, or its documents lack what the sieves read.
    """
    if options.data is None or options.source == "hub" or options.text_a is not None:
        raise BadInput(
            "the coreference sieve needs gold mentions of entities, which no task and no table has; give "
            "a file of them with --data (GUM's CoNLL-U, CoNLL-2012, GAP, WinoBias or JSON lines), or "
            "leave the sieve out"
        )
    if isinstance(options.data, DataObject):
        documents, place = object_documents(options.data, options.name), options.data.name
    else:
        documents, place = read_documents(Path(options.data), options.name), options.data
    _check_annotation(documents, needs, place)
    from headroles.extraction.model.load import load_tokenizer
    from headroles.extraction.texts.pieces import count_pieces, text_room
    from headroles.extraction.texts.windows import document_windows, window_passage

    tokenizer = load_tokenizer(checkpoint)
    room = text_room(tokenizer, options.max_length, "--max-length")
    windows = document_windows(documents, count_pieces(tokenizer, documents), room, room)
    return [window_passage(window) for window in windows]


def _check_annotation(documents: list[Document], needs: frozenset[str], data: str) -> None:
    """Refuse documents without annotation that sieves read."""
    for need, values, what in (
        ("mentions", [document.mentions for document in documents], "mentions of entities"),
        ("arcs", [document.heads for document in documents], "dependency trees"),
    ):
        if need in needs and any(value is None for value in values):
            raise BadInput(
                f"the sieves of this run read gold {what}, but documents of '{data}' have none; give data "
                f"with them, or leave out the sieves that need them"
            )
