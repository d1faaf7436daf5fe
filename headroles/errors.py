"""Errors of headroles: one base class and its kinds; each message is one sentence that a user can act on."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Number
from pathlib import PurePath
from reprlib import Repr
from typing import Any

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that steer a terminal or reverse its text, except tabs and line feeds."""


MOST_SHOWN, MOST_TOLD = 60, 300
"""Most characters of a value in a message, and of an error of another library."""
QUOTED = re.compile(f"(['\"])([^'\"]{{{MOST_SHOWN + 1},}})\\1")
"""A long value between quotes."""


def visible(text: str) -> str:
    r"""Spell out control characters and direction marks, so that no name can steer a terminal.

    Example:
        >>> print(visible("red\x1b[31m, turned\u202e"))
        red\x1b[31m, turned\u202e
    """
    return CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


class _ShortText(Repr):
    """Short texts of values for messages; an object of another library is shown by its class."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 2
        self.maxlong = 60
        self.maxstring = self.maxother = 2 * MOST_SHOWN

    def repr1(self, x: Any, level: int) -> str:
        kind = type(x)
        known = kind.__module__ == "builtins" and not isinstance(x, type) and not callable(x)
        if known and kind is not object:
            return super().repr1(x, level)
        if isinstance(x, PurePath | Number) or (kind.__module__ == "numpy" and not hasattr(x, "__len__")):
            return repr(x)
        return describe_object(x)


def describe_object(value: object) -> str:
    """Return what a value is, by its class: for messages about an object of the wrong kind.

    Example:
        >>> describe_object([1]), describe_object(int), describe_object(None)
        ('a list', 'the class int', 'None')
    """
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if callable(value) and hasattr(value, "__name__"):
        return f"the function {value.__name__}"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


def shorten(value: object) -> str:
    """Return a value as a message shows it: on one line, and at most ``MOST_SHOWN`` characters.

    An object that is no plain value, such as an array or a model, is shown by its class.

    Example:
        >>> shorten("a" * 99)[:9], shorten(2.5), shorten(10**5000)
        ("'aaaaaaaa", '2.5', 'an int that is too long to show')
    """
    try:
        text = visible(_ShortText().repr(value).replace("\n", " "))
    except Exception:  # a repr may fail, as that of a whole number of thousands of digits does
        return f"an {type(value).__name__} that is too long to show"
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 1]}…"


def shorten_quotes(error: object) -> str:
    """Return the sentence of an error with every long quoted value cut, and the whole at a length.

    Example:
        >>> shorten_quotes("no number: '" + "9" * 999 + "'")
        "no number: '99999999999999999999999999999999999999999999999999999999999…'"
    """
    text = QUOTED.sub(lambda match: f"{match[1]}{match[2][: MOST_SHOWN - 1]}…{match[1]}", visible(str(error)))
    return text if len(text) <= MOST_TOLD else f"{text[: MOST_TOLD - 1]}…"


class HeadrolesError(Exception):
    """A user's mistake or a missing resource, stated in one sentence on one line."""

    def __init__(self, sentence: str = "") -> None:
        """Keep the sentence; line feeds of names in it are spelled out."""
        super().__init__(sentence.replace("\n", "\\n").replace("\r", "\\r"))

    def _render_traceback_(self) -> list[str]:
        """Return what IPython and notebooks show in place of a traceback: one line with the sentence.

        Scripts and pytest show the whole traceback, and ``%debug`` still opens at the line that raised.

        Example:
            >>> BadInput("alpha is a number, but got 'five'")._render_traceback_()
            ["BadInput: alpha is a number, but got 'five'"]
        """
        return [f"{type(self).__name__}: {visible(str(self))}"]


class UnknownName(HeadrolesError):
    """A task, sieve, preset, test or correction that does not exist."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        """Build the sentence, with the nearest known name when there is one.

        Args:
            kind: Kind of the thing, such as ``"sieve"``.
            name: The given name, or whatever was given in its place.
            known: The names that exist.
        """
        names = sorted(known)
        lower = {known_name.lower(): known_name for known_name in names}
        given = name.lower() if isinstance(name, str) else ""
        near = get_close_matches(given, lower, n=1, cutoff=0.5)
        hint = f"; did you mean {lower[near[0]]!r}?" if near else ";"
        super().__init__(f"no {kind} is called {shorten(name)}{hint} known: {', '.join(names)}")


class BadSieve(HeadrolesError):
    """A sieve that breaks its contract, or two sieves with one name."""


class BadInput(HeadrolesError):
    """Texts, files, arrays, settings or models that cannot be used as they are."""


class MissingExtra(HeadrolesError):
    """An optional part of headroles that is not installed."""
