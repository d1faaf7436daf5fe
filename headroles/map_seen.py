"""What the queries of stored maps see, as the list of their examples says it of each layer."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

Reach = tuple[int | None, int | None]
"""Smallest and largest offset (key minus query) that queries see; None where nothing ends it."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """First and last key that each query sees; the last before the first where it sees none."""

    first: tuple[int, ...]
    last: tuple[int, ...]


def rule_of(found: object, size: int) -> Reach | Bounds | None:
    """What the queries of a layer see, as a list of two offsets or of two keys per query; None for all else.

    Example:
        >>> rule_of([None, 0], 3), rule_of([[0, 0], [0, 1]], 2), rule_of([0], 3)
        ((None, 0), Bounds(first=(0, 0), last=(0, 1)), None)
    """
    if not isinstance(found, list):
        return None
    if len(found) == 2 and all(each is None or type(each) is int for each in found):
        return found[0], found[1]
    pairs = [each for each in found if isinstance(each, list) and len(each) == 2]
    if len(found) != size or len(pairs) != size:
        return None
    if not all(type(each) is int and -1 <= each < size for pair in pairs for each in pair):
        return None
    return Bounds(tuple(first for first, _ in pairs), tuple(last for _, last in pairs))


def seen_by(rule: Reach | Bounds, size: int) -> Bool[np.ndarray, "queries keys"] | None:
    """Which keys each of so many queries sees; None for all.

    Example:
        >>> seen_by((0, 1), 3).tolist()
        [[True, True, False], [False, True, True], [False, False, True]]
    """
    place = np.arange(size)
    if isinstance(rule, Bounds):
        first, last = np.array(rule.first)[:, None], np.array(rule.last)[:, None]
    else:
        low, high = rule
        if low is None and high is None:
            return None
        first = place[:, None] + (-size if low is None else np.clip(low, -size, size))
        last = place[:, None] + (size if high is None else np.clip(high, -size, size))
    seen: np.ndarray = (place >= first) & (place <= last)
    return seen
