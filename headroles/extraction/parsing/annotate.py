"""Words and dependency trees of texts: gold ones as they are, others by a spaCy parser or a cache of it."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from headroles.errors import BadInput
from headroles.extraction.parsing.cache import ParseCache
from headroles.extraction.parsing.pipeline import parsed
from headroles.extraction.parsing.pool import ParserPool, Parses
from headroles.records.passage import Passage, Words

if TYPE_CHECKING:
    from spacy.language import Language

REMEMBERED = 4096
"""Texts whose parse is kept, so that repeated ones are parsed once and memory stays bounded."""
ALONE = 1000
"""Texts parsed before processes are started to help: as long as it takes these to start."""


@dataclass(slots=True)
class Counts:
    """Where the words of texts came from; texts that were still remembered are not counted.

    Attributes:
        parsed: Texts that were parsed, here or by processes.
        ahead: Those of them that processes parsed.
        cached: Texts whose words were taken from the cache on disk.
    """

    parsed: int = 0
    ahead: int = 0
    cached: int = 0


class Annotator:
    """Words and trees of passages by one parser; each text is parsed once while it is remembered.

    Every text is parsed by itself, so that its tree depends on the text and the parser and on nothing
    else: not on its neighbours in a batch, nor on which of them were known.
    """

    def __init__(
        self,
        parser: "Language | None",
        cache: ParseCache | None = None,
        pool: Callable[[], ParserPool] | None = None,
    ) -> None:
        """Take what parses.

        Args:
            parser: A loaded spaCy pipeline that parses dependencies; None where all words are gold.
            cache: Parses of it on disk.
            pool: Starts processes with the same parser; called once, after many texts were parsed here.
        """
        self._parser, self._cache, self._start = parser, cache, pool
        self._pool: ParserPool | None = None
        self._known: dict[str, Words] = {}
        self._coming: dict[str, tuple[list[str], Future[Parses]]] = {}
        self._lock = Lock()
        self.counts = Counts()

    @property
    def lemmas(self) -> bool:
        """Whether the parser sets lemmas."""
        parser = self._parser
        return parser is not None and any(
            "token.lemma" in parser.get_pipe_meta(name).assigns for name in parser.pipe_names
        )

    def forms(self, passages: Iterable[Passage]) -> set[str]:
        """All words of some passages in lower case, without parsing them."""
        found: set[str] = set()
        for passage in passages:
            for place, text in enumerate(passage.texts):
                if passage.words is not None:
                    spans = passage.words[place].spans.tolist()
                    found.update(text[start:stop].lower() for start, stop in spans)
                elif self._parser is not None:
                    found.update(token.lower_ for token in self._parser.make_doc(text))
        return found

    def expect(self, passages: Iterable[Passage]) -> None:
        """Say which passages come next, so that processes can parse them ahead; may be left out.

        Nothing happens before many texts had to be parsed: small runs need no processes.
        """
        if self._start is None or self._parser is None or self.counts.parsed < ALONE:
            return
        if self._pool is None:
            self._pool = self._start()
        with self._lock:
            texts = _open_texts(passages) - self._known.keys() - self._coming.keys()
        texts = {text for text in texts if len(text) <= self._parser.max_length}
        if not texts or not self._pool.alive:
            return
        cached = self._cache.get(sorted(texts)) if self._cache else {}
        unseen = sorted(texts - cached.keys(), key=len, reverse=True)  # long inputs come first in a shard
        with self._lock:
            self.counts.cached += len(cached)
            self._known |= cached
            for chunk, words in self._pool.submit(unseen):
                self._coming |= dict.fromkeys(chunk, (chunk, words))

    def words(self, passages: Sequence[Passage]) -> list[tuple[Words, ...]]:
        """Words of each passage's texts: gold where given, else remembered, cached or parsed.

        Raises:
            BadInput: When a text is longer than the parser takes.
        """
        wanted = _open_texts(passages)
        with self._lock:
            known = {text: self._known[text] for text in wanted & self._known.keys()}
        known |= self._arrived(wanted - known.keys())
        known |= self._looked_up(wanted - known.keys())
        known |= self._parsed(wanted - known.keys())
        found = [
            passage.words if passage.words is not None else tuple(known[text] for text in passage.texts)
            for passage in passages
        ]
        with self._lock:
            self._known |= known
            for text in list(self._known)[: max(0, len(self._known) - REMEMBERED)]:
                del self._known[text]
        return found

    def close(self) -> None:
        """Let the processes and the cache go; both come back when they are needed again."""
        with self._lock:
            pool, self._pool, self._coming = self._pool, None, {}
        if pool is not None:
            pool.close()
        if self._cache is not None:
            self._cache.close()

    def _arrived(self, texts: set[str]) -> Parses:
        """Words of texts that processes have begun to parse; what they have not begun is parsed here."""
        found: Parses = {}
        for text in texts:
            with self._lock:
                chunk, words = self._coming.get(text, ([], None))
            if words is None:
                continue
            if not words.cancel() and words.exception() is None:
                found |= words.result()
            with self._lock:
                for each in chunk:
                    self._coming.pop(each, None)
        self.counts.parsed += len(found)
        self.counts.ahead += len(found)
        self._keep(found)
        with self._lock:
            self._known |= found  # others of the chunk are wanted later
        return {text: found[text] for text in texts & found.keys()}

    def _looked_up(self, texts: set[str]) -> Parses:
        found = self._cache.get(sorted(texts)) if self._cache and texts else {}
        self.counts.cached += len(found)
        return found

    def _parsed(self, texts: set[str]) -> Parses:
        if self._parser is None or not texts:
            return {}
        longest = max(map(len, texts))
        if longest > self._parser.max_length:
            raise BadInput(
                f"a text that is parsed has at most {self._parser.max_length} characters, but one of "
                f"{longest} came; split it"
            )
        listed = sorted(texts)
        found = dict(zip(listed, parsed(self._parser, listed), strict=True))
        self.counts.parsed += len(found)
        self._keep(found)
        return found

    def _keep(self, found: Parses) -> None:
        if self._cache is not None:
            self._cache.put(found)


def _open_texts(passages: Iterable[Passage]) -> set[str]:
    """Texts whose words are not given."""
    return {text for passage in passages if passage.words is None for text in passage.texts}
