"""Sieves by name: built in, of a family, from an installed plug-in, or from a file."""

import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import EntryPoint
from math import isfinite, isnan
from pathlib import Path
from typing import Any

from headroles.addresses import no_such_file
from headroles.errors import BadInput, BadSieve, UnknownName, shorten
from headroles.plugins import (
    OURS,
    Installed,
    import_object,
    installed_plugins,
    is_built_in,
    owner_of,
    unknown_sieve,
)
from headroles.sieves import BUILT_IN, FAMILIES, GROUPS, PATTERNS, PUBLISHED, TITLES
from headroles.sieves.base import MARGIN, NEEDS, Contrast, MaskSieve, Scorer, Sieve, check_margin
from headroles.sieves.families import SieveFamily

RESERVED = ("example", "group", "tokens", "layer", "head", "roles", "kv_group")
"""Columns of the tables of a run, which may not be names of sieves."""
MEMBERS = "name, needs, score and null"

Offer = Sieve | SieveFamily | tuple[str, ...]
"""What a plug-in may offer: a sieve, a family of sieves, or a group, which is a tuple of names."""


DEFAULT, FAMILY, PLUGIN = "default", "families", "plug-ins"
PARTS = (DEFAULT, *GROUPS, FAMILY, PLUGIN)
"""Parts of the list of sieves: the default set, the members of a group, families, plug-ins."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of ``headroles sieves``: a sieve, family or group, or the reason why it is not available.

    Attributes:
        name: Its name; that of a family shows its parameter, such as ``local:<tokens>``.
        origin: "headroles", or the distribution that offers it.
        question: Its question; the names of its sieves for a group.
        source: The source of the idea.
        error: The reason why it is broken, as a sentence; "" where it is not.
        group: The built-in group that it belongs to; "" for none.
        kind: "mask", "scorer", "family" or "group"; "" where it is broken.
        default: Whether it belongs to the sieves of a run that names none.
        needs: Annotation that it reads, sorted.
        margin: Default margin of its score; None for a group and where it is broken.
        contrast: Margin of its contrast against distance; None where it has none.
        low: Smallest possible score of a scorer; None where it states none, and for masks.
        high: Largest possible score of a scorer; None as for ``low``.
        example: A name of a family with its parameter, such as ``local:4``; "" for others.
    """

    name: str
    origin: str
    question: str = ""
    source: str = ""
    error: str = ""
    group: str = ""
    kind: str = ""
    default: bool = False
    needs: tuple[str, ...] = ()
    margin: float | None = None
    contrast: float | None = None
    low: float | None = None
    high: float | None = None
    example: str = ""

    @property
    def parts(self) -> frozenset[str]:
        """Return the parts of the list that hold it, some of ``PARTS``."""
        parts = {self.group}
        parts |= {DEFAULT} if self.default else set()
        parts |= {FAMILY} if self.kind == "family" else set()
        parts |= {PLUGIN} if self.origin != "headroles" else set()
        return frozenset(parts - {""})


def sieve_of(name: str, preset: str = "calibrated") -> Sieve:
    """Return the sieve of a name.

    Args:
        name: A built-in name (``"block"``) or the title of its role, a family with its parameter
            (``"syntactic:det"``, ``"local:4"``), a plug-in's name, ``"path/to/file.py:name"``, or
            ``"path/to/file.py:family:parameter"``.
        preset: With "published", built-in names mean the released notebooks' scores.

    Raises:
        UnknownName: With the nearest known name.
        BadSieve: When two distributions use the name, the plug-in or file cannot be used, or the name is that
            of a group, or of a family without its parameter.
    """
    return _sieve_of(name, preset, None)


def _sieve_of(name: str, preset: str, installed: Installed | None) -> Sieve:
    """Return the sieve of a name; ``installed`` are the plug-ins, None where they are not listed yet."""
    name = TITLES.get(name, name)
    if ".py:" in name:
        return _from_file(name)
    installed = installed_plugins() if installed is None else installed
    refuse_clash(name, installed)
    if preset == "published" and name in PUBLISHED:
        return _check_offer(import_object(PUBLISHED[name]), name, "headroles")
    if name in OURS and preset != "published":
        return _check_offer(import_object(OURS[name]), name, "headroles")
    if name in installed:
        return _single(load_plugin(installed[name][0]), name)
    family, _, parameter = name.partition(":")
    if family in FAMILIES and preset != "published" and (parameter or family not in OURS):
        return _of_family(import_object(FAMILIES[family]), parameter)
    if preset == "published" and is_built_in(name):
        raise BadSieve(
            f"the preset 'published' has the released notebooks' sieves only ({', '.join(PUBLISHED)}), "
            f"but got {name!r}; leave it out, or use the preset 'calibrated'"
        )
    if name != family and family in installed:
        offered = load_plugin(installed[family][0])
        if isinstance(offered, SieveFamily):
            return _of_family(offered, parameter)
    if name in GROUPS and preset != "published":
        return _single(GROUPS[name], name)
    raise unknown_sieve(name, preset)


