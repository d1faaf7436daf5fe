"""Which examples head cards show: the highest and the lowest scores of every role that a head holds."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, UInt8

from headroles.exhibited import LEAST_TYPICAL, MOST_TYPICAL, Exhibit, Exhibited
from headroles.outcomes import Findings
from headroles.records import Example, Scores

RANKS = (*range(1, MOST_TYPICAL + 1), *range(-1, -LEAST_TYPICAL - 1, -1))
"""Ranks in the order in which maps are kept: typical examples first."""
LARGEST = 2_250_000
"""Bytes that all maps together may take, compressed: in a report they are text of 3 MB."""
WHOLE = 64_000_000
"""Bytes that all maps together may take before they are compressed, such as 4,000 of 126 tokens."""

Place = tuple[int, int, int]
"""What a map is of: an example (its place among those of the run), a layer and a head."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An example that a head card would show.

    Attributes:
        sieve: The role.
        rank: 1, 2, 3 for the highest scores; −1, −2 for the lowest.
        score: Of the head on the example.
        place: Of its map.
    """

    sieve: str
    rank: int
    score: float
    place: Place


def candidates(findings: Findings, scores: Scores) -> list[Candidate]:
    """The examples of every role that a head holds, in the order in which their maps are kept.

    In rounds, one per rank: most typical examples first. Within a round roles take turns, each with its
    heads from the highest mean score to the lowest, so that a limit leaves something of every role.

    Args:
        findings: Which heads hold which roles.
        scores: What they scored on each example.
    """
    found: list[tuple[int, int, Candidate]] = []
    for name in findings.roles:
        row, column = findings.of(name), scores.sieves.index(name)
        layers, heads = np.nonzero(findings.decision[row] == 0)
        strongest = np.argsort(-findings.mean[row, layers, heads], kind="stable")
        columns = np.ascontiguousarray(scores.values[column][:, layers, heads].T)
        for turn, number in enumerate(strongest):
            layer, head = int(layers[number]), int(heads[number])
            own = columns[number]
            found += [
                (RANKS.index(rank), turn, Candidate(name, rank, float(own[example]), (example, layer, head)))
                for rank, example in ranked(own)
            ]
    return [each for _, _, each in sorted(found, key=lambda row: row[:2])]


def ranked(scores: Float[np.ndarray, " examples"]) -> list[tuple[int, int]]:
    """Ranks and places of a head's most and least typical examples.

    Args:
        scores: Of the head; an example with NaN is none. Of equal scores the first example comes first.

    Returns:
        1, 2, 3 with the highest scores, then −1, −2 with the lowest of the others, as far as there are.

    Example:
        >>> ranked(np.array([0.2, np.nan, 0.9, 0.2, 0.5, 0.1]))
        [(1, 2), (2, 4), (3, 0), (-1, 5), (-2, 3)]
    """
    scored = np.flatnonzero(~np.isnan(scores))
    typical = scored[np.argsort(-scores[scored], kind="stable")][:MOST_TYPICAL]
    rising = scored[np.argsort(scores[scored], kind="stable")][: MOST_TYPICAL + LEAST_TYPICAL]
    contrary = rising[~np.isin(rising, typical)][:LEAST_TYPICAL]
    return [(rank, int(each)) for rank, each in enumerate(typical, 1)] + [
        (-rank, int(each)) for rank, each in enumerate(contrary, 1)
    ]


def wanted(
    found: Sequence[Candidate], tokens: Int[np.ndarray, " examples"], most: int, bound: int = WHOLE
) -> list[Place]:
    """The maps that candidates ask for, each once and in their order, up to the first beyond a limit.

    Args:
        found: From ``candidates``.
        tokens: Length of each example of the run.
        most: Maps at most.
        bound: Bytes at most, one per query and key.
    """
    places = list(dict.fromkeys(each.place for each in found))[:most]
    sizes = np.cumsum([int(tokens[example]) ** 2 for example, _, _ in places])
    return places[: int(np.searchsorted(sizes, bound, side="right"))]


def exhibited_of(
    found: Sequence[Candidate],
    maps: Mapping[Place, UInt8[np.ndarray, "_ _"]],
    examples: Mapping[int, Example],
    limit: int,
    bound: int = LARGEST,
) -> Exhibited:
    """What head cards show: candidates whose maps are among the first that fit.

    Args:
        found: From ``candidates``.
        maps: Attention in steps of 1/255, in the order of ``wanted``.
        examples: At least those of the maps, by their places.
        limit: Maps that were asked for at most.
        bound: Bytes that the maps may take at most, compressed one by one.
    """
    kept = sorted(_fitting(maps, bound))
    shown = sorted({example for example, _, _ in kept})
    number = {place: index for index, place in enumerate(kept)}
    order = {name: index for index, name in enumerate(dict.fromkeys(each.sieve for each in found))}
    listed = sorted(
        (each for each in found if each.place in number),
        key=lambda each: (order[each.sieve], each.place[1:], RANKS.index(each.rank)),
    )
    return Exhibited(
        examples=tuple(examples[each] for each in shown),
        places=np.array([(shown.index(place[0]), *place[1:]) for place in kept], np.int64).reshape(-1, 3),
        weights=tuple(maps[place] for place in kept),
        exhibits=tuple(
            Exhibit(each.sieve, each.place[1], each.place[2], each.rank, each.score, number[each.place])
            for each in listed
        ),
        left=len(found) - len(listed),
        limit=limit,
    )


def _fitting(maps: Mapping[Place, np.ndarray], bound: int) -> list[Place]:
    """The first maps that stay within some bytes when they are compressed."""
    kept: list[Place] = []
    for place, weights in maps.items():
        bound -= len(packed(weights))
        if bound < 0:
            break
        kept.append(place)
    return kept


def packed(weights: UInt8[np.ndarray, "queries keys"]) -> bytes:
    """A map as zlib bytes, row by row.

    Example:
        >>> len(packed(np.zeros((64, 64), np.uint8)))
        26
    """
    return zlib.compress(np.ascontiguousarray(weights).tobytes(), level=6)


def told(exhibited: Exhibited) -> list[str]:
    """How many examples have no map, as one sentence; none where none was left out."""
    if not exhibited.left:
        return []
    total = exhibited.left + len(exhibited.exhibits)
    return [
        f"{exhibited.left} of {total} most and least typical inputs of heads are not on the head cards: at "
        f"most {exhibited.limit} attention maps are kept (--maps), and {LARGEST / 1e6:g} MB of them."
    ]
