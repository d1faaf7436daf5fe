"""What stored attention maps are of: the list of examples beside a file of maps."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool

from headroles.errors import BadInput
from headroles.extraction.passages import Passage, Words
from headroles.extraction.tokens import Tokenised


@dataclass(frozen=True, slots=True, eq=False)
class MapExample:
    """One input of stored maps.

    Attributes:
        array: Name of its maps.
        tokenised: Its tokens (or words, where maps are of words); spans are 0 where no text is known.
        word: Word of each token, from 0 over all texts, −1 on special tokens; None where not said.
        tree: Head (−1 for a root) and relation of each word, where they came along; else None.
        reach: Smallest and largest offset that queries see, by layer; None where not said.
    """

    array: str
    tokenised: Tokenised
    word: np.ndarray | None
    tree: Words | None
    reach: tuple[tuple[int | None, int | None], ...] | None

    @property
    def parsable(self) -> bool:
        """Whether texts and character spans are known, so that they can be parsed."""
        return bool(self.tokenised.spans.any())

    def visible(self, layer: int) -> Bool[np.ndarray, "tokens tokens"] | None:
        """What queries of a layer see, where it was said; None for all keys."""
        if self.reach is None:
            return None
        n, (low, high) = self.tokenised.size, self.reach[layer]
        if low is None and high is None:
            return None
        offset = np.arange(n)[None, :] - np.arange(n)[:, None]
        seen: np.ndarray = (offset >= (-n if low is None else low)) & (
            offset <= (n if high is None else high)
        )
        return seen


@dataclass(frozen=True, slots=True, eq=False)
class MapList:
    """All examples of a file of maps.

    Attributes:
        examples: In their order.
        model: What the list says of the model; empty where it says nothing.
        sinks: Whether rows may sum to less than 1, because part of the attention went to a sink.
    """

    examples: tuple[MapExample, ...]
    model: dict[str, Any]
    sinks: bool


def read_map_list(path: Path, name: str) -> MapList:
    """The list of a file of maps: ``maps.json`` beside ``maps.npz``.

    A JSON list of objects, or an object whose ``examples`` is one. Each object has ``tokens``, and may
    have ``attns`` (name of its array; its place in the list where absent), ``key``, ``group``,
    ``segment`` (text of each token from 0, −1 on special tokens; one text and no special tokens where
    absent), ``first`` (places of class tokens; a special token that opens the input where absent),
    ``word`` (word of each token, −1 for none), ``heads`` and ``relations`` (a tree over the words, heads
    from 1 as in CoNLL-U, 0 for the root; of one text), ``texts`` and ``spans`` (characters of each token
    in its text, so that texts can be parsed), and ``visible`` (for each layer the smallest and largest
    offset that queries see, null for no end; all keys, or read from the maps, where absent).

    Args:
        path: Of the maps.
        name: First part of the keys.

    Raises:
        BadInput: When it is missing or breaks a rule, naming the example.
    """
    beside = path.with_suffix(".json")
    try:
        found = json.loads(beside.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise BadInput(
            f"maps need a list of what they are of, but there is no '{beside}'; write one (a JSON list of "
            f'objects such as {{"tokens": ["it", "rains"]}}), or have maps made by headroles extract'
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"'{beside}' must be JSON in UTF-8, but it cannot be read: {error}") from error
    whole = found if isinstance(found, dict) else {"examples": found}
    rows = whole.get("examples")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise BadInput(
            f"'{beside}' must hold a list of at least one object, or an object whose 'examples' is one"
        )
    examples = tuple(
        _example(row, f"{beside}, example {number}", name, number) for number, row in enumerate(rows)
    )
    keys = [each.tokenised.passage.key for each in examples]
    twice = next((key for key in keys if keys.count(key) > 1), None) if len(set(keys)) < len(keys) else None
    if twice is not None:
        raise BadInput(f"'{beside}': every example has a key of its own, but {twice!r} came twice")
    model = whole.get("model")
    return MapList(examples, dict(model) if isinstance(model, dict) else {}, whole.get("sinks") is True)


def _example(row: dict[str, Any], place: str, name: str, number: int) -> MapExample:
    tokens = _strings(row, "tokens", place) or []
    if not tokens:
        raise BadInput(
            f"{place}: 'tokens' is a list of at least one string; fields: {', '.join(row) or 'none'}"
        )
    n = len(tokens)
    segment = _numbers(row, "segment", (n,), place)
    texts = np.zeros(n, dtype=np.int32) if segment is None else segment.astype(np.int32)
    first = np.zeros(n, dtype=np.bool_)
    for each in row.get("first") or ():
        if type(each) is not int or not 0 <= each < n:
            raise BadInput(
                f"{place}: 'first' holds places of tokens from 0 to {n - 1}, but {each!r:.40} came"
            )
        first[each] = True
    word = _numbers(row, "word", (n,), place)
    known, spans = _strings(row, "texts", place), _numbers(row, "spans", (n, 2), place)
    if known is None or spans is None:
        known, spans = [" ".join(tokens)], np.zeros((n, 2), dtype=np.int64)
    key, group = str(row.get("key", number)), row.get("group")
    passage = Passage(f"{name}/{key}", tuple(known), None if group is None else str(group))
    tokenised = Tokenised(passage, {}, tuple(tokens), texts, spans, first, False)
    array = row.get("attns", str(number))
    if not isinstance(array, str):
        raise BadInput(f"{place}: 'attns' is the name of an array, but a {type(array).__name__} came")
    return MapExample(array, tokenised, word, _tree(row, word, place), _reach(row, place))


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


def _reach(row: dict[str, Any], place: str) -> tuple[tuple[int | None, int | None], ...] | None:
    found = row.get("visible")
    if found is None:
        return None
    made: list[tuple[int | None, int | None]] = []
    for pair in found if isinstance(found, list) else [None]:
        if (
            not isinstance(pair, list)
            or len(pair) != 2
            or any(each is not None and type(each) is not int for each in pair)
        ):
            raise BadInput(
                f"{place}: 'visible' is a list with the smallest and largest offset of each layer (null for "
                f"no end), but {found!r:.60} came"
            )
        made.append((pair[0], pair[1]))
    return tuple(made)


def _strings(row: dict[str, Any], field: str, place: str) -> list[str] | None:
    found = row.get(field)
    if found is None:
        return None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise BadInput(f"{place}: {field!r} is a list of strings, but {found!r:.60} came")
    return found


def _numbers(row: dict[str, Any], field: str, shape: Sequence[int], place: str) -> np.ndarray | None:
    found = row.get(field)
    if found is None:
        return None
    try:
        array = np.array(found)
    except ValueError:
        array = np.array("")
    if array.shape != tuple(shape) or array.dtype.kind != "i":
        raise BadInput(
            f"{place}: {field!r} holds whole numbers for each of its {shape[0]} tokens, but "
            f"{found!r:.60} came"
        )
    return array.astype(np.int64)
