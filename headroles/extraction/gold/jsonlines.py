"""Read documents from JSON lines or a JSON list: one object each, with words and any annotation of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from headroles.errors import BadInput
from headroles.extraction.gold.brackets import sort_mentions
from headroles.extraction.texts.files import Location, open_text
from headroles.extraction.texts.lines import join_words, sentence_starts
from headroles.extraction.texts.rows import read_json_objects
from headroles.extraction.texts.trees import check_tree
from headroles.records.documents import Document
from headroles.records.example import Mention

Span = tuple[int, int]


def read_jsonlines(path: Path, name: str) -> list[Document]:
    """Return one document per JSON object, with these fields; only ``words`` is required.

    Objects stand one a line, or in one list.

    - ``words``: the words.
    - ``document``: the document's name; by default the number of the document in the file, from 0.
    - ``sentences``: the number of words of each sentence; by default all words are one sentence.
    - ``heads``: the head of each word, numbered from 1 within its sentence as in CoNLL-U; 0 for the root.
    - ``relations``, ``tags``, ``features``: a string per word. Relations may also be called ``relns``, as in
      the data of Clark et al. (2019).
    - ``spaces``: whether a blank follows each word; by default one follows every word.
    - ``mentions``: pairs of first word and one past the last, from 0 over the document.
    - ``trees``, ``parser``: see ``parser_of``.
    - ``clusters``: lists of mentions that corefer. Each mention is a number, its place in ``mentions``
      from 0, or a pair. A mention in no cluster is of an entity of its own.

    Raises:
        BadInput: Naming file, line and rule.
    """
    with open_text(path) as lines:
        return [
            document_of(row, f"{name}/{row.get('document', place)}", path, number)
            for place, (number, row) in enumerate(read_json_objects(lines, path))
        ]


def parser_of(path: Location) -> str | None:
    """Return the parser that made the trees of a file of JSON objects; None unless its first one names one.

    Lines that ``headroles convert trees`` made of texts have the fields ``"trees": "automatic"`` and
    ``"parser"``; lines of annotators have neither.

    Raises:
        BadInput: When the file cannot be read.
    """
    with open_text(path) as lines:
        try:
            _, row = next(read_json_objects(lines, path))
        except BadInput:
            return None
    return parser_of_row(row)


def parser_of_row(row: Mapping[str, Any]) -> str | None:
    """Return the parser that made the trees of an object; None unless it names one, as ``parser_of`` says."""
    return str(row.get("parser", "a parser")) if row.get("trees") == "automatic" else None


def document_of(row: dict[str, Any], key: str, path: Location, number: int, *, group: str = "") -> Document:
    """Return the document of an object with the fields that ``read_jsonlines`` describes.

    Args:
        row: The object.
        key: Key of the document.
        path: File of the object, for errors.
        number: Its line, for errors.
        group: The unit the document belongs to; its key where "".

    Raises:
        BadInput: Naming file, line and rule.
    """
    place = f"{path}, line {number}"
    row = {"relations": row["relns"]} | row if "relns" in row else row
    words = _list_field(row, "words", str, None, place)
    if not words or not all(word.strip() for word in words):
        raise BadInput(f"{place}: 'words' is a list of at least one word, none of them blank")
    _check_characters(" ".join([*words, key]), place)
    count = len(words)
    lengths = _list_field(row, "sentences", int, None, place)
    lengths = [count] if lengths is None else lengths
    if sum(lengths) != count or min(lengths) < 1:
        raise BadInput(
            f"{place}: 'sentences' says how many words each sentence has, {count} in all and none without, "
            f"but got {lengths}"
        )
    text, spans = join_words(words, _list_field(row, "spaces", bool, count, place))
    heads = _list_field(row, "heads", int, count, place)
    relations, tags, features = (
        _list_field(row, field, str, count, place) for field in ("relations", "tags", "features")
    )
    return Document(
        key=key,
        text=text,
        spans=spans,
        words=tuple(words),
        sentences=sentence_starts(lengths),
        heads=None if heads is None else _document_heads(heads, lengths, path, number),
        relations=None if relations is None else tuple(relations),
        tags=None if tags is None else tuple(tags),
        features=None if features is None else tuple(features),
        mentions=mentions_of(row, count, place) if row.keys() & {"mentions", "clusters"} else None,
        group=group,
    )


def _list_field(
    row: dict[str, Any], field: str, kind: type, count: int | None, place: str
) -> list[Any] | None:
    """Return a field that is a list of one kind of value, of ``count`` values where a count is given."""
    values = row.get(field)
    if values is None:
        return None
    fits = isinstance(values, list) and all(type(value) is kind for value in values)
    if not fits or (count is not None and len(values) != count):
        size = "" if count is None else f" with one value per word ({count})"
        kinds = {str: "strings", int: "whole numbers", bool: "true and false"}[kind]
        given = f"{len(values)} values" if fits else f"{values!r:.60}"
        raise BadInput(f"{place}: {field!r} is a list of {kinds}{size}, but got {given}")
    listed: list[Any] = values
    return listed


def _check_characters(text: str, place: str) -> None:
    """Check that a text has no lone surrogate, which JSON can spell but no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            f"{place}: every text is Unicode, but one holds half a character (a lone surrogate); "
            f"mend or drop it"
        ) from error


