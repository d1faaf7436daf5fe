"""Read the gold annotation of stored maps from their list, for probes: words, trees and mentions."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from headroles.errors import BadInput
from headroles.extraction.gold.jsonlines import document_of
from headroles.extraction.texts.pieces import pieces_of_words
from headroles.extraction.texts.tokens import Tokenised
from headroles.maps.examples import read_list_rows, read_map_list
from headroles.records.documents import Document

MARK = re.compile("^(##|▁|Ġ)(?=.)", re.DOTALL)
"""Marks at the start of pieces, which are no part of the word."""


def read_map_documents(file: Path, name: str) -> list[Document]:
    """Return the annotation of each example of a file of maps, one document each, in their order.

    Words are those of the field ``words``, or else spelled from texts or tokens. Heads, relations, sentences,
    tags, features and mentions are those of fields as ``read_jsonlines`` describes them. A document has the
    key of its example, and its group.

    Args:
        file: File of the maps, with its list next to it.
        name: First part of the keys.

    Raises:
        BadInput: When the list cannot be read, an example does not say to which word each token belongs, or
            its annotation breaks a rule.
    """
    listed, (_, rows) = read_map_list(file, name), read_list_rows(file)
    place = f"{file.with_suffix('.json')}, example"
    pairs = enumerate(zip(listed.examples, rows, strict=True))
    return [_document(example.tokenised, row, f"{place} {number}") for number, (example, row) in pairs]


def _document(given: Tokenised, row: dict[str, Any], place: str) -> Document:
    """Return the annotation of one example."""
    if given.word is None or given.word.max(initial=-1) < 0:
        raise BadInput(
            f"{place}: probes need the word of each token, but the list does not have it; give 'word' in "
            "it, with 'heads' and 'relations', or 'mentions' and 'clusters'"
        )
    words = row.get("words", _spelled_words(given, len(row.get("relations", row.get("relns")) or ())))
    annotation = {field: value for field, value in row.items() if field != "spaces"} | {"words": words}
    document = document_of(annotation, given.passage.key, place, 1, group=given.passage.group or "")
    if given.word.max() >= len(document.words):
        raise BadInput(
            f"{place}: tokens belong to words from 0 to {len(document.words) - 1}, as many as 'words' has, "
            f"but 'word' goes up to {given.word.max()}"
        )
    return replace(document, tokenless=pieces_of_words(given.word, len(document.words)) == 0)


def _spelled_words(given: Tokenised, least: int) -> list[str]:
    """Return the words of an example, at least so many, from its text or tokens; "_" for words of none."""
    assert given.word is not None
    words = [""] * max(least, int(given.word.max()) + 1)
    for token, number, text, (start, stop) in zip(
        given.tokens, given.word.tolist(), given.texts.tolist(), given.spans.tolist(), strict=True
    ):
        if number >= 0:
            known = stop > start and 0 <= text < len(given.passage.texts)
            words[number] += given.passage.texts[text][start:stop] if known else MARK.sub("", token)
    return [word.strip() or "_" for word in words]
