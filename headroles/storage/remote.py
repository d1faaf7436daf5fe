"""Runs at addresses: copied into a local folder, used there, and written back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Concatenate, ParamSpec, TypeVar

from headroles.addresses import check_place, explain_errors, is_address, no_such_folder
from headroles.errors import HeadrolesError
from headroles.storage.folder import MANIFEST
from headroles.storage.integrity.repair import restore_earlier_run
from headroles.storage.places import Place, place_of, sha256_of

Given = ParamSpec("Given")
Result = TypeVar("Result")
Where = str | Path


@contextmanager
def local_copy(where: Where, *, back: bool = False, new: bool = False) -> Iterator[Path]:
    """Yield a run as a local folder: the folder itself, or a temporary copy of an address.

    Args:
        where: A path, which is used as it is, or an address.
        back: Whether changes in the copy are written back on success, the manifest last; when two
            processes change one run at the same time, the later one wins.
        new: Whether nothing needs to be at the address yet.

    Raises:
        BadInput: When nothing is at the address, or it cannot be read or written.
        HeadrolesError: Any error inside the block, whose message then names the address, not the copy.
    """
    if not is_address(where):
        yield Path(where)
        return
    place = place_of(where)
    with TemporaryDirectory(prefix="headroles-") as temporary:
        folder = Path(temporary) / (place.url.rpartition("/")[2] or "run")
        with name_address(folder, place.url):
            before = fetch_files(place, folder)
            if not (before or new):
                raise no_such_folder(place.url, "give the address of a finished run")
            restore_earlier_run(folder)  # in the copy alone
            yield folder
            if back:
                put_back(place, folder, before)


def accept_address(
    *, back: bool = False
) -> Callable[[Callable[Concatenate[Where, Given], Result]], Callable[Concatenate[Where, Given], Result]]:
    """Decorate a function whose first argument is a folder, so that it also accepts an address.

    Args:
        back: Whether its changes are written back, as by ``local_copy``.
    """

    def wrap(
        function: Callable[Concatenate[Where, Given], Result],
    ) -> Callable[Concatenate[Where, Given], Result]:
        @wraps(function)
        def wrapped(folder: Where, /, *args: Given.args, **more: Given.kwargs) -> Result:
            check_place(folder)
            if not is_address(folder):
                return function(folder, *args, **more)
            with local_copy(folder, back=back) as place:
                return function(place, *args, **more)

        return wrapped

    return wrap


def fetch_files(place: Place, folder: Path) -> dict[str, str]:
    """Copy all files of a place into a new folder.

    Args:
        place: Source of the files.
        folder: Destination.

    Returns:
        SHA-256 of each file by name.
    """
    digests = {}
    folder.mkdir(parents=True, exist_ok=True)
    for name in place.names():
        data = place.read(name)
        digests[name] = sha256(data).hexdigest()
        path = folder / name
        with explain_errors(f"'{path}'", "written"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    return digests


def put_back(place: Place, folder: Path, before: dict[str, str]) -> None:
    """Write new and changed files of a folder to a place, and delete files there that the folder lost.

    Args:
        place: Destination.
        folder: The local copy.
        before: SHA-256 of the files at the place, by name.
    """
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    for name in sorted(paths, key=lambda name: (name == MANIFEST, name)):
        if before.get(name) != sha256_of(paths[name]):
            place.write(name, paths[name].read_bytes())
    for name in sorted(before.keys() - paths.keys()):
        place.delete(name)


@contextmanager
def name_address(folder: Path, url: str) -> Iterator[None]:
    """Replace the local folder by its address in error messages."""
    try:
        yield
    except HeadrolesError as error:
        error.args = tuple(str(argument).replace(str(folder), url) for argument in error.args)
        raise
