"""Sums over random groups of examples, kept in place of scores when there are too many to keep.

Every example belongs to one of ``GROUPS`` groups, drawn by a hash of the name of its unit, so that all
examples of one unit fall into one group wherever they stand in the inputs. Groups drawn at random from
independent units are independent and identically distributed, whatever the dependence inside units, so
the spread of their means is the error of the overall mean (random groups method: Wolter 2007,
"Introduction to variance estimation", ch. 2). Memory grows with the groups, not with the examples.

Shards are added strictly in their order, each exactly once: ``Moments`` knows its range of shards and
accepts only the next one. Adding is float64 in that one order, so the sums are the same bits however many
workers scored the shards, and whenever the run was stopped and resumed.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from jaxtyping import Float, Int

from headroles.errors import BadInput
from headroles.records.arrays import seal_arrays
from headroles.records.brief import brief
from headroles.records.example import Scores
from headroles.records.passage import plain_spelling
from headroles.records.rules.rule import Rule

GROUPS = 256
"""Random groups: 255 degrees of freedom, with which a t test loses almost no power against millions."""


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Sums of the scores of consecutive shards; x is score − null, w the weight of an example.

    The weight of an example is 1 for the heads in which a column has a score, its number of cells in
    pooled columns, and 0 elsewhere.

    Attributes:
        sieves: Names of the columns, contrasts included, S.
        start: First shard.
        stop: One past the last.
        examples: Number of examples, with or without a score.
        tokens: Number of all their tokens.
        inputs: SHA-256 over the digests of the shards in their order, which identifies the inputs.
        cells: Sum of eligible queries (or arcs) of each column, over the examples that have a count.
        celled: Number of these examples.
        nulls: Sum of the chance values of each column, over the examples that have one.
        nulled: Number of these examples.
        spoke: Examples in which each column has a score for some head.
        lowest: Smallest chance value among these; inf where there are none.
        highest: Largest; −inf where there are none.
        count: Examples with a score, per column and head.
        square: Sum of w x², at least 0.
        chance: Sum of w × null.
        least: Smallest x; inf where there is no score.
        most: Largest x; −inf where there is no score.
        weight: Sum of w in each group.
        total: Sum of w x in each group.
    """

    sieves: tuple[str, ...]
    start: int
    stop: int
    examples: int
    tokens: int
    inputs: str
    cells: Float[np.ndarray, " sieves"]
    celled: Int[np.ndarray, " sieves"]
    nulls: Float[np.ndarray, " sieves"]
    nulled: Int[np.ndarray, " sieves"]
    spoke: Int[np.ndarray, " sieves"]
    lowest: Float[np.ndarray, " sieves"]
    highest: Float[np.ndarray, " sieves"]
    count: Int[np.ndarray, "sieves layers heads"]
    square: Float[np.ndarray, "sieves layers heads"]
    chance: Float[np.ndarray, "sieves layers heads"]
    least: Float[np.ndarray, "sieves layers heads"]
    most: Float[np.ndarray, "sieves layers heads"]
    weight: Float[np.ndarray, "sieves groups layers heads"]
    total: Float[np.ndarray, "sieves groups layers heads"]

    __repr__ = brief

    def __post_init__(self) -> None:
        """Check shapes, and make the arrays read-only."""
        columns = len(self.sieves)
        what = f"moments of {columns} sieves in {GROUPS} groups"
        seal_arrays(self, what, {"sieves": columns, "groups": GROUPS})
        if not 0 <= self.start < self.stop:
            raise BadInput(
                f"moments need at least one shard, counted from 0, but got {self.start} to {self.stop}"
            )

    @property
    def layers(self) -> int:
        """Number of layers."""
        return int(self.count.shape[1])

    @property
    def heads(self) -> int:
        """Heads in a layer."""
        return int(self.count.shape[2])

    def merged(self, following: "Moments") -> "Moments":
        """Add the moments of the shards right after these.

        Raises:
            BadInput: When the others do not start where these stop, so that a shard would count twice
                or be left out, or when they have other columns or heads.
        """
        if following.start != self.stop:
            raise BadInput(
                f"shards are added in their order, each once, so shard {self.stop} comes next, but got "
                f"{following.start}"
            )
        if following.sieves != self.sieves or following.count.shape != self.count.shape:
            raise BadInput("moments can be added if their sieves and heads are equal, but these differ")
        combine = dict.fromkeys(("lowest", "least"), np.minimum) | dict.fromkeys(
            ("highest", "most"), np.maximum
        )
        arrays = {
            name: combine.get(name, np.add)(getattr(self, name), getattr(following, name)) for name in ARRAYS
        }
        return Moments(
            self.sieves,
            self.start,
            following.stop,
            self.examples + following.examples,
            self.tokens + following.tokens,
            chain_digests(self.inputs, following.inputs),
            **arrays,
        )

    def picked(self, names: Sequence[str], columns: Sequence[int], places: Sequence[int]) -> "Moments":
        """Return one head each of some columns, as columns of a model with one layer of one head.

        Args:
            names: Names of the new columns.
            columns: Index of the source column of each.
            places: Index of its head, counted over all layers.
        """
        arrays = {name: getattr(self, name)[list(columns)] for name in ARRAYS if name not in (*GRIDS, *SUMS)}
        for name in (*GRIDS, *SUMS):
            array = getattr(self, name)
            rows = array.reshape(*array.shape[:-2], self.layers * self.heads)
            arrays[name] = rows[list(columns), ..., list(places)][..., None, None]
        return replace(self, sieves=tuple(names), **arrays)


