"""Read gold annotation for a run of probes: documents, the probes that fit them, and their windows."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from headroles.errors import BadInput
from headroles.extraction.gold.jsonlines import parser_of, parser_of_row
from headroles.extraction.gold.read import layout_of, object_documents, read_documents
from headroles.extraction.model.checkpoint import Checkpoint, find_checkpoint
from headroles.extraction.texts.files import open_text
from headroles.extraction.texts.pieces import count_pieces, text_room
from headroles.extraction.texts.windows import document_windows, sentence_windows, window_passage
from headroles.inputs.corpora import ListCorpus, first_inputs
from headroles.inputs.identity import Identity
from headroles.inputs.units import unit_names
from headroles.maps.documents import read_map_documents
from headroles.options.probe import LEAST_ARCS, SAMPLE, WINDOW, ProbeOptions
from headroles.records.documents import Document, Window
from headroles.records.objects import DataObject, refuse_name
from headroles.records.passage import Passage
from headroles.records.probes import ChoiceProbe, DecodingProbe
from headroles.runs.sources import MapsCorpus, longest_input
from headroles.sieves.language.relations import check_relations as check_relation_names
from headroles.sieves.language.relations import relations_of
from headroles.sieves.probes.coreference import CoreferenceProbe
from headroles.sieves.probes.dependency import DependencyProbe
from headroles.sieves.probes.trees import TreeProbe


def read_inputs(options: ProbeOptions) -> tuple[list[Document], dict[str, Any]]:
    """Read the documents of a run, and describe their source (names, layouts, rows, hash).

    Raises:
        HeadrolesError: When a file cannot be read, or its annotation breaks a rule.
    """
    _check_once(options.data)
    documents: list[Document] = []
    layouts = []
    if not options.data:
        with resources.as_file(resources.files("headroles") / "samples" / "EWT.conllu") as path:
            documents = read_documents(path, options.name)
        layouts.append("conllu")
    names = [
        "data" if isinstance(given, DataObject) else Path(given).name.split(".")[0] for given in options.data
    ]
    for number, (given, name) in enumerate(zip(options.data, names, strict=True)):
        prefix = name if names.count(name) == 1 else f"{name}-{number + 1}"
        refuse_name(given)
        if isinstance(given, DataObject):
            layouts.append("jsonl")
            documents += object_documents(given, prefix)
            continue
        layouts.append(options.layout or layout_of(Path(given)))
        documents += read_documents(Path(given), prefix, layouts[-1])
    kept_documents = documents[: options.first]
    if options.limit is not None and options.limit < len(documents):
        drawn_positions = np.random.default_rng(options.seed).choice(
            len(documents), options.limit, replace=False
        )
        kept_documents = [documents[position] for position in sorted(drawn_positions.tolist())]
    digest = hashlib.sha256("\0".join(sorted({document.text for document in kept_documents})).encode())
    files = zip(options.data, layouts, strict=bool(options.data))
    parsers = {_parser_of(given) for given, layout in files if layout == "jsonl"} - {None}
    trees = {"trees": f"automatic: {', '.join(sorted(map(str, parsers)))}"} if parsers else {}
    return kept_documents, trees | first_inputs(options.first) | {
        "kind": "object"
        if any(isinstance(given, DataObject) for given in options.data)
        else "file"
        if options.data
        else "sample",
        "name": ", ".join(given.name if isinstance(given, DataObject) else given for given in options.data)
        or SAMPLE,
        "layout": ", ".join(dict.fromkeys(layouts)),
        "rows": len(documents),
        "sha256": digest.hexdigest(),
    }


def parser_notes(source: dict[str, Any]) -> list[str]:
    """Return a note where the trees are made by a parser, from the source that ``read_inputs`` describes."""
    origin, _, parser = str(source.get("trees", "")).partition(": ")
    note = f"the trees are automatic, made by {parser}: results say how far heads agree with that parser."
    return [note] if origin == "automatic" else []


def _parser_of(given: str | DataObject) -> str | None:
    """Return the parser that made the trees of JSON lines or dictionaries; None unless the first says so."""
    if isinstance(given, DataObject):
        return next((parser_of_row(row) for _, row in given.rows()), None)
    return parser_of(Path(given))


def _check_once(data: Sequence[str | DataObject]) -> None:
    """Check that no file is given twice."""
    resolved = [Path(path).resolve() for path in data if isinstance(path, str)]
    twice = next((path for path in resolved if resolved.count(path) > 1), None)
    if twice is not None:
        raise BadInput(f"every file of --data is read once, but '{twice}' was given twice; leave one out")


def select_probes(
    options: ProbeOptions, documents: Sequence[Document]
) -> tuple[tuple[ChoiceProbe | DecodingProbe, ...], list[str]]:
    """Return the probes that the options name, and what they leave out, one sentence each.

    Raises:
        UnknownName: For a relation that neither a scheme nor the documents have.
        BadInput: When the documents lack the annotation that a probe asks about.
    """
    probes: list[ChoiceProbe | DecodingProbe] = []
    notes: list[str] = []
    for name in options.probes:
        check_annotated(name, documents)
        if name == "coreference":
            pronouns = all(document.layout for document in documents)
            probes.append(CoreferenceProbe(kinds=()) if pronouns else CoreferenceProbe())
        elif name == "trees":
            probes += [TreeProbe(measure, options.root) for measure in ("uuas", "uas")]
        else:
            found = {relation for document in documents for relation in document.relations or ()}
            check_relation_names(options.asked_relations, found)
            relations, rare = options.asked_relations, tuple[str, ...]()
            if not relations:
                relations, rare = relations_of(documents, options.scheme, LEAST_ARCS)
            if rare:
                notes.append(
                    f"{len(rare)} relations with fewer than {LEAST_ARCS} arcs have no row of their own "
                    f"({', '.join(rare[:8])}{' …' if len(rare) > 8 else ''}); name them with --relations."
                )
            probes.append(DependencyProbe(relations, options.scheme, options.preset == "published"))
    return tuple(probes), notes


def check_annotated(name: str, documents: Sequence[Document]) -> None:
    """Check that all documents have the annotation that a probe needs.

    Raises:
        BadInput: When one has none.
    """
    needed = "mentions" if name == "coreference" else "heads"
    without = [document.key for document in documents if getattr(document, needed) is None]
    if without:
        what = "mentions of entities" if needed == "mentions" else "dependency trees"
        raise BadInput(
            f"the {name} probe needs gold {what}, but {len(without)} of {len(documents)} documents have "
            f"none, such as {without[0]!r}; give data with them, or leave the probe out"
        )


def count_items(
    probes: Sequence[ChoiceProbe | DecodingProbe], documents: Sequence[Document]
) -> Int[np.ndarray, "documents rows"]:
    """Count the items of each whole document, for the rows of all probes in turn; windows may hold fewer.

    Raises:
        BadInput: When there are no items at all.
    """
    due = []
    for document in documents:
        whole = Window(document, 0, len(document.words), 0)
        counts_of_probes = []
        for probe in probes:
            if isinstance(probe, ChoiceProbe):
                choices, lost = probe.choices(whole)
                counts_of_probes.append(choices.rows.sum(axis=1) + lost)
            else:
                counts_of_probes.append(probe.items(whole))
        due.append(np.concatenate(counts_of_probes))
    counts = np.array(due, dtype=np.int64)
    names = [f"{probe.name}:{row}" for probe in probes for row in probe.rows]
    empty = [name for name, count in zip(names, counts.sum(axis=0), strict=True) if not count]
    if len(empty) == len(names):
        raise BadInput(
            f"probes need annotated items, but these data hold none for {', '.join(empty[:4])}; give "
            "other data, or another probe"
        )
    return counts


def check_relations(
    options: ProbeOptions, documents: Sequence[Document], due: np.ndarray, rows: Sequence[str]
) -> None:
    """Check that each relation named in the options has an arc.

    Raises:
        BadInput: When one has none; the message names it and the frequent ones.
    """
    for row, count in zip(rows, due.sum(axis=0), strict=True):
        if options.relations and row.startswith("dependency:") and not count:
            frequent, _ = relations_of(documents, options.scheme, LEAST_ARCS)
            raise BadInput(
                f"a relation needs at least one arc, but {row.partition(':')[2]!r} has none in these "
                f"data; frequent ones: {', '.join(frequent[:12]) or 'none'}"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """The inputs of the model.

    Attributes:
        windows: Window of each passage, by its key.
        passages: Passages in the order of the documents.
        size: Longest window in tokens.
        stride: Fewest pieces between two windows; None where sentences are read one by one.
        cut: Number of sentences that were cut to the longest window.
        due: Items of each whole document by its key, per row.
    """

    windows: dict[str, Window]
    passages: list[Passage]
    size: int
    stride: int | None
    cut: int
    due: dict[str, Int[np.ndarray, " rows"]]


def make_inputs(
    options: ProbeOptions,
    documents: Sequence[Document],
    probes: Sequence[ChoiceProbe | DecodingProbe],
    checkpoint: Checkpoint,
) -> Inputs:
    """Cut documents into sentences, or into windows where a probe asks about coreference.

    Args:
        options: Of the run.
        documents: The documents.
        probes: Their probes.
        checkpoint: Of the model, whose tokenizer counts the pieces of words.

    Raises:
        BadInput: When the window is longer than the model takes, or no item has words with tokens.
    """
    from headroles.extraction.model.load import limit_of, load_tokenizer

    tokenizer = load_tokenizer(checkpoint)
    limit = limit_of(checkpoint, tokenizer)
    size = min(WINDOW, limit or WINDOW) if options.max_length is None else options.max_length
    if limit is not None and size > limit:
        raise BadInput(
            f"{checkpoint.name!r} takes at most {limit} tokens, but --max-length is {size}; give at most "
            f"{limit}"
        )
    room = text_room(tokenizer, size, "--max-length")
    pieces = count_pieces(tokenizer, documents)
    pairs = zip(documents, pieces, strict=True)
    documents = [replace(document, tokenless=counts == 0) for document, counts in pairs]
    stride = min(options.stride or max(room // 2, 1), room) if options.windowed else None
    if stride is not None:
        windows, cut = document_windows(documents, pieces, room, stride), 0
    else:
        windows, cut = _cut_to_fit(sentence_windows(documents), documents, pieces, room)
    passages = [window_passage(window) for window in windows]
    due = items_of_documents(probes, documents)
    return Inputs({window.key: window for window in windows}, passages, size, stride, cut, due)


def items_of_documents(
    probes: Sequence[ChoiceProbe | DecodingProbe], documents: Sequence[Document]
) -> dict[str, Int[np.ndarray, " rows"]]:
    """Return the items of each document by its key, per row.

    Raises:
        BadInput: When there are none at all.
    """
    counts = count_items(probes, documents)
    return {document.key: own for document, own in zip(documents, counts, strict=True)}


def tokenless_notes(
    probes: Sequence[ChoiceProbe | DecodingProbe],
    annotated: Int[np.ndarray, "documents rows"],
    due: Mapping[str, Int[np.ndarray, " rows"]],
) -> list[str]:
    """Return how many items of each probe have a word without a token, one sentence each; none without any.

    Args:
        probes: The probes.
        annotated: Items of each document, whether words have tokens or not.
        due: Items of each document whose words have tokens, by its key.
    """
    before, after = annotated.sum(axis=0), np.sum([*due.values()], axis=0)
    notes, start = [], 0
    for probe in probes:
        own = slice(start, start := start + len(probe.rows))
        gone = (before - after)[own]
        rows = [f"{count:,} of {row}" for row, count in zip(probe.rows, gone, strict=True) if count]
        if rows:
            several = f" ({', '.join(rows[1:9])}{' …' if len(rows) > 9 else ''})" if len(rows) > 1 else ""
            notes.append(
                f"{probe.name} leaves out {gone[0]:,} of {before[own][0]:,} items{several}: they ask about "
                f"words without a token, which make no item."
            )
    return notes


def _cut_to_fit(
    windows: Sequence[Window],
    documents: Sequence[Document],
    pieces: Sequence[Int[np.ndarray, "_"]],
    room: int,
) -> tuple[list[Window], int]:
    """Cut windows to the words that fit, and count the cut ones."""
    counts = {id(document): lengths for document, lengths in zip(documents, pieces, strict=True)}
    fitting, cut = [], 0
    for window in windows:
        total = np.cumsum(counts[id(window.document)][window.start : window.stop])
        words = max(1, int(np.searchsorted(total, room, side="right")))
        cut += words < window.size
        fitting.append(window if words >= window.size else replace(window, stop=window.start + words))
    return fitting, cut


class ProbeCorpus(ListCorpus):
    """The windows of a run of probes, with its documents and probes.

    Attributes:
        documents: The documents that are asked about, with the words that have no token.
        probes: The probes that fit them.
        inputs: Windows and passages.
        learned: Documents that classifiers are trained on; empty without classifiers.
        notes: What the probes leave out, one sentence each.
        digest: SHA-256 over the documents with all of their annotation.
        maps: Stored maps that are read instead of a model; None where a model runs.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        probes: Sequence[ChoiceProbe | DecodingProbe],
        inputs: Inputs,
        source: dict[str, Any],
        *,
        learned: Sequence[Document] = (),
        notes: Sequence[str] = (),
        stored: MapsCorpus | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        """Keep everything that was read.

        Raises:
            BadInput: When there are too few units for two halves.
        """
        from headroles.stats.probes.baselines import check_halves

        identity = Identity(checkpoint)
        super().__init__(inputs.passages, source, units_of_windows(inputs, identity))
        self.identity = identity
        check_halves(self.units or ())
        read = {id(window.document): window.document for window in inputs.windows.values()}
        self.documents, self.probes, self.inputs = tuple(read.values()), tuple(probes), inputs
        self.learned, self.notes = learned, tuple(notes)
        self.digest = _documents_digest(documents)
        self._stored, self.maps = stored, stored.maps if stored else None

    def close(self) -> None:
        """Close the file of stored maps."""
        if self._stored is not None:
            self._stored.close()


