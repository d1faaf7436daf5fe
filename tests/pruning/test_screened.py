"""Units that chose the heads of a run with a screen: they have a part in the order, so they test no set."""

import numpy as np

from headroles.pruning.source import screening_units
from headroles.records.example import Scores

UNITS = ("a", "a", "b", "c")


def _scores(*, screened: bool) -> Scores:
    """Damage of two heads on four inputs; the unit "b" has none, and of "a" one input has none."""
    values = np.full((2, 4, 1, 2), 0.1, dtype=np.float32)
    values[0, :, 0, 1] = np.nan
    values[:, [1, 2]] = np.nan
    rows = (2, 4)
    return Scores(
        sieves=("loss:mean", "loss:screen" if screened else "norm"),
        examples=tuple("wxyz"),
        units=UNITS,
        tokens=np.full(4, 5),
        cells=np.full(rows, np.nan),
        values=values,
        null=np.zeros(rows),
    )


def test_units_that_chose_heads_are_those_without_damage_in_a_run_with_a_screen() -> None:
    found = screening_units(_scores(screened=True), "loss:mean")
    assert dict(zip(UNITS, found.tolist(), strict=True)) == {"a": False, "b": True, "c": False}
    assert found.tolist() == [False, False, True, False]


def test_without_a_screen_no_unit_is_held_back() -> None:
    assert not screening_units(_scores(screened=False), "loss:mean").any()
