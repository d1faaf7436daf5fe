"""Exact sets of roles beside a dealing within layers."""

import numpy as np
import pytest

from headroles.stats.assessment.together import role_sets
from headroles.stats.relabel import Grid

NAMES = ("local", "block", "rare")


def _held(seed: int, layers: int = 3, heads: int = 5) -> np.ndarray:
    chance = np.random.default_rng(seed)
    share = np.array([0.6, 0.4, 0.1])[:, None, None] * chance.uniform(0.3, 1.6, size=(3, layers, 1))
    held: np.ndarray = chance.random((3, layers, heads)) < share
    return held


def test_sets_are_counted_once_each_and_cover_every_head_with_a_role() -> None:
    held = _held(1)
    found = role_sets(NAMES, held.reshape(3, -1), Grid(3, 5))
    assert sum(each.heads for each in found) == int(held.any(axis=0).sum())
    for each in found:
        asked = np.array([name in each.roles.split(";") for name in NAMES])
        assert each.heads == int((held == asked[:, None, None]).all(axis=0).sum()) > 0
    assert [each.heads for each in found] == sorted((each.heads for each in found), reverse=True)


def test_the_reference_deals_every_role_anew_within_each_layer() -> None:
    held = _held(2)
    chance = np.random.default_rng(0)
    draws = [np.stack([chance.permuted(role, axis=1) for role in held]) for _ in range(6000)]
    for each in role_sets(NAMES, held.reshape(3, -1), Grid(3, 5)):
        asked = np.array([name in each.roles.split(";") for name in NAMES])[:, None, None]
        counts = [int((dealing == asked).all(axis=0).sum()) for dealing in draws]
        assert each.expected == pytest.approx(np.mean(counts), abs=0.06)
        assert (each.expected_low, each.expected_high) == tuple(
            np.quantile(counts, [0.025, 0.975], method="inverted_cdf")
        )


def test_expected_heads_have_a_closed_form() -> None:
    held = _held(3, layers=4, heads=7)
    share = held.mean(axis=2)
    for each in role_sets(NAMES, held.reshape(3, -1), Grid(4, 7)):
        asked = np.array([name in each.roles.split(";") for name in NAMES])[:, None]
        assert each.expected == pytest.approx(7 * np.where(asked, share, 1 - share).prod(axis=0).sum())


def test_without_any_role_there_is_no_set() -> None:
    assert role_sets(NAMES, np.zeros((3, 8), dtype=bool), Grid(2, 4)) == ()
