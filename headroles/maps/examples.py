"""Read the list of examples for a file of attention maps: tokens, words, trees and visible keys."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool

from headroles.errors import BadInput
from headroles.extraction.gold.jsonlines import mentions_of
from headroles.extraction.texts.tokens import Tokenised
from headroles.records.example import Mention
from headroles.records.passage import Passage, Words

Reach = tuple[int | None, int | None]
"""Smallest and largest offset (key minus query) that queries see; None where nothing ends it."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """First and last key that each query sees; the last before the first where it sees none."""

    first: tuple[int, ...]
    last: tuple[int, ...]


def read_reach(value: object, size: int) -> Reach | Bounds | None:
    """Read the keys that queries of a layer see, as two offsets or two keys per query; None otherwise.

    Example:
        >>> read_reach([None, 0], 3), read_reach([[0, 0], [0, 1]], 2), read_reach([0], 3)
        ((None, 0), Bounds(first=(0, 0), last=(0, 1)), None)
    """
    if not isinstance(value, list):
        return None
    if len(value) == 2 and all(offset is None or type(offset) is int for offset in value):
        return value[0], value[1]
    pairs = [pair for pair in value if isinstance(pair, list) and len(pair) == 2]
    if len(value) != size or len(pairs) != size:
        return None
    if not all(type(key) is int and -1 <= key < size for pair in pairs for key in pair):
        return None
    return Bounds(tuple(first for first, _ in pairs), tuple(last for _, last in pairs))


def visible_mask(rule: Reach | Bounds, size: int) -> Bool[np.ndarray, "queries keys"] | None:
    """Return which keys each query sees, as a mask; None for all keys.

    Example:
        >>> visible_mask((0, 1), 3).tolist()
        [[True, True, False], [False, True, True], [False, False, True]]
    """
    positions = np.arange(size)
    if isinstance(rule, Bounds):
        first, last = np.array(rule.first)[:, None], np.array(rule.last)[:, None]
    else:
        low, high = rule
        if low is None and high is None:
            return None
        first = positions[:, None] + (-size if low is None else np.clip(low, -size, size))
        last = positions[:, None] + (size if high is None else np.clip(high, -size, size))
    seen: np.ndarray = (positions >= first) & (positions <= last)
    return seen


@dataclass(frozen=True, slots=True, eq=False)
class MapExample:
    """One example of stored maps.

    Attributes:
        array: Name of the array of its maps.
        tokenised: Its tokens (or words, where maps are of words), with the word of each token where the list
            gives it. The passage has the tree of the list as its words. It has no words, an empty tuple,
            where there is neither a tree nor a text to parse, and None where its texts can be parsed.
        reach: Keys that queries see, by layer; None where not given.
    """

    array: str
    tokenised: Tokenised
    reach: tuple[Reach | Bounds, ...] | None

    def visible(self, layer: int) -> Bool[np.ndarray, "tokens tokens"] | None:
        """Return which keys the queries of a layer see, where given; None for all keys."""
        if self.reach is None:
            return None
        return visible_mask(self.reach[layer], self.tokenised.size)


@dataclass(frozen=True, slots=True, eq=False)
class MapList:
    """All examples of a file of maps.

    Attributes:
        examples: The examples in order.
        model: Description of the model; empty where the list has none.
        sinks: Whether rows may sum to less than 1, because part of the attention went to a sink.
        sha256: SHA-256 of the file of maps that belongs to the list; None where the list has none.
    """

    examples: tuple[MapExample, ...]
    model: dict[str, Any]
    sinks: bool
    sha256: str | None


def read_map_list(path: Path, name: str) -> MapList:
    """Read the list of a file of maps: ``maps.json`` for ``maps.npz``.

    It is a JSON list of objects, or an object whose ``examples`` is one. Each object has ``tokens``, and may
    have

    - ``attns``: name of its array; its place in the list where absent;
    - ``key``, ``group``: name and unit;
    - ``segment``: text of each token from 0, −1 on special tokens; one text and no special tokens where
      absent;
    - ``first``: positions of class tokens; a special token that opens the input where absent;
    - ``word``: word of each token, −1 for none;
    - ``heads``, ``relations`` (or ``relns``): a tree over the words of one text, heads from 1 as in CoNLL-U,
      0 for the root; with ``sentences``, their numbers of words, heads count within each;
    - ``mentions``, ``clusters``: mentions of the words, as in JSON lines of gold annotation;
    - ``texts``, ``spans``: characters of each token in its text. Texts without a tree and mentions can be
      parsed;
    - ``visible``: for each layer the smallest and largest offset that queries see, null for no end, or a
      pair for each query: the first and last key it sees. All keys, or read from the maps, where absent.

    Args:
        path: File of the maps.
        name: First part of the keys.

    Raises:
        BadInput: When the list is missing or breaks a rule; the message names the example.
    """
    list_file = path.with_suffix(".json")
    document, rows = read_list_rows(path)
    examples = examples_of(rows, list_file, name)
    model, digest = document.get("model"), document.get("sha256")
    return MapList(
        examples,
        dict(model) if isinstance(model, dict) else {},
        document.get("sinks") is True,
        digest if isinstance(digest, str) else None,
    )


def examples_of(rows: Sequence[dict[str, Any]], list_file: Path, name: str) -> tuple[MapExample, ...]:
    """Read the objects of a list as examples, and check that every one has a key of its own.

    Args:
        rows: The objects.
        list_file: File of the list, for messages.
        name: First part of the keys.

    Raises:
        BadInput: When an object breaks a rule; the message names the example.
    """
    examples = tuple(
        _example(row, f"{list_file}, example {number}", name, number) for number, row in enumerate(rows)
    )
    keys = [example.tokenised.passage.key for example in examples]
    twice = next((key for key in keys if keys.count(key) > 1), None) if len(set(keys)) < len(keys) else None
    if twice is not None:
        raise BadInput(f"'{list_file}': every example has a key of its own, but {twice!r} is there twice")
    return examples


def read_list_rows(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Read the list of a file of maps: all of it, and the object of each example.

    Args:
        path: File of the maps.

    Raises:
        BadInput: When the list is missing, or is not a list of objects.
    """
    list_file = path.with_suffix(".json")
    content = _json_in(list_file)
    document = content if isinstance(content, dict) else {"examples": content}
    rows = document.get("examples")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise BadInput(
            f"'{list_file}' must hold a list of at least one object, or an object whose 'examples' is one"
        )
    return document, rows


