"""Cut running text into pairs of segments for ``surface``, ``label`` and ``cluster``."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from headroles.errors import BadInput
from headroles.options.keywords import keywords_of
from headroles.options.prepare import PairOptions
from headroles.options.values import record_of
from headroles.records.objects import take_objects
from headroles.storage.folder import whole_file

if TYPE_CHECKING:
    from headroles.preprocessing.spans import Pair, PairCutter

TEXT_A, TEXT_B, GROUP = "text_a", "text_b", "group"
"""Fields of each line written."""
UNENDED = "the last document has no blank line after it, so it is left out, as the released script does"


@dataclass(frozen=True, slots=True)
class PairFile:
    """The file of pairs that was written, with counts.

    Attributes:
        file: Path of the file.
        count: Number of pairs written.
        found: Number of pairs in the text that was read; more than ``count`` where a limit was set.
        documents: Number of documents read.
        short: Number of documents too short for a pair.
        shortest: Tokens of the shortest written pair, special tokens included.
        mean: Mean number of tokens.
        longest: Tokens of the longest pair.
        note: A sentence where the last document was left out; None otherwise.
    """

    file: Path
    count: int
    found: int
    documents: int
    short: int
    shortest: int
    mean: float
    longest: int
    note: str | None = None

    def __str__(self) -> str:
        """Return the counts in words."""
        of_all = f" of {self.found:,}" if self.found > self.count else ""
        too_short = f" ({self.short:,} too short to give any)" if self.short else ""
        return (
            f"{self.count:,}{of_all} pairs of segments from {self.documents:,} documents"
            f"{too_short}, {self.shortest} to {self.longest} tokens long, "
            f"{self.mean:.1f} on average, written to {self.file}" + (f"; {self.note}" if self.note else "")
        )


def _read_options(**given: Any) -> PairOptions:
    """Return the options from given values; of a model only its tokenizer is needed."""
    return record_of(PairOptions, **take_objects(given, model=True, weights=False))


@keywords_of(PairOptions, "file", read=_read_options)
def convert_pairs(options: PairOptions) -> PairFile:
    """Cut running text into pairs of segments that follow each other, as for unlabelled Wikipedia.

    ``[CLS] A [SEP] B [SEP]`` has at most ``max_length`` tokens of the model's tokenizer; nothing is masked.
    The file has JSON lines with the fields "text_a", "text_b" and "group" (the document), and appears when
    it is complete.

    With ``cut="lines"`` pairs are those of the script that Clark et al. released: segments end between
    lines, and a blank line ends a document, so the last one counts only if a blank line follows it. A
    document ends early where one line alone fills a pair. Whoever wants the script's segments gives text
    with one sentence or short paragraph per line.

    With ``cut="words"`` each document is cut into consecutive spans that fill an input, and each span
    between two words. Headings are left out, as are remainders of fewer than half the tokens that fit.

    Args:
        {options}

    Raises:
        BadInput: For numbers out of range, a file that cannot be read or written, or one whose
            documents give no pair.
        MissingExtra: When the embedded model is wanted but not installed.

    Source: Clark et al. (2019), section 3, and ``preprocess_unlabeled.py`` of their released code.
    """
    source, target = Path(options.file), Path(options.out)
    from headroles.extraction.texts.files import check_present

    check_present(options.file)
    from headroles.extraction.model.checkpoint import find_checkpoint
    from headroles.extraction.model.load import load_tokenizer
    from headroles.preprocessing.spans import Pair, PairCutter

    cutter = PairCutter(load_tokenizer(find_checkpoint(options.model, options.revision)), options.max_length)
    kept = RandomSample[tuple[Pair, str]](options.limit, np.random.default_rng([options.seed, 1]))
    documents = short = 0
    note = None
    for name, pairs in _documents(options, cutter):
        if pairs is None:
            note = UNENDED
            break
        before = kept.found
        for pair in pairs:
            kept.offer((pair, name))
            if kept.found == options.first:
                break
        documents += 1
        short += kept.found == before
        if kept.found == options.first:
            break
    if not kept.found:
        least = f"at least {-(-cutter.room // 2)} tokens" if options.cut == "words" else "two lines that fit"
        raise BadInput(
            f"a pair of segments needs a document of {least}, but the {documents} of '{source}' give none"
            f"{'' if note is None else f'; {note}'}; give others, or --cut words, or another --max-length"
        )
    rows = kept.rows()
    with whole_file(target) as out:
        out.writelines(_json_line(pair, name) for pair, name in rows)
    tokens = [pair.tokens for pair, _ in rows]
    mean = sum(tokens) / len(tokens)
    return PairFile(target, len(rows), kept.found, documents, short, min(tokens), mean, max(tokens), note)


def _documents(options: PairOptions, cutter: "PairCutter") -> Iterator[tuple[str, "Iterator[Pair] | None"]]:
    """Yield the name and the pairs of each document; None in place of pairs where no blank line ends it."""
    from headroles.extraction.texts.running_text import read_blocks, read_running_text
    from headroles.preprocessing.lines import line_pairs

    source = Path(options.file)
    if options.cut == "words":
        split = np.random.default_rng([options.seed, 0])
        for document in read_running_text(source):
            yield document.name, cutter.pairs(document.text, split)
        return
    random = Random(options.seed)
    for name, lines, ended in read_blocks(source):
        yield name, line_pairs(cutter, lines, random) if ended else None


def _json_line(pair: "Pair", name: str) -> str:
    """Return a pair as a JSON line."""
    row = {TEXT_A: pair.first, TEXT_B: pair.second, GROUP: name}
    return json.dumps(row, ensure_ascii=False) + "\n"


Row = TypeVar("Row")


class RandomSample(Generic[Row]):
    """Rows kept while they are read: all, or a random sample of a given size (reservoir sampling)."""

    def __init__(self, limit: int | None, rng: np.random.Generator) -> None:
        """Take the size of the sample, None for all rows, and the generator that draws it."""
        self._limit, self._rng = limit, rng
        self._rows: list[tuple[int, Row]] = []
        self.found = 0

    def offer(self, row: Row) -> None:
        """Keep a row for now, or drop it."""
        entry = (self.found, row)
        self.found += 1
        if self._limit is None or len(self._rows) < self._limit:
            self._rows.append(entry)
            return
        position = int(self._rng.integers(self.found))
        if position < self._limit:
            self._rows[position] = entry

    def rows(self) -> list[Row]:
        """Return the kept rows in their original order."""
        return [row for _, row in sorted(self._rows, key=lambda entry: entry[0])]
