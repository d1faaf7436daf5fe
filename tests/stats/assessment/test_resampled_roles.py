"""Claims about roles: of one resample by repeating its units, of few heads by counting."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from headroles.records.clusters import Claim, Divergence
from headroles.records.example import Scores
from headroles.records.findings import Findings
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.clusters.distance_tests import r_squared
from headroles.stats.clusters.role_claims import role_claims
from headroles.stats.draws import bootstrap_counts
from headroles.stats.engine import judge

Run = tuple[Scores, list[Rule]]
Numbers = dict[tuple[str, str], float]
CLUSTER = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, -1, -1, -1])


def _divergence(block: np.ndarray, seed: int) -> Divergence:
    """Divergences of 12 heads by chance; block names the block of each unit."""
    rng = np.random.default_rng(seed)
    weight = np.bincount(block).astype(float)
    return Divergence(2, 6, weight[:, None] * rng.gamma(2, 1, size=(len(weight), 66)), weight, block)


def _repeated(scores: Scores, units: np.ndarray) -> Scores:
    """The run that a resample is: each unit as often as it was drawn."""
    names = tuple(f"{number}" for number in range(len(units)))
    return replace(
        scores,
        examples=names,
        units=names,
        tokens=scores.tokens[units],
        cells=scores.cells[:, units],
        values=scores.values[:, units],
        null=scores.null[:, units],
    )


def _numbers(mean: np.ndarray, findings: Findings) -> Numbers:
    """What is claimed, by scikit-learn and by two groups of heads; NaN for a role of too few heads."""
    group = np.where(CLUSTER < 0, 100 + np.arange(12), CLUSTER)
    held = {name: findings.decision[findings.of(name)].ravel() == 0 for name in findings.roles}
    made = {}
    for name, row in held.items():
        enough = 2 <= row.sum() <= 10
        made["same role closer", name] = r_squared(mean, row.astype(int)) if enough else np.nan
        made["clusters are the role", name] = adjusted_rand_score(group, row) if enough else np.nan
    sets = [str(column.tolist()) for column in np.stack(list(held.values()), axis=1)]
    made["clusters are the sets of roles", ""] = adjusted_rand_score(group, sets)
    return made


def _of(claims: tuple[Claim, ...], end: str) -> Numbers:
    return {(each.claim, each.subject): getattr(each, end) for each in claims}


@pytest.mark.parametrize("folded", [False, True], ids=["units", "blocks"])
@pytest.mark.parametrize("seed", range(5))
def test_distances_and_roles_of_a_resample_are_of_the_same_units(
    scores_of: Callable[..., Run], seed: int, folded: bool
) -> None:
    scores, rules = scores_of(1, units=24)
    block = np.arange(24) % 9 if folded else np.arange(24)
    divergence = _divergence(block, seed)
    findings = judge(scores, rules, Decision())
    claims = role_claims(divergence, scores, Decision(), findings, CLUSTER, draws=1, seed=seed)
    (counts,) = next(bootstrap_counts(len(divergence.weight), 1, seed))
    units = np.repeat(np.arange(24), counts[block].astype(int))
    mean = counts @ divergence.sums / (counts @ divergence.weight)
    wanted = _numbers(mean, judge(_repeated(scores, units), rules, Decision()))
    assert len(claims) > 1
    for end in ("low", "high"):
        for name, value in _of(claims, end).items():
            assert value == pytest.approx(wanted[name], nan_ok=True), name


def test_each_noise_head_is_a_cluster_of_its_own_beside_roles(scores_of: Callable[..., Run]) -> None:
    scores, rules = scores_of(1, units=24)
    findings = judge(scores, rules, Decision())
    divergence = _divergence(np.arange(24), 0)
    wanted = _numbers(divergence.mean(), findings)
    claims = role_claims(divergence, scores, Decision(), findings, CLUSTER, draws=0)
    found = _of(claims, "estimate")
    assert found == pytest.approx({name: wanted[name] for name in wanted if not np.isnan(wanted[name])})
