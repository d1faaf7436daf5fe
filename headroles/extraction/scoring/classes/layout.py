"""The pairs of words of a batch as pairs of tokens, and the bags of them that are summed.

A bag holds the pairs of one cell in one half of the shard, or of one attending word, or those that one
contrast counts in one input.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from headroles.extraction.scoring.prepared import Prepared
from headroles.extraction.scoring.token_pairs import Bags, pairs_of_tokens, sort_into_bags, spread_bags
from headroles.plans.word_pairs import CELLS, WordPairs, rarest, with_frequency


@dataclass(frozen=True, slots=True, eq=False)
class TokenPairs:
    """The pairs of tokens of all compared pairs of words, one input and one pair of words after another.

    Attributes:
        row: Place in the batch of the input of each pair.
        query: Attending token.
        key: Attended token.
        inputs: Place in the batch of each input that has pairs.
        opens: First pair of each of these inputs, and one past the last of all.
    """

    row: Int[np.ndarray, " cells"]
    query: Int[np.ndarray, " cells"]
    key: Int[np.ndarray, " cells"]
    inputs: Int[np.ndarray, " inputs"]
    opens: Int[np.ndarray, "_"]


@dataclass(frozen=True, slots=True, eq=False)
class Questions:
    """All compared pairs of words, which profiles are about, and those that contrasts count.

    Attributes:
        place: Place in the shard of the input of each attending word.
        opens: First pair of each attending word in ``cell``, and one past the last of all.
        cell: Cell of each pair in each table, with the frequency of the key.
        size: Number of words of the sentence of each attending word.
        answer: Place in the shard of each answer, which is a contrast of an input.
        contrast: Its contrast.
        answer_opens: First counted pair of each answer, and one past the last of all.
        counted: Place in ``cell`` of each counted pair.
        asked: Its attending word, as a place in ``place``.
    """

    place: Int[np.ndarray, " queries"]
    opens: Int[np.ndarray, "_"]
    cell: Int[np.ndarray, "tables pairs"]
    size: Int[np.ndarray, " queries"]
    answer: Int[np.ndarray, " answers"]
    contrast: Int[np.ndarray, " answers"]
    answer_opens: Int[np.ndarray, "_"]
    counted: Int[np.ndarray, " counted"]
    asked: Int[np.ndarray, " counted"]


@dataclass(frozen=True, slots=True, eq=False)
class BagMeaning:
    """What the bags of a batch stand for. The shard keeps this until all its batches are read.

    Attributes:
        cells: The cells that have a bag, those of the second half counted on from ``CELLS``.
        even: Sum over the pairs of each of these bags of one over the words of their sentence.
        groups: Number of sentences in the inputs of each half.
        questions: What the other bags are about.
    """

    cells: Int[np.ndarray, " cells"]
    even: Float[np.ndarray, " cells"]
    groups: tuple[int, int]
    questions: Questions


@dataclass(frozen=True, slots=True, eq=False)
class ClassLayout:
    """All pairs of a batch and their bags: those of cells first, then of attending words, then of answers.

    Attributes:
        tokens: The pairs of tokens.
        bags: Pairs of tokens by bag.
        meaning: What the bags stand for.
    """

    tokens: TokenPairs
    bags: Bags
    meaning: BagMeaning


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """The word of each token of several inputs, and their pairs; words are counted on from input to input."""

    tokens: list[int]
    word: np.ndarray
    query: np.ndarray
    key: np.ndarray
    cell: np.ndarray
    size: np.ndarray
    opens: np.ndarray
    word_opens: np.ndarray


def lay_pairs(
    space: int, batch: Sequence[Prepared], counts: Counter[str], halves: np.ndarray
) -> ClassLayout | None:
    """Lay the pairs of words of a batch over its tokens; return None where no pair of any input counts.

    Args:
        space: Number of the space of contrasts.
        batch: The inputs.
        counts: Occurrences of each token in the shard, in lower case.
        halves: Half of each place of the shard.
    """
    rows, own = [], []
    for row, prepared in enumerate(batch):
        found = prepared.word_pairs[space]
        if found is not None and any(len(counted) for counted in found.counted):
            rows.append(row)
            own.append(found)
    if not rows:
        return None
    inputs = [batch[row] for row in rows]
    pairs = _join(inputs, own, counts)
    tokens, number, share = _token_pairs(np.array(rows), pairs)
    second = halves[[prepared.place for prepared in inputs]]
    cell = pairs.cell + CELLS * np.repeat(second, np.diff(pairs.opens))
    order, cells, opens = sort_into_bags(cell.ravel())
    order %= cell.shape[1]
    of_cells = order, np.ones(len(order)), opens
    questions, of_queries, of_answers = _questions(inputs, own, pairs)
    groups = np.bincount(second, [found.groups for found in own], minlength=2)
    return ClassLayout(
        tokens=tokens,
        bags=spread_bags((of_cells, of_queries, of_answers), number, share),
        meaning=BagMeaning(
            cells, np.add.reduceat(1 / pairs.size[order], opens), (int(groups[0]), int(groups[1])), questions
        ),
    )


def _join(inputs: Sequence[Prepared], own: Sequence[WordPairs], counts: Counter[str]) -> _Pairs:
    """Join the pairs of words of all inputs."""
    words = [int(prepared.example.word.max(initial=-1)) + 1 for prepared in inputs]
    word_opens = np.cumsum([0, *words])
    own_word = np.concatenate([prepared.example.word for prepared in inputs]).astype(np.int64)
    sizes = [prepared.example.size for prepared in inputs]
    word = np.where(own_word >= 0, own_word + np.repeat(word_opens[:-1], sizes), -1)
    tokens = [token for prepared in inputs for token in prepared.example.tokens]
    occurrences = rarest(word, [counts[token.lower()] for token in tokens])
    opens = np.cumsum([0, *(len(found.query) for found in own)])
    shift = np.repeat(word_opens[:-1], np.diff(opens))
    key = np.concatenate([found.key for found in own]) + shift
    return _Pairs(
        tokens=sizes,
        word=word,
        query=np.concatenate([found.query for found in own]) + shift,
        key=key,
        cell=with_frequency(np.concatenate([found.cell for found in own], axis=1), occurrences[key]),
        size=np.concatenate([found.size for found in own]),
        opens=opens,
        word_opens=word_opens,
    )


def _token_pairs(rows: np.ndarray, pairs: _Pairs) -> tuple[TokenPairs, np.ndarray, np.ndarray]:
    """Return all pairs of tokens, their number by pair of words, and one over the attending word's tokens."""
    pieces = np.bincount(pairs.word[pairs.word >= 0], minlength=pairs.word_opens[-1])
    number, query, key = pairs_of_tokens(pairs.word, pieces, pairs.query, pairs.key)
    opens = np.append(0, np.cumsum(number))[pairs.opens]
    before = np.repeat(np.cumsum(pairs.tokens) - pairs.tokens, np.diff(opens))
    found = TokenPairs(
        row=np.repeat(rows, np.diff(opens)),
        query=query - before,
        key=key - before,
        inputs=rows,
        opens=opens,
    )
    return found, number, 1 / pieces[pairs.query]


