"""Runs at addresses: fetched into a folder of this machine, worked on there, and put back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Concatenate, ParamSpec, TypeVar

from headroles.addresses import is_address, told
from headroles.errors import HeadrolesError
from headroles.storage.folder import MANIFEST
from headroles.storage.places import Place, place_of, sha256_of

Given = ParamSpec("Given")
Result = TypeVar("Result")
Where = str | Path


@contextmanager
def local_copy(where: Where, *, back: bool = False) -> Iterator[Path]:
    """A run as a folder of this machine: the folder itself, or a copy of what an address holds.

    Args:
        where: A path, which is passed on as it is, or an address.
        back: Whether what was changed in the copy is put back when all went well, the manifest last; of
            two who change one run at the same time, the later wins.

    Raises:
        BadInput: When the address cannot be read, or written.
        HeadrolesError: What is raised meanwhile, which then names the address and not its copy.
    """
    if not is_address(where):
        yield Path(where)
        return
    place = place_of(where)
    with TemporaryDirectory(prefix="headroles-") as beside:
        folder = Path(beside) / (place.url.rpartition("/")[2] or "run")
        with naming(folder, place.url):
            before = fetched(place, folder)
            yield folder
            if back:
                put_back(place, folder, before)


def copied(
    *, back: bool = False
) -> Callable[[Callable[Concatenate[Where, Given], Result]], Callable[Concatenate[Where, Given], Result]]:
    """Let a function that takes a folder first take an address, too, as ``local_copy`` says.

    Args:
        back: Whether what it changed is put back.
    """

    def wrap(
        function: Callable[Concatenate[Where, Given], Result],
    ) -> Callable[Concatenate[Where, Given], Result]:
        @wraps(function)
        def wrapped(folder: Where, /, *args: Given.args, **more: Given.kwargs) -> Result:
            if not is_address(folder):
                return function(folder, *args, **more)
            with local_copy(folder, back=back) as place:
                return function(place, *args, **more)

        return wrapped

    return wrap


def fetched(place: Place, folder: Path) -> dict[str, str]:
    """Copy all files of a place into a folder that is made for them.

    Args:
        place: Where they are.
        folder: Where they go.

    Returns:
        SHA-256 of each by name.
    """
    digests = {}
    folder.mkdir(parents=True, exist_ok=True)
    for name in place.names():
        data = place.read(name)
        digests[name] = sha256(data).hexdigest()
        path = folder / name
        with told(f"'{path}'", "written"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    return digests


def put_back(place: Place, folder: Path, before: dict[str, str]) -> None:
    """Write files of a folder that are new or changed to a place, and delete what is gone from it.

    Args:
        place: Where to.
        folder: The copy.
        before: SHA-256 of what is at the place, by name.
    """
    paths = {each.relative_to(folder).as_posix(): each for each in folder.rglob("*") if each.is_file()}
    for name in sorted(paths, key=lambda name: (name == MANIFEST, name)):
        if before.get(name) != sha256_of(paths[name]):
            place.write(name, paths[name].read_bytes())
    for name in sorted(before.keys() - paths.keys()):
        place.delete(name)


@contextmanager
def naming(folder: Path, url: str) -> Iterator[None]:
    """Have errors name an address, and not the folder that stands for it."""
    try:
        yield
    except HeadrolesError as error:
        error.args = tuple(str(each).replace(str(folder), url) for each in error.args)
        raise