def sieves_of(named: Sequence[str | Sieve], preset: str = "calibrated") -> tuple[list[Sieve], frozenset[str]]:
    """Return sieves from names, groups and sieve objects.

    A group gives its sieves that are not named by themselves, each once, at the place of the group.

    Args:
        named: Names that ``sieve_of`` accepts, names of groups (``"patterns"``, or a plug-in's), and sieves.
        preset: As for ``sieve_of``; "published" has no groups of headroles.

    Returns:
        The sieves, and the names of those that only a group named.

    Raises:
        UnknownName: With the nearest known name.
        BadSieve: When two distributions use a name, or a sieve cannot be used.
    """
    installed = installed_plugins() if any(isinstance(given, str) for given in named) else {}
    single: dict[int, Sieve] = {}
    groups: dict[int, tuple[str, ...]] = {}
    for place, given in enumerate(named):
        if not isinstance(given, str):
            single[place] = check_usable(given)
            continue
        members = _members(given, preset, installed)
        if members is None:
            single[place] = _sieve_of(given, preset, installed)
        else:
            groups[place] = members
    alone = {sieve.name for sieve in single.values()}
    sieves: list[Sieve] = []
    grouped: set[str] = set()
    for place in range(len(named)):
        if place in single:
            sieves.append(single[place])
            continue
        fresh = [name for name in groups[place] if name not in alone | grouped]
        sieves += [_sieve_of(name, preset, installed) for name in fresh]
        grouped.update(fresh)
    return sieves, frozenset(grouped)


def entries(part: str | None = None) -> list[Entry]:
    """Return an entry for every available sieve, family and group, and for every broken plug-in.

    Args:
        part: One of ``PARTS``; None for all.

    Raises:
        UnknownName: For another part.

    Example:
        >>> [entry.name for entry in entries("families") if entry.origin == "headroles"]
        ['local:<tokens>', 'offset:<tokens>', 'punctuation:<marks>', 'syntactic:<relation>']
    """
    if part is not None and part not in PARTS:
        raise UnknownName("part of the sieves", part, PARTS)
    installed = installed_plugins()
    names = sorted(OURS, key=lambda name: (name not in BUILT_IN, name in PATTERNS, name))
    listed = [_entry(import_object(OURS[name]), "headroles") for name in names if name not in installed]
    listed += [_entry(family_of(name), "headroles") for name in FAMILIES]
    listed += [_plugin_entry(name, installed) for name in sorted(installed)]
    return [entry for entry in listed if part is None or part in entry.parts]


def entries_of(name: str | None) -> list[Entry]:
    """Return the entries of a part of the list, or the entry of a sieve by any name that ``sieve_of`` takes.

    Raises:
        UnknownName: With the nearest known name.
        BadSieve: When the plug-in or file cannot be used.
    """
    if name is None or name in PARTS:
        return entries(name)
    name = TITLES.get(name, name)
    listed = [entry for entry in entries() if entry.name == name]
    if listed:
        return listed
    path, in_file, _ = name.partition(".py:")
    points = installed_plugins().get(name.partition(":")[0]) or []
    origin = f"{path}.py" if in_file else owner_of(points[0]) if points else "headroles"
    return [_entry(sieve_of(name), origin)]


def sieves_json(listed: Sequence[Entry]) -> str:
    """Return entries as a JSON list of objects with all fields; a field without a value is null."""
    return json.dumps([asdict(entry) for entry in listed], ensure_ascii=False, indent=2)


def _plugin_entry(name: str, installed: Installed) -> Entry:
    """Return the entry of a plug-in, with the reason where it is broken."""
    points = installed[name]
    origin = ", ".join(owner_of(point) for point in points)
    try:
        refuse_clash(name, installed)
        offered = load_plugin(points[0])
        if isinstance(offered, tuple):
            return Entry(name, origin, question=f"all of {', '.join(offered)}", kind="group")
        return _entry(offered, origin)
    except BadSieve as error:
        return Entry(name, origin, error=str(error))


