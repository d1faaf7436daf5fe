"""Running text prepared for ``surface``, ``label`` and ``cluster``: pairs of segments in one file."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from headroles.errors import BadInput
from headroles.options.run import typed_options
from headroles.storage.folder import write_text

if TYPE_CHECKING:
    from headroles.preprocessing.spans import Pair

TEXT_A, TEXT_B, GROUP = "text_a", "text_b", "group"
"""Fields of each line written."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What was written.

    Attributes:
        file: Where it lies.
        count: Pairs written.
        found: Pairs the file gave; more than ``count`` where a limit was set.
        documents: Documents read.
        short: Documents among them too short to give a pair.
        shortest: Fewest tokens of a written pair, special tokens included.
        mean: Mean tokens.
        longest: Most tokens.
    """

    file: Path
    count: int
    found: int
    documents: int
    short: int
    shortest: int
    mean: float
    longest: int

    def __str__(self) -> str:
        """What was done, in words."""
        of = f" of {self.found:,}" if self.found > self.count else ""
        left = f" ({self.short:,} too short to give any)" if self.short else ""
        return (
            f"{self.count:,}{of} pairs of segments from {self.documents:,} documents{left}, {self.shortest} "
            f"to {self.longest} tokens long, {self.mean:.1f} on average, written to {self.file}"
        )


def preprocess_unlabeled(file: Path | str, **options: Any) -> Prepared:
    """Cut running text into pairs of segments that follow each other, as for unlabelled Wikipedia.

    Each document is cut into consecutive spans, and each span into two segments A and B, so that
    ``[CLS] A [SEP] B [SEP]`` has at most ``max_length`` tokens of the model's tokenizer; nothing is
    masked. The texts are slices of the document, whose headings are left out. A rest of fewer than half
    the tokens that fit is left out, and so are documents shorter than that. The file written has JSON
    lines with the fields "text_a", "text_b" and "group" (the document), and appears when it is whole.

    Args:
        file: Plain text in UTF-8, ``.gz`` too: blank lines divide documents, or articles begin at a line
            `` = Title = `` (WikiText, told by the first line).
        **options: The options of ``headroles preprocess unlabeled``, by the same names: ``out`` (the file
            to write, ending in ``.jsonl``), ``model`` (whose tokenizer counts; None: the embedded one),
            ``revision`` (for models on the hub), ``max_length`` (longest input in tokens, special tokens
            included; 128), ``limit`` (pairs to keep, drawn at random without replacement and kept in
            order; None: all), ``seed`` (of where segments are divided, and of which are kept; 0) and
            ``overwrite`` (whether a file that is there is replaced).

    Raises:
        BadInput: For numbers out of range, a file that cannot be read or written, or one whose
            documents are all too short.
        MissingExtra: When the embedded model is wanted but not installed.

    Source: Clark et al. (2019), section 3: segments of at most 128 tokens, two paragraphs of text each.
    """
    chosen = typed_options(_Unlabeled, {"file": file} | options)
    source, target = Path(chosen.file), Path(chosen.out)
    from headroles.extraction.model.checkpoint import find
    from headroles.extraction.model.load import load_tokenizer
    from headroles.extraction.texts.running_text import read_running_text
    from headroles.preprocessing.spans import Pair, PairCutter

    cutter = PairCutter(load_tokenizer(find(chosen.model, chosen.revision)), chosen.max_length)
    kept = Kept[tuple[Pair, str]](chosen.limit, np.random.default_rng([chosen.seed, 1]))
    split = np.random.default_rng([chosen.seed, 0])
    documents = short = 0
    for document in read_running_text(source):
        before = kept.found
        for pair in cutter.pairs(document.text, split):
            kept.offer((pair, document.name))
        documents += 1
        short += kept.found == before
    if not kept.found:
        raise BadInput(
            f"a document gives a pair of segments from {-(-cutter.room // 2)} tokens on, but the {documents} "
            f"of '{source}' are all shorter; give longer documents, or a smaller --max-length"
        )
    rows = kept.rows()
    write_text(target, "".join(_line(pair, name) for pair, name in rows))
    tokens = [pair.tokens for pair, _ in rows]
    mean = sum(tokens) / len(tokens)
    return Prepared(target, len(rows), kept.found, documents, short, min(tokens), mean, max(tokens))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What every way of preparing a file is asked for, checked before anything is read.

    Raises:
        BadInput: For numbers out of range, or a file that would be written over by mistake.
    """

    file: str
    out: str = ""
    limit: int | None = None
    seed: int = 0
    overwrite: bool = False

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        source, target = Path(self.file), Path(self.out)
        if target.suffix != ".jsonl":
            raise BadInput(f"what is written are JSON lines, so --out ends in .jsonl, but '{target}' came")
        if source.resolve() == target.resolve():
            raise BadInput(
                f"--out must be another file than the text, but both are '{source}'; name a new one"
            )
        if target.exists() and not self.overwrite:
            raise BadInput(f"'{target}' is there already; give --overwrite to replace it, or another --out")
        for name, value, least in (("limit", self.limit, 1), ("seed", self.seed, 0)):
            if value is not None and value < least:
                raise BadInput(f"{name} must be a whole number of at least {least}, but {value} came")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unlabeled(Asked):
    """What is asked for, and whose tokenizer counts."""

    model: str | None = None
    revision: str | None = None
    max_length: int = 128


def _line(pair: "Pair", name: str) -> str:
    row = {TEXT_A: pair.first, TEXT_B: pair.second, GROUP: name}
    return json.dumps(row, ensure_ascii=False) + "\n"


Row = TypeVar("Row")


class Kept(Generic[Row]):
    """Rows kept as they come: all, or a random sample of a size (reservoir sampling)."""

    def __init__(self, limit: int | None, rng: np.random.Generator) -> None:
        """Take the size of the sample, None for all, and what draws it."""
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
        place = int(self._rng.integers(self.found))
        if place < self._limit:
            self._rows[place] = entry

    def rows(self) -> list[Row]:
        """Those kept, in the order they came."""
        return [row for _, row in sorted(self._rows, key=lambda entry: entry[0])]