def _questions(
    inputs: Sequence[Prepared], own: Sequence[WordPairs], pairs: _Pairs
) -> tuple[Questions, Bags, Bags]:
    """Return what contrasts ask, and the bags of attending words and of answers, over pairs of words."""
    counts = np.array([[len(counted) for counted in found.counted] for found in own])
    contrast, row = np.nonzero(counts.T)
    size = counts[row, contrast]
    listed = [
        own[at].counted[number] + pairs.opens[at]
        for number, at in zip(contrast.tolist(), row.tolist(), strict=True)
    ]
    counted, answer_opens = np.concatenate(listed), np.cumsum([0, *size])
    opens = np.flatnonzero(np.diff(pairs.query, prepend=-1))  # queries are sorted
    words = pairs.query[opens]
    place = np.array([prepared.place for prepared in inputs])
    questions = Questions(
        place=place[np.searchsorted(pairs.word_opens, words, side="right") - 1],
        opens=np.append(opens, len(pairs.query)),
        cell=pairs.cell.astype(np.int32),
        size=pairs.size[opens],
        answer=place[row],
        contrast=contrast,
        answer_opens=answer_opens,
        counted=counted,
        asked=np.searchsorted(words, pairs.query[counted]),
    )
    every = np.arange(len(pairs.query))
    of_queries = every, np.ones(len(every)), opens
    return questions, of_queries, (counted, np.repeat(1 / size, size), answer_opens[:-1])
