"""Shards of a run that keeps moments: write the sums of each shard, add them in order, draw a subsample.

A worker writes the sums of its shard, and the scores of those examples that may be in the subsample. The
run adds the sums of finished shards in their order and deletes their files, so that the space on disk
depends on the number of groups only. The sums so far are in one file; a shard is included exactly when its
number is below their end, even after an interruption. The subsample, whose scores are kept whole, does not
depend on the division of work. Every example has a random rank, the hash of the seed and its key, and the
sample holds the examples of the smallest ranks (bottom-k sampling: Cohen and Kaplan 2007, "Summarizing data
using bottom-k sketches"). That is a simple random sample without replacement; it depends neither on the
order of the examples nor on the worker that scored them.
"""

import json
import math
from collections.abc import Sequence
from hashlib import sha256
from typing import NoReturn

import numpy as np
from jaxtyping import Bool, UInt64

from headroles.errors import BadInput
from headroles.options.run import CommonOptions
from headroles.records.example import Scores
from headroles.records.moments import Moments, chain_digests, moments_of
from headroles.records.rules.rule import Rule
from headroles.shards.files import read_checked_files, shard_name
from headroles.shards.work import Task
from headroles.storage.folder import EXAMPLES, MOMENTS
from headroles.storage.moments import moments_bytes, parse_moments
from headroles.storage.places import Place
from headroles.storage.scores import examples_bytes, part_bytes, part_name

SUBSAMPLE = 20_000
"""Largest number of examples in the subsample."""
LARGEST_RANK = 2**64 - 1
"""Largest rank."""


def ranks_of(keys: Sequence[str], seed: int) -> UInt64[np.ndarray, " examples"]:
    """Return the random rank of each example: the first 8 bytes of the SHA-256 of seed and key."""
    digests = [sha256(json.dumps([seed, key]).encode()).digest()[:8] for key in keys]
    return np.array([int.from_bytes(digest) for digest in digests], dtype=np.uint64)


def rank_ceiling(before: int, size: int) -> int:
    """Return a rank above which no example is in the sample, as far as one shard can know.

    More than ``size`` examples of the earlier shards lie below it, except in one run in a thousand million:
    their number is binomial with a mean of ``size + 6 √size + 50``. (In that one run the sample is a little
    smaller than requested, and equally random.)

    Args:
        before: Number of examples in the shards before this one.
        size: Largest number of examples in the subsample.
    """
    share = (size + 6 * math.sqrt(size) + 50) / max(before, 1)
    return LARGEST_RANK if share >= 1 else int(share * LARGEST_RANK)


def select_candidates(
    keys: Sequence[str], *, seed: int, before: int, size: int
) -> Bool[np.ndarray, " examples"]:
    """Select the examples of a shard that may be in the sample, or the sample from all candidates.

    Args:
        keys: Keys of the examples of one shard; for the sample itself, of the candidates of all shards.
        seed: Seed of the ranks.
        before: Number of examples in the shards before this one (its number times the examples in a
            shard); for the sample itself, in the shards before the last.
        size: Largest number of examples in the subsample.

    Returns:
        True for the selected examples.
    """
    ranks = ranks_of(keys, seed)
    selected: np.ndarray = ranks <= np.uint64(rank_ceiling(before, size))
    if selected.sum() > size:
        selected &= ranks <= np.partition(ranks[selected], size - 1)[size - 1]
    return selected


SHARDS_PER_WRITE = 16
"""Number of shards that are added to the sums before these are written again."""
ROWS, BESIDE, SUMS = "scores.parquet", "parquet", "npz"
"""Endings of the files of a shard: scores that may be sampled, their cells and chance values, sums."""


def sample_size(options: CommonOptions) -> int:
    """Return the largest number of examples whose scores are kept besides the moments."""
    return min(options.most_kept, SUBSAMPLE)


def shard_contents(
    scores: Scores, rules: Sequence[Rule], task: Task, options: CommonOptions
) -> dict[str, bytes]:
    """Return the files of a shard by name: sums of all its examples, scores of those that may be sampled.

    Args:
        scores: Scores of the shard, whose units are named by ``records.moments.unit_in_passing``.
        rules: One per column.
        task: The shard.
        options: Options of the run.
    """
    selected = select_candidates(
        scores.examples,
        seed=options.seed,
        before=task.number * options.shard_size,
        size=sample_size(options),
    )
    some = scores.take(selected)
    return {
        shard_name(task.number, ROWS): part_bytes(some),
        shard_name(task.number, BESIDE): examples_bytes(some),
        shard_name(task.number, SUMS): moments_bytes(moments_of(scores, rules, task.number, task.digest)),
    }


