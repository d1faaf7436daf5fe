"""Show what a sieve counts on a text: ``show_sieve()`` and ``ShownSieve``."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from headroles.catalogue import check_usable, sieve_of
from headroles.errors import BadInput, shorten
from headroles.plans.cells import SieveCells
from headroles.records.example import Example
from headroles.records.passage import Passage
from headroles.reports import pictures
from headroles.reports.sieve_picture import LONGEST, MOST, describe_cells, sieve_svg
from headroles.reports.words import visible_pieces
from headroles.sieves.base import Sieve
from headroles.sieves.weights.cells import count_cells
from headroles.storage.folder import write_text
from headroles.storage.integrity.origin import SVG_MARK, check_replaceable

KEY = "shown"
"""Key of an example made from texts."""
LINES = 10
"""Most queries in the text of a shown sieve."""
KEYS = 6
"""Most keys of a query in it."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ShownSieve:
    """What a sieve counts on one input, as text, as a picture or in a notebook.

    Attributes:
        cells: The cells that count, those they are compared within, and their weights.
    """

    cells: SieveCells

    def svg(self) -> str:
        """Return an SVG with queries as rows and keys as columns.

        Raises:
            BadInput: For more than 128 tokens.
        """
        return sieve_svg(self.cells)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the SVG as one file, and return its path.

        Args:
            path: The file.
            overwrite: Whether a file there that headroles did not write is replaced.

        Raises:
            BadInput: When the file cannot be written, or for more than 128 tokens.
        """
        target = Path(path)
        if target.is_dir():
            raise BadInput(f"a picture is written as a file, but '{target}' is a folder; name a file in it")
        check_replaceable(target, SVG_MARK, overwrite)
        write_text(target, self.svg())
        return target

    def __repr__(self) -> str:
        """Return the sieve, the number of its cells, and the keys of the first queries; at most 20 lines."""
        title, sentences = describe_cells(self.cells)
        asking = np.flatnonzero(self.cells.asking)
        lines = [title, *([self.cells.question] if self.cells.question else []), *sentences]
        lines += [key_line(self.cells, query, KEYS) for query in asking[:LINES].tolist()]
        if len(asking) > LINES:
            lines.append(f"… {len(asking) - LINES} more queries")
        return "\n".join(lines)

    def _repr_svg_(self) -> str | None:
        """Return the picture for a notebook; None where the input is too long for one."""
        return self.svg() if self.cells.example.size <= MOST else None


def show_sieve(
    name: str | Sieve,
    text: str | Example,
    text_b: str | None = None,
    *,
    model: str | None = None,
    revision: str | None = None,
    parser: str | None = None,
    vectors: str | None = None,
    causal: bool | None = None,
    max_length: int = 512,
) -> ShownSieve:
    """Show what a sieve counts on a text or a pair: (query, key) cells, and what they are compared within.

    Args:
        name: A sieve, or its name as ``headroles label --sieve`` takes it: "block", "syntactic:det",
            "path/to/file.py:name".
        text: The text, or an ``Example`` with tokens and annotation, which needs no model.
        text_b: The second text of a pair.
        model: Folder or hub name of the model whose tokenizer reads the text; None for the embedded one.
        revision: A branch, tag or commit, for names on the hub.
        parser: An installed spaCy pipeline or its path; None for the one shipped. Used only where the sieve
            reads words or trees.
        vectors: File of word vectors, for sieves that compare words.
        causal: Whether queries see only keys up to their own place. None: as the model does, which is loaded
            for that unless it is the embedded one; False for an ``Example``.
        max_length: Most tokens of the input, special tokens included.

    Returns:
        The shown sieve; a notebook draws it, ``.svg()`` returns the picture, ``.cells`` has the arrays.

    Raises:
        UnknownName: For a sieve that does not exist.
        BadSieve: For a sieve that cannot be used.
        BadInput: For a text that is blank or too long, or an ``Example`` that lacks annotation that the sieve
            needs.
        MissingExtra: When the embedded model is wanted but not installed.

    Example:
        >>> show_sieve("previous", Example("note", ("it", "rains", "again")))
        What the sieve previous counts
        Does the head look at the previous token?
        2 of 3 tokens count as queries; 2 cells count, of 6 compared.
          1 rains → it
          2 again → rains
    """
    sieve = sieve_of(name) if isinstance(name, str) else check_usable(name)
    if isinstance(text, Example):
        given = {"text_b": text_b, "model": model, "revision": revision, "parser": parser, "vectors": vectors}
        unused = next((option for option, value in given.items() if value is not None), None)
        if unused is not None:
            raise BadInput(f"an Example is tokenised and annotated, so {unused} has no effect; leave it out")
        example, notes = text, tuple[str, ...]()
    else:
        texts = _check_texts(text, text_b)
        from headroles.extraction.model.checkpoint import find_checkpoint

        checkpoint = find_checkpoint(model, revision)
        from headroles.extraction.views.sieve_input import read_example, sees_earlier_keys_only

        example, notes = read_example(
            checkpoint,
            Passage(KEY, texts),
            sieve.name,
            sieve.needs,
            parser=parser,
            vectors=vectors,
            max_length=max_length,
        )
        if causal is None and model is not None:
            causal = sees_earlier_keys_only(checkpoint, max_length)
    visible = np.tri(example.size, dtype=np.bool_) if causal else None
    cells = count_cells(sieve, example, visible)
    return ShownSieve(replace(cells, notes=(*cells.notes, *notes)))


def _check_texts(*texts: object) -> tuple[str, ...]:
    """Return one text or two, after checking that none is blank.

    Raises:
        BadInput: When one is blank, or no text.
    """
    given = tuple(text for text in texts if text is not None)
    for text in given or (None,):
        if not isinstance(text, str) or not text.strip():
            raise BadInput(
                f"a sieve is shown on one text or two, none of them blank, but got {shorten(text)}; give text"
            )
    return tuple(str(text) for text in given)


def key_line(cells: SieveCells, query: int, most: int) -> str:
    """Return a query and the keys that it counts, on one line.

    Args:
        cells: Of a sieve.
        query: A token that asks.
        most: Most keys named.

    Example:
        >>> from headroles.sieves.built_in.positions import following
        >>> key_line(count_cells(following, Example("note", ("it", "rains"))), 0, 5)
        '  0 it → rains'
    """
    pieces = visible_pieces(cells.example)
    keys = np.flatnonzero(cells.counted[query]).tolist()
    more = f" and {len(keys) - most} more" if len(keys) > most else ""
    named = " ".join(_token(pieces[key]) for key in keys[:most])
    return f"{query:>3} {_token(pieces[query])} → {named}{more}"


def _token(piece: str) -> str:
    """Return a token on one line, cut where it is long."""
    return pictures.shorten(piece, LONGEST)
