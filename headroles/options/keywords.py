"""Functions whose keywords are the options of a record: their signature, checks and documentation."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap
from typing import Any, TypeVar

from headroles.options.described import Described, described, shown
from headroles.options.shared import TOKENIZER
from headroles.options.values import record_of
from headroles.progress import progress_or_bars
from headroles.records.objects import ModelObject

PLACE = "        {options}"
"""Line of a docstring that the documentation of all options replaces."""
WIDTH = 108

Result = TypeVar("Result")


def keywords_of(
    record: type, *first: str, read: Callable[..., Any] | None = None
) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Give a function the options of a record as its keywords.

    The function itself takes the checked record, and keywords of its own. Its callers give the options.

    Args:
        record: The record of options.
        *first: Names of options that callers may also give by position.
        read: Function that makes the record from the keywords; None for ``record_of``.

    Returns:
        A decorator. The decorated function has the signature and the documentation of all its keywords, and
        refuses other keywords and wrong values before the function runs.

    Example:
        >>> from headroles.options.finished import VerifyOptions
        >>> @keywords_of(VerifyOptions, "folder")
        ... def check(options: VerifyOptions) -> bool:
        ...     "Check a run."
        ...     return options.oracles
        >>> check("runs/QNLI", oracles=True)
        True
    """

    def decorate(function: Callable[..., Result]) -> Callable[..., Result]:
        own = [
            parameter
            for parameter in list(inspect.signature(function).parameters.values())[1:]
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        ]
        own_names = {parameter.name for parameter in own}
        leading = [option for name in first for option in described(record) if option.name == name]

        def call(*given: Any, **keywords: Any) -> Result:
            if len(given) > len(first):
                raise TypeError(
                    f"{function.__name__}() takes at most {len(first)} positional arguments "
                    f"({', '.join(first)}), but got {len(given)}"
                )
            for name, value in zip(first, given, strict=False):
                if name in keywords:
                    raise TypeError(f"{function.__name__}() got several values of {name!r}")
                keywords[name] = value
            missing = [option.name for option in leading if option.missing and option.name not in keywords]
            if missing:
                raise TypeError(f"{function.__name__}() needs {missing[0]!r}")
            kept = {name: keywords.pop(name) for name in own_names & keywords.keys()}
            options = record_of(record, **keywords) if read is None else read(**keywords)
            if "progress" not in own_names:
                return function(options, **kept)
            with progress_or_bars(kept.get("progress")) as progress:
                return function(options, **kept | {"progress": progress})

        call.__name__ = call.__qualname__ = function.__name__
        call.__module__ = function.__module__
        call.__doc__ = _documented(function.__doc__ or "", record)
        returned = function.__annotations__.get("return", inspect.Signature.empty)
        signature = signature_of(record, first, own).replace(return_annotation=returned)
        call.__signature__ = signature  # type: ignore[attr-defined]
        call.record = record  # type: ignore[attr-defined]
        return call

    return decorate


def signature_of(
    record: type, first: Sequence[str] = (), own: Sequence[inspect.Parameter] = ()
) -> inspect.Signature:
    """Return the signature of a function with the options of a record as keywords.

    Args:
        record: The record.
        first: Names of options that may also be given by position.
        own: Further keywords, before the other options.
    """
    options = {option.name: option for option in shown(record)}
    leading = [_parameter(options[name], inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in first]
    rest = [
        _parameter(option, inspect.Parameter.KEYWORD_ONLY)
        for option in _keywords(record)
        if option.name not in first
    ]
    return inspect.Signature([*leading, *own, *rest])


def _keywords(record: type) -> Iterator[Described]:
    """Yield the options of a record, and the tokenizer after a model that may be an object."""
    for option in shown(record):
        yield option
        if ModelObject in option.types:
            yield Described("tokenizer", TOKENIZER, (), False, None, False)


def _parameter(option: Described, kind: Any) -> inspect.Parameter:
    """Return an option as a parameter."""
    default = inspect.Parameter.empty if option.missing else option.value
    return inspect.Parameter(option.name, kind, default=default, annotation=option.python)


def _documented(text: str, record: type) -> str:
    """Return a docstring in which the documentation of all options replaces ``PLACE``."""
    return text.replace(PLACE, option_lines(record))


def option_lines(record: type) -> str:
    """Return the documentation of all options of a record, as in the section Args of a docstring."""
    lines: list[str] = []
    for option in _keywords(record):
        allowed = f" One of {', '.join(option.option.choices)}." if option.option.choices else ""
        usual = f" Default: {option.default}." if option.default else ""
        more = f" {option.option.in_python}" if option.option.in_python else ""
        words = f"{option.name}: {option.option.meaning}{more}{allowed}{usual}"
        lines += wrap(words, WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 12)
    return "\n".join(lines)