def read_probe_corpus(options: ProbeOptions) -> ProbeCorpus:
    """Read the documents of a run, choose its probes, and cut the documents into windows.

    Raises:
        HeadrolesError: When files cannot be read, lack annotation, or have too few units.
    """
    if options.attention is not None:
        return _read_stored(options, options.attention)
    checkpoint = find_checkpoint(options.model, options.revision)
    documents, source = read_inputs(options)
    probes, notes = select_probes(options, documents)
    due = count_items(probes, documents)
    check_relations(
        options, documents, due, [f"{probe.name}:{row}" for probe in probes for row in probe.rows]
    )
    learned = training_documents(options)
    inputs = make_inputs(options, documents, probes, checkpoint)
    notes += [*parser_notes(source), *tokenless_notes(probes, due, inputs.due)]
    return ProbeCorpus(documents, probes, inputs, source, learned=learned, notes=notes, checkpoint=checkpoint)


def _read_stored(options: ProbeOptions, file: str) -> ProbeCorpus:
    """Read the gold annotation of stored maps; each example is one window."""
    with ExitStack() as stack:
        stored = MapsCorpus(file, options.name)
        stack.callback(stored.close)
        documents = read_map_documents(Path(file), options.name)
        probes, notes = select_probes(options, documents)
        annotated = count_items(probes, [replace(document, tokenless=None) for document in documents])
        rows = [f"{probe.name}:{row}" for probe in probes for row in probe.rows]
        check_relations(options, documents, annotated, rows)
        windows = {document.key: Window(document, 0, len(document.words), 0) for document in documents}
        due = items_of_documents(probes, documents)
        notes += tokenless_notes(probes, annotated, due)
        size = longest_input(stored.maps, 0)
        inputs = Inputs(windows, list(stored), size, None, 0, due)
        source = stored.source | {"layout": "maps"}
        corpus = ProbeCorpus(documents, probes, inputs, source, notes=notes, stored=stored)
        stack.pop_all()
    return corpus


