"""Documents with gold annotation (words, trees, mentions), windows that a model reads, and probe items."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from headroles.records.arrays import read_only
from headroles.records.brief import brief
from headroles.records.example import Mention as Mention

PRONOUN_LAYOUTS = ("gap", "winobias")
"""Layouts in which one pronoun is resolved among given mentions, wherever these stand."""


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """One document (or passage, or sentence without a document) with its annotation.

    Words are counted from 0 over the document. Annotation that a file does not have is None.

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
        layout: "" for running text; "gap" and "winobias" where a pronoun is resolved among few
            candidates, which are all mentions but the pronoun.
        condition: Condition that documents are compared by: "feminine" or "masculine" (GAP), "pro" or
            "anti" (WinoBias); "" elsewhere.
        tokenless: Whether each word has no token of its own in the model's input, so that no probe can ask
            about it; None before a tokenizer read the text.
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
    tokenless: Bool[np.ndarray, " words"] | None = None

    __repr__ = brief

    def askable(self, words: Int[np.ndarray, " some"]) -> Bool[np.ndarray, " some"]:
        """Return whether words have a token, as far as is known; −1, the head of a root, needs none."""
        if self.tokenless is None:
            return np.ones(len(words), dtype=np.bool_)
        askable: np.ndarray = (words < 0) | ~self.tokenless[words]
        return askable


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """The words of a document that a model reads at once.

    Attributes:
        document: The document of the words.
        start: First word.
        stop: One past the last word.
        fresh: First word that no earlier window of the document has. Items about a word belong to the
            first window that has the word, which shows most of the words before it.
    """

    document: Document
    start: int
    stop: int
    fresh: int

    __repr__ = brief

    @property
    def key(self) -> str:
        """Name of the example: the document's key, with the first word where there are several windows."""
        whole = self.start == 0 and self.stop == len(self.document.words)
        return self.document.key if whole else f"{self.document.key}@{self.start}"

    @property
    def size(self) -> int:
        """Number of words."""
        return self.stop - self.start


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """Items of a probe on one window: in each item a query word must choose among candidates.

    A head chooses the candidate to which the query word attends most (or, in the other direction, the
    candidate that attends most to the query word). The choice is right or wrong. Words are counted
    from the start of the window.

    Attributes:
        rows: Which rows of the result (relations, kinds of mention) each item counts for.
        query: The query word of each item.
        candidates: Words it chooses among, at least one, never the query word.
        right: The right candidates, at least one; none for items that count as wrong whatever is
            chosen (roots in the published counts).
    """

    rows: Bool[np.ndarray, "rows items"]
    query: Int[np.ndarray, " items"]
    candidates: Bool[np.ndarray, "items words"]
    right: Bool[np.ndarray, "items words"]

    __repr__ = brief

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for name in ("rows", "query", "candidates", "right"):
            object.__setattr__(self, name, read_only(getattr(self, name)))
