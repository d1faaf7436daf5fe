"""Addresses such as ``s3://bucket/run``: their file systems and last names, and errors as sentences."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

from headroles.errors import BadInput, HeadrolesError, MissingExtra, shorten

ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*(?:::[a-z][a-z0-9+.-]*)*://", re.IGNORECASE)
DRIVERS = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs"}
"""Package of the extra ``cloud`` for each kind of address."""
WHOLE_WRITES = frozenset({*DRIVERS, "abfs", "az", "memory"})
"""Kinds of address where readers see a write whole or not at all."""
MOST_BYTES = 255
"""Most bytes of a name on usual file systems."""
MOST_OF_PATH = 3_500
"""Most bytes of the path of a folder: Linux takes 4,095, and files in it have names, too."""
SERVICES = {
    "botocore", "aiobotocore", "s3fs", "gcsfs", "google", "aiohttp", "azure", "adlfs", "huggingface_hub",
    "httpx",
}  # fmt: skip
"""Packages whose errors of services and networks are no ``OSError``."""


def is_address(where: str | os.PathLike[str]) -> bool:
    """Return whether this is an address such as ``s3://bucket/run``, and no local path.

    Example:
        >>> is_address("s3://bucket/run"), is_address("runs/first"), is_address("C:/runs")
        (True, False, False)
    """
    return isinstance(where, str) and ADDRESS.match(where) is not None


def last_name(where: str) -> str:
    r"""Return the last part of a path, of an address, or of the name of a model with its owner.

    Example:
        >>> last_name("org/model"), last_name("s3://bucket/run/"), last_name(r"C:\runs\first")
        ('model', 'run', 'first')
    """
    return where.replace("\\", "/").rstrip("/").rpartition("/")[2]


def check_place(where: object) -> None:
    """Check that a value names a folder or an address, as far as that is known without looking.

    Raises:
        BadInput: For anything but a path or text, or a name that no system takes.
    """
    if not isinstance(where, str | os.PathLike):
        raise BadInput(f"a folder is named by a path or an address, but got {shorten(where)}")
    try:
        name = os.fsencode(where)
    except UnicodeEncodeError:
        name = b"\0"
    names = name.split(b"/")
    if b"\0" in name or len(name) > MOST_OF_PATH or any(len(part) > MOST_BYTES for part in names):
        raise BadInput(
            f"every name in a path has at most {MOST_BYTES} bytes of UTF-8, without zero bytes, and a path at"
            f" most {MOST_OF_PATH:,}, but got {shorten(where)}"
        )


def no_such_file(where: str | os.PathLike[str], advice: str = "") -> BadInput:
    """Return the error for a file to read that is not there.

    Args:
        where: Path or address, as it was given.
        advice: What to do, without a full stop; "" for the nearest name in its folder, where there is one.
    """
    return BadInput(_missing("file", where, advice))


def no_such_folder(where: str | os.PathLike[str], advice: str = "") -> BadInput:
    """Return the error for a folder to read that is not there, as ``no_such_file`` does for files."""
    return BadInput(_missing("folder", where, advice))


def _missing(what: str, where: str | os.PathLike[str], advice: str) -> str:
    """Return the sentence for a missing file or folder."""
    path = os.fspath(where)
    near = "" if is_address(path) else _nearest(path, folder=what == "folder")
    parts = (f"did you mean '{near}'?" if near else "", advice)
    return "; ".join((f"No such {what}: {path}", *(part for part in parts if part)))


def _nearest(path: str, *, folder: bool) -> str:
    """Return the path in the same folder with the nearest name; "" where there is none."""
    parent, name = os.path.split(path.rstrip("/"))
    try:
        with os.scandir(parent or ".") as entries:
            names = [entry.name for entry in entries if entry.is_dir() == folder]
    except OSError:
        return ""
    near = get_close_matches(name, names, n=1, cutoff=0.8)
    return os.path.join(parent, near[0]) if near else ""


def system_of(url: str) -> tuple[Any, str]:
    """Return the fsspec file system of an address, and the path of the address in it.

    Raises:
        BadInput: For a kind of address that does not exist, or settings it does not accept.
        MissingExtra: When the package that serves it is not installed.
    """
    import fsspec

    kind = url.partition("://")[0].rpartition("::")[2].lower()
    try:
        system, path = fsspec.url_to_fs(url)
    except ImportError as error:
        package = DRIVERS.get(kind, kind)
        raise MissingExtra(
            f"addresses such as '{kind}://…' are served by {package}, which is not installed; "
            f"pip install 'headroles[cloud]'"
        ) from error
    except (ValueError, TypeError) as error:
        known = ", ".join(f"{name}://" for name in ("s3", "gs", "file", "memory"))
        raise BadInput(
            f"an address must be of a kind that fsspec serves, such as {known}, but got '{url}' ({error})"
        ) from error
    if not path.strip("/"):
        raise BadInput(f"an address names a place, such as s3://bucket/run, but got '{url}'; name one")
    return system, path.rstrip("/")


@contextmanager
def explain_errors(what: str, done: str) -> Iterator[None]:
    """Turn errors of a file system or service into a ``BadInput`` of one sentence.

    Args:
        what: The file: a path or an address in quotes.
        done: "read", "written" or "deleted".

    Raises:
        BadInput: When the file cannot be used. ``FileNotFoundError`` of reading and deleting, and errors of
            headroles, pass through.
    """
    try:
        yield
    except HeadrolesError:
        raise
    except FileNotFoundError as error:
        if done != "written":
            raise
        raise BadInput(
            f"{what} cannot be written ({_reason(error)}); make its bucket or folder first"
        ) from error
    except OSError as error:
        raise BadInput(
            f"{what} cannot be {done} ({_reason(error)}); check the address, your rights, and the room there"
        ) from error
    except Exception as error:
        if type(error).__module__.split(".")[0] not in SERVICES and not isinstance(error, ValueError):
            raise
        raise BadInput(
            f"{what} cannot be {done} ({_reason(error)}); check address, credentials and network"
        ) from error


def _reason(error: BaseException) -> str:
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(reason).split())[:200]
