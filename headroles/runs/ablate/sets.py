"""Sets of heads that are taken out together: those of a role, and random sets of the same make."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import combinations, product
from math import comb, prod

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from headroles.records.causal.ablation import HeadSets
from headroles.runs.scored import ScoredRun
from headroles.storage.archive import archive_bytes, read_archive

SETS = "sets.npz"
"""Ending of a shard's file of damages of sets."""
Heads = tuple[tuple[int, int], ...]
"""Heads as pairs of layer and head, sorted."""


@dataclass(frozen=True, slots=True, eq=False)
class SetList:
    """Sets of heads in the order in which their damage is stored.

    Attributes:
        roles: Role of each set.
        number: 0 for the heads of the role themselves, from 1 on for random sets.
        members: Heads of each set.
    """

    roles: tuple[str, ...]
    number: Int[np.ndarray, " sets"]
    members: Bool[np.ndarray, "sets layers heads"]

    def heads(self) -> list[Heads]:
        """Return the heads of each set."""
        return [_pairs(members) for members in self.members]


def lay_sets(
    held: Mapping[str, Bool[np.ndarray, "layers heads"]],
    norms: Float[np.ndarray, "layers heads"],
    *,
    count: int,
    seed: int,
) -> SetList:
    """Return the heads of each role as a set, followed by random sets that are like it.

    A random set has as many heads in each layer, and as many of them in either half of the layer's heads,
    sorted by norm. All sets of a role differ. Where fewer other sets exist than are wanted, all of them are
    taken. A role of which no other set exists has none of them, but its own heads are taken out together.

    Args:
        held: The heads that hold each role.
        norms: Mean norm of each head's output.
        count: Random sets wanted for each role.
        seed: Seed of the draws.

    Example:
        >>> held = {"local": np.array([[True, False, False, False]])}
        >>> lay_sets(held, np.arange(4.0)[None], count=99, seed=0).members[:, 0].astype(int).tolist()
        [[1, 0, 0, 0], [0, 1, 0, 0]]
    """
    roles: list[str] = []
    number: list[int] = []
    members: list[np.ndarray] = []
    for role, own in held.items():
        sets = [own, *_like(own, _halves(norms), count, seed, role)] if own.any() else []
        for place, heads in enumerate(sets):
            roles.append(role)
            number.append(place)
            members.append(heads)
    stacked = np.stack(members) if members else np.zeros((0, *norms.shape), dtype=np.bool_)
    return SetList(tuple(roles), np.array(number, dtype=np.int64), stacked)


def _halves(norms: Float[np.ndarray, "layers heads"]) -> Int[np.ndarray, "layers heads"]:
    """Return the stratum of each head: its layer, and the lower or upper half of the layer by norm."""
    layers, heads = norms.shape
    half = np.empty((layers, heads), dtype=np.int64)
    ranks = np.arange(heads) * 2 >= heads
    for layer in range(layers):
        half[layer, np.argsort(norms[layer], kind="stable")] = ranks
    return 2 * np.arange(layers)[:, None] + half


def _like(
    own: Bool[np.ndarray, "layers heads"],
    strata: Int[np.ndarray, "layers heads"],
    count: int,
    seed: int,
    role: str,
) -> list[Bool[np.ndarray, "layers heads"]]:
    """Return different random sets with as many heads of each stratum as ``own``, which is none of them."""
    groups = [np.flatnonzero(strata.ravel() == stratum) for stratum in np.unique(strata[own])]
    sizes = [int(own.ravel()[group].sum()) for group in groups]
    possible = prod(comb(len(group), size) for group, size in zip(groups, sizes, strict=True))
    itself = tuple(np.flatnonzero(own.ravel()).tolist())
    if possible - 1 <= count:
        every = product(
            *(combinations(group.tolist(), size) for group, size in zip(groups, sizes, strict=True))
        )
        chosen = sorted(heads for each in every if (heads := tuple(sorted(sum(each, ())))) != itself)
    else:
        key = int.from_bytes(blake2b(role.encode(), digest_size=8).digest())
        rng, taken = np.random.default_rng([seed, key]), {itself: None}
        while len(taken) <= count:
            drawn = [
                rng.choice(group, size, replace=False) for group, size in zip(groups, sizes, strict=True)
            ]
            taken[tuple(np.sort(np.concatenate(drawn)).tolist())] = None
        chosen = [*taken][1:]
    return [_mask(heads, own.shape) for heads in chosen]


def _mask(heads: tuple[int, ...], shape: tuple[int, ...]) -> Bool[np.ndarray, "layers heads"]:
    mask = np.zeros(prod(shape), dtype=np.bool_)
    mask[list(heads)] = True
    return mask.reshape(shape)


def _pairs(members: Bool[np.ndarray, "layers heads"]) -> Heads:
    return tuple((int(layer), int(head)) for layer, head in np.argwhere(members))


def sets_bytes(
    arms: tuple[str, ...], sets: SetList, damage: Float32[np.ndarray, "arms sets examples"]
) -> bytes:
    """Return the damages of sets on the examples of a shard, as the content of its file.

    Args:
        arms: Names of the arms.
        sets: The sets.
        damage: Damage of each arm, set and example; NaN where it was not measured.
    """
    return archive_bytes(
        {
            "arms": np.array(arms),
            "roles": np.array(sets.roles),
            "number": sets.number,
            "members": sets.members,
            "damage": damage,
        },
        compressed=True,
    )


def join_sets(contents: Iterable[bytes]) -> HeadSets | None:
    """Return the sets of a run with their damage on all examples, from the files of its shards.

    Args:
        contents: The files, in the order of the shards.

    Returns:
        The sets; None where there is none.

    Raises:
        ValueError: When a file is no archive.
        KeyError: When an array is missing.
        BadInput: When arrays do not fit together.
    """
    archives = [read_archive(content, SETS) for content in contents]
    if not archives or not archives[0]["roles"].size:
        return None
    first = archives[0]
    return HeadSets(
        arms=tuple(map(str, first["arms"])),
        roles=tuple(map(str, first["roles"])),
        number=first["number"],
        members=first["members"],
        damage=np.concatenate([archive["damage"] for archive in archives], axis=2),
    )


def read_sets(scored: ScoredRun) -> HeadSets | None:
    """Return the sets of a new run with their damage on all examples; None where there is none.

    Raises:
        BadInput: When a file of a shard is missing or was altered.
    """
    return join_sets(scored.shard_files(SETS))


def different_sets(sets: SetList) -> Iterator[tuple[Heads, list[int]]]:
    """Yield each set once, with the places of all sets that have these heads."""
    places: dict[Heads, list[int]] = {}
    for place, heads in enumerate(sets.heads()):
        places.setdefault(heads, []).append(place)
    yield from places.items()
