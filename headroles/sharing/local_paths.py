"""Cut paths of this machine out of a manifest, so that a shared run names files but not their folders."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headroles.addresses import last_name

LOCAL_PATH = re.compile(r"(?:~|[A-Za-z]:)?[/\\](?:[^/\\\n]+[/\\])*[^/\\\n]+")
"""A whole text that is a path from a root, from a drive or from the home folder, with a folder in it."""


def last_names(record: Mapping[str, Any]) -> Callable[[str], str]:
    """Return a function that replaces the local paths of a manifest by their last names, in any text.

    Paths are texts of the manifest, and words of its command, that begin with a root, a drive or ``~``.

    Example:
        >>> shorten = last_names({"command": "headroles label --data /home/ann/secret/dev.tsv"})
        >>> shorten("No pairs in /home/ann/secret/dev.tsv.")
        'No pairs in dev.tsv.'
    """
    words = [word for text in _texts(record) for word in _candidates(text)]
    paths = sorted({word for word in words if LOCAL_PATH.fullmatch(word)}, key=len, reverse=True)
    names = {path: last_name(path) for path in paths}

    def shorten(text: str) -> str:
        for path, name in names.items():
            text = text.replace(path, name)
        return text

    return shorten


def _candidates(text: str) -> Iterator[str]:
    """Yield a text, and its words with and without what stands before an equals sign, without quotes."""
    yield text
    for word in re.findall(r"'[^']*'|\"[^\"]*\"|\S+", text):
        bare = word.strip("'\"")
        yield bare
        yield bare.partition("=")[2]


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts of JSON types, the names of fields left aside."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


def replace_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return JSON types with every text changed; names of fields stay.

    Example:
        >>> replace_texts({"a": ["x", 1]}, str.upper)
        {'a': ['X', 1]}
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: replace_texts(inner, change) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [replace_texts(inner, change) for inner in value]
    return value