def _document_heads(
    heads: Sequence[int], lengths: Sequence[int], path: Location, number: int
) -> Int[np.ndarray, " words"]:
    all_heads, at = [], 0
    for length in lengths:
        own = [head - 1 for head in heads[at : at + length]]
        check_tree(own, path, [number] * length)
        all_heads += [-1 if head < 0 else head + at for head in own]
        at += length
    return np.array(all_heads, dtype=np.int32)


def mentions_of(row: dict[str, Any], words: int, place: str) -> tuple[Mention, ...]:
    """Return the mentions of an object with ``mentions``, ``clusters`` or both, as ``read_jsonlines`` says.

    Args:
        row: The object.
        words: Number of its words.
        place: File and line, for errors.

    Raises:
        BadInput: Naming the place and the rule.
    """
    listed, clusters = ([] if row.get(field) is None else row[field] for field in ("mentions", "clusters"))
    if not isinstance(listed, list) or not isinstance(clusters, list):
        raise BadInput(f"{place}: 'mentions' and 'clusters' are lists, but got something else")
    spans = [_parse_span(pair, words, place) for pair in listed]
    entities: dict[Span, str] = {}
    for entity, cluster in enumerate(clusters):
        if not isinstance(cluster, list):
            raise BadInput(f"{place}: a cluster is a list of mentions, but got {cluster!r:.60}")
        for member in cluster:
            span = _member_span(member, spans, words, place)
            if entities.setdefault(span, str(entity)) != str(entity):
                raise BadInput(f"{place}: a mention is in one cluster, but {list(span)} is in two")
    for index, span in enumerate(spans):
        entities.setdefault(span, f"mention {index}")
    return sort_mentions([Mention(*span, entity) for span, entity in entities.items()])


def _member_span(member: object, spans: Sequence[Span], words: int, place: str) -> Span:
    if type(member) is not int:
        return _parse_span(member, words, place)
    if not 0 <= member < len(spans):
        raise BadInput(
            f"{place}: a cluster names mentions by their place in 'mentions', from 0 to {len(spans) - 1}, "
            f"or as pairs, but got {member}"
        )
    return spans[member]


def _parse_span(pair: object, words: int, place: str) -> Span:
    if isinstance(pair, list) and len(pair) == 2 and all(type(end) is int for end in pair):
        start, stop = pair
        if 0 <= start < stop <= words:
            return start, stop
    raise BadInput(
        f"{place}: a mention is a pair of its first word and one past its last, from 0 to {words}, "
        f"but got {pair!r:.60}"
    )
