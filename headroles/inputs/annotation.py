"""What sieves read beside tokens: a parser, lemmas, vectors and frequencies, loaded for one run."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from headroles.errors import BadInput
from headroles.extraction.model.load import Model
from headroles.extraction.parsing.annotate import Annotator
from headroles.extraction.parsing.cache import opened_cache
from headroles.extraction.parsing.lexicon import Lexicon, token_frequencies, unit_rows
from headroles.extraction.parsing.pipeline import identity_of, load_parser
from headroles.extraction.parsing.pool import ParserPool, processes_here
from headroles.extraction.parsing.vectors import read_vectors
from headroles.extraction.scoring.job import Sieving
from headroles.options.label import LabelOptions, Options
from headroles.records.passage import Passage
from headroles.sieves.base import COUNTED, NEEDS
from headroles.sieves.selection import Selection


@dataclass(frozen=True, slots=True, eq=False)
class Annotated:
    """The sieves of a run that have what they read, and what gives it.

    Attributes:
        selection: The sieves.
        annotator: Gives words and trees; None when no sieve reads them.
        lexicon: Lemmas and vectors of words; frequencies of tokens once ``counted`` was called.
        parser: What the parser is; None when none is used.
        vectors: What the vectors are; None when none are used.
        omitted: Sieves left out, one sentence each.
        notes: What else is to be told, one sentence each: parses that cannot be kept.
    """

    selection: Selection
    annotator: Annotator | None
    lexicon: Lexicon
    parser: dict[str, str] | None
    vectors: dict[str, Any] | None
    omitted: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def counted(self, tokenizer: Any, passages: Iterable[Passage], max_length: int) -> "Annotated":
        """The same with how often each token occurs, where a sieve asks for it.

        Args:
            tokenizer: Of the model.
            passages: All inputs of the run; gone through only where a sieve asks.
            max_length: Longest input, in tokens.
        """
        if "frequencies" not in self.selection.needs:
            return self
        often = token_frequencies(tokenizer, passages, max_length)
        return replace(self, lexicon=replace(self.lexicon, frequency=often))

    def sieving(self, model: Model) -> Sieving:
        """The job of scoring passages with a model."""
        return Sieving(model, self.selection, self.annotator, self.lexicon)


def annotated(options: Options, selection: Selection, corpus: Iterable[Passage]) -> Annotated:
    """Load the parser and the vectors that sieves read, and leave out those of a group that lack theirs.

    Args:
        options: Of the run.
        selection: The sieves.
        corpus: All inputs, which can be gone through again and again: a ``work.Corpus``, or a list. They are
            gone through only where lemmas or vectors are asked for, or to see, where ``corpus`` does not
            say it by its ``gold``, whether all bring words of their own.

    Raises:
        BadInput: When parser or vectors cannot be used, or a sieve named by itself lacks its annotation.
    """
    annotator, described, notes = None, None, tuple[str, ...]()
    if selection.needs - COUNTED:
        annotator, described, notes = _annotator(options, corpus)
    lexicon, vectors = Lexicon(), None
    omitted: tuple[str, ...] = ()
    if "likeness" in selection.needs and annotator is not None:
        lemmas = _lemmas_known(annotator, corpus)
        if lemmas or options.vectors is not None:
            lexicon, vectors = _lexicon(options.vectors, annotator, corpus, lemmas)
        else:
            selection, omitted = _without_likeness(selection)
    return Annotated(selection, annotator, lexicon, described, vectors, omitted, notes)


def _annotator(
    options: Options, corpus: Iterable[Passage]
) -> tuple[Annotator, dict[str, str] | None, tuple[str, ...]]:
    """What gives words and trees, what its parser is, and a sentence where parses cannot be kept."""
    told = getattr(corpus, "gold", None)
    gold = all(passage.words is not None for passage in corpus) if told is None else told
    if gold:
        return Annotator(None), None, ()
    parser, described = load_parser(options.parser)
    asked = options.cache if isinstance(options, LabelOptions) else None
    cache, said = opened_cache(asked, identity_of(described))
    pool = _pool(options, described)
    return Annotator(parser, cache, pool), described, (said,) if said else ()


def _pool(options: Options, described: dict[str, str]) -> Callable[[], ParserPool] | None:
    """Starts processes that parse beside one model; several workers parse their own shards instead."""
    several = isinstance(options, LabelOptions) and (options.workers > 1 or options.engine != "local")
    processes = 0 if several else processes_here()
    return partial(ParserPool, options.parser, described, processes) if processes else None


def _lemmas_known(annotator: Annotator, passages: Iterable[Passage]) -> bool:
    """Whether the parser, or every gold text, brings lemmas."""
    return all(
        annotator.lemmas
        if passage.words is None
        else all(words.lemmas is not None for words in passage.words)
        for passage in passages
    )


def _lexicon(
    file: str | None, annotator: Annotator, passages: Iterable[Passage], lemmas: bool
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
