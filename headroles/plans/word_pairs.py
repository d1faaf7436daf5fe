"""Pairs of words of one input, and the cells of each in four tables of what word classes and places tell.

A profile by word class (``headroles.plans.class_profile``) is a product of one number per table. Of a query i
and a key j the tables know

- **profile**: the signed distance j − i in 16 bins (1, 2, 3, 4, 5–6, 7–9, 10–14, 15 and more, on each side),
  the word class of i and that of j (17 of Universal Dependencies, and one for unknown), and the nearness of j
  among words of its kind (nouns, proper nouns and pronouns are one kind, verbs and auxiliaries another, every
  other class its own): the nearest of all, the nearest on its side, one such word in between, or more; and
  whether any noun or verb, in this sense, lies in between,
- **length**: the distance, the nearness, whether j is a noun, a verb or another word, and the length of the
  sentence in 7 bins,
- **query**: the distance, and the classes of i and of the words before and after it, and
- **key**: the side, the nearness, the classes of j and of the words before and after it, and the frequency of
  j in the shard (at most 2, at most 20, more), which ``with_frequency`` adds.

Cells are numbered on from table to table.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

CLASSES = (
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT",
    "SCONJ", "SYM", "VERB", "X",
)  # fmt: skip
"""Universal parts of speech; words with any other, or none, share one more class."""
KINDS = len(CLASSES) + 1
STEPS = (1, 2, 3, 4, 5, 7, 10, 15)
"""Smallest distance of each bin."""
DISTANCES = 2 * len(STEPS)
NEAR = 8
"""Kinds of nearness: four places among words of the kind, with and without a noun or verb in between."""
RARE, COMMON = 2, 20
"""Most occurrences of rare words, and of words that are not common."""
FREQUENCIES = 3
LENGTHS = (7, 10, 13, 17, 22, 28)
"""Fewest words of a sentence of each bin after the first."""
BESIDE = KINDS + 1
"""Classes of a word beside another; the last stands for an end of the sentence."""
SIZES = (
    DISTANCES * KINDS * KINDS * NEAR,
    DISTANCES * NEAR * 3 * (len(LENGTHS) + 1),
    DISTANCES * KINDS * BESIDE * BESIDE,
    2 * KINDS * NEAR * BESIDE * BESIDE * FREQUENCIES,
)
"""Cells of each table: profile, length, query and key."""
OPENS = tuple(sum(SIZES[:table]) for table in range(len(SIZES)))
"""First cell of each table."""
CELLS = sum(SIZES)
LONGEST = 256
"""Most words of a group, such as a sentence; larger ones are left out."""
MOST = 512
"""Most words of one input; groups after them are left out, so that memory of a shard has a limit."""

_NUMBERS = {name: number for number, name in enumerate(CLASSES)}
_NOUN, _VERB = _NUMBERS["NOUN"], _NUMBERS["VERB"]
_KIND = np.arange(KINDS)
_KIND[[_NUMBERS["PROPN"], _NUMBERS["PRON"]]] = _NOUN
_KIND[_NUMBERS["AUX"]] = _VERB
_BIN = np.searchsorted(STEPS, np.arange(STEPS[-1] + 1), side="right") - 1
"""Bin of each distance up to the smallest of the last bin."""


@dataclass(frozen=True, slots=True, eq=False)
class WordPairs:
    """The pairs of words of one input that are compared, and those that contrasts count.

    Attributes:
        query: Attending word of each pair, sorted.
        key: Attended word; sorted within a query.
        cell: Cell of each pair in each table, without the frequency of the key.
        size: Number of words of the group that both belong to.
        groups: Number of groups.
        counted: For each contrast the places of its pairs, sorted.
    """

    query: Int[np.ndarray, " pairs"]
    key: Int[np.ndarray, " pairs"]
    cell: Int[np.ndarray, "tables pairs"]
    size: Int[np.ndarray, " pairs"]
    groups: int
    counted: tuple[Int[np.ndarray, "_"], ...]


def word_classes(upos: Sequence[str]) -> Int[np.ndarray, " words"]:
    """Return the number of each word class.

    Example:
        >>> word_classes(("ADJ", "NOUN", "")).tolist()
        [0, 7, 17]
    """
    return np.array([_NUMBERS.get(name, KINDS - 1) for name in upos], dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class InputWords:
    """The words of one input, before they are paired.

    Attributes:
        groups: Label of each word, such as its sentence; −1 for words that are compared with none.
        classes: From ``word_classes``.
        counted: Query and key words of each contrast; pairs that are not compared are left out.
    """

    groups: Int[np.ndarray, " words"]
    classes: Int[np.ndarray, " words"]
    counted: Sequence[tuple[Int[np.ndarray, "_"], Int[np.ndarray, "_"]]]


def word_pairs(inputs: Sequence[InputWords]) -> list[WordPairs]:
    """Return for each input all pairs of different words of one group, and their cells.

    Groups of two words are left out: any profile expects all attention on the only other word. All inputs
    are laid out by the same few operations. They have the same number of contrasts.

    Example:
        >>> words = InputWords(np.array([0, 0, 0]), word_classes(("DET", "NOUN", "VERB")), [([0], [1])])
        >>> (pairs,) = word_pairs([words])
        >>> pairs.query.tolist(), pairs.key.tolist(), pairs.counted[0].tolist()
        ([0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1], [0])
    """
    if not inputs:
        return []
    opens = np.cumsum([0, *(len(given.groups) for given in inputs)])
    label, number = _kept(np.concatenate([given.groups for given in inputs]), opens)
    inside = np.flatnonzero(label >= 0)
    sizes = np.bincount(label[inside])
    members = inside[np.argsort(label[inside], kind="stable")]
    starts = np.cumsum(sizes) - sizes
    size = sizes[label[inside]]
    query = np.repeat(inside, size)
    within = np.arange(len(query)) - np.repeat(np.cumsum(size) - size, size)
    key = members[np.repeat(starts[label[inside]], size) + within]
    apart = query != key
    query, key, size = query[apart], key[apart], np.repeat(size, size)[apart]
    classes = np.concatenate([given.classes for given in inputs])
    cell = _cells(query, key, _Words(classes, label, opens), size)
    place = query * opens[-1] + key
    counted = [
        _places(place, opens, [given.counted[n] for given in inputs]) for n in range(len(inputs[0].counted))
    ]
    edges = np.searchsorted(query, opens)
    parts = [np.searchsorted(places, edges) for places in counted]
    return [
        WordPairs(
            query=query[first:last] - opens[row],
            key=key[first:last] - opens[row],
            cell=cell[:, first:last],
            size=size[first:last],
            groups=int(number[row]),
            counted=tuple(
                places[part[row] : part[row + 1]] - first for places, part in zip(counted, parts, strict=True)
            ),
        )
        for row, (first, last) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    ]


def with_frequency(
    cell: Int[np.ndarray, "tables pairs"], occurrences: Int[np.ndarray, " pairs"]
) -> Int[np.ndarray, "tables pairs"]:
    """Return cells with the frequency of the key in the last table.

    Args:
        cell: Cells without it.
        occurrences: Occurrences of the key of each pair in its shard.

    Example:
        >>> with_frequency(np.array([[7, 8, 9], [30, 33, 36]]), np.array([1, 20, 300])).tolist()
        [[7, 8, 9], [30, 34, 38]]
    """
    cells = cell.copy()
    cells[-1] += (occurrences > RARE).astype(np.int64) + (occurrences > COMMON)
    return cells


def rarest(
    word: Int[np.ndarray, " tokens"], occurrences: Sequence[int] | Int[np.ndarray, " tokens"]
) -> Int[np.ndarray, " words"]:
    """Return the occurrences of the rarest token of each word; 0 for words without a token.

    Args:
        word: Word of each token, −1 for none.
        occurrences: Of each token.

    Example:
        >>> rarest(np.array([-1, 0, 0, 2]), [9, 5, 3, 7]).tolist()
        [3, 0, 7]
    """
    words = int(word.max(initial=-1)) + 1
    least = np.full(words, np.iinfo(np.int64).max)
    inside = np.asarray(word) >= 0
    np.minimum.at(least, np.asarray(word)[inside], np.asarray(occurrences, dtype=np.int64)[inside])
    return np.where(least == np.iinfo(np.int64).max, 0, least)


def coarser(cell: Int[np.ndarray, " cells"]) -> list[Int[np.ndarray, " cells"]]:
    """Return coarser cells of cells of the first table, the coarsest first, and the cells themselves last.

    They are: the distance; the side, the class of the key and nearness; the same with the distance; the side,
    both classes and nearness; and the cell.

    Example:
        >>> [level.tolist() for level in coarser(np.array([0, 1]))]
        [[0, 0], [0, 1], [0, 1], [0, 1], [0, 1]]
    """
    rest, near = np.divmod(cell, NEAR)
    rest, key = np.divmod(rest, KINDS)
    distance, query = np.divmod(rest, KINDS)
    side, asked = distance // len(STEPS), key * NEAR + near
    most = KINDS * NEAR
    both = query * most + asked
    return [distance, side * most + asked, distance * most + asked, side * KINDS * most + both, cell]


def coarser_pair(
    place: Int[np.ndarray, " cells"],
) -> tuple[Int[np.ndarray, " cells"], Int[np.ndarray, " cells"]]:
    """Return the two coarsest places of cells, given the third of ``coarser``.

    Example:
        >>> levels = coarser(np.arange(0, SIZES[0], 1001))
        >>> [np.array_equal(*both) for both in zip(coarser_pair(levels[2]), levels[:2], strict=True)]
        [True, True]
    """
    distance, asked = np.divmod(place, KINDS * NEAR)
    return distance, distance // len(STEPS) * KINDS * NEAR + asked


def _kept(
    groups: Int[np.ndarray, " words"], opens: Int[np.ndarray, "_"]
) -> tuple[Int[np.ndarray, " words"], Int[np.ndarray, " inputs"]]:
    """Return labels from 0, −1 for words of groups that are left out, and the number of groups by input.

    A group is left out where it is too small, too large, or after the last word of its input.
    """
    label, inside = np.full(len(groups), -1, dtype=np.int64), np.flatnonzero(groups >= 0)
    row = np.searchsorted(opens, inside, side="right") - 1
    named = row * (int(groups.max(initial=0)) + 1) + groups[inside]
    _, first, own = np.unique(named, return_index=True, return_inverse=True)
    sizes = np.bincount(own)
    fits = (sizes > 2) & (sizes <= LONGEST)
    order = np.argsort(first, kind="stable")
    total = np.cumsum(np.where(fits, sizes, 0)[order])
    by_input = row[first[order]]
    before = np.append(0, total)[np.searchsorted(by_input, by_input)]
    fits[order] &= total - before <= MOST
    label[inside] = np.where(fits, np.cumsum(fits) - 1, -1)[own]
    return label, np.bincount(row[first][fits], minlength=len(opens) - 1)


@dataclass(frozen=True, slots=True, eq=False)
class _Words:
    """Words of all inputs: their classes, their groups, and the first word of each input."""

    classes: np.ndarray
    label: np.ndarray
    opens: np.ndarray


def _cells(query: np.ndarray, key: np.ndarray, words: _Words, size: np.ndarray) -> np.ndarray:
    """Return the cell of each pair in each table (tables, pairs)."""
    far = np.abs(key - query)
    side = (key > query).astype(np.int64)
    distance = _BIN[np.minimum(far, STEPS[-1])] + len(STEPS) * side
    near = _nearness(query, key, far, words)
    classes, kind = words.classes, _KIND[words.classes]
    edge = np.append(words.label[1:] != words.label[:-1], np.ones(min(1, len(classes)), dtype=np.bool_))
    after = np.where(edge, KINDS, np.roll(classes, -1))
    before = np.where(np.roll(edge, 1), KINDS, np.roll(classes, 1))
    beside = (classes * BESIDE + before) * BESIDE + after
    sort = np.where(kind == _NOUN, 0, np.where(kind == _VERB, 1, 2))
    length = np.searchsorted(LENGTHS, size, side="right")
    cells: np.ndarray = np.stack([
        ((distance * KINDS + classes[query]) * KINDS + classes[key]) * NEAR + near,
        ((distance * 3 + sort[key]) * NEAR + near) * (len(LENGTHS) + 1) + length,
        distance * KINDS * BESIDE * BESIDE + beside[query],
        ((side * NEAR + near) * KINDS * BESIDE * BESIDE + beside[key]) * FREQUENCIES,
    ]) + np.array(OPENS)[:, None]  # fmt: skip
    return cells


def _nearness(query: np.ndarray, key: np.ndarray, far: np.ndarray, words: _Words) -> np.ndarray:
    """Return the kind of nearness of each pair, below ``NEAR``."""
    classes, opens = words.classes, words.opens
    kind = _KIND[classes]
    asked, own = kind[key], kind[query]
    before = np.zeros((len(classes) + 1, KINDS + 1), dtype=np.int64)
    np.cumsum(np.eye(KINDS, dtype=np.int64)[kind], axis=0, out=before[1:, :KINDS])
    before[:, KINDS] = before[:, _KIND[_NOUN]] + before[:, _KIND[_VERB]]
    first, last = np.minimum(query, key) + 1, np.maximum(query, key)
    between = before[last, asked] - before[first, asked]
    sizes = np.diff(opens)
    low, high = np.repeat(opens[:-1], sizes)[query], np.repeat(opens[1:], sizes)[query]
    earlier, later = np.maximum(query - far + 1, low), np.minimum(query + far, high)
    nearer = before[later, asked] - before[earlier, asked] - (own == asked)
    crossed = before[last, KINDS] > before[first, KINDS]
    near: np.ndarray = np.where(between > 0, np.minimum(between, 2) + 1, nearer > 0) * 2 + crossed
    return near


def _places(
    place: Int[np.ndarray, " pairs"],
    opens: Int[np.ndarray, "_"],
    counted: Sequence[tuple[Int[np.ndarray, "_"], Int[np.ndarray, "_"]]],
) -> Int[np.ndarray, "_"]:
    """Return the places of the counted pairs of all inputs among the pairs that are compared."""
    numbers = [len(asking) for asking, _ in counted]
    shift = np.repeat(opens[:-1], numbers)
    asking, asked = (
        np.concatenate([np.asarray(each, dtype=np.int64) for each in both])
        for both in zip(*counted, strict=True)
    )
    wanted = np.unique((asking + shift) * opens[-1] + asked + shift)
    found = np.searchsorted(place, wanted)
    there = found < len(place)
    there[there] = place[found[there]] == wanted[there]
    places: np.ndarray = found[there]
    return places
