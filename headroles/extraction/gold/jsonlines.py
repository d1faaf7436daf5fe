"""Documents as JSON lines: one object each, with words and whatever is annotated of them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from headroles.errors import BadInput
from headroles.extraction.gold.brackets import in_order
from headroles.extraction.texts.lines import firsts, laid_out, numbered
from headroles.extraction.texts.trees import check_tree
from headroles.records.documents import Document, Mention

Span = tuple[int, int]


def read_jsonlines(path: Path, name: str) -> list[Document]:
    """One document per line, a JSON object with these fields, of which only ``words`` is required.

    - ``words``: the words.
    - ``document``: the document's name; the number of the line, from 0, where absent.
    - ``sentences``: how many words each sentence has; one sentence where absent.
    - ``heads``: the head of each word, numbered from 1 within its sentence as in CoNLL-U; 0 for the root.
    - ``relations``, ``tags``, ``features``: a string per word.
    - ``spaces``: whether a blank follows each word; one follows each where absent.
    - ``mentions``: pairs of first word and one past the last, from 0 over the document.
    - ``trees``, ``parser``: see ``parser_of``.
    - ``clusters``: lists of mentions that corefer, each mention given by its place in ``mentions``, from
      0, or as a pair of its own. A mention in no cluster is of an entity of its own.

    Raises:
        BadInput: Naming file, line and rule.
    """
    documents: list[Document] = []
    for number, line in numbered(path):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise BadInput(f"{path}, line {number}: each line is one JSON object, but {error}") from error
        if not isinstance(row, dict):
            raise BadInput(
                f"{path}, line {number}: each line is one JSON object, but a {type(row).__name__} came"
            )
        documents.append(_document(row, path, number, f"{name}/{row.get('document', len(documents))}"))
    return documents


def parser_of(path: Path) -> str | None:
    """The parser that made the trees of a file of JSON lines; None unless its first line says so.

    Lines that ``headroles preprocess depparse`` made of texts have the fields ``"trees": "automatic"`` and
    ``"parser"``; what annotators made has neither.

    Raises:
        BadInput: When the file cannot be read.
    """
    first = next((line for _, line in numbered(path) if line.strip()), "")
    try:
        row = json.loads(first)
    except (json.JSONDecodeError, RecursionError):
        return None
    said = isinstance(row, dict) and row.get("trees") == "automatic"
    return str(row.get("parser", "a parser")) if said else None


def _document(row: dict[str, Any], path: Path, number: int, key: str) -> Document:
    place = f"{path}, line {number}"
    words = _listed(row, "words", str, None, place)
    if not words or not all(word.strip() for word in words):
        raise BadInput(f"{place}: 'words' is a list of at least one word, none of them blank")
    _check_characters(" ".join([*words, key]), place)
    count = len(words)
    lengths = _listed(row, "sentences", int, None, place)
    lengths = [count] if lengths is None else lengths
    if sum(lengths) != count or min(lengths) < 1:
        raise BadInput(
            f"{place}: 'sentences' says how many words each sentence has, {count} in all and none without, "
            f"but {lengths} came"
        )
    text, spans = laid_out(words, _listed(row, "spaces", bool, count, place))
    heads = _listed(row, "heads", int, count, place)
    relations, tags, features = (
        _listed(row, each, str, count, place) for each in ("relations", "tags", "features")
    )
    return Document(
        key=key,
        text=text,
        spans=spans,
        words=tuple(words),
        sentences=firsts(lengths),
        heads=None if heads is None else _heads(heads, lengths, path, number),
        relations=None if relations is None else tuple(relations),
        tags=None if tags is None else tuple(tags),
        features=None if features is None else tuple(features),
        mentions=_mentions(row, count, place) if row.keys() & {"mentions", "clusters"} else None,
    )


def _listed(row: dict[str, Any], field: str, kind: type, count: int | None, place: str) -> list[Any] | None:
    """A field that is a list of one kind of value, with one per word where ``count`` says how many."""
    values = row.get(field)
    if values is None:
        return None
    fits = isinstance(values, list) and all(type(value) is kind for value in values)
    if not fits or (count is not None and len(values) != count):
        size = "" if count is None else f" with one value per word ({count})"
        kinds = {str: "strings", int: "whole numbers", bool: "true and false"}[kind]
        came = f"{len(values)} values" if fits else f"{values!r:.60}"
        raise BadInput(f"{place}: {field!r} is a list of {kinds}{size}, but {came} came")
    listed: list[Any] = values
    return listed


def _check_characters(text: str, place: str) -> None:
    """Refuse half of a surrogate pair, which JSON can spell and no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            f"{place}: every text is Unicode, but one holds half a character (a lone surrogate); "
            f"mend or drop it"
        ) from error


def _heads(
    heads: Sequence[int], lengths: Sequence[int], path: Path, number: int
) -> Int[np.ndarray, " words"]:
    whole, at = [], 0
    for length in lengths:
        own = [head - 1 for head in heads[at : at + length]]
        check_tree(own, path, [number] * length)
        whole += [-1 if head < 0 else head + at for head in own]
        at += length
    return np.array(whole, dtype=np.int32)


def _mentions(row: dict[str, Any], words: int, place: str) -> tuple[Mention, ...]:
    listed, clusters = ([] if row.get(each) is None else row[each] for each in ("mentions", "clusters"))
    if not isinstance(listed, list) or not isinstance(clusters, list):
        raise BadInput(f"{place}: 'mentions' and 'clusters' are lists, but something else came")
    spans = [_span(each, words, place) for each in listed]
    entities: dict[Span, str] = {}
    for entity, cluster in enumerate(clusters):
        if not isinstance(cluster, list):
            raise BadInput(f"{place}: a cluster is a list of mentions, but {cluster!r:.60} came")
        for member in cluster:
            span = _member(member, spans, words, place)
            if entities.setdefault(span, str(entity)) != str(entity):
                raise BadInput(f"{place}: a mention is in one cluster, but {list(span)} is in two")
    for index, span in enumerate(spans):
        entities.setdefault(span, f"mention {index}")
    return in_order([Mention(*span, entity) for span, entity in entities.items()])


def _member(member: object, spans: Sequence[Span], words: int, place: str) -> Span:
    if type(member) is not int:
        return _span(member, words, place)
    if not 0 <= member < len(spans):
        raise BadInput(
            f"{place}: a cluster names mentions by their place in 'mentions', from 0 to {len(spans) - 1}, "
            f"or as pairs, but {member} came"
        )
    return spans[member]


def _span(pair: object, words: int, place: str) -> Span:
    if isinstance(pair, list) and len(pair) == 2 and all(type(each) is int for each in pair):
        start, stop = pair
        if 0 <= start < stop <= words:
            return start, stop
    raise BadInput(
        f"{place}: a mention is a pair of its first word and one past its last, from 0 to {words}, "
        f"but {pair!r:.60} came"
    )
