"""Addresses such as ``s3://bucket/run``: what serves them, and what goes wrong with them in one sentence."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headroles.errors import BadInput, HeadrolesError, MissingExtra

ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*(?:::[a-z][a-z0-9+.-]*)*://", re.IGNORECASE)
DRIVERS = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs"}
"""What the extra ``cloud`` brings for each kind of address."""
WHOLE = frozenset({*DRIVERS, "abfs", "az", "memory"})
"""Kinds of address where a put is seen whole or not at all."""
SERVICES = {"botocore", "aiobotocore", "s3fs", "gcsfs", "google", "aiohttp", "azure", "adlfs"}
"""Whose errors are no OSError, and say what a service or the network did."""


def is_address(where: str | os.PathLike[str]) -> bool:
    """Whether this is an address such as ``s3://bucket/run``, and no path of this machine.

    Example:
        >>> is_address("s3://bucket/run"), is_address("runs/first"), is_address("C:/runs")
        (True, False, False)
    """
    return isinstance(where, str) and ADDRESS.match(where) is not None


def system_of(url: str) -> tuple[Any, str]:
    """What serves an address, as fsspec gives it, and the path it knows it by.

    Raises:
        BadInput: For a kind of address that does not exist, or settings it does not take.
        MissingExtra: When what serves it is not installed.
    """
    import fsspec

    kind = url.partition("://")[0].rpartition("::")[2].lower()
    try:
        system, path = fsspec.url_to_fs(url)
    except ImportError as error:
        need = DRIVERS.get(kind, kind)
        raise MissingExtra(
            f"addresses such as '{kind}://…' are served by {need}, which is not installed; "
            f"pip install 'headroles[cloud]'"
        ) from error
    except (ValueError, TypeError) as error:
        known = ", ".join(f"{each}://" for each in ("s3", "gs", "file", "memory"))
        raise BadInput(
            f"an address must be of a kind that fsspec serves, such as {known}, but '{url}' came ({error})"
        ) from error
    return system, path.rstrip("/")


@contextmanager
def told(what: str, done: str) -> Iterator[None]:
    """Say in one sentence what a system or a service says when a file cannot be used.

    Args:
        what: Of what: a path or an address in quotes.
        done: "read", "written" or "deleted".

    Raises:
        BadInput: Saying so; ``FileNotFoundError`` of reading and deleting and our own errors pass through.
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
        if type(error).__module__.split(".")[0] not in SERVICES:
            raise
        raise BadInput(
            f"{what} cannot be {done} ({_reason(error)}); check address, credentials and network"
        ) from error


def _reason(error: BaseException) -> str:
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(said).split())[:200]
