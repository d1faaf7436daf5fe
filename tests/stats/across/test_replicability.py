"""r values are those of the paper, and at most alpha of what they select is false."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import norm

from headroles.stats.across.replicability import replicability_r

P = hnp.arrays(np.float64, 8, elements=st.floats(0, 1))


def _plain(first: np.ndarray, second: np.ndarray, alpha: float, share: float, harmonic: bool) -> list[float]:
    """The formula of the paper, head by head."""
    chosen = [j for j, p in enumerate(first) if p <= share * alpha]
    others = [j for j, p in enumerate(second) if p <= (1 - share) * alpha]
    sizes = [
        len(each) * (sum(1 / i for i in range(1, len(each) + 1)) if harmonic else 1)
        for each in (chosen, others)
    ]
    z = {
        j: max(sizes[1] * first[j] / share, sizes[0] * second[j] / (1 - share)) for j in chosen if j in others
    }
    found = [1.0] * len(first)
    for j in z:
        larger = [i for i in z if z[i] >= z[j]]
        ranks = {i: sum(z[other] <= z[i] for other in z) for i in larger}
        found[j] = min(1.0, *(z[i] / ranks[i] for i in larger))
    return found


@pytest.mark.parametrize("independent", [True, False])
@pytest.mark.parametrize("share", [0.5, 0.2])
def test_r_is_that_of_a_plain_loop(independent: bool, share: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        first, second = rng.uniform(size=(2, 30)) ** 6
        found = replicability_r(first, second, 0.1, independent=independent, share=share)
        np.testing.assert_allclose(found, _plain(first, second, 0.1, share, not independent))
    assert (found < 1).any()


@given(first=P, second=P)
def test_the_order_of_two_runs_is_of_no_matter_and_r_is_no_smaller_than_p(
    first: np.ndarray, second: np.ndarray
) -> None:
    found = replicability_r(first, second)
    np.testing.assert_array_equal(found, replicability_r(second, first))
    assert (found >= np.maximum(first, second)).all()
    assert (found <= 1).all()
    careful = replicability_r(first, second, independent=False)
    assert (careful >= found).all()


def test_heads_that_a_run_could_not_test_have_no_r_and_cost_nothing() -> None:
    first, second = np.array([[1e-4, 1e-4, 0.5], [1e-3, 2e-4, 0.1]])
    alone = replicability_r(first, second)
    more = replicability_r(np.append(first, np.nan), np.append(second, 1.0))
    np.testing.assert_array_equal(more[:3], alone)
    assert np.isnan(more[3])


@pytest.mark.parametrize("shared", [0.0, 0.7])
def test_of_the_heads_it_selects_at_most_alpha_are_false(shared: float) -> None:
    rng = np.random.default_rng(2)
    wrong, found = [], []
    for _ in range(300):
        common = rng.normal(size=(2, 1)) * np.sqrt(shared)
        z = rng.normal(size=(2, 100)) * np.sqrt(1 - shared) + common
        z[0, :20] += 4
        z[1, :10] += 4
        z[1, 20:30] += 4
        chosen = replicability_r(norm.sf(z[0]), norm.sf(z[1])) <= 0.05
        wrong.append(chosen[10:].sum() / max(chosen.sum(), 1))
        found.append(chosen[:10].mean())
    assert np.mean(wrong) <= 0.05
    assert np.mean(found) > 0.7
