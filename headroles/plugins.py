"""Names of sieves, built in and of installed plug-ins, and the words that their definitions state.

A name is refused without importing numpy.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from headroles.errors import UnknownName
from headroles.sieves import BUILT_IN, FAMILIES, GROUPS, MEASURED, ON_REQUEST, PATTERNS, PUBLISHED

GROUP = "headroles.sieves"
OURS = BUILT_IN | PATTERNS | ON_REQUEST

Installed = Mapping[str, Sequence[EntryPoint]]


def installed_plugins() -> dict[str, list[EntryPoint]]:
    """Return the entry points of all installed plug-ins, by their names."""
    points: dict[str, list[EntryPoint]] = {}
    for point in _offered(tuple((folder, _changed(folder)) for folder in sys.path)):
        points.setdefault(point.name, []).append(point)
    return points


@lru_cache(maxsize=1)
def _offered(folders: tuple[tuple[str, int], ...]) -> tuple[EntryPoint, ...]:
    """Return all entry points of plug-ins; they are listed anew where a folder of the path has changed.

    Args:
        folders: Folders of the path, each with the time of its last change.
    """
    return tuple(entry_points(group=GROUP))


def _changed(folder: str) -> int:
    """Return when a folder of the path was changed, in nanoseconds; 0 for one that is not there."""
    try:
        return os.stat(folder or ".").st_mtime_ns
    except OSError:
        return 0


def owner_of(point: EntryPoint) -> str:
    """Return the distribution that offers an entry point."""
    return point.dist.name if point.dist is not None else point.value


def is_built_in(name: str) -> bool:
    """Return whether a name is built in: a sieve, a group, or a family with or without its parameter.

    Example:
        >>> [is_built_in(name) for name in ("block", "patterns", "local:4", "blok")]
        [True, True, True, False]
    """
    return name in OURS or name in GROUPS or name.partition(":")[0] in FAMILIES


def sieve_names() -> list[str]:
    """Return the names of built-in sieves, groups and installed plug-ins, without importing any."""
    return [*OURS, *GROUPS, *installed_plugins()]


def unknown_sieve(name: str, preset: str) -> UnknownName:
    """Return the error for a sieve that does not exist, with the nearest known name.

    Args:
        name: As it was given.
        preset: With "published", the names are those of the released notebooks' scores.
    """
    return UnknownName("sieve", name, PUBLISHED if preset == "published" else sieve_names())


def check_names(named: Sequence[object], preset: str) -> None:
    """Refuse names that nothing offers: no built-in sieve, group or family, no plug-in and no file.

    What a family, plug-in or file makes of a name is found out where the sieve is made.

    Args:
        named: Names of sieves; other objects are left alone.
        preset: As for ``unknown_sieve``.

    Raises:
        UnknownName: For the first of them.
    """
    for name in named:
        if not isinstance(name, str) or ".py:" in name or is_built_in(name):
            continue
        if {name, name.partition(":")[0]}.isdisjoint(installed_plugins()):
            raise unknown_sieve(name, preset)


def import_object(target: str) -> Any:
    """Return what an address such as ``module:object`` names."""
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


def stated_words(name: str) -> object:
    """Return the words that the definition of a role states; None where there is none here, or it has none.

    Only the module that defines the role is imported. A plug-in that cannot be loaded has no words.

    Args:
        name: Of a sieve, of a row of a probe with its direction, or of a statistic of attention.
    """
    root, _, parameter = name.partition(":")
    if name in OURS:
        return import_object(OURS[name]).words
    if parameter and root in FAMILIES:
        return import_object(FAMILIES[root]).words(parameter)
    if parameter and root in MEASURED:
        return import_object(MEASURED[root])(parameter)
    installed = installed_plugins()
    points = installed.get(name) or installed.get(root) or []
    try:
        stated = getattr(points[0].load(), "words", None) if len(points) == 1 else None
        return stated(parameter) if callable(stated) else stated
    except (Exception, SystemExit):  # a third party's module may raise anything
        return None
