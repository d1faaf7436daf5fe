"""Everything made of divergences, and what is claimed of layers, clusters and roles."""

from collections.abc import Callable
from math import isnan

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score

from headroles.errors import BadInput
from headroles.records.clusters import Claim, Divergence
from headroles.records.example import Scores
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.clusters.clusters import adjusted_rand, choose_clusters
from headroles.stats.clusters.distance_tests import r_squared
from headroles.stats.clusters.distances import distance_intervals, jackknife, square_matrix
from headroles.stats.clusters.layer_claims import halves_agree, layer_claims
from headroles.stats.clusters.role_claims import role_claims
from headroles.stats.clusters.run import cluster_heads
from headroles.stats.draws import random_halves
from headroles.stats.engine import judge

Named = dict[tuple[str, str, str], Claim]


def _seen(place: np.ndarray, layers: int, units: int, rng: np.random.Generator, noise: float) -> Divergence:
    """Divergences of heads of which every unit gives a noisy look."""
    looks = place + noise * rng.normal(size=(units, *place.shape))
    first, second = np.triu_indices(len(place), 1)
    sums = ((looks[:, first] - looks[:, second]) ** 2).sum(axis=2)
    return Divergence(layers, len(place) // layers, sums, np.ones(units), np.arange(units))


def _layered(seed: int = 0, *, layers: int = 4, units: int = 40) -> Divergence:
    """Layers of 6 heads that lie on a line, one after another."""
    rng = np.random.default_rng(seed)
    line = np.repeat(np.arange(layers), 6)[:, None] * [2.0, 0, 0]
    return _seen(line + rng.normal(size=(6 * layers, 3)), layers, units, rng, 0.5)


def _named(claims: tuple[Claim, ...]) -> Named:
    return {(each.claim, each.subject, each.measure): each for each in claims}


def test_heads_of_layers_on_a_line_are_closer_within_and_in_adjacent_layers() -> None:
    divergence = _layered()
    found = _named(cluster_heads(divergence, draws=20).claims)
    closer = found["same layer closer", "", "R2"]
    assert closer.low < closer.estimate < closer.high
    assert closer.estimate == r_squared(divergence.mean(), np.repeat(np.arange(4), 6))
    assert (closer.p, closer.placements, closer.heads, closer.units) == (1e-4, 9999, 24, 40)
    assert "0.130 on average" in closer.reference
    inside, outside = (found["same layer closer", "", f"mean distance {name} layers"] for name in
                       ("within", "between"))  # fmt: skip
    assert inside.high < outside.low
    assert isnan(inside.p)
    for measure in ("mantel r", "mantel rho"):
        adjacent = found["adjacent layers closer", "", measure]
        assert 0.5 < adjacent.low < adjacent.estimate < adjacent.high < 1
        assert (adjacent.p, adjacent.placements) == (2 / 24, 24)
    split = found["split halves agree", "", "adjusted Rand"]
    assert split.low <= split.estimate <= split.high
    assert isnan(split.p)


def test_all_of_it_is_the_same_for_the_same_seed_and_blocks_of_several_units_are_counted() -> None:
    whole = _layered()
    sums = whole.sums[:20] + whole.sums[20:]
    halved = Divergence(4, 6, sums, np.full(20, 2.0), np.arange(40) % 20)
    first, second = (cluster_heads(halved, draws=10, seed=3) for _ in range(2))
    assert repr(first.claims) == repr(second.claims)
    for name in ("place", "cloud", "cluster", "stability", "linkage"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert {each.units for each in first.claims} == {40}
    assert first.cloud.shape == (10, 24, 2)
    np.testing.assert_allclose(first.divergence.mean(), whole.mean())


def test_a_plain_sum_as_released_gives_the_same_shares_and_clusters() -> None:
    whole = _layered()
    summed = Divergence(4, 6, whole.sums, whole.weight, whole.block, way="sum")
    one, other = cluster_heads(whole, draws=10), cluster_heads(summed, draws=10)
    np.testing.assert_array_equal(one.cluster, other.cluster)
    for mine, theirs in zip(one.claims, other.claims, strict=True):
        factor = 40**0.5 if "distance" in mine.measure else 1.0
        numbers = [(each.estimate, each.low, each.high) for each in (mine, theirs)]
        np.testing.assert_allclose(np.array(numbers[0]) * factor, numbers[1])
    np.testing.assert_allclose(np.array(distance_intervals(whole)) * 40**0.5, distance_intervals(summed))


def test_what_a_shape_leaves_no_room_for_is_not_claimed() -> None:
    rng = np.random.default_rng(1)
    one = _seen(rng.normal(size=(6, 3)), 1, 10, rng, 0.5)
    assert layer_claims(one, 0) == ()
    two = _seen(rng.normal(size=(6, 3)), 2, 10, rng, 0.5)
    assert {each.claim for each in layer_claims(two, 0)} == {"same layer closer"}
    single = _seen(rng.normal(size=(6, 3)), 6, 10, rng, 0.5)
    assert {each.claim for each in layer_claims(single, 0)} == {"adjacent layers closer"}


def test_one_block_gives_estimates_without_intervals() -> None:
    whole = _layered()
    block = whole.sums.sum(axis=0, keepdims=True)
    single = Divergence(4, 6, block, np.full(1, 40.0), np.zeros(40, dtype=int))
    found = cluster_heads(single, draws=10)
    assert "split halves agree" not in {each.claim for each in found.claims}
    assert found.claims[0].p == 1e-4
    assert all(isnan(each.low) and isnan(each.high) for each in found.claims)
    assert found.neighbours is not None
    assert np.isnan(found.neighbours.low).all()


def test_split_halves_are_clustered_apart_and_compared() -> None:
    # Five blocks: two in each half, one in neither.
    rng = np.random.default_rng(3)
    divergence = Divergence(3, 4, rng.gamma(1, 1, size=(5, 66)), np.ones(5), np.arange(5))
    chosen = choose_clusters(divergence, "average", 4, 0, 0)
    (claim,) = halves_agree(divergence, "average", chosen, 6, 7)
    agreed = []
    for side in random_halves(5, 6, 7):
        label = [
            fcluster(linkage(np.sqrt(divergence.sums[side == sign].mean(axis=0)), "average"), 4, "maxclust")
            for sign in (1, -1)
        ]
        agreed.append(adjusted_rand_score(*label))
    assert claim.estimate == pytest.approx(np.mean(agreed))
    assert (claim.low, claim.high) == pytest.approx(tuple(np.quantile(agreed, [0.025, 0.975])))
    assert (claim.heads, claim.units) == (12, 5)


def test_equal_heads_have_no_claims_to_make_and_no_trouble() -> None:
    same = Divergence(3, 4, np.zeros((5, 66)), np.ones(5), np.arange(5))
    found = cluster_heads(same, draws=5)
    assert isnan(found.stress)
    assert not found.place.any()
    shares = [each for each in found.claims if each.measure in ("R2", "mantel r", "mantel rho")]
    assert len(shares) == 3
    assert all(isnan(each.estimate) and isnan(each.p) and not each.placements for each in shares)


def test_what_cannot_be_clustered_is_said() -> None:
    with pytest.raises(BadInput, match="0 or more, but got -1"):
        cluster_heads(_layered(), draws=-1)
    sums = _layered().sums.copy()
    sums[3, 7] = np.nan
    with pytest.raises(BadInput, match="1 of 276 pairs"):
        cluster_heads(Divergence(4, 6, sums, np.ones(40), np.arange(40)))


def test_intervals_of_the_share_of_layers_cover_the_truth() -> None:
    rng = np.random.default_rng(2)
    layer = np.repeat(np.arange(3), 5)
    place = rng.normal(size=(15, 6)) + rng.normal(size=(3, 6))[layer]
    first, second = np.triu_indices(15, 1)
    truth = r_squared(((place[first] - place[second]) ** 2).sum(axis=1) + 2 * 6 * 0.8**2, layer)

    def share(mean: np.ndarray) -> np.ndarray:
        return np.array([r_squared(mean, layer)])

    found = np.array([jackknife(_seen(place, 3, 60, rng, 0.8), share) for _ in range(200)])[..., 0]
    assert 0.9 <= ((found[:, 1] <= truth) & (truth <= found[:, 2])).mean() <= 0.99
    assert found[:, 0].mean() == pytest.approx(truth, abs=0.005)


Run = tuple[Scores, list[Rule]]


def _roles(run: Run) -> tuple[Divergence, np.ndarray]:
    """Divergences in which heads are as far apart as their mean scores, and two clusters."""
    values = run[0].values.reshape(4, -1, 12)
    units = values.shape[1]
    first, second = np.triu_indices(12, 1)
    sums = ((values[:, :, first] - values[:, :, second]) ** 2).sum(axis=0)
    found = Divergence(2, 6, sums, np.ones(units), np.arange(units))
    return found, (np.arange(12) % 3 == 0).astype(int)


def test_claims_of_roles_have_intervals_and_no_p(scores_of: Callable[..., Run]) -> None:
    run = scores_of(1, units=60)
    decision = Decision()
    findings = judge(*run, decision)
    divergence, cluster = _roles(run)
    found = role_claims(divergence, run[0], decision, findings, cluster, draws=60)
    held = (findings.decision == 0).reshape(4, 12)
    enough = [name for name, row in zip(findings.sieves, held, strict=True) if name != "s1" and
              2 <= row.sum() <= 10]  # fmt: skip
    named = _named(found)
    assert enough
    assert set(named) == {
        *(("same role closer", name, "R2") for name in enough),
        *(("clusters are the role", name, "adjusted Rand") for name in enough),
        ("clusters are the sets of roles", "", "adjusted Rand"),
    }
    for each in found:
        assert isnan(each.p)
        assert (each.placements, each.reference, each.heads, each.units) == (0, "", 12, 60)
        assert each.low < each.high
    for name in enough:
        row = held[findings.of(name)].astype(int)
        share = r_squared(divergence.mean(), row)
        assert named["same role closer", name, "R2"].estimate == pytest.approx(share)
        agreed = named["clusters are the role", name, "adjusted Rand"].estimate
        assert agreed == pytest.approx(adjusted_rand(cluster, row))
    sets = held[[0, 2, 3]].T @ [4, 2, 1]
    assert found[-1].estimate == pytest.approx(adjusted_rand(cluster, sets))


def test_units_of_one_block_are_resampled_together(scores_of: Callable[..., Run]) -> None:
    run = scores_of(1, units=60)
    findings = judge(*run, Decision())
    one, cluster = _roles(run)
    pairs = one.sums.reshape(2, 30, -1).sum(axis=0)
    folded = Divergence(2, 6, pairs, np.full(30, 2.0), np.arange(60) % 30)
    first = role_claims(one, run[0], Decision(), findings, cluster, draws=40)
    other = role_claims(folded, run[0], Decision(), findings, cluster, draws=40)
    for mine, theirs in zip(first, other, strict=True):
        assert mine.estimate == pytest.approx(theirs.estimate)
        assert theirs.low <= theirs.high
    assert [each.low for each in first] != [each.low for each in other]
    single = Divergence(2, 6, pairs.sum(axis=0)[None], np.full(1, 60.0), np.zeros(60, dtype=int))
    alone = role_claims(single, run[0], Decision(), findings, cluster, draws=40)
    assert all(isnan(each.low) for each in alone)
    assert square_matrix(single.mean()) == pytest.approx(square_matrix(one.mean()))


def test_roles_of_other_units_are_refused(scores_of: Callable[..., Run]) -> None:
    run = scores_of(1, units=60)
    findings = judge(*run, Decision())
    other, cluster = _roles(scores_of(1, units=50))
    with pytest.raises(BadInput, match=r"divergences have \(2, 6, 50\) and scores \(2, 6, 60\)"):
        role_claims(other, run[0], Decision(), findings, cluster)


def test_without_any_role_there_is_nothing_to_claim(scores_of: Callable[..., Run]) -> None:
    scores, rules = scores_of(1, units=20)
    strict = [Rule(rule.sieve, contrast=rule.contrast, role=rule.role, margin=0.9) for rule in rules]
    findings = judge(scores, strict, Decision())
    divergence, cluster = _roles((scores, rules))
    assert role_claims(divergence, scores, Decision(), findings, cluster) == ()
