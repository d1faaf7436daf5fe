"""The tree probe: do trees decoded from a head's word attention have the arcs of the annotated tree?"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from zlib import crc32

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.errors import BadInput, UnknownName
from headroles.records.documents import Window
from headroles.records.roles import RoleWords
from headroles.sieves.language.relations import LEFT_OUT, canonical
from headroles.sieves.probes.tree_decoding import arborescences, random_tree, spanning_trees
from headroles.sieves.settings import ROOTS

MEASURES = ("uuas", "uas")
BASELINES = ("right-branching", "left-branching", "random tree")


def row_words(measure: str) -> RoleWords:
    """Return the words of a measure of trees, which has no better name than its own."""
    return RoleWords(f"trees:{measure}", f"has the role trees:{measure}", works=("clark2019what",))


@dataclass(frozen=True, slots=True, eq=False)
class _Sentence:
    """A sentence of a window: its first word there, its heads (−1 for a root), and which words are judged."""

    start: int
    heads: Int[np.ndarray, " words"]
    judged: Bool[np.ndarray, " words"]

    @property
    def dependent(self) -> Int[np.ndarray, " arcs"]:
        """Return the judged words."""
        return np.flatnonzero(self.judged)

    @property
    def head(self) -> Int[np.ndarray, " arcs"]:
        """Return the head of each judged word."""
        heads: np.ndarray = self.heads[self.judged]
        return heads


@dataclass(frozen=True)
class TreeProbe:
    """Arcs of the tree of greatest total attention, for every head.

    Two measures, each a probe of its own because only one of them has directions:

    - "uuas": undirected. The maximum spanning tree over ``max(A_ij, A_ji)``, which asks that either
      word attends to the other; an arc is right if the tree joins its two words.
    - "uas": directed. The maximum spanning arborescence (Chu & Liu 1965, Edmonds 1967) over raw
      attention, dependent to head ("→": A_dh) or head to dependent ("←": A_hd); an arc is right if
      the word has the right head. Raw weights and the annotated root as the start are those of
      Raganato & Tiedemann (2018) and Htut et al. (2019).

    All words of a sentence are decoded, but only arcs other than punctuation and roots are judged, and only
    between words that have a token.
    A sentence is decoded in the first window that holds all of it; if none does, its arcs are lost, which
    the run counts.

    Baselines: "right-branching" takes the word to the right as the head (the name follows Clark et
    al. 2019, Table 3), "left-branching" the word to the left; undirected they are one. "random
    tree" is one tree per sentence, drawn uniformly from all with the same root (from all, where the
    root is found), by a seed made from the document's key: an undirected arc between two of n words
    is in it with probability 2/n.

    Attributes:
        measure: "uuas" or "uas".
        root: "given" starts from the annotated root; "found" from whichever word gives the
            greatest total. Undirected trees have none.

    Raises:
        UnknownName: For another measure or way to the root.
    """

    measure: str = "uas"
    root: str = "given"

    name = "trees"
    baselines = BASELINES
    rivals = len(BASELINES)

    def __post_init__(self) -> None:
        """Check the measure and the way to the root."""
        if self.measure not in MEASURES:
            raise UnknownName("measure of trees", self.measure, MEASURES)
        if self.root not in ROOTS:
            raise UnknownName("way to the root of a tree", self.root, ROOTS)

    @property
    def rows(self) -> tuple[str, ...]:
        """Return the measure."""
        return (self.measure,)

    @property
    def directions(self) -> tuple[str, ...]:
        """Return both directions for directed trees; "" for undirected ones."""
        return ("",) if self.measure == "uuas" else ("→", "←")

    def items(self, window: Window) -> Int[np.ndarray, " rows"]:
        """Count the judged arcs of a window.

        Raises:
            BadInput: When the document has no trees, or a sentence has not one root.
        """
        return np.array([sum(int(sentence.judged.sum()) for sentence in _sentences(window))])

    def baseline_hits(self, window: Window) -> Int[np.ndarray, "rows baselines"]:
        """Count the arcs that each baseline has right in a window.

        Raises:
            BadInput: As for ``items``.
        """
        right = np.zeros((1, len(BASELINES)), dtype=np.int64)
        for sentence in _sentences(window):
            words = np.arange(len(sentence.heads))
            key = f"{window.document.key}:{window.start + sentence.start}"
            random = np.random.default_rng(crc32(key.encode()))
            free = self.root == "found" or self.measure == "uuas"
            start = int(random.integers(len(words))) if free else int(sentence.heads.argmin())
            guesses = np.array([words + 1, words - 1, random_tree(len(words), start, random)])
            right[0] += self._right(guesses, sentence)
        return right

    def decode(
        self, attention: Float[np.ndarray, "heads words words"], window: Window
    ) -> Int[np.ndarray, "rows directions heads"]:
        """Count right arcs per direction and head.

        Args:
            attention: Between the words of the window; rows attend.
            window: The words.

        Raises:
            BadInput: As for ``items``.
        """
        right = np.zeros((1, len(self.directions), len(attention)), dtype=np.int64)
        for sentence in _sentences(window):
            span = slice(sentence.start, sentence.start + len(sentence.heads))
            own = attention[:, span, span].astype(np.float64)
            if self.measure == "uuas":
                right[0, 0] += self._right(spanning_trees(np.maximum(own, own.mT)), sentence)
            else:
                guesses = self._directed(np.concatenate([own, own.mT]), sentence)
                right[0] += self._right(guesses, sentence).reshape(2, -1)
        return right

    def _directed(
        self, scores: Float[np.ndarray, "trees words words"], sentence: _Sentence
    ) -> Int[np.ndarray, "trees words"]:
        """Return the heads of the best trees; rows of the scores are dependents."""
        if self.root == "given":
            return arborescences(scores, int(sentence.heads.argmin()))
        rooted = np.pad(scores, ((0, 0), (1, 0), (1, 0)))
        rooted[:, 1:, 0] = -1  # below any attention, so that only one word has it as its head
        return arborescences(rooted, 0)[:, 1:] - 1

    def _right(
        self, guesses: Int[np.ndarray, "trees words"], sentence: _Sentence
    ) -> Int[np.ndarray, " trees"]:
        """Count the arcs that each tree has right."""
        dependent, head = sentence.dependent, sentence.head
        right = guesses[:, dependent] == head
        if self.measure == "uuas":
            right |= guesses[:, head] == dependent
        count: np.ndarray = right.sum(axis=1)
        return count


def _sentences(window: Window) -> Iterator[_Sentence]:
    """Return the sentences with judged arcs that a window holds and no earlier one did."""
    document = window.document
    if document.heads is None or document.relations is None:
        raise BadInput(
            f"trees are compared with annotated ones, but document {document.key!r} has none; "
            f"give data with heads and relations, or leave trees out"
        )
    edges = np.append(document.sentences, len(document.words)).tolist()
    for number, (start, stop) in enumerate(pairwise(edges), 1):
        if start < window.start or stop > window.stop or stop <= window.fresh:
            continue
        heads = np.where(document.heads[start:stop] < 0, -1, document.heads[start:stop] - start)
        if (heads < 0).sum() != 1:
            raise BadInput(
                f"a tree has one root, but sentence {number} of document {document.key!r} has "
                f"{(heads < 0).sum()}; mend its heads, or leave trees out"
            )
        kept = [canonical(name) not in LEFT_OUT for name in document.relations[start:stop]]
        judged = np.array(kept) & (heads >= 0) & document.askable(np.arange(start, stop))
        judged &= document.askable(document.heads[start:stop])
        if judged.any():
            yield _Sentence(start - window.start, heads, judged)