class RunningSums:
    """The sums of the shards that are done so far, in the place of the run."""

    def __init__(self, place: Place, finished: dict[str, str] | None = None) -> None:
        """Read the sums that are there; a file that cannot be read is ignored, and its shards done again.

        Args:
            place: The place of the run.
            finished: SHA-256 of the files of a finished run there, from its manifest; None where there is
                none. When sums and subsample have these SHA-256, files of shards may be missing.
        """
        self._place = place
        self._sums = _sums_in(place)
        self._chain = ""
        self._waiting: set[int] = set()
        wanted = (MOMENTS, EXAMPLES, part_name(0))
        self.finished = finished is not None and all(_whole(place, name, finished) for name in wanted)
        if finished is not None and not _whole(place, MOMENTS, finished):
            self._sums = None  # altered: the shards are done again
        self._begun = self.stop
        self._dropped = 0

    @property
    def stop(self) -> int:
        """Return one more than the number of the last shard in the sums."""
        return 0 if self._sums is None else self._sums.stop

    def gone(self, name: str) -> bool:
        """Return whether a file of a shard is no longer needed, so that it may be missing."""
        stem, _, ending = name.rpartition("/")[2].partition(".")
        added = stem.isdecimal() and int(stem) < self.stop
        return added and (ending == SUMS or (self.finished and ending in (ROWS, BESIDE)))

    def seen(self, task: Task) -> None:
        """Compare the inputs of a shard with those in the sums; to be called for all shards in their order.

        Raises:
            BadInput: When the sums are of other inputs; the sums are then deleted.
        """
        if self._sums is None or task.number >= self._begun:
            return
        self._chain = chain_digests(self._chain, task.digest) if task.number else task.digest
        if task.number == self._begun - 1 and self._chain != self._sums.inputs:
            self._refuse()

    def done(self, number: int) -> None:
        """Note a shard whose files are whole, in any order, and add the shards that are ready."""
        if number >= self.stop:
            self._waiting.add(number)
        ready = self.stop
        while ready in self._waiting:
            ready += 1
        if ready - self.stop >= SHARDS_PER_WRITE:
            self._add(ready)

    def finish(self, shards: int) -> Moments:
        """Return the sums of all shards, when every shard is done.

        Args:
            shards: Number of shards.

        Raises:
            BadInput: When a shard is missing, or the sums are of more shards.
        """
        if shards > self.stop:
            self._add(shards)
        if self._sums is None or self.stop != shards:
            self._refuse()
        return self._sums

    def _refuse(self) -> NoReturn:
        self._place.delete(MOMENTS)
        raise BadInput(
            "the inputs of a run must not change, but they have since it began, so its sums were "
            "removed; start the same command again"
        )

    def _add(self, stop: int) -> None:
        """Add the shards before ``stop``, write the sums, and only then delete the files of the shards."""
        sums = self._sums
        for number in range(self.stop, stop):
            try:
                (content,) = read_checked_files(self._place, number, (SUMS,))
                shard_sums = parse_moments(content)
            except (ValueError, KeyError) as error:
                raise BadInput(
                    f"the sums of shard {number} cannot be used ({type(error).__name__}: {error}); "
                    f"start the same command again"
                ) from error
            sums = shard_sums if sums is None else sums.merged(shard_sums)
        if sums is None:
            return
        self._place.write(MOMENTS, moments_bytes(sums))
        self._sums = sums
        for number in range(self._dropped, stop):
            self._place.delete(shard_name(number, SUMS))
        self._waiting = {number for number in self._waiting if number >= stop}
        self._dropped = stop


def _whole(place: Place, name: str, digests: dict[str, str]) -> bool:
    """Return whether a file has the SHA-256 in ``digests``."""
    try:
        return place.sha256(name) == digests.get(name)
    except FileNotFoundError:
        return False


def _sums_in(place: Place) -> Moments | None:
    """Return the sums of the shards from the first on; None where they are missing or damaged."""
    try:
        sums = parse_moments(place.read(MOMENTS))
    except (FileNotFoundError, ValueError, KeyError, BadInput):
        return None
    return sums if sums.start == 0 else None
