"""Half-written files and folders: their names, and removing those whose process has ended."""

import os
import platform
import re
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

PARTIAL = re.compile(
    r"\.(?P<name>.+?)(?:\.(?P<host>[0-9a-f]{8}))?\.(?P<process>[0-9]+)(?:\.(?:raw|whole|list))?\.partial"
)
"""Name of a half-written file. Older versions wrote no machine, and named the parts of maps at the end."""
HOST = sha256(platform.node().encode()).hexdigest()[:8]
"""Short name of this machine, as several may write to one file system."""
ABANDONED = 24 * 3600.0
"""Seconds after which a half-written file of another machine that nobody touched counts as left over."""
CLOCK_SLACK = 2.0
"""Seconds by which the start of a process and the time of its first file may disagree."""


def partial_path(path: Path) -> Path:
    """Return where this process writes a file before the file gets its name.

    Example:
        >>> partial_path(Path("run/findings.csv")).parent, is_partial(partial_path(Path("a.csv")).name)
        (PosixPath('run'), True)
    """
    return path.with_name(partial_name(path.name))


def partial_name(name: str) -> str:
    """Return the name of a file while this process writes it: ``.<name>.<machine>.<process>.partial``."""
    return f".{name}.{HOST}.{os.getpid()}.partial"


def is_partial(name: str) -> bool:
    """Return whether a name, which may have folders, is that of a half-written file.

    Example:
        >>> is_partial("shards/.00001.json.77.partial"), is_partial("shards/00001.json")
        (True, False)
    """
    last = name.rpartition("/")[2]
    return last.startswith(".") and last.endswith(".partial")


def clear_leftovers(folder: Path, is_ours: Callable[[str], bool]) -> None:
    """Remove half-written files and folders of processes that have ended.

    Args:
        folder: Where they lie; its subfolders are not searched.
        is_ours: Whether a file of this name is one that headroles writes there; others stay.

    Raises:
        OSError: When one cannot be removed.
    """
    for path in folder.glob(".*.partial"):
        match = PARTIAL.fullmatch(path.name)
        if match is None or not is_ours(match["name"]):
            continue
        if _is_abandoned(path, match["host"], int(match["process"])):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


def _is_abandoned(path: Path, host: str | None, process: int) -> bool:
    """Return whether nobody writes a half-written file any more.

    A file of this process counts as abandoned, as a process looks only before it writes. A process that
    started after the last change of the file has only the number of the one that wrote it.
    """
    with suppress(OSError):
        changed = path.lstat().st_mtime
        if host not in (None, HOST):
            return time.time() - changed > ABANDONED
        if process == os.getpid() or not _is_running(process):
            return True
        started = _start_of(process)
        return started is not None and started > changed + CLOCK_SLACK
    return False


def _is_running(process: int) -> bool:
    """Return whether a process of this machine has this number and has not ended."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    fields = _fields_of(process)
    return not fields or fields[0] != "Z"  # ended, but its parent has not looked


def _start_of(process: int) -> float | None:
    """Return when a process started, in seconds since 1970; None where the system does not say."""
    fields = _fields_of(process)
    try:
        with open("/proc/stat", encoding="ascii") as lines:
            boot = next(float(line.split()[1]) for line in lines if line.startswith("btime "))
        return boot + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, StopIteration):
        return None


def _fields_of(process: int) -> list[str]:
    """Return what Linux says of a process, from its state on; nothing on other systems."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()
