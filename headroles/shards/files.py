"""Files and receipts of shards: write them, read them, and find the shards that are already done."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from hashlib import sha256

import numpy as np

from headroles.errors import BadInput
from headroles.shards.work import Receipt, Task
from headroles.storage.folder import SHARDS, receipt_seal
from headroles.storage.places import Place


def shard_name(number: int, ending: str) -> str:
    """Return the name of a file that a shard writes besides its scores, relative to the run folder.

    Example:
        >>> shard_name(7, "json")
        'shards/00007.json'
    """
    return f"{SHARDS}/{number:05d}.{ending}"


def receipt_bytes(receipt: Receipt) -> bytes:
    """Return a receipt as JSON with its own SHA-256, so that a damaged receipt is recognised."""
    record = json.loads(json.dumps(asdict(receipt), allow_nan=False))
    if not receipt.counts:
        del record["counts"]
    return (json.dumps(record | {"sha256": receipt_seal(record)}, indent=1, sort_keys=True) + "\n").encode()


def receipt_of(data: bytes) -> Receipt | None:
    """Read a receipt from the bytes of its file; return None unless ``receipt_bytes`` gives those."""
    try:
        record = json.loads(data)
        if record.pop("sha256") != receipt_seal(record):
            return None
        record = {"counts": {}} | record | {name: tuple(record[name]) for name in ("low", "high")}
        receipt = Receipt(**{field.name: record[field.name] for field in fields(Receipt)})
        return receipt if receipt_bytes(receipt) == data else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def find_finished_shard(
    place: Place, task: Task, identity: str, gone: Callable[[str], bool] = lambda name: False
) -> Receipt | None:
    """Return the receipt of a shard whose files are whole and equal to those that would be made now.

    Args:
        place: Where the shards of the run are.
        task: The shard.
        identity: Identity of the workers that would score it.
        gone: Says of a file name whether the file is no longer needed and may be missing.

    Returns:
        The receipt; None when the shard has to be scored.
    """
    try:
        receipt = receipt_of(place.read(shard_name(task.number, "json")))
    except FileNotFoundError:
        return None
    if receipt is None:
        return None
    if (receipt.number, receipt.digest, receipt.identity) != (task.number, task.digest, identity):
        return None
    needed = {name: digest for name, digest in receipt.files.items() if not gone(name)}
    return None if find_damaged_file(place, needed) else receipt


def read_checked_files(place: Place, number: int, endings: Sequence[str]) -> list[bytes]:
    """Read files of a finished shard and check each against the SHA-256 in its receipt.

    Args:
        place: Where the shards are.
        number: Number of the shard.
        endings: Endings of the files to read.

    Returns:
        The contents, in the order of ``endings``.

    Raises:
        BadInput: When a file is missing or was altered.
    """
    contents = []
    try:
        receipt = receipt_of(place.read(shard_name(number, "json")))
        for name in (shard_name(number, ending) for ending in endings):
            contents.append(place.read(name))
            if receipt is None or sha256(contents[-1]).hexdigest() != receipt.files.get(name):
                raise altered_file_error(name)
    except FileNotFoundError as error:
        raise altered_file_error(shard_name(number, "*")) from error
    return contents


def altered_file_error(name: str) -> BadInput:
    """Return the error for a file of a finished shard that was altered or removed."""
    return BadInput(
        f"'{name}' was altered or taken away while the run was made; start the same command again, and the "
        f"shard is done again"
    )


def find_damaged_file(place: Place, files: Mapping[str, str]) -> str | None:
    """Find the first file that is missing or has another SHA-256.

    Args:
        place: Where the files are.
        files: Expected SHA-256 by name.

    Returns:
        Its name; None when all files are as expected.
    """
    for name, digest in files.items():
        try:
            actual = place.sha256(name)
        except FileNotFoundError:
            return name
        if actual != digest:
            return name
    return None


def write_shard(place: Place, receipt: Receipt, contents: dict[str, bytes]) -> Receipt:
    """Write the files of a shard, and then its receipt.

    Args:
        place: Where they are written.
        receipt: The receipt of the shard, without its files.
        contents: The files by name.

    Returns:
        The receipt as written, with the SHA-256 of the files.
    """
    for name, data in contents.items():
        place.write(name, data)
    whole = replace(receipt, files={name: sha256(data).hexdigest() for name, data in contents.items()})
    place.write(shard_name(receipt.number, "json"), receipt_bytes(whole))
    return whole


def bounds(values: np.ndarray) -> tuple[float | None, ...]:
    """Return bounds of columns as a receipt keeps them: None where no example gave one."""
    return tuple(float(value) if np.isfinite(value) else None for value in values)
