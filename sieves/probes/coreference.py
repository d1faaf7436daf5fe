"""The coreference probe: does the head word of a mention find that of an antecedent?"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from headroles.errors import BadInput
from headroles.records.documents import PRONOUN_LAYOUTS, Choices, Document, Window
from headroles.records.roles import RoleWords
from headroles.sieves.language.mentions import KINDS, MentionArrays, describe_mentions
from headroles.sieves.probes.antecedents import BASELINES, NOBODY, choose_antecedents


def row_words(kind: str) -> RoleWords:
    """Return the words of the mentions of a kind, or of "all"."""
    any_of, mentions = ("any mention", "mentions") if kind == "all" else (kind, f"{kind} mentions")
    one = f"looks from {mentions} to an earlier mention"
    return RoleWords(f"{any_of} → earlier mention", one, works=("clark2019what",))


@dataclass(frozen=True, slots=True, eq=False)
class _Items:
    """Items of a window: the asking mention, candidate and right mentions; and mentions that were lost."""

    asking: Int[np.ndarray, " items"]
    candidates: Bool[np.ndarray, "items mentions"]
    right: Bool[np.ndarray, "items mentions"]
    lost: Int[np.ndarray, " lost"]


@dataclass(frozen=True)
class CoreferenceProbe:
    """Antecedents by attention: does a mention's head word attend most to that of an antecedent?

    Of all earlier mentions the head word of the asking mention chooses the one to whose head word
    it attends most; right is any mention of the same entity. Source: Clark et al. (2019),
    section 4.2: the share of coreferent mentions whose head word attends most to the head word of
    one of their antecedents (Table 2). The paper leaves open whether mentions or all words are
    the candidates; here they are mentions.

    In running text an item is a mention with an antecedent in the document. Candidates are the
    mentions of the window whose head word comes earlier, but not those that lie inside the asking
    mention or around it, nor those with the same head word. A mention is asked in the window in
    which its head word is fresh; where the window cuts it, or holds none of its antecedents, it is
    counted as lost. Mentions whose head word has no token are neither asked nor candidates.

    In the layouts "gap" and "winobias" the item is the pronoun and candidates are the other
    mentions, before or after it; it is lost unless there are two and the window holds all of them.
    Where none is right (GAP passages without a true name) there is no item and nothing is lost.

    Attributes:
        kinds: Kinds of mention with a row of their own, in addition to the row "all".
    """

    kinds: tuple[str, ...] = KINDS

    name = "coreference"
    directions = ("",)
    baselines = BASELINES
    rivals = 1
    contrast = False

    @property
    def rows(self) -> tuple[str, ...]:
        """Return the row of all mentions, then the kinds."""
        return ("all", *self.kinds)

    def choices(self, window: Window) -> tuple[Choices, Int[np.ndarray, " rows"]]:
        """Return the items of a window, in the order of their mentions, and the number of lost ones per row.

        Raises:
            BadInput: When the document has no mentions annotated, or not exactly one pronoun where
                its layout asks for one.
        """
        mentions, items = describe_mentions(window.document), _items(window)
        lost: np.ndarray = self._rows(mentions, items.lost).sum(axis=1)
        choices = Choices(
            rows=self._rows(mentions, items.asking),
            query=mentions.head[items.asking] - window.start,
            candidates=_words(items.candidates, mentions, window),
            right=_words(items.right, mentions, window),
        )
        return choices, lost

    def baseline_hits(self, window: Window) -> Int[np.ndarray, "rows baselines"]:
        """Count right answers of each baseline over the items of a window.

        Raises:
            BadInput: As for ``choices``.
        """
        mentions, items = describe_mentions(window.document), _items(window)
        answers = choose_antecedents(window.document, items.asking, items.candidates)
        right = _words(items.right, mentions, window)
        word = mentions.head[answers] - window.start if right.size else answers
        answered = answers != NOBODY
        hit = np.zeros(answers.shape, dtype=np.bool_)
        hit[answered] = right[np.nonzero(answered)[1], word[answered]]
        counted: np.ndarray = self._rows(mentions, items.asking).astype(np.int64) @ hit.T
        return counted

    def _rows(
        self, mentions: MentionArrays, which: Int[np.ndarray, " items"]
    ) -> Bool[np.ndarray, "rows items"]:
        """Return the rows that each mention counts for."""
        kinds = [mentions.kinds[place] for place in which]
        return np.array([[row in ("all", kind) for kind in kinds] for row in self.rows], dtype=np.bool_)


def true_names(document: Document) -> int:
    """Return the mentions that the pronoun of a "gap" or "winobias" document refers to: 0 or 1 in GAP."""
    mentions = describe_mentions(document)
    pronoun = _pronoun(document, mentions)
    return int((mentions.entity == mentions.entity[pronoun]).sum()) - 1


def _items(window: Window) -> _Items:
    """Return the items of a window."""
    mentions = describe_mentions(window.document)
    seen = (mentions.start >= window.start) & (mentions.stop <= window.stop)
    read = window.document.askable(mentions.head)
    fresh = (mentions.head >= window.fresh) & (mentions.head < window.stop) & read
    if window.document.layout in PRONOUN_LAYOUTS:
        pronoun = _pronoun(window.document, mentions)
        due = np.array([pronoun] if fresh[pronoun] else [], dtype=np.int64)
        known = np.full((len(due), len(mentions.head)), read.all())
        possible = known & (seen.all() and len(seen) > 2)
        possible[:, pronoun] = known[:, pronoun] = False
    else:
        due = np.flatnonzero(fresh)
        known = _earlier(mentions, due) & read
        possible = known & seen[None, :] & seen[due, None]
    same = mentions.entity[due, None] == mentions.entity[None, :]
    answerable, kept = (known & same).any(axis=1), (possible & same).any(axis=1)
    return _Items(due[kept], possible[kept], (possible & same)[kept], due[answerable & ~kept])


def _earlier(mentions: MentionArrays, which: Int[np.ndarray, " items"]) -> Bool[np.ndarray, "items mentions"]:
    """Return mentions with an earlier head word, neither inside the asking mention nor around it."""
    start, stop = mentions.start[which, None], mentions.stop[which, None]
    inside = (mentions.start >= start) & (mentions.stop <= stop)
    around = (mentions.start <= start) & (mentions.stop >= stop)
    before: np.ndarray = (mentions.head < mentions.head[which, None]) & ~inside & ~around
    return before


def _pronoun(document: Document, mentions: MentionArrays) -> int:
    """Return the one pronoun of a document whose layout requires it."""
    pronouns = [place for place, kind in enumerate(mentions.kinds) if kind == "pronoun"]
    if len(pronouns) != 1:
        raise BadInput(
            f"a document of the layout {document.layout!r} has exactly one pronoun among its mentions, but "
            f"{document.key!r} has {len(pronouns)}; mark the pronoun and the names it may refer to"
        )
    return pronouns[0]


def _words(
    pairs: Bool[np.ndarray, "items mentions"], mentions: MentionArrays, window: Window
) -> Bool[np.ndarray, "items words"]:
    """Replace mentions by their head words, counted from the start of the window."""
    items, which = np.nonzero(pairs)
    cells = np.zeros((len(pairs), window.size), dtype=np.bool_)
    cells[items, mentions.head[which] - window.start] = True
    return cells
