"""Attention on the query's own text, times how evenly it is spread: a bag of words.

For query i with S_i the keys of its own text that it sees, R_i those of both texts, s_i, m_i the attention
on them, c_i = |S_i| / |R_i|, and h_i the entropy of the attention inside S_i over ln |S_i| (1 where S_i is
one key): score = Σ q_i (s_i h_i − c_i m_i) / (1 − Σ q_i c_i). Each text's queries weigh one half. It is 0
for even attention over the visible keys, 1 for attention that is even over the own text alone, and less
for attention that keeps to one word of it. For the texts ``a b c`` and ``d e f`` S is::

    1 1 1 . . .
    1 1 1 . . .
    1 1 1 . . .
    . . . 1 1 1
    . . . 1 1 1
    . . . 1 1 1

A head that looks near also spreads over its own text. So the role needs the contrasts of ``block``: in runs
the one beyond position, elsewhere the one beyond distance, as measured here.
Measured on rows of QNLI and QQP (mean score, mean contrast): heads that decay with distance 0.03 to 0.54,
within 0.005; in a causal model up to 0.55, and up to 0.055, which is why the margin of the contrast is four
times that of ``block``; attention that is even over the own text 1, and 0.32 to 0.58, and half of both with
as much even attention beside it. Not controlled: in a causal model, late positions from everywhere (0.25,
0.12).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.plans.masks import Cells, Mask
from headroles.plans.scorers import KeySets
from headroles.records.example import Example
from headroles.records.roles import RoleWords
from headroles.sieves.base import MARGIN, Contrast, Swap, both_texts
from headroles.sieves.built_in.block import SWAP, TEXTS, text_of
from headroles.sieves.built_in.local import own_text
from headroles.sieves.weights.long.cells import count_visible, find_form
from headroles.sieves.weights.plan import query_weights

CONTRAST_MARGIN = 0.08


@dataclass(frozen=True, slots=True)
class BagOfWords:
    """The scorer; it sees attention because entropy is not linear in it.

    Attributes:
        name: "bag-of-words".
        question: Its question.
        source: The source of the idea.
        needs: No annotation.
        margin: How far beyond 0 counts as a role.
        high: Largest score. The smallest depends on the lengths of the texts, so none is given, and
            constant scores are untestable.
        contrast: That of ``block``.
        swap: That of ``block``.
        words: What outputs say about the role.
    """

    name: str = "bag-of-words"
    question: str = "Does the head look at many words of the query's own text, beyond what position gives?"
    source: str = "Vig 2019 (Deconstructing BERT), bag of words; times relative entropy"
    needs: frozenset[str] = frozenset()
    margin: float = MARGIN
    high: float = 1.0

    contrast: ClassVar[Contrast] = Contrast(
        margin=CONTRAST_MARGIN, cells=own_text, scope=both_texts, groups=text_of, most=TEXTS
    )
    swap: ClassVar[Swap] = SWAP
    words: ClassVar[RoleWords] = RoleWords(
        "many words of the own text",
        "spreads over many words of its own text",
        "sentence",
        "Bw",
        ("vig2019deconstructing",),
    )

    def score(
        self, attention: Float[np.ndarray, "heads tokens tokens"], example: Example
    ) -> Float[np.ndarray, " heads"]:
        """Return the score without knowing which keys are hidden; see ``score_visible``.

        Keys behind the query count as visible when at least one of the heads looks there.
        """
        return self.score_visible(attention, example, _causal(attention))

    def score_visible(
        self,
        attention: Float[np.ndarray, "heads tokens tokens"],
        example: Example,
        visible: Bool[np.ndarray, "tokens tokens"] | None,
    ) -> Float[np.ndarray, " heads"]:
        """Return own-text attention beyond chance, times its spread; NaN without a second text.

        Args:
            attention: Of one layer.
            example: The input.
            visible: Which keys each query can see; None: all.

        Example:
            >>> pair = Example("six", tuple("abcdef"), segment=np.array([0, 0, 0, 1, 1, 1]))
            >>> even, own = np.full((6, 6), 1 / 6), np.kron(np.eye(2), np.full((3, 3), 1 / 3))
            >>> one_word = np.eye(6)
            >>> bag_of_words.score_visible(np.stack([even, own, one_word]), pair, None).round(12) + 0.0
            array([ 0.,  1., -1.])
        """
        return self.score_rows(attention, 0, example, None if visible is None else Cells(visible))

    def score_rows(
        self,
        rows: Float[np.ndarray, "heads rows tokens"],
        start: int,
        example: Example,
        visible: Mask | None,
    ) -> Float[np.ndarray, " heads"]:
        """Return the part of the score that rows from query ``start`` on add; NaN without a second text."""
        size, chance, query, groups = _chances(example, visible)
        if groups == 0:
            return np.full(len(rows), np.nan)
        here = slice(start, start + rows.shape[1])
        rows = rows.astype(np.result_type(rows, np.float32), copy=False)
        if visible is not None:
            rows = rows * visible.rows(here.start, here.stop)
        spread, mass = _evenness(rows, text_of(example), here, size[here])
        added: np.ndarray = (spread - chance[here] * mass) @ query[here] / (1 - query @ chance)
        return added

    def key_sets(self, example: Example) -> KeySets:
        """Return the keys of each text."""
        label = example.segment
        return KeySets((label[:, None] == np.arange(TEXTS)).astype(np.float32), label)

    def score_spread(
        self,
        masses: Float[np.ndarray, "heads tokens sets"],
        spread: Float[np.ndarray, "heads tokens"],
        example: Example,
        visible: Mask | None,
    ) -> Float[np.ndarray, " heads"]:
        """Return the score from the masses on both texts and the entropies within the query's own."""
        size, chance, query, groups = _chances(example, visible)
        if groups == 0:
            return np.full(len(masses), np.nan)
        own, most = np.maximum(example.segment, 0), np.log(np.maximum(size, 1))
        mass = np.take_along_axis(masses, own[None, :, None], axis=2)[..., 0].astype(np.float64)
        even = np.divide(spread, most, out=mass.copy(), where=most > 0)
        beyond = np.clip(even, 0.0, mass) - chance * masses.sum(axis=2, dtype=np.float64)
        score: np.ndarray = beyond @ query / (1 - query @ chance)
        return score

    def null(self, example: Example) -> float:
        """Return 0, the score of even attention."""
        return 0.0


