"""Labels by betting hold their false discovery rate wherever looking stops, and those by t do not."""

import pytest

from benchmarks.random_stops import POPULATIONS, false_discovery_rates

pytestmark = pytest.mark.slow
RUNS = 400


@pytest.mark.parametrize("name", POPULATIONS)
def test_betting_holds_its_rate_at_the_first_call_and_at_a_look_by_chance(name: str) -> None:
    rates = false_discovery_rates(POPULATIONS[name], RUNS, seed=3)
    betting = {key: rate for key, rate in rates.items() if key[0] == "betting"}
    assert len(betting) == 4
    assert max(betting.values()) <= 0.05, betting


def test_a_t_test_at_every_look_errs_far_more_often() -> None:
    rates = false_discovery_rates(POPULATIONS["all at θ"], 100, seed=4)
    assert rates["t", "role", "first call"] > 0.2
    assert rates["t", "not", "first call"] > 0.2
