"""The dependency probe: does a head find the head word of each dependent?"""

import re
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from jaxtyping import Bool, Int

from headroles.errors import BadInput
from headroles.records.documents import Choices, Window
from headroles.records.roles import RoleWords
from headroles.sieves.language.relations import LEFT_OUT, canonical, covers, name_in_scheme, relation_words
from headroles.sieves.probes.choices import sentence_of
from headroles.sieves.probes.published_heads import PUBLISHED_TABLE, published_head

OFFSETS = tuple(offset for offset in range(-10, 11) if offset)
"""Offsets of the baselines, in words to the right of the dependent."""

PUBLISHED_OFFSETS = (-3, -2, -1, 0, 1, 2)
"""The offsets that the released code of Clark et al. (2019) tries."""

_POSSESSIVE = frozenset({"'s", "s'"})


def row_words(row: str) -> RoleWords:
    """Return the words of a relation with its direction, such as "amod:→"; without one it keeps its name."""
    if row[-2:] in (":→", ":←"):
        return RoleWords(*relation_words(row[:-2], row[-1]), "syntax", works=("clark2019what",))
    name = f"dependency:{row}"
    return RoleWords(name, f"has the role {name}", "syntax", works=("clark2019what",))


@dataclass(frozen=True, slots=True, eq=False)
class _Items:
    """Items of a window: asking words, their head words (−1: a root) and rows; the number lost per row."""

    query: Int[np.ndarray, " items"]
    head: Int[np.ndarray, " items"]
    rows: Bool[np.ndarray, "rows items"]
    lost: Int[np.ndarray, " rows"]


