"""A sieve by its name: built in, from an installed plug-in, or from a file."""

import importlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from headroles.errors import BadInput, BadSieve, UnknownName
from headroles.sieves import ANNOTATED, BUILT_IN, FAMILIES, GROUPS, PATTERNS, PUBLISHED
from headroles.sieves.base import MaskSieve, Scorer, Sieve

GROUP = "headroles.sieves"
RESERVED = ("example", "group", "tokens", "layer", "head", "roles", "kv_group")
"""Columns of the tables of a run, which no sieve can be called."""
MEMBERS = "name, needs, score and null"
OURS = BUILT_IN | PATTERNS | ANNOTATED


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of ``headroles sieves``: a sieve, or why it cannot be had."""

    name: str
    origin: str
    question: str = ""
    source: str = ""
    error: str = ""
    group: str = ""


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
    return _sieve_of(name, preset, None)


def _sieve_of(name: str, preset: str, installed: Mapping[str, Sequence[EntryPoint]] | None) -> Sieve:
    """The sieve of a name; ``installed`` are the plug-ins, None where they are not listed yet."""
    if ".py:" in name:
        return _from_file(name)
    installed = _installed() if installed is None else installed
    _refuse_clash(name, installed)
    if preset == "published" and name in PUBLISHED:
        return _checked(_imported(PUBLISHED[name]), name, "headroles")
    if name in OURS and preset != "published":
        return _checked(_imported(OURS[name]), name, "headroles")
    if name in installed:
        return _plugged(installed[name][0])
    family, _, parameter = name.partition(":")
    if family in FAMILIES and parameter and preset != "published":
        made: Sieve = _imported(FAMILIES[family])(parameter)
        return made
    if preset == "published" and _is_ours(name):
        raise BadSieve(
            f"the preset 'published' has the released notebooks' sieves only ({', '.join(PUBLISHED)}), "
            f"but {name!r} came; leave it out, or take the preset 'calibrated'"
        )
    known = PUBLISHED if preset == "published" else [*OURS, *GROUPS, *installed]
    raise UnknownName("sieve", name, known)


def sieves_of(named: Sequence[str | Sieve], preset: str = "calibrated") -> tuple[list[Sieve], frozenset[str]]:
    """Sieves by name or as they are, groups taken apart.

    A group gives those of its sieves that were not named by themselves, each once, at its own place.

    Args:
        named: Names that ``sieve_of`` takes, names of groups (``"patterns"``), and sieves.
        preset: As for ``sieve_of``; "published" has no groups.

    Returns:
        The sieves, and the names of those that came by a group.

    Raises:
        UnknownName: With the nearest known name.
        BadSieve: When two claim a name, or a sieve cannot be used.
    """
    groups = {} if preset == "published" else GROUPS
    installed = _installed() if any(isinstance(each, str) for each in named) else {}
    found: dict[int, Sieve] = {}
    for place, each in enumerate(named):
        if isinstance(each, str) and each in groups:
            _refuse_clash(each, installed)
        else:
            found[place] = _sieve_of(each, preset, installed) if isinstance(each, str) else usable(each)
    alone = {each.name for each in found.values()}
    sieves: list[Sieve] = []
    grouped: set[str] = set()
    for place, each in enumerate(named):
        if place in found:
            sieves.append(found[place])
            continue
        fresh = [name for name in groups[str(each)] if name not in alone | grouped]
        sieves += [_sieve_of(name, preset, installed) for name in fresh]
        grouped.update(fresh)
    return sieves, frozenset(grouped)


def entries() -> list[Entry]:
    """Every sieve there is, and every plug-in that is broken, with its error."""
    listed = []
    installed = _installed()
    for name in sorted({*OURS, *installed}, key=lambda each: (each not in OURS, each in PATTERNS, each)):
        origin = "headroles" if name in OURS else ", ".join(_owner(point) for point in installed[name])
        try:
            each = sieve_of(name)
        except BadSieve as error:
            listed.append(Entry(name, origin, error=str(error)))
        else:
            question, source = getattr(each, "question", ""), getattr(each, "source", "")
            group = next((group for group, names in GROUPS.items() if name in names), "")
            listed.append(Entry(name, origin, question, source, group=group))
    return listed


def usable(found: object) -> Sieve:
    """A sieve given as it is, when it is one and its name can stand in the tables of a run.

    Raises:
        BadSieve: Otherwise.
    """
    if isinstance(found, type) or not isinstance(found, MaskSieve | Scorer):
        raise BadSieve(f"a sieve is made by @sieve or has {MEMBERS}, but a {type(found).__name__} came")
    name = found.name
    if not isinstance(name, str) or not name.isprintable() or name in ("", *RESERVED) or ";" in name:
        raise BadSieve(
            f"a sieve's name is printable, has no ';' and is no column of a run "
            f"({', '.join(RESERVED)}), but {name!r} came; rename it"
        )
    return found


def _is_ours(name: str) -> bool:
    """Whether a name is built in, alone, as a group or as a family with its parameter."""
    family, _, parameter = name.partition(":")
    return name in OURS or name in GROUPS or (family in FAMILIES and bool(parameter))


def _installed() -> dict[str, list[EntryPoint]]:
    points: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        points.setdefault(point.name, []).append(point)
    return points


def _owner(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value


def _refuse_clash(name: str, installed: Mapping[str, Sequence[EntryPoint]]) -> None:
    """Refuse a name that two offer.

    Raises:
        BadSieve: Naming both.
    """
    owners = (["headroles"] if _is_ours(name) else []) + [_owner(point) for point in installed.get(name, ())]
    if len(owners) > 1:
        raise BadSieve(
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
    except (Exception, SystemExit) as error:  # a stranger's module may raise anything
        raise BadSieve(
            f"the sieve {point.name!r} of the distribution {_owner(point)} cannot be loaded "
            f"({type(error).__name__}: {error}); mend or uninstall that distribution"
        ) from error
    return _checked(loaded, point.name, _owner(point))


def _checked(found: object, name: str, origin: str) -> Sieve:
    if isinstance(found, type) or not isinstance(found, MaskSieve | Scorer):
        raise BadSieve(
            f"{origin} offers {name!r} as a sieve, but it is a {type(found).__name__}; "
            f"a sieve is made by @sieve or has {MEMBERS}"
        )
    if found.name != name:
        raise BadSieve(
            f"{origin} offers a sieve as {name!r} that calls itself {found.name!r}; "
            f"the two names must be equal"
        )
    return usable(found)


def _from_file(target: str) -> Sieve:
    """A sieve from ``path/to/file.py:name``, where name is the sieve's own or its variable's."""
    stem, _, name = target.partition(".py:")
    path = f"{stem}.py"
    file = Path(path)
    if not file.is_file():
        raise BadInput(f"a sieve from a file is given as path/to/file.py:name, but there is no file {path!r}")
    found = {key: each for key, each in _run_file(file).items() if not isinstance(each, type)}
    sieves = {key: each for key, each in found.items() if isinstance(each, MaskSieve | Scorer)}
    for variable, each in sieves.items():
        if name in (variable, each.name):
            return usable(each)
    if name in found:
        return usable(found[name])
    raise UnknownName(f"sieve of {path}", name, sorted({str(each.name) for each in sieves.values()}))


def _run_file(file: Path) -> dict[str, Any]:
    """What a file defines once it has been run as a module of its own."""
    spec = importlib.util.spec_from_file_location(f"headroles_file_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise BadInput(f"'{file}' is not a Python file; a sieve from a file is path/to/file.py:name")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their own module up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a stranger's module may raise anything
        raise BadSieve(
            f"the file '{file}' cannot be run ({type(error).__name__}: {error}); mend it"
        ) from error
    return vars(module)
