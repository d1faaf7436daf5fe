"""Write words with dependency trees, gold or parsed, as input for probes of dependency."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headroles.errors import BadInput
from headroles.options.keywords import keywords_of
from headroles.options.prepare import TreeOptions
from headroles.preprocessing.pairs import RandomSample
from headroles.storage.folder import whole_file

if TYPE_CHECKING:
    from headroles.extraction.parsing.annotate import Annotator
    from headroles.preprocessing.documents import PlainDocument
    from headroles.records.documents import Document

DOCUMENTS_AT_ONCE = 256
"""Documents parsed together, so that processes can parse ahead."""
PARAGRAPHS_AT_ONCE = 32
"""Paragraphs passed to the parser at once."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TreeFile:
    """The file of trees that was written, with counts.

    Attributes:
        file: Path of the file.
        documents: Number of documents written.
        found: Number of documents read; more than ``documents`` with a limit, or where some have no word.
        sentences: Number of sentences written.
        words: Number of words written.
        parser: Name and version of the parser; None where the trees are gold.
        note: A sentence where parses could not be kept; None otherwise.
    """

    file: Path
    documents: int
    found: int
    sentences: int
    words: int
    parser: str | None
    note: str | None = None

    def __str__(self) -> str:
        """Return the counts in words."""
        of_all = f" of {self.found:,}" if self.found > self.documents else ""
        trees = "the file's gold trees" if self.parser is None else f"automatic trees by {self.parser}"
        return (
            f"{self.words:,} words in {self.sentences:,} sentences of {self.documents:,}{of_all} documents, "
            f"with {trees}, written to {self.file}" + (f"; {self.note}" if self.note else "")
        )


@keywords_of(TreeOptions, "file")
def convert_trees(options: TreeOptions) -> TreeFile:
    """Write words and dependency trees of texts in the format that probes of dependency read.

    Gold trees pass through as they are, with tags, features and mentions. Texts are parsed, paragraph by
    paragraph, and cut into sentences where no arc of the parser crosses; a line break or any other run
    of blanks between words becomes one blank. Each line of the file marks such trees as automatic
    (``"trees": "automatic"``, and ``"parser"``). Results on them measure how far heads agree with the
    parser.

    The file has one document per line, a JSON object with "document", "words", "sentences", "spaces",
    "heads" (numbered from 1 within a sentence, 0 for its root) and "relations"; it appears when complete.

    Args:
        {options}

    Raises:
        UnknownName: For a layout that does not exist.
        BadInput: For numbers out of range, a file that cannot be read or written or that holds no word, or
            a parser that cannot be used.

    Source: the layout of words, heads and relations follows the data of Clark et al. (2019), section 5.
    """
    from headroles.preprocessing.documents import PlainDocument, gold_row, read_any

    kept: RandomSample[Document | PlainDocument] = RandomSample(
        options.limit, np.random.default_rng([options.seed, 1])
    )
    all_documents = read_any(Path(options.file), options.layout, options.columns, options.group)
    for document in islice(all_documents, options.first):
        kept.offer(document)
    documents = kept.rows()
    untreed = [document for document in documents if isinstance(document, PlainDocument)]
    if untreed:
        annotator, parser, note = _load_annotator(options)
        rows = _parsed_rows(untreed, annotator, parser)
    else:
        gold = (document for document in documents if not isinstance(document, PlainDocument))
        annotator, parser, note, rows = None, None, None, map(gold_row, gold)
    try:
        counts = _write_rows(Path(options.out), rows, options.file)
    finally:
        if annotator is not None:
            annotator.close()
    return TreeFile(Path(options.out), counts[0], kept.found, counts[1], counts[2], parser, note)


def _load_annotator(options: TreeOptions) -> "tuple[Annotator, str, str | None]":
    """Load the parser; return it, its name and version, and a sentence where parses cannot be kept."""
    from headroles.extraction.parsing.annotate import Annotator
    from headroles.extraction.parsing.cache import open_cache
    from headroles.extraction.parsing.pipeline import identity_of, open_parser
    from headroles.extraction.parsing.pool import ParserPool, processes_here

    parser, described = open_parser(options.parser)
    cache, note = open_cache(options.cache, identity_of(described))
    processes = processes_here()
    pool = partial(ParserPool, options.parser, described, processes) if processes else None
    return Annotator(parser, cache, pool), f"{described['name']} {described['version']}", note


def _parsed_rows(documents: "Sequence[PlainDocument]", annotator: "Annotator", parser: str) -> Iterator[Row]:
    """Yield the rows of parsed documents; those without a word have none."""
    from headroles.preprocessing.documents import parsed_row
    from headroles.records.passage import Passage

    for start in range(0, len(documents), DOCUMENTS_AT_ONCE):
        chunk = documents[start : start + DOCUMENTS_AT_ONCE]
        passages = [Passage("", (text,)) for document in chunk for text in document.paragraphs]
        annotator.expect(passages, final=True)
        groups = [
            passages[start : start + PARAGRAPHS_AT_ONCE]
            for start in range(0, len(passages), PARAGRAPHS_AT_ONCE)
        ]
        words = (text_words for group in groups for (text_words,) in annotator.words(group))
        for document in chunk:
            row = parsed_row(document, [next(words) for _ in document.paragraphs], parser)
            if row is not None:
                yield row


def _write_rows(target: Path, rows: Iterable[Row], source: str) -> tuple[int, int, int]:
    """Write the rows as lines, by rename, and count documents, sentences and words.

    Raises:
        BadInput: When there is nothing to write, or it cannot be written.
    """
    counts = np.zeros(3, dtype=np.int64)
    with whole_file(target) as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            counts += 1, len(row["sentences"]), len(row["words"])
        if not counts[0]:
            raise BadInput(f"a file to parse holds at least one word, but '{source}' has none")
    documents, sentences, words = counts.tolist()
    return documents, sentences, words