def _json_in(list_file: Path) -> object:
    """Read a list as JSON, and check that it can be written again."""
    try:
        text = list_file.read_text(encoding="utf-8")
        content: object = json.loads(text, parse_constant=_no_number)
        if "\\ud" in text.lower():  # how JSON spells halves of characters
            json.dumps(content, ensure_ascii=False).encode()
    except FileNotFoundError as error:
        raise BadInput(
            f"maps need a list of their inputs, but there is no '{list_file}'; write one (a JSON list of "
            f'objects such as {{"tokens": ["it", "rains"]}}), or make the maps by headroles extract'
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"'{list_file}' must be JSON in UTF-8, but it cannot be read: {error}") from error
    return content


def _no_number(name: str) -> float:
    """Refuse NaN and infinities, which Python reads but JSON does not allow."""
    raise ValueError(f"{name} is not a number that JSON allows")


def _example(row: dict[str, Any], place: str, name: str, number: int) -> MapExample:
    """Read an example, and check its fields."""
    tokens = _strings(row, "tokens", place) or []
    if not tokens:
        raise BadInput(
            f"{place}: 'tokens' is a list of at least one string; fields: {', '.join(row) or 'none'}"
        )
    n = len(tokens)
    segment = _numbers(row, "segment", (n,), place)
    if segment is not None and not -1 <= segment.min() <= segment.max() < n:
        raise BadInput(
            f"{place}: 'segment' counts texts from 0, with -1 for none, but got {segment.tolist()!r:.60}"
        )
    texts = np.zeros(n, dtype=np.int32) if segment is None else segment.astype(np.int32)
    first = np.zeros(n, dtype=np.bool_)
    opening = row.get("first") or []
    if not isinstance(opening, list) or any(
        type(position) is not int or not 0 <= position < n for position in opening
    ):
        raise BadInput(f"{place}: 'first' holds places of tokens from 0 to {n - 1}, but got {opening!r:.40}")
    first[opening] = True
    word = _numbers(row, "word", (n,), place)
    known_texts, spans = _strings(row, "texts", place), _numbers(row, "spans", (n, 2), place)
    if known_texts is None or spans is None:
        known_texts, spans = [" ".join(tokens)], np.zeros((n, 2), dtype=np.int64)
    else:
        _check_spans(known_texts, spans, texts, place)
    key = _name_in(row, "key", place)
    full_key = f"{name}/{number if key is None else key}"
    tree, mentions = _tree(row, word, place), _mentions(row, word, place)
    words: tuple[Words, ...] | None = None if tree is None else (tree,)
    if words is None and (mentions is not None or not spans.any()):  # words are those of the list, if any
        words, word = (), np.full(n, -1) if word is None else word
    passage = Passage(full_key, tuple(known_texts), _name_in(row, "group", place), words, mentions)
    tokenised = Tokenised(passage, {}, tuple(tokens), texts, spans, first, False, word=word)
    array = row.get("attns", str(number))
    if not isinstance(array, str):
        raise BadInput(f"{place}: 'attns' is the name of an array, but got a {type(array).__name__}")
    return MapExample(array, tokenised, _reach(row, n, place))


