"""A run in shards: what its inputs are, how they are cut, and which shards are done already."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from hashlib import sha256
from itertools import islice
from typing import Any

import numpy as np

from headroles.extraction.passages import Passage
from headroles.folder import SHARDS
from headroles.moments import unit_in_passing
from headroles.places import Place
from headroles.units import Bonds, check_units
from headroles.work import Corpus, Receipt, Task


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """What one pass over the inputs says, before anything is scored.

    Attributes:
        count: How many inputs there are; None when they were not all gone through.
        units: The unit of each; None when there are more than the scores of which are kept.
        sha256: Over keys, groups and texts of those gone through: what was read.
        digest: The same, gold words, trees and mentions included.
    """

    count: int | None
    units: tuple[str, ...] | None
    sha256: str
    digest: str

    @property
    def whole(self) -> bool:
        """Whether the scores of all inputs are kept."""
        return self.units is not None


def surveyed(corpus: Corpus, keep: int, stream: bool) -> Survey:
    """Go through the inputs once, and hold nothing of them but digests and names of units.

    Args:
        corpus: The inputs.
        keep: Most inputs whose scores are all kept.
        stream: Whether to stop beyond that many, because there may be very many.

    Raises:
        BadInput: When the inputs are fewer than two units.
        HeadrolesError: When they cannot be read.
    """
    bonds, texts, everything, count = Bonds(), sha256(), sha256(), 0
    for passage in islice(corpus, keep + 1) if stream else corpus:
        count += 1
        said = _said(passage)
        texts.update(said)
        everything.update(said + _annotated(passage))
        if count <= keep:
            bonds.add(passage.group, passage.texts, passage.key)
    names = bonds.names()
    check_units(count, len(set(names)))
    few = count <= keep
    units = tuple(names) if few else None
    return Survey(count if few or not stream else None, units, texts.hexdigest(), everything.hexdigest())


def _said(passage: Passage) -> bytes:
    """Key, group and texts of an input, as ``texts.fingerprint`` counts them."""
    return json.dumps([passage.key, passage.group, *passage.texts]).encode()


def _annotated(passage: Passage) -> bytes:
    """The gold annotation of an input; nothing where it has none."""
    told = b""
    for words in passage.words or ():
        told += words.spans.tobytes() + words.heads.tobytes()
        told += json.dumps([words.relations, words.lemmas]).encode()
    if passage.mentions is not None:
        told += json.dumps([[each.start, each.stop, each.entity] for each in passage.mentions]).encode()
    return told


def tasks_of(corpus: Corpus, survey: Survey, size: int) -> Iterator[Task]:
    """The shards of a run in their order, made as they are asked for.

    Args:
        corpus: The inputs.
        survey: Of them; without units, they are named as ``moments.unit_in_passing`` says.
        size: Examples in a shard; the last may have fewer.
    """
    coming = iter(corpus)
    number = 0
    while passages := tuple(islice(coming, size)):
        start = number * size
        if survey.units is None:
            units = tuple(unit_in_passing(each.group, each.texts) for each in passages)
        else:
            units = survey.units[start : start + len(passages)]
        yield Task(number, passages, units, digest_of(passages, units))
        number += 1


def digest_of(passages: Sequence[Passage], units: Sequence[str]) -> str:
    """SHA-256 over inputs, their annotation and their units."""
    digest = sha256()
    for passage, unit in zip(passages, units, strict=True):
        digest.update(_said(passage) + _annotated(passage) + json.dumps(unit).encode())
    return digest.hexdigest()


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


def damaged(place: Place, files: dict[str, str]) -> str | None:
    """The first of some files that is missing or has another SHA-256; None when all are as they were.

    Args:
        place: Where they are.
        files: SHA-256 by name.
    """
    for name, digest in files.items():
        try:
            found = sha256(place.read(name)).hexdigest()
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


class Memory:
    """A place that is gone with its process, for runs that are written nowhere."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._files: dict[str, bytes] = {}

    @property
    def url(self) -> str:
        """No other process can reach it."""
        return ""

    def write(self, name: str, data: bytes) -> None:
        """Hold a file."""
        self._files[name] = data

    def read(self, name: str) -> bytes:
        """What a file holds.

        Raises:
            FileNotFoundError: When there is none.
        """
        if name not in self._files:
            raise FileNotFoundError(name)
        return self._files[name]

    def names(self, prefix: str = "") -> list[str]:
        """Names of all files that begin with a prefix, sorted."""
        return sorted(name for name in self._files if name.startswith(prefix))

    def delete(self, name: str) -> None:
        """Let a file go."""
        self._files.pop(name, None)
