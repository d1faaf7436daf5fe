"""The reference in numpy of the candidates that heads choose, and of their attention beyond distance."""

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.records.documents import Choices, Window
from headroles.sieves.weights.contrast import by_offset
from headroles.sieves.weights.reference import distance_profile

NOBODY = -1
"""The choice of a head that attends to none of the candidates."""


def sentence_of(window: Window) -> Int[np.ndarray, " words"]:
    """Return the number of the sentence of each word of a window, counted over the document from 0."""
    words = np.arange(window.start, window.stop)
    numbers: np.ndarray = np.searchsorted(window.document.sentences, words, side="right") - 1
    return numbers


def choose_candidates(
    attention: Float[np.ndarray, "heads words words"], choices: Choices, reverse: bool
) -> Int[np.ndarray, "items heads"]:
    """Return the candidate that each head chooses for each item.

    Source: Clark et al. (2019), section 4.2: the most attended other word.

    Args:
        attention: Between the words of the window; rows attend.
        choices: The items.
        reverse: Take the candidate that attends most to the asking word, instead of the candidate
            it attends to most.

    Returns:
        Words of the window; the first of equals; −1 where no attention falls on any candidate, as
        for the first word of a sentence in a model that only looks back.

    Example:
        >>> attention = np.array([[[0.1, 0.3, 0.6], [0.9, 0.0, 0.1], [0.5, 0.5, 0.0]]])
        >>> others = ~np.eye(3, dtype=bool)
        >>> items = Choices(np.ones((1, 3), dtype=bool), np.arange(3), others, np.roll(np.eye(3) > 0, 1, 1))
        >>> [choose_candidates(attention, items, way).T.tolist() for way in (False, True)]
        [[[2, 0, 0]], [[1, 2, 0]]]
    """
    seen = attention[:, :, choices.query].mT if reverse else attention[:, choices.query]
    allowed = np.where(choices.candidates, seen, NOBODY)
    most = allowed.argmax(axis=2)
    value = np.take_along_axis(allowed, most[:, :, None], axis=2)[:, :, 0]
    answers: np.ndarray = np.where(value > 0, most, NOBODY).T
    return answers


def hits(answers: Int[np.ndarray, "items heads"], choices: Choices) -> Bool[np.ndarray, "items heads"]:
    """Return whether each choice is right; the choice of nobody never is.

    Args:
        answers: From ``choose_candidates``.
        choices: The items.
    """
    right: np.ndarray = np.take_along_axis(choices.right, np.maximum(answers, 0), axis=1) & (
        answers != NOBODY
    )
    return right


def right_by_row(right: Bool[np.ndarray, "items heads"], choices: Choices) -> Int[np.ndarray, "rows heads"]:
    """Count right answers per row and head.

    Args:
        right: From ``hits``.
        choices: The items.
    """
    return choices.rows.astype(np.int64) @ right.astype(np.int64)


def arc_contrast(
    attention: Float[np.ndarray, "heads words words"],
    pieces: Float[np.ndarray, " words"] | Float[np.ndarray, "words words"],
    allowed: Bool[np.ndarray, "words words"],
    query: Int[np.ndarray, " items"],
    right: Int[np.ndarray, " items"],
) -> Float[np.ndarray, "items heads"]:
    """Return attention on single pairs of words beyond that expected by the head's own distance profile.

    With A the attention between words, R the compared pairs and U even attention on them:
    ``f(d) = Σ A / Σ U`` over the pairs of R at signed offset d, ``m_i = Σ_k A_ik`` over R,
    ``E_ij = m_i f(j−i) U_ij / Σ_k f(k−i) U_ik``, and the contrast is ``A_ij − E_ij``. The formula is
    that of ``headroles.plans.plan.Profile``; the mean over the arcs of a relation is the contrast of
    ``syntactic:REL`` when each word attends in one arc.

    Args:
        attention: Between the words of a window; rows attend.
        pieces: Even attention on each attended word, in any unit: its number of pieces; per pair of
            words where it depends on the attending word, too, as in models that only look back.
        allowed: R: the other words of the sentence that are visible.
        query: Attending word i of each item. Read forward it is the dependent, in reverse its head.
        right: Attended word j of each item. Read forward it is the head, in reverse the dependent.

    Returns:
        Between −1 and 1, in the precision of the attention; 0 for even attention, for a head that
        only knows offsets, for a pair outside R, and where the attending word can see one other only.
    """
    words = attention.shape[1]
    even = np.where(allowed, np.broadcast_to(pieces, allowed.shape), 0).astype(attention.dtype)
    inside = (even > 0).astype(attention.dtype)
    level = by_offset(even, np.arange(words))
    curve, rate = distance_profile(attention, inside, level.sum(axis=0), level.T)
    expected = rate[:, query] * curve[:, right - query + words - 1] * even[query, right]
    beyond: np.ndarray = (attention[:, query, right] * inside[query, right] - expected).T
    return beyond.astype(attention.dtype, copy=False)
