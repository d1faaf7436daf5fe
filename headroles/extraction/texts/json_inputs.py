"""Read the inputs of ``headroles extract``: JSON objects with texts, words or tokens, all fields kept."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from headroles.errors import BadInput
from headroles.extraction.texts.files import open_text
from headroles.extraction.texts.lines import join_words
from headroles.extraction.texts.rows import read_json_objects
from headroles.extraction.texts.spelling import number_words
from headroles.extraction.texts.tokens import Tokenised, example_of, tokenise
from headroles.records.passage import Passage, Words

INPUT_FIELDS = ("text", "text_a", "words", "tokens")
"""Fields; every object has exactly one of them. With "text_a" it may have "text_b"."""
NO_TRUNCATION = 10**6


@dataclass(frozen=True, slots=True, eq=False)
class MapInput:
    """One input whose attention is stored.

    Attributes:
        row: The object as it was read.
        given: "text", "words" or "tokens".
        tokenised: Its pieces.
        word: Word of each piece, from 0 over all texts; −1 on special tokens, and on every piece of an
            object with "tokens".
    """

    row: dict[str, Any]
    given: str
    tokenised: Tokenised
    word: Int[np.ndarray, " tokens"]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSON list or of JSON lines, gzipped or not.

    Raises:
        BadInput: When the file is neither, naming the place.
    """
    with open_text(path) as file:
        return [row for _, row in read_json_objects(file, path)]


def name_groups(rows: Sequence[dict[str, Any]], field: str | None, place: str) -> list[dict[str, Any]]:
    """Return objects whose ``group`` is the value of another field; unchanged where none is named.

    Args:
        rows: The objects.
        field: Name of the field with the document or paragraph of each object, text or a whole number, or
            null where it is unknown; None to leave groups as they are.
        place: The file, for errors.

    Raises:
        BadInput: When an object has no such field, or something else in it.

    Example:
        >>> name_groups([{"text": "It rains.", "page": 7}], "page", "texts.json")
        [{'text': 'It rains.', 'page': 7, 'group': '7'}]
    """
    if field is None:
        return list(rows)
    named = []
    for number, row in enumerate(rows):
        unit = group_in(row, field, f"{place}, object {number}")
        named.append({name: value for name, value in row.items() if name != "group"})
        named[-1] |= {} if unit is None else {"group": unit}
    return named


def group_in(row: dict[str, Any], field: str, place: str) -> str | None:
    """Return the document or paragraph of an object, which a field names; None where it is unknown.

    Args:
        row: The object.
        field: The field: text or a whole number, or null.
        place: Of the object, for errors.

    Raises:
        BadInput: When there is no such field, or something else in it.
    """
    if field not in row:
        raise BadInput(
            f"{place}: the field {field!r} is needed but not there; fields: "
            f"{', '.join(map(str, row)) or 'none'}"
        )
    unit = row[field]
    if unit is not None and (isinstance(unit, bool) or not isinstance(unit, str | int)):
        raise BadInput(
            f"{place}: {field!r} is a name or a whole number, or null where it is unknown, but got "
            f"{unit!r:.40}"
        )
    return None if unit is None else str(unit).strip() or None


