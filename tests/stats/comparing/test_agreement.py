"""Agreement of labels: kappa against scikit-learn, intervals over inputs by simulation."""

from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from headroles.records.example import Scores
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.assessment.several import fresh_roles
from headroles.stats.comparing.agreement import Labels, agreements, cohen_kappa
from headroles.stats.engine import evidence_columns, judge
from headroles.stats.relabel import Grid


def _labels(name: str, held: np.ndarray, roles: tuple[str, ...], draws: int = 5) -> Labels:
    """Labels without any chance: fresh samples give the same ones."""
    return Labels(name, roles, held, np.ones_like(held), held[:, None].repeat(draws, 1))


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=40))
def test_kappa_is_that_of_scikit_learn(pairs: list[tuple[bool, bool]]) -> None:
    first, second = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    kappa = float(cohen_kappa(first[None], second[None])[0])
    if len({*first.tolist(), *second.tolist()}) == 1:
        assert isnan(kappa)
    else:
        assert kappa == pytest.approx(cohen_kappa_score(first, second))


def test_pairs_and_means_of_roles_are_those_of_the_runs_that_have_them() -> None:
    rng = np.random.default_rng(0)
    held = rng.random((3, 2, 30)) < 0.4
    runs = [_labels(name, held[place], ("local", "block")) for place, name in enumerate("abc")]
    runs.append(_labels("d", held[0, :1], ("local",)))
    rows = {(row.sieve, row.run_a, row.run_b): row for row in agreements("calibrated", runs)}
    assert len(rows) == 6 + 1 + 3 + 1 + 1
    assert rows["local", "a", "d"].kappa == 1
    row = rows["block", "a", "b"]
    assert row.kappa == row.low == row.high == pytest.approx(cohen_kappa_score(held[0, 1], held[1, 1]))
    assert row.both == (held[0, 1] & held[1, 1]).sum()
    assert row.either == (held[0, 1] | held[1, 1]).sum()
    means = [rows[role, "", ""].kappa for role in ("local", "block")]
    assert means[1] == pytest.approx(np.mean([rows["block", *pair].kappa for pair in ("ab", "ac", "bc")]))
    assert rows["", "", ""].kappa == pytest.approx(np.mean(means))


def test_heads_that_one_run_could_not_test_and_roles_of_no_head_are_left_out() -> None:
    held = np.array([[True, False, True, False], [False] * 4])
    first = _labels("a", held, ("local", "block"))
    tested = np.array([[True, True, True, False], [True] * 4])
    second = Labels("b", ("local", "block"), held, tested, held[:, None].repeat(5, 1))
    rows = {(row.sieve, row.run_a): row for row in agreements("calibrated", [first, second])}
    assert rows["local", "a"].heads == 3
    assert isnan(rows["block", "a"].kappa)
    assert isnan(rows["block", "a"].low)
    assert rows["", ""].kappa == 1
    assert agreements("calibrated", [first]) == []


def _run(rng: np.random.Generator, means: np.ndarray, name: str, seed: int = 0) -> Labels:
    """Labels of 60 made-up inputs about heads with these mean scores."""
    units = 60
    values = means[None] + 0.1 * rng.normal(size=(units, *means.shape))
    names = tuple(f"{name}{number}" for number in range(units))
    scores = Scores(
        sieves=("s0",),
        examples=names,
        units=names,
        tokens=np.full(units, 12),
        cells=np.full((1, units), 5.0),
        values=values[None].astype(np.float32),
        null=np.zeros((1, units)),
    )
    rules, decision = [Rule("s0", low=-9.0, high=9.0)], Decision()
    held = judge(scores, rules, decision).decision.reshape(1, -1) == 0
    fresh = fresh_roles(evidence_columns(scores, rules, decision, None), Grid(*means.shape), decision, seed)
    return Labels(name, ("s0",), held, np.ones_like(held), fresh)


@pytest.mark.slow
@pytest.mark.parametrize(("mean", "spread", "apart"), [(0.1, 0.06, 0.03), (0.135, 0.013, 0.005)])
def test_kappa_of_fresh_samples_falls_within_the_interval(mean: float, spread: float, apart: float) -> None:
    rng = np.random.default_rng(3)
    inside = []
    for _ in range(25):
        means = mean + rng.normal(0, spread, size=(6, 12))  # second case: nearly all heads near detection
        other = means + rng.normal(0, apart, size=means.shape)
        row = agreements("g", [_run(rng, means, "a"), _run(rng, other, "b", seed=1)])[0]
        again = agreements("g", [_run(rng, means, "a"), _run(rng, other, "b", seed=1)])[0]
        inside.append(row.low <= again.kappa <= row.high)
        assert row.low <= row.kappa <= row.high
    assert np.mean(inside) >= 0.83  # 0.97 and 0.93 in longer simulations, less two standard errors


def test_the_interval_lies_around_kappa_as_wide_as_fresh_samples_differ() -> None:
    rng = np.random.default_rng(5)
    held = rng.random((2, 1, 40)) < 0.5
    fresh = held[:, :, None] ^ (rng.random((2, 1, 200, 40)) < 0.1)
    runs = [
        Labels(name, ("local",), held[place], np.ones_like(held[place]), fresh[place])
        for place, name in enumerate("ab")
    ]
    row = agreements("g", runs)[0]
    drawn = [cohen_kappa_score(*pair) for pair in zip(fresh[0, 0], fresh[1, 0], strict=True)]
    apart = np.abs(np.subtract.outer(drawn, drawn))
    assert row.high - row.kappa == pytest.approx(row.kappa - row.low)
    assert (apart <= row.high - row.kappa + 1e-9).mean() >= 0.95
    assert (apart < row.high - row.kappa - 1e-9).mean() < 0.95
