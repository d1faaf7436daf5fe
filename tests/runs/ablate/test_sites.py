"""Damage at sites is compared with that at other tokens of the same stratum, and with nothing else."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroles.extraction.texts.tokens import Tokenised
from headroles.records.passage import Passage
from headroles.runs.ablate.arms.sites import FEWEST, GROUPS, opening_pieces, site_weights, strata_of

tokens = st.integers(0, 60).flatmap(
    lambda size: st.tuples(
        st.lists(st.booleans(), min_size=size, max_size=size),
        st.lists(st.integers(-1, 4), min_size=size, max_size=size),
        st.lists(st.floats(-9, 9, width=32), min_size=size, max_size=size),
    )
)


def _rank(stratum: int, other: int) -> tuple[int, bool, int]:
    """Return how far a stratum is from another: groups apart, then kind of piece, then the higher group."""
    return abs(other // 2 - stratum // 2), other % 2 != stratum % 2, -other


@given(tokens)
def test_every_site_is_compared_with_other_tokens_of_its_stratum_or_of_the_nearest(drawn: Any) -> None:
    sites, strata = np.array(drawn[0], dtype=bool), np.array(drawn[1], dtype=int)
    damage = np.array(drawn[2], dtype=float)
    with_others = {*strata[~sites & (strata >= 0)].tolist()}
    differences = []
    for place in np.flatnonzero(sites & (strata >= 0)) if with_others else ():
        nearest = min(with_others, key=partial(_rank, int(strata[place])))
        differences.append(damage[place] - damage[~sites & (strata == nearest)].mean())
    weights = site_weights(sites, strata)
    if not differences:
        assert np.isnan(weights).all()
        return
    assert weights @ damage == pytest.approx(np.mean(differences), abs=1e-9)
    assert (weights[strata < 0] == 0).all()


@given(tokens, st.floats(-5, 5))
def test_damage_that_is_equal_everywhere_makes_no_difference(drawn: Any, level: float) -> None:
    weights = site_weights(np.array(drawn[0], dtype=bool), np.array(drawn[1], dtype=int))
    if len(weights) and not np.isnan(weights).any():
        assert level * weights.sum() == pytest.approx(0, abs=1e-9)


def test_sites_that_have_less_loss_than_any_other_token_count() -> None:
    clean, removed = np.array([0.0] * 6 + [3.0] * 9 + [9.0]), np.array([3.0] * 16)
    sites = np.array([True] * 6 + [False] * 9 + [True])  # the last one is made worse by the head
    strata = strata_of(np.ones(16, dtype=bool), clean, np.zeros(16, dtype=bool))
    assert site_weights(sites, strata) @ (removed - clean) == pytest.approx((6 * 3 - 6) / 7)


@given(st.integers(0, 90), st.integers(0, 2**32 - 1))
def test_strata_are_fifths_of_the_tokens_that_count(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    counted, opens, order = rng.random(size) < 0.8, rng.random(size) < 0.5, rng.normal(size=size)
    strata = strata_of(counted, order, opens)
    assert (strata[~counted] == -1).all()
    own = strata[counted]
    assert (own % 2 == opens[counted]).all()
    groups, number = own // 2, min(GROUPS, max(1, counted.sum() // FEWEST))
    if counted.any():
        sizes = np.bincount(groups, minlength=number)
        assert len(sizes) == number
        assert sizes.max() - sizes.min() <= 1
        assert number == 1 or sizes.min() >= FEWEST
        values = order[counted]
        for lower in range(number - 1):
            assert values[groups == lower].max() <= values[groups == lower + 1].min()


def _tokenised(text: str, spans: list[tuple[int, int]], texts: list[int]) -> Tokenised:
    return Tokenised(
        passage=Passage(key="x", texts=(text,)),
        inputs={},
        tokens=tuple(text[start:end] or "[SEP]" for start, end in spans),
        texts=np.array(texts, dtype=np.int32),
        spans=np.array(spans),
        class_id=np.zeros(len(spans), dtype=bool),
        truncated=False,
    )


def test_pieces_that_go_on_from_letters_open_no_word() -> None:
    text = "It un-raveled, 2nd."
    spans = [(0, 0), (0, 2), (2, 5), (5, 6), (6, 9), (9, 13), (13, 14), (14, 16), (16, 18), (18, 19)]
    given_pieces = _tokenised(text, spans, [-1] + [0] * 9)
    opened = [text[a:b] for (a, b), opens in zip(spans, opening_pieces(given_pieces), strict=True) if opens]
    assert opened == ["It", " un", "-", "rav", ",", " 2", "."]
