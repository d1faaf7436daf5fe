"""Heads that park: they attend to the first token, separators and marks, and take relatively little there.

Attention must go somewhere, since its rows sum to 1. A head that has nothing to take attends to tokens of
little content, whose values are small (the no-op of Clark et al. 2019, section 3.2.1). Attention alone does
not show it; attention weighted by the norms of values does.

Unit: the unit of the run; the scores of its inputs are averaged. Statistic: s, the selectivity of attention,
and t, that of norm-weighted attention, on the same cells. Null: the mean of s is at most 0.1, or the mean of
t is at least 0.1. Alternative, the role: the mean of s lies above 0.1 and that of t below 0.1. The p of the
role is the larger of two one-sided p; their dependence does not matter (intersection-union). A head takes
relatively more there (the decision "explained") where both means lie above 0.1, tested by the same rule.
Assumptions are those of the two tests: independent units, and enough of them for the test of the run.

The chance value of t is that of s: the share of visible keys that are counted. A head reaches it whose norms
A_ij ν_j are even over the visible keys.

Both labels are relative to the other values of the head, and say nothing about size or content. If all values
shrink to a millionth, or are one vector at every token, t stays as it is or equals s: such a head "takes
relatively more there", and adds next to nothing, or the same wherever it looks. If another token has values
300 times as large, all other tokens count as parked.
"""

import numpy as np
from jaxtyping import Bool, Int

from headroles.records.example import Example
from headroles.records.roles import RoleWords
from headroles.sieves.base import MARGIN, MaskSieve
from headroles.sieves.built_in.positions import opening
from headroles.sieves.built_in.punctuation import mark_keys


def parking_keys(example: Example) -> Bool[np.ndarray, " tokens"]:
    """First token, special tokens, periods and commas; of ``[CLS] it rains . [SEP]``, asked by two words::

        . . . . .
        1 . . 1 1
        1 . . 1 1
        . . . . .
        . . . . .

    Example:
        >>> example = Example("rain", ("[CLS]", "it", "rains", ".", "[SEP]"), np.array([-1, 0, 0, 0, -1]))
        >>> parking_keys(example).tolist()
        [True, False, False, True, True]
    """
    keys: Bool[np.ndarray, " tokens"] = example.special | opening(example) | mark_keys(example)
    return keys


def asking(example: Example) -> Int[np.ndarray, " tokens"]:
    """Return the tokens that ask, each for itself: all but the keys, which are −1."""
    return np.where(parking_keys(example), -1, np.arange(example.size))


parked = MaskSieve(
    name="parked",
    mask=parking_keys,
    question=(
        "Does the head look at the first token, separators and marks, and take hardly more there, relative "
        "to its other values?"
    ),
    source="Clark et al. 2019, section 3.2.1 (no-op); Kobayashi et al. 2020 (norms)",
    groups=asking,
    specials=True,
    values_below=MARGIN,
    words=RoleWords(
        "parked",
        "parks attention: relative to its other values, it takes hardly more there",
        "sinks",
        "Pa",
        ("clark2019what", "kobayashi2020attention"),
    ),
)
