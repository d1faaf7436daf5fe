"""The lock of a run folder, which one command at a time writes to."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from headroles.errors import BadInput
from headroles.storage.folder import make_folder, write_errors
from headroles.storage.integrity.repair import repair_run_folder


@contextmanager
def lock_run_folder(out: str | os.PathLike[str] | None) -> Iterator[None]:
    """Lock a run folder for one command, and repair it where an earlier command was killed.

    A missing folder is made. It is removed again when it is still empty at the end.

    Args:
        out: The folder; None when nothing is written to a folder.

    Raises:
        BadInput: When another command writes there, before anything in it is touched; or when the folder
            cannot be made.
    """
    if out is None:
        yield
        return
    with write_errors(f"the run folder '{out}'"):
        folder = Path(out).resolve()
        is_file = folder.is_file()
    if is_file:  # refused by the check of the folder
        yield
        return
    with ExitStack() as stack:
        with write_errors(f"the run folder '{out}'"):
            stack.enter_context(make_folder(folder.parent))
            stack.enter_context(_locked(folder, str(out)))
        repair_run_folder(folder)
        yield


@contextmanager
def lock_present_folder(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Lock a folder as ``lock_run_folder`` does, but make none: a missing one is refused when it is read."""
    with lock_run_folder(folder if Path(folder).is_dir() else None):
        yield


@contextmanager
def _locked(folder: Path, out: str) -> Iterator[None]:
    """Hold the lock of a folder; remove the folder before unlocking when it was made here and is empty.

    The folder itself is locked, so no lock file lies in it. The system releases the lock when this process
    ends, however it ends. Processes started by this one do not hold it.
    """
    is_new = not folder.exists()
    lock = _lock(folder, out)
    try:
        yield
    finally:
        if is_new:
            with suppress(OSError):  # not empty
                folder.rmdir()
        if lock is not None:
            os.close(lock)


def _lock(folder: Path, out: str) -> int | None:
    """Make and lock a folder.

    Returns:
        The file descriptor that holds the lock; None where the system cannot lock folders (Windows, some
        network file systems), so that commands are not kept apart.

    Raises:
        BadInput: When another command holds the lock.
    """
    from filelock import lock_descriptor

    while True:
        folder.mkdir(exist_ok=True)
        with ExitStack() as stack:
            try:
                lock = os.open(folder, os.O_RDONLY)
                stack.callback(os.close, lock)
                is_free = lock_descriptor(lock, blocking=False)
                is_current = os.path.samestat(os.fstat(lock), os.stat(folder))
            except FileNotFoundError:  # removed by its last holder: make it again
                continue
            except OSError:
                return None
            if is_current and not is_free:
                raise BadInput(
                    f"a run folder is written by one command at a time, but another one is writing "
                    f"'{out}'; wait until it has ended, or name another --out"
                )
            if is_current:
                stack.pop_all()
                return lock
