"""Places for the files of a run: a local folder, an address that fsspec serves, or memory."""

import errno
import hashlib
import io
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Protocol, runtime_checkable

from headroles.addresses import WHOLE_WRITES, explain_errors, is_address, system_of
from headroles.errors import BadInput
from headroles.storage.integrity.leftovers import is_partial, partial_name, partial_path


@runtime_checkable
class Place(Protocol):
    """Store of files by name; each appears whole or not at all. Names may have folders: ``scores/part-0``."""

    @property
    def url(self) -> str:
        """Address, or path of the folder."""

    def write(self, name: str, data: bytes) -> None:
        """Write a file, replacing one of that name: a reader sees the old or the new file.

        Raises:
            BadInput: When it cannot be written.
        """

    def read(self, name: str) -> bytes:
        """Return the content of a file.

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
        """Return names of all files that begin with a prefix, sorted, without half-written files.

        Raises:
            BadInput: When the place cannot be listed.
        """

    def delete(self, name: str) -> None:
        """Delete a file, if there is one.

        Raises:
            BadInput: When it cannot be deleted.
        """


def place_of(where: str | os.PathLike[str]) -> "Place":
    """Return the place at an address or path, without creating anything there.

    Raises:
        BadInput: For a kind of address that does not exist, or settings it does not accept.
        MissingExtra: When the package that serves such addresses is not installed.
    """
    if is_address(where):
        return FsspecPlace(str(where))
    return LocalPlace(Path(where))


def open_regular(path: Path) -> io.BufferedReader:
    """Open a plain file for reading; a pipe or a device would keep the reader waiting for ever.

    Raises:
        FileNotFoundError: When there is none.
        OSError: When it is no plain file, or cannot be read.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(path, flags), "rb")
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "it is no plain file", str(path))


