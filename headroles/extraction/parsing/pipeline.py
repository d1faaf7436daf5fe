"""The spaCy pipeline that parses: load it, describe it, and turn its documents into words."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headroles.errors import BadInput
from headroles.extraction.parsing.packing import FORMAT
from headroles.records.passage import Words

if TYPE_CHECKING:
    from spacy.language import Language

SHIPPED = Path(str(resources.files("headroles") / "parser"))
"""Folder of the parser that headroles ships."""
KEPT_WORDS = 20_000
"""Number of words in a vocabulary from which on new ones are forgotten after each call; 5 MB."""


def parse_texts(parser: "Language", texts: Sequence[str]) -> Iterator[Words]:
    """Yield the words of texts. A text has the tree that it gets alone; documents become arrays at once."""
    from headroles.extraction.parsing.together import docs_of

    with _few_words_kept(parser):
        for doc in docs_of(parser, texts):
            yield words_of(doc)


def split_texts(parser: "Language", texts: Sequence[str]) -> Iterator[Words]:
    """Yield the words that the tokenizer of a parser finds; each is a root without a relation."""
    with _few_words_kept(parser):
        for text in texts:
            yield words_of(parser.make_doc(text))


def _few_words_kept(parser: "Language") -> AbstractContextManager[Any]:
    """Let the vocabulary keep its first words for good, and later ones until the texts are done.

    To look up the features of a word takes as long as a third of parsing it. Most words of a text are among
    the first thousands.
    """
    return nullcontext() if len(parser.vocab) < KEPT_WORDS else parser.memory_zone()


def words_of(doc: Any) -> Words:
    """Return the words of a parsed document: its tokens except blanks; a token below a blank is a root."""
    tokens = [token for token in doc if not token.is_space]
    place = {token.i: index for index, token in enumerate(tokens)}
    heads = [
        -1 if token.head.i == token.i else place.get(token.head.i, -1)
        for token in tokens
    ]  # fmt: skip
    lemmas = tuple(token.lemma_ for token in tokens)
    upos = tuple(token.pos_ for token in tokens)
    spans = [(token.idx, token.idx + len(token.text)) for token in tokens]
    return Words(
        spans=np.array(spans, dtype=np.int32).reshape(-1, 2),
        heads=np.array(heads, dtype=np.int32),
        relations=tuple(token.dep_ for token in tokens),
        lemmas=lemmas if any(lemmas) else None,
        upos=upos if any(upos) else None,
    )


def load_parser(name: str | None) -> tuple["Language", dict[str, str]]:
    """Load a spaCy pipeline that parses dependencies, and describe it.

    Args:
        name: Name of an installed pipeline, or a path; None for the parser that headroles ships.

    Returns:
        The pipeline, and its description for the manifest: name, version, licence, whether it is the one
        shipped, SHA-256 over its files, and the version of spaCy.

    Raises:
        BadInput: When it cannot be loaded or has no parser.
    """
    from headroles.extraction.parsing.together import take_several

    try:
        parser = _load(SHIPPED if name is None else name)
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
    take_several(parser)
    return parser, _described(name, parser.meta, parser.path)


class ShippedParser:
    """The parser that headroles ships, loaded when a text first needs it."""

    def __init__(self) -> None:
        """Read its description."""
        self._meta = json.loads((SHIPPED / "meta.json").read_bytes())
        self.described = _described(None, self._meta, SHIPPED)
        """Its description, as ``load_parser`` gives it."""

    @cached_property
    def whole(self) -> "Language":
        """The pipeline with all its parts."""
        return load_parser(None)[0]

    @cached_property
    def tokenizer(self) -> "Language":
        """The pipeline without its trained parts, which makes the same words."""
        return _load(SHIPPED, self._meta["pipeline"])


def open_parser(name: str | None) -> tuple["Language | ShippedParser", dict[str, str]]:
    """Return a parser and its description, as ``load_parser`` does, but leave the shipped one to be loaded.

    Raises:
        BadInput: When a parser with a name cannot be loaded or has no parser.
    """
    if name is None:
        shipped = ShippedParser()
        return shipped, shipped.described
    return load_parser(name)


def _load(target: Path | str, exclude: Sequence[str] = ()) -> "Language":
    """Load a spaCy pipeline without some of its parts."""
    import spacy

    return spacy.load(target, exclude=list(exclude))


def _described(name: str | None, meta: Mapping[str, Any], path: Path | None) -> dict[str, str]:
    return {
        "name": str(meta.get("name", name)),
        "version": str(meta.get("version", "")),
        "license": str(meta.get("license", "")),
        "shipped": "yes" if name is None else "no",
        "sha256": _digest(path),
        "spacy": version("spacy"),
    }


def identity_of(described: dict[str, str]) -> str:
    """Return everything that decides the parse of a text on one kind of machine, as a key for parses."""
    parser = {name: described[name] for name in ("name", "version", "sha256", "spacy")}
    return json.dumps([FORMAT, version("thinc"), version("numpy"), parser], sort_keys=True)


def _digest(path: Path | None) -> str:
    """Return the SHA-256 over the files of a pipeline and their names; "" for a pipeline without files."""
    digest = hashlib.sha256()
    files = [] if path is None else [file for file in Path(path).rglob("*") if file.is_file()]
    for file in sorted(file for file in files if file.suffix != ".pyc"):
        digest.update(f"{file.relative_to(str(path)).as_posix()}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as content:
            hashlib.file_digest(content, lambda: digest)  # goes on with the digest
    return digest.hexdigest() if files else ""
