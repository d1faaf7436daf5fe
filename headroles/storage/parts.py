"""Parts of a run folder that only some kinds of run have, and the kept maps of any kind."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from headroles.kinds import kinds
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.storage.folder import KEPT_MAP_FILES, MANIFEST
from headroles.storage.kept_maps import kept_map_files, read_kept_maps

KEPT_MAPS = "exhibited"
"""Field of ``Labelling`` of kept maps."""


def _files_of_parts() -> dict[str, tuple[str, ...]]:
    """Return the files that each part of a run may have, by its field of ``Labelling``."""
    return {kind.part: kind.files for kind in kinds() if kind.part} | {KEPT_MAPS: KEPT_MAP_FILES}


def part_files(labelling: Labelling) -> dict[str, str | bytes]:
    """Return the files of the parts that a run has, by name."""
    contents: dict[str, str | bytes] = {}
    for kind in kinds():
        part = getattr(labelling, kind.part) if kind.part else None
        if part is not None:
            contents |= kind.write(part, labelling.scores)
    if labelling.exhibited is not None:
        contents |= kept_map_files(labelling.exhibited, labelling.scores.stack)
    return contents


def promised_files(labelling: Labelling, contents: Iterable[str]) -> dict[str, list[str]]:
    """Return the parts of a run and the files of each, for the manifest.

    Args:
        labelling: Result of the run.
        contents: Names of the files that ``part_files`` gives.
    """
    written = set(contents)
    return {
        part: sorted(written.intersection(files))
        for part, files in _files_of_parts().items()
        if getattr(labelling, part) is not None
    }


def read_parts(folder: Path, scores: Scores, promise: Any = None) -> dict[str, Any]:
    """Read the parts of a run folder, by the names of the fields of ``Labelling``.

    Args:
        folder: Folder of the run.
        scores: Scores of the run; the parts must have the same examples, columns and heads.
        promise: The manifest's entry of parts, as ``promised_files`` returns it; None (folders that were
            written before manifests had it): a part is there when one of its files is.

    Raises:
        KeyError: When a column is missing.
        OSError: When a file is missing that every run of the kind has.
        ValueError: When a promised file is missing, a cell is no number, a file is damaged, or rows,
            heads or examples are not those of the run.
        BadInput: When arrays do not fit together.
    """
    parts = _present_parts(folder) if promise is None else _promised_parts(folder, promise)
    found: dict[str, Any] = {kind.part: kind.read(folder, scores) for kind in kinds() if kind.part in parts}
    return found | ({KEPT_MAPS: read_kept_maps(folder, scores)} if KEPT_MAPS in parts else {})


def _present_parts(folder: Path) -> set[str]:
    """Return the parts of which a folder has any file."""
    return {
        part for part, files in _files_of_parts().items() if any((folder / name).is_file() for name in files)
    }


def _promised_parts(folder: Path, promise: Any) -> set[str]:
    """Return the parts that a manifest promises, after checking that all their files are there."""
    if not isinstance(promise, dict):
        raise ValueError(f"the parts in {MANIFEST} are not named")
    known = _files_of_parts()
    for part, files in promise.items():
        if part not in known or not isinstance(files, list) or not set(files) <= set(known[part]):
            raise ValueError(f"{MANIFEST} has a part {part!r} that no run has")
        for name in files:
            if not (folder / name).is_file():
                raise ValueError(f"{name} is missing, which {MANIFEST} promises")
    return set(promise)