@dataclass(frozen=True)
class DependencyProbe:
    """Head words by attention: of the other words of its sentence, does a dependent find its head?

    Read forward ("→") the dependent chooses the word it attends to most, in reverse ("←") the word
    that attends most to it. Source: Clark et al. (2019), section 4.2. Items are the fresh words of a
    window whose head word it holds, too; where the window cuts between them the item is lost. A word
    without a token makes no item, as dependent and as head.
    Row "all" counts every arc but punctuation and roots. Baselines take the word at a fixed
    offset from the dependent; heads have to beat all of them.

    With ``published``, as the released code counts: "all" counts every word, punctuation and roots
    included, and a root is an item without a right answer (heads always choose a word); a
    relation does not cover its subtypes; where 's or s' follows a possessive (``poss``, and here
    ``nmod:poss``, which the released function does not know), that word is asked
    instead; offsets are −3 to +2 and stop at the sentence's ends, where "before the first
    word" is the root. Left as they should be: the last word of a sentence has none after it (the
    code reads past the end), and the rule for 's does not depend on the choice (the code drops it
    where the possessive chooses the last word). Contrasts are not measured then.

    Attributes:
        relations: The rows in addition to "all", in either scheme's names; shown in ``scheme``.
            None takes those of the published Table 1 that the scheme has.
        scheme: The scheme of the names, which decides what a plain name covers: under "ud" all its
            subtypes, under "clearnlp" those without a name of their own (``relations.covers``).
        published: Count as the released code does.

    Raises:
        UnknownName: For a scheme that does not exist.
        BadInput: For a name that cannot be that of a relation, or is one that is left out.
    """

    relations: tuple[str, ...] | None = None
    scheme: str = "ud"
    published: bool = False

    name = "dependency"
    directions = ("→", "←")

    def __post_init__(self) -> None:
        """Give the relations their names in the scheme, each once."""
        wanted = self.relations
        if wanted is None:
            known = [name for name in PUBLISHED_TABLE if name != "all"]
            wanted = tuple(name for name in known if published_head(name, self.scheme))
        for name in wanted:
            if not re.fullmatch(r"[A-Za-z]+(:[A-Za-z_]+)?", name) or canonical(name) in LEFT_OUT | {"all"}:
                raise BadInput(
                    f"a relation is letters with an optional subtype, other than punct, root and all, but "
                    f"{name!r} was given; write it as in nsubj or nsubj:pass"
                )
        names = tuple(dict.fromkeys(name_in_scheme(name, self.scheme) for name in wanted))
        object.__setattr__(self, "relations", names)

    @property
    def rows(self) -> tuple[str, ...]:
        """Return the row of all arcs, then the relations."""
        return ("all", *(self.relations or ()))

    @property
    def offsets(self) -> tuple[int, ...]:
        """Return the offsets of the baselines, in words to the right of the dependent."""
        return PUBLISHED_OFFSETS if self.published else OFFSETS

    @property
    def baselines(self) -> tuple[str, ...]:
        """Return the names of the offsets, such as "-1" and "+2"."""
        return tuple(f"{offset:+d}" if offset else "0" for offset in self.offsets)

    @property
    def rivals(self) -> int:
        """Return all offsets."""
        return len(self.offsets)

    @property
    def contrast(self) -> bool:
        """Return whether attention beyond the head's distance profile is measured, too."""
        return not self.published

    def choices(self, window: Window) -> tuple[Choices, Int[np.ndarray, " rows"]]:
        """Return the items of a window, in the order of their words, and the number of lost ones per row.

        Raises:
            BadInput: When the document has no trees.
        """
        items, sentence = _cached_items(self, window), sentence_of(window)
        words = np.arange(window.size)
        candidates = sentence[items.query][:, None] == sentence
        candidates &= items.query[:, None] != words
        alone = ~candidates.any(axis=1)
        candidates[alone, items.query[alone]] = True  # published, one word: it chooses itself, and is wrong
        right = (items.head[:, None] == words) & candidates
        return Choices(items.rows, items.query, candidates, right), items.lost

    def baseline_hits(self, window: Window) -> Int[np.ndarray, "rows baselines"]:
        """Count right answers of each offset over the items of a window; beyond the sentence there are none.

        Raises:
            BadInput: When the document has no trees.
        """
        items, offsets = _cached_items(self, window), np.array(self.offsets)
        target, head = items.query[:, None] + offsets, items.head
        if self.published:
            number = sentence_of(window)[items.query]
            edges = np.append(window.document.sentences, len(window.document.words)) - window.start
            first, last = edges[number], edges[number + 1] - 1
            target = np.clip(target, first[:, None] - 1, last[:, None])
            head = np.where(head < 0, first - 1, head)
        right = target == head[:, None]
        counts: np.ndarray = items.rows.astype(np.int64) @ right.astype(np.int64)
        return counts

    def _items(self, window: Window) -> _Items:
        document, span = window.document, slice(window.start, window.stop)
        if document.heads is None or document.relations is None:
            raise BadInput(
                f"the dependency probe needs head words, but document {document.key!r} has no trees; give "
                "data with heads and relations, or leave the probe out"
            )
        rows = self._rows_of(document.relations[span])
        root, places = document.heads[span] < 0, np.arange(window.start, window.stop)
        head = np.where(root, -1, document.heads[span] - window.start)
        asked = places + self._follows(window) if self.published else places
        rows &= (places >= window.fresh) & document.askable(asked) & document.askable(document.heads[span])
        if not self.published:
            rows &= ~root
        seen = root | ((head >= 0) & (head < window.size))
        items = np.flatnonzero(rows.any(axis=0) & seen)
        return _Items(asked[items] - window.start, head[items], rows[:, items], (rows & ~seen).sum(axis=1))

    def _rows_of(self, relations: tuple[str, ...]) -> Bool[np.ndarray, "rows words"]:
        columns = [_membership(self.rows, name, self.scheme, self.published) for name in relations]
        return np.array(columns, dtype=np.bool_).reshape(len(relations), len(self.rows)).T.copy()

    def _follows(self, window: Window) -> Bool[np.ndarray, " words"]:
        """Return whether a word is a possessive followed by 's or s' in its sentence."""
        words = window.document.words[window.start : window.stop]
        relations = (window.document.relations or ())[window.start : window.stop]
        sentence = sentence_of(window)
        follows = np.zeros(window.size, dtype=np.bool_)
        for place in range(window.size - 1):
            marked = words[place + 1] in _POSSESSIVE and sentence[place] == sentence[place + 1]
            follows[place] = marked and canonical(relations[place]) == "nmod:poss"
        return follows


@cache
def _membership(rows: tuple[str, ...], relation: str, scheme: str, published: bool) -> tuple[bool, ...]:
    """Return the rows that an arc counts for."""
    if published:
        return (True, *(name_in_scheme(relation, scheme) == row for row in rows[1:]))
    kept = canonical(relation) not in LEFT_OUT
    return (kept, *(kept and covers(row, relation, scheme) for row in rows[1:]))


@lru_cache(maxsize=4)
def _cached_items(probe: DependencyProbe, window: Window) -> _Items:
    """Return the items of a window, kept for the baselines, which follow right after the choices."""
    return probe._items(window)
