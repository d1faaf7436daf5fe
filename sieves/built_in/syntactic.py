"""Keys that are the head word of a dependent, for all relations or for one.

``Arcs`` holds the arcs of an example as arrays, computed once for all sieves that use some of them.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock

import numpy as np
from jaxtyping import Bool, Int

from headroles.errors import BadInput, BadSieve
from headroles.plans.masks import Pairs, Without, off_diagonal
from headroles.records.example import Example
from headroles.records.roles import RoleWords
from headroles.sieves.base import ClassContrast, Contrast, MaskSieve, Sieve
from headroles.sieves.language.relations import LEFT_OUT, canonical, matches, relation_words

_NUMBERS: dict[str, int] = {}
"""A number for every name of a relation so far, from 0 in order of appearance."""
_NEW = Lock()
"""Held while a name gets its number: two threads must not give one to two names."""


@dataclass(frozen=True, slots=True, eq=False)
class Arcs:
    """The arcs of an example between words that have tokens, as words and as tokens.

    Attributes:
        words: Number of words up to the last one that has a token.
        dependent: Word of each arc.
        head: Its head word.
        relation: Number of its relation.
        query: Token of each cell (a token of a dependent, one of its head), sorted, then by ``key``.
        key: Attended token of each cell.
        arc: The arc of each cell.
    """

    words: int
    dependent: Int[np.ndarray, " arcs"]
    head: Int[np.ndarray, " arcs"]
    relation: Int[np.ndarray, " arcs"]
    query: Int[np.ndarray, " cells"]
    key: Int[np.ndarray, " cells"]
    arc: Int[np.ndarray, " cells"]

    def of(self, wanted: str | None) -> Bool[np.ndarray, " arcs"]:
        """Return which arcs have a relation; without one, all but those that are no role."""
        kept: np.ndarray = _known_relations(wanted, len(_NUMBERS))[self.relation]
        return kept


def arcs_of(example: Example) -> Arcs:
    """Return the arcs of an example.

    Raises:
        BadInput: When the example has no arcs.

    Example:
        >>> from headroles.records.example import Arc
        >>> example = Example("two", ("a", "##b", "c"), word=np.array([0, 0, 1]), arcs=(Arc(1, 0, "obj"),))
        >>> arcs = arcs_of(example)
        >>> arcs.query.tolist(), arcs.key.tolist(), arcs.of("obj").tolist(), arcs.of("det").tolist()
        ([2, 2], [0, 1], [True], [False])
    """
    if example.arcs is None:
        raise BadInput(
            f"syntactic sieves need dependency arcs, but example {example.key!r} has none; "
            f"give the example arcs, or leave the syntactic sieves out"
        )
    return _read_arcs(example)


@lru_cache(maxsize=64)
def _read_arcs(example: Example) -> Arcs:
    """Return the arcs of an example, kept for other sieves and threads that use the same example."""
    words = word_count(example)
    kept = [arc for arc in example.arcs or () if arc.dependent < words and arc.head < words]
    dependent = np.array([arc.dependent for arc in kept], dtype=np.int64)
    head = np.array([arc.head for arc in kept], dtype=np.int64)
    relation = np.array([_number(arc.relation) for arc in kept], dtype=np.int64)
    order = np.argsort(example.word, kind="stable")
    placed = example.word[order]
    asking, number = _tokens(placed, dependent)
    opens, pieces = _tokens(placed, head)
    cells = number * pieces
    arc = np.repeat(np.arange(len(kept)), cells)
    within = np.arange(len(arc)) - np.repeat(np.cumsum(cells) - cells, cells)
    query = order[asking[arc] + within // pieces[arc]]
    key = order[opens[arc] + within % pieces[arc]]
    sort = np.lexsort((key, query))
    return Arcs(words, dependent, head, relation, query[sort], key[sort], arc[sort])


def _number(relation: str) -> int:
    number = _NUMBERS.get(relation)
    if number is None:
        with _NEW:
            number = _NUMBERS.setdefault(relation, len(_NUMBERS))
    return number


def _tokens(placed: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first token of some words among the sorted words of all tokens, and their numbers."""
    first = np.searchsorted(placed, words, side="left")
    return first, np.searchsorted(placed, words, side="right") - first


@lru_cache(maxsize=256)
def _known_relations(wanted: str | None, known: int) -> Bool[np.ndarray, " relations"]:
    """Return which of the relations known so far count."""
    names = list(_NUMBERS)[:known]
    if wanted is None:
        return np.array([canonical(name) not in LEFT_OUT for name in names], dtype=np.bool_)
    return np.array([matches(name, wanted) for name in names], dtype=np.bool_)


