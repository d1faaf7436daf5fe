"""A folder that is made beside the wanted one, and takes its place whole or not at all."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

from headroles.folder import writing


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A folder beside the wanted one, which takes its place when all went well and vanishes otherwise.

    Raises:
        BadInput: When it cannot be written.
    """
    place = folder.resolve()
    beside, made = None, []
    try:
        with writing(f"the folder '{folder}'"):
            made = [parent for parent in place.parents if not parent.exists()]
            place.parent.mkdir(parents=True, exist_ok=True)
            beside = Path(mkdtemp(prefix=".headroles-", suffix=".partial", dir=place.parent))
            (beside / "new").mkdir()
        yield beside / "new"
        with writing(f"the folder '{folder}'"):
            _swap(beside / "new", place, beside / "before")
    finally:
        if beside is not None:
            shutil.rmtree(beside, ignore_errors=True)
        for parent in made:
            with suppress(OSError):  # holds something by now
                parent.rmdir()


def _swap(new: Path, place: Path, old: Path) -> None:
    """Put a folder in its place, and what was there aside; back again when that fails."""
    try:
        if place.exists():
            place.rename(old)
        new.rename(place)
    finally:
        if old.exists() and not place.exists():
            old.rename(place)
