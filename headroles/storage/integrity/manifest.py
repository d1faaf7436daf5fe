"""Manifests: JSON with a format number and a hash of their own, so that no byte of one changes unseen."""

import json
import math
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from headroles.addresses import check_place, is_address, no_such_folder
from headroles.errors import BadInput, shorten_quotes
from headroles.storage.folder import ATLAS, COMPARISON, MANIFEST, PLAN, PRUNING, RUN, Kind
from headroles.storage.integrity.schema import check_manifest
from headroles.storage.places import read_regular

FORMAT = 2
"""Number of the format of all folders."""
SEAL = "sha256"
"""Field of a manifest with the SHA-256 of all its other fields, as they stand in the file."""
FOLDER_WORDS = {
    RUN.name: "a run",
    COMPARISON.name: "a comparison of two runs",
    ATLAS.name: "an atlas of several runs",
    PRUNING.name: "a model without some of its heads",
}
"""Kinds of folders in words."""
AGAIN = {
    RUN.name: "run it again",
    COMPARISON.name: "compare the runs again",
    ATLAS.name: "make the atlas again",
    PRUNING.name: "prune the run again",
}
"""What to do about a damaged folder of each kind."""
TAKES_COMPARISONS = "verify takes one, and show without --head and --page; all else takes runs"


def manifest_text(record: Mapping[str, Any]) -> str:
    """Return the text of a manifest: the record, the number of the format, and a seal over both.

    NaN and infinities become null.

    Example:
        >>> parse_manifest(manifest_text({"kind": "comparison"}).encode())
        {'kind': 'comparison'}
    """
    plain = _json_types({"format": FORMAT} | dict(record) | {"format": FORMAT})
    plain.pop(SEAL, None)
    return _text(plain | {SEAL: _seal(plain)})


def parse_manifest(data: bytes) -> dict[str, Any]:
    """Return the record of a manifest, without format and seal, after checking both.

    Raises:
        ValueError: When it is no JSON object, or any byte of it was altered.
        BadInput: When a later version wrote it.
    """
    try:
        record = json.loads(data, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise ValueError(f"{MANIFEST} is nested too deeply") from error
    if not isinstance(record, dict):
        raise ValueError(f"{MANIFEST} is no JSON object")
    number = record.get("format")
    if isinstance(number, int) and number > FORMAT:
        raise BadInput(
            f"this version reads folders of format {FORMAT}, but a later version wrote format {number}; "
            f"install that version of headroles"
        )
    seal = record.pop(SEAL, None)
    if seal != _seal(record) or _text(record | {SEAL: seal}).encode() != data:
        raise ValueError(f"{MANIFEST} was altered since it was written")
    del record["format"]
    return record


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{MANIFEST} holds {name}, which is no finite number")


def check_run_folder(folder: str | Path, kind: Kind = RUN) -> None:
    """Refuse a folder that is not there; an address is looked up when it is read.

    Raises:
        BadInput: When there is none.
    """
    check_place(folder)
    if not is_address(folder) and not os.path.exists(folder):
        raise no_such_folder(folder, f"give the folder of a finished {kind.name}")


def read_checked_manifest(folder: Path, kind: Kind) -> dict[str, Any]:
    """Read the manifest of a finished run or comparison.

    Args:
        folder: Its folder.
        kind: Kind of folder that is wanted.

    Raises:
        BadInput: When there is no such folder, it is not finished, it is of the other kind or of a later
            version, or its manifest was altered; in a sentence each.
    """
    check_run_folder(folder, kind)
    if not (folder / MANIFEST).is_file():
        if (folder / PLAN).is_file():
            raise BadInput(
                f"a run is read when it is finished, but the run in '{folder}' is not; start the same "
                f"command again"
            )
        raise BadInput(
            f"{kind.words} folder holds a {MANIFEST}, but '{folder}' does not; give the folder of "
            f"{kind.words}"
        )
    try:
        record = parse_manifest(read_regular(folder / MANIFEST))
        check_manifest(record)
    except (OSError, ValueError) as error:
        raise damaged_error(folder, kind, error) from error
    except BadInput as error:
        raise BadInput(f"'{folder}' cannot be read: {error}") from error
    there = record.get("kind", RUN.name)
    if there != kind.name and kind == RUN:
        raise BadInput(f"this needs a run, but '{folder}' is {FOLDER_WORDS[there]}; {TAKES_COMPARISONS}")
    if there != kind.name:
        raise BadInput(f"this needs {kind.words}, but '{folder}' is {FOLDER_WORDS[there]}; give {kind.words}")
    return record


def damaged_error(folder: Path, kind: Kind, error: Exception) -> BadInput:
    """Return the error for a run or comparison that cannot be read, from what was wrong with it."""
    again = AGAIN[kind.name]
    return BadInput(
        f"the {kind.name} in '{folder}' is damaged or from another version ({type(error).__name__}: "
        f"{shorten_quotes(error)}); {again}"
    )


def _seal(record: dict[str, Any]) -> str:
    return sha256(_text(record).encode()).hexdigest()


def _text(record: dict[str, Any]) -> str:
    return json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _json_types(value: Any) -> Any:
    """Convert to JSON types only; NaN and infinities become None."""
    if isinstance(value, Mapping):
        return {str(key): _json_types(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_types(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