def read_regular(path: Path) -> bytes:
    """Return the content of a plain file, as ``open_regular`` opens it."""
    with open_regular(path) as file:
        return file.read()


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a plain file of this machine, which is read in pieces.

    Raises:
        FileNotFoundError: When there is none.
        BadInput: When it cannot be read.
    """
    with explain_errors(f"'{path}'", "read"), open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def removed_error(folder: Path) -> BadInput:
    """Return the error for a run folder that somebody removed while a command wrote it."""
    return BadInput(
        f"the folder of a run must stay in place while the run is made, but '{folder}' or files in it "
        "were removed; start the same command again"
    )


class LocalPlace:
    """A local folder; subfolders are made as needed."""

    def __init__(self, folder: Path) -> None:
        """Keep the path of the folder.

        Args:
            folder: Folder of the files; need not exist yet.
        """
        self.folder = folder
        self._was_there = folder.is_dir()

    @property
    def url(self) -> str:
        """Path of the folder."""
        return str(self.folder)

    def write(self, name: str, data: bytes) -> None:
        """Write a temporary file in the same folder, and rename it.

        Raises:
            BadInput: When it cannot be written, or the folder was taken away since the first look at it.
        """
        path = self._path(name)
        partial = partial_path(path)
        if self._was_there and not self.folder.is_dir():
            raise removed_error(self.folder)
        self._was_there = True
        with explain_errors(f"'{path}'", "written"):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with partial.open("wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())  # else a power loss could keep the name without the bytes
                partial.replace(path)
            finally:
                with suppress(OSError):  # the error of writing is the one to tell
                    partial.unlink(missing_ok=True)

    def read(self, name: str) -> bytes:
        """Return the content of a file.

        Raises:
            FileNotFoundError: When there is none.
            BadInput: When it cannot be read.
        """
        path = self._path(name)
        with explain_errors(f"'{path}'", "read"):
            return read_regular(path)

    def sha256(self, name: str) -> str:
        """Return the SHA-256 of a file, as ``sha256_of`` does."""
        return sha256_of(self._path(name))

    def names(self, prefix: str = "") -> list[str]:
        """Return names of all files that begin with a prefix, sorted, without half-written files.

        Raises:
            BadInput: When the folder cannot be listed.
        """
        with explain_errors(f"'{self.folder}'", "read"):
            names = (
                path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file()
            )
            return sorted(name for name in names if name.startswith(prefix) and not is_partial(name))

    def delete(self, name: str) -> None:
        """Delete a file, if there is one.

        Raises:
            BadInput: When it cannot be deleted.
        """
        path = self._path(name)
        with explain_errors(f"'{path}'", "deleted"), suppress(FileNotFoundError):
            path.unlink()

    def _path(self, name: str) -> Path:
        return self.folder / check_name(name)


class FsspecPlace:
    """An address that fsspec serves: ``s3://``, ``gs://``, ``memory://``, ``file://`` and others.

    Object stores write a file whole or not at all. Where the address is a file system, a temporary file is
    written in the same folder and moved.
    """

    def __init__(self, url: str) -> None:
        """Find the file system that serves the address, without contacting it.

        Raises:
            BadInput: For a kind of address that does not exist.
            MissingExtra: When the package that serves it is not installed.
        """
        self._url = url.rstrip("/")
        self.system, self.root = system_of(url)

    @property
    def url(self) -> str:
        """Address of the place."""
        return self._url

    def write(self, name: str, data: bytes) -> None:
        """Write a file whole.

        Raises:
            BadInput: When it cannot be written.
        """
        path = self._path(name)
        with explain_errors(f"'{self._url}/{name}'", "written"):
            if self._puts_whole():
                self.system.pipe_file(path, data)
                return
            folder, _, last = path.rpartition("/")
            partial = f"{folder}/{partial_name(last)}"
            self.system.makedirs(folder, exist_ok=True)
            try:
                self.system.pipe_file(partial, data)
                self.system.mv(partial, path)
            finally:
                if self.system.exists(partial):
                    self.system.rm_file(partial)

    def read(self, name: str) -> bytes:
        """Return the content of a file.

        Raises:
            FileNotFoundError: When there is none.
            BadInput: When it cannot be read.
        """
        with explain_errors(f"'{self._url}/{name}'", "read"):
            path = self._path(name)
            if "file" in self.system.protocol:  # a pipe would keep the reader waiting
                return read_regular(Path(path))
            data: bytes = self.system.cat_file(path)
            return data

    def sha256(self, name: str) -> str:
        """Return the SHA-256 of a file, which is fetched whole; raises what ``read`` raises."""
        return hashlib.sha256(self.read(name)).hexdigest()

    def names(self, prefix: str = "") -> list[str]:
        """Return names of all files that begin with a prefix, sorted, without half-written files.

        Raises:
            BadInput: When the place cannot be listed.
        """
        with explain_errors(f"'{self._url}'", "read"):
            self.system.invalidate_cache()  # other workers write there too
            folder = f"{self.root}/{prefix.rpartition('/')[0]}".rstrip("/")
            if not self.system.exists(folder):
                return []
            paths = [path.removeprefix("/") for path in self.system.find(folder)]
        start = self.root.removeprefix("/") + "/"
        names = (path.removeprefix(start) for path in paths if path.startswith(start))
        return sorted(name for name in names if name.startswith(prefix) and not is_partial(name))

    def delete(self, name: str) -> None:
        """Delete a file, if there is one.

        Raises:
            BadInput: When it cannot be deleted.
        """
        with explain_errors(f"'{self._url}/{name}'", "deleted"), suppress(FileNotFoundError):
            self.system.rm_file(self._path(name))

    def _puts_whole(self) -> bool:
        """Return whether readers see a write to this kind of address whole or not at all."""
        kinds = self.system.protocol if isinstance(self.system.protocol, tuple) else (self.system.protocol,)
        return not WHOLE_WRITES.isdisjoint(kinds)

    def _path(self, name: str) -> str:
        return f"{self.root}/{check_name(name)}"


def check_name(name: str) -> str:
    """Check that a name stays within its place, and return it.

    Raises:
        BadInput: When it is empty, absolute, or leaves the place.

    Example:
        >>> check_name("scores/part-00000.parquet")
        'scores/part-00000.parquet'
    """
    if not name or name.startswith("/") or {"", ".", ".."} & {*name.split("/")}:
        raise BadInput(f"a file's name must stay within its place, but {name!r} does not")
    return name


class MemoryPlace:
    """A place in memory, for runs that are not written to disk."""

    def __init__(self) -> None:
        """Start without files."""
        self._files: dict[str, bytes] = {}

    @property
    def url(self) -> str:
        """Empty, because no other process can reach the place."""
        return ""

    def write(self, name: str, data: bytes) -> None:
        """Keep a file."""
        self._files[name] = data

    def read(self, name: str) -> bytes:
        """Return the content of a file.

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
        """Return names of all files that begin with a prefix, sorted."""
        return sorted(name for name in self._files if name.startswith(prefix))

    def delete(self, name: str) -> None:
        """Delete a file, if there is one."""
        self._files.pop(name, None)
