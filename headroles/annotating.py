"""What sieves read beside tokens: a parser, lemmas, vectors and frequencies, loaded for one run."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headroles.errors import BadInput
from headroles.extraction.annotate import Annotator, load_parser
from headroles.extraction.lexicon import Lexicon, token_frequencies, unit_rows
from headroles.extraction.model import Model
from headroles.extraction.passages import Passage
from headroles.extraction.reader import Sieving
from headroles.options import Options
from headroles.probes.vectors import read_vectors
from headroles.sieves.base import COUNTED, NEEDS
from headroles.sieves.selection import Selection


@dataclass(frozen=True, slots=True, eq=False)
class Annotated:
    """The sieves of a run that have what they read, and what gives it.

    Attributes:
        selection: The sieves.
        annotator: Gives words and trees; None when no sieve reads them.
        lexicon: Lemmas and vectors of words; frequencies are counted once the tokenizer is there.
        parser: What the parser is; None when none is used.
        vectors: What the vectors are; None when none are used.
        omitted: Sieves left out, one sentence each.
    """

    selection: Selection
    annotator: Annotator | None
    lexicon: Lexicon
    parser: dict[str, str] | None
    vectors: dict[str, Any] | None
    omitted: tuple[str, ...]

    def sieving(self, model: Model, passages: Sequence[Passage], max_length: int) -> Sieving:
        """The job of scoring passages with a model; counts tokens first, where a sieve asks for it."""
        lexicon = self.lexicon
        if "frequencies" in self.selection.needs:
            often = token_frequencies(model.tokenizer, passages, max_length)
            lexicon = replace(lexicon, frequency=often)
        return Sieving(model, self.selection, self.annotator, lexicon)


def annotated(options: Options, selection: Selection, passages: Sequence[Passage]) -> Annotated:
    """Load the parser and the vectors that sieves read, and leave out those of a group that lack theirs.

    Raises:
        BadInput: When parser or vectors cannot be used, or a sieve named by itself lacks its annotation.
    """
    parsed = bool(selection.needs - COUNTED) and any(passage.words is None for passage in passages)
    parser, described = load_parser(options.parser) if parsed else (None, None)
    annotator = Annotator(parser) if selection.needs - COUNTED else None
    lexicon, vectors = Lexicon(), None
    omitted: tuple[str, ...] = ()
    if "likeness" in selection.needs and annotator is not None:
        lemmas = _lemmas_known(annotator, passages)
        if lemmas or options.vectors is not None:
            lexicon, vectors = _lexicon(options.vectors, annotator, passages, lemmas)
        else:
            selection, omitted = _without_likeness(selection)
    return Annotated(selection, annotator, lexicon, described, vectors, omitted)


def _lemmas_known(annotator: Annotator, passages: Sequence[Passage]) -> bool:
    """Whether the parser, or every gold text, brings lemmas."""
    return all(
        annotator.lemmas
        if passage.words is None
        else all(words.lemmas is not None for words in passage.words)
        for passage in passages
    )


def _lexicon(
    file: str | None, annotator: Annotator, passages: Sequence[Passage], lemmas: bool
) -> tuple[Lexicon, dict[str, Any] | None]:
    """Lemmas and, where there is a file of them, vectors of the words of the passages."""
    if file is None:
        return Lexicon(lemmas=lemmas), None
    words = annotator.forms(passages)
    vectors = read_vectors(Path(file), words)
    digest = hashlib.sha256(" ".join(vectors.places).encode() + vectors.table.tobytes()).hexdigest()
    told = {"name": file, "words": len(vectors.places), "of": len(words), "sha256": digest}
    return Lexicon(lemmas, vectors.places, unit_rows(vectors.table)), told


def _without_likeness(selection: Selection) -> tuple[Selection, tuple[str, ...]]:
    """The sieves that need no lemmas or vectors, and a sentence on each left out.

    Raises:
        BadInput: When one that needs them was named by itself.
    """
    fitting = selection.fitting(NEEDS - {"likeness"})
    lacking = [each.name for each in selection.sieves if "likeness" in each.needs]
    if "likeness" in fitting.needs:
        raise BadInput(
            f"the sieve {lacking[0]!r} needs word vectors or lemmas, but this run has neither; give word "
            f"vectors with --vectors, a --parser that sets lemmas, or data with lemmas, or leave it out"
        )
    said = "was left out: it needs word vectors (--vectors), a --parser that sets lemmas, or such data."
    return fitting, tuple(f"{name} {said}" for name in lacking)
