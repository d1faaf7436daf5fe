"""Sums over random groups of examples: what is kept of scores when there are too many to keep.

Every example belongs to one of ``GROUPS`` groups, drawn by a hash of the name of its unit, so that all
examples of one unit fall into one group wherever in the inputs they stand. Groups drawn at random from
independent units are independent and alike, whatever goes on inside units, so the spread of their means is
the error of the overall mean (random groups method: Wolter 2007, "Introduction to variance estimation",
ch. 2). Memory is that of the groups, not of the examples.

Shards are added strictly in their order, each exactly once: ``Moments`` knows the run of shards that it
holds and takes no other than the next. Adding is float64 in that one order, so the sums are the same bits
however many workers scored the shards, and whenever the run was stopped and taken up again.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from jaxtyping import Float, Int

from headroles.errors import BadInput
from headroles.records.arrays import frozen
from headroles.records.example import Rule, Scores

GROUPS = 256
"""Random groups: 255 degrees of freedom, of which a t test loses next to nothing against millions."""


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """What is kept of the scores of a run of shards; x is score − null, w the weight of an example.

    An example weighs 1 for the heads of which a column says something, in pooled columns as many as it
    has cells; 0 elsewhere.

    Attributes:
        sieves: Names of the columns, contrasts included, S.
        start: First shard.
        stop: One past the last.
        examples: Examples, whether or not anything is said of them.
        tokens: All their tokens.
        inputs: SHA-256 over the digests of the shards in their order: what the sums are of.
        cells: Sum of eligible queries (or arcs) of each column, over the examples that say how many.
        celled: Number of these.
        nulls: Sum of the chance values of each column, over the examples that have one.
        nulled: Number of these.
        spoke: Examples of which each column says something for some head.
        lowest: Smallest chance value among these; inf where there are none.
        highest: Largest; −inf where there are none.
        count: Examples with a score, per column and head.
        square: Sum of w x², at least 0.
        chance: Sum of w × null.
        least: Smallest x; inf where there is no score.
        most: Largest; −inf where there is no score.
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

    def __post_init__(self) -> None:
        """Check shapes, and make the arrays read-only."""
        columns, grid = len(self.sieves), self.count.shape[1:]
        grouped = (columns, GROUPS, *grid)
        for name in ARRAYS:
            array = getattr(self, name)
            shape = grouped if name in SUMS else (columns, *grid) if name in GRIDS else (columns,)
            if array.shape != shape or len(grid) != 2:
                raise BadInput(
                    f"moments of {columns} sieves in {GROUPS} groups have {name!r} of shape {shape}, but "
                    f"{array.shape} came"
                )
            object.__setattr__(self, name, frozen(array))
        if not 0 <= self.start < self.stop:
            raise BadInput(
                f"moments are of at least one shard, counted from 0, but {self.start} to {self.stop} came"
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
        """These and the shards right after them.

        Raises:
            BadInput: When the others do not start where these stop, so that a shard would count twice
                or be left out, or are of other columns or heads.
        """
        if following.start != self.stop:
            raise BadInput(
                f"shards are added in their order, each once, so shard {self.stop} comes next, but "
                f"{following.start} came"
            )
        if following.sieves != self.sieves or following.count.shape != self.count.shape:
            raise BadInput("moments are added when they are of the same sieves and heads, but these are not")
        how = dict.fromkeys(("lowest", "least"), np.minimum) | dict.fromkeys(("highest", "most"), np.maximum)
        arrays = {
            name: how.get(name, np.add)(getattr(self, name), getattr(following, name)) for name in ARRAYS
        }
        return Moments(
            self.sieves,
            self.start,
            following.stop,
            self.examples + following.examples,
            self.tokens + following.tokens,
            chained(self.inputs, following.inputs),
            **arrays,
        )

    def picked(self, names: Sequence[str], columns: Sequence[int], places: Sequence[int]) -> "Moments":
        """Of some columns one head each, as columns of a model with one layer of one head.

        Args:
            names: Of the new columns.
            columns: Which of these each one is.
            places: Which head of it, counted over all layers.
        """
        arrays = {name: getattr(self, name)[list(columns)] for name in ARRAYS if name not in (*GRIDS, *SUMS)}
        for name in (*GRIDS, *SUMS):
            each = getattr(self, name)
            rows = each.reshape(*each.shape[:-2], self.layers * self.heads)
            arrays[name] = rows[list(columns), ..., list(places)][..., None, None]
        return replace(self, sieves=tuple(names), **arrays)


SUMS = ("weight", "total")
"""Arrays with one entry per column, group and head."""
GRIDS = ("count", "square", "chance", "least", "most")
"""Arrays with one entry per column and head."""
ARRAYS = tuple(each.name for each in fields(Moments))[6:]


def unit_in_passing(group: str | None, texts: Sequence[str]) -> str:
    """Name the unit of an input that is seen once, among too many to compare with each other.

    The group names it; without one its longest text does, as a hash. So identical inputs are one unit
    wherever they stand, and so are pairs that share their longer text (a context asked about twice),
    whose tokens make up most of both inputs. Unlike ``units.unit_names``, which sees all inputs at once,
    it does not join pairs that share only their shorter text, nor documents that share a text.

    Args:
        group: Document or paragraph; None when unknown.
        texts: One or two texts.

    Example:
        >>> unit_in_passing("wiki/7", ["It rains."])
        'wiki/7'
        >>> unit_in_passing(None, ["Why?", "It rains."]) == unit_in_passing(None, ["It rains.", "How?"])
        True
    """
    if group is not None:
        return group
    longest = max(texts, key=lambda text: (len(text), text))
    return "text:" + hashlib.sha256(longest.encode()).hexdigest()[:16]


def group_of(unit: str) -> int:
    """The random group of a unit, 0 to ``GROUPS`` − 1: the same for every run, machine and order."""
    return int.from_bytes(hashlib.sha256(json.dumps(["group", unit]).encode()).digest()[:8]) % GROUPS


def chained(before: str, following: str) -> str:
    """The digest of shards and the one after them, from theirs."""
    return hashlib.sha256(f"{before} {following}".encode()).hexdigest()


def moments_of(scores: Scores, rules: Sequence[Rule], shard: int, inputs: str = "") -> Moments:
    """The moments of one shard.

    Args:
        scores: Of its examples; their units say which groups they fall into.
        rules: One per column, which says whether it is pooled.
        shard: Number of the shard.
        inputs: Digest of what was read for it.
    """
    groups = np.array([group_of(unit) for unit in scores.units], dtype=np.int64)
    order = np.argsort(groups, kind="stable")
    present, starts = np.unique(groups[order], return_index=True)
    made = {name: np.zeros((len(scores.sieves), *scores.values.shape[2:])) for name in GRIDS}
    made |= {name: np.zeros((len(scores.sieves), GROUPS, *scores.values.shape[2:])) for name in SUMS}
    levels = np.zeros((3, len(scores.sieves)))
    for column, rule in enumerate(rules):
        null = scores.null[column]
        x = scores.values[column].astype(np.float64) - null[:, None, None]
        weight = _weights(x, scores.cells[column], rule)
        held = weight > 0
        kept = np.where(held, x, 0.0)
        for name, each in (("weight", weight), ("total", weight * kept)):
            if len(present):
                made[name][column, present] = np.add.reduceat(each[order], starts, axis=0)
        made["count"][column] = held.sum(axis=0)
        made["square"][column] = (weight * kept * kept).sum(axis=0)
        made["chance"][column] = (weight * np.nan_to_num(null)[:, None, None]).sum(axis=0)
        made["least"][column] = np.where(held, x, np.inf).min(axis=0, initial=np.inf)
        made["most"][column] = np.where(held, x, -np.inf).max(axis=0, initial=-np.inf)
        told = null[held.any(axis=(1, 2))]
        levels[:, column] = told.size, told.min(initial=np.inf), told.max(initial=-np.inf)
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
        **made | {"count": made["count"].astype(np.int64)},
    )


def _weights(
    x: Float[np.ndarray, "examples layers heads"], cells: Float[np.ndarray, " examples"], rule: Rule
) -> Float[np.ndarray, "examples layers heads"]:
    """What each example weighs in each head: 1 where it has a score; its cells where a column is pooled."""
    heavy = np.nan_to_num(cells) if rule.pooled else np.ones(len(x))
    return np.where(np.isnan(x), 0.0, heavy[:, None, None])
