"""The scores of the notebooks released with Pande et al. (2021), kept for comparison with the paper.

Their known faults are kept too, because the point is the same numbers: special tokens count, the
divisor of the band runs one key past the end of the input, block is multiplied by row entropy (so
that even attention scores ln n), pieces are looked up by their first occurrence in the text, and
nothing controls for distance. One fault is not: the notebooks parsed a cleaned text but indexed the
raw one. Even attention scores 1, except in block; the threshold of the paper is 3.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from headroles.errors import BadInput
from headroles.records.example import Example
from headroles.sieves.language.relations import LEFT_OUT, canonical, matches

WINDOW = 2
RELATIONS = ("nsubj", "obj", "amod", "advmod")
SOURCE = "code released with Pande et al. 2021"

Attention = Float[np.ndarray, "heads tokens tokens"]
PerHead = Float[np.ndarray, " heads"]


@dataclass(frozen=True, slots=True)
class PublishedSieve:
    """One released score as a scorer: null 1, threshold 3.

    Attributes:
        name: The name of the calibrated sieve it stands beside.
        rule: The released formula.
        question: Its question.
        needs: Annotation it reads.
    """

    name: str
    rule: Callable[[Attention, Example], PerHead]
    question: str
    needs: frozenset[str] = frozenset()
    source: str = SOURCE
    margin: float = 2.0

    def score(self, attention: Attention, example: Example) -> PerHead:
        """Return the attention of the sieve's keys over the mean of their row; NaN where not applicable."""
        scores: np.ndarray = self.rule(attention.astype(np.float64), example)
        return scores

    def null(self, example: Example) -> float:
        """Return 1, the score of even attention that the paper assumes for every sieve."""
        return 1.0


def local_rule(attention: Attention, example: Example) -> PerHead:
    """Mean attention within two tokens over the row's mean, averaged over rows, as released."""
    n = example.size
    score: np.ndarray = np.zeros(len(attention))
    for query in range(n):
        start = max(0, query - WINDOW)
        divisor = min(query + WINDOW, n) + 1 - start
        inside = attention[:, query, start : query + WINDOW + 1].sum(axis=1) / divisor
        score += inside / attention[:, query].mean(axis=1)
    score /= n
    return score


def keys_rule(keys: Callable[[Example], np.ndarray]) -> Callable[[Attention, Example], PerHead]:
    """The released rule of a fixed set of keys: their mean attention over the row's mean."""

    def rule(attention: Attention, example: Example) -> PerHead:
        chosen = np.flatnonzero(keys(example))
        if not chosen.size:
            return np.full(len(attention), np.nan)
        ratio = attention[:, :, chosen].mean(axis=2) / attention.mean(axis=2)
        mean: np.ndarray = ratio.mean(axis=1)
        return mean

    return rule


def block_rule(attention: Attention, example: Example) -> PerHead:
    """Mean attention on the row's text over the row's mean, times the row's entropy in nats.

    Rows before the first separator belong to the first text, all others to the second.
    """
    first, second = example.segment == 0, example.segment == 1
    if not (first.any() and second.any()):
        return np.full(len(attention), np.nan)
    border = int(np.flatnonzero(first)[-1]) + 1
    own = np.where(np.arange(example.size)[:, None] < border, first, second)
    inside = (attention * own).sum(axis=2) / own.sum(axis=1)
    share = attention / attention.sum(axis=2, keepdims=True)
    logs = np.log(share, out=np.zeros_like(share), where=share > 0)
    entropy = -(share * logs).sum(axis=2)
    mean: np.ndarray = (inside / attention.mean(axis=2) * entropy).mean(axis=1)
    return mean


def pairs_rule(
    attention: Attention, pairs: Sequence[tuple[Sequence[int], Sequence[int]]], direction: str = "l2r"
) -> PerHead:
    """Mean attention from dependents' to heads' pieces over the rows' mean, averaged over pairs.

    Args:
        attention: Rows are queries.
        pairs: Token positions of each dependent and of its head.
        direction: "l2r" (dependent to head, the one used), "r2l", or "bi" (mean of the two).
    """
    if not pairs:
        return np.full(len(attention), np.nan)
    rows = attention.mean(axis=2)
    ratios = []
    for dependent, head in pairs:
        both = []
        for query, key in ((dependent, head), (head, dependent)):
            cells = attention[:, list(query)][:, :, list(key)]
            both.append(cells.mean(axis=(1, 2)) / rows[:, list(query)].mean(axis=1))
        ratios.append({"l2r": both[0], "r2l": both[1], "bi": (both[0] + both[1]) / 2}[direction])
    mean: np.ndarray = np.mean(ratios, axis=0)
    return mean


def syntactic_rule(attention: Attention, example: Example, wanted: tuple[str, ...] = RELATIONS) -> PerHead:
    """The released score of the arcs of some relations, dependent to head, pooled.

    Raises:
        BadInput: When the example carries no arcs.
    """
    if example.arcs is None:
        raise BadInput(f"syntactic sieves need dependency arcs, but example {example.key!r} has none")
    pairs = []
    for arc in example.arcs:
        known = canonical(arc.relation) not in LEFT_OUT
        if known and any(matches(arc.relation, name) for name in wanted):
            pairs.append((_pieces(example, arc.dependent), _pieces(example, arc.head)))
    return pairs_rule(attention, [pair for pair in pairs if all(pair)])


def _pieces(example: Example, word: int) -> list[int]:
    """Return the places where the notebooks find a word's pieces: first occurrences in the same text."""
    places = []
    for own in np.flatnonzero(example.word == word):
        same = np.flatnonzero(example.segment == example.segment[own])
        places.append(next(int(place) for place in same if example.tokens[place] == example.tokens[own]))
    return places


def _relation(name: str) -> PublishedSieve:
    def rule(attention: Attention, example: Example) -> PerHead:
        return syntactic_rule(attention, example, (name,))

    return PublishedSieve(
        f"syntactic:{name}", rule, f"Released score: {name} dependents to their heads", frozenset({"arcs"})
    )


def _special(example: Example) -> np.ndarray:
    return example.special


def _first(example: Example) -> np.ndarray:
    return example.first


def _separator(example: Example) -> np.ndarray:
    separators: np.ndarray = example.special & ~example.first
    return separators


local = PublishedSieve("local", local_rule, "Released score: keys within two tokens")
delimiter = PublishedSieve("delimiter", keys_rule(_special), "Released score: special tokens")
delimiter_cls = PublishedSieve("delimiter:cls", keys_rule(_first), "Released score: the class token")
delimiter_sep = PublishedSieve("delimiter:sep", keys_rule(_separator), "Released score: separators")
block = PublishedSieve("block", block_rule, "Released score: the row's own text, times row entropy")
syntactic = PublishedSieve(
    "syntactic", syntactic_rule, "Released score: four relations pooled", frozenset({"arcs"})
)
syntactic_nsubj = _relation("nsubj")
syntactic_obj = _relation("obj")
syntactic_amod = _relation("amod")
syntactic_advmod = _relation("advmod")
