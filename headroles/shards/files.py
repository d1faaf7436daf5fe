"""Files and receipts of shards: how they are written, and which shards are done already."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields, replace
from hashlib import sha256
from typing import Any

import numpy as np

from headroles.errors import BadInput
from headroles.shards.work import Receipt, Task
from headroles.storage.folder import SHARDS
from headroles.storage.places import Place


def shard_name(number: int, ending: str) -> str:
    """A file that a shard leaves beside its scores, within the run folder.

    Example:
        >>> shard_name(7, "json")
        'shards/00007.json'
    """
    return f"{SHARDS}/{number:05d}.{ending}"


def receipt_bytes(receipt: Receipt) -> bytes:
    """A receipt as JSON, with a SHA-256 of its own so that it is whole or none."""
    told = json.loads(json.dumps(asdict(receipt), allow_nan=False))
    return (json.dumps(told | {"sha256": _checked(told)}, indent=1, sort_keys=True) + "\n").encode()


def _checked(told: dict[str, Any]) -> str:
    return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def receipt_of(data: bytes) -> Receipt | None:
    """A receipt from its file; None when it is none."""
    try:
        told = json.loads(data)
        if told.pop("sha256") != _checked(told):
            return None
        told |= {name: tuple(told[name]) for name in ("low", "high")}
        return Receipt(**{each.name: told[each.name] for each in fields(Receipt)})
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def done_already(
    place: Place, task: Task, identity: str, gone: Callable[[str], bool] = lambda name: False
) -> Receipt | None:
    """The receipt of a shard whose files are there, whole, and what they would be if made now.

    Args:
        place: Where the shards of the run are.
        task: The shard.
        identity: Of the workers that would score it.
        gone: Whether a file is needed no more, so that it may be missing.
    """
    try:
        receipt = receipt_of(place.read(shard_name(task.number, "json")))
    except FileNotFoundError:
        return None
    told = None if receipt is None else (receipt.number, receipt.digest, receipt.identity)
    if receipt is None or told != (task.number, task.digest, identity):
        return None
    needed = {name: digest for name, digest in receipt.files.items() if not gone(name)}
    return None if damaged(place, needed) else receipt


def whole_files(place: Place, number: int, endings: Sequence[str]) -> list[bytes]:
    """Files that a finished shard left beside its receipt, each as the receipt says.

    Args:
        place: Where the shards are.
        number: Of the shard.
        endings: Which of its files.

    Raises:
        BadInput: When one is missing or was altered.
    """
    found = []
    try:
        receipt = receipt_of(place.read(shard_name(number, "json")))
        for name in (shard_name(number, ending) for ending in endings):
            found.append(place.read(name))
            if receipt is None or sha256(found[-1]).hexdigest() != receipt.files.get(name):
                raise altered(name)
    except FileNotFoundError as error:
        raise altered(shard_name(number, "*")) from error
    return found


def altered(name: str) -> BadInput:
    """What is said when a file of a finished shard is no longer what it was."""
    return BadInput(
        f"'{name}' was altered or taken away while the run was made; start the same command again, and the "
        f"shard is done again"
    )


def damaged(place: Place, files: dict[str, str]) -> str | None:
    """The first of some files that is missing or has another SHA-256; None when all are as they were.

    Args:
        place: Where they are.
        files: SHA-256 by name.
    """
    for name, digest in files.items():
        try:
            found = place.sha256(name)
        except FileNotFoundError:
            return name
        if found != digest:
            return name
    return None


def written(place: Place, receipt: Receipt, contents: dict[str, bytes]) -> Receipt:
    """Write the files of a shard, and then its receipt.

    Args:
        place: Where to.
        receipt: Of the shard, without its files.
        contents: The files by name.

    Returns:
        The receipt with the files, as written.
    """
    for name, data in contents.items():
        place.write(name, data)
    whole = replace(receipt, files={name: sha256(data).hexdigest() for name, data in contents.items()})
    place.write(shard_name(receipt.number, "json"), receipt_bytes(whole))
    return whole


def bounds(values: np.ndarray) -> tuple[float | None, ...]:
    """Bounds of columns for a receipt: None where no example gave one."""
    return tuple(float(each) if np.isfinite(each) else None for each in values)
