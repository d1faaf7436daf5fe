"""What stored attention maps are of: the list of examples beside a file of maps.

What the queries of stored maps see, as the list of their examples says it of each layer.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool

from headroles.errors import BadInput
from headroles.extraction.texts.tokens import Tokenised
from headroles.records.passage import Passage, Words

Reach = tuple[int | None, int | None]
"""Smallest and largest offset (key minus query) that queries see; None where nothing ends it."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """First and last key that each query sees; the last before the first where it sees none."""

    first: tuple[int, ...]
    last: tuple[int, ...]


def rule_of(value: object, size: int) -> Reach | Bounds | None:
    """What the queries of a layer see, as a list of two offsets or of two keys per query; None for all else.

    Example:
        >>> rule_of([None, 0], 3), rule_of([[0, 0], [0, 1]], 2), rule_of([0], 3)
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


def seen_by(rule: Reach | Bounds, size: int) -> Bool[np.ndarray, "queries keys"] | None:
    """Which keys each of so many queries sees; None for all.

    Example:
        >>> seen_by((0, 1), 3).tolist()
        [[True, True, False], [False, True, True], [False, False, True]]
    """
    place = np.arange(size)
    if isinstance(rule, Bounds):
        first, last = np.array(rule.first)[:, None], np.array(rule.last)[:, None]
    else:
        low, high = rule
        if low is None and high is None:
            return None
        first = place[:, None] + (-size if low is None else np.clip(low, -size, size))
        last = place[:, None] + (size if high is None else np.clip(high, -size, size))
    seen: np.ndarray = (place >= first) & (place <= last)
    return seen


@dataclass(frozen=True, slots=True, eq=False)
class MapExample:
    """One input of stored maps.

    Attributes:
        array: Name of its maps.
        tokenised: Its tokens (or words, where maps are of words); spans are 0 where no text is known.
        word: Word of each token, from 0 over all texts, −1 on special tokens; None where not said.
        tree: Head (−1 for a root) and relation of each word, where they came along; else None.
        reach: What queries see, by layer; None where not said.
    """

    array: str
    tokenised: Tokenised
    word: np.ndarray | None
    tree: Words | None
    reach: tuple[Reach | Bounds, ...] | None

    @property
    def parsable(self) -> bool:
        """Whether texts and character spans are known, so that they can be parsed."""
        return bool(self.tokenised.spans.any())

    def visible(self, layer: int) -> Bool[np.ndarray, "tokens tokens"] | None:
        """What queries of a layer see, where it was said; None for all keys."""
        if self.reach is None:
            return None
        return seen_by(self.reach[layer], self.tokenised.size)


@dataclass(frozen=True, slots=True, eq=False)
class MapList:
    """All examples of a file of maps.

    Attributes:
        examples: In their order.
        model: What the list says of the model; empty where it says nothing.
        sinks: Whether rows may sum to less than 1, because part of the attention went to a sink.
        sha256: Of the file of maps that the list was written with; None where it does not say.
    """

    examples: tuple[MapExample, ...]
    model: dict[str, Any]
    sinks: bool
    sha256: str | None


def read_map_list(path: Path, name: str) -> MapList:
    """The list of a file of maps: ``maps.json`` beside ``maps.npz``.

    A JSON list of objects, or an object whose ``examples`` is one. Each object has ``tokens``, and may
    have ``attns`` (name of its array; its place in the list where absent), ``key``, ``group``,
    ``segment`` (text of each token from 0, −1 on special tokens; one text and no special tokens where
    absent), ``first`` (places of class tokens; a special token that opens the input where absent),
    ``word`` (word of each token, −1 for none), ``heads`` and ``relations`` (a tree over the words, heads
    from 1 as in CoNLL-U, 0 for the root; of one text), ``texts`` and ``spans`` (characters of each token
    in its text, so that texts can be parsed), and ``visible`` (for each layer the smallest and largest
    offset that queries see, null for no end, or a pair for each query: the first and last key it sees; all
    keys, or read from the maps, where absent).

    Args:
        path: Of the maps.
        name: First part of the keys.

    Raises:
        BadInput: When it is missing or breaks a rule, naming the example.
    """
    beside = path.with_suffix(".json")
    content = _json_in(beside)
    whole = content if isinstance(content, dict) else {"examples": content}
    rows = whole.get("examples")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise BadInput(
            f"'{beside}' must hold a list of at least one object, or an object whose 'examples' is one"
        )
    examples = tuple(
        _example(row, f"{beside}, example {number}", name, number) for number, row in enumerate(rows)
    )
    keys = [example.tokenised.passage.key for example in examples]
    twice = next((key for key in keys if keys.count(key) > 1), None) if len(set(keys)) < len(keys) else None
    if twice is not None:
        raise BadInput(f"'{beside}': every example has a key of its own, but {twice!r} came twice")
    model, digest = whole.get("model"), whole.get("sha256")
    return MapList(
        examples,
        dict(model) if isinstance(model, dict) else {},
        whole.get("sinks") is True,
        digest if isinstance(digest, str) else None,
    )


