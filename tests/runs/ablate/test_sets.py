"""Random sets of heads are like the role's own set, different from it, and the same in every worker."""

from math import comb, prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headroles.runs.ablate.sets import different_sets, join_sets, lay_sets, sets_bytes

grids = st.tuples(st.integers(1, 4), st.integers(1, 6), st.integers(0, 2**32 - 1))


def _halves(norms: np.ndarray) -> np.ndarray:
    """Return which heads are in the upper half of their layer, with a rank for each head."""
    ranks = norms.argsort(axis=1, kind="stable").argsort(axis=1)
    upper: np.ndarray = ranks * 2 >= norms.shape[1]
    return upper


@given(grids)
def test_random_sets_match_the_role_in_layer_and_half_of_the_norm(grid: tuple[int, int, int]) -> None:
    layers, heads, seed = grid
    rng = np.random.default_rng(seed)
    own, norms = rng.random((layers, heads)) < 0.4, rng.random((layers, heads))
    sets = lay_sets({"role": own}, norms, count=20, seed=seed)
    upper = _halves(norms)
    possible = prod(
        comb(int(half[layer].sum()), int((own & half)[layer].sum()))
        for half in (upper, ~upper)
        for layer in range(layers)
    )
    assert len(sets.roles) == (1 + min(20, possible - 1) if own.any() else 0)
    for half in (upper, ~upper):
        assert ((sets.members & half).sum(2) == (own & half).sum(1)).all()
    assert len({members.tobytes() for members in sets.members}) == len(sets.members)
    if len(sets.members):
        np.testing.assert_array_equal(sets.members[0], own)
        assert sets.number.tolist() == [*range(len(sets.number))]


def test_a_role_draws_the_same_sets_whatever_other_roles_there_are() -> None:
    rng = np.random.default_rng(0)
    norms, own = rng.random((3, 8)), rng.random((3, 8)) < 0.5
    alone = lay_sets({"local": own}, norms, count=99, seed=1)
    both = lay_sets({"block": ~own, "local": own}, norms, count=99, seed=1)
    np.testing.assert_array_equal(both.members[[role == "local" for role in both.roles]], alone.members)
    other = lay_sets({"local": own}, norms, count=99, seed=2)
    assert not np.array_equal(other.members, alone.members)


def test_sets_are_drawn_evenly_among_all_that_match() -> None:
    norms, own = np.arange(8.0)[None], np.arange(8)[None] < 2  # two of the four heads of the lower half
    counts = np.zeros(8)
    for seed in range(2000):
        counts += lay_sets({"role": own}, norms, count=1, seed=seed).members[1, 0]
    expected = 2000 * np.array([2, 2, 3, 3]) / 5  # of the 5 other pairs, as many hold each head
    assert counts[4:].sum() == 0
    assert (np.abs(counts[:4] - expected) < 5 * np.sqrt(expected)).all()


def test_damages_of_all_shards_are_joined_in_their_order() -> None:
    held = {"a": np.array([[True, False, True, False]]), "b": np.array([[True, False, True, False]])}
    sets = lay_sets(held, np.arange(4.0)[None], count=99, seed=0)
    damage = np.random.default_rng(0).normal(size=(1, len(sets.roles), 5)).astype(np.float32)
    damage[:, :, 1] = np.nan
    shards = [sets_bytes(("loss:mean",), sets, damage[:, :, part]) for part in (slice(0, 3), slice(3, 5))]
    joined = join_sets(shards)
    assert joined is not None
    np.testing.assert_array_equal(joined.damage, damage)
    assert (joined.arms, joined.roles) == (("loss:mean",), sets.roles)
    np.testing.assert_array_equal(joined.members, sets.members)
    assert (
        join_sets([sets_bytes((), lay_sets({}, np.ones((1, 2)), count=99, seed=0), damage[:0, :0])]) is None
    )


def test_sets_that_several_roles_share_are_taken_out_once() -> None:
    own = np.array([[True, False, True, False]])
    sets = lay_sets({"a": own, "b": own}, np.arange(4.0)[None], count=99, seed=0)
    different = list(different_sets(sets))
    assert len(sets.roles) == 2 * len(different)
    assert sorted(place for _, places in different for place in places) == [*range(len(sets.roles))]
