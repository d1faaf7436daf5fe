"""The scores of the notebooks released with Pande et al. (2021), kept for comparison with the paper.

Their known faults are kept too, because the point is the same numbers: special tokens count, the
divisor of the band runs one key past the end of the input, block is multiplied by row entropy (so
that even attention scores ln n), and nothing controls for distance. Even attention scores 1, except in
block; the threshold of the paper is 3.

Syntactic scores take words and trees of cleaned texts (``Example.cleaned``), but attention of the texts as
they are. A piece counts where an equal piece first occurs in the cleaned text. Rows are cut at the length of
the cleaned input, at most 128. Only the relation itself counts: nsubj without nsubj:pass, advmod without neg.
Gold trees and stored maps have no cleaned text. There the arcs count as they are, and a piece counts where
an equal piece first occurs in the text.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from headroles.errors import BadInput
from headroles.records.example import Example
from headroles.sieves.language.relations import canonical

WINDOW = 2
RELATIONS = ("nsubj", "obj", "amod", "advmod")
LONGEST = 128
"""Tokens of the released attention; words beyond are not looked up."""
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
        cleaned: Whether it looks words up in cleaned texts (``Example.cleaned``), where there are any.
    """

    name: str
    rule: Callable[[Attention, Example], PerHead]
    question: str
    needs: frozenset[str] = frozenset()
    cleaned: bool = False
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
    attention: Attention,
    pairs: Sequence[tuple[Sequence[int], Sequence[int]]],
    direction: str = "l2r",
    length: int | None = None,
) -> PerHead:
    """Mean attention from dependents' to heads' pieces over the rows' mean, averaged over pairs.

    Args:
        attention: Rows are queries.
        pairs: Token positions of each dependent and of its head.
        direction: "l2r" (dependent to head, the one used), "r2l", or "bi" (mean of the two).
        length: What the sum of a row is divided by for its mean; None: the number of its keys.

    Returns:
        A score per head; NaN without pairs.

    Example:
        >>> even = np.full((1, 4, 4), 0.25)
        >>> pairs_rule(even, [((1,), (2, 3))]).tolist(), pairs_rule(even, []).tolist()
        ([1.0], [nan])
    """
    if not pairs:
        return np.full(len(attention), np.nan)
    rows = attention.sum(axis=2) / (attention.shape[2] if length is None else length)
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
    """The released score of the pairs of some relations, dependent to head, pooled.

    Pairs are those looked up in the cleaned texts, up to their length; a pair beyond the input is left out.
    An example without cleaned texts gives its arcs.

    Raises:
        BadInput: When the example carries neither.
    """
    names = {canonical(name) for name in wanted}
    if example.cleaned is None:
        return pairs_rule(attention, [pair for pair in _arc_pairs(example, names) if all(pair)])
    length = min(example.cleaned.size, LONGEST)
    end = min(length, example.size)
    pairs = [
        (pair.dependent, pair.head)
        for pair in example.cleaned.pairs
        if canonical(pair.relation) in names and max(pair.dependent + pair.head) < end
    ]
    return pairs_rule(attention[:, :end, :end], pairs, length=length)


def _arc_pairs(example: Example, names: set[str]) -> list[tuple[list[int], list[int]]]:
    """Return the pieces of dependents and heads of the arcs of an example."""
    if example.arcs is None:
        raise BadInput(f"syntactic sieves need dependency arcs, but example {example.key!r} has none")
    return [
        (_pieces(example, arc.dependent), _pieces(example, arc.head))
        for arc in example.arcs
        if canonical(arc.relation) in names
    ]


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

    question = f"Released score: {name} dependents to their heads"
    return PublishedSieve(f"syntactic:{name}", rule, question, frozenset({"arcs"}), cleaned=True)


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
    "syntactic", syntactic_rule, "Released score: four relations pooled", frozenset({"arcs"}), cleaned=True
)
syntactic_nsubj = _relation("nsubj")
syntactic_obj = _relation("obj")
syntactic_amod = _relation("amod")
syntactic_advmod = _relation("advmod")
