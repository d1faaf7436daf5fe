"""Annotation that sieves read in addition to tokens: a parser, lemmas, vectors and frequencies of one run."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from headroles.catalogue import sieve_of
from headroles.errors import BadInput
from headroles.extraction.model.threads import cpu_count
from headroles.extraction.parsing.annotate import Annotator
from headroles.extraction.parsing.cache import open_cache
from headroles.extraction.parsing.lexicon import Lexicon, token_frequencies, unit_rows
from headroles.extraction.parsing.pipeline import ShippedParser, identity_of, open_parser
from headroles.extraction.parsing.pool import MOST_PROCESSES, ParserPool, processes_here
from headroles.extraction.parsing.vectors import read_vectors
from headroles.extraction.scoring.job import SieveJob
from headroles.extraction.source import AttentionSource
from headroles.options.label import Options
from headroles.records.passage import Passage
from headroles.sieves import PATTERNS
from headroles.sieves.base import COUNTED, NEEDS
from headroles.sieves.built_in.syntactic import named_relations
from headroles.sieves.language.relations import check_relations
from headroles.sieves.selection import Selection


@dataclass(frozen=True, slots=True, eq=False)
class AnnotatedSieves:
    """The sieves of a run whose annotation is available, and the parser and lexicon that provide it.

    Attributes:
        selection: The sieves.
        annotator: Provides words and trees; None when no sieve reads them.
        lexicon: Lemmas and vectors of words; frequencies of tokens once ``counted`` was called.
        parser: Facts about the parser; None when none is used.
        vectors: Facts about the vectors; None when none are used.
        omitted: Sieves left out, one sentence each.
        notes: Further notes, one sentence each: parses that cannot be cached.
    """

    selection: Selection
    annotator: Annotator | None
    lexicon: Lexicon
    parser: dict[str, str] | None
    vectors: dict[str, Any] | None
    omitted: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def counted(self, tokenizer: Any, passages: Iterable[Passage], max_length: int) -> "AnnotatedSieves":
        """Return the same with the frequency of each token, where a sieve needs it.

        Args:
            tokenizer: Tokenizer of the model.
            passages: All inputs of the run; read only where a sieve needs frequencies.
            max_length: Longest input, in tokens.
        """
        if "frequencies" not in self.selection.needs:
            return self
        frequency = token_frequencies(tokenizer, passages, max_length)
        return replace(self, lexicon=replace(self.lexicon, frequency=frequency))

    def sieving(
        self, model: AttentionSource, units: Sequence[str] = (), members: Sequence[int] = ()
    ) -> SieveJob:
        """Return the job of scoring a shard with a model.

        Args:
            model: The model, or stored maps.
            units: Unit of each input.
            members: Number of inputs of each one's unit in the whole run; empty where it is not known.
        """
        return SieveJob(model, self.selection, self.annotator, self.lexicon, units, members)


def load_annotation(options: Options, selection: Selection, corpus: Iterable[Passage]) -> AnnotatedSieves:
    """Load the parser and vectors that sieves read; leave out sieves of a group that lack theirs.

    Args:
        options: Options of the run.
        selection: The sieves.
        corpus: All inputs, which can be iterated repeatedly: a ``Corpus``, or a list. They are read only
            where a sieve needs lemmas or vectors, or, where ``corpus`` has no ``gold``, to see whether
            all have words of their own.

    Raises:
        BadInput: When parser or vectors cannot be used, or a sieve that was named lacks its annotation.
    """
    annotator, parser, notes = None, None, tuple[str, ...]()
    if selection.needs - COUNTED:
        annotator, parser, notes = _annotator(options, corpus)
    lexicon, vectors = Lexicon(), None
    omitted: tuple[str, ...] = ()
    if "likeness" in selection.needs and annotator is not None:
        lemmas = _has_lemmas(annotator, corpus)
        if lemmas or options.vectors is not None:
            lexicon, vectors = _lexicon(options.vectors, annotator, corpus, lemmas)
        else:
            selection, omitted = _without_likeness(selection)
    if annotator is not None and not _needs_trees(selection, lexicon):
        annotator.leave_trees_out()
    return AnnotatedSieves(selection, annotator, lexicon, parser, vectors, omitted, notes)


def _needs_trees(selection: Selection, lexicon: Lexicon) -> bool:
    """Return whether a sieve may read trees, lemmas or word classes; built-in patterns read words alone.

    A sieve of the caller that asks for words also gets trees, whatever its name.
    """
    own = any(
        sieve.needs - COUNTED and not (sieve.name in PATTERNS and sieve is sieve_of(sieve.name))
        for sieve in selection.sieves
    )
    contrasts = any(mask.word_class is not None for mask in selection.masks)
    return own or contrasts or selection.cleaned or lexicon.lemmas


def _annotator(
    options: Options, corpus: Iterable[Passage]
) -> tuple[Annotator, dict[str, str] | None, tuple[str, ...]]:
    """Return the annotator, facts about its parser, and a sentence where parses cannot be cached."""
    known = getattr(corpus, "gold", None)
    gold = all(passage.words is not None for passage in corpus) if known is None else known
    if gold:
        return Annotator(None), None, ()
    parser, described = open_parser(options.parser)
    if not isinstance(parser, ShippedParser) and (
        labels := [*chain.from_iterable(parser.pipe_labels.values())]
    ):
        check_relations(named_relations(options.sieve), labels)
    cache, note = open_cache(options.cache, identity_of(described))
    pool = _pool(options, described)
    return Annotator(parser, cache, pool), described, (note,) if note else ()


def _pool(options: Options, described: dict[str, str]) -> Callable[[], ParserPool] | None:
    """Return a function that starts parser processes, for processors that no worker uses.

    Several workers share the processors that their threads leave idle, where the options state the threads.
    """
    processes = 0
    if options.engine == "local" and options.workers == 1:
        processes = processes_here()
    elif options.engine == "local" and options.threads is not None:
        idle = cpu_count() - options.workers * options.threads
        processes = max(0, min(idle // options.workers, MOST_PROCESSES))
    return partial(ParserPool, options.parser, described, processes) if processes else None


def _has_lemmas(annotator: Annotator, passages: Iterable[Passage]) -> bool:
    """Return whether the parser, or every gold text, has lemmas."""
    return all(
        annotator.lemmas
        if passage.words is None
        else all(words.lemmas is not None for words in passage.words)
        for passage in passages
    )


def _lexicon(
    file: str | None, annotator: Annotator, passages: Iterable[Passage], lemmas: bool
) -> tuple[Lexicon, dict[str, Any] | None]:
    """Return lemmas and, where there is a file of vectors, vectors of the words of the passages."""
    if file is None:
        return Lexicon(lemmas=lemmas), None
    words = annotator.forms(passages)
    vectors = read_vectors(Path(file), words)
    digest = hashlib.sha256(" ".join(vectors.places).encode() + vectors.table.tobytes()).hexdigest()
    facts = {"name": file, "words": len(vectors.places), "of": len(words), "sha256": digest}
    return Lexicon(lemmas, vectors.places, unit_rows(vectors.table)), facts


def _without_likeness(selection: Selection) -> tuple[Selection, tuple[str, ...]]:
    """Return the sieves that need no lemmas or vectors, and a sentence on each sieve left out.

    Raises:
        BadInput: When a sieve that needs them was named, not only its group.
    """
    fitting = selection.fitting(NEEDS - {"likeness"})
    lacking = [sieve.name for sieve in selection.sieves if "likeness" in sieve.needs]
    if "likeness" in fitting.needs:
        raise BadInput(
            f"the sieve {lacking[0]!r} needs word vectors or lemmas, but this run has neither; give word "
            f"vectors with --vectors, a --parser that sets lemmas, or data with lemmas, or leave it out"
        )
    reason = "was left out: it needs word vectors (--vectors), a --parser that sets lemmas, or such data."
    return fitting, tuple(f"{name} {reason}" for name in lacking)