def _causal(
    attention: Float[np.ndarray, "heads tokens tokens"],
) -> Bool[np.ndarray, "tokens tokens"] | None:
    """Return the keys up to the query where no head of the layer looks behind it; None for every key."""
    causal = np.tri(attention.shape[-1], dtype=np.bool_)
    return None if attention[:, ~causal].any() else causal


def _chances(
    example: Example, visible: Mask | None
) -> tuple[np.ndarray, np.ndarray, Float[np.ndarray, " tokens"], int]:
    """Return |S_i|, c_i and q_i of every query, and the number of texts whose queries count."""
    n = example.size
    size, room = (
        count_visible(find_form([mask], visible, n), visible, n)
        for mask in (own_text(example), both_texts(example))
    )
    query, groups = query_weights(text_of(example), (size > 0) & (size < room))
    return size, size / np.maximum(room, 1), query, groups


def _evenness(
    rows: Float[np.ndarray, "heads rows tokens"],
    text: Int[np.ndarray, " tokens"],
    here: slice,
    size: Int[np.ndarray, " rows"],
) -> tuple[Float[np.ndarray, "heads rows"], Float[np.ndarray, "heads rows"]]:
    """Return ``s_i h_i`` and ``m_i`` of some queries, with logarithms in the precision of the attention.

    With a the attention inside S, ``s h = (s ln s − Σ a ln a) / ln |S|``, so that no cell is divided by s.
    """
    own, both = np.zeros((2, *rows.shape[:2]))
    tiny, queries = np.finfo(rows.dtype).tiny, text[here]
    for name in np.unique(text[text >= 0]):
        keys = rows[:, :, _span(text == name)]
        mass = keys.sum(axis=2)
        both += mass
        asking = _span(queries == name)
        inside, mass = keys[:, asking], mass[:, asking].astype(np.float64)
        logs = np.maximum(inside, tiny)
        np.log(logs, out=logs)
        logs *= inside
        most = np.log(np.maximum(size[asking], 1))
        spread = mass * np.log(np.maximum(mass, tiny)) - logs.sum(axis=2)
        relative = np.divide(spread, most, out=mass.copy(), where=most > 0)
        own[:, asking] = np.clip(relative, 0.0, mass)
    return own, both


def _span(inside: Bool[np.ndarray, " tokens"]) -> slice | Int[np.ndarray, " inside"]:
    """Return the places of True; a slice where they follow each other, so that no cell is copied."""
    places = np.flatnonzero(inside)
    if len(places) and places[-1] - places[0] < len(places):
        return slice(int(places[0]), int(places[-1]) + 1)
    return places


bag_of_words = BagOfWords()
"""The sieve."""
