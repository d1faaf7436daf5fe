"""Sieves of a stored run, whose folder may come from somebody else: no file that it names is run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headroles.catalogue import sieve_of
from headroles.errors import BadInput, UnknownName, shorten
from headroles.plugins import is_built_in, sieve_names
from headroles.shards.identity import sieves_digest
from headroles.sieves.base import Sieve
from headroles.storage.folder import PLAN, read_manifest

FILE = ".py:"
"""What separates the path of a file from the name of a sieve in it."""


def own_name(named: str) -> str:
    """Return the name of a sieve, without the file that it was taken from.

    Example:
        >>> own_name("sieves/mine.py:questions"), own_name("block")
        ('questions', 'block')
    """
    return named.rpartition(FILE)[2]


def with_known_sieves(
    settings: Mapping[str, Any], folder: str | Path, given: Sequence[str]
) -> dict[str, Any]:
    """Return the settings of a stored run, with sieves that are built in, installed, or named by the user.

    Args:
        settings: Of the run, from its manifest.
        folder: Of the run; its plan holds digests of the code of sieves that are not part of headroles.
        given: Sieves that the user names, each as ``path/to/file.py:name``.

    Raises:
        UnknownName: For a given sieve that the run did not score with.
        BadInput: For a sieve of the run that came from a file and is neither given nor installed, or that has
            another source than the one that the run scored with.
    """
    stored = settings.get("sieve")
    names = [name for name in stored if isinstance(name, str)] if isinstance(stored, list) else []
    by_name = {own_name(name): name for name in given}
    if unused := sorted(by_name.keys() - {own_name(name) for name in names}):
        raise UnknownName("sieve of the run", unused[0], map(own_name, names))
    known = [_known(name, by_name, folder) for name in names]
    return {**settings, "sieve": known} if known else dict(settings)


def _known(name: str, given: Mapping[str, str], folder: str | Path) -> str:
    """Return the name by which a sieve of a stored run may be made."""
    own = own_name(name)
    if own not in given and FILE not in name and is_built_in(name):
        return name
    installed = not {own, own.partition(":")[0]}.isdisjoint(sieve_names())
    if own not in given and not installed:
        raise BadInput(
            f"the sieve {shorten(own)} of the run in '{folder}' came from a file, and a stored run runs no "
            f"code; give your own copy of that file with --sieve FILE:{own}"
        )
    chosen = given.get(own, own)
    checked_sieve(chosen, folder)
    return chosen


def checked_sieve(name: str, folder: str | Path) -> Sieve:
    """Return a sieve of the user's, which has the code that a stored run was scored with.

    Args:
        name: Of an installed plug-in, or ``path/to/file.py:name``.
        folder: Of the run.

    Raises:
        HeadrolesError: When there is no such sieve, or the run was scored with other code.
    """
    sieve = sieve_of(name)
    plan = read_manifest(Path(folder), PLAN).get("components")
    digests = plan.get("sieves") if isinstance(plan, dict) else None
    scored = digests.get(sieve.name) if isinstance(digests, dict) else None
    if scored != sieves_digest([sieve]).get(sieve.name):
        raise BadInput(
            f"roles belong to the code that scored them, but {shorten(name)} is not the code with which the "
            f"run in '{folder}' was scored; give the file of that run, or label again"
        )
    return sieve
