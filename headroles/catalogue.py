"""Sieves by name: built in, from an installed plug-in, or from a file."""

import importlib
import importlib.util
import os
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
"""Columns of the tables of a run, which may not be names of sieves."""
MEMBERS = "name, needs, score and null"
OURS = BUILT_IN | PATTERNS | ANNOTATED


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of ``headroles sieves``: a sieve, or the reason why it is not available."""

    name: str
    origin: str
    question: str = ""
    source: str = ""
    error: str = ""
    group: str = ""


def sieve_of(name: str, preset: str = "calibrated") -> Sieve:
    """Return the sieve of a name.

    Args:
        name: A built-in name (``"block"``), a family with its parameter (``"syntactic:det"``,
            ``"local:4"``), a plug-in's name, or ``"path/to/file.py:name"``.
        preset: With "published", built-in names mean the released notebooks' scores.

    Raises:
        UnknownName: With the nearest known name.
        BadSieve: When two distributions use the name, or the plug-in or file cannot be used.
    """
    return _sieve_of(name, preset, None)


def _sieve_of(name: str, preset: str, installed: Mapping[str, Sequence[EntryPoint]] | None) -> Sieve:
    """Return the sieve of a name; ``installed`` are the plug-ins, None where they are not listed yet."""
    if ".py:" in name:
        return _from_file(name)
    installed = _installed() if installed is None else installed
    _refuse_clash(name, installed)
    if preset == "published" and name in PUBLISHED:
        return _check_offer(_import(PUBLISHED[name]), name, "headroles")
    if name in OURS and preset != "published":
        return _check_offer(_import(OURS[name]), name, "headroles")
    if name in installed:
        return _load_plugin(installed[name][0])
    family, _, parameter = name.partition(":")
    if family in FAMILIES and parameter and preset != "published":
        sieve: Sieve = _import(FAMILIES[family])(parameter)
        return sieve
    if preset == "published" and _is_built_in(name):
        raise BadSieve(
            f"the preset 'published' has the released notebooks' sieves only ({', '.join(PUBLISHED)}), "
            f"but got {name!r}; leave it out, or use the preset 'calibrated'"
        )
    known = PUBLISHED if preset == "published" else [*OURS, *GROUPS, *installed]
    raise UnknownName("sieve", name, known)


def sieves_of(named: Sequence[str | Sieve], preset: str = "calibrated") -> tuple[list[Sieve], frozenset[str]]:
    """Return sieves from names, groups and sieve objects.

    A group gives its sieves that are not named by themselves, each once, at the place of the group.

    Args:
        named: Names that ``sieve_of`` accepts, names of groups (``"patterns"``), and sieves.
        preset: As for ``sieve_of``; "published" has no groups.

    Returns:
        The sieves, and the names of those that only a group named.

    Raises:
        UnknownName: With the nearest known name.
        BadSieve: When two distributions use a name, or a sieve cannot be used.
    """
    groups = {} if preset == "published" else GROUPS
    installed = _installed() if any(isinstance(given, str) for given in named) else {}
    single: dict[int, Sieve] = {}
    for place, given in enumerate(named):
        if isinstance(given, str) and given in groups:
            _refuse_clash(given, installed)
        else:
            single[place] = (
                _sieve_of(given, preset, installed) if isinstance(given, str) else check_usable(given)
            )
    alone = {sieve.name for sieve in single.values()}
    sieves: list[Sieve] = []
    grouped: set[str] = set()
    for place, given in enumerate(named):
        if place in single:
            sieves.append(single[place])
            continue
        fresh = [name for name in groups[str(given)] if name not in alone | grouped]
        sieves += [_sieve_of(name, preset, installed) for name in fresh]
        grouped.update(fresh)
    return sieves, frozenset(grouped)


def entries() -> list[Entry]:
    """Return an entry for every available sieve, and for every broken plug-in, with its error."""
    listed = []
    installed = _installed()
    for name in sorted({*OURS, *installed}, key=lambda name: (name not in OURS, name in PATTERNS, name)):
        origin = "headroles" if name in OURS else ", ".join(_owner(point) for point in installed[name])
        try:
            sieve = sieve_of(name)
        except BadSieve as error:
            listed.append(Entry(name, origin, error=str(error)))
        else:
            question, source = getattr(sieve, "question", ""), getattr(sieve, "source", "")
            group = next((group for group, names in GROUPS.items() if name in names), "")
            listed.append(Entry(name, origin, question, source, group=group))
    return listed


def sieve_names() -> list[str]:
    """Return the names of built-in sieves, groups and installed plug-ins, without importing any."""
    return [*OURS, *GROUPS, *_installed()]


def check_usable(given: object) -> Sieve:
    """Return a given object after checking that it is a sieve, with a name that tables of a run allow.

    Raises:
        BadSieve: When it is no sieve, or has another name.
    """
    if isinstance(given, type) or not isinstance(given, MaskSieve | Scorer):
        raise BadSieve(f"a sieve is made by @sieve or has {MEMBERS}, but got a {type(given).__name__}")
    name = given.name
    if not isinstance(name, str) or not name.isprintable() or name in ("", *RESERVED) or ";" in name:
        raise BadSieve(
            f"a sieve's name is printable, has no ';' and is no column of a run "
            f"({', '.join(RESERVED)}), but got {name!r}; rename it"
        )
    return given


def _is_built_in(name: str) -> bool:
    """Return whether a name is built in: a sieve, a group, or a family with its parameter."""
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
    """Check that no two distributions offer a name.

    Raises:
        BadSieve: When two do, naming both.
    """
    owners = (["headroles"] if _is_built_in(name) else []) + [
        _owner(point) for point in installed.get(name, ())
    ]
    if len(owners) > 1:
        raise BadSieve(
            f"a sieve's name belongs to one distribution, but {name!r} is offered by {' and '.join(owners)}; "
            f"uninstall one of them or rename its entry point"
        )


def _import(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _load_plugin(point: EntryPoint) -> Sieve:
    """Load a plug-in; any error inside it becomes one sentence."""
    try:
        loaded = point.load()
    except (Exception, SystemExit) as error:  # a third party's module may raise anything
        raise BadSieve(
            f"the sieve {point.name!r} of the distribution {_owner(point)} cannot be loaded "
            f"({type(error).__name__}: {error}); mend or uninstall that distribution"
        ) from error
    return _check_offer(loaded, point.name, _owner(point))


def _check_offer(given: object, name: str, origin: str) -> Sieve:
    if isinstance(given, type) or not isinstance(given, MaskSieve | Scorer):
        raise BadSieve(
            f"{origin} offers {name!r} as a sieve, but it is a {type(given).__name__}; "
            f"a sieve is made by @sieve or has {MEMBERS}"
        )
    if given.name != name:
        raise BadSieve(
            f"{origin} offers a sieve as {name!r} that calls itself {given.name!r}; "
            f"the two names must be equal"
        )
    return check_usable(given)


def _from_file(target: str) -> Sieve:
    """Return the sieve of ``path/to/file.py:name``, where name is that of the sieve or of its variable."""
    stem, _, name = target.partition(".py:")
    path = f"{stem}.py"
    file = Path(path)
    if not os.path.isfile(file):  # also for names that no file can have
        raise BadInput(
            f"a sieve from a file is given as path/to/file.py:name, but there is no file {path!r:.300}"
        )
    defined = {key: value for key, value in _run_file(file).items() if not isinstance(value, type)}
    sieves = {key: value for key, value in defined.items() if isinstance(value, MaskSieve | Scorer)}
    for variable, sieve in sieves.items():
        if name in (variable, sieve.name):
            return check_usable(sieve)
    if name in defined:
        return check_usable(defined[name])
    raise UnknownName(f"sieve of {path}", name, sorted({str(sieve.name) for sieve in sieves.values()}))


def _run_file(file: Path) -> dict[str, Any]:
    """Run a file as a module of its own, and return its definitions."""
    spec = importlib.util.spec_from_file_location(f"headroles_file_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise BadInput(f"'{file}' is not a Python file; a sieve from a file is path/to/file.py:name")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look up their own module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a third party's module may raise anything
        raise BadSieve(
            f"the file '{file}' cannot be run ({type(error).__name__}: {error}); mend it"
        ) from error
    return vars(module)
