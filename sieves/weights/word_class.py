"""Contrasts against word class: their part of the plan of an example.

The formula is that of ``headroles.plans.class_profile``.
"""

from collections.abc import Sequence

import numpy as np

from headroles.plans.class_profile import ClassSpace
from headroles.plans.masks import Mask, Pairs
from headroles.plans.word_pairs import InputWords, WordPairs, word_classes, word_pairs
from headroles.records.example import Example
from headroles.sieves.base import LabelFunction, MaskSieve
from headroles.sieves.weights.calls import calls_of
from headroles.sieves.weights.plan import class_column, contrast_column


def class_spaces(sieves: Sequence[MaskSieve], columns: Sequence[str]) -> tuple[ClassSpace, ...]:
    """Return the columns of contrasts against word class; those of one space compare the same words.

    Args:
        sieves: Mask sieves.
        columns: Names of all columns.
    """
    return tuple(
        ClassSpace(
            columns=tuple(columns.index(class_column(sieve)) for sieve in members),
            distance=tuple(columns.index(contrast_column(sieve)) for sieve in members),
            share=tuple(sieve.word_class.share for sieve in members if sieve.word_class is not None),
        )
        for members in _members(sieves).values()
    )


def pairs_of(sieves: Sequence[MaskSieve], examples: Sequence[Example]) -> list[tuple[WordPairs | None, ...]]:
    """Return the compared pairs of words of examples for each space of contrasts against word class.

    Returns:
        By example; None where words have no word class, and in cross attention, where words have no distance.

    Raises:
        BadSieve: When a function of a sieve fails.
        BadInput: When a sieve needs annotation the example lacks.
    """
    classified = [
        row for row, example in enumerate(examples) if example.upos is not None and not example.stack.any()
    ]
    spaces = []
    for groups, members in _members(sieves).items():
        found: list[WordPairs | None] = [None] * len(examples)
        words = [_words_of(examples[row], groups, members) for row in classified]
        for row, pairs in zip(classified, word_pairs(words), strict=True):
            found[row] = pairs
        spaces.append(found)
    return list(zip(*spaces, strict=True)) if spaces else [()] * len(examples)


def _words_of(example: Example, groups: LabelFunction, members: Sequence[MaskSieve]) -> InputWords:
    """Return the words of an example in one space."""
    calls = calls_of(example)
    count = int(example.word.max(initial=-1)) + 1
    there = np.bincount(example.word[example.word >= 0], minlength=count) > 0
    counted = []
    for sieve in members:
        assert sieve.contrast is not None, "a contrast against word class has one against distance"
        counted.append(_cells(calls.contrast_cells(sieve.contrast, contrast_column(sieve)), count))
    labels = calls.word_labels(groups, class_column(members[0]))
    assert example.upos is not None, "called for words with a class only"
    return InputWords(np.where(there, labels, -1), word_classes(example.upos[:count]), counted)


def _cells(mask: Mask, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return queries and keys of the cells of a mask over words."""
    if isinstance(mask, Pairs):
        return mask.query, mask.key
    query, key = np.nonzero(mask.rows(0, count))
    return query, key


def _members(sieves: Sequence[MaskSieve]) -> dict[LabelFunction, list[MaskSieve]]:
    spaces: dict[LabelFunction, list[MaskSieve]] = {}
    for sieve in sieves:
        if sieve.word_class is not None:
            spaces.setdefault(sieve.word_class.groups, []).append(sieve)
    return spaces
