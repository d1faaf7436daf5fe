"""What building the site keeps between builds: results of the code as it is, in ``build/docs``.

A result is made once for a state of the package. After any change of the code it is made anew.
``HEADROLES_DOCS_EXECUTE=0`` builds a quick site without such results.
"""

import os
import shutil
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "docs"
"""Folder of the results."""
PACKAGE = ("headroles", "sieves", "stats", "reports", "examples")
"""Folders whose files decide whether a result is still good."""
BYTES = (".pyc", ".pyo")


def executed() -> bool:
    """Return whether this build executes code."""
    return os.environ.get("HEADROLES_DOCS_EXECUTE", "1") != "0"


@cache
def state() -> str:
    """Return a digest of all files of the package and of the examples."""
    digest = sha256()
    for file in _files():
        digest.update(file.relative_to(ROOT).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _files() -> Iterator[Path]:
    """Yield the files that decide, in a fixed order."""
    for folder in PACKAGE:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.is_file() and not file.name.endswith(BYTES) and ".egg-info" not in file.as_posix():
                yield file


def kept(name: str, source: bytes = b"") -> Path:
    """Return the folder of one result; results of the same name from other states are removed.

    Args:
        name: Name of the result.
        source: What else the result depends on.

    Returns:
        A folder below ``KEPT``, which may not be there yet.
    """
    digest = sha256(state().encode() + source).hexdigest()[:16]
    folder = KEPT / f"{name}-{digest}"
    for other in KEPT.glob(f"{name}-{'?' * 16}"):
        if other != folder:
            shutil.rmtree(other)
    return folder