def training_documents(options: ProbeOptions) -> list[Document]:
    """Read the training documents of classifiers, and check them before anything is computed.

    Raises:
        BadInput: When the documents or the word vectors do not exist, or documents have no trees.
    """
    if options.train is None:
        return []
    learned = read_documents(Path(options.train), "train")
    check_annotated("dependency", learned)
    if options.vectors is not None:
        with open_text(Path(options.vectors)):
            pass
    return learned


def units_of_windows(inputs: Inputs, identity: Identity) -> list[str]:
    """Return the unit of each passage: its document's group, or document; equal documents are one unit."""
    documents = list({id(window.document): window.document for window in inputs.windows.values()}.values())
    named = unit_names(
        [document.group or document.key for document in documents],
        [identity.unit_marks(Passage(document.key, (document.text,))) for document in documents],
        [document.key for document in documents],
    )
    unit = {id(document): name for document, name in zip(documents, named, strict=True)}
    return [unit[id(inputs.windows[passage.key].document)] for passage in inputs.passages]


def _documents_digest(documents: Sequence[Document]) -> str:
    """Return the SHA-256 over documents with all of their annotation."""
    digest = hashlib.sha256()
    for document in documents:
        for entry in fields(document):
            value = getattr(document, entry.name)
            content = value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
            digest.update(entry.name.encode() + b"\0" + content + b"\0")
    return digest.hexdigest()
