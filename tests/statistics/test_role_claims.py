"""Claims about roles and distances: in one resample, both are of the same units."""

import numpy as np
import pytest

from headroles.records import Decision, Divergence, Findings
from headroles.stats import bootstrap_counts, judge, role_claims
from tests.support.scores import made, repeated

CLUSTER = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, -1, -1, -1])
Numbers = dict[tuple[str, str], float]


def _divergence(block: np.ndarray, seed: int) -> Divergence:
    """Divergences of 12 heads by chance; block names the block of each unit."""
    weight = np.bincount(block).astype(float)
    sums = weight[:, None] * np.random.default_rng(seed).gamma(2, 1, size=(len(weight), 66))
    return Divergence(2, 6, sums, weight, block)


UNGUARDED = Decision("t-published")
"""24 units are too few for roles of guarded tests."""


def _r_squared(mean: np.ndarray, groups: np.ndarray) -> float:
    """Share of the sum of squared distances (mean divergences) that lies between groups of heads."""
    first, second = np.triu_indices(12, 1)
    within = 0.0
    for group in np.unique(groups):
        inside = (groups[first] == group) & (groups[second] == group)
        within += mean[inside].sum() / (groups == group).sum()
    return float(1 - within / (mean.sum() / 12))


def _numbers(mean: np.ndarray, findings: Findings) -> Numbers:
    """What is claimed, by scikit-learn and by two groups of heads; NaN for a role of too few heads."""
    from sklearn.metrics import adjusted_rand_score

    group = np.where(CLUSTER < 0, 100 + np.arange(12), CLUSTER)  # a noise head is a cluster of its own
    held = {name: findings.decision[findings.of(name)].ravel() == 0 for name in findings.roles}
    found = {}
    for name, row in held.items():
        enough = 2 <= row.sum() <= 10
        found["same role closer", name] = _r_squared(mean, row.astype(int)) if enough else np.nan
        found["clusters are the role", name] = adjusted_rand_score(group, row) if enough else np.nan
    sets = [str(column.tolist()) for column in np.stack(list(held.values()), axis=1)]
    found["clusters are the sets of roles", ""] = adjusted_rand_score(group, sets)
    return found


@pytest.mark.parametrize("folded", [False, True], ids=["units", "blocks"])
def test_distances_and_roles_of_a_resample_are_of_the_same_units(folded: bool) -> None:
    scores, rules = made(1, units=24)
    block = np.arange(24) % 9 if folded else np.arange(24)
    findings = judge(scores, rules, UNGUARDED)
    for seed in range(3):
        divergence = _divergence(block, seed)
        claims = role_claims(divergence, scores, UNGUARDED, findings, CLUSTER, draws=1, seed=seed)
        (counts,) = next(bootstrap_counts(len(divergence.weight), 1, seed))
        mean = counts @ divergence.sums / (counts @ divergence.weight)
        again = judge(repeated(scores, counts[block]), rules, UNGUARDED)
        observed, drawn = _numbers(divergence.mean(), findings), _numbers(mean, again)
        assert {(claim.claim, claim.subject) for claim in claims} == {
            name for name, value in observed.items() if not np.isnan(value)
        }
        for claim in claims:
            name = (claim.claim, claim.subject)
            assert claim.estimate == pytest.approx(observed[name])
            assert claim.low == pytest.approx(drawn[name], nan_ok=True), name
            assert claim.high == pytest.approx(drawn[name], nan_ok=True), name
