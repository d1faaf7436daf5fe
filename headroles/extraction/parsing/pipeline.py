"""The spaCy pipeline that parses, what it is, and what becomes of its documents."""

import hashlib
import json
from collections.abc import Iterator, Sequence
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


def parsed(parser: "Language", texts: Sequence[str]) -> Iterator[Words]:
    """The words of texts, each parsed by itself; documents become arrays at once."""
    with parser.memory_zone():
        for doc in parser.pipe(texts, batch_size=1):
            yield words_of(doc)


def words_of(doc: Any) -> Words:
    """The words of a parsed document: its tokens but for blanks; what hangs on a blank is a root."""
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
        The pipeline, and what it is for the record: name, version, licence, whether it is the one shipped,
        SHA-256 over its files, and the version of spaCy.

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
        "sha256": _digest(parser.path),
        "spacy": version("spacy"),
    }


def identity_of(described: dict[str, str]) -> str:
    """What parses are kept under: all that decides what becomes of a text, on one kind of machine."""
    told = {name: described[name] for name in ("name", "version", "sha256", "spacy")}
    return json.dumps([FORMAT, version("thinc"), told], sort_keys=True)


def _digest(path: Path | None) -> str:
    """SHA-256 over the files of a pipeline, and their names; "" for one that has none."""
    digest = hashlib.sha256()
    files = [] if path is None else [each for each in Path(path).rglob("*") if each.is_file()]
    for file in sorted(each for each in files if each.suffix != ".pyc"):
        digest.update(f"{file.relative_to(str(path)).as_posix()}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as content:
            hashlib.file_digest(content, lambda: digest)  # goes on with the digest
    return digest.hexdigest() if files else ""
