"""Documents with gold annotation: words, trees, mentions; and the windows a model gets of them."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from headroles.records.arrays import frozen
from headroles.records.example import Mention as Mention

PAIRED = ("gap", "winobias")
"""Layouts in which one pronoun is asked for among given mentions, wherever these stand."""


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """One document (passage, sentence without a document) with what is annotated of it.

    Words are counted from 0 over the document. What a file does not annotate is None.

    Attributes:
        key: A stable name, such as ``"dev/GUM_academic_art"``.
        text: The running text.
        spans: Character span of each word in the text, start included, end excluded, not empty and
            not decreasing; the words of a multi-word token share its span between them.
        words: The words themselves, as annotated.
        sentences: First word of each sentence; the first is 0.
        heads: Head word of each word, in the same sentence; −1 for a root.
        relations: Relation of each word to its head, as the file writes it.
        tags: Part of speech of each word: universal (NOUN, PROPN, PRON …) or Penn (NN, NNP, PRP …).
        features: Morphological features of each word, such as ``"Gender=Fem|Number=Sing"``; "" for none.
        mentions: In the order of their first words; longer first where they start together.
        group: The unit the document belongs to; its key where "" (pairs of sentences share one).
        layout: "" for running text; "gap" and "winobias" where a pronoun is asked for among few
            candidates, which are all mentions but the pronoun.
        condition: What is compared over documents: "feminine" or "masculine" (GAP), "pro" or "anti"
            (WinoBias); "" elsewhere.
    """

    key: str
    text: str
    spans: Int[np.ndarray, "words 2"]
    words: tuple[str, ...]
    sentences: Int[np.ndarray, " sentences"]
    heads: Int[np.ndarray, " words"] | None = None
    relations: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None
    mentions: tuple[Mention, ...] | None = None
    group: str = ""
    layout: str = ""
    condition: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """The words of a document that a model gets at once.

    Attributes:
        document: Where they come from.
        start: First word.
        stop: One past the last word.
        fresh: First word that no earlier window of the document held: what is asked about a word
            is asked in the first window that holds it, where most of what precedes it is seen.
    """

    document: Document
    start: int
    stop: int
    fresh: int

    @property
    def key(self) -> str:
        """Name of the example: that of the document, and the first word where there are several."""
        whole = self.start == 0 and self.stop == len(self.document.words)
        return self.document.key if whole else f"{self.document.key}@{self.start}"

    @property
    def size(self) -> int:
        """Number of words."""
        return self.stop - self.start


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """What a probe asks about one window: each item is a word that must choose among candidates.

    A head chooses the candidate to which the asking word attends most (or, read the other way, the
    candidate that attends most to the asking word). The choice is right or wrong. Words are counted
    from the start of the window.

    Attributes:
        rows: Which rows of the result (relations, kinds of mention) each item counts for.
        query: The asking word of each item.
        candidates: Words it chooses among, at least one, never the asking word.
        right: The right ones, a subset of the candidates; at least one, but for items that count as wrong
            whatever is chosen (roots in the published counts).
    """

    rows: Bool[np.ndarray, "rows items"]
    query: Int[np.ndarray, " items"]
    candidates: Bool[np.ndarray, "items words"]
    right: Bool[np.ndarray, "items words"]

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for name in ("rows", "query", "candidates", "right"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
