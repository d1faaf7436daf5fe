"""Turn old pickles of attention maps into stored maps: those of ``extract_attention.py``, and bare arrays."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headroles.converting.alignment import align_pieces
from headroles.converting.values import plain_value, text_of, texts_of
from headroles.errors import BadInput, shorten
from headroles.maps.extract import ARRAY_FIELDS, INPUT, TEXT_FIELDS, ExtractedMaps
from headroles.maps.write import write_maps

OPENS, ENDS = "[CLS]", "[SEP]"
ATTENTION = "attns"
OWN = (*ARRAY_FIELDS, *TEXT_FIELDS, "tokens", INPUT)
"""Fields of a list of maps that a field of the old file may not take."""
WORD_NOTE = (
    "attention from a word is taken to be that of its first piece, as the released script writes it; the "
    "file does not say so. headroles extract averages over all pieces, unless --as-published is given"
)
PAIR_NOTE = (
    "pairs of texts are taken to be read with token types 0 only, as by the released script; the file does "
    "not say so. headroles extract gives the second text type 1, unless --as-published is given"
)
HALF_NOTE = "the maps are in half precision, so scores differ by about 1e-3 of their size from float32"


def is_maps(content: Any) -> bool:
    """Return whether an old file holds attention maps: dictionaries with arrays, or arrays of rank 4."""
    if not isinstance(content, list) or not content:
        return isinstance(content, np.ndarray) and content.ndim == 5
    return any(_holds_map(item) for item in content)


def _holds_map(item: Any) -> bool:
    """Return whether an item of a list is a map, or a dictionary with one."""
    array = item.get(ATTENTION) if isinstance(item, dict) else item
    return isinstance(array, np.ndarray) and array.ndim == 4


def convert_maps(
    content: Any, source: Path, target: Path, tokens: Sequence[Sequence[str]] | None, *, overwrite: bool
) -> tuple[ExtractedMaps, list[str]]:
    """Write old maps as stored maps with their list, and return what differs, one sentence each.

    Args:
        content: The content of the pickle: a list of dictionaries with ``attns`` and ``tokens``, or arrays
            (layers, heads, tokens, tokens), which may be filled up to one length.
        source: The old file, for messages.
        target: File of maps.
        tokens: Tokens of each input, where the file does not hold them.
        overwrite: Whether a file that is there may be replaced.

    Raises:
        BadInput: When an input breaks a rule; the message has its number, from 0. Also when tokens are given
            of maps that all have their own.
    """
    items = [item for item in content if not isinstance(item, dict) or ATTENTION in item]
    if tokens is not None and all(isinstance(item, dict) and "tokens" in item for item in items):
        raise BadInput(f"--tokens gives the tokens of maps, but '{source}' has its own; leave the option out")
    pairs = [
        _input_of(item, f"'{source}', input {number}", _tokens_at(tokens, number, len(items), source))
        for number, item in enumerate(items)
    ]
    half = all(array.dtype == np.float16 for array, _ in pairs)
    precision = "float16" if half else "float32"
    written = write_maps(target, _in_native_order(pairs), precision=precision, overwrite=overwrite)
    return written, [*_notes([row for _, row in pairs], half), *_left_out(len(content) - len(items))]


def _in_native_order(pairs: Sequence[tuple[np.ndarray, dict[str, Any]]]) -> Iterator[tuple[Any, Any]]:
    """Yield maps in the byte order of this machine, with their rows."""
    for array, row in pairs:
        yield array.astype(array.dtype.newbyteorder("="), copy=False), row


def _left_out(count: int) -> list[str]:
    """Return a sentence on inputs without a map; none where all have one."""
    return [f"{count} inputs have no map (they were too long) and are left out"] if count else []


def _notes(rows: Sequence[dict[str, Any]], half: bool) -> list[str]:
    """Return what differs from maps that headroles makes."""
    notes = [WORD_NOTE] if any(_is_by_words(row) for row in rows) else []
    notes += [PAIR_NOTE] if any(max(row["segment"]) > 0 for row in rows) else []
    return notes + ([HALF_NOTE] if half else [])


def _is_by_words(row: dict[str, Any]) -> bool:
    """Return whether the tokens of a row are its words."""
    return bool(row["tokens"][1:-1] == row.get("words"))


def _tokens_at(
    tokens: Sequence[Sequence[str]] | None, number: int, count: int, source: Path
) -> Sequence[str] | None:
    """Return the given tokens of an input; None where none are given."""
    if tokens is None:
        return None
    if len(tokens) != count:
        raise BadInput(
            f"--tokens has the tokens of every input, {count} in '{source}', but got {len(tokens)}"
        )
    return tokens[number]


def _input_of(item: Any, place: str, given: Sequence[str] | None) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the map of an input, and its object for the list."""
    fields = item if isinstance(item, dict) else {ATTENTION: item}
    array = fields[ATTENTION]
    if not isinstance(array, np.ndarray) or array.ndim != 4 or array.shape[2] != array.shape[3]:
        raise BadInput(
            f"{place}: a map has shape (layers, heads, tokens, tokens), but got "
            f"{array.shape if isinstance(array, np.ndarray) else shorten(array)}"
        )
    tokens = texts_of(fields.get("tokens", given))
    if not tokens:
        raise BadInput(
            f"{place}: the tokens of a map are a list of text, but got "
            f"{shorten(fields.get('tokens', given))}; give them with --tokens, a JSON list "
            f"with a list of tokens for each input"
        )
    words = texts_of(fields.get("words"))
    size = array.shape[-1]
    if given is not None and ATTENTION in fields and len(fields) == 1 and size > len(tokens):
        array, size = array[:, :, : len(tokens), : len(tokens)], len(tokens)
    by_words = words is not None and size == len(words) + 2
    if not by_words and size != len(tokens):
        raise BadInput(
            f"{place}: a map has a row for each of its {len(tokens)} tokens"
            f"{f', or for each of its {len(words)} words and 2 special tokens' if words else ''}, but got "
            f"{size} rows"
        )
    row = _kept_fields(fields, place)
    if by_words:
        assert words is not None
        return array, row | _word_row(words)
    return array, row | _token_row(tokens, words, text_of(fields.get("text")))