def _name_in(row: dict[str, Any], field: str, place: str) -> str | None:
    """Return a key or group as text; None where it is not given."""
    value = row.get(field)
    if value is None:
        return None
    if not isinstance(value, str | int):
        raise BadInput(f"{place}: {field!r} is a name or a whole number, but got {value!r:.40}")
    return str(value)


def _check_spans(texts: Sequence[str], spans: np.ndarray, segment: np.ndarray, place: str) -> None:
    """Check that spans lie within their texts; special tokens belong to no text."""
    for token, text in enumerate(segment.tolist()):
        if text < 0:
            continue
        start, stop = spans[token].tolist()
        if text >= len(texts) or not 0 <= start <= stop <= len(texts[text]):
            raise BadInput(
                f"{place}: 'spans' holds the first character of each token in its text and the one after its "
                f"last, but token {token} has {[start, stop]} in text {text} of {len(texts)}"
            )


def _tree(row: dict[str, Any], word: np.ndarray | None, place: str) -> Words | None:
    """Read the tree of an example; None without heads, relations and words."""
    relations, heads = _strings(row, "relations" if "relations" in row else "relns", place), row.get("heads")
    if relations is None or heads is None or word is None:
        return None
    count = len(relations)
    lengths = row.get("sentences", [count])
    sentences = isinstance(lengths, list) and all(type(length) is int and length >= 0 for length in lengths)
    if not sentences or sum(lengths) != count:
        raise BadInput(
            f"{place}: 'sentences' is the number of words of each sentence, {count} in all, but got "
            f"{lengths!r:.60}"
        )
    sizes, starts = np.repeat(lengths, lengths), np.repeat(np.cumsum(lengths) - lengths, lengths)
    fits = isinstance(heads, list) and len(heads) == count and all(type(head) is int for head in heads)
    fits = fits and all(0 <= head <= size for head, size in zip(heads, sizes.tolist(), strict=True))
    if not fits or word.max(initial=-1) >= count:
        raise BadInput(
            f"{place}: 'heads' and 'relations' have one value for each word, heads from 0 to {count}, but "
            f"got {heads!r:.60} for words up to {int(word.max(initial=-1))}"
        )
    own = np.array(heads, dtype=np.int64)
    inside = np.where(own > 0, own - 1 + starts, -1).astype(np.int32)
    return Words(np.zeros((count, 2), dtype=np.int32), inside, tuple(relations))


def _mentions(row: dict[str, Any], word: np.ndarray | None, place: str) -> tuple[Mention, ...] | None:
    """Read the mentions of entities of an example; None where not given, or without words."""
    if word is None or not row.keys() & {"mentions", "clusters"}:
        return None
    return mentions_of(row, int(word.max(initial=-1)) + 1, place)


def _reach(row: dict[str, Any], n: int, place: str) -> tuple[Reach | Bounds, ...] | None:
    """Read the keys that queries of each layer see; None where not given."""
    value = row.get("visible")
    if value is None:
        return None
    rules_found = [read_reach(layer, n) for layer in value] if isinstance(value, list) else []
    rules = tuple(rule for rule in rules_found if rule is not None)
    if len(rules) < len(rules_found) or not isinstance(value, list):
        raise BadInput(
            f"{place}: 'visible' is a list with the smallest and largest offset of each layer (null for no "
            f"end), or with the first and last key of each of its {n} rows, but got {value!r:.60}"
        )
    return rules


def _strings(row: dict[str, Any], field: str, place: str) -> list[str] | None:
    """Read a field that is a list of strings; None where not given."""
    value = row.get(field)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise BadInput(f"{place}: {field!r} is a list of strings, but got {value!r:.60}")
    return value


def _numbers(row: dict[str, Any], field: str, shape: Sequence[int], place: str) -> np.ndarray | None:
    """Read a field of whole numbers as an array of this shape; None where not given."""
    value = row.get(field)
    if value is None:
        return None
    try:
        array = np.array(value)
    except ValueError:
        array = np.array("")
    if array.shape != tuple(shape) or array.dtype.kind != "i":
        raise BadInput(
            f"{place}: {field!r} holds whole numbers for each of its {shape[0]} tokens, but got {value!r:.60}"
        )
    return array.astype(np.int64)