CONTRAST_MARGIN = 0.05
CLASS_SHARE, RELATION_SHARE = 0.2, 0.3
"""Shares of the contrast beyond distance that must lie beyond word class for a strong role: over all
relations, and for one. On EWT dev, 41 of 44 fakes of ``benchmarks/calibration/word_class.py`` keep at most
0.2 over all relations, two tables of offsets 0.21 and 0.23, a head that changes its rule at 12 words 0.3.
Heads that put half of their attention on the head word keep 0.48, and 0.18 to 0.94 of one relation."""
SOURCE = "Pande et al. 2021, syntactic sieve; Clark et al. 2019, section 4"
WORKS = ("pande2021heads", "clark2019what")
MARKS = {"nsubj": "Sn", "obj": "So", "amod": "Sa", "advmod": "Sv"}
"""Marks of single relations; of others they depend on the roles of a run."""


def words_of(name: str) -> RoleWords:
    """Return the words of the syntactic sieve of a relation."""
    title, one = relation_words(name)
    return RoleWords(title, one, "syntax", MARKS.get(name, ""), WORKS)


def relation(name: str) -> MaskSieve:
    """Make the syntactic sieve of one relation, such as ``syntactic:det``.

    Both Universal Dependencies and ClearNLP names are understood (obj and dobj are one); a plain
    name covers its subtypes (nsubj covers nsubj:pass).

    Raises:
        BadSieve: When the name cannot be that of a relation, or is one that is left out.
    """
    if not re.fullmatch(r"[A-Za-z]+(:[A-Za-z]+)?", name) or canonical(name) in LEFT_OUT:
        raise BadSieve(
            f"'syntactic:{name}' does not name a dependency relation; a relation is letters with an "
            f"optional subtype, other than punct and root, as in syntactic:nsubj or syntactic:nsubj:pass"
        )
    return _syntactic(f"syntactic:{name}", name, words_of(name))


def named_relations(sieves: Iterable[str | Sieve]) -> tuple[str, ...]:
    """Return the relations that sieves name, such as ``det`` of ``syntactic:det``; sieve objects name none.

    Example:
        >>> named_relations(["local", "syntactic", "syntactic:det"])
        ('det',)
    """
    names = (sieve for sieve in sieves if isinstance(sieve, str) and sieve.startswith("syntactic:"))
    return tuple(name.partition(":")[2] for name in names)


def arc_pairs(example: Example, wanted: str | None) -> Pairs:
    """Return arcs as pairs of words, the dependent and its head, without punct and root.

    Args:
        example: An annotated example.
        wanted: One relation, or None for all.

    Raises:
        BadInput: When the example has no arcs.
    """
    arcs = arcs_of(example)
    kept = arcs.of(wanted)
    return Pairs(arcs.dependent[kept], arcs.head[kept], arcs.words)


def sentences_of(example: Example) -> Int[np.ndarray, " words"]:
    """Return the sentence of each word: the words that arcs join, punctuation included.

    Raises:
        BadInput: When the example has no arcs.

    Example:
        >>> from headroles.records.example import Arc
        >>> arcs = (Arc(0, 1, "nsubj"), Arc(3, 2, "obj"), Arc(4, 2, "punct"))
        >>> tokens = ("it", "rains", "take", "this", "!")
        >>> sentences_of(Example("two", tokens, word=np.arange(5), arcs=arcs)).tolist()
        [1, 1, 2, 2, 2]
    """
    arcs = arcs_of(example)
    root = np.arange(arcs.words)
    root[arcs.dependent] = arcs.head
    for _ in range(len(root).bit_length()):
        root = root[root]
    return root


def word_count(example: Example) -> int:
    """Return the number of words up to the last one that has a token."""
    return int(example.word.max(initial=-1)) + 1


def _syntactic(name: str, wanted: str | None, said: RoleWords) -> MaskSieve:
    def words(example: Example) -> Pairs:
        return arc_pairs(example, wanted)

    def mask(example: Example) -> Pairs:
        arcs = arcs_of(example)
        kept = arcs.of(wanted)[arcs.arc]
        return Pairs(arcs.query[kept], arcs.key[kept], example.size)

    what = (
        "the head word of each dependent" if wanted is None else f"the head word of each {wanted} dependent"
    )
    return MaskSieve(
        name=name,
        mask=mask,
        question=f"Does the head look from a word at {what}, beyond what distance gives?",
        source=SOURCE,
        needs=frozenset({"arcs"}),
        groups=_word,
        arcs=True,
        contrast=Contrast(margin=CONTRAST_MARGIN, cells=words, scope=_others, words=True),
        word_class=ClassContrast(
            groups=sentences_of, share=CLASS_SHARE if wanted is None else RELATION_SHARE
        ),
        words=said,
    )


def _word(example: Example) -> np.ndarray:
    return example.word


def _others(example: Example) -> Without:
    return off_diagonal(word_count(example))


syntactic = _syntactic(
    "syntactic",
    None,
    RoleWords("word → its syntactic head", "looks from words to their syntactic head", "syntax", "S", WORKS),
)
syntactic_nsubj = relation("nsubj")
syntactic_obj = relation("obj")
syntactic_amod = relation("amod")
syntactic_advmod = relation("advmod")