def _entry(offered: Sieve | SieveFamily, origin: str) -> Entry:
    """Return the entry of a sieve, or of a family, whose facts are those of its example.

    Raises:
        BadSieve: When a family makes no sieve of its example.
    """
    family = offered if isinstance(offered, SieveFamily) else None
    sieve = offered if not isinstance(offered, SieveFamily) else _of_family(offered, offered.example)
    contrast = getattr(sieve, "contrast", None)
    scorer = not isinstance(sieve, MaskSieve)
    return Entry(
        name=family.listed if family else sieve.name,
        origin=origin,
        question=family.question if family else getattr(sieve, "question", ""),
        source=family.source if family else getattr(sieve, "source", ""),
        group=next((group for group, names in GROUPS.items() if not family and sieve.name in names), ""),
        kind="family" if family else "scorer" if scorer else "mask",
        default=not family and sieve.name in BUILT_IN,
        needs=tuple(sorted(sieve.needs)),
        margin=float(getattr(sieve, "margin", MARGIN)),
        contrast=None if contrast is None else float(contrast.margin),
        low=_bound(sieve, "low") if scorer else None,
        high=_bound(sieve, "high") if scorer else None,
        example=f"{family.name}:{family.example}" if family else "",
    )


def _bound(sieve: Sieve, name: str) -> float | None:
    """Return a bound of a scorer; None where it states none."""
    bound = float(getattr(sieve, name, float("nan")))
    return bound if isfinite(bound) else None


def check_usable(given: object) -> Sieve:
    """Check that an object is a sieve that a run can use, and return it.

    Raises:
        BadSieve: When it is no sieve, has a name that tables of a run do not allow, needs annotation that
            does not exist, or has a margin, bounds or contrast of the wrong type.
    """
    if isinstance(given, type) or not isinstance(given, MaskSieve | Scorer):
        raise BadSieve(f"a sieve is made by @sieve or has {MEMBERS}, but got a {type(given).__name__}")
    name = given.name
    if not isinstance(name, str) or not name.isprintable() or name in ("", *RESERVED) or ";" in name:
        raise BadSieve(
            f"a sieve's name is printable, has no ';' and is no column of a run "
            f"({', '.join(RESERVED)}), but got {name!r}; rename it"
        )
    needs = given.needs
    if isinstance(needs, str) or not set(needs) <= NEEDS:
        raise BadSieve(
            f"a sieve needs only annotation that exists ({', '.join(sorted(NEEDS))}), as a frozenset, but "
            f"{name!r} needs {shorten(needs)}; mend it"
        )
    check_margin(getattr(given, "margin", 0.0), name)
    contrast = getattr(given, "contrast", None)
    if contrast is not None:
        if not isinstance(contrast, Contrast):
            raise BadSieve(
                f"the contrast of a sieve is a headroles.Contrast or None, but that of {name!r} is a "
                f"{type(contrast).__name__}; mend it"
            )
        check_margin(contrast.margin, f"{name}:matched")
    _check_bounds(given)
    return given


def _check_bounds(sieve: Sieve) -> None:
    """Check that the bounds of a scorer are numbers, low below high; NaN means no bound."""
    low, high = (getattr(sieve, bound, float("nan")) for bound in ("low", "high"))
    numbers = all(isinstance(bound, int | float) and not isinstance(bound, bool) for bound in (low, high))
    if not numbers or not (low < high or isnan(low) or isnan(high)):
        raise BadSieve(
            f"the bounds of a score are numbers, low below high, but those of the sieve {sieve.name!r} are "
            f"{shorten(low)} and {shorten(high)}; mend it, or leave them out"
        )


def refuse_clash(name: str, installed: Installed) -> None:
    """Check that no two distributions offer a name, or the family that it names.

    Raises:
        BadSieve: When two do, naming both.
    """
    family, colon, _ = name.partition(":")
    owners = ["headroles"] if is_built_in(name) else []
    owners += [owner_of(point) for point in installed.get(name, ())]
    if colon and family not in OURS:
        owners += [owner for point in installed.get(family, ()) if (owner := owner_of(point)) not in owners]
    if len(owners) > 1:
        raise BadSieve(
            f"a sieve's name belongs to one distribution, but {name!r} is offered by {' and '.join(owners)}; "
            f"uninstall one of them or rename its entry point"
        )


