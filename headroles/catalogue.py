"""A sieve by its name: built in, from an installed plug-in, or from a file."""

import importlib
import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from headroles.errors import BadInput, BadSieve, UnknownName
from headroles.sieves import BUILT_IN, FAMILIES, PUBLISHED
from headroles.sieves.base import MaskSieve, Scorer, Sieve

GROUP = "headroles.sieves"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of ``headroles sieves``: a sieve, or why it cannot be had."""

    name: str
    origin: str
    question: str = ""
    source: str = ""
    error: str = ""


def sieve_of(name: str, preset: str = "calibrated") -> Sieve:
    """The sieve of a name.

    Args:
        name: A built-in name (``"block"``), a family with its parameter (``"syntactic:det"``,
            ``"local:4"``), a plug-in's name, or ``"path/to/file.py:name"``.
        preset: With "published", built-in names mean the released notebooks' scores.

    Raises:
        UnknownName: With the nearest known name.
        BadSieve: When two claim the name, or the plug-in or file cannot be used.
    """
    if ".py:" in name:
        return _from_file(name)
    if preset == "published" and name in PUBLISHED:
        return _checked(_imported(PUBLISHED[name]), name, "headroles")
    installed = _installed()
    if len(installed.get(name, ())) + (name in BUILT_IN) > 1:
        raise BadSieve(_clash(name, installed[name]))
    if name in BUILT_IN:
        return _checked(_imported(BUILT_IN[name]), name, "headroles")
    if name in installed:
        return _plugged(installed[name][0])
    family, _, parameter = name.partition(":")
    if family in FAMILIES and parameter and preset != "published":
        made: Sieve = _imported(FAMILIES[family])(parameter)
        return made
    known = PUBLISHED if preset == "published" else [*BUILT_IN, *installed]
    raise UnknownName("sieve", name, known)


def entries() -> list[Entry]:
    """Every sieve there is, and every plug-in that is broken, with its error."""
    listed = []
    installed = _installed()
    for name in sorted({*BUILT_IN, *installed}, key=lambda each: (each not in BUILT_IN, each)):
        origin = "headroles" if name in BUILT_IN else ", ".join(_owner(point) for point in installed[name])
        try:
            each = sieve_of(name)
        except BadSieve as error:
            listed.append(Entry(name, origin, error=str(error)))
        else:
            question, source = getattr(each, "question", ""), getattr(each, "source", "")
            listed.append(Entry(name, origin, question, source))
    return listed


def _installed() -> dict[str, list[EntryPoint]]:
    points: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        points.setdefault(point.name, []).append(point)
    return points


def _owner(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value


def _clash(name: str, points: Iterable[EntryPoint]) -> str:
    owners = (["headroles"] if name in BUILT_IN else []) + [_owner(point) for point in points]
    return (
        f"a sieve's name belongs to one distribution, but {name!r} is offered by {' and '.join(owners)}; "
        f"uninstall one of them or rename its entry point"
    )


def _imported(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _plugged(point: EntryPoint) -> Sieve:
    """Load a plug-in; whatever goes wrong inside it becomes one sentence about it."""
    try:
        loaded = point.load()
    except Exception as error:  # a stranger's module may raise anything
        raise BadSieve(
            f"the sieve {point.name!r} of the distribution {_owner(point)} cannot be loaded "
            f"({type(error).__name__}: {error}); mend or uninstall that distribution"
        ) from error
    return _checked(loaded, point.name, _owner(point))


def _checked(found: object, name: str, origin: str) -> Sieve:
    if not isinstance(found, MaskSieve | Scorer):
        raise BadSieve(
            f"{origin} offers {name!r} as a sieve, but it is {type(found).__name__}; a sieve is made by "
            f"@sieve or has name, needs, score and null"
        )
    if found.name != name:
        raise BadSieve(
            f"{origin} offers a sieve as {name!r} that calls itself {found.name!r}; "
            f"the two names must be equal"
        )
    return found


def _from_file(target: str) -> Sieve:
    """A sieve from ``path/to/file.py:name``, where name is the sieve's own or its variable's."""
    path, _, name = target.rpartition(":")
    file = Path(path)
    if not file.is_file():
        raise BadInput(f"a sieve from a file is given as path/to/file.py:name, but there is no file {path!r}")
    spec = importlib.util.spec_from_file_location(f"headroles_file_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise BadInput(f"{path!r} is not a Python file; a sieve from a file is given as path/to/file.py:name")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # a stranger's module may raise anything
        raise BadSieve(f"the file {path!r} cannot be run ({type(error).__name__}: {error})") from error
    sieves = {key: each for key, each in vars(module).items() if isinstance(each, MaskSieve | Scorer)}
    for variable, each in sieves.items():
        if name in (variable, each.name) and not isinstance(each, type):
            return each
    raise UnknownName(f"sieve of {path}", name, sorted({each.name for each in sieves.values()}))
