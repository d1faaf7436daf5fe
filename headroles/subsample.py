"""A random subsample of examples whose scores are kept whole, the same however the work is divided.

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

import numpy as np
from jaxtyping import Bool, Int, UInt64

from headroles.records.example import Scores

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