def load_plugin(point: EntryPoint) -> Offer:
    """Load a plug-in, and check what it offers; any error inside it becomes one sentence.

    Raises:
        BadSieve: When it cannot be loaded, or offers something else than a sieve, a family or a group.
    """
    try:
        loaded = point.load()
    except (Exception, SystemExit) as error:  # a third party's module may raise anything
        raise BadSieve(
            f"the sieve {point.name!r} of the distribution {owner_of(point)} cannot be loaded "
            f"({type(error).__name__}: {error}); mend or uninstall that distribution"
        ) from error
    if isinstance(loaded, tuple):
        if not loaded or not all(isinstance(name, str) and name != point.name for name in loaded):
            raise BadSieve(
                f"{owner_of(point)} offers {point.name!r} as a group of sieves, which is a tuple of names of "
                f"sieves, but got {shorten(loaded)}; mend it"
            )
        return loaded
    if isinstance(loaded, SieveFamily):
        _check_name(loaded.name, point.name, owner_of(point))
        return loaded
    return _check_offer(loaded, point.name, owner_of(point))


def family_of(name: str) -> SieveFamily:
    """Return a built-in family of sieves, such as ``local``."""
    family: SieveFamily = import_object(FAMILIES[name])
    return family


def _members(name: str, preset: str, installed: Installed) -> tuple[str, ...] | None:
    """Return the names of the sieves of a group; None where a name is not that of a group."""
    if name in GROUPS:
        refuse_clash(name, installed)
        return GROUPS[name] if preset != "published" else None
    if name not in installed or name in OURS:
        return None
    refuse_clash(name, installed)
    offered = load_plugin(installed[name][0])
    return offered if isinstance(offered, tuple) else None


def _single(offered: Offer, name: str) -> Sieve:
    """Return an offered sieve; refuse a group, and a family without its parameter."""
    if isinstance(offered, SieveFamily):
        return _of_family(offered, "")
    if isinstance(offered, tuple):
        raise BadSieve(
            f"this needs one sieve, but {name!r} is a group of sieves ({', '.join(offered)}); name one of "
            "them"
        )
    return offered


def _of_family(family: SieveFamily, parameter: str) -> Sieve:
    """Return the sieve of a family with a parameter, which may not be empty."""
    if not parameter:
        raise BadSieve(
            f"{family.name!r} is a family of sieves, each with a parameter, but got none; write "
            f"{family.listed}, as in {family.name}:{family.example}"
        )
    return check_usable(family.sieve(parameter))


def _check_offer(given: object, name: str, origin: str) -> Sieve:
    if isinstance(given, type) or not isinstance(given, MaskSieve | Scorer):
        raise BadSieve(
            f"{origin} offers {name!r} as a sieve, but it is a {type(given).__name__}; "
            f"a sieve is made by @sieve or has {MEMBERS}"
        )
    _check_name(given.name, name, origin)
    return check_usable(given)


def _check_name(own: str, name: str, origin: str) -> None:
    """Check that a sieve or family of a plug-in has the name of its entry point."""
    if own != name:
        raise BadSieve(
            f"{origin} offers a sieve as {name!r} that calls itself {own!r}; the two names must be equal"
        )


def _from_file(target: str) -> Sieve:
    """Return the sieve of ``path/to/file.py:name``, where name is that of the sieve or of its variable.

    A name with a colon may also be that of a family, or of its variable, followed by a parameter.
    """
    stem, _, name = target.partition(".py:")
    path = f"{stem}.py"
    file = Path(path)
    if not os.path.isfile(file):  # also for names that no file can have
        raise no_such_file(path, "a sieve from a file is given as path/to/file.py:name")
    defined = {key: value for key, value in _run_file(file).items() if not isinstance(value, type)}
    sieves = {key: value for key, value in defined.items() if isinstance(value, MaskSieve | Scorer)}
    for variable, sieve in sieves.items():
        if name in (variable, sieve.name):
            return check_usable(sieve)
    wanted, _, parameter = name.partition(":")
    families = {key: value for key, value in defined.items() if isinstance(value, SieveFamily)}
    for variable, family in families.items():
        if wanted in (variable, family.name):
            return _of_family(family, parameter)
    if name in defined:
        return check_usable(defined[name])
    known = {str(sieve.name) for sieve in sieves.values()} | {family.listed for family in families.values()}
    raise UnknownName(f"sieve of {path}", name, sorted(known))


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
