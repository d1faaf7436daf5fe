"""Tests that the sieve keeps the contract and counts punctuation marks."""

import numpy as np
from headroles_punctuation import mark, marks

from headroles import Example, score
from headroles.testing import check_sieve

EXAMPLE = Example("note", ("it", "rains", ",", "again", "."))


def test_the_sieve_keeps_the_contract() -> None:
    check_sieve(marks)
    check_sieve(marks, [EXAMPLE])
    check_sieve(mark.sieve(","), [EXAMPLE])


def test_a_head_that_looks_at_marks_only_scores_one() -> None:
    heads = np.zeros((1, 1, 5, 5))
    heads[..., [2, 4]] = 0.5
    even = np.full((1, 1, 5, 5), 0.2)
    assert score(heads, EXAMPLE, marks)["marks"].round(12).item() == 1
    assert score(even, EXAMPLE, marks)["marks"].round(12).item() == 0
