"""Shards of a run that keeps moments: what each writes, and how their sums are added up in order.

A worker writes the sums of its shard and the scores of those of its examples that may be in the
subsample. Beside it, the run adds the sums of finished shards in their order and drops their files, so
that what lies on disk is of the size of the groups. The sums so far lie in one file; a shard is in them
exactly when its number lies below their end, whatever was interrupted when.

A random subsample of examples whose scores are kept whole, the same however the work is divided.

Every example has a random rank, the hash of the seed and its key, and the sample holds those of the
smallest ranks (bottom-k sampling: Cohen and Kaplan 2007, "Summarizing data using bottom-k sketches"), which
is a simple random sample without replacement. Which examples these are does not depend on their order, nor
on which worker saw them.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

import numpy as np
from jaxtyping import Bool, Int, UInt64

from headroles.errors import BadInput
from headroles.options.label import LabelOptions
from headroles.records.example import Rule, Scores
from headroles.records.moments import Moments, chained, moments_of
from headroles.shards.files import shard_name, whole_files
from headroles.shards.work import Task
from headroles.storage.folder import EXAMPLES, MOMENTS
from headroles.storage.moments import moments_bytes, moments_of_bytes
from headroles.storage.places import Place
from headroles.storage.scores import examples_bytes, part_bytes, part_name

SUBSAMPLE = 20_000
"""Most examples in the subsample."""
HIGHEST = 2**64 - 1


def ranks_of(keys: Sequence[str], seed: int) -> UInt64[np.ndarray, " examples"]:
    """The random rank of each example: the first 8 bytes of SHA-256 of seed and key."""
    digests = [hashlib.sha256(json.dumps([seed, key]).encode()).digest()[:8] for key in keys]
    return np.array([int.from_bytes(each) for each in digests], dtype=np.uint64)


def ceiling(before: int, size: int) -> int:
    """The rank above which an example is not in the sample, as far as one shard can tell.

    Among the examples of the shards before it, more than ``size`` lie below it, but for one run in a
    thousand million: their number is binomial with a mean of ``size + 6 √size + 50``. (In that one run the
    sample is a little smaller than asked for and as random.)

    Args:
        before: Examples in the shards before this one.
        size: Most examples in the subsample.
    """
    share = (size + 6 * math.sqrt(size) + 50) / max(before, 1)
    return HIGHEST if share >= 1 else int(share * HIGHEST)


def candidates(keys: Sequence[str], *, seed: int, before: int, size: int) -> Bool[np.ndarray, " examples"]:
    """Which examples of a shard may be in the sample; or, of what all shards kept, which are in it.

    Args:
        keys: Of the examples of one shard; for the sample itself, of the candidates of all shards.
        seed: Of the ranks.
        before: Examples in the shards before this one (its number times the examples in a shard); for
            the sample itself, in those before the last.
        size: Most examples in the subsample.
    """
    ranks = ranks_of(keys, seed)
    few: np.ndarray = ranks <= np.uint64(ceiling(before, size))
    if few.sum() > size:
        few &= ranks <= np.partition(ranks[few], size - 1)[size - 1]
    return few


def rows_of(scores: Scores, rows: Int[np.ndarray, " rows"] | Bool[np.ndarray, " examples"]) -> Scores:
    """The scores of some examples, in their order."""
    places = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
    return replace(
        scores,
        examples=tuple(scores.examples[place] for place in places),
        units=tuple(scores.units[place] for place in places),
        tokens=scores.tokens[places],
        cells=scores.cells[:, places],
        values=scores.values[:, places],
        null=scores.null[:, places],
    )


TOGETHER = 16
"""Shards that are added to the sums so far before these are written anew."""
ROWS, BESIDE, SUMS = "scores.parquet", "parquet", "npz"
"""What the files of a shard end in: scores that may be sampled, their cells and chance values, sums."""


def sample_size(options: LabelOptions) -> int:
    """Most examples whose scores are kept beside the moments."""
    return min(options.keep, SUBSAMPLE)


def shard_contents(
    scores: Scores, rules: Sequence[Rule], task: Task, options: LabelOptions
) -> dict[str, bytes]:
    """The files of a shard by their names: sums of all its examples, scores of those that may be sampled.

    Args:
        scores: Of the shard, whose units are named as ``moments.unit_in_passing`` says.
        rules: One per column.
        task: The shard.
        options: Of the run.
    """
    few = candidates(
        scores.examples,
        seed=options.seed,
        before=task.number * options.shard_size,
        size=sample_size(options),
    )
    some = rows_of(scores, few)
    return {
        shard_name(task.number, ROWS): part_bytes(some),
        shard_name(task.number, BESIDE): examples_bytes(some),
        shard_name(task.number, SUMS): moments_bytes(moments_of(scores, rules, task.number, task.digest)),
    }


class Adding:
    """The sums of the shards done so far, in the place of the run."""

    def __init__(self, place: Place, finished: dict[str, str] | None = None) -> None:
        """Take up the sums that are there; what is no such file is taken for none, and done again.

        Args:
            place: Of the run.
            finished: SHA-256 of the files of a finished run there, as its manifest says; None where there
                is none. When sums and subsample are as it says, files of shards may be gone.
        """
        self._place = place
        self._sums = _sums_in(place)
        self._chain = ""
        self._waiting: set[int] = set()
        wanted = (MOMENTS, EXAMPLES, part_name(0))
        self.finished = finished is not None and all(_whole(place, name, finished) for name in wanted)
        if finished is not None and not _whole(place, MOMENTS, finished):
            self._sums = None  # altered since: the shards are done again
        self._begun = self.stop
        self._dropped = 0

    @property
    def stop(self) -> int:
        """One past the last shard that is in the sums."""
        return 0 if self._sums is None else self._sums.stop

    def gone(self, name: str) -> bool:
        """Whether a file of a shard is needed no more, so that it may be missing."""
        stem, _, ending = name.rpartition("/")[2].partition(".")
        added = stem.isdecimal() and int(stem) < self.stop
        return added and (ending == SUMS or (self.finished and ending in (ROWS, BESIDE)))

    def seen(self, task: Task) -> None:
        """Compare the inputs of a shard with those in the sums; shards come in their order.

        Raises:
            BadInput: When the sums are of other inputs; they are dropped then.
        """
        if self._sums is None or task.number >= self._begun:
            return
        self._chain = chained(self._chain, task.digest) if task.number else task.digest
        if task.number == self._begun - 1 and self._chain != self._sums.inputs:
            self._refuse()

    def done(self, number: int) -> None:
        """Say that the files of a shard are whole, in any order; those that can be are added."""
        if number >= self.stop:
            self._waiting.add(number)
        ready = self.stop
        while ready in self._waiting:
            ready += 1
        if ready - self.stop >= TOGETHER:
            self._add(ready)

    def finish(self, shards: int) -> Moments:
        """All sums, when every shard was said to be done.

        Args:
            shards: How many there are.

        Raises:
            BadInput: When a shard is missing, or the sums are of more.
        """
        if shards > self.stop:
            self._add(shards)
        if self._sums is None or self.stop != shards:
            self._refuse()
        return self._sums

    def _refuse(self) -> NoReturn:
        self._place.delete(MOMENTS)
        raise BadInput(
            "the inputs have changed since the run was begun, so that its sums are of other ones and were "
            "dropped; start the same command again"
        )

    def _add(self, stop: int) -> None:
        """Add the shards up to one, write the sums, and only then drop the files of the shards."""
        sums = self._sums
        for number in range(self.stop, stop):
            try:
                (content,) = whole_files(self._place, number, (SUMS,))
                own = moments_of_bytes(content)
            except (ValueError, KeyError) as error:
                raise BadInput(
                    f"the sums of shard {number} cannot be used ({type(error).__name__}: {error}); "
                    f"start the same command again"
                ) from error
            sums = own if sums is None else sums.merged(own)
        if sums is None:
            return
        self._place.write(MOMENTS, moments_bytes(sums))
        self._sums = sums
        for number in range(self._dropped, stop):
            self._place.delete(shard_name(number, SUMS))
        self._waiting = {number for number in self._waiting if number >= stop}
        self._dropped = stop


def _whole(place: Place, name: str, digests: dict[str, str]) -> bool:
    """Whether a file is as its digest says."""
    try:
        return place.sha256(name) == digests.get(name)
    except FileNotFoundError:
        return False


def _sums_in(place: Place) -> Moments | None:
    """The sums of the shards from the first on, where they are whole."""
    try:
        found = moments_of_bytes(place.read(MOMENTS))
    except (FileNotFoundError, ValueError, KeyError, BadInput):
        return None
    return found if found.start == 0 else None
