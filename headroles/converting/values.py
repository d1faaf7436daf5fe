"""Values of old files as JSON types: text, numbers, lists and dictionaries, of limited size."""

from typing import Any

import numpy as np

from headroles.errors import BadInput

MOST_VALUES = 1_000_000
"""Most values in one field: a few bytes of a pickle can stand for billions of them."""
DEEPEST = 20
"""Most lists within lists."""


def text_of(value: Any) -> str | None:
    """Return a text, or a string of Python 2 as text; None for anything else.

    Example:
        >>> text_of("é"), text_of("é".encode()), text_of(3)
        ('é', 'é', None)
    """
    if isinstance(value, bytes | memoryview):
        raw = bytes(value)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return raw.decode("latin-1")
    return value if isinstance(value, str) else None


def texts_of(value: Any) -> list[str] | None:
    """Return a list of texts; None for anything else.

    Example:
        >>> texts_of(["[CLS]", b"it"]), texts_of("it"), texts_of([1])
        (['[CLS]', 'it'], None, None)
    """
    if not isinstance(value, list | tuple):
        return None
    texts = [text_of(item) for item in value]
    return [text for text in texts if text is not None] if None not in texts else None


def plain_value(value: Any, place: str) -> Any:
    """Return a value as JSON holds it; arrays become lists.

    Args:
        value: A value as ``read_pickle`` returns it.
        place: Where it stands, for errors.

    Raises:
        BadInput: When it stands for too many values, or lists are nested too deeply.

    Example:
        >>> plain_value((1, b"it", np.array([0.5, 1.0])), "old.pkl")
        [1, 'it', [0.5, 1.0]]
    """
    return _plain(value, place, [MOST_VALUES], 0)


def _plain(value: Any, place: str, left: list[int], depth: int) -> Any:
    """Return a value as JSON holds it, and take off how many values it stands for."""
    left[0] -= value.size if isinstance(value, np.ndarray) else 1
    if left[0] < 0 or depth > DEEPEST:
        raise BadInput(
            f"{place}: a field holds at most {MOST_VALUES:,} values, and at most {DEEPEST} lists within "
            f"lists, but this one holds more; drop it"
        )
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {name: _plain(item, place, left, depth + 1) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, place, left, depth + 1) for item in value]
    text = text_of(value)
    return value if text is None else text