def split_sentences(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return documents with dependency trees as one object for each sentence, as probes read them.

    Heads are counted within their sentence, so they stay as they are. A document with mentions, which may
    corefer over sentences, stays whole; so does an object that does not say how long its sentences are.

    Example:
        >>> row = {"document": "d", "words": ["a", "b", "c"], "sentences": [1, 2], "heads": [0, 0, 1]}
        >>> [(part["key"], part["words"], part["heads"]) for part in split_sentences([row])]
        [('d@0', ['a'], [0]), ('d@1', ['b', 'c'], [0, 1])]
    """
    parts: list[dict[str, Any]] = []
    for number, row in enumerate(rows):
        ends = np.cumsum([0, *_sentence_lengths(row)]).tolist()
        if len(ends) < 3:
            parts.append(row)
            continue
        by_word = {name for name, value in row.items() if isinstance(value, list) and len(value) == ends[-1]}
        document = str(row.get("document", number))
        for start, stop in pairwise(ends):
            own = {name: value[start:stop] if name in by_word else value for name, value in row.items()}
            names = {"key": f"{document}@{start}", "group": row.get("group", document)}
            parts.append(own | {"sentences": [stop - start]} | names)
    return parts


def _sentence_lengths(row: dict[str, Any]) -> list[int]:
    """Return the words of each sentence of a document that can be split; empty for any other object."""
    words, lengths = row.get("words"), row.get("sentences")
    if "heads" not in row or not row.keys().isdisjoint(("mentions", "clusters", "key")):
        return []
    if not isinstance(words, list) or not isinstance(lengths, list):
        return []
    plain = all(type(length) is int and length > 0 for length in lengths)
    return lengths if plain and sum(lengths) == len(words) else []


def encode_json(kept: Any, place: str) -> str:
    """Return a value as JSON text, in the form of the list of examples.

    Raises:
        BadInput: When JSON in UTF-8 cannot hold it: NaN, an infinite number, half a character (a lone
            surrogate), or lists nested too deeply.
    """
    try:
        text = json.dumps(kept, ensure_ascii=False, indent=1, allow_nan=False)
        text.encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise BadInput(
            f"{place}: all fields are kept as JSON in UTF-8, but some cannot be written so ({error}); mend "
            f"or drop them"
        ) from error
    return text


def map_inputs(
    tokenizer: Any, rows: Sequence[dict[str, Any]], place: str, numbers: Sequence[int] | None = None
) -> list[MapInput]:
    """Tokenise objects without truncation.

    Args:
        tokenizer: Of the model.
        rows: Each with exactly one of "text" (a string, or a list of two for a pair), "text_a" (a string,
            with "text_b" for a pair), "words" (strings) or "tokens" (the tokenizer's own, special tokens
            included).
        place: The file or object, for errors.
        numbers: Number of each object in the file; None for those from 0 on.

    Raises:
        BadInput: Naming the object and the rule it breaks.
    """
    numbered = zip(range(len(rows)) if numbers is None else numbers, rows, strict=True)
    return [_input(tokenizer, row, f"{place}, object {number}", number) for number, row in numbered]


def given_texts(row: dict[str, Any], place: str) -> tuple[str, list[str]]:
    """Return which field an object has, "text", "words" or "tokens", and its strings; two texts are a pair.

    Args:
        row: The object.
        place: Of the object, for errors.

    Raises:
        BadInput: When it has none of the fields or several, or something else in it.

    Example:
        >>> given_texts({"text_a": "Does it rain?", "text_b": "It rains."}, "x.json, object 0")
        ('text', ['Does it rain?', 'It rains.'])
    """
    fields = [name for name in INPUT_FIELDS if name in row]
    if len(fields) != 1:
        raise BadInput(
            f"{place}: each object has exactly one of {', '.join(INPUT_FIELDS)}, but "
            f"got {' and '.join(fields) or 'none'}; fields: {', '.join(map(str, row)) or 'none'}"
        )
    if "text_b" in row and fields != ["text_a"]:
        raise BadInput(f"{place}: 'text_b' is the second text of 'text_a', but got it with {fields[0]!r}")
    given, value = fields[0], row[fields[0]]
    if given == "text_a":
        given, value = "text", [row[name] for name in ("text_a", "text_b") if name in row]
    strings = value if isinstance(value, list) else [value]
    blank = not strings or any(not isinstance(string, str) or not string.strip() for string in strings)
    wide = given == "text" and isinstance(value, list) and len(value) != 2 and fields != ["text_a"]
    if blank or wide or (given != "text" and not isinstance(value, list)):
        wanted = "a list of strings" if given != "text" else "a string, or a list of two"
        wanted = "a string, like 'text_b'" if fields == ["text_a"] else wanted
        raise BadInput(f"{place}: {fields[0]!r} is {wanted}, none blank, but got {value!r:.80}")
    return given, strings


def _input(tokenizer: Any, row: dict[str, Any], place: str, number: int) -> MapInput:
    given, strings = given_texts(row, place)
    encode_json(row, place)  # fail here rather than after all maps are computed
    key, group = str(row.get("key", number)), row.get("group")
    unit = None if group is None else str(group)
    if given == "tokens":
        tokenised = use_tokens(tokenizer, Passage(key, (" ".join(strings),), unit), strings, place)
        return MapInput(row, given, tokenised, np.full(tokenised.size, -1, dtype=np.int32))
    if given == "words":
        text, spans = join_words(strings, spaces_after(row.get("spaces"), len(strings), place))
        words = Words(spans, np.full(len(strings), -1, dtype=np.int32), ("",) * len(strings))
        tokenised = tokenise(tokenizer, [Passage(key, (text,), unit, (words,))], NO_TRUNCATION)[0]
        return MapInput(row, given, tokenised, example_of(tokenised, (words,), arcs=False).word)
    tokenised = tokenise(tokenizer, [Passage(key, tuple(strings), unit)], NO_TRUNCATION)[0]
    return MapInput(row, given, tokenised, number_words(tokenised))


def spaces_after(value: Any, count: int, place: str) -> list[bool] | None:
    """Return whether a blank follows each word, where the object says so.

    Raises:
        BadInput: When it is not one truth value for each of the ``count`` words.
    """
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != count or not all(type(flag) is bool for flag in value):
        raise BadInput(
            f"{place}: 'spaces' says of each of its {count} words whether a blank follows it, true or false, "
            f"but got {value!r:.60}"
        )
    return value


def use_tokens(tokenizer: Any, passage: Passage, tokens: Sequence[str], place: str) -> Tokenised:
    """Return given tokens as a model reads them; special tokens are those that the tokenizer lists.

    A text ends at a special token, and the second text follows it. Unknown words and masks are part of
    a text.

    Raises:
        BadInput: When the tokenizer does not know a token.
    """
    vocabulary = tokenizer.get_vocab()
    unknown = [token for token in tokens if token not in vocabulary]
    if unknown:
        raise BadInput(
            f"{place}: every token is one of the model's vocabulary, but {unknown[0]!r} is not; give 'words' "
            f"or 'text' to have them made"
        )
    inner = {getattr(tokenizer, name, None) for name in ("unk_token", "mask_token")}
    specials = {*tokenizer.all_special_tokens} - inner
    special = np.array([token in specials for token in tokens])
    starts = ~special & np.concatenate([[True], special[:-1]])
    texts = np.where(special, -1, np.cumsum(starts) - 1).astype(np.int32)
    ids = [vocabulary[token] for token in tokens]
    segments = np.maximum(0, np.cumsum(starts) - 1)
    inputs = {"input_ids": ids}
    if "token_type_ids" in tokenizer.model_input_names:
        inputs["token_type_ids"] = np.minimum(segments, 1).tolist()
    return Tokenised(
        passage=replace(passage, texts=(passage.texts[0],)),
        inputs=inputs,
        tokens=tuple(tokens),
        texts=texts,
        spans=np.zeros((len(tokens), 2), dtype=np.int64),
        class_id=np.array(ids) == getattr(tokenizer, "cls_token_id", None),
        truncated=False,
    )
