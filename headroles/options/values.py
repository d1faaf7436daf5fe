"""Conversion of given values to the types of options: paths, numpy numbers and the like."""

import os
import re
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from types import NoneType
from typing import Any, TypeVar

from headroles.errors import BadInput, UnknownName, shorten
from headroles.options.described import Described, described
from headroles.records.objects import DataObject, ModelObject, take_objects

LARGEST = 10**18
"""Whole numbers lie below it; longer ones are mistakes."""
RANGE = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?")
RENAMED = {"window": "max_length"}
"""Today's names of settings of earlier versions."""
DROPPED = ("splits",)
"""Settings of earlier versions that have no effect now."""
WORDS = {bool: "True or False", int: "a whole number", float: "a number", str: "text in UTF-8"}

Record = TypeVar("Record")


def record_of(record: type[Record], /, **given: Any) -> Record:
    """Return a record of options from given values, converting paths, numpy numbers and the like.

    Args:
        record: A class of options, whose fields are described.
        **given: Values by the names of its fields.

    Raises:
        UnknownName: For an option that does not exist, or a value that the record refuses.
        BadInput: For values of another type, or values that the record refuses.

    Example:
        >>> from pathlib import Path
        >>> from headroles.options.label import LabelOptions
        >>> record_of(LabelOptions, task="QNLI", model=Path("models") / "bert").model
        'models/bert'
    """
    known = {option.name: option for option in described(record)}
    inputs = next((option for option in known.values() if DataObject in option.types), None)
    given = take_objects(
        given,
        model=any(ModelObject in option.types for option in known.values()),
        data="" if inputs is None else inputs.name,
        files=inputs is not None and inputs.repeatable,
    )
    for name in given:
        if name not in known:
            raise UnknownName("option", name, known)
    return record(**{name: value_of(known[name], value) for name, value in given.items()})


def stored_record(record: type[Record], settings: Mapping[str, Any], **given: Any) -> Record:
    """Return a record of options from the settings of a stored run, which may come from somebody else.

    Options that no run stores are left out, so that no manifest names a file of sieves that is run, a folder
    that is written, or a cluster.

    Args:
        record: A class of options.
        settings: From the manifest.
        **given: Values where the settings have none.

    Raises:
        UnknownName: As ``record_of``.
        BadInput: As ``record_of``.
    """
    never = {*getattr(record, "PLACES", ()), *getattr(record, "NOT_STORED", ())}
    stored = {name: value for name, value in stored_settings(settings).items() if name not in never}
    return record_of(record, **given | stored)


def stored_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a manifest of any version, as the options of today take them.

    In a stream, ``limit`` was the number of first inputs, which is ``first`` now. Probes called their
    ``max_length`` ``window``. ``splits`` was the number of half-samples for the
    stability. A formula now gives the stability.

    Example:
        >>> stored_settings({"stream": True, "limit": 30})
        {'stream': True, 'limit': None, 'first': 30}
        >>> stored_settings({"window": 64, "splits": 200})
        {'max_length': 64}
    """
    today = {RENAMED.get(name, name): value for name, value in settings.items() if name not in DROPPED}
    if today.get("stream") and today.get("limit") is not None:
        today |= {"limit": None, "first": today["limit"]}
    return today


def value_of(option: Described, value: Any) -> Any:
    """Return a value as the record of an option holds it; several values of a repeatable one as a tuple.

    Raises:
        BadInput: For a value of another type.
    """
    return _to_tuple(option, value) if option.repeatable else _to_type(option, value)


def _to_tuple(option: Described, value: Any) -> tuple[Any, ...]:
    """Return the values of a repeatable option as a tuple; a single value becomes a tuple of one.

    Raises:
        BadInput: For a value that is no name, no object with a name and no index.
    """
    if option.types == (int,):
        return parse_numbers(option.name, value)
    if value is None:
        return ()
    single = isinstance(value, str | os.PathLike) or not hasattr(value, "__iter__")
    items = tuple(
        os.fspath(item) if isinstance(item, os.PathLike) else item for item in ((value,) if single else value)
    )
    for item in items:
        if not isinstance(item, str) and not hasattr(item, "name"):
            raise BadInput(f"{option.name} holds names, or objects that have one, but got {shorten(item)}")
    return items


def _to_type(option: Described, value: Any) -> Any:
    """Convert a value to the plain type of its option, for JSON; paths become text.

    Raises:
        BadInput: For a value of another type.
    """
    kinds = option.types
    objects = tuple(kind for kind in kinds if kind in (ModelObject, DataObject))
    if (value is None and NoneType in kinds) or isinstance(value, objects):
        return value
    flag = isinstance(value, bool)
    if bool in kinds and flag:
        return bool(value)
    small = not isinstance(value, Integral) or abs(int(value)) < LARGEST
    if int in kinds and isinstance(value, Integral) and not flag and small:
        return int(value)
    if float in kinds and isinstance(value, Real) and not flag and small:
        return float(value)
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if str in kinds and isinstance(text, str) and _is_utf8(text):
        names = {name.lower(): name for name in option.option.choices} if option.option.any_case else {}
        return names.get(text.lower(), text)
    allowed = next(words for kind, words in WORDS.items() if kind in kinds)
    digits = "" if small or not {int, float} & {*kinds} else " of at most 18 digits"
    raise BadInput(f"{option.name} must be {allowed}{digits}, but got {shorten(value)}")


def _is_utf8(text: str) -> bool:
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


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