def _kept_fields(fields: dict[str, Any], place: str) -> dict[str, Any]:
    """Return all other fields of an input; those with names of the list in an object ``input``."""
    plain = {name: plain_value(value, place) for name, value in fields.items() if name != ATTENTION}
    if "relns" in plain:
        plain["relations"] = plain.pop("relns")
    own = {name: value for name, value in plain.items() if name in OWN and name != "tokens"}
    kept = {name: value for name, value in plain.items() if name not in OWN}
    return kept | ({INPUT: own} if own else {})


def _token_row(tokens: Sequence[str], words: Sequence[str] | None, text: str | None) -> dict[str, Any]:
    """Return the fields of an input whose units are tokens, with words and spans where its text is known."""
    special = np.array([token in (OPENS, ENDS) for token in tokens])
    row = {"tokens": list(tokens)} | _segments(special, tokens)
    whole = " ".join(words) if words else text
    pieces = [token for token, apart in zip(tokens, special, strict=True) if not apart]
    spans = None if whole is None else align_pieces(pieces, whole)
    if whole is None or spans is None or special[1:-1].any():
        return row
    table = np.zeros((len(tokens), 2), dtype=np.int64)
    table[~special] = spans
    row |= {"texts": [whole], "spans": table.tolist()}
    if words:
        ends = np.cumsum([len(word) + 1 for word in words])
        row["word"] = np.where(special, -1, np.searchsorted(ends, table[:, 0], side="right")).tolist()
    return row


def _word_row(words: Sequence[str]) -> dict[str, Any]:
    """Return the fields of an input whose units are words."""
    tokens = [OPENS, *words, ENDS]
    special = np.array([False] * len(tokens))
    special[[0, -1]] = True
    return {"words": list(words), "word": [-1, *range(len(words)), -1], "tokens": tokens} | _segments(
        special, tokens
    )


def _segments(special: np.ndarray, tokens: Sequence[str]) -> dict[str, Any]:
    """Return the text of each token, and the place of the class token."""
    ended = np.cumsum([mark and token == ENDS for mark, token in zip(special, tokens, strict=True)])
    return {"segment": np.where(special, -1, ended).tolist(), "first": [0] if special[0] else []}
