"""The inputs of a run: count and fingerprint them in one pass, then cut them into shards."""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import groupby, islice, repeat

from headroles.errors import BadInput
from headroles.inputs.corpora import Corpus
from headroles.inputs.identity import WAYS, Sketches
from headroles.inputs.units import UnitFinder
from headroles.records.moments import unit_by_longest_text
from headroles.records.passage import Passage
from headroles.shards.work import Task


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """Counts and fingerprints of the inputs from one pass, before anything is scored.

    Attributes:
        count: Number of inputs; None when not all of them were read.
        seen: Number of inputs that were read, from the first.
        units: The unit of each input; None when there are more inputs than those whose scores are kept.
        sha256: SHA-256 over keys, groups and texts of the inputs that were read.
        digest: The same, with gold words, trees and mentions.
        identity: Sketches of the inputs (``inputs.identity``); "" where not all inputs were read.
        places: Place of each unit among all, in the order of first appearance; empty without ``units``.
        members: Number of inputs of each unit; empty without ``units``.
    """

    count: int | None
    seen: int
    units: tuple[str, ...] | None
    sha256: str
    digest: str
    identity: Mapping[str, str]
    places: Mapping[str, int] = field(default_factory=dict)
    members: Mapping[str, int] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Return whether the scores of all inputs are kept."""
        return self.units is not None


def count_inputs(corpus: Corpus, keep: int, stream: bool) -> Survey:
    """Read the inputs once, and keep only digests and names of units.

    Args:
        corpus: The inputs.
        keep: Largest number of inputs for which all scores are kept.
        stream: Whether to stop after that number, because there may be very many inputs.

    Raises:
        HeadrolesError: When the inputs cannot be read, or there is none.
    """
    bonds, texts, everything, count = UnitFinder(), sha256(), sha256(), 0
    sketches, identity = Sketches(), corpus.identity
    for passage in islice(corpus, min(keep + 1, sys.maxsize)) if stream else corpus:
        count += 1
        text = _text_bytes(passage)
        texts.update(text)
        everything.update(text + _annotation_bytes(passage))
        marks = identity.marks(passage, tokens=count <= keep)
        sketches.add(marks)
        if count <= keep:
            bonds.add(passage.group, marks["tokens"] or passage.texts, passage.key)
    if not count:
        raise BadInput("a run reads at least one input, but there is none; give more data")
    names = bonds.names() if corpus.units is None else corpus.units
    few = count <= keep
    known = count if few or not stream else None
    unknown = () if few else ("tokens",) if known is not None else tuple(WAYS)
    digests = texts.hexdigest(), everything.hexdigest(), sketches.encode() | dict.fromkeys(unknown, "")
    if not few:
        return Survey(known, count, None, *digests)
    members = Counter(names)  # in the order of first appearance
    places = {name: place for place, name in enumerate(members)}
    return Survey(known, count, tuple(names), *digests, places, members)


def _text_bytes(passage: Passage) -> bytes:
    """Return key, group and texts of an input, as ``texts.sources.fingerprint`` counts them."""
    return json.dumps([passage.key, passage.group, *passage.texts]).encode()


def _annotation_bytes(passage: Passage) -> bytes:
    """Return the gold annotation of an input; nothing where it has none."""
    content = b""
    for words in passage.words or ():
        content += words.spans.tobytes() + words.heads.tobytes()
        content += json.dumps([words.relations, words.lemmas]).encode()
    if passage.mentions is not None:
        mentions = [[mention.start, mention.stop, mention.entity] for mention in passage.mentions]
        content += json.dumps(mentions).encode()
    return content


def cut_into_tasks(
    corpus: Corpus, survey: Survey, size: int, units_per_shard: int | None = None
) -> Iterator[Task]:
    """Yield the shards of a run in their order, each when it is asked for.

    Args:
        corpus: The inputs; those of one unit follow each other where shards hold whole units.
        survey: Their survey; where it has no units, ``records.moments.unit_in_passing`` names them.
        size: Number of examples in a shard; the last shard may have fewer.
        units_per_shard: Number of units in a shard, which are then whole; None for ``size`` examples.

    Raises:
        BadInput: When the inputs are no longer those of the survey.
    """
    coming, everything = iter(corpus), sha256()
    number = done = 0
    sizes = repeat(size) if units_per_shard is None else _sizes_of_units(survey, units_per_shard)
    while passages := tuple(islice(coming, next(sizes, size))):
        for passage in passages[: max(survey.seen - done, 0)]:
            everything.update(_text_bytes(passage) + _annotation_bytes(passage))
        named = corpus.units if survey.units is None else survey.units
        if named is None:
            units = tuple(unit_by_longest_text(passage.group, passage.texts) for passage in passages)
        else:
            units = tuple(named[done : done + len(passages)])
        done += len(passages)
        if survey.count is not None and done > survey.count:
            raise _changed_inputs()
        yield _task(number, passages, units, survey)
        number += 1
    if done < survey.seen or everything.hexdigest() != survey.digest:
        raise _changed_inputs()


def _sizes_of_units(survey: Survey, count: int) -> Iterator[int]:
    """Yield the number of inputs of so many units, again and again, in the order of the inputs."""
    members = (sum(1 for _ in same) for _, same in groupby(survey.units or ()))
    while several := [*islice(members, count)]:
        yield sum(several)


def _changed_inputs() -> BadInput:
    return BadInput(
        "the inputs of a run must not change until it is finished, but they have; start it again with "
        "--overwrite, or with the inputs as they were"
    )


def _task(number: int, passages: tuple[Passage, ...], units: tuple[str, ...], survey: Survey) -> Task:
    """Return a shard, with the places of its units among all."""
    places = tuple(survey.places[unit] for unit in units) if survey.places else ()
    members = tuple(survey.members[unit] for unit in units) if survey.members else ()
    among = [*places, *members, len(survey.places)]
    return Task(
        number, passages, units, digest_of(passages, units, among), places, members, len(survey.places)
    )


def digest_of(passages: Sequence[Passage], units: Sequence[str], among: Sequence[int] = ()) -> str:
    """Return the SHA-256 over inputs, their annotation, their units, and numbers of these among all units."""
    digest = sha256()
    for passage, unit in zip(passages, units, strict=True):
        digest.update(_text_bytes(passage) + _annotation_bytes(passage) + json.dumps(unit).encode())
    digest.update(json.dumps(list(among)).encode())
    return digest.hexdigest()
