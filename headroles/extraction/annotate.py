"""Words and dependency trees of texts: gold ones as they are, others by a spaCy parser."""

from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headroles.errors import BadInput
from headroles.extraction.passages import Passage, Words

if TYPE_CHECKING:
    from spacy.language import Language

REMEMBERED = 4096
"""Texts whose parse is kept, so that repeated ones are parsed once and memory stays bounded."""


class Annotator:
    """Words and trees of passages by one parser; each text is parsed once while it is remembered."""

    def __init__(self, parser: "Language | None") -> None:
        """Take a loaded spaCy pipeline that parses dependencies; None where all words are gold."""
        self._parser = parser
        self._known: dict[str, Words] = {}

    @property
    def lemmas(self) -> bool:
        """Whether the parser sets lemmas."""
        parser = self._parser
        return parser is not None and any(
            "token.lemma" in parser.get_pipe_meta(name).assigns for name in parser.pipe_names
        )

    def forms(self, passages: Sequence[Passage]) -> set[str]:
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

    def words(self, passages: Sequence[Passage]) -> list[tuple[Words, ...]]:
        """Words of each passage's texts: gold where given, else parsed.

        Raises:
            BadInput: When a text is longer than the parser takes.
        """
        open_texts = {text for passage in passages if passage.words is None for text in passage.texts}
        self._parse(sorted(open_texts - self._known.keys(), key=len))
        found = [
            passage.words if passage.words is not None else tuple(self._known[text] for text in passage.texts)
            for passage in passages
        ]
        while len(self._known) > REMEMBERED:
            del self._known[next(iter(self._known))]
        return found

    def _parse(self, texts: list[str]) -> None:
        """Parse texts, which come from short to long, so that each batch holds similar lengths."""
        if self._parser is None or not texts:
            return
        if len(texts[-1]) > self._parser.max_length:
            raise BadInput(
                f"a text that is parsed has at most {self._parser.max_length} characters, but one of "
                f"{len(texts[-1])} came; split it"
            )
        with self._parser.memory_zone():
            for text, doc in zip(texts, self._parser.pipe(texts, batch_size=16), strict=True):
                self._known[text] = _words(doc)


def _words(doc: Any) -> Words:
    tokens = [token for token in doc if not token.is_space]
    place = {token.i: index for index, token in enumerate(tokens)}
    heads = [
        -1 if token.head.i == token.i else place.get(token.head.i, -1)
        for token in tokens
    ]  # fmt: skip
    lemmas = tuple(token.lemma_ for token in tokens)
    spans = [(token.idx, token.idx + len(token.text)) for token in tokens]
    return Words(
        spans=np.array(spans, dtype=np.int32).reshape(-1, 2),
        heads=np.array(heads, dtype=np.int32),
        relations=tuple(token.dep_ for token in tokens),
        lemmas=lemmas if any(lemmas) else None,
    )


def load_parser(name: str | None) -> tuple["Language", dict[str, str]]:
    """A spaCy pipeline that parses dependencies, and what it is.

    Args:
        name: An installed pipeline's name or a path; None for the parser that headroles ships.

    Returns:
        The pipeline, and its name, version and licence for the record.

    Raises:
        BadInput: When it cannot be loaded or has no parser.
    """
    import spacy

    shipped = resources.files("headroles") / "parser"
    target = Path(str(shipped)) if name is None else name
    try:
        parser = spacy.load(target)
    except (OSError, ValueError, ImportError) as error:
        reason = str(error).split("\n")[0]
        raise BadInput(
            f"the parser must be an installed spaCy 3 pipeline or the path of one, but {name!r} cannot be "
            f"loaded ({reason}); leave --parser out for the one headroles ships"
        ) from error
    if "parser" not in parser.pipe_names:
        raise BadInput(
            f"syntactic sieves need a pipeline that parses dependencies, but {name!r} has only "
            f"{', '.join(parser.pipe_names) or 'a tokenizer'}"
        )
    meta = parser.meta
    return parser, {
        "name": str(meta.get("name", name)),
        "version": str(meta.get("version", "")),
        "license": str(meta.get("license", "")),
        "shipped": "yes" if name is None else "no",
    }
