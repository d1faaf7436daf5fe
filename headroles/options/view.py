"""Options of a view, with the names of the command line and of ``view()``."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from numbers import Integral
from os.path import isdir
from pathlib import Path
from typing import Any, ClassVar

from headroles.errors import BadInput, UnknownName, shorten
from headroles.options.run import DEVICES, DTYPES, typed_options
from headroles.records.objects import ModelObject
from headroles.records.view import KINDS

SHOWS = ("head", "model", "neuron")
"""The three views on a page, of which one opens first."""
LEAST_LENGTH = 4
"""Fewest tokens of an input: special tokens of a pair and one more."""
MODEL_OPTIONS = ("model", "revision", "max_length", "device", "dtype", "kind")
"""Options of views of a model, which views of stored maps and of arrays do not accept."""
RANGE = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOptions:
    """Options of a view; ``headroles.view`` documents each.

    Raises:
        UnknownName: For a first view, a kind of attention, a device or a precision that does not exist.
        BadInput: For neither a text nor stored maps, texts without a letter, numbers out of range, options
            that exclude each other, or files that cannot be written where they are named.
    """

    text: str | None = None
    text_b: str | None = None
    attention: str | None = None
    example: str | None = None
    model: str | ModelObject | None = None
    revision: str | None = None
    show: str = "head"
    layers: tuple[int, ...] = ()
    heads: tuple[int, ...] = ()
    max_length: int = 512
    device: str = "auto"
    dtype: str = "float32"
    out: str | None = None
    svg: str | None = None
    kind: str | None = None

    NAMED: ClassVar[dict[str, tuple[str, ...]]] = {
        "show": SHOWS, "device": DEVICES, "dtype": DTYPES, "kind": KINDS
    }  # fmt: skip
    """Allowed names of options that take one of several names."""

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        self._check_source()
        for name, text in (("text", self.text), ("text_b", self.text_b)):
            if text is not None and not text.strip():
                raise BadInput(f"a view shows attention between tokens, but {name} is empty; give a sentence")
        for name, known in self.NAMED.items():
            value = getattr(self, name)
            if value is not None and value not in known:
                raise UnknownName(name, value, known)
        if self.max_length < LEAST_LENGTH:
            raise BadInput(
                f"max_length must be a whole number of at least {LEAST_LENGTH}, but got {self.max_length}"
            )
        if self.revision is not None and self.model is None:
            raise BadInput("--revision is that of a model on the hub, so --model must name the model")
        self._check_files()

    def _check_source(self) -> None:
        """Refuse texts together with stored maps, neither of them, and options of the other."""
        if (self.text is None) == (self.attention is None):
            got = "neither" if self.text is None else "both"
            raise BadInput(f"a view is of a text, or of stored maps (--attention), but got {got}; give one")
        if self.attention is None and self.example is not None:
            raise BadInput("--example names an example of stored maps, so --attention must name their file")
        defaults = {field.name: field.default for field in fields(self)}
        for name in ("text_b", *MODEL_OPTIONS) if self.attention is not None else ():
            if getattr(self, name) != defaults[name]:
                raise BadInput(
                    f"stored maps are shown without a model, so {name.replace('_', '-')} has no effect; "
                    f"leave it out"
                )

    def _check_files(self) -> None:
        """Refuse paths where no file can be, and an SVG of no layer or several layers."""
        for name, place in (("out", self.out), ("svg", self.svg)):
            if place is not None and (not place or isdir(place)):
                raise BadInput(
                    f"--{name} names a file, but '{place}' is {'a folder' if place else 'no name'}; "
                    f"name a file in it"
                )
        if self.svg is None and self.kind is not None:
            raise BadInput("--kind is for an SVG, which only --svg asks for; leave it out")
        if self.svg is None:
            return
        if len(self.layers) != 1:
            raise BadInput(
                f"an SVG shows one layer, so --layers must name exactly one, but got "
                f"{len(self.layers) or 'none'}; a page (--out) shows several"
            )
        if self.out is not None and Path(self.out).resolve() == Path(self.svg).resolve():
            raise BadInput(f"--out and --svg both name the file '{self.svg}'; name another for one of them")


def view_options_of(**given: Any) -> ViewOptions:
    """Return options of a view from given values, converting paths, numpy numbers and text such as "0,2-4".

    Raises:
        UnknownName: For an option, first view, kind, device or precision that does not exist.
        BadInput: For values of another type or out of range, or options that exclude each other.

    Example:
        >>> view_options_of(text="It rains.", layers="2,0").layers
        (0, 2)
    """
    for name in ("layers", "heads"):
        if name in given:
            given[name] = parse_numbers(name, given[name])
    return typed_options(ViewOptions, given)


def parse_numbers(name: str, value: Any) -> tuple[int, ...]:
    """Return indices of layers or heads, each once and in order.

    Args:
        name: Name of the option, for the error: "layers" or "heads".
        value: Text such as "0,2-4", one number or several; None for all.

    Returns:
        The indices; empty for None.

    Raises:
        BadInput: For anything except whole numbers from 0 to 9999, or for no number.

    Example:
        >>> parse_numbers("layers", "4,0-2"), parse_numbers("heads", [3, 3]), parse_numbers("heads", None)
        ((0, 1, 2, 4), (3,), ())
    """
    if value is None:
        return ()
    try:
        numbers = sorted(set(_expand(value)))
    except (TypeError, ValueError):
        numbers = []
    if not numbers or not 0 <= numbers[0] <= numbers[-1] < 10_000:
        raise BadInput(
            f"{name} are whole numbers from 0, such as 0,2-4 (in Python also a sequence of them), but got "
            f"{shorten(value)}; leave {name} out for all"
        )
    return tuple(numbers)


def _expand(value: Any) -> Iterable[int]:
    """Yield every number of a text with ranges, of one number or of several numbers."""
    if isinstance(value, str):
        for part in value.split(","):
            match = RANGE.fullmatch(part.strip())
            first, last = (match[1], match[2] or match[1]) if match else ("", "")
            if int(last) < int(first):
                raise ValueError(value)
            yield from range(int(first), int(last) + 1)
        return
    for number in (value,) if isinstance(value, Integral) else value:
        if isinstance(number, bool) or not isinstance(number, Integral):
            raise TypeError(number)
        yield int(number)
