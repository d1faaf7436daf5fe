"""A run folder that is written by one command at a time."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from headroles.errors import BadInput
from headroles.shards.resume import recovered
from headroles.storage.folder import made, writing

try:
    import fcntl
except ImportError:  # on Windows, where commands are not kept apart
    fcntl = None  # type: ignore[assignment]


@contextmanager
def claimed(out: str | os.PathLike[str] | None) -> Iterator[None]:
    """Hold a run folder for one command, in order again where an earlier one was killed in it.

    A folder that is not there is made, and leaves again when nothing came into it.

    Args:
        out: The folder; None where nothing is written to one.

    Raises:
        BadInput: When another command writes there, before anything of it is touched; or when the folder
            cannot be made.
    """
    if out is None:
        yield
        return
    with writing(f"the run folder '{out}'"):
        place = Path(out).resolve()
        is_file = place.is_file()
    if is_file:  # refused where it is looked into
        yield
        return
    with ExitStack() as held:
        with writing(f"the run folder '{out}'"):
            held.enter_context(made(place.parent))
            held.enter_context(_locked(place, str(out)))
        recovered(place)
        yield


@contextmanager
def _locked(place: Path, told: str) -> Iterator[None]:
    """Hold the lock of a folder, and take an empty folder that was made for it away before letting go.

    The folder itself is locked, so that no file has to lie in it. The system lets go of the lock when this
    process ends, however it ends; processes that it starts do not have it.
    """
    fresh = not place.exists()
    lock = _lock(place, told)
    try:
        yield
    finally:
        if fresh:
            with suppress(OSError):  # holds something by now
                place.rmdir()
        if lock is not None:
            os.close(lock)


def _lock(place: Path, told: str) -> int | None:
    """Make and lock a folder; the descriptor that holds the lock, None where the system has no such locks.

    Raises:
        BadInput: When another command holds it.
    """
    while True:
        place.mkdir(exist_ok=True)
        if fcntl is None:
            return None
        with suppress(FileNotFoundError):  # taken away by the one that held it: made anew
            lock = os.open(place, os.O_RDONLY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(lock), os.stat(place)):
                    return lock
            except BlockingIOError as error:
                os.close(lock)
                raise BadInput(
                    f"a run folder is written by one command at a time, but another one is writing "
                    f"'{told}'; wait until it has ended, or name another --out"
                ) from error
            except FileNotFoundError:
                pass
            except OSError:  # a network file system without such locks
                os.close(lock)
                return None
            os.close(lock)
