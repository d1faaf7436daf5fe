"""Places where the files of a run lie: a folder of this machine, or any address that fsspec knows.

A place for the files of a run that are written nowhere.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Protocol, runtime_checkable

from headroles.addresses import WHOLE, is_address, system_of, told
from headroles.errors import BadInput


@runtime_checkable
class Place(Protocol):
    """Files by their names; each appears whole or not at all. Names may have folders: ``scores/part-0``."""

    @property
    def url(self) -> str:
        """Where it is: an address, or the path of a folder."""

    def write(self, name: str, data: bytes) -> None:
        """Put a file there, in place of one of that name: whoever reads sees the old or the new one.

        Raises:
            BadInput: When it cannot be written.
        """

    def read(self, name: str) -> bytes:
        """What a file holds.

        Raises:
            FileNotFoundError: When there is none.
            BadInput: When it cannot be read.
        """

    def sha256(self, name: str) -> str:
        """Return the SHA-256 of a file.

        Raises:
            FileNotFoundError: When there is none.
            BadInput: When it cannot be read.
        """

    def names(self, prefix: str = "") -> list[str]:
        """Names of all files that begin with a prefix, sorted; those half-written are none.

        Raises:
            BadInput: When the place cannot be listed.
        """

    def delete(self, name: str) -> None:
        """Take a file away; nothing happens when there is none.

        Raises:
            BadInput: When it cannot be taken away.
        """


def place_of(where: str | os.PathLike[str]) -> "Place":
    """The place at an address or path; nothing is made there yet.

    Raises:
        BadInput: For a kind of address that does not exist, or settings it does not take.
        MissingExtra: When what serves such addresses is not installed.
    """
    if is_address(where):
        return FsspecPlace(str(where))
    return LocalPlace(Path(where))


def is_partial(name: str) -> bool:
    """Whether a name is that of a file on its way: ``.<name>.<process>.partial``.

    Example:
        >>> is_partial("shards/.00001.json.77.partial"), is_partial("shards/00001.json")
        (True, False)
    """
    last = name.rpartition("/")[2]
    return last.startswith(".") and last.endswith(".partial")


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file of this machine, which is read in pieces.

    Raises:
        FileNotFoundError: When there is none.
        BadInput: When it cannot be read.
    """
    with told(f"'{path}'", "read"), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class LocalPlace:
    """A folder of this machine; folders are made as they are needed."""

    def __init__(self, folder: Path) -> None:
        """Name the folder.

        Args:
            folder: Where the files are; need not be there yet.
        """
        self.folder = folder

    @property
    def url(self) -> str:
        """The path of the folder."""
        return str(self.folder)

    def write(self, name: str, data: bytes) -> None:
        """Write beside, and rename.

        Raises:
            BadInput: When it cannot be written.
        """
        path = self._path(name)
        partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        with told(f"'{path}'", "written"):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with partial.open("wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())  # or a machine that loses power keeps the name without the bytes
                partial.replace(path)
            finally:
                partial.unlink(missing_ok=True)

    def read(self, name: str) -> bytes:
        """What a file holds.

        Raises:
            FileNotFoundError: When there is none.
            BadInput: When it cannot be read.
        """
        path = self._path(name)
        with told(f"'{path}'", "read"):
            return path.read_bytes()

    def sha256(self, name: str) -> str:
        """Return the SHA-256 of a file, as ``sha256_of`` does."""
        return sha256_of(self._path(name))

    def names(self, prefix: str = "") -> list[str]:
        """Names of all files that begin with a prefix, sorted; those half-written are none.

        Raises:
            BadInput: When the folder cannot be listed.
        """
        with told(f"'{self.folder}'", "read"):
            found = (
                each.relative_to(self.folder).as_posix() for each in self.folder.rglob("*") if each.is_file()
            )
            return sorted(name for name in found if name.startswith(prefix) and not is_partial(name))

    def delete(self, name: str) -> None:
        """Take a file away; nothing happens when there is none.

        Raises:
            BadInput: When it cannot be taken away.
        """
        path = self._path(name)
        with told(f"'{path}'", "deleted"), suppress(FileNotFoundError):
            path.unlink()

    def _path(self, name: str) -> Path:
        return self.folder / inside(name)


class FsspecPlace:
    """An address that fsspec knows: ``s3://``, ``gs://``, ``memory://``, ``file://`` and others.

    Object stores put a file whole or not at all. Where a file system stands behind the address, a file is
    written beside and moved.
    """

    def __init__(self, url: str) -> None:
        """Find what serves the address; nothing is asked of it yet.

        Raises:
            BadInput: For a kind of address that does not exist.
            MissingExtra: When what serves it is not installed.
        """
        self._url = url.rstrip("/")
        self.system, self.root = system_of(url)

    @property
    def url(self) -> str:
        """The address."""
        return self._url

    def write(self, name: str, data: bytes) -> None:
        """Put a file whole.

        Raises:
            BadInput: When it cannot be written.
        """
        path = self._path(name)
        with told(f"'{self._url}/{name}'", "written"):
            if self._puts_whole():
                self.system.pipe_file(path, data)
                return
            folder, _, last = path.rpartition("/")
            partial = f"{folder}/.{last}.{os.getpid()}.partial"
            self.system.makedirs(folder, exist_ok=True)
            try:
                self.system.pipe_file(partial, data)
                self.system.mv(partial, path)
            finally:
                if self.system.exists(partial):
                    self.system.rm_file(partial)

    def read(self, name: str) -> bytes:
        """What a file holds.

        Raises:
            FileNotFoundError: When there is none.
            BadInput: When it cannot be read.
        """
        with told(f"'{self._url}/{name}'", "read"):
            data: bytes = self.system.cat_file(self._path(name))
            return data

    def sha256(self, name: str) -> str:
        """Return the SHA-256 of a file, which is fetched whole; raises what ``read`` raises."""
        return hashlib.sha256(self.read(name)).hexdigest()

    def names(self, prefix: str = "") -> list[str]:
        """Names of all files that begin with a prefix, sorted; those half-written are none.

        Raises:
            BadInput: When the place cannot be listed.
        """
        with told(f"'{self._url}'", "read"):
            self.system.invalidate_cache()  # other workers write there, too
            folder = f"{self.root}/{prefix.rpartition('/')[0]}".rstrip("/")
            if not self.system.exists(folder):
                return []
            found = [path.removeprefix("/") for path in self.system.find(folder)]
        start = self.root.removeprefix("/") + "/"
        names = (path.removeprefix(start) for path in found if path.startswith(start))
        return sorted(name for name in names if name.startswith(prefix) and not is_partial(name))

    def delete(self, name: str) -> None:
        """Take a file away; nothing happens when there is none.

        Raises:
            BadInput: When it cannot be taken away.
        """
        with told(f"'{self._url}/{name}'", "deleted"), suppress(FileNotFoundError):
            self.system.rm_file(self._path(name))

    def _puts_whole(self) -> bool:
        """Whether a put of this kind of address is seen whole or not at all."""
        kinds = self.system.protocol if isinstance(self.system.protocol, tuple) else (self.system.protocol,)
        return not WHOLE.isdisjoint(kinds)

    def _path(self, name: str) -> str:
        return f"{self.root}/{inside(name)}"


def inside(name: str) -> str:
    """A name, when it stays within its place.

    Raises:
        BadInput: When it is empty, absolute, or climbs out.

    Example:
        >>> inside("scores/part-00000.parquet")
        'scores/part-00000.parquet'
    """
    if not name or name.startswith("/") or {"", ".", ".."} & {*name.split("/")}:
        raise BadInput(f"a file's name must stay within its place, but {name!r} does not")
    return name


class Memory:
    """A place that is gone with its process, for runs that are written nowhere."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._files: dict[str, bytes] = {}

    @property
    def url(self) -> str:
        """No other process can reach it."""
        return ""

    def write(self, name: str, data: bytes) -> None:
        """Hold a file."""
        self._files[name] = data

    def read(self, name: str) -> bytes:
        """What a file holds.

        Raises:
            FileNotFoundError: When there is none.
        """
        if name not in self._files:
            raise FileNotFoundError(name)
        return self._files[name]

    def sha256(self, name: str) -> str:
        """Return the SHA-256 of a file; raises what ``read`` raises."""
        return hashlib.sha256(self.read(name)).hexdigest()

    def names(self, prefix: str = "") -> list[str]:
        """Names of all files that begin with a prefix, sorted."""
        return sorted(name for name in self._files if name.startswith(prefix))

    def delete(self, name: str) -> None:
        """Let a file go."""
        self._files.pop(name, None)