def _json_in(beside: Path) -> object:
    """What a list holds, when it is JSON that can be written again."""
    try:
        text = beside.read_text(encoding="utf-8")
        content: object = json.loads(text, parse_constant=_no_number)
        if "\\ud" in text.lower():  # how JSON spells halves of characters
            json.dumps(content, ensure_ascii=False).encode()
    except FileNotFoundError as error:
        raise BadInput(
            f"maps need a list of what they are of, but there is no '{beside}'; write one (a JSON list of "
            f'objects such as {{"tokens": ["it", "rains"]}}), or have maps made by headroles extract'
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"'{beside}' must be JSON in UTF-8, but it cannot be read: {error}") from error
    return content


def _no_number(name: str) -> float:
    """What is done with NaN and the like, which Python reads and JSON does not know."""
    raise ValueError(f"{name} is no number of JSON")


def _example(row: dict[str, Any], place: str, name: str, number: int) -> MapExample:
    tokens = _strings(row, "tokens", place) or []
    if not tokens:
        raise BadInput(
            f"{place}: 'tokens' is a list of at least one string; fields: {', '.join(row) or 'none'}"
        )
    n = len(tokens)
    segment = _numbers(row, "segment", (n,), place)
    if segment is not None and not -1 <= segment.min() <= segment.max() < n:
        raise BadInput(
            f"{place}: 'segment' counts texts from 0, with -1 for none, but {segment.tolist()!r:.60} came"
        )
    texts = np.zeros(n, dtype=np.int32) if segment is None else segment.astype(np.int32)
    first = np.zeros(n, dtype=np.bool_)
    opening = row.get("first") or []
    if not isinstance(opening, list) or any(
        type(position) is not int or not 0 <= position < n for position in opening
    ):
        raise BadInput(f"{place}: 'first' holds places of tokens from 0 to {n - 1}, but {opening!r:.40} came")
    first[opening] = True
    word = _numbers(row, "word", (n,), place)
    known, spans = _strings(row, "texts", place), _numbers(row, "spans", (n, 2), place)
    if known is None or spans is None:
        known, spans = [" ".join(tokens)], np.zeros((n, 2), dtype=np.int64)
    else:
        _check_spans(known, spans, texts, place)
    key = _named(row, "key", place)
    whole = f"{name}/{number if key is None else key}"
    passage = Passage(whole, tuple(known), _named(row, "group", place))
    tokenised = Tokenised(passage, {}, tuple(tokens), texts, spans, first, False)
    array = row.get("attns", str(number))
    if not isinstance(array, str):
        raise BadInput(f"{place}: 'attns' is the name of an array, but a {type(array).__name__} came")
    return MapExample(array, tokenised, word, _tree(row, word, place), _reach(row, n, place))


def _named(row: dict[str, Any], field: str, place: str) -> str | None:
    """A key or group as text; None where it is not said."""
    value = row.get(field)
    if value is None:
        return None
    if not isinstance(value, str | int):
        raise BadInput(f"{place}: {field!r} is a name or a whole number, but {value!r:.40} came")
    return str(value)


def _check_spans(texts: Sequence[str], spans: np.ndarray, segment: np.ndarray, place: str) -> None:
    """Refuse characters that no text has; special tokens are of no text."""
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
    """The tree that came along, when it has a head and a relation for each word."""
    relations, heads = _strings(row, "relations", place), row.get("heads")
    if relations is None or heads is None or word is None:
        return None
    count = len(relations)
    if not isinstance(heads, list) or not all(type(head) is int and 0 <= head <= count for head in heads):
        heads = []
    if len(heads) != count or (word.size and word.max() >= count):
        raise BadInput(
            f"{place}: 'heads' and 'relations' have one value for each word, heads from 0 to {count}, but "
            f"{heads!r:.60} came for words up to {int(word.max(initial=-1))}"
        )
    spans = np.zeros((count, 2), dtype=np.int32)
    return Words(spans, np.array(heads, dtype=np.int32) - 1, tuple(relations))


def _reach(row: dict[str, Any], n: int, place: str) -> tuple[Reach | Bounds, ...] | None:
    value = row.get("visible")
    if value is None:
        return None
    rules_or_none = [rule_of(layer, n) for layer in value] if isinstance(value, list) else []
    rules = tuple(rule for rule in rules_or_none if rule is not None)
    if len(rules) < len(rules_or_none) or not isinstance(value, list):
        raise BadInput(
            f"{place}: 'visible' is a list with the smallest and largest offset of each layer (null for no "
            f"end), or with the first and last key of each of its {n} rows, but {value!r:.60} came"
        )
    return rules


def _strings(row: dict[str, Any], field: str, place: str) -> list[str] | None:
    value = row.get(field)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise BadInput(f"{place}: {field!r} is a list of strings, but {value!r:.60} came")
    return value


def _numbers(row: dict[str, Any], field: str, shape: Sequence[int], place: str) -> np.ndarray | None:
    value = row.get(field)
    if value is None:
        return None
    try:
        array = np.array(value)
    except ValueError:
        array = np.array("")
    if array.shape != tuple(shape) or array.dtype.kind != "i":
        raise BadInput(
            f"{place}: {field!r} holds whole numbers for each of its {shape[0]} tokens, but "
            f"{value!r:.60} came"
        )
    return array.astype(np.int64)