SUMS = ("weight", "total")
"""Arrays with one entry per column, group and head."""
GRIDS = ("count", "square", "chance", "least", "most")
"""Arrays with one entry per column and head."""
ARRAYS = tuple(field.name for field in fields(Moments))[6:]


def unit_by_longest_text(group: str | None, texts: Sequence[str]) -> str:
    """Return the name of an input's unit, where there are too many inputs to compare with each other.

    The name is the group, or else a hash of the longest text without case, blanks and accents. So inputs that
    are spelled alike are one unit wherever they stand, and so are pairs that share their longer text (one
    context in two questions), whose tokens make up most of both inputs. Unlike ``inputs.units.unit_names``,
    which reads all inputs at once, it does not join pairs that share only their shorter text, nor documents
    that share one.

    Args:
        group: Document or paragraph; None when unknown.
        texts: One or two texts.

    Example:
        >>> unit_by_longest_text("wiki/7", ["It rains."])
        'wiki/7'
        >>> first = unit_by_longest_text(None, ["Why?", "It rains."])
        >>> first == unit_by_longest_text(None, ["It rains.", "How?"])
        True
    """
    if group is not None:
        return group
    longest = max(map(plain_spelling, texts), key=lambda text: (len(text), text))
    return "text:" + hashlib.sha256(longest.encode()).hexdigest()[:16]


def group_of(unit: str) -> int:
    """Return the random group of a unit, 0 to ``GROUPS`` − 1: the same for every run, machine and order."""
    return int.from_bytes(hashlib.sha256(json.dumps(["group", unit]).encode()).digest()[:8]) % GROUPS


def chain_digests(before: str, following: str) -> str:
    """Return the digest of shards and the shard after them, from their digests."""
    return hashlib.sha256(f"{before} {following}".encode()).hexdigest()


def moments_of(scores: Scores, rules: Sequence[Rule], shard: int, inputs: str = "") -> Moments:
    """Return the moments of one shard.

    Args:
        scores: Scores of its examples; their units determine their groups.
        rules: One per column, which says whether it is pooled.
        shard: Number of the shard.
        inputs: Digest of the inputs of the shard.
    """
    groups = np.array([group_of(unit) for unit in scores.units], dtype=np.int64)
    order = np.argsort(groups, kind="stable")
    present, starts = np.unique(groups[order], return_index=True)
    sums = {name: np.zeros((len(scores.sieves), *scores.values.shape[2:])) for name in GRIDS}
    sums |= {name: np.zeros((len(scores.sieves), GROUPS, *scores.values.shape[2:])) for name in SUMS}
    levels = np.zeros((3, len(scores.sieves)))
    for column, rule in enumerate(rules):
        null = scores.null[column]
        x = scores.values[column].astype(np.float64) - null[:, None, None]
        weight = _weights(x, scores.cells[column], rule)
        scored = weight > 0
        kept = np.where(scored, x, 0.0)
        for name, addend in (("weight", weight), ("total", weight * kept)):
            if len(present):
                sums[name][column, present] = np.add.reduceat(addend[order], starts, axis=0)
        sums["count"][column] = scored.sum(axis=0)
        sums["square"][column] = (weight * kept * kept).sum(axis=0)
        sums["chance"][column] = (weight * np.nan_to_num(null)[:, None, None]).sum(axis=0)
        sums["least"][column] = np.where(scored, x, np.inf).min(axis=0, initial=np.inf)
        sums["most"][column] = np.where(scored, x, -np.inf).max(axis=0, initial=-np.inf)
        chances = null[scored.any(axis=(1, 2))]
        levels[:, column] = chances.size, chances.min(initial=np.inf), chances.max(initial=-np.inf)
    known = ~np.isnan(scores.cells)
    return Moments(
        sieves=scores.sieves,
        start=shard,
        stop=shard + 1,
        examples=len(scores.examples),
        tokens=int(scores.tokens.sum()),
        inputs=inputs,
        cells=np.where(known, scores.cells, 0.0).sum(axis=1),
        celled=known.sum(axis=1).astype(np.int64),
        nulls=np.nansum(scores.null, axis=1),
        nulled=(~np.isnan(scores.null)).sum(axis=1).astype(np.int64),
        spoke=levels[0].astype(np.int64),
        lowest=levels[1],
        highest=levels[2],
        **sums | {"count": sums["count"].astype(np.int64)},
    )


def _weights(
    x: Float[np.ndarray, "examples layers heads"], cells: Float[np.ndarray, " examples"], rule: Rule
) -> Float[np.ndarray, "examples layers heads"]:
    """Return each example's weight in each head: 1 where it has a score; its cells in pooled columns."""
    weight = np.nan_to_num(cells) if rule.pooled else np.ones(len(x))
    return np.where(np.isnan(x), 0.0, weight[:, None, None])
