"""Words and dependency trees of texts: from gold annotation, from a spaCy parser, or from its cache."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from headroles.errors import BadInput
from headroles.extraction.parsing.cache import ParseCache
from headroles.extraction.parsing.pipeline import ShippedParser, parse_texts, split_texts
from headroles.extraction.parsing.pool import ParserPool, Parses
from headroles.extraction.texts.tokens import MARGIN
from headroles.records.passage import Passage, Words

if TYPE_CHECKING:
    from spacy.language import Language

REMEMBERED = 4096
"""Number of texts whose parse is kept in memory, so that repeated texts are parsed once."""
ALONE = 1000
"""Number of texts parsed here before parser processes are started: about the time that their start takes."""


@dataclass(slots=True)
class Counts:
    """Counts of texts by the source of their words; texts that were still in memory are not counted.

    Attributes:
        parsed: Texts that were parsed, here or by parser processes.
        ahead: Those of them that parser processes parsed.
        cached: Texts whose words were read from the cache on disk.
    """

    parsed: int = 0
    ahead: int = 0
    cached: int = 0


class Annotator:
    """Gives words and trees of passages by one parser; a text is parsed once while its parse is in memory.

    The tree of a text depends on the text and the parser only. It depends neither on the other texts that are
    parsed at once, nor on which of them were known.
    """

    def __init__(
        self,
        parser: "Language | ShippedParser | None",
        cache: ParseCache | None = None,
        pool: Callable[[], ParserPool] | None = None,
    ) -> None:
        """Keep parser, cache and pool.

        Args:
            parser: A loaded spaCy pipeline that parses dependencies, or the shipped one, which is loaded
                when a text has to be parsed; None where all words are gold.
            cache: Cache of its parses on disk.
            pool: Starts processes with the same parser; called once, after many texts were parsed here.
        """
        self._parser, self._cache, self._start_pool = parser, cache, pool
        self._trees = True
        self._pool: ParserPool | None = None
        self._known: dict[str, Words] = {}
        self._pending: dict[str, tuple[list[str], Future[Parses]]] = {}
        self._lock = Lock()
        self.counts = Counts()

    @property
    def lemmas(self) -> bool:
        """Return whether the parser sets lemmas."""
        if self._parser is None:
            return False
        parser = self._loaded()
        return any("token.lemma" in parser.get_pipe_meta(name).assigns for name in parser.pipe_names)

    def leave_trees_out(self) -> None:
        """Give words without trees, lemmas and word classes from now on; gold words keep theirs.

        The tokenizer of the parser alone gives the same words, in less time than a look-up in the cache.
        """
        self.close()
        self._trees, self._cache, self._start_pool, self._known = False, None, None, {}

    def forms(self, passages: Iterable[Passage]) -> set[str]:
        """Return all words of some passages in lower case, without parsing them."""
        forms: set[str] = set()
        for passage in passages:
            for place, text in enumerate(passage.texts):
                if passage.words is not None:
                    spans = passage.words[place].spans.tolist()
                    forms.update(text[start:stop].lower() for start, stop in spans)
                elif self._parser is not None:
                    forms.update(token.lower_ for token in self._loaded(trees=False).make_doc(text))
        return forms

    def expect(self, passages: Iterable[Passage], *, final: bool = False) -> None:
        """Announce the next passages, so that parser processes can parse them ahead; this call is optional.

        Nothing happens until many texts had to be parsed, because small runs need no parser processes.

        Args:
            passages: The passages.
            final: Whether their texts are those that will be parsed. Otherwise long ones are skipped, since
                only a part of them may be parsed.
        """
        if self._start_pool is None or self._parser is None or self.counts.parsed < ALONE:
            return
        if self._pool is None:
            self._pool = self._start_pool()
        with self._lock:
            texts = _open_texts(passages) - self._known.keys() - self._pending.keys()
        longest = self._loaded().max_length if final else MARGIN
        texts = {text for text in texts if len(text) <= longest}
        if not texts or not self._pool.alive:
            return
        cached = self._cache.get(sorted(texts)) if self._cache else {}
        unseen = sorted(texts - cached.keys(), key=len, reverse=True)  # a shard starts with its long inputs
        with self._lock:
            self.counts.cached += len(cached)
            self._known |= cached
            for chunk, words in self._pool.submit(unseen):
                self._pending |= dict.fromkeys(chunk, (chunk, words))

    def words(self, passages: Sequence[Passage]) -> list[tuple[Words, ...]]:
        """Return the words of the texts of each passage: gold, from memory, from the cache, or parsed.

        Raises:
            BadInput: When a text is longer than the parser takes.
        """
        wanted = _open_texts(passages)
        with self._lock:
            known = {text: self._known[text] for text in wanted & self._known.keys()}
        known |= self._take_from_pool(wanted - known.keys())
        known |= self._take_from_cache(wanted - known.keys())
        known |= self._parse(wanted - known.keys())
        words = [
            passage.words if passage.words is not None else tuple(known[text] for text in passage.texts)
            for passage in passages
        ]
        with self._lock:
            self._known |= known
            for text in list(self._known)[: max(0, len(self._known) - REMEMBERED)]:
                del self._known[text]
        return words

    def close(self) -> None:
        """Stop the parser processes and close the cache; both are opened again when they are needed."""
        with self._lock:
            pool, self._pool, self._pending = self._pool, None, {}
        if pool is not None:
            pool.close()
        if self._cache is not None:
            self._cache.close()

    def _take_from_pool(self, texts: set[str]) -> Parses:
        """Return the words of texts that parser processes have begun, and cancel the others."""
        parses: Parses = {}
        for text in texts:
            with self._lock:
                chunk, words = self._pending.get(text, ([], None))
            if words is None:
                continue
            if not words.cancel() and words.exception() is None:
                parses |= words.result()
            with self._lock:
                for other in chunk:
                    self._pending.pop(other, None)
        self.counts.parsed += len(parses)
        self.counts.ahead += len(parses)
        self._store(parses)
        with self._lock:
            self._known |= parses  # other texts of the chunk are needed later
        return {text: parses[text] for text in texts & parses.keys()}

    def _take_from_cache(self, texts: set[str]) -> Parses:
        parses = self._cache.get(sorted(texts)) if self._cache and texts else {}
        self.counts.cached += len(parses)
        return parses

    def _parse(self, texts: set[str]) -> Parses:
        if self._parser is None or not texts:
            return {}
        parser = self._loaded(self._trees)
        longest = max(map(len, texts))
        if longest > parser.max_length:
            raise BadInput(
                f"a text that is parsed has at most {parser.max_length} characters, but got one of "
                f"{longest}; split it"
            )
        in_order = sorted(texts)
        if not self._trees:
            return dict(zip(in_order, split_texts(parser, in_order), strict=True))
        parses = dict(zip(in_order, parse_texts(parser, in_order), strict=True))
        self.counts.parsed += len(parses)
        self._store(parses)
        return parses

    def _loaded(self, trees: bool = True) -> "Language":
        """Return the pipeline; without its trained parts where words alone are needed and it is shipped."""
        parser = self._parser
        assert parser is not None
        if isinstance(parser, ShippedParser):
            return parser.whole if trees else parser.tokenizer
        return parser

    def _store(self, parses: Parses) -> None:
        if self._cache is not None:
            self._cache.put(parses)


def _open_texts(passages: Iterable[Passage]) -> set[str]:
    """Return the texts that have no gold words."""
    return {text for passage in passages if passage.words is None for text in passage.texts}
