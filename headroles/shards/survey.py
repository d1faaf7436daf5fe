"""The inputs of a run before and while it is made: gone through once, then cut into shards."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice

from headroles.errors import BadInput
from headroles.inputs.corpora import Corpus
from headroles.inputs.units import Bonds, check_units
from headroles.records.moments import unit_in_passing
from headroles.records.passage import Passage
from headroles.shards.work import Task


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """What one pass over the inputs says, before anything is scored.

    Attributes:
        count: How many inputs there are; None when they were not all gone through.
        seen: How many of them were gone through, from the first.
        units: The unit of each; None when there are more than the scores of which are kept.
        sha256: Over keys, groups and texts of those gone through: what was read.
        digest: The same, gold words, trees and mentions included.
    """

    count: int | None
    seen: int
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
    known = count if few or not stream else None
    return Survey(known, count, units, texts.hexdigest(), everything.hexdigest())


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

    Raises:
        BadInput: When the inputs are no longer those that were surveyed.
    """
    coming, everything = iter(corpus), sha256()
    number = done = 0
    while passages := tuple(islice(coming, size)):
        for passage in passages[: max(survey.seen - done, 0)]:
            everything.update(_said(passage) + _annotated(passage))
        if survey.units is None:
            units = tuple(unit_in_passing(each.group, each.texts) for each in passages)
        else:
            units = survey.units[done : done + len(passages)]
        done += len(passages)
        if survey.count is not None and done > survey.count:
            raise _changed()
        yield Task(number, passages, units, digest_of(passages, units))
        number += 1
    if done < survey.seen or everything.hexdigest() != survey.digest:
        raise _changed()


def _changed() -> BadInput:
    return BadInput(
        "the inputs of a run stay as they are until it is finished, but they were changed while it was made; "
        "start it again with --overwrite, or with the inputs as they were"
    )


def digest_of(passages: Sequence[Passage], units: Sequence[str]) -> str:
    """SHA-256 over inputs, their annotation and their units."""
    digest = sha256()
    for passage, unit in zip(passages, units, strict=True):
        digest.update(_said(passage) + _annotated(passage) + json.dumps(unit).encode())
    return digest.hexdigest()
